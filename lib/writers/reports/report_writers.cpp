// The reports as JSON.
#include "writers/reports/report_writers.h"
#include "writers/formats/field_writer.h"
#include "writers/reports/inspection_fields.h"
#include "writers/reports/report_fields.h"

namespace fxtrace::internal {

void write_comparison_json(const ModelComparison& comparison, std::ostream& out) {
  write_report(comparison, "fxtrace.comparison", out);
}

void write_explanation_json(const Explanation& explanation, std::ostream& out) {
  write_report(explanation, "fxtrace.why", out);
}

void write_inspection_json(const Inspection& inspection, std::ostream& out) {
  write_fields(inspection, out, JsonLayout::kLines);
}

void write_file_json(const FileInspection& inspection, std::ostream& out) {
  write_fields(inspection, out, JsonLayout::kLines);
}

void write_order_json(const UseOrder& order, const FsdpPlan& plan, std::ostream& out) {
  write_report(OrderAnswer{order, plan}, "fxtrace.order", out);
}

void write_summary_json(const ModelSummary& summary, std::ostream& out) {
  write_report(summary, "fxtrace.summary", out);
}

}  // namespace fxtrace::internal
