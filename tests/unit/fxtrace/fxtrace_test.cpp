// The library as a C++ program uses it.
#include "fxtrace/fxtrace.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include "catch.h"

using namespace fxtrace::internal;

namespace {

const std::string kModel = FXTRACE_SOURCE_DIR "/sample_models/attention_exported.pt2";

std::string written(const GraphCollection& collection) {
  std::ostringstream out;
  write_json(collection, out);
  return out.str();
}

// A file with that content, which is removed with this object.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text)
      : path_(std::filesystem::temp_directory_path() /
              ("fxtrace_test_" + std::to_string(::getpid()) + ".json")) {
    std::ofstream(path_) << text;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

template <class F>
std::string error_of(ErrorKind kind, F&& f) {
  try {
    f();
  } catch (const Error& error) {
    CHECK(error.kind() == kind);
    return error.place() + ": " + error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("library: a trace, its JSON and back", "[fxtrace]") {
  const GraphCollection collection = trace(kModel);
  CHECK(collection.model.file == "attention_exported.pt2");
  CHECK(collection.options_json == "{}");
  REQUIRE(collection.graphs.size() == 1);

  const TemporaryFile file(written(collection));
  CHECK(written(read_json(file.path())) == written(collection));
}

TEST_CASE("library: passes of the configuration and afterwards are the same", "[fxtrace]") {
  Config config;
  config.options.default_leaves = false;
  GraphCollection collection = trace(kModel, config);
  const std::size_t nodes = collection.graphs[0].graph.size();
  const auto reports = apply_passes({"functional"}, collection);
  REQUIRE_FALSE(reports.empty());
  CHECK(reports.front().nodes_before == nodes);

  config.passes = {"functional"};
  CHECK(written(trace(kModel, config)) == written(collection));
  CHECK(collection.options_json.find(R"("pass":["functional"])") != std::string::npos);
}

TEST_CASE("library: what a trace has to say", "[fxtrace]") {
  Config config;
  read_config(R"({"leaf": ["@nowhere"]})", "options.json", config);
  std::vector<std::string> warnings, progress;
  const Listener listener{[&](const std::string& text) { progress.push_back(text); },
                          [&](const std::string& text) { warnings.push_back(text); }};
  trace(kModel, config, listener);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].find("@nowhere") != std::string::npos);
  CHECK(progress.size() == 2);

  config.strict = true;
  CHECK(error_of(ErrorKind::kUsage, [&] { trace(kModel, config); }) == ": " + warnings[0]);
}

TEST_CASE("library: errors say where", "[fxtrace]") {
  CHECK(error_of(ErrorKind::kInput, [] { trace("missing.pt2"); }) == "missing.pt2: no such file");
  const TemporaryFile text("import torch\n");
  CHECK(error_of(ErrorKind::kInput, [&] { trace(text.path()); }).starts_with(text.path() + ": this is "));
  CHECK(error_of(ErrorKind::kInput, [&] { read_json(text.path()); }).starts_with(text.path() + ":1:1: "));
  CHECK(error_of(ErrorKind::kInput, [] {
          read_json(kModel);
        }).starts_with(kModel + ": this is not a graph collection but "));

  Config config;
  config.passes = {"functional", "no-such-pass"};
  CHECK(error_of(ErrorKind::kUsage, [&] { trace("missing.pt2", config); }) ==
        ": --pass: there is no pass 'no-such-pass'");
  GraphCollection collection = trace(kModel);
  const std::string before = written(collection);
  CHECK(error_of(ErrorKind::kUsage, [&] { apply_passes(config.passes, collection); }) ==
        ": --pass: there is no pass 'no-such-pass'");
  CHECK(written(collection) == before);
}

TEST_CASE("library: several threads trace at the same time", "[fxtrace]") {
  const std::vector<std::string> names = {"attention_scripted.pt", "vision_scripted.pt",
                                          "attention_exported.pt2"};
  const auto trace_all = [&] {
    std::string all;
    for (const std::string& name : names) {
      Config config;
      config.options.default_leaves = false;
      config.options.param_shapes_constant = true;
      all += written(trace(FXTRACE_SOURCE_DIR "/sample_models/" + name, config));
    }
    return all;
  };
  std::vector<std::string> results(3);
  {
    std::vector<std::jthread> threads;
    for (std::string& result : results) threads.emplace_back([&] { result = trace_all(); });
  }
  const std::string alone = trace_all();
  for (const std::string& result : results) CHECK(result == alone);
}
