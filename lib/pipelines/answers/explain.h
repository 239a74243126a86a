// The answer of `fxtrace why`: failures with options that help, the fate of modules, a dimension, a guard.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "pipelines/read_model.h"
#include "summaries/explanation.h"

namespace fxtrace::internal {

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
