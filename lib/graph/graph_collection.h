// The result of a trace: the content of the JSON document, as plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace fxtrace {

enum class FailureKind { kDataDependentControlFlow, kUnsupportedOp, kRaised, kLimit, kOther };
const char* to_string(FailureKind kind);  // "data_dependent_control_flow"

enum class Limit { kOther, kIterations, kNodes, kCallDepth };  // kOther: no option changes it

// Why a module's forward could not be followed.
struct Failure {
  FailureKind kind = FailureKind::kOther;
  std::string message;
  std::string module;  // path of the innermost module
  std::string op;      // operation, "prim::If"; empty when unknown
  std::optional<SourceLocation> source;
  Limit limit = Limit::kOther;  // that was reached, for kLimit; not in the JSON
};

enum class ModuleStatus { kTraced, kLeaf, kFailed, kUnvisited };
const char* to_string(ModuleStatus status);

struct ModuleRecord {
  std::string path;
  std::string type;
  ModuleStatus status = ModuleStatus::kUnvisited;
  std::optional<std::string> alias_of;
  std::optional<std::string> rule;  // the rule that made it a leaf
  std::int64_t calls = 0;           // entries in module_forward_order, all graphs together
  std::optional<Failure> failure;
  // Attributes with plain values.  For scripted and traced modules they come from the file, and rules can
  // test them; for exported programs they are inferred from the operations of torch.nn modules (see
  // trace/modules/leaf_attributes.h), and no rule sees them.  Empty under a shared module's later names.
  std::vector<std::pair<std::string, Argument>> attributes = {};
  // The tensors that the module's first call returns, in order, nested ones included; absent when it is not
  // called.
  std::optional<std::vector<Meta>> outputs = std::nullopt;
  bool is_assumed = false;  // of alias_of: the file does not tell it from a module with the same tensors
};

enum class ParameterKind { kParameter, kBuffer, kCustomObject };
const char* to_string(ParameterKind kind);

struct ParameterRecord {
  std::string name;  // from the model's root
  ParameterKind kind = ParameterKind::kParameter;
  std::vector<std::int64_t> shape;  // a custom object has neither shape nor dtype
  std::string dtype;
  std::string type;                                  // class of a custom object, or of packed parameters
  std::optional<std::string> alias_of;               // tied tensors: the first name
  std::optional<std::string> device = std::nullopt;  // on which it was saved: "cuda:0"; absent for the CPU
  // Not in the JSON: ZipArchive::content_key(); equal for tensors of equal bytes, most likely, empty where
  // the archive does not tell.
  std::string content = {};
  // What the file stores where that is not one plain tensor.  Packed parameters: the tensors that the script
  // object holds; shape and dtype are those of the first, its weight.  A tensor of a class of its own: those
  // that it is made of; the shape is its own, the dtype that of the largest.
  std::vector<StoredPart> stored = {};
  // Not in the JSON, as in Constant: where the bytes are; empty where that is not one record.
  std::string record = {};
  std::vector<std::int64_t> stride = {};
  std::int64_t storage_offset = 0;
  bool requires_grad = true;  // of a parameter; not in the JSON either

  bool is_packed() const { return !stored.empty() && !type.empty(); }
};

// What a user says that an operator costs (costs/custom_costs.h).
struct CustomCost {
  std::string name;  // "ns::op", of all overloads, or "ns::op.overload"
  std::string text;  // "2*numel(out)*in0.size(-1)"
  bool operator==(const CustomCost&) const = default;
};

struct GraphCollection {
  struct Model {
    std::string file;              // base name
    std::string kind;              // "torchscript", "exported_program"
    std::string type;              // of the root
    std::string method;            // "forward"
    std::string producer_version;  // as Program::producer_version(); not in the JSON

    bool is_torchscript() const { return kind == "torchscript"; }
    const char* kind_text() const { return is_torchscript() ? "TorchScript" : "exported program"; }
  };
  Model model;
  std::string options_json = "{}";       // the trace's options, as a JSON object on one line
  std::vector<CustomCost> custom_costs;  // of these options; the last of a name counts
  std::vector<ModuleRecord> modules;
  std::vector<ParameterRecord> parameters;
  std::vector<std::string> unused_parameters;
  std::vector<ModuleGraph> graphs;
};

}  // namespace fxtrace
