// A TorchScript archive as a RunnableModel: LibTorch's interpreter runs it, with large records mapped into
// memory.
#include <algorithm>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

#include "archive/zip_archive.h"
#include "support/text/qualified_name.h"
#include "trace/options/input_spec.h"
#include "verify/calls/constants.h"
#include "verify/calls/engine.h"
#include "verify/models/runnable_model.h"

namespace fxtrace::internal::verify {
namespace {

// The file of an archive, and its mappings.
struct ScriptFile {
  ModelFile file;
  std::string folder;  // "archive/"
  ZipArchive zip;
  FileMappings mappings;
};

// An FxtraceRead; `context` is a ScriptFile.
std::size_t read_script(void* context, std::uint64_t offset, void* to, std::size_t size) {
  return read_file(&static_cast<ScriptFile*>(context)->file, offset, to, size);
}

// An FxtraceMap; `context` is a ScriptFile.
void* map_record(void* context, const char* record, std::size_t* size) {
  auto& script = *static_cast<ScriptFile*>(context);
  const std::string name = script.folder + record;
  constexpr std::uint64_t kWorthIt = 1U << 16;  // the system allows some ten thousand mappings
  constexpr std::uint64_t kAlignment = 64;  // alignment of allocations, which decides how sums are rounded
  const std::uint64_t bytes = script.zip.size(name);
  const std::optional<std::uint64_t> offset = bytes < kWorthIt ? std::nullopt : script.zip.find_stored(name);
  if (!offset || *offset % kAlignment != 0) return nullptr;
  *size = static_cast<std::size_t>(bytes);
  try {
    return script.mappings.map(*offset, bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

class ScriptModel : public RunnableModel {
 public:
  explicit ScriptModel(const ModelSource& source)
      : source_(source),
        engine_(source.engine),
        constants_(source.engine, source.file, source.root),
        script_{source.file, source.root.empty() ? "" : source.root + "/", ZipArchive(source.file),
                FileMappings(source.file)} {
    // LibTorch upgrades old quantized modules after loading, which needs its own way of loading.
    const bool is_mapped = std::ranges::none_of(source_.collection.modules, [](const ModuleRecord& module) {
      return module.type.find("quantized") != std::string::npos;
    });
    root_ = engine_.checked(
        engine_.api().load(read_script, is_mapped ? map_record : nullptr, &script_, source_.file.size()));
  }

  RunValue run_file(const std::vector<RunValue>& inputs) override {
    RunArguments arguments;
    const ModuleGraph& graph = source_.collection.graphs.front();
    if (graph.signature) {
      arguments.named = arguments_of_forward(engine_, graph, inputs);
      return call(root_, method(), arguments);
    }
    arguments.named = named_inputs(graph.graph, inputs);
    for (const ConcreteArg& fixed : source_.options.concrete) {
      if (is_concrete_placeholder(fixed.value))
        throw RunError("nested values of the input " + fixed.name + " cannot be given");
      std::erase_if(arguments.named, [&](const auto& given) { return given.first == fixed.name; });
      arguments.named.emplace_back(fixed.name, engine_.constant(fixed.value));
    }
    return call(root_, method(), arguments);
  }

  // Returns buffers, and attributes that the graph assigns.
  std::vector<std::pair<std::string, RunValue>> buffers() override {
    std::vector<std::pair<std::string, RunValue>> found;
    for (const std::string& name : source_.state) found.emplace_back(name, find(name));
    if (is_other()) return found;
    for (const ParameterRecord& parameter : source_.collection.parameters) {
      if (parameter.kind == ParameterKind::kBuffer && !parameter.alias_of)
        found.emplace_back(parameter.name, find(parameter.name));
    }
    for (const Assignment& assignment : source_.collection.graphs.front().graph.assignments())
      found.emplace_back(assignment.target, find(assignment.target));
    return found;
  }

  RunValue attribute(const std::string& target, const ModuleGraph& graph) override {
    if (const auto constant = constants_.find_constant(target, graph)) return *constant;
    return find(target);
  }

  void assign(const std::string& target, const RunValue& value) override {
    const QualifiedName name(target);
    engine_.set_attribute(find(std::string(name.parent())), name_of_part(name.last()), value);
  }

  RunValue call_module(const ModuleCall& made) override {
    const std::string& path = *made.node.target;
    const std::string& method = *made.node.method;
    return call(find(path), method.empty() ? "forward" : method, made.arguments);
  }

  std::optional<RunValue> call_model_function(const std::string& target,
                                              const RunArguments& arguments) override {
    return engine_.call_function(root_, target, arguments);
  }

 private:
  bool is_other() const { return !source_.method.empty(); }
  const std::string& method() const { return is_other() ? source_.method : source_.collection.model.method; }

  RunValue find(const std::string& path) const {
    RunValue value = root_;
    for (const std::string_view part : QualifiedName(path).parts())
      value = engine_.attribute(value, name_of_part(part));
    return value;
  }

  bool has(const RunValue& module, const std::string& method) const {
    return engine_.api().has_method(module.get(), method.c_str());
  }

  RunValue call(const RunValue& module, const std::string& method, const RunArguments& arguments) const {
    if (has(module, method)) return engine_.call_method(module, called(method), arguments);
    // The method may have overloads, as forward of nn.LSTM.
    std::optional<RunError> refused;
    for (int i = 0; has(module, method + "__" + std::to_string(i)); ++i) {
      try {
        return engine_.call_method(module, method + "__" + std::to_string(i), arguments);
      } catch (const RunError& error) {
        refused = error;
      }
    }
    if (refused) throw RunError(*refused);
    throw RunError("the module has no method " + method);
  }

  // Returns the name by which the method is called: __call__ is forward with the module's hooks.
  std::string called(const std::string& method) const {
    return method == "forward" && source_.options.hooks == Hooks::kRun ? "__call__" : method;
  }

  ModelSource source_;
  const Engine& engine_;
  ConstantReader constants_;
  ScriptFile script_;
  RunValue root_;
};

}  // namespace

std::unique_ptr<RunnableModel> load_script_model(const ModelSource& source) {
  return std::make_unique<ScriptModel>(source);
}

}  // namespace fxtrace::internal::verify
