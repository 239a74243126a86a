#include "security/bytecode_objects.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>

#include "support/text/unicode.h"

namespace fxtrace::internal::security {
namespace {

using Id = BytecodeTypes::Id;
using Form = BytecodeTypes::Form;

constexpr std::string_view kLibraryClass = "__torch__.torch.classes";

// Returns whether a part of the type is a type variable.
bool has_variable(const SchemaType& type) {
  return type.is_variable() || std::ranges::any_of(type.parts, has_variable);
}

// Reads types as c10::TypeParser does.  What that refuses is opaque here: the archive is not loaded then.
class TypeReader {
 public:
  TypeReader(BytecodeTypes& types, std::string_view text) : types_(types), rest_(text) {}

  WrittenType read() {
    if (rest_.starts_with(kLibraryClass)) return {types_.object(rest_)};
    WrittenType result;
    result.id = type(0);
    if (!rest_.empty()) is_refused_ = true;
    if (is_refused_) result.id = BytecodeTypes::kOpaque;
    result.is_named_tuple = is_named_tuple_;
    result.is_hostile = is_hostile_;
    return result;
  }

 private:
  Id type(int depth) {
    constexpr int kMaxDepth = 100;
    if (depth > kMaxDepth) is_hostile_ = true;
    if (is_hostile_ || is_refused_) return BytecodeTypes::kOpaque;
    const std::string_view name = word();
    if (name == "List" || name == "Optional") {
      expect('[');
      const Id part = type(depth + 1);
      expect(']');
      return name == "List" ? types_.list(part) : part;
    }
    if (name == "Dict") {
      expect('[');
      type(depth + 1);
      expect(',');
      const Id part = type(depth + 1);
      expect(']');
      return types_.dict(part);
    }
    if (name == "Tuple") {
      std::vector<Id> parts;
      expect('[');
      while (!accept(']') && !is_refused_) {
        parts.push_back(type(depth + 1));
        if (!rest_.starts_with(']')) expect(',');
      }
      return types_.tuple(std::move(parts));
    }
    // The parser gives no type for a union, nor for a class that no library has registered.
    if (name == "Union" || name.starts_with(kLibraryClass)) is_hostile_ = true;
    if (name.starts_with("__torch__.")) {
      if (accept('[')) return named_tuple(depth);
      return types_.object(name);
    }
    if (name.empty() || rest_.starts_with('[')) is_refused_ = true;
    return BytecodeTypes::kOpaque;
  }

  // The rest of "__torch__.Point[NamedTuple, [[x, int],[y, int]]]".
  Id named_tuple(int depth) {
    if (word() != "NamedTuple") is_refused_ = true;
    expect(',');
    expect('[');
    std::vector<Id> parts;
    while (!accept(']') && !is_refused_) {
      expect('[');
      word();
      expect(',');
      parts.push_back(type(depth + 1));
      expect(']');
      accept(',');
    }
    expect(']');
    is_named_tuple_ = depth == 0;
    return types_.tuple(std::move(parts));
  }

  std::string_view word() {
    skip();
    const std::string_view found = rest_.substr(0, rest_.find_first_of("[], "));
    rest_.remove_prefix(found.size());
    skip();
    return found;
  }
  void skip() { rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size())); }
  bool accept(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    skip();
    return true;
  }
  void expect(char c) {
    if (!accept(c)) is_refused_ = true;
  }

  BytecodeTypes& types_;
  std::string_view rest_;
  bool is_refused_ = false, is_hostile_ = false, is_named_tuple_ = false;
};

}  // namespace

BytecodeTypes::BytecodeTypes() {
  for (const Form form : {Form::kAbsent, Form::kOpaque, Form::kPartial}) make(form);
}

Id BytecodeTypes::make(Form form, std::vector<Id> parts, std::string_view name) {
  constexpr int kMaxDepth = 32;
  constexpr std::size_t kMaxTypes = 1'000'000, kMaxParts = 16'000'000;
  auto key = std::tuple(form, std::move(parts), std::string(name));
  if (const auto found = ids_.find(key); found != ids_.end()) return found->second;
  Type type{form, std::get<1>(key), std::get<2>(key)};
  for (const Id part : type.parts) type.depth = std::max(type.depth, types_[part].depth + 1);
  parts_ += type.parts.size();
  if (type.depth > kMaxDepth || types_.size() > kMaxTypes || parts_ > kMaxParts) return kOpaque;
  types_.push_back(std::move(type));
  return ids_.emplace(std::move(key), static_cast<Id>(types_.size() - 1)).first->second;
}

Id BytecodeTypes::join(Id a, Id b) {
  if (a == b || b == kAbsent) return a;
  if (a == kAbsent) return b;
  if (!is(a, Form::kTuple) || !is(b, Form::kTuple) || types_[a].parts.size() != types_[b].parts.size())
    return kOpaque;
  if (const auto found = joins_.find({a, b}); found != joins_.end()) return found->second;
  std::vector<Id> parts = types_[a].parts;
  for (std::size_t i = 0; i < parts.size(); ++i) parts[i] = join(parts[i], types_[b].parts[i]);
  return joins_[{a, b}] = tuple(std::move(parts));
}

bool BytecodeTypes::fits(Id a, Id b) {
  if (a == b || a == kAbsent) return true;
  if (b == kOpaque) return a != kPartial;
  if (!is(a, Form::kTuple) || !is(b, Form::kTuple)) return false;
  if (const auto found = fits_of_.find({a, b}); found != fits_of_.end()) return found->second;
  return fits_of_[{a, b}] = std::ranges::equal(types_[a].parts, types_[b].parts,
                                               [this](Id first, Id second) { return fits(first, second); });
}

bool BytecodeTypes::CallTypes::give(const SchemaArgument& formal, Id actual) {
  if (actual == kPartial) return false;
  // What is not known to be a list may be one that holds anything.
  const SchemaType& type = formal.type.required();
  const bool adds = is_strict_ && formal.is_written && has_variable(type);
  if (adds && actual != kAbsent && !types_.is(actual, Form::kList) && !types_.is(actual, Form::kDict))
    return false;
  return match(type, actual, false);
}

bool BytecodeTypes::CallTypes::match(const SchemaType& formal, Id actual, bool is_item) {
  const SchemaType& type = formal.required();
  if (type.is_variable()) return bind(type.name, actual, is_item);
  const auto item = [&](Form form) {
    if (actual == kAbsent) return kAbsent;
    return types_.is(actual, form) ? types_[actual].parts[0] : kOpaque;
  };
  if (type.is_list()) return match(type.parts[0], item(Form::kList), true);
  if (type.name == "Dict" && type.parts.size() == 2) return match(type.parts[1], item(Form::kDict), true);
  if (type.name == "Tuple") {
    const auto parts = types_[actual].parts;
    const bool is_known = types_.is(actual, Form::kTuple) && parts.size() == type.parts.size();
    for (std::size_t i = 0; i < type.parts.size(); ++i) {
      const Id part = is_known ? parts[i] : actual == kAbsent ? kAbsent : kOpaque;
      if (!match(type.parts[i], part, is_item)) return false;
    }
  }
  return true;
}

bool BytecodeTypes::CallTypes::bind(const std::string& variable, Id actual, bool is_item) {
  const auto [place, is_new] = variables_.emplace(variable, actual);
  Id& bound = place->second;
  if (is_new || bound == actual || actual == kAbsent) return true;
  if (bound == kAbsent) {
    bound = actual;
  } else if (is_item || !types_.fits(actual, bound)) {
    if (is_strict_) return false;
    bound = kOpaque;
  }
  return true;
}

Id BytecodeTypes::CallTypes::result(const SchemaType& formal) {
  const SchemaType& type = formal.required();
  if (type.is_variable()) {
    const auto found = variables_.find(type.name);
    return found == variables_.end() ? kOpaque : found->second;
  }
  if (type.is_list()) return types_.list(result(type.parts[0]));
  if (type.name == "Dict" && type.parts.size() == 2) return types_.dict(result(type.parts[1]));
  if (type.name.starts_with(kLibraryClass)) return types_.object(type.name);
  if (type.name != "Tuple") return kOpaque;
  std::vector<Id> parts;
  for (const SchemaType& part : type.parts) parts.push_back(result(part));
  return types_.tuple(std::move(parts));
}

WrittenType read_type(BytecodeTypes& types, std::string_view text) { return TypeReader(types, text).read(); }

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
