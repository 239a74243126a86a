// The inputs of the root's method: which remain as placeholders, and what the others are fixed to.
#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "trace/options.h"

namespace fxtrace {

// A value as the interpreter has it, and as an argument of a call that gets it: absent for a default.
struct BoundInput {
  at::IValue value;
  std::optional<Argument> argument;
};

class RootInputs {
 public:
  // Records what remains.  `formal` is the input when it remains as a whole.
  using MakePlaceholder = std::function<BoundInput(const std::string& name, const c10::TypePtr& type,
                                                   const c10::Argument* formal)>;
  // `expr` holds from now on: "flag == True".
  using Guard = std::function<void(const std::string& expr)>;

  RootInputs(const c10::FunctionSchema& schema, const TraceOptions& options, MakePlaceholder make_placeholder,
             Guard guard);

  // One for each formal argument behind self, in order.  Throws Error(kUsage) that lists the inputs: a name
  // that there is not, a value that does not fit its type, or an input that needs a value and has none.
  std::vector<BoundInput> bind();

 private:
  BoundInput present(const c10::TypePtr& type, const std::string& name, const std::string& expr);
  BoundInput bind_value(const Argument& value, const c10::TypePtr& type, const std::string& name,
                        const std::string& expr);
  BoundInput bind_list(const Argument::List& list, const c10::TypePtr& type, const std::string& name,
                       const std::string& expr);
  BoundInput bind_dict(const Argument::Dict& dict, const c10::TypePtr& type, const std::string& name,
                       const std::string& expr);
  BoundInput bind_tuple(const Argument& value, const c10::TypePtr& type, const std::string& name,
                        const std::string& expr);
  [[noreturn]] void fail(const std::string& what) const;
  void check_names() const;

  const c10::FunctionSchema& schema_;
  const TraceOptions& options_;
  MakePlaceholder make_placeholder_;
  Guard guard_;
};

}  // namespace fxtrace
