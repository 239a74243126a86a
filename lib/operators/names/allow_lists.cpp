#include "operators/names/allow_lists.h"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_set>

#include "operators/operators.h"
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
    "quantized_decomposed rngprims rnn sparse static_runtime streams symm_mem torch_nn triton vulkan vulkan_prepack xnnpack";

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

namespace {

constexpr auto kFunctions = std::to_array<NamesOfSpace>({
#include "python/fxtrace/torch_functions.inc"
});

}  // namespace

std::span<const NamesOfSpace> torch_functions() { return kFunctions; }

bool is_torch_function(std::string_view qualified_name) {
  const std::size_t dot = qualified_name.rfind('.');
  return dot != std::string_view::npos &&
         has_name(kFunctions, qualified_name.substr(0, dot), qualified_name.substr(dot + 1));
}

namespace {

struct Reach {
  std::string_view names, reach;
};
// Operators by what they reach.  A name that ends in "::" is a whole namespace.
constexpr auto kReaches = std::to_array<Reach>({
    {"aten::save aten::from_file", "files"},
    // These operators take sizes, strides, indices or addresses as given.
    {"inductor:: inductor_prims:: mkldnn::data_ptr "
     "profiler::_call_end_callbacks_on_jit_fut profiler::_record_function_exit static_runtime::",
     "raw memory"},
    {"c10d:: _c10d_functional:: _c10d_functional_autograd:: _dtensor:: dist:: rpc:: symm_mem::",
     "other processes"},
    {"aten::_get_cpu_capability prim::AddStatValue prim::BailOut prim::BailoutTemplate prim::IgnoredPythonOp "
     "prim::StaticRuntimeCopyOuts debugprims:: streams::",
     "the process"},
});

bool has_name(std::string_view names, std::string_view name) {
  bool found = false;
  for_each_word(names, [&](std::string_view one) {
    found = found || one == name || (one.ends_with("::") && name.starts_with(one));
  });
  return found;
}

// Returns whether an operator accesses only memory of its arguments, as they bound it.  In torch's own
// namespaces these are the operators on the allow list, and a few others: those that the language itself
// consists of, effect tokens, marks for the profiler, and access to what a tensor subclass holds.
bool is_bounded(std::string_view name) {
  constexpr std::string_view kInert =
      "aten::_make_dep_token export::access_subclass_inner_tensor prims::_make_token prims::_sink_tokens "
      "profiler::_record_function_enter";
  const std::size_t colons = std::min(name.find("::"), name.size());
  const std::string_view space = name.substr(0, colons);
  return space == "prim" || !is_torch_operator_space(space) || has_word(kInert, name) ||
         is_callable_operator(space, name.substr(std::min(colons + 2, name.size())));
}

}  // namespace

std::string_view operator_reach(std::string_view name) {
  const std::string_view base = name.substr(0, name.find('.'));
  // The overload that takes an object of a class gets no address.
  if (name == "profiler::_record_function_exit._RecordFunction" ||
      name == "profiler::_call_end_callbacks_on_jit_fut._RecordFunction")
    return {};
  for (const Reach& row : kReaches) {
    if (has_name(row.names, base)) return row.reach;
  }
  // Operators that torch's compilers insert in place of others use their arguments unchecked.
  if (base.starts_with("prim::") && base != "prim::Print") {
    const auto rows = overloads(base);
    if (std::ranges::any_of(rows, [](const Operator& row) { return row.signature.starts_with("(...)"); }))
      return "raw memory";
  }
  return is_bounded(base) ? std::string_view() : "memory that its arguments may not bound";
}

std::string_view higher_order_reach(std::string_view name) {
  static const std::unordered_set<std::string_view> known = words_of(
      "_export_tracepoint associative_scan auto_functionalized auto_functionalized_v2 "
      "autograd_function_apply call_torchbind cond custom_function_call flex_attention "
      "flex_attention_backward flex_gemm foreach_map graphsafe_run_with_rng_state hints_wrapper invoke_quant "
      "invoke_quant_packed invoke_subgraph map map_impl out_dtype print run_and_save_rng_state run_with_rng_state "
      "scan strict_mode switch tag_activation_checkpoint while_loop while_loop_stack_output with_effects wrap "
      "wrap_activation_checkpoint wrap_with_autocast wrap_with_set_grad_enabled");
  if (known.contains(name)) return {};
  return name == "inline_asm_elementwise" ? "the process" : "code that is not in the file";
}

}  // namespace fxtrace::internal
