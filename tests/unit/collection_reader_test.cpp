#include "readers/collection_reader.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "catch.h"
#include "support/error.h"
#include "writers/json_writer.h"

using namespace fxtrace;

namespace {

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string written(const GraphCollection& collection) {
  std::ostringstream out;
  write_json(collection, out);
  return out.str();
}

}  // namespace

TEST_CASE("collection reader: what a trace writes is read without loss", "[collection_reader]") {
  int read = 0;
  for (const auto& entry : std::filesystem::directory_iterator(FXTRACE_SOURCE_DIR "/tests/golden")) {
    const std::string text = content_of(entry.path() / "stdout");
    if (!text.starts_with("{\n  \"format\": \"fxtrace.graph_collection\"")) continue;
    CAPTURE(entry.path().filename().string());
    // Goldens have {VERSION} for the version of the program.
    std::string again = written(read_collection(text, "x.json"));
    const std::size_t version = again.find("\"version\": \"") + 12;
    again.replace(version, again.find('"', version) - version, "{VERSION}");
    CHECK((again == text));
    ++read;
  }
  CHECK(read > 50);
}
