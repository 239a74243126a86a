#include "partition/gate.h"

#include <algorithm>
#include <array>

#include "support/error.h"
#include "support/text/amount.h"
#include "support/text/number_in.h"
#include "support/text/shell_word.h"

namespace fxtrace::internal {
namespace {

constexpr std::array<std::string_view, 8> kQuantities = {"covered", "operators", "modules",   "macs",
                                                         "left",    "regions",   "cut_edges", "cut_bytes"};
constexpr std::size_t kRatios = 4;  // the first of these can be percentages

std::optional<double> number_of(const std::optional<SymInt>& size) {
  const auto number = size ? size->number() : std::nullopt;
  return number ? std::optional(static_cast<double>(*number)) : std::nullopt;
}

std::optional<double> actual(const Gate& gate, const Partition& partition) {
  const auto percent = [](const std::optional<double>& ratio) {
    return ratio ? std::optional(*ratio * 100) : std::nullopt;
  };
  const auto of = [&](const Coverage& coverage) -> std::optional<double> {
    // Of nothing, all is taken.
    return gate.is_percent ? coverage.ratio().value_or(1) * 100 : static_cast<double>(coverage.taken);
  };
  const Coverage& calls = partition.calls;
  if (gate.quantity == "covered") return of(calls);
  if (gate.quantity == "operators") return of(partition.operators);
  if (gate.quantity == "modules") return of(partition.modules);
  if (gate.quantity == "macs") {
    if (partition.unknown > 0 && gate.is_percent) return std::nullopt;
    return gate.is_percent ? percent(partition.macs_ratio()) : number_of(partition.taken_macs);
  }
  if (gate.quantity == "left") return static_cast<double>(calls.all - calls.taken);
  if (gate.quantity == "regions") return static_cast<double>(partition.regions());
  if (gate.quantity == "cut_edges") return static_cast<double>(partition.cut_edges);
  return partition.cut_unknown > 0 ? std::nullopt : number_of(partition.cut_bytes);
}

}  // namespace

Gate parse_gate(std::string_view text) {
  const auto fail = [&](const std::string& why) {
    return usage_error("--require: " + why + " in " + shell_quoted(text),
                       {"for example 'covered>=95%', 'left<=0', 'regions<=2', 'cut_bytes<=1MiB'"});
  };
  const std::size_t at = text.find_first_of("<>");
  if (at == std::string_view::npos || at + 1 >= text.size() || text[at + 1] != '=')
    throw fail("expected '>=' or '<='");
  Gate gate{std::string(text), std::string(text.substr(0, at)), text[at] == '>'};
  const auto known = std::ranges::find(kQuantities, gate.quantity);
  if (known == kQuantities.end()) throw fail("unknown quantity " + shell_quoted(gate.quantity));
  std::string_view number = text.substr(at + 2);
  if (number.ends_with('%')) {
    if (known - kQuantities.begin() >= static_cast<std::ptrdiff_t>(kRatios))
      throw fail(gate.quantity + " is no percentage");
    gate.is_percent = true;
    number.remove_suffix(1);
    const auto value = number_in<double>(number);
    if (!value || !(*value >= 0 && *value <= 100)) throw fail("expected a percentage from 0 to 100");
    gate.limit = *value;
    return gate;
  }
  try {
    gate.limit = static_cast<double>(parse_amount(number));
  } catch (const Error& error) {
    throw fail(error.what());
  }
  return gate;
}

std::vector<GateResult> try_gates(const std::vector<Gate>& gates, const Partition& partition) {
  std::vector<GateResult> results;
  for (const Gate& gate : gates) results.push_back({gate, actual(gate, partition)});
  return results;
}

}  // namespace fxtrace::internal
