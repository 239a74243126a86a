// Tables of names, where one row holds all names with the same properties.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "support/text/words.h"

namespace fxtrace::internal {

// A table by qualified name.  Rows have members `space`, which may be empty, and `names`: "torch.nn" and
// "Linear Bilinear" are two qualified names.  The rows must outlive the table.
template <class Row>
class NameTable {
 public:
  explicit NameTable(const auto& rows) {
    for (const Row& row : rows) {
      for_each_word(row.names, [&](std::string_view name) {
        std::string whole(row.space);
        if (!whole.empty()) whole += '.';
        rows_.emplace(whole.append(name), &row);
      });
    }
  }

  // Returns the row with the name; null when there is none.
  const Row* find(std::string_view qualified_name) const {
    const auto found = rows_.find(std::string(qualified_name));
    return found == rows_.end() ? nullptr : found->second;
  }

 private:
  std::unordered_map<std::string, const Row*> rows_;
};

}  // namespace fxtrace::internal
