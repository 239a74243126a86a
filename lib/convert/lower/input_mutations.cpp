#include "convert/lower/input_mutations.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ranges>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "operators/schema.h"

namespace fxtrace {
namespace {

class InputMutations {
 public:
  InputMutations(WrittenProgram& program, std::vector<Refusal>& refusals)
      : program_(program), refusals_(refusals) {}

  void run() {
    ProgramGraph& graph = program_.graph;
    program_.is_functional = true;
    std::unordered_map<std::uint32_t, const GraphSignature::Entry*> inputs;
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
      if (graph.inputs[i].value.valid())
        inputs.emplace(graph.inputs[i].value.index,
                       &checked_at(program_.signature.inputs, i, "inputs in the signature"));
    }
    std::unordered_set<std::uint32_t> read;  // values that a later operation or the output reads
    for (const Argument& output : graph.outputs)
      for_each_reference(output, [&](NodeId id) { read.insert(id.index); });
    std::vector<Argument> changed;
    std::vector<GraphSignature::Entry> entries;
    std::vector<Operation> kept;
    for (Operation& operation : std::views::reverse(graph.operations)) {
      if (auto entry = mutation_of(operation, inputs, read)) {
        changed.push_back(operation.args[1]);
        entries.push_back(std::move(*entry));
        read.insert(operation.args[1].get_if<NodeId>()->index);
        graph.values[operation.outputs.front().value.index].name.clear();
        continue;
      }
      refuse_writes(operation);
      for_each_input(operation, [&](NodeId id) { read.insert(id.index); });
      kept.push_back(std::move(operation));
    }
    std::ranges::reverse(kept);
    graph.operations = std::move(kept);
    std::ranges::reverse(changed);
    std::ranges::reverse(entries);
    graph.outputs.insert(graph.outputs.begin(), changed.begin(), changed.end());
    auto& outputs = program_.signature.outputs;
    outputs.insert(outputs.begin(), entries.begin(), entries.end());
  }

 private:
  // Returns the signature entry of the mutation if the operation is aten.copy_(input, value) and the value is
  // that of the input from then on.
  std::optional<GraphSignature::Entry> mutation_of(
      const Operation& operation,
      const std::unordered_map<std::uint32_t, const GraphSignature::Entry*>& inputs,
      const std::unordered_set<std::uint32_t>& read) const {
    if (operation.target != "aten.copy_.default" || operation.args.size() < 2) return std::nullopt;
    const auto* to = operation.args[0].get_if<NodeId>();
    const auto* value = operation.args[1].get_if<NodeId>();
    const auto input = to == nullptr ? inputs.end() : inputs.find(to->index);
    if (input == inputs.end() || value == nullptr || inputs.contains(value->index) ||
        read.contains(to->index) || read.contains(operation.outputs.front().value.index))
      return std::nullopt;
    const auto& values = program_.graph.values;
    const Meta &before = values[to->index].meta, &after = values[value->index].meta;
    if (before.shape != after.shape || before.dtype != after.dtype) return std::nullopt;
    GraphSignature::Entry entry;
    switch (input->second->role) {
      case SignatureRole::kParameter:
        entry.role = SignatureRole::kParameterMutation;
        break;
      case SignatureRole::kUserInput:
        entry.role = SignatureRole::kUserInputMutation;
        break;
      default:
        entry.role = SignatureRole::kBufferMutation;
    }
    entry.target =
        entry.role == SignatureRole::kUserInputMutation ? input->second->name : *input->second->target;
    return entry;
  }

  void refuse_writes(const Operation& operation) {
    const auto schema = program_.schema_of(operation.target);
    if (schema && std::ranges::any_of(schema->arguments, &SchemaArgument::is_written))
      refusals_.push_back({.what = operation.target.text(),
                           .why = "it writes to an argument, and no pass could remove the write",
                           .help = "--dialect training"});
    for (const ProgramSubgraph& subgraph : operation.subgraphs) {
      for (const Operation& inner : subgraph.graph.operations) refuse_writes(inner);
    }
  }

  WrittenProgram& program_;
  std::vector<Refusal>& refusals_;
};

}  // namespace

void turn_writes_into_mutations(WrittenProgram& program, std::vector<Refusal>& refusals) {
  InputMutations(program, refusals).run();
}

}  // namespace fxtrace
