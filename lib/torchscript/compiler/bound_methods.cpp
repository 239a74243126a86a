#include "torchscript/compiler/bound_methods.h"

#include <array>

namespace fxtrace::internal::torchscript {
namespace {

constexpr std::string_view kConvolutions =
    "quantized.Conv2dPackedParamsBase quantized.Conv3dPackedParamsBase";
constexpr std::array kBoundMethods{
    BoundMethod{"quantized.LinearPackedParamsBase", "bias() -> Tensor?"},
    BoundMethod{"quantized.LinearPackedParamsBase", "unpack() -> ((Tensor, Tensor?))"},
    BoundMethod{"quantized.LinearPackedParamsBase", "__getstate__() -> ((Tensor, Tensor?))"},
    BoundMethod{kConvolutions, "weight() -> Tensor"},
    BoundMethod{kConvolutions, "__getstate__() -> ((str, Tensor[], Tensor?[]))"},
    BoundMethod{kConvolutions, "bias() -> Tensor?"},
    BoundMethod{kConvolutions, "unpack() -> ((Tensor, Tensor?))"},
    BoundMethod{kConvolutions, "stride() -> int[]"},
    BoundMethod{kConvolutions, "padding() -> int[]"},
    BoundMethod{kConvolutions, "output_padding() -> int[]"},
    BoundMethod{kConvolutions, "dilation() -> int[]"},
    BoundMethod{kConvolutions, "groups() -> int"},
    BoundMethod{kConvolutions, "transpose() -> bool"},
    BoundMethod{"quantized.EmbeddingPackedParamsBase", "bit_rate() -> int"},
    BoundMethod{"quantized.EmbeddingPackedParamsBase", "__getstate__() -> ((int, Tensor[], float[], int[]))"},
    BoundMethod{"quantized.EmbeddingPackedParamsBase", "unpack() -> Tensor"},
    BoundMethod{"quantized.EmbeddingPackedParamsBase", "version() -> int"},
    BoundMethod{"_nnapi.Compilation", "__init__() -> NoneType"},
    BoundMethod{"_nnapi.Compilation", "init(Tensor ser, Tensor[] parameters) -> NoneType"},
    BoundMethod{"_nnapi.Compilation",
                "init2(Tensor ser, Tensor[] parameters, int preference, bool relax) -> NoneType"},
    BoundMethod{"_nnapi.Compilation", "run(Tensor[] inputs, Tensor[] outputs) -> NoneType"},
};

}  // namespace

std::span<const BoundMethod> bound_methods() { return kBoundMethods; }

}  // namespace fxtrace::internal::torchscript
