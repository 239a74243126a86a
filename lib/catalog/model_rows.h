// The rows of one model in a catalog.
#pragma once

#include <string>

#include "catalog/row_stream.h"
#include "graph/graph_collection.h"
#include "support/error.h"

namespace fxtrace::internal::catalog {

// The origin of a collection; an empty text is unknown, or does not apply.
struct ModelOrigin {
  std::string program;   // the name of the program, in an archive of several
  std::string producer;  // the software that wrote the file
};

// Writes the rows of a model's collection, with costs.
void write_model_rows(const GraphCollection& collection, const ModelOrigin& origin, RowWriter& rows);

// Writes the row of a file, or of a program in it, that could not be read.
void write_error_row(const Error& error, const std::string& program, RowWriter& rows);

}  // namespace fxtrace::internal::catalog
