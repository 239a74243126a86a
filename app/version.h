// What `fxtrace --version --json` says: of the build, and of what it can do on this machine.
#pragma once

#include <ostream>

namespace fxtrace::cli {

// Locks down a process of its own, to tell which walls hold here.  schemas/version.schema.json is the form.
void write_version_json(std::ostream& out);

}  // namespace fxtrace::cli
