// Rewrites of calls on lists, tuples and dicts.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <utility>
#include <vector>

#include "convert/lower/rewrites.h"
#include "support/integers.h"

namespace fxtrace::internal {
namespace {

using Items = std::vector<Argument>;

// Returns the place of an item, counted from the end if negative; nothing if there is no such item.
std::optional<std::size_t> place_of(const Argument& key, std::size_t count) {
  const auto* index = key.get_if<std::int64_t>();
  return index == nullptr ? std::nullopt : find_position(static_cast<std::int64_t>(count), *index);
}

// The items of a slice, as Python counts them.
struct Span {
  std::int64_t start = 0, stop = 0, step = 1;

  Items of(const Items& items) const {
    Items taken;
    for (std::int64_t i = start; step > 0 ? i < stop : i > stop; i += step)
      taken.push_back(items[static_cast<std::size_t>(i)]);
    return taken;
  }
};

// Returns nothing if a bound of the slice is not a plain number, or the step is 0.
std::optional<Span> span_of(const Argument::Slice& slice, std::size_t count) {
  const auto bound = [&](std::size_t i) { return slice.parts[i].get_if<std::int64_t>(); };
  for (const Argument& part : slice.parts) {
    if (!part.is<std::int64_t>() && !part.is<Argument::None>()) return std::nullopt;
  }
  const auto size = static_cast<std::int64_t>(count);
  Span span;
  if (bound(2) != nullptr) span.step = *bound(2);
  // More than the length is as good as the length, and does not overflow.
  span.step = std::clamp<std::int64_t>(span.step, -size - 1, size + 1);
  if (span.step == 0) return std::nullopt;
  const std::int64_t least = span.step > 0 ? 0 : -1;
  const std::int64_t most = span.step > 0 ? size : size - 1;
  const auto clamped = [&](std::size_t i, std::int64_t omitted) {
    if (bound(i) == nullptr) return omitted;
    return std::clamp(*bound(i) < 0 ? *bound(i) + size : *bound(i), least, most);
  };
  span.start = clamped(0, span.step > 0 ? 0 : most);
  span.stop = clamped(1, span.step > 0 ? size : -1);
  return span;
}

auto find_key(auto& dict, const Argument& key) {
  return std::ranges::find(dict.items, key, [](const auto& entry) -> const Argument& { return entry.key; });
}
bool has_key(const Argument::Dict& dict, const Argument& key) {
  return find_key(dict, key) != dict.items.end();
}

Result refuse_place(const LoweredCall& call, Body& body) {
  body.refuse(call.node, "the index or the key of the item is not known");
  return {};
}

// Returns the result of a function that changes its first argument, which is None.
Result changed(const LoweredCall& call, Body& body, Argument value) {
  if (!body.change_container(call.node, std::move(value))) return {};
  return Argument();
}

}  // namespace

Result item_of_container(const LoweredCall& call, Body& body) {
  const Argument whole = call.argument(0);
  const Argument key = call.argument(1);
  if (const auto* items = items_of(whole)) {
    if (const auto place = place_of(key, items->size())) return (*items)[*place];
    const auto* slice = key.get_if<Argument::Slice>();
    if (const auto span = slice == nullptr ? std::nullopt : span_of(*slice, items->size())) {
      if (whole.is<Argument::List>()) return Argument::List{span->of(*items)};
      return Argument::Tuple{span->of(*items)};
    }
  }
  if (const auto* dict = whole.get_if<Argument::Dict>()) {
    if (const auto found = find_key(*dict, key); found != dict->items.end()) return found->value;
  }
  return refuse_place(call, body);
}

Result extended(const LoweredCall& call, Body& body) {
  const Argument list = call.argument(0), more = call.argument(1);
  const auto* items = list.get_if<Argument::List>();
  const auto* added = items_of(more);
  if (items == nullptr || added == nullptr) return {};
  Argument::List whole = *items;
  whole.items.insert(whole.items.end(), added->begin(), added->end());
  if (!body.change_container(call.node, whole)) return {};
  return whole;
}

Result with_item_set(const LoweredCall& call, Body& body) {
  const Argument whole = call.argument(0), key = call.argument(1), value = call.argument(2);
  if (const auto* list = whole.get_if<Argument::List>()) {
    Items items = list->items;
    if (const auto place = place_of(key, items.size())) {
      items[*place] = value;
      return changed(call, body, Argument::List{std::move(items)});
    }
    const auto* slice = key.get_if<Argument::Slice>();
    const auto* given = items_of(value);
    const auto span = slice == nullptr ? std::nullopt : span_of(*slice, items.size());
    if (span && span->step == 1 && given != nullptr) {
      const auto from = items.begin() + span->start;
      const auto at = items.erase(from, std::max(from, items.begin() + span->stop));
      items.insert(at, given->begin(), given->end());
      return changed(call, body, Argument::List{std::move(items)});
    }
  }
  if (const auto* dict = whole.get_if<Argument::Dict>(); dict != nullptr && !key.is<NodeId>()) {
    Argument::Dict made = *dict;
    if (const auto found = find_key(made, key); found != made.items.end())
      found->value = value;
    else
      made.items.push_back({key, value});
    return changed(call, body, std::move(made));
  }
  return refuse_place(call, body);
}

Result with_item_deleted(const LoweredCall& call, Body& body) {
  const Argument whole = call.argument(0), key = call.argument(1);
  if (const auto* list = whole.get_if<Argument::List>()) {
    Items items = list->items;
    if (const auto place = place_of(key, items.size())) {
      items.erase(items.begin() + static_cast<std::ptrdiff_t>(*place));
      return changed(call, body, Argument::List{std::move(items)});
    }
    const auto* slice = key.get_if<Argument::Slice>();
    const auto span = slice == nullptr ? std::nullopt : span_of(*slice, items.size());
    if (span && span->step == 1) {
      const auto from = items.begin() + span->start;
      items.erase(from, std::max(from, items.begin() + span->stop));
      return changed(call, body, Argument::List{std::move(items)});
    }
  }
  if (const auto* dict = whole.get_if<Argument::Dict>(); dict != nullptr && has_key(*dict, key)) {
    Argument::Dict made = *dict;
    std::erase_if(made.items, [&](const auto& item) { return item.key == key; });
    return changed(call, body, std::move(made));
  }
  return refuse_place(call, body);
}

Result is_in(const LoweredCall& call, Body& body) {
  const Argument whole = call.argument(0), wanted = call.argument(1);
  if (const auto* items = items_of(whole)) {
    const bool is_plain = !wanted.is<NodeId>() && std::ranges::none_of(*items, [](const Argument& item) {
      return item.is<NodeId>();
    });
    if (is_plain) return std::ranges::find(*items, wanted) != items->end();
  }
  if (const auto* dict = whole.get_if<Argument::Dict>(); dict != nullptr && !wanted.is<NodeId>())
    return has_key(*dict, wanted);
  body.refuse(call.node, "the result of 'in' is not known");
  return {};
}

Result joined_containers(const LoweredCall& call) {
  const Argument left = call.argument(0), right = call.argument(1);
  const auto *first = items_of(left), *second = items_of(right);
  if (first == nullptr || call.args.size() != 2) return {};
  Items items = *first;
  if (*call.node.target == "operator.add" && second != nullptr &&
      left.is<Argument::List>() == right.is<Argument::List>()) {
    items.insert(items.end(), second->begin(), second->end());
  } else if (const auto* times = right.get_if<std::int64_t>();
             times != nullptr && *call.node.target == "operator.mul") {
    constexpr std::int64_t kMost = 10000;
    if (*times > kMost || *times * static_cast<std::int64_t>(items.size()) > kMost) return {};
    items.clear();
    for (std::int64_t i = 0; i < *times; ++i) items.insert(items.end(), first->begin(), first->end());
  } else {
    return {};
  }
  if (left.is<Argument::List>()) return Argument::List{std::move(items)};
  return Argument::Tuple{std::move(items)};
}

Result listed(const LoweredCall& call, Body&, bool is_tuple) {
  if (call.args.empty()) return is_tuple ? Argument(Argument::Tuple{}) : Argument(Argument::List{});
  const Argument given = call.argument(0);
  Items items;
  if (const auto* dict = given.get_if<Argument::Dict>()) {
    for (const auto& entry : dict->items) items.push_back(entry.key);
  } else if (const auto* all = items_of(given)) {
    items = *all;
  } else {
    return {};
  }
  return is_tuple ? Argument(Argument::Tuple{std::move(items)}) : Argument(Argument::List{std::move(items)});
}

}  // namespace fxtrace::internal
