// A graph as it is compared: what each node does, and what feeds it.
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
#include <vector>

#include "compare/pairing/sequences.h"
#include "graph/graph_collection.h"
#include "operators/schema.h"

namespace fxtrace {

// What is known of operators' arguments, by target, each read once.
class SchemaTable {
 public:
  struct Known {
    Schema schema;
    // As which arguments those of the schema are compared, by place: those of the operator that
    // operator_name() says, which have no name where a convolution does not have them.
    std::vector<SchemaArgument> arguments;
    bool is_on_cpu = false;  // what it makes, where no device is given
  };
  // Null where nothing is known.
  const Known* find_known(const Node& node, bool has_overloads);

 private:
  std::unordered_map<std::string, std::optional<Known>> known_;
};

// How a collection names what both have: the path of a module, the name of a parameter, as the first
// collection has it.
struct CommonNames {
  std::function<std::string_view(std::string_view path)> module;
  std::function<std::string(const std::string& name)> parameter;
  bool has_overloads = true;  // false: of operators that differ in nothing else is one meant
};

// The name of an operator without its overload, one for several that mean the same: "aten.abs" of
// aten.absolute.default, "aten.conv2d" of aten._convolution.default with two strides.  Of other nodes the
// target.
std::string operator_name(const Node& node);

// Whether it is a number of dimensions, as common_form() has it: what its value says, however it is computed.
inline bool is_size(const Node& node) {
  return node.op == Opcode::kCallFunction && node.args.empty() && node.meta->value;
}

class ComparedGraph {
 public:
  // An argument by the name that the operator's schema gives it, or else by its place among the positional
  // ones.  What is given as its default is left out, and what is of the machine; a dtype is one, however it
  // is written.
  struct NamedArgument {
    std::string_view name;
    std::size_t position = 0;  // where there is no name
    const Argument* value = nullptr;
    bool is_same(const NamedArgument& other) const {
      return name == other.name && position == other.position;
    }
    std::string text() const { return name.empty() ? std::to_string(position) : std::string(name); }
  };
  struct Feed {
    std::uint64_t slot = 0;  // which argument, and where in it
    Place node = kNoPlace;
  };

  // All must outlive this.
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
  // Who takes the node's value, and where.
  std::span<const Feed> users(Place node) const { return part(users_, user_ends_, node); }

  // Hashes: of what the node does, with its constant arguments; of its operation whatever the arguments,
  // `add_` and `_add` as `add`; of the module and call that it stands in; of the module alone.
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
  void add_arguments(const Node& node, const SchemaTable::Known* known);
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
  std::deque<Argument> made_;  // values that are written otherwise in the graph
};

}  // namespace fxtrace
