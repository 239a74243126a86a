#include "passes/remove_batch_dims/batch_call.h"

#include <algorithm>
#include <utility>

namespace fxtrace::internal {

Batched BatchCall::tensor(std::string_view name) const {
  const Argument* given = args_.find_argument(name);
  const auto* id = given == nullptr ? nullptr : given->get_if<NodeId>();
  if (id == nullptr) throw CannotBatch{std::string(name) + " is not a tensor"};
  return plan_.value(*id);
}

bool BatchCall::is_batched(std::string_view name) const {
  const Argument* given = args_.find_argument(name);
  bool any = false;
  if (given != nullptr) {
    for_each_reference(*given, [&](NodeId id) { any = any || plan_.is_batched(id); });
  }
  return any;
}

Batched BatchCall::only() const {
  const std::string_view name = rule_.argument.empty() ? name_at(0) : rule_.argument;
  for (const SchemaArgument& argument : info_.schema.arguments) {
    if (argument.name != name && is_batched(argument.name)) {
      throw CannotBatch{argument.name + " of " + node_.name + " is batched"};
    }
  }
  return tensor(name);
}

std::vector<Batched> BatchCall::tensors() {
  std::vector<Batched> all;
  args_.for_each_tensor([&](const std::string&, const Argument& argument) {
    for_each_reference(argument, [&](NodeId id) { all.push_back(plan_.value(id)); });
  });
  return all;
}

void BatchCall::finish(Levels levels) {
  const auto gives_tensor = [](const SchemaType& type) { return type.innermost().name == "Tensor"; };
  if (!std::ranges::any_of(info_.schema.results, gives_tensor)) levels.clear();
  finish(plan_.emit(node_, call(node_.target, args_), std::move(levels), node_.meta));
}

}  // namespace fxtrace::internal
