#include "costs/custom_costs.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "opinfo/rules/shape_helpers.h"
#include "opinfo/rules/shape_rules.h"
#include "support/error.h"
#include "support/integers.h"
#include "support/text/did_you_mean.h"
#include "support/text/numbers.h"
#include "symbolic/python_operators.h"

namespace fxtrace::internal {
namespace {

using Kind = Expression::Kind;

constexpr int kMaxExpressionDepth = 64;
constexpr std::int64_t kMostFactors = 16;  // the limit on exponents

const std::vector<std::string>& functions() {
  static const std::vector<std::string> names{"numel", "len", "min", "max"};
  return names;
}
const std::vector<std::string>& methods() {
  static const std::vector<std::string> names{"numel", "size", "dim"};
  return names;
}
const std::vector<std::string>& attributes() {
  static const std::vector<std::string> names{"shape", "ndim"};
  return names;
}

[[noreturn]] void refuse(const CustomCost& cost, const std::string& what) {
  throw usage_error("--cost " + shell_word(cost.name) + ": " + what,
                    {"a cost is Python over the call: 2*numel(out)*in0.size(-1)"});
}

// Returns the name when the expression is just a name; else an empty text.
std::string plain_name(const Expression& expression) {
  const SymInt* size = expression.size();
  return size == nullptr ? "" : size->symbol_name().value_or("");
}

void check_word(const CustomCost& cost, const char* what, const std::string& word,
                const std::vector<std::string>& known) {
  if (std::ranges::find(known, word) == known.end())
    refuse(cost, std::string("there is no ") + what + " '" + word + "'" + did_you_mean(word, known));
}

void check_expression(const CustomCost& cost, const Expression& expression, int depth) {
  if (depth > kMaxExpressionDepth) refuse(cost, "too many parentheses");
  const auto check = [&](const Expression& part) { check_expression(cost, part, depth + 1); };
  switch (expression.kind()) {
    case Kind::kSize:
      return;
    case Kind::kNegative:
    case Kind::kItem:
      std::ranges::for_each(expression.parts(), check);
      return;
    case Kind::kBinary: {
      static const std::vector<std::string> symbols{"+", "-", "*", "//", "%", "**"};
      if (expression.name() == "/") refuse(cost, "a cost is an integer: write // for /");
      check_word(cost, "operator", expression.name(), symbols);
      std::ranges::for_each(expression.parts(), check);
      return;
    }
    case Kind::kAttribute:
      check_word(cost, "attribute", expression.name(), attributes());
      return check(expression.parts()[0]);
    case Kind::kCall: {
      const Expression& function = expression.parts()[0];
      const std::size_t arguments = expression.parts().size() - 1;
      if (function.kind() == Kind::kAttribute) {
        check_word(cost, "method", function.name(), methods());
        if (arguments != (function.name() == "size" ? 1U : 0U))
          refuse(cost, "'" + expression.text() + "' has a wrong number of arguments");
        check(function.parts()[0]);
      } else {
        const std::string name = plain_name(function);
        check_word(cost, "function", name.empty() ? function.text() : name, functions());
        const bool is_extreme = name == "min" || name == "max";
        if (is_extreme ? arguments < 2 : arguments != 1)
          refuse(cost, "'" + expression.text() + "' has a wrong number of arguments");
      }
      std::ranges::for_each(expression.parts().begin() + 1, expression.parts().end(), check);
      return;
    }
    default:
      refuse(cost, "'" + expression.text() + "' has no meaning in a cost");
  }
}

// Returns the number behind the word in "in0" or "out12"; 0 for "out" alone.
std::optional<std::size_t> number_behind(std::string_view name, std::string_view word) {
  if (!name.starts_with(word)) return std::nullopt;
  if (name == "out") return 0;
  return number_in<std::size_t>(name.substr(word.size()));
}

class Evaluation {
 public:
  explicit Evaluation(const CustomCosts::Call& call) : call_(call) {}

  SymInt integer(const Expression& expression) const {
    const AbstractValue value = this->value(expression);
    const SymInt* integer = value.integer();
    if (integer == nullptr) throw CannotTell{};
    return *integer;
  }

 private:
  AbstractValue value(const Expression& expression) const {
    const auto part = [&](std::size_t i) { return expression.parts().at(i); };
    switch (expression.kind()) {
      case Kind::kSize:
        return of_size(*expression.size());
      case Kind::kNegative:
        return {-integer(part(0))};
      case Kind::kBinary:
        return {binary(expression.name(), integer(part(0)), integer(part(1)))};
      case Kind::kAttribute:
        return expression.name() == "ndim" ? AbstractValue{SymInt(dim(value(part(0))))}
                                           : AbstractValue{sizes(value(part(0)))};
      case Kind::kItem:
        return item(items(value(part(0))), integer(part(1)));
      case Kind::kCall:
        return call(expression);
      default:
        throw CannotTell{};
    }
  }

  AbstractValue named(const std::string& name) const {
    std::optional<AbstractValue> value;
    if (const auto result = number_behind(name, "out")) {
      if (*result < call_.results.size()) value = call_.results[*result];
    } else if (const auto place = number_behind(name, "in")) {
      value = call_.argument(*place);
    } else {
      value = call_.named(name);
    }
    if (!value) throw CannotTell{};
    return std::move(*value);
  }

  AbstractValue of_size(const SymInt& size) const {
    if (size.is_number()) return {size};
    if (const auto name = size.symbol_name()) return named(*name);
    std::map<std::string, SymInt> values;
    for (const std::string& name : size.symbols()) values.emplace(name, integer(Expression::name(name)));
    return {size.substitute(values)};
  }

  static SymInt binary(const std::string& symbol, const SymInt& a, const SymInt& b) {
    if (symbol == "**" && b.number().value_or(kMostFactors + 1) > kMostFactors) throw CannotTell{};
    return operator_of_symbol(symbol)->operation->sizes(a, b);
  }

  static const TensorInfo& tensor(const AbstractValue& value) {
    if (value.tensor() == nullptr) throw CannotTell{};
    return *value.tensor();
  }
  static std::int64_t dim(const AbstractValue& value) {
    return static_cast<std::int64_t>(tensor(value).sizes.size());
  }
  static AbstractValue::Sequence sizes(const AbstractValue& value) {
    AbstractValue::Sequence result;
    for (const SymInt& size : tensor(value).sizes) result.push_back({size});
    return result;
  }
  static AbstractValue::Sequence items(const AbstractValue& value) {
    if (value.sequence() == nullptr) throw CannotTell{};
    return *value.sequence();
  }
  static AbstractValue item(const AbstractValue::Sequence& items, const SymInt& at) {
    const auto place = find_position(std::ssize(items), at.number());
    if (!place) throw CannotTell{};
    return items[*place];
  }

  AbstractValue call(const Expression& expression) const {
    const Expression& function = expression.parts()[0];
    const auto argument = [&](std::size_t i) { return value(expression.parts().at(i + 1)); };
    if (function.kind() == Kind::kAttribute) {
      const AbstractValue of = value(function.parts()[0]);
      if (function.name() == "numel") return {product(tensor(of).sizes)};
      if (function.name() == "dim") return {SymInt(dim(of))};
      return item(sizes(of), integer(expression.parts()[1]));
    }
    const std::string name = plain_name(function);
    if (name == "numel") return {product(tensor(argument(0)).sizes)};
    if (name == "len") {
      const AbstractValue of = argument(0);
      return of.tensor() != nullptr ? item(sizes(of), 0) : AbstractValue{SymInt(std::ssize(items(of)))};
    }
    SymInt result = integer(expression.parts()[1]);
    for (std::size_t i = 2; i < expression.parts().size(); ++i) {
      const SymInt other = integer(expression.parts()[i]);
      result = name == "min" ? min(result, other) : max(result, other);
    }
    return {result};
  }

  const CustomCosts::Call& call_;
};

}  // namespace

CustomCost make_custom_cost(std::string_view name, const std::string& text) {
  CustomCost cost{std::string(name), text};
  const std::size_t colons = name.find("::");
  if (colons == 0 || colons == std::string_view::npos || colons + 2 == name.size())
    throw usage_error("--cost: expected NS::OP=EXPR, got '" + cost.name + "=" + text + "'",
                      {"--cost 'my::op=numel(out)*in0.size(-1)'"});
  check_expression(cost, Expression::parse(text), 0);
  return cost;
}

CustomCost read_custom_cost(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos)
    throw usage_error("--cost: expected NS::OP=EXPR, got '" + text + "'",
                      {"--cost 'my::op=numel(out)*in0.size(-1)'"});
  return make_custom_cost(std::string_view(text).substr(0, equals), text.substr(equals + 1));
}

CustomCosts::CustomCosts(const std::vector<CustomCost>& costs) {
  for (const CustomCost& cost : costs) {
    std::string name = cost.name;
    name.replace(name.find("::"), 2, ".");
    std::erase_if(rules_, [&](const Rule& rule) { return rule.name == name; });
    rules_.push_back({std::move(name), Expression::parse(cost.text)});
  }
}

bool CustomCosts::matches(const Rule& rule, std::string_view target) {
  return target == rule.name || (target.starts_with(rule.name) && target[rule.name.size()] == '.');
}

const CustomCosts::Rule* CustomCosts::find_rule(std::string_view target) const {
  // A rule for one overload takes precedence over a rule for all overloads.
  const Rule* found = nullptr;
  for (const Rule& rule : rules_) {
    if (matches(rule, target) && (found == nullptr || rule.name.size() > found->name.size())) found = &rule;
  }
  return found;
}

std::vector<std::string> CustomCosts::names_without_value(const Rule& rule, std::size_t arguments,
                                                          const std::vector<std::string>& named,
                                                          std::size_t results) {
  std::vector<std::string> missing;
  const auto add = [&](const Expression& expression, const auto& self) -> void {
    if (const SymInt* size = expression.size()) {
      for (const std::string& name : size->symbols()) {
        const auto result = number_behind(name, "out"), place = number_behind(name, "in");
        const bool is_there = result  ? *result < results
                              : place ? *place < arguments
                                      : std::ranges::find(named, name) != named.end();
        if (!is_there) missing.push_back(name);
      }
      return;
    }
    // The name of a function is not a value.
    const bool is_function =
        expression.kind() == Kind::kCall && expression.parts()[0].kind() != Kind::kAttribute;
    for (std::size_t i = is_function ? 1 : 0; i < expression.parts().size(); ++i)
      self(expression.parts()[i], self);
  };
  add(rule.macs, add);
  return missing;
}

Cost CustomCosts::cost(const Rule& rule, const Call& call) {
  Cost cost;
  try {
    cost.macs = Evaluation(call).integer(rule.macs);
  } catch (const CannotTell&) {
    cost.unsized = 1;
  } catch (const SymbolicError&) {
    cost.unsized = 1;
  }
  return cost;
}

}  // namespace fxtrace::internal
