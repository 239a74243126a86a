#include "compare/module_pairs.h"

#include <algorithm>
#include <map>
#include <unordered_set>
#include <utility>

#include "support/hashing.h"
#include "support/qualified_name.h"

namespace fxtrace {

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
    parents[i] = find(QualifiedName(modules[i].path).parent());
    if (parents[i] != kNone) children[parents[i]].push_back(i);
  }
  std::ranges::stable_sort(by_length, {}, [&](std::size_t i) { return modules[i].path.size(); });
}

std::size_t ModuleTree::find(std::string_view path) const {
  const auto found = by_path.find(path);
  return found == by_path.end() ? kNone : found->second;
}

ModulePairs::ModulePairs(const GraphCollection& before, const GraphCollection& after)
    : before_(before),
      after_(after),
      in_after_(before.modules.size(), ModuleTree::kNone),
      in_before_(after.modules.size(), ModuleTree::kNone),
      wrapped_before_(before.modules.size(), ModuleTree::kNone),
      wrapped_after_(after.modules.size(), ModuleTree::kNone),
      structures_before_(find_structures(before_, before)),
      structures_after_(find_structures(after_, after)) {
  join_paths();
  join_equal(true);
  // What one pair takes along may leave another one alone.
  constexpr int kMostRounds = 4;
  for (int round = 0; round < kMostRounds && join_equal(false); ++round) {
  }
  join_renamed();
}

std::vector<ModulePairs::Structure> ModulePairs::find_structures(const ModuleTree& tree,
                                                                 const GraphCollection& collection) {
  std::vector<Structure> structures(tree.modules.size());
  for (const std::size_t i : tree.by_length)
    structures[i].hash = structures[i].loose = text_hash(qualified_type(tree[i].type));
  for (const ParameterRecord& parameter : collection.parameters) {
    const QualifiedName name(parameter.name);
    const std::size_t module = tree.find(name.parent());
    if (module == ModuleTree::kNone) continue;
    std::uint64_t hash = mix(text_hash(name.last()), text_hash(parameter.dtype));
    hash = mix(hash, static_cast<std::uint64_t>(parameter.kind));
    for (const auto size : parameter.shape) hash = mix(hash, static_cast<std::uint64_t>(size));
    structures[module].hash = mix(structures[module].hash, hash);
    structures[module].loose = mix(structures[module].loose, text_hash(name.last()));
    structures[module].has_parameters = true;
  }
  for (auto i = tree.by_length.rbegin(); i != tree.by_length.rend(); ++i) {
    for (const std::size_t child : tree.children[*i]) {
      const std::uint64_t name = text_hash(QualifiedName(tree[child].path).last());
      structures[*i].hash = mix(structures[*i].hash, mix(name, structures[child].hash));
      structures[*i].loose = mix(structures[*i].loose, mix(name, structures[child].loose));
      structures[*i].has_parameters = structures[*i].has_parameters || structures[child].has_parameters;
    }
  }
  return structures;
}

// Outer ones first; what is in a module that belongs to one with another path has its path there.
void ModulePairs::join_paths() {
  for (const std::size_t i : before_.by_length) {
    const std::string& path = before_[i].path;
    const std::size_t parent = before_.parents[i];
    std::size_t same = ModuleTree::kNone;
    if (parent == ModuleTree::kNone ||
        (in_after_[parent] == ModuleTree::kNone && !is_wrapper_before(parent))) {
      same = after_.find(path);
    } else if (!is_wrapper_before(parent)) {
      const std::string& around = after_[in_after_[parent]].path;
      const std::string_view name = QualifiedName(path).last();
      same = after_.find(around.empty() ? std::string(name) : around + "." + std::string(name));
    }
    if (in_after_[i] != ModuleTree::kNone || same == ModuleTree::kNone ||
        in_before_[same] != ModuleTree::kNone || is_wrapper_after(same) || join_wrapped(i, same))
      continue;
    in_after_[i] = same;
    in_before_[same] = i;
  }
}

bool ModulePairs::join_wrapped(std::size_t before, std::size_t after) {
  const std::string_view was = qualified_type(before_[before].type);
  const std::string_view is = qualified_type(after_[after].type);
  if (was.empty() || is.empty() || was == is) return false;
  const auto note = [](const ModuleTree& tree, std::size_t wrapper, std::size_t module, Wrapped& wrapped) {
    for (std::size_t around = module; around != wrapper;) {
      around = tree.parents[around];
      wrapped[around] = module;
    }
  };
  std::size_t i = before;
  std::size_t j = find_wrapped(after_, structures_after_, after, before_, structures_before_, before);
  if (j != ModuleTree::kNone) {
    note(after_, after, j, wrapped_after_);
  } else {
    j = after;
    i = find_wrapped(before_, structures_before_, before, after_, structures_after_, after);
    if (i == ModuleTree::kNone) return false;
    note(before_, before, i, wrapped_before_);
  }
  in_after_[i] = j;
  in_before_[j] = i;
  return true;
}

std::size_t ModulePairs::outermost_wrapper(const ModuleTree& tree, const Wrapped& wrapped,
                                           std::size_t module) {
  std::size_t found = ModuleTree::kNone;
  for (std::size_t around = tree.parents[module]; around != ModuleTree::kNone && wrapped[around] == module;
       around = tree.parents[around])
    found = around;
  return found;
}

std::size_t ModulePairs::find_wrapped(const ModuleTree& around_tree,
                                      const std::vector<Structure>& around_structures, std::size_t around,
                                      const ModuleTree& tree, const std::vector<Structure>& structures,
                                      std::size_t module) {
  std::unordered_set<std::string_view> names;  // of what is in the module
  for (const std::size_t child : tree.children[module]) names.insert(QualifiedName(tree[child].path).last());
  const auto is_it = [&](std::size_t other) {
    if (qualified_type(around_tree[other].type) != qualified_type(tree[module].type)) return false;
    if (names.empty()) return around_structures[other].loose == structures[module].loose;
    const auto same = std::ranges::count_if(around_tree.children[other], [&](std::size_t child) {
      return names.contains(QualifiedName(around_tree[child].path).last());
    });
    return 2 * static_cast<std::size_t>(same) >= names.size();
  };
  std::size_t found = ModuleTree::kNone;
  int count = 0;
  const auto look = [&](std::size_t other) {
    if (!is_it(other)) return;
    found = other;
    ++count;
  };
  for (const std::size_t child : around_tree.children[around]) {
    look(child);
    for (const std::size_t grandchild : around_tree.children[child]) look(grandchild);
  }
  return count == 1 ? found : ModuleTree::kNone;
}

// With all below that have the same names.
void ModulePairs::join(std::size_t before, std::size_t after) {
  std::vector<std::pair<std::size_t, std::size_t>> pending{{before, after}};
  while (!pending.empty()) {
    const auto [i, j] = pending.back();
    pending.pop_back();
    in_after_[i] = j;
    in_before_[j] = i;
    std::unordered_map<std::string_view, std::size_t> by_name;
    for (const std::size_t child : after_.children[j]) {
      if (in_before_[child] == ModuleTree::kNone && !is_wrapper_after(child))
        by_name.emplace(QualifiedName(after_[child].path).last(), child);
    }
    for (const std::size_t child : before_.children[i]) {
      const auto found = by_name.find(QualifiedName(before_[child].path).last());
      if (found != by_name.end() && in_after_[child] == ModuleTree::kNone && !is_wrapper_before(child))
        pending.emplace_back(child, found->second);
    }
  }
}

// `is_outermost`: of what is gone or new only modules that stand in none that is.  Modules without parameters
// look alike, so they belong together in one parent only.
bool ModulePairs::join_equal(bool is_outermost) {
  struct Candidates {
    std::vector<std::size_t> before, after;
  };
  std::map<std::uint64_t, Candidates> candidates;
  const auto is_candidate = [&](const ModuleTree& tree, const std::vector<std::size_t>& others,
                                const Wrapped& wrapped, std::size_t module) {
    if (others[module] != ModuleTree::kNone || is_wrapper(wrapped, module)) return false;
    const std::size_t parent = tree.parents[module];
    return !is_outermost || parent == ModuleTree::kNone || others[parent] != ModuleTree::kNone ||
           is_wrapper(wrapped, parent);
  };
  const auto key = [&](const Structure& structure, std::string_view parent_before) {
    return structure.has_parameters ? structure.hash : mix(structure.hash, text_hash(parent_before));
  };
  for (const std::size_t i : before_.by_length) {
    if (is_candidate(before_, in_after_, wrapped_before_, i))
      candidates[key(structures_before_[i], QualifiedName(before_[i].path).parent())].before.push_back(i);
  }
  for (const std::size_t j : after_.by_length) {
    if (!is_candidate(after_, in_before_, wrapped_after_, j)) continue;
    const std::string_view parent = path_before(QualifiedName(after_[j].path).parent());
    candidates[key(structures_after_[j], parent)].after.push_back(j);
  }
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (const auto& [hash, both] : candidates) {
    if (both.before.size() != both.after.size() || (!is_outermost && both.before.size() > 1)) continue;
    for (std::size_t k = 0; k < both.before.size(); ++k) pairs.emplace_back(both.before[k], both.after[k]);
  }
  // Outer ones first: they take along what is below.
  std::ranges::sort(pairs, {},
                    [&](const auto& pair) { return std::pair(before_[pair.first].path.size(), pair.first); });
  for (const auto& [i, j] : pairs) {
    if (in_after_[i] == ModuleTree::kNone && in_before_[j] == ModuleTree::kNone) join(i, j);
  }
  return !pairs.empty();
}

// One module that is gone, and one that is new, in one parent and of one structure but for sizes: it was
// renamed, and changed.
void ModulePairs::join_renamed() {
  struct Found {
    std::size_t before = ModuleTree::kNone, after = ModuleTree::kNone;
    bool is_one = true;
  };
  std::map<std::pair<std::size_t, std::uint64_t>, Found> found;  // by parent before, and structure
  const auto note = [](std::size_t& place, bool& is_one, std::size_t module) {
    is_one = is_one && place == ModuleTree::kNone;
    place = module;
  };
  for (const std::size_t i : before_.by_length) {
    const std::size_t parent = before_.parents[i];
    if (in_after_[i] != ModuleTree::kNone || parent == ModuleTree::kNone || before_[i].type.empty() ||
        is_wrapper_before(i))
      continue;
    Found& entry = found[{parent, structures_before_[i].loose}];
    note(entry.before, entry.is_one, i);
  }
  for (const std::size_t j : after_.by_length) {
    const std::size_t parent = after_.parents[j];
    if (in_before_[j] != ModuleTree::kNone || parent == ModuleTree::kNone || is_wrapper_after(j)) continue;
    const auto entry = found.find({in_before_[parent], structures_after_[j].loose});
    if (entry != found.end()) note(entry->second.after, entry->second.is_one, j);
  }
  for (const auto& [key, entry] : found) {
    if (entry.is_one && entry.after != ModuleTree::kNone && in_after_[entry.before] == ModuleTree::kNone &&
        in_before_[entry.after] == ModuleTree::kNone)
      join(entry.before, entry.after);
  }
}

std::string_view ModulePairs::path_before(std::string_view path_after) const {
  const std::size_t module = after_.find(path_after);
  if (module == ModuleTree::kNone) return path_after;
  if (is_wrapper_after(module)) return before_[in_before_[wrapped_after_[module]]].path;
  if (in_before_[module] == ModuleTree::kNone) return path_after;
  return before_[in_before_[module]].path;
}

std::string_view ModulePairs::path_after(std::string_view path_before) const {
  const std::size_t module = before_.find(path_before);
  if (module == ModuleTree::kNone || in_after_[module] == ModuleTree::kNone) return path_before;
  return after_[in_after_[module]].path;
}

std::string ModulePairs::parameter_before(const std::string& name_after) const {
  const QualifiedName name(name_after);
  const std::string_view parent = name.parent();
  const std::size_t module = after_.find(parent);
  if (module != ModuleTree::kNone && is_wrapper_after(module)) return std::string(1, '\0') + name_after;
  const std::string_view before = path_before(parent);
  if (before == parent) return name_after;
  return before.empty() ? std::string(name.last()) : std::string(before) + "." + std::string(name.last());
}

}  // namespace fxtrace
