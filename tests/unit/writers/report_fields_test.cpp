// The descriptions of the reports say what their schemas say.
#include "writers/reports/report_fields.h"
#include "catch.h"
#include "field_notes.h"
#include "partition/partition_writers.h"
#include "rules/check_reports.h"
#include "verify/report.h"
#include "writers/reports/inspection_fields.h"

using namespace fxtrace::internal;

namespace {

const Names kHeader{"format", "version", "producer"};

}  // namespace

// Each report has one of all records that there are.

TEST_CASE("report fields: check", "[report_fields]") {
  CheckReport report;
  report.rules.emplace_back();
  report.offences.emplace_back().places.emplace_back();
  report.offences.front().source.emplace();
  report.gone.emplace_back();
  const CheckReports reports{{report}, {{"m.pt", "it is cut off"}}};
  FieldSchema("check").check_document(together(fields_of_report(report), fields_of_report(reports)), kHeader);
}

TEST_CASE("report fields: diff", "[report_fields]") {
  ModelComparison comparison;
  comparison.modules.emplace_back().differences.emplace_back().source.emplace();
  FieldSchema("comparison").check_document(fields_of_report(comparison), kHeader);
}

TEST_CASE("report fields: why", "[report_fields]") {
  Explanation explanation;
  explanation.failures.emplace_back();
  Suggestions& suggestions = explanation.suggestions.emplace();
  suggestions.helpful.emplace_back();
  suggestions.best.emplace();
  suggestions.with_leaves.emplace();
  suggestions.operators.emplace_back();
  ModuleExplanation& module = explanation.explained.emplace_back();
  module.failure.emplace();
  module.places.emplace_back();
  module.call_sites.emplace_back();
  module.guards.emplace_back();
  explanation.guards.emplace_back();
  DimensionExplanation& dimension = explanation.dimension.emplace();
  dimension.inputs.emplace_back();
  dimension.made_by.emplace();
  dimension.guards = dimension.asserts = dimension.derived = dimension.questions = {{}};
  dimension.narrowed.emplace_back();
  FieldSchema("why").check_document(fields_of_report(explanation), kHeader);
}

TEST_CASE("report fields: inspect", "[report_fields]") {
  Inspection inspection;
  MethodInfo& method = inspection.methods.emplace_back();
  method.inputs.emplace_back();
  method.outputs.emplace_back();
  inspection.method = 0;
  inspection.loads_with.emplace();
  inspection.collection.modules.emplace_back();
  inspection.sizes.emplace_back();
  inspection.module_methods.emplace_back();
  inspection.collection.parameters.emplace_back().stored.emplace_back();
  inspection.constants.emplace_back();
  CompiledModel& compiled = inspection.compiled.emplace_back();
  compiled.constants.emplace_back();
  compiled.files.emplace_back();
  const FieldsOfRecord fields = together(fields_of_report(inspection), fields_of_report(FileInspection()));
  FieldSchema("inspection").check_document(fields, {});
}

TEST_CASE("report fields: order", "[report_fields]") {
  UseOrder order;
  order.graphs.emplace_back();
  UseOrder::Module& module = order.modules.emplace_back();
  module.calls.emplace_back();
  order.modules.push_back(module);
  order.modules.back().method = "encode";
  order.never_called.emplace_back();
  order.parameters.emplace_back().uses.emplace_back();
  order.unused.emplace_back();
  FsdpPlan plan;
  plan.forward = plan.backward = {{"a", "b"}};
  plan.left_out.emplace_back();
  const FieldsOfRecord without_buckets = fields_of_report(OrderAnswer{order, plan});
  order.buckets = {0, {{{0}, 0}}};
  const FieldsOfRecord fields = together(without_buckets, fields_of_report(OrderAnswer{order, plan}));
  FieldSchema("order").check_document(fields, kHeader);
}

TEST_CASE("report fields: summary", "[report_fields]") {
  ModelSummary summary;
  summary.inputs.emplace_back();
  summary.outputs.emplace_back();
  summary.failed.emplace_back();
  summary.rows.resize(2);
  summary.rows[0].outputs.emplace().emplace_back();
  const FieldsOfRecord without_columns = fields_of_report(summary);
  summary.columns = {CostColumn::kWeights, CostColumn::kKvCache, CostColumn::kIntensity, CostColumn::kFlops,
                     CostColumn::kQuantization};
  summary.fit.emplace();
  summary.memory.emplace().steps.emplace_back();
  summary.memory->tensors.emplace_back();
  FieldSchema("summary").check_document(together(without_columns, fields_of_report(summary)), kHeader);
}

TEST_CASE("report fields: partition", "[report_fields]") {
  PartitionAnswer answer;
  Partition& partition = answer.partition;
  partition.sets.emplace_back();
  Part& part = partition.parts.emplace_back();
  part.inputs.emplace_back();
  part.outputs.emplace_back();
  partition.left.emplace_back().source.emplace();
  partition.reasons.emplace_back();
  answer.gates.emplace_back();
  FieldSchema("partition").check_document(fields_of_report(answer), kHeader);
}

TEST_CASE("report fields: verify", "[report_fields]") {
  verify::Verification verification;
  verification.refusals.emplace_back();
  verify::Fault& fault = verification.fault.emplace();
  fault.ours = fault.theirs = FxtraceStatistics();
  verify::Subject subject{"m.pt", {}};
  const auto fields = fields_of_report(verify::VerificationAnswer{verification, subject});
  verification.profile.emplace().modules[""];
  ModelSummary measured;
  measured.rows.emplace_back().measured.emplace();
  subject.measured = &measured;
  FieldSchema("verification")
      .check_document(together(fields, fields_of_report(verify::VerificationAnswer{verification, subject})),
                      {});
}
