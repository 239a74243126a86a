#include "torchscript/language/type_parser.h"

#include <charconv>
#include <complex>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "support/error.h"
#include "support/text/numbers.h"
#include "torchscript/language/type_relations.h"

namespace fxtrace::internal::torchscript {
namespace {

// Returns a type without arguments by its name in an annotation; annotations have a few names of their own.
TypePtr find_annotated(std::string_view name) {
  if (name == "None") return none_type();
  if (name == "torch.Generator") return simple_type(TypeKind::kGenerator);
  if (name == "torch.Tensor") return tensor_type();
  if (name == "torch.device") return device_type();
  if (name == "torch.dtype") return int_type();
  return name == "Quantizer" ? nullptr : find_simple_type(name);
}

}  // namespace

std::string dotted_name(const Tree& expression) {
  if (expression.is(Syntax::kName)) return std::string(expression.text);
  if (!expression.is(Syntax::kAttribute)) return {};
  std::string prefix = dotted_name(expression.part(0));
  if (prefix.empty()) return prefix;
  prefix += '.';
  prefix += expression.text;
  return prefix;
}

TypePtr TypeParser::find_type(const Tree& expression) const {
  if (expression.is(Syntax::kNone)) return none_type();
  if (expression.is(Syntax::kSubscript)) return subscript(expression);
  const std::string name = dotted_name(expression);
  if (name.empty()) return nullptr;
  if (TypePtr type = find_annotated(name)) return type;
  return resolve_ ? resolve_(name) : nullptr;
}

TypePtr TypeParser::parse(const Tree& expression) const {
  if (TypePtr type = find_type(expression)) return type;
  const std::string name = dotted_name(expression);
  throw SourceError(file_.range(expression),
                    name.empty() ? "Expression of this kind cannot be used in a type expression"
                                 : "Unknown type name '" + name + "'");
}

TypePtr TypeParser::subscript(const Tree& expression) const {
  const std::string name = dotted_name(expression.part(0));
  std::vector<const Tree*> parts;
  for (const Tree* part : expression.part(1).all()) {
    // The arguments of Dict[K, V] may be one tuple.
    if (part->is(Syntax::kTuple) && expression.part(1).count == 1) {
      parts.assign(part->all().begin(), part->all().end());
    } else {
      parts.push_back(part);
    }
  }
  std::vector<TypePtr> types;
  for (const Tree* part : parts) types.push_back(parse(*part));
  const auto takes = [&](std::size_t count) {
    if (types.size() != count)
      throw SourceError(file_.range(expression),
                        name + " must have exactly " + std::to_string(count) + " element types");
  };
  if (name == "Tuple" || name == "tuple") return tuple_type(std::move(types));
  if (name == "Union") return union_type(types);
  if (name == "Dict" || name == "dict") {
    takes(2);
    return dict_type(types[0], types[1]);
  }
  takes(1);
  if (name == "List" || name == "list" || name.starts_with("BroadcastingList")) return list_type(types[0]);
  if (name == "Optional") return optional_type(types[0]);
  if (name == "Future") return future_type(types[0]);
  if (name == "Await") return await_type(types[0]);
  if (name == "RRef") return rref_type(types[0]);
  if (name == "Final") return types[0];
  throw SourceError(file_.range(expression), "Unknown type constructor " + name);
}

namespace {

// Returns 2 for BroadcastingList2[int] and _size_2_t, which accept one number in place of two.  No length has
// more than one digit.
std::optional<std::int64_t> broadcast_length(const Tree& type) {
  constexpr std::string_view kList = "BroadcastingList", kSize = "_size_", kEnd = "_t";
  const std::string name = dotted_name(type.is(Syntax::kSubscript) ? type.part(0) : type);
  char digit = '0';
  if (type.is(Syntax::kSubscript) && name.size() == kList.size() + 1 && name.starts_with(kList))
    digit = name.back();
  if (name.size() == kSize.size() + 1 + kEnd.size() && name.starts_with(kSize) && name.ends_with(kEnd))
    digit = name[kSize.size()];
  return digit >= '1' && digit <= '9' ? std::optional<std::int64_t>(digit - '0') : std::nullopt;
}

}  // namespace

FunctionSchema TypeParser::schema(const Tree& definition, const TypePtr& self) const {
  FunctionSchema result;
  result.name = definition.text;
  const Tree& parameters = definition.part(0);
  if (self != nullptr && parameters.count == 0)
    throw SourceError(file_.range(definition), "methods must have a self argument");
  for (std::size_t i = 0; i < parameters.count; ++i) {
    const Tree& parameter = parameters.part(i);
    FunctionArgument argument;
    argument.name = parameter.text;
    argument.keyword_only = parameter.token == TokenKind::kStar;
    if (i == 0 && self != nullptr) {
      argument.type = self;
    } else {
      const Tree& type = parameter.part(0);
      argument.length = broadcast_length(type);
      const bool is_size = argument.length && !type.is(Syntax::kSubscript);
      argument.type = is_size ? list_type(int_type()) : type.is_there() ? parse(type) : tensor_type();
    }
    if (parameter.part(1).is_there()) argument.default_value = constant(parameter.part(1), argument.type);
    result.arguments.push_back(std::move(argument));
  }
  if (definition.part(1).is_there()) result.results.push_back(parse(definition.part(1)));
  return result;
}

std::optional<std::size_t> find_table_index(const Tree& attribute) {
  if (!attribute.part(0).is(Syntax::kName) || attribute.part(0).text != "CONSTANTS") return std::nullopt;
  const std::string_view name = attribute.text;
  return name.starts_with('c') ? number_in<std::size_t>(name.substr(1)) : std::nullopt;
}

namespace {

// Adds, subtracts or multiplies two integers; returns nothing for other constants, or beyond 64 bits.
std::optional<std::int64_t> sum_or_product(TokenKind sign, const ScriptConstant& left,
                                           const ScriptConstant& right) {
  const auto* a = left.get_if<std::int64_t>();
  const auto* b = right.get_if<std::int64_t>();
  std::int64_t result = 0;
  if (a == nullptr || b == nullptr) return std::nullopt;
  const bool is_known = (sign == TokenKind::kPlus && !__builtin_add_overflow(*a, *b, &result)) ||
                        (sign == TokenKind::kMinus && !__builtin_sub_overflow(*a, *b, &result)) ||
                        (sign == TokenKind::kStar && !__builtin_mul_overflow(*a, *b, &result));
  return is_known ? std::optional(result) : std::nullopt;
}

std::optional<double> number_named(std::string_view name) {
  if (name == "-inf") return -std::numeric_limits<double>::infinity();
  if (name == "inf") return std::numeric_limits<double>::infinity();
  if (name == "nan") return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
}

// Returns the value of "1.+2.j" or "1-2.j"; nothing when neither side is imaginary.
std::optional<std::complex<double>> complex_sum(TokenKind sign, const ScriptConstant& left,
                                                const ScriptConstant& right) {
  const auto number = [](const ScriptConstant& value) -> std::optional<std::complex<double>> {
    if (const auto* whole = value.get_if<std::int64_t>()) return static_cast<double>(*whole);
    if (const auto* real = value.get_if<double>()) return *real;
    const auto* complex = value.get_if<std::complex<double>>();
    return complex == nullptr ? std::nullopt : std::optional(*complex);
  };
  const auto a = number(left);
  const auto b = number(right);
  const bool is_complex = left.is<std::complex<double>>() || right.is<std::complex<double>>();
  if (!is_complex || !a || !b) return std::nullopt;
  if (sign == TokenKind::kPlus) return *a + *b;
  return sign == TokenKind::kMinus ? std::optional(*a - *b) : std::nullopt;
}

}  // namespace

ScriptConstant TypeParser::constant(const Tree& expression, const TypePtr& type) const {
  switch (expression.kind) {
    case Syntax::kNone:
      return ScriptConstant();
    case Syntax::kTrue:
      return ScriptConstant(true);
    case Syntax::kFalse:
      return ScriptConstant(false);
    case Syntax::kStringLiteral:
      return ScriptConstant(std::string(expression.text));
    case Syntax::kNumber: {
      ScriptConstant value = number_of(file_, expression);
      const auto* whole = value.get_if<std::int64_t>();
      if (whole != nullptr && type != nullptr && type->kind() == TypeKind::kFloat)
        return ScriptConstant(static_cast<double>(*whole));
      return value;
    }
    case Syntax::kTuple: {
      ScriptConstant::Tuple tuple;
      const auto* types = type == nullptr ? nullptr : type->as<TupleType>();
      for (std::size_t i = 0; i < expression.count; ++i) {
        const bool typed = types != nullptr && i < types->items().size();
        tuple.items.push_back(constant(expression.part(i), typed ? types->items()[i] : nullptr));
      }
      return ScriptConstant(std::move(tuple));
    }
    case Syntax::kListLiteral: {
      ScriptConstant::List list;
      const auto* typed = type == nullptr ? nullptr : without_none(type)->as<ListType>();
      list.element = typed != nullptr ? typed->element() : any_type();
      for (const Tree* item : expression.all()) list.items.push_back(constant(*item, list.element));
      return ScriptConstant(std::move(list));
    }
    case Syntax::kDictLiteral: {
      ScriptConstant::Dict dict;
      const auto* typed = type == nullptr ? nullptr : type->as<DictType>();
      dict.key = typed != nullptr ? typed->key() : any_type();
      dict.value = typed != nullptr ? typed->value() : any_type();
      for (std::size_t i = 0; i < expression.part(0).count; ++i)
        dict.items.emplace_back(constant(expression.part(0).part(i), dict.key),
                                constant(expression.part(1).part(i), dict.value));
      return ScriptConstant(std::move(dict));
    }
    case Syntax::kCall: {  // annotate(List[int], [])
      const Tree& arguments = expression.part(1);
      if (dotted_name(expression.part(0)) == "annotate" && arguments.count == 2)
        return constant(arguments.part(1), parse(arguments.part(0)));
      if (dotted_name(expression.part(0)) == "float" && arguments.count == 1) {
        if (const auto value = number_named(arguments.part(0).text)) return ScriptConstant(*value);
      }
      if (dotted_name(expression.part(0)) == "torch.device" && arguments.count == 1 &&
          arguments.part(0).is(Syntax::kStringLiteral))
        return ScriptConstant(ScriptConstant::Device{std::string(arguments.part(0).text)});
      break;
    }
    case Syntax::kBinary: {
      const ScriptConstant left = constant(expression.part(0), nullptr);
      const ScriptConstant right = constant(expression.part(1), nullptr);
      if (const auto number = sum_or_product(expression.token, left, right)) return ScriptConstant(*number);
      if (const auto number = complex_sum(expression.token, left, right)) return ScriptConstant(*number);
      break;
    }
    case Syntax::kName:
      if (const auto value = number_named(expression.text)) return ScriptConstant(*value);
      if (expression.text == "infj" || expression.text == "nanj")
        return ScriptConstant(std::complex<double>(0, *number_named(expression.text.substr(0, 3))));
      break;
    case Syntax::kUnary:
      if (expression.token == TokenKind::kMinus) {
        const ScriptConstant value = constant(expression.part(0), type);
        const auto* whole = value.get_if<std::int64_t>();
        if (whole != nullptr && *whole != std::numeric_limits<std::int64_t>::min())
          return ScriptConstant(-*whole);
        if (const auto* number = value.get_if<double>()) return ScriptConstant(-*number);
        if (const auto* number = value.get_if<std::complex<double>>()) return ScriptConstant(-*number);
      }
      break;
    case Syntax::kAttribute: {  // CONSTANTS.c3, or a member of an enum
      if (const auto index = find_table_index(expression))
        return ScriptConstant(ScriptConstant::TableEntry{*index});
      const TypePtr owner = find_type(expression.part(0));
      const auto* members = owner == nullptr ? nullptr : owner->as<EnumType>();
      const auto index = members == nullptr ? std::nullopt : members->find_member(expression.text);
      if (index)
        return ScriptConstant(
            ScriptConstant::EnumMember{std::static_pointer_cast<const EnumType>(owner), *index});
      break;
    }
    default:
      break;
  }
  throw SourceError(file_.range(expression), "expected a constant");
}

ScriptConstant number_of(const SyntaxFile& file, const Tree& number) {
  std::string_view text = number.text;
  const auto fail = [&]() -> Error {
    return SourceError(file.range(number),
                       "the number '" + std::string(text.substr(0, 40)) + "' cannot be read");
  };
  const bool negative = text.starts_with('-');
  const std::string_view digits = negative ? text.substr(1) : text;
  if (digits.starts_with("0x") || digits.starts_with("0X")) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data() + 2, digits.data() + digits.size(), value, 16);
    if (error != std::errc() || end != digits.data() + digits.size()) throw fail();
    return ScriptConstant(negative ? -value : value);
  }
  const bool is_complex = text.ends_with('j');
  if (is_complex) text.remove_suffix(1);
  if (!is_complex && text.find_first_of(".eE") == std::string_view::npos) {
    const auto value = number_in<std::int64_t>(text);
    if (!value) throw fail();
    return ScriptConstant(*value);
  }
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size()) throw fail();
  if (error == std::errc::result_out_of_range) {
    // As strtod does: numbers that are too small are 0, those too large infinite.
    const bool small = text.find("e-") != std::string_view::npos || text.find("E-") != std::string_view::npos;
    value = small ? 0.0 : std::numeric_limits<double>::infinity();
    if (negative) value = -value;
  } else if (error != std::errc()) {
    throw fail();
  }
  if (is_complex) return ScriptConstant(std::complex<double>(0, value));
  return ScriptConstant(value);
}

}  // namespace fxtrace::internal::torchscript
