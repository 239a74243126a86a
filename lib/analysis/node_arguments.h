// The arguments of a call in a graph, by the parameters of its operator, and what is known of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <forward_list>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "graph/node.h"
#include "opinfo/infer.h"
#include "opinfo/operator_entry.h"

namespace fxtrace::internal {

// The arguments of a call in a graph by the parameters of its operator, with the operator's defaults.

// A view of one call.  The node and the entry of its operator must outlive it.
class NodeArguments {
 public:
  NodeArguments(const Node& node, const OperatorEntry& op) : node_(node), op_(op) {}

  // Returns the argument for a parameter; null when it is left out, or there is no such parameter.
  const Argument* find_argument(std::size_t place) const;
  const Argument* find_argument(std::string_view name) const;
  // Returns the argument or its default; nothing when there is neither.
  std::optional<Argument> value(std::string_view name) const;
  // Returns an integer, if it is known.  One that is left out, or None, is its default, or else `otherwise`.
  std::optional<std::int64_t> integer(const Graph& graph, std::string_view name,
                                      std::optional<std::int64_t> otherwise = {}) const;

 private:
  const Node& node_;
  const OperatorEntry& op_;
};

// Returns the default of a parameter as an argument; nothing when it has none.
std::optional<Argument> plain_argument(const AbstractValue& value);

// The arguments of a call in a graph as abstract values, in the order of the operator's schema and with its
// defaults.

// Returns what the metadata of a value tells of it.
AbstractValue known_value(const Meta& meta);

// Converts an argument to an abstract value; value_of(reference) converts references.  Kinds of values that
// no rule uses become unknown values.
template <class ValueOf>
AbstractValue known_value(const Argument& argument, const ValueOf& value_of) {
  const auto each = [&](const std::vector<Argument>& items) {
    AbstractValue::Sequence sequence;
    sequence.reserve(items.size());
    for (const Argument& item : items) {
      AbstractValue part = known_value(item, value_of);
      // Nested lists become unknown: a long one may occur in many places.
      if (item.is<NodeId>() && part.sequence() != nullptr) part = {};
      sequence.push_back(std::move(part));
    }
    return AbstractValue{std::move(sequence)};
  };
  if (const auto* reference = argument.get_if<NodeId>()) return value_of(*reference);
  if (const auto* integer = argument.get_if<std::int64_t>()) return {SymInt(*integer)};
  if (const auto* flag = argument.get_if<bool>()) return {*flag};
  if (const auto* number = argument.get_if<double>()) return {*number};
  if (const auto* text = argument.get_if<std::string>()) return {*text};
  if (const auto* list = argument.get_if<Argument::List>()) return each(list->items);
  if (const auto* tuple = argument.get_if<Argument::Tuple>()) return each(tuple->items);
  if (const auto* dtype = argument.get_if<Argument::Dtype>()) {
    const Dtype type = find_scalar_type(std::string_view(dtype->name));
    return type ? AbstractValue{*type} : AbstractValue{};
  }
  return argument.is<Argument::None>() ? AbstractValue{NoneValue{}} : AbstractValue{};
}

// `ValueOf` returns a const AbstractValue& for a Reference, which must stay valid.
template <class ValueOf>
class KnownArguments final : public CallArguments {
 public:
  KnownArguments(const OperatorEntry& op, const Node& node, const ValueOf& value_of)
      : op_(op), given_(node, op), value_of_(value_of) {}

  std::size_t size() const override { return op_.schema.arguments.size(); }
  ValueType type(std::size_t i) const override { return type_of(value(i)); }
  bool is_literal(std::size_t i) const override {
    const Argument* given = given_.find_argument(i);
    return given == nullptr || !(given->is<NodeId>() || given->is<List>() || given->is<Tuple>());
  }

 private:
  using List = Argument::List;
  using Tuple = Argument::Tuple;

  const AbstractValue& value(std::size_t i) const override {
    const Argument* given = given_.find_argument(i);
    if (given == nullptr) return op_.defaults[i];
    if (const auto* reference = given->get_if<NodeId>()) return value_of_(*reference);
    for (const auto& [place, known] : own_) {
      if (place == i) return known;
    }
    own_.emplace_front(i, known_value(*given, value_of_));
    return own_.front().second;
  }

  const OperatorEntry& op_;
  const NodeArguments given_;
  const ValueOf& value_of_;
  mutable std::forward_list<std::pair<std::size_t, AbstractValue>> own_;  // converted literals
};

// Returns what the operator's shape rule tells of the results.  known_of(reference) returns what is known of
// an operand.
template <class KnownOf>
Results inferred_results(const OperatorEntry& op, const Node& node, const KnownOf& known_of) {
  std::deque<AbstractValue> values;
  const auto value_of = [&](NodeId id) -> const AbstractValue& { return values.emplace_back(known_of(id)); };
  const KnownArguments args(op, node, value_of);
  ShapeEnv dimensions;
  return infer_shapes(RuleArguments(op, args, dimensions)).results;
}

}  // namespace fxtrace::internal
