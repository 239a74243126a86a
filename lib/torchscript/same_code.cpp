#include "torchscript/same_code.h"

#include <ATen/ops/equal.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>

#include <algorithm>
#include <set>
#include <unordered_map>

namespace fxtrace {

namespace prim = c10::prim;
using torch::jit::AttributeKind;
using torch::jit::Block;
using torch::jit::Function;
using IrNode = torch::jit::Node;
using torch::jit::Value;

namespace {

bool same_tensor(const at::Tensor& first, const at::Tensor& second) {
  if (first.is_same(second)) return true;
  return first.defined() && second.defined() && first.dtype() == second.dtype() &&
         first.sizes() == second.sizes() && first.layout() == second.layout() &&
         first.device() == second.device() && at::equal(first, second);
}

bool same_constant(const IrNode& first, const IrNode& second) {
  const auto a = torch::jit::toIValue(first.output());
  const auto b = torch::jit::toIValue(second.output());
  if (!a || !b) return false;
  if (a->isTensor() && b->isTensor()) return same_tensor(a->toTensor(), b->toTensor());
  return a->tagKind() == b->tagKind() && *a == *b;
}

class CodeComparison {
 public:
  bool functions(Function& first, Function& second) {
    if (&first == &second || !begun_.insert({&first, &second}).second) return true;
    if (!first.isGraphFunction() || !second.isGraphFunction()) return false;
    return blocks(*torch::jit::toGraphFunction(first).graph()->block(),
                  *torch::jit::toGraphFunction(second).graph()->block());
  }

 private:
  bool blocks(const Block& first, const Block& second) {
    if (!pair(first.inputs(), second.inputs())) return false;
    auto a = first.nodes().begin();
    auto b = second.nodes().begin();
    for (; a != first.nodes().end() && b != second.nodes().end(); ++a, ++b) {
      if (!nodes(**a, **b)) return false;
    }
    return a == first.nodes().end() && b == second.nodes().end() &&
           same_values(first.outputs(), second.outputs());
  }

  bool nodes(const IrNode& first, const IrNode& second) {
    if (first.kind() != second.kind() || !same_values(first.inputs(), second.inputs()) ||
        first.blocks().size() != second.blocks().size() || !pair(first.outputs(), second.outputs())) {
      return false;
    }
    if (first.kind() == prim::Constant) return constants(first, second);
    if (first.kind() == prim::CallMethod) return methods(first, second);
    const auto names = first.attributeNames();
    if (names != second.attributeNames()) return false;
    if (!std::ranges::all_of(names, [&](c10::Symbol name) { return attributes(first, second, name); })) {
      return false;
    }
    for (std::size_t i = 0; i < first.blocks().size(); ++i) {
      if (!blocks(*first.blocks()[i], *second.blocks()[i])) return false;
    }
    return true;
  }

  bool constants(const IrNode& first, const IrNode& second) {
    const auto a = first.output()->type()->cast<c10::FunctionType>();
    const auto b = second.output()->type()->cast<c10::FunctionType>();
    if (a && b) return functions(*a->function(), *b->function());
    return same_constant(first, second);
  }

  bool methods(const IrNode& first, const IrNode& second) {
    const auto type = first.input(0)->type()->cast<c10::ClassType>();
    if (!type) return first.s(c10::attr::name) == second.s(c10::attr::name);
    Function* a = type->findMethod(first.s(c10::attr::name));
    Function* b = type->findMethod(second.s(c10::attr::name));
    return a != nullptr && b != nullptr && functions(*a, *b);
  }

  static bool attributes(const IrNode& first, const IrNode& second, c10::Symbol name) {
    if (first.kindOf(name) != second.kindOf(name)) return false;
    switch (first.kindOf(name)) {
      case AttributeKind::i:
        return first.i(name) == second.i(name);
      case AttributeKind::f:
        return first.f(name) == second.f(name);
      case AttributeKind::s:
        return first.s(name) == second.s(name);
      case AttributeKind::is:
        return first.is(name) == second.is(name);
      case AttributeKind::ss:
        return first.ss(name) == second.ss(name);
      case AttributeKind::ty:
        return *first.ty(name) == *second.ty(name);
      case AttributeKind::tys:
        return std::ranges::equal(first.tys(name), second.tys(name),
                                  [](const auto& a, const auto& b) { return *a == *b; });
      default:
        return false;
    }
  }

  template <class Values>
  bool pair(const Values& first, const Values& second) {
    if (first.size() != second.size()) return false;
    for (std::size_t i = 0; i < first.size(); ++i) {
      if (*first[i]->type() != *second[i]->type()) return false;
      partner_[first[i]] = second[i];
    }
    return true;
  }

  template <class Values>
  bool same_values(const Values& first, const Values& second) const {
    return std::ranges::equal(first, second, [&](const Value* a, const Value* b) {
      const auto it = partner_.find(a);
      return it != partner_.end() && it->second == b;
    });
  }

  std::unordered_map<const Value*, const Value*> partner_;
  std::set<std::pair<Function*, Function*>> begun_;
};

}  // namespace

bool have_same_code(Function& first, Function& second) { return CodeComparison().functions(first, second); }

}  // namespace fxtrace
