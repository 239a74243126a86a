#include "writers/comparison_text.h"

#include <algorithm>
#include <string>

#include "support/columns.h"
#include "writers/comparison_words.h"

namespace fxtrace {
namespace {

namespace words = comparison_words;

constexpr std::size_t kMostGroups = 100;

const char* colour_of(Change change) {
  switch (change) {
    case Change::kAdded:
      return "\033[32m";
    case Change::kRemoved:
      return "\033[31m";
    case Change::kMoved:
      return "\033[36m";
    case Change::kChanged:
      return "\033[33m";
  }
  return "";
}

}  // namespace

void write_comparison_text(const ModelComparison& comparison, std::ostream& out, const TextLayout& layout) {
  const auto paint = [&](const std::string& text, const char* colour) {
    return layout.colour ? colour + text + "\033[0m" : text;
  };
  constexpr const char* kBold = "\033[1m";
  constexpr const char* kDim = "\033[2m";
  out << paint(words::headline(comparison), kBold) << "\n" << words::models(comparison) << "\n\n";
  const auto summary = words::summary(comparison);
  std::size_t widest = 0;
  for (const auto& [label, text] : summary) widest = std::max(widest, label.size());
  for (const auto& [label, text] : summary)
    out << paint(label, kBold) << std::string(widest - label.size() + 2, ' ') << text << "\n";
  for (const words::Group& group : words::groups(comparison, kMostGroups)) {
    out << "\n" << paint(group.title, kBold);
    if (!group.type.empty()) out << "  " << paint(group.type, kDim);
    out << "\n";
    for (const words::Entry& entry : group.entries) {
      out << "  " << paint(words::mark(entry.change) + (" " + entry.text), colour_of(entry.change));
      if (!entry.remark.empty()) out << "  " << paint(entry.remark, kDim);
      out << "\n";
    }
    if (group.left_out > 0) out << "  ... and " << group.left_out << " more (--json has all)\n";
  }
  const std::size_t count = words::count_groups(comparison);
  if (count > kMostGroups) out << "\n... and " << count - kMostGroups << " modules more (--json has all)\n";
  if (comparison.is_equal()) out << "\nNo difference\n";
}

}  // namespace fxtrace
