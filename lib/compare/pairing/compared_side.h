// Compared side: one of two collections that are compared, with look-ups by name.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compare/pairing/module_pairs.h"
#include "graph/graph_collection.h"

namespace fxtrace::internal {

struct ComparedSide {
  // The graphs are those of the collection, or their common_form().  The arguments must outlive this.
  ComparedSide(const GraphCollection& whole, const std::vector<ModuleGraph>& compared,
               const PairedModules& paired);

  bool is_torchscript() const { return collection.model.is_torchscript(); }
  // Returns the first name of a parameter, which stands for all that are tied to it.
  std::string first_name(const std::string& parameter) const;

  const GraphCollection& collection;
  const std::vector<ModuleGraph>& graphs;
  const PairedModules& modules;
  std::unordered_map<std::string_view, std::string_view> ties;  // names of parameters to first names
  std::unordered_set<std::string_view> unused;                  // names of unused parameters
  std::unordered_set<std::string_view> constants;  // names that the collection's graphs have for them
  std::unordered_set<std::string_view> working;    // paths of modules that nodes of `graphs` are in
};

}  // namespace fxtrace::internal
