#include "verify/calls/graph_run.h"

#include <optional>
#include <unordered_map>
#include <utility>

#include "support/text/shell_word.h"
#include "verify/calls/functions.h"

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

}  // namespace fxtrace::internal::verify
