#include "torchscript/language/types.h"

#include <algorithm>
#include <array>

#include "support/error.h"
#include "support/text/qualified_name.h"
#include "support/text/words.h"
#include "torchscript/language/function_schema.h"

namespace fxtrace::internal::torchscript {
namespace {

constexpr std::size_t kMaxDepth = 100;
constexpr std::size_t kMaxSize = 10'000;  // contained types, and one for 32 characters of text

}  // namespace

Type::Type(TypeKind kind, std::vector<TypePtr> contained, std::string name)
    : kind_(kind), contained_(std::move(contained)), name_(std::move(name)) {
  has_free_variables_ = kind == TypeKind::kVar;
  is_open_ = kind == TypeKind::kOpen;
  std::size_t depth = 0;
  std::size_t size = 1 + name_.size() / 32;
  for (const TypePtr& part : contained_) {
    has_free_variables_ = has_free_variables_ || part->has_free_variables_;
    is_open_ = is_open_ || part->is_open_;
    depth = std::max<std::size_t>(depth, part->depth_ + 1U);
    size += part->size_;
  }
  if (depth > kMaxDepth || size > kMaxSize)
    throw input_error("a type of the archive's code has more parts than fxtrace supports");
  depth_ = static_cast<std::uint16_t>(depth);
  size_ = static_cast<std::uint32_t>(size);
}

bool Type::is_module() const {
  if (const auto* type = as<ClassType>()) return type->form() == ClassType::Form::kModule;
  if (const auto* type = as<InterfaceType>()) return type->is_module_interface();
  return false;
}

// --- texts ---

namespace {

enum class Spelling : std::uint8_t { kSchema, kAnnotation, kIr };

std::string text(const Type& type, Spelling spelling);

std::string joined_types(const std::vector<TypePtr>& types, Spelling spelling) {
  return joined(types, [&](const TypePtr& type) { return text(*type, spelling); });
}

// The names of types without arguments in annotations.
struct SimpleName {
  TypeKind kind;
  std::string_view name;
};
constexpr std::array kSimpleNames{
    SimpleName{TypeKind::kAny, "Any"},
    SimpleName{TypeKind::kAnyClass, "AnyClassType"},
    SimpleName{TypeKind::kAnyEnum, "AnyEnumType"},
    SimpleName{TypeKind::kAnyList, "list"},
    SimpleName{TypeKind::kAnyTuple, "tuple"},
    SimpleName{TypeKind::kBool, "bool"},
    SimpleName{TypeKind::kCapsule, "Capsule"},
    SimpleName{TypeKind::kComplex, "complex"},
    SimpleName{TypeKind::kDevice, "Device"},
    SimpleName{TypeKind::kFloat, "float"},
    SimpleName{TypeKind::kGenerator, "Generator"},
    SimpleName{TypeKind::kInt, "int"},
    SimpleName{TypeKind::kNone, "NoneType"},
    SimpleName{TypeKind::kNumber, "number"},
    SimpleName{TypeKind::kPyObject, "PyObject"},
    SimpleName{TypeKind::kQScheme, "QScheme"},
    SimpleName{TypeKind::kQuantizer, "Quantizer"},
    SimpleName{TypeKind::kStorage, "Storage"},
    SimpleName{TypeKind::kStream, "Stream"},
    SimpleName{TypeKind::kString, "str"},
    SimpleName{TypeKind::kTensor, "Tensor"},
};

// Returns the name of a type without arguments; empty for other types.
std::string_view simple_name(TypeKind kind, Spelling spelling) {
  if (kind == TypeKind::kNumber && spelling != Spelling::kAnnotation) return "Scalar";
  const auto row = std::ranges::find(kSimpleNames, kind, &SimpleName::kind);
  return row == kSimpleNames.end() ? std::string_view() : row->name;
}

bool is_number_part(const Type& type) {
  return type.kind() == TypeKind::kInt || type.kind() == TypeKind::kFloat ||
         type.kind() == TypeKind::kComplex;
}

std::string union_text(const std::vector<TypePtr>& types, Spelling spelling) {
  const bool annotation = spelling == Spelling::kAnnotation;
  // Where int, float and complex are all there, LibTorch writes Scalar for the three, at the end.
  const bool numbers = std::count_if(types.begin(), types.end(),
                                     [](const TypePtr& type) { return is_number_part(*type); }) == 3;
  std::string result;
  for (const TypePtr& type : types) {
    if (numbers && is_number_part(*type)) continue;
    result +=
        (result.empty() ? "" : ", ") + text(*type, annotation ? Spelling::kAnnotation : Spelling::kSchema);
  }
  if (numbers) result += (result.empty() ? "" : ", ") + std::string(annotation ? "number" : "Scalar");
  return annotation ? "Union[" + result + "]" : "Union(" + result + ")";
}

std::string tuple_text(const TupleType& type, Spelling spelling) {
  if (spelling == Spelling::kIr) {
    std::string result = type.is_named() ? "NamedTuple(" : "(";
    for (std::size_t i = 0; i < type.items().size(); ++i) {
      if (i > 0) result += ", ";
      if (type.is_named()) result += type.fields()[i] + " : ";
      result += text(*type.items()[i], spelling);
    }
    return result + ")";
  }
  if (type.is_named()) return type.name();
  if (spelling == Spelling::kSchema) return "(" + joined_types(type.items(), spelling) + ")";
  return "Tuple[" + (type.items().empty() ? "()" : joined_types(type.items(), spelling)) + "]";
}

std::string wrapper_text(const WrapperType& type, Spelling spelling) {
  const bool is_await = type.kind() == TypeKind::kAwait;
  const bool brackets = spelling == Spelling::kAnnotation || (spelling == Spelling::kIr && !is_await);
  const std::string name = is_await ? "Await" : type.kind() == TypeKind::kFuture ? "Future" : "RRef";
  const Spelling inner = brackets ? spelling : Spelling::kSchema;
  return name + (brackets ? "[" : "(") + text(*type.element(), inner) + (brackets ? "]" : ")");
}

std::string text(const Type& type, Spelling spelling) {
  const bool annotation = spelling == Spelling::kAnnotation;
  if (const auto name = simple_name(type.kind(), spelling); !name.empty()) return std::string(name);
  switch (type.kind()) {
    case TypeKind::kList:
      if (annotation) return "List[" + text(*type.contained_types()[0], spelling) + "]";
      return text(*type.contained_types()[0], spelling) + "[]";
    case TypeKind::kOptional:
      if (annotation) return "Optional[" + text(*type.contained_types()[0], spelling) + "]";
      return text(*type.contained_types()[0], spelling) + "?";
    case TypeKind::kDict:
      if (annotation) return "Dict[" + joined_types(type.contained_types(), spelling) + "]";
      return "Dict(" + joined_types(type.contained_types(), Spelling::kSchema) + ")";
    case TypeKind::kTuple:
      return tuple_text(*type.as<TupleType>(), spelling);
    case TypeKind::kUnion:
      return union_text(type.contained_types(), spelling);
    case TypeKind::kFuture:
    case TypeKind::kAwait:
    case TypeKind::kRRef:
      return wrapper_text(*type.as<WrapperType>(), spelling);
    case TypeKind::kEnum:
      return annotation ? type.name() : "Enum<" + type.name() + ">";
    case TypeKind::kInterface:
      return annotation ? type.name()
                        : "InterfaceType<" + std::string(QualifiedName(type.name()).last()) + ">";
    case TypeKind::kFunction:
      return annotation ? type.name() : "Function";
    default:
      return type.name();
  }
}

}  // namespace

std::string Type::str() const { return text(*this, Spelling::kSchema); }
std::string Type::annotation_str() const { return text(*this, Spelling::kAnnotation); }
std::string Type::ir_str() const { return text(*this, Spelling::kIr); }

// --- construction ---

namespace {

class SimpleType final : public Type {
 public:
  explicit SimpleType(TypeKind kind) : Type(kind, {}) {}
};

class VarType final : public Type {
 public:
  explicit VarType(std::string name) : Type(TypeKind::kVar, {}, std::move(name)) {}
};

}  // namespace

TypePtr simple_type(TypeKind kind) {
  static const auto all = [] {
    std::array<TypePtr, static_cast<std::size_t>(TypeKind::kUnion) + 1> types;
    for (std::size_t i = 0; i < types.size(); ++i) {
      const auto each = static_cast<TypeKind>(i);
      if (!simple_name(each, Spelling::kSchema).empty()) types[i] = std::make_shared<SimpleType>(each);
    }
    return types;
  }();
  return all[static_cast<std::size_t>(kind)];
}

TypePtr find_simple_type(std::string_view name) {
  const auto row = std::ranges::find(kSimpleNames, name, &SimpleName::name);
  return row == kSimpleNames.end() ? nullptr : simple_type(row->kind);
}

TypePtr var_type(std::string name) { return std::make_shared<VarType>(std::move(name)); }
TypePtr list_type(TypePtr element) { return std::make_shared<ListType>(std::move(element)); }

TypePtr dict_type(TypePtr key, TypePtr value) {
  switch (key->kind()) {
    case TypeKind::kAny:
    case TypeKind::kInt:
    case TypeKind::kBool:
    case TypeKind::kFloat:
    case TypeKind::kComplex:
    case TypeKind::kString:
    case TypeKind::kTensor:
    case TypeKind::kDevice:
    case TypeKind::kVar:
      return std::make_shared<DictType>(std::move(key), std::move(value));
    default:
      throw input_error("Cannot create dict for key type '" + key->str() +
                        "', only int, float, complex, Tensor, device and string keys are supported");
  }
}

TypePtr optional_type(TypePtr element) {
  if (element->kind() == TypeKind::kOptional || element->kind() == TypeKind::kNone) return element;
  return std::make_shared<OptionalType>(std::move(element));
}

TypePtr future_type(TypePtr element) {
  return std::make_shared<WrapperType>(TypeKind::kFuture, std::move(element));
}
TypePtr await_type(TypePtr element) {
  return std::make_shared<WrapperType>(TypeKind::kAwait, std::move(element));
}
TypePtr rref_type(TypePtr element) {
  return std::make_shared<WrapperType>(TypeKind::kRRef, std::move(element));
}
TypePtr open_type() { return std::make_shared<OpenType>(); }
TypePtr tuple_type(std::vector<TypePtr> items) { return std::make_shared<TupleType>(std::move(items)); }

TupleType::TupleType(std::string name, std::vector<std::string> fields, std::vector<TypePtr> items,
                     std::vector<ScriptConstant> defaults)
    : Type(TypeKind::kTuple, std::move(items), std::move(name)),
      is_named_(true),
      fields_(std::move(fields)),
      defaults_(std::move(defaults)) {}

const std::vector<TypePtr>& OpenType::take_apart(std::size_t count) const {
  std::vector<TypePtr>& items = uses_.items;
  uses_.agree = uses_.agree && (items.empty() || items.size() == count);
  while (items.size() < count) items.push_back(open_type());
  return items;
}

// --- classes ---

std::optional<std::size_t> ClassType::find_slot(std::string_view attribute) const {
  const auto found = slots_.find(std::string(attribute));
  if (found == slots_.end()) return std::nullopt;
  return found->second;
}

const ClassAttribute* ClassType::find_attribute(std::string_view name) const {
  const auto slot = find_slot(name);
  return slot ? &attributes_[*slot] : nullptr;
}

const ScriptConstant* ClassType::find_constant(const std::string& name) const {
  const auto found = constants_by_name_.find(name);
  return found == constants_by_name_.end() ? nullptr : &constants_[found->second].second;
}

Function* ClassType::find_method(std::string_view name) const {
  const auto found = methods_by_name_.find(std::string(name));
  return found == methods_by_name_.end() ? nullptr : found->second.function;
}

Function* ClassType::get_method(std::string_view name) const {
  if (Function* method = find_method(name)) return method;
  throw input_error("Couldn't find method: '" + std::string(name) + "' on class: '" + repr_str() + "'");
}

Function* ClassType::find_hook(const std::string& name) const {
  const auto found = hooks_by_name_.find(name);
  return found == hooks_by_name_.end() ? nullptr : found->second;
}

void ClassType::add_forward_hook(NamedFunction hook) {
  hooks_by_name_.try_emplace(hook.name, hook.function);
  forward_hooks_.push_back(std::move(hook));
}

void ClassType::add_forward_pre_hook(NamedFunction hook) {
  hooks_by_name_.try_emplace(hook.name, hook.function);
  forward_pre_hooks_.push_back(std::move(hook));
}

void ClassType::add_attribute(ClassAttribute attribute) {
  const auto [place, is_new] = slots_.try_emplace(attribute.name, attributes_.size());
  if (!is_new)
    throw input_error("attempting to add attribute '" + attribute.name + "' to " + repr_str() +
                      " but a field of the same name already exists");
  attributes_.push_back(std::move(attribute));
}

void ClassType::add_constant(std::string name, ScriptConstant value) {
  if (find_slot(name) || find_constant(name) != nullptr)
    throw input_error("attempting to add constant '" + name + "' to " + repr_str() +
                      " but a field of the same name already exists");
  constants_by_name_.emplace(name, constants_.size());
  constants_.emplace_back(std::move(name), std::move(value));
}

void ClassType::add_method(std::string name, Function* method) {
  const NamedFunction entry{std::move(name), method};
  if (!methods_by_name_.try_emplace(entry.name, entry).second)
    throw input_error("Can't redefine method: " + entry.name + " on class: " + repr_str());
  methods_.push_back(method);
}

void ClassType::clear() {
  attributes_.clear();
  slots_.clear();
  constants_.clear();
  constants_by_name_.clear();
  methods_.clear();
  methods_by_name_.clear();
  forward_hooks_.clear();
  forward_pre_hooks_.clear();
  hooks_by_name_.clear();
}

InterfaceType::InterfaceType(std::string name, bool is_module)
    : Type(TypeKind::kInterface, {}, std::move(name)), is_module_(is_module) {}
InterfaceType::~InterfaceType() = default;

const FunctionSchema* InterfaceType::find_method(std::string_view name) const {
  for (const auto& method : methods_) {
    if (method->name == name) return method.get();
  }
  return nullptr;
}

void InterfaceType::add_method(FunctionSchema schema) {
  methods_.push_back(std::make_unique<FunctionSchema>(std::move(schema)));
}

void InterfaceType::clear() { methods_.clear(); }

EnumType::EnumType(std::string name, TypePtr value, std::vector<Member> members)
    : Type(TypeKind::kEnum, {std::move(value)}, std::move(name)), members_(std::move(members)) {
  for (std::size_t i = 0; i < members_.size(); ++i) by_name_.try_emplace(members_[i].name, i);
}

std::optional<std::size_t> EnumType::find_member(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? std::nullopt : std::optional(found->second);
}

std::string without_mangling(std::string_view name) {
  constexpr std::string_view kMangle = "___torch_mangle_";
  std::string result;
  while (!name.empty()) {
    const auto dot = name.find('.');
    const std::string_view part = name.substr(0, dot);
    if (!part.starts_with(kMangle)) {
      if (!result.empty()) result += '.';
      result += part;
    }
    if (dot == std::string_view::npos) break;
    name.remove_prefix(dot + 1);
  }
  return result;
}

}  // namespace fxtrace::internal::torchscript
