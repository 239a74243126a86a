#include "script/plain_slice.h"

#include <limits>

#include "script/plain_call.h"

namespace fxtrace::script {

Slice slice_argument(Arguments arguments, std::size_t size) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const std::int64_t step = int_argument(arguments, 3);
  // LibTorch takes the largest integer for None.
  const auto end_argument = [&](std::size_t i) {
    return argument(arguments, i).is_none() ? kMost : int_argument(arguments, i);
  };
  std::int64_t from = end_argument(1), to = end_argument(2);
  if (step == 0) throw Raised("List slice should have non-zero step");
  if (step < -kMost) not_supported("the step of a slice has no negative");
  const bool back = step < 0;
  const auto length = static_cast<std::int64_t>(size);
  if (from == kMost) from = back ? kMost : 0;
  if (to == kMost) to = back ? -kMost - 1 : kMost;
  const auto clamped = [&](std::int64_t end) {
    if (end < 0) return end + length < 0 ? (back ? -1 : 0) : end + length;
    return end >= length ? (back ? length - 1 : length) : end;
  };
  from = clamped(from);
  to = clamped(to);
  std::int64_t count = 0;
  if (back && to < from) count = (from - to - 1) / -step + 1;
  if (!back && from < to) count = (to - from - 1) / step + 1;
  return {from, step, count};
}

}  // namespace fxtrace::script
