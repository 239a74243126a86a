#include "symbolic/expression.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "support/text/unicode.h"
#include "symbolic/polynomial.h"
#include "symbolic/python_operators.h"

namespace fxtrace::internal {
namespace {

const PythonOperator& symbol_of(std::string_view text) {
  const PythonOperator* found = operator_of_symbol(text);
  if (found == nullptr) throw std::logic_error("not an operator of Python: " + std::string(text));
  return *found;
}

Precedence precedence_of(const SymInt& size) {
  using enum Precedence;
  if (const auto number = size.number()) return *number < 0 ? kUnary : kPrimary;
  const auto terms = symbolic::terms_of(size);
  if (terms.size() > 1) return kSum;
  const symbolic::Term& term = terms.front();
  if (term.coefficient < 0) return kUnary;
  if (term.coefficient != 1) return kProduct;
  if (term.atoms.size() == 1) {
    const auto kind = term.atoms.front()->kind;
    const bool is_quotient = kind == symbolic::AtomKind::kFloorDiv || kind == symbolic::AtomKind::kMod;
    return is_quotient ? kProduct : kPrimary;
  }
  const bool is_power = std::all_of(term.atoms.begin(), term.atoms.end(),
                                    [&](const auto& atom) { return same_atom(atom, term.atoms.front()); });
  return is_power ? kPower : kProduct;
}

}  // namespace

// --- making ---

Expression::Expression(Kind kind, std::string name, std::vector<Expression> parts, double number)
    : node_(std::make_shared<const Node>(Node{kind, std::move(name), number, std::move(parts)})) {}

Expression Expression::floating(double number) { return {Kind::kFloat, "", {}, number}; }
Expression Expression::none() { return {Kind::kConstant, "None", {}}; }
Expression Expression::boolean(bool value) { return {Kind::kConstant, value ? "True" : "False", {}}; }
Expression Expression::text_literal(std::string text) { return {Kind::kText, std::move(text), {}}; }
Expression Expression::name(std::string name) {
  try {
    return SymInt::symbol(name);
  } catch (const SymbolicError&) {
    return variable(std::move(name));
  }
}

Expression Expression::variable(std::string name) { return {Kind::kVerbatim, std::move(name), {}}; }

Expression Expression::keys_in_order(const Expression& dict, std::vector<Expression> keys) {
  return comparison("==", call(name("list"), {dict}), sequence(Kind::kList, std::move(keys)));
}

Expression Expression::keys_in_any_order(const Expression& dict, std::vector<Expression> keys) {
  const auto is_text = [](const Expression& key) { return key.kind() == Kind::kText; };
  const auto is_number = [](const Expression& key) { return key.number().has_value(); };
  if (keys.size() < 2) return keys_in_order(dict, std::move(keys));
  if (std::ranges::all_of(keys, is_text)) {
    std::ranges::sort(keys, {}, [](const Expression& key) { return key.name(); });
  } else if (std::ranges::all_of(keys, is_number)) {
    std::ranges::sort(keys, {}, [](const Expression& key) { return *key.number(); });
  } else {
    return keys_in_order(dict, std::move(keys));
  }
  return comparison("==", call(name("sorted"), {dict}), sequence(Kind::kList, std::move(keys)));
}

Expression Expression::negative(Expression value) {
  if (const SymInt* size = value.size()) {
    try {
      return -*size;
    } catch (const SymbolicError&) {
    }
  }
  return {Kind::kNegative, "", {std::move(value)}};
}

Expression Expression::negation(Expression value) {
  if (value.kind() == Kind::kNot) return value.parts().front();
  if (value.kind() == Kind::kConstant && value.name() != "None") return boolean(value.name() == "False");
  if (value.kind() == Kind::kComparison) {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kOpposite{
        {{"==", "!="}, {"!=", "=="}, {"is", "is not"}, {"is not", "is"}}};
    const auto* found =
        std::ranges::find(kOpposite, value.name(), &std::pair<std::string_view, std::string_view>::first);
    if (found != kOpposite.end()) {
      return {Kind::kComparison, std::string(found->second), value.parts()};
    }
  }
  return {Kind::kNot, "", {std::move(value)}};
}

Expression Expression::binary(std::string symbol, Expression left, Expression right) {
  const PythonOperator& op = symbol_of(symbol);
  if (op.precedence == Precedence::kCompared)
    return comparison(std::move(symbol), std::move(left), std::move(right));
  const SymInt* a = left.size();
  const SymInt* b = right.size();
  const bool is_polynomial = op.precedence == Precedence::kSum || op.precedence == Precedence::kProduct;
  if (a != nullptr && b != nullptr && is_polynomial && op.operation != nullptr &&
      op.operation->sizes != nullptr) {
    try {
      return op.operation->sizes(*a, *b);
    } catch (const SymbolicError&) {
    }
  }
  return {Kind::kBinary, std::move(symbol), {std::move(left), std::move(right)}};
}

Expression Expression::comparison(std::string symbol, Expression left, Expression right) {
  if (left.number() && right.number()) {
    if (const auto relation = symbol_of(symbol).relation)
      return boolean(holds(*relation, *left.number() <=> *right.number()));
  }
  return {Kind::kComparison, std::move(symbol), {std::move(left), std::move(right)}};
}
Expression Expression::comparison(Relation relation, Expression left, Expression right) {
  return comparison(std::string(to_string(relation)), std::move(left), std::move(right));
}
Expression Expression::all(std::vector<Expression> parts) {
  if (parts.size() == 1) return parts.front();
  std::erase_if(parts, [](const Expression& part) { return part == boolean(true); });
  if (parts.empty()) return boolean(true);
  if (parts.size() == 1) return parts.front();
  // a < b < c is a conjunction that has no parentheses in another one.
  std::vector<Expression> flat;
  for (Expression& part : parts) {
    if (part.kind() == Kind::kAnd) {
      flat.insert(flat.end(), part.parts().begin(), part.parts().end());
    } else {
      flat.push_back(std::move(part));
    }
  }
  return {Kind::kAnd, "", std::move(flat)};
}
Expression Expression::any(std::vector<Expression> parts) {
  if (parts.size() == 1) return parts.front();
  std::erase_if(parts, [](const Expression& part) { return part == boolean(false); });
  if (parts.empty()) return boolean(false);
  if (parts.size() == 1) return parts.front();
  return {Kind::kOr, "", std::move(parts)};
}
Expression Expression::call(Expression function, std::vector<Expression> arguments) {
  arguments.insert(arguments.begin(), std::move(function));
  return {Kind::kCall, "", std::move(arguments)};
}
Expression Expression::keyword(std::string name, Expression value) {
  return {Kind::kKeyword, std::move(name), {std::move(value)}};
}
Expression Expression::attribute(Expression object, std::string name) {
  return {Kind::kAttribute, std::move(name), {std::move(object)}};
}
Expression Expression::method(Expression object, std::string name, std::vector<Expression> arguments) {
  return call(attribute(std::move(object), std::move(name)), std::move(arguments));
}
Expression Expression::item(Expression object, Expression index) {
  return {Kind::kItem, "", {std::move(object), std::move(index)}};
}
Expression Expression::sequence(Kind kind, std::vector<Expression> parts) {
  return {kind, "", std::move(parts)};
}
Expression Expression::binding(std::string name, Expression value) {
  return {Kind::kBinding, std::move(name), {std::move(value)}};
}

// --- queries ---

const std::string& Expression::name() const {
  if (node_ == nullptr) throw std::logic_error("a size has no name");
  return node_->name;
}
const std::vector<Expression>& Expression::parts() const {
  if (node_ == nullptr) throw std::logic_error("a size has no parts");
  return node_->parts;
}
std::optional<Relation> Expression::relation() const {
  if (kind() != Kind::kComparison || parts()[0].size() == nullptr || parts()[1].size() == nullptr) {
    return std::nullopt;
  }
  return symbol_of(name()).relation;
}
bool Expression::operator==(const Expression& other) const {
  if (node_ == nullptr && other.node_ == nullptr) return size_ == other.size_;
  return node_ == other.node_ || text() == other.text();
}

Expression Expression::map_sizes(const std::function<SymInt(const SymInt&)>& f) const {
  return replace([&](const Expression& part) {
    return part.size() == nullptr ? std::nullopt : std::optional<Expression>(f(*part.size()));
  });
}

Expression Expression::replace(const std::function<std::optional<Expression>(const Expression&)>& f) const {
  if (auto other = f(*this)) return *std::move(other);
  if (node_ == nullptr) return *this;
  std::vector<Expression> parts;
  parts.reserve(node_->parts.size());
  for (const Expression& part : node_->parts) parts.push_back(part.replace(f));
  if (node_->kind == Kind::kBinary) return binary(node_->name, std::move(parts[0]), std::move(parts[1]));
  if (node_->kind == Kind::kNegative) return negative(std::move(parts[0]));
  return {node_->kind, node_->name, std::move(parts), node_->number};
}

// --- printing ---

class Expression::Printer {
  using enum Precedence;

 public:
  std::string take_result() { return std::move(text_); }

  void print(const Expression& value, Precedence at_least = kDisjunction) {
    const Precedence own = precedence(value);
    const bool enclosed = own < at_least;
    if (enclosed) text_ += '(';
    bare(value);
    if (enclosed) text_ += ')';
  }

 private:
  static Precedence precedence(const Expression& value) {
    switch (value.kind()) {
      case Kind::kSize:
        return precedence_of(value.size_);
      case Kind::kFloat:
        return std::signbit(value.node_->number) ? kUnary : kPrimary;
      case Kind::kNegative:
        return kUnary;
      case Kind::kNot:
        return kInversion;
      case Kind::kBinary:
        return symbol_of(value.name()).precedence;
      case Kind::kComparison:
        return kCompared;
      case Kind::kAnd:
        return kConjunction;
      case Kind::kOr:
        return kDisjunction;
      case Kind::kBinding:
        return kWalrus;
      default:
        return kPrimary;
    }
  }

  void bare(const Expression& value) {
    if (const SymInt* size = value.size()) {
      text_ += size->text();
      return;
    }
    const Node& node = *value.node_;
    const auto& parts = node.parts;
    switch (node.kind) {
      case Kind::kFloat:
        text_ += python_float(node.number);
        break;
      case Kind::kText:
        text_ += python_text_literal(node.name);
        break;
      case Kind::kNegative:
        text_ += '-';
        print(parts[0], kUnary);
        break;
      case Kind::kNot:
        text_ += "not ";
        print(parts[0], kInversion);
        break;
      case Kind::kBinary: {
        const Precedence own = precedence(value);
        const std::string_view space = own < kSum ? " " : "";
        print(parts[0], own == kPower ? kPrimary : own);
        text_.append(space).append(node.name).append(space);
        print(parts[1], own == kPower ? kUnary : tighter_than(own));
        break;
      }
      case Kind::kComparison:
        print(parts[0], kBitOr);
        text_ += " " + node.name + " ";
        print(parts[1], kBitOr);
        break;
      case Kind::kAnd:
        conjunction(parts);
        break;
      case Kind::kOr:
        joined(parts, 0, " or ", kConjunction);
        break;
      case Kind::kCall:
        print(parts[0], kPrimary);
        text_ += '(';
        joined(parts, 1, ", ", kDisjunction);
        text_ += ')';
        break;
      case Kind::kKeyword:
        text_ += node.name + "=";
        print(parts[0]);
        break;
      case Kind::kAttribute: {
        // Python reads 1.real as a malformed number, so a number is enclosed in parentheses.
        const bool is_number = parts[0].number().has_value();
        if (is_number) text_ += '(';
        print(parts[0], kPrimary);
        text_ += (is_number ? ")." : ".") + node.name;
        break;
      }
      case Kind::kItem:
        print(parts[0], kPrimary);
        text_ += '[';
        print(parts[1]);
        text_ += ']';
        break;
      case Kind::kSlice:
        slice(parts);
        break;
      case Kind::kList:
        text_ += '[';
        joined(parts, 0, ", ", kDisjunction);
        text_ += ']';
        break;
      case Kind::kTuple:
        text_ += '(';
        joined(parts, 0, ", ", kDisjunction);
        text_ += parts.size() == 1 ? ",)" : ")";
        break;
      case Kind::kDict:
        text_ += '{';
        for (std::size_t i = 0; i + 1 < parts.size(); i += 2) {
          if (i > 0) text_ += ", ";
          print(parts[i]);
          text_ += ": ";
          print(parts[i + 1]);
        }
        text_ += '}';
        break;
      case Kind::kBinding:
        text_ += node.name + " := ";
        print(parts[0]);
        break;
      default:
        text_ += node.name;
    }
  }

  // Writes a <= b and b <= c as a <= b <= c.
  void conjunction(const std::vector<Expression>& parts) {
    const auto is_comparison = [](const Expression& part) { return part.kind() == Kind::kComparison; };
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const bool goes_on = i > 0 && is_comparison(parts[i - 1]) && is_comparison(parts[i]) &&
                           parts[i - 1].parts()[1] == parts[i].parts()[0];
      if (goes_on) {
        text_ += " " + parts[i].name() + " ";
        print(parts[i].parts()[1], kBitOr);
      } else {
        if (i > 0) text_ += " and ";
        print(parts[i], kInversion);
      }
    }
  }

  void slice(const std::vector<Expression>& parts) {
    const auto part = [&](std::size_t i) {
      const bool is_none = parts[i].kind() == Kind::kConstant && parts[i].name() == "None";
      if (!is_none) print(parts[i]);
      return !is_none;
    };
    part(0);
    text_ += ':';
    part(1);
    const std::size_t before = text_.size();
    text_ += ':';
    if (!part(2)) text_.resize(before);
  }

  void joined(const std::vector<Expression>& parts, std::size_t from, std::string_view between,
              Precedence each) {
    for (std::size_t i = from; i < parts.size(); ++i) {
      if (i > from) text_ += between;
      print(parts[i], each);
    }
  }

  std::string text_;
};

std::string Expression::text() const {
  if (node_ == nullptr) return size_.text();
  Printer printer;
  printer.print(*this);
  return printer.take_result();
}

std::string python_float(double number) {
  if (std::isnan(number)) return "float(\"nan\")";
  if (std::isinf(number)) return number > 0 ? "float(\"inf\")" : "float(\"-inf\")";
  std::array<char, 32> buffer{};
  const auto written = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
  std::string text(buffer.data(), written.ptr);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string python_text_literal(std::string_view text) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  const char quote = has_single && text.find('"') == std::string_view::npos ? '"' : '\'';
  std::string result(1, quote);
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == quote || c == '\\') {
      result += {'\\', c};
    } else if (code < 0x20 || code == 0x7f) {
      result += escaped(code);
    } else {
      result += c;
    }
  }
  return result + quote;
}

}  // namespace fxtrace::internal
