#include "compare/comparison.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "compare/compared_graph.h"
#include "compare/module_pairs.h"
#include "compare/node_pairs.h"
#include "graph/collection_summary.h"
#include "graph/text_form.h"
#include "operators/modules.h"
#include "summaries/model_summary.h"
#include "support/qualified_name.h"
#include "support/utf8.h"

namespace fxtrace {
namespace {

constexpr std::size_t kNone = ModuleTree::kNone;

// Dimensions of the first collection by the names that the second has for them.
using Renames = std::map<std::string, SymInt>;

// As the second collection would have it.
std::optional<SymInt> renamed(const SymInt& size, const Renames& renames) {
  try {
    return size.substitute(renames);
  } catch (const SymbolicError&) {
    return std::nullopt;
  }
}

Expression renamed(const Expression& expression, const Renames& renames) {
  if (renames.empty()) return expression;
  return expression.map_sizes([&](const SymInt& size) { return renamed(size, renames).value_or(size); });
}

ComparedModel describe(const GraphCollection& collection, const ModelSummary& model) {
  const Summary summary = summarize(collection);
  ComparedModel described;
  described.model = collection.model;
  described.modules = model.modules;
  described.nodes = summary.nodes;
  described.failed = static_cast<std::int64_t>(model.failed.size());
  described.parameters = model.parameters;
  described.buffers = model.buffers;
  if (model.has_costs()) {
    described.macs = model.macs;
    described.activation_bytes = model.activation_bytes;
    described.peak_bytes = model.peak_bytes;
  }
  described.is_partial = model.unsized > 0 || !model.unknown.empty() || model.has_closed();
  return described;
}

std::string failure_text(const Failure& failure) {
  return std::string(to_string(failure.kind)) + ": " + failure.message;
}

std::string status_text(const ModuleRecord& module) {
  std::string text = to_string(module.status);
  if (module.status == ModuleStatus::kFailed && module.failure) text += ": " + module.failure->message;
  return text;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (const auto size : shape) text += (text.size() == 1 ? "" : ", ") + std::to_string(size);
  return text + "]";
}

// As print_node(), without the arguments, which may be many.
std::string short_text(const Node& node) {
  constexpr std::size_t kLongest = 500;
  return "%" + node.name + " = " + to_string(node.op) + "[" + cut(*node.target, kLongest) + "](...)";
}

// What a node does, without what it is called.
std::string target_text(const Node& node) {
  std::string text = std::string(to_string(node.op)) + "[" + *node.target + "]";
  return node.method->empty() ? text : text + "." + *node.method;
}

std::string constant_text(const Constant& constant) {
  constexpr std::size_t kShown = 8;
  if (!constant.object_type.empty()) return constant.object_type;
  std::string text = constant.dtype + shape_text(constant.shape);
  if (!constant.data || constant.data->size() > kShown) return text;
  const Graph none;
  for (const Argument& element : *constant.data) text += " " + print_argument(none, element);
  return text;
}

// Of values without nodes in them; a nan is one.
bool is_same_plain(const Argument& a, const Argument& b) {
  if (a == b) return true;
  const Graph none;
  return a.value.index() == b.value.index() && print_argument(none, a) == print_argument(none, b);
}

bool is_equal(const Constant& a, const Constant& b) {
  if (std::tie(a.dtype, a.shape, a.object_type) != std::tie(b.dtype, b.shape, b.object_type)) return false;
  if (!a.data || !b.data) return !a.data && !b.data && a.record == b.record;
  return std::ranges::equal(*a.data, *b.data, is_same_plain);
}

class Comparer {
 public:
  Comparer(const GraphCollection& before, const GraphCollection& after, const CompareOptions& options)
      : before_(before),
        after_(after),
        options_(options),
        pairs_(before, after),
        all_attributes_(has_all_attributes(before) && has_all_attributes(after)) {}

  ModelComparison run() {
    result_.told = options_.kinds;
    find_covers();
    make_groups();
    compare_modules();
    compare_parameters();
    compare_all_graphs();
    const ModelSummary before = summarize_model(before_);
    const ModelSummary after = summarize_model(after_);
    result_.before = describe(before_, before);
    result_.after = describe(after_, after);
    compare_costs(before, after);
    for (ModuleDifferences& group : groups_) {
      if (!group.differences.empty()) result_.modules.push_back(std::move(group));
    }
    return std::move(result_);
  }

 private:
  using Group = std::size_t;

  // --- modules ---

  static bool is_known_on_one_side(const ModuleRecord& a, const ModuleRecord& b) {
    const auto is_on_one_side = [&](ModuleStatus status) {
      return (a.status == status) != (b.status == status);
    };
    return is_on_one_side(ModuleStatus::kTraced) || is_on_one_side(ModuleStatus::kUnvisited);
  }

  // An exported program does not say that a module was called which only gives its input back.
  static bool is_unseen(const ModuleRecord& called, const ModuleRecord& other,
                        const GraphCollection& others) {
    return others.model.kind != "torchscript" && called.status == ModuleStatus::kLeaf &&
           other.status == ModuleStatus::kUnvisited &&
           (traits_of_module(called.type) & module_traits::kIdentity) != 0;
  }
  bool is_unseen(const ModuleRecord& a, const ModuleRecord& b) const {
    return is_unseen(a, b, after_) || is_unseen(b, a, before_);
  }
  bool is_unseen_call(const Node& node, bool is_added) const {
    if (node.op != Opcode::kCallModule) return false;
    const std::size_t called = (is_added ? pairs_.after() : pairs_.before()).find(*node.target);
    if (called == kNone) return false;
    const std::size_t other = is_added ? pairs_.in_before(called) : pairs_.in_after(called);
    if (other == kNone) return false;
    return is_added ? is_unseen(pairs_.after()[called], pairs_.before()[other], before_)
                    : is_unseen(pairs_.before()[called], pairs_.after()[other], after_);
  }

  // By module: the outermost module around it, or itself, whose own difference tells what is in it.
  void find_covers() {
    const auto find = [](const ModuleTree& tree, auto&& is_cover) {
      std::vector<std::size_t> covers(tree.modules.size(), kNone);
      for (const std::size_t i : tree.by_length) {
        const std::size_t parent = tree.parents[i];
        covers[i] = parent == kNone ? kNone : covers[parent];
        if (covers[i] == kNone && is_cover(i)) covers[i] = i;
      }
      return covers;
    };
    const ModuleTree& before = pairs_.before();
    const ModuleTree& after = pairs_.after();
    covers_before_ = find(before, [&](std::size_t i) {
      const std::size_t j = pairs_.in_after(i);
      return j == kNone ? !pairs_.is_wrapper_before(i) : is_known_on_one_side(before[i], after[j]);
    });
    covers_after_ = find(after, [&](std::size_t j) {
      const std::size_t i = pairs_.in_before(j);
      return i == kNone ? !pairs_.is_wrapper_after(j) : is_known_on_one_side(before[i], after[j]);
    });
  }

  // The module around a path that covers it, as the groups have it.
  std::optional<std::string> cover_before(std::string_view path) const {
    const std::size_t i = pairs_.before().find(path);
    if (i == kNone || covers_before_[i] == kNone) return std::nullopt;
    return pairs_.before()[covers_before_[i]].path;
  }
  std::optional<std::string> cover_after(std::string_view path) const {
    const std::size_t j = pairs_.after().find(path);
    if (j == kNone || covers_after_[j] == kNone) return std::nullopt;
    return std::string(pairs_.path_before(pairs_.after()[covers_after_[j]].path));
  }

  // A group for each module: those of the first collection, and in between what is new in the second.
  void make_groups() {
    const ModuleTree& before = pairs_.before();
    const ModuleTree& after = pairs_.after();
    std::vector<std::vector<std::size_t>> new_behind(before.modules.size() + 1);
    std::size_t behind = 0;
    for (std::size_t j = 0; j < after.modules.size(); ++j) {
      if (after.find(after[j].path) != j) continue;
      if (pairs_.in_before(j) != kNone) {
        behind = pairs_.in_before(j) + 1;
      } else {
        new_behind[behind].push_back(j);
      }
    }
    const auto add_new = [&](std::size_t place) {
      for (const std::size_t j : new_behind[place])
        groups_[group_of(pairs_.path_before(after[j].path))].type = after[j].type;
    };
    add_new(0);
    for (std::size_t i = 0; i < before.modules.size(); ++i) {
      if (before.find(before[i].path) == i) {
        ModuleDifferences& group = groups_[group_of(before[i].path)];
        const std::size_t j = pairs_.in_after(i);
        group.type = j == kNone || after[j].type.empty() ? before[i].type : after[j].type;
        if (j != kNone && after[j].path != before[i].path) group.other = after[j].path;
      }
      add_new(i + 1);
    }
  }

  Group group_of(std::string_view path) {
    const auto found = group_by_path_.find(path);
    if (found != group_by_path_.end()) return found->second;
    groups_.emplace_back().path = std::string(path);
    group_by_path_.emplace(groups_.back().path, groups_.size() - 1);
    return groups_.size() - 1;
  }

  void add(std::string_view path, Difference difference) {
    if (difference.follows) ++result_.following;
    ++result_.counts[static_cast<std::size_t>(difference.kind)][static_cast<std::size_t>(difference.change)];
    const bool is_one_sided = difference.change == Change::kAdded || difference.change == Change::kRemoved;
    if (is_one_sided && difference.within) {
      ModuleDifferences& around = groups_[group_of(*difference.within)];
      if (difference.kind == DifferenceKind::kModules) ++around.modules;
      if (difference.kind == DifferenceKind::kNodes) ++around.nodes;
    }
    if (options_.kinds.has(difference.kind))
      groups_[group_of(path)].differences.push_back(std::move(difference));
  }

  void add_change(std::string_view path, DifferenceKind kind, std::string subject, std::string field,
                  std::optional<std::string> before, std::optional<std::string> after,
                  std::optional<std::string> within = std::nullopt) {
    Difference difference;
    difference.kind = kind;
    difference.subject = std::move(subject);
    difference.field = std::move(field);
    difference.before = std::move(before);
    difference.after = std::move(after);
    difference.within = std::move(within);
    add(path, std::move(difference));
  }

  // Of a module that is covered by another one, that one.
  static std::optional<std::string> unless_itself(std::optional<std::string> cover, std::string_view path) {
    if (cover && *cover == path) return std::nullopt;
    return cover;
  }

  void compare_modules() {
    const ModuleTree& before = pairs_.before();
    const ModuleTree& after = pairs_.after();
    const auto one_sided = [&](const ModuleRecord& module, Change change, std::optional<std::string> cover,
                               bool is_wrapper) {
      const std::string path(change == Change::kAdded ? pairs_.path_before(module.path) : module.path);
      if (is_wrapper) cover = path;  // what it is around tells of it
      Difference difference;
      difference.kind = DifferenceKind::kModules;
      difference.change = change;
      difference.subject = module.path;
      difference.within = is_wrapper ? std::move(cover) : unless_itself(std::move(cover), module.path);
      if (!difference.within) ++groups_[group_of(path)].modules;
      add(path, std::move(difference));
    };
    for (std::size_t i = 0; i < before.modules.size(); ++i) {
      if (before.find(before[i].path) != i) continue;
      const std::size_t j = pairs_.in_after(i);
      if (j == kNone) {
        one_sided(before[i], Change::kRemoved, cover_before(before[i].path), pairs_.is_wrapper_before(i));
      } else {
        compare_module(i, j);
      }
    }
    for (std::size_t j = 0; j < after.modules.size(); ++j) {
      if (after.find(after[j].path) == j && pairs_.in_before(j) == kNone)
        one_sided(after[j], Change::kAdded, cover_after(after[j].path), pairs_.is_wrapper_after(j));
    }
  }

  void compare_module(std::size_t i, std::size_t j) {
    const ModuleRecord& a = pairs_.before()[i];
    const ModuleRecord& b = pairs_.after()[j];
    const auto within = unless_itself(cover_before(a.path), a.path);
    const auto change = [&](const char* field, std::optional<std::string> before,
                            std::optional<std::string> after) {
      add_change(a.path, DifferenceKind::kModules, a.path, field, std::move(before), std::move(after),
                 within);
    };
    if (a.path != b.path && !is_moved_with_parent(i, j)) {
      Difference moved;
      moved.kind = DifferenceKind::kModules;
      moved.change = Change::kMoved;
      moved.subject = a.path;
      moved.other = b.path;
      const std::size_t left = pairs_.wrapper_of_before(i);
      const std::size_t entered = pairs_.wrapper_of_after(j);
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
    const std::size_t parent_after = parent == kNone ? kNone : pairs_.in_after(parent);
    const bool follows_parent =
        parent_after != kNone && pairs_.before()[parent].calls != pairs_.after()[parent_after].calls;
    if (a.calls != b.calls && a.status == b.status && !follows_parent) {
      add_change(a.path, DifferenceKind::kOrder, a.path, "calls", std::to_string(a.calls),
                 std::to_string(b.calls), within);
    }
    compare_attributes(a, b);
  }

  bool is_moved_with_parent(std::size_t i, std::size_t j) const {
    const std::size_t parent = pairs_.before().parents[i];
    return parent != kNone && pairs_.in_after(parent) == pairs_.after().parents[j] &&
           QualifiedName(pairs_.before()[i].path).last() == QualifiedName(pairs_.after()[j].path).last();
  }

  // Whether the file says all plain values of its modules.  An exported program has those that its operations
  // have; of what was traced with torch.jit.trace there are two, of every module the same.
  static bool has_all_attributes(const GraphCollection& collection) {
    return collection.model.kind == "torchscript" &&
           std::ranges::any_of(collection.modules, [](const ModuleRecord& module) {
             return std::ranges::any_of(module.attributes, [](const auto& attribute) {
               return attribute.first != "training" && attribute.first != "_is_full_backward_hook";
             });
           });
  }

  // Operators take [3, 3] where modules may have 3.
  static bool is_repeated(const Argument& number, const Argument& list) {
    const auto* items = list.get_if<Argument::List>();
    return items != nullptr && !items->items.empty() && number.get_if<Argument::List>() == nullptr &&
           std::ranges::all_of(items->items,
                               [&](const Argument& item) { return is_same_plain(number, item); });
  }

  // Plain values.  One that is on one side only is told if both sides say all that they have, and of modules
  // of one type, since others have others; None is as good as none.
  void compare_attributes(const ModuleRecord& a, const ModuleRecord& b) {
    if (a.attributes.empty() && b.attributes.empty()) return;
    const Graph none;
    std::map<std::string_view, const Argument*> others;
    for (const auto& [name, value] : b.attributes) others.emplace(name, &value);
    const bool are_known = all_attributes_ && qualified_type(a.type) == qualified_type(b.type);
    const bool is_exported = before_.model.kind != "torchscript" || after_.model.kind != "torchscript";
    const auto change = [&](std::string_view name, const Argument* before, const Argument* after) {
      const auto is_none = [](const Argument* value) {
        return value == nullptr || value->get_if<Argument::None>() != nullptr;
      };
      if (before == nullptr || after == nullptr ? !are_known || (is_none(before) && is_none(after))
                                                : is_same_plain(*before, *after))
        return;
      if (before != nullptr && after != nullptr && is_exported &&
          (is_repeated(*before, *after) || is_repeated(*after, *before)))
        return;
      const auto text = [&](const Argument* value) {
        return value == nullptr ? std::nullopt : std::optional(print_argument(none, *value));
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

  // --- parameters ---

  void compare_parameters() {
    for (const auto& [collection, ties] :
         {std::pair(&before_, &ties_before_), std::pair(&after_, &ties_after_)}) {
      for (const ParameterRecord& record : collection->parameters) {
        if (record.alias_of) ties->emplace(record.name, *record.alias_of);
      }
    }
    std::unordered_map<std::string, const ParameterRecord*> others;
    for (const ParameterRecord& record : after_.parameters)
      others.emplace(pairs_.parameter_before(record.name), &record);
    const std::unordered_set<std::string_view> unused_before(before_.unused_parameters.begin(),
                                                             before_.unused_parameters.end());
    const std::unordered_set<std::string_view> unused_after(after_.unused_parameters.begin(),
                                                            after_.unused_parameters.end());
    const auto one_sided = [&](const ParameterRecord& record, Change change, std::string_view path,
                               std::optional<std::string> cover) {
      Difference difference;
      difference.kind = DifferenceKind::kParameters;
      difference.change = change;
      difference.subject = record.name;
      const bool is_object = record.kind == ParameterKind::kCustomObject;
      (change == Change::kAdded ? difference.after : difference.before) =
          is_object ? record.type : record.dtype + shape_text(record.shape);
      difference.within = std::move(cover);
      if (difference.within && !is_object) {
        add_saturated(groups_[group_of(*difference.within)].parameters, element_count(record.shape));
      }
      add(path, std::move(difference));
    };
    for (const ParameterRecord& record : before_.parameters) {
      const std::string_view path = QualifiedName(record.name).parent();
      const auto found = others.find(record.name);
      if (found == others.end()) {
        one_sided(record, Change::kRemoved, path, gone_with(path));
        continue;
      }
      const ParameterRecord& other = *found->second;
      compare_parameter(record, other);
      const bool was_used = !unused_before.contains(record.name);
      const bool is_used = !unused_after.contains(other.name);
      if (was_used != is_used) {
        add_change(path, DifferenceKind::kParameters, record.name, "use", was_used ? "used" : "unused",
                   is_used ? "used" : "unused");
      }
      others.erase(found);
    }
    for (const ParameterRecord& record : after_.parameters) {
      const auto found = others.find(pairs_.parameter_before(record.name));
      if (found == others.end() || found->second != &record) continue;
      const std::string_view path = pairs_.path_before(QualifiedName(record.name).parent());
      one_sided(record, Change::kAdded, path, gone_with(path));
    }
  }

  // Of a module that is there on one side only, the outermost one of these.
  std::optional<std::string> gone_with(std::string_view path) const {
    const std::size_t i = pairs_.before().find(path);
    if (i != kNone) return pairs_.in_after(i) == kNone ? cover_before(path) : std::nullopt;
    return cover_after(path);
  }

  void compare_parameter(const ParameterRecord& a, const ParameterRecord& b) {
    const std::string_view path = QualifiedName(a.name).parent();
    const auto change = [&](const char* field, std::optional<std::string> before,
                            std::optional<std::string> after) {
      resized_.insert(std::string(path));
      add_change(path, DifferenceKind::kParameters, a.name, field, std::move(before), std::move(after));
    };
    if (a.kind != b.kind) change("kind", to_string(a.kind), to_string(b.kind));
    if (a.shape != b.shape) change("shape", shape_text(a.shape), shape_text(b.shape));
    if (a.dtype != b.dtype) change("dtype", a.dtype, b.dtype);
    if (a.type != b.type) change("type", a.type, b.type);
    if (a.device != b.device) change("device", a.device.value_or("cpu"), b.device.value_or("cpu"));
    std::optional<std::string> alias = b.alias_of;
    if (alias) alias = pairs_.parameter_before(*alias);
    if (a.alias_of != alias) change("alias_of", a.alias_of, b.alias_of);
  }

  // --- graphs ---

  struct GraphPair {
    const ModuleGraph* before = nullptr;
    const ModuleGraph* after = nullptr;
    Shared<std::string> name;  // as Difference::graph
  };

  void compare_all_graphs() {
    std::unordered_map<std::string_view, const ModuleGraph*> others;
    // The graphs of both roots belong together, also where one of these is around the other.
    for (const ModuleGraph& graph : after_.graphs)
      others.emplace(graph.module.empty() ? "" : pairs_.path_before(graph.module), &graph);
    std::unordered_set<std::string_view> seen;
    std::unordered_set<const ModuleGraph*> compared;
    for (const ModuleGraph& graph : before_.graphs) {
      if (!seen.insert(graph.module).second) continue;
      const auto found = others.find(graph.module);
      if (found == others.end()) {
        one_sided_graph(graph, Change::kRemoved);
        continue;
      }
      compare_with_bodies({&graph, found->second, graph.module});
      compare_execution(graph, *found->second);
      compared.insert(found->second);
      others.erase(found);
    }
    for (const ModuleGraph& graph : after_.graphs) {
      if (!compared.contains(&graph)) one_sided_graph(graph, Change::kAdded);
    }
  }

  // A module that has a graph of its own on one side: another one failed there, which tells of it.
  void one_sided_graph(const ModuleGraph& graph, Change change) {
    const CommonNames names = common_names(change == Change::kAdded);
    const ComparedGraph compared(graph, schemas_, names);
    const Shared<std::string> name = graph.module;
    for (Place i = 0; i < compared.size(); ++i) one_sided_node(compared, i, change, name, graph.module);
  }

  CommonNames common_names(bool is_after) const {
    if (!is_after) {
      return {[](std::string_view path) { return path; }, [](const std::string& name) { return name; }};
    }
    const auto module = [this](std::string_view path) {
      const std::size_t j = pairs_.after().find(path);
      constexpr std::string_view kWrapper("\0", 1);  // no path of the first collection
      return j != kNone && pairs_.is_wrapper_after(j) ? kWrapper : pairs_.path_before(path);
    };
    return {module, [this](const std::string& name) { return pairs_.parameter_before(name); }};
  }

  void compare_with_bodies(GraphPair first) {
    std::vector<GraphPair> pending{std::move(first)};
    while (!pending.empty()) {
      const GraphPair pair = std::move(pending.back());
      pending.pop_back();
      compare_graphs(pair, pending);
    }
  }

  // Two graphs, as they are compared now.
  struct Current {
    const ComparedGraph& before;
    const ComparedGraph& after;
    const NodePairs& nodes;
    const Shared<std::string>& name;
    Renames renames;
    std::vector<bool> has_changed;  // by node of the first: its shape, or what it does
    // Bodies of control flow that belong together.
    std::vector<std::pair<std::string, std::string>> bodies;
  };

  void compare_graphs(const GraphPair& pair, std::vector<GraphPair>& pending) {
    const ComparedGraph before(*pair.before, schemas_, common_names(false));
    const ComparedGraph after(*pair.after, schemas_, common_names(true));
    const NodePairs nodes(before, after);
    Current now{before, after, nodes, pair.name, {}, std::vector<bool>(before.size(), false), {}};
    find_renames(now);
    Place next = 0;  // of the second graph: what is new before it has been told
    const auto tell_new = [&](Place end) {
      for (; next < end; ++next) {
        if (nodes.in_before(next) == kNoPlace)
          one_sided_node(after, next, Change::kAdded, pair.name, pair.after->module);
      }
    };
    for (Place i = 0; i < before.size(); ++i) {
      const Place j = nodes.in_after(i);
      if (j == kNoPlace) {
        one_sided_node(before, i, Change::kRemoved, pair.name, pair.before->module);
      } else {
        tell_new(j);
        compare_nodes(now, i, j);
      }
    }
    tell_new(after.size());
    compare_order(now);
    compare_guards(*pair.before, *pair.after, now.renames);
    std::set<std::pair<std::string, std::string>> seen;
    for (const auto& names : now.bodies) {
      if (!seen.insert(names).second) continue;
      const ModuleGraph* body = pair.before->subgraphs.find(names.first);
      const ModuleGraph* other = pair.after->subgraphs.find(names.second);
      if (body != nullptr && other != nullptr)
        pending.push_back({body, other, *pair.name + ":" + names.first});
    }
  }

  // Dimensions of inputs that stand in one place, where they tell of one new name each.
  void find_renames(Current& now) {
    std::map<std::string, std::set<std::string>> names;
    std::map<std::string, std::set<std::string>> back;
    for (Place i = 0; i < now.before.size(); ++i) {
      const Place j = now.nodes.in_after(i);
      if (now.before[i].op != Opcode::kPlaceholder || j == kNoPlace) continue;
      const auto& a = now.before[i].meta->shape;
      const auto& b = now.after[j].meta->shape;
      if (!a || !b || a->size() != b->size()) continue;
      for (std::size_t d = 0; d < a->size(); ++d) {
        const SymInt* first = (*a)[d].size();
        const SymInt* second = (*b)[d].size();
        const auto from = first == nullptr ? std::nullopt : first->symbol_name();
        const auto to = second == nullptr ? std::nullopt : second->symbol_name();
        if (!from || !to) continue;
        names[*from].insert(*to);
        back[*to].insert(*from);
      }
    }
    for (const auto& [from, to] : names) {
      if (to.size() > 1 || back[*to.begin()].size() > 1 || *to.begin() == from) continue;
      now.renames.emplace(from, SymInt::symbol(*to.begin()));
      if (!told_renames_.emplace(from, *to.begin()).second) continue;
      Difference difference;
      difference.kind = DifferenceKind::kNames;
      difference.subject = from;
      difference.other = *to.begin();
      difference.field = "dimension";
      add("", std::move(difference));
    }
    if (renames_.empty()) renames_ = now.renames;
  }

  void one_sided_node(const ComparedGraph& graph, Place place, Change change, const Shared<std::string>& name,
                      const std::string& root) {
    constexpr std::size_t kUsers = 3;
    const bool is_added = change == Change::kAdded;
    const Node& node = graph[place];
    if (is_unseen_call(node, is_added)) return;
    Difference difference;
    difference.kind = DifferenceKind::kNodes;
    difference.change = change;
    const std::string& path = node.scope->module_path.empty() ? root : node.scope->module_path;
    difference.within = is_added ? cover_after(path) : cover_before(path);
    if (options_.kinds.has(DifferenceKind::kNodes)) {
      difference.subject = node.name;
      difference.text = print_node(graph.graph().graph, node);
      difference.graph = name;
      difference.source = *node.source;
      for (const NodeId user : node.users) {
        if (difference.users.size() == kUsers) break;
        difference.users.push_back(graph.graph().graph.node(user).name);
      }
    }
    add(is_added ? pairs_.path_before(path) : std::string_view(path), std::move(difference));
  }

  Difference node_difference(const Current& now, Place i, DifferenceKind kind) const {
    const Node& node = now.before[i];
    Difference difference;
    difference.kind = kind;
    if (!options_.kinds.has(kind)) return difference;
    difference.subject = node.name;
    difference.graph = now.name;
    difference.source = *node.source;
    return difference;
  }

  std::string_view path_of(const Current& now, Place i) const {
    const std::string& path = now.before[i].scope->module_path;
    return path.empty() ? std::string_view(now.before.graph().module) : std::string_view(path);
  }

  void add_node_change(const Current& now, Place i, Place j, DifferenceKind kind, std::string field,
                       std::optional<std::string> before, std::optional<std::string> after,
                       bool follows = false) {
    Difference difference = node_difference(now, i, kind);
    difference.field = std::move(field);
    difference.before = std::move(before);
    difference.after = std::move(after);
    difference.follows = follows;
    if (options_.kinds.has(kind)) {
      if (now.after[j].name != difference.subject) difference.other = now.after[j].name;
      difference.text = short_text(now.before[i]);
    }
    add(path_of(now, i), std::move(difference));
  }

  std::int64_t count_changes() const {
    return result_.count(DifferenceKind::kNodes) + result_.count(DifferenceKind::kArguments);
  }

  void compare_nodes(Current& now, Place i, Place j) {
    const Node& a = now.before[i];
    const Node& b = now.after[j];
    const std::int64_t changes = count_changes();
    constexpr std::size_t kMostApart = 16;  // arguments of which each is told
    if (compare_targets(now, i, j) &&
        std::max(now.before.arguments(i).size(), now.after.arguments(j).size()) <= kMostApart) {
      compare_arguments(now, i, j);
    } else {
      compare_values(now, i, j);
    }
    now.has_changed[i] = count_changes() != changes;
    compare_meta(now, i, j);
    const bool is_port = a.op == Opcode::kPlaceholder || a.op == Opcode::kOutput;
    // From a module to the wrapper that is in its place now: no move.
    const bool has_path = a.scope->module_path == b.scope->module_path;
    if (now.before.module(i) != now.after.module(j) && !is_port && !has_path) {
      Difference moved = node_difference(now, i, DifferenceKind::kNodes);
      moved.change = Change::kMoved;
      moved.before = a.scope->module_path;
      moved.after = b.scope->module_path;
      moved.text = short_text(a);
      add(path_of(now, i), std::move(moved));
    }
    if (a.name != b.name) {
      Difference difference = node_difference(now, i, DifferenceKind::kNames);
      difference.other = b.name;
      add(path_of(now, i), std::move(difference));
    }
    if (!(a.source == b.source)) {
      const auto text = [](const Node& node) {
        return *node.source ? std::optional(place_text(**node.source)) : std::nullopt;
      };
      add_node_change(now, i, j, DifferenceKind::kSources, "source", text(a), text(b));
    }
  }

  // Tied ones are one, under whichever name.
  bool is_same_parameter(const std::string& a, const std::string& b) const {
    const auto first_name = [](const std::unordered_map<std::string_view, std::string_view>& ties,
                               const std::string& name) {
      const auto found = ties.find(name);
      return found == ties.end() ? name : std::string(found->second);
    };
    return a == pairs_.parameter_before(b) ||
           first_name(ties_before_, a) == pairs_.parameter_before(first_name(ties_after_, b));
  }

  // Whether they are the same.
  bool compare_targets(const Current& now, Place i, Place j) {
    const Node& a = now.before[i];
    const Node& b = now.after[j];
    if (a.op == b.op && a.op == Opcode::kGetAttr) {
      const Constant* first = now.before.find_constant(a.target);
      const Constant* second = now.after.find_constant(b.target);
      if (first != nullptr && second != nullptr) {
        if (is_equal(*first, *second)) return true;
        add_node_change(now, i, j, DifferenceKind::kArguments, "value", constant_text(*first),
                        constant_text(*second));
        return true;
      }
      if (first == nullptr && second == nullptr && is_same_parameter(a.target, b.target)) return true;
    } else if (a.op == b.op && a.op == Opcode::kCallModule) {
      if (*a.target == pairs_.path_before(b.target) && a.method == b.method) return true;
    } else if (a.op == b.op &&
               (a.op == Opcode::kOutput || (a.target == b.target && a.model_function == b.model_function))) {
      return true;
    }
    add_node_change(now, i, j, DifferenceKind::kNodes, "target", target_text(a), target_text(b));
    return false;
  }

  // --- arguments ---

  void compare_arguments(Current& now, Place i, Place j) {
    using NamedArgument = ComparedGraph::NamedArgument;
    const auto a = now.before.arguments(i);
    const auto b = now.after.arguments(j);
    if (std::ranges::equal(a, b,
                           [](const NamedArgument& x, const NamedArgument& y) { return x.is_same(y); })) {
      for (std::size_t k = 0; k < a.size(); ++k) compare_argument(now, i, j, &a[k], &b[k]);
      return;
    }
    const auto sorted = [](std::span<const NamedArgument> arguments) {
      std::vector<const NamedArgument*> pointers;
      for (const NamedArgument& argument : arguments) pointers.push_back(&argument);
      std::ranges::stable_sort(pointers, {}, [](const auto* x) { return std::pair(x->position, x->name); });
      return pointers;
    };
    const auto first = sorted(a);
    const auto second = sorted(b);
    const auto key = [](const NamedArgument* x) { return std::pair(x->position, x->name); };
    for (std::size_t x = 0, y = 0; x < first.size() || y < second.size();) {
      if (y == second.size() || (x < first.size() && key(first[x]) < key(second[y]))) {
        compare_argument(now, i, j, first[x++], nullptr);
      } else if (x == first.size() || key(second[y]) < key(first[x])) {
        compare_argument(now, i, j, nullptr, second[y++]);
      } else {
        compare_argument(now, i, j, first[x++], second[y++]);
      }
    }
  }

  // All together: of nodes that do something else, whose arguments have other names, or that have many.
  void compare_values(Current& now, Place i, Place j) {
    const auto a = now.before.arguments(i);
    const auto b = now.after.arguments(j);
    bool same = a.size() == b.size();
    for (std::size_t k = 0; same && k < a.size(); ++k) same = is_same_value(now, *a[k].value, *b[k].value);
    if (same) return;
    const auto text = [&](const ComparedGraph& graph,
                          std::span<const ComparedGraph::NamedArgument> arguments) {
      std::string result;
      for (const auto& argument : arguments)
        result += (result.empty() ? "" : ", ") + print_argument(graph.graph().graph, *argument.value);
      return "(" + result + ")";
    };
    add_node_change(now, i, j, DifferenceKind::kArguments, "arguments", text(now.before, a),
                    text(now.after, b));
  }

  // `a` or `b` may be null: it is left out there.
  void compare_argument(Current& now, Place i, Place j, const ComparedGraph::NamedArgument* a,
                        const ComparedGraph::NamedArgument* b) {
    if (a != nullptr && b != nullptr && is_same_value(now, *a->value, *b->value)) return;
    if ((a == nullptr || b == nullptr) && is_gone_node(now, a, b)) return;
    if (!options_.kinds.has(DifferenceKind::kArguments))
      return add_node_change(now, i, j, DifferenceKind::kArguments, "", {}, {});
    const auto text = [](const ComparedGraph& graph, const ComparedGraph::NamedArgument* argument) {
      return argument == nullptr ? std::nullopt
                                 : std::optional(print_argument(graph.graph().graph, *argument->value));
    };
    add_node_change(now, i, j, DifferenceKind::kArguments, (a != nullptr ? a : b)->text(),
                    text(now.before, a), text(now.after, b));
  }

  // A node that was added or removed, given as one more argument: its own line tells of it.
  static bool is_gone_node(const Current& now, const ComparedGraph::NamedArgument* a,
                           const ComparedGraph::NamedArgument* b) {
    const auto* id = (a != nullptr ? a : b)->value->get_if<NodeId>();
    if (id == nullptr) return false;
    return a != nullptr ? now.nodes.in_after(now.before.place(*id)) == kNoPlace
                        : now.nodes.in_before(now.after.place(*id)) == kNoPlace;
  }

  // Also where a node is another one because of what was added or removed in between: its own line tells.
  bool is_same_value(Current& now, const Argument& a, const Argument& b) {
    if (a.value.index() != b.value.index()) return false;
    const auto all = [&](const std::vector<Argument>& x, const std::vector<Argument>& y) {
      if (x.size() != y.size()) return false;
      bool same = true;  // all are looked at, for the bodies
      for (std::size_t k = 0; k < x.size(); ++k) same = is_same_value(now, x[k], y[k]) && same;
      return same;
    };
    if (const auto* id = a.get_if<NodeId>()) return is_same_node(now, *id, *b.get_if<NodeId>());
    if (const auto* body = a.get_if<Argument::GraphRef>()) {
      now.bodies.emplace_back(body->name, b.get_if<Argument::GraphRef>()->name);
      return true;
    }
    if (const auto* list = a.get_if<Argument::List>())
      return all(list->items, b.get_if<Argument::List>()->items);
    if (const auto* tuple = a.get_if<Argument::Tuple>())
      return all(tuple->items, b.get_if<Argument::Tuple>()->items);
    if (const auto* slice = a.get_if<Argument::Slice>())
      return all(slice->parts, b.get_if<Argument::Slice>()->parts);
    if (const auto* dict = a.get_if<Argument::Dict>()) {
      const auto& other = b.get_if<Argument::Dict>()->items;
      if (dict->items.size() != other.size()) return false;
      bool same = true;
      for (std::size_t k = 0; k < other.size(); ++k) {
        same = is_same_value(now, dict->items[k].key, other[k].key) && same;
        same = is_same_value(now, dict->items[k].value, other[k].value) && same;
      }
      return same;
    }
    return is_same_plain(a, b);
  }

  static bool is_same_node(const Current& now, NodeId a, NodeId b) {
    const Place i = now.before.place(a);
    const Place j = now.after.place(b);
    if (now.nodes.in_after(i) == j || now.nodes.in_before(j) == kNoPlace) return true;
    if (now.nodes.in_after(i) != kNoPlace) return false;
    // Removed: one like it is there, or what fed it now feeds its user.
    if (now.nodes.is_same_value(i, j)) return true;
    int steps = 64;
    std::vector<Place> pending{i};
    while (!pending.empty()) {
      const Place at = pending.back();
      pending.pop_back();
      for (const auto& feed : now.before.feeds(at)) {
        if (steps-- == 0) return false;
        if (now.nodes.in_after(feed.node) == j) return true;
        if (now.nodes.in_after(feed.node) == kNoPlace) pending.push_back(feed.node);
      }
    }
    return false;
  }

  // --- shapes ---

  void compare_meta(Current& now, Place i, Place j) {
    const Meta& a = *now.before[i].meta;
    const Meta& b = *now.after[j].meta;
    if (a == b) return;
    std::optional<bool> follows;  // worked out where it is needed
    const auto change = [&](const char* field, std::string before, std::string after) {
      if (!follows) follows = follows_others(now, i, j);
      now.has_changed[i] = true;
      add_node_change(now, i, j, DifferenceKind::kShapes, field, std::move(before), std::move(after),
                      *follows);
    };
    const auto differs = [](const auto& x, const auto& y) { return x && y && !(*x == *y); };
    if (differs(a.type, b.type)) change("type", *a.type, *b.type);
    if (a.shape && b.shape && !is_same_shape(*a.shape, *b.shape, now.renames)) {
      Meta first;
      Meta second;
      first.shape = a.shape;
      second.shape = b.shape;
      change("shape", value_text(first), value_text(second));
    }
    if (differs(a.dtype, b.dtype)) change("dtype", *a.dtype, *b.dtype);
    if (a.device != b.device && (a.device || b.device) && a.dtype && b.dtype)
      change("device", a.device.value_or("cpu"), b.device.value_or("cpu"));
    if (a.value && b.value && !(renamed(*a.value, now.renames) == *b.value))
      change("value", a.value->text(), b.value->text());
  }

  static bool is_same_shape(const std::vector<Meta::Dim>& a, const std::vector<Meta::Dim>& b,
                            const Renames& renames) {
    return a == b || std::ranges::equal(a, b, [&](const Meta::Dim& x, const Meta::Dim& y) {
             return renamed(x, renames) == y;
           });
  }

  // Because it does something else, or an input is another one or has changed; or of a parameter.
  bool follows_others(const Current& now, Place i, Place j) const {
    const Node& node = now.before[i];
    if (now.has_changed[i]) return true;
    if (node.op == Opcode::kGetAttr)
      return resized_.contains(std::string(QualifiedName(*node.target).parent()));
    if (node.op == Opcode::kCallModule && resized_.contains(*node.target)) return true;
    for (const auto& feed : now.before.feeds(i)) {
      if (now.nodes.in_after(feed.node) == kNoPlace || now.has_changed[feed.node]) return true;
    }
    return std::ranges::any_of(now.after.feeds(j),
                               [&](const auto& feed) { return now.nodes.in_before(feed.node) == kNoPlace; });
  }

  // --- order ---

  // Of pairs that are in the order of the first, and whose numbers are places in the second, those that
  // moved, each with what stands before it on both sides.
  struct Moved {
    std::size_t item = 0;
    std::size_t before = kNone, after = kNone;  // items; kNone: it is the first
  };
  static std::vector<Moved> find_moved(const std::vector<Place>& numbers) {
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

  void compare_order(const Current& now) {
    std::unordered_map<std::uint64_t, std::vector<Place>> by_scope;  // nodes of the first
    std::vector<std::uint64_t> scopes;
    for (Place i = 0; i < now.before.size(); ++i) {
      const Place j = now.nodes.in_after(i);
      // Where a parameter is read says nothing; its uses do.
      if (j == kNoPlace || now.before[i].op == Opcode::kGetAttr) continue;
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
        difference.text = short_text(now.before[i]);
        add(path_of(now, i), std::move(difference));
      }
    }
  }

  // `b` by the names of the first.  Calls f(name, before, after) for those that moved, once each.
  template <class F>
  static void compare_sequences(const std::vector<std::string>& a, const std::vector<std::string>& b, F&& f) {
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

  void compare_execution(const ModuleGraph& a, const ModuleGraph& b) {
    if (!a.execution || !b.execution) return;
    std::vector<std::string> modules;
    for (const std::string& path : b.execution->module_forward_order)
      modules.emplace_back(pairs_.path_before(path));
    std::set<std::string, std::less<>> moved;
    const auto is_moved = [&](std::string_view path) {
      for (std::size_t i = pairs_.before().find(path); i != kNone; i = pairs_.before().parents[i]) {
        if (moved.contains(pairs_.before()[i].path)) return true;
      }
      return false;
    };
    const auto tell = [&](std::string_view path, std::string_view subject, std::optional<std::string> before,
                          std::optional<std::string> after) {
      Difference difference;
      difference.kind = DifferenceKind::kOrder;
      difference.change = Change::kMoved;
      difference.subject = std::string(subject);
      difference.before = std::move(before);
      difference.after = std::move(after);
      difference.graph = a.module;
      add(path, std::move(difference));
    };
    compare_sequences(a.execution->module_forward_order, modules,
                      [&](std::string_view path, auto before, auto after) {
                        const bool is_told = is_moved(path);
                        moved.emplace(path);
                        if (!is_told)
                          tell(path, path_text(std::string(path)), std::move(before), std::move(after));
                      });
    std::vector<std::string> parameters;
    for (const std::string& name : b.execution->param_forward_order)
      parameters.push_back(pairs_.parameter_before(name));
    compare_sequences(a.execution->param_forward_order, parameters,
                      [&](std::string_view name, auto before, auto after) {
                        const std::string_view path = QualifiedName(name).parent();
                        if (!is_moved(path)) tell(path, name, std::move(before), std::move(after));
                      });
  }

  // --- guards ---

  void compare_guards(const ModuleGraph& a, const ModuleGraph& b, const Renames& renames) {
    std::map<std::string, std::int64_t> left;  // of the second
    for (const Guard& guard : b.guards) ++left[guard.expr.text()];
    const auto tell = [&](const Guard& guard, Change change) {
      Difference difference;
      difference.kind = DifferenceKind::kGuards;
      difference.change = change;
      difference.subject = guard.expr.text();
      difference.graph = a.module;
      difference.source = guard.source;
      add(a.module, std::move(difference));
    };
    for (const Guard& guard : a.guards) {
      const auto found = left.find(renamed(guard.expr, renames).text());
      if (found == left.end() || found->second == 0) {
        tell(guard, Change::kRemoved);
      } else {
        --found->second;
      }
    }
    for (const Guard& guard : b.guards) {
      std::int64_t& count = left[guard.expr.text()];
      if (count == 0) continue;
      --count;
      tell(guard, Change::kAdded);
    }
  }

  // --- costs ---

  struct CostPair {
    std::optional<SymInt> before, after;
    bool is_in_both = true;
  };

  void compare_costs(const ModelSummary& before, const ModelSummary& after) {
    if (!before.has_costs() || !after.has_costs()) return;
    compare_costs(before, after, "macs", &SummaryRow::macs);
    compare_costs(before, after, "activation_bytes", &SummaryRow::activation_bytes);
    tell_cost("", "peak_bytes", before.peak_bytes, after.peak_bytes);
  }

  // Of a module only what those in it do not tell.
  void compare_costs(const ModelSummary& before, const ModelSummary& after, const char* field,
                     std::optional<SymInt> SummaryRow::* cost) {
    std::unordered_map<std::string_view, CostPair> pairs;
    for (const SummaryRow& row : before.rows) {
      if (!row.alias_of) pairs[row.path] = {row.*cost, std::nullopt, false};
    }
    for (const SummaryRow& row : after.rows) {
      if (row.alias_of) continue;
      const auto [entry, is_new] = pairs.try_emplace(pairs_.path_before(row.path));
      entry->second.after = row.*cost;
      entry->second.is_in_both = !is_new;
    }
    // What modules below tell, by module above; nothing where that cannot be said.
    std::unordered_map<std::string_view, std::optional<SymInt>> told;
    for (const auto& [path, pair] : pairs) {
      if (path.empty()) continue;
      const auto [entry, is_new] = told.try_emplace(QualifiedName(path).parent(), SymInt(0));
      if (!entry->second) continue;
      entry->second = sum(*entry->second, difference_of(pair));
    }
    for (const SummaryRow& row : before.rows) {
      if (row.alias_of) continue;
      const CostPair& pair = pairs[row.path];
      if (!pair.is_in_both) continue;
      const auto below = told.find(row.path);
      const auto own = difference_of(pair);
      if (own && below != told.end() && below->second && *own == *below->second) continue;
      tell_cost(row.path, field, pair.before, pair.after);
    }
  }

  std::optional<SymInt> difference_of(const CostPair& pair) const {
    try {
      const SymInt before = pair.before ? renamed(*pair.before, renames_).value_or(*pair.before) : SymInt(0);
      return pair.after.value_or(SymInt(0)) - before;
    } catch (const SymbolicError&) {
      return std::nullopt;
    }
  }
  static std::optional<SymInt> sum(const SymInt& a, const std::optional<SymInt>& b) {
    try {
      if (b) return a + *b;
    } catch (const SymbolicError&) {
    }
    return std::nullopt;
  }

  void tell_cost(const std::string& path, const char* field, const std::optional<SymInt>& before,
                 const std::optional<SymInt>& after) {
    if (!before || !after || renamed(*before, renames_) == *after) return;
    add_change(path, DifferenceKind::kCosts, "", field, before->text(), after->text());
  }

  const GraphCollection& before_;
  const GraphCollection& after_;
  const CompareOptions& options_;
  ModulePairs pairs_;
  bool all_attributes_;
  SchemaTable schemas_;
  ModelComparison result_;
  std::vector<std::size_t> covers_before_, covers_after_;
  std::deque<ModuleDifferences> groups_;  // keys are views of their paths
  std::unordered_map<std::string_view, Group> group_by_path_;
  std::unordered_map<std::string_view, std::string_view> ties_before_, ties_after_;  // names to first names
  std::unordered_set<std::string> resized_;  // modules of whose parameters or values one is another
  std::set<std::pair<std::string, std::string>> told_renames_;
  Renames renames_;  // of the root's graph
};

}  // namespace

const char* to_string(DifferenceKind kind) {
  constexpr std::array<const char*, kDifferenceKinds> kNames = {"modules", "parameters", "nodes", "arguments",
                                                                "shapes",  "order",      "costs", "guards",
                                                                "names",   "sources"};
  return kNames[static_cast<std::size_t>(kind)];
}

const char* to_string(Change change) {
  constexpr std::array<const char*, kChanges> kNames = {"added", "removed", "moved", "changed"};
  return kNames[static_cast<std::size_t>(change)];
}

DifferenceKinds DifferenceKinds::usual() {
  DifferenceKinds kinds = all();
  kinds.remove(DifferenceKind::kNames);
  kinds.remove(DifferenceKind::kSources);
  return kinds;
}

std::int64_t ModelComparison::count(DifferenceKind kind) const {
  std::int64_t sum = 0;
  for (const std::int64_t number : counts[static_cast<std::size_t>(kind)]) sum += number;
  return sum;
}

bool ModelComparison::has_any(DifferenceKinds kinds) const {
  for (std::size_t i = 0; i < kDifferenceKinds; ++i) {
    const auto kind = static_cast<DifferenceKind>(i);
    if (kinds.has(kind) && count(kind) > 0) return true;
  }
  return false;
}

ModelComparison compare(const GraphCollection& before, const GraphCollection& after,
                        const CompareOptions& options) {
  return Comparer(before, after, options).run();
}

}  // namespace fxtrace
