#include "torchscript/code_edits.h"

#include <ranges>
#include <utility>

namespace fxtrace {

void CodeEdits::replace(const std::string& file, std::size_t begin, std::size_t end, std::string text,
                        std::size_t at) {
  edits_[file].insert_or_assign(begin, Edit{end, std::move(text), at});
}

std::string CodeEdits::apply(const std::string& file, std::string text) const {
  const auto edits = edits_.find(file);
  if (edits == edits_.end()) return text;
  for (const auto& [begin, edit] : std::views::reverse(edits->second)) {
    text.replace(begin, edit.end - begin, edit.text);
  }
  return text;
}

std::size_t CodeEdits::original(const std::string& file, std::size_t position) const {
  const auto edits = edits_.find(file);
  if (edits == edits_.end()) return position;
  for (const auto& [begin, edit] : edits->second) {
    if (position < begin) break;
    if (position < begin + edit.text.size()) return edit.at;
    position += edit.end - begin - edit.text.size();
  }
  return position;
}

}  // namespace fxtrace
