// Operators on plain values: numbers, strings, lists, dicts and tuples that hold neither tensors nor objects.
// They are carried out by LibTorch, while tracing and, on constants, by LibTorch itself while it compiles
// code. Its implementations take arguments for granted that an archive may choose: they divide by zero, look
// for empty patterns for ever, sort what has no order and make strings of any length.
#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "graph/graph_collection.h"
#include "operators/operators.h"

namespace fxtrace {

// Largest list (elements), string (characters), or value with all that is inside.
inline constexpr std::size_t kMaxPlainSize = std::size_t{1} << 22;

// Whether one of its results is a tensor or holds one.
bool makes_tensor(const c10::FunctionSchema& schema);

// Whether the interpreter carries the operator out with these arguments; else it records it.  `traits` are
// those of the table; `all_plain`: the arguments are plain values.
bool is_carried_out(const c10::FunctionSchema& schema, Traits traits, c10::ArrayRef<at::IValue> arguments,
                    bool all_plain);

struct Refusal {
  FailureKind kind = FailureKind::kRaised;
  std::string why;
};

// Why LibTorch's operator must not be called with these arguments, which are those of one of its overloads.
// `name` as "aten::floordiv", with the traits of the table.
std::optional<Refusal> find_refusal(std::string_view name, Traits traits,
                                    c10::ArrayRef<at::IValue> arguments);
// The same for what it gave: a value that is too large to be kept.
std::optional<Refusal> find_refusal(const at::IValue& result);

// Elements of a list or dict, text at 16 characters for one; 0 for other values.
std::size_t length_of(const at::IValue& value);
// What a call costs at most, in units of a Budget.
std::size_t cost_of(std::string_view name, c10::ArrayRef<at::IValue> arguments);

// From now on LibTorch itself carries out, on constants, operators that traits::kPlain allows, with arguments
// that find_refusal() does, and nothing else: not what an archive names, not what a library has registered.
void guard_operators();

// While it stands: all that LibTorch makes of constants together is limited.
class FoldingLimit {
 public:
  FoldingLimit();
  ~FoldingLimit();
  FoldingLimit(const FoldingLimit&) = delete;
  FoldingLimit& operator=(const FoldingLimit&) = delete;
};

}  // namespace fxtrace
