#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/text_form.h"
#include "support/columns.h"
#include "support/printable.h"
#include "support/qualified_name.h"
#include "support/utf8.h"
#include "support/words.h"
#include "writers/numbered_rows.h"
#include "writers/order_words.h"
#include "writers/order_writers.h"
#include "writers/summary_words.h"
#include "writers/tree_lines.h"

namespace fxtrace {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kLeastWidth = 60;  // below this texts are not cut
constexpr std::size_t kMostRows = 200;   // of a table
constexpr std::size_t kMostListed = 10;  // of a list
constexpr std::size_t kMostCalls = 6;

struct Column {
  const char* title;
  bool right = false;
  std::size_t least = 0;  // to which it may be cut; 0: not at all
};

class OrderTextWriter {
 public:
  OrderTextWriter(const UseOrder& order, std::ostream& out, const TextLayout& layout)
      : order_(order), out_(out), layout_(layout) {}

  void document() {
    ModelSummary head;
    head.model = order_.model;
    out_ << layout_.paint(summary_words::headline(head), kBold) << "\n";
    for (std::size_t i = 0; i < order_.graphs.size(); ++i) calls(i);
    parameters();
    if (order_.buckets) buckets(*order_.buckets);
    totals();
  }

 private:
  using Row = std::vector<std::string>;

  void table(const std::string& title, const std::vector<Column>& columns, std::vector<Row> rows,
             std::size_t left_out) {
    out_ << "\n" << layout_.paint(title, kBold) << "\n";
    std::vector<std::size_t> widths;
    for (const Column& column : columns) widths.push_back(width(column.title));
    for (const Row& row : rows) {
      for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
    }
    std::size_t total = kGap * columns.size();
    for (const std::size_t each : widths) total += each;
    const std::size_t room = std::max(layout_.width, kLeastWidth);
    // What is widest is cut first.
    while (total > room) {
      std::size_t widest = columns.size();
      for (std::size_t i = 0; i < columns.size(); ++i) {
        if (columns[i].least == 0 || widths[i] <= columns[i].least) continue;
        if (widest == columns.size() || widths[i] > widths[widest]) widest = i;
      }
      if (widest == columns.size()) break;
      --widths[widest];
      --total;
    }
    Row titles;
    for (const Column& column : columns) titles.emplace_back(column.title);
    rows.insert(rows.begin(), titles);
    for (const Row& row : rows) {
      std::string line;
      for (std::size_t i = 0; i < row.size(); ++i) {
        const std::string text = cut(row[i], widths[i]);
        const std::string padding(widths[i] - width(text), ' ');
        line += (i == 0 ? "" : std::string(kGap, ' ')) + (columns[i].right ? padding + text : text + padding);
      }
      while (line.ends_with(' ')) line.pop_back();
      out_ << line << "\n";
    }
    if (left_out > 0)
      out_ << "... and " << with_separators(static_cast<std::int64_t>(left_out))
           << " more (--json has all)\n";
  }

  const UseOrder::Module& module(const UseOrder::Call& call) const { return order_.modules[call.module]; }

  void calls(std::size_t index) {
    const UseOrder::Calls& graph = order_.graphs[index];
    std::vector<std::string_view> names;
    for (const UseOrder::Call& call : graph.calls) names.emplace_back(module(call).path);
    auto folded = fold_numbered(names, [&](std::size_t a, std::size_t b) {
      const UseOrder::Module& one = module(graph.calls[a]);
      const UseOrder::Module& other = module(graph.calls[b]);
      return graph.calls[a].depth == graph.calls[b].depth && one.type == other.type &&
             one.status == other.status && one.method == other.method && one.calls.size() == 1 &&
             other.calls.size() == 1 && one.parameters.elements == other.parameters.elements &&
             one.parameters.bytes == other.parameters.bytes && one.macs == other.macs;
    });
    const std::size_t left_out = folded.size() - std::min(folded.size(), kMostRows);
    folded.resize(folded.size() - left_out);
    std::vector<std::size_t> depths;
    for (const NumberedRow& row : folded) depths.push_back(graph.calls[row.row].depth);
    const auto lines = tree_lines(depths);
    std::vector<Row> rows;
    std::vector<const NumberedRow*> around;  // the row at each depth
    for (std::size_t i = 0; i < folded.size(); ++i) {
      const NumberedRow& row = folded[i];
      around.resize(std::min(around.size(), depths[i]));
      const UseOrder::Module& module = this->module(graph.calls[row.row]);
      const std::string name = around.empty() ? path_text(row.name) : name_below(row, *around.back());
      around.push_back(&row);
      const TensorTotal& sizes = module.parameters;
      const bool is_head = row.repeats > 1 && QualifiedName(module.path).parts().size() == row.part + 1;
      const std::int64_t number = graph.calls[row.row].number;
      rows.push_back({number > 0 ? std::to_string(number) : "", lines[i] + one_line(name),
                      type_text(module, is_head ? row.repeats : 1),
                      sizes.elements == 0 ? "-" : with_separators(times(sizes.elements, row.repeats)),
                      sizes.elements == 0 ? "-" : bytes_text(times(sizes.bytes, row.repeats)),
                      macs_text(module, row.repeats), other_calls(module, index, number)});
    }
    const std::string title =
        index == 0 ? "Modules in the order of their calls" : "Graph of " + one_line(graph.module);
    std::vector<Column> columns = {
        {"Call", true},  {"Module", false, 22}, {"Type", false, 12},       {"Params", true},
        {"Bytes", true}, {"MACs", true},        {"Other calls", false, 12}};
    constexpr std::size_t kMacs = 5;
    drop_last_if_empty(columns, rows);
    if (std::ranges::none_of(rows, [](const Row& row) { return !row[kMacs].empty(); })) {
      columns.erase(columns.begin() + kMacs);
      for (Row& row : rows) row.erase(row.begin() + kMacs);
    }
    table(title, columns, std::move(rows), left_out);
  }

  static void drop_last_if_empty(std::vector<Column>& columns, std::vector<Row>& rows) {
    if (std::ranges::any_of(rows, [](const Row& row) { return !row.back().empty(); })) return;
    columns.pop_back();
    for (Row& row : rows) row.pop_back();
  }

  // The name behind that of the row around it, which may be folded in the same way.
  std::string name_below(const NumberedRow& row, const NumberedRow& around) const {
    const QualifiedName name(row.name);
    const std::string_view below = name.below(around.name);
    return below.empty() ? row.name : std::string(below);
  }

  static std::int64_t times(std::int64_t number, std::size_t count) {
    multiply_saturated(number, static_cast<std::int64_t>(count));
    return number;
  }

  static std::string macs_text(const UseOrder::Module& module, std::size_t repeats) {
    if (!module.macs) return "";
    const auto number = module.macs->number();
    if (!number) return one_line(module.macs->text());
    return *number == 0 ? "-" : with_separators(times(*number, repeats));
  }

  static std::string type_text(const UseOrder::Module& module, std::size_t repeats) {
    std::string text = module.type.empty() ? "-" : std::string(QualifiedName(module.type).last());
    if (repeats > 1) text = std::to_string(repeats) + " x " + text;
    if (!module.method.empty()) text += " (" + module.method + ")";
    if (module.status == ModuleStatus::kFailed) text += " (failed)";
    return one_line(text);
  }

  std::string calls_text(const std::vector<UseOrder::Place>& places) const {
    std::string text;
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (i == kMostCalls) return text + ", ... (" + std::to_string(places.size()) + ")";
      text += (i == 0 ? "" : ", ") + one_line(order_words::place(order_, places[i]));
    }
    return text;
  }

  std::string other_calls(const UseOrder::Module& module, std::size_t graph, std::int64_t call) const {
    if (module.calls.size() < 2) return "";
    std::vector<UseOrder::Place> others = module.calls;
    std::erase_if(others,
                  [&](const UseOrder::Place& place) { return place.graph == graph && place.call == call; });
    return calls_text(others);
  }

  void parameters() {
    const auto& all = order_.parameters;
    if (all.empty()) return;
    std::vector<std::string_view> names;
    for (const UseOrder::Parameter& parameter : all) names.emplace_back(parameter.name);
    auto folded = fold_numbered(names, [&](std::size_t a, std::size_t b) {
      return all[a].shape == all[b].shape && all[a].dtype == all[b].dtype &&
             all[a].use_count == all[b].use_count && all[a].tied.empty() && all[b].tied.empty();
    });
    const std::size_t left_out = folded.size() - std::min(folded.size(), kMostRows);
    folded.resize(folded.size() - left_out);
    std::vector<Row> rows;
    for (const NumberedRow& row : folded) {
      const UseOrder::Parameter& parameter = all[row.row];
      std::string type = parameter.dtype + shape_text(parameter.shape);
      if (row.repeats > 1) type = std::to_string(row.repeats) + " x " + type;
      std::string calls = calls_text(order_words::calls_of(parameter));
      const UseOrder::Parameter& last = all[row.row + (row.repeats - 1) * row.length];
      const std::string last_calls = calls_text(order_words::calls_of(last));
      if (last_calls != calls) calls += " ... " + last_calls;
      rows.push_back({std::to_string(row.row + 1), one_line(row.name), one_line(type),
                      bytes_text(times(parameter.bytes, row.repeats)), calls});
    }
    table("Parameters in the order of their first uses",
          {{"#", true},
           {"Parameter", false, 22},
           {"Type", false, 16},
           {"Bytes", true},
           {"In calls", false, 10}},
          std::move(rows), left_out);
  }

  void buckets(const UseOrder::Buckets& buckets) {
    std::vector<Row> rows;
    for (std::size_t i = 0; i < std::min(buckets.list.size(), kMostRows); ++i) {
      const UseOrder::Bucket& bucket = buckets.list[i];
      const std::string mark = bucket.bytes > buckets.most_bytes ? " (larger)" : "";
      const std::size_t last = bucket.parameters.back();
      rows.push_back({std::to_string(i + 1), bytes_text(bucket.bytes) + mark,
                      with_separators(static_cast<std::int64_t>(bucket.parameters.size())),
                      one_line(order_.parameters[bucket.parameters.front()].name),
                      bucket.parameters.size() == 1 ? "" : one_line(order_.parameters[last].name)});
    }
    const std::string count = with_separators(static_cast<std::int64_t>(buckets.list.size()));
    table(count + (buckets.list.size() == 1 ? " bucket" : " buckets") + " of at most " +
              bytes_text(buckets.most_bytes),
          {{"#", true}, {"Bytes", true}, {"Params", true}, {"First", false, 16}, {"Last", false, 16}},
          std::move(rows), buckets.list.size() - std::min(buckets.list.size(), kMostRows));
  }

  // "a, h.0 - 11.b and 7 more".
  static std::string names_text(const std::vector<std::string_view>& names) {
    const auto rows = fold_numbered(names, [](std::size_t, std::size_t) { return true; });
    std::vector<std::string> shown;
    for (std::size_t i = 0; i < std::min(rows.size(), kMostListed); ++i)
      shown.push_back(one_line(rows[i].name));
    std::string text = joined(shown);
    if (rows.size() > shown.size()) text += " and " + std::to_string(rows.size() - shown.size()) + " more";
    return text;
  }
  static std::string list_text(const std::vector<std::string>& texts) {
    std::string text;
    for (std::size_t i = 0; i < std::min(texts.size(), kMostListed); ++i)
      text += (i == 0 ? "" : ", ") + one_line(texts[i]);
    return texts.size() <= kMostListed
               ? text
               : text + " and " + std::to_string(texts.size() - kMostListed) + " more";
  }

  static std::string count_text(const TensorTotal& total) {
    return with_separators(total.tensors) + (total.tensors == 1 ? " parameter, " : " parameters, ") +
           with_separators(total.elements) + (total.elements == 1 ? " element (" : " elements (") +
           bytes_text(total.bytes) + ")";
  }

  void totals() {
    std::vector<summary_words::Line> lines = {{"Used", count_text(order_.used)}};
    std::vector<std::string_view> unused, never_called;
    for (const UseOrder::Parameter& parameter : order_.unused) unused.emplace_back(parameter.name);
    for (const UseOrder::Module& module : order_.never_called) never_called.emplace_back(module.path);
    if (!unused.empty())
      lines.emplace_back("Unused", count_text(order_.not_used) + ": " + names_text(unused));
    std::vector<std::string> tied, shared;
    for (const auto* list : {&order_.parameters, &order_.unused}) {
      for (const UseOrder::Parameter& parameter : *list) {
        if (!parameter.tied.empty())
          tied.push_back(parameter.name + " = " + joined(parameter.tied, {}, " = "));
      }
    }
    for (const UseOrder::Module& module : order_.modules) {
      if (!module.shared.empty()) shared.push_back(module.path + " = " + joined(module.shared, {}, " = "));
    }
    if (!tied.empty()) lines.emplace_back("Tied", list_text(tied));
    if (!shared.empty()) lines.emplace_back("Shared", list_text(shared));
    if (!never_called.empty()) lines.emplace_back("Never called", names_text(never_called));
    out_ << "\n";
    write_lines(lines, layout_, out_);
  }

  const UseOrder& order_;
  std::ostream& out_;
  const TextLayout& layout_;
};

}  // namespace

void write_order_text(const UseOrder& order, std::ostream& out, const TextLayout& layout) {
  OrderTextWriter(order, out, layout).document();
}

}  // namespace fxtrace
