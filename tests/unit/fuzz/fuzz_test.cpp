// Replays the corpus and the regressions of the fuzzers: every promise of a target must hold for them.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "catch.h"
#include "tests/fuzz/targets.h"

namespace {

std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  if (!std::filesystem::exists(folder)) return files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

TEST_CASE("fuzz: inputs that are committed", "[fuzz]") {
  const std::filesystem::path root = FXTRACE_SOURCE_DIR "/tests/fuzz";
  for (const auto& target : fxtrace::internal::fuzz::kTargets) {
    DYNAMIC_SECTION(target.name) {
      auto files = files_in(root / "corpus" / target.name);
      CHECK_FALSE(files.empty());
      const auto found = files_in(root / "regressions" / target.name);
      files.insert(files.end(), found.begin(), found.end());
      for (const auto& file : files) {
        CAPTURE(file.string());
        std::ifstream in(file, std::ios::binary);
        const std::string bytes{std::istreambuf_iterator<char>(in), {}};
        CHECK_NOTHROW(target.run(bytes));
      }
    }
  }
}
