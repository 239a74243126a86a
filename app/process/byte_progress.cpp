#include "app/process/byte_progress.h"

#include <iostream>
#include <utility>

#include <unistd.h>

#include "support/text/columns.h"

namespace fxtrace::internal::cli {
namespace {

constexpr auto kFirst = std::chrono::milliseconds(1'000);
constexpr auto kPause = std::chrono::milliseconds(200);
constexpr char kClear[] = "\r\033[K";

}  // namespace

ByteProgress::ByteProgress(std::string what) : what_(std::move(what)), shows_(::isatty(STDERR_FILENO) == 1) {}

void ByteProgress::show(std::uint64_t bytes) {
  const auto now = Clock::now();
  if (!shows_ || bytes == 0 || now - told_ < (was_told_ ? kPause : kFirst)) return;
  told_ = now;
  is_told_ = was_told_ = true;
  std::cerr << kClear << what_ << ": " << bytes_text(static_cast<std::int64_t>(bytes)) << std::flush;
}

void ByteProgress::clear() {
  if (is_told_) std::cerr << kClear << std::flush;
  is_told_ = false;
}

}  // namespace fxtrace::internal::cli
