#include "trace/modules/leaf_module.h"

#include <string>

#include "costs/cost_log.h"
#include "opinfo/operator_entry.h"
#include "support/text/qualified_name.h"

namespace fxtrace {
namespace {

std::optional<Argument> plain_default(const AbstractValue& value) {
  if (value.is_none()) return Argument(Argument::None{});
  if (const auto* flag = value.get_if<bool>()) return Argument(*flag);
  if (const auto* number = value.get_if<double>()) return Argument(*number);
  if (const auto* text = value.get_if<std::string>()) return Argument(*text);
  if (const auto* integer = value.integer()) {
    const auto number = integer->number();
    return number ? std::optional<Argument>(*number) : std::nullopt;
  }
  if (const auto* sequence = value.sequence()) {
    Argument::List list;
    for (const AbstractValue& item : *sequence) {
      auto plain = plain_default(item);
      if (!plain) return std::nullopt;
      list.items.push_back(std::move(*plain));
    }
    return Argument(std::move(list));
  }
  return std::nullopt;
}

// Returns whether `path` is the name `name` directly in `owner`.
bool is_name(std::string_view path, std::string_view owner, std::string_view name) {
  return QualifiedName(path).parent() == owner && QualifiedName(path).last() == name;
}

}  // namespace

const Argument* LeafSite::given_argument(std::string_view argument) const {
  const auto place = place_of(argument);
  return place ? find_operand(*place) : nullptr;
}

std::optional<Argument> LeafSite::plain(std::string_view argument) const {
  const auto place = place_of(argument);
  if (!place) return std::nullopt;
  if (const Argument* operand = find_operand(*place)) return plain_operand(*operand);
  return plain_default(entry_of(*graph.facts(operation).op).defaults[*place]);
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

std::optional<std::size_t> LeafSite::place_of(std::string_view argument) const {
  const Operator* op = graph.facts(operation).op;
  return op == nullptr ? std::nullopt : entry_of(*op).schema.find_argument(argument);
}

const Argument* LeafSite::find_operand(std::size_t place) const {
  const SchemaArgument& argument = entry_of(*graph.facts(operation).op).schema.arguments[place];
  return find_argument(node(), argument.keyword_only ? SIZE_MAX : place, argument.name);
}

std::optional<Argument> LeafSite::plain_operand(const Argument& operand) const {
  bool is_plain = true;
  Argument result = map_references(operand, [&](NodeId id) -> Argument {
    if (const Argument* fixed = graph.find_fixed(id)) return *fixed;
    const auto number = meta(id).value ? meta(id).value->number() : std::nullopt;
    if (number) return *number;
    is_plain = false;
    return Argument::None{};
  });
  return is_plain ? std::optional(std::move(result)) : std::nullopt;
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

}  // namespace fxtrace
