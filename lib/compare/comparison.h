// Comparison: the differences between two collections, the data of `fxtrace diff`.
//
// Modules are paired by their paths, and where a path is gone or wrapped, by their structure if it is
// unambiguous (module_pairs.h).  Nodes are paired by what they do and what feeds them, not by their names
// (node_pairs.h).  What has no partner was added or removed; pairs are compared field by field.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/graph_collection.h"
#include "summaries/parameter_sizes.h"
#include "support/shared.h"
#include "symbolic/sym_int.h"

namespace fxtrace::internal {

enum class DifferenceKind : std::uint8_t {
  kModules,
  kParameters,
  kWeights,  // content of parameters and buffers, by their keys
  kNodes,
  kArguments,  // arguments of nodes, and plain values of modules
  kShapes,     // shapes, dtypes and devices of values
  kOrder,      // the order in which modules, parameters and nodes are used
  kCosts,
  kGuards,
  kNames,   // names of nodes
  kSources  // file, line and text of nodes
};
inline constexpr std::size_t kDifferenceKinds = 11;
const char* to_string(DifferenceKind kind);             // "modules"
DifferenceKind difference_kind(std::string_view name);  // throws Error(kUsage)

// A set of kinds.
class DifferenceKinds {
 public:
  static DifferenceKinds all() { return DifferenceKinds((1U << kDifferenceKinds) - 1); }
  // Returns all kinds but names and sources.
  static DifferenceKinds usual();

  DifferenceKinds() = default;
  bool has(DifferenceKind kind) const { return (bits_ >> static_cast<unsigned>(kind) & 1) != 0; }
  void add(DifferenceKind kind) { bits_ |= 1U << static_cast<unsigned>(kind); }
  void remove(DifferenceKind kind) { bits_ &= ~(1U << static_cast<unsigned>(kind)); }

 private:
  explicit DifferenceKinds(std::uint32_t bits) : bits_(bits) {}
  std::uint32_t bits_ = 0;
};

enum class Change : std::uint8_t { kAdded, kRemoved, kMoved, kChanged };
inline constexpr std::size_t kChanges = 4;
const char* to_string(Change change);  // "added"

// A difference.  Texts are as in the collections, of any length.
struct Difference {
  DifferenceKind kind = DifferenceKind::kModules;
  Change change = Change::kChanged;
  // The name of a node or a parameter, the path of a module or the expression of a guard: in the second
  // collection if it was added, else in the first.  Empty for costs.
  std::string subject = {};
  std::string other = {};  // its name in the second collection, if that differs
  // The field that differs: "type", "shape", "alpha"; empty: all of it.  For a module that moved into a
  // wrapper, or out of one: "wrapper", with its type.
  std::string field = {};
  std::optional<std::string> before = {}, after = {};
  std::optional<SymInt> size_before = {}, size_after = {};  // for weights and costs: the values
  // For a node its text, as print_node() has it; without its arguments if only a part of it differs: %add =
  // call_function[aten.add.Tensor](...)
  std::string text = {};
  // For a node: the path of the module whose graph it is in, and behind ":" the names of bodies of control
  // flow; empty in the root's graph.
  Shared<std::string> graph = {};
  std::vector<std::string> users = {};  // for a node that was added or removed: its first users
  std::optional<SourceLocation> source = {};
  // The path of a module whose own difference covers this one: it was added or removed, or is traced on one
  // side only.
  std::optional<std::string> within = {};
  bool follows = false;  // for shapes: it follows from that of an input or a parameter
};

// The differences of one module: of itself, its parameters and the nodes that its forward makes.
struct ModuleDifferences {
  std::string path;                  // in the first collection; in the second if it was added
  std::optional<std::string> other;  // in the second collection, if that differs
  std::string type;                  // in the second collection; in the first if it was removed
  std::vector<Difference> differences;
  // Paths of modules with the same differences, the first is `path`: see fold_equal_modules().
  std::vector<std::string> alike;

  // The content of a module that was added or removed, submodules included.
  std::int64_t modules = 0, parameters = 0, nodes = 0;
};

// The content of one collection.
struct ComparedModel {
  GraphCollection::Model model;
  std::int64_t modules = 0, nodes = 0;  // shared modules once; subgraphs included
  std::int64_t failed = 0;
  TensorTotal parameters, buffers;
  std::optional<SymInt> macs, activation_bytes, peak_bytes;
  bool is_partial = false;  // some costs are not known
};

// Counts of parameters and buffers that both have, tied ones once.
struct WeightCounts {
  std::int64_t compared = 0, differ = 0;
  std::int64_t not_compared = 0;                   // the archives do not tell their content
  std::int64_t bytes_before = 0, bytes_after = 0;  // bytes of those that differ
  bool by_bytes = false;  // compared by the bytes read (ModelFile::verify_content()), not by checksums
};

struct ModelComparison {
  ComparedModel before, after;
  WeightCounts weights;
  DifferenceKinds told;
  // The number of differences by kind and change, told or not.
  std::array<std::array<std::int64_t, kChanges>, kDifferenceKinds> counts{};
  // The number of differences that are counted, but not in `modules`: their texts would take more memory than
  // a comparison may (kMostBytes).  Graphs of a small file can name long names again and again.
  std::int64_t unlisted = 0;
  std::int64_t following = 0;              // the number of differences of shapes that follow from others
  std::vector<ModuleDifferences> modules;  // modules with differences, in the order of the models

  std::int64_t count(DifferenceKind kind) const;
  std::int64_t count(DifferenceKind kind, Change change) const {
    return counts[static_cast<std::size_t>(kind)][static_cast<std::size_t>(change)];
  }
  bool has_any(DifferenceKinds kinds) const;
  bool is_equal() const { return !has_any(told); }
};

inline constexpr std::size_t kMostBytes = std::size_t{64} << 20;  // of all differences together

struct CompareOptions {
  DifferenceKinds kinds = DifferenceKinds::usual();  // kinds that are told; all are counted
  std::size_t most_bytes = kMostBytes;
  bool has_read_bytes = false;  // the keys of content are those of ModelFile::verify_content()
};

// Compares two collections.  Things that one side does not know are not differences: a shape, a cost, a plain
// value of a traced archive, a call in an exported program that leaves no operation.  Time and memory grow
// with the sizes of the collections, but for a logarithm; the texts of differences end at
// CompareOptions::most_bytes.
ModelComparison compare(const GraphCollection& before, const GraphCollection& after,
                        const CompareOptions& options = {});

// Removes differences of a kind from `modules`; they stay counted and told.
void leave_out(ModelComparison& comparison, DifferenceKind kind);

// Joins modules with the same differences whose paths differ in numbers alone: h.0, h.1, ..., h.11 become the
// first one.
void fold_equal_modules(ModelComparison& comparison);

// Merged collection: two collections as one, for a picture of their differences.

// The second collection, with nodes and modules that only the first has: these are where they were, and
// nothing takes their values.  Its file is "a.pt → b.pt".  It is made to be drawn, and cannot run.
struct MergedCollection {
  GraphCollection collection;
  std::unordered_map<const Node*, Change> nodes;         // marked nodes of its graphs and their bodies
  std::unordered_map<std::string_view, Change> modules;  // marked modules, by path
  std::unordered_set<std::string_view> weights;          // paths of others that have other weights
};

// Merges two collections.  `comparison` is the result of compare() with all kinds, and not folded;
// differences of the kinds `marked` become marks.
MergedCollection merge(const GraphCollection& before, const GraphCollection& after,
                       const ModelComparison& comparison, DifferenceKinds marked);

// Inlined methods: calls of methods other than forward, as torch.export records them.

// Returns whether a graph of the collection calls such a method.
bool has_method_calls(const GraphCollection& collection);

// Returns the collection with the nodes of such methods as a part of the forward that calls them.  Modules of
// which no other code runs are unvisited then.
GraphCollection with_methods_inlined(GraphCollection collection);

}  // namespace fxtrace::internal
