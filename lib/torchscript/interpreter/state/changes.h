// An undo log of changes in place to lists, dicts, objects and tensors that outlive the call that changes
// them.
#pragma once

#include <unordered_map>
#include <utility>

#include "torchscript/interpreter/program/symbolic_value.h"
#include "trace/options/budget.h"
#include "trace/tracer/journal.h"

namespace fxtrace::interpreter {

class Changes : public Journal {
 public:
  explicit Changes(Budget& budget) : budget_(budget) {}

  // Saves the items of a list or dict before a change, once for each stretch: a part of the run that is
  // undone as a whole.
  void remember(const Value& container);
  // Begins a stretch at the mark; returns where the enclosing stretch began.
  Mark begin_stretch(Mark start) { return std::exchange(stretch_, start); }
  Mark stretch() const { return stretch_; }
  // Commits all changes.
  void commit() {
    forget();
    remembered_.clear();
  }

 private:
  Budget& budget_;
  std::unordered_map<const void*, Mark> remembered_;  // container -> its newest change
  Mark stretch_ = 0;
};

}  // namespace fxtrace::interpreter
