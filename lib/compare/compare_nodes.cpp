// Compares two nodes that are paired: targets, metadata, names and sources.
#include "compare/comparer.h"

#include <algorithm>
#include <tuple>

#include "graph/analysis/text_form.h"
#include "support/text/number_in.h"
#include "support/text/qualified_name.h"

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

}  // namespace fxtrace::internal
