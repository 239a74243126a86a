// The pass common-subexpressions: value numbering in one walk.  Each pure call gets a key of its target, its
// arguments and the number of writes to their memory so far; a call whose key was seen before is replaced.
#include "passes/pass.h"

#include <bit>
#include <memory_resource>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/alias_regions.h"
#include "graph/rewrite.h"

namespace fxtrace::internal {
namespace {

// A text that identifies a value to the bit: 0.0 differs from -0.0, and True from 1.
class Key {
 public:
  // Adds seven bits a byte, with the last byte marked: most numbers are small.
  void add_number(std::uint64_t number) {
    for (; number >= 0x80; number >>= 7) text_ += static_cast<char>(number & 0x7f);
    text_ += static_cast<char>(number | 0x80);
  }
  void add_text(std::string_view text) {
    add_number(text.size());
    text_ += text;
  }
  void add(const Argument& argument) {
    for_each_value(argument, [&](const Argument& value) {
      text_ += static_cast<char>(value.value.index());
      std::visit([&](const auto& held) { add_value(held); }, value.value);
    });
  }

  const std::string& text() const { return text_; }

 private:
  void add_value(bool value) { text_ += value ? '1' : '0'; }
  void add_value(std::int64_t value) { add_number(static_cast<std::uint64_t>(value)); }
  void add_value(double value) { add_number(std::bit_cast<std::uint64_t>(value)); }
  void add_value(const std::complex<double>& value) {
    add_value(value.real());
    add_value(value.imag());
  }
  void add_value(const std::string& value) { add_text(value); }
  void add_value(NodeId value) { add_number(value.index); }
  void add_value(const Argument::None&) {}
  void add_value(const Argument::List& list) { add_number(list.items.size()); }
  void add_value(const Argument::Tuple& tuple) {
    add_number(tuple.items.size());
    if (tuple.names == nullptr) return add_number(0);
    add_number(1);
    add_text(tuple.names->type);
    for (const std::string& field : tuple.names->fields) add_text(field);
  }
  void add_value(const Argument::Dict& dict) { add_number(dict.items.size()); }
  void add_value(const Argument::Slice&) {}
  void add_value(const auto& named) { add_text(named.name); }  // a dtype, a device, a graph, ...

  std::string text_;
};

class Merge {
 public:
  Merge(ModuleGraph& graph, PassContext& context)
      : graph_(graph), semantics_(context.semantics), memory_(graph, context.semantics) {}

  void run() {
    const std::vector<NodeId> order = graph_.graph.order();
    first_.reserve(order.size());
    for (const NodeId id : order) {
      const Node& node = graph_.graph.node(id);
      const Effects effects = semantics_.effects(graph_, node);
      // A call with unknown effects may set an attribute of a module to another tensor.
      if (effects.is_unknown) ++unknown_;
      if (effects.switches) ++switched_;
      if (node.op == Opcode::kGetAttr) {
        merge_or_keep(id, key_of_attribute(node));
      } else if (node.op == Opcode::kCallFunction && effects.is_pure()) {
        const bool is_view = always_gives_view(node, effects);
        if (is_mergeable(id, is_view)) merge_or_keep(id, key_of_call(node, effects, is_view));
      }
    }
  }

 private:
  Key key_of_attribute(const Node& node) const {
    Key key;
    key.add_number(unknown_);
    key.add_text(semantics_.first_name(node.target));
    return key;
  }

  Key key_of_call(const Node& node, const Effects& effects, bool is_view) const {
    Key key;
    key.add_text(node.target);
    key.add_number(switched_);
    key.add_number(node.args.size());
    for (const Argument& argument : node.args) key.add(argument);
    for (const auto& [name, argument] : node.kwargs) {
      key.add_text(name);
      key.add(argument);
    }
    const bool reads = effects.reads_elements && !is_view;
    for_each_input(node, [&](NodeId input) {
      key.add_number(reads ? memory_.writes_before(input, node.id)
                           : memory_.shape_changes_before(input, node.id));
    });
    return key;
  }

  bool always_gives_view(const Node& node, const Effects& effects) const {
    if (!memory_.has_memory(node.id) || effects.shared.empty()) return false;
    const OperatorEntry* info = semantics_.find_operator(node.target);
    return info != nullptr && !info->aliases.empty() && std::ranges::all_of(info->aliases, &Alias::always);
  }

  // Returns whether one result can stand for two: none of them is written, or both are views of one memory.
  bool is_mergeable(NodeId id, bool is_view) const {
    if (!memory_.has_memory(id)) return true;
    return !memory_.changes_shape(id) && (is_view || !memory_.is_written(id));
  }

  void merge_or_keep(NodeId id, const Key& key) {
    std::pmr::string text(key.text(), &keys_);
    const auto [place, is_new] = first_.try_emplace(std::move(text), id);
    if (is_new) return;
    const Graph& graph = graph_.graph;
    const NodeId first = place->second;
    // A number that is read a second time has another symbol.
    if (graph.node(first).meta != graph.node(id).meta) return;
    const bool both_given = memory_.is_given_back(first) && memory_.is_given_back(id);
    if (both_given && !memory_.same_region(first, id)) return;  // the caller may write to one of them
    memory_.replace_copy(id, first);
    replace_node(graph_, id, first);
  }

  ModuleGraph& graph_;
  Semantics& semantics_;
  AliasRegions memory_;
  std::pmr::monotonic_buffer_resource keys_;  // most keys are kept to the end
  std::pmr::unordered_map<std::pmr::string, NodeId> first_{&keys_};
  std::uint64_t unknown_ = 0, switched_ = 0;
};

}  // namespace

void common_subexpressions(ModuleGraph& graph, PassContext& context) {
  context.for_each_graph(graph, [&](ModuleGraph& each) { Merge(each, context).run(); });
}

}  // namespace fxtrace::internal
