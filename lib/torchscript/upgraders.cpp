#include "torchscript/upgraders.h"

#include <caffe2/serialize/versions.h>
#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/frontend/resolver.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/operator_upgraders/upgraders.h>
#include <torch/csrc/jit/operator_upgraders/upgraders_entry.h>

#include <string>
#include <utility>
#include <vector>

namespace fxtrace {
namespace {

// Up to format 3 a division of integers was truncated.  LibTorch's upgraders have an `if` on the dtypes,
// which only the run can decide; these choose the rounding instead, with the same results.
constexpr const char* kDivisions = R"(
def div_Tensor_0_3(self: Tensor, other: Tensor) -> Tensor:
  modes: List[Optional[str]] = ["trunc", None]
  return self.divide(other, rounding_mode=modes[int(self.is_floating_point() | other.is_floating_point())])

def div__Tensor_0_3(self: Tensor, other: Tensor) -> Tensor:
  modes: List[Optional[str]] = ["trunc", None]
  return self.divide_(other, rounding_mode=modes[int(self.is_floating_point() | other.is_floating_point())])

def div_Scalar_0_3(self: Tensor, other: number) -> Tensor:
  if isinstance(other, float):
    return self.true_divide(other)
  modes: List[Optional[str]] = ["trunc", None]
  return self.divide(other, rounding_mode=modes[int(self.is_floating_point())])

def div__Scalar_0_3(self: Tensor, other: number) -> Tensor:
  if isinstance(other, float):
    return self.true_divide_(other)
  modes: List[Optional[str]] = ["trunc", None]
  return self.divide_(other, rounding_mode=modes[int(self.is_floating_point())])

def div_out_0_3(self: Tensor, other: Tensor, *, out: Tensor) -> Tensor:
  modes: List[Optional[str]] = ["trunc", None]
  is_float = self.is_floating_point() | other.is_floating_point() | out.is_floating_point()
  return self.divide(other, rounding_mode=modes[int(is_float)], out=out)
)";

}  // namespace

void provide_upgraders(std::uint64_t format_version) {
  using namespace torch::jit;  // NOLINT: only here
  if (format_version >= caffe2::serialize::kProducedFileFormatVersion || is_upgraders_map_populated()) return;
  auto graphs = generate_upgraders_graph();
  CompilationUnit unit;
  unit.define(std::nullopt, kDivisions, nativeResolver(), nullptr);
  for (Function* function : unit.get_functions()) {
    graphs.at(function->name()) = toGraphFunction(*function).graph();
  }
  populate_upgraders_map(std::move(graphs));
}

}  // namespace fxtrace
