#include "app/collection_file.h"

#include <cstddef>
#include <set>
#include <string>

#include "archive/file_kind.h"
#include "readers/collection_reader.h"
#include "support/log.h"
#include "support/timer.h"
#include "support/utf8.h"

namespace fxtrace::cli {
namespace {

std::string some_of(const std::set<std::string>& names) {
  constexpr std::size_t kShown = 5, kMaxName = 80;
  std::string text;
  std::size_t shown = 0;
  for (const auto& name : names) {
    if (shown == kShown) break;
    text += (shown++ == 0 ? "" : ", ") + cut(name, kMaxName);
  }
  return names.size() == shown ? text : text + " and " + std::to_string(names.size() - shown) + " more";
}

}  // namespace

GraphCollection read_collection_file(const InputFile& input, Console& console) {
  const FileInfo info = identify_file(input.file());
  if (info.kind != FileKind::kText) {
    throw input_error("this is no graph collection but " + info.what,
                      {"fxtrace trace MODEL -o FILE.json writes one"});
  }
  const Timer timer;
  const std::string text = read_whole(input.file());
  std::set<std::string> unknown;
  GraphCollection collection = read_collection(text, input.display(), &unknown);
  log::info("read " + std::to_string(text.size()) + " bytes of " + input.display() + " in " +
            timer.milliseconds());
  if (!unknown.empty()) {
    console.warning(input.display() + ": left out what a later fxtrace has written: " + some_of(unknown));
  }
  return collection;
}

}  // namespace fxtrace::cli
