#include "fxtrace/reports.h"

#include <algorithm>
#include <ostream>
#include <variant>

#include "api/public_parts.h"
#include "compare/merged_collection.h"
#include "summaries/explanation.h"
#include "summaries/model_summary.h"
#include "support/error.h"
#include "writers/pictures/difference_marks.h"
#include "writers/pictures/html_writer.h"
#include "writers/reports/comparison_writers.h"
#include "writers/reports/explanation_writers.h"
#include "writers/reports/inspection_writers.h"
#include "writers/reports/order_writers.h"
#include "writers/reports/summary_writers.h"

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
                    .activation_bytes = size_of(row.activation_bytes),
                    .is_partial = row.is_partial()});
  }
  return rows;
}
std::int64_t Summary::parameters() const { return data_->parameters.elements; }
std::int64_t Summary::parameter_bytes() const { return data_->parameters.bytes; }
std::optional<Size> Summary::macs() const { return size_of(data_->macs); }
std::optional<Size> Summary::activation_bytes() const { return size_of(data_->activation_bytes); }
std::optional<Size> Summary::peak_bytes() const { return size_of(data_->peak_bytes); }

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

}  // namespace fxtrace
