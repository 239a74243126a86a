// Gates: what a partition must reach, for `fxtrace partition --require`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "partition/partition.h"

namespace fxtrace::internal {

// "covered>=95%", "regions<=2".  Quantities are covered, operators, modules and macs, which are taken, with
// or without "%"; and left (calls), regions, cut_edges and cut_bytes.
struct Gate {
  std::string text;
  std::string quantity;
  bool is_least = false;  // >=, instead of <=
  bool is_percent = false;
  double limit = 0;
};

// Throws Error(kUsage).
Gate parse_gate(std::string_view text);

struct GateResult {
  Gate gate;
  std::optional<double> actual;  // absent: it cannot be told, as sizes or costs are unknown
  bool holds() const { return actual && (gate.is_least ? *actual >= gate.limit : *actual <= gate.limit); }
};
std::vector<GateResult> try_gates(const std::vector<Gate>& gates, const Partition& partition);

}  // namespace fxtrace::internal
