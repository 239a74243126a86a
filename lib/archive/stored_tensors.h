// Tensors in pickles, as torch.save and TorchScript write them, and files of torch.save that hold nothing
// else.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "archive/pickle_machine.h"

namespace fxtrace::internal {

// Tensors in pickles, as torch.save and TorchScript write them: a call of a function of torch._utils with a
// storage outside of the pickle, and the place of the elements in it.

// A type of elements.
struct ElementType {
  std::string_view storage;  // "Float", of torch.FloatStorage; empty without such a class
  std::string_view dtype;    // "float32"
  std::uint64_t bytes = 0;   // of an element, or of the elements that are packed into one
  bool is_later = false;     // LibTorch's pickler names the storage class, torch.save does not
  std::int64_t packed = 1;   // elements that are packed into one
};
// Returns null for other names.
const ElementType* find_element_type(std::string_view dtype);
const ElementType* find_element_class(std::string_view storage);  // "Float"

// Returns the element type of a storage class, "torch.FloatStorage" or "torch.cuda.FloatStorage"; that of
// torch.UntypedStorage is a byte.  Null for other names.
const ElementType* find_storage_type(std::string_view name);

struct StoredTensor {
  std::string name;
  std::string storage;      // equal for tensors that share a storage
  std::int64_t offset = 0;  // in elements
  std::vector<std::int64_t> sizes, strides;
  std::string dtype;          // "float32"
  bool is_parameter = false;  // saved as a torch.nn.Parameter
  std::string content;        // ZipArchive::content_key()
  // For a tensor of a class of its own (a wrapper subclass), the tensors that it is made of, named by their
  // paths in it.  Its sizes, strides and dtype are those that the class shows; its storage is the first
  // one's.
  std::vector<StoredTensor> parts = {};
};

// Returns how many elements of its storage reach to the last one of a tensor, of an empty one as far as its
// other sizes go; nothing if the offset, a size or a stride is negative, or the number has no 64 bits.  There
// are as many sizes as strides.
std::optional<std::int64_t> find_reach(std::int64_t offset, std::span<const std::int64_t> sizes,
                                       std::span<const std::int64_t> strides);

// The tensors among the values of a pickle.
class PickledTensors {
 public:
  using Id = PickleMachine::Id;

  // `machine` must outlive this.
  explicit PickledTensors(const PickleMachine& machine) : machine_(machine) {}

  // Returns the tensor that a call makes, without its name; nothing for other values.
  std::optional<StoredTensor> find_tensor(Id id, int wrappers = 0) const;
  // Returns the tensor that a function makes from a tuple of arguments.
  std::optional<StoredTensor> find_made(Id function, Id tuple, int wrappers = 0) const;

  // A storage outside of the pickle: ("storage", type, key, location, size).
  struct Storage {
    std::string key;  // an integer in a torch.package
    const ElementType* type = nullptr;
    std::string_view location;
    std::int64_t size = 0;  // in elements
  };
  // Returns nothing for a persistent id that is not a storage of a known type.
  std::optional<Storage> find_storage(Id persistent_id) const;
  // Returns the items of a tuple, or of a torch.Size; nothing where one is not an integer of up to eight
  // bytes.
  std::optional<std::vector<std::int64_t>> find_integers(Id tuple) const;

 private:
  bool is_util(Id callable, std::string_view name) const;
  std::optional<StoredTensor> wrapper(std::span<const Id> arguments, Id state, int wrappers) const;
  std::optional<StoredTensor> rebuild(std::span<const Id> arguments, bool with_dtype) const;
  std::optional<std::string_view> find_dtype(Id dtype) const;

  const PickleMachine& machine_;
};

// A reader of state_dicts that torch.save wrote into a record of an archive: their tensors and shared
// storages.

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
