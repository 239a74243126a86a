// Prints the graph of every function and method in the code of a TorchScript archive, as lib/torchscript
// compiles it:
//   script_dump FILE [NAME]...     == __torch__.Net.forward
//                                  graph(...): ...
// FILE may be the code itself (.py), which is then all of "__torch__".
// A function that cannot be compiled gives one line, "error: ...".  Names choose among the functions; --time
// prints how long compiling took instead, --quiet nothing.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "archive/model_file.h"
#include "archive/zip_archive.h"
#include "operators/operators.h"
#include "support/error.h"
#include "tests/forms/ir_text.h"
#include "torchscript/compiler/script_program.h"
#include "torchscript/objects/objects.h"

namespace {

using namespace fxtrace::internal;               // NOLINT: a program of one page
using namespace fxtrace::internal::torchscript;  // NOLINT

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

class Dump {
 public:
  explicit Dump(const std::string& path) {
    ProgramSource source;
    // the code has no archive, so its constants get these types
    source.constant_types.assign(2, tensor_type());
    if (path.ends_with(".py")) {
      qualifiers_.emplace_back("__torch__");
      source.read_code = [path](const std::string& qualifier) -> std::optional<std::string> {
        if (qualifier != "__torch__") return std::nullopt;
        return ModelFile(path).read_whole();
      };
    } else {
      archive_ = std::make_unique<ZipArchive>(path);
      const auto& entries = archive_->entries();
      root_ = entries.empty() ? "" : entries[0].name.substr(0, entries[0].name.find('/') + 1);
      source.read_code = [this](const std::string& qualifier) { return read_code(qualifier); };
      for (const char* record : {".data/version", "version"}) {
        if (archive_->contains(root_ + record))
          source.operator_version =
              static_cast<std::uint64_t>(std::atoi(archive_->read(root_ + record, 16).c_str()));
      }
      find_qualifiers();
    }
    program_ = std::make_unique<ScriptProgram>(std::move(source));
    if (archive_ != nullptr && archive_->contains(root_ + "constants.pkl")) {
      const ObjectSource objects{*archive_, root_, program_->operator_version(), program_->resolver()};
      set_constants(*program_, read_objects(objects, "constants").items());
    }
    // Operators of libraries that the table knows, though LibTorch does not.
    program_->on_unknown = [this](const std::string& name) {
      for (const Operator& row : extension_operators()) {
        if (row.base_name() != name) continue;
        program_->operators().declare(std::string(row.name) + std::string(row.signature),
                                      program_->resolver());
      }
    };
  }

  // Calls f(name, function) with every function.
  template <class F>
  void each(const F& f) {
    for (const std::string& qualifier : qualifiers_) {
      const ScriptProgram::CodeFile* file = program_->find_file(qualifier);
      if (file == nullptr) continue;
      for (const Tree* definition : file->parsed.definitions) {
        const std::string name = qualifier + "." + std::string(definition->text);
        if (definition->is(Syntax::kDefinition)) {
          f(name, program_->find_function(name));
          continue;
        }
        const TypePtr type = program_->find_type(name);
        const auto* as_class = type == nullptr ? nullptr : type->as<ClassType>();
        if (as_class == nullptr) continue;
        for (Function* method : as_class->methods()) f(method->qualified_name(), method);
        std::set<Function*> hooks;
        for (const auto* list : {&as_class->forward_hooks(), &as_class->forward_pre_hooks()}) {
          for (const NamedFunction& hook : *list) {
            if (hooks.insert(hook.function).second) f(hook.function->qualified_name(), hook.function);
          }
        }
      }
    }
  }

 private:
  std::optional<std::string> read_code(const std::string& qualifier) const {
    std::string record = root_ + "code/" + qualifier + ".py";
    std::replace(record.begin() + static_cast<std::ptrdiff_t>(root_.size()), record.end() - 3, '.', '/');
    if (!archive_->contains(record)) return std::nullopt;
    return archive_->read(record, archive_->size(record));
  }

  void find_qualifiers() {
    const std::string prefix = root_ + "code/";
    for (const auto& entry : archive_->entries()) {
      if (!entry.name.starts_with(prefix) || !entry.name.ends_with(".py")) continue;
      std::string name = entry.name.substr(prefix.size(), entry.name.size() - prefix.size() - 3);
      std::replace(name.begin(), name.end(), '/', '.');
      qualifiers_.push_back(std::move(name));
    }
    std::sort(qualifiers_.begin(), qualifiers_.end());
  }

  std::unique_ptr<ZipArchive> archive_;
  std::string root_;
  std::vector<std::string> qualifiers_;
  std::unique_ptr<ScriptProgram> program_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "script_dump FILE [--time | --quiet] [NAME]...\n";
    return 2;
  }
  bool time = false;
  bool quiet = false;
  std::set<std::string> wanted;
  for (int i = 2; i < argc; ++i) {
    time = time || std::strcmp(argv[i], "--time") == 0;
    quiet = quiet || std::strcmp(argv[i], "--quiet") == 0;
    if (argv[i][0] != '-') wanted.insert(argv[i]);
  }
  try {
    const auto start = std::chrono::steady_clock::now();
    Dump dump(argv[1]);
    std::size_t functions = 0, nodes = 0;
    dump.each([&](const std::string& name, Function* function) {
      if (!wanted.empty() && !wanted.contains(name)) return;
      std::string text;
      try {
        const IrGraph& graph = function->graph();
        ++functions;
        nodes += graph.size();
        if (!time && !quiet) text = to_text(graph);
      } catch (const Error& error) {
        text = "error: " + error.place() + ": " + (wanted.empty() ? first_line(error.what()) : error.what()) +
               "\n";
      }
      if (!text.empty()) std::cout << "== " << name << "\n" << text;
    });
    const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
    if (time) std::cout << functions << " functions, " << nodes << " nodes, " << taken.count() << " ms\n";
  } catch (const Error& error) {
    std::cout << "error: " << error.place() << ": " << error.what() << "\n";
    return 3;
  }
  return 0;
}
