// The operators of lib/operators as called from TorchScript.  Schemas are parsed once for the process, at the
// first use of their name.  Operators declared for one model are in that model's OperatorTable.
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
  // Returns the registered and declared overloads, in LibTorch's order; empty for an unknown operator.
  std::vector<const OperatorSchema*> overloads(Symbol name) const;
  bool has(Symbol name) const;
  // Returns the overload with the full name "aten::add.Tensor"; null when there is none.
  const OperatorSchema* find(std::string_view full_name) const;

  // Declares an operator by its schema: "pkg::op(Tensor x) -> Tensor".  Throws Error(kInput) for a malformed
  // schema.
  const OperatorSchema* declare(std::string_view schema, const ResolveClass& resolve);

 private:
  std::unordered_map<Symbol, std::vector<std::unique_ptr<OperatorSchema>>> declared_;
};

// Returns the registered overloads, which live as long as the process.
const std::vector<const OperatorSchema*>& registered_overloads(Symbol name);

}  // namespace fxtrace::script
