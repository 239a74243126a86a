#include "interpreter/program/provided_operators.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "interpreter/program/convert.h"
#include "operators/operators.h"
#include "support/error.h"
#include "support/text/identifier.h"
#include "support/text/shell_word.h"
#include "torchscript/compiler/builtin_functions.h"

namespace fxtrace::interpreter {
namespace {

// Adds the names after "ops." in the code, as "namespace::name".  Text inside string literals may add names
// that are not operators; if such a name is unknown, it is declared or listed without need.
void find_operators(const std::string& code, std::set<std::string>& found) {
  constexpr std::string_view kPrefix = "ops.";
  for (std::size_t at = code.find(kPrefix); at != std::string::npos; at = code.find(kPrefix, at + 1)) {
    if (at > 0 && (is_word(code[at - 1]) || code[at - 1] == '.')) continue;
    std::size_t end = at + kPrefix.size();
    while (end < code.size() && is_word(code[end])) ++end;
    if (end >= code.size() || code[end] != '.') continue;
    const std::string space = code.substr(at + kPrefix.size(), end - at - kPrefix.size());
    const std::size_t name_begin = ++end;
    while (end < code.size() && is_word(code[end])) ++end;
    if (end >= code.size() || code[end] != '(' || end == name_begin) continue;
    const std::string name = code.substr(name_begin, end - name_begin);
    if (space != "prim") found.insert(space + "::" + name);
  }
}

}  // namespace

std::vector<Diagnostic> provide_operators(TorchScriptArchive& archive, const TraceOptions& options) {
  torchscript::OperatorTable& table = archive.program().operators();
  const torchscript::ResolveClass resolve = archive.program().resolver();
  const auto is_known = [&](const std::string& name) {
    return table.has(torchscript::intern(name)) || !torchscript::builtin_functions(name).empty();
  };
  const CodeFiles code = archive.code();
  for (const std::string& schema : options.registered.schemas) {
    if (schema.starts_with("prim::")) continue;  // operators of the language itself
    if (table.find_schema(schema.substr(0, schema.find('('))) == nullptr) table.declare(schema, resolve);
  }
  for (const auto& [class_name, schema] : options.registered.methods) {
    const auto type = resolve(class_name);
    const auto* bound = type == nullptr ? nullptr : type->as<torchscript::ClassType>();
    if (bound != nullptr && bound->find_method(schema.substr(0, schema.find('('))) == nullptr)
      archive.program().declare_method(class_name, schema);
  }
  bool has_classes = std::ranges::any_of(archive.constant_types(), [](const std::string& type) {
    return type.starts_with(torchscript::kTorchBindPrefix);
  });
  for (const auto& [record, text] : code)
    has_classes = has_classes || text.find(torchscript::kTorchBindPrefix) != std::string::npos;
  for (const auto& schema : options.op_schemas) {
    try {
      if (is_known(torchscript::parse_function_schema(schema, resolve).name)) continue;
      table.declare(schema, resolve);
    } catch (const Error& e) {
      throw usage_error(
          "--op-schema: invalid operator schema " + shell_quoted(schema) + ": " + readable_message(e.what()),
          {"a schema looks like 'pkg::op(Tensor x, int n=1, *, bool flag=False) -> Tensor'"});
    }
  }
  std::set<std::string> called;
  for (const auto& [record, text] : code) find_operators(text, called);
  std::vector<std::string> unknown;
  for (const auto& name : called) {
    const bool is_extension = std::ranges::any_of(
        extension_operators(), [&](const Operator& row) { return row.base_name() == name; });
    if (!is_known(name) && !is_extension) unknown.push_back(name);
  }
  std::vector<Diagnostic> warnings;
  if (unknown.empty() && !has_classes) return warnings;  // calls need not be looked at
  for (const auto& inferred : infer_schemas(archive, unknown)) {
    Diagnostic& warning =
        warnings.emplace_back(inferred.class_name.empty() ? "operator {} is unknown" : "method {} is unknown",
                              std::vector{inferred.name});
    if (inferred.complete) {
      if (inferred.class_name.empty()) {
        table.declare(inferred.schema, resolve);
      } else {
        archive.program().declare_method(inferred.class_name, inferred.schema);
      }
      warning.add("; declared from its calls as {}", {shell_quoted(inferred.schema)});
      continue;
    }
    warning.add(", and its calls do not tell the types of its results");
    const std::string why = warning.text();
    warning.add(": modules that call it fail");
    if (inferred.class_name.empty())
      warning.add("; --op-schema {} with its types or --op-library LIB makes it known",
                  {shell_quoted(inferred.schema)});
    for (const auto& [function, call] : inferred.callers)
      archive.add_not_followed(
          function, {inferred.name, inferred.class_name.empty() ? inferred.schema : "", why, call});
  }
  return warnings;
}

}  // namespace fxtrace::interpreter
