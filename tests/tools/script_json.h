// Values of lib/torchscript as JSON: floats are hexadecimal texts, strings have a character for each byte.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "torchscript/values/value.h"

namespace fxtrace::internal::torchscript {

TypePtr read_type(std::string_view text);  // "int[]", "(int, str)", "Dict(str, int)"

Value read_value(const nlohmann::json& json);
std::vector<Value> read_values(const nlohmann::json& json);
nlohmann::json write_text(const std::string& bytes);
nlohmann::json write_value(const Value& value);
nlohmann::json write_values(const std::vector<Value>& values);

}  // namespace fxtrace::internal::torchscript
