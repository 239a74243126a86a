#include "costs/graph_costs.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "costs/custom_costs.h"
#include "costs/node_costs.h"
#include "opinfo/rules/shape_helpers.h"
#include "opinfo/stored_parts.h"
#include "support/saturated.h"

namespace fxtrace::internal {

namespace {

// A parameter, buffer or constant of the model.
struct Owned {
  std::size_t number = 0;  // the same for tied tensors
  std::int64_t bytes = 0;
  const std::vector<StoredPart>* stored = nullptr;  // its tensors when it is not one plain tensor
  bool is_packed = false;
};

std::int64_t stored_bytes(const std::vector<std::int64_t>& shape, std::string_view dtype) {
  const auto bytes = bytes_of(Sizes(shape.begin(), shape.end()), find_scalar_type(dtype));
  return bytes ? bytes->number().value_or(0) : 0;
}

std::int64_t stored_bytes(const std::vector<StoredPart>& parts) {
  std::int64_t bytes = 0;
  for (const StoredPart& part : parts) add_saturated(bytes, stored_bytes(part.shape, part.dtype));
  return bytes;
}

// Returns the known value of packed parameters: the weight, which is the first part.
AbstractValue packed_value(const std::vector<StoredPart>& parts) {
  if (parts.empty()) return {};
  TensorInfo weight;
  weight.sizes.assign(parts.front().shape.begin(), parts.front().shape.end());
  weight.dtype = find_scalar_type(std::string_view(parts.front().dtype));
  return {AbstractValue::Sequence{{std::move(weight)}}};
}

// The owned tensors by name, so that those of a module and its submodules are adjacent.
class OwnedTensors {
 public:
  explicit OwnedTensors(const std::vector<ParameterRecord>& parameters) {
    for (const ParameterRecord& record : parameters) {
      if (record.kind == ParameterKind::kCustomObject) continue;
      const std::string& first = record.alias_of ? *record.alias_of : record.name;
      const std::size_t number = numbers_.try_emplace(first, numbers_.size()).first->second;
      const bool is_plain = record.stored.empty();
      by_name_[record.name] = {
          number, is_plain ? stored_bytes(record.shape, record.dtype) : stored_bytes(record.stored),
          is_plain ? nullptr : &record.stored, record.is_packed()};
    }
  }

  std::size_t size() const { return numbers_.size(); }  // greater than every number
  const Owned* find(std::string_view name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : &found->second;
  }
  template <class F>
  void for_each_below(const std::string& module, F&& f) const {
    const std::string prefix = module.empty() ? "" : module + ".";
    for (auto at = by_name_.lower_bound(prefix); at != by_name_.end() && at->first.starts_with(prefix);
         ++at) {
      f(at->second);
    }
  }

 private:
  std::map<std::string_view, Owned> by_name_;
  std::unordered_map<std::string_view, std::size_t> numbers_;  // by first name of tied tensors
};

// Adds up the bytes of tensors, each of them once until the next begin().
class OwnedBytes {
 public:
  void begin() {
    ++turn_;
    bytes_ = 0;
  }
  void add(const Owned& owned) {
    if (seen_.size() <= owned.number) seen_.resize(owned.number + 1);
    if (std::exchange(seen_[owned.number], turn_) != turn_) add_saturated(bytes_, owned.bytes);
  }
  std::int64_t bytes() const { return bytes_; }

 private:
  std::vector<std::uint32_t> seen_;  // by number
  std::uint32_t turn_ = 1;
  std::int64_t bytes_ = 0;
};

bool is_nothing(const Cost& cost) {
  return cost.macs == SymInt(0) && cost.activation_bytes == SymInt(0) && cost.parameter_bytes == 0 &&
         cost.unknown.empty() && cost.unsized == 0;
}

class GraphCosts {
 public:
  // `read` and `all` may be shared by any number of graphs, one after another.
  GraphCosts(const OwnedTensors& owned, const CustomCosts& custom, OwnedBytes& read, OwnedBytes& all,
             ModuleGraph& graph, bool is_subgraph)
      : owned_(owned),
        module_graph_(graph),
        graph_(graph.graph),
        is_subgraph_(is_subgraph),
        costs_(graph, custom, nullptr),
        read_(read),
        all_(all) {
    for (const auto& [name, constant] : graph.constants) {
      const bool is_packed = !constant.stored.empty();
      constants_.emplace(name, Owned{owned.size() + constants_.size(),
                                     is_packed ? stored_bytes(constant.stored)
                                               : stored_bytes(constant.shape, constant.dtype),
                                     is_packed ? &constant.stored : nullptr, is_packed});
    }
    for (auto& [name, subgraph] : graph.subgraphs) GraphCosts(owned, custom, read, all, subgraph, true).run();
  }

  void run() {
    all_.begin();
    costs_.begin();
    for (NodeId id = graph_.first(); id.valid(); id = graph_.next(id)) add(graph_.node(id));
    Cost cost = costs_.log().cost();
    cost.parameter_bytes = all_.bytes();
    module_graph_.cost = std::move(cost);
  }

 private:
  void add(const Node& node) {
    if (costs_.add(node)) return set_cost(node, costs_.last());
    if (node.op == Opcode::kCallFunction) return graph_.set_cost(node.id, std::nullopt);
    // The inputs of a subgraph are live in the outer graph, and counted there.
    if (node.op == Opcode::kPlaceholder && !is_subgraph_) costs_.log().hold(costs_.known(node.id));
    if (node.op != Opcode::kGetAttr) return;
    const Owned* owned = find_owned(*node.target);
    if (owned != nullptr && owned->is_packed) costs_.known(node.id) = packed_value(*owned->stored);
  }

  const Owned* find_owned(std::string_view target) const {
    if (const Owned* owned = owned_.find(target)) return owned;
    const auto constant = constants_.find(target);
    return constant == constants_.end() ? nullptr : &constant->second;
  }

  void set_cost(const Node& node, Cost cost) {
    read_.begin();
    const auto add_read = [&](const Owned& owned) {
      read_.add(owned);
      all_.add(owned);
    };
    for_each_input(node, [&](NodeId used) {
      const Node& input = graph_.node(used);
      if (input.op != Opcode::kGetAttr) return;
      if (const Owned* owned = find_owned(*input.target)) add_read(*owned);
    });
    if (node.op == Opcode::kCallModule) owned_.for_each_below(called_module(node), add_read);
    cost.parameter_bytes = bytes_of_part(node).value_or(read_.bytes());
    if (cost.peak_bytes == cost.activation_bytes) cost.peak_bytes.reset();
    if (is_nothing(cost)) return graph_.set_cost(node.id, std::nullopt);
    Shared<std::optional<Cost>>& latest = latest_[&*node.target];
    if (*latest != cost) latest = std::optional(std::move(cost));
    graph_.set_cost(node.id, latest);
  }

  // Returns the bytes of the part that a node takes out of a tensor subclass; nothing for other nodes.
  std::optional<std::int64_t> bytes_of_part(const Node& node) const {
    if (!takes_stored_part(*node.target) || node.args.size() != 2) return std::nullopt;
    const auto* id = node.args[0].get_if<NodeId>();
    const auto* name = node.args[1].get_if<std::string>();
    if (id == nullptr || name == nullptr || graph_.node(*id).op != Opcode::kGetAttr) return std::nullopt;
    const Owned* owned = find_owned(*graph_.node(*id).target);
    if (owned == nullptr || owned->stored == nullptr) return std::nullopt;
    const auto part = std::ranges::find(*owned->stored, *name, &StoredPart::name);
    if (part == owned->stored->end()) return std::nullopt;
    return stored_bytes(part->shape, part->dtype);
  }

  const OwnedTensors& owned_;
  ModuleGraph& module_graph_;
  Graph& graph_;
  bool is_subgraph_;
  NodeCosts costs_;
  std::unordered_map<std::string_view, Owned> constants_;
  OwnedBytes &read_, &all_;  // bytes read by the current node, and by all nodes
  // The cost of the latest node with each target: the next one mostly has the same.
  std::unordered_map<const std::string*, Shared<std::optional<Cost>>> latest_;
};

}  // namespace

void add_costs(GraphCollection& collection) {
  const OwnedTensors owned(collection.parameters);
  OwnedBytes read, all;
  const CustomCosts custom(collection.custom_costs);
  for (ModuleGraph& graph : collection.graphs) GraphCosts(owned, custom, read, all, graph, false).run();
}

}  // namespace fxtrace::internal
