// Tells files of equal content without reading weights.
#pragma once

#include <string>

#include "archive/file_kind.h"
#include "archive/model_file.h"

namespace fxtrace::catalog {

// Of a zip archive made from its directory alone, which has the name, size and CRC-32 of every record; of any
// other file from its size and its bytes, of a large one the first and the last megabytes.  Not a
// cryptographic hash: who wants two files to have one key can make them.  Never empty.
// `info` is the result of identify_file().
std::string content_key(const ModelFile& file, const FileInfo& info);

}  // namespace fxtrace::catalog
