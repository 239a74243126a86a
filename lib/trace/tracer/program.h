// The interface between front ends and the trace: a model's module tree, its parameters, and a way to run a
// module's forward on symbolic values.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "archive/zip_archive.h"
#include "graph/graph_collection.h"
#include "summaries/model_description.h"
#include "trace/options/options.h"
#include "trace/tracer/diagnostic.h"

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
      alias_of;             // for a later name of a shared module: the first, which alone has children
  bool is_assumed = false;  // of alias_of: the file has two modules that nothing tells apart
  // Where the file has the module's code, if that is under a later name of it or of a module around it.
  std::string name_in_file;
  std::vector<ModuleId> children;       // in registration order
  bool has_forward = false;             // false for containers such as ModuleList
  std::vector<std::size_t> parameters;  // its own, as indices into Program::parameters(); aliases included
  // Scripted attributes with plain values (bool, numbers, strings, lists of them), in registration order.
  // Empty for exported programs; see BoundProgram::attributes().
  std::vector<std::pair<std::string, Argument>> attributes;
};

inline const std::string& name_in_file(const ModuleInfo& module) {
  return module.name_in_file.empty() ? module.path : module.name_in_file;
}

// A tensor inside of packed parameters, or a quantized tensor.
struct PackedPart {
  std::string name;  // as StoredPart; empty for one that is in nothing
  Constant tensor;   // the bytes of a quantized one are its integers
  // How those stand for numbers: (integer - zero point) * scale.
  struct Quantization {
    double scale = 1;
    std::int64_t zero_point = 0;
    std::optional<std::int64_t> axis;  // along which scales and zero points differ: these two tensors
    std::vector<Constant> scales_and_zero_points = {};
  };
  std::optional<Quantization> quantization = {};
};

// What a layer of integers keeps in an object of torch.
struct PackedParameters {
  std::string type;
  std::vector<PackedPart> tensors;  // as ParameterRecord::stored
  struct Convolution {
    std::vector<std::int64_t> stride, padding, output_padding, dilation;
    std::int64_t groups = 1;
    bool is_transposed = false;
  };
  std::optional<Convolution> convolution = {};
};

class GraphTracer;

// A call of a module in the code, whether or not a trace reaches it.
struct ModuleCall {
  ModuleId called, caller;
  std::string method;   // of the caller
  std::string entered;  // the method that is called: "forward", "encode"
  std::optional<SourceLocation> source;
  // The innermost `if` or loop around the call, if there is one.
  std::optional<SourceLocation> condition;
  bool is_in_loop = false;
  bool is_run = false;  // a trace runs the method, should it call the caller
};

// A guess about an input of a method, from the way in which the code uses it.
struct InputGuess {
  std::string name;
  std::string type;  // in Python's spelling: "Tensor", "Optional[int]"
  bool has_default = false;
  // Specs of a tensor, or of the elements of a list of tensors, the more likely rank first:
  // "float32[N,3,H,W]", where letters are unknown sizes.
  std::vector<std::string> specs;
  // Where these are empty: specs of a tensor with the sizes that the code compares with or reaches for.
  std::vector<std::string> possible;
  std::string
      value;  // JSON, of a text, list, dict or tuple with the parts that the code asks for; may be empty
};

// A program bound to the options of one trace.  It keeps what earlier runs found out for later ones, and
// lives as long as the trace.
class BoundProgram {
 public:
  virtual ~BoundProgram() = default;

  using Attributes = std::vector<std::pair<std::string, Argument>>;
  // Returns, by module, the attributes that the file does not have but that the program's operations imply;
  // empty when there are none at all.
  virtual std::vector<Attributes> attributes() const { return {}; }

  // Returns the callable methods of the module in the order of definition, with types and shapes as the
  // options narrow them.
  virtual std::vector<MethodInfo> methods(ModuleId module) const = 0;

  // Records the graph of `method` of `root`: placeholders, everything that runs, output.  Throws TraceFailure
  // when `root` itself cannot be followed; failures of submodules are the tracer's business.  When
  // `root_is_leaf`, records the placeholders, one call of the root and the output instead.
  virtual void run(ModuleId root, const std::string& method, bool root_is_leaf, GraphTracer& tracer) = 0;
  // Returns whether the calls of `root` in other graphs now tell something else about its inputs than when
  // the graph of `root` was recorded; that graph must then be run again.
  virtual bool inputs_changed(ModuleId /*root*/) const { return false; }
  // Returns warnings for the user, in the order in which the runs found them.
  virtual std::vector<Diagnostic> warnings() const { return {}; }
  // A module that a graph calls as one node, and the method as Node::method.
  using Leaves = std::set<std::pair<ModuleId, std::string>>;
  // Returns what the options ask for and cannot be done where these leaves are called.
  virtual std::vector<Diagnostic> undone(const std::function<Leaves()>& /*leaves*/) const { return {}; }
};

// A model file as read; no trace changes it.
class Program {
 public:
  virtual ~Program() = default;

  // All modules in pre-order, the root first.
  virtual const std::vector<ModuleInfo>& modules() const = 0;
  // Parameters and buffers in registration order.
  virtual const std::vector<ParameterRecord>& parameters() const = 0;
  virtual std::string kind() const = 0;              // "torchscript"
  virtual std::string producer_version() const = 0;  // of the format: "3", "8.20"

  virtual std::string producer() const = 0;  // the software that wrote it: "PyTorch 2.13.0"; empty if unknown

  virtual std::vector<ConstantInfo> constants() const = 0;

  // Returns whether the root has the method.
  virtual bool has_method(const std::string& name) const = 0;
  // Returns the method of the root to trace for `asked`: when that is "forward" and there is none, the only
  // method.  Throws Error(kUsage), which lists the methods, when there is no such method.
  virtual std::string method_to_trace(const std::string& asked) const = 0;

  // Returns guesses for hints about the inputs of the root's method; empty when the inputs cannot be chosen.
  virtual std::vector<InputGuess> guess_inputs(const std::string& /*method*/) const { return {}; }

  // Returns whether a call of the module may write to any tensor in place, tensors that it makes itself
  // included.  `method` is as Node::method.
  virtual bool may_write(ModuleId /*module*/, const std::string& /*method*/) const { return true; }

  // Returns the schema of an operator that is not known, as far as its calls tell it, with "?" for types that
  // they do not tell; empty for any other.
  virtual std::string schema_of_calls(const std::string& /*op*/) const { return {}; }

  // Returns where the code of modules around them, in any of its methods, calls these modules, given by their
  // first names.  `method` is the root's that is traced.
  virtual std::vector<ModuleCall> find_calls(const std::vector<ModuleId>& /*modules*/,
                                             const std::string& /*method*/) const {
    return {};
  }

  // Returns the tensor that an attribute of a module is, which is neither parameter nor buffer; nothing where
  // there is none.
  virtual std::optional<Constant> find_tensor(const std::string& /*name*/) const { return std::nullopt; }
  // Returns the packed parameters, or the quantized tensor, that an attribute of a module or a constant of
  // the code ("CONSTANTS.c0") is; nothing where it is neither.
  virtual std::optional<PackedParameters> find_packed(const std::string& /*name*/) const {
    return std::nullopt;
  }
  // Returns the bytes that a ParameterRecord or a Constant names.  Throws Error(kInput) when there is no such
  // record.
  virtual RecordBytes record_bytes(const std::string& /*record*/) const { return {}; }

  // Binds the program to options; both must outlive the result.  Throws Error(kUsage) for options that do not
  // fit the program.
  virtual std::unique_ptr<BoundProgram> bind(const TraceOptions& options) const = 0;
};

}  // namespace fxtrace
