// Converts variables to SSA form.  The algorithm is that of PyTorch's
// torch/csrc/jit/frontend/convert_to_ssa.cpp (BSD-3-Clause, see NOTICE).
//
// The emitter writes prim::Store[name](value) for an assignment and prim::Load[name]() for a use, a
// prim::If without results for a branch, and a prim::Loop with two blocks, body and condition, and only its
// trip count as input.  convert_to_ssa() turns loads into the stored values in three steps:
//
//   ControlFlow        gives prim::If and prim::Loop results, and the body of a loop carried values, for the
//                      variables that they assign; still by name, with loads and stores around them.
//   inline_conditions  copies the condition of a loop before the loop, and moves it to the end of the body.
//   erase_variables    replaces each load by the value stored last, and removes loads and stores.
//
// 1. A store in a block is seen only in that block and the blocks in it.  A variable leaves a branch or a
//    body as a result of the prim::If or prim::Loop, which a store after the node assigns to its name.
// 2. ControlFlow visits inner blocks first, and then meets the stores that it inserted after the node: an
//    assignment reaches outwards block by block.
// 3. A name becomes a result of a prim::If when both branches have it: assigned there, or visible before.
//    It becomes a carried value of a prim::Loop when the body assigns it and it is visible before the loop.
// 4. Results and carried values are in the order of their names, as in LibTorch.
// 5. The condition loads its variables by name, so its copy before the loop reads the initial values, and
//    the nodes at the end of the body read those of the iteration.  Hence it is placed before
//    erase_variables.
//
// Example (loads of n are left out):
//
//   i = 0                    Store[i](0)
//   while i < n:             Loop(max)                      max: 2^63 - 1 iterations
//     i = i + 1                block0(%t): Store[i](add(Load[i], 1))
//   return i                   block1(): -> (lt(Load[i], n))
//                            -> (Load[i])
//
// ControlFlow: the body assigns `i`, which is visible before the loop.
//
//   Store[i](0)
//   %i = Loop(max, Load[i])
//     block0(%t, %i.1): Store[i](%i.1); Store[i](add(Load[i], 1)) -> (Load[i])
//     block1(): -> (lt(Load[i], n))
//   Store[i](%i)
//   -> (Load[i])
//
// inline_conditions makes it `Loop(max, lt(Load[i], n), Load[i])`, and the results of the body (lt(Load[i],
// n), Load[i]).  erase_variables:
//
//   %i = Loop(max, lt(0, n), 0)
//     block0(%t, %i.1): %i.2 = add(%i.1, 1) -> (lt(%i.2, n), %i.2)
//   -> (%i)
#include "torchscript/ir/ir_steps.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "torchscript/compiler/environment.h"
#include "torchscript/language/type_relations.h"

namespace fxtrace::internal::torchscript {
namespace {

// A scoped map of names.  The names are views of the attributes of the nodes that use them.
template <class T>
class Names {
 public:
  using Frame = std::unordered_map<std::string_view, T>;
  void push() { frames_.emplace_back(); }
  Frame pop() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    return frame;
  }
  void set(std::string_view name, T value) { frames_.back()[name] = std::move(value); }
  T find(std::string_view name) const {
    for (auto frame = frames_.rbegin(); frame != frames_.rend(); ++frame) {
      const auto found = frame->find(name);
      if (found != frame->end()) return found->second;
    }
    return nullptr;
  }

 private:
  std::vector<Frame> frames_;
};

IrNode* new_load(IrGraph& graph, std::string_view name, const TypePtr& type) {
  IrNode* node = graph.create(Symbol::kPrimLoad);
  node->set_attribute(Symbol::kAttrName, std::string(name));
  node->output()->set_type(type);
  return node;
}

IrNode* new_store(IrGraph& graph, std::string_view name, IrValue* value) {
  IrNode* node = graph.create(Symbol::kPrimStore, {value}, 0);
  node->set_attribute(Symbol::kAttrName, std::string(name));
  return node;
}

// Gives branches and loops results and carried values for the variables that they assign.
class ControlFlow {
 public:
  explicit ControlFlow(IrGraph& graph) : graph_(graph) {}
  void run() { visit(*graph_.block()); }

 private:
  using Frame = Names<TypePtr>::Frame;

  Frame visit(IrBlock& block) {
    names_.push();
    for (IrNode* node : block.nodes()) {
      switch (node->kind()) {
        case Symbol::kPrimIf:
          visit_if(*node);
          break;
        case Symbol::kPrimLoop:
          visit_loop(*node);
          break;
        case Symbol::kPrimClosure:
          visit(*node->blocks()[0]);
          break;
        case Symbol::kPrimStore:
          names_.set(node->text(), node->input()->type());
          break;
        default:
          break;
      }
    }
    return names_.pop();
  }

  TypePtr find(const Frame& frame, std::string_view name) const {
    const auto found = frame.find(name);
    return found != frame.end() ? found->second : names_.find(name);
  }

  void add_block_output(IrBlock& block, const TypePtr& type, std::string_view name) {
    IrNode* load = new_load(graph_, name, type);
    block.append(load);
    block.add_output(load->output());
  }

  void add_node_output(IrNode& node, const TypePtr& type, std::string_view name) {
    IrValue* output = node.add_output(type);
    if (is_meaningful_name(name)) output->set_name(name);
    new_store(graph_, name, output)->insert_after(&node);
  }

  void visit_if(IrNode& node) {
    const Frame yes = visit(*node.blocks()[0]);
    const Frame no = visit(*node.blocks()[1]);
    std::set<std::string_view> changed;
    for (const auto& [name, type] : yes) {
      if (find(no, name) != nullptr) changed.insert(name);
    }
    for (const auto& [name, type] : no) {
      if (find(yes, name) != nullptr) changed.insert(name);
    }
    for (const std::string_view name : changed) {
      const TypePtr one = find(yes, name);
      const TypePtr other = find(no, name);
      const TypePtr type = unify(one, other, nullptr, true);
      add_block_output(*node.blocks()[0], one, name);
      add_block_output(*node.blocks()[1], other, name);
      add_node_output(node, type, name);
    }
  }

  void visit_loop(IrNode& node) {
    IrBlock& body = *node.blocks()[0];
    const Frame variables = visit(body);
    std::map<std::string_view, TypePtr> sorted(variables.begin(), variables.end());
    for (const auto& [name, type] : sorted) {
      const TypePtr outer = names_.find(name);
      if (outer == nullptr) continue;  // a variable of the body only
      const TypePtr carried = unify(outer, type, nullptr, true);
      IrNode* load = new_load(graph_, name, outer);
      load->insert_before(&node);
      node.add_input(load->output());
      IrValue* input = body.add_input(carried, name);  // even when is_meaningful_name() is false
      body.prepend(new_store(graph_, name, input));
      add_block_output(body, type, name);
      add_node_output(node, carried, name);
    }
  }

  IrGraph& graph_;
  Names<TypePtr> names_;
};

// Copies the nodes of each loop's condition block before the loop, and moves them to the end of its body.
void inline_conditions(IrGraph& graph, IrBlock& block) {
  for (IrNode* node : block.nodes()) {
    for (IrBlock* inner : node->blocks()) inline_conditions(graph, *inner);
    if (!node->is(Symbol::kPrimLoop)) continue;
    IrBlock& body = *node->blocks()[0];
    IrBlock& condition = *node->blocks()[1];
    IrCloner cloner(graph, [](IrValue* value) { return value; });
    const std::vector<IrValue*> before = cloner.clone_nodes(condition, node);
    node->insert_input(1, before.at(0));
    move_nodes(condition, body.return_node());
    body.insert_output(0, condition.outputs().at(0));
    node->erase_block(1);
  }
}

void erase_variables(IrBlock& block, Names<IrValue*>& names) {
  names.push();
  for (IrNode* node : block.nodes()) {
    switch (node->kind()) {
      case Symbol::kPrimStore:
        names.set(node->text(), node->input());
        node->destroy();
        break;
      case Symbol::kPrimLoad: {
        IrValue* value = names.find(node->text());
        if (value == nullptr) throw input_error("undefined value " + node->text());
        node->output()->replace_all_uses_with(value);
        node->destroy();
        break;
      }
      default:
        for (IrBlock* inner : node->blocks()) erase_variables(*inner, names);
        break;
    }
  }
  names.pop();
}

}  // namespace

void convert_to_ssa(IrGraph& graph) {
  ControlFlow(graph).run();
  inline_conditions(graph, *graph.block());
  Names<IrValue*> names;
  erase_variables(*graph.block(), names);
  graph.free_variables();
}

}  // namespace fxtrace::internal::torchscript
