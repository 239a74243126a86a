#include "operators/names/modules.h"

#include "operators/names/name_table.h"

namespace fxtrace::internal {
namespace {

using namespace module_traits;  // NOLINT(google-build-using-namespace): the table is written with them

struct Row {
  std::string_view space, names;
  ModuleTraits traits = kKnown;
};

constexpr ModuleTraits kActivation = kKnown | kInPlaceOption | kAnyRank;
constexpr ModuleTraits kDropout = kKnown | kInPlaceOption | kMayBeArgument | kRandomInTraining | kIdentity;
constexpr ModuleTraits kOverLast = kKnown | kAnyRank;  // elementwise, or over the last dimensions
constexpr ModuleTraits kNorm = kKnown | kWritesOwnInTraining;
constexpr ModuleTraits kView = kKnown | kMayBeArgument;

// Types by their names after "torch.nn.modules.".  Containers, lazy modules, Transformer and modules that
// take a function of the user are left out. tests/python/test_module_traits.py compares the table with
// torch.
constexpr Row kRows[] = {
    {"activation", "GLU LogSoftmax PReLU Softmax Softmin"},
    {"activation", "CELU ELU Hardsigmoid Hardswish Hardtanh LeakyReLU Mish ReLU ReLU6 SELU SiLU Threshold",
     kActivation},
    {"activation", "RReLU", kActivation | kRandomInTraining},
    {"activation", "MultiheadAttention", kKnown | kRandomInTraining},
    {"activation", "Softmax2d", kKnown | kRows2d},
    {"activation", "GELU Hardshrink LogSigmoid Sigmoid Softplus Softshrink Softsign Tanh Tanhshrink",
     kOverLast},
    {"adaptive", "AdaptiveLogSoftmaxWithLoss"},
    {"batchnorm", "BatchNorm1d BatchNorm2d BatchNorm3d SyncBatchNorm", kNorm},
    {"channelshuffle", "ChannelShuffle", kView},
    {"conv", "Conv1d ConvTranspose1d", kKnown | kRows1d},
    {"conv", "Conv2d ConvTranspose2d", kKnown | kRows2d},
    {"conv", "Conv3d ConvTranspose3d", kKnown | kRows3d},
    {"distance", "CosineSimilarity PairwiseDistance"},
    {"dropout", "AlphaDropout Dropout1d Dropout2d Dropout3d FeatureAlphaDropout", kDropout},
    {"dropout", "Dropout", kDropout | kAnyRank},
    {"flatten", "Flatten Unflatten", kView},
    {"fold", "Fold Unfold"},
    {"instancenorm", "InstanceNorm1d InstanceNorm2d InstanceNorm3d", kNorm},
    {"linear", "Bilinear"},
    {"linear", "Linear NonDynamicallyQuantizableLinear", kOverLast},
    {"linear", "Identity", kView | kIdentity | kAnyRank},
    {"loss",
     "BCELoss BCEWithLogitsLoss CTCLoss CosineEmbeddingLoss CrossEntropyLoss GaussianNLLLoss "
     "HingeEmbeddingLoss HuberLoss KLDivLoss L1Loss MSELoss MarginRankingLoss "
     "MultiLabelMarginLoss MultiLabelSoftMarginLoss MultiMarginLoss NLLLoss NLLLoss2d "
     "PoissonNLLLoss SmoothL1Loss SoftMarginLoss TripletMarginLoss"},
    {"normalization", "CrossMapLRN2d GroupNorm LocalResponseNorm"},
    {"normalization", "LayerNorm RMSNorm", kOverLast},
    {"padding", "ConstantPad1d ConstantPad2d ConstantPad3d ZeroPad1d ZeroPad2d ZeroPad3d"},
    {"padding", "CircularPad1d ReflectionPad1d ReplicationPad1d", kKnown | kRows1d},
    {"padding", "CircularPad2d ReflectionPad2d ReplicationPad2d", kKnown | kRows2d},
    {"padding", "CircularPad3d ReflectionPad3d ReplicationPad3d", kKnown | kRows3d},
    {"pixelshuffle", "PixelShuffle PixelUnshuffle", kView},
    {"pooling", "MaxUnpool1d MaxUnpool2d MaxUnpool3d"},
    {"pooling", "FractionalMaxPool2d FractionalMaxPool3d", kKnown | kRandom},
    {"pooling", "AdaptiveAvgPool1d AdaptiveMaxPool1d AvgPool1d LPPool1d MaxPool1d", kKnown | kRows1d},
    {"pooling", "AdaptiveAvgPool2d AdaptiveMaxPool2d AvgPool2d LPPool2d MaxPool2d", kKnown | kRows2d},
    {"pooling", "AdaptiveAvgPool3d AdaptiveMaxPool3d AvgPool3d LPPool3d MaxPool3d", kKnown | kRows3d},
    {"rnn", "GRUCell LSTMCell RNNCell"},
    {"rnn", "GRU LSTM RNN", kView | kRandomInTraining},
    {"sparse", "EmbeddingBag", kKnown | kWritesOwn},
    {"sparse", "Embedding", kKnown | kWritesOwn | kAnyRank},
    {"upsampling", "Upsample UpsamplingBilinear2d UpsamplingNearest2d"},
};

}  // namespace

ModuleTraits traits_of_module(std::string_view type) {
  constexpr std::string_view kPrefix = "torch.nn.modules.";
  if (!type.starts_with(kPrefix)) return 0;
  type.remove_prefix(kPrefix.size());
  static const NameTable<Row> table(kRows);
  const Row* row = table.find(type);
  return row != nullptr ? row->traits : 0;
}

bool is_torch_module(std::string_view type) {
  return type.starts_with("torch.nn.") || type.starts_with("torch.ao.nn.");
}

std::string public_alias(const std::string& type) {
  if (!is_torch_module(type)) return type;
  // The parts of torch.nn.modules.linear.Linear are the package, "modules", the file, and the class.
  constexpr std::string_view kModules = ".modules.";
  const std::size_t modules = type.find(kModules);
  if (modules == std::string::npos) return type;
  const std::size_t file = modules + kModules.size();
  const std::size_t dot = type.find('.', file);
  if (dot == std::string::npos || type.find('.', dot + 1) != std::string::npos) return type;
  return type.substr(0, modules) + type.substr(dot);
}

std::size_t spatial_dimensions(ModuleTraits traits) {
  if ((traits & kRows1d) != 0) return 1;
  if ((traits & kRows2d) != 0) return 2;
  return (traits & kRows3d) != 0 ? 3 : 0;
}

}  // namespace fxtrace::internal
