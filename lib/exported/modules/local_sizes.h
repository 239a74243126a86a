// Sizes at the boundary of a module's call.
//
// torch.export computes a size once and uses it wherever the same size is needed: a module's operations may
// use one that another module's forward has computed, as in
//
//   a:  sym_size = sym_size(x, 0);  mul = sym_size * 8;  view = view(q, [mul, 4])
//   b:                                                   view_1 = view(r, [mul, 4])
//
// although b's forward computes it from its own input, which has the same batch size.  LocalSizes undoes the
// sharing: it gives each call its own computation of the size, so that sizes do not become arguments.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/program_operations.h"

namespace fxtrace::internal {

// Returns whether the value is a number or a condition, as arithmetic of sizes makes them.
bool is_size(const Meta& meta);

class LocalSizes {
 public:
  // `without_options` is the same graph with the sizes that it has without options, as the arguments of a
  // call must not depend on options.  Both must outlive this.
  LocalSizes(const ProgramView& graph, const ProgramView& without_options);

  // Returns the boundary of `operations`, as boundary_of() gives it, without the sizes that can be computed
  // on their side of it:
  // - adds to `operations` the arithmetic that computes entering sizes inside, which other modules have run;
  // - removes arithmetic that only computes sizes which the entering tensors have anyway, and checks of sizes
  //   that the caller knows;
  // - leaves out entering sizes that follow from the sizes of entering tensors (find_source()), and leaving
  //   sizes that can be computed outside.
  // A size computed by an operation for which is_run_by_caller() holds enters, unless it can be computed
  // inside.
  using BoundaryOf = std::function<Boundary(const std::vector<NodeId>&)>;
  using IsRunByCaller = std::function<bool(NodeId)>;
  Boundary settle(std::vector<NodeId>& operations, const BoundaryOf& boundary_of,
                  const IsRunByCaller& is_run_by_caller) const;

  bool is_size(NodeId value) const;
  // Returns whether an operation without effects makes the size, from a tensor or from other sizes.
  bool has_maker(NodeId value) const;

  // Returns the tensors that have this size as a dimension, with the dimension's position.
  using Dims = std::vector<std::pair<NodeId, std::size_t>>;
  const Dims& tensors_with(NodeId size) const;

 private:
  class Side;
  void settle(Boundary& boundary, std::vector<NodeId>& operations,
              const IsRunByCaller& is_run_by_caller) const;
  bool is_arithmetic(NodeId value) const;
  std::vector<NodeId> without(const std::vector<NodeId>& operations,
                              const std::function<bool(NodeId)>& goes) const;

  const ProgramView graph_, without_options_;
  mutable std::optional<std::unordered_map<std::string, Dims>> dims_;  // by text; made on first use
};

}  // namespace fxtrace::internal
