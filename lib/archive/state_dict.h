// A reader of state_dicts that torch.save wrote into a record of an archive: their tensors and shared
// storages.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "archive/stored_tensor.h"

namespace fxtrace::internal {

class ZipArchive;

// Returns the tensors of the dict in the record, in its order.  Reads only the record's directory and pickle,
// and runs nothing.  Values other than tensors over a storage (objects, sparse tensors) are left out.  Throws
// Error(kInput) when the record does not exist, is damaged, was not written by torch.save, or is built to
// exhaust time or memory.
std::vector<StoredTensor> read_state_dict(const ZipArchive& archive, std::string_view record);
// Returns the tensor that torch.save wrote into the record by itself; nothing for any other value.  Throws
// likewise.
std::optional<StoredTensor> read_saved_tensor(const ZipArchive& archive, std::string_view record);
// Returns the bytes of the pickle that torch.save wrote into the record.  Throws likewise.
std::string read_saved_pickle(const ZipArchive& archive, std::string_view record);
// Returns the leaves of the nested tuples and dicts in the record, in order; a leaf that is a plain value is
// nothing.  Returns nothing where other objects are nested there.  Throws likewise.
std::optional<std::vector<std::optional<StoredTensor>>> read_saved_leaves(const ZipArchive& archive,
                                                                          std::string_view record);

}  // namespace fxtrace::internal
