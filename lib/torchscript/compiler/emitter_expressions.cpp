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

// The part of the Emitter (emitter.h) for subscripts of tuples, containers and tensors, and for assignments
// to them.

SugaredValue Emitter::emit_subscript(const Tree& expression, const TypePtr& hint) {
  const SourceRange range = range_of(expression);
  const SugaredValue holder = emit_sugared(expression.part(0));
  const Expressions subscripts = expression.part(1).all();
  IrValue* value = as_value(holder, range_of(expression.part(0)));
  const bool is_tensor = value->type()->kind() == TypeKind::kTensor;
  const bool is_one = subscripts.size() == 1;
  if (!is_one && !is_tensor)
    throw SourceError(
        range, "Unsupported operation: attempted to use multidimensional indexing on a non-tensor type");
  if (is_one && subscripts[0]->is(Syntax::kSlice)) {
    if (value->type()->kind() == TypeKind::kTuple)
      return sugared(emit_tuple_slice(range, value, *subscripts[0]));
    return sugared(emit_slice(range, value, is_tensor ? integer(0, range) : nullptr, *subscripts[0]));
  }
  if (is_tensor) {
    const auto [sliced, indices] = emit_indexing(range, value, subscripts);
    if (indices.empty()) return sugared(sliced);
    return sugared(call_builtin(Symbol::kAtenIndex, {sliced, tensor_list(indices)}, range));
  }
  IrValue* index = emit(*subscripts[0]);
  if (value->type()->kind() == TypeKind::kTuple) return sugared(emit_tuple_index(range, value, index));
  return item_of(value, index, range, hint);
}

IrValue* Emitter::emit_slice(const SourceRange& range, IrValue* value, IrValue* dim, const Tree& slice) {
  IrValue* start = slice.part(0).is_there() ? emit(slice.part(0)) : nullptr;
  IrValue* end = slice.part(1).is_there() ? emit(slice.part(1)) : nullptr;
  IrValue* step = slice.part(2).is_there() ? emit(slice.part(2)) : nullptr;
  CallArguments arguments;
  arguments.range = range;
  arguments.arguments.push_back({range, {}, value});
  if (dim != nullptr) arguments.arguments.push_back({range, {}, dim});
  const auto add = [&](IrValue* part) {
    arguments.arguments.push_back({range, {}, part != nullptr ? part : constant(ScriptConstant(), range)});
  };
  add(start);
  add(end);
  arguments.keywords.push_back({range, "step", step != nullptr ? step : integer(1, range)});
  return call_builtin(Symbol::kAtenSlice, arguments);
}

namespace {

std::int64_t constant_integer(const IrValue& value, const SourceRange& range, const char* message) {
  const auto number = constant_of<std::int64_t>(value);
  if (!number) throw SourceError(range, message);
  return *number;
}

}  // namespace

IrValue* Emitter::emit_tuple_index(const SourceRange& range, IrValue* tuple, IrValue* index) {
  const auto& items = tuple->type()->contained_types();
  if (index->type()->kind() != TypeKind::kInt) throw SourceError(range, "tuple index must be an integer");
  TypePtr type;
  if (index->node()->constant() == nullptr) {
    if (items.empty() || !is_convertible_to_list(*tuple->type(), *list_type(items[0])))
      throw SourceError(range, "Cannot index into a " + tuple->type()->repr_str() +
                                   " with a non-integer literal because we cannot resolve the output type");
    type = items[0];
  } else {
    const auto count = static_cast<std::int64_t>(items.size());
    const std::int64_t given = constant_integer(*index, range, "tuple index must be an integer");
    const std::int64_t at = given < 0 ? count + given : given;
    if (at < 0 || at >= count)
      throw SourceError(range, "Tuple index out of range. Tuple is length " + std::to_string(count) +
                                   " and index is " + std::to_string(given));
    type = items[static_cast<std::size_t>(at)];
  }
  IrNode* node = create(Symbol::kPrimTupleIndex, {tuple, index}, 1, {});
  return node->output()->set_type(type);
}

// The bounds are constants, so the slice is a tuple of known items.
IrValue* Emitter::emit_tuple_slice(const SourceRange& range, IrValue* value, const Tree& slice) {
  constexpr const char* kMessage = "tuple slice indices must be integer constants";
  const auto bound = [&](std::size_t part, std::int64_t otherwise) {
    return slice.part(part).is_there() ? constant_integer(*emit(slice.part(part)), range, kMessage)
                                       : otherwise;
  };
  const auto count = static_cast<std::int64_t>(value->type()->contained_types().size());
  const std::int64_t step = bound(2, 1);
  if (step == 0 || step == std::numeric_limits<std::int64_t>::min())
    throw SourceError(range, "slice step cannot be zero");
  const auto clamp = [&](std::int64_t at) {
    if (at < 0) at = at < -count ? -1 : at + count;
    return step > 0 ? std::clamp<std::int64_t>(at, 0, count) : std::clamp<std::int64_t>(at, -1, count - 1);
  };
  const bool has_end = slice.part(1).is_there();
  std::int64_t start = slice.part(0).is_there() ? clamp(bound(0, 0)) : (step > 0 ? 0 : count - 1);
  const std::int64_t end = has_end ? clamp(bound(1, 0)) : (step > 0 ? count : -1);
  const std::vector<IrValue*> items = matcher_.unpack(value);
  std::vector<IrValue*> chosen;
  for (; step > 0 ? start < end : start > end; start += step) {
    chosen.push_back(items.at(static_cast<std::size_t>(start)));
    if ((step > 0 && step >= end - start) || (step < 0 && step <= end - start)) break;
  }
  return matcher_.tuple(chosen);
}

// --- indices of tensors ---

Emitter::Index Emitter::classify_index(const Tree& subscript, IrValue* given, const SourceRange& range) {
  if (subscript.is(Syntax::kSlice)) return {Index::Kind::kSlice, nullptr, &subscript, 0};
  if (subscript.is(Syntax::kEllipsis)) return {Index::Kind::kEllipsis, nullptr, nullptr, 0};
  IrValue* value = given != nullptr ? given : emit(subscript);
  if (value->type()->kind() == TypeKind::kList) {
    // A list of numbers becomes an int64 tensor.
    CallArguments arguments{range, {{range, {}, value}}, {{range, "dtype", integer(4, range)}}, {}};
    value = call_builtin(Symbol::kAtenTensor, arguments);
  }
  switch (value->type()->kind()) {
    case TypeKind::kNone:
      return {Index::Kind::kNone, value, nullptr, 0};
    case TypeKind::kInt:
      return {Index::Kind::kInt, value, nullptr, 0};
    default:
      break;
  }
  if (is_subtype(*value->type(), *optional_type(tensor_type())))
    return {Index::Kind::kTensor, value, nullptr, 0};
  throw SourceError(range, "Unsupported operation: indexing tensor with unsupported index type '" +
                               value->type()->repr_str() +
                               "'. Only ints, slices, lists and tensors are supported");
}

// Emits slices, integers and None as views at once.  Returns the view, and the tensors that index it, by
// dimension.
std::pair<IrValue*, std::vector<IrValue*>> Emitter::emit_indexing(const SourceRange& range, IrValue* value,
                                                                  Expressions subscripts, IrValue* first) {
  std::vector<Index> indices;
  std::size_t ellipsis = subscripts.size();
  for (std::size_t i = 0; i < subscripts.size(); ++i) {
    indices.push_back(classify_index(*subscripts[i], i == 0 ? first : nullptr, range));
    if (indices.back().kind != Index::Kind::kEllipsis) continue;
    if (ellipsis != subscripts.size())
      throw SourceError(range, "An index can only have a single ellipsis ('...')");
    ellipsis = i;
  }
  // Dimensions count from the first before an ellipsis, and from the last after it.
  std::int64_t dim = 0;
  for (std::size_t i = 0; i < ellipsis; ++i) {
    indices[i].dim = dim;
    if (indices[i].kind != Index::Kind::kInt) ++dim;
  }
  dim = -1;
  for (std::size_t i = subscripts.size(); i-- > ellipsis + 1;) {
    indices[i].dim = dim;
    if (indices[i].kind == Index::Kind::kTensor)
      throw SourceError(range, "Ellipses followed by tensor indexing is currently not supported");
    if (indices[i].kind != Index::Kind::kNone) --dim;
  }
  std::vector<IrValue*> tensors;
  for (const Index& index : indices) {
    switch (index.kind) {
      case Index::Kind::kSlice:
        value = emit_slice(range, value, integer(index.dim, range), *index.slice);
        break;
      case Index::Kind::kNone:
        value = call_builtin(Symbol::kAtenUnsqueeze, {value, integer(index.dim, range)}, range);
        break;
      case Index::Kind::kInt:
        value = call_builtin(Symbol::kAtenSelect, {value, integer(index.dim, range), index.value}, range);
        break;
      case Index::Kind::kTensor:
        tensors.resize(static_cast<std::size_t>(index.dim) + 1, nullptr);
        tensors.back() = index.value;
        break;
      case Index::Kind::kEllipsis:
        break;
    }
  }
  for (IrValue*& tensor : tensors) {
    if (tensor == nullptr) tensor = constant(ScriptConstant(), range);
  }
  return {value, tensors};
}

IrValue* Emitter::tensor_list(const std::vector<IrValue*>& items) {
  return matcher_.list(optional_type(tensor_type()), items);
}

// --- assignments ---

// Converts a number for `tensor[0] = 5` to a tensor with the dtype and device of `like`.
IrValue* Emitter::value_as_tensor(IrValue* value, IrValue* like) {
  switch (value->type()->kind()) {
    case TypeKind::kNumber:
    case TypeKind::kInt:
    case TypeKind::kBool:
    case TypeKind::kFloat:
    case TypeKind::kComplex:
      break;
    default:
      return value;
  }
  IrValue* dtype = call_builtin(Symbol::kPrimDtype, {like}, {});
  IrValue* device = call_builtin(Symbol::kPrimDevice, {like}, {});
  return call_builtin(
      Symbol::kAtenTensor,
      CallArguments{{}, {{{}, {}, value}}, {{{}, "dtype", dtype}, {{}, "device", device}}, {}});
}

void Emitter::emit_subscript_assignment(const SourceRange& range, const Tree& target, IrValue* value) {
  IrValue* container = emit(target.part(0));
  const Expressions subscripts = target.part(1).all();
  if (container->type()->kind() == TypeKind::kTensor) {
    const auto [sliced, indices] = emit_indexing(range_of(target), container, subscripts);
    IrValue* assigned = value_as_tensor(value, sliced);
    if (indices.empty()) {
      call_builtin(Symbol::kAtenCopy, {sliced, assigned}, range);
    } else {
      call_builtin(Symbol::kAtenIndexPut, {sliced, tensor_list(indices), assigned}, range);
    }
    return;
  }
  if (subscripts.size() != 1 || subscripts[0]->is(Syntax::kSlice))
    fail(target, "Sliced expression not yet supported for subscripted assignment.");
  if (container->type()->kind() == TypeKind::kTuple)
    fail(target, container->type()->repr_str() + " does not support subscripted assignment");
  IrValue* index = emit(*subscripts[0]);
  call(sugared_magic("__setitem__", sugared_builtin(Symbol::kAtenSetItem)),
       {range, {{range, {}, container}, {range, {}, index}, {range, {}, value}}, {}, {}}, 0);
}

}  // namespace fxtrace::internal::torchscript
