// Calls of torch.nn modules whose forward is known (leaf_call.h).  The modules fall into groups, each with a
// way to find the arguments: the operands of the one operator that does the work (losses, distances, cells),
// products with the weights of attention and the masks that are added to its scores (MultiheadAttention,
// transformers), the results of a pooling operator, and recurrent modules (leaf_call.h).
#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>

#include "exported/modules/leaf_call.h"

namespace fxtrace::internal {
namespace {

// Returns the name of a class of torch.nn; empty for other types.
std::string_view torch_nn_class(std::string_view type) {
  constexpr std::string_view kModules = "torch.nn.modules.";
  if (!type.starts_with(kModules)) return {};
  return QualifiedName(type).last();
}

// --- one operator does the module's work ---

struct ByOperator {
  std::string_view module, operation;
  std::size_t inputs;  // the number of the operator's first arguments that are the module's
};

constexpr std::array<ByOperator, 23> kByOperator{{
    {"Bilinear", "bilinear", 2},
    {"CosineSimilarity", "cosine_similarity", 2},
    {"PairwiseDistance", "pairwise_distance", 2},
    {"L1Loss", "l1_loss", 2},
    {"MSELoss", "mse_loss", 2},
    {"SmoothL1Loss", "smooth_l1_loss", 2},
    {"HuberLoss", "huber_loss", 2},
    {"KLDivLoss", "kl_div", 2},
    {"BCELoss", "binary_cross_entropy", 2},
    {"BCEWithLogitsLoss", "binary_cross_entropy_with_logits", 2},
    {"CrossEntropyLoss", "cross_entropy_loss", 2},
    {"NLLLoss", "nll_loss_nd", 2},
    {"PoissonNLLLoss", "poisson_nll_loss", 2},
    {"SoftMarginLoss", "soft_margin_loss", 2},
    {"HingeEmbeddingLoss", "hinge_embedding_loss", 2},
    {"MultiMarginLoss", "multi_margin_loss", 2},
    {"MultiLabelMarginLoss", "multilabel_margin_loss", 2},
    {"CosineEmbeddingLoss", "cosine_embedding_loss", 3},
    {"MarginRankingLoss", "margin_ranking_loss", 3},
    {"TripletMarginLoss", "triplet_margin_loss", 3},
    {"CTCLoss", "ctc_loss", 4},
    {"RNNCell", "rnn_tanh_cell", 2},
    {"GRUCell", "gru_cell", 2},
}};

std::optional<LeafCall> call_by_operator(const LeafOperations& leaf, const Flow& flow,
                                         std::string_view module) {
  for (const auto& [name, operation_name, inputs] : kByOperator) {
    if (name != module) continue;
    const Node* operation = flow.find_operation(operation_name);
    if (operation == nullptr && module == "RNNCell") operation = flow.find_operation("rnn_relu_cell");
    if (operation == nullptr || operation->args.size() < inputs) return std::nullopt;
    LeafCall call = plain_call(leaf.boundary);
    if (call.results.size() != 1) return std::nullopt;
    call.args.clear();
    for (std::size_t i = 0; i < inputs; ++i) {
      const auto value = given_value(flow, operation->args[i]);
      if (value) {
        call.args.emplace_back(*value);
      } else if (i != 1 || !name.ends_with("Cell")) {  // a cell without a state makes one
        return std::nullopt;
      }
    }
    return call;
  }
  return std::nullopt;
}

// --- attention and transformers ---

constexpr std::array<std::string_view, 2> kSoftmaxOperators{"softmax", "_softmax"};

bool has_fused_attention(const Flow& flow) {
  bool found = false;
  flow.for_each_operation([&](const Node& operation) {
    // The decomposition guards against rows without any key.
    found = found || aten_name(operation).find("scaled_dot_product") != std::string_view::npos ||
            aten_name(operation) == "logical_not";
  });
  return found;
}

bool is_causal(const Flow& flow) {
  constexpr std::size_t kPosition = 5;
  // The decomposition makes the mask itself.
  bool causal = flow.find_operation("logical_not") != nullptr && flow.find_operation("arange") != nullptr;
  flow.for_each_operation([&](const Node& operation) {
    if (aten_name(operation) != "scaled_dot_product_attention") return;
    causal = causal || (operation.args.size() > kPosition && operation.args[kPosition] == Argument(true));
    for (const auto& [name, value] : operation.kwargs) {
      causal = causal || (name == "is_causal" && value == Argument(true));
    }
  });
  return causal;
}

// A value that is made of one mask alone, and where it meets the scores.
struct Mask {
  NodeId value;
  bool is_padding;        // it is expanded over the heads first
  std::string_view call;  // path of the module that uses it
};

class Masks {
 public:
  Masks(const Flow& flow, const Values& masks) {
    std::unordered_map<std::uint32_t, Mask> made_of;  // by value
    for (const NodeId value : masks) made_of.emplace(value.index, Mask{value, false, {}});
    flow.for_each_operation([&](const Node& operation) {
      std::optional<Mask> only;
      bool others = false;
      const Values used = used_by(operation);
      for (const NodeId value : used) {
        if (!flow.is_tensor(value)) continue;
        const auto mask = made_of.find(value.index);
        const Node* made_by = flow.maker(value);
        const bool is_constant = made_by != nullptr && used_by(*made_by).empty();
        if (mask == made_of.end()) {
          others = others || !is_constant;
        } else if (only && only->value != mask->second.value) {
          others = true;
        } else {
          const bool is_padding = mask->second.is_padding || (only && only->is_padding);
          only = mask->second;
          only->is_padding = is_padding;
        }
      }
      if (only && !others) {
        constexpr std::array<std::string_view, 1> kSpreads{"expand"};
        only->is_padding = only->is_padding || is_among(kSpreads, aten_name(operation));
        for (const auto& output : flow.results(operation))
          made_of.insert_or_assign(output.value.index, *only);
        return;
      }
      for (const NodeId value : used) {
        const auto mask = made_of.find(value.index);
        if (mask == made_of.end()) continue;
        Mask use = mask->second;
        use.call = flow.call(operation);
        uses_.push_back(use);
      }
    });
  }

  const std::vector<Mask>& uses() const { return uses_; }

 private:
  std::vector<Mask> uses_;
};

// Returns a mask that never meets the scores, as a causal mask is only a hint.
std::optional<NodeId> unused_mask(const Masks& found, const Values& masks) {
  for (const NodeId mask : masks) {
    const auto& uses = found.uses();
    const bool is_used =
        std::any_of(uses.begin(), uses.end(), [&](const Mask& use) { return use.value == mask; });
    if (!is_used) return mask;
  }
  return std::nullopt;
}

std::optional<LeafCall> attention_call(const LeafOperations& leaf, const Flow& flow) {
  std::array<std::optional<NodeId>, 3> inputs;  // query, key, value
  const auto meet = [&](std::string_view weight, std::size_t part, std::size_t parts, NodeId input) {
    const auto set = [&](std::size_t i) {
      if (!inputs[i]) inputs[i] = input;
    };
    if (weight == "q_proj_weight" || (weight == "in_proj_weight" && (parts == 1 || part == 0))) set(0);
    if (weight == "k_proj_weight" || (weight == "in_proj_weight" && (parts == 1 || part == 1))) set(1);
    if (weight == "v_proj_weight" ||
        (weight == "in_proj_weight" && (parts != 3 || part == 2) && part + 1 == parts)) {
      set(2);
    }
  };
  flow.for_each_operation([&](const Node& operation) {
    const Values used = used_by(operation);
    if (used.size() < 2) return;
    for (const NodeId weight : used) {
      // in_proj_weight may be cut in two (query; key and value) or three.
      std::size_t part = 0;
      std::size_t parts = 1;
      const NodeId cut =
          flow.source(weight, [&](const Node& made_by) { return flow.results(made_by).size() > 1; });
      const Node* cutting = flow.maker(cut);
      const auto pieces = cutting == nullptr ? std::vector<ProgramResult>() : flow.results(*cutting);
      if (pieces.size() > 1) {
        parts = pieces.size();
        part =
            static_cast<std::size_t>(std::ranges::find(pieces, cut, &ProgramResult::value) - pieces.begin());
      }
      const std::string_view name = flow.own(flow.source(cut));
      if (name.empty()) continue;
      for (const NodeId input : used) {
        const NodeId source = flow.source(input);
        if (flow.enters(source)) meet(name, part, parts, source);
      }
    }
  });
  if (!inputs[0] || !inputs[1] || !inputs[2]) return std::nullopt;

  LeafCall call;
  Values masks;
  for (const auto& input : inputs) call.args.emplace_back(*input);
  for (const NodeId value : leaf.boundary.entering) {
    const bool is_input = std::find(inputs.begin(), inputs.end(), value) != inputs.end();
    if (!is_input && flow.is_tensor(value)) masks.push_back(value);
  }
  const Masks found(flow, masks);
  std::optional<NodeId> padding;
  std::optional<NodeId> attention;
  for (const Mask& use : found.uses()) (use.is_padding ? padding : attention) = use.value;
  const bool causal = is_causal(flow);
  if (causal && !attention && masks.size() == (padding ? 2 : 1)) attention = unused_mask(found, masks);
  const std::size_t known = (padding ? 1 : 0) + (attention && attention != padding ? 1 : 0);
  if (known != masks.size()) return std::nullopt;
  const bool needs_weights = !has_fused_attention(flow);
  if (padding) call.kwargs.emplace_back("key_padding_mask", *padding);
  if (!needs_weights) call.kwargs.emplace_back("need_weights", false);
  if (attention) call.kwargs.emplace_back("attn_mask", *attention);

  for (const NodeId value : leaf.boundary.leaving) {
    const auto is_softmax = [](const Node& made_by) {
      return is_among(kSoftmaxOperators, aten_name(made_by));
    };
    const NodeId source = flow.source(value, is_softmax);
    const Node* made_by = flow.maker(source);
    const bool is_weights = made_by != nullptr && is_softmax(*made_by);
    call.results.push_back({value, {is_weights ? 1 : 0}});
    if (is_weights && flow.find_operation("mean") == nullptr)
      call.kwargs.emplace_back("average_attn_weights", false);
  }
  if (causal) call.kwargs.emplace_back("is_causal", true);
  call.handed_on = leaf.boundary.handed_on;
  return call;
}

struct TransformerModule {
  std::string_view module;
  std::size_t inputs;
  // Prefixes of the names of masks: of self-attention (in the encoder of a Transformer, in the decoder), and
  // of the attention to the memory.
  std::string_view encoder, decoder, memory;
  std::string_view mask;  // the name of the first self-attention's mask
};

constexpr std::array<TransformerModule, 5> kTransformers{
    {{"TransformerEncoderLayer", 1, "src", "src", "", "src_mask"},
     {"TransformerEncoder", 1, "src", "src", "", "mask"},
     {"TransformerDecoderLayer", 2, "tgt", "tgt", "memory", "tgt_mask"},
     {"TransformerDecoder", 2, "tgt", "tgt", "memory", "tgt_mask"},
     {"Transformer", 2, "src", "tgt", "memory", "src_mask"}}};

// Returns whether an entering value is an operand together with a parameter of the module, as a mask never
// is.
bool is_data(const Flow& flow, NodeId value) {
  bool data = false;
  flow.for_each_operation([&](const Node& operation) {
    const Values used = used_by(operation);
    const bool has_weight = std::any_of(used.begin(), used.end(),
                                        [&](NodeId other) { return !flow.own(flow.source(other)).empty(); });
    const bool has_value =
        std::any_of(used.begin(), used.end(), [&](NodeId other) { return flow.source(other) == value; });
    data = data || (has_weight && has_value);
  });
  return data;
}

std::optional<LeafCall> transformer_call(const LeafOperations& leaf, const Flow& flow,
                                         const TransformerModule& kind) {
  LeafCall call;
  Values masks;
  for (const NodeId value : leaf.boundary.entering) {
    if (!flow.is_tensor(value)) continue;
    if (is_data(flow, value)) {
      call.args.emplace_back(value);
    } else {
      masks.push_back(value);
    }
  }
  if (call.args.size() == 1 && kind.inputs == 2) call.args.push_back(call.args[0]);
  if (call.args.size() != kind.inputs) return std::nullopt;
  const Masks found(flow, masks);
  for (const Mask& use : found.uses()) {
    const bool is_memory = use.call.find("multihead_attn") != std::string_view::npos;
    const bool in_decoder = use.call.find("decoder.") != std::string_view::npos;
    const std::string_view prefix = is_memory ? kind.memory : in_decoder ? kind.decoder : kind.encoder;
    std::string name(prefix);
    name += use.is_padding ? "_key_padding_mask" : "_mask";
    if (name == "src_mask") name = kind.mask;
    const auto known = std::find_if(call.kwargs.begin(), call.kwargs.end(),
                                    [&](const auto& item) { return item.first == name; });
    if (known == call.kwargs.end()) {
      call.kwargs.emplace_back(std::move(name), use.value);
    } else if (known->second != Argument(use.value)) {
      return std::nullopt;
    }
  }
  if (is_causal(flow)) {
    const auto hint = unused_mask(found, masks);
    if (hint) call.kwargs.emplace_back(kind.memory.empty() ? kind.mask : "tgt_mask", *hint);
    call.kwargs.emplace_back(kind.memory.empty() ? "is_causal" : "tgt_is_causal", true);
  }
  for (const NodeId mask : masks) {
    const bool is_used = std::any_of(call.kwargs.begin(), call.kwargs.end(),
                                     [&](const auto& item) { return item.second == Argument(mask); });
    if (!is_used) return std::nullopt;
  }
  if (leaf.boundary.leaving.size() != 1) return std::nullopt;
  call.results.push_back({leaf.boundary.leaving.front(), {}});
  call.handed_on = leaf.boundary.handed_on;
  return call;
}

// --- pooling and embeddings ---

// The results of max_pool2d_with_indices and the like have the same positions in the module's result.
std::optional<LeafCall> pooling_call(const LeafOperations& leaf, const Flow& flow) {
  LeafCall call = plain_call(leaf.boundary);
  if (call.results.size() != 1) return std::nullopt;
  const Node* made_by = flow.maker(call.results[0].value);
  const auto made = made_by == nullptr ? std::vector<ProgramResult>() : flow.results(*made_by);
  if (made.size() != 2 || made[1].value != call.results[0].value) return std::nullopt;
  call.results[0].path = {1};
  return call;
}

std::optional<LeafCall> embedding_bag_call(const LeafOperations& leaf, const Flow& flow) {
  constexpr std::size_t kOffsets = 2;
  constexpr std::size_t kWeights = 6;
  const Node* operation = flow.find_operation("embedding_bag");
  if (operation == nullptr || operation->args.size() <= kOffsets) return std::nullopt;
  LeafCall call = plain_call(leaf.boundary);
  const auto input = given_value(flow, operation->args[1]);
  if (!input || call.results.size() != 1) return std::nullopt;
  call.args = {Argument(*input)};
  const auto offsets = given_value(flow, operation->args[kOffsets]);
  if (offsets) call.args.emplace_back(*offsets);
  if (operation->args.size() > kWeights) {
    const auto weights = given_value(flow, operation->args[kWeights]);
    if (weights) call.kwargs.emplace_back("per_sample_weights", *weights);
  }
  return call;
}

std::optional<LeafCall> call_of(const LeafOperations& leaf, const Flow& flow, std::string_view module) {
  if (module == "MultiheadAttention") return attention_call(leaf, flow);
  for (const TransformerModule& kind : kTransformers) {
    if (kind.module == module) return transformer_call(leaf, flow, kind);
  }
  if (module == "EmbeddingBag") return embedding_bag_call(leaf, flow);
  if (module.find("MaxPool") != std::string_view::npos) return pooling_call(leaf, flow);
  if (auto call = call_by_operator(leaf, flow, module)) return call;
  return recurrent_call(leaf, flow, module);
}

}  // namespace

std::optional<LeafCall> torch_nn_call(const LeafOperations& leaf, std::string_view type,
                                      const LeafNames& names) {
  const std::string_view module = torch_nn_class(type);
  if (module.empty()) return std::nullopt;
  std::optional<LeafCall> call = call_of(leaf, Flow(leaf, names), module);
  if (!call) return std::nullopt;
  Values taken;
  for_each_input(*call, [&](NodeId value) { taken.push_back(value); });
  const bool takes_all = std::ranges::all_of(
      leaf.boundary.entering, [&](NodeId value) { return std::ranges::find(taken, value) != taken.end(); });
  return takes_all ? call : std::nullopt;
}

}  // namespace fxtrace::internal
