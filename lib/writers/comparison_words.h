// What the writers of comparisons for people say alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compare/comparison.h"

namespace fxtrace::comparison_words {

// Texts come from files that nobody has checked: each is one line of printable characters, and of bounded
// length.

// "model.pt → model.pt2"; "pkg.Net, TorchScript → exported program".
std::string headline(const ModelComparison& comparison);
std::string models(const ModelComparison& comparison);

// Six: "Modules", "148 → 160: 13 added".
using Line = std::pair<std::string, std::string>;
std::vector<Line> summary(const ModelComparison& comparison);

struct Entry {
  Change change = Change::kChanged;
  std::string text;    // what is code in it
  std::string remark;  // "used by %add"; a place in a source
};
struct Group {
  std::string title;  // "h.0", "h.0 … h.11 (12 modules)"
  std::string type;   // "pkg.Block"
  std::vector<Entry> entries;
  std::size_t left_out = 0;  // entries
};
// Of a folded comparison, the first `most` of those that say something that no other one tells.
std::vector<Group> groups(const ModelComparison& comparison, std::size_t most);
// How many there are beyond these.
std::size_t count_groups(const ModelComparison& comparison);

char mark(Change change);  // + - > ~

}  // namespace fxtrace::comparison_words
