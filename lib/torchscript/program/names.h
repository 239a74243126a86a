// Names of lib/script that are used throughout this library.
#pragma once

#include "script/constant_value.h"
#include "script/function.h"
#include "script/function_schema.h"
#include "script/ir.h"
#include "script/operator_table.h"
#include "script/symbol.h"
#include "script/tensor_value.h"
#include "script/type_relations.h"
#include "script/types.h"
#include "script/value.h"
#include "script/value_extent.h"

namespace fxtrace::torchscript {

using script::bool_type;
using script::ClassType;
using script::constant_of;
using script::DictType;
using script::DictValue;
using script::Extent;
using script::extent_of;
using script::float_type;
using script::Function;
using script::FunctionArgument;
using script::FunctionSchema;
using script::FunctionType;
using script::int_type;
using script::IrBlock;
using script::IrGraph;
using script::IrNode;
using script::IrUse;
using script::IrValue;
using script::is_plain;
using script::is_subtype;
using script::ListType;
using script::ListValue;
using script::make_counted;
using script::make_list;
using script::make_tuple;
using script::none_type;
using script::ObjectValue;
using script::OptionalType;
using script::Ref;
using script::string_type;
using script::Symbol;
using script::tensor_type;
using script::TensorLayout;
using script::TensorRef;
using script::TensorValue;
using script::to_text;
using script::tuple_type;
using script::TupleType;
using script::Type;
using script::TypeKind;
using script::TypePtr;
using script::Value;

// Returns the class of an object.
inline const ClassType& class_of(const ObjectValue& object) { return *object.type->as<ClassType>(); }

inline bool are_equal(const Value& a, const Value& b) { return script::find_equal(a, b).value_or(false); }

inline Value deep_copy(const Value& value) { return script::find_deep_copy(value).value_or(value); }

}  // namespace fxtrace::torchscript
