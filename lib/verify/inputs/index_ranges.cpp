#include "verify/inputs/index_ranges.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>

namespace fxtrace::internal::verify {
namespace {

constexpr int kMostTries = 80;
constexpr double kNoIndex = 1e15;  // larger numbers are not indices

bool is_about_indices(std::string_view message) {
  constexpr std::array<std::string_view, 7> kWords{
      "index", "indices", "out of range", "out of bounds", "Class values", "negative", "Target"};
  return std::ranges::any_of(
      kWords, [&](std::string_view word) { return message.find(word) != std::string_view::npos; });
}

}  // namespace

bool IndexRanges::fit(std::int64_t run, ModelParts& parts, const std::function<void()>& seed) {
  Ranges before;
  for_each_placeholder(graph_.graph, [&](const Node& node) {
    if (const auto range = maker_.range_of(node.id)) before.emplace_back(node.id, *range);
  });
  for (int i = 0; i < kMostTries; ++i) {
    NodeId last;
    seen_.clear();
    const auto watch = [&](const ModuleGraph& graph, const Node& node, const RunValue& value) {
      if (&graph != &graph_) return;
      last = node.id;
      if (!engine_.is_tensor(value)) return;
      const std::string dtype = engine_.dtype(value);
      FxtraceStatistics found{};
      if (!dtype.starts_with("int") && !dtype.starts_with("uint")) return;
      if (engine_.api().statistics(value.get(), &found)) seen_[node.id.index] = {found.least, found.greatest};
    };
    try {
      seed();
      run_graph(engine_, graph_, maker_.make(run).values, parts, watch);
      return true;
    } catch (const CannotRun&) {
      break;
    } catch (const RunError& error) {
      const NodeId refuses = last.valid() ? graph_.graph.next(last) : graph_.graph.first();
      if (!refuses.valid() || !is_about_indices(error.what()) || !change(graph_.graph.node(refuses))) break;
    }
  }
  set(before);
  return false;
}

// Returns the ranges of the inputs from which the indices of the node are computed; of all inputs of the node
// if it has no integers among its arguments.
IndexRanges::Ranges IndexRanges::ranges_before(const Node& node) const {
  std::vector<NodeId> pending;
  std::set<std::uint32_t> seen;
  for_each_input(node, [&](NodeId input) {
    if (seen_.contains(input.index)) pending.push_back(input);
  });
  if (pending.empty()) for_each_input(node, [&](NodeId input) { pending.push_back(input); });
  Ranges ranges;
  while (!pending.empty()) {
    const NodeId id = pending.back();
    pending.pop_back();
    if (!seen.insert(id.index).second) continue;
    if (const Node& made = graph_.graph.node(id); made.op != Opcode::kPlaceholder) {
      for_each_input(made, [&](NodeId input) { pending.push_back(input); });
    } else if (const auto range = maker_.range_of(id)) {
      ranges.emplace_back(id, *range);
    }
  }
  return ranges;
}

void IndexRanges::set(const Ranges& ranges) {
  for (const auto& [input, range] : ranges) maker_.set_range(input, range);
}

bool IndexRanges::change(const Node& refuses) {
  Ranges ranges = ranges_before(refuses);
  if (ranges.empty()) return false;
  std::optional<Extremes> indices;
  for_each_input(refuses, [&](NodeId input) {
    const auto seen = seen_.find(input.index);
    if (seen == seen_.end()) return;
    if (!indices) indices = seen->second;
    indices->least = std::min(indices->least, seen->second.least);
    indices->greatest = std::max(indices->greatest, seen->second.greatest);
  });
  Tried& tried = tried_[refuses.id.index];
  const auto shift = [&](std::pair<NodeId, InputMaker::DrawnRange>& range, double by) {
    range.second.low += static_cast<std::int64_t>(by);
    range.second.high += static_cast<std::int64_t>(by);
  };
  const bool is_near =
      indices && std::abs(indices->least) < kNoIndex && std::abs(indices->greatest) < kNoIndex;
  if (is_near && tried.has_shifted && indices->least < tried.least) {  // the input is subtracted, as in 9 - x
    ranges = tried.before;
    tried.shifts_fail = true;
  }
  tried.has_shifted = false;
  if (is_near && indices->least < 0 && !tried.shifts_fail) {
    tried.before = ranges;
    tried.least = indices->least;
    tried.has_shifted = true;
    for (auto& range : ranges) shift(range, -indices->least);
    set(ranges);
    return true;
  }
  bool is_wide = false;
  for (auto& [input, range] : ranges) {
    is_wide = is_wide || range.high > range.low;
    range.high = range.low + (range.high - range.low) / 2;
  }
  if (!is_wide) {
    // A single number is left: if the index is this number plus or minus a constant, one of these two shifts
    // makes it 0.
    if (!is_near || tried.points == 2) return false;
    shift(ranges.front(), tried.points == 0 ? indices->greatest : -indices->greatest);
    ++tried.points;
  }
  set(ranges);
  return true;
}

}  // namespace fxtrace::internal::verify
