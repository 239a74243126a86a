// Verification of a model's graph: the model and its graph run side by side in LibTorch.
#pragma once

#include <optional>
#include <vector>

#include "pipelines/read_model.h"
#include "summaries/model_summary.h"
#include "verify/verification.h"

namespace fxtrace::internal {

struct VerificationRequest {
  verify::VerifyOptions options;
  std::optional<ModelFile> collection;  // the graph, instead of a trace
  std::optional<ModelFile> against;     // the model that the program was converted from
  std::vector<ModelFile> inputs;        // values to run on; empty: samples of the file, or random ones
};

struct VerifiedModel {
  verify::Verification verification;
  std::optional<ModelSummary> measured;  // if a profile was asked for and made
};

// Runs the model's code, by an engine that open_libraries() has given.  Throws Error(kInput) at the file that
// cannot be read or run.
VerifiedModel verify_model(const Config& config, const VerificationRequest& request, const NamedFile& file,
                           const FxtraceEngine& engine, Run& run);

}  // namespace fxtrace::internal
