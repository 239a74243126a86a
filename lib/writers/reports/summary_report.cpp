// The answer of `fxtrace summary` as text, Markdown and CSV.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/analysis/text_form.h"
#include "support/json_emitter.h"
#include "support/text/numbers.h"
#include "support/text/qualified_name.h"
#include "support/text/unicode.h"
#include "support/text/words.h"
#include "symbolic/size_text.h"
#include "writers/formats/csv_text.h"
#include "writers/formats/document.h"
#include "writers/formats/markup_text.h"
#include "writers/reports/report_writers.h"

namespace fxtrace::internal {
namespace {

enum class Style { kExact, kRounded };

// The report; its sentences are lines of printable characters.
class SummaryReport : Document {
 public:
  SummaryReport(const ModelSummary& summary, std::ostream& out, const TextLayout& layout)
      : Document(out, layout),
        summary_(summary),
        example_(example_sizes(summary)),
        usual_dtype_(usual_dtype(summary)) {}

  void document() {
    line(is_markdown() ? markdown_code(headline()) : bold(headline()));
    const auto inputs = port_lines(summary_.inputs);
    const auto outputs = port_lines(summary_.outputs);
    if (is_markdown() || !inputs.empty() || !outputs.empty()) line();
    std::size_t names = 0;
    for (const auto& ports : {inputs, outputs}) {
      for (const auto& [name, text] : ports) names = std::max(names, width(name));
    }
    ports("Inputs", inputs, names);
    ports("Outputs", outputs, names);
    if (is_markdown()) list(totals());
    line();
    if (!summary_.rows.empty()) table();
    notes();
    if (!is_markdown()) {
      line();
      list(totals());
    }
    if (summary_.memory) memory();
  }

  void table() {
    constexpr std::size_t kLeastTable = 40, kLeastCell = 6, kLeastBar = 6, kMostBar = 16, kGap = 2;
    const auto& rows = summary_.rows;
    const auto columns = table_columns();
    TextTable table;
    for (const auto& each : columns) table.columns.push_back(each.column);
    std::vector<std::size_t> depths;
    for (const SummaryRow& row : rows) depths.push_back(row.depth);
    const auto lines = tree_lines(depths);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      TableRow& row = table.rows.emplace_back();
      for (const auto& each : columns) {
        TableCell& cell = row.emplace_back(each.text(rows[i], Style::kExact));
        cell.markdown = each.is_code(rows[i]) ? markdown_code(cell.text) : cell.text;
      }
      row[0].tree = lines[i];
      if (rows[i].status == ModuleStatus::kFailed) row[1].style = kRed;
    }
    if (is_markdown()) return table.write(out_, layout_);
    table.fit();
    const auto place = [&](std::string_view title) {
      return static_cast<std::size_t>(std::ranges::find(table.columns, title, &TableColumn::title) -
                                      table.columns.begin());
    };
    const auto round = [&](std::string_view title) {
      const std::size_t column = place(title);
      if (column == table.columns.size()) return;
      for (std::size_t i = 0; i < rows.size(); ++i)
        table.rows[i][column] = columns[column].text(rows[i], Style::kRounded);
      table.fit();
    };
    const bool has_bar = place("MACs") < table.columns.size() || summary_.has_measurements();
    std::size_t bar = layout_.colour && has_bar ? kLeastBar : 0;
    const auto room = [&] { return std::max(layout_.width, kLeastTable) - (bar == 0 ? 0 : bar + kGap); };
    const auto fits = [&] { return table.width() <= room(); };
    const auto can_be_cut = [&] { return table.least_width() <= room(); };
    // Rounds numbers, evaluates expressions, leaves out columns of texts, and cuts texts, until the table
    // fits. Names are cut last.
    std::size_t& name = table.columns[0].least;
    name = std::max(name, std::min(table.columns[0].width, room() / 2));
    if (!fits()) round("MACs");
    if (!fits()) round("FLOPs");
    if (!can_be_cut()) round("Params");
    if (!can_be_cut()) {
      most_expression_ = 0;
      round("MACs");
      for (const CostColumn column : summary_.columns) round(title(column));
    }
    if (!can_be_cut()) bar = 0;
    if (!can_be_cut() && place("Bytes") < table.columns.size()) table.remove(place("Bytes"));
    while (!can_be_cut() && !table.columns[1].right) table.remove(1);
    table.cut_to(room());
    table.cut_to(room(), kLeastCell);
    if (bar != 0) {
      if (fits()) bar = std::min(kMostBar, bar + room() - table.width());
      table.columns.push_back({.title = "", .width = bar});
      for (std::size_t i = 0; i < rows.size(); ++i) table.rows[i].emplace_back(bar_text(rows[i], bar), kCyan);
    }
    table.write(out_, layout_, kBold);
  }

  void notes() {
    const auto notes = note_texts();
    if (is_markdown() && !notes.empty()) line();
    for (const std::string& note : notes) sentence(note);
  }

 private:
  // Returns "model.pt: pkg.Net, TorchScript".
  std::string headline() const { return one_line(summary_.model.file + ": " + model_text(summary_.model)); }

  // A column of the table and its cells; in Markdown, cells for which `is_code` holds are quoted.
  struct Column {
    TableColumn column;
    std::function<std::string(const SummaryRow&, Style)> text;
    std::function<bool(const SummaryRow&)> is_code = [](const SummaryRow&) { return false; };
  };
  std::vector<Column> table_columns() const {
    const auto always = [](const SummaryRow&) { return true; };
    const bool is_measured = summary_.has_measurements();
    const bool has_costs = summary_.has_costs();
    // The columns that are read first keep the most characters when the table is cut.
    std::vector<Column> columns = {
        {{"Module", false, 22, Keep::kEnd},
         [=, this](const SummaryRow& row, Style) { return name(row, is_markdown()); },
         [](const SummaryRow& row) { return !row.path.empty(); }},
        {{"Type", false, 12}, [this](const SummaryRow& row, Style) { return type(row); }, always}};
    if (summary_.has_shapes() && !is_measured) {
      const std::string dtype = is_markdown() ? markdown_code(usual_dtype_) : usual_dtype_;
      columns.push_back({{dtype.empty() ? "Output" : "Output (" + dtype + ")", false, 16},
                         [this](const SummaryRow& row, Style) { return outputs(row); },
                         always});
    }
    const auto add = [&](const char* title, auto text) { columns.push_back({{title, true}, text}); };
    add("Params", [](const SummaryRow& row, Style style) {
      return counted_text(row, &TensorCount::elements, style == Style::kExact ? with_separators : rounded);
    });
    if (!is_measured) {
      add("Bytes",
          [](const SummaryRow& row, Style) { return counted_text(row, &TensorCount::bytes, bytes_text); });
    }
    if (has_costs) {
      add("MACs", [this](const SummaryRow& row, Style style) { return macs(row, style).marked(); });
      columns.back().is_code = [](const SummaryRow& row) { return row.macs && !row.macs->is_number(); };
    }
    if (!is_measured && (has_costs || is_markdown())) {
      for (const CostColumn column : summary_.columns) {
        add(title(column),
            [=, this](const SummaryRow& row, Style style) { return cost(row, column, style).marked(); });
        if (column == CostColumn::kFlops)
          columns.back().is_code = [](const SummaryRow& row) { return row.flops && !row.flops->is_number(); };
      }
    }
    if (summary_.fit) {
      add("Least time", [this](const SummaryRow& row, Style) { return least_time(row).marked(); });
      columns.push_back({{"Bound"}, [](const SummaryRow& row, Style) {
                           return row.least && row.least->seconds() > 0 ? row.least->bound() : "";
                         }});
    }
    if (!is_measured) return columns;
    add("Time",
        [](const SummaryRow& row, Style) { return row.measured ? seconds_text(row.measured->seconds) : ""; });
    add("Share", [all = seconds(summary_.rows.front())](const SummaryRow& row, Style) {
      return row.measured && all > 0 ? formatted("%.1f %%", 100 * row.measured->seconds / all) : "";
    });
    add("Memory", [](const SummaryRow& row, Style) {
      return row.measured ? bytes_text(row.measured->peak_bytes) : "";
    });
    if (!has_costs) return columns;
    add("FLOP/s", [](const SummaryRow& row, Style) {
      const auto rate = flops_per_second(row);
      return rate ? rounded(std::llround(*rate)) : "";
    });
    return columns;
  }

  // Returns the row's share of the measured time, or else of the MACs.
  double share(const SummaryRow& row) const {
    const double time = seconds(summary_.rows.front());
    if (time > 0) return seconds(row) / time;
    const auto all = typical_value(summary_.macs);
    const auto own = typical_value(row.macs);
    if (!all || !own || *all <= 0) return 0;
    return static_cast<double>(*own) / static_cast<double>(*all);
  }

  // Returns names and types of inputs or outputs: "x", "float32[1, 3, 224, 224]".
  static std::vector<Line> port_lines(const std::vector<ModelSummary::Port>& ports) {
    std::vector<Line> lines;
    for (const auto& [name, meta, fixed, label] : ports)
      lines.emplace_back(one_line(label.empty() ? name : label),
                         one_line(fixed ? print_argument(*fixed) + " (fixed)" : value_or_type(meta, "?")));
    return lines;
  }

  // Returns the totals of the model: "MACs", "1,814,073,344 (1.81 G)".
  std::vector<Line> totals() const {
    std::vector<Line> lines;
    const auto add_tensors = [&](const char* label, const TensorTotal& total) {
      lines.emplace_back(label, with_separators(total.elements) + " (" + bytes_text(total.bytes) + ")");
    };
    if (summary_.parameters.tensors == 0) {
      lines.emplace_back("Parameters", "none");
    } else {
      add_tensors("Parameters", summary_.parameters);
    }
    if (summary_.buffers.tensors != 0) add_tensors("Buffers", summary_.buffers);
    if (summary_.constants.tensors != 0) add_tensors("Constants", summary_.constants);
    const auto dtype_text = [](const auto& item) { return item.first + " " + bytes_text(item.second); };
    if (!summary_.dtypes.empty()) lines.emplace_back("Dtypes", one_line(joined(summary_.dtypes, dtype_text)));
    auto devices = summary_.parameters.devices;
    devices.insert(summary_.buffers.devices.begin(), summary_.buffers.devices.end());
    if (const std::string on = joined(devices); !on.empty())
      lines.emplace_back(devices.size() == 1 ? "Device" : "Devices", one_line(on));
    if (!summary_.producer.empty()) lines.emplace_back("Saved by", one_line(summary_.producer));
    if (summary_.has_costs()) add_costs(lines);
    if (summary_.fit) add_fit(*summary_.fit, lines);
    return lines;
  }

  // Returns notes on the table: modules that failed, omitted rows, the meaning of marks.
  std::vector<std::string> note_texts() const {
    std::vector<std::string> lines;
    if (summary_.hidden > 0) {
      lines.push_back("... and " + counted(summary_.hidden, "module") + " further down (" +
                      (summary_.has_measurements()
                           ? "--json has all"
                           : "--depth " + std::to_string(summary_.max_depth.value_or(0) + 1)) +
                      ")");
    }
    const bool has_costs = summary_.has_costs();
    if (summary_.model.is_torchscript() && !summary_.has_shapes() && !has_costs &&
        std::ranges::any_of(summary_.inputs, lacks_shape))
      lines.emplace_back("Shapes and MACs need the shapes of the inputs, which --input gives");
    if (std::ranges::any_of(summary_.rows, is_counted_elsewhere))
      lines.emplace_back("(...) are shared with another module and counted there");
    if (has_costs && std::ranges::any_of(summary_.rows, &SummaryRow::is_in_body))
      lines.emplace_back(
          "Modules that run in a branch or a loop have no MACs of their own: the enclosing module has them");
    if (!summary_.failed.empty()) {
      lines.push_back(failed_text());
      if (has_costs && summary_.has_closed())
        lines.emplace_back(
            "Costs and calls of a module that failed are those of its submodules, each run once");
    }
    if (has_costs && !summary_.unknown.empty()) {
      constexpr std::size_t kShown = 5;
      std::vector<std::string> shown;
      for (const auto& [name, calls] : summary_.unknown) {
        if (shown.size() < kShown) shown.push_back(name + " (" + counted(calls, "call") + ")");
      }
      const std::size_t more = summary_.unknown.size() - shown.size();
      lines.push_back(one_line("+: without operators whose cost is not known: " + joined(shown) +
                               (more > 0 ? " and " + std::to_string(more) + " more" : "")));
    }
    if (has_costs && summary_.unsized > 0)
      lines.push_back("+: without " + counted(summary_.unsized, "call") + " whose sizes are not known");
    const auto is_example = [&](const SummaryRow& row) {
      return macs(row, Style::kExact).is_example ||
             std::ranges::any_of(
                 summary_.columns,
                 [&](CostColumn column) { return cost(row, column, Style::kExact).is_example; }) ||
             (summary_.fit && least_time(row).is_example);
    };
    if (has_costs && std::ranges::any_of(summary_.rows, is_example))
      lines.push_back("~: at " + example_.text + "; --at gives other sizes");
    return lines;
  }

  // Returns the dtype of most outputs; empty when there is none.
  static std::string usual_dtype(const ModelSummary& summary) {
    std::map<std::string, std::size_t> counts;
    for (const SummaryRow& row : summary.rows) {
      if (!row.outputs || row.outputs->empty()) continue;
      if (auto dtype = row.outputs->front().dtype_text()) ++counts[*std::move(dtype)];
    }
    const auto most = std::ranges::max_element(counts, {}, [](const auto& item) { return item.second; });
    return most == counts.end() ? "" : most->first;
  }

  // Returns whether --input could give a shape of the input that is not known.
  static bool lacks_shape(const ModelSummary::Port& input) { return !input.fixed && has_unsized(input.meta); }
  static bool has_unsized(const Meta& meta) {
    if (meta.items) return std::ranges::any_of(*meta.items, has_unsized);
    return !meta.shape && (!meta.type || meta.type->find("Tensor") != std::string::npos);
  }

  static bool is_counted_elsewhere(const SummaryRow& row) {
    return row.counted_parameters().elements == 0 && row.parameters.elements > 0;
  }
  static std::string path_or_root(const std::string& path) { return path.empty() ? "the root" : path; }
  static double seconds(const SummaryRow& row) { return row.measured ? row.measured->seconds : 0; }
  static std::string formatted(const char* format, double number) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), format, number);
    return text.data();
  }

  // Returns "layer1", "0 - 11", "layer0 - 11" or "(root)"; with `whole`, the path: "h.0 - h.11".
  static std::string name(const SummaryRow& row, bool whole) {
    if (row.path.empty()) return "(root)";
    if (!row.last) return one_line(whole ? row.path : row.name);
    if (whole) return one_line(row.path + " - " + *row.last);
    // Only the number of the last name is shown, unless the names differ in more than that.
    const std::string last(QualifiedName(*row.last).last());
    const std::string_view prefix = without_last_number(row.name);
    const bool is_number = prefix.size() < row.name.size() && prefix == without_last_number(last);
    return one_line(row.name + " - " + last.substr(is_number ? prefix.size() : 0));
  }

  // Returns the type without its package, with counts: "12 x Block", "ReLU (2 calls)".
  static std::string type(const SummaryRow& row) {
    std::string text = row.type.empty() ? "-" : std::string(QualifiedName(row.type).last());
    if (row.repeats > 1) text = std::to_string(row.repeats) + " x " + text;
    if (row.alias_of) {
      text += " (= " + path_or_root(*row.alias_of) + ")";
    } else if (row.status == ModuleStatus::kFailed) {
      text += " (failed)";
    } else {
      std::vector<std::string> calls = row.methods;
      if (row.calls > 1) calls.insert(calls.begin(), std::to_string(row.calls) + " calls");
      if (!calls.empty()) text += " (" + joined(calls) + ")";
    }
    return one_line(text);
  }

  // Returns "[1, 64, 112, 112]", with the dtype if it is not the usual one; for several tensors, the first
  // and the number of others.
  std::string outputs(const SummaryRow& row) const {
    if (!row.outputs || row.outputs->empty()) return "";
    const Meta& first = row.outputs->front();
    std::string text = first.shape ? "" : "?";
    if (first.shape) {
      if (const auto dtype = first.dtype_text(); dtype && *dtype != usual_dtype_) text += *dtype;
      text += "[" + joined(*first.shape, &Meta::Dim::text) + "]";
    }
    if (row.outputs->size() > 1) text += " +" + std::to_string(row.outputs->size() - 1);
    return one_line(text);
  }

  // Returns "38,597,376"; in parentheses when another row counts them.
  static std::string counted_text(const SummaryRow& row, std::int64_t TensorCount::* number,
                                  std::string (*text)(std::int64_t)) {
    if (row.alias_of) return "";
    if (is_counted_elsewhere(row)) return "(" + text(row.parameters.*number) + ")";
    const std::int64_t counted = row.counted_parameters().*number;
    return counted == 0 ? "-" : text(counted);
  }

  struct SizeText {
    std::string text;
    bool is_example = false;  // the value is that at the example's sizes
    std::string marked() const { return (is_example ? "~" : "") + text; }
  };

  // Returns a number or an expression; for an expression that is too long, its value at the example's sizes.
  SizeText size_text(const SymInt& size, std::string (*whole_text)(std::int64_t),
                     std::string (*number_text)(std::int64_t)) const {
    if (const auto number = size.number()) return {whole_text(*number)};
    std::string text = one_line(readable_size(size, number_text));
    if (width(text) <= most_expression_) return {std::move(text)};
    const auto number = size.evaluate(example_.sizes);
    return {number ? number_text(*number) : "?", number.has_value()};
  }

  // Returns "1,814,073,344" or "1.81 G", or an expression, "batch·1.81 G"; "?" when unknown, "-" for 0; with
  // "+" appended when a part is unknown.
  SizeText macs(const SummaryRow& row, Style style) const { return work(row, row.macs, style); }
  SizeText work(const SummaryRow& row, const std::optional<SymInt>& size, Style style) const {
    if (row.alias_of) return {};
    if (!size) return {row.is_partial() ? "?" : ""};
    const bool is_zero = size->number() == std::int64_t{0};
    if (is_zero && row.is_partial()) return {"?"};
    const auto whole_text = style == Style::kExact ? with_separators : rounded;
    SizeText result = is_zero ? SizeText{"-"} : size_text(*size, whole_text, rounded);
    if (row.is_partial()) result.text += '+';
    return result;
  }

  static const char* title(CostColumn column) {
    switch (column) {
      case CostColumn::kWeights:
        return "Weights read";
      case CostColumn::kKvCache:
        return "KV cache";
      case CostColumn::kIntensity:
        return "FLOP/B";
      case CostColumn::kQuantization:
        return "Quantized";
      case CostColumn::kFlops:
        return "FLOPs";
    }
    return "";
  }

  // Returns "1.24 ms"; "?" where the device does not tell the peak of a dtype.
  SizeText least_time(const SummaryRow& row) const {
    if (row.alias_of || !row.macs) return {};
    if (!row.least) return {"?"};
    const bool is_example =
        !row.macs->is_number() || (row.activation_bytes && !row.activation_bytes->is_number());
    if (row.least->seconds() == 0) return {"-"};
    return {seconds_text(row.least->seconds()), is_example};
  }

  SizeText cost(const SummaryRow& row, CostColumn column, Style style) const {
    if (column == CostColumn::kFlops) return work(row, row.flops, style);
    if (row.alias_of) return {};
    if (column == CostColumn::kQuantization) return {to_string(row.quantization)};
    if (column == CostColumn::kIntensity) {
      const auto intensity = arithmetic_intensity(row, example_.sizes);
      if (!intensity) return {row.macs ? "?" : ""};
      if (*intensity == 0) return {"-"};
      const bool is_example = !row.macs->is_number() || !row.activation_bytes->is_number();
      const char* format = *intensity < 10 ? "%.2f" : *intensity < 100 ? "%.1f" : "%.0f";
      return {formatted(format, *intensity), is_example};
    }
    const auto& size = column == CostColumn::kWeights ? row.weights_read : row.kv_cache;
    if (!size) return {row.is_partial() ? "?" : ""};
    return *size == SymInt(0) ? SizeText{"-"} : size_text(*size, bytes_text, bytes_text);
  }

  void add_costs(std::vector<Line>& lines) const {
    const bool is_partial = summary_.unsized > 0 || !summary_.unknown.empty() || summary_.has_closed();
    if (!summary_.macs) {
      lines.emplace_back("MACs", "not known");
    } else {
      auto [text, is_example] = size_text(*summary_.macs, with_separators, rounded);
      if (is_example) text += " at " + example_.text;
      if (const auto number = summary_.macs->number(); number && *number >= 1000)
        text += " (" + rounded(*number) + ")";
      lines.emplace_back("MACs", text + (is_partial ? ", plus an unknown part" : ""));
    }
    if (summary_.flops && std::ranges::count(summary_.columns, CostColumn::kFlops) > 0) {
      const auto [text, is_example] = size_text(*summary_.flops, with_separators, rounded);
      lines.emplace_back("FLOPs", text + (is_example ? " at " + example_.text : ""));
    }
    if (!summary_.activation_bytes) return;
    auto [text, is_example] = size_text(*summary_.activation_bytes, bytes_text, bytes_text);
    const auto& peak_bytes = summary_.peak_bytes;
    const auto peak = peak_bytes ? peak_bytes->evaluate(example_.sizes) : summary_.example_peak;
    if (peak) text += ", at most " + bytes_text(*peak) + " at a time";
    if (is_example || (peak && !(peak_bytes && peak_bytes->is_number()))) text += " at " + example_.text;
    lines.emplace_back("Activations", text);
  }

  void add_fit(const DeviceFit& fit, std::vector<Line>& lines) const {
    const auto least = summary_.rows.empty() ? std::nullopt : summary_.rows.front().least;
    const std::string at = fit.sizes.empty() ? "" : " at " + example_.text;
    lines.emplace_back("On", one_line(fit.device.title));
    if (least) {
      lines.emplace_back("Least time", seconds_text(least->seconds()) + at + ", bound by " + least->bound() +
                                           " (compute " + seconds_text(least->compute) + ", memory " +
                                           seconds_text(least->memory) + ")");
    } else if (!fit.unknown_dtypes.empty()) {
      lines.emplace_back("Least time", one_line("not known: the device tells no peak for " +
                                                joined(fit.unknown_dtypes, [](const std::string& dtype) {
                                                  return dtype.empty() ? "unknown dtypes" : dtype;
                                                })));
    }
    const auto fits = fit.fits();
    std::string text = bytes_text(fit.needed_bytes()) + at + " of " + bytes_text(fit.device.memory_bytes) +
                       (!fits   ? ", and activations"
                        : *fits ? ": fits"
                                : ": does not fit") +
                       " (weights " + bytes_text(fit.weight_bytes);
    if (fit.activation_bytes) text += ", activations " + bytes_text(*fit.activation_bytes);
    lines.emplace_back("Memory", text + ")");
    if (fit.cache_bytes > 0) lines.emplace_back("KV cache", bytes_text(fit.cache_bytes) + " of that");
  }

  // Writes the tensors that live at the peak.
  void memory() {
    const MemoryTimeline& memory = *summary_.memory;
    if (memory.steps.empty()) return heading("Live at the peak", "not known");
    const MemoryTimeline::Step& peak = memory.steps[memory.peak];
    const auto step_text = [](std::size_t step) { return with_separators(static_cast<std::int64_t>(step)); };
    std::string where = memory.peak == 0 ? "the inputs"
                                         : "call " + step_text(memory.peak) + " of " +
                                               step_text(memory.steps.size() - 1) + ", " + peak.node;
    if (!summary_.memory_sizes.empty()) where += ", at " + summary_.memory_sizes;
    heading("Live at the peak: " + bytes_text(peak.live), one_line(where));
    if (is_markdown()) line();
    constexpr std::size_t kMostTensors = 20;
    TextTable table{
        {{"Bytes", true}, {"Tensor", false, 12}, {"Module", false, 12, Keep::kEnd}, {"Calls", true}}};
    for (const MemoryTimeline::Tensor& tensor : memory.tensors) {
      if (table.rows.size() == kMostTensors) break;
      table.rows.push_back({bytes_text(tensor.bytes), tensor.node + (tensor.is_inside ? " (inside)" : ""),
                            tensor.module.empty() ? "(root)" : tensor.module,
                            step_text(tensor.made) + " - " + step_text(tensor.last_use)});
    }
    const std::size_t more = memory.tensors.size() - table.rows.size();
    Document::table(std::move(table), more, kBold);
  }

  std::string failed_text() const {
    const auto& first = summary_.failed.front();
    std::string text = with_separators(static_cast<std::int64_t>(summary_.failed.size())) + " of " +
                       counted(summary_.modules, "module") + " failed to trace, " +
                       (summary_.failed.size() == 1 ? "" : "first ") + path_or_root(first.path);
    if (first.failure) {
      constexpr std::size_t kMostMessage = 100;
      text += ": " + cut(one_line(first.failure->message), kMostMessage);
      if (const auto& source = first.failure->source)
        text += " (" + source->file + ":" + std::to_string(source->line) + ")";
    }
    return one_line(text);
  }

  std::string bar_text(const SummaryRow& row, std::size_t most) const {
    const double part = std::min(1.0, share(row));
    if (part <= 0) return "";
    constexpr std::array kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    const auto eighths = std::max(1L, std::lround(part * 8 * static_cast<double>(most)));
    std::string text;
    for (long i = 0; i < eighths / 8; ++i) text += "█";
    return text + kEighths[static_cast<std::size_t>(eighths % 8)];
  }

  void ports(const std::string& title, const std::vector<Line>& ports, std::size_t names) {
    constexpr std::size_t kMostPorts = 16;  // JSON has all
    constexpr std::size_t kTitle = std::string_view("Outputs").size();
    if (is_markdown()) {
      const auto code = [](const Line& port) {
        return (port.first.empty() ? "" : markdown_code(port.first) + " ") + markdown_code(port.second);
      };
      if (!ports.empty()) line("- " + title + ": " + joined(ports, code));
      return;
    }
    for (std::size_t i = 0; i < std::min(ports.size(), kMostPorts + 1); ++i) {
      const auto& [name, text] = ports[i];
      const std::string label = bold(i == 0 ? title + std::string(kTitle - title.size(), ' ') : "") +
                                std::string(i == 0 ? 2 : kTitle + 2, ' ');
      if (i == kMostPorts) return line(label + "... and " + std::to_string(ports.size() - i) + " more");
      line(label + (names == 0 ? "" : name + std::string(names - width(name) + 2, ' ')) + text);
    }
  }

  const ModelSummary& summary_;
  const ExampleSizes example_;
  const std::string usual_dtype_;
  // The length of an expression that is written as such; longer ones are evaluated.  The first is what is
  // readable at a glance.
  std::size_t most_expression_ = 40;
};

}  // namespace

void write_summary(const ModelSummary& summary, std::ostream& out, const TextLayout& layout) {
  SummaryReport(summary, out, layout).document();
}

void write_measured_table(const ModelSummary& summary, std::ostream& out, const TextLayout& layout) {
  SummaryReport text(summary, out, layout);
  text.table();
  text.notes();
}

namespace {

void write_memory_csv(const MemoryTimeline& memory, std::ostream& out) {
  Csv csv(out, "step node module target allocated_bytes live_bytes kept_bytes");
  for (std::size_t i = 0; i < memory.steps.size(); ++i) {
    const MemoryTimeline::Step& step = memory.steps[i];
    csv.row(static_cast<std::int64_t>(i), step.node, step.module, step.target, step.allocated, step.live,
            step.kept);
  }
}

}  // namespace

void write_summary_csv(const ModelSummary& summary, std::ostream& out) {
  if (summary.memory) return write_memory_csv(*summary.memory, out);
  std::string columns =
      "path last_path modules depth type status alias_of calls output_dtype output_shape own_parameters "
      "parameters parameter_bytes shared_parameters shared_parameter_bytes buffers buffer_bytes macs flops "
      "activation_bytes unknown_calls unsized_calls failed_modules";
  for (const CostColumn column : summary.columns) {
    if (column != CostColumn::kFlops) columns += std::string(" ") + to_string(column);
  }
  if (summary.fit) columns += " least_seconds bound";
  Csv csv(out, columns);
  const auto dtype = [](const Meta& meta) { return meta.dtype_text().value_or("?"); };
  const auto shape = [](const Meta& meta) {
    return meta.shape ? "[" + joined(*meta.shape, &Meta::Dim::text) + "]" : "?";
  };
  for (const SummaryRow& row : summary.rows) {
    const std::vector<Meta> outputs = row.outputs.value_or(std::vector<Meta>());
    csv.cells(row.path, row.last.value_or(""), row.modules, static_cast<std::int64_t>(row.depth), row.type,
              to_string(row.status), row.alias_of.value_or(""), row.calls, joined(outputs, dtype, "; "),
              joined(outputs, shape, "; "), row.own_parameters.elements, row.parameters.elements,
              row.parameters.bytes, row.shared_parameters.elements, row.shared_parameters.bytes,
              row.buffers.elements, row.buffers.bytes, row.macs, row.flops, row.activation_bytes, row.unknown,
              row.unsized, row.failed);
    for (const CostColumn column : summary.columns) {
      if (column == CostColumn::kFlops) continue;
      if (column == CostColumn::kIntensity) {
        const auto intensity = arithmetic_intensity(row, {});
        intensity ? csv.cell(*intensity) : csv.cell("");
      } else if (column == CostColumn::kQuantization) {
        csv.cell(to_string(row.quantization));
      } else {
        csv.cell(column == CostColumn::kWeights ? row.weights_read : row.kv_cache);
      }
    }
    if (summary.fit) {
      row.least ? csv.cell(row.least->seconds()) : csv.cell("");
      csv.cell(row.least ? row.least->bound() : "");
    }
    csv.end_row();
  }
}

void write_memory_trace(const ModelSummary& summary, std::ostream& out) {
  JsonEmitter json(out, JsonLayout::kSpaced);
  const MemoryTimeline memory = summary.memory.value_or(MemoryTimeline());
  json.document([&] {
    std::size_t at = 0;
    json.field("displayTimeUnit", "ns");
    json.key("traceEvents").list_lines(memory.steps, [&](const MemoryTimeline::Step& step) {
      json.object([&] {
        json.field("name", step.node.empty() ? "inputs" : step.node);
        json.field("ph", "X");
        json.field("ts", at);
        json.field("dur", 1);
        json.field("pid", 1);
        json.field("tid", 1);
        json.key("args").object([&] {
          json.field("module", step.module);
          json.field("target", step.target);
          json.field("allocated_bytes", step.allocated);
        });
      });
      json.item();
      json.object([&] {
        json.field("name", "live bytes");
        json.field("ph", "C");
        json.field("ts", at++);
        json.field("pid", 1);
        json.key("args").object([&] { json.field("bytes", step.live); });
      });
    });
  });
}

}  // namespace fxtrace::internal
