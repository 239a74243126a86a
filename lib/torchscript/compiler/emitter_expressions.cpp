// The part of the Emitter (emitter.h) for expressions: names, literals, operators and containers.
#include <algorithm>
#include <array>
#include <complex>
#include <limits>
#include <utility>

#include "support/error.h"
#include "torchscript/compiler/emitter.h"
#include "torchscript/language/parser.h"

namespace fxtrace::internal::torchscript {

IrValue* Emitter::emit(const Tree& expression, const TypePtr& hint) {
  IrValue* value = as_value(emit_sugared(expression, 1, hint), range_of(expression));
  if (hint != nullptr && hint->kind() == TypeKind::kAny && value->type()->kind() != TypeKind::kAny)
    value = unchecked_cast(value, hint);
  return value;
}

IrValue* Emitter::unchecked_cast(IrValue* value, const TypePtr& type) {
  IrNode* node = create(Symbol::kPrimUncheckedCast, {value}, 1, {});
  return node->output()->set_type(type);
}

SugaredValue Emitter::emit_sugared(const Tree& expression, std::size_t binders, const TypePtr& hint) {
  switch (expression.kind) {
    case Syntax::kName:
      return emit_name(expression.text, range_of(expression));
    case Syntax::kAttribute:
      return attribute(emit_sugared(expression.part(0)), expression.text, range_of(expression));
    case Syntax::kCall:
      return emit_call(expression, binders, hint);
    case Syntax::kSubscript:
      return emit_subscript(expression, hint);
    default:
      return sugared(emit_simple(expression, hint));
  }
}

// --- names ---

namespace {

struct GlobalName {
  std::string_view name;
  SugaredValue value;
};

// Returns the names of the language, and those that the importer of archives adds, sorted.
const std::vector<GlobalName>& globals() {
  using Kind = SugaredValue::Kind;
  static const auto table = [] {
    const auto builtin = [](const char* name) { return sugared_builtin(intern(name)); };
    std::vector<GlobalName> rows{
        {"_to_tensor", sugared_cast(tensor_type(), Symbol::kPrimNumToTensor)},
        {"abs", builtin("prim::abs")},
        {"all", builtin("aten::all")},
        {"any", builtin("aten::any")},
        {"bin", builtin("aten::bin")},
        {"bool", sugared_magic("__bool__", sugared_cast(bool_type(), Symbol::kAtenBool))},
        {"chr", builtin("aten::chr")},
        {"complex", sugared_magic("__complex__", sugared_cast(complex_type(), Symbol::kAtenComplex))},
        {"divmod", builtin("aten::divmod")},
        {"float", sugared_magic("__float__", sugared_cast(float_type(), Symbol::kAtenFloat))},
        {"getattr", sugared_special(SpecialForm::kGetattr)},
        {"hash", builtin("aten::hash")},
        {"hex", sugared_magic("__hex__", builtin("aten::hex"))},
        {"id", builtin("prim::id")},
        {"int", sugared_magic("__int__", sugared_cast(int_type(), Symbol::kAtenInt))},
        {"isinstance", sugared_special(SpecialForm::kIsinstance)},
        {"len", sugared_magic("__len__", sugared_builtin(Symbol::kAtenLen))},
        {"max", sugared_builtin(Symbol::kPrimMax)},
        {"min", sugared_builtin(Symbol::kPrimMin)},
        {"oct", sugared_magic("__oct__", builtin("aten::oct"))},
        {"ord", builtin("aten::ord")},
        {"pow", sugared_builtin(Symbol::kAtenPow)},
        {"print", of_kind(Kind::kPrint)},
        {"rangelist", sugared_builtin(Symbol::kPrimRangelist)},
        {"round", sugared_magic("__round__", builtin("aten::round"))},
        {"sorted", builtin("aten::sorted")},
        {"str", sugared_magic("__str__", sugared_cast(string_type(), Symbol::kAtenStr))},
        {"sum", builtin("aten::sum")},
    };
    // Names that the importer adds.
    rows.push_back({"torch", sugared_text(Kind::kOperatorNamespace, "aten")});
    rows.push_back({"ops", of_kind(Kind::kOperators)});
    rows.push_back({"CONSTANTS", of_kind(Kind::kConstants)});
    rows.push_back({"fork", sugared_special(SpecialForm::kFork)});
    rows.push_back({"awaitable", sugared_special(SpecialForm::kAwaitable)});
    rows.push_back({"annotate", sugared_special(SpecialForm::kAnnotate)});
    rows.push_back({"unchecked_cast", sugared_special(SpecialForm::kUncheckedCast)});
    rows.push_back({"uninitialized", sugared_special(SpecialForm::kUninitialized)});
    std::sort(rows.begin(), rows.end(),
              [](const GlobalName& a, const GlobalName& b) { return a.name < b.name; });
    return rows;
  }();
  return table;
}

}  // namespace

SugaredValue Emitter::emit_name(std::string_view name, const SourceRange& range) {
  if (auto variable = environment_.find_variable(name)) return std::move(*variable);
  const auto& table = globals();
  const auto found =
      std::lower_bound(table.begin(), table.end(), name,
                       [](const GlobalName& row, std::string_view key) { return row.name < key; });
  if (found != table.end() && found->name == name) return found->value;
  if (name == "inf") return sugared(constant(ScriptConstant(std::numeric_limits<double>::infinity()), range));
  if (name == "nan")
    return sugared(constant(ScriptConstant(std::numeric_limits<double>::quiet_NaN()), range));
  if (name == "infj" || name == "nanj") {
    const double part =
        name == "infj" ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    return sugared(constant(ScriptConstant(std::complex<double>(0, part)), range));
  }
  if (name == "__torch__") return sugared_text(SugaredValue::Kind::kNamespace, name);
  refuse_unwritten_function(range, name);
  if (const std::string* reason = environment_.find_reason(name))
    throw SourceError(range, *reason + " and was used here");
  throw SourceError(range, "undefined value " + std::string(name));
}

// --- operators ---

namespace {

struct OperatorRow {
  TokenKind token;
  const char* symbol;
  const char* method;  // for objects of classes
};

constexpr std::array kOperators{
    OperatorRow{TokenKind::kPlus, "aten::add", "__add__"},
    OperatorRow{TokenKind::kMinus, "aten::sub", "__sub__"},
    OperatorRow{TokenKind::kStar, "aten::mul", "__mul__"},
    OperatorRow{TokenKind::kPower, "aten::pow", "__pow__"},
    OperatorRow{TokenKind::kAt, "aten::matmul", nullptr},
    OperatorRow{TokenKind::kSlash, "aten::div", "__truediv__"},
    OperatorRow{TokenKind::kSlashSlash, "aten::floordiv", nullptr},
    OperatorRow{TokenKind::kPercent, "aten::remainder", "__mod__"},
    OperatorRow{TokenKind::kNotEqual, "aten::ne", "__ne__"},
    OperatorRow{TokenKind::kEqual, "aten::eq", "__eq__"},
    OperatorRow{TokenKind::kLess, "aten::lt", "__lt__"},
    OperatorRow{TokenKind::kGreater, "aten::gt", "__gt__"},
    OperatorRow{TokenKind::kLessEqual, "aten::le", "__le__"},
    OperatorRow{TokenKind::kGreaterEqual, "aten::ge", "__ge__"},
    OperatorRow{TokenKind::kAmpersand, "aten::__and__", "__and__"},
    OperatorRow{TokenKind::kBar, "aten::__or__", "__or__"},
    OperatorRow{TokenKind::kCaret, "aten::__xor__", "__xor__"},
    OperatorRow{TokenKind::kIn, "aten::__contains__", "__contains__"},
    OperatorRow{TokenKind::kShiftLeft, "aten::__lshift__", "__lshift__"},
    OperatorRow{TokenKind::kShiftRight, "aten::__rshift__", "__rshift__"},
};

}  // namespace

IrValue* Emitter::emit_binary(const Tree& expression) {
  const SourceRange range = range_of(expression);
  const auto row = std::find_if(kOperators.begin(), kOperators.end(),
                                [&](const OperatorRow& each) { return each.token == expression.token; });
  if (row == kOperators.end()) fail(expression, "Cannot emit expr of this operator");
  IrValue* left = emit(expression.part(0));
  IrValue* right = emit(expression.part(1));
  if (expression.token == TokenKind::kPercent && left->type()->kind() == TypeKind::kString) {
    IrNode* node = create(Symbol::kAtenPercentFormat, {left, right}, 1, range);
    const auto& overloads = registered_overloads(Symbol::kAtenPercentFormat);
    if (!overloads.empty()) node->set_operator_schema(overloads[0]);
    return node->output()->set_type(string_type());
  }
  const auto is_tuple = [](const IrValue* value) { return value->type()->kind() == TypeKind::kTuple; };
  if (expression.token == TokenKind::kPlus && is_tuple(left) && is_tuple(right)) {
    std::vector<IrValue*> items = matcher_.unpack(left);
    const std::vector<IrValue*> more = matcher_.unpack(right);
    items.insert(items.end(), more.begin(), more.end());
    return matcher_.tuple(items);
  }
  if (expression.token == TokenKind::kIn) std::swap(left, right);
  const Symbol symbol = intern(row->symbol);
  if (row->method == nullptr) return call_builtin(symbol, {left, right}, range);
  return as_value(call(sugared_magic(row->method, sugared_builtin(symbol)),
                       {range, {{range, {}, left}, {range, {}, right}}, {}, {}}),
                  range);
}

IrValue* Emitter::emit_unary(const Tree& expression) {
  const SourceRange range = range_of(expression);
  const bool is_minus = expression.token == TokenKind::kMinus;
  IrValue* operand = emit(expression.part(0));
  // The negative of a constant is a constant.
  if (const ScriptConstant* value = is_minus ? operand->node()->constant() : nullptr) {
    if (const auto* real = value->get_if<double>()) return constant(ScriptConstant(-*real), range);
    const auto* whole = value->get_if<std::int64_t>();
    if (whole != nullptr && *whole != std::numeric_limits<std::int64_t>::min())
      return integer(-*whole, range);
  }
  const Symbol symbol = is_minus ? Symbol::kAtenNeg : Symbol::kAtenBitwiseNot;
  return as_value(call(sugared_magic(is_minus ? "__neg__" : "__invert__", sugared_builtin(symbol)),
                       {range, {{range, {}, operand}}, {}, {}}),
                  range);
}

IrValue* Emitter::emit_simple(const Tree& expression, const TypePtr& hint) {
  const SourceRange range = range_of(expression);
  switch (expression.kind) {
    case Syntax::kNumber: {
      IrValue* number = numbers_.get_constant(number_of(file_, expression), range);
      number->node()->set_attribute(Symbol::kAttrShared, std::int64_t{1});
      return number;
    }
    case Syntax::kStringLiteral:
      return constant(ScriptConstant(std::string(expression.text)), range);
    case Syntax::kTrue:
      return constant(ScriptConstant(true), range);
    case Syntax::kFalse:
      return constant(ScriptConstant(false), range);
    case Syntax::kNone:
      return constant(ScriptConstant(), range);
    case Syntax::kBinary:
      if (expression.token == TokenKind::kIs || expression.token == TokenKind::kIsNot)
        return emit_condition(expression).value;
      return emit_binary(expression);
    case Syntax::kUnary:
      if (expression.token == TokenKind::kNot) return emit_condition(expression).value;
      return emit_unary(expression);
    case Syntax::kListLiteral:
      return emit_list(expression, hint);
    case Syntax::kTuple:
      return matcher_.tuple(emit_all(expression.all()));
    case Syntax::kDictLiteral:
      return emit_dict(expression, hint);
    default:
      fail(expression, "Cannot emit expr for this kind of expression");
  }
}

std::vector<IrValue*> Emitter::emit_all(Expressions expressions) {
  std::vector<IrValue*> values;
  values.reserve(expressions.size());
  for (const Tree* expression : expressions) {
    if (!expression->is(Syntax::kStarred)) {
      values.push_back(emit(*expression));
      continue;
    }
    const SourceRange range = range_of(*expression);
    for (IrValue* item : as_tuple(emit_sugared(expression->part(0)), range)) values.push_back(item);
  }
  return values;
}

// --- containers ---

namespace {

// Returns the part of an optional or a union that is of this kind: List[int] of Optional[List[int]].
TypePtr hinted(const TypePtr& hint, TypeKind kind) {
  if (hint == nullptr || hint->kind() == kind) return hint;
  if (hint->kind() != TypeKind::kOptional && hint->kind() != TypeKind::kUnion) return nullptr;
  for (const TypePtr& part : hint->contained_types()) {
    if (part->kind() == kind) return part;
  }
  return nullptr;
}

}  // namespace

IrValue* Emitter::emit_list(const Tree& expression, const TypePtr& hint) {
  const std::vector<IrValue*> values = emit_all(expression.all());
  TypePtr element = tensor_type();
  const TypePtr list = hinted(hint, TypeKind::kList);
  if (list != nullptr) {
    element = list->as<ListType>()->element();
  } else if (hint != nullptr && hint->kind() != TypeKind::kAny && hint->kind() != TypeKind::kAnyList) {
    fail(expression, "Expected a List type hint but instead got " + hint->repr_str());
  } else if (!values.empty()) {
    std::vector<TypePtr> types;
    for (const IrValue* value : values) types.push_back(value->type());
    element = unify_all(types, true);
  }
  for (const IrValue* value : values) {
    expect(*value, element);
    std::string why_not;
    if (!is_subtype(*value->type(), *element, &why_not))
      fail(expression, "Lists must contain only a single type, expected: " + element->repr_str() +
                           " but found " + value->type()->repr_str() + " instead.\n" + why_not);
  }
  return matcher_.list(element, values);
}

IrValue* Emitter::emit_dict(const Tree& expression, const TypePtr& hint) {
  std::vector<IrValue*> inputs;
  std::vector<TypePtr> value_types;
  for (std::size_t i = 0; i < expression.part(0).count; ++i) {
    inputs.push_back(emit(expression.part(0).part(i)));
    inputs.push_back(emit(expression.part(1).part(i)));
    value_types.push_back(inputs.back()->type());
  }
  TypePtr type = hinted(hint, TypeKind::kDict);
  if (type == nullptr) {
    type = inputs.empty() ? dict_type(string_type(), tensor_type())
                          : dict_type(inputs[0]->type(), unify_all(value_types, true));
  }
  const auto& dict = *type->as<DictType>();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TypePtr& wanted = i % 2 == 0 ? dict.key() : dict.value();
    if (!is_subtype(*inputs[i]->type(), *wanted))
      fail(expression, std::string("Dict ") + (i % 2 == 0 ? "keys" : "values") +
                           " must contain only a single type, expected: " + wanted->repr_str() +
                           " but found " + inputs[i]->type()->repr_str() + " instead.");
  }
  IrNode* node = create(Symbol::kPrimDictConstruct, inputs, 1, {});
  return node->output()->set_type(type);
}

}  // namespace fxtrace::internal::torchscript
