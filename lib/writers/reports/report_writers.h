// Writes the answers of `fxtrace summary`, `order`, `inspect`, `why` and `diff`.
#pragma once

#include <ostream>

#include "compare/comparison.h"
#include "summaries/bill_of_materials.h"
#include "summaries/explanation.h"
#include "summaries/inspection.h"
#include "summaries/model_summary.h"
#include "summaries/use_order.h"
#include "writers/formats/text_layout.h"

namespace fxtrace::internal {

// Writes the answer of `fxtrace summary`.

// Writes a table as text or Markdown; with colours, also bars of each row's share of the MACs.  Writes UTF-8;
// the same summary and layout give the same bytes.
void write_summary(const ModelSummary& summary, std::ostream& out, const TextLayout& layout);
// Writes the table of a summary with measurements, beside the costs for comparison.
void write_measured_table(const ModelSummary& summary, std::ostream& out, const TextLayout& layout);
// Writes JSON (schemas/summary.schema.json): numbers are exact, expressions of dimensions are strings.
void write_summary_json(const ModelSummary& summary, std::ostream& out);
// Writes CSV (RFC 4180), one row for each module, or for each step of the timeline of memory if that was
// asked for, for spreadsheets and data frames.  A text that a spreadsheet would interpret as a formula (it
// begins with = + - or @, also after ; or |) is prefixed by an apostrophe.
void write_summary_csv(const ModelSummary& summary, std::ostream& out);
// Writes the timeline of memory as a trace of Chrome and Perfetto, with a microsecond for each step.
void write_memory_trace(const ModelSummary& summary, std::ostream& out);

// Writes the answer of `fxtrace order`.

// Writes text: modules in the order of their calls, parameters in the order of their first uses, and those
// that are tied, shared or unused.  Consecutive equal blocks, such as h.0 and h.1, are written once.
void write_order_text(const UseOrder& order, std::ostream& out, const TextLayout& layout);
// Writes JSON: schemas/order.schema.json.
void write_order_json(const UseOrder& order, const FsdpPlan& plan, std::ostream& out);
// Writes CSV (writers/formats/csv_text.h): a row for each module in the order of first calls, then for each
// parameter in the order of first uses, then, without a number, for those that are never called or used.
void write_order_csv(const UseOrder& order, std::ostream& out);
// Writes Python source that applies FSDP2 (torch.distributed.fsdp.fully_shard) to a model, with the
// prefetches of a plan: a function shard(model, **options), which takes the options of fully_shard().
void write_order_python(const UseOrder& order, const FsdpPlan& plan, std::ostream& out);

// Writes the answer of `fxtrace inspect`; schemas/inspection.schema.json describes the JSON.

void write_inspection_text(const Inspection& inspection, std::ostream& out);
void write_inspection_json(const Inspection& inspection, std::ostream& out);
void write_file_text(const FileInspection& inspection, std::ostream& out);
void write_file_json(const FileInspection& inspection, std::ostream& out);

// Writes the answer of `fxtrace bom`: CycloneDX 1.6 and SPDX 2.3, as JSON.

void write_bom_cyclonedx(const std::vector<Material>& materials, std::ostream& out);
void write_bom_spdx(const std::vector<Material>& materials, std::ostream& out);

// Writes the answer of `fxtrace why`.

// Writes text.
void write_explanation_text(const Explanation& explanation, std::ostream& out, const TextLayout& layout = {});
// Writes JSON: schemas/why.schema.json.
void write_explanation_json(const Explanation& explanation, std::ostream& out);

// Writes the answer of `fxtrace diff` as UTF-8; the same comparison gives the same bytes.

// Writes a folded comparison as text or Markdown, for a pull request: a summary, then the differences by
// module; long lists are cut.  Marks of the text: + added, - removed, > moved, ~ changed.
void write_comparison(const ModelComparison& comparison, std::ostream& out, const TextLayout& layout);
// Writes a comparison that is not folded as JSON: schemas/comparison.schema.json.
void write_comparison_json(const ModelComparison& comparison, std::ostream& out);

}  // namespace fxtrace::internal
