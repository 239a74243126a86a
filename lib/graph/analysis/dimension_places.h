// Where the inputs of a graph state sizes with names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/analysis/input_sizes.h"
#include "graph/graph.h"

namespace fxtrace {

// Returns the name that guards have for an input: `input`, not the node's input_1.
const std::string& input_name(const Node& placeholder);

// A name that an input has as a size of its own stands for that size in guards: who evaluates them can look
// it up.  Another one stands for what the inputs say of it: batch is x.size(0) - 1 where x has batch+1 rows.
// A size that says something else of the names than those places is a condition.
class DimensionPlaces {
 public:
  static constexpr std::int64_t kInteger = -1;  // the index of an input that is an integer itself

  explicit DimensionPlaces(const Graph& graph);  // which must outlive this

  bool defines(const std::string& name) const { return sources_.contains(name); }
  // Returns what must hold for the size of an input to be what it says; nothing where it says it first.
  std::vector<Expression> conditions(NodeId input, std::int64_t index) const;
  // Returns the condition without names that no input has as a size of its own.
  Expression over_inputs(const Expression& condition) const;

 private:
  std::optional<DimensionSource> from_whole(const SymInt& size, std::size_t places) const;
  SymInt over_places(const SymInt& size, bool keeps_plain) const;
  std::string with_texts(const SymInt& size) const;

  const Graph& graph_;
  std::vector<InputSize> places_;
  std::map<std::string, DimensionSource> sources_;  // by name
  std::map<std::string, std::size_t> position_;     // by text: x.size(0)
};

}  // namespace fxtrace
