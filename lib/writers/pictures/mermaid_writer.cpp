#include "writers/pictures/mermaid_writer.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "pictures/labels.h"
#include "pictures/looks.h"
#include "support/text/numbers.h"
#include "support/text/qualified_name.h"
#include "support/text/unicode.h"
#include "writers/formats/markup_text.h"

namespace fxtrace::internal {
namespace {

using Index = Outline::Index;
using Kind = Outline::Kind;

struct MermaidClass {
  const char* name;
  const char* open;  // the brackets around the label, which select the shape
  const char* close;
};
// The classes, in the order of kLooks.
constexpr MermaidClass kMermaidClasses[] = {
    {"port", "([", "])"},      {"module", "(", ")"},   {"operation", "(", ")"}, {"method", "{{", "}}"},
    {"attribute", "[/", "/]"}, {"closed", "[[", "]]"}, {"failed", "(", ")"},
};
static_assert(std::size(kMermaidClasses) == std::size(kLooks));

constexpr const char* kTextColour = "24292f";
// The space between rows, in pixels.  Titles of boxes that begin in one row share it.
constexpr int kRanks = 30;
constexpr int kRanksOfNested = 55;
constexpr std::size_t kInLine = 4;  // entries in a line of the legend
constexpr const char* kSpace = "#160;#160;";

class MermaidWriter {
 public:
  MermaidWriter(const GraphCollection& collection, const PictureOptions& options)
      : collection_(collection),
        options_(options),
        picture_(make_picture(collection, options)),
        labels_(collection, picture_.outline, options.order),
        outside_(picture_.neighbors.begin(), picture_.neighbors.end()) {
    if (options.parameters) parameters_.emplace(collection);
  }

  void document(std::ostream& out) {
    diagram();
    const std::string body = out_.str();
    out << head(width(body)) << body;
  }

 private:
  const Outline::Item& item(Index index) const { return picture_.outline[index]; }

  std::string html(std::string_view text, Keep keep = Keep::kStart) const {
    return mermaid_html(cut(text, options_.max_label, keep));
  }
  // Returns the lines of a node or box.
  std::vector<std::string> lines_of(Index index) const {
    const BoxText text = box_text(picture_, labels_, index, options_.max_label);
    std::vector<std::string> lines;
    for (const std::string_view line : break_lines(text.title, options_.max_label, 2))
      lines.push_back("<b>" + html(line, Keep::kEnd) + "</b>");
    if (lines.empty()) lines.emplace_back("<b></b>");
    for (const std::string& words : text.beside) lines.back() += kSpace + small(words);
    for (const auto& [kind, line] : text.lines) {
      if (kind == BoxText::Kind::kNote) {
        lines.push_back("<small><i>" + html(line) + "</i></small>");
      } else if (kind == BoxText::Kind::kFailure) {
        lines.emplace_back("<small><b>failed</b></small>");
        for (const std::string_view reason : break_lines(line, options_.max_label, kReasonLines))
          lines.push_back(small(reason));
      } else {
        lines.push_back(small(line));
      }
    }
    return lines;
  }
  std::string small(std::string_view text, Keep keep = Keep::kStart) const {
    return "<small>" + html(text, keep) + "</small>";
  }

  // Returns the front matter, and a comment if the picture is too large for GitHub.
  std::string head(std::size_t body) const {
    const auto& [file, kind, type, method, producer] = collection_.model;
    std::string title{QualifiedName(type).last()};
    if (!file.empty()) title += (title.empty() ? "" : ", ") + file;
    std::string text = "---\n";
    // The title of the picture may be longer than that of a box.
    if (!title.empty()) text += "title: " + mermaid_title(cut(title, 2 * options_.max_label)) + "\n";
    text +=
        "config:\n"
        "  flowchart:\n"
        "    nodeSpacing: 25\n"
        "    rankSpacing: " +
        std::to_string(nesting_ > 1 ? kRanksOfNested : kRanks) +
        "\n"
        "    subGraphTitleMargin: {top: 4, bottom: 16}\n"
        "    wrappingWidth: 480\n"
        "---\n";
    // Invisible edges count too.
    const std::size_t characters = width(text) + body;
    if (characters > kMermaidCharacters || edges_ > kMermaidEdges) {
      text += "%% This is more than GitHub draws: " + std::to_string(characters) + " characters of " +
              std::to_string(kMermaidCharacters) + ", " + std::to_string(edges_) + " edges of " +
              std::to_string(kMermaidEdges) + ". A smaller --depth or --focus PATH gives less.\n";
    }
    return text;
  }

  void diagram() {
    out_ << "flowchart TB\n";
    legend();
    for (const Index top : picture_.tops) {
      const bool has_box = picture_.tops.size() > 1 || options_.focus.has_value();
      if (has_box || !picture_.is_open[top]) {
        box(top, "  ", 0);
      } else {
        for (const Index child : item(top).children) box(child, "  ", 0);
      }
    }
    for (const Index neighbor : picture_.neighbors) node(neighbor, "  ");
    place();
    for (const auto& [from, to] : picture_.edges)
      edge(from, outside_.contains(from) || outside_.contains(to) ? " -.-> " : " --> ", to);
    classes();
  }

  // Writes invisible edges that put the legend above the picture and graphs into columns.
  void place() {
    if (picture_.tops.size() == 1 && picture_.is_open[picture_.tops[0]]) {
      const std::vector<Index> seen = seen_in(picture_, picture_.tops[0]);
      if (has_legend_) hidden_edge("legend", seen.front());
      return;
    }
    for (const std::vector<Index>& column : graph_columns(picture_)) {
      std::string above = has_legend_ ? "legend" : "";
      for (const Index graph : column) {
        if (!above.empty()) hidden_edge(above, graph);
        above = "b" + std::to_string(graph);
      }
    }
  }

  void hidden_edge(const std::string& above, Index below) {
    out_ << "  " << above << " ~~~ b" << below << '\n';
    ++edges_;
  }

  void edge(Index from, const char* arrow, Index to) {
    out_ << "  b" << from << arrow << 'b' << to << '\n';
    ++edges_;
  }

  // Writes the legend: notes on the whole picture, and the meanings of the colours that occur in it.
  void legend() {
    std::vector<std::string> lines;
    if (!picture_.note.empty()) lines.push_back(mermaid_html(picture_.note));
    if (!labels_.usual_dtype().empty())
      lines.push_back(mermaid_html("Tensors are " + labels_.usual_dtype() + " unless noted."));
    std::size_t in_line = kInLine;
    for (const Look look : looks_in(picture_)) {
      const bool is_new = in_line == kInLine;
      if (is_new) lines.emplace_back();
      in_line = is_new ? 1 : in_line + 1;
      lines.back() += std::string(is_new ? "" : kSpace) + "<font color='" +
                      mermaid_html(style_of(look).line) + "'>\u25A0</font> " +
                      mermaid_html(style_of(look).meaning);
    }
    if (lines.empty()) return;
    for (std::string& line : lines) line = "<small>" + line + "</small>";
    out_ << "  legend[\"" << joined(lines) << "\"]\n";
    has_legend_ = true;
  }

  // Joins lines as elements without a blank line between them, in which no version of Mermaid reads Markdown.
  static std::string joined(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += "<div>" + line + "</div>";
    return text;
  }

  void box(Index index, const std::string& indent, std::size_t level) {
    if (!picture_.is_open[index]) {
      node(index, indent);
      return;
    }
    const Outline::Item& box = item(index);
    if (box.kind == Kind::kPart) {
      for (const Index child : box.children) this->box(child, indent, level);
      return;
    }
    const std::vector<std::string> lines = lines_of(index);
    // Without a direction, Mermaid draws a box that no edge enters from left to right.
    out_ << indent << "subgraph b" << index << "[\"" << joined(lines) << "\"]\n"
         << indent << "  direction TB\n";
    for (const Index child : box.children) this->box(child, indent + "  ", level + 1);
    out_ << indent << "end\n";
    const bool is_control = box.kind == Kind::kOperator || box.kind == Kind::kBody;
    const bool failed = box.kind == Kind::kGraph && is_failed(box);
    nesting_ = std::max(nesting_, level + 1);
    members_[is_control ? kControl : failed ? kFailedGraph : kOpen].push_back(index);
  }

  void node(Index index, const std::string& indent) {
    const Outline::Item& shown = item(index);
    std::vector<std::string> lines = lines_of(index);
    if (parameters_ && shown.kind == Kind::kNode && shown.node->op == Opcode::kCallModule) {
      for (const auto& [name, value] : parameters_->lines(shown, labels_))
        lines.push_back(small(name, Keep::kEnd) + (value.empty() ? "" : " " + small(value)));
    }
    const auto look = static_cast<std::size_t>(look_of(shown));
    const auto& [name, open, close] = kMermaidClasses[look];
    out_ << indent << 'b' << index << open << '"' << joined(lines) << '"' << close << '\n';
    members_[look].push_back(index);
    if (outside_.contains(index)) members_[kOutside].push_back(index);
  }

  void classes() {
    for (const Look look : kLooks) {
      const auto& [meaning, fill, line] = style_of(look);
      const auto index = static_cast<std::size_t>(look);
      members_of(kMermaidClasses[index].name,
                 std::string("fill:") + fill + ",stroke:" + line + ",color:#" + kTextColour, members_[index]);
    }
    members_of("open", "fill:#8b949e18,stroke:#8b949e", members_[kOpen]);
    members_of("control", "fill:#8b949e18,stroke:#7d5fb2,stroke-dasharray:5 4", members_[kControl]);
    members_of("failedgraph", "fill:#8b949e18,stroke:#b3261e", members_[kFailedGraph]);
    members_of("outside", "stroke-dasharray:5 4", members_[kOutside]);
    if (has_legend_) {
      out_ << "  classDef legend fill:none,stroke:none\n"
              "  class legend legend\n";
    }
  }

  void members_of(const std::string& name, const std::string& style, const std::vector<Index>& members) {
    if (members.empty()) return;
    out_ << "  classDef " << name << ' ' << style << "\n  class ";
    for (std::size_t i = 0; i < members.size(); ++i) out_ << (i == 0 ? "b" : ",b") << members[i];
    out_ << ' ' << name << '\n';
  }

  // Further classes, behind those of nodes and closed boxes.
  enum Class : std::size_t { kOpen = std::size(kLooks), kControl, kFailedGraph, kOutside, kClasses };

  const GraphCollection& collection_;
  const PictureOptions& options_;
  Picture picture_;
  Labels labels_;
  std::unordered_set<Index> outside_;
  std::optional<LeafParameters> parameters_;
  std::ostringstream out_;
  std::size_t edges_ = 0;
  std::size_t nesting_ = 0;  // the deepest nesting of open boxes
  bool has_legend_ = false;
  std::vector<Index> members_[kClasses];
};

}  // namespace

void write_mermaid(const GraphCollection& collection, std::ostream& out, const PictureOptions& options) {
  MermaidWriter(collection, options).document(out);
}

}  // namespace fxtrace::internal
