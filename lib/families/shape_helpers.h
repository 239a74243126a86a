// What the shape rules share.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "families/shape_rules.h"

namespace fxtrace {

using Sizes = std::vector<SymInt>;

// ---- Results.  The device is set by infer_shapes: that of the argument `device`, or of the first tensor.
// ----
Results make(Sizes sizes, Dtype dtype);
Results make(TensorInfo info);
Results make_many(std::vector<TensorInfo> infos);  // several results
Results make_list(std::vector<TensorInfo> infos);  // one result that is a list
// A rule: the tensor argument that comes first, as it is.
Results same_as_first(const RuleArguments& args);
// The first result, where the others stay unknown: what LibTorch's own kernels return for their backward pass
// depends on the device or on training.
Results first_only(const RuleArguments& args, TensorInfo first);
Results like_first(const RuleArguments& args);  // a rule: it is as the first argument
TensorInfo tensor_of(Sizes sizes, Dtype dtype);
// The argument that comes first: older operators call it self, newer ones input.
const TensorInfo& first_tensor(const RuleArguments& args);
// The argument `name` if it is a tensor of which something is known; else null.
const TensorInfo* find_tensor(const RuleArguments& args, std::string_view name);
// "cat" of "aten::cat".
std::string_view without_namespace(std::string_view name);
// The name of the schema's first argument; CannotTell when there is none.
std::string_view first_argument(const RuleArguments& args);

// ---- Dimensions ----
// From 0; Raises when it is out of range.  A tensor of rank 0 has dimensions 0 and -1.
std::int64_t normalize_dim(std::int64_t dim, std::int64_t rank);
std::vector<std::int64_t> normalize_dims(std::vector<std::int64_t> dims, std::int64_t rank);
std::size_t dim_index(std::int64_t dim, const TensorInfo& info);  // the same, ready to index `sizes`
std::ptrdiff_t signed_index(std::size_t index);                   // ready to be added to an iterator

// What is known of the relation; CannotTell when nothing is.
bool decided(const ShapeEnv& dimensions, Relation relation, const SymInt& left, const SymInt& right);
// Raises with `what` and both sizes where the relation holds for no value of the dimensions.
void require(const ShapeEnv& dimensions, Relation relation, const SymInt& left, const SymInt& right,
             std::string_view what);
void require_rank(const TensorInfo& info, std::initializer_list<std::int64_t> ranks, std::string_view what);
// Of the last `count` dimensions: only a batch may be empty.
void require_image(const RuleArguments& args, const TensorInfo& image, std::size_t count);
// Raises for fewer dimensions.
void require_least_rank(const TensorInfo& info, std::int64_t least, std::string_view what);
// Raises where a tensor of sizes `from` cannot be expanded to `to`.
void require_expandable(const ShapeEnv& dimensions, const Sizes& from, const Sizes& to);
void require_equal_sizes(const ShapeEnv& dimensions, const Sizes& left, const Sizes& right,
                         std::string_view what);
// Dimensions from 0; raises where one of them is named twice.
std::vector<std::int64_t> distinct_dims(std::vector<std::int64_t> dims, std::int64_t rank);
// Raises where the type is known and is none of them.
void require_dtype(Dtype dtype, bool (*is_right)(ScalarType), std::string_view what);
void require_index(const RuleArguments& args, std::string_view name);  // int64 or int32
// Raises where both types are known and differ.
void require_same_dtype(Dtype first, Dtype second, std::string_view what);
bool is_number(const SymInt& value, std::int64_t number);
SymInt absolute(std::int64_t number);         // SymbolicError for what 64 bits do not hold
std::int64_t number_of(const SymInt& value);  // CannotTell for an expression
Sizes sizes_of(const AbstractValue& list);    // CannotTell for what is no list of integers
SymInt product(std::span<const SymInt> sizes, SymInt number = 1);  // and of the number
// [from, to); CannotTell for what is not there.
Sizes slice_of(const Sizes& sizes, std::size_t from, std::size_t to);
Sizes concatenated(Sizes first, const Sizes& second);
// Both count from the end; CannotTell for what is not there.
Sizes without_last(const Sizes& sizes, std::size_t count = 1);
const SymInt& from_back(const Sizes& sizes, std::size_t index);
// Broadcast of all but the last `count` dimensions.
Sizes common_batch(const TensorInfo& a, const TensorInfo& b, std::size_t count, ShapeEnv& dimensions);
// Raises for sizes that cannot be broadcast.  A size that cannot be told, because either of two may be 1, is
// a fresh one.
Sizes broadcast(const Sizes& a, const Sizes& b, ShapeEnv& dimensions);
Sizes broadcast_all(const RuleArguments& args);  // of every argument that is a tensor; CannotTell if none is
Sizes broadcast_of(const RuleArguments& args, std::initializer_list<std::string_view> names);  // where given
SymInt broadcast_size(const SymInt& a, const SymInt& b, ShapeEnv& dimensions);
// Of two that must be equal, the simpler one: a number if any is.
SymInt same_size(const SymInt& a, const SymInt& b);
// a / b where nothing remains: common factors are left out first, so that neither has to be positive.
SymInt quotient(const Sizes& numerator, const Sizes& denominator, const ShapeEnv& dimensions);
// A size that depends on data.
SymInt fresh_up_to(const SymInt& limit, ShapeEnv& dimensions);
Sizes with_last(Sizes sizes, SymInt last);                 // the last one changed; CannotTell for none
TensorInfo with_last(TensorInfo info, const Sizes& last);  // so many of the last
// One for each spatial dimension; operators whose schema has no such argument behave as with `otherwise`.
Sizes each_dim(const RuleArguments& args, std::string_view name, std::size_t count, const SymInt& otherwise);
// A list of one stands for `count` equal ones; CannotTell for any other length than these two.
Sizes spread(Sizes values, std::size_t count);

// Size of what a window slides over, as convolution and pooling count it.
struct Window {
  SymInt kernel;
  SymInt stride = 1;
  SymInt padding = 0;  // on each side
  SymInt dilation = 1;
  bool ceil_mode = false;  // pooling: a last window that starts inside the input or its left padding counts
};
SymInt window_count(const SymInt& size, const Window& window, const ShapeEnv& dimensions);

// ---- Types ----
Dtype either(Dtype first, Dtype second);  // the one that is known
Dtype float_dtype(Dtype dtype);           // of what a function like sin gives: float32 for integers
Dtype sum_dtype(Dtype dtype);             // int64 for integers and bool
Dtype real_dtype(Dtype dtype);            // float32 for complex64
Dtype complex_dtype(Dtype dtype);
// The argument `name` if it is given, else `otherwise`.  Absent when it is given and not known.
Dtype dtype_or(const RuleArguments& args, std::string_view name, Dtype otherwise);
// Of a Python number: int64, float32, bool, complex64.  `kind` is what the code says of it.
Dtype number_dtype(const AbstractValue& number, ValueType::Kind kind);
Dtype number_dtype(const RuleArguments& args, std::string_view name);
// As torch.result_type: tensors with dimensions come before those without, and these before numbers of
// Python.
class Promotion {
 public:
  void add(const TensorInfo& tensor);
  void add_number(const RuleArguments& args, std::string_view name);
  Dtype result() const;

 private:
  Dtype dim_, zero_, scalar_;  // absent: there is none
  bool unknown_ = false;
};
// Of all tensors and scalars among the arguments named.
Dtype promoted(const RuleArguments& args, std::initializer_list<std::string_view> names);

}  // namespace fxtrace
