// The nodes of a graph as they are compared, and the alignment of two sequences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/graph_collection.h"
#include "operators/schema.h"

namespace fxtrace::internal {

// Sequences: aligns two sequences of hashes in order, as in a text diff.

using Place = std::uint32_t;
inline constexpr Place kNoPlace = UINT32_MAX;
using PlacePair = std::pair<Place, Place>;  // places in the first and in the second sequence

// Returns pairs of equal items that are in the same order in both.  For sequences with few differences this
// is a longest such list (Myers, An O(ND) Difference Algorithm, 1986).  Where that would take too long, the
// n-th item of each kind is paired with the n-th (as patience diff does for unique items).  Time grows with
// the lengths, but for a logarithm.
std::vector<PlacePair> align(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b);

// Returns which of the distinct numbers are in a longest increasing subsequence; the others have moved.
std::vector<bool> longest_increasing(const std::vector<Place>& numbers);

// Compared graph: a graph as it is compared, with hashes of what each node does, and its feeds and users.

// Schemas and arguments of operators, by target, each looked up once.
class SchemaTable {
 public:
  struct KnownOperator {
    Schema schema;
    // By place: the argument that an argument of the schema is compared as.  It is that of the operator that
    // operator_name() gives, and without a name if a convolution does not have it.
    std::vector<SchemaArgument> arguments;
    bool is_on_cpu = false;  // the operator makes its result on the CPU if no device is given
  };
  // Returns null if nothing is known.
  const KnownOperator* find_known(const Node& node, bool has_overloads);

 private:
  std::unordered_map<std::string, std::optional<KnownOperator>> known_;
};

// Common names: the path of a module and the name of a parameter, as the first collection has them.
struct CommonNames {
  std::function<std::string_view(std::string_view path)> module;
  std::function<std::string(const std::string& name)> parameter;
  bool has_overloads = true;  // false: operators that differ in their overload only are one
};

// Returns the name of an operator without its overload, the same for synonyms: "aten.abs" for
// aten.absolute.default, "aten.conv2d" for aten._convolution.default with two strides.  Returns the target
// for other nodes.
std::string operator_name(const Node& node);

// Returns whether the node is a size, as common_form() writes it: its value says all, however it is computed.
inline bool is_size(const Node& node) {
  return node.op == Opcode::kCallFunction && node.args.empty() && node.meta->value;
}

class ComparedGraph {
 public:
  // An argument by its name in the schema, or else by its position.  Arguments that are given as their
  // default are left out, as are those that depend on the machine.  A dtype is a dtype, however it is
  // written.
  struct NamedArgument {
    std::string_view name;
    std::size_t position = 0;  // if there is no name
    const Argument* value = nullptr;
    bool is_same(const NamedArgument& other) const {
      return name == other.name && position == other.position;
    }
    std::string text() const { return name.empty() ? std::to_string(position) : std::string(name); }
  };
  struct Feed {
    std::uint64_t slot = 0;  // hash of the argument, and of the position in it
    Place node = kNoPlace;
  };

  // The arguments must outlive this.
  ComparedGraph(const ModuleGraph& graph, SchemaTable& schemas, const CommonNames& names);

  const ModuleGraph& graph() const { return graph_; }
  Place size() const { return static_cast<Place>(order_.size()); }
  const Node& operator[](Place node) const { return graph_.graph.node(order_[node]); }
  Place place(NodeId id) const { return place_of_[id.index]; }
  const Constant* find_constant(std::string_view name) const;

  std::span<const NamedArgument> arguments(Place node) const {
    return part(arguments_, argument_ends_, node);
  }
  std::span<const Feed> feeds(Place node) const { return part(feeds_, feed_ends_, node); }
  // Returns the users of the node, with the slots in which they take its value.
  std::span<const Feed> users(Place node) const { return part(users_, user_ends_, node); }

  // Hashes: of what the node does, with its constant arguments; of its operation without arguments, `add_`
  // and `_add` as `add`; of the module and the call that it is in; of the module alone.
  std::uint64_t label(Place node) const { return hashes_[node].label; }
  std::uint64_t operation(Place node) const { return hashes_[node].operation; }
  std::uint64_t scope(Place node) const { return hashes_[node].scope; }
  std::uint64_t module(Place node) const { return hashes_[node].module; }

 private:
  struct Hashes {
    std::uint64_t label = 0, operation = 0, scope = 0, module = 0;
  };

  template <class T>
  static std::span<const T> part(const std::vector<T>& all, const std::vector<std::size_t>& ends,
                                 Place node) {
    const std::size_t begin = node == 0 ? 0 : ends[node - 1];
    return std::span(all).subspan(begin, ends[node] - begin);
  }
  void add_arguments(const Node& node, const SchemaTable::KnownOperator* known);
  std::uint64_t add_value(const Argument& value, std::uint64_t slot);
  std::uint64_t constant_hash(const Constant& constant);
  std::uint64_t target_hash(const Node& node, const CommonNames& names);
  void find_users();

  const ModuleGraph& graph_;
  std::vector<NodeId> order_;
  std::vector<Place> place_of_;
  std::unordered_map<std::string_view, const Constant*> constants_;
  std::vector<NamedArgument> arguments_;
  std::vector<Feed> feeds_, users_;
  std::vector<std::size_t> argument_ends_, feed_ends_, user_ends_;
  std::vector<Hashes> hashes_;
  std::deque<Argument> made_;  // values that the graph writes in another way
};

}  // namespace fxtrace::internal
