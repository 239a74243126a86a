#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/columns.h"
#include "support/utf8.h"
#include "writers/summary_words.h"
#include "writers/summary_writers.h"
#include "writers/tree_lines.h"

namespace fxtrace {
namespace {

using summary_words::Style;

constexpr std::size_t kColumnGap = 2;
constexpr std::size_t kLeastBar = 6, kMostBar = 16;
// Below this there is no table.
constexpr std::size_t kLeastTable = 40;
constexpr std::size_t kMostPorts = 8;  // inputs, and outputs; JSON has them all

struct SummaryColumn {
  const char* title;
  std::vector<std::string> cells;
  bool right = false;
  Keep keep = Keep::kStart;
  std::size_t least = 0;  // to which it may be cut; 0: not at all
  std::size_t width = 0;

  void fit() {
    width = fxtrace::width(title);
    for (const auto& cell : cells) width = std::max(width, fxtrace::width(cell));
  }
};

class SummaryTable {
 public:
  SummaryTable(const ModelSummary& summary, const TextLayout& layout)
      : summary_(summary),
        layout_(layout),
        example_(summary_words::example_sizes(summary)),
        room_(std::max(layout.width, kLeastTable)) {
    const std::string dtype = summary_words::usual_dtype(summary);
    output_title_ = dtype.empty() ? "Output" : "Output (" + dtype + ")";
    std::vector<std::size_t> depths;
    for (const SummaryRow& row : summary.rows) depths.push_back(row.depth);
    lines_ = tree_lines(depths);
    // What people read first is cut last.
    add("Module", 22, false, [&](const SummaryRow& row) { return summary_words::name(row, false); });
    for (std::size_t i = 0; i < lines_.size(); ++i) columns_.back().cells[i].insert(0, lines_[i]);
    add("Type", 12, false, summary_words::type);
    const bool is_measured = summary.has_measurements();
    if (summary.has_shapes() && !is_measured) {
      add(output_title_.c_str(), 16, false,
          [&](const SummaryRow& row) { return summary_words::outputs(row, dtype); });
    }
    parameters_ = add("Params", 0, true,
                      [](const SummaryRow& row) { return summary_words::parameters(row, Style::kExact); });
    if (!is_measured) bytes_ = add("Bytes", 0, true, summary_words::parameter_bytes);
    if (summary.has_costs()) {
      macs_ = add("MACs", 0, true,
                  [&](const SummaryRow& row) { return summary_words::macs(row, Style::kExact, example_); });
    }
    if (!is_measured && summary.has_costs()) {
      for (const CostColumn column : summary.columns) {
        add(summary_words::title(column), 0, true,
            [&](const SummaryRow& row) { return summary_words::cell(row, column, example_); });
      }
    }
    if (is_measured) {
      const double all = summary_words::seconds(summary.rows.front());
      add("Time", 0, true, summary_words::time);
      add("Share", 0, true, [&](const SummaryRow& row) { return summary_words::share(row, all); });
      add("Memory", 0, true, summary_words::memory);
      if (macs_ != 0) add("FLOP/s", 0, true, summary_words::operations_per_second);
    }
    for (SummaryColumn& column : columns_) column.fit();
    lay_out();
  }

  void write(std::ostream& out) const {
    std::string line;
    for (std::size_t i = 0; i < columns_.size(); ++i) append(line, i, columns_[i].title, "", "");
    put(out, line, kBold);
    for (std::size_t row = 0; row < summary_.rows.size(); ++row) {
      line.clear();
      for (std::size_t i = 0; i < columns_.size(); ++i) {
        const bool is_red = i == 1 && summary_.rows[row].status == ModuleStatus::kFailed;
        append(line, i, columns_[i].cells[row], i == 0 ? lines_[row] : "",
               is_red && layout_.colour ? kRed : "");
      }
      if (bar_ != 0) line += bar(summary_.rows[row]);
      put(out, line, "");
    }
  }

 private:
  // Its place among the columns.
  template <class F>
  std::size_t add(const char* title, std::size_t least, bool right, F&& text) {
    SummaryColumn column{title, {}, right};
    column.least = least;
    for (const SummaryRow& row : summary_.rows) column.cells.push_back(text(row));
    columns_.push_back(std::move(column));
    return columns_.size() - 1;
  }

  std::size_t total() const {
    std::size_t sum = bar_ == 0 ? 0 : bar_ + kColumnGap;
    for (const SummaryColumn& column : columns_) sum += column.width;
    return sum + kColumnGap * (columns_.size() - 1);
  }
  bool fits() const { return total() <= room_; }

  // Rounds numbers, and cuts texts, as far as it takes.
  void lay_out() {
    if (layout_.colour && (macs_ != 0 || summary_.has_measurements())) bar_ = kLeastBar;
    if (!fits() && macs_ != 0) {
      round(macs_,
            [&](const SummaryRow& row, Style style) { return summary_words::macs(row, style, example_); });
    }
    if (!fits() && !can_cut()) round(parameters_, summary_words::parameters);
    if (!fits() && !can_cut()) bar_ = 0;
    if (!fits() && !can_cut() && bytes_ != 0) remove(bytes_);
    cut_widest(false);
    if (!fits()) cut_widest(true);
    if (bar_ != 0 && fits()) bar_ = std::min(kMostBar, bar_ + room_ - total());
  }

  template <class F>
  void round(std::size_t column, F&& text) {
    for (std::size_t i = 0; i < summary_.rows.size(); ++i)
      columns_[column].cells[i] = text(summary_.rows[i], Style::kRounded);
    columns_[column].fit();
  }

  void remove(std::size_t column) {
    columns_.erase(columns_.begin() + static_cast<std::ptrdiff_t>(column));
    if (macs_ > column) --macs_;
  }

  // Whether cutting texts to what they need at least is enough.
  bool can_cut() const {
    std::size_t least = total();
    for (const SummaryColumn& column : columns_) {
      if (column.least != 0 && column.width > column.least) least -= column.width - column.least;
    }
    return least <= room_;
  }

  void cut_widest(bool below_least) {
    constexpr std::size_t kLeastCell = 6;
    while (!fits()) {
      SummaryColumn* widest = nullptr;
      for (SummaryColumn& column : columns_) {
        const std::size_t least = below_least ? kLeastCell : column.least;
        if (column.least == 0 || column.width <= least) continue;
        if (widest == nullptr || column.width > widest->width) widest = &column;
      }
      if (widest == nullptr) return;
      --widest->width;
    }
  }

  // The cell `text` of a column; `lines` of it are the tree.
  void append(std::string& line, std::size_t index, const std::string& text, const std::string& lines,
              const char* colour) const {
    const SummaryColumn& column = columns_[index];
    std::string shown = text;
    std::string tree;
    if (!lines.empty() && text.starts_with(lines)) {
      // The front of a name goes first, and then that of the tree.
      constexpr std::size_t kLeastName = 8;
      const std::string name = text.substr(lines.size());
      const std::size_t least = std::min({fxtrace::width(name), kLeastName, column.width});
      const std::size_t room = column.width - least;
      if (room > 0) tree = cut(lines, room, Keep::kEnd);
      shown = cut(name, column.width - fxtrace::width(tree), Keep::kEnd);
    } else if (fxtrace::width(shown) > column.width) {
      shown = cut(shown, column.width, index == 0 ? Keep::kEnd : Keep::kStart);
    }
    const std::size_t used = fxtrace::width(tree) + fxtrace::width(shown);
    const std::string padding(used < column.width ? column.width - used : 0, ' ');
    if (index != 0) line.append(kColumnGap, ' ');
    if (column.right) line += padding;
    line += layout_.paint(tree, kDim);
    line += *colour == '\0' ? shown : colour + shown + kReset;
    if (!column.right) line += padding;
  }

  // Of the time, or else of the MACs.
  double share(const SummaryRow& row) const {
    const double time = summary_words::seconds(summary_.rows.front());
    if (time > 0) return summary_words::seconds(row) / time;
    const auto all = typical_value(summary_.macs);
    const auto own = typical_value(row.macs);
    if (!all || !own || *all <= 0) return 0;
    return static_cast<double>(*own) / static_cast<double>(*all);
  }

  std::string bar(const SummaryRow& row) const {
    const double share = std::min(1.0, this->share(row));
    if (share <= 0) return "";
    constexpr std::array kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    const auto eighths = std::max(1L, std::lround(share * 8 * static_cast<double>(bar_)));
    std::string text(kColumnGap, ' ');
    text += kCyan;
    for (long i = 0; i < eighths / 8; ++i) text += "█";
    text += kEighths[static_cast<std::size_t>(eighths % 8)];
    return text + kReset;
  }

  void put(std::ostream& out, std::string line, const char* colour) const {
    while (line.ends_with(' ')) line.pop_back();
    if (layout_.colour && *colour != '\0') line = colour + line + kReset;
    out << line << '\n';
  }

  const ModelSummary& summary_;
  const TextLayout& layout_;
  summary_words::ExampleSizes example_;
  std::size_t room_;
  std::string output_title_;
  std::vector<std::string> lines_;
  std::vector<SummaryColumn> columns_;
  std::size_t parameters_ = 0, bytes_ = 0, macs_ = 0;  // places of columns; 0: there is none
  std::size_t bar_ = 0;
};

class SummaryTextWriter {
 public:
  SummaryTextWriter(std::ostream& out, const TextLayout& layout) : out_(out), layout_(layout) {}

  void document(const ModelSummary& summary) {
    out_ << layout_.paint(summary_words::headline(summary), kBold) << "\n";
    const auto inputs = summary_words::ports(summary.inputs);
    const auto outputs = summary_words::ports(summary.outputs);
    if (!inputs.empty() || !outputs.empty()) out_ << "\n";
    std::size_t names = 0;
    for (const auto& ports : {inputs, outputs}) {
      for (const auto& [name, text] : ports) names = std::max(names, width(name));
    }
    ports("Inputs ", inputs, names);
    ports("Outputs", outputs, names);
    out_ << "\n";
    if (!summary.rows.empty()) SummaryTable(summary, layout_).write(out_);
    notes(summary);
    out_ << "\n";
    write_lines(summary_words::totals(summary), layout_, out_);
  }

  void notes(const ModelSummary& summary) {
    for (const std::string& note : summary_words::notes(summary)) wrap(note);
  }

 private:
  // A sentence on as many lines as it takes.
  void wrap(const std::string& text) {
    constexpr const char* kIndent = "  ";
    std::istringstream in(text);
    std::string line;
    for (std::string word; in >> word;) {
      if (!line.empty() && width(line) + 1 + width(word) > std::max(layout_.line(), kLeastTable)) {
        out_ << line << "\n";
        line = kIndent + word;
      } else {
        line += (line.empty() ? "" : " ") + word;
      }
    }
    out_ << line << "\n";
  }

  void ports(const std::string& title, const std::vector<summary_words::Line>& ports, std::size_t names) {
    std::size_t shown = 0;
    for (const auto& [name, text] : ports) {
      out_ << (shown == 0 ? layout_.paint(title, kBold) : std::string(title.size(), ' ')) << "  ";
      if (shown++ == kMostPorts) {
        out_ << "... and " << ports.size() - kMostPorts << " more\n";
        break;
      }
      if (names != 0) out_ << name << std::string(names - width(name) + kColumnGap, ' ');
      out_ << text << "\n";
    }
  }

  std::ostream& out_;
  const TextLayout& layout_;
};

}  // namespace

void write_measured_table(const ModelSummary& summary, std::ostream& out, const TextLayout& layout) {
  SummaryTable(summary, layout).write(out);
  SummaryTextWriter(out, layout).notes(summary);
}

void write_summary_text(const ModelSummary& summary, std::ostream& out, const TextLayout& layout) {
  SummaryTextWriter(out, layout).document(summary);
}

}  // namespace fxtrace
