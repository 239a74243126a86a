// Sets a resource limit of this process.
#pragma once

#include <algorithm>
#include <cstdint>

#include <sys/resource.h>

namespace fxtrace::internal::cli {

// Lowers the soft limit to `value`, and the hard limit to `room` more; never raises either.
inline void set_limit(decltype(RLIMIT_DATA) resource, std::uint64_t value, std::uint64_t room = 0) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0) return;
  limit.rlim_max = std::min<rlim_t>(limit.rlim_max, value + room);
  limit.rlim_cur = std::min<rlim_t>({limit.rlim_cur, limit.rlim_max, value});
  ::setrlimit(resource, &limit);
}

}  // namespace fxtrace::internal::cli
