// Tables of names, and what names a user may type.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "support/text/words.h"

namespace fxtrace::internal {

// Lists of names by namespace, as scripts/torch_functions writes them.

struct NamesOfSpace {
  std::string_view space;
  std::string_view names;  // each name between spaces
};

inline bool has_name(std::span<const NamesOfSpace> table, std::string_view space, std::string_view name) {
  const auto row = std::ranges::find(table, space, &NamesOfSpace::space);
  if (row == table.end() || name.find(' ') != std::string_view::npos) return false;
  return row->names.find(" " + std::string(name) + " ") != std::string_view::npos;
}

// Tables of names, where one row holds all names with the same properties.

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

// Names of torch that a user's pattern may mention although no loaded model contains them.

// Returns the names of torch's operators, functions and module types, sorted: "aten.add", "aten.add.Tensor",
// "torch.nn.functional.relu", "operator.getitem", "torch.nn.modules.linear.Linear", "torch.nn.Linear".
const std::vector<std::string>& known_names();

}  // namespace fxtrace::internal
