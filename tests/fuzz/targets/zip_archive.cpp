// Fuzz target: zip archives.
#include "archive/zip_archive.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/targets.h"

namespace fxtrace::internal::fuzz {

// An archive that different readers would read differently is refused; in any other, each byte belongs to at
// most one record.  Archives of a chain are the whole file.
void zip_archive(std::string_view input) {
  constexpr std::size_t kMost = std::size_t{1} << 20;
  accepts([&] {
    const ZipArchive archive(memory_file(input));
    std::uint64_t stored = 0;
    for (const ZipArchive::Entry& entry : archive.entries()) {
      require(archive.contains(entry.name), "a record is found by its name");
      require(archive.size(entry.name) == entry.size, "a name has one record");
      stored += archive.stored_size(entry.name);
      accepts([&] {
        const std::string bytes = archive.read(entry, kMost);
        require(bytes.size() == std::min<std::uint64_t>(entry.size, kMost),
                "a record has the size that is said");
      });
    }
    require(stored <= input.size(), "records do not overlap");
  });
  accepts([&] {
    const ModelFile file = memory_file(input);
    std::uint64_t end = 0;
    for (const FileRange& part : find_saved_archives(file)) {
      require(part.offset == end && part.size > 0, "archives of a chain lie side by side");
      end += part.size;
      accepts([&] { const ZipArchive archive(file, part); });
    }
    require(end == 0 || end == input.size(), "a chain is the whole file");
  });
}

}  // namespace fxtrace::internal::fuzz
