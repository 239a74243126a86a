#include "trace/options/input_spec.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <utility>

#include "support/error.h"
#include "support/text/did_you_mean.h"
#include "support/text/identifier.h"
#include "support/text/numbers.h"
#include "support/text/words.h"

namespace fxtrace::internal {
namespace {

// The names of dtypes in torch; kDtypeAliases has their other names.
constexpr std::string_view kDtypes =
    "float32 float64 float16 bfloat16 int64 int32 int16 int8 uint8 uint16 uint32 uint64 bool complex32 "
    "complex64 complex128 quint8 qint8 qint32 quint4x2 quint2x4 float8_e4m3fn float8_e5m2 float8_e4m3fnuz "
    "float8_e5m2fnuz float8_e8m0fnu float4_e2m1fn_x2 bits1x8 bits2x4 bits4x2 bits8 bits16 int1 int2 int3 "
    "int4 int5 int6 int7 uint1 uint2 uint3 uint4 uint5 uint6 uint7";
constexpr std::array<std::pair<std::string_view, std::string_view>, 23> kDtypeAliases = {{
    // Short names count only in front of sizes: "u8" alone may be a dimension.
    {"fp16", "float16"},     {"fp32", "float32"},       {"fp64", "float64"},   {"bf16", "bfloat16"},
    {"f16", "float16"},      {"f32", "float32"},        {"f64", "float64"},    {"i8", "int8"},
    {"i16", "int16"},        {"i32", "int32"},          {"i64", "int64"},      {"u8", "uint8"},
    {"b8", "bool"},          {"float", "float32"},      {"double", "float64"}, {"half", "float16"},
    {"long", "int64"},       {"int", "int32"},          {"short", "int16"},    {"chalf", "complex32"},
    {"cfloat", "complex64"}, {"cdouble", "complex128"}, {"bit", "uint1"},
}};
constexpr std::array<std::string_view, 12> kDevices = {
    "cpu", "cuda", "xpu", "mps", "meta", "xla", "hip", "hpu", "mtia", "vulkan", "maia", "privateuseone",
};

constexpr const char* kSpecHint =
    "a tensor is written --input 'x=float32[1,batch,224]', or int64[]@cuda:0; an integer --input n=seq";
constexpr const char* kDimHint = "a range is written --dim batch=1..64, batch=1.., batch=..64 or batch=8";

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.remove_suffix(1);
  return text;
}

std::string_view without_prefix(std::string_view text, std::string_view prefix) {
  if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
  return text;
}

std::optional<std::string> find_dtype(std::string_view name) {
  name = without_prefix(name, "torch.");
  if (has_word(kDtypes, name)) return std::string(name);
  const auto alias = std::find_if(kDtypeAliases.begin(), kDtypeAliases.end(),
                                  [&](const auto& item) { return item.first == name; });
  if (alias == kDtypeAliases.end()) return std::nullopt;
  return std::string(alias->second);
}

std::vector<std::string> dtype_names() {
  std::vector<std::string> names;
  for_each_word(kDtypes, [&](std::string_view name) { names.emplace_back(name); });
  for (const auto& [alias, name] : kDtypeAliases) names.emplace_back(alias);
  return names;
}

// Splits at commas outside of parentheses: "min(a,b),3" has two parts.
std::vector<std::string_view> split_sizes(std::string_view text) {
  std::vector<std::string_view> parts;
  if (trimmed(text).empty()) return parts;
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')') --depth;
    if (text[i] != ',' || depth > 0) continue;
    parts.push_back(trimmed(text.substr(start, i - start)));
    start = i + 1;
  }
  parts.push_back(trimmed(text.substr(start)));
  return parts;
}

// Reads one SPEC; its errors name the input.
class SpecReader {
 public:
  explicit SpecReader(const InputSpec& spec) : spec_(spec) {}

  ParsedInputSpec read() const {
    const std::string_view text = trimmed(spec_.text);
    if (text.empty()) fail("the spec is empty");
    ParsedInputSpec parsed;
    const std::size_t open = text.find('[');
    if (open == std::string_view::npos) {
      parsed.value = integer(text);
      return parsed;
    }
    const std::size_t close = text.rfind(']');
    if (close == std::string_view::npos || close < open) fail("missing ']' in " + shell_quoted(text));
    parsed.dtype = dtype(trimmed(text.substr(0, open)));
    const auto sizes = split_sizes(text.substr(open + 1, close - open - 1));
    for (std::size_t i = 0; i < sizes.size(); ++i) parsed.shape.push_back(size(sizes[i], i));
    parsed.device = device(trimmed(text.substr(close + 1)));
    return parsed;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw usage_error("--input " + shell_word(spec_.name) + ": " + what, {kSpecHint});
  }

  SymInt integer(std::string_view text) const {
    const auto value = SymInt::parse(text);
    // "+short" is the same dimension as "short".
    const std::string name = value ? value->text() : std::string(text);
    if (find_dtype(name) && !is_short(name)) {
      fail(shell_quoted(name) + " is a dtype; a tensor also needs its sizes: " + name + "[...]");
    }
    if (value) return *value;
    if (const auto sizes = sizes_alone(text)) no_dtype(*sizes);
    fail(shell_quoted(text) + " is neither a tensor nor an integer expression");
  }

  // Returns whether a dtype has a name that a dimension may have as well: "f32".
  static bool is_short(std::string_view name) {
    return name.find_first_of("0123456789") != std::string_view::npos && name.size() <= 3;
  }
  // Returns "1,3,224" for "1,3,224", "(1, 3, 224)" and "1x3x224"; nothing for other texts.
  static std::optional<std::string> sizes_alone(std::string_view text) {
    if (text.starts_with('(') && text.ends_with(')')) text = text.substr(1, text.size() - 2);
    std::string sizes(trimmed(text));
    const bool is_by_x = sizes.find_first_not_of("0123456789x") == std::string::npos;
    if (is_by_x) std::ranges::replace(sizes, 'x', ',');
    const auto parts = split_sizes(sizes);
    const bool are_sizes = parts.size() > 1 && std::ranges::all_of(parts, [](std::string_view part) {
                             return SymInt::parse(part).has_value();
                           });
    return are_sizes ? std::optional(joined(parts, {}, ",")) : std::nullopt;
  }
  [[noreturn]] void no_dtype(const std::string& sizes) const {
    fail("the dtype in front of the sizes is missing: expected float32[" + sizes + "], or int64[" + sizes +
         "] for indices");
  }

  std::string dtype(std::string_view name) const {
    if (name.empty()) {
      const std::string_view text = trimmed(spec_.text);
      no_dtype(std::string(text.substr(1, text.rfind(']') - 1)));
    }
    if (auto known = find_dtype(name)) return *known;
    fail(shell_quoted(name) + " is not a dtype" +
         did_you_mean(without_prefix(name, "torch."), dtype_names()));
  }

  SymInt size(std::string_view text, std::size_t index) const {
    const std::string which = "size " + std::to_string(index);
    if (text.empty()) fail(which + " is empty");
    const auto value = SymInt::parse(text);
    if (!value) {
      fail(which + " is " + shell_quoted(text) + "; expected a number, a name or an expression of names");
    }
    if (value->number() && *value->number() < 0) fail(which + " is negative: " + std::string(text));
    return *value;
  }

  std::optional<std::string> device(std::string_view text) const {
    if (text.empty()) return std::nullopt;
    if (!text.starts_with('@')) fail("unexpected " + shell_quoted(text) + " after the sizes");
    const std::string_view name = text.substr(1);
    const std::string_view type = name.substr(0, name.find(':'));
    const bool has_index = type.size() < name.size();
    const std::string_view index = has_index ? name.substr(type.size() + 1) : std::string_view("0");
    const bool is_number =
        !index.empty() && index.size() <= 3 &&
        std::all_of(index.begin(), index.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (std::find(kDevices.begin(), kDevices.end(), type) == kDevices.end() || !is_number) {
      fail(shell_quoted(name) + " is not a device");
    }
    if (type == "cpu") return std::nullopt;
    return std::string(name);
  }

  const InputSpec& spec_;
};

std::optional<std::int64_t> read_bound(std::string_view text) {
  return text.starts_with('-') ? std::nullopt : number_in<std::int64_t>(text);
}

}  // namespace

ParsedInputSpec parse_input_spec(const InputSpec& spec) { return SpecReader(spec).read(); }

std::string to_string(const ParsedInputSpec& spec) {
  if (!spec.dtype) return spec.value.text();
  std::string sizes;
  for (const SymInt& size : spec.shape) sizes += (sizes.empty() ? "" : ",") + size.text();
  return *spec.dtype + "[" + sizes + "]" + (spec.device ? "@" + *spec.device : "");
}

InputSpec make_input_spec(std::string_view name, std::string_view text) {
  const bool is_path = !name.empty() && !name.starts_with('.') && !name.ends_with('.') &&
                       name.find("..") == std::string_view::npos &&
                       name.find_first_of("[]()=") == std::string_view::npos;
  if (!is_path) {
    throw usage_error("--input: " + shell_quoted(name) + " is not the name of an input",
                      {"inputs are named by path or position: --input 'past.0.k=float32[1,8]' --input "
                       "'0=float32[1,8]'"});
  }
  InputSpec spec{std::string(name), std::string(text)};
  spec.text = to_string(parse_input_spec(spec));
  return spec;
}

InputSpec read_input_spec(std::string_view text, std::size_t position) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return make_input_spec(std::to_string(position), text);
  return make_input_spec(trimmed(text.substr(0, equals)), text.substr(equals + 1));
}

DimensionRange make_dimension_range(std::string_view name, std::string_view text) {
  const auto fail = [&](const std::string& what) -> Error {
    return usage_error("--dim " + shell_word(name) + ": " + what, {kDimHint});
  };
  if (!is_identifier(name)) {
    throw usage_error("--dim: " + shell_quoted(name) + " is not a valid name for a dimension", {kDimHint});
  }
  const auto bound = [&](std::string_view word) -> std::optional<std::int64_t> {
    word = trimmed(word);
    if (word.empty()) return std::nullopt;
    const auto number = read_bound(word);
    if (!number) throw fail(shell_quoted(word) + " is not a non-negative integer");
    return number;
  };
  DimensionRange range{std::string(name), std::nullopt, std::nullopt};
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) {
    range.low = range.high = bound(text);
  } else {
    range.low = bound(text.substr(0, dots));
    range.high = bound(text.substr(dots + 2));
  }
  if (!range.low && !range.high) throw fail("expected at least one bound");
  if (range.low && range.high && *range.low > *range.high) {
    throw fail("from " + std::to_string(*range.low) + " to " + std::to_string(*range.high) +
               " is an empty range");
  }
  return range;
}

DimensionRange read_dimension_range(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) {
    throw usage_error("--dim: expected NAME=LO..HI, got " + shell_quoted(text), {kDimHint});
  }
  return make_dimension_range(trimmed(text.substr(0, equals)), text.substr(equals + 1));
}

std::string range_text(const DimensionRange& range) {
  if (range.low && range.low == range.high) return std::to_string(*range.low);
  return (range.low ? std::to_string(*range.low) : "") + ".." +
         (range.high ? std::to_string(*range.high) : "");
}

std::vector<std::string> named_dimensions(const std::vector<InputSpec>& specs) {
  std::vector<std::string> names;
  const auto add = [&](const SymInt& value) {
    for (auto& name : value.symbols()) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
    }
  };
  for (const InputSpec& spec : specs) {
    const ParsedInputSpec parsed = parse_input_spec(spec);
    add(parsed.value);
    for (const SymInt& size : parsed.shape) add(size);
  }
  return names;
}

void check_dimensions(const std::vector<DimensionRange>& ranges, const std::vector<std::string>& known) {
  for (const DimensionRange& range : ranges) {
    if (std::find(known.begin(), known.end(), range.name) != known.end()) continue;
    throw usage_error("--dim: no dimension named " + shell_quoted(range.name),
                      {known.empty() ? "no dimension has a name; a size in --input NAME=SPEC gives it one"
                                     : "named dimensions: " + joined(known, shell_word)});
  }
}

ShapeEnv make_dimensions(const TraceOptions& options) {
  ShapeEnv dimensions;
  // Names without a range are declared too, so that ShapeEnv does not give them to unknown sizes.
  for (const auto& name : named_dimensions(options.inputs)) dimensions.narrow(name, {0, std::nullopt});
  for (const DimensionRange& range : options.dimensions) {
    if (dimensions.narrow(range.name, {range.low.value_or(0), range.high})) continue;
    throw usage_error("--dim: the ranges of " + shell_quoted(range.name) + " do not overlap: " +
                      to_string(dimensions.range(range.name)) + " and " + range_text(range));
  }
  return dimensions;
}

bool is_concrete_placeholder(const Argument& value) {
  const auto* text = value.get_if<std::string>();
  return text != nullptr && *text == kConcretePlaceholder;
}

std::optional<double> find_float(const Argument& value) {
  if (const auto* number = value.get_if<double>()) return *number;
  const auto* dict = value.get_if<Argument::Dict>();
  if (dict == nullptr || dict->items.size() != 1 || dict->items[0].key != Argument("float"))
    return std::nullopt;
  const Argument& name = dict->items[0].value;
  if (name == Argument("inf")) return HUGE_VAL;
  if (name == Argument("-inf")) return -HUGE_VAL;
  return name == Argument("nan") ? std::optional(std::nan("")) : std::nullopt;
}

void check_input_name(const std::string& name, const std::vector<std::string>& names,
                      const std::function<void(const std::string&)>& fail) {
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  fail("no input named '" + name + "'" + did_you_mean(name, names));
}

InputChoice::InputChoice(const TraceOptions& options, const std::vector<std::string>& names,
                         const std::function<void(const std::string&)>& fail)
    : options_(options) {
  for (const auto& concrete : options.concrete) check_input_name(concrete.name, names, fail);
  if (!options.input_names) return;
  for (const auto& name : *options.input_names) check_input_name(name, names, fail);
}

InputChoice::Decision InputChoice::decide(const std::string& name) const {
  using Kind = Decision::Kind;
  const auto concrete = std::find_if(options_.concrete.rbegin(), options_.concrete.rend(),
                                     [&](const ConcreteArg& item) { return item.name == name; });
  if (concrete != options_.concrete.rend()) {
    if (is_concrete_placeholder(concrete->value)) return {Kind::kRemains, true, nullptr};
    return {Kind::kFixed, true, &concrete->value};
  }
  const auto& names = options_.input_names;
  if (!names) return {};
  const bool is_named = std::find(names->begin(), names->end(), name) != names->end();
  return {is_named ? Kind::kRemains : Kind::kDefault, is_named, nullptr};
}

std::string InputChoice::no_default(const std::string& name) {
  return "input '" + name + "' is not among --input-names and has no default";
}

}  // namespace fxtrace::internal
