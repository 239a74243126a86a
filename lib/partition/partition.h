// Partition: the parts of a model that backends take, and what is left.
//
// A backend is a set of operators (operator_set.h).  The graph is cut into parts that run one after the
// other: a region is a part that one set takes, a rest one that none takes.
//
// Invariants:
// 1. Every call is in exactly one part.  Placeholders and get_attr nodes are in none: parts read them.
// 2. The parts are an order of execution: a call only needs values of its own part and of earlier ones.  So
//    every region is convex, and no two parts need each other.
// 3. Writes stay in the part that makes their memory, in order with its reads.  Random calls stay in order
//    among themselves, so do calls with side effects, and a switch of autocast or gradients with everything.
// 4. With one set there are as few regions as an order of execution allows: as many as the longest chain of
//    calls that are taken and not taken in turns.  With several, a greedy choice makes few.
// 5. Getitems are with the call whose result they unpack.  Calls that compute sizes or assert are taken by
//    everybody: they are where their inputs are made, else where their values are used.
// 6. A call of control flow that no set takes as a whole is left, and its bodies are partitioned as graphs of
//    their own.
// 7. The same input gives the same parts.  The time is linear in the graph, for each set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph_collection.h"
#include "partition/operator_set.h"
#include "rules/check.h"

namespace fxtrace::internal {

struct PartitionRequest {
  std::vector<OperatorSet> sets;  // the first that takes a call has it; at most kMostSets
  // Patterns over types and paths of modules that a set takes as a whole or not at all; "@PATH" is over paths
  // alone.
  std::vector<std::string> keep_together;
  std::vector<std::string> exclude;  // patterns over operators, types and paths; no set takes what they match
  std::int64_t min_nodes = 1;        // smaller regions are left
  std::optional<std::int64_t> min_macs;
  std::optional<std::int64_t> max_regions;  // the largest, by MACs and then by calls
};
inline constexpr std::size_t kMostSets = 64;

struct PartValue {
  NodeId node;
  std::string name;
  Meta meta;
  std::optional<SymInt> bytes;  // absent: unknown
};

struct Part {
  std::string graph;                       // the module of the graph, and after each ":" a subgraph
  std::optional<std::size_t> set;          // index into the sets; absent: a rest
  std::vector<NodeId> nodes;               // in order
  std::vector<std::string> names;          // of the nodes
  std::int64_t calls = 0;                  // without getitems, sizes and asserts
  std::optional<SymInt> macs;              // absent: unknown
  std::int64_t unknown = 0;                // calls whose cost is unknown
  std::int64_t parameter_bytes = 0;        // of parameters, buffers and constants that it reads, each once
  std::vector<PartValue> inputs, outputs;  // values that cross, in the order of the graph
};

struct LeftCall {
  std::string graph, node, target;
  std::string module, type;  // of the innermost module
  std::optional<SourceLocation> source;
  std::size_t reason = 0;  // index into Partition::reasons
};

// Why calls of one operator are left.
struct LeftReason {
  std::string target, text;
  // No set takes the calls; else they are in a region that is given up, or kept together with others.
  bool is_refused = false;
  std::int64_t calls = 0;
  std::optional<SymInt> macs;
  // What would be taken as a whole if the reason were gone: the number of modules, and the outermost ones.
  std::int64_t modules = 0;
  std::vector<std::string> outermost;
};

// Numbers of a whole that is taken in part.
struct Coverage {
  std::int64_t taken = 0, all = 0;
  std::optional<double> ratio() const {
    return all == 0 ? std::nullopt : std::optional(static_cast<double>(taken) / static_cast<double>(all));
  }
};

struct Partition {
  GraphCollection::Model model;
  std::vector<OperatorSet> sets;
  std::vector<Part> parts;          // by graph, in order of execution
  std::vector<LeftCall> left;       // in order of the graphs
  std::vector<LeftReason> reasons;  // the one with the most to gain first
  Coverage calls, operators, modules;
  std::vector<std::int64_t> set_calls;     // the calls that are taken, by set
  std::optional<SymInt> macs, taken_macs;  // of the model's own graph; absent: unknown
  std::int64_t unknown = 0;                // calls there whose cost is unknown
  // Values that go from one part to another where one of them is a region, once for each part that takes
  // them; and their bytes, as far as known.
  std::int64_t cut_edges = 0;
  std::optional<SymInt> cut_bytes;
  std::int64_t cut_unknown = 0;        // edges of unknown size
  std::vector<std::string> unmatched;  // names in sets and options that neither the model nor torch has

  std::size_t regions() const;
  // Returns the part of the MACs that is taken; nothing when it depends on dimensions.
  std::optional<double> macs_ratio() const;
};

// Returns the calls that no set takes, as offences against a rule of that name.
std::vector<BackendFinding> findings_of(const Partition& partition, const std::string& rule);

// Partitions all graphs of the collection.  Costs count where nodes have them.  Throws Error(kUsage) for a
// wrong pattern.
Partition partition(const GraphCollection& collection, PartitionRequest request);

// Gates: what a partition must reach, for `fxtrace partition --require`.

// "covered>=95%", "regions<=2".  Quantities are covered, operators, modules and macs, which are taken, with
// or without "%"; and left (calls), regions, cut_edges and cut_bytes.
struct Gate {
  std::string text;
  std::string quantity;
  bool is_least = false;  // >=, instead of <=
  bool is_percent = false;
  double limit = 0;
};

// Throws Error(kUsage).
Gate parse_gate(std::string_view text);

struct GateResult {
  Gate gate;
  std::optional<double> actual;  // absent: it cannot be told, as sizes or costs are unknown
  bool holds() const { return actual && (gate.is_least ? *actual >= gate.limit : *actual <= gate.limit); }
};
std::vector<GateResult> try_gates(const std::vector<Gate>& gates, const Partition& partition);

}  // namespace fxtrace::internal
