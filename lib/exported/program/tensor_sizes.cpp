#include "exported/program/tensor_sizes.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "archive/zip_archive.h"
#include "exported/program/exported_archive.h"
#include "shapes/scalar_type.h"
#include "support/text/utf8.h"

namespace fxtrace::internal {
namespace {

constexpr std::size_t kMaxName = 200;
constexpr std::uint64_t kMaxMade = std::uint64_t{64} << 20;  // the most bytes of a tensor without a storage

// Returns the bytes from the beginning of the storage to the end of the last element; nothing for a tensor
// that cannot exist.
std::optional<std::int64_t> extent(const StoredTensor& tensor) {
  const Dtype dtype = find_scalar_type(std::string_view(tensor.dtype));
  if (!dtype || tensor.offset < 0 || tensor.strides.size() != tensor.sizes.size()) return std::nullopt;
  std::int64_t last = tensor.offset;
  for (std::size_t i = 0; i < tensor.sizes.size(); ++i) {
    std::int64_t step = 0;
    if (tensor.sizes[i] == 0) return 0;
    if (tensor.strides[i] < 0 || __builtin_mul_overflow(tensor.strides[i], tensor.sizes[i] - 1, &step) ||
        __builtin_add_overflow(last, step, &last))
      return std::nullopt;
  }
  std::int64_t bytes = 0;
  if (__builtin_add_overflow(last, 1, &last) || __builtin_mul_overflow(last, item_size(*dtype), &bytes))
    return std::nullopt;
  return bytes;
}

// A loader allocates a tensor whose record has no bytes, so that its size needs a limit.
std::optional<std::string> problem_of_loading(const std::string& name, const StoredTensor& tensor,
                                              std::uint64_t size) {
  return problem_of_size(name, tensor, size == 0 ? kMaxMade : size);
}

}  // namespace

std::vector<SecurityFinding> find_cut_tensors(const FileInfo& info) {
  std::vector<SecurityFinding> findings;
  const ExportedArchive archive(info);
  const ZipArchive& zip = *info.zip;
  for (const std::string& model : archive.models()) {
    for (const auto& [name, tensor] : archive.tensors(model)) {
      if (tensor.packed) continue;  // its storages are checked as records of the inner archive
      const auto problem = zip.contains(tensor.record)
                               ? problem_of_loading(name, tensor, zip.size(tensor.record))
                               : std::optional("the archive does not have this record of tensor '" +
                                               cut(name, kMaxName) + "'");
      if (problem) findings.push_back({SecurityKind::kSize, tensor.record, name, *problem});
    }
  }
  return findings;
}

std::optional<std::string> problem_of_size(const std::string& name, const StoredTensor& tensor,
                                           std::uint64_t size) {
  const std::string shown = "tensor '" + cut(name, kMaxName) + "'";
  const auto bytes = extent(tensor);
  if (!bytes) return shown + " has sizes or strides that no tensor can have";
  // torch.export writes an empty record for a tensor that had no storage; the tensor is made again.
  if (size == 0 || static_cast<std::uint64_t>(*bytes) <= size) return std::nullopt;
  return shown + " needs " + std::to_string(*bytes) + " bytes, but its storage has " + std::to_string(size) +
         " bytes";
}

}  // namespace fxtrace::internal
