#include "exported/program/exported_archive.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

#include "archive/zip_archive.h"
#include "exported/program/graph_reader.h"
#include "shapes/tensor_options.h"
#include "support/error.h"
#include "support/json_document.h"
#include "support/text/unicode.h"

namespace fxtrace::internal {
namespace {

constexpr const char* kOldProgram = "serialized_exported_program.json";
constexpr const char* kModels = "models/";
constexpr std::size_t kMaxConfig = 256'000'000;
constexpr std::size_t kMaxObject = 1U << 30;
constexpr std::size_t kMaxConstantBytes = 1'000'000;  // the most bytes read for the value of one constant

std::int64_t known(const JsonValue& number) { return number.alternative().value.integer(); }

constexpr std::size_t kMaxRank = 64;  // the rank up to which the value of a constant is read

struct DtypeSize {
  const char* name;
  std::size_t bytes;
};
constexpr DtypeSize kSizes[] = {{"bool", 1},      {"uint8", 1},      {"int8", 1},    {"int16", 2},
                                {"int32", 4},     {"int64", 8},      {"float16", 2}, {"bfloat16", 2},
                                {"float32", 4},   {"float64", 8},    {"uint16", 2},  {"uint32", 4},
                                {"complex64", 8}, {"complex128", 16}};

double half_to_double(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int fraction = bits & 1023;
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == 31) return fraction == 0 ? sign * HUGE_VAL : std::nan("");
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(fraction + 1024, exponent - 25);
}

template <class T>
T load(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

Argument element(const std::string& dtype, const char* bytes) {
  if (dtype == "bool") return *bytes != 0;
  if (dtype == "uint8") return static_cast<std::int64_t>(load<std::uint8_t>(bytes));
  if (dtype == "int8") return static_cast<std::int64_t>(load<std::int8_t>(bytes));
  if (dtype == "int16") return static_cast<std::int64_t>(load<std::int16_t>(bytes));
  if (dtype == "int32") return static_cast<std::int64_t>(load<std::int32_t>(bytes));
  if (dtype == "int64") return load<std::int64_t>(bytes);
  if (dtype == "uint16") return static_cast<std::int64_t>(load<std::uint16_t>(bytes));
  if (dtype == "uint32") return static_cast<std::int64_t>(load<std::uint32_t>(bytes));
  if (dtype == "float16") return half_to_double(load<std::uint16_t>(bytes));
  if (dtype == "bfloat16") {
    return static_cast<double>(std::bit_cast<float>(std::uint32_t{load<std::uint16_t>(bytes)} << 16));
  }
  if (dtype == "float32") return static_cast<double>(load<float>(bytes));
  if (dtype == "float64") return load<double>(bytes);
  if (dtype == "complex64") return std::complex<double>(load<float>(bytes), load<float>(bytes + 4));
  return std::complex<double>(load<double>(bytes), load<double>(bytes + 8));
}

// Returns the number of elements of `shape`; nothing when there are more than a constant may have.
std::optional<std::size_t> small_count(const std::vector<std::int64_t>& shape) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::int64_t count = 1;
  for (const std::int64_t size : shape) {
    if (size < 0 || size > kMaxConstantElements) return std::nullopt;
    count *= size;
    if (count > kMaxConstantElements) return std::nullopt;
  }
  return static_cast<std::size_t>(count);
}

}  // namespace

bool may_have_gradient(std::string_view dtype) {
  return dtype.find("float") != std::string_view::npos || dtype.starts_with("complex");
}

ExportedArchive::ExportedArchive(const FileInfo& info)
    : zip_(info.zip), prefix_(info.root.empty() ? "" : info.root + "/") {
  if (zip_->contains(prefix_ + kOldProgram)) {
    old_layout_ = true;
    models_ = {"model"};
    return;
  }
  const std::string folder = prefix_ + kModels;
  for (const auto& entry : zip_->entries()) {
    const std::string& name = entry.name;
    constexpr std::string_view kSuffix = ".json";
    if (!name.starts_with(folder) || !name.ends_with(kSuffix)) continue;
    const std::string model = name.substr(folder.size(), name.size() - folder.size() - kSuffix.size());
    if (!model.empty()) models_.push_back(model);
  }
  std::sort(models_.begin(), models_.end());
  models_.erase(std::unique(models_.begin(), models_.end()), models_.end());
  if (models_.empty()) throw input_error("the archive has no exported program: models/NAME.json is missing");
}

int ExportedArchive::first_release() const {
  constexpr int kFlat = 6, kPacked = 8, kOwnRecords = 9, kWithIntegers = 10;
  if (old_layout_) return kFlat;
  int first = kPacked;
  for (const std::string& model : models_) {
    if (zip_->contains(prefix_ + "data/weights/" + model + ".pt")) continue;
    first = std::max(first, kOwnRecords);
    for (const auto& [name, tensor] : tensors(model)) {
      if (tensor.is_parameter && !may_have_gradient(tensor.dtype)) first = kWithIntegers;
    }
  }
  return first;
}

bool ExportedArchive::has_compiled(const std::string& name) const {
  const std::string folder = prefix_ + "data/aotinductor/" + name + "/";
  return std::any_of(zip_->entries().begin(), zip_->entries().end(),
                     [&](const auto& entry) { return entry.name.starts_with(folder); });
}

std::string ExportedArchive::json(const std::string& model) const {
  return zip_->read(program_record(model), JsonDocument::kMaxText + 1);
}

std::string ExportedArchive::program_record(const std::string& model) const {
  return prefix_ + (old_layout_ ? std::string(kOldProgram) : kModels + model + ".json");
}

std::vector<std::string> ExportedArchive::configurations(const std::string& model) const {
  std::vector<std::string> records = {prefix_ + "data/weights/" + model + "_weights_config.json",
                                      prefix_ + "data/constants/" + model + "_constants_config.json"};
  std::erase_if(records, [&](const std::string& record) { return !zip_->contains(record); });
  return records;
}

JsonDocument ExportedArchive::read_configuration(const std::string& record) const {
  return JsonDocument(JsonText{zip_->read(record, kMaxConfig)}, record);
}

void ExportedArchive::add_configured(const std::string& record,
                                     std::map<std::string, TensorRecord>& to) const {
  const std::string folder = record.substr(0, record.rfind('/') + 1);
  const JsonDocument document = read_configuration(record);
  for (const JsonValue item : document.root().at("config").fields()) {
    const auto meta = item.find("tensor_meta");
    const auto path = item.find("path_name");
    if (!meta || !path) continue;  // an object that is not a tensor
    TensorRecord tensor;
    tensor.record = folder + std::string(path->string());
    tensor.storage = tensor.record;
    if (const auto pickled = item.find("use_pickle")) tensor.packed = tensor.is_pickled = pickled->boolean();
    if (const auto parameter = item.find("is_param")) tensor.is_parameter = parameter->boolean();
    tensor.position = to.size();
    tensor.dtype = dtype_name(meta->at("dtype"));
    for (const JsonValue size : meta->at("sizes").items()) {
      tensor.sizes.push_back(known(size));
      if (tensor.sizes.back() < 0) size.fail("a size is negative");
    }
    for (const JsonValue stride : meta->at("strides").items()) tensor.strides.push_back(known(stride));
    if (const auto offset = meta->find("storage_offset")) tensor.offset = known(*offset);
    if (const auto grad = meta->find("requires_grad")) tensor.requires_grad = grad->boolean();
    if (!tensor.packed) {
      tensor.content = zip_->content_key(tensor.record, tensor.offset, tensor.sizes, tensor.strides);
    } else if (zip_->contains(tensor.record)) {
      if (auto saved = read_saved_tensor(*zip_, tensor.record)) {
        tensor.parts = std::move(saved->parts);
        tensor.content = std::move(saved->content);
      }
    }
    to.insert_or_assign(std::string(item.key()), std::move(tensor));
  }
}

void ExportedArchive::add_state_dict(const std::string& record,
                                     std::map<std::string, TensorRecord>& to) const {
  const std::string full = prefix_ + record;
  if (!zip_->contains(full)) return;
  for (StoredTensor& stored : read_state_dict(*zip_, full)) {
    if (std::any_of(stored.sizes.begin(), stored.sizes.end(), [](std::int64_t size) { return size < 0; })) {
      throw input_error(full + ": the tensor '" + stored.name.substr(0, 100) + "' has a negative size");
    }
    const std::string name = stored.name;
    TensorRecord tensor{std::move(stored), to.size(), full, true};
    tensor.storage = full + ":" + tensor.storage;
    tensor.is_pickled = !tensor.parts.empty();
    tensor.requires_grad = tensor.is_parameter && may_have_gradient(tensor.dtype);
    to.insert_or_assign(name, std::move(tensor));
  }
}

std::map<std::string, TensorRecord> ExportedArchive::tensors(const std::string& model) const {
  std::map<std::string, TensorRecord> found;
  if (old_layout_) {
    add_state_dict("serialized_state_dict.pt", found);
    add_state_dict("serialized_constants.pt", found);
    return found;
  }
  add_state_dict("data/weights/" + model + ".pt", found);
  add_state_dict("data/constants/" + model + ".pt", found);
  for (const std::string& record : configurations(model)) add_configured(record, found);
  return found;
}

std::map<std::string, std::string> ExportedArchive::objects(const std::string& model) const {
  std::map<std::string, std::string> found;
  const std::string folder = prefix_ + "data/constants/";
  const std::string record = folder + model + "_constants_config.json";
  if (!zip_->contains(record)) return found;
  const JsonDocument document = read_configuration(record);
  for (const JsonValue item : document.root().at("config").fields()) {
    const auto path = item.find("path_name");
    if (!path || item.find("tensor_meta") || !path->string().starts_with("custom_obj_")) continue;
    found.insert_or_assign(std::string(item.key()), folder + std::string(path->string()));
  }
  return found;
}

std::string ExportedArchive::read_object(const std::string& record) const {
  return zip_->read(record, kMaxObject);
}

RecordBytes ExportedArchive::storage(const std::string& name) const {
  if (zip_->contains(name)) return bytes_of_record(*zip_, name);
  const std::size_t key = name.rfind(':');
  if (key == std::string::npos) throw input_error("the archive has no " + name);
  const std::string record = name.substr(0, key);
  const ZipArchive inner(*zip_, record);
  const std::string suffix = "/data/" + name.substr(key + 1);
  for (const auto& entry : inner.entries()) {
    if (entry.name.ends_with(suffix)) return bytes_of_record(inner, entry.name);
  }
  throw input_error(record + " has no record whose name ends in " + suffix);
}

std::string ExportedArchive::example_inputs_record(const std::string& model) const {
  return prefix_ +
         (old_layout_ ? std::string("serialized_example_inputs.pt") : "data/sample_inputs/" + model + ".pt");
}

std::string ExportedArchive::sample_inputs(const std::string& model) const {
  const std::string record = example_inputs_record(model);
  if (!zip_->contains(record)) return {};
  return zip_->read(record, static_cast<std::size_t>(zip_->size(record)));
}

Constant ExportedArchive::read_constant(const TensorRecord& tensor) const {
  Constant constant;
  constant.dtype = tensor.dtype;
  constant.shape = tensor.sizes;
  constant.record = tensor.record;
  constant.stride = tensor.strides;
  constant.storage_offset = tensor.offset;
  constant.content = tensor.content;
  const auto* size = std::find_if(std::begin(kSizes), std::end(kSizes),
                                  [&](const DtypeSize& item) { return item.name == tensor.dtype; });
  const auto count = small_count(tensor.sizes);
  const std::size_t rank = tensor.sizes.size();
  if (tensor.packed || rank > kMaxRank || !count || size == std::end(kSizes) || tensor.strides.size() != rank)
    return constant;
  if (*count == 0) {
    constant.data.emplace();
    return constant;
  }
  const auto limit = static_cast<std::int64_t>(kMaxConstantBytes / size->bytes);
  std::int64_t last = tensor.offset;  // position of the tensor's last element in the storage
  if (tensor.offset < 0 || tensor.offset >= limit) return constant;
  for (std::size_t i = 0; i < rank; ++i) {
    if (tensor.strides[i] < 0 || tensor.strides[i] > limit) return constant;
    last += tensor.strides[i] * (tensor.sizes[i] - 1);
    if (last >= limit) return constant;
  }
  if (!zip_->contains(tensor.record)) return constant;
  const std::size_t wanted = (static_cast<std::size_t>(last) + 1) * size->bytes;
  const std::string bytes = zip_->read(tensor.record, wanted);
  // torch.export saves a tensor that had no storage, such as one inside of a vmap, with no bytes: nothing
  // needs its values.
  if (bytes.empty()) return constant;
  if (bytes.size() < wanted) throw input_error(tensor.record + " is shorter than the tensor it holds");

  std::vector<Argument> data;
  std::vector<std::int64_t> index(rank, 0);
  for (std::size_t i = 0; i < *count; ++i) {
    std::int64_t at = tensor.offset;
    for (std::size_t d = 0; d < rank; ++d) at += index[d] * tensor.strides[d];
    data.push_back(element(tensor.dtype, bytes.data() + static_cast<std::size_t>(at) * size->bytes));
    for (std::size_t d = rank; d > 0; --d) {
      if (++index[d - 1] < tensor.sizes[d - 1]) break;
      index[d - 1] = 0;
    }
  }
  constant.data = std::move(data);
  return constant;
}

namespace {

constexpr std::size_t kMaxName = 200;
constexpr std::uint64_t kMaxMade = std::uint64_t{64} << 20;  // the most bytes of a tensor without a storage

// Returns the bytes from the beginning of the storage to the end of the last element; nothing for a tensor
// that cannot exist.
std::optional<std::int64_t> extent(const StoredTensor& tensor) {
  const Dtype dtype = find_scalar_type(std::string_view(tensor.dtype));
  if (!dtype || tensor.offset < 0 || tensor.strides.size() != tensor.sizes.size()) return std::nullopt;
  std::int64_t last = tensor.offset;
  for (std::size_t i = 0; i < tensor.sizes.size(); ++i) {
    std::int64_t step = 0;
    if (tensor.sizes[i] == 0) return 0;
    if (tensor.strides[i] < 0 || __builtin_mul_overflow(tensor.strides[i], tensor.sizes[i] - 1, &step) ||
        __builtin_add_overflow(last, step, &last))
      return std::nullopt;
  }
  std::int64_t bytes = 0;
  if (__builtin_add_overflow(last, 1, &last) || __builtin_mul_overflow(last, item_size(*dtype), &bytes))
    return std::nullopt;
  return bytes;
}

// A loader allocates a tensor whose record has no bytes, so that its size needs a limit.
std::optional<std::string> problem_of_loading(const std::string& name, const StoredTensor& tensor,
                                              std::uint64_t size) {
  return problem_of_size(name, tensor, size == 0 ? kMaxMade : size);
}

}  // namespace

std::vector<SecurityFinding> find_cut_tensors(const FileInfo& info) {
  std::vector<SecurityFinding> findings;
  const ExportedArchive archive(info);
  const ZipArchive& zip = *info.zip;
  for (const std::string& model : archive.models()) {
    for (const auto& [name, tensor] : archive.tensors(model)) {
      if (tensor.packed) continue;  // its storages are checked as records of the inner archive
      const auto problem = zip.contains(tensor.record)
                               ? problem_of_loading(name, tensor, zip.size(tensor.record))
                               : std::optional("the archive does not have this record of tensor '" +
                                               cut(name, kMaxName) + "'");
      if (problem) findings.push_back({SecurityKind::kSize, tensor.record, name, *problem});
    }
  }
  return findings;
}

std::optional<std::string> problem_of_size(const std::string& name, const StoredTensor& tensor,
                                           std::uint64_t size) {
  const std::string shown = "tensor '" + cut(name, kMaxName) + "'";
  const auto bytes = extent(tensor);
  if (!bytes) return shown + " has sizes or strides that no tensor can have";
  // torch.export writes an empty record for a tensor that had no storage; the tensor is made again.
  if (size == 0 || static_cast<std::uint64_t>(*bytes) <= size) return std::nullopt;
  return shown + " needs " + std::to_string(*bytes) + " bytes, but its storage has " + std::to_string(size) +
         " bytes";
}

}  // namespace fxtrace::internal
