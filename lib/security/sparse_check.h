// The check of indices in sparse and nested tensors: they are numbers in storages, torch.load does not check
// them, and kernels read memory where they point to.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "archive/stored_tensors.h"

namespace fxtrace::internal::security {

enum class SparseLayout : std::uint8_t { kCoo, kCsr, kCsc, kBsr, kBsc, kNested, kJagged };

// A tensor that is made of others.
struct SparseTensor {
  SparseLayout layout = SparseLayout::kCoo;
  std::vector<std::int64_t> size;  // of the whole tensor; empty for nested and jagged ones
  // COO: the indices; CSR and the like: compressed indices, plain indices; nested: sizes, strides and offsets
  // of the samples; jagged: offsets, and lengths if there are any.
  std::vector<StoredTensor> indices;
  StoredTensor values;
  bool is_coalesced = false;      // COO: says that its indices are in order, each once
  std::int64_t ragged_index = 1;  // jagged: the dimension, counted with that of the samples
};

// The indices that may be read of one file, in bytes.
constexpr std::uint64_t kMaxIndices = 256'000'000;

// Reads the first bytes of a storage; returns nothing where it has fewer.
using ReadStorage = std::function<std::optional<std::string>(const std::string& key, std::uint64_t bytes)>;

struct SparseProblem {
  bool is_unknown = false;  // they could not be read within the budget
  std::string what;
};
// Checks the tensor; subtracts from `budget` what it reads.
std::optional<SparseProblem> problem_of_indices(const SparseTensor& tensor, const ReadStorage& read,
                                                std::uint64_t& budget);

}  // namespace fxtrace::internal::security
