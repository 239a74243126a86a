// Fuzz target: the compiler of TorchScript code.
#include "tests/forms/ir_check.h"
#include "tests/forms/ir_text.h"
#include "tests/fuzz/targets.h"
#include "torchscript/compiler/script_program.h"
#include "torchscript/language/type_relations.h"

namespace fxtrace::internal::fuzz {

// Compiles all functions and methods of the code file "__torch__" of an archive.
void script(std::string_view input) {
  using namespace fxtrace::internal::torchscript;       // NOLINT: this function is its tests
  using fxtrace::internal::torchscript::ScriptProgram;  // the tracer has a class of that name too
  ProgramSource source;
  source.read_code = [&](const std::string& qualifier) -> std::optional<std::string> {
    if (qualifier != "__torch__") return std::nullopt;
    return std::string(input);
  };
  source.constant_types = {tensor_type(), tensor_type()};
  source.operator_version = input.size() % 11;
  ScriptProgram program(std::move(source));
  const auto compile = [](const Function& function) {
    accepts([&] {
      const IrGraph& graph = function.graph();
      if (const auto flaw = find_flaw(graph)) require(false, *flaw);
      require(!to_text(graph).empty(), "a graph has a text");
      require(!to_text(function.schema()).empty(), "a function has a schema");
    });
  };
  const ScriptProgram::CodeFile* file = nullptr;
  if (!accepts([&] { file = program.find_file("__torch__"); }) || file == nullptr) return;
  for (const Tree* definition : file->parsed.definitions) {
    const std::string name = "__torch__." + std::string(definition->text);
    accepts([&] {
      if (const Function* function = program.find_function(name)) compile(*function);
      const TypePtr type = program.find_type(name);
      if (type == nullptr) return;
      require(!type->str().empty() && *type == *type, "a type is itself");
      if (const auto* as_class = type->as<ClassType>()) {
        for (const Function* method : as_class->methods()) compile(*method);
      }
    });
  }
}

}  // namespace fxtrace::internal::fuzz
