// The JSON record of a program, written anew: in the form that an older torch loads, or with other names.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "convert/lower/lowering.h"
#include "operators/releases.h"
#include "support/json_document.h"

namespace fxtrace::internal {

// Something in a program that some release of torch does not load.
struct ReleaseNeed {
  Releases releases;        // those that load it
  std::string what;         // its subject: "aten.hash_tensor.default", "guards_code"
  std::string module = {};  // path of the module that it is in
  std::optional<SourceLocation> source = {};
};

// Names to change, old and new.  All are checked: new_names() makes them.
struct NewNames {
  std::map<std::string, std::string, std::less<>> values, symbols, arguments;
};

// Returns what to change for the wanted names, (old, new): of dimensions, inputs and results.  `dimensions`
// has the symbols of dimensions with another name in the model.  Throws Error(kUsage) for an old name that
// the program does not have, and for a new one that is no name or is another's.
NewNames new_names(const JsonValue& program, const std::vector<std::pair<std::string, std::string>>& wanted,
                   const std::map<std::string, std::string>& dimensions);

struct RewrittenProgram {
  std::string json;
  std::vector<Refusal> refusals;   // what the release lacks; then the JSON must not be used
  std::vector<std::string> notes;  // what it does not check
};
// Writes the program for a release of torch, if one is given: leaves out fields that it does not know and
// arguments that have their default value, and replaces operators that have an equal.
RewrittenProgram rewrite_program(const JsonValue& program, std::optional<int> release, const NewNames& names);

// Returns what in the program not every release loads as it is, in the order of the file, each subject once.
std::vector<ReleaseNeed> needs_of(const JsonValue& program);

}  // namespace fxtrace::internal
