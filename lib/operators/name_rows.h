// Tables of names: one row for all names of which the same is known.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>

namespace fxtrace {

// Calls visit(name) for each of `names`, which are set apart by spaces.
template <class Visit>
void for_each_name(std::string_view names, const Visit& visit) {
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find(' '));
    visit(name);
    names.remove_prefix(std::min(name.size() + 1, names.size()));
  }
}

// Rows have members `space`, which may be empty, and `names`: "torch.nn" and "Linear Bilinear" are two
// qualified names.  The rows have to outlive the table.
template <class Row>
class NameTable {
 public:
  explicit NameTable(const auto& rows) {
    for (const Row& row : rows) {
      for_each_name(row.names, [&](std::string_view name) {
        std::string whole(row.space);
        if (!whole.empty()) whole += '.';
        rows_.emplace(whole.append(name), &row);
      });
    }
  }

  // Null when no row has the name.
  const Row* find(std::string_view qualified_name) const {
    const auto found = rows_.find(std::string(qualified_name));
    return found == rows_.end() ? nullptr : found->second;
  }

 private:
  std::unordered_map<std::string, const Row*> rows_;
};

}  // namespace fxtrace
