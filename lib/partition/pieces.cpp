#include "partition/pieces.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "convert/lower/written_program.h"
#include "exported/program/exported_program.h"
#include "extract/extract.h"
#include "support/error.h"
#include "support/json_emitter.h"
#include "trace/options/option_json.h"
#include "writers/formats/field_writer.h"

namespace fxtrace::internal {
namespace {

const Node& output_of(const Graph& graph) { return graph.node(graph.last()); }

// Returns whether it is a number, a bool, a text or None.
bool is_plain(const Argument& value) {
  return value.is<std::int64_t>() || value.is<double>() || value.is<bool>() || value.is<std::string>() ||
         value.is<Argument::None>();
}

// Writes the field "value" of a plain value.
void write_plain(const Argument& value, JsonEmitter& json) {
  json.key("value");
  write_value(value, json);
}

// Returns the value that the program fixed for an input; null when there is none.
const Argument* fixed_value(const ModuleGraph& graph, NodeId input) {
  if (!graph.signature) return nullptr;
  const auto& inputs = graph.signature->inputs;
  const auto found = std::ranges::find(inputs, input, &GraphSignature::Entry::node);
  return found == inputs.end() || !found->value ? nullptr : &*found->value;
}

// Writes a value that the model returns: its containers, with the names of nodes in them.
void write_result(const Graph& graph, const Argument& value, JsonEmitter& json) {
  json.object([&] {
    if (const auto* id = value.get_if<NodeId>()) {
      const Node& node = graph.node(*id);
      json.field(node.op == Opcode::kGetAttr ? "attribute" : "node",
                 node.op == Opcode::kGetAttr ? *node.target : node.name);
    } else if (const auto* items = items_of(value)) {
      const auto* tuple = value.get_if<Argument::Tuple>();
      json.field("kind", tuple != nullptr ? "tuple" : "list");
      if (tuple != nullptr && tuple->names) json.field("fields", tuple->names->fields);
      json.key("items").list(*items, [&](const Argument& item) { write_result(graph, item, json); });
    } else if (const auto* dict = value.get_if<Argument::Dict>()) {
      json.field("kind", "dict");
      json.key("items").list(dict->items,
                             [&](const Argument::DictItem& item) { write_result(graph, item.value, json); });
      json.key("keys").list(dict->items, [&](const Argument::DictItem& item) {
        const auto* key = item.key.get_if<std::string>();
        const auto* number = item.key.get_if<std::int64_t>();
        if (key != nullptr) {
          json.string(*key);
        } else if (number != nullptr) {
          json.integer(*number);
        } else {
          throw input_error("the model returns a dict whose keys are neither texts nor integers");
        }
      });
    } else if (is_plain(value)) {
      write_plain(value, json);
    } else {
      throw input_error("the model returns a value that a plan cannot express");
    }
  });
}

}  // namespace

std::size_t count_pieces(const Partition& partition) {
  const auto is_own = [&](const Part& part) { return part.graph == partition.parts.front().graph; };
  return static_cast<std::size_t>(std::ranges::count_if(partition.parts, is_own));
}

Pieces make_pieces(const Partition& partition, const GraphCollection& collection, const Program& model,
                   const LoweringOptions& options) {
  Pieces pieces;
  const Graph& whole = collection.graphs.front().graph;
  std::unordered_map<std::string_view, const Node*> attributes;  // by name of the node
  for (NodeId id = whole.first(); id.valid(); id = whole.next(id)) {
    if (whole.node(id).op == Opcode::kGetAttr) attributes.emplace(whole.node(id).name, &whole.node(id));
  }
  std::set<std::string> taken, held;  // attributes that enter pieces, and that pieces have themselves
  for (std::size_t i = 0; i < count_pieces(partition); ++i) {
    const Part& part = partition.parts[i];
    ExtractRequest request;
    request.run = part.nodes;
    request.graph = part.graph;
    const GraphCollection extracted = extract(collection, request);
    const Graph& graph = extracted.graphs.front().graph;
    Piece& piece = pieces.pieces.emplace_back();
    piece.set = part.set;
    for (NodeId id = graph.first(); id.valid(); id = graph.next(id)) {
      const Node& node = graph.node(id);
      if (node.op == Opcode::kGetAttr) held.insert(*node.target);
      if (node.op != Opcode::kPlaceholder) continue;
      piece.inputs.push_back(node.name);
      const auto attribute = attributes.find(node.name);
      if (attribute == attributes.end()) continue;
      taken.insert(*attribute->second->target);
      std::pair entry(node.name, *attribute->second->target);
      if (std::ranges::find(pieces.attributes, entry) == pieces.attributes.end())
        pieces.attributes.push_back(std::move(entry));
    }
    for_each_input(output_of(graph), [&](NodeId id) { piece.outputs.push_back(graph.node(id).name); });
    Lowered lowered = lower(extracted, model, options);
    std::ranges::move(lowered.refusals, std::back_inserter(pieces.refusals));
    for (std::string& note : lowered.notes) {
      if (std::ranges::find(pieces.notes, note) == pieces.notes.end())
        pieces.notes.push_back(std::move(note));
    }
    if (!pieces.refusals.empty()) continue;
    piece.records = records_of(lowered.program, true);
    std::ranges::move(refused_texts(piece.records), std::back_inserter(pieces.refusals));
  }
  for_each_input(output_of(whole), [&](NodeId id) {
    if (whole.node(id).op == Opcode::kGetAttr) taken.insert(*whole.node(id).target);
  });
  for (const std::string& name : taken) {
    if (!held.contains(name))
      pieces.refusals.push_back(
          {.what = name, .why = "it is returned or written as a whole, and no part reads it"});
  }
  return pieces;
}

void write_plan(const Partition& partition, const GraphCollection& collection, const Program& model,
                const Pieces& pieces, const std::vector<std::string>& files, std::ostream& out) {
  const Graph& graph = collection.graphs.front().graph;
  const auto* program = as_exported(&model);
  JsonEmitter json(out);
  std::vector<std::string> names;
  for (const OperatorSet& set : partition.sets) names.push_back(set.name);
  json.document([&] {
    write_format(json, "fxtrace.plan", 1);
    FieldWriter(json).field("model", partition.model);
    const bool has_spec = program != nullptr && program->in_spec() && collection.graphs.front().signature;
    json.field("sets", names);
    json.field("in_spec", has_spec ? std::optional(tree_text(*program->in_spec())) : std::nullopt);
    std::vector<const Node*> inputs;
    for (NodeId id = graph.first(); id.valid(); id = graph.next(id)) {
      if (graph.node(id).op == Opcode::kPlaceholder) inputs.push_back(&graph.node(id));
    }
    json.key("inputs").objects_lines(inputs, [&](const Node* node) {
      json.field("node", node->name);
      json.field("argument", *node->target);
      const Argument* value = fixed_value(collection.graphs.front(), node->id);
      if (value != nullptr && is_plain(*value)) write_plain(*value, json);
    });
    json.key("attributes").objects_lines(pieces.attributes, [&](const auto& attribute) {
      json.field("node", attribute.first);
      json.field("attribute", attribute.second);
    });
    json.key("parts").objects_lines(pieces.pieces, [&](const Piece& piece) {
      json.field("file", files[static_cast<std::size_t>(&piece - pieces.pieces.data())]);
      json.field("set", piece.set ? std::optional(partition.sets[*piece.set].name) : std::nullopt);
      json.field("inputs", piece.inputs);
      json.field("outputs", piece.outputs);
    });
    json.key("result");
    write_result(graph, output_of(graph).args.at(0), json);
  });
}

}  // namespace fxtrace::internal
