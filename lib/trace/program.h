// A model as its front end reads it: the module tree, the parameters, and a way to run a module's forward on
// symbolic values.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph_collection.h"
#include "trace/options.h"

namespace fxtrace {

struct ModuleId {
  std::uint32_t index = UINT32_MAX;
  auto operator<=>(const ModuleId&) const = default;
};

struct ModuleInfo {
  std::string path;  // qualified name from the root; "" is the root
  std::string type;  // qualified type, demangled: "torch.nn.modules.linear.Linear"; empty: unknown
  std::optional<ModuleId> parent;  // absent for the root
  std::optional<ModuleId>
      alias_of;                    // a shared module's later name: its first; then children stand there only
  std::vector<ModuleId> children;  // in registration order
  bool has_forward = false;        // false for containers such as ModuleList
  std::vector<std::size_t> parameters;  // its own, as indices into Program::parameters(); aliases included
  // Scripted attributes with plain values (bool, numbers, strings, lists of them), in registration order.
  // None of exported programs; see BoundProgram::attributes().
  std::vector<std::pair<std::string, Argument>> attributes;
};

// An input or output of a method.
struct PortInfo {
  std::string name;  // of an output its place in the result, "0" or "boxes.1"; "" for the result itself
  Meta meta;         // what is known of it
  std::optional<Argument> default_value;  // of an input
  std::optional<Argument> fixed;          // the only value, where the program was made for one
};

struct MethodInfo {
  std::string name;
  std::vector<PortInfo> inputs, outputs;
};

// A tensor or object that belongs to the code, not to a module.
struct ConstantInfo {
  std::string name;                 // as the code calls it
  std::vector<std::int64_t> shape;  // an object has neither shape nor dtype
  std::string dtype;
  std::string type;  // of an object: its class
};

class GraphTracer;

// An input of a method, and what its code does with it tells of it.
struct InputGuess {
  std::string name;
  std::string type;  // in Python's spelling: "Tensor", "Optional[int]"
  bool has_default = false;
  // Of a tensor, or of the elements of a list of tensors, the more likely rank first: "float32[N,3,H,W]";
  // letters are sizes that nothing tells.
  std::vector<std::string> specs;
};

// A program with the options of one trace, and all that its runs find out: what the next run has to know of
// the runs before is here, and gone with the trace.
class BoundProgram {
 public:
  virtual ~BoundProgram() = default;

  using Attributes = std::vector<std::pair<std::string, Argument>>;
  // By module, what the program's operations tell of attributes that the file does not have; or nothing at
  // all.
  virtual std::vector<Attributes> attributes() const { return {}; }

  // What a caller of the module can run, in the order of definition, as the options narrow it.
  virtual std::vector<MethodInfo> methods(ModuleId module) const = 0;

  // Records the graph of `method` of `root`: placeholders, everything that runs, output.  Throws TraceFailure
  // when `root` itself cannot be followed; failures of submodules are the tracer's business.  When
  // `root_is_leaf`, records the placeholders, one call of the root and the output instead.
  virtual void run(ModuleId root, const std::string& method, bool root_is_leaf, GraphTracer& tracer) = 0;
  // Whether calls of `root` in the graphs of others, as they were last run, tell something else of its inputs
  // than when its own graph was: then that is to be run again.
  virtual bool inputs_changed(ModuleId /*root*/) const { return false; }
  // What the runs found that a user should know, in the order in which it was found.
  virtual std::vector<std::string> warnings() const { return {}; }
};

// What is in the file; no trace changes it.
class Program {
 public:
  virtual ~Program() = default;

  // Every module in pre-order, the root first.
  virtual const std::vector<ModuleInfo>& modules() const = 0;
  // Parameters and buffers in registration order.
  virtual const std::vector<ParameterRecord>& parameters() const = 0;
  virtual std::string kind() const = 0;              // "torchscript"
  virtual std::string producer_version() const = 0;  // of the format: "3", "8.20"

  virtual std::string producer() const = 0;  // what wrote it: "PyTorch 2.13.0"; empty if not known

  virtual std::vector<ConstantInfo> constants() const = 0;

  // Whether the root has the method.
  virtual bool has_method(const std::string& name) const = 0;
  // The method of the root to trace when `asked` is asked for: in place of a forward that there is none of,
  // the only method.  Throws Error(kUsage) that lists the methods when there is no such one.
  virtual std::string method_to_trace(const std::string& asked) const = 0;

  // For hints: the inputs of the root's method.  Empty where there is nothing to choose.
  virtual std::vector<InputGuess> guess_inputs(const std::string& /*method*/) const { return {}; }

  // Whether a call of the module may write to a tensor in place, one that it makes itself included. `method`:
  // as Node::method.
  virtual bool may_write(ModuleId /*module*/, const std::string& /*method*/) const { return true; }

  // Both must outlive the result.  Throws Error(kUsage) for options that do not fit the program.
  virtual std::unique_ptr<BoundProgram> bind(const TraceOptions& options) const = 0;
};

}  // namespace fxtrace
