#include <string>
#include <string_view>

#include "support/words.h"
#include "writers/csv_text.h"
#include "writers/summary_writers.h"

namespace fxtrace {
namespace {

constexpr std::string_view kColumns =
    "path last_path modules depth type status alias_of calls output_dtype output_shape own_parameters "
    "parameters parameter_bytes shared_parameters shared_parameter_bytes buffers buffer_bytes macs "
    "activation_bytes unknown_calls unsized_calls failed_modules";

std::string shape_text(const Meta& meta) {
  if (!meta.shape) return "?";
  return "[" + joined(*meta.shape, &Meta::Dim::text) + "]";
}

void write_row(const SummaryRow& row, Csv& csv) {
  std::string dtypes;
  std::string shapes;
  for (const Meta& meta : row.outputs.value_or(std::vector<Meta>())) {
    dtypes += (dtypes.empty() ? "" : "; ") + meta.dtype.value_or("?");
    shapes += (shapes.empty() ? "" : "; ") + shape_text(meta);
  }
  csv.cell(row.path);
  csv.cell(row.last.value_or(""));
  csv.cell(row.modules);
  csv.cell(static_cast<std::int64_t>(row.depth));
  csv.cell(row.type);
  csv.cell(to_string(row.status));
  csv.cell(row.alias_of.value_or(""));
  csv.cell(row.calls);
  csv.cell(dtypes);
  csv.cell(shapes);
  csv.cell(row.own_parameters.elements);
  csv.cell(row.parameters.elements);
  csv.cell(row.parameters.bytes);
  csv.cell(row.shared_parameters.elements);
  csv.cell(row.shared_parameters.bytes);
  csv.cell(row.buffers.elements);
  csv.cell(row.buffers.bytes);
  csv.cell(row.macs);
  csv.cell(row.activation_bytes);
  csv.cell(row.unknown);
  csv.cell(row.unsized);
  csv.cell(row.failed);
  csv.end_row();
}

}  // namespace

void write_summary_csv(const ModelSummary& summary, std::ostream& out) {
  Csv csv(out, kColumns);
  for (const SummaryRow& row : summary.rows) write_row(row, csv);
}

}  // namespace fxtrace
