#include "convert/lower/tree_text.h"

#include <optional>

#include "analysis/program_operations.h"
#include "support/error.h"
#include "support/json_emitter.h"

namespace fxtrace::internal {
namespace {

void write(const TreeSpec& spec, JsonEmitter& json) {
  json.object([&] {
    if (spec.kind == TreeSpec::Kind::kLeaf) {
      json.field("type", std::optional<bool>());
      json.field("context", std::optional<bool>());
    } else if (spec.kind == TreeSpec::Kind::kDict) {
      json.field("type", "builtins.dict");
      json.field("context", json_text(JsonLayout::kSpaced, [&](JsonEmitter& keys) {
                   keys.list(spec.keys, [&](const Argument& key) {
                     const auto* text = key.get_if<std::string>();
                     if (text == nullptr) throw input_error("the program has a dict whose keys are not text");
                     keys.string(*text);
                   });
                 }));
    } else {
      json.field("type", spec.kind == TreeSpec::Kind::kList ? "builtins.list" : "builtins.tuple");
      json.field("context", "null");
    }
    json.key("children_spec").list(spec.children, [&](const TreeSpec& child) { write(child, json); });
  });
}

}  // namespace

std::string tree_text(const TreeSpec& spec) {
  return json_text(JsonLayout::kSpaced, [&](JsonEmitter& json) {
    json.open('[');
    json.item();
    json.integer(1);  // torch.utils._pytree.DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL
    json.item();
    write(spec, json);
    json.close(']');
  });
}

TreeSpec tree_of(const Argument& value, std::vector<Argument>& leaves) {
  TreeSpec spec;
  const std::size_t before = leaves.size();
  const auto add = [&](const Argument& item) { spec.children.push_back(tree_of(item, leaves)); };
  if (const auto* list = value.get_if<Argument::List>()) {
    spec.kind = TreeSpec::Kind::kList;
    for (const Argument& item : list->items) add(item);
  } else if (const auto* tuple = value.get_if<Argument::Tuple>()) {
    spec.kind = TreeSpec::Kind::kTuple;
    for (const Argument& item : tuple->items) add(item);
  } else if (const auto* dict = value.get_if<Argument::Dict>()) {
    spec.kind = TreeSpec::Kind::kDict;
    for (const auto& [key, item] : dict->items) {
      spec.keys.push_back(constant_argument(key));
      add(item);
    }
  } else {
    leaves.push_back(value);
  }
  spec.leaves = leaves.size() - before;
  return spec;
}

}  // namespace fxtrace::internal
