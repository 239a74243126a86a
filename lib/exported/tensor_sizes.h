// Compares the tensors that an exported program declares with the records that hold their bytes.
#pragma once

#include <vector>

#include "archive/file_kind.h"
#include "archive/security_finding.h"

namespace fxtrace {

// Returns a finding for each tensor whose elements reach beyond its record, or whose record is missing, of
// all programs in the archive.  `info` is the result of identify_file().  Throws Error(kInput) for damaged
// records.
std::vector<SecurityFinding> find_cut_tensors(const FileInfo& info);

}  // namespace fxtrace
