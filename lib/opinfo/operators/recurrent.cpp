// Recurrent layers and packed sequences.  Costs follow ATen/native/RNN.cpp: each step of each sequence is
// multiplied with each weight matrix once, and gates are elementwise.  torch.utils.flop_counter counts the
// same for layers that run step by step, and nothing for those in one kernel.
#include <algorithm>

#include "opinfo/operator_row.h"
#include "opinfo/rules/cost_helpers.h"
#include "opinfo/rules/shape_helpers.h"

namespace fxtrace::internal {
namespace {

using namespace traits;  // NOLINT(google-build-using-namespace): the rows are written with them

// ---- Recurrent layers ----

std::vector<TensorInfo> states_of(const RuleArguments& args) {
  if (args.is_tensor("hx")) return {args.tensor("hx")};
  std::vector<TensorInfo> states = args.tensors("hx");
  if (states.size() != 2) throw CannotTell{};
  return states;
}

// (output, last states...).  The hidden size is that of the first state, also for projections.  Packed
// sequences are (steps of all sequences, features).
Results recurrent(const RuleArguments& args) {
  const bool packed = args.is_given("data");
  const TensorInfo& input = args.tensor(packed ? "data" : "input");
  const std::vector<TensorInfo> states = states_of(args);
  if (input.dim() != (packed ? 2 : 3) || states[0].dim() != 3) throw CannotTell{};
  const bool packed_weights = args.name().starts_with("aten::quantized");
  const std::vector<TensorInfo> weights = packed_weights ? std::vector<TensorInfo>() : args.tensors("params");
  if (!weights.empty()) {
    const NamePair names{packed ? "data" : "input", "the first of params"};
    require_same_dtype(input.dtype, weights[0].dtype, names);
    if (weights[0].dim() == 2) {
      require_equal(args.dimensions, input.sizes.back(), weights[0].sizes[1], "features", names);
    }
  }
  const SymInt features = states[0].sizes[2] * (args.flag("bidirectional") ? 2 : 1);
  std::vector<TensorInfo> results = {tensor_of(with_last(input.sizes, features), input.dtype)};
  for (const TensorInfo& state : states) results.push_back(tensor_of(state.sizes, input.dtype));
  return make_many(std::move(results));
}

// One step of a recurrent layer, which returns the new states.
Results recurrent_cell(const RuleArguments& args) {
  if (args.is_tensor("w_ih") && args.is_tensor("input")) {
    const TensorInfo &input = args.tensor("input"), &weight = args.tensor("w_ih");
    require_same_dtype(input.dtype, weight.dtype, {"input", "w_ih"});
    if (!input.sizes.empty() && weight.dim() == 2) {
      require_equal(args.dimensions, input.sizes.back(), weight.sizes[1], "features", {"input", "w_ih"});
    }
  }
  return make_many(states_of(args));
}

// (the steps of all sequences in a row, the number of sequences at each step)
Results pack_padded_sequence(const RuleArguments& args) {
  const TensorInfo& input = args.tensor("input");
  if (input.dim() < 2) throw CannotTell{};
  const SymInt& steps = input.sizes[args.flag("batch_first") ? 1 : 0];
  Sizes sizes = slice_of(input.sizes, 1, input.sizes.size());
  sizes[0] = args.dimensions.fresh({1, std::nullopt});
  const SymInt longest = args.dimensions.fresh({1, args.dimensions.bounds(steps).high});
  return make_many({tensor_of(std::move(sizes), input.dtype), tensor_of({longest}, ScalarType::kInt64)});
}

// The number of sequences is the first element of batch_sizes, which depends on data.
Results pad_packed_sequence(const RuleArguments& args) {
  const TensorInfo &data = args.tensor("data"), &batch_sizes = args.tensor("batch_sizes");
  if (data.dim() < 1 || batch_sizes.dim() != 1) throw CannotTell{};
  SymInt steps = args.size("total_length");
  if (!decided(args.dimensions, Relation::kGreater, steps, 0)) steps = batch_sizes.sizes[0];
  const SymInt batch = args.dimensions.fresh({1, std::nullopt});
  Sizes sizes = args.flag("batch_first") ? Sizes{batch, steps} : Sizes{steps, batch};
  sizes.insert(sizes.end(), data.sizes.begin() + 1, data.sizes.end());
  return make_many({tensor_of(std::move(sizes), data.dtype), tensor_of({batch}, ScalarType::kInt64)});
}

Results pad_sequence(const RuleArguments& args) {
  const std::vector<TensorInfo> sequences = args.tensors("sequences");
  if (sequences.empty() || sequences[0].dim() < 1) throw CannotTell{};
  SymInt longest = 0;
  for (const TensorInfo& sequence : sequences) {
    if (sequence.dim() != sequences[0].dim()) throw CannotTell{};
    longest = max(longest, sequence.sizes[0]);
  }
  const SymInt count = static_cast<std::int64_t>(sequences.size());
  Sizes sizes = args.flag("batch_first") ? Sizes{count, longest} : Sizes{longest, count};
  sizes.insert(sizes.end(), sequences[0].sizes.begin() + 1, sequences[0].sizes.end());
  return make(std::move(sizes), sequences[0].dtype);
}

// ---- Multiply-accumulates ----

// Returns the number of steps of all sequences.  The input is (length, batch, features), (batch, length,
// features), (length, features) or packed.
SymInt steps_of(const TensorInfo& input) { return product(without_last(input.sizes, 1)); }

// Returns the number of elements of all matrices in the list, which may contain biases.
SymInt matrices_of(const std::vector<TensorInfo>& weights) {
  SymInt elements = 0;
  for (const TensorInfo& weight : weights)
    if (weight.dim() == 2) elements = elements + product(weight.sizes);
  return elements;
}

SymInt with_weights(const RuleArguments& args, std::string_view weights) {
  return steps_of(operand(args, args.is_given("data") ? "data" : "input")) *
         matrices_of(operands(args, weights));
}

SymInt layers(const RuleArguments& args, const Results&) { return with_weights(args, "params"); }

SymInt library_layers(const RuleArguments& args, const Results&) { return with_weights(args, "weight"); }

// One layer in one direction.
SymInt mkldnn_layer(const RuleArguments& args, const Results&) {
  return steps_of(operand(args, "input")) * matrices_of({operand(args, "weight0"), operand(args, "weight1")});
}

// Returns the number of gates by the name of the operator, as packed weights have no known sizes.
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

// Quantized layers have no projections.
SymInt quantized_layers(const RuleArguments& args, const Results&) {
  const TensorInfo& input = operand(args, args.is_given("data") ? "data" : "input");
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

constexpr OperatorRow kRecurrentRows[] = {
    {"_cudnn_init_dropout_state _cudnn_rnn_flatten_weight _pack_sequence "
     "_thnn_differentiable_gru_cell _thnn_differentiable_lstm_cell _thnn_fused_gru_cell "
     "_thnn_fused_lstm_cell _thnn_fused_lstm_cell_backward_impl",
     {.traits = kNoMacs}},
    {"_cudnn_rnn miopen_rnn", {.macs = library_layers}},
    {"_lstm_mps", {.macs = layers}},
    {"_pack_padded_sequence", {.traits = kNoMacs, .shape = pack_padded_sequence}},
    {"_pad_packed_sequence", {.traits = kNoMacs, .shape = pad_packed_sequence}},
    {"gru lstm rnn_relu rnn_tanh", {.shape = recurrent, .strides = StrideRule::kRecurrent, .macs = layers}},
    {"gru_cell lstm_cell quantized::quantized_gru_cell_dynamic "
     "quantized::quantized_lstm_cell_dynamic quantized::quantized_rnn_relu_cell_dynamic "
     "quantized::quantized_rnn_tanh_cell_dynamic quantized_gru_cell quantized_lstm_cell "
     "quantized_rnn_relu_cell quantized_rnn_tanh_cell rnn_relu_cell rnn_tanh_cell",
     {.shape = recurrent_cell, .macs = cell}},
    {"mkldnn_rnn_layer", {.macs = mkldnn_layer}},
    {"pad_sequence", {.traits = kNoMacs, .shape = pad_sequence}},
    {"quantized_gru quantized_lstm", {.shape = recurrent, .macs = quantized_layers}},
};

}  // namespace

OperatorRows recurrent_rows() { return kRecurrentRows; }

}  // namespace fxtrace::internal
