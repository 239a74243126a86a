// Output of `fxtrace inspect` about a model, as text and as JSON.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "archive/compiled_model.h"
#include "archive/file_kind.h"
#include "graph/graph_collection.h"
#include "summaries/parameter_sizes.h"
#include "support/json_emitter.h"
#include "trace/program.h"
#include "trace/trace.h"

namespace fxtrace::cli {

struct Inspection {
  FileInfo file;
  std::string producer;
  GraphCollection collection;      // of a trace, or just described when the model lacks the method
  std::vector<ModuleSizes> sizes;  // by module of the collection
  TensorTotal constants_total;
  std::vector<MethodInfo> methods;                       // methods of the root
  std::optional<std::size_t> method;                     // index in `methods` of the traced one
  std::vector<std::vector<std::string>> module_methods;  // names, by module of the collection
  std::vector<ConstantInfo> constants;
  std::optional<std::int64_t> max_depth;  // limit for the table of modules
  std::vector<CompiledModel> compiled;    // compiled models in the same archive
};

// Makes the data from a trace with its description; `method` is the requested method.
Inspection inspect(TraceResult traced, const FileInfo& file, const std::string& method);

void write_inspection_text(const Inspection& inspection, std::ostream& out);
void write_inspection_json(const Inspection& inspection, std::ostream& out);

// For any file, a model or not: returns the first line; writes the JSON document, whose further fields
// `write_more` writes.
std::string headline(const std::string& name, const FileInfo& file);
void write_file_json(
    const std::string& name, const FileInfo& info, std::ostream& out,
    const std::function<void(JsonEmitter&)>& write_more = [](JsonEmitter&) {});

}  // namespace fxtrace::cli
