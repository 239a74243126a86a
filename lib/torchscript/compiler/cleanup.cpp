// The final passes of the compiler, which PyTorch's torch/csrc/jit/frontend/ir_emitter.cpp runs at its end
// (BSD-3-Clause, see NOTICE).  clean_up() runs, in this order:
//
// 1. Unreachable removes what follows a prim::RaiseException.
// 2. normalize_operators() replaces operators by those of which they are synonyms.
// 3. lift_closures() makes the bodies of forks graphs of their own, which it cleans up too.
// 4. lower_tuples() replaces items of a tuple that is made in the same graph by the values in it.
// 5. sweep() removes nodes and results without uses and side effects.
// 6. Decisions folds constants, and removes branches and loops that they decide; sweep() runs once more.
// 7. pool_constants() moves constants to the start of the graph, each once.
// 8. Order sorts the results of branches and loops by their first use.
#include "torchscript/ir/ir_steps.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <ranges>
#include <unordered_map>
#include <utility>
#include <vector>

#include "operators/operators.h"
#include "opinfo/operator_row.h"
#include "opinfo/traits.h"
#include "support/integers.h"
#include "support/text/identifier.h"
#include "torchscript/compiler/schema_match.h"
#include "torchscript/language/type_relations.h"

namespace fxtrace::internal::torchscript {
namespace {

// --- code after an exception ---

// A graph has no jumps, so nothing that follows an exception in its block is ever computed, nor what follows
// a branch that always raises.  The algorithm is what is left of PyTorch's
// torch/csrc/jit/frontend/exit_transforms.cpp for code that it has been through.
class Unreachable {
 public:
  explicit Unreachable(IrGraph& graph) : graph_(graph) {}
  void run() { raises(*graph_.block()); }

 private:
  // Returns whether the block always raises.  A loop may have no iterations.
  bool raises(IrBlock& block) {
    for (IrNode* node : block.nodes()) {
      bool always = node->is(Symbol::kPrimRaiseException) || node->is(Symbol::kPrimIf);
      for (IrBlock* inner : node->blocks()) always = raises(*inner) && always;
      if (!always) continue;
      remove_after(block, *node);
      return true;
    }
    return false;
  }

  void remove_after(IrBlock& block, IrNode& last) {
    std::vector<IrNode*> unreachable;
    int entered = 0;
    for (IrNode* node = last.next(); node != block.return_node(); node = node->next()) {
      if (node->is(Symbol::kPrimEnter)) ++entered;
      const bool leaves = node->is(Symbol::kPrimExit);
      if (leaves && entered == 0) continue;  // a `with` around the exception is left in any case
      if (leaves) --entered;
      unreachable.push_back(node);
    }
    for (IrNode* node : std::views::reverse(unreachable)) {
      for (IrValue* output : node->outputs()) {
        if (output->has_uses()) output->replace_all_uses_with(nothing_of(output->type()));
      }
      node->destroy();
    }
  }

  // Returns the prim::Uninitialized of the type; there is one per type, at the start of the graph.
  IrValue* nothing_of(const TypePtr& type) {
    IrValue*& known = nothing_[type.get()];
    if (known == nullptr) {
      IrNode* node = graph_.create(Symbol::kPrimUninitialized);
      known = node->output()->set_type(type);
      graph_.block()->prepend(node);
    }
    return known;
  }

  IrGraph& graph_;
  std::unordered_map<const Type*, IrValue*> nothing_;
};

// --- bodies of fork ---

// Values from outside of the closure become inputs, in the order in which they are met.  Constants are
// copied, except for number literals (kAttrShared), which become inputs too, as in LibTorch.
void lift_closures(IrBlock& block) {
  for (IrNode* node : block.nodes()) {
    for (IrBlock* inner : node->blocks()) {
      if (!node->is(Symbol::kPrimClosure)) lift_closures(*inner);
    }
    if (!node->is(Symbol::kPrimFork) && !node->is(Symbol::kPrimAwaitable)) continue;
    if (node->inputs().size() != 1 || !node->input()->node()->is(Symbol::kPrimClosure)) continue;
    const IrBlock& body = *node->input()->node()->blocks().at(0);
    auto graph = std::make_shared<IrGraph>();
    IrGraph& outer = *block.graph();
    graph->set_limit(outer.limit() - std::min(outer.limit(), outer.size()));
    std::vector<IrValue*> captured;
    std::unordered_map<IrValue*, IrValue*> inside;
    IrCloner cloner(*graph, [&](IrValue* value) {
      IrValue*& mine = inside[value];
      if (mine == nullptr) {
        const ScriptConstant* constant = value->node()->constant();
        if (constant != nullptr && value->node()->find_attribute(Symbol::kAttrShared) == nullptr) {
          IrNode* copy = graph->create_constant(*constant, value->type());
          graph->block()->prepend(copy);
          mine = copy->output();
        } else {
          mine = graph->block()->add_input(value->type(), value->name());
          captured.push_back(value);
        }
      }
      return mine;
    });
    cloner.clone_block(body, *graph->block());
    node->remove_all_inputs();
    for (IrValue* value : captured) node->add_input(value);
    clean_up(*graph);
    outer.spend(graph->size());
    node->set_attribute(Symbol::kAttrSubgraph, std::move(graph));
  }
}

// --- tuples ---

void lower_tuples(IrBlock& block) {
  for (IrNode* node : block.nodes()) {
    for (IrBlock* inner : node->blocks()) lower_tuples(*inner);
    if (!node->is(Symbol::kPrimTupleUnpack) && !node->is(Symbol::kPrimTupleIndex)) continue;
    const IrNode* made = node->input()->node();
    if (!made->is(Symbol::kPrimTupleConstruct)) continue;
    if (node->is(Symbol::kPrimTupleUnpack)) {
      for (std::size_t i = 0; i < node->outputs().size(); ++i)
        node->output(i)->replace_all_uses_with(made->input(i));
      continue;
    }
    const auto place = find_position(std::ssize(made->inputs()), constant_of<std::int64_t>(*node->input(1)));
    if (place) node->output()->replace_all_uses_with(made->input(*place));
  }
}

// --- constants, and branches and loops that they decide ---

class Decisions {
 public:
  bool run(IrBlock& block) {
    visit(block);
    return changed_;
  }

 private:
  void visit(IrBlock& block) {
    for (IrNode* node = block.nodes().front(); node != block.return_node();) {
      IrNode* const next = node->next();
      if (node->is(Symbol::kPrimIf)) {
        visit_if(*node);
      } else if (node->is(Symbol::kPrimLoop)) {
        visit_loop(*node);
      } else if (node->is(Symbol::kAtenDevice)) {
        visit_device(*node);
      } else if (node->is(Symbol::kPrimTupleConstruct)) {
        visit_tuple(*node);
      } else if (auto constant = fold(*node)) {
        replace(*node, std::move(*constant));
      } else {
        for (IrBlock* inner : node->blocks()) visit(*inner);
      }
      node = next;
    }
  }

  // torch.device("cpu") is a constant.
  void visit_device(IrNode& node) {
    const auto text = node.inputs().size() == 1 ? constant_of<std::string>(*node.input()) : std::nullopt;
    if (!text || !is_device(*text)) return;
    replace(node, ScriptConstant(ScriptConstant::Device{*text}));
  }

  // A tuple of immutable constants is a constant.
  void visit_tuple(IrNode& node) {
    ScriptConstant::Tuple tuple;
    for (const IrValue* input : node.inputs()) {
      const ScriptConstant* constant = input->node()->constant();
      if (constant == nullptr || !is_immutable(*constant)) return;
      tuple.items.push_back(*constant);
    }
    replace(node, ScriptConstant(std::move(tuple)));
  }

  void replace(IrNode& node, ScriptConstant value) {
    // A folded Scalar has the type of its value; None keeps the type of the node.
    TypePtr type = node.output()->type();
    if (type->kind() != TypeKind::kTuple && !value.is_none()) type = type_of(value, tensor_type());
    IrNode* constant = node.graph()->create_constant(std::move(value), std::move(type));
    constant->set_source_range(node.source_range())->insert_before(&node);
    node.output()->replace_all_uses_with(constant->output());
    changed_ = true;
  }

  static bool is_immutable(const ScriptConstant& constant) {
    return !constant.is<ScriptConstant::TableEntry>() && !constant.is<ScriptConstant::List>() &&
           !constant.is<ScriptConstant::Dict>() && !constant.is<ScriptConstant::FunctionValue>();
  }

  // Returns whether any build of LibTorch can parse the device: "cpu", "cuda:0".
  static bool is_device(std::string_view text) {
    const std::size_t colon = text.find(':');
    const std::string_view name = text.substr(0, colon);
    if (!internal::is_identifier(name)) return false;
    if (colon == std::string_view::npos) return true;
    const std::string_view index = text.substr(colon + 1);
    constexpr std::size_t kMaxDigits = 2;
    return !index.empty() && index.size() <= kMaxDigits &&
           std::all_of(index.begin(), index.end(), is_digit) && (index.size() == 1 || index[0] != '0');
  }

  void visit_if(IrNode& node) {
    if (const auto condition = constant_of<bool>(*node.input())) {
      IrBlock& taken = *node.blocks()[*condition ? 0 : 1];
      visit(taken);
      for (std::size_t i = 0; i < node.outputs().size(); ++i)
        node.output(i)->replace_all_uses_with(taken.outputs()[i]);
      move_nodes(taken, &node);
      node.destroy();
      changed_ = true;
      return;
    }
    IrBlock& yes = *node.blocks()[0];
    IrBlock& no = *node.blocks()[1];
    visit(yes);
    visit(no);
    for (std::size_t i = 0; i < node.outputs().size();) {
      IrValue* one = yes.outputs()[i];
      IrValue* other = no.outputs()[i];
      const ScriptConstant* constant = one->node()->constant();
      const ScriptConstant* second = other->node()->constant();
      const bool same = one == other || (constant != nullptr && second != nullptr && *constant == *second &&
                                         *one->type() == *other->type());
      if (!same) {
        ++i;
        continue;
      }
      if (one != other && one->node()->owning_block() != node.graph()->block()) {
        // The constant is in the branch, and moves out to stay defined.
        one->node()->move_before(node.graph()->block()->nodes().front());
      }
      node.output(i)->replace_all_uses_with(one);
      node.erase_output(i);
      yes.erase_output(i);
      no.erase_output(i);
      changed_ = true;
    }
  }

  void visit_loop(IrNode& node) {
    const auto trips = constant_of<std::int64_t>(*node.input(0));
    const auto starts = constant_of<bool>(*node.input(1));
    if ((trips && *trips <= 0) || (starts && !*starts)) {
      for (std::size_t i = 0; i < node.outputs().size(); ++i)
        node.output(i)->replace_all_uses_with(node.input(i + 2));
      node.destroy();
      changed_ = true;
      return;
    }
    IrBlock& body = *node.blocks()[0];
    visit(body);
    for (std::size_t i = node.outputs().size(); i-- > 0;) {
      if (body.inputs()[i + 1] != body.outputs()[i + 1]) continue;
      IrValue* before = node.input(i + 2);
      node.output(i)->replace_all_uses_with(before);
      body.inputs()[i + 1]->replace_all_uses_with(before);
      node.erase_output(i);
      node.remove_input(i + 2);
      body.erase_input(i + 1);
      body.erase_output(i + 1);
      changed_ = true;
    }
  }

  bool changed_ = false;
};

// --- dead code ---

bool has_effect(const IrNode& node) {
  if (node.is(Symbol::kPrimLoop)) {
    // A loop that computes its condition may not end.
    const IrNode* producer = node.blocks()[0]->outputs()[0]->node();
    if (!producer->is(Symbol::kPrimParam) && producer->is_inside(node)) return true;
    const ScriptConstant* constant = producer->constant();
    if (constant != nullptr && !(*constant == ScriptConstant(true))) return true;
  }
  if (!node.blocks().empty() && !node.is(Symbol::kPrimClosure)) {
    return std::any_of(node.blocks().begin(), node.blocks().end(), [](const IrBlock* block) {
      return std::any_of(block->nodes().begin(), block->nodes().end(),
                         [](const IrNode* inner) { return has_effect(*inner); });
    });
  }
  switch (node.kind()) {
    case Symbol::kPrimCallFunction:
    case Symbol::kPrimCallMethod:
    case Symbol::kPrimEnter:
    case Symbol::kPrimExit:
    case Symbol::kPrimFork:
    case Symbol::kPrimAwaitable:
    case Symbol::kPrimPrint:
    case Symbol::kPrimRaiseException:
    case Symbol::kPrimSetAttr:
    case Symbol::kAtenWait:
      return true;
    default:
      break;
  }
  const FunctionSchema* schema = node.operator_schema();
  if (schema == nullptr) return false;
  if (schema->row == nullptr) return true;  // only its schema is known
  return may_write(schema->row) || !has_trait(schema->row, traits::kKnown) ||
         has_trait(schema->row, traits::kSideEffect);
}

bool has_uses(const IrNode& node) {
  return std::any_of(node.outputs().begin(), node.outputs().end(),
                     [](const IrValue* output) { return output->has_uses(); });
}

void sweep(IrBlock& block) {
  for (IrNode* node = block.nodes().back(); node != block.return_node();) {
    if (node->is(Symbol::kPrimIf)) {
      for (std::size_t i = node->outputs().size(); i-- > 0;) {
        if (node->output(i)->has_uses()) continue;
        node->erase_output(i);
        for (IrBlock* inner : node->blocks()) inner->erase_output(i);
      }
    } else if (node->is(Symbol::kPrimLoop)) {
      IrBlock& body = *node->blocks()[0];
      for (std::size_t i = node->outputs().size(); i-- > 0;) {
        if (node->output(i)->has_uses() || body.inputs()[i + 1]->has_uses()) continue;
        node->erase_output(i);
        node->remove_input(i + 2);
        body.erase_input(i + 1);
        body.erase_output(i + 1);
      }
    }
    for (IrBlock* inner : node->blocks()) sweep(*inner);
    IrNode* const previous = node->previous();
    if (!has_uses(*node) && !has_effect(*node)) node->destroy();
    // The node before the first one is the return node.
    node = previous;
  }
}

// --- synonyms of operators ---

void normalize_operators(IrBlock& block) {
  static const auto synonyms = [] {
    std::unordered_map<Symbol, Symbol> map;
    for_each_row([&](std::string_view name, const OperatorFacts& facts) {
      if (facts.synonym_of.empty()) return;
      for (const char* mark : {"", "_"}) {
        map[intern("aten::" + std::string(name) + mark)] =
            intern("aten::" + std::string(facts.synonym_of) + mark);
      }
    });
    return map;
  }();
  for (IrNode* node : block.nodes()) {
    for (IrBlock* inner : node->blocks()) normalize_operators(*inner);
    const auto synonym = synonyms.find(node->kind());
    if (synonym == synonyms.end() || node->inputs().empty() ||
        node->input()->type()->kind() != TypeKind::kTensor)
      continue;
    const FunctionSchema* schema = find_overload(synonym->second, *node);
    if (schema == nullptr) continue;
    node->set_kind(synonym->second);
    node->set_operator_schema(schema);
  }
}

// --- constants ---

void gather_constants(IrBlock& block, std::vector<IrNode*>& constants) {
  for (IrNode* node : block.nodes()) {
    for (IrBlock* inner : node->blocks()) gather_constants(*inner, constants);
    if (node->is(Symbol::kPrimConstant)) constants.push_back(node);
  }
}

void pool_constants(IrGraph& graph) {
  std::vector<IrNode*> constants;
  gather_constants(*graph.block(), constants);
  ConstantPool pool(graph);
  for (IrNode* node : constants) pool.adopt(node);
}

// --- the order of results ---

class Order {
 public:
  explicit Order(IrGraph& graph) {
    number(*graph.block());
    visit(*graph.block());
  }

 private:
  // Numbers nodes in the order of the graph's text; a block's return node is the last in it.
  void number(const IrBlock& block) {
    for (const IrNode* node : block.nodes()) {
      numbers_[node] = next_++;
      for (const IrBlock* inner : node->blocks()) number(*inner);
    }
    numbers_[block.return_node()] = next_++;
  }

  using Place = std::pair<std::size_t, std::size_t>;
  Place first_use(const IrValue& value) const {
    Place first{SIZE_MAX, SIZE_MAX};
    for (const IrUse& use : value.uses()) first = std::min(first, Place{numbers_.at(use.user), use.offset});
    return first;
  }

  static std::vector<std::size_t> shifted(const std::vector<std::size_t>& order, std::size_t by) {
    std::vector<std::size_t> result(by);
    std::iota(result.begin(), result.end(), 0U);
    for (const std::size_t i : order) result.push_back(i + by);
    return result;
  }

  void visit(IrBlock& block) {
    for (IrNode* node = block.nodes().back(); node != block.return_node(); node = node->previous()) {
      if (node->is(Symbol::kPrimIf) || node->is(Symbol::kPrimLoop)) sort_results(*node);
      for (IrBlock* inner : node->blocks()) visit(*inner);
    }
  }

  void sort_results(IrNode& node) {
    if (node.outputs().size() < 2) return;
    std::vector<Place> places;
    for (const IrValue* output : node.outputs()) places.push_back(first_use(*output));
    std::vector<std::size_t> order(places.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return places[a] < places[b]; });
    if (std::is_sorted(order.begin(), order.end())) return;
    node.permute_outputs(order);
    if (node.is(Symbol::kPrimIf)) {
      for (IrBlock* block : node.blocks()) block->return_node()->permute_inputs(order);
      return;
    }
    node.permute_inputs(shifted(order, 2));
    IrBlock& body = *node.blocks()[0];
    body.param_node()->permute_outputs(shifted(order, 1));
    body.return_node()->permute_inputs(shifted(order, 1));
  }

  std::unordered_map<const IrNode*, std::size_t> numbers_;
  std::size_t next_ = 0;
};

}  // namespace

void clean_up(IrGraph& graph) {
  Unreachable(graph).run();
  normalize_operators(*graph.block());
  lift_closures(*graph.block());
  lower_tuples(*graph.block());
  sweep(*graph.block());
  if (Decisions().run(*graph.block())) sweep(*graph.block());
  pool_constants(graph);
  const Order order(graph);
}

}  // namespace fxtrace::internal::torchscript
