#include "rules/matching.h"

#include <algorithm>
#include <functional>
#include <set>
#include <unordered_set>
#include <utility>

#include "graph/graph_collection.h"
#include "operators/names/modules.h"
#include "operators/names/name_table.h"
#include "operators/operators.h"
#include "support/error.h"
#include "support/text/did_you_mean.h"
#include "support/text/qualified_name.h"

namespace fxtrace::internal {
namespace {

// Returns "aten.add.Tensor" for "aten::add.Tensor", as LibTorch writes it.
std::string with_dots(std::string_view text) {
  const std::size_t at = text.find("::");
  if (at == std::string_view::npos) return std::string(text);
  return std::string(text.substr(0, at)) + "." + std::string(text.substr(at + 2));
}

// `base` is without_overload(target), which takes longer than most globs.
bool is_target(const NamePattern& glob, std::string_view target, std::string_view base) {
  return glob.matches(base) || (base.size() != target.size() && !glob.is_last_part() && glob.matches(target));
}
bool is_target(const NamePattern& glob, const std::string& target) {
  return is_target(glob, target, without_overload(target));
}
bool is_type(const NamePattern& glob, const std::string& type, const std::string& alias) {
  return glob.matches(type) || (alias != type && glob.matches(alias));
}
// Returns whether the glob is a word for nodes without a target.
bool is_word(const NamePattern& glob) { return glob.text() == "placeholder" || glob.text() == "output"; }

// Returns the known names without overloads, each once.
const std::vector<std::string>& known_bases() {
  static const std::vector<std::string> bases = [] {
    std::set<std::string_view> found;
    for (const std::string& name : known_names()) found.insert(without_overload(name));
    return std::vector<std::string>(found.begin(), found.end());
  }();
  return bases;
}

bool is_known(const NamePattern& glob) {
  // A last part is compared with names without overloads: "out" does not mean "aten.add.out".
  const std::vector<std::string>& names = glob.is_last_part() ? known_bases() : known_names();
  const std::string& prefix = glob.glob().prefix();
  for (auto name = std::ranges::lower_bound(names, prefix); name != names.end() && name->starts_with(prefix);
       ++name) {
    if (glob.matches(*name)) return true;
  }
  return false;
}

}  // namespace

bool is_call(const Node& node) {
  return node.op == Opcode::kCallFunction || node.op == Opcode::kCallMethod || node.op == Opcode::kCallModule;
}

Pattern::Names names_of(const GraphCollection& collection, const std::vector<std::string>& declared) {
  std::set<std::string> targets(declared.begin(), declared.end()), types;
  for (const ModuleGraph& top : collection.graphs) {
    for_each_graph(top, [&](const ModuleGraph& graph) {
      for (NodeId id = graph.graph.first(); id.valid(); id = graph.graph.next(id)) {
        const Node& node = graph.graph.node(id);
        if (node.op == Opcode::kCallModule) {
          types.insert(node.scope->module_type.value_or(""));
        } else if (is_call(node)) {
          targets.insert(*node.target);
        }
      }
    });
  }
  for (const ModuleRecord& module : collection.modules) types.insert(module.type);
  types.erase("");
  return {{targets.begin(), targets.end()}, {types.begin(), types.end()}};
}

std::string_view without_overload(std::string_view target) {
  const TargetParts parts = parse_target(target);
  if (parts.kind != TargetKind::kOperator) return target;
  return target.substr(0, target.size() - parts.overload.size() - 1);
}

Pattern::Pattern(std::string_view text, std::string_view whole, std::size_t offset) : text_(text) {
  std::size_t at = 0;
  while (true) {
    const std::size_t end = std::min(text.find('|', at), text.size());
    const std::string_view glob = text.substr(at, end - at);
    if (glob.empty()) {
      throw usage_error("'" + std::string(whole) + "': expected an operator or a type at position " +
                        std::to_string(offset + at + 1));
    }
    globs_.emplace_back(glob, whole, offset + at);  // errors show what was written
    if (glob.find("::") != std::string_view::npos) globs_.back() = NamePattern(with_dots(glob));
    if (end == text.size()) break;
    at = end + 1;
  }
}

std::vector<std::string> Pattern::settle(const Names& model) {
  std::vector<std::string> unknown;
  for (NamePattern& glob : globs_) {
    const auto is_here = [&] {
      return std::ranges::any_of(model.targets,
                                 [&](const std::string& target) { return is_target(glob, target); }) ||
             std::ranges::any_of(model.types, [&](const std::string& type) {
               return is_type(glob, type, public_alias(type));
             });
    };
    const auto is_anywhere = [&] { return is_word(glob) || is_known(glob); };
    if (!glob.settle(is_here) && !glob.settle(is_anywhere)) unknown.push_back(glob.text());
  }
  targets_.clear();
  types_.clear();
  registered_ = -1;
  return unknown;
}

bool Pattern::matches_target(const std::string& target) const {
  const auto [entry, is_new] = targets_.try_emplace(target);
  if (is_new) {
    const std::string_view base = without_overload(target);
    entry->second =
        std::ranges::any_of(globs_, [&](const NamePattern& glob) { return is_target(glob, target, base); });
  }
  return entry->second;
}

bool Pattern::matches_type(const std::string& type) const {
  const auto [entry, is_new] = types_.try_emplace(type);
  if (is_new) {
    const std::string alias = public_alias(type);
    entry->second =
        std::ranges::any_of(globs_, [&](const NamePattern& glob) { return is_type(glob, type, alias); });
  }
  return entry->second;
}

bool Pattern::matches_registered() const {
  if (registered_ < 0) {
    const auto is_match = [&](const Operator& op) {
      const std::string target = op.target();
      const std::string_view base = without_overload(target);
      return std::ranges::any_of(globs_,
                                 [&](const NamePattern& glob) { return is_target(glob, target, base); });
    };
    registered_ = std::ranges::any_of(registered_operators(), is_match) ? 1 : 0;
  }
  return registered_ == 1;
}

bool Pattern::has_word() const { return std::ranges::any_of(globs_, is_word); }

std::vector<std::string> nearest_names(const std::string& text, const Pattern::Names& model) {
  // Dots and stars around a name are kept: only "aten.itme" of "aten.itme.*" is corrected.
  constexpr const char* kAround = ".*";
  const std::size_t begin = text.find_first_not_of(kAround);
  if (begin == std::string::npos) return {};
  const std::size_t end = text.find_last_not_of(kAround) + 1;
  const std::string name = text.substr(begin, end - begin);
  const bool is_last_part = name.find('.') == std::string::npos && (begin > 0 || end == text.size());
  std::vector<std::string> names;
  std::unordered_set<std::string> seen;
  const auto add = [&](const std::string& candidate) {
    std::string one(is_last_part ? QualifiedName(candidate).last() : candidate);
    if (seen.insert(one).second) names.push_back(std::move(one));
  };
  for (const std::string& target : model.targets) add(std::string(without_overload(target)));
  for (const std::string& type : model.types) add(public_alias(type));
  for (const std::string& known : known_names()) add(std::string(without_overload(known)));
  std::vector<std::string> nearest = find_nearest(name, names, 3);
  for (std::string& found : nearest) found = text.substr(0, begin) + found + text.substr(end);
  return nearest;
}

std::size_t ModulePlaces::Hash::operator()(const Key& key) const {
  return std::hash<std::string_view>()(key.part) * 31 + key.parent;
}

ModulePlaces::ModulePlaces(const GraphCollection& collection) {
  parents_.push_back(kNone);
  depths_.push_back(0);
  records_.push_back(nullptr);
  for (const ModuleRecord& module : collection.modules) {
    Place place = 0;
    for (const std::string_view part : QualifiedName(module.path).parts()) place = child(place, part);
    if (records_[place] == nullptr) records_[place] = &module;
  }
}

ModulePlaces::Place ModulePlaces::child(Place parent, std::string_view part) {
  const auto [entry, is_new] = children_.try_emplace(Key{parent, part}, static_cast<Place>(parents_.size()));
  if (is_new) {
    parents_.push_back(parent);
    depths_.push_back(depths_[parent] + 1);
    records_.push_back(nullptr);
  }
  return entry->second;
}

ModulePlaces::Place ModulePlaces::find_place(std::string_view path) const {
  Place place = 0;
  for (const std::string_view part : QualifiedName(path).parts()) {
    const auto found = children_.find(Key{place, part});
    if (found == children_.end()) break;
    place = found->second;
  }
  return place;
}

ModulePlaces::Place ModulePlaces::common(Place a, Place b) const {
  if (a == kNone || b == kNone) return kNone;
  while (a != b) {
    if (depths_[a] < depths_[b]) {
      b = parents_[b];
    } else {
      a = parents_[a];
    }
  }
  return a;
}

bool ModulePlaces::is_within(Place place, const std::vector<bool>& marks) const {
  for (; place != kNone; place = parents_[place]) {
    if (marks[place]) return true;
  }
  return false;
}

}  // namespace fxtrace::internal
