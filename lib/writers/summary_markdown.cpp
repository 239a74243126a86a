#include <string>
#include <string_view>
#include <vector>

#include "writers/markdown_text.h"
#include "writers/summary_words.h"
#include "writers/summary_writers.h"

namespace fxtrace {
namespace {

using summary_words::Style;

void write_table_row(std::ostream& out, const std::vector<std::string>& cells) {
  out << "|";
  for (const auto& cell : cells) out << " " << cell << (cell.empty() ? "|" : " |");
  out << "\n";
}

void write_ports(const char* title, const std::vector<summary_words::Line>& ports, std::ostream& out) {
  if (ports.empty()) return;
  out << "- " << title << ":";
  for (const auto& [name, text] : ports) {
    out << (&name == &ports.front().first ? " " : ", ");
    if (!name.empty()) out << markdown_code(name) << " ";
    out << markdown_code(text);
  }
  out << "\n";
}

}  // namespace

void write_summary_markdown(const ModelSummary& summary, std::ostream& out) {
  out << markdown_code(summary_words::headline(summary)) << "\n\n";
  write_ports("Inputs", summary_words::ports(summary.inputs), out);
  write_ports("Outputs", summary_words::ports(summary.outputs), out);
  for (const auto& [label, text] : summary_words::totals(summary))
    out << "- " << label << ": " << markdown_code(text) << "\n";
  out << "\n";

  const bool has_shapes = summary.has_shapes();
  const bool has_costs = summary.has_costs();
  const std::string dtype = summary_words::usual_dtype(summary);
  std::vector<std::string> header{"Module", "Type"};
  std::vector<std::string> rule{"---", "---"};
  if (has_shapes) {
    header.push_back(dtype.empty() ? "Output" : "Output (" + markdown_code(dtype) + ")");
    rule.emplace_back("---");
  }
  for (const char* title : {"Params", "Bytes", "MACs"}) {
    if (!has_costs && title == std::string_view("MACs")) continue;
    header.emplace_back(title);
    rule.emplace_back("---:");
  }
  for (const CostColumn column : summary.columns) {
    header.emplace_back(summary_words::title(column));
    rule.emplace_back("---:");
  }
  write_table_row(out, header);
  write_table_row(out, rule);
  const summary_words::ExampleSizes example = summary_words::example_sizes(summary);
  for (const SummaryRow& row : summary.rows) {
    std::vector<std::string> cells{
        row.path.empty() ? "(root)" : markdown_code(summary_words::name(row, true)),
        markdown_code(summary_words::type(row))};
    if (has_shapes) cells.push_back(markdown_code(summary_words::outputs(row, dtype)));
    cells.push_back(summary_words::parameters(row, Style::kExact));
    cells.push_back(summary_words::parameter_bytes(row));
    if (has_costs) {
      const bool is_number = !row.macs || row.macs->is_number();
      const std::string macs = summary_words::macs(row, Style::kExact, example);
      cells.push_back(is_number ? macs : markdown_code(macs));
    }
    for (const CostColumn column : summary.columns)
      cells.push_back(summary_words::cell(row, column, example));
    write_table_row(out, cells);
  }
  const auto notes = summary_words::notes(summary);
  if (!notes.empty()) out << "\n";
  for (const std::string& note : notes) out << "- " << markdown_sentence(note) << "\n";
}

}  // namespace fxtrace
