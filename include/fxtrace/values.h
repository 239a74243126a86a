// Plain values in graphs and collections, and the words for them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace fxtrace {

enum class Opcode { kPlaceholder, kGetAttr, kCallFunction, kCallMethod, kCallModule, kOutput };

// Returns the torch.fx spelling: "call_function".
const char* to_string(Opcode op);

// The module whose code makes the node: its qualified name from the model's root, and its type.  For the
// model's root, the path is "" and the type is absent.
struct Scope {
  std::string module_path;
  std::optional<std::string> module_type = {};
  // The number of the call of that module in this graph, from 1, in the order of module_forward_order; for
  // another method, the number of its call, in the order of Execution::method_calls.
  std::int64_t call = 1;
  std::string method = {};  // empty: forward
  bool operator==(const Scope&) const = default;
};

// A place in the model's Python source.
struct SourceLocation {
  std::string file;
  std::int64_t line = 0;  // counted from 1; 0 when unknown
  std::string function;
  std::string text;  // the source line, without indentation
  bool operator==(const SourceLocation&) const = default;
};

// The source of the assumption that a guard states.
enum class GuardReason {
  kInput,     // --input: a size, a dtype, a device; also the usual value of a part that it omits
  kDim,       // --dim: the range of a dimension
  kConcrete,  // --concrete
  kDefault,   // a default of a parameter, or the state of the process
  kExported,  // torch.export, which fixed a value
  kAssert     // the code itself, which raises otherwise
};
const char* to_string(GuardReason reason);  // "input"

// The role of an input or output of an exported program, as in torch.export.graph_signature's InputKind and
// OutputKind.
enum class SignatureRole {
  kUserInput,
  kParameter,
  kBuffer,
  kConstantTensor,
  kCustomObject,
  kToken,
  kUserOutput,
  kLossOutput,
  kBufferMutation,
  kParameterMutation,
  kGradientToParameter,
  kGradientToUserInput,
  kUserInputMutation
};
const char* to_string(SignatureRole role);  // "user_input"

enum class FailureKind { kDataDependentControlFlow, kUnsupportedOp, kRaised, kLimit, kOther };
const char* to_string(FailureKind kind);  // "data_dependent_control_flow"

enum class Limit { kOther, kIterations, kNodes, kCallDepth };  // kOther: no option changes it

// The reason why a module's forward could not be traced.
struct Failure {
  FailureKind kind = FailureKind::kOther;
  std::string message;
  std::string module;  // the path of the innermost module
  std::string op;      // the operation, "prim::If"; empty when unknown
  std::optional<SourceLocation> source;
  Limit limit = Limit::kOther;  // the limit that was reached, for kLimit; not in the JSON
};

enum class ModuleStatus { kTraced, kLeaf, kFailed, kUnvisited };
const char* to_string(ModuleStatus status);

enum class ParameterKind { kParameter, kBuffer, kCustomObject };
const char* to_string(ParameterKind kind);

}  // namespace fxtrace
