// What is known of the bytes of records: their digests, and the records whose bytes are not what the archive
// says.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace fxtrace::internal {

// A record whose bytes are not what the archive says of them, as content_check.h finds it and the rule of
// `check --verify-content` judges it.
struct ContentFault {
  std::string
      record;  // its name, "a.pt/data.pkl" within an archive in the archive; empty for the file itself
  std::string message;
  bool is_undecided = false;  // there is no checksum
};
inline constexpr char kWrongBytes[] = "its bytes do not match their checksum in the archive";

// The digests of records that were read, of all archives in a file.
struct ContentDigests {
  // SHA-256 as digits, by place: 0, or the number of an archive in memory; and the offset there.
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::string> by_place;
  std::uint64_t memories = 0;        // archives in memory so far
  std::vector<std::string> damaged;  // the names of records whose bytes do not match their checksum
};

}  // namespace fxtrace::internal
