// Reading the collection that a command was given.
#pragma once

#include "app/console.h"
#include "app/files.h"
#include "graph/graph_collection.h"

namespace fxtrace::cli {

// From the JSON that fxtrace trace wrote; what of it is left out is a warning on the console.  Throws
// Error(kInput).
GraphCollection read_collection_file(const InputFile& input, Console& console);

}  // namespace fxtrace::cli
