// Reads a state_dict that torch.save wrote into a record of an archive: its tensors and their shared
// storages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fxtrace {

class ZipArchive;

struct StoredTensor {
  std::string name;
  std::string storage;      // equal for tensors that share a storage
  std::int64_t offset = 0;  // in elements
  std::vector<std::int64_t> sizes, strides;
  std::string dtype;          // "float32"
  bool is_parameter = false;  // saved as a torch.nn.Parameter
  std::string content;        // ZipArchive::content_key()
};

// Returns the tensors of the dict in the record, in its order.  Reads only the record's directory and pickle,
// and runs nothing.  Values other than tensors over a storage (objects, sparse tensors) are left out.  Throws
// Error(kInput) when the record does not exist, is damaged, was not written by torch.save, or is built to
// exhaust time or memory.
std::vector<StoredTensor> read_state_dict(const ZipArchive& archive, std::string_view record);

}  // namespace fxtrace
