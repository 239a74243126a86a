#include <algorithm>
#include <ostream>
#include <variant>

#include "api/public_parts.h"
#include "compare/comparison.h"
#include "fxtrace/check.h"
#include "fxtrace/reports.h"
#include "partition/operator_set.h"
#include "pipelines/answers/model_check.h"
#include "pipelines/configs.h"
#include "rules/rule.h"
#include "summaries/explanation.h"
#include "summaries/model_summary.h"
#include "support/error.h"
#include "support/text/did_you_mean.h"
#include "support/text/words.h"
#include "writers/check/check_writers.h"
#include "writers/pictures/html_writer.h"
#include "writers/pictures/marks.h"
#include "writers/reports/report_writers.h"

namespace fxtrace {

namespace internal {

void fail_for_format(const char* report) {
  throw usage_error(std::string("this format is none of ") + report);
}

Summary summary_of(ModelSummary summary) {
  return Summary(std::make_shared<const ModelSummary>(std::move(summary)));
}

Order order_of(const GraphCollection& collection) {
  OrderOf order{order_of_use(collection), {}};
  order.plan = plan_fsdp(collection, order.order);
  return Order(std::make_shared<const OrderOf>(std::move(order)));
}

}  // namespace internal

using internal::size_of;

// --- Summary ---

std::vector<Summary::Row> Summary::rows() const {
  std::vector<Row> rows;
  for (const internal::SummaryRow& row : data_->rows) {
    rows.push_back({.path = row.path,
                    .type = row.type,
                    .depth = static_cast<std::int64_t>(row.depth),
                    .calls = row.calls,
                    .parameters = row.parameters.elements,
                    .parameter_bytes = row.parameters.bytes,
                    .macs = size_of(row.macs),
                    .flops = size_of(row.flops),
                    .activation_bytes = size_of(row.activation_bytes),
                    .weights_read = size_of(row.weights_read),
                    .kv_cache_bytes = size_of(row.kv_cache),
                    .arithmetic_intensity = arithmetic_intensity(row, {}),
                    .quantization = row.quantization,
                    .least = row.least,
                    .is_partial = row.is_partial()});
  }
  return rows;
}
std::int64_t Summary::parameters() const { return data_->parameters.elements; }
std::int64_t Summary::parameter_bytes() const { return data_->parameters.bytes; }
std::optional<Size> Summary::macs() const { return size_of(data_->macs); }
std::optional<Size> Summary::flops() const { return size_of(data_->flops); }
std::optional<Size> Summary::activation_bytes() const { return size_of(data_->activation_bytes); }
std::optional<Size> Summary::peak_bytes() const { return size_of(data_->peak_bytes); }
const std::optional<DeviceFit>& Summary::fit() const { return data_->fit; }
const std::optional<MemoryTimeline>& Summary::memory() const { return data_->memory; }
const std::string& Summary::memory_sizes() const { return data_->memory_sizes; }

void Summary::write(std::ostream& out, ReportFormat format) const {
  switch (format) {
    case ReportFormat::kText:
    case ReportFormat::kMarkdown: {
      internal::ModelSummary folded = *data_;
      fold_repeats(folded);
      return write_summary(folded, out, {.is_markdown = format == ReportFormat::kMarkdown});
    }
    case ReportFormat::kJson:
      return write_summary_json(*data_, out);
    case ReportFormat::kCsv:
      return write_summary_csv(*data_, out);
  }
  internal::fail_for_format("a summary");
}

void Summary::write_perfetto(std::ostream& out) const {
  if (!data_->memory)
    throw internal::usage_error("the summary has no memory: it was made without SummaryOptions::memory");
  write_memory_trace(*data_, out);
}

// --- Order ---

std::vector<Order::Use> Order::modules() const {
  std::vector<Use> uses;
  for (const internal::UseOrder::Module& module : data_->order.modules)
    uses.push_back({module.path, module.parameters.bytes,
                    module.calls.empty() ? 0 : module.calls.front().call,
                    static_cast<std::int64_t>(module.calls.size())});
  return uses;
}
std::vector<Order::Use> Order::parameters() const {
  std::vector<Use> uses;
  for (const internal::UseOrder::Parameter& parameter : data_->order.parameters)
    uses.push_back({parameter.name, parameter.bytes,
                    parameter.uses.empty() ? 0 : parameter.uses.front().place.call, parameter.use_count});
  return uses;
}
std::vector<std::string> Order::unused_parameters() const {
  std::vector<std::string> names;
  for (const internal::UseOrder::Parameter& parameter : data_->order.unused) names.push_back(parameter.name);
  return names;
}

void Order::write(std::ostream& out, ReportFormat format) const {
  if (format == ReportFormat::kText) return write_order_text(data_->order, out, {});
  if (format == ReportFormat::kJson) return write_order_json(data_->order, data_->plan, out);
  if (format == ReportFormat::kCsv) return write_order_csv(data_->order, out);
  internal::fail_for_format("an order");
}
void Order::write_fsdp2(std::ostream& out) const { write_order_python(data_->order, data_->plan, out); }

// --- Inspection ---

namespace {

// Calls f for what was found: the inspection of a traced program or of a file.
template <class F>
auto with_found(const internal::InspectionOf& of, F&& f) {
  return std::visit(f, of.found);
}

std::vector<std::string> names_of(const std::vector<internal::CompiledModel>& models) {
  std::vector<std::string> names;
  for (const internal::CompiledModel& model : models) names.push_back(model.name);
  return names;
}

}  // namespace

const std::string& Inspection::description() const {
  return std::visit([](const auto& found) -> const std::string& { return found.file.what; }, data_->found);
}
const char* Inspection::kind() const {
  return with_found(*data_, [](const auto& found) { return internal::to_string(found.file.kind); });
}
std::vector<std::string> Inspection::programs() const {
  const auto* file = std::get_if<internal::FileInspection>(&data_->found);
  return file == nullptr ? std::vector<std::string>() : file->to_choose_from;
}
std::vector<std::string> Inspection::methods() const {
  std::vector<std::string> names;
  if (const auto* model = std::get_if<internal::Inspection>(&data_->found)) {
    for (const internal::MethodInfo& method : model->methods) names.push_back(method.name);
  }
  return names;
}
std::string Inspection::producer() const {
  const auto* model = std::get_if<internal::Inspection>(&data_->found);
  return model == nullptr ? "" : model->producer;
}
std::vector<std::string> Inspection::compiled() const {
  return with_found(*data_, [](const auto& found) { return names_of(found.compiled); });
}

void Inspection::write(std::ostream& out, ReportFormat format) const {
  if (format != ReportFormat::kText && format != ReportFormat::kJson)
    internal::fail_for_format("an inspection");
  const bool is_json = format == ReportFormat::kJson;
  if (const auto* model = std::get_if<internal::Inspection>(&data_->found))
    return is_json ? write_inspection_json(*model, out) : write_inspection_text(*model, out);
  const auto& file = std::get<internal::FileInspection>(data_->found);
  return is_json ? write_file_json(file, out) : write_file_text(file, out);
}

// --- Explanation ---

std::vector<Explanation::FailedModule> Explanation::failures() const {
  std::vector<FailedModule> failures;
  for (const internal::FailureGroup& group : data_->failures)
    failures.push_back({group.paths, group.type, group.failure});
  return failures;
}
std::vector<std::string> Explanation::best_options() const {
  return data_->suggestions && data_->suggestions->best ? data_->suggestions->best->options
                                                        : std::vector<std::string>();
}

void Explanation::write(std::ostream& out, ReportFormat format) const {
  if (format == ReportFormat::kText) return write_explanation_text(*data_, out);
  if (format == ReportFormat::kJson) return write_explanation_json(*data_, out);
  internal::fail_for_format("an explanation");
}

// --- BillOfMaterials ---

void BillOfMaterials::write(std::ostream& out, Format format) const {
  format == Format::kSpdx ? internal::write_bom_spdx(materials, out)
                          : internal::write_bom_cyclonedx(materials, out);
}

// --- Verification ---

bool Verification::is_equal() const {
  return data_->verified.verification.verdict() == internal::verify::Verdict::kEqual;
}
std::string Verification::verdict() const { return to_string(data_->verified.verification.verdict()); }
std::int64_t Verification::runs() const { return data_->verified.verification.runs; }
std::optional<std::string> Verification::difference() const {
  const auto& fault = data_->verified.verification.fault;
  return fault ? std::optional(fault->what) : std::nullopt;
}
std::optional<std::string> Verification::different_node() const {
  const auto& fault = data_->verified.verification.fault;
  return fault && !fault->node.empty() ? std::optional(fault->node) : std::nullopt;
}

void Verification::write(std::ostream& out, ReportFormat format) const {
  if (format == ReportFormat::kText) return write_text(data_->verified.verification, data_->subject, out, {});
  if (format == ReportFormat::kJson) return write_json(data_->verified.verification, data_->subject, out);
  internal::fail_for_format("a verification");
}

// --- Comparison ---

bool Comparison::is_equal() const { return data_->comparison.is_equal(); }
std::int64_t Comparison::count(const std::string& kind) const {
  return data_->comparison.count(internal::difference_kind(kind));
}
std::vector<Comparison::Difference> Comparison::differences() const {
  std::vector<Difference> all;
  for (const internal::ModuleDifferences& module : data_->comparison.modules) {
    for (const internal::Difference& one : module.differences) {
      all.push_back({to_string(one.kind), to_string(one.change), module.path, one.subject, one.field,
                     one.before, one.after, one.source});
    }
  }
  return all;
}

void Comparison::write(std::ostream& out, ReportFormat format) const {
  if (format == ReportFormat::kJson) return write_comparison_json(data_->comparison, out);
  if (format == ReportFormat::kCsv) internal::fail_for_format("a comparison");
  internal::ModelComparison folded = data_->comparison;
  leave_out(folded, internal::DifferenceKind::kWeights);
  fold_equal_modules(folded);
  write_comparison(folded, out, {.is_markdown = format == ReportFormat::kMarkdown});
}

void Comparison::write_html(std::ostream& out) const {
  const internal::MergedCollection merged =
      merge(*data_->before, *data_->after,
            compare(*data_->before, *data_->after, {.kinds = internal::DifferenceKinds::all()}),
            data_->comparison.told);
  internal::write_html(merged.collection, out, {}, mark_differences(merged));
}

Rules::Rules() : list_(std::make_unique<internal::RuleList>()) {}
Rules::~Rules() = default;
Rules::Rules(const Rules& other) : list_(std::make_unique<internal::RuleList>(*other.list_)) {}
Rules& Rules::operator=(const Rules& other) {
  if (this != &other) *list_ = *other.list_;
  return *this;
}

Rules& Rules::add(internal::Rule rule) {
  add_rule(list_->rules, std::move(rule));
  return *this;
}

Rules& Rules::no_failed() { return add(internal::no_failed_rule()); }
Rules& Rules::max_parameters(std::int64_t most) {
  return add(internal::limit_rule(internal::RuleKind::kMaxParameters, most));
}
Rules& Rules::max_macs(std::int64_t most) {
  return add(internal::limit_rule(internal::RuleKind::kMaxMacs, most));
}
Rules& Rules::max_activations(std::int64_t bytes) {
  return add(internal::limit_rule(internal::RuleKind::kMaxActivations, bytes));
}
Rules& Rules::max_peak(std::int64_t bytes) {
  return add(internal::limit_rule(internal::RuleKind::kMaxPeak, bytes));
}
Rules& Rules::deny(const std::string& glob) { return add(internal::deny_rule(glob)); }
Rules& Rules::require(const std::string& text) { return add(internal::require_rule(text)); }
Rules& Rules::operators(const std::string& globs) { return add(internal::ops_rule(globs, "operators")); }
Rules& Rules::backend(const std::string& set) {
  if (internal::find_shipped_set(set) == nullptr) throw internal::no_such_set(set);
  return add(internal::backend_rule(set, ""));
}
Rules& Rules::backend(const std::string& name, const std::string& set) {
  internal::Rule rule = internal::backend_rule(name, set);
  static_cast<void>(set_of(rule));  // a wrong one is told here
  return add(std::move(rule));
}
Rules& Rules::program() {
  for (internal::Rule& rule : internal::program_rules()) add(std::move(rule));
  return *this;
}
Rules& Rules::content() { return add(internal::content_rule()); }
Rules& Rules::security() {
  for (internal::Rule& rule : internal::security_rules()) add(std::move(rule));
  return *this;
}
Rules& Rules::rules(const std::string& name) {
  if (add_shipped_rules(name, list_->rules)) return *this;
  throw internal::usage_error(
      "no rules " + internal::shell_quoted(name) + " come with fxtrace",
      {"those that do: " + internal::joined(internal::shipped_rules(), &internal::ShippedRules::name)});
}
Rules& Rules::json(const std::string& text, const std::string& name) {
  const auto no_files = [](const std::string& file) -> std::string {
    throw internal::usage_error("rules that are not in a file cannot name files").at(file);
  };
  read_rules(text, name, no_files, internal::check_set, list_->rules);
  return *this;
}

bool CheckReport::holds() const { return data_->holds(); }

std::vector<CheckReport::Offence> CheckReport::offences() const {
  std::vector<Offence> offences;
  for (const internal::CheckReport& report : data_->models) {
    for (const internal::Offence& each : report.offences) {
      const internal::Rule& rule = report.rules[each.rule];
      Offence& offence = offences.emplace_back();
      offence.rule = rule.name;
      offence.id = rule.id;
      offence.is_warning = rule.severity == internal::Severity::kWarning;
      offence.is_undecided = each.is_undecided;
      offence.message = each.message;
      offence.subject = each.subject;
      offence.source = each.source;
      for (const internal::OffencePlace& place : each.places)
        offence.places.push_back({place.module, place.node, place.record});
    }
  }
  return offences;
}

void CheckReport::write(std::ostream& out, Format format) const {
  switch (format) {
    case Format::kText:
      return write_check(*data_, out, {});
    case Format::kMarkdown:
      return write_check(*data_, out, {.is_markdown = true});
    case Format::kJson:
      return write_check_json(*data_, out);
    case Format::kJunit:
      return write_check_junit(*data_, out);
    case Format::kSarif:
      return write_check_sarif(*data_, out);
  }
  internal::fail_for_format("a check");
}

CheckReport check(const Model& model, const Rules& rules, const TraceOptions& options,
                  const Listener& listener) {
  internal::Config config = internal::config_of(options);
  internal::LibraryRun run(config, model.file(), listener);
  internal::CheckRequest request;
  request.rules = rules.list_->rules;
  request.has_trace_options = are_given(config);
  internal::CheckReports reports{{check_model(config, std::move(request), model.file(), run)}, {}};
  refuse_unknown_names(reports);
  return CheckReport(std::make_shared<const internal::CheckReports>(std::move(reports)));
}

}  // namespace fxtrace
