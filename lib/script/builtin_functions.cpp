#include "script/builtin_functions.h"

#include <array>

namespace fxtrace::script {
namespace {

struct BuiltinCode {
  std::string_view name;
  std::string_view code;
};

// What is commutative is turned round; the others say it with what there is.
constexpr std::array kBuiltinCode{
    BuiltinCode{"aten::add", "def add(a: float, b: Tensor) -> Tensor:\n  return torch.add(b, a)\n"},
    BuiltinCode{"aten::add", "def add(a: int, b: Tensor) -> Tensor:\n  return torch.add(b, a)\n"},
    BuiltinCode{"aten::add", "def add(a: complex, b: Tensor) -> Tensor:\n  return torch.add(b, a)\n"},
    BuiltinCode{"aten::mul", "def mul(a: float, b: Tensor) -> Tensor:\n  return torch.mul(b, a)\n"},
    BuiltinCode{"aten::mul", "def mul(a: int, b: Tensor) -> Tensor:\n  return torch.mul(b, a)\n"},
    BuiltinCode{"aten::mul", "def mul(a: complex, b: Tensor) -> Tensor:\n  return torch.mul(b, a)\n"},
    BuiltinCode{"aten::ne", "def ne(a: float, b: Tensor) -> Tensor:\n  return torch.ne(b, a)\n"},
    BuiltinCode{"aten::ne", "def ne(a: int, b: Tensor) -> Tensor:\n  return torch.ne(b, a)\n"},
    BuiltinCode{"aten::ne", "def ne(a: complex, b: Tensor) -> Tensor:\n  return torch.ne(b, a)\n"},
    BuiltinCode{"aten::eq", "def eq(a: float, b: Tensor) -> Tensor:\n  return torch.eq(b, a)\n"},
    BuiltinCode{"aten::eq", "def eq(a: int, b: Tensor) -> Tensor:\n  return torch.eq(b, a)\n"},
    BuiltinCode{"aten::eq", "def eq(a: complex, b: Tensor) -> Tensor:\n  return torch.eq(b, a)\n"},
    BuiltinCode{"aten::sub",
                "def sub(a: float, b: Tensor) -> Tensor:\n  return torch.add(torch.neg(b), a)\n"},
    BuiltinCode{"aten::sub", "def sub(a: int, b: Tensor) -> Tensor:\n  return torch.add(torch.neg(b), a)\n"},
    BuiltinCode{"aten::sub",
                "def sub(a: complex, b: Tensor) -> Tensor:\n  return torch.add(torch.neg(b), a)\n"},
    BuiltinCode{"aten::div",
                "def div(a: float, b: Tensor) -> Tensor:\n  return torch.mul(torch.reciprocal(b), a)\n"},
    BuiltinCode{"aten::div",
                "def div(a: int, b: Tensor) -> Tensor:\n  return torch.mul(torch.reciprocal(b), a)\n"},
    BuiltinCode{"aten::div",
                "def div(a: complex, b: Tensor) -> Tensor:\n  return torch.mul(torch.reciprocal(b), a)\n"},
    BuiltinCode{"aten::lt", "def lt(a: float, b: Tensor) -> Tensor:\n  return torch.gt(b, a)\n"},
    BuiltinCode{"aten::lt", "def lt(a: int, b: Tensor) -> Tensor:\n  return torch.gt(b, a)\n"},
    BuiltinCode{"aten::le", "def le(a: float, b: Tensor) -> Tensor:\n  return torch.ge(b, a)\n"},
    BuiltinCode{"aten::le", "def le(a: int, b: Tensor) -> Tensor:\n  return torch.ge(b, a)\n"},
    BuiltinCode{"aten::gt", "def gt(a: float, b: Tensor) -> Tensor:\n  return torch.lt(b, a)\n"},
    BuiltinCode{"aten::gt", "def gt(a: int, b: Tensor) -> Tensor:\n  return torch.lt(b, a)\n"},
    BuiltinCode{"aten::ge", "def ge(a: float, b: Tensor) -> Tensor:\n  return torch.le(b, a)\n"},
    BuiltinCode{"aten::ge", "def ge(a: int, b: Tensor) -> Tensor:\n  return torch.le(b, a)\n"},
    BuiltinCode{"aten::floordiv",
                "def floordiv(self: Tensor, other: number) -> Tensor:\n"
                "  return torch.floor_divide(self, other)\n"},
    BuiltinCode{"aten::floordiv",
                "def floordiv(self: Tensor, other: Tensor) -> Tensor:\n"
                "  return torch.floor_divide(self, other)\n"},
    // Operators that were registered once, which archives of then call.
    BuiltinCode{"aten::_single", "def _single(x: BroadcastingList1[float]) -> List[float]:\n  return x\n"},
    BuiltinCode{"aten::_single", "def _single(x: BroadcastingList1[int]) -> List[int]:\n  return x\n"},
    BuiltinCode{"aten::_pair", "def _pair(x: BroadcastingList2[float]) -> List[float]:\n  return x\n"},
    BuiltinCode{"aten::_pair", "def _pair(x: BroadcastingList2[int]) -> List[int]:\n  return x\n"},
    BuiltinCode{"aten::_triple", "def _triple(x: BroadcastingList3[float]) -> List[float]:\n  return x\n"},
    BuiltinCode{"aten::_triple", "def _triple(x: BroadcastingList3[int]) -> List[int]:\n  return x\n"},
    BuiltinCode{"aten::_quadruple",
                "def _quadruple(x: BroadcastingList4[float]) -> List[float]:\n  return x\n"},
    BuiltinCode{"aten::_quadruple", "def _quadruple(x: BroadcastingList4[int]) -> List[int]:\n  return x\n"},
    BuiltinCode{"aten::_assert_int_or_pair",
                "def _assert_int_or_pair(vals: List[int], name: str, message: str) -> None:\n  pass\n"},
    BuiltinCode{"aten::list_with_default",
                "def list_with_default(out_size: List[int], defaults: List[int]) -> List[int]:\n"
                "  assert len(defaults) > len(out_size)\n"
                "  return out_size\n"},
    BuiltinCode{"aten::_assert",
                "def _assert(condition: bool, message: str) -> None:\n  assert condition, message\n"},
    BuiltinCode{"aten::_assert",
                "def _assert(condition: Tensor, message: str) -> None:\n  assert bool(condition), message\n"},
    BuiltinCode{"aten::device", "def device(type: str) -> Device:\n  return torch.device(type)\n"},
    BuiltinCode{"aten::type",
                "def type(self: Tensor, dtype: int, non_blocking: bool=False, copy: bool=False) -> Tensor:\n"
                "  return self.to(dtype, non_blocking, copy)\n"},
    BuiltinCode{"aten::__contains__",
                "def __contains__(self: str, key: str) -> bool:\n"
                "  return self.find(key, 0, len(self)) != -1\n"},
    BuiltinCode{"prim::ndim", "def ndim(a: Tensor) -> int:\n  return a.dim()\n"},
    BuiltinCode{"prim::shape", "def shape(a: Tensor) -> List[int]:\n  return a.size()\n"},
    BuiltinCode{"prim::T", "def T(a: Tensor) -> Tensor:\n  return a.numpy_T()\n"},
    BuiltinCode{"prim::H", "def H(a: Tensor) -> Tensor:\n  return a.matrix_H()\n"},
    BuiltinCode{"prim::mT", "def mT(a: Tensor) -> Tensor:\n  return torch.mT(a)\n"},
    BuiltinCode{"prim::mH", "def mH(a: Tensor) -> Tensor:\n  return torch.mH(a)\n"},
};

}  // namespace

std::vector<std::string_view> builtin_functions(std::string_view name) {
  std::vector<std::string_view> found;
  for (const BuiltinCode& row : kBuiltinCode) {
    if (row.name == name) found.push_back(row.code);
  }
  return found;
}

}  // namespace fxtrace::script
