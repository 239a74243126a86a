// Graph passes: rewrites that preserve the meaning of graphs.  Where a pass cannot prove that, it leaves the
// place as it is and reports why.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/effects.h"
#include "graph/graph_collection.h"

namespace fxtrace::internal {

// A place that a pass left unchanged, and the reason.
struct Declined {
  std::string graph;  // path of the module, then names of subgraphs: "layers.0/true_graph_0"
  std::string node;
  std::string reason;
  std::optional<SourceLocation> source;
};

// The context in which a pass runs on a graph.
class PassContext {
 public:
  explicit PassContext(const GraphCollection& collection) : semantics(collection) {}

  void decline(const ModuleGraph& graph, const Node& node, std::string reason);

  // Calls f for the graph and all its subgraphs, innermost first.
  template <class F>
  void for_each_graph(ModuleGraph& graph, F&& f) {
    for (Subgraph& subgraph : graph.subgraphs) {
      in_subgraph(subgraph, [&](ModuleGraph& inner) { for_each_graph(inner, f); });
    }
    f(graph);
  }
  bool is_in_subgraph() const { return !path_.empty(); }
  template <class F>
  void in_subgraph(Subgraph& subgraph, F&& f) {
    path_.push_back(subgraph.name);
    f(subgraph.graph);
    path_.pop_back();
  }

  Semantics semantics;
  std::vector<Declined> declined;

 private:
  std::vector<std::string> path_;
};

struct Pass {
  std::string_view name;                    // "remove-inplace"
  std::string_view help;                    // for --list-passes
  void (*run)(ModuleGraph&, PassContext&);  // null: runs all others, in the order of the table
};

// Returns all passes, in the order in which `functional` runs them.
std::span<const Pass> passes();
const Pass* find_pass(std::string_view name);

struct PassReport {
  std::string pass;
  std::size_t nodes_before = 0, nodes_after = 0;  // of all graphs
  std::vector<Declined> declined;
  std::string time;  // "0.2 ms"
};

// Runs the pass on every graph of the collection and its subgraphs; returns one report for each pass that
// ran.  The nodes that stay keep names, scopes, sources and metadata; `execution` remains that of the trace;
// lint() holds afterwards.
std::vector<PassReport> run_pass(const Pass& pass, GraphCollection& collection);

// Returns the number of in-place writes that remove-inplace leaves in the collection, in subgraphs too.
// Leaves and operators with unknown effects do not count.
std::size_t count_writes_that_stay(const GraphCollection& collection);

}  // namespace fxtrace::internal
