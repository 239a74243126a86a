// Queries about tensors and about the process, assertions, and operators of the TorchScript IR (prim::).
#include "opinfo/operator_row.h"

namespace fxtrace::internal {
namespace {

using namespace traits;  // NOLINT(google-build-using-namespace): the rows are written with them

constexpr OperatorRow kQueriesRows[] = {
    {"_add_batch_dim _debug_has_internal_overlap _dimI _dimV _functional_sym_constrain_range "
     "_functional_sym_constrain_range_for_size _has_compatible_shallow_copy_type "
     "_has_same_storage_numel _is_zerotensor _nnz _remove_batch_dim _tensor_to_list "
     "_unpack_dual _version cudnn_is_acceptable dense_dim is_coalesced is_conj is_distributed "
     "is_inference is_leaf is_neg is_pinned is_set_to output_nr prim::AutogradAdd "
     "prim::AutogradAllNonZero prim::AutogradAllZero prim::AutogradAnyNonZero "
     "prim::BroadcastMKLDNNTensors prim::BroadcastSizes prim::ChunkSizes prim::ConstantChunk "
     "prim::ConstantMKLDNNTensor prim::FusedConcat prim::MKLDNNClamp prim::MKLDNNHardSigmoid "
     "prim::MKLDNNHardSwish prim::MKLDNNHardTanh prim::MKLDNNLayerNorm prim::MKLDNNScalarMul "
     "prim::ModuleContainerIndex prim::Print prim::RequiresGradCheck "
     "prim::StaticRuntimeCopyOuts prim::TensorExprDynamicGuard prim::TypeCheck prim::VarConcat "
     "prim::VarStack prim::awaitable_nowait prim::id prim::oneDNNFusionGuard prim::profile "
     "prim::profile_ivalue record_stream requires_grad_ retain_grad retains_grad set_data "
     "sparse_dim wait",
     {.traits = kNoMacs}},
    {"is_same_size", {.traits = kNoMacs, .value = values::is_same_size}},
    {"_assert_async _assert_scalar _functional_assert_async _functional_assert_scalar "
     "_linalg_check_errors prim::RaiseException sym_constrain_range "
     "sym_constrain_range_for_size",
     {.traits = kAsserts}},
    {"_assert_tensor_metadata",
     {.traits = kAsserts,
      .batch = {.rule = &BatchRules::leading, .fixed = {"size", "stride"}, .may_write = true}}},
    {"_print", {.traits = kSideEffect | kNoMacs}},
    {"dim", {.traits = kTensorMethod | kGivesSize, .value = values::rank, .asks = Facet::kRank}},
    {"element_size", {.traits = kNoMacs, .value = values::item_size, .asks = Facet::kDtype}},
    {"is_signed", {.traits = kNoMacs, .value = values::is_signed, .asks = Facet::kDtype}},
    {"get_device", {.traits = kNoMacs, .value = values::device_number, .asks = Facet::kDevice}},
    {"is_complex", {.traits = kNoMacs | kTensorMethod, .value = values::is_complex, .asks = Facet::kDtype}},
    {"is_floating_point",
     {.traits = kNoMacs | kTensorMethod, .value = values::is_floating_point, .asks = Facet::kDtype}},
    {"is_contiguous",
     {.traits = kTensorMethod | kGivesSize | kReadsLayout,
      .value = values::is_contiguous,
      .asks = Facet::kNothing}},
    {"is_non_overlapping_and_dense is_strides_like_format", {.traits = kNoMacs | kReadsLayout}},
    {"numel", {.traits = kTensorMethod | kGivesSize, .value = values::element_count}},
    {"size", {.traits = kTensorMethod | kGivesSize, .value = values::size}},
    {"prim::TupleUnpack", {.traits = kKnown | kNoMacs}},
    {"prim::device", {.traits = kNoMacs | kAttribute, .value = values::device, .asks = Facet::kDevice}},
    {"prim::is_cpu prim::is_cuda prim::is_ipu prim::is_maia prim::is_meta prim::is_mps "
     "prim::is_mtia prim::is_vulkan prim::is_xla prim::is_xpu",
     {.traits = kNoMacs | kAttribute, .value = values::is_on_device, .asks = Facet::kDevice}},
    {"prim::dtype", {.traits = kNoMacs | kAttribute, .value = values::dtype, .asks = Facet::kDtype}},
    {"prim::is_quantized",
     {.traits = kNoMacs | kAttribute, .value = values::is_quantized, .asks = Facet::kDtype}},
    {"prim::itemsize", {.traits = kNoMacs | kAttribute, .value = values::item_size, .asks = Facet::kDtype}},
    {"prim::grad prim::name", {.traits = kNoMacs | kAttribute}},
    {"prim::nbytes", {.traits = kNoMacs | kAttribute, .value = values::byte_count}},
    {"prim::is_mkldnn prim::is_nested prim::is_sparse_csr",
     {.traits = kNoMacs | kAttribute, .value = values::is_strided, .asks = Facet::kNothing}},
    {"prim::is_sparse",
     {.traits = kNoMacs | kAttribute, .value = values::is_sparse, .asks = Facet::kNothing}},
    {"prim::layout", {.traits = kNoMacs | kAttribute, .value = values::layout, .asks = Facet::kNothing}},
    {"prim::requires_grad",
     {.traits = kNoMacs | kAttribute, .value = values::requires_grad, .asks = Facet::kGradient}},
    {"prim::tolist", {.traits = kKnown | kReadsData | kNoMacs}},
    {"result_type", {.traits = kNoMacs | kPlain}},
    {"save", {.traits = kNoMacs, .python = "torch.save"}},
    {"storage_offset sym_is_contiguous sym_storage_offset sym_stride", {.traits = kGivesSize | kReadsLayout}},
    {"stride", {.traits = kTensorMethod | kGivesSize | kReadsLayout, .value = values::stride}},
    {"sym_numel", {.traits = kGivesSize, .value = values::element_count}},
    {"sym_size", {.traits = kGivesSize, .value = values::size}},
    {"sym_size.int", {.batch = kLeading}},
};

}  // namespace

OperatorRows queries_rows() { return kQueriesRows; }

// Rows of operators on numbers, strings, lists and dicts of Python.

namespace {

using namespace traits;  // NOLINT(google-build-using-namespace): the rows are written with them

constexpr OperatorRow kValuesRows[] = {
    {"Bool", {.traits = kReadsData | kPlain, .value = values::to_bool, .python = "builtins.bool"}},
    {"Complex", {.traits = kReadsData | kPlain, .value = values::to_complex, .python = "builtins.complex"}},
    {"ComplexImplicit", {.traits = kReadsData | kPlain, .python = "builtins.complex"}},
    {"Delete", {.traits = kPlain | kMovesElements, .on_values = "operator.delitem"}},
    {"Float", {.traits = kReadsData | kPlain, .value = values::to_float, .python = "builtins.float"}},
    {"FloatImplicit",
     {.traits = kReadsData | kPlain, .value = values::implicit_float, .python = "builtins.float"}},
    {"Int.Scalar", {.value = values::integer_of_scalar}},
    {"Int", {.traits = kReadsData | kPlain, .value = values::to_integer, .python = "builtins.int"}},
    {"IntImplicit",
     {.traits = kReadsData | kPlain, .value = values::implicit_integer, .python = "builtins.int"}},
    {"ScalarImplicit",
     {.traits = kReadsData | kPlain, .value = values::implicit_scalar, .python = "aten.item.default"}},
    {"Size _get_tracing_state _infer_size _size_if_not_equal broadcast_shapes can_cast device "
     "format get_autocast_dtype has_torch_function hash is_autocast_cpu_enabled "
     "is_autocast_enabled is_scripting isdecimal isidentifier isnumeric isprintable "
     "percentFormat prim::EnumName prim::EnumValue prim::StringIndex "
     "prim::unchecked_unwrap_optional promote_types",
     {.traits = kPlain}},
    {"__derive_index", {.traits = kPlain, .value = values::derived_index}},
    {"__range_length", {.traits = kPlain, .value = values::range_length}},
    {"__contains__", {.traits = kPlain | kMovesElements | kCompares, .python = "operator.contains"}},
    {"__getitem__",
     {.traits = kPlain | kMovesElements, .value = values::item_of_list, .python = "operator.getitem"}},
    {"__is__", {.traits = kPlain | kCompares, .python = "operator.is_"}},
    {"__isnot__", {.traits = kPlain | kCompares, .python = "operator.is_not"}},
    {"__not__", {.traits = kPlain, .value = values::logical_not_of_bool, .python = "operator.not_"}},
    {"__round_to_zero_floordiv",
     {.traits = kPlain | kDivides, .value = values::truncated_quotient_of_numbers}},
    {"_set_item", {.traits = kPlain | kMovesElements, .on_values = "operator.setitem"}},
    {"_unwrap_optional prim::TupleIndex prim::unchecked_cast", {.traits = kKnown | kPlain}},
    {"add_ extend", {.traits = kPlain | kMovesElements, .on_values = "operator.iadd"}},
    {"append clear get insert items pop popitem reverse setdefault update",
     {.traits = kPlain | kMovesElements}},
    {"bin", {.traits = kPlain, .on_values = "builtins.bin"}},
    {"capitalize endswith find isalnum isalpha isdigit islower isspace istitle isupper lower "
     "lstrip partition rfind rindex rpartition rsplit rstrip splitlines startswith strip "
     "swapcase title upper",
     {.traits = kPlain | kTextMethod}},
    {"center expandtabs ljust rjust zfill", {.traits = kPlain | kTextMethod | kRepeats}},
    {"chr", {.traits = kPlain, .on_values = "builtins.chr"}},
    {"count", {.traits = kPlain | kTextMethod | kCompares, .on_values = "operator.countOf"}},
    {"degrees", {.traits = kPlain | kMathFunction, .synonym_of = "rad2deg", .value = values::math_function}},
    {"div.complex", {.value = values::complex_quotient}},
    {"dict", {.traits = kPlain | kMovesElements, .on_values = "builtins.dict"}},
    {"divmod",
     {.traits = kPlain | kDivides, .value = values::quotient_and_remainder, .on_values = "builtins.divmod"}},
    {"fabs gamma modf", {.traits = kPlain | kMathFunction, .value = values::math_function}},
    {"factorial", {.traits = kPlain | kMathFunction, .value = values::factorial}},
    {"floordiv",
     {.traits = kPlain | kDivides,
      .value = values::floor_quotient_of_numbers,
      .on_values = "operator.floordiv"}},
    {"hex", {.traits = kPlain, .on_values = "builtins.hex"}},
    {"join replace", {.traits = kPlain | kTextMethod | kJoins}},
    {"keys", {.traits = kPlain | kMovesElements, .on_values = "builtins.list"}},
    {"list", {.traits = kPlain | kMovesElements, .value = values::same_list, .on_values = "builtins.list"}},
    {"len",
     {.traits = kPlain | kMovesElements | kGivesSize, .value = values::length, .python = "builtins.len"}},
    {"mathremainder",
     {.traits = kPlain | kDivides, .value = values::remainder_by_sign, .on_values = "math.remainder"}},
    {"mul_ prim::rangelist", {.traits = kPlain | kRepeats}},
    {"oct", {.traits = kPlain, .on_values = "builtins.oct"}},
    {"ord", {.traits = kPlain, .on_values = "builtins.ord"}},
    {"pow.Scalar_Scalar", {.value = values::power_of_scalars}},
    {"pow.int_to_int", {.value = values::integer_power}},
    {"prim::Uninitialized", {.traits = kKnown}},
    {"prim::abs",
     {.traits = kPlain | kLikeFirst,
      .signature = "... -> ...:real",
      .of_sparse = same_as_first,
      .value = values::magnitude,
      .on_values = "builtins.abs"}},
    {"prim::index", {.traits = kPlain | kAttribute, .value = values::device_index}},
    {"prim::max", {.traits = kPlain, .value = values::largest, .on_values = "builtins.max"}},
    {"prim::min", {.traits = kPlain, .value = values::smallest, .on_values = "builtins.min"}},
    {"prim::type", {.traits = kPlain | kAttribute, .value = values::device_type, .asks = Facet::kDevice}},
    {"radians", {.traits = kPlain | kMathFunction, .synonym_of = "deg2rad", .value = values::math_function}},
    {"remove", {.traits = kPlain | kCompares}},
    {"slice.t", {.value = values::part_of_list}},
    {"sorted", {.traits = kPlain, .on_values = "builtins.sorted"}},
    {"str", {.traits = kPlain, .value = values::text, .python = "builtins.str"}},
};

}  // namespace

OperatorRows values_rows() { return kValuesRows; }

}  // namespace fxtrace::internal
