// Diagnostics of a trace as data: warnings and notes whose text is made only when they are shown.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <exception>
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

namespace fxtrace::internal {

// A message and its subjects.  Diagnostics with one id say the same of different subjects: "{} is beyond the
// range of {}".
struct Diagnostic {
  std::string id;                          // the message, with a "{}" for each subject
  std::vector<std::string> subjects = {};  // names, places and numbers

  // Appends to the message.
  void add(const std::string& what, const std::vector<std::string>& about = {}) {
    id += what;
    subjects.insert(subjects.end(), about.begin(), about.end());
  }
  std::string text() const {
    std::string text;
    std::size_t from = 0;
    for (const std::string& subject : subjects) {
      const std::size_t at = id.find("{}", from);
      text.append(id, from, at - from).append(subject);
      from = at + 2;
    }
    return text.append(id, from);
  }
  bool operator==(const Diagnostic&) const = default;
};

// The interface between front ends and the trace: a model's module tree, its parameters, and a way to run a
// module's forward on symbolic values.

struct ModuleId {
  std::uint32_t index = UINT32_MAX;
  auto operator<=>(const ModuleId&) const = default;
};

struct ModuleInfo {
  std::string path;  // qualified name from the root; "" is the root
  std::string type;  // qualified type, demangled: "torch.nn.modules.linear.Linear"; empty: unknown
  std::optional<ModuleId> parent;  // absent for the root
  std::optional<ModuleId>
      alias_of;             // for a later name of a shared module: the first one, which alone has children
  bool is_assumed = false;  // alias_of is assumed: the file has two modules that nothing tells apart
  // The path at which the file has the module's code, when that is a later name of it or of a module around
  // it.
  std::string name_in_file;
  std::vector<ModuleId> children;       // in registration order
  bool has_forward = false;             // false for containers such as ModuleList
  std::vector<std::size_t> parameters;  // its own, as indices into Program::parameters(), aliases included
  // Scripted attributes with plain values (bool, numbers, strings, lists of them), in registration order.
  // Empty for exported programs; see BoundProgram::attributes().
  std::vector<std::pair<std::string, Argument>> attributes;
};

inline const std::string& name_in_file(const ModuleInfo& module) {
  return module.name_in_file.empty() ? module.path : module.name_in_file;
}

// A tensor inside packed parameters, or a quantized tensor.
struct PackedPart {
  std::string name;  // as in StoredPart; empty for a tensor that is not part of anything
  Constant tensor;   // the bytes of a quantized tensor are its integers
  // The real numbers of a quantized tensor are (integer - zero point) * scale.
  struct Quantization {
    double scale = 1;
    std::int64_t zero_point = 0;
    std::optional<std::int64_t>
        axis;  // dimension along which scales and zero points differ; these two tensors
    std::vector<Constant> scales_and_zero_points = {};
  };
  std::optional<Quantization> quantization = {};
};

// The parameters of a quantized layer, which torch keeps packed in an object of its own.
struct PackedParameters {
  std::string type;
  std::vector<PackedPart> tensors;  // in the order of ParameterRecord::stored
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
  std::string method;   // method of the caller that has the call
  std::string entered;  // method that is called: "forward", "encode"
  std::optional<SourceLocation> source;
  // The innermost `if` or loop around the call, if there is one.
  std::optional<SourceLocation> condition;
  bool is_in_loop = false;
  bool is_run = false;  // a trace that calls the caller runs `method`
};

// A guess about an input of a method, from the way in which the code uses it.
struct InputGuess {
  std::string name;
  std::string type;  // in Python's spelling: "Tensor", "Optional[int]"
  bool has_default = false;
  // Specs of a tensor, or of the elements of a list of tensors, the more likely rank first:
  // "float32[N,3,H,W]", where letters are unknown sizes.
  std::vector<std::string> specs;
  // When `specs` is empty: specs of a tensor with the sizes that the code compares with or indexes.
  std::vector<std::string> possible;
  std::string value;  // JSON of a string, list, dict or tuple with the parts that the code uses; may be empty
};

// A program bound to the options of one trace.  It keeps the findings of earlier runs for later ones, and
// lives as long as the trace.
class BoundProgram {
 public:
  virtual ~BoundProgram() = default;

  using Attributes = std::vector<std::pair<std::string, Argument>>;
  // Returns, by module, attributes that the file does not have but that the program's operations imply; empty
  // when there are none at all.
  virtual std::vector<Attributes> attributes() const { return {}; }

  // Returns the callable methods of the module in the order of definition, with types and shapes as the
  // options narrow them.
  virtual std::vector<MethodInfo> methods(ModuleId module) const = 0;

  // Records the graph of `method` of `root`: placeholders, everything that runs, output.  Throws TraceFailure
  // when `root` itself cannot be followed; the tracer handles failures of submodules.  When `root_is_leaf`,
  // records the placeholders, one call of the root and the output instead.
  virtual void run(ModuleId root, const std::string& method, bool root_is_leaf, GraphTracer& tracer) = 0;
  // Returns whether the inputs of `root`, as its calls in other graphs show them, have changed since the
  // graph of `root` was recorded; the graph must then be recorded again.
  virtual bool inputs_changed(ModuleId /*root*/) const { return false; }
  // Returns warnings for the user, in the order in which the runs found them.
  virtual std::vector<Diagnostic> warnings() const { return {}; }
  // Modules that a graph calls as one node, each with the method as in Node::method.
  using Leaves = std::set<std::pair<ModuleId, std::string>>;
  // Returns the requests of the options that could not be carried out because these leaves are called.
  virtual std::vector<Diagnostic> unfollowed_options(const std::function<Leaves()>& /*leaves*/) const {
    return {};
  }
};

// A model file as it was read.  Traces do not change it.
class Program {
 public:
  virtual ~Program() = default;

  // All modules in pre-order, the root first.
  virtual const std::vector<ModuleInfo>& modules() const = 0;
  // Parameters and buffers in registration order.
  virtual const std::vector<ParameterRecord>& parameters() const = 0;
  // See GraphCollection::tensor_attributes.
  virtual std::vector<ParameterRecord> tensor_attributes() const { return {}; }
  virtual std::string kind() const = 0;              // "torchscript"
  virtual std::string producer_version() const = 0;  // version of the format: "3", "8.20"

  virtual std::string producer() const = 0;  // the software that wrote it: "PyTorch 2.13.0"; empty if unknown

  virtual std::vector<ConstantInfo> constants() const = 0;

  // Returns whether the root has the method.
  virtual bool has_method(const std::string& name) const = 0;
  // Returns the method of the root to trace when `asked` was asked for: itself, or the only method when
  // `asked` is "forward" and the root has none.  Throws Error(kUsage), which lists the methods, when there is
  // no such method.
  virtual std::string method_to_trace(const std::string& asked) const = 0;

  // Returns guesses for hints about the inputs of the root's method; empty when the inputs cannot be chosen.
  virtual std::vector<InputGuess> guess_inputs(const std::string& /*method*/) const { return {}; }

  // Returns whether a call of the module may write to any tensor in place, including tensors that it makes
  // itself.  `method` is as in Node::method.
  virtual bool may_write(ModuleId /*module*/, const std::string& /*method*/) const { return true; }

  // Returns the schema of an unknown operator as far as its calls determine it, with "?" for other types;
  // empty for a known operator.
  virtual std::string schema_of_calls(const std::string& /*op*/) const { return {}; }

  // Returns the calls of these modules, given by their first names, in the code of modules around them, in
  // any method.  `method` is the method of the root that is traced.
  virtual std::vector<ModuleCall> find_calls(const std::vector<ModuleId>& /*modules*/,
                                             const std::string& /*method*/) const {
    return {};
  }

  // Returns the tensor in an attribute of a module that is neither a parameter nor a buffer; nothing when
  // there is none.
  virtual std::optional<Constant> find_tensor(const std::string& /*name*/) const { return std::nullopt; }
  // Returns the packed parameters or the quantized tensor in an attribute of a module or a constant of the
  // code ("CONSTANTS.c0"); nothing when it is neither.
  virtual std::optional<PackedParameters> find_packed(const std::string& /*name*/) const {
    return std::nullopt;
  }
  // Returns the bytes that a ParameterRecord or a Constant names.  Throws Error(kInput) when there is no such
  // record.
  virtual RecordBytes record_bytes(const std::string& /*record*/) const { return {}; }

  // Binds the program to options; both must outlive the result.  The runs spend `spent`.  Throws
  // Error(kUsage) for options that do not fit the program.
  virtual std::unique_ptr<BoundProgram> bind(const TraceOptions& options, const SpentUnits& spent) const = 0;
};

// Exceptions that a front end throws when a forward cannot be followed, or must be run again.

// Thrown by a front end when the forward that runs cannot be followed.  Caught at the innermost module call,
// which then becomes a leaf; never seen by users.
class TraceFailure : public std::exception {
 public:
  explicit TraceFailure(Failure f) : failure(std::move(f)) {}
  const char* what() const noexcept override { return failure.message.c_str(); }
  Failure failure;
};

// An input of a graph that is fixed because control flow asks for its value.
struct FixedInput {
  std::string name;
  std::string value;  // as Python writes it
  bool is_default = true;
  bool takes_spec = false;     // a SPEC of --input can describe it: a tensor or an integer
  bool may_be_tensor = false;  // it is None now, and a given value would be or hold a tensor
  bool is_given = false;  // not fixed, but assumed not to be None, because no input would be left otherwise
};

// Thrown by a front end when control flow asks for the values of inputs that have defaults: the recorded
// graph is void, and is traced again with these inputs fixed.  Passes through module calls.
class InputsAsked : public std::exception {
 public:
  explicit InputsAsked(std::vector<FixedInput> asked) : inputs(std::move(asked)) {}
  const char* what() const noexcept override { return "the values of inputs are asked for"; }
  std::vector<FixedInput> inputs;
};

// Thrown by a front end that knows more now than when the run began: the recorded graph is void, and is
// traced again.  Passes through module calls.
class TraceAgain : public std::exception {
 public:
  const char* what() const noexcept override { return "the graph is traced again"; }
};

}  // namespace fxtrace::internal
