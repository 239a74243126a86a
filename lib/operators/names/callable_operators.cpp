#include "operators/names/callable_operators.h"

#include <array>
#include <string>

#include "support/text/words.h"

namespace fxtrace::internal {
namespace {

constexpr auto kOperators = std::to_array<NamesOfSpace>({
#include "python/fxtrace/callable_operators.inc"
});

// The namespaces of torch's own operators and classes.
constexpr std::string_view kTorchSpaces =
    "_c10d_functional _c10d_functional_autograd _dtensor _native _nnapi _quantized _test aten c10d cuda "
    "debug_mode_ops debugprims dist_c10d dist_rpc export fsdp inductor inductor_prims metal metal_prepack mkl mkldnn "
    "mkldnn_prepacked nvprims onednn onnx onnx_symbolic prepacked prim prims profiler quantization quantized "
    "quantized_decomposed rngprims rnn sparse static_runtime streams symm_mem triton vulkan vulkan_prepack xnnpack";

}  // namespace

std::span<const NamesOfSpace> callable_operators() { return kOperators; }

bool is_callable_operator(std::string_view space, std::string_view name, std::string_view overload) {
  return has_name(kOperators, space, name) ||
         (!overload.empty() &&
          has_name(kOperators, space, std::string(name).append(1, '.').append(overload)));
}

bool is_torch_operator_space(std::string_view space) { return has_word(kTorchSpaces, space); }

bool is_callable_class_space(std::string_view space) { return has_name(kOperators, "torch.classes", space); }

bool makes_sparse_tensor(std::string_view name) {
  return has_word(
      "sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor sparse_coo_tensor sparse_csc_tensor "
      "sparse_csr_tensor",
      name);
}

}  // namespace fxtrace::internal
