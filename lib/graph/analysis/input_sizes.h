// The sizes of a graph's inputs: as places that guards read, as expressions of dimensions, and as texts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/graph_collection.h"
#include "symbolic/affine.h"
#include "symbolic/expression.h"
#include "symbolic/sym_int.h"

namespace fxtrace::internal {

// The sizes of a graph's inputs, as places that guards read (x.size(0)), and as expressions of dimensions
// (batch*2).

// A size of a tensor input, or an input that is an integer itself.
struct InputSize {
  Expression place;  // x.size(0), n
  SymInt size;       // batch*2
};

// The place from which the value of a dimension is computed: (x.size(0) - 1)//2.
struct DimensionSource {
  std::size_t position = 0;  // the index in InputSizes::sizes()
  Affine affine;             // the dimension as a function of that size
  bool is_plain = false;     // the size is the dimension
};

bool is_rank(const Expression& value);  // whether it is a call like x.dim()

class InputSizes {
 public:
  InputSizes() = default;
  explicit InputSizes(const Graph& graph);  // the sizes of its placeholders
  // The same with the inputs that options or defaults fix, whose names may be those of dimensions too.
  explicit InputSizes(const ModuleGraph& graph);
  // Adds an input by its name in conditions, and possibly other names: words['ids'][0].
  void add(const std::string& name, const Meta& meta, const std::vector<std::string>& other_names = {});

  const std::vector<InputSize>& sizes() const { return sizes_; }
  // Returns the source of each dimension: the first place that is this dimension and nothing else, or else
  // the first place from which it follows, as from batch*2+1.  A dimension that follows from no place, as
  // those of a*b, is left out.
  std::map<std::string, DimensionSource> sources() const;
  // Returns the dimension as a Python expression: (x.size(0)-1)//2.
  Expression value_of(const DimensionSource& source) const;
  // Returns the remainder that must be 0 for the dimension to be an integer: (x.size(0)-1)%2; nothing when
  // it always is one.
  std::optional<Expression> rest_of(const DimensionSource& source) const;
  // Returns the condition in terms of dimensions: x.size(0) > 4, where x has batch*2 rows, becomes batch*2 >
  // 4.  A name in it that may be that of an input or of a dimension is the input's.
  Expression over_dimensions(const Expression& condition) const;
  // Returns whether a name in a condition is that of an input that is no tensor and no dimension.
  bool is_other_input(const std::string& name) const;
  // Returns whether the condition follows from the shapes of the inputs: x.size(1) == 3 where x has 3
  // columns.
  bool is_told_by_shapes(const Expression& condition) const;

 private:
  struct Input {
    std::string name;
    bool is_tensor = false;
    std::optional<std::vector<Expression>> shape;
    std::optional<Expression> value;
  };
  const Input* find_input(const Expression& holder) const;
  Expression numerator(const DimensionSource& source) const;

  std::vector<Input> inputs_;
  std::map<std::string, std::size_t, std::less<>> by_name_;
  std::set<std::string, std::less<>> others_;  // inputs without a placeholder
  std::vector<InputSize> sizes_;
};

// Guards on named sizes: which place of a graph's inputs defines a dimension, and what the other places must
// then be.
//
// Inputs have sizes like batch+1 and batch*2, but whoever evaluates a guard has only the inputs: x.size(0),
// y.size(0).  So one place defines each dimension, and every other place that mentions it gives a condition.
//
// Invariants:
// 1. A place is a size of a tensor input that is known as a number or an expression (x.size(0)), or an
//    integer input whose value is known so (n).  Places are in the order of the placeholders, and of their
//    dimensions.
// 2. A dimension is defined by the first place that is this dimension and nothing else, or else by the first
//    whose size mentions no other dimension and from which it follows as (factor*size + offset)/divisor.  A
//    dimension that follows from no place, as those of a*b, is not defined.
// 3. A place that defines a dimension gives conditions only where its value might not be a dimension: that
//    the division leaves no remainder and, for a negative factor or offset and for integer inputs, that the
//    result is not negative.
// 4. Any other place gives one condition, `place == what it must be`, written over the defining places when
//    all its dimensions are defined, or over an earlier place from which the size follows as a whole; if
//    neither holds, it gives none.
// 5. A dimension that is a size of an input by itself keeps its name in over_inputs(): the name can be looked
//    up there.  Conditions of places never mention names.
// 6. Inside polynomials a place is the symbol `_place_<index>_`, which no dimension has as its name.  It
//    becomes the text of the place when the condition is written.
//
// Example:
//   %x = placeholder[x]() -> float32[batch + 1, seq]
//   %y = placeholder[y]() -> float32[batch*2, seq]
// batch is not alone at any place, so x.size(0) defines it, as x.size(0) - 1; seq is x.size(1).
//   conditions(x, 0)              x.size(0) >= 1, so that batch is not negative
//   conditions(x, 1)              none: it defines seq
//   conditions(y, 0)              y.size(0) == x.size(0)*2-2
//   conditions(y, 1)              y.size(1) == x.size(1)
//   over_inputs(batch >= 2)       x.size(0) >= 3
//   over_inputs(seq <= 512)       seq <= 512
//   over_inputs(batch*seq == 6)   x.size(0)*seq-seq == 6

// Returns the name of an input in guards: the parameter's name `input`, not the node's name input_1.
const std::string& input_name(const Node& placeholder);

// The places of one graph's inputs, and the dimensions that they define.
class DimensionPlaces {
 public:
  static constexpr std::int64_t kInteger = -1;  // the index of an input that is an integer itself

  explicit DimensionPlaces(const Graph& graph);  // the graph must outlive this

  bool defines(const std::string& name) const { return sources_.contains(name); }
  // Returns the conditions that a place of an input gives (3. and 4.).
  std::vector<Expression> conditions(NodeId input, std::int64_t index) const;
  // Returns the condition with defining places for names that are no input's size by themselves.  Conditions
  // other than a comparison of two sizes are returned as they are.
  Expression over_inputs(const Expression& condition) const;

 private:
  std::optional<DimensionSource> from_whole(const SymInt& size, std::size_t places) const;
  SymInt over_places(const SymInt& size, bool keeps_plain) const;
  std::string with_texts(const SymInt& size) const;

  const Graph& graph_;
  std::vector<InputSize> places_;
  std::map<std::string, DimensionSource> sources_;  // by dimension
  std::map<std::string, std::size_t> position_;     // index in places_, by the place's text: x.size(0)
};

// What an option that describes the inputs (--input) would add to a collection, for advice that can be typed.

// Returns whether the sizes of a tensor among the inputs, or the value of an integer, are not known.
bool lacks_sizes(const Graph& graph);

// Returns an option that gives a size of an input this name: "--input 'x=float32[batch,3]'", with "..." for
// sizes that are not known.  Empty where no input takes names, as those of an exported program do not.
std::string option_to_name_a_size(const GraphCollection& collection, const std::string& name);

}  // namespace fxtrace::internal
