// Helpers shared by the shape rules: results, dimensions, checks, broadcasting, windows, and dtypes.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "opinfo/rules/shape_rules.h"

namespace fxtrace::internal {

using Sizes = std::vector<SymInt>;

// Returns the i-th item; throws CannotTell when there are fewer.
template <class Items>
auto& nth(Items& items, std::size_t i) {
  if (i >= items.size()) throw CannotTell{};
  return items[i];
}

// ---- Results.  infer_shapes() sets the device. ----
Results make(Sizes sizes, Dtype dtype);
Results make(TensorInfo info);
Results make_many(std::vector<TensorInfo> infos);    // several results
Results make_list(std::vector<TensorInfo> infos);    // one result that is a list
const TensorInfo& first_of(const Results& results);  // the first result; throws CannotTell unless a tensor
// A rule: the result is like the first argument.
Results same_as_first(const RuleArguments& args);
// Returns `first` as the first result and leaves the others unknown: results that kernels save for the
// backward pass depend on the device or on training mode.
Results first_only(const RuleArguments& args, TensorInfo first);
Results like_first(const RuleArguments& args);  // a rule: first_only() of the first argument
TensorInfo tensor_of(Sizes sizes, Dtype dtype);
// Returns the first argument, which is called self by older operators and input by newer ones.
const TensorInfo& first_tensor(const RuleArguments& args);
// Returns the argument `name` if it is a tensor about which something is known; else null.
const TensorInfo* find_tensor(const RuleArguments& args, std::string_view name);
// Returns "cat" for "aten::cat".
std::string_view without_namespace(std::string_view name);
// Returns the name of the schema's first parameter; throws CannotTell when there is none.
std::string_view first_argument(const RuleArguments& args);

// ---- Dimensions ----

// Returns the dimension counted from 0; throws Raises when it is out of range.  A tensor of rank 0 has
// dimensions 0 and -1.
std::int64_t normalize_dim(std::int64_t dim, std::int64_t rank);
std::vector<std::int64_t> normalize_dims(std::vector<std::int64_t> dims, std::int64_t rank);
std::size_t dim_index(std::int64_t dim, const TensorInfo& info);  // the same, ready to index `sizes`
std::ptrdiff_t signed_index(std::size_t index);                   // ready to be added to an iterator

// Returns whether the relation holds; throws CannotTell when that is unknown.
bool decided(const ShapeEnv& dimensions, Relation relation, const SymInt& left, const SymInt& right);

// ---- Checks.  Each throws Raises when its condition holds for no value of the dimensions.  The message
// begins with the text `what`: an argument by its name in the schema ("weight"), or a property of arguments
// ("size of weight in dimension 0").  `names` are the names of two tensors. ----
struct NamePair {
  std::string_view first = {}, second = {};
};
// "step is 0, expected > 0"
void require(const ShapeEnv& dimensions, Relation relation, const SymInt& left, const SymInt& right,
             std::string_view what);
// "channels of input and weight are 4 and 3, expected equal"
void require_equal(const ShapeEnv& dimensions, const SymInt& left, const SymInt& right,
                   std::string_view what);
// The same message, where `what` is the property of both: "channels".
void require_equal(const ShapeEnv& dimensions, const SymInt& left, const SymInt& right, std::string_view what,
                   NamePair names);
// The same for one dimension of two tensors: "sizes of self and source in dimension 1 are 3 and 4, ..."
void require_equal_size(const ShapeEnv& dimensions, const SymInt& left, const SymInt& right, NamePair names,
                        std::size_t dim);
// The same for all sizes of two tensors, and for the number of their dimensions.
void require_equal_sizes(const ShapeEnv& dimensions, const Sizes& left, const Sizes& right, NamePair names);
// "size of self in dimension -1 is 7, expected a multiple of 2"
void require_multiple(const ShapeEnv& dimensions, const SymInt& size, const SymInt& divisor,
                      std::string_view what);
// "weight has 3 dimensions, expected 2"
void require_rank(const TensorInfo& info, std::initializer_list<std::int64_t> ranks, std::string_view what);
// "self has 1 dimension, expected 2 or more"
void require_least_rank(const TensorInfo& info, std::int64_t least, std::string_view what);
// False where a tensor surely has an element: then torch looks at what it accepts unseen of empty ones.
bool may_be_empty(const ShapeEnv& dimensions, const Sizes& sizes);
// The last `count` dimensions, those of an image, are not empty; the batch may be.
void require_image(const RuleArguments& args, const TensorInfo& image, std::size_t count);
// A tensor of sizes `from` can be expanded to `to`: "src has size 4 in dimension 0, expected 1 or 3".
void require_expandable(const ShapeEnv& dimensions, const Sizes& from, const Sizes& to,
                        std::string_view what);
// Returns the dimensions counted from 0; throws Raises when one is named twice.
std::vector<std::int64_t> distinct_dims(std::vector<std::int64_t> dims, std::int64_t rank);
// Returns the sizes without the dimensions `dims`, or without all if that is empty; with `keep`, these are 1.
Sizes reduced(const TensorInfo& info, std::vector<std::int64_t> dims, bool keep);
Sizes reduced(const RuleArguments& args, const TensorInfo& info);  // by the arguments `dim` and `keepdim`
// is_right() holds for the dtype, if it is known: "x1 is int64, expected a floating dtype".
void require_dtype(Dtype dtype, bool (*is_right)(ScalarType), std::string_view what,
                   std::string_view expected);
// The dtype is `expected`, if it is known: "mask is int64, expected bool".
void require_dtype(Dtype dtype, ScalarType expected, std::string_view what);
// The tensor argument `name`, if there is one, is int64 or int32: "index is float32, expected int64 or
// int32".
void require_index(const RuleArguments& args, std::string_view name);
// Both dtypes are equal, if they are known: "dtypes of self and mat2 are float32 and float64, expected
// equal".
void require_same_dtype(Dtype first, Dtype second, NamePair names);

// ---- Sizes ----
bool is_number(const SymInt& value, std::int64_t number);
SymInt absolute(std::int64_t number);         // throws SymbolicError when 64 bits are not enough
std::int64_t number_of(const SymInt& value);  // throws CannotTell for an expression
Sizes sizes_of(const AbstractValue& list);    // throws CannotTell for anything but a list of integers
SymInt product(std::span<const SymInt> sizes, SymInt number = 1);  // times `number`
// Returns the bytes of the elements of a tensor; nothing when its dtype is unknown, or 64 bits are not
// enough.
std::optional<SymInt> bytes_of(std::span<const SymInt> sizes, Dtype dtype);
// Returns the sizes in [from, to); throws CannotTell when out of range.
Sizes slice_of(const Sizes& sizes, std::size_t from, std::size_t to);
Sizes concatenated(Sizes first, const Sizes& second);
// Both count from the end, from_back() from 1, and throw CannotTell when there are fewer sizes.
Sizes without_last(const Sizes& sizes, std::size_t count = 1);
const SymInt& from_back(const Sizes& sizes, std::size_t index);
// Broadcasts all but the last `count` dimensions.
Sizes common_batch(const TensorInfo& a, const TensorInfo& b, std::size_t count, ShapeEnv& dimensions);
// Broadcasts two shapes; throws Raises when they cannot be.  A size that is undetermined, as either of two
// may be 1, becomes a fresh dimension.
Sizes broadcast(const Sizes& a, const Sizes& b, ShapeEnv& dimensions, NamePair names = {});
Sizes broadcast_all(const RuleArguments& args);  // all tensor arguments; CannotTell if none
Sizes broadcast_of(const RuleArguments& args,
                   std::initializer_list<std::string_view> names);  // the tensors among them
// The same for one dimension of two tensors; `dim` is counted from the back.
SymInt broadcast_size(const SymInt& a, const SymInt& b, ShapeEnv& dimensions, NamePair names = {},
                      std::int64_t dim = -1);
// Returns the simpler of two sizes that must be equal: a number if one is.
SymInt same_size(const SymInt& a, const SymInt& b);
// Returns the exact quotient of two products.  Common factors are cancelled first, so that they need not be
// positive.
SymInt quotient(const Sizes& numerator, const Sizes& denominator, const ShapeEnv& dimensions);
// Returns a fresh dimension, at most `limit`, for a data-dependent size.
SymInt fresh_up_to(const SymInt& limit, ShapeEnv& dimensions);
Sizes with_last(Sizes sizes, SymInt last);  // replaces the last size; throws CannotTell when empty
TensorInfo with_last(TensorInfo info, const Sizes& last);  // replaces that many of the last sizes
// Returns one number for each spatial dimension; `otherwise` when the argument is not given.
Sizes each_dim(const RuleArguments& args, std::string_view name, std::size_t count, const SymInt& otherwise);
// Returns `count` values: the list itself, or its only value repeated; throws CannotTell for other lengths.
Sizes spread(Sizes values, std::size_t count);

// The parameters of a sliding window in one dimension, for the output sizes of convolution and pooling.
struct Window {
  SymInt kernel;
  SymInt stride = 1;
  SymInt padding = 0;  // on each side
  SymInt dilation = 1;
  bool ceil_mode = false;  // pooling: counts a last window that starts inside the input or its left padding
};
// "stride is 0, expected > 0": kernel, stride and dilation are positive, padding is not negative.
void require_window(const ShapeEnv& dimensions, const Window& window);
// Returns the number of windows, which is the output size.
SymInt window_count(const SymInt& size, const Window& window, const ShapeEnv& dimensions);

// ---- Types ----
Dtype either(Dtype first, Dtype second);  // the first, or the second when that is unknown
Dtype float_dtype(Dtype dtype);           // the result dtype of functions like sin: float32 for integers
Dtype sum_dtype(Dtype dtype);             // int64 for integers and bool
Dtype real_dtype(Dtype dtype);            // float32 for complex64
Dtype complex_dtype(Dtype dtype);
// Returns the dtype argument `name` if it is given, else `otherwise`.  Absent when it is given but unknown.
Dtype dtype_or(const RuleArguments& args, std::string_view name, Dtype otherwise);
// Returns the dtype of a Python number: int64, float32, bool, complex64.  `kind` is its static type.
Dtype number_dtype(const AbstractValue& number, ValueType::Kind kind);
Dtype number_dtype(const RuleArguments& args, std::string_view name);
// Type promotion as in torch.result_type: tensors with dimensions take precedence over 0-d tensors, and these
// over Python numbers.
class Promotion {
 public:
  void add(const TensorInfo& tensor);
  void add_number(const RuleArguments& args, std::string_view name);
  Dtype result() const;

 private:
  Dtype dim_, zero_, scalar_;  // absent: there is none
  bool unknown_ = false;
};
// Returns the promoted dtype of all tensors and scalars among the named arguments.
Dtype promoted(const RuleArguments& args, std::initializer_list<std::string_view> names);

}  // namespace fxtrace::internal
