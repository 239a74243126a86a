#include "writers/graphs/json_writer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/analysis/collection_summary.h"
#include "support/error.h"
#include "writers/formats/json_parts.h"

namespace fxtrace {
namespace {

class CollectionWriter {
 public:
  explicit CollectionWriter(std::ostream& out) : json_(out) {}

  void document(const GraphCollection& collection) {
    json_.document([&] {
      write_format(json_, "fxtrace.graph_collection", 1);
      json_.key("model").object([&] { write_model_fields(json_, collection.model); });
      json_.key("options").raw(collection.options_json);
      summary(collection);
      json_.key("modules").objects_lines(collection.modules,
                                         [&](const ModuleRecord& record) { module(record); });
      json_.key("parameters").objects_lines(collection.parameters, [&](const ParameterRecord& record) {
        parameter(record);
      });
      json_.key("graphs").list_lines(collection.graphs, [&](const ModuleGraph& item) { graph(item); });
    });
  }

 private:
  void summary(const GraphCollection& collection) {
    const Summary summary = summarize(collection);
    json_.key("summary").object_lines([&] {
      json_.field("graphs", summary.graphs);
      json_.field("nodes", summary.nodes);
      json_.key("modules").object([&] {
        for (const auto& [status, count] : summary.modules) json_.field(to_string(status), count);
      });
      json_.field("parameters", summary.parameters);
      json_.field("unused_parameters", collection.unused_parameters);
      if (summary.cost) cost(*summary.cost);
    });
  }

  void module(const ModuleRecord& module) {
    json_.field("path", module.path);
    json_.text_or_null("type", module.type);
    json_.field("status", to_string(module.status));
    json_.field("alias_of", module.alias_of);
    json_.text_or_null("alias", module.is_assumed ? "assumed" : "");
    json_.field("rule", module.rule);
    json_.field("calls", module.calls);
    if (!module.attributes.empty()) {
      json_.key("attributes").object([&] {
        for (const auto& [name, value] : module.attributes) field(name, Graph(), value);
      });
    }
    if (module.outputs) {
      json_.key("outputs").objects(*module.outputs, [&](const Meta& output) { shape_and_dtype(output); });
    }
    write_failure(json_, module.failure);
  }

  void parameter(const ParameterRecord& parameter) {
    json_.field("name", parameter.name);
    json_.field("kind", to_string(parameter.kind));
    if (parameter.kind == ParameterKind::kCustomObject) {
      json_.key("shape").null();
      json_.key("dtype").null();
      json_.field("type", parameter.type);
    } else {
      json_.field("shape", parameter.shape);
      json_.field("dtype", parameter.dtype);
      if (!parameter.type.empty()) json_.field("type", parameter.type);
    }
    write_stored(json_, parameter.stored);
    if (parameter.device) json_.field("device", *parameter.device);
    json_.field("alias_of", parameter.alias_of);
  }

  void graph(const ModuleGraph& graph) {
    json_.object_lines([&] {
      json_.field("module", graph.module);
      json_.text_or_null("type", graph.type);
      json_.key("nodes").objects_lines(graph.graph.order(),
                                       [&](NodeId id) { node(graph.graph, graph.graph.node(id)); });
      json_.key("constants").object_lines([&] {
        for (const auto& [name, value] : graph.constants) {
          json_.key(name);
          constant(graph.graph, name, value);
        }
      });
      json_.key("subgraphs").object_lines([&] {
        for (const auto& [name, subgraph] : graph.subgraphs) {
          json_.key(name);
          this->graph(subgraph);
        }
      });
      json_.key("guards").objects_lines(graph.guards, [&](const Guard& guard) {
        json_.field("expr", guard.expr.text());
        write_source(json_, guard.source);
        json_.field("reason", to_string(guard.reason));
      });
      json_.key("assignments").objects_lines(graph.graph.assignments(), [&](const Assignment& assignment) {
        json_.field("target", assignment.target);
        field("value", graph.graph, assignment.value);
        write_source(json_, assignment.source);
      });
      if (graph.signature) signature(graph.graph, *graph.signature);
      if (graph.execution) execution(*graph.execution);
      if (graph.cost) cost(*graph.cost);
    });
  }

  void cost(const Cost& cost) {
    json_.key("cost");
    Cost nothing_known;
    nothing_known.unsized = 1;
    if (cost == nothing_known) return json_.null();
    json_.object([&] {
      json_.field("macs", cost.macs);
      if (cost.parameter_bytes != 0) json_.field("parameter_bytes", cost.parameter_bytes);
      json_.field("activation_bytes", cost.activation_bytes);
      if (cost.peak_bytes) json_.field("peak_bytes", cost.peak_bytes);
      if (!cost.unknown.empty()) json_.field("unknown", cost.unknown);
      if (cost.unsized != 0) json_.field("unsized", cost.unsized);
    });
  }

  void signature(const Graph& graph, const GraphSignature& signature) {
    const auto write = [&](const GraphSignature::Entry& entry) { signature_entry(graph, entry); };
    json_.key("graph_signature").object_lines([&] {
      json_.key("inputs").objects_lines(signature.inputs, write);
      json_.key("outputs").objects_lines(signature.outputs, write);
    });
  }

  void signature_entry(const Graph& graph, const GraphSignature::Entry& entry) {
    json_.field("role", to_string(entry.role));
    json_.field("name", entry.name);
    if (entry.target) json_.field("target", *entry.target);
    if (entry.persistent) json_.field("persistent", *entry.persistent);
    // The only output of a model has an empty path.
    if (!entry.path.empty() || entry.role == SignatureRole::kUserInput ||
        entry.role == SignatureRole::kUserOutput) {
      json_.key("path");
      items(graph, entry.path);
    }
    if (entry.value) field("value", graph, *entry.value);
    json_.text_or_null("node", entry.node.valid() ? graph.node(entry.node).name : std::string());
  }

  void execution(const Execution& execution) {
    json_.key("execution").object_lines([&] {
      json_.field("module_forward_order", execution.module_forward_order);
      json_.field("param_forward_order", execution.param_forward_order);
      json_.key("module_param_usage").objects_lines(execution.module_param_usage, [&](const auto& module) {
        json_.field("module", module.module);
        json_.key("uses").objects(module.uses, [&](const Execution::Use& use) {
          json_.field("module", use.module);
          json_.field("params", use.params);
        });
      });
      if (!execution.method_calls.empty()) {
        json_.key("method_calls")
            .objects_lines(execution.method_calls, [&](const Execution::MethodCall& call) {
              json_.field("module", call.module);
              json_.field("method", call.method);
              json_.field("position", call.position);
            });
      }
      if (execution.call_values.empty()) return;
      json_.key("call_values").objects_lines(execution.call_values, [&](const Execution::CallValues& call) {
        const auto nodes = [&](const char* key, const auto& named) {
          json_.key(key).object([&] {
            for (const auto& [name, node] : named) json_.field(name, node);
          });
        };
        json_.field("module", call.module);
        json_.field("call", call.call);
        if (!call.method.empty()) json_.field("method", call.method);
        nodes("inputs", call.inputs);
        if (call.results.empty()) return;
        json_.text_or_null("type", call.type);
        nodes("results", call.results);
      });
    });
  }

  void constant(const Graph& graph, const std::string& name, const Constant& constant) {
    json_.object([&] {
      if (!constant.object_type.empty()) {
        json_.field("type", constant.object_type);
        json_.field("record", constant.record);
        json_.field("index", constant.object_index);
        write_stored(json_, constant.stored);
        return;
      }
      json_.field("dtype", constant.dtype);
      json_.field("shape", constant.shape);
      json_.key("data");
      if (constant.data && !too_many_lists(constant.shape)) {
        std::span<const Argument> data = *constant.data;
        elements(graph, constant.shape, data);
        if (!data.empty() || short_of_data_) {
          throw Error(ErrorKind::kInternal,
                      "constant " + name + ": the number of elements does not match its shape");
        }
        return;
      }
      json_.null();
      json_.text_or_null("record", constant.record);
      if (constant.record.empty()) return;
      json_.field("stride", constant.stride);
      json_.field("storage_offset", constant.storage_offset);
    });
  }

  // Returns whether a shape without elements would need too many empty lists.
  static bool too_many_lists(const std::vector<std::int64_t>& shape) {
    std::int64_t lists = 1;
    for (const auto size : shape) {
      if (size == 0) return false;
      if (size > kMaxConstantElements / lists) return true;
      lists *= std::max<std::int64_t>(size, 1);
    }
    return false;
  }

  // Takes the elements of a tensor with this shape from the front of `data`.
  void elements(const Graph& graph, std::span<const std::int64_t> shape, std::span<const Argument>& data) {
    if (shape.empty()) {
      short_of_data_ = short_of_data_ || data.empty();
      if (data.empty()) return;
      argument(graph, data.front());
      data = data.subspan(1);
      return;
    }
    json_.open('[');
    for (std::int64_t i = 0; i < shape.front() && !short_of_data_; ++i) {
      json_.item();
      elements(graph, shape.subspan(1), data);
    }
    json_.close(']');
  }

  void node(const Graph& graph, const Node& node) {
    json_.field("name", node.name);
    json_.field("op", to_string(node.op));
    json_.field("target", *node.target);
    json_.key("args");
    items(graph, node.args);
    json_.key("kwargs").object([&] {
      for (const auto& [key, value] : node.kwargs) field(key, graph, value);
    });
    json_.key("users").list(node.users, [&](NodeId user) { json_.string(graph.node(user).name); });
    json_.key("scope").object([&] {
      json_.field("module_path", node.scope->module_path);
      json_.field("module_type", node.scope->module_type);
      json_.field("call", node.scope->call);
      if (!node.scope->method.empty()) json_.field("method", node.scope->method);
    });
    meta(node);
    write_source(json_, node.source);
    if (!node.method->empty()) json_.field("method", *node.method);
    if (node.model_function) json_.field("model_function", true);
    if (node.model_function && node.is_recorded) json_.field("recorded", true);
    if (node.in_order_of_use) json_.field("arguments", kInOrderOfUse);
    const ProgramPart& program = *node.program;
    if (program.nodes.empty()) return;
    json_.field("program_nodes", program.nodes);
    if (node.op == Opcode::kPlaceholder) return;
    places("program_inputs", graph, program.inputs);
    places("program_results", graph, program.results);
  }

  void places(std::string_view name, const Graph& graph, const std::vector<ProgramPart::Place>& list) {
    json_.key(name).list(list, [&](const ProgramPart::Place& place) {
      json_.object([&] {
        json_.field("value", place.value);
        json_.key("path");
        items(graph, place.path);
      });
    });
  }

  void shape_and_dtype(const Meta& meta) {
    json_.field("shape", meta.shape);
    json_.field("dtype", meta.dtype_text());
  }

  void meta(const Node& node) {
    const Meta& meta = *node.meta;
    json_.key("meta");
    const bool tells = meta.type || meta.shape || meta.has_dtype() || meta.device || meta.value || *node.cost;
    if (!tells) return json_.null();
    json_.object([&] {
      json_.field("type", meta.type);
      shape_and_dtype(meta);
      if (meta.device) json_.field("device", meta.device->text());
      if (meta.value) json_.field("value", *meta.value);
      if (*node.cost) cost(**node.cost);
    });
  }

  void field(std::string_view name, const Graph& graph, const Argument& value) {
    json_.key(name);
    argument(graph, value);
  }

  void argument(const Graph& graph, const Argument& argument) {
    std::visit([&](const auto& value) { this->value(graph, value); }, argument.value);
  }

  void value(const Graph&, Argument::None) { json_.null(); }
  void value(const Graph&, bool value) { json_.boolean(value); }
  void value(const Graph&, std::int64_t value) { json_.integer(value); }
  void value(const Graph&, double value) { number(value); }
  void value(const Graph&, const std::complex<double>& value) {
    tagged("complex", [&] {
      json_.list(std::array{value.real(), value.imag()}, [this](double part) { number(part); });
    });
  }
  void value(const Graph&, const std::string& value) { json_.string(value); }
  void value(const Graph& graph, const Argument::List& list) { items(graph, list.items); }
  void value(const Graph& graph, const Argument::Tuple& tuple) {
    if (tuple.names == nullptr) return tagged("tuple", [&] { items(graph, tuple.items); });
    tagged("namedtuple", [&] {
      json_.object([&] {
        json_.field("type", tuple.names->type);
        json_.field("fields", tuple.names->fields);
        json_.key("values");
        items(graph, tuple.items);
      });
    });
  }
  void value(const Graph& graph, const Argument::Dict& dict) {
    tagged("dict", [&] {
      json_.list(dict.items, [&](const Argument::DictItem& entry) {
        json_.list(std::array{&entry.key, &entry.value},
                   [&](const Argument* part) { argument(graph, *part); });
      });
    });
  }
  void value(const Graph& graph, const Argument::Slice& slice) {
    tagged("slice", [&] { items(graph, slice.parts); });
  }
  void value(const Graph& graph, NodeId id) { tagged_string("node", graph.node(id).name); }
  void value(const Graph&, const Argument::Dtype& dtype) { tagged_string("dtype", dtype.name); }
  void value(const Graph&, const Argument::Device& device) { tagged_string("device", device.name); }
  void value(const Graph&, const Argument::Layout& layout) { tagged_string("layout", layout.name); }
  void value(const Graph&, const Argument::MemoryFormat& format) {
    tagged_string("memory_format", format.name);
  }
  void value(const Graph&, const Argument::GraphRef& graph) { tagged_string("graph", graph.name); }
  void value(const Graph&, const Argument::Function& function) { tagged_string("function", function.name); }

  void items(const Graph& graph, const std::vector<Argument>& items) {
    json_.list(items, [&](const Argument& item) { argument(graph, item); });
  }
  void number(double value) {
    if (std::isfinite(value)) return json_.real(value);
    tagged_string("float", std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
  }
  template <class F>
  void tagged(std::string_view tag, F&& write) {
    json_.object([&] { json_.field(tag, write); });
  }
  void tagged_string(std::string_view tag, std::string_view text) {
    json_.object([&] { json_.field(tag, text); });
  }

  JsonEmitter json_;
  bool short_of_data_ = false;  // a constant had fewer elements than its shape says
};

}  // namespace

void write_json(const GraphCollection& collection, std::ostream& out) {
  CollectionWriter(out).document(collection);
}

}  // namespace fxtrace
