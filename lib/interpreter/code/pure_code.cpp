#include "interpreter/code/pure_code.h"

#include <algorithm>

#include "interpreter/program/convert.h"
#include "interpreter/program/provided_operators.h"
#include "operators/operators.h"
#include "opinfo/traits.h"

namespace fxtrace::internal::interpreter {

namespace {

// Returns whether the node is of a kind without a schema that only computes its results.
bool is_plain_form(const IrNode& node) {
  switch (node.kind()) {
    case Symbol::kPrimConstant:
    case Symbol::kPrimDictConstruct:
    case Symbol::kPrimGetAttr:
    case Symbol::kPrimIf:
    case Symbol::kPrimIsinstance:
    case Symbol::kPrimListConstruct:
    case Symbol::kPrimListUnpack:
    case Symbol::kPrimTupleConstruct:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool is_pure(const IrNode& node) {
  const auto* schema = node.operator_schema();
  const bool pure = schema == nullptr ? is_plain_form(node) : internal::is_pure(find_operator(*schema));
  return pure && std::ranges::all_of(node.blocks(), [](const IrBlock* block) { return is_pure(*block); });
}

bool is_pure(const IrBlock& block) {
  return std::all_of(block.nodes().begin(), block.nodes().end(),
                     [](const IrNode* node) { return is_pure(*node); });
}

}  // namespace fxtrace::internal::interpreter
