// Fuzz target: the security checks.
#include <string>

#include "exported/format/evaluated_text.h"
#include "exported/format/inert_texts.h"
#include "security/code_check.h"
#include "security/pickle_check.h"
#include "support/json_document.h"
#include "tests/fuzz/targets.h"

namespace fxtrace::internal::fuzz {
namespace {

// Characters that occur neither in arithmetic nor in quoted names.
bool has_more_than_arithmetic(std::string_view text) {
  return text.find_first_of(":;{}\\@`~$?\r\n") != std::string_view::npos;
}

}  // namespace

// Runs the readers of check --security: on a pickle, a size, a guard, a tree, the JSON of a program.
void security(std::string_view input) {
  std::size_t told = 0;
  const security::Tell tell = [&](SecurityKind kind, const std::string&, const std::string& message) {
    require(!message.empty(), "an offence says what it is");
    if (kind != SecurityKind::kLibrary) ++told;
  };
  const auto reading = security::check_pickle(input, 0, security::Unpickler::kTorch, tell);
  require(reading.is_whole || told > 0, "a pickle that has no end is an offence");
  require(reading.end <= input.size(), "a pickle ends in its bytes");
  security::check_pickle(input, 0, security::Unpickler::kLibTorch, tell);
  security::check_pickle_file(input, input.size(), tell);
  security::check_as_pickle(input, input.size(), true, tell);

  if (!problem_of_size_text(input)) require(!has_more_than_arithmetic(input), "a size is arithmetic");
  static_cast<void>(problem_of_guard_text(input));
  static_cast<void>(problem_of_tree_text(input, true));
  static_cast<void>(problem_of_target_text(input));
  static_cast<void>(problem_of_example_inputs(input));
  security::check_reach(input, tell);
  accepts([&] {
    const JsonDocument document(input, "program");
    security::check_program(document.root(), tell);
    security::read_payloads(document.root(), tell);
  });
}

}  // namespace fxtrace::internal::fuzz
