// Configuration: trace options as JSON, in the files that --config reads and the `options` of a collection.
// trace/options/option_table.h lists the options; schemas/config.schema.json describes them to other
// programs, and a test compares the two.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trace/options/options.h"

namespace fxtrace::internal {

struct Config {
  TraceOptions options = {};
  bool strict = false;
  std::vector<std::string> passes = {};  // passes to run on the collection afterwards
};

// Merges a configuration into `config`: single values replace earlier ones; rules, libraries and schemas are
// appended.  `file` is used in messages, and relative names of libraries start from its folder.  Throws
// Error(kUsage, at "FILE:LINE:COLUMN") for text that is not JSON, does not fit the schema, has a wrong glob,
// or is nested too deeply.
void read_config(std::string_view text, const std::string& file, Config& config);

// Parses the VALUE of --concrete NAME=VALUE, which is JSON.  `what` names it in messages.  Throws
// Error(kUsage).
Argument parse_concrete(std::string_view text, const std::string& what);

// The inverse of read_config(): returns, on one line, the options that differ from the defaults.  Libraries
// are given by base name only, so that the text is the same on every machine.
std::string options_json(const Config& config);

}  // namespace fxtrace::internal
