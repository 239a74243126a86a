#include "exported/program/tree_spec.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "analysis/program_operations.h"
#include "support/error.h"
#include "support/json_document.h"

namespace fxtrace::internal {
namespace {

constexpr std::array<std::string_view, 6> kBuiltins{"builtins.dict",           "builtins.list",
                                                    "builtins.tuple",          "collections.OrderedDict",
                                                    "collections.defaultdict", "collections.deque"};
constexpr int kMaxTreeDepth = 100;
constexpr std::size_t kMaxPathParts = 5'000'000;  // the most parts in the paths of all leaves together

Argument key_of(const JsonValue& value) {
  switch (value.kind()) {
    case JsonValue::Kind::kString:
      return std::string(value.string());
    case JsonValue::Kind::kInteger:
      return value.integer();
    case JsonValue::Kind::kNumber:
      return value.number();
    case JsonValue::Kind::kTrue:
    case JsonValue::Kind::kFalse:
      return value.boolean();
    default:
      return Argument::None{};
  }
}

bool are_keys(const JsonValue& list, std::size_t count) {
  std::size_t found = 0;
  for (const JsonValue item : list.items()) {
    if (item.is_array() || item.is_object()) return false;
    ++found;
  }
  return found == count;
}

// Returns the keys of a container whose context is the list of its keys, as for dicts and transformers'
// ModelOutput, or a list that starts with that list, as for dataclasses.  Returns nothing for other types.
std::optional<std::vector<Argument>> keys_of(const JsonValue& context, std::size_t count) {
  if (context.is_object()) {  // defaultdict
    const auto inner = context.find("dict_context");
    return inner ? keys_of(*inner, count) : std::nullopt;
  }
  if (!context.is_array()) return std::nullopt;
  if (are_keys(context, count)) {
    std::vector<Argument> keys;
    for (const JsonValue key : context.items()) keys.push_back(key_of(key));
    return keys;
  }
  for (const JsonValue first : context.items()) {
    if (first.is_array() && are_keys(first, count)) return keys_of(first, count);
    break;
  }
  return std::nullopt;
}

std::optional<std::vector<Argument>> keys_of_node(const JsonValue& node, std::size_t count,
                                                  const std::string& what) {
  const auto context = node.find("context");
  if (!context) return std::nullopt;
  if (!context->is_string()) return keys_of(*context, count);
  const auto text = context->string();
  if (text.empty() || (text.front() != '[' && text.front() != '{')) return std::nullopt;
  const JsonDocument document(text, what);
  return keys_of(document.root(), count);
}

// Returns the fields of a named tuple; nothing when the program lists another number of fields for its type.
std::shared_ptr<const argument::TupleNames> names_of(const JsonValue& node, std::size_t count,
                                                     const TreeSpec::NamedTuples& named_tuples) {
  const auto context = node.find("context");
  if (!context || !context->is_string()) return nullptr;
  const auto known = named_tuples.find(context->string());
  if (known == named_tuples.end() || known->second.size() != count) return nullptr;
  return std::make_shared<argument::TupleNames>(known->first, known->second);
}

TreeSpec read(const JsonValue& node, const std::string& what, const TreeSpec::NamedTuples& named_tuples,
              int depth) {
  if (depth > kMaxTreeDepth)
    node.fail("the tree is more than " + std::to_string(kMaxTreeDepth) + " levels deep");
  TreeSpec spec;
  const auto type = node.find("type");
  if (!type) return spec;  // a leaf
  spec.leaves = 0;
  for (const JsonValue child : node.at("children_spec").items()) {
    spec.children.push_back(read(child, what, named_tuples, depth + 1));
    spec.leaves += spec.children.back().leaves;
  }
  const auto name = type->string();
  spec.is_builtin = std::ranges::find(kBuiltins, name) != kBuiltins.end();
  if (name == "builtins.NoneType" && spec.children.empty()) {
    spec.kind = TreeSpec::Kind::kNone;
  } else if (name == "builtins.list" || name == "collections.deque") {
    spec.kind = TreeSpec::Kind::kList;
  } else {
    spec.kind = TreeSpec::Kind::kTuple;
    const bool is_named = name == "collections.namedtuple";
    if (is_named) spec.names = names_of(node, spec.children.size(), named_tuples);
    const bool is_tuple = is_named || name == "builtins.tuple";
    auto keys = is_tuple ? std::nullopt : keys_of_node(node, spec.children.size(), what);
    if (keys) {
      spec.kind = TreeSpec::Kind::kDict;
      spec.keys = std::move(*keys);
    }
  }
  return spec;
}

class Unflattening {
 public:
  explicit Unflattening(const std::vector<Argument>& leaves) : leaves_(leaves) {}

  Argument build(const TreeSpec& spec) {
    if (spec.kind == TreeSpec::Kind::kLeaf) return leaves_[next_++];
    if (spec.kind == TreeSpec::Kind::kNone) return Argument::None{};
    if (spec.kind == TreeSpec::Kind::kDict) {
      Argument::Dict dict;
      for (std::size_t i = 0; i < spec.children.size(); ++i) {
        dict.items.push_back({spec.keys[i], build(spec.children[i])});
      }
      return dict;
    }
    std::vector<Argument> items;
    for (const TreeSpec& child : spec.children) items.push_back(build(child));
    if (spec.kind == TreeSpec::Kind::kList) return Argument::List{std::move(items)};
    return Argument::Tuple{std::move(items), spec.names};
  }

 private:
  const std::vector<Argument>& leaves_;
  std::size_t next_ = 0;
};

void collect(const TreeSpec& spec, std::vector<Argument>& path, std::vector<std::vector<Argument>>& paths) {
  if (spec.kind == TreeSpec::Kind::kLeaf) {
    if (paths.size() * kMaxTreeDepth > kMaxPathParts)
      throw input_error("the inputs or outputs have too many leaves");
    paths.push_back(path);
    return;
  }
  for (std::size_t i = 0; i < spec.children.size(); ++i) {
    path.push_back(spec.kind == TreeSpec::Kind::kDict ? spec.keys[i]
                                                      : Argument(static_cast<std::int64_t>(i)));
    collect(spec.children[i], path, paths);
    path.pop_back();
  }
}

}  // namespace

TreeSpec TreeSpec::parse(std::string_view text, const std::string& what, const NamedTuples& named_tuples) {
  const JsonDocument document(text, what);
  // [protocol, tree]
  const JsonValue root = document.root();
  std::optional<JsonValue> tree;
  for (const JsonValue item : root.items()) tree = item;
  if (!tree) root.fail("expected a tree");
  return read(*tree, what, named_tuples, 0);
}

Argument TreeSpec::unflatten(const std::vector<Argument>& values) const {
  return Unflattening(values).build(*this);
}

std::vector<std::vector<Argument>> TreeSpec::paths() const {
  std::vector<std::vector<Argument>> result;
  std::vector<Argument> path;
  collect(*this, path, result);
  return result;
}

}  // namespace fxtrace::internal
