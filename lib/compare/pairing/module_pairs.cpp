#include "compare/pairing/module_pairs.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <unordered_set>
#include <utility>

#include "graph/graph_collection.h"
#include "support/hashes.h"
#include "support/text/qualified_name.h"

namespace fxtrace::internal {

std::string_view qualified_type(std::string_view type) {
  constexpr std::string_view kMain = "__main__.";
  return type.starts_with(kMain) ? type.substr(kMain.size()) : type;
}

ModuleTree::ModuleTree(const GraphCollection& collection)
    : modules(collection.modules), parents(modules.size(), kNone), children(modules.size()) {
  for (std::size_t i = 0; i < modules.size(); ++i) {
    if (by_path.emplace(modules[i].path, i).second) by_length.push_back(i);
  }
  for (const std::size_t i : by_length) {
    if (modules[i].path.empty()) continue;
    parents[i] = find_module(QualifiedName(modules[i].path).parent());
    if (parents[i] != kNone) children[parents[i]].push_back(i);
  }
  std::ranges::stable_sort(by_length, {}, [&](std::size_t i) { return modules[i].path.size(); });
}

std::string_view ModuleTree::last_name(std::size_t module) const {
  return QualifiedName(modules[module].path).last();
}

std::size_t ModuleTree::find_module(std::string_view path) const {
  const auto found = by_path.find(path);
  return found == by_path.end() ? kNone : found->second;
}

PairedModules::PairedModules(const GraphCollection& collection)
    : ModuleTree(collection),
      partners_(modules.size(), kNone),
      wrapped_(modules.size(), kNone),
      structures_(modules.size()) {
  find_structures(collection);
}

ModulePairs::ModulePairs(const GraphCollection& before, const GraphCollection& after)
    : before_(before), after_(after) {
  join_paths();
  join_equal(true);
  // A pair takes along what is below it, which may leave a single candidate for another pair.
  constexpr int kMostRounds = 4;
  for (int round = 0; round < kMostRounds && join_equal(false); ++round) {
  }
  join_renamed();
}

void PairedModules::find_structures(const GraphCollection& collection) {
  for (const std::size_t i : by_length)
    structures_[i].hash = structures_[i].loose = text_hash(qualified_type(modules[i].type));
  for (const ParameterRecord& parameter : collection.parameters) {
    const QualifiedName name(parameter.name);
    const std::size_t module = find_module(name.parent());
    if (module == kNone) continue;
    std::uint64_t hash = mix(text_hash(name.last()), text_hash(parameter.dtype));
    hash = mix(hash, static_cast<std::uint64_t>(parameter.kind));
    for (const auto size : parameter.shape) hash = mix(hash, static_cast<std::uint64_t>(size));
    Structure& structure = structures_[module];
    structure.hash = mix(structure.hash, hash);
    structure.loose = mix(structure.loose, text_hash(name.last()));
    structure.has_parameters = true;
  }
  for (const std::size_t i : by_length | std::views::reverse) {
    Structure& structure = structures_[i];
    for (const std::size_t child : children[i]) {
      const std::uint64_t name = text_hash(last_name(child));
      structure.hash = mix(structure.hash, mix(name, structures_[child].hash));
      structure.loose = mix(structure.loose, mix(name, structures_[child].loose));
      structure.has_parameters |= structures_[child].has_parameters;
    }
  }
}

// Pairs modules by their paths, outer ones first: what is in a module with another path has its path there.
void ModulePairs::join_paths() {
  for (const std::size_t i : before_.by_length) {
    const std::size_t parent = before_.parents[i];
    std::size_t same = ModuleTree::kNone;
    if (parent == ModuleTree::kNone || before_.is_left(parent)) {
      same = after_.find_module(before_[i].path);
    } else if (before_.has_partner(parent)) {
      const std::string& around = after_[before_.partner(parent)].path;
      const std::string name(before_.last_name(i));
      same = after_.find_module(around.empty() ? name : around + "." + name);
    }
    if (same == ModuleTree::kNone || before_.has_partner(i) || !after_.is_left(same)) continue;
    if (!join_wrapped(i, same)) join(i, same);
  }
}

bool ModulePairs::join_wrapped(std::size_t before, std::size_t after) {
  const std::string_view was = qualified_type(before_[before].type);
  const std::string_view is = qualified_type(after_[after].type);
  if (was.empty() || is.empty() || was == is) return false;
  if (const std::size_t j = after_.find_wrapped(after, before_, before); j != ModuleTree::kNone) {
    after_.set_wrapped(after, j);
    join(before, j);
    return true;
  }
  const std::size_t i = before_.find_wrapped(before, after_, after);
  if (i == ModuleTree::kNone) return false;
  before_.set_wrapped(before, i);
  join(i, after);
  return true;
}

void PairedModules::set_wrapped(std::size_t wrapper, std::size_t module) {
  for (std::size_t around = module; around != wrapper;) {
    around = parents[around];
    wrapped_[around] = module;
  }
}

std::size_t PairedModules::wrapper_of(std::size_t module) const {
  std::size_t found = kNone;
  for (std::size_t around = parents[module]; around != kNone && wrapped_[around] == module;
       around = parents[around])
    found = around;
  return found;
}

std::size_t PairedModules::find_wrapped(std::size_t around, const PairedModules& other,
                                        std::size_t module) const {
  std::unordered_set<std::string_view> names;  // names of the children of the module
  for (const std::size_t child : other.children[module]) names.insert(other.last_name(child));
  const auto is_it = [&](std::size_t inner) {
    if (qualified_type(modules[inner].type) != qualified_type(other[module].type)) return false;
    if (names.empty()) return structures_[inner].loose == other.structures_[module].loose;
    const auto same = std::ranges::count_if(
        children[inner], [&](std::size_t child) { return names.contains(last_name(child)); });
    return 2 * static_cast<std::size_t>(same) >= names.size();
  };
  std::size_t found = kNone;
  int count = 0;
  const auto look = [&](std::size_t inner) {
    if (!is_it(inner)) return;
    found = inner;
    ++count;
  };
  for (const std::size_t child : children[around]) {
    look(child);
    for (const std::size_t grandchild : children[child]) look(grandchild);
  }
  return count == 1 ? found : kNone;
}

void ModulePairs::join(std::size_t before, std::size_t after) {
  before_.partners_[before] = after;
  after_.partners_[after] = before;
}

// Pairs the modules, and all below that have the same names.
void ModulePairs::join_with_children(std::size_t before, std::size_t after) {
  std::vector<std::pair<std::size_t, std::size_t>> pending{{before, after}};
  while (!pending.empty()) {
    const auto [i, j] = pending.back();
    pending.pop_back();
    join(i, j);
    std::unordered_map<std::string_view, std::size_t> by_name;
    for (const std::size_t child : after_.children[j]) {
      if (after_.is_left(child)) by_name.emplace(after_.last_name(child), child);
    }
    for (const std::size_t child : before_.children[i]) {
      const auto found = by_name.find(before_.last_name(child));
      if (found != by_name.end() && before_.is_left(child)) pending.emplace_back(child, found->second);
    }
  }
}

// Pairs modules of equal structure.  `is_outermost`: only modules without a partner that are in none without
// a partner.  Modules without parameters look alike, so they pair in one parent only.
bool ModulePairs::join_equal(bool is_outermost) {
  struct Candidates {
    std::vector<std::size_t> before, after;
  };
  std::map<std::uint64_t, Candidates> candidates;
  const auto collect = [&](const PairedModules& side, std::vector<std::size_t> Candidates::* modules) {
    for (const std::size_t i : side.by_length) {
      const std::size_t parent = side.parents[i];
      if (!side.is_left(i) || (is_outermost && parent != ModuleTree::kNone && side.is_left(parent))) continue;
      const PairedModules::Structure& structure = side.structures_[i];
      std::string_view around = QualifiedName(side[i].path).parent();
      if (&side == &after_) around = path_before(around);
      const std::uint64_t key =
          structure.has_parameters ? structure.hash : mix(structure.hash, text_hash(around));
      (candidates[key].*modules).push_back(i);
    }
  };
  collect(before_, &Candidates::before);
  collect(after_, &Candidates::after);
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (const auto& [hash, both] : candidates) {
    if (both.before.size() != both.after.size() || (!is_outermost && both.before.size() > 1)) continue;
    for (std::size_t k = 0; k < both.before.size(); ++k) pairs.emplace_back(both.before[k], both.after[k]);
  }
  // Outer ones come first, as they take along what is below.
  std::ranges::sort(pairs, {},
                    [&](const auto& pair) { return std::pair(before_[pair.first].path.size(), pair.first); });
  for (const auto& [i, j] : pairs) {
    if (!before_.has_partner(i) && !after_.has_partner(j)) join_with_children(i, j);
  }
  return !pairs.empty();
}

// Pairs a module that is gone with a new one, if they are the only ones of one structure without sizes in one
// parent: the module was renamed, and changed.
void ModulePairs::join_renamed() {
  struct Candidates {
    std::size_t before = ModuleTree::kNone, after = ModuleTree::kNone;
    bool is_one = true;
  };
  std::map<std::pair<std::size_t, std::uint64_t>, Candidates> found;  // by parent before, and structure
  const auto note = [](Candidates& entry, std::size_t Candidates::* place, std::size_t module) {
    entry.is_one = entry.is_one && entry.*place == ModuleTree::kNone;
    entry.*place = module;
  };
  for (const std::size_t i : before_.by_length) {
    const std::size_t parent = before_.parents[i];
    if (before_.is_left(i) && parent != ModuleTree::kNone && !before_[i].type.empty())
      note(found[{parent, before_.structures_[i].loose}], &Candidates::before, i);
  }
  for (const std::size_t j : after_.by_length) {
    const std::size_t parent = after_.parents[j];
    if (!after_.is_left(j) || parent == ModuleTree::kNone) continue;
    const auto entry = found.find({after_.partner(parent), after_.structures_[j].loose});
    if (entry != found.end()) note(entry->second, &Candidates::after, j);
  }
  for (const auto& [key, entry] : found) {
    if (entry.is_one && entry.after != ModuleTree::kNone && !before_.has_partner(entry.before) &&
        !after_.has_partner(entry.after))
      join_with_children(entry.before, entry.after);
  }
}

std::string_view ModulePairs::path_before(std::string_view path_after) const {
  const std::size_t module = after_.find_module(path_after);
  if (module == ModuleTree::kNone) return path_after;
  const std::size_t inner = after_.is_wrapper(module) ? after_.wrapped(module) : module;
  return after_.has_partner(inner) ? std::string_view(before_[after_.partner(inner)].path) : path_after;
}

std::string ModulePairs::parameter_before(const std::string& name_after) const {
  const QualifiedName name(name_after);
  const std::string_view parent = name.parent();
  const std::size_t module = after_.find_module(parent);
  if (module != ModuleTree::kNone && after_.is_wrapper(module)) return std::string(1, '\0') + name_after;
  const std::string_view before = path_before(parent);
  if (before == parent) return name_after;
  return before.empty() ? std::string(name.last()) : std::string(before) + "." + std::string(name.last());
}

ComparedSide::ComparedSide(const GraphCollection& whole, const std::vector<ModuleGraph>& compared,
                           const PairedModules& paired)
    : collection(whole),
      graphs(compared),
      modules(paired),
      unused(whole.unused_parameters.begin(), whole.unused_parameters.end()) {
  for (const ParameterRecord& record : collection.parameters) {
    if (record.alias_of) ties.emplace(record.name, *record.alias_of);
  }
  for (const ModuleGraph& root : collection.graphs) {
    for_each_graph(root, [&](const ModuleGraph& graph) {
      for (const auto& [name, constant] : graph.constants) constants.insert(name);
    });
  }
  for (const ModuleGraph& root : graphs) {
    for_each_graph(root, [&](const ModuleGraph& graph) {
      for (const NodeId id : graph.graph.order()) {
        // The modules around it count, too.
        std::string_view path = graph.graph.node(id).scope->module_path;
        while (!path.empty() && working.insert(path).second) path = QualifiedName(path).parent();
      }
    });
  }
}

std::string ComparedSide::first_name(const std::string& parameter) const {
  const auto found = ties.find(parameter);
  return found == ties.end() ? parameter : std::string(found->second);
}

}  // namespace fxtrace::internal
