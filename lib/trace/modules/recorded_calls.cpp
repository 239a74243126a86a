#include "trace/modules/recorded_calls.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "operators/names/function_traits.h"
#include "operators/operators.h"
#include "operators/target.h"
#include "opinfo/traits.h"
#include "support/text/identifier.h"

namespace fxtrace::internal {
namespace {

constexpr std::size_t kMaxMessages = 20;
constexpr std::string_view kModule = "torch/nn/modules/module.py";  // calls forward
constexpr std::string_view kTracer = "torch/jit/_trace.py";         // calls the root

std::string frame_text(const StackFrame& frame) {
  const std::string column = frame.column < 0 ? "" : ":" + std::to_string(frame.column);
  return frame.file + "(" + std::to_string(frame.line) + column + "): " + frame.function + "\n";
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

// Returns whether the items are a shorter sequence, repeated.
template <class T>
bool is_repeated(const std::vector<T>& items) {
  for (std::size_t period = 1; period <= items.size() / 2; ++period) {
    if (items.size() % period != 0) continue;
    if (std::equal(items.begin() + static_cast<std::ptrdiff_t>(period), items.end(), items.begin()))
      return true;
  }
  return false;
}

// Returns whether control surely flows from the line to its end and to the next line.
bool goes_on(std::string_view text) {
  static constexpr std::string_view kBranches[] = {"if",    "else",     "elif", "for",    "while", "and",
                                                   "or",    "lambda",   "with", "return", "raise", "yield",
                                                   "break", "continue", "try",  "except"};
  if (text.empty()) return false;
  return std::ranges::none_of(kBranches, [&](std::string_view word) { return has_identifier(text, word); });
}

// Returns whether a call that has run the step `before` surely runs `step` as well.
bool leads_to(const RecordedFunctions::Step& before, const RecordedFunctions::Step& step) {
  if (before.place == nullptr || step.place == nullptr) return false;
  const std::int64_t lines = step.place->line - before.place->line;
  std::string_view text = before.place->text;
  // The parts of a returned expression are evaluated in order.
  constexpr std::string_view kReturn = "return ";
  if (lines == 0 && text.starts_with(kReturn)) text.remove_prefix(kReturn.size());
  return (lines == 0 || lines == 1) && goes_on(text);
}

// Returns whether the steps fall into two parts, of which the second neither uses the first nor surely
// follows it: it may be another call.
bool falls_apart(const std::vector<RecordedFunctions::Step>& all, const std::vector<std::size_t>& steps,
                 bool has_repeated) {
  std::unordered_map<std::size_t, std::size_t> last_use;  // by step: the position of its last user
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (const std::size_t used : all[steps[i]].uses) last_use[used] = i;
  }
  std::size_t reach = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (i > reach && (has_repeated || !leads_to(all[steps[i - 1]], all[steps[i]]))) return true;
    const auto use = last_use.find(steps[i]);
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

RecordedFunctions::RecordedFunctions(const LeafRules& rules, const std::vector<ModuleInfo>& modules)
    : rules_(rules) {
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

// Returns FILE.FUNCTION as a Python name.  The file is named from a package that the model's types are in,
// else from the folder of installed packages, else by its base name.
std::string RecordedFunctions::qualified_name(const StackFrame& frame) const {
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

const std::string& RecordedFunctions::kept_name(const StackFrame& frame) const {
  const auto [place, is_new] = kept_names_.try_emplace(frame.file + "\n" + frame.function);
  if (is_new && frame.function != "forward" && is_identifier(frame.function)) {
    std::string name = qualified_name(frame);
    const bool is_models_own = !name.starts_with("torch.") && !is_reserved_target(name);
    if (is_models_own && rules_.keeps(name)) place->second = std::move(name);
  }
  return place->second;
}

RecordedFunctions::Place RecordedFunctions::place_in_trace(const std::vector<StackFrame>& stack) const {
  const auto is_in = [&](std::size_t i, std::string_view file) { return stack[i].file.ends_with(file); };
  std::size_t root = 0;  // the frame of the root's forward; frames around it are not part of the model
  while (root < stack.size() && !is_in(root, kTracer)) ++root;
  if (root == stack.size()) return {};
  while (root > 0 && (is_in(root, kTracer) || is_in(root, kModule))) --root;
  Place place = place_of(stack, root);
  if (place.function.empty()) return place;
  std::size_t forward = 0;  // the frame that calls the forward of the innermost module
  while (forward < root && !is_in(forward, kModule)) ++forward;
  std::size_t function = root;
  while (kept_name(stack[function]).empty()) --function;
  place.is_of_module = forward < function;
  return place;
}

RecordedFunctions::Place RecordedFunctions::place_in_export(const std::vector<StackFrame>& stack) const {
  if (stack.empty()) return {};
  Place place = place_of(stack, stack.size() - 1);
  if (place.function.empty()) return place;
  std::size_t function = stack.size() - 1;
  for (; kept_name(stack[function]).empty(); --function) {
    if (stack[function].function == "forward") ++place.forwards;
  }
  for (std::size_t i = 0; i < function; ++i)
    place.is_of_module = place.is_of_module || stack[i].function == "forward";
  return place;
}

// Returns the place in the outermost kept function on the stack, inside of the frame of the root's forward.
RecordedFunctions::Place RecordedFunctions::place_of(const std::vector<StackFrame>& stack,
                                                     std::size_t root) const {
  Place place;
  for (std::size_t i = root; i-- > 0;) {
    const StackFrame& frame = stack[i];
    const std::string& name = kept_name(frame);
    if (name.empty()) continue;
    place.function = name;
    place.key = name + "\n";
    for (std::size_t j = i + 1; j <= root; ++j) place.key += frame_text(stack[j]);
    const StackFrame& caller = stack[i + 1];
    place.caller = {caller.file, caller.line, caller.function, caller.text};
    place.line = frame.line;
    place.column = frame.column;
    place.text = frame.text;
    for (std::size_t j = 0; j < i; ++j) place.inner += frame_text(stack[j]);
    break;
  }
  return place;
}

namespace {

// Steps that may be one call, and steps beside them that may belong to it.
struct Run {
  const RecordedFunctions::Place* place = nullptr;
  std::vector<std::size_t> steps;
  std::optional<std::size_t> module_call;  // of the steps that no module inside the function runs
  std::vector<std::size_t> beside;         // steps of unknown place
};

std::optional<Diagnostic> why_not(const std::vector<RecordedFunctions::Step>& all, const Run& run) {
  using enum RecordedFunctions::StepKind;
  struct Line {
    std::string target, inner;
    std::int64_t line = 0, column = -1;
    auto operator<=>(const Line&) const = default;
  };
  const Diagnostic several{"it is in a loop or called several times there"};
  const Diagnostic maybe{"it may be in a loop or called several times there"};
  std::vector<Line> lines;
  std::int64_t returned = INT64_MAX;
  bool has_repeated = false;
  std::set<Line> seen;
  for (const std::size_t at : run.steps) {
    const RecordedFunctions::Step& step = all[at];
    if (step.place != nullptr && step.place->is_of_module) return Diagnostic{"it calls a module"};
    if (step.kind == kModule) return Diagnostic{"it may call a module"};
    if (step.kind == kRegion)
      return Diagnostic{"{}, which runs subgraphs, is inside of it or around it", {step.target}};
    if (step.kind == kWrite) return Diagnostic{"{} in it may write to a tensor in place", {step.target}};
    if (step.place == nullptr || step.kind == kNumber) continue;
    Line line{step.target, step.place->inner, step.place->line, step.place->column};
    if (line.line > returned) return maybe;
    if (!lines.empty() && line.line < lines.back().line) {
      return seen.contains(line) ? several : maybe;
    }
    if (step.place->text.starts_with("return")) returned = line.line;
    has_repeated = !seen.insert(line).second || has_repeated;
    lines.push_back(std::move(line));
  }
  if (is_repeated(lines)) return several;
  if (falls_apart(all, run.steps, has_repeated)) return Diagnostic{"it may be called several times there"};
  for (const std::size_t at : run.beside) {
    const bool is_elsewhere = run.module_call && all[at].module_call != *run.module_call;
    if (!is_elsewhere && all[at].kind != kModule && all[at].kind != kNumber &&
        all[at].target != "operator.getitem")
      return Diagnostic{"the file does not tell whether {} beside it belongs to it", {all[at].target}};
  }
  return std::nullopt;
}

}  // namespace

std::vector<RecordedFunctions::Call> RecordedFunctions::find_calls(const std::vector<Step>& steps,
                                                                   Followed& followed) const {
  std::vector<Call> calls;
  Run run;
  std::vector<std::size_t> unknown;  // steps of unknown place since the last known one
  const auto close = [&] {
    if (run.place == nullptr) return;
    run.beside.insert(run.beside.end(), unknown.begin(), unknown.end());
    if (const auto why = why_not(steps, run)) {
      followed.add(*run.place, *why);
    } else {
      calls.push_back({run.place, std::move(run.steps)});
    }
    run = {};
  };
  const auto belongs = [&](const Step& step) {
    if (run.place == nullptr || run.place->key != step.place->key) return false;
    return step.place->is_of_module || !run.module_call || *run.module_call == step.module_call;
  };
  const auto is_of_run = [&](std::size_t step) {
    return std::ranges::binary_search(run.steps, step);  // they ascend
  };
  for (std::size_t at = 0; at < steps.size(); ++at) {
    const Step& step = steps[at];
    if (step.kind == StepKind::kNumber) {
      const bool needs_run = std::ranges::any_of(step.uses, is_of_run);
      if (needs_run && (step.place == nullptr || belongs(step))) run.steps.push_back(at);
      continue;
    }
    if (step.place == nullptr) {
      unknown.push_back(at);
      continue;
    }
    if (step.place->function.empty()) {
      close();
    } else {
      if (!belongs(step)) close();
      if (run.place == nullptr) {
        run.place = step.place;
        run.beside = unknown;
      } else {
        run.steps.insert(run.steps.end(), unknown.begin(), unknown.end());
        std::ranges::sort(run.steps);
      }
      if (!step.place->is_of_module) run.module_call = step.module_call;
      run.steps.push_back(at);
    }
    unknown.clear();
  }
  close();
  // The constants of calls of one function that run the same operations; null for several.
  std::map<std::string, std::optional<std::string>> constants;
  const auto texts_of = [&](const Call& call) {
    std::pair<std::string, std::string> texts{call.place->function, ""};
    for (const std::size_t step : call.steps) {
      if (steps[step].kind == StepKind::kNumber) continue;
      texts.first += ' ' + steps[step].target;
      texts.second += steps[step].constants + '\n';
    }
    return texts;
  };
  for (const Call& call : calls) {
    auto [operations, text] = texts_of(call);
    const auto [known, is_new] = constants.try_emplace(std::move(operations), text);
    if (!is_new && known->second != text) known->second.reset();
  }
  std::erase_if(calls, [&](const Call& call) {
    if (constants.at(texts_of(call).first)) return false;
    followed.add(*call.place, {"its calls differ in constants, which a recorded call does not have"});
    return true;
  });
  return calls;
}

void RecordedFunctions::Followed::add(const Place& place, const Diagnostic& why) {
  if (!told_.insert(place.key).second || told_.size() > kMaxMessages) return;
  const SourceLocation& caller = place.caller;
  reasons_.push_back({"--wrap: {}, called at {}, is traced into: ",
                      {place.function, caller.file + ":" + std::to_string(caller.line)}});
  reasons_.back().add(why.id, why.subjects);
}

std::vector<Diagnostic> RecordedFunctions::Followed::reasons() const {
  std::vector<Diagnostic> reasons = reasons_;
  if (told_.size() > kMaxMessages) {
    reasons.push_back(
        {"--wrap: calls at {} more places are traced into", {std::to_string(told_.size() - kMaxMessages)}});
  }
  return reasons;
}

namespace {

bool is_constant(const Node& node) {
  return node.op == Opcode::kGetAttr && node.target->starts_with("_tensor_constant");
}

// Returns the nodes that are used outside, in order.
std::vector<NodeId> results_of(const Graph& graph, const std::vector<NodeId>& nodes) {
  std::set<std::uint32_t> inside;
  for (const NodeId id : nodes) inside.insert(id.index);
  std::vector<NodeId> results;
  for (const NodeId id : nodes) {
    const auto is_outside = [&](NodeId user) { return !inside.contains(user.index); };
    if (std::ranges::any_of(graph.node(id).users, is_outside)) results.push_back(id);
  }
  return results;
}

// Returns the target of an operation that makes one of several results and may return its argument x itself,
// as `to` the dtype of x does; nothing when there is none.  torch.jit.trace lets later readers of x read the
// result of such an operation, so that it is not known whether the value is a result of the function.
std::optional<std::string> gives_back(const Graph& graph, const std::vector<NodeId>& nodes) {
  const std::vector<NodeId> results = results_of(graph, nodes);
  if (results.size() < 2) return std::nullopt;
  for (const NodeId id : results) {
    const Node& node = graph.node(id);
    const auto* argument = node.args.empty() ? nullptr : node.args[0].get_if<NodeId>();
    const bool enters = argument != nullptr && std::ranges::find(nodes, *argument) == nodes.end();
    if (enters && has_trait(find_operator(target_parts(node)), traits::kMayBeArgument)) return *node.target;
  }
  return std::nullopt;
}

}  // namespace

void RecordedCalls::note(NodeId node, const std::vector<StackFrame>& stack) {
  if (!stack.empty()) places_.insert_or_assign(node.index, functions_.place_in_trace(stack));
}

std::vector<Diagnostic> RecordedCalls::fold(Graph& graph) const {
  using enum RecordedFunctions::StepKind;
  std::vector<RecordedFunctions::Step> steps;
  std::vector<NodeId> nodes;                            // by step
  std::unordered_map<std::uint32_t, std::size_t> made;  // step by node
  std::map<std::tuple<std::string, std::string, std::int64_t>, std::size_t> module_calls;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (node.op == Opcode::kPlaceholder || node.op == Opcode::kGetAttr || node.op == Opcode::kOutput)
      continue;
    RecordedFunctions::Step step;
    const auto place = places_.find(id.index);
    if (place != places_.end()) step.place = &place->second;
    step.target = *node.target;
    step.constants = constants_of(node, has_trait(find_operator(target_parts(node)), traits::kPointwise));
    if (node.op != Opcode::kCallFunction) {
      step.kind = node.op == Opcode::kCallModule ? kModule : kWrite;
    } else if (target_parts(node).kind == TargetKind::kHigherOrder) {
      step.kind = kRegion;
    } else if (may_write_anything(node)) {
      step.kind = kWrite;
    }
    step.module_call =
        module_calls
            .try_emplace({node.scope->module_path, node.scope->method, node.scope->call}, module_calls.size())
            .first->second;
    for_each_input(node, [&](NodeId input) {
      if (const auto known = made.find(input.index); known != made.end()) step.uses.push_back(known->second);
      if (is_constant(graph.node(input))) step.constants += *graph.node(input).target + ' ';
    });
    made.emplace(id.index, steps.size());
    nodes.push_back(id);
    steps.push_back(std::move(step));
  }
  RecordedFunctions::Followed followed;
  for (const RecordedFunctions::Call& call : functions_.find_calls(steps, followed)) {
    std::vector<NodeId> of_call;
    for (const std::size_t step : call.steps) of_call.push_back(nodes[step]);
    if (const auto target = gives_back(graph, of_call)) {
      followed.add(*call.place, {"{} in it may return its argument itself", {*target}});
    } else {
      replace(graph, *call.place, of_call);
    }
  }
  return followed.reasons();
}

void RecordedCalls::replace(Graph& graph, const RecordedFunctions::Place& place,
                            const std::vector<NodeId>& nodes) {
  std::set<std::uint32_t> inside;
  for (const NodeId id : nodes) inside.insert(id.index);
  std::vector<Argument> args;
  std::set<std::uint32_t> entered;
  const std::vector<NodeId> results = results_of(graph, nodes);
  for (const NodeId id : nodes) {
    const Node& node = graph.node(id);
    for_each_input(node, [&](NodeId input) {
      if (is_constant(graph.node(input)) || inside.contains(input.index) ||
          !entered.insert(input.index).second)
        return;
      args.emplace_back(input);
    });
  }
  if (results.empty()) return;
  const auto metas = [&] {
    Meta meta;
    meta.type = "Tuple[";
    for (const NodeId id : results) {
      *meta.type += (meta.type->ends_with('[') ? "" : ", ") + graph.node(id).meta->type.value_or("Any");
    }
    *meta.type += ']';
    return meta;
  };
  Graph::NodeSpec spec;
  spec.op = Opcode::kCallFunction;
  spec.target = place.function;
  spec.args = std::move(args);
  spec.scope = graph.node(nodes.front()).scope;
  spec.meta = results.size() == 1 ? graph.node(results[0]).meta : Shared<Meta>(metas());
  spec.source = std::optional(place.caller);
  spec.model_function = true;
  spec.is_recorded = true;
  const NodeId behind = graph.next(nodes.back());
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
  graph.erase(nodes);
}

}  // namespace fxtrace::internal
