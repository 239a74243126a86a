// The output of `fxtrace --version --json`: the build, and the features and security mechanisms of this
// machine.
#pragma once

#include <ostream>

namespace fxtrace::internal::cli {

// Tries lock_down() in a child process, to report which mechanisms work here.  The format is
// schemas/version.schema.json.
void write_version_json(std::ostream& out);

}  // namespace fxtrace::internal::cli
