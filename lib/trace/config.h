// Trace options as JSON: what --config reads, and what the `options` of a collection say.  Which options
// there are is said by trace/option_table.h, and described for others by schemas/config.schema.json; a test
// keeps the two together.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trace/options.h"

namespace fxtrace {

struct Config {
  TraceOptions options;
  bool strict = false;
  std::vector<std::string> passes;  // that run on the collection afterwards
};

// Reads a configuration on top of `config`: single values replace what is there, rules, libraries and schemas
// are added behind.  `file` is for messages, and relative names of libraries start from its folder.  Throws
// Error(kUsage, at "FILE:LINE:COLUMN") for text that is no JSON, that the schema does not allow, that has a
// wrong glob, or that is nested deeper than anything a configuration needs.
void read_config(std::string_view text, const std::string& file, Config& config);

// The VALUE of --concrete NAME=VALUE: JSON.  `what` is for messages.  Throws Error(kUsage).
Argument parse_concrete(std::string_view text, const std::string& what);

// The inverse, on one line: what differs from the defaults.  Of libraries the base name only, so that the
// text is the same on every machine.
std::string options_json(const Config& config);

}  // namespace fxtrace
