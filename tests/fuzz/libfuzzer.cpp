// The entry point of libFuzzer; FXTRACE_FUZZ_TARGET is the function of targets.h.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tests/fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fxtrace::internal::fuzz::FXTRACE_FUZZ_TARGET(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
