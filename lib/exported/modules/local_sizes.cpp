#include "exported/modules/local_sizes.h"

#include <algorithm>
#include <ranges>
#include <unordered_set>

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

}  // namespace fxtrace::internal
