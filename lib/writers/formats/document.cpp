#include "writers/formats/document.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <sstream>

#include "graph/analysis/text_form.h"
#include "support/text/numbers.h"
#include "support/text/qualified_name.h"
#include "support/text/unicode.h"
#include "writers/formats/markup_text.h"

namespace fxtrace::internal {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kMostRagged = 60;  // the widest column of a ragged table

// Returns which rows of a tree are the last children of their parents.
std::vector<bool> last_ones(const std::vector<std::size_t>& depths) {
  std::vector<bool> is_last(depths.size(), true);
  std::vector<std::size_t> open;  // the row at each depth
  for (std::size_t i = 0; i < depths.size(); ++i) {
    while (!open.empty() && depths[open.back()] > depths[i]) open.pop_back();
    if (!open.empty() && depths[open.back()] == depths[i]) {
      is_last[open.back()] = false;
      open.pop_back();
    }
    open.push_back(i);
  }
  return is_last;
}

}  // namespace

TableCell::TableCell(const std::string& shown, const char* its_style, std::string lines)
    : text(one_line(shown)), style(its_style), tree(std::move(lines)) {}

TableCell::TableCell(std::int64_t number) : TableCell(with_separators(number)) {}

bool TextTable::is_empty(std::size_t column) const {
  return std::ranges::all_of(rows, [&](const TableRow& row) { return row[column].text.empty(); });
}

void TextTable::remove(std::size_t column) {
  const auto at = static_cast<std::ptrdiff_t>(column);
  columns.erase(columns.begin() + at);
  for (TableRow& row : rows) row.erase(row.begin() + at);
}

void TextTable::fit() {
  const std::size_t most = is_ragged ? kMostRagged : TextLayout::kAny;
  for (TableColumn& column : columns) column.width = std::min(internal::width(one_line(column.title)), most);
  for (const TableRow& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::size_t needed = internal::width(row[i].tree) + internal::width(row[i].text);
      columns[i].width = std::max(columns[i].width, std::min(needed, most));
    }
  }
}

std::size_t TextTable::width() const {
  std::size_t sum = kGap * (columns.size() - 1);
  for (const TableColumn& column : columns) sum += column.width;
  return sum;
}

std::size_t TextTable::least_width() const {
  std::size_t sum = width();
  for (const TableColumn& column : columns) {
    if (column.least != 0 && column.width > column.least) sum -= column.width - column.least;
  }
  return sum;
}

void TextTable::cut_to(std::size_t room, std::size_t least) {
  for (std::size_t all = width(); all > room; --all) {
    TableColumn* widest = nullptr;
    for (TableColumn& column : columns) {
      if (column.least == 0 || column.width <= std::min(column.least, least)) continue;
      if (widest == nullptr || column.width > widest->width) widest = &column;
    }
    if (widest == nullptr) return;
    --widest->width;
  }
}

std::string TextTable::line(const TableRow& row, const TextLayout& layout) const {
  std::string line;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const TableColumn& column = columns[i];
    std::string tree, text = row[i].text;
    if (!is_ragged) {
      // The start of the name is cut first, then that of the tree.
      constexpr std::size_t kLeastName = 8;
      const std::size_t least = std::min({internal::width(text), kLeastName, column.width});
      if (column.width > least) tree = cut(row[i].tree, column.width - least, Keep::kEnd);
      text = cut(text, column.width - internal::width(tree), column.keep);
    }
    const std::size_t used = internal::width(tree) + internal::width(text);
    const bool is_end = is_ragged && i + 1 == row.size() && !column.right;
    const std::string padding(used < column.width && !is_end ? column.width - used : 0, ' ');
    if (i != 0) line.append(kGap, ' ');
    if (column.right) line += padding;
    line += layout.paint(tree, kFaint) + layout.paint(text, row[i].style);
    if (!column.right) line += padding;
  }
  while (!is_ragged && line.ends_with(' ')) line.pop_back();
  return line;
}

void TextTable::write(std::ostream& out, const TextLayout& layout, const char* style) const {
  if (layout.is_markdown) return write_markdown(out);
  TableRow titles;
  for (const TableColumn& column : columns) titles.emplace_back(column.title);
  out << layout.paint(line(titles, layout), style) << "\n";
  write_rows(out, layout);
}

void TextTable::write_rows(std::ostream& out, const TextLayout& layout) const {
  for (const TableRow& row : rows) out << line(row, layout) << "\n";
}

void TextTable::write_markdown(std::ostream& out) const {
  std::vector<std::string> titles, rules;
  for (const TableColumn& column : columns) {
    titles.push_back(column.title);
    rules.emplace_back(column.right ? "---:" : "---");
  }
  out << markdown_row(titles) << markdown_row(rules);
  for (const TableRow& row : rows) {
    std::vector<std::string> cells;
    for (const TableCell& cell : row)
      cells.push_back(cell.markdown.empty() ? markdown_sentence(cell.text) : cell.markdown);
    out << markdown_row(cells);
  }
}

void Document::heading(const std::string& text, const std::string& remark) {
  line("\n" + (is_markdown() ? markdown_code(text) + (remark.empty() ? "" : " ") + markdown_code(remark)
                             : titled(text, remark)));
}

void Document::table(TextTable table, std::size_t left_out, const char* style) {
  constexpr std::size_t kLeast = 40;
  table.fit();
  table.cut_to(std::max(layout_.width, kLeast));
  table.write(out_, layout_, style);
  if (left_out > 0 && is_markdown()) line();
  this->left_out(left_out);
}

void Document::left_out(std::size_t count, const char* what, const char* indent) {
  if (count == 0) return;
  const auto number = static_cast<std::int64_t>(count);
  line(indent + ("... and " + (what == nullptr ? with_separators(number) : counted(number, what))) +
       " more (--json has all)");
}

void Document::list(const std::vector<Line>& lines, const char* style, const char* indent, std::size_t most) {
  std::size_t widest = 0;
  for (const auto& [label, text] : lines) widest = std::max(widest, std::min(width(label), most));
  for (const auto& [label, text] : lines) {
    if (is_markdown()) {
      line("- " + label + ": " + markdown_code(text));
      continue;
    }
    const std::size_t used = std::min(width(label), widest);
    line(indent + layout_.paint(label, style) + std::string(widest - used + kGap, ' ') + text);
  }
}

void Document::sentence(const std::string& text) {
  if (is_markdown()) return line("- " + markdown_sentence(text));
  constexpr std::size_t kLeast = 40;  // characters
  std::istringstream in(text);
  std::string shown;
  for (std::string word; in >> word;) {
    if (!shown.empty() && width(shown) + 1 + width(word) > std::max(layout_.line(), kLeast)) {
      line(shown);
      shown = "  " + word;
    } else {
      shown += (shown.empty() ? "" : " ") + word;
    }
  }
  line(shown);
}

std::vector<std::string> tree_lines(const std::vector<std::size_t>& depths) {
  constexpr std::size_t kMostLines = 20;
  const std::vector<bool> is_last = last_ones(depths);
  std::vector<std::string> lines;
  std::vector<std::string> above;  // for the children of the row at each depth
  for (std::size_t i = 0; i < depths.size(); ++i) {
    const std::size_t depth = std::min(depths[i], above.size());
    above.resize(depth);
    const std::string outer = depth == 0 ? "" : above.back();
    const bool has_branch = depth != 0 && depth <= kMostLines;
    lines.push_back(outer + (!has_branch ? "" : is_last[i] ? "└ " : "├ "));
    above.push_back(below_line(lines.back()));
  }
  return lines;
}

std::string below_line(const std::string& line) {
  const std::size_t branch = line.size() - std::min(line.size(), std::string_view("└ ").size());
  const std::string last = line.substr(branch);
  return last == "└ " || last == "├ " ? line.substr(0, branch) + (last == "└ " ? "  " : "│ ") : line;
}

std::string range_of_modules(const std::string& first, const std::string& last, std::size_t count) {
  const std::string from = short_line(path_text(first));
  if (count == 1) return from;
  return from + " … " + short_line(path_text(last)) + " (" +
         counted(static_cast<std::int64_t>(count), "module") + ")";
}

std::string range_of_modules(const std::string& first, const std::vector<std::string>& alike) {
  return alike.empty() ? range_of_modules(first, first, 1)
                       : range_of_modules(first, alike.back(), alike.size());
}

std::string value_or_type(const Meta& meta, const char* unknown) {
  return meta.shape || meta.value ? value_text(meta) : meta.type.value_or(unknown);
}

std::string model_text(const GraphCollection::Model& model) {
  std::string text = model.type.empty() ? "" : model.type + ", ";
  text += model.kind_text();
  if (model.method != "forward" && !model.method.empty()) text += ", method " + model.method;
  return text;
}

namespace {

class Folding {
 public:
  Folding(const std::vector<std::string_view>& names,
          const std::function<bool(std::size_t, std::size_t)>& is_equal)
      : names_(names), is_equal_(is_equal) {}

  std::vector<NumberedRow> fold() {
    std::size_t at = 0;
    while (at < names_.size()) {
      const std::size_t rows = fold_at(at);
      if (rows == 0) rows_.push_back({at, 1, 0, std::string(names_[at]), 0});
      at += rows == 0 ? 1 : rows;
    }
    return std::move(rows_);
  }

 private:
  // The common prefix of the names of a block: "h.12", with the stem "h.".
  struct Prefix {
    std::string_view stem;
    std::int64_t number = 0;
    std::string text() const { return std::string(stem) + std::to_string(number); }
  };

  static std::optional<Prefix> prefix_of(std::string_view name) {
    Prefix prefix{without_last_number(name)};
    const std::string_view digits = name.substr(prefix.stem.size());
    const auto [stop, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), prefix.number);
    constexpr std::size_t kMostDigits = 9;
    const bool is_number =
        failure == std::errc() && digits.size() <= kMostDigits && (digits == "0" || !digits.starts_with('0'));
    return is_number ? std::optional(prefix) : std::nullopt;
  }

  bool is_in(std::size_t row, std::string_view prefix) const {
    return row < names_.size() && (names_[row] == prefix || QualifiedName(names_[row]).is_below(prefix));
  }

  // Returns the number of rows that are folded.
  std::size_t fold_at(std::size_t at) {
    std::size_t folded = 0;
    std::size_t part = 0;
    QualifiedName(names_[at]).for_each_prefix([&](std::string_view prefix) {
      if (folded == 0) folded = fold_blocks(at, prefix, part);
      ++part;
    });
    return folded;
  }

  // Folds the blocks that begin at this row.  A block begins at its first row only, so that each is read
  // once.
  std::size_t fold_blocks(std::size_t at, std::string_view prefix, std::size_t part) {
    const auto first = prefix_of(prefix);
    if (!first || (at > 0 && is_in(at - 1, prefix))) return 0;
    std::size_t length = 0;
    while (is_in(at + length, prefix)) ++length;
    Prefix last = *first;
    std::size_t repeats = 1;
    for (Prefix next = *first;; ++repeats) {
      ++next.number;
      if (!is_same_block(at, length, prefix, at + repeats * length, next.text())) break;
      last = next;
    }
    if (repeats == 1) return 0;
    for (std::size_t i = 0; i < length; ++i) {
      const std::string numbers = std::string(prefix) + " - " + std::to_string(last.number);
      rows_.push_back(
          {at + i, repeats, length, numbers + std::string(names_[at + i].substr(prefix.size())), part});
    }
    return length * repeats;
  }

  bool is_same_block(std::size_t at, std::size_t length, std::string_view prefix, std::size_t other,
                     const std::string& other_prefix) const {
    for (std::size_t i = 0; i < length; ++i) {
      if (!is_in(other + i, other_prefix)) return false;
      const auto rest = names_[at + i].substr(prefix.size());
      if (names_[other + i].substr(other_prefix.size()) != rest || !is_equal_(at + i, other + i))
        return false;
    }
    return !is_in(other + length, other_prefix);
  }

  const std::vector<std::string_view>& names_;
  const std::function<bool(std::size_t, std::size_t)>& is_equal_;
  std::vector<NumberedRow> rows_;
};

}  // namespace

std::vector<NumberedRow> fold_numbered(const std::vector<std::string_view>& names,
                                       const std::function<bool(std::size_t, std::size_t)>& is_equal) {
  return Folding(names, is_equal).fold();
}

}  // namespace fxtrace::internal
