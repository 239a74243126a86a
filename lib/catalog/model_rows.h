// The rows of one model.
#pragma once

#include <string>

#include "catalog/row_stream.h"
#include "graph/graph_collection.h"
#include "support/error.h"

namespace fxtrace::catalog {

// Writes the rows of a model's collection, with costs; `producer` is the software that wrote the file, empty
// if unknown.
void write_model_rows(const GraphCollection& collection, const std::string& producer, RowWriter& rows);

// Writes the row of a file that could not be read.
void write_error_row(const Error& error, RowWriter& rows);

}  // namespace fxtrace::catalog
