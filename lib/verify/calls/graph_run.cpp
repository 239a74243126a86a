#include "verify/calls/graph_run.h"

#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "operators/names/allow_lists.h"
#include "opinfo/python_spelling.h"
#include "opinfo/traits.h"
#include "support/integers.h"
#include "support/text/did_you_mean.h"

namespace fxtrace::internal::verify {
namespace {

class GraphRun {
 public:
  GraphRun(const Engine& engine, const ModuleGraph& graph, ModelParts& parts, const Watcher& watcher)
      : engine_(engine), graph_(graph), parts_(parts), watcher_(watcher) {}

  RunValue run(const std::vector<RunValue>& inputs) {
    const Graph& graph = graph_.graph;
    std::size_t next = 0;
    RunValue result;
    for (NodeId id = graph.first(); id.valid(); id = graph.next(id)) {
      const Node& node = graph.node(id);
      RunValue value = guarded(node, [&] {
        if (node.op != Opcode::kPlaceholder) return run_node(node);
        if (next == inputs.size()) throw RunError("the graph has more placeholders than inputs");
        return inputs[next++];
      });
      if (node.op == Opcode::kOutput) result = value;
      keep(node, std::move(value));
    }
    if (!result) throw RunError("the graph has no output");
    for (const Assignment& assignment : graph.assignments())
      parts_.assign(assignment.target, value_of(assignment.value));
    return result;
  }

  void run(const std::vector<NodeId>& nodes, const std::function<RunValue(NodeId)>& outside, Values& values) {
    for (auto& [node, value] : values) values_[node] = {value, SIZE_MAX};
    for (const NodeId id : nodes) {
      const Node& node = graph_.graph.node(id);
      values[id.index] = guarded(node, [&] {
        for_each_input(node, [&](NodeId input) {
          if (!values_.contains(input.index)) values_[input.index] = {outside(input), SIZE_MAX};
        });
        return run_node(node);
      });
      values_[id.index] = {values.at(id.index), SIZE_MAX};
    }
  }

 private:
  struct Kept {
    RunValue value;
    std::size_t users;
  };

  template <class Run>
  RunValue guarded(const Node& node, Run&& run) {
    try {
      RunValue value = run();
      if (watcher_) watcher_(graph_, node, value);
      return value;
    } catch (const NodeError&) {
      throw;
    } catch (const CannotRun&) {
      throw;
    } catch (const RunError& error) {
      throw NodeError(graph_, node, error.what());
    }
  }

  void keep(const Node& node, RunValue value) {
    for_each_input(node, [&](NodeId input) {
      const auto used = values_.find(input.index);
      if (used == values_.end()) return;
      // A node that uses a value several times is one user.
      if (!last_seen_.emplace(input.index, node.id.index).second) {
        if (last_seen_[input.index] == node.id.index) return;
        last_seen_[input.index] = node.id.index;
      }
      if (--used->second.users == 0) values_.erase(used);
    });
    const std::size_t users = node.users.size() + (graph_.graph.is_assigned(node.id) ? 1 : 0);
    if (users > 0) values_[node.id.index] = {std::move(value), users};
  }

  RunValue run_node(const Node& node) {
    switch (node.op) {
      case Opcode::kGetAttr:
        return parts_.attribute(*node.target, graph_);
      case Opcode::kOutput:
        return node.args.empty() ? engine_.none() : value_of(node.args[0]);
      case Opcode::kCallModule:
        return call_module(node);
      case Opcode::kCallMethod: {
        RunArguments arguments = arguments_of(node);
        if (arguments.positional.empty()) throw RunError("a method call has no object");
        const RunValue self = arguments.positional.front();
        arguments.positional.erase(arguments.positional.begin());
        return engine_.call_method(self, *node.target, arguments);
      }
      default:
        return call_function(node);
    }
  }

  RunValue call_module(const Node& node) {
    ModuleCall call{node, graph_, arguments_of(node), {}};
    for_each_input(node, [&](NodeId input) { call.inputs.push_back(value_of(input)); });
    return parts_.call_module(call);
  }

  RunValue call_function(const Node& node) {
    if (node.is_recorded && !node.program->nodes.empty()) return call_module(node);
    if (node.is_recorded) {
      throw CannotRun("the archive has only a recording of " + *node.target + ", not its code: --no-wrap " +
                      shell_word(*node.target) + " traces into it");
    }
    const TargetParts target = target_parts(node);
    const bool may_be_the_models =
        node.model_function || (target.kind == TargetKind::kPython && target.space.starts_with("torch."));
    if (may_be_the_models && !is_torch_function(*node.target)) {
      if (auto result = parts_.call_model_function(*node.target, arguments_of(node))) return *result;
    }
    FunctionCall call;
    call.target = *node.target;
    for (const Argument& argument : node.args) {
      if (const auto* body = argument.get_if<Argument::GraphRef>()) {
        call.args.emplace_back(body_of(body->name));
      } else if (const auto* slice = argument.get_if<Argument::Slice>()) {
        call.slice.emplace();
        for (const Argument& part : slice->parts) call.slice->push_back(value_of(part));
      } else {
        call.args.emplace_back(value_of(argument));
      }
    }
    for (const auto& [name, argument] : node.kwargs) call.kwargs.emplace_back(name, value_of(argument));
    return run_function(engine_, call);
  }

  Body body_of(const std::string& name) {
    const ModuleGraph* body = graph_.subgraphs.find_graph(name);
    if (body == nullptr) throw RunError("the graph has no subgraph " + name);
    return [this, body](const std::vector<RunValue>& inputs) {
      return GraphRun(engine_, *body, parts_, watcher_).run(inputs);
    };
  }

  RunArguments arguments_of(const Node& node) {
    RunArguments arguments;
    for (const Argument& argument : node.args) arguments.positional.push_back(value_of(argument));
    for (const auto& [name, argument] : node.kwargs) arguments.named.emplace_back(name, value_of(argument));
    return arguments;
  }

  RunValue value_of(const Argument& argument) {
    return engine_.evaluate(argument, [&](NodeId node) { return value_of(node); });
  }
  RunValue value_of(NodeId node) {
    const auto found = values_.find(node.index);
    if (found == values_.end()) throw RunError("an input of the node has no value");
    return found->second.value;
  }

  const Engine& engine_;
  const ModuleGraph& graph_;
  ModelParts& parts_;
  const Watcher& watcher_;
  std::unordered_map<std::uint32_t, Kept> values_;
  std::unordered_map<std::uint32_t, std::uint32_t> last_seen_;  // by value: the last user that was counted
};

}  // namespace

std::vector<std::pair<std::string, RunValue>> named_inputs(const Graph& graph,
                                                           const std::vector<RunValue>& inputs) {
  std::vector<std::pair<std::string, RunValue>> named;
  for_each_placeholder(graph, [&](const Node& node) {
    if (named.size() < inputs.size()) named.emplace_back(*node.target, inputs[named.size()]);
  });
  return named;
}

RunValue run_graph(const Engine& engine, const ModuleGraph& graph, const std::vector<RunValue>& inputs,
                   ModelParts& parts, const Watcher& watcher) {
  const OwnModes modes(engine);
  return GraphRun(engine, graph, parts, watcher).run(inputs);
}

void run_nodes(const Engine& engine, const ModuleGraph& graph, const std::vector<NodeId>& nodes,
               ModelParts& parts, const std::function<RunValue(NodeId)>& outside, Values& values) {
  GraphRun(engine, graph, parts, {}).run(nodes, outside, values);
}

bool is_torch_function(const std::string& target) {
  return target == "torch.Tensor.tolist" || target.starts_with("torch._functorch.predispatch.") ||
         target.starts_with("torch.amp.autocast_mode.");
}

namespace {

using Names = std::unordered_map<std::string_view, std::string_view>;

// Operators of Python functions that no row of an operator names, such as torch.sym_max.
const Names& further_operators() {
  static const Names names = {{"builtins.round", "aten::round"},  {"torch._sym_sqrt", "aten::sqrt"},
                              {"torch.sym_float", "aten::Float"}, {"torch.sym_int", "aten::Int"},
                              {"torch.sym_max", "prim::max"},     {"torch.sym_min", "prim::min"},
                              {"torch.sym_not", "aten::__not__"}, {"torch.sym_sum", "aten::sum"}};
  return names;
}

// Operators of attributes of tensors; further ones have operators in prim, as those of devices.
const Names& attributes() {
  static const Names names = {{"shape", "aten::size"}, {"ndim", "aten::dim"},   {"T", "aten::numpy_T"},
                              {"mT", "aten::mT"},      {"H", "aten::matrix_H"}, {"mH", "aten::mH"},
                              {"real", "aten::real"},  {"imag", "aten::imag"}};
  return names;
}

// Returns whether the operator may be called: one that only computes, or one of a library that --op-library
// names, which is in a namespace of its own.
bool may_call(std::string_view space, std::string_view name, std::string_view overload) {
  return is_callable_operator(space, name, overload) || !is_torch_operator_space(space);
}

std::string found_in(const Names& names, std::string_view name) {
  const auto found = names.find(name);
  return found == names.end() ? std::string() : std::string(found->second);
}

RunValue read_attribute(const Engine& engine, const RunArguments& arguments) {
  const RunValue& holder = arguments.positional.at(0);
  const std::string name = engine.text_of(arguments.positional.at(1));
  if (engine.kind(holder) == kFxtraceObject) return engine.attribute(holder, name);
  const std::string known = found_in(attributes(), name);
  if (known.empty() && !is_callable_operator("prim", name))
    throw RunError("a tensor has no attribute " + name);
  return engine.call(known.empty() ? "prim::" + name : known, std::nullopt, {{holder}, {}});
}

RunValue item_of(const Engine& engine, const RunArguments& arguments) {
  const RunValue& holder = arguments.positional.at(0);
  if (engine.kind(holder) == kFxtraceTuple) {
    const auto place = find_position(static_cast<std::int64_t>(engine.size(holder)),
                                     engine.integer_of(arguments.positional.at(1)));
    if (!place) throw RunError("the item of the tuple does not exist");
    return engine.item(holder, *place);
  }
  if (engine.is_tensor(holder))
    return engine.call("aten::select", "int", {{holder, engine.integer(0), arguments.positional.at(1)}, {}});
  return engine.call("aten::__getitem__", std::nullopt, arguments);
}

RunValue slice_of(const Engine& engine, const RunValue& holder, const std::vector<RunValue>& parts) {
  if (engine.kind(holder) != kFxtraceTuple) {
    const RunValue step = engine.integer_of(parts[2]) ? parts[2] : engine.integer(1);
    return engine.call("aten::slice", std::nullopt, {{holder, parts[0], parts[1], step}, {}});
  }
  // Slices of tuples are computed here, as in Python.
  const std::vector<RunValue> items = engine.items(holder);
  const auto size = static_cast<std::int64_t>(items.size());
  const auto place = [&](const RunValue& part, std::int64_t otherwise) {
    const auto given = engine.integer_of(part);
    if (!given) return otherwise;
    return std::clamp<std::int64_t>(*given < 0 ? *given + size : *given, 0, size);
  };
  const std::int64_t step = engine.integer_of(parts[2]).value_or(1);
  if (step <= 0) throw RunError("the step of a slice of a tuple is not positive");
  std::vector<RunValue> taken;
  for (std::int64_t i = place(parts[0], 0); i < place(parts[1], size); i += step)
    taken.push_back(items[static_cast<std::size_t>(i)]);
  return engine.tuple(taken);
}

RunValue run_python(const Engine& engine, const std::string& target, const RunArguments& arguments) {
  if (target == "builtins.getattr") return read_attribute(engine, arguments);
  if (target == "operator.getitem") return item_of(engine, arguments);
  if (target == "torch.sym_ite")
    return arguments.positional.at(engine.truth(arguments.positional.at(0)) ? 1 : 2);
  if (target == "operator.pos") return arguments.positional.at(0);
  if (target == "operator.pow") {
    const bool integers =
        engine.integer_of(arguments.positional.at(0)) && engine.integer_of(arguments.positional.at(1));
    return engine.call("aten::pow", integers ? std::optional<std::string>("int_to_int") : std::nullopt,
                       arguments);
  }
  if (is_torch_function(target)) return engine.call_python(target, arguments);
  if (const std::string name = operator_of_python(target); !name.empty())
    return engine.call(name, std::nullopt, arguments);
  if (const std::string name = found_in(further_operators(), target); !name.empty())
    return engine.call(name, std::nullopt, arguments);
  for (const std::string_view space : {"math.", "builtins.str."}) {
    if (target.starts_with(space))
      return engine.call("aten::" + target.substr(space.size()), std::nullopt, arguments);
  }
  throw CannotRun("LibTorch has no function that does what " + target + " does");
}

// --- operators that run subgraphs ---

class HigherOrder {
 public:
  HigherOrder(const Engine& engine, const FunctionCall& call) : engine_(engine), call_(call) {}

  RunValue run(std::string_view name) {
    if (name == "cond") return body(engine_.truth(value(0)) ? 1 : 2)(items(3));
    if (name == "while_loop") return while_loop();
    if (name == "scan") return scan();
    if (name == "map_impl" || name == "map") return map();
    if (name == "wrap_with_set_grad_enabled" || name == "tag_activation_checkpoint" || name == "wrap" ||
        name == "wrap_activation_checkpoint") {
      return once();
    }
    if (name == "wrap_with_autocast") return in_autocast();
    if (name == "invoke_subgraph") return invoke_subgraph();
    if (name == "print") return engine_.none();  // printing has no result
    throw CannotRun("higher_order." + std::string(name) + " cannot be run outside of Python");
  }

 private:
  const RunValue& value(std::size_t place) const {
    const auto* found = place < call_.args.size() ? std::get_if<RunValue>(&call_.args[place]) : nullptr;
    if (found == nullptr) throw RunError(call_.target + " lacks an argument");
    return *found;
  }
  const Body& body(std::size_t place) const {
    const auto* found = place < call_.args.size() ? std::get_if<Body>(&call_.args[place]) : nullptr;
    if (found == nullptr) throw RunError(call_.target + " lacks a subgraph");
    return *found;
  }
  std::vector<RunValue> items(std::size_t place) const {
    if (place >= call_.args.size()) return {};
    return engine_.items(value(place));
  }
  std::vector<RunValue> parts(const RunValue& result) const {
    const FxtraceKind kind = engine_.kind(result);
    return kind == kFxtraceTuple || kind == kFxtraceList ? engine_.items(result)
                                                         : std::vector<RunValue>{result};
  }
  static std::vector<RunValue> joined(std::vector<RunValue> first, const std::vector<RunValue>& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
  }

  RunValue once() const {
    std::size_t at = 0;
    while (at < call_.args.size() && std::holds_alternative<RunValue>(call_.args[at])) ++at;
    std::vector<RunValue> inputs;
    for (std::size_t i = at + 1; i < call_.args.size(); ++i) inputs.push_back(value(i));
    return body(at)(inputs);
  }

  RunValue in_autocast() const {
    engine_.call_python("torch.amp.autocast_mode._enter_autocast",
                        {{value(0), value(1), value(2), value(3)}, {}});
    RunValue result = once();
    engine_.call_python("torch.amp.autocast_mode._exit_autocast", {});
    return result;
  }

  // The argument after the subgraph is its name.
  RunValue invoke_subgraph() const {
    std::vector<RunValue> inputs;
    for (std::size_t i = 2; i < call_.args.size(); ++i) inputs.push_back(value(i));
    return body(0)(inputs);
  }

  RunValue while_loop() const {
    std::vector<RunValue> carried = items(2);
    const std::vector<RunValue> lasting = items(3);
    while (engine_.truth(parts(body(0)(joined(carried, lasting))).at(0))) {
      carried = parts(body(1)(joined(carried, lasting)));
    }
    return engine_.tuple(carried);
  }

  std::vector<RunValue> rows(const std::vector<RunValue>& tensors, std::int64_t index) const {
    std::vector<RunValue> result;
    for (const RunValue& tensor : tensors) {
      result.push_back(
          engine_.call("aten::select", "int", {{tensor, engine_.integer(0), engine_.integer(index)}, {}}));
    }
    return result;
  }
  std::int64_t row_count(const std::vector<RunValue>& tensors) const {
    if (tensors.empty() || !engine_.is_tensor(tensors[0]) || engine_.size(tensors[0]) == 0)
      throw RunError(call_.target + " needs a tensor with dimensions to iterate over");
    return engine_.shape(tensors[0])[0];
  }
  // Stacks the results of all rows.
  RunValue stacked(const std::vector<std::vector<RunValue>>& made, std::size_t place) const {
    std::vector<RunValue> column;
    for (const auto& row : made) column.push_back(row.at(place));
    return engine_.call("aten::stack", "", {{engine_.list(column)}, {}});
  }

  RunValue scan() const {
    std::vector<RunValue> carried = items(1);
    const std::vector<RunValue> over = items(2);
    const std::vector<RunValue> lasting = items(3);
    std::vector<std::vector<RunValue>> made;
    const std::int64_t count = row_count(over);
    for (std::int64_t i = 0; i < count; ++i) {
      std::vector<RunValue> result = parts(body(0)(joined(joined(carried, rows(over, i)), lasting)));
      const auto middle =
          result.begin() + static_cast<std::ptrdiff_t>(std::min(carried.size(), result.size()));
      made.emplace_back(middle, result.end());
      result.erase(middle, result.end());
      carried = std::move(result);
    }
    if (made.empty()) throw RunError(call_.target + " iterates over a tensor without rows");
    for (std::size_t i = 0; i < made[0].size(); ++i) carried.push_back(stacked(made, i));
    return engine_.tuple(carried);
  }

  RunValue map() const {
    const std::vector<RunValue> over = items(1);
    std::vector<std::vector<RunValue>> made;
    const std::int64_t count = row_count(over);
    for (std::int64_t i = 0; i < count; ++i) made.push_back(parts(body(0)(joined(rows(over, i), items(2)))));
    if (made.empty()) throw RunError(call_.target + " iterates over a tensor without rows");
    std::vector<RunValue> results;
    for (std::size_t i = 0; i < made[0].size(); ++i) results.push_back(stacked(made, i));
    return engine_.tuple(results);
  }

  const Engine& engine_;
  const FunctionCall& call_;
};

}  // namespace

void keep_callable_operators(const Engine& engine) {
  engine.check(engine.api().keep_operators([](const char* name) {
    const std::string_view text = name;
    const std::string_view base = text.substr(0, text.find('.'));
    const std::size_t colons = base.find("::");
    const std::string_view space = base.substr(0, colons);
    const std::string_view rest =
        colons == std::string_view::npos ? std::string_view() : base.substr(colons + 2);
    // Operators of TorchScript's own code, and those that measure a part of it.
    if (space == "prim") return !rest.starts_with("rpc_");
    if (space == "profiler") return operator_reach(text).empty();
    return may_call(space, rest, text.substr(std::min(base.size() + 1, text.size())));
  }));
}

RunValue run_function(const Engine& engine, const FunctionCall& call) {
  const TargetParts parts = parse_target(call.target);
  if (parts.kind == TargetKind::kHigherOrder) return HigherOrder(engine, call).run(parts.name);
  RunArguments arguments;
  arguments.named = call.kwargs;
  for (const CallOperand& operand : call.args) {
    const auto* value = std::get_if<RunValue>(&operand);
    if (value == nullptr) throw RunError(call.target + " cannot take a subgraph");
    arguments.positional.push_back(*value);
  }
  if (call.slice) return slice_of(engine, arguments.positional.at(0), *call.slice);
  if (parts.kind == TargetKind::kPython) return run_python(engine, call.target, arguments);
  // A tensor subclass is a dict of its parts here.
  if (takes_stored_part(call.target)) return engine.call("aten::__getitem__", "Dict_str", arguments);
  if (!may_call(parts.space, parts.name, parts.overload))
    throw CannotRun(call.target + " is refused: it is not known to only compute");
  const std::string overload = parts.overload == "default" ? "" : std::string(parts.overload);
  return engine.call(parts.base_name(), overload, arguments);
}

}  // namespace fxtrace::internal::verify
