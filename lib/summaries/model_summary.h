// What a model is and what it costs, module by module: the data of `fxtrace summary`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph_collection.h"
#include "summaries/parameter_sizes.h"
#include "symbolic/sym_int.h"

namespace fxtrace {

struct TensorCount {
  std::int64_t elements = 0, bytes = 0;
  void add(const TensorCount& other);  // up to what 64 bits hold
  bool operator==(const TensorCount&) const = default;
};

// What running a module took, all its calls together, submodules included.
struct Measured {
  double seconds = 0;
  std::int64_t allocated_bytes = 0;  // of everything that its operators allocated
  std::int64_t peak_bytes = 0;  // the most that the model's run held meanwhile, without parameters and inputs
};

// A module that is called or has parameters or buffers, or has such modules below it; or, folded, several
// equal ones in a row, of which the numbers are the sums.  What says "all" includes submodules.
struct SummaryRow {
  std::string path;                 // of the first
  std::string name;                 // last part of the path; of the root empty
  std::optional<std::string> last;  // of several: path of the last
  std::int64_t modules = 1;         // that the row stands for
  std::int64_t repeats = 1;         // siblings among them; the others are in rows above that are folded
  std::size_t depth = 0;            // below the root
  std::size_t end = 0;              // in the list of rows: where those below it end
  std::string type;                 // qualified; empty: not known
  ModuleStatus status = ModuleStatus::kUnvisited;
  std::optional<std::string> alias_of;  // a shared module's later name: its first, whose row has all numbers
  std::int64_t calls = 0;               // of each
  std::optional<std::vector<Meta>> outputs;  // tensors of the first call
  TensorCount own_parameters, parameters;    // as torch counts them: tied ones once in a module
  TensorCount own_buffers, buffers;
  // Of `parameters`, those that are shared with a module above in the table, or outside of this one: a column
  // adds up without them.
  TensorCount shared_parameters;
  std::optional<SymInt> macs, activation_bytes;  // all; absent: nothing is known
  std::int64_t unknown = 0;                      // calls of operators whose cost is not known, all
  std::int64_t unsized = 0;                      // calls whose sizes are not known, all
  std::int64_t failed = 0;                       // modules of whose calls nobody knows the cost, all

  // It runs in subgraphs alone, which count in the module of the node that runs them.
  bool is_in_body = false;

  std::optional<Measured> measured;  // by who has run the model

  // What `parameters` adds to its parent's.
  TensorCount counted_parameters() const {
    return {parameters.elements - shared_parameters.elements, parameters.bytes - shared_parameters.bytes};
  }
  // Whether `macs` and `activation_bytes` are of a part only.
  bool is_partial() const { return unknown + unsized + failed > 0; }
};

struct ModelSummary {
  struct Port {
    std::string name;  // of an output its place in the result, "0" or "boxes.1"; "" for the result itself
    Meta meta;
  };
  struct FailedModule {
    std::string path, type;
    std::optional<Failure> failure;
    bool is_closed = true;  // what its calls cost is not known: the graphs of its submodules tell
  };

  GraphCollection::Model model;
  std::string producer;  // "PyTorch 2.13.0"; empty if not known
  std::vector<Port> inputs, outputs;
  std::vector<SummaryRow> rows;  // pre-order, the root first
  std::int64_t hidden = 0;       // rows that limit_depth() left out
  std::optional<std::int64_t> max_depth;
  bool is_folded = false;

  // Of the whole model, shared ones once.
  TensorTotal parameters, buffers, constants;
  std::map<std::string, std::int64_t> dtypes;  // bytes by dtype, of all of these
  std::optional<SymInt> macs, activation_bytes, peak_bytes;
  std::map<std::string, std::int64_t> unknown;  // operators whose cost is not known: calls
  std::int64_t unsized = 0;
  std::int64_t modules = 0;  // shared ones once
  std::vector<FailedModule> failed;

  bool has_closed() const;  // whether a module failed of whose calls nobody knows the cost
  bool has_costs() const;   // whether anything is known of what it costs to run
  bool has_shapes() const;  // whether any output of a module is known
  bool has_measurements() const;
};

// Floating point operations, two for each of the row's MACs.  Nothing where MACs or time are not known, or 0.
std::optional<double> flops_per_second(const SummaryRow& row);

// Costs are those of the graphs that count (graphs_that_count()).  Of a module that failed, but whose calls
// have a known cost, submodules have what their own graphs say, and its row does not add them up.  Nodes of
// subgraphs count by the node that runs them.
ModelSummary summarize_model(const GraphCollection& collection);

// Without rows more than `depth` below the root.
void limit_depth(ModelSummary& summary, std::int64_t depth);
// Without as many levels as it takes to have at most `rows` rows once folded, but not those below the root.
void limit_rows(ModelSummary& summary, std::size_t rows);

// Rows of equal siblings whose names count up ("0", "1", "2") become one.
void fold_repeats(ModelSummary& summary);

enum class SortKey { kMacs, kParameters, kBytes };
// Siblings by that number, the largest first; what is not known comes last.  Dimensions count as
// kTypicalSize.
void sort_rows(ModelSummary& summary, SortKey key);

// A number for what may be an expression of dimensions, to compare with others: with kTypicalSize for each.
inline constexpr std::int64_t kTypicalSize = 128;
std::optional<std::int64_t> typical_value(const std::optional<SymInt>& size);

}  // namespace fxtrace
