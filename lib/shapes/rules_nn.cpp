// Rules of neural networks' layers that are not about images: normalization, activations, embeddings,
// recurrent layers, attention, losses, spectrograms.
#include <algorithm>

#include "shapes/rule_helpers.h"

namespace fxtrace {
namespace {

// What LibTorch's own kernels return for their backward pass stays unknown where it depends on the device or
// on training.
Results first_only(const RuleArguments& args, TensorInfo first) {
  Results results(args.schema().results.size());
  if (results.empty()) throw CannotTell{};
  results[0] = {std::move(first)};
  return results;
}

TensorInfo tensor_of(Sizes sizes, Dtype dtype) {
  TensorInfo info;
  info.sizes = std::move(sizes);
  info.dtype = dtype;
  return info;
}

Results like_first(const RuleArguments& args) { return first_only(args, args.tensor(first_argument(args))); }

Sizes with_last(Sizes sizes, SymInt last) {
  if (sizes.empty()) throw CannotTell{};
  sizes.back() = std::move(last);
  return sizes;
}

// ---- Normalization ----

// One of the vectors that a normalization has for its channels: its own type, or that of an input of less
// precision.
void require_vector(const RuleArguments& args, std::string_view name, const TensorInfo& input,
                    const SymInt& channels) {
  if (!args.is_tensor(name)) return;
  const TensorInfo& vector = args.tensor(name);
  const bool both_full = (input.dtype == ScalarType::kFloat32 || input.dtype == ScalarType::kFloat64) &&
                         (vector.dtype == ScalarType::kFloat32 || vector.dtype == ScalarType::kFloat64);
  if (both_full) require_same_dtype(input.dtype, vector.dtype, "dtypes of input and " + std::string(name));
  require_rank(vector, {1}, name);
  require(args.dimensions, Relation::kEqual, vector.sizes[0], channels,
          "channels of " + std::string(name) + " and input differ");
}

Results channel_norm(const RuleArguments& args) {
  const TensorInfo& input = args.tensor("input");
  // Nothing stays nothing, whatever its shape.
  if (args.dimensions.decide(Relation::kEqual, product(input.sizes), 0) == true) return like_first(args);
  if (input.dim() < 2)
    throw Raises{"an input with channels has " + std::to_string(input.dim()) + " dimensions"};
  for (const std::string_view name : {"weight", "bias", "running_mean", "running_var"}) {
    require_vector(args, name, input, input.sizes[1]);
  }
  return like_first(args);
}

Results group_norm(const RuleArguments& args) {
  const TensorInfo& input = args.tensor("input");
  if (input.dim() < 2)
    throw Raises{"an input with channels has " + std::to_string(input.dim()) + " dimensions"};
  require(args.dimensions, Relation::kEqual, mod(input.sizes[1], args.size("num_groups")), 0,
          "channels are left over by groups");
  for (const std::string_view name : {"weight", "bias"}) require_vector(args, name, input, input.sizes[1]);
  return like_first(args);
}

// Over the last dimensions.
void require_normalized(const RuleArguments& args) {
  const TensorInfo& input = args.tensor("input");
  const Sizes shape = args.sizes("normalized_shape");
  if (shape.size() > input.sizes.size()) throw Raises{"more dimensions are normalized than the input has"};
  const std::size_t offset = input.sizes.size() - shape.size();
  for (std::size_t i = 0; i < shape.size(); ++i) {
    require(args.dimensions, Relation::kEqual, input.sizes[offset + i], shape[i],
            "sizes of the input are not what is normalized");
  }
  for (const std::string_view name : {"weight", "bias"}) {
    if (args.is_tensor(name)) {
      require_equal_sizes(args.dimensions, args.tensor(name).sizes, shape,
                          "sizes of " + std::string(name) + " are not what is normalized");
    }
  }
}

Results shape_norm(const RuleArguments& args) {
  require_normalized(args);
  return like_first(args);
}

// (result, mean, 1 / deviation), or without the mean; the statistics have 1 for every normalized dimension.
Results native_layer_norm(const RuleArguments& args) {
  const TensorInfo& input = args.tensor("input");
  const std::size_t count = args.sizes("normalized_shape").size();
  require_normalized(args);
  TensorInfo statistics = input;
  std::fill(statistics.sizes.end() - static_cast<std::ptrdiff_t>(count), statistics.sizes.end(), SymInt(1));
  if (input.dtype != ScalarType::kFloat32 && input.dtype != ScalarType::kFloat64) statistics.dtype.reset();
  std::vector<TensorInfo> results(args.schema().results.size(), statistics);
  results[0] = input;
  return make_many(std::move(results));
}

Results native_group_norm(const RuleArguments& args) {
  const TensorInfo& input = args.tensor("input");
  TensorInfo statistics = tensor_of({args.size("N"), args.size("group")}, input.dtype);
  if (input.dtype != ScalarType::kFloat32 && input.dtype != ScalarType::kFloat64) statistics.dtype.reset();
  return make_many({input, statistics, statistics});
}

Results weight_norm(const RuleArguments& args) {
  std::vector<TensorInfo> results = {args.tensor("v")};
  if (args.schema().results.size() == 2) results.push_back(args.tensor("g"));
  return make_many(std::move(results));
}

// The norm of all but one dimension; -1: of everything.
Results norm_except_dim(const RuleArguments& args) {
  const TensorInfo& input = args.tensor("v");
  if (args.number("dim") == -1) return make({}, input.dtype);
  const std::size_t dim = dim_index(args.number("dim"), input);
  Sizes sizes(input.sizes.size(), 1);
  sizes[dim] = input.sizes[dim];
  return make(std::move(sizes), input.dtype);
}

// ---- Embeddings ----

Results embedding(const RuleArguments& args) {
  const TensorInfo &weight = args.tensor("weight"), &indices = args.tensor("indices");
  require_rank(weight, {2}, "the table of an embedding");
  if (indices.dtype && *indices.dtype != ScalarType::kInt64 && *indices.dtype != ScalarType::kInt32) {
    throw Raises{"indices of an embedding are integers, not " + dtype_name(*indices.dtype)};
  }
  return make(concatenated(indices.sizes, {weight.sizes[1]}), weight.dtype);
}

Results embedding_bag(const RuleArguments& args) {
  const TensorInfo &weight = args.tensor("weight"), &offsets = args.tensor("offsets");
  const Dtype indices = args.tensor("indices").dtype;
  if (indices && *indices != ScalarType::kInt64 && *indices != ScalarType::kInt32) {
    throw Raises{"indices of an embedding are integers, not " + dtype_name(*indices)};
  }
  if (weight.dim() != 2 || offsets.dim() != 1) throw CannotTell{};
  const SymInt bags = offsets.sizes[0] - (args.flag("include_last_offset") ? 1 : 0);
  return first_only(args, tensor_of({bags, weight.sizes[1]}, weight.dtype));
}

// ---- Recurrent layers ----

std::vector<TensorInfo> states_of(const RuleArguments& args) {
  if (args.is_tensor("hx")) return {args.tensor("hx")};
  std::vector<TensorInfo> states = args.tensors("hx");
  if (states.size() != 2) throw CannotTell{};
  return states;
}

// (output, last states...).  The hidden size is that of the first state, which is also right for projections.
// Packed sequences come as (steps, features) of all sequences.
Results recurrent(const RuleArguments& args) {
  const bool packed = args.given("data");
  const TensorInfo& input = args.tensor(packed ? "data" : "input");
  const std::vector<TensorInfo> states = states_of(args);
  if (input.dim() != (packed ? 2 : 3) || states[0].dim() != 3) throw CannotTell{};
  const bool packed_weights = args.name().starts_with("aten::quantized");
  const std::vector<TensorInfo> weights = packed_weights ? std::vector<TensorInfo>() : args.tensors("params");
  if (!weights.empty()) {
    require_same_dtype(input.dtype, weights[0].dtype, "dtypes of input and weight");
    if (weights[0].dim() == 2) {
      require(args.dimensions, Relation::kEqual, input.sizes.back(), weights[0].sizes[1],
              "features of the input are not what the weight takes");
    }
  }
  const SymInt features = states[0].sizes[2] * (args.flag("bidirectional") ? 2 : 1);
  std::vector<TensorInfo> results = {tensor_of(with_last(input.sizes, features), input.dtype)};
  for (const TensorInfo& state : states) results.push_back(tensor_of(state.sizes, input.dtype));
  return make_many(std::move(results));
}

// One step: the new states.
Results recurrent_cell(const RuleArguments& args) {
  if (args.is_tensor("w_ih") && args.is_tensor("input")) {
    const TensorInfo &input = args.tensor("input"), &weight = args.tensor("w_ih");
    require_same_dtype(input.dtype, weight.dtype, "dtypes of input and weight");
    if (!input.sizes.empty() && weight.dim() == 2) {
      require(args.dimensions, Relation::kEqual, input.sizes.back(), weight.sizes[1],
              "features of the input are not what the weight takes");
    }
  }
  return make_many(states_of(args));
}

// The steps of all sequences one after another, and how many sequences have each step.
Results pack_padded_sequence(const RuleArguments& args) {
  const TensorInfo& input = args.tensor("input");
  if (input.dim() < 2) throw CannotTell{};
  const SymInt& steps = input.sizes[args.flag("batch_first") ? 1 : 0];
  Sizes sizes = slice_of(input.sizes, 1, input.sizes.size());
  sizes[0] = args.dimensions.fresh({1, std::nullopt});
  const SymInt longest = args.dimensions.fresh({1, args.dimensions.bounds(steps).high});
  return make_many({tensor_of(std::move(sizes), input.dtype), tensor_of({longest}, ScalarType::kInt64)});
}

// How many sequences there are is the first element of batch_sizes.
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

// ---- Attention ----

// Queries (..., length, features), keys (..., other length, features), values (..., other length, more
// features). Everything in front broadcasts; with grouped queries each head of keys and values serves several
// of queries.
Sizes attended(const RuleArguments& args, bool weights) {
  const TensorInfo& query = args.tensor("query");
  TensorInfo key = args.tensor("key"), value = args.tensor("value");
  const bool grouped = args.given("enable_gqa") && args.flag("enable_gqa");
  const std::size_t least = grouped ? 3 : 2;
  Sizes sizes;
  for (TensorInfo* part : {&key, &value}) {
    if (query.sizes.size() < least || part->sizes.size() < least) throw CannotTell{};
    if (grouped) part->sizes[part->sizes.size() - 3] = query.sizes[query.sizes.size() - 3];
  }
  require_same_dtype(query.dtype, key.dtype, "dtypes of queries and keys");
  require_same_dtype(query.dtype, value.dtype, "dtypes of queries and values");
  require(args.dimensions, Relation::kEqual, query.sizes.back(), key.sizes.back(),
          "features of queries and keys differ");
  require(args.dimensions, Relation::kEqual, key.sizes[key.sizes.size() - 2],
          value.sizes[value.sizes.size() - 2], "lengths of keys and values differ");
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

// ---- Distances ----

Results cosine_similarity(const RuleArguments& args) {
  require_dtype(promoted(args, {"x1", "x2"}), is_floating, "a vector");
  TensorInfo result = tensor_of(broadcast(args.tensor("x1").sizes, args.tensor("x2").sizes, args.dimensions),
                                promoted(args, {"x1", "x2"}));
  const std::int64_t dim = normalize_dim(args.number("dim"), result.dim());
  if (!result.sizes.empty()) result.sizes.erase(result.sizes.begin() + dim);
  return make(std::move(result));
}

Results pairwise_distance(const RuleArguments& args) {
  Sizes sizes = broadcast(args.tensor("x1").sizes, args.tensor("x2").sizes, args.dimensions);
  sizes = args.flag("keepdim") ? with_last(std::move(sizes), 1) : without_last(sizes);
  return make(std::move(sizes), real_dtype(float_dtype(promoted(args, {"x1", "x2"}))));
}

// One for each pair of rows.
Results pdist(const RuleArguments& args) {
  const TensorInfo& input = args.tensor("self");
  require_rank(input, {2}, "points");
  require_dtype(input.dtype, is_floating, "points");
  return make({floordiv(input.sizes[0] * (input.sizes[0] - 1), 2)}, input.dtype);
}

Results bilinear(const RuleArguments& args) {
  const TensorInfo &input = args.tensor("input1"), &other = args.tensor("input2"),
                   &weight = args.tensor("weight");
  require_rank(weight, {3}, "the weight");
  require_least_rank(input, 1, "the first input");
  for (const std::string_view name : {"input2", "weight", "bias"}) {
    if (args.is_tensor(name))
      require_same_dtype(input.dtype, args.tensor(name).dtype, "dtypes of inputs and weights");
  }
  require_rank(other, {input.dim()}, "the second input");
  require_equal_sizes(args.dimensions, without_last(input.sizes), without_last(other.sizes),
                      "sizes of the inputs differ");
  require(args.dimensions, Relation::kEqual, input.sizes.back(), weight.sizes[1],
          "features of the first input are not what the weight takes");
  require(args.dimensions, Relation::kEqual, other.sizes.back(), weight.sizes[2],
          "features of the second input are not what the weight takes");
  if (args.is_tensor("bias")) {
    require_rank(args.tensor("bias"), {1}, "the bias");
    require(args.dimensions, Relation::kEqual, args.tensor("bias").sizes[0], weight.sizes[0],
            "bias and weight differ");
  }
  return make(with_last(input.sizes, weight.sizes[0]), input.dtype);
}

// ---- Losses: reduction 0 keeps an element of each sample, 1 and 2 give one for all.  What any other number
// does depends on whether the loss is made of other operators. ----

bool is_reduced(const RuleArguments& args) {
  const std::int64_t reduction = args.number("reduction");
  return reduction == 1 || reduction == 2;
}

// Where the two floating types differ, so do the losses about which one they take.
Dtype loss_dtype(Dtype input, Dtype target) {
  const bool target_counts = target && is_floating(*target);
  return input == target || (target && !target_counts && input && is_floating(*input)) ? input : Dtype();
}

Results loss(const RuleArguments& args, Sizes unreduced, Dtype dtype) {
  // Formulas that divide or take roots make integers and complex numbers something else, and not all do.
  if (dtype && !is_floating(*dtype)) dtype.reset();
  return make(args.number("reduction") == 0 ? std::move(unreduced) : Sizes{}, dtype);
}

// Of a loss that is made of other operators, where integers may stay such: they have no mean.
Results composed_loss(const RuleArguments& args, Sizes unreduced, Dtype dtype) {
  if (!is_reduced(args)) return make(std::move(unreduced), dtype);
  if (args.number("reduction") == 2) return make(Sizes{}, sum_dtype(dtype));
  if (dtype && is_integral(*dtype)) throw Raises{"mean of " + dtype_name(*dtype)};
  return make(Sizes{}, dtype);
}

Dtype loss_dtype_of(const RuleArguments& args) {
  return loss_dtype(args.tensor(first_argument(args)).dtype, args.tensor("target").dtype);
}

Results broadcast_loss(const RuleArguments& args) {
  const TensorInfo &input = args.tensor(first_argument(args)), &target = args.tensor("target");
  const Dtype dtype = promoted(args, {first_argument(args), "target"});
  return loss(args, broadcast(input.sizes, target.sizes, args.dimensions), dtype);
}

// poisson_nll_loss, kl_div
Results float_loss(const RuleArguments& args) {
  const std::string_view first = first_argument(args);
  if (args.name() == "aten::kl_div") {
    const auto is_inexact = [](ScalarType type) { return !is_integral(type); };
    for (const std::string_view name : {first, std::string_view("target")})
      require_dtype(args.tensor(name).dtype, is_inexact, "what is compared");
  }
  // The exponential or logarithm of the input is a float before anything else is done with it.
  TensorInfo input = args.tensor(first);
  input.dtype = float_dtype(input.dtype);
  Promotion promotion;
  promotion.add(input);
  promotion.add(args.tensor("target"));
  return composed_loss(args, broadcast_of(args, {first, "target"}), promotion.result());
}

// Worked out in the input's place.
Results huber_loss(const RuleArguments& args) {
  const Dtype dtype = args.tensor("self").dtype;
  const bool is_right = dtype == promoted(args, {"self", "target"}) && dtype && is_floating(*dtype);
  return composed_loss(args, broadcast_of(args, {"self", "target"}), is_right ? dtype : std::nullopt);
}

Results l1_loss(const RuleArguments& args) {
  return composed_loss(args, broadcast_of(args, {"self", "target"}),
                       real_dtype(promoted(args, {"self", "target"})));
}

Results hinge_embedding_loss(const RuleArguments& args) {
  return composed_loss(args, broadcast_of(args, {"self", "target"}), args.tensor("self").dtype);
}

// The target has to fit into the input.
Results soft_margin_loss(const RuleArguments& args) {
  const TensorInfo &self = args.tensor("self"), &target = args.tensor("target");
  require_expandable(args.dimensions, target.sizes, self.sizes);
  if (self.dtype && is_integral(*self.dtype))
    throw Raises{"the loss is a float, and the input " + dtype_name(*self.dtype)};
  return loss(args, self.sizes, self.dtype);
}

Results input_shaped_loss(const RuleArguments& args) {
  return loss(args, args.tensor("self").sizes, loss_dtype_of(args));
}

Results target_shaped_loss(const RuleArguments& args) {
  return composed_loss(args, args.tensor("target").sizes, loss_dtype_of(args));
}

// (samples, classes, ...) or (classes).
Sizes without_classes(Sizes sizes) {
  if (sizes.empty()) throw CannotTell{};
  sizes.erase(sizes.begin() + (sizes.size() == 1 ? 0 : 1));
  return sizes;
}

// One class for each place of the input; or as many numbers as the input has, which are probabilities.
void require_classes(const RuleArguments& args) {
  const TensorInfo &input = args.tensor("self"), &target = args.tensor("target");
  require_least_rank(input, 1, "the input");
  const bool takes_probabilities = args.name() == "aten::cross_entropy_loss";
  if (takes_probabilities && input.dim() == target.dim() && input.dim() > 1) {
    require_equal_sizes(args.dimensions, input.sizes, target.sizes,
                        "sizes of input and probabilities differ");
    require_dtype(target.dtype, is_floating, "probabilities");
    return;
  }
  if (takes_probabilities && input.sizes == target.sizes) return;
  const auto is_class = [](ScalarType type) {
    return type == ScalarType::kInt64 || type == ScalarType::kUint8;
  };
  require_dtype(target.dtype, is_class, "classes");
  if (args.is_tensor("weight")) {
    require_rank(args.tensor("weight"), {1}, "the weight");
    require(args.dimensions, Relation::kEqual, args.tensor("weight").sizes[0],
            input.sizes[input.dim() > 1 ? 1 : 0], "the weight is not one for each class");
  }
  if (input.dim() == 1) {
    require_rank(target, {0, 1}, "the target");
    if (target.dim() == 1)
      require(args.dimensions, Relation::kEqual, target.sizes[0], 1, "targets of one sample");
    return;
  }
  require_equal_sizes(args.dimensions, target.sizes, without_classes(input.sizes),
                      "sizes of target and input differ");
}

Results class_loss(const RuleArguments& args) {
  require_classes(args);
  return loss(args, without_classes(args.tensor("self").sizes), loss_dtype_of(args));
}

// (result, total weight)
Results class_loss_forward(const RuleArguments& args) {
  Results results = class_loss(args);
  results.push_back({tensor_of({}, args.tensor("self").dtype)});
  return results;
}

Results multi_margin_loss(const RuleArguments& args) {
  const TensorInfo &input = args.tensor("self"), &target = args.tensor("target");
  return loss(args, input.dim() == 2 ? Sizes{input.sizes[0]} : target.sizes, input.dtype);
}

Results multilabel_margin_loss(const RuleArguments& args) {
  const TensorInfo& input = args.tensor("self");
  return loss(args, input.dim() == 2 ? Sizes{input.sizes[0]} : Sizes{}, input.dtype);
}

Results margin_ranking_loss(const RuleArguments& args) {
  return composed_loss(args, broadcast_of(args, {"input1", "input2", "target"}),
                       float_dtype(promoted(args, {"input1", "input2", "target"})));
}

Results cosine_embedding_loss(const RuleArguments& args) {
  const TensorInfo &one = args.tensor("input1"), &two = args.tensor("input2"),
                   &target = args.tensor("target");
  require_rank(target, {0, 1}, "the target");
  require_rank(one, {target.dim() + 1}, "the first input");
  require_rank(two, {target.dim() + 1}, "the second input");
  const Sizes samples = without_last(broadcast(one.sizes, two.sizes, args.dimensions));
  // Squares of integers are summed before they become floats.
  const Dtype first = float_dtype(one.dtype), second = float_dtype(two.dtype);
  return composed_loss(args, broadcast(samples, target.sizes, args.dimensions),
                       first && second ? promote(*first, *second) : std::nullopt);
}

Results triplet_margin_loss(const RuleArguments& args) {
  const TensorInfo &anchor = args.tensor("anchor"), &positive = args.tensor("positive"),
                   &negative = args.tensor("negative");
  require_rank(positive, {anchor.dim()}, "the positive example");
  require_rank(negative, {anchor.dim()}, "the negative example");
  // The distances are what is broadcast, and have their types.
  const auto distance = [&](std::string_view example) {
    return tensor_of(without_last(broadcast(anchor.sizes, args.tensor(example).sizes, args.dimensions)),
                     real_dtype(float_dtype(promoted(args, {"anchor", example}))));
  };
  const TensorInfo first = distance("positive"), second = distance("negative");
  const Dtype dtype = first.dtype && second.dtype ? promote(*first.dtype, *second.dtype) : std::nullopt;
  return composed_loss(args, broadcast(first.sizes, second.sizes, args.dimensions), dtype);
}

// (time, samples, classes), or of one sample (time, classes).
void require_lengths(const RuleArguments& args) {
  const TensorInfo& input = args.tensor("log_probs");
  require_rank(input, {2, 3}, "the input");
  const SymInt samples = input.dim() == 3 ? input.sizes[1] : SymInt(1);
  for (const std::string_view name : {"input_lengths", "target_lengths"}) {
    if (args.is_tensor(name)) continue;
    require(args.dimensions, Relation::kEqual, static_cast<std::int64_t>(args.sizes(name).size()), samples,
            "lengths are not one for each sample");
  }
  const TensorInfo& targets = args.tensor("targets");
  if (args.is_tensor("target_lengths") || targets.sizes.empty()) return;
  SymInt sum = 0, longest = 0;
  for (const SymInt& length : args.sizes("target_lengths")) {
    sum = sum + length;
    longest = max(longest, length);
  }
  if (targets.dim() == 1) {
    require(args.dimensions, Relation::kEqual, targets.sizes[0], sum, "targets are not as long as they say");
  } else {
    require(args.dimensions, Relation::kGreaterEqual, targets.sizes[1], longest,
            "targets are longer than there is");
  }
}

Results ctc_loss(const RuleArguments& args) {
  const TensorInfo& input = args.tensor("log_probs");
  require_lengths(args);
  return composed_loss(args, input.dim() == 3 ? Sizes{input.sizes[1]} : Sizes{}, input.dtype);
}

// (losses, what the backward pass needs)
Results unreduced_ctc_loss(const RuleArguments& args) {
  const TensorInfo& input = args.tensor("log_probs");
  require_lengths(args);
  return first_only(args, tensor_of(input.dim() == 3 ? Sizes{input.sizes[1]} : Sizes{}, input.dtype));
}

// ---- Spectrograms ----

bool is_complex(const RuleArguments& args, std::string_view name) {
  if (!args.given(name)) return false;
  const Dtype dtype = args.tensor(name).dtype;
  if (!dtype) throw CannotTell{};
  return is_complex(*dtype);
}

SymInt hop_of(const RuleArguments& args, const SymInt& length) {
  return args.given("hop_length") ? args.size("hop_length") : floordiv(length, 4);
}

// (..., time) to (..., frequencies, frames); not complex, with 2 behind.
Results stft(const RuleArguments& args) {
  const TensorInfo& input = args.tensor("self");
  if (input.dim() != 1 && input.dim() != 2) throw CannotTell{};
  const SymInt length = args.size("n_fft"), hop = hop_of(args, length);
  const bool complex = is_complex(args, "self") || is_complex(args, "window");
  const bool center = args.given("center") && args.flag("center");
  const bool onesided = args.given("onesided") ? args.flag("onesided") : !complex;
  const bool to_window = !center && args.given("align_to_window") && args.flag("align_to_window");
  const SymInt frame = to_window && args.given("win_length") ? args.size("win_length") : length;
  SymInt samples = input.sizes.back();
  if (center) samples = samples + 2 * floordiv(length, 2);

  Sizes sizes = without_last(input.sizes);
  sizes.push_back(onesided ? floordiv(length, 2) + 1 : length);
  sizes.push_back(window_count(samples, {frame, hop}, args.dimensions));
  Dtype dtype = complex_dtype(promoted(args, {"self", "window"}));
  if (args.given("return_complex") && !args.flag("return_complex")) {
    sizes.emplace_back(2);
    dtype = real_dtype(dtype);
  }
  return make(std::move(sizes), dtype);
}

Results istft(const RuleArguments& args) {
  const TensorInfo& input = args.tensor("self");
  if (!is_complex(args, "self") || (input.dim() != 2 && input.dim() != 3)) throw CannotTell{};
  SymInt samples;
  if (args.given("length")) {
    samples = args.size("length");
  } else {
    const SymInt length = args.size("n_fft");
    samples = length + hop_of(args, length) * (input.sizes.back() - 1);
    if (args.flag("center")) samples = samples - 2 * floordiv(length, 2);
  }
  Sizes sizes = slice_of(input.sizes, 0, input.sizes.size() - 2);
  sizes.push_back(std::move(samples));
  return make(std::move(sizes), args.flag("return_complex") ? input.dtype : real_dtype(input.dtype));
}

constexpr std::pair<std::string_view, Rule> kRules[] = {
    {"batch_norm", channel_norm},
    {"native_batch_norm", like_first},
    {"_native_batch_norm_legit", like_first},
    {"_native_batch_norm_legit_no_training", like_first},
    {"_batch_norm_impl_index", like_first},
    {"_batch_norm_no_update", like_first},
    {"_batch_norm_with_update", like_first},
    {"cudnn_batch_norm", like_first},
    {"miopen_batch_norm", like_first},
    {"batch_norm_elemt", like_first},
    {"instance_norm", channel_norm},
    {"group_norm", group_norm},
    {"layer_norm", shape_norm},
    {"rms_norm", shape_norm},
    {"native_layer_norm", native_layer_norm},
    {"_fused_rms_norm", native_layer_norm},
    {"native_group_norm", native_group_norm},
    {"norm_except_dim", norm_except_dim},
    {"_weight_norm", weight_norm},
    {"_weight_norm_interface", weight_norm},
    {"_prelu_kernel", like_first},
    {"rrelu_with_noise", like_first},

    {"embedding", embedding},
    {"embedding_renorm", like_first},
    {"embedding_bag", embedding_bag},
    {"_embedding_bag", embedding_bag},
    {"_embedding_bag_forward_only", embedding_bag},

    {"lstm", recurrent},
    {"gru", recurrent},
    {"rnn_tanh", recurrent},
    {"rnn_relu", recurrent},
    {"quantized_lstm", recurrent},
    {"quantized_gru", recurrent},
    {"lstm_cell", recurrent_cell},
    {"gru_cell", recurrent_cell},
    {"rnn_tanh_cell", recurrent_cell},
    {"rnn_relu_cell", recurrent_cell},
    {"quantized_lstm_cell", recurrent_cell},
    {"quantized_gru_cell", recurrent_cell},
    {"quantized_rnn_tanh_cell", recurrent_cell},
    {"quantized_rnn_relu_cell", recurrent_cell},
    {"quantized::quantized_lstm_cell_dynamic", recurrent_cell},
    {"quantized::quantized_gru_cell_dynamic", recurrent_cell},
    {"quantized::quantized_rnn_tanh_cell_dynamic", recurrent_cell},
    {"quantized::quantized_rnn_relu_cell_dynamic", recurrent_cell},
    {"_pack_padded_sequence", pack_padded_sequence},
    {"_pad_packed_sequence", pad_packed_sequence},
    {"pad_sequence", pad_sequence},

    {"_masked_softmax", like_first},
    {"scaled_dot_product_attention", attention},
    {"_scaled_dot_product_attention_math", attention_math},
    {"_scaled_dot_product_flash_attention", attention},
    {"_scaled_dot_product_flash_attention_for_cpu", attention},
    {"_scaled_dot_product_efficient_attention", attention},
    {"_scaled_dot_product_cudnn_attention", attention},
    {"_scaled_dot_product_fused_attention_overrideable", attention},
    {"_native_multi_head_attention", native_multi_head_attention},
    {"_transformer_encoder_layer_fwd", like_first},

    {"cosine_similarity", cosine_similarity},
    {"pairwise_distance", pairwise_distance},
    {"pdist", pdist},
    {"_pdist_forward", pdist},
    {"bilinear", bilinear},

    {"mse_loss", broadcast_loss},
    {"l1_loss", l1_loss},
    {"smooth_l1_loss", broadcast_loss},
    {"huber_loss", huber_loss},
    {"kl_div", float_loss},
    {"poisson_nll_loss", float_loss},
    {"hinge_embedding_loss", hinge_embedding_loss},
    {"soft_margin_loss", soft_margin_loss},
    {"binary_cross_entropy", input_shaped_loss},
    {"binary_cross_entropy_with_logits", target_shaped_loss},
    {"margin_ranking_loss", margin_ranking_loss},
    {"cosine_embedding_loss", cosine_embedding_loss},
    {"triplet_margin_loss", triplet_margin_loss},
    {"nll_loss", class_loss},
    {"nll_loss2d", class_loss},
    {"nll_loss_nd", class_loss},
    {"nll_loss_forward", class_loss_forward},
    {"nll_loss2d_forward", class_loss_forward},
    {"cross_entropy_loss", class_loss},
    {"multi_margin_loss", multi_margin_loss},
    {"multilabel_margin_loss", multilabel_margin_loss},
    {"ctc_loss", ctc_loss},
    {"_ctc_loss", unreduced_ctc_loss},

    {"stft", stft},
    {"istft", istft},
};

}  // namespace

RuleTable nn_rules() { return kRules; }

}  // namespace fxtrace
