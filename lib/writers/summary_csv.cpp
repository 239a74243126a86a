#include "writers/summary_csv.h"

#include <string>
#include <string_view>

#include "support/printable.h"
#include "support/words.h"

namespace fxtrace {
namespace {

// An apostrophe before what begins a formula: at the beginning, and behind what spreadsheets may take for the
// end of a cell.  A comma is not among it, as such a cell stands in quotes; tabs are escaped.  Sums have
// spaces around + and -.
std::string harmless(std::string_view text) {
  std::string result;
  char separator = ';';
  for (const char c : text) {
    const std::string_view formulas = separator == ' ' ? "=@" : separator != 0 ? "=+-@" : "";
    if (formulas.find(c) != std::string_view::npos) result += '\'';
    result += c;
    if (c == ';' || c == '|') {
      separator = ';';
    } else if (c != ' ') {
      separator = 0;
    } else if (separator == 0) {
      separator = ' ';
    }
  }
  return result;
}

class Csv {
 public:
  explicit Csv(std::ostream& out) : out_(out) {}

  void cell(std::int64_t number) { put(std::to_string(number)); }
  // Of the file.
  void cell(std::string_view untrusted) {
    const std::string text = harmless(printable(untrusted));
    if (text.find_first_of("\",") == std::string::npos && !text.starts_with(' ') && !text.ends_with(' '))
      return put(text);
    std::string quoted = "\"";
    for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    put(quoted + "\"");
  }
  void cell(const std::optional<SymInt>& size) {
    if (!size) return put("");
    const auto number = size->number();
    number ? cell(*number) : cell(std::string_view(size->text()));
  }
  void end_row() {
    out_ << "\r\n";
    is_first_ = true;
  }

 private:
  void put(const std::string& text) {
    out_ << (is_first_ ? "" : ",") << text;
    is_first_ = false;
  }

  std::ostream& out_;
  bool is_first_ = true;
};

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
  csv.cell(std::string_view(to_string(row.status)));
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
  Csv csv(out);
  for_each_word(kColumns, [&](std::string_view column) { csv.cell(column); });
  csv.end_row();
  for (const SummaryRow& row : summary.rows) write_row(row, csv);
}

}  // namespace fxtrace
