#include "exported/format/evaluated_text.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>
#include <utility>

#include "support/error.h"
#include "support/json_document.h"
#include "support/text/identifier.h"
#include "support/text/unicode.h"
#include "support/text/words.h"
#include "symbolic/expression.h"

namespace fxtrace::internal {
namespace {

using Kind = Expression::Kind;

constexpr std::size_t kMaxText = 20'000;
constexpr double kMaxBits = 4'096;  // bits of a number that is written, or computed from numbers
constexpr double kMaxPower = 64;    // exponent of a symbol
constexpr double kMaxPowerOfSum = 8;
constexpr double kMaxPrecision = 200;    // of a Float; torch writes 53
constexpr double kMaxTerms = 300;        // of a polynomial, when all products are expanded
constexpr double kMaxWork = 1'000;       // in pairs of terms that one operation of sympy's looks at
constexpr std::size_t kMaxMaximum = 16;  // arguments of Max and Min
constexpr int kMaxGrowths = 1;           // exponentials within each other

struct Refused {
  std::string why;
};

const std::unordered_set<std::string_view>& functions() {
  // The functions that sympy's srepr() and str() write, those of torch.utils._sympy, and those of guards.
  static const std::unordered_set<std::string_view> names = words_of(
      "Abs Add And BitwiseFn_bitwise_and BitwiseFn_bitwise_or BitwiseFn_bitwise_xor CeilDiv CeilToInt "
      "CleanDiv Eq Equality ExprCondPair Float FloatPow FloatTrueDiv FloorDiv FloorToInt Ge GreaterThan Gt "
      "Identity IntTrueDiv Integer IsNonOverlappingAndDenseIndicator ITE LShift Le LessThan Lt Max Min Mod "
      "ModularIndexing Mul Ne Not OpaqueUnaryFn_acos OpaqueUnaryFn_asin OpaqueUnaryFn_atan "
      "OpaqueUnaryFn_cos OpaqueUnaryFn_cosh OpaqueUnaryFn_exp OpaqueUnaryFn_log OpaqueUnaryFn_log2 "
      "OpaqueUnaryFn_sin OpaqueUnaryFn_sinh OpaqueUnaryFn_sqrt OpaqueUnaryFn_tan OpaqueUnaryFn_tanh Or "
      "Piecewise Pow PowByNatural PythonMod RShift Rational RoundDecimal RoundToInt StrictGreaterThan "
      "StrictLessThan Symbol Dummy ToFloat TruncToFloat TruncToInt Unequality Where Xor abs bool ceiling "
      "cast_symbool_to_symint_guardless exp float floor int len log math.ceil math.floor math.sqrt "
      "math.trunc max min round sqrt");
  return names;
}

const std::unordered_set<std::string_view>& dtypes() {
  static const std::unordered_set<std::string_view> names = words_of(
      "torch.float16 torch.float32 torch.float64 torch.bfloat16 torch.complex32 torch.complex64 "
      "torch.complex128 torch.uint8 torch.uint16 torch.uint32 torch.uint64 torch.int8 torch.int16 "
      "torch.int32 torch.int64 torch.bool torch.float8_e4m3fn torch.float8_e5m2 torch.float8_e4m3fnuz "
      "torch.float8_e5m2fnuz");
  return names;
}

// Walks an expression, and refuses it where it is not arithmetic.
class Reading {
 public:
  explicit Reading(bool is_guard) : is_guard_(is_guard) {}

  // Returns the number of bits of the expression's value, for its integral part and sign; nothing where it
  // depends on a symbol.
  std::optional<double> read(const Expression& value) const {
    switch (value.kind()) {
      case Kind::kSize:
        if (const auto number = value.number()) return bits(static_cast<double>(*number));
        return std::nullopt;  // a polynomial
      case Kind::kFloat:
        return bits(value.floating());
      case Kind::kConstant:
        return 1;
      case Kind::kNegative:
      case Kind::kNot:
        return read(value.parts()[0]);
      case Kind::kBinary:
        return binary(value.name(), value.parts()[0], value.parts()[1]);
      case Kind::kComparison:
      case Kind::kAnd:
      case Kind::kOr:
      case Kind::kTuple:
        for (const Expression& part : value.parts()) read(part);
        return std::nullopt;
      case Kind::kCall:
        return call(value);
      case Kind::kAttribute:
      case Kind::kItem:
        if (!is_guard_) break;
        if (dtypes().contains(value.text())) return std::nullopt;
        input(value);
        return std::nullopt;
      default:
        break;
    }
    throw Refused{"contains more than arithmetic"};
  }

  // What sympy has to do for an expression, at most.
  struct Effort {
    double terms = 1;           // of the expanded polynomial
    std::size_t arguments = 1;  // of a Max or Min, as sympy joins those that are within each other
    int growths = 0;            // exponentials and powers of symbols within each other
  };
  Effort effort(const Expression& value) const {
    if (value.kind() == Kind::kSize) return effort(value.text());
    const bool is_call = value.kind() == Kind::kCall, is_operation = value.kind() == Kind::kBinary;
    const std::string name = is_call ? value.parts()[0].text() : value.name();
    if (is_call &&
        (name == "Symbol" || name == "Dummy" || name == "Integer" || name == "Float" || name == "Rational"))
      return {};
    std::vector<Effort> parts;
    for (std::size_t i = is_call ? 1 : 0; i < value.parts().size(); ++i)
      parts.push_back(effort(value.parts()[i]));
    Effort all{1, 1, 0};
    double sum = 0, product = 1, most = 1;
    std::size_t arguments = 0;
    for (const Effort& part : parts) {
      sum += part.terms;
      product *= part.terms;
      most = std::max(most, part.terms);
      arguments += part.arguments;
      all.growths = std::max(all.growths, part.growths);
    }
    if ((is_call && name == "Add") || (is_operation && (name == "+" || name == "-"))) {
      all.terms = within(sum);
    } else if ((is_call && name == "Mul") || (is_operation && name == "*")) {
      all.terms = within(product);
    } else if (is_power(name) && parts.size() == 2) {
      const auto exponent = read(value.parts()[is_call ? 2 : 1]);
      if (!exponent && ++all.growths > kMaxGrowths) throw Refused{"has powers within each other"};
      if (exponent && parts[0].terms > 1)
        all.terms = within(std::pow(parts[0].terms, std::exp2(*exponent) - 1));
    } else if (is_call && (name == "Max" || name == "Min")) {
      all.arguments = arguments;
      const auto count = static_cast<double>(arguments);
      if (arguments > kMaxMaximum || count * count * most > kMaxWork)
        throw Refused{"compares too many values"};
    } else if (is_call && is_exponential(name)) {
      if (++all.growths > kMaxGrowths) throw Refused{"has exponentials within each other"};
    } else if (parts.size() > 1 && product > kMaxWork) {
      throw Refused{"divides or compares polynomials that are too large"};
    }
    return all;
  }

  // Does the same for the expanded text of a polynomial, in which a function may have polynomials as
  // arguments.
  static Effort effort(std::string_view polynomial) {
    constexpr std::size_t kMaxOperators = 100;
    const auto operators = static_cast<std::size_t>(std::ranges::count_if(
        polynomial, [](char c) { return std::string_view("+-*/%,").find(c) != std::string_view::npos; }));
    const bool has_functions = polynomial.find_first_of("/%,") != std::string_view::npos;
    if (has_functions && operators > kMaxOperators)
      throw Refused{"divides or compares polynomials that are too large"};
    return {within(static_cast<double>(operators + 1)), 1, 0};
  }

 private:
  static double within(double terms) {
    if (!(terms <= kMaxTerms)) throw Refused{"has too many terms when it is expanded"};
    return terms;
  }
  static bool is_exponential(std::string_view name) {
    return name == "exp" || name.ends_with("_exp") || name.ends_with("sinh") || name.ends_with("cosh");
  }
  static bool is_power(std::string_view name) {
    return name == "Pow" || name == "PowByNatural" || name == "FloatPow" || name == "**" ||
           name == "LShift" || name == "<<";
  }
  static double bits(double number) { return std::log2(std::abs(number) + 1); }
  static double limited(double bits) {
    if (!(bits <= kMaxBits)) throw Refused{"makes a number that is too large"};
    return bits;
  }

  std::optional<double> binary(std::string_view symbol, const Expression& left,
                               const Expression& right) const {
    static const std::unordered_set<std::string_view> known = words_of("+ - * / // % ** << >> & | ^");
    if (!known.contains(symbol)) throw Refused{"contains more than arithmetic"};
    const auto a = read(left), b = read(right);
    if (symbol == "**") return power(left, a, b);
    if (symbol == "<<") return shifted(a, b);
    if (!a || !b) return std::nullopt;
    return limited(symbol == "*" || symbol == "/" ? *a + *b : std::max(*a, *b) + 1);
  }

  static std::optional<double> power(const Expression& base, std::optional<double> a,
                                     std::optional<double> b) {
    if (!b) {
      if (a) limited(*a);
      return std::nullopt;
    }
    const double exponent = std::exp2(*b);  // a bound on the exponent
    if (a) return limited(*a * exponent);
    const bool is_symbol = base.kind() == Kind::kSize && is_identifier(base.text());
    const bool is_named = base.kind() == Kind::kCall && base.parts()[0].text() == "Symbol";
    if (exponent > (is_symbol || is_named ? kMaxPower : kMaxPowerOfSum) + 1)
      throw Refused{"has a power that is too large"};
    return std::nullopt;
  }

  static std::optional<double> shifted(std::optional<double> a, std::optional<double> b) {
    if (!b) return std::nullopt;
    const double places = std::exp2(*b);
    limited(a.value_or(0) + places);
    return a ? std::optional(*a + places) : std::nullopt;
  }

  std::optional<double> call(const Expression& value) const {
    const auto& parts = value.parts();
    if (is_guard_ && parts[0].kind() == Kind::kAttribute && is_question(parts[0].name())) {
      input(parts[0].parts()[0]);
      for (std::size_t i = 1; i < parts.size(); ++i) {
        if (!parts[i].number())
          throw Refused{"calls a method of an input with an argument that is not a number"};
      }
      return std::nullopt;
    }
    const std::string name = parts[0].text();
    if (!functions().contains(name)) throw Refused{"calls " + name};
    if (name == "Symbol" || name == "Dummy") return symbol(parts);
    if (name == "Float" || name == "Integer" || name == "Rational") return number(parts);
    std::optional<double> sum = 0;
    std::vector<std::optional<double>> each;
    for (std::size_t i = 1; i < parts.size(); ++i) {
      if (parts[i].kind() == Kind::kKeyword) {  // evaluate=False
        if (parts[i].parts()[0].kind() != Kind::kConstant) throw Refused{"calls " + name + " with a keyword"};
        continue;
      }
      each.push_back(read(parts[i]));
      sum = sum && each.back() ? std::optional(*sum + *each.back() + (name == "Mul" ? 0 : 1)) : std::nullopt;
    }
    const bool is_power = name == "Pow" || name == "PowByNatural" || name == "FloatPow";
    if (is_power && each.size() == 2) return power(parts[1], each[0], each[1]);
    if (name == "LShift" && each.size() == 2) return shifted(each[0], each[1]);
    if (is_exponential(name) && !each.empty() && each[0]) return limited(std::exp2(*each[0]) * 1.5);
    if (sum) limited(*sum);
    return sum;
  }

  // Symbol('s77', positive=True, integer=True)
  static std::optional<double> symbol(const std::vector<Expression>& parts) {
    if (parts.size() < 2 || parts[1].kind() != Kind::kText || !is_identifier(parts[1].name()))
      throw Refused{"has a symbol without a name"};
    for (std::size_t i = 2; i < parts.size(); ++i) {
      const bool is_assumption =
          parts[i].kind() == Kind::kKeyword &&
          (parts[i].parts()[0].kind() == Kind::kConstant || parts[i].parts()[0].number().has_value());
      if (!is_assumption) throw Refused{"has a symbol with an argument that is not an assumption"};
    }
    return std::nullopt;
  }

  // Integer(3), Rational(1, 2), Float('1.5', precision=53)
  std::optional<double> number(const std::vector<Expression>& parts) const {
    double largest = 0;
    for (std::size_t i = 1; i < parts.size(); ++i) {
      const Expression& part = parts[i].kind() == Kind::kKeyword ? parts[i].parts()[0] : parts[i];
      const Expression digits = part.kind() == Kind::kText ? Expression::parse(part.name()) : part;
      const bool is_number = digits.number() || digits.kind() == Kind::kFloat ||
                             (digits.kind() == Kind::kNegative && digits.parts()[0].kind() == Kind::kFloat);
      if (!is_number) throw Refused{"has a number with something other than digits"};
      const double size = read(digits).value_or(0);
      const bool is_precision = parts[i].kind() == Kind::kKeyword;
      if (is_precision && size > std::log2(kMaxPrecision + 1)) throw Refused{"asks for too many digits"};
      if (!is_precision) largest = std::max(largest, size);
    }
    return limited(largest);
  }

  static bool is_question(std::string_view name) {
    return name == "size" || name == "stride" || name == "storage_offset" || name == "dim" ||
           name == "numel" || name == "item" || name == "is_contiguous";
  }

  // Checks a reference to an input: L['x'], L['args'][0]['y'].z.  Attributes of modules and tensors are
  // allowed, but not those that begin with an underscore.
  void input(const Expression& value) const {
    const Expression* at = &value;
    for (; at->kind() != Kind::kSize; at = &at->parts()[0]) {
      if (at->kind() == Kind::kItem) {
        const Expression& key = at->parts()[1];
        if (key.kind() != Kind::kText && !key.number()) throw Refused{"has an index that is computed"};
        // torch writes the guard between quotes into the code that it runs, for the message.
        if (key.kind() == Kind::kText && key.name().find_first_of("\"'\\") != std::string::npos)
          throw Refused{"has quotes in a key"};
      } else if (at->kind() == Kind::kAttribute) {
        if (at->name().starts_with('_')) throw Refused{"uses the attribute ." + at->name()};
      } else if (at->kind() == Kind::kCall) {
        read(*at);
        return;
      } else {
        throw Refused{"contains more than arithmetic"};
      }
    }
    if (at->text() != "L") throw Refused{"uses a name other than its inputs"};
  }

  bool is_guard_;
};

std::optional<std::string> problem_of(std::string_view text, bool is_guard) {
  const auto shown = [&](const std::string& why) { return "'" + short_line(text) + "' " + why; };
  if (text.size() > kMaxText) return shown("is too long to check");
  // torch writes a guard between double quotes into the code that it runs, for the message; keys have single
  // ones.
  if (is_guard && text.find('"') != std::string_view::npos) return shown("has a double quote");
  const Expression value = Expression::parse(text);
  try {
    if (value.kind() == Kind::kVerbatim && !is_identifier(text))
      throw Refused{"is not an expression of numbers"};
    if (value.kind() != Kind::kVerbatim) {
      const Reading reading(is_guard);
      reading.read(value);
      if (!is_guard) reading.effort(value);  // Python computes a guard with numbers
    }
  } catch (const Refused& refused) {
    return shown(refused.why);
  }
  return std::nullopt;
}

// Checks the context of a pytree type: pytree imports the class that the key of an enum, or of a defaultdict,
// names.  Keys of arguments stand in a message by their repr(), which escapes all but quotes.
std::optional<std::string> problem_of_context(const JsonValue& value, bool arguments) {
  if (arguments && value.is_string() && value.string().find_first_of("'\"") != std::string_view::npos)
    return "it has the key '" + short_line(value.string()) +
           "', which torch writes into the code of a guard's message";
  static const std::unordered_set<std::string_view> factories =
      words_of("bool bytes dict float frozenset int list set str tuple");
  if (value.is_array()) {
    for (const JsonValue item : value.items()) {
      if (auto problem = problem_of_context(item, arguments)) return problem;
    }
  }
  if (!value.is_object()) return std::nullopt;
  const auto module = value.find("default_factory_module"), name = value.find("default_factory_name");
  const bool is_plain = module && name && module->is_string() && name->is_string() &&
                        module->string() == "builtins" && factories.contains(name->string());
  for (const JsonValue field : value.fields()) {
    if (field.key() == "__enum__") return "it imports the module of an enum";
    if (field.key().starts_with("default_factory") && !field.is_null() && !is_plain)
      return "it imports the factory of a defaultdict";
    if (auto problem = problem_of_context(field, arguments)) return problem;
  }
  return std::nullopt;
}

std::optional<std::string> problem_of_node(const JsonValue& node, bool arguments) {
  if (!node.is_object()) return "it is not a tree";
  for (const JsonValue field : node.fields()) {
    if (field.key() == "children_spec") {
      for (const JsonValue child : field.items()) {
        if (auto problem = problem_of_node(child, arguments)) return problem;
      }
    } else if (field.key() == "context" && field.is_string()) {
      const std::string_view text = field.string();
      // A text that is not JSON is a name, for instance of a named tuple.
      if (text.find_first_of("[{\"") == std::string_view::npos) {
        if (!is_plain_path(text)) return "it has the name '" + short_line(text) + "', which has quotes";
        continue;
      }
      const JsonDocument context(text, "context", {.max_depth = 100});
      if (auto problem = problem_of_context(context.root(), arguments)) return problem;
    } else if (auto problem = problem_of_context(field, arguments)) {
      return problem;
    }
  }
  return std::nullopt;
}

// Returns whether the keyword arguments in a tree of (args, kwargs) have identifiers as names; the context of
// the second child has the names.
bool has_plain_keywords(const JsonValue& tree) {
  const auto children = tree.find("children_spec");
  if (!children) return true;
  std::size_t place = 0;
  for (const JsonValue child : children->items()) {
    const auto context = ++place == 2 && child.is_object() ? child.find("context") : std::nullopt;
    if (!context) continue;
    if (!context->is_string()) return false;
    const JsonDocument keys(context->string(), "context", {.max_depth = 100});
    if (keys.root().kind() == JsonValue::Kind::kNull) continue;
    if (!keys.root().is_array()) return false;
    for (const JsonValue key : keys.root().items()) {
      if (!key.is_string() || !is_identifier(key.string())) return false;
    }
  }
  return true;
}

}  // namespace

std::optional<std::string> problem_of_size_text(std::string_view text) { return problem_of(text, false); }
std::optional<std::string> problem_of_guard_text(std::string_view text) { return problem_of(text, true); }

std::optional<std::string> problem_of_tree_text(std::string_view text, bool arguments) {
  constexpr std::size_t kMaxDepth = 500;
  try {
    const JsonDocument document(text, "tree", {.max_depth = kMaxDepth});
    for (const JsonValue part : document.root().items()) {
      if (!part.is_object()) continue;
      if (auto problem = problem_of_node(part, arguments)) return problem;
      if (arguments && !has_plain_keywords(part))
        return "a keyword argument has a name that is not a Python identifier";
    }
  } catch (const Error& error) {
    return std::string("it cannot be parsed: ") + error.what();
  }
  return std::nullopt;
}

}  // namespace fxtrace::internal
