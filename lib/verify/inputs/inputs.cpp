#include "verify/inputs/inputs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "graph/analysis/input_sizes.h"
#include "symbolic/affine.h"
#include "symbolic/sym_int.h"
#include "trace/options/input_spec.h"
#include "verify/calls/graph_run.h"
#include "verify/inputs/guard_evaluator.h"

namespace fxtrace::internal::verify {
namespace {

constexpr std::int64_t kMostDrawn = 16;  // values at first, if there is no upper bound
constexpr std::int64_t kFar = std::int64_t{1} << 40;
constexpr int kTries = 200;

std::uint64_t mixed(std::uint64_t seed, std::uint64_t with) {
  seed = (seed ^ (with + 0x9E3779B97F4A7C15 + (seed << 6) + (seed >> 2))) * 0xBF58476D1CE4E5B9;
  return seed ^ (seed >> 31);
}

void note_sizes(const Expression& expression, std::map<std::string, DimensionRange>& ranges) {
  const SymInt* size = expression.size();
  if (size == nullptr) return;
  for (const std::string& name : size->symbols()) ranges.try_emplace(name, DimensionRange{name, {}, {}});
}

// Narrows the range of a dimension by a condition such as s0*2 >= 66.
void note_bounds(const Expression& condition, std::map<std::string, DimensionRange>& ranges) {
  if (condition.kind() == Expression::Kind::kAnd) {
    for (const Expression& part : condition.parts()) note_bounds(part, ranges);
  }
  auto relation = condition.relation();
  if (!relation || *relation == Relation::kNotEqual) return;
  try {
    const SymInt difference = *condition.parts()[0].size() - *condition.parts()[1].size();
    const std::vector<std::string> names = difference.symbols();
    const auto range = names.size() == 1 ? ranges.find(names[0]) : ranges.end();
    if (range == ranges.end()) return;
    const auto line = find_affine(difference, SymInt::symbol(names[0]));
    if (!line || line->divisor != 1 || line->offset >= kFar || line->offset <= -kFar) return;
    // factor*name + offset is 0 at this value of the dimension, or between it and the next.
    const std::int64_t steps = std::abs(line->factor);
    const std::int64_t at = line->factor > 0 ? -line->offset : line->offset;
    const std::int64_t down = at / steps - (at % steps < 0 ? 1 : 0);
    const std::int64_t up = down + (at % steps != 0 ? 1 : 0);
    const auto at_least = [&](std::int64_t low) {
      range->second.low = std::max(range->second.low.value_or(low), low);
    };
    const auto at_most = [&](std::int64_t high) {
      range->second.high = std::min(range->second.high.value_or(high), high);
    };
    const bool is_less = *relation == Relation::kLess || *relation == Relation::kLessEqual;
    const bool is_strict = *relation == Relation::kLess || *relation == Relation::kGreater;
    if (*relation == Relation::kEqual || is_less == (line->factor < 0)) at_least(is_strict ? down + 1 : up);
    if (*relation == Relation::kEqual || is_less == (line->factor > 0)) at_most(is_strict ? up - 1 : down);
  } catch (const SymbolicError&) {
  }
}

}  // namespace

const char* to_string(InputOrigin origin) {
  switch (origin) {
    case InputOrigin::kRandom:
      return "random";
    case InputOrigin::kSample:
      return "sample";
    case InputOrigin::kFile:
      return "file";
  }
  return "";
}

InputMaker::InputMaker(const Engine& engine, const GraphCollection& collection, const TraceOptions& options,
                       std::uint64_t seed, GivenInputs given)
    : engine_(engine),
      collection_(collection),
      graph_(collection.graphs.front()),
      options_(options),
      seed_(seed),
      given_(std::move(given)) {
  for (const InputSpec& spec : options.inputs) {
    const ParsedInputSpec parsed = parse_input_spec(spec);
    for (const SymInt& size : parsed.shape) note_sizes(size, ranges_);
    if (!parsed.dtype) note_sizes(parsed.value, ranges_);
  }
  for_each_placeholder(graph_.graph, [&](const Node& node) {
    if (node.meta->shape) {
      for (const auto& size : *node.meta->shape) note_sizes(size, ranges_);
    }
    if (node.meta->value) note_sizes(*node.meta->value, ranges_);
  });
  for (const DimensionRange& range : options.dimensions) {
    DimensionRange& known = ranges_.try_emplace(range.name, DimensionRange{range.name, {}, {}}).first->second;
    if (range.low) known.low = std::max(known.low.value_or(*range.low), *range.low);
    if (range.high) known.high = std::min(known.high.value_or(*range.high), *range.high);
  }
  const InputSizes sizes(graph_);
  for (const Guard& guard : graph_.guards) note_bounds(sizes.over_dimensions(guard.expr), ranges_);
}

// Returns whether all inputs are given and fit.  Samples of a program may lack values that only Python can
// read, and may not fit a graph that passes have changed.
bool InputMaker::gives_all() const {
  bool all = true;
  for_each_placeholder(graph_.graph,
                       [&](const Node& node) { all = all && given_.values.contains(*node.target); });
  if (!all) return false;
  try {
    given_sizes();
    return true;
  } catch (const RunError&) {
    return false;
  }
}

void InputMaker::bind(const Expression& said, std::int64_t actual, Sizes& sizes) const {
  const SymInt* size = said.size();
  if (size == nullptr) return;
  if (const auto found = solve(*size, actual, sizes)) {
    const auto& [name, value] = *found;
    sizes.emplace(name, value);
    const auto range = ranges_.find(name);
    const bool fits = range == ranges_.end() || (value >= range->second.low.value_or(value) &&
                                                 value <= range->second.high.value_or(value));
    if (!fits) throw RunError(name + " is " + std::to_string(value) + ", which is out of its range");
    return;
  }
  const auto number = size->evaluate(sizes);
  if (number && *number != actual) {
    throw RunError("a size is " + std::to_string(actual) + ", but the graph takes " + said.text() +
                   (size->number() ? "" : ", which is " + std::to_string(*number)));
  }
}

Sizes InputMaker::given_sizes() const {
  Sizes sizes;
  bind_given(sizes);
  bind_given(sizes);  // a second time for s*t, if a later input tells s
  return sizes;
}

void InputMaker::bind_given(Sizes& sizes) const {
  for_each_placeholder(graph_.graph, [&](const Node& node) {
    const auto given = given_.values.find(*node.target);
    if (given == given_.values.end()) return;
    const Meta& meta = *node.meta;
    try {
      if (engine_.is_tensor(given->second)) {
        const auto dtype = meta.dtype_text();
        if (dtype && *dtype != engine_.dtype(given->second))
          throw RunError("it is " + engine_.dtype(given->second) + ", but the graph takes " + *dtype);
        const std::vector<std::int64_t> shape = engine_.shape(given->second);
        if (!meta.shape) return;
        if (meta.shape->size() != shape.size()) {
          throw RunError("it has " + std::to_string(shape.size()) + " dimensions, but the graph takes " +
                         std::to_string(meta.shape->size()));
        }
        for (std::size_t i = 0; i < shape.size(); ++i) bind((*meta.shape)[i], shape[i], sizes);
      } else if (const auto number = engine_.integer_of(given->second); number && meta.value) {
        bind(*meta.value, *number, sizes);
      }
    } catch (const RunError& error) {
      throw RunError("the input " + *node.target + ": " + error.what());
    }
  });
}

Sizes InputMaker::draw(std::uint64_t seed, int tries) const {
  Sizes sizes;
  std::uint64_t place = 0;
  for (const auto& [name, range] : ranges_) {
    const std::int64_t low = range.low.value_or(std::min<std::int64_t>(2, range.high.value_or(2)));
    const std::int64_t most = range.high ? 4 * kMostDrawn : kMostDrawn - 1 + tries / 2;
    const std::int64_t above = low > kFar   ? 0
                               : range.high ? std::clamp<std::int64_t>(*range.high - low, 0, most)
                                            : most;
    const auto room = static_cast<std::uint64_t>(above) + 1;
    sizes[name] = low + static_cast<std::int64_t>(mixed(seed, ++place) % room);
  }
  return sizes;
}

bool InputMaker::fits(const Sizes& sizes) const {
  if (graph_.guards.empty()) return true;
  // Guards are evaluated with tensors on the meta device, which have sizes but no elements.
  std::map<std::string, RunValue> inputs;
  for_each_placeholder(graph_.graph, [&](const Node& node) {
    if (!node.meta->shape || !node.meta->dtype) return;
    std::vector<RunValue> extents;
    for (const Expression& dimension : *node.meta->shape) {
      const auto extent = dimension.size() == nullptr ? std::nullopt : dimension.size()->evaluate(sizes);
      if (extent && *extent >= 0) extents.push_back(engine_.integer(*extent));
    }
    if (extents.size() != node.meta->shape->size()) return;
    const std::pair<std::string, RunValue> dtype{
        "dtype", engine_.constant(Argument::Dtype{dtype_name(*node.meta->dtype)})};
    const std::pair<std::string, RunValue> device{"device", engine_.constant(Argument::Device{"meta"})};
    inputs.emplace(*node.target,
                   engine_.call("aten::empty", "memory_format", {{engine_.list(extents)}, {dtype, device}}));
  });
  const GuardEvaluator conditions(engine_, sizes, std::move(inputs));
  return std::ranges::none_of(graph_.guards,
                              [&](const Guard& guard) { return conditions.holds(guard.expr) == false; });
}

InputMaker::Inputs InputMaker::make(std::int64_t run) const {
  const std::uint64_t seed = mixed(seed_, static_cast<std::uint64_t>(run));
  Inputs inputs;
  Sizes known;
  if (given_.origin == InputOrigin::kFile ||
      (given_.origin == InputOrigin::kSample && run == 0 && gives_all())) {
    inputs.origin = given_.origin;
    known = given_sizes();
  }
  for (int i = 0; i < kTries; ++i) {
    inputs.sizes = known;
    inputs.sizes.merge(draw(mixed(seed, static_cast<std::uint64_t>(i)), i));
    if (fits(inputs.sizes)) break;
  }
  std::size_t position = 0;
  for_each_placeholder(graph_.graph, [&](const Node& node) {
    const auto given = given_.values.find(*node.target);
    const bool is_given = inputs.origin != InputOrigin::kRandom && given != given_.values.end();
    inputs.values.push_back(
        is_given ? given->second : make_value(node, position, inputs.sizes, mixed(seed, 1000 + position)));
    ++position;
  });
  return inputs;
}

// Returns the number of rows of the table if the node is a lookup in an embedding.
std::optional<std::int64_t> InputMaker::rows_of(const Node& lookup) const {
  if (lookup.op == Opcode::kCallModule) {
    const auto module = std::ranges::find(collection_.modules, called_module(lookup), &ModuleRecord::path);
    if (module == collection_.modules.end() || !module->type.ends_with("Embedding")) return std::nullopt;
    const auto weight =
        std::ranges::find(collection_.parameters, module->path + ".weight", &ParameterRecord::name);
    if (weight == collection_.parameters.end() || weight->shape.empty()) return std::nullopt;
    return weight->shape.front();
  }
  if (!lookup.target->starts_with("aten.embedding.") || lookup.args.empty()) return std::nullopt;
  const auto* table = lookup.args[0].get_if<NodeId>();
  if (table == nullptr) return std::nullopt;
  const auto& shape = graph_.graph.node(*table).meta->shape;
  return shape && !shape->empty() ? shape->front().number() : std::nullopt;
}

std::optional<InputMaker::DrawnRange> InputMaker::range_of(NodeId input) const {
  const Meta& meta = graph_.graph.node(input).meta;
  const bool is_integer = meta.dtype && is_integral(*meta.dtype) && meta.dtype != ScalarType::kBool;
  return meta.shape && is_integer ? std::optional(drawn_range(input)) : std::nullopt;
}

// Returns the range of an input: rows of the smallest embedding in which the input, or a view of it, is
// looked up; else 0 and 1.
InputMaker::DrawnRange InputMaker::drawn_range(NodeId input) const {
  if (const auto said = drawn_.find(input.index); said != drawn_.end()) return said->second;
  const Graph& graph = graph_.graph;
  std::optional<std::int64_t> rows;
  std::vector<NodeId> pending{input};
  constexpr std::size_t kMostLookedAt = 64;
  for (std::size_t i = 0; i < pending.size() && i < kMostLookedAt; ++i) {
    for (const NodeId user : graph.node(pending[i]).users) {
      const Node& node = graph.node(user);
      if (const auto size = rows_of(node)) {
        rows = std::min(rows.value_or(*size), *size);
      } else if (node.op == Opcode::kCallFunction && node.meta->dtype == graph.node(input).meta->dtype) {
        pending.push_back(user);
      }
    }
  }
  return {0, rows && *rows > 0 ? *rows - 1 : 1};
}

RunValue InputMaker::make_tensor(const std::string& dtype, const std::vector<Expression>& shape,
                                 const Sizes& sizes, DrawnRange range, std::uint64_t seed) const {
  std::vector<std::int64_t> extents;
  for (const Expression& dimension : shape) {
    const SymInt* size = dimension.size();
    const auto extent = size == nullptr ? std::nullopt : size->evaluate(sizes);
    if (!extent || *extent < 0)
      throw RunError("the size " + dimension.text().substr(0, 100) + " is not a number");
    extents.push_back(*extent);
  }
  if (dtype == "bool") range = {};
  return engine_.random_tensor(dtype, extents, range.low, range.high, seed);
}

RunValue InputMaker::make_container(const Node& node, const Sizes& sizes, std::uint64_t seed) const {
  const std::string prefix = *node.target + ".";
  const bool is_dict = node.meta->type.value_or("").starts_with("Dict");
  const bool is_tuple = node.meta->type.value_or("").starts_with("Tuple");
  std::vector<RunValue> keys;
  std::vector<RunValue> values;
  for (const InputSpec& spec : options_.inputs) {
    if (!spec.name.starts_with(prefix)) continue;
    const std::string key = spec.name.substr(prefix.size());
    if (key.find('.') != std::string::npos)
      throw RunError("nested values of the input " + *node.target + " cannot be made");
    const ParsedInputSpec parsed = parse_input_spec(spec);
    keys.push_back(engine_.text(key));
    const std::vector<Expression> shape(parsed.shape.begin(), parsed.shape.end());
    values.push_back(parsed.dtype ? make_tensor(*parsed.dtype, shape, sizes, {}, mixed(seed, values.size()))
                                  : engine_.integer(parsed.value.evaluate(sizes).value_or(0)));
  }
  if (values.empty()) throw MissingInput(*node.target);
  if (is_dict) return engine_.dict(keys, values);
  return is_tuple ? engine_.tuple(values) : engine_.list(values);
}

RunValue InputMaker::make_value(const Node& node, std::size_t position, const Sizes& sizes,
                                std::uint64_t seed) const {
  for (const InputSpec& spec : options_.inputs) {
    if (spec.name != *node.target && spec.name != std::to_string(position)) continue;
    const ParsedInputSpec parsed = parse_input_spec(spec);
    if (!parsed.dtype) return engine_.integer(parsed.value.evaluate(sizes).value_or(0));
    return make_tensor(*parsed.dtype, {parsed.shape.begin(), parsed.shape.end()}, sizes, drawn_range(node.id),
                       seed);
  }
  if (graph_.signature) {
    const auto entry = std::ranges::find(graph_.signature->inputs, node.id, &GraphSignature::Entry::node);
    if (entry != graph_.signature->inputs.end() && entry->value) return engine_.constant(*entry->value);
  }
  const Meta& meta = *node.meta;
  if (const auto dtype = meta.dtype_text(); meta.shape && dtype)
    return make_tensor(*dtype, *meta.shape, sizes, drawn_range(node.id), seed);
  if (meta.value && meta.value->size() != nullptr) {
    if (const auto number = meta.value->size()->evaluate(sizes)) return engine_.integer(*number);
  }
  const std::string type = meta.type.value_or("Tensor");
  if (std::ranges::any_of(options_.inputs,
                          [&](const InputSpec& spec) { return spec.name.starts_with(*node.target + "."); }))
    return make_container(node, sizes, seed);
  if (!node.args.empty()) return engine_.constant(node.args[0]);  // the default of the placeholder
  if (type.starts_with("Optional[")) return engine_.none();
  switch (meta.kind()) {
    case ValueKind::kInt:
      return engine_.integer(1 + static_cast<std::int64_t>(seed % 4));
    case ValueKind::kFloat:
      return engine_.constant(0.25 + static_cast<double>(seed % 8) / 4);
    case ValueKind::kBool:
      return engine_.constant(seed % 2 == 0);
    default:
      throw MissingInput(*node.target);
  }
}

namespace {

constexpr int kMostTries = 80;
constexpr double kNoIndex = 1e15;  // larger numbers are not indices

bool is_about_indices(std::string_view message) {
  constexpr std::array<std::string_view, 7> kWords{
      "index", "indices", "out of range", "out of bounds", "Class values", "negative", "Target"};
  return std::ranges::any_of(
      kWords, [&](std::string_view word) { return message.find(word) != std::string_view::npos; });
}

}  // namespace

bool IndexRanges::fit(std::int64_t run, ModelParts& parts, const std::function<void()>& seed) {
  Ranges before;
  for_each_placeholder(graph_.graph, [&](const Node& node) {
    if (const auto range = maker_.range_of(node.id)) before.emplace_back(node.id, *range);
  });
  for (int i = 0; i < kMostTries; ++i) {
    NodeId last;
    seen_.clear();
    const auto watch = [&](const ModuleGraph& graph, const Node& node, const RunValue& value) {
      if (&graph != &graph_) return;
      last = node.id;
      if (!engine_.is_tensor(value)) return;
      const std::string dtype = engine_.dtype(value);
      FxtraceStatistics found{};
      if (!dtype.starts_with("int") && !dtype.starts_with("uint")) return;
      if (engine_.api().statistics(value.get(), &found)) seen_[node.id.index] = {found.least, found.greatest};
    };
    try {
      seed();
      run_graph(engine_, graph_, maker_.make(run).values, parts, watch);
      return true;
    } catch (const CannotRun&) {
      break;
    } catch (const RunError& error) {
      const NodeId refuses = last.valid() ? graph_.graph.next(last) : graph_.graph.first();
      if (!refuses.valid() || !is_about_indices(error.what()) || !change(graph_.graph.node(refuses))) break;
    }
  }
  set(before);
  return false;
}

// Returns the ranges of the inputs from which the indices of the node are computed; of all inputs of the node
// if it has no integers among its arguments.
IndexRanges::Ranges IndexRanges::ranges_before(const Node& node) const {
  std::vector<NodeId> pending;
  std::set<std::uint32_t> seen;
  for_each_input(node, [&](NodeId input) {
    if (seen_.contains(input.index)) pending.push_back(input);
  });
  if (pending.empty()) for_each_input(node, [&](NodeId input) { pending.push_back(input); });
  Ranges ranges;
  while (!pending.empty()) {
    const NodeId id = pending.back();
    pending.pop_back();
    if (!seen.insert(id.index).second) continue;
    if (const Node& made = graph_.graph.node(id); made.op != Opcode::kPlaceholder) {
      for_each_input(made, [&](NodeId input) { pending.push_back(input); });
    } else if (const auto range = maker_.range_of(id)) {
      ranges.emplace_back(id, *range);
    }
  }
  return ranges;
}

void IndexRanges::set(const Ranges& ranges) {
  for (const auto& [input, range] : ranges) maker_.set_range(input, range);
}

bool IndexRanges::change(const Node& refuses) {
  Ranges ranges = ranges_before(refuses);
  if (ranges.empty()) return false;
  std::optional<Extremes> indices;
  for_each_input(refuses, [&](NodeId input) {
    const auto seen = seen_.find(input.index);
    if (seen == seen_.end()) return;
    if (!indices) indices = seen->second;
    indices->least = std::min(indices->least, seen->second.least);
    indices->greatest = std::max(indices->greatest, seen->second.greatest);
  });
  Tried& tried = tried_[refuses.id.index];
  const auto shift = [&](std::pair<NodeId, InputMaker::DrawnRange>& range, double by) {
    range.second.low += static_cast<std::int64_t>(by);
    range.second.high += static_cast<std::int64_t>(by);
  };
  const bool is_near =
      indices && std::abs(indices->least) < kNoIndex && std::abs(indices->greatest) < kNoIndex;
  if (is_near && tried.has_shifted && indices->least < tried.least) {  // the input is subtracted, as in 9 - x
    ranges = tried.before;
    tried.shifts_fail = true;
  }
  tried.has_shifted = false;
  if (is_near && indices->least < 0 && !tried.shifts_fail) {
    tried.before = ranges;
    tried.least = indices->least;
    tried.has_shifted = true;
    for (auto& range : ranges) shift(range, -indices->least);
    set(ranges);
    return true;
  }
  bool is_wide = false;
  for (auto& [input, range] : ranges) {
    is_wide = is_wide || range.high > range.low;
    range.high = range.low + (range.high - range.low) / 2;
  }
  if (!is_wide) {
    // A single number is left: if the index is this number plus or minus a constant, one of these two shifts
    // makes it 0.
    if (!is_near || tried.points == 2) return false;
    shift(ranges.front(), tried.points == 0 ? indices->greatest : -indices->greatest);
    ++tried.points;
  }
  set(ranges);
  return true;
}

}  // namespace fxtrace::internal::verify
