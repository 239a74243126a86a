// Keys by which files of equal content are recognized.
#pragma once

#include <string>

#include "archive/file_kind.h"
#include "archive/model_file.h"

namespace fxtrace::internal::catalog {

// Returns a key of the file's content.  For a zip archive, it is made from the directory alone, which has
// the name, size and CRC-32 of every record; for any other file, from its size and its bytes, for a large
// one the first and last megabytes.  Not a cryptographic hash: files with equal keys can be made on purpose.
// After ModelFile::verify_content() it is made from all bytes, by SHA-256, and ContentDigests::damaged has
// all records whose bytes are wrong.  Never empty.  `info` is the result of identify_file().
std::string content_key(const ModelFile& file, const FileInfo& info);

}  // namespace fxtrace::internal::catalog
