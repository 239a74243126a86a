#include "script_json.h"

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "shapes/abstract_value.h"
#include "torchscript/values/tensor_value.h"

namespace fxtrace::internal::torchscript {
namespace {

using Json = nlohmann::json;

std::string read_text(const std::string& json) {
  std::string bytes;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const auto byte = static_cast<unsigned char>(json[i]);
    bytes += byte < 0x80
                 ? json[i]
                 : static_cast<char>(((byte & 3U) << 6U) | (static_cast<unsigned char>(json[++i]) & 63U));
  }
  return bytes;
}

double read_float(const Json& json) { return std::strtod(json.get<std::string>().c_str(), nullptr); }

std::string write_float(double number) {
  char text[64];
  std::snprintf(text, sizeof text, "%a", number);
  return text;
}

// The elements are where they are in memory.
Json write_tensor(const TensorValue& tensor) {
  Json json{{"dtype", dtype_name(tensor.dtype)}, {"sizes", tensor.sizes}, {"strides", tensor.strides}};
  if (tensor.elements) json["elements"] = write_values(values_of(*tensor.elements));
  return {{"tensor", json}};
}

// The elements are in row-major order.
Value read_tensor(const Json& json) {
  Array array{find_scalar_type(json["dtype"].get<std::string>()).value(),
              json["sizes"].get<std::vector<std::int64_t>>(),
              {}};
  for (const Json& item : json["elements"]) {
    const Value value = read_value(item);
    if (value.is_double()) {
      array.elements.emplace_back(value.to_double());
    } else {
      array.elements.emplace_back(value.is_bool() ? std::int64_t{value.to_bool()} : value.to_int());
    }
  }
  auto tensor = make_counted<TensorValue>();
  tensor->dtype = array.dtype;
  tensor->sizes = array.sizes;
  tensor->strides = contiguous_strides(array.sizes);
  tensor->elements = std::make_shared<const Array>(std::move(array));
  return tensor;
}

}  // namespace

TypePtr read_type(std::string_view text) {
  if (text.ends_with("[]")) return list_type(read_type(text.substr(0, text.size() - 2)));
  const auto parts = [](std::string_view inner) {
    std::vector<TypePtr> types;
    int depth = 0;
    std::size_t from = 0;
    for (std::size_t i = 0; i <= inner.size(); ++i) {
      if (i == inner.size() || (inner[i] == ',' && depth == 0)) {
        if (i > from) types.push_back(read_type(inner.substr(from, i - from)));
        from = i + 2;
      } else {
        depth += inner[i] == '(' ? 1 : inner[i] == ')' ? -1 : 0;
      }
    }
    return types;
  };
  if (text.starts_with("(")) return tuple_type(parts(text.substr(1, text.size() - 2)));
  if (text.starts_with("Dict(")) {
    const auto types = parts(text.substr(5, text.size() - 6));
    return dict_type(types.at(0), types.at(1));
  }
  if (text == "int") return int_type();
  if (text == "float") return float_type();
  if (text == "bool") return bool_type();
  if (text == "complex") return complex_type();
  if (text == "str") return string_type();
  if (text == "Device") return device_type();
  if (text == "Scalar") return number_type();
  if (text == "Tensor") return tensor_type();
  throw std::runtime_error("no type: " + std::string(text));
}

nlohmann::json write_text(const std::string& bytes) {
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      text += c;
    } else {
      text += static_cast<char>(0xc0U | (byte >> 6U));
      text += static_cast<char>(0x80U | (byte & 63U));
    }
  }
  return text;
}

std::vector<Value> read_values(const Json& json) {
  std::vector<Value> values;
  for (const Json& item : json) values.push_back(read_value(item));
  return values;
}

Value read_value(const Json& json) {
  if (json.is_null()) return {};
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_string()) return read_text(json.get<std::string>());
  const std::string key = json.begin().key();
  const Json& part = json.begin().value();
  if (key == "float") return read_float(part);
  if (key == "complex") return std::complex<double>(read_float(part[0]), read_float(part[1]));
  if (key == "device") return read_device(part.get<std::string>()).device.value();
  if (key == "tensor") return read_tensor(part);
  if (key == "tuple") return make_tuple(read_values(part));
  if (key == "list") return make_list(read_type(part[0].get<std::string>()), read_values(part[1]));
  if (key == "dict") {
    const TypePtr type = read_type(part[0].get<std::string>());
    auto dict = make_counted<DictValue>(type->contained_types()[0], type->contained_types()[1]);
    for (const Json& entry : part[1]) dict->set(read_value(entry[0]), read_value(entry[1]));
    return dict;
  }
  throw std::runtime_error("no value: " + key);
}

nlohmann::json write_value(const Value& value) {
  switch (value.kind()) {
    case ValueTag::kNone:
      return {};
    case ValueTag::kBool:
      return value.to_bool();
    case ValueTag::kInt:
      return value.to_int();
    case ValueTag::kDouble:
      return {{"float", write_float(value.to_double())}};
    case ValueTag::kComplex:
      return {{"complex", {write_float(value.to_complex().real()), write_float(value.to_complex().imag())}}};
    case ValueTag::kString:
      return write_text(value.to_string());
    case ValueTag::kDevice:
      return {{"device", value.to_device().text()}};
    case ValueTag::kTuple:
      return {{"tuple", write_values(value.items())}};
    case ValueTag::kList:
      return {{"list", {value.to_list().element_type->str(), write_values(value.items())}}};
    case ValueTag::kDict: {
      Json entries = Json::array();
      for (const auto& entry : value.to_dict().entries())
        entries.push_back(Json::array({write_value(entry.key), write_value(entry.value)}));
      return {{"dict", {dynamic_type(value)->str(), entries}}};
    }
    case ValueTag::kTensor:
      return write_tensor(value.to_tensor());
    default:
      return "?";
  }
}

nlohmann::json write_values(const std::vector<Value>& values) {
  Json json = Json::array();
  for (const Value& value : values) json.push_back(write_value(value));
  return json;
}

}  // namespace fxtrace::internal::torchscript
