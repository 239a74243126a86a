// The sizes of a graph's inputs, as places that guards read (x.size(0)), and as expressions of dimensions
// (batch*2).
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "symbolic/affine.h"
#include "symbolic/expression.h"
#include "symbolic/sym_int.h"

namespace fxtrace::internal {

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

}  // namespace fxtrace::internal
