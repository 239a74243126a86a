#include "exported/program/hierarchy.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "support/error.h"
#include "support/text/qualified_name.h"

namespace fxtrace::internal {
namespace {

// Each level of a path is a module whose own path is as long again, and each call keeps its path.
constexpr std::ptrdiff_t kMaxPathDepth = 4'000;
constexpr std::size_t kMaxPathLength = 50'000;
constexpr std::size_t kMaxStackDepth = 4'000;
constexpr std::size_t kMaxCalls = 2'000'000;
// Characters of all paths together: a path of the file stands for all paths above it, each of which is copied
// some times.  A model's names are in its file.
constexpr std::uint64_t kMaxPathText = 100'000'000, kLeastPathText = 16'500'000, kPathTextOfByte = 16;
constexpr char kNextItem = ';';  // separates the items of a stack

// The key, path and type of the only item in the stack of a node that torch.export added itself.
constexpr std::string_view kEmptyStack = "_empty_nn_module_stack_from_metadata_hook";

bool is_number(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

// Returns the place of the next `separator` that is not inside brackets, from `start` on; else the end.
std::size_t find_end(std::string_view text, char separator, std::size_t start) {
  const std::size_t end = std::min(text.find(separator, start), text.size());
  if (text.substr(start, end - start).find_first_of("[(") == std::string_view::npos) return end;
  int open = 0;
  for (std::size_t i = start; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '[' || c == '(') ++open;
    if ((c == ']' || c == ')') && open > 0) --open;
    if (c == separator && open == 0) return i;
  }
  return text.size();
}

// Returns the path that a stack's item means.  Some versions number it ("a@1"); others have the expression by
// which Dynamo reached the module when forward's first parameter is not called self: "getattr(L['s'].a,
// '0')".
std::string qualified_name(std::string_view text) {
  text = text.substr(0, text.find('@'));
  // Strict mode's name of the root in subgraphs of control flow.
  constexpr std::string_view kRoot = "_export_root";
  if (text == kRoot) return {};
  if (text.starts_with(kRoot) && text[kRoot.size()] == '.') text.remove_prefix(kRoot.size() + 1);
  if (text.find("L['") == std::string_view::npos) return std::string(text);
  std::string path;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto rest = text.substr(i);
    if (rest.starts_with("getattr(")) {
      i += 7;
    } else if (rest.starts_with("L['")) {
      const std::size_t end = rest.find(']');
      if (end == std::string_view::npos) break;
      i += end;
    } else if (rest.starts_with(", ") || text[i] == '[' || text[i] == '.') {
      if (!path.empty() && path.back() != '.') path += '.';
    } else if (text[i] != ']' && text[i] != ')' && text[i] != '\'' && text[i] != '"' && text[i] != ' ') {
      path += text[i];
    }
  }
  return path;
}

// Returns whether the type is that of a module of torch's own around an exported program that is exported
// again, as after convert_pt2e(): some nodes have it as their root, others the model itself.
bool is_wrapper(std::string_view type) {
  return type.starts_with("torch.export._trace.") || type.starts_with("torch.fx.graph_module.");
}

// Throws Error(kInput) for a path that goes beyond any model.
void check_path(std::string_view path) {
  const auto too_much = [&](const std::string& what) {
    const std::string shown(path.substr(0, 60));
    throw input_error("the program has a module path " + what + ": " + shown +
                      (path.size() > 60 ? "..." : ""));
  };
  const auto levels = std::count(path.begin(), path.end(), '.') + 1;
  if (levels > kMaxPathDepth) {
    too_much("of " + std::to_string(levels) + " levels, and at most " + std::to_string(kMaxPathDepth) +
             " are read");
  }
  if (path.size() > kMaxPathLength) {
    too_much("of " + std::to_string(path.size()) + " characters, and at most " +
             std::to_string(kMaxPathLength) + " are read");
  }
}

}  // namespace

Hierarchy::Hierarchy() {
  calls_.emplace_back();
  insert("");
}

std::size_t Hierarchy::insert(std::string_view path) {
  const auto [found, is_new] = path_index_.emplace(path, paths_.size());
  if (is_new) {
    check_path(path);
    paths_.emplace_back(path);
    types_.emplace_back();
    called_.push_back(false);
  }
  return found->second;
}

void Hierarchy::declare(std::string_view path) {
  path = path.substr(0, path.find('@'));
  insert(path);
  declared_.emplace(path);
}

void Hierarchy::note_use(CallId call, std::string_view tensor) {
  uses_.emplace(calls_[call].path, QualifiedName(tensor).parent());
}

Hierarchy::Entry Hierarchy::parse(std::string_view item) {
  std::vector<std::string_view> parts;
  for (std::size_t start = 0; start <= item.size();) {
    const std::size_t end = find_end(item, ',', start);
    parts.push_back(item.substr(start, end - start));
    start = end + 1;
  }
  if (parts.size() != 3) {
    throw input_error("a node's nn_module_stack is damaged: '" + std::string(item.substr(0, 100)) +
                      "' is not 'key,path,type'");
  }
  Entry entry{parts[0], {}, std::string(parts[1]), parts[2]};
  const std::size_t at = entry.key.rfind('@');
  if (at != std::string_view::npos && is_number(entry.key.substr(at + 1))) {
    entry.number = entry.key.substr(at + 1);
    entry.key = entry.key.substr(0, at);
  }
  return entry;
}

CallId Hierarchy::add_call(CallId parent, const Entry& entry) {
  if (calls_.size() >= kMaxCalls) {
    throw input_error("the program calls modules more than " + std::to_string(kMaxCalls) + " times");
  }
  calls_.push_back(
      {{}, parent, calls_[parent].depth + 1, std::string(entry.number), std::string(entry.path)});
  return static_cast<CallId>(calls_.size() - 1);
}

std::optional<CallId> Hierarchy::enter(std::optional<CallId> outer, std::string_view item) {
  Entry entry = parse(item);
  if (entry.path == kEmptyStack) return outer;
  entry.path = qualified_name(entry.path);
  const std::size_t index = insert(entry.path);
  if (types_[index].empty() || is_wrapper(types_[index])) types_[index] = entry.type;
  called_[index] = true;
  by_key_[std::string(entry.key)].insert(index);
  const CallId parent = outer.value_or(kRootCall);
  if (entry.path.empty()) return parent;  // the root
  std::string key = std::to_string(parent);
  for (const std::string_view part : {entry.key, entry.number, std::string_view(entry.path)}) {
    key.append(1, ',').append(part);
  }
  const auto [found, is_new] = known_calls_.emplace(std::move(key), 0);
  if (is_new) found->second = add_call(parent, entry);
  return found->second;
}

std::optional<CallId> Hierarchy::call_of(std::string_view stack) {
  // Most of a stack repeats the one before, and stacks of deep models have megabytes.
  const auto is_same = [&](const StackItem& item) {
    const bool ends_here =
        item.end == stack.size() || (item.end < stack.size() && stack[item.end] == kNextItem);
    return ends_here && stack.substr(0, item.end) == std::string_view(last_stack_).substr(0, item.end);
  };
  if (!last_items_.empty() && !is_same(last_items_.back()))
    last_items_.erase(std::ranges::partition_point(last_items_, is_same), last_items_.end());
  last_stack_ = stack;
  StackItem item = last_items_.empty() ? StackItem{} : last_items_.back();
  std::size_t start = last_items_.empty() ? 0 : item.end + 1;
  while (start <= stack.size()) {
    if (last_items_.size() == kMaxStackDepth) {
      throw input_error("a node's nn_module_stack has more than " + std::to_string(kMaxStackDepth) +
                        " modules");
    }
    item.end = find_end(stack, kNextItem, start);
    item.call = enter(item.call, stack.substr(start, item.end - start));
    last_items_.push_back(item);
    start = item.end + 1;
  }
  return item.call;
}

// Finds the names of modules that strict=True calls by an expression: the path of no module that the file
// lists, and of no tensor.  A part of such a module uses the tensors of the part with the same name below the
// module's own name; without such parts, one module owns all that it uses.  If only one module without
// tensors is reached so, and only one is never called, they are the same.
void Hierarchy::find_names_of_expressions(const std::vector<NamedTensor>& tensors) {
  if (declared_.size() < 2 || !is_strict()) return;
  std::unordered_set<std::string> named = declared_;
  for (const NamedTensor& tensor : tensors) {
    for (std::string path(QualifiedName(tensor.name).parent()); !path.empty() && named.insert(path).second;)
      path = QualifiedName(path).parent();
  }
  std::set<std::string> idle;  // modules without tensors that are never called
  for (const std::string& path : declared_) {
    if (!path.empty() && !called_[path_index_.at(path)]) idle.insert(path);
  }
  for (const NamedTensor& tensor : tensors) {
    for (std::string path(QualifiedName(tensor.name).parent()); !path.empty();
         path = QualifiedName(path).parent())
      idle.erase(path);
  }
  const auto settle = [&](const std::set<std::size_t>& paths, const std::string& key,
                          const std::string& name) {
    const std::size_t own = path_index_.at(name);
    if (called_[own]) return;
    for (const std::size_t path : paths) {
      types_[own] = types_[path];
      expressions_.insert(paths_[path]);
    }
    called_[own] = true;
    by_key_[key].insert(own);
  };
  std::vector<std::string> undetermined;  // keys of modules that use no tensors
  for (const auto& [key, paths] : by_key_) {
    if (std::ranges::any_of(paths, [&](std::size_t path) { return named.contains(paths_[path]); })) continue;
    std::set<std::string> names, owners;
    bool has_uses = false;
    for (const std::size_t path : paths) {
      for (const auto& [user, owner] : uses_) {
        const std::string_view part =
            std::string_view(user).substr(std::min(paths_[path].size(), user.size()));
        if (!user.starts_with(paths_[path]) || !(part.empty() || part.front() == '.')) continue;
        has_uses = true;
        if (part.empty())
          owners.insert(owner);
        else if (owner.ends_with(part))
          names.insert(owner.substr(0, owner.size() - part.size()));
      }
    }
    if (names.empty()) names = std::move(owners);
    if (names.size() == 1 && !names.begin()->empty() && declared_.contains(*names.begin()))
      settle(paths, key, *names.begin());
    else if (!has_uses)
      undetermined.push_back(key);
  }
  // A part of a module that has its name now is no question.
  std::erase_if(undetermined, [&](const std::string& key) {
    return std::ranges::any_of(by_key_[key], [&](std::size_t path) {
      return std::ranges::any_of(expressions_,
                                 [&](const std::string& of) { return paths_[path].starts_with(of + "."); });
    });
  });
  if (undetermined.size() == 1 && idle.size() == 1)
    settle(std::set(by_key_[undetermined[0]]), undetermined[0], *idle.begin());
}

// Finds the names of one module by their equal keys, which programs exported with strict=True have.
void Hierarchy::find_shared_modules(const std::vector<NamedTensor>& tensors) {
  find_uncalled_names(tensors);
  find_names_of_expressions(tensors);
  for (auto& [key, paths] : by_key_) {
    if (paths.size() < 2) continue;
    const std::size_t first = *paths.begin();
    if (paths_[first].empty()) continue;
    for (const std::size_t path : paths) {
      const bool nested =
          paths_[path].starts_with(paths_[first] + ".") || paths_[first].starts_with(paths_[path] + ".");
      if (path != first && !nested && types_[path] == types_[first])
        shared_.emplace(paths_[path], paths_[first]);
    }
  }
}

namespace {

// Returns a number for each path; two paths have the same number if they have the same modules below them,
// with the same tensors under the same names.  Paths without tensors have none.
std::unordered_map<std::string_view, std::size_t> contents_of(
    const std::vector<std::string>& paths, const std::vector<Hierarchy::NamedTensor>& tensors) {
  struct Content {
    std::map<std::string_view, std::string> entries;  // by last name
    bool has_tensors = false;
  };
  std::unordered_map<std::string_view, Content> contents;
  for (const std::string& path : paths) contents[path];
  const auto owner_and_name = [](std::string_view name) {
    return std::pair(QualifiedName(name).parent(), QualifiedName(name).last());
  };
  for (const auto& [name, tensor, is_empty] : tensors) {
    const auto [owner, last] = owner_and_name(name);
    Content& content = contents[owner];
    content.entries[last] = is_empty ? "empty" : "t" + std::to_string(tensor);
    content.has_tensors = content.has_tensors || !is_empty;
  }
  // Longer paths first: what is below a path is known when the path is.
  std::vector<std::string_view> order(paths.begin(), paths.end());
  std::stable_sort(order.begin(), order.end(), [](auto a, auto b) { return a.size() > b.size(); });
  std::unordered_map<std::string, std::size_t> known;
  std::unordered_map<std::string_view, std::size_t> found;
  for (const std::string_view path : order) {
    if (path.empty()) continue;
    const Content& content = contents[path];
    std::string text;
    for (const auto& [last, entry] : content.entries) text.append(last).append(1, '=').append(entry) += ';';
    const std::size_t number = known.emplace(std::move(text), known.size()).first->second;
    if (content.has_tensors) found.emplace(path, number);
    const auto [owner, last] = owner_and_name(path);
    Content& outer = contents[owner];
    outer.entries[last] = "m" + std::to_string(number);
    outer.has_tensors = outer.has_tensors || content.has_tensors;
  }
  return found;
}

}  // namespace

// strict=True calls a module by one of its names.  A name that is never called is another name of that module
// if all tensors below it are tied to it, name by name, and to no other module that is called.
void Hierarchy::find_uncalled_names(const std::vector<NamedTensor>& tensors) {
  if (!is_strict()) return;
  std::unordered_map<std::size_t, std::string> key_of;  // by path
  for (const auto& [key, paths] : by_key_) {
    for (const std::size_t path : paths) key_of.emplace(path, key);
  }
  std::unordered_map<std::size_t, std::vector<std::size_t>> same;  // paths, by content
  const auto contents = contents_of(paths_, tensors);
  for (std::size_t i = 0; i < paths_.size(); ++i) {
    const auto content = contents.find(paths_[i]);
    if (content != contents.end()) same[content->second].push_back(i);
  }
  for (const auto& [content, paths] : same) {
    std::set<std::string> keys;
    std::size_t called = 0;
    for (const std::size_t path : paths) {
      const auto key = key_of.find(path);
      if (key == key_of.end()) continue;
      keys.insert(key->second);
      called = path;
    }
    if (keys.size() != 1) continue;
    for (const std::size_t path : paths) {
      if (called_[path]) continue;
      by_key_[*keys.begin()].insert(path);
      assumed_.insert(paths_[path]);
      types_[path] = types_[called];
      called_[path] = true;
    }
  }
}

// strict=False calls a module by the name that the code used.  Names of one type with all tensors below them
// tied are names of one module, unless their calls differ.
void Hierarchy::find_equal_modules(const std::vector<NamedTensor>& tensors,
                                   const MayBeOneModule& may_be_one) {
  if (is_strict()) return;
  std::map<std::pair<std::size_t, std::string>, std::vector<std::size_t>> same;  // paths, by content and type
  const auto contents = contents_of(paths_, tensors);
  for (std::size_t i = 0; i < paths_.size(); ++i) {
    const auto content = contents.find(paths_[i]);
    if (content != contents.end() && called_[i] && !types_[i].empty())
      same[{content->second, types_[i]}].push_back(i);
  }
  std::erase_if(same, [](const auto& item) { return item.second.size() < 2; });
  if (same.empty()) return;
  std::unordered_map<std::string_view, std::vector<CallId>> calls_of;  // by path
  for (CallId call = 0; call < calls_.size(); ++call) calls_of[calls_[call].path].push_back(call);
  const auto are_one = [&](std::size_t first, std::size_t path) {
    constexpr std::size_t kMaxCompared = 8;
    const auto& calls = calls_of[paths_[first]];
    const auto& others = calls_of[paths_[path]];
    for (std::size_t i = 0; i < std::min(calls.size(), kMaxCompared); ++i) {
      for (std::size_t k = 0; k < std::min(others.size(), kMaxCompared); ++k) {
        if (may_be_one(calls[i], others[k])) return true;
      }
    }
    return false;
  };
  for (const auto& [key, paths] : same) {
    std::vector<std::size_t> firsts;
    for (const std::size_t path : paths) {
      const auto first = std::ranges::find_if(firsts, [&](std::size_t one) { return are_one(one, path); });
      if (first == firsts.end()) {
        firsts.push_back(path);
        continue;
      }
      const std::string& earlier = paths_[*first];
      if (paths_[path].starts_with(earlier + ".") || earlier.starts_with(paths_[path] + ".")) continue;
      shared_.emplace(paths_[path], earlier);
      assumed_.insert(paths_[path]);
    }
  }
}

bool Hierarchy::is_strict() const {
  return std::any_of(by_key_.begin(), by_key_.end(),
                     [](const auto& entry) { return is_number(entry.first); });
}

std::string Hierarchy::first_name(std::string_view name) const {
  if (shared_.empty()) return std::string(name);
  std::string result(name);
  // Every replacement gives a path that comes earlier, so this ends.
  for (std::size_t end = result.size(); end != std::string::npos && end != 0;) {
    const auto found = shared_.find(result.substr(0, end));
    if (found != shared_.end()) {
      result = found->second + result.substr(end);
      end = result.size();
    } else {
      end = result.rfind('.', end - 1);
    }
  }
  return result;
}

void Hierarchy::finish(const std::vector<NamedTensor>& tensors, const MayBeOneModule& may_be_one,
                       std::uint64_t file_size) {
  for (const NamedTensor& tensor : tensors) {
    const std::string_view owner = QualifiedName(tensor.name).parent();
    if (!owner.empty()) insert(owner);
  }
  find_shared_modules(tensors);
  find_equal_modules(tensors, may_be_one);

  // The tree: every path below its parent, in the order in which the paths became known.
  struct Item {
    std::string path;
    std::vector<std::size_t> children;
    std::size_t source = SIZE_MAX;  // index of the path, if the program has it
  };
  std::vector<Item> items;
  std::unordered_map<std::string, std::size_t> index;
  const std::uint64_t most_text =
      std::min(kMaxPathText, kLeastPathText + kPathTextOfByte * std::min(file_size, kMaxPathText));
  std::uint64_t path_text = 0;
  const auto count_text = [&](std::size_t size) {
    path_text += size;
    if (path_text > most_text) {
      throw input_error("the paths and types of the program's modules have more than " +
                        std::to_string(most_text) + " characters together, too many for a file of its size");
    }
  };
  const auto place = [&](const std::string& path, auto&& self) -> std::size_t {
    const auto found = index.find(path);
    if (found != index.end()) return found->second;
    std::size_t parent = SIZE_MAX;
    if (!path.empty()) parent = self(std::string(QualifiedName(path).parent()), self);
    count_text(path.size());
    const std::size_t at = items.size();
    items.push_back({path, {}, SIZE_MAX});
    index.emplace(path, at);
    if (parent != SIZE_MAX) items[parent].children.push_back(at);
    return at;
  };
  for (std::size_t i = 0; i < paths_.size(); ++i) {
    // Paths below a shared module's later name are moved below its first name.
    const std::string above(QualifiedName(paths_[i]).parent());
    const std::string path = above.empty() ? paths_[i] : first_name(above) + paths_[i].substr(above.size());
    if (expressions_.contains(paths_[i])) continue;  // has its name
    Item& item = items[place(path, place)];
    if (item.source == SIZE_MAX || types_[item.source].empty()) item.source = i;
    if (called_[i]) called_[item.source] = true;
  }

  std::vector<std::pair<std::size_t, std::optional<ModuleId>>> pending{{index.at(""), std::nullopt}};
  while (!pending.empty()) {
    const auto [at, parent] = pending.back();
    pending.pop_back();
    const Item& item = items[at];
    const ModuleId id{static_cast<std::uint32_t>(modules_.size())};
    ModuleInfo info;
    info.path = item.path;
    const bool known = item.source != SIZE_MAX;
    if (known) info.type = types_[item.source];
    count_text(info.type.size());
    info.parent = parent;
    info.has_forward = item.path.empty() || (known && called_[item.source]);
    modules_.push_back(std::move(info));
    by_path_.emplace(item.path, id);
    if (parent) modules_[parent->index].children.push_back(id);
    for (std::size_t i = item.children.size(); i > 0; --i) pending.emplace_back(item.children[i - 1], id);
  }
  for (auto& module : modules_) {
    const std::string first = first_name(module.path);
    if (first == module.path) continue;
    const auto found = by_path_.find(first);
    if (found == by_path_.end()) continue;
    module.alias_of = found->second;
    module.is_assumed = assumed_.contains(module.path) || assumed_.contains(first);
    module.children.clear();
  }
  std::unordered_set<std::uint32_t> named;  // modules that are called by their first names
  for (auto& call : calls_) {
    const auto module = find_module(call.path);
    if (!module) continue;
    call.module = *module;
    if (!by_path_.contains(call.path)) call.path = modules_[module->index].path;  // an expression
    if (call.path == modules_[module->index].path) named.insert(module->index);
  }
  for (const Call& call : calls_) {
    if (call.module.index >= modules_.size() || named.contains(call.module.index)) continue;
    ModuleInfo& module = modules_[call.module.index];
    if (module.name_in_file.empty()) module.name_in_file = call.path;
  }
}

std::optional<ModuleId> Hierarchy::find_module(std::string_view path) const {
  const auto found = by_path_.find(first_name(path));
  if (found == by_path_.end()) return std::nullopt;
  return found->second;
}

bool Hierarchy::is_run_by_caller_of(const ProgramNode& operation, CallId call) const {
  return operation.has_stack && operation.call != call && common_call(operation.call, call) == operation.call;
}

CallId Hierarchy::common_call(CallId a, CallId b) const {
  while (a != b) {
    CallId& deeper = calls_[a].depth >= calls_[b].depth ? a : b;
    deeper = calls_[deeper].parent;
  }
  return a;
}

}  // namespace fxtrace::internal
