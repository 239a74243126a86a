// The value rule for functions of Python's module math, on known numbers.
#include <cmath>
#include <string_view>
#include <unordered_map>

#include "opinfo/rules/shape_helpers.h"
#include "opinfo/values/list_changes.h"
#include "opinfo/values/number_values.h"
#include "opinfo/values/value_call.h"

namespace fxtrace::internal::values {
namespace {

double degrees(double x) { return x * (180.0 / std::acos(-1.0)); }
double radians(double x) { return x * (std::acos(-1.0) / 180.0); }

struct Function {
  double (*of_real)(double);
  Complex (*of_complex)(const Complex&) = nullptr;
};

const Function* find_function(std::string_view name) {
  static const std::unordered_map<std::string_view, Function> functions{
      {"acos", {std::acos, std::acos}},
      {"acosh", {std::acosh, std::acosh}},
      {"angle", {[](double x) { return std::arg(x); }}},
      {"asin", {std::asin, std::asin}},
      {"asinh", {std::asinh, std::asinh}},
      {"atan", {std::atan, std::atan}},
      {"atanh", {std::atanh, std::atanh}},
      {"cos", {std::cos, std::cos}},
      {"cosh", {std::cosh, std::cosh}},
      {"degrees", {degrees}},
      {"erf", {std::erf}},
      {"erfc", {std::erfc}},
      {"exp", {std::exp, std::exp}},
      {"expm1", {std::expm1}},
      {"fabs", {std::fabs}},
      {"gamma", {std::tgamma}},
      {"lgamma", {std::lgamma}},
      {"log", {std::log, std::log}},
      {"log10", {std::log10, std::log10}},
      {"log1p", {std::log1p}},
      {"radians", {radians}},
      {"sin", {std::sin, std::sin}},
      {"sinh", {std::sinh, std::sinh}},
      {"sqrt", {std::sqrt, std::sqrt}},
      {"tan", {std::tan, std::tan}},
      {"tanh", {std::tanh, std::tanh}},
  };
  const auto found = functions.find(name);
  return found != functions.end() ? &found->second : nullptr;
}

double (*find_function_of_two(std::string_view name))(double, double) {
  if (name == "atan2") return std::atan2;
  return name == "copysign" ? static_cast<double (*)(double, double)>(std::copysign) : nullptr;
}

bool (*find_question(std::string_view name))(double) {
  if (name == "isnan") return [](double x) { return std::isnan(x); };
  if (name == "isinf") return [](double x) { return std::isinf(x); };
  if (name == "isfinite") return [](double x) { return std::isfinite(x); };
  return nullptr;
}

// math.log(x, base)
AbstractValue logarithm(const ValueCall& call) {
  const auto *value = call[0].get_if<Complex>(), *base = call[1].get_if<Complex>();
  if (value == nullptr && base == nullptr)
    return {std::log(real_argument(call, 0)) / std::log(real_argument(call, 1))};
  const Complex dividend = value != nullptr ? std::log(*value) : Complex(std::log(real_argument(call, 0)), 0);
  if (base != nullptr) return {arithmetic::complex_quotient(dividend, std::log(*base))};
  const double divisor = std::log(real_argument(call, 1));
  return {Complex(dividend.real() / divisor, dividend.imag() / divisor)};
}

}  // namespace

Results math_function(const ValueCall& call) {
  const std::string_view name = without_namespace(call.args.name());
  const auto* complex = call[0].get_if<Complex>();
  if (const auto question = find_question(name)) {
    if (complex == nullptr) return {{question(real_argument(call, 0))}};
    const bool a = question(complex->real()), b = question(complex->imag());
    return {{name == "isfinite" ? a && b : a || b}};
  }
  if (const auto of_two = find_function_of_two(name))
    return {{of_two(real_argument(call, 0), real_argument(call, 1))}};
  if (name == "log" && call.size() == 2) return {logarithm(call)};
  if (name == "angle" && complex != nullptr) return {{std::arg(*complex)}};
  if (name == "polar") {
    const double length = real_argument(call, 0), theta = real_argument(call, 1);
    return {{Complex(length * std::cos(theta), length * std::sin(theta))}};
  }
  if (name == "frexp") {
    int exponent = 0;
    const double fraction = std::frexp(real_argument(call, 0), &exponent);
    return {{fraction}, {SymInt(exponent)}};
  }
  // LibTorch truncates the exponent to 32 bits.
  if (name == "ldexp")
    return {{std::ldexp(real_argument(call, 0), static_cast<std::int32_t>(whole(call, 1)))}};
  if (name == "modf") {
    double part = 0;
    const double fraction = std::modf(real_argument(call, 0), &part);
    return {{fraction}, {part}};
  }
  const Function* function = find_function(name);
  need(function != nullptr);
  if (complex == nullptr) return {{function->of_real(real_argument(call, 0))}};
  need(function->of_complex != nullptr);
  return {{function->of_complex(*complex)}};
}

// Value rules of lists: items, slices and concatenation.

namespace {

const AbstractValue::Sequence& list(const ValueCall& call) {
  const auto* items = call[0].sequence();
  need(items != nullptr);
  return *items;
}

// Returns an integer argument that is a literal; nothing for None.
std::optional<std::int64_t> literal(const ValueCall& call, std::size_t i) {
  if (call.args.values().type(i).kind == ValueType::Kind::kNone) return std::nullopt;
  need(call.args.values().is_literal(i));
  return whole(call, i);
}

}  // namespace

std::optional<Results> joined_lists(const ValueCall& call) {
  const auto *items = call[0].sequence(), *more = call[1].sequence();
  if (items == nullptr || more == nullptr) return std::nullopt;
  need(items->size() + more->size() <= kMostItems);
  AbstractValue::Sequence joined = *items;
  joined.insert(joined.end(), more->begin(), more->end());
  return {{{std::move(joined)}}};
}

Results item_of_list(const ValueCall& call) {
  need(call.size() == 2 && call.args.values().is_literal(1));
  const auto place = find_position(std::ssize(list(call)), whole(call, 1));
  need(place.has_value());
  return {list(call)[*place]};
}

Results part_of_list(const ValueCall& call) {
  need(call.size() == 4);
  const auto step = literal(call, 3);
  need(step && *step != 0);
  AbstractValue::Sequence part;
  for_each_position(slice_of(std::ssize(list(call)), literal(call, 1), literal(call, 2), *step),
                    [&](std::size_t place) { part.push_back(list(call)[place]); });
  return {{std::move(part)}};
}

// list(xs), xs.copy()
Results same_list(const ValueCall& call) {
  need(call.size() == 1);
  return {{list(call)}};
}

}  // namespace fxtrace::internal::values
