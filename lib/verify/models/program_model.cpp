// An exported program as a RunnableModel: run_file() runs the program's flat graph operator by operator, and
// a call of a leaf in the traced graph runs the operators of the program that the leaf stands for.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "exported/program/exported_program.h"
#include "shapes/tensor_options.h"
#include "support/error.h"
#include "symbolic/affine.h"
#include "verify/calls/constants.h"
#include "verify/calls/engine.h"
#include "verify/models/runnable_model.h"

namespace fxtrace::internal::verify {
namespace {

// The tensors of the archive.  Each record is mapped into memory once, copy-on-write.  Tensors are valid as
// long as this object.
class MappedWeights {
 public:
  MappedWeights(const Engine& engine, ModelFile file, const ExportedArchive& archive)
      : engine_(engine), mappings_(std::move(file)), archive_(archive) {}

  // Throws RunError.
  RunValue tensor(const TensorRecord& record);

 private:
  struct Storage {
    void* data = nullptr;
    std::size_t size = 0;
    struct Free {
      void operator()(void* memory) const { std::free(memory); }
    };
    std::unique_ptr<void, Free> own;  // memory of a compressed record, or of one that is not aligned
  };
  const Storage& storage(const TensorRecord& record);

  const Engine& engine_;
  FileMappings mappings_;
  const ExportedArchive& archive_;
  std::map<std::string, Storage> storages_;
};

const MappedWeights::Storage& MappedWeights::storage(const TensorRecord& record) {
  auto [place, is_new] = storages_.try_emplace(record.storage);
  Storage& storage = place->second;
  if (!is_new) return storage;
  RecordBytes bytes;
  try {
    bytes = archive_.storage(record.storage_name());
  } catch (const Error& error) {
    throw RunError(error.what());
  }
  // The alignment decides the order of sums, and so how they are rounded.
  constexpr std::size_t kAlignment = 64;
  const auto keep = [&](const void* from, std::size_t size) {
    storage.own.reset(std::aligned_alloc(kAlignment, (size / kAlignment + 1) * kAlignment));
    if (storage.own == nullptr) throw std::bad_alloc();
    std::memcpy(storage.own.get(), from, size);
    storage.data = storage.own.get();
  };
  if (!bytes.offset) {
    storage.size = bytes.content.size();
    keep(bytes.content.data(), storage.size);
    return storage;
  }
  if (bytes.size == 0) return storage;
  storage.data = mappings_.map(*bytes.offset, bytes.size);
  if (storage.data == nullptr)
    throw RunError(record.record + " cannot be mapped into memory, or the file ends within it");
  storage.size = static_cast<std::size_t>(bytes.size);
  if (*bytes.offset % kAlignment != 0) keep(storage.data, storage.size);
  return storage;
}

RunValue MappedWeights::tensor(const TensorRecord& record) {
  const Storage& found = storage(record);
  // torch.export saves a constant without storage, such as one within vmap, without bytes: its values are not
  // needed.
  if (found.size == 0 && record.record.find("data/constants/") != std::string::npos) {
    std::vector<RunValue> sizes;
    for (const std::int64_t size : record.sizes) sizes.push_back(engine_.integer(size));
    const RunValue dtype = engine_.constant(Argument::Dtype{record.dtype});
    return engine_.call("aten::zeros", "", {{engine_.list(sizes)}, {{"dtype", dtype}}});
  }
  static char nothing = 0;
  void* data = found.data == nullptr ? &nothing : found.data;
  return engine_.tensor(record.dtype, record.sizes, record.strides, record.offset, data, found.size);
}

class ProgramModel : public RunnableModel {
 public:
  ProgramModel(const ModelSource& source, const ExportedProgram& program)
      : source_(source),
        engine_(source.engine),
        program_(program),
        weights_(source.engine, source.file, program.archive()),
        constants_(source.engine, source.file, source.root) {
    records_ = program.archive().tensors(program.name());
    objects_ = program.archive().objects(program.name());
    match(source.collection.graphs.front(), program.graph());
    note_absorbed();
  }

  RunValue run_file(const std::vector<RunValue>& inputs) override {
    const ProgramView graph = program_.graph();
    const GraphSignature& signature = program_.signature();
    const auto named = named_inputs(source_.collection.graphs.front().graph, inputs);
    const std::map<std::string, RunValue> given(named.begin(), named.end());
    std::vector<RunValue> values;
    for (std::size_t i = 0; i < program_.inputs().size(); ++i) {
      const GraphSignature::Entry& entry = signature.inputs[i];
      if (const LiftedInput* lifted = program_.find_lifted(program_.inputs()[i])) {
        values.push_back(state(lifted->target));
        continue;
      }
      const std::string name = input_name(entry.name, i);
      values.push_back(user_input(name, entry, given));
    }
    const RunValue whole = run_graph(engine_, graph.module_graph(), values, *this, {});
    const std::vector<RunValue> outputs =
        graph.has_single_output() ? std::vector{whole} : engine_.items(whole);
    std::vector<Argument> leaves;
    std::vector<RunValue> results;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const GraphSignature::Entry& entry = signature.outputs[i];
      if (is_result(entry.role)) {
        leaves.emplace_back(NodeId{static_cast<std::uint32_t>(results.size())});
        results.push_back(outputs[i]);
      } else if (entry.role == SignatureRole::kBufferMutation ||
                 entry.role == SignatureRole::kParameterMutation) {
        write(state(entry.target.value_or("")), outputs[i]);
      } else if (entry.role == SignatureRole::kUserInputMutation) {
        write(given.at(entry.target.value_or("")), outputs[i]);
      }
    }
    const auto& spec = program_.out_spec();
    const Argument result = spec ? spec->unflatten(leaves) : Argument(Argument::Tuple{leaves});
    return engine_.evaluate(result, [&](NodeId id) { return results.at(id.index); });
  }

  std::vector<std::pair<std::string, RunValue>> buffers() override {
    std::vector<std::pair<std::string, RunValue>> found;
    for (const ParameterRecord& parameter : program_.parameters()) {
      if (parameter.kind == ParameterKind::kBuffer && !parameter.alias_of &&
          records_.contains(parameter.name))
        found.emplace_back(parameter.name, state(parameter.name));
    }
    return found;
  }

  void assign(const std::string& target, const RunValue& /*value*/) override {
    throw RunError("an exported program cannot assign " + target);
  }

  RunValue attribute(const std::string& target, const ModuleGraph& graph) override {
    if (states_.contains(target) || records_.contains(target) || objects_.contains(target))
      return state(target);
    if (const auto constant = constants_.find_constant(target, graph)) return *constant;
    return state(target);
  }

  // Runs the operators of the program that the call stands for, on its arguments.
  RunValue call_module(const ModuleCall& call) override {
    const ProgramPart& part = *call.node.program;
    if (call.node.target->empty() && part.nodes.empty()) return run_file(call.inputs);  // the root is a leaf
    const auto known = programs_.find(&call.graph);
    if (known == programs_.end() || part.nodes.empty())
      throw RunError("the program has no call that stands for these nodes");
    const ProgramView graph = known->second;
    std::unordered_map<std::uint32_t, const RunValue*> given;  // arguments, by node
    std::size_t next = 0;
    for_each_input(call.node, [&](NodeId id) { given[id.index] = &call.inputs.at(next++); });
    Values values;
    Sizes sizes;
    for (const ProgramPart::Place& place : part.inputs) {
      const Argument* argument = find_part(call.node, place.path);
      if (argument == nullptr)
        throw RunError(place.value + " is an input of the call, but not among its arguments");
      const auto* id = argument->get_if<NodeId>();
      const NodeId value = value_named(graph, place.value);
      values[value.index] = id != nullptr ? *given.at(id->index) : engine_.constant(*argument);
      note_sizes(graph.meta(value), values[value.index], sizes);
    }
    std::vector<NodeId> made;
    for (const NodeId operation : operations_of(graph, part.nodes)) {
      made.push_back(operation);
      for (NodeId id = graph.graph().next(operation); id.valid() && graph.facts(id).is_result;
           id = graph.graph().next(id))
        made.push_back(id);
    }
    run_nodes(
        engine_, graph.module_graph(), made, *this,
        [&](NodeId used) { return value_outside(graph, used, sizes, values); }, values);
    if (is_whole(graph)) write_absorbed(made, values);
    return result_of(graph, part, values);
  }

  std::optional<RunValue> call_model_function(const std::string&, const RunArguments&) override {
    return std::nullopt;
  }

 private:
  using Origins = std::vector<NodeId>;

  // --- which graph is which ---

  bool is_whole(const ProgramView& graph) const {
    return &graph.module_graph() == &program_.graph().module_graph();
  }

  void match(const ModuleGraph& graph, const ProgramView& program) {
    programs_.emplace(&graph, program);
    for (const NodeId operation : program.operations()) {
      program.for_each_subgraph(operation, [&](const std::string& name, const ProgramView& body) {
        note_lasting(program, program.node(operation), body);
        const ModuleGraph* ours = graph.subgraphs.find_graph(name);
        if (ours != nullptr) match(*ours, body);
      });
    }
  }

  // Returns the operations of the graph with these names, in the order of the graph.
  std::vector<NodeId> operations_of(const ProgramView& graph, const std::vector<std::string>& names) {
    const auto [place, is_new] = operations_.try_emplace(&graph.module_graph());
    if (is_new) {
      for (const NodeId operation : graph.operations())
        place->second[name_of_node(graph, operation)].push_back(operation);
    }
    std::vector<NodeId> found;
    for (const std::string& name : names) {
      const auto known = place->second.find(name);
      if (known != place->second.end()) found.insert(found.end(), known->second.begin(), known->second.end());
    }
    std::ranges::sort(found);
    found.erase(std::ranges::unique(found).begin(), found.end());
    return found;
  }

  NodeId value_named(const ProgramView& graph, const std::string& name) {
    const auto [place, is_new] = names_.try_emplace(&graph.module_graph());
    if (is_new) place->second = graph.values_by_name();
    const auto found = place->second.find(name);
    if (found == place->second.end()) throw RunError("the program has no value " + name);
    return found->second;
  }

  // Records the inputs of a subgraph that are the model's own tensors in every run.
  void note_lasting(const ProgramView& outer, const Node& operation, const ProgramView& inner) {
    const Origins& origin = origins_of(outer);
    for_each_lasting_operand(operation, inner, [&](NodeId input, const Argument& operand) {
      const auto* value = operand.get_if<NodeId>();
      if (value == nullptr) return;
      if (const std::string name = own_name(outer, origin[value->index]); !name.empty())
        lasting_[&inner.module_graph()][input.index] = name;
    });
  }

  const Origins& origins_of(const ProgramView& graph) {
    const auto [place, is_new] = origins_.try_emplace(&graph.module_graph());
    if (is_new) place->second = origins(graph);
    return place->second;
  }

  // Returns the name of a value that is one of the model's own tensors; empty for others.
  std::string own_name(const ProgramView& graph, NodeId value) const {
    if (is_whole(graph)) {
      const LiftedInput* lifted = program_.find_lifted(value);
      if (lifted != nullptr) return lifted->target;
    }
    const auto known = lasting_.find(&graph.module_graph());
    if (known != lasting_.end()) {
      const auto name = known->second.find(value.index);
      if (name != known->second.end()) return name->second;
    }
    return graph.node(value).op == Opcode::kGetAttr ? *graph.node(value).target : std::string();
  }

  // --- state ---

  const RunValue& state(const std::string& name) {
    if (const auto known = states_.find(name); known != states_.end()) return known->second;
    if (const auto object = objects_.find(name); object != objects_.end())
      return states_.emplace(name, load_object(object->second)).first->second;
    const auto record = records_.find(name);
    if (record == records_.end()) throw RunError("the value of " + name + " is not in the archive");
    return states_.emplace(name, load_tensor(record->second)).first->second;
  }

  // Loads a tensor.  A tensor subclass becomes the dict of its parts, of which the program takes one at a
  // time.
  RunValue load_tensor(const TensorRecord& record) {
    if (record.parts.empty()) {
      const RunValue tensor = weights_.tensor(record);
      // LibTorch multiplies in another order if an operand requires a gradient, even where none is recorded.
      const Dtype dtype = find_scalar_type(std::string_view(record.dtype));
      if (record.requires_grad && dtype && (is_floating(*dtype) || is_complex(*dtype)))
        engine_.call("aten::requires_grad_", "", {{tensor}, {}});
      return tensor;
    }
    std::vector<RunValue> names, tensors;
    for (const StoredTensor& stored : record.parts) {
      TensorRecord part{stored, 0, record.record, false, true};
      part.storage = record.record + ":" + stored.storage;
      names.push_back(engine_.text(stored.name));
      tensors.push_back(weights_.tensor(part));
    }
    return engine_.dict(names, tensors);
  }

  RunValue load_object(const std::string& record) const {
    try {
      const std::string bytes = program_.archive().read_object(record);
      return engine_.checked(engine_.api().unpickle_object(bytes.data(), bytes.size()));
    } catch (const Error& error) {
      throw RunError(error.what());
    } catch (const RunError& error) {
      const std::string why = error.what();
      const std::size_t type = why.rfind("__torch__.");
      if (why.find("resolve type") == std::string::npos || type == std::string::npos) throw;
      throw RunError("LibTorch has no class " + why.substr(type) +
                     "; --op-library opens a library that has it");
    }
  }

  RunValue user_input(const std::string& name, const GraphSignature::Entry& entry,
                      const std::map<std::string, RunValue>& given) const {
    if (const auto value = given.find(name); value != given.end()) return value->second;
    for (const ConcreteArg& fixed : source_.options.concrete) {
      if (fixed.name == name) return engine_.constant(fixed.value);
    }
    if (entry.value) return engine_.constant(*entry.value);
    throw RunError("nothing is given for the input " + name);
  }

  void write(const RunValue& to, const RunValue& from) const {
    engine_.call("aten::copy_", "", {{to, from}, {}});
  }

  // --- leaves ---

  // Sizes of the arguments of a call: as the program states them, and their values.
  struct Sizes {
    std::vector<SymInt> said;
    std::vector<std::int64_t> actual;
  };
  void note_sizes(const Meta& meta, const RunValue& value, Sizes& sizes) const {
    if (!meta.shape || !engine_.is_tensor(value)) return;
    const std::vector<std::int64_t> shape = engine_.shape(value);
    for (std::size_t i = 0; i < shape.size() && i < meta.shape->size(); ++i) {
      const SymInt* said = (*meta.shape)[i].size();
      if (said == nullptr || said->is_number()) continue;
      sizes.said.push_back(*said);
      sizes.actual.push_back(shape[i]);
    }
  }

  // Returns a value that is not among the arguments of the call: one of the model's own tensors, a size of an
  // argument, or an argument that was written in place.
  RunValue value_outside(const ProgramView& graph, NodeId used, const Sizes& sizes, const Values& values) {
    const NodeId first = origins_of(graph)[used.index];
    if (const auto same = values.find(first.index); same != values.end()) return same->second;
    if (const std::string name = own_name(graph, first); !name.empty()) return state(name);
    const auto& said = graph.meta(used).value;
    const auto source =
        said && said->size() != nullptr ? find_source(*said->size(), sizes.said) : std::nullopt;
    const auto number = source ? source->value(sizes.actual) : std::nullopt;
    if (!number) throw RunError("the program uses " + graph.value_name(used) + ", which has no value");
    return engine_.integer(*number);
  }

  // Records changes of buffers that a functional program returns, and that no node of the graph writes.
  void note_absorbed() {
    std::unordered_set<std::string> written;
    const Graph& graph = source_.collection.graphs.front().graph;
    for (NodeId id = graph.first(); id.valid(); id = graph.next(id)) {
      const Node& node = graph.node(id);
      if (*node.target != "aten.copy_.default" || node.args.empty()) continue;
      const auto* to = node.args[0].get_if<NodeId>();
      if (to != nullptr) written.insert(*graph.node(*to).target);
    }
    const auto& outputs = program_.signature().outputs;
    const std::vector<Argument> values = program_.graph().outputs();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const auto role = outputs[i].role;
      if (role != SignatureRole::kBufferMutation && role != SignatureRole::kParameterMutation) continue;
      const auto* value = values[i].get_if<NodeId>();
      const std::string target = outputs[i].target.value_or("");
      if (value == nullptr || written.contains(target) || program_.find_lifted(*value) != nullptr) continue;
      absorbed_[value->index].push_back(target);
    }
  }
  void write_absorbed(const std::vector<NodeId>& made, const Values& values) {
    for (const NodeId value : made) {
      const auto targets = absorbed_.find(value.index);
      if (targets == absorbed_.end()) continue;
      for (const std::string& target : targets->second) write(state(target), values.at(value.index));
    }
  }

  RunValue result_of(const ProgramView& graph, const ProgramPart& known, const Values& values) {
    std::vector<NestedItem> parts;
    for (const ProgramPart::Place& result : known.results) {
      const auto made = values.find(value_named(graph, result.value).index);
      if (made == values.end()) throw RunError("the call does not make all of its results");
      parts.push_back({&result.path, made->second});
    }
    return nested(engine_, parts, 0);
  }

  ModelSource source_;
  const Engine& engine_;
  const ExportedProgram& program_;
  MappedWeights weights_;
  ConstantReader constants_;
  std::map<std::string, TensorRecord> records_;
  std::map<std::string, std::string> objects_;  // records of objects of C++ classes, by name
  std::unordered_map<std::string, RunValue> states_;
  std::unordered_map<const ModuleGraph*, ProgramView> programs_;  // by the graph of the trace
  // By graph of the program, as needed.
  std::unordered_map<const ModuleGraph*, Origins> origins_;
  using Places = std::unordered_map<std::string, std::vector<NodeId>>;
  std::unordered_map<const ModuleGraph*, Places> operations_;
  std::unordered_map<const ModuleGraph*, std::unordered_map<std::string_view, NodeId>> names_;
  std::unordered_map<const ModuleGraph*, std::unordered_map<std::uint32_t, std::string>> lasting_;
  std::unordered_map<std::uint32_t, std::vector<std::string>> absorbed_;  // targets, by value
};

}  // namespace

std::unique_ptr<RunnableModel> load_program_model(const ModelSource& source, const ExportedProgram& program) {
  return std::make_unique<ProgramModel>(source, program);
}

}  // namespace fxtrace::internal::verify
