#include "interpreter/evaluate/evaluator_part.h"

#include <set>
#include <vector>

#include "support/text/unicode.h"

namespace fxtrace::internal::interpreter {
namespace {

// Returns " (batch > 1, with batch in 0..)"; empty when the value is neither a comparison of sizes nor a
// size.
std::string explained(const Value& value, const ShapeEnv& dimensions) {
  const AbstractValue& known = known_of(value);
  std::string text;
  std::vector<SymInt> parts;
  if (const auto* condition = std::get_if<Condition>(&known.value)) {
    text = condition->left.text() + " " + to_string(condition->relation) + " " + condition->right.text();
    parts = {condition->left, condition->right};
  } else if (const SymInt* integer = known.integer()) {
    text = integer->text();
    parts = {*integer};
  } else {
    return "";
  }
  constexpr std::size_t kMaxText = 160;
  constexpr std::size_t kMaxRanges = 8;
  std::string ranges;
  std::set<std::string> told;
  for (const SymInt& part : parts) {
    for (const std::string& name : part.symbols()) {
      if (!told.insert(name).second || told.size() > kMaxRanges) continue;
      ranges += (ranges.empty() ? ", with " : ", ") + name + " in " + to_string(dimensions.range(name));
    }
  }
  if (told.size() > kMaxRanges) ranges += " and " + std::to_string(told.size() - kMaxRanges) + " more";
  return " (" + cut(text, kMaxText) + ranges + ")";
}

}  // namespace

void EvaluatorPart::fail(const std::string& what, const Value& value, const IrNode* node) const {
  frames_.fail(FailureKind::kDataDependentControlFlow,
               what + " depends on " + recorder_.what_decides(value) + ": " + recorder_.describe(value) +
                   explained(value, state_.dimensions),
               node);
}

}  // namespace fxtrace::internal::interpreter
