// Lists of names by namespace, as scripts/torch_functions writes them.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

namespace fxtrace::internal {

struct NamesOfSpace {
  std::string_view space;
  std::string_view names;  // each name between spaces
};

inline bool has_name(std::span<const NamesOfSpace> table, std::string_view space, std::string_view name) {
  const auto row = std::ranges::find(table, space, &NamesOfSpace::space);
  if (row == table.end() || name.find(' ') != std::string_view::npos) return false;
  return row->names.find(" " + std::string(name) + " ") != std::string_view::npos;
}

}  // namespace fxtrace::internal
