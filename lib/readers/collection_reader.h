// The way back: a collection from the JSON that writers/json_writer.h makes of it.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "graph/graph_collection.h"

namespace fxtrace {

// The collection in `text`; writing it gives `text` again, when this version has written it.  `name` is the
// file's in errors, which are Error(kInput) at "NAME:LINE:COLUMN" for what is no JSON, of another format or
// version, or not as the schema has it, and at NAME for a collection that contradicts itself: users that are
// not those of the arguments, a summary of something else, and whatever lint() finds, which is run on every
// collection.
//
// A later fxtrace may write more fields of documents, graphs and nodes than this one knows.  These are left
// out, and their names put into `unknown_fields`, if given.
GraphCollection read_collection(std::string_view text, const std::string& name,
                                std::set<std::string>* unknown_fields = nullptr);

}  // namespace fxtrace
