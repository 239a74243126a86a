// Limits of this process: of resources, and of open files.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <sys/resource.h>

namespace fxtrace::internal::cli {

// Sets a resource limit of this process.

// Lowers the soft limit to `value`, and the hard limit to `room` more; never raises either.
inline void set_limit(decltype(RLIMIT_DATA) resource, std::uint64_t value, std::uint64_t room = 0) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0) return;
  limit.rlim_max = std::min<rlim_t>(limit.rlim_max, value + room);
  limit.rlim_cur = std::min<rlim_t>({limit.rlim_cur, limit.rlim_max, value});
  ::setrlimit(resource, &limit);
}

// Raises the limit of open files of this process.

// Allows this process to open `count` files besides the usual ones, as far as it may; returns how many it
// can.
inline std::size_t allow_open_files(std::size_t count) {
  constexpr rlim_t kOthers = 64;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlim_t wanted = std::min<rlim_t>(count + kOthers, limit.rlim_max);
  if (limit.rlim_cur < wanted) {
    limit.rlim_cur = wanted;
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0 && ::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  }
  return limit.rlim_cur > kOthers ? static_cast<std::size_t>(limit.rlim_cur - kOthers) : 0;
}

}  // namespace fxtrace::internal::cli
