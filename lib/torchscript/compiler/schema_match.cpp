// The rules are those of PyTorch's torch/csrc/jit/frontend/schema_matching.cpp (BSD-3-Clause, see
// NOTICE).
#include "torchscript/compiler/schema_match.h"

#include <algorithm>
#include <complex>
#include <functional>
#include <utility>

#include "support/error.h"
#include "support/text/words.h"
#include "torchscript/ir/ir.h"
#include "torchscript/language/type_relations.h"

namespace fxtrace::internal::torchscript {

// --- constants ---

namespace {

std::size_t hash_of_constant(const ScriptConstant& value) {
  const std::size_t kind = value.variant().index();
  std::size_t hash = 0;
  if (const auto* number = value.get_if<std::int64_t>()) hash = std::hash<std::int64_t>()(*number);
  if (const auto* number = value.get_if<double>()) hash = std::hash<double>()(*number);
  if (const auto* text = value.get_if<std::string>()) hash = std::hash<std::string>()(*text);
  if (const auto* flag = value.get_if<bool>()) hash = *flag ? 1 : 0;
  if (const auto* entry = value.get_if<ScriptConstant::TableEntry>()) hash = entry->index;
  if (const auto* entry = value.get_if<ScriptConstant::FunctionValue>())
    hash = std::hash<const void*>()(entry->function);
  if (const auto* member = value.get_if<ScriptConstant::EnumMember>())
    hash = std::hash<const void*>()(member->type.get()) + member->index;
  if (const auto* device = value.get_if<ScriptConstant::Device>())
    hash = std::hash<std::string>()(device->text);
  if (const auto* number = value.get_if<std::complex<double>>())
    hash = std::hash<double>()(number->real()) * 31 + std::hash<double>()(number->imag());
  const auto combine = [&](const ScriptConstant& part) { hash = hash * 31 + hash_of_constant(part); };
  if (const auto* list = value.get_if<ScriptConstant::List>()) std::ranges::for_each(list->items, combine);
  if (const auto* tuple = value.get_if<ScriptConstant::Tuple>()) std::ranges::for_each(tuple->items, combine);
  if (const auto* dict = value.get_if<ScriptConstant::Dict>()) {
    for (const auto& [key, item] : dict->items) {
      combine(key);
      combine(item);
    }
  }
  return hash * 31 + kind;
}

}  // namespace

IrValue* ConstantPool::find_constant(const ScriptConstant& value, const TypePtr& type,
                                     std::size_t hash) const {
  const auto [first, end] = known_.equal_range(hash);
  for (auto each = first; each != end; ++each) {
    IrValue* known = each->second;
    if (*known->node()->constant() == value && (known->type() == type || *known->type() == *type))
      return known;
  }
  return nullptr;
}

void ConstantPool::place(IrNode* node) {
  if (last_ == nullptr) {
    graph_.block()->prepend(node);
  } else {
    node->insert_after(last_);
  }
  last_ = node;
}

IrValue* ConstantPool::get_constant(const ScriptConstant& value, TypePtr type, const SourceRange& range) {
  const std::size_t hash = hash_of_constant(value);
  if (IrValue* known = find_constant(value, type, hash)) return known;
  IrNode* node = graph_.create_constant(value, std::move(type))->set_source_range(range);
  place(node);
  known_.emplace(hash, node->output());
  return node->output();
}

void ConstantPool::adopt(IrNode* constant) {
  constant->remove_attribute(Symbol::kAttrShared);
  const std::size_t hash = hash_of_constant(*constant->constant());
  if (IrValue* known = find_constant(*constant->constant(), constant->output()->type(), hash)) {
    constant->output()->replace_all_uses_with(known);
    constant->destroy();
    return;
  }
  IrNode* first = graph_.block()->nodes().front();
  if (last_ == nullptr) {
    if (constant != first) constant->move_before(first);
  } else if (last_->next() != constant) {
    constant->move_before(last_->next());
  }
  last_ = constant;
  known_.emplace(hash, constant->output());
}

// --- small nodes ---

IrValue* SchemaMatcher::list(const TypePtr& element, const std::vector<IrValue*>& items) {
  IrNode* node = graph_.insert(graph_.create(Symbol::kPrimListConstruct, items));
  return node->output()->set_type(list_type(element));
}

IrValue* SchemaMatcher::tuple(const std::vector<IrValue*>& items) {
  std::vector<TypePtr> types;
  for (const IrValue* item : items) types.push_back(item->type());
  IrNode* node = graph_.insert(graph_.create(Symbol::kPrimTupleConstruct, items));
  return node->output()->set_type(tuple_type(std::move(types)));
}

std::vector<IrValue*> SchemaMatcher::unpack(IrValue* tuple) {
  // A tuple made in this graph needs no node to unpack it.
  if (tuple->node()->is(Symbol::kPrimTupleConstruct)) return tuple->node()->inputs();
  IrNode* node = graph_.insert(graph_.create(Symbol::kPrimTupleUnpack, {tuple}, 0));
  for (const TypePtr& type : tuple->type()->contained_types()) node->add_output(type);
  return node->outputs();
}

IrNode* SchemaMatcher::emit(const FunctionSchema& schema, const Match& match, const SourceRange& range) {
  IrNode* node =
      graph_.create(schema.symbol, match.inputs, 0)->set_source_range(range)->set_operator_schema(&schema);
  for (const TypePtr& type : match.results) node->add_output(type);
  return graph_.insert(node);
}

IrValue* SchemaMatcher::call(Symbol name, const std::vector<IrValue*>& arguments, const SourceRange& range) {
  const auto& overloads = registered_overloads(name);
  CallArguments call;
  call.range = range;
  for (IrValue* value : arguments) call.arguments.push_back({range, {}, value});
  const Match found = match(overloads, call);
  return emit(*overloads[found.schema], found, range)->output();
}

// --- conversions ---

bool is_convertible_to_list(const Type& type, const Type& list) {
  const auto* wanted = list.as<ListType>();
  if (wanted == nullptr) return false;
  if (is_subtype(type, list)) return true;
  const auto* tuple = type.as<TupleType>();
  return tuple != nullptr &&
         std::all_of(tuple->items().begin(), tuple->items().end(),
                     [&](const TypePtr& item) { return is_subtype(*item, *wanted->element()); });
}

namespace {

const TypePtr& without_optional(const TypePtr& type) {
  const auto* optional = type->as<OptionalType>();
  return optional != nullptr ? without_optional(optional->element()) : type;  // NOLINT
}

// Returns whether the value is a number for an argument such as int[2], all of whose items it becomes.
bool is_number_for_list(const Type& type, const FunctionArgument& argument) {
  if (!argument.length || (type.kind() != TypeKind::kInt && type.kind() != TypeKind::kFloat)) return false;
  const auto* list = without_optional(argument.type)->as<ListType>();
  return list != nullptr && list->element()->kind() == type.kind();
}

}  // namespace

IrValue* SchemaMatcher::convert(const TypePtr& type, IrValue* value, const SourceRange& range) {
  expect(*value, type);
  return try_convert(type, value, true, range);
}

IrValue* SchemaMatcher::try_convert(const TypePtr& type, IrValue* value, bool allow_conversions,
                                    const SourceRange& range) {
  if (const auto* optional = type->as<OptionalType>()) {
    const TypeKind kind = value->type()->kind();
    if (kind != TypeKind::kOptional && kind != TypeKind::kNone)
      return try_convert(optional->element(), value, allow_conversions, range);
  }
  if (value->type()->kind() == TypeKind::kTuple) {
    const TypePtr& list_wanted = without_optional(type);
    const auto* wanted = type->as<TupleType>();
    if (is_convertible_to_list(*value->type(), *list_wanted)) {
      value = list(list_wanted->as<ListType>()->element(), unpack(value));
    } else if (wanted != nullptr && !is_subtype(*value->type(), *type) &&
               wanted->items().size() == value->type()->contained_types().size()) {
      std::vector<IrValue*> items = unpack(value);
      for (std::size_t i = 0; i < items.size(); ++i)
        items[i] = try_convert(wanted->items()[i], items[i], allow_conversions, range);
      value = tuple(items);
    }
  }
  if (!allow_conversions) return value;
  const auto by_kind = [&](Symbol to_float, Symbol to_complex, Symbol to_int, Symbol to_number) {
    switch (type->kind()) {
      case TypeKind::kFloat:
        return to_float;
      case TypeKind::kComplex:
        return to_complex;
      case TypeKind::kInt:
        return to_int;
      case TypeKind::kNumber:
        return to_number;
      default:
        return Symbol::kNone;
    }
  };
  Symbol conversion = Symbol::kNone;
  if (value->type()->kind() == TypeKind::kTensor) {
    conversion = by_kind(Symbol::kAtenFloatImplicit, Symbol::kAtenComplexImplicit, Symbol::kAtenIntImplicit,
                         Symbol::kAtenScalarImplicit);
  } else if (value->type()->kind() == TypeKind::kNumber) {
    conversion = by_kind(Symbol::kAtenFloat, Symbol::kAtenComplex, Symbol::kAtenInt, Symbol::kNone);
  } else if (value->type()->kind() == TypeKind::kBool) {
    conversion = by_kind(Symbol::kAtenFloat, Symbol::kNone, Symbol::kAtenInt, Symbol::kAtenInt);
  } else if (value->type()->kind() == TypeKind::kString && type->kind() == TypeKind::kDevice) {
    conversion = Symbol::kAtenDevice;
  }
  return conversion == Symbol::kNone ? value : call(conversion, {value}, range);
}

// --- matching ---

IrValue* SchemaMatcher::default_value(const FunctionArgument& argument) {
  const ScriptConstant& value = *argument.default_value;
  if (const auto* list = value.get_if<ScriptConstant::List>()) {
    const auto* type = without_optional(argument.type)->as<ListType>();
    ScriptConstant::List typed = *list;
    if (type != nullptr) typed.element = type->element();
    return constants_.get_constant(ScriptConstant(std::move(typed)), without_optional(argument.type));
  }
  return constants_.get_constant(value);
}

IrValue* SchemaMatcher::try_argument(const FunctionArgument& argument, IrValue* value,
                                     const SourceRange& range, bool allow_conversions, TypeBindings& bindings,
                                     std::string* why_not) {
  if (is_number_for_list(*value->type(), argument)) {
    constexpr std::int64_t kMaxLength = 64;
    const auto count = static_cast<std::size_t>(std::clamp<std::int64_t>(*argument.length, 0, kMaxLength));
    value = list(value->type(), std::vector<IrValue*>(count, value));
  }
  if (const auto reason = match_variables(argument.type, value->type(), bindings)) {
    if (why_not != nullptr)
      *why_not = "Could not match type " + value->type()->repr_str() + " to " + argument.type->repr_str() +
                 " in argument '" + argument.name + "': " + *reason + ".";
    return nullptr;
  }
  const TypePtr type = substitute(argument.type, bindings);
  if (type == nullptr) {
    if (why_not != nullptr)
      *why_not = "Type variables in type " + argument.type->repr_str() +
                 " could not be inferred from actual type " + value->type()->repr_str();
    return nullptr;
  }
  value = try_convert(type, value, allow_conversions, range);
  if (is_subtype(*value->type(), *type)) return value;
  if (why_not != nullptr) {
    *why_not = "Expected a value of type '" + argument.type->repr_str() + "' for argument '" + argument.name +
               "' but instead found type '" + value->type()->repr_str() + "'.";
    std::string reason;
    is_subtype(*value->type(), *type, &reason);
    if (!reason.empty()) *why_not += "\n" + reason;
  }
  return nullptr;
}

std::optional<Match> SchemaMatcher::try_match(const FunctionSchema& schema, const CallArguments& call,
                                              const Keywords& keywords, bool allow_conversions,
                                              std::string* why_not) {
  // A dtype has the type int in TorchScript, so x.view(1) would fit this overload.
  if (schema.name == "aten::view" && schema.overload_name == "dtype") return std::nullopt;
  Match match;
  TypeBindings bindings;
  const bool is_aten = schema.name.starts_with("aten::");
  std::vector<bool> used_keywords(call.keywords.size(), false);
  std::size_t used = 0;
  bool self_is_used = !call.self;
  const auto fail = [&](const std::string& reason) -> std::optional<Match> {
    if (why_not != nullptr && why_not->empty()) *why_not = reason;
    return std::nullopt;
  };
  for (std::size_t i = 0; i < schema.arguments.size(); ++i) {
    const FunctionArgument& argument = schema.arguments[i];
    IrValue* value = nullptr;
    if (argument.name == "self" && !self_is_used) {
      value = call.self->value;
      self_is_used = true;
    } else if (!argument.keyword_only && used < call.arguments.size()) {
      const bool is_last = i + 1 == schema.arguments.size() || schema.arguments[i + 1].keyword_only;
      const auto* list_wanted = argument.type->as<ListType>();
      if (allow_conversions && is_last && list_wanted != nullptr && !argument.length &&
          list_wanted->element()->kind() != TypeKind::kVar) {
        // torch.zeros(1, 2): all further arguments are items of the list.
        const Type& actual = *call.arguments[used].value->type();
        if (actual.kind() != TypeKind::kList && !is_convertible_to_list(actual, *argument.type)) {
          FunctionArgument item;
          item.name = "<varargs>";
          item.type = list_wanted->element();
          std::vector<IrValue*> items;
          for (; used < call.arguments.size(); ++used) {
            IrValue* one = try_argument(item, call.arguments[used].value, call.range, allow_conversions,
                                        bindings, why_not);
            if (one == nullptr) return std::nullopt;
            items.push_back(one);
          }
          match.inputs.push_back(list(list_wanted->element(), items));
          continue;
        }
      }
      value = call.arguments[used++].value;
    } else {
      auto keyword = keywords.find(argument.name);
      if (keyword == keywords.end() && is_aten && argument.name == "self") keyword = keywords.find("input");
      if (keyword != keywords.end()) {
        const std::size_t at = keyword->second;
        if (used_keywords[at]) return fail("Argument " + argument.name + " specified twice in schema.");
        used_keywords[at] = true;
        value = call.keywords[at].value;
      } else if (argument.default_value) {
        value = default_value(argument);
      } else {
        return fail("Argument " + argument.name + " not provided.");
      }
    }
    IrValue* given = value;
    value = try_argument(argument, value, call.range, allow_conversions, bindings, why_not);
    if (value == nullptr) return std::nullopt;
    if (given->type()->is_open()) match.expected.emplace_back(given, substitute(argument.type, bindings));
    match.inputs.push_back(value);
  }
  if (!self_is_used) return fail("Provided self argument not used in schema.");
  if (schema.is_variadic) {
    for (; used < call.arguments.size(); ++used) match.inputs.push_back(call.arguments[used].value);
  }
  if (used < call.arguments.size())
    return fail("Expected at most " + std::to_string(used) + " arguments but found " +
                std::to_string(call.arguments.size()) + " positional arguments.");
  for (std::size_t k = 0; k < call.keywords.size(); ++k) {
    if (used_keywords[k]) continue;
    const std::string name(call.keywords[k].name);
    if (schema.find_argument(name)) return fail("Argument " + name + " specified twice.");
    return fail("Unknown keyword argument '" + name + "'.");
  }
  for (const TypePtr& result : schema.results) {
    TypePtr type = substitute(result, bindings);
    if (type == nullptr) return fail("The type of a result cannot be inferred.");
    match.results.push_back(std::move(type));
  }
  return match;
}

namespace {

// Returns the first match with what all agree on, for a call with arguments of open types.
Match agreed(std::vector<Match> matches) {
  Match& first = matches[0];
  for (const auto& [value, type] : first.expected) {
    const auto agrees = [&](const Match& match) {
      return std::ranges::all_of(
          match.expected, [&](const auto& other) { return other.first != value || *other.second == *type; });
    };
    if (matches.size() == 1 || std::ranges::all_of(matches, agrees)) expect(*value, type);
  }
  for (const Match& match : matches) {
    if (match.results.size() != first.results.size()) first.results = {open_type()};
    for (std::size_t i = 0; i < std::min(match.results.size(), first.results.size()); ++i) {
      if (!(*match.results[i] == *first.results[i])) first.results[i] = open_type();
    }
  }
  return std::move(first);
}

}  // namespace

Match SchemaMatcher::match(const std::vector<const FunctionSchema*>& schemas, const CallArguments& call) {
  Keywords keywords;
  for (std::size_t k = 0; k < call.keywords.size(); ++k) keywords.try_emplace(call.keywords[k].name, k);
  // A single overload is tried once, so that fewer unused nodes are inserted into the graph.
  for (const bool allow_conversions : {false, true}) {
    if (schemas.size() == 1 && !allow_conversions) continue;
    std::vector<Match> open;
    for (std::size_t i = 0; i < schemas.size(); ++i) {
      auto found = try_match(*schemas[i], call, keywords, allow_conversions, nullptr);
      if (!found) continue;
      found->schema = i;
      if (found->expected.empty()) return std::move(*found);
      open.push_back(std::move(*found));
    }
    if (!open.empty()) return agreed(std::move(open));
  }
  constexpr std::size_t kMaxListed = 8;
  std::string text = "Arguments for call are not valid.";
  if (schemas.size() > 1) text += "\nThe following variants are available:";
  for (std::size_t i = 0; i < std::min(schemas.size(), kMaxListed); ++i) {
    std::string why_not;
    try_match(*schemas[i], call, keywords, true, &why_not);
    text += "\n" + to_text(*schemas[i]) + ":\n" + why_not;
  }
  throw SourceError(call.range, text);
}

const FunctionSchema* find_overload(Symbol name, const IrNode& node) {
  for (const FunctionSchema* candidate : registered_overloads(name)) {
    const auto& arguments = candidate->arguments;
    if (node.inputs().size() < arguments.size() ||
        (node.inputs().size() > arguments.size() && !candidate->is_variadic))
      continue;
    TypeBindings bindings;
    bool fits = true;
    for (std::size_t i = 0; fits && i < arguments.size(); ++i) {
      const TypePtr& actual = node.input(i)->type();
      fits = !match_variables(arguments[i].type, actual, bindings);
      if (!fits) break;
      const TypePtr formal = substitute(arguments[i].type, bindings);
      fits = formal != nullptr && is_subtype(*actual, *formal);
    }
    if (fits) return candidate;
  }
  return nullptr;
}

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
