#include "writers/graphs/fx_class.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>

#include "graph/analysis/input_sizes.h"
#include "graph/analysis/text_form.h"
#include "operators/names/allow_lists.h"
#include "operators/target.h"
#include "shapes/tensor_options.h"
#include "support/json_document.h"
#include "support/text/qualified_name.h"
#include "support/text/unicode.h"
#include "support/text/words.h"
#include "symbolic/expression.h"
#include "symbolic/python_operators.h"
#include "writers/formats/python_text.h"
#include "writers/graphs/fx_guards.h"

namespace fxtrace::internal {
namespace {

constexpr std::size_t kColumns = 110;
constexpr std::size_t kNameRoom = 20;  // for the indentation and the name of a node
// Nested arguments: Python's parser gives up somewhere above a hundred.
constexpr int kMaxNesting = 50;
// The number of enclosing modules that are searched.
constexpr int kMaxModules = 200;

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// The parts of a qualified name as the model spells them.
std::vector<std::string> path_parts(std::string_view path) {
  std::vector<std::string> names;
  for (const std::string_view part : QualifiedName(path).parts()) names.push_back(name_of_part(part));
  return names;
}

// Returns the known type and shape of a value; empty when only that it is a tensor is known.
std::string value_comment(const Meta& meta) {
  std::string text = known_value_text(meta);
  return text == "Tensor" ? "" : text;
}

// Writes the class of one graph.
class ClassWriter {
 public:
  ClassWriter(const ModuleGraph& graph, FxFile& file) : root_(graph), file_(file) {
    for_each_word(torch_module_names(), [&](std::string_view name) { attributes_.reserve(name); });
    attributes_.reserve("check");
    if (!root_.execution) return;
    for (const auto& call : root_.execution->method_calls) other_methods_.insert(call.module);
  }

  std::string write(const std::string& name) {
    prepare(root_);
    method("forward", root_);
    check(root_);
    bodies(root_);
    std::string out = "class " + name + "(torch.nn.Module):\n";
    std::string parameters = needs_archive_ ? "self, model, archive" : "self, model";
    std::string separator = ", *, ";
    for (const auto& [function, attribute] : functions_here_) {
      parameters += separator + file_.model_functions.at(function);
      separator = ", ";
    }
    if (!libraries_here_.empty()) parameters += separator + "libraries=()";
    out += "    def __init__(" + parameters + "):\n";
    out += "        super().__init__()\n";
    if (!libraries_here_.empty()) {
      file_.helpers.insert("_check_libraries");
      out += "        _check_libraries(libraries, [" + joined(libraries_here_, python_string) + "])\n";
    }
    for (const auto& [function, attribute] : functions_here_) {
      out +=
          "        self." + attribute + " = " + file_.model_functions.at(function) + comment(function) + "\n";
    }
    for (const std::string& statement : init_) out += "        " + statement + "\n";
    return out + methods_;
  }

 private:
  // --- names ---

  // Names the bodies, and records the modules that are called: their attributes are read where the graph
  // reads them, and not in __init__.
  void prepare(const ModuleGraph& graph) {
    for (const NodeId id : graph.graph.order()) {
      const Node& node = graph.graph.node(id);
      if (node.op == Opcode::kCallModule && !is_overloaded(node))
        called_.try_emplace(called_module(node), &node);
    }
    for (const Subgraph& body : graph.subgraphs) {
      bodies_[&body.graph] = attributes_.create(body.name);
      prepare(body.graph);
    }
  }

  // --- __init__ ---

  // Returns an expression that finds the module, tensor or value of this name in the model; nothing for names
  // that no module or tensor can have.
  static std::optional<std::string> place_in_model(const std::string& path, FxFile& file) {
    if (path.empty()) return "model";
    const std::vector<std::string> parts = path_parts(path);
    for (const std::string& part : parts) {  // names that every Python object has
      const bool is_magic = part.starts_with("__") && part.ends_with("__");
      if (is_magic && !file.modules.contains(path)) return std::nullopt;
    }
    file.helpers.insert("_find");
    file.helpers.insert("_value");
    if (path.find("\\.") == std::string::npos) return "_find(model, " + python_string(path) + ")";
    for (const char* separator : {"/", "|", "\t", "\n"}) {
      if (path.find(separator) != std::string::npos) continue;
      return "_find(model, " + python_string(joined(parts, {}, separator)) + ", " + python_string(separator) +
             ")";
    }
    return std::nullopt;
  }

  // Returns the type of the module that a node calls.
  std::string type_of(const Node& node) const {
    const auto record = file_.modules.find(called_module(node));
    const std::string type = record != file_.modules.end() ? record->second->type : "";
    return type.empty() ? node.scope->module_type.value_or("") : type;
  }

  bool is_overloaded(const Node& node) const {
    if (!file_.model.is_torchscript() || !node.method->empty()) return false;
    const std::string type = type_of(node);
    return QualifiedName(type).last() == "LSTM" || QualifiedName(type).last() == "GRU";
  }

  // Returns the attribute of the class that holds the module.
  const std::string& module_attribute(const Node& node) {
    const std::string& path = *node.target;
    const auto [found, is_new] = modules_here_.try_emplace(path);
    if (!is_new) return found->second;
    found->second = attributes_.create(path.empty() ? "root_module" : path);
    auto place = place_in_model(path, file_);
    if (!place) {
      problem_ = python_string(path) + " is not a name of a module";
      return found->second;
    }
    if (is_overloaded(node)) {
      file_.helpers.insert("_Overloaded");
      place = "_Overloaded(" + *place + ")";
    }
    init_.push_back("self." + found->second + " = " + *place + comment(type_of(node)));
    return found->second;
  }

  // Returns an expression that reads an attribute of a module that is called, as the call may have set it;
  // nothing for other attributes.
  std::optional<std::string> live_attribute(const std::string& target) {
    std::string_view path = QualifiedName(target).parent();
    for (int i = 0; i < kMaxModules; ++i, path = QualifiedName(path).parent()) {
      const auto called = called_.find(path);
      if (called == called_.end()) {
        if (path.empty()) break;
        continue;
      }
      std::string text = "self." + module_attribute(*called->second);
      const std::vector<std::string> parts =
          path_parts(std::string_view(target).substr(path.empty() ? 0 : path.size() + 1));
      for (const std::string& part : parts) {
        if (!is_python_name(part) || has_word(torch_module_names(), part)) return std::nullopt;
        text = checked("_value", text, part);
      }
      return text;
    }
    return std::nullopt;
  }

  std::string attribute(const ModuleGraph& graph, const std::string& target) {
    const auto constant =
        std::ranges::find(graph.constants, target, [](const auto& item) { return item.first; });
    const bool is_constant = constant != graph.constants.end();
    if (!is_constant) {
      if (const auto live = live_attribute(target)) return *live;
    }
    const auto [found, is_new] = values_here_.try_emplace({is_constant ? &graph : nullptr, target});
    if (!is_new) return "self." + found->second;
    std::string& name = found->second = attributes_.create(target);
    if (is_constant) {
      add_constant(name, target, constant->second);
    } else if (const auto place = place_in_model(target, file_)) {
      init_.push_back("self." + name + " = " + *place);
    } else {
      problem_ = python_string(target) + " is not a name of a parameter";
    }
    return "self." + name;
  }

  void add_constant(const std::string& name, const std::string& target, const Constant& constant) {
    const auto buffer = [&](const std::string& value) {
      const std::string arguments = python_string(name) + ", " + value + ", persistent=False";
      constexpr std::size_t kRoom = 80;
      const bool fits = arguments.size() < kRoom || value.find('\n') != std::string::npos;
      init_.push_back("self.register_buffer(" +
                      (fits ? arguments : "\n            " + arguments + "\n        ") + ")");
    };
    if (!constant.object_type.empty()) {
      if (!file_.model.is_torchscript() || !is_type_name(constant.object_type)) {
        problem_ = "constant " + python_string(target) + " is an object of an unknown type";
        return;
      }
      needs_archive_ = true;
      file_.helpers.insert("_constant_object");
      init_.push_back("self." + name + " = _constant_object(archive, " + python_string(constant.object_type) +
                      ", " + std::to_string(constant.object_index) + ")");
      return;
    }
    const auto dtype = find_scalar_type(constant.dtype);
    if (!dtype) {
      problem_ = "constant " + python_string(target) + " has dtype " + python_string(constant.dtype);
      return;
    }
    const std::string torch_dtype = "torch." + dtype_name(*dtype);
    if (constant.data) {
      buffer(tensor_text(*constant.data, torch_dtype, constant.shape));
    } else if (!file_.model.is_torchscript()) {
      const auto place = place_in_model(target, file_);
      if (!place) {
        problem_ = python_string(target) + " is not a name of a tensor";
        return;
      }
      buffer(*place);
    } else if (constant.record.empty()) {
      problem_ = "constant " + python_string(target) + " has neither data nor a record";
    } else {
      needs_archive_ = true;
      file_.helpers.insert("_constant");
      buffer("_constant(archive, " + python_string(constant.record) + ", " + torch_dtype + ", " +
             numbers_text(constant.shape) + ", " + numbers_text(constant.stride) + ", " +
             std::to_string(constant.storage_offset) + ")");
    }
  }

  static bool is_type_name(std::string_view text) {
    return std::ranges::all_of(split(text, '.'), is_python_name);
  }

  static std::string numbers_text(const std::vector<std::int64_t>& numbers) {
    const std::string list = joined(numbers, [](std::int64_t number) { return std::to_string(number); });
    return "(" + list + (numbers.size() == 1 ? ",)" : ")");
  }

  // Returns an expression for the tensor, on several lines if one is too short.
  std::string tensor_text(const std::vector<Argument>& data, const std::string& dtype,
                          const std::vector<std::int64_t>& shape) {
    std::vector<std::string> items;
    std::size_t length = 0;
    for (const Argument& value : data) {
      items.push_back(argument(root_, value));
      length += items.back().size() + 2;
    }
    const std::string end = ", dtype=" + dtype + ")";
    if (shape.empty() && items.size() == 1) return "torch.tensor(" + items[0] + end;
    const std::string reshaped = shape.size() == 1 ? "" : ".reshape(" + numbers_text(shape) + ")";
    constexpr std::size_t kRoom = 60;
    if (length <= kRoom) return "torch.tensor([" + joined(items) + "]" + end + reshaped;
    std::string text = "torch.tensor([";
    const std::string indent = "\n            ";
    std::size_t column = kColumns;
    for (const std::string& item : items) {
      if (column + item.size() + 2 > kColumns) {
        text += indent;
        column = indent.size() - 1;
      } else {
        text += ' ';
      }
      text += item + ",";
      column += item.size() + 2;
    }
    return text + "\n        ]" + end + reshaped;
  }

  // --- methods ---

  void bodies(const ModuleGraph& graph) {
    for (const Subgraph& body : graph.subgraphs) {
      method(bodies_.at(&body.graph), body.graph);
      bodies(body.graph);
    }
  }

  // Chooses the names of a method: those of the model for inputs, those of the graph for nodes.
  void name_nodes(const ModuleGraph& graph) {
    PythonNames names(&file_.names);
    names.reserve("self");
    nodes_.clear();
    find_groups(graph, names);
    for (const bool placeholders : {true, false}) {
      for (const NodeId id : graph.graph.order()) {
        const Node& node = graph.graph.node(id);
        if (placeholders != (node.op == Opcode::kPlaceholder)) continue;
        std::string_view name = placeholders ? std::string_view(*node.target) : std::string_view(node.name);
        while (name.starts_with('*')) name.remove_prefix(1);
        nodes_[id] = names.create(name);
      }
    }
  }

  void method(const std::string& name, const ModuleGraph& graph) {
    name_nodes(graph);
    methods_ += "\n    def " + name + signature(graph) + ":\n";
    const std::size_t start = methods_.size();
    take_late_inputs();
    for (const InputGroup& group : groups_) take_apart(graph, group);
    const auto names = guard_names(graph);
    for (const Guard& guard : graph.guards) {
      const auto text = is_checked_in_forward(guard.expr) ? python_guard(guard.expr, names) : std::nullopt;
      if (text) file_.helpers.insert("_assume");
      line(text ? assumption(*text, guard) : "# Assumed: " + printable(guard.expr.text()));
    }
    body(graph);
    if (methods_.size() == start) line("pass");
  }

  // Returns the names of the inputs in forward, by their names in guards.
  std::map<std::string, std::string> guard_names(const ModuleGraph& graph) const {
    std::map<std::string, std::string> names;
    for (const NodeId id : graph.graph.order()) {
      const Node& node = graph.graph.node(id);
      if (node.op != Opcode::kPlaceholder) continue;
      names[*node.target] = nodes_.at(id);
      names.try_emplace(node.name, nodes_.at(id));
    }
    for (const InputGroup& group : groups_) {
      const auto* name = group.parts[0]->path[0].get_if<std::string>();
      if (name != nullptr && !group.is_whole()) names.try_emplace(*name, group.text);
    }
    return names;
  }

  // Writes check(), which raises if a guard over the inputs does not hold.  The names are those of forward.
  void check(const ModuleGraph& graph) {
    std::map<std::string, std::string> names = guard_names(graph), sizes;
    const InputSizes inputs(graph);
    for (const auto& [symbol, source] : inputs.sources()) {
      if (!is_python_name(symbol) || names.contains(symbol)) continue;
      if (auto text = python_guard(inputs.value_of(source), names)) sizes.emplace(symbol, *std::move(text));
    }
    for (const auto& [symbol, text] : sizes) names.emplace(symbol, symbol);
    std::string checks;
    std::set<std::string> used;
    for (const Guard& guard : graph.guards) {
      const Expression checked = as_torch_checks(guard);
      const auto text = python_guard(checked, names);
      if (!text || checked == Expression::all({})) continue;
      checks += "        " + assumption(*text, guard) + "\n";
      guard.expr.map_sizes([&](const SymInt& size) {
        for (std::string& symbol : size.symbols()) used.insert(std::move(symbol));
        return size;
      });
    }
    if (checks.empty()) return;
    file_.helpers.insert("_assume");
    methods_ += "\n    def check" + signature(graph) + ":\n";
    line(R"("""Raises ValueError for inputs that the graph was not traced for.""")");
    take_late_inputs();
    for (const auto& [symbol, size] : sizes) {
      if (used.contains(symbol)) line(symbol + " = " + size);
    }
    methods_ += checks;
  }

  static std::string assumption(const std::string& text, const Guard& guard) {
    return "_assume(" + text + ", " + python_string(guard.expr.text()) + ")";
  }

  void line(const std::string& text) { methods_ += "        " + text + "\n"; }
  void blank_line() {
    if (!methods_.ends_with(":\n") && !methods_.ends_with("\n\n")) methods_ += '\n';
  }

  // A parameter of an archive's method, with the placeholders that are made of it: itself, its parts, or none
  // if it is fixed.
  struct InputGroup {
    std::string text;  // the name of the parameter
    std::vector<const GraphSignature::Entry*> parts;
    bool is_whole() const { return parts[0]->node.valid() && parts[0]->path.size() == 1; }
  };

  // Finds the groups in the order of the method; none when the parameters are the placeholders.
  void find_groups(const ModuleGraph& graph, PythonNames& names) {
    groups_.clear();
    if (!file_.model.is_torchscript() || !graph.signature) return;
    std::vector<std::string_view> found;
    std::size_t placeholders = 0;
    for (const auto& entry : graph.signature->inputs) {
      const auto* name = entry.path.empty() ? nullptr : entry.path[0].get_if<std::string>();
      const bool fits = !entry.node.valid() || graph.graph.node(entry.node).op == Opcode::kPlaceholder;
      if (entry.role != SignatureRole::kUserInput || name == nullptr || !fits) return groups_.clear();
      placeholders += entry.node.valid() ? 1 : 0;
      if (found.empty() || found.back() != *name) {
        found.push_back(*name);
        groups_.push_back({});
      }
      groups_.back().parts.push_back(&entry);
    }
    for (const NodeId id : graph.graph.order()) {
      if (graph.graph.node(id).op == Opcode::kPlaceholder) --placeholders;
    }
    if (placeholders != 0) return groups_.clear();
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      if (!groups_[i].is_whole()) groups_[i].text = names.create(found[i]);
    }
  }

  // Writes statements that read the parts of an input, and check those that are fixed.
  void take_apart(const ModuleGraph& graph, const InputGroup& group) {
    if (group.is_whole()) return;
    for (const GraphSignature::Entry* entry : group.parts) {
      std::string value = group.text;
      std::string place = group.text;
      for (std::size_t i = 1; i < entry->path.size(); ++i) {
        const std::string key = argument(graph, entry->path[i]);
        file_.helpers.insert("_part");
        value = "_part(" + value + ", " + key + ")";
        place += "[" + key + "]";
      }
      std::string text;
      if (entry->node.valid()) {
        text = nodes_.at(entry->node) + " = " + value;
      } else if (entry->value) {
        file_.helpers.insert("_check");
        const std::string fixed = argument(graph, *entry->value);
        text = "_check(" + value + ", " + fixed + ", " +
               python_string(place + (fixed == "None" ? " is " : " == ") + fixed) + ")";
      } else {
        continue;
      }
      if (problem_) text = "raise NotImplementedError(" + python_string(place + ": " + *problem_) + ")";
      problem_.reset();
      line(text);
    }
  }

  std::string signature(const ModuleGraph& graph) {
    struct Parameter {
      std::string text, comment;
      const Argument* default_value = nullptr;
      bool is_required = false;
    };
    // An input that an option gives (--input) is required, though its default in the model is None.
    const auto is_given = [&](const Node& node) {
      return std::ranges::any_of(graph.guards, [&](const Guard& guard) {
        return guard.expr ==
               Expression::comparison("is not", Expression::variable(node.target), Expression::none());
      });
    };
    std::vector<Parameter> parameters;
    const auto add_placeholder = [&](const Node& node) {
      parameters.push_back({nodes_.at(node.id), input_comment(graph, node),
                            node.args.empty() ? nullptr : &node.args[0],
                            node.args.empty() && !is_given(node)});
    };
    for (const InputGroup& group : groups_) {
      if (group.is_whole()) {
        add_placeholder(graph.graph.node(group.parts[0]->node));
      } else if (group.parts[0]->path.size() > 1) {
        parameters.push_back({group.text, "", nullptr});
      } else {
        const auto& value = group.parts[0]->value;
        parameters.push_back({group.text, "fixed", value ? &*value : nullptr});
      }
    }
    for (const NodeId id : graph.graph.order()) {
      const Node& node = graph.graph.node(id);
      if (node.op == Opcode::kPlaceholder && groups_.empty()) add_placeholder(node);
    }
    // Parameters up to the last required one get no default.
    std::size_t required = 0;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (parameters[i].is_required) required = i + 1;
    }
    bool has_default = false;  // an earlier parameter has one
    bool has_comments = false;
    std::vector<std::string> texts{"self"};
    late_.clear();
    for (Parameter& parameter : parameters) {
      const bool is_before = required != 0;
      if (is_before) --required;
      if (parameter.default_value != nullptr && !is_before) {
        has_default = true;
        std::string value = argument(graph, *parameter.default_value);
        if (problem_) {
          parameter.comment += (parameter.comment.empty() ? "" : ", ") + ("default left out: " + *problem_);
          problem_.reset();
          value = "None";
        }
        parameter.text += "=" + value;
      } else if (parameter.default_value != nullptr) {
        parameter.comment += (parameter.comment.empty() ? "" : ", ") +
                             ("default " + print_argument(graph.graph, *parameter.default_value));
      } else if (has_default) {
        file_.helpers.insert({"_MISSING", "_given"});
        late_.push_back(parameter.text);
        parameter.text += "=_MISSING";
      }
      texts.push_back(parameter.text);
      has_comments = has_comments || !parameter.comment.empty();
    }
    if (!has_comments && joined(texts).size() < kColumns / 2) return "(" + joined(texts) + ")";
    std::string text = "(\n        self,\n";
    for (const Parameter& parameter : parameters) {
      text += "        " + parameter.text + "," + comment(parameter.comment) + "\n";
    }
    return text + "    )";
  }

  void take_late_inputs() {
    for (const std::string& name : late_) line("_given(" + name + ", " + python_string(name) + ")");
  }

  // Returns the known type of an input; with its name if that is not valid in Python, and its place if it is
  // a part of a parameter.
  std::string input_comment(const ModuleGraph& graph, const Node& node) {
    std::string text;
    if (nodes_.at(node.id) != *node.target) text = "input " + python_string(*node.target);
    if (graph.signature) {
      const auto& inputs = graph.signature->inputs;
      const auto entry = std::ranges::find(inputs, node.id, &GraphSignature::Entry::node);
      if (entry != inputs.end() && entry->path.size() > 1 && entry->role == SignatureRole::kUserInput) {
        text += text.empty() ? "" : ", ";
        const auto* first = entry->path[0].get_if<std::string>();
        text += first != nullptr ? *first : print_argument(graph.graph, entry->path[0]);
        for (std::size_t i = 1; i < entry->path.size(); ++i) {
          text += "[" + print_argument(graph.graph, entry->path[i]) + "]";
        }
      }
    }
    const std::string value = value_comment(node.meta);
    if (text.empty() || value.empty()) return text + value;
    return text + ": " + value;
  }

  static std::string comment(const std::string& text) { return text.empty() ? "" : "  # " + printable(text); }

  void body(const ModuleGraph& graph) {
    scope_ = Scope{graph.module};
    find_calls(graph);
    std::optional<SourceLocation> source;
    for (const NodeId id : graph.graph.order()) {
      const Node& node = graph.graph.node(id);
      if (node.op == Opcode::kPlaceholder) continue;
      if (node.op == Opcode::kOutput) {
        for (const Assignment& each : graph.graph.assignments()) line(assignment(graph, each));
      }
      const std::string text = statement(graph, node);
      if (node.op != Opcode::kOutput) {
        const std::string scope = scope_change(node);
        const bool has_line = *node.source && *node.source != source;
        const bool loses_line =
            !*node.source && source && node.op != Opcode::kGetAttr && node.target != "operator.getitem";
        if (!scope.empty() || has_line || loses_line) blank_line();
        if (!scope.empty()) line("# " + printable(scope));
        if (has_line) line("# " + source_text(**node.source));
        if (loses_line) line("# No line of the source is known for these:");
        if (has_line || loses_line) source = *node.source;
      }
      line(text);
    }
  }

  // Returns an assignment to a plain attribute of a module that is called, or of the class itself.
  std::string assignment(const ModuleGraph& graph, const Assignment& each) {
    const std::string_view holder = QualifiedName(each.target).parent();
    const std::string name = name_of_part(QualifiedName(each.target).last());
    const std::string value = argument(graph, each.value);
    const auto called = called_.find(holder);
    std::optional<std::string> module;
    if (called != called_.end()) {
      module = "self." + module_attribute(*called->second);
    } else {
      module = live_attribute(std::string(holder));
    }
    if (!module) return attribute(graph, each.target) + " = " + value;
    if (!is_python_name(name) || has_word(torch_module_names(), name))
      problem_ = python_string(each.target) + " is not a name of an attribute";
    return *module + "." + name + " = " + value;
  }

  static std::string source_text(const SourceLocation& source) {
    std::string text = "File: " + printable(source.file);
    if (source.line > 0) text += ":" + std::to_string(source.line);
    if (!source.function.empty()) text += " in " + printable(source.function);
    return source.text.empty() ? text : text + ", code: " + printable(source.text);
  }

  // Returns the module whose forward runs the node.  A leaf is run by the innermost module around it whose
  // forward runs.
  std::string_view caller(const Node& node) const {
    std::string_view path = node.scope->module_path;
    if (node.op != Opcode::kCallModule) return path;
    for (int i = 0; i < kMaxModules && !path.empty() && path != root_.module; ++i) {
      path = QualifiedName(path).parent();
      const auto found = file_.modules.find(path);
      if (found != file_.modules.end() && found->second->status == ModuleStatus::kTraced &&
          (found->second->calls > 0 || other_methods_.contains(path)))
        break;
    }
    return path;
  }

  // Finds the call of the module that runs each leaf.  Only nodes of the module itself have it: a leaf takes
  // it from the next of them.
  void find_calls(const ModuleGraph& graph) {
    calls_.clear();
    std::unordered_map<std::string_view, const Scope*> next;
    std::vector<NodeId> order = graph.graph.order();
    std::ranges::reverse(order);
    for (const NodeId id : order) {
      const Node& node = graph.graph.node(id);
      if (node.op != Opcode::kCallModule) {
        next[node.scope->module_path] = &*node.scope;
      } else if (const auto found = next.find(caller(node)); found != next.end()) {
        calls_[id] = found->second;
      }
    }
  }

  // Returns a title when another module's forward continues.
  std::string scope_change(const Node& node) {
    const std::string_view path = caller(node);
    Scope scope = *node.scope;
    if (node.op == Opcode::kCallModule) {
      const auto known = calls_.find(node.id);
      scope = path == scope_.module_path ? scope_
              : known != calls_.end()    ? *known->second
                                         : Scope{std::string(path)};
    }
    scope.module_type.reset();
    if (scope == scope_) return {};
    scope_ = scope;
    std::string text = path_text(scope_.module_path);
    const auto found = file_.modules.find(path);
    if (found != file_.modules.end() && !found->second->type.empty()) text += ": " + found->second->type;
    if (!scope_.method.empty()) text += ", method " + scope_.method;
    return scope_.call == 1 ? text : text + ", call " + std::to_string(scope_.call);
  }

  // Returns the line of a node; one that raises when the node cannot be written in Python.
  std::string statement(const ModuleGraph& graph, const Node& node) {
    problem_.reset();
    std::string text;
    if (node.op == Opcode::kOutput) {
      text = "return " + (node.args.empty() ? "None" : argument(graph, node.args[0]));
    } else {
      text = nodes_.at(node.id) + " = " + value(graph, node);
    }
    if (problem_) {
      text = "raise NotImplementedError(" + python_string("node " + node.name + ": " + *problem_) + ")";
      problem_.reset();
    }
    if (node.op == Opcode::kOutput) return text;
    std::string said = value_comment(node.meta);
    if (node.in_order_of_use)
      said += (said.empty() ? "" : ", ") + ("arguments " + std::string(kInOrderOfUse));
    return text + comment(said);
  }

  std::string value(const ModuleGraph& graph, const Node& node) {
    switch (node.op) {
      case Opcode::kGetAttr:
        return attribute(graph, *node.target);
      case Opcode::kCallModule: {
        const std::string module = "self." + module_attribute(node);
        if (node.method->empty()) {
          // Calling forward itself skips the module's hooks.
          return call(graph, file_.skips_hooks && !is_overloaded(node) ? module + ".forward" : module,
                      node.args, node.kwargs);
        }
        if (!is_python_name(*node.method))
          problem_ = python_string(*node.method) + " is not a name of a method";
        return call(graph, checked("_method", module, *node.method), node.args, node.kwargs);
      }
      case Opcode::kCallMethod: {
        if (node.args.empty() || !is_python_name(*node.target)) {
          problem_ = python_string(*node.target) + " is not a method that a graph calls";
          return {};
        }
        const std::string object = operand(graph, node.args[0], "");
        if (object.empty()) {
          problem_ = "it calls a method of a value that is not a node";
          return {};
        }
        const bool is_tensors = is_torch_function("torch.Tensor." + *node.target);
        return call(
            graph, is_tensors ? object + "." + *node.target : checked("_object_method", object, *node.target),
            std::vector<Argument>(node.args.begin() + 1, node.args.end()), node.kwargs);
      }
      default:
        return function_call(graph, node);
    }
  }

  // Returns a call of the helper, which checks, when the file runs, that `holder` has such a value.
  std::string checked(const char* helper, const std::string& holder, const std::string& name) {
    file_.helpers.insert(helper);
    return std::string(helper) + "(" + holder + ", " + python_string(name) + ")";
  }

  // Returns a call, written with Python's symbols and brackets where it has them.
  std::string function_call(const ModuleGraph& graph, const Node& node) {
    const std::string& target = *node.target;
    const auto& args = node.args;
    if (node.model_function) return call(graph, "self." + model_function(target), args, node.kwargs);
    if (node.kwargs.empty() && args.size() == 2) {
      if (target == "builtins.getattr") {
        const auto* name = args[1].get_if<std::string>();
        if (name == nullptr || !is_python_name(*name) || name->starts_with('_') || !args[0].is<NodeId>()) {
          problem_ = "it reads an attribute that is not allowed in a graph";
          return {};
        }
        const std::string holder = argument(graph, args[0]);
        return is_tensor_attribute(*name) ? holder + "." + *name : checked("_value", holder, *name);
      }
      if (target == "operator.getitem" && args[0].is<NodeId>()) {
        return argument(graph, args[0]) + "[" + subscript(graph, args[1]) + "]";
      }
      const std::string_view symbol = python_symbol(target);
      if (!symbol.empty()) {
        const std::string left = operand(graph, args[0], symbol);
        const std::string right = operand(graph, args[1], symbol);
        if (!left.empty() && !right.empty()) return left + " " + std::string(symbol) + " " + right;
      }
    }
    if (target == "builtins.getattr") {
      problem_ = "it reads an attribute that is not allowed in a graph";
      return {};
    }
    if (node.kwargs.empty() && args.size() == 1 && args[0].is<NodeId>()) {
      if (target == "operator.neg") return "-" + argument(graph, args[0]);
      if (target == "operator.not_") return "not " + argument(graph, args[0]);
    }
    return call(graph, function(target), args, node.kwargs);
  }

  // Returns the text of an argument that needs no parentheses beside the symbol; empty for others.
  std::string operand(const ModuleGraph& graph, const Argument& argument, std::string_view symbol) {
    const bool identity = symbol == "is" || symbol == "is not";
    const auto* integer = argument.get_if<std::int64_t>();
    const auto* number = argument.get_if<double>();
    const bool is_number =
        (integer != nullptr && *integer >= 0) ||
        (number != nullptr && *number >= 0 && std::isfinite(*number) && !std::signbit(*number));
    const bool fits = argument.is<NodeId>() || argument.is<bool>() || argument.is<Argument::None>() ||
                      (!identity && !symbol.empty() && is_number);
    return fits ? this->argument(graph, argument) : "";
  }

  std::string subscript(const ModuleGraph& graph, const Argument& index) {
    if (const auto* slice = index.get_if<Argument::Slice>()) {
      const auto part = [&](std::size_t i) {
        return slice->parts[i].is<Argument::None>() ? "" : argument(graph, slice->parts[i]);
      };
      const std::string step = part(2);
      return part(0) + ":" + part(1) + (step.empty() ? "" : ":" + step);
    }
    const auto* tuple = index.get_if<Argument::Tuple>();
    if (tuple == nullptr || tuple->items.size() < 2) return argument(graph, index);
    std::vector<std::string> parts;
    for (const Argument& item : tuple->items) {
      parts.push_back(item.is<Argument::Slice>() ? subscript(graph, item) : argument(graph, item));
    }
    return joined(parts);
  }

  std::string call(const ModuleGraph& graph, const std::string& callee, const std::vector<Argument>& args,
                   const Kwargs& kwargs) {
    std::vector<std::string> parts;
    std::string others;  // keyword arguments whose names are not valid in Python
    parts.reserve(args.size() + kwargs.size());
    for (const Argument& argument : args) parts.push_back(this->argument(graph, argument));
    for (const auto& [name, argument] : kwargs) {
      const std::string value = this->argument(graph, argument);
      if (is_python_name(name)) {
        parts.push_back(name + "=" + value);
      } else {
        others += (others.empty() ? "" : ", ") + python_string(name) + ": " + value;
      }
    }
    if (!others.empty()) parts.push_back("**{" + others + "}");
    return callee + in_parentheses(parts, callee.size() + kNameRoom);
  }

  // Returns "(a, b)"; on lines of their own if there is no room behind the `before` characters of the line.
  static std::string in_parentheses(const std::vector<std::string>& parts, std::size_t before) {
    const std::string line = joined(parts);
    const std::string indent = "\n" + std::string(12, ' ');
    if (parts.empty() || before + line.size() < kColumns) return "(" + line + ")";
    const bool fits = indent.size() + line.size() < kColumns;
    return "(" + indent + (fits ? line : joined(parts, {}, "," + indent) + ",") + "\n" + std::string(8, ' ') +
           ")";
  }

  // --- functions and arguments ---

  // Returns the attribute of the class that holds a function of the model's own.
  const std::string& model_function(const std::string& target) {
    const auto [found, is_new] = functions_here_.try_emplace(target);
    if (is_new) found->second = attributes_.create(file_.model_functions.at(target));
    return found->second;
  }

  std::string function(const std::string& target) {
    const std::string& text = file_.functions.at(target);
    for (const char* const module : {"math", "operator"}) {
      if (text.starts_with(module + std::string("."))) file_.imports.insert(module);
    }
    const TargetParts parts = parse_target(target);
    if (const std::string_view space = fx_library(target); !space.empty()) libraries_here_.emplace(space);
    for (const auto& [operation, helper] :
         {std::pair("higher_order.cond", "_cond"), std::pair("higher_order.while_loop", "_while_loop")}) {
      if (target != operation) continue;
      file_.helpers.insert({"_runs_bodies", helper});
      return helper;
    }
    if (target == "aten.str.default") {  // torch.ops takes no values for its parameter
      file_.helpers.insert("_text");
      return "_text";
    }
    if (parts.kind != TargetKind::kHigherOrder && makes_sparse_tensor(parts.name)) {
      file_.helpers.insert("_sparse");
      return "_sparse(" + text + ")";
    }
    return text;
  }

  std::string argument(const ModuleGraph& graph, const Argument& argument) {
    std::string text;
    append(graph, argument, text, 0);
    return text;
  }

  // Appends the text to `out`, so that deeply nested arguments are not copied at every level.
  void append(const ModuleGraph& graph, const Argument& argument, std::string& out, int depth) {
    if (depth > kMaxNesting) {
      problem_ = "its arguments are nested deeper than " + std::to_string(kMaxNesting);
      return;
    }
    const auto all = [&](const char* open, const std::vector<Argument>& items, const char* close) {
      out += open;
      for (std::size_t i = 0; i < items.size(); ++i) {
        if (i != 0) out += ", ";
        append(graph, items[i], out, depth + 1);
      }
      out += close;
    };
    const auto of_torch = [&](bool is_known, const std::string& name, const char* what) {
      if (!is_known) problem_ = python_string(name) + " is not a " + what + " of torch";
      out += "torch." + name;
    };
    std::visit(
        [&](const auto& value) {
          using Value = std::decay_t<decltype(value)>;
          if constexpr (std::is_same_v<Value, Argument::None>) {
            out += "None";
          } else if constexpr (std::is_same_v<Value, bool>) {
            out += value ? "True" : "False";
          } else if constexpr (std::is_same_v<Value, std::int64_t>) {
            out += std::to_string(value);
          } else if constexpr (std::is_same_v<Value, double>) {
            out += python_float(value);
          } else if constexpr (std::is_same_v<Value, std::complex<double>>) {
            out += "complex(" + python_float(value.real()) + ", " + python_float(value.imag()) + ")";
          } else if constexpr (std::is_same_v<Value, std::string>) {
            out += python_string(value);
          } else if constexpr (std::is_same_v<Value, Argument::List>) {
            all("[", value.items, "]");
          } else if constexpr (std::is_same_v<Value, Argument::Tuple>) {
            if (value.names != nullptr) {
              const auto named = file_.named_tuples.find({value.names->type, value.names->fields});
              if (named == file_.named_tuples.end()) {
                problem_ = python_string(value.names->type) + " is not a valid named tuple in Python";
                return;
              }
              out += named->second;
            }
            all("(", value.items, value.items.size() == 1 ? ",)" : ")");
          } else if constexpr (std::is_same_v<Value, Argument::Slice>) {
            all("slice(", value.parts, ")");
          } else if constexpr (std::is_same_v<Value, Argument::Dict>) {
            out += '{';
            for (std::size_t i = 0; i < value.items.size(); ++i) {
              if (i != 0) out += ", ";
              append(graph, value.items[i].key, out, depth + 1);
              out += ": ";
              append(graph, value.items[i].value, out, depth + 1);
            }
            out += '}';
          } else if constexpr (std::is_same_v<Value, NodeId>) {
            out += nodes_.at(value);
          } else if constexpr (std::is_same_v<Value, Argument::Dtype>) {
            const auto dtype = find_scalar_type(value.name);
            if (!dtype) problem_ = python_string(value.name) + " is not a dtype of torch";
            if (dtype) out += "torch." + dtype_name(*dtype);
          } else if constexpr (std::is_same_v<Value, Argument::Device>) {
            out += "torch.device(" + python_string(value.name) + ")";
          } else if constexpr (std::is_same_v<Value, Argument::Layout>) {
            of_torch(is_torch_layout(value.name), value.name, "layout");
          } else if constexpr (std::is_same_v<Value, Argument::MemoryFormat>) {
            of_torch(is_torch_memory_format(value.name), value.name, "memory format");
          } else if constexpr (std::is_same_v<Value, Argument::Function>) {
            if (may_pass_on(value.name)) {
              out += function(value.name);
            } else {
              problem_ = python_string(value.name) + " is not a function that a graph may pass on";
            }
          } else {
            static_assert(std::is_same_v<Value, Argument::GraphRef>);
            const ModuleGraph* body = graph.subgraphs.find_graph(value.name);
            if (body == nullptr) {
              problem_ = "there is no graph " + python_string(value.name);
            } else {
              out += "self." + bodies_.at(body);
            }
          }
        },
        argument.value);
  }

  const ModuleGraph& root_;
  FxFile& file_;

  PythonNames attributes_;
  std::map<std::string_view, const Node*> called_;     // a node that calls the module, by path
  std::map<std::string, std::string> modules_here_;    // attributes of the class, by module path
  std::map<std::string, std::string> functions_here_;  // likewise, by function of the model
  // Attributes of the class, by name; for constants by graph too.
  std::map<std::pair<const ModuleGraph*, std::string>, std::string> values_here_;
  std::map<const ModuleGraph*, std::string> bodies_;  // the methods of bodies
  std::map<NodeId, std::string> nodes_;               // the names of nodes in the current method
  std::vector<InputGroup> groups_;                    // the inputs of the current method
  std::vector<std::string> late_;                     // inputs without a default behind one that has one
  std::vector<std::string> init_;
  std::string methods_;
  Scope scope_;                               // the scope of the previous node, without the type
  std::map<NodeId, const Scope*> calls_;      // the scopes that call leaves
  std::set<std::string_view> other_methods_;  // modules of which other methods than forward are called
  std::set<std::string> libraries_here_;      // namespaces of operators that torch does not have itself
  bool needs_archive_ = false;
  std::optional<std::string> problem_;  // why the current node cannot be written
};

}  // namespace

FxFile::FxFile(const GraphCollection& collection) : model(collection.model) {
  for (const ModuleRecord& module : collection.modules) modules.emplace(module.path, &module);
  const JsonDocument options(collection.options_json, "options");
  const auto hooks = options.root().find("hooks");
  skips_hooks = model.is_torchscript() && hooks && hooks->is_string() && hooks->string() == "skip";
}

std::string write_fx_class(const std::string& name, const ModuleGraph& graph, FxFile& file) {
  return ClassWriter(graph, file).write(name);
}

}  // namespace fxtrace::internal
