#include "torchscript/archive.h"

#include <ATen/ATen.h>
#include <caffe2/serialize/versions.h>
#include <sys/mman.h>
#include <torch/csrc/jit/serialization/import_source.h>
#include <torch/csrc/jit/serialization/storage_context.h>
#include <torch/csrc/jit/serialization/unpickler.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <utility>

#include "archive/pickle_check.h"
#include "archive/pickle_machine.h"
#include "support/error.h"
#include "torchscript/code_check.h"
#include "torchscript/convert.h"
#include "torchscript/plain_operators.h"
#include "torchscript/upgraders.h"

namespace fxtrace {
namespace {

// Largest code or pickle record: LibTorch needs many times its size for what it makes of it.
constexpr std::size_t kMaxRecord = std::size_t{1} << 30;
// Largest code record: lines and tokens take fifty times their bytes.
constexpr std::size_t kMaxCode = std::size_t{16} << 20;
constexpr std::size_t kMaxAddressable = std::size_t{1} << 46;
// What a storage on `meta` is said to have: its record is empty, and its tensors have any size.
constexpr std::size_t kMetaSize = std::size_t{1} << 45;
constexpr std::size_t kStorageAlignment = 64;

std::size_t aligned(std::size_t size) {
  return (size + kStorageAlignment - 1) / kStorageAlignment * kStorageAlignment;
}

// Devices other than the CPU of the storages that the pickle refers to, by key.  A storage is on one device:
// another would let a tensor on the CPU have the size of one on `meta`.
std::map<std::string, std::string> devices_of(std::string_view pickle) {
  constexpr std::size_t kParts = 4;  // ("storage", type, key, device, ...)
  std::map<std::string, std::string> devices;
  std::set<std::string> on_cpu;
  PickleMachine machine(pickle);
  machine.run(PickleMachine::kMaxOpcodes);
  for (PickleMachine::Id id = 0; id < machine.value_count(); ++id) {
    if (machine.value(id).kind != PickleMachine::Kind::kPersistent) continue;
    const auto parts = machine.parts(machine.parts(id)[0]);
    if (parts.size() < kParts || machine.value(parts[0]).text != "storage") continue;
    const std::string key(machine.value(parts[2]).text);
    const std::string device(machine.value(parts[3]).text);
    const bool is_on_cpu = device.empty() || device == "cpu";
    const auto found = devices.find(key);
    if (is_on_cpu ? found != devices.end()
                  : on_cpu.contains(key) || (found != devices.end() && found->second != device)) {
      throw input_error("its storage '" + first_line(key) + "' is on two devices");
    }
    if (is_on_cpu) {
      on_cpu.insert(key);
    } else {
      devices.emplace(key, device);
    }
  }
  return devices;
}

// LibTorch knows devices of other makers ("npu") only when told their name, and only one.
void provide_device(const std::string& device) {
  try {
    const at::Device known(device);
  } catch (const std::exception&) {
    try {
      c10::register_privateuse1_backend(device.substr(0, device.find(':')));
    } catch (const std::exception&) {
      throw input_error("it was saved on a device that this LibTorch does not know: '" + first_line(device) +
                        "'");
    }
  }
}

}  // namespace

// A range of addresses, mapped for reading.
class TorchScriptArchive::Mapping {
 public:
  // Stands for bytes that nobody reads: they would be zeros, and cost no memory.
  explicit Mapping(std::size_t size) : Mapping(size, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1) {}
  // The file as a whole; only what is looked at is read.
  explicit Mapping(const ModelFile& file)
      : Mapping(static_cast<std::size_t>(file.size()), MAP_PRIVATE | MAP_NORESERVE, file.descriptor()) {}
  Mapping(Mapping&& other) noexcept { *this = std::move(other); }
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Mapping() {
    if (data_ != nullptr) ::munmap(data_, size_);
  }
  char* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  Mapping(std::size_t size, int flags, int descriptor) : size_(size) {
    if (size_ == 0) return;
    void* address = ::mmap(nullptr, size_, PROT_READ, flags, descriptor, 0);
    if (address == MAP_FAILED)
      throw input_error("its records claim more bytes than this machine can address");
    data_ = static_cast<char*>(address);
  }
  char* data_ = nullptr;
  std::size_t size_ = 0;
};

TorchScriptArchive::TorchScriptArchive(ModelFile file, std::string root)
    : file_(std::move(file)), zip_(std::make_unique<ZipArchive>(*file_)), prefix_(std::move(root)) {
  if (!prefix_.empty()) prefix_ += '/';
  debug_records_ = std::make_unique<DebugRecords>(
      [this](const std::string& name) -> std::optional<std::string> {
        if (!has_record(name)) return std::nullopt;
        return read_record(name);
      },
      edits_);
  std::string version = "1";
  for (const char* name : {"version", ".data/version"}) {
    if (has_record(name)) version = read_record(name);
  }
  if (std::from_chars(version.data(), version.data() + version.size(), format_version_).ec != std::errc{}) {
    throw input_error("its version record is not a number");
  }
  if (format_version_ < caffe2::serialize::kMinSupportedFileFormatVersion) {
    throw input_error("its file format is version " + std::to_string(format_version_) +
                      ", older than any that this LibTorch reads");
  }
  if (format_version_ > caffe2::serialize::kMaxSupportedFileFormatVersion) {
    throw input_error("its file format is version " + std::to_string(format_version_) + ", newer than the " +
                          std::to_string(caffe2::serialize::kMaxSupportedFileFormatVersion) +
                          " that this LibTorch reads",
                      {"build fxtrace with a newer LibTorch"});
  }
}

TorchScriptArchive::TorchScriptArchive(torch::jit::Module module)
    : debug_records_(std::make_unique<DebugRecords>([](const std::string&) { return std::nullopt; }, edits_)),
      module_(std::make_unique<torch::jit::Module>(std::move(module))) {}

TorchScriptArchive::~TorchScriptArchive() = default;

bool TorchScriptArchive::has_record(const std::string& name) const { return zip_->contains(prefix_ + name); }

std::string TorchScriptArchive::read_record(const std::string& name) const {
  return zip_->read(prefix_ + name, kMaxRecord);
}

std::string TorchScriptArchive::read_code(const std::string& name) const {
  std::string text = zip_->read(prefix_ + name, kMaxCode + 1);
  if (text.size() > kMaxCode) {
    throw input_error("its code in " + name + " is larger than " + std::to_string(kMaxCode >> 20) + " MB");
  }
  check_nesting(text);
  return text;
}

CodeFiles TorchScriptArchive::code() const {
  CodeFiles result;
  for (const auto& entry : zip_->entries()) {
    if (!entry.name.starts_with(prefix_ + "code/") || !entry.name.ends_with(".py")) continue;
    std::string name = entry.name.substr(prefix_.size());
    std::string text = read_code(name);
    result.emplace_back(std::move(name), std::move(text));
  }
  std::sort(result.begin(), result.end());
  return result;
}

std::vector<std::string> TorchScriptArchive::pickles() const {
  std::vector<std::string> result;
  for (const char* name : {"constants.pkl", "data.pkl"}) {
    if (has_record(name)) result.push_back(read_record(name));
  }
  return result;
}

std::vector<std::string> TorchScriptArchive::constant_types() const {
  constexpr std::size_t kMaxName = 1000;
  std::vector<std::string> types;
  if (!has_record("constants.pkl")) return types;
  const std::string pickle = read_record("constants.pkl");
  PickleMachine machine(pickle);
  machine.run(PickleMachine::kMaxOpcodes);
  const auto constants = machine.find_result();
  if (!constants || machine.value(*constants).kind != PickleMachine::Kind::kTuple) return types;
  for (const PickleMachine::Id id : machine.parts(*constants)) {
    std::string& type = types.emplace_back();
    if (machine.value(id).kind != PickleMachine::Kind::kCall) continue;
    const std::string made_by = machine.global_name(machine.parts(id)[0], kMaxName);
    if (made_by.starts_with("__torch__.")) type = made_by;
    if (made_by.starts_with("torch._utils._rebuild_tensor")) type = "Tensor";
  }
  return types;
}

// A storage for every record under the pickle's folder, as if it had been read.
std::shared_ptr<torch::jit::DeserializationStorageContext> TorchScriptArchive::storages_of(
    const std::string& name, std::string_view pickle) {
  const std::string folder = prefix_ + name + "/";
  const auto devices = devices_of(pickle);
  for (const auto& [key, device] : devices) provide_device(device);
  // LibTorch compares the constants of a graph and makes one of equal ones: these need their true values.
  const bool needs_values = name == "constants";
  const auto is_meta = [&](const std::string& key) {
    const auto device = devices.find(key);
    return device != devices.end() && device->second == "meta";
  };
  std::size_t total = 0, meta_count = 0;
  for (const auto& entry : zip_->entries()) {
    if (!entry.name.starts_with(folder)) continue;
    if (is_meta(entry.name.substr(folder.size()))) {
      if (needs_values) throw input_error("a constant of its code is on the device meta: it has no values");
      ++meta_count;
    }
    if (needs_values) continue;
    if (entry.size > kMaxAddressable - total) {
      throw input_error("its records claim more bytes than a machine can address");
    }
    total += aligned(entry.size + 1);  // empty ones too have an address, which tells where they were saved
  }
  mappings_.emplace_back(total);
  char* next = mappings_.back().data();
  char* next_meta = nullptr;
  if (meta_count != 0) {
    mappings_.emplace_back(kMetaSize + meta_count * kStorageAlignment);
    next_meta = mappings_.back().data();
  }
  auto context = std::make_shared<torch::jit::DeserializationStorageContext>();
  for (const auto& entry : zip_->entries()) {
    if (!entry.name.starts_with(folder)) continue;
    const std::string key = entry.name.substr(folder.size());
    if (context->hasStorage(key)) continue;
    char* address = nullptr;
    std::size_t size = entry.size;
    if (needs_values) {
      if (entry.size != 0) address = values(entry.name).data();
    } else if (is_meta(key)) {  // zeros, should anybody look; each has an address of its own
      address = std::exchange(next_meta, next_meta + kStorageAlignment);
      size = kMetaSize;
    } else {
      address = std::exchange(next, next + aligned(entry.size + 1));
    }
    if (address != nullptr) {
      const auto device = devices.find(key);
      const auto saved_on = device == devices.end() ? std::nullopt : std::optional(device->second);
      storages_.emplace(address, StorageOrigin{entry.name.substr(prefix_.size()), saved_on});
    }
    context->addStorage(key, at::Storage(at::Storage::use_byte_size_t(), size,
                                         at::DataPtr(address, at::Device(at::kCPU)), nullptr, false));
  }
  return context;
}

// The bytes of a record, read once: small ones are copied, large ones mapped where the archive stores them as
// they are.
std::span<char> TorchScriptArchive::values(const std::string& record) const {
  constexpr std::size_t kSmall = std::size_t{1} << 16;
  constexpr std::size_t kAlignment = 16;
  const auto [known, is_new] = values_.try_emplace(record);
  if (!is_new) return known->second;
  const auto size = static_cast<std::size_t>(zip_->size(record));
  if (size > kSmall) {
    if (const auto offset = zip_->find_stored(record); offset && *offset % kAlignment == 0) {
      if (!mapped_file_) mapped_file_ = std::make_unique<Mapping>(*file_);
      if (*offset <= mapped_file_->size() && size <= mapped_file_->size() - *offset) {
        return known->second = {mapped_file_->data() + *offset, size};
      }
    }
  }
  std::string& bytes = read_values_.emplace_back(zip_->read(record, kMaxRecord));
  if (bytes.size() != size) throw input_error("record " + record + " is cut off");
  return known->second = {bytes.data(), size};
}

at::IValue TorchScriptArchive::read_pickle(const std::string& name) {
  auto unit = compilation_unit_;
  auto importer = std::make_shared<torch::jit::SourceImporter>(
      unit, &constants_,
      [this](const std::string& qualifier) -> std::shared_ptr<torch::jit::Source> {
        std::string path = "code/" + qualifier;
        std::replace(path.begin() + 5, path.end(), '.', '/');
        path += ".py";
        if (!has_record(path)) return nullptr;
        auto source =
            std::make_shared<torch::jit::Source>(edits_.apply(path, read_code(path)), path, 1, nullptr);
        check_defaults(source);
        return source;
      },
      format_version_);
  const auto resolve_type = [unit, importer](const c10::QualifiedName& type_name) {
    return c10::StrongTypePtr(unit, importer->loadType(type_name));
  };
  const auto create = [this](const at::StrongTypePtr& type, const at::IValue& input) {
    const auto class_type = type.type_->expect<at::ClassType>();
    const std::size_t count = class_type->numAttributes();
    const bool is_custom = class_type->name()->qualifiedName().starts_with("__torch__.torch.classes.");
    // A constant of the code that holds its compilation unit would be copied.
    auto object = is_custom ? c10::ivalue::Object::create(
                                  c10::WeakOrStrongTypePtr(c10::WeakTypePtr(type.cu_, type.type_)), count)
                            : c10::ivalue::Object::create(type, count);
    if (!is_custom && input.isGenericDict() && class_type->findMethod("__setstate__") == nullptr) {
      const auto values = input.toGenericDict();
      for (std::size_t i = 0; i < count; ++i) object->setSlot(i, values.at(class_type->getAttributeName(i)));
    } else {
      states_.emplace(object.get(), input);  // __setstate__ is model code: it does not run
      // LibTorch's packed parameters are never made: the weight that they are packed from stands for them.
      const auto* set_state = class_type->findMethod("__setstate__");
      const bool packed = set_state != nullptr && !set_state->isGraphFunction() && count == 1 &&
                          input.isTuple() && input.toTupleRef().size() > 0;
      if (packed && input.toTupleRef().elements()[0].isTensor()) {
        object->setSlot(0, input.toTupleRef().elements()[0]);
      }
    }
    return object;
  };
  const auto read_storage = [](const std::string& record) -> at::DataPtr {
    throw std::runtime_error("no record for storage " + record);
  };
  const std::string pickle = read_record(name + ".pkl");
  check_pickle(pickle);
  std::size_t position = 0;
  const auto read = [&](char* buffer, std::size_t size) {
    const std::size_t count = std::min(size, pickle.size() - position);
    std::copy_n(pickle.data() + position, count, buffer);
    position += count;
    return count;
  };
  torch::jit::Unpickler unpickler(read, resolve_type, create, read_storage, at::Device(at::kCPU), false,
                                  torch::jit::Unpickler::defaultTypeParser, storages_of(name, pickle));
  unpickler.set_version(format_version_);
  return unpickler.parse_ivalue();
}

void TorchScriptArchive::load() {
  const FoldingLimit limit;
  try {
    compilation_unit_ = std::make_shared<torch::jit::CompilationUnit>();
    provide_upgraders(format_version_);
    foreign_byte_order_ = has_record("byteorder") && read_record("byteorder") != "little";
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

std::optional<std::string> TorchScriptArchive::saved_device(const at::Tensor& tensor) const {
  if (!tensor.device().is_cpu()) return tensor.device().str();
  const auto origin = tensor.has_storage() ? storages_.find(tensor.storage().data()) : storages_.end();
  return origin == storages_.end() ? std::nullopt : origin->second.device;
}

std::optional<Constant> TorchScriptArchive::find_object_constant(const c10::ivalue::Object* object) const {
  for (std::size_t i = 0; i < constants_.size(); ++i) {
    if (!constants_[i].isObject() || &constants_[i].toObjectRef() != object) continue;
    Constant result;
    result.record = "constants.pkl";
    result.object_type = type_name(*object->type());
    result.object_index = static_cast<std::int64_t>(i);
    return result;
  }
  return std::nullopt;
}

Constant TorchScriptArchive::constant(const at::Tensor& tensor) const {
  Constant result;
  result.dtype = dtype_name(tensor.scalar_type());
  result.shape = tensor.sizes().vec();
  if (tensor.layout() == at::kStrided) {
    result.stride = tensor.strides().vec();
    result.storage_offset = tensor.storage_offset();
  }
  const bool dense = tensor.layout() == at::kStrided && !tensor.is_quantized();
  if (dense && tensor.has_storage() && tensor.storage().data() != nullptr) {
    const auto it = storages_.find(tensor.storage().data());
    if (it != storages_.end()) result.record = it->second.record;
  }
  if (!dense || tensor.numel() > kMaxConstantElements || foreign_byte_order_) return result;
  if (saved_device(tensor) == "meta") return result;
  at::Tensor readable = tensor;
  if (!result.record.empty()) {
    const std::span<char> bytes = values(prefix_ + result.record);
    const at::Storage storage(at::Storage::use_byte_size_t(), bytes.size(),
                              at::DataPtr(bytes.data(), at::Device(at::kCPU)), nullptr, false);
    readable = at::empty({0}, tensor.options())
                   .set_(storage, tensor.storage_offset(), tensor.sizes(), tensor.strides());
  }
  result.data = elements(readable);
  return result;
}

}  // namespace fxtrace
