// fxtrace as a library: what `fxtrace trace` and `fxtrace render` do, in the process of the caller.
//
//   internal::Config config;
//   config.options.inputs = {{"x", "float32[1,3,224,224]"}};
//   config.passes = {"functional"};
//   const internal::GraphCollection collection = internal::trace("model.pt", config);
//   internal::write_json(collection, std::cout);
//
// Problems with a file, an option or a model's archive are thrown as internal::Error; a module that cannot be
// traced is not an error but data, `failure` in `modules`.  Names and values in a collection come from the
// file and are not sanitised.
//
// Unlike the program, the library reads the model in the calling process, without limits on memory and time
// other than those of a trace.  For untrusted models, run the program, which uses a sandboxed process
// (docs/explanation/security.md), and read its JSON with read_json().  A trace needs a stack of 8 MiB, as
// main threads have.  Several threads may trace at the same time; traces share no data.
//
// Libraries of operators (`op_libraries`) need LibTorch, which is opened with the first of them
// (fxtrace/libtorch.h says where it is searched), and fxtrace's plugin: programs built with
// find_package(fxtrace) know the package's folder; others need the plugin beside the program or in
// ../lib/fxtrace.  Both stay open.  Only one thread at a time may use `op_libraries`.
#pragma once

#include <string>
#include <vector>

#include "fxtrace/plugin_folder.h"
#include "graph/graph_collection.h"
#include "passes/pass.h"
#include "support/error.h"
#include "trace/options/config.h"
#include "trace/search/trace_program.h"
#include "writers/graphs/fx_writer.h"
#include "writers/graphs/json_writer.h"
#include "writers/graphs/text_writer.h"
#include "writers/pictures/dot_writer.h"
#include "writers/pictures/html_writer.h"
#include "writers/pictures/mermaid_writer.h"
#include "writers/pictures/model_explorer_writer.h"

namespace fxtrace::internal {

// Traces the TorchScript archive or exported program at `path`, and runs the passes of the configuration.
// The options are those of `fxtrace trace`; read_config() reads them from JSON.  The listener receives
// warnings, notes and progress.  Throws Error: kUsage for wrong options, and, in a strict configuration, for
// options without effect; kInput for files that cannot be read or traced, and when LibTorch is missing.
GraphCollection trace(const std::string& path, const Config& config = {}, const Listener& listener = {});

// Reads a collection from a file written by write_json() or by the program.  Throws Error(kInput).
GraphCollection read_json(const std::string& path, const Listener& listener = {});

// Runs graph passes by name (passes() of passes/pass.h lists them) and adds them to the options of the
// collection.  Each report lists what its pass left unchanged.  Throws Error(kUsage) for an unknown name,
// before any pass runs.
std::vector<PassReport> apply_passes(const std::vector<std::string>& names, GraphCollection& collection);

}  // namespace fxtrace::internal
