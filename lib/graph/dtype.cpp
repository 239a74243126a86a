#include "graph/dtype.h"

#include <charconv>

namespace fxtrace {
namespace {

constexpr std::int64_t kBitsPerByte = 8;

}  // namespace

std::optional<std::int64_t> find_itemsize(std::string_view dtype) {
  if (dtype == "bool") return 1;
  for (const std::string_view kind : {"int", "uint", "qint", "quint", "bits", "float", "bfloat", "complex"}) {
    if (!dtype.starts_with(kind)) continue;
    // "int64"; "float8_e4m3fn"; "quint4x2": several elements that share a byte count as one byte each.
    const char* start = dtype.data() + kind.size();
    std::int64_t bits = 0;
    const auto [end, failure] = std::from_chars(start, dtype.data() + dtype.size(), bits);
    if (failure != std::errc() || bits <= 0) continue;
    return (bits + kBitsPerByte - 1) / kBitsPerByte;
  }
  return std::nullopt;
}

}  // namespace fxtrace
