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

const OperatorFacts* facts_of_overload(const Operator& op) {
  const std::string name(op.name);
  return find_facts(op.overload().empty() ? name + "." : name);
}

}  // namespace fxtrace
