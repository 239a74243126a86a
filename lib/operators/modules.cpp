#include "operators/modules.h"

#include <algorithm>
#include <array>

namespace fxtrace {
namespace {

using namespace module_traits;  // NOLINT(google-build-using-namespace): the table is written with them

struct Row {
  std::string_view name;
  ModuleTraits traits = kKnown;
};

constexpr ModuleTraits kActivation = kKnown | kInPlaceOption | kAnyRank;
constexpr ModuleTraits kDropout = kKnown | kInPlaceOption | kMayBeArgument | kRandomInTraining | kIdentity;
constexpr ModuleTraits kOverLast = kKnown | kAnyRank;  // elementwise, or over the last dimensions
constexpr ModuleTraits kNorm = kKnown | kWritesOwnInTraining;
constexpr ModuleTraits kView = kKnown | kMayBeArgument;

// Behind "torch.nn.modules.", in byte order.  Containers, lazy modules, Transformer and what takes a function
// of the user are left out.  tests/python/test_module_traits.py compares it with torch.
constexpr auto kRows = std::to_array<Row>({
    {"activation.CELU", kActivation},
    {"activation.ELU", kActivation},
    {"activation.GELU", kOverLast},
    {"activation.GLU"},
    {"activation.Hardshrink", kOverLast},
    {"activation.Hardsigmoid", kActivation},
    {"activation.Hardswish", kActivation},
    {"activation.Hardtanh", kActivation},
    {"activation.LeakyReLU", kActivation},
    {"activation.LogSigmoid", kOverLast},
    {"activation.LogSoftmax"},
    {"activation.Mish", kActivation},
    {"activation.MultiheadAttention", kKnown | kRandomInTraining},
    {"activation.PReLU"},
    {"activation.RReLU", kActivation | kRandomInTraining},
    {"activation.ReLU", kActivation},
    {"activation.ReLU6", kActivation},
    {"activation.SELU", kActivation},
    {"activation.SiLU", kActivation},
    {"activation.Sigmoid", kOverLast},
    {"activation.Softmax"},
    {"activation.Softmax2d", kKnown | kRows2d},
    {"activation.Softmin"},
    {"activation.Softplus", kOverLast},
    {"activation.Softshrink", kOverLast},
    {"activation.Softsign", kOverLast},
    {"activation.Tanh", kOverLast},
    {"activation.Tanhshrink", kOverLast},
    {"activation.Threshold", kActivation},
    {"adaptive.AdaptiveLogSoftmaxWithLoss"},
    {"batchnorm.BatchNorm1d", kNorm},
    {"batchnorm.BatchNorm2d", kNorm},
    {"batchnorm.BatchNorm3d", kNorm},
    {"batchnorm.SyncBatchNorm", kNorm},
    {"channelshuffle.ChannelShuffle", kView},
    {"conv.Conv1d", kKnown | kRows1d},
    {"conv.Conv2d", kKnown | kRows2d},
    {"conv.Conv3d", kKnown | kRows3d},
    {"conv.ConvTranspose1d", kKnown | kRows1d},
    {"conv.ConvTranspose2d", kKnown | kRows2d},
    {"conv.ConvTranspose3d", kKnown | kRows3d},
    {"distance.CosineSimilarity"},
    {"distance.PairwiseDistance"},
    {"dropout.AlphaDropout", kDropout},
    {"dropout.Dropout", kDropout | kAnyRank},
    {"dropout.Dropout1d", kDropout},
    {"dropout.Dropout2d", kDropout},
    {"dropout.Dropout3d", kDropout},
    {"dropout.FeatureAlphaDropout", kDropout},
    {"flatten.Flatten", kView},
    {"flatten.Unflatten", kView},
    {"fold.Fold"},
    {"fold.Unfold"},
    {"instancenorm.InstanceNorm1d", kNorm},
    {"instancenorm.InstanceNorm2d", kNorm},
    {"instancenorm.InstanceNorm3d", kNorm},
    {"linear.Bilinear"},
    {"linear.Identity", kView | kIdentity | kAnyRank},
    {"linear.Linear", kOverLast},
    {"linear.NonDynamicallyQuantizableLinear", kOverLast},
    {"loss.BCELoss"},
    {"loss.BCEWithLogitsLoss"},
    {"loss.CTCLoss"},
    {"loss.CosineEmbeddingLoss"},
    {"loss.CrossEntropyLoss"},
    {"loss.GaussianNLLLoss"},
    {"loss.HingeEmbeddingLoss"},
    {"loss.HuberLoss"},
    {"loss.KLDivLoss"},
    {"loss.L1Loss"},
    {"loss.MSELoss"},
    {"loss.MarginRankingLoss"},
    {"loss.MultiLabelMarginLoss"},
    {"loss.MultiLabelSoftMarginLoss"},
    {"loss.MultiMarginLoss"},
    {"loss.NLLLoss"},
    {"loss.NLLLoss2d"},
    {"loss.PoissonNLLLoss"},
    {"loss.SmoothL1Loss"},
    {"loss.SoftMarginLoss"},
    {"loss.TripletMarginLoss"},
    {"normalization.CrossMapLRN2d"},
    {"normalization.GroupNorm"},
    {"normalization.LayerNorm", kOverLast},
    {"normalization.LocalResponseNorm"},
    {"normalization.RMSNorm", kOverLast},
    {"padding.CircularPad1d", kKnown | kRows1d},
    {"padding.CircularPad2d", kKnown | kRows2d},
    {"padding.CircularPad3d", kKnown | kRows3d},
    {"padding.ConstantPad1d"},
    {"padding.ConstantPad2d"},
    {"padding.ConstantPad3d"},
    {"padding.ReflectionPad1d", kKnown | kRows1d},
    {"padding.ReflectionPad2d", kKnown | kRows2d},
    {"padding.ReflectionPad3d", kKnown | kRows3d},
    {"padding.ReplicationPad1d", kKnown | kRows1d},
    {"padding.ReplicationPad2d", kKnown | kRows2d},
    {"padding.ReplicationPad3d", kKnown | kRows3d},
    {"padding.ZeroPad1d"},
    {"padding.ZeroPad2d"},
    {"padding.ZeroPad3d"},
    {"pixelshuffle.PixelShuffle", kView},
    {"pixelshuffle.PixelUnshuffle", kView},
    {"pooling.AdaptiveAvgPool1d", kKnown | kRows1d},
    {"pooling.AdaptiveAvgPool2d", kKnown | kRows2d},
    {"pooling.AdaptiveAvgPool3d", kKnown | kRows3d},
    {"pooling.AdaptiveMaxPool1d", kKnown | kRows1d},
    {"pooling.AdaptiveMaxPool2d", kKnown | kRows2d},
    {"pooling.AdaptiveMaxPool3d", kKnown | kRows3d},
    {"pooling.AvgPool1d", kKnown | kRows1d},
    {"pooling.AvgPool2d", kKnown | kRows2d},
    {"pooling.AvgPool3d", kKnown | kRows3d},
    {"pooling.FractionalMaxPool2d", kKnown | kRandom},
    {"pooling.FractionalMaxPool3d", kKnown | kRandom},
    {"pooling.LPPool1d", kKnown | kRows1d},
    {"pooling.LPPool2d", kKnown | kRows2d},
    {"pooling.LPPool3d", kKnown | kRows3d},
    {"pooling.MaxPool1d", kKnown | kRows1d},
    {"pooling.MaxPool2d", kKnown | kRows2d},
    {"pooling.MaxPool3d", kKnown | kRows3d},
    {"pooling.MaxUnpool1d"},
    {"pooling.MaxUnpool2d"},
    {"pooling.MaxUnpool3d"},
    {"rnn.GRU", kView | kRandomInTraining},
    {"rnn.GRUCell"},
    {"rnn.LSTM", kView | kRandomInTraining},
    {"rnn.LSTMCell"},
    {"rnn.RNN", kView | kRandomInTraining},
    {"rnn.RNNCell"},
    {"sparse.Embedding", kKnown | kWritesOwn | kAnyRank},
    {"sparse.EmbeddingBag", kKnown | kWritesOwn},
    {"upsampling.Upsample"},
    {"upsampling.UpsamplingBilinear2d"},
    {"upsampling.UpsamplingNearest2d"},
});
static_assert(std::ranges::is_sorted(kRows, {}, &Row::name));

}  // namespace

ModuleTraits traits_of_module(std::string_view type) {
  constexpr std::string_view kPrefix = "torch.nn.modules.";
  if (!type.starts_with(kPrefix)) return 0;
  type.remove_prefix(kPrefix.size());
  const auto row = std::ranges::lower_bound(kRows, type, {}, &Row::name);
  return row != kRows.end() && row->name == type ? row->traits : 0;
}

std::size_t spatial_dimensions(ModuleTraits traits) {
  if ((traits & kRows1d) != 0) return 1;
  if ((traits & kRows2d) != 0) return 2;
  return (traits & kRows3d) != 0 ? 3 : 0;
}

}  // namespace fxtrace
