#include "torchscript/seen_calls.h"

#include <algorithm>
#include <cmath>

#include "torchscript/abstract.h"

namespace fxtrace::torchscript {

std::size_t SeenCalls::count(ModuleId caller) const {
  const auto calls = calls_.find(caller);
  return calls == calls_.end() ? 0 : calls->second.size();
}

void SeenCalls::forget(ModuleId caller, std::size_t from) {
  const auto found = calls_.find(caller);
  if (found == calls_.end()) return;
  std::vector<Call>& calls = found->second;
  for (; calls.size() > from; calls.pop_back())
    places_[calls.back().module].erase({caller, calls.size() - 1});
}

namespace {

// A flag, a number, a word, or a few of them: what a guard can say.
bool is_flag(const Value& value) {
  constexpr std::size_t kMaxElements = 16;
  const auto all = [](const auto& items) {
    return items.size() <= kMaxElements && std::all_of(items.begin(), items.end(), is_flag);
  };
  if (value.is_list()) return all(value.items());
  if (value.is_tuple()) return all(value.items());
  if (value.is_double()) return !std::isnan(value.to_double());  // which is equal to nothing
  return value.is_none() || value.is_bool() || value.is_int() || value.is_string();
}

}  // namespace

bool SeenCalls::Arguments::operator==(const Arguments& other) const {
  return known == other.known && is_concrete == other.is_concrete && plain.size() == other.plain.size() &&
         std::equal(plain.begin(), plain.end(), other.plain.begin(), [](const auto& a, const auto& b) {
           return a.has_value() == b.has_value() && (!a || are_equal(*a, *b));
         });
}

void SeenCalls::remember(ModuleId caller, ModuleId module, const std::vector<Value>& arguments,
                         std::vector<bool> is_concrete) {
  Arguments seen;
  seen.is_concrete = std::move(is_concrete);
  for (const Value& argument : arguments) {
    seen.known.push_back(known_of_value(argument));
    forget_contents(seen.known.back());  // what tensors hold depends on the call
    seen.plain.push_back(is_flag(argument) ? std::optional(deep_copy(argument)) : std::nullopt);
  }
  std::vector<Call>& calls = calls_[caller];
  // In a loop.
  const bool again = !calls.empty() && calls.back().module == module && calls.back().arguments == seen;
  if (again) return;
  places_[module].emplace(caller, calls.size());
  calls.push_back({module, std::move(seen)});
}

SeenCalls::Arguments SeenCalls::common_arguments(ModuleId module) const {
  const auto places = places_.find(module);
  if (places == places_.end()) return {};
  std::optional<Arguments> result;
  for (const auto& [caller, index] : places->second) {
    const Arguments& arguments = calls_.at(caller)[index].arguments;
    if (!result) {
      result = arguments;
      continue;
    }
    result->known = common(result->known, arguments.known);
    for (std::size_t i = 0; i < result->is_concrete.size() && i < arguments.is_concrete.size(); ++i) {
      if (arguments.is_concrete[i]) result->is_concrete[i] = true;
    }
    for (std::size_t i = 0; i < result->plain.size(); ++i) {
      auto& argument = result->plain[i];
      const auto& other = arguments.plain;
      if (argument && !(i < other.size() && other[i] && are_equal(*argument, *other[i]))) argument.reset();
    }
  }
  return result.value_or(Arguments());
}

const SeenCalls::Arguments& SeenCalls::use(ModuleId module) {
  return used_[module] = common_arguments(module);
}

bool SeenCalls::changed(ModuleId module) const {
  const auto used = used_.find(module);
  return used != used_.end() && !(used->second == common_arguments(module));
}

}  // namespace fxtrace::torchscript
