// The kind of object that a Python pickle holds, found without building or running anything.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fxtrace::internal {

struct PickleScan {
  enum class Kind { kOther, kDict, kList, kTuple, kString, kTensor, kGlobal, kObject };

  bool valid = false;        // all opcodes up to STOP, or to the end of the bytes, are valid
  std::size_t end = 0;       // offset after STOP
  Kind kind = Kind::kOther;  // kind of the pickled object
  std::string type;          // class of an object: "pkg.Net"
  std::vector<std::pair<std::string, Kind>>
      items;  // items of a dict, or attributes of an object; string keys only
};

// Scans `bytes` from `start` on, which may be only the beginning of a pickle.  Never throws, and works in
// bounded memory whatever the bytes are.
PickleScan scan_pickle(std::string_view bytes, std::size_t start = 0);

// Returns a description: "a state_dict", "a whole module (pkg.Net)", "a checkpoint (a dict with keys 'epoch',
// 'model')", ...
std::string describe(const PickleScan& scan);

}  // namespace fxtrace::internal
