#include "opinfo/python_spelling.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <map>
#include <unordered_map>
#include <utility>

#include "opinfo/operator_row.h"
#include "support/text/words.h"

namespace fxtrace::internal {
namespace {

bool has_tensor(const Schema& schema) {
  return std::any_of(schema.arguments.begin(), schema.arguments.end(), [](const SchemaArgument& argument) {
    const SchemaType& type = argument.type.required();
    return (type.is_list() ? type.parts.front() : type).name == "Tensor";
  });
}

// Returns whether an argument has a type variable: torch.ops takes no values for such arguments.
bool takes_any_type(const Schema& schema) {
  const std::function<bool(const SchemaType&)> has_variable = [&](const SchemaType& type) {
    return type.is_variable() || std::any_of(type.parts.begin(), type.parts.end(), has_variable);
  };
  return std::any_of(schema.arguments.begin(), schema.arguments.end(),
                     [&](const SchemaArgument& argument) { return has_variable(argument.type); });
}

}  // namespace

PythonTarget python_target(std::string_view base_name, std::string_view overload, const Schema& schema) {
  const auto colon = base_name.find("::");
  const std::string_view space = base_name.substr(0, colon);
  const std::string_view base = base_name.substr(colon + 2);
  const bool aten = space == "aten";
  const bool prim = space == "prim";
  if (aten || prim) {
    const OperatorFacts& facts = facts_of(base_name);
    const auto has = [&](Traits trait) { return (facts.traits & trait) != 0; };
    if (!facts.python.empty()) return {std::string(facts.python), TargetForm::kSame};
    if (has(traits::kAttribute)) return {std::string(base), TargetForm::kAttribute};
    if (!has_tensor(schema)) {
      const std::string first = schema.arguments.empty() ? "" : schema.arguments[0].type.name;
      const std::string result = schema.results.empty() ? "" : schema.results[0].name;
      if (base_name == "aten::slice") return {"operator.getitem", TargetForm::kSlice};
      if (base_name == "aten::copy" && first == "Dict") return {"builtins.dict", TargetForm::kSame};
      if (base_name == "aten::append") return {"operator.iadd", TargetForm::kExtendOne};
      if (base_name == "aten::pow" && result == "float") return {"math.pow", TargetForm::kSame};
      // A method of str counts characters, an operator bytes.
      if (first == "str" && has(traits::kTextMethod)) return operator_target(base_name, overload, schema);
      if (!facts.on_values.empty()) return {std::string(facts.on_values), TargetForm::kSame};
      if (has(traits::kMathFunction) && result != "complex") {
        return {"math." + std::string(base), TargetForm::kSame};
      }
      if (aten && first == "str" && !has(traits::kPlain))
        return {std::string(base), TargetForm::kUnsupported};
      const bool container = first == "List" || first == "Dict";
      if (aten && container && schema.writes()) return {std::string(base), TargetForm::kUnsupported};
      if (base_name == "aten::items" || base_name == "aten::values") {
        return {std::string(base), TargetForm::kUnsupported};
      }
    }
  }
  return operator_target(base_name, overload, schema);
}

PythonTarget operator_target(std::string_view base_name, std::string_view overload, const Schema& schema) {
  const auto colon = base_name.find("::");
  const std::string base(base_name.substr(colon + 2));
  if (takes_any_type(schema) || schema.is_variadic) return {base, TargetForm::kUnsupported};
  return {std::string(base_name.substr(0, colon)) + "." + base + "." +
              (overload.empty() ? "default" : std::string(overload)),
          TargetForm::kOperator};
}

std::string_view python_function(std::string_view target) {
  static const auto functions = [] {
    std::map<std::string, std::string, std::less<>> found;
    for (const Operator& op : registered_operators()) {
      const Schema schema = op.schema();
      const auto is_plain = [](const SchemaArgument& argument) {
        return has_word("int float bool Scalar complex str", argument.type.innermost().name);
      };
      if (schema.arguments.empty() || !std::ranges::all_of(schema.arguments, is_plain)) continue;
      PythonTarget python = python_target(op.base_name(), op.overload(), schema);
      if (python.form == TargetForm::kSame) found.emplace(op.target(), std::move(python.name));
    }
    return found;
  }();
  const auto function = functions.find(target);
  return function == functions.end() ? target : std::string_view(function->second);
}

std::string operator_of_python(std::string_view target) {
  static const auto operators = [] {
    std::unordered_map<std::string_view, std::string> found;
    for_each_row([&](std::string_view name, const OperatorFacts& facts) {
      const std::string whole =
          (name.find("::") == std::string_view::npos ? "aten::" : "") + std::string(name);
      const auto has_side_effect = [](const Operator& op) { return has_trait(&op, traits::kSideEffect); };
      if (std::ranges::any_of(overloads(whole), has_side_effect)) return;
      for (const std::string_view python : {facts.on_values, facts.python}) {
        if (python.empty()) continue;
        const auto rank = [&](std::string_view op) {
          return std::pair(!python.ends_with("." + std::string(op.substr(op.find("::") + 2))), op);
        };
        std::string& best = found[python];
        if (best.empty() || rank(whole) < rank(best)) best = whole;
      }
    });
    return found;
  }();
  const auto found = operators.find(target);
  return found == operators.end() ? std::string() : found->second;
}

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kExact = 9007199254740992.0;          // 2^53: integers up to it are exact as floats
constexpr double kIntegerEnd = 9223372036854775808.0;  // 2^63
// Ends are rounded to floats: results up to half of the range surely fit.
constexpr double kSurelyFits = kIntegerEnd / 2;
constexpr double kBits = 63;

NumberRange between(std::initializer_list<double> ends) {
  for (const double end : ends) {
    if (std::isnan(end)) return {};
  }
  return {std::min(ends), std::max(ends)};
}

NumberRange sum(const NumberRange& a, const NumberRange& b) {
  return between({a.low + b.low, a.high + b.high});
}
NumberRange negative(const NumberRange& a) { return {-a.high, -a.low}; }
NumberRange product(const NumberRange& a, const NumberRange& b) {
  if (!a.is_finite() || !b.is_finite()) return {};
  return between({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
}
NumberRange quotient(const NumberRange& a, const NumberRange& b) {
  const bool may_be_zero = b.low <= 0 && b.high >= 0;
  if (!a.is_finite() || !b.is_finite() || may_be_zero) return {};
  return between({a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high});
}
NumberRange magnitude(const NumberRange& a) {
  const double most = std::max(std::abs(a.low), std::abs(a.high));
  return {a.low > 0 ? a.low : a.high < 0 ? -a.high : 0, most};
}

// Returns the range of the results of a function that never decreases.
template <typename Function>
NumberRange rising(const NumberRange& a, const Function& function) {
  return a.is_finite() ? between({function(a.low), function(a.high)}) : NumberRange{};
}

NumberRange of_two(std::string_view name, const NumberRange& a, const NumberRange& b) {
  if (name == "operator.add") return sum(a, b);
  if (name == "operator.sub") return sum(a, negative(b));
  if (name == "operator.mul") return product(a, b);
  if (name == "operator.truediv") return quotient(a, b);
  if (name == "operator.floordiv") return rising(quotient(a, b), [](double x) { return std::floor(x); });
  if (name == "operator.mod" && b.low > 0) return {0, b.high};
  if (name == "builtins.min") return {std::min(a.low, b.low), std::min(a.high, b.high)};
  if (name == "builtins.max") return {std::max(a.low, b.low), std::max(a.high, b.high)};
  if (name == "math.pow" && a.low >= 0 && b.low >= 0)
    return between({0, 1, std::pow(a.high, b.high), std::pow(a.high, b.low)});
  return {};
}

NumberRange of_one(std::string_view name, const NumberRange& a) {
  if (name == "operator.neg") return negative(a);
  if (name == "builtins.abs" || name == "math.fabs") return magnitude(a);
  if (name == "math.floor") return rising(a, [](double x) { return std::floor(x); });
  if (name == "math.ceil") return rising(a, [](double x) { return std::ceil(x); });
  if (name == "builtins.int") return rising(a, [](double x) { return std::trunc(x); });
  if (name == "builtins.float") return a;
  if (name == "math.sqrt" && a.low >= 0) return rising(a, [](double x) { return std::sqrt(x); });
  return {};
}

bool is_list_of(const SchemaType& type, std::string_view elements) {
  return type.is_list() && has_word(elements, type.parts.front().name);
}

// Returns whether an integer, as a float, may be another number.
bool is_rounded(const SchemaArgument& argument, const NumberRange& range) {
  return argument.type.name == "int" && !range.is_size && !range.is_within(-kExact, kExact);
}

// Operators of which the first argument is a string, and for which Python gives the same although it counts
// characters where TorchScript counts bytes.
constexpr std::string_view kSameOnTexts =
    "aten::add aten::eq aten::ne aten::lt aten::le aten::gt aten::ge aten::__contains__ aten::str";

// Math functions that never raise in Python, and round like those of C++.
constexpr std::string_view kSameFunctions =
    "aten::isnan aten::isinf aten::isfinite aten::fabs aten::copysign";

}  // namespace

bool NumberRange::is_finite() const { return std::isfinite(low) && std::isfinite(high); }

NumberRange range_of_type(std::string_view type) {
  if (type == "int") return {-kIntegerEnd, kIntegerEnd};
  return type == "bool" ? NumberRange{0, 1} : NumberRange{};
}

NumberRange range_of_number(double number) {
  constexpr double kSmall = 2147483648.0;  // 2^31
  if (!std::isfinite(number)) return {};
  return {number, number, std::abs(number) <= kSmall};
}

NumberRange range_of_size() { return {0, kExact, true}; }

NumberRange range_of_result(std::string_view python, std::string_view type,
                            std::span<const NumberRange> ranges) {
  NumberRange result = ranges.size() == 2   ? of_two(python, ranges[0], ranges[1])
                       : ranges.size() == 1 ? of_one(python, ranges[0])
                                            : NumberRange{};
  result.is_size = !ranges.empty() && std::ranges::all_of(ranges, &NumberRange::is_size);
  const NumberRange all = range_of_type(type);
  const double most = result.is_size && type == "int" ? kExact : all.high;
  result.low = std::clamp(result.low, -most, most);
  result.high = std::clamp(result.high, -most, most);
  return result;
}

bool differs_in_python(std::string_view base_name, const Schema& schema,
                       std::span<const NumberRange> ranges) {
  const auto& arguments = schema.arguments;
  if (arguments.empty() || ranges.size() < arguments.size()) return false;
  const std::string_view name = base_name.substr(base_name.find("::") + 2);
  const auto type = [&](std::size_t i) -> std::string_view { return arguments[i].type.name; };
  const auto any = [&](const auto& holds) {
    return std::ranges::any_of(arguments, [&](const SchemaArgument& each) { return holds(each.type); });
  };
  const bool are_integers = std::ranges::all_of(arguments, [](const SchemaArgument& each) {
    return each.type.name == "int" || each.type.name == "bool";
  });
  if (type(0) == "str") return !has_word(kSameOnTexts, base_name);
  const bool is_complex = any([](const SchemaType& each) { return each.name == "complex"; });
  // What a tensor without a known dtype gave: only integers beyond 2**53 compare otherwise.
  if (has_word("eq ne lt le gt ge", name) && !is_complex && type(0) == "Scalar") return false;
  if (is_complex || any([](const SchemaType& each) { return each.name == "Scalar"; })) return true;
  // Python takes nan for equal to itself in a list, adds integers without bounds, and compares otherwise.
  if (any([](const SchemaType& each) { return is_list_of(each, "float complex Scalar"); })) return true;
  if (any([](const SchemaType& each) { return each.is_list(); })) return name == "sum";
  const NumberRange &a = ranges.front(), &b = ranges[arguments.size() > 1 ? 1 : 0];
  const bool are_sizes = a.is_size && b.is_size;
  const auto fits = [&](const NumberRange& result) {
    return are_sizes || result.is_within(-kSurelyFits, kSurelyFits);
  };
  const auto is_any = [&](std::string_view names) { return has_word(names, name); };

  if (name == "add") return are_integers && !fits(sum(a, b));
  if (name == "sub") return are_integers && !fits(sum(a, negative(b)));
  if (name == "mul") return are_integers && !fits(product(a, b));
  if (is_any("neg abs")) return are_integers && !a.is_size && a.low <= -kIntegerEnd;
  if (name == "div") {
    const bool may_be_zero = b.low <= 0 && b.high >= 0;
    return may_be_zero || !b.is_finite() || is_rounded(arguments[0], a) || is_rounded(arguments[1], b);
  }
  // Both raise for 0.  TorchScript adds the divisor to a remainder that may be nearly as large.
  if (name == "floordiv") return !are_integers;
  if (is_any("remainder divmod"))
    return !are_integers || (!b.is_size && !b.is_within(-kSurelyFits / 2, kSurelyFits / 2));
  if (is_any("eq ne lt le gt ge")) {
    if (are_integers || (type(0) == "float" && type(1) == "float")) return false;
    return is_rounded(arguments[0], a) || is_rounded(arguments[1], b);
  }
  if (is_any("__lshift__ __rshift__")) {
    if (!b.is_within(0, kBits - 1)) return true;
    return name == "__lshift__" &&
           !product(a, {1, std::ldexp(1, static_cast<int>(b.high))}).is_within(-kSurelyFits, kSurelyFits);
  }
  if (is_any("min max")) return !are_integers;
  if (name == "Int") return type(0) == "float" && !a.is_within(-kSurelyFits, kSurelyFits);
  if (name == "floor" && are_integers) return is_rounded(arguments[0], a);  // computed as a float
  if (is_any("floor ceil")) return !are_integers && !a.is_within(-kSurelyFits, kSurelyFits);
  if (name == "sqrt") return !(a.low >= 0);
  if (is_any("log log10")) return arguments.size() != 1 || !(a.low > 0) || !a.is_finite();
  if (name == "pow") {
    const bool is_defined = a.low > 0 || (a.low >= 0 && b.low >= 0);
    return !is_defined || !a.is_finite() || !b.is_finite() || is_rounded(arguments[0], a) ||
           !std::isfinite(std::pow(std::max(a.high, 1 / std::max(a.low, 1e-300)), magnitude(b).high));
  }
  if (name == "gcd") return a.low <= -kIntegerEnd || b.low <= -kIntegerEnd;
  if (name == "chr") return !a.is_within(0, 127);
  if (name == "mathremainder") return true;
  const bool is_math_function = (facts_of(base_name).traits & traits::kMathFunction) != 0;
  return is_math_function && !has_word(kSameFunctions, base_name);
}

}  // namespace fxtrace::internal
