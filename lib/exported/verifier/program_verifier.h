// Verifies the file of an exported program without running it: more strictly than torch.export.load, which
// takes another weight's record.
#pragma once

#include <vector>

#include "archive/file_kind.h"
#include "graph/analysis/program_fault.h"

namespace fxtrace {

struct ProgramChecks {
  bool contents = true;  // read the weights, whose checksums the archive has
};

// Returns what is wrong with the programs of an archive: at most some hundreds of faults.  `info` is the
// result of identify_file() for an archive of exported programs.  Throws Error(kInput) for an archive without
// a program.
std::vector<ProgramFault> verify_programs(const FileInfo& info, const ProgramChecks& checks);

}  // namespace fxtrace
