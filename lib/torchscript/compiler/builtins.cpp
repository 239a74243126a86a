// The functions are those of PyTorch's torch/csrc/jit/frontend/builtin_functions.cpp (BSD-3-Clause, see
// NOTICE).
#include "torchscript/compiler/builtins.h"

#include <array>

#include "support/text/words.h"

namespace fxtrace::internal::torchscript {
namespace {

struct BuiltinCode {
  std::string_view name;
  std::string_view types;  // types that replace "$" in the code, for one function each; empty: one function
  std::string_view code;
};

// Commutative operators swap their operands; the others use operators that have an overload for the operands.
constexpr BuiltinCode kBuiltinCode[] = {
    {"aten::add", "float int complex", "def add(a: $, b: Tensor) -> Tensor:\n  return torch.add(b, a)\n"},
    {"aten::mul", "float int complex", "def mul(a: $, b: Tensor) -> Tensor:\n  return torch.mul(b, a)\n"},
    {"aten::ne", "float int complex", "def ne(a: $, b: Tensor) -> Tensor:\n  return torch.ne(b, a)\n"},
    {"aten::eq", "float int complex", "def eq(a: $, b: Tensor) -> Tensor:\n  return torch.eq(b, a)\n"},
    {"aten::sub", "float int complex",
     "def sub(a: $, b: Tensor) -> Tensor:\n"
     "  return torch.add(torch.neg(b), a)\n"},
    {"aten::div", "float int complex",
     "def div(a: $, b: Tensor) -> Tensor:\n"
     "  return torch.mul(torch.reciprocal(b), a)\n"},
    {"aten::lt", "float int", "def lt(a: $, b: Tensor) -> Tensor:\n  return torch.gt(b, a)\n"},
    {"aten::le", "float int", "def le(a: $, b: Tensor) -> Tensor:\n  return torch.ge(b, a)\n"},
    {"aten::gt", "float int", "def gt(a: $, b: Tensor) -> Tensor:\n  return torch.lt(b, a)\n"},
    {"aten::ge", "float int", "def ge(a: $, b: Tensor) -> Tensor:\n  return torch.le(b, a)\n"},
    {"aten::floordiv", "",
     "def floordiv(self: Tensor, other: number) -> Tensor:\n"
     "  return torch.floor_divide(self, other)\n"},
    {"aten::floordiv", "",
     "def floordiv(self: Tensor, other: Tensor) -> Tensor:\n"
     "  return torch.floor_divide(self, other)\n"},
    // Operators that PyTorch registered once, which old archives call.
    {"aten::_single", "float int", "def _single(x: BroadcastingList1[$]) -> List[$]:\n  return x\n"},
    {"aten::_pair", "float int", "def _pair(x: BroadcastingList2[$]) -> List[$]:\n  return x\n"},
    {"aten::_triple", "float int", "def _triple(x: BroadcastingList3[$]) -> List[$]:\n  return x\n"},
    {"aten::_quadruple", "float int", "def _quadruple(x: BroadcastingList4[$]) -> List[$]:\n  return x\n"},
    {"aten::_assert_int_or_pair", "",
     "def _assert_int_or_pair(vals: List[int], name: str, message: str) -> None:\n"
     "  pass\n"},
    {"aten::list_with_default", "",
     "def list_with_default(out_size: List[int], defaults: List[int]) -> List[int]:\n"
     "  if len(defaults) > len(out_size):\n"
     "    pass\n"
     "  else:\n"
     "    ops.prim.RaiseException(\"AssertionError: \")\n"
     "  return out_size\n"},
    {"aten::_assert", "",
     "def _assert(condition: bool, message: str) -> None:\n"
     "  if condition:\n"
     "    pass\n"
     "  else:\n"
     "    ops.prim.RaiseException(torch.add(\"AssertionError: \", message))\n"},
    {"aten::_assert", "",
     "def _assert(condition: Tensor, message: str) -> None:\n"
     "  if bool(condition):\n"
     "    pass\n"
     "  else:\n"
     "    ops.prim.RaiseException(torch.add(\"AssertionError: \", message))\n"},
    {"aten::device", "", "def device(type: str) -> Device:\n  return torch.device(type)\n"},
    {"aten::type", "",
     "def type(self: Tensor, dtype: int, non_blocking: bool=False, copy: bool=False) -> Tensor:\n"
     "  return self.to(dtype, non_blocking, copy)\n"},
    {"aten::__contains__", "",
     "def __contains__(self: str, key: str) -> bool:\n"
     "  return self.find(key, 0, len(self)) != -1\n"},
    {"prim::ndim", "", "def ndim(a: Tensor) -> int:\n  return a.dim()\n"},
    {"prim::shape", "", "def shape(a: Tensor) -> List[int]:\n  return a.size()\n"},
    {"prim::T", "", "def T(a: Tensor) -> Tensor:\n  return a.numpy_T()\n"},
    {"prim::H", "", "def H(a: Tensor) -> Tensor:\n  return a.matrix_H()\n"},
    {"prim::mT", "", "def mT(a: Tensor) -> Tensor:\n  return torch.mT(a)\n"},
    {"prim::mH", "", "def mH(a: Tensor) -> Tensor:\n  return torch.mH(a)\n"},
};

}  // namespace

std::vector<std::string> builtin_functions(std::string_view name) {
  std::vector<std::string> found;
  for (const BuiltinCode& row : kBuiltinCode) {
    if (row.name != name) continue;
    if (row.types.empty()) found.emplace_back(row.code);
    for_each_word(row.types, [&](std::string_view type) {
      std::string code(row.code);
      for (auto at = code.find('$'); at != std::string::npos; at = code.find('$')) code.replace(at, 1, type);
      found.push_back(std::move(code));
    });
  }
  return found;
}

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

// The upgraders are those of PyTorch's torch/csrc/jit/operator_upgraders/upgraders_entry.cpp
// (BSD-3-Clause, see NOTICE).

namespace {

// Up to version 3 a division of integers was truncated.  LibTorch's upgraders have an `if` on the dtypes,
// which only a run can decide; these choose the rounding mode instead, with the same results.
#define FXTRACE_DIVISION(name, in_place, is_float)     \
  "def " name                                          \
  "(self: Tensor, other: Tensor) -> Tensor:\n"         \
  "  modes: List[Optional[str]] = [\"trunc\", None]\n" \
  "  return self.divide" in_place "(other, rounding_mode=modes[int(" is_float ")])\n"
#define FXTRACE_SCALAR_DIVISION(name, in_place)                   \
  "def " name                                                     \
  "(self: Tensor, other: number) -> Tensor:\n"                    \
  "  if isinstance(other, float):\n"                              \
  "    _0 = self.true_divide" in_place                            \
  "(other)\n"                                                     \
  "  else:\n"                                                     \
  "    modes: List[Optional[str]] = [\"trunc\", None]\n"          \
  "    _0 = self.divide" in_place                                 \
  "(other, rounding_mode=modes[int(self.is_floating_point())])\n" \
  "  return _0\n"

constexpr std::array kUpgraders{
    Upgrader{"aten::div.Tensor", 4, "(Tensor self, Tensor other) -> Tensor",
             FXTRACE_DIVISION("div_Tensor", "", "self.is_floating_point() | other.is_floating_point()")},
    Upgrader{"aten::div_.Tensor", 4, "(Tensor(a!) self, Tensor other) -> Tensor(a!)",
             FXTRACE_DIVISION("div__Tensor", "_", "self.is_floating_point() | other.is_floating_point()")},
    Upgrader{"aten::div.Scalar", 4, "(Tensor self, Scalar other) -> Tensor",
             FXTRACE_SCALAR_DIVISION("div_Scalar", "")},
    Upgrader{"aten::div_.Scalar", 4, "(Tensor(a!) self, Scalar other) -> Tensor(a!)",
             FXTRACE_SCALAR_DIVISION("div__Scalar", "_")},
    Upgrader{"aten::div.out", 4, "(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
             "def div_out(self: Tensor, other: Tensor, *, out: Tensor) -> Tensor:\n"
             "  modes: List[Optional[str]] = [\"trunc\", None]\n"
             "  is_float = self.is_floating_point() | other.is_floating_point() | out.is_floating_point()\n"
             "  return self.divide(other, rounding_mode=modes[int(is_float)], out=out)\n"},
    Upgrader{
        "aten::full", 5,
        "(int[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
        "bool? pin_memory=None) -> Tensor",
        "def full(size: List[int], fill_value: number, *, dtype: Optional[int]=None, layout: Optional[int]=None,\n"
        "    device: Optional[Device]=None, pin_memory: Optional[bool]=None) -> Tensor:\n"
        "  if dtype is None:\n"
        "    fill_value = float(fill_value)\n"
        "  return torch.full(size, fill_value, dtype=dtype, layout=layout, device=device, "
        "pin_memory=pin_memory)\n"},
    Upgrader{
        "aten::linspace", 8,
        "(Scalar start, Scalar end, int? steps=None, *, ScalarType? dtype=None, Layout? layout=None, "
        "Device? device=None, bool? pin_memory=None) -> Tensor",
        "def linspace(start: number, end: number, steps: Optional[int], *, dtype: Optional[int],\n"
        "    layout: Optional[int], device: Optional[Device], pin_memory: Optional[bool]) -> Tensor:\n"
        "  if steps is None:\n"
        "    _0 = torch.linspace(start=start, end=end, steps=100, dtype=dtype, layout=layout, device=device, "
        "pin_memory=pin_memory)\n"
        "  else:\n"
        "    _0 = torch.linspace(start=start, end=end, steps=steps, dtype=dtype, layout=layout, device=device, "
        "pin_memory=pin_memory)\n"
        "  return _0\n"},
    Upgrader{"aten::linspace.out", 8,
             "(Scalar start, Scalar end, int? steps=None, *, Tensor(a!) out) -> Tensor(a!)",
             "def linspace_out(start: number, end: number, steps: Optional[int], *, out: Tensor) -> Tensor:\n"
             "  if steps is None:\n"
             "    _0 = torch.linspace(start=start, end=end, steps=100, out=out)\n"
             "  else:\n"
             "    _0 = torch.linspace(start=start, end=end, steps=steps, out=out)\n"
             "  return _0\n"},
    Upgrader{
        "aten::logspace", 9,
        "(Scalar start, Scalar end, int? steps=None, float base=10.0, *, ScalarType? dtype=None, "
        "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
        "def logspace(start: number, end: number, steps: Optional[int], base: float, *, dtype: Optional[int],\n"
        "    layout: Optional[int], device: Optional[Device], pin_memory: Optional[bool]) -> Tensor:\n"
        "  if steps is None:\n"
        "    _0 = torch.logspace(start=start, end=end, steps=100, base=base, dtype=dtype, layout=layout, "
        "device=device, pin_memory=pin_memory)\n"
        "  else:\n"
        "    _0 = torch.logspace(start=start, end=end, steps=steps, base=base, dtype=dtype, layout=layout, "
        "device=device, pin_memory=pin_memory)\n"
        "  return _0\n"},
    Upgrader{
        "aten::logspace.out", 9,
        "(Scalar start, Scalar end, int? steps=None, float base=10.0, *, Tensor(a!) out) -> Tensor(a!)",
        "def logspace_out(start: number, end: number, steps: Optional[int], base: float, *, out: Tensor) "
        "-> Tensor:\n"
        "  if steps is None:\n"
        "    _0 = torch.logspace(start=start, end=end, steps=100, base=base, out=out)\n"
        "  else:\n"
        "    _0 = torch.logspace(start=start, end=end, steps=steps, base=base, out=out)\n"
        "  return _0\n"},
    Upgrader{"aten::gelu", 10, "(Tensor self) -> Tensor",
             "def gelu(self: Tensor) -> Tensor:\n  return torch.gelu(self, approximate=\"none\")\n"},
    Upgrader{"aten::gelu.out", 10, "(Tensor self, *, Tensor(a!) out) -> Tensor",
             "def gelu_out(self: Tensor, *, out: Tensor) -> Tensor:\n"
             "  return torch.gelu(self, approximate=\"none\", out=out)\n"},
};

#undef FXTRACE_DIVISION
#undef FXTRACE_SCALAR_DIVISION

}  // namespace

const Upgrader* find_upgrader(std::string_view name, std::uint64_t version) {
  for (const Upgrader& upgrader : kUpgraders) {
    if (upgrader.name == name) return version < upgrader.changed_at ? &upgrader : nullptr;
  }
  return nullptr;
}

}  // namespace fxtrace::internal::torchscript
