// Compares the bytes of an archive's records with their checksums in its directory.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "archive/file_kind.h"
#include "archive/model_file.h"
#include "archive/zip_archive.h"

namespace fxtrace::internal {

// Calls f(archive, entry, name) for each record of an archive, and of archives in its records, whose records
// are called "a.pt/data.pkl".  Throws Error(kInput) where a record cannot be read.
void for_each_record(
    const ZipArchive& archive,
    const std::function<void(const ZipArchive&, const ZipArchive::Entry&, const std::string& name)>& f);

// Returns "record a.pt/data/0: its bytes do not match ..." for the first of some records, with the number of
// the others.
std::string damage_text(const std::vector<std::string>& records);

// Reads all bytes of a file that is an archive or a chain of them, in pieces, and returns what does not
// match. `info` is the result of identify_file().  Throws likewise.
std::vector<ContentFault> check_content(const ModelFile& file, const FileInfo& info);

}  // namespace fxtrace::internal
