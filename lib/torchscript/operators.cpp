#include "torchscript/operators.h"

#include <ATen/cpu/Utils.h>
#include <dlfcn.h>
#include <torch/csrc/jit/frontend/function_schema_parser.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <algorithm>
#include <set>
#include <utility>

#include "operators/operators.h"
#include "support/error.h"
#include "support/identifier.h"
#include "torchscript/convert.h"
#include "torchscript/custom_classes.h"
#include "torchscript/plain_operators.h"

namespace fxtrace {
namespace {

bool is_known(const std::string& name) {
  return !torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(name)).empty();
}

// Names after "ops." in the code, as "namespace::name".  Text inside string literals may add names that are
// no operators: they only matter when they are unknown and are then declared or listed in vain.
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

// Puts a note in the place of the function's body.
void take_out(const Caller& caller, const std::string& name, const std::string& why, CodeEdits& edits) {
  std::string text = caller.indentation + "ops.fxtrace.not_followed(\"" + name + "\", \"" + why + "\")\n";
  const bool nothing = caller.result.find_first_not_of(' ') == std::string::npos ||
                       caller.result.find(" None") != std::string::npos;
  text +=
      caller.indentation + (nothing ? "return None" : "return uninitialized(" + caller.result + ")") + "\n";
  edits.replace(caller.record, caller.begin, caller.end, std::move(text), caller.call);
}

}  // namespace

void load_operator_libraries(const TraceOptions& options) {
  at::cpu::is_avx512_vnni_supported();  // reads what processor this is, which cannot be read later
  for (const auto& library : options.op_libraries) {
    if (::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) {
      const char* why = ::dlerror();
      throw usage_error("--op-library: cannot load " + library + ": " + (why == nullptr ? "" : why));
    }
  }
  guard_operators();
}

std::vector<std::string> provide_operators(const ArchiveCode& code, const TraceOptions& options,
                                           CodeEdits& edits, Declarations& declarations) {
  guard_operators();
  bool has_classes = std::any_of(code.constant_types.begin(), code.constant_types.end(), is_declared_class);
  for (const auto& [record, text] : code.files) has_classes = declare_classes(text) || has_classes;
  for (const auto& schema : options.op_schemas) {
    try {
      const std::string name = torch::jit::parseSchema(schema).name();
      if (is_known(name)) continue;
      declarations.declare(schema);
    } catch (const std::exception& e) {
      throw usage_error(
          "--op-schema: invalid operator schema '" + schema + "': " + readable_message(e.what()),
          {"a schema looks like 'pkg::op(Tensor x, int n=1, *, bool flag=False) -> Tensor'"});
    }
  }
  std::set<std::string> called;
  for (const auto& [record, text] : code.files) find_operators(text, called);
  std::vector<std::string> unknown;
  for (const auto& name : called) {
    if (is_known(name)) continue;
    const auto extension = std::ranges::find(extension_operators(), name, &Operator::name);
    if (extension == extension_operators().end()) {
      unknown.push_back(name);
      continue;
    }
    const std::string schema = std::string(extension->name).append(extension->signature);
    declare_classes(schema);
    declarations.declare(schema);
  }
  std::vector<std::string> warnings;
  if (unknown.empty() && !has_classes) return warnings;  // calls need not be looked at
  for (const auto& inferred : infer_schemas(code, unknown)) {
    const std::string what = (inferred.class_name.empty() ? "operator " : "method ") + inferred.name;
    if (inferred.complete) {
      if (inferred.class_name.empty()) {
        declarations.declare(inferred.schema);
      } else {
        declarations.declare_method(inferred.class_name, inferred.schema);
      }
      warnings.push_back(what + " is unknown; declared from its calls as '" + inferred.schema + "'");
      continue;
    }
    const std::string why = what + " is unknown, and its calls do not tell what it gives";
    warnings.push_back(
        why + ": modules that call it fail" +
        (inferred.class_name.empty()
             ? "; --op-schema '" + inferred.schema + "' with its types or --op-library LIB makes it known"
             : ""));
    if (!is_known(kNotFollowed)) declarations.declare(std::string(kNotFollowed) + "(str op, str why) -> ()");
    for (const Caller& caller : inferred.callers) take_out(caller, inferred.name, why, edits);
  }
  return warnings;
}

}  // namespace fxtrace
