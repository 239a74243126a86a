#include "torchscript/language/constant.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>

#include "support/text/words.h"
#include "torchscript/language/function_schema.h"
#include "torchscript/language/type_relations.h"
#include "torchscript/language/types.h"

namespace fxtrace::internal::torchscript {
namespace {

template <class... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

bool same_bits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

bool same_type(const TypePtr& a, const TypePtr& b) {
  return a == b || (a != nullptr && b != nullptr && *a == *b);
}

std::string double_text(double value) {
  const int kind = std::fpclassify(value);
  constexpr double kWholeBelow = 1e10;
  if ((kind == FP_NORMAL || kind == FP_ZERO) && std::abs(value) < kWholeBelow) {
    const auto whole = static_cast<std::int64_t>(value);
    if (static_cast<double>(whole) == value)
      return (whole == 0 && std::signbit(value) ? "-" : "") + std::to_string(whole) + ".";
  }
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%.17g", value);
  return text.data();
}

std::string complex_text(const std::complex<double>& value) {
  // As in LibTorch, a "+" stands before an imaginary part without a "-" of its own, nan and inf included.
  const std::string imaginary = double_text(value.imag());
  return double_text(value.real()) + (imaginary[0] == '-' ? "" : "+") + imaginary + "j";
}

}  // namespace

bool ScriptConstant::List::operator==(const List& other) const {
  return items == other.items && same_type(element, other.element);
}
bool ScriptConstant::Tuple::operator==(const Tuple& other) const { return items == other.items; }
bool ScriptConstant::Dict::operator==(const Dict& other) const {
  return items == other.items && same_type(key, other.key) && same_type(value, other.value);
}

bool ScriptConstant::operator==(const ScriptConstant& other) const {
  if (value_.index() != other.value_.index()) return false;
  if (const auto* number = get_if<double>()) return same_bits(*number, *other.get_if<double>());
  if (const auto* number = get_if<std::complex<double>>()) {
    const auto& second = *other.get_if<std::complex<double>>();
    return same_bits(number->real(), second.real()) && same_bits(number->imag(), second.imag());
  }
  return value_ == other.value_;
}

TypePtr type_of(const ScriptConstant& constant, const TypePtr& table_type) {
  return std::visit(Overloaded{
                        [](ScriptConstant::None) { return none_type(); },
                        [](bool) { return bool_type(); },
                        [](std::int64_t) { return int_type(); },
                        [](double) { return float_type(); },
                        [](const std::complex<double>&) { return complex_type(); },
                        [](const std::string&) { return string_type(); },
                        [](const ScriptConstant::Device&) { return device_type(); },
                        [&](const ScriptConstant::TableEntry&) { return table_type; },
                        [](const ScriptConstant::List& list) { return list_type(list.element); },
                        [&](const ScriptConstant::Tuple& tuple) {
                          std::vector<TypePtr> types;
                          for (const ScriptConstant& item : tuple.items)
                            types.push_back(type_of(item, table_type));
                          return tuple_type(std::move(types));
                        },
                        [](const ScriptConstant::Dict& dict) { return dict_type(dict.key, dict.value); },
                        [](const ScriptConstant::EnumMember& member) -> TypePtr { return member.type; },
                        [](const ScriptConstant::FunctionValue& value) -> TypePtr {
                          return std::make_shared<FunctionType>(schema_of(*value.function).name,
                                                                value.function);
                        },
                    },
                    constant.variant());
}

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    static constexpr std::string_view kSpecial = "\a\b\f\n\r\t\v\\'\"";
    static constexpr std::string_view kLetters = "abfnrtv\\'\"";
    if (const auto at = kSpecial.find(c); at != std::string_view::npos) {
      result += '\\';
      result += kLetters[at];
    } else if (c >= ' ' && c <= '~') {
      result += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      result += '\\';
      for (const int shift : {6, 3, 0}) result += static_cast<char>('0' + ((byte >> shift) & 7));
    }
  }
  return result + '"';
}

std::string to_text(const ScriptConstant& constant) {
  const auto text = [](const ScriptConstant& item) { return to_text(item); };
  return std::visit(
      Overloaded{
          [](ScriptConstant::None) -> std::string { return "None"; },
          [](bool value) -> std::string { return value ? "True" : "False"; },
          [](std::int64_t value) { return std::to_string(value); },
          [](double value) { return double_text(value); },
          [](const std::complex<double>& value) { return complex_text(value); },
          [](const std::string& value) { return quoted(value); },
          [](const ScriptConstant::Device& value) { return quoted(value.text); },
          [](const ScriptConstant::TableEntry& value) { return "CONSTANTS.c" + std::to_string(value.index); },
          [&](const ScriptConstant::List& list) {
            if (list.items.empty()) return "annotate(List[" + list.element->annotation_str() + "], [])";
            return "[" + joined(list.items, text) + "]";
          },
          [&](const ScriptConstant::Tuple& tuple) {
            return "(" + joined(tuple.items, text) + (tuple.items.size() == 1 ? ",)" : ")");
          },
          [&](const ScriptConstant::Dict& dict) {
            const auto pair = [&](const auto& item) { return text(item.first) + ": " + text(item.second); };
            return "{" + joined(dict.items, pair) + "}";
          },
          [](const ScriptConstant::EnumMember& member) {
            return member.type->name() + "." + member.type->members()[member.index].name;
          },
          [](const ScriptConstant::FunctionValue& value) { return schema_of(*value.function).name; },
      },
      constant.variant());
}

}  // namespace fxtrace::internal::torchscript
