// Comparer: compares two collections, in parts by kind of difference.  Each part reports by add(); run() has
// the order of the parts.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "compare/comparison.h"
#include "compare/pairing/compared_graph.h"
#include "compare/pairing/module_pairs.h"
#include "compare/pairing/node_pairs.h"
#include "graph/graph_collection.h"
#include "summaries/model_summary.h"
#include "symbolic/expression.h"
#include "symbolic/sym_int.h"

namespace fxtrace::internal {

// Dimensions of the first collection, by their names in the second.
using Renames = std::map<std::string, SymInt>;

// Return the value with the names of the second collection.
std::optional<SymInt> renamed(const SymInt& size, const Renames& renames);
Expression renamed(const Expression& expression, const Renames& renames);

// Returns whether two values without nodes are the same; nan equals nan.
bool is_same_plain(const Argument& a, const Argument& b);

// The bytes behind which no argument of a node is written in a difference.
inline constexpr std::size_t kMostText = 64 * 1024;

// Returns the text of print_node() without the arguments, which may be many.
std::string short_text(const Node& node);

class Comparer {
 public:
  // The graphs are those of the collections, or their common_form().
  Comparer(const GraphCollection& before, const std::vector<ModuleGraph>& graphs_before,
           const GraphCollection& after, const std::vector<ModuleGraph>& graphs_after,
           const CompareOptions& options);
  ModelComparison run();

 private:
  static constexpr std::size_t kNone = ModuleTree::kNone;
  using Group = std::size_t;

  // --- what is found, by modules: comparer.cpp ---

  static bool is_known_on_one_side(const ModuleRecord& a, const ModuleRecord& b);
  // Finds, by module, the outermost module around it, or itself, whose own difference covers its content.
  void find_covers();
  // Returns the module that covers a path of one side, as the groups name it.
  std::optional<std::string> cover(bool is_after, std::string_view path) const;
  // Returns the cover, or nothing if it is the module itself.
  static std::optional<std::string> unless_itself(std::optional<std::string> cover, std::string_view path);
  // Makes a group for each module of the first collection, and in between for new ones of the second.
  void make_groups();
  Group group_of(std::string_view path);
  // Returns whether differences of this kind are listed, and not only counted.
  bool lists(DifferenceKind kind) const { return options_.kinds.has(kind) && bytes_left_ > 0; }
  void add(std::string_view path, Difference difference);
  void add_change(std::string_view path, DifferenceKind kind, std::string subject, std::string field,
                  std::optional<std::string> before, std::optional<std::string> after,
                  std::optional<std::string> within = std::nullopt);
  void add_sizes(std::string_view path, DifferenceKind kind, std::string subject, std::string field,
                 const SymInt& before, const SymInt& after);

  // --- modules: compare_modules.cpp ---

  // Returns whether the call of a module leaves no trace in an exported program: it makes no node, or only
  // gives its input back.
  bool is_unseen(const ModuleRecord& called, const ModuleRecord& other, bool is_added) const;
  bool is_unseen(const ModuleRecord& a, const ModuleRecord& b) const;
  bool is_unseen_call(const Node& node, bool is_added) const;
  void compare_modules();
  void one_sided_module(std::size_t module, Change change);
  void compare_module(std::size_t i, std::size_t j);
  bool is_moved_with_parent(std::size_t i, std::size_t j) const;
  // Returns whether the file has all plain values of its modules.  An exported program has only those of its
  // operations; a file of torch.jit.trace has two, the same for every module.
  static bool has_all_attributes(const GraphCollection& collection);
  // Returns whether the list repeats the number: operators take [3, 3] where modules may have 3.
  static bool is_repeated(const Argument& number, const Argument& list);
  // Returns whether two numbers are equal: 2 and 2.0.
  static bool is_equal_number(const Argument& a, const Argument& b);
  // Compares plain values.  One that only one side has is told if both sides have all of theirs, and for
  // modules of one type only, since other types have other values.  None equals a missing value.
  void compare_attributes(const ModuleRecord& a, const ModuleRecord& b);

  // --- parameters: compare_modules.cpp ---

  void compare_parameters();
  // Returns whether the record is a number in the code of TorchScript, of which torch.export makes a buffer.
  bool is_constant(const ParameterRecord& record, bool is_added) const;
  // Returns the outermost module around the path that is on one side only.
  std::optional<std::string> gone_with(std::string_view path) const;
  void compare_parameter(const ParameterRecord& a, const ParameterRecord& b);
  // The names and the content of a parameter, a buffer or a large constant.
  struct Weight {
    const std::string& name;
    const std::vector<std::int64_t>& shape;
    const std::string& dtype;
    const std::string& content;
    const std::vector<StoredPart>& stored;
  };
  void compare_weights(std::string_view path, const Weight& a, const Weight& b);
  // Returns whether two names are the same parameter; tied parameters are one.
  bool is_same_parameter(const std::string& a, const std::string& b) const;

  // --- graphs: compare_graphs.cpp ---

  struct GraphPair {
    const ModuleGraph* before = nullptr;
    const ModuleGraph* after = nullptr;
    Shared<std::string> name;  // see Difference::graph
  };

  void compare_all_graphs();
  // Tells of a module that has a graph of its own on one side only: another module failed there, whose
  // difference covers this.
  void one_sided_graph(const ModuleGraph& graph, Change change);
  CommonNames common_names(bool is_after) const;
  void compare_with_bodies(GraphPair first);

  // Two graphs while they are compared.
  struct Current {
    const ComparedGraph& before;
    const ComparedGraph& after;
    const NodePairs& nodes;
    const Shared<std::string>& name;
    Renames renames;
    std::vector<bool> has_changed;  // by node of the first: whether its shape or its operation has changed
    // Pairs of bodies of control flow.
    std::vector<std::pair<std::string, std::string>> bodies;
  };
  void compare_graphs(const GraphPair& pair, std::vector<GraphPair>& pending);
  void compare_assignments(const Current& now, const std::string& module);
  // Finds dimensions of paired inputs that have another name each.
  void find_renames(Current& now);
  void one_sided_node(const ComparedGraph& graph, Place place, Change change, const Shared<std::string>& name,
                      const std::string& root);

  // --- nodes that belong together: compare_nodes.cpp ---

  Difference node_difference(const Current& now, Place i, DifferenceKind kind) const;
  std::string_view path_of(const Current& now, Place i) const;
  void add_node_change(const Current& now, Place i, Place j, DifferenceKind kind, std::string field,
                       std::optional<std::string> before, std::optional<std::string> after,
                       bool follows = false);
  std::int64_t count_changes() const;
  void compare_nodes(Current& now, Place i, Place j);
  // Returns whether both have the same target.
  bool compare_targets(const Current& now, Place i, Place j);

  void compare_meta(Current& now, Place i, Place j);
  bool is_same_shape(const std::vector<Meta::Dim>& a, const std::vector<Meta::Dim>& b,
                     const Renames& renames) const;
  // Returns whether a change of shape follows from others: the node does something else, an input is another
  // one or has changed, or a parameter has.
  bool follows_others(const Current& now, Place i, Place j) const;

  // --- arguments: compare_nodes.cpp ---

  void compare_arguments(Current& now, Place i, Place j);
  // Compares all arguments as one text: for nodes that do something else, whose arguments have other names,
  // or that have many.
  void compare_values(Current& now, Place i, Place j);
  // Compares one argument.  `a` or `b` is null if that side does not have it.
  void compare_argument(Current& now, Place i, Place j, const ComparedGraph::NamedArgument* a,
                        const ComparedGraph::NamedArgument* b);
  // Returns the names that nodes among the argument have on the other side: " (is now %expand_1)".
  static std::string other_names(const Current& now, const Argument& argument, bool is_after);
  // Returns whether the argument is a node that was added or removed, whose own difference covers this.
  static bool is_gone_node(const Current& now, const ComparedGraph::NamedArgument* a,
                           const ComparedGraph::NamedArgument* b);
  // Returns whether one side does not write such an argument: torch.jit.trace passes a module each tensor
  // once, and no plain values.
  bool is_not_written(const Current& now, Place i, Place j, const ComparedGraph::NamedArgument* a,
                      const ComparedGraph::NamedArgument* b) const;
  // Returns whether two values are the same, also if a node differs because of a node that was added or
  // removed in between, whose own difference covers this.
  bool is_same_value(Current& now, const Argument& a, const Argument& b);
  static bool is_same_node(const Current& now, NodeId a, NodeId b);

  // --- order and guards: compare_graphs.cpp ---

  // A pair that moved, with its predecessors on both sides.
  struct Moved {
    std::size_t item = 0;
    std::size_t before = kNone, after = kNone;  // predecessors; kNone: it is the first
  };
  // Returns the pairs that moved.  Pairs are in the order of the first graph; `numbers` are their places in
  // the second.
  static std::vector<Moved> find_moved(const std::vector<Place>& numbers);
  void compare_order(const Current& now);
  // Calls f(name, before, after) once for each name that moved; `b` has the names of the first.
  template <class F>
  static void compare_sequences(const std::vector<std::string>& a, const std::vector<std::string_view>& b,
                                F&& f);
  void compare_execution(const ModuleGraph& a, const ModuleGraph& b);

  void compare_guards(const ModuleGraph& a, const ModuleGraph& b, const Renames& renames);

  // --- costs: compare_modules.cpp ---

  struct CostPair {
    std::optional<SymInt> before, after;
    bool is_in_both = true;
  };
  void compare_costs(const ModelSummary& before, const ModelSummary& after);
  // Tells the part of a module's difference that modules in it do not tell.
  void compare_costs(const ModelSummary& before, const ModelSummary& after, const char* field,
                     std::optional<SymInt> SummaryRow::* cost);
  std::optional<SymInt> difference_of(const CostPair& pair) const;
  static std::optional<SymInt> sum(const SymInt& a, const std::optional<SymInt>& b);
  void tell_cost(const std::string& path, const char* field, const std::optional<SymInt>& before,
                 const std::optional<SymInt>& after);

  const ComparedSide& side(bool is_after) const { return is_after ? after_ : before_; }

  const CompareOptions& options_;
  ModulePairs pairs_;
  ComparedSide before_, after_;
  bool two_kinds_;  // one collection is of TorchScript, the other an exported program
  bool all_attributes_;
  SchemaTable schemas_;
  ModelComparison result_;
  std::size_t bytes_left_;  // of differences
  std::vector<std::size_t> covers_before_, covers_after_;
  std::deque<ModuleDifferences> groups_;  // deque, as keys are views of the paths
  std::unordered_map<std::string_view, Group> group_by_path_;
  std::unordered_set<std::string> weighed_;  // compared parameters and constants, with graphs
  std::unordered_set<std::string> resized_;  // modules one of whose parameters or plain values has changed
  std::set<std::pair<std::string, std::string>> told_renames_;
  Renames renames_;  // renames of the root's graph
};

}  // namespace fxtrace::internal
