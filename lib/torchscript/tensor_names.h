// What is known of tensors belongs to them, not to the names that they go by: who gives one another shape in
// place changes it for all.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "shapes/abstract_value.h"
#include "torchscript/symbolic_value.h"

namespace fxtrace::torchscript {

class TensorNames {
 public:
  // All proxies of one value hold the same; it is never null here.
  using Known = std::shared_ptr<AbstractValue>;

  // Of a tensor of the model: at first what the archive says.
  Known of(TensorValue& tensor);
  // Null where of() was not asked yet.
  Known find(const TensorValue& tensor) const;
  // It is another than it was; whether that was ever so of a tensor of the model.
  void note_change(const Known& known) { has_changed_ = has_changed_ || own_.contains(known.get()); }
  bool has_changed() const { return has_changed_; }

  // Of the part of a list, tuple, dict or object whose parts are known: null where it was not added.
  Known find_part(const Known& whole, std::size_t index) const;
  Known add_part(const Known& whole, std::size_t index, const AbstractValue& known);
  // It may be another part the next time.
  void forget_part(const Known& whole, std::size_t index);
  // Elements of the list are now elsewhere in it, or gone.
  void rearrange(const Known& whole);
  // One may be the other, or in it.
  void link(const Known& one, const Known& other);
  bool is_linked(const Known& known) const { return entries_.contains(known.get()); }

  // What else has to change where a tensor gets another shape.
  struct Other {
    Known known;
    std::optional<std::size_t> part;  // of a whole: that part; absent: all of it
    bool is_same = false;             // the part is the tensor itself; what is not may be another
  };
  std::vector<Other> others(const Known& changed) const;

 private:
  // The others hold this one in turn, so what is known stays where it is while there is an entry.
  struct Entry {
    std::vector<Known> linked;
    std::map<std::size_t, Known> parts;
    Known whole;  // that it is a part of; null for most
    std::size_t index = 0;
  };

  std::unordered_map<const AbstractValue*, Entry> entries_;
  struct Own {
    TensorRef tensor;
    Known known;
  };
  std::unordered_map<const TensorValue*, Own> tensors_;
  std::unordered_set<const AbstractValue*> own_;  // what is known of those
  bool has_changed_ = false;
};

}  // namespace fxtrace::torchscript
