// The data of `fxtrace summary`: structure and costs of a model, module by module.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fxtrace/report_values.h"
#include "graph/graph_collection.h"
#include "summaries/parameter_sizes.h"
#include "summaries/quantization.h"
#include "symbolic/shape_env.h"
#include "symbolic/sym_int.h"

namespace fxtrace::internal {

using fxtrace::Accelerator;
using fxtrace::CostColumn;
using fxtrace::DeviceFit;
using fxtrace::LeastTime;
using fxtrace::MemoryTimeline;

struct TensorCount {
  std::int64_t elements = 0, bytes = 0;
  void add(const TensorCount& other);  // saturating
  bool operator==(const TensorCount&) const = default;
};

// Measurements of a module: all its calls together, submodules included.
struct Measured {
  double seconds = 0;
  std::int64_t allocated_bytes = 0;  // total allocated by its operators
  std::int64_t peak_bytes = 0;       // peak of the run during its calls, without parameters and inputs
};

// A row for a module that is called, or has parameters or buffers, or contains such modules.  A folded row is
// for several equal consecutive modules, with the sums of their numbers.  "All" means including submodules.
struct SummaryRow {
  std::string path;                 // path of the first module
  std::string name;                 // last part of the path; empty for the root
  std::optional<std::string> last;  // path of the last module, if several
  std::int64_t modules = 1;         // number of modules in the row
  std::int64_t repeats = 1;         // number of siblings among them; the others come from folded rows above
  std::size_t depth = 0;            // below the root
  std::string type;                 // qualified; empty: unknown
  ModuleStatus status = ModuleStatus::kUnvisited;
  std::optional<std::string> alias_of;  // of a later name of a shared module: its first, with all numbers
  std::int64_t calls = 0;               // calls of each module
  std::vector<std::string> methods;     // methods other than forward that are called
  std::optional<std::vector<Meta>> outputs;  // output tensors of the first call
  TensorCount own_parameters, parameters;    // counted as torch does: tied ones once within a module
  TensorCount own_buffers, buffers;
  // The part of `parameters` that is shared with a module earlier in the table, or outside of this one.  It
  // is not added again in totals.
  TensorCount shared_parameters;
  // `flops` are two for each MAC that torch.utils.flop_counter counts.  All; absent: unknown.
  std::optional<SymInt> macs, flops, activation_bytes;
  std::map<std::string, SymInt> macs_by_dtype;  // of the first operand; "" where it is unknown
  // inputs_read: bytes of the model's inputs, each for the first call that uses it.
  // weights_read: bytes of the parameters, buffers and constants that operators take, once for each.
  // kv_cache: bytes of the keys and values of attention as a cache keeps them, before they are repeated for
  // several heads.  All; absent: unknown.
  std::optional<SymInt> inputs_read, weights_read, kv_cache;
  QuantizedCompute quantization;  // all
  std::int64_t unknown = 0;       // calls of operators with unknown cost, all
  std::int64_t unsized = 0;       // calls with unknown sizes, all
  std::int64_t failed = 0;        // failed modules with calls of unknown cost, all

  // The module only runs in subgraphs, whose costs count in the module of the node that runs them.
  bool is_in_body = false;

  std::optional<Measured> measured;  // set when the model was run
  std::optional<LeastTime> least;    // set by place_on()

  // Returns the part of `parameters` that counts in its parent's row.
  TensorCount counted_parameters() const {
    return {parameters.elements - shared_parameters.elements, parameters.bytes - shared_parameters.bytes};
  }
  // Returns whether `macs` and `activation_bytes` are incomplete.
  bool is_partial() const { return unknown + unsized + failed > 0; }
};

const char* to_string(CostColumn column);  // the field of JSON: "weights_read", "kv_cache_bytes"

struct ModelSummary {
  struct Port {
    std::string name;  // for an output, its path in the result: "0", "boxes.1"; "" for the result itself
    Meta meta;
    std::optional<Argument> fixed = std::nullopt;  // the only value of an input that the program fixed
    std::string label = {};                        // the name that someone chose for an output
  };
  struct FailedModule {
    std::string path, type;
    std::optional<Failure> failure;
    bool is_closed = true;  // the cost of its calls is unknown; graphs of its submodules count instead
  };

  GraphCollection::Model model;
  std::string producer;  // "PyTorch 2.13.0"; empty if unknown
  std::vector<Port> inputs, outputs;
  std::vector<SummaryRow> rows;  // pre-order, the root first
  std::int64_t hidden = 0;       // number of rows that limit_depth() removed
  std::optional<std::int64_t> max_depth;
  bool is_folded = false;
  std::vector<CostColumn> columns;

  // Totals of the whole model, shared tensors once.
  TensorTotal parameters, buffers, constants;
  std::map<std::string, std::int64_t> dtypes;  // bytes by dtype, of all three
  std::optional<SymInt> macs, flops, activation_bytes, peak_bytes;
  // Bytes of the inputs, outputs and buffers of the root's graph that hold keys and values of attention: from
  // which an operator of attention takes them, or to which a graph hands them on, unchanged.
  std::optional<SymInt> cache_inputs, cache_outputs;  // absent: unknown, or none
  std::int64_t cache_buffers = 0;
  std::map<std::string, Range> ranges;       // of dimensions, where options or guards tell one
  std::optional<std::int64_t> example_peak;  // bytes at the sizes of an example, where no expression is known
  std::map<std::string, std::int64_t> unknown;  // calls by operator with unknown cost
  std::int64_t unsized = 0;
  std::int64_t modules = 0;  // number of modules, shared ones once
  std::vector<FailedModule> failed;

  std::optional<DeviceFit> fit;          // set by place_on()
  std::optional<MemoryTimeline> memory;  // of the root's graph, on request; without steps where it is unknown
  std::string memory_sizes;              // at which it is: "batch=1, seq=128"; empty if sizes are numbers

  bool has_closed() const;  // a failed module has calls of unknown cost
  bool has_costs() const;   // some cost is known
  bool has_shapes() const;  // the output of some module is known
  bool has_measurements() const;
};

// Returns FLOP/s, with two FLOPs for each of the row's MACs.  Nothing when MACs or time are unknown or 0.
std::optional<double> flops_per_second(const SummaryRow& row);

// Returns the number of operations, two for each MAC, per byte moved (weights read and results written) at
// these sizes; nothing when it is unknown.
std::optional<double> arithmetic_intensity(const SummaryRow& row,
                                           const std::map<std::string, std::int64_t>& sizes);

// The table of devices that the program contains (schemas/devices.schema.json).
std::string_view devices_text();
// Computes what `fit` and the `least` of each row say of a device, at example sizes where a size is no
// number.
void place_on(ModelSummary& summary, const Accelerator& device);

// Summarises a collection.  Costs come from graphs_that_count().  When the calls of a failed module have a
// known cost, its submodules have the costs of their own graphs, which are not added to its row.  Nodes of
// subgraphs count through the node that runs them.
ModelSummary summarize_model(const GraphCollection& collection);

// Example sizes: numbers for dimensions, at which expressions that are too long to read are shown.
struct ExampleSizes {
  std::map<std::string, std::int64_t> sizes;
  std::string text;  // "batch=1, seq=128", of printable characters
};
ExampleSizes example_sizes(const ModelSummary& summary);

// Removes rows more than `depth` levels below the root.
void limit_depth(ModelSummary& summary, std::int64_t depth);
// Removes the deepest levels until at most `rows` rows remain after folding, but never the level below the
// root.
void limit_rows(ModelSummary& summary, std::size_t rows);

// Folds rows of equal siblings with consecutive numbers as names ("0", "1", "2") into one.
void fold_repeats(ModelSummary& summary);

enum class SortKey { kMacs, kParameters, kBytes };
// Sorts siblings by the key in descending order; unknown values come last.  Dimensions count as kTypicalSize.
void sort_rows(ModelSummary& summary, SortKey key);

// Evaluates an expression with kTypicalSize for each dimension, to compare it with others.
inline constexpr std::int64_t kTypicalSize = 128;
std::optional<std::int64_t> typical_value(const std::optional<SymInt>& size);

}  // namespace fxtrace::internal
