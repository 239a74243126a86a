#include "analysis/effects.h"

#include <algorithm>
#include <utility>

#include "analysis/alias_regions.h"
#include "analysis/identity_call.h"
#include "analysis/node_arguments.h"
#include "operators/names/function_traits.h"
#include "operators/names/modules.h"
#include "operators/target.h"
#include "shapes/tensor_options.h"
#include "support/integers.h"

namespace fxtrace::internal {
namespace {

// Returns whether the argument is None, False or zero, or is left out and not `on_by_default`.
bool is_off(const Argument* argument, bool on_by_default = false) {
  if (argument == nullptr) return !on_by_default;
  if (argument->is<Argument::None>()) return true;
  if (const auto* flag = argument->get_if<bool>()) return !*flag;
  if (const auto* integer = argument->get_if<std::int64_t>()) return *integer == 0;
  const auto* number = argument->get_if<double>();
  return number != nullptr && *number == 0;
}

void add_inputs(const Argument& argument, std::vector<NodeId>& inputs) {
  for_each_reference(argument, [&](NodeId input) { inputs.push_back(input); });
}
void add_inputs(const Argument* argument, std::vector<NodeId>& inputs) {
  if (argument != nullptr) add_inputs(*argument, inputs);
}
void add_inputs(const Node& node, std::vector<NodeId>& inputs) {
  for_each_input(node, [&](NodeId input) { inputs.push_back(input); });
}

void add_unknown(const Node& node, Effects& effects) {
  effects.is_unknown = true;
  effects.joins_inputs = true;
  add_inputs(node, effects.written);
  add_inputs(node, effects.shared);
}

// Adds the flags of `part` to those of the whole, without what it writes and shares.
void add_kinds(const Effects& part, Effects& whole) {
  whole.is_unknown = whole.is_unknown || part.is_unknown;
  whole.is_random = whole.is_random || part.is_random;
  whole.has_side_effect = whole.has_side_effect || part.has_side_effect;
  whole.switches = whole.switches || part.switches;
  whole.asserts = whole.asserts || part.asserts;
  whole.writes_parameters = whole.writes_parameters || part.writes_parameters;
}

// Returns whether the first of these arguments that there is, in the call or by default, is off: for
// arguments that switch training or dropout.
bool is_off(const NodeArguments& args, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    if (const auto value = args.value(name)) return is_off(&*value);
  }
  return false;
}

// Returns whether getattr() reads an attribute of a tensor that does not depend on its elements.
bool asks_no_element(const Node& node) {
  if (node.args.size() != 2) return false;
  const auto* name = node.args[1].get_if<std::string>();
  return name != nullptr && *name != "data" && *name != "grad";
}

void add_function(const Node& node, Effects& effects) {
  using namespace function_traits;  // NOLINT(google-build-using-namespace)
  const PythonFunction function = find_python_function(node.target);
  const auto has = [&](FunctionTraits trait) { return (function.traits & trait) != 0; };
  if (!has(kKnown)) return add_unknown(node, effects);
  const auto given = [&](std::int8_t place, std::string_view name) {
    return find_argument(node, place < 0 ? node.args.size() : static_cast<std::size_t>(place), name);
  };
  const bool option =
      !function.option.empty() && !is_off(given(function.option_at, function.option), has(kOnByDefault));
  effects.is_random = has(kRandom) || (has(kOptionRandom) && option);
  effects.has_side_effect = has(kSideEffect);
  effects.switches = has(kOpensRegion | kClosesRegion | kSetsMode);
  effects.reads_elements = !has(kReadsNoElement);
  effects.joins_inputs = has(kJoins);
  const bool in_place = has(kInPlaceOption) && !is_off(given(function.in_place_at, "inplace"));
  if ((has(kWritesFirst) || in_place) && !node.args.empty()) add_inputs(node.args.front(), effects.written);
  if (has(kOptionWrites) && option) add_inputs(node, effects.written);
  if (node.target == "builtins.getattr" && asks_no_element(node)) {
    effects.reads_elements = false;
  } else if (has(kMayBeArgument) || in_place) {
    add_inputs(node, effects.shared);
  }
}

}  // namespace

Effects effects_of_operator(const Graph& graph, const Node& node, const OperatorEntry& info) {
  Effects effects;
  const auto has = [&](Traits trait) { return (info.traits & trait) != 0; };
  if (!has(traits::kKnown)) {
    add_unknown(node, effects);
    return effects;
  }
  const NodeArguments args(node, info);
  const std::initializer_list<std::string_view> training = {"training", "train", "use_input_stats"};
  effects.is_random = has(traits::kRandom) && !is_off(args, training) && !is_off(args, {"dropout_p"}) &&
                      !(has(traits::kMayBeArgument) && is_off(args, {"p"}));
  effects.has_side_effect = has(traits::kSideEffect);
  effects.asserts = has(traits::kAsserts);
  effects.reads_elements = !has(traits::kGivesSize);
  effects.changes_shape = has(traits::kChangesShape);
  for (std::size_t i = 0; i < info.schema.arguments.size(); ++i) {
    if (info.schema.arguments[i].is_written) add_inputs(args.find_argument(i), effects.written);
  }
  if (has(traits::kHiddenWrite) && !is_off(args, training)) {
    // Normalizations write their statistics, if they have any; of others nothing is known.
    bool has_statistics = false;
    for (std::size_t i = 0; i < info.schema.arguments.size(); ++i) {
      if (!info.schema.arguments[i].name.starts_with("running_")) continue;
      has_statistics = true;
      add_inputs(args.find_argument(i), effects.written);
    }
    if (!has_statistics) add_inputs(node, effects.written);
  }
  const bool shares = !info.aliases.empty() && !converts(graph, node, info);
  for (const Alias& alias : info.aliases) {
    if (!shares) break;
    add_inputs(args.find_argument(alias.argument), effects.shared);
    // A list that an element is put into shares memory with it afterwards.
    effects.joins_inputs = effects.joins_inputs || alias.of_elements;
  }
  if (info.schema.is_variadic) {  // results may be any of the arguments
    effects.joins_inputs = true;
    add_inputs(node, effects.shared);
  }
  // All overloads have the trait, but only a container takes elements in: a tensor does not.
  const bool is_container = !info.schema.arguments.empty() && info.schema.arguments[0].type.name != "Tensor";
  if (!effects.written.empty() && has(traits::kMovesElements) && is_container) {
    effects.joins_inputs = true;
    add_inputs(node, effects.shared);
  }
  return effects;
}

Semantics::Semantics(const GraphCollection& collection) {
  for (const ModuleRecord& module : collection.modules) modules_.emplace(module.path, &module);
  for (const ParameterRecord& parameter : collection.parameters) {
    parameters_.emplace(parameter.name, &parameter);
  }
  find_overlaps(collection);
}

void Semantics::find_overlaps(const GraphCollection& collection) {
  struct Piece {
    std::string_view record;
    std::int64_t begin, end;  // in bytes
    const std::string* name;
    auto operator<=>(const Piece&) const = default;
  };
  std::vector<Piece> pieces;
  const auto add = [&](const ParameterRecord& parameter) {
    const auto type = find_scalar_type(std::string_view(parameter.dtype));
    if (parameter.record.empty() || !type || std::ranges::find(parameter.shape, 0) != parameter.shape.end())
      return;
    std::int64_t end = parameter.storage_offset;
    for (std::size_t i = 0; i < std::min(parameter.shape.size(), parameter.stride.size()); ++i) {
      std::int64_t steps = parameter.shape[i] - 1;
      multiply_saturated(steps, parameter.stride[i]);
      add_saturated(end, steps);
    }
    add_saturated(end, 1);
    std::int64_t begin = parameter.storage_offset;
    for (std::int64_t* place : {&begin, &end}) multiply_saturated(*place, item_size(*type));
    pieces.push_back({parameter.record, begin, end, &parameter.name});
  };
  std::ranges::for_each(collection.parameters, add);
  std::ranges::for_each(collection.tensor_attributes, add);
  std::ranges::sort(pieces);
  const Piece* first = nullptr;
  std::int64_t end = 0;
  for (const Piece& piece : pieces) {
    if (first == nullptr || first->record != piece.record || piece.begin >= end) {
      first = &piece;
      end = piece.end;
      continue;
    }
    end = std::max(end, piece.end);
    memory_names_.emplace(*first->name, first->name);
    memory_names_.emplace(*piece.name, first->name);
  }
}

const OperatorEntry* Semantics::find_operator(const std::string& target) {
  const auto [place, is_new] = operators_.try_emplace(target);
  if (is_new) {
    const Operator* op = internal::find_operator(parse_target(target));
    place->second = op != nullptr ? &entry_of(*op) : nullptr;
  }
  return place->second;
}

const std::string& Semantics::first_name(const std::string& parameter) const {
  const auto found = parameters_.find(parameter);
  return found != parameters_.end() && found->second->alias_of ? *found->second->alias_of : parameter;
}

const std::string& Semantics::memory_name(const std::string& parameter) const {
  const std::string& first = first_name(parameter);
  const auto found = memory_names_.find(first);
  return found == memory_names_.end() ? first : *found->second;
}

void Semantics::for_each_parameter(const std::string& module,
                                   const std::function<void(const std::string&)>& f) const {
  const std::string prefix = module.empty() ? "" : module + ".";
  for (auto at = parameters_.lower_bound(prefix); at != parameters_.end() && at->first.starts_with(prefix);
       ++at) {
    f(at->second->alias_of.value_or(at->second->name));
  }
}

const Argument* Semantics::find_attribute(const std::string& module, std::string_view name) const {
  auto found = modules_.find(module);
  if (found != modules_.end() && found->second->alias_of) found = modules_.find(*found->second->alias_of);
  if (found == modules_.end()) return nullptr;
  const auto& attributes = found->second->attributes;
  const auto attribute = std::ranges::find(attributes, name, &std::pair<std::string, Argument>::first);
  return attribute == attributes.end() ? nullptr : &attribute->second;
}

Effects Semantics::effects(const ModuleGraph& graph, const Node& node) {
  Effects effects;
  switch (node.op) {
    case Opcode::kPlaceholder:
    case Opcode::kGetAttr:
    case Opcode::kOutput:
      break;
    case Opcode::kCallMethod:  // a method of a script object: its effects are unknown
      add_unknown(node, effects);
      break;
    case Opcode::kCallModule:
      add_leaf(node, effects);
      break;
    case Opcode::kCallFunction:
      if (const OperatorEntry* info = find_operator(node.target)) {
        effects = effects_of_operator(graph.graph, node, *info);
      } else if (parse_target(node.target).kind == TargetKind::kHigherOrder) {
        add_subgraphs(graph, node, effects);
      } else {
        add_function(node, effects);
        // A write to a list or dict may change its length.
        effects.changes_shape = std::ranges::any_of(effects.written, [&](NodeId written) {
          return graph.graph.node(written).meta->kind() == ValueKind::kOther;
        });
      }
      break;
  }
  return effects;
}

void Semantics::add_leaf(const Node& node, Effects& effects) const {
  using namespace module_traits;  // NOLINT(google-build-using-namespace)
  const ModuleTraits all = traits_of_module(node.scope->module_type.value_or(""));
  const auto has = [&](ModuleTraits trait) { return (all & trait) != 0; };
  if (!has(kKnown) || !node.method->empty()) {
    effects.writes_parameters = true;
    return add_unknown(node, effects);
  }
  // An attribute that is not known, as most in an exported program, may have any value.
  const auto may_be_on = [&](std::string_view name) {
    const Argument* attribute = find_attribute(called_module(node), name);
    return attribute == nullptr || !is_off(attribute);
  };
  const bool training = (all & (kRandomInTraining | kWritesOwnInTraining)) != 0 && may_be_on("training");
  effects.is_random = has(kRandom) || (has(kRandomInTraining) && training);
  const Argument* max_norm = find_attribute(called_module(node), "max_norm");
  effects.writes_parameters = (has(kWritesOwnInTraining) && training) ||
                              (has(kWritesOwn) && !(max_norm != nullptr && max_norm->is<Argument::None>()));
  const bool gives_input = has(kIdentity) && !training;  // dropout in evaluation, in place or not
  const bool in_place = has(kInPlaceOption) && !gives_input && may_be_on("inplace");
  if (in_place && !node.args.empty()) add_inputs(node.args.front(), effects.written);
  if (in_place || has(kMayBeArgument)) add_inputs(node, effects.shared);
}

void Semantics::add_subgraphs(const ModuleGraph& graph, const Node& node, Effects& effects) {
  if (subgraph_runs(parse_target(node.target)) == SubgraphRuns::kUnknown) return add_unknown(node, effects);
  for_each_of<Argument::GraphRef>(node, [&](const Argument::GraphRef& reference) {
    const ModuleGraph* subgraph = graph.subgraphs.find_graph(reference.name);
    if (subgraph == nullptr) return add_unknown(node, effects);
    const SubgraphEffects& inner = subgraph_effects(*subgraph);
    add_kinds(inner.effects, effects);
    if (inner.writes_inputs) add_inputs(node, effects.written);
    if (inner.gives_inputs) {
      add_inputs(node, effects.shared);
      effects.joins_inputs = true;
    }
  });
}

const Semantics::SubgraphEffects& Semantics::subgraph_effects(const ModuleGraph& graph) {
  if (const auto known = subgraphs_.find(&graph); known != subgraphs_.end()) return known->second;
  SubgraphEffects result;
  const AliasRegions memory(graph, *this);
  for (NodeId id = graph.graph.first(); id.valid(); id = graph.graph.next(id)) {
    const Node& node = graph.graph.node(id);
    if (node.op == Opcode::kOutput) {
      for_each_input(node, [&](NodeId value) {
        result.gives_inputs = result.gives_inputs || memory.is_from_outside(value);
      });
      continue;
    }
    const Effects effects = this->effects(graph, node);
    add_kinds(effects, result.effects);
    for (const NodeId written : effects.written) {
      result.writes_inputs = result.writes_inputs || memory.is_from_outside(written);
    }
  }
  return subgraphs_.emplace(&graph, std::move(result)).first->second;
}

std::vector<NodeId> Switches::add(const Node& node) {
  using namespace function_traits;  // NOLINT(google-build-using-namespace)
  const FunctionTraits all =
      node.op == Opcode::kCallFunction ? find_python_function(node.target).traits : FunctionTraits{};
  const auto has = [&](FunctionTraits trait) { return (all & trait) != 0; };
  if (has(kLogs) && node.users.empty()) return {node.id};
  if (has(kOpensRegion)) return open(node);
  if (has(kClosesRegion)) {
    regions_.push_back({node.id});
  } else if (has(kSetsMode)) {
    if (is_set_behind_ && node.users.empty()) return {node.id};
    is_set_behind_ = true;
  } else if (may_depend_on_switches(node)) {
    is_set_behind_ = false;
    for (Region& region : regions_) region.has_calls = true;
  }
  return {};
}

std::vector<NodeId> Switches::open(const Node& node) {
  if (regions_.empty() || node.users.size() != 1 || node.users.front() != regions_.back().closed_by) {
    regions_.clear();  // the ends of the enclosing regions are no longer certain
    return {};
  }
  const Region region = regions_.back();
  regions_.pop_back();
  if (region.has_calls || !graph_.graph.node(region.closed_by).users.empty()) return {};
  return {region.closed_by, node.id};
}

// Returns whether a mode may change what the node computes.  It may for all nodes with tensors, except those
// that only read sizes, and for none that only calculate with numbers.
bool Switches::may_depend_on_switches(const Node& node) {
  if (node.op == Opcode::kPlaceholder || node.op == Opcode::kGetAttr || node.op == Opcode::kOutput)
    return false;
  if (node.op != Opcode::kCallFunction) return true;
  const Effects effects = semantics_.effects(graph_, node);
  if (effects.is_unknown || effects.is_random || !effects.written.empty()) return true;
  if (!effects.reads_elements) return false;
  if (!effects.asserts && !is_number(node)) return true;
  bool all_numbers = true;
  for_each_input(node,
                 [&](NodeId input) { all_numbers = all_numbers && is_number(graph_.graph.node(input)); });
  return !all_numbers;
}

bool Switches::is_number(const Node& node) const {
  const ValueKind kind = node.meta->kind();
  return kind == ValueKind::kInt || kind == ValueKind::kFloat || kind == ValueKind::kBool;
}

}  // namespace fxtrace::internal
