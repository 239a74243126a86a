#include <algorithm>
#include <string>
#include <unordered_map>

#include "families/family.h"

namespace fxtrace {
namespace {

using Index = std::unordered_map<std::string_view, const OperatorFacts*>;

// Names without "aten::" in front, as rows have them.
Index make_index() {
  Index index;
  constexpr std::size_t kAbout = 2048;
  index.reserve(kAbout);
  for_each_row([&](std::string_view name, const OperatorFacts& facts) { index.emplace(name, &facts); });
  return index;
}

const OperatorFacts* find_facts(std::string_view name) {
  static const Index index = make_index();
  constexpr std::string_view kAten = "aten::";
  if (name.starts_with(kAten)) name.remove_prefix(kAten.size());
  const auto found = index.find(name);
  return found == index.end() ? nullptr : found->second;
}

constexpr OperatorFacts kNothing;

// What is known of one overload, found once.
struct Known {
  Traits traits = 0;
  const OperatorFacts *own = &kNothing, *all = &kNothing;
};

// Whether it has an argument that is written behind "*,".
bool writes_out(const Operator& op) {
  const std::string_view arguments = op.signature.substr(0, op.signature.rfind(" -> "));
  const std::size_t named = arguments.find("*, ");
  return named != std::string_view::npos && arguments.find('!', named) != std::string_view::npos;
}

const Known& known(const Operator& op) {
  thread_local std::unordered_map<const Operator*, Known> all;  // a library may trace in several
  const auto [place, is_new] = all.try_emplace(&op);
  if (!is_new) return place->second;
  Known& found = place->second;
  const OperatorFacts& of_all = facts_of(op.base_name());
  found.traits = op.registered | of_all.traits;
  if (!writes_out(op)) found.all = &of_all;
  const std::string name(op.name);
  if (const OperatorFacts* own = find_facts(op.overload().empty() ? name + "." : name)) found.own = own;
  return found;
}

// A fact about one overload.
template <class Fact>
const Fact& fact_of(const Operator& op, Fact OperatorFacts::* fact) {
  const Known& all = known(op);
  return (all.own->*fact).empty() ? all.all->*fact : all.own->*fact;
}

}  // namespace

std::span<const Family> families() {
  static const std::array all{
      attention_family(),      boxes_family(),     convolution_family(),   creation_family(),
      decompositions_family(), distances_family(), einsum_family(),        elementwise_family(),
      embedding_family(),      fourier_family(),   images_family(),        indexing_family(),
      joins_family(),          losses_family(),    normalization_family(), others_family(),
      parts_family(),          pooling_family(),   products_family(),      quantized_family(),
      questions_family(),      recurrent_family(), reductions_family(),    sparse_family(),
      values_family(),         views_family()};
  return all;
}

const OperatorFacts& facts_of(std::string_view base_name) {
  const OperatorFacts* found = find_facts(base_name);
  return found != nullptr ? *found : kNothing;
}

Traits traits_of(const Operator* op) { return op != nullptr ? known(*op).traits : 0; }

bool may_write(const Operator* op) {
  const Traits all = traits_of(op);
  return (all & traits::kKnown) == 0 || (all & traits::kHiddenWrite) != 0 ||
         op->signature.find('!') != std::string_view::npos;  // stands nowhere but in an alias that is written
}

bool is_pure(const Operator* op) {
  return !may_write(op) && (traits_of(op) & (traits::kSideEffect | traits::kRandom | traits::kAsserts)) == 0;
}

BatchingRule batching_rule(const Operator& op) {
  const BatchingRule& rule = fact_of(op, &OperatorFacts::batch);
  if (!rule.empty()) return rule;
  return {.form = has_trait(&op, traits::kPointwise) ? BatchForm::kBroadcast : BatchForm::kNone};
}

IdentityRule identity_rule(const Operator& op) { return fact_of(op, &OperatorFacts::identity); }

ViewInverse view_inverse(const Operator& op) { return fact_of(op, &OperatorFacts::inverse); }

}  // namespace fxtrace
