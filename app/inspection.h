// What `fxtrace inspect` shows of a model, and its two forms.
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
  GraphCollection collection;      // of a trace, or of a model without the method to trace
  std::vector<ModuleSizes> sizes;  // by module of the collection
  TensorTotal constants_total;
  std::vector<MethodInfo> methods;                       // of the root
  std::optional<std::size_t> method;                     // among them: the one that is traced
  std::vector<std::vector<std::string>> module_methods;  // by module of the collection: names
  std::vector<ConstantInfo> constants;
  std::optional<std::int64_t> max_depth;  // of the table of modules
  std::vector<CompiledModel> compiled;    // that stand in the archive, too
};

// What a trace with its description tells of the model; `method` was asked for.
Inspection inspect(TraceResult traced, const FileInfo& file, const std::string& method);

void write_inspection_text(const Inspection& inspection, std::ostream& out);
void write_inspection_json(const Inspection& inspection, std::ostream& out);

// Of any file, a model or not: the first line, and the document, whose further fields `write_more` writes.
std::string headline(const std::string& name, const FileInfo& file);
void write_file_json(
    const std::string& name, const FileInfo& info, std::ostream& out,
    const std::function<void(JsonEmitter&)>& write_more = [](JsonEmitter&) {});

}  // namespace fxtrace::cli
