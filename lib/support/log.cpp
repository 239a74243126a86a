#include "support/log.h"

#include <memory>
#include <ostream>

#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>

#include "support/text/unicode.h"

namespace fxtrace::internal::log {
namespace {

// Of this thread: several may run at the same time, each with its own stream.
std::unique_ptr<spdlog::logger>& logger() {
  thread_local std::unique_ptr<spdlog::logger> instance;
  return instance;
}

thread_local bool is_verbose = false;
thread_local bool is_timing = false;

}  // namespace

void set_up(std::ostream& err, const Settings& settings) {
  is_timing = settings.timings;
  is_verbose = settings.enabled;
  if (!settings.enabled && !settings.timings) {
    logger().reset();
    return;
  }
  auto sink = std::make_shared<spdlog::sinks::ostream_sink_st>(err, /*force_flush=*/true);
  logger() = std::make_unique<spdlog::logger>("fxtrace", std::move(sink));
  logger()->set_level(spdlog::level::info);
  logger()->set_pattern(settings.colour ? "\033[2m%n: %v\033[0m" : "%n: %v");
}

bool is_enabled() { return is_verbose; }

void info(const std::string& message) {
  if (is_verbose) logger()->info(printable(message));
}

void timings(const std::string& message) {
  if (is_timing) logger()->info(printable(message));
}

}  // namespace fxtrace::internal::log
