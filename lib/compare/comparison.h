// What differs between two collections: the data of `fxtrace diff`.
//
// Modules belong together by their paths, and where a path is gone or another module is around it, by their
// structure where only one can be meant.  Nodes belong together by what they do and what feeds them, not by
// their names: see node_pairs.h. What does not belong to anything was added or removed; of what belongs
// together each field is compared.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph_collection.h"
#include "summaries/parameter_sizes.h"
#include "support/shared.h"
#include "symbolic/sym_int.h"

namespace fxtrace {

enum class DifferenceKind : std::uint8_t {
  kModules,
  kParameters,
  kWeights,  // content of parameters and buffers, as far as the archives tell without reading it
  kNodes,
  kArguments,  // of nodes, and plain values of modules
  kShapes,     // shapes, dtypes and devices of values
  kOrder,      // in which modules, parameters and nodes are used
  kCosts,
  kGuards,
  kNames,   // of nodes
  kSources  // of nodes: file, line and text
};
inline constexpr std::size_t kDifferenceKinds = 11;
const char* to_string(DifferenceKind kind);  // "modules"

// A set of them.
class DifferenceKinds {
 public:
  static DifferenceKinds all() { return DifferenceKinds((1U << kDifferenceKinds) - 1); }
  // All but names and sources.
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

// Texts are as the collections have them, of any length.
struct Difference {
  DifferenceKind kind = DifferenceKind::kModules;
  Change change = Change::kChanged;
  // Name of a node or a parameter, path of a module, a guard's expression; of what was added in the second
  // collection, of all else in the first.  Of costs empty.
  std::string subject = {};
  std::string other = {};  // its name in the second collection, where that is another
  // Which of it is another: "type", "shape", "alpha"; empty: all of it.  Of a module that moved into a
  // wrapper, or out of one, "wrapper", and the type of that.
  std::string field = {};
  std::optional<std::string> before = {}, after = {};
  std::optional<SymInt> size_before = {}, size_after = {};  // of weights and costs: what these texts say
  // Of a node what it does, as print_node() has it; where only a part of it is another, without its
  // arguments: %add = call_function[aten.add.Tensor](...)
  std::string text = {};
  // Of a node: path of the module whose graph it is in, and behind ":" names of bodies of control flow;
  // empty in the root's graph.
  Shared<std::string> graph = {};
  std::vector<std::string> users = {};  // of a node that was added or removed: the first ones
  std::optional<SourceLocation> source = {};
  // Path of a module whose own difference tells of this: one that was added or removed, or is traced on one
  // side only.
  std::optional<std::string> within = {};
  bool follows = false;  // of shapes: because that of an input or parameter is another
};

// Of one module: itself, its parameters, the nodes that its forward makes.
struct ModuleDifferences {
  std::string path;                  // in the first collection; of an added one in the second
  std::optional<std::string> other;  // in the second, where that is another
  std::string type;                  // in the second; of a removed one in the first
  std::vector<Difference> differences;
  // Paths of modules of which the same is to be said, the first is `path`: see fold_equal_modules().
  std::vector<std::string> alike;

  // What a module that was added or removed has, submodules included.
  std::int64_t modules = 0, parameters = 0, nodes = 0;
};

// What one collection holds.
struct ComparedModel {
  GraphCollection::Model model;
  std::int64_t modules = 0, nodes = 0;  // shared modules once; subgraphs included
  std::int64_t failed = 0;
  TensorTotal parameters, buffers;
  std::optional<SymInt> macs, activation_bytes, peak_bytes;
  bool is_partial = false;  // some costs are not known
};

// Of parameters and buffers that both have, tied ones once.
struct WeightCounts {
  std::int64_t compared = 0, differ = 0;
  std::int64_t not_compared = 0;                   // the archives do not tell
  std::int64_t bytes_before = 0, bytes_after = 0;  // of those that differ
};

struct ModelComparison {
  ComparedModel before, after;
  WeightCounts weights;
  DifferenceKinds told;
  // By kind and change: how many there are, told or not.
  std::array<std::array<std::int64_t, kChanges>, kDifferenceKinds> counts{};
  std::int64_t following = 0;              // of those of shapes, how many follow from others
  std::vector<ModuleDifferences> modules;  // those with differences, in the order of the models

  std::int64_t count(DifferenceKind kind) const;
  std::int64_t count(DifferenceKind kind, Change change) const {
    return counts[static_cast<std::size_t>(kind)][static_cast<std::size_t>(change)];
  }
  bool has_any(DifferenceKinds kinds) const;
  bool is_equal() const { return !has_any(told); }
};

struct CompareOptions {
  DifferenceKinds kinds = DifferenceKinds::usual();  // that are told; all are counted
};

// What is not known on one side is no difference: a shape, a cost, a plain value of a traced archive, a call
// in an exported program that leaves no operation.  Takes time and memory that grow with the collections'
// sizes, but for a logarithm.
ModelComparison compare(const GraphCollection& before, const GraphCollection& after,
                        const CompareOptions& options = {});

// Leaves differences of a kind out of `modules`; they stay counted and told of.
void leave_out(ModelComparison& comparison, DifferenceKind kind);

// Modules that differ from each other in numbers of their paths alone, and of which the same is said, become
// one: of h.0, h.1, ..., h.11 the first.
void fold_equal_modules(ModelComparison& comparison);

}  // namespace fxtrace
