#include "interpreter/state/changes.h"

#include <algorithm>

#include "interpreter/state/value_form.h"

namespace fxtrace::internal::interpreter {

void Changes::remember(const Value& container) {
  const void* identity = container.identity();
  const auto known = remembered_.find(identity);
  if (known != remembered_.end() && known->second >= stretch_) return;
  budget_.spend(container.is_list() ? container.items().size() : container.to_dict().size());
  remembered_[identity] = mark();
  add([this, identity, container, before = copy_of(container)] {
    set_content(container, before);
    remembered_.erase(identity);
  });
}

void AssignedAttributes::add(Entry entry) {
  changes_.add([this, before = entries_] { entries_ = before; });
  std::erase_if(entries_, [&](const Entry& other) {
    return other.object.get() == entry.object.get() && other.slot == entry.slot;
  });
  entries_.push_back(std::move(entry));
}

bool AssignedAttributes::has(const ObjectValue& object, std::size_t slot) const {
  return std::ranges::any_of(
      entries_, [&](const Entry& entry) { return entry.object.get() == &object && entry.slot == slot; });
}

void store(const AttributePlace& place, Value value, Changes& changes) {
  changes.add([object = place.object, slot = place.slot, before = place.current] {
    object->slots.at(slot) = before;
  });
  place.object->slots.at(place.slot) = std::move(value);
}

}  // namespace fxtrace::internal::interpreter
