#include "writers/graphs/collection_writers.h"

#include <string>
#include <string_view>
#include <vector>

#include "graph/analysis/collection_summary.h"
#include "graph/analysis/text_form.h"
#include "support/text/qualified_name.h"
#include "support/text/unicode.h"
#include "support/text/words.h"
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

}  // namespace

void write_text(const GraphCollection& collection, std::ostream& out) {
  TextWriter(out).document(collection);
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
