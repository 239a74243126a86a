#include "torchscript/ir/constant_value.h"

#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "support/error.h"
#include "torchscript/ir/function.h"
#include "torchscript/language/types.h"
#include "torchscript/values/tensor_value.h"

namespace fxtrace::internal::torchscript {
namespace {

std::vector<Value> values_of(const std::vector<ScriptConstant>& constants, std::span<const Value> table) {
  std::vector<Value> values;
  values.reserve(constants.size());
  for (const ScriptConstant& constant : constants) values.push_back(value_of(constant, table));
  return values;
}

}  // namespace

Value value_of(const ScriptConstant& constant, std::span<const Value> table) {
  return std::visit(
      [&](const auto& literal) -> Value {
        using Literal = std::remove_cvref_t<decltype(literal)>;
        if constexpr (std::is_same_v<Literal, ScriptConstant::None>) {
          return {};
        } else if constexpr (std::is_same_v<Literal, ScriptConstant::Device>) {
          DeviceText read = read_saved_device(literal.text);
          if (!read.device) throw input_error("its code has an invalid device: " + read.why);
          return *std::move(read.device);
        } else if constexpr (std::is_same_v<Literal, ScriptConstant::TableEntry>) {
          if (literal.index >= table.size())
            throw input_error("its code has constant " + std::to_string(literal.index) +
                              ", which is not in its table");
          return table[literal.index];
        } else if constexpr (std::is_same_v<Literal, ScriptConstant::List>) {
          return make_list(literal.element, values_of(literal.items, table));
        } else if constexpr (std::is_same_v<Literal, ScriptConstant::Tuple>) {
          return make_tuple(values_of(literal.items, table));
        } else if constexpr (std::is_same_v<Literal, ScriptConstant::Dict>) {
          auto dict = make_counted<DictValue>(literal.key, literal.value);
          for (const auto& [key, value] : literal.items)
            dict->set(value_of(key, table), value_of(value, table));
          return dict;
        } else if constexpr (std::is_same_v<Literal, ScriptConstant::EnumMember>) {
          const EnumType::Member& member = literal.type->members().at(literal.index);
          return make_counted<EnumValue>(literal.type, member.name, value_of(member.value, table));
        } else if constexpr (std::is_same_v<Literal, ScriptConstant::FunctionValue>) {
          return make_counted<FunctionValue>(
              std::make_shared<FunctionType>(literal.function->qualified_name(), literal.function));
        } else {
          return literal;
        }
      },
      constant.variant());
}

}  // namespace fxtrace::internal::torchscript
