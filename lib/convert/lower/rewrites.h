// Rewrites of calls that have another form in torch.export: Python functions, and operators that only
// TorchScript has.  A row of a table is a function, or two texts (graph/text_rewrite.h).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "convert/lower/body.h"
#include "graph/text_rewrite.h"

namespace fxtrace::internal {

using Result = std::optional<Argument>;

// A rewrite: returns the operand that stands for the result of the call.  Returns nothing if the next row has
// to try, or if a program cannot express the call, which then was refused, or lower() refuses it.
using Rewrite = Result (*)(const LoweredCall& call, Body& body);

// Makes a call of a text in the place of `call`.
using MakeCall = Result (*)(const LoweredCall& call, Body& body, const std::string& target,
                            std::vector<Argument> args, Kwargs kwargs, bool is_last);

struct RewriteRow {
  constexpr RewriteRow(std::string_view targets, Rewrite rewrite) : before(targets), function(rewrite) {}
  constexpr RewriteRow(std::string_view from, std::string_view to) : before(from), after(to) {}

  std::string_view before;  // of a function only the targets
  std::string_view after = {};
  Rewrite function = nullptr;
};

class RewriteTable {
 public:
  RewriteTable(std::span<const RewriteRow> rows, MakeCall make);

  bool has(std::string_view target) const { return by_target_.contains(std::string(target)); }
  // Returns what the first row gives that fits the call and gives something.
  Result apply(std::string_view target, const LoweredCall& call, Body& body) const;

 private:
  struct Compiled {
    Rewrite function;
    TextRewrite text;
  };
  MakeCall make_;
  std::vector<Compiled> rows_;
  std::unordered_map<std::string, std::vector<std::size_t>> by_target_;  // places in rows_
};

// The MakeCall for operators: adds the operation, whose result has the metadata of the node if it is the last
// one, else what its shape rule tells.  Refuses the node if that is too little.
Result make_operation(const LoweredCall& call, Body& body, const std::string& target,
                      std::vector<Argument> args, Kwargs kwargs, bool is_last);

// Makes the operations of a text; `is_result`: the last one gives the result of the call.
Result make_operations(std::string_view text, const TextVariables& variables, const LoweredCall& call,
                       Body& body, bool is_result);

// Returns the rewrites of Python functions and of operators that only TorchScript has.
const RewriteTable& plain_rewrites();

// --- calls on lists, tuples and dicts (container_calls.cpp) ---
// A program has no containers: each is an Argument whose items are known, so what reads or changes one leaves
// no operation.

Result item_of_container(const LoweredCall& call, Body& body);  // operator.getitem
Result extended(const LoweredCall& call, Body& body);           // operator.iadd, which gives the list itself
Result with_item_set(const LoweredCall& call, Body& body);      // operator.setitem
Result with_item_deleted(const LoweredCall& call, Body& body);  // operator.delitem
Result is_in(const LoweredCall& call, Body& body);              // operator.contains

// Returns a + b of two lists or two tuples, or a list that is repeated; nothing for other operands.
Result joined_containers(const LoweredCall& call);

// Lowers list(x) and tuple(x), which have the items of a list or tuple, or the keys of a dict.
Result listed(const LoweredCall& call, Body& body, bool is_tuple);
template <class Kind>
Result listed(const LoweredCall& call, Body& body) {
  return listed(call, body, std::is_same_v<Kind, Argument::Tuple>);
}

}  // namespace fxtrace::internal
