#include "pipelines/model_pair.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/analysis/collection_summary.h"
#include "pipelines/configs.h"
#include "pipelines/passes.h"
#include "pipelines/read_model.h"
#include "rules/check.h"
#include "support/log.h"
#include "support/text/words.h"
#include "trace/options/input_spec.h"

namespace fxtrace::internal {
namespace {

// Returns an input specification, "float32[s77,3,32,32]"; nothing if the shape or the dtype is not known.
std::optional<std::string> spec_text(const Meta& meta) {
  const auto sizes = meta.sizes();
  if (!sizes || !meta.dtype) return std::nullopt;
  return dtype_name(*meta.dtype) + "[" + joined(*sizes, &SymInt::text) + "]" +
         (meta.device ? "@" + meta.device->text() : "");
}

bool speak_of_inputs(const TraceOptions& options) {
  return !options.inputs.empty() || !options.concrete.empty() || options.input_names;
}

// Adds the program's inputs to the options, by name or position, as far as they are known.
void add_inputs(const GraphCollection& program, bool has_names, TraceOptions& options) {
  const Graph& graph = program.graphs.front().graph;
  std::size_t place = 0;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (node.op != Opcode::kPlaceholder) continue;
    const std::string name = has_names ? *node.target : std::to_string(place);
    ++place;
    if (const auto text = spec_text(node.meta)) options.inputs.push_back({name, *text});
  }
  ShapeEnv dimensions;
  add_guards(program, dimensions);
  for (const std::string& name : named_dimensions(options.inputs)) {
    const Range range = dimensions.range(name);
    options.dimensions.push_back({name, range.low, range.high});
  }
}

class PairReader {
 public:
  PairReader(const Config& config, Run& run) : config_(config), run_(run) {}

  GraphCollection& read(const NamedFile& input, const FileInfo& info, const FileInfo& other) {
    const bool differ = is_traceable(info.kind) && is_traceable(other.kind) && info.kind != other.kind;
    return read_model_or_collection(differ ? config_for(config_, info.kind) : config_, false, input, run_);
  }

  // Traces TorchScript with the inputs of the exported program that it is compared with.
  GraphCollection& read_beside(const GraphCollection& program, const NamedFile& input, const FileInfo& info,
                               const FileInfo& other) {
    GraphCollection* found = find_fitting(program, input, info);
    if (found == nullptr) return read(input, info, other);
    const std::size_t failed = count_failed(*found);
    if (failed == 0) return *found;
    GraphCollection& plain = read(input, info, other);
    return count_failed(plain) < failed ? plain : *found;
  }

 private:
  // Traces with the program's inputs, or those of the options; returns null where the model does not take
  // these.
  GraphCollection* find_fitting(const GraphCollection& program, const NamedFile& input,
                                const FileInfo& info) {
    for (const bool has_names : {true, false}) {
      Config config = config_for(config_, info.kind);
      const bool has_inputs = speak_of_inputs(config.options);
      if (has_inputs && !has_names) break;
      config.options.default_wrap = false;
      std::vector<std::string> warnings, notes;
      try {
        if (!has_inputs && !program.graphs.empty()) add_inputs(program, has_names, config.options);
        Listener own = run_.listener();
        own.warning = [&](const std::string& text) { warnings.push_back(text); };
        own.note = [&](const std::string& text) { notes.push_back(text); };
        TraceResult& result = run_.keep_alive(trace_file(input, info, config, {}, own));
        if (!result.warnings.empty()) continue;  // the operators do not take such sizes
        for (const std::string& text : warnings) run_.listener().warning(text);
        for (const std::string& text : notes) run_.listener().note(text);
        run_passes(config.passes, result.collection, run_.listener());
        return &result.collection;
      } catch (const Error& error) {
        if (error.kind() == ErrorKind::kInternal) throw;
        // the same error comes again without these inputs
        if (error.kind() == ErrorKind::kInput) return nullptr;
      }
    }
    return nullptr;
  }

  const Config& config_;
  Run& run_;
};

}  // namespace

ModelPair read_model_pair(const Config& config, const NamedFile& first, const NamedFile& second, Run& run) {
  PairReader reader(config, run);
  const FileInfo info = identify_file(first.file);
  run.reads(1);
  const FileInfo other = identify_file(second.file);
  const auto is_script = [](const FileInfo& file) { return file.kind == FileKind::kTorchScript; };
  const bool second_first = is_script(info) && !is_script(other);
  GraphCollection* before = nullptr;
  GraphCollection* after = nullptr;
  const auto read = [&](bool is_second) {
    run.reads(is_second ? 1 : 0);
    GraphCollection*& collection = is_second ? after : before;
    const GraphCollection* known = is_second ? before : after;
    const NamedFile& input = is_second ? second : first;
    const FileInfo& own = is_second ? other : info;
    const FileInfo& others = is_second ? info : other;
    const bool beside_program = known != nullptr && is_script(own) && !known->model.is_torchscript();
    collection =
        beside_program ? &reader.read_beside(*known, input, own, others) : &reader.read(input, own, others);
  };
  read(second_first);
  read(!second_first);
  run.reads(Run::kAllFiles);
  return {*before, *after};
}

}  // namespace fxtrace::internal
