#include "torchscript/number_meanings.h"

#include <torch/csrc/jit/api/function_impl.h>

#include "torchscript/convert.h"

namespace fxtrace {

namespace prim = c10::prim;
namespace aten = c10::aten;
using IrNode = torch::jit::Node;
using torch::jit::Use;
using torch::jit::Value;

namespace {

// An integer, or a list of such: nothing else can be a dtype.
bool may_be_integer(const c10::Type* type) {
  type = without_optional(type);
  if (type->kind() == c10::TypeKind::ListType) return may_be_integer(type->containedTypes()[0].get());
  return type->kind() == c10::TypeKind::IntType;
}

}  // namespace

NumberMeaning meaning_of(const c10::Argument& formal) {
  const c10::Type* type = without_optional(formal.real_type().get());
  if (type->kind() == c10::TypeKind::ListType) type = type->containedTypes()[0].get();
  switch (type->kind()) {
    case c10::TypeKind::ScalarTypeType:
      return NumberMeaning::kDtype;
    case c10::TypeKind::LayoutType:
      return NumberMeaning::kLayout;
    case c10::TypeKind::MemoryFormatType:
      return NumberMeaning::kMemoryFormat;
    case c10::TypeKind::IntType:
      // aten::to.prim_dtype, its kin and script functions call a dtype an integer even in their schemas.
      if (formal.name() == "dtype") return NumberMeaning::kDtype;
      if (formal.name() == "memory_format") return NumberMeaning::kMemoryFormat;
      return NumberMeaning::kNumber;
    default:
      return NumberMeaning::kNumber;
  }
}

NumberMeaning NumberMeanings::of(const Value* value) {
  if (!may_be_integer(value->type().get())) return NumberMeaning::kNumber;
  // A value that is asked for while it is being worked out adds nothing.
  const auto [place, is_new] = known_.emplace(value, NumberMeaning::kNumber);
  if (!is_new) return place->second;
  NumberMeaning meaning = by_source(value);
  if (meaning == NumberMeaning::kNumber) meaning = by_uses(value);
  known_[value] = meaning;
  return meaning;
}

NumberMeaning NumberMeanings::of_parameter(torch::jit::Function& function, std::size_t index) {
  const auto& formals = function.getSchema().arguments();
  if (index >= formals.size()) return NumberMeaning::kNumber;
  const NumberMeaning by_name = meaning_of(formals[index]);
  if (by_name != NumberMeaning::kNumber || !function.isGraphFunction()) return by_name;
  const auto graph = torch::jit::toGraphFunction(function).graph();
  return index < graph->inputs().size() ? of(graph->inputs()[index]) : NumberMeaning::kNumber;
}

NumberMeaning NumberMeanings::by_source(const Value* value) {
  const IrNode* node = value->node();
  switch (node->kind()) {
    case prim::dtype:
      return NumberMeaning::kDtype;
    case prim::layout:
      return NumberMeaning::kLayout;
    case prim::unchecked_cast:
    case prim::unchecked_unwrap_optional:
    case aten::_unwrap_optional:
      return by_source(node->input(0));
    case prim::If:
      for (const auto* block : node->blocks()) {
        const NumberMeaning meaning = by_source(block->outputs()[value->offset()]);
        if (meaning != NumberMeaning::kNumber) return meaning;
      }
      return NumberMeaning::kNumber;
    case prim::ListConstruct:
      for (const Value* item : node->inputs()) {
        if (const NumberMeaning meaning = by_source(item); meaning != NumberMeaning::kNumber) return meaning;
      }
      return NumberMeaning::kNumber;
    default:
      return NumberMeaning::kNumber;
  }
}

NumberMeaning NumberMeanings::by_uses(const Value* value) {
  for (const Use& use : value->uses()) {
    if (const NumberMeaning meaning = by_use(use); meaning != NumberMeaning::kNumber) return meaning;
  }
  return NumberMeaning::kNumber;
}

NumberMeaning NumberMeanings::by_use(const Use& use) {
  const IrNode* user = use.user;
  switch (user->kind()) {
    case aten::eq:
    case aten::ne:
    case aten::__contains__:
      // What a dtype is compared with is one.
      return by_source(user->input(1 - use.offset));
    case prim::unchecked_cast:
    case prim::unchecked_unwrap_optional:
    case aten::_unwrap_optional:
    case prim::ListConstruct:
      return of(user->output());
    case prim::Return:
      if (const IrNode* outer = user->owningBlock()->owningNode();
          outer != nullptr && outer->kind() == prim::If) {
        return of(outer->outputs()[use.offset]);
      }
      return NumberMeaning::kNumber;
    case prim::CallFunction: {
      const auto type = user->input(0)->type()->cast<c10::FunctionType>();
      return type && use.offset > 0 ? of_parameter(*type->function(), use.offset - 1)
                                    : NumberMeaning::kNumber;
    }
    case prim::CallMethod: {
      const auto type = user->input(0)->type()->cast<c10::ClassType>();
      auto* method = type ? type->findMethod(user->s(c10::attr::name)) : nullptr;
      return method != nullptr ? of_parameter(*method, use.offset) : NumberMeaning::kNumber;
    }
    default: {
      const auto* schema = user->maybeSchema();
      if (schema == nullptr || use.offset >= schema->arguments().size()) return NumberMeaning::kNumber;
      return meaning_of(schema->arguments()[use.offset]);
    }
  }
}

}  // namespace fxtrace
