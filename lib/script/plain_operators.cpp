#include "script/plain_operators.h"

#include <algorithm>
#include <array>
#include <string>

#include "script/plain_call.h"
#include "script/plain_checks.h"
#include "script/plain_numbers.h"
#include "support/error.h"
#include "support/words.h"

namespace fxtrace::script {

// --- what the implementations share (plain_call.h) ---

void not_supported(const char* why) { throw Raised(why, RefusalKind::kUnsupported); }

PlainIndex index_by_name(std::initializer_list<PlainTable> tables) {
  PlainIndex index;
  for (const PlainTable& table : tables) {
    for (const PlainRow& row : table) {
      for_each_word(row.names, [&](std::string_view name) { index[name] = {name, row.run, false}; });
      for_each_word(row.narrowed, [&](std::string_view name) { index[name] = {name, row.run, true}; });
    }
  }
  return index;
}

const PlainOperator* find_row(const PlainIndex& index, std::string_view name) {
  const auto found = index.find(name);
  return found != index.end() ? &found->second : nullptr;
}

const Value& argument_of(ValueKind kind, Arguments arguments, std::size_t i, const char* why_not) {
  const Value& value = argument(arguments, i);
  if (value.kind() != kind) not_supported(why_not);
  return value;
}

std::int64_t int_argument(Arguments arguments, std::size_t i) {
  return argument_of(ValueKind::kInt, arguments, i, "a value is no integer").to_int();
}

bool bool_argument(Arguments arguments, std::size_t i) {
  return argument_of(ValueKind::kBool, arguments, i, "a value is no bool").to_bool();
}

double float_argument(Arguments arguments, std::size_t i) {
  const Value& value = argument(arguments, i);
  if (value.is_int()) return static_cast<double>(value.to_int());
  if (!value.is_double()) not_supported("a value is no real number");
  return value.to_double();
}

const std::string& text_argument(Arguments arguments, std::size_t i) {
  return argument_of(ValueKind::kString, arguments, i, "a value is no text").to_string();
}

ListValue& list_argument(Arguments arguments, std::size_t i) {
  return argument_of(ValueKind::kList, arguments, i, "a value is no list").to_list();
}

DictValue& dict_argument(Arguments arguments, std::size_t i) {
  return argument_of(ValueKind::kDict, arguments, i, "a value is no dict").to_dict();
}

bool equal(const Value& a, const Value& b) {
  const auto found = find_equal(a, b);
  if (!found) throw Raised("values that are too large are compared", RefusalKind::kLimit);
  return *found;
}

namespace {

constexpr std::size_t kCharactersInUnit = 16;

Value narrowed_result(const Value& result) {
  if (result.is_int()) return narrowed(result.to_int());
  return result.is_double() ? Value(double{static_cast<float>(result.to_double())}) : result;
}

std::string_view base_of(std::string_view name) { return name.substr(0, name.find('.')); }

}  // namespace

const PlainOperator* find_plain_operator(std::string_view name) {
  static const PlainIndex index = index_by_name(
      {number_operators(), math_operators(), text_operators(), container_operators(), other_operators()});
  const PlainOperator* row = find_row(index, name);
  return row != nullptr ? row : find_row(index, base_of(name));
}

std::optional<Refusal> carry_out(const PlainOperator& op, Traits traits, Arguments arguments,
                                 std::vector<Value>& results) {
  if (auto refusal = find_refusal(base_of(op.name), traits, arguments)) return refusal;
  const std::size_t before = results.size();
  try {
    op.run(arguments, results);
    if (op.narrows) results.back() = narrowed_result(results.back());
  } catch (Raised& raised) {
    results.resize(before);
    return std::move(raised.refusal);
  } catch (const Error& error) {
    // Arguments that no overload takes: code that is compiled does not give such ones.
    if (error.kind() != ErrorKind::kInternal) throw;
    results.resize(before);
    return Refusal{RefusalKind::kUnsupported, error.what()};
  }
  if (std::ranges::any_of(arguments, is_too_large) ||
      std::any_of(results.begin() + static_cast<std::ptrdiff_t>(before), results.end(), is_too_large)) {
    results.resize(before);
    return too_large();
  }
  return std::nullopt;
}

std::size_t length_of(const Value& value) {
  if (value.is_string()) return value.to_string().size() / kCharactersInUnit;
  if (value.is_list()) return value.items().size();
  return value.is_dict() ? value.to_dict().size() : 0;
}

std::size_t cost_of(std::string_view base_name, Arguments arguments) {
  static constexpr std::array<std::string_view, 6> kConstantTime{
      "aten::__getitem__", "aten::_set_item", "aten::append", "aten::get", "aten::len", "aten::setdefault"};
  if (std::ranges::find(kConstantTime, base_name) != kConstantTime.end()) return 1;
  constexpr std::size_t kComparedInUnit = 256;
  std::size_t units = 1 + std::min(search_steps(arguments), kMaxSearch) / kComparedInUnit;
  for (const Value& value : arguments) units += length_of(value);
  return units;
}

}  // namespace fxtrace::script
