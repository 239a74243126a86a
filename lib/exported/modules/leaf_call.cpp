#include "exported/modules/leaf_call.h"

#include <algorithm>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "exported/program/exported_program.h"

namespace fxtrace::internal {

LeafCall plain_call(const Boundary& boundary) {
  LeafCall call;
  for (const NodeId value : boundary.entering) call.args.emplace_back(value);
  for (std::size_t i = 0; i < boundary.leaving.size(); ++i) {
    std::vector<Argument> path;
    if (boundary.leaving.size() > 1) path.emplace_back(static_cast<std::int64_t>(i));
    call.results.push_back({boundary.leaving[i], std::move(path)});
  }
  call.handed_on = boundary.handed_on;
  return call;
}

std::optional<LeafCall> recorded_call(const LeafOperations& leaf, const CallSignature& signature,
                                      const std::function<bool(NodeId)>& is_there) {
  const auto all_among = [](const std::vector<NodeId>& values, const std::vector<Argument>& arguments) {
    std::unordered_set<std::uint32_t> known;
    for (const auto& argument : arguments) {
      if (const auto* value = argument.get_if<NodeId>()) known.insert(value->index);
    }
    return std::all_of(values.begin(), values.end(),
                       [&](NodeId value) { return known.count(value.index) != 0; });
  };
  if (!all_among(leaf.boundary.entering, signature.inputs)) return std::nullopt;
  if (!all_among(leaf.boundary.leaving, signature.outputs)) return std::nullopt;
  std::unordered_set<std::uint32_t> made;
  for (const NodeId operation : leaf.operations)
    leaf.graph.for_each_result(operation, [&](NodeId value) { made.insert(value.index); });
  for (const auto& input : signature.inputs) {
    const auto* value = input.get_if<NodeId>();
    if (value != nullptr && (made.count(value->index) != 0 || !is_there(*value))) return std::nullopt;
  }
  const auto& keys = signature.in_spec.children[1].keys;
  const bool are_names =
      std::all_of(keys.begin(), keys.end(), [](const Argument& key) { return key.is<std::string>(); });
  if (!are_names) return std::nullopt;

  LeafCall call;
  const Argument both = signature.in_spec.unflatten(signature.inputs);
  const auto& parts = both.get_if<Argument::Tuple>()->items;
  if (const auto* tuple = parts[0].get_if<Argument::Tuple>()) call.args = tuple->items;
  for (const auto& [key, argument] : parts[1].get_if<Argument::Dict>()->items) {
    call.kwargs.emplace_back(*key.get_if<std::string>(), argument);
  }
  const auto paths = signature.out_spec.paths();
  std::unordered_map<std::uint32_t, std::size_t> position;
  for (std::size_t i = 0; i < signature.outputs.size(); ++i) {
    if (const auto* value = signature.outputs[i].get_if<NodeId>()) position.emplace(value->index, i);
  }
  for (const NodeId value : leaf.boundary.leaving) {
    call.results.push_back({value, paths[position.at(value.index)]});
  }
  call.handed_on = leaf.boundary.handed_on;
  return call;
}

namespace {

// --- one operator ---

// Adds the states as the module takes them, which is a tuple for an LSTM.  Returns false when only some of
// them are given.
bool add_states(const Flow& flow, const Argument& states, LeafCall& call) {
  const auto* list = states.get_if<Argument::List>();
  if (list == nullptr) {
    if (const auto state = given_value(flow, states)) call.args.emplace_back(*state);
    return true;
  }
  Argument::Tuple tuple;
  for (const auto& item : list->items) {
    if (const auto state = given_value(flow, item)) tuple.items.emplace_back(*state);
  }
  const bool all = tuple.items.size() == list->items.size();
  if (!all && !tuple.items.empty()) return false;
  if (all) call.args.emplace_back(std::move(tuple));
  return true;
}

std::optional<LeafCall> fused_call(const LeafOperations& leaf, const Flow& flow, std::string_view module) {
  constexpr std::array<std::string_view, 5> kOperators{"lstm", "gru", "rnn_tanh", "rnn_relu", "lstm_cell"};
  constexpr std::array<std::string_view, 4> kModules{"LSTM", "GRU", "RNN", "LSTMCell"};
  if (!is_among(kModules, module)) return std::nullopt;
  const Node* operation = nullptr;
  flow.for_each_operation([&](const Node& candidate) {
    if (is_among(kOperators, aten_name(candidate))) operation = &candidate;
  });
  // The overload for packed sequences is not handled.
  const bool is_known = operation != nullptr && operation->args.size() > 2 &&
                        (target_parts(*operation).overload == "input" || module == "LSTMCell");
  if (!is_known) return std::nullopt;
  LeafCall call;
  const auto input = given_value(flow, operation->args[0]);
  if (!input) return std::nullopt;
  call.args.emplace_back(*input);
  if (!add_states(flow, operation->args[1], call)) return std::nullopt;

  const auto path_of = [&](std::int64_t index) -> std::vector<Argument> {
    if (module != "LSTM" || index == 0) return {index};
    return {1, index - 1};
  };
  const std::vector<ProgramResult> outputs = flow.results(*operation);
  for (const NodeId value : leaf.boundary.leaving) {
    const NodeId source = flow.source(value, [&](const Node& made_by) { return &made_by == operation; });
    const auto output = std::ranges::find(outputs, source, &ProgramResult::value);
    if (output == outputs.end() || output->path.size() != 1) return std::nullopt;
    call.results.push_back({value, path_of(output->path.front())});
  }
  call.handed_on = leaf.boundary.handed_on;
  return call;
}

// --- decomposed: a product with weight_hh for each step, layer and direction ---

// The paths of the results in the value that a module returns.
struct ResultPaths {
  std::vector<Argument> sequence, hidden, cell;
};

struct Decomposed {
  std::string_view module;
  bool has_cell_state;
  bool is_one_step;
  ResultPaths results;
};

const Decomposed* find_decomposed(std::string_view module) {
  static const std::array<Decomposed, 6> kinds{{{"LSTM", true, false, {{0}, {1, 0}, {1, 1}}},
                                                {"GRU", false, false, {{0}, {1}, {}}},
                                                {"RNN", false, false, {{0}, {1}, {}}},
                                                {"LSTMCell", true, true, {{}, {0}, {1}}},
                                                {"GRUCell", false, true, {{}, {}, {}}},
                                                {"RNNCell", false, true, {{}, {}, {}}}}};
  const auto found =
      std::find_if(kinds.begin(), kinds.end(), [&](const Decomposed& kind) { return kind.module == module; });
  return found == kinds.end() ? nullptr : &*found;
}

std::optional<Expression> size_of(const Flow& flow, NodeId value, std::size_t dim) {
  const auto& shape = flow.meta(value).shape;
  if (!shape || dim >= shape->size()) return std::nullopt;
  return (*shape)[dim];
}

class DecomposedCall {
 public:
  DecomposedCall(const LeafOperations& leaf, const Flow& flow, const Decomposed& kind)
      : leaf_(leaf), flow_(flow), kind_(kind) {
    flow.for_each_operation([&](const Node& operation) { look_at(operation); });
  }

  std::optional<LeafCall> make() const {
    if (!input_ || recurrent_weights_.empty()) return std::nullopt;
    LeafCall call;
    call.args.emplace_back(*input_);
    if (!add_states(call)) return std::nullopt;
    for (const NodeId value : leaf_.boundary.leaving) {
      auto path = path_of(value);
      if (!path || (path->empty() && !call.results.empty())) return std::nullopt;  // a cell gives one tensor
      call.results.push_back({value, std::move(*path)});
    }
    call.handed_on = leaf_.boundary.handed_on;
    return call;
  }

 private:
  // Learns from a product of a weight with an entering value whether that is the input or the hidden state.
  void look_at(const Node& operation) {
    const Values used = used_by(operation);
    if (used.size() < 2) return;
    for (const NodeId weight : used) {
      const NodeId own = flow_.source(weight);
      const std::string_view name = flow_.own(own);
      const bool is_recurrent = name.starts_with("weight_hh");
      if (!is_recurrent && !name.starts_with("weight_ih")) continue;
      if (is_recurrent) {
        recurrent_weights_.insert(name);
        ++products_;
        const auto size = size_of(flow_, own, 1);
        hidden_size_ = size ? size->number() : std::nullopt;
      }
      for (const NodeId other : used) {
        const NodeId source = flow_.source(other);
        if (!flow_.enters(source)) continue;
        auto& found = is_recurrent ? hidden_ : input_;
        if (!found) found = source;
      }
    }
  }

  // Adds the states to the call; returns false when other values enter.
  bool add_states(LeafCall& call) const {
    std::optional<NodeId> cell;
    for (const NodeId value : leaf_.boundary.entering) {
      if (value == *input_ || value == hidden_) continue;
      if (cell || !flow_.is_tensor(value)) return false;
      cell = value;
    }
    if (cell && !(kind_.has_cell_state && hidden_)) return false;
    if (!hidden_) return true;
    if (kind_.has_cell_state) {
      call.args.emplace_back(Argument::Tuple{{*hidden_, cell.value_or(*hidden_)}});
    } else {
      call.args.emplace_back(*hidden_);
    }
    return true;
  }

  std::optional<std::vector<Argument>> path_of(NodeId value) const {
    const auto is_state = kind_.is_one_step ? std::optional(true) : is_last_state(value);
    if (!is_state) return std::nullopt;
    if (!*is_state) return kind_.results.sequence;
    if (!kind_.has_cell_state) return kind_.results.hidden;
    // hidden = out_gate * tanh(cell), cell = forget_gate * cell + in_gate * new_cell
    const Node* made_by = flow_.maker(last_element(value));
    if (made_by == nullptr) return std::nullopt;
    if (aten_name(*made_by) == "mul") return kind_.results.hidden;
    if (aten_name(*made_by) == "add") return kind_.results.cell;
    return std::nullopt;  // an LSTM with a projection
  }

  // Returns whether the value is the last states, which has an element for each layer and direction, or the
  // sequence, which has one for each step; nothing when that cannot be told.
  std::optional<bool> is_last_state(NodeId value) const {
    const auto rank = flow_.meta(value).shape ? flow_.meta(value).shape->size() : 0;
    const auto first = size_of(flow_, value, 0), features = size_of(flow_, value, rank - 1);
    if (rank < 2 || rank > 3 || !first || !features || !hidden_size_) return std::nullopt;
    const auto layers = static_cast<std::int64_t>(recurrent_weights_.size());
    const auto steps = static_cast<std::int64_t>(products_) / layers;
    const bool two_ways = std::any_of(recurrent_weights_.begin(), recurrent_weights_.end(),
                                      [](std::string_view name) { return name.ends_with("_reverse"); });
    const auto places = [&](NodeId of) { return std::pair(size_of(flow_, of, 0), size_of(flow_, of, 1)); };
    const bool like_input = rank == 2 ? *first == Expression(steps) : places(value) == places(*input_);
    const bool like_sequence = like_input && *features == Expression(*hidden_size_ * (two_ways ? 2 : 1));
    const bool like_state = *first == Expression(layers) && *features == Expression(*hidden_size_);
    if (like_sequence == like_state) {
      // With one step and one layer the two are the same.
      return like_state && steps == 1 && layers == 1 ? std::optional(true) : by_order(value);
    }
    return like_state;
  }

  // Returns the same by what is concatenated: steps of one layer, or layers.
  std::optional<bool> by_order(NodeId value) const {
    const auto is_join = [](const Node& made_by) { return is_among(kJoins, aten_name(made_by)); };
    const Node* joined = flow_.maker(flow_.source(value, is_join));
    if (joined == nullptr || !is_join(*joined)) return std::nullopt;
    const Values parts = used_by(*joined);
    if (parts.size() < 2) return std::nullopt;
    const auto first = nearest_weight(parts.front()), last = nearest_weight(parts.back());
    if (first.empty() || last.empty()) return std::nullopt;
    return first != last;
  }

  // Returns the name of the recurrent weight in the last product on the way to the value.
  std::string_view nearest_weight(NodeId value) const {
    std::vector<NodeId> pending{value};
    std::set<std::uint32_t> seen;
    for (std::size_t i = 0; i < pending.size(); ++i) {
      const Node* made_by = flow_.maker(pending[i]);
      if (made_by == nullptr || !seen.insert(pending[i].index).second) continue;
      for (const NodeId used : used_by(*made_by)) {
        const std::string_view name = flow_.own(flow_.source(used));
        if (name.starts_with("weight_hh")) return name;
        pending.push_back(used);
      }
    }
    return {};
  }

  // Follows the value back through views, and to the last element of a concatenation.
  NodeId last_element(NodeId value) const {
    while (true) {
      const auto stop = [](const Node& made_by) {
        constexpr std::array<std::string_view, 3> kSteps{"mul", "add", "tanh"};
        return is_among(kJoins, aten_name(made_by)) || is_among(kSteps, aten_name(made_by));
      };
      value = flow_.source(value, stop);
      const Node* made_by = flow_.maker(value);
      if (made_by == nullptr || !is_among(kJoins, aten_name(*made_by)) || used_by(*made_by).empty())
        return value;
      value = used_by(*made_by).back();
    }
  }

  static constexpr std::array<std::string_view, 2> kJoins{"cat", "stack"};

  const LeafOperations& leaf_;
  const Flow& flow_;
  const Decomposed& kind_;
  std::optional<NodeId> input_, hidden_;
  std::set<std::string_view> recurrent_weights_;
  std::size_t products_ = 0;  // number of products with recurrent weights
  std::optional<std::int64_t> hidden_size_;
};

}  // namespace

std::optional<LeafCall> recurrent_call(const LeafOperations& leaf, const Flow& flow,
                                       std::string_view module) {
  if (auto call = fused_call(leaf, flow, module)) return call;
  const Decomposed* kind = find_decomposed(module);
  return kind != nullptr ? DecomposedCall(leaf, flow, *kind).make() : std::nullopt;
}

}  // namespace fxtrace::internal
