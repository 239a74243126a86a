#include "trace/graph_tracer.h"

#include <algorithm>
#include <unordered_set>

#include "support/error.h"
#include "support/restore.h"

namespace fxtrace {

// --- ModuleFacts ---

ModuleFacts::ModuleFacts(const Program& program)
    : modules_(&program.modules()),
      parameters_(&program.parameters()),
      first_parameter_(parameters_->size()),
      subtree_parameters_(modules_->size()) {
  by_name_.reserve(parameters_->size());
  for (std::size_t i = 0; i < parameters_->size(); ++i) by_name_.emplace((*parameters_)[i].name, i);
  for (std::size_t i = 0; i < parameters_->size(); ++i) {
    const auto& alias = (*parameters_)[i].alias_of;
    first_parameter_[i] = alias ? by_name_.at(*alias) : i;
  }
}

ModuleId ModuleFacts::first(ModuleId module) const { return info(module).alias_of.value_or(module); }

const std::vector<std::size_t>& ModuleFacts::parameters_of(ModuleId module) const {
  auto& cached = subtree_parameters_[module.index];
  if (cached) return *cached;
  // Explicit stack: module trees of hostile archives may be very deep.
  std::vector<std::size_t> found;
  std::unordered_set<std::size_t> seen;
  std::unordered_set<std::uint32_t> seen_modules;
  std::vector<ModuleId> pending{module};
  while (!pending.empty()) {
    const ModuleId current = first(pending.back());
    pending.pop_back();
    if (!seen_modules.insert(current.index).second) continue;
    for (const std::size_t own : info(current).parameters) {
      const std::size_t index = first_parameter_[own];
      if ((*parameters_)[index].kind == ParameterKind::kParameter && seen.insert(index).second) {
        found.push_back(index);
      }
    }
    const auto& children = info(current).children;
    pending.insert(pending.end(), children.rbegin(), children.rend());
  }
  cached = std::move(found);
  return *cached;
}

std::optional<std::size_t> ModuleFacts::find_parameter(const std::string& qualified_name) const {
  const auto it = by_name_.find(qualified_name);
  if (it == by_name_.end()) return std::nullopt;
  const std::size_t index = first_parameter_[it->second];
  if ((*parameters_)[index].kind != ParameterKind::kParameter) return std::nullopt;
  return index;
}

void FailedModules::add(ModuleId module, Failure failure) {
  if (failures_.emplace(module, std::move(failure)).second) order_.push_back(module);
}

void FailedModules::resize(std::size_t count) {
  for (; order_.size() > count; order_.pop_back()) failures_.erase(order_.back());
}

// --- GraphTracer: nodes ---

namespace {

Meta meta_of(const Constant& value) {
  Meta meta;
  if (!value.object_type.empty()) {
    meta.type = value.object_type;
    return meta;
  }
  meta.type = "Tensor";
  meta.dtype = value.dtype;
  meta.shape.emplace(value.shape.begin(), value.shape.end());
  return meta;
}

}  // namespace

GraphTracer::GraphTracer(const ModuleFacts& facts, const LeafRules& rules, std::int64_t max_nodes,
                         FailedModules& failed, ModuleId root, const std::vector<FixedInput>& fixed)
    : facts_(facts), rules_(rules), max_nodes_(max_nodes), failed_(failed), root_(root), fixed_(fixed) {
  recordings_.emplace_back();
  recording().result.module = facts_.info(root).path;
  recording().result.type = facts_.info(root).type;
  scopes_.push_back({root, scope_of(root, 1)});
  forward_order_.push_back(root);
  ++call_count_[root.index];
  first_calls_.push_back(root);
  uses_[root.index];
}

bool GraphTracer::is_fixed(const std::string& input) const {
  return std::any_of(fixed_.begin(), fixed_.end(),
                     [&](const FixedInput& fixed) { return fixed.name == input; });
}

Scope GraphTracer::scope_of(ModuleId module, std::int64_t call) const {
  const ModuleInfo& info = facts_.info(module);
  if (info.path.empty()) return {"", std::nullopt, call};
  return {info.path, info.type.empty() ? std::nullopt : std::optional(info.type), call};
}

NodeId GraphTracer::append(Graph::NodeSpec spec) {
  check_limit();
  return recording().result.graph.append(std::move(spec));
}

void GraphTracer::check_limit() {
  const std::size_t work = recording().result.graph.size() + forward_order_.size();
  if (work < static_cast<std::size_t>(max_nodes_)) return;
  Failure failure;
  failure.kind = FailureKind::kLimit;
  failure.message =
      "more than " + std::to_string(max_nodes_) + " nodes and module calls in one graph (--max-nodes)";
  throw TraceFailure(std::move(failure));
}

NodeId GraphTracer::placeholder(const std::string& name, std::vector<Argument> default_value, Meta meta) {
  return append({Opcode::kPlaceholder,
                 name,
                 std::move(default_value),
                 {},
                 scopes_.back().scope,
                 std::move(meta),
                 std::nullopt,
                 name});
}

NodeId GraphTracer::get_attr(const std::string& target, Meta meta, std::optional<SourceLocation> source) {
  auto& attributes = recording().attributes;
  const auto it = attributes.find(target);
  if (it != attributes.end()) return it->second;
  const NodeId id = append(
      {Opcode::kGetAttr, target, {}, {}, scopes_.back().scope, std::move(meta), std::move(source), ""});
  attributes.emplace(target, id);
  stands_for_parameter(id, target);
  Undo undo{Undo::kAttribute, {}, {}, target, nullptr};
  undo_.push_back(std::move(undo));
  return id;
}

NodeId GraphTracer::get_attr_again(const std::string& target, Meta meta,
                                   std::optional<SourceLocation> source) {
  return append(
      {Opcode::kGetAttr, target, {}, {}, scopes_.back().scope, std::move(meta), std::move(source), ""});
}

NodeId GraphTracer::get_constant(const std::string& name, const std::function<Constant()>& make) {
  const auto it = recording().attributes.find(name);
  if (it != recording().attributes.end()) return it->second;
  Constant value = make();
  Meta meta = meta_of(value);
  recording().result.constants.emplace_back(name, std::move(value));
  return get_attr(name, std::move(meta), std::nullopt);
}

NodeId GraphTracer::constant(const void* identity, const std::function<Constant()>& make,
                             std::optional<SourceLocation> source) {
  const auto it = recording().constants.find(identity);
  if (it != recording().constants.end()) return it->second;
  Constant value = make();
  const char* kind = value.object_type.empty() ? "_tensor_constant" : "_torchbind_obj";
  const std::string name = kind + std::to_string(recording().result.constants.size());
  Meta meta = meta_of(value);
  const NodeId id =
      append({Opcode::kGetAttr, name, {}, {}, scopes_.back().scope, std::move(meta), std::move(source), ""});
  recording().result.constants.emplace_back(name, std::move(value));
  recording().constants.emplace(identity, id);
  undo_.push_back({Undo::kConstant, {}, {}, {}, identity});
  return id;
}

NodeId GraphTracer::call_function(std::string target, std::vector<Argument> args, Kwargs kwargs, Meta meta,
                                  std::optional<SourceLocation> source, std::string name_hint) {
  return call_with_bodies(std::move(target), std::move(args), std::move(kwargs), std::move(meta),
                          std::move(source), std::move(name_hint), {});
}

NodeId GraphTracer::call_with_bodies(std::string target, std::vector<Argument> args, Kwargs kwargs, Meta meta,
                                     std::optional<SourceLocation> source, std::string name_hint,
                                     const std::vector<NodeId>& for_bodies) {
  use_parameters(args, kwargs, for_bodies);
  return append({Opcode::kCallFunction, std::move(target), std::move(args), std::move(kwargs),
                 scopes_.back().scope, std::move(meta), std::move(source), std::move(name_hint)});
}

NodeId GraphTracer::call_method(std::string target, std::vector<Argument> args, Kwargs kwargs, Meta meta,
                                std::optional<SourceLocation> source) {
  use_parameters(args, kwargs);
  return append({Opcode::kCallMethod, std::move(target), std::move(args), std::move(kwargs),
                 scopes_.back().scope, std::move(meta), std::move(source), ""});
}

void GraphTracer::output(Argument value, Meta meta) {
  std::vector<Argument> args;
  args.push_back(std::move(value));
  append({Opcode::kOutput,
          "output",
          std::move(args),
          {},
          scopes_.back().scope,
          std::move(meta),
          std::nullopt,
          "output"});
}

void GraphTracer::guard(Expression expr, std::optional<SourceLocation> source) {
  if (expr == Expression::boolean(true)) return;
  std::string key = expr.text() + '\n' + (source ? source->file + ':' + std::to_string(source->line) : "");
  if (!guard_keys_.insert(key).second) return;
  recording().result.guards.push_back({std::move(expr), std::move(source)});
  undo_.push_back({Undo::kGuard, {}, {}, std::move(key), nullptr});
}

void GraphTracer::set_signature(GraphSignature signature) {
  recording().result.signature = std::move(signature);
}

// --- GraphTracer: bodies of higher-order operators ---

void GraphTracer::begin_body(std::string name) {
  Recording body;
  body.name = std::move(name);
  body.result.module = facts_.info(current_module()).path;
  body.result.type = facts_.info(current_module()).type;
  recordings_.push_back(std::move(body));
}

void GraphTracer::end_body() {
  Recording body = std::move(recordings_.back());
  recordings_.pop_back();
  recording().result.subgraphs.push_back({std::move(body.name), std::move(body.result)});
}

void GraphTracer::stands_for_parameter(NodeId node, const std::string& qualified_name) {
  const auto parameter = facts_.find_parameter(qualified_name);
  if (parameter) recording().parameter_nodes.emplace(node.index, *parameter);
}

// --- GraphTracer: order of execution ---

void GraphTracer::visit_parameter(std::size_t index) {
  if (index >= parameter_visited_.size()) parameter_visited_.resize(index + 1);
  if (parameter_visited_[index]) return;
  parameter_visited_[index] = true;
  parameter_order_.push_back(index);
  undo_.push_back({Undo::kParameter, {}, {}, {}, nullptr});
}

void GraphTracer::use_parameters(const std::vector<Argument>& args, const Kwargs& kwargs,
                                 const std::vector<NodeId>& except) {
  const auto& parameter_nodes = recording().parameter_nodes;
  if (parameter_nodes.empty()) return;
  std::vector<std::size_t> used;
  const auto look = [&](NodeId id) {
    const auto it = parameter_nodes.find(id.index);
    if (it == parameter_nodes.end()) return;
    if (std::find(except.begin(), except.end(), id) != except.end()) return;
    if (std::find(used.begin(), used.end(), it->second) == used.end()) used.push_back(it->second);
  };
  for (const auto& arg : args) for_each_reference(arg, look);
  for (const auto& [name, arg] : kwargs) for_each_reference(arg, look);
  if (used.empty()) return;
  for (const std::size_t index : used) visit_parameter(index);
  add_use(current_module(), current_module(), std::move(used));
}

void GraphTracer::add_use(ModuleId user, ModuleId module, std::vector<std::size_t> parameters) {
  uses_[user.index].emplace_back(module, std::move(parameters));
  undo_.push_back({Undo::kUse, user, {}, {}, nullptr});
}

void GraphTracer::begin_call(ModuleId module) {
  check_limit();
  forward_order_.push_back(module);
  ++call_count_[module.index];
  undo_.push_back({Undo::kForward, module, {}, {}, nullptr});
  const auto& parameters = facts_.parameters_of(module);
  if (!parameters.empty()) add_use(current_module(), module, parameters);
  const auto known = uses_.find(module.index);
  if (known == uses_.end()) {
    uses_[module.index];
    first_calls_.push_back(module);
    undo_.push_back({Undo::kFirstCall, module, {}, {}, nullptr});
  } else {
    undo_.push_back({Undo::kUsesReset, module, std::move(known->second), {}, nullptr});
    known->second.clear();
  }
}

// --- GraphTracer: modules ---

bool GraphTracer::is_leaf(ModuleId module) const {
  return rules_.is_leaf(module) || failed_.contains(module);
}

bool GraphTracer::runs_in_leaf(ModuleId module) const {
  if (leaf_count_.empty()) return false;
  for (std::optional<ModuleId> holder = module; holder; holder = facts_.info(*holder).parent) {
    const auto it = leaf_count_.find(holder->index);
    if (it != leaf_count_.end() && it->second > 0) return true;
  }
  return false;
}

NodeId GraphTracer::call_leaf(ModuleId module, std::vector<Argument> args, Kwargs kwargs, Meta meta,
                              std::optional<SourceLocation> source, std::string method) {
  begin_call(module);
  const auto& parameters = facts_.parameters_of(module);
  if (!parameters.empty()) {
    add_use(module, module, parameters);
    for (const std::size_t index : parameters) visit_parameter(index);
  }
  ++leaf_count_[module.index];
  undo_.push_back({Undo::kLeaf, module, {}, {}, nullptr});
  const ModuleInfo& info = facts_.info(module);
  const NodeId call =
      append({Opcode::kCallModule, info.path, std::move(args), std::move(kwargs),
              scope_of(module, call_count_[module.index]), std::move(meta), std::move(source), ""});
  if (!method.empty()) recording().result.graph.set_method(call, std::move(method));
  return call;
}

NodeId GraphTracer::call_root(std::vector<Argument> args, Meta meta) {
  const auto& parameters = facts_.parameters_of(root_);
  if (!parameters.empty()) {
    add_use(root_, root_, parameters);
    for (const std::size_t index : parameters) visit_parameter(index);
  }
  const ModuleInfo& info = facts_.info(root_);
  return append({Opcode::kCallModule,
                 info.path,
                 std::move(args),
                 {},
                 scope_of(root_, 1),
                 std::move(meta),
                 std::nullopt,
                 info.path.empty() ? "root" : ""});
}

std::int64_t GraphTracer::enter_call(ModuleId module) {
  begin_call(module);
  if (inline_count_[module.index]++ == 0) inlined_.push_back(module);
  undo_.push_back({Undo::kInlined, module, {}, {}, nullptr});
  const std::int64_t call = call_count_[module.index];
  resume_call(module, call);
  return call;
}

void GraphTracer::resume_call(ModuleId module, std::int64_t call) {
  scopes_.push_back({module, scope_of(module, call)});
}

void GraphTracer::leave_call() { scopes_.pop_back(); }

void GraphTracer::set_meta(NodeId node, Meta meta) { recording().result.graph.meta(node) = std::move(meta); }

void GraphTracer::set_program_nodes(NodeId call, std::vector<std::string> names) {
  recording().result.graph.set_program_nodes(call, std::move(names));
}

bool GraphTracer::inline_call(ModuleId module, const std::function<void()>& body) {
  const Mark mark{recording().result.graph.mark(), undo_.size()};
  const std::size_t depth = scopes_.size();
  try {
    enter_call(module);
    body();
    leave_call();
    return true;
  } catch (TraceFailure& thrown) {
    scopes_.resize(depth, scopes_.front());
    roll_back(mark);
    if (thrown.failure.module.empty()) thrown.failure.module = facts_.info(module).path;
    failed_.add(module, std::move(thrown.failure));
    if (inline_count_[module.index] > 0) stale_ = true;
    return false;
  }
}

void GraphTracer::look_at(const std::function<void()>& body) {
  const Mark mark{recording().result.graph.mark(), undo_.size()};
  const Restore restore([&] { roll_back(mark); });
  body();
}

void GraphTracer::roll_back(const Mark& mark) {
  while (undo_.size() > mark.undo) {
    Undo& undo = undo_.back();
    switch (undo.kind) {
      case Undo::kForward:
        forward_order_.pop_back();
        --call_count_[undo.module.index];
        break;
      case Undo::kUse:
        uses_[undo.module.index].pop_back();
        break;
      case Undo::kUsesReset:
        uses_[undo.module.index] = std::move(undo.old_uses);
        break;
      case Undo::kParameter:
        parameter_visited_[parameter_order_.back()] = false;
        parameter_order_.pop_back();
        break;
      case Undo::kFirstCall:
        uses_.erase(undo.module.index);
        first_calls_.pop_back();
        break;
      case Undo::kAttribute: {
        const auto it = recording().attributes.find(undo.key);
        recording().parameter_nodes.erase(it->second.index);
        recording().attributes.erase(it);
        break;
      }
      case Undo::kConstant:
        recording().constants.erase(undo.identity);
        recording().result.constants.pop_back();
        break;
      case Undo::kInlined:
        if (--inline_count_[undo.module.index] == 0) inlined_.pop_back();
        break;
      case Undo::kLeaf:
        --leaf_count_[undo.module.index];
        break;
      case Undo::kGuard:
        guard_keys_.erase(undo.key);
        recording().result.guards.pop_back();
        break;
    }
    undo_.pop_back();
  }
  recording().result.graph.roll_back(mark.graph);
}

// Front ends look attributes up that Python would not: `if self.bias is None`.  Where an attribute is looked
// up is not always recorded; then the place of its first use stands for it.
void GraphTracer::finish_attributes() {
  ModuleGraph& result = recording().result;
  Graph& graph = result.graph;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (node.op != Opcode::kGetAttr) continue;
    if (!node.users.empty()) {
      if (!node.source) graph.set_source(id, graph.node(node.users.front()).source);
      continue;
    }
    const auto same = [&](const auto& constant) { return constant.first == node.target; };
    auto& constants = result.constants;
    constants.erase(std::remove_if(constants.begin(), constants.end(), same), constants.end());
    graph.erase(id);
  }
  if (!result.signature) return;
  for (auto* entries : {&result.signature->inputs, &result.signature->outputs}) {
    for (auto& entry : *entries) {
      if (!graph.contains(entry.node)) entry.node = {};
    }
  }
}

ModuleGraph GraphTracer::take() {
  finish_attributes();
  const auto names = [&](const std::vector<std::size_t>& parameters) {
    std::vector<std::string> result;
    result.reserve(parameters.size());
    for (const std::size_t index : parameters) result.push_back(facts_.parameter_name(index));
    return result;
  };
  Execution execution;
  for (const ModuleId module : forward_order_)
    execution.module_forward_order.push_back(facts_.info(module).path);
  execution.param_forward_order = names(parameter_order_);
  for (const ModuleId module : first_calls_) {
    Execution::ModuleUses uses{facts_.info(module).path, {}};
    for (const auto& [used, parameters] : uses_[module.index]) {
      uses.uses.push_back({facts_.info(used).path, names(parameters)});
    }
    execution.module_param_usage.push_back(std::move(uses));
  }
  recording().result.execution = std::move(execution);
  return std::move(recording().result);
}

}  // namespace fxtrace
