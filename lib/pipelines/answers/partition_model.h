// A partition of a model, and the programs of its parts.
#pragma once

#include <string>
#include <vector>

#include "costs/graph_costs.h"
#include "partition/partition_writers.h"
#include "partition/pieces.h"
#include "pipelines/read_model.h"

namespace fxtrace::internal {

inline constexpr const char* kFunctional = "functional";  // the pass that backends need

struct PartitionedModel {
  TraceResult& traced;
  PartitionAnswer answer;
};

// Traces the model, or reads the collection, and runs the passes of the configuration.  The listener is told
// of names that match nothing, and of sets that are not of this kind of model.  Throws Error.
PartitionedModel partition_model(const Config& config, bool has_trace_options, PartitionRequest request,
                                 const std::vector<Gate>& gates, const std::vector<GivenSizes>& at,
                                 const NamedFile& file, Run& run);

// Makes the programs of the parts: functional ones if the configuration has that pass and they can be made.
// The model must be traced.
Pieces make_pieces(const PartitionedModel& partitioned, const Config& config, const ModelFile& file,
                   const Listener& listener);

}  // namespace fxtrace::internal
