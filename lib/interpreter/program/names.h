// Names of lib/torchscript that are used throughout this library.
#pragma once

#include "torchscript/ir/constant_value.h"
#include "torchscript/ir/function.h"
#include "torchscript/ir/ir.h"
#include "torchscript/language/function_schema.h"
#include "torchscript/language/symbol.h"
#include "torchscript/language/type_relations.h"
#include "torchscript/language/types.h"
#include "torchscript/operators/operator_table.h"
#include "torchscript/values/tensor_value.h"
#include "torchscript/values/value.h"
#include "torchscript/values/value_extent.h"

namespace fxtrace::internal::interpreter {

using torchscript::bool_type;
using torchscript::ClassType;
using torchscript::constant_of;
using torchscript::DictType;
using torchscript::DictValue;
using torchscript::Extent;
using torchscript::extent_of;
using torchscript::float_type;
using torchscript::Function;
using torchscript::FunctionArgument;
using torchscript::FunctionSchema;
using torchscript::FunctionType;
using torchscript::int_type;
using torchscript::IrBlock;
using torchscript::IrGraph;
using torchscript::IrNode;
using torchscript::IrUse;
using torchscript::IrValue;
using torchscript::is_plain;
using torchscript::is_subtype;
using torchscript::ListType;
using torchscript::ListValue;
using torchscript::make_counted;
using torchscript::make_list;
using torchscript::make_tuple;
using torchscript::none_type;
using torchscript::ObjectValue;
using torchscript::OptionalType;
using torchscript::Ref;
using torchscript::string_type;
using torchscript::Symbol;
using torchscript::tensor_type;
using torchscript::TensorLayout;
using torchscript::TensorRef;
using torchscript::TensorValue;
using torchscript::to_text;
using torchscript::tuple_type;
using torchscript::TupleType;
using torchscript::Type;
using torchscript::TypeKind;
using torchscript::TypePtr;
using torchscript::UnionType;
using torchscript::Value;

// Returns the class of an object.
inline const ClassType& class_of(const ObjectValue& object) { return *object.type->as<ClassType>(); }

// Returns the function or method that the node calls; null where the types in the code do not tell it.
inline Function* find_called(const IrNode& call) {
  const Type& type = *call.input(0)->type();
  if (const auto* function = type.as<FunctionType>()) return function->function();
  const auto* receiver = type.as<ClassType>();
  return receiver == nullptr ? nullptr : receiver->find_method(call.text());
}

inline bool are_equal(const Value& a, const Value& b) {
  return torchscript::find_equal(a, b).value_or(false);
}

inline Value deep_copy(const Value& value) { return torchscript::find_deep_copy(value).value_or(value); }

}  // namespace fxtrace::internal::interpreter
