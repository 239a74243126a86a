// Algorithms on arguments (fxtrace/argument.h) and on what has them.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "fxtrace/argument.h"

namespace fxtrace::internal {

using fxtrace::Argument;
using fxtrace::NodeId;

// Calls f(NodeId) for every reference in `argument`, in order, nested ones included.
template <class F>
void for_each_reference(const Argument& argument, F&& f) {
  for_each_value(argument, [&](const Argument& value) {
    if (const auto* reference = value.get_if<NodeId>()) f(*reference);
  });
}

// Calls f for each argument of a node, or of anything else that has args and kwargs.
template <class Call, class F>
void for_each_argument(const Call& call, F&& f) {
  for (const auto& argument : call.args) f(argument);
  for (const auto& [name, argument] : call.kwargs) f(argument);
}
// Calls f(NodeId) for every reference among the arguments, nested ones included.
template <class Call, class F>
void for_each_input(const Call& call, F&& f) {
  for_each_argument(call, [&](const auto& argument) { for_each_reference(argument, f); });
}

// Returns the argument for the function's parameter at position `place`, named `name`; null when it was not
// given.
template <class Call>
const Argument* find_argument(const Call& call, std::size_t place, std::string_view name) {
  if (place < call.args.size()) return &call.args[place];
  for (const auto& [given, argument] : call.kwargs) {
    if (given == name) return &argument;
  }
  return nullptr;
}

// Returns a copy of the argument in which f(NodeId), an Argument, replaces every reference.
template <class F>
Argument map_references(const Argument& argument, F&& f) {
  const auto each = [&](const std::vector<Argument>& items) {
    std::vector<Argument> result;
    result.reserve(items.size());
    for (const Argument& item : items) result.push_back(map_references(item, f));
    return result;
  };
  if (const auto* reference = argument.get_if<NodeId>()) return f(*reference);
  if (const auto* list = argument.get_if<Argument::List>()) return Argument::List{each(list->items)};
  if (const auto* tuple = argument.get_if<Argument::Tuple>())
    return Argument::Tuple{each(tuple->items), tuple->names};
  if (const auto* slice = argument.get_if<Argument::Slice>()) return Argument::Slice{each(slice->parts)};
  const auto* dict = argument.get_if<Argument::Dict>();
  if (dict == nullptr) return argument;
  Argument::Dict result;
  for (const auto& [key, item] : dict->items)
    result.items.push_back({map_references(key, f), map_references(item, f)});
  return result;
}

}  // namespace fxtrace::internal
