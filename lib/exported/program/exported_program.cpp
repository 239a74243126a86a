#include "exported/program/exported_program.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_set>

#include "analysis/program_operations.h"
#include "exported/program/graph_reader.h"
#include "exported/program/same_calls.h"
#include "graph/namespace.h"
#include "shapes/tensor_options.h"
#include "support/error.h"
#include "support/text/did_you_mean.h"
#include "support/text/qualified_name.h"

namespace fxtrace::internal {
namespace {

constexpr std::int64_t kSchemaMajor = 8;                   // torch/_export/serde/schema.py
constexpr std::string_view kUnknownVersion = "<unknown>";  // torch's text for a version that it does not know
// torch writes a bound of at least this size for "no bound".
constexpr std::int64_t kUnbounded = std::int64_t{1} << 61;

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names) {
    if (text.size() > 400) return text + ", ...";
    text += (text.empty() ? "" : ", ") + shell_word(name);
  }
  return text;
}

std::string choose_model(const ExportedArchive& archive, const std::optional<std::string>& wanted) {
  const auto& models = archive.models();
  if (!wanted) {
    if (models.size() == 1) return models.front();
    throw usage_error("the archive holds " + std::to_string(models.size()) + " models: " + joined(models),
                      {"choose one with --model NAME"});
  }
  if (std::find(models.begin(), models.end(), *wanted) != models.end()) return *wanted;
  if (archive.has_compiled(*wanted)) {
    throw usage_error("'" + *wanted + "' was compiled by AOTInductor to machine code, which has no graph",
                      {"the archive's exported programs are " + joined(models)});
  }
  throw usage_error("no model named '" + *wanted + "' in the archive, which holds " + joined(models));
}

constexpr std::string_view kTokenRole = "token";

TokenNames token_names(const JsonValue& signature) {
  TokenNames names;
  for (const JsonValue spec : signature.at("input_specs").items()) {
    const auto [role, value] = spec.alternative();
    if (role == kTokenRole) names.insert(value.at("arg").at("name").string());
  }
  return names;
}

// Returns the guard without torch's way of naming arguments: "L['x'].size()[0]" -> "x.size()[0]".
std::string readable_guard(std::string_view code) {
  std::string text;
  for (std::size_t i = 0; i < code.size();) {
    const auto rest = code.substr(i);
    const std::size_t end = rest.starts_with("L['") ? rest.find("']") : std::string_view::npos;
    const bool starts_word =
        i > 0 && (std::isalnum(static_cast<unsigned char>(code[i - 1])) != 0 || code[i - 1] == '_');
    if (end == std::string_view::npos || starts_word) {
      text += code[i++];
    } else {
      text += rest.substr(3, end - 3);
      i += end + 2;
    }
  }
  return text;
}

// Returns the names of the signature, then those that only the archive has, with the number of their tensor.
// A name that the archive has no tensor for, and one of a tensor without elements, has a number of its own.
std::vector<Hierarchy::NamedTensor> numbered_names(const GraphSignature& signature,
                                                   const std::map<std::string, TensorRecord>& tensors) {
  using Tensor = std::tuple<std::string, std::int64_t, std::vector<std::int64_t>, std::vector<std::int64_t>>;
  std::map<Tensor, std::size_t> numbers;
  std::vector<Hierarchy::NamedTensor> names;
  std::unordered_set<std::string_view> seen;
  const auto add = [&](const std::string& name) {
    if (!seen.insert(name).second) return;
    std::size_t number = names.size();
    bool is_empty = false;
    const auto record = tensors.find(name);
    if (record != tensors.end()) {
      const TensorRecord& at = record->second;
      is_empty = std::find(at.sizes.begin(), at.sizes.end(), 0) != at.sizes.end();
      if (!is_empty)
        number = numbers.emplace(Tensor{at.storage, at.offset, at.sizes, at.strides}, number).first->second;
    }
    names.push_back({name, number, is_empty});
  };
  for (const auto& entry : signature.inputs) {
    if (entry.target) add(*entry.target);
  }
  for (const auto& [name, tensor] : tensors) add(name);
  return names;
}

bool lists_all_parameters(const GraphSignature& signature,
                          const std::map<std::string, TensorRecord>& tensors) {
  std::unordered_set<std::string_view> listed;
  for (const auto& entry : signature.inputs) {
    if (entry.target) listed.insert(*entry.target);
  }
  return std::all_of(tensors.begin(), tensors.end(), [&](const auto& item) {
    return !item.second.is_parameter || listed.count(item.first) != 0;
  });
}

// Tells the hierarchy which calls use which tensors; `names` are those of values that are tensors of the
// model.
void note_uses(const ProgramView& graph, const std::map<NodeId, std::string_view>& names,
               Hierarchy& hierarchy) {
  for (const NodeId operation : graph.operations()) {
    const Node& node = graph.node(operation);
    const bool has_subgraphs = graph.count_subgraphs(operation) > 0;
    for_each_input(node, [&](NodeId value) {
      const auto tensor = names.find(value);
      if (tensor != names.end() && !has_subgraphs)
        hierarchy.note_use(graph.facts(operation).call, tensor->second);
    });
    graph.for_each_subgraph(operation, [&](const std::string&, const ProgramView& body) {
      std::map<NodeId, std::string_view> inner;
      for_each_lasting_operand(node, body, [&](NodeId input, const Argument& operand) {
        const auto* value = operand.get_if<NodeId>();
        const auto tensor = value == nullptr ? names.end() : names.find(*value);
        if (tensor != names.end()) inner.emplace(input, tensor->second);
      });
      note_uses(body, inner, hierarchy);
    });
  }
}

}  // namespace

ExportedProgram::ExportedProgram(const FileInfo& info, const std::optional<std::string>& model)
    : archive_(info),
      model_(choose_model(archive_, model)),
      document_(std::make_shared<const JsonDocument>(JsonText{archive_.json(model_)}, "the program's JSON")) {
  const JsonValue program = document_->root();
  check_version(program);
  const JsonValue module = program.at("graph_module");
  const auto module_calls = module.find("module_call_graph");
  if (module_calls) {
    for (const JsonValue entry : module_calls->items()) hierarchy_.declare(entry.at("fqn").string());
  }
  const JsonValue signature = module.at("signature");
  graph_ = read_graph(document_, module.at("graph"), hierarchy_, token_names(signature));
  inputs_ = graph().inputs();
  read_signature(signature);
  if (const auto named_tuples = module.find("treespec_namedtuple_fields")) {
    for (const JsonValue type : named_tuples->fields()) {
      auto& fields = named_tuples_[std::string(type.key())];
      for (const JsonValue name : type.at("field_names").items()) fields.emplace_back(name.string());
    }
  }
  if (module_calls) read_call_signatures(*module_calls);

  const auto tensors = archive_.tensors(model_);
  const auto names = numbered_names(signature_, tensors);
  std::optional<CallComparison> comparison;
  const auto may_be_one = [&](CallId a, CallId b) {
    if (!comparison) comparison.emplace(graph(), hierarchy_);
    return comparison->may_be_one_module(a, b);
  };
  std::map<NodeId, std::string_view> tensor_values;
  for (std::size_t i = 0; i < signature_.inputs.size(); ++i) {
    if (const auto& target = signature_.inputs[i].target) tensor_values.emplace(inputs_[i], *target);
  }
  note_uses(graph(), tensor_values, hierarchy_);
  hierarchy_.finish(names, may_be_one, info.size);
  make_parameters(tensors, names);
  read_guards(program);
}

void ExportedProgram::check_version(const JsonValue& program) {
  if (!program.is_object()) program.fail("expected an object");
  const auto schema = program.find("schema_version");
  if (!schema) program.fail("\"schema_version\" is missing: this is not an exported program");
  // Before 2.3 the version was one number.
  const std::int64_t major = schema->is_object() ? schema->at("major").integer() : schema->integer();
  const auto torch = program.find("torch_version");
  if (torch && torch->is_string() && torch->string() != kUnknownVersion) {
    producer_ = "PyTorch ";
    producer_ += torch->string().substr(0, 40);
  }
  if (major != kSchemaMajor) {
    throw input_error(
        "schema version " + std::to_string(major) +
            (producer_.empty() ? "" : " (written by " + producer_ + ")") +
            " is not supported; fxtrace reads version " + std::to_string(kSchemaMajor),
        {major > kSchemaMajor
             ? "a newer fxtrace may read it; or export the model with a PyTorch that writes version " +
                   std::to_string(kSchemaMajor) + ", as 2.6 to 2.15 do"
             : "export the model again with PyTorch 2.6 or newer"});
  }
  const auto minor = schema->find("minor");
  version_ = std::to_string(major) + (minor ? "." + std::to_string(minor->integer()) : "");
}

void ExportedProgram::read_signature(const JsonValue& signature) {
  using enum SignatureRole;
  struct Role {
    std::string_view key;
    SignatureRole role;
    std::string_view target;
  };
  static constexpr Role kInputs[] = {{"user_input", kUserInput, ""},
                                     {"parameter", kParameter, "parameter_name"},
                                     {"buffer", kBuffer, "buffer_name"},
                                     {"tensor_constant", kConstantTensor, "tensor_constant_name"},
                                     {"custom_obj", kCustomObject, "custom_obj_name"},
                                     {"constant_input", kUserInput, ""}};
  static constexpr Role kOutputs[] = {{"user_output", kUserOutput, ""},
                                      {"loss_output", kLossOutput, ""},
                                      {"buffer_mutation", kBufferMutation, "buffer_name"},
                                      {"parameter_mutation", kParameterMutation, "parameter_name"},
                                      {"gradient_to_parameter", kGradientToParameter, "parameter_name"},
                                      {"gradient_to_user_input", kGradientToUserInput, "user_input_name"},
                                      {"user_input_mutation", kUserInputMutation, "user_input_name"}};
  const auto read = [](const JsonValue& spec, const auto& roles) {
    const auto [key, value] = spec.alternative();
    const auto role = std::find_if(std::begin(roles), std::end(roles),
                                   [wanted = key](const Role& item) { return item.key == wanted; });
    if (role == std::end(roles)) spec.fail("unknown role '" + std::string(key.substr(0, 60)) + "'");
    GraphSignature::Entry entry;
    entry.role = role->role;
    if (!role->target.empty()) entry.target = std::string(value.at(role->target).string());
    if (key == "constant_input") {
      entry.name = value.at("name").string();
      entry.value = constant_argument(read_constant(value.at("value")));
      return entry;
    }
    const JsonValue argument = value.at("arg");
    // Roles that only tensors can have give the name itself here.
    if (const auto name = argument.find("name")) {
      entry.name = name->string();
    } else {
      entry.name = value_name(argument);
      if (entry.name.empty()) entry.value = constant_argument(read_constant(argument));
    }
    return entry;
  };
  const JsonValue inputs = signature.at("input_specs");
  // Tokens are not values of the graph (graph_reader.h).
  const auto is_token = [](const JsonValue& spec) {
    const auto [role, value] = spec.alternative();
    return role == kTokenRole;
  };
  for (const JsonValue spec : inputs.items()) {
    if (is_token(spec)) continue;
    auto entry = read(spec, kInputs);
    if (const auto buffer = spec.find("buffer")) {
      const auto persistent = buffer->find("persistent");
      entry.persistent = !persistent || persistent->boolean();
    }
    signature_.inputs.push_back(std::move(entry));
  }
  const JsonValue outputs = signature.at("output_specs");
  for (const JsonValue spec : outputs.items()) {
    if (!is_token(spec)) signature_.outputs.push_back(read(spec, kOutputs));
  }
  if (signature_.inputs.size() != inputs_.size()) {
    inputs.fail("found " + std::to_string(signature_.inputs.size()) + " entries, but the graph has " +
                std::to_string(inputs_.size()) + " inputs");
  }
  const std::vector<Argument> values = graph().outputs();
  if (signature_.outputs.size() != values.size()) {
    outputs.fail("found " + std::to_string(signature_.outputs.size()) + " entries, but the graph has " +
                 std::to_string(values.size()) + " outputs");
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    GraphSignature::Entry& entry = signature_.outputs[i];
    const auto* value = values[i].get_if<NodeId>();
    if (value == nullptr || !is_result(entry.role)) continue;
    const Node& node = graph().node(*value);
    entry.is_named = node.op == Opcode::kCallFunction && !is_name_from(entry.name, *node.target);
  }
}

void ExportedProgram::read_call_signatures(const JsonValue& module_calls) {
  std::unordered_map<std::string_view, NodeId> by_name;
  for (const JsonValue entry : module_calls.items()) {
    const auto signature = entry.find("signature");
    if (!signature) continue;
    const auto path = entry.at("fqn").string();
    if (path.empty()) {
      read_root_call(*signature);
      continue;
    }
    if (by_name.empty()) by_name = graph().values_by_name();
    CallSignature call;
    const auto read = [&](const char* key, std::vector<Argument>& to) {
      bool complete = true;
      for (const JsonValue argument : signature->at(key).items()) {
        const auto name = value_name(argument);
        const auto value = by_name.find(name);
        if (name.empty()) {
          to.push_back(read_constant(argument));
        } else if (value != by_name.end()) {
          to.push_back(value->second);
        } else {
          complete = false;  // the value was optimised away
        }
      }
      return complete;
    };
    if (!read("inputs", call.inputs) || !read("outputs", call.outputs)) continue;
    call.in_spec =
        TreeSpec::parse(signature->at("in_spec").string(), "in_spec of " + std::string(path), named_tuples_);
    call.out_spec = TreeSpec::parse(signature->at("out_spec").string(), "out_spec of " + std::string(path),
                                    named_tuples_);
    const bool fits = call.in_spec.leaves == call.inputs.size() &&
                      call.out_spec.leaves == call.outputs.size() && call.in_spec.children.size() == 2 &&
                      call.in_spec.children[1].kind == TreeSpec::Kind::kDict;
    if (fits) call_signatures_.insert_or_assign(std::string(path), std::move(call));
  }
}

// Reads how the program's own inputs and outputs are nested.
void ExportedProgram::read_root_call(const JsonValue& signature) {
  std::vector<GraphSignature::Entry*> user_inputs;
  for (auto& entry : signature_.inputs) {
    if (entry.role == SignatureRole::kUserInput) user_inputs.push_back(&entry);
  }
  const auto in_spec = signature.find("in_spec");
  if (in_spec && !in_spec->string().empty()) {
    TreeSpec spec = TreeSpec::parse(in_spec->string(), "in_spec", named_tuples_);
    if (const auto list = signature.find("forward_arg_names")) {
      for (const JsonValue name : list->items()) argument_names_.emplace_back(name.string());
    }
    const bool has_kwargs = spec.children.size() == 2 && spec.leaves == user_inputs.size();
    auto paths = has_kwargs ? spec.paths() : std::vector<std::vector<Argument>>();
    for (std::size_t i = 0; i < paths.size(); ++i) {
      auto& path = paths[i];
      if (path.size() < 2) continue;
      // The spec is of (args, kwargs); the first step selects one of them.
      const bool by_position = path.front() == Argument(0);
      const auto* position = path[1].get_if<std::int64_t>();
      if (by_position && position != nullptr &&
          static_cast<std::size_t>(*position) < argument_names_.size()) {
        path[1] = argument_names_[static_cast<std::size_t>(*position)];
      }
      path.erase(path.begin());
      user_inputs[i]->path = std::move(path);
    }
    if (has_kwargs) in_spec_ = std::move(spec);
  }
  std::vector<GraphSignature::Entry*> user_outputs;
  std::vector<GraphSignature::Entry*> results;
  for (auto& entry : signature_.outputs) {
    if (is_user_output(entry.role)) user_outputs.push_back(&entry);
    if (is_result(entry.role)) results.push_back(&entry);
  }
  if (results.size() != user_outputs.size()) {
    // In a joint graph the nesting is that of forward, without the gradients.
    for (std::size_t i = 0; i < results.size(); ++i) results[i]->path = {static_cast<std::int64_t>(i)};
    return;
  }
  const auto out_spec = signature.find("out_spec");
  if (!out_spec || out_spec->string().empty()) return;
  TreeSpec spec = TreeSpec::parse(out_spec->string(), "out_spec", named_tuples_);
  if (spec.leaves != user_outputs.size()) return;
  auto paths = spec.paths();
  for (std::size_t i = 0; i < paths.size(); ++i) user_outputs[i]->path = std::move(paths[i]);
  out_spec_ = std::move(spec);
}

void ExportedProgram::make_parameters(const std::map<std::string, TensorRecord>& tensors,
                                      const std::vector<Hierarchy::NamedTensor>& names) {
  constexpr std::size_t kNoInput = SIZE_MAX;
  struct FoundTensor {
    std::uint32_t module;
    ParameterKind kind;
    std::size_t position;
    std::size_t input;  // index among the program's inputs
    std::string name;
    std::string name_in_program;
    auto order() const { return std::tuple(module, kind, position); }
  };
  std::vector<FoundTensor> found;
  const auto owner_of = [&](const std::string& name) {
    return hierarchy_.find_module(QualifiedName(name).parent()).value_or(ModuleId{0}).index;
  };
  // Parameters are sorted in the order of registration.  The signature has every name in that order with
  // strict=False.  With strict=True it has only the used tensors, under one name and in the order of use; the
  // archive's order is nearer then, though it puts the names of one tensor together.
  const bool by_signature = !hierarchy_.is_strict() && lists_all_parameters(signature_, tensors);
  const auto position_of = [&](const std::string& name, std::size_t input) {
    if (by_signature) return input;
    const auto tensor = tensors.find(name);
    return tensor != tensors.end() ? tensor->second.position : tensors.size() + input;
  };
  std::set<std::string> seen;
  for (std::size_t i = 0; i < signature_.inputs.size(); ++i) {
    const auto& entry = signature_.inputs[i];
    if (!entry.target) continue;
    LiftedInput lifted;
    lifted.target = hierarchy_.first_name(*entry.target);
    if (entry.role == SignatureRole::kParameter) lifted.kind = ParameterKind::kParameter;
    if (entry.role == SignatureRole::kBuffer || entry.role == SignatureRole::kConstantTensor)
      lifted.kind = ParameterKind::kBuffer;
    if (entry.role == SignatureRole::kCustomObject) lifted.kind = ParameterKind::kCustomObject;
    if (entry.role == SignatureRole::kConstantTensor) {
      const auto record = tensors.find(*entry.target);
      lifted.constant = record != tensors.end() ? record->second : TensorRecord{};
    }
    if (seen.insert(lifted.target).second) {
      found.push_back({owner_of(lifted.target), lifted.kind, position_of(*entry.target, i), i, lifted.target,
                       *entry.target});
    }
    lifted_.emplace(inputs_[i].index, std::move(lifted));
  }
  // With strict=True the signature lists neither unused tensors nor second names.
  for (const auto& [name, tensor] : tensors) {
    const std::string first = hierarchy_.first_name(name);
    if (!seen.insert(first).second) continue;
    const auto kind = tensor.is_parameter ? ParameterKind::kParameter : ParameterKind::kBuffer;
    found.push_back({owner_of(first), kind, tensor.position, kNoInput, first, name});
  }
  std::sort(found.begin(), found.end(),
            [](const FoundTensor& a, const FoundTensor& b) { return a.order() < b.order(); });

  std::unordered_map<std::string_view, std::size_t> numbers;
  for (const Hierarchy::NamedTensor& item : names) numbers.emplace(item.name, item.tensor);
  std::unordered_map<std::size_t, std::string> first_names;
  std::map<std::string, std::string> alias_of;
  for (const FoundTensor& item : found) {
    const Meta meta = item.input != kNoInput ? graph().meta(inputs_[item.input]) : Meta{};
    ParameterRecord record;
    record.name = item.name;
    record.kind = item.kind;
    const auto tensor = tensors.find(item.name_in_program);
    if (item.kind == ParameterKind::kCustomObject) {
      record.type = meta.type.value_or("");
    } else {
      record.dtype = meta.dtype_text().value_or("");
      if (meta.device) record.device = meta.device->text();
      if (item.input != kNoInput) record.shape = fixed_shape(graph(), inputs_[item.input]);
      if (tensor != tensors.end()) {
        const TensorRecord& at = tensor->second;
        record.shape = at.sizes;
        record.dtype = at.dtype;
        record.content = at.content;
        if (at.parts.empty()) record.record = at.storage_name();
        record.stride = at.strides;
        record.storage_offset = at.offset;
        set_parts(at, record);
        const auto [first, is_new] = first_names.emplace(numbers.at(item.name_in_program), record.name);
        if (!is_new) {
          record.alias_of = first->second;
          alias_of.emplace(record.name, first->second);
        }
      }
    }
    hierarchy_.modules()[item.module].parameters.push_back(parameters_.size());
    parameters_.push_back(std::move(record));
  }
  std::map<std::string, std::vector<std::string>> other_names;
  for (const auto& [name, first] : alias_of) other_names[first].push_back(name);
  for (auto& [value, lifted] : lifted_) {
    const auto first = alias_of.find(lifted.target);
    if (first != alias_of.end()) lifted.target = first->second;
    lifted.names = other_names[lifted.target];
    lifted.names.push_back(lifted.target);
  }
}

// Records the tensors that the file stores for a tensor of a class of its own.
void ExportedProgram::set_parts(const TensorRecord& tensor, ParameterRecord& record) {
  double most = -1;  // bytes of the largest part, as a double since sizes of a file may overflow integers
  for (const StoredTensor& part : tensor.parts) {
    record.stored.push_back({part.name, part.sizes, part.dtype});
    const Dtype dtype = find_scalar_type(std::string_view(part.dtype));
    double bytes = dtype ? static_cast<double>(item_size(*dtype)) : 0;
    for (const std::int64_t size : part.sizes) bytes *= static_cast<double>(size);
    if (bytes > most) record.dtype = part.dtype;
    most = std::max(most, bytes);
  }
}

void ExportedProgram::read_guards(const JsonValue& program) {
  std::vector<RangeConstraint> constraints;
  if (const auto ranges = program.find("range_constraints")) {
    for (const JsonValue range : ranges->fields()) {
      const auto bound = [&](const char* key) -> std::optional<std::int64_t> {
        const auto value = range.find(key);
        if (!value || value->kind() != JsonValue::Kind::kInteger) return std::nullopt;
        if (value->integer() >= kUnbounded || value->integer() <= -kUnbounded) return std::nullopt;
        return value->integer();
      };
      constraints.push_back({Expression::parse(range.key()), {bound("min_val"), bound("max_val")}});
    }
  }
  dimensions_.emplace(std::move(constraints), graph());
  if (const auto code = program.find("guards_code")) {
    for (const JsonValue guard : code->items())
      conditions_.push_back(Expression::parse(readable_guard(guard.string())));
  }
}

std::string ExportedProgram::method_to_trace(const std::string& asked) const {
  if (asked == "forward") return asked;
  throw usage_error("no method '" + asked + "': an exported program has only forward");
}

const LiftedInput* ExportedProgram::find_lifted(NodeId value) const {
  const auto found = lifted_.find(value.index);
  return found == lifted_.end() ? nullptr : &found->second;
}

const CallSignature* ExportedProgram::find_signature(const Hierarchy::Call& call) const {
  if (call_signatures_.empty()) return nullptr;
  const auto found = call_signatures_.find(call.number.empty() ? call.path : call.path + "@" + call.number);
  return found == call_signatures_.end() ? nullptr : &found->second;
}

const ExportedProgram* as_exported(const Program* program) {
  return dynamic_cast<const ExportedProgram*>(program);
}

}  // namespace fxtrace::internal
