#include <string>
#include <string_view>
#include <vector>

#include "support/words.h"
#include "writers/csv_text.h"
#include "writers/summary_writers.h"

namespace fxtrace {
namespace {

constexpr std::string_view kSummaryColumns =
    "path last_path modules depth type status alias_of calls output_dtype output_shape own_parameters "
    "parameters parameter_bytes shared_parameters shared_parameter_bytes buffers buffer_bytes macs "
    "activation_bytes unknown_calls unsized_calls failed_modules";

std::string shape_of(const Meta& meta) {
  if (!meta.shape) return "?";
  return "[" + joined(*meta.shape, &Meta::Dim::text) + "]";
}

void write_cells(const SummaryRow& row, Csv& csv) {
  const std::vector<Meta> outputs = row.outputs.value_or(std::vector<Meta>());
  const auto dtype = [](const Meta& meta) { return meta.dtype.value_or("?"); };
  csv.cells(row.path, row.last.value_or(""), row.modules, static_cast<std::int64_t>(row.depth), row.type,
            to_string(row.status), row.alias_of.value_or(""), row.calls, joined(outputs, dtype, "; "),
            joined(outputs, shape_of, "; "), row.own_parameters.elements, row.parameters.elements,
            row.parameters.bytes, row.shared_parameters.elements, row.shared_parameters.bytes,
            row.buffers.elements, row.buffers.bytes, row.macs, row.activation_bytes, row.unknown, row.unsized,
            row.failed);
}

}  // namespace

void write_summary_csv(const ModelSummary& summary, std::ostream& out) {
  std::string columns(kSummaryColumns);
  for (const CostColumn column : summary.columns) columns += std::string(" ") + to_string(column);
  Csv csv(out, columns);
  for (const SummaryRow& row : summary.rows) {
    write_cells(row, csv);
    for (const CostColumn column : summary.columns) {
      if (column == CostColumn::kIntensity) {
        const auto intensity = arithmetic_intensity(row, {});
        intensity ? csv.cell(*intensity) : csv.cell("");
      } else {
        csv.cell(column == CostColumn::kWeights ? row.weights_read : row.kv_cache);
      }
    }
    csv.end_row();
  }
}

}  // namespace fxtrace
