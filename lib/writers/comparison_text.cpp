#include <string>

#include "support/columns.h"
#include "writers/comparison_words.h"
#include "writers/comparison_writers.h"

namespace fxtrace {
namespace {

constexpr std::size_t kMostTextGroups = 100;

const char* colour_of(Change change) {
  switch (change) {
    case Change::kAdded:
      return kGreen;
    case Change::kRemoved:
      return kRed;
    case Change::kMoved:
      return kCyan;
    case Change::kChanged:
      return kYellow;
  }
  return "";
}

}  // namespace

void write_comparison_text(const ModelComparison& comparison, std::ostream& out, const TextLayout& layout) {
  out << layout.paint(comparison_words::headline(comparison), kBold) << "\n"
      << comparison_words::models(comparison) << "\n\n";
  write_lines(comparison_words::summary(comparison), layout, out);
  for (const comparison_words::Group& group : comparison_words::groups(comparison, kMostTextGroups)) {
    out << "\n" << layout.paint(group.title, kBold);
    if (!group.type.empty()) out << "  " << layout.paint(group.type, kDim);
    out << "\n";
    for (const comparison_words::Entry& entry : group.entries) {
      out << "  "
          << layout.paint(comparison_words::mark(entry.change) + (" " + entry.text), colour_of(entry.change));
      if (!entry.remark.empty()) out << "  " << layout.paint(entry.remark, kDim);
      out << "\n";
    }
    if (group.left_out > 0) out << "  ... and " << group.left_out << " more (--json has all)\n";
  }
  const std::size_t count = comparison_words::count_groups(comparison);
  if (count > kMostTextGroups)
    out << "\n... and " << count - kMostTextGroups << " modules more (--json has all)\n";
  if (comparison.is_equal()) out << "\nNo difference\n";
}

}  // namespace fxtrace
