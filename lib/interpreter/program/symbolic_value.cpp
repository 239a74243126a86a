#include "interpreter/program/symbolic_value.h"

#include <utility>

#include "interpreter/program/convert.h"

namespace fxtrace::internal::interpreter {
namespace {

// Returns whether the type is an integer or a list of integers: no other value can be a dtype.
bool may_be_integer(const Type* type) {
  type = without_optional(type);
  if (type->kind() == TypeKind::kList) return may_be_integer(type->contained_types()[0].get());
  return type->kind() == TypeKind::kInt;
}

}  // namespace

NumberMeaning meaning_of(const FunctionArgument& formal) {
  const Type* type = without_optional(formal.type.get());
  if (type->kind() == TypeKind::kList) type = type->contained_types()[0].get();
  if (type->kind() != TypeKind::kInt) return NumberMeaning::kNumber;
  // Schemas of aten::to.prim_dtype, of similar operators and of script functions declare a dtype as an
  // integer.
  if (formal.name == "dtype") return NumberMeaning::kDtype;
  return formal.name == "memory_format" ? NumberMeaning::kMemoryFormat : NumberMeaning::kNumber;
}

namespace {

NumberMeaning meaning_of(const SchemaType& type) {
  const std::string& name = type.innermost().name;
  if (name == "ScalarType") return NumberMeaning::kDtype;
  if (name == "Layout") return NumberMeaning::kLayout;
  return name == "MemoryFormat" ? NumberMeaning::kMemoryFormat : NumberMeaning::kNumber;
}

}  // namespace

NumberMeaning meaning_of_parameter(const FunctionSchema& schema, std::size_t index) {
  if (index >= schema.arguments.size()) return NumberMeaning::kNumber;
  const NumberMeaning by_name = meaning_of(schema.arguments[index]);
  if (by_name != NumberMeaning::kNumber) return by_name;
  const Schema* own = find_row_schema(schema);
  return own != nullptr && index < own->arguments.size() ? meaning_of(own->arguments[index].type)
                                                         : NumberMeaning::kNumber;
}

NumberMeaning NumberMeanings::meaning_of(const IrValue* value) {
  if (!may_be_integer(value->type().get())) return NumberMeaning::kNumber;
  // A value that is asked for again while its meaning is being worked out counts as a number.
  const auto [place, is_new] = known_.emplace(value, NumberMeaning::kNumber);
  if (!is_new) return place->second;
  NumberMeaning meaning = by_source(value);
  if (meaning == NumberMeaning::kNumber) meaning = by_uses(value);
  known_[value] = meaning;
  return meaning;
}

NumberMeaning NumberMeanings::of_parameter(Function& function, std::size_t index) {
  const auto& formals = function.schema().arguments;
  if (index >= formals.size()) return NumberMeaning::kNumber;
  const NumberMeaning by_name = internal::interpreter::meaning_of(formals[index]);
  if (by_name != NumberMeaning::kNumber || !function.has_code()) return by_name;
  const IrGraph* graph = archive_.find_graph(function);
  return graph != nullptr && index < graph->inputs().size() ? meaning_of(graph->inputs()[index])
                                                            : NumberMeaning::kNumber;
}

NumberMeaning NumberMeanings::by_source(const IrValue* value) {
  static const Symbol layout = torchscript::intern("prim::layout");
  const IrNode* node = value->node();
  if (node->is(layout)) return NumberMeaning::kLayout;
  switch (node->kind()) {
    case Symbol::kPrimDtype:
      return NumberMeaning::kDtype;
    case Symbol::kPrimUncheckedCast:
    case Symbol::kPrimUncheckedUnwrapOptional:
    case Symbol::kAtenUnwrapOptional:
      return by_source(node->input(0));
    case Symbol::kPrimIf:
      for (const auto* block : node->blocks()) {
        const NumberMeaning meaning = by_source(block->outputs()[value->offset()]);
        if (meaning != NumberMeaning::kNumber) return meaning;
      }
      return NumberMeaning::kNumber;
    case Symbol::kPrimListConstruct:
      for (const IrValue* item : node->inputs()) {
        if (const NumberMeaning meaning = by_source(item); meaning != NumberMeaning::kNumber) return meaning;
      }
      return NumberMeaning::kNumber;
    default:
      return NumberMeaning::kNumber;
  }
}

NumberMeaning NumberMeanings::by_uses(const IrValue* value) {
  for (const IrUse& use : value->uses()) {
    if (const NumberMeaning meaning = by_use(use); meaning != NumberMeaning::kNumber) return meaning;
  }
  return NumberMeaning::kNumber;
}

NumberMeaning NumberMeanings::by_use(const IrUse& use) {
  const IrNode* user = use.user;
  switch (user->kind()) {
    case Symbol::kAtenEq:
    case Symbol::kAtenNe:
    case Symbol::kAtenContains:
      // An integer that is compared with a dtype is a dtype.
      return by_source(user->input(1 - use.offset));
    case Symbol::kPrimUncheckedCast:
    case Symbol::kPrimUncheckedUnwrapOptional:
    case Symbol::kAtenUnwrapOptional:
    case Symbol::kPrimListConstruct:
      return meaning_of(user->output());
    case Symbol::kPrimReturn:
      if (const IrNode* outer = user->owning_block()->owning_node();
          outer != nullptr && outer->kind() == Symbol::kPrimIf) {
        return meaning_of(outer->outputs()[use.offset]);
      }
      return NumberMeaning::kNumber;
    case Symbol::kPrimCallFunction:
    case Symbol::kPrimCallMethod: {
      Function* called = find_called(*user);
      const std::size_t first = user->is(Symbol::kPrimCallFunction) ? 1 : 0;
      return called != nullptr && use.offset >= first ? of_parameter(*called, use.offset - first)
                                                      : NumberMeaning::kNumber;
    }
    default: {
      const auto* schema = user->operator_schema();
      return schema == nullptr ? NumberMeaning::kNumber : meaning_of_parameter(*schema, use.offset);
    }
  }
}

Value make_proxy(NodeRef value, TypePtr type, NumberMeaning meaning) {
  return make_counted<Proxy>(value, std::move(type), meaning);
}

Value make_proxy(NodeRef value, TypePtr type, AbstractValue known) {
  auto proxy = make_counted<Proxy>(value, std::move(type));
  if (!known.is_unknown()) proxy->known = std::make_shared<AbstractValue>(std::move(known));
  return proxy;
}

void share_known(const Value& proxy, std::shared_ptr<AbstractValue> known) {
  static_cast<Proxy&>(proxy.to_handle()).known = std::move(known);
}

const AbstractValue& known_of(const Value& value) {
  static const AbstractValue unknown;
  const Proxy* proxy = find_proxy(value);
  return proxy != nullptr && proxy->known ? *proxy->known : unknown;
}

const Proxy* find_proxy(const Value& value) {
  // Proxies are the only handles among the values of a run.
  return value.is_handle() ? static_cast<const Proxy*>(&value.to_handle()) : nullptr;
}

}  // namespace fxtrace::internal::interpreter
