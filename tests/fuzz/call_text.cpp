#include "tests/fuzz/call_text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <stdexcept>
#include <utility>
#include <vector>

#include "opinfo/infer.h"
#include "opinfo/operator_entry.h"
#include "opinfo/operator_row.h"
#include "opinfo/rules/cost_rules.h"
#include "opinfo/values/value_call.h"
#include "support/text/words.h"

namespace fxtrace::internal {
namespace {

[[noreturn]] void fail(std::string_view text) {
  throw std::runtime_error("no value: '" + std::string(text) + "'");
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Splits at commas outside of brackets and quotes.
std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  bool quoted = false;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\'') quoted = !quoted;
    if (quoted) continue;
    if (text[i] == '[' || text[i] == '(' || text[i] == '{') ++depth;
    if (text[i] == ']' || text[i] == ')' || text[i] == '}') --depth;
    if (text[i] != ',' || depth != 0) continue;
    parts.push_back(trimmed(text.substr(begin, i - begin)));
    begin = i + 1;
  }
  if (!trimmed(text.substr(begin)).empty()) parts.push_back(trimmed(text.substr(begin)));
  return parts;
}

std::int64_t number_of(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) fail(text);
  return number;
}

SymInt size_of(std::string_view text) {
  const auto size = SymInt::parse(text);
  if (!size) fail(text);
  return *size;
}

Device device_of(std::string_view text) {
  const std::size_t colon = text.find(':');
  Device device{std::string(text.substr(0, colon))};
  if (colon != std::string_view::npos) device.index = static_cast<int>(number_of(text.substr(colon + 1)));
  return device;
}

// `bracket` is the position where the sizes begin.
TensorInfo tensor_of(std::string_view text, std::size_t bracket) {
  TensorInfo info;
  const std::string_view type = text.substr(0, bracket);
  info.dtype = find_scalar_type(type);
  if (!info.dtype && type != "?") fail(text);
  const std::size_t end = text.rfind(']');
  for (const std::string_view size : parts_of(text.substr(bracket + 1, end - bracket - 1)))
    info.sizes.push_back(size_of(size));
  const std::string_view rest = text.substr(end + 1);
  if (rest.starts_with('@')) info.device = device_of(rest.substr(1));
  if (rest.starts_with('%')) info.sparse_dim = number_of(rest.substr(1));
  if (rest.starts_with('{')) {
    Array array{info.dtype.value(), {}, {}};
    for (const SymInt& size : info.sizes) array.sizes.push_back(size.number().value());
    for (const std::string_view element : parts_of(rest.substr(1, rest.size() - 2))) {
      if (is_floating(array.dtype)) {
        array.elements.emplace_back(std::stod(std::string(element)));
      } else {
        array.elements.push_back(values::element_of(size_of(element), array.dtype));
      }
    }
    info.content = std::make_shared<const TensorContent>(
        TensorContent{std::make_shared<const Array>(std::move(array)), {}});
  }
  return info;
}

bool is_float(std::string_view text) {
  if (text == "inf" || text == "-inf" || text == "nan") return true;
  return text.find_first_of(".e") != std::string_view::npos &&
         text.find_first_not_of("0123456789.e-") == std::string_view::npos;
}

// Reads a default as schemas write it; None where there is none.
AbstractValue default_of(const SchemaArgument& argument) {
  std::string text = argument.default_value.value_or("None");
  std::ranges::replace(text, '"', '\'');
  AbstractValue value = parse_value(text);
  // float p=1
  const SymInt* integer = value.integer();
  if (integer != nullptr && argument.type.required().name == "float")
    return {static_cast<double>(integer->number().value())};
  return value;
}

struct ParsedCall {
  const OperatorEntry& op;
  std::vector<AbstractValue> arguments;
};

std::string full_name(std::string_view name) {
  return name.find("::") == std::string_view::npos ? "aten::" + std::string(name) : std::string(name);
}

ParsedCall parse_call(std::string_view text) {
  const std::size_t open = text.find('(');
  if (open == std::string_view::npos || !text.ends_with(')')) fail(text);
  const std::string name = full_name(text.substr(0, open));
  const std::size_t dot = name.find('.');
  const Operator* op = find_operator(name.substr(0, dot),
                                     dot == std::string::npos ? "" : std::string_view(name).substr(dot + 1));
  if (op == nullptr) throw std::runtime_error("no operator " + name);
  ParsedCall call{entry_of(*op), {}};
  const std::vector<SchemaArgument>& formals = call.op.schema.arguments;
  for (const SchemaArgument& formal : formals) call.arguments.push_back(default_of(formal));
  const auto parts = parts_of(text.substr(open + 1, text.size() - open - 2));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::size_t equals = parts[i].find('=');
    const bool named = equals != std::string_view::npos && parts[i].front() != '\'';
    const auto place = named ? std::ranges::find(formals, parts[i].substr(0, equals), &SchemaArgument::name) -
                                   formals.begin()
                             : static_cast<std::ptrdiff_t>(i);
    call.arguments.at(static_cast<std::size_t>(place)) =
        parse_value(named ? parts[i].substr(equals + 1) : parts[i]);
  }
  return call;
}

ShapeEnv dimensions() {
  ShapeEnv result;
  for (const char* name : {"n", "m", "h", "w"}) result.narrow(name, {1, std::nullopt});
  return result;
}

std::string text_of(double number) {
  std::string text = std::to_string(number);
  text.erase(text.find_last_not_of('0') + 1);
  return text;
}

}  // namespace

AbstractValue parse_value(std::string_view text) {
  text = trimmed(text);
  if (text == "?") return {};
  if (text == "None") return {NoneValue{}};
  if (text == "True" || text == "False") return {text == "True"};
  if (text.starts_with('@')) return {device_of(text.substr(1))};
  if (text.size() >= 2 && text.starts_with('\'')) return {std::string(text.substr(1, text.size() - 2))};
  if (text.starts_with('[')) {
    AbstractValue::Sequence items;
    for (const std::string_view item : parts_of(text.substr(1, text.size() - 2)))
      items.push_back(parse_value(item));
    return {std::move(items)};
  }
  if (const std::size_t bracket = text.find('['); bracket != std::string_view::npos)
    return {tensor_of(text, bracket)};
  if (const Dtype type = find_scalar_type(text)) return {*type};
  if (is_float(text)) return {std::stod(std::string(text))};
  if (const std::size_t over = text.rfind(")/"); over != std::string_view::npos)
    return {Ratio{size_of(text.substr(0, over + 1)), number_of(text.substr(over + 2))}};
  return {size_of(text)};
}

std::string to_text(const AbstractValue& value) {
  if (const TensorInfo* info = value.tensor()) {
    std::vector<std::string> sizes;
    for (const SymInt& size : info->sizes) sizes.push_back(size.text());
    std::string text = (info->dtype ? dtype_name(*info->dtype) : "?") + "[" + joined(sizes, {}, ",") + "]";
    if (!info->device.is_cpu()) text += "@" + info->device.text();
    if (info->sparse_dim) text += "%" + std::to_string(*info->sparse_dim);
    if (info->content == nullptr || info->content->array == nullptr) return text;
    const std::string whole = values::to_text(*info->content->array);
    return text + whole.substr(whole.find('{'));
  }
  if (const AbstractValue::Sequence* items = value.sequence()) {
    std::vector<std::string> texts;
    for (const AbstractValue& item : *items) texts.push_back(to_text(item));
    return "[" + joined(texts, {}, ",") + "]";
  }
  if (const SymInt* integer = value.integer()) return integer->text();
  if (const auto* ratio = value.get_if<Ratio>())
    return "(" + ratio->numerator.text() + ")/" + std::to_string(ratio->denominator);
  if (const auto* condition = value.get_if<Condition>())
    return condition->left.text() + to_string(condition->relation) + condition->right.text();
  if (const auto* flag = value.get_if<bool>()) return *flag ? "True" : "False";
  if (const auto* number = value.get_if<double>()) return text_of(*number);
  if (const auto* text = value.get_if<std::string>()) return "'" + *text + "'";
  if (const auto* device = value.get_if<Device>()) return "@" + device->text();
  if (const auto* type = value.get_if<ScalarType>()) return dtype_name(*type);
  return value.is_none() ? "None" : "?";
}

std::string shapes_of(std::string_view call) {
  const ParsedCall parsed = parse_call(call);
  const AbstractArguments arguments(parsed.arguments);
  ShapeEnv known = dimensions();
  const Inferred inferred = infer_shapes(RuleArguments(parsed.op, arguments, known));
  if (!inferred.error.empty()) return "raises: " + inferred.error;
  std::string text;
  for (const AbstractValue& result : inferred.results) text += (text.empty() ? "" : " ") + to_text(result);
  return text;
}

std::string values_of(std::string_view call) {
  const ParsedCall parsed = parse_call(call);
  const AbstractArguments arguments(parsed.arguments);
  ShapeEnv known = dimensions();
  const RuleArguments args(parsed.op, arguments, known);
  const auto results = evaluate(args, infer_shapes(args).results);
  if (!results) return "?";
  std::string text;
  for (const AbstractValue& result : *results) text += (text.empty() ? "" : " ") + to_text(result);
  return text;
}

std::string answer_of(std::string_view call) {
  const std::size_t open = call.find('(');
  std::vector<AbstractValue> values;
  for (const std::string_view part : parts_of(call.substr(open + 1, call.size() - open - 2)))
    values.push_back(parse_value(part));
  // Any overload will do: those of numbers have the value rule of the name.
  const std::string name = full_name(call.substr(0, open));
  const std::string base = name.substr(0, name.find('.'));
  const std::span<const Operator> rows = overloads(base);
  const auto row = std::ranges::find(rows, name, &Operator::name);
  if (rows.empty()) throw std::runtime_error("no operator " + name);
  OperatorEntry entry = entry_of(row != rows.end() ? *row : rows.front());
  if (row == rows.end()) entry.value = facts_of(base).value;
  const AbstractArguments arguments(values);
  ShapeEnv known = dimensions();
  const Evaluated evaluated = evaluate_plain(RuleArguments(entry, arguments, known));
  return evaluated.plain ? "= " + to_text(*evaluated.plain) : to_text(evaluated.known);
}

std::string macs_of(std::string_view call) {
  constexpr std::string_view kArrow = " -> ";
  const std::size_t arrow = call.rfind(kArrow);
  const bool is_given = arrow != std::string_view::npos && call.find('\'', arrow) == std::string_view::npos;
  const ParsedCall parsed = parse_call(call.substr(0, is_given ? arrow : call.size()));
  const CostRule rule = parsed.op.macs;
  if (rule == nullptr) return "unknown";
  const AbstractArguments arguments(parsed.arguments);
  ShapeEnv known = dimensions();
  const RuleArguments args(parsed.op, arguments, known);
  Results results = infer_shapes(args).results;
  if (is_given) results = {parse_value(call.substr(arrow + kArrow.size()))};
  try {
    return rule(args, results).text();
  } catch (const CannotTell&) {
    return "?";
  } catch (const SymbolicError&) {
    return "too large";
  }
}

}  // namespace fxtrace::internal
