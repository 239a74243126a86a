#include "interpreter/code/traced_attributes.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "analysis/program_operations.h"
#include "graph/rewrite.h"
#include "interpreter/program/convert.h"
#include "operators/operators.h"
#include "support/text/qualified_name.h"
#include "trace/modules/leaf_module.h"

namespace fxtrace::internal::interpreter {
namespace {

constexpr std::size_t kMaxNodesOfLayers = 1'000'000;  // nodes of code that are looked at in all

// Reads the code of one method as a graph of operations.  Numbers, lists of numbers and texts of the code are
// arguments, and tensors of the module are values with their shapes; other values are unknown.
class CodeReader {
 public:
  CodeReader(const TorchScriptProgram& program, std::size_t& nodes, ExportedGraph& to)
      : program_(program), nodes_(nodes), to_(to) {}

  void run(const IrGraph& graph, const Ref<ObjectValue>& self) {
    if (!graph.inputs().empty()) values_[graph.inputs()[0]] = Value(self);
    for (const IrNode* node : graph.nodes()) {
      if (++nodes_ > kMaxNodesOfLayers) break;
      read(*node);
    }
  }

 private:
  void read(const IrNode& node) {
    if (node.is(Symbol::kPrimConstant)) {
      values_[node.output()] = program_.archive().value_of(*node.constant());
    } else if (node.is(Symbol::kPrimGetAttr)) {
      const auto holder = values_.find(node.input(0));
      if (holder == values_.end() || !holder->second.is_object()) return;
      const ObjectValue& object = holder->second.to_object();
      const auto slot = class_of(object).find_slot(node.text());
      if (slot && *slot < object.slots.size()) values_[node.output()] = Value(object.slots[*slot]);
    } else if (node.is(Symbol::kPrimListConstruct) || node.is(Symbol::kPrimTupleConstruct)) {
      Argument::List list;
      for (const IrValue* item : node.inputs()) list.items.push_back(operand(item));
      operands_.insert_or_assign(node.output(), Argument(std::move(list)));
    } else if (const auto* schema = node.operator_schema()) {
      Graph::NodeSpec operation = spec_of(Opcode::kCallFunction, python_target(*schema));
      const auto& arguments = schema->arguments;
      for (std::size_t i = 0; i < node.inputs().size(); ++i) {
        if (i < arguments.size() && arguments[i].keyword_only) {
          operation.kwargs.emplace_back(arguments[i].name, operand(node.input(i)));
        } else {
          operation.args.push_back(operand(node.input(i)));
        }
      }
      const std::vector<IrValue*>& outputs = node.outputs();
      const bool is_value = outputs.size() == 1;
      if (is_value) operation.meta = meta_of(*outputs[0]);
      const Operator* op = find_operator(parse_target(operation.target));
      const NodeId id = graph_.append(std::move(operation));
      to_.table.at(id) = {.op = op, .gives_value = is_value};
      if (is_value) {
        ids_.emplace(outputs[0], id);
        return;
      }
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        ids_.emplace(outputs[i], to_.append_item(id, static_cast<std::int64_t>(i), [&](Graph::NodeSpec item) {
          item.meta = meta_of(*outputs[i]);
          return graph_.append(std::move(item));
        }));
      }
    }
  }

  static std::string python_target(const FunctionSchema& schema) {
    std::string name = schema.name;
    if (const std::size_t colons = name.find("::"); colons != std::string::npos) name.replace(colons, 2, ".");
    return name + "." + (schema.overload_name.empty() ? "default" : schema.overload_name);
  }

  Argument operand(const IrValue* value) {
    if (const auto known = operands_.find(value); known != operands_.end()) return known->second;
    const auto constant = values_.find(value);
    if (constant == values_.end()) return made(value);
    if (constant->second.is_tensor()) {
      const NodeId id = made(value);
      Meta& meta = graph_.meta(id);
      std::vector<Expression> shape;
      for (const std::int64_t size : constant->second.to_tensor().sizes) shape.emplace_back(size);
      meta.shape = std::move(shape);
      return id;
    }
    const auto plain = plain_attribute(constant->second);
    return plain ? *plain : Argument(made(value));
  }

  static Meta meta_of(const IrValue& value) {
    Meta meta;
    meta.type = type_name(*value.type());
    return meta;
  }

  // Returns the node of the value; a placeholder for one that is made elsewhere.
  NodeId made(const IrValue* value) {
    const auto [known, is_new] = ids_.try_emplace(value);
    if (is_new) {
      Graph::NodeSpec spec = spec_of(Opcode::kPlaceholder, {});
      spec.meta = meta_of(*value);
      spec.name = "value";
      known->second = graph_.append(std::move(spec));
    }
    return known->second;
  }

  const TorchScriptProgram& program_;
  std::size_t& nodes_;
  ExportedGraph& to_;
  Graph& graph_ = to_.module_graph.graph;
  std::unordered_map<const IrValue*, Value> values_;       // values that the archive has
  std::unordered_map<const IrValue*, Argument> operands_;  // lists
  std::unordered_map<const IrValue*, NodeId> ids_;
};

// torch.jit.trace keeps only `training` and `_is_full_backward_hook` of a module's attributes.
bool has_attributes(const ModuleInfo& module) {
  return std::ranges::any_of(module.attributes, [](const auto& attribute) {
    return attribute.first != "training" && attribute.first != "_is_full_backward_hook";
  });
}

}  // namespace

std::vector<ModuleAttributes> traced_attributes(const TorchScriptProgram& program) {
  const std::vector<ModuleInfo>& modules = program.modules();
  std::vector<std::vector<LeafSite>> sites(modules.size());
  std::vector<std::unique_ptr<ExportedGraph>> graphs;
  std::size_t nodes = 0;
  for (std::uint32_t i = 0; i < modules.size() && nodes <= kMaxNodesOfLayers; ++i) {
    const ModuleInfo& module = modules[i];
    if (module.alias_of || !is_told_of(module.type) || has_attributes(module)) continue;
    const Ref<ObjectValue>& self = program.object(ModuleId{i});
    for (const Function* method : class_of(*self).methods()) {
      const std::string name(method->name());
      if (!is_forward(name) && !is_traced_call(class_of(*self), name)) continue;
      const IrGraph* graph = program.archive().find_graph(*method);
      if (graph == nullptr) continue;
      ExportedGraph& read = *graphs.emplace_back(std::make_unique<ExportedGraph>());
      CodeReader(program, nodes, read).run(*graph, self);
      const ProgramView view = read.view();
      for (const NodeId operation : view.operations()) sites[i].push_back({view, operation});
    }
  }
  std::vector<ModuleAttributes> attributes = attributes_of_modules(modules, program.parameters(), sites);
  for (std::size_t i = 0; i < modules.size(); ++i) {
    if (has_attributes(modules[i])) attributes[i].clear();
    std::erase_if(attributes[i], [](const auto& attribute) { return attribute.first == "training"; });
  }
  return attributes;
}

}  // namespace fxtrace::internal::interpreter
