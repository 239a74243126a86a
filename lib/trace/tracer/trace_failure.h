// Exceptions that a front end throws when a forward cannot be followed, or must be run again.
#pragma once

#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph_collection.h"

namespace fxtrace::internal {

// Thrown by a front end when the forward that runs cannot be followed.  Caught at the innermost module call,
// which then becomes a leaf; never seen by users.
class TraceFailure : public std::exception {
 public:
  explicit TraceFailure(Failure f) : failure(std::move(f)) {}
  const char* what() const noexcept override { return failure.message.c_str(); }
  Failure failure;
};

// An input of a graph that is fixed because control flow asks for its value.
struct FixedInput {
  std::string name;
  std::string value;  // as Python writes it
  bool is_default = true;
  bool takes_spec = false;     // a SPEC of --input can describe it: a tensor or an integer
  bool may_be_tensor = false;  // it is None now, and a given value would be or hold a tensor
  bool is_given = false;  // not fixed, but assumed not to be None, because no input would be left otherwise
};

// Thrown by a front end when control flow asks for the values of inputs that have defaults: the recorded
// graph is void, and is traced again with these inputs fixed.  Passes through module calls.
class InputsAsked : public std::exception {
 public:
  explicit InputsAsked(std::vector<FixedInput> asked) : inputs(std::move(asked)) {}
  const char* what() const noexcept override { return "the values of inputs are asked for"; }
  std::vector<FixedInput> inputs;
};

// Thrown by a front end that knows more now than when the run began: the recorded graph is void, and is
// traced again.  Passes through module calls.
class TraceAgain : public std::exception {
 public:
  const char* what() const noexcept override { return "the graph is traced again"; }
};

}  // namespace fxtrace::internal
