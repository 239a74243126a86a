// The code of a TorchScript archive: classes, interfaces, enums, NamedTuples and functions, found by
// qualified name as in LibTorch's importer.  A file is parsed at the first use of something in it, a function
// is compiled at the first use of its graph.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "torchscript/compiler/schema_match.h"
#include "torchscript/ir/function.h"
#include "torchscript/language/parser.h"
#include "torchscript/language/type_parser.h"
#include "torchscript/language/types.h"
#include "torchscript/operators/operator_table.h"

namespace fxtrace::internal::torchscript {

// The prefix of names of C++ classes: "__torch__.torch.classes.quantized.Conv2dPackedParamsBase".
inline constexpr std::string_view kTorchBindPrefix = "__torch__.torch.classes.";

struct ProgramSource {
  // Returns the text of "code/__torch__/nets.py" for "__torch__.nets"; nothing when the archive has no such
  // file.
  std::function<std::optional<std::string>(const std::string& qualifier)> read_code;
  // Types of the archive's constants: tensors, and objects in a few old archives.
  std::vector<TypePtr> constant_types;
  // The archive's operator version: its operators keep the meaning that they had in this version.
  std::uint64_t operator_version = 0;
};

class ScriptProgram {
 public:
  explicit ScriptProgram(ProgramSource source);
  ~ScriptProgram();
  ScriptProgram(const ScriptProgram&) = delete;
  ScriptProgram& operator=(const ScriptProgram&) = delete;

  // Returns the type "__torch__.nets.Net" with all its attributes; null when there is no such type.  Throws
  // Error(kInput) for code that cannot be compiled.
  TypePtr find_type(const std::string& name);
  // Returns the function "__torch__.nets.helper"; null when there is none.
  Function* find_function(const std::string& name);

  OperatorTable& operators() { return operators_; }
  const std::vector<TypePtr>& constant_types() const { return source_.constant_types; }
  // Sets the types of constants, which may be classes of the program; must precede any compilation.  `texts`
  // are string constants by index, treated like literals.
  void set_constants(std::vector<TypePtr> types, std::unordered_map<std::size_t, std::string> texts) {
    source_.constant_types = std::move(types);
    constant_texts_ = std::move(texts);
  }
  const std::string* find_constant_text(std::size_t index) const;
  std::uint64_t operator_version() const { return source_.operator_version; }

  // Called for an unknown operator, or an unknown method of a class of torch.classes
  // ("__torch__.torch.classes.ns.Name.method"), before an error is reported; it may declare it.
  std::function<void(const std::string& name)> on_unknown;
  // What calls tell of these operators, and of methods that are unknown then; null when such calls are
  // errors.
  UndeclaredCalls* undeclared = nullptr;
  // Declares a method by its schema: "unpack(__torch__.torch.classes.ns.Name self) -> Tensor".  Throws
  // Error(kInput).
  void declare_method(const std::string& class_name, std::string_view schema);
  ResolveClass resolver();

  // A parsed file; find_file() returns null when there is no such file, and throws Error(kInput) at every
  // call for one that cannot be parsed.
  struct CodeFile {
    std::unique_ptr<SyntaxFile> syntax;
    ParsedFile parsed;
  };
  // The statements of a function are freed when it is compiled.
  const CodeFile* find_file(const std::string& qualifier);
  // Parses the file for callers that look at all of its syntax; `syntax` is null when there is no such file.
  CodeFile parse_file(const std::string& qualifier) const;

  // Defines a function by fxtrace's own code ("def f(x: Tensor): ..."), in which names of the archive are not
  // visible.  `name` is the function's name.
  Function* define(const std::string& name, std::string text);

  // An operator's old meaning, in the archive's version: its schema and a function.  find_old_operator()
  // returns null when the meaning has not changed.
  struct OldOperator {
    FunctionSchema schema;
    Function* function = nullptr;
  };
  const OldOperator* find_old_operator(std::string_view name);
  // Returns whether the file is fxtrace's own code, whose operators have today's meaning.
  bool is_own(const SyntaxFile& file) const;

  // Returns the functions of builtins.h, compiled on first use.
  const std::vector<Function*>& builtin_functions(Symbol name);

  // The limit of nested compilations, which calls of functions without declared result types need.
  static constexpr int kMaxCompilations = 40;
  int& open_compilations() { return open_compilations_; }

  // The remaining size of all graphs together (IrGraph::size()); the limit grows with the code read.
  std::size_t size_left() const { return size_left_; }
  void keep_size(std::size_t size) { size_left_ -= std::min(size_left_, size); }

 private:
  struct PendingClass {
    std::shared_ptr<Type> type;
    const Tree* definition = nullptr;
    SyntaxFile* file = nullptr;
  };
  struct FoundDefinition {
    const Tree* tree = nullptr;
    SyntaxFile* file = nullptr;
  };
  FoundDefinition find_definition(const std::string& name);
  TypePtr start_type(const std::string& name, const FoundDefinition& found);
  TypePtr torchbind_class(const std::string& name);
  TypePtr named_tuple(const std::string& name, const FoundDefinition& found);
  TypePtr enumeration(const std::string& name, const FoundDefinition& found);
  void finish_pending();
  void finish_class(ClassType& type, const PendingClass& pending);
  void finish_interface(InterfaceType& type, const PendingClass& pending);
  Function* add_function(std::unique_ptr<Function> function);

  ProgramSource source_;
  std::unordered_map<std::size_t, std::string> constant_texts_;
  OperatorTable operators_;
  std::unordered_map<std::string, CodeFile> files_;  // by qualifier; `syntax` is null when there is no file
  std::unordered_map<std::string, std::exception_ptr> failed_files_;  // their errors, by qualifier
  std::unordered_map<std::string, const Tree*> definitions_;          // by qualified name
  std::unordered_map<std::string, TypePtr> types_;                    // by qualified name, pending ones too
  std::unordered_map<std::string, Function*> functions_by_name_;
  std::vector<std::unique_ptr<Function>> functions_;
  std::vector<std::unique_ptr<SyntaxFile>> own_files_;
  std::unordered_map<Symbol, std::vector<Function*>> builtin_functions_;
  std::map<std::string, OldOperator, std::less<>> old_operators_;
  std::vector<PendingClass> pending_;
  bool is_finishing_ = false;
  int nested_types_ = 0;
  int open_compilations_ = 0;
  static constexpr std::size_t kSizeOfAny = 1'000'000;
  std::size_t size_left_ = kSizeOfAny;
};

}  // namespace fxtrace::internal::torchscript
