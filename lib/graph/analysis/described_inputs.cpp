#include "graph/analysis/described_inputs.h"

#include <algorithm>

#include "shapes/scalar_type.h"
#include "support/text/shell_word.h"

namespace fxtrace::internal {
namespace {

bool lacks_sizes(const Meta& meta) {
  if (meta.items) return std::ranges::any_of(*meta.items, [](const Meta& item) { return lacks_sizes(item); });
  if (meta.shape || meta.value) return false;
  const std::string type = meta.type.value_or("");
  return type.find("Tensor") != std::string::npos || type == "int" || type == "Optional[int]";
}

// Returns the name of an input in options; empty for a part of one.
std::string name_in_options(const ModuleGraph& graph, const Node& input) {
  if (graph.signature) {
    for (const GraphSignature::Entry& entry : graph.signature->inputs) {
      if (entry.node == input.id && entry.path.size() > 1) return "";
    }
  }
  return *input.target;
}

}  // namespace

bool lacks_sizes(const Graph& graph) {
  return std::ranges::any_of(graph.order(), [&](NodeId id) {
    const Node& node = graph.node(id);
    return node.op == Opcode::kPlaceholder && lacks_sizes(*node.meta);
  });
}

std::string option_to_name_a_size(const GraphCollection& collection, const std::string& name) {
  if (!collection.model.is_torchscript() || collection.graphs.empty()) return "";
  const ModuleGraph& graph = collection.graphs.front();
  for (const NodeId id : graph.graph.order()) {
    const Node& node = graph.graph.node(id);
    const Meta& meta = *node.meta;
    if (node.op != Opcode::kPlaceholder || (meta.type != "Tensor" && meta.type != "Optional[Tensor]"))
      continue;
    const std::string input = name_in_options(graph, node);
    if (input.empty() || (meta.shape && meta.shape->empty())) continue;
    std::string sizes = name;
    for (std::size_t i = 1; meta.shape && i < meta.shape->size(); ++i) sizes += "," + (*meta.shape)[i].text();
    if (!meta.shape) sizes += ",...";
    return "--input " +
           shell_word(input + "=" + (meta.dtype ? dtype_name(*meta.dtype) : "float32") + "[" + sizes + "]");
  }
  return "";
}

}  // namespace fxtrace::internal
