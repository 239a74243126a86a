// A check that the tensors of an exported program fit into the records with their bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "archive/file_kind.h"
#include "archive/security_finding.h"
#include "archive/state_dict.h"

namespace fxtrace::internal {

// Returns a finding for each tensor whose elements reach beyond its record, or whose record is missing, of
// all programs in the archive.  `info` is the result of identify_file().  Throws Error(kInput) for damaged
// records.
std::vector<SecurityFinding> find_cut_tensors(const FileInfo& info);

// Returns why a record of `size` bytes cannot hold the tensor; nothing where it can.
std::optional<std::string> problem_of_size(const std::string& name, const StoredTensor& tensor,
                                           std::uint64_t size);

}  // namespace fxtrace::internal
