#include "opinfo/evaluate.h"

#include <algorithm>

#include "opinfo/operator_entry.h"
#include "opinfo/values/list_changes.h"
#include "support/log.h"
#include "support/text/words.h"

namespace fxtrace::internal {

namespace {

bool is_known_tensor(const AbstractValue& value) {
  if (const auto* items = value.sequence()) return std::ranges::all_of(*items, is_known_tensor);
  const TensorInfo* info = value.tensor();
  const TensorContent* content = info != nullptr ? info->find_content() : nullptr;
  return info == nullptr || (content != nullptr && content->array != nullptr);
}

// Returns whether all tensor arguments have known elements.  This also refuses zeros_like(x) of an unknown x,
// whose value needs no element of x: it would rely on the sizes of x, which no guard of the model covers.
bool are_tensors_known(const RuleArguments& args) {
  const CallArguments& values = args.values();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!values.is_literal(i) && !is_known_tensor(values[i])) return false;
  }
  return true;
}

std::string op_text(const RuleArguments& args) {
  return args.op().target.empty() ? std::string(args.name()) : args.op().target;
}

std::string to_text(const Results& results) {
  const auto text_of = [](const AbstractValue& value) {
    const TensorInfo* info = value.tensor();
    return info != nullptr && info->find_content() ? values::to_text(*info->content->array)
                                                   : std::string("...");
  };
  return joined(results, text_of);
}

}  // namespace

std::optional<Results> evaluate(const RuleArguments& args, const Results& shapes) {
  const ValueRule rule = args.op().value;
  if (rule == nullptr) return std::nullopt;
  const bool gives_tensor =
      std::ranges::any_of(shapes, [](const AbstractValue& shape) { return !shape.is_unknown(); });
  try {
    if (gives_tensor && rule != values::sizes_as_tensor && !are_tensors_known(args)) return std::nullopt;
    Results results = rule({args, shapes});
    if (gives_tensor && log::is_enabled())
      log::info("the value of " + op_text(args) + " is " + to_text(results));
    return results;
  } catch (const CannotTell&) {
  } catch (const SymbolicError&) {
  } catch (const Raises&) {
  }
  if (gives_tensor && log::is_enabled()) log::info("the value of " + op_text(args) + " cannot be told");
  return std::nullopt;
}

Evaluated evaluate_plain(const RuleArguments& args) {
  auto results = evaluate(args, {});
  if (!results || results->empty()) return {};
  if (results->size() > 1) return {std::nullopt, {AbstractValue::Sequence(*std::move(results))}};
  AbstractValue& value = results->front();
  // An item of a list gets a node even when it is known: the model may change the list.
  const bool is_item =
      (args.traits() & (traits::kMovesElements | traits::kGivesSize)) == traits::kMovesElements;
  const SymInt* integer = value.integer();
  const bool is_plain =
      !is_item &&
      (integer != nullptr
           ? integer->is_number()
           : value.is_none() || value.get_if<bool>() != nullptr || value.get_if<double>() != nullptr ||
                 value.get_if<std::string>() != nullptr || value.get_if<std::complex<double>>() != nullptr);
  if (is_plain) return {std::move(value), {}};
  return {std::nullopt, std::move(value)};
}

std::optional<ChangedList> changed_list(std::string_view name, const CallArguments& values) {
  const ListChange change = list_change(name);
  const auto* items = change == ListChange::kNone || values.size() == 0 ? nullptr : values[0].sequence();
  if (items == nullptr) return std::nullopt;
  AbstractValue::Sequence list = *items;
  AbstractValue taken;
  const auto literal = [&](std::size_t i) -> std::optional<std::int64_t> {
    const SymInt* integer = i < values.size() ? values[i].integer() : nullptr;
    return integer != nullptr && values.is_literal(i) ? integer->number() : std::nullopt;
  };
  const auto place = [&]() -> std::optional<std::size_t> {
    if (values.size() < 2) return find_position(std::ssize(list), -1);
    const auto position = literal(1);
    return position ? find_position(std::ssize(list), position) : std::nullopt;
  };
  const auto expects = [&](std::size_t arguments) {
    return values.size() == arguments && list.size() < kMostItems;
  };
  switch (change) {
    case ListChange::kReverse:
      std::ranges::reverse(list);
      break;
    case ListChange::kClear:
      list.clear();
      break;
    case ListChange::kAppend:
      if (!expects(2)) return std::nullopt;
      list.push_back(values[1]);
      break;
    case ListChange::kExtend: {
      const auto* more = values.size() == 2 ? values[1].sequence() : nullptr;
      if (more == nullptr || list.size() + more->size() > kMostItems) return std::nullopt;
      append_items(list, *more);
      break;
    }
    case ListChange::kInsert: {
      const auto position = literal(1);
      if (!position || !expects(3)) return std::nullopt;
      insert_item(list, *position, values[2]);
      break;
    }
    case ListChange::kSetItem: {
      const auto at = place();
      if (!at || values.size() != 3) return std::nullopt;
      list[*at] = values[2];
      break;
    }
    default: {
      const auto at = place();
      if (!at) return std::nullopt;
      taken = take_item(list, *at);
    }
  }
  return ChangedList{std::move(list), std::move(taken)};
}

}  // namespace fxtrace::internal
