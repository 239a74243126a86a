#include "exported/program_dimensions.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <set>
#include <unordered_map>
#include <utility>

#include "support/error.h"
#include "support/nearest.h"
#include "symbolic/sym_int.h"
#include "trace/input_spec.h"

namespace fxtrace {
namespace {

bool is_word(char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; }

// Calls f(name, is_size) for the dimensions in `meta`; an integer need not be a size.
template <class F>
void for_each_name(const Meta& meta, F&& f) {
  const auto read = [&](const Meta::Dim& size, bool is_size) {
    const auto* text = std::get_if<std::string>(&size);
    const auto value = text != nullptr ? SymInt::parse(*text) : std::nullopt;
    if (!value) return;
    for (const auto& name : value->symbols()) f(name, is_size);
  };
  if (meta.shape) {
    for (const auto& size : *meta.shape) read(size, true);
  }
  if (meta.value) read(*meta.value, false);
}

struct Comparison {
  Relation relation;
  SymInt left, right;
};

// "u0 <= s77".
std::optional<Comparison> parse_comparison(std::string_view text) {
  constexpr std::array<Relation, 6> kRelations{Relation::kEqual,   Relation::kNotEqual,
                                               Relation::kLess,    Relation::kLessEqual,
                                               Relation::kGreater, Relation::kGreaterEqual};
  for (const Relation relation : kRelations) {
    const std::string symbol = " " + std::string(to_string(relation)) + " ";
    const std::size_t at = text.find(symbol);
    if (at == std::string_view::npos) continue;
    const auto left = SymInt::parse(text.substr(0, at));
    const auto right = SymInt::parse(text.substr(at + symbol.size()));
    if (!left || !right) return std::nullopt;
    return Comparison{relation, *left, *right};
  }
  return std::nullopt;
}

Range common(const Range& a, const Range& b) {
  Range result = a;
  if (b.low) result.low = std::max(*b.low, a.low.value_or(*b.low));
  if (b.high) result.high = std::min(*b.high, a.high.value_or(*b.high));
  return result;
}

// "1..64", or "8" of one value.
std::string text_of(const Range& range) { return range_text({"", range.low, range.high}); }

// Empty when nothing is said.
std::string guard_text(const std::string& expr, const Range& range) {
  const auto& [low, high] = range;
  if (low && low == high) return expr + " == " + std::to_string(*low);
  if (low && high) return std::to_string(*low) + " <= " + expr + " <= " + std::to_string(*high);
  if (low) return expr + " >= " + std::to_string(*low);
  if (high) return expr + " <= " + std::to_string(*high);
  return "";
}

}  // namespace

ProgramDimensions::ProgramDimensions(std::vector<RangeConstraint> constraints, const ProgramGraph& graph)
    : constraints_(std::move(constraints)) {
  std::unordered_map<std::string, Range> ranges;
  for (const auto& [expr, range] : constraints_) {
    // torch.export writes such a size as a number; files that do not must not make every size depend on them.
    const bool is_single = range.low && range.low == range.high;
    ranges.emplace(expr, is_single ? Range{range.low, std::nullopt} : range);
  }
  const auto range_of = [&](const std::string& name, bool is_size) {
    const auto found = ranges.find(name);
    return common(Range{is_size ? std::optional<std::int64_t>(0) : std::nullopt, std::nullopt},
                  found != ranges.end() ? found->second : Range{});
  };
  for (const bool sizes : {true, false}) {
    for (const auto& input : graph.inputs) {
      for_each_name(graph.values[input.value.index].meta, [&](const std::string& name, bool is_size) {
        const Range range = range_of(name, is_size);
        if (is_size == sizes) add_name(name, range, range);
      });
    }
  }
  // What depends on data need not be a size: it may be negative.
  for (const auto& constraint : constraints_) {
    const auto value = SymInt::parse(constraint.expr);
    if (!value) continue;
    for (const auto& name : value->symbols()) add_name(name, range_of(name, false), {});
  }
}

void ProgramDimensions::add_name(const std::string& name, const Range& known, const Range& given) {
  if (!known_names_.insert(name).second) return;
  names_.push_back(name);
  if (!known_.narrow(name, known)) known_.narrow(name, {});
  if (!given_.narrow(name, given)) given_.narrow(name, {});
}

void ProgramDimensions::add_names(const ProgramGraph& graph) {
  for (const ProgramValue& value : graph.values) {
    for_each_name(value.meta, [this](const std::string& name, bool) { add_name(name, {}, {}); });
  }
  for (const Operation& operation : graph.operations) {
    for (const ProgramBody& body : operation.bodies) add_names(body.graph);
  }
}

// --- options ---

void ProgramDimensions::narrow(const TraceOptions& options, const ProgramGraph& graph,
                               const GraphSignature& signature) {
  if (!options.dimensions.empty()) add_names(graph);
  for (const DimensionRange& range : options.dimensions) {
    narrow(range.name, {range.low, range.high}, "--dim " + range.name + "=" + range_text(range));
  }
  for (const ConcreteArg& concrete : options.concrete) {
    const auto* number = concrete.value.get_if<std::int64_t>();
    if (number == nullptr) continue;
    for (std::size_t i = 0; i < signature.inputs.size(); ++i) {
      const Meta& meta = graph.values[graph.inputs[i].value.index].meta;
      const auto* expr = meta.value ? std::get_if<std::string>(&*meta.value) : nullptr;
      if (signature.inputs[i].target || signature.inputs[i].name != concrete.name) continue;
      if (expr == nullptr || meta.type != "int") continue;
      fix(*expr, *number, "--concrete " + concrete.name + "=" + std::to_string(*number));
    }
  }
}

void ProgramDimensions::narrow(const std::string& name, const Range& range, const std::string& option) {
  if (known_names_.count(name) == 0) {
    const std::string nearest = find_nearest(name, names_);
    throw usage_error(option + ": no dimension '" + name + "'" +
                          (nearest.empty() ? "" : ", did you mean '" + nearest + "'?"),
                      {names_.empty() ? "all sizes are fixed" : "the dimensions are " + list()});
  }
  if (!known_.narrow(name, range)) {
    throw usage_error(option + ": does not overlap with " + text_of(known_.range(name)) + ", the range of " +
                      name);
  }
  given_.narrow(name, range);
  asked_.push_back({name, range});
}

void ProgramDimensions::fix(const std::string& expr, std::int64_t number, const std::string& option) {
  const auto value = SymInt::parse(expr);
  if (!value) return;
  if (const auto name = value->symbol_name()) return narrow(*name, {number, number}, option);
  if (!known_.assume(Relation::kEqual, *value, number)) {
    throw usage_error(option + ": the input is " + expr + ", where " + list());
  }
  given_.assume(Relation::kEqual, *value, number);
  asked_.push_back({expr, {number, number}});
}

std::string ProgramDimensions::list() const {
  constexpr std::size_t kLongest = 400;
  std::string text;
  for (const auto& name : names_) {
    if (text.size() > kLongest) return text + ", ...";
    const Range range = known_.range(name);
    text += (text.empty() ? "" : ", ") + name;
    if (range.low || range.high) text += " (" + text_of(range) + ")";
  }
  return text;
}

std::vector<std::string> ProgramDimensions::guards() const {
  std::vector<RangeConstraint> said = constraints_;
  for (RangeConstraint& constraint : said) {
    const auto value = SymInt::parse(constraint.expr);
    if (!value || asked_.empty()) continue;
    if (value->symbol_name()) {
      for (const auto& asked : asked_) {
        if (asked.expr == constraint.expr) constraint.range = common(constraint.range, asked.range);
      }
      continue;
    }
    const SymInt left = known_.simplify(*value);
    constraint = {left.text(), common(constraint.range, known_.bounds(left))};
    if (left.is_number()) constraint.range = {};
  }
  for (const auto& asked : asked_) {
    const bool is_said = std::any_of(constraints_.begin(), constraints_.end(),
                                     [&](const auto& other) { return other.expr == asked.expr; });
    if (!is_said) said.push_back(asked);
  }
  std::vector<std::string> texts;
  std::set<std::string> seen;
  for (const auto& [expr, range] : said) {
    std::string text = guard_text(expr, range);
    if (!text.empty() && seen.insert(text).second) texts.push_back(std::move(text));
  }
  return texts;
}

// --- the graph ---

void ProgramDimensions::apply(ProgramGraph& graph) {
  if (asked_.empty()) return;
  check_asserts(graph);
  const auto apply_to_graph = [this](ProgramGraph& each, const auto& self) -> void {
    for (ProgramValue& value : each.values) apply_to(value);
    for (Operation& operation : each.operations) {
      operation.holds = holds(operation, each);
      for (ProgramBody& body : operation.bodies) self(body.graph, self);
    }
  };
  apply_to_graph(graph, apply_to_graph);
}

// Of bodies nothing is said: they need not run.
void ProgramDimensions::check_asserts(const ProgramGraph& graph) const {
  for (const Operation& operation : graph.operations) {
    const auto condition = asserted_condition(operation, graph);
    if (condition.empty() || decide(given_, condition) != false) continue;
    throw usage_error("the program asserts " + std::string(condition) + ", which can no longer hold",
                      {"with the given options the dimensions are " + list()});
  }
}

void ProgramDimensions::apply_to(ProgramValue& value) {
  Meta& meta = value.meta;
  if (meta.shape) {
    for (auto& size : *meta.shape) size = narrowed(size);
  }
  const auto* text = meta.value ? std::get_if<std::string>(&*meta.value) : nullptr;
  if (text == nullptr) return;
  if (meta.type == "int") {
    meta.value = narrowed(*meta.value);
    if (const auto* number = std::get_if<std::int64_t>(&*meta.value)) value.fixed = *number;
  } else if (const auto decided = meta.type == "bool" ? decide(given_, *text) : std::nullopt) {
    value.fixed = *decided;
    meta.value = *decided ? "True" : "False";
  } else if (const auto comparison = meta.type == "bool" ? parse_comparison(*text) : std::nullopt) {
    meta.value = known_.simplify(comparison->left).text() + " " + to_string(comparison->relation) + " " +
                 known_.simplify(comparison->right).text();
  } else {
    meta.value = with_numbers(*text);
  }
}

bool ProgramDimensions::holds(const Operation& operation, const ProgramGraph& graph) const {
  const std::string_view callee = operation.target.aten_name();
  const bool is_size = callee == "sym_constrain_range_for_size";
  if ((!is_size && callee != "sym_constrain_range") || operation.args.empty()) return false;
  Range allowed{is_size ? std::optional<std::int64_t>(0) : std::nullopt, std::nullopt};
  for (const auto& [name, argument] : operation.kwargs) {
    const auto* number = argument.get_if<std::int64_t>();
    if (number != nullptr && name == "min") allowed.low = *number;
    if (number != nullptr && name == "max") allowed.high = *number;
  }
  std::optional<SymInt> size;
  if (const auto* number = operation.args[0].get_if<std::int64_t>()) size = *number;
  if (const auto* value = operation.args[0].get_if<ValueId>()) {
    const auto& known = graph.values[value->index].meta.value;
    if (!known) return false;
    const auto* number = std::get_if<std::int64_t>(&*known);
    size = number != nullptr ? SymInt(*number) : SymInt::parse(std::get<std::string>(*known));
  }
  if (!size) return false;
  const Range bounds = given_.bounds(*size);
  return (!allowed.low || (bounds.low && *bounds.low >= *allowed.low)) &&
         (!allowed.high || (bounds.high && *bounds.high <= *allowed.high));
}

Meta::Dim ProgramDimensions::narrowed(const Meta::Dim& size) {
  const auto* text = std::get_if<std::string>(&size);
  if (text == nullptr) return size;
  const auto [entry, is_new] = narrowed_.emplace(*text, Meta::Dim());
  if (!is_new) return entry->second;
  if (const auto value = SymInt::parse(*text)) {
    const SymInt simple = known_.simplify(*value);
    const auto number = simple.number();
    entry->second = number ? Meta::Dim(*number) : Meta::Dim(simple.text());
  } else {
    entry->second = with_numbers(*text);
  }
  return entry->second;
}

// For what is no integer expression: "s77/2".
std::string ProgramDimensions::with_numbers(std::string_view text) const {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && is_word(text[end])) ++end;
    if (end == at) {
      result += text[at++];
      continue;
    }
    const std::string word(text.substr(at, end - at));
    const Range range = known_names_.count(word) != 0 ? known_.range(word) : Range{};
    result += range.low && range.low == range.high ? std::to_string(*range.low) : word;
    at = end;
  }
  return result;
}

// "u0 >= 1 and u0 <= s77".
std::optional<bool> ProgramDimensions::decide(const Dimensions& dimensions, std::string_view condition) {
  constexpr std::string_view kAnd = " and ";
  bool is_true = true;
  for (;;) {
    const std::size_t end = condition.find(kAnd);
    const auto part = parse_comparison(condition.substr(0, end));
    const auto decided = part ? dimensions.decide(part->relation, part->left, part->right) : std::nullopt;
    if (decided == false) return false;
    is_true = is_true && decided.has_value();
    if (end == std::string_view::npos) break;
    condition.remove_prefix(end + kAnd.size());
  }
  return is_true ? std::optional<bool>(true) : std::nullopt;
}

}  // namespace fxtrace
