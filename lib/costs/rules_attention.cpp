// Costs of attention: torch.utils.flop_counter, sdpa_flop_count().  Queries by keys, and the weights that
// these give by values; what a mask leaves out counts too.
#include "costs/cost_rules.h"

namespace fxtrace {
namespace {

// Where batch, heads, lengths and features stand.
enum class Layout : std::uint8_t {
  kHeadsFirst,   // (..., heads, length, features)
  kLengthFirst,  // (batch, length, heads, features)
};

struct Names {
  std::string_view query = "query", key = "key", value = "value";
};

// A row for each query, of each head; then the keys, and features of keys and values.
struct Extent {
  SymInt queries, keys, key_features, value_features;
};

Extent extent_of(const RuleArguments& args, Layout layout, const Names& names = {}) {
  const TensorInfo &query = operand(args, names.query), &key = operand(args, names.key),
                   &value = operand(args, names.value);
  const std::size_t length = layout == Layout::kHeadsFirst ? 2 : 3;
  if (layout == Layout::kLengthFirst && query.dim() != 4) throw CannotTell{};
  return {product(without_last(query.sizes, 1)),
          same_size(from_back(key.sizes, length), from_back(value.sizes, length)),
          same_size(from_back(query.sizes, 1), from_back(key.sizes, 1)), from_back(value.sizes, 1)};
}

SymInt forward(const Extent& extent) {
  return extent.queries * extent.keys * (extent.key_features + extent.value_features);
}

// sdpa_backward_flop_count(): weights again, then the gradients of values and weights, queries and keys.
SymInt backward(const Extent& extent) {
  return extent.queries * extent.keys * (3 * extent.key_features + 2 * extent.value_features);
}

// Several sequences in one tensor, or blocks of memory: data tell how long each is.
void require_whole(const RuleArguments& args) {
  for (const std::string_view name :
       {"cum_seq_q", "cum_seq_k", "cu_seqlens_q", "cu_seqlens_k", "seqused_k", "seqlen_k", "block_table"}) {
    if (args.given(name)) throw CannotTell{};
  }
}

SymInt attention(const RuleArguments& args, const Results& results) {
  Extent extent = extent_of(args, Layout::kHeadsFirst);
  // In front, queries, keys and values broadcast.
  if (!results.empty() && results[0].tensor() != nullptr)
    extent.queries = product(without_last(first_result(results).sizes, 1));
  return forward(extent);
}

SymInt attention_backward(const RuleArguments& args, const Results&) {
  return backward(extent_of(args, Layout::kHeadsFirst));
}

SymInt cudnn_attention(const RuleArguments& args, const Results&) {
  require_whole(args);
  return forward(extent_of(args, Layout::kHeadsFirst));
}

SymInt cudnn_attention_backward(const RuleArguments& args, const Results&) {
  // The lengths are there in any case, as tensors without elements where there is one sequence.
  for (const std::string_view name : {"cum_seq_q", "cum_seq_k"})
    if (args.given(name) && !is_number(product(operand(args, name).sizes), 0)) throw CannotTell{};
  return backward(extent_of(args, Layout::kHeadsFirst));
}

// ATen/native/transformers/cuda/attention.cu.  (torch.utils.flop_counter takes heads and lengths the other
// way round, as if it were the operator above.)
SymInt length_first(const RuleArguments& args, const Results&) {
  require_whole(args);
  return forward(extent_of(args, Layout::kLengthFirst));
}

SymInt triton_attention(const RuleArguments& args, const Results&) {
  return forward(extent_of(args, Layout::kHeadsFirst, {.query = "q", .key = "k", .value = "v"}));
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

constexpr std::pair<std::string_view, CostRule> kRules[] = {
    {"_cudnn_attention_backward", cudnn_attention_backward},
    {"_cudnn_attention_forward", cudnn_attention},
    {"_efficient_attention_forward", length_first},
    {"_flash_attention_forward", length_first},
    {"_flash_attention_forward_no_dropout_inplace", length_first},
    {"_native_multi_head_attention", multi_head},
    {"_scaled_dot_product_attention_math", attention},
    {"_scaled_dot_product_attention_math_for_mps", attention},
    {"_scaled_dot_product_cudnn_attention", attention},
    {"_scaled_dot_product_cudnn_attention_backward", attention_backward},
    {"_scaled_dot_product_efficient_attention", attention},
    {"_scaled_dot_product_efficient_attention_backward", attention_backward},
    {"_scaled_dot_product_flash_attention", attention},
    {"_scaled_dot_product_flash_attention_backward", attention_backward},
    {"_scaled_dot_product_flash_attention_for_cpu", attention},
    {"_scaled_dot_product_flash_attention_for_cpu_backward", attention_backward},
    {"_scaled_dot_product_fused_attention_overrideable", attention},
    {"_scaled_dot_product_fused_attention_overrideable_backward", attention_backward},
    {"_transformer_encoder_layer_fwd", encoder_layer},
    {"_triton_multi_head_attention", multi_head},
    {"_triton_scaled_dot_attention", triton_attention},
    {"scaled_dot_product_attention", attention},
};

}  // namespace

CostTable attention_costs() { return kRules; }

}  // namespace fxtrace
