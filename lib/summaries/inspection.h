// The data of `fxtrace inspect`: what a model file holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "archive/compiled_model.h"
#include "archive/file_kind.h"
#include "graph/graph_collection.h"
#include "summaries/model_description.h"
#include "summaries/parameter_sizes.h"

namespace fxtrace {

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

// Makes the data from a trace and its description; `method` is the requested method.
Inspection inspect_model(GraphCollection collection, ModelDescription description, const FileInfo& file,
                         const std::string& method);

// A file of which nothing is traced: any file, or an archive with several models.
struct FileInspection {
  std::string name;
  FileInfo file;
  std::vector<std::string> to_choose_from = {};  // exported programs, when there are several and no --model
  bool compiled_only = false;  // there is nothing else, or --model names one that was compiled
  std::vector<CompiledModel> compiled = {};
};

}  // namespace fxtrace
