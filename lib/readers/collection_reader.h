// The reader of graph collections from their JSON: the inverse of writers/graphs/collection_writers.h.
#pragma once

#include <set>
#include <string>

#include "graph/graph_collection.h"

namespace fxtrace::internal {

// Returns the collection in `text`.  Writing it reproduces a `text` that was written by this version.
// `name` is the file's name in errors.  Throws Error(kInput): at "NAME:LINE:COLUMN" for malformed JSON,
// another format or version, or a violation of the schema; at NAME for an inconsistent collection (users
// that do not match the arguments, a wrong summary, any fault found by lint()).
//
// Unknown fields of documents, graphs and nodes, which later versions may write, are ignored; their names
// are added to `unknown_fields`, if given.
GraphCollection read_collection(std::string text, const std::string& name,
                                std::set<std::string>* unknown_fields = nullptr);

}  // namespace fxtrace::internal
