// Costs of recurrent layers: ATen/native/RNN.cpp.  Each step of each sequence takes a product with every
// weight matrix once; gates are elementwise.  torch.utils.flop_counter counts the same where the layer is
// done step by step, and nothing where one kernel does it.
#include "costs/cost_rules.h"

namespace fxtrace {
namespace {

// Steps of all sequences: (length, batch, features) or the other way round, without a batch, or packed.
SymInt steps_of(const TensorInfo& input) { return product(without_last(input.sizes, 1)); }

// Biases have one dimension, and may come in the same list.
SymInt matrices_of(const std::vector<TensorInfo>& weights) {
  SymInt elements = 0;
  for (const TensorInfo& weight : weights)
    if (weight.dim() == 2) elements = elements + product(weight.sizes);
  return elements;
}

SymInt with_weights(const RuleArguments& args, std::string_view weights) {
  return steps_of(operand(args, args.given("data") ? "data" : "input")) *
         matrices_of(operands(args, weights));
}

SymInt layers(const RuleArguments& args, const Results&) { return with_weights(args, "params"); }
SymInt library_layers(const RuleArguments& args, const Results&) { return with_weights(args, "weight"); }

// One layer, one direction.
SymInt mkldnn_layer(const RuleArguments& args, const Results&) {
  return steps_of(operand(args, "input")) * matrices_of({operand(args, "weight0"), operand(args, "weight1")});
}

// Of those by whose name it is not known: a packed weight tells no sizes.
std::int64_t gates_of(std::string_view name) {
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  return has("lstm") ? 4 : has("gru") ? 3 : 1;
}

SymInt hidden_size(const RuleArguments& args) {
  if (args.is_tensor("hx")) return from_back(operand(args, "hx").sizes, 1);
  const std::vector<TensorInfo> states = operands(args, "hx");
  if (states.empty()) throw CannotTell{};
  return from_back(states[0].sizes, 1);
}

// Without projections, which quantized layers do not have.
SymInt quantized_layers(const RuleArguments& args, const Results&) {
  const TensorInfo& input = operand(args, args.given("data") ? "data" : "input");
  const SymInt hidden = hidden_size(args), features = from_back(input.sizes, 1);
  const SymInt directions = args.flag("bidirectional") ? 2 : 1, count = count_of(args, "num_layers");
  const SymInt first = features + hidden, other = directions * hidden + hidden;
  return steps_of(input) * gates_of(args.name()) * hidden * directions * (first + max(count - 1, 0) * other);
}

SymInt cell(const RuleArguments& args, const Results&) {
  const TensorInfo& input = operand(args, "input");
  const SymInt hidden = hidden_size(args);
  return steps_of(input) * gates_of(args.name()) * hidden * (from_back(input.sizes, 1) + hidden);
}

constexpr std::pair<std::string_view, CostRule> kRules[] = {
    {"_cudnn_rnn", library_layers},
    {"_lstm_mps", layers},
    {"gru", layers},
    {"gru_cell", cell},
    {"lstm", layers},
    {"lstm_cell", cell},
    {"miopen_rnn", library_layers},
    {"mkldnn_rnn_layer", mkldnn_layer},
    {"quantized_gru", quantized_layers},
    {"quantized_gru_cell", cell},
    {"quantized_lstm", quantized_layers},
    {"quantized_lstm_cell", cell},
    {"quantized_rnn_relu_cell", cell},
    {"quantized_rnn_tanh_cell", cell},
    {"rnn_relu", layers},
    {"rnn_relu_cell", cell},
    {"rnn_tanh", layers},
    {"rnn_tanh_cell", cell},

    {"quantized::quantized_gru_cell_dynamic", cell},
    {"quantized::quantized_lstm_cell_dynamic", cell},
    {"quantized::quantized_rnn_relu_cell_dynamic", cell},
    {"quantized::quantized_rnn_tanh_cell_dynamic", cell},
};

}  // namespace

CostTable recurrent_costs() { return kRules; }

}  // namespace fxtrace
