#include "exported/modules/call_graph.h"

#include <algorithm>
#include <ranges>
#include <unordered_set>
#include <utility>

#include "graph/rewrite.h"
#include "symbolic/affine.h"

namespace fxtrace::internal {
namespace {

// The number of steps in which a size is computed again.  Models need a few; with more, the value itself
// enters.
constexpr int kMaxSteps = 64;

}  // namespace

LocalSizes::LocalSizes(const ProgramView& graph, const ProgramView& without_options)
    : graph_(graph), without_options_(without_options) {}

bool is_size(const Meta& meta) {
  const ValueKind kind = meta.kind();
  return kind == ValueKind::kInt || kind == ValueKind::kBool || kind == ValueKind::kFloat;
}

bool LocalSizes::is_size(NodeId value) const { return internal::is_size(graph_.meta(value)); }

bool LocalSizes::has_maker(NodeId value) const {
  return is_size(value) && graph_.is_operation(value) && graph_.facts(value).gives_value &&
         effect_of(graph_, value) == Effect::kSymbolic;
}

// Returns whether the value is made of other sizes alone.
bool LocalSizes::is_arithmetic(NodeId value) const {
  if (!has_maker(value)) return false;
  bool only_sizes = true;
  for_each_input(graph_.node(value), [&](NodeId used) { only_sizes = only_sizes && is_size(used); });
  return only_sizes;
}

const LocalSizes::Dims& LocalSizes::tensors_with(NodeId size) const {
  static const Dims none;
  if (!dims_) {
    dims_.emplace();
    for (const NodeId id : without_options_.graph().order()) {
      const auto& shape = without_options_.meta(id).shape;
      if (!shape || !without_options_.facts(id).gives_value) continue;
      for (std::size_t dim = 0; dim < shape->size(); ++dim) {
        if (!(*shape)[dim].number()) (*dims_)[(*shape)[dim].text()].emplace_back(id, dim);
      }
    }
  }
  const auto& value = without_options_.meta(size).value;
  const auto found = value ? dims_->find(value->text()) : dims_->end();
  return found == dims_->end() ? none : found->second;
}

// The sizes that are known on one side of a boundary from the shapes of its tensors.
class LocalSizes::Side {
 public:
  // With `evaluates`, sizes that follow from the dimensions are known, else only the dimensions themselves.
  Side(const LocalSizes& sizes, const std::vector<NodeId>& tensors, bool evaluates)
      : sizes_(sizes), evaluates_(evaluates) {
    std::unordered_set<std::string> seen;
    for (const NodeId tensor : tensors) {
      const auto& shape = sizes.without_options_.meta(tensor).shape;
      if (!shape) continue;
      for (const Expression& dim : *shape) {
        if (!dim.number() && dim.size() != nullptr && seen.insert(dim.text()).second)
          dims_.push_back(*dim.size());
      }
    }
  }

  // Returns whether the shapes alone give the value.
  bool tells(NodeId value) const {
    const auto& meta = sizes_.without_options_.meta(value).value;
    const SymInt* size = meta ? meta->size() : nullptr;
    return size != nullptr &&
           (evaluates_ ? find_source(*size, dims_).has_value()
                       : size->is_number() || std::ranges::find(dims_, *size) != dims_.end());
  }

  // Returns whether the value can be computed by arithmetic from the shapes and the values for which has()
  // holds.
  template <class Has>
  bool computes(NodeId value, Has&& has) {
    steps_ = 0;
    return follow(value, has);
  }

 private:
  template <class Has>
  bool follow(NodeId value, Has&& has) {
    if (has(value) || tells(value)) return true;
    if (!sizes_.is_arithmetic(value) || ++steps_ > kMaxSteps) return false;
    bool all = true;
    for_each_input(sizes_.graph_.node(value), [&](NodeId used) { all = all && follow(used, has); });
    return all;
  }

  const LocalSizes& sizes_;
  bool evaluates_;
  std::vector<SymInt> dims_;
  int steps_ = 0;
};

// Returns the operations without those for which goes() holds and the arithmetic that only those need.
std::vector<NodeId> LocalSizes::without(const std::vector<NodeId>& operations,
                                        const std::function<bool(NodeId)>& goes) const {
  std::vector<NodeId> left;
  std::unordered_set<std::uint32_t> needed, was_needed;  // values used by operations that stay, and that go
  for (const NodeId operation : std::ranges::reverse_view(operations)) {
    const bool is_unneeded =
        is_arithmetic(operation) && was_needed.contains(operation.index) && !needed.contains(operation.index);
    const bool leaves = is_unneeded || goes(operation);
    for_each_input(graph_.node(operation),
                   [&](NodeId used) { (leaves ? was_needed : needed).insert(used.index); });
    if (!leaves) left.push_back(operation);
  }
  std::ranges::reverse(left);
  return left;
}

Boundary LocalSizes::settle(std::vector<NodeId>& operations, const BoundaryOf& boundary_of,
                            const IsRunByCaller& is_run_by_caller) const {
  // The exporter may put a check of the caller's sizes among the operations of any call.
  Boundary boundary = boundary_of(operations);
  std::unordered_set<std::uint32_t> others;  // sizes that the caller gives, or that are made of such
  for (const NodeId value : boundary.entering) {
    if (is_size(value)) others.insert(value.index);
  }
  const auto is_others = [&](NodeId operation) {
    bool found = false;
    for_each_input(graph_.node(operation),
                   [&](NodeId used) { found = found || others.contains(used.index); });
    return found;
  };
  if (!others.empty()) {
    for (const NodeId operation : operations) {
      if (is_arithmetic(operation) && is_others(operation)) others.insert(operation.index);
    }
    auto own = without(operations, [&](NodeId operation) {
      return !graph_.has_results(operation) && effect_of(graph_, operation) == Effect::kSymbolic &&
             is_others(operation);
    });
    if (!own.empty() && own.size() < operations.size()) {
      operations = std::move(own);
      boundary = boundary_of(operations);
    }
  }

  const std::vector<NodeId> all = operations;
  settle(boundary, operations, is_run_by_caller);
  const auto sizes_in = [&](const Boundary& of) {
    return std::ranges::count_if(of.entering, [&](NodeId value) { return is_size(value); });
  };
  if (sizes_in(boundary) == 0) return boundary;
  // A size of an entering tensor may have been computed from the caller's sizes.
  const Side inside(*this, boundary.entering, true);
  auto fewer =
      without(all, [&](NodeId operation) { return is_arithmetic(operation) && inside.tells(operation); });
  if (fewer.empty() || fewer.size() == all.size()) return boundary;
  Boundary other = boundary_of(fewer);
  settle(other, fewer, is_run_by_caller);
  if (sizes_in(other) >= sizes_in(boundary)) return boundary;
  operations = std::move(fewer);
  return other;
}

void LocalSizes::settle(Boundary& boundary, std::vector<NodeId>& operations,
                        const IsRunByCaller& is_run_by_caller) const {
  const auto size = [&](NodeId value) { return is_size(value); };
  const bool any =
      std::ranges::any_of(boundary.entering, size) || std::ranges::any_of(boundary.leaving, size);
  if (!any) return;
  std::unordered_set<std::uint32_t> made;
  for (const NodeId operation : operations)
    graph_.for_each_result(operation, [&](NodeId value) { made.insert(value.index); });

  Side inside(*this, boundary.entering, true);
  const auto is_made = [&](NodeId value) { return made.contains(value.index); };
  std::vector<NodeId> entering;
  std::unordered_set<std::uint32_t> seen;
  int steps = 0;
  std::vector<NodeId> pending(boundary.entering.rbegin(), boundary.entering.rend());
  while (!pending.empty()) {
    const NodeId value = pending.back();
    pending.pop_back();
    if (is_made(value) || !seen.insert(value.index).second) continue;
    if (!is_size(value)) {
      entering.push_back(value);
      continue;
    }
    if (inside.tells(value)) continue;
    const bool anew = is_arithmetic(value) && ++steps < kMaxSteps &&
                      (inside.computes(value, is_made) || !is_run_by_caller(value));
    if (!anew) {
      entering.push_back(value);
      continue;
    }
    operations.push_back(value);
    std::vector<NodeId> used;
    for_each_input(graph_.node(value), [&](NodeId input) { used.push_back(input); });
    pending.insert(pending.end(), used.rbegin(), used.rend());
  }
  boundary.entering = std::move(entering);
  std::ranges::sort(operations);

  std::vector<NodeId> tensors = boundary.entering;
  tensors.insert(tensors.end(), boundary.leaving.begin(), boundary.leaving.end());
  Side outside(*this, tensors, false);
  const auto is_elsewhere = [&](NodeId value) { return !made.contains(value.index); };
  std::erase_if(boundary.leaving,
                [&](NodeId value) { return is_size(value) && outside.computes(value, is_elsewhere); });
}

namespace {

// A copy of some operations of a graph.
class Copy {
 public:
  Copy(const ProgramView& from, ExportedGraph& to) : from_(from), to_(to) {}

  const Copies& copies() const { return made_; }

  void add_input(NodeId value) { append(value, spec_of(Opcode::kPlaceholder, {})); }

  // Adds an operation, and the values that it uses and nothing here makes: tensors and objects of the model.
  void add(NodeId operation) {
    const Node& node = from_.node(operation);
    for_each_input(node, [&](NodeId value) {
      if (!made_.contains(value.index)) append(value, spec_of(Opcode::kGetAttr, from_.node(value).target));
    });
    from_.for_each_subgraph(operation, [&](const std::string& name, const ProgramView& body) {
      if (to_.table.subgraphs.emplace(name, body.table()).second)
        to_.module_graph.subgraphs.add({name, body.module_graph()});
    });
    add_node(operation);
  }

  void add_output(const std::vector<NodeId>& values) {
    Argument::Tuple outputs;
    for (const NodeId value : values) outputs.items.emplace_back(made_.at(value.index));
    Argument output = outputs.items.size() == 1 ? outputs.items.front() : Argument(std::move(outputs));
    to_.module_graph.graph.append(spec_of(Opcode::kOutput, "output", {std::move(output)}));
  }

 private:
  NodeId append(NodeId of, Graph::NodeSpec spec) {
    spec.meta = from_.node(of).meta;
    const NodeId made = to_.append_value(std::move(spec), from_.value_name(of));
    made_.emplace(of.index, made);
    to_.name_operation(made, from_.operation_name(of));
    if (const Argument* fixed = from_.find_fixed(of)) to_.table.fixed.emplace(made.index, *fixed);
    return made;
  }

  // Adds the operation, and the nodes of its results behind it.
  void add_node(NodeId id) {
    const Node& node = from_.node(id);
    const NodeId made = append(id, copy_of(node, made_));
    to_.table.at(made) = from_.facts(id);
    if (const auto same = from_.table().given_back.find(id.index); same != from_.table().given_back.end())
      to_.table.given_back.emplace(made.index, made_.at(same->second.index));
    for (const NodeId user : node.users) {
      if (from_.facts(user).is_result && !made_.contains(user.index)) add_node(user);
    }
  }

  const ProgramView from_;
  ExportedGraph& to_;
  Copies made_;
};

}  // namespace

CallIndex::CallIndex(const ProgramView& graph, const Hierarchy& hierarchy)
    : hierarchy_(hierarchy), operations_(hierarchy.calls().size()), children_(hierarchy.calls().size()) {
  const auto& calls = hierarchy.calls();
  for (CallId call = 1; call < calls.size(); ++call) {
    children_[calls[call].parent].push_back(call);
    first_calls_.emplace(calls[call].module.index, call);
  }
  add(graph);
}

void CallIndex::add(const ProgramView& graph) {
  const std::size_t index = graphs_.size();
  graphs_.push_back({graph, count_uses(graph), origins(graph), LocalSizes(graph, graph)});
  for (const NodeId operation : graph.operations()) {
    const ProgramNode& facts = graph.facts(operation);
    if (facts.has_stack) operations_[facts.call].push_back({index, operation});
    graph.for_each_subgraph(operation, [&](const std::string&, const ProgramView& body) { add(body); });
  }
}

std::optional<CallId> CallIndex::first_call(ModuleId module) const {
  const auto found = first_calls_.find(module.index);
  if (found == first_calls_.end()) return std::nullopt;
  return found->second;
}

CallGraph CallIndex::cut_out(CallId call, const std::function<bool(NodeId)>& is_own) const {
  // A call may continue in the subgraph of an operator; it is cut out of the graph in which it begins.
  std::vector<Place> places;
  std::vector<CallId> pending{call};
  while (!pending.empty()) {
    const CallId current = pending.back();
    pending.pop_back();
    places.insert(places.end(), operations_[current].begin(), operations_[current].end());
    pending.insert(pending.end(), children_[current].begin(), children_[current].end());
  }
  std::size_t in = SIZE_MAX;
  for (const Place& place : places) in = std::min(in, place.graph);
  std::vector<NodeId> operations;
  for (const Place& place : places) {
    if (place.graph == in) operations.push_back(place.operation);
  }
  std::sort(operations.begin(), operations.end());

  CallGraph result;
  if (operations.empty()) return result;
  const Graph& source = graphs_[in];
  const bool in_program = in == 0;
  const auto own = [&](NodeId value) { return in_program && is_own(source.origin[value.index]); };
  const Boundary boundary = source.sizes.settle(
      operations, [&](const auto& inside) { return boundary_of(source.graph, inside, source.uses, own); },
      [&](NodeId operation) { return hierarchy_.is_run_by_caller_of(source.graph.facts(operation), call); });
  Copy copy(source.graph, result.graph);
  for (const NodeId value : boundary.entering) copy.add_input(value);
  for (const NodeId operation : operations) copy.add(operation);
  copy.add_output(boundary.leaving);
  result.origin.resize(result.graph.module_graph.graph.id_count());
  for (const auto& [value, made] : copy.copies()) {
    if (in_program) result.origin[made.index] = source.origin[value];
  }
  return result;
}

std::vector<std::vector<NodeId>> outputs_of_calls(const ProgramView& graph, const Hierarchy& hierarchy) {
  constexpr CallId kNobody = UINT32_MAX;
  const std::vector<Hierarchy::Call>& calls = hierarchy.calls();
  std::vector<CallId> maker(graph.graph().id_count(), kNobody);
  std::vector<CallId> left(graph.graph().id_count(), kNobody);  // the outermost call that the value has left
  std::vector<std::vector<NodeId>> given(calls.size());
  const auto use = [&](NodeId value, CallId user) {
    CallId call = maker[value.index];
    if (call == kNobody) return;
    const CallId common = hierarchy.common_call(call, user);
    if (left[value.index] != kNobody) {
      // The calls up to `left` have the value already.
      if (calls[left[value.index]].depth <= calls[common].depth + 1) return;
      call = calls[left[value.index]].parent;
    }
    for (; call != common; call = calls[call].parent) {
      given[call].push_back(value);
      left[value.index] = call;
    }
  };
  for (const NodeId operation : graph.operations()) {
    const ProgramNode& facts = graph.facts(operation);
    if (!facts.has_stack) continue;
    for_each_input(graph.node(operation), [&](NodeId value) { use(value, facts.call); });
    graph.for_each_result(operation, [&](NodeId value) { maker[value.index] = facts.call; });
  }
  for (const Argument& output : graph.outputs()) {
    for_each_reference(output, [&](NodeId value) { use(value, kRootCall); });
  }
  for (std::vector<NodeId>& values : given) std::ranges::sort(values);
  return given;
}

}  // namespace fxtrace::internal
