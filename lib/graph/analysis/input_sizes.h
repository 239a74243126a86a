// The sizes of a graph's inputs: as guards write them, x.size(0), and as dimensions have them, batch*2.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "symbolic/affine.h"
#include "symbolic/expression.h"
#include "symbolic/sym_int.h"

namespace fxtrace {

// A size of an input, or an integer that is one itself.
struct InputSize {
  Expression place;  // x.size(0), n
  SymInt size;       // batch*2
};

// Where the value of a dimension is read: (x.size(0) - 1)//2.
struct DimensionSource {
  std::size_t position = 0;  // in InputSizes::sizes()
  Affine affine;             // of the dimension, over that size
  bool is_plain = false;     // the size is the dimension
};

bool is_rank(const Expression& value);  // x.dim()

class InputSizes {
 public:
  InputSizes() = default;
  explicit InputSizes(const Graph& graph);  // those of its placeholders
  // Adds an input, which conditions call `name`, and maybe other names: words['ids'][0].
  void add(const std::string& name, const Meta& meta, const std::vector<std::string>& other_names = {});

  const std::vector<InputSize>& sizes() const { return sizes_; }
  // Returns where each dimension is read: the first place that is this dimension and nothing else, or else
  // the first that it follows from, as it does from batch*2+1.  A dimension that follows from none, as those
  // of a*b, is left out.
  std::map<std::string, DimensionSource> sources() const;
  // Returns the dimension as Python computes it: (x.size(0)-1)//2.
  Expression value_of(const DimensionSource& source) const;
  // Returns what 0 is left of when the dimension is an integer: (x.size(0)-1)%2; nothing when it always is.
  std::optional<Expression> rest_of(const DimensionSource& source) const;
  // Returns the condition over dimensions: of x.size(0) > 4 where x has batch*2 rows it is batch*2 > 4.
  Expression over_dimensions(const Expression& condition) const;
  // Whether the condition says no more than the shapes of the inputs: x.size(1) == 3 where x has 3 columns.
  bool is_told_by_shapes(const Expression& condition) const;

 private:
  struct Input {
    std::string name;
    std::optional<std::vector<Expression>> shape;
    std::optional<Expression> value;
  };
  const Input* find_input(const Expression& holder) const;
  Expression numerator(const DimensionSource& source) const;

  std::vector<Input> inputs_;
  std::map<std::string, std::size_t, std::less<>> by_name_;
  std::vector<InputSize> sizes_;
};

}  // namespace fxtrace
