// The upgraders are those of PyTorch's torch/csrc/jit/operator_upgraders/upgraders_entry.cpp
// (BSD-3-Clause, see NOTICE).
#include "torchscript/compiler/upgraders.h"

#include <array>

namespace fxtrace::internal::torchscript {
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
