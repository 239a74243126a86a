// Compares two nodes that are paired: targets, metadata, names and sources.
#include <algorithm>
#include <span>
#include <tuple>

#include "compare/comparer.h"
#include "graph/analysis/text_form.h"
#include "support/text/numbers.h"
#include "support/text/qualified_name.h"
#include "support/text/words.h"

namespace fxtrace::internal {
namespace {

// Returns the text of what a node does, without its name.
std::string target_text(const Node& node) {
  std::string text = std::string(to_string(node.op)) + "[" + *node.target + "]";
  if (!node.method->empty()) text += "." + *node.method;
  return node.model_function ? text + ", a function of the model" : text;
}

std::string constant_text(const Constant& constant) {
  constexpr std::size_t kShown = 8;
  if (!constant.object_type.empty()) return constant.object_type;
  std::string text = constant.dtype + shape_text(constant.shape);
  if (!constant.data || constant.data->size() > kShown) return text;
  for (const Argument& element : *constant.data) text += " " + print_argument(element);
  return text;
}

// Returns whether only the archive has the elements of the constant.
bool is_large(const Constant& constant) { return !constant.data && constant.object_type.empty(); }

bool is_equal(const Constant& a, const Constant& b) {
  if (std::tie(a.dtype, a.shape, a.object_type) != std::tie(b.dtype, b.shape, b.object_type)) return false;
  if (!a.data || !b.data) return !a.data && !b.data && a.record == b.record;
  return std::ranges::equal(*a.data, *b.data, is_same_plain);
}

// Returns whether the size is a symbol such as u0, which one of two kinds may know.
bool is_unknown(const Meta::Dim& dim) {
  const auto name = dim.size() == nullptr ? std::nullopt : dim.size()->symbol_name();
  return name && name->starts_with('u') && number_in<std::int64_t>(std::string_view(*name).substr(1));
}

}  // namespace

Difference Comparer::node_difference(const Current& now, Place i, DifferenceKind kind) const {
  const Node& node = now.before[i];
  Difference difference;
  difference.kind = kind;
  if (!lists(kind)) return difference;
  difference.subject = node.name;
  difference.graph = now.name;
  difference.source = *node.source;
  return difference;
}

std::string_view Comparer::path_of(const Current& now, Place i) const {
  const std::string& path = now.before[i].scope->module_path;
  return path.empty() ? std::string_view(now.before.graph().module) : std::string_view(path);
}

void Comparer::add_node_change(const Current& now, Place i, Place j, DifferenceKind kind, std::string field,
                               std::optional<std::string> before, std::optional<std::string> after,
                               bool follows) {
  Difference difference = node_difference(now, i, kind);
  difference.field = std::move(field);
  difference.before = std::move(before);
  difference.after = std::move(after);
  difference.follows = follows;
  if (lists(kind)) {
    if (now.after[j].name != difference.subject) difference.other = now.after[j].name;
    difference.text = short_text(now.before[i]);
  }
  add(path_of(now, i), std::move(difference));
}

std::int64_t Comparer::count_changes() const {
  return result_.count(DifferenceKind::kNodes) + result_.count(DifferenceKind::kArguments);
}

// What says how a graph was read, and not what a node does, is not compared: `recorded`, `arguments` and the
// program's nodes.
void Comparer::compare_nodes(Current& now, Place i, Place j) {
  const Node& a = now.before[i];
  const Node& b = now.after[j];
  const std::int64_t changes = count_changes();
  constexpr std::size_t kMostApart = 16;  // the number of arguments up to which each is told
  if (compare_targets(now, i, j) &&
      std::max(now.before.arguments(i).size(), now.after.arguments(j).size()) <= kMostApart) {
    compare_arguments(now, i, j);
  } else {
    compare_values(now, i, j);
  }
  now.has_changed[i] = count_changes() != changes;
  compare_meta(now, i, j);
  const bool is_port = a.op == Opcode::kPlaceholder || a.op == Opcode::kOutput;
  // A node did not move if it is in a wrapper now that has the place of its module.
  const bool has_path = a.scope->module_path == b.scope->module_path;
  const bool is_read = two_kinds_ && (a.op == Opcode::kGetAttr || is_size(a));
  if (now.before.module(i) != now.after.module(j) && !is_port && !is_read && !has_path) {
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

bool Comparer::compare_targets(const Current& now, Place i, Place j) {
  const Node& a = now.before[i];
  const Node& b = now.after[j];
  // compare_meta() tells the values of sizes; torch.jit.trace names inputs by what it knows of them.
  const bool are_inputs = a.op == Opcode::kPlaceholder && b.op == Opcode::kPlaceholder;
  if (two_kinds_ && (are_inputs || (is_size(a) && is_size(b)))) return true;
  if (a.op == b.op && a.op == Opcode::kGetAttr) {
    const Constant* first = now.before.find_constant(a.target);
    const Constant* second = now.after.find_constant(b.target);
    if (first != nullptr && second != nullptr && is_large(*first) && is_large(*second)) {
      // A constant that torch.export has as a buffer is compared among the parameters.
      if (weighed_.insert(*now.name + ":" + *a.target).second) {
        compare_weights(path_of(now, i),
                        {*a.target, first->shape, first->dtype, first->content, first->stored},
                        {*b.target, second->shape, second->dtype, second->content, second->stored});
      }
      if (first->shape == second->shape && first->dtype == second->dtype) return true;
    }
    if (first != nullptr && second != nullptr) {
      if (is_equal(*first, *second)) return true;
      add_node_change(now, i, j, DifferenceKind::kArguments, "value", constant_text(*first),
                      constant_text(*second));
      return true;
    }
    // torch.export has a tensor that is an attribute of a module as a constant.
    const bool are_alike = two_kinds_ || (first == nullptr && second == nullptr);
    if (are_alike && is_same_parameter(a.target, b.target)) return true;
  } else if (a.op == b.op && a.op == Opcode::kCallModule) {
    // torch.jit.trace writes forward1 for a second call of forward that is recorded in another way.
    if (called_module(a) == pairs_.path_before(called_module(b)) && (two_kinds_ || a.method == b.method))
      return true;
  } else if (a.op == b.op && (a.op == Opcode::kOutput ||
                              (a.model_function == b.model_function &&
                               (two_kinds_ ? operator_name(a) == operator_name(b) : a.target == b.target)))) {
    return true;
  }
  add_node_change(now, i, j, DifferenceKind::kNodes, "target", target_text(a), target_text(b));
  return false;
}

void Comparer::compare_meta(Current& now, Place i, Place j) {
  const Meta& a = *now.before[i].meta;
  const Meta& b = *now.after[j].meta;
  if (a == b) return;
  std::optional<bool> follows;  // computed when it is needed
  const auto change = [&](const char* field, std::string before, std::string after) {
    if (before == after) {
      for (const auto& [from, to] : now.renames) after += " (" + from + " is " + to.text() + " now)";
    }
    if (!follows) follows = follows_others(now, i, j);
    now.has_changed[i] = true;
    add_node_change(now, i, j, DifferenceKind::kShapes, field, std::move(before), std::move(after), *follows);
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
  if (const auto x = a.dtype_text(), y = b.dtype_text(); differs(x, y)) change("dtype", *x, *y);
  if (a.device != b.device && a.has_dtype() && b.has_dtype())
    change("device", a.device_or_cpu().text(), b.device_or_cpu().text());
  if (a.value && b.value && !(renamed(*a.value, now.renames) == *b.value))
    change("value", a.value->text(), b.value->text());
}

bool Comparer::is_same_shape(const std::vector<Meta::Dim>& a, const std::vector<Meta::Dim>& b,
                             const Renames& renames) const {
  return a == b || std::ranges::equal(a, b, [&](const Meta::Dim& x, const Meta::Dim& y) {
           return renamed(x, renames) == y || (two_kinds_ && (is_unknown(x) || is_unknown(y)));
         });
}

bool Comparer::follows_others(const Current& now, Place i, Place j) const {
  const Node& node = now.before[i];
  if (now.has_changed[i]) return true;
  if (node.op == Opcode::kGetAttr)
    return resized_.contains(std::string(QualifiedName(*node.target).parent()));
  if (node.op == Opcode::kCallModule && resized_.contains(called_module(node))) return true;
  for (const auto& feed : now.before.feeds(i)) {
    if (now.nodes.in_after(feed.node) == kNoPlace || now.has_changed[feed.node]) return true;
  }
  return std::ranges::any_of(now.after.feeds(j),
                             [&](const auto& feed) { return now.nodes.in_before(feed.node) == kNoPlace; });
}

// Compares the arguments of two nodes that are paired.

void Comparer::compare_arguments(Current& now, Place i, Place j) {
  using NamedArgument = ComparedGraph::NamedArgument;
  const auto a = now.before.arguments(i);
  const auto b = now.after.arguments(j);
  if (std::ranges::equal(a, b, [](const NamedArgument& x, const NamedArgument& y) { return x.is_same(y); })) {
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

void Comparer::compare_values(Current& now, Place i, Place j) {
  const auto a = now.before.arguments(i);
  const auto b = now.after.arguments(j);
  bool same = a.size() == b.size();
  for (std::size_t k = 0; same && k < a.size(); ++k) same = is_same_value(now, *a[k].value, *b[k].value);
  if (same) return;
  if (!lists(DifferenceKind::kArguments))
    return add_node_change(now, i, j, DifferenceKind::kArguments, "", {}, {});
  const auto text = [&](const ComparedGraph& graph, std::span<const ComparedGraph::NamedArgument> arguments) {
    const auto print = [&](const auto& argument) {
      return print_argument(graph.graph().graph, *argument.value, kMostText);
    };
    return "(" + joined(arguments, print) + ")";
  };
  std::string before = text(now.before, a);
  std::string after = text(now.after, b);
  if (before == after) {
    for (const auto& argument : a) before += other_names(now, *argument.value, false);
    for (const auto& argument : b) after += other_names(now, *argument.value, true);
  }
  add_node_change(now, i, j, DifferenceKind::kArguments, "arguments", std::move(before), std::move(after));
}

void Comparer::compare_argument(Current& now, Place i, Place j, const ComparedGraph::NamedArgument* a,
                                const ComparedGraph::NamedArgument* b) {
  if (a != nullptr && b != nullptr && is_same_value(now, *a->value, *b->value)) return;
  if ((a == nullptr || b == nullptr) && (is_gone_node(now, a, b) || is_not_written(now, i, j, a, b))) return;
  if (!lists(DifferenceKind::kArguments))
    return add_node_change(now, i, j, DifferenceKind::kArguments, "", {}, {});
  const auto text = [](const ComparedGraph& graph, const ComparedGraph::NamedArgument* argument) {
    return argument == nullptr
               ? std::nullopt
               : std::optional(print_argument(graph.graph().graph, *argument->value, kMostText));
  };
  auto before = text(now.before, a);
  auto after = text(now.after, b);
  if (before && before == after) {
    *before += other_names(now, *a->value, false);
    *after += other_names(now, *b->value, true);
  }
  add_node_change(now, i, j, DifferenceKind::kArguments, (a != nullptr ? a : b)->text(), std::move(before),
                  std::move(after));
}

std::string Comparer::other_names(const Current& now, const Argument& argument, bool is_after) {
  const ComparedGraph& graph = is_after ? now.after : now.before;
  const ComparedGraph& other = is_after ? now.before : now.after;
  std::vector<std::string> names;
  std::unordered_set<Place> told;
  std::size_t left = kMostText;
  for_each_reference(argument, [&](NodeId id) {
    const Place here = graph.place(id);
    if (left == 0 || !told.insert(here).second) return;
    const Place there = is_after ? now.nodes.in_before(here) : now.nodes.in_after(here);
    const std::string name = argument.is<NodeId>() ? "" : "%" + graph[here].name + " ";
    if (there == kNoPlace) {
      names.push_back(name + (is_after ? "is new" : "is gone"));
    } else if (graph[here].name != other[there].name) {
      names.push_back(name + (is_after ? "was %" : "is now %") + other[there].name);
      left -= std::min(left, names.back().size());
    }
  });
  return names.empty() ? "" : " (" + joined(names) + ")";
}

bool Comparer::is_gone_node(const Current& now, const ComparedGraph::NamedArgument* a,
                            const ComparedGraph::NamedArgument* b) {
  const auto* id = (a != nullptr ? a : b)->value->get_if<NodeId>();
  if (id == nullptr) return false;
  return a != nullptr ? now.nodes.in_after(now.before.place(*id)) == kNoPlace
                      : now.nodes.in_before(now.after.place(*id)) == kNoPlace;
}

bool Comparer::is_not_written(const Current& now, Place i, Place j, const ComparedGraph::NamedArgument* a,
                              const ComparedGraph::NamedArgument* b) const {
  if (!two_kinds_ || now.before[i].op != Opcode::kCallModule) return false;
  bool is_plain = true;
  for_each_reference(*(a != nullptr ? a : b)->value, [&](NodeId) { is_plain = false; });
  const auto* id = (a != nullptr ? a : b)->value->get_if<NodeId>();
  if (is_plain || id == nullptr) return is_plain;
  return a != nullptr ? std::ranges::any_of(now.after.feeds(j),
                                            [&](const auto& feed) {
                                              return now.nodes.in_before(feed.node) == now.before.place(*id);
                                            })
                      : std::ranges::any_of(now.before.feeds(i), [&](const auto& feed) {
                          return now.nodes.in_after(feed.node) == now.after.place(*id);
                        });
}

bool Comparer::is_same_value(Current& now, const Argument& a, const Argument& b) {
  if (a.value.index() != b.value.index()) return false;
  const auto all = [&](const std::vector<Argument>& x, const std::vector<Argument>& y) {
    if (x.size() != y.size()) return false;
    bool same = true;  // every item is compared, for the bodies among them
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
  if (const auto* tuple = a.get_if<Argument::Tuple>()) {
    const auto& other = *b.get_if<Argument::Tuple>();
    // A class may be registered by another name when a program is exported.
    const auto* names = tuple->names.get();
    const auto* others = other.names.get();
    const bool same_names =
        names == others || (names != nullptr && others != nullptr && names->fields == others->fields &&
                            (two_kinds_ || names->type == others->type));
    return all(tuple->items, other.items) && same_names;
  }
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

bool Comparer::is_same_node(const Current& now, NodeId a, NodeId b) {
  const Place i = now.before.place(a);
  const Place j = now.after.place(b);
  if (now.nodes.in_after(i) == j || now.nodes.in_before(j) == kNoPlace) return true;
  if (now.nodes.in_after(i) != kNoPlace) return false;
  // The node was removed: an equal one is there, or its feed feeds its user now.
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

}  // namespace fxtrace::internal
