#include "torchscript/pure_code.h"

#include <algorithm>

#include "operators/operators.h"
#include "torchscript/convert.h"
#include "torchscript/operators.h"

namespace fxtrace {

namespace prim = c10::prim;
namespace {

using torch::jit::Block;
using IrNode = torch::jit::Node;

// What the IR has no schema for and does no more than give its results.
bool is_plain_form(const IrNode& node) {
  switch (node.kind()) {
    case prim::Constant:
    case prim::DictConstruct:
    case prim::GetAttr:
    case prim::If:
    case prim::isinstance:
    case prim::ListConstruct:
    case prim::ListUnpack:
    case prim::TupleConstruct:
    case prim::TupleSlice:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool is_pure(const IrNode& node) {
  const auto* schema = node.maybeSchema();
  const bool pure = schema == nullptr ? is_plain_form(node) : is_pure(find_operator(*schema));
  return pure && std::ranges::all_of(node.blocks(), [](const Block* block) { return is_pure(*block); });
}

bool is_pure(const Block& block) {
  return std::all_of(block.nodes().begin(), block.nodes().end(),
                     [](const IrNode* node) { return is_pure(*node); });
}

}  // namespace fxtrace
