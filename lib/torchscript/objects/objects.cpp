#include "torchscript/objects/objects.h"

#include <algorithm>
#include <array>
#include <bit>
#include <complex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "support/error.h"
#include "support/text/unicode.h"
#include "torchscript/compiler/script_program.h"
#include "torchscript/language/parser.h"
#include "torchscript/language/type_parser.h"
#include "torchscript/objects/pickle_values.h"
#include "torchscript/values/tensor_value.h"

namespace fxtrace::internal::torchscript {
namespace {

// The least memory that values take, in bytes.
constexpr std::size_t kSizeOfSlot = 16, kSizeOfObject = 128, kSizeOfTensor = 400;

// The class or function that a name in a pickle denotes, until it is called.
struct Global : Handle {
  enum class Form : std::uint8_t {
    kClass,
    kEnum,
    kTypedList,  // torch.jit._pickle.build_intlist: type() is the type of the elements
    kIntList,    // __main__.IntList, of older pickles: its argument is the list
    kTypeTag,    // torch.jit._pickle.restore_type_tag
    kTensor,     // torch._utils
    kQuantized,
    kSparse,
    kParameter,
    kFromType,  // torch._tensor._rebuild_from_type_v2
    kOrderedDict,
    kDevice,
    kComplex,
  };
  Global(Form its_form, TypePtr its_type) : form(its_form), meaning(std::move(its_type)) {}
  TypePtr type() const override { return meaning != nullptr ? meaning : any_type(); }
  const Form form;
  const TypePtr meaning;
};

struct KnownFunction {
  std::string_view module, name;
  Global::Form form;
};
constexpr std::array kFunctions{
    KnownFunction{"torch.jit._pickle", "restore_type_tag", Global::Form::kTypeTag},
    KnownFunction{"torch._utils", "_rebuild_tensor_v2", Global::Form::kTensor},
    KnownFunction{"torch._utils", "_rebuild_qtensor", Global::Form::kQuantized},
    KnownFunction{"torch._utils", "_rebuild_sparse_tensor", Global::Form::kSparse},
    KnownFunction{"torch._utils", "_rebuild_sparse_csr_tensor", Global::Form::kSparse},
    KnownFunction{"torch._utils", "_rebuild_parameter", Global::Form::kParameter},
    KnownFunction{"torch._tensor", "_rebuild_from_type_v2", Global::Form::kFromType},
    KnownFunction{"__main__", "IntList", Global::Form::kIntList},
    KnownFunction{"collections", "OrderedDict", Global::Form::kOrderedDict},
    KnownFunction{"torch", "device", Global::Form::kDevice},
    KnownFunction{"builtins", "complex", Global::Form::kComplex},
};

TypePtr element_of_typed_list(std::string_view name) {
  if (name == "build_intlist") return int_type();
  if (name == "build_doublelist" || name == "build_floatlist") return float_type();
  if (name == "build_boollist") return bool_type();
  return name == "build_tensorlist" ? tensor_type() : nullptr;
}

// Quantization schemes, in the order of LibTorch's numbers.
constexpr std::array<std::string_view, 5> kQuantizationSchemes{
    "per_tensor_affine", "per_channel_affine", "per_tensor_symmetric", "per_channel_symmetric",
    "per_channel_affine_float_qparams"};

// Returns the value of an enum's member as a constant; nothing for values that no member has.
std::optional<ScriptConstant> attribute_constant(const Value& value) {
  if (value.is_int()) return ScriptConstant(value.to_int());
  if (value.is_double()) return ScriptConstant(value.to_double());
  return value.is_string() ? std::optional(ScriptConstant(value.to_string())) : std::nullopt;
}

// Returns a key that is the same for equal numbers and strings.
std::string key_of(const ScriptConstant& value) {
  if (const auto* number = value.get_if<std::int64_t>()) return "i" + std::to_string(*number);
  if (const auto* number = value.get_if<double>())
    return "d" + std::to_string(std::bit_cast<std::uint64_t>(*number + 0.0));
  const auto* text = value.get_if<std::string>();
  return text == nullptr ? "" : "s" + *text;
}

class Reader final : public PickleValues::Host {
 public:
  Reader(const ObjectSource& source, const std::string& name)
      : source_(source),
        bytes_(source.zip.read(source.prefix + name + ".pkl", kMaxPickle + 1)),
        tensors_(source.zip, source.prefix, source.prefix + name + "/"),
        machine_(bytes_, source.zip.stored_size(source.prefix + name + ".pkl"), *this) {
    if (bytes_.size() > kMaxPickle) throw input_error("its pickle " + name + ".pkl is too large");
  }

  Value run() {
    Value result = machine_.run();
    constexpr std::uint64_t kLastWithoutTags = 2;
    if (source_.format_version <= kLastWithoutTags && result.is_object()) restore_types(result);
    return result;
  }

  Value global(const std::string& module, const std::string& name) override {
    // The two names after kFromType are the function that makes the tensor, unless it was named before, and
    // the tensor's class, which may be any.
    if (names_to_come_ > 0) {
      --names_to_come_;
      if (names_to_come_ == 0 || (module == "torch" && name == "Tensor")) {
        names_to_come_ = 0;
        return std::int64_t{0};
      }
    }
    for (const KnownFunction& known : kFunctions) {
      if (known.module != module || known.name != name) continue;
      constexpr int kFunctionAndClass = 2;
      if (known.form == Global::Form::kFromType) {
        has_own_classes_ = true;
        names_to_come_ = kFunctionAndClass;
      }
      return make_counted<Global>(known.form, nullptr);
    }
    if (module == "torch.jit._pickle") {
      if (TypePtr element = element_of_typed_list(name))
        return make_counted<Global>(Global::Form::kTypedList, std::move(element));
    }
    if (module == "torch") {
      if (const auto dtype = find_storage_type(name)) return static_cast<std::int64_t>(*dtype);
      const auto scheme = std::ranges::find(kQuantizationSchemes, name);
      if (scheme != kQuantizationSchemes.end()) return std::int64_t{scheme - kQuantizationSchemes.begin()};
    }
    if (module != "__torch__" && !module.starts_with("__torch__.")) {
      throw input_error("its pickle names '" + printable(module + "." + name) +
                        "', which TorchScript does not know");
    }
    return class_or_enum(module + "." + name);
  }

  Value call(Handle& callable, const Value& arguments) override {
    const auto& global = static_cast<const Global&>(callable);
    if (global.form == Global::Form::kEnum) return make_enum(global.meaning, arguments);
    if (global.form == Global::Form::kClass) return build(callable, arguments);
    if (global.form == Global::Form::kIntList) return typed_list(int_type(), arguments);
    if (!arguments.is_tuple()) pickle_is_damaged("the arguments of a call are not a tuple");
    const TupleValue& tuple = arguments.to_tuple();
    switch (global.form) {
      case Global::Form::kTypedList:
        if (tuple.items.size() != 1) pickle_is_damaged("a typed list is not made from one list");
        return typed_list(global.meaning, tuple.items[0]);
      case Global::Form::kTypeTag:
        return with_tag(tuple);
      case Global::Form::kTensor:
        return counted(PickleTensors::rebuild(tuple, false));
      case Global::Form::kQuantized:
        return counted(PickleTensors::rebuild(tuple, true));
      case Global::Form::kSparse:
        return counted(PickleTensors::rebuild_sparse(tuple));
      case Global::Form::kParameter:
        return counted(PickleTensors::rebuild_parameter(tuple));
      case Global::Form::kFromType:
        return of_own_class(tuple);
      case Global::Form::kOrderedDict:
        machine_.spend(kSizeOfObject);
        return make_counted<DictValue>(any_type(), any_type());
      case Global::Form::kDevice:
        return device(tuple);
      case Global::Form::kComplex:
        return complex(tuple);
      case Global::Form::kClass:
      case Global::Form::kEnum:
      case Global::Form::kIntList:
        break;
    }
    pickle_is_damaged("it calls a class");
  }

  Value build(Handle& type, const Value& state) override {
    const auto& global = static_cast<const Global&>(type);
    if (global.form != Global::Form::kClass) return call(type, state);  // LibTorch does not distinguish them
    const auto& class_type = *global.meaning->as<ClassType>();
    const std::size_t count = class_type.attributes().size();
    machine_.spend(kSizeOfObject + kSizeOfSlot * count);
    auto object = make_counted<ObjectValue>(global.meaning, count);
    if (class_type.is_torchbind() || !state.is_dict() || class_type.find_method("__setstate__") != nullptr) {
      object->state = state;
      return object;
    }
    const DictValue& values = state.to_dict();
    for (std::size_t i = 0; i < count; ++i) {
      const std::string& name = class_type.attributes()[i].name;
      const Value* value = values.find(name);
      if (value == nullptr) {
        throw input_error("an object of " + printable(class_type.name()) + " has no '" + printable(name) +
                          "'");
      }
      object->slots[i] = *value;
    }
    return object;
  }

  Value persistent(const TupleValue& id) override { return counted(tensors_.storage(id)); }

  std::optional<Value> in_tuple(const Value& callable) override {
    if (static_cast<const Global&>(callable.to_handle()).form == Global::Form::kClass || !has_own_classes_)
      return std::nullopt;
    named_.push_back(callable);
    return static_cast<std::int64_t>(named_.size()) - 1;
  }

 private:
  static constexpr std::size_t kMaxPickle = std::size_t{1} << 28;

  Value counted(TensorRef tensor) {
    machine_.spend(kSizeOfTensor + kSizeOfSlot * tensor->sizes.size());
    return tensor;
  }

  Value class_or_enum(const std::string& name) {
    TypePtr& type = classes_[name];
    if (type == nullptr) type = source_.resolve(name);
    if (type == nullptr)
      throw input_error("it has no code of '" + printable(name) + "', which its pickle names");
    if (type->kind() == TypeKind::kEnum) return make_counted<Global>(Global::Form::kEnum, type);
    if (type->kind() != TypeKind::kClass) throw input_error("'" + printable(name) + "' is not a class");
    return make_counted<Global>(Global::Form::kClass, type);
  }

  Value make_enum(const TypePtr& type, const Value& value) {
    const auto [place, is_new] = members_.try_emplace(type.get());
    if (is_new) {
      for (const EnumType::Member& member : type->as<EnumType>()->members())
        place->second.try_emplace(key_of(member.value), &member);
    }
    const auto constant = attribute_constant(value);
    const auto found = constant ? place->second.find(key_of(*constant)) : place->second.end();
    if (found != place->second.end()) {
      const std::string& name = found->second->name;
      machine_.spend(kSizeOfObject + name.size());
      return make_counted<EnumValue>(type, name, value);
    }
    throw input_error("'" + printable(type->name()) + "' has no member with the value in its pickle");
  }

  // Makes a tensor of a Python class, or with Python attributes, as a plain tensor.  The arguments are
  // (function, class, the function's arguments, attributes).
  Value of_own_class(const TupleValue& arguments) {
    constexpr std::size_t kParts = 4;
    const auto& parts = arguments.items;
    if (parts.size() < kParts || !parts[0].is_int() || !parts[3].is_dict())
      pickle_is_damaged("a tensor subclass has other arguments than expected");
    const auto index = static_cast<std::uint64_t>(parts[0].to_int());
    if (index >= named_.size())
      pickle_is_damaged("a tensor subclass does not name the function that makes it");
    Value function = named_[static_cast<std::size_t>(index)];
    return call(function.to_handle(), parts[2]);
  }

  static Value typed_list(const TypePtr& element, const Value& argument) {
    if (!argument.is_list()) pickle_is_damaged("a typed list is not made from one list");
    Value list = argument;
    for (const Value& item : list.items()) {
      if (dynamic_type(item)->kind() != element->kind())
        pickle_is_damaged("a list has an element of another type");
    }
    list.to_list().element_type = element;
    return list;
  }

  Value with_tag(const TupleValue& arguments) {
    if (arguments.items.size() != 2 || !arguments.items[1].is_string())
      pickle_is_damaged("restore_type_tag expects a value and the text of its type");
    const TypePtr& type = type_of(arguments.items[1].to_string());
    Value value = arguments.items[0];
    if (const auto* list = type->as<ListType>(); list != nullptr && value.is_list()) {
      value.to_list().element_type = list->element();
    } else if (const auto* dict = type->as<DictType>(); dict != nullptr && value.is_dict()) {
      value.to_dict().key_type = dict->key();
      value.to_dict().value_type = dict->value();
    } else {
      pickle_is_damaged("a value does not have the type of its tag");
    }
    return value;
  }

  const TypePtr& type_of(const std::string& text) {
    TypePtr& type = types_[text];
    if (type != nullptr) return type;
    SyntaxFile file(std::make_unique<SourceText>("a type in a pickle", text));
    type = TypeParser(file, source_.resolve).parse(parse_expression(file));
    return type;
  }

  static Value device(const TupleValue& arguments) {
    if (arguments.items.empty() || !arguments.items[0].is_string()) pickle_is_damaged("a device has no name");
    DeviceText read = read_saved_device(arguments.items[0].to_string());
    if (!read.device) throw input_error("its pickle has an invalid device: " + printable(read.why));
    return *std::move(read.device);
  }

  static Value complex(const TupleValue& arguments) {
    if (arguments.items.size() != 2 || !arguments.items[0].is_double() || !arguments.items[1].is_double())
      pickle_is_damaged("a complex number is not made from two floats");
    return std::complex<double>(arguments.items[0].to_double(), arguments.items[1].to_double());
  }

  // Gives lists and dicts of archives without type tags the types of the attributes that hold them.
  static void restore_types(const Value& root) {
    std::vector<std::pair<Value, TypePtr>> waiting{{root, root.to_object().type}};
    std::unordered_set<const void*> seen;
    while (!waiting.empty()) {
      const auto [value, given] = std::move(waiting.back());
      waiting.pop_back();
      const bool has_parts = value.is_list() || value.is_dict() || value.is_tuple() || value.is_object();
      if (!has_parts || !seen.insert(value.identity()).second) continue;
      const Type* type = given.get();
      if (const auto* optional = type->as<OptionalType>()) type = optional->element().get();
      if (const auto* list = type->as<ListType>(); list != nullptr && value.is_list()) {
        value.to_list().element_type = list->element();
        for (const Value& item : value.items()) waiting.emplace_back(item, list->element());
      } else if (const auto* dict = type->as<DictType>(); dict != nullptr && value.is_dict()) {
        value.to_dict().key_type = dict->key();
        value.to_dict().value_type = dict->value();
        for (const auto& entry : value.to_dict().entries()) {
          waiting.emplace_back(entry.key, dict->key());
          waiting.emplace_back(entry.value, dict->value());
        }
      } else if (const auto* tuple = type->as<TupleType>(); tuple != nullptr && value.is_tuple()) {
        for (std::size_t i = 0; i < std::min(value.items().size(), tuple->items().size()); ++i)
          waiting.emplace_back(value.items()[i], tuple->items()[i]);
      } else if (value.is_object()) {
        const auto& attributes = value.to_object().type->as<ClassType>()->attributes();
        for (std::size_t i = 0; i < value.to_object().slots.size(); ++i)
          waiting.emplace_back(value.to_object().slots[i], attributes[i].type);
      }
    }
  }

  const ObjectSource& source_;
  std::string bytes_;
  PickleTensors tensors_;
  PickleValues machine_;
  std::unordered_map<std::string, TypePtr> types_;                           // by text
  std::unordered_map<std::string, TypePtr> classes_;                         // by qualified name
  using Members = std::unordered_map<std::string, const EnumType::Member*>;  // by key_of()
  std::unordered_map<const Type*, Members> members_;
  int names_to_come_ = 0;         // how many of the two names after kFromType are still to come
  bool has_own_classes_ = false;  // whether kFromType was named
  std::vector<Value> named_;      // functions in tuples, which are represented by their index here
};

}  // namespace

void set_constants(ScriptProgram& program, const std::vector<Value>& constants) {
  std::vector<TypePtr> types;
  std::unordered_map<std::size_t, std::string> texts;
  for (const Value& constant : constants) {
    if (constant.is_string()) texts[types.size()] = constant.to_string();
    types.push_back(dynamic_type(constant));
  }
  program.set_constants(std::move(types), std::move(texts));
}

Value read_objects(const ObjectSource& source, const std::string& name) { return Reader(source, name).run(); }

}  // namespace fxtrace::internal::torchscript
