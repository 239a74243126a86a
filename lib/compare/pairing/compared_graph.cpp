#include "compare/pairing/compared_graph.h"

#include <algorithm>
#include <bit>
#include <complex>
#include <cstddef>
#include <optional>
#include <type_traits>

#include "graph/analysis/text_form.h"
#include "operators/operators.h"
#include "operators/target.h"
#include "opinfo/operator_row.h"
#include "opinfo/traits.h"
#include "shapes/tensor_options.h"
#include "support/hashes.h"
#include "support/text/numbers.h"

namespace fxtrace::internal {
namespace {

constexpr std::ptrdiff_t kMostEdits = 400;

// Aligns by the greedy algorithm of Myers; returns nothing if it takes more than kMostEdits edits.
std::optional<std::vector<PlacePair>> align_exactly(const std::vector<std::uint64_t>& a,
                                                    const std::vector<std::uint64_t>& b) {
  const auto n = static_cast<std::ptrdiff_t>(a.size());
  const auto m = static_cast<std::ptrdiff_t>(b.size());
  const std::ptrdiff_t most = std::min(n + m, kMostEdits);
  // The furthest x on diagonal k, by k + most + 1; before each step for -edits to edits.
  std::vector<std::ptrdiff_t> reached(static_cast<std::size_t>(2 * most + 3), 0);
  const auto at = [&](std::ptrdiff_t k) -> std::ptrdiff_t& {
    return reached[static_cast<std::size_t>(k + most + 1)];
  };
  std::vector<std::vector<std::ptrdiff_t>> trace;
  const auto comes_from_above = [](std::ptrdiff_t k, std::ptrdiff_t edits, const auto& x) {
    return k == -edits || (k != edits && x(k - 1) < x(k + 1));
  };
  for (std::ptrdiff_t edits = 0; edits <= most; ++edits) {
    trace.emplace_back();
    for (std::ptrdiff_t k = -edits - 1; k <= edits + 1; ++k) trace.back().push_back(at(k));
    for (std::ptrdiff_t k = -edits; k <= edits; k += 2) {
      std::ptrdiff_t x = comes_from_above(k, edits, at) ? at(k + 1) : at(k - 1) + 1;
      while (x < n && x - k < m && x - k >= 0 &&
             a[static_cast<std::size_t>(x)] == b[static_cast<std::size_t>(x - k)])
        ++x;
      at(k) = x;
      if (x < n || x - k < m) continue;
      // Follow the path back.
      std::vector<PlacePair> pairs;
      std::ptrdiff_t y = m;
      x = n;
      for (std::ptrdiff_t step = edits; step >= 0; --step) {
        const auto& before = trace[static_cast<std::size_t>(step)];
        const auto then = [&](std::ptrdiff_t diagonal) {
          return before[static_cast<std::size_t>(diagonal + step + 1)];
        };
        const std::ptrdiff_t diagonal = x - y;
        const bool above = comes_from_above(diagonal, step, then);
        const std::ptrdiff_t from = step == 0 ? 0 : above ? diagonal + 1 : diagonal - 1;
        const std::ptrdiff_t from_x = step == 0 ? 0 : then(from);
        const std::ptrdiff_t from_y = from_x - from;
        while (x > from_x && y > from_y) pairs.emplace_back(--x, --y);
        x = from_x;
        y = from_y;
      }
      std::ranges::reverse(pairs);
      return pairs;
    }
  }
  return std::nullopt;
}

// Pairs the n-th item of each kind with the n-th, and keeps those that are in the same order.
std::vector<PlacePair> align_by_occurrence(const std::vector<std::uint64_t>& a,
                                           const std::vector<std::uint64_t>& b) {
  const auto sorted = [](const std::vector<std::uint64_t>& items) {
    std::vector<std::pair<std::uint64_t, Place>> places;
    places.reserve(items.size());
    for (std::size_t i = 0; i < items.size(); ++i) places.emplace_back(items[i], static_cast<Place>(i));
    std::ranges::sort(places);
    return places;
  };
  const auto first = sorted(a);
  const auto second = sorted(b);
  std::vector<PlacePair> pairs;
  for (std::size_t i = 0, j = 0; i < first.size() && j < second.size();) {
    if (first[i].first < second[j].first) {
      ++i;
    } else if (second[j].first < first[i].first) {
      ++j;
    } else {
      const std::uint64_t kind = first[i].first;
      while (i < first.size() && j < second.size() && first[i].first == kind && second[j].first == kind)
        pairs.emplace_back(first[i++].second, second[j++].second);
      while (i < first.size() && first[i].first == kind) ++i;
      while (j < second.size() && second[j].first == kind) ++j;
    }
  }
  std::ranges::sort(pairs);
  std::vector<Place> numbers;
  numbers.reserve(pairs.size());
  for (const PlacePair& pair : pairs) numbers.push_back(pair.second);
  const std::vector<bool> stays = longest_increasing(numbers);
  std::vector<PlacePair> result;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (stays[i]) result.push_back(pairs[i]);
  }
  return result;
}

}  // namespace

std::vector<PlacePair> align(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
  if (auto pairs = align_exactly(a, b)) return *pairs;
  return align_by_occurrence(a, b);
}

std::vector<bool> longest_increasing(const std::vector<Place>& numbers) {
  std::vector<std::size_t> ends;  // by length: the end of the sequence with the least last number
  std::vector<std::size_t> before(numbers.size(), SIZE_MAX);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto place =
        std::ranges::lower_bound(ends, numbers[i], {}, [&](std::size_t j) { return numbers[j]; });
    if (place != ends.begin()) before[i] = *std::prev(place);
    if (place == ends.end()) {
      ends.push_back(i);
    } else {
      *place = i;
    }
  }
  std::vector<bool> stays(numbers.size(), false);
  for (std::size_t i = ends.empty() ? SIZE_MAX : ends.back(); i != SIZE_MAX; i = before[i]) stays[i] = true;
  return stays;
}

namespace {

// Returns whether the value is the default of the argument, which a schema writes as "1", "1.", "None" or
// "[]"; the "1" of int[2] is [1, 1], too.  None stands for a left out argument even if the schema has no
// default.
bool is_default(const Argument& value, const SchemaArgument& argument) {
  const std::string text = argument.default_value.value_or("None");
  if (value.is<Argument::None>()) return text == "None";
  if (!argument.default_value) return false;
  // bool? pin_memory=None
  if (text == "None" && argument.type.required().name == "bool" && value == Argument(false)) return true;
  const auto* number = value.get_if<double>();
  if (number != nullptr && !number_in<std::int64_t>(text)) return number_in<double>(text) == *number;
  bool has_node = false;
  for_each_reference(value, [&](NodeId) { has_node = true; });
  if (has_node) return false;
  const auto* list = value.get_if<Argument::List>();
  if (list != nullptr && argument.length && !list->items.empty()) {
    const auto is_one = [&](const Argument& item) { return print_argument(item) == text; };
    if (std::ranges::all_of(list->items, is_one)) return true;
  }
  constexpr std::size_t kLongest = 32;
  if (list != nullptr && list->items.size() > kLongest) return false;
  return print_argument(value) == text;
}

// Returns "conv2d" or "conv_transpose2d" for two strides.
std::string convolution_name(const Node& node) {
  const Argument* strides = find_argument(node, 3, "stride");
  const Argument* transposed = find_argument(node, 6, "transposed");
  const auto* list = strides == nullptr ? nullptr : strides->get_if<Argument::List>();
  if (list == nullptr || list->items.empty() || list->items.size() > 3) return {};
  const bool is_transposed = transposed != nullptr && *transposed == Argument(true);
  return (is_transposed ? "conv_transpose" : "conv") + std::to_string(list->items.size()) + "d";
}

// Returns the operator of ATen that the call is compared as; empty: itself.
std::string synonym(const Node& node, std::string_view name) {
  const OperatorFacts& facts = facts_of(name);
  if (facts.compared_as == "conv") return convolution_name(node);
  const std::string_view other = facts.synonym_of.empty() ? facts.compared_as : facts.synonym_of;
  if (!other.empty()) return std::string(other) + (name.ends_with('_') ? "_" : "");
  constexpr std::string_view kSpecial = "special_";
  if (!name.starts_with(kSpecial)) return {};
  name.remove_prefix(kSpecial.size());
  return overloads("aten::" + std::string(name)).empty() ? "" : std::string(name);
}

bool is_same_type(const SchemaType& a, const SchemaType& b) {
  const SchemaType& x = a.required();
  const SchemaType& y = b.required();
  const auto name = [](const SchemaType& type) {
    return type.name == "SymInt" ? std::string_view("int") : std::string_view(type.name);
  };
  return name(x) == name(y) && std::ranges::equal(x.parts, y.parts, is_same_type);
}

const SchemaArgument* find_named(const std::vector<SchemaArgument>& arguments, std::string_view name) {
  const auto found = std::ranges::find(arguments, name, &SchemaArgument::name);
  return found == arguments.end() ? nullptr : &*found;
}

// Returns the arguments of `others` that correspond to these: of the same name, or at the same place if
// neither side has the name of the other; and of the same type.  An argument without a counterpart has no
// name.
std::vector<SchemaArgument> counterparts(const std::vector<SchemaArgument>& arguments,
                                         const std::vector<SchemaArgument>& others) {
  std::vector<SchemaArgument> result(arguments.size());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const SchemaArgument* other = find_named(others, arguments[i].name);
    if (other == nullptr && i < others.size() && find_named(arguments, others[i].name) == nullptr)
      other = &others[i];
    if (other != nullptr && is_same_type(arguments[i].type, other->type)) result[i] = *other;
  }
  return result;
}

// Returns the arguments of a call of `op` that is compared as a call of one of `all`, the overloads of an
// operator.
std::vector<SchemaArgument> arguments_as(const Operator& op, std::span<const Operator> all) {
  std::vector<SchemaArgument> own = op.schema().arguments;
  if (all.empty()) return own;
  std::vector<SchemaArgument> result;
  if (all.front().base_name() == op.base_name()) {
    result = own;
  } else {
    const auto count = [](const std::vector<SchemaArgument>& arguments) {
      return std::ranges::count_if(arguments, [](const auto& argument) { return !argument.name.empty(); });
    };
    // The last overload with the most counterparts: those for tensors follow the one without a name.
    for (const Operator& overload : all) {
      auto found = counterparts(own, overload.schema().arguments);
      if (count(found) >= count(result)) result = std::move(found);
    }
    // Further arguments of a convolution depend on the machine, or are told by its name.
    const bool is_convolution = facts_of(op.base_name()).compared_as == "conv";
    for (std::size_t i = 0; i < own.size() && !is_convolution; ++i) {
      if (result[i].name.empty()) result[i] = own[i];
    }
  }
  // If the first argument has several names, such as input and self, it is that of the first overload with
  // its type.
  for (const Operator& overload : all) {
    const std::vector<SchemaArgument> others = overload.schema().arguments;
    if (own.empty() || others.empty() || !is_same_type(own[0].type, others[0].type)) continue;
    const bool is_other_name =
        find_named(others, result[0].name) == nullptr && find_named(result, others[0].name) == nullptr;
    if (is_other_name) result[0].name = others[0].name;
    break;
  }
  return result;
}

}  // namespace

std::string operator_name(const Node& node) {
  if (node.op != Opcode::kCallFunction || node.model_function) return *node.target;
  const TargetParts parts = parse_target(*node.target);
  if (parts.overload.empty()) return *node.target;
  // TorchScript's code has prim.abs for Python's function.
  const bool is_aten = parts.space == "aten" ||
                       (parts.space == "prim" && !overloads("aten::" + std::string(parts.name)).empty());
  const std::string other = is_aten ? synonym(node, parts.name) : "";
  return std::string(is_aten ? "aten" : parts.space) + "." +
         (other.empty() ? std::string(parts.name) : other);
}

const SchemaTable::KnownOperator* SchemaTable::find_known(const Node& node, bool has_overloads) {
  if (node.op != Opcode::kCallFunction || node.model_function) return nullptr;
  const std::string name = has_overloads ? "" : operator_name(node);
  const auto [entry, is_new] = known_.try_emplace(*node.target + " " + name);
  if (!is_new) return entry->second ? &*entry->second : nullptr;
  const Operator* op = find_operator(target_parts(node));
  if (op == nullptr) return nullptr;
  KnownOperator& known = entry->second.emplace();
  known.schema = op->schema();
  known.arguments = has_overloads || !name.starts_with("aten.")
                        ? known.schema.arguments
                        : arguments_as(*op, overloads("aten::" + name.substr(name.find('.') + 1)));
  known.is_on_cpu = !has_overloads && has_trait(op, traits::kMakesTensor);
  return &known;
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
    add_arguments(node, schemas.find_known(node, names.has_overloads));
    const std::size_t begin = i == 0 ? 0 : argument_ends_.back();
    argument_ends_.push_back(arguments_.size());
    Hashes hashes;
    hashes.module = text_hash(names.module(node.scope->module_path));
    hashes.scope = mix(hashes.module, static_cast<std::uint64_t>(node.scope->call));
    if (!node.scope->method.empty()) hashes.scope = mix(hashes.scope, node.scope->method);
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

void ComparedGraph::add_arguments(const Node& node, const SchemaTable::KnownOperator* known) {
  const std::size_t count = known == nullptr ? 0 : known->arguments.size();
  const auto add = [&](std::string_view name, std::size_t position, const Argument& value,
                       std::size_t place) {
    if (place >= count) return arguments_.push_back({name, position, &value});
    const SchemaArgument& argument = known->arguments[place];
    // The choice of kernels is the state of a machine, not of a model.
    const bool is_of_machine = argument.name == "cudnn_enable" || argument.name == "cudnn_enabled";
    if (argument.name.empty() || is_of_machine || is_default(value, argument)) return;
    const auto* device = value.get_if<Argument::Device>();
    if (known->is_on_cpu && device != nullptr && device->name == "cpu") return;
    const auto* number = value.get_if<std::int64_t>();
    const bool is_dtype = number != nullptr && argument.type.required().name == "ScalarType";
    const Dtype dtype = is_dtype ? find_scalar_type(*number) : std::nullopt;
    if (dtype) made_.emplace_back(Argument::Dtype{dtype_name(*dtype)});
    arguments_.push_back({argument.name, 0, dtype ? &made_.back() : &value});
  };
  for (std::size_t i = 0; i < node.args.size(); ++i) add("", i, node.args[i], i);
  for (const auto& [name, value] : node.kwargs) {
    add(name, 0, value, known == nullptr ? count : known->schema.find_argument(name).value_or(count));
  }
}

// Returns the hash of a value without the nodes in it, which become feeds.
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
        } else if constexpr (std::is_same_v<Held, Argument::List>) {
          return all(held.items);
        } else if constexpr (std::is_same_v<Held, Argument::Tuple>) {
          std::uint64_t hash = all(held.items);
          if (held.names == nullptr) return hash;
          for (const std::string& field : held.names->fields) hash = mix(hash, text_hash(field));
          return hash;
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
      return mix(text_hash(names.module(called_module(node))),
                 names.has_overloads ? text_hash(*node.method) : 0);
    case Opcode::kGetAttr:
      if (const Constant* constant = find_constant(node.target)) return constant_hash(*constant);
      return text_hash(names.parameter(node.target));
    default:
      if (!names.has_overloads && is_size(node)) return text_hash(node.meta->value->text());
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

}  // namespace fxtrace::internal
