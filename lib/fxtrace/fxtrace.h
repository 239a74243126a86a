// fxtrace as a library: what `fxtrace trace` and `fxtrace render` do, in the process of the caller.
//
//   fxtrace::Config config;
//   config.options.inputs = {{"x", "float32[1,3,224,224]"}};
//   config.passes = {"functional"};
//   const fxtrace::GraphCollection collection = fxtrace::trace("model.pt", config);
//   fxtrace::write_json(collection, std::cout);
//
// What can go wrong with a file, an option or a model's archive is an fxtrace::Error; what a model cannot do
// while it is traced is data, `failure` in `modules`.  Names and values in a collection come from the file,
// whatever they are.
//
// Unlike the program, the library reads the model in this very process, with the limits that each trace has
// and no other on memory and time.  Models of strangers are better left to the program, which has a process
// for them that can do nothing (docs/security.md), and whose JSON is read by read_json().  It takes a stack
// of 8 MiB, as main threads have.  Several threads may trace at the same time, what one traces is its own.
//
// Libraries of operators (`op_libraries`) take LibTorch, which is found and opened with the first of them
// (fxtrace/libtorch.h says where it is looked for), and the plugin that asks it: programs built with
// find_package(fxtrace) know the folder of the package, and one that is installed elsewhere has it beside
// itself or in ../lib/fxtrace.  Both stay open.  One thread at a time may do that.
#pragma once

#include <string>
#include <vector>

#include "fxtrace/plugin_folder.h"
#include "graph/graph_collection.h"
#include "passes/pass.h"
#include "support/error.h"
#include "trace/config.h"
#include "trace/trace_program.h"
#include "writers/dot_writer.h"
#include "writers/fx_writer.h"
#include "writers/html_writer.h"
#include "writers/json_writer.h"
#include "writers/mermaid_writer.h"
#include "writers/model_explorer_writer.h"
#include "writers/text_writer.h"

namespace fxtrace {

// Traces the TorchScript archive or exported program at `path`, and runs the passes of the configuration; the
// options are those of `fxtrace trace`, and read_config() reads them from JSON.  The listener is told of
// warnings, notes and progress.  Throws Error: kUsage for options that are wrong or, where the configuration
// is strict, do nothing; kInput for files that cannot be read or traced, and for a LibTorch that is missing.
GraphCollection trace(const std::string& path, const Config& config = {}, const Listener& listener = {});

// The collection in a file that write_json() or the program wrote.  Throws Error(kInput).
GraphCollection read_json(const std::string& path, const Listener& listener = {});

// Runs graph passes by their names (passes() of passes/pass.h lists them) and adds them to the options of the
// collection; each report says what its pass left as it was.  Throws Error(kUsage) for a name that no pass
// has, before any is run.
std::vector<PassReport> apply_passes(const std::vector<std::string>& names, GraphCollection& collection);

}  // namespace fxtrace
