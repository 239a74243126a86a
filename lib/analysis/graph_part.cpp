#include "analysis/graph_part.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

#include "graph/subgraph_call.h"
#include "operators/names/function_traits.h"
#include "opinfo/batching.h"
#include "support/error.h"
#include "support/text/qualified_name.h"

namespace fxtrace::internal {
namespace {

// The limit of close(): each turn visits the whole graph.
constexpr int kMostTurns = 100;

FunctionTraits modes_of(const Node& node) {
  using namespace function_traits;  // NOLINT(google-build-using-namespace)
  if (node.op != Opcode::kCallFunction || node.model_function) return 0;
  return find_python_function(*node.target).traits & (kOpensRegion | kClosesRegion | kSetsMode);
}

}  // namespace

GraphPart::GraphPart(const GraphCollection& collection, const ModuleGraph& graph)
    : collection_(collection),
      graph_(graph),
      semantics_(collection),
      memory_(graph, semantics_),
      order_(graph.graph.order()),
      effects_(order_.size()),
      writes_(order_.size()),
      members_(order_.size()),
      helpers_(order_.size()),
      wanted_(order_.size()),
      read_before_(order_.size()) {
  std::unordered_map<std::string, std::size_t> attributes;  // regions by first name
  for (const NodeId id : order_) {
    const Node& node = graph.graph.node(id);
    if (node.op == Opcode::kGetAttr && memory_.has_memory(id))
      attributes.emplace(semantics_.memory_name(*node.target), region(id));
  }
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const Node& node = this->node(i);
    effects_[i] = semantics_.effects(graph, node);
    for (const NodeId written : effects_[i].written) {
      if (memory_.has_memory(written)) writes_[i].push_back(region(written));
    }
    if (!effects_[i].writes_parameters || attributes.empty()) continue;
    semantics_.for_each_parameter(*node.target, [&](const std::string& name) {
      const auto attribute = attributes.find(semantics_.memory_name(name));
      if (attribute != attributes.end()) writes_[i].push_back(attribute->second);
    });
  }
}

std::size_t GraphPart::region(NodeId value) const {
  return memory_.has_memory(value) ? memory_.region_number(value) : kNone;
}

bool GraphPart::is_call(std::size_t position) const {
  const Opcode op = node(position).op;
  return op == Opcode::kCallFunction || op == Opcode::kCallMethod || op == Opcode::kCallModule;
}

void GraphPart::add(std::size_t position, bool is_result) {
  members_[position] = true;
  helpers_[position] = false;
  wanted_[position] = wanted_[position] || is_result;
}

// Adds a member whose value leaves only if it is asked for.
void GraphPart::add_helper(std::size_t position) {
  if (members_[position] || !is_call(position)) return;
  members_[position] = helpers_[position] = changed_ = true;
}

void GraphPart::close() {
  for (int turn = 0;; ++turn) {
    if (turn == kMostTurns) refuse("the nodes that it needs could not be determined");
    changed_ = false;
    add_between();
    add_items();
    find_touches();
    add_writers();
    add_modes();
    add_random();
    add_batched();
    add_mutations();
    if (!changed_) add_views();
    if (!changed_) break;
  }
  find_read_before();
  check_state();
}

void GraphPart::close_run() {
  add_plain_values();
  do {
    changed_ = false;
    find_touches();
    add_views();
  } while (changed_);
  find_read_before();
}

// Returns whether the call makes a plain value that programs neither take nor return: a device, a dtype, or a
// float or bool that no element of a tensor decides.
bool GraphPart::is_plain_value(std::size_t position) const {
  const Meta& meta = *node(position).meta;
  if (!is_call(position) || !effects_[position].is_pure()) return false;
  if (meta.kind() == ValueKind::kOther) return meta.type && meta.type->find("Tensor") == std::string::npos;
  if (meta.kind() != ValueKind::kFloat && meta.kind() != ValueKind::kBool) return false;
  bool has_tensor = false;
  for_each_input(node(position), [&](NodeId input) {
    has_tensor = has_tensor || node(this->position(input)).meta->kind() == ValueKind::kTensor;
  });
  return !has_tensor || !effects_[position].reads_elements;
}

void GraphPart::add_plain_values() {
  for (std::size_t i = order_.size(); i-- > 0;) {
    if (!members_[i]) continue;
    if (is_plain_value(i)) helpers_[i] = true;
    for_each_input(node(i), [&](NodeId input) {
      if (is_plain_value(position(input))) add_helper(position(input));
    });
  }
}

void GraphPart::find_read_before() {
  for (std::size_t i = 0; i < order_.size(); ++i) {
    if (node(i).op != Opcode::kGetAttr) continue;
    const bool is_used =
        std::ranges::any_of(node(i).users, [&](NodeId user) { return members_[position(user)]; });
    read_before_[i] = is_used && written_before(i);
    const ValueKind kind = node(i).meta->kind();
    if (read_before_[i] && kind == ValueKind::kOther && node(i).meta->type)
      refuse(*node(i).target + ", an object, may be changed before the part");
  }
}

// Adds nodes that depend on members and that members depend on, by value or by memory.
void GraphPart::add_between() {
  std::vector<bool> takes(order_.size()), gives(order_.size());
  std::vector<bool> changed(memory_.regions()), needed(memory_.regions());
  for (std::size_t i = 0; i < order_.size(); ++i) {
    takes[i] = members_[i];
    if (!members_[i] && is_call(i)) {
      for_each_input(node(i), [&](NodeId input) {
        const std::size_t memory = region(input);
        takes[i] = takes[i] || takes[position(input)] || (memory != kNone && changed[memory]);
      });
    }
    if (!takes[i]) continue;
    for (const std::size_t memory : writes_[i]) changed[memory] = true;
  }
  for (std::size_t i = order_.size(); i-- > 0;) {
    if (!members_[i] && is_call(i)) {
      for (const std::size_t memory : writes_[i]) gives[i] = gives[i] || needed[memory];
    }
    if (!members_[i] && !gives[i]) continue;
    if (!members_[i] && takes[i] && is_call(i)) members_[i] = changed_ = true;
    for_each_input(node(i), [&](NodeId input) {
      gives[position(input)] = true;
      if (const std::size_t memory = region(input); memory != kNone) needed[memory] = true;
    });
  }
}

void GraphPart::find_touches() {
  first_touch_.assign(memory_.regions(), kNone);
  last_touch_.assign(memory_.regions(), kNone);
  const auto touch = [&](std::size_t memory, std::size_t at) {
    if (memory == kNone) return;
    if (first_touch_[memory] == kNone) first_touch_[memory] = at;
    last_touch_[memory] = at;
  };
  first_write_.assign(memory_.regions(), kNone);
  for (std::size_t i = 0; i < order_.size(); ++i) {
    if (!members_[i]) {
      for (const std::size_t memory : writes_[i]) first_write_[memory] = std::min(first_write_[memory], i);
      continue;
    }
    touch(region(order_[i]), i);
    for (const std::size_t memory : writes_[i]) touch(memory, i);
    for_each_input(node(i), [&](NodeId input) { touch(region(input), i); });
  }
}

// Adds nodes that write, between members, to memory that both earlier and later members use.
void GraphPart::add_writers() {
  for (std::size_t i = 0; i < order_.size(); ++i) {
    if (members_[i]) continue;
    for (const std::size_t memory : writes_[i]) {
      const bool is_between =
          first_touch_[memory] != kNone && first_touch_[memory] < i && i < last_touch_[memory];
      if (is_between) add_helper(i);
    }
  }
}

bool GraphPart::written_before(std::size_t position) const {
  const std::size_t memory = region(order_[position]);
  return memory != kNone && first_touch_[memory] != kNone && first_write_[memory] < first_touch_[memory];
}

// Adds the items of tuples and lists that members return.
void GraphPart::add_items() {
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const Node& item = node(i);
    if (members_[i] || item.op != Opcode::kCallFunction || !item_index(item)) continue;
    const auto* from = item.args[0].get_if<NodeId>();
    if (from == nullptr || !members_[position(*from)] || helpers_[position(*from)] ||
        wanted_[position(*from)])
      continue;
    if (node(position(*from)).meta->kind() == ValueKind::kOther) members_[i] = changed_ = true;
  }
}

// Adds the calls that open and close regions of autocast and gradients around members, and all that set a
// mode before the last member.
void GraphPart::add_modes() {
  std::size_t first = kNone;
  std::size_t last = 0;
  for (std::size_t i = 0; i < order_.size(); ++i) {
    if (!members_[i] || modes_of(node(i)) != 0) continue;
    if (first == kNone) first = i;
    last = i;
  }
  if (first == kNone) return;
  bool has_switches = false;
  std::unordered_map<std::uint32_t, std::size_t> open;  // positions by opening node
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const FunctionTraits modes = modes_of(node(i));
    if ((modes & function_traits::kOpensRegion) != 0) open.emplace(order_[i].index, i);
    if ((modes & function_traits::kClosesRegion) != 0 && !node(i).args.empty()) {
      const auto* opened = node(i).args[0].get_if<NodeId>();
      const auto opener = opened == nullptr ? open.end() : open.find(opened->index);
      if (opener != open.end()) {
        if (opener->second < last && i > first) {
          add_helper(opener->second);
          add_helper(i);
        }
        open.erase(opener);
      }
    }
    if ((modes & function_traits::kSetsMode) != 0 && (i < last || has_switches)) {
      has_switches = true;
      add_helper(i);
    }
  }
  for (const auto& [opener, at] : open) {
    if (at < last) add_helper(at);
  }
}

// Adds random calls between random calls of members, so that all draw the same numbers.
void GraphPart::add_random() {
  std::size_t first = kNone;
  std::size_t last = 0;
  for (std::size_t i = 0; i < order_.size(); ++i) {
    if (!members_[i] || !effects_[i].is_random) continue;
    if (first == kNone) first = i;
    last = i;
  }
  for (std::size_t i = first == kNone ? last : first; i < last; ++i) {
    if (!members_[i] && effects_[i].is_random) add_helper(i);
  }
}

// Adds whole calls of torch.vmap: values within one have no meaning outside.
void GraphPart::add_batched() {
  std::vector<std::size_t> open, members_before(order_.size() + 1);
  for (std::size_t i = 0; i < order_.size(); ++i)
    members_before[i + 1] = members_before[i] + (members_[i] ? 1 : 0);
  for (std::size_t i = 0; i < order_.size(); ++i) {
    if (node(i).op != Opcode::kCallFunction) continue;
    const VmapFunction function = vmap_function(*node(i).target);
    if (function == VmapFunction::kOpen) open.push_back(i);
    if (function != VmapFunction::kClose || open.empty()) continue;
    const std::size_t begin = open.back();
    open.pop_back();
    if (members_before[i + 1] == members_before[begin]) continue;
    for (std::size_t at = begin; at <= i; ++at) {
      const bool gives_batch = open.empty() && vmap_function(*node(at).target) == VmapFunction::kRemove;
      if (wanted_[at] && !gives_batch) refuse(node(at).name + " is a value of one sample within torch.vmap");
      if (members_[at] || !is_call(at)) continue;
      members_[at] = changed_ = true;
    }
  }
}

// Adds the writes to buffers and parameters that exported programs have at the end of the graph.
void GraphPart::add_mutations() {
  if (!graph_.signature) return;
  for (const GraphSignature::Entry& entry : graph_.signature->outputs) {
    const bool is_of_state =
        entry.role == SignatureRole::kBufferMutation || entry.role == SignatureRole::kParameterMutation;
    if (!is_of_state || !entry.node.valid()) continue;
    const std::size_t write = position(entry.node);
    bool is_of_member = false;
    for_each_input(node(write), [&](NodeId input) {
      is_of_member = is_of_member || (members_[position(input)] && !helpers_[position(input)]);
    });
    if (is_of_member) add_helper(write);
  }
}

// Returns a number for each node, equal for values that may share memory before the part begins.
std::vector<std::size_t> GraphPart::aliases() const {
  std::vector<std::size_t> parent(order_.size());
  for (std::size_t i = 0; i < parent.size(); ++i) parent[i] = i;
  const auto find = [&](std::size_t at) {
    while (parent[at] != at) at = parent[at] = parent[parent[at]];
    return at;
  };
  const auto unite = [&](std::size_t a, std::size_t b) {
    if (memory_.has_memory(order_[a]) && memory_.has_memory(order_[b])) parent[find(b)] = find(a);
  };
  std::unordered_map<std::string, std::size_t> attributes;
  for (std::size_t i = 0; i < order_.size(); ++i) {
    if (members_[i]) continue;
    const Node& node = this->node(i);
    if (node.op == Opcode::kGetAttr) {
      const auto [first, is_new] = attributes.emplace(semantics_.memory_name(*node.target), i);
      if (!is_new) unite(first->second, i);
    }
    for (const NodeId shared : effects_[i].shared) unite(i, position(shared));
    if (!effects_[i].joins_inputs) continue;
    std::size_t first = kNone;
    for_each_input(node, [&](NodeId input) {
      if (!memory_.has_memory(input)) return;
      if (first != kNone) unite(first, position(input));
      first = position(input);
    });
  }
  for (std::size_t i = 0; i < parent.size(); ++i) parent[i] = find(i);
  return parent;
}

// Makes views of memory that members write members too: only one value of such memory may enter.
void GraphPart::add_views() {
  std::vector<bool> is_written(memory_.regions());
  for (std::size_t i = 0; i < order_.size(); ++i) {
    if (!members_[i]) continue;
    for (const std::size_t memory : writes_[i]) is_written[memory] = true;
  }
  std::vector<std::size_t> entries;
  std::vector<bool> seen(order_.size());
  for (std::size_t i = 0; i < order_.size(); ++i) {
    if (!members_[i]) continue;
    for_each_input(node(i), [&](NodeId input) {
      const std::size_t at = position(input);
      const std::size_t memory = region(input);
      if (members_[at] || seen[at] || memory == kNone || !is_written[memory]) return;
      seen[at] = true;
      entries.push_back(at);
    });
  }
  if (entries.size() < 2) return;
  const std::vector<std::size_t> alias = aliases();
  std::unordered_map<std::size_t, std::vector<std::size_t>> groups;
  for (const std::size_t entry : entries) groups[alias[entry]].push_back(entry);
  for (const std::size_t entry : entries) {
    const std::vector<std::size_t>& group = groups.at(alias[entry]);
    const auto is_attribute = [&](std::size_t at) {
      return node(at).op == Opcode::kGetAttr && !written_before(at);
    };
    if (group.size() == 1 || std::ranges::all_of(group, is_attribute)) continue;
    if (is_call(entry) && effects_[entry].is_pure()) {
      add_helper(entry);
      continue;
    }
    const bool has_views =
        std::ranges::any_of(group, [&](std::size_t at) { return is_call(at) && effects_[at].is_pure(); });
    if (!has_views) {
      refuse(node(group[0]).name + " and " + node(group[1]).name +
             ", which enter the part, may share memory that the part writes to");
    }
  }
}

// Refuses parts with a leaf that is called before the part too, and whose code may change its own buffers and
// attributes, which the graph does not show.
void GraphPart::check_state() const {
  std::unordered_map<std::string_view, std::size_t> first;  // the first call outside, by module
  std::unordered_set<std::string_view> with_buffers;
  for (const ParameterRecord& parameter : collection_.parameters) {
    if (parameter.kind == ParameterKind::kBuffer)
      QualifiedName(parameter.name).for_each_prefix([&](std::string_view path) {
        with_buffers.insert(path);
      });
  }
  const bool is_exported = !collection_.model.is_torchscript();
  for (std::size_t i = 0; i < order_.size(); ++i) {
    if (node(i).op != Opcode::kCallModule || !effects_[i].writes_parameters || !effects_[i].is_unknown)
      continue;
    const std::string& path = called_module(node(i));
    if (is_exported && !path.empty() && !with_buffers.contains(path)) continue;
    if (!members_[i]) {
      first.emplace(path, i);
    } else if (first.contains(path)) {
      refuse((path.empty() ? "the root" : path) +
             ", which the part calls, is called before it and may have changed its state");
    }
  }
}

std::vector<NodeId> GraphPart::results() const {
  std::vector<NodeId> found;
  for (std::size_t i = 0; i < order_.size(); ++i) {
    if (!members_[i] || !is_call(i)) continue;
    const bool is_used =
        std::ranges::any_of(node(i).users, [&](NodeId user) { return !members_[position(user)]; });
    if (wanted_[i] || (is_used && !helpers_[i])) found.push_back(order_[i]);
  }
  return found;
}

void GraphPart::refuse(const std::string& reason) const {
  throw input_error("this part of the graph cannot stand by itself: " + reason);
}

}  // namespace fxtrace::internal
