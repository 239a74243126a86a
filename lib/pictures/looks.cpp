#include "pictures/looks.h"
#include "support/text/qualified_name.h"

#include <algorithm>
#include <iterator>
#include <utility>

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

}  // namespace fxtrace::internal
