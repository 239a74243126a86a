// Fuzz target: the objects of a TorchScript archive.
#include "torchscript/objects/objects.h"

#include <string>

#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/stored_zip.h"
#include "tests/fuzz/targets.h"
#include "torchscript/operators/plain_call.h"
#include "torchscript/values/tensor_value.h"

namespace fxtrace::internal::fuzz {
namespace {

// Resolves every name to a class: some are modules, one has a __setstate__ of C++, one is an enum.
torchscript::TypePtr find_class(const std::string& name) {
  using torchscript::ClassType, torchscript::ScriptConstant, torchscript::EnumType;
  if (name.ends_with("Missing")) return nullptr;
  if (name.ends_with("Color")) {
    return std::make_shared<EnumType>(
        name, torchscript::int_type(),
        std::vector<EnumType::Member>{{"RED", ScriptConstant(std::int64_t{1})},
                                      {"BLUE", ScriptConstant(std::int64_t{2})}});
  }
  const bool is_packed = name.find("classes") != std::string::npos;
  auto type =
      std::make_shared<ClassType>(name, is_packed ? ClassType::Form::kTorchBind : ClassType::Form::kModule);
  if (name.ends_with("Net")) {
    for (const char* attribute : {"training", "weight", "bias"})
      type->add_attribute({attribute, torchscript::optional_type(torchscript::tensor_type()), true, false});
  }
  return type;
}

// Checks that no tensor has elements beyond its storage; reads a small one.
void check(const torchscript::Value& value, std::string_view bytes, std::size_t depth) {
  constexpr std::size_t kMaxDepth = 100;
  if (depth == kMaxDepth) return;
  if (value.is_tensor()) {
    const torchscript::TensorValue& tensor = value.to_tensor();
    const bool is_read = tensor.storage && tensor.storage->record == "data/0" && tensor.dim() > 0;
    const auto read = torchscript::with_elements(tensor, bytes);
    if (is_read && tensor.numel() <= kMaxKnownElements && is_known_type(tensor.dtype) &&
        tensor.layout == torchscript::TensorLayout::kStrided && !tensor.is_conjugated && !tensor.is_negated) {
      require(bool{read} || tensor.storage->device.type == "meta", "elements of a tensor are in its record");
    }
  } else if (value.is_list() || value.is_tuple()) {
    for (const torchscript::Value& item : value.items()) check(item, bytes, depth + 1);
  } else if (value.is_dict()) {
    for (const auto& entry : value.to_dict().entries()) check(entry.value, bytes, depth + 1);
  } else if (value.is_object()) {
    for (const torchscript::Value& slot : value.to_object().slots) check(slot, bytes, depth + 1);
    check(value.to_object().state, bytes, depth + 1);
  }
}

}  // namespace

void objects(std::string_view input) {
  const std::string bytes(64, '\1');
  const ModelFile file = memory_file(stored_zip(
      {{"m/data.pkl", std::string(input)}, {"m/data/0", bytes}, {"m/data/1", bytes.substr(0, 16)}}));
  const ZipArchive zip(file);
  for (const std::uint64_t version : {2, 10}) {
    accepts([&] {
      const torchscript::Value value = torchscript::read_objects({zip, "m/", version, find_class}, "data");
      check(value, bytes, 0);
      const auto copy = torchscript::find_deep_copy(value);
      if (copy) check(*copy, bytes, 0);
      torchscript::dynamic_type(value);
    });
  }
}

}  // namespace fxtrace::internal::fuzz
