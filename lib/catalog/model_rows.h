// The rows of one model in a catalog, and the key by which equal content is found.
#pragma once

#include <string>

#include "archive/file_kind.h"
#include "archive/model_file.h"
#include "catalog/tables.h"
#include "graph/graph_collection.h"
#include "support/error.h"

namespace fxtrace::internal::catalog {

// The rows of one model in a catalog.

// The origin of a collection; an empty text is unknown, or does not apply.
struct ModelOrigin {
  std::string program;   // the name of the program, in an archive of several
  std::string producer;  // the software that wrote the file
};

// Writes the rows of a model's collection, with costs.
void write_model_rows(const GraphCollection& collection, const ModelOrigin& origin, RowWriter& rows);

// Writes the row of a file, or of a program in it, that could not be read.
void write_error_row(const Error& error, const std::string& program, RowWriter& rows);

// Keys by which files of equal content are recognized.

// Returns a key of the file's content.  For a zip archive, it is made from the directory alone, which has
// the name, size and CRC-32 of every record; for any other file, from its size and its bytes, for a large
// one the first and last megabytes.  Not a cryptographic hash: files with equal keys can be made on purpose.
// After ModelFile::verify_content() it is made from all bytes, by SHA-256, and ContentDigests::damaged has
// all records whose bytes are wrong.  Never empty.  `info` is the result of identify_file().
std::string content_key(const ModelFile& file, const FileInfo& info);

}  // namespace fxtrace::internal::catalog
