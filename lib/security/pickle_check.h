// Runs a pickle on abstract values and tells what it would do to its unpickler beyond making plain values and
// tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "archive/security_finding.h"

namespace fxtrace::security {

enum class Unpickler : std::uint8_t {
  kTorch,     // torch.load, and pickle of Python: held to what weights_only=True takes
  kLibTorch,  // of TorchScript: also makes objects of the archive's classes, and typed lists
};

// Returns whether the unpickler takes this global: it makes tensors and plain values and runs no other code.
bool is_harmless_global(std::string_view name, Unpickler unpickler = Unpickler::kTorch);

// Reports an offence: its kind, subject and message.
using Tell = std::function<void(SecurityKind kind, const std::string& subject, const std::string& message)>;

struct PickleReading {
  bool is_whole = false;                            // it was followed to its end
  std::size_t end = 0;                              // where that is
  std::map<std::string, std::uint64_t> storages{};  // bytes of what it refers to, by key
};

constexpr std::size_t kMaxPickle = 256'000'000;  // bytes

// Checks the pickle that begins at `start`, which some reader unpickles: all it does must be known.
PickleReading check_pickle(std::string_view bytes, std::size_t start, Unpickler unpickler, const Tell& tell);

// Checks bytes that no reader should take for a pickle: torch.load runs any file that is neither a zip nor a
// tar archive as far as its bytes are opcodes.  `strict`: naming something is an offence, which imports it;
// else calling it.  `size`: of all bytes, of which these are the first.  Returns whether they are a pickle to
// its end.
bool check_as_pickle(std::string_view bytes, std::uint64_t size, bool strict, const Tell& tell);

// Checks what torch.load unpickles: one pickle, or the five and the storages of torch.save's legacy format.
// `size`: of the whole file; `bytes` may be less of it.
void check_pickle_file(std::string_view bytes, std::uint64_t size, const Tell& tell);

}  // namespace fxtrace::security
