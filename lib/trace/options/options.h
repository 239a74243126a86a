// The options of a trace, with what the library sets, as a configuration and as JSON; and the budget of a
// trace.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fxtrace/trace_options.h"

namespace fxtrace::internal {

// The options of a trace that the library sets, besides those of its users (fxtrace/trace_options.h).

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

// Configuration: trace options as JSON, in the files that --config reads and the `options` of a collection.
// trace/options/option_table.h lists the options; schemas/config.schema.json describes them to other
// programs, and a test compares the two.

struct Config {
  TraceOptions options = {};
  bool strict = false;
  std::vector<std::string> passes = {};  // passes to run on the collection afterwards
};

// Merges a configuration into `config`: single values replace earlier ones; rules, libraries and schemas are
// appended.  `file` is used in messages, and relative names of libraries start from its folder.  Throws
// Error(kUsage, at "FILE:LINE:COLUMN") for text that is not JSON, does not fit the schema, has a wrong glob,
// or is nested too deeply.
void read_config(std::string_view text, const std::string& file, Config& config);

// Parses the VALUE of --concrete NAME=VALUE, which is JSON.  `what` names it in messages.  Throws
// Error(kUsage).
Argument parse_concrete(std::string_view text, const std::string& what);

// The inverse of read_config(): returns, on one line, the options that differ from the defaults.  Libraries
// are given by base name only, so that the text is the same on every machine.
std::string options_json(const Config& config);

// Budget of a trace: a bound on the work and memory that running a file's code may take.

// The units that traces have spent.  Those that are given the same one share a budget; null: each has its
// own.
using SpentUnits = std::shared_ptr<std::int64_t>;

class Budget {
 public:
  // Makes the budget for a file of that many bytes.
  Budget(const Limits& limits, std::uint64_t file_size, SpentUnits spent = nullptr);

  // Spends units: one is a step of the interpreter, or 16 bytes that it keeps.  Throws Error(kInput) when the
  // budget is used up.
  void spend(std::size_t units) {
    *spent_ += static_cast<std::int64_t>(std::min<std::size_t>(units, INT32_MAX));
    if (*spent_ > units_) run_out();
  }

 private:
  [[noreturn]] void run_out() const;

  std::int64_t units_;
  SpentUnits spent_;  // never null
};

}  // namespace fxtrace::internal
