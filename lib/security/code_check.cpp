#include "security/code_check.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "exported/format/inert_texts.h"
#include "interpreter/program/provided_operators.h"
#include "interpreter/program/torchscript_archive.h"
#include "operators/names/allow_lists.h"
#include "operators/operators.h"
#include "security/bytecode_objects.h"
#include "support/error.h"
#include "support/text/identifier.h"
#include "support/text/unicode.h"
#include "support/text/words.h"
#include "torchscript/compiler/script_program.h"
#include "torchscript/ir/function.h"
#include "torchscript/ir/ir.h"
#include "torchscript/language/parser.h"
#include "torchscript/language/type_parser.h"
#include "torchscript/operators/operator_table.h"

namespace fxtrace::internal::security {
namespace {

using interpreter::TorchScriptArchive;
using torchscript::ClassType;
using torchscript::Function;
using torchscript::IrBlock;
using torchscript::IrGraph;
using torchscript::IrNode;
using torchscript::Symbol;
using torchscript::Syntax;
using torchscript::Tree;
using torchscript::TypePtr;

constexpr std::size_t kMaxShown = 200;

// Returns the operator's name with its overload: "aten::add.Tensor".
std::string name_of(const IrNode& node) {
  const auto* schema = node.operator_schema();
  if (schema != nullptr && schema->row != nullptr) return std::string(schema->row->name);
  return std::string(torchscript::to_text(node.kind()));
}

class CodeCheck {
 public:
  CodeCheck(TorchScriptArchive& archive, const TellOfCode& tell) : archive_(archive), tell_(tell) {}

  void run() {
    const interpreter::CodeFiles files = archive_.code();
    for (const auto& [record, text] : files) {
      record_ = record;
      libraries(text);
      guarded([&] { find_definitions(record); });
    }
    for (const auto& [record, text] : files) {
      record_ = record;
      guarded([&] { file(record); });
    }
  }

 private:
  template <class F>
  void guarded(const F& f) {
    try {
      f();
    } catch (const Error& error) {
      unknown(error.what());
    }
  }
  void unknown(const std::string& why) {
    tell_(record_, SecurityKind::kUnknown, "", "its code cannot be followed: " + short_line(why));
  }

  static std::string qualifier_of(const std::string& record) {
    std::string qualifier = record.substr(5, record.size() - 8);  // "code/", ".py"
    std::ranges::replace(qualifier, '/', '.');
    return qualifier;
  }

  // Parses the record and checks all names in it.  The compiler drops unused code, but here all of it counts.
  void find_definitions(const std::string& record) {
    const std::string qualifier = qualifier_of(record);
    const torchscript::ScriptProgram::CodeFile& file =
        files_.emplace_back(archive_.program().parse_file(qualifier));
    if (file.syntax == nullptr) return unknown("the name of its record is not that of a code file");
    for (const Tree* tree : file.parsed.definitions) {
      const std::string name = qualifier + "." + std::string(tree->text);
      definitions_[name] = tree;
      undecided_ = &undecided_names_[name];
      names(*tree);
      if (!tree->is(Syntax::kClass)) continue;
      for (const Tree* statement : tree->part(1).all()) {
        if (statement->is(Syntax::kDefinition))
          definitions_[name + "." + std::string(statement->text)] = statement;
      }
    }
  }

  void file(const std::string& record) {
    const std::string qualifier = qualifier_of(record);
    torchscript::ScriptProgram& program = archive_.program();
    const torchscript::ScriptProgram::CodeFile* file = program.find_file(qualifier);
    if (file == nullptr) return;
    for (const Tree* tree : file->parsed.definitions) {
      guarded([&] {
        const std::string name = qualifier + "." + std::string(tree->text);
        undecided_ = &undecided_names_[name];
        if (!tree->is(Syntax::kClass)) {
          Function* function = program.find_function(name);
          if (function != nullptr) code(*function);
          return tell_undecided(function != nullptr && is_followed(*function));
        }
        const TypePtr type = program.find_type(name);
        const auto* as_class = type == nullptr ? nullptr : type->as<ClassType>();
        if (as_class == nullptr)
          return tell_undecided(false);  // an interface, a tuple or an enum have no code
        std::vector<const Function*> functions(as_class->methods().begin(), as_class->methods().end());
        for (const auto* hooks : {&as_class->forward_hooks(), &as_class->forward_pre_hooks()}) {
          for (const auto& hook : *hooks) functions.push_back(hook.function);
        }
        for (const Function* function : functions) guarded([&] { code(*function); });
        tell_undecided(
            std::ranges::all_of(functions, [&](const Function* function) { return is_followed(*function); }));
        if (Function* method = as_class->find_method("__setstate__")) {
          growths_ = 0;
          guarded([&] { on_load(*method, 0); });
        }
      });
    }
  }

  void code(const Function& function) {
    // A function that calls a library's operator may have no graph without the library; only the names in it
    // are checked then.
    if (is_followed(function)) block(*function.graph().block());
  }
  bool is_followed(const Function& function) const {
    return function.has_code() && archive_.find_not_followed(function) == nullptr;
  }

  // Reports the operators of a definition of which only some overloads reach beyond tensors, unless each
  // place that names one was compiled, which tells the overload: code may be dropped, or defined again.
  void tell_undecided(bool is_followed) {
    for (const auto& [name, places] : *undecided_) {
      if (!is_followed || places > 0) called(name, operator_reach(name));
    }
  }

  void called(const std::string& name, std::string_view reach) {
    tell_(record_, SecurityKind::kCode, name, "it calls " + name + ", which touches " + std::string(reach));
  }

  void block(const IrBlock& block) {
    for (const IrNode* node : block.nodes()) {
      const std::string name = name_of(*node);
      const auto* schema = node->operator_schema();
      // Nodes of the language itself have no schema.
      const std::string_view reach = schema == nullptr ? std::string_view() : operator_reach(name);
      if (!reach.empty()) called(name.substr(0, name.find('.')), reach);
      if (const auto found = undecided_->find(name.substr(0, name.find('.'))); found != undecided_->end())
        --found->second;
      for (const IrBlock* inner : node->blocks()) this->block(*inner);
      for (const auto& attribute : node->attributes()) {
        if (const auto* graph = std::get_if<std::shared_ptr<IrGraph>>(&attribute.value))
          this->block(*(*graph)->block());
      }
    }
  }

  // Reports the names in the code of operators that reach beyond tensors.
  void names(const Tree& tree) {
    if (tree.is(Syntax::kAttribute)) {
      const std::string name = operator_named(tree);
      // In x.f, a name that is not an operator's is a member's.
      const bool is_operator = torchscript::dotted_name(tree).starts_with("ops.") || !overloads(name).empty();
      const std::string_view reach = is_operator ? operator_reach(name) : std::string_view();
      if (!reach.empty() && std::ranges::any_of(overloads(name), [](const Operator& overload) {
            return operator_reach(overload.name).empty();
          }))
        ++(*undecided_)[name];
      else if (!reach.empty())
        called(name, reach);
    }
    for (const Tree* part : tree.all()) names(*part);
  }

  // Returns the operator's name, "aten::save", for torch.save and ops.aten.save.  Returns one for x.f, too,
  // if modules hardly have members with that name.
  static std::string operator_named(const Tree& attribute) {
    constexpr std::string_view kTorch = "torch.", kOperators = "ops.";
    const std::string dotted = torchscript::dotted_name(attribute);
    const std::string last(attribute.text);
    if (dotted.starts_with(kOperators)) {
      const std::size_t dot = dotted.find('.', kOperators.size());
      if (dot == std::string::npos) return {};
      return dotted.substr(kOperators.size(), dot - kOperators.size()) + "::" + dotted.substr(dot + 1);
    }
    if (dotted.starts_with(kTorch) || last.starts_with('_') || last == "from_file") return "aten::" + last;
    return {};
  }

  // Checks a function that runs when an object of the class is unpickled.
  void on_load(const Function& function, int depth) {
    constexpr int kMaxCalls = 20;
    if (archive_.find_not_followed(function) != nullptr || !function.has_code()) return;
    if (depth > kMaxCalls) return refuse("calls itself, perhaps endlessly");
    const auto definition = definitions_.find(function.qualified_name());
    if (definition != definitions_.end()) on_load(*definition->second);
    on_load(*function.graph().block(), depth);
  }
  // Checks the code as it is written, with what the compiler drops.
  void on_load(const Tree& tree) {
    if (++steps_ > kMaxSteps) return refuse("is too long to check");
    if (tree.is(Syntax::kWhile) || tree.is(Syntax::kFor)) refuse("has a loop");
    if (tree.is(Syntax::kCall) && tree.part(0).is(Syntax::kAttribute)) {
      const std::string dotted = torchscript::dotted_name(tree.part(0));
      const std::string name = operator_named(tree.part(0));
      const bool is_operator = dotted.starts_with("torch.") || dotted.starts_with("ops.");
      if (grows(name) && ++growths_ > kMaxGrowths) refuse("makes values larger and larger");
      if (is_operator && !may_run_on_load(name) &&
          !may_run_on_load("prim::" + std::string(tree.part(0).text)))
        refuse("calls " + name);
    }
    for (const Tree* part : tree.all()) on_load(*part);
  }
  void on_load(const IrBlock& block, int depth) {
    for (const IrNode* node : block.nodes()) {
      const std::string name = name_of(*node);
      if (++steps_ > kMaxSteps) return refuse("is too long to check");
      if (node->is(Symbol::kPrimCallMethod)) {
        const auto* type = node->input()->type()->as<ClassType>();
        if (type == nullptr) {
          refuse("calls a method of an interface");
        } else if (type->is_torchbind()) {
          refuse("calls a method of " + type->name());
        } else if (const Function* method = type->find_method(node->text())) {
          on_load(*method, depth + 1);
        }
      } else if (node->is(Symbol::kPrimCallFunction)) {
        const auto* target = node->input()->node()->constant();
        const auto* function =
            target == nullptr ? nullptr : target->get_if<torchscript::ScriptConstant::FunctionValue>();
        if (function == nullptr) {
          refuse("calls a function that is computed");
        } else {
          on_load(*function->function, depth + 1);
        }
      } else if (grows(name) && ++growths_ > kMaxGrowths) {
        refuse("makes values larger and larger");
      } else if (!may_run_on_load(name)) {
        refuse(name == "prim::Loop" ? "has a loop" : "calls " + name.substr(0, name.find('.')));
      }
      for (const IrBlock* inner : node->blocks()) on_load(*inner, depth);
    }
  }
  void refuse(const std::string& why) {
    if (!refused_.insert(record_ + why).second) return;
    tell_(record_, SecurityKind::kCode, "__setstate__",
          "__setstate__, which runs when the archive is loaded, " + why);
  }

  // Reports the names of operators and classes of libraries in the code.
  void libraries(std::string_view text) {
    const auto search = [&](std::string_view what, const auto& found) {
      for (std::size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) {
        if (at == 0 || !(is_word(text[at - 1]) || text[at - 1] == '.')) found(at);
      }
    };
    constexpr std::string_view kOperators = "ops.";
    search(kOperators, [&](std::size_t at) {
      // Only the namespace and the name are reported, not the overload.
      const std::string_view name = dotted_name(text, at + kOperators.size());
      const std::size_t dot = name.find('.');
      if (dot != std::string_view::npos) library(std::string(name.substr(0, name.find('.', dot + 1))));
    });
    search(torchscript::kTorchBindPrefix,
           [&](std::size_t at) { library(std::string(dotted_name(text, at))); });
  }
  void library(const std::string& name) {
    tell_(record_, SecurityKind::kLibrary, name, "it needs " + name);
    // The namespaces of LibTorch's classes that do more than keep packed weights.
    constexpr std::array<std::string_view, 4> kReaching = {"_nnapi.", "c10d.", "dist_c10d.", "dist_rpc."};
    if (!name.starts_with(torchscript::kTorchBindPrefix)) return;
    const std::string_view rest = std::string_view(name).substr(torchscript::kTorchBindPrefix.size());
    if (std::ranges::any_of(kReaching, [&](std::string_view space) { return rest.starts_with(space); }))
      tell_(record_, SecurityKind::kCode, name,
            "it makes objects of " + name + ", which reach beyond tensors");
  }
  static std::string_view dotted_name(std::string_view text, std::size_t at) {
    std::size_t end = at;
    while (end < text.size() && (is_word(text[end]) || text[end] == '.')) ++end;
    std::string_view name = text.substr(at, std::min(end - at, kMaxShown));
    while (name.ends_with('.')) name.remove_suffix(1);
    return name;
  }

  static constexpr std::size_t kMaxSteps = 1'000'000;

  TorchScriptArchive& archive_;
  const TellOfCode& tell_;
  std::string record_;
  // By definition: operators that it names, of which only some overloads reach beyond tensors, and in how
  // many places that were not compiled.
  std::map<std::string, std::map<std::string, int>> undecided_names_;
  std::map<std::string, int>* undecided_ = nullptr;  // those of the definition at hand
  std::vector<torchscript::ScriptProgram::CodeFile> files_;
  std::unordered_map<std::string, const Tree*> definitions_;  // by qualified name
  std::size_t steps_ = 0, growths_ = 0;
  std::unordered_set<std::string> refused_;
};

}  // namespace

bool may_run_on_load(std::string_view name) {
  static const std::unordered_set<std::string_view> known = words_of(
      "aten::Float aten::Int aten::Bool aten::FloatImplicit aten::IntImplicit aten::ScalarImplicit "
      "aten::__contains__ aten::__getitem__ aten::__is__ aten::__isnot__ aten::__not__ aten::add aten::append "
      "aten::eq aten::format aten::ge aten::gt aten::le aten::len aten::lt aten::ne aten::percentFormat "
      "aten::str aten::sub prim::dtype prim::unchecked_cast prim::unchecked_unwrap_optional");
  const std::string_view base = name.substr(0, name.find('.'));
  if (known.contains(base)) return true;
  if (base.starts_with("prim::")) {
    static const std::unordered_set<std::string_view> language = words_of(
        "prim::CallFunction prim::CallMethod prim::Constant prim::CreateObject prim::DictConstruct "
        "prim::GetAttr prim::If prim::ListConstruct prim::ListUnpack prim::RaiseException prim::Return "
        "prim::SetAttr prim::TupleConstruct prim::TupleIndex prim::TupleUnpack prim::Uninitialized "
        "prim::isinstance");
    return language.contains(base);
  }
  const bool packs = base.find("prepack") != std::string_view::npos ||
                     base.starts_with("quantized::make_quantized_cell_params");
  return packs && (base.starts_with("quantized::") || base.starts_with("_quantized::") ||
                   base.starts_with("sparse::") || base.starts_with("prepacked::") ||
                   base.starts_with("mkldnn_prepacked::"));
}

bool grows(std::string_view name) {
  static const std::unordered_set<std::string_view> known =
      words_of("aten::add aten::append aten::format aten::percentFormat aten::str");
  return known.contains(name.substr(0, name.find('.')));
}

void check_script(const FileInfo& info, const TellOfCode& tell) {
  TorchScriptArchive archive(info);
  archive.load();  // the types of its constants are needed to compile the code
  interpreter::provide_operators(archive, {});
  CodeCheck(archive, tell).run();
}

// ("FORMAT_WITH_STRING_TABLE", (TEXT, ..), ((OFFSET, (SOURCE, START, END), TAG), ..)), where SOURCE is
// ([TEXT'S NUMBER, ..], FILE NAME'S NUMBER, LINE); or such rows alone, with the texts themselves.
void check_sources(std::string_view pickle, const Tell& tell) {
  using Id = BytecodePickle::Id;
  const BytecodePickle read(pickle);
  const auto unknown = [&] {
    tell(SecurityKind::kUnknown, "", "its positions in sources have no form that torch writes");
  };
  if (!read.result() || !read.is_tuple(*read.result())) return unknown();
  auto rows = read.items(*read.result());
  std::size_t texts = 0;
  if (rows.size() == 3 && read.find_text(rows[0]) == "FORMAT_WITH_STRING_TABLE") {
    texts = read.items(rows[1]).size();
    if (!read.is_tuple(rows[2])) return unknown();
    rows = read.items(rows[2]);
  }
  const auto is_text = [&](Id id) {
    const auto number = read.find_integer(id);
    return number && *number >= 0 && static_cast<std::uint64_t>(*number) < texts;
  };
  for (const Id each : rows) {
    const auto row = read.items(each);
    if (row.size() < 2) return unknown();
    const auto range = read.items(row[1]);
    const auto source = range.empty() ? range : read.items(range[0]);
    if (texts == 0 || source.size() != 3) continue;  // LibTorch refuses other sizes
    const auto lines = read.find_list(source[0]);
    if (!lines) return unknown();
    if (!is_text(source[1]) || !std::ranges::all_of(*lines, is_text))
      return tell(SecurityKind::kSize, "",
                  "a source names a text that its table of " + std::to_string(texts) + " does not have");
  }
}

namespace {

SecurityKind kind_of(TextFault::Kind kind) {
  switch (kind) {
    case TextFault::Kind::kRuns:
      return SecurityKind::kCode;
    case TextFault::Kind::kCosts:
      return SecurityKind::kSize;
    case TextFault::Kind::kLeads:
      return SecurityKind::kPath;
    case TextFault::Kind::kUnclear:
      break;
  }
  return SecurityKind::kUnknown;
}

// Reports what the operators that a program calls touch, and the libraries that it needs.
void operators(const JsonValue& value, std::string_view key, const Tell& tell) {
  if (value.is_object()) {
    for (const JsonValue field : value.fields()) operators(field, field.key(), tell);
  } else if (value.is_array()) {
    for (const JsonValue item : value.items()) operators(item, key, tell);
  } else if (value.is_string()) {
    constexpr std::string_view kClass = "__torch__.torch.classes.";
    const std::string_view text = value.string();
    if (key == "target" || key == "as_operator") check_reach(text, tell);
    if (text.starts_with(kClass) && is_dotted_name(text))
      tell(SecurityKind::kLibrary, std::string(text), "it needs " + std::string(text));
  }
}

}  // namespace

void check_program(const JsonValue& program, const Tell& tell) {
  check_texts(program, [&](const TextFault& fault) {
    tell(kind_of(fault.kind), short_line(fault.text), fault.place + ": " + fault.why);
  });
  operators(program, {}, tell);
}

void check_reach(std::string_view target, const Tell& tell) {
  constexpr std::string_view kOperators = "torch.ops.", kHigherOrder = "higher_order.";
  if (!target.starts_with(kOperators) || problem_of_target_text(target)) return;
  const std::string_view path = target.substr(kOperators.size());
  std::string_view reach;
  if (path.starts_with(kHigherOrder)) {
    reach = higher_order_reach(path.substr(kHigherOrder.size()));
  } else {
    const std::size_t dot = path.find('.');
    std::string name = std::string(path.substr(0, dot)) + "::" + std::string(path.substr(dot + 1));
    if (name.ends_with(".default")) name.resize(name.size() - std::string_view(".default").size());
    reach = operator_reach(name);
    // The overload is not reported.
    const std::string named(path.substr(0, path.find('.', dot + 1)));
    tell(SecurityKind::kLibrary, named, "it needs " + named);
  }
  if (!reach.empty())
    tell(SecurityKind::kCode, short_line(target),
         "it calls " + short_line(target) + ", which touches " + std::string(reach));
}

std::map<std::string, Payload, std::less<>> read_payloads(const JsonValue& config, const Tell& tell) {
  std::map<std::string, Payload, std::less<>> payloads;
  check_program(config, tell);
  for (const JsonValue item : config.at("config").fields()) {
    const std::string path(item.at("path_name").string());
    Payload payload;
    if (const auto pickled = item.find("use_pickle")) payload.is_pickled = pickled->boolean();
    payload.is_tensor = item.find("tensor_meta").has_value();
    const auto [place, is_new] = payloads.emplace(path, payload);
    // Tied tensors share a record, which is unpickled if one of them says so.
    if (!is_new) place->second.is_pickled |= payload.is_pickled;
  }
  return payloads;
}

}  // namespace fxtrace::internal::security
