// Batching rules for operators over [N, C, ...]: pooling, convolutions and normalization of channels.
//
// The batch is folded into N, as more rows.  Where each sample has its own weights it is folded into C
// instead: each sample becomes a group of a convolution, or has its own channels of a batch_norm.
#include "passes/remove_batch_dims/batch_rules.h"

#include <optional>
#include <string>
#include <utility>

#include "passes/remove_batch_dims/batch_call.h"

namespace fxtrace::internal {
namespace {

class ChannelCall : public BatchCall {
 public:
  using BatchCall::BatchCall;
  using BatchCall::finish;

  // Returns the dimension of channels: 1 in [N, C, ...], 0 in [C, ...].
  std::size_t channels_of(const Batched& value, std::size_t spatial) const {
    if (value.rank() != spatial + 1 && value.rank() != spatial + 2) {
      throw CannotBatch{node_.name + " gets a tensor with an unexpected number of dimensions"};
    }
    return value.rank() - spatial - 1;
  }

  // --- samples as rows ---

  void pool() {
    const Batched value = only();
    if (channels_of(value, rule_.spatial) == 1) return finish(over_rows(value));
    // A sample without rows (N) takes one level as its rows.
    if (value.levels.size() > 1) return finish(over_rows(steps_.unsqueezed(value, 0), true));
    args_.set(name_at(0), value.tensor);
    finish(value.levels);
  }

  // Plans the operator with all samples as rows of its first argument.  `adds_rows`: `value` got a dimension
  // of rows that the result of the node does not have.
  Batched over_rows(const Batched& value, bool adds_rows = false) {
    args_.set(name_at(0), steps_.rows(value, value.levels.size() + 1));
    Shape shape = shape_of(node_.meta);
    if (adds_rows) shape.insert(shape.begin(), Meta::Dim(1));
    if (shape.empty()) throw CannotBatch{node_.name + " returns a tensor without rows"};
    const Meta sample = with_shape(node_.meta, std::move(shape));
    const NodeId rows =
        plan_.emit(node_, call(node_.target, args_), steps_.joined_meta(value.levels, sample, 0));
    const Batched result = steps_.parted(rows, value.levels, sample, 0);
    if (!adds_rows) return result;
    const auto dim = static_cast<std::int64_t>(value.levels.size());
    return plan_.emit(node_, {"aten.squeeze.dim", {result.tensor, dim}}, value.levels, node_.meta);
  }

  // --- samples as channels, or as rows of weights ---

  // Returns a tensor that holds all samples in dimension `at` of a sample.
  NodeId joined(const Batched& value, const Levels& levels, std::size_t at) {
    const Batched all{plan_.spread(node_, value, levels, value.rank()), levels, value.sample};
    if (levels.empty()) return all.tensor;
    if (at == 0) return steps_.rows(all, levels.size() + 1);
    Shape shape = value.shape();
    steps_.insert_extents(shape, levels, at);
    const NodeId moved = plan_.emit(
        node_, {"aten.movedim.intlist", {all.tensor, range(0, levels.size()), range(at, levels.size())}},
        with_shape(value.sample, std::move(shape)));
    const auto from = static_cast<std::int64_t>(at);
    const auto to = static_cast<std::int64_t>(at + levels.size());
    return plan_.emit(node_, {"aten.flatten.using_ints", {moved, from, to}},
                      steps_.joined_meta(levels, value.sample, at));
  }
  // Applies a tensor with one number for each channel, which take() has removed from the call.
  Batched with_each(const char* target, const Batched& value, Batched channels, std::size_t at) {
    for (std::size_t dim = at + 1; dim < value.rank(); ++dim) channels = steps_.unsqueezed(channels, 1);
    return steps_.elementwise(target, {value, channels}, node_.meta);
  }
  // Removes an argument from the call, and returns it.
  std::optional<Batched> take(std::string_view name) {
    if (args_.find_argument(name) == nullptr) return std::nullopt;
    const Batched value = tensor(name);
    args_.set(name, Argument());
    return value;
  }

  // --- operators ---

  Batched convolution(bool is_transposed) {
    const Batched weight = second();
    if (weight.rank() < 3) throw CannotBatch{node_.name + " gets a tensor with too few dimensions"};
    const std::size_t at = channels_of(first(), weight.rank() - 2);
    const bool has_own_bias = is_batched("bias") || !weight.levels.empty();
    const std::optional<Batched> bias = has_own_bias ? take("bias") : std::nullopt;
    const Batched result = weight.levels.empty() ? with_one_weight(at) : with_own_weights(at, is_transposed);
    return bias ? with_each("aten.add.Tensor", result, *bias, at) : result;
  }

  Batched with_one_weight(std::size_t at) {
    const Batched input = first();
    if (at == 1) return over_rows(input);
    if (input.levels.size() > 1) return over_rows(steps_.unsqueezed(input, 0), true);
    args_.set(name_at(0), input.tensor);
    return plan_.emit(node_, call(node_.target, args_), input.levels, node_.meta);
  }

  // An input that is the same for all samples is convolved with the weights of all; otherwise each sample is
  // a group of the convolution.
  Batched with_own_weights(std::size_t at, bool is_transposed) {
    const Batched input = first(), weight = second();
    const auto groups = args_.integer("groups");
    const auto* flag = args_.find_argument("transposed");
    is_transposed = is_transposed || (flag && *flag != Argument(false));
    if (!groups) throw CannotBatch{"the number of groups is not known"};
    const bool is_shared = input.levels.empty() && *groups == 1;
    Levels levels = weight.levels;
    if (!is_shared) {
      levels = BatchPlan::common_levels({input, weight});
      Shape sizes = {Meta::Dim(*groups)};
      for (const LevelNumber level : levels) sizes.emplace_back(plan_.extent_of(level));
      const auto all = product(sizes).number();
      if (!all) throw CannotBatch{"the number of groups would be a symbolic size of the batch"};
      args_.set(name_at(0), joined(input, levels, at));
      args_.set("groups", *all);
    }
    args_.set(name_at(1), joined(weight, levels, is_shared && is_transposed ? 1 : 0));
    const NodeId all =
        plan_.emit(node_, call(node_.target, args_), steps_.joined_meta(levels, node_.meta, at));
    return steps_.parted(all, levels, node_.meta, at);
  }

  // Plans batch_norm with given statistics, which do not depend on the rows.
  Batched batch_norm() {
    const std::optional<Batched> weight = take("weight"), bias = take("bias");
    const Batched input = first(), mean = tensor("running_mean"), var = tensor("running_var");
    if (input.rank() < 2) throw CannotBatch{node_.name + " gets a tensor with too few dimensions"};
    const Levels levels = BatchPlan::common_levels({input, mean, var});
    args_.set(name_at(0), joined(input, levels, 1));
    args_.set("running_mean", joined(mean, levels, 0));
    args_.set("running_var", joined(var, levels, 0));
    const NodeId all =
        plan_.emit(node_, call(node_.target, args_), steps_.joined_meta(levels, node_.meta, 1));
    return scaled(steps_.parted(all, levels, node_.meta, 1), weight, bias);
  }

  Batched group_norm() {
    const std::optional<Batched> weight = take("weight"), bias = take("bias");
    const Batched input = first();
    if (input.rank() < 2) throw CannotBatch{node_.name + " gets a tensor with too few dimensions"};
    return scaled(over_rows(input), weight, bias);
  }

  Batched scaled(Batched value, const std::optional<Batched>& weight, const std::optional<Batched>& bias) {
    if (weight) value = with_each("aten.mul.Tensor", value, *weight, 1);
    if (bias) value = with_each("aten.add.Tensor", value, *bias, 1);
    return value;
  }
};

}  // namespace

void batch_pool(const Node& node, const OperatorEntry& info, BatchPlan& plan) {
  ChannelCall(node, info, plan).pool();
}
void batch_convolution(const Node& node, const OperatorEntry& info, BatchPlan& plan, bool is_transposed) {
  ChannelCall call(node, info, plan);
  call.finish(call.convolution(is_transposed));
}
void batch_batch_norm(const Node& node, const OperatorEntry& info, BatchPlan& plan) {
  ChannelCall call(node, info, plan);
  call.finish(call.batch_norm());
}
void batch_group_norm(const Node& node, const OperatorEntry& info, BatchPlan& plan) {
  ChannelCall call(node, info, plan);
  call.finish(call.group_norm());
}

}  // namespace fxtrace::internal
