#include "torchscript/compiler/undeclared_calls.h"

#include <algorithm>

#include "support/text/words.h"
#include "torchscript/compiler/schema_match.h"
#include "torchscript/ir/ir.h"
#include "torchscript/language/type_relations.h"

namespace fxtrace::internal::torchscript {
namespace {

// Returns whether a schema can have the type; the only classes that it can have are those of torch.classes.
bool is_schema_type(const Type& type) {
  const auto is_one = [](const TypePtr& part) { return is_schema_type(*part); };
  switch (type.kind()) {
    case TypeKind::kClass:
      return type.as<ClassType>()->is_torchbind();
    case TypeKind::kOptional:
      return is_one(type.contained_types()[0]);
    case TypeKind::kList:
    case TypeKind::kDict:
      return std::ranges::all_of(type.contained_types(), is_one);
    case TypeKind::kNone:
    case TypeKind::kTuple:
      return false;
    default:
      return type.contained_types().empty() && type.name().empty();
  }
}

// Makes the type one that fits the value, too.
void join(TypePtr& type, const IrValue& value) {
  type = type == nullptr ? value.type() : unify(type, value.type());
  if (type == nullptr) type = any_type();
}

}  // namespace

void UndeclaredOperator::add_call(const CallArguments& call, const Function& caller) {
  const std::size_t count = call.arguments.size();
  if (callers.empty()) arguments.resize(count);
  agree = agree && count == arguments.size();
  for (std::size_t i = 0; i < std::min(count, arguments.size()); ++i)
    join(arguments[i], *call.arguments[i].value);
  for (const NamedValue& keyword : call.keywords) join(keywords[std::string(keyword.name)], *keyword.value);
  callers.emplace_back(&caller, call.range);
}

void use(const IrValue& value) {
  if (const auto* open = value.type()->as<OpenType>()) open->uses().has_any = true;
}

namespace {

void expect(const OpenType& open, const TypePtr& type) {
  OpenType::Uses& uses = open.uses();
  uses.has_any = true;
  if (const auto* tuple = type->as<TupleType>()) {
    const std::size_t count = tuple->items().size();
    const std::vector<TypePtr>& items = open.take_apart(count);
    for (std::size_t i = 0; i < count; ++i) expect(*items[i]->as<OpenType>(), tuple->items()[i]);
  }
  // What takes None, or everything, does not tell the type.
  if (!is_schema_type(*type) || type->kind() == TypeKind::kOptional || type->kind() == TypeKind::kAny) return;
  if (uses.expected == nullptr) uses.expected = type;
  uses.agree = uses.agree && *uses.expected == *type;
}

}  // namespace

void expect(const IrValue& value, const TypePtr& type) {
  if (!value.type()->is_open()) return;
  if (const auto* open = value.type()->as<OpenType>()) return expect(*open, type);
  const std::vector<IrValue*>& items = value.node()->inputs();
  const std::vector<TypePtr>& types = type->contained_types();
  const bool is_list = value.node()->is(Symbol::kPrimListConstruct) && type->kind() == TypeKind::kList;
  const bool is_tuple = value.node()->is(Symbol::kPrimTupleConstruct) && type->kind() == TypeKind::kTuple &&
                        items.size() == types.size();
  for (std::size_t i = 0; (is_list || is_tuple) && i < items.size(); ++i)
    expect(*items[i], types[is_list ? 0 : i]);
}

InferredSchema infer_schema(const std::string& name, const UndeclaredOperator& calls) {
  const auto argument = [](const TypePtr& type) {
    return (is_schema_type(*type) ? type : any_type())->str();
  };
  const auto dot = name.rfind('.');
  const bool is_method = dot != std::string::npos;
  std::vector<std::string> formals;
  if (is_method) formals.push_back(name.substr(0, dot) + " self");
  for (std::size_t i = 0; i < calls.arguments.size(); ++i)
    formals.push_back(argument(calls.arguments[i]) + " arg" + std::to_string(i));
  if (!calls.keywords.empty()) formals.emplace_back("*");
  for (const auto& [keyword, type] : calls.keywords) formals.push_back(argument(type) + " " + keyword);
  InferredSchema inferred{name.substr(is_method ? dot + 1 : 0) + "(" + joined(formals) + ") -> ",
                          calls.agree};
  const auto result = [&](const TypePtr& type) -> std::string {
    const OpenType::Uses& uses = type->as<OpenType>()->uses();
    inferred.is_complete = inferred.is_complete && uses.agree && (uses.expected != nullptr || !uses.has_any);
    return uses.expected != nullptr ? uses.expected->str() : uses.has_any ? "?" : "Any";
  };
  const OpenType::Uses& uses = calls.result->as<OpenType>()->uses();
  const bool is_nothing = uses.is_statement || inferred.schema.starts_with("__init__(");
  if (is_nothing || !uses.items.empty()) {
    inferred.is_complete = inferred.is_complete && uses.agree && uses.expected == nullptr &&
                           (uses.items.empty() || (!is_nothing && !is_method));  // methods have one result
  }
  if (is_nothing) {
    inferred.schema += is_method ? "NoneType" : "()";
  } else if (!uses.items.empty()) {
    inferred.schema += "(" + joined(uses.items, result) + ")";
  } else {
    inferred.schema += result(calls.result);
  }
  return inferred;
}

}  // namespace fxtrace::internal::torchscript
