// The data of `fxtrace inspect`: the content of a model file.
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

namespace fxtrace::internal {

struct Inspection {
  FileInfo file;
  std::string producer;
  GraphCollection collection;      // from a trace, or only a description when the model lacks the method
  std::vector<ModuleSizes> sizes;  // by module of the collection
  TensorTotal constants_total;
  std::vector<MethodInfo> methods;                       // methods of the root
  std::optional<std::size_t> method;                     // index of the traced one in `methods`
  std::vector<std::vector<std::string>> module_methods;  // names, by module of the collection
  std::vector<ConstantInfo> constants;
  std::optional<std::int64_t> max_depth;  // limit for the table of modules
  std::vector<CompiledModel> compiled;    // compiled models in the same archive
  // The releases of torch that load an exported program.
  struct LoadsWith {
    std::string since;                 // the first of them: "2.9"
    std::optional<std::string> until;  // the first later one that does not
    std::vector<std::string> because;  // what decides that
  };
  std::optional<LoadsWith> loads_with;
};

// Makes the data from a trace and its description; `method` is the requested method.
Inspection inspect_model(GraphCollection collection, ModelDescription description, const FileInfo& file,
                         const std::string& method);

// The inspection of a file that is not traced: any file, or an archive with several models.
struct FileInspection {
  std::string name;
  FileInfo file;
  std::vector<std::string> to_choose_from = {};  // exported programs, when there are several and no --model
  bool compiled_only = false;                    // has compiled models only, or --model names one of them
  std::vector<CompiledModel> compiled = {};
};

}  // namespace fxtrace::internal
