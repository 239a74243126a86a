// The costs of calls, one after another: sums of symbolic sizes, and the memory in use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/node.h"
#include "opinfo/operator_entry.h"
#include "symbolic/polynomial.h"
#include "symbolic/sym_int.h"

namespace fxtrace::internal {

// Sums of many symbolic sizes.  The memory in use changes with every call, and most sizes are numbers or
// multiples of the same few terms, so a sum is kept as a vector of coefficients of common terms.

class TermSums {
 public:
  using Sum = std::vector<std::int64_t>;  // coefficients by term; 0 beyond the end

  // All functions throw SymbolicError when 64 bits are not enough, or there are too many terms.
  void add(Sum& sum, const SymInt& size) { add(sum, size, 1); }
  void subtract(Sum& sum, const SymInt& size) { add(sum, size, -1); }
  SymInt size(const Sum& sum) const;

 private:
  void add(Sum& sum, const SymInt& size, std::int64_t sign);
  std::size_t place_of(const symbolic::Term& term);

  std::vector<symbolic::Term> terms_{symbolic::Term{}};  // the constant first; coefficients are ignored
};

// Returns whether every coefficient of `sum` is at least that of `other`.
bool is_no_less(const TermSums::Sum& sum, const TermSums::Sum& other);

// Costs of a sequence of calls, in execution order: MACs, activation bytes, and the peak of live memory.
//
// The peak needs lifetimes: memory is live from the call that allocates it to the last call that uses it, and
// views share the memory of their base.  So each tensor carries a MemoryId, and the log keeps a record for
// each block of memory.  Sizes may be expressions of named dimensions.
//
// Invariants:
// 1. Calls are numbered from 1, in execution order; numbers are never reused.  Number 0 means
//    "before the first call".
// 2. A block is live from call `made` to call `last_use`, both included: during a call its arguments and its
//    results are live together.  Blocks that hold() makes have `made` 0, count in the peak, and do not count
//    as activation bytes.
// 3. `last_use` only grows, also across undo_to().  keep_alive() makes it the greatest number, so that the
//    block is never freed.
// 4. A result shares the block of an argument when the schema says that it always aliases it; or when it
//    may be a view, the operator does no MACs, and both have as many bytes.  Using a view thus prolongs the
//    life of its base.
// 5. A result of unknown size has no block.  It is counted in `unsized`, one for each call.
// 6. A MemoryId counts only in the log that made it: values of another log use no memory here.
// 7. A call with a known total cost (a module or function) is one call: its results are blocks, and the
//    rest of its memory is an Extra that is live during this call alone.
// 8. The log is append-only except for undo_to() and choose(), so that a Mark, a few lengths, is enough to go
//    back.
// 9. A peak is the greatest sum of live bytes after a call's results were allocated.  Sums are compared for
//    dimensions of at least 1; those of which none is always the largest become max(...), and more than
//    kMaxPeaks of them make the peak unknown.
//
// Example, with x of float32[batch, 256], a block of batch*1024 bytes that is held:
//   call               allocates  live bytes   freed after the call
//   1  h = relu(x)     h          batch*2048
//   2  v = h.view(-1)  nothing    batch*2048   v shares the block of h
//   3  n = neg(v)      n          batch*3072   h: call 3 is the last use of its block
//   4  y = exp(n)      y          batch*3072   n; y is returned, so it is kept alive
// activation_bytes is batch*3072 (h, n and y), and peak_bytes is batch*3072.

// Returns the greater of two costs, by MACs, where only one of them is incurred; when they cannot be
// compared, a bound for both.
Cost dearer(const Cost& a, const Cost& b);
// Returns the cost of `times` consecutive runs.
Cost repeated(const Cost& cost, const SymInt& times);

// Returns the cost of an operator that runs subgraphs with the costs `inside`, `times` times if it is a loop.
Cost cost_of_runs(const std::string& target, const std::vector<Cost>& inside,
                  const std::optional<SymInt>& times);
// Returns the index of the argument whose first tensor's first dimension is the number of iterations; nothing
// for other operators.
std::optional<std::size_t> find_repeating_argument(const TargetParts& target);

// Returns whether the target only handles existing Python values, or makes tensors of numbers.
bool is_plain_python(const TargetParts& target);

// A log of calls.
class CostLog {
 public:
  // `dimensions` must outlive this.
  explicit CostLog(ShapeEnv& dimensions);

  // Adds a call of an operator, and sets the MemoryIds of `results`.
  void call(const OperatorEntry& op, const CallArguments& args, std::vector<AbstractValue>& results);
  // Adds a call of a function or module with the total cost `inside`, which uses `args`.  When it allocates
  // nothing, its results share the memory of the first argument.
  void call(const Cost& inside, const std::vector<const AbstractValue*>& args,
            std::vector<AbstractValue>& results);
  // Adds a call of unknown cost.
  void add_unknown(std::string name);

  // Adds the tensors of the value as live from start to end.
  void hold(AbstractValue& value);
  // Keeps the memory of a returned value live to the end.
  void keep_alive(const AbstractValue& value);

  Cost cost() const { return calls_ == 1 && last_.memories == 0 ? last() : cost_since({}); }
  Cost last() const;  // the cost of the last call

  // A point to roll back to.  Uses of memory recorded since then are kept.
  struct Mark {
    std::size_t macs = 0, uncounted = 0, unknown = 0, memories = 0, extra = 0;
    std::int64_t unsized = 0;
    std::uint32_t calls = 0;
  };
  Mark mark() const;
  void undo_to(const Mark& mark);
  // Keeps the greater cost of two alternatives, by MACs: the calls from `first` to `second`, and those since
  // `second`.
  void choose(const Mark& first, const Mark& second);

  // A block of memory.
  struct Memory {
    SymInt bytes;
    std::uint32_t made = 0, last_use = 0;  // call numbers, from 1; 0: live from the start
  };
  const std::vector<Memory>& memories() const { return memories_; }

  // The memory of a call with a known total cost, without that of its results.
  struct Extra {
    std::uint32_t call;
    SymInt made;  // bytes allocated in total
    SymInt held;  // bytes live at the peak
  };
  const std::vector<Extra>& extra() const { return extra_; }

 private:
  void begin_call();
  void use(const AbstractValue& value);
  void use(const MemoryId& memory, std::uint32_t until);
  void allocate(TensorInfo& info, const std::optional<SymInt>& bytes);
  void place(AbstractValue& result, const AbstractValue* shared, bool always);
  Cost cost_since(const Mark& mark) const;
  std::optional<SymInt> peak(const Mark& mark, TermSums& terms) const;

  ShapeEnv& dimensions_;
  std::uint32_t number_;           // MemoryId::log
  std::uint32_t calls_ = 0;        // the number of the latest call
  std::vector<SymInt> macs_;       // by call, without zeros
  std::vector<SymInt> uncounted_;  // of them, those that torch.utils.flop_counter does not count
  std::vector<std::pair<std::string, std::int64_t>> unknown_;
  std::int64_t unsized_ = 0;
  std::int64_t uses_ = 0;
  std::vector<Memory> memories_;
  std::vector<Extra> extra_;
  Mark last_;  // before the latest call
};

}  // namespace fxtrace::internal
