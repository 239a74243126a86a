#include "interpreter/program/same_modules.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <unordered_map>
#include <vector>

#include "interpreter/program/convert.h"
#include "interpreter/program/symbolic_value.h"
#include "interpreter/program/torchscript_program.h"
#include "support/text/qualified_name.h"

namespace fxtrace::internal::interpreter {
namespace {

constexpr std::size_t kMaxPlain = 4096;  // the most values of one attribute that are compared

class Finder {
 public:
  Finder(const std::function<bool(const ObjectValue*)>& has_state,
         const std::function<bool(const ClassType&)>& keeps_state)
      : has_state_(has_state), keeps_state_(keeps_state) {}

  // The content of a module, numbered: equal modules have the same number.
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
      if (value.is_object() && value.to_object().type->is_module()) {
        const ModuleObject module(&value.to_object());
        same_.holders.try_emplace(module.get(), object.get(), i);
        const Content inner = look_at(module);
        content.has_tensors = content.has_tensors || inner.has_tensors;
        content.can_be_same = content.can_be_same && inner.can_be_same;
        text += "module " + std::to_string(inner.number);
      } else {
        const bool is_tensor = value.is_tensor() && value.to_tensor().numel() != 0;
        content.has_tensors = content.has_tensors || is_tensor;
        add_value(text, value);
      }
    }
    content.number = numbers_.emplace(std::move(text), numbers_.size()).first->second;
    contents_.emplace(object.get(), content);
    return content;
  }

  SameModules same() {
    std::map<std::size_t, std::vector<ModuleObject>> groups;
    for (const ModuleObject& object : order_) {
      const Content& content = contents_.at(object.get());
      if (content.has_tensors && content.can_be_same) groups[content.number].push_back(object);
    }
    for (const auto& [number, objects] : groups) {
      if (objects.size() > 1 && std::ranges::none_of(objects, [&](const ModuleObject& object) {
            return may_differ_later(*object);
          })) {
        add_group(objects);
      }
    }
    for (const ModuleObject& object : order_) add_children(*object, *same_.first_of(object));
    return std::move(same_);
  }

 private:
  bool may_differ_later(const ObjectValue& object) {
    const auto [known, is_new] = differ_later_.try_emplace(&object, false);
    if (!is_new) return known->second;
    bool differs = keeps_state_(class_of(object));
    for (std::size_t i = 0; i < object.slots.size() && !differs; ++i) {
      const Value& value = object.slots[i];
      differs =
          value.is_object() && value.to_object().type->is_module() && may_differ_later(value.to_object());
    }
    return differ_later_[&object] = differs;
  }

  static void add_value(std::string& text, const Value& value) {
    const Extent extent = extent_of(value);
    const bool is_small = extent.size <= kMaxPlain;
    if (value.is_tensor() && value.to_tensor().numel() == 0) {
      text += dtype_name(value.to_tensor().dtype);  // an empty tensor has no storage to share
    } else if (value.is_tensor()) {
      text += tensor_identity(value.to_tensor());
    } else if (extent.is_plain && is_small) {
      text += python_text(value);
    } else if ((value.is_list() || value.is_tuple()) && is_small) {  // nn.LSTM has a list of its parameters
      text += '[';
      for (const Value& item : value.items()) {
        add_value(text, item);
        text += ',';
      }
      text += ']';
    } else if (value.identity() != nullptr) {
      std::ostringstream address;
      address << value.identity();
      text += address.str();
    }
  }

  // Chooses the object that stands for all in a group of equal ones.  Only objects of one class have the same
  // code: that of another class was made for other constants, or traced for other arguments.
  void add_group(const std::vector<ModuleObject>& objects) {
    const auto has_code = [](const ModuleObject& object) {
      return find_forward(class_of(*object)) != nullptr;
    };
    std::vector<std::size_t> with_code;  // the first of each class
    for (std::size_t i = 0; i < objects.size(); ++i) {
      const auto same_class = [&](std::size_t other) { return objects[other]->type == objects[i]->type; };
      if (has_code(objects[i]) && std::ranges::none_of(with_code, same_class)) with_code.push_back(i);
    }
    // torch.jit.trace visits each child of a module once, and keeps its last name.
    const auto gives_code_to = [&](std::size_t name, std::size_t other) {
      const bool is_beside =
          same_.holders.at(objects[name].get()).object == same_.holders.at(objects[other].get()).object;
      return is_beside == (other < name);
    };
    for (std::size_t i = 0; i < objects.size(); ++i) {
      std::vector<std::size_t> firsts;
      for (const std::size_t one : with_code) {
        if (has_code(objects[i]) ? objects[one]->type == objects[i]->type : gives_code_to(i, one))
          firsts.push_back(one);
      }
      if (with_code.empty()) firsts.push_back(0);
      if (firsts.size() == 1) same_.first.emplace(objects[i].get(), objects[firsts.front()]);
    }
  }

  // Adds the children of equal modules as equal.  Children with tensors have been found by their own content.
  void add_children(const ObjectValue& object, const ObjectValue& first) {
    if (&object == &first) return;
    const ClassType& type = class_of(object);
    for (std::size_t i = 0; i < type.attributes().size() && i < object.slots.size(); ++i) {
      if (!object.slots[i].is_object()) continue;
      const ObjectValue& child = object.slots[i].to_object();
      const auto slot = class_of(first).find_slot(type.attributes()[i].name);
      if (!child.type->is_module() || !slot || !first.slots.at(*slot).is_object()) continue;
      const ModuleObject twin(&first.slots[*slot].to_object());
      if (contents_.at(&child).has_tensors || &child == twin.get()) continue;
      const ModuleObject& first_twin = same_.first_of(twin);
      if (same_.first.emplace(&child, first_twin).second) add_children(child, *first_twin);
    }
  }

  const std::function<bool(const ObjectValue*)>& has_state_;
  const std::function<bool(const ClassType&)>& keeps_state_;
  std::vector<ModuleObject> order_;
  std::unordered_map<const ObjectValue*, bool> differ_later_;
  std::unordered_map<const ObjectValue*, Content> contents_;
  std::unordered_map<std::string, std::size_t> numbers_;
  SameModules same_;
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

const ModuleObject& SameModules::first_of(const ModuleObject& object) const {
  const auto found = first.find(object.get());
  return found != first.end() ? found->second : object;
}

std::string SameModules::name_of(const ObjectValue* object) const {
  std::string name;
  for (auto at = holders.find(object); at != holders.end(); at = holders.find(at->second.object)) {
    const std::string part = part_of_name(class_of(*at->second.object).attributes()[at->second.slot].name);
    name.insert(0, name.empty() ? part : part + ".");
  }
  return name;
}

SameModules find_same_modules(const ModuleObject& root,
                              const std::function<bool(const ObjectValue*)>& has_state,
                              const std::function<bool(const ClassType&)>& keeps_state) {
  Finder finder(has_state, keeps_state);
  finder.look_at(root);
  return finder.same();
}

namespace {

bool same_constant(const IrNode& first, const IrNode& second) {
  const torchscript::ScriptConstant* a = first.constant();
  const torchscript::ScriptConstant* b = second.constant();
  return a != nullptr && b != nullptr && *a == *b;
}

class Comparison {
 public:
  explicit Comparison(const TorchScriptArchive& archive) : archive_(archive) {}

  bool functions(Function& first, Function& second) {
    if (&first == &second || !begun_.insert({&first, &second}).second) return true;
    if (!first.has_code() || !second.has_code()) return false;
    const IrGraph* a = archive_.find_graph(first);
    const IrGraph* b = archive_.find_graph(second);
    return a != nullptr && b != nullptr && blocks(*a->block(), *b->block());
  }

 private:
  bool blocks(const IrBlock& first, const IrBlock& second) {
    if (!pair(first.inputs(), second.inputs())) return false;
    auto a = first.nodes().begin();
    auto b = second.nodes().begin();
    for (; a != first.nodes().end() && b != second.nodes().end(); ++a, ++b) {
      if (!nodes(**a, **b)) return false;
    }
    return a == first.nodes().end() && b == second.nodes().end() &&
           same_values(first.outputs(), second.outputs());
  }

  bool nodes(const IrNode& first, const IrNode& second) {
    if (first.kind() != second.kind() || !same_values(first.inputs(), second.inputs()) ||
        first.blocks().size() != second.blocks().size() || !pair(first.outputs(), second.outputs())) {
      return false;
    }
    if (first.kind() == Symbol::kPrimConstant) return constants(first, second);
    if (first.kind() == Symbol::kPrimCallMethod) return methods(first, second);
    const bool same = std::ranges::equal(first.attributes(), second.attributes(),
                                         [](const torchscript::IrAttribute& a,
                                            const torchscript::IrAttribute& b) { return attributes(a, b); });
    if (!same) return false;
    for (std::size_t i = 0; i < first.blocks().size(); ++i) {
      if (!blocks(*first.blocks()[i], *second.blocks()[i])) return false;
    }
    return true;
  }

  bool constants(const IrNode& first, const IrNode& second) {
    const auto a = first.output()->type()->as<FunctionType>();
    const auto b = second.output()->type()->as<FunctionType>();
    if (a && b) return functions(*a->function(), *b->function());
    return same_constant(first, second);
  }

  bool methods(const IrNode& first, const IrNode& second) {
    const auto type = first.input(0)->type()->as<ClassType>();
    if (!type) return first.text() == second.text();
    Function* a = type->find_method(first.text());
    Function* b = type->find_method(second.text());
    return a != nullptr && b != nullptr && functions(*a, *b);
  }

  static bool attributes(const torchscript::IrAttribute& first, const torchscript::IrAttribute& second) {
    if (first.name != second.name || first.value.index() != second.value.index()) return false;
    if (const auto* types = std::get_if<std::vector<TypePtr>>(&first.value)) {
      return std::ranges::equal(*types, std::get<std::vector<TypePtr>>(second.value),
                                [](const TypePtr& a, const TypePtr& b) { return *a == *b; });
    }
    if (const auto* number = std::get_if<std::int64_t>(&first.value))
      return *number == std::get<std::int64_t>(second.value);
    if (const auto* text = std::get_if<std::string>(&first.value))
      return *text == std::get<std::string>(second.value);
    return false;
  }

  template <class Values>
  bool pair(const Values& first, const Values& second) {
    if (first.size() != second.size()) return false;
    for (std::size_t i = 0; i < first.size(); ++i) {
      if (!(*first[i]->type() == *second[i]->type())) return false;
      partner_[first[i]] = second[i];
    }
    return true;
  }

  template <class Values>
  bool same_values(const Values& first, const Values& second) const {
    return std::ranges::equal(first, second, [&](const IrValue* a, const IrValue* b) {
      const auto it = partner_.find(a);
      return it != partner_.end() && it->second == b;
    });
  }

  std::unordered_map<const IrValue*, const IrValue*> partner_;
  std::set<std::pair<Function*, Function*>> begun_;
  const TorchScriptArchive& archive_;
};

}  // namespace

bool have_same_code(const TorchScriptArchive& archive, Function& first, Function& second) {
  return Comparison(archive).functions(first, second);
}

}  // namespace fxtrace::internal::interpreter
