#include "pictures/looks.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <ranges>
#include <string_view>
#include <utility>
#include <vector>

#include "operators/operators.h"
#include "support/text/qualified_name.h"

namespace fxtrace::internal {
namespace {

using Index = Outline::Index;
using Kind = Outline::Kind;

constexpr std::size_t kColumns = 4;         // the limit on columns of graphs
constexpr std::size_t kMaxParameters = 12;  // the limit on lines in one box

}  // namespace

bool is_failed(const Outline::Item& item) {
  return item.module != nullptr && item.module->status == ModuleStatus::kFailed;
}

Look look_of(const Outline::Item& item) {
  if (item.kind != Kind::kNode) return Look::kClosed;
  if (is_failed(item)) return Look::kFailed;
  switch (item.node->op) {
    case Opcode::kPlaceholder:
    case Opcode::kOutput:
      return Look::kPort;
    case Opcode::kGetAttr:
      return Look::kAttribute;
    case Opcode::kCallFunction:
      return Look::kOperation;
    case Opcode::kCallMethod:
      return Look::kMethod;
    case Opcode::kCallModule:
      return Look::kModule;
  }
  return Look::kOperation;
}

const LookStyle& style_of(Look look) {
  // Light boxes with dark text can be read on light and on dark pages.  In the order of kLooks.
  static constexpr LookStyle kStyles[] = {
      {"input, output", "#e3f4e5", "#3f8f4f"},
      {"module", "#fdeedc", "#c07a2c"},
      {"operation", "#e6f0fb", "#4a7fb5"},
      {"method of an object", "#efe8fa", "#7d5fb2"},
      {"parameter, buffer, constant", "#fdf6d8", "#a88a1d"},
      {"closed box", "#eef0f3", "#6e7781"},
      {"failed module", "#fbdcda", "#b3261e"},
  };
  static_assert(std::size(kStyles) == std::size(kLooks));
  return kStyles[static_cast<std::size_t>(look)];
}

std::vector<Look> looks_in(const Picture& picture, const std::function<bool(Index)>& is_other) {
  std::vector<Look> found;
  for (Index index = 0; index < picture.outline.items.size(); ++index) {
    if (picture.seen[index] == index && !picture.is_open[index] && !(is_other && is_other(index)))
      found.push_back(look_of(picture.outline[index]));
  }
  std::ranges::sort(found);
  found.erase(std::ranges::unique(found).begin(), found.end());
  return found;
}

BoxText box_text(const Picture& picture, const Labels& labels, Index box, std::size_t max_label,
                 const std::string& more) {
  const Outline::Item& item = picture.outline[box];
  const Label label = labels.label(box);
  BoxText text{label.title, {}, {}};
  const auto add = [&](BoxText::Kind kind, std::string_view words) {
    if (!words.empty()) text.lines.emplace_back(kind, words);
  };
  const bool is_open = item.kind != Kind::kNode && picture.is_open[box];
  const bool is_module = item.kind == Kind::kModule;
  text.beside = {is_open ? label.type : label.is_short() ? label.second() : "", label.order};
  std::erase(text.beside, "");
  add(BoxText::Kind::kDetails, !is_open    ? (label.is_short() ? "" : label.second())
                               : is_module ? label.details
                                           : "");
  if (is_open) {
    const bool is_top = std::ranges::find(picture.tops, box) != picture.tops.end();
    if (item.kind == Kind::kGraph) text.title = "graph of " + (item.path.empty() ? "the root" : item.path);
    if (is_top && is_module) text.title = item.path;
    return text;
  }
  add(BoxText::Kind::kFailure, label.failure);
  for (const std::string& attribute : label.attributes) add(BoxText::Kind::kAttribute, attribute);
  std::string note = label.note + (label.note.empty() || more.empty() ? "" : ", ") + more;
  if (picture.same_as[box] != Outline::kNone)
    note = labels.same_note(picture.same_as[box], box) + ", " + note;
  for (const std::string_view line : break_lines(note, max_label, 2)) add(BoxText::Kind::kNote, line);
  add(BoxText::Kind::kValue, label.value);
  return text;
}

std::vector<Index> seen_in(const Picture& picture, Index item) {
  std::vector<Index> seen;
  std::vector<Index> open{item};
  while (!open.empty()) {
    const Index index = open.back();
    open.pop_back();
    if (picture.is_open[index]) {
      const std::vector<Index>& children = picture.outline[index].children;
      open.insert(open.end(), children.rbegin(), children.rend());
    } else {
      seen.push_back(index);
    }
  }
  if (seen.empty()) seen.push_back(item);
  return seen;
}

std::vector<std::vector<Index>> graph_columns(const Picture& picture) {
  struct Column {
    std::size_t height = 0;
    std::vector<Index> graphs;
  };
  std::vector<Column> columns(std::min(kColumns, picture.tops.size()));
  for (const Index top : picture.tops) {
    Column& column = *std::ranges::min_element(columns, {}, &Column::height);
    column.height += seen_in(picture, top).size() + 2;
    column.graphs.push_back(top);
  }
  std::vector<std::vector<Index>> graphs;
  for (Column& column : columns) graphs.push_back(std::move(column.graphs));
  return graphs;
}

std::vector<std::string_view> break_lines(std::string_view text, std::size_t limit, std::size_t max_lines) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    std::size_t end = text.size();
    if (limit != 0 && end > limit && lines.size() + 1 < max_lines) {
      const std::size_t space = text.rfind(' ', limit);
      const std::size_t dot = text.rfind('.', limit - 1);
      if (space != std::string_view::npos && space > 0) end = space;
      if (dot != std::string_view::npos && dot > 0 && (end > limit || end < limit / 4)) end = dot + 1;
    }
    lines.push_back(text.substr(0, end));
    if (end < text.size() && text[end] == ' ') ++end;
    text.remove_prefix(end);
  }
  return lines;
}

LeafParameters::LeafParameters(const GraphCollection& collection) {
  for (const ParameterRecord& parameter : collection.parameters) {
    below_[""].push_back(&parameter);
    QualifiedName(QualifiedName(parameter.name).parent()).for_each_prefix([&](std::string_view module) {
      below_[std::string(module)].push_back(&parameter);
    });
  }
}

std::vector<LeafParameters::Line> LeafParameters::lines(const Outline::Item& call,
                                                        const Labels& labels) const {
  const std::string& module = call.module != nullptr ? call.module->path : call.path;
  std::vector<Line> lines;
  const auto found = below_.find(module);
  if (found == below_.end()) return lines;
  const std::size_t prefix = module.empty() ? 0 : module.size() + 1;
  for (const ParameterRecord* parameter : found->second) {
    if (lines.size() == kMaxParameters) {
      lines.push_back({"and " + std::to_string(found->second.size() - kMaxParameters) + " more", ""});
      break;
    }
    const bool is_object = parameter->kind == ParameterKind::kCustomObject;
    lines.push_back({parameter->name.substr(prefix),
                     is_object ? parameter->type : labels.value_text(parameter->dtype, parameter->shape)});
  }
  return lines;
}

namespace {

using Index = Outline::Index;

// Lengths in points, as the DOT writer draws: A4 is 595 x 842.
constexpr double kPageLength = 900;
constexpr double kRatio = 1.5;
constexpr double kLetter = 5.2;
constexpr double kLine = 12;
constexpr double kAround = 18;  // from the text to the next box
constexpr double kRankGap = 22;
constexpr double kFrame = 44;  // the title and edges of an open box

// Returns the size of a box by the lines of its label and the letters of the longest line.
PageSize box_size(const Label& label) {
  std::size_t letters = label.title.size() + (label.is_short() ? label.second().size() + 2 : 0);
  std::size_t lines = 1;
  const auto add = [&](const std::string& text) {
    if (text.empty()) return;
    ++lines;
    letters = std::max(letters, text.size());
  };
  if (!label.is_short()) add(label.second());
  for (const std::string& attribute : label.attributes) add(attribute);
  add(label.note);
  add(label.value);
  return {(static_cast<double>(letters) * kLetter) + (2 * kAround), (static_cast<double>(lines) * kLine) + 8};
}

}  // namespace

PageSize estimate_size(const Picture& picture, const Labels& labels) {
  const Outline& outline = picture.outline;
  // The visible items, in execution order, and for each item the closed box that contains it.
  std::vector<Index> seen_as(outline.items.size(), Outline::kNone);
  std::vector<Index> seen;
  std::vector<double> frames(outline.items.size(), 0);  // the heights of frames above an item
  for (const Index top : picture.tops) {
    std::vector<std::pair<Index, Index>> open{
        {top, Outline::kNone}};  // items with the closed box around each
    double frame = 0;
    while (!open.empty()) {
      const auto [index, closed] = open.back();
      open.pop_back();
      seen_as[index] = closed == Outline::kNone ? index : closed;
      const auto& children = outline[index].children;
      const bool is_open = closed == Outline::kNone && picture.is_open[index];
      if (is_open) frame += kFrame;
      if (closed == Outline::kNone && !is_open) {
        frames[index] = std::exchange(frame, 0);
        seen.push_back(index);
      }
      const Index inner = closed != Outline::kNone || is_open ? closed : index;
      for (const Index child : std::ranges::reverse_view(children)) open.emplace_back(child, inner);
    }
  }
  std::vector<std::size_t> ranks(outline.items.size(), 0);
  std::vector<std::vector<Index>> inputs(outline.items.size());
  for (Index to = 0; to < outline.items.size(); ++to) {
    for (const Index from : outline[to].inputs) {
      if (seen_as[from] != Outline::kNone && seen_as[to] != Outline::kNone && seen_as[from] != seen_as[to])
        inputs[seen_as[to]].push_back(seen_as[from]);
    }
  }
  std::vector<PageSize> rows;
  for (const Index index : seen) {
    for (const Index input : inputs[index]) ranks[index] = std::max(ranks[index], ranks[input] + 1);
    if (rows.size() <= ranks[index]) rows.resize(ranks[index] + 1);
    const PageSize box = box_size(labels.label(index));
    PageSize& row = rows[ranks[index]];
    row.width += box.width;
    row.height = std::max(row.height, box.height + frames[index]);
  }
  PageSize size;
  for (const PageSize& row : rows) {
    size.width = std::max(size.width, row.width);
    size.height += row.height + kRankGap;
  }
  return size;
}

bool is_page(const PageSize& size) {
  const double length = std::max(size.width, size.height);
  return is_large_page(size) &&
         (length <= kPageLength || length <= kRatio * std::min(size.width, size.height));
}

bool is_large_page(const PageSize& size) {
  return size.width <= kLargestPage.width && size.height <= kLargestPage.height;
}

namespace {

using Piece = ArgumentText::Piece;

void add_text(std::vector<Piece>& pieces, std::string_view text) {
  if (text.empty()) return;
  if (pieces.empty() || pieces.back().item != Outline::kNone) pieces.emplace_back();
  pieces.back().text += text;
}

}  // namespace

Arguments::Arguments(const Outline& outline, const Labels& labels) : outline_(outline), labels_(labels) {
  for (Outline::Index i = 0; i < outline.items.size(); ++i) {
    const Outline::Item& item = outline[i];
    if (item.kind == Outline::Kind::kNode) items_[item.graph].emplace(item.node->id.index, i);
  }
}

void Arguments::add_node(const ModuleGraph& graph, NodeId id, std::vector<Piece>& pieces) const {
  const auto items = items_.find(&graph);
  if (items != items_.end()) {
    if (const auto found = items->second.find(id.index); found != items->second.end()) {
      pieces.push_back({.text = {}, .item = found->second});
      return;
    }
  }
  const Node& node = graph.graph.node(id);
  const bool is_item = node.target == "operator.getitem" && node.args.size() == 2;
  const NodeId* container = is_item ? node.args[0].get_if<NodeId>() : nullptr;
  if (container != nullptr) {
    add_node(graph, *container, pieces);
    add_text(pieces, "[" + labels_.argument_text(graph, node.args[1]) + "]");
  } else if (node.op == Opcode::kGetAttr) {
    add_text(pieces, *node.target);
  } else {
    add_text(pieces, labels_.argument_text(graph, id));
  }
}

void Arguments::add(const ModuleGraph& graph, const Argument& argument, std::vector<Piece>& pieces) const {
  if (const auto* id = argument.get_if<NodeId>()) {
    add_node(graph, *id, pieces);
    return;
  }
  const auto* list = argument.get_if<Argument::List>();
  const auto* tuple = argument.get_if<Argument::Tuple>();
  if (list == nullptr && tuple == nullptr) {
    add_text(pieces, labels_.argument_text(graph, argument));
    return;
  }
  const std::vector<Argument>& inner = list != nullptr ? list->items : tuple->items;
  const argument::TupleNames* names = tuple != nullptr ? tuple->names.get() : nullptr;
  if (names != nullptr) add_text(pieces, QualifiedName(names->type).last());
  add_text(pieces, list != nullptr ? "[" : "(");
  for (std::size_t i = 0; i < inner.size(); ++i) {
    if (i > 0) add_text(pieces, ", ");
    if (names != nullptr) add_text(pieces, names->fields.at(i) + "=");
    add(graph, inner[i], pieces);
  }
  add_text(pieces, list != nullptr ? "]" : inner.size() == 1 && names == nullptr ? ",)" : ")");
}

std::vector<ArgumentText> Arguments::arguments(Outline::Index index) const {
  const Outline::Item& item = outline_[index];
  const Node& node = *item.node;
  std::optional<Schema> schema;
  if (const Operator* op = find_operator(target_parts(node)); op != nullptr) schema = op->schema();
  std::vector<ArgumentText> arguments;
  for (std::size_t i = 0; i < node.args.size(); ++i) {
    ArgumentText& argument = arguments.emplace_back();
    if (schema && i < schema->arguments.size()) argument.name = schema->arguments[i].name;
    add(*item.graph, node.args[i], argument.pieces);
  }
  for (const auto& [name, value] : node.kwargs) {
    ArgumentText& argument = arguments.emplace_back();
    argument.name = name;
    add(*item.graph, value, argument.pieces);
  }
  return arguments;
}

}  // namespace fxtrace::internal
