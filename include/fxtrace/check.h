// Checks of models against rules: `fxtrace check`.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fxtrace/listener.h"
#include "fxtrace/model.h"
#include "fxtrace/trace_options.h"
#include "fxtrace/values.h"

namespace fxtrace {

namespace internal {
struct Rule;
struct RuleList;
struct CheckReports;
}  // namespace internal

class CheckReport;

// The conditions that a model must meet; docs/how-to/check.md describes each.
//
//   check(model, Rules().max_parameters(25'000'000).deny("aten.item.*").security())
class Rules {
 public:
  // All throw Error(kUsage) for a wrong text, and for two different rules of one name.
  Rules& no_failed();                          // no module fails to trace
  Rules& max_parameters(std::int64_t most);    // elements
  Rules& max_macs(std::int64_t most);          // whatever sizes the dimensions have
  Rules& max_activations(std::int64_t bytes);  // of all results together
  Rules& max_peak(std::int64_t bytes);         // of the results that live at a time
  Rules& deny(const std::string& glob);        // over operators, and types of modules
  Rules& require(const std::string& text);     // "torch.nn.Linear followed-by *.relu*"
  Rules& operators(const std::string& globs);  // no others than these, one a line
  Rules& backend(const std::string& set);      // a set that comes with fxtrace takes every operator
  Rules& backend(const std::string& name, const std::string& set);  // or one of schemas/ops.schema.json
  Rules& program();   // the file of an exported program is valid
  Rules& content();   // the bytes of the file match its checksums
  Rules& security();  // nothing in the file makes a reader run code, write files or use unlimited memory
  Rules& rules(const std::string& name);  // those of a file that comes with fxtrace: "quantization"
  Rules& json(const std::string& text, const std::string& name = "rules");  // schemas/check_rules.schema.json

  Rules();
  ~Rules();
  Rules(const Rules& other);
  Rules& operator=(const Rules& other);

 private:
  friend CheckReport check(const Model& model, const Rules& rules, const TraceOptions& options,
                           const Listener& listener);
  Rules& add(internal::Rule rule);

  std::unique_ptr<internal::RuleList> list_;
};

class CheckReport {
 public:
  struct Place {
    std::optional<std::string> module, node;  // absent for the file itself
    std::string record;                       // of the archive
  };
  struct Offence {
    std::string rule;  // the name of the rule
    std::string id;  // of rules of its kind, or the author's own: "deny-operator"; the same in every version
    bool is_warning = false;
    bool is_undecided = false;  // it is not known whether the rule holds
    std::string message;
    std::string subject;  // an operator, a type, a function; empty for the whole model
    std::optional<SourceLocation> source;
    std::vector<Place> places;  // empty for the whole model
  };
  bool holds() const;  // no rule is broken, apart from warnings
  std::vector<Offence> offences() const;

  enum class Format { kText, kMarkdown, kJson, kJunit, kSarif };
  void write(std::ostream& out, Format format = Format::kText) const;

  explicit CheckReport(std::shared_ptr<const internal::CheckReports> data) : data_(std::move(data)) {}

 private:
  std::shared_ptr<const internal::CheckReports> data_;
};

// Throws Error: kUsage for rules that do not apply to the file, kInput for what is wrong with the file unless
// only rules about the file are checked, for which that is an offence.
// Without rules nothing is checked.
CheckReport check(const Model& model, const Rules& rules, const TraceOptions& options = {},
                  const Listener& listener = {});

}  // namespace fxtrace
