// One call in a vmapped function that is planned for the whole batch: its arguments, and how its result is
// told.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "families/batching.h"
#include "passes/remove_batch_dims/batch_steps.h"
#include "passes/support/effects.h"
#include "passes/support/named_arguments.h"

namespace fxtrace {

// What the rules are written with.  All of it throws CannotBatch where something is needed that is not known.
class BatchCall {
 public:
  BatchCall(const Node& node, const OperatorInfo& info, BatchPlan& plan)
      : node_(node),
        info_(info),
        rule_(batching_rule(is_in_place(info) ? *info.twin : *info.op)),
        plan_(plan),
        steps_(node, plan),
        args_(node, info.schema) {}

 protected:
  // Writes its first argument, and gives it back; with a functional form, whose rule is the one to follow.
  static bool is_in_place(const OperatorInfo& info) {
    const auto& arguments = info.schema.arguments;
    return info.twin != nullptr && !arguments.empty() && arguments.front().is_written();
  }

  // --- arguments ---
  const std::string& name_at(std::size_t i) const { return info_.schema.arguments.at(i).name; }
  // A tensor argument.
  Batched tensor(std::string_view name) const;
  Batched first() const { return tensor(name_at(0)); }
  Batched second() const { return tensor(name_at(1)); }
  bool is_batched(std::string_view name) const;
  // The tensor that alone may be batched.
  Batched only() const;
  // All of them.
  std::vector<Batched> tensors();
  // f(Batched) in the place of each.
  template <class F>
  void replace_tensors(F&& f) {
    args_.for_each_tensor([&](const std::string&, Argument& argument) {
      argument = map_references<NodeId>(argument, [&](NodeId id) -> Argument { return f(plan_.value(id)); });
    });
  }
  void replace_tensors() {
    replace_tensors([](const Batched& value) { return value.tensor; });
  }

  // --- results ---
  BatchPlan::Call call(std::string target, const NamedArguments& args) const {
    return {std::move(target), args.args(), args.kwargs()};
  }
  // The operator itself with the arguments as they are now.
  void finish(Levels levels);
  void finish(Batched value) { plan_.set(node_, std::move(value)); }

  const Node& node_;
  const OperatorInfo& info_;
  const BatchingRule rule_;
  BatchPlan& plan_;
  BatchSteps steps_;
  NamedArguments args_;
};

}  // namespace fxtrace
