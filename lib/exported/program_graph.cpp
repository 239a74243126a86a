#include "exported/program_graph.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

#include "support/error.h"

namespace fxtrace {
namespace {

// "aten.add_.Tensor" -> "add_".
std::string_view operator_name(std::string_view target) {
  const std::size_t start = target.find('.');
  if (start == std::string_view::npos) return {};
  const std::size_t end = target.find('.', start + 1);
  return target.substr(start + 1, end == std::string_view::npos ? end : end - start - 1);
}

bool is_in_place(std::string_view name) {
  if (name.starts_with("__")) return name.starts_with("__i") && name.ends_with("__");  // __iand__
  return name.ends_with("_");
}

bool is_random(std::string_view name) {
  static constexpr std::array<std::string_view, 20> kParts{"dropout",
                                                           "rand",
                                                           "normal",
                                                           "bernoulli",
                                                           "multinomial",
                                                           "poisson",
                                                           "binomial",
                                                           "rrelu",
                                                           "exponential",
                                                           "cauchy",
                                                           "geometric",
                                                           "uniform",
                                                           "fractional_max_pool",
                                                           "scaled_dot",
                                                           "lstm",
                                                           "gru",
                                                           "rnn_tanh",
                                                           "rnn_relu",
                                                           "_standard_gamma",
                                                           "_sample_dirichlet"};
  return std::any_of(kParts.begin(), kParts.end(),
                     [&](std::string_view part) { return name.find(part) != std::string_view::npos; });
}

bool is_symbolic(std::string_view name) {
  return name.starts_with("sym_") || name == "_assert_scalar" || name == "_assert_tensor_metadata";
}

}  // namespace

std::vector<std::int64_t> fixed_shape(const ProgramValue& value) {
  std::vector<std::int64_t> shape;
  for (const auto& size : value.meta.shape.value_or(std::vector<Meta::Dim>())) {
    const auto* number = std::get_if<std::int64_t>(&size);
    if (number == nullptr) {
      throw input_error("the tensor '" + value.name.substr(0, 100) +
                        "' belongs to the model, and its size is " +
                        std::get<std::string>(size).substr(0, 100));
    }
    shape.push_back(*number);
  }
  return shape;
}

Argument replace_values(const Argument& argument, const std::function<Argument(ValueId)>& f) {
  const auto each = [&](const std::vector<Argument>& items) {
    std::vector<Argument> result;
    result.reserve(items.size());
    for (const auto& item : items) result.push_back(replace_values(item, f));
    return result;
  };
  if (const auto* value = argument.get_if<ValueId>()) return f(*value);
  if (const auto* list = argument.get_if<Argument::List>()) return Argument::List{each(list->items)};
  if (const auto* tuple = argument.get_if<Argument::Tuple>()) return Argument::Tuple{each(tuple->items)};
  if (const auto* dict = argument.get_if<Argument::Dict>()) {
    Argument::Dict result;
    for (const auto& [key, item] : dict->items) result.items.push_back({key, replace_values(item, f)});
    return result;
  }
  return argument;
}

std::vector<std::uint32_t> count_uses(const ProgramGraph& graph) {
  std::vector<std::uint32_t> uses(graph.values.size(), 0);
  const auto count = [&](ValueId value) { ++uses[value.index]; };
  for (const Operation& operation : graph.operations) for_each_use(operation, count);
  for (const Argument& output : graph.outputs) for_each_node(output, count);
  return uses;
}

std::vector<ValueId> origins(const ProgramGraph& graph) {
  std::vector<ValueId> result;
  result.reserve(graph.values.size());
  for (std::uint32_t i = 0; i < graph.values.size(); ++i) result.push_back(ValueId{i});
  for (const Operation& operation : graph.operations) {
    const auto changed = changed_in_place(operation);
    if (!changed || operation.outputs.size() != 1 || !operation.outputs[0].path.empty()) continue;
    result[operation.outputs[0].value.index] = result[changed->index];
  }
  return result;
}

Boundary boundary_of(const ProgramGraph& graph, const std::vector<std::uint32_t>& operations,
                     const std::vector<std::uint32_t>& uses, const std::function<bool(ValueId)>& is_own) {
  Boundary boundary;
  std::unordered_map<std::uint32_t, std::uint32_t> inside;  // value made here: its uses here
  std::unordered_set<std::uint32_t> seen;
  for (const auto index : operations) {
    const Operation& operation = graph.operations[index];
    for_each_use(operation, [&](ValueId value) {
      const auto made_here = inside.find(value.index);
      if (made_here != inside.end()) {
        ++made_here->second;
      } else if (!is_own(value) && seen.insert(value.index).second) {
        boundary.entering.push_back(value);
      }
    });
    for (const auto& output : operation.outputs) inside.emplace(output.value.index, 0);
  }
  for (const auto index : operations) {
    for (const auto& [value, path] : graph.operations[index].outputs) {
      if (uses[value.index] > inside.at(value.index) && !is_own(value)) boundary.leaving.push_back(value);
    }
  }
  return boundary;
}

Effect effect_of(const Operation& operation) {
  const std::string_view target = operation.target;
  if (target.starts_with("operator.") || target.starts_with("math.") || target.starts_with("torch.sym_")) {
    return Effect::kSymbolic;
  }
  if (!target.starts_with("aten.")) return Effect::kWrites;
  const auto name = operator_name(target);
  if (is_symbolic(name)) return Effect::kSymbolic;
  const bool has_out = std::any_of(operation.kwargs.begin(), operation.kwargs.end(),
                                   [](const auto& item) { return item.first == "out"; });
  const bool keeps_statistics = name.find("batch_norm") != std::string_view::npos || name == "instance_norm";
  if (is_in_place(name) || has_out || keeps_statistics) return Effect::kWrites;
  return is_random(name) ? Effect::kRandom : Effect::kPure;
}

std::string_view asserted_condition(const Operation& operation, const ProgramGraph& graph) {
  if (operation.target != "aten._assert_scalar.default" || operation.args.empty()) return {};
  const auto* value = operation.args.front().get_if<ValueId>();
  if (value == nullptr) return {};
  const Meta& meta = graph.values[value->index].meta;
  const auto* text = meta.value ? std::get_if<std::string>(&*meta.value) : nullptr;
  if (text == nullptr || meta.type != "bool") return {};
  return *text;
}

std::optional<ValueId> changed_in_place(const Operation& operation) {
  if (!operation.target.starts_with("aten.") || !is_in_place(operator_name(operation.target))) {
    return std::nullopt;
  }
  if (operation.args.empty()) return std::nullopt;
  const auto* value = operation.args.front().get_if<ValueId>();
  if (value == nullptr) return std::nullopt;
  return *value;
}

}  // namespace fxtrace
