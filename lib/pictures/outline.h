// The outline of a collection as nested boxes, from which all pictures are drawn.
//
// A graph contains the module calls of its nodes, these contain the calls inside them, and so on; a module
// that is called twice has two boxes.  Containers without a forward (ModuleList) have no box: modules in
// them are in the box of the module that calls them.  Plumbing nodes are omitted (see plumbing.h), and edges
// bypass them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/graph_collection.h"

namespace fxtrace::internal {

struct Outline {
  using Index = std::uint32_t;
  static constexpr Index kNone = UINT32_MAX;
  // The nesting limit: deeper items are put into the innermost box allowed.
  static constexpr std::size_t kMaxNesting = 64;

  enum class Kind : std::uint8_t {
    kGraph,     // one of the collection's graphs
    kModule,    // one call of a module whose code is in the graph
    kOperator,  // control flow: its bodies, then the node itself
    kBody,      // a subgraph of control flow
    kRepeats,   // siblings equal to earlier ones: see repeats.h
    kPeriod,    // one repetition of several siblings
    kPart,      // a group of siblings, when there are too many
    kNode
  };

  // An input of a node that has no box: a parameter, a buffer or a constant of the code; or, with neither
  // `parameter` nor `constant`, a value computed from constants and sizes alone.
  struct Attribute {
    const Node* node = nullptr;                  // the node that provides it
    const ParameterRecord* parameter = nullptr;  // null for a constant
    const Constant* constant = nullptr;          // the constant of the code; null for others
    const Node* part = nullptr;                  // the node that takes one of the tensors of the parameter
    // For a computed value: whether it depends on sizes, and whether it depends on no other tensor.
    bool of_sizes = false, is_made = false;
  };

  struct Item {
    Kind kind = Kind::kNode;
    Index parent = kNone;
    std::uint32_t depth = 0;                 // number of enclosing boxes
    std::vector<Index> children = {};        // in execution order
    const ModuleGraph* graph = nullptr;      // the graph of its nodes; for kOperator, the graph around it
    const Node* node = nullptr;              // for kNode and kOperator
    const ModuleRecord* module = nullptr;    // the record, for kGraph, kModule and call_module
    std::string path = {};                   // likewise: the path from the model's root
    std::string type = {};                   // likewise; empty when unknown
    std::int64_t call = 0;                   // for kModule: the number of the call in this graph, from 1
    std::string method = {};                 // for kModule: like Scope::method
    std::string name = {};                   // for kBody
    Index like = kNone;                      // for kRepeats: the first sibling that the children equal
    std::vector<Attribute> attributes = {};  // for kNode
    // For kNode: the items whose values it uses, each once, in the order of its arguments.
    std::vector<Index> inputs = {};
  };

  std::vector<Item> items;
  std::vector<Index> graphs;  // in the order of the collection

  // Records by path from the model's root; for a shared module, the record of its first name.
  std::unordered_map<std::string_view, const ModuleRecord*> modules;
  std::unordered_map<std::string_view, const ParameterRecord*> parameters;

  const Item& operator[](Index item) const { return items[item]; }
  // Returns the innermost kGraph or kModule with a path that contains the item, or the item itself if it is
  // one.
  Index module_around(Index item) const;
};

struct OutlineOptions {
  bool plumbing = false;    // include plumbing nodes
  bool parameters = false;  // show parameters and buffers as nodes
};

// `collection` must outlive the result and not change.  Takes time linear in its size, texts of paths
// included.
Outline make_outline(const GraphCollection& collection, const OutlineOptions& options);

}  // namespace fxtrace::internal
