#include "app/version.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "app/process/lockdown.h"
#include "pipelines/libtorch/operator_libraries.h"
#include "support/json_emitter.h"

namespace fxtrace::internal::cli {
namespace {

struct Wall {
  const char* key;
  std::string_view name;  // as lock_down() says it
};
constexpr Wall kWalls[] = {{"landlock", "Landlock"}, {"seccomp", "seccomp"}};

// Returns for each of kWalls whether this system has it; none if no process could be started to try.
std::vector<bool> walls() {
  const pid_t child = ::fork();
  if (child == 0) {
    const auto missing = lock_down(Lockdown::kCompute);
    int code = 0;
    for (std::size_t i = 0; i < std::size(kWalls); ++i) {
      if (std::ranges::find(missing, kWalls[i].name) == missing.end()) code |= 1 << i;
    }
    ::_exit(code);
  }
  int status = 0;
  const bool is_told = child > 0 && ::waitpid(child, &status, 0) == child && WIFEXITED(status);
  std::vector<bool> hold;
  for (std::size_t i = 0; i < std::size(kWalls); ++i) {
    hold.push_back(is_told && (WEXITSTATUS(status) & (1 << i)) != 0);
  }
  return hold;
}

}  // namespace

void write_version_json(std::ostream& out) {
  const std::vector<bool> hold = walls();
  const std::vector<std::string> plugins = plugin_series();
  JsonEmitter json(out);
  json.document([&] {
    json.field("format", "fxtrace.version");
    json.field("name", "fxtrace");
    json.field("version", FXTRACE_VERSION);
    json.text_or_null("commit", FXTRACE_COMMIT);
    json.key("build").object([&] {
      json.field("compiler", FXTRACE_COMPILER);
      json.field("type", FXTRACE_BUILD_TYPE);
      json.field("processor", FXTRACE_PROCESSOR);
      json.field("static", FXTRACE_IS_STATIC != 0);
      json.field("allocator", FXTRACE_ALLOCATOR);
    });
    json.key("features").object([&] {
      for (const char* feature : {"verify", "op_library"}) json.field(feature, !plugins.empty());
    });
    json.field("plugins", plugins);
    json.key("walls").object([&] {
      for (std::size_t i = 0; i < std::size(kWalls); ++i)
        json.field(kWalls[i].key, static_cast<bool>(hold[i]));
    });
  });
}

}  // namespace fxtrace::internal::cli
