// The front end for exported programs (torch.export.save): a Program read from an archive, without LibTorch.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/program_operations.h"
#include "exported/program/encoded_texts.h"
#include "exported/program/exported_archive.h"
#include "exported/program/hierarchy.h"
#include "exported/program/program_dimensions.h"
#include "support/json_document.h"
#include "trace/options/options.h"
#include "trace/tracer/program.h"

namespace fxtrace::internal {

// A parameter, buffer, constant or object that the program lifted to an input of its graph.
struct LiftedInput {
  std::string target;              // qualified name; the first one for tied tensors
  std::vector<std::string> names;  // all its qualified names
  ParameterKind kind = ParameterKind::kParameter;
  std::optional<TensorRecord> constant;  // location of the value, for a constant
};

// The signature of a module call, which a program keeps for torch.export's preserve_module_call_signature.
struct CallSignature {
  std::vector<Argument> inputs, outputs;
  TreeSpec in_spec, out_spec;  // in_spec: positional and keyword arguments
};

class ExportedProgram : public Program {
 public:
  // Throws Error(kInput) for a damaged file; Error(kUsage) when the archive has no program `model`, or has
  // several and `model` is absent.
  ExportedProgram(const FileInfo& info, const std::optional<std::string>& model);

  const std::vector<ModuleInfo>& modules() const override { return hierarchy_.modules(); }
  const std::vector<ParameterRecord>& parameters() const override { return parameters_; }
  std::string kind() const override { return "exported_program"; }
  std::string producer_version() const override { return version_; }
  std::string producer() const override { return producer_; }
  // Returns nothing, as lifted constants are among the buffers.
  std::vector<ConstantInfo> constants() const override { return {}; }
  bool has_method(const std::string& name) const override { return name == "forward"; }
  std::string method_to_trace(const std::string& asked) const override;
  RecordBytes record_bytes(const std::string& record) const override { return archive_.storage(record); }
  std::unique_ptr<BoundProgram> bind(const TraceOptions& options, const SpentUnits& spent) const override;

  // --- for BoundExportedProgram and module_graph.h ---
  ProgramView graph() const { return graph_.view(); }
  const std::vector<NodeId>& inputs() const { return inputs_; }  // of graph(), parallel to signature().inputs
  const Hierarchy& hierarchy() const { return hierarchy_; }
  const ExportedArchive& archive() const { return archive_; }
  JsonValue json() const { return document_->root(); }
  const std::string& name() const { return model_; }  // the program's name in the archive
  // Returns the lifted input of a value of graph(); null for other values.
  const LiftedInput* find_lifted(NodeId value) const;
  const CallSignature* find_signature(const Hierarchy::Call& call) const;
  const GraphSignature& signature() const { return signature_; }
  // Returns the names of forward's positional parameters, when the file has them.
  const std::vector<std::string>& argument_names() const { return argument_names_; }
  const std::optional<TreeSpec>& out_spec() const { return out_spec_; }
  // Returns how the user inputs are nested: a tuple of the positional and the keyword arguments.
  const std::optional<TreeSpec>& in_spec() const { return in_spec_; }
  // Returns the conditions on the inputs that the file states besides the ranges of their dimensions.
  const std::vector<Expression>& conditions() const { return conditions_; }
  const ProgramDimensions& dimensions() const { return *dimensions_; }

 private:
  void check_version(const JsonValue& program);
  void read_signature(const JsonValue& signature);
  void read_call_signatures(const JsonValue& module_calls);
  void read_root_call(const JsonValue& signature);
  void make_parameters(const std::map<std::string, TensorRecord>& tensors,
                       const std::vector<Hierarchy::NamedTensor>& names);
  static void set_parts(const TensorRecord& tensor, ParameterRecord& record);
  void read_guards(const JsonValue& program);

  ExportedArchive archive_;
  std::string model_;
  std::shared_ptr<const JsonDocument> document_;
  Hierarchy hierarchy_;
  ExportedGraph graph_;
  std::vector<NodeId> inputs_;
  std::string version_, producer_;

  GraphSignature signature_;  // without nodes
  std::vector<std::string> argument_names_;
  std::unordered_map<std::uint32_t, LiftedInput> lifted_;
  std::unordered_map<std::string, CallSignature> call_signatures_;  // by path, "path@1"
  TreeSpec::NamedTuples named_tuples_;
  std::optional<TreeSpec> in_spec_;
  std::optional<TreeSpec> out_spec_;
  std::vector<ParameterRecord> parameters_;
  std::optional<ProgramDimensions> dimensions_;
  std::vector<Expression> conditions_;
};

// Returns the program as one of torch.export; null when it is of another kind.
const ExportedProgram* as_exported(const Program* program);

}  // namespace fxtrace::internal
