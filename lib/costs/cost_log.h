// Adds up what calls of operators cost, in the order in which they run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "costs/term_sums.h"
#include "families/aliases.h"
#include "families/cost_rules.h"
#include "families/shape_rules.h"
#include "graph/cost.h"

namespace fxtrace {

// What the table of operators says of one, worked out once for the whole program.
struct CostedOperator {
  CalledOperator called;
  std::string target;  // "aten.add.Tensor"
  CostRule rule = nullptr;
  std::vector<Alias> aliases;
  std::vector<AbstractValue> defaults;  // by argument; unknown where there is none
};
// Of a row of the table; for the thread that asks.
const CostedOperator& costed_operator(const Operator& op);

// Bytes of its elements; absent when its dtype is not known, or 64 bits are not enough.
std::optional<SymInt> bytes_of(const TensorInfo& info);

// Where two costs exclude each other, the one with more multiply-accumulates; both where nobody can tell.
Cost dearer(const Cost& a, const Cost& b);
// The same `times` over, one after another.
Cost repeated(const Cost& cost, const SymInt& times);

// Of an operator that runs subgraphs, whose costs are `inside`: `times` over where it runs them again and
// again.
Cost cost_of_runs(const std::string& target, const std::vector<Cost>& inside,
                  const std::optional<SymInt>& times);
// Of its arguments the one whose first tensor's first dimension says how often; nothing for other operators.
std::optional<std::size_t> find_repeating_argument(const TargetParts& target);

// What Python does with values that are there, and tensors made of numbers.
bool is_plain_python(const TargetParts& target);

// Memory of a tensor is held from the call that makes it to the last call that uses it, or to the end for
// what is kept.  A result that may be a view is taken for one where its bytes are those of the argument.
class CostLog {
 public:
  // `dimensions` must outlive this.
  explicit CostLog(ShapeEnv& dimensions);

  // A call of an operator.  `results` are told which memory they are in.
  void call(const CostedOperator& op, const CallArguments& args, std::vector<AbstractValue>& results);
  // Of a function or module whose cost is known as a whole, or not at all.  `args` are used; results that
  // take no new memory are in that of the first argument.
  void call(const Cost& inside, const std::vector<const AbstractValue*>& args,
            std::vector<AbstractValue>& results);
  // Something runs that nobody can tell the cost of.
  void add_unknown(std::string name);

  // A tensor that is there from the start, to the end.
  void hold(AbstractValue& value);
  // Of tensors that are given back.
  void keep(const AbstractValue& value);

  Cost cost() const { return calls_ == 1 && last_.memories == 0 ? last() : cost_since({}); }
  Cost last() const;  // of the last call alone

  // What was added since can be taken back; memory that was used stays in use.
  struct Mark {
    std::size_t macs = 0, unknown = 0, memories = 0, extra = 0;
    std::int64_t unsized = 0;
    std::uint32_t calls = 0;
  };
  Mark mark() const;
  void undo_to(const Mark& mark);
  // Of two ways that were added one after the other, `first` to `second` and from there on, the dearer
  // counts.
  void choose(const Mark& first, const Mark& second);

 private:
  struct Memory {
    SymInt bytes;
    std::uint32_t made = 0, last_use = 0;  // calls, from 1; 0: held from the start
  };

  // Of a call whose cost is known as a whole, besides its results.
  struct Extra {
    std::uint32_t call;
    SymInt made;  // all together
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
  std::vector<SymInt> macs_;  // none of them 0
  std::vector<std::pair<std::string, std::int64_t>> unknown_;
  std::int64_t unsized_ = 0;
  std::int64_t uses_ = 0;
  std::vector<Memory> memories_;
  std::vector<Extra> extra_;
  Mark last_;
};

}  // namespace fxtrace
