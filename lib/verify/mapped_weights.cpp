#include "verify/mapped_weights.h"

#include "support/error.h"

namespace fxtrace::verify {

const MappedWeights::Storage& MappedWeights::storage(const TensorRecord& record) {
  auto [place, is_new] = storages_.try_emplace(record.storage);
  Storage& storage = place->second;
  if (!is_new) return storage;
  ExportedArchive::Bytes bytes;
  try {
    bytes = archive_.storage_of(record);
  } catch (const Error& error) {
    throw RunError(error.what());
  }
  if (!bytes.offset) {
    storage.content = std::move(bytes.content);
    storage.data = storage.content.data();
    storage.size = storage.content.size();
    return storage;
  }
  if (bytes.size == 0) return storage;
  storage.data = mappings_.map(*bytes.offset, bytes.size);
  if (storage.data == nullptr)
    throw RunError(record.record + " cannot be mapped into memory, or the file ends within it");
  storage.size = static_cast<std::size_t>(bytes.size);
  return storage;
}

RunValue MappedWeights::tensor(const TensorRecord& record) {
  const Storage& found = storage(record);
  // torch.export saves a constant that had no storage, as those inside of a vmap, without a byte: nothing
  // needs its values.
  if (found.size == 0 && record.record.find("data/constants/") != std::string::npos) {
    std::vector<RunValue> sizes;
    for (const std::int64_t size : record.sizes) sizes.push_back(engine_.integer(size));
    const RunValue dtype = engine_.constant(Argument::Dtype{record.dtype});
    return engine_.call("aten::zeros", "", {{engine_.list(sizes)}, {{"dtype", dtype}}});
  }
  static char nothing = 0;
  void* data = found.data == nullptr ? &nothing : found.data;
  return engine_.tensor(record.dtype, record.sizes, record.strides, record.offset, data, found.size);
}

}  // namespace fxtrace::verify
