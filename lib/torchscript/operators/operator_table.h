// The operators of lib/operators as TorchScript calls them.  Schemas are parsed once for the process, at the
// first use of their name.  Operators declared for one model are in that model's OperatorTable.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "torchscript/language/function_schema.h"
#include "torchscript/language/symbol.h"

namespace fxtrace::internal::torchscript {

class OperatorTable {
 public:
  // Returns the registered and declared overloads, in LibTorch's order; empty for an unknown operator.
  std::vector<const FunctionSchema*> overloads(Symbol name) const;
  bool has(Symbol name) const;
  // Returns the overload with the full name "aten::add.Tensor"; null when there is none.
  const FunctionSchema* find_schema(std::string_view full_name) const;

  // Declares an operator by its schema: "pkg::op(Tensor x) -> Tensor".  Throws Error(kInput) for a malformed
  // schema.
  const FunctionSchema* declare(std::string_view schema, const ResolveClass& resolve);

 private:
  std::unordered_map<Symbol, std::vector<std::unique_ptr<FunctionSchema>>> declared_;
};

// Returns the registered overloads, which live as long as the process.
const std::vector<const FunctionSchema*>& registered_overloads(Symbol name);

}  // namespace fxtrace::internal::torchscript
