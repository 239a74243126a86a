// Reads saved collections.
#pragma once

#include "archive/model_file.h"
#include "fxtrace/listener.h"
#include "graph/graph_collection.h"
#include "trace/options/config.h"

namespace fxtrace::internal {

// Reads the JSON that write_json() wrote; the listener is warned of ignored fields.  Throws Error(kInput) at
// the file.
GraphCollection read_collection_file(const ModelFile& file, const Listener& listener);

// Returns the options that the collection was traced with; the defaults if they are those of another version.
Config saved_options(const GraphCollection& collection);

}  // namespace fxtrace::internal
