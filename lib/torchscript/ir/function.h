// A function, a method or a hook: its name, its schema, and its graph, which is compiled on demand.  Its
// owner, the program, outlives all references to it.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "torchscript/language/function_schema.h"

namespace fxtrace::internal::torchscript {

class IrGraph;
class Function;

// Compiles a function's code on demand.
class FunctionCode {
 public:
  virtual ~FunctionCode() = default;
  virtual FunctionSchema make_schema(Function& function) = 0;
  virtual std::unique_ptr<IrGraph> compile(Function& function) = 0;
};

class Function {
 public:
  // A function compiled from `code`; the other constructor makes one that has only a schema.
  Function(std::string qualified_name, std::shared_ptr<FunctionCode> code);
  Function(std::string qualified_name, FunctionSchema schema);
  ~Function();
  Function(const Function&) = delete;
  Function& operator=(const Function&) = delete;

  const std::string& qualified_name() const { return qualified_name_; }  // "__torch__.Net.forward"
  std::string_view name() const;                                         // "forward"
  bool has_code() const { return code_ != nullptr; }

  // Both are computed on first use, and throw Error(kInput) when the code cannot be compiled.
  const FunctionSchema& schema() const;
  IrGraph& graph() const;

 private:
  std::string qualified_name_;
  std::shared_ptr<FunctionCode> code_;
  mutable std::optional<FunctionSchema> schema_;
  mutable std::unique_ptr<IrGraph> graph_;
  mutable std::exception_ptr failure_;  // thrown by compile()
  mutable bool is_working_ = false;     // while the graph is compiled; detects recursive functions
};

}  // namespace fxtrace::internal::torchscript
