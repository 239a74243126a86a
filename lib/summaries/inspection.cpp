#include "summaries/inspection.h"

#include <algorithm>
#include <utility>

namespace fxtrace::internal {
namespace {

// Adds metadata that the trace has beyond the declarations: shapes, if there are dummy inputs.
void add_shapes(MethodInfo& method, const GraphCollection& collection) {
  if (collection.graphs.empty() || !collection.graphs.front().module.empty()) return;
  const Graph& graph = collection.graphs.front().graph;
  const auto take = [](PortInfo& port, const Node& node) {
    if (port.meta.shape || !node.meta->shape) return;
    port.meta.shape = node.meta->shape;
    port.meta.copy_dtype(*node.meta);
  };
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (node.op == Opcode::kPlaceholder) {
      const auto input = std::find_if(method.inputs.begin(), method.inputs.end(),
                                      [&](const PortInfo& port) { return port.name == node.target; });
      if (input != method.inputs.end()) take(*input, node);
    } else if (node.op == Opcode::kOutput && node.args.size() == 1) {
      const auto* tuple = node.args.front().get_if<Argument::Tuple>();
      for (std::size_t i = 0; i < method.outputs.size(); ++i) {
        const Argument* part = &node.args.front();
        if (tuple != nullptr) part = i < tuple->items.size() ? &tuple->items[i] : nullptr;
        const auto* value = part != nullptr ? part->get_if<NodeId>() : nullptr;
        if (value != nullptr) take(method.outputs[i], graph.node(*value));
      }
    }
  }
}

}  // namespace

Inspection inspect_model(GraphCollection collection, ModelDescription description, const FileInfo& file,
                         const std::string& method) {
  const auto& methods = description.methods;
  Inspection inspection;
  inspection.file = file;
  inspection.file.producer_version = collection.model.producer_version;
  inspection.producer = std::move(description.producer);
  inspection.sizes = count_parameters(collection);
  inspection.methods = methods.front();
  for (std::size_t i = 0; i < inspection.methods.size() && !inspection.method; ++i) {
    const std::string& name = inspection.methods[i].name;
    // LibTorch names the first overload NAME__0; a call of the module runs it.
    if (name == method || name == method + "__0") inspection.method = i;
  }
  if (inspection.method) add_shapes(inspection.methods[*inspection.method], collection);
  for (const auto& of_module : methods) {
    auto& names = inspection.module_methods.emplace_back();
    for (const auto& [name, inputs, outputs] : of_module) names.push_back(name);
  }
  inspection.constants = std::move(description.constants);
  for (const auto& constant : inspection.constants) {
    if (!constant.dtype.empty()) inspection.constants_total.add(constant.shape, constant.dtype);
    for (const StoredPart& part : constant.stored) inspection.constants_total.add(part.shape, part.dtype);
  }
  inspection.collection = std::move(collection);
  return inspection;
}

}  // namespace fxtrace::internal
