#include "writers/graphs/fx_guards.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "operators/operators.h"
#include "shapes/tensor_options.h"
#include "support/text/words.h"
#include "writers/formats/python_text.h"

namespace fxtrace::internal {
namespace {

using ExpressionKind = Expression::Kind;
using GuardNames = std::map<std::string, std::string>;

constexpr int kDeepest = 30;  // the deepest nesting; Python's parser takes more

constexpr std::array<std::string_view, 9> kMethods{
    "dim", "is_complex", "is_contiguous", "is_floating_point", "item", "numel", "size", "sum", "stride"};
constexpr std::array<std::string_view, 7> kAttributes{"device", "dtype",         "is_cuda", "is_meta",
                                                      "ndim",   "requires_grad", "shape"};

// Returns whether a call of torch asks for the state of the process: it takes nothing and gives a bool.
bool is_process_question(const Expression& value) {
  constexpr std::string_view kTorch = "torch.";
  if (value.kind() != ExpressionKind::kCall || value.parts().size() != 1) return false;
  const std::string function = value.parts()[0].text();
  if (!function.starts_with(kTorch)) return false;
  const Operator* op = find_operator("aten::" + function.substr(kTorch.size()), "");
  return op != nullptr && op->signature == "() -> bool";
}

bool is_type_question(const Expression& value) {
  constexpr std::array<std::string_view, 3> kTypes{"bool", "float", "int"};
  return value.kind() == ExpressionKind::kCall && value.parts().size() == 3 &&
         value.parts()[0].text() == "isinstance" &&
         std::ranges::find(kTypes, value.parts()[2].text()) != kTypes.end();
}

// Writes one guard.  An expression that cannot be written sets `fails_`.
class GuardText {
 public:
  explicit GuardText(const GuardNames& names) : names_(names) {}

  // Returns the text without parentheses around it; nothing when the guard cannot be written.
  std::optional<std::string> write(const Expression& guard) {
    std::string text = print(guard, 0);
    return fails_ ? std::nullopt : std::optional(std::move(text));
  }

 private:
  std::string fail() {
    fails_ = true;
    return {};
  }

  std::string name(const std::string& text) {
    const auto found = names_.find(text);
    return found == names_.end() ? fail() : found->second;
  }

  static bool is_dtype(std::string_view text) {
    constexpr std::string_view kTorch = "torch.";
    return text.starts_with(kTorch) && find_scalar_type(text.substr(kTorch.size())).has_value();
  }

  std::string sequence(const Expression& value, std::string_view open, std::string_view close, int depth) {
    std::string text(open);
    for (const Expression& part : value.parts())
      text += (text.size() > 1 ? ", " : "") + print(part, depth + 1);
    if (value.kind() == ExpressionKind::kTuple && value.parts().size() == 1) text += ',';
    return text + std::string(close);
  }

  static std::string enclosed(const std::string& text, int depth) {
    return depth == 0 ? text : "(" + text + ")";
  }

  std::string among(const std::vector<Expression>& parts, std::string_view separator, int depth) {
    return enclosed(
        joined(parts, [&](const Expression& part) { return print(part, depth + 1); }, separator), depth);
  }

  // Writes a method of a tensor; torch.device(...); len(...) and list(...) of an input with parts.
  std::string call(const Expression& value, int depth) {
    const Expression& function = value.parts()[0];
    if (is_process_question(value)) return function.text() + "()";
    if (is_type_question(value))
      return "isinstance(" + print(value.parts()[1], depth + 1) + ", " + value.parts()[2].text() + ")";
    if (function.text() == "torch.device" && value.parts().size() == 2 &&
        value.parts()[1].kind() == ExpressionKind::kText) {
      return "torch.device(" + print(value.parts()[1], depth + 1) + ")";
    }
    const bool is_of_parts =
        function.text() == "len" || function.text() == "list" || function.text() == "sorted";
    if (is_of_parts && value.parts().size() == 2)
      return function.text() + "(" + print(value.parts()[1], depth + 1) + ")";
    if (function.kind() != ExpressionKind::kAttribute ||
        std::ranges::find(kMethods, function.name()) == kMethods.end()) {
      return fail();
    }
    std::string text = print(function.parts()[0], depth + 1) + "." + function.name() + "(";
    for (std::size_t i = 1; i < value.parts().size(); ++i) {
      if (value.parts()[i].kind() == ExpressionKind::kKeyword) return fail();
      text += (i > 1 ? ", " : "") + print(value.parts()[i], depth + 1);
    }
    return text + ")";
  }

  std::string attribute(const Expression& value, int depth) {
    const Expression& holder = value.parts()[0];
    const bool is_of_device = holder.kind() == ExpressionKind::kAttribute && holder.name() == "device" &&
                              (value.name() == "type" || value.name() == "index");
    if (!is_of_device && std::ranges::find(kAttributes, value.name()) == kAttributes.end()) return fail();
    return print(holder, depth + 1) + "." + value.name();
  }

  std::string print(const Expression& value, int depth) {
    if (fails_ || depth > kDeepest) return fail();
    switch (value.kind()) {
      case ExpressionKind::kSize: {
        if (const auto symbol = value.size()->symbol_name()) return name(*symbol);
        if (value.number()) return value.text();
        for (const std::string& symbol : value.size()->symbols()) {
          if (name(symbol) != symbol) return fail();
        }
        return enclosed(value.text(), depth);
      }
      case ExpressionKind::kFloat:
        return value.text();
      case ExpressionKind::kConstant:
        return value.name();
      case ExpressionKind::kText:
        return python_string(value.name());
      case ExpressionKind::kNegative:
        return enclosed("-" + print(value.parts()[0], depth + 1), depth);
      case ExpressionKind::kNot:
        return enclosed("not " + print(value.parts()[0], depth + 1), depth);
      case ExpressionKind::kBinary:
      case ExpressionKind::kComparison:
        return among(value.parts(), " " + value.name() + " ", depth);
      case ExpressionKind::kAnd:
        return among(value.parts(), " and ", depth);
      case ExpressionKind::kOr:
        return among(value.parts(), " or ", depth);
      case ExpressionKind::kList:
        return sequence(value, "[", "]", depth);
      case ExpressionKind::kTuple:
        return sequence(value, "(", ")", depth);
      case ExpressionKind::kItem:
        return print(value.parts()[0], depth + 1) + "[" + print(value.parts()[1], depth + 1) + "]";
      case ExpressionKind::kCall:
        return call(value, depth);
      case ExpressionKind::kAttribute:
        return is_dtype(value.text()) ? value.text() : attribute(value, depth);
      case ExpressionKind::kVerbatim:
        return is_dtype(value.name()) ? value.name() : name(value.name());
      case ExpressionKind::kKeyword:
      case ExpressionKind::kSlice:
      case ExpressionKind::kDict:
      case ExpressionKind::kBinding:
        return fail();
    }
    return fail();
  }

  const GuardNames& names_;
  bool fails_ = false;
};

}  // namespace

std::optional<std::string> python_guard(const Expression& guard,
                                        const std::map<std::string, std::string>& names) {
  return GuardText(names).write(guard);
}

Expression as_torch_checks(const Guard& guard) {
  if (guard.reason != GuardReason::kExported) return guard.expr;
  std::vector<Expression> kept;
  const bool is_range = guard.expr.kind() == Expression::Kind::kAnd;
  for (const Expression& part : is_range ? guard.expr.parts() : std::vector{guard.expr}) {
    const auto relation = part.relation();
    const bool is_least = (relation == Relation::kGreaterEqual && part.parts()[1].number() == 2) ||
                          (relation == Relation::kLessEqual && part.parts()[0].number() == 2);
    if (!is_least) kept.push_back(part);
  }
  return Expression::all(std::move(kept));
}

bool is_checked_in_forward(const Expression& guard) {
  const Expression& question = guard.kind() == ExpressionKind::kNot ? guard.parts()[0] : guard;
  return is_process_question(question) || is_type_question(question);
}

}  // namespace fxtrace::internal
