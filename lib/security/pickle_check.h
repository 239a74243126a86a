// The check of pickles: runs a pickle on abstract values (pickle_machine.h) and reports everything that it
// would make an unpickler do beyond making plain values and tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "archive/security_finding.h"
#include "security/sparse_check.h"

namespace fxtrace::internal::security {

enum class Unpickler : std::uint8_t {
  kTorch,     // torch.load, and Python's pickle: only what weights_only=True accepts is allowed
  kLibTorch,  // that of TorchScript, which also makes objects of the archive's classes and typed lists
};

// Returns whether the global is harmless to the unpickler: it makes tensors and plain values and runs no
// other code.
bool is_harmless_global(std::string_view name, Unpickler unpickler = Unpickler::kTorch);

// Reports an offence: its kind, subject and message.
using Tell = std::function<void(SecurityKind kind, const std::string& subject, const std::string& message)>;

struct PickleReading {
  bool is_whole = false;                            // the pickle was followed to its end
  std::size_t end = 0;                              // offset of its end
  std::map<std::string, std::uint64_t> storages{};  // bytes of the storages that it refers to, by key
  std::vector<SparseTensor> sparse{};  // tensors with indices in storages, which are not checked yet
  std::optional<std::vector<std::string>> texts{};  // the pickled value, if it is a list of texts
};

constexpr std::size_t kMaxPickle = 256'000'000;  // bytes

// Checks the pickle that begins at `start`, which some reader unpickles: every global in it must be harmless.
PickleReading check_pickle(std::string_view bytes, std::size_t start, Unpickler unpickler, const Tell& tell);

// Checks the indices of the tensors, whose storages `read` reads; within a budget for all of them.
void check_indices(const std::vector<SparseTensor>& tensors, const ReadStorage& read, const Tell& tell);

// Checks bytes that no reader should take for a pickle: torch.load runs any file that is neither a zip nor a
// tar archive as far as its bytes are opcodes.  `strict`: naming a global is an offence already, as that
// imports it; else only calling it.  `size`: the number of all bytes, of which `bytes` are the first. Returns
// whether the bytes are a pickle that ends.
bool check_as_pickle(std::string_view bytes, std::uint64_t size, bool strict, const Tell& tell);

// Checks a file that torch.load unpickles: one pickle, or the five pickles and the storages of torch.save's
// legacy format.  `size`: the size of the whole file, of which `bytes` may be the beginning.
void check_pickle_file(std::string_view bytes, std::uint64_t size, const Tell& tell);

}  // namespace fxtrace::internal::security
