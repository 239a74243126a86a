// The reports as JSON.
#include "writers/formats/json_parts.h"
#include "writers/reports/comparison_fields.h"
#include "writers/reports/comparison_writers.h"
#include "writers/reports/explanation_fields.h"
#include "writers/reports/explanation_writers.h"
#include "writers/reports/inspection_fields.h"
#include "writers/reports/inspection_writers.h"
#include "writers/reports/order_fields.h"
#include "writers/reports/order_writers.h"
#include "writers/reports/summary_fields.h"
#include "writers/reports/summary_writers.h"

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
