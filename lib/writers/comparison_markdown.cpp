#include <string>

#include "writers/comparison_words.h"
#include "writers/comparison_writers.h"
#include "writers/markdown_text.h"

namespace fxtrace {
namespace {

constexpr std::size_t kMostGroups = 50;  // GitHub takes 65,536 characters

// As GitHub colours a diff; every line of the block begins with one of them, so that none can end it.
char mark(Change change) { return change == Change::kAdded ? '+' : change == Change::kRemoved ? '-' : '!'; }

}  // namespace

void write_comparison_markdown(const ModelComparison& comparison, std::ostream& out) {
  out << "**" << markdown_code(comparison_words::headline(comparison)) << "** "
      << markdown_code(comparison_words::models(comparison)) << "\n\n";
  for (const auto& [label, text] : comparison_words::summary(comparison))
    out << "- " << label << ": " << markdown_code(text) << "\n";
  for (const comparison_words::Group& group : comparison_words::groups(comparison, kMostGroups)) {
    out << "\n" << markdown_code(group.title);
    if (!group.type.empty()) out << " " << markdown_code(group.type);
    out << "\n\n```diff\n";
    for (const comparison_words::Entry& entry : group.entries) {
      out << mark(entry.change) << " " << entry.text;
      if (!entry.remark.empty()) out << "  # " << entry.remark;
      out << "\n";
    }
    if (group.left_out > 0) out << "# ... and " << group.left_out << " more\n";
    out << "```\n";
  }
  const std::size_t count = comparison_words::count_groups(comparison);
  if (count > kMostGroups) out << "\n... and " << count - kMostGroups << " modules more\n";
  if (comparison.is_equal()) out << "\nNo difference\n";
}

}  // namespace fxtrace
