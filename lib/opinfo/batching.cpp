#include "opinfo/batching.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace fxtrace::internal {
namespace {

// The names of parameters that name dimensions.
constexpr std::string_view kDimensions[] = {"axis0", "axis1",   "destination", "dim",
                                            "dim0",  "dim1",    "dim2",        "dimension",
                                            "dims",  "end_dim", "source",      "start_dim"};

constexpr std::pair<std::string_view, VmapFunction> kVmapFunctions[] = {
    {"lazy_load_decompositions", VmapFunction::kLoad},
    {"_vmap_increment_nesting", VmapFunction::kOpen},
    {"_add_batch_dim", VmapFunction::kAdd},
    {"_remove_batch_dim", VmapFunction::kRemove},
    {"_vmap_decrement_nesting", VmapFunction::kClose},
};

}  // namespace

bool names_dimensions(const SchemaArgument& argument) {
  return std::ranges::find(kDimensions, argument.name) != std::end(kDimensions);
}

VmapFunction vmap_function(std::string_view target) {
  constexpr std::string_view kPrefix = "torch._functorch.predispatch.";
  if (!target.starts_with(kPrefix)) return VmapFunction::kNone;
  for (const auto& [name, function] : kVmapFunctions) {
    if (target.substr(kPrefix.size()) == name) return function;
  }
  return VmapFunction::kNone;
}

}  // namespace fxtrace::internal
