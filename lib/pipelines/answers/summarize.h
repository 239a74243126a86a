// The summary of a model or of a saved collection, with its costs.
#pragma once

#include <vector>

#include "costs/at_sizes.h"
#include "pipelines/read_model.h"
#include "summaries/model_summary.h"

namespace fxtrace::internal {

struct SummaryRequest {
  std::vector<GivenSizes> at;      // see apply_costs()
  bool has_trace_options = false;  // see read_saved_collection()
};

// The listener gets, as a hint, a command that gives shapes where they are unknown.  Throws Error.
ModelSummary summarize_file(const Config& config, const SummaryRequest& request, const NamedFile& file,
                            Run& run);

}  // namespace fxtrace::internal
