// An undo log of the interpreter: the inverses of all changes in place that a run makes to lists, dicts,
// objects and to what is known of tensors.
//
// The interpreter runs the model's code on real lists, dicts and objects, and often takes a part of the run
// back: a module that cannot be followed becomes a leaf, a loop is recorded again with other assumptions, a
// leaf is followed only to see what it gives.  Such a part is undone to the mark (Journal::Mark) at its
// beginning.
//
// Most changes add their inverse with add().  Items of lists and dicts are different: code that appends a
// thousand times would copy the list a thousand times.  So remember() copies a container only at its first
// change within a stretch, a part of the run that is undone as a whole.
//
// Invariants:
//
// 1. Inverses run in the reverse order of their changes, and an inverse adds none (Journal::undo_to).
// 2. undo_to(mark) restores a container if a stretch begins at the mark, or if the container was not changed
//    between the beginning of the current stretch and the mark.  So whoever wants to undo to a mark by itself
//    must begin a stretch there, and restore the enclosing stretch when the part is over, as
//    Recorder::checkpoint(), back_to() and keep() do.
// 3. remembered_ has the mark of the newest copy of each container.  A copy is made if there is none, or if
//    the newest is older than the stretch.  When a copy is put back, its entry goes: the next change copies
//    again.
// 4. The inverse holds the container, so an address in remembered_ is never that of another one.
// 5. commit() makes all changes final: neither inverses nor copies are left.
//
// Example, with marks in brackets:
//
//   xs.append(a)        [0] stretch 0, no copy yet: copies xs = []
//   xs.append(b)            the copy from [0] is in stretch 0: copies nothing
//   sub(xs)             [1] a module call, which may fail: begin_stretch(1) returns 0
//     xs.append(c)          the copy from [0] is older than stretch 1: copies xs = [a, b]
//     xs.append(d)          copies nothing
//     raises                undo_to(1): xs = [a, b].  begin_stretch(0): the stretch around it goes on
//   xs.append(e)        [1] the entry of xs is gone: copies xs = [a, b] once more, which does no harm
//   undo_to(0)              xs = [a, b], then xs = []
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "interpreter/program/symbolic_value.h"
#include "trace/options/options.h"
#include "trace/tracer/graph_builder.h"
#include "trace/tracer/program.h"

namespace fxtrace::internal::interpreter {

class Changes : public Journal {
 public:
  explicit Changes(Budget& budget) : budget_(budget) {}

  // Saves the items of a list or dict before a change, once for each stretch.
  void remember(const Value& container);
  // Begins a stretch at the mark.  Returns the beginning of the enclosing stretch.
  Mark begin_stretch(Mark start) { return std::exchange(stretch_, start); }
  // Commits all changes.
  void commit() {
    forget();
    remembered_.clear();
  }

 private:
  Budget& budget_;
  std::unordered_map<const void*, Mark> remembered_;  // container -> the mark of its newest copy
  Mark stretch_ = 0;                                  // the beginning of the current stretch
};

// Attributes of objects during a run: the assignments so far, and the place of one attribute.

// The attributes of the model that a run has assigned so far: the last assignment to each, in order.
class AssignedAttributes {
 public:
  struct Entry {
    Ref<ObjectValue> object;
    std::size_t slot = 0;
    // Set where a graph is recorded:
    std::string target = {};
    ModuleId module = {};
    std::optional<SourceLocation> source = std::nullopt;
    bool is_tensor = false;
  };

  explicit AssignedAttributes(Changes& changes) : changes_(changes) {}

  void add(Entry entry);
  bool has(const ObjectValue& object, std::size_t slot) const;
  const std::vector<Entry>& entries() const { return entries_; }
  using Attribute = std::pair<const ObjectValue*, std::size_t>;
  // Notes that the attribute's value was taken as it is in the file.
  void note_read(const Attribute& attribute) { read_.insert(attribute); }
  const std::set<Attribute>& read() const { return read_; }

 private:
  Changes& changes_;
  std::vector<Entry> entries_;
  std::set<Attribute> read_;
};

// An attribute of an object, and its current value.
struct AttributePlace {
  Ref<ObjectValue> object;
  std::size_t slot = 0;
  const std::string& name;
  Value current;
};

// Sets the attribute; the change can be undone.
void store(const AttributePlace& place, Value value, Changes& changes);

}  // namespace fxtrace::internal::interpreter
