// Costs of a model where it will run: with numbers for the sizes that have names.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "graph/graph_collection.h"

namespace fxtrace {

// A size by its name, or those of an input.
struct GivenSizes {
  std::string name;  // "batch", "s77", "x"
  std::vector<std::int64_t> sizes;
  bool operator==(const GivenSizes&) const = default;
};

// Reads "batch=1,seq=4096,x=1x3x224x224"; the sizes of an input also as [1,3,224,224].  Throws Error(kUsage).
std::vector<GivenSizes> read_given_sizes(const std::string& text);

// Returns the names of sizes in the shapes of the collection's graphs, sorted.
std::vector<std::string> names_of_sizes(const GraphCollection& collection);

// Returns whether a size or an input has the name.
bool has_sizes(const GraphCollection& collection, const GivenSizes& given);

// Puts numbers for names into all shapes and costs, and computes costs anew, so that a peak is a number.
// Guards stay as they are.  Returns the numbers by name.  Throws Error(kUsage) for a name that no size and no
// input has, and for sizes that do not fit.
std::map<std::string, std::int64_t> set_sizes(GraphCollection& collection,
                                              const std::vector<GivenSizes>& given);

}  // namespace fxtrace
