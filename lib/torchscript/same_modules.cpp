#include "torchscript/same_modules.h"

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <vector>

#include "torchscript/convert.h"
#include "torchscript/root_inputs.h"
#include "torchscript/symbolic_value.h"
#include "torchscript/torchscript_program.h"

namespace fxtrace::torchscript {
namespace {

constexpr std::size_t kMaxPlain = 4096;  // values of one attribute that are compared

class Finder {
 public:
  explicit Finder(const std::function<bool(const ObjectValue*)>& has_state) : has_state_(has_state) {}

  // What the module is, as a number; equal modules have the same.
  struct Content {
    std::size_t number = 0;
    bool has_tensors = false;
    bool can_be_same = true;
  };

  Content look_at(const ModuleObject& object) {
    const auto known = contents_.find(object.get());
    if (known != contents_.end()) return known->second;
    order_.push_back(object);
    const ClassType& type = class_of(*object);
    Content content;
    content.can_be_same = !has_state_(object.get());
    std::string text = demangle(type.name());
    for (std::size_t i = 0; i < type.attributes().size() && i < object->slots.size(); ++i) {
      const Value& value = object->slots[i];
      text.append("\n").append(type.attributes()[i].name) += '=';
      if (value.is_tensor()) {
        content.has_tensors = true;
        text += tensor_identity(value.to_tensor());
      } else if (value.is_object() && value.to_object().type->is_module()) {
        const Content inner = look_at(ModuleObject(&value.to_object()));
        content.has_tensors = content.has_tensors || inner.has_tensors;
        content.can_be_same = content.can_be_same && inner.can_be_same;
        text += "module " + std::to_string(inner.number);
      } else if (const Extent extent = extent_of(value); extent.is_plain && extent.size <= kMaxPlain) {
        text += python_text(value);
      } else if (value.identity() != nullptr) {
        std::ostringstream address;
        address << value.identity();
        text += address.str();
      }
    }
    content.number = numbers_.emplace(std::move(text), numbers_.size()).first->second;
    contents_.emplace(object.get(), content);
    return content;
  }

  std::unordered_map<const ObjectValue*, ModuleObject> same() const {
    std::map<std::size_t, std::vector<ModuleObject>> groups;
    for (const ModuleObject& object : order_) {
      const Content& content = contents_.at(object.get());
      if (content.has_tensors && content.can_be_same) groups[content.number].push_back(object);
    }
    std::unordered_map<const ObjectValue*, ModuleObject> result;
    for (const auto& [number, objects] : groups) {
      if (objects.size() < 2) continue;
      const auto has_code = [](const ModuleObject& object) {
        return find_forward(class_of(*object)) != nullptr;
      };
      const auto first = std::ranges::find_if(objects, has_code);
      const ModuleObject& stands_for_all = first != objects.end() ? *first : objects.front();
      for (const ModuleObject& object : objects) {
        // Code of another class was traced for other arguments.
        if (has_code(object) && object->type != stands_for_all->type) continue;
        result.emplace(object.get(), stands_for_all);
      }
    }
    return result;
  }

 private:
  const std::function<bool(const ObjectValue*)>& has_state_;
  std::vector<ModuleObject> order_;
  std::unordered_map<const ObjectValue*, Content> contents_;
  std::unordered_map<std::string, std::size_t> numbers_;
};

}  // namespace

std::string tensor_identity(const TensorValue& tensor) {
  std::string text;
  if (!tensor.storage || tensor.numel() == 0 || tensor.storage->bytes == 0) {
    std::ostringstream address;
    address << static_cast<const void*>(&tensor);
    return address.str();
  }
  const auto add = [&](const std::vector<std::int64_t>& numbers) {
    text += '[';
    for (const std::int64_t number : numbers) text += std::to_string(number) + ",";
    text += ']';
  };
  text = tensor.storage->record + "+" + std::to_string(tensor.offset);
  add(tensor.sizes);
  text += dtype_name(tensor.dtype);
  add(tensor.strides);
  return text;
}

std::unordered_map<const ObjectValue*, ModuleObject> find_same_modules(
    const ModuleObject& root, const std::function<bool(const ObjectValue*)>& has_state) {
  Finder finder(has_state);
  finder.look_at(root);
  return finder.same();
}

}  // namespace fxtrace::torchscript
