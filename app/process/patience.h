// Waiting for the program at the other end of a pipe: told after two seconds, and never for ever.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "app/console.h"

namespace fxtrace::internal::cli {

// The time to wait, in seconds, where no option says another: the default of --max-time.
inline constexpr std::uint64_t kUsualWait = 300;

struct Patience {
  std::string what;                    // what is waited for: "p to be written"
  std::uint64_t seconds = kUsualWait;  // 0: no limit
  Console* console = nullptr;          // null: nothing is told
};

// Calls is_ready() until it returns true; it should take some milliseconds to return false.  Throws
// Error(kInput) when the time is over.
void wait_until(const std::function<bool()>& is_ready, const Patience& patience);

// Waits until a read of the descriptor would not block.
void wait_for_input(int descriptor, const Patience& patience);

}  // namespace fxtrace::internal::cli
