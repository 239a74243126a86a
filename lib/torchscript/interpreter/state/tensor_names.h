// An alias analysis of tensors: the shape of a tensor is shared by all values that refer to it, so that
// changing it in place changes it for all.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "shapes/abstract_value.h"
#include "torchscript/interpreter/program/symbolic_value.h"

namespace fxtrace::interpreter {

class TensorNames {
 public:
  // What is known of one value, shared by all its proxies; never null here.
  using Known = std::shared_ptr<AbstractValue>;

  // Returns what is known of a tensor of the model, initially what the archive says.
  Known known_for(TensorValue& tensor);
  // Returns the same; null when of() was not called for the tensor.
  Known find_known(const TensorValue& tensor) const;
  // Notes a change of shape; has_changed() returns whether a tensor of the model was ever changed.
  void note_change(const Known& known) { has_changed_ = has_changed_ || own_.contains(known.get()); }
  bool has_changed() const { return has_changed_; }

  // Returns what is known of part `index` of a list, tuple, dict or object; null when that part was never
  // added.
  Known find_part(const Known& whole, std::size_t index) const;
  Known add_part(const Known& whole, std::size_t index, const AbstractValue& known);
  // Forgets a part, which may be replaced by another value.
  void forget_part(const Known& whole, std::size_t index);
  // Forgets the positions of a list's elements, which have moved or are gone.
  void rearrange(const Known& whole);
  // Notes a possible alias: one value may be the other, or be contained in it.
  void link(const Known& one, const Known& other);
  bool is_linked(const Known& known) const { return entries_.contains(known.get()); }

  // Another value that changes when a tensor gets another shape.
  struct Other {
    Known known;
    std::optional<std::size_t> part;  // the part of `known` that changes; absent: all of it
    bool is_same = false;             // it is the tensor itself; otherwise it may be
  };
  std::vector<Other> others_changed_by(const Known& changed) const;

 private:
  // The links of a value.  Linked values hold each other, so keys stay valid while there is an entry.
  struct Entry {
    std::vector<Known> linked;
    std::map<std::size_t, Known> parts;
    Known whole;  // the value that it is a part of; null for most
    std::size_t index = 0;
  };

  std::unordered_map<const AbstractValue*, Entry> entries_;
  struct Own {
    TensorRef tensor;
    Known known;
  };
  std::unordered_map<const TensorValue*, Own> tensors_;
  std::unordered_set<const AbstractValue*> own_;  // what is known of `tensors_`
  bool has_changed_ = false;
};

}  // namespace fxtrace::interpreter
