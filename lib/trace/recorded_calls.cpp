#include "trace/recorded_calls.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string_view>
#include <utility>

#include "families/traits.h"
#include "operators/function_traits.h"
#include "operators/operators.h"
#include "operators/target.h"
#include "support/identifier.h"

namespace fxtrace {
namespace {

constexpr std::size_t kMaxMessages = 20;
constexpr std::string_view kModule = "torch/nn/modules/module.py";  // calls forward
constexpr std::string_view kTracer = "torch/jit/_trace.py";         // calls the root

std::string frame_text(const StackFrame& frame) {
  return frame.file + "(" + std::to_string(frame.line) + "): " + frame.function + "\n";
}

// "a/b/c.py" as "a.b.c"
std::string python_module_of(std::string_view path) {
  if (path.ends_with(".py")) path.remove_suffix(3);
  constexpr std::string_view kInit = "/__init__";
  if (path.ends_with(kInit)) path.remove_suffix(kInit.size());
  std::string name(path);
  std::ranges::replace(name, '/', '.');
  return name;
}

// Whether the whole is a shorter part, again and again.
template <class T>
bool is_repeated(const std::vector<T>& items) {
  for (std::size_t period = 1; period <= items.size() / 2; ++period) {
    if (items.size() % period != 0) continue;
    if (std::equal(items.begin() + static_cast<std::ptrdiff_t>(period), items.end(), items.begin()))
      return true;
  }
  return false;
}

// Whether some of the nodes have nothing to do with those before them: they may be another call's.
bool falls_apart(const Graph& graph, const std::vector<NodeId>& nodes) {
  std::unordered_map<std::uint32_t, std::size_t> last_use;  // by node: the last of the others that uses it
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for_each_input(graph.node(nodes[i]), [&](NodeId input) { last_use[input.index] = i; });
  }
  std::size_t reach = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (i > reach) return true;
    const auto use = last_use.find(nodes[i].index);
    if (use != last_use.end()) reach = std::max(reach, use->second);
  }
  return false;
}

bool may_write_anything(const Node& node) {
  const TargetParts parts = target_parts(node);
  if (parts.kind == TargetKind::kOperator) return may_write(find_operator(parts));
  using namespace function_traits;  // NOLINT(google-build-using-namespace)
  const FunctionTraits all = find_python_function(*node.target).traits;
  return (all & kKnown) == 0 || (all & (kWritesFirst | kOptionWrites | kInPlaceOption | kSideEffect)) != 0;
}

}  // namespace

RecordedCalls::RecordedCalls(const LeafRules& rules, const std::vector<ModuleInfo>& modules) : rules_(rules) {
  for (const ModuleInfo& module : modules) {
    const std::size_t dot = module.type.rfind('.');
    if (dot == std::string::npos || module.type.starts_with("torch.")) continue;
    const std::string python_module = module.type.substr(0, dot);
    std::string path = "/" + python_module;
    std::ranges::replace(path, '.', '/');
    files_.emplace(path + ".py", python_module);
    const std::string root = python_module.substr(0, python_module.find('.'));
    roots_.emplace("/" + root + "/", root);
  }
}

// The file's place below a package that the model's types name, or that is installed; else its own name.
std::string RecordedCalls::qualified_name(const StackFrame& frame) const {
  const std::string& file = frame.file;
  for (const auto& [path, name] : files_) {
    if (file.ends_with(path) || file == path.substr(1)) return name + "." + frame.function;
  }
  for (const auto& [path, name] : roots_) {
    const std::size_t at = file.rfind(path);
    if (at != std::string::npos)
      return python_module_of(std::string_view(file).substr(at + 1)) + "." + frame.function;
  }
  for (const std::string_view installed : {"/site-packages/", "/dist-packages/"}) {
    const std::size_t at = file.rfind(installed);
    if (at == std::string::npos) continue;
    return python_module_of(std::string_view(file).substr(at + installed.size())) + "." + frame.function;
  }
  return python_module_of(std::string_view(file).substr(file.rfind('/') + 1)) + "." + frame.function;
}

const std::string& RecordedCalls::kept_name(const StackFrame& frame) const {
  const auto [place, is_new] = kept_names_.try_emplace(frame.file + "\n" + frame.function);
  if (is_new && frame.function != "forward" && is_identifier(frame.function)) {
    std::string name = qualified_name(frame);
    const bool is_models_own = !name.starts_with("torch.") && !is_reserved_target(name);
    if (is_models_own && rules_.keeps(name)) place->second = std::move(name);
  }
  return place->second;
}

RecordedCalls::Place RecordedCalls::place_of(const std::vector<StackFrame>& stack) const {
  Place place;
  const auto is_in = [&](std::size_t i, std::string_view file) { return stack[i].file.ends_with(file); };
  std::size_t root = 0;  // the frame of the root's forward: what is around it is no part of the model
  while (root < stack.size() && !is_in(root, kTracer)) ++root;
  if (root == stack.size()) return place;
  while (root > 0 && (is_in(root, kTracer) || is_in(root, kModule))) --root;
  std::size_t forward = 0;  // of the innermost module
  while (forward < root && !is_in(forward, kModule)) ++forward;
  for (std::size_t i = root; i-- > 0;) {
    const StackFrame& frame = stack[i];
    const std::string& name = kept_name(frame);
    if (name.empty()) continue;
    place.function = name;
    place.key = name + "\n";
    for (std::size_t j = i + 1; j <= root; ++j) place.key += frame_text(stack[j]);
    const StackFrame& caller = stack[i + 1];
    place.caller = {caller.file, caller.line, caller.function, ""};
    place.line = frame.line;
    for (std::size_t j = 0; j < i; ++j) place.inner += frame_text(stack[j]);
    place.is_of_module = forward < i;
    break;
  }
  return place;
}

void RecordedCalls::note(NodeId node, const std::vector<StackFrame>& stack) {
  if (!stack.empty()) places_.insert_or_assign(node.index, place_of(stack));
}

std::vector<std::string> RecordedCalls::fold(Graph& graph) const {
  std::vector<Run> runs;
  Run run;
  std::vector<NodeId> unknown;  // since the last node of the run
  const auto close = [&] {
    if (!run.nodes.empty()) runs.push_back(std::move(run));
    run = {};
    unknown.clear();
  };
  for (const NodeId id : graph.order()) {
    const Opcode op = graph.node(id).op;
    if (op == Opcode::kPlaceholder || op == Opcode::kGetAttr) continue;
    const auto known = places_.find(id.index);
    if (op == Opcode::kOutput || (known != places_.end() && known->second.function.empty())) {
      close();
    } else if (known == places_.end()) {
      unknown.push_back(id);
    } else {
      if (run.place != nullptr && run.place->key != known->second.key) close();
      if (run.place == nullptr) {
        unknown.clear();
        run.place = &known->second;
      }
      run.nodes.insert(run.nodes.end(), unknown.begin(), unknown.end());
      unknown.clear();
      run.nodes.push_back(id);
    }
  }
  close();
  std::vector<std::string> messages;
  std::set<std::string> told;
  for (const Run& each : runs) {
    const auto why = why_not(graph, each);
    if (!why) {
      replace(graph, each);
    } else if (told.insert(each.place->key).second && told.size() <= kMaxMessages) {
      const SourceLocation& caller = each.place->caller;
      messages.push_back("--wrap: " + each.place->function + ", called at " + caller.file + ":" +
                         std::to_string(caller.line) + ", is followed: " + *why);
    }
  }
  if (told.size() > kMaxMessages) {
    messages.push_back("--wrap: calls at " + std::to_string(told.size() - kMaxMessages) +
                       " more places are followed");
  }
  return messages;
}

std::optional<std::string> RecordedCalls::why_not(const Graph& graph, const Run& run) const {
  const Shared<Scope>& scope = graph.node(run.nodes.front()).scope;
  struct Step {
    std::string target, inner;
    std::int64_t line = 0;
    bool operator==(const Step&) const = default;
  };
  std::vector<Step> steps;
  for (const NodeId id : run.nodes) {
    const Node& node = graph.node(id);
    const auto place = places_.find(id.index);
    if (node.op != Opcode::kCallFunction || !(*node.scope == *scope) ||
        (place != places_.end() && place->second.is_of_module)) {
      return "it calls a module";
    }
    if (target_parts(node).kind == TargetKind::kHigherOrder) return "control flow is inside of it";
    if (may_write_anything(node)) return *node.target + " may write something";
    if (place == places_.end()) continue;
    if (!steps.empty() && place->second.line < steps.back().line) {
      return "it is in a loop, or it is called several times there";
    }
    steps.push_back({*node.target, place->second.inner, place->second.line});
  }
  if (is_repeated(steps)) return "it is in a loop, or it is called several times there";
  if (falls_apart(graph, run.nodes)) return "it may be called several times there";
  return std::nullopt;
}

void RecordedCalls::replace(Graph& graph, const Run& run) {
  std::set<std::uint32_t> inside;
  for (const NodeId id : run.nodes) inside.insert(id.index);
  std::vector<Argument> args;
  std::set<std::uint32_t> entered;
  std::vector<NodeId> results;
  for (const NodeId id : run.nodes) {
    const Node& node = graph.node(id);
    for_each_input(node, [&](NodeId input) {
      const bool is_constant = graph.node(input).op == Opcode::kGetAttr &&
                               graph.node(input).target->starts_with("_tensor_constant");
      if (is_constant || inside.contains(input.index) || !entered.insert(input.index).second) return;
      args.emplace_back(input);
    });
    const auto is_outside = [&](NodeId user) { return !inside.contains(user.index); };
    if (std::ranges::any_of(node.users, is_outside)) results.push_back(id);
  }
  if (results.empty()) return;
  const auto metas = [&] {
    Meta meta;
    meta.type = "Tuple[";
    for (const NodeId id : results) {
      *meta.type += (meta.type->ends_with('[') ? "" : ", ") + graph.node(id).meta->type.value_or("Any");
    }
    *meta.type += "]";
    return meta;
  };
  Graph::NodeSpec spec;
  spec.op = Opcode::kCallFunction;
  spec.target = run.place->function;
  spec.args = std::move(args);
  spec.scope = graph.node(run.nodes.front()).scope;
  spec.meta = results.size() == 1 ? graph.node(results[0]).meta : Shared<Meta>(metas());
  spec.source = std::optional(run.place->caller);
  spec.model_function = true;
  spec.is_recorded = true;
  const NodeId behind = graph.next(run.nodes.back());
  const NodeId call = graph.insert_before(behind, std::move(spec));
  const auto is_outside = [&](NodeId user) { return !inside.contains(user.index); };
  for (std::size_t i = 0; i < results.size(); ++i) {
    NodeId value = call;
    if (results.size() > 1) {
      const Node& node = graph.node(results[i]);
      Graph::NodeSpec item{Opcode::kCallFunction,
                           "operator.getitem",
                           {call, static_cast<std::int64_t>(i)},
                           {},
                           node.scope,
                           node.meta,
                           node.source,
                           ""};
      value = graph.insert_before(behind, std::move(item));
    }
    graph.replace_all_uses(results[i], value, is_outside);
  }
  graph.erase(run.nodes);
}

}  // namespace fxtrace
