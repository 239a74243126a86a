// Compares the order of nodes, of calls of modules and of parameters, and the guards.
#include "compare/comparer.h"

#include <algorithm>
#include <functional>

#include "support/text/qualified_name.h"

namespace fxtrace::internal {

std::vector<Comparer::Moved> Comparer::find_moved(const std::vector<Place>& numbers) {
  const std::vector<bool> stays = longest_increasing(numbers);
  std::vector<Moved> moved;
  if (std::ranges::all_of(stays, std::identity{})) return moved;
  std::vector<std::size_t> by_number(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) by_number[i] = i;
  std::ranges::sort(by_number, {}, [&](std::size_t i) { return numbers[i]; });
  std::vector<std::size_t> previous(numbers.size(), kNone);
  for (std::size_t k = 1; k < by_number.size(); ++k) previous[by_number[k]] = by_number[k - 1];
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (!stays[i]) moved.push_back({i, i == 0 ? kNone : i - 1, previous[i]});
  }
  return moved;
}

void Comparer::compare_order(const Current& now) {
  std::unordered_map<std::uint64_t, std::vector<Place>> by_scope;  // nodes of the first graph
  std::vector<std::uint64_t> scopes;
  for (Place i = 0; i < now.before.size(); ++i) {
    const Place j = now.nodes.in_after(i);
    // The place where a parameter or a size is read, or a result is unpacked, does not matter; that of its
    // uses does.
    const Node& node = now.before[i];
    const bool is_read =
        node.op == Opcode::kGetAttr || (two_kinds_ && (node.target == "operator.getitem" || is_size(node)));
    if (j == kNoPlace || is_read) continue;
    if (now.before.scope(i) != now.after.scope(j)) continue;
    auto& nodes = by_scope[now.before.scope(i)];
    if (nodes.empty()) scopes.push_back(now.before.scope(i));
    nodes.push_back(i);
  }
  for (const std::uint64_t scope : scopes) {
    const std::vector<Place>& nodes = by_scope[scope];
    std::vector<Place> numbers;
    numbers.reserve(nodes.size());
    for (const Place i : nodes) numbers.push_back(now.nodes.in_after(i));
    for (const Moved& moved : find_moved(numbers)) {
      const Place i = nodes[moved.item];
      Difference difference = node_difference(now, i, DifferenceKind::kOrder);
      difference.change = Change::kMoved;
      if (moved.before != kNone) difference.before = now.before[nodes[moved.before]].name;
      if (moved.after != kNone) difference.after = now.after[now.nodes.in_after(nodes[moved.after])].name;
      // Another node has the name now.
      if (difference.before && difference.before == difference.after)
        difference.after = now.before[nodes[moved.after]].name;
      difference.text = short_text(now.before[i]);
      add(path_of(now, i), std::move(difference));
    }
  }
}

template <class F>
void Comparer::compare_sequences(const std::vector<std::string>& a, const std::vector<std::string_view>& b,
                                 F&& f) {
  struct Item {
    std::string_view name;
    Place number;
  };
  std::unordered_map<std::string_view, std::vector<Place>> places;
  for (Place j = 0; j < b.size(); ++j) places[b[j]].push_back(j);
  std::unordered_map<std::string_view, std::size_t> counts;
  std::vector<Item> items;
  for (const std::string& name : a) {
    const auto found = places.find(name);
    const std::size_t n = counts[name]++;
    if (found != places.end() && n < found->second.size()) items.push_back({name, found->second[n]});
  }
  std::vector<Place> numbers;
  for (const Item& item : items) numbers.push_back(item.number);
  std::unordered_set<std::string_view> told;
  for (const Moved& moved : find_moved(numbers)) {
    const std::string_view name = items[moved.item].name;
    if (!told.insert(name).second) continue;
    const auto text = [&](std::size_t item) {
      return item == kNone ? std::nullopt : std::optional(std::string(items[item].name));
    };
    f(name, text(moved.before), text(moved.after));
  }
}

void Comparer::compare_execution(const ModuleGraph& a, const ModuleGraph& b) {
  if (!a.execution || !b.execution) return;
  std::vector<std::string_view> modules;
  for (const std::string& path : b.execution->module_forward_order)
    modules.push_back(pairs_.path_before(path));
  std::set<std::string, std::less<>> moved;
  const auto is_moved = [&](std::string_view path) {
    for (std::size_t i = pairs_.before().find_module(path); i != kNone; i = pairs_.before().parents[i]) {
      if (moved.contains(pairs_.before()[i].path)) return true;
    }
    return false;
  };
  const auto tell = [&](std::string_view path, std::string_view subject, std::optional<std::string> before,
                        std::optional<std::string> after) {
    add(path, {.kind = DifferenceKind::kOrder,
               .change = Change::kMoved,
               .subject = std::string(subject),
               .before = std::move(before),
               .after = std::move(after),
               .graph = a.module});
  };
  compare_sequences(a.execution->module_forward_order, modules,
                    [&](std::string_view path, auto before, auto after) {
                      const bool is_told = is_moved(path);
                      moved.emplace(path);
                      if (!is_told)
                        tell(path, path_text(std::string(path)), std::move(before), std::move(after));
                    });
  if (two_kinds_) return;  // the kinds differ in where a module reads its parameters
  std::unordered_map<std::string_view, std::string> names;  // each once, as they may be long
  std::vector<std::string_view> parameters;
  for (const std::string& name : b.execution->param_forward_order) {
    const auto [entry, is_new] = names.try_emplace(name);
    if (is_new) entry->second = pairs_.parameter_before(name);
    parameters.push_back(entry->second);
  }
  compare_sequences(a.execution->param_forward_order, parameters,
                    [&](std::string_view name, auto before, auto after) {
                      const std::string_view path = QualifiedName(name).parent();
                      if (!is_moved(path)) tell(path, name, std::move(before), std::move(after));
                    });
}

void Comparer::compare_guards(const ModuleGraph& a, const ModuleGraph& b, const Renames& renames) {
  // Guards of TorchScript depend on this trace and its options.
  const auto is_told = [&](const ComparedSide& side) { return !two_kinds_ || !side.is_torchscript(); };
  std::map<std::string, std::int64_t> left;  // guards of the second graph
  for (const Guard& guard : b.guards) ++left[guard.expr.text()];
  const auto tell = [&](const Guard& guard, Change change) {
    add(a.module, {.kind = DifferenceKind::kGuards,
                   .change = change,
                   .subject = guard.expr.text(),
                   .graph = a.module,
                   .source = guard.source});
  };
  for (const Guard& guard : a.guards) {
    const auto found = left.find(renamed(guard.expr, renames).text());
    if (found == left.end() || found->second == 0) {
      if (is_told(before_)) tell(guard, Change::kRemoved);
    } else {
      --found->second;
    }
  }
  for (const Guard& guard : b.guards) {
    std::int64_t& count = left[guard.expr.text()];
    if (count == 0 || !is_told(after_)) continue;
    --count;
    tell(guard, Change::kAdded);
  }
}

}  // namespace fxtrace::internal
