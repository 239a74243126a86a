#include "compare/pairing/compared_side.h"

#include "graph/each_graph.h"
#include "support/text/qualified_name.h"

namespace fxtrace::internal {

ComparedSide::ComparedSide(const GraphCollection& whole, const std::vector<ModuleGraph>& compared,
                           const PairedModules& paired)
    : collection(whole),
      graphs(compared),
      modules(paired),
      unused(whole.unused_parameters.begin(), whole.unused_parameters.end()) {
  for (const ParameterRecord& record : collection.parameters) {
    if (record.alias_of) ties.emplace(record.name, *record.alias_of);
  }
  for (const ModuleGraph& root : collection.graphs) {
    for_each_graph(root, [&](const ModuleGraph& graph) {
      for (const auto& [name, constant] : graph.constants) constants.insert(name);
    });
  }
  for (const ModuleGraph& root : graphs) {
    for_each_graph(root, [&](const ModuleGraph& graph) {
      for (const NodeId id : graph.graph.order()) {
        // The modules around it count, too.
        std::string_view path = graph.graph.node(id).scope->module_path;
        while (!path.empty() && working.insert(path).second) path = QualifiedName(path).parent();
      }
    });
  }
}

std::string ComparedSide::first_name(const std::string& parameter) const {
  const auto found = ties.find(parameter);
  return found == ties.end() ? parameter : std::string(found->second);
}

}  // namespace fxtrace::internal
