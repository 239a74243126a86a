// A loaded TorchScript archive as the tracer sees it.
#pragma once

#include <ATen/core/ivalue.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "torchscript/archive.h"
#include "torchscript/declarations.h"
#include "torchscript/number_meanings.h"
#include "torchscript/shapes/known.h"
#include "trace/options.h"
#include "trace/program.h"

namespace torch::jit {
struct Node;
}

namespace fxtrace {

class TorchScriptProgram : public Program {
 public:
  TorchScriptProgram(std::unique_ptr<TorchScriptArchive> archive, std::unique_ptr<Declarations> declarations,
                     const TraceOptions& options);
  ~TorchScriptProgram() override;

  const std::vector<ModuleInfo>& modules() const override { return modules_; }
  const std::vector<ParameterRecord>& parameters() const override { return parameters_; }
  std::string kind() const override { return "torchscript"; }
  std::string producer_version() const override;
  std::string producer() const override { return {}; }  // no archive tells
  std::vector<MethodInfo> methods(ModuleId module) const override;
  std::vector<ConstantInfo> constants() const override;
  std::string method_to_trace(const std::string& asked) const override;
  std::vector<InputGuess> guess_inputs(const std::string& method) override;
  void run(ModuleId root, const std::string& method, bool root_is_leaf, GraphTracer& tracer) override;
  bool inputs_changed(ModuleId root) const override;
  void begin_trace() override;
  std::vector<std::string> warnings() const override;

  // --- for the interpreter ---
  // The module under its first path; absent for objects that are no modules of the tree.
  std::optional<ModuleId> find_module(const c10::ivalue::Object* object) const;
  const c10::intrusive_ptr<c10::ivalue::Object>& object(ModuleId module) const {
    return objects_[module.index];
  }
  // Qualified name of a module or of a script object that a module's attribute holds; null when it has none.
  const std::string* find_path(const c10::ivalue::Object* object) const;
  // The parameter or buffer that this tensor is, under its first name; null for others.
  const ParameterRecord* find_parameter(const at::Tensor& tensor) const;
  // Whether any code of the archive sets this attribute.
  bool is_set_by_code(const c10::ClassType& type, const std::string& attribute);
  // Where the node comes from in Python.  `function` names the method or function that holds it.
  std::optional<SourceLocation> location(const torch::jit::Node* node, const std::string& function);
  const TorchScriptArchive& archive() const { return *archive_; }
  NumberMeanings& meanings() { return meanings_; }
  // Whether the method does what a call of its module does: forward itself, or the same code.
  bool does_as_forward(const c10::ClassType& type, torch::jit::Function& method);
  // What is known of a module's arguments in all of its calls, from the graph of any caller: that is what is
  // known of its inputs where it gets a graph of its own.  A caller that runs again, or takes back what it
  // did, forgets its calls from that on.
  struct CallArguments {
    std::vector<Known> known;
    std::vector<std::optional<at::IValue>> plain;  // flags, numbers, words, and few of them
    bool operator==(const CallArguments& other) const;
  };
  std::size_t remembered_calls(ModuleId caller) const;
  void forget_calls(ModuleId caller, std::size_t from);
  void remember_call(ModuleId caller, ModuleId module, const std::vector<at::IValue>& arguments);
  const CallArguments& use_arguments(ModuleId module);
  // An operator that torch would not carry out for what is known of its arguments: told once for each place.
  void report_invalid(ModuleId module, const torch::jit::Node* node, const std::string& message);

 private:
  CallArguments common_arguments(ModuleId module) const;
  void read_modules();
  void read_module(const c10::intrusive_ptr<c10::ivalue::Object>& object, const std::string& path,
                   std::optional<ModuleId> parent);
  void initialize(const TraceOptions& options);
  void find_set_attributes(const c10::ClassType& type);

  std::unique_ptr<Declarations> declarations_;
  std::unique_ptr<TorchScriptArchive> archive_;
  std::vector<ModuleInfo> modules_;
  std::vector<ParameterRecord> parameters_;
  std::vector<c10::intrusive_ptr<c10::ivalue::Object>> objects_;  // by module
  std::unordered_map<const c10::ivalue::Object*, ModuleId> module_ids_;
  std::unordered_map<const c10::ivalue::Object*, std::string> paths_;
  std::unordered_map<const c10::ClassType*, std::unordered_set<std::string>> set_attributes_;
  std::unordered_set<const c10::ClassType*> searched_types_;
  std::unordered_map<std::string, std::size_t> tensors_;  // identity of a tensor -> first parameter
  std::unordered_map<const torch::jit::Node*, std::optional<SourceLocation>> locations_;
  NumberMeanings meanings_;
  std::unordered_map<const torch::jit::Function*, bool> same_as_forward_;
  struct RememberedCall {
    ModuleId module;
    CallArguments arguments;
  };
  std::map<ModuleId, std::vector<RememberedCall>> calls_;  // by caller
  std::map<ModuleId, CallArguments> used_arguments_;       // of graphs that were recorded
  std::set<std::pair<ModuleId, const torch::jit::Node*>> invalid_;
  std::string first_invalid_;
};

// The method that a call of the module runs: "forward", or its first overload ("forward__0"), which is what
// TorchScript makes of torch.nn.LSTM's.  Null when it has none.
torch::jit::Function* find_forward(const c10::ClassType& type);
bool is_forward(const std::string& method);
// Whether the method is one of those that torch.jit.trace makes of a module's second and later calls:
// "forward1", "forward2" and so on.
bool is_traced_call(const c10::ClassType& type, const std::string& method);

// Runs `f` on a thread with a stack large enough for what hostile archives nest; exceptions come through.
void with_large_stack(const std::function<void()>& f);

}  // namespace fxtrace
