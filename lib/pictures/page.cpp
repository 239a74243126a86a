#include "pictures/page.h"

#include <algorithm>
#include <ranges>
#include <utility>
#include <vector>

namespace fxtrace::internal {
namespace {

using Index = Outline::Index;

// Lengths in points, as the DOT writer draws: A4 is 595 x 842.
constexpr double kPageLength = 900;
constexpr double kRatio = 1.5;
constexpr double kLetter = 5.2;
constexpr double kLine = 12;
constexpr double kAround = 18;  // from the text to the next box
constexpr double kRankGap = 22;
constexpr double kFrame = 44;  // the title and edges of an open box

// Returns the size of a box by the lines of its label and the letters of the longest line.
PageSize box_size(const Label& label) {
  std::size_t letters = label.title.size() + (label.is_short() ? label.second().size() + 2 : 0);
  std::size_t lines = 1;
  const auto add = [&](const std::string& text) {
    if (text.empty()) return;
    ++lines;
    letters = std::max(letters, text.size());
  };
  if (!label.is_short()) add(label.second());
  for (const std::string& attribute : label.attributes) add(attribute);
  add(label.note);
  add(label.value);
  return {(static_cast<double>(letters) * kLetter) + (2 * kAround), (static_cast<double>(lines) * kLine) + 8};
}

}  // namespace

PageSize estimate_size(const Picture& picture, const Labels& labels) {
  const Outline& outline = picture.outline;
  // The visible items, in execution order, and for each item the closed box that contains it.
  std::vector<Index> seen_as(outline.items.size(), Outline::kNone);
  std::vector<Index> seen;
  std::vector<double> frames(outline.items.size(), 0);  // the heights of frames above an item
  for (const Index top : picture.tops) {
    std::vector<std::pair<Index, Index>> open{
        {top, Outline::kNone}};  // items with the closed box around each
    double frame = 0;
    while (!open.empty()) {
      const auto [index, closed] = open.back();
      open.pop_back();
      seen_as[index] = closed == Outline::kNone ? index : closed;
      const auto& children = outline[index].children;
      const bool is_open = closed == Outline::kNone && picture.is_open[index];
      if (is_open) frame += kFrame;
      if (closed == Outline::kNone && !is_open) {
        frames[index] = std::exchange(frame, 0);
        seen.push_back(index);
      }
      const Index inner = closed != Outline::kNone || is_open ? closed : index;
      for (const Index child : std::ranges::reverse_view(children)) open.emplace_back(child, inner);
    }
  }
  std::vector<std::size_t> ranks(outline.items.size(), 0);
  std::vector<std::vector<Index>> inputs(outline.items.size());
  for (Index to = 0; to < outline.items.size(); ++to) {
    for (const Index from : outline[to].inputs) {
      if (seen_as[from] != Outline::kNone && seen_as[to] != Outline::kNone && seen_as[from] != seen_as[to])
        inputs[seen_as[to]].push_back(seen_as[from]);
    }
  }
  std::vector<PageSize> rows;
  for (const Index index : seen) {
    for (const Index input : inputs[index]) ranks[index] = std::max(ranks[index], ranks[input] + 1);
    if (rows.size() <= ranks[index]) rows.resize(ranks[index] + 1);
    const PageSize box = box_size(labels.label(index));
    PageSize& row = rows[ranks[index]];
    row.width += box.width;
    row.height = std::max(row.height, box.height + frames[index]);
  }
  PageSize size;
  for (const PageSize& row : rows) {
    size.width = std::max(size.width, row.width);
    size.height += row.height + kRankGap;
  }
  return size;
}

bool is_page(const PageSize& size) {
  const double length = std::max(size.width, size.height);
  return length <= kPageLength || length <= kRatio * std::min(size.width, size.height);
}

}  // namespace fxtrace::internal
