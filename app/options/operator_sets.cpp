#include "app/options/operator_sets.h"

#include <filesystem>
#include <system_error>
#include <vector>

#include "app/output/files.h"
#include "partition/operator_set.h"
#include "support/text/nearest.h"
#include "support/text/shell_word.h"

namespace fxtrace::cli {

std::string read_set_file(const std::string& file, Console& console) {
  std::error_code failed;
  if (!std::filesystem::exists(file, failed) && file.find('/') == std::string::npos) throw no_such_set(file);
  return read_small_file(file, console);
}

Error no_such_set(const std::string& name) {
  std::vector<std::string> names;
  for (const ShippedSet& shipped : shipped_sets()) names.emplace_back(shipped.name);
  return usage_error(
      "there is no set of operators and no file " + shell_quoted(name) + did_you_mean(name, names),
      {"fxtrace partition --list names the sets"});
}

}  // namespace fxtrace::cli
