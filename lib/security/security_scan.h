// Looks for what a file would have its reader do, without running, loading or unpacking anything.
//
// A file is judged by what is known to be inert: every record of an archive has a reader (archive_records.h),
// and must be what that reader takes without doing more than making tensors, plain values and graphs of known
// operators.  What is not recognised is an offence as well.
#pragma once

#include <vector>

#include "archive/file_kind.h"
#include "archive/model_file.h"
#include "archive/security_finding.h"

namespace fxtrace {

// Returns what is found in any kind of file.  Operators and classes are all that the file names, also those
// that torch itself registers.  `info` is the result of identify_file().  Work and memory are bounded as for
// ZipArchive, and do not grow with the weights.  Throws Error(kInput) for an archive that cannot be opened.
std::vector<SecurityFinding> scan_security(const ModelFile& file, const FileInfo& info);

}  // namespace fxtrace
