// Elements and bytes of parameters and buffers, by module.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph_collection.h"
#include "support/saturated.h"

namespace fxtrace {

// Of several tensors, those that are one counted once.
struct TensorTotal {
  std::int64_t tensors = 0, elements = 0, bytes = 0;
  std::set<std::string> dtypes, devices;

  // 2^63-1 stands for what is more.
  void add(const std::vector<std::int64_t>& shape, const std::string& dtype, const std::string& device);
};

std::int64_t element_count(const std::vector<std::int64_t>& shape);
std::int64_t byte_count(const std::vector<std::int64_t>& shape, const std::string& dtype);

// Of a module's parameters and buffers: its own, and with all submodules; tied ones once.
struct ModuleSizes {
  TensorTotal own_parameters, parameters, own_buffers, buffers;
};

// By module of the collection.  A tensor that is shared counts once in every module that has it below, be it
// through a shared module, and a module under a later name has the counts of its first.
std::vector<ModuleSizes> count_parameters(const GraphCollection& collection);

}  // namespace fxtrace
