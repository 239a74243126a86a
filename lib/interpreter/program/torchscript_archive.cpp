#include "interpreter/program/torchscript_archive.h"

#include <algorithm>
#include <charconv>

#include "interpreter/program/convert.h"
#include "interpreter/program/packed_tensors.h"
#include "support/error.h"
#include "support/text/columns.h"
#include "torchscript/objects/objects.h"
#include "torchscript/values/tensor_elements.h"

namespace fxtrace::internal::interpreter {
namespace {

constexpr std::size_t kMaxRecord = std::size_t{1} << 30;  // the largest code or pickle record, in bytes
// The largest code record, in bytes: its lines and tokens take many times that.
constexpr std::size_t kMaxCode = std::size_t{16} << 20;
// Versions of the archive format that LibTorch has written.
constexpr std::uint64_t kOldestVersion = 1, kNewestVersion = 10;

}  // namespace

TorchScriptArchive::TorchScriptArchive(const FileInfo& info)
    : zip_(info.zip), prefix_(info.root), file_size_(info.size) {
  if (!prefix_.empty()) prefix_ += '/';
  debug_records_ =
      std::make_unique<DebugRecords>([this](const std::string& name) -> std::optional<DebugRecords::Record> {
        if (!has_record(name)) return std::nullopt;
        return DebugRecords::Record{read_record(name), zip_->stored_size(prefix_ + name)};
      });
  std::string version = "1";
  for (const char* name : {"version", ".data/version"}) {
    if (has_record(name)) version = read_record(name);
  }
  if (std::from_chars(version.data(), version.data() + version.size(), format_version_).ec != std::errc{}) {
    throw input_error("its version record is not a number");
  }
  if (format_version_ < kOldestVersion) {
    throw input_error("its file format is version " + std::to_string(format_version_) +
                      ", older than any that fxtrace reads");
  }
  if (format_version_ > kNewestVersion) {
    throw input_error("its file format is version " + std::to_string(format_version_) + ", newer than the " +
                      std::to_string(kNewestVersion) + " that fxtrace reads");
  }
  foreign_byte_order_ = has_record("byteorder") && read_record("byteorder") != "little";

  torchscript::ProgramSource source;
  source.read_code = [this](const std::string& qualifier) -> std::optional<std::string> {
    std::string path = "code/" + qualifier;
    std::replace(path.begin() + 5, path.end(), '.', '/');
    path += ".py";
    if (!has_record(path)) return std::nullopt;
    return read_code(path);
  };
  source.operator_version = format_version_;
  program_ = std::make_shared<torchscript::ScriptProgram>(std::move(source));
  // Declares operators of other libraries than LibTorch that the table has.
  program_->on_unknown = [program = program_.get()](const std::string& name) {
    for (const Operator& row : extension_operators()) {
      if (row.base_name() == name)
        program->operators().declare(std::string(row.name).append(row.signature), program->resolver());
    }
  };
}

TorchScriptArchive::TorchScriptArchive(std::shared_ptr<torchscript::ScriptProgram> program,
                                       Ref<ObjectValue> module)
    : program_(std::move(program)),
      debug_records_(std::make_unique<DebugRecords>([](const std::string&) { return std::nullopt; })),
      module_(std::move(module)) {}

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

void TorchScriptArchive::add_not_followed(const std::string& function, NotFollowed call) {
  not_followed_.emplace(function, std::move(call));
}

const TorchScriptArchive::NotFollowed* TorchScriptArchive::find_not_followed(const Function& function) const {
  const auto found = not_followed_.find(function.qualified_name());
  return found == not_followed_.end() ? nullptr : &found->second;
}

std::string TorchScriptArchive::schema_of_calls(const std::string& operator_name) const {
  for (const auto& [function, call] : not_followed_) {  // all calls of an operator have the same schema
    if (call.operator_name == operator_name) return call.schema;
  }
  return {};
}

const IrGraph* TorchScriptArchive::find_graph(const Function& function) const {
  if (!function.has_code() || find_not_followed(function) != nullptr) return nullptr;
  try {
    return &function.graph();
  } catch (const Error&) {
    return nullptr;  // the error is reported when the function is run
  }
}

Value TorchScriptArchive::read_pickle(const std::string& name) {
  return torchscript::read_objects({*zip_, prefix_, format_version_, program_->resolver()}, name);
}

void TorchScriptArchive::load() {
  const Value constants = has_record("constants.pkl") ? read_pickle("constants") : Value(make_tuple({}));
  if (!constants.is_tuple()) throw input_error("constants.pkl is not a tuple");
  constants_ = constants.items();
  torchscript::set_constants(*program_, constants_);
  for (Value& constant : constants_) {
    if (constant.is_object() && class_of(constant.to_object()).is_torchbind()) {
      // Packed parameters of a convolution have stride, padding and the like in a tensor.
      const Value& state = constant.to_object().state;
      if (!state.is_tuple() || state.items().size() != 3 || !state.items()[1].is_list()) continue;
      for (Value& part : state.items()[1].to_list().items) read_small(part);
    }
    if (!constant.is_tensor()) continue;
    const TensorValue& tensor = constant.to_tensor();
    if (tensor.storage && tensor.storage->device.type == "meta")
      throw input_error("a constant of its code is on the device meta: it has no values");
    read_small(constant);
  }
  const Value root = read_pickle("data");
  if (!root.is_object()) throw input_error("data.pkl is not a module");
  module_ = Ref<ObjectValue>(&root.to_object());
}

void TorchScriptArchive::read_small(Value& value) const {
  if (!value.is_tensor()) return;
  const TensorValue& tensor = value.to_tensor();
  const bool is_small = tensor.layout == TensorLayout::kStrided && !is_quantized(tensor.dtype) &&
                        tensor.storage && tensor.storage->device.type != "meta" &&
                        tensor.numel() <= kMaxKnownElements && !foreign_byte_order_;
  if (!is_small) return;
  if (TensorRef known = torchscript::with_elements(tensor, bytes_of(tensor.storage->record))) value = known;
}

const Value* TorchScriptArchive::find_state(const ObjectValue* object) {
  const ClassType& type = class_of(*object);
  const bool has_state = type.is_torchbind() || type.find_method("__setstate__") != nullptr;
  return has_state ? &object->state : nullptr;
}

std::optional<std::string> TorchScriptArchive::saved_device(const TensorValue& tensor) {
  const Device device = tensor.device();
  return device.is_cpu() ? std::nullopt : std::optional(device.text());
}

std::string TorchScriptArchive::content_key(const TensorValue& tensor) const {
  // Conjugation and negation are not in the bytes.
  if (!tensor.storage || tensor.is_conjugated || tensor.is_negated) return "";
  std::string key =
      zip_->content_key(prefix_ + tensor.storage->record, tensor.offset, tensor.sizes, tensor.strides);
  if (key.empty() || !is_quantized(tensor.dtype)) return key;
  if (!tensor.quantization) return "";
  const auto& [scheme, scale, zero_point, axis] = *tensor.quantization;
  key += "*" + std::to_string(scheme) + "," +
         (axis ? std::to_string(*axis) : shortest_text(scale) + "," + std::to_string(zero_point));
  for (const TensorRef& numbers : tensor.scales_and_zeros) {
    const std::string of_numbers = is_quantized(numbers->dtype) ? "" : content_key(*numbers);
    if (of_numbers.empty()) return "";
    key += "," + of_numbers;
  }
  return key;
}

std::optional<Constant> TorchScriptArchive::find_object_constant(const ObjectValue* object) const {
  for (std::size_t i = 0; i < constants_.size(); ++i) {
    if (!constants_[i].is_object() || &constants_[i].to_object() != object) continue;
    Constant result;
    result.record = "constants.pkl";
    result.object_type = type_name(*object->type);
    result.object_index = static_cast<std::int64_t>(i);
    for (const auto& [name, tensor] : packed_tensors(constants_[i], {}))
      result.stored.push_back(stored_part(name, *tensor));
    return result;
  }
  return std::nullopt;
}

const std::string& TorchScriptArchive::bytes_of(const std::string& record) const {
  const auto [place, is_new] = bytes_.try_emplace(record);
  if (is_new) place->second = read_record(record);
  return place->second;
}

std::optional<std::vector<Value>> TorchScriptArchive::find_elements(const TensorValue& tensor,
                                                                    std::int64_t most) const {
  if (tensor.layout != TensorLayout::kStrided || is_quantized(tensor.dtype) || tensor.numel() > most)
    return std::nullopt;
  if (tensor.elements) return torchscript::values_of(*tensor.elements);
  if (!tensor.storage || foreign_byte_order_ || zip_ == nullptr || tensor.storage->device.type == "meta")
    return std::nullopt;
  return torchscript::find_elements(tensor, bytes_of(tensor.storage->record), most);
}

std::optional<std::vector<Argument>> TorchScriptArchive::elements(const TensorValue& tensor,
                                                                  std::int64_t most) const {
  const auto values = find_elements(tensor, most);
  if (!values) return std::nullopt;
  std::vector<Argument> result;
  for (const Value& value : *values) result.push_back(number_argument(value));
  return result;
}

std::optional<Value> TorchScriptArchive::find_item(const TensorValue& tensor) const {
  const auto values = find_elements(tensor, 1);
  return values && values->size() == 1 ? std::optional(values->front()) : std::nullopt;
}

RecordBytes TorchScriptArchive::record_bytes(const std::string& record) const {
  if (!zip_ || !has_record(record)) throw input_error("the archive has no " + record);
  return bytes_of_record(*zip_, prefix_ + record);
}

Constant TorchScriptArchive::stored(const TensorValue& tensor) const {
  Constant result;
  result.dtype = dtype_name(tensor.dtype);
  result.shape = tensor.sizes;
  if (tensor.layout == TensorLayout::kStrided) {
    result.stride = tensor.strides;
    result.storage_offset = tensor.offset;
  }
  const bool is_dense = tensor.layout == TensorLayout::kStrided && !is_quantized(tensor.dtype);
  if (is_dense && tensor.storage && tensor.storage->device.type != "meta" && tensor.storage->bytes != 0)
    result.record = tensor.storage->record;
  return result;
}

Constant TorchScriptArchive::stored_bytes(const TensorValue& tensor) const {
  Constant result = stored(tensor);
  if (is_quantized(tensor.dtype) && tensor.storage && tensor.storage->bytes != 0)
    result.record = tensor.storage->record;
  return result;
}

Constant TorchScriptArchive::constant(const TensorValue& tensor) const {
  Constant result = stored(tensor);
  const bool is_dense = tensor.layout == TensorLayout::kStrided && !is_quantized(tensor.dtype);
  if (is_dense) result.data = elements(tensor, kMaxConstantElements);
  result.content = content_key(tensor);
  // Bytes alone do not tell what another tensor is: among the constants of the code it has a place.
  for (std::size_t i = 0; !is_dense && i < constants_.size(); ++i) {
    if (!constants_[i].is_tensor() || &constants_[i].to_tensor() != &tensor) continue;
    result.record = "constants.pkl";
    result.object_type = kTensorConstant;
    result.object_index = static_cast<std::int64_t>(i);
  }
  return result;
}

}  // namespace fxtrace::internal::interpreter
