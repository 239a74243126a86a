// The options of a trace that the library sets, besides those of its users (fxtrace/trace_options.h).
#pragma once

#include <string>
#include <vector>

#include "fxtrace/trace_options.h"

namespace fxtrace::internal {

using fxtrace::Argument;
using fxtrace::ConcreteArg;
using fxtrace::ControlFlow;
using fxtrace::Defaults;
using fxtrace::DimensionRange;
using fxtrace::Hooks;
using fxtrace::InputSpec;
using fxtrace::kConcretePlaceholder;
using fxtrace::LeafRule;
using fxtrace::Limits;
using fxtrace::Predicate;
using fxtrace::WrapRule;

// Classes and operators that libraries of custom operators register.
struct RegisteredOperators {
  struct Method {
    std::string class_name;  // "__torch__.torch.classes.pkg.Class"
    std::string schema;      // "method(__torch__.torch.classes.pkg.Class self, int n) -> int"
  };
  std::vector<std::string> schemas;  // "pkg::op(Tensor x) -> Tensor"; known operators may be among them
  std::vector<Method> methods;
};

struct TraceOptions : fxtrace::TraceOptions {
  // Functions of torch.nn.functional and torch.functional stay one call.
  bool default_wrap = true;
  // Dimensions of an exported program may be 0 or 1, though torch.export assumes 2 or more for all of them:
  // for costs and pictures.
  bool beyond_ranges = false;
  bool grad = true;                // the answer when the code asks whether gradients are enabled
  RegisteredOperators registered;  // registered by op_libraries; open_libraries() fills it
};

}  // namespace fxtrace::internal
