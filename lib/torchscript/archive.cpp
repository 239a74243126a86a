#include "torchscript/archive.h"

#include <caffe2/serialize/inline_container.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <torch/csrc/jit/serialization/import.h>
#include <torch/csrc/jit/serialization/import_read.h>
#include <torch/csrc/jit/serialization/import_source.h>
#include <torch/csrc/jit/serialization/storage_context.h>
#include <torch/csrc/jit/serialization/unpickler.h>
#include <unistd.h>

#include <cstring>

#include "support/error.h"
#include "torchscript/convert.h"

namespace fxtrace {
namespace {

constexpr std::uint32_t kLocalHeaderSignature = 0x04034b50;
constexpr std::size_t kStorageAlignment = 16;

}  // namespace

// The file, mapped for reading as a whole; pages are only touched where something is read.
class TorchScriptArchive::File : public caffe2::serialize::ReadAdapterInterface {
 public:
  explicit File(const std::string& path) {
    descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat status {};
    if (descriptor_ < 0 || ::fstat(descriptor_, &status) != 0) {
      throw input_error(std::string("cannot be read: ") + std::strerror(errno));
    }
    size_ = static_cast<std::size_t>(status.st_size);
    if (size_ == 0) return;
    void* address = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE | MAP_NORESERVE, descriptor_, 0);
    if (address == MAP_FAILED) throw input_error(std::string("cannot be mapped: ") + std::strerror(errno));
    data_ = static_cast<char*>(address);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() override {
    for (const auto& [address, size] : reserved_) ::munmap(address, size);
    if (data_ != nullptr) ::munmap(data_, size_);
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  std::size_t size() const override { return size_; }
  std::size_t read(std::uint64_t pos, void* buf, std::size_t n, const char* /*what*/) const override {
    std::size_t done = 0;
    while (done < n) {  // pread, not the mapping: a file that shrinks meanwhile must not kill the process
      const ssize_t got = ::pread(descriptor_, static_cast<char*>(buf) + done, n - done,
                                  static_cast<off_t>(pos + done));
      if (got <= 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }

  char* data() const { return data_; }
  bool contains(std::size_t offset, std::size_t n) const { return offset <= size_ && n <= size_ - offset; }

  // Addresses for `n` bytes that read as zeros; costs no memory until touched.
  char* reserve(std::size_t n) {
    void* address = ::mmap(nullptr, n, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (address == MAP_FAILED) throw input_error("a record claims more bytes than this machine can address");
    reserved_.emplace_back(address, n);
    return static_cast<char*>(address);
  }

 private:
  int descriptor_ = -1;
  std::size_t size_ = 0;
  char* data_ = nullptr;
  std::vector<std::pair<void*, std::size_t>> reserved_;
};

TorchScriptArchive::TorchScriptArchive(const std::string& path) : file_(std::make_unique<File>(path)) {
  try {
    // The reader keeps the adapter alive itself; this one outlives it.
    const std::shared_ptr<caffe2::serialize::ReadAdapterInterface> adapter(file_.get(), [](auto*) {});
    reader_ = std::make_shared<caffe2::serialize::PyTorchStreamReader>(adapter);
  } catch (const std::exception& e) {
    throw input_error("the zip archive cannot be read: " + first_line(e.what()));
  }
  debug_records_ = std::make_unique<DebugRecords>([this](const std::string& name) -> std::optional<std::string> {
    if (!reader_->hasRecord(name)) return std::nullopt;
    const auto [data, size] = reader_->getRecord(name);
    return std::string(static_cast<const char*>(data.get()), size);
  });
}

TorchScriptArchive::~TorchScriptArchive() = default;

std::uint64_t TorchScriptArchive::format_version() const { return reader_->version(); }

std::vector<std::pair<std::string, std::string>> TorchScriptArchive::code() const {
  std::vector<std::pair<std::string, std::string>> result;
  try {
    for (const auto& name : reader_->getAllRecords()) {
      if (name.rfind("code/", 0) != 0 || name.size() < 3 || name.compare(name.size() - 3, 3, ".py") != 0) continue;
      const auto [data, size] = reader_->getRecord(name);
      result.emplace_back(name, std::string(static_cast<const char*>(data.get()), size));
    }
  } catch (const std::exception& e) {
    throw input_error("the archive's code cannot be read: " + first_line(e.what()));
  }
  std::sort(result.begin(), result.end());
  return result;
}

void TorchScriptArchive::map_storages(const std::string& pickle,
                                      torch::jit::DeserializationStorageContext& context) {
  const std::string prefix = pickle + "/";
  for (const auto& name : reader_->getAllRecords()) {
    if (name.rfind(prefix, 0) != 0) continue;
    const std::string key = name.substr(prefix.size());
    if (context.hasStorage(key)) continue;
    const std::size_t size = reader_->getRecordSize(name);
    const std::size_t header = reader_->getRecordHeaderOffset(name);
    const std::size_t offset = reader_->getRecordOffset(name);
    std::uint32_t signature = 0;
    std::uint16_t method = 1;
    if (file_->contains(header, 10)) {
      std::memcpy(&signature, file_->data() + header, sizeof signature);
      std::memcpy(&method, file_->data() + header + 8, sizeof method);
    }
    const bool as_it_is = signature == kLocalHeaderSignature && method == 0 && file_->contains(offset, size) &&
                          offset % kStorageAlignment == 0 && size > 0;
    char* address = nullptr;
    if (as_it_is) {
      address = file_->data() + offset;
    } else if (size > 0) {
      address = file_->reserve(size);
    }
    if (address != nullptr) storages_.emplace(address, Record{name, as_it_is});
    context.addStorage(key, at::Storage(at::Storage::use_byte_size_t(), size,
                                        at::DataPtr(address, at::Device(at::kCPU)), nullptr, false));
  }
}

at::IValue TorchScriptArchive::read_pickle(const std::string& name) {
  auto context = std::make_shared<torch::jit::DeserializationStorageContext>();
  map_storages(name, *context);

  auto unit = compilation_unit_;
  auto importer = std::make_shared<torch::jit::SourceImporter>(
      unit, &constants_,
      [this](const std::string& qualifier) -> std::shared_ptr<torch::jit::Source> {
        std::string path = "code/" + qualifier;
        std::replace(path.begin() + 5, path.end(), '.', '/');
        path += ".py";
        if (!reader_->hasRecord(path)) return nullptr;
        const auto [data, size] = reader_->getRecord(path);
        return std::make_shared<torch::jit::Source>(
            std::string(static_cast<const char*>(data.get()), size), path, 1, nullptr);
      },
      reader_->version());
  const auto resolve_type = [unit, importer](const c10::QualifiedName& type_name) {
    return c10::StrongTypePtr(unit, importer->loadType(type_name));
  };
  const auto create = [this](const at::StrongTypePtr& type, const at::IValue& input) {
    const auto class_type = type.type_->expect<at::ClassType>();
    const std::size_t count = class_type->numAttributes();
    auto object = c10::ivalue::Object::create(type, count);
    if (input.isGenericDict() && class_type->findMethod("__setstate__") == nullptr) {
      const auto values = input.toGenericDict();
      for (std::size_t i = 0; i < count; ++i) object->setSlot(i, values.at(class_type->getAttributeName(i)));
    } else {
      states_.emplace(object.get(), input);  // __setstate__ is model code: it does not run
    }
    return object;
  };
  return torch::jit::readArchiveAndTensors(name, "", name + "/", resolve_type, create, std::nullopt, *reader_,
                                           torch::jit::Unpickler::defaultTypeParser, context);
}

void TorchScriptArchive::load() {
  try {
    compilation_unit_ = std::make_shared<torch::jit::CompilationUnit>();
    if (reader_->hasRecord("byteorder")) {
      const auto [data, size] = reader_->getRecord("byteorder");
      foreign_byte_order_ = std::string(static_cast<const char*>(data.get()), size) != "little";
    }
    const at::IValue constants = read_pickle("constants");
    constants_ = constants.toTupleRef().elements();
    const at::IValue root = read_pickle("data");
    if (!root.isObject()) throw input_error("data.pkl holds no module");
    module_ = std::make_unique<torch::jit::Module>(root.toObject());
  } catch (const Error&) {
    throw;
  } catch (const std::exception& e) {
    throw input_error("the TorchScript archive cannot be loaded: " + readable_message(e.what()));
  }
}

const at::IValue* TorchScriptArchive::find_state(const c10::ivalue::Object* object) const {
  const auto it = states_.find(object);
  return it == states_.end() ? nullptr : &it->second;
}

Constant TorchScriptArchive::constant(const at::Tensor& tensor) const {
  Constant result;
  result.dtype = dtype_name(tensor.scalar_type());
  result.shape = tensor.sizes().vec();
  Record record{"", true};
  const bool dense = tensor.layout() == at::kStrided && !tensor.is_quantized();
  if (dense && tensor.has_storage() && tensor.storage().data() != nullptr) {
    const auto it = storages_.find(tensor.storage().data());
    if (it != storages_.end()) record = it->second;
  }
  result.record = record.name;
  if (!dense || tensor.numel() > kMaxConstantElements || foreign_byte_order_) return result;
  at::Tensor readable = tensor;
  if (!record.readable) {
    const auto [data, size] = reader_->getRecord(record.name);
    at::Tensor bytes = at::empty({static_cast<std::int64_t>(size)}, at::kByte);
    std::memcpy(bytes.data_ptr(), data.get(), size);
    readable = at::empty({0}, tensor.options()).set_(bytes.storage(), tensor.storage_offset(), tensor.sizes(),
                                                     tensor.strides());
  }
  result.data = elements(readable);
  return result;
}

}  // namespace fxtrace
