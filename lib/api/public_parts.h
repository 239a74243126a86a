// What the public classes hold, and the forms in which the library works with the values of users.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "archive/model_file.h"
#include "compare/comparison.h"
#include "fxtrace/collection.h"
#include "fxtrace/model.h"
#include "pipelines/answers/conversion.h"
#include "pipelines/answers/model_verification.h"
#include "pipelines/answers/questions.h"
#include "pipelines/read_model.h"
#include "rules/rule.h"
#include "summaries/use_order.h"
#include "verify/report.h"

namespace fxtrace::internal {

// A run in the process of the caller.
class LibraryRun : public Run {
 public:
  // Loads the libraries of operators.
  LibraryRun(Config& config, const ModelFile& file, const Listener& listener) : Run(listener) {
    at_file(file, [&] { open_libraries(config.options, false, *this); });
  }
};

struct OrderOf {
  UseOrder order;
  FsdpPlan plan;
};

struct InspectionOf {
  std::variant<FileInspection, Inspection> found;
};

struct VerifiedReport {
  VerifiedModel verified;
  verify::Subject subject;
};

struct ComparedPair {
  Owner before, after;
  ModelComparison comparison;
};

struct ConvertedModel {
  ModelFile file;
  Conversion conversion;
};

struct RuleList {
  std::vector<Rule> rules;
};

// Returns the configuration for these options.  Throws Error(kUsage) for a wrong text in them.
Config config_of(const fxtrace::TraceOptions& options, std::vector<std::string> passes = {});

// Returns whether options differ from others: without them, a saved collection is no trace of its own.
bool are_given(const Config& config, const Config& others = {});

ExtractRequest request_of(const Part& part);
SummaryRequest request_of(const SummaryOptions& how);

// Returns the size as users see it.
Size size_of(const Expression& size);
Size size_of(const SymInt& size);
template <class T>
std::optional<Size> size_of(const std::optional<T>& size) {
  return size ? std::optional(size_of(*size)) : std::nullopt;
}

// Throws the Error(kUsage) that the report has no such form.
[[noreturn]] void fail_for_format(const char* report);

Summary summary_of(ModelSummary summary);
Order order_of(const GraphCollection& collection);

}  // namespace fxtrace::internal
