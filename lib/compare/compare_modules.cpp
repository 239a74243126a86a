// Compares modules of two collections: types, states and plain values.
#include "compare/comparer.h"

#include <algorithm>
#include <map>

#include "graph/analysis/text_form.h"
#include "operators/names/modules.h"
#include "support/text/qualified_name.h"

namespace fxtrace::internal {
namespace {

std::string failure_text(const Failure& failure) {
  return std::string(to_string(failure.kind)) + ": " + failure.message;
}

std::string status_text(const ModuleRecord& module) {
  std::string text = to_string(module.status);
  if (module.status == ModuleStatus::kFailed && module.failure) text += ": " + module.failure->message;
  return text;
}

}  // namespace

bool Comparer::is_unseen(const ModuleRecord& called, const ModuleRecord& other, bool is_added) const {
  if (side(!is_added).is_torchscript() || other.status != ModuleStatus::kUnvisited) return false;
  if (called.status == ModuleStatus::kTraced)
    return two_kinds_ && !side(is_added).working.contains(called.path);
  return called.status == ModuleStatus::kLeaf &&
         (traits_of_module(called.type) & module_traits::kIdentity) != 0;
}

bool Comparer::is_unseen(const ModuleRecord& a, const ModuleRecord& b) const {
  return is_unseen(a, b, false) || is_unseen(b, a, true);
}

bool Comparer::is_unseen_call(const Node& node, bool is_added) const {
  if (node.op != Opcode::kCallModule) return false;
  const PairedModules& modules = pairs_.side(is_added);
  const std::size_t called = modules.find_module(called_module(node));
  if (called == kNone || !modules.has_partner(called)) return false;
  return is_unseen(modules[called], pairs_.side(!is_added)[modules.partner(called)], is_added);
}

void Comparer::compare_modules() {
  const auto for_each_module = [](const PairedModules& modules, auto&& f) {
    for (std::size_t i = 0; i < modules.modules.size(); ++i) {
      if (modules.find_module(modules[i].path) == i) f(i);
    }
  };
  for_each_module(pairs_.before(), [&](std::size_t i) {
    if (pairs_.before().has_partner(i)) {
      compare_module(i, pairs_.before().partner(i));
    } else {
      one_sided_module(i, Change::kRemoved);
    }
  });
  for_each_module(pairs_.after(), [&](std::size_t j) {
    if (!pairs_.after().has_partner(j)) one_sided_module(j, Change::kAdded);
  });
}

void Comparer::one_sided_module(std::size_t module, Change change) {
  const bool is_added = change == Change::kAdded;
  const PairedModules& modules = pairs_.side(is_added);
  Difference difference{.kind = DifferenceKind::kModules, .change = change, .subject = modules[module].path};
  const std::string path(is_added ? pairs_.path_before(difference.subject) : difference.subject);
  // The difference of the module that is wrapped covers the wrapper.
  difference.within = modules.is_wrapper(module)
                          ? path
                          : unless_itself(cover(is_added, difference.subject), difference.subject);
  if (!difference.within) ++groups_[group_of(path)].modules;
  add(path, std::move(difference));
}

void Comparer::compare_module(std::size_t i, std::size_t j) {
  const ModuleRecord& a = pairs_.before()[i];
  const ModuleRecord& b = pairs_.after()[j];
  const auto within = unless_itself(cover(false, a.path), a.path);
  const auto change = [&](const char* field, std::optional<std::string> before,
                          std::optional<std::string> after) {
    add_change(a.path, DifferenceKind::kModules, a.path, field, std::move(before), std::move(after), within);
  };
  if (a.path != b.path && !is_moved_with_parent(i, j)) {
    Difference moved{
        .kind = DifferenceKind::kModules, .change = Change::kMoved, .subject = a.path, .other = b.path};
    const std::size_t left = pairs_.before().wrapper_of(i);
    const std::size_t entered = pairs_.after().wrapper_of(j);
    if (left != kNone) moved.before = pairs_.before()[left].type;
    if (entered != kNone) moved.after = pairs_.after()[entered].type;
    if (moved.before || moved.after) moved.field = "wrapper";
    add(a.path, std::move(moved));
  }
  if (qualified_type(a.type) != qualified_type(b.type) && !a.type.empty() && !b.type.empty())
    change("type", a.type, b.type);
  if (a.status != b.status) {
    if (!is_unseen(a, b)) change("status", status_text(a), status_text(b));
  } else if (a.failure && b.failure && failure_text(*a.failure) != failure_text(*b.failure)) {
    change("failure", failure_text(*a.failure), failure_text(*b.failure));
  }
  std::optional<std::string> alias = b.alias_of;
  if (alias) alias = std::string(pairs_.path_before(*alias));
  if (a.alias_of != alias) change("alias_of", a.alias_of, b.alias_of);
  const std::size_t parent = pairs_.before().parents[i];
  const std::size_t parent_after = parent == kNone ? kNone : pairs_.before().partner(parent);
  const bool follows_parent =
      parent_after != kNone && pairs_.before()[parent].calls != pairs_.after()[parent_after].calls;
  if (a.calls != b.calls && a.status == b.status && !follows_parent) {
    add_change(a.path, DifferenceKind::kOrder, a.path, "calls", std::to_string(a.calls),
               std::to_string(b.calls), within);
  }
  compare_attributes(a, b);
}

bool Comparer::is_moved_with_parent(std::size_t i, std::size_t j) const {
  const std::size_t parent = pairs_.before().parents[i];
  return parent != kNone && pairs_.before().partner(parent) == pairs_.after().parents[j] &&
         QualifiedName(pairs_.before()[i].path).last() == QualifiedName(pairs_.after()[j].path).last();
}

bool Comparer::has_all_attributes(const GraphCollection& collection) {
  return collection.model.is_torchscript() &&
         std::ranges::any_of(collection.modules, [](const ModuleRecord& module) {
           return std::ranges::any_of(module.attributes, [](const auto& attribute) {
             return attribute.first != "training" && attribute.first != "_is_full_backward_hook";
           });
         });
}

bool Comparer::is_repeated(const Argument& number, const Argument& list) {
  const auto* items = list.get_if<Argument::List>();
  return items != nullptr && !items->items.empty() && number.get_if<Argument::List>() == nullptr &&
         std::ranges::all_of(items->items, [&](const Argument& item) { return is_same_plain(number, item); });
}

bool Comparer::is_equal_number(const Argument& a, const Argument& b) {
  const auto* integer = (a.is<double>() ? b : a).get_if<std::int64_t>();
  const auto* real = (a.is<double>() ? a : b).get_if<double>();
  return integer != nullptr && real != nullptr && static_cast<double>(*integer) == *real;
}

void Comparer::compare_attributes(const ModuleRecord& a, const ModuleRecord& b) {
  if (a.attributes.empty() && b.attributes.empty()) return;
  std::map<std::string_view, const Argument*> others;
  for (const auto& [name, value] : b.attributes) others.emplace(name, &value);
  const bool are_known = all_attributes_ && qualified_type(a.type) == qualified_type(b.type);
  const bool is_exported = !before_.is_torchscript() || !after_.is_torchscript();
  const auto change = [&](std::string_view name, const Argument* before, const Argument* after) {
    const auto is_none = [](const Argument* value) {
      return value == nullptr || value->get_if<Argument::None>() != nullptr;
    };
    if (before == nullptr || after == nullptr ? !are_known || (is_none(before) && is_none(after))
                                              : is_same_plain(*before, *after))
      return;
    if (before != nullptr && after != nullptr && is_exported &&
        (is_equal_number(*before, *after) || is_repeated(*before, *after) || is_repeated(*after, *before)))
      return;
    const auto text = [&](const Argument* value) {
      return value == nullptr ? std::nullopt : std::optional(print_argument(*value));
    };
    resized_.insert(a.path);
    add_change(a.path, DifferenceKind::kArguments, a.path, std::string(name), text(before), text(after));
  };
  for (const auto& [name, value] : a.attributes) {
    const auto other = others.find(name);
    change(name, &value, other == others.end() ? nullptr : other->second);
    if (other != others.end()) others.erase(other);
  }
  for (const auto& [name, value] : others) change(name, nullptr, value);
}

}  // namespace fxtrace::internal
