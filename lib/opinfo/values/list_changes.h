// Slices and changes of lists with the meaning of Python, for lists of the TorchScript interpreter
// and for lists of abstract values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "support/integers.h"

namespace fxtrace::internal {

inline constexpr std::size_t kMostItems = 10'000;  // the most items of a list whose value is kept

// The indices from, from + step, ..., `count` of them.
struct Slice {
  std::int64_t from = 0, step = 1, count = 0;
};

// Returns the indices of [from:to:step] in a list of `size` items; an absent end is the end of the list.  The
// step must be neither 0 nor the least integer.
inline Slice slice_of(std::int64_t size, std::optional<std::int64_t> from, std::optional<std::int64_t> to,
                      std::int64_t step) {
  const bool forwards = step > 0;
  const std::int64_t lowest = forwards ? 0 : -1, highest = forwards ? size : size - 1;
  const auto end = [&](std::optional<std::int64_t> given, std::int64_t otherwise) {
    return given ? std::clamp(*given < 0 ? *given + size : *given, lowest, highest) : otherwise;
  };
  const std::int64_t first = end(from, forwards ? lowest : highest),
                     last = end(to, forwards ? highest : lowest);
  const std::int64_t distance = forwards ? last - first : first - last;
  return {first, step, distance > 0 ? (distance - 1) / (forwards ? step : -step) + 1 : 0};
}

template <class Visit>
void for_each_position(const Slice& slice, const Visit& visit) {
  for (std::int64_t i = 0; i < slice.count; ++i) visit(static_cast<std::size_t>(slice.from + i * slice.step));
}

// The ways in which operators change a list.
enum class ListChange : std::uint8_t {
  kNone,
  kReverse,
  kClear,
  kAppend,
  kExtend,
  kInsert,
  kSetItem,
  kPop,
  kDelete
};
inline ListChange list_change(std::string_view name) {
  if (name == "aten::reverse") return ListChange::kReverse;
  if (name == "aten::clear") return ListChange::kClear;
  if (name == "aten::append") return ListChange::kAppend;
  if (name == "aten::extend" || name == "aten::add_") return ListChange::kExtend;
  if (name == "aten::insert") return ListChange::kInsert;
  if (name == "aten::_set_item") return ListChange::kSetItem;
  if (name == "aten::pop") return ListChange::kPop;
  return name == "aten::Delete" ? ListChange::kDelete : ListChange::kNone;
}

// Inserts before a Python position, which is clamped to the list.
template <class Item>
void insert_item(std::vector<Item>& list, std::int64_t position, Item item) {
  const std::int64_t size = std::ssize(list);
  if (position < 0) position += size;
  list.insert(list.begin() + std::clamp<std::int64_t>(position, 0, size), std::move(item));
}

template <class Item>
void append_items(std::vector<Item>& list, std::vector<Item> items) {
  list.insert(list.end(), std::make_move_iterator(items.begin()), std::make_move_iterator(items.end()));
}

// Removes the item at a valid index and returns it.
template <class Item>
Item take_item(std::vector<Item>& list, std::size_t position) {
  Item taken = std::move(list[position]);
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(position));
  return taken;
}

}  // namespace fxtrace::internal
