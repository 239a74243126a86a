// Sums up the costs of operator calls, in execution order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "costs/term_sums.h"
#include "graph/cost.h"
#include "opinfo/operator_entry.h"

namespace fxtrace {

// Returns the size of the tensor's elements in bytes; absent when its dtype is unknown, or 64 bits are not
// enough.
std::optional<SymInt> bytes_of(const TensorInfo& info);

// Returns the greater of two costs of which only one is incurred, by multiply-accumulates; when they cannot
// be compared, a bound for both.
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

// A log of calls.  A tensor's memory is live from the call that makes it to its last use, or to the end if it
// is kept.  A result that may be a view counts as one when it has as many bytes as the argument.
class CostLog {
 public:
  // `dimensions` must outlive this.
  explicit CostLog(ShapeEnv& dimensions);

  // Adds a call of an operator, and sets MemoryId in `results`.
  void call(const OperatorEntry& op, const CallArguments& args, std::vector<AbstractValue>& results);
  // Adds a call of a function or module with the total cost `inside`.  `args` are used by it; results without
  // new memory share that of the first argument.
  void call(const Cost& inside, const std::vector<const AbstractValue*>& args,
            std::vector<AbstractValue>& results);
  // Adds a call of unknown cost.
  void add_unknown(std::string name);

  // Adds a tensor that is live from start to end.
  void hold(AbstractValue& value);
  // Keeps the memory of a returned value live to the end.
  void keep_alive(const AbstractValue& value);

  Cost cost() const { return calls_ == 1 && last_.memories == 0 ? last() : cost_since({}); }
  Cost last() const;  // the cost of the last call

  // A point to roll back to.  Uses of memory noted since then are kept.
  struct Mark {
    std::size_t macs = 0, unknown = 0, memories = 0, extra = 0;
    std::int64_t unsized = 0;
    std::uint32_t calls = 0;
  };
  Mark mark() const;
  void undo_to(const Mark& mark);
  // Keeps the greater cost of two alternatives: the calls from `first` to `second`, and those from there on.
  void choose(const Mark& first, const Mark& second);

 private:
  struct Memory {
    SymInt bytes;
    std::uint32_t made = 0, last_use = 0;  // call numbers, from 1; 0: live from the start
  };

  // Memory of a call with a known total cost, apart from its results.
  struct Extra {
    std::uint32_t call;
    SymInt made;  // in total
    SymInt held;  // at one time
  };

  void begin_call();
  void use(const AbstractValue& value);
  void use(const MemoryId& memory, std::uint32_t until);
  void allocate(TensorInfo& info, const std::optional<SymInt>& bytes);
  void place(AbstractValue& result, const AbstractValue* shared, bool always);
  Cost cost_since(const Mark& mark) const;
  std::optional<SymInt> peak(const Mark& mark, TermSums& terms) const;

  ShapeEnv& dimensions_;
  std::uint32_t number_;
  std::uint32_t calls_ = 0;
  std::vector<SymInt> macs_;  // nonzero terms
  std::vector<std::pair<std::string, std::int64_t>> unknown_;
  std::int64_t unsized_ = 0;
  std::int64_t uses_ = 0;
  std::vector<Memory> memories_;
  std::vector<Extra> extra_;
  Mark last_;
};

}  // namespace fxtrace
