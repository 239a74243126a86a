// Adds options with a value, and checks values with messages for users.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "support/error.h"
#include "support/text/did_you_mean.h"
#include "support/text/numbers.h"
#include "support/text/words.h"

namespace fxtrace::internal::cli {

// `type` is the word for the value in the help: "FILE".
template <class T>
CLI::Option* add_value(CLI::App& app, const char* group, const std::string& name, T& value,
                       const std::string& type, const std::string& help) {
  return app.add_option(name, value, help)->type_name(type)->group(group);
}

// Adds an option that may be repeated; the last value counts.
template <class T>
CLI::Option* add_last_value(CLI::App& app, const char* group, const std::string& name, T& value,
                            const std::string& type, const std::string& help) {
  return add_value(app, group, name, value, type, help)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

// A check for CLI::Option::check(): returns an error text, or an empty one if the value is good.
inline std::function<std::string(const std::string&)> integer_from(std::int64_t least) {
  return [least](const std::string& text) -> std::string {
    const auto value = number_in<std::int64_t>(text);
    if (value && *value >= least) return {};
    const std::string_view digits = std::string_view(text).substr(text.starts_with('-') ? 1 : 0);
    if (!value && !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos)
      return "expected an integer of 64 bits, got '" + text + "'";
    return "expected an integer of at least " + std::to_string(least) + ", got '" + text + "'";
  };
}

inline std::function<std::string(const std::string&)> number_from_0() {
  return [](const std::string& text) -> std::string {
    const auto value = number_in<double>(text);
    if (value && *value >= 0) return {};
    return "expected a number of at least 0, got '" + text + "'";
  };
}

inline std::function<std::string(const std::string&)> one_of(const std::vector<std::string>& words) {
  return [words](const std::string& text) -> std::string {
    if (std::ranges::find(words, text) != words.end()) return {};
    return "expected " + listed(words, " or ") + ", got '" + text + "'";
  };
}

// Returns the indices in `names` of the items of a list such as "shapes,nodes".  Throws Error(kUsage) for an
// unknown item; `unknown` begins the message: "--only: unknown kind of difference".
inline std::vector<std::size_t> places_of(const std::string& list, const std::vector<std::string>& names,
                                          const std::string& unknown, const std::string& hint) {
  std::vector<std::size_t> places;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    const std::string item = list.substr(at, end - at);
    at = end + 1;
    const auto found = std::ranges::find(names, item);
    if (found == names.end())
      throw usage_error(unknown + " '" + item + "'" + did_you_mean(item, names), {hint + joined(names)});
    places.push_back(static_cast<std::size_t>(found - names.begin()));
  }
  return places;
}

}  // namespace fxtrace::internal::cli
