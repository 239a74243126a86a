#include "compare/comparer.h"

#include <algorithm>

#include "compare/pairing/common_form.h"
#include "graph/analysis/collection_summary.h"
#include "graph/analysis/text_form.h"
#include "support/text/qualified_name.h"
#include "support/text/unicode.h"

namespace fxtrace::internal {
namespace {

ComparedModel describe(const GraphCollection& collection, const ModelSummary& model) {
  const Summary summary = summarize(collection);
  ComparedModel described;
  described.model = collection.model;
  described.modules = model.modules;
  described.nodes = summary.nodes;
  described.failed = static_cast<std::int64_t>(model.failed.size());
  described.parameters = model.parameters;
  described.buffers = model.buffers;
  if (model.has_costs()) {
    described.macs = model.macs;
    described.activation_bytes = model.activation_bytes;
    described.peak_bytes = model.peak_bytes;
  }
  described.is_partial = model.unsized > 0 || !model.unknown.empty() || model.has_closed();
  return described;
}

std::size_t bytes_of(const Difference& difference) {
  std::size_t bytes = sizeof(Difference);
  for (const std::string* text :
       {&difference.subject, &difference.other, &difference.field, &difference.text})
    bytes += text->size();
  for (const auto* text : {&difference.before, &difference.after, &difference.within})
    bytes += *text ? (*text)->size() : 0;
  for (const std::string& user : difference.users) bytes += sizeof(std::string) + user.size();
  return bytes;
}

}  // namespace

std::optional<SymInt> renamed(const SymInt& size, const Renames& renames) {
  try {
    return size.substitute(renames);
  } catch (const SymbolicError&) {
    return std::nullopt;
  }
}

Expression renamed(const Expression& expression, const Renames& renames) {
  if (renames.empty()) return expression;
  return expression.map_sizes([&](const SymInt& size) { return renamed(size, renames).value_or(size); });
}

bool is_same_plain(const Argument& a, const Argument& b) {
  if (a == b) return true;
  return a.value.index() == b.value.index() && print_argument(a) == print_argument(b);
}

std::string short_text(const Node& node) {
  constexpr std::size_t kLongest = 500;
  return "%" + node.name + " = " + to_string(node.op) + "[" + cut(*node.target, kLongest) + "](...)";
}

Comparer::Comparer(const GraphCollection& before, const std::vector<ModuleGraph>& graphs_before,
                   const GraphCollection& after, const std::vector<ModuleGraph>& graphs_after,
                   const CompareOptions& options)
    : options_(options),
      pairs_(before, after),
      before_(before, graphs_before, pairs_.before()),
      after_(after, graphs_after, pairs_.after()),
      two_kinds_(are_of_two_kinds(before, after)),
      all_attributes_(has_all_attributes(before) && has_all_attributes(after)),
      bytes_left_(options.most_bytes) {}

ModelComparison Comparer::run() {
  result_.told = options_.kinds;
  result_.weights.by_bytes = options_.has_read_bytes;
  find_covers();
  make_groups();
  compare_modules();
  compare_parameters();
  compare_all_graphs();
  const ModelSummary before = summarize_model(before_.collection);
  const ModelSummary after = summarize_model(after_.collection);
  result_.before = describe(before_.collection, before);
  result_.after = describe(after_.collection, after);
  compare_costs(before, after);
  for (ModuleDifferences& group : groups_) {
    if (!group.differences.empty()) result_.modules.push_back(std::move(group));
  }
  return std::move(result_);
}

bool Comparer::is_known_on_one_side(const ModuleRecord& a, const ModuleRecord& b) {
  const auto is_on_one_side = [&](ModuleStatus status) {
    return (a.status == status) != (b.status == status);
  };
  return is_on_one_side(ModuleStatus::kTraced) || is_on_one_side(ModuleStatus::kUnvisited);
}

void Comparer::find_covers() {
  const auto find = [](const PairedModules& modules, const PairedModules& others) {
    std::vector<std::size_t> covers(modules.modules.size(), kNone);
    for (const std::size_t i : modules.by_length) {
      const std::size_t parent = modules.parents[i];
      covers[i] = parent == kNone ? kNone : covers[parent];
      const bool is_cover = modules.has_partner(i)
                                ? is_known_on_one_side(modules[i], others[modules.partner(i)])
                                : !modules.is_wrapper(i);
      if (covers[i] == kNone && is_cover) covers[i] = i;
    }
    return covers;
  };
  covers_before_ = find(pairs_.before(), pairs_.after());
  covers_after_ = find(pairs_.after(), pairs_.before());
}

std::optional<std::string> Comparer::cover(bool is_after, std::string_view path) const {
  const PairedModules& modules = pairs_.side(is_after);
  const std::size_t i = modules.find_module(path);
  const std::size_t cover = i == kNone ? kNone : (is_after ? covers_after_ : covers_before_)[i];
  if (cover == kNone) return std::nullopt;
  const std::string& found = modules[cover].path;
  return is_after ? std::string(pairs_.path_before(found)) : found;
}

void Comparer::make_groups() {
  const ModuleTree& before = pairs_.before();
  const ModuleTree& after = pairs_.after();
  std::vector<std::vector<std::size_t>> new_behind(before.modules.size() + 1);
  std::size_t behind = 0;
  for (std::size_t j = 0; j < after.modules.size(); ++j) {
    if (after.find_module(after[j].path) != j) continue;
    if (pairs_.after().partner(j) != kNone) {
      behind = pairs_.after().partner(j) + 1;
    } else {
      new_behind[behind].push_back(j);
    }
  }
  const auto add_new = [&](std::size_t place) {
    for (const std::size_t j : new_behind[place])
      groups_[group_of(pairs_.path_before(after[j].path))].type = after[j].type;
  };
  add_new(0);
  for (std::size_t i = 0; i < before.modules.size(); ++i) {
    if (before.find_module(before[i].path) == i) {
      ModuleDifferences& group = groups_[group_of(before[i].path)];
      const std::size_t j = pairs_.before().partner(i);
      group.type = j == kNone || after[j].type.empty() ? before[i].type : after[j].type;
      if (j != kNone && after[j].path != before[i].path) group.other = after[j].path;
    }
    add_new(i + 1);
  }
}

Comparer::Group Comparer::group_of(std::string_view path) {
  const auto found = group_by_path_.find(path);
  if (found != group_by_path_.end()) return found->second;
  groups_.emplace_back().path = std::string(path);
  group_by_path_.emplace(groups_.back().path, groups_.size() - 1);
  return groups_.size() - 1;
}

void Comparer::add(std::string_view path, Difference difference) {
  if (difference.follows) ++result_.following;
  ++result_.counts[static_cast<std::size_t>(difference.kind)][static_cast<std::size_t>(difference.change)];
  const bool is_one_sided = difference.change == Change::kAdded || difference.change == Change::kRemoved;
  if (is_one_sided && difference.within) {
    ModuleDifferences& around = groups_[group_of(*difference.within)];
    if (difference.kind == DifferenceKind::kModules) ++around.modules;
    if (difference.kind == DifferenceKind::kNodes) ++around.nodes;
  }
  if (!options_.kinds.has(difference.kind)) return;
  bytes_left_ -= std::min(bytes_left_, bytes_of(difference));
  if (bytes_left_ == 0) {  // the first one that does not fit is the last one
    ++result_.unlisted;
    return;
  }
  groups_[group_of(path)].differences.push_back(std::move(difference));
}

void Comparer::add_change(std::string_view path, DifferenceKind kind, std::string subject, std::string field,
                          std::optional<std::string> before, std::optional<std::string> after,
                          std::optional<std::string> within) {
  add(path, {.kind = kind,
             .subject = std::move(subject),
             .field = std::move(field),
             .before = std::move(before),
             .after = std::move(after),
             .within = std::move(within)});
}

void Comparer::add_sizes(std::string_view path, DifferenceKind kind, std::string subject, std::string field,
                         const SymInt& before, const SymInt& after) {
  add(path, {.kind = kind,
             .subject = std::move(subject),
             .field = std::move(field),
             .before = before.text(),
             .after = after.text(),
             .size_before = before,
             .size_after = after});
}

std::optional<std::string> Comparer::unless_itself(std::optional<std::string> cover, std::string_view path) {
  if (cover && *cover == path) return std::nullopt;
  return cover;
}

}  // namespace fxtrace::internal
