// A hash that a file cannot know: of keys that it chooses no two have the same but by chance.
#pragma once

#include <cstdint>
#include <string_view>

namespace fxtrace::script {

// Another number for the same bytes in each process, so nothing that is written may depend on it.
// (SipHash-1-3, Aumasson and Bernstein 2012, with a key of the process.)
std::uint64_t keyed_hash(std::string_view bytes);

}  // namespace fxtrace::script
