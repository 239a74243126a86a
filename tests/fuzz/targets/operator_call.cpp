// The input describes a call: an operator, and facts about each argument, which may be anything, as in an
// exported program from an untrusted source.  Shapes, costs and plain values are computed without LibTorch.
//
// A result with symbolic sizes must also hold for numbers in their place.
#include <cstddef>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "costs/cost_log.h"
#include "operators/operators.h"
#include "opinfo/infer.h"
#include "opinfo/operator_row.h"
#include "tests/fuzz/call_generator.h"
#include "tests/fuzz/targets.h"

namespace fxtrace::internal::fuzz {
namespace {

// Returns the arguments about which anything is known.
const std::vector<const Operator*>& known_operators() {
  static const std::vector<const Operator*> all = [] {
    std::vector<const Operator*> found;
    for (const auto& table : {registered_operators(), extension_operators()}) {
      for (const Operator& op : table) {
        const CostRule cost = entry_of(op).macs;
        if (facts_of(op.base_name()).shape != nullptr || facts_of(op.base_name()).of_sparse != nullptr ||
            (cost != nullptr && cost != no_macs) || has_trait(&op, traits::kPointwise) ||
            has_trait(&op, traits::kPlain) || has_trait(&op, traits::kGivesSize)) {
          found.push_back(&op);
        }
      }
    }
    return found;
  }();
  return all;
}

struct Told {
  Inferred shapes;
  Results values;
  Cost cost;
  Evaluated plain;
};

Told tell(const Operator& op, const std::vector<AbstractValue>& call, ShapeEnv& known) {
  const OperatorEntry& entry = entry_of(op);
  const AbstractArguments arguments(call);
  const RuleArguments args(entry, arguments, known);
  Told told;
  told.plain = evaluate_plain(args);
  changed_list(op.base_name(), arguments);
  told.shapes = infer_shapes(args);
  if (auto values = evaluate(args, told.shapes.results)) told.values = *std::move(values);
  CostLog log(known);
  log.call(entry, arguments, told.shapes.results);
  told.cost = log.cost();
  return told;
}

// Compares the result of the rules for names with that for numbers.
class Comparison {
 public:
  Comparison(const GeneratedCall& call, const ShapeEnv& known) : call_(call), known_(known) {}

  void compare(const Told& named, const Told& numbers) const {
    if (!named.shapes.error.empty()) {
      check(!says_anything(numbers.shapes.results), "what always raises gives nothing");
    }
    compare(named.shapes.results, numbers.shapes.results);
    compare(named.values, numbers.values);
    // Costs are checked only for this: rules do not refuse all calls that torch refuses, and their cost is
    // arbitrary.
    if (named.cost.macs) check_is_size(*named.cost.macs);
    compare(named.plain.known, numbers.plain.plain ? *numbers.plain.plain : numbers.plain.known);
    if (named.plain.plain && numbers.plain.plain) compare(*named.plain.plain, *numbers.plain.plain);
  }

 private:
  void check(bool holds, const char* promise) const {
    if (!holds) require(false, std::string(promise) + ": " + call_.text());
  }

  static bool says_anything(const Results& results) {
    for (const AbstractValue& value : results) {
      if (!value.is_unknown()) return true;
    }
    return false;
  }

  void compare(const SymInt& named, const SymInt& number) const {
    const auto value = named.evaluate(call_.sizes);
    if (!value || !number.is_number()) return;
    check(value == number.number(), "sizes with numbers for names are those of the call with numbers");
  }

  void compare(const std::vector<AbstractValue>& named, const std::vector<AbstractValue>& numbers) const {
    if (named.size() != numbers.size()) return;  // a list whose length is not known with names
    for (std::size_t i = 0; i < named.size(); ++i) compare(named[i], numbers[i]);
  }

  void compare(const AbstractValue& named, const AbstractValue& number) const {
    if (const SymInt* size = named.integer(); size != nullptr && number.integer() != nullptr)
      return compare(*size, *number.integer());
    if (const auto* items = named.sequence(); items != nullptr && number.sequence() != nullptr)
      return compare(*items, *number.sequence());
    const TensorInfo* a = named.tensor();
    const TensorInfo* b = number.tensor();
    if (a == nullptr || b == nullptr) return;
    check(a->dim() == b->dim(), "numbers of dimensions agree");
    check(!a->dtype || !b->dtype || a->dtype == b->dtype, "dtypes agree");
    for (std::size_t i = 0; i < a->sizes.size(); ++i) compare(a->sizes[i], b->sizes[i]);
    for (const SymInt& size : a->sizes) check_is_size(size);
    if (a->content == nullptr || b->content == nullptr || a->dim() != b->dim()) return;
    const auto &elements = a->content->array->elements, &others = b->content->array->elements;
    if (elements.size() != others.size()) return;
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const auto* size = std::get_if<SymInt>(&elements[i]);
      const auto* other = std::get_if<std::int64_t>(&others[i]);
      if (size != nullptr && other != nullptr) compare(*size, SymInt(*other));
    }
  }

  void check_is_size(const SymInt& size) const {
    const Range bounds = known_.bounds(size);
    check(!bounds.high || *bounds.high >= 0, "sizes and costs are not negative");
  }

  const GeneratedCall& call_;
  const ShapeEnv& known_;
};

}  // namespace

void operator_call(std::string_view input) {
  const GeneratedCall call = generate_call(input, known_operators());
  if (std::getenv("FXTRACE_FUZZ_CALL") != nullptr) std::cerr << call.text() << "\n";
  ShapeEnv known = call.dimensions();
  const Told named = tell(*call.op, call.values, known);
  const auto numbers = call.with_numbers();
  if (!numbers) return;
  ShapeEnv nothing;
  Comparison(call, known).compare(named, tell(*call.op, *numbers, nothing));
}

}  // namespace fxtrace::internal::fuzz
