#include "exported/modules/local_sizes.h"

#include <algorithm>
#include <ranges>
#include <unordered_set>

#include "symbolic/affine.h"

namespace fxtrace {
namespace {

// The number of steps in which a size is computed again.  Models need a few; with more, the value itself
// enters.
constexpr int kMaxSteps = 64;

}  // namespace

LocalSizes::LocalSizes(const ProgramGraph& graph, const ProgramGraph& said) : graph_(graph), said_(said) {
  for (std::uint32_t i = 0; i < graph.operations.size(); ++i) {
    const Operation& operation = graph.operations[i];
    if (operation.outputs.size() != 1 || !operation.outputs[0].path.empty()) continue;
    const NodeId value = operation.outputs[0].value;
    if (is_size(value) && effect_of(operation) == Effect::kSymbolic) makers_.emplace(value.index, i);
  }
}

bool is_size(const Meta& meta) {
  const ValueKind kind = meta.kind();
  return kind == ValueKind::kInt || kind == ValueKind::kBool || kind == ValueKind::kFloat;
}

bool LocalSizes::is_size(NodeId value) const { return fxtrace::is_size(graph_.values[value.index].meta); }

const Operation* LocalSizes::find_maker(NodeId value) const {
  const auto found = makers_.find(value.index);
  return found == makers_.end() ? nullptr : &graph_.operations[found->second];
}

const Operation* LocalSizes::find_arithmetic(NodeId value) const {
  const Operation* maker = find_maker(value);
  return maker != nullptr && is_arithmetic(*maker) ? maker : nullptr;
}

bool LocalSizes::is_arithmetic(const Operation& operation) const {
  if (operation.outputs.size() != 1 || find_maker(operation.outputs[0].value) != &operation) return false;
  bool only_sizes = true;
  for_each_input(operation, [&](NodeId used) { only_sizes = only_sizes && is_size(used); });
  return only_sizes;
}

const LocalSizes::Dims& LocalSizes::tensors_with(NodeId size) const {
  static const Dims none;
  if (!dims_) {
    dims_.emplace();
    for (std::uint32_t i = 0; i < said_.values.size(); ++i) {
      const auto& shape = said_.values[i].meta.shape;
      if (!shape) continue;
      for (std::size_t dim = 0; dim < shape->size(); ++dim) {
        if (!(*shape)[dim].number()) (*dims_)[(*shape)[dim].text()].emplace_back(NodeId{i}, dim);
      }
    }
  }
  const auto& value = said_.values[size.index].meta.value;
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
      const auto& shape = sizes.said_.values[tensor.index].meta.shape;
      if (!shape) continue;
      for (const Expression& dim : *shape) {
        if (!dim.number() && dim.size() != nullptr && seen.insert(dim.text()).second)
          dims_.push_back(*dim.size());
      }
    }
  }

  // Returns whether the shapes alone give the value.
  bool tells(NodeId value) const {
    const auto& meta = sizes_.said_.values[value.index].meta.value;
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
    const Operation* maker = sizes_.find_arithmetic(value);
    if (maker == nullptr || ++steps_ > kMaxSteps) return false;
    bool all = true;
    for_each_input(*maker, [&](NodeId used) { all = all && follow(used, has); });
    return all;
  }

  const LocalSizes& sizes_;
  bool evaluates_;
  std::vector<SymInt> dims_;
  int steps_ = 0;
};

// Returns the operations without those for which goes() holds and the arithmetic that only those need.
std::vector<std::uint32_t> LocalSizes::without(const std::vector<std::uint32_t>& operations,
                                               const std::function<bool(const Operation&)>& goes) const {
  std::vector<std::uint32_t> left;
  std::unordered_set<std::uint32_t> needed, was_needed;  // values used by operations that stay, and that go
  for (const std::uint32_t index : std::ranges::reverse_view(operations)) {
    const Operation& operation = graph_.operations[index];
    const bool is_unneeded = std::ranges::any_of(operation.outputs, [&](const auto& output) {
      return is_arithmetic(operation) && was_needed.contains(output.value.index) &&
             !needed.contains(output.value.index);
    });
    const bool leaves = is_unneeded || goes(operation);
    for_each_input(operation, [&](NodeId used) { (leaves ? was_needed : needed).insert(used.index); });
    if (!leaves) left.push_back(index);
  }
  std::ranges::reverse(left);
  return left;
}

Boundary LocalSizes::settle(std::vector<std::uint32_t>& operations, const BoundaryOf& boundary_of,
                            const IsRunByCaller& is_run_by_caller) const {
  // The exporter may put a check of the caller's sizes among the operations of any call.
  Boundary boundary = boundary_of(operations);
  std::unordered_set<std::uint32_t> others;  // sizes that the caller gives, or that are made of such
  for (const NodeId value : boundary.entering) {
    if (is_size(value)) others.insert(value.index);
  }
  const auto is_others = [&](const Operation& operation) {
    bool found = false;
    for_each_input(operation, [&](NodeId used) { found = found || others.contains(used.index); });
    return found;
  };
  if (!others.empty()) {
    for (const std::uint32_t index : operations) {
      const Operation& operation = graph_.operations[index];
      if (is_arithmetic(operation) && is_others(operation)) others.insert(operation.outputs[0].value.index);
    }
    auto own = without(operations, [&](const Operation& operation) {
      return operation.outputs.empty() && effect_of(operation) == Effect::kSymbolic && is_others(operation);
    });
    if (!own.empty() && own.size() < operations.size()) {
      operations = std::move(own);
      boundary = boundary_of(operations);
    }
  }

  const std::vector<std::uint32_t> all = operations;
  settle(boundary, operations, is_run_by_caller);
  const auto sizes_in = [&](const Boundary& of) {
    return std::ranges::count_if(of.entering, [&](NodeId value) { return is_size(value); });
  };
  if (sizes_in(boundary) == 0) return boundary;
  // A size of an entering tensor may have been computed from the caller's sizes.
  const Side inside(*this, boundary.entering, true);
  auto fewer = without(all, [&](const Operation& operation) {
    return is_arithmetic(operation) && inside.tells(operation.outputs[0].value);
  });
  if (fewer.empty() || fewer.size() == all.size()) return boundary;
  Boundary other = boundary_of(fewer);
  settle(other, fewer, is_run_by_caller);
  if (sizes_in(other) >= sizes_in(boundary)) return boundary;
  operations = std::move(fewer);
  return other;
}

void LocalSizes::settle(Boundary& boundary, std::vector<std::uint32_t>& operations,
                        const IsRunByCaller& is_run_by_caller) const {
  const auto size = [&](NodeId value) { return is_size(value); };
  const bool any =
      std::ranges::any_of(boundary.entering, size) || std::ranges::any_of(boundary.leaving, size);
  if (!any) return;
  std::unordered_set<std::uint32_t> made;
  for (const std::uint32_t index : operations) {
    for (const auto& output : graph_.operations[index].outputs) made.insert(output.value.index);
  }

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
    const Operation* maker = find_arithmetic(value);
    const bool anew = maker != nullptr && ++steps < kMaxSteps &&
                      (inside.computes(value, is_made) || !is_run_by_caller(*maker));
    if (!anew) {
      entering.push_back(value);
      continue;
    }
    operations.push_back(makers_.at(value.index));
    std::vector<NodeId> used;
    for_each_input(*maker, [&](NodeId input) { used.push_back(input); });
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

}  // namespace fxtrace
