// Limits on what this process may use.
#pragma once

#include <algorithm>
#include <cstdint>

#include <sys/resource.h>

namespace fxtrace::cli {

// At most what it was.  `room`: how much more than the limit it takes until nothing helps any more.
inline void set_limit(decltype(RLIMIT_DATA) resource, std::uint64_t value, std::uint64_t room = 0) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0) return;
  limit.rlim_max = std::min<rlim_t>(limit.rlim_max, value + room);
  limit.rlim_cur = std::min<rlim_t>({limit.rlim_cur, limit.rlim_max, value});
  ::setrlimit(resource, &limit);
}

}  // namespace fxtrace::cli
