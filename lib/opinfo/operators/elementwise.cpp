// Elementwise operators, with broadcast sizes and promoted dtypes; copies and conversions, activations,
// softmax.
#include "opinfo/operator_row.h"
#include "opinfo/rules/shape_helpers.h"
#include "opinfo/rules/shape_rules.h"
#include "opinfo/rules/sparse_rules.h"

namespace fxtrace::internal {
namespace {

using namespace traits;  // NOLINT(google-build-using-namespace): the rows are written with them

Dtype first_dtype(const RuleArguments& args) { return args.tensor(first_argument(args)).dtype; }

// The promoted dtype of the operands; factors such as alpha take no part in promotion.
Dtype operand_dtype(const RuleArguments& args) {
  return promoted(args, {"self", "input", "other", "exponent", "end", "weight", "tensor1", "tensor2", "min",
                         "max", "x", "y", "n"});
}

// copy(self, src), fill(self, value)
Results filled(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  if (args.is_tensor("src")) require_expandable(args.dimensions, args.tensor("src").sizes, self.sizes, "src");
  if (args.is_tensor("value")) require_rank(args.tensor("value"), {0}, "value");
  return make(self);
}

Results angle(const RuleArguments& args) {
  const TensorInfo& info = args.tensor("self");
  return make(info.sizes, real_dtype(float_dtype(info.dtype)));
}

// The source may have any shape.
Results masked_scatter(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  require_dtype(args.tensor("mask").dtype, ScalarType::kBool, "mask");
  require_same_dtype(self.dtype, args.tensor("source").dtype, {"self", "source"});
  return make(broadcast(self.sizes, args.tensor("mask").sizes, args.dimensions, {"self", "mask"}),
              self.dtype);
}

Results masked_fill(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  require_dtype(args.tensor("mask").dtype, ScalarType::kBool, "mask");
  if (args.is_tensor("value")) require_rank(args.tensor("value"), {0}, "value");
  return make(broadcast(self.sizes, args.tensor("mask").sizes, args.dimensions, {"self", "mask"}),
              self.dtype);
}

// self * 2 ** other
Results ldexp(const RuleArguments& args) {
  TensorInfo power = args.tensor("other");
  power.dtype = float_dtype(power.dtype);
  Promotion promotion;
  promotion.add(args.tensor("self"));
  promotion.add(power);
  return make(broadcast_all(args), promotion.result());
}

// prelu(): the weight has one parameter, or one for each channel.
Results prelu(const RuleArguments& args) {
  const TensorInfo &self = args.tensor("self"), &weight = args.tensor("weight");
  require_rank(weight, {0, 1}, "weight");
  require_same_dtype(self.dtype, weight.dtype, {"self", "weight"});
  if (weight.dim() == 1 && args.dimensions.decide(Relation::kNotEqual, weight.sizes[0], 1) == true) {
    if (self.sizes.empty()) throw Raises{"self has 0 dimensions, expected 1 or more"};
    require_equal(args.dimensions, weight.sizes[0], self.dim() < 2 ? SymInt(1) : self.sizes[1],
                  "size of weight and channels of self");
  }
  return make(self);
}

// flip(self, dims)
Results flip(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  distinct_dims(args.numbers("dims"), self.dim());
  return make(self);
}

Results shifted(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  const std::string_view name = args.is_given("dims") ? "dims" : "dim";
  if (args.is_given(name)) normalize_dims(args.numbers(name), self.dim());
  return make(self);
}

// fftshift(): `dim` must name dimensions, of which a tensor without dimensions has none.
Results shifted_spectrum(const RuleArguments& args) {
  if (args.is_given("dim") && args.tensor("self").sizes.empty() != args.numbers("dim").empty())
    throw Raises{"dim names " + std::to_string(args.numbers("dim").size()) + " of the " +
                 std::to_string(args.tensor("self").dim()) + " dimensions of self, expected one or more"};
  return shifted(args);
}

Results divide(const RuleArguments& args) {
  const Dtype dtype = operand_dtype(args);
  return make(broadcast_all(args), args.is_given("rounding_mode") ? dtype : float_dtype(dtype));
}

// square(): the square of a bool is an int64.
Results square(const RuleArguments& args) {
  const TensorInfo& info = args.tensor("self");
  return make(info.sizes, info.dtype == ScalarType::kBool ? Dtype(ScalarType::kInt64) : info.dtype);
}

Results float_power(const RuleArguments& args) {
  const Dtype dtype = operand_dtype(args);
  if (!dtype) return make(broadcast_all(args), dtype);
  return make(broadcast_all(args), is_complex(*dtype) ? ScalarType::kComplex128 : ScalarType::kFloat64);
}

Results where(const RuleArguments& args) {
  const Dtype dtype = args.tensor("condition").dtype;
  if (args.is_given("self") && dtype != ScalarType::kUint8)
    require_dtype(dtype, ScalarType::kBool, "condition");
  if (args.is_given("self")) return make(broadcast_all(args), promoted(args, {"self", "other"}));
  // where(condition): a tensor of indices for each dimension of the condition.
  const TensorInfo& condition = args.tensor("condition");
  const SymInt count = fresh_up_to(product(condition.sizes), args.dimensions);
  return make_list(std::vector<TensorInfo>(condition.sizes.empty() ? 1 : condition.sizes.size(),
                                           TensorInfo{.sizes = {count}, .dtype = ScalarType::kInt64}));
}

Results lerp(const RuleArguments& args) {
  require_same_dtype(first_dtype(args), args.tensor("end").dtype, {"self", "end"});
  const TensorInfo* weight = args.is_tensor("weight") ? &args.tensor("weight") : nullptr;
  if (weight != nullptr && !weight->sizes.empty())
    require_same_dtype(first_dtype(args), weight->dtype, {"self", "weight"});
  return make(broadcast_all(args), first_dtype(args));
}

void check_quotient(const RuleArguments& args) {
  const Dtype above = args.tensor("tensor1").dtype, below = args.tensor("tensor2").dtype;
  if (above && below && is_integral(*above) && is_integral(*below))
    throw Raises{"tensor1 and tensor2 are " + dtype_name(*above) + " and " + dtype_name(*below) +
                 ", expected one of them of a floating or complex dtype"};
}

void check_bounds(const RuleArguments& args) {
  if (!args.is_given("min") && !args.is_given("max")) throw Raises{"neither min nor max is given"};
}

void check_order(const RuleArguments& args) {
  const std::string_view name = args.is_given("n") ? "n" : "p";
  require(args.dimensions, Relation::kGreaterEqual, args.size(name), name == "n" ? 0 : 1, name);
}

// to(): the overloads ask for a dtype, for the dtype of another tensor, for a device, or for none of these.
Results to(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  return make(self.sizes,
              args.is_tensor("other") ? args.tensor("other").dtype : dtype_or(args, "dtype", self.dtype));
}

Results native_dropout(const RuleArguments& args) {
  const TensorInfo& info = args.tensor("input");
  TensorInfo mask = info;
  mask.dtype = ScalarType::kBool;
  return make_many({info, mask});
}

// _softmax(half_to_float)
Results raw_softmax(const RuleArguments& args) {
  const TensorInfo& info = args.tensor("self");
  normalize_dim(args.number("dim"), info.dim());
  return make(info.sizes, args.flag("half_to_float") ? Dtype(ScalarType::kFloat32) : info.dtype);
}

Results glu(const RuleArguments& args) {
  TensorInfo info = args.tensor("self");
  require_least_rank(info, 1, "self");
  SymInt& size = info.sizes[dim_index(args.number("dim"), info)];
  require_multiple(args.dimensions, size, 2,
                   "size of self in dimension " + std::to_string(args.number("dim")));
  size = floordiv(size, 2);
  return make(std::move(info));
}

Results log_sigmoid_forward(const RuleArguments& args) {
  const TensorInfo& info = args.tensor("self");
  // The buffer is empty on some devices.
  return {AbstractValue{info}, AbstractValue{}};
}

void check_round(const RuleArguments& args) {
  if (args.is_given("decimals")) check_floating(args);
}

constexpr std::string_view kFloats = "... -> ...:float", kTest = "... -> ...:bool", kTwo = "... ... -> ...",
                           kTwoFloats = "... ... -> ...:float", kComparison = "... ... -> ...:bool",
                           kGamma = "...:number -> ...:float", kNumbers = "...:number ...:number -> ...",
                           kOrdered = "...:real ...:real -> ...",
                           kClamp = "...:real ...:real ...:real -> ...",
                           kComplex = "...:floating ...:floating -> ...:complex";

constexpr OperatorRow kElementwiseRows[] = {
    {"__and__",
     {.traits = kPlain, .signature = kTwo, .value = values::bit_and, .on_values = "operator.and_"}},
    {"__and__.Scalar __or__.Scalar fill.Scalar where.Scalar", {.batch = kLeading}},
    {"__and__.Tensor __or__.Tensor divide.Tensor floor_divide. greater.Tensor "
     "greater_equal.Tensor less.Tensor less_equal.Tensor multiply.Tensor not_equal.Tensor "
     "subtract.Tensor where.ScalarOther where.ScalarSelf",
     {.batch = kBroadcast}},
    {"__iand__ __ilshift__ __ior__ __irshift__ __ixor__ _add_relu _masked_scale "
     "_test_serialization_subcmul glu_backward_jvp glu_jvp infinitely_differentiable_gelu "
     "rrelu_with_noise_functional",
     {.traits = kNoMacs}},
    {"__lshift__",
     {.traits = kPlain, .signature = kTwo, .value = values::shift_left, .on_values = "operator.lshift"}},
    {"__or__", {.traits = kPlain, .signature = kTwo, .value = values::bit_or, .on_values = "operator.or_"}},
    {"__rshift__",
     {.traits = kPlain, .signature = kTwo, .value = values::shift_right, .on_values = "operator.rshift"}},
    {"__xor__", {.traits = kPlain, .signature = kTwo, .value = values::bit_xor, .on_values = "operator.xor"}},
    {"_autocast_to_full_precision _autocast_to_reduced_precision", {.traits = kMayBeArgument | kMayCopy}},
    {"_cast_Byte", {.traits = kNoMacs, .signature = "... -> ...:uint8"}},
    {"_cast_Char", {.traits = kNoMacs, .signature = "... -> ...:int8"}},
    {"_cast_Double", {.traits = kNoMacs, .signature = "... -> ...:float64"}},
    {"_cast_Float", {.traits = kNoMacs, .signature = "... -> ...:float32"}},
    {"_cast_Half", {.traits = kNoMacs, .signature = "... -> ...:float16"}},
    {"_cast_Int", {.traits = kNoMacs, .signature = "... -> ...:int32"}},
    {"_cast_Long", {.traits = kNoMacs, .signature = "... -> ...:int64"}},
    {"_cast_Short", {.traits = kNoMacs, .signature = "... -> ...:int16"}},
    {"_conj",
     {.shape = same_as_first,
      .strides = StrideRule::kSame,
      .inverse = {"aten._conj.default", InverseForm::kChanged}}},
    {"_conj_physical _lazy_clone cauchy data geometric hardtanh random special_round threshold",
     {.traits = kNoMacs, .shape = same_as_first}},
    {"_log_softmax _softmax", {.traits = kNoMacs | kForFloats, .shape = raw_softmax, .batch = kLeading}},
    {"_masked_softmax _prelu_kernel rrelu_with_noise", {.traits = kNoMacs, .shape = like_first}},
    {"_neg_view", {.shape = same_as_first, .inverse = {"aten._neg_view.default", InverseForm::kChanged}}},
    {"_safe_softmax special_log_softmax special_softmax",
     {.traits = kNoMacs, .signature = "... -> ...", .check = check_dim}},
    {"_to_copy",
     {.traits = kNoMacs,
      .shape = to,
      .strides = StrideRule::kCopied,
      .batch = kLeading,
      .identity = {When::kSameType, {}, true}}},
    {"abs",
     {.traits = kTensorMethod | kLikeFirst,
      .signature = "... -> ...:real",
      .of_sparse = same_as_first,
      .value = values::magnitude}},
    {"absolute", {.traits = kNoMacs | kKeepsDtype, .synonym_of = "abs", .signature = "... -> ...:real"}},
    {"acos acosh asin asinh atan atanh cos cosh erf erfc expm1 lgamma log10 log1p sin sinh tan tanh",
     {.traits = kPlain | kMathFunction, .signature = kFloats, .value = values::math_function}},
    {"add",
     {.traits = kPlain | kMovesElements | kTensorMethod | kLikeFirst,
      .signature = kTwo,
      .of_sparse = sparse::sum_of_two,
      .value = values::add,
      .on_values = "operator.add"}},
    {"addcdiv", {.signature = "... ... ... -> ...", .check = check_quotient}},
    {"addcmul", {.signature = "... ... ... -> ..."}},
    {"alias",
     {.traits = kKeepsContiguous | kRankByRanks,
      .shape = same_as_first,
      .strides = StrideRule::kSame,
      .value = values::same_elements,
      .batch = kLeading,
      .identity = {When::kAlways},
      .inverse = {"aten.alias.default", InverseForm::kChanged}}},
    {"alias_copy detach_copy nan_to_num relu6 sgn", {.shape = same_as_first}},
    {"alpha_dropout",
     {.traits = kNoMacs | kMayBeArgument | kKeepsRank | kKeepsDtype,
      .shape = same_as_first,
      .strides = StrideRule::kDroppedOut,
      .identity = {When::kEvaluation}}},
    {"angle", {.traits = kPlain, .shape = angle, .value = values::math_function}},
    {"arccos", {.traits = kNoMacs | kKeepsDtype, .synonym_of = "acos", .signature = kFloats}},
    {"arccosh", {.traits = kNoMacs | kKeepsDtype, .synonym_of = "acosh", .signature = kFloats}},
    {"arcsin", {.traits = kNoMacs | kKeepsDtype, .synonym_of = "asin", .signature = kFloats}},
    {"arcsinh", {.traits = kNoMacs | kKeepsDtype, .synonym_of = "asinh", .signature = kFloats}},
    {"arctan", {.traits = kNoMacs | kKeepsDtype, .synonym_of = "atan", .signature = kFloats}},
    {"arctan2", {.traits = kNoMacs, .synonym_of = "atan2", .signature = kTwoFloats}},
    {"arctanh", {.traits = kNoMacs | kKeepsDtype, .synonym_of = "atanh", .signature = kFloats}},
    {"atan2", {.traits = kPlain | kMathFunction, .signature = kTwoFloats, .value = values::math_function}},
    {"copysign", {.traits = kPlain | kMathFunction, .signature = kTwoFloats, .value = values::copysign}},
    {"bernoulli", {.traits = kNoMacs | kKeepsDtype | kForFloats, .shape = same_as_first}},
    {"bitwise_and", {.traits = kNoMacs, .signature = kTwo, .value = values::bit_and}},
    {"bitwise_or", {.traits = kNoMacs, .signature = kTwo, .value = values::bit_or}},
    {"bitwise_xor", {.traits = kNoMacs, .signature = kTwo, .value = values::bit_xor}},
    {"bitwise_left_shift", {.traits = kNoMacs, .signature = kTwo, .value = values::shift_left}},
    {"bitwise_right_shift", {.traits = kNoMacs, .signature = kTwo, .value = values::shift_right}},
    {"bitwise_not", {.shape = same_as_first, .value = values::bit_not}},
    {"sign", {.shape = same_as_first, .value = values::sign}},
    {"ceil",
     {.traits = kPlain | kMathFunction | kTensorMethod, .shape = same_as_first, .value = values::ceil}},
    {"floor",
     {.traits = kPlain | kMathFunction | kTensorMethod, .shape = same_as_first, .value = values::floor}},
    {"ceil.Scalar", {.value = values::ceil_of_scalar}},
    {"celu elu hardshrink hardsigmoid leaky_relu log_normal mish rrelu softplus softshrink",
     {.traits = kNoMacs | kForFloats, .shape = same_as_first}},
    {"chalf", {.traits = kNoMacs, .signature = "... -> ...:complex32"}},
    {"clamp",
     {.traits = kTensorMethod | kLikeFirst,
      .signature = kClamp,
      .check = check_bounds,
      .value = values::clamp}},
    {"clamp_max", {.signature = kOrdered, .value = values::clamp_max}},
    {"clamp_min", {.signature = kOrdered, .value = values::clamp_min}},
    {"maximum", {.signature = kOrdered, .value = values::maximum}},
    {"minimum", {.signature = kOrdered, .value = values::minimum}},
    {"clip", {.traits = kNoMacs, .synonym_of = "clamp", .signature = kClamp, .check = check_bounds}},
    {"clone",
     {.traits = kNoMacs | kKeepsRank | kLikeFirst | kKeepsContiguous,
      .shape = same_as_first,
      .of_sparse = same_as_first,
      .strides = StrideRule::kCopied,
      .value = values::cast,
      .identity = {When::kSameType, {}, true}}},
    {"complex",
     {.traits = kNoMacs,
      .signature = kComplex,
      .strides = StrideRule::kComplex,
      .same_dtype = {"real", "imag"},
      .batch = kBroadcast}},
    {"conj", {.traits = kMayBeArgument, .shape = same_as_first}},
    {"positive", {.traits = kMayBeArgument, .shape = same_as_first}},
    {"conj_physical", {.shape = same_as_first, .hidden_alias = {{0, 0}}}},
    {"contiguous",
     {.traits = kTensorMethod | kMayBeArgument | kMayCopy | kKeepsRank | kLikeFirst | kMakesContiguous,
      .shape = same_as_first,
      .strides = StrideRule::kContiguous,
      .value = values::contiguous,
      .batch = kLeading}},
    {"copy",
     {.traits = kNoMacs | kPlain | kMovesElements | kKeepsDtype,
      .shape = filled,
      .value = values::same_list,
      .on_values = "builtins.list"}},
    {"copy.",
     {.batch = {.rule = &BatchRules::copy, .keeps_dtypes = true, .may_write = true},
      .identity = {When::kSameAsOther, "src", true, 1}}},
    {"copy_.", {.identity = {When::kSameAsOther, "src", true, 1, true}}},
    {"cpu cuda pin_memory resolve_conj resolve_neg",
     {.traits = kMayBeArgument | kMayCopy, .shape = same_as_first}},
    {"deg2rad special_digamma special_erf special_erfc special_erfinv special_exp2 "
     "special_expm1 special_gammaln special_i0 special_log1p special_logit "
     "special_ndtr special_psi special_sinc",
     {.traits = kNoMacs, .signature = kFloats}},
    {"detach",
     {.traits = kTensorMethod | kKeepsRank | kLikeFirst | kKeepsContiguous,
      .shape = same_as_first,
      .of_sparse = same_as_first,
      .strides = StrideRule::kSame,
      .value = values::same_elements,
      .batch = kLeading,
      .identity = {When::kAlways},
      .inverse = {"aten.alias.default", InverseForm::kChanged}}},
    {"digamma erfinv i0 logit rad2deg sinc special_airy_ai special_bessel_j0 "
     "special_bessel_j1 special_bessel_y0 special_bessel_y1 special_entr special_erfcx "
     "special_i0e special_i1 special_i1e special_log_ndtr special_modified_bessel_i0 "
     "special_modified_bessel_i1 special_modified_bessel_k0 special_modified_bessel_k1 "
     "special_ndtri special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1 "
     "special_spherical_bessel_j0",
     {.signature = kFloats}},
    {"div",
     {.traits = kPlain | kTensorMethod | kLikeFirst,
      .shape = divide,
      .value = values::divide,
      .on_values = "operator.truediv"}},
    {"divide", {.traits = kNoMacs, .synonym_of = "div", .shape = divide}},
    {"dropout",
     {.traits = kNoMacs | kMayBeArgument | kKeepsRank | kKeepsDtype | kLikeFirst | kKeepsContiguous,
      .shape = same_as_first,
      .strides = StrideRule::kDroppedOut,
      .batch = kLeading,
      .identity = {When::kEvaluation}}},
    {"eq",
     {.traits = kTakesPart | kPlain | kTensorMethod | kCompares | kGivesBool,
      .signature = kComparison,
      .value = values::equal,
      .on_values = "operator.eq"}},
    {"exp log",
     {.traits = kPlain | kMathFunction | kTensorMethod,
      .signature = kFloats,
      .value = values::math_function}},
    {"sqrt", {.traits = kPlain | kMathFunction | kTensorMethod, .signature = kFloats, .value = values::root}},
    {"exp2 sigmoid", {.signature = kFloats}},
    {"reciprocal", {.signature = kFloats, .value = values::reciprocal}},
    {"rsqrt", {.signature = kFloats, .value = values::reciprocal_root}},
    {"exponential uniform", {.traits = kNoMacs | kKeepsDtype, .shape = same_as_first}},
    {"feature_alpha_dropout",
     {.traits = kNoMacs | kMayBeArgument | kKeepsDtype,
      .shape = same_as_first,
      .identity = {When::kEvaluation}}},
    {"feature_dropout",
     {.traits = kNoMacs | kMayBeArgument | kKeepsRank | kKeepsDtype,
      .shape = same_as_first,
      .strides = StrideRule::kDroppedOut,
      .identity = {When::kEvaluation}}},
    {"fft_fftshift fft_ifftshift", {.traits = kNoMacs, .shape = shifted_spectrum}},
    {"fill", {.traits = kNoMacs | kKeepsDtype, .shape = filled}},
    {"fill.Tensor", {.batch = {.rule = &BatchRules::copy, .target = "aten.copy.default", .may_write = true}}},
    {"fix", {.traits = kNoMacs | kKeepsDtype, .synonym_of = "trunc", .shape = same_as_first}},
    {"flip", {.traits = kNoMacs | kKeepsRank, .shape = flip, .value = values::flip, .batch = kLeading}},
    // Dimensions from the front, which those of a batch would be.
    {"fliplr", {.traits = kNoMacs, .signature = "...mn -> ...mn", .batch = {.rule = &BatchRules::none}}},
    {"flipud", {.traits = kNoMacs, .signature = "...n -> ...n", .batch = {.rule = &BatchRules::none}}},
    {"float_power", {.shape = float_power}},
    {"floor_divide",
     {.traits = kNoMacs, .signature = kTwo, .value = values::floor_divide, .on_values = "operator.floordiv"}},
    {"fmax fmin hypot lcm nextafter", {.signature = kTwo}},
    {"fmod",
     {.traits = kPlain | kMathFunction | kDivides, .signature = kTwo, .value = values::truncated_remainder}},
    {"frac", {.traits = kForFloats, .shape = same_as_first, .value = values::fraction}},
    {"frexp",
     {.traits = kPlain | kMathFunction,
      .signature = "...:floating -> ... ...:int32",
      .value = values::math_function}},
    {"gcd", {.traits = kPlain | kMathFunction, .signature = kTwo, .value = values::greatest_common_divisor}},
    {"ge",
     {.traits = kPlain | kTensorMethod | kGivesBool,
      .signature = kComparison,
      .value = values::greater_equal,
      .on_values = "operator.ge"}},
    {"gelu", {.traits = kLikeFirst | kForFloats, .shape = same_as_first}},
    {"glu", {.traits = kNoMacs | kForFloats, .shape = glu, .batch = kLeading}},
    {"greater", {.traits = kNoMacs | kGivesBool, .synonym_of = "gt", .signature = kComparison}},
    {"greater_equal", {.traits = kNoMacs | kGivesBool, .synonym_of = "ge", .signature = kComparison}},
    {"gt",
     {.traits = kPlain | kTensorMethod | kGivesBool,
      .signature = kComparison,
      .value = values::greater,
      .on_values = "operator.gt"}},
    {"hardswish", {.traits = kNoMacs | kKeepsDtype | kForFloats, .shape = same_as_first, .batch = kLeading}},
    {"heaviside", {.signature = kOrdered, .same_dtype = {"self", "values"}}},
    {"igamma igammac logaddexp logaddexp2 special_chebyshev_polynomial_t "
     "special_chebyshev_polynomial_u special_chebyshev_polynomial_v "
     "special_chebyshev_polynomial_w special_hermite_polynomial_h "
     "special_hermite_polynomial_he special_laguerre_polynomial_l "
     "special_legendre_polynomial_p special_shifted_chebyshev_polynomial_t "
     "special_shifted_chebyshev_polynomial_u special_shifted_chebyshev_polynomial_v "
     "special_shifted_chebyshev_polynomial_w special_xlog1py special_zeta xlogy",
     {.signature = kTwoFloats}},
    {"imag", {.signature = "... -> ...:real", .strides = StrideRule::kComplexPart}},
    {"isclose", {.traits = kNoMacs, .signature = kComparison, .same_dtype = {"self", "other"}}},
    {"isfinite",
     {.traits = kPlain | kMathFunction | kTensorMethod, .signature = kTest, .value = values::is_finite}},
    {"isinf",
     {.traits = kPlain | kMathFunction | kTensorMethod, .signature = kTest, .value = values::is_infinite}},
    {"isnan",
     {.traits = kPlain | kMathFunction | kTensorMethod, .signature = kTest, .value = values::is_nan}},
    {"isneginf isposinf signbit", {.signature = "...:real -> ...:bool"}},
    {"isreal", {.traits = kNoMacs, .signature = kTest}},
    {"ldexp", {.traits = kPlain | kMathFunction, .shape = ldexp, .value = values::math_function}},
    {"ldexp.Tensor", {.batch = {.rule = &BatchRules::none}}},
    {"le",
     {.traits = kPlain | kTensorMethod | kGivesBool,
      .signature = kComparison,
      .value = values::less_equal,
      .on_values = "operator.le"}},
    {"lerp", {.shape = lerp}},
    {"less", {.traits = kNoMacs | kGivesBool, .synonym_of = "lt", .signature = kComparison}},
    {"less_equal", {.traits = kNoMacs | kGivesBool, .synonym_of = "le", .signature = kComparison}},
    {"lift", {.traits = kNoMacs | kMayBeArgument, .shape = same_as_first}},
    {"lift_fresh",
     {.traits = kMayBeArgument,
      .shape = same_as_first,
      .strides = StrideRule::kSame,
      .identity = {When::kAlways},
      .inverse = {"aten.alias.default", InverseForm::kChanged}}},
    {"lift_fresh_copy",
     {.shape = same_as_first, .strides = StrideRule::kCopied, .identity = {When::kAlways, {}, true}}},
    {"log2", {.traits = kMathFunction, .signature = kFloats}},
    {"log.Scalar_Scalar", {.value = values::logarithm_of_scalar}},
    {"log_sigmoid", {.traits = kNoMacs | kForFloats, .shape = same_as_first, .batch = kLeading}},
    {"log_sigmoid_forward", {.traits = kNoMacs, .shape = log_sigmoid_forward}},
    {"log_softmax softmax",
     {.traits = kNoMacs | kKeepsRank | kForFloats, .signature = "... -> ...", .check = check_dim}},
    {"logical_and",
     {.traits = kTensorMethod | kGivesBool, .signature = kComparison, .value = values::logical_and}},
    {"logical_not", {.traits = kTensorMethod | kGivesBool, .signature = kTest, .value = values::logical_not}},
    {"logical_or",
     {.traits = kTensorMethod | kGivesBool, .signature = kComparison, .value = values::logical_or}},
    {"logical_xor", {.traits = kGivesBool, .signature = kComparison, .value = values::logical_xor}},
    {"lt",
     {.traits = kPlain | kTensorMethod | kGivesBool,
      .signature = kComparison,
      .value = values::less,
      .on_values = "operator.lt"}},
    {"masked_fill", {.traits = kNoMacs | kKeepsDtype, .shape = masked_fill, .value = values::masked_fill}},
    {"masked_scatter",
     {.traits = kNoMacs | kKeepsDtype, .shape = masked_scatter, .same_dtype = {"self", "source"}}},
    {"mul",
     {.traits = kPlain | kMovesElements | kTensorMethod | kRepeats | kLikeFirst,
      .signature = kTwo,
      .of_sparse = sparse::scaled,
      .value = values::multiply,
      .on_values = "operator.mul"}},
    {"multiply", {.traits = kNoMacs, .synonym_of = "mul", .signature = kTwo}},
    {"native_dropout", {.traits = kNoMacs, .shape = native_dropout}},
    {"ne",
     {.traits = kPlain | kTensorMethod | kCompares | kGivesBool,
      .signature = kComparison,
      .value = values::not_equal,
      .on_values = "operator.ne"}},
    {"neg",
     {.traits = kPlain | kTensorMethod | kLikeFirst,
      .signature = "...:number -> ...",
      .of_sparse = same_as_first,
      .value = values::negative,
      .on_values = "operator.neg"}},
    {"negative",
     {.traits = kNoMacs | kKeepsDtype,
      .synonym_of = "neg",
      .signature = "...:number -> ...",
      .batch = kLeading}},
    {"not_equal", {.traits = kNoMacs | kGivesBool, .synonym_of = "ne", .signature = kComparison}},
    {"polar",
     {.traits = kPlain,
      .signature = kComplex,
      .same_dtype = {"abs", "angle"},
      .value = values::math_function}},
    {"mvlgamma", {.signature = kGamma, .check = check_order}},
    {"special_multigammaln", {.traits = kNoMacs, .signature = kGamma, .check = check_order}},
    {"polygamma", {.signature = kTwoFloats, .check = check_order}},
    {"pow",
     {.traits = kPlain | kTensorMethod,
      .signature = kTwo,
      .value = values::power,
      .on_values = "operator.pow"}},
    {"prelu", {.traits = kNoMacs | kKeepsRank, .shape = prelu}},
    {"prim::data", {.traits = kAttribute, .shape = same_as_first}},
    {"real", {.traits = kMayBeArgument, .signature = "... -> ...:real", .strides = StrideRule::kComplexPart}},
    {"relu", {.traits = kNoMacs | kLikeFirst, .shape = same_as_first, .of_sparse = same_as_first}},
    {"remainder",
     {.traits = kPlain | kTensorMethod | kDivides,
      .signature = kTwo,
      .value = values::remainder,
      .on_values = "operator.mod"}},
    {"roll", {.traits = kNoMacs | kKeepsRank, .shape = shifted, .value = values::roll, .batch = kLeading}},
    {"round",
     {.traits = kPlain | kTensorMethod,
      .shape = same_as_first,
      .check = check_round,
      .value = values::round}},
    {"rsub", {.traits = kNoMacs, .signature = kNumbers, .value = values::subtract_from}},
    {"selu silu", {.traits = kForFloats, .shape = same_as_first}},
    {"special_expit", {.traits = kNoMacs, .synonym_of = "sigmoid", .signature = kFloats}},
    {"special_gammainc special_gammaincc special_xlogy", {.traits = kNoMacs, .signature = kTwoFloats}},
    {"special_polygamma", {.traits = kNoMacs, .signature = kTwoFloats, .check = check_order}},
    {"square", {.shape = square, .value = values::square}},
    {"sub",
     {.traits = kPlain | kTensorMethod | kLikeFirst,
      .signature = kNumbers,
      .value = values::subtract,
      .on_values = "operator.sub"}},
    {"subtract", {.traits = kNoMacs, .synonym_of = "sub", .signature = kNumbers}},
    {"to",
     {.traits = kTensorMethod | kMayBeArgument | kMayCopy | kKeepsRank | kKeepsContiguous,
      .shape = to,
      .of_sparse = sparse::converted,
      .strides = StrideRule::kConverted,
      .value = values::cast}},
    {"to.device to.dtype to.dtype_layout", {.batch = kLeading, .identity = {When::kSameType}}},
    {"to.other", {.batch = {.rule = &BatchRules::type_of}, .identity = {When::kSameTypeAsOther, "other"}}},
    {"tril",
     {.traits = kNoMacs | kKeepsDtype,
      .signature = "...mn -> ...mn",
      .value = values::lower_triangle,
      .batch = kLeading}},
    {"triu",
     {.traits = kNoMacs | kKeepsDtype,
      .signature = "...mn -> ...mn",
      .value = values::upper_triangle,
      .batch = kLeading}},
    {"true_divide",
     {.traits = kNoMacs, .synonym_of = "div", .signature = kTwoFloats, .value = values::divide}},
    {"trunc", {.traits = kPlain | kMathFunction, .shape = same_as_first, .value = values::trunc}},
    {"type_as",
     {.traits = kTensorMethod | kMayBeArgument | kKeepsRank | kLikeFirst,
      .shape = to,
      .value = values::cast,
      .batch = {.rule = &BatchRules::type_of},
      .identity = {When::kSameTypeAsOther, "other"}}},
    {"where", {.traits = kNoMacs, .shape = where, .value = values::where}},
    {"zero", {.traits = kNoMacs | kKeepsDtype, .shape = same_as_first, .batch = kLeading}},
};

}  // namespace

OperatorRows elementwise_rows() { return kElementwiseRows; }

}  // namespace fxtrace::internal
