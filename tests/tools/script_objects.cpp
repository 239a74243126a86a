// Prints the content of the two pickles of a TorchScript archive, as lib/torchscript reads it, for tests that
// compare it with what LibTorch loads:
//   script_objects FILE    {"constants": ..., "data": {"object": [1, "__torch__.Net", {"weight": ...},
//   null]}}
// An object that occurs again is {"again": 1}.  Small tensors are printed with their elements.
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <unordered_map>

#include "archive/model_file.h"
#include "archive/zip_archive.h"
#include "script_json.h"
#include "support/error.h"
#include "torchscript/compiler/script_program.h"
#include "torchscript/objects/objects.h"
#include "torchscript/values/tensor_value.h"

namespace fxtrace::internal::torchscript {
namespace {

using Json = nlohmann::json;

class Objects {
 public:
  explicit Objects(const std::string& path) : archive_(ModelFile(path)) {
    root_ = archive_.entries().at(0).name;
    root_.resize(root_.find('/') + 1);
    ProgramSource source;
    source.read_code = [this](const std::string& qualifier) -> std::optional<std::string> {
      std::string record = "code/" + qualifier + ".py";
      std::replace(record.begin(), record.end() - 3, '.', '/');
      if (!archive_.contains(root_ + record)) return std::nullopt;
      return archive_.read(root_ + record, archive_.size(root_ + record));
    };
    constexpr std::size_t kEnough = 100'000;
    source.constant_types.assign(kEnough, tensor_type());
    program_ = std::make_unique<ScriptProgram>(std::move(source));
    for (const char* record : {"version", ".data/version"}) {
      if (archive_.contains(root_ + record))
        version_ = std::strtoull(archive_.read(root_ + record, 20).c_str(), nullptr, 10);
    }
  }

  Json read(const std::string& name) {
    return write(read_objects({archive_, root_, version_, program_->resolver()}, name));
  }

 private:
  Json write(const Value& value) {
    if (value.is_tensor()) return write_tensor(value.to_tensor());
    if (value.is_object()) return write_object(value.to_object());
    if (value.is_enum()) return {{"enum", {value.to_enum().type->name(), value.to_enum().name}}};
    if (value.is_tuple()) return {{"tuple", write_all(value.items())}};
    if (value.is_list())
      return {{"list", {value.to_list().element_type->repr_str(), write_all(value.items())}}};
    if (!value.is_dict()) return write_value(value);
    Json entries = Json::array();
    for (const auto& entry : value.to_dict().entries())
      entries.push_back(Json::array({write(entry.key), write(entry.value)}));
    return {{"dict", {dynamic_type(value)->repr_str(), entries}}};
  }

  Json write_all(const std::vector<Value>& values) {
    Json json = Json::array();
    for (const Value& value : values) json.push_back(write(value));
    return json;
  }

  Json write_object(const ObjectValue& object) {
    const auto [place, is_new] = numbers_.emplace(&object, numbers_.size() + 1);
    const std::size_t number = place->second;
    if (!is_new) return {{"again", number}};
    Json slots = Json::object();
    const auto& attributes = object.type->as<ClassType>()->attributes();
    for (std::size_t i = 0; i < object.slots.size(); ++i) slots[attributes[i].name] = write(object.slots[i]);
    return {{"object", {number, object.type->name(), slots, write(object.state)}}};
  }

  Json write_tensor(const TensorValue& tensor) {
    Json json{{"dtype", dtype_name(tensor.dtype)},
              {"layout", static_cast<int>(tensor.layout)},
              {"sizes", tensor.sizes},
              {"strides", tensor.strides},
              {"offset", tensor.offset},
              {"requires_grad", tensor.requires_grad},
              {"conj", tensor.is_conjugated},
              {"neg", tensor.is_negated},
              {"parts", Json::array()}};
    for (const TensorRef& part : tensor.parts) json["parts"].push_back(write_tensor(*part));
    if (tensor.storage) {
      json["record"] = tensor.storage->record;
      json["device"] = tensor.storage->device.text();
      const std::string record = root_ + tensor.storage->record;
      if (tensor.numel() <= kMaxKnownElements && archive_.contains(record)) {
        const auto elements =
            find_elements(tensor, archive_.read(record, archive_.size(record)), kMaxKnownElements);
        if (elements) json["elements"] = write_values(*elements);
      }
    }
    return {{"tensor", json}};
  }

  ZipArchive archive_;
  std::string root_;
  std::uint64_t version_ = 0;
  std::unique_ptr<ScriptProgram> program_;
  std::unordered_map<const ObjectValue*, std::size_t> numbers_;
};

}  // namespace
}  // namespace fxtrace::internal::torchscript

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "script_objects FILE\n";
    return 2;
  }
  try {
    fxtrace::internal::torchscript::Objects objects(argv[1]);
    nlohmann::json json{{"constants", objects.read("constants")}};
    json["data"] = objects.read("data");
    std::cout << json.dump() << '\n';
  } catch (const fxtrace::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
