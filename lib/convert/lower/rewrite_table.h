// Tables of rewrites: a row is a function, or two texts (graph/text_rewrite.h).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "convert/lower/body.h"
#include "graph/text_rewrite.h"

namespace fxtrace {

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

}  // namespace fxtrace
