// Reports for people in text: lines, lists, tables and trees, with colours where the terminal has them. Texts
// of a file that nobody has checked go through one_line() or short_line() first; a table does it for its
// cells.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph_collection.h"
#include "support/text/utf8.h"
#include "writers/formats/text_layout.h"

namespace fxtrace {

// A label and what is said of it.
using Line = std::pair<std::string, std::string>;

struct TableCell {
  TableCell(const std::string& shown, const char* its_style = "", std::string lines = "");
  TableCell(const char* shown) : TableCell(std::string(shown)) {}
  TableCell(std::int64_t number);  // with separators

  std::string text;
  const char* style;  // of text_layout.h
  std::string tree;   // of tree_lines(): what stands before the text
};
using TableRow = std::vector<TableCell>;

struct TableColumn {
  std::string title;
  bool right = false;     // aligned, as numbers are
  std::size_t least = 0;  // characters to which its texts may be cut; 0: not at all
  Keep keep = Keep::kStart;
  std::size_t width = 0;
};

// Columns that two spaces set apart, each as wide as its widest text.
struct TextTable {
  std::vector<TableColumn> columns;
  std::vector<TableRow> rows = {};
  // Texts are never cut, a single very wide one does not widen its column, and rows may be short.
  bool is_ragged = false;

  bool is_empty(std::size_t column) const;  // but for its title
  void remove(std::size_t column);
  // Sets the widths to those of the texts.
  void fit();
  std::size_t width() const;
  // How wide it is where all texts are cut to their least.
  std::size_t least_width() const;
  // Takes from the widest texts, as far as it takes and their columns, or a smaller `least`, allow.
  void cut_to(std::size_t room, std::size_t least = TextLayout::kAny);
  // The titles are in a style of text_layout.h.
  void write(std::ostream& out, const TextLayout& layout = {}, const char* style = "") const;
  void write_rows(std::ostream& out, const TextLayout& layout = {}) const;

 private:
  std::string line(const TableRow& row, const TextLayout& layout) const;
};

// Writes a text for people piece by piece.
class TextReport {
 public:
  TextReport(std::ostream& out, const TextLayout& layout) : out_(out), layout_(layout) {}

  std::string bold(const std::string& text) const { return layout_.paint(text, kBold); }
  std::string dim(const std::string& text) const { return layout_.paint(text, kFaint); }
  void line(const std::string& text = "") { out_ << text << "\n"; }
  // Writes an empty line and a title, and behind it what is not so important.
  void heading(const std::string& text, const std::string& remark = "") { line("\n" + titled(text, remark)); }
  std::string titled(const std::string& text, const std::string& remark) const {
    return bold(text) + (remark.empty() ? "" : "  " + dim(remark));
  }
  // Writes a line each, with the texts in one column, which labels wider than `most` push to the right.
  void list(const std::vector<Line>& lines, const char* style = kBold, const char* indent = "",
            std::size_t most = TextLayout::kAny);
  // Writes it on as many lines as it takes.
  void sentence(const std::string& text);

 protected:
  std::ostream& out_;
  const TextLayout layout_;
};

// Returns which rows of a tree have none behind them in the row around, from the rows' depths in pre-order.
std::vector<bool> last_ones(const std::vector<std::size_t>& depths);

// Returns what stands before the name of each row of a tree, such as "│ ├ ", from the rows' depths in
// pre-order.  The tree stops to grow to the right at some depth.
std::vector<std::string> tree_lines(const std::vector<std::size_t>& depths);

// "h.0.attn … h.11.attn (12 modules)"; of one module its path.
std::string range_of_modules(const std::string& first, const std::string& last, std::size_t count);
// Of modules that are alike, the first among them; none where it is by itself.
std::string range_of_modules(const std::string& first, const std::vector<std::string>& alike);

// "float32[1, 3]"; of what has neither shape nor value its type.
std::string value_or_type(const Meta& meta, const char* unknown);

// "pkg.Net, TorchScript, method generate"; the method where it is not forward.
std::string model_text(const GraphCollection::Model& model);

}  // namespace fxtrace
