#include "interpreter/code/traced_attributes.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "interpreter/program/convert.h"
#include "support/text/qualified_name.h"
#include "trace/modules/leaf_module.h"
#include "trace/modules/program_graph.h"

namespace fxtrace::interpreter {
namespace {

constexpr std::size_t kMaxNodesOfLayers = 1'000'000;  // nodes of code that are looked at in all

// Reads the code of one method as a graph of operations.  Numbers, lists of numbers and texts of the code are
// arguments, and tensors of the module are values with their shapes; other values are unknown.
class CodeReader {
 public:
  CodeReader(const TorchScriptProgram& program, std::size_t& nodes) : program_(program), nodes_(nodes) {}

  ProgramGraph run(const IrGraph& graph, const Ref<ObjectValue>& self) {
    if (!graph.inputs().empty()) values_[graph.inputs()[0]] = Value(self);
    for (const IrNode* node : graph.nodes()) {
      if (++nodes_ > kMaxNodesOfLayers) break;
      read(*node);
    }
    return std::move(graph_);
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
      Operation operation;
      operation.target = python_target(*schema);
      const auto& arguments = schema->arguments;
      for (std::size_t i = 0; i < node.inputs().size(); ++i) {
        if (i < arguments.size() && arguments[i].keyword_only) {
          operation.kwargs.emplace_back(arguments[i].name, operand(node.input(i)));
        } else {
          operation.args.push_back(operand(node.input(i)));
        }
      }
      for (const IrValue* output : node.outputs()) operation.outputs.push_back({made(output), {}});
      graph_.operations.push_back(std::move(operation));
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
      Meta& meta = graph_.values[id.index].meta;
      std::vector<Expression> shape;
      for (const std::int64_t size : constant->second.to_tensor().sizes) shape.emplace_back(size);
      meta.shape = std::move(shape);
      return id;
    }
    const auto plain = plain_attribute(constant->second);
    return plain ? *plain : Argument(made(value));
  }

  NodeId made(const IrValue* value) {
    const auto [known, is_new] =
        ids_.try_emplace(value, NodeId{static_cast<std::uint32_t>(graph_.values.size())});
    if (is_new) {
      ProgramValue& added = graph_.values.emplace_back();
      added.meta.type = type_name(*value->type());
    }
    return known->second;
  }

  const TorchScriptProgram& program_;
  std::size_t& nodes_;
  ProgramGraph graph_;
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
  std::vector<std::unique_ptr<ProgramGraph>> graphs;
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
      const auto& read =
          graphs.emplace_back(std::make_unique<ProgramGraph>(CodeReader(program, nodes).run(*graph, self)));
      for (const Operation& operation : read->operations) sites[i].push_back({read.get(), &operation});
    }
  }
  std::vector<ModuleAttributes> attributes = attributes_of_modules(modules, program.parameters(), sites);
  for (std::size_t i = 0; i < modules.size(); ++i) {
    if (has_attributes(modules[i])) attributes[i].clear();
    std::erase_if(attributes[i], [](const auto& attribute) { return attribute.first == "training"; });
  }
  return attributes;
}

}  // namespace fxtrace::interpreter
