// Questions about one model: its summary, its content, and why it is as it is.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "costs/graph_costs.h"
#include "pipelines/read_model.h"
#include "summaries/bill_of_materials.h"
#include "summaries/explanation.h"
#include "summaries/inspection.h"
#include "summaries/model_summary.h"

namespace fxtrace::internal {

// The summary of a model or of a saved collection, with its costs.

struct SummaryRequest {
  std::vector<GivenSizes> at;          // see apply_costs()
  bool has_trace_options = false;      // see read_saved_collection()
  bool memory = false;                 // fills in ModelSummary::memory
  std::optional<Accelerator> on = {};  // see place_on()
  std::vector<CostColumn> columns = {};
};

// The listener gets, as a hint, a command that gives shapes where they are unknown.  Throws Error.
ModelSummary summarize_file(const Config& config, const SummaryRequest& request, const NamedFile& file,
                            Run& run);
// Likewise of a collection in memory, whose costs it computes at the sizes of the request.
ModelSummary summarize_collection(const SummaryRequest& request, GraphCollection& collection,
                                  const Listener& listener);

// The content of a model's file.

// Returns the inspection of a traced program; or that of the file, where there are several programs and the
// options name none, where it has compiled models only, and where it holds no program.  Throws Error(kInput)
// at the file.
std::variant<FileInspection, Inspection> inspect_file(const Config& config, const NamedFile& file, Run& run);

// Returns what `fxtrace bom` tells of a file.  Throws Error(kInput) at the file.
Material material_of(const Config& config, const NamedFile& file, Run& run);

// The answer of `fxtrace why`: failures with options that help, the fate of modules, a dimension, a guard.

// At most one of `path`, `dimension` and `guard` is asked about; without them, the failures.
struct WhyRequest {
  std::optional<std::string> path;       // of a module, or a glob over paths
  std::optional<std::string> dimension;  // a name
  std::optional<std::string> guard;      // a number, from 1, or an expression
  bool folds = false;                    // equal explanations of modules are one
  bool has_trace_options = false;        // see read_saved_collection()
  // Returns the origin of a leaf rule, if it is not the command line.
  std::function<std::optional<std::string>(const std::string& rule)> origin_of = {};
};

// Throws Error: kUsage for a name that the model does not have, kInput at the file.
Explanation explain_model(const Config& config, const WhyRequest& request, const NamedFile& file, Run& run);

}  // namespace fxtrace::internal
