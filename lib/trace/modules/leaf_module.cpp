#include "trace/modules/leaf_module.h"

#include <string>

#include "analysis/node_arguments.h"
#include "costs/cost_log.h"
#include "opinfo/operator_entry.h"
#include "support/text/qualified_name.h"

namespace fxtrace::internal {
namespace {

// Returns whether `path` is the name `name` directly in `owner`.
bool is_name(std::string_view path, std::string_view owner, std::string_view name) {
  return QualifiedName(path).parent() == owner && QualifiedName(path).last() == name;
}

}  // namespace

const Argument* LeafSite::given_argument(std::string_view argument) const {
  const Operator* op = graph.facts(operation).op;
  return op == nullptr ? nullptr : NodeArguments(node(), entry_of(*op)).find_argument(argument);
}

std::optional<Argument> LeafSite::plain(std::string_view argument) const {
  const Operator* op = graph.facts(operation).op;
  const auto value = op == nullptr ? std::nullopt : NodeArguments(node(), entry_of(*op)).value(argument);
  if (!value) return std::nullopt;
  bool is_plain = true;
  Argument result = map_references(*value, [&](NodeId id) -> Argument {
    if (const Argument* fixed = graph.find_fixed(id)) return *fixed;
    const auto number = meta(id).value ? meta(id).value->number() : std::nullopt;
    if (number) return *number;
    is_plain = false;
    return Argument::None{};
  });
  return is_plain ? std::optional(std::move(result)) : std::nullopt;
}

std::optional<std::int64_t> LeafSite::integer(std::string_view argument) const {
  const auto value = plain(argument);
  const auto* number = value ? value->get_if<std::int64_t>() : nullptr;
  return number != nullptr ? std::optional(*number) : std::nullopt;
}

std::optional<NodeId> LeafSite::value(std::string_view argument) const {
  const Argument* operand = given_argument(argument);
  const auto* id = operand != nullptr ? operand->get_if<NodeId>() : nullptr;
  return id != nullptr ? std::optional(*id) : std::nullopt;
}

const Meta* LeafSite::meta(std::string_view argument) const {
  const auto id = value(argument);
  return id && meta(*id).kind() == ValueKind::kTensor ? &meta(*id) : nullptr;
}

const LeafShape* LeafModule::shape(std::string_view child, std::string_view name) const {
  for (const ModuleId id : info_.children) {
    if (is_name(modules_[id.index].path, info_.path, child)) return shape_in(modules_[id.index], name);
  }
  return nullptr;
}

const LeafSite* LeafModule::maker(const ProgramView& graph, NodeId value) const {
  if (makers_.empty()) {
    for (const LeafSite& site : sites) {
      site.graph.for_each_result(site.operation, [&](NodeId result) {
        makers_.emplace(std::pair(&site.graph.module_graph(), result), &site);
      });
    }
  }
  const auto found = makers_.find({&graph.module_graph(), value});
  return found != makers_.end() ? found->second : nullptr;
}

const LeafShape* LeafModule::shape_in(const ModuleInfo& module, std::string_view name) const {
  for (const std::size_t index : module.parameters) {
    const ParameterRecord& parameter = parameters_[index];
    if (parameter.kind != ParameterKind::kCustomObject && is_name(parameter.name, module.path, name))
      return &parameter.shape;
  }
  return nullptr;
}

}  // namespace fxtrace::internal
