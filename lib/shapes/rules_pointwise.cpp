// Rules of operators that compute each element from those at the same place: broadcast sizes, promoted types.

#include "shapes/rule_helpers.h"

namespace fxtrace {
namespace {

Dtype first_dtype(const RuleArguments& args) { return args.tensor(first_argument(args)).dtype; }

// Tensors and numbers that decide the type; factors like alpha do not.
Dtype operand_dtype(const RuleArguments& args) {
  return promoted(args, {"self", "input", "other", "exponent", "end", "weight", "tensor1", "tensor2", "min",
                         "max", "x", "y", "n"});
}

// sin: integers become floats.
Results unary_float(const RuleArguments& args) {
  const TensorInfo& info = args.tensor(first_argument(args));
  return make(info.sizes, float_dtype(info.dtype));
}

// copy(self, src), fill(self, value)
Results filled(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  if (args.is_tensor("src")) require_expandable(args.dimensions, args.tensor("src").sizes, self.sizes);
  if (args.is_tensor("value")) require_rank(args.tensor("value"), {0}, "what is filled in");
  return make(self);
}

// polygamma(n, x)
Results polygamma(const RuleArguments& args) {
  const TensorInfo& info = args.tensor("self");
  require(args.dimensions, Relation::kGreaterEqual, args.size("n"), 0, "which derivative");
  return make(info.sizes, float_dtype(info.dtype));
}

// abs: complex numbers become real.
Results unary_real(const RuleArguments& args) {
  const TensorInfo& info = args.tensor(first_argument(args));
  return make(info.sizes, real_dtype(info.dtype));
}

Results angle(const RuleArguments& args) {
  const TensorInfo& info = args.tensor("self");
  return make(info.sizes, real_dtype(float_dtype(info.dtype)));
}

Results predicate(const RuleArguments& args) { return make(broadcast_all(args), ScalarType::kBool); }

Results binary(const RuleArguments& args) { return make(broadcast_all(args), operand_dtype(args)); }

Results binary_float(const RuleArguments& args) {
  return make(broadcast_all(args), float_dtype(operand_dtype(args)));
}

// masked_fill: other tensors are broadcast with the first, whose type stays.
Results first_type(const RuleArguments& args) { return make(broadcast_all(args), first_dtype(args)); }

// What goes where the mask is may have any shape.
Results masked_scatter(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  require_same_dtype(args.tensor("mask").dtype, ScalarType::kBool, "dtypes of masks");
  require_same_dtype(self.dtype, args.tensor("source").dtype, "dtypes of 'self' and 'source'");
  return make(broadcast(self.sizes, args.tensor("mask").sizes, args.dimensions), self.dtype);
}

Results masked_fill(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  require_same_dtype(args.tensor("mask").dtype, ScalarType::kBool, "dtypes of masks");
  if (args.is_tensor("value")) require_rank(args.tensor("value"), {0}, "what is filled in");
  return make(broadcast(self.sizes, args.tensor("mask").sizes, args.dimensions), self.dtype);
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

Results frexp(const RuleArguments& args) {
  const TensorInfo& mantissa = args.tensor("self");
  require_dtype(mantissa.dtype, is_floating, "what is taken apart");
  TensorInfo exponent = mantissa;
  exponent.dtype = ScalarType::kInt32;
  return make_many({mantissa, std::move(exponent)});
}

Results isclose(const RuleArguments& args) {
  require_same_dtype(args.tensor("self").dtype, args.tensor("other").dtype, "dtypes of the two");
  return make(broadcast_all(args), ScalarType::kBool);
}

// One parameter for all channels, or one each.
Results prelu(const RuleArguments& args) {
  const TensorInfo &self = args.tensor("self"), &weight = args.tensor("weight");
  require_rank(weight, {0, 1}, "the weight");
  require_same_dtype(self.dtype, weight.dtype, "dtypes of input and weight");
  if (weight.dim() == 1 && args.dimensions.decide(Relation::kNotEqual, weight.sizes[0], 1) == true) {
    if (self.sizes.empty()) throw Raises{"the input has no channels"};
    require(args.dimensions, Relation::kEqual, weight.sizes[0], self.dim() < 2 ? SymInt(1) : self.sizes[1],
            "the weight is not one for each channel");
  }
  return make(self);
}

Results negative(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  if (self.dtype == ScalarType::kBool) throw Raises{"a bool has no negative"};
  return make(self);
}

// Not of two bools.
Results subtract(const RuleArguments& args) {
  const auto is_bool = [&](std::string_view name) {
    return args.is_tensor(name) ? args.tensor(name).dtype == ScalarType::kBool
                                : args.value(name).get_if<bool>() != nullptr;
  };
  if (is_bool("self") || is_bool("other")) throw Raises{"a bool is subtracted, or something from it"};
  return binary(args);
}

Results clamp(const RuleArguments& args) {
  const Dtype dtype = operand_dtype(args);
  if (dtype && is_complex(*dtype)) throw Raises{"complex numbers have no order"};
  return binary(args);
}

// Elements in another order along `dims`.
Results flip(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  distinct_dims(args.numbers("dims"), self.dim());
  return make(self);
}

Results shifted(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  const std::string_view name = args.given("dims") ? "dims" : "dim";
  if (args.given(name)) normalize_dims(args.numbers(name), self.dim());
  return make(self);
}

// fftshift: a number has no dimensions that could be named.
Results shifted_spectrum(const RuleArguments& args) {
  if (args.given("dim") && args.tensor("self").sizes.empty() && !args.numbers("dim").empty())
    throw Raises{"a tensor without dimensions"};
  return shifted(args);
}

template <int Least>
Results of_least_rank(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  require_least_rank(self, Least, "the tensor");
  return make(self);
}

Results divide(const RuleArguments& args) {
  return args.given("rounding_mode") ? binary(args) : binary_float(args);
}

// Booleans are counted: square of True is an integer.
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
  if (args.given("self") && dtype != ScalarType::kUint8)
    require_same_dtype(dtype, ScalarType::kBool, "dtypes of conditions");
  if (args.given("self")) return make(broadcast_all(args), promoted(args, {"self", "other"}));
  // One tensor of positions for each dimension of the condition.
  const TensorInfo& condition = args.tensor("condition");
  const SymInt count = fresh_up_to(product(condition.sizes), args.dimensions);
  return make_list(std::vector<TensorInfo>(condition.sizes.empty() ? 1 : condition.sizes.size(),
                                           TensorInfo{.sizes = {count}, .dtype = ScalarType::kInt64}));
}

Results lerp(const RuleArguments& args) {
  require_same_dtype(first_dtype(args), args.tensor("end").dtype, "dtypes of both ends");
  const TensorInfo* weight = args.is_tensor("weight") ? &args.tensor("weight") : nullptr;
  if (weight != nullptr && !weight->sizes.empty())
    require_same_dtype(first_dtype(args), weight->dtype, "dtypes of ends and weight");
  return make(broadcast_all(args), first_dtype(args));
}

Results addcmul(const RuleArguments& args) {
  return make(broadcast_all(args), promoted(args, {"self", "tensor1", "tensor2"}));
}

Results addcdiv(const RuleArguments& args) {
  const Dtype above = args.tensor("tensor1").dtype, below = args.tensor("tensor2").dtype;
  if (above && below && is_integral(*above) && is_integral(*below)) throw Raises{"integers are divided"};
  return addcmul(args);
}

Results complex_of(const RuleArguments& args) {
  const std::string_view second = args.given("imag") ? "imag" : "angle";
  require_dtype(first_dtype(args), is_floating, "a part of a complex number");
  require_same_dtype(first_dtype(args), args.tensor(second).dtype, "dtypes of the parts");
  return make(broadcast_all(args), complex_dtype(first_dtype(args)));
}

// Forms that ask for a type, for another tensor's, for a device, or for neither.
Results to(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  return make(self.sizes,
              args.is_tensor("other") ? args.tensor("other").dtype : dtype_or(args, "dtype", self.dtype));
}

template <ScalarType Type>
Results cast(const RuleArguments& args) {
  return make(args.tensor("self").sizes, Type);
}

Results native_dropout(const RuleArguments& args) {
  const TensorInfo& info = args.tensor("input");
  TensorInfo mask = info;
  mask.dtype = ScalarType::kBool;
  return make_many({info, mask});
}

Results softmax(const RuleArguments& args) {
  const TensorInfo& info = args.tensor("self");
  normalize_dim(args.number("dim"), info.dim());
  return make(info.sizes, dtype_or(args, "dtype", info.dtype));
}

// _softmax(half_to_float)
Results raw_softmax(const RuleArguments& args) {
  const TensorInfo& info = args.tensor("self");
  normalize_dim(args.number("dim"), info.dim());
  return make(info.sizes, args.flag("half_to_float") ? Dtype(ScalarType::kFloat32) : info.dtype);
}

Results glu(const RuleArguments& args) {
  TensorInfo info = args.tensor("self");
  require_least_rank(info, 1, "what is split in two");
  SymInt& size = info.sizes[dim_index(args.number("dim"), info)];
  require(args.dimensions, Relation::kEqual, mod(size, 2), 0, "what is split in two is left over");
  size = floordiv(size, 2);
  return make(std::move(info));
}

Results channel_shuffle(const RuleArguments& args) {
  TensorInfo info = args.tensor("self");
  if (info.dim() < 3) throw Raises{"an image with " + std::to_string(info.dim()) + " dimensions"};
  require(args.dimensions, Relation::kGreater, args.size("groups"), 0, "number of groups");
  require(args.dimensions, Relation::kEqual, mod(info.sizes[1], args.size("groups")), 0,
          "channels are left over by groups");
  return make(std::move(info));
}

Results log_sigmoid_forward(const RuleArguments& args) {
  const TensorInfo& info = args.tensor("self");
  // The buffer is empty on some devices.
  return {AbstractValue{info}, AbstractValue{}};
}

}  // namespace

RuleTable pointwise_rules() {
  static constexpr std::pair<std::string_view, Rule> kRules[] = {
      // Nothing but another name, another order in memory, or the same type.
      {"alias", same_as_first},
      {"alias_copy", same_as_first},
      {"_lazy_clone", same_as_first},
      {"_neg_view", same_as_first},
      {"detach_copy", same_as_first},
      {"fill", filled},
      {"alpha_dropout", same_as_first},
      {"bernoulli", same_as_first},
      {"bitwise_not", same_as_first},
      {"ceil", same_as_first},
      {"celu", same_as_first},
      {"channel_shuffle", channel_shuffle},
      {"clone", same_as_first},
      {"conj", same_as_first},
      {"conj_physical", same_as_first},
      {"_conj", same_as_first},
      {"_conj_physical", same_as_first},
      {"contiguous", same_as_first},
      {"copy", filled},
      {"cpu", same_as_first},
      {"cuda", same_as_first},
      {"data", same_as_first},
      {"detach", same_as_first},
      {"dropout", same_as_first},
      {"elu", same_as_first},
      {"feature_alpha_dropout", same_as_first},
      {"feature_dropout", same_as_first},
      {"fix", same_as_first},
      {"flip", flip},
      {"fliplr", of_least_rank<2>},
      {"flipud", of_least_rank<1>},
      {"floor", same_as_first},
      {"frac", same_as_first},
      {"gelu", same_as_first},
      {"hardshrink", same_as_first},
      {"hardsigmoid", same_as_first},
      {"hardswish", same_as_first},
      {"hardtanh", same_as_first},
      {"leaky_relu", same_as_first},
      {"lift", same_as_first},
      {"lift_fresh", same_as_first},
      {"lift_fresh_copy", same_as_first},
      {"log_sigmoid", same_as_first},
      {"mish", same_as_first},
      {"nan_to_num", same_as_first},
      {"native_channel_shuffle", same_as_first},
      {"neg", negative},
      {"negative", negative},
      {"pin_memory", same_as_first},
      {"positive", same_as_first},
      {"prelu", prelu},
      {"prim::data", same_as_first},
      {"relu", same_as_first},
      {"relu6", same_as_first},
      {"resolve_conj", same_as_first},
      {"resolve_neg", same_as_first},
      {"roll", shifted},
      {"fft_fftshift", shifted_spectrum},
      {"fft_ifftshift", shifted_spectrum},
      {"round", same_as_first},
      {"rrelu", same_as_first},
      {"selu", same_as_first},
      {"sgn", same_as_first},
      {"sign", same_as_first},
      {"silu", same_as_first},
      {"softplus", same_as_first},
      {"softshrink", same_as_first},
      {"special_round", same_as_first},
      {"threshold", same_as_first},
      {"tril", of_least_rank<2>},
      {"triu", of_least_rank<2>},
      {"trunc", same_as_first},
      {"cauchy", same_as_first},
      {"exponential", same_as_first},
      {"geometric", same_as_first},
      {"log_normal", same_as_first},
      {"random", same_as_first},
      {"uniform", same_as_first},
      {"zero", same_as_first},

      {"abs", unary_real},
      {"absolute", unary_real},
      {"angle", angle},
      {"frexp", frexp},
      {"glu", glu},
      {"imag", unary_real},
      {"log_sigmoid_forward", log_sigmoid_forward},
      {"native_dropout", native_dropout},
      {"real", unary_real},
      {"square", square},

      {"acos", unary_float},
      {"acosh", unary_float},
      {"arccos", unary_float},
      {"arccosh", unary_float},
      {"arcsin", unary_float},
      {"arcsinh", unary_float},
      {"arctan", unary_float},
      {"arctanh", unary_float},
      {"asin", unary_float},
      {"asinh", unary_float},
      {"atan", unary_float},
      {"atanh", unary_float},
      {"cos", unary_float},
      {"cosh", unary_float},
      {"deg2rad", unary_float},
      {"digamma", unary_float},
      {"erf", unary_float},
      {"erfc", unary_float},
      {"erfinv", unary_float},
      {"exp", unary_float},
      {"exp2", unary_float},
      {"expm1", unary_float},
      {"i0", unary_float},
      {"lgamma", unary_float},
      {"log", unary_float},
      {"log10", unary_float},
      {"log1p", unary_float},
      {"log2", unary_float},
      {"logit", unary_float},
      {"mvlgamma", unary_float},
      {"polygamma", polygamma},
      {"rad2deg", unary_float},
      {"reciprocal", unary_float},
      {"rsqrt", unary_float},
      {"sigmoid", unary_float},
      {"sin", unary_float},
      {"sinc", unary_float},
      {"sinh", unary_float},
      {"special_airy_ai", unary_float},
      {"special_bessel_j0", unary_float},
      {"special_bessel_j1", unary_float},
      {"special_bessel_y0", unary_float},
      {"special_bessel_y1", unary_float},
      {"special_digamma", unary_float},
      {"special_entr", unary_float},
      {"special_erf", unary_float},
      {"special_erfc", unary_float},
      {"special_erfcx", unary_float},
      {"special_erfinv", unary_float},
      {"special_exp2", unary_float},
      {"special_expit", unary_float},
      {"special_expm1", unary_float},
      {"special_gammaln", unary_float},
      {"special_i0", unary_float},
      {"special_i0e", unary_float},
      {"special_i1", unary_float},
      {"special_i1e", unary_float},
      {"special_log1p", unary_float},
      {"special_log_ndtr", unary_float},
      {"special_logit", unary_float},
      {"special_modified_bessel_i0", unary_float},
      {"special_modified_bessel_i1", unary_float},
      {"special_modified_bessel_k0", unary_float},
      {"special_modified_bessel_k1", unary_float},
      {"special_multigammaln", unary_float},
      {"special_ndtr", unary_float},
      {"special_ndtri", unary_float},
      {"special_polygamma", polygamma},
      {"special_psi", unary_float},
      {"special_scaled_modified_bessel_k0", unary_float},
      {"special_scaled_modified_bessel_k1", unary_float},
      {"special_sinc", unary_float},
      {"special_spherical_bessel_j0", unary_float},
      {"sqrt", unary_float},
      {"tan", unary_float},
      {"tanh", unary_float},

      {"eq", predicate},
      {"ge", predicate},
      {"greater", predicate},
      {"greater_equal", predicate},
      {"gt", predicate},
      {"isclose", isclose},
      {"isfinite", predicate},
      {"isinf", predicate},
      {"isnan", predicate},
      {"isneginf", predicate},
      {"isposinf", predicate},
      {"isreal", predicate},
      {"le", predicate},
      {"less", predicate},
      {"less_equal", predicate},
      {"logical_and", predicate},
      {"logical_not", predicate},
      {"logical_or", predicate},
      {"logical_xor", predicate},
      {"lt", predicate},
      {"ne", predicate},
      {"not_equal", predicate},
      {"signbit", predicate},

      {"__and__", binary},
      {"__lshift__", binary},
      {"__or__", binary},
      {"__rshift__", binary},
      {"__xor__", binary},
      {"add", binary},
      {"addcmul", addcmul},
      {"addcdiv", addcdiv},
      {"bitwise_and", binary},
      {"bitwise_left_shift", binary},
      {"bitwise_or", binary},
      {"bitwise_right_shift", binary},
      {"bitwise_xor", binary},
      {"clamp", clamp},
      {"clamp_max", clamp},
      {"clamp_min", clamp},
      {"clip", clamp},
      {"floor_divide", binary},
      {"fmax", binary},
      {"fmin", binary},
      {"fmod", binary},
      {"gcd", binary},
      {"heaviside", first_type},
      {"lcm", binary},
      {"lerp", lerp},
      {"masked_fill", masked_fill},
      {"masked_scatter", masked_scatter},
      {"maximum", clamp},
      {"minimum", clamp},
      {"mul", binary},
      {"multiply", binary},
      {"nextafter", binary},
      {"pow", binary},
      {"remainder", binary},
      {"rsub", subtract},
      {"sub", subtract},
      {"subtract", subtract},
      {"where", where},

      {"arctan2", binary_float},
      {"atan2", binary_float},
      {"copysign", binary_float},
      {"div", divide},
      {"divide", divide},
      {"float_power", float_power},
      {"hypot", binary},
      {"igamma", binary_float},
      {"igammac", binary_float},
      {"ldexp", ldexp},
      {"logaddexp", binary_float},
      {"logaddexp2", binary_float},
      {"special_chebyshev_polynomial_t", binary_float},
      {"special_chebyshev_polynomial_u", binary_float},
      {"special_chebyshev_polynomial_v", binary_float},
      {"special_chebyshev_polynomial_w", binary_float},
      {"special_gammainc", binary_float},
      {"special_gammaincc", binary_float},
      {"special_hermite_polynomial_h", binary_float},
      {"special_hermite_polynomial_he", binary_float},
      {"special_laguerre_polynomial_l", binary_float},
      {"special_legendre_polynomial_p", binary_float},
      {"special_shifted_chebyshev_polynomial_t", binary_float},
      {"special_shifted_chebyshev_polynomial_u", binary_float},
      {"special_shifted_chebyshev_polynomial_v", binary_float},
      {"special_shifted_chebyshev_polynomial_w", binary_float},
      {"special_xlog1py", binary_float},
      {"special_xlogy", binary_float},
      {"special_zeta", binary_float},
      {"true_divide", binary_float},
      {"xlogy", binary_float},

      {"complex", complex_of},
      {"polar", complex_of},

      {"to", to},
      {"_to_copy", to},
      {"type_as", to},
      {"_cast_Byte", cast<ScalarType::kUint8>},
      {"_cast_Char", cast<ScalarType::kInt8>},
      {"_cast_Double", cast<ScalarType::kFloat64>},
      {"_cast_Float", cast<ScalarType::kFloat32>},
      {"_cast_Half", cast<ScalarType::kFloat16>},
      {"_cast_Int", cast<ScalarType::kInt32>},
      {"_cast_Long", cast<ScalarType::kInt64>},
      {"_cast_Short", cast<ScalarType::kInt16>},
      {"chalf", cast<ScalarType::kComplex32>},

      {"_log_softmax", raw_softmax},
      {"_softmax", raw_softmax},
      {"_safe_softmax", softmax},
      {"log_softmax", softmax},
      {"softmax", softmax},
      {"special_log_softmax", softmax},
      {"special_softmax", softmax},
  };
  return kRules;
}

}  // namespace fxtrace
