#include "torchscript/input_guards.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "families/infer.h"
#include "operators/operators.h"
#include "torchscript/abstract.h"

namespace fxtrace::torchscript {

namespace {

std::optional<Relation> relation_of(std::string_view question) {
  static const std::unordered_map<std::string_view, Relation> relations{
      {"aten::eq", Relation::kEqual},   {"aten::ne", Relation::kNotEqual},
      {"aten::lt", Relation::kLess},    {"aten::le", Relation::kLessEqual},
      {"aten::gt", Relation::kGreater}, {"aten::ge", Relation::kGreaterEqual}};
  const auto found = relations.find(question);
  return found == relations.end() ? std::nullopt : std::optional(found->second);
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

// Which elements of a list are used; all, where that cannot be told.
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

// A tensor of integers or truth values.
bool is_number(const Node& node) {
  const Dtype dtype = node.meta->dtype ? find_scalar_type(*node.meta->dtype) : Dtype{};
  return dtype && !is_floating(*dtype) && !is_complex(*dtype);
}

bool stops_gradients(const Node& node) {
  const Operator* op = node.op == Opcode::kCallFunction ? find_operator(parse_target(*node.target)) : nullptr;
  return op != nullptr && fxtrace::stops_gradients(op->base_name());
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
  const Meta& meta = *context_.tracer->graph_of({kRootGraph, input}).node(input).meta;
  std::string key = "input:" + std::to_string(input.index) + ":" + std::to_string(static_cast<int>(facet)) +
                    ":" + std::to_string(index);
  if (!conditions_.assume_fact(std::move(key))) return;
  const Expression name = guard_expression(context_.tracer->graph_of({kRootGraph, input}), input);
  const auto is = [&](Expression question, Expression answer) {
    context_.guard(Expression::comparison("==", std::move(question), std::move(answer)),
                   frames_.location(node));
  };
  switch (facet) {
    case Facet::kNothing:
      return;
    case Facet::kRank:
      return is(Expression::method(name, "dim"), static_cast<std::int64_t>(meta.shape->size()));
    case Facet::kSizes: {
      const Expression& size = (*meta.shape)[static_cast<std::size_t>(index)];
      if (size.number()) is(Expression::method(name, "size", {index}), size);
      return;
    }
    case Facet::kDtype:
      if (meta.dtype) is(Expression::attribute(name, "dtype"), Expression::variable("torch." + *meta.dtype));
      return;
    case Facet::kGradient:
      return context_.guard(Expression::negation(Expression::attribute(name, "requires_grad")),
                            frames_.location(node));
    case Facet::kDevice: {
      const std::string device = meta.device.value_or("cpu");
      Expression of_input = Expression::attribute(name, "device");
      if (device.find(':') == std::string::npos) of_input = Expression::attribute(of_input, "type");
      Expression answer = Expression::text_literal(device);
      if (device.find(':') != std::string::npos)
        answer = Expression::call(Expression::variable("torch.device"), {answer});
      return is(std::move(of_input), std::move(answer));
    }
  }
}

void InputGuards::assume_facet(NodeId input, Facet facet, const IrNode* node) {
  const auto& shape = context_.tracer->graph_of({kRootGraph, input}).node(input).meta->shape;
  if (!shape) return;
  assume_fact(input, facet == Facet::kSizes ? Facet::kRank : facet, 0, node);
  if (facet != Facet::kSizes) return;
  for (std::size_t i = 0; i < shape->size(); ++i)
    assume_fact(input, facet, static_cast<std::int64_t>(i), node);
}

void InputGuards::assume_all_inputs(Facet facet, const IrNode* node) {
  const Graph& root = context_.tracer->graph_of({kRootGraph, NodeId{0}});
  for (const NodeId id : root.order()) {
    const Node& input = root.node(id);
    if (input.op != Opcode::kPlaceholder) continue;
    // What is written has a dtype of its own, whatever is made of the numbers.
    assume_facet(id, facet == Facet::kGradient && is_number(input) ? Facet::kDtype : facet, node);
  }
}

// A tensor of integers carries no gradient, whatever floats it is made from.  Made from others, or by a dtype
// that is asked of them, it is one of integers because they are.
void InputGuards::follow_number(const NodeRef& at, std::vector<NodeRef>& pending, const IrNode* node) {
  const Graph& graph = context_.tracer->graph_of(at);
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

// The inputs that a value is made from.  What was looked at before is known to be assumed already.
void InputGuards::assume_inputs_of(const NodeRef& value, Facet facet, const IrNode* node) {
  auto& seen = relied_on_[static_cast<std::size_t>(facet)];
  std::vector<NodeRef> pending{value};
  while (!pending.empty()) {
    const NodeRef at = pending.back();
    pending.pop_back();
    if (!seen.insert(std::uint64_t{at.graph.index} << 32U | at.node.index).second) continue;
    const Graph& graph = context_.tracer->graph_of(at);
    const auto& made_by = graph.node(at.node);
    if (made_by.op == Opcode::kPlaceholder) {
      const NodeRef outer = context_.tracer->captured_by(at);
      if (outer.valid()) {
        pending.push_back(outer);
      } else if (at.graph == kRootGraph) {
        assume_facet(at.node, facet, node);
      } else {  // what a loop hands on
        assume_all_inputs(facet, node);
      }
      continue;
    }
    if (facet == Facet::kGradient && stops_gradients(made_by)) continue;
    if (facet == Facet::kGradient && is_number(made_by)) {
      follow_number(at, pending, node);
      continue;
    }
    for_each_input(made_by, [&](NodeId used) { pending.push_back({at.graph, used}); });
  }
}

void InputGuards::rely_on_tensor(const IrNode* node, std::string_view question, const Values& values,
                                 const Proxy& tensor) {
  const TensorInfo& info = *known_of(values[0]).tensor();
  const Facet facet = facts_of(question).asks;
  if (facet == Facet::kNothing) return;
  if (facet == Facet::kGradient && context_.gradient_writes.any) return assume_all_inputs(facet, node);
  NodeRef input = tensor.ref;
  while (context_.tracer->captured_by(input).valid()) input = context_.tracer->captured_by(input);
  const auto& made_by = context_.tracer->graph_of(input).node(input.node);
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

void InputGuards::rely_on(const IrNode* node, std::string_view question, const Values& values,
                          const AbstractValue& answer) {
  if (!context_.records() || !node->output()->has_uses()) return;
  std::set<std::string> symbols;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Proxy* proxy = recording_.find_recorded(values[i]);
    if (proxy == nullptr) continue;
    const AbstractValue& known = known_of(values[i]);
    if (known.tensor() != nullptr && i == 0) {
      rely_on_tensor(node, question, values, *proxy);
    } else {
      assume_inputs_of(proxy->ref, known.get_if<ScalarType>() != nullptr ? Facet::kDtype : Facet::kSizes,
                       node);
    }
    add_symbols(known, symbols);
  }
  if (symbols.empty()) return;
  const auto relation = relation_of(question);
  const bool* holds = answer.get_if<bool>();
  if (relation && holds != nullptr && values.size() == 2) {
    const AbstractValue left = known_of_value(values[0]), right = known_of_value(values[1]);
    if (left.integer() != nullptr && right.integer() != nullptr) {
      if (ShapeEnv().decide(*relation, *left.integer(), *right.integer())) return;  // of all sizes
      return context_.guard(
          Expression::comparison(*holds ? *relation : negated(*relation), *left.integer(), *right.integer()),
          frames_.location(node));
    }
  }
  for (const std::string& name : symbols) {
    const Range range = context_.dimensions.range(name);
    const SymInt size = SymInt::symbol(name);
    if (range.low.value_or(0) > 0) {
      context_.guard(Expression::comparison(Relation::kGreaterEqual, size, *range.low),
                     frames_.location(node));
    }
    if (range.high)
      context_.guard(Expression::comparison(Relation::kLessEqual, size, *range.high), frames_.location(node));
  }
}

void InputGuards::forget_nodes() {
  for (auto& values : relied_on_) values.clear();
}

}  // namespace fxtrace::torchscript
