#include "partition/partition_writers.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "support/text/numbers.h"
#include "support/text/unicode.h"
#include "support/text/words.h"
#include "symbolic/size_text.h"
#include "writers/check/check_writers.h"
#include "writers/formats/csv_text.h"
#include "writers/formats/document.h"
#include "writers/formats/field_writer.h"
#include "writers/formats/markup_text.h"
#include "writers/pictures/dot_writer.h"
#include "writers/pictures/html_writer.h"

namespace fxtrace::internal {
namespace {

constexpr std::size_t kMostRows = 200;   // rows of a table
constexpr std::size_t kMostPlaces = 10;  // calls of one reason that are shown

std::string size_text(const std::optional<SymInt>& size, std::string (*number_text)(std::int64_t)) {
  if (!size) return "?";
  const auto number = size->number();
  return number ? number_text(*number) : readable_size(*size, number_text);
}

std::string set_of(const Partition& partition, const Part& part) {
  return part.set ? partition.sets[*part.set].name : "left";
}

// Returns "3 (588 KiB)": the values that cross, and their bytes.
std::string crossing(const std::vector<PartValue>& values) {
  if (values.empty()) return "0";
  SymInt bytes = 0;
  bool is_known = true;
  for (const PartValue& value : values) {
    is_known = is_known && value.bytes;
    try {
      if (is_known) bytes = bytes + *value.bytes;
    } catch (const SymbolicError&) {
      is_known = false;
    }
  }
  const std::string text = is_known ? size_text(bytes, bytes_text) : "?";
  return with_separators(static_cast<std::int64_t>(values.size())) + " (" + text + ")";
}

std::string source_text(const std::optional<SourceLocation>& source) {
  if (!source || source->line == 0) return "";
  return check_words::source_file(*source) + ":" + std::to_string(source->line) + ": " + source->text;
}

std::string coverage_text(const Coverage& coverage) {
  const auto ratio = coverage.ratio();
  return with_separators(coverage.taken) + " of " + with_separators(coverage.all) +
         (ratio ? " (" + percent_text(*ratio) + ")" : "");
}

std::string macs_text(const Partition& partition) {
  const auto ratio = partition.macs_ratio();
  std::string text = size_text(partition.taken_macs, rounded) + " of " + size_text(partition.macs, rounded) +
                     (ratio ? " (" + percent_text(*ratio) + ")" : "");
  if (partition.unknown > 0) text += ", without " + counted(partition.unknown, "call") + " of unknown cost";
  return text;
}

std::string cut_text(const Partition& partition) {
  if (partition.cut_edges == 0) return "0 edges";
  std::string text = counted(partition.cut_edges, "edge") + ", " + size_text(partition.cut_bytes, bytes_text);
  if (partition.cut_unknown > 0)
    text += " and " + with_separators(partition.cut_unknown) + " of unknown size";
  return text;
}

std::string gate_text(const GateResult& result) {
  std::string text = result.gate.text + ": ";
  if (!result.actual) return text + "cannot tell, as sizes or costs are unknown (--at gives sizes)";
  const double rounded = std::round(*result.actual * 100) / 100;
  text +=
      result.gate.is_percent ? shortest_text(rounded) + "%" : with_separators(std::llround(*result.actual));
  return text + (result.holds() ? "" : ", does not hold");
}

// What a reason costs: "12 modules, from encoder.layers.0".
std::string gain_text(const LeftReason& reason) {
  if (reason.modules == 0) return "";
  std::string text = counted(reason.modules, "module");
  if (!reason.outermost.front().empty()) text += ": " + reason.outermost.front();
  if (reason.outermost.size() > 1) text += ", …";
  return text;
}

// The calls that are left for one reason, those of one line of code together.
struct LeftPlace {
  const LeftCall* first = nullptr;
  std::int64_t calls = 0;
};
std::vector<LeftPlace> places_of(const Partition& partition, std::size_t reason) {
  std::vector<LeftPlace> places;
  std::map<std::tuple<std::string_view, std::string_view, std::string_view, std::int64_t>, std::size_t> known;
  for (const LeftCall& call : partition.left) {
    if (call.reason != reason) continue;
    const bool has_source = call.source && call.source->line > 0;
    const auto key = has_source
                         ? std::tuple<std::string_view, std::string_view, std::string_view, std::int64_t>(
                               call.type, "", call.source->file, call.source->line)
                         : std::tuple<std::string_view, std::string_view, std::string_view, std::int64_t>(
                               call.type, call.module, "", 0);
    const auto [place, is_new] = known.try_emplace(key, places.size());
    if (is_new) places.push_back({&call, 0});
    ++places[place->second].calls;
  }
  return places;
}

std::string place_text(const LeftPlace& place) {
  const LeftCall& call = *place.first;
  const std::size_t body = call.graph.find(':');
  std::string text = (call.module.empty() ? "(root)" : call.module) +
                     (body == std::string::npos ? "" : " in " + call.graph.substr(body + 1)) + ": %" +
                     call.node;
  if (place.calls > 1) text += " and " + with_separators(place.calls - 1) + " more";
  if (const std::string source = source_text(call.source); !source.empty()) text += "  " + source;
  return text;
}

TextTable parts_table(const Partition& partition) {
  TextTable table{{{"part", true},
                   {"taken by", false, 8},
                   {"graph", false, 8},
                   {"calls", true},
                   {"MACs", true},
                   {"parameters", true},
                   {"in", true},
                   {"out", true}}};
  for (std::size_t i = 0; i < std::min(partition.parts.size(), kMostRows); ++i) {
    const Part& part = partition.parts[i];
    table.rows.push_back({std::to_string(i + 1), set_of(partition, part),
                          part.graph.empty() ? "(root)" : part.graph, part.calls,
                          size_text(part.macs, rounded), bytes_text(part.parameter_bytes),
                          crossing(part.inputs), crossing(part.outputs)});
  }
  if (std::ranges::all_of(partition.parts,
                          [&](const Part& part) { return part.graph == partition.parts.front().graph; }))
    table.remove(2);
  return table;
}

std::vector<Line> totals_of(const Partition& partition) {
  return {{"regions", with_separators(static_cast<std::int64_t>(partition.regions())) + " for " +
                          one_line(joined(partition.sets, &OperatorSet::name))},
          {"calls", coverage_text(partition.calls)},
          {"operators", coverage_text(partition.operators)},
          {"modules", coverage_text(partition.modules)},
          {"MACs", macs_text(partition)},
          {"cut", cut_text(partition)}};
}

class PartitionReport : Document {
 public:
  PartitionReport(const PartitionAnswer& answer, std::ostream& out, const TextLayout& layout)
      : Document(out, layout), answer_(answer), partition_(answer.partition) {}

  void document() {
    const auto& model = partition_.model;
    line(is_markdown() ? "### " + markdown_sentence(one_line(model.file)) + "\n"
                       : bold(one_line(model.file + ": " + model_text(model))));
    list(totals_of(partition_), kBold, "  ");
    for (const GateResult& result : answer_.gates) gate(result);
    is_markdown() ? line() : heading("Parts, in order");
    TextTable parts = parts_table(partition_);
    const std::size_t left_out = partition_.parts.size() - parts.rows.size();
    table(std::move(parts), left_out, kFaint);
    if (is_markdown()) return reasons();
    const std::size_t shown = std::min(partition_.reasons.size(), kMostRows);
    for (std::size_t i = 0; i < shown; ++i) reason(i);
    if (shown < partition_.reasons.size()) line();
    this->left_out(partition_.reasons.size() - shown);
  }

 private:
  void gate(const GateResult& result) {
    const std::string text = gate_text(result);
    line(is_markdown()
             ? (result.holds() ? "- holds: " : "- **error**: ") + markdown_sentence(one_line(text))
             : layout_.paint(result.holds() ? "holds  " : "error  ", result.holds() ? kGreen : kRed) + text);
  }

  void reason(std::size_t index) {
    const LeftReason& reason = partition_.reasons[index];
    const std::string gain = gain_text(reason);
    heading(one_line(reason.target + ": " + reason.text),
            counted(reason.calls, "call") + (gain.empty() ? "" : one_line("; without it whole: " + gain)));
    const auto places = places_of(partition_, index);
    const std::size_t shown = std::min(places.size(), kMostPlaces);
    for (std::size_t i = 0; i < shown; ++i) line("  " + one_line(place_text(places[i])));
    left_out(places.size() - shown, nullptr, "  ");
  }

  void reasons() {
    if (partition_.reasons.empty()) return;
    TextTable left{{{"operator"}, {"reason"}, {"calls", true}, {"without it whole"}, {"first"}}};
    for (std::size_t i = 0; i < std::min(partition_.reasons.size(), kMostRows); ++i) {
      const LeftReason& reason = partition_.reasons[i];
      left.rows.push_back({reason.target, reason.text, reason.calls, gain_text(reason),
                           place_text(places_of(partition_, i).front())});
    }
    const std::size_t left_out = partition_.reasons.size() - left.rows.size();
    line();
    table(std::move(left), left_out);
  }

  const PartitionAnswer& answer_;
  const Partition& partition_;
};

}  // namespace

std::string percent_text(double ratio) {
  const double rounded = std::round(ratio * 1000) / 10;
  // What is not whole must not look so.
  return shortest_text(ratio < 1 ? std::min(rounded, 99.9) : rounded) + "%";
}

void write_partition_dot(const PartitionAnswer& answer, std::ostream& out) {
  write_dot(*answer.collection, out, {}, mark_parts(answer.partition, *answer.collection));
}

void write_partition_html(const PartitionAnswer& answer, std::ostream& out) {
  write_html(*answer.collection, out, {}, mark_parts(answer.partition, *answer.collection));
}

void write_partition(const PartitionAnswer& answer, std::ostream& out, const TextLayout& layout) {
  PartitionReport(answer, out, layout).document();
}

void write_partition_json(const PartitionAnswer& answer, std::ostream& out) {
  write_report(answer, "fxtrace.partition", out);
}

void write_partition_sarif(const PartitionAnswer& answer, std::ostream& out) {
  const Rule rule = backend_rule(joined(answer.partition.sets, &OperatorSet::name), "");
  CheckedModel model;
  model.model = answer.partition.model;
  model.path = answer.path;
  model.left = findings_of(answer.partition, rule.name);
  CheckReports reports;
  reports.models.push_back(check({rule}, model));
  write_check_sarif(reports, out);
}

void write_partition_csv(const PartitionAnswer& answer, std::ostream& out) {
  const Partition& partition = answer.partition;
  Csv csv(
      out,
      "kind graph part set calls macs parameter_bytes inputs outputs node target module reason file line");
  for (std::size_t i = 0; i < partition.parts.size(); ++i) {
    const Part& part = partition.parts[i];
    csv.row("part", part.graph, static_cast<std::int64_t>(i + 1), set_of(partition, part), part.calls,
            part.macs, part.parameter_bytes, static_cast<std::int64_t>(part.inputs.size()),
            static_cast<std::int64_t>(part.outputs.size()), "", "", "", "", "", "");
  }
  for (const LeftCall& call : partition.left) {
    csv.cells("left", call.graph, "", "", "", "", "", "", "", call.node, call.target, call.module,
              partition.reasons[call.reason].text);
    if (call.source && call.source->line > 0) {
      csv.row(call.source->file, call.source->line);
    } else {
      csv.row("", "");
    }
  }
}

namespace {

using Kind = Outline::Kind;

struct Colours {
  const char* fill;
  const char* line;
  const char* box_fill;
};
constexpr Colours kColours[] = {{"#d3e5fd", "#2563b8", "#edf4fe"}, {"#e7dcfa", "#7445b8", "#f5f0fd"},
                                {"#c9eeee", "#0d7377", "#e9f8f8"}, {"#fbd9ea", "#a8326f", "#fdf0f6"},
                                {"#d5f0d9", "#1f7a3a", "#eef9f0"}, {"#ffe2bf", "#a85a08", "#fff4e6"}};

// What takes the calls of an item.
struct Taker {
  std::size_t style = 0;               // as in Mark
  std::size_t first = 0, last = 0;     // the parts, by their numbers in the report
  std::int64_t left = 0;               // calls
  const LeftReason* reason = nullptr;  // of what is left; null: none or several
};

class PartMarks {
 public:
  PartMarks(const Partition& partition, const GraphCollection& collection)
      : partition_(partition), left_style_(partition.sets.size() + 1) {
    for (const ModuleGraph& graph : collection.graphs) add_graph(graph, graph.module);
    std::unordered_map<std::string_view, std::unordered_map<std::string_view, const LeftReason*>> reasons;
    for (const LeftCall& call : partition.left)
      reasons[call.graph].emplace(call.node, &partition.reasons[call.reason]);
    for (std::size_t i = 0; i < partition.parts.size(); ++i) {
      const Part& part = partition.parts[i];
      const Graph& graph = graphs_.at(part.graph)->graph;
      for (std::size_t at = 0; at < part.nodes.size(); ++at) {
        Taker taker{part.set ? *part.set + 1 : left_style_, i + 1, i + 1};
        const auto& left = reasons[part.graph];
        if (const auto found = left.find(part.names[at]); !part.set && found != left.end()) {
          taker.reason = found->second;
          taker.left = 1;
        }
        takers_.emplace(&graph.node(part.nodes[at]), taker);
      }
    }
  }

  int distinction(const Outline::Item& item) const {
    const auto taker = takers_.find(item.node);
    if (taker == takers_.end()) return 0;
    const LeftReason* reason = taker->second.reason;
    return static_cast<int>(taker->second.style +
                            (reason == nullptr ? 0 : 1 + (reason - partition_.reasons.data())));
  }

  std::vector<Mark> marks(const Outline& outline) const {
    std::vector<Mark> marks(outline.items.size());
    for (const Outline::Index graph : outline.graphs) mark(outline, graph, nullptr, marks);
    return marks;
  }

 private:
  void add_graph(const ModuleGraph& graph, const std::string& name) {
    graphs_.emplace(name, &graph);
    for (const Subgraph& body : graph.subgraphs) add_graph(body.graph, name + ":" + body.name);
  }

  // Marks an item and its content.  `whole` takes the calls of bodies that are in no part themselves.
  Taker mark(const Outline& outline, Outline::Index index, const Taker* whole,
             std::vector<Mark>& marks) const {
    const Outline::Item& item = outline[index];
    const auto own = takers_.find(item.node);
    Taker taker;
    if (item.kind == Kind::kNode) {
      const bool is_call = item.node->op != Opcode::kPlaceholder && item.node->op != Opcode::kOutput &&
                           item.node->op != Opcode::kGetAttr;
      if (own != takers_.end()) {
        taker = own->second;
      } else if (is_call && whole != nullptr) {
        taker = *whole;
      }
    } else {
      if (own != takers_.end() && own->second.style != left_style_) whole = &own->second;
      for (const Outline::Index child : item.children) add(taker, mark(outline, child, whole, marks));
    }
    if (taker.style != 0) marks[index] = {taker.style, taker.style > left_style_, text_of(taker)};
    return taker;
  }

  void add(Taker& sum, const Taker& other) const {
    if (other.style == 0) return;
    if (sum.style == 0) {
      sum = other;
      return;
    }
    if (sum.style != other.style) sum.style = left_style_ + 1;
    sum.first = std::min(sum.first, other.first);
    sum.last = std::max(sum.last, other.last);
    if (sum.left == 0) {
      sum.reason = other.reason;
    } else if (other.left > 0 &&
               (sum.reason == nullptr || other.reason == nullptr || sum.reason->text != other.reason->text)) {
      sum.reason = nullptr;
    }
    sum.left += other.left;
  }

  std::string text_of(const Taker& taker) const {
    std::string text = taker.first == taker.last ? "part " : "parts ";
    text += std::to_string(taker.first);
    if (taker.first != taker.last) text += " to " + std::to_string(taker.last);
    if (taker.style > left_style_)
      return text + (taker.left == 0 ? "" : ", " + with_separators(taker.left) + " left");
    text = (taker.style == left_style_ ? "left" : partition_.sets[taker.style - 1].name) + ", " + text;
    return taker.reason == nullptr ? text : text + ": " + taker.reason->text;
  }

  const Partition& partition_;
  std::size_t left_style_;  // behind those of the sets; then that of boxes of several owners
  std::unordered_map<std::string, const ModuleGraph*> graphs_;
  std::unordered_map<const Node*, Taker> takers_;
};

}  // namespace

Marking mark_parts(const Partition& partition, const GraphCollection& collection) {
  Marking marking;
  marking.has_all = true;
  const Coverage& calls = partition.calls;
  const auto meaning = [&](const std::string& name, std::int64_t count) {
    const auto ratio = Coverage{count, calls.all}.ratio();
    return name + (ratio ? ": " + percent_text(*ratio) + " of calls" : "");
  };
  for (std::size_t i = 0; i < partition.sets.size(); ++i) {
    const auto& [fill, line, box_fill] = kColours[i % std::size(kColours)];
    marking.styles.push_back({"taken-" + std::to_string(1 + i % std::size(kColours)), "",
                              meaning(partition.sets[i].name, partition.set_calls[i]), "", fill, line,
                              box_fill});
  }
  marking.styles.push_back({"left", "\u00D7", meaning("left", calls.all - calls.taken), ",dashed", "#ffdcd7",
                            "#b3261e", "#fff1ee"});
  marking.styles.push_back({"changed", "~", "mixed", "", "#fff1c2", "#8a6100"});
  const auto marks = std::make_shared<const PartMarks>(partition, collection);
  marking.distinction = [marks](const Outline::Item& item) { return marks->distinction(item); };
  marking.marks = [marks](const Outline& outline) { return marks->marks(outline); };
  return marking;
}

}  // namespace fxtrace::internal
