// A collection as boxes within boxes: what every picture draws, whatever its format.
//
// A graph holds the calls of modules that its nodes stand in, these hold the calls within them, and so on; a
// module that is called twice is two boxes.  Containers without a forward (ModuleList) are no boxes: what is
// called through them stands in the module that calls it.  Nodes that say nothing about the model are left
// out (see plumbing.h), and edges go past them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/graph_collection.h"

namespace fxtrace {

struct Outline {
  using Index = std::uint32_t;
  static constexpr Index kNone = UINT32_MAX;
  // Boxes within boxes, at most: what is deeper stands in the innermost of these.
  static constexpr std::size_t kMaxNesting = 64;

  enum class Kind : std::uint8_t {
    kGraph,     // one of the collection's graphs
    kModule,    // one call of a module whose forward is in the graph
    kOperator,  // control flow: its bodies, and behind them the node itself
    kBody,      // a subgraph of control flow
    kRepeats,   // what equals the siblings in front of it: see repeats.h
    kPeriod,    // one repetition of several siblings
    kPart,      // some of too many siblings
    kNode
  };

  // What a node takes and no box stands for: a parameter, a buffer, a constant of the code, or what is
  // computed of constants and sizes alone.
  struct Attribute {
    const Node* node = nullptr;                  // that gives it
    const ParameterRecord* parameter = nullptr;  // null of a constant
    const Constant* constant = nullptr;          // of the code
  };

  struct Item {
    Kind kind = Kind::kNode;
    Index parent = kNone;
    std::uint32_t depth = 0;                 // boxes around it
    std::vector<Index> children = {};        // in execution order
    const ModuleGraph* graph = nullptr;      // that its nodes are in; of kOperator the one that it stands in
    const Node* node = nullptr;              // of kNode and kOperator
    const ModuleRecord* module = nullptr;    // of kGraph, kModule, and a call_module: what is known of it
    std::string path = {};                   // of the same: from the model's root
    std::string type = {};                   // of the same; empty when it is not known
    std::int64_t call = 0;                   // of kModule: which call of the module in this graph, from 1
    std::string name = {};                   // of kBody
    Index like = kNone;                      // of kRepeats: the first of those that the children equal
    std::uint32_t period = 1;                // of kRepeats: siblings in one repetition
    std::vector<Attribute> attributes = {};  // of kNode
    // Of kNode: nodes whose values it takes, each once, in the order of its arguments.
    std::vector<Index> inputs = {};
  };

  std::vector<Item> items;
  std::vector<Index> graphs;  // in the order of the collection

  // Names from the model's root to their records, that of the first name for shared ones.
  std::unordered_map<std::string_view, const ModuleRecord*> modules;
  std::unordered_map<std::string_view, const ParameterRecord*> parameters;

  const Item& operator[](Index item) const { return items[item]; }
  // The innermost kGraph or kModule around the item that has a path; the item itself if it is one.
  Index module_around(Index item) const;
};

struct OutlineOptions {
  bool plumbing = false;    // with what is else left out
  bool parameters = false;  // parameters and buffers that nodes take are nodes
};

// `collection` must live as long, and stay as it is.  Linear in its size, texts of paths included.
Outline make_outline(const GraphCollection& collection, const OutlineOptions& options);

}  // namespace fxtrace
