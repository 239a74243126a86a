#include "trace/tracer/graph_tracer.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "operators/operators.h"
#include "operators/target.h"
#include "opinfo/traits.h"
#include "support/error.h"
#include "support/scope_guard.h"
#include "trace/options/option_table.h"
#include "trace/tracer/graph_builder.h"

namespace fxtrace::internal {

GraphTracer::GraphTracer(const ModuleFacts& facts, const LeafRules& rules, std::int64_t max_nodes,
                         FailedModules& failed, ModuleId root, const std::vector<FixedInput>& fixed)
    : facts_(facts),
      rules_(rules),
      max_nodes_(max_nodes),
      failed_(failed),
      root_(root),
      fixed_(fixed),
      log_(facts, journal_, root) {
  open_builder(root, "");
  calls_.push_back({root, scope_of(root, 1)});
}

void GraphTracer::open_builder(ModuleId module, std::string name) {
  const ModuleInfo& info = facts_.info(module);
  builders_.push_back(std::make_shared<GraphBuilder>(GraphId{next_graph_++}, std::move(name), info.path,
                                                     info.type, journal_));
}

bool GraphTracer::is_fixed(const std::string& input) const {
  return std::any_of(fixed_.begin(), fixed_.end(),
                     [&](const FixedInput& fixed) { return fixed.name == input && !fixed.is_given; });
}

bool GraphTracer::is_given(const std::string& input) const {
  return std::any_of(fixed_.begin(), fixed_.end(),
                     [&](const FixedInput& fixed) { return fixed.name == input && fixed.is_given; });
}

Scope GraphTracer::scope_of(ModuleId module, std::int64_t call, std::string method) const {
  const ModuleInfo& info = facts_.info(module);
  const bool has_type = !info.path.empty() && !info.type.empty();
  return {info.path, has_type ? std::optional(info.type) : std::nullopt, call, std::move(method)};
}

void GraphTracer::check_limit() {
  ++nodes_made_;
  const std::size_t work = builder().graph().size() + log_.calls();
  if (work < static_cast<std::size_t>(max_nodes_)) return;
  Failure failure;
  failure.kind = FailureKind::kLimit;
  failure.limit = Limit::kNodes;
  failure.message = naming_option(
      "more than " + std::to_string(max_nodes_) + " nodes and module calls in one graph", failure.limit);
  throw TraceFailure(std::move(failure));
}

// --- nodes ---

NodeId GraphTracer::append(Graph::NodeSpec spec) {
  check_limit();
  return builder().append(std::move(spec));
}

NodeId GraphTracer::placeholder(const std::string& name, std::vector<Argument> default_value, Meta meta) {
  has_inputs_ = true;
  return append({Opcode::kPlaceholder,
                 name,
                 std::move(default_value),
                 {},
                 calls_.back().scope,
                 std::move(meta),
                 std::nullopt,
                 name});
}

// Control flow takes only tensors and integers as operands, so other attributes are read inside a subgraph.
NodeId GraphTracer::get_attr(const std::string& target, Meta meta,
                             Shared<std::optional<SourceLocation>> source) {
  GraphBuilder& home = meta.kind() == ValueKind::kTensor ? *builders_.front() : builder();
  return get_attr_in(home, target, std::move(meta), std::move(source));
}

NodeId GraphTracer::get_state(const std::string& target, Meta meta,
                              Shared<std::optional<SourceLocation>> source) {
  return get_attr_in(*builders_.front(), target, std::move(meta), std::move(source));
}

NodeId GraphTracer::get_attr_in(GraphBuilder& home, const std::string& target, Meta meta,
                                Shared<std::optional<SourceLocation>> source) {
  auto id = home.find_attr(target);
  if (!id) {
    check_limit();
    id = home.get_attr(
        {Opcode::kGetAttr, target, {}, {}, calls_.back().scope, std::move(meta), std::move(source), ""});
    const auto parameter = facts_.find_parameter(target);
    if (parameter) home.stands_for_parameter(*id, *parameter);
  }
  return use({home.id(), *id});
}

NodeId GraphTracer::get_attr_again(const std::string& target, Meta meta,
                                   Shared<std::optional<SourceLocation>> source) {
  return append(
      {Opcode::kGetAttr, target, {}, {}, calls_.back().scope, std::move(meta), std::move(source), ""});
}

NodeId GraphTracer::named_constant(const std::string& name, const std::function<Constant()>& make) {
  if (const auto known = builder().find_attr(name)) return *known;
  check_limit();
  return builder().named_constant(name, make, calls_.back().scope);
}

NodeId GraphTracer::constant(const void* identity, const std::function<Constant()>& make,
                             Shared<std::optional<SourceLocation>> source) {
  if (const auto known = builder().find_constant(identity)) return *known;
  check_limit();
  return builder().constant(identity, make, calls_.back().scope, std::move(source));
}

NodeId GraphTracer::call_function(std::string target, std::vector<Argument> args, Kwargs kwargs, Meta meta,
                                  Shared<std::optional<SourceLocation>> source, std::string name_hint) {
  return call_with_subgraphs(std::move(target), std::move(args), std::move(kwargs), std::move(meta),
                             std::move(source), std::move(name_hint), {});
}

NodeId GraphTracer::call_with_subgraphs(std::string target, std::vector<Argument> args, Kwargs kwargs,
                                        Meta meta, Shared<std::optional<SourceLocation>> source,
                                        std::string name_hint, const std::vector<NodeId>& for_subgraphs) {
  use_parameters(args, kwargs, for_subgraphs);
  return append({Opcode::kCallFunction, std::move(target), std::move(args), std::move(kwargs),
                 calls_.back().scope, std::move(meta), std::move(source), std::move(name_hint)});
}

NodeId GraphTracer::call_model_function(std::string qualified_name, std::vector<Argument> args, Kwargs kwargs,
                                        Meta meta, Shared<std::optional<SourceLocation>> source,
                                        bool is_recorded) {
  use_parameters(args, kwargs);
  return append({Opcode::kCallFunction, std::move(qualified_name), std::move(args), std::move(kwargs),
                 calls_.back().scope, std::move(meta), std::move(source), "", true, is_recorded});
}

NodeId GraphTracer::call_method(std::string target, std::vector<Argument> args, Kwargs kwargs, Meta meta,
                                Shared<std::optional<SourceLocation>> source) {
  use_parameters(args, kwargs);
  return append({Opcode::kCallMethod, std::move(target), std::move(args), std::move(kwargs),
                 calls_.back().scope, std::move(meta), std::move(source), ""});
}

void GraphTracer::output(Argument value, Meta meta) {
  std::vector<Argument> args;
  args.push_back(std::move(value));
  append({Opcode::kOutput,
          "output",
          std::move(args),
          {},
          calls_.back().scope,
          std::move(meta),
          std::nullopt,
          "output"});
}

void GraphTracer::guard(Expression expr, std::optional<SourceLocation> source, GuardReason reason) {
  builder().guard({std::move(expr), std::move(source), reason, {}});
}

void GraphTracer::note_state_write(NodeId copy) {
  state_writes_.push_back({copy, facts_.info(current_module()).path});
  journal_.add([this] { state_writes_.pop_back(); });
}

void GraphTracer::set_signature(GraphSignature signature) { builder().set_signature(std::move(signature)); }

void GraphTracer::set_meta(NodeId node, Meta meta) { builder().graph().meta(node) = std::move(meta); }

void GraphTracer::set_cost(NodeId call, Cost cost) { builder().graph().set_cost(call, std::move(cost)); }

void GraphTracer::module_gives(ModuleId module, std::vector<Meta> outputs) {
  const auto [place, is_first] = module_outputs_.try_emplace(module.index);
  if (is_first) place->second = std::move(outputs);
}

void GraphTracer::set_program(NodeId call, ProgramPart program) {
  builder().graph().set_program(call, std::move(program));
}

void GraphTracer::set_in_order_of_use(NodeId call) { builder().graph().set_in_order_of_use(call, true); }

// --- subgraphs of higher-order operators ---

void GraphTracer::begin_subgraph(std::string name) {
  open_builder(current_module(), std::move(name));
  journal_.add([this] { builders_.pop_back(); });
}

std::vector<NodeId> GraphTracer::end_subgraph() {
  const std::shared_ptr<GraphBuilder> subgraph = std::move(builders_.back());
  builders_.pop_back();
  std::vector<NodeId> captured = subgraph->captured();
  builder().add_subgraph(subgraph->name(), subgraph->take_result());
  journal_.add([this, subgraph] {
    subgraph->put_back(builder().take_last_subgraph());
    builders_.push_back(subgraph);
  });
  return captured;
}

NodeId GraphTracer::subgraph_input(const std::string& name, Meta meta) {
  return append({Opcode::kPlaceholder, "", {}, {}, calls_.back().scope, std::move(meta), std::nullopt, name});
}

GraphTracer::OpenSubgraph GraphTracer::suspend_subgraph() {
  OpenSubgraph subgraph = std::move(builders_.back());
  builders_.pop_back();
  journal_.add([this, subgraph] { builders_.push_back(subgraph); });
  return subgraph;
}

void GraphTracer::resume_subgraph(OpenSubgraph subgraph) {
  builders_.push_back(std::move(subgraph));
  journal_.add([this] { builders_.pop_back(); });
}

namespace {

// Returns the number of open graphs from the outermost to the one that has the value, that one included.
std::size_t depth_of(const NodeRef& value, const std::vector<std::shared_ptr<GraphBuilder>>& builders) {
  std::size_t depth = builders.size();
  while (depth > 0 && builders[depth - 1]->id() != value.graph) --depth;
  if (depth == 0)
    throw Error(ErrorKind::kInternal, "the value belongs to a graph that does not enclose this one");
  return depth;
}

// The conversion of a value for a subgraph, which only takes tensors and integers as operands.
struct Conversion {
  const char* outside;  // the function that makes the operand
  const char* inside;   // the function that makes the value again
  Kwargs kwargs;        // of `outside`
  Meta operand;
};

std::optional<Conversion> conversion_of(ValueKind kind) {
  Meta operand;
  switch (kind) {
    case ValueKind::kFloat:
      operand.type = "Tensor";
      operand.shape.emplace();
      operand.dtype = ScalarType::kFloat64;
      return Conversion{"aten.scalar_tensor.default",
                        "aten.item.default",
                        {{"dtype", Argument::Dtype{"float64"}}},
                        std::move(operand)};
    case ValueKind::kBool:
      operand.type = "int";
      return Conversion{"builtins.int", "builtins.bool", {}, std::move(operand)};
    default:
      return std::nullopt;
  }
}

// Returns whether the node asks a tensor for a property (x.dtype, x.size(), x.shape[1:]) that the tensor
// inside the subgraph has as well, because nothing changes its shape in place.  TorchScript has numbers in
// place of dtypes.
bool is_question(const Graph& graph, const Node& node) {
  const auto* asked = node.args.empty() ? nullptr : node.args[0].get_if<NodeId>();
  if (node.op != Opcode::kCallFunction || asked == nullptr) return false;
  if (node.target == "operator.getitem") return is_question(graph, graph.node(*asked));
  if (node.target == "builtins.getattr" && node.args.size() == 2) {
    const auto* name = node.args[1].get_if<std::string>();
    return name != nullptr && (*name == "dtype" || *name == "layout" || *name == "device");
  }
  if (!has_trait(find_operator(parse_target(node.target)), traits::kGivesSize)) return false;
  return std::ranges::none_of(graph.node(*asked).users, [&](NodeId user) {
    return has_trait(find_operator(parse_target(graph.node(user).target)), traits::kChangesShape);
  });
}

bool is_operand(const Meta& meta) {
  const ValueKind kind = meta.kind();
  return kind == ValueKind::kTensor || kind == ValueKind::kInt || !meta.type ||
         meta.type == "Optional[Tensor]";
}

}  // namespace

NodeId GraphTracer::capture(std::size_t depth, NodeId value) {
  GraphBuilder& outer = *builders_[depth - 1];
  GraphBuilder& inner = *builders_[depth];
  const Node& node = outer.graph().node(value);
  const Shared<Scope>& scope = calls_.back().scope;
  const bool asks = is_question(outer.graph(), node);
  const bool asks_for_number = asks && node.target != "builtins.getattr" && is_operand(node.meta);
  if (asks_for_number || (!asks && is_operand(node.meta))) {
    const NodeId input = inner.capture(value, node.name, scope, node.meta);
    if (const auto parameter = outer.find_parameter(value)) inner.stands_for_parameter(input, *parameter);
    return input;
  }
  if (const auto known = inner.find_converted(value)) return *known;
  check_limit();
  const Meta meta = node.meta;
  NodeId result;
  if (auto conversion = conversion_of(meta.kind())) {
    auto operand = outer.find_operand(value);
    if (!operand) {
      operand = outer.append({Opcode::kCallFunction,
                              conversion->outside,
                              {value},
                              std::move(conversion->kwargs),
                              scope,
                              conversion->operand,
                              std::nullopt,
                              ""});
      outer.set_operand(value, *operand);
    }
    result = inner.append({Opcode::kCallFunction,
                           conversion->inside,
                           {capture(depth, *operand)},
                           {},
                           scope,
                           meta,
                           std::nullopt,
                           ""});
  } else if (asks) {
    std::vector<Argument> args = node.args;
    for (Argument& arg : args) {
      arg = map_references(arg, [&](NodeId used) -> Argument { return capture(depth, used); });
    }
    const std::string target = outer.graph().node(value).target;
    result =
        inner.append({Opcode::kCallFunction, target, std::move(args), {}, scope, meta, std::nullopt, ""});
  } else {
    Failure failure;
    failure.kind = FailureKind::kDataDependentControlFlow;
    failure.message = "the subgraph of a branch or loop that depends on an input uses " + node.name +
                      ", of type " + meta.type.value_or("?") +
                      ", from outside: only tensors and numbers can be its operands";
    failure.op = node.target;
    failure.source = node.source;
    throw TraceFailure(std::move(failure));
  }
  inner.set_converted(value, result);
  return result;
}

NodeId GraphTracer::use(const NodeRef& value) {
  NodeId node = value.node;
  for (std::size_t depth = depth_of(value, builders_); depth < builders_.size(); ++depth) {
    node = capture(depth, node);
  }
  return node;
}

std::vector<NodeId> GraphTracer::end_subgraphs(const std::vector<OpenSubgraph>& subgraphs) {
  std::vector<NodeId> operands;
  std::unordered_set<std::uint32_t> seen;
  for (const OpenSubgraph& subgraph : subgraphs) {
    for (const NodeId captured : subgraph->captured()) {
      if (seen.insert(captured.index).second) operands.push_back(captured);
    }
  }
  for (const OpenSubgraph& subgraph : subgraphs) {
    resume_subgraph(subgraph);
    for (const NodeId operand : operands) capture(builders_.size() - 1, operand);
    builder().arrange_inputs(operands);
    end_subgraph();
  }
  return operands;
}

NodeRef GraphTracer::captured_by(const NodeRef& input) const {
  const std::size_t depth = depth_of(input, builders_);
  if (depth < 2) return {};
  const NodeId outer = builders_[depth - 1]->captured_as(input.node);
  return outer.valid() ? NodeRef{builders_[depth - 2]->id(), outer} : NodeRef{};
}

const Graph& GraphTracer::graph_of(const NodeRef& value) const {
  return builders_[depth_of(value, builders_) - 1]->graph();
}

void GraphTracer::stands_for_parameter(NodeId node, const std::string& qualified_name) {
  const auto parameter = facts_.find_parameter(qualified_name);
  if (parameter) builder().stands_for_parameter(node, *parameter);
}

// --- order of execution ---

void GraphTracer::use_parameters(const std::vector<Argument>& args, const Kwargs& kwargs,
                                 const std::vector<NodeId>& except) {
  if (!builder().has_parameters()) return;
  std::vector<std::size_t> used;
  const auto look = [&](NodeId id) {
    const auto parameter = builder().find_parameter(id);
    if (!parameter || std::find(except.begin(), except.end(), id) != except.end()) return;
    if (std::find(used.begin(), used.end(), *parameter) == used.end()) used.push_back(*parameter);
  };
  for (const auto& arg : args) for_each_reference(arg, look);
  for (const auto& [name, arg] : kwargs) for_each_reference(arg, look);
  if (used.empty()) return;
  log_.visit(used);
  log_.add_use(current_module(), current_module(), std::move(used));
}

void GraphTracer::use_all_parameters(ModuleId module) {
  const auto& parameters = facts_.parameters_of(module);
  if (parameters.empty()) return;
  log_.add_use(module, module, parameters);
  log_.visit(parameters);
}

// --- modules ---

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
                              Shared<std::optional<SourceLocation>> source, std::string method) {
  check_limit();
  const std::int64_t number = log_.begin_call(current_module(), module, calls_.back().scope->module_path);
  use_all_parameters(module);
  ++leaf_count_[module.index];
  journal_.add([this, module] { --leaf_count_[module.index]; });
  const NodeId call =
      append({Opcode::kCallModule, name_in_file(facts_.info(module)), std::move(args), std::move(kwargs),
              scope_of(module, number), std::move(meta), std::move(source), name_hint(module)});
  if (!method.empty()) builder().graph().set_method(call, std::move(method));
  return call;
}

NodeId GraphTracer::call_root(std::vector<Argument> args, Meta meta, std::string method) {
  use_all_parameters(root_);
  const ModuleInfo& info = facts_.info(root_);
  const NodeId call = append({Opcode::kCallModule,
                              name_in_file(info),
                              std::move(args),
                              {},
                              scope_of(root_, 1),
                              std::move(meta),
                              std::nullopt,
                              info.path.empty() ? "root" : name_hint(root_)});
  if (!method.empty()) builder().graph().set_method(call, std::move(method));
  return call;
}

// Returns the name that torch.fx would give to a call, made from the first path of the module; empty when the
// target gives the same name.
std::string GraphTracer::name_hint(ModuleId module) const {
  const ModuleInfo& info = facts_.info(module);
  return info.name_in_file.empty() ? "" : name_candidate(info.path, false);
}

std::int64_t GraphTracer::enter_call(ModuleId module) {
  check_limit();
  const std::int64_t number = log_.begin_call(current_module(), module, calls_.back().scope->module_path);
  if (inline_count_[module.index]++ == 0) inlined_.push_back(module);
  journal_.add([this, module] {
    if (--inline_count_[module.index] == 0) inlined_.pop_back();
  });
  resume_call(module, number);
  return number;
}

void GraphTracer::enter_method(ModuleId module, const std::string& method) {
  check_limit();
  const std::int64_t number = log_.begin_method(module, method, calls_.back().scope->module_path);
  calls_.push_back({current_module(), scope_of(module, number, method)});
}

void GraphTracer::resume_call(ModuleId module, std::int64_t call) {
  calls_.push_back({module, scope_of(module, call)});
}

void GraphTracer::leave_call() { calls_.pop_back(); }

bool GraphTracer::inline_call(ModuleId module, const std::function<void()>& run) {
  const Journal::Mark mark = journal_.mark();
  const std::size_t depth = calls_.size();
  try {
    enter_call(module);
    run();
    leave_call();
    return true;
  } catch (TraceFailure& thrown) {
    calls_.resize(depth, calls_.front());
    journal_.undo_to(mark);
    if (thrown.failure.module.empty()) thrown.failure.module = facts_.info(module).path;
    failed_.add(module, std::move(thrown.failure));
    if (inline_count_[module.index] > 0) stale_ = true;
    return false;
  }
}

bool GraphTracer::is_same_value(NodeId first, NodeId second, std::uint32_t pure_from) const {
  return internal::is_same_value(builder().result(), first, second, pure_from);
}

void GraphTracer::look_at(const std::function<void()>& run) {
  const Journal::Mark mark = journal_.mark();
  const Restore restore([&] { journal_.undo_to(mark); });
  run();
}

void GraphTracer::note_call(Shared<Scope> scope, CallNodes nodes) {
  if (in_subgraph() || (nodes.inputs.empty() && nodes.results.empty())) return;
  noted_calls_.emplace_back(std::move(scope), std::move(nodes));
  journal_.add([this] { noted_calls_.pop_back(); });
}

ModuleGraph GraphTracer::take_result() {
  builder().drop_unused_attributes();
  ModuleGraph result = builder().take_result();
  result.execution = log_.take_result();
  const auto names = [&](const CallNodes::Named& nodes) {
    std::vector<std::pair<std::string, std::string>> named;
    for (const auto& [name, node] : nodes) {
      if (result.graph.contains(node)) named.emplace_back(name, result.graph.node(node).name);
    }
    return named;
  };
  for (auto& [scope, nodes] : noted_calls_) {
    auto results = names(nodes.results);
    if (results.size() < nodes.results.size()) results.clear();
    result.execution->call_values.push_back({scope->module_path, scope->method, scope->call,
                                             names(nodes.inputs), std::move(nodes.type), std::move(results)});
  }
  return result;
}

}  // namespace fxtrace::internal
