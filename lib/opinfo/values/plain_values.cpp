// Rows of operators on numbers, strings, lists and dicts of Python.
#include "opinfo/operator_row.h"

namespace fxtrace::internal {
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
    {"prim::abs", {.traits = kPlain, .value = values::magnitude, .on_values = "builtins.abs"}},
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
