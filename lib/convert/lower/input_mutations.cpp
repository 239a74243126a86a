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

namespace fxtrace::internal {
namespace {

class InputMutations {
 public:
  InputMutations(WrittenProgram& program, std::vector<Refusal>& refusals)
      : program_(program), refusals_(refusals) {}

  void run() {
    Graph& graph = program_.graph.module_graph.graph;
    const ProgramView view = program_.graph.view();
    program_.is_functional = true;
    Inputs inputs;
    for (const GraphSignature::Entry& entry : program_.signature.inputs)
      inputs.emplace(entry.node.index, &entry);
    std::unordered_set<std::uint32_t> read;  // values that a later operation or the output reads
    std::vector<Argument> results = view.outputs();
    for (const Argument& output : results)
      for_each_reference(output, [&](NodeId id) { read.insert(id.index); });
    std::vector<Argument> changed;
    std::vector<GraphSignature::Entry> entries;
    const std::vector<NodeId> operations = view.operations();
    for (const NodeId id : std::views::reverse(operations)) {
      const Node& operation = graph.node(id);
      if (auto entry = mutation_of(operation, inputs, read)) {
        changed.push_back(operation.args[1]);
        entries.push_back(std::move(*entry));
        read.insert(value_of(operation.args[1]).index);
        graph.erase(id);
        continue;
      }
      refuse_writes(view, id);
      for_each_input(operation, [&](NodeId input) { read.insert(input.index); });
    }
    std::ranges::reverse(changed);
    std::ranges::reverse(entries);
    results.insert(results.begin(), changed.begin(), changed.end());
    graph.set_args(graph.last(), {Argument::Tuple{std::move(results)}}, {});
    auto& outputs = program_.signature.outputs;
    outputs.insert(outputs.begin(), entries.begin(), entries.end());
  }

 private:
  using Inputs = std::unordered_map<std::uint32_t, const GraphSignature::Entry*>;

  // Returns the signature entry of the mutation if the operation is aten.copy_(input, value) and the value is
  // that of the input from then on.
  std::optional<GraphSignature::Entry> mutation_of(const Node& operation, const Inputs& inputs,
                                                   const std::unordered_set<std::uint32_t>& read) const {
    if (operation.target != "aten.copy_.default" || operation.args.size() < 2) return std::nullopt;
    const auto* to = operation.args[0].get_if<NodeId>();
    const auto* value = operation.args[1].get_if<NodeId>();
    const auto input = to == nullptr ? inputs.end() : inputs.find(to->index);
    if (input == inputs.end() || value == nullptr || inputs.contains(value->index) ||
        read.contains(to->index) || read.contains(operation.id.index))
      return std::nullopt;
    const ProgramView view = program_.graph.view();
    const Meta &before = view.meta(*to), &after = view.meta(*value);
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

  void refuse_writes(const ProgramView& graph, NodeId operation) {
    const std::string& target = *graph.node(operation).target;
    const auto schema = program_.schema_of(target, graph.facts(operation).op);
    if (schema && std::ranges::any_of(schema->arguments, &SchemaArgument::is_written))
      refusals_.push_back({.what = target,
                           .why = "it writes to an argument, and no pass could remove the write",
                           .help = "--dialect training"});
    graph.for_each_subgraph(operation, [&](const std::string&, const ProgramView& body) {
      for (const NodeId inner : body.operations()) refuse_writes(body, inner);
    });
  }

  WrittenProgram& program_;
  std::vector<Refusal>& refusals_;
};

}  // namespace

void turn_writes_into_mutations(WrittenProgram& program, std::vector<Refusal>& refusals) {
  InputMutations(program, refusals).run();
}

}  // namespace fxtrace::internal
