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
#include "support/text/plain_format.h"
#include "support/text/printable.h"
#include "support/text/qualified_name.h"
#include "support/text/words.h"
#include "writers/formats/python_text.h"
#include "writers/graphs/fx_class.h"
#include "writers/graphs/fx_names.h"

namespace fxtrace {
namespace {

struct Helper {
  const char* name;
  std::array<const char*, 2> imports;
  const char* text;
};
// Python functions and classes that are written only to files that need them.
constexpr std::array<Helper, 17> kHelpers{{
    {"_check_libraries",
     {},
     R"py(
def _check_libraries(given, needed):
    """Operators of other libraries may do anything: the caller must say that they may run."""
    missing = [name for name in needed if name not in given]
    if missing:
        raise NotImplementedError(
            f"the graph calls operators of {', '.join(missing)}, which may do anything: libraries={missing!r} if you trust them"
        )
)py"},
    {"_sparse",
     {},
     R"py(
def _sparse(function):
    """A function that makes a sparse tensor, with torch's check of the indices against the sizes."""

    def make(*args, **kwargs):
        with torch.sparse.check_sparse_tensor_invariants():
            return function(*args, **kwargs)

    return make
)py"},
    {"_text",
     {"math"},
     R"py(
def _text(value):
    """The text that TorchScript's str() gives: "1000." for 1000.0."""
    if isinstance(value, float):
        if -(2.0**63) <= value < 2.0**63 and value == int(value):
            return f"{int(value)}."
        return ("-" if value != value and math.copysign(1, value) < 0 else "") + f"{value:.17g}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_text(key)}: {_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_text, value)) + "]"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(_text, value)) + (",)" if len(value) == 1 else ")")
    return str(value)
)py"},
    {"_given",
     {},
     R"py(
_MISSING = object()


def _given(value, name):
    """An input without a default behind one that has a default, which Python does not allow."""
    if value is _MISSING:
        raise TypeError(f"forward() is missing the argument {name!r}")
)py"},
    {"_part",
     {},
     R"py(
def _part(value, key):
    """The item of an input at a key or position, or the field of a named tuple."""
    if isinstance(value, tuple) and isinstance(key, str):
        return value[value._fields.index(key)]
    return value[key]
)py"},
    {"_check",
     {},
     R"py(
def _check(value, fixed, guard):
    """Check that an input has the value that the graph was traced with."""
    if isinstance(fixed, (list, tuple)):
        same = isinstance(value, (list, tuple)) and len(value) == len(fixed)
        for one, other in zip(value, fixed) if same else ():
            _check(one, other, guard)
    else:
        same = value is None if fixed is None else value is not None and bool(value == fixed)
        same = same or (isinstance(value, float) and value != value and fixed != fixed)
    if not same:
        raise ValueError(f"the graph was traced with {guard}, which does not hold")
)py"},
    {"_value",
     {},
     R"py(
def _value(holder, name):
    """An attribute that a graph reads, which must not be a function, class or module of Python."""
    if name.startswith("__"):
        raise AttributeError(name)
    value = getattr(holder, name)
    own = (torch.nn.Module, torch.jit.RecursiveScriptClass)
    if isinstance(value, type(torch)) or (callable(value) and not isinstance(value, own)):
        raise TypeError(f"{name} is not a module, tensor or other value")
    return value
)py"},
    {"_find",
     {},
     R"py(
def _find(model, path, separator="."):
    """The module, parameter, buffer or other value of the model with this qualified name."""
    value = model
    for name in path.split(separator):
        tables = (value._modules, value._parameters, value._buffers) if isinstance(value, torch.nn.Module) else ()
        found = [table[name] for table in tables if name in table]
        value = found[0] if found else _value(value, name)
    return value
)py"},
    {"_method",
     {},
     R"py(
def _method(module, name):
    """A method that a graph calls: one of TorchScript, or of the module's classes up to that which defines forward."""
    if isinstance(module, torch.jit.ScriptModule):
        is_own = module._c._has_method(name)
    else:
        is_own = False
        for base in type(module).__mro__:
            is_own = is_own or name in vars(base)
            if is_own or "forward" in vars(base):
                break
    if not is_own:
        raise TypeError(f"{name} is not a method that the module's forward could call")
    return getattr(module, name)
)py"},
    {"_object_method",
     {},
     R"py(
def _object_method(value, name):
    """A method of a script object."""
    if not isinstance(value, (torch.ScriptObject, torch.jit.RecursiveScriptClass)):
        raise TypeError(f"{name} is called on a value that is not a script object")
    return getattr(value, name)
)py"},
    {"_assume",
     {},
     R"py(
def _assume(holds, guard):
    if not holds:
        raise ValueError(f"these inputs are not what the graph was traced for: {guard} does not hold")
)py"},
    {"_constant", {"zipfile"}, R"py(
def _constant(archive, record, dtype, shape, stride, offset):
    """A tensor in a record of the archive, which is a zip file."""
    with zipfile.ZipFile(archive) as file:
        (name,) = (name for name in file.namelist() if name.partition("/")[2] == record)
        storage = torch.frombuffer(bytearray(file.read(name)), dtype=dtype)
    return storage.as_strided(shape, stride, offset)
)py"},
    {"_constant_object", {"io", "zipfile"}, R"py(
def _constant_object(archive, type_name, index):
    """A script object or a tensor of the archive's constants: TorchScript itself reads it, for a module that returns it."""
    code = f"""class Holder(Module):
  __parameters__ = []
  __buffers__ = []
  def forward(self: __torch__.Holder) -> {type_name if type_name == "Tensor" else "__torch__." + type_name}:
    return CONSTANTS.c{index}
"""
    buffer = io.BytesIO()
    with zipfile.ZipFile(archive) as file, zipfile.ZipFile(buffer, "w") as holder:
        for name in file.namelist():
            record = name.partition("/")[2]
            if record in ("version", "constants.pkl", "byteorder") or record.startswith("constants/"):
                holder.writestr(f"holder/{record}", file.read(name))
        holder.writestr("holder/data.pkl", b"\x80\x02c__torch__\nHolder\n)\x81}b.")
        holder.writestr("holder/code/__torch__.py", code)
    buffer.seek(0)
    return torch.jit.load(buffer, map_location="cpu")()
)py"},
    {"_Overloaded", {}, R"py(
class _Overloaded(torch.nn.Module):
    """A recurrent module. TorchScript compiles its forward twice, for a tensor and for a packed sequence."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, input, *args, **kwargs):
        call = self.module
        if hasattr(call, "forward__0"):
            call = call.forward__0 if isinstance(input, torch.Tensor) else call.forward__1
        return call(input, *args, **kwargs)
)py"},
    {"_runs_bodies",
     {},
     R"py(
def _runs_bodies():
    """torch traces bodies of control flow under autograd, which fails where they have modules: then they just run."""
    return torch.is_grad_enabled() and not (
        torch.compiler.is_compiling()
        or torch.utils._python_dispatch._get_current_dispatch_mode() is not None
        or torch._C._functorch.peek_interpreter_stack() is not None
    )
)py"},
    {"_cond",
     {},
     R"py(
def _cond(predicate, true_body, false_body, operands):
    if _runs_bodies():
        return (true_body if predicate else false_body)(*operands)
    return torch.ops.higher_order.cond(predicate, true_body, false_body, operands)
)py"},
    {"_while_loop",
     {},
     R"py(
def _while_loop(goes_on, body, carried, operands):
    if not _runs_bodies():
        return torch.ops.higher_order.while_loop(goes_on, body, carried, operands)
    while goes_on(*carried, *operands):
        carried = body(*carried, *operands)
    return tuple(carried)
)py"},
}};

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
    for (const Helper& helper : kHelpers) file_.names.reserve(helper.name);
    file_.names.reserve("_MISSING");
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
    for (const Helper& helper : kHelpers) {
      if (!file_.helpers.contains(helper.name)) continue;
      for (const char* import : helper.imports) {
        if (import != nullptr) file_.imports.insert(import);
      }
    }
    header(classes);
    for (const Helper& helper : kHelpers) {
      if (file_.helpers.contains(helper.name)) out_ << '\n' << helper.text;
    }
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
use" stands there: compare it with forward's parameters). What `fxtrace trace --no-default-leaves` writes calls no module.
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
  std::set<std::string> spaces_;  // namespaces of operators that torch does not have itself
  bool calls_modules_ = false;
};

}  // namespace

void write_fx(const GraphCollection& collection, std::ostream& out) { FileWriter(collection, out).write(); }

}  // namespace fxtrace
