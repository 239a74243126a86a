// What running a graph takes, module by module.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "summaries/model_summary.h"
#include "verify/graph_run.h"
#include "verify/inputs.h"

namespace fxtrace::verify {

struct Profile {
  std::int64_t runs = 0;                    // that were measured
  std::map<std::string, Measured> modules;  // by path; submodules are in those above them.  Of one run
  Sizes sizes;                              // of named dimensions
};

// Runs the graph until it has run often enough, after one run that is not counted, and gives the run whose
// time is the median.  A module that stays one node is measured as one.  Throws RunError.
Profile profile_graph(const Engine& engine, const ModuleGraph& graph, ModelParts& parts,
                      const std::function<std::vector<RunValue>()>& inputs);

// What the collection's modules cost, as numbers for the profile's sizes, and what they took.
ModelSummary measured_summary(const GraphCollection& collection, const Profile& profile);

}  // namespace fxtrace::verify
