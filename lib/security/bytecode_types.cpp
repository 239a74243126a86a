#include "security/bytecode_types.h"

#include <algorithm>
#include <cstddef>
#include <utility>

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

}  // namespace fxtrace::internal::security
