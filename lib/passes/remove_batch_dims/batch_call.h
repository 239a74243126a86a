// The base class of batching rules: plans one call of a function under torch.vmap for the whole batch.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/effects.h"
#include "opinfo/batching.h"
#include "passes/remove_batch_dims/batch_steps.h"
#include "passes/support/named_arguments.h"

namespace fxtrace::internal {

// Gives access to the call's arguments, and functions that set its result.  All functions throw CannotBatch
// when they need an unknown shape, dtype or argument.
class BatchCall {
 public:
  BatchCall(const Node& node, const OperatorEntry& info, BatchPlan& plan)
      : node_(node),
        info_(info),
        rule_(is_in_place(info) ? entry_of(*info.twin).batch : info.batch),
        plan_(plan),
        steps_(node, plan),
        args_(node, info) {}

 protected:
  // Returns whether the operator writes and returns its first argument and has a functional variant, whose
  // rule applies.
  static bool is_in_place(const OperatorEntry& info) {
    const auto& arguments = info.schema.arguments;
    return info.twin != nullptr && !arguments.empty() && arguments.front().is_written;
  }

  // --- arguments ---
  const std::string& name_at(std::size_t i) const { return info_.schema.arguments.at(i).name; }
  // Returns a tensor argument.
  Batched tensor(std::string_view name) const;
  Batched first() const { return tensor(name_at(0)); }
  Batched second() const { return tensor(name_at(1)); }
  bool is_batched(std::string_view name) const;
  // Returns the one tensor that may be batched; throws CannotBatch when another one is.
  Batched only() const;
  // Returns all tensor arguments.
  std::vector<Batched> tensors();
  // Replaces each tensor argument by f(Batched).
  template <class F>
  void replace_tensors(F&& f) {
    args_.for_each_tensor([&](const std::string&, Argument& argument) {
      argument = map_references(argument, [&](NodeId id) -> Argument { return f(plan_.value(id)); });
    });
  }
  void replace_tensors() {
    replace_tensors([](const Batched& value) { return value.tensor; });
  }

  // --- results ---
  BatchPlan::Call call(std::string target, const NamedArguments& args) const {
    return {std::move(target), args.args(), args.kwargs()};
  }
  // Sets the result: the same operator with the arguments as they are now.
  void finish(Levels levels);
  void finish(Batched value) { plan_.set(node_, std::move(value)); }

  const Node& node_;
  const OperatorEntry& info_;
  const BatchingRule rule_;
  BatchPlan& plan_;
  BatchSteps steps_;
  NamedArguments args_;
};

}  // namespace fxtrace::internal
