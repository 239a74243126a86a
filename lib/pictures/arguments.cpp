#include "pictures/arguments.h"

#include <optional>
#include <string_view>

#include "operators/operators.h"
#include "support/text/qualified_name.h"

namespace fxtrace::internal {
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
