// A look into a Python pickle that tells what kind of object it holds, without building or running anything.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fxtrace {

struct PickleScan {
  enum class Kind { kOther, kDict, kList, kTuple, kString, kTensor, kGlobal, kObject };

  bool valid = false;        // every opcode up to the end, or to where the bytes stop, is known
  bool complete = false;     // STOP was reached
  std::size_t end = 0;       // behind STOP
  Kind kind = Kind::kOther;  // of the object that the pickle holds
  std::string type;          // of an object: "pkg.Net"
  std::vector<std::pair<std::string, Kind>>
      items;  // of a dict, or of an object's attributes; string keys only
};

// Looks at `bytes` from `start` on.  `bytes` may be only the beginning of the pickle.  Never throws; works in
// bounded memory whatever the bytes are.
PickleScan scan_pickle(std::string_view bytes, std::size_t start = 0);

// "a state_dict", "a whole module (pkg.Net)", "a checkpoint (a dict with keys 'epoch', 'model')", ...
std::string describe(const PickleScan& scan);

}  // namespace fxtrace
