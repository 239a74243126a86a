// Types of TorchScript, with LibTorch's rules and texts.  Types are shared and immutable, except for classes,
// which get attributes and methods while their code is read.  Depth and size are limited at construction,
// which throws Error(kInput), so functions may recurse over types.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "torchscript/language/constant.h"

namespace fxtrace::internal::torchscript {

// The kinds in LibTorch's order, by which unions are sorted.
enum class TypeKind : std::uint8_t {
  kAny,
  kEnum,
  kAnyEnum,
  kTensor,
  kStorage,
  kTuple,
  kList,
  kDict,
  kNumber,
  kFloat,
  kComplex,
  kFuture,
  kAwait,
  kRRef,
  kInt,
  kNone,
  kString,
  kGenerator,
  kQuantizer,
  kBool,
  kOptional,
  kVar,
  kDevice,
  kStream,
  kFunction,
  kClass,
  kPyObject,
  kCapsule,
  kInterface,
  kQScheme,
  kAnyList,
  kAnyTuple,
  kAnyClass,
  kUnion,
  kOpen,  // not of LibTorch, see OpenType
};

class Type {
 public:
  virtual ~Type() = default;
  Type(const Type&) = delete;
  Type& operator=(const Type&) = delete;

  TypeKind kind() const { return kind_; }
  // Type arguments: the element of a list, key and value of a dict, items of a tuple, the type and None of an
  // optional.
  const std::vector<TypePtr>& contained_types() const { return contained_; }
  // The qualified name of a class, interface, enum, function or NamedTuple, or the name of a type variable;
  // else empty.
  const std::string& name() const { return name_; }
  bool has_free_variables() const { return has_free_variables_; }
  bool is_open() const { return is_open_; }  // it is an OpenType, or a part of it is
  bool is_module() const;                    // a module class or module interface

  // Returns the type as T (ListType, ClassType, ...); null when it is of another kind.  An optional is not a
  // UnionType.
  template <class T>
  const T* as() const {
    return T::is_kind(kind_) ? static_cast<const T*>(this) : nullptr;
  }

  std::string str() const;             // "int[]", "Scalar", "Dict(str, Tensor?)", in the syntax of schemas
  std::string annotation_str() const;  // "List[int]", "number", "Dict[str, Optional[Tensor]]", as in code
  std::string repr_str() const { return annotation_str(); }
  std::string ir_str() const;  // as printed in graphs: str() except for a few types

 protected:
  Type(TypeKind kind, std::vector<TypePtr> contained, std::string name = {});

 private:
  TypeKind kind_;
  bool has_free_variables_ = false;
  bool is_open_ = false;
  std::uint16_t depth_ = 0;
  std::uint32_t size_ = 1;
  std::vector<TypePtr> contained_;
  std::string name_;
};

// Returns a type without type arguments.
TypePtr simple_type(TypeKind kind);
// Returns the type without type arguments that has this name in annotations ("int", "NoneType"); null for any
// other name.
TypePtr find_simple_type(std::string_view name);
inline TypePtr any_type() { return simple_type(TypeKind::kAny); }
inline TypePtr bool_type() { return simple_type(TypeKind::kBool); }
inline TypePtr complex_type() { return simple_type(TypeKind::kComplex); }
inline TypePtr device_type() { return simple_type(TypeKind::kDevice); }
inline TypePtr float_type() { return simple_type(TypeKind::kFloat); }
inline TypePtr int_type() { return simple_type(TypeKind::kInt); }
inline TypePtr none_type() { return simple_type(TypeKind::kNone); }
inline TypePtr number_type() { return simple_type(TypeKind::kNumber); }
inline TypePtr string_type() { return simple_type(TypeKind::kString); }
inline TypePtr tensor_type() { return simple_type(TypeKind::kTensor); }

TypePtr var_type(std::string name);
TypePtr list_type(TypePtr element);
TypePtr dict_type(TypePtr key, TypePtr value);  // throws Error(kInput) when LibTorch cannot hash the key
TypePtr optional_type(TypePtr element);         // an optional or None is returned unchanged
TypePtr future_type(TypePtr element);
TypePtr await_type(TypePtr element);
TypePtr rref_type(TypePtr element);
TypePtr tuple_type(std::vector<TypePtr> items);
TypePtr open_type();  // a new one

class ListType final : public Type {
 public:
  static bool is_kind(TypeKind kind) { return kind == TypeKind::kList; }
  explicit ListType(TypePtr element) : Type(TypeKind::kList, {std::move(element)}) {}
  const TypePtr& element() const { return contained_types()[0]; }
};

class DictType final : public Type {
 public:
  static bool is_kind(TypeKind kind) { return kind == TypeKind::kDict; }
  DictType(TypePtr key, TypePtr value) : Type(TypeKind::kDict, {std::move(key), std::move(value)}) {}
  const TypePtr& key() const { return contained_types()[0]; }
  const TypePtr& value() const { return contained_types()[1]; }
};

class OptionalType final : public Type {
 public:
  static bool is_kind(TypeKind kind) { return kind == TypeKind::kOptional; }
  explicit OptionalType(TypePtr element) : Type(TypeKind::kOptional, {std::move(element), none_type()}) {}
  const TypePtr& element() const { return contained_types()[0]; }
};

// A Future, an Await or an RRef of a type.
class WrapperType final : public Type {
 public:
  static bool is_kind(TypeKind kind) {
    return kind == TypeKind::kFuture || kind == TypeKind::kAwait || kind == TypeKind::kRRef;
  }
  WrapperType(TypeKind kind, TypePtr element) : Type(kind, {std::move(element)}) {}
  const TypePtr& element() const { return contained_types()[0]; }
};

class UnionType final : public Type {
 public:
  static bool is_kind(TypeKind kind) { return kind == TypeKind::kUnion; }
  explicit UnionType(std::vector<TypePtr> alternatives) : Type(TypeKind::kUnion, std::move(alternatives)) {}
};

class TupleType final : public Type {
 public:
  static bool is_kind(TypeKind kind) { return kind == TypeKind::kTuple; }
  explicit TupleType(std::vector<TypePtr> items) : Type(TypeKind::kTuple, std::move(items)) {}
  // Makes a NamedTuple.  `defaults` are for the last fields.
  TupleType(std::string name, std::vector<std::string> fields, std::vector<TypePtr> items,
            std::vector<ScriptConstant> defaults);
  const std::vector<TypePtr>& items() const { return contained_types(); }
  bool is_named() const { return is_named_; }
  const std::vector<std::string>& fields() const { return fields_; }
  const std::vector<ScriptConstant>& defaults() const { return defaults_; }

 private:
  bool is_named_ = false;
  std::vector<std::string> fields_;
  std::vector<ScriptConstant> defaults_;
};

struct NamedFunction {
  std::string name;
  Function* function = nullptr;
};

struct ClassAttribute {
  std::string name;
  TypePtr type;
  bool is_parameter = false;
  bool is_buffer = false;
};

// A module, a script class, or a C++ class (torch.classes).
class ClassType final : public Type {
 public:
  static bool is_kind(TypeKind kind) { return kind == TypeKind::kClass; }
  enum class Form : std::uint8_t { kModule, kScriptClass, kTorchBind };
  ClassType(std::string name, Form form) : Type(TypeKind::kClass, {}, std::move(name)), form_(form) {}

  Form form() const { return form_; }
  bool is_torchbind() const { return form_ == Form::kTorchBind; }

  const std::vector<ClassAttribute>& attributes() const { return attributes_; }
  std::optional<std::size_t> find_slot(std::string_view attribute) const;
  const ClassAttribute* find_attribute(std::string_view name) const;
  const std::vector<std::pair<std::string, ScriptConstant>>& constants() const { return constants_; }
  const ScriptConstant* find_constant(const std::string& name) const;
  const std::vector<Function*>& methods() const { return methods_; }
  Function* find_method(std::string_view name) const;
  Function* get_method(std::string_view name) const;  // throws Error(kInput)
  const std::vector<NamedFunction>& forward_hooks() const { return forward_hooks_; }
  const std::vector<NamedFunction>& forward_pre_hooks() const { return forward_pre_hooks_; }
  Function* find_hook(const std::string& name) const;  // among forward and forward-pre hooks

  // These are called only while the class is read.
  void add_attribute(ClassAttribute attribute);  // throws Error(kInput) for a duplicate name
  void add_constant(std::string name, ScriptConstant value);
  void add_method(std::string name, Function* method);
  void add_forward_hook(NamedFunction hook);
  void add_forward_pre_hook(NamedFunction hook);
  // Breaks reference cycles through attributes; called when the program is destroyed.
  void clear();

 private:
  Form form_;
  std::vector<ClassAttribute> attributes_;
  std::unordered_map<std::string, std::size_t> slots_;
  std::vector<std::pair<std::string, ScriptConstant>> constants_;
  std::unordered_map<std::string, std::size_t> constants_by_name_;
  std::vector<Function*> methods_;
  std::unordered_map<std::string, NamedFunction> methods_by_name_;
  std::vector<NamedFunction> forward_hooks_, forward_pre_hooks_;
  std::unordered_map<std::string, Function*> hooks_by_name_;
};

struct FunctionSchema;

class InterfaceType final : public Type {
 public:
  static bool is_kind(TypeKind kind) { return kind == TypeKind::kInterface; }
  InterfaceType(std::string name, bool is_module);
  bool is_module_interface() const { return is_module_; }
  const std::vector<std::unique_ptr<FunctionSchema>>& methods() const { return methods_; }
  const FunctionSchema* find_method(std::string_view name) const;
  void add_method(FunctionSchema schema);
  void clear();
  ~InterfaceType() override;

 private:
  bool is_module_;
  std::vector<std::unique_ptr<FunctionSchema>> methods_;
};

class EnumType final : public Type {
 public:
  static bool is_kind(TypeKind kind) { return kind == TypeKind::kEnum; }
  struct Member {
    std::string name;
    ScriptConstant value;
  };
  EnumType(std::string name, TypePtr value, std::vector<Member> members);
  const TypePtr& value_type() const { return contained_types()[0]; }
  const std::vector<Member>& members() const { return members_; }
  std::optional<std::size_t> find_member(std::string_view name) const;

 private:
  std::vector<Member> members_;
  std::unordered_map<std::string_view, std::size_t> by_name_;
};

class FunctionType final : public Type {
 public:
  static bool is_kind(TypeKind kind) { return kind == TypeKind::kFunction; }
  FunctionType(std::string name, Function* function)
      : Type(TypeKind::kFunction, {}, std::move(name)), function_(function) {}
  Function* function() const { return function_; }

 private:
  Function* function_;
};

// The type of what an undeclared operator gives.  It stands for any type, and notes what the code around
// expects of its values (expect() of compiler/schema_match.h).
class OpenType final : public Type {
 public:
  static bool is_kind(TypeKind kind) { return kind == TypeKind::kOpen; }
  OpenType() : Type(TypeKind::kOpen, {}, "?") {}

  struct Uses {
    bool has_any = false;
    bool is_statement = false;   // a call is a statement of its own
    bool agree = true;           // false once two uses contradict each other
    TypePtr expected;            // null while no use tells the type
    std::vector<TypePtr> items;  // open types, of values that are taken apart
  };
  Uses& uses() const { return uses_; }
  // Notes that values are taken apart as tuples, and returns the types of their items.
  const std::vector<TypePtr>& take_apart(std::size_t count) const;

 private:
  mutable Uses uses_;
};

// Returns a qualified name without the part that distinguishes classes of one name: "nets.Net" for
// "nets.___torch_mangle_3.Net".
std::string without_mangling(std::string_view name);

}  // namespace fxtrace::internal::torchscript
