// Documents, of which reports are made: lines, headings, lists, tables and trees, as text, with colours if
// the terminal has them, or as GitHub's Markdown.
//
// Text of a model's file is untrusted: it must go through one_line() or short_line() first; tables do that
// for their cells.  In Markdown it must be quoted, too (markup_text.h), but for what is said otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/graph_collection.h"
#include "support/text/unicode.h"
#include "writers/formats/text_layout.h"

namespace fxtrace::internal {

// A label and its text.
using Line = std::pair<std::string, std::string>;

struct TableCell {
  TableCell(const std::string& shown, const char* its_style = "", std::string lines = "");
  TableCell(const char* shown) : TableCell(std::string(shown)) {}
  TableCell(std::int64_t number);  // with separators

  std::string text;
  const char* style;     // of text_layout.h
  std::string tree;      // the lines of a tree in front of the text, from tree_lines()
  std::string markdown;  // the text as Markdown, if markdown_sentence() does not fit
};
using TableRow = std::vector<TableCell>;

struct TableColumn {
  std::string title;
  bool right = false;     // aligned to the right, as numbers are
  std::size_t least = 0;  // the width to which its texts may be cut; 0: not at all
  Keep keep = Keep::kStart;
  std::size_t width = 0;
};

// A table with two spaces between columns, each as wide as its widest text.
struct TextTable {
  std::vector<TableColumn> columns;
  std::vector<TableRow> rows = {};
  // Texts are never cut, a single very wide one does not widen its column, and rows may be short.
  bool is_ragged = false;

  bool is_empty(std::size_t column) const;  // except for its title
  void remove(std::size_t column);
  // Sets the widths to those of the texts.
  void fit();
  std::size_t width() const;
  // Returns the width of the table when all columns are cut to their `least`.
  std::size_t least_width() const;
  // Narrows the widest columns until the table fits into `room`, or all columns have their `least`, or this
  // `least` if it is smaller.
  void cut_to(std::size_t room, std::size_t least = TextLayout::kAny);
  // The titles are in a style of text_layout.h; in Markdown, they are Markdown.
  void write(std::ostream& out, const TextLayout& layout = {}, const char* style = "") const;
  void write_rows(std::ostream& out, const TextLayout& layout = {}) const;

 private:
  void write_markdown(std::ostream& out) const;
  std::string line(const TableRow& row, const TextLayout& layout) const;
};

// Writes a document piece by piece.
class Document {
 public:
  Document(std::ostream& out, const TextLayout& layout) : out_(out), layout_(layout) {}

  bool is_markdown() const { return layout_.is_markdown; }
  std::string bold(const std::string& text) const { return layout_.paint(text, kBold); }
  std::string dim(const std::string& text) const { return layout_.paint(text, kFaint); }
  void line(const std::string& text = "") { out_ << text << "\n"; }
  // Writes an empty line, then a title with a dim remark; in Markdown, both are code.
  void heading(const std::string& text, const std::string& remark = "");
  std::string titled(const std::string& text, const std::string& remark) const {
    return bold(text) + (remark.empty() ? "" : "  " + dim(remark));
  }
  // Writes a line for each label, with the texts in one column, which are code in Markdown; labels wider than
  // `most` push theirs to the right.
  void list(const std::vector<Line>& lines, const char* style = kBold, const char* indent = "",
            std::size_t most = TextLayout::kAny);
  // Writes a sentence, wrapped to the line width; in Markdown, an item of a list.
  void sentence(const std::string& text);
  // Writes a table as wide as the layout, if its columns can be cut to that, and how many rows it lacks.
  void table(TextTable table, std::size_t left_out = 0, const char* style = "");
  // Writes how many more things there are, if any: "... and 5 causes more (--json has all)".
  void left_out(std::size_t count, const char* what = nullptr, const char* indent = "");

 protected:
  std::ostream& out_;
  const TextLayout layout_;
};

// Returns the lines of a tree in front of each row, such as "│ ├ ", from the rows' depths in pre-order. Below
// a fixed depth they grow no wider.
std::vector<std::string> tree_lines(const std::vector<std::size_t>& depths);
// Returns those lines as they go on below the row.
std::string below_line(const std::string& line);

// Returns "h.0.attn … h.11.attn (12 modules)"; for one module its path.
std::string range_of_modules(const std::string& first, const std::string& last, std::size_t count);
// Does the same for a module and those that are alike, itself included; `alike` is empty for a single module.
std::string range_of_modules(const std::string& first, const std::vector<std::string>& alike);

// Returns "float32[1, 3]"; the type of a value without shape and number; `unknown` if that is not known.
std::string value_or_type(const Meta& meta, const char* unknown);

// Returns "pkg.Net, TorchScript, method generate"; the method only if it is not forward.
std::string model_text(const GraphCollection::Model& model);

// Folds equal blocks of rows whose names differ only in a number: h.0.fc, h.1.fc, ...

// A row that stands for `repeats` rows: itself, and those at the same place in the following blocks.
struct NumberedRow {
  std::size_t row = 0;
  std::size_t repeats = 1;
  std::size_t length = 0;  // the number of rows of a block
  // The name with both numbers, "h.0 - 11.fc"; for a single row its name.
  std::string name;
  std::size_t part = 0;  // the index of the part of the name that has the numbers
};

// Folds rows with these qualified names.  A block is the consecutive rows below one numbered module, or with
// that name; it is folded with following blocks of the same rows and the next numbers.  `is_equal` says
// whether two rows are equal except for their names.
std::vector<NumberedRow> fold_numbered(const std::vector<std::string_view>& names,
                                       const std::function<bool(std::size_t, std::size_t)>& is_equal);

}  // namespace fxtrace::internal
