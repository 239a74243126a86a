// Rewrites as texts: the call that a rewrite looks for, and what stands for its result.
//
//     before   aten: add.Tensor add.Scalar(aten.neg(x), n=number, alpha=1)
//     after    aten.sub.Tensor(n, x)
//
// Both are expressions of Python.  A name is a variable, and the same name stands for equal arguments; an
// operator without an overload has the overload `default`.
//
// In `before`, the outermost call may have several targets.  A parameter is given at its place, or under the
// name of the variable (`from_` is `from`).  A variable alone stands for any argument, also one that is left
// out; `n=number` for one that is of that type; `alpha=1` for one that is equal or left out; a call for the
// result of such a call.  `_` behind the others takes all further arguments.  Keyword arguments without a
// name here do not matter.
//
// In `after`, steps are separated by semicolons: "y = operator.neg(x); operator.mul(y, y)".  Arguments at the
// end that were left out are left out there, too; dtype('int64') is a dtype.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/node.h"

namespace fxtrace::internal {

using TextVariables = std::map<std::string, Argument, std::less<>>;

// What a pattern asks of a graph.
struct TextLookup {
  std::function<const Node&(NodeId)> node;
  std::function<bool(const Argument&, const std::string& type)> is_of;
};

class TextPattern {
 public:
  explicit TextPattern(std::string_view before);  // throws std::logic_error for what is no such text
  const std::vector<std::string>& targets() const { return targets_; }
  // Returns the variables if the call fits.
  std::optional<TextVariables> match(std::string_view target, const std::vector<Argument>& args,
                                     const Kwargs& kwargs, const TextLookup& lookup) const;

 private:
  std::vector<std::string> targets_;
  Expression call_;
};

class TextReplacement {
 public:
  // Makes a call, or returns nothing if that is not possible.  `is_last`: the result stands for the whole.
  using Make = std::function<std::optional<Argument>(const std::string& target, std::vector<Argument> args,
                                                     Kwargs kwargs, bool is_last)>;

  explicit TextReplacement(std::string_view after);  // throws std::logic_error for what is no such text
  // Makes the calls in the order in which Python would, and returns the result.
  std::optional<Argument> make(TextVariables variables, const Make& make) const;

 private:
  std::vector<std::pair<std::string, Expression>> steps_;  // with the names of their results
};

struct TextRewrite {
  TextRewrite(std::string_view from, std::string_view to) : before(from), after(to) {}

  TextPattern before;
  TextReplacement after;
};

}  // namespace fxtrace::internal
