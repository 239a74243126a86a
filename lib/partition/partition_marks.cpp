#include "partition/partition_marks.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "partition/partition_writers.h"
#include "support/text/columns.h"

namespace fxtrace::internal {
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
