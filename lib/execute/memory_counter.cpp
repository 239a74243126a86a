// Counts the memory that LibTorch's allocator gives to this thread.
#include <algorithm>
#include <memory>

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include "execute/engine_value.h"

namespace fxtrace::internal::execute {
namespace {

// Receives what this thread allocates and releases from the allocator of LibTorch.
class Counter : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void* /*memory*/, int64_t bytes, size_t /*allocated*/, size_t /*reserved*/,
                         c10::Device device) override {
    if (!device.is_cpu()) return;
    if (bytes > 0) total_.allocated += bytes;
    total_.held += bytes;
    total_.peak = std::max(total_.peak, total_.held);
  }
  bool memoryProfilingEnabled() const override { return true; }

  FxtraceMemory ask() {
    const FxtraceMemory now = total_;
    total_.peak = total_.held;
    return now;
  }

 private:
  FxtraceMemory total_{};
};

struct Counting {
  std::shared_ptr<Counter> counter = std::make_shared<Counter>();
  c10::DebugInfoGuard guard{c10::DebugInfoKind::PROFILER_STATE, counter};
};

std::unique_ptr<Counting>& counting() {
  static std::unique_ptr<Counting> one;
  return one;
}

}  // namespace

void add_memory(FxtraceEngine& engine) {
  engine.count_memory = [](bool on) {
    counting().reset();
    if (on) counting() = std::make_unique<Counting>();
  };
  engine.memory = [] { return counting() ? counting()->counter->ask() : FxtraceMemory{}; };
}

}  // namespace fxtrace::internal::execute
