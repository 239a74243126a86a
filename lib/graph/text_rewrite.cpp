#include "graph/text_rewrite.h"

#include <algorithm>
#include <stdexcept>

#include "support/text/words.h"

namespace fxtrace::internal {
namespace {

using Kind = Expression::Kind;
using Values = std::vector<Argument>;

Expression parsed(std::string_view text) {
  Expression value = Expression::parse(text);
  if (value.kind() == Kind::kVerbatim) throw std::logic_error("no text of a rewrite: " + std::string(text));
  return value;
}

bool is_variable(const Expression& text) { return text.size() != nullptr && !text.number(); }

// Returns the plain value that the text is; nothing for others.
std::optional<Argument> literal(const Expression& text) {
  if (const auto number = text.number()) return *number;
  switch (text.kind()) {
    case Kind::kFloat:
      return text.floating();
    case Kind::kNegative:
      return -text.parts()[0].floating();
    case Kind::kConstant:
      return text.name() == "None" ? Argument() : Argument(text.name() == "True");
    case Kind::kText:
      return text.name();
    case Kind::kCall:
      if (text.parts()[0].text() == "dtype") return Argument::Dtype{text.parts()[1].name()};
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

// Returns the target with its overload.
std::string whole(const std::string& target) {
  const bool is_whole = parse_target(target).kind == TargetKind::kOperator;
  const bool has_overload = is_whole || parse_target(target + ".default").kind != TargetKind::kOperator;
  return has_overload ? target : target + ".default";
}

struct Match {
  const TextLookup& lookup;
  TextVariables variables = {};

  bool call(const Expression& text, const Values& args, const Kwargs& kwargs) {
    const auto& parts = text.parts();  // behind the target
    const bool takes_more = parts.back().text() == "_";
    if (args.size() >= parts.size() && !takes_more) return false;
    for (std::size_t i = 0; i + 1 < parts.size() - (takes_more ? 1 : 0); ++i) {
      std::string name = parts[i + 1].kind() == Kind::kKeyword ? parts[i + 1].name() : parts[i + 1].text();
      if (name.ends_with('_')) name.pop_back();
      const auto named = std::ranges::find(kwargs, name, &Kwargs::value_type::first);
      if (i >= args.size() && named == kwargs.end()
              ? !may_be_left_out(parts[i + 1])
              : !argument(parts[i + 1], i < args.size() ? args[i] : named->second))
        return false;
    }
    return true;
  }

  static bool may_be_left_out(const Expression& text) {
    return is_variable(text) || (text.kind() == Kind::kKeyword && !is_variable(text.parts()[0]));
  }

  bool argument(const Expression& text, const Argument& given) {
    if (text.kind() == Kind::kKeyword && is_variable(text.parts()[0])) {
      variables.emplace(text.name(), given);
      return lookup.is_of(given, text.parts()[0].text());
    }
    if (is_variable(text)) return variables.emplace(text.text(), given).first->second == given;
    if (const auto value = literal(text.kind() == Kind::kKeyword ? text.parts()[0] : text))
      return given == *value;
    const auto* id = given.get_if<NodeId>();
    if (id == nullptr || text.kind() != Kind::kCall) return false;
    const Node& made = lookup.node(*id);
    return made.target == whole(text.parts()[0].text()) && call(text, made.args, made.kwargs);
  }
};

std::optional<Argument> made(const Expression& text, const TextVariables& variables,
                             const TextReplacement::Make& make, bool is_last) {
  if (auto value = literal(text)) return value;
  const auto is_unbound = [&](const Expression& part) {
    return is_variable(part) && !variables.contains(part.text());
  };
  if (is_variable(text)) return is_unbound(text) ? Argument() : variables.find(text.text())->second;
  const bool is_call = text.kind() == Kind::kCall;
  Values values;
  Kwargs kwargs;
  for (std::size_t i = is_call ? 1 : 0; i < text.parts().size(); ++i) {
    const Expression& part = text.parts()[i];
    const bool is_named = part.kind() == Kind::kKeyword;
    auto value = made(is_named ? part.parts()[0] : part, variables, make, false);
    if (!value) return std::nullopt;
    if (is_named)
      kwargs.emplace_back(part.name(), *std::move(value));
    else
      values.push_back(*std::move(value));
  }
  if (text.kind() == Kind::kList) return Argument::List{std::move(values)};
  if (!is_call) return Argument::Tuple{std::move(values)};
  while (!values.empty() && kwargs.empty() && is_unbound(text.parts()[values.size()])) values.pop_back();
  return make(whole(text.parts()[0].text()), std::move(values), std::move(kwargs), is_last);
}

}  // namespace

TextPattern::TextPattern(std::string_view before) {
  const std::size_t open = std::min(before.find('('), before.size());
  std::string space;
  for_each_word(before.substr(0, open), [&](std::string_view word) {
    if (word.ends_with(':'))
      space = std::string(word.substr(0, word.size() - 1)) + ".";
    else
      targets_.push_back(whole(space + std::string(word)));
  });
  call_ = parsed("before" + std::string(before.substr(open)));
}

std::optional<TextVariables> TextPattern::match(std::string_view target, const Values& args,
                                                const Kwargs& kwargs, const TextLookup& lookup) const {
  Match found{lookup};
  const bool is_target = std::ranges::find(targets_, target) != targets_.end();
  return is_target && found.call(call_, args, kwargs) ? std::optional(std::move(found.variables))
                                                      : std::nullopt;
}

TextReplacement::TextReplacement(std::string_view after) {
  while (!after.empty()) {
    const std::string_view step = after.substr(0, after.find("; "));
    after.remove_prefix(std::min(step.size() + 2, after.size()));
    const std::size_t equal = step.find(" = ");
    const bool is_named = equal != std::string_view::npos;
    steps_.emplace_back(is_named ? step.substr(0, equal) : "", parsed(step.substr(is_named ? equal + 3 : 0)));
  }
}

std::optional<Argument> TextReplacement::make(TextVariables variables, const Make& make) const {
  std::optional<Argument> result;
  for (const auto& [name, text] : steps_) {
    result = made(text, variables, make, name.empty());
    if (!result) return std::nullopt;
    if (!name.empty()) variables.insert_or_assign(name, *result);
  }
  return result;
}

}  // namespace fxtrace::internal
