// The data of `fxtrace order`: modules and parameters in the order in which a model uses them.
//
// When a module failed, a collection also has the graphs of its submodules.  The order in which the failed
// module calls these is not known, so each graph numbers its calls by itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph_collection.h"
#include "summaries/parameter_sizes.h"
#include "symbolic/sym_int.h"

namespace fxtrace::internal {

struct UseOrder {
  // The calls of a graph, numbered from 1 as in its module_forward_order; call 1 is that of its own module.
  struct Call {
    std::size_t module = 0;   // index in `modules`
    std::size_t depth = 0;    // below the graph's own module, by paths
    std::int64_t number = 0;  // 0: a call of a method other than forward, which counts as code of its caller
  };
  struct Calls {
    std::string module;  // path of the graph's module
    std::vector<Call> calls;
  };
  struct Place {
    std::size_t graph = 0;  // index in `graphs`
    std::int64_t call = 0;  // number in that graph; 0: unknown
  };

  struct Module {
    std::string path, type;
    std::string method;  // as in Scope::method
    ModuleStatus status = ModuleStatus::kUnvisited;
    std::vector<std::string> shared;  // its later names
    TensorTotal parameters;           // submodules included; tied ones once
    std::vector<Place> calls;
    std::optional<SymInt> macs;  // of all calls, submodules included; set by add_macs(), absent when unknown
  };

  // A node that takes the parameter, also in subgraphs of control flow, or that calls a leaf that has it.
  struct Use {
    Place place;
    std::string module, node;
  };
  struct Parameter {
    std::string name, dtype;
    std::vector<std::int64_t> shape;
    std::int64_t elements = 0, bytes = 0;  // of all its tensors, if it has several
    std::vector<std::string> tied;         // its later names
    std::vector<Use> uses;                 // not all of them, beyond a million uses in the model
    std::int64_t use_count = 0;
  };

  // Parameters that are used one after the other.
  struct Bucket {
    std::vector<std::size_t> parameters;  // indices in `parameters`
    std::int64_t bytes = 0;
  };
  struct Buckets {
    std::int64_t most_bytes = 0;
    std::vector<Bucket> list;
  };

  GraphCollection::Model model;
  std::vector<Calls> graphs;
  std::vector<Module> modules;        // called modules, one for each method, in the order of first calls
  std::vector<Parameter> parameters;  // used parameters, in the order of first uses
  std::vector<Parameter> unused;
  // Modules of which no parameter is used, where neither they, nor a module inside of them, nor a leaf around
  // them is called.
  std::vector<Module> never_called;
  TensorTotal used, not_used;
  std::optional<Buckets> buckets;  // if asked for
};

// Returns the order of use.  Buffers do not count as parameters, and the output does not count as a use, as
// in FSDP's tracer.
UseOrder order_of_use(const GraphCollection& collection);

// Puts the parameters that are used into buckets of at most `most_bytes`, in order: one that does not fit
// into the bucket begins the next.  One that is larger than `most_bytes` is a bucket by itself; no other
// bucket is larger.
void make_buckets(UseOrder& order, std::int64_t most_bytes);

// Adds the MACs of the modules.
void add_macs(const GraphCollection& collection, UseOrder& order);

// The data of `fxtrace order --fsdp2`: the modules that FSDP2 shards by themselves, and the prefetches of
// each.

// The modules that torch.distributed.fsdp.fully_shard() is applied to.  Parameters outside of them stay with
// the root.
struct FsdpPlan {
  // Repeated blocks in the order of their first calls: siblings whose names differ in a number, with equal
  // submodules and parameters, such as h.0 and h.1; the outermost ones, and all modules of their class.  If
  // there are none: siblings of one class of the model whose parameters differ; else equal layers.
  std::vector<std::string> units;
  // Pairs of a module and the unit that it prefetches: the unit that is called next, or in the backward pass
  // the one called before it.  The root, "", begins both.  Units that are called several times prefetch
  // nothing, because different units follow.
  std::vector<std::pair<std::string, std::string>> forward, backward;
  struct LeftOut {
    std::string path, reason;
  };
  std::vector<LeftOut> left_out;  // blocks that stay with the root
};

FsdpPlan plan_fsdp(const GraphCollection& collection, const UseOrder& order);

}  // namespace fxtrace::internal
