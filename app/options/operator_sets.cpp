#include "app/options/operator_sets.h"

#include <filesystem>
#include <system_error>

#include "app/output/files.h"
#include "pipelines/configs.h"
#include "support/error.h"

namespace fxtrace::internal::cli {

Rule read_backend(const std::string& name, Console& console) {
  if (find_shipped_set(name) != nullptr) return backend_rule(name, "");
  std::error_code failed;
  if (!std::filesystem::exists(name, failed) && name.find('/') == std::string::npos) throw no_such_set(name);
  const std::string text = read_small_file(name, console);
  if (text.empty()) throw usage_error("expected at least one operator").at(name);
  return backend_rule(std::filesystem::path(name).filename().string(), text);
}

}  // namespace fxtrace::internal::cli
