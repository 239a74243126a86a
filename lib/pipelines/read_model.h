// The path from files to collections: identify, load, trace, finish; one model, a pair, or what an earlier
// trace saved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "archive/file_kind.h"
#include "archive/model_file.h"
#include "execute/plugin.h"
#include "fxtrace/error.h"
#include "fxtrace/listener.h"
#include "graph/graph_collection.h"
#include "trace/options/options.h"
#include "trace/search/trace.h"

namespace fxtrace::internal {

// What the work of a command reports and keeps while it runs, in whichever process that is.

// The code that runs, for the diagnosis of a crash.
enum class Stage { kFxtrace, kLoadLibTorch, kLoadOperators, kRunModel };

// Returns the listener with functions that ignore what the others do not receive.
inline Listener filled(Listener listener) {
  for (auto* receive :
       {&listener.progress, &listener.warning, &listener.note, &listener.hint, &listener.status}) {
    if (!*receive) *receive = Listener::ignore;
  }
  return listener;
}

class Run {
 public:
  static constexpr std::size_t kAllFiles = SIZE_MAX;

  // `process_ends` says that the process ends after the work, so that memory need not be freed.
  explicit Run(Listener listener, bool process_ends = false)
      : listener_(filled(std::move(listener))), process_ends_(process_ends) {}
  virtual ~Run() = default;
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  const Listener& listener() const { return listener_; }

  // --- the progress, for a supervisor of the process ---

  virtual void begins(Stage /*stage*/) {}
  // Called when no more files will be opened.  `runs_model` says that operators of LibTorch will run, which
  // may generate code.
  virtual void all_is_open(bool /*runs_model*/) {}
  // Says which of the input files is read from here on: 0 is the first, as at the beginning.
  virtual void reads(std::size_t /*file*/) {}

  // --- the result ---

  // Notes that the work did not do something that a strict configuration asks for.
  virtual void fail_strict(const Error& /*what*/) { failed_strict_ = true; }
  bool has_failed_strict() const { return failed_strict_; }

  // Keeps an object until the end of this, or of the process: destroying a large graph takes as long as
  // building it.
  template <class T>
  T& keep_alive(T value) {
    auto kept = std::make_unique<T>(std::move(value));
    if (process_ends_) return *kept.release();
    T& result = *kept;
    kept_.emplace_back(std::move(kept));
    return result;
  }

 private:
  Listener listener_;
  bool process_ends_;
  bool failed_strict_ = false;
  std::vector<std::shared_ptr<void>> kept_;
};

// The steps from a model's file to its collection: identify, load, trace, finish.

// A model's file and the name that a collection gives it: "model.pt"; "-" for the standard input.
struct NamedFile {
  NamedFile(const ModelFile& opened, std::string model_name) : file(opened), name(std::move(model_name)) {}
  NamedFile(const ModelFile& opened) : NamedFile(opened, opened.base_name()) {}  // NOLINT: stands for it

  const ModelFile& file;
  std::string name;
};

// Returns f(); an error without a place gets that of the file.
template <class F>
auto at_file(const ModelFile& file, F&& f) {
  try {
    return f();
  } catch (const Error& error) {
    throw Error(error).at(file.path());
  }
}

// Loads options.op_libraries, whose initialisation code runs, and stores the operators that they register in
// options.registered.  Must be called before any part of the model is read.  Returns the engine if the model
// is to be run, else null.  Throws Error.
const FxtraceEngine* open_libraries(TraceOptions& options, bool runs_model, Run& run);

// Reads the model without tracing it.  `info` is the result of identify_file().  Throws Error(kInput) at
// file.path().
std::unique_ptr<const Program> load_program(const ModelFile& file, const FileInfo& info,
                                            const TraceOptions& options, const Listener& listener);

// Traces a TorchScript archive or an exported program, and passes messages of the trace to the listener.
// `info` is the result of identify_file().  model.file and options_json are filled in; passes of the
// configuration are not run.  `run` owns the result.  If the configuration is strict, throws Error(kUsage)
// for an option without effect, as it is probably a mistake, and the run falls short if an option could not
// be followed.  Throws Error at file.path() for all other problems.
TraceResult& trace_file(const NamedFile& file, const FileInfo& info, const Config& config,
                        const TraceRequest& wanted, Run& run);
// Does the same with another listener, and leaves the result to the caller.
TraceResult trace_file(const NamedFile& file, const FileInfo& info, const Config& config, TraceRequest wanted,
                       const Listener& listener);

// --- models or collections ---

// Returns whether the file begins as a collection's JSON does; read_collection_file() checks the rest.
bool may_be_collection(const ModelFile& file, const FileInfo& info);

// Reads the JSON that `fxtrace trace` wrote, for a command that takes models too.  Throws Error(kUsage) if
// options of a trace are given, as they do not apply, and Error(kInput).
GraphCollection read_saved_collection(bool has_trace_options, const ModelFile& file,
                                      const Listener& listener);

// Returns the trace of a model, or the collection that `fxtrace trace` saved, which has no program; `run`
// owns it.  Throws as read_model_or_collection() does.
TraceResult& trace_or_read(const Config& config, bool has_trace_options, const NamedFile& file, Run& run);

// Returns the collection of a model, traced and after the passes of the configuration, or the one that
// `fxtrace trace` saved; `run` owns it.  Throws Error(kUsage) if options of a trace are given for a saved one
// (`has_trace_options`), and Error(kInput).
GraphCollection& read_model_or_collection(const Config& config, bool has_trace_options, const NamedFile& file,
                                          Run& run);

// Reads saved collections.

// Reads the JSON that write_json() wrote; the listener is warned of ignored fields.  Throws Error(kInput) at
// the file.
GraphCollection read_collection_file(const ModelFile& file, const Listener& listener);

// Returns the options that the collection was traced with; of those of another version, what precedes the first
// that this one does not know.
Config saved_options(const GraphCollection& collection);

// Reads the two models or collections that a command compares.

struct ModelPair {
  GraphCollection& before;
  GraphCollection& after;
};

// Reads or traces each as read_model_or_collection() does.  An option that only one kind of file takes goes
// to the model of that kind, if the two models are of different kinds.  TorchScript beside an exported
// program is traced as torch.export does: with the sizes of that program's inputs (unless options give
// inputs), and with functions of torch.nn.functional traced into; but without this, if more modules fail to
// trace with it.  `run` owns both.
ModelPair read_model_pair(const Config& config, const NamedFile& first, const NamedFile& second, Run& run);

}  // namespace fxtrace::internal
