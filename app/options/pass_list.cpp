#include "app/options/pass_list.h"

#include <algorithm>
#include <sstream>

#include <CLI/CLI.hpp>

#include "passes/pass.h"
#include "trace/options/option_table.h"

namespace fxtrace::internal::cli {
namespace {

std::string list_of_passes() {
  std::size_t width = 0;
  for (const Pass& pass : passes()) width = std::max(width, pass.name.size());
  std::ostringstream text;
  for (const Pass& pass : passes()) {
    const std::string padding(width - pass.name.size(), ' ');
    text << (&pass == &passes().front() ? "" : "\n") << pass.name << padding << "  " << pass.help;
  }
  return text.str();
}

}  // namespace

void add_list_of_passes(CLI::App& app) {
  app.add_flag_callback(
         "--list-passes", [] { throw CLI::CallForVersion(list_of_passes(), 0); }, "list the passes")
      ->group(kOptionGroups[kPasses])
      ->trigger_on_parse();
}

}  // namespace fxtrace::internal::cli
