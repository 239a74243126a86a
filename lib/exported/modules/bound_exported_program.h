// An exported program bound to the options of one trace: its graph, inputs, guards and attributes of
// modules.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/program_operations.h"
#include "costs/custom_costs.h"
#include "exported/modules/call_graph.h"
#include "exported/program/exported_program.h"
#include "exported/program/hierarchy.h"
#include "exported/program/program_dimensions.h"
#include "symbolic/expression.h"
#include "trace/modules/leaf_attributes.h"
#include "trace/options/options.h"
#include "trace/tracer/program.h"

namespace fxtrace::internal {

// An exported program bound to the options of one trace, with its graph and dimensions narrowed by them.

class BoundExportedProgram : public BoundProgram {
 public:
  BoundExportedProgram(const ExportedProgram& program, const TraceOptions& options);

  std::vector<MethodInfo> methods(ModuleId module) const override;
  std::vector<Attributes> attributes() const override;
  std::vector<Diagnostic> warnings() const override;
  void run(ModuleId root, const std::string& method, bool root_is_leaf, GraphTracer& tracer) override;

  // --- for module_graph.h ---
  const ExportedProgram& program() const { return program_; }
  const TraceOptions& options() const { return options_; }
  const CustomCosts& custom_costs() const { return custom_costs_; }
  ProgramView graph() const { return narrowed_ ? narrowed_->view() : program_.graph(); }
  const ProgramDimensions& dimensions() const { return dimensions_; }
  const CallIndex& calls() const;

 private:
  const ExportedProgram& program_;
  const TraceOptions options_;  // as by_own_inputs() returns them
  const CustomCosts custom_costs_{options_.custom_costs};
  ProgramDimensions dimensions_;
  std::optional<ExportedGraph> narrowed_;     // absent when the program's own graph is used
  mutable std::unique_ptr<CallIndex> calls_;  // made on first use
};

// Nested arguments of forward: options name them as forward does, while the program only has their leaves as
// inputs.

// An argument of forward.
struct NestedArgument {
  std::string name;
  const TreeSpec* spec = nullptr;
  std::size_t first = 0;  // position of its first leaf among the user inputs
};
// Returns the arguments of forward whose names the program has.
std::vector<NestedArgument> nested_arguments(const ExportedProgram& program);

// Returns the options with the program's own inputs in --concrete and --input-names: d={"a": "$PH"} becomes
// d_a="$PH".  Throws Error(kUsage) for a value that is not nested like the input.
TraceOptions by_own_inputs(const TraceOptions& options, const ExportedProgram& program);

// Inference of modules' attributes from the operations of an exported program.

// Returns, by module of `hierarchy`, the attributes that leaf_attributes.h infers.
std::vector<ModuleAttributes> attributes_of_modules(const ProgramView& graph, const Hierarchy& hierarchy,
                                                    const std::vector<ParameterRecord>& parameters);

// Guards of an exported program: the conditions that torch.export's own module checks of its inputs, on how
// they are nested, on their sizes, and those that the file states besides.
//
// The checks are those of PyTorch's torch/export/_unlift.py and torch/_export/utils.py (BSD-3-Clause, see
// NOTICE).
//
// Invariants:
// 1. The order is: nesting of the arguments of forward, then rank and sizes input by input, then the ranges
//    of the dimensions, then the conditions of the file.
// 2. Nesting is checked for the arguments whose name is an identifier of Python.  A container of Python
//    itself must have the same length, or for a dict the same keys in the same order; None must be None.  A
//    container of another class is checked only where its fields are known (named tuples).
// 3. Inputs without a placeholder (parameters, buffers, constants, inputs fixed by an option) give no guards.
// 4. A size that is a number must be that number.  Where several places have the same symbolic size, the
//    later ones must equal the first.
// 5. A dimension is read from one place (InputSizes::sources()).  That place gives no guard for the size,
//    unless a divisor is left to check: where x.size(0) is 2*s0 + 1, (x.size(0) - 1) % 2 == 0.  The first
//    place of any other symbolic size must equal it, if all its dimensions are read somewhere.
// 6. Conditions of the file that the ranges of the dimensions imply are left out, as they only repeat them.
//
// Example: forward(x, pairs, words), where x is [s19, 4], pairs is [s19*2, 4], and words is {'ids': [t]} with
// a tensor t of size [s19, s99]:
//
//   list(words) == ['ids'], len(words['ids']) == 1             nesting; x and pairs are not nested
//   x.dim() == 2, x.size(1) == 4                               s19 is read from x.size(0): no guard for that
//   pairs.dim() == 2, pairs.size(0) == s19*2, pairs.size(1) == 4
//   words_ids_0.dim() == 2, words_ids_0.size(0) == x.size(0)   s99 is read from words_ids_0.size(1)
//   2 <= s19 <= 64, 4 <= s19*2 <= 128, s99 >= 4                ranges that the file states

// Returns the guards over the placeholders, and over the arguments of forward where these are nested.
// `placeholders` are the names of the placeholders, one for each input of the program's graph; the name is
// empty for an input without one.
std::vector<Expression> program_guards(const BoundExportedProgram& bound,
                                       const std::vector<std::string>& placeholders);

}  // namespace fxtrace::internal
