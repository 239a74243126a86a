// The algorithm is that of PyTorch's torch/csrc/jit/frontend/exit_transforms.cpp (BSD-3-Clause, see
// NOTICE).
#include "torchscript/ir/ir_steps.h"

#include <unordered_map>
#include <utility>
#include <vector>

#include "support/error.h"
#include "torchscript/language/type_relations.h"

namespace fxtrace::torchscript {
namespace {

// Of a node or block: whether it exits, and with what values.
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

  // One for each type, which is never looked at.
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
    // Every early exit puts what follows one level deeper.
    constexpr int kMaxDepth = 500;
    if (++depth_ > kMaxDepth) throw input_error("a function has more early exits than fxtrace follows");
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

  // Exits end at the block that they are for.
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
    // It may be that no turn is done.
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

  // What follows is done where the exit was not taken.
  Exit guard_rest(IrBlock& block, const Exit& exit, IrNode* first) {
    IrNode* node = graph_.create(Symbol::kPrimIf, {exit.taken}, 0);
    node->insert_before(first);
    IrBlock* taken = node->add_block();
    IrBlock* rest = node->add_block();
    while (first != block.return_node()) {
      if (++moves_ > kMaxMoves) throw input_error("a function has more early exits than fxtrace follows");
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
  // What follows an exit is moved, and moved again with the next one.
  static constexpr std::size_t kMaxMoves = 3'000'000;
  std::size_t moves_ = 0;
  std::unordered_map<const Type*, IrValue*> nothing_;
};

// --- `with` ---

// The code between prim::Enter and prim::Exit becomes a block while exits are taken out, so that leaving it
// early does not leave out the end.
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

// `if a: r = True ... if r: ...` is one branch, where the first says in all its ways what the second does.
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
  if (has_with) unwrap_with(*graph.block());
}

}  // namespace fxtrace::torchscript
