// Operators that make tensors from sizes and numbers, and random tensors.
#include <algorithm>
#include <cmath>

#include "opinfo/operator_row.h"
#include "opinfo/rules/shape_helpers.h"

namespace fxtrace::internal {
namespace {

using namespace traits;  // NOLINT(google-build-using-namespace): the rows are written with them

Results full(const RuleArguments& args) {
  return make(args.sizes("size"), dtype_or(args, "dtype", number_dtype(args, "fill_value")));
}

SymInt arange_count(const RuleArguments& args, bool integers, Dtype dtype) {
  if (!integers) {
    double start = args.is_given("start") ? args.real("start") : 0;
    double step = args.is_given("step") ? args.real("step") : 1;
    double end = args.real("end");
    // torch truncates the numbers first if the result is int64.
    if (!dtype || *dtype == ScalarType::kInt64) {
      if (!dtype) throw CannotTell{};
      for (double* number : {&start, &step, &end}) *number = std::trunc(*number);
    }
    const double count = std::ceil((end - start) / step);
    constexpr double kLimit = 1e15;  // float64 holds integers exactly below
    if (!(count >= 0 && count <= kLimit)) throw CannotTell{};
    return static_cast<std::int64_t>(count);
  }
  const SymInt start = args.is_given("start") ? args.size("start") : SymInt(0);
  const SymInt step = args.is_given("step") ? args.size("step") : SymInt(1);
  const SymInt distance = args.size("end") - start;
  if (decided(args.dimensions, Relation::kGreater, step, 0)) return ceildiv(distance, step);
  return ceildiv(-distance, -step);
}

Results arange(const RuleArguments& args) {
  bool integers = true;
  Promotion promotion;
  for (const std::string_view name : {"start", "end", "step"}) {
    if (!args.is_given(name)) continue;
    integers = integers && args.value(name).integer() != nullptr;
    promotion.add_number(args, name);
  }
  Dtype dtype = promotion.result();
  if (dtype && is_floating(*dtype)) dtype = kDefaultFloat;
  dtype = dtype_or(args, "dtype", dtype);
  try {
    return make({arange_count(args, integers, dtype)}, dtype);
  } catch (const CannotTell&) {
    return make({args.dimensions.fresh()}, dtype);
  }
}

// range(start, end, step): arange() that includes the end.
Results range(const RuleArguments& args) {
  const Dtype dtype = dtype_or(args, "dtype", kDefaultFloat);
  if (!dtype || *dtype == ScalarType::kInt64) throw CannotTell{};
  const double step = args.is_given("step") ? args.real("step") : 1;
  const double count = std::floor((args.real("end") - args.real("start")) / step) + 1;
  constexpr double kLimit = 1e15;
  if (!(count >= 0 && count <= kLimit)) throw CannotTell{};
  return make({static_cast<std::int64_t>(count)}, dtype);
}

Results linspace(const RuleArguments& args) {
  for (const std::string_view name : {"start", "end"}) {
    if (args.is_tensor(name)) require_rank(args.tensor(name), {0}, name);
  }
  require(args.dimensions, Relation::kGreaterEqual, args.size("steps"), 0, "steps");
  return make({args.size("steps")}, dtype_or(args, "dtype", kDefaultFloat));
}

Results eye(const RuleArguments& args) {
  const SymInt rows = args.size("n");
  return make({rows, args.is_given("m") ? args.size("m") : rows}, dtype_or(args, "dtype", kDefaultFloat));
}

// ---- Tensors from nested lists of numbers ----

// Appends the lengths of `lists` levels of nesting.  Inner lists are assumed to be as long as the first.
void append_lengths(const AbstractValue& value, int lists, Sizes& sizes) {
  if (lists == 0) return;
  const AbstractValue::Sequence* items = value.sequence();
  if (items == nullptr || (items->empty() && lists > 1)) throw CannotTell{};
  sizes.emplace_back(static_cast<std::int64_t>(items->size()));
  if (!items->empty()) append_lengths(items->front(), lists - 1, sizes);
}

Sizes lengths_of(const RuleArguments& args, std::string_view name) {
  Sizes sizes;
  append_lengths(args.value(name), args.type(name).lists, sizes);
  return sizes;
}

Dtype leaf_dtype(const AbstractValue& value, ValueType::Kind kind) {
  const AbstractValue::Sequence* items = value.sequence();
  return items == nullptr || items->empty() ? number_dtype(value, kind) : leaf_dtype(items->front(), kind);
}

// torch.tensor(data), torch.as_tensor(data)
Results tensor(const RuleArguments& args) {
  const std::string_view name = first_argument(args);
  if (args.is_tensor(name))
    return make(args.tensor(name).sizes, dtype_or(args, "dtype", args.tensor(name).dtype));
  Sizes sizes = lengths_of(args, name);
  return make(std::move(sizes), dtype_or(args, "dtype", leaf_dtype(args.value(name), args.type(name).kind)));
}

// prim::NumToTensor
Results number_to_tensor(const RuleArguments& args) {
  return make(Sizes(), number_dtype(args, first_argument(args)));
}

Results list_to_tensor(const RuleArguments& args) {
  return make(lengths_of(args, "self"), ScalarType::kInt32);
}

Results shape_as_tensor(const RuleArguments& args) {
  return make({args.tensor("self").dim()}, ScalarType::kInt64);
}

// normal(mean, std), where either may be a tensor, and normal(mean, std, size).
Results normal(const RuleArguments& args) {
  if (args.is_given("size")) return make(args.sizes("size"), dtype_or(args, "dtype", kDefaultFloat));
  return make(broadcast_all(args), args.tensor(args.is_tensor("mean") ? "mean" : "std").dtype);
}

Results triangle_indices(const RuleArguments& args) {
  const std::int64_t rows = args.number("row"), columns = args.number("col"), offset = args.number("offset");
  constexpr std::int64_t kLimit = 1'000'000;
  if (rows < 0 || rows > kLimit || columns < 0 || columns > kLimit || offset > kLimit || offset < -kLimit)
    throw CannotTell{};
  std::int64_t lower = 0, strictly_lower = 0;  // elements of all rows up to the diagonal, with it and without
  for (std::int64_t row = 0; row < rows; ++row) {
    lower += std::clamp<std::int64_t>(row + offset + 1, 0, columns);
    strictly_lower += std::clamp<std::int64_t>(row + offset, 0, columns);
  }
  const bool is_lower = args.name() == "aten::tril_indices";
  return make({2, is_lower ? lower : rows * columns - strictly_lower},
              dtype_or(args, "dtype", ScalarType::kInt64));
}

Results one_hot(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  require_dtype(self.dtype, ScalarType::kInt64, "self");
  const std::optional<std::int64_t> classes = args.size("num_classes").number();
  // -1: as many classes as the largest element needs.
  const bool from_data = classes && *classes < 0;
  return make(concatenated(self.sizes, {from_data ? args.dimensions.fresh() : args.size("num_classes")}),
              ScalarType::kInt64);
}

// vander(x, N): N powers of each element, or as many as x has elements.
Results vandermonde(const RuleArguments& args) {
  TensorInfo x = args.tensor("x");
  if (args.name() == "aten::vander") require_rank(x, {1}, "x");
  const auto is_power = [](ScalarType type) {
    return type != ScalarType::kBool && type != ScalarType::kFloat16;
  };
  require_dtype(x.dtype, is_power, "x", "neither bool nor float16");
  if (x.sizes.empty()) x.sizes.emplace_back(1);
  const SymInt count = args.is_given("N") ? args.size("N") : x.sizes.back();
  return make(concatenated(x.sizes, {count}), sum_dtype(x.dtype));
}

// combinations(self, r): all combinations of r elements.
Results combinations(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  require_rank(self, {1}, "self");
  const std::int64_t picked = args.number("r");
  if (picked < 0) throw Raises{"r is " + std::to_string(picked) + ", expected >= 0"};
  if (picked == 0) return make({0}, self.dtype);
  std::int64_t count = number_of(self.sizes[0]);
  constexpr std::int64_t kLimit = 1'000'000;
  if (count > kLimit || picked > kLimit) throw CannotTell{};
  if (args.flag("with_replacement") && count > 0) count += picked - 1;
  SymInt ways = 1;
  for (std::int64_t i = 0; i < std::min(picked, count - picked); ++i) {
    ways = floordiv(ways * (count - i), i + 1);
  }
  return make({picked > count ? SymInt(0) : ways, picked}, self.dtype);
}

Results multinomial(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  require_rank(self, {1, 2}, "self");
  require_dtype(self.dtype, is_floating, "self", "a floating dtype");
  Sizes sizes = self.sizes;
  sizes.back() = args.size("num_samples");
  return make(std::move(sizes), ScalarType::kInt64);
}

Results from_template(const RuleArguments& args) {
  return make(args.tensor("the_template").sizes, args.tensor("self").dtype);
}

void check_multinomial(const RuleArguments& args) {
  const TensorInfo* self = find_tensor(args, "self");
  if (self == nullptr || self->sizes.empty()) return;
  if (self->device.is_cpu())
    require(args.dimensions, Relation::kGreater, args.size("num_samples"), 0, "num_samples");
  if (args.flag("replacement")) return;
  require(args.dimensions, Relation::kLessEqual, args.size("num_samples"), self->sizes.back(), "num_samples");
}

// randint(): the numbers below `high`, from `low` on.
void check_range(const RuleArguments& args) {
  if (!args.is_given("high")) return;
  require(args.dimensions, Relation::kGreater, args.size("high"),
          args.is_given("low") ? args.size("low") : SymInt(0), "high");
}

constexpr OperatorRow kCreationRows[] = {
    {"_dim_arange _dirichlet_grad _efficientzerotensor _fused_dropout "
     "_new_zeros_with_same_feature_meta _no_grad_normal_ _no_grad_uniform_ _philox_key_fold_in "
     "_philox_key_split _philox_normal _philox_uniform _sample_dirichlet _sobol_engine_draw "
     "_sobol_engine_ff_ _sobol_engine_initialize_state_ _sobol_engine_scramble_ "
     "_standard_gamma _standard_gamma_grad binomial empty_quantized",
     {.traits = kNoMacs}},
    {"_list_to_tensor", {.traits = kMakesTensor, .shape = list_to_tensor, .value = values::tensor_of_list}},
    {"_shape_as_tensor", {.traits = kNoMacs, .shape = shape_as_tensor, .value = values::sizes_as_tensor}},
    {"arange", {.traits = kMakesTensor | kMakesContiguous, .shape = arange, .value = values::arange}},
    {"as_tensor",
     {.traits = kMakesTensor | kMayBeArgument | kMayCopy,
      .shape = tensor,
      .value = values::tensor_of_list,
      .python = "torch.as_tensor"}},
    {"bartlett_window blackman_window hamming_window hann_window kaiser_window",
     {.traits = kNoMacs, .signature = "-> <window_length>:float32"}},
    {"combinations", {.traits = kNoMacs, .shape = combinations}},
    {"empty rand randn",
     {.traits = kNoMacs | kMakesContiguous, .signature = "-> <size>:float32", .sizes = "size"}},
    {"empty_like rand_like randint_like randn_like",
     {.traits = kNoMacs, .signature = "... -> ...", .strides = StrideRule::kCopied, .check = check_range}},
    {"empty_permuted empty_strided", {.traits = kNoMacs, .signature = "-> <size>:float32"}},
    {"eye", {.traits = kMakesTensor | kMakesContiguous, .shape = eye, .value = values::eye}},
    {"from_file", {.traits = kNoMacs, .signature = "-> <size>:float32"}},
    {"full",
     {.traits = kMakesTensor | kMakesContiguous, .shape = full, .value = values::full, .sizes = "size"}},
    {"full_like",
     {.traits = kNoMacs,
      .signature = "... -> ...",
      .strides = StrideRule::kCopied,
      .value = values::full,
      .batch = kLeading}},
    {"ones_like",
     {.traits = kNoMacs,
      .signature = "... -> ...",
      .strides = StrideRule::kCopied,
      .value = values::ones,
      .batch = kLeading}},
    {"zeros_like",
     {.traits = kNoMacs,
      .signature = "... -> ...",
      .strides = StrideRule::kCopied,
      .value = values::zeros,
      .batch = kLeading}},
    {"linalg_vander vander", {.traits = kNoMacs, .shape = vandermonde}},
    {"linspace", {.traits = kMakesTensor | kMakesContiguous, .shape = linspace, .value = values::linspace}},
    {"logspace", {.traits = kNoMacs, .shape = linspace}},
    {"multinomial", {.traits = kNoMacs, .shape = multinomial, .check = check_multinomial}},
    {"new_empty", {.traits = kNoMacs | kMakesContiguous, .signature = "... -> <size>", .sizes = "size"}},
    {"new_empty_strided", {.traits = kNoMacs, .signature = "... -> <size>"}},
    {"new_full",
     {.traits = kNoMacs | kMakesContiguous,
      .signature = "... -> <size>",
      .value = values::full,
      .batch = {.rule = &BatchRules::sizes},
      .sizes = "size"}},
    {"new_ones",
     {.traits = kNoMacs | kMakesContiguous,
      .signature = "... -> <size>",
      .value = values::ones,
      .batch = {.rule = &BatchRules::sizes},
      .sizes = "size"}},
    {"new_zeros",
     {.traits = kNoMacs | kMakesContiguous,
      .signature = "... -> <size>",
      .value = values::zeros,
      .batch = {.rule = &BatchRules::sizes},
      .sizes = "size"}},
    {"normal", {.traits = kNoMacs, .shape = normal}},
    {"normal_functional", {.traits = kNoMacs | kKeepsDtype, .shape = same_as_first}},
    {"one_hot",
     {.traits = kNoMacs | kMakesContiguous, .shape = one_hot, .batch = {.rule = &BatchRules::one_hot}}},
    {"ones",
     {.traits = kMakesTensor | kMakesContiguous,
      .signature = "-> <size>:float32",
      .value = values::ones,
      .sizes = "size"}},
    {"zeros",
     {.traits = kMakesTensor | kMakesContiguous,
      .signature = "-> <size>:float32",
      .value = values::zeros,
      .sizes = "size"}},
    {"poisson", {.traits = kNoMacs | kForFloats, .shape = same_as_first}},
    {"prim::NumToTensor",
     {.traits = kMakesTensor, .shape = number_to_tensor, .value = values::number_as_tensor}},
    {"randint", {.traits = kNoMacs | kMakesContiguous, .signature = "-> <size>:int64", .check = check_range}},
    {"randperm", {.traits = kNoMacs | kMakesContiguous, .signature = "-> <n>:int64"}},
    {"range", {.traits = kNoMacs, .shape = range}},
    {"resize", {.traits = kNoMacs, .signature = "... -> <size>"}},
    {"resize_as", {.traits = kNoMacs, .shape = from_template}},
    {"scalar_tensor",
     {.traits = kMakesTensor | kMakesContiguous, .signature = "-> :float32", .value = values::scalar}},
    {"tensor",
     {.traits = kMakesTensor | kMakesContiguous,
      .shape = tensor,
      .value = values::tensor_of_list,
      .python = "torch.tensor"}},
    {"tril_indices triu_indices", {.traits = kNoMacs, .shape = triangle_indices}},
};

}  // namespace

OperatorRows creation_rows() { return kCreationRows; }

// Operators that join several tensors into one, or give several tensors one shape.

namespace {

using namespace traits;  // NOLINT(google-build-using-namespace): the rows are written with them

// ---- Several tensors ----

Dtype promoted_list(const std::vector<TensorInfo>& tensors) {
  Promotion promotion;
  for (const TensorInfo& tensor : tensors) promotion.add(tensor);
  return promotion.result();
}

Results joined(const std::vector<TensorInfo>& tensors, std::int64_t along, const ShapeEnv& dimensions) {
  if (tensors.empty()) throw CannotTell{};
  const bool all_have_one =
      std::ranges::all_of(tensors, [](const TensorInfo& info) { return info.dim() == 1; });
  std::optional<TensorInfo> result;
  std::size_t dim = 0;
  for (const TensorInfo& tensor : tensors) {
    if (tensor.dim() == 1) {
      // torch skips empty tensors of one dimension, whatever the shape of the others.
      const std::optional<bool> is_empty = dimensions.decide(Relation::kEqual, tensor.sizes[0], 0);
      if (is_empty == true || (!is_empty && !all_have_one)) continue;
      if (!is_empty && along != 0 && along != -1) throw CannotTell{};
    }
    if (!result) {
      dim = dim_index(along, tensor);
      result = tensor;
      continue;
    }
    require_rank(tensor, {result->dim()}, "an item of tensors");
    for (std::size_t i = 0; i < tensor.sizes.size(); ++i) {
      SymInt& size = result->sizes[i];
      if (i != dim)
        require_equal_size(dimensions, tensor.sizes[i], size, {"an item of tensors", "the first"}, i);
      size = i == dim ? size + tensor.sizes[i] : same_size(size, tensor.sizes[i]);
    }
  }
  return make(result ? result->sizes : tensors[0].sizes, promoted_list(tensors));
}

Results cat(const RuleArguments& args) {
  return joined(args.tensors("tensors"), args.number("dim"), args.dimensions);
}

Results stack(const RuleArguments& args) {
  const std::vector<TensorInfo> tensors = args.tensors("tensors");
  if (tensors.empty()) throw CannotTell{};
  Sizes sizes = tensors[0].sizes;
  for (const TensorInfo& tensor : tensors) {
    require_rank(tensor, {static_cast<std::int64_t>(sizes.size())}, "an item of tensors");
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      require_equal_size(args.dimensions, tensor.sizes[i], sizes[i], {"an item of tensors", "the first"}, i);
      sizes[i] = same_size(sizes[i], tensor.sizes[i]);
    }
  }
  const std::int64_t dim = normalize_dim(args.number("dim"), static_cast<std::int64_t>(sizes.size()) + 1);
  sizes.insert(sizes.begin() + dim, static_cast<std::int64_t>(tensors.size()));
  return make(std::move(sizes), promoted_list(tensors));
}

Results hstack(const RuleArguments& args) {
  std::vector<TensorInfo> tensors = args.tensors("tensors");
  if (tensors.empty()) throw CannotTell{};
  for (TensorInfo& tensor : tensors) {
    if (tensor.sizes.empty()) tensor.sizes.emplace_back(1);
  }
  return joined(tensors, tensors[0].dim() == 1 ? 0 : 1, args.dimensions);
}

Results vstack(const RuleArguments& args) {
  std::vector<TensorInfo> tensors = args.tensors("tensors");
  for (TensorInfo& tensor : tensors) {
    while (tensor.dim() < 2) tensor.sizes.insert(tensor.sizes.begin(), 1);
  }
  return joined(tensors, 0, args.dimensions);
}

Results dstack(const RuleArguments& args) {
  std::vector<TensorInfo> tensors = args.tensors("tensors");
  for (TensorInfo& tensor : tensors) {
    while (tensor.dim() < 2) tensor.sizes.insert(tensor.sizes.begin(), 1);
    if (tensor.dim() == 2) tensor.sizes.emplace_back(1);
  }
  return joined(tensors, 2, args.dimensions);
}

Results column_stack(const RuleArguments& args) {
  std::vector<TensorInfo> tensors = args.tensors("tensors");
  for (TensorInfo& tensor : tensors) {
    while (tensor.dim() < 2) tensor.sizes.emplace_back(1);
  }
  return joined(tensors, 1, args.dimensions);
}

Results meshgrid(const RuleArguments& args) {
  std::vector<TensorInfo> tensors = args.tensors("tensors");
  Sizes sizes;
  for (const TensorInfo& tensor : tensors) {
    require_rank(tensor, {0, 1}, "an item of tensors");
    require_same_dtype(tensor.dtype, tensors[0].dtype, {"an item of tensors", "the first"});
    sizes.push_back(product(tensor.sizes));
  }
  const bool first_two_swapped =
      args.is_given("indexing") && args.text("indexing") == "xy" && sizes.size() >= 2;
  if (first_two_swapped) std::swap(sizes[0], sizes[1]);
  for (TensorInfo& tensor : tensors) tensor.sizes = sizes;
  return make_list(std::move(tensors));
}

Results broadcast_tensors(const RuleArguments& args) {
  std::vector<TensorInfo> tensors = args.tensors("tensors");
  Sizes sizes;
  for (const TensorInfo& tensor : tensors) sizes = broadcast(sizes, tensor.sizes, args.dimensions);
  for (TensorInfo& tensor : tensors) tensor.sizes = sizes;
  return make_list(std::move(tensors));
}

Results cartesian_product(const RuleArguments& args) {
  const std::vector<TensorInfo> tensors = args.tensors("tensors");
  for (const TensorInfo& tensor : tensors) {
    require_rank(tensor, {1}, "an item of tensors");
    require_same_dtype(tensor.dtype, tensors[0].dtype, {"an item of tensors", "the first"});
  }
  if (tensors.size() == 1) return make(tensors[0]);
  SymInt rows = 1;
  for (const TensorInfo& tensor : tensors) rows = rows * product(tensor.sizes);
  return make({rows, static_cast<std::int64_t>(tensors.size())}, promoted_list(tensors));
}

Results block_diag(const RuleArguments& args) {
  const std::vector<TensorInfo> tensors = args.tensors("tensors");
  SymInt rows = 0, columns = 0;
  for (const TensorInfo& tensor : tensors) {
    require_rank(tensor, {0, 1, 2}, "an item of tensors");
    rows = rows + (tensor.dim() == 2 ? tensor.sizes[0] : SymInt(1));
    columns = columns + (tensor.sizes.empty() ? SymInt(1) : tensor.sizes.back());
  }
  return make({rows, columns}, promoted_list(tensors));
}

constexpr OperatorRow kConcatenationRows[] = {
    {"block_diag", {.traits = kNoMacs, .shape = block_diag}},
    {"broadcast_tensors",
     {.traits = kMayBeArgument,
      .shape = broadcast_tensors,
      .value = values::expand_all,
      .batch = {.rule = &BatchRules::broadcast, .keeps_dtypes = true, .may_write = true}}},
    {"cartesian_prod", {.traits = kNoMacs, .shape = cartesian_product}},
    {"cat",
     {.traits = kNoMacs | kLikeFirst | kRankByRanks,
      .shape = cat,
      .strides = StrideRule::kJoined,
      .value = values::join,
      .batch = {.rule = &BatchRules::join}}},
    {"column_stack", {.traits = kNoMacs, .shape = column_stack}},
    {"concat", {.traits = kNoMacs, .synonym_of = "cat", .shape = cat, .value = values::join}},
    {"concatenate", {.traits = kNoMacs, .synonym_of = "cat", .shape = cat}},
    {"dstack", {.traits = kNoMacs, .shape = dstack}},
    {"hstack", {.traits = kNoMacs, .shape = hstack, .value = values::stack_columns}},
    {"meshgrid",
     {.shape = meshgrid,
      .hidden_alias = {{0, 0}},
      .value = values::meshgrid,
      .batch = {.rule = &BatchRules::grid}}},
    {"row_stack", {.traits = kNoMacs, .synonym_of = "vstack", .shape = vstack}},
    {"stack",
     {.traits = kNoMacs | kRankByRanks,
      .shape = stack,
      .value = values::stack,
      .batch = {.rule = &BatchRules::join, .of_result = true}}},
    {"vstack", {.traits = kNoMacs, .shape = vstack, .value = values::stack_rows}},
};

}  // namespace

OperatorRows concatenation_rows() { return kConcatenationRows; }

}  // namespace fxtrace::internal
