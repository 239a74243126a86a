#include "costs/cost_log.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <unordered_map>

#include "operators/target.h"
#include "opinfo/rules/shape_helpers.h"
#include "support/error.h"
#include "support/integers.h"
#include "support/text/numbers.h"
#include "symbolic/polynomial.h"

namespace fxtrace::internal {
namespace {

constexpr std::size_t kMaxTerms = 256;

void add_to(std::int64_t& sum, std::int64_t number, std::int64_t sign) {
  std::int64_t change = 0;
  if (__builtin_mul_overflow(number, sign, &change) || __builtin_add_overflow(sum, change, &sum)) {
    throw SymbolicError("a sum does not fit into 64 bits");
  }
}

}  // namespace

std::size_t TermSums::place_of(const symbolic::Term& term) {
  const auto found = std::ranges::find_if(
      terms_, [&](const symbolic::Term& known) { return symbolic::same_atoms(known, term); });
  if (found != terms_.end()) return static_cast<std::size_t>(found - terms_.begin());
  if (terms_.size() == kMaxTerms) throw SymbolicError("a sum has too many terms");
  terms_.push_back({term.atoms, 1});
  return terms_.size() - 1;
}

void TermSums::add(Sum& sum, const SymInt& size, std::int64_t sign) {
  if (sum.empty()) sum.push_back(0);
  if (const auto number = size.number()) return add_to(sum[0], *number, sign);
  for (const symbolic::Term& term : symbolic::terms_of(size)) {
    const std::size_t place = place_of(term);
    if (sum.size() <= place) sum.resize(place + 1);
    add_to(sum[place], term.coefficient, sign);
  }
}

SymInt TermSums::size(const Sum& sum) const {
  std::vector<symbolic::Term> terms;
  for (std::size_t i = 0; i < sum.size(); ++i) {
    if (sum[i] != 0) terms.push_back({terms_[i].atoms, sum[i]});
  }
  return symbolic::sum(std::move(terms));
}

bool is_no_less(const TermSums::Sum& sum, const TermSums::Sum& other) {
  for (std::size_t i = 0; i < std::max(sum.size(), other.size()); ++i) {
    if ((i < sum.size() ? sum[i] : 0) < (i < other.size() ? other[i] : 0)) return false;
  }
  return true;
}

namespace {

constexpr std::size_t kMaxPeaks = 8;  // the limit on expressions of which none is always the largest
constexpr std::int64_t kMaxUses =
    20'000'000;  // the limit on values visited in all calls: a file may ask for more

// Returns whether a >= b when every dimension is at least 1: each negative term of the difference must have
// positive ones that are multiples of it and outweigh it.
bool covers(const SymInt& a, const SymInt& b) try {
  if (a.is_number() && b.is_number()) return *a.number() >= *b.number();
  const SymInt difference = a - b;
  std::vector<symbolic::Term> positive;
  std::vector<const symbolic::Term*> negative;
  const symbolic::Terms terms(difference);
  for (const symbolic::Term& term : terms) {
    if (term.coefficient > 0) {
      positive.push_back(term);
    } else {
      negative.push_back(&term);
    }
  }
  std::vector<symbolic::AtomRef> rest;
  return std::ranges::all_of(negative, [&](const symbolic::Term* term) {
    std::int64_t missing = term->coefficient;
    for (symbolic::Term& other : positive) {
      if (other.coefficient == 0 || !symbolic::divide_atoms(other.atoms, term->atoms, rest)) continue;
      const std::int64_t taken = -std::max(missing, -other.coefficient);
      other.coefficient -= taken;
      missing += taken;
      if (missing == 0) return true;
    }
    return false;
  });
} catch (const SymbolicError&) {
  return false;
}

// Keeps the largest of the sums that are added.
class Largest {
 public:
  void add(const TermSums::Sum& sum) {
    if (std::ranges::any_of(sums_, [&](const auto& known) { return is_no_less(known, sum); })) return;
    std::erase_if(sums_, [&](const auto& known) { return is_no_less(sum, known); });
    sums_.push_back(sum);
    constexpr std::size_t kMaxKept = 64;
    if (sums_.size() > kMaxKept) throw SymbolicError("too many sums of which none is the largest");
  }
  // Returns the largest sum, or max() of several; nothing when more than kMaxPeaks may be the largest.
  std::optional<SymInt> get(const TermSums& terms) const {
    std::vector<SymInt> largest;
    for (const TermSums::Sum& sum : sums_) {
      const SymInt size = terms.size(sum);
      if (std::ranges::any_of(largest, [&](const SymInt& known) { return covers(known, size); })) continue;
      std::erase_if(largest, [&](const SymInt& known) { return covers(size, known); });
      largest.push_back(size);
    }
    if (largest.size() > kMaxPeaks) return std::nullopt;
    SymInt result = 0;
    for (const SymInt& size : largest) result = &size == largest.data() ? size : max(result, size);
    return result;
  }

 private:
  std::vector<TermSums::Sum> sums_;
};

bool may_hold_tensor(const ValueType& type) {
  return type.kind == ValueType::Kind::kTensor || type.kind == ValueType::Kind::kAny;
}

const TensorInfo* first_tensor(const AbstractValue& value) {
  if (value.tensor() != nullptr) return value.tensor();
  if (const auto* items = value.sequence()) {
    for (const AbstractValue& item : *items) {
      if (const TensorInfo* found = first_tensor(item)) return found;
    }
  }
  return nullptr;
}

std::int64_t one_more(std::int64_t count) {
  add_saturated(count, 1);
  return count;
}

bool is_counted(Counted counted, const CallArguments& args, const std::vector<AbstractValue>& results) {
  const auto has_one = [](const SymInt& size) { return size == SymInt(1); };
  const TensorInfo* second = args.size() > 1 ? args[1].tensor() : nullptr;
  const TensorInfo* result = results.empty() ? nullptr : results[0].tensor();
  switch (counted) {
    case Counted::kNever:
      return false;
    case Counted::kAlways:
      return true;
    case Counted::kUnlessVector:
      return second == nullptr || second->sizes.size() != 1;
    case Counted::kUnlessVectors:
      return result == nullptr || !std::ranges::all_of(result->sizes, has_one);
  }
  return false;
}

bool is_tensor_type(const SchemaType& type) { return type.innermost().name == "Tensor"; }

}  // namespace

Cost dearer(const Cost& a, const Cost& b) {
  if (a.macs && b.macs && a.unknown == b.unknown && a.unsized == b.unsized) {
    if (covers(*a.macs, *b.macs)) return a;
    if (covers(*b.macs, *a.macs)) return b;
  }
  const auto larger = [](const std::optional<SymInt>& one, const std::optional<SymInt>& other) {
    if (!one || !other) return one ? one : other;
    return std::optional(covers(*one, *other) ? *one : covers(*other, *one) ? *other : max(*one, *other));
  };
  Cost both;
  both.macs = larger(a.macs, b.macs);
  if (a.uncounted_macs == b.uncounted_macs) both.uncounted_macs = a.uncounted_macs;
  both.parameter_bytes = std::max(a.parameter_bytes, b.parameter_bytes);
  both.activation_bytes = larger(a.activation_bytes, b.activation_bytes);
  both.peak_bytes = larger(a.peak_bytes, b.peak_bytes);
  both.unknown = a.unknown;
  for (const auto& [name, count] : b.unknown) both.unknown[name] = std::max(both.unknown[name], count);
  both.unsized = std::max(a.unsized, b.unsized);
  return both;
}

Cost repeated(const Cost& cost, const SymInt& times) {
  Cost result = cost;
  for (auto* part : {&result.macs, &result.uncounted_macs, &result.activation_bytes}) {
    if (*part) *part = **part * times;
  }
  const std::int64_t counted = std::max<std::int64_t>(times.number().value_or(1), 0);
  for (auto& [name, count] : result.unknown) multiply_saturated(count, counted);
  multiply_saturated(result.unsized, counted);
  return result;
}

Cost cost_of_runs(const std::string& target, const std::vector<Cost>& inside,
                  const std::optional<SymInt>& times) {
  Cost unknown;
  unknown.unknown[target] = 1;
  if (inside.empty()) return unknown;
  try {
    switch (subgraph_runs(parse_target(target))) {
      case SubgraphRuns::kOnce:
        return inside.front();
      case SubgraphRuns::kOneOf: {
        Cost cost = inside.front();
        for (const Cost& other : inside) cost = dearer(cost, other);
        return cost;
      }
      case SubgraphRuns::kRepeated:
        if (times) return repeated(inside.front(), *times);
        break;
      case SubgraphRuns::kUnknown:
        break;
    }
  } catch (const SymbolicError&) {
    return unknown;
  }
  return unknown;
}

std::optional<std::size_t> find_repeating_argument(const TargetParts& target) {
  if (target.kind != TargetKind::kHigherOrder) return std::nullopt;
  if (target.name == "scan") return 2;                              // (f, init, xs, more)
  if (target.name == "map" || target.name == "map_impl") return 1;  // (f, xs, more)
  return std::nullopt;
}

bool is_plain_python(const TargetParts& target) {
  static constexpr std::array<std::string_view, 6> kSpaces{"builtins", "math",     "operator",
                                                           "torch",    "torch._C", "torch.amp.autocast_mode"};
  return target.kind == TargetKind::kPython && std::ranges::find(kSpaces, target.space) != kSpaces.end();
}

CostLog::CostLog(ShapeEnv& dimensions) : dimensions_(dimensions) {
  static std::atomic<std::uint32_t> logs = 0;
  number_ = ++logs;
}

void CostLog::begin_call() {
  last_ = mark();
  ++calls_;
}

void CostLog::use(const MemoryId& memory, std::uint32_t until) {
  // An id of another log, as values of earlier runs have, is not memory of this one.
  if (memory.log != number_ || memory.number >= memories_.size()) return;
  std::uint32_t& last_use = memories_[memory.number].last_use;
  last_use = std::max(last_use, until);
}

void CostLog::use(const AbstractValue& value) {
  if (++uses_ > kMaxUses) return;
  if (const TensorInfo* info = value.tensor()) use(info->memory, calls_);
  if (const auto* items = value.sequence()) {
    for (const AbstractValue& item : *items) use(item);
  }
  if (const auto* dict = value.dict()) {
    for (const AbstractValue& item : dict->values) use(item);
  }
}

void CostLog::keep_alive(const AbstractValue& value) {
  if (const TensorInfo* info = value.tensor()) use(info->memory, UINT32_MAX);
  if (const auto* items = value.sequence()) {
    for (const AbstractValue& item : *items) keep_alive(item);
  }
  if (const auto* dict = value.dict()) {
    for (const AbstractValue& item : dict->values) keep_alive(item);
  }
}

void CostLog::allocate(TensorInfo& info, const std::optional<SymInt>& bytes) {
  if (!bytes) {
    add_saturated(unsized_, 1);
    return;
  }
  info.memory = {number_, static_cast<std::uint32_t>(memories_.size())};
  memories_.push_back({*bytes, calls_, calls_});
}

void CostLog::hold(AbstractValue& value) {
  if (auto* info = std::get_if<TensorInfo>(&value.value)) {
    const std::uint32_t calls = std::exchange(calls_, 0);
    allocate(*info, bytes_of(info->sizes, info->dtype));
    calls_ = calls;
    use(info->memory, UINT32_MAX);
  }
  if (auto* items = std::get_if<AbstractValue::Sequence>(&value.value)) {
    for (AbstractValue& item : *items) hold(item);
  }
}

// Gives a result its memory.  `shared` is the argument that the result may be a view of; null when there is
// none.
void CostLog::place(AbstractValue& result, const AbstractValue* shared, bool always) {
  if (auto* items = std::get_if<AbstractValue::Sequence>(&result.value)) {
    const auto* parts = shared != nullptr ? shared->sequence() : nullptr;
    for (std::size_t i = 0; i < items->size(); ++i) {
      place((*items)[i], parts != nullptr && i < parts->size() ? &(*parts)[i] : shared, always);
    }
    return;
  }
  auto* info = std::get_if<TensorInfo>(&result.value);
  if (info == nullptr) return;
  const TensorInfo* base = shared != nullptr ? first_tensor(*shared) : nullptr;
  if (base != nullptr && always) {
    info->memory = base->memory;
    return;
  }
  const auto bytes = bytes_of(info->sizes, info->dtype);
  if (base != nullptr && bytes_of(base->sizes, base->dtype) == bytes) {
    info->memory = base->memory;
  } else {
    allocate(*info, bytes);
  }
}

void CostLog::call(const OperatorEntry& op, const CallArguments& args, std::vector<AbstractValue>& results) {
  begin_call();
  const std::vector<SchemaArgument>& arguments = op.schema.arguments;
  bool is_sized = true;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args.is_literal(i) || !may_hold_tensor(args.type(i))) continue;
    const AbstractValue& value = args[i];
    use(value);
    is_sized = is_sized && !(value.is_unknown() && i < arguments.size() && is_tensor_type(arguments[i].type));
  }
  bool does_macs = true;
  const std::int64_t unsized = unsized_;
  if (op.macs == nullptr) {
    add_unknown(op.target);
  } else if (!is_sized && op.macs != no_macs) {
    unsized_ = one_more(unsized);
  } else {
    try {
      SymInt macs = op.macs(RuleArguments(op, args, dimensions_), results);
      does_macs = !(macs == SymInt(0));
      if (does_macs && !is_counted(op.counted, args, results)) uncounted_.push_back(macs);
      if (does_macs) macs_.push_back(std::move(macs));
    } catch (const CannotTell&) {
      unsized_ = one_more(unsized);
    } catch (const Raises&) {
      unsized_ = one_more(unsized);
    } catch (const SymbolicError&) {
      unsized_ = one_more(unsized);
    }
  }
  const std::vector<SchemaType>& types = op.schema.results;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto alias = std::ranges::find(op.aliases, i, &Alias::result);
    const bool is_view =
        alias != op.aliases.end() && alias->argument < args.size() && (alias->always || !does_macs);
    if (results[i].is_unknown()) {
      if (!is_view && i < types.size() && is_tensor_type(types[i])) unsized_ = one_more(unsized);
      continue;
    }
    place(results[i], is_view ? &args[alias->argument] : nullptr, is_view && alias->always);
  }
  unsized_ = std::min(unsized_, one_more(unsized));
}

void CostLog::call(const Cost& inside, const std::vector<const AbstractValue*>& args,
                   std::vector<AbstractValue>& results) {
  begin_call();
  for (const AbstractValue* arg : args) use(*arg);
  if (inside.macs && !(*inside.macs == SymInt(0))) macs_.push_back(*inside.macs);
  if (inside.uncounted_macs) uncounted_.push_back(*inside.uncounted_macs);
  unknown_.insert(unknown_.end(), inside.unknown.begin(), inside.unknown.end());
  add_saturated(unsized_, inside.unsized);
  const std::int64_t unsized = unsized_;
  const std::size_t first = memories_.size();
  const bool is_view = inside.activation_bytes == SymInt(0);
  for (AbstractValue& result : results) {
    place(result, is_view && !args.empty() ? args.front() : nullptr, true);
  }
  unsized_ = std::max(unsized, std::min(unsized_, one_more(unsized)));
  if (!inside.activation_bytes) return;
  // The most frequent case: one result, and no other memory.
  const SymInt& made = *inside.activation_bytes;
  if (memories_.size() == first + 1 && memories_.back().bytes == made &&
      inside.peak_bytes.value_or(made) == made)
    return;
  // The memory inside the call, without that of its results: in total, and at the peak.
  try {
    SymInt of_results = 0;
    for (std::size_t i = first; i < memories_.size(); ++i) of_results = of_results + memories_[i].bytes;
    const SymInt more = *inside.activation_bytes - of_results;
    const SymInt held = inside.peak_bytes.value_or(*inside.activation_bytes) - of_results;
    if (!(more == SymInt(0)) || !(held == SymInt(0))) extra_.push_back({calls_, more, held});
  } catch (const SymbolicError&) {
    add_saturated(unsized_, 1);
  }
}

void CostLog::add_unknown(std::string name) { unknown_.emplace_back(std::move(name), 1); }

CostLog::Mark CostLog::mark() const {
  return {macs_.size(),  uncounted_.size(), unknown_.size(), memories_.size(),
          extra_.size(), unsized_,          calls_};
}

void CostLog::undo_to(const Mark& mark) {
  macs_.resize(mark.macs);
  uncounted_.resize(mark.uncounted);
  unknown_.resize(mark.unknown);
  memories_.resize(mark.memories);
  extra_.resize(mark.extra);
  unsized_ = mark.unsized;
}

void CostLog::choose(const Mark& first, const Mark& second) {
  const auto total = [&](std::size_t from, std::size_t to) {
    symbolic::Sum sum;
    for (std::size_t i = from; i < to; ++i) sum.add(macs_[i]);
    return sum.total();
  };
  bool first_is_dearer = true;
  try {
    first_is_dearer = covers(total(first.macs, second.macs), total(second.macs, macs_.size()));
  } catch (const SymbolicError&) {
    add_saturated(unsized_, 1);
  }
  const auto drop = [&](auto& items, std::size_t a, std::size_t b) {
    const auto at = [&](std::size_t i) { return items.begin() + static_cast<std::ptrdiff_t>(i); };
    if (first_is_dearer) {
      items.erase(at(b), items.end());
    } else {
      items.erase(at(a), at(b));
    }
  };
  drop(macs_, first.macs, second.macs);
  drop(uncounted_, first.uncounted, second.uncounted);
  drop(unknown_, first.unknown, second.unknown);
  drop(extra_, first.extra, second.extra);
  unsized_ = first_is_dearer ? second.unsized : unsized_ - second.unsized + first.unsized;
  // The blocks of the dropped alternative stay, without bytes: later blocks are numbered after them.
  for (std::size_t i = first_is_dearer ? second.memories : first.memories;
       i < (first_is_dearer ? memories_.size() : second.memories); ++i) {
    memories_[i].bytes = 0;
  }
}

Cost CostLog::cost_since(const Mark& mark) const {
  Cost cost;
  for (std::size_t i = mark.unknown; i < unknown_.size(); ++i)
    add_saturated(cost.unknown[unknown_[i].first], unknown_[i].second);
  cost.unsized = unsized_ - mark.unsized;
  try {
    TermSums terms;
    TermSums::Sum macs, uncounted, bytes;
    for (std::size_t i = mark.macs; i < macs_.size(); ++i) terms.add(macs, macs_[i]);
    for (std::size_t i = mark.uncounted; i < uncounted_.size(); ++i) terms.add(uncounted, uncounted_[i]);
    for (std::size_t i = mark.memories; i < memories_.size(); ++i) {
      if (memories_[i].made != 0) terms.add(bytes, memories_[i].bytes);
    }
    for (std::size_t i = mark.extra; i < extra_.size(); ++i) terms.add(bytes, extra_[i].made);
    cost.macs = terms.size(macs);
    if (!uncounted.empty()) cost.uncounted_macs = terms.size(uncounted);
    cost.activation_bytes = terms.size(bytes);
    cost.peak_bytes = peak(mark, terms);
  } catch (const SymbolicError&) {
    add_saturated(cost.unsized, 1);
  }
  const auto forget_nothing = [&](std::optional<SymInt>& sum) {
    if (sum == SymInt(0)) sum.reset();
  };
  if (cost.unsized > 0 || !cost.unknown.empty()) forget_nothing(cost.macs);
  if (cost.unsized > 0) {
    forget_nothing(cost.activation_bytes);
    forget_nothing(cost.peak_bytes);
  }
  return cost;
}

// For most nodes, the last call is one whose results are the only memory.
Cost CostLog::last() const {
  const bool is_plain = unknown_.size() == last_.unknown && unsized_ == last_.unsized &&
                        extra_.size() == last_.extra && macs_.size() <= last_.macs + 1 &&
                        uncounted_.size() <= last_.uncounted + 1 && memories_.size() <= last_.memories + 1;
  if (!is_plain) return cost_since(last_);
  Cost cost;
  cost.macs = macs_.size() == last_.macs ? SymInt(0) : macs_.back();
  if (uncounted_.size() > last_.uncounted) cost.uncounted_macs = uncounted_.back();
  cost.activation_bytes = memories_.size() == last_.memories ? SymInt(0) : memories_.back().bytes;
  cost.peak_bytes = cost.activation_bytes;
  return cost;
}

std::optional<SymInt> CostLog::peak(const Mark& mark, TermSums& terms) const {
  // Calls are numbered from the mark here; 0 is for blocks that are live from the start.
  const std::size_t calls = calls_ - mark.calls;
  const auto place_of = [&](std::uint32_t call) { return call <= mark.calls ? 0 : call - mark.calls; };
  std::vector<std::uint32_t> first_freed(calls + 2);
  for (std::size_t i = mark.memories; i < memories_.size(); ++i) {
    if (memories_[i].last_use <= calls_) ++first_freed[place_of(memories_[i].last_use) + 1];
  }
  for (std::size_t call = 0; call <= calls; ++call) first_freed[call + 1] += first_freed[call];
  std::vector<std::uint32_t> freed(first_freed.back());
  std::vector<std::uint32_t> next = first_freed;
  for (std::size_t i = mark.memories; i < memories_.size(); ++i) {
    if (memories_[i].last_use <= calls_)
      freed[next[place_of(memories_[i].last_use)]++] = static_cast<std::uint32_t>(i);
  }

  Largest largest;
  TermSums::Sum live;
  for (std::size_t i = mark.memories; i < memories_.size(); ++i) {
    if (memories_[i].made == 0) terms.add(live, memories_[i].bytes);
  }
  largest.add(live);
  std::size_t made = mark.memories, extra = mark.extra;
  for (std::size_t call = 0; call <= calls; ++call) {
    bool grows = false;
    for (; made < memories_.size() && place_of(memories_[made].made) <= call; ++made) {
      if (memories_[made].made == 0) continue;
      terms.add(live, memories_[made].bytes);
      grows = true;
    }
    TermSums::Sum held;
    for (; extra < extra_.size() && place_of(extra_[extra].call) <= call; ++extra) {
      if (held.empty()) held = live;
      terms.add(held, extra_[extra].held);
    }
    if (grows || !held.empty()) largest.add(held.empty() ? live : held);
    for (std::uint32_t i = first_freed[call]; i < first_freed[call + 1]; ++i)
      terms.subtract(live, memories_[freed[i]].bytes);
  }
  return largest.get(terms);
}

}  // namespace fxtrace::internal
