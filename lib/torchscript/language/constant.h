// Constant values of code: literals, defaults of arguments, constants of the IR.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace fxtrace::internal::torchscript {

class ClassType;
class EnumType;
class Function;
class Type;
using TypePtr = std::shared_ptr<const Type>;

class ScriptConstant {
 public:
  struct None {
    bool operator==(const None&) const = default;
  };
  struct Device {
    std::string text;  // "cpu", "cuda:0"
    bool operator==(const Device&) const = default;
  };
  // An entry of the archive's table of constants (CONSTANTS.c3), nearly always a tensor.
  struct TableEntry {
    std::size_t index = 0;
    bool operator==(const TableEntry&) const = default;
  };
  struct List {
    TypePtr element;
    std::vector<ScriptConstant> items;
    bool operator==(const List& other) const;
  };
  struct Tuple {
    std::vector<ScriptConstant> items;
    bool operator==(const Tuple& other) const;
  };
  struct Dict {
    TypePtr key, value;
    std::vector<std::pair<ScriptConstant, ScriptConstant>> items;
    bool operator==(const Dict& other) const;
  };
  struct EnumMember {
    std::shared_ptr<const EnumType> type;
    std::size_t index = 0;  // index among its members
    bool operator==(const EnumMember& other) const = default;
  };
  struct FunctionValue {
    Function* function = nullptr;
    bool operator==(const FunctionValue&) const = default;
  };
  using Variant = std::variant<None, bool, std::int64_t, double, std::complex<double>, std::string, Device,
                               TableEntry, List, Tuple, Dict, EnumMember, FunctionValue>;

  ScriptConstant() = default;
  ScriptConstant(Variant value) : value_(std::move(value)) {}      // NOLINT: a literal is a constant
  ScriptConstant(None) {}                                          // NOLINT
  ScriptConstant(bool value) : value_(value) {}                    // NOLINT
  ScriptConstant(std::int64_t value) : value_(value) {}            // NOLINT
  ScriptConstant(double value) : value_(value) {}                  // NOLINT
  ScriptConstant(std::string value) : value_(std::move(value)) {}  // NOLINT
  ScriptConstant(const char*) = delete;                            // would be a bool

  template <class T>
  bool is() const {
    return std::holds_alternative<T>(value_);
  }
  template <class T>
  const T* get_if() const {
    return std::get_if<T>(&value_);
  }
  bool is_none() const { return is<None>(); }
  const Variant& variant() const { return value_; }

  // Numbers are equal when their types and bit patterns are, so nan equals nan and -0.0 differs from 0.0.
  bool operator==(const ScriptConstant& other) const;

 private:
  Variant value_;
};

// Returns the type of the value.  `table_type` is the type of an entry of the table of constants.
TypePtr type_of(const ScriptConstant& constant, const TypePtr& table_type);

// Returns the text in double quotes, escaped as by LibTorch.
std::string quoted(std::string_view text);
// Returns the text by which LibTorch prints it in a graph: 1, 0.5, "text", [1, 2], annotate(List[int], []).
std::string to_text(const ScriptConstant& constant);

}  // namespace fxtrace::internal::torchscript
