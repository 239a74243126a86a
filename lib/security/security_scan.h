// The security scan of a file: finds what the file would make its reader do, without running, loading or
// unpacking anything.
//
// A file is judged by what is known to be harmless: every record of an archive has a reader
// (archive_records.h), and must be such that the reader only makes tensors, plain values and graphs of known
// operators.  A record that is not recognised is an offence as well.
#pragma once

#include <vector>

#include "archive/file_kind.h"
#include "archive/model_file.h"
#include "archive/security_finding.h"
#include "security/checkpoint_check.h"

namespace fxtrace::internal {

// Returns the findings in a file of any kind.  They include all operators and classes that the file names,
// also those that torch itself registers.  `info` is the result of identify_file().  Work and memory are
// bounded as for ZipArchive, and do not grow with the weights.  `shards`: those beside the file, if it has
// the name of a distributed checkpoint's metadata.  Throws Error(kInput) for an archive that cannot be
// opened.
std::vector<SecurityFinding> scan_security(const ModelFile& file, const FileInfo& info,
                                           const security::CheckpointShards* shards = nullptr);

}  // namespace fxtrace::internal
