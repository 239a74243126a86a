#include "convert/lower/metadata.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/layout/stride_rules.h"
#include "analysis/program_operations.h"

namespace fxtrace::internal {
namespace {

constexpr const char* kRootKey = "L__self__";

// Returns the type without the characters that separate the parts of a stack.
std::string in_stack(std::string type) {
  std::erase_if(type, [](char c) { return c == ',' || c == ';' || c == '(' || c == '['; });
  return type.empty() ? "torch.nn.modules.module.Module" : type;
}

}  // namespace

ModuleStacks::ModuleStacks(const GraphCollection& collection, const ModuleGraph& graph)
    : root_type_(collection.model.type), order_(*graph.execution) {
  for (const ModuleRecord& module : collection.modules) types_.emplace(module.path, in_stack(module.type));
  for (std::size_t i = 0; i < order_.size(); ++i) calls_[std::string(order_[i].module)].push_back(i);
  texts_.push_back(std::string(kRootKey) + ",," + in_stack(root_type_));
}

std::string ModuleStacks::entry(const std::string& path, std::size_t call) const {
  const auto& calls = calls_.find(path)->second;
  const auto number = std::ranges::find(calls, call) - calls.begin();
  const auto type = types_.find(path);
  std::string text = std::string(";") + kRootKey + "_" + path;
  if (number > 0) text += "@" + std::to_string(number);
  return text + "," + path + "," + (type == types_.end() ? in_stack("") : type->second);
}

CallId ModuleStacks::find_call(const Scope& scope) {
  if (scope.module_path.empty()) return kRootCall;
  const auto own = order_.find_calls(scope);
  if (!own) return kRootCall;
  const auto [known, is_new] =
      known_.emplace(std::pair(scope.module_path, *own), static_cast<CallId>(texts_.size()));
  if (!is_new) return known->second;
  std::string inner = entry(scope.module_path, *own);
  // The running call of the caller is the last one that has begun.
  for (std::size_t call = *own; !order_[call].caller.empty();) {
    const auto calls = calls_.find(order_[call].caller);
    if (calls == calls_.end()) break;
    const auto after = std::ranges::lower_bound(calls->second, call);
    if (after == calls->second.begin()) break;
    call = *std::prev(after);
    inner = entry(calls->first, call) + inner;
  }
  texts_.push_back(texts_.front() + inner);
  return known->second;
}

namespace {

std::optional<SizesAndStrides> find_tensor(const ProgramView& graph, NodeId id) {
  auto sizes = graph.meta(id).sizes();
  if (!sizes) return std::nullopt;
  SizesAndStrides result{*std::move(sizes), {}};
  for (const Expression& stride : graph.table().strides.at(id.index)) {
    if (stride.size() == nullptr) return std::nullopt;
    result.strides.push_back(*stride.size());
  }
  if (result.strides.size() != result.sizes.size()) return std::nullopt;
  return result;
}

// Gives a value of the table the strides of a value with the same shape.
void copy_strides(const ProgramView& graph, NodeId from, const Meta& meta, NodeId to, ProgramTable& table) {
  const Meta& before = graph.meta(from);
  if (before.shape && meta.shape && *before.shape == *meta.shape)
    table.strides.at(to.index) = graph.table().strides.at(from.index);
}

// Gives the inputs of a subgraph of control flow the strides of the operands.
void pass_on(const ProgramView& graph, NodeId operation, const ModuleGraph& inner, ProgramTable& table) {
  std::vector<NodeId> given;
  for (const Argument& operand : graph.node(operation).args) {
    if (items_of(operand) != nullptr) for_each_reference(operand, [&](NodeId id) { given.push_back(id); });
  }
  const ProgramView body(inner, table);
  const std::vector<NodeId> inputs = body.inputs();
  if (given.size() != inputs.size()) return;
  for (std::size_t i = 0; i < given.size(); ++i)
    copy_strides(graph, given[i], body.meta(inputs[i]), inputs[i], table);
}

}  // namespace

void add_strides(const ModuleGraph& graph, ProgramTable& table) {
  const ProgramView view(graph, table);
  for (const NodeId operation : view.operations()) {
    for_each_of<Argument::GraphRef>(view.node(operation), [&](const Argument::GraphRef& body) {
      const ModuleGraph* inner = graph.subgraphs.find_graph(body.name);
      if (inner == nullptr) return;
      ProgramTable& own = table.subgraphs.at(body.name);
      pass_on(view, operation, *inner, own);
      add_strides(*inner, own);
    });
    if (const Operator* op = view.facts(operation).op) {
      const StridedCall call{view.graph(), view.node(operation), entry_of(*op),
                             [&](NodeId id) { return find_tensor(view, id); }, Certainty::kLikely};
      for (const auto& [value, path] : view.results(operation)) {
        const auto own = find_tensor(view, value);
        if (!own) continue;
        const auto item = path.empty() ? 0 : static_cast<std::size_t>(path.front());
        if (const auto found = strides_of_result(call, own->sizes, item))
          table.strides.at(value.index).assign(found->begin(), found->end());
      }
    }
    for_each_handed_on(view, operation, [&](NodeId result, NodeId argument) {
      copy_strides(view, argument, view.meta(result), result, table);
    });
  }
}

}  // namespace fxtrace::internal
