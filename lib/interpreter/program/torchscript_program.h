// A loaded TorchScript archive as a Program: the module tree, parameters, methods, and facts about the code.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "interpreter/program/packed_tensors.h"
#include "interpreter/program/same_modules.h"
#include "interpreter/program/symbolic_value.h"
#include "interpreter/program/torchscript_archive.h"
#include "trace/options/options.h"
#include "trace/tracer/program.h"

namespace fxtrace::internal::interpreter {

class TorchScriptProgram : public internal::Program {
 public:
  explicit TorchScriptProgram(std::unique_ptr<TorchScriptArchive> archive);
  // Gives objects and modules the attributes that their __setstate__ sets.  `set_state` follows it for one
  // object, and adds to `made` the objects that operators make of the states.
  using SetState = std::function<void(const Ref<ObjectValue>& object, const Value& state)>;
  void read_states(const SetState& set_state, const MadeObjects& made);

  const std::vector<ModuleInfo>& modules() const override { return modules_; }
  const std::vector<ParameterRecord>& parameters() const override { return parameters_; }
  std::vector<ParameterRecord> tensor_attributes() const override { return tensor_attributes_; }
  std::string kind() const override { return "torchscript"; }
  std::string producer_version() const override;
  std::string producer() const override { return {}; }  // not in the archive
  std::vector<ConstantInfo> constants() const override;
  std::uint64_t file_size() const { return archive_->file_size(); }
  std::string method_to_trace(const std::string& asked) const override;
  bool has_method(const std::string& name) const override;
  std::vector<InputGuess> guess_inputs(const std::string& method) const override;
  bool may_write(ModuleId module, const std::string& method) const override;
  std::string schema_of_calls(const std::string& op) const override { return archive_->schema_of_calls(op); }
  std::vector<ModuleCall> find_calls(const std::vector<ModuleId>& modules,
                                     const std::string& method) const override;
  std::optional<Constant> find_tensor(const std::string& name) const override;
  std::optional<PackedParameters> find_packed(const std::string& name) const override;
  RecordBytes record_bytes(const std::string& record) const override {
    return archive_->record_bytes(record);
  }

  // --- for the interpreter ---
  // Returns the callable methods of the module, in the order of definition.
  std::vector<MethodInfo> methods(ModuleId module) const;
  // Returns the module under its first path; absent for objects that are not modules of the tree.
  std::optional<ModuleId> find_module(const ObjectValue* object) const;
  const Ref<ObjectValue>& object(ModuleId module) const { return objects_[module.index]; }
  // Returns the qualified name of a module, or of a script object held by a module's attribute; null when it
  // has none.
  const std::string* find_path(const ObjectValue* object) const;
  // Returns the parameter or buffer that the tensor is, under its first name; null for other tensors.
  const ParameterRecord* find_parameter(const TensorValue& tensor) const;
  // Returns the name under which a graph reads the tensor in a plain attribute: that of a parameter, a buffer
  // or an earlier attribute that is the same tensor, else its own.
  const std::string& first_name(const TensorValue& tensor, const std::string& own) const;
  // Returns whether any code of the archive sets this attribute.
  bool is_set_by_code(const ClassType& type, const std::string& attribute) const;
  // Returns whether the code of that module, or of one inside of it, sets this attribute.
  bool is_set_inside(ModuleId module, const ClassType& type, const std::string& attribute) const;
  // Returns whether the list, dict or object can be reached from a module.  To be asked before it is changed.
  bool holds(const void* identity) const { return content().reachable.contains(identity); }
  // Returns the tensor that the attribute has in the file; null when it has none.
  const TensorValue* own_tensor(const ObjectValue& object, std::size_t slot) const;
  // Returns the attribute of a module whose value is this list or dict; nothing when there are none or
  // several.
  std::optional<std::pair<const ObjectValue*, std::size_t>> find_holder(const void* container) const;
  // Returns whether several attributes have tensors in the memory of this one.
  bool shares_memory(const TensorValue& tensor) const;
  // Returns the node's position in the Python source.  `function` names the method or function that contains
  // it.
  Shared<std::optional<SourceLocation>> location(const IrNode* node, const std::string& function) const;
  std::optional<SourceLocation> location(const torchscript::SourcePlace& place,
                                         const std::string& function) const;
  // Returns Python's stack when torch.jit.trace recorded the node, innermost first; empty for other code.
  std::vector<StackFrame> stack(const IrNode* node) const;
  const TorchScriptArchive& archive() const { return *archive_; }
  NumberMeanings& meanings() const { return meanings_; }
  // Returns whether the method does what a call of its module does: it is forward, or has the same code.
  bool does_as_forward(const ClassType& type, Function& method) const;

 private:
  void read_modules();
  void count_names(std::size_t bytes);
  std::optional<Argument> counted_attribute(const Value& value);
  void read_module(const ModuleObject& named, const std::string& path, std::optional<ModuleId> parent);
  void add_packed(const MadeObjects& made);
  const Value* find_attribute(const std::string& name) const;  // null when there is none
  void add_called(const Function& function, std::unordered_set<std::string>& names) const;
  // Returns whether the code gives attributes of the class other values, or changes lists and dicts in them.
  bool keeps_state(const ClassType& type) const;
  void search_code() const;  // fills the sets below, of the classes of all modules
  void find_set_attributes(const ClassType& type, const std::unordered_set<std::string>& called) const;
  std::optional<SourceLocation> near(const IrNode& node, const std::string& function) const;
  // The values of the modules in the file.
  struct Content {
    std::unordered_set<const void*> reachable;  // lists, dicts and objects
    std::map<std::pair<const ObjectValue*, std::size_t>, TensorRef> tensors;
    std::unordered_map<std::string, std::size_t> memory;  // storage -> the number of values in it
    std::unordered_map<const void*, std::vector<std::pair<const ObjectValue*, std::size_t>>> holders;
  };
  const Content& content() const;

  std::unique_ptr<TorchScriptArchive> archive_;
  std::vector<ModuleInfo> modules_;
  std::vector<ParameterRecord> parameters_;
  std::vector<ParameterRecord> tensor_attributes_;
  std::vector<Ref<ObjectValue>> objects_;  // by module
  std::vector<const ObjectValue*> named_;  // by module: the object that the archive has under its first name
  SameModules same_modules_;
  std::unordered_map<const ObjectValue*, ModuleId> module_ids_;
  std::unordered_map<const ObjectValue*, std::string> paths_;
  std::vector<Ref<ObjectValue>> script_objects_;  // attributes of modules, each once
  MadeObjects made_;
  std::size_t name_bytes_ = 0;                               // of all these names, types, shapes and values
  std::unordered_map<std::string, std::size_t> tensors_;     // identity of a tensor -> first parameter
  std::unordered_map<std::string, std::size_t> attributes_;  // the same of tensor_attributes_

  // Facts about the code, computed on first use.
  // Classes that set an attribute, by the class that has it.
  using Setters = std::unordered_map<std::string, std::unordered_set<const ClassType*>>;
  mutable std::unordered_map<const ClassType*, Setters> set_attributes_;
  mutable std::unordered_set<const ClassType*> with_state_;  // an attribute of theirs gets another value
  mutable std::optional<Content> content_;
  mutable std::unordered_set<const ClassType*> searched_types_;
  mutable std::unordered_map<const IrNode*, Shared<std::optional<SourceLocation>>> locations_;
  mutable Shared<std::optional<SourceLocation>> last_location_;
  mutable NumberMeanings meanings_;
  mutable std::unordered_map<const Function*, bool> same_as_forward_;
};

// Returns the method that a call of the module runs: "forward", or its first overload ("forward__0"), as for
// torch.nn.LSTM.  Null when it has none.
Function* find_forward(const ClassType& type);
bool is_forward(const std::string& method);
// Returns whether the method is one of those that torch.jit.trace makes for the second and later calls of a
// module: "forward1", "forward2" and so on.
bool is_traced_call(const ClassType& type, const std::string& method);

}  // namespace fxtrace::internal::interpreter
