// The code of a TorchScript archive: its classes, interfaces, enums, NamedTuples and functions, found by
// qualified name as LibTorch's importer finds them.  A file is parsed when something in it is first asked
// for, a function compiled when its graph is.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "script/function.h"
#include "script/operator_table.h"
#include "script/parser.h"
#include "script/type_parser.h"
#include "script/types.h"

namespace fxtrace::script {

// What names of torch's own C++ classes begin with:
// "__torch__.torch.classes.quantized.Conv2dPackedParamsBase".
inline constexpr std::string_view kTorchBindPrefix = "__torch__.torch.classes.";

struct ProgramSource {
  // The text of "code/__torch__/nets.py", by "__torch__.nets"; nothing when the archive has no such file.
  std::function<std::optional<std::string>(const std::string& qualifier)> read_code;
  // Types of the archive's constants; a TorchScript archive has tensors there, and objects in a few old ones.
  std::vector<TypePtr> constant_types;
  // The archive's version of operators: old ones are given their meaning of then.
  std::uint64_t operator_version = 0;
};

class Program {
 public:
  explicit Program(ProgramSource source);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // What stands under "__torch__.nets.Net", with all its attributes; null when there is nothing, or no type.
  // Throws Error(kInput) for code that cannot be read.
  TypePtr find_type(const std::string& name);
  // "__torch__.nets.helper"; null when there is no such function.
  Function* find_function(const std::string& name);

  OperatorTable& operators() { return operators_; }
  const std::vector<TypePtr>& constant_types() const { return source_.constant_types; }
  // Before any code is compiled: types of constants may be classes of the program itself.  Text is known as
  // if it stood in the code; by index.
  void set_constants(std::vector<TypePtr> types, std::unordered_map<std::size_t, std::string> texts) {
    source_.constant_types = std::move(types);
    constant_texts_ = std::move(texts);
  }
  const std::string* find_constant_text(std::size_t index) const;
  std::uint64_t operator_version() const { return source_.operator_version; }

  // Called before "Unknown builtin op" would be said of an operator, or the like of a method of a class of
  // torch.classes ("__torch__.torch.classes.ns.Name.method"): it may declare it.
  std::function<void(const std::string& name)> on_unknown;
  // "unpack(__torch__.torch.classes.ns.Name self) -> Tensor".  Throws Error(kInput).
  void declare_method(const std::string& class_name, std::string_view schema);
  ResolveClass resolver();

  // For whoever wants to look at the code itself: all definitions of a file, with the file.  Null as above.
  struct CodeFile {
    std::unique_ptr<SyntaxFile> syntax;
    ParsedFile parsed;
  };
  const CodeFile* find_file(const std::string& qualifier);

  // A function that code of our own defines ("def f(x: Tensor): ..."), with the names of TorchScript and none
  // of the archive.  `name` is what it will be called.
  Function* define(const std::string& name, std::string text);

  // What an operator meant when the archive was written: a function with the schema of then.  Null where that
  // is what it means today.
  struct OldOperator {
    FunctionSchema schema;
    Function* function = nullptr;
  };
  const OldOperator* find_old_operator(std::string_view name);
  // Code of our own means what it says today.
  bool is_own(const SyntaxFile& file) const;

  // Those of builtin_functions.h, compiled when they are first asked for.
  const std::vector<Function*>& builtin_functions(Symbol name);

  // How deep compiling one function may lead to compiling others, which code without result types needs.
  static constexpr int kMaxCompilations = 40;
  int& open_compilations() { return open_compilations_; }

  // What all graphs together may still come to (IrGraph::size()); the code that was read decides.
  std::size_t size_left() const { return size_left_; }
  void keep_size(std::size_t size) { size_left_ -= std::min(size_left_, size); }

 private:
  struct PendingClass {
    std::shared_ptr<Type> type;
    const Tree* definition = nullptr;
    const SyntaxFile* file = nullptr;
  };
  struct Found {
    const Tree* tree = nullptr;
    const SyntaxFile* file = nullptr;
  };
  Found find_definition(const std::string& name);
  TypePtr start_type(const std::string& name, const Found& found);
  TypePtr torchbind_class(const std::string& name);
  TypePtr named_tuple(const std::string& name, const Found& found);
  TypePtr enumeration(const std::string& name, const Found& found);
  void finish_pending();
  void finish_class(ClassType& type, const PendingClass& pending);
  void finish_interface(InterfaceType& type, const PendingClass& pending);
  Function* add_function(std::unique_ptr<Function> function);

  ProgramSource source_;
  std::unordered_map<std::size_t, std::string> constant_texts_;
  OperatorTable operators_;
  std::unordered_map<std::string, CodeFile> files_;           // by qualifier; none: no syntax
  std::unordered_map<std::string, const Tree*> definitions_;  // by qualified name
  std::unordered_map<std::string, TypePtr> types_;            // those that were started
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

}  // namespace fxtrace::script
