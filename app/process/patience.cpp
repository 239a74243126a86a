#include "app/process/patience.h"

#include <chrono>

#include <poll.h>

#include "support/error.h"

namespace fxtrace::internal::cli {

void wait_until(const std::function<bool()>& is_ready, const Patience& patience) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kTold = std::chrono::seconds(2);
  const auto start = Clock::now();
  bool is_told = patience.console == nullptr;
  while (!is_ready()) {
    const auto waited = Clock::now() - start;
    if (patience.seconds != 0 && waited > std::chrono::seconds(patience.seconds)) {
      throw input_error("waited " + std::to_string(patience.seconds) + " s for " + patience.what,
                        {"--max-time SECONDS allows more"});
    }
    if (is_told || waited < kTold) continue;
    is_told = true;
    patience.console->note("waiting for " + patience.what);
  }
}

void wait_for_input(int descriptor, const Patience& patience) {
  constexpr int kPause = 100;  // milliseconds
  wait_until(
      [&] {
        pollfd one{descriptor, POLLIN, 0};
        return ::poll(&one, 1, kPause) > 0;  // also for an end or an error, which the read reports
      },
      patience);
}

}  // namespace fxtrace::internal::cli
