#include "torchscript/values/value_extent.h"

#include <algorithm>
#include <unordered_map>

namespace fxtrace::internal::torchscript {
namespace {

bool holds_values(const Value& value) { return value.is_tuple() || value.is_list() || value.is_dict(); }

Extent of_single(const Value& value) {
  constexpr std::size_t kCharacters = 16;
  if (value.is_string()) return {true, 1 + value.to_string().size() / kCharacters, 1};
  return {!(value.is_tensor() || value.is_handle() || value.is_object()), 1, 1};
}

// Measures nested containers; remembers each, as it may occur again.
class Measure {
 public:
  Extent measure(const Value& value) {
    if (!holds_values(value)) return of_single(value);
    if (depth_ == kMaxValueDepth) return {false, Extent::kEndless, 1};
    ++depth_;
    const Extent whole = value.is_dict() ? of_dict(value) : of_items(value);
    --depth_;
    return whole;
  }

 private:
  static void add(Extent& whole, const Extent& part) {
    whole.is_plain = whole.is_plain && part.is_plain;
    whole.size = std::min(Extent::kEndless, whole.size + part.size);
    whole.looked += part.looked;
  }

  // A container without containers inside is not remembered.
  Extent of_items(const Value& value) {
    Extent whole;
    bool is_nested = false;
    for (const Value& item : value.items()) {
      if (holds_values(item)) {
        is_nested = true;
      } else {
        add(whole, of_single(item));
      }
    }
    if (!is_nested) return whole;
    return remembered(value.identity(), whole, [&](Extent& found) {
      for (const Value& item : value.items()) {
        if (holds_values(item)) add(found, measure(item));
      }
    });
  }

  Extent of_dict(const Value& value) {
    return remembered(value.identity(), {}, [&](Extent& found) {
      for (const DictValue::Entry& entry : value.to_dict().entries()) {
        add(found, measure(entry.key));
        add(found, measure(entry.value));
      }
    });
  }

  template <class F>
  Extent remembered(const void* identity, Extent whole, const F& add_parts) {
    // The container counts as endless until it is measured, as it may hold itself.
    const auto [place, is_new] = known_.try_emplace(identity, Extent{false, Extent::kEndless, 1});
    if (!is_new) return place->second;
    add_parts(whole);
    Extent again = whole;
    again.looked = 1;
    known_[identity] = again;
    return whole;
  }

  std::unordered_map<const void*, Extent> known_;
  std::size_t depth_ = 0;
};

}  // namespace

Extent extent_of(const Value& value) { return Measure{}.measure(value); }

}  // namespace fxtrace::internal::torchscript
