#include "pictures/repeats.h"

#include <algorithm>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>

#include "opinfo/traits.h"
#include "support/hashes.h"

namespace fxtrace::internal {
namespace {

using Index = Outline::Index;
using Kind = Outline::Kind;

// Limits on the candidates for the period of one row, and on comparisons of items in total: for rows that
// nearly repeat everywhere.
constexpr std::size_t kMaxPeriods = 32;
constexpr std::size_t kMaxComparisons = 50'000'000;
// The least number of operations in a row that become a box.
constexpr std::size_t kMinPart = 4;
// The least numbers of repetitions that fold: boxes, calls of one module without a box, operations.
constexpr std::size_t kMinBoxes = 2;
constexpr std::size_t kMinCalls = 3;
constexpr std::size_t kMinOperations = 4;
// Rows that are each calls of one module are drawn as such, unless there are at least this many.
constexpr std::size_t kMinRuns = 3;

bool is_port(const Outline::Item& item) {
  return item.kind == Kind::kNode &&
         (item.node->op == Opcode::kPlaceholder || item.node->op == Opcode::kOutput);
}

class Structures {
 public:
  Structures(const Outline& outline, const Distinction& distinction)
      : outline_(outline), distinction_(distinction), structures_(outline.items.size()) {}

  std::vector<Structure> find() {
    number();
    find_inner_edges();
    // Children come first, as parents have smaller numbers.
    for (auto item = static_cast<Index>(outline_.items.size()); item-- > 0;) {
      structures_[item] = structure(item);
    }
    return std::move(structures_);
  }

 private:
  // Numbers the items, boxes before their content, in execution order: the number of an item relative to
  // each box around it is part of the structure.
  void number() {
    place_.resize(outline_.items.size());
    std::uint32_t next = 0;
    for (const Index graph : outline_.graphs) {
      std::vector<Index> open{graph};
      while (!open.empty()) {
        const Index item = open.back();
        open.pop_back();
        place_[item] = next++;
        const auto& children = outline_[item].children;
        open.insert(open.end(), children.rbegin(), children.rend());
      }
    }
  }

  // Assigns each edge to the innermost box that contains both ends.
  void find_inner_edges() {
    edges_.resize(outline_.items.size());
    for (Index to = 0; to < outline_.items.size(); ++to) {
      for (const Index from : outline_[to].inputs) {
        Index a = from;
        Index b = to;
        while (a != b && a != Outline::kNone && b != Outline::kNone) {
          Index& deeper = outline_[a].depth > outline_[b].depth ? a : b;
          deeper = outline_[deeper].parent;
        }
        if (a == b && a != Outline::kNone)
          edges_[a].emplace_back(place_[from] - place_[a], place_[to] - place_[a]);
      }
    }
  }

  Structure structure(Index index) const {
    const Outline::Item& item = outline_[index];
    Structure all;
    add_both(all, mix(0, static_cast<std::uint64_t>(item.kind)));
    add_both(all, mix(0, item.type));
    if (item.node != nullptr) add_node(all, item);
    for (const Index child : item.children) {
      all.exact = mix(all.exact, structures_[child].exact);
      all.loose = mix(all.loose, structures_[child].loose);
    }
    for (const auto& [from, to] : edges_[index]) add_both(all, mix(mix(0, from), to));
    if (distinction_) add_both(all, static_cast<std::uint64_t>(distinction_(item)));
    all.weights = weights(item);
    return all;
  }

  // A module is identified by its record: calls may use different names of it.
  std::uint64_t weights(const Outline::Item& item) const {
    const bool is_call = item.kind == Kind::kNode && item.node->op == Opcode::kCallModule;
    if (is_call || item.kind == Kind::kModule) {
      return mix(1, item.module != nullptr ? item.module->path : item.path);
    }
    std::uint64_t all = 0;
    if (item.kind == Kind::kNode && item.node->op == Opcode::kGetAttr) all = mix(1, item.node->target);
    for (const Outline::Attribute& attribute : item.attributes) {
      if (attribute.parameter != nullptr) all = mix(all, attribute.parameter->name);
    }
    for (const Index child : item.children) {
      if (structures_[child].weights != 0) all = mix(all, structures_[child].weights);
    }
    return all;
  }

  static void add_both(Structure& all, std::uint64_t value) {
    all.exact = mix(all.exact, value);
    all.loose = mix(all.loose, value);
  }

  void add_node(Structure& all, const Outline::Item& item) const {
    const Node& node = *item.node;
    add_both(all, static_cast<std::uint64_t>(node.op));
    if (node.op == Opcode::kCallModule) {
      add_both(all, mix(0, node.method));
      if (item.module != nullptr) {
        add_both(all, static_cast<std::uint64_t>(item.module->status));
        for (const auto& [name, value] : item.module->attributes)
          all.exact = mix(mix(all.exact, name), hash(value));
      }
    } else if (node.op == Opcode::kCallFunction || node.op == Opcode::kCallMethod) {
      add_both(all, mix(0, node.target));
    }
    add_both(all, item.inputs.size());
    for (const Outline::Attribute& attribute : item.attributes) {
      if (attribute.parameter == nullptr) continue;
      for (const std::int64_t size : attribute.parameter->shape)
        all.exact = mix(all.exact, static_cast<std::uint64_t>(size));
    }
    // An index is no difference: expert k of a row of experts takes column k.
    const bool takes_part = has_trait(find_operator(target_parts(node)), traits::kTakesPart);
    for_each_argument(node, [&](const Argument& argument) {
      if (!takes_part) all.exact = mix(all.exact, hash(argument));
      all.loose = mix(all.loose, argument.value.index());
    });
    for (const auto& [name, argument] : node.kwargs) add_both(all, mix(0, name));
    if (const auto dtype = node.meta->dtype_text()) all.exact = mix(all.exact, *dtype);
    if (!node.meta->shape) return;
    all.loose = mix(all.loose, node.meta->shape->size());
    for (const Meta::Dim& size : *node.meta->shape) all.exact = mix(all.exact, size_hash(size));
  }

  // Values of nodes count by their positions, as edges give them; sizes of plumbing by their known values.
  static std::uint64_t hash(const Argument& argument) {
    std::uint64_t all = 0;
    for_each_value(argument, [&](const Argument& value) {
      all = mix(all, value.value.index());
      if (const auto* number = value.get_if<std::int64_t>()) {
        all = mix(all, static_cast<std::uint64_t>(*number));
      } else if (const auto* real = value.get_if<double>()) {
        all = mix(all, std::hash<double>()(*real));
      } else if (const auto* flag = value.get_if<bool>()) {
        all = mix(all, static_cast<std::uint64_t>(*flag));
      } else if (const auto* text = value.get_if<std::string>()) {
        all = mix(all, *text);
      } else if (const auto* dtype = value.get_if<Argument::Dtype>()) {
        all = mix(all, dtype->name);
      } else if (const auto* function = value.get_if<Argument::Function>()) {
        all = mix(all, function->name);
      }
    });
    return all;
  }

  static std::uint64_t size_hash(const Meta::Dim& size) {
    const auto number = size.number();
    return number ? static_cast<std::uint64_t>(*number) : std::hash<std::string>()(size.text());
  }

  const Outline& outline_;
  const Distinction& distinction_;
  std::vector<Structure> structures_;
  std::vector<std::uint32_t> place_;  // the numbers of items
  std::vector<std::vector<std::pair<std::uint32_t, std::uint32_t>>>
      edges_;  // by box: the relative numbers of both ends
};

struct Run {
  std::size_t period = 0, length = 0;  // numbers of siblings, the first period included
  bool is_same = false;                // whether the periods call the same modules, or none
};

std::ptrdiff_t to_offset(std::size_t i) { return static_cast<std::ptrdiff_t>(i); }

// Puts some of the outline's items into a new box; the caller decides where it belongs.
Index enclose(Outline& outline, Outline::Item box) {
  const auto index = static_cast<Index>(outline.items.size());
  outline.items.push_back(std::move(box));
  for (const Index child : outline.items[index].children) outline.items[child].parent = index;
  return index;
}

class Folder {
 public:
  Folder(Outline& outline, const std::vector<Structure>& structures)
      : outline_(outline), structures_(structures) {}

  void fold(Index box) {
    const std::vector<Index> children = std::exchange(outline_.items[box].children, {});
    std::unordered_map<std::uint64_t, std::vector<std::size_t>> places;  // by structure, the last first
    for (std::size_t i = children.size(); i-- > 0;) places[hash(children[i])].push_back(i);
    std::vector<Index> folded;
    for (std::size_t i = 0; i < children.size();) {
      const Run run = find_run(children, i, places);
      if (run.length == 0) {
        folded.push_back(children[i++]);
        continue;
      }
      const auto begin = children.begin() + to_offset(i);
      fold_run(box, {begin, begin + to_offset(run.length)}, run, folded);
      i += run.length;
    }
    outline_.items[box].children = std::move(folded);
  }

 private:
  void fold_run(Index box, std::vector<Index> row, const Run& run, std::vector<Index>& folded) {
    const std::size_t period = run.period;
    if (period > 1) {
      std::vector<Index> periods;
      for (std::size_t i = 0; i < row.size(); i += period) {
        periods.push_back(
            enclose(outline_, {.kind = Kind::kPeriod,
                               .parent = box,
                               .children = {row.begin() + to_offset(i), row.begin() + to_offset(i + period)},
                               .graph = outline_[box].graph}));
      }
      row = std::move(periods);
    }
    // The first one shows the content of a box, or the reason of a failure.
    const Outline::Item& first = outline_[row[0]];
    const bool has_failed = first.module != nullptr && first.module->status == ModuleStatus::kFailed;
    const bool is_whole = run.is_same && first.kind == Kind::kNode && !has_failed;
    if (!is_whole) folded.push_back(row[0]);
    folded.push_back(enclose(outline_, {.kind = Kind::kRepeats,
                                        .parent = box,
                                        .children = {row.begin() + (is_whole ? 0 : 1), row.end()},
                                        .graph = outline_[box].graph,
                                        .like = is_whole ? Outline::kNone : row[0]}));
  }

  // Returns the hash by which items are equal.  Inputs are never equal to each other, nor are the bodies of
  // an `if`, of which one runs.
  std::uint64_t hash(Index item) const {
    const bool is_alone = is_port(outline_[item]) || outline_[item].kind == Kind::kBody;
    return is_alone ? mix(structures_[item].exact, item) : structures_[item].exact;
  }

  // Returns the period that folds the most siblings, the shortest of several.  Removes from `places` those
  // before `start`.
  Run find_run(const std::vector<Index>& children, std::size_t start,
               std::unordered_map<std::uint64_t, std::vector<std::size_t>>& places) {
    const auto hash = [&](std::size_t i) { return this->hash(children[i]); };
    std::vector<std::size_t>& same = places[hash(start)];
    while (!same.empty() && same.back() <= start) same.pop_back();
    Run best;
    std::size_t tried = 0;
    for (auto next = same.rbegin(); next != same.rend() && tried < kMaxPeriods; ++next, ++tried) {
      const std::size_t period = *next - start;
      if (start + (2 * period) > children.size() || comparisons_ > kMaxComparisons) break;
      const auto [times, is_same] = find_row(children, start, period);
      if (times < least_times(children, start, period, is_same)) continue;
      if (times * period > best.length) best = {period, times * period, is_same};
    }
    return best;
  }

  struct Row {
    std::size_t times = 1;
    bool is_same = true;
  };

  // Finds the number of equal periods that belong together: those that call the same modules as the first,
  // or those that call other modules than all before.  Modules that all periods share (an activation) do not
  // count.
  Row find_row(const std::vector<Index>& children, std::size_t start, std::size_t period) {
    const std::size_t most = (children.size() - start) / period;
    const auto weights = [&](std::size_t time, std::size_t i) {
      return structures_[children[start + (time * period) + i]].weights;
    };
    const auto is_equal = [&](std::size_t time, std::size_t i) {
      return hash(children[start + (time * period) + i]) == hash(children[start + i]);
    };
    const auto is_like_previous = [&](std::size_t time) {
      for (std::size_t i = 0; i < period; ++i) {
        if (weights(time, i) != weights(time - 1, i)) return false;
      }
      return true;
    };
    Row row{.times = 1, .is_same = is_like_previous(1)};
    // The period in which each module is first called; shared modules have none.
    std::unordered_map<std::uint64_t, std::size_t> known;
    for (std::size_t i = 0; i < period; ++i)
      known.emplace(weights(0, i), weights(0, i) == weights(1, i) ? SIZE_MAX : 0);
    for (; row.times < most; ++row.times) {
      for (std::size_t i = 0; i < period; ++i) {
        ++comparisons_;
        if (!is_equal(row.times, i)) return row;
        const bool is_shared = weights(0, i) == weights(1, i);
        const std::uint64_t here = weights(row.times, i);
        if (is_shared ? here == weights(0, i) : known.emplace(here, row.times).first->second == row.times)
          continue;
        // In a, b, b the last two are the row.
        if (!row.is_same && row.times > 1 && is_like_previous(row.times)) --row.times;
        return row;
      }
    }
    return row;
  }

  std::size_t least_times(const std::vector<Index>& children, std::size_t start, std::size_t period,
                          bool is_same) const {
    if (holds_box(children, start, period)) {
      const auto is_like_first = [&](Index child) {
        return hash(child) == hash(children[start]) &&
               structures_[child].weights == structures_[children[start]].weights;
      };
      const bool is_run =
          period > 1 && std::all_of(children.begin() + to_offset(start),
                                    children.begin() + to_offset(start + period), is_like_first);
      return is_run ? kMinRuns : kMinBoxes;
    }
    const bool is_call = period == 1 && outline_[children[start]].node->op == Opcode::kCallModule;
    return is_call && is_same ? kMinCalls : kMinOperations;
  }

  bool holds_box(const std::vector<Index>& children, std::size_t start, std::size_t period) const {
    return std::any_of(children.begin() + to_offset(start), children.begin() + to_offset(start + period),
                       [&](Index child) { return outline_[child].kind != Kind::kNode; });
  }

  Outline& outline_;
  const std::vector<Structure>& structures_;
  std::size_t comparisons_ = 0;
};

bool is_operation(const Outline::Item& item) {
  return item.kind == Kind::kNode &&
         (item.node->op == Opcode::kCallFunction || item.node->op == Opcode::kCallMethod ||
          item.node->op == Opcode::kGetAttr);
}

// Makes a part of each row of operations between boxes, inputs and calls of modules.
void split_operations(Outline& outline, Index box) {
  const std::vector<Index> children = std::exchange(outline.items[box].children, {});
  std::vector<Index> made;
  for (std::size_t i = 0; i < children.size();) {
    std::size_t end = i;
    while (end < children.size() && is_operation(outline[children[end]])) ++end;
    if (end - i >= kMinPart && end - i < children.size()) {
      made.push_back(
          enclose(outline, {.kind = Kind::kPart,
                            .parent = box,
                            .children = {children.begin() + to_offset(i), children.begin() + to_offset(end)},
                            .graph = outline[box].graph}));
      i = end;
    } else {
      for (end = std::max(end, i + 1); i < end; ++i) made.push_back(children[i]);
    }
  }
  outline.items[box].children = std::move(made);
}

// Makes parts of about the same size, as few as possible.
void split_evenly(Outline& outline, Index box, std::size_t limit) {
  const std::vector<Index> children = std::exchange(outline.items[box].children, {});
  const std::size_t parts = std::min((children.size() + limit - 1) / limit, children.size() / 2);
  std::vector<Index> made;
  for (std::size_t part = 0; part < parts; ++part) {
    const auto at = [&](std::size_t i) { return children.begin() + to_offset(i * children.size() / parts); };
    made.push_back(enclose(outline, {.kind = Kind::kPart,
                                     .parent = box,
                                     .children = {at(part), at(part + 1)},
                                     .graph = outline[box].graph}));
  }
  outline.items[box].children = std::move(made);
}

void set_depths(Outline& outline) {
  std::vector<Index> open = outline.graphs;
  while (!open.empty()) {
    const Index item = open.back();
    open.pop_back();
    for (const Index child : outline.items[item].children) {
      outline.items[child].depth = outline.items[item].depth + 1;
      open.push_back(child);
    }
  }
}

}  // namespace

std::vector<Structure> find_structures(const Outline& outline, const Distinction& distinction) {
  return Structures(outline, distinction).find();
}

void fold_repeats(Outline& outline, const std::vector<Structure>& structures) {
  Folder folder(outline, structures);
  // Folding may add items of kind kPeriod, which are folded in turn.
  for (Index item = 0; item < outline.items.size(); ++item) {
    if (outline[item].children.size() > 1 && outline[item].kind != Kind::kRepeats) folder.fold(item);
  }
  set_depths(outline);
}

void split_large(Outline& outline, std::size_t limit) {
  for (Index box = 0; box < outline.items.size(); ++box) {
    if (outline[box].children.size() > limit) split_operations(outline, box);
    while (outline[box].children.size() > limit) split_evenly(outline, box, limit);
  }
  set_depths(outline);
}

}  // namespace fxtrace::internal
