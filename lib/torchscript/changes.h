// What code does to lists, dicts, objects and tensors that live longer than the call that changes them, to be
// taken back.
#pragma once

#include <unordered_map>
#include <utility>

#include "torchscript/budget.h"
#include "torchscript/symbolic_value.h"
#include "trace/journal.h"

namespace fxtrace::torchscript {

class Changes : public Journal {
 public:
  explicit Changes(Budget& budget) : budget_(budget) {}

  // Keeps what is in a list or dict that is about to be changed, once for each stretch of the run that is
  // taken back as a whole.
  void remember(const Value& container);
  // A stretch begins at the mark; gives where the one around it did.
  Mark begin_stretch(Mark start) { return std::exchange(stretch_, start); }
  Mark stretch() const { return stretch_; }
  // What was done stays.
  void keep() {
    forget();
    remembered_.clear();
  }

 private:
  Budget& budget_;
  std::unordered_map<const void*, Mark> remembered_;  // container -> its newest change
  Mark stretch_ = 0;
};

}  // namespace fxtrace::torchscript
