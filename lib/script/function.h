// A function, a method or a hook.  Its owner (the program's code) outlives it and whatever refers to it.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "script/function_schema.h"

namespace fxtrace::script {

class IrGraph;
class Function;

// Knows a function's code.
class FunctionCode {
 public:
  virtual ~FunctionCode() = default;
  virtual FunctionSchema make_schema(Function& function) = 0;
  virtual std::unique_ptr<IrGraph> compile(Function& function) = 0;
};

class Function {
 public:
  // `code` may be null: then the function has its schema and nothing else.
  Function(std::string qualified_name, std::shared_ptr<FunctionCode> code);
  Function(std::string qualified_name, FunctionSchema schema);
  ~Function();
  Function(const Function&) = delete;
  Function& operator=(const Function&) = delete;

  const std::string& qualified_name() const { return qualified_name_; }  // "__torch__.Net.forward"
  std::string_view name() const;                                         // "forward"
  bool has_code() const { return code_ != nullptr; }

  // Both are made when they are first asked for, and throw Error(kInput) when the code cannot be read.
  const FunctionSchema& schema() const;
  IrGraph& graph() const;

 private:
  std::string qualified_name_;
  std::shared_ptr<FunctionCode> code_;
  mutable std::optional<FunctionSchema> schema_;
  mutable std::unique_ptr<IrGraph> graph_;
  mutable std::exception_ptr failure_;  // of compile()
  mutable bool is_working_ = false;     // on either, for functions that call themselves
};

}  // namespace fxtrace::script
