#include "writers/graphs/collection_writers.h"

#include <array>
#include <charconv>
#include <cmath>
#include <complex>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "graph/analysis/collection_summary.h"
#include "graph/analysis/text_form.h"
#include "graph/namespace.h"
#include "operators/target.h"
#include "support/text/qualified_name.h"
#include "support/text/unicode.h"
#include "support/text/words.h"
#include "symbolic/expression.h"
#include "writers/formats/field_writer.h"

namespace fxtrace::internal {
namespace {

std::string known(const std::string& text) { return text.empty() ? "?" : text; }

std::string source_text(const SourceLocation& source) {
  std::string text = source.file;
  if (source.line > 0) text += ":" + std::to_string(source.line);
  if (!source.function.empty()) text += " in " + source.function;
  return source.text.empty() ? text : text + ": " + source.text;
}

// Returns "add at [0, 'k']"; the value alone if it is the result itself.
std::string place_in_call(const ProgramPart::Place& place) {
  return place.path.empty() ? place.value : place.value + " at " + print_argument(Argument::List{place.path});
}

class TextWriter {
 public:
  explicit TextWriter(std::ostream& out) : out_(out) {}

  void document(const GraphCollection& collection) {
    const auto& model = collection.model;
    line("model " + model.file + ": " + model.kind + ", type " + known(model.type) + ", method " +
         model.method);
    line("options " + collection.options_json);
    summary(collection);
    section("modules", collection.modules, [this](const ModuleRecord& module) { this->module(module); });
    section("parameters", collection.parameters,
            [this](const ParameterRecord& record) { parameter(record); });
    section("unused_parameters", collection.unused_parameters,
            [this](const std::string& name) { line(name); });
    for (const auto& graph : collection.graphs) this->graph("graph " + path_text(graph.module), graph);
  }

 private:
  // Writes one line; the only place where text of the file is written.
  void line(const std::string& text) {
    const std::string indent(2 * depth_, ' ');
    out_ << indent << printable(text) << '\n';
  }

  // Writes a heading with an indented line for each item; nothing when there are no items.
  template <class Items, class F>
  void section(const char* heading, const Items& items, F&& write) {
    if (items.empty()) return;
    line(heading);
    ++depth_;
    for (const auto& item : items) write(item);
    --depth_;
  }

  void summary(const GraphCollection& collection) {
    const Summary summary = summarize(collection);
    line("summary graphs " + std::to_string(summary.graphs) + ", nodes " + std::to_string(summary.nodes) +
         ", parameters " + std::to_string(summary.parameters) + ", modules " +
         joined(summary.modules, [](const auto& each) {
           return to_string(each.first) + (" " + std::to_string(each.second));
         }));
  }

  void module(const ModuleRecord& module) {
    std::string text = path_text(module.path) + ": " + known(module.type) + ", " + to_string(module.status);
    text += ", " + std::to_string(module.calls) + (module.calls == 1 ? " call" : " calls");
    if (module.alias_of)
      text += (module.is_assumed ? ", assumed alias of " : ", alias of ") + path_text(*module.alias_of);
    if (module.rule) text += ", rule " + *module.rule;
    line(text);
    ++depth_;
    if (const auto& failure = module.failure) {
      line(std::string("failure ") + to_string(failure->kind) + " in " + path_text(failure->module) +
           (failure->op.empty() ? "" : ", " + failure->op) + ": " + failure->message);
      if (failure->source) line("# " + source_text(*failure->source));
    }
    if (!module.attributes.empty()) {
      line("attributes " + joined(module.attributes, [](const auto& attribute) {
             return attribute.first + "=" + print_argument(attribute.second);
           }));
    }
    --depth_;
  }

  void parameter(const ParameterRecord& parameter) {
    std::string text = parameter.name + ": " + to_string(parameter.kind) + " ";
    text += parameter.kind == ParameterKind::kCustomObject ? parameter.type
                                                           : parameter.dtype + shape_text(parameter.shape);
    if (parameter.is_packed()) text += " in " + parameter.type;
    if (parameter.device) text += " on " + *parameter.device;
    if (parameter.alias_of) text += ", alias of " + *parameter.alias_of;
    line(text);
  }

  void graph(const std::string& title, const ModuleGraph& graph) {
    line(title + ": " + known(graph.type));
    ++depth_;
    nodes(graph.graph);
    section("constants", graph.constants, [this](const auto& item) { constant(item.first, item.second); });
    section("guards", graph.guards, [this](const Guard& guard) {
      line(guard.expr.text() + (guard.source ? "  # " + source_text(*guard.source) : ""));
    });
    section("assignments", graph.graph.assignments(), [&](const Assignment& assignment) {
      line(assignment.target + " = " + print_argument(graph.graph, assignment.value) +
           (assignment.source ? "  # " + source_text(*assignment.source) : ""));
    });
    if (graph.signature) {
      const auto write = [&](const GraphSignature::Entry& entry) { signature_entry(graph.graph, entry); };
      section("graph_signature inputs", graph.signature->inputs, write);
      section("graph_signature outputs", graph.signature->outputs, write);
    }
    if (graph.execution) execution(*graph.execution);
    for (const auto& [name, subgraph] : graph.subgraphs) {
      this->graph("subgraph " + name + " of " + path_text(subgraph.module), subgraph);
    }
    --depth_;
  }

  void nodes(const Graph& graph) {
    std::optional<SourceLocation> source;
    for (const NodeId id : graph.order()) {
      const Node& node = graph.node(id);
      if (*node.source != source) line("# " + (*node.source ? source_text(**node.source) : "no source"));
      source = node.source;
      std::string text = print_node(graph, node);
      if (const std::string value = known_value_text(node.meta); !value.empty()) text += " -> " + value;
      if (!node.method->empty()) text += ", method " + *node.method;
      if (node.model_function)
        text += node.is_recorded ? ", recorded function of the model" : ", function of the model";
      if (node.in_order_of_use) text += ", arguments " + std::string(kInOrderOfUse);
      const ProgramPart& program = *node.program;
      if (!program.nodes.empty()) text += ", program nodes " + joined(program.nodes);
      if (!program.inputs.empty()) text += ", inputs " + joined(program.inputs, place_in_call);
      if (!program.results.empty()) text += ", results " + joined(program.results, place_in_call);
      if (const std::string scope = print_scope(node.scope); !scope.empty()) text += "  # " + scope;
      line(text);
    }
  }

  void constant(const std::string& name, const Constant& constant) {
    if (!constant.object_type.empty()) {
      return line(name + ": " + constant.object_type + " in " + constant.record + ", item " +
                  std::to_string(constant.object_index));
    }
    std::string text = name + ": " + constant.dtype + shape_text(constant.shape);
    if (constant.data) {
      text += " = " + print_argument(Argument::List{*constant.data});
    } else if (!constant.record.empty()) {
      text += " in " + constant.record + ", stride " + shape_text(constant.stride) + ", storage_offset " +
              std::to_string(constant.storage_offset);
    }
    line(text);
  }

  void signature_entry(const Graph& graph, const GraphSignature::Entry& entry) {
    std::string text = to_string(entry.role);
    if (!entry.name.empty()) text += " " + entry.name;
    if (entry.target) text += ", target " + *entry.target;
    if (entry.persistent) text += *entry.persistent ? ", persistent" : ", not persistent";
    if (!entry.path.empty()) text += ", path " + print_argument(graph, Argument::List{entry.path});
    if (entry.value) text += ", value " + print_argument(graph, *entry.value);
    if (entry.node.valid()) text += ", node %" + graph.node(entry.node).name;
    line(text);
  }

  void execution(const Execution& execution) {
    const auto path = [this](const std::string& name) { line(path_text(name)); };
    section("module_forward_order", execution.module_forward_order, path);
    section("param_forward_order", execution.param_forward_order,
            [this](const std::string& name) { line(name); });
    section("module_param_usage", execution.module_param_usage, [this](const Execution::ModuleUses& module) {
      line(path_text(module.module));
      ++depth_;
      for (const Execution::Use& use : module.uses) line(path_text(use.module) + ": " + joined(use.params));
      --depth_;
    });
    if (execution.method_calls.empty()) return;
    section("method_calls", execution.method_calls, [this](const Execution::MethodCall& call) {
      line(path_text(call.module) + ": " + call.method + ", behind call " + std::to_string(call.position));
    });
  }

  std::ostream& out_;
  std::size_t depth_ = 0;
};

// Writes graphs as torch.fx prints them: Graph.__str__ and Node.format_node.
class TorchPrinter {
 public:
  TorchPrinter(const GraphCollection& collection, std::ostream& out)
      : out_(out), is_program_(collection.model.kind == "exported_program") {}

  void graph(const ModuleGraph& graph) {
    graph_ = &graph;
    names_ = {};
    out_ << "graph():\n";
    for (const NodeId id : graph.graph.order()) node(graph.graph.node(id));
  }

 private:
  enum class Form { kText, kLiteral };  // Python's str(), where torch.fx writes %name for a node, and repr()

  void line(const std::string& text) { out_ << "    " << printable(text) << '\n'; }
  void line(const std::string& name, std::size_t users, const std::string& text) {
    line("%" + name + " : [num_users=" + std::to_string(users) + "] = " + text);
  }

  void node(const Node& node) {
    names_.create(node.name);
    references_.clear();
    std::string args = "(", kwargs = "{";
    items(node.args, Form::kText, args);
    args += node.args.size() == 1 ? ",)" : ")";
    for (const auto& [name, value] : node.kwargs) {
      kwargs += (kwargs.size() == 1 ? "" : ", ") + name + ": ";
      append(value, Form::kText, kwargs);
    }
    // A body of control flow is an attribute, which a node of its own reads.
    for (const auto& [name, target] : references_) line(name, 1, "get_attr[target=" + target + "]");
    if (node.op == Opcode::kOutput) {
      assignments();
      return line("return " + (node.args.empty() ? "None" : whole(node.args.front())));
    }
    std::string text = to_string(node.op) + ("[target=" + target(node) + "]");
    if (node.op == Opcode::kPlaceholder) {
      if (!node.args.empty()) text += "(default=" + whole(node.args.front()) + ")";
    } else if (node.op != Opcode::kGetAttr) {
      text += "(args = " + args + ", kwargs = " + kwargs + "})";
    }
    line(node.name, node.users.size() + (graph_->graph.is_assigned(node.id) ? 1 : 0), text);
  }

  // The call that stands for the graph's assignments in a graph module, as torch.fx has no statement that
  // sets an attribute.
  void assignments() {
    constexpr const char* kName = "fxtrace_assign";
    const auto& assignments = graph_->graph.assignments();
    if (assignments.empty()) return;
    std::vector<Argument> values;
    for (const Assignment& assignment : assignments) values.push_back(assignment.value);
    std::string args;
    items(values, Form::kText, args);
    line(kName, 0,
         std::string("call_module[target=") + kName + "](args = (" + args +
             (values.size() == 1 ? ",)" : ")") + ", kwargs = {})");
  }

  std::string target(const Node& node) const {
    std::string text = *node.target;
    if (node.op == Opcode::kCallFunction) {
      const TargetKind kind = target_parts(node).kind;
      return node.model_function || kind == TargetKind::kPython ? text : "torch.ops." + text;
    }
    if (node.op != Opcode::kCallModule && node.op != Opcode::kGetAttr) return text;
    // torch.fx has no name for the root, and splits names at each dot.
    for (std::size_t at = 0; (at = text.find("\\.", at)) != text.npos;) text.replace(at, 2, "_");
    if (node.op == Opcode::kGetAttr) return text;
    if (text.empty()) text = "root_module";
    if (!node.method->empty()) text += "_" + *node.method;
    // The name that torch.export.unflatten gives to a later call.
    return is_program_ && node.scope->call > 1 ? text + "@" + std::to_string(node.scope->call - 1) : text;
  }

  // Returns str(argument).
  std::string whole(const Argument& argument) {
    std::string text;
    if (const auto* id = argument.get_if<NodeId>()) return graph_->graph.node(*id).name;
    const bool has_parts = items_of(argument) != nullptr || argument.is<Argument::Dict>();
    append(argument, has_parts ? Form::kLiteral : Form::kText, text);
    return text;
  }

  void items(const std::vector<Argument>& items, Form form, std::string& out) {
    const char* separator = "";
    for (const Argument& item : items) {
      out += std::exchange(separator, ", ");
      append(item, form, out);
    }
  }

  void append(const Argument& argument, Form form, std::string& out) {
    const bool is_text = form == Form::kText;
    std::visit(
        [&](const auto& value) {
          using Value = std::decay_t<decltype(value)>;
          if constexpr (std::is_same_v<Value, double>) {
            out += python_number(value);
          } else if constexpr (std::is_same_v<Value, std::complex<double>>) {
            out += complex_text(value);
          } else if constexpr (std::is_same_v<Value, std::string>) {
            out += is_text ? value : python_text_literal(value);
          } else if constexpr (std::is_same_v<Value, Argument::List>) {
            out += '[';
            items(value.items, form, out);
            out += ']';
          } else if constexpr (std::is_same_v<Value, Argument::Tuple>) {
            tuple(value, form, out);
          } else if constexpr (std::is_same_v<Value, Argument::Dict>) {
            out += '{';
            for (const auto& [key, item] : value.items) {
              if (&key != &value.items.front().key) out += ", ";
              append(key, form, out);
              out += ": ";
              append(item, form, out);
            }
            out += '}';
          } else if constexpr (std::is_same_v<Value, Argument::Slice>) {
            out += "slice(";
            items(value.parts, Form::kLiteral, out);
            out += ')';
          } else if constexpr (std::is_same_v<Value, NodeId>) {
            out += (is_text ? "%" : "") + graph_->graph.node(value).name;
          } else if constexpr (std::is_same_v<Value, Argument::Device>) {
            out += is_text ? value.name : device_literal(value.name);
          } else if constexpr (std::is_same_v<Value, Argument::GraphRef>) {
            const auto& [name, target] =
                references_.emplace_back(names_.create(name_candidate(value.name, false)), value.name);
            out += (is_text ? "%" : "") + name;
          } else if constexpr (std::is_same_v<Value, Argument::Function>) {
            out += value.name;
          } else if constexpr (requires { value.name; }) {  // a dtype, layout or memory format
            out += "torch." + value.name;
          } else {
            out += print_argument(argument);
          }
        },
        argument.value);
  }

  void tuple(const Argument::Tuple& tuple, Form form, std::string& out) {
    const bool is_named = tuple.names != nullptr && form == Form::kLiteral;
    if (!is_named) {
      out += '(';
      items(tuple.items, form, out);
      out += tuple.items.size() == 1 ? ",)" : ")";
      return;
    }
    out += std::string(QualifiedName(tuple.names->type).last()) + "(";
    for (std::size_t i = 0; i < tuple.items.size(); ++i) {
      out += (i == 0 ? "" : ", ") + tuple.names->fields.at(i) + "=";
      append(tuple.items[i], form, out);
    }
    out += ')';
  }

  // Returns repr() of a float: "0.5", "100000.0", "1e-05", "inf".
  static std::string python_number(double number) {
    if (!std::isfinite(number)) return std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf";
    constexpr double kLeast = 1e-4, kMost = 1e16;  // outside of them, the number has an exponent
    const double size = std::abs(number);
    const auto format = number == 0 || (size >= kLeast && size < kMost) ? std::chars_format::fixed
                                                                        : std::chars_format::scientific;
    std::array<char, 64> digits{};
    std::string text(digits.data(),
                     std::to_chars(digits.data(), digits.data() + digits.size(), number, format).ptr);
    return text.find_first_of(".e") == text.npos ? text + ".0" : text;
  }

  static std::string complex_text(const std::complex<double>& number) {
    const auto part = [](double value) {
      std::string text = python_number(value);
      if (text.ends_with(".0")) text.resize(text.size() - 2);
      return text;
    };
    const std::string imaginary = part(number.imag()) + "j";
    if (number.real() == 0 && !std::signbit(number.real())) return imaginary;
    return "(" + part(number.real()) + (imaginary.starts_with('-') ? "" : "+") + imaginary + ")";
  }

  static std::string device_literal(const std::string& name) {
    const std::size_t colon = name.find(':');
    return "device(type='" + name.substr(0, colon) + "'" +
           (colon == name.npos ? "" : ", index=" + name.substr(colon + 1)) + ")";
  }

  std::ostream& out_;
  const bool is_program_;
  const ModuleGraph* graph_ = nullptr;
  Namespace names_;  // of the graph's nodes so far
  std::vector<std::pair<std::string, std::string>>
      references_;  // names of nodes that read bodies, and bodies
};

}  // namespace

void write_text(const GraphCollection& collection, std::ostream& out) {
  TextWriter(out).document(collection);
}

void write_torch_graph(const GraphCollection& collection, std::ostream& out) {
  TorchPrinter printer(collection, out);
  const char* separator = "";
  const auto write = [&](const auto& self, const ModuleGraph& graph, const std::string& title) -> void {
    out << std::exchange(separator, "\n");
    if (!title.empty()) out << "# " << printable(title) << '\n';
    printer.graph(graph);
    for (const auto& [name, subgraph] : graph.subgraphs)
      self(self, subgraph, "subgraph " + name + " of " + path_text(subgraph.module));
  };
  for (const ModuleGraph& graph : collection.graphs)
    write(write, graph, graph.module.empty() ? "" : "graph " + graph.module);
}

void write_json(const GraphCollection& collection, std::ostream& out) {
  JsonEmitter json(out);
  FieldWriter fields(json, true);
  json.document([&] {
    write_format(json, "fxtrace.graph_collection", 1);
    fields.field("model", collection.model);
    json.key("options").raw(collection.options_json);
    const Summary summary = summarize(collection);
    json.key("summary").object_lines([&] {
      json.field("graphs", summary.graphs);
      json.field("nodes", summary.nodes);
      json.key("modules").object([&] {
        for (const auto& [status, count] : summary.modules) json.field(to_string(status), count);
      });
      json.field("parameters", summary.parameters);
      json.field("unused_parameters", collection.unused_parameters);
      fields.optional("cost", summary.cost);
    });
    fields.field("modules", collection.modules);
    fields.field("parameters", collection.parameters);
    fields.field("graphs", collection.graphs);
  });
}

}  // namespace fxtrace::internal
