// Prints what lib/opinfo knows about calls: shapes, values, answers without a node, multiply-accumulates.
//   shape_calls 'glu(float32[n,8], 1)' ...   everything, for one who writes a rule
//   shape_calls                              answers each line of stdin with its shapes (test_shape_rules.py)
//   shape_calls --signatures                 lists the overloads whose row has a signature: "aten::mm mk * kn
//   -> mn"
// Calls are written as described in tests/fuzz/call_text.h; for anything else the answer is "error: " and the
// reason.
#include <exception>
#include <iostream>
#include <string>
#include <string_view>

#include "opinfo/operator_row.h"
#include "tests/fuzz/call_text.h"

namespace {

template <class Question>
std::string answer(const Question& question, std::string_view call) {
  try {
    return question(call);
  } catch (const std::exception& error) {
    return std::string("error: ") + error.what();
  }
}

void print_signatures() {
  for (const fxtrace::internal::Operator& op : fxtrace::internal::registered_operators()) {
    const std::string_view signature = fxtrace::internal::facts_of(op.base_name()).signature;
    if (!signature.empty() && fxtrace::internal::functional_twin(op) == &op)
      std::cout << op.name << ' ' << signature << '\n';
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  for (int i = 1; i < argc; ++i) {
    if (argv[i] == std::string_view("--signatures")) {
      print_signatures();
      continue;
    }
    std::cout << argv[i] << "\n  shape  " << answer(fxtrace::internal::shapes_of, argv[i]) << "\n  value  "
              << answer(fxtrace::internal::values_of, argv[i]) << "\n  answer "
              << answer(fxtrace::internal::answer_of, argv[i]) << "\n  macs   "
              << answer(fxtrace::internal::macs_of, argv[i]) << '\n';
  }
  std::string line;
  while (argc == 1 && std::getline(std::cin, line))
    std::cout << answer(fxtrace::internal::shapes_of, line) << '\n';
  return 0;
}
