#include "interpreter/program/provided_operators.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "interpreter/program/convert.h"
#include "operators/operators.h"
#include "support/error.h"
#include "support/scope_guard.h"
#include "support/text/did_you_mean.h"
#include "support/text/identifier.h"
#include "torchscript/compiler/builtins.h"
#include "trace/options/option_table.h"

namespace fxtrace::internal::interpreter {
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

// Compiles all functions of a file.  What fails is reported when it is run.
void compile_all(torchscript::ScriptProgram& program, const std::string& record) {
  const auto attempt = [](const auto& step) {
    try {
      step();
    } catch (const Error&) {                        // NOLINT: reported when it is run
    } catch (const torchscript::UndeclaredCall&) {  // NOLINT: noted
    }
  };
  std::string qualifier = record.substr(5, record.size() - 8);  // "code/", ".py"
  std::ranges::replace(qualifier, '/', '.');
  attempt([&] {
    const torchscript::ScriptProgram::CodeFile* file = program.find_file(qualifier);
    if (file == nullptr) return;
    for (const torchscript::Tree* tree : file->parsed.definitions) {
      attempt([&] {
        const std::string name = qualifier + "." + std::string(tree->text);
        const TypePtr type = program.find_type(name);
        if (Function* function = program.find_function(name)) function->graph();
        const auto* as_class = type == nullptr ? nullptr : type->as<ClassType>();
        if (as_class == nullptr) return;
        for (const Function* method : as_class->methods()) attempt([&] { method->graph(); });
        for (const auto* hooks : {&as_class->forward_hooks(), &as_class->forward_pre_hooks()}) {
          for (const auto& hook : *hooks) attempt([&] { hook.function->graph(); });
        }
      });
    }
  });
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
  bool has_classes = std::ranges::any_of(archive.program().constant_types(), [](const auto& type) {
    return type->name().starts_with(torchscript::kTorchBindPrefix);
  });
  for (const auto& [record, text] : code)
    has_classes = has_classes || text.find(torchscript::kTorchBindPrefix) != std::string::npos;
  std::map<std::string, std::string> declared;
  for (const auto& schema : options.op_schemas) {
    const torchscript::FunctionSchema parsed = parse_op_schema(schema, resolve);
    const auto first = declared.try_emplace(parsed.name + "." + parsed.overload_name, schema).first;
    if (first->second != schema)
      throw usage_error("--op-schema: two schemas of one operator: " + shell_quoted(first->second) + " and " +
                        shell_quoted(schema));
    if (!is_known(parsed.name)) table.declare(schema, resolve);
  }
  std::set<std::string> called;
  for (const auto& [record, text] : code) find_operators(text, called);
  torchscript::UndeclaredCalls calls;
  for (const auto& name : called) {
    const bool is_extension = std::ranges::any_of(
        extension_operators(), [&](const Operator& row) { return row.base_name() == name; });
    if (!is_known(name) && !is_extension) calls[name];
  }
  std::vector<Diagnostic> warnings;
  if (calls.empty() && !has_classes) return warnings;  // calls need not be looked at
  archive.program().undeclared = &calls;
  const Restore restore([&] { archive.program().undeclared = nullptr; });
  std::vector<TorchScriptArchive::NotFollowed> unknown;
  const auto provide = [&](const std::string& name, const torchscript::UndeclaredOperator& found) {
    const auto [schema, is_complete] = torchscript::infer_schema(name, found);
    const bool is_method = name.find('.') != std::string::npos;
    Diagnostic& warning = warnings.emplace_back(is_method ? "method {} is unknown" : "operator {} is unknown",
                                                std::vector{name});
    if (is_complete) {
      if (is_method) {
        archive.program().declare_method(name.substr(0, name.rfind('.')), schema);
      } else {
        table.declare(schema, resolve);
      }
      warning.add("; declared from its calls as {}", {shell_quoted(schema)});
      return;
    }
    warning.add(", and its calls do not tell the types of its results");
    const std::string why = warning.text();
    warning.add(": modules that call it fail");
    if (!is_method)
      warning.add("; --op-schema {} with its types or --op-library LIB makes it known",
                  {shell_quoted(schema)});
    unknown.push_back({name, is_method ? "" : schema, why, {}});
  };
  // With what is declared, more calls may be seen.
  constexpr int kMaxTurns = 10;
  std::set<std::string> provided;
  bool is_done = false;
  for (int turn = 0; turn < kMaxTurns && !is_done; ++turn) {
    is_done = true;
    for (const auto& [record, text] : code) compile_all(archive.program(), record);
    for (const auto& [name, found] : calls) {
      if (found.callers.empty() || !provided.insert(name).second) continue;
      provide(name, found);
      is_done = false;
    }
  }
  for (TorchScriptArchive::NotFollowed& each : unknown) {
    for (const auto& [function, call] : calls[each.operator_name].callers) {
      each.call = call;
      archive.add_not_followed(function->qualified_name(), each);
    }
  }
  return warnings;
}

}  // namespace fxtrace::internal::interpreter
