// A keyed hash, which prevents files from choosing colliding keys (hash flooding).
#pragma once

#include <cstdint>
#include <string_view>

namespace fxtrace::internal::torchscript {

// Returns a hash that differs between processes, so no output may depend on it.  (SipHash-1-3, Aumasson and
// Bernstein 2012, with a key of the process.)
std::uint64_t keyed_hash(std::string_view bytes);

}  // namespace fxtrace::internal::torchscript
