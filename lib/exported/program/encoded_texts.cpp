#include "exported/program/encoded_texts.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/program_operations.h"
#include "support/error.h"
#include "support/json_document.h"
#include "support/text/identifier.h"
#include "symbolic/python_operators.h"

namespace fxtrace::internal {
namespace {

constexpr std::array<std::string_view, 6> kBuiltins{"builtins.dict",           "builtins.list",
                                                    "builtins.tuple",          "collections.OrderedDict",
                                                    "collections.defaultdict", "collections.deque"};
constexpr int kMaxTreeDepth = 100;
constexpr std::size_t kMaxPathParts = 5'000'000;  // the most parts in the paths of all leaves together

Argument key_of(const JsonValue& value) {
  switch (value.kind()) {
    case JsonValue::Kind::kString:
      return std::string(value.string());
    case JsonValue::Kind::kInteger:
      return value.integer();
    case JsonValue::Kind::kNumber:
      return value.number();
    case JsonValue::Kind::kTrue:
    case JsonValue::Kind::kFalse:
      return value.boolean();
    default:
      return Argument::None{};
  }
}

bool are_keys(const JsonValue& list, std::size_t count) {
  std::size_t found = 0;
  for (const JsonValue item : list.items()) {
    if (item.is_array() || item.is_object()) return false;
    ++found;
  }
  return found == count;
}

// Returns the keys of a container whose context is the list of its keys, as for dicts and transformers'
// ModelOutput, or a list that starts with that list, as for dataclasses.  Returns nothing for other types.
std::optional<std::vector<Argument>> keys_of(const JsonValue& context, std::size_t count) {
  if (context.is_object()) {  // defaultdict
    const auto inner = context.find("dict_context");
    return inner ? keys_of(*inner, count) : std::nullopt;
  }
  if (!context.is_array()) return std::nullopt;
  if (are_keys(context, count)) {
    std::vector<Argument> keys;
    for (const JsonValue key : context.items()) keys.push_back(key_of(key));
    return keys;
  }
  for (const JsonValue first : context.items()) {
    if (first.is_array() && are_keys(first, count)) return keys_of(first, count);
    break;
  }
  return std::nullopt;
}

std::optional<std::vector<Argument>> keys_of_node(const JsonValue& node, std::size_t count,
                                                  const std::string& what) {
  const auto context = node.find("context");
  if (!context) return std::nullopt;
  if (!context->is_string()) return keys_of(*context, count);
  const auto text = context->string();
  if (text.empty() || (text.front() != '[' && text.front() != '{')) return std::nullopt;
  const JsonDocument document(text, what);
  return keys_of(document.root(), count);
}

// Returns the fields of a named tuple; nothing when the program lists another number of fields for its type.
std::shared_ptr<const argument::TupleNames> names_of(const JsonValue& node, std::size_t count,
                                                     const TreeSpec::NamedTuples& named_tuples) {
  const auto context = node.find("context");
  if (!context || !context->is_string()) return nullptr;
  const auto known = named_tuples.find(context->string());
  if (known == named_tuples.end() || known->second.size() != count) return nullptr;
  return std::make_shared<argument::TupleNames>(known->first, known->second);
}

TreeSpec read(const JsonValue& node, const std::string& what, const TreeSpec::NamedTuples& named_tuples,
              int depth) {
  if (depth > kMaxTreeDepth)
    node.fail("the tree is more than " + std::to_string(kMaxTreeDepth) + " levels deep");
  TreeSpec spec;
  const auto type = node.find("type");
  if (!type) return spec;  // a leaf
  spec.leaves = 0;
  for (const JsonValue child : node.at("children_spec").items()) {
    spec.children.push_back(read(child, what, named_tuples, depth + 1));
    spec.leaves += spec.children.back().leaves;
  }
  const auto name = type->string();
  spec.is_builtin = std::ranges::find(kBuiltins, name) != kBuiltins.end();
  if (name == "builtins.NoneType" && spec.children.empty()) {
    spec.kind = TreeSpec::Kind::kNone;
  } else if (name == "builtins.list" || name == "collections.deque") {
    spec.kind = TreeSpec::Kind::kList;
  } else {
    spec.kind = TreeSpec::Kind::kTuple;
    const bool is_named = name == "collections.namedtuple";
    if (is_named) spec.names = names_of(node, spec.children.size(), named_tuples);
    const bool is_tuple = is_named || name == "builtins.tuple";
    auto keys = is_tuple ? std::nullopt : keys_of_node(node, spec.children.size(), what);
    if (keys) {
      spec.kind = TreeSpec::Kind::kDict;
      spec.keys = std::move(*keys);
    }
  }
  return spec;
}

class Unflattening {
 public:
  explicit Unflattening(const std::vector<Argument>& leaves) : leaves_(leaves) {}

  Argument build(const TreeSpec& spec) {
    if (spec.kind == TreeSpec::Kind::kLeaf) return leaves_[next_++];
    if (spec.kind == TreeSpec::Kind::kNone) return Argument::None{};
    if (spec.kind == TreeSpec::Kind::kDict) {
      Argument::Dict dict;
      for (std::size_t i = 0; i < spec.children.size(); ++i) {
        dict.items.push_back({spec.keys[i], build(spec.children[i])});
      }
      return dict;
    }
    std::vector<Argument> items;
    for (const TreeSpec& child : spec.children) items.push_back(build(child));
    if (spec.kind == TreeSpec::Kind::kList) return Argument::List{std::move(items)};
    return Argument::Tuple{std::move(items), spec.names};
  }

 private:
  const std::vector<Argument>& leaves_;
  std::size_t next_ = 0;
};

void collect(const TreeSpec& spec, std::vector<Argument>& path, std::vector<std::vector<Argument>>& paths) {
  if (spec.kind == TreeSpec::Kind::kLeaf) {
    if (paths.size() * kMaxTreeDepth > kMaxPathParts)
      throw input_error("the inputs or outputs have too many leaves");
    paths.push_back(path);
    return;
  }
  for (std::size_t i = 0; i < spec.children.size(); ++i) {
    path.push_back(spec.kind == TreeSpec::Kind::kDict ? spec.keys[i]
                                                      : Argument(static_cast<std::int64_t>(i)));
    collect(spec.children[i], path, paths);
    path.pop_back();
  }
}

}  // namespace

TreeSpec TreeSpec::parse(std::string_view text, const std::string& what, const NamedTuples& named_tuples) {
  const JsonDocument document(text, what);
  // [protocol, tree]
  const JsonValue root = document.root();
  std::optional<JsonValue> tree;
  for (const JsonValue item : root.items()) tree = item;
  if (!tree) root.fail("expected a tree");
  return read(*tree, what, named_tuples, 0);
}

Argument TreeSpec::unflatten(const std::vector<Argument>& values) const {
  return Unflattening(values).build(*this);
}

std::vector<std::vector<Argument>> TreeSpec::paths() const {
  std::vector<std::vector<Argument>> result;
  std::vector<Argument> path;
  collect(*this, path, result);
  return result;
}

namespace {

using Kind = Expression::Kind;

// A limit for long texts, as each comma may make the expression one level deeper.
constexpr std::ptrdiff_t kMaxCommas = 2000;

struct Spelling {
  std::string_view sympy, python;
};
constexpr std::array<Spelling, 11> kFunctions{{{"Abs", "abs"},
                                               {"CeilToInt", "math.ceil"},
                                               {"FloorToInt", "math.floor"},
                                               {"Max", "max"},
                                               {"Min", "min"},
                                               {"RoundToInt", "round"},
                                               {"ToFloat", "float"},
                                               {"TruncToFloat", "math.trunc"},
                                               {"TruncToInt", "math.trunc"},
                                               {"ceiling", "math.ceil"},
                                               {"floor", "math.floor"}}};

// Returns the value with the opposite sign, which is written before the first factor.
Expression opposite(const Expression& value) {
  if (value.kind() == Kind::kNegative) return value.parts()[0];
  if (value.kind() == Kind::kBinary && (value.name() == "*" || value.name() == "/"))
    return Expression::binary(value.name(), opposite(value.parts()[0]), value.parts()[1]);
  return Expression::negative(value);
}

Expression sum(const std::vector<Expression>& terms) {
  Expression result = terms.front();
  for (std::size_t i = 1; i < terms.size(); ++i) {
    const Expression& term = terms[i];
    const bool subtracts = term.text().starts_with('-');
    result = Expression::binary(subtracts ? "-" : "+", std::move(result), subtracts ? opposite(term) : term);
  }
  return result;
}

Expression product(const std::vector<Expression>& factors) {
  const bool is_negative = factors.size() > 1 && factors.front().number() == -1;
  Expression result = is_negative ? opposite(factors[1]) : factors[0];
  for (std::size_t i = is_negative ? 2 : 1; i < factors.size(); ++i)
    result = Expression::binary("*", std::move(result), factors[i]);
  return result;
}

// Returns the value of sympy's names that are not symbols: true, false, oo, nan.
Expression constant(const Expression& tree) {
  const auto name = tree.size() == nullptr ? std::nullopt : tree.size()->symbol_name();
  if (name == "true" || name == "false") return Expression::boolean(name == "true");
  if (name == "oo") return Expression::floating(std::numeric_limits<double>::infinity());
  if (name == "nan") return Expression::floating(std::numeric_limits<double>::quiet_NaN());
  return tree;
}

// Converts the tree of an srepr() text, which was parsed as Python.
Expression converted(const Expression& tree) {
  if (tree.kind() == Kind::kText) return Expression::parse(tree.name());  // a symbol, or a float's digits
  if (tree.kind() != Kind::kCall) return constant(tree);
  const std::string name = tree.parts().front().text();
  std::vector<Expression> arguments;
  for (std::size_t i = 1; i < tree.parts().size(); ++i) {
    const Expression& part = tree.parts()[i];
    if (part.kind() != Kind::kKeyword)
      arguments.push_back(converted(part));  // keywords: assumptions, precision
  }
  const std::size_t count = arguments.size();
  const bool is_float = name == "Float" && count == 2;  // digits and precision
  if (is_float ||
      (count == 1 && (name == "Integer" || name == "Float" || name == "Symbol" || name == "Dummy")))
    return arguments[0];
  if (name == "Add" && count > 0) return sum(arguments);
  if (name == "Mul" && count > 0) return product(arguments);
  if (name == "Pow" && count == 2 && arguments[1].number() == -1)
    return Expression::binary("/", 1, arguments[0]);
  if (name == "And" && count > 0) return Expression::all(std::move(arguments));
  if (name == "Or" && count > 0) return Expression::any(std::move(arguments));
  if (name == "Not" && count == 1) return Expression::negation(arguments[0]);
  if (const PythonOperator* op = operator_of_sympy(name); op != nullptr && count == 2)
    return Expression::binary(std::string(op->symbol), arguments[0], arguments[1]);
  const auto* function = std::ranges::find(kFunctions, name, &Spelling::sympy);
  const bool is_known = function != kFunctions.end();
  return Expression::call(is_known ? Expression::parse(function->python) : tree.parts().front(),
                          std::move(arguments));
}

}  // namespace

Expression expression_of_sympy(std::string_view text) {
  // Nearly all texts are one symbol; reading that directly saves a tree of its assumptions.
  constexpr std::string_view kSymbol = "Symbol('";
  if (text.starts_with(kSymbol) && text.find(')') == text.size() - 1) {
    const std::string_view name =
        text.substr(kSymbol.size(), text.find('\'', kSymbol.size()) - kSymbol.size());
    if (is_identifier(name)) return Expression::parse(name);
  }
  Expression value = Expression::parse(text);
  const bool is_srepr =
      (text.find("Symbol(") != std::string_view::npos || text.find("Integer(") != std::string_view::npos ||
       text.find("Float(") != std::string_view::npos) &&
      std::ranges::count(text, ',') <= kMaxCommas;
  if (is_srepr) value = converted(value);
  // Parsing the converted text again simplifies it: max(1, s0), s0**2.
  return value.size() == nullptr && is_srepr ? Expression::parse(value.text()) : value;
}

}  // namespace fxtrace::internal
