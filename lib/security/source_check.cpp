#include "security/source_check.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "security/bytecode_objects.h"

namespace fxtrace::internal::security {

// ("FORMAT_WITH_STRING_TABLE", (TEXT, ..), ((OFFSET, (SOURCE, START, END), TAG), ..)), where SOURCE is
// ([TEXT'S NUMBER, ..], FILE NAME'S NUMBER, LINE); or such rows alone, with the texts themselves.
void check_sources(std::string_view pickle, const Tell& tell) {
  using Id = BytecodePickle::Id;
  const BytecodePickle read(pickle);
  const auto unknown = [&] {
    tell(SecurityKind::kUnknown, "", "its positions in sources have no form that torch writes");
  };
  if (!read.result() || !read.is_tuple(*read.result())) return unknown();
  auto rows = read.items(*read.result());
  std::size_t texts = 0;
  if (rows.size() == 3 && read.find_text(rows[0]) == "FORMAT_WITH_STRING_TABLE") {
    texts = read.items(rows[1]).size();
    if (!read.is_tuple(rows[2])) return unknown();
    rows = read.items(rows[2]);
  }
  const auto is_text = [&](Id id) {
    const auto number = read.find_integer(id);
    return number && *number >= 0 && static_cast<std::uint64_t>(*number) < texts;
  };
  for (const Id each : rows) {
    const auto row = read.items(each);
    if (row.size() < 2) return unknown();
    const auto range = read.items(row[1]);
    const auto source = range.empty() ? range : read.items(range[0]);
    if (texts == 0 || source.size() != 3) continue;  // LibTorch refuses other sizes
    const auto lines = read.find_list(source[0]);
    if (!lines) return unknown();
    if (!is_text(source[1]) || !std::ranges::all_of(*lines, is_text))
      return tell(SecurityKind::kSize, "",
                  "a source names a text that its table of " + std::to_string(texts) + " does not have");
  }
}

}  // namespace fxtrace::internal::security
