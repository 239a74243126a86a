#include "writers/summary_words.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <string_view>

#include "graph/text_form.h"
#include "support/columns.h"
#include "support/printable.h"
#include "support/qualified_name.h"
#include "support/utf8.h"
#include "support/words.h"
#include "symbolic/readable_size.h"

namespace fxtrace::summary_words {
namespace {

bool is_shared_elsewhere(const SummaryRow& row) {
  return row.counted_parameters().elements == 0 && row.parameters.elements > 0;
}

std::string count(std::int64_t number, Style style) {
  return style == Style::kExact ? with_separators(number) : rounded(number);
}

constexpr std::size_t kMostExpression = 40;  // characters that are readable at a glance

// An expression that is too long to be read is its value at the example's sizes, with a mark.
std::string expression_text(const SymInt& size, const ExampleSizes& example,
                            std::string (*number_text)(std::int64_t)) {
  std::string text = one_line(readable_size(size, number_text));
  if (width(text) <= kMostExpression) return text;
  const auto number = size.evaluate(example.sizes);
  return number ? "~" + number_text(*number) : "?";
}

std::string size_text(const SymInt& size, Style style, const ExampleSizes& example) {
  if (const auto number = size.number()) return count(*number, style);
  return expression_text(size, example, rounded);
}

std::string bytes_or_expression(const SymInt& size, const ExampleSizes& example) {
  if (const auto number = size.number()) return bytes_text(*number);
  return expression_text(size, example, bytes_text);
}

// What is new of the last name, "11" of "layer0" and "layer11"; all of it where the number is not at its end.
std::string end_of_range(const std::string& first, const std::string& last) {
  const std::string_view prefix = without_last_number(first);
  return prefix.size() < first.size() && prefix == without_last_number(last) ? last.substr(prefix.size())
                                                                             : last;
}

// "float32[1, 3]"; of what is no tensor its type.
std::string port_text(const Meta& meta) {
  if (meta.shape || meta.value) return one_line(value_text(meta));
  return meta.type ? one_line(*meta.type) : "?";
}

std::string tensors(const TensorTotal& total) {
  return with_separators(total.elements) + " (" + bytes_text(total.bytes) + ")";
}

std::string path_or_root(const std::string& path) { return path.empty() ? "the root" : path; }

}  // namespace

std::string headline(const ModelSummary& summary) {
  std::string text = summary.model.file + ": ";
  text += summary.model.type.empty() ? "" : summary.model.type + ", ";
  text += summary.model.kind_text();
  if (summary.model.method != "forward" && !summary.model.method.empty())
    text += ", method " + summary.model.method;
  return one_line(text);
}

std::string name(const SummaryRow& row, bool whole) {
  if (row.path.empty()) return "(root)";
  std::string text = whole ? row.path : row.name;
  if (row.last && whole) text += " - " + *row.last;
  if (row.last && !whole)
    text += " - " + end_of_range(row.name, std::string(QualifiedName(*row.last).last()));
  return one_line(text);
}

std::string type(const SummaryRow& row) {
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

std::string outputs(const SummaryRow& row, const std::string& usual_dtype) {
  if (!row.outputs || row.outputs->empty()) return "";
  const Meta& first = row.outputs->front();
  Meta shown = first;
  shown.type.reset();
  if (shown.dtype == usual_dtype) shown.dtype.reset();
  std::string text = first.shape ? "" : "?";
  if (first.shape) {
    if (shown.dtype) text += *shown.dtype;
    text += "[" + joined(*first.shape, &Meta::Dim::text) + "]";
  }
  if (row.outputs->size() > 1) text += " +" + std::to_string(row.outputs->size() - 1);
  return one_line(text);
}

std::string usual_dtype(const ModelSummary& summary) {
  std::map<std::string, std::size_t> counts;
  for (const SummaryRow& row : summary.rows) {
    if (row.outputs && !row.outputs->empty() && row.outputs->front().dtype)
      ++counts[*row.outputs->front().dtype];
  }
  const auto most = std::ranges::max_element(counts, {}, [](const auto& item) { return item.second; });
  return most == counts.end() ? "" : most->first;
}

ExampleSizes example_sizes(const ModelSummary& summary) {
  constexpr std::int64_t kUsualSize = 128;
  ExampleSizes example;
  const auto add = [&](const Expression& size, std::int64_t number) {
    const SymInt* of = size.size();
    if (of == nullptr || of->is_number()) return;
    for (const std::string& name : of->symbols()) {
      if (example.sizes.emplace(name, number).second)
        example.text += (example.text.empty() ? "" : ", ") + one_line(name) + "=" + std::to_string(number);
    }
  };
  // A first size is most often that of a batch.
  for (const ModelSummary::Port& input : summary.inputs) {
    if (!input.meta.shape) continue;
    for (const Expression& size : *input.meta.shape)
      add(size, &size == input.meta.shape->data() ? 1 : kUsualSize);
  }
  const auto add_names = [&](const std::optional<SymInt>& size) {
    if (size) add(*size, kUsualSize);
  };
  for (const auto& size : {summary.macs, summary.activation_bytes, summary.peak_bytes}) add_names(size);
  for (const SummaryRow& row : summary.rows) add_names(row.macs);
  return example;
}

std::string macs(const SummaryRow& row, Style style, const ExampleSizes& example) {
  if (row.alias_of) return "";
  if (!row.macs) return row.is_partial() ? "?" : "";
  const bool is_zero = row.macs->number() == std::int64_t{0};
  if (is_zero && row.is_partial()) return "?";
  return (is_zero ? "-" : size_text(*row.macs, style, example)) + (row.is_partial() ? "+" : "");
}

const char* title(CostColumn column) {
  switch (column) {
    case CostColumn::kWeights:
      return "Weights read";
    case CostColumn::kKvCache:
      return "KV cache";
    case CostColumn::kIntensity:
      return "FLOP/B";
  }
  return "";
}

std::string cell(const SummaryRow& row, CostColumn column, const ExampleSizes& example) {
  if (row.alias_of) return "";
  if (column == CostColumn::kIntensity) {
    const auto intensity = arithmetic_intensity(row, example.sizes);
    if (!intensity) return row.macs ? "?" : "";
    if (*intensity == 0) return "-";
    const bool is_example = !row.macs->is_number() || !row.activation_bytes->is_number();
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(),
                  *intensity < 10    ? "%.2f"
                  : *intensity < 100 ? "%.1f"
                                     : "%.0f",
                  *intensity);
    return (is_example ? "~" : "") + std::string(text.data());
  }
  const auto& size = column == CostColumn::kWeights ? row.weights_read : row.kv_cache;
  if (!size) return row.is_partial() ? "?" : "";
  return *size == SymInt(0) ? "-" : bytes_or_expression(*size, example);
}

std::string parameters(const SummaryRow& row, Style style) {
  if (row.alias_of) return "";
  if (is_shared_elsewhere(row)) return "(" + count(row.parameters.elements, style) + ")";
  const std::int64_t counted = row.counted_parameters().elements;
  return counted == 0 ? "-" : count(counted, style);
}

std::string parameter_bytes(const SummaryRow& row) {
  if (row.alias_of) return "";
  if (is_shared_elsewhere(row)) return "(" + bytes_text(row.parameters.bytes) + ")";
  const std::int64_t counted = row.counted_parameters().bytes;
  return counted == 0 ? "-" : bytes_text(counted);
}

double seconds(const SummaryRow& row) { return row.measured ? row.measured->seconds : 0; }

std::string time(const SummaryRow& row) { return row.measured ? seconds_text(row.measured->seconds) : ""; }

std::string share(const SummaryRow& row, double all) {
  if (!row.measured || all <= 0) return "";
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f %%", 100 * row.measured->seconds / all);
  return text.data();
}

std::string memory(const SummaryRow& row) { return row.measured ? bytes_text(row.measured->peak_bytes) : ""; }

std::string operations_per_second(const SummaryRow& row) {
  const auto rate = flops_per_second(row);
  return rate ? rounded(std::llround(*rate)) : "";
}

std::vector<Line> ports(const std::vector<ModelSummary::Port>& ports) {
  std::vector<Line> lines;
  for (const auto& port : ports) lines.emplace_back(one_line(port.name), port_text(port.meta));
  return lines;
}

std::vector<Line> totals(const ModelSummary& summary) {
  std::vector<Line> lines;
  lines.emplace_back("Parameters", summary.parameters.tensors == 0 ? "none" : tensors(summary.parameters));
  if (summary.buffers.tensors != 0) lines.emplace_back("Buffers", tensors(summary.buffers));
  if (summary.constants.tensors != 0) lines.emplace_back("Constants", tensors(summary.constants));
  std::string dtypes;
  for (const auto& [dtype, bytes] : summary.dtypes)
    dtypes += (dtypes.empty() ? "" : ", ") + dtype + " " + bytes_text(bytes);
  if (!dtypes.empty()) lines.emplace_back("Dtypes", one_line(dtypes));
  auto devices = summary.parameters.devices;
  devices.insert(summary.buffers.devices.begin(), summary.buffers.devices.end());
  if (const std::string on = joined(devices); !on.empty())
    lines.emplace_back(devices.size() == 1 ? "Device" : "Devices", one_line(on));
  if (!summary.producer.empty()) lines.emplace_back("Saved by", one_line(summary.producer));
  const bool is_partial = summary.unsized > 0 || !summary.unknown.empty() || summary.has_closed();
  const ExampleSizes example = example_sizes(summary);
  const auto at_example = [&](const std::string& text) {
    return text.starts_with("~") ? text.substr(1) + " at " + example.text : text;
  };
  if (summary.has_costs() && summary.macs) {
    std::string text = at_example(size_text(*summary.macs, Style::kExact, example));
    if (const auto number = summary.macs->number(); number && *number >= 1000)
      text += " (" + rounded(*number) + ")";
    lines.emplace_back("MACs", text + (is_partial ? ", and what is not known" : ""));
  }
  if (summary.has_costs() && !summary.macs) lines.emplace_back("MACs", "not known");
  if (summary.has_costs() && summary.activation_bytes) {
    const std::string bytes = bytes_or_expression(*summary.activation_bytes, example);
    const bool is_example = bytes.starts_with("~");
    const auto peak = summary.peak_bytes ? summary.peak_bytes->evaluate(example.sizes) : summary.example_peak;
    std::string text = bytes.substr(is_example ? 1 : 0);
    if (peak) text += ", at most " + bytes_text(*peak) + " at a time";
    if (is_example || (peak && !(summary.peak_bytes && summary.peak_bytes->is_number())))
      text += " at " + example.text;
    lines.emplace_back("Activations", text);
  }
  return lines;
}

std::vector<std::string> notes(const ModelSummary& summary) {
  std::vector<std::string> lines;
  if (summary.hidden > 0) {
    lines.push_back("... and " + counted(summary.hidden, "module") + " further down (" +
                    (summary.has_measurements()
                         ? "--json has all"
                         : "--depth " + std::to_string(summary.max_depth.value_or(0) + 1)) +
                    ")");
  }
  if (std::ranges::any_of(summary.rows, is_shared_elsewhere))
    lines.emplace_back("(...) are shared with another module and counted there");
  if (summary.has_costs() && std::ranges::any_of(summary.rows, &SummaryRow::is_in_body))
    lines.emplace_back(
        "Modules that run in a branch or a loop have no MACs of their own: the module around has them");
  if (!summary.failed.empty()) {
    const auto& first = summary.failed.front();
    std::string text = with_separators(static_cast<std::int64_t>(summary.failed.size())) + " of " +
                       counted(summary.modules, "module") + " failed to trace, ";
    text += (summary.failed.size() == 1 ? "" : "first ") + path_or_root(first.path);
    if (first.failure) {
      constexpr std::size_t kMostMessage = 100;
      text += ": " + cut(one_line(first.failure->message), kMostMessage);
      if (const auto& source = first.failure->source)
        text += " (" + source->file + ":" + std::to_string(source->line) + ")";
    }
    lines.push_back(one_line(text));
    if (summary.has_costs() && summary.has_closed()) {
      lines.emplace_back(
          "Of a module that failed, costs and calls are those of its submodules, each run once");
    }
  }
  if (summary.has_costs() && !summary.unknown.empty()) {
    constexpr std::size_t kShown = 5;
    std::string text;
    std::size_t shown = 0;
    for (const auto& [name, calls] : summary.unknown) {
      if (shown++ == kShown) break;
      text += (text.empty() ? "" : ", ") + name + " (" + counted(calls, "call") + ")";
    }
    if (summary.unknown.size() > kShown)
      text += " and " + std::to_string(summary.unknown.size() - kShown) + " more";
    lines.push_back(one_line("+: without operators whose cost is not known: " + text));
  }
  if (summary.has_costs() && summary.unsized > 0)
    lines.push_back("+: without " + counted(summary.unsized, "call") + " whose sizes are not known");
  const ExampleSizes example = example_sizes(summary);
  const auto is_example = [&](const SummaryRow& row) {
    return macs(row, Style::kExact, example).starts_with("~") ||
           std::ranges::any_of(summary.columns, [&](CostColumn column) {
             return cell(row, column, example).starts_with("~");
           });
  };
  if (summary.has_costs() && std::ranges::any_of(summary.rows, is_example))
    lines.push_back("~: at " + example.text + "; --at gives other sizes");
  return lines;
}

}  // namespace fxtrace::summary_words
