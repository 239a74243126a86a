// Attention.  Costs are those of sdpa_flop_count() in torch.utils.flop_counter: the products of queries and
// keys, and of the resulting weights and values.  Masked elements count too.
#include <algorithm>
#include <array>

#include "opinfo/operator_entry.h"
#include "opinfo/operator_row.h"
#include "opinfo/rules/cost_helpers.h"
#include "opinfo/rules/shape_helpers.h"
#include "opinfo/traits.h"
#include "support/text/words.h"

namespace fxtrace::internal {
namespace {

using namespace traits;  // NOLINT(google-build-using-namespace): the rows are written with them

// ---- Attention ----

// Returns the sizes of the result, or of the attention weights.  Queries are (..., length, features), keys
// (..., other length, features), values (..., other length, other features); the dimensions in front are
// broadcast.  With grouped queries, each head of keys and values serves several heads of queries.
Sizes attended(const RuleArguments& args, bool weights) {
  const TensorInfo& query = args.tensor("query");
  TensorInfo key = args.tensor("key"), value = args.tensor("value");
  const bool grouped = args.is_given("enable_gqa") && args.flag("enable_gqa");
  const std::size_t least = grouped ? 3 : 2;
  Sizes sizes;
  for (TensorInfo* part : {&key, &value}) {
    if (query.sizes.size() < least || part->sizes.size() < least) throw CannotTell{};
    if (grouped) part->sizes[part->sizes.size() - 3] = query.sizes[query.sizes.size() - 3];
  }
  require_same_dtype(query.dtype, key.dtype, {"query", "key"});
  require_same_dtype(query.dtype, value.dtype, {"query", "value"});
  require_equal(args.dimensions, query.sizes.back(), key.sizes.back(), "last sizes", {"query", "key"});
  require_equal(args.dimensions, key.sizes[key.sizes.size() - 2], value.sizes[value.sizes.size() - 2],
                "lengths", {"key", "value"});
  const auto front = [](const TensorInfo& info) { return slice_of(info.sizes, 0, info.sizes.size() - 2); };
  sizes = broadcast(front(query), front(key), args.dimensions);
  if (!weights) sizes = broadcast(sizes, front(value), args.dimensions);
  sizes.push_back(query.sizes[query.sizes.size() - 2]);
  sizes.push_back(weights ? key.sizes[key.sizes.size() - 2] : value.sizes.back());
  return sizes;
}

Results attention(const RuleArguments& args) {
  return first_only(args, tensor_of(attended(args, false), args.tensor("query").dtype));
}

Results attention_math(const RuleArguments& args) {
  const Dtype dtype = args.tensor("query").dtype;
  return make_many({tensor_of(attended(args, false), dtype), tensor_of(attended(args, true), dtype)});
}

Results native_multi_head_attention(const RuleArguments& args) {
  const TensorInfo &query = args.tensor("query"), &key = args.tensor("key");
  if (query.dim() != 3 || key.dim() != 3) throw CannotTell{};
  if (!args.flag("need_weights")) return first_only(args, query);
  Sizes weights = {query.sizes[0], query.sizes[1], key.sizes[1]};
  if (!args.flag("average_attn_weights")) weights.insert(weights.begin() + 1, args.size("num_head"));
  return make_many({query, tensor_of(std::move(weights), query.dtype)});
}

// ---- Multiply-accumulates ----

// The order of the dimensions for batch, heads, lengths and features.
enum class Layout : std::uint8_t {
  kHeadsFirst,   // (..., heads, length, features)
  kLengthFirst,  // (batch, length, heads, features)
};

struct ArgumentNames {
  std::string_view query = "query", key = "key", value = "value";
};

// The numbers that determine the cost: queries of all heads and samples, keys, features of keys and of
// values.
struct Extent {
  SymInt queries, keys, key_features, value_features;
};

Extent extent_of(const RuleArguments& args, Layout layout, const ArgumentNames& names = {}) {
  const TensorInfo &query = operand(args, names.query), &key = operand(args, names.key),
                   &value = operand(args, names.value);
  const std::size_t length = layout == Layout::kHeadsFirst ? 2 : 3;
  if (layout == Layout::kLengthFirst && query.dim() != 4) throw CannotTell{};
  return {product(without_last(query.sizes, 1)),
          same_size(from_back(key.sizes, length), from_back(value.sizes, length)),
          same_size(from_back(query.sizes, 1), from_back(key.sizes, 1)), from_back(value.sizes, 1)};
}

SymInt attention_forward(const Extent& extent) {
  return extent.queries * extent.keys * (extent.key_features + extent.value_features);
}

// sdpa_backward_flop_count(): the weights again, then the gradients of values, weights, queries and keys.
SymInt attention_backward(const Extent& extent) {
  return extent.queries * extent.keys * (3 * extent.key_features + 2 * extent.value_features);
}

// Throws CannotTell for several sequences in one tensor or in blocks of memory: their lengths depend on data.
void require_whole(const RuleArguments& args) {
  for (const std::string_view name :
       {"cum_seq_q", "cum_seq_k", "cu_seqlens_q", "cu_seqlens_k", "seqused_k", "seqlen_k", "block_table"}) {
    if (args.is_given(name)) throw CannotTell{};
  }
}

SymInt attention(const RuleArguments& args, const Results& results) {
  Extent extent = extent_of(args, Layout::kHeadsFirst);
  // The dimensions in front of queries, keys and values are broadcast.
  if (!results.empty() && results[0].tensor() != nullptr)
    extent.queries = product(without_last(first_result(results).sizes, 1));
  return attention_forward(extent);
}

SymInt attention_backward(const RuleArguments& args, const Results&) {
  return attention_backward(extent_of(args, Layout::kHeadsFirst));
}

SymInt cudnn_attention(const RuleArguments& args, const Results&) {
  require_whole(args);
  return attention_forward(extent_of(args, Layout::kHeadsFirst));
}

SymInt cudnn_attention_backward(const RuleArguments& args, const Results&) {
  // The lengths are always given; for one sequence, they are tensors without elements.
  for (const std::string_view name : {"cum_seq_q", "cum_seq_k"})
    if (args.is_given(name) && !is_number(product(operand(args, name).sizes), 0)) throw CannotTell{};
  return attention_backward(extent_of(args, Layout::kHeadsFirst));
}

// ATen/native/transformers/cuda/attention.cu.  (torch.utils.flop_counter takes heads and lengths the other
// way round, as if it were the operator above.)
SymInt length_first(const RuleArguments& args, const Results&) {
  require_whole(args);
  return attention_forward(extent_of(args, Layout::kLengthFirst));
}

SymInt triton_attention(const RuleArguments& args, const Results&) {
  return attention_forward(extent_of(args, Layout::kHeadsFirst, {.query = "q", .key = "k", .value = "v"}));
}

// ---- Layers: (batch, length, features) ----

// ATen/native/transformers/attention.cpp: projections of queries, keys, values and of the result.
SymInt multi_head(const RuleArguments& args, const Results&) {
  const TensorInfo &query = operand(args, "query"), &key = operand(args, "key"),
                   &value = operand(args, "value");
  if (query.dim() != 3 || key.dim() != 3 || value.dim() != 3) throw CannotTell{};
  const SymInt width = count_of(args, "embed_dim");
  const SymInt rows = query.sizes[0] * (2 * query.sizes[1] + key.sizes[1] + value.sizes[1]);
  return rows * width * width + 2 * query.sizes[0] * query.sizes[1] * key.sizes[1] * width;
}

// ATen/native/transformers/transformer.cpp: the same, and two linear layers.
SymInt encoder_layer(const RuleArguments& args, const Results&) {
  const TensorInfo& input = operand(args, "src");
  if (input.dim() != 3) throw CannotTell{};
  const SymInt width = count_of(args, "embed_dim"), rows = input.sizes[0] * input.sizes[1];
  const SymInt weights = 4 * width * width + product(operand(args, "ffn_weight_1").sizes) +
                         product(operand(args, "ffn_weight_2").sizes);
  return rows * weights + 2 * rows * input.sizes[1] * width;
}

constexpr OperatorRow kAttentionRows[] = {
    {"_cudnn_attention_backward", {.macs = cudnn_attention_backward}},
    {"_cudnn_attention_forward", {.macs = cudnn_attention}},
    {"_efficient_attention_forward _flash_attention_forward "
     "_flash_attention_forward_no_dropout_inplace",
     {.macs = length_first}},
    {"_fill_mem_eff_dropout_mask_ _fused_sdp_choice _transform_bias_rescale_qkv", {.traits = kNoMacs}},
    {"_native_multi_head_attention", {.shape = native_multi_head_attention, .macs = multi_head}},
    {"_scaled_dot_product_attention_math", {.shape = attention_math, .macs = attention}},
    {"_scaled_dot_product_attention_math_for_mps", {.macs = attention}},
    {"_scaled_dot_product_cudnn_attention _scaled_dot_product_efficient_attention "
     "_scaled_dot_product_flash_attention _scaled_dot_product_flash_attention_for_cpu "
     "_scaled_dot_product_fused_attention_overrideable",
     {.shape = attention, .macs = attention}},
    {"_scaled_dot_product_cudnn_attention_backward "
     "_scaled_dot_product_efficient_attention_backward "
     "_scaled_dot_product_flash_attention_backward "
     "_scaled_dot_product_flash_attention_for_cpu_backward "
     "_scaled_dot_product_fused_attention_overrideable_backward",
     {.macs = attention_backward}},
    {"_transformer_encoder_layer_fwd", {.shape = like_first, .macs = encoder_layer}},
    {"_triton_multi_head_attention", {.macs = multi_head}},
    {"_triton_scaled_dot_attention", {.macs = triton_attention}},
    {"scaled_dot_product_attention",
     {.traits = kRankByRanks,
      .shape = attention,
      .strides = StrideRule::kAttended,
      .macs = attention,
      .batch = {.rule = &BatchRules::equal}}},
};

}  // namespace

OperatorRows attention_rows() { return kAttentionRows; }

std::optional<std::pair<std::size_t, std::size_t>> find_keys_and_values(const Operator& op,
                                                                        const Schema& schema) {
  constexpr std::array<CostRule, 4> kForward{attention, cudnn_attention, length_first, triton_attention};
  const bool is_attention = std::ranges::find(kForward, find_cost_rule(op)) != kForward.end();
  if (!is_attention) return std::nullopt;
  const auto place_of = [&](std::string_view name, std::string_view short_name) {
    const auto found = std::ranges::find_if(schema.arguments, [&](const SchemaArgument& argument) {
      return argument.name == name || argument.name == short_name;
    });
    return static_cast<std::size_t>(found - schema.arguments.begin());
  };
  const std::pair places(place_of("key", "k"), place_of("value", "v"));
  if (std::max(places.first, places.second) >= schema.arguments.size()) return std::nullopt;
  return places;
}

bool hands_on_elements(const Operator& op) {
  const std::vector<Alias>& all = entry_of(op).aliases;
  const bool is_view =
      std::ranges::any_of(all, [](const Alias& alias) { return alias.result == 0 && alias.argument == 0; });
  constexpr std::string_view kCopies =
      "aten::_to_copy aten::_unsafe_view aten::cat aten::clone aten::copy aten::expand_copy aten::index_copy "
      "aten::index_put aten::repeat aten::repeat_interleave aten::scatter aten::select_scatter "
      "aten::slice_scatter";
  return is_view || has_word(kCopies, op.base_name());
}

// Recurrent layers and packed sequences.  Costs follow ATen/native/RNN.cpp: each step of each sequence is
// multiplied with each weight matrix once, and gates are elementwise.  torch.utils.flop_counter counts the
// same for layers that run step by step, and nothing for those in one kernel.

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
