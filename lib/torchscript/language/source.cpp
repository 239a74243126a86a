#include "torchscript/language/source.h"

#include <algorithm>
#include <utility>

#include "support/text/printable.h"

namespace fxtrace::internal::torchscript {

SourceText::SourceText(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)) {
  if (text_.size() >= UINT32_MAX) throw input_error("a code file is larger than 4 GB").at(name_);
}

std::size_t SourceText::line_of(std::size_t offset) const {
  if (line_starts_.empty()) {
    line_starts_.push_back(0);
    for (std::size_t i = 0; i < text_.size(); ++i) {
      if (text_[i] == '\n') line_starts_.push_back(static_cast<std::uint32_t>(i + 1));
    }
  }
  return static_cast<std::size_t>(
      std::upper_bound(line_starts_.begin(), line_starts_.end(), static_cast<std::uint32_t>(offset)) -
      line_starts_.begin());
}

std::size_t SourceText::column_of(std::size_t offset) const {
  return offset - line_starts_.at(line_of(offset) - 1);
}

std::string_view SourceText::line(std::size_t number) const {
  line_of(0);
  const std::size_t begin = line_starts_.at(number - 1);
  return text().substr(begin, std::min(text_.find('\n', begin), text_.size()) - begin);
}

namespace {

std::string with_excerpt(const SourceRange& range, const std::string& message) {
  if (!range.is_known()) return message;
  constexpr std::size_t kMaxLine = 160;
  const std::size_t number = range.source->line_of(range.begin);
  const std::size_t column = range.source->column_of(range.begin);
  const std::string_view line = range.source->line(number);
  if (line.size() > kMaxLine) return message;
  const std::size_t marked = std::min<std::size_t>(std::max<std::size_t>(range.end - range.begin, 1),
                                                   std::max<std::size_t>(line.size() - column, 1));
  return message + "\n    " + printable(line) + "\n    " + std::string(column, ' ') +
         std::string(marked, '~') + " <--- HERE";
}

}  // namespace

SourceError::SourceError(const SourceRange& range, const std::string& message)
    : Error(ErrorKind::kInput, with_excerpt(range, message)), where_(range), message_(message) {
  if (range.is_known()) at(range.source->name() + ":" + std::to_string(range.source->line_of(range.begin)));
}

}  // namespace fxtrace::internal::torchscript
