#include "pipelines/read_model.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "archive/file_kind.h"
#include "costs/custom_costs.h"
#include "exported/program/exported_program.h"
#include "graph/analysis/collection_summary.h"
#include "interpreter/load.h"
#include "pipelines/configs.h"
#include "pipelines/libtorch/operator_libraries.h"
#include "pipelines/passes.h"
#include "readers/collection_reader.h"
#include "rules/check.h"
#include "support/error.h"
#include "support/json_document.h"
#include "support/json_emitter.h"
#include "support/log.h"
#include "support/text/unicode.h"
#include "support/text/words.h"
#include "torchscript/language/source.h"
#include "trace/options/input_spec.h"

namespace fxtrace::internal {
namespace {

std::unique_ptr<const Program> load(const FileInfo& info, const TraceOptions& options,
                                    const SpentUnits& spent, const Listener& listener) {
  if (!is_traceable(info.kind)) throw not_traceable(info);
  if (info.kind == FileKind::kExportedProgram)
    return std::make_unique<const ExportedProgram>(info, options.model);
  if (options.model) throw usage_error("--model needs an archive of exported programs; this is " + info.what);
  return interpreter::load_torchscript(info, options, listener, spent);
}

// Calls f() and adds the file to its errors.
template <class F>
auto naming_file(const ModelFile& file, F&& f) {
  try {
    return f();
  } catch (const torchscript::SourceError& error) {  // the place is a line of a record
    throw input_error(error.what()).at(file.path() + ": " + error.place());
  } catch (Error& error) {
    error.at(file.path());
    throw;
  }
}

TraceResult traced(const ModelFile& file, const FileInfo& info, const TraceOptions& options,
                   const TraceRequest& wanted, const Listener& listener) {
  return naming_file(file, [&] {
    if (wanted.loaded) return trace_program(wanted.loaded, options, wanted, listener);
    const Timer timer;
    std::unique_ptr<const Program> program = load(info, options, wanted.spent, listener);
    const std::string time = timer.milliseconds();
    listener.progress("loaded " + std::to_string(program->modules().size()) + " modules and " +
                      std::to_string(program->parameters().size()) + " parameters and buffers in " + time);
    TraceResult result = trace_program(std::move(program), options, wanted, listener);
    result.load_time = time;
    return result;
  });
}

}  // namespace

std::unique_ptr<const Program> load_program(const ModelFile& file, const FileInfo& info,
                                            const TraceOptions& options, const Listener& listener) {
  return naming_file(file, [&] { return load(info, options, nullptr, listener); });
}

const FxtraceEngine* open_libraries(TraceOptions& options, bool runs_model, Run& run) {
  const FxtraceEngine* engine = nullptr;
  if (runs_model) {
    run.begins(Stage::kLoadLibTorch);
    engine = &open_engine(run.listener());
  }
  if (!options.op_libraries.empty()) {
    run.begins(Stage::kLoadLibTorch);
    open_execute_plugin(run.listener(), "--op-library");
    run.begins(Stage::kLoadOperators);
    options.registered = load_operators(options.op_libraries, run.listener());
  }
  run.begins(Stage::kFxtrace);
  run.all_is_open(runs_model);
  return engine;
}

TraceResult trace_file(const NamedFile& file, const FileInfo& info, const Config& config, TraceRequest wanted,
                       const Listener& listener) {
  wanted.spent = std::make_shared<std::int64_t>(0);  // one budget for the whole trace of a file
  TraceResult result = traced(file.file, info, config.options, wanted, listener);
  if (config.strict && !result.unmatched_options.empty())
    throw usage_error(result.unmatched_options.front().text());
  warn_of(result.unmatched_options, listener);
  warn_of(result.unfollowed_options, listener);
  warn_of(result.warnings, listener);
  for (const auto& note : result.notes) listener.note(note);
  result.collection.options_json = options_json(config);
  result.collection.model.file = file.name;
  return result;
}

TraceResult& trace_file(const NamedFile& file, const FileInfo& info, const Config& config,
                        const TraceRequest& wanted, Run& run) {
  run.listener().progress(file.file.path() + " is " + info.what);
  TraceResult& result = run.keep_alive(trace_file(file, info, config, wanted, run.listener()));
  if (config.strict && !result.unfollowed_options.empty())
    run.fail_strict(
        input_error("an option could not be followed: " + result.unfollowed_options.front().text())
            .at(file.file.path()));
  return result;
}

bool may_be_collection(const ModelFile& file, const FileInfo& info) {
  constexpr std::size_t kBeginning = 64;
  if (info.kind != FileKind::kText) return false;
  const std::string text = file.read_at(0, kBeginning);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string::npos && text[first] == '{';
}

GraphCollection read_saved_collection(bool has_trace_options, const ModelFile& file,
                                      const Listener& listener) {
  if (has_trace_options)
    throw usage_error("options of a trace do not apply to " + file.path() + ", which is traced already");
  return read_collection_file(file, listener);
}

TraceResult& trace_or_read(const Config& config, bool has_trace_options, const NamedFile& file, Run& run) {
  const FileInfo info = at_file(file.file, [&] { return identify_file(file.file); });
  if (is_traceable(info.kind)) return trace_file(file, info, config, {}, run);
  if (!may_be_collection(file.file, info)) throw not_traceable(info).at(file.file.path());
  TraceResult& result = run.keep_alive(TraceResult{});
  result.collection = read_saved_collection(has_trace_options, file.file, run.listener());
  result.collection.model.file = file.name;
  return result;
}

GraphCollection& read_model_or_collection(const Config& config, bool has_trace_options, const NamedFile& file,
                                          Run& run) {
  GraphCollection& collection = trace_or_read(config, has_trace_options, file, run).collection;
  run_passes(config.passes, collection, run.listener());
  return collection;
}

namespace {

std::string some_of(const std::set<std::string>& names) {
  constexpr std::size_t kShown = 5, kMaxName = 80;
  std::string text;
  std::size_t shown = 0;
  for (const auto& name : names) {
    if (shown == kShown) break;
    text += (shown++ == 0 ? "" : ", ") + cut(name, kMaxName);
  }
  return names.size() == shown ? text : text + " and " + std::to_string(names.size() - shown) + " more";
}

}  // namespace

GraphCollection read_collection_file(const ModelFile& file, const Listener& listener) {
  const std::string& name = file.path();
  const FileInfo info = identify_file(file);
  if (info.kind != FileKind::kText) {
    throw input_error("this is not a graph collection but " + info.what,
                      {"fxtrace trace MODEL -o FILE.json writes one"})
        .at(name);
  }
  const Timer timer;
  std::string text = file.read_whole();
  const std::size_t size = text.size();
  std::set<std::string> unknown;
  GraphCollection collection = read_collection(std::move(text), name, &unknown);
  listener.progress("read " + std::to_string(size) + " bytes of " + name + " in " + timer.milliseconds());
  if (!unknown.empty())
    listener.warning(name + ": ignored fields that a later fxtrace has written: " + some_of(unknown));
  const JsonDocument options(collection.options_json, "options");
  if (const auto costs = options.root().find("cost")) {
    for (const JsonValue cost : costs->fields())
      collection.custom_costs.push_back(make_custom_cost(cost.key(), std::string(cost.string())));
  }
  return collection;
}

Config saved_options(const GraphCollection& collection) {
  Config config;
  try {
    read_config(collection.options_json, collection.model.file, config);
  } catch (const Error&) {
    // Another version's: what it wrote before the option that this one does not know holds.
  }
  return config;
}

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
