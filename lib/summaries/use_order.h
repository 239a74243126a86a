// The data of `fxtrace order`: modules and parameters in the order in which a model uses them.
//
// A collection has several graphs where a module failed: those of the module's submodules.  In which order
// the failed module calls these is not known, so each graph numbers its calls by itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph_collection.h"
#include "summaries/parameter_sizes.h"
#include "symbolic/sym_int.h"

namespace fxtrace {

struct UseOrder {
  // The calls of a graph, numbered from 1 as in its module_forward_order; call 1 is that of its own module.
  struct Call {
    std::size_t module = 0;   // index in `modules`
    std::size_t depth = 0;    // below the graph's own module, by paths
    std::int64_t number = 0;  // 0: of another method than forward, which is code of its caller
  };
  struct Calls {
    std::string module;  // of the graph
    std::vector<Call> calls;
  };
  struct Place {
    std::size_t graph = 0;  // index in `graphs`
    std::int64_t call = 0;  // number in that graph; 0: no call is known to be its
  };

  struct Module {
    std::string path, type;
    std::string method;  // as Scope::method
    ModuleStatus status = ModuleStatus::kUnvisited;
    std::vector<std::string> shared;  // its later names
    TensorTotal parameters;           // submodules included; tied ones once
    std::vector<Place> calls;
    std::optional<SymInt>
        macs;  // of all calls, submodules included; set by add_macs(), absent where not known
  };

  // A node that takes the parameter, in a body of control flow too, or that calls a leaf which has it.
  struct Use {
    Place place;
    std::string module, node;
  };
  struct Parameter {
    std::string name, dtype;
    std::vector<std::int64_t> shape;
    std::int64_t elements = 0, bytes = 0;  // of all that it holds, where that is more than one tensor
    std::vector<std::string> tied;         // its later names
    std::vector<Use> uses;                 // the first ones, if a file has more uses than can be listed
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
  std::vector<Module> modules;        // that are called, in the order of their first calls; by method
  std::vector<Parameter> parameters;  // that are used, in the order of their first uses
  std::vector<Parameter> unused;
  // That are never called, nor is a module in them or a leaf around them, and of which no parameter is used.
  std::vector<Module> never_called;
  TensorTotal used, not_used;
  std::optional<Buckets> buckets;  // if asked for
};

// Buffers are no parameters.  To be returned is no use, as in FSDP's tracer.
UseOrder order_of_use(const GraphCollection& collection);

// Puts the parameters that are used into buckets of at most `most_bytes`, in order: one that does not fit
// into the bucket begins the next.  One that is larger than `most_bytes` is a bucket by itself; no other
// bucket is larger.
void make_buckets(UseOrder& order, std::int64_t most_bytes);

// Adds the multiply-accumulates of the modules.
void add_macs(const GraphCollection& collection, UseOrder& order);

}  // namespace fxtrace
