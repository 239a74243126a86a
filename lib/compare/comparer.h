// What compare() does: one object for two collections, in parts by what is compared.  A part adds what it
// finds by add(); run() says in which order they go.
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
#include "compare/pairing/compared_side.h"
#include "compare/pairing/module_pairs.h"
#include "compare/pairing/node_pairs.h"
#include "graph/graph_collection.h"
#include "summaries/model_summary.h"
#include "symbolic/expression.h"
#include "symbolic/sym_int.h"

namespace fxtrace {

// Dimensions of the first collection by the names that the second has for them.
using Renames = std::map<std::string, SymInt>;

// As the second collection would have it.
std::optional<SymInt> renamed(const SymInt& size, const Renames& renames);
Expression renamed(const Expression& expression, const Renames& renames);

// Of values without nodes in them; a nan is one.
bool is_same_plain(const Argument& a, const Argument& b);

// As print_node(), without the arguments, which may be many.
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
  // By module: the outermost module around it, or itself, whose own difference tells what is in it.
  void find_covers();
  // The module around a path of one side that covers it, as the groups have it.
  std::optional<std::string> cover(bool is_after, std::string_view path) const;
  // Of a module that is covered by another one, that one.
  static std::optional<std::string> unless_itself(std::optional<std::string> cover, std::string_view path);
  // A group for each module: those of the first collection, and in between what is new in the second.
  void make_groups();
  Group group_of(std::string_view path);
  void add(std::string_view path, Difference difference);
  void add_change(std::string_view path, DifferenceKind kind, std::string subject, std::string field,
                  std::optional<std::string> before, std::optional<std::string> after,
                  std::optional<std::string> within = std::nullopt);
  void add_sizes(std::string_view path, DifferenceKind kind, std::string subject, std::string field,
                 const SymInt& before, const SymInt& after);

  // --- modules: compare_modules.cpp ---

  // An exported program does not say that a module was called which makes no node, or only gives its input
  // back.
  bool is_unseen(const ModuleRecord& called, const ModuleRecord& other, bool is_added) const;
  bool is_unseen(const ModuleRecord& a, const ModuleRecord& b) const;
  bool is_unseen_call(const Node& node, bool is_added) const;
  void compare_modules();
  void one_sided_module(std::size_t module, Change change);
  void compare_module(std::size_t i, std::size_t j);
  bool is_moved_with_parent(std::size_t i, std::size_t j) const;
  // Whether the file says all plain values of its modules.  An exported program has those that its operations
  // have; of what was traced with torch.jit.trace there are two, of every module the same.
  static bool has_all_attributes(const GraphCollection& collection);
  // Operators take [3, 3] where modules may have 3.
  static bool is_repeated(const Argument& number, const Argument& list);
  // 2 and 2.0
  static bool is_equal_number(const Argument& a, const Argument& b);
  // Plain values.  One that is on one side only is told if both sides say all that they have, and of modules
  // of one type, since others have others; None is as good as none.
  void compare_attributes(const ModuleRecord& a, const ModuleRecord& b);

  // --- parameters: compare_parameters.cpp ---

  void compare_parameters();
  // A number in TorchScript's code, which torch.export makes a buffer of.
  bool is_constant(const ParameterRecord& record, bool is_added) const;
  // Of a module that is there on one side only, the outermost one of these.
  std::optional<std::string> gone_with(std::string_view path) const;
  void compare_parameter(const ParameterRecord& a, const ParameterRecord& b);
  // Of a parameter, a buffer or a large constant: what they are called, and what they are.
  struct Weight {
    const std::string& name;
    const std::vector<std::int64_t>& shape;
    const std::string& dtype;
    const std::string& content;
    const std::vector<StoredPart>& stored;
  };
  void compare_weights(std::string_view path, const Weight& a, const Weight& b);
  // Tied ones are one, under whichever name.
  bool is_same_parameter(const std::string& a, const std::string& b) const;

  // --- graphs: compare_graphs.cpp ---

  struct GraphPair {
    const ModuleGraph* before = nullptr;
    const ModuleGraph* after = nullptr;
    Shared<std::string> name;  // as Difference::graph
  };

  void compare_all_graphs();
  // A module that has a graph of its own on one side: another one failed there, which tells of it.
  void one_sided_graph(const ModuleGraph& graph, Change change);
  CommonNames common_names(bool is_after) const;
  void compare_with_bodies(GraphPair first);

  // Two graphs, as they are compared now.
  struct Current {
    const ComparedGraph& before;
    const ComparedGraph& after;
    const NodePairs& nodes;
    const Shared<std::string>& name;
    Renames renames;
    std::vector<bool> has_changed;  // by node of the first: its shape, or what it does
    // Bodies of control flow that belong together.
    std::vector<std::pair<std::string, std::string>> bodies;
  };
  void compare_graphs(const GraphPair& pair, std::vector<GraphPair>& pending);
  void compare_assignments(const Current& now, const std::string& module);
  // Dimensions of inputs that stand in one place, where they tell of one new name each.
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
  // Whether they are the same.
  bool compare_targets(const Current& now, Place i, Place j);

  void compare_meta(Current& now, Place i, Place j);
  bool is_same_shape(const std::vector<Meta::Dim>& a, const std::vector<Meta::Dim>& b,
                     const Renames& renames) const;
  // Because it does something else, or an input is another one or has changed; or of a parameter.
  bool follows_others(const Current& now, Place i, Place j) const;

  // --- arguments: compare_arguments.cpp ---

  void compare_arguments(Current& now, Place i, Place j);
  // All together: of nodes that do something else, whose arguments have other names, or that have many.
  void compare_values(Current& now, Place i, Place j);
  // `a` or `b` may be null: it is left out there.
  void compare_argument(Current& now, Place i, Place j, const ComparedGraph::NamedArgument* a,
                        const ComparedGraph::NamedArgument* b);
  // Of nodes that are called as others on the other side: what they are there, " (is now %expand_1)".
  static std::string other_names(const Current& now, const Argument& argument, bool is_after);
  // A node that was added or removed, given as one more argument: its own line tells of it.
  static bool is_gone_node(const Current& now, const ComparedGraph::NamedArgument* a,
                           const ComparedGraph::NamedArgument* b);
  // torch.jit.trace gives a module each tensor once, and no plain values; an argument that one side does not
  // have.
  bool is_not_written(const Current& now, Place i, Place j, const ComparedGraph::NamedArgument* a,
                      const ComparedGraph::NamedArgument* b) const;
  // Also where a node is another one because of what was added or removed in between: its own line tells.
  bool is_same_value(Current& now, const Argument& a, const Argument& b);
  static bool is_same_node(const Current& now, NodeId a, NodeId b);

  // --- order and guards: compare_order.cpp ---

  // Of pairs that are in the order of the first, and whose numbers are places in the second, those that
  // moved, each with what stands before it on both sides.
  struct Moved {
    std::size_t item = 0;
    std::size_t before = kNone, after = kNone;  // items; kNone: it is the first
  };
  static std::vector<Moved> find_moved(const std::vector<Place>& numbers);
  void compare_order(const Current& now);
  // `b` by the names of the first.  Calls f(name, before, after) for those that moved, once each.
  template <class F>
  static void compare_sequences(const std::vector<std::string>& a, const std::vector<std::string>& b, F&& f);
  void compare_execution(const ModuleGraph& a, const ModuleGraph& b);

  void compare_guards(const ModuleGraph& a, const ModuleGraph& b, const Renames& renames);

  // --- costs: compare_costs.cpp ---

  struct CostPair {
    std::optional<SymInt> before, after;
    bool is_in_both = true;
  };
  void compare_costs(const ModelSummary& before, const ModelSummary& after);
  // Of a module only what those in it do not tell.
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
  bool two_kinds_;  // TorchScript, and an exported program
  bool all_attributes_;
  SchemaTable schemas_;
  ModelComparison result_;
  std::vector<std::size_t> covers_before_, covers_after_;
  std::deque<ModuleDifferences> groups_;  // keys are views of their paths
  std::unordered_map<std::string_view, Group> group_by_path_;
  std::unordered_set<std::string> weighed_;  // parameters and constants, with their graphs in front
  std::unordered_set<std::string> resized_;  // modules of whose parameters or values one is another
  std::set<std::pair<std::string, std::string>> told_renames_;
  Renames renames_;  // of the root's graph
};

}  // namespace fxtrace
