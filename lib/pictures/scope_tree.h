// The tree of scopes: which modules stand around the nodes of a graph.  Every picture draws from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/graph_collection.h"

namespace fxtrace {

struct ScopeTree {
  struct Scope {
    std::string path;  // of the module
    std::string type;  // empty when it is not known
    std::int64_t calls =
        0;  // the last call of the module that a node of its own tells; 0 without such a node
    std::size_t parent = 0;                  // the first scope is its own; a parent comes before its children
    std::vector<std::size_t> nodes = {};     // positions in `order` of those with no scope further in
    std::vector<std::size_t> children = {};  // by their first nodes
    std::vector<std::size_t> subgraphs = {};  // positions in the graph's subgraphs
  };
  static constexpr std::size_t kNowhere = SIZE_MAX;

  std::vector<NodeId> order;          // all nodes, in execution order
  std::vector<Scope> scopes;          // the first is the graph's own root
  std::vector<std::size_t> scope_of;  // by position: where the node stands; kNowhere when it is left out
  std::map<std::size_t, std::vector<std::size_t>> runs;  // operators by position: the subgraphs that they run
  std::vector<std::string> around;  // modules around the whole graph, when it is a subgraph

  // The modules around what stands in the scope, for its subgraphs.
  std::vector<std::string> modules_around(std::size_t scope) const;
};

// Makes the trees of one collection, which must live and stay as it is.  Linear in the size of the graph,
// texts of paths included.
class ScopeTrees {
 public:
  explicit ScopeTrees(const GraphCollection& collection);

  // A node stands in the scope of its module; a call of a module stands where it is called from, not in the
  // module.  Modules that the collection does not have are left out, unless a node tells a type; so are the
  // graph's root, modules around it and those of `around`.  A subgraph stands in the innermost scope that
  // holds all operators that run it.  `shows` decides which nodes are left out.
  ScopeTree tree(const ModuleGraph& graph, const std::function<bool(const Node&)>& shows,
                 std::vector<std::string> around = {});

 private:
  using Module = std::size_t;
  struct Part {
    Module inside;
    std::string name;
    bool operator==(const Part&) const = default;
  };
  struct PartHash {
    std::size_t operator()(const Part& part) const;
  };

  // Calls f(module, its path) for the modules along the path, outermost first.
  template <class F>
  void walk(std::string_view path, const F& f);

  // Paths as a tree of their parts, so that no prefix of a path is hashed as a whole.
  std::unordered_map<Part, Module, PartHash> parts_;
  std::vector<const ModuleRecord*> records_{nullptr};  // by module; null for what no module is named
};

}  // namespace fxtrace
