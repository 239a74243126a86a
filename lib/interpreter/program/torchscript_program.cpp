#include "interpreter/program/torchscript_program.h"

#include <algorithm>
#include <exception>
#include <sstream>

#include "interpreter/code/code_effects.h"
#include "interpreter/code/input_guesses.h"
#include "interpreter/code/module_calls.h"
#include "interpreter/program/convert.h"
#include "interpreter/program/packed_tensors.h"
#include "interpreter/program/same_modules.h"
#include "support/error.h"
#include "support/text/did_you_mean.h"
#include "support/text/numbers.h"
#include "support/text/qualified_name.h"
#include "support/text/words.h"

namespace fxtrace::internal::interpreter {
namespace {

constexpr std::string_view kSetState = "__setstate__";

}  // namespace

bool is_forward(const std::string& method) {
  constexpr std::string_view kOverload = "forward__";
  return method == "forward" ||
         (method.rfind(kOverload, 0) == 0 &&
          method.find_first_not_of("0123456789", kOverload.size()) == std::string::npos);
}

Function* find_forward(const ClassType& type) {
  if (Function* forward = type.find_method("forward")) return forward;
  return type.find_method("forward__0");
}

bool is_traced_call(const ClassType& type, const std::string& method) {
  constexpr std::string_view kForward = "forward";
  if (method.rfind(kForward, 0) != 0 || type.find_method("forward") == nullptr) return false;
  const auto number = number_in<int>(method.substr(kForward.size()));
  if (!number || method != "forward" + std::to_string(*number)) return false;
  for (int earlier = 1; earlier < *number; ++earlier) {
    if (type.find_method("forward" + std::to_string(earlier)) == nullptr) return false;
  }
  return *number > 0;
}

bool TorchScriptProgram::does_as_forward(const ClassType& type, Function& method) const {
  if (is_forward(std::string(method.name()))) return true;
  const auto [place, is_new] = same_as_forward_.emplace(&method, false);
  if (is_new) place->second = have_same_code(*archive_, *find_forward(type), method);
  return place->second;
}

TorchScriptProgram::TorchScriptProgram(std::unique_ptr<TorchScriptArchive> archive)
    : archive_(std::move(archive)), meanings_(*archive_) {
  read_modules();
}

std::string TorchScriptProgram::producer_version() const {
  return std::to_string(archive_->format_version());
}

void TorchScriptProgram::read_modules() {
  const ModuleObject root = archive_->module();
  same_modules_ = find_same_modules(
      root, [](const ObjectValue* object) { return TorchScriptArchive::find_state(object) != nullptr; },
      [this](const ClassType& type) { return keeps_state(type); });
  read_module(root, "", std::nullopt);
  for (const auto& [object, first] : same_modules_.first) {
    const auto known = module_ids_.find(first.get());
    if (known != module_ids_.end()) module_ids_.emplace(object, known->second);
  }
}

namespace {

// Adds the attributes.  Of several values for a name the last one counts, in the place of the first.
void set_attributes(ModuleInfo& module, std::vector<std::pair<std::string, Argument>> values) {
  std::unordered_map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < module.attributes.size(); ++i) places.emplace(module.attributes[i].first, i);
  for (auto& [name, value] : values) {
    const auto [place, is_new] = places.try_emplace(name, module.attributes.size());
    if (is_new) {
      module.attributes.emplace_back(std::move(name), std::move(value));
    } else {
      module.attributes[place->second].second = std::move(value);
    }
  }
}

}  // namespace

namespace {

// Returns the bytes of texts and lists.
std::size_t value_bytes(const Argument& value) {
  if (const auto* text = value.get_if<std::string>()) return text->size();
  std::size_t bytes = 0;
  if (const auto* list = value.get_if<Argument::List>()) {
    for (const Argument& item : list->items) bytes += sizeof item + value_bytes(item);
  }
  return bytes;
}

}  // namespace

std::optional<Argument> TorchScriptProgram::counted_attribute(const Value& value) {
  std::optional<Argument> plain = plain_attribute(value);
  if (plain) count_names(value_bytes(*plain));
  return plain;
}

// Throws when names, types, shapes and values take too much memory.  The file does not bound them by itself:
// names of nested modules contain each other, the others may be those of many modules, and all are copied
// some times.
void TorchScriptProgram::count_names(std::size_t bytes) {
  constexpr std::uint64_t kMost = std::uint64_t{64} << 20, kLeast = std::uint64_t{8} << 20, kOfByte = 16;
  const std::uint64_t most = std::min(kMost, kLeast + kOfByte * std::min(file_size(), kMost));
  name_bytes_ += bytes;
  if (name_bytes_ > most) {
    throw input_error(
        "the qualified names, types, shapes and values of its modules and parameters take more than " +
        std::to_string(most >> 20) + " MB, too much for a file of its size");
  }
}

void TorchScriptProgram::read_module(const ModuleObject& named, const std::string& path,
                                     std::optional<ModuleId> parent) {
  const ModuleObject& object = same_modules_.first_of(named);
  const ModuleId id{static_cast<std::uint32_t>(modules_.size())};
  const ClassType& type = class_of(*object);
  ModuleInfo info;
  info.path = path;
  info.type = demangle(type.name());
  count_names(path.size() + info.type.size());
  info.parent = parent;
  info.has_forward = find_forward(type) != nullptr;
  const auto [known, is_new] = module_ids_.emplace(object.get(), id);
  if (!is_new) {
    info.alias_of = known->second;
    info.is_assumed = named_.at(known->second.index) != named.get();
  } else if (named.get() != object.get() || (parent && !modules_[parent->index].name_in_file.empty())) {
    info.name_in_file = same_modules_.name_of(object.get());
    count_names(info.name_in_file.size());
  }
  modules_.push_back(std::move(info));
  objects_.push_back(object);
  named_.push_back(named.get());
  if (!is_new) return;

  const std::string prefix = path.empty() ? "" : path + ".";
  for (std::size_t i = 0; i < type.attributes().size() && i < object->slots.size(); ++i) {
    const std::string& name = type.attributes()[i].name;
    const Value& value = object->slots[i];
    if (value.is_tensor()) {
      const bool parameter = type.attributes()[i].is_parameter;
      const bool is_plain = !parameter && !type.attributes()[i].is_buffer;
      const TensorValue& tensor = value.to_tensor();
      ParameterRecord record;
      count_names(prefix.size() + name.size() + tensor.sizes.size() * sizeof(std::int64_t));
      record.name = prefix + part_of_name(name);
      record.kind = parameter ? ParameterKind::kParameter : ParameterKind::kBuffer;
      record.shape.assign(tensor.sizes.begin(), tensor.sizes.end());
      record.dtype = dtype_name(tensor.dtype);
      record.requires_grad = tensor.requires_grad;
      Constant stored = archive_->stored(tensor);
      record.record = std::move(stored.record);
      record.stride = std::move(stored.stride);
      record.storage_offset = stored.storage_offset;
      if (is_plain) {
        attributes_.emplace(tensor_identity(tensor), tensor_attributes_.size());
        tensor_attributes_.push_back(std::move(record));
        continue;
      }
      record.device = archive_->saved_device(tensor);
      record.content = archive_->content_key(tensor);
      const auto [first, fresh] =
          tensors_.emplace(tensor_identity(tensor) + (parameter ? "p" : "b"), parameters_.size());
      if (!fresh) record.alias_of = parameters_[first->second].name;
      modules_[id.index].parameters.push_back(parameters_.size());
      parameters_.push_back(std::move(record));
    } else if (value.is_object()) {
      if (!value.to_object().type->is_module()) {
        count_names(prefix.size() + name.size());
        if (paths_.emplace(&value.to_object(), prefix + part_of_name(name)).second)
          script_objects_.emplace_back(&value.to_object());
      }
    } else if (auto plain = counted_attribute(value)) {
      modules_[id.index].attributes.emplace_back(name, std::move(*plain));  // a class has each name once
    }
  }
  for (const auto& [name, constant] : type.constants()) {
    if (auto plain = counted_attribute(archive_->value_of(constant))) {
      modules_[id.index].attributes.emplace_back(name, std::move(*plain));  // a class has each name once
    }
  }
  for (std::size_t i = 0; i < type.attributes().size() && i < object->slots.size(); ++i) {
    const Value& value = object->slots[i];
    if (!value.is_object() || !value.to_object().type->is_module()) continue;
    const ModuleId child{static_cast<std::uint32_t>(modules_.size())};
    modules_[id.index].children.push_back(child);
    read_module(ModuleObject(&value.to_object()), prefix + part_of_name(type.attributes()[i].name), id);
  }
}

void TorchScriptProgram::read_states(const SetState& set_state, const MadeObjects& made) {
  for (const Ref<ObjectValue>& object : script_objects_) {
    if (const Value* state = archive_->find_state(object.get())) set_state(object, *state);
  }
  for (std::uint32_t i = 0; i < modules_.size(); ++i) {
    if (modules_[i].alias_of) continue;
    const Value* state = archive_->find_state(objects_[i].get());
    if (state == nullptr) continue;
    set_state(objects_[i], *state);
    const std::string& path = modules_[i].path;
    std::vector<std::pair<std::string, Argument>> values;
    for (std::size_t slot = 0; slot < objects_[i]->slots.size(); ++slot) {
      const std::string& name = class_of(*objects_[i]).attributes()[slot].name;
      const Value& value = objects_[i]->slots[slot];
      if (value.is_object() && !value.to_object().type->is_module()) {
        // An object from the state is an attribute like those that are set without code.
        count_names(path.size() + name.size() + 1);
        paths_.emplace(&value.to_object(), (path.empty() ? "" : path + ".") + part_of_name(name));
      } else if (auto plain = counted_attribute(value)) {
        values.emplace_back(name, std::move(*plain));
      }
    }
    set_attributes(modules_[i], std::move(values));
  }
  made_ = made;
  add_packed(made_);
}

// Adds packed parameters, which are only known after the states were followed.
void TorchScriptProgram::add_packed(const MadeObjects& made) {
  const std::size_t plain = parameters_.size();
  for (std::uint32_t i = 0; i < modules_.size(); ++i) {
    if (modules_[i].alias_of) continue;
    const auto& attributes = class_of(*objects_[i]).attributes();
    for (std::size_t slot = 0; slot < attributes.size() && slot < objects_[i]->slots.size(); ++slot) {
      const std::vector<PackedTensor> tensors = packed_tensors(objects_[i]->slots[slot], made);
      if (tensors.empty()) continue;
      ParameterRecord record;
      const std::string& path = modules_[i].path;
      record.name = (path.empty() ? "" : path + ".") + part_of_name(attributes[slot].name);
      record.type = type_name(*torchscript::dynamic_type(objects_[i]->slots[slot]));
      std::string identity;
      std::vector<std::string> keys;
      for (const auto& [name, tensor] : tensors) {
        count_names(record.name.size() + name.size() + tensor->sizes.size() * sizeof(std::int64_t));
        record.stored.push_back(stored_part(name, *tensor));
        keys.push_back(archive_->content_key(*tensor));
        identity += tensor_identity(*tensor) + ";";
      }
      record.content = joined_content_keys(keys);
      record.shape = record.stored.front().shape;
      record.dtype = record.stored.front().dtype;
      record.device = archive_->saved_device(*tensors.front().tensor);
      const auto [first, is_new] = tensors_.emplace(identity + "o", parameters_.size());
      if (!is_new) record.alias_of = parameters_[first->second].name;
      modules_[i].parameters.push_back(parameters_.size());
      parameters_.push_back(std::move(record));
    }
  }
  if (parameters_.size() == plain) return;
  // Sorts the parameters into the order of registration.
  std::vector<std::size_t> places(parameters_.size());
  std::vector<ParameterRecord> sorted;
  for (ModuleInfo& module : modules_) {
    for (std::size_t& index : module.parameters) {
      places[index] = sorted.size();
      sorted.push_back(std::move(parameters_[index]));
      index = places[index];
    }
  }
  parameters_ = std::move(sorted);
  for (auto& [identity, index] : tensors_) index = places[index];
}

namespace {

PortInfo port(std::string name, const Type& type) {
  PortInfo info;
  info.name = std::move(name);
  info.meta.type = type_name(type);
  return info;
}

// Returns the results of a method; the items of a tuple are results of their own.
std::vector<PortInfo> results(const FunctionSchema& schema) {
  std::vector<PortInfo> found;
  for (const TypePtr& result : schema.results) {
    const auto* tuple = result->as<TupleType>();
    if (tuple == nullptr || tuple->items().empty()) {
      found.push_back(port("", *result));
      continue;
    }
    for (std::size_t i = 0; i < tuple->items().size(); ++i) {
      found.push_back(port(tuple->is_named() ? tuple->fields()[i] : std::to_string(i), *tuple->items()[i]));
    }
  }
  return found;
}

}  // namespace

std::vector<MethodInfo> TorchScriptProgram::methods(ModuleId module) const {
  std::vector<MethodInfo> found;
  for (const auto* function : class_of(*objects_[module.index]).methods()) {
    if (function->name().starts_with("__")) continue;  // LibTorch calls these: __getstate__
    const auto& schema = function->schema();
    MethodInfo method{std::string(function->name()), {}, results(schema)};
    for (std::size_t i = 1; i < schema.arguments.size(); ++i) {
      const auto& argument = schema.arguments[i];
      PortInfo input = port(argument.name, *argument.type);
      if (argument.default_value)
        input.default_value = plain_attribute(archive_->value_of(*argument.default_value));
      method.inputs.push_back(std::move(input));
    }
    found.push_back(std::move(method));
  }
  return found;
}

std::vector<ConstantInfo> TorchScriptProgram::constants() const {
  std::vector<ConstantInfo> found;
  for (std::size_t i = 0; i < archive_->constants().size(); ++i) {
    const Value& value = archive_->constants()[i];
    ConstantInfo constant;
    constant.name = "CONSTANTS.c" + std::to_string(i);
    if (value.is_tensor()) {
      constant.shape.assign(value.to_tensor().sizes.begin(), value.to_tensor().sizes.end());
      constant.dtype = dtype_name(value.to_tensor().dtype);
    } else {
      constant.type = type_name(*torchscript::dynamic_type(value));
      for (const auto& [name, tensor] : packed_tensors(value, {}))
        constant.stored.push_back(stored_part(name, *tensor));
    }
    found.push_back(std::move(constant));
  }
  return found;
}

std::string TorchScriptProgram::method_to_trace(const std::string& asked) const {
  if (has_method(asked)) return asked;
  const auto& type = class_of(*objects_.front());
  std::vector<std::string> methods;
  for (const auto* function : type.methods()) {
    if (!function->name().starts_with("__")) methods.emplace_back(function->name());
  }
  if (asked == "forward" && methods.size() == 1) return methods.front();
  throw usage_error(
      "the root module has no method '" + asked + "'",
      {methods.empty() ? "it has no methods at all"
                       : "--method NAME traces one of its methods: " + joined(methods, shell_word)});
}

bool TorchScriptProgram::has_method(const std::string& name) const {
  const auto& type = class_of(*objects_.front());
  return type.find_method(name) != nullptr || (name == "forward" && find_forward(type) != nullptr);
}

std::vector<InputGuess> TorchScriptProgram::guess_inputs(const std::string& method) const {
  const Ref<ObjectValue>& root = objects_.front();
  const ClassType& type = class_of(*root);
  const std::string name = method_to_trace(method);
  Function& function = name == "forward" ? *find_forward(type) : *type.get_method(name);
  return interpreter::guess_inputs(*archive_, root, function);
}

std::optional<ModuleId> TorchScriptProgram::find_module(const ObjectValue* object) const {
  const auto it = module_ids_.find(object);
  return it == module_ids_.end() ? std::nullopt : std::optional<ModuleId>(it->second);
}

const std::string* TorchScriptProgram::find_path(const ObjectValue* object) const {
  if (const auto module = find_module(object)) return &modules_[module->index].path;
  const auto it = paths_.find(object);
  return it == paths_.end() ? nullptr : &it->second;
}

const Value* TorchScriptProgram::find_attribute(const std::string& name) const {
  const std::size_t dot = name.rfind('.');
  const std::string path = dot == std::string::npos ? "" : name.substr(0, dot);
  const std::string attribute = dot == std::string::npos ? name : name.substr(dot + 1);
  for (std::size_t i = 0; i < modules_.size(); ++i) {
    if (modules_[i].path != path && name_in_file(modules_[i]) != path) continue;
    const auto slot = class_of(*objects_[i]).find_slot(attribute);
    if (slot && *slot < objects_[i]->slots.size()) return &objects_[i]->slots[*slot];
  }
  return nullptr;
}

std::optional<Constant> TorchScriptProgram::find_tensor(const std::string& name) const {
  const Value* value = find_attribute(name);
  if (value == nullptr || !value->is_tensor()) return std::nullopt;
  return archive_->constant(value->to_tensor());
}

std::optional<PackedParameters> TorchScriptProgram::find_packed(const std::string& name) const {
  constexpr std::string_view kConstant = "CONSTANTS.c";
  const Value* value = nullptr;
  if (name.starts_with(kConstant)) {
    const auto number = number_in<std::size_t>(std::string_view(name).substr(kConstant.size()));
    if (number && *number < archive_->constants().size()) value = &archive_->constants()[*number];
  } else {
    value = find_attribute(name);
  }
  if (value == nullptr) return std::nullopt;
  const auto constant = [&](const TensorValue& tensor) {
    return tensor.storage ? archive_->stored_bytes(tensor) : archive_->constant(tensor);
  };
  PackedParameters result;
  const auto add = [&](std::string part, const TensorValue& tensor) {
    result.tensors.push_back({std::move(part), constant(tensor), quantization_of(tensor, constant)});
  };
  if (value->is_tensor() && is_quantized(value->to_tensor().dtype)) {
    add("", value->to_tensor());
    return result;
  }
  const TypePtr type = torchscript::dynamic_type(*value);
  if (type == nullptr || !is_script_object(*type)) return std::nullopt;
  result.type = type_name(*type);
  for (const auto& [part, tensor] : packed_tensors(*value, made_)) add(part, *tensor);
  result.convolution = packed_convolution(*value, made_);
  return result;
}

const ParameterRecord* TorchScriptProgram::find_parameter(const TensorValue& tensor) const {
  for (const char* kind : {"p", "b"}) {
    const auto it = tensors_.find(tensor_identity(tensor) + kind);
    if (it != tensors_.end()) return &parameters_[it->second];
  }
  return nullptr;
}

const std::string& TorchScriptProgram::first_name(const TensorValue& tensor, const std::string& own) const {
  const ParameterRecord* first = find_parameter(tensor);
  if (const auto it = attributes_.find(tensor_identity(tensor)); first == nullptr && it != attributes_.end())
    first = &tensor_attributes_[it->second];
  return first != nullptr && first->requires_grad == tensor.requires_grad ? first->name : own;  // NOLINT
}

namespace {

// Returns the node that gets the list or dict that the operator changes in place from an attribute; null when
// it does not come from one.
const IrNode* find_changed_attribute(const IrNode& node, std::size_t input) {
  const IrNode* made = node.input(input)->node();
  while (made->kind() != Symbol::kPrimGetAttr) {
    const auto* schema = made->operator_schema();  // a list in a list: xs[i]
    if (schema == nullptr || schema->name != "aten::__getitem__") return nullptr;
    made = made->input(0)->node();
  }
  return made;
}

// Returns whether the node sets an attribute to the tensor that it has, as `self.n += 1` does after it has
// written in place.
bool is_set_to_itself(const IrNode& access) {
  if (access.kind() != Symbol::kPrimSetAttr) return false;
  const IrNode* made = access.input(1)->node();
  const auto* op = made->operator_schema();
  if (op == nullptr || !op->is_written(0) || access.input(1)->type()->kind() != TypeKind::kTensor)
    return false;
  const IrNode* read = made->input(0)->node();
  return read->kind() == Symbol::kPrimGetAttr && read->text() == access.text() &&
         read->input(0) == access.input(0);
}

}  // namespace

// Adds the names of the methods that the code calls.
void TorchScriptProgram::add_called(const Function& function, std::unordered_set<std::string>& names) const {
  const std::function<void(const IrBlock&)> look = [&](const IrBlock& block) {
    for (const auto* node : block.nodes()) {
      if (node->is(Symbol::kPrimCallMethod)) names.insert(node->text());
      for (const auto* inner : node->blocks()) look(*inner);
    }
  };
  if (const IrGraph* graph = archive_->find_graph(function)) look(*graph->block());
}

// Finds the attributes that any method of the class sets or changes in place, by the class that has them.
// __setstate__, and methods that it alone calls, run while the file is loaded: the values that they set are
// those of the file.
void TorchScriptProgram::find_set_attributes(const ClassType& type,
                                             const std::unordered_set<std::string>& called) const {
  if (!searched_types_.insert(&type).second) return;
  const auto add = [&](const IrNode& access) {
    const auto* holder = access.input(0)->type()->as<ClassType>();
    if (holder == nullptr) return;
    set_attributes_[holder][access.text()].insert(&type);
    if (!is_set_to_itself(access)) with_state_.insert(holder);
  };
  const std::function<void(const IrBlock&)> look = [&](const IrBlock& block) {
    for (const auto* node : block.nodes()) {
      if (node->kind() == Symbol::kPrimSetAttr) add(*node);
      const auto* op = node->operator_schema();
      for (std::size_t i = 0; op != nullptr && i < op->arguments.size() && i < node->inputs().size(); ++i) {
        const TypeKind kind = node->input(i)->type()->kind();
        const bool is_container = kind == TypeKind::kList || kind == TypeKind::kDict;
        if (!op->arguments[i].is_written || !is_container) continue;
        if (const IrNode* changed = find_changed_attribute(*node, i)) add(*changed);
      }
      for (const auto* inner : node->blocks()) look(*inner);
    }
  };
  const auto look_into = [&](Function& function) {
    if (const IrGraph* graph = archive_->find_graph(function)) look(*graph->block());
  };
  std::unordered_set<std::string> loading;
  if (const Function* load = type.find_method(kSetState)) add_called(*load, loading);
  for (auto* method : type.methods()) {
    const std::string name(method->name());
    if (name != kSetState && (!loading.contains(name) || called.contains(name))) look_into(*method);
  }
  for (const auto& [name, hook] : type.forward_pre_hooks()) look_into(*hook);
  for (const auto& [name, hook] : type.forward_hooks()) look_into(*hook);
}

void TorchScriptProgram::search_code() const {
  if (!searched_types_.empty()) return;
  std::unordered_set<const ClassType*> classes;
  std::vector<const ClassType*> in_order;
  std::unordered_set<const ObjectValue*> seen;
  std::vector<ModuleObject> pending{archive_->module()};
  while (!pending.empty()) {
    const ModuleObject object = std::move(pending.back());
    pending.pop_back();
    if (!seen.insert(object.get()).second) continue;
    if (classes.insert(&class_of(*object)).second) in_order.push_back(&class_of(*object));
    for (const Value& value : object->slots) {
      if (value.is_object() && value.to_object().type->is_module()) pending.emplace_back(&value.to_object());
    }
  }
  std::unordered_set<std::string> called;
  for (const ClassType* type : in_order) {
    for (auto* method : type->methods())
      if (method->name() != kSetState) add_called(*method, called);
    for (const auto& [name, hook] : type->forward_pre_hooks()) add_called(*hook, called);
    for (const auto& [name, hook] : type->forward_hooks()) add_called(*hook, called);
  }
  for (const ClassType* type : in_order) find_set_attributes(*type, called);
}

bool TorchScriptProgram::is_set_by_code(const ClassType& type, const std::string& attribute) const {
  search_code();
  const auto it = set_attributes_.find(&type);
  return it != set_attributes_.end() && it->second.contains(attribute);
}

bool TorchScriptProgram::keeps_state(const ClassType& type) const {
  search_code();
  if (with_state_.contains(&type)) return true;
  Function* forward = find_forward(type);  // may hand a list of its own to what changes it
  return forward != nullptr && container_use(*archive_, *forward, {true}).keeps;
}

bool TorchScriptProgram::is_set_inside(ModuleId module, const ClassType& type,
                                       const std::string& attribute) const {
  if (!is_set_by_code(type, attribute)) return false;
  const auto& setters = set_attributes_.at(&type).at(attribute);
  const std::string& path = modules_[module.index].path;
  for (std::size_t i = module.index; i < modules_.size(); ++i) {
    if (i != module.index && !QualifiedName(modules_[i].path).is_below(path)) break;  // they are in pre-order
    if (setters.contains(&class_of(*objects_[i]))) return true;
  }
  return false;
}

const TorchScriptProgram::Content& TorchScriptProgram::content() const {
  if (content_) return *content_;
  Content content;
  std::vector<Value> pending;
  const auto look = [&](const Value& value) {
    if (value.is_list() || value.is_dict() || value.is_object()) {
      if (content.reachable.insert(value.identity()).second) pending.push_back(value);
    } else if (value.is_tuple()) {
      pending.push_back(value);
    } else if (value.is_tensor() && value.to_tensor().storage) {
      ++content.memory[value.to_tensor().storage->record];
    }
  };
  for (const Ref<ObjectValue>& object : objects_) look(Value(object));
  while (!pending.empty()) {
    const Value value = std::move(pending.back());
    pending.pop_back();
    if (value.is_list() || value.is_tuple()) {
      std::ranges::for_each(value.items(), look);
    } else if (value.is_dict()) {
      for (const auto& entry : value.to_dict().entries()) look(entry.value);
    } else {
      const ObjectValue& object = value.to_object();
      for (std::size_t slot = 0; slot < object.slots.size(); ++slot) {
        const Value& held = object.slots[slot];
        if (held.is_list() || held.is_dict()) content.holders[held.identity()].emplace_back(&object, slot);
        if (held.is_tensor()) content.tensors.emplace(std::pair(&object, slot), &held.to_tensor());
        look(held);
      }
    }
  }
  return content_.emplace(std::move(content));
}

const TensorValue* TorchScriptProgram::own_tensor(const ObjectValue& object, std::size_t slot) const {
  const auto found = content().tensors.find({&object, slot});
  return found == content().tensors.end() ? nullptr : found->second.get();
}

std::optional<std::pair<const ObjectValue*, std::size_t>> TorchScriptProgram::find_holder(
    const void* container) const {
  const auto found = content().holders.find(container);
  if (found == content().holders.end() || found->second.size() != 1) return std::nullopt;
  return find_module(found->second[0].first) ? std::optional(found->second[0]) : std::nullopt;
}

bool TorchScriptProgram::shares_memory(const TensorValue& tensor) const {
  const auto found = tensor.storage ? content().memory.find(tensor.storage->record) : content().memory.end();
  return found != content().memory.end() && found->second > 1;
}

// Returns the position of `self.a = b`, which the archive does not have: that of b, which mostly is on the
// same line, or else one nearby.
std::optional<SourceLocation> TorchScriptProgram::near(const IrNode& node,
                                                       const std::string& function) const {
  std::optional<SourceLocation> found = *location(node.input(1)->node(), function);
  const IrNode* end = node.owning_block()->return_node();
  for (const IrNode* at = node.previous(); !found && at != end; at = at->previous())
    found = archive_->debug_records().find_location(at->source_range());
  for (const IrNode* at = node.next(); !found && at != end; at = at->next())
    found = archive_->debug_records().find_location(at->source_range());
  return found;
}

Shared<std::optional<SourceLocation>> TorchScriptProgram::location(const IrNode* node,
                                                                   const std::string& function) const {
  const auto known = locations_.find(node);
  if (known != locations_.end()) return known->second;
  auto found = archive_->debug_records().find_location(node->source_range());
  if (!found && node->kind() == Symbol::kPrimSetAttr) found = near(*node, function);
  if (found && found->function.empty()) found->function = function;
  // Successive nodes often have the same location, which they share.
  if (*last_location_ != found) last_location_ = std::move(found);
  return locations_.emplace(node, last_location_).first->second;
}

std::optional<SourceLocation> TorchScriptProgram::location(const torchscript::SourcePlace& place,
                                                           const std::string& function) const {
  auto found = archive_->debug_records().find_location(place);
  if (found && found->function.empty()) found->function = function;
  return found;
}

std::vector<StackFrame> TorchScriptProgram::stack(const IrNode* node) const {
  return archive_->debug_records().stack(node->source_range());
}

bool TorchScriptProgram::may_write(ModuleId module, const std::string& method) const {
  const ClassType& type = class_of(*object(module));
  Function* function = method.empty() ? find_forward(type) : type.find_method(method);
  return function == nullptr || may_write_tensors(*archive_, object(module), *function);
}

std::vector<ModuleCall> TorchScriptProgram::find_calls(const std::vector<ModuleId>& modules,
                                                       const std::string& method) const {
  return find_module_calls(*this, modules, method);
}

}  // namespace fxtrace::internal::interpreter
