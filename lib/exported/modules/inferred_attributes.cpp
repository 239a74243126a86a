#include "exported/modules/inferred_attributes.h"

namespace fxtrace::internal {
namespace {

// Adds the operations of the graph and its subgraphs to the sites of the modules that run them.
void add_sites(const ProgramView& graph, const Hierarchy& hierarchy,
               std::vector<std::vector<LeafSite>>& sites) {
  for (const NodeId operation : graph.operations()) {
    const ProgramNode& facts = graph.facts(operation);
    const std::uint32_t module = hierarchy.calls()[facts.call].module.index;
    if (facts.has_stack && module < sites.size() && is_told_of(hierarchy.modules()[module].type))
      sites[module].push_back({graph, operation});
    graph.for_each_subgraph(
        operation, [&](const std::string&, const ProgramView& body) { add_sites(body, hierarchy, sites); });
  }
}

}  // namespace

std::vector<ModuleAttributes> attributes_of_modules(const ProgramView& graph, const Hierarchy& hierarchy,
                                                    const std::vector<ParameterRecord>& parameters) {
  std::vector<std::vector<LeafSite>> sites(hierarchy.modules().size());
  add_sites(graph, hierarchy, sites);
  return attributes_of_modules(hierarchy.modules(), parameters, sites);
}

}  // namespace fxtrace::internal
