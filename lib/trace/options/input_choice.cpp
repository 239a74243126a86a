#include "trace/options/input_choice.h"

#include <algorithm>
#include <cmath>

#include "support/text/nearest.h"

namespace fxtrace::internal {

bool is_concrete_placeholder(const Argument& value) {
  const auto* text = value.get_if<std::string>();
  return text != nullptr && *text == kConcretePlaceholder;
}

std::optional<double> find_float(const Argument& value) {
  if (const auto* number = value.get_if<double>()) return *number;
  const auto* dict = value.get_if<Argument::Dict>();
  if (dict == nullptr || dict->items.size() != 1 || dict->items[0].key != Argument("float"))
    return std::nullopt;
  const Argument& name = dict->items[0].value;
  if (name == Argument("inf")) return HUGE_VAL;
  if (name == Argument("-inf")) return -HUGE_VAL;
  return name == Argument("nan") ? std::optional(std::nan("")) : std::nullopt;
}

void check_input_name(const std::string& name, const std::vector<std::string>& names,
                      const std::function<void(const std::string&)>& fail) {
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  fail("no input named '" + name + "'" + did_you_mean(name, names));
}

InputChoice::InputChoice(const TraceOptions& options, const std::vector<std::string>& names,
                         const std::function<void(const std::string&)>& fail)
    : options_(options) {
  for (const auto& concrete : options.concrete) check_input_name(concrete.name, names, fail);
  if (!options.input_names) return;
  for (const auto& name : *options.input_names) check_input_name(name, names, fail);
}

InputChoice::Decision InputChoice::decide(const std::string& name) const {
  using Kind = Decision::Kind;
  const auto concrete = std::find_if(options_.concrete.rbegin(), options_.concrete.rend(),
                                     [&](const ConcreteArg& item) { return item.name == name; });
  if (concrete != options_.concrete.rend()) {
    if (is_concrete_placeholder(concrete->value)) return {Kind::kRemains, true, nullptr};
    return {Kind::kFixed, true, &concrete->value};
  }
  const auto& names = options_.input_names;
  if (!names) return {};
  const bool is_named = std::find(names->begin(), names->end(), name) != names->end();
  return {is_named ? Kind::kRemains : Kind::kDefault, is_named, nullptr};
}

std::string InputChoice::no_default(const std::string& name) {
  return "input '" + name + "' is not among --input-names and has no default";
}

}  // namespace fxtrace::internal
