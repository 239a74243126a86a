#include "torchscript/language/function_schema.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "support/error.h"
#include "support/text/identifier.h"

namespace fxtrace::torchscript {

std::string to_text(const FunctionSchema& schema) {
  std::string text = schema.name;
  if (!schema.overload_name.empty()) text += "." + schema.overload_name;
  text += "(";
  const auto separate = [&] {
    if (text.back() != '(') text += ", ";
  };
  bool keyword_only = false;
  for (const FunctionArgument& argument : schema.arguments) {
    separate();
    if (argument.keyword_only && !keyword_only) {
      text += "*, ";
      keyword_only = true;
    }
    std::string type = argument.type->str();
    if (argument.length) {
      const auto bracket = type.rfind("[]");
      if (bracket != std::string::npos) type.insert(bracket + 1, std::to_string(*argument.length));
    }
    text += type + " " + argument.name;
    if (argument.default_value) text += "=" + to_text(*argument.default_value);
  }
  if (schema.is_variadic) {
    separate();
    text += "...";
  }
  text += ") -> (";
  for (const TypePtr& result : schema.results) {
    separate();
    text += result->str();
  }
  if (schema.has_variadic_results) {
    separate();
    text += "...";
  }
  return text + ")";
}

namespace {

// Returns the type for a name in schemas.  Types that TorchScript does not have are int (ScalarType) or str
// (Dimname) there.
TypePtr simple_schema_type(std::string_view name) {
  struct Row {
    std::string_view name;
    TypeKind kind;
  };
  static constexpr std::array kRows{
      Row{"AnyListType", TypeKind::kAnyList}, Row{"AnyTupleType", TypeKind::kAnyTuple},
      Row{"DeviceIndex", TypeKind::kInt},     Row{"Dimname", TypeKind::kString},
      Row{"Layout", TypeKind::kInt},          Row{"MemoryFormat", TypeKind::kInt},
      Row{"None", TypeKind::kNone},           Row{"Scalar", TypeKind::kNumber},
      Row{"ScalarType", TypeKind::kInt},      Row{"SymBool", TypeKind::kBool},
      Row{"SymFloat", TypeKind::kFloat},      Row{"SymInt", TypeKind::kInt},
      Row{"tensor", TypeKind::kTensor},
  };
  for (const Row& row : kRows) {
    if (row.name == name) return simple_type(row.kind);
  }
  // These names are valid in annotations only.
  return name == "list" || name == "tuple" || name == "PyObject" ? nullptr : find_simple_type(name);
}

// Parses the text of a default value by the type of the argument.
class DefaultParser {
 public:
  DefaultParser(std::string_view text, const SchemaArgument& argument) : text_(text), argument_(argument) {}

  Constant parse(const Type& type) {
    Constant result = value(type, argument_.length, 0);
    skip();
    if (at_ != text_.size()) fail();
    return result;
  }

 private:
  static constexpr int kMaxDepth = 16;

  Constant value(const Type& type, std::optional<std::int64_t> length, int depth) {
    skip();
    if (depth > kMaxDepth) fail();
    if (accept("None")) return Constant();
    if (const auto* optional = type.as<OptionalType>()) return value(*optional->element(), length, depth + 1);
    if (const auto* list = type.as<ListType>()) return list_value(*list->element(), length, depth);
    if (accept("True")) return Constant(true);
    if (accept("False")) return Constant(false);
    if (at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\'')) {
      std::string string = string_value();
      if (type.kind() == TypeKind::kDevice) return Constant(Constant::Device{std::move(string)});
      return Constant(std::move(string));
    }
    if (accept("(")) {
      Constant::Tuple tuple;
      for (const TypePtr& part : type.contained_types()) {
        if (!tuple.items.empty() && !accept(",")) fail();
        tuple.items.push_back(value(*part, std::nullopt, depth + 1));
        skip();
      }
      if (!accept(")")) fail();
      return Constant(std::move(tuple));
    }
    return number(type);
  }

  Constant list_value(const Type& element, std::optional<std::int64_t> length, int depth) {
    Constant::List list;
    list.element = argument_element(element);
    if (!accept("[")) {
      constexpr std::int64_t kMaxLength = 64;
      if (!length || *length < 0 || *length > kMaxLength) fail();
      const Constant item = value(element, std::nullopt, depth + 1);
      list.items.assign(static_cast<std::size_t>(*length), item);
      return Constant(std::move(list));
    }
    skip();
    while (!accept("]")) {
      if (!list.items.empty() && !accept(",")) fail();
      list.items.push_back(value(element, std::nullopt, depth + 1));
      skip();
    }
    return Constant(std::move(list));
  }

  static TypePtr argument_element(const Type& element) {
    TypePtr simple = simple_type(element.kind());
    return simple != nullptr ? simple : any_type();
  }

  // Names of C++ constants in schemas.
  Constant named() {
    struct Row {
      std::string_view name;
      std::int64_t value;
    };
    static constexpr std::array kNames{Row{"contiguous_format", 0},
                                       Row{"preserve_format", 1},
                                       Row{"strided", 0},
                                       Row{"Mean", 1},
                                       Row{"Sum", 2},
                                       Row{"long", 4}};
    for (const Row& row : kNames) {
      if (accept(row.name)) return Constant(row.value);
    }
    fail();
  }

  Constant number(const Type& type) {
    const std::string_view rest = text_.substr(at_);
    if (rest.empty()) fail();
    const std::string_view unsigned_rest = rest[0] == '-' ? rest.substr(1) : rest;
    const bool names_float = unsigned_rest.starts_with("inf") || unsigned_rest.starts_with("nan");
    if (!unsigned_rest.empty() && is_letter(unsigned_rest[0]) && !names_float) return named();
    double real = 0;
    std::int64_t whole = 0;
    const char* const begin = rest.data();
    const char* const end = begin + rest.size();
    const auto as_real = std::from_chars(begin, end, real);
    const auto as_whole = std::from_chars(begin, end, whole);
    if (as_real.ec != std::errc()) fail();
    at_ += static_cast<std::size_t>(as_real.ptr - begin);
    if (as_whole.ec == std::errc() && as_whole.ptr == as_real.ptr && type.kind() != TypeKind::kFloat)
      return Constant(whole);
    return Constant(real);
  }

  std::string string_value() {
    const char quote = text_[at_++];
    std::string result;
    while (at_ < text_.size() && text_[at_] != quote) {
      char c = text_[at_++];
      if (c == '\\' && at_ < text_.size()) {
        static constexpr std::string_view kLetters = "abfnrtv";
        static constexpr std::string_view kMeant = "\a\b\f\n\r\t\v";
        c = text_[at_++];
        if (const auto found = kLetters.find(c); found != std::string_view::npos) c = kMeant[found];
      }
      result += c;
    }
    if (at_ == text_.size()) fail();
    ++at_;
    return result;
  }

  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool accept(std::string_view token) {
    skip();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  [[noreturn]] void fail() const {
    throw input_error("argument '" + argument_.name + "' of a schema has the default value '" +
                      std::string(text_.substr(0, 100)) + "', which does not fit its type");
  }

  std::string_view text_;
  const SchemaArgument& argument_;
  std::size_t at_ = 0;
};

}  // namespace

TypePtr schema_type(const SchemaType& type, const ResolveClass& resolve) {
  if (!type.parts.empty() || type.name == "Tuple") {
    std::vector<TypePtr> parts;
    for (const SchemaType& part : type.parts) parts.push_back(schema_type(part, resolve));
    const auto takes = [&](std::size_t count) {
      if (parts.size() != count)
        throw input_error("the type '" + type.name + "' of a schema has " + std::to_string(parts.size()) +
                          " parts");
    };
    if (type.name == "Tuple") return tuple_type(std::move(parts));
    if (type.name == "Dict") {
      takes(2);
      return dict_type(parts[0], parts[1]);
    }
    takes(1);
    if (type.name == "List") return list_type(parts[0]);
    if (type.name == "Optional") return optional_type(parts[0]);
    if (type.name == "Future") return future_type(parts[0]);
    if (type.name == "Await") return await_type(parts[0]);
    if (type.name == "RRef") return rref_type(parts[0]);
  }
  if (TypePtr simple = simple_schema_type(type.name)) return simple;
  if (type.name.starts_with("__torch__.")) {
    if (TypePtr found = resolve ? resolve(type.name) : nullptr) return found;
  } else if (type.is_variable()) {
    return var_type(type.name);
  }
  throw input_error("unknown type specifier '" + type.name + "' in a schema");
}

FunctionSchema function_schema(std::string_view name, const Schema& schema, const ResolveClass& resolve) {
  FunctionSchema result;
  const auto dot = name.find("::") == std::string_view::npos ? std::string_view::npos : name.find('.');
  result.name = name.substr(0, dot);
  if (dot != std::string_view::npos) result.overload_name = name.substr(dot + 1);
  result.is_variadic = schema.is_variadic;
  result.has_variadic_results = schema.has_variadic_results;
  for (const SchemaArgument& argument : schema.arguments) {
    FunctionArgument& mine =
        result.arguments.emplace_back(argument.name, schema_type(argument.type, resolve), argument.length,
                                      std::nullopt, argument.keyword_only, argument.is_written);
    if (argument.default_value)
      mine.default_value = DefaultParser(*argument.default_value, argument).parse(*mine.type);
  }
  for (const SchemaType& type : schema.results) result.results.push_back(schema_type(type, resolve));
  return result;
}

FunctionSchema parse_function_schema(std::string_view text, const ResolveClass& resolve) {
  const auto parenthesis = std::min(text.find('('), text.size());
  std::string_view name = text.substr(0, parenthesis);
  while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
  return function_schema(name, parse_schema(text.substr(parenthesis)), resolve);
}

}  // namespace fxtrace::torchscript
