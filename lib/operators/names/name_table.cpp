#include "operators/names/name_table.h"

#include <algorithm>
#include <array>
#include <span>

#include "operators/names/allow_lists.h"
#include "operators/names/modules.h"
#include "operators/operators.h"
#include "support/text/words.h"

namespace fxtrace::internal {
namespace {

constexpr auto kModules = std::to_array<NamesOfSpace>({
#include "operators/names/torch_modules.inc"
});
// The functions of Python itself that graphs call.
constexpr auto kPython = std::to_array<NamesOfSpace>({
    {"operator",
     "abs add and_ concat contains delitem eq floordiv ge getitem gt iadd iand ifloordiv imod imul index inv invert "
     "ior ipow is_ is_not isub itruediv ixor le lshift lt matmul mod mul ne neg not_ or_ pos pow rshift setitem sub "
     "truediv truth xor"},
    {"builtins",
     "abs all any bool chr complex dict divmod enumerate float getattr hasattr hash hex int isinstance iter len "
     "list max min next oct ord pow print range reversed round setattr slice sorted str sum tuple type zip"},
    {"math",
     "acos acosh asin asinh atan atan2 atanh ceil copysign cos cosh degrees erf erfc exp expm1 fabs factorial "
     "floor fmod frexp gamma gcd hypot inf isclose isfinite isinf isnan isqrt ldexp lgamma log log10 log1p log2 "
     "modf pow prod radians remainder sin sinh sqrt tan tanh trunc"},
    {"torch", "sym_float sym_int sym_ite sym_max sym_min sym_not sym_sqrt sym_sum tensor as_tensor"},
});

void add_names(std::span<const NamesOfSpace> table, std::vector<std::string>& names) {
  for (const NamesOfSpace& row : table) {
    for_each_word(row.names, [&](std::string_view name) {
      if (!name.empty()) names.push_back(std::string(row.space) + "." + std::string(name));
    });
  }
}

std::vector<std::string> make_names() {
  std::vector<std::string> names;
  for (const std::span<const Operator> rows : {registered_operators(), extension_operators()}) {
    for (const Operator& op : rows) {
      names.push_back(op.target());
      names.push_back(names.back().substr(0, names.back().rfind('.')));
    }
  }
  for (const auto& table : {torch_functions(), callable_operators(), std::span<const NamesOfSpace>(kPython)})
    add_names(table, names);
  std::vector<std::string> modules;
  add_names(kModules, modules);
  for (const std::string& type : modules) {
    names.push_back(type);
    names.push_back(public_alias(type));
    constexpr std::string_view kMoved = "torch.ao.";  // older archives have the names from before the move
    if (!type.starts_with(kMoved)) continue;
    const std::string before = "torch." + type.substr(kMoved.size());
    names.push_back(before);
    names.push_back(public_alias(before));
  }
  std::ranges::sort(names);
  const auto repeated = std::ranges::unique(names);
  names.erase(repeated.begin(), repeated.end());
  return names;
}

}  // namespace

const std::vector<std::string>& known_names() {
  static const std::vector<std::string> names = make_names();
  return names;
}

}  // namespace fxtrace::internal
