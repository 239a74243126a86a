// The rows of one model's file in a catalog.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "pipelines/read_model.h"
#include "rules/rule.h"

namespace fxtrace::internal {

// The way to read one model.
struct CatalogReading {
  Config config;
  std::vector<Rule> backends;
  std::string known;  // the content key of the last run; the same content is not traced again
};

// Returns everything that decides which rows a file gives; a change makes a catalog read all files again.
std::string settings_of(const Config& config, const std::vector<Rule>& backends, bool verifies_content);

// Loads libraries of operators, and writes a line with the content key, then the rows if the key is not the
// known one: of a collection, of a model, or of each program of an archive.  One that cannot be read has a
// row with its error.
void write_catalog_rows(CatalogReading reading, const NamedFile& file, Run& run, std::ostream& out);

}  // namespace fxtrace::internal
