// Fuzz target: pytree specifications.
#include "exported/program/encoded_texts.h"

#include <vector>

#include "tests/fuzz/targets.h"

namespace fxtrace::internal::fuzz {

void tree_spec(std::string_view input) {
  constexpr std::size_t kMaxLeaves = 10'000;
  accepts([&] {
    const TreeSpec spec = TreeSpec::parse(input, "a tree");
    if (spec.leaves > kMaxLeaves) return;
    require(spec.paths().size() == spec.leaves, "every leaf has a path");
    std::vector<Argument> values;
    for (std::size_t i = 0; i < spec.leaves; ++i) values.emplace_back(static_cast<std::int64_t>(i));
    spec.unflatten(values);
  });
}

}  // namespace fxtrace::internal::fuzz
