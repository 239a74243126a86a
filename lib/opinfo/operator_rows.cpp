// The index of all rows by the names of operators that they list.
#include <algorithm>
#include <deque>
#include <string>
#include <unordered_map>

#include "opinfo/operator_row.h"

namespace fxtrace::internal {
namespace {

using Index = std::unordered_map<std::string_view, const OperatorFacts*>;

// Returns the facts with the rules that the signature tells, where the row has none.
OperatorFacts with_rules(OperatorFacts facts) {
  static std::deque<Signature> parsed;
  facts.forms = &parsed.emplace_back(parse_signature(facts.signature));
  if (facts.shape == nullptr) facts.shape = shape_by_signature;
  const SignatureForm& form = facts.forms->front();
  if (facts.macs == nullptr && !form.summed.empty()) facts.macs = macs_by_signature;
  if (!form.factors.empty() && form.summed.empty()) facts.traits |= traits::kNoMacs;
  if (!form.operands.empty()) facts.traits |= traits::kRankByRanks;
  return facts;
}

// Returns the facts of a row with `like`, completed by those of the other operator.
OperatorFacts completed(OperatorFacts facts, std::string_view name, const Index& index) {
  const auto found = index.find(facts.like == "=" ? name.substr(name.find("::") + 2) : facts.like);
  if (found == index.end()) return facts;
  const OperatorFacts& other = *found->second;
  using namespace traits;  // NOLINT(google-build-using-namespace)
  constexpr Traits kOfResults = kNoMacs | kKeepsRank | kRankByRanks | kKeepsDtype | kLikeFirst | kGivesBool |
                                kMakesContiguous | kKeepsContiguous | kForFloats | kNotForIntegers |
                                kNotForHalf;
  facts.traits |= other.traits & kOfResults;
  facts.signature = other.signature;
  facts.forms = other.forms;
  if (facts.shape == nullptr) facts.shape = other.shape;
  if (facts.macs == nullptr) facts.macs = other.macs;
  return facts;
}

// The keys are names as rows write them: without "aten::".
Index make_index() {
  Index index;
  constexpr std::size_t kAbout = 2048;
  index.reserve(kAbout);
  static std::deque<OperatorFacts> all_completed;
  for_each_row([&](std::string_view name, const OperatorFacts& facts) {
    const bool is_whole = facts.signature.empty();
    index.emplace(name, is_whole ? &facts : &all_completed.emplace_back(with_rules(facts)));
  });
  for_each_row([&](std::string_view name, const OperatorFacts& facts) {
    if (!facts.like.empty()) index[name] = &all_completed.emplace_back(completed(facts, name, index));
  });
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

}  // namespace

std::span<const OperatorRows> all_rows() {
  static const std::array all{attention_rows(),
                              boxes_rows(),
                              convolution_rows(),
                              creation_rows(),
                              matrix_decompositions_rows(),
                              distances_rows(),
                              einsum_rows(),
                              elementwise_rows(),
                              embedding_rows(),
                              fourier_rows(),
                              images_rows(),
                              indexing_rows(),
                              concatenation_rows(),
                              losses_rows(),
                              normalization_rows(),
                              other_libraries_rows(),
                              slicing_rows(),
                              pooling_rows(),
                              matrix_products_rows(),
                              quantized_rows(),
                              queries_rows(),
                              recurrent_rows(),
                              reductions_rows(),
                              sparse_rows(),
                              values_rows(),
                              views_rows()};
  return all;
}

const OperatorFacts& facts_of(std::string_view base_name) {
  const OperatorFacts* found = find_facts(base_name);
  return found != nullptr ? *found : kNothing;
}

const OperatorFacts* facts_of_overload(const Operator& op) {
  const std::string name(op.name);
  return find_facts(op.overload().empty() ? name + "." : name);
}

}  // namespace fxtrace::internal
