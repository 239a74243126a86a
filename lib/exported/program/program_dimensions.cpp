#include "exported/program/program_dimensions.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "analysis/program_operations.h"
#include "support/error.h"
#include "support/text/did_you_mean.h"
#include "support/text/words.h"
#include "symbolic/sym_int.h"
#include "trace/options/input_spec.h"

namespace fxtrace::internal {
namespace {

// Calls f(name) for the dimensions in `value`.
template <class F>
void for_each_dimension(const Expression& value, F&& f) {
  if (const SymInt* size = value.size()) {
    for (const auto& name : size->symbols()) f(name);
  }
}

// Calls f(name, is_size) for the dimensions in `meta`; an integer need not be a size.
template <class F>
void for_each_name(const Meta& meta, F&& f) {
  if (meta.shape) {
    for (const Expression& size : *meta.shape)
      for_each_dimension(size, [&](const auto& name) { f(name, true); });
  }
  if (meta.value) for_each_dimension(*meta.value, [&](const auto& name) { f(name, false); });
}

Range common(const Range& a, const Range& b) {
  Range result = a;
  if (b.low) result.low = std::max(*b.low, a.low.value_or(*b.low));
  if (b.high) result.high = std::min(*b.high, a.high.value_or(*b.high));
  return result;
}

// Returns "1..64", or "8" for a single value.
std::string text_of(const Range& range) { return range_text({"", range.low, range.high}); }

// Returns the range as a condition; nothing for a range without bounds.
std::optional<Expression> guard_of(const Expression& expr, const Range& range) {
  const auto& [low, high] = range;
  if (low && low == high) return Expression::comparison(Relation::kEqual, expr, *low);
  if (low && high) {
    return Expression::all({Expression::comparison(Relation::kLessEqual, *low, expr),
                            Expression::comparison(Relation::kLessEqual, expr, *high)});
  }
  if (low) return Expression::comparison(Relation::kGreaterEqual, expr, *low);
  if (high) return Expression::comparison(Relation::kLessEqual, expr, *high);
  return std::nullopt;
}

}  // namespace

ProgramDimensions::ProgramDimensions(std::vector<RangeConstraint> constraints, const ProgramView& graph)
    : constraints_(std::move(constraints)) {
  std::unordered_map<std::string, Range> ranges;
  for (const auto& [expr, range] : constraints_) {
    // torch.export writes a size with a single value as a number.  A file with a symbol for it must not make
    // every size depend on that symbol.
    const bool is_single = range.low && range.low == range.high;
    ranges.emplace(expr.text(), is_single ? Range{range.low, std::nullopt} : range);
  }
  const auto range_of = [&](const std::string& name, bool is_size) {
    const auto found = ranges.find(name);
    return common(Range{is_size ? std::optional<std::int64_t>(0) : std::nullopt, std::nullopt},
                  found != ranges.end() ? found->second : Range{});
  };
  for (const bool sizes : {true, false}) {
    for (const NodeId input : graph.inputs()) {
      for_each_name(graph.meta(input), [&](const std::string& name, bool is_size) {
        const Range range = range_of(name, is_size);
        if (is_size == sizes) add_name(name, range, range);
      });
    }
  }
  // A data-dependent integer need not be a size: it may be negative.
  for (const auto& constraint : constraints_) {
    for_each_dimension(constraint.expr,
                       [&](const std::string& name) { add_name(name, range_of(name, false), {}); });
  }
}

void ProgramDimensions::add_name(const std::string& name, const Range& known, const Range& given) {
  if (!known_names_.insert(name).second) return;
  names_.push_back(name);
  if (!known_.narrow(name, known)) known_.narrow(name, {});
  if (!given_.narrow(name, given)) given_.narrow(name, {});
}

void ProgramDimensions::add_names(const ModuleGraph& graph) {
  for (const NodeId id : graph.graph.order())
    for_each_name(*graph.graph.node(id).meta,
                  [this](const std::string& name, bool) { add_name(name, {}, {}); });
  for (const Subgraph& subgraph : graph.subgraphs) add_names(subgraph.graph);
}

// --- options ---

void ProgramDimensions::narrow(const TraceOptions& options, const ProgramView& graph,
                               const GraphSignature& signature) {
  may_leave_ranges_ = options.beyond_ranges;
  const std::vector<NodeId> inputs = graph.inputs();
  if (!options.dimensions.empty()) add_names(graph.module_graph());
  for (const DimensionRange& range : options.dimensions) {
    narrow(range.name, {range.low, range.high}, "--dim " + shell_word(range.name + "=" + range_text(range)));
  }
  for (const InputSpec& spec : options.inputs) narrow_by_input(spec, graph, signature);
  for (const ConcreteArg& concrete : options.concrete) {
    const auto* number = concrete.value.get_if<std::int64_t>();
    if (number == nullptr) continue;
    for (std::size_t i = 0; i < signature.inputs.size(); ++i) {
      const Meta& meta = graph.meta(inputs[i]);
      if (signature.inputs[i].target || signature.inputs[i].name != concrete.name) continue;
      if (!meta.value || meta.value->number() || meta.kind() != ValueKind::kInt) continue;
      fix(*meta.value, *number, "--concrete " + shell_word(concrete.name + "=" + std::to_string(*number)));
    }
  }
}

void ProgramDimensions::narrow(const std::string& name, const Range& range, const std::string& option) {
  if (known_names_.count(name) == 0) {
    throw usage_error(option + ": no dimension '" + name + "'" + did_you_mean(name, names_),
                      {names_.empty() ? "all sizes are fixed" : "the dimensions are " + list()});
  }
  // torch.export assumes that every dynamic size is 2 or more; the costs with a size of 1 are known anyway.
  constexpr std::int64_t kLeast = 2;
  const Range own = known_.range(name);
  if (may_leave_ranges_ && range.low && range.low == range.high && *range.low >= 0 && *range.low < kLeast &&
      own.low == kLeast) {
    const auto [entry, is_new] = beyond_.emplace(name, *range.low);
    if (!is_new && entry->second != SymInt(*range.low))
      throw usage_error(option + ": " + name + " is set to " + entry->second.text() + " by another option");
    asked_.push_back({Expression::name(name), range});
    return;
  }
  if (beyond_.contains(name) || !known_.narrow(name, range)) {
    throw usage_error(option + ": does not overlap with " + text_of(known_.range(name)) + ", the range of " +
                      name);
  }
  given_.narrow(name, range);
  asked_.push_back({Expression::name(name), range});
}

void ProgramDimensions::fix(const Expression& expr, std::int64_t number, const std::string& option) {
  const SymInt* value = expr.size();
  if (value == nullptr) return;
  if (const auto name = value->symbol_name()) return narrow(*name, {number, number}, option);
  if (!known_.assume(Relation::kEqual, *value, number)) {
    throw usage_error(option + ": the input is " + expr.text() + ", with " + list());
  }
  given_.assume(Relation::kEqual, *value, number);
  asked_.push_back({expr, {number, number}});
}

void ProgramDimensions::narrow_by_input(const InputSpec& spec, const ProgramView& graph,
                                        const GraphSignature& signature) {
  const std::string option = "--input " + shell_word(spec.name + "=" + spec.text);
  std::vector<std::string> names;
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < signature.inputs.size(); ++i) {
    if (signature.inputs[i].role != SignatureRole::kUserInput) continue;
    const std::string& name = signature.inputs[i].name;
    // The program joins the parts of "past.0.k" to the name "past_0_k".
    std::string path = spec.name;
    std::ranges::replace(path, '.', '_');
    if (spec.name == name || path == name || spec.name == std::to_string(names.size())) found = i;
    names.push_back(name);
  }
  if (!found) {
    throw usage_error(
        option + ": the program has no input " + shell_quoted(spec.name) + did_you_mean(spec.name, names),
        {"the inputs are " + joined(names, shell_word)});
  }
  const Meta& meta = graph.meta(graph.inputs()[*found]);
  const ParsedInputSpec parsed = parse_input_spec(spec);
  const auto wrong = [&](const std::string& what) {
    return usage_error(option + ": " + what, {names_.empty() ? "all sizes of the program are fixed"
                                                             : "the dimensions are " + list()});
  };
  const auto fit = [&](const Expression& own, const SymInt& given, const std::string& which) {
    if (own.size() != nullptr && *own.size() == given) return;
    if (const auto own_number = own.number(); own_number || !given.number()) {
      throw wrong(which + " is " + own.text() + " in the program" +
                  (own_number ? ", fixed when it was exported" : "; give a number, or --dim a range"));
    }
    fix(own, *given.number(), option);
  };
  if (!parsed.dtype) {
    if (meta.kind() != ValueKind::kInt || !meta.value) throw wrong("the program's input is not an integer");
    return fit(*meta.value, parsed.value, "the input");
  }
  if (!meta.shape || !meta.dtype) throw wrong("the program's input is not a tensor");
  if (const std::string dtype = dtype_name(*meta.dtype); dtype != *parsed.dtype)
    throw wrong("the program's input has dtype " + dtype);
  if (meta.shape->size() != parsed.shape.size())
    throw wrong("the program's input has " + std::to_string(meta.shape->size()) + " dimensions");
  for (std::size_t i = 0; i < parsed.shape.size(); ++i)
    fit((*meta.shape)[i], parsed.shape[i], "size " + std::to_string(i));
}

std::vector<Diagnostic> ProgramDimensions::warnings() const {
  std::vector<Diagnostic> warnings;
  for (const auto& [name, number] : beyond_) {
    warnings.push_back(
        {"{} is {}, but the program was exported for {}: sizes and costs hold, but it may not run like this",
         {name, number.text(), text_of(known_.range(name))}});
  }
  return warnings;
}

std::string ProgramDimensions::list() const {
  constexpr std::size_t kLongest = 400;
  std::string text;
  for (const auto& name : names_) {
    if (text.size() > kLongest) return text + ", ...";
    const Range range = known_.range(name);
    text += (text.empty() ? "" : ", ") + shell_word(name);
    if (range.low || range.high) text += " (" + text_of(range) + ")";
  }
  return text;
}

namespace {

// Returns the smallest range with all integers that (factor*value + offset)/divisor can be.
Range moved(const Range& range, const Affine& affine) {
  const auto bound = [&](const std::optional<std::int64_t>& value,
                         bool is_low) -> std::optional<std::int64_t> {
    std::int64_t result = 0;
    if (!value || __builtin_mul_overflow(affine.factor, *value, &result) ||
        __builtin_add_overflow(result, affine.offset, &result))
      return std::nullopt;
    const std::int64_t down = result / affine.divisor - (result % affine.divisor < 0 ? 1 : 0);
    return down + (is_low && result % affine.divisor != 0 ? 1 : 0);
  };
  if (affine.factor > 0) return {bound(range.low, true), bound(range.high, false)};
  return {bound(range.high, true), bound(range.low, false)};
}

}  // namespace

std::vector<Expression> ProgramDimensions::guards(const InputSizes& inputs) const {
  std::vector<RangeConstraint> said = constraints_;
  for (RangeConstraint& constraint : said) {
    const SymInt* value = constraint.expr.size();
    if (value == nullptr || asked_.empty()) continue;
    if (value->symbol_name()) {
      for (const auto& asked : asked_) {
        if (asked.expr == constraint.expr) constraint.range = common(constraint.range, asked.range);
      }
      continue;
    }
    const SymInt left = known_.simplify(*value);
    constraint = {left, common(constraint.range, known_.bounds(left))};
    if (left.is_number()) constraint.range = {};
  }
  for (const auto& asked : asked_) {
    const bool is_said = std::any_of(constraints_.begin(), constraints_.end(),
                                     [&](const auto& other) { return other.expr == asked.expr; });
    if (!is_said) said.push_back(asked);
  }
  // A dimension that is not itself a size of an input is checked in a size that it is part of.
  const auto sources = inputs.sources();
  std::map<std::size_t, std::size_t> moved_to;  // positions in `said`, by position of the input's size
  for (std::size_t i = 0; i < said.size(); ++i) {
    const SymInt* value = said[i].expr.size();
    const std::vector<std::string> names = value == nullptr ? std::vector<std::string>() : value->symbols();
    const auto source = names.size() == 1 ? sources.find(names[0]) : sources.end();
    if (source == sources.end() || source->second.is_plain) continue;
    const InputSize& at = inputs.sizes()[source->second.position];
    const auto affine = find_affine(at.size, *value);
    if (!affine) continue;
    const auto [first, is_first] = moved_to.emplace(source->second.position, i);
    said[i] = {at.place, moved(said[i].range, *affine)};
    if (is_first) continue;
    said[first->second].range = common(said[first->second].range, said[i].range);
    said[i].range = {};
  }
  std::vector<Expression> guards;
  std::set<std::string> seen;
  for (const auto& [expr, range] : said) {
    auto guard = guard_of(expr, range);
    if (guard && seen.insert(guard->text()).second) guards.push_back(*std::move(guard));
  }
  return guards;
}

// --- the graph ---

void ProgramDimensions::apply(ExportedGraph& graph) {
  if (!are_narrowed()) return;
  check_asserts(graph.view());
  const auto apply_to_graph = [this](ModuleGraph& each, ProgramTable& facts, const auto& self) -> void {
    for (const NodeId id : each.graph.order()) {
      const Meta& before = *each.graph.node(id).meta;
      if (before.shape || before.value) {
        Meta meta = before;
        if (auto fixed = apply_to(meta)) facts.fixed.insert_or_assign(id.index, *std::move(fixed));
        each.graph.set_meta(id, std::move(meta));
      }
    }
    for (const NodeId id : ProgramView(each, facts).operations())
      facts.at(id).holds = holds(each.graph.node(id), each.graph);
    for (Subgraph& subgraph : each.subgraphs) self(subgraph.graph, facts.subgraphs.at(subgraph.name), self);
  };
  apply_to_graph(graph.module_graph, graph.table, apply_to_graph);
}

// Throws for an assert that cannot hold.  Asserts in subgraphs are skipped, as a subgraph need not run.
void ProgramDimensions::check_asserts(const ProgramView& graph) const {
  if (!beyond_.empty()) return;
  for (const NodeId operation : graph.operations()) {
    const Expression* condition = asserted_condition(graph, operation);
    if (condition == nullptr || decide(given_, *condition) != false) continue;
    throw usage_error("the program asserts " + condition->text() + ", which can no longer hold",
                      {"with the given options the dimensions are " + list()});
  }
}

// Narrows what is known of a value.  Returns the value of an integer or boolean that has one possibility
// left.
std::optional<Argument> ProgramDimensions::apply_to(Meta& meta) {
  if (meta.shape) {
    for (auto& size : *meta.shape) size = narrowed(size);
  }
  if (!meta.value || meta.value->number()) return std::nullopt;
  if (meta.kind() == ValueKind::kInt) {
    meta.value = narrowed(*meta.value);
    if (const auto number = meta.value->number()) return Argument(*number);
  } else if (const auto decided =
                 meta.kind() == ValueKind::kBool ? decide(given_, *meta.value) : std::nullopt) {
    meta.value = Expression::boolean(*decided);
    return Argument(*decided);
  } else {
    meta.value = narrowed(*meta.value);
  }
  return std::nullopt;
}

bool ProgramDimensions::holds(const Node& operation, const Graph& graph) const {
  const std::string_view callee = aten_name(operation);
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
  if (const auto* value = operation.args[0].get_if<NodeId>()) {
    const auto& known = graph.node(*value).meta->value;
    if (known && known->size() != nullptr) size = *known->size();
  }
  if (!size) return false;
  const Range bounds = given_.bounds(*size);
  return (!allowed.low || (bounds.low && *bounds.low >= *allowed.low)) &&
         (!allowed.high || (bounds.high && *bounds.high <= *allowed.high));
}

Expression ProgramDimensions::narrowed(const Expression& value) {
  if (value.number()) return value;
  const auto [entry, is_new] = narrowed_.emplace(value.text(), Expression());
  if (is_new) {
    entry->second = value.map_sizes([this](const SymInt& size) {
      return known_.simplify(beyond_.empty() ? size : size.substitute(beyond_));
    });
  }
  return entry->second;
}

// Decides a relation, or several joined by `and`: u0 >= 1 and u0 <= s77.
std::optional<bool> ProgramDimensions::decide(const ShapeEnv& dimensions, const Expression& condition) {
  if (const auto relation = condition.relation()) {
    return dimensions.decide(*relation, *condition.parts()[0].size(), *condition.parts()[1].size());
  }
  if (condition.kind() != Expression::Kind::kAnd) return std::nullopt;
  std::optional<bool> all = true;
  for (const Expression& part : condition.parts()) {
    const auto decided = decide(dimensions, part);
    if (decided == false) return false;
    if (!decided) all.reset();
  }
  return all;
}

}  // namespace fxtrace::internal
