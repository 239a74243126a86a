// The arguments of a call in a graph by the parameters of its operator, with the operator's defaults.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "graph/graph.h"
#include "opinfo/operator_entry.h"

namespace fxtrace::internal {

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

}  // namespace fxtrace::internal
