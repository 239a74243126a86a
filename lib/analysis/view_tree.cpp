#include "analysis/view_tree.h"

#include <algorithm>
#include <map>
#include <unordered_set>
#include <utility>

#include "analysis/identity_call.h"
#include "analysis/node_arguments.h"
#include "analysis/view_undo.h"
#include "operators/names/function_traits.h"
#include "operators/target.h"
#include "opinfo/operator_entry.h"
#include "opinfo/rules/shape_helpers.h"
#include "opinfo/traits.h"
#include "shapes/abstract_value.h"
#include "support/text/identifier.h"

namespace fxtrace::internal {

StridedCall Strides::call(const Node& node, const OperatorEntry& info,
                          std::set<std::uint32_t>& inputs) const {
  const auto find = [this, &inputs](NodeId id) -> std::optional<SizesAndStrides> {
    const auto found = known_.find(id.index);
    if (found == known_.end()) return std::nullopt;
    inputs.insert(found->second.inputs.begin(), found->second.inputs.end());
    return found->second.tensor;
  };
  return {graph_.graph, node, info, find, Certainty::kCertain};
}

Strides::Reshaped Strides::reshaped(const Node& node) {
  try {
    for (NodeId id = is_read_ ? NodeId() : graph_.graph.first(); id.valid(); id = graph_.graph.next(id)) {
      if (auto strides = strides_of(graph_.graph.node(id))) known_.emplace(id.index, *std::move(strides));
    }
    is_read_ = true;
    const OperatorEntry* info = semantics_.find_operator(node.target);
    const auto sizes = node.meta->sizes();
    if (info == nullptr || !sizes) return {};
    std::set<std::uint32_t> inputs;
    Reshaped reshaped{result_of_reshape(call(node, *info, inputs), *sizes)};
    for (const std::uint32_t input : inputs) reshaped.contiguous.push_back(NodeId{input});
    return reshaped;
  } catch (const SymbolicError&) {
    return {};
  }
}

std::optional<Strides::KnownStrides> Strides::strides_of(const Node& node) const {
  auto sizes = node.meta->sizes();
  if (!sizes || node.meta->kind() != ValueKind::kTensor) return std::nullopt;
  if (memory_.has_memory(node.id) && memory_.changes_shape(node.id)) return std::nullopt;
  if (node.op == Opcode::kPlaceholder) {
    if (is_subgraph_ || !is_identifier(*node.target)) return std::nullopt;
    auto strides = contiguous_strides(*sizes);
    return KnownStrides{{*std::move(sizes), std::move(strides)}, {node.id.index}};
  }
  if (node.op != Opcode::kCallFunction) return std::nullopt;
  const bool is_item = node.target == "operator.getitem";
  if (is_item && node.args.size() != 2) return std::nullopt;
  const auto* list = is_item ? node.args.front().get_if<NodeId>() : nullptr;
  const auto* item = is_item ? node.args.back().get_if<std::int64_t>() : nullptr;
  if (is_item && (list == nullptr || item == nullptr)) return std::nullopt;
  const Node& maker = is_item ? graph_.graph.node(*list) : node;
  const OperatorEntry* info = semantics_.find_operator(maker.target);
  if (info == nullptr || info->schema.results.size() != 1 || info->schema.results[0].is_list() != is_item)
    return std::nullopt;
  std::set<std::uint32_t> inputs;
  const StridedCall asked = call(maker, *info, inputs);
  std::optional<std::vector<SymInt>> strides;
  if (!may_write(info->row)) {
    strides = strides_of_result(asked, *sizes, 0);
  } else if (!info->schema.arguments.empty() && info->schema.arguments[0].is_written &&
             (info->traits & traits::kChangesShape) == 0) {
    const auto* first = node.args.empty() ? nullptr : node.args[0].get_if<NodeId>();
    if (auto written = first == nullptr ? std::nullopt : asked.find(*first)) strides = written->strides;
  }
  if (!strides) return std::nullopt;
  return KnownStrides{{*std::move(sizes), *std::move(strides)}, std::move(inputs)};
}

namespace {

constexpr std::uint32_t kNoWrite = UINT32_MAX;

const NodeId* node_of(const Argument* argument) {
  return argument == nullptr ? nullptr : argument->get_if<NodeId>();
}

bool gives_one_tensor(const Schema& schema) {
  return schema.results.size() == 1 && schema.results.front().name == "Tensor";
}

}  // namespace

ViewTree ViewTree::build(const ModuleGraph& graph, Semantics& semantics, bool is_subgraph) {
  ViewTree tensors(graph, semantics, is_subgraph, {});
  // Strides are used only where a write would stay without them, as they may need assumptions about inputs.
  std::vector<bool> by_strides(tensors.has_copies_.size());
  for (const auto& [region, reason] : tensors.refused_) by_strides[region] = tensors.has_copies_[region];
  if (std::ranges::find(by_strides, true) == by_strides.end()) return tensors;
  return ViewTree(graph, semantics, is_subgraph, std::move(by_strides));
}

ViewTree::ViewTree(const ModuleGraph& graph, Semantics& semantics, bool is_subgraph,
                   std::vector<bool> by_strides)
    : graph_(graph),
      semantics_(semantics),
      memory_(graph, semantics),
      is_subgraph_(is_subgraph),
      by_strides_(std::move(by_strides)) {
  left_.resize(memory_.regions());
  has_copies_.resize(memory_.regions());
  of_node_.resize(memory_.nodes(), kNoTensor);
  write_of_.resize(memory_.nodes(), kNoWrite);
  Strides strides(graph, semantics, memory_, is_subgraph);
  strides_ = &strides;
  for (NodeId id = graph.graph.first(); id.valid(); id = graph.graph.next(id)) read(id);
  strides_ = nullptr;
  finish();
}

bool ViewTree::is_watched(NodeId value) const {
  return memory_.has_memory(value) && memory_.is_written(value);
}

TensorNumber ViewTree::root_of(TensorNumber number) const {
  while (tensors_[number].is_view) number = tensors_[number].parent;
  return number;
}

void ViewTree::make(NodeId node, TensorNumber parent, bool is_view, bool from_outside) {
  of_node_[node.index] = static_cast<TensorNumber>(tensors_.size());
  tensors_.push_back({node, parent, is_view, from_outside, memory_.position(node)});
  became_.push_back(kNoTensor);
}

void ViewTree::set_same_tensor(NodeId node, NodeId as) {
  if (const TensorNumber number = now(as); number != kNoTensor) of_node_[node.index] = number;
}

void ViewTree::refuse(NodeId value, const std::string& reason) {
  if (!is_watched(value)) return;
  refused_.try_emplace(memory_.region_number(value), reason);
}

void ViewTree::write(NodeId node, NodeId target, Write::Kind kind) {
  write_of_[node.index] = static_cast<std::uint32_t>(writes_.size());
  writes_.push_back({node, target, kind});
}

// Records that the node uses its inputs: the memory of their roots lives at least to this node.
void ViewTree::use(const Node& node) {
  for_each_input(node, [&](NodeId input) {
    if (bundles_.contains(input.index) && node.target != "operator.getitem") {
      refuse(input, "the results of " + graph_.graph.node(input).name + " are used as one tuple");
    }
    const TensorNumber tensor = of_node_[input.index];
    if (tensor == kNoTensor) return;
    Tensor& root = tensors_[root_of(tensor)];
    root.lives_to = std::max(root.lives_to, memory_.position(node.id));
  });
}

void ViewTree::read(NodeId id) {
  const Node& node = graph_.graph.node(id);
  use(node);
  if (node.op == Opcode::kOutput) return;
  if (node.op == Opcode::kPlaceholder) {
    if (!is_watched(id)) return;
    make(id, kNoTensor, false, true);
    if (is_subgraph_) refuse(id, "a subgraph that writes its operands has no functional form");
    return;
  }
  if (node.op == Opcode::kGetAttr) {
    if (!is_watched(id)) return;
    const auto [first, is_new] = attributes_.emplace(semantics_.first_name(node.target), id);
    if (is_new) {
      make(id, kNoTensor, false, true);
    } else {
      set_same_tensor(id, first->second);
    }
    const auto [shared, is_alone] = memories_.emplace(semantics_.memory_name(node.target), first->first);
    if (!is_alone && shared->second != first->first)
      refuse(id, shared->second + " and " + first->first + " share memory");
    return;
  }
  const Effects effects = semantics_.effects(graph_, node);
  if (node.op == Opcode::kCallModule && !attributes_.empty()) {
    semantics_.for_each_parameter(called_module(node), [&](const std::string& name) {
      const auto shared = memories_.find(semantics_.memory_name(name));
      if (shared != memories_.end()) {
        refuse(attributes_.at(shared->second),
               "the leaf " + node.name + " uses the parameter or buffer " + name + " too");
      }
    });
  }
  const bool concerns =
      is_watched(id) || std::ranges::any_of(effects.written, [&](NodeId value) { return is_watched(value); });
  if (!concerns) return;
  for (const NodeId value : effects.written) {
    if (is_watched(value) && (writers_.empty() || writers_.back().node != id))
      writers_.push_back({id, value});
  }
  if (effects.is_unknown) {
    const std::string reason = node.op == Opcode::kCallModule
                                   ? "the effects of the leaf " + node.name + " are unknown"
                                   : "the effects of " + *node.target + " are unknown";
    refuse(id, reason);
    for (const NodeId value : effects.written) refuse(value, reason);
    return;
  }
  if (!effects.written.empty() && !memory_.has_memory(id)) {
    const std::string reason = node.name + " writes to it and does not return a tensor";
    for (const NodeId value : effects.written) refuse(value, reason);
    return;
  }
  if (node.op == Opcode::kCallModule) return read_leaf(node, effects);
  if (const OperatorEntry* info = semantics_.find_operator(node.target))
    return read_operator(node, *info, effects);
  if (parse_target(node.target).kind != TargetKind::kHigherOrder) return read_function(node, effects);
  for (const NodeId value : effects.written) refuse(value, "a subgraph of " + node.name + " writes to it");
  if (effects.shared.empty()) {
    bundles_.insert(id.index);
  } else {
    refuse(id, node.name + " may return its operands");
  }
}

void ViewTree::read_operator(const Node& node, const OperatorEntry& info, const Effects& effects) {
  if (!effects.written.empty()) return read_write(node, info, effects);
  if (effects.shared.empty()) {
    if (gives_one_tensor(info.schema)) return make(node.id, kNoTensor, false);
    bundles_.insert(node.id.index);
    return;
  }
  const auto refuse_all = [&] { refuse(node.id, node.name + " may return a view of its input or a copy"); };
  if (info.aliases.size() != 1) return refuse_all();
  const Alias& alias = info.aliases.front();
  const NodeId* parent = node_of(NodeArguments(node, info).find_argument(alias.argument));
  if (parent == nullptr || alias.argument != 0 || node.args.empty()) return refuse_all();
  if (!alias.always || alias.may_be_same) {
    if (is_input(node, info, *parent)) return set_same_tensor(node.id, *parent);
    if (!gives_one_tensor(info.schema)) return refuse_all();
    if (read_reshape(node, *parent)) return;
    make(node.id, kNoTensor, false);
    has_copies_[memory_.region_number(node.id)] = true;
    return;
  }
  const TensorNumber base = now(*parent);
  if (base == kNoTensor) return refuse_all();
  make(node.id, base, true);
}

// Makes the tensor of a reshape whose strides tell whether it is a view or a copy; returns false if they do
// not.
bool ViewTree::read_reshape(const Node& node, NodeId parent) {
  if (by_strides_.empty() || !by_strides_[memory_.region_number(node.id)]) return false;
  const TensorNumber base = now(parent);
  auto reshaped = strides_->reshaped(node);
  if (reshaped.result == ReshapeResult::kUnknown || base == kNoTensor) return false;
  if (reshaped.result == ReshapeResult::kSame) {
    set_same_tensor(node.id, parent);
  } else {
    make(node.id, reshaped.result == ReshapeResult::kView ? base : kNoTensor,
         reshaped.result == ReshapeResult::kView);
  }
  if (!reshaped.contiguous.empty()) assumptions_.push_back({node.id, std::move(reshaped.contiguous)});
  return true;
}

// Returns whether the call certainly returns its input, such as x.to(torch.float32) of a float32 tensor, and
// no sizes are changed in place in the region.
bool ViewTree::is_input(const Node& node, const OperatorEntry& info, NodeId parent) const {
  const IdentityRule rule = info.identity;
  return !rule.copies && rule.gives == 0 && now(parent) != kNoTensor && !memory_.changes_shape(parent) &&
         gives_input(graph_.graph, node, info);
}

void ViewTree::read_write(const Node& node, const OperatorEntry& info, const Effects& effects) {
  const auto refuse_all = [&](const std::string& reason) {
    for (const NodeId value : effects.written) refuse(value, reason);
    refuse(node.id, reason);
  };
  std::optional<std::size_t> written;
  for (std::size_t i = 0; i < info.schema.arguments.size(); ++i) {
    if (!info.schema.arguments[i].is_written) continue;
    if (written) return refuse_all(*node.target + " writes several arguments");
    written = i;
  }
  if (!written) return refuse_all(*node.target + " writes an argument in training");
  const NodeId* target = node_of(NodeArguments(node, info).find_argument(*written));
  const Operator* twin = info.twin;
  if (target == nullptr || twin == nullptr || !has_trait(twin, traits::kKnown)) {
    return refuse_all(*node.target + " has no functional form");
  }
  const TensorNumber tensor = now(*target);
  if (tensor == kNoTensor) return refuse_all("it is unknown which tensor " + node.name + " writes to");
  const bool is_out = info.schema.arguments[*written].keyword_only;
  if (effects.changes_shape) {
    const std::vector<Alias>& views = entry_of(*twin).aliases;
    if (views.size() != 1 || !views.front().always || node.args.empty() || *written != 0)
      return refuse_all(*node.target + " may move its argument to other memory");
    if (tensors_[tensor].from_outside) {
      return refuse_all(*node.target + " changes the sizes of an input, parameter or buffer");
    }
    write(node.id, *target, Write::Kind::kReshape);
    make(node.id, tensor, true);
    became_[tensor] = of_node_[node.id.index];
    return;
  }
  if (!can_be_undone(tensor)) return refuse_all(reason_of_no_undo(tensor));
  if (twin->schema().results.size() > 1) {  // rrelu_with_noise
    if (!gives_one_tensor(info.schema) || !info.aliases.empty())
      return refuse_all(*node.target + " has no functional form with the same results");
    write(node.id, *target, Write::Kind::kBeside);
    return make(node.id, kNoTensor, false);
  }
  write(node.id, *target, is_out ? Write::Kind::kOut : Write::Kind::kInPlace);
  set_same_tensor(node.id, *target);
}

void ViewTree::new_tensor(const Node& node, const Effects& effects) {
  if (node.meta->kind() == ValueKind::kTensor) {
    make(node.id, kNoTensor, false);
    if (!effects.shared.empty()) has_copies_[memory_.region_number(node.id)] = true;
  } else if (effects.shared.empty()) {
    bundles_.insert(node.id.index);
  } else {
    refuse(node.id, node.name + " may share memory with its inputs");
  }
}

void ViewTree::read_function(const Node& node, const Effects& effects) {
  if (node.target == "operator.getitem") return read_item(node);
  if (effects.written.empty()) {
    if (is_watched(node.id)) new_tensor(node, effects);
    return;
  }
  const FunctionTraits all = find_python_function(node.target).traits;
  const NodeId* target = node.args.empty() ? nullptr : node_of(&node.args.front());
  const TensorNumber tensor = target == nullptr ? kNoTensor : now(*target);
  const bool has_option = (all & function_traits::kInPlaceOption) != 0;
  const bool is_known = has_option && effects.written.size() == 1 && tensor != kNoTensor;
  if (!is_known || !can_be_undone(tensor)) {
    const std::string reason =
        is_known ? reason_of_no_undo(tensor) : *node.target + " has no functional form";
    for (const NodeId value : effects.written) refuse(value, reason);
    return refuse(node.id, reason);
  }
  write(node.id, *target, Write::Kind::kOption);
  set_same_tensor(node.id, *target);
}

void ViewTree::read_item(const Node& node) {
  const auto* base = node.args.size() == 2 ? node_of(&node.args[0]) : nullptr;
  const auto* index = node.args.size() == 2 ? node.args[1].get_if<std::int64_t>() : nullptr;
  if (!is_watched(node.id)) return;
  if (base != nullptr && index != nullptr) {
    if (bundles_.contains(base->index)) {
      const auto [first, is_new] = items_.emplace(std::pair(base->index, *index), node.id);
      return is_new ? make(node.id, kNoTensor, false) : set_same_tensor(node.id, first->second);
    }
    const TensorNumber list = now(*base);
    if (list != kNoTensor && tensors_[list].is_view) return make(node.id, list, true);
  }
  refuse(node.id, node.name + " is an item of a list whose other users are unknown");
}

void ViewTree::read_leaf(const Node& node, const Effects& effects) {
  if (effects.written.empty()) {
    if (is_watched(node.id)) new_tensor(node, effects);
    return;
  }
  const NodeId* target = node_of(&node.args.front());
  if (target == nullptr || now(*target) == kNoTensor) {
    return refuse(node.id, "the leaf " + node.name + " may write its input");
  }
  write(node.id, *target, Write::Kind::kConsumes);
  make(node.id, kNoTensor, false);
}

bool ViewTree::can_be_undone(TensorNumber number) const {
  while (tensors_[number].is_view) {
    const auto undo = find_undo(graph_.graph, semantics_, tensors_[number].node);
    if (!undo) return false;
    number = tensors_[number].parent;
    if (undo->skips_list) number = tensors_[number].parent;
  }
  return true;
}

std::string ViewTree::reason_of_no_undo(TensorNumber number) const {
  for (; tensors_[number].is_view; number = tensors_[number].parent) {
    const NodeId view = tensors_[number].node;
    if (may_overlap(graph_.graph, semantics_, view)) {
      return "windows of " + graph_.graph.node(view).name +
             " may overlap: torch leaves the result of a write undefined";
    }
  }
  return "no operator writes the view back into its base";
}

// Excludes regions in which a tensor that may be a copy of the written one, or share its memory, is used
// after the write; and those that a leaf may write although they are used later.
void ViewTree::check_copies() {
  struct Region {
    std::vector<std::size_t> starts, ends;
  };
  // Times are twice the positions, so that a tensor that is never used ends between two nodes.
  const auto start = [&](const Tensor& tensor) { return 2 * memory_.position(tensor.node); };
  const auto end = [&](const Tensor& tensor) {
    if (tensor.from_outside) return SIZE_MAX;
    return std::max(2 * tensor.lives_to, start(tensor) + 1);
  };
  std::map<std::size_t, Region> regions;
  for (const Tensor& tensor : tensors_) {
    const std::size_t number = memory_.region_number(tensor.node);
    if (tensor.is_view || !has_copies_[number]) continue;
    regions[number].starts.push_back(start(tensor));
    regions[number].ends.push_back(end(tensor));
  }
  for (auto& [number, region] : regions) {
    std::ranges::sort(region.starts);
    std::ranges::sort(region.ends);
  }
  for (const Write& write : writes_) {
    const Tensor& root = tensors_[root_of(of_node_[write.target.index])];
    const std::size_t time = 2 * memory_.position(write.node);
    if (write.kind == Write::Kind::kConsumes && end(root) > time) {
      refuse(write.target, "the leaf " + graph_.graph.node(write.node).name +
                               " may write its input, which is used afterwards");
    }
    const auto region = regions.find(memory_.region_number(write.target));
    if (region == regions.end()) continue;
    const auto started =
        std::ranges::lower_bound(region->second.starts, time) - region->second.starts.begin();
    const auto ended = std::ranges::upper_bound(region->second.ends, time) - region->second.ends.begin();
    if (started - ended > (end(root) > time ? 1 : 0)) {
      refuse(write.target, "it may be a view or a copy of a value that is used later");
    }
  }
}

// Excludes tensors that out= may resize: a resized tensor gets other memory.
void ViewTree::check_outputs() {
  std::unordered_set<TensorNumber> viewed;
  for (const Tensor& tensor : tensors_) {
    if (tensor.is_view) viewed.insert(tensor.parent);
  }
  for (const Write& write : writes_) {
    if (write.kind != Write::Kind::kOut) continue;
    const TensorNumber number = of_node_[write.target.index];
    const Tensor& tensor = tensors_[number];
    check_dtype_of_output(write);
    const auto& shape = graph_.graph.node(write.target).meta->shape;
    if (shape && shape == graph_.graph.node(write.node).meta->shape) continue;
    if (tensor.is_view || tensor.from_outside || viewed.contains(number)) {
      refuse(write.target, "out= may give it another shape");
    }
  }
}

// Excludes operators with a parameter `dtype` that compute in the dtype of `out`: converting the result of
// another dtype afterwards would give other numbers.
void ViewTree::check_dtype_of_output(const Write& write) {
  const Node& node = graph_.graph.node(write.node);
  const OperatorEntry& info = *semantics_.find_operator(node.target);
  if (!info.schema.find_argument("dtype")) return;
  const Argument* chosen = NodeArguments(node, info).find_argument("dtype");
  const auto dtype_of = [&](NodeId id) { return graph_.graph.node(id).meta->dtype; };
  const auto* input = node.args.empty() ? nullptr : node_of(&node.args.front());
  if (input == nullptr || (chosen != nullptr && !chosen->is<Argument::None>())) return;
  const Dtype from = dtype_of(*input), to = dtype_of(write.target);
  if (from && to && from != to && sum_dtype(from) != to) {
    refuse(write.target, node.name + " computes in the dtype of out");
  }
}

void ViewTree::finish() {
  check_copies();
  check_outputs();
  // A call with a result of its own (kBeside) is rewritten with that result, or not at all.
  for (bool is_new = true; is_new;) {
    is_new = false;
    for (const Write& write : writes_) {
      if (write.kind != Write::Kind::kBeside) continue;
      const auto refused = refused_.find(memory_.region_number(write.node));
      if (refused == refused_.end() || refused_.contains(memory_.region_number(write.target))) continue;
      refuse(write.target, std::string(refused->second));
      is_new = true;
    }
  }
  std::vector<std::uint32_t> writers(memory_.regions());
  for (const Writer& writer : writers_) ++writers[memory_.region_number(writer.value)];
  for (const Writer& writer : writers_) {
    const std::size_t region = memory_.region_number(writer.value);
    if (const auto refused = refused_.find(region); refused != refused_.end()) {
      obstacles_.push_back({writer.node, refused->second});
    } else if (writers[region] == 1 && is_final_copy(writer.node)) {
      left_[region] = true;
    }
  }
  for (const auto& [region, reason] : refused_) left_[region] = true;
  for (std::uint32_t i = 0; i < of_node_.size(); ++i) {
    if (of_node_[i] != kNoTensor && left_[memory_.region_number(NodeId{i})]) of_node_[i] = kNoTensor;
  }
  for (const Write& write : writes_) {
    if (left_[memory_.region_number(write.target)]) write_of_[write.node.index] = kNoWrite;
  }
}

// Returns whether the node is a copy_ to an input that is not used later, as remove_inplace.cpp leaves it.
bool ViewTree::is_final_copy(NodeId node) const {
  const Write* write = find_write(node);
  if (write == nullptr || graph_.graph.node(node).target != "aten.copy_.default") return false;
  const Tensor& tensor = tensors_[of_node_[write->target.index]];
  return tensor.from_outside && tensor.lives_to == memory_.position(node);
}

TensorNumber ViewTree::now(NodeId value) const {
  TensorNumber number = of_node_[value.index];
  while (number != kNoTensor && became_[number] != kNoTensor) number = became_[number];
  return number;
}

TensorNumber ViewTree::tensor_of(NodeId value) const {
  return value.index < of_node_.size() ? of_node_[value.index] : kNoTensor;
}

bool ViewTree::is_still_written(NodeId value) const {
  return memory_.knows(value) && is_watched(value) && tensor_of(value) == kNoTensor;
}

const Write* ViewTree::find_write(NodeId node) const {
  const std::uint32_t place = node.index < write_of_.size() ? write_of_[node.index] : kNoWrite;
  return place == kNoWrite ? nullptr : &writes_[place];
}

}  // namespace fxtrace::internal
