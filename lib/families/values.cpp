// Numbers, text, lists and dicts of Python.
#include "families/family.h"

namespace fxtrace {
namespace {

using namespace traits;  // NOLINT(google-build-using-namespace): the rows are written with them

constexpr OperatorRow kValuesRows[] = {
    {"Bool", {.traits = kReadsData | kPlain, .python = "builtins.bool"}},
    {"Complex ComplexImplicit", {.traits = kReadsData | kPlain, .python = "builtins.complex"}},
    {"Delete", {.traits = kPlain | kMovesElements, .on_values = "operator.delitem"}},
    {"Float FloatImplicit", {.traits = kReadsData | kPlain, .python = "builtins.float"}},
    {"Int IntImplicit", {.traits = kReadsData | kPlain, .python = "builtins.int"}},
    {"ScalarImplicit", {.traits = kReadsData | kPlain, .python = "aten.item.default"}},
    {"Size __derive_index __range_length _get_tracing_state _infer_size _size_if_not_equal "
     "broadcast_shapes can_cast device format get_autocast_dtype has_torch_function hash "
     "is_autocast_cpu_enabled is_autocast_enabled is_scripting isdecimal isidentifier "
     "isnumeric isprintable percentFormat prim::EnumName prim::EnumValue prim::StringIndex "
     "prim::unchecked_unwrap_optional promote_types",
     {.traits = kPlain}},
    {"__contains__", {.traits = kPlain | kMovesElements | kCompares, .python = "operator.contains"}},
    {"__getitem__", {.traits = kPlain | kMovesElements, .python = "operator.getitem"}},
    {"__is__", {.traits = kPlain | kCompares, .python = "operator.is_"}},
    {"__isnot__", {.traits = kPlain | kCompares, .python = "operator.is_not"}},
    {"__not__", {.traits = kPlain, .python = "operator.not_"}},
    {"__round_to_zero_floordiv", {.traits = kPlain | kDivides}},
    {"_set_item", {.traits = kPlain | kMovesElements, .on_values = "operator.setitem"}},
    {"_unwrap_optional prim::TupleIndex prim::unchecked_cast", {.traits = kKnown | kPlain}},
    {"add_ extend", {.traits = kPlain | kMovesElements, .on_values = "operator.iadd"}},
    {"append clear dict get insert items pop popitem reverse setdefault update",
     {.traits = kPlain | kMovesElements}},
    {"bin", {.traits = kPlain, .on_values = "builtins.bin"}},
    {"capitalize endswith find isalnum isalpha isdigit islower isspace istitle isupper lower "
     "lstrip partition rfind rindex rpartition rsplit rstrip splitlines startswith strip "
     "swapcase title upper",
     {.traits = kPlain | kTextMethod}},
    {"center expandtabs ljust rjust zfill", {.traits = kPlain | kTextMethod | kRepeats}},
    {"chr", {.traits = kPlain, .on_values = "builtins.chr"}},
    {"count", {.traits = kPlain | kTextMethod | kCompares, .on_values = "operator.countOf"}},
    {"degrees", {.traits = kPlain | kMathFunction, .synonym_of = "rad2deg"}},
    {"divmod", {.traits = kPlain | kDivides, .on_values = "builtins.divmod"}},
    {"fabs factorial gamma modf", {.traits = kPlain | kMathFunction}},
    {"floordiv", {.traits = kPlain | kDivides, .on_values = "operator.floordiv"}},
    {"hex", {.traits = kPlain, .on_values = "builtins.hex"}},
    {"join replace", {.traits = kPlain | kTextMethod | kJoins}},
    {"keys list", {.traits = kPlain | kMovesElements, .on_values = "builtins.list"}},
    {"len", {.traits = kPlain | kMovesElements | kGivesSize, .python = "builtins.len"}},
    {"mathremainder", {.traits = kPlain | kDivides, .on_values = "math.remainder"}},
    {"mul_ prim::rangelist", {.traits = kPlain | kRepeats}},
    {"oct", {.traits = kPlain, .on_values = "builtins.oct"}},
    {"ord", {.traits = kPlain, .on_values = "builtins.ord"}},
    {"prim::Uninitialized", {.traits = kKnown}},
    {"prim::abs", {.traits = kPlain, .on_values = "builtins.abs"}},
    {"prim::index", {.traits = kPlain | kAttribute}},
    {"prim::max", {.traits = kPlain, .on_values = "builtins.max"}},
    {"prim::min", {.traits = kPlain, .on_values = "builtins.min"}},
    {"prim::type", {.traits = kPlain | kAttribute, .asks = Facet::kDevice}},
    {"radians", {.traits = kPlain | kMathFunction, .synonym_of = "deg2rad"}},
    {"remove", {.traits = kPlain | kCompares}},
    {"sorted", {.traits = kPlain, .on_values = "builtins.sorted"}},
    {"str", {.traits = kPlain, .python = "builtins.str"}},
};

}  // namespace

Family values_family() { return kValuesRows; }

}  // namespace fxtrace
