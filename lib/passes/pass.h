// Graph passes: rewrites that preserve the meaning of graphs.  Where a pass cannot prove that, it leaves the
// place as it is and reports why.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/effects.h"
#include "graph/graph_collection.h"

namespace fxtrace::internal {

// A place that a pass left unchanged, and the reason.
struct Declined {
  std::string graph;  // path of the module, then names of subgraphs: "layers.0/true_graph_0"
  std::string node;
  std::string reason;
  std::optional<SourceLocation> source;
};

// The context in which a pass runs on a graph.
class PassContext {
 public:
  explicit PassContext(const GraphCollection& collection) : semantics(collection) {}

  void decline(const ModuleGraph& graph, const Node& node, std::string reason);

  // Calls f for the graph and all its subgraphs, innermost first.
  template <class F>
  void for_each_graph(ModuleGraph& graph, F&& f) {
    for (Subgraph& subgraph : graph.subgraphs) {
      in_subgraph(subgraph, [&](ModuleGraph& inner) { for_each_graph(inner, f); });
    }
    f(graph);
  }
  bool is_in_subgraph() const { return !path_.empty(); }
  template <class F>
  void in_subgraph(Subgraph& subgraph, F&& f) {
    path_.push_back(subgraph.name);
    f(subgraph.graph);
    path_.pop_back();
  }

  Semantics semantics;
  std::vector<Declined> declined;

 private:
  std::vector<std::string> path_;
};

struct Pass {
  std::string_view name;                    // "remove-inplace"
  std::string_view help;                    // for --list-passes
  void (*run)(ModuleGraph&, PassContext&);  // null: runs all others, in the order of the table
};

// Returns all passes, in the order in which `functional` runs them.
std::span<const Pass> passes();
const Pass* find_pass(std::string_view name);

struct PassReport {
  std::string pass;
  std::size_t nodes_before = 0, nodes_after = 0;  // of all graphs
  std::vector<Declined> declined;
  std::string time;  // "0.2 ms"
};

// Runs the pass on every graph of the collection and its subgraphs; returns one report for each pass that
// ran.  The nodes that stay keep names, scopes, sources and metadata; `execution` remains that of the trace;
// lint() holds afterwards.
std::vector<PassReport> run_pass(const Pass& pass, GraphCollection& collection);

// Returns the number of in-place writes that remove-inplace leaves in the collection, in subgraphs too.
// Leaves and operators with unknown effects do not count.
std::size_t count_writes_that_stay(const GraphCollection& collection);

// The passes, each in a .cpp file of its name, in the order of the table (pass.cpp).

// remove-batch-dims: rewrites functions that torch.vmap runs for one sample to compute the whole batch, by
// batching rules (as torch/_functorch and ATen/functorch apply them at run time; here on a graph).
//
// For each outermost vmap, removes all calls of _add_batch_dim and _remove_batch_dim, and the calls that open
// and close it; the operators get the batch dimensions in front:
//
//   %a = _add_batch_dim(%x, 0, 1) -> float32[4]        %mul = mul(%x, %y) -> float32[3, 4]
//   %mul = mul(%a, %y) -> float32[4]
//   %r = _remove_batch_dim(%mul, 1, 3, 0)
//
// A vmap is left as it is when something in it has no batching rule (opinfo/batching.h): random numbers,
// writes, data-dependent operations, unknown operators and modules.
void remove_batch_dims(ModuleGraph& graph, PassContext& context);

// remove-inplace: replaces writes in place by new values (functionalization, as torch/_functorch and
// ATen/FunctionalTensorWrapper do it at run time; here on a graph).
//
// Every operator that writes becomes its functional variant.  Later readers of the tensor read the variant's
// result; views of the tensor are regenerated where they are read; a write through a view is propagated to
// the base by the inverse of the view (select_scatter, slice_scatter, ...); a written input or buffer of the
// model is updated by one copy_, before the output.  Writes to memory that is not fully understood are all
// kept.
void remove_inplace(ModuleGraph& graph, PassContext& context);

// remove-noops: removes operations that return their input.
//
// These are full slices, conversions to the dtype that the value has, expand, view and permute without
// effect, alias and detach, dropout in evaluation mode, torch.nn.Identity, and copies if neither the copy nor
// the original is written and their layout is not observed.  An operation stays when literals and known
// shapes do not prove that it has no effect.
void remove_noops(ModuleGraph& graph, PassContext& context);

// fold-constants: replaces nodes that compute known numbers by the numbers (constant folding).
//
// Folds Python functions of plain numbers, known sizes and ranks, items of literal lists, and numbers that
// traced code wraps in a tensor and reads back.  Tensors are not computed.  A cond with a known condition is
// replaced by the branch that it takes (analysis/taken_branch.h).
void fold_constants(ModuleGraph& graph, PassContext& context);

// common-subexpressions: computes equal expressions once (J.  Cocke, Global Common Subexpression Elimination,
// 1970; here within one block, by the text of the operation).
//
// Merges two calls when operator, arguments and metadata of the results are equal, nothing that they read is
// written in between, and no write to one of the results would reveal the merge.  Random calls and calls of
// modules stay.
void common_subexpressions(ModuleGraph& graph, PassContext& context);

// eliminate-dead-code: removes nodes that have neither users nor effects.
//
// Removes pure calls without users; attributes and constants that are not read; asserts that the guards
// contain; operands, results and carried values of control flow that neither the subgraphs nor the enclosing
// graph need; and calls that only log, or switch a mode that affects no call (analysis/effects.h).  Inputs
// of a module's graph stay, and so do writes, random and unknown calls, leaves, and all other asserts.
void eliminate_dead_code(ModuleGraph& graph, PassContext& context);

// Guards for the facts about inputs (--input) that a pass relied on.

// Runs a pass on a graph of TorchScript, and adds guards for those facts about inputs without which the pass
// would have made another graph.  These are found by running the pass on copies without the facts.
void run_with_guards(const std::function<void(ModuleGraph&)>& pass, ModuleGraph& graph);

}  // namespace fxtrace::internal
