#include "writers/pictures/dot_writer.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/analysis/text_form.h"
#include "pictures/labels.h"
#include "pictures/looks.h"
#include "support/text/unicode.h"
#include "writers/formats/markup_text.h"

namespace fxtrace::internal {
namespace {

using Index = Outline::Index;
using Kind = Outline::Kind;

constexpr const char* kText = "#24292f";
constexpr const char* kQuiet = "#57606a";    // secondary text
constexpr const char* kFailure = "#b3261e";  // text of a failure
constexpr const char* kAmber = "#a88a1d";    // parameters and constants
constexpr const char* kBody = "#7d5fb2";     // around bodies of control flow

// The shapes, in the order of kLooks.
constexpr std::string_view kDotShapes[] = {"ellipse", "box", "box", "hexagon", "note", "box", "box"};
static_assert(std::size(kDotShapes) == std::size(kLooks));

// Nested clusters alternate, so that neighbours stand apart.
constexpr const char* kClusterFills[] = {"#f6f8fa", "#ffffff"};

class DotWriter {
 public:
  DotWriter(const GraphCollection& collection, std::ostream& out, const PictureOptions& options,
            const Marking& marking)
      : collection_(collection),
        out_(out),
        options_(options),
        picture_(make_picture(collection, options, marking.distinction)),
        labels_(collection, picture_.outline, options.order),
        parameters_(collection),
        styles_(marking.styles),
        has_all_(marking.has_all) {
    if (marking.marks) marks_ = marking.marks(picture_.outline);
  }

  void document() {
    out_
        << "digraph fxtrace {\n"
           "  graph [fontname=\"Helvetica\", fontsize=12, fontcolor=\"#24292f\", bgcolor=\"white\",\n"
           "         rankdir=TB, ranksep=0.3, nodesep=0.25, labelloc=t, labeljust=l, pad=0.3"
        << (options_.depth ? "" : kPage)
        << "];\n"
           "  node [fontname=\"Helvetica\", fontsize=11, fontcolor=\"#24292f\", penwidth=1.1, margin=\"0.12,0.05\",\n"
           "        height=0.3];\n"
           "  edge [color=\"#6e7781\", arrowsize=0.6, penwidth=0.9];\n";
    const std::string& type = collection_.model.type;
    // The title of the picture may be longer than that of a box.
    const std::size_t room = options_.max_label == 0 ? 0 : 2 * options_.max_label;
    out_ << "  label=<" << "<B>" + dot_html(cut(type.empty() ? "model" : type, room, Keep::kEnd)) + "</B>";
    if (!collection_.model.file.empty())
      out_ << kNewLine << small(dot_html(cut(collection_.model.file, room)), kQuiet) << kRoom;
    if (!picture_.note.empty()) out_ << kNewLine << small(dot_html(picture_.note), kQuiet) << kSomeRoom;
    out_ << kNewLine << legend() << kSomeRoom << kNewLine << ">;\n";
    for (const Index top : picture_.tops) {
      if (has_cluster(top)) {
        box(top, "  ", 0);
      } else {
        for (const Index child : item(top).children) box(child, "  ", 0);
      }
    }
    for (const Index neighbor : picture_.neighbors) node(neighbor, "  ");
    stack_graphs();
    for (const auto& [from, to] : picture_.edges) {
      const bool is_outside = this->is_outside(from) || this->is_outside(to);
      out_ << "  b" << from << " -> b" << to << (is_outside ? " [style=dashed]" : "") << ";\n";
    }
    out_ << "}\n";
  }

 private:
  // Scales what would be larger down to kLargestPage, in inches.
  static constexpr const char* kPage = R"(, size="15.2,20.8")";
  static constexpr const char* kSquare = "\u25A0";
  static constexpr const char* kNewLine = "<BR ALIGN=\"LEFT\"/>";
  // An invisible space that makes a line higher, as needed below a title.
  static constexpr const char* kRoom = R"(<FONT POINT-SIZE="13">&#8202;</FONT>)";
  // Likewise for lines below others of the same size, as brackets and underlines reach into the next line.
  static constexpr const char* kSomeRoom = R"(<FONT POINT-SIZE="11">&#8202;</FONT>)";

  const Outline::Item& item(Index index) const { return picture_.outline[index]; }

  std::string html(std::string_view text, Keep keep = Keep::kStart) const {
    return dot_html(cut(text, options_.max_label, keep));
  }
  static std::string small(const std::string& html, const char* colour) {
    return R"(<FONT POINT-SIZE="9" COLOR=")" + std::string(colour) + "\">" + html + "</FONT>";
  }
  // Returns secondary text that follows other text on the line.
  std::string beside(std::string_view text) const { return small("&#160;&#160;" + html(text), kQuiet); }
  std::string quiet(std::string_view text) const { return small(html(text), kQuiet); }

  const MarkStyle* mark_of(Index index) const {
    if (marks_.empty() || marks_[index].style == 0) return nullptr;
    const bool is_closed = item(index).kind != Kind::kNode && !picture_.is_open[index];
    return marks_[index].is_within && !is_closed ? nullptr : &styles_[marks_[index].style - 1];
  }
  static std::string title_of(const MarkStyle* mark, const std::string& title) {
    return mark == nullptr || mark->sign.empty() ? title : mark->sign + " " + title;
  }

  // Returns the text about the mark; nothing where a coloured box around says the same.
  std::string text_of_mark(Index index) const {
    const bool has_text = !marks_.empty() && !marks_[index].text.empty();
    if (!has_text) return {};
    for (Index around = item(index).parent; around != Outline::kNone; around = item(around).parent) {
      if (is_coloured(around) && marks_[around].text == marks_[index].text) return {};
    }
    return marks_[index].text;
  }
  // Returns whether the open box has the colour of its mark.
  bool is_coloured(Index box) const {
    const Kind kind = item(box).kind;
    if (kind == Kind::kPart || kind == Kind::kOperator || kind == Kind::kBody || !picture_.is_open[box])
      return false;
    if (item(box).kind == Kind::kGraph && !has_cluster(box)) return false;
    const MarkStyle* mark = mark_of(box);
    return mark != nullptr && !mark->box_fill.empty();
  }

  // Returns whether an open box at the top is drawn around its content.
  bool has_cluster(Index top) const {
    return !picture_.is_open[top] || picture_.tops.size() > 1 || options_.focus.has_value();
  }

  // Returns the title; on two lines if it is long.
  std::string title_html(std::string_view title, const char* new_line) const {
    std::string text;
    for (const std::string_view line : break_lines(title, options_.max_label, 2)) {
      if (!text.empty()) text += new_line;
      text += "<B>" + html(line, Keep::kEnd) + "</B>";
    }
    return text.empty() ? html("") : text;
  }

  bool is_outside(Index index) const {
    return std::find(picture_.neighbors.begin(), picture_.neighbors.end(), index) != picture_.neighbors.end();
  }

  // Puts each graph of a column below the previous one, by an invisible edge.
  void stack_graphs() {
    for (const std::vector<Index>& column : graph_columns(picture_)) {
      for (std::size_t i = 1; i < column.size(); ++i) {
        out_ << "  b" << seen_in(picture_, column[i - 1]).back() << " -> b"
             << seen_in(picture_, column[i]).front() << " [style=invis];\n";
      }
    }
  }

  // Returns the meanings of the colours that occur in the picture.
  std::string legend() const {
    std::string text;
    for (const MarkStyle& mark : styles_) {
      const std::string& colour = mark.colour.empty() ? mark.line : mark.colour;
      text += small("<B>" + dot_html(mark.sign.empty() ? kSquare : mark.sign) + "</B>", colour.c_str()) +
              small("&#160;" + html(mark.meaning) + "&#160;&#160;", kQuiet);
    }
    if (!styles_.empty()) text += std::string(kSomeRoom) + kNewLine;
    for (const Look look :
         looks_in(picture_, [&](Index index) { return has_all_ && mark_of(index) != nullptr; })) {
      text += small(kSquare, style_of(look).line) +
              small("&#160;" + dot_html(style_of(look).meaning) + "&#160;&#160;", kQuiet);
    }
    if (!labels_.usual_dtype().empty()) {
      text += small(dot_html("tensors are " + labels_.usual_dtype() + " unless noted"), kQuiet);
    }
    return text.empty() ? "&#160;" : text;
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
    const BoxText text = box_text(picture_, labels_, index, options_.max_label);
    const MarkStyle* mark = mark_of(index);
    out_ << indent << "subgraph cluster_b" << index << " {\n"
         << indent << "  label=<" << title_html(title_of(mark, text.title), kNewLine);
    for (const std::string& words : text.beside) out_ << beside(words);
    if (is_coloured(index)) out_ << beside(text_of_mark(index));
    for (const auto& [kind, line] : text.lines) out_ << kNewLine << quiet(line) << kRoom;
    const bool failed = box.kind == Kind::kGraph && is_failed(item(index));
    out_ << kNewLine << ">; tooltip=" << dot_quoted(tooltip(index)) << "; margin=10; ";
    if (box.kind == Kind::kOperator || box.kind == Kind::kBody) {
      out_ << R"(style="rounded,dashed"; color=")" << kBody << "\"; penwidth=1.2;\n";
    } else {
      out_ << R"(style="rounded,filled)" << (mark == nullptr ? "" : mark->border) << "\"; fillcolor=\""
           << (is_coloured(index) ? mark->box_fill : kClusterFills[level % 2]) << "\"; color=\""
           << (mark != nullptr ? mark->line
               : failed        ? kFailure
                               : "#afb8c1")
           << "\"; penwidth=" << (mark == nullptr ? "1" : "2") << ";\n";
    }
    for (const Index child : box.children) this->box(child, indent + "  ", level + 1);
    out_ << indent << "}\n";
  }

  // Returns the reason of a failure, broken into lines of a label's length.
  std::string failure(std::string_view reason) const {
    std::string text = small("<B>failed</B>", kFailure);
    const char* before = ": ";
    for (const std::string_view line : break_lines(reason, options_.max_label, kReasonLines)) {
      text += (*before == ':' ? small(before, kFailure) : before) + small(html(line), kFailure) + kSomeRoom;
      before = "<BR/>";
    }
    return text;
  }

  void node(Index index, const std::string& indent) {
    const Outline::Item& shown = item(index);
    const Look look = look_of(shown);
    const std::string_view shape = kDotShapes[static_cast<std::size_t>(look)];
    const MarkStyle* mark = mark_of(index);
    const std::string fill = mark == nullptr ? style_of(look).fill : mark->fill;
    const std::string border = mark == nullptr ? style_of(look).line : mark->line;
    const BoxText text = box_text(picture_, labels_, index, options_.max_label, text_of_mark(index));
    // A long title is cut at its start, as the end of a path says most.
    std::vector<std::string> lines{title_html(title_of(mark, text.title), "<BR/>")};
    for (const std::string& words : text.beside) lines[0] += beside(words);
    for (const auto& [kind, line] : text.lines) {
      lines.push_back(kind == BoxText::Kind::kFailure     ? failure(line)
                      : kind == BoxText::Kind::kAttribute ? small(html(line), kAmber)
                      : kind == BoxText::Kind::kNote      ? small("<I>" + html(line) + "</I>", kQuiet)
                                                          : quiet(line));
    }
    const bool is_round = shape == "box";
    const bool is_repeated = shown.kind == Kind::kRepeats;
    out_ << indent << "b" << index << " [shape=" << shape << ", style=\""
         << (is_round ? "rounded,filled" : "filled") << (is_outside(index) ? ",dashed" : "")
         << (mark == nullptr ? "" : mark->border) << "\", fillcolor=\"" << fill << "\", color=\"" << border
         << "\"";
    if (shown.kind != Kind::kNode) out_ << ", peripheries=" << (is_repeated ? 3 : 2);
    out_ << ", label=<";
    for (std::size_t i = 0; i < lines.size(); ++i)
      out_ << (i == 0 ? "" : "<BR/>") << lines[i] << (i == 0 ? "" : i == 1 ? kRoom : kSomeRoom);
    if (options_.parameters && shown.kind == Kind::kNode && shown.node->op == Opcode::kCallModule)
      parameters_of(shown);
    out_ << ">, tooltip=" << dot_quoted(tooltip(index)) << "];\n";
  }

  std::string tooltip(Index index) const {
    const MarkStyle* mark = mark_of(index);
    return about(index) + (mark != nullptr && !mark->box_fill.empty() ? "; " + marks_[index].text : "");
  }
  // Returns what the label leaves out.
  std::string about(Index index) const {
    const Outline::Item& shown = item(index);
    std::string text;
    if (shown.node == nullptr) {
      text = shown.kind == Kind::kBody ? shown.name : shown.path;
      if (!shown.type.empty()) text += (text.empty() ? "" : ": ") + shown.type;
      return text.empty() ? labels_.label(index).title : text;
    }
    const Node& node = *shown.node;
    text = node.name + " = " + to_string(node.op) + "[" + *node.target + "]";
    if (is_failed(item(index)) && shown.module->failure)
      text += "; failed: " + shown.module->failure->message;
    if (!shown.type.empty()) text += "; " + shown.type;
    if (!node.program->nodes.empty()) {
      const std::size_t count = node.program->nodes.size();
      text.append("; stands for ").append(std::to_string(count));
      text += count == 1 ? " node of the program" : " nodes of the program";
    }
    if (const auto& source = *node.source) {
      text += "; " + source->file;
      if (source->line > 0) text.append(":").append(std::to_string(source->line));
      if (!source->text.empty()) text.append(": ").append(source->text);
    }
    return text;
  }

  // Writes the parameters of a leaf, one line each: "weight [8, 4]".
  void parameters_of(const Outline::Item& call) {
    const auto lines = parameters_.lines(call, labels_);
    if (!lines.empty()) out_ << "<BR/>";
    for (const auto& [name, value] : lines) {
      if (value.empty()) {
        out_ << quiet(name) << kSomeRoom << kNewLine;
      } else {
        out_ << small(html(name, Keep::kEnd), kText) << small("&#160;", kText) << quiet(value) << kSomeRoom
             << kNewLine;
      }
    }
  }

  const GraphCollection& collection_;
  std::ostream& out_;
  const PictureOptions& options_;
  Picture picture_;
  Labels labels_;
  LeafParameters parameters_;
  std::vector<MarkStyle> styles_;
  bool has_all_;
  std::vector<Mark> marks_;  // by item; empty when nothing is marked
};

}  // namespace

void write_dot(const GraphCollection& collection, std::ostream& out, const PictureOptions& options,
               const Marking& marking) {
  DotWriter(collection, out, options, marking).document();
}

}  // namespace fxtrace::internal
