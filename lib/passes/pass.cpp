#include "passes/pass.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "analysis/view_tree.h"
#include "graph/analysis/collection_summary.h"
#include "passes/all_passes.h"
#include "passes/support/input_facts.h"
#include "support/timer.h"

namespace fxtrace::internal {
namespace {

constexpr Pass kPasses[] = {
    {"remove-batch-dims", "compute what torch.vmap does to one sample for the whole batch at once",
     remove_batch_dims},
    {"remove-inplace", "replace in-place writes by new values, also those through views and to inputs",
     remove_inplace},
    {"remove-noops",
     "drop operations that return their input: full slices, conversions to the same type, dropout in eval",
     remove_noops},
    {"fold-constants", "replace nodes that compute known numbers by the numbers", fold_constants},
    {"common-subexpressions", "compute equal expressions once", common_subexpressions},
    {"eliminate-dead-code", "drop nodes without users or effects, and checks that the guards contain",
     eliminate_dead_code},
    {"functional", "run all of them, in this order", nullptr},
};

PassReport run_one(const Pass& pass, GraphCollection& collection, PassContext& context) {
  const Timer timer;
  PassReport report{std::string(pass.name), static_cast<std::size_t>(summarize(collection).nodes), 0, {}, {}};
  context.semantics.forget_subgraphs();
  for (ModuleGraph& graph : collection.graphs) {
    // The file of an exported program fixes its inputs, so that no guards are needed.
    if (!collection.model.is_torchscript()) {
      pass.run(graph, context);
      continue;
    }
    bool is_first = true;
    run_with_guards(
        [&](ModuleGraph& each) {
          std::vector<Declined> declined = context.declined;
          context.semantics.forget_subgraphs();
          pass.run(each, context);
          if (!std::exchange(is_first, false)) context.declined = std::move(declined);
        },
        graph);
    context.semantics.forget_subgraphs();
  }
  report.nodes_after = static_cast<std::size_t>(summarize(collection).nodes);
  report.declined = std::exchange(context.declined, {});
  report.time = timer.milliseconds();
  return report;
}

std::size_t writes_that_stay(const ModuleGraph& graph, Semantics& semantics, bool is_subgraph) {
  const ViewTree tensors = ViewTree::build(graph, semantics, is_subgraph);
  const auto writes = [&](const ViewTree::Obstacle& obstacle) {
    return !semantics.effects(graph, graph.graph.node(obstacle.node)).is_unknown;
  };
  auto count = static_cast<std::size_t>(std::ranges::count_if(tensors.obstacles(), writes));
  for (const Subgraph& subgraph : graph.subgraphs) count += writes_that_stay(subgraph.graph, semantics, true);
  return count;
}

}  // namespace

void PassContext::decline(const ModuleGraph& graph, const Node& node, std::string reason) {
  std::string place = graph.module;
  for (const std::string& name : path_) place += "/" + name;
  declined.push_back({std::move(place), node.name, std::move(reason), node.source});
}

std::span<const Pass> passes() { return kPasses; }

const Pass* find_pass(std::string_view name) {
  const auto row = std::ranges::find(kPasses, name, &Pass::name);
  return row == std::end(kPasses) ? nullptr : row;
}

std::vector<PassReport> run_pass(const Pass& pass, GraphCollection& collection) {
  PassContext context(collection);
  if (pass.run != nullptr) return {run_one(pass, collection, context)};
  std::vector<PassReport> reports;
  for (const Pass& other : kPasses) {
    if (other.run != nullptr) reports.push_back(run_one(other, collection, context));
  }
  return reports;
}

std::size_t count_writes_that_stay(const GraphCollection& collection) {
  Semantics semantics(collection);
  std::size_t count = 0;
  for (const ModuleGraph& graph : collection.graphs) count += writes_that_stay(graph, semantics, false);
  return count;
}

}  // namespace fxtrace::internal
