// What the code computes as nodes of the graph: values as arguments, calls, and values in words.
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

  // The proxy that `value` is, if it stands for a node of what is recorded.
  const Proxy* find_recorded(const Value& value) const;
  // Fails where there is more in the value than anybody could walk through.
  Extent measure(const Value& value, const IrNode* node);

  // Where nothing is recorded, arguments are None and calls give proxies without nodes.
  Argument argument(const Value& value, const IrNode* node, NumberMeaning meaning = NumberMeaning::kNumber);
  // Positional arguments and keyword-only ones, those at their defaults left out.  `meaning` tells what the
  // integers among them are.
  Arguments arguments(const FunctionSchema& schema, const Values& values, std::size_t first,
                      const IrNode* node, const std::function<NumberMeaning(std::size_t)>& meaning = nullptr);
  // Of a call of a function or method with code.
  Arguments call_arguments(Function& function, const Values& values, std::size_t first, const IrNode* node);
  // Fails where an integer that stands for a dtype, a layout or a memory format is none.
  void check_numbers(const FunctionSchema& schema, const Values& values, const IrNode* node) const;

  Value call(std::string target, std::vector<Argument> args, const TypePtr& type, const IrNode* node,
             AbstractValue known = {}, Kwargs kwargs = {});
  Value apply(std::string target, const Values& operands, const TypePtr& type, const IrNode* node,
              AbstractValue known = {});
  // What a node gives that was recorded; None where its type is that.
  Value result(NodeId node, const TypePtr& type, AbstractValue known = {}) const;

  std::string describe(const Value& value) const;  // for messages
  std::string what_decides(const Value& value) const;
  Expression condition_of(const Value& value) const;  // for guards

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
