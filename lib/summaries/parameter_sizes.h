// Parameter sizes: elements and bytes of parameters and buffers, by module.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph_collection.h"
#include "support/integers.h"

namespace fxtrace::internal {

// The total of several tensors.  Tied tensors count once; packed parameters count as one tensor.
struct TensorTotal {
  std::int64_t tensors = 0, elements = 0, bytes = 0;
  std::set<std::string> dtypes, devices;

  // Sums saturate at 2^63-1.
  void add(const ParameterRecord& record);
  void add(const std::vector<std::int64_t>& shape, const std::string& dtype);
};

std::int64_t element_count(const std::vector<std::int64_t>& shape);
std::int64_t byte_count(const std::vector<std::int64_t>& shape, const std::string& dtype);
std::int64_t byte_count(const std::vector<StoredPart>& parts);

// Count elements as torch does: for a tensor subclass those of its own shape, for packed parameters those of
// all their tensors.  Bytes are the stored bytes.
std::int64_t element_count(const ParameterRecord& record);
template <class T>  // a parameter or a constant
  requires requires(const T& tensor) { tensor.stored; }
std::int64_t byte_count(const T& tensor) {
  return tensor.stored.empty() ? byte_count(tensor.shape, tensor.dtype) : byte_count(tensor.stored);
}

// Calls f(shape, dtype) for each tensor that the file stores for the record.
template <class F>
void for_each_stored(const ParameterRecord& record, F&& f) {
  if (record.stored.empty()) f(record.shape, record.dtype);
  for (const StoredPart& part : record.stored) f(part.shape, part.dtype);
}

// The totals of a module's parameters and buffers: its own, and including submodules; tied ones once.
struct ModuleSizes {
  TensorTotal own_parameters, parameters, own_buffers, buffers;
};

// Returns the totals by module of the collection.  A shared tensor counts once in every module that contains
// it, also through a shared module; a module under a later name has the totals of its first name.
std::vector<ModuleSizes> count_parameters(const GraphCollection& collection);

}  // namespace fxtrace::internal
