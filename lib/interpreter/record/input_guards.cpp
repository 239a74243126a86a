#include "interpreter/record/input_guards.h"

#include <algorithm>
#include <set>

#include "graph/analysis/text_form.h"
#include "interpreter/record/recorder.h"
#include "interpreter/state/value_form.h"
#include "operators/operators.h"
#include "operators/target.h"
#include "opinfo/infer.h"
#include "opinfo/operator_row.h"
#include "opinfo/traits.h"
#include "symbolic/python_operators.h"

namespace fxtrace::internal::interpreter {

namespace {

std::optional<Relation> relation_of(std::string_view question) {
  const PythonOperator* op = operator_of_target(facts_of(question).on_values);
  return op == nullptr ? std::nullopt : op->relation;
}

void add_symbols(const AbstractValue& known, std::set<std::string>& names) {
  const auto add = [&](const SymInt& size) {
    for (std::string& name : size.symbols()) names.insert(std::move(name));
  };
  if (const SymInt* integer = known.integer()) add(*integer);
  if (const auto* condition = known.get_if<Condition>()) {
    add(condition->left);
    add(condition->right);
  }
  if (const auto* ratio = known.get_if<Ratio>()) add(ratio->numerator);
}

// Returns the indices of the elements of a list that are used; all where that cannot be told.
std::set<std::int64_t> used_elements(const IrValue* list, std::int64_t length) {
  std::set<std::int64_t> used;
  for (const auto& [user, offset] : list->uses()) {
    if (user->kind() == Symbol::kPrimListUnpack) {
      for (std::size_t i = 0; i < user->outputs().size(); ++i) {
        if (user->output(i)->has_uses()) used.insert(static_cast<std::int64_t>(i));
      }
      continue;
    }
    const auto index = user->is(Symbol::kAtenGetitem) && offset == 0
                           ? constant_of<std::int64_t>(*user->input(1))
                           : std::nullopt;
    if (index) {
      used.insert(*index < 0 ? *index + length : *index);
    } else {
      for (std::int64_t i = 0; i < length; ++i) used.insert(i);
    }
  }
  return used;
}

// Returns whether the node is a tensor of integers or bools.
bool is_number(const Node& node) {
  const Dtype dtype = node.meta->dtype;
  return dtype && !is_floating(*dtype) && !is_complex(*dtype);
}

std::uint64_t key_of(const NodeRef& value) {
  return std::uint64_t{value.graph.index} << 32U | value.node.index;
}

const Operator* operator_of(const Node& node) {
  return node.op == Opcode::kCallFunction ? find_operator(parse_target(*node.target)) : nullptr;
}

bool stops_gradients(const Node& node) {
  const Operator* op = operator_of(node);
  return op != nullptr && internal::stops_gradients(op->base_name());
}

bool changes_shape(const Node& node) { return has_trait(operator_of(node), traits::kChangesShape); }

// Returns whether the rank of the operator's result follows from the ranks of its arguments.
bool gives_rank_by_ranks(const Operator* op) {
  using namespace traits;  // NOLINT(google-build-using-namespace)
  return (traits_of(op) & (kRankByRanks | kKeepsRank | kPointwise | kReduction)) != 0;
}

// Returns the facets of the node's arguments that decide a facet of its results.
std::vector<Facet> facets_before(const Graph& graph, const Node& node, Facet facet) {
  if (facet == Facet::kSizes || facet == Facet::kGradient) return {facet};
  const Operator* op = operator_of(node);
  if (facet == Facet::kRank) {
    const bool is_handed_on = node.target == "operator.getitem" || gives_rank_by_ranks(op);
    return {is_handed_on ? facet : Facet::kSizes};
  }
  // Type promotion: among several dtypes (or devices), those of tensors without dimensions give way.
  std::set<std::string> kinds;
  for_each_input(node, [&](NodeId used) {
    const Meta& meta = *graph.node(used).meta;
    if (meta.shape)
      kinds.insert(facet == Facet::kDtype ? meta.dtype_text().value_or("") : meta.device_or_cpu().text());
  });
  return kinds.size() < 2 ? std::vector{facet} : std::vector{facet, Facet::kRank};
}

bool asks_rank(const IrValue* list) {
  return std::any_of(list->uses().begin(), list->uses().end(), [](const IrUse& use) {
    if (use.user->kind() != Symbol::kAtenGetitem || use.offset != 0) return true;
    const auto index = constant_of<std::int64_t>(*use.user->input(1));
    return !index || *index < 0;
  });
}

}  // namespace

void InputGuards::assume_fact(NodeId input, Facet facet, std::int64_t index, const IrNode* node) {
  const Meta& meta = *tracer_->graph_of({kRootGraph, input}).node(input).meta;
  std::string key = "input:" + std::to_string(input.index) + ":" + std::to_string(static_cast<int>(facet)) +
                    ":" + std::to_string(index);
  if (!conditions_.assume_fact(std::move(key))) return;
  const Expression name = guard_expression(tracer_->graph_of({kRootGraph, input}), input);
  const auto assume = [&](Expression condition) {
    guard(std::move(condition), node, GuardReason::kInput, name.text() + " is " + value_text(meta));
  };
  const auto is = [&](Expression question, Expression answer) {
    assume(Expression::comparison("==", std::move(question), std::move(answer)));
  };
  switch (facet) {
    case Facet::kNothing:
      return;
    case Facet::kRank:
      return is(Expression::method(name, "dim"), static_cast<std::int64_t>(meta.shape->size()));
    case Facet::kSizes: {
      const bool is_integer = index == DimensionPlaces::kInteger;
      const Expression& size = is_integer ? *meta.value : (*meta.shape)[static_cast<std::size_t>(index)];
      if (size.number() && !is_integer) return is(Expression::method(name, "size", {index}), size);
      for (Expression& condition : places().conditions(input, index)) assume(std::move(condition));
      return;
    }
    case Facet::kDtype:
      if (meta.dtype)
        is(Expression::attribute(name, "dtype"), Expression::variable("torch." + dtype_name(*meta.dtype)));
      return;
    case Facet::kGradient:
      return assume(Expression::negation(Expression::attribute(name, "requires_grad")));
    case Facet::kDevice: {
      const Device device = meta.device_or_cpu();
      Expression of_input = Expression::attribute(name, "device");
      if (!device.has_index()) of_input = Expression::attribute(of_input, "type");
      Expression answer = Expression::text_literal(device.text());
      if (device.has_index()) answer = Expression::call(Expression::variable("torch.device"), {answer});
      return is(std::move(of_input), std::move(answer));
    }
  }
}

// Records a guard of the graph itself, also where a body of control flow asks.
void InputGuards::guard(Expression condition, const IrNode* node, GuardReason reason,
                        std::string assumption) {
  tracer_->guard_inputs({std::move(condition), frames_.location(node), reason, std::move(assumption)});
}

// Returns the sizes of the graph's inputs in which named dimensions stand.
const DimensionPlaces& InputGuards::places() {
  if (!places_) places_.emplace(tracer_->graph_of({kRootGraph, NodeId{0}}));
  return *places_;
}

// Guards the ranges that --dim declares for the dimensions.
void InputGuards::assume_ranges(const std::set<std::string>& names, const IrNode* node) {
  for (const std::string& name : names) {
    const Range range = declared_range(name);
    const SymInt size = SymInt::symbol(name);
    const auto assume = [&](Relation relation, std::int64_t bound) {
      const Expression condition = Expression::comparison(relation, size, bound);
      if (conditions_.assume_fact("range:" + condition.text()))
        guard(places().over_inputs(condition), node, GuardReason::kDim, name + " is in " + to_string(range));
    };
    if (range.low == range.high) {
      if (places().defines(name)) assume(Relation::kEqual, *range.low);  // else sizes are numbers
      continue;
    }
    if (range.low.value_or(0) > 0) assume(Relation::kGreaterEqual, *range.low);
    if (range.high) assume(Relation::kLessEqual, *range.high);
  }
}

Range InputGuards::declared_range(const std::string& name) const {
  Range all{0, std::nullopt};
  for (const DimensionRange& range : state_.run.options.dimensions) {
    if (range.name != name) continue;
    all.low = std::max(*all.low, range.low.value_or(0));
    if (range.high) all.high = std::min(all.high.value_or(*range.high), *range.high);
  }
  return all;
}

void InputGuards::note_made(const NodeRef& node) {
  std::set<std::string> ranges = state_.take_ranges();
  if (!ranges.empty()) ranges_of_[key_of(node)].merge(std::move(ranges));
}

void InputGuards::assume_facet(NodeId input, Facet facet, const IrNode* node) {
  const Meta& meta = *tracer_->graph_of({kRootGraph, input}).node(input).meta;
  if (meta.value && facet == Facet::kSizes) return assume_fact(input, facet, DimensionPlaces::kInteger, node);
  const auto& shape = meta.shape;
  if (!shape) return;
  assume_fact(input, facet == Facet::kSizes ? Facet::kRank : facet, 0, node);
  if (facet != Facet::kSizes) return;
  for (std::size_t i = 0; i < shape->size(); ++i)
    assume_fact(input, facet, static_cast<std::int64_t>(i), node);
}

void InputGuards::assume_all_inputs(Facet facet, const IrNode* node) {
  const Graph& root = tracer_->graph_of({kRootGraph, NodeId{0}});
  for (const NodeId id : root.order()) {
    const Node& input = root.node(id);
    if (input.op != Opcode::kPlaceholder) continue;
    // A tensor of integers requires no gradient because of its dtype, whatever is computed from it.
    assume_facet(id, facet == Facet::kGradient && is_number(input) ? Facet::kDtype : facet, node);
  }
}

// A tensor of integers carries no gradient, whatever floats it is made from.  If it is made from other
// integers, or with the dtype of another tensor, it is one of integers because these are.
void InputGuards::follow_number(const NodeRef& at, std::vector<NodeRef>& pending, const IrNode* node) {
  const Graph& graph = tracer_->graph_of(at);
  std::vector<NodeRef> others;
  bool has_floats = false;
  for_each_input(graph.node(at.node), [&](NodeId used) {
    const Node& input = graph.node(used);
    if (input.meta->dtype && !is_number(input)) {
      has_floats = true;
    } else {
      others.push_back({at.graph, used});
    }
  });
  if (!has_floats) {
    pending.insert(pending.end(), others.begin(), others.end());
  } else {
    for (const NodeRef& other : others) assume_inputs_of(other, Facet::kDtype, node);
  }
}

// Handles x.size(1) of an input, where no other size of it matters.  Returns false for any other node.
bool InputGuards::asks_one_size(const NodeRef& at, const IrNode* node) {
  const Graph& graph = tracer_->graph_of(at);
  const auto& made_by = graph.node(at.node);
  if (made_by.target != "aten.size.int" || made_by.args.size() != 2) return false;
  const auto* of = made_by.args[0].get_if<NodeId>();
  const auto* index = made_by.args[1].get_if<std::int64_t>();
  if (of == nullptr || index == nullptr) return false;
  NodeRef input{at.graph, *of};
  while (tracer_->captured_by(input).valid()) input = tracer_->captured_by(input);
  const Graph& outer = tracer_->graph_of(input);
  const auto& tensor = outer.node(input.node);
  const bool is_input =
      input.graph == kRootGraph && tensor.op == Opcode::kPlaceholder && tensor.meta->shape &&
      std::ranges::none_of(tensor.users, [&](NodeId user) { return changes_shape(outer.node(user)); });
  if (!is_input) return false;
  const std::int64_t dims = std::ssize(*tensor.meta->shape);
  if (*index < 0) assume_fact(input.node, Facet::kRank, 0, node);
  const std::int64_t place = *index < 0 ? *index + dims : *index;
  if (place >= 0 && place < dims) assume_fact(input.node, Facet::kSizes, place, node);
  return true;
}

// Guards the facts of this facet about the inputs that a value is made from.
void InputGuards::assume_inputs_of(const NodeRef& value, Facet facet, const IrNode* node) {
  auto& seen = relied_on_[static_cast<std::size_t>(facet)];
  std::vector<NodeRef> pending{value};
  while (!pending.empty()) {
    const NodeRef at = pending.back();
    pending.pop_back();
    if (!seen.insert(key_of(at)).second) continue;
    const Graph& graph = tracer_->graph_of(at);
    const auto& made_by = graph.node(at.node);
    for (const NodeId user : made_by.users) {
      if ((facet == Facet::kSizes || facet == Facet::kRank) && changes_shape(graph.node(user)))
        pending.push_back({at.graph, user});
    }
    if (made_by.op == Opcode::kPlaceholder) {
      const NodeRef outer = tracer_->captured_by(at);
      if (outer.valid()) {
        pending.push_back(outer);
      } else if (at.graph == kRootGraph) {
        assume_facet(at.node, facet, node);
      } else {  // a carried value of a loop
        assume_all_inputs(facet, node);
      }
      continue;
    }
    if (facet == Facet::kGradient && stops_gradients(made_by)) continue;
    if (facet == Facet::kGradient && is_number(made_by)) {
      follow_number(at, pending, node);
      continue;
    }
    if (facet == Facet::kSizes && asks_one_size(at, node)) continue;
    const std::vector<Facet> all_before = facets_before(graph, made_by, facet);
    const auto ranges = ranges_of_.find(key_of(at));
    if (ranges != ranges_of_.end() && std::ranges::find(all_before, Facet::kSizes) != all_before.end())
      assume_ranges(ranges->second, node);
    for (const Facet before : all_before) {
      for_each_input(made_by, [&](NodeId used) {
        if (before == facet) {
          pending.push_back({at.graph, used});
        } else {
          assume_inputs_of({at.graph, used}, before, node);
        }
      });
    }
  }
}

void InputGuards::rely_on_tensor(const IrNode* node, std::string_view question, const Values& values,
                                 const Proxy& tensor) {
  const TensorInfo& info = *known_of(values[0]).tensor();
  const Facet facet = facts_of(question).asks;
  if (facet == Facet::kNothing) return;
  if (facet == Facet::kGradient && state_.gradient_writes.any) return assume_all_inputs(facet, node);
  NodeRef input = tensor.ref;
  while (tracer_->captured_by(input).valid()) input = tracer_->captured_by(input);
  const auto& made_by = tracer_->graph_of(input).node(input.node);
  const auto& shape = made_by.meta->shape;
  const bool is_input = input.graph == kRootGraph && made_by.op == Opcode::kPlaceholder && shape &&
                        std::equal(shape->begin(), shape->end(), info.sizes.begin(), info.sizes.end(),
                                   [](const Expression& a, const SymInt& b) { return a == Expression(b); });
  if (!is_input) return assume_inputs_of(tensor.ref, facet, node);
  if (question == "aten::size" && values.size() == 1) {
    if (asks_rank(node->output())) assume_fact(input.node, Facet::kRank, 0, node);
    for (const std::int64_t i : used_elements(node->output(), info.dim())) {
      if (i >= 0 && i < info.dim()) assume_fact(input.node, Facet::kSizes, i, node);
    }
    return;
  }
  if ((question == "aten::size" && values[1].is_int()) || question == "aten::len") {
    const std::int64_t index = question == "aten::len" ? 0 : values[1].to_int();
    if (index < 0) assume_fact(input.node, Facet::kRank, 0, node);
    return assume_fact(input.node, Facet::kSizes, index < 0 ? index + info.dim() : index, node);
  }
  assume_facet(input.node, facet, node);
}

// Guards the inputs that the proxies among the parts of a value are made from, and adds the symbols of these
// parts.
void InputGuards::rely_on_parts(const Value& value, std::set<std::string>& symbols, const IrNode* node) {
  if (value.is_list() || value.is_tuple()) {
    for (const Value& item : value.items()) rely_on_parts(item, symbols, node);
  } else if (value.is_dict()) {
    for (const auto& entry : value.to_dict().entries()) rely_on_parts(entry.value, symbols, node);
  }
  const Proxy* proxy = recorder_.find_recorded(value);
  if (proxy == nullptr) return;
  const AbstractValue& known = known_of(value);
  const Facet facet = known.get_if<ScalarType>() != nullptr ? Facet::kDtype
                      : known.get_if<Device>() != nullptr   ? Facet::kDevice
                                                            : Facet::kSizes;
  assume_inputs_of(proxy->ref, facet, node);
  add_symbols(known, symbols);
}

void InputGuards::rely_on(const IrNode* node, std::string_view question, const Values& values,
                          const AbstractValue& answer, const std::set<std::string>& ranges) {
  if (std::ranges::none_of(node->outputs(), [](const IrValue* output) { return output->has_uses(); })) return;
  std::set<std::string> symbols;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Proxy* proxy = recorder_.find_recorded(values[i]);
    if (proxy != nullptr && i == 0 && known_of(values[i]).tensor() != nullptr) {
      rely_on_tensor(node, question, values, *proxy);
      add_symbols(known_of(values[i]), symbols);
    } else {
      rely_on_parts(values[i], symbols, node);
    }
  }
  const auto relation = relation_of(question);
  const bool* holds = answer.get_if<bool>();
  if (relation && holds != nullptr && values.size() == 2) {
    const AbstractValue left = known_of_value(values[0]), right = known_of_value(values[1]);
    if (left.integer() != nullptr && right.integer() != nullptr && is_of_inputs(*left.integer()) &&
        is_of_inputs(*right.integer())) {
      return rely_on_relation(*holds ? *relation : negated(*relation), *left.integer(), *right.integer(),
                              node);
    }
  }
  assume_ranges(ranges, node);
}

// Returns whether the size is one of the dimensions of inputs.  The code made any other, and has asked what
// decides it.
bool InputGuards::is_of_inputs(const SymInt& size) const {
  return std::ranges::all_of(size.symbols(), [&](const std::string& name) {
    return std::ranges::find(named_, name) != named_.end();
  });
}

// Guards the relation, if it holds for some sizes only.
void InputGuards::rely_on_relation(Relation relation, const SymInt& left, const SymInt& right,
                                   const IrNode* node) {
  if (ShapeEnv().decide(relation, left, right)) return;
  guard(places().over_inputs(Expression::comparison(relation, left, right)), node, GuardReason::kDim);
}

void InputGuards::forget_nodes() {
  for (auto& values : relied_on_) values.clear();
  ranges_of_.clear();
}

}  // namespace fxtrace::internal::interpreter
