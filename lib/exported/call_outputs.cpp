#include "exported/call_outputs.h"

#include <algorithm>

namespace fxtrace {

std::vector<std::vector<ValueId>> outputs_of_calls(const ProgramGraph& graph, const Hierarchy& hierarchy) {
  constexpr CallId kNobody = UINT32_MAX;
  const std::vector<Hierarchy::Call>& calls = hierarchy.calls();
  std::vector<CallId> maker(graph.values.size(), kNobody);
  std::vector<CallId> left(graph.values.size(), kNobody);  // the outermost call that the value has left
  std::vector<std::vector<ValueId>> given(calls.size());
  const auto use = [&](ValueId value, CallId user) {
    CallId call = maker[value.index];
    if (call == kNobody) return;
    const CallId common = hierarchy.common_call(call, user);
    if (left[value.index] != kNobody) {
      // Calls up to there have it already.
      if (calls[left[value.index]].depth <= calls[common].depth + 1) return;
      call = calls[left[value.index]].parent;
    }
    for (; call != common; call = calls[call].parent) {
      given[call].push_back(value);
      left[value.index] = call;
    }
  };
  for (const Operation& operation : graph.operations) {
    if (!operation.has_stack) continue;
    for_each_input(operation, [&](ValueId value) { use(value, operation.call); });
    for (const auto& output : operation.outputs) maker[output.value.index] = operation.call;
  }
  for (const Operand& output : graph.outputs) {
    for_each_reference(output, [&](ValueId value) { use(value, kRootCall); });
  }
  for (std::vector<ValueId>& values : given) std::ranges::sort(values);
  return given;
}

}  // namespace fxtrace
