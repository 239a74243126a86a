// Prints the table of operators as JSON, one row per line, for tests that compare it with what operators do.
#include <iostream>
#include <nlohmann/json.hpp>

#include "operators/operators.h"
#include "opinfo/operator_entry.h"
#include "opinfo/traits.h"

namespace {

nlohmann::json name_of(const fxtrace::internal::Operator* op) {
  return op == nullptr ? nlohmann::json() : nlohmann::json(std::string(op->name));
}

const char* name_of(fxtrace::internal::ViewInverse::Form form) {
  using Form = fxtrace::internal::ViewInverse::Form;
  switch (form) {
    case Form::kNone:
      return "none";
    case Form::kChanged:
      return "changed";
    case Form::kChangedRest:
      return "changed_rest";
    case Form::kChangedBase:
      return "changed_base";
    case Form::kBaseChangedRest:
      return "base_changed_rest";
    case Form::kPermutation:
      return "permutation";
    case Form::kSwappedRest:
      return "swapped_rest";
    case Form::kPart:
      return "part";
    case Form::kWindows:
      return "windows";
  }
  return "";
}

}  // namespace

int main() {
  for (const auto& row : fxtrace::internal::registered_operators()) {
    nlohmann::json json{
        {"name", row.name},
        {"target", row.target()},
        {"pure", fxtrace::internal::is_pure(&row)},
        {"may_write", fxtrace::internal::may_write(&row)},
        {"keeps_rank", fxtrace::internal::has_trait(&row, fxtrace::internal::traits::kKeepsRank)},
        {"tensor_method", fxtrace::internal::has_trait(&row, fxtrace::internal::traits::kTensorMethod)},
        {"pointwise", fxtrace::internal::has_trait(&row, fxtrace::internal::traits::kPointwise)},
        {"random", fxtrace::internal::has_trait(&row, fxtrace::internal::traits::kRandom)},
        {"functional", name_of(fxtrace::internal::entry_of(row).twin)},
        {"aliases", nlohmann::json::array()},
        {"writes", nlohmann::json::array()}};
    const fxtrace::internal::Schema schema = row.schema();
    for (const auto& argument : schema.arguments) {
      if (argument.is_written) json["writes"].push_back(argument.name);
    }
    for (const auto& alias : fxtrace::internal::entry_of(row).aliases) {
      json["aliases"].push_back({{"result", alias.result},
                                 {"argument", schema.arguments[alias.argument].name},
                                 {"always", alias.always},
                                 {"may_be_same", alias.may_be_same}});
    }
    const auto inverse = fxtrace::internal::entry_of(row).inverse;
    json["inverse"] = {inverse.target, name_of(inverse.form)};
    std::cout << json.dump() << "\n";
  }
}
