// An engine without LibTorch: integers, texts, containers, and tensors that are sizes and one number.  It has
// the few operators that tests of lib/verify call; any other fails as LibTorch does, with a message.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "execute/plugin.h"
#include "verify/calls/engine.h"

struct FxtraceValue {
  FxtraceKind kind = kFxtraceNone;
  std::int64_t number = 0;  // of a bool, an int or a tensor
  std::string text;
  std::vector<FxtraceValue> items, keys;
  std::vector<std::int64_t> sizes;  // of a tensor
};

namespace fxtrace::internal::verify {

inline std::string& fake_failure() {
  static std::string text;
  return text;
}

inline FxtraceValue* make_fake(FxtraceKind kind, std::int64_t number = 0, std::string text = {}) {
  return new FxtraceValue{kind, number, std::move(text), {}, {}, {}};
}

inline FxtraceValue* fake_container(FxtraceKind kind, FxtraceValue* const* items, std::size_t count) {
  FxtraceValue* value = make_fake(kind);
  for (std::size_t i = 0; i < count; ++i) value->items.push_back(*items[i]);
  return value;
}

// add, sub, mul, comparisons, size and dim.
inline FxtraceValue* call_fake(const char* name, const char* /*overload*/, const FxtraceArguments* given) {
  const std::string op = name;
  std::vector<const FxtraceValue*> args(given->positional, given->positional + given->positional_count);
  if (op == "aten::dim") return make_fake(kFxtraceInt, static_cast<std::int64_t>(args.at(0)->sizes.size()));
  if (op == "aten::size" && args.size() == 2)
    return make_fake(kFxtraceInt, args[0]->sizes.at(static_cast<std::size_t>(args[1]->number)));
  if (args.size() == 2 && args[0]->kind == args[1]->kind) {
    const std::int64_t a = args[0]->number, b = args[1]->number;
    const std::map<std::string, std::int64_t> numbers = {
        {"aten::add", a + b}, {"aten::sub", a - b}, {"aten::mul", a * b}};
    const std::map<std::string, bool> answers = {{"aten::eq", a == b}, {"aten::ne", a != b},
                                                 {"aten::lt", a < b},  {"aten::le", a <= b},
                                                 {"aten::gt", a > b},  {"aten::ge", a >= b}};
    if (const auto found = numbers.find(op); found != numbers.end()) {
      FxtraceValue* result = make_fake(args[0]->kind, found->second);
      result->sizes = args[0]->sizes;
      return result;
    }
    if (const auto found = answers.find(op); found != answers.end())
      return make_fake(kFxtraceBool, found->second ? 1 : 0);
  }
  fake_failure() = "no fake for " + op;
  return nullptr;
}

inline const FxtraceEngine& fake_api() {
  static const FxtraceEngine api = [] {
    FxtraceEngine fake{};
    fake.failure = [] { return fake_failure().c_str(); };
    fake.release = [](FxtraceValue* value) { delete value; };
    fake.none = [] { return make_fake(kFxtraceNone); };
    fake.boolean = [](bool value) { return make_fake(kFxtraceBool, value ? 1 : 0); };
    fake.integer = [](std::int64_t value) { return make_fake(kFxtraceInt, value); };
    fake.text = [](const char* data, std::size_t size) {
      return make_fake(kFxtraceText, 0, std::string(data, size));
    };
    fake.list = [](FxtraceValue* const* items, std::size_t count) {
      return fake_container(kFxtraceList, items, count);
    };
    fake.tuple = [](FxtraceValue* const* items, std::size_t count) {
      return fake_container(kFxtraceTuple, items, count);
    };
    fake.dict = [](FxtraceValue* const* keys, FxtraceValue* const* values, std::size_t count) {
      FxtraceValue* value = fake_container(kFxtraceDict, values, count);
      for (std::size_t i = 0; i < count; ++i) value->keys.push_back(*keys[i]);
      return value;
    };
    fake.kind = [](FxtraceValue* value) { return value->kind; };
    fake.as_bool = [](FxtraceValue* value) { return value->number != 0; };
    fake.as_int = [](FxtraceValue* value) { return value->number; };
    fake.as_text = [](FxtraceValue* value) { return value->text.c_str(); };
    fake.size = [](FxtraceValue* value) {
      return value->kind == kFxtraceTensor ? value->sizes.size() : value->items.size();
    };
    fake.item = [](FxtraceValue* value, std::size_t index) {
      return new FxtraceValue(value->items.at(index));
    };
    fake.key = [](FxtraceValue* value, std::size_t index) { return new FxtraceValue(value->keys.at(index)); };
    fake.extent = [](FxtraceValue* tensor, std::size_t dimension) { return tensor->sizes.at(dimension); };
    fake.call = call_fake;
    fake.leave_modes = [] {};
    return fake;
  }();
  return api;
}

inline RunValue fake_tensor(std::vector<std::int64_t> sizes, std::int64_t number = 0) {
  FxtraceValue* value = make_fake(kFxtraceTensor, number);
  value->sizes = std::move(sizes);
  return {fake_api(), value};
}

// "(1, [2, 'a'], {k: None})"
inline std::string fake_text(const FxtraceValue& value) {
  const auto all = [&](const char* open, const char* close) {
    std::string text = open;
    for (std::size_t i = 0; i < value.items.size(); ++i) {
      text += i > 0 ? ", " : "";
      if (!value.keys.empty()) text += fake_text(value.keys[i]) + ": ";
      text += fake_text(value.items[i]);
    }
    return text + close;
  };
  switch (value.kind) {
    case kFxtraceNone:
      return "None";
    case kFxtraceBool:
      return value.number != 0 ? "True" : "False";
    case kFxtraceText:
      return "'" + value.text + "'";
    case kFxtraceTensor:
      return "tensor " + std::to_string(value.number);
    case kFxtraceList:
      return all("[", "]");
    case kFxtraceTuple:
      return all("(", ")");
    case kFxtraceDict:
      return all("{", "}");
    default:
      return std::to_string(value.number);
  }
}

}  // namespace fxtrace::internal::verify
