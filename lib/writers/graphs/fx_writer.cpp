// Writes the file around the classes of fx_class.h: header, imports, and the helpers that its classes call.
//
// Names are chosen before anything is written, as classes, helpers and functions share one scope; the header
// comes last, as it depends on what the classes use.
#include "writers/graphs/fx_writer.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "operators/target.h"
#include "support/text/identifier.h"
#include "support/text/qualified_name.h"
#include "support/text/unicode.h"
#include "support/text/words.h"
#include "writers/formats/python_text.h"
#include "writers/graphs/fx_class.h"

namespace fxtrace::internal {
namespace {

// A function, class or constant of fx_helpers.py.
struct Helper {
  std::string_view name, text;
};

// Returns the helpers in the order of the file, where two blank lines are between them and in front of the
// first.
std::vector<Helper> read_helpers() {
  constexpr std::string_view kBetween = "\n\n\n";
  std::vector<Helper> helpers;
  std::string_view rest = fx_helpers_text();
  rest.remove_suffix(1);  // the end of the last line
  for (std::size_t end = rest.find(kBetween); end != std::string_view::npos;) {
    rest.remove_prefix(end + kBetween.size());
    end = rest.find(kBetween);
    std::string_view name = rest;
    for (const std::string_view keyword : {"def ", "class "}) {
      if (name.starts_with(keyword)) name.remove_prefix(keyword.size());
    }
    helpers.push_back({name.substr(0, name.find_first_of(" (")), rest.substr(0, end)});
  }
  return helpers;
}

// Names that classes and helpers use, so that no class or function of the file may have them.
constexpr std::string_view kUsed =
    "NotImplementedError TypeError ValueError bool bytearray callable collections complex float getattr hasattr io "
    "isinstance len list math operator slice str super torch tuple type vars zip zipfile";

class FileWriter {
 public:
  FileWriter(const GraphCollection& collection, std::ostream& out)
      : collection_(collection), out_(out), file_(collection) {}

  void write() {
    for_each_word(kUsed, [&](std::string_view name) { file_.names.reserve(name); });
    for (const Helper& helper : helpers_) file_.names.reserve(helper.name);
    for (const ModuleGraph& graph : collection_.graphs) find_functions(graph);
    for (auto& [target, name] : file_.missing) name = file_.names.create(target);
    for (auto& [names, name] : file_.named_tuples)
      name = file_.names.create("_" + std::string(QualifiedName(names.first).last()));
    PythonNames parameters(&file_.names);  // the parameters of __init__
    for (const char* name : {"self", "model", "archive", "libraries"}) parameters.reserve(name);
    for (auto& [target, name] : file_.model_functions) {
      name = parameters.create(function_parts(target).name);
    }
    std::vector<std::string> classes;
    for (const ModuleGraph& graph : collection_.graphs) {
      const std::string_view type = QualifiedName(graph.type).last();
      classes.push_back(file_.names.create(is_python_name(type) ? type : "Graph"));
    }
    for (const auto& [target, name] : file_.missing) file_.functions[target] = name;

    std::vector<std::string> texts;
    for (std::size_t i = 0; i < collection_.graphs.size(); ++i) {
      texts.push_back(write_fx_class(classes[i], collection_.graphs[i], file_));
    }
    std::erase_if(helpers_, [&](const Helper& helper) { return !file_.helpers.contains(helper.name); });
    for (const Helper& helper : helpers_) {
      for (const char* module : {"io", "math", "zipfile"}) {
        if (helper.text.find(" " + std::string(module) + ".") != std::string_view::npos)
          file_.imports.insert(module);
      }
    }
    header(classes);
    for (const Helper& helper : helpers_) out_ << "\n\n" << helper.text << '\n';
    for (const auto& [target, name] : file_.missing) {
      out_ << "\n\ndef " << name << "(*args, **kwargs):\n    raise NotImplementedError("
           << python_string(target +
                            " cannot be found by torch.fx, or is not known to be free of side effects: put "
                            "the model's own in its place")
           << ")\n";
    }
    for (const auto& [names, name] : file_.named_tuples) {
      const std::string_view type = QualifiedName(names.first).last();
      out_ << "\n\n# " << printable(names.first) << '\n'
           << name << " = collections.namedtuple(" << python_string(type) << ", ["
           << joined(names.second, [](const std::string& field) { return python_string(field); }) << "])\n";
    }
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const ModuleGraph& graph = collection_.graphs[i];
      out_ << "\n\n# " << printable(path_text(graph.module) + (graph.type.empty() ? "" : ": " + graph.type))
           << '\n'
           << texts[i];
    }
  }

 private:
  void find_functions(const ModuleGraph& graph) {
    for (const NodeId id : graph.graph.order()) {
      const Node& node = graph.graph.node(id);
      if (node.model_function) {
        file_.model_functions.try_emplace(*node.target);
      } else if (node.op == Opcode::kCallFunction) {
        if (has_plain_format(node))
          find_function(node.target);
        else
          refuse_function(node.target);
      }
      if (node.op == Opcode::kCallModule) calls_modules_ = true;
      for_each_of<Argument::Tuple>(node, [&](const Argument::Tuple& tuple) { find_named_tuple(tuple); });
      for_each_of<Argument::Function>(node, [&](const Argument::Function& function) {
        if (may_pass_on(function.name)) find_function(function.name);
      });
    }
    for (const Subgraph& body : graph.subgraphs) find_functions(body.graph);
    if (!graph.signature) return;
    for (const auto& entry : graph.signature->inputs) {
      if (!entry.value) continue;
      for_each_value(*entry.value, [&](const Argument& value) {
        if (const auto* tuple = value.get_if<Argument::Tuple>()) find_named_tuple(*tuple);
      });
    }
  }

  // A function that prints by a format is called only where the format is known to look nothing up.
  static bool has_plain_format(const Node& node) {
    if (node.target != kPrintOperator) return true;
    const auto* format = node.args.empty() ? nullptr : node.args[0].get_if<std::string>();
    return format != nullptr && is_plain_format(*format);
  }
  void refuse_function(const std::string& target) {
    file_.functions[target].clear();
    if (std::ranges::find(file_.missing, target, [](const auto& each) { return each.first; }) ==
        file_.missing.end())
      file_.missing.emplace_back(target, "");
  }

  void find_named_tuple(const Argument::Tuple& tuple) {
    if (tuple.names == nullptr) return;
    // Python cannot make a class of other names; the node that has them raises.
    const auto& fields = tuple.names->fields;
    const auto is_field = [](const std::string& name) {
      return is_python_name(name) && !name.starts_with('_');
    };
    if (!is_python_name(QualifiedName(tuple.names->type).last()) || !std::ranges::all_of(fields, is_field) ||
        std::set<std::string_view>(fields.begin(), fields.end()).size() != fields.size())
      return;
    file_.named_tuples.try_emplace({tuple.names->type, tuple.names->fields});
    file_.imports.insert("collections");
  }

  void find_function(const std::string& target) {
    const auto [found, is_new] = file_.functions.try_emplace(target);
    if (!is_new || target == "builtins.getattr") return;
    const auto text = fx_function(target);
    if (!text) return refuse_function(target);
    found->second = *text;
    const std::string first = text->substr(0, text->find_first_of(".("));
    if (first != "getattr") file_.names.reserve(first);
    if (const std::string_view space = fx_library(target); !space.empty()) spaces_.emplace(space);
  }

  void header(const std::vector<std::string>& classes) {
    // Python reads the file's encoding from the first two lines, so that no text of the model may stand
    // there.
    out_ << R"py("""Graphs of a model as torch.fx's own code, written by fxtrace )py" << FXTRACE_VERSION
         << ".\n\n";
    const bool needs_archive =
        file_.helpers.contains("_constant") || file_.helpers.contains("_constant_object");
    if (!classes.empty()) {
      std::string arguments = needs_archive ? "model, archive" : "model";
      for (const auto& [target, name] : file_.model_functions) arguments += ", " + name + "=...";
      if (file_.helpers.contains("_check_libraries")) arguments += ", libraries=...";
      out_ << "    " << classes[0] << '(' << arguments << ")(...)\n\n";
    }
    out_ << (file_.model.is_torchscript() ? kFromArchive : kFromProgram);
    if (!file_.model.is_torchscript()) out_ << (calls_modules_ ? kCalls : kNoCalls);
    if (needs_archive) out_ << kArchive;
    if (!file_.model_functions.empty()) out_ << kFunctions;
    if (file_.helpers.contains("_assume")) out_ << kCheck;
    if (classes.size() > 1) out_ << kSeveral;
    if (!spaces_.empty()) out_ << kSpaces;
    out_ << "\"\"\"\n\n";
    const auto& model = collection_.model;
    line("Model: " + model.file + ", " + model.kind_text());
    line("Type: " + (model.type.empty() ? "?" : model.type) + ", method " + model.method);
    for (const auto& [target, name] : file_.model_functions)
      line("Function of the model: " + name + " = " + target);
    for (const std::string& space : spaces_) line("Operators that a library registers: torch.ops." + space);
    out_ << '\n';
    for (const std::string& import : file_.imports) {
      if (import != "torch") out_ << "import " << import << '\n';
    }
    if (file_.imports.size() > 1) out_ << '\n';
    out_ << "import torch\n";
  }

  void line(const std::string& text) { out_ << "# " << printable(text) << '\n'; }

  static constexpr const char* kFromArchive =
      R"py(`model` is the archive as torch.jit.load gives it, or the torch.nn.Module that it was made of: modules, parameters
and buffers are its own, by their qualified names. Move it to another device or dtype before it is given here.
)py";
  static constexpr const char* kFromProgram =
      R"py(`model` is the torch.nn.Module that was exported, or anything else that has what is read here by its qualified
name: parameters and buffers, which are not copied, and large constants and objects. Move it to another device or
dtype before it is given here. Inputs are those of the program in one row, each part of a nested one by itself.
)py";
  static constexpr const char* kCheck = R"py(
check() takes what forward() takes, and raises ValueError where one of the lines "Assumed" that are over inputs alone does
not hold.
)py";
  static constexpr const char* kNoCalls = R"py(
No module is called here, so the program itself will do: torch.export.load(...).module().
)py";
  static constexpr const char* kCalls = R"py(
A call of a module stands for the operations of one call in the program. It takes what its forward takes where the
program says so or torch.nn has the module, else what enters it in the order of its first use ("arguments in order of
use" stands there: compare it with forward's parameters). Without the model's own code: what `fxtrace trace --flat -f fx`
writes calls no module, and `model` may be the program itself there, torch.export.load(...).module().
)py";
  static constexpr const char* kArchive = R"py(
`archive` is the path of the model's file. Constants that are too large to be written here are read from it.
)py";
  static constexpr const char* kFunctions = R"py(
Functions of the model's own that are called here are given by name; what each is called in the model stands below.
)py";
  static constexpr const char* kSeveral = R"py(
The first class is the model's graph; the others are those of modules inside of one that could not be traced. All
of them take the whole model.
)py";
  static constexpr const char* kSpaces = R"py(
Import what registers the operators named below first. They are a library's, which may do anything: who trusts it gives
its name in `libraries`.
)py";

  const GraphCollection& collection_;
  std::ostream& out_;
  FxFile file_;
  std::vector<Helper> helpers_ = read_helpers();  // in the end, those that the file needs
  std::set<std::string> spaces_;                  // namespaces of operators that torch does not have itself
  bool calls_modules_ = false;
};

}  // namespace

void write_fx(const GraphCollection& collection, std::ostream& out) { FileWriter(collection, out).write(); }

}  // namespace fxtrace::internal
