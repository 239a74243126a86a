#include "app/options/refusals.h"

#include <cstddef>
#include <map>
#include <string>

#include "support/error.h"

namespace fxtrace::internal::cli {
namespace {

std::string line_of(const Refusal& refusal) {
  std::string line = refusal.what;
  if (!refusal.module.empty()) line += " in " + refusal.module;
  line += ": " + refusal.why;
  if (!refusal.help.empty()) line += "; " + refusal.help;
  if (const auto& source = refusal.source; source && source->line > 0)
    line += " (" + source->file + ":" + std::to_string(source->line) + ": " + source->text + ")";
  return line;
}

}  // namespace

void report_refusals(const std::vector<Refusal>& refusals, const InputFile& input, Console& console) {
  console.error(
      input_error("the program that was asked for cannot be written, so no file was: see what was refused")
          .at(input.display()));
  std::map<std::string, std::size_t> counts;
  for (const Refusal& refusal : refusals) ++counts[refusal.what + "\n" + refusal.why];
  for (const Refusal& refusal : refusals) {
    std::size_t& count = counts[refusal.what + "\n" + refusal.why];
    if (count == 0) continue;
    const std::string more = count == 1 ? "" : ", and " + std::to_string(count - 1) + " more such";
    console.remark("refused", line_of(refusal) + more);
    count = 0;
  }
}

}  // namespace fxtrace::internal::cli
