// Alias analysis of the interpreter's values: which of them share what is known of a tensor's shape.
//
// x.unsqueeze_(0), x.t_() and the like give a tensor another shape in place.  Every other name of the tensor
// has the new shape from then on, and a list that holds it has an element of that shape.  The analysis tells
// which values are concerned, in three degrees:
//
//   - the same tensor: the values share one KnownValue, so a change of its content is seen by all;
//   - an element: the value is part `index` of a list, tuple, dict or object, whose own KnownValue says so
//   too;
//   - perhaps the same, or perhaps an element (x.contiguous(), xs[i] of an unknown i): the two are linked,
//     and nothing is known of the one when the other gets another shape.
//
// Invariants:
//
// 1. A KnownValue is the identity of a value: proxies that are certainly the same value hold the same pointer
//    (share_known() in program/symbolic_value.h), and known_for() returns the same one for a tensor each
//    time.
// 2. Links are symmetric, and reach as far as they chain: others_changed_by() takes their transitive closure.
// 3. Links are only added.  A part that is forgotten, because its list was rearranged or its note was undone,
//    becomes a link.  So a rollback leaves too many aliases, never too few.
// 4. A part has at most one whole, and is its part `index` there; add_part() is called once for a place,
//    until forget_part() takes it back.
// 5. Entries are never erased, and linked values, wholes and parts hold each other: an address that is a key
//    of entries_ stays that of the same KnownValue.  Tensors of the model are held likewise.
// 6. Only shapes are shared by this analysis.  Elements of tensors go by the memory that they are in
//    (propagate/operator_evaluation.h), as a view has other sizes and the same elements.
//
// Example, from tests/interpreter/sizes_in_place.txt, where c is float32[4,n]:
//
//   parts = c.chunk(2, 0)   what is known of `parts` is ([2,n], [2,n])
//   p0, p1 = parts          add_part(parts, 0) and add_part(parts, 1) give p0 and p1 a KnownValue each, both
//   [2,n] p2 = p0.unsqueeze_(0)   p0's KnownValue becomes [1,2,n], and p2 shares it.  others_changed_by(p0)
//   returns
//                           {parts, part 0, is_same}: `parts` becomes ([1,2,n], [2,n]); p1 is not concerned
//   q = parts[0]            find_part(parts, 0) is p0's KnownValue: q is [1,2,n], and changes with p0 from
//   now on
//
// With y = x.contiguous() in place of chunk, y and x are linked: after x.unsqueeze_(0) y's shape is unknown.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "interpreter/program/symbolic_value.h"
#include "shapes/abstract_value.h"

namespace fxtrace::internal::interpreter {

class TensorNames {
 public:
  // What is known of one value, shared by all its proxies; never null here.
  using KnownValue = std::shared_ptr<AbstractValue>;

  // Returns what is known of a tensor of the model, initially what the archive says.
  KnownValue known_for(TensorValue& tensor);
  // Returns the same; null when known_for() was not called for the tensor.
  KnownValue find_known(const TensorValue& tensor) const;
  // Notes that what is known of a value changes; has_changed() returns whether a tensor of the model was ever
  // among these.
  void note_change(const KnownValue& known) { has_changed_ = has_changed_ || own_.contains(known.get()); }
  bool has_changed() const { return has_changed_; }

  // Returns what is known of part `index` of a list, tuple, dict or object; null when that part was never
  // added.
  KnownValue find_part(const KnownValue& whole, std::size_t index) const;
  KnownValue add_part(const KnownValue& whole, std::size_t index, const AbstractValue& known);
  // Forgets a part, which may be replaced by another value.
  void forget_part(const KnownValue& whole, std::size_t index);
  // Forgets the positions of a list's elements, which have moved or are gone.
  void rearrange(const KnownValue& whole);
  // Notes a possible alias: one value may be the other, or one may be contained in the other.
  void link(const KnownValue& one, const KnownValue& other);
  bool is_linked(const KnownValue& known) const { return entries_.contains(known.get()); }

  // Another value that changes when a tensor gets another shape.
  struct Other {
    KnownValue known;
    std::optional<std::size_t> part;  // the part of `known` that changes; absent: all of it
    bool is_same = false;             // the part is the tensor itself; false: it may be
  };
  // Returns all values that a new shape of `changed` changes too, without `changed` and its parts.
  std::vector<Other> others_changed_by(const KnownValue& changed) const;

 private:
  // The links of a value.  Linked values hold each other, so keys stay valid while there is an entry.
  struct Entry {
    std::vector<KnownValue> linked;
    std::map<std::size_t, KnownValue> parts;
    KnownValue whole;       // the value that this one is a part of; null for most
    std::size_t index = 0;  // the index of the part in `whole`
  };

  std::unordered_map<const AbstractValue*, Entry> entries_;
  struct Own {
    TensorRef tensor;
    KnownValue known;
  };
  std::unordered_map<const TensorValue*, Own> tensors_;
  std::unordered_set<const AbstractValue*> own_;  // the addresses of what is known of `tensors_`
  bool has_changed_ = false;
};

}  // namespace fxtrace::internal::interpreter
