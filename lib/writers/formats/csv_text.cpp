#include "writers/formats/csv_text.h"

#include "support/text/numbers.h"
#include "support/text/unicode.h"
#include "support/text/words.h"

namespace fxtrace::internal {
namespace {

// Puts an apostrophe in front of each character that may begin a formula: at the start, and behind characters
// that spreadsheets may take for the end of a cell.  A comma needs none, as its cell is quoted; tabs are
// escaped.  + and - with spaces around them, as in sums, are left.
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

}  // namespace

Csv::Csv(std::ostream& out, std::string_view columns) : out_(out) {
  for_each_word(columns, [&](std::string_view column) { cell(column); });
  end_row();
}

void Csv::cell(double number) { put(shortest_text(number)); }

void Csv::cell(std::string_view untrusted) {
  const std::string text = harmless(printable(untrusted));
  if (text.find_first_of("\",") == std::string::npos && !text.starts_with(' ') && !text.ends_with(' '))
    return put(text);
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  put(quoted + "\"");
}

void Csv::cell(const std::optional<SymInt>& size) {
  if (!size) return put("");
  const auto number = size->number();
  number ? cell(*number) : cell(size->text());
}

void Csv::end_row() {
  out_ << "\r\n";
  is_first_ = true;
}

void Csv::put(std::string_view text) {
  out_ << (is_first_ ? "" : ",") << text;
  is_first_ = false;
}

}  // namespace fxtrace::internal
