#include "operators/operators.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "support/text/words.h"

namespace fxtrace::internal {
namespace {

using namespace std::string_view_literals;  // NOLINT(google-build-using-namespace): for the lines

struct TraitWord {
  std::string_view word;
  Traits trait;
};
constexpr TraitWord kTraitWords[] = {{"unknown", traits::kKnown},  // of which it lacks the trait
                                     {"side_effect", traits::kSideEffect},
                                     {"random", traits::kRandom},
                                     {"reads_data", traits::kReadsData},
                                     {"shape_from_data", traits::kShapeFromData},
                                     {"changes_shape", traits::kChangesShape},
                                     {"pointwise", traits::kPointwise},
                                     {"reduction", traits::kReduction}};

// Returns the traits that a line of schemas/operators has behind its schema: "random pointwise".
constexpr Traits traits_in(std::string_view words) {
  Traits all = traits::kKnown;
  for_each_word(words, [&](std::string_view word) {
    all ^= std::ranges::find(kTraitWords, word, &TraitWord::word)->trait;
  });
  return all;
}

constexpr Operator kRegistered[] = {
#include "schemas/operators/registered.inc"
};
constexpr Operator kExtensions[] = {
#include "schemas/operators/extensions.inc"
};

static_assert(std::ranges::is_sorted(kExtensions, {}, &Operator::name));

const Operator* find_row(std::string_view name) {
  for (const std::span<const Operator> rows : {registered_operators(), extension_operators()}) {
    const auto row = std::ranges::lower_bound(rows, name, {}, &Operator::name);
    if (row != rows.end() && row->name == name) return &*row;
  }
  return nullptr;
}

// Returns a key that is equal for all variants of an operator: the names and types of its arguments, without
// written keyword-only arguments (out=) and without the options of a new tensor.
std::string signature_key(const Schema& schema, bool with_first_name) {
  static constexpr std::array<std::string_view, 4> kTensorOptions{"dtype", "layout", "device", "pin_memory"};
  const bool has_options = schema.find_argument("layout").has_value();
  std::string key;
  for (const SchemaArgument& argument : schema.arguments) {
    const bool is_option = (has_options || argument.name == "pin_memory") &&
                           std::ranges::find(kTensorOptions, argument.name) != kTensorOptions.end();
    if (argument.keyword_only && (argument.is_written || is_option)) continue;
    if (!key.empty() || with_first_name) key += argument.name;
    for (const SchemaType* type = &argument.type; type != nullptr;
         type = type->parts.empty() ? nullptr : &type->parts.front()) {
      key += "<" + type->name;
    }
    key += argument.keyword_only ? "*," : ",";
  }
  return key;
}

enum class Variant : std::uint8_t { kFunctional, kInPlace, kOut, kMutable };
Variant variant_of(const Operator& op, const Schema& schema) {
  const auto is_out = [](const SchemaArgument& argument) {
    return argument.keyword_only && argument.is_written;
  };
  if (std::any_of(schema.arguments.begin(), schema.arguments.end(), is_out)) return Variant::kOut;
  if (!schema.writes()) return Variant::kFunctional;
  const std::string_view name = op.base_name();
  const bool is_in_place = name.ends_with('_') && schema.arguments.front().is_written;
  return is_in_place ? Variant::kInPlace : Variant::kMutable;  // batch norm's running statistics
}

// Returns the name without the mark of the in-place variant: "aten::add_" -> "aten::add", "aten::__iand__"
// -> "aten::__and__".
std::string without_mark(std::string_view base_name) {
  std::string name(base_name);
  if (const auto magic = name.find("::__i"); magic != std::string::npos && name.ends_with("__")) {
    name.erase(magic + 4, 1);
  } else if (name.ends_with('_')) {
    name.pop_back();
  }
  return name;
}

const Operator* find_functional(const Operator& op, std::string_view base_name) {
  // The first argument of dropout is "input", and that of dropout_ "self".
  for (const bool with_first_name : {true, false}) {
    const std::string key = signature_key(op.schema(), with_first_name);
    for (const Operator& candidate : overloads(base_name)) {
      const Schema schema = candidate.schema();
      if (variant_of(candidate, schema) == Variant::kFunctional &&
          signature_key(schema, with_first_name) == key) {
        return &candidate;
      }
    }
  }
  return nullptr;
}

}  // namespace

std::string_view Operator::overload() const {
  const std::size_t dot = name.find('.');
  return dot == std::string_view::npos ? std::string_view() : name.substr(dot + 1);
}

std::string Operator::target() const {
  std::string text(base_name());
  text.replace(text.find("::"), 2, ".");
  return text + "." + std::string(overload().empty() ? "default" : overload());
}

const Operator* find_operator(std::string_view base_name, std::string_view overload) {
  if (overload.empty()) return find_row(base_name);
  return find_row(std::string(base_name).append(".").append(overload));
}

const Operator* find_operator(const TargetParts& target) {
  if (target.kind != TargetKind::kOperator) return nullptr;
  return find_operator(target.base_name(),
                       target.overload == "default" ? std::string_view() : target.overload);
}

std::span<const Operator> overloads(std::string_view base_name) {
  for (const std::span<const Operator> rows : {registered_operators(), extension_operators()}) {
    // "aten::add", then all "aten::add.", with nothing but those between them in byte order.
    const auto begin = std::ranges::lower_bound(rows, base_name, {}, &Operator::name);
    const auto end =
        std::find_if(begin, rows.end(), [&](const Operator& op) { return op.base_name() != base_name; });
    if (begin != end) return {begin, end};
  }
  return {};
}

std::span<const Operator> registered_operators() { return kRegistered; }
std::span<const Operator> extension_operators() { return kExtensions; }

const Operator* functional_twin(const Operator& op) {
  const Variant own = variant_of(op, op.schema());
  if (own == Variant::kFunctional) return &op;
  const std::string base(op.base_name());
  const std::string plain = own == Variant::kInPlace ? without_mark(base) : base;
  const Operator* found = find_functional(op, plain);
  return found != nullptr
             ? found
             : find_functional(op, plain + "_functional");  // a few operators are named so: normal_
}

}  // namespace fxtrace::internal
