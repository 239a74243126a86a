#include "exported/modules/inferred_attributes.h"

namespace fxtrace {
namespace {

// Adds the operations of the graph and its subgraphs to the sites of the modules that run them.
void add_sites(const ProgramGraph& graph, const Hierarchy& hierarchy,
               std::vector<std::vector<LeafSite>>& sites) {
  for (const Operation& operation : graph.operations) {
    const std::uint32_t module = hierarchy.calls()[operation.call].module.index;
    if (operation.has_stack && module < sites.size() && is_told_of(hierarchy.modules()[module].type))
      sites[module].push_back({&graph, &operation});
    for (const ProgramSubgraph& subgraph : operation.subgraphs) add_sites(subgraph.graph, hierarchy, sites);
  }
}

}  // namespace

std::vector<ModuleAttributes> attributes_of_modules(const ProgramGraph& graph, const Hierarchy& hierarchy,
                                                    const std::vector<ParameterRecord>& parameters) {
  std::vector<std::vector<LeafSite>> sites(hierarchy.modules().size());
  add_sites(graph, hierarchy, sites);
  return attributes_of_modules(hierarchy.modules(), parameters, sites);
}

}  // namespace fxtrace
