// Sizes at the boundary of a module's call.
//
// torch.export computes a size once and uses it wherever the same size is needed: a module's operations may
// use one that another module's forward has computed, as in
//
//   a:  sym_size = sym_size(x, 0);  mul = sym_size * 8;  view = view(q, [mul, 4])
//   b:                                                   view_1 = view(r, [mul, 4])       # r of the same
//   batch
//
// although b's forward computes it from its own input.  Here it does so again.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/modules/program_graph.h"

namespace fxtrace {

// Whether it is a value that arithmetic of sizes makes: a number or a condition.
bool is_size(const Meta& meta);

class LocalSizes {
 public:
  // `said` is the same graph, its sizes as they are without options: what a call takes does not depend on
  // options.  Both must outlive this.
  LocalSizes(const ProgramGraph& graph, const ProgramGraph& said);

  // Returns the boundary of `operations`, which `boundary_of` gives, without the sizes that can be computed
  // on their side of it. Adds the operations that compute them inside, and takes out what only makes such a
  // size of what enters, and checks of sizes that the caller knows.  What remains entering are values that
  // the sizes of the entering tensors do not tell (find_source()).  A size that another module has computed
  // from what remains is computed anew; of one that `is_callers` says the caller has computed, the value
  // enters.
  using BoundaryOf = std::function<Boundary(const std::vector<std::uint32_t>&)>;
  using IsCallers = std::function<bool(const Operation&)>;
  Boundary settle(std::vector<std::uint32_t>& operations, const BoundaryOf& boundary_of,
                  const IsCallers& is_callers) const;

  // Returns whether the value is none of a tensor, and the operation that makes it by arithmetic, from a
  // tensor or from such values, if one does.
  bool is_size(ValueId value) const;
  const Operation* find_maker(ValueId value) const;

  // Tensors with this dimension, and its place.
  using Dims = std::vector<std::pair<ValueId, std::size_t>>;
  const Dims& tensors_with(ValueId size) const;

 private:
  class Side;
  void settle(Boundary& boundary, std::vector<std::uint32_t>& operations, const IsCallers& is_callers) const;
  const Operation* find_arithmetic(ValueId value) const;
  bool is_arithmetic(const Operation& operation) const;
  std::vector<std::uint32_t> without(const std::vector<std::uint32_t>& operations,
                                     const std::function<bool(const Operation&)>& goes) const;

  const ProgramGraph& graph_;
  const ProgramGraph& said_;
  mutable std::unordered_map<std::uint32_t, std::uint32_t> makers_;    // of sizes; by value
  mutable std::optional<std::unordered_map<std::string, Dims>> dims_;  // by text; made on first use
};

}  // namespace fxtrace
