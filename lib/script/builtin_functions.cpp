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
