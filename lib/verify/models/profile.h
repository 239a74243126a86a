// Profiles: measures time and memory of running a graph, module by module.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "summaries/model_summary.h"
#include "verify/calls/graph_run.h"
#include "verify/inputs/inputs.h"

namespace fxtrace::internal::verify {

struct Profile {
  std::int64_t runs = 0;                    // measured runs
  std::map<std::string, Measured> modules;  // by path, submodules included; for one run
  Sizes sizes;                              // values of named dimensions
};

// Runs the graph to warm up, then `given_runs` times, or for a second if that is 1.  Returns the run with the
// median time.  A leaf is measured as a whole.  Throws RunError.
Profile profile_graph(const Engine& engine, const ModuleGraph& graph, ModelParts& parts,
                      const std::function<std::vector<RunValue>()>& inputs, std::int64_t given_runs);

// Returns the costs of the collection's modules, as numbers for the profile's sizes, with the measurements.
ModelSummary measured_summary(const GraphCollection& collection, const Profile& profile);

}  // namespace fxtrace::internal::verify
