#include "interpreter/state/findings.h"

#include <algorithm>
#include <cmath>

#include "interpreter/state/value_form.h"

namespace fxtrace::internal::interpreter {

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

// Returns whether a guard can state the value: a flag, a number, a string, or a few of them.
bool is_flag(const Value& value) {
  constexpr std::size_t kMaxElements = 16;
  const auto all = [](const auto& items) {
    return items.size() <= kMaxElements && std::all_of(items.begin(), items.end(), is_flag);
  };
  if (value.is_list()) return all(value.items());
  if (value.is_tuple()) return all(value.items());
  if (value.is_double()) return !std::isnan(value.to_double());  // NaN is equal to nothing
  return value.is_none() || value.is_bool() || value.is_int() || value.is_string();
}

bool is_same_argument(const std::optional<Value>& first, const std::optional<Value>& second) {
  return first.has_value() == second.has_value() && (!first || are_equal(*first, *second));
}

}  // namespace

bool SeenCalls::Arguments::operator==(const Arguments& other) const {
  return known == other.known && is_roots == other.is_roots &&
         std::ranges::equal(plain, other.plain, is_same_argument);
}

SeenCalls::Arguments SeenCalls::seen(const std::vector<Value>& arguments) {
  Arguments seen;
  for (const Value& argument : arguments) {
    seen.known.push_back(known_of_value(argument));
    forget_contents(seen.known.back());  // the elements of tensors depend on the call
    seen.plain.push_back(is_flag(argument) ? std::optional(deep_copy(argument)) : std::nullopt);
  }
  return seen;
}

void SeenCalls::join(Arguments& common_of, const Arguments& other) {
  common_of.known = common(common_of.known, other.known);
  for (std::size_t i = 0; i < common_of.plain.size(); ++i) {
    auto& argument = common_of.plain[i];
    if (argument && !(i < other.plain.size() && is_same_argument(argument, other.plain[i]))) argument.reset();
  }
  for (std::size_t i = 0; i < common_of.is_roots.size() && i < other.is_roots.size(); ++i) {
    if (other.is_roots[i]) common_of.is_roots[i] = true;
  }
}

void SeenCalls::remember(ModuleId caller, ModuleId module, const std::vector<Value>& arguments,
                         std::vector<bool> may_be_roots) {
  Arguments seen = SeenCalls::seen(arguments);
  seen.is_roots = std::move(may_be_roots);
  std::vector<Call>& calls = calls_[caller];
  // A loop repeats the same call.
  const bool again = !calls.empty() && calls.back().module == module && calls.back().arguments == seen;
  if (again) return;
  places_[module].emplace(caller, calls.size());
  calls.push_back({module, std::move(seen)});
}

void SeenCalls::remember_open(ModuleId module, const std::vector<Value>& arguments) {
  Arguments seen = SeenCalls::seen(arguments);
  const auto [known, is_new] = open_.try_emplace(module, seen);
  if (!is_new) join(known->second, seen);
}

SeenCalls::Arguments SeenCalls::common_arguments(ModuleId module) const {
  const auto places = places_.find(module);
  if (places == places_.end()) return {};
  std::optional<Arguments> result;
  for (const auto& [caller, index] : places->second) {
    const Arguments& arguments = calls_.at(caller)[index].arguments;
    if (result) {
      join(*result, arguments);
    } else {
      result = arguments;
      result->is_roots.resize(arguments.plain.size());
    }
  }
  if (!result) return {};
  if (const auto open = open_.find(module); open != open_.end()) {
    const Arguments& other = open->second;
    for (std::size_t i = 0; i < result->is_roots.size() && i < other.plain.size(); ++i) {
      if (is_same_argument(result->plain[i], other.plain[i]) && result->known[i] == other.known[i])
        result->is_roots[i] = false;
    }
  }
  return std::move(*result);
}

const SeenCalls::Arguments& SeenCalls::use(ModuleId module) {
  return used_[module] = common_arguments(module);
}

bool SeenCalls::changed(ModuleId module) const {
  const auto used = used_.find(module);
  return used != used_.end() && !(used->second == common_arguments(module));
}

void Findings::report_invalid(ModuleId module, const IrNode* node, const std::string& message) {
  if (invalid_.empty()) first_invalid_ = message;
  invalid_.emplace(module, node);
}

std::optional<Diagnostic> Findings::invalid_calls() const {
  if (invalid_.empty()) return std::nullopt;
  Diagnostic invalid{"{}; shapes are unknown from there", {first_invalid_}};
  if (const std::size_t more = invalid_.size() - 1; more > 0)
    invalid.add(more == 1 ? ", and from {} more call like that" : ", and from {} more calls like that",
                {std::to_string(more)});
  return invalid;
}

}  // namespace fxtrace::internal::interpreter
