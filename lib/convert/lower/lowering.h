// Lowering: makes a program of torch.export (WrittenProgram) from the traced graph of a model.
//
// A traced graph calls Python functions, computes sizes by nodes, may hold quantized tensors, and names its
// parameters by get_attr nodes.  A program calls only operators that have a schema, takes parameters, buffers
// and constants as inputs, and has a symbol for each open size.  lower() translates node by node (body.h),
// and then adds what a program has besides: signature, strides, symbols and guards.
//
// Invariants:
// 1. Lowering does not stop at the first problem.  Each thing that a program cannot express becomes one
//    Refusal; nodes that use the result of a refused node are skipped, without a refusal of their own.  The
//    program may be written only if there are no refusals.
// 2. Each lowered node stands for one Argument: a value of the program, a plain value, or a container of
//    such.  A number that the trace knows, an item of a list and a packed weight therefore leave no
//    operation.
// 3. signature.inputs are the inputs of the graph in order: parameters, then buffers, both in the order of
//    registration, then constants, then the inputs of the method.  Parameters and buffers that no node reads
//    are inputs, too, if a program can have them.
// 4. signature.outputs are the outputs of the graph in order: the results of the method; in a functional
//    program after the new values of what was written (guards_and_mutations.h).
// 5. Sizes keep the names of the trace to the end; program.symbols maps them to those of torch.  So
//    name_symbols() runs when no value is added any more, and lower_guards(), which leaves out what the
//    ranges of symbols say, runs after it.
// 6. Weights are not read: a WrittenTensor names the record of the model's file.  Only a tensor without a
//    record, of which the graph has the elements, brings its bytes.
//
// Example: channel_shuffle() of a ShuffleNet, --input 'x=float32[batch,3,224,224]'.
//
//     traced graph                                     program
//     %size = aten.size.int(%cat, 0)                   size = sym_size.int(cat, 0)
//     %view = aten.view(%cat, [%size, 2, 24, 28, 28])  view = view(cat, [size, 2, 24, 28, 28])
//     %transpose = aten.transpose.int(%view, 1, 2)     transpose = transpose.int(view, 1, 2)
//
// The rewrite of aten.size.int asks the tensor for its size only because batch is open: a known size would be
// a number in the view's list, without an operation (2.).  name_symbols() writes batch as s0, with the hint
// 2; add_strides() gives `transpose` the strides [37632, 784, 18816, 28, 1]; lower_guards() adds the guard
// L['x'].dim() == 4.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "convert/lower/written_program.h"
#include "graph/graph_collection.h"
#include "trace/options/options.h"
#include "trace/tracer/program.h"

namespace fxtrace::internal {

// Something that a program of torch.export cannot express, or that is not known.
struct Refusal {
  std::string module = {};  // path of the module that it is in
  std::string what = {};    // its subject, an operator or an input: "aten.nonzero.default"
  std::string why = {};
  std::string help = {};  // how to avoid it; may be empty
  std::optional<SourceLocation> source = {};
};

struct LoweringOptions {
  std::vector<DimensionRange> dimensions;     // those of the trace, and of the model itself
  std::map<std::string, std::int64_t> hints;  // example values of dimensions, by name
  std::vector<ConcreteArg> concrete;          // those of the trace
  std::string method = "forward";
  // The structure of the inputs if the placeholders are their leaves: a tuple of the positional arguments and
  // the keyword arguments.
  std::optional<TreeSpec> in_spec = {};
  std::vector<std::string> argument_names = {};  // names of the positional arguments if in_spec is set
  bool functional = false;                       // no operation may write to its arguments
  bool freeze_state = false;                     // attributes that a run changes keep the value of the file
  std::set<std::size_t> dropped_outputs = {};    // numbers of the results of the method that are left out
  bool quantized = true;                         // quantized tensors become tensors of integers
  std::vector<std::string> schemas = {};         // of custom operators: "my::op(int n) -> int"
};

// Returns the options for a model that was traced with these; `is_whole`: it is not a part of it.
LoweringOptions lowering_options(const TraceOptions& options, const Program& model, bool is_whole);

struct Lowered {
  WrittenProgram program;  // not to be written if there are refusals
  std::vector<Refusal> refusals;
  std::vector<std::string> notes;  // assumptions, for the user
};

// Makes a program from the graph of the root, in which no module may be left as a leaf.  `model` is the
// traced model.  Throws Error(kUsage) for hints and dropped outputs that do not exist, and Error(kInput) if
// there is no graph.
Lowered lower(const GraphCollection& collection, const Program& model, const LoweringOptions& options);

}  // namespace fxtrace::internal
