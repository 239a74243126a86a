// Records values of the code as nodes of the graph: converts values to arguments, records calls, and
// describes values in words.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "torchscript/context.h"
#include "torchscript/frames.h"
#include "trace/guard_expression.h"

namespace fxtrace::torchscript {

class Recording {
 public:
  using Arguments = std::pair<std::vector<Argument>, Kwargs>;

  Recording(Context& context, Frames& frames) : context_(context), frames_(frames) {}

  // Returns the proxy that `value` is, when it stands for a recorded node; else null.
  const Proxy* find_recorded(const Value& value) const;
  // Returns the extent of the value; throws TraceFailure when it holds too much to walk through.
  Extent measure(const Value& value, const IrNode* node);

  // When nothing is recorded, arguments are None and calls return proxies without nodes.
  Argument argument(const Value& value, const IrNode* node, NumberMeaning meaning = NumberMeaning::kNumber);
  // Returns positional and keyword-only arguments, without those at their defaults.  `meaning` gives the
  // meaning of integers.
  Arguments arguments(const FunctionSchema& schema, const Values& values, std::size_t first,
                      const IrNode* node, const std::function<NumberMeaning(std::size_t)>& meaning = nullptr);
  // Returns the arguments of a call of a function or method that has code.
  Arguments call_arguments(Function& function, const Values& values, std::size_t first, const IrNode* node);
  // Throws TraceFailure when an integer is passed for a dtype, layout or memory format and represents none.
  void check_numbers(const FunctionSchema& schema, const Values& values, const IrNode* node) const;

  Value call(std::string target, std::vector<Argument> args, const TypePtr& type, const IrNode* node,
             AbstractValue known = {}, Kwargs kwargs = {});
  Value apply(std::string target, const Values& operands, const TypePtr& type, const IrNode* node,
              AbstractValue known = {});
  // Returns the result of a recorded node; None when its type is None.
  Value result(NodeId node, const TypePtr& type, AbstractValue known = {}) const;

  std::string describe(const Value& value) const;  // for messages
  std::string what_decides(const Value& value) const;
  // For guards; see guard_expression().
  Expression condition_of(const Value& value, bool* over_inputs = nullptr) const;

 private:
  Argument argument_part(const Value& value, const IrNode* node, NumberMeaning meaning);
  Argument number(std::int64_t number, NumberMeaning meaning, const IrNode* node) const;
  bool is_default(const script::Constant& literal, const Value& value, const Argument& given,
                  NumberMeaning meaning, const IrNode* node);

  Context& context_;
  Frames& frames_;
  mutable std::size_t guards_length_ = 0;  // characters of all conditions so far
};

}  // namespace fxtrace::torchscript
