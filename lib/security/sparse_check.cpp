#include "security/sparse_check.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "archive/model_file.h"
#include "support/integers.h"

namespace fxtrace::internal::security {
namespace {

using Numbers = std::vector<std::int64_t>;

std::int64_t product(std::span<const std::int64_t> sizes) {
  std::int64_t result = 1;
  for (const std::int64_t size : sizes) multiply_saturated(result, size);
  return result;
}

std::string range_text(std::int64_t size) { return "0 to " + std::to_string(size - 1); }

class IndexCheck {
 public:
  IndexCheck(const SparseTensor& tensor, const ReadStorage& read, std::uint64_t& budget)
      : tensor_(tensor), read_(read), budget_(budget) {}

  void run() const {
    for (const std::int64_t size : tensor_.size) require(size >= 0, "a size is negative");
    switch (tensor_.layout) {
      case SparseLayout::kCoo:
        return coo();
      case SparseLayout::kNested:
        return nested();
      case SparseLayout::kJagged:
        return jagged();
      default:
        return compressed();
    }
  }

 private:
  static void require(bool holds, const char* what) {
    if (!holds) throw SparseProblem{false, what};
  }
  static void in_range(std::int64_t index, std::int64_t size) {
    if (index >= 0 && index < size) return;
    throw SparseProblem{
        false, "the index " + std::to_string(index) + " is out of range, expected " + range_text(size)};
  }

  // Returns the elements of a tensor of integers, row by row.
  Numbers numbers(const StoredTensor& tensor) const {
    require(tensor.dtype == "int64" || tensor.dtype == "int32", "its indices are neither int64 nor int32");
    const auto width = find_element_type(tensor.dtype)->bytes;
    const std::int64_t count = product(tensor.sizes);
    if (count == 0) return {};
    const auto reach = find_reach(tensor.offset, tensor.sizes, tensor.strides);  // as check_pickle() has seen
    require(reach.has_value(), "its indices have no place in a storage");
    const std::uint64_t end = static_cast<std::uint64_t>(*reach) * width;
    auto cost = static_cast<std::uint64_t>(count);
    multiply_saturated(cost, sizeof(std::int64_t));
    add_saturated(cost, end);
    if (cost > budget_)
      throw SparseProblem{true, "its indices take more than " + std::to_string(kMaxIndices) +
                                    " bytes together with those before: they were not checked"};
    budget_ -= cost;
    const auto bytes = read_(tensor.storage, end);
    if (!bytes) throw SparseProblem{true, "the storage of its indices cannot be read"};
    Numbers result;
    result.reserve(static_cast<std::size_t>(count));
    Numbers at(tensor.sizes.size(), 0);
    std::int64_t place = tensor.offset;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::uint64_t bits =
          little_endian(*bytes, static_cast<std::size_t>(place) * width, static_cast<int>(width));
      result.push_back(width == 4 ? static_cast<std::int32_t>(bits) : static_cast<std::int64_t>(bits));
      for (std::size_t dim = at.size(); dim-- > 0;) {
        place += tensor.strides[dim];
        if (++at[dim] < tensor.sizes[dim]) break;
        place -= tensor.strides[dim] * tensor.sizes[dim];
        at[dim] = 0;
      }
    }
    return result;
  }

  void coo() const {
    const StoredTensor& indices = tensor_.indices.at(0);
    const auto& size = tensor_.size;
    require(indices.sizes.size() == 2, "its indices are not a matrix");
    const auto sparse = static_cast<std::size_t>(indices.sizes[0]);
    const std::int64_t count = indices.sizes[1];
    require(sparse <= size.size() && tensor_.values.sizes.size() == size.size() - sparse + 1,
            "its indices, values and sizes differ in their number of dimensions");
    require(tensor_.values.sizes[0] == count, "it has not as many values as indices");
    require(std::equal(size.begin() + static_cast<std::ptrdiff_t>(sparse), size.end(),
                       tensor_.values.sizes.begin() + 1),
            "the sizes of its values are not those of its dense dimensions");
    const Numbers all = numbers(indices);
    for (std::size_t i = 0; i < all.size(); ++i) in_range(all[i], size[i / static_cast<std::size_t>(count)]);
    if (!tensor_.is_coalesced) return;
    const auto entry = [&](std::int64_t i) {
      Numbers result;
      for (std::size_t dim = 0; dim < sparse; ++dim)
        result.push_back(all[dim * static_cast<std::size_t>(count) + static_cast<std::size_t>(i)]);
      return result;
    };
    for (std::int64_t i = 1; i < count; ++i)
      require(entry(i - 1) < entry(i),
              "it says that it is coalesced, but its indices are not in order, each once");
  }

  // CSR, CSC, BSR and BSC; the invariants are those of torch.sparse_compressed_tensor.
  void compressed() const {
    const bool by_rows = tensor_.layout == SparseLayout::kCsr || tensor_.layout == SparseLayout::kBsr;
    const bool has_blocks = tensor_.layout == SparseLayout::kBsr || tensor_.layout == SparseLayout::kBsc;
    const StoredTensor& ends = tensor_.indices.at(0);
    const StoredTensor& plain = tensor_.indices.at(1);
    const auto& size = tensor_.size;
    const std::size_t batch = ends.sizes.empty() ? 0 : ends.sizes.size() - 1;
    const std::size_t block = has_blocks ? 2 : 0;
    const auto& values = tensor_.values.sizes;
    require(!ends.sizes.empty() && plain.sizes.size() == batch + 1 && size.size() >= batch + 2 &&
                values.size() == size.size() - 1 + block,
            "its indices, values and sizes differ in their number of dimensions");
    for (std::size_t i = 0; i < batch; ++i)
      require(ends.sizes[i] == size[i] && plain.sizes[i] == size[i] && values[i] == size[i],
              "the batches of its indices, values and sizes differ");
    const std::int64_t count = plain.sizes[batch];
    require(values[batch] == count, "it has not as many values as indices");
    std::int64_t rows = size[batch], columns = size[batch + 1];
    if (has_blocks) {
      const std::int64_t height = values[batch + 1], width = values[batch + 2];
      require(height > 0 && width > 0 && rows % height == 0 && columns % width == 0,
              "its blocks do not divide its sizes");
      rows /= height;
      columns /= width;
    }
    require(std::equal(size.begin() + static_cast<std::ptrdiff_t>(batch + 2), size.end(),
                       values.begin() + static_cast<std::ptrdiff_t>(batch + 1 + block), values.end()),
            "the sizes of its values are not those of its dense dimensions");
    const std::int64_t outer = by_rows ? rows : columns, inner = by_rows ? columns : rows;
    require(ends.sizes[batch] == outer + 1, "it has not as many compressed indices as rows or columns");
    const Numbers all_ends = numbers(ends), all = numbers(plain);
    const std::int64_t batches = product(std::span(size).first(batch));
    for (std::int64_t b = 0; b < batches; ++b) {
      const auto* of = all_ends.data() + b * (outer + 1);
      require(of[0] == 0 && of[outer] == count,
              "its compressed indices do not go from 0 to the number of its values");
      for (std::int64_t i = 0; i < outer; ++i) {
        require(of[i] >= 0 && of[i] <= of[i + 1] && of[i + 1] <= count,
                "its compressed indices are not in order");
        for (std::int64_t at = of[i]; at < of[i + 1]; ++at) {
          const std::int64_t index = all[static_cast<std::size_t>(b * count + at)];
          in_range(index, inner);
          require(at == of[i] || all[static_cast<std::size_t>(b * count + at - 1)] < index,
                  "the indices of a row or column are not in order, each once");
        }
      }
    }
  }

  // A tensor of samples over one buffer.
  void nested() const {
    const StoredTensor& sizes = tensor_.indices.at(0);
    const std::int64_t elements = product(tensor_.values.sizes);
    require(tensor_.values.sizes.size() == 1, "its buffer has not one dimension");
    if (sizes.sizes.empty() || product(sizes.sizes) == 0) return;  // no samples, or samples of one number
    const StoredTensor& strides = tensor_.indices.at(1);
    const StoredTensor& offsets = tensor_.indices.at(2);
    require(sizes.sizes.size() == 2 && strides.sizes == sizes.sizes && offsets.sizes.size() == 1 &&
                offsets.sizes[0] == sizes.sizes[0],
            "the sizes, strides and offsets of its samples differ in their number");
    const auto dims = static_cast<std::size_t>(sizes.sizes[1]);
    const Numbers all_sizes = numbers(sizes), all_strides = numbers(strides), starts = numbers(offsets);
    for (std::size_t sample = 0; sample < starts.size(); ++sample) {
      const auto own_sizes = std::span(all_sizes).subspan(sample * dims, dims);
      const auto reach =
          find_reach(starts[sample], own_sizes, std::span(all_strides).subspan(sample * dims, dims));
      const bool is_empty = std::ranges::find(own_sizes, 0) != own_sizes.end();
      require(reach && (is_empty ? starts[sample] : *reach) <= elements, "a sample is outside of its buffer");
    }
  }

  void jagged() const {
    const auto& values = tensor_.values.sizes;
    const std::int64_t dim = tensor_.ragged_index - 1;
    require(dim >= 0 && static_cast<std::size_t>(dim) < values.size(), "its ragged dimension does not exist");
    const std::int64_t end = values[static_cast<std::size_t>(dim)];
    require(tensor_.indices.at(0).sizes.size() == 1, "its offsets have not one dimension");
    const Numbers offsets = numbers(tensor_.indices[0]);
    const bool has_lengths = tensor_.indices.size() > 1;
    const Numbers lengths = has_lengths ? numbers(tensor_.indices[1]) : Numbers();
    require(!offsets.empty() && offsets[0] >= 0 && offsets.back() <= end,
            "its offsets are outside of its values");
    for (std::size_t i = 1; i < offsets.size(); ++i)
      require(offsets[i - 1] <= offsets[i], "its offsets are not in order");
    require(!has_lengths || lengths.size() + 1 == offsets.size(), "it has not as many lengths as samples");
    for (std::size_t i = 0; i < lengths.size(); ++i)
      require(lengths[i] >= 0 && lengths[i] <= end - offsets[i], "a sample is outside of its values");
  }

  const SparseTensor& tensor_;
  const ReadStorage& read_;
  std::uint64_t& budget_;
};

}  // namespace

std::optional<SparseProblem> problem_of_indices(const SparseTensor& tensor, const ReadStorage& read,
                                                std::uint64_t& budget) {
  try {
    IndexCheck(tensor, read, budget).run();
  } catch (const SparseProblem& problem) {
    return problem;
  }
  return std::nullopt;
}

}  // namespace fxtrace::internal::security
