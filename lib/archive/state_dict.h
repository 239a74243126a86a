// The tensors that torch.save wrote into a record of an archive, and which of them share their bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fxtrace {

class ZipArchive;

struct StoredTensor {
  std::string name;
  std::string storage;      // names of one storage share their bytes
  std::int64_t offset = 0;  // in elements
  std::vector<std::int64_t> sizes, strides;
  std::string dtype;          // "float32"
  bool is_parameter = false;  // saved as a torch.nn.Parameter
};

// The tensors of the dict that the record holds, in its order.  Reads the record's directory and its pickle,
// no tensor's bytes, and runs nothing.  What is no tensor over a storage (an object, a sparse tensor) is
// left out.  Throws Error(kInput): no such record, damaged, not from torch.save, or made to exhaust time
// or memory.
std::vector<StoredTensor> read_state_dict(const ZipArchive& archive, std::string_view record);

}  // namespace fxtrace
