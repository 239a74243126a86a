#include "security/bytecode_objects.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "support/text/printable.h"

namespace fxtrace::internal::security {
namespace {

using Kind = PickleMachine::Kind;
using Form = BytecodeTypes::Form;

constexpr std::string_view kOwn = "__torch__.", kHelpers = "torch.jit._pickle.",
                           kTag = "torch.jit._pickle.restore_type_tag";

}  // namespace

bool is_library_class(std::string_view name) { return name.starts_with("__torch__.torch.classes"); }

BytecodePickle::BytecodePickle(std::string_view bytes) : machine_(bytes, 0, this) {
  if (machine_.run(PickleMachine::kMaxOpcodes) == PickleMachine::End::kStop) result_ = machine_.find_result();
}

void BytecodePickle::on_state(Id target, Id state) {
  const auto [place, is_new] = states_.emplace(target, State{state, machine_.items(state).size()});
  if (!is_new) place->second.is_repeated = true;
}

std::span<const BytecodePickle::Id> BytecodePickle::items(Id id) const {
  return is_tuple(id) ? machine_.parts(id) : std::span<const Id>();
}

std::optional<std::vector<BytecodePickle::Id>> BytecodePickle::find_list(Id id) const {
  if (maker(id).starts_with(kHelpers)) {
    const auto given = items(machine_.parts(id)[1]);
    if (!given.empty()) id = given[0];
  }
  if (machine_.value(id).kind != Kind::kList) return std::nullopt;
  std::vector<Id> found;
  for (const auto& [item, none] : machine_.items(id)) found.push_back(item);
  return found;
}

std::optional<std::string_view> BytecodePickle::find_text(Id id) const {
  if (machine_.value(id).kind != Kind::kString) return std::nullopt;
  return machine_.value(id).text;
}

std::optional<std::int64_t> BytecodePickle::find_integer(Id id) const {
  if (machine_.value(id).kind != Kind::kInteger) return std::nullopt;
  return machine_.value(id).number;
}

std::string BytecodePickle::maker(Id id) const {
  constexpr std::size_t kMaxName = 1'000;
  return machine_.value(id).kind == Kind::kCall ? machine_.global_name(machine_.parts(id)[0], kMaxName) : "";
}

bool BytecodePickle::has_objects() const {
  for (std::size_t id = 0; id < machine_.value_count(); ++id) {
    if (machine_.value(static_cast<Id>(id)).kind == Kind::kGlobal &&
        machine_.global_name(static_cast<Id>(id), kOwn.size()).starts_with("__torch__"))
      return true;
  }
  return false;
}

bool BytecodePickle::has_library_objects() const {
  constexpr std::size_t kEnough = 100;
  for (std::size_t id = 0; id < machine_.value_count(); ++id) {
    if (machine_.value(static_cast<Id>(id)).kind == Kind::kGlobal &&
        is_library_class(machine_.global_name(static_cast<Id>(id), kEnough)))
      return true;
  }
  return false;
}

void BytecodePickle::find_types(BytecodeTypes& types, BytecodeClasses& classes,
                                const std::map<std::string, BytecodeTypes::Id, std::less<>>& set_states,
                                const Tell& tell) {
  const auto count = static_cast<Id>(machine_.value_count());
  // A list or dict gets its type after it was made: restore_type_tag([..], "List[int]").
  std::map<Id, BytecodeTypes::Id> tags;
  types_of_.assign(count, BytecodeTypes::kAbsent);
  std::vector<Id> objects;
  for (Id id = 0; id < count; ++id) {
    if (machine_.value(id).kind != Kind::kCall) continue;
    const std::string function = maker(id);
    types_of_[id] = function.starts_with(kOwn) ? types.object(function) : BytecodeTypes::kOpaque;
    if (function.starts_with(kOwn)) objects.push_back(id);
    if (!function.starts_with(kHelpers)) continue;
    const auto given = items(machine_.parts(id)[1]);
    const Kind kind = given.empty() ? Kind::kOther : machine_.value(given[0]).kind;
    WrittenType tag{types.list(BytecodeTypes::kOpaque)};
    if (function == kTag) {
      const auto text = given.size() == 2 ? find_text(given[1]) : std::nullopt;
      if (text) tag = read_type(types, *text);
    }
    const bool is_right = !tag.is_hostile && (types.is(tag.id, Form::kList)   ? kind == Kind::kList
                                              : types.is(tag.id, Form::kDict) ? kind == Kind::kDict
                                                                              : false);
    if (!is_right || !tags.emplace(given[0], tag.id).second) {
      tell(SecurityKind::kUnknown, "",
           "its pickle gives a value a type that it cannot have, or a second one");
      tag.id = BytecodeTypes::kOpaque;
    }
    types_of_[id] = tag.id;
  }
  // Parts of a tuple are made before it.
  for (Id id = 0; id < count; ++id) {
    BytecodeTypes::Id& type = types_of_[id];
    const auto tag = tags.find(id);
    switch (machine_.value(id).kind) {
      case Kind::kList:
        type = tag != tags.end() ? tag->second : types.list(BytecodeTypes::kOpaque);
        break;
      case Kind::kDict:
        type = tag != tags.end() ? tag->second : types.dict(BytecodeTypes::kOpaque);
        break;
      case Kind::kTuple: {
        std::vector<BytecodeTypes::Id> parts;
        for (const Id part : machine_.parts(id)) parts.push_back(types_of_[part]);
        type = types.tuple(std::move(parts));
        break;
      }
      default:
        break;
    }
  }
  for (const auto& [id, tag] : tags) {
    const bool is_dict = types.is(tag, Form::kDict);
    for (const auto& [key, value] : machine_.items(id)) {
      if (types.fits(types_of_[is_dict ? value : key], types[tag].parts[0])) continue;
      tell(SecurityKind::kUnknown, "", "its pickle gives a list or dict a type that its items do not have");
      break;
    }
  }
  for (const Id id : objects) check_object(id, types, classes, set_states, tell);
}

void BytecodePickle::check_object(Id id, BytecodeTypes& types, BytecodeClasses& classes,
                                  const std::map<std::string, BytecodeTypes::Id, std::less<>>& set_states,
                                  const Tell& tell) {
  const std::string name = maker(id);
  const std::string shown = short_line(name);
  const auto refuse = [&](const std::string& why) {
    tell(SecurityKind::kUnknown, shown, "an object of " + shown + " " + why);
  };
  const auto state = states_.find(id);
  if (state == states_.end() || state->second.is_repeated || !items(machine_.parts(id)[1]).empty())
    return refuse("is not made of one state");
  if (is_library_class(name)) return;  // its library makes it, as in any archive of TorchScript
  BytecodeClass& own = classes[name];
  const Id value = state->second.value;
  if (const auto taken = set_states.find(name); taken != set_states.end()) {
    own.has_set_state = true;
    if (!types.fits(types_of_[value], taken->second))
      refuse("has a state that its __setstate__ does not take");
    return;
  }
  if (machine_.value(value).kind != Kind::kDict) return refuse("has a state that is not a dict");
  const auto attributes = std::span(machine_.items(value)).first(state->second.items);
  std::vector<std::string> names;
  std::set<std::string_view> seen;
  for (const auto& [key, item] : attributes) {
    const auto text = find_text(key);
    if (!text || !seen.insert(*text).second)
      return refuse("has attributes whose names are no texts, or equal");
    names.emplace_back(*text);
  }
  if (!own.is_pickled) {
    own.names = names;
    own.slots.assign(names.size(), BytecodeTypes::kAbsent);
    own.is_pickled = true;
  } else if (own.names != names) {
    return refuse("has other attributes than another object of the class");
  }
  for (std::size_t i = 0; i < names.size(); ++i)
    own.slots[i] = types.join(own.slots[i], types_of_[attributes[i].second]);
}

}  // namespace fxtrace::internal::security
