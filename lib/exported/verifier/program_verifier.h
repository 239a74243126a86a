// The verifier of exported programs: checks a file without running it, and more strictly than
// torch.export.load, which accepts a program that names another weight's record.
#pragma once

#include <vector>

#include "archive/file_kind.h"
#include "graph/program_view.h"

namespace fxtrace::internal {

struct ProgramChecks {
  bool contents = true;  // read the weights, whose checksums the archive has
};

// Returns the faults of the programs in an archive, at most some hundreds.  `info` is the result of
// identify_file() for an archive of exported programs.  Throws Error(kInput) for an archive without a
// program.
std::vector<ProgramFault> verify_programs(const FileInfo& info, const ProgramChecks& checks);

}  // namespace fxtrace::internal
