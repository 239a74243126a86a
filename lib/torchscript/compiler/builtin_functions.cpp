// The functions are those of PyTorch's torch/csrc/jit/frontend/builtin_functions.cpp (BSD-3-Clause, see
// NOTICE).
#include "torchscript/compiler/builtin_functions.h"

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

}  // namespace fxtrace::internal::torchscript
