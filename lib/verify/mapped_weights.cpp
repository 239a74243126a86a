#include "verify/mapped_weights.h"

#include <cerrno>
#include <new>

#include <sys/mman.h>
#include <unistd.h>

#include "support/error.h"

namespace fxtrace::verify {

MappedWeights::~MappedWeights() {
  for (auto& [name, storage] : storages_) {
    if (storage.mapping != nullptr) ::munmap(storage.mapping, storage.mapped);
  }
}

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
  // Behind the end of the file there is nothing to map.
  if (*bytes.offset > file_.size() || bytes.size > file_.size() - *bytes.offset)
    throw RunError("the file ends within " + record.record);
  if (bytes.size == 0) return storage;
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t start = *bytes.offset / page * page;
  const auto ahead = static_cast<std::size_t>(*bytes.offset - start);
  storage.mapped = ahead + static_cast<std::size_t>(bytes.size);
  storage.mapping = ::mmap(nullptr, storage.mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE, file_.descriptor(),
                           static_cast<off_t>(start));
  if (storage.mapping == MAP_FAILED) {
    storage.mapping = nullptr;
    if (errno == ENOMEM) throw std::bad_alloc();  // --max-memory counts what can be written
    throw RunError("cannot map " + record.record + " into memory");
  }
  storage.data = static_cast<char*>(storage.mapping) + ahead;
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
