// The operators of lib/operators as TorchScript calls them: schemas parsed once in the process, when their
// name is first asked for.  What only one model knows (declared operators) stands in that model's
// OperatorTable.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "operators/operators.h"
#include "script/function_schema.h"
#include "script/symbol.h"

namespace fxtrace::script {

struct OperatorSchema {
  Symbol name = Symbol::kNone;  // "aten::add"
  FunctionSchema schema;
  const Operator* row = nullptr;  // null for declared operators
};

class OperatorTable {
 public:
  // Those that are registered and those that were declared, in LibTorch's order; empty for an unknown
  // operator.
  std::vector<const OperatorSchema*> overloads(Symbol name) const;
  bool has(Symbol name) const;
  // The one of a full name, "aten::add.Tensor"; null when there is none.
  const OperatorSchema* find(std::string_view full_name) const;

  // "pkg::op(Tensor x) -> Tensor"; throws Error(kInput) for what is no schema.
  const OperatorSchema* declare(std::string_view schema, const ResolveClass& resolve);

 private:
  std::unordered_map<Symbol, std::vector<std::unique_ptr<OperatorSchema>>> declared_;
};

// The registered ones alone.  They live as long as the process.
const std::vector<const OperatorSchema*>& registered_overloads(Symbol name);

}  // namespace fxtrace::script
