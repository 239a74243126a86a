// The part of the Emitter (emitter.h) for subscripts of tuples, containers and tensors, and for assignments
// to them.
#include <algorithm>
#include <limits>
#include <utility>

#include "support/error.h"
#include "torchscript/compiler/emitter.h"

namespace fxtrace::internal::torchscript {

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
