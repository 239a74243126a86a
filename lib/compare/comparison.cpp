#include "compare/comparison.h"

#include <array>
#include <string>

#include "compare/comparer.h"
#include "compare/pairing/common_form.h"
#include "compare/pairing/inlined_methods.h"
#include "support/error.h"

namespace fxtrace::internal {

const char* to_string(DifferenceKind kind) {
  constexpr std::array<const char*, kDifferenceKinds> kNames = {"modules",   "parameters", "weights", "nodes",
                                                                "arguments", "shapes",     "order",   "costs",
                                                                "guards",    "names",      "sources"};
  return kNames[static_cast<std::size_t>(kind)];
}

DifferenceKind difference_kind(std::string_view name) {
  for (std::size_t i = 0; i < kDifferenceKinds; ++i) {
    if (name == to_string(static_cast<DifferenceKind>(i))) return static_cast<DifferenceKind>(i);
  }
  throw usage_error("there is no kind of difference '" + std::string(name) + "'");
}

const char* to_string(Change change) {
  constexpr std::array<const char*, kChanges> kNames = {"added", "removed", "moved", "changed"};
  return kNames[static_cast<std::size_t>(change)];
}

DifferenceKinds DifferenceKinds::usual() {
  DifferenceKinds kinds = all();
  kinds.remove(DifferenceKind::kNames);
  kinds.remove(DifferenceKind::kSources);
  return kinds;
}

std::int64_t ModelComparison::count(DifferenceKind kind) const {
  std::int64_t sum = 0;
  for (const std::int64_t number : counts[static_cast<std::size_t>(kind)]) sum += number;
  return sum;
}

bool ModelComparison::has_any(DifferenceKinds kinds) const {
  for (std::size_t i = 0; i < kDifferenceKinds; ++i) {
    const auto kind = static_cast<DifferenceKind>(i);
    if (kinds.has(kind) && count(kind) > 0) return true;
  }
  return false;
}

void leave_out(ModelComparison& comparison, DifferenceKind kind) {
  for (ModuleDifferences& module : comparison.modules)
    std::erase_if(module.differences, [&](const Difference& difference) { return difference.kind == kind; });
  std::erase_if(comparison.modules,
                [](const ModuleDifferences& module) { return module.differences.empty(); });
}

ModelComparison compare(const GraphCollection& before, const GraphCollection& after,
                        const CompareOptions& options) {
  if (!are_of_two_kinds(before, after))
    return Comparer(before, before.graphs, after, after.graphs, options).run();
  if (has_method_calls(before)) return compare(with_methods_inlined(before), after, options);
  if (has_method_calls(after)) return compare(before, with_methods_inlined(after), options);
  return Comparer(before, common_form(before), after, common_form(after), options).run();
}

}  // namespace fxtrace::internal
