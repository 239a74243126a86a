// Eliminates early exits: `return`, `break` and `continue` become branches and loop-carried values.  The
// algorithm is that of PyTorch's torch/csrc/jit/frontend/exit_transforms.cpp (BSD-3-Clause, see NOTICE).
//
// A graph has no jumps: prim::If and prim::Loop run to the end of their blocks.  After ssa.cpp an exit is
// still a node in the middle of one: prim::ReturnStatement, whose inputs are the results of the function,
// or prim::LoopContinuation (from `break` and `continue`), whose inputs are the results of the loop's body.
// The target of an exit is the block whose results its inputs become: the block of the function or closure,
// or the body of the innermost loop.  The Transformer runs once for each kind of exit, loops first.
//
// 1. visit(block) returns an Exit: `taken`, a bool that tells whether the block was left early, and the
//    values that the exit gives.  true_, false_ and throws_ are one value each: comparing `taken` with them
//    tells that the block always exits, never exits or always raises.  Any other value means that it may
//    exit.
// 2. After visit(block) neither the block nor a block in it has a reachable node of the kind of exit.
// 3. Nodes after a node that always exits or raises are removed.  Nodes after a node that may exit move
//    into a new prim::If on `taken` (guard_rest), and with them the results of the block.
// 4. The values of an exit have a meaning only where `taken` is true; elsewhere they are prim::Uninitialized.
//    The results of a block that was left early have no meaning either; no code reads them.
// 5. An exit stops at its target, where its values become the block's results (reach).
// 6. Results, inputs and outputs that an exit needs are appended, so that the others keep their indices.
//
// Example, with p(y) for an operator that gives a bool:
//
//   for i in range(n):             %y = Loop(n, true, x)
//     if p(y):                       block0(%i, %y.1):
//       return y                       If(p(%y.1))
//     y = relu(y)                        block0(): ReturnStatement(%y.1)
//   return neg(y)                        block1():
//                                      %y.2 = relu(%y.1)
//                                      -> (true, %y.2)
//                                  ReturnStatement(neg(%y))
//
// visit_if: one branch exits, the other does not.  So the If gets two results: %t, whether it was taken,
// and %v, the value: (true, %y.1) and (false, uninitialized).
// guard_rest: relu moves into an If on %t, which passes on %t and %v.
// visit_loop: the condition of the loop becomes `false if %t else true`, and %t and %v are carried by the
// loop; they start as false and uninitialized.
// guard_rest: neg moves into an If on the loop's %t, both branches of which return.
// reach: the results of that If, %v and neg(%y), become the result of the function.
// join_branches: the Ifs on %t in the body are merged into the one that computes %t from constants.
// Without the results that cleanup.cpp removes:
//
//   %y, %t, %v = Loop(n, true, x, false, uninitialized)
//     block0(%i, %y.1, %t.1, %v.1):
//       %c, %y.3, %t.2, %v.2 = If(p(%y.1))
//         block0(): -> (false, uninitialized, true, %y.1)
//         block1(): %y.2 = relu(%y.1) -> (true, %y.2, false, uninitialized)
//       -> (%c, %y.3, %t.2, %v.2)
//   %r = If(%t): block0(): -> (%v); block1(): -> (neg(%y))
#include "torchscript/ir/ir_steps.h"

#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "support/error.h"
#include "torchscript/language/type_relations.h"

namespace fxtrace::torchscript {
namespace {

// The status tells whether a node or block exits, and the Exit with what values.
enum class Status : std::uint8_t { kWill, kMight, kWont, kThrows };
struct Exit {
  IrValue* taken = nullptr;  // a bool
  std::vector<IrValue*> values;
};

class Transformer {
 public:
  Transformer(IrGraph& graph, Symbol exit_kind) : graph_(graph), exit_kind_(exit_kind) {
    IrNode* yes = graph.create_constant(Constant(true), bool_type());
    IrNode* no = graph.create_constant(Constant(false), bool_type());
    graph.block()->prepend(no);
    graph.block()->prepend(yes);
    true_ = yes->output();
    false_ = no->output();
    throws_ = nothing_of(bool_type());
  }

  void run() { visit(*graph_.block()); }

 private:
  Status status_of(const Exit& exit) const {
    if (exit.taken == true_) return Status::kWill;
    if (exit.taken == false_) return Status::kWont;
    return exit.taken == throws_ ? Status::kThrows : Status::kMight;
  }
  Exit wont() const { return {false_, {}}; }

  static Symbol owner_of(const IrBlock& block) {
    return block.owning_node() == nullptr ? Symbol::kNone : block.owning_node()->kind();
  }
  bool is_target(const IrBlock& block) const {
    const Symbol owner = owner_of(block);
    if (exit_kind_ == Symbol::kPrimLoopContinuation) return owner == Symbol::kPrimLoop;
    return owner == Symbol::kNone || owner == Symbol::kPrimClosure;
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
  std::vector<IrValue*> nothing_like(const std::vector<IrValue*>& values) {
    std::vector<IrValue*> result;
    for (const IrValue* value : values) result.push_back(nothing_of(value->type()));
    return result;
  }

  static void replace_outputs(IrBlock& block, const std::vector<IrValue*>& values) {
    block.return_node()->remove_all_inputs();
    for (IrValue* value : values) block.add_output(value);
  }

  void add_if_outputs(IrNode& node, const std::vector<IrValue*>& yes, const std::vector<IrValue*>& no) {
    for (std::size_t i = 0; i < yes.size(); ++i) {
      node.blocks()[0]->add_output(yes[i]);
      node.blocks()[1]->add_output(no[i]);
      node.add_output(unify(yes[i]->type(), no[i]->type(), nullptr, true));
    }
  }

  Exit visit(IrBlock& block) {
    // Every early exit nests the code after it one level deeper.
    constexpr int kMaxDepth = 500;
    if (++depth_ > kMaxDepth) throw input_error("a function has more early exits than fxtrace supports");
    IrBlock* const outer_target = target_;
    if (is_target(block)) target_ = &block;
    Exit exit = wont();
    for (IrNode* node = block.nodes().front(); node != block.return_node();) {
      IrNode* const next = node->next();
      switch (node->kind()) {
        case Symbol::kPrimRaiseException:
          exit = {throws_, {}};
          break;
        case Symbol::kPrimReturnStatement:
        case Symbol::kPrimLoopContinuation:
          if (node->kind() != exit_kind_) break;
          exit = {true_, node->inputs()};
          node->destroy();
          break;
        case Symbol::kPrimIf:
          exit = visit_if(*node);
          break;
        case Symbol::kPrimLoop:
          exit = visit_loop(*node);
          break;
        case Symbol::kPrimClosure:
          visit(*node->blocks()[0]);
          break;
        default:
          if (node->is(Symbol::kPrimWith)) exit = visit(*node->blocks()[0]);
          break;
      }
      const Status status = status_of(exit);
      if (status == Status::kWill || status == Status::kThrows) {
        remove_from(block, next);
        break;
      }
      if (status == Status::kMight) {
        if (next != block.return_node()) exit = guard_rest(block, exit, next);
        break;
      }
      node = next;
    }
    if (target_ == &block) {
      reach(block, exit);
      exit = wont();
    }
    target_ = outer_target;
    --depth_;
    return exit;
  }

  // Makes the values of an exit the results of its target.
  void reach(IrBlock& block, const Exit& exit) {
    if (status_of(exit) == Status::kWill) return replace_outputs(block, exit.values);
    if (status_of(exit) != Status::kMight) return;
    IrNode* node = graph_.create(Symbol::kPrimIf, {exit.taken}, 0);
    block.append(node);
    node->add_block();
    node->add_block();
    add_if_outputs(*node, exit.values, block.outputs());
    replace_outputs(block, node->outputs());
  }

  Exit visit_if(IrNode& node) {
    Exit yes = visit(*node.blocks()[0]);
    Exit no = visit(*node.blocks()[1]);
    const Status one = status_of(yes);
    const Status other = status_of(no);
    Status status = Status::kMight;
    if (one == Status::kThrows) {
      status = other;
    } else if (other == Status::kThrows || one == other) {
      status = one;
    }
    if (status == Status::kThrows) return {throws_, {}};
    if (status == Status::kWont) return wont();
    if (one == Status::kWont || one == Status::kThrows) {
      yes.values = nothing_like(no.values);
    } else if (other == Status::kWont || other == Status::kThrows) {
      no.values = nothing_like(yes.values);
    }
    Exit exit{true_, {}};
    if (status != Status::kWill) {
      add_if_outputs(node, {yes.taken}, {no.taken});
      exit.taken = node.outputs().back();
    }
    const std::size_t first = node.outputs().size();
    add_if_outputs(node, yes.values, no.values);
    exit.values.assign(node.outputs().begin() + static_cast<std::ptrdiff_t>(first), node.outputs().end());
    return exit;
  }

  Exit visit_loop(IrNode& node) {
    IrBlock& body = *node.blocks()[0];
    const Exit exit = visit(body);
    const Status status = status_of(exit);
    // The loop may have no iterations, so it does not raise even when its body always does.
    if (status == Status::kWont || status == Status::kThrows) return wont();
    IrNode* goes_on = graph_.create(Symbol::kPrimIf, {exit.taken}, 0);
    body.append(goes_on);
    goes_on->add_block()->add_output(false_);
    goes_on->add_block()->add_output(body.outputs()[0]);
    IrValue* condition = goes_on->add_output(bool_type());
    body.return_node()->replace_input(0, condition);

    node.add_input(false_);
    body.add_input(bool_type());
    body.add_output(exit.taken);
    Exit result{node.add_output(bool_type()), {}};
    for (IrValue* value : exit.values) {
      node.add_input(nothing_of(value->type()));
      body.add_input(value->type());
      body.add_output(value);
      result.values.push_back(node.add_output(value->type()));
    }
    return result;
  }

  // Moves the nodes from `first` on into a branch for the case that the exit was not taken.
  Exit guard_rest(IrBlock& block, const Exit& exit, IrNode* first) {
    IrNode* node = graph_.create(Symbol::kPrimIf, {exit.taken}, 0);
    node->insert_before(first);
    IrBlock* taken = node->add_block();
    IrBlock* rest = node->add_block();
    while (first != block.return_node()) {
      if (++moves_ > kMaxMoves) throw input_error("a function has more early exits than fxtrace supports");
      IrNode* const next = first->next();
      first->move_before(rest->return_node());
      first = next;
    }
    for (IrValue* output : block.outputs()) {
      taken->add_output(nothing_of(output->type()));
      rest->add_output(output);
      node->add_output(output->type());
    }
    replace_outputs(block, node->outputs());
    taken->append(graph_.create(exit_kind_, exit.values, 0));
    return visit_if(*node);
  }

  void remove_from(IrBlock& block, IrNode* first) {
    while (first != block.return_node()) {
      IrNode* const last = block.nodes().back();
      const bool is_first = last == first;
      for (IrValue* output : last->outputs()) {
        if (output->has_uses()) output->replace_all_uses_with(nothing_of(output->type()));
      }
      last->destroy();
      if (is_first) return;
    }
  }

  IrGraph& graph_;
  Symbol exit_kind_;
  IrValue* true_ = nullptr;
  IrValue* false_ = nullptr;
  IrValue* throws_ = nullptr;
  IrBlock* target_ = nullptr;
  int depth_ = 0;
  // Bounds the moves: nodes after an exit are moved, and moved again by each further exit.
  static constexpr std::size_t kMaxMoves = 3'000'000;
  std::size_t moves_ = 0;
  std::unordered_map<const Type*, IrValue*> nothing_;
};

// --- `with` ---

// Puts the code between prim::Enter and prim::Exit into a block of a prim::With while exits are eliminated,
// so that an early exit does not skip prim::Exit.
void wrap_with(IrGraph& graph, IrBlock& block) {
  std::vector<IrNode*> entered;
  std::vector<std::pair<IrNode*, IrNode*>> pairs;  // inner ones first
  for (IrNode* node : block.nodes()) {
    for (IrBlock* inner : node->blocks()) wrap_with(graph, *inner);
    if (node->is(Symbol::kPrimEnter)) entered.push_back(node);
    if (!node->is(Symbol::kPrimExit) || entered.empty()) continue;
    pairs.emplace_back(entered.back(), node);
    entered.pop_back();
  }
  for (const auto& [enter, exit] : pairs) {
    IrNode* with = graph.create(Symbol::kPrimWith, {}, 0);
    IrBlock* body = with->add_block();
    IrBlock* end = with->add_block();
    while (enter->next() != exit) enter->next()->move_before(body->return_node());
    with->insert_after(enter);
    exit->move_before(end->return_node());
  }
}

// Checks that every value is made before it is used, in the same block or in one around it: moving nodes of a
// `with` into a branch takes their values away from code behind the `with`, which has no results itself.
void check_scopes(const IrBlock& block, std::unordered_set<const IrValue*>& made) {
  std::vector<const IrValue*> own(block.inputs().begin(), block.inputs().end());
  made.insert(own.begin(), own.end());
  const auto check_inputs = [&](const IrNode& node) {
    for (const IrValue* input : node.inputs()) {
      if (!made.contains(input))
        throw input_error("code after a `with` needs a value of it, although the `with` may be left early");
    }
  };
  for (const IrNode* node : block.nodes()) {
    check_inputs(*node);
    for (const IrBlock* inner : node->blocks()) check_scopes(*inner, made);
    own.insert(own.end(), node->outputs().begin(), node->outputs().end());
    made.insert(node->outputs().begin(), node->outputs().end());
  }
  check_inputs(*block.return_node());
  for (const IrValue* value : own) made.erase(value);
}

void unwrap_with(IrBlock& block) {
  for (IrNode* node = block.nodes().front(); node != block.return_node();) {
    IrNode* const next = node->next();
    for (IrBlock* inner : node->blocks()) unwrap_with(*inner);
    if (node->is(Symbol::kPrimWith)) {
      for (IrBlock* inner : node->blocks()) move_nodes(*inner, node);
      node->destroy();
    }
    node = next;
  }
}

// --- branches in a row ---

// Merges `if a: r = True else: r = False; if r: ...` into one branch: in each branch of the first, a constant
// decides the second.
bool join_branches(IrGraph& graph, IrNode& first) {
  IrNode& second = *first.next();
  if (!first.is(Symbol::kPrimIf) || !second.is(Symbol::kPrimIf) || second.input()->node() != &first)
    return false;
  const std::size_t at = second.input()->offset();
  const auto yes = constant_of<bool>(*first.blocks()[0]->outputs()[at]);
  const auto no = constant_of<bool>(*first.blocks()[1]->outputs()[at]);
  if (!yes || !no || *yes == *no) return false;
  for (const std::size_t i : {0U, 1U}) {
    IrBlock& into = *first.blocks()[i];
    const IrBlock& from = *second.blocks()[(i == 0 ? *yes : *no) ? 0 : 1];
    IrCloner cloner(graph, [&](IrValue* value) {
      return value->node() == &first ? into.outputs()[value->offset()] : value;
    });
    cloner.clone_block(from, into);
  }
  for (IrValue* output : second.outputs()) {
    IrValue* joined = first.add_output(output->type());
    if (output->has_name()) joined->set_name(output->name());
    output->replace_all_uses_with(joined);
  }
  second.destroy();
  return true;
}

void join_branches(IrGraph& graph, IrBlock& block) {
  for (IrNode* node = block.nodes().front(); node != block.return_node();) {
    for (IrBlock* inner : node->blocks()) join_branches(graph, *inner);
    if (node->next() == block.return_node() || !join_branches(graph, *node)) node = node->next();
  }
}

bool has_any(const IrBlock& block, Symbol kind) {
  for (const IrNode* node : block.nodes()) {
    if (node->is(kind)) return true;
    for (const IrBlock* inner : node->blocks()) {
      if (has_any(*inner, kind)) return true;
    }
  }
  return false;
}

}  // namespace

void transform_exits(IrGraph& graph) {
  const bool has_with = has_any(*graph.block(), Symbol::kPrimEnter);
  if (has_with) wrap_with(graph, *graph.block());
  if (has_any(*graph.block(), Symbol::kPrimLoopContinuation))
    Transformer(graph, Symbol::kPrimLoopContinuation).run();
  Transformer(graph, Symbol::kPrimReturnStatement).run();
  join_branches(graph, *graph.block());
  if (!has_with) return;
  unwrap_with(*graph.block());
  std::unordered_set<const IrValue*> made;
  check_scopes(*graph.block(), made);
}

}  // namespace fxtrace::torchscript
