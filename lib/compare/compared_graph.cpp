#include "compare/compared_graph.h"

#include <algorithm>
#include <bit>
#include <complex>
#include <type_traits>

#include "families/family.h"
#include "graph/text_form.h"
#include "operators/operators.h"
#include "operators/target.h"
#include "shapes/scalar_type.h"
#include "support/hashing.h"

namespace fxtrace {
namespace {

// Whether `text` says the default that a schema writes so: "1", "1.", "None", "[]"; of int[2] also "1" for
// [1, 1].
bool is_default(const Argument& value, const SchemaArgument& argument) {
  if (!argument.default_value) return false;
  std::string text = *argument.default_value;
  if (text.ends_with('.')) text += '0';
  // bool? pin_memory=None
  if (text == "None" && argument.type.required().name == "bool" && value == Argument(false)) return true;
  bool has_node = false;
  for_each_reference(value, [&](NodeId) { has_node = true; });
  if (has_node) return false;
  const auto* list = value.get_if<Argument::List>();
  if (list != nullptr && argument.type.required().length && !list->items.empty()) {
    const auto is_one = [&](const Argument& item) { return print_argument(item) == text; };
    if (std::ranges::all_of(list->items, is_one)) return true;
  }
  constexpr std::size_t kLongest = 32;
  if (list != nullptr && list->items.size() > kLongest) return false;
  return print_argument(value) == text;
}

}  // namespace

std::string operator_name(const Node& node) {
  if (node.op != Opcode::kCallFunction || node.model_function) return *node.target;
  const TargetParts parts = parse_target(*node.target);
  if (parts.overload.empty()) return *node.target;
  const std::string_view synonym = parts.space == "aten" ? facts_of(parts.name).synonym_of : "";
  return std::string(parts.space) + "." + std::string(synonym.empty() ? parts.name : synonym);
}

const Schema* SchemaTable::find(const Node& node) {
  if (node.op != Opcode::kCallFunction || node.model_function) return nullptr;
  const auto [entry, is_new] = schemas_.try_emplace(*node.target);
  if (is_new) {
    if (const Operator* op = Target(*node.target).find_operator()) entry->second = op->schema();
  }
  return entry->second ? &*entry->second : nullptr;
}

ComparedGraph::ComparedGraph(const ModuleGraph& graph, SchemaTable& schemas, const CommonNames& names)
    : graph_(graph), order_(graph.graph.order()) {
  for (const auto& [name, constant] : graph.constants) constants_.emplace(name, &constant);
  std::uint32_t last = 0;
  for (const NodeId id : order_) last = std::max(last, id.index);
  place_of_.assign(std::size_t{last} + 1, kNoPlace);
  for (Place i = 0; i < size(); ++i) place_of_[order_[i].index] = i;
  hashes_.reserve(order_.size());
  for (Place i = 0; i < size(); ++i) {
    const Node& node = (*this)[i];
    add_arguments(node, schemas.find(node));
    const std::size_t begin = i == 0 ? 0 : argument_ends_.back();
    argument_ends_.push_back(arguments_.size());
    Hashes hashes;
    hashes.module = text_hash(names.module(node.scope->module_path));
    hashes.scope = mix(hashes.module, static_cast<std::uint64_t>(node.scope->call));
    hashes.operation = static_cast<std::uint64_t>(node.op);
    hashes.label = mix(hashes.operation, target_hash(node, names));
    if (node.op == Opcode::kCallFunction) {
      std::string_view name = target_parts(node).name;
      name.remove_prefix(std::min(name.find_first_not_of('_'), name.size()));
      name.remove_suffix(name.size() - std::min(name.find_last_not_of('_') + 1, name.size()));
      hashes.operation = mix(hashes.operation, text_hash(name));
    } else if (node.op != Opcode::kPlaceholder && node.op != Opcode::kOutput) {
      hashes.operation = hashes.label;
    }
    for (std::size_t k = begin; k < arguments_.size(); ++k) {
      const NamedArgument& argument = arguments_[k];
      const std::uint64_t slot =
          argument.name.empty() ? scramble(argument.position) : text_hash(argument.name);
      hashes.label = mix(hashes.label, mix(slot, add_value(*argument.value, slot)));
    }
    feed_ends_.push_back(feeds_.size());
    hashes_.push_back(hashes);
  }
  find_users();
}

const Constant* ComparedGraph::find_constant(std::string_view name) const {
  const auto found = constants_.find(name);
  return found == constants_.end() ? nullptr : found->second;
}

void ComparedGraph::add_arguments(const Node& node, const Schema* schema) {
  const auto add = [&](std::string_view name, std::size_t position, const Argument& value,
                       const SchemaArgument* known) {
    if (known == nullptr) return arguments_.push_back({name, position, &value});
    // Which kernels compute the same; the state of a machine, not of a model.
    const bool is_of_machine = known->name == "cudnn_enable" || known->name == "cudnn_enabled";
    if (is_of_machine || is_default(value, *known)) return;
    const auto* number = value.get_if<std::int64_t>();
    const bool is_dtype = number != nullptr && known->type.required().name == "ScalarType";
    const Dtype dtype = is_dtype ? find_scalar_type(*number) : std::nullopt;
    if (dtype) made_.emplace_back(Argument::Dtype{dtype_name(*dtype)});
    arguments_.push_back({known->name, 0, dtype ? &made_.back() : &value});
  };
  const auto known = [&](auto&& is_it) -> const SchemaArgument* {
    if (schema == nullptr) return nullptr;
    const auto found = std::ranges::find_if(schema->arguments, is_it);
    return found == schema->arguments.end() ? nullptr : &*found;
  };
  for (std::size_t i = 0; i < node.args.size(); ++i) {
    const bool has_name = schema != nullptr && i < schema->arguments.size();
    add("", i, node.args[i], has_name ? &schema->arguments[i] : nullptr);
  }
  for (const auto& [name, value] : node.kwargs) {
    add(name, 0, value, known([&](const SchemaArgument& argument) { return argument.name == name; }));
  }
}

// The hash of a value, without the nodes in it; they are feeds.
std::uint64_t ComparedGraph::add_value(const Argument& value, std::uint64_t slot) {
  const std::uint64_t kind = scramble(value.value.index() + 1);
  const auto all = [&](const std::vector<Argument>& items) {
    std::uint64_t hash = mix(kind, items.size());
    for (std::size_t i = 0; i < items.size(); ++i) hash = mix(hash, add_value(items[i], mix(slot, i)));
    return hash;
  };
  const auto real = [](double number) { return std::bit_cast<std::uint64_t>(number); };
  return std::visit(
      [&](const auto& held) -> std::uint64_t {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, NodeId>) {
          feeds_.push_back({slot, place_of_[held.index]});
          return kind;
        } else if constexpr (std::is_same_v<Held, bool> || std::is_same_v<Held, std::int64_t>) {
          return mix(kind, static_cast<std::uint64_t>(held));
        } else if constexpr (std::is_same_v<Held, double>) {
          return mix(kind, real(held));
        } else if constexpr (std::is_same_v<Held, std::complex<double>>) {
          return mix(mix(kind, real(held.real())), real(held.imag()));
        } else if constexpr (std::is_same_v<Held, std::string>) {
          return mix(kind, text_hash(held));
        } else if constexpr (std::is_same_v<Held, Argument::List> || std::is_same_v<Held, Argument::Tuple>) {
          return all(held.items);
        } else if constexpr (std::is_same_v<Held, Argument::Slice>) {
          return all(held.parts);
        } else if constexpr (std::is_same_v<Held, Argument::Dict>) {
          std::uint64_t hash = mix(kind, held.items.size());
          std::uint64_t place = slot;
          for (const auto& [key, item] : held.items) {
            place = scramble(place + 1);
            hash = mix(hash, add_value(key, place));
            hash = mix(hash, add_value(item, scramble(place)));
          }
          return hash;
        } else if constexpr (std::is_same_v<Held, Argument::None> ||
                             std::is_same_v<Held, Argument::GraphRef>) {
          return kind;
        } else {
          return mix(kind, text_hash(held.name));
        }
      },
      value.value);
}

std::uint64_t ComparedGraph::constant_hash(const Constant& constant) {
  std::uint64_t hash = mix(text_hash(constant.dtype), text_hash(constant.object_type));
  for (const auto size : constant.shape) hash = mix(hash, static_cast<std::uint64_t>(size));
  if (!constant.data) return mix(hash, text_hash(constant.record));
  for (const Argument& element : *constant.data) hash = mix(hash, add_value(element, 0));
  return hash;
}

std::uint64_t ComparedGraph::target_hash(const Node& node, const CommonNames& names) {
  switch (node.op) {
    case Opcode::kOutput:
      return 0;
    case Opcode::kCallModule:
      return mix(text_hash(names.module(node.target)), text_hash(*node.method));
    case Opcode::kGetAttr:
      if (const Constant* constant = find_constant(node.target)) return constant_hash(*constant);
      return text_hash(names.parameter(node.target));
    default:
      return mix(text_hash(names.has_overloads ? *node.target : operator_name(node)),
                 node.model_function ? 1 : 0);
  }
}

void ComparedGraph::find_users() {
  user_ends_.assign(order_.size(), 0);
  for (const Feed& feed : feeds_) ++user_ends_[feed.node];
  std::size_t end = 0;
  std::vector<std::size_t> next(order_.size());
  for (Place i = 0; i < size(); ++i) {
    next[i] = end;
    end += user_ends_[i];
    user_ends_[i] = end;
  }
  users_.resize(feeds_.size());
  for (Place i = 0; i < size(); ++i) {
    for (const Feed& feed : feeds(i)) users_[next[feed.node]++] = {feed.slot, i};
  }
}

}  // namespace fxtrace
