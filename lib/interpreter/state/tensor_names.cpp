#include "interpreter/state/tensor_names.h"

#include <algorithm>
#include <unordered_set>

#include "interpreter/state/value_form.h"

namespace fxtrace::internal::interpreter {

TensorNames::KnownValue TensorNames::known_for(TensorValue& tensor) {
  auto& [held, known] = tensors_[&tensor];
  if (!known) {
    held = TensorRef(&tensor);
    auto info = tensor_info(tensor);
    known = std::make_shared<AbstractValue>(info ? AbstractValue{std::move(*info)} : AbstractValue{});
    own_.insert(known.get());
  }
  return known;
}

TensorNames::KnownValue TensorNames::find_known(const TensorValue& tensor) const {
  const auto found = tensors_.find(&tensor);
  return found == tensors_.end() ? nullptr : found->second.known;
}

TensorNames::KnownValue TensorNames::find_part(const KnownValue& whole, std::size_t index) const {
  const auto found = entries_.find(whole.get());
  if (found == entries_.end()) return nullptr;
  const auto part = found->second.parts.find(index);
  return part == found->second.parts.end() ? nullptr : part->second;
}

TensorNames::KnownValue TensorNames::add_part(const KnownValue& whole, std::size_t index,
                                              const AbstractValue& known) {
  auto part = std::make_shared<AbstractValue>(known);
  entries_[whole.get()].parts.insert_or_assign(index, part);
  Entry& entry = entries_[part.get()];
  entry.whole = whole;
  entry.index = index;
  return part;
}

void TensorNames::forget_part(const KnownValue& whole, std::size_t index) {
  const auto found = entries_.find(whole.get());
  const auto part = found->second.parts.find(index);
  if (part == found->second.parts.end()) return;  // rearrange() has forgotten it
  Entry& entry = entries_.at(part->second.get());
  entry.whole = nullptr;
  entry.linked.push_back(whole);
  found->second.linked.push_back(part->second);
  found->second.parts.erase(part);
}

void TensorNames::rearrange(const KnownValue& whole) {
  const auto found = entries_.find(whole.get());
  if (found == entries_.end()) return;
  while (!found->second.parts.empty()) forget_part(whole, found->second.parts.begin()->first);
}

void TensorNames::link(const KnownValue& one, const KnownValue& other) {
  if (one == other) return;
  std::vector<KnownValue>& linked = entries_[one.get()].linked;
  if (!linked.empty() && linked.back() == other) return;
  linked.push_back(other);
  entries_[other.get()].linked.push_back(one);
}

std::vector<TensorNames::Other> TensorNames::others_changed_by(const KnownValue& changed) const {
  std::vector<Other> others;
  if (!entries_.contains(changed.get())) return others;
  std::vector<KnownValue> pending{changed};
  std::unordered_set<const AbstractValue*> seen{changed.get()};
  const auto add = [&](const KnownValue& known) {
    if (!seen.insert(known.get()).second) return;
    others.push_back({known, std::nullopt});
    pending.push_back(known);
  };
  while (!pending.empty()) {
    const KnownValue known = std::move(pending.back());
    pending.pop_back();
    const auto found = entries_.find(known.get());
    if (found == entries_.end()) continue;
    std::ranges::for_each(found->second.linked, add);
    if (known != changed) {
      for (const auto& [index, part] : found->second.parts) add(part);
    }
    // All wholes up to the outermost, as each has its own copy of what is known of its parts.
    bool is_same = known == changed;
    for (const Entry* entry = &found->second; entry->whole; is_same = false) {
      others.push_back({entry->whole, entry->index, is_same});
      const auto around = entries_.find(entry->whole.get());
      std::ranges::for_each(around->second.linked, add);
      entry = &around->second;
    }
  }
  return others;
}

}  // namespace fxtrace::internal::interpreter
