// Compares costs of modules.
#include "compare/comparer.h"

#include "support/text/qualified_name.h"

namespace fxtrace::internal {

void Comparer::compare_costs(const ModelSummary& before, const ModelSummary& after) {
  if (!before.has_costs() || !after.has_costs()) return;
  compare_costs(before, after, "macs", &SummaryRow::macs);
  // Activations of two kinds depend on which tensors each makes for one result.
  if (two_kinds_) return;
  compare_costs(before, after, "activation_bytes", &SummaryRow::activation_bytes);
  tell_cost("", "peak_bytes", before.peak_bytes, after.peak_bytes);
}

void Comparer::compare_costs(const ModelSummary& before, const ModelSummary& after, const char* field,
                             std::optional<SymInt> SummaryRow::* cost) {
  std::unordered_map<std::string_view, CostPair> pairs;
  for (const SummaryRow& row : before.rows) {
    if (!row.alias_of) pairs[row.path] = {row.*cost, std::nullopt, false};
  }
  for (const SummaryRow& row : after.rows) {
    if (row.alias_of) continue;
    const auto [entry, is_new] = pairs.try_emplace(pairs_.path_before(row.path));
    entry->second.after = row.*cost;
    entry->second.is_in_both = !is_new;
  }
  // The differences that modules below tell, by module above; nothing if they are not known.
  std::unordered_map<std::string_view, std::optional<SymInt>> told;
  for (const auto& [path, pair] : pairs) {
    if (path.empty()) continue;
    const auto [entry, is_new] = told.try_emplace(QualifiedName(path).parent(), SymInt(0));
    if (!entry->second) continue;
    entry->second = sum(*entry->second, difference_of(pair));
  }
  for (const SummaryRow& row : before.rows) {
    if (row.alias_of) continue;
    const CostPair& pair = pairs[row.path];
    if (!pair.is_in_both) continue;
    const auto below = told.find(row.path);
    const auto own = difference_of(pair);
    if (own && below != told.end() && below->second && *own == *below->second) continue;
    tell_cost(row.path, field, pair.before, pair.after);
  }
}

std::optional<SymInt> Comparer::difference_of(const CostPair& pair) const {
  try {
    const SymInt before = pair.before ? renamed(*pair.before, renames_).value_or(*pair.before) : SymInt(0);
    return pair.after.value_or(SymInt(0)) - before;
  } catch (const SymbolicError&) {
    return std::nullopt;
  }
}

std::optional<SymInt> Comparer::sum(const SymInt& a, const std::optional<SymInt>& b) {
  try {
    if (b) return a + *b;
  } catch (const SymbolicError&) {
  }
  return std::nullopt;
}

void Comparer::tell_cost(const std::string& path, const char* field, const std::optional<SymInt>& before,
                         const std::optional<SymInt>& after) {
  if (!before || !after || renamed(*before, renames_) == *after) return;
  add_sizes(path, DifferenceKind::kCosts, "", field, *before, *after);
}

}  // namespace fxtrace::internal
