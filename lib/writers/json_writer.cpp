#include "writers/json_writer.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/summary.h"
#include "support/error.h"
#include "writers/json_emitter.h"

namespace fxtrace {
namespace {

class Writer {
 public:
  explicit Writer(std::ostream& out) : json_(out) {}

  void document(const GraphCollection& collection) {
    json_.open_lines('{');
    text("format", "fxtrace.graph_collection");
    integer("version", 1);
    json_.key("producer");
    json_.open('{');
    text("name", "fxtrace");
    text("version", FXTRACE_VERSION);
    json_.close('}');
    json_.key("model");
    json_.open('{');
    text("file", collection.model.file);
    text("kind", collection.model.kind);
    text_or_null("type", known(collection.model.type));
    text("method", collection.model.method);
    json_.close('}');
    json_.key("options");
    json_.raw(collection.options_json);
    summary(collection);
    lines("modules", collection.modules, [this](const ModuleRecord& module) { this->module(module); });
    lines("parameters", collection.parameters, [this](const ParameterRecord& record) { parameter(record); });
    lines("graphs", collection.graphs, [this](const ModuleGraph& graph) { this->graph(graph); });
    json_.close('}');
    json_.raw("\n");
    json_.flush();
  }

 private:
  void text(std::string_view key, std::string_view value) {
    json_.key(key);
    json_.string(value);
  }
  void text_or_null(std::string_view key, const std::optional<std::string>& value) {
    json_.key(key);
    if (value) {
      json_.string(*value);
    } else {
      json_.null();
    }
  }
  static std::optional<std::string> known(const std::string& text) {
    return text.empty() ? std::nullopt : std::optional(text);
  }
  void integer(std::string_view key, std::int64_t value) {
    json_.key(key);
    json_.integer(value);
  }

  // A list with one item a line; `write` writes an item.
  template <class Items, class F>
  void lines(std::string_view key, const Items& items, F&& write) {
    json_.key(key);
    json_.open_lines('[');
    for (const auto& item : items) {
      json_.item();
      write(item);
    }
    json_.close(']');
  }
  template <class Items, class F>
  void list(const Items& items, F&& write) {
    json_.open('[');
    for (const auto& item : items) {
      json_.item();
      write(item);
    }
    json_.close(']');
  }
  void strings(std::string_view key, const std::vector<std::string>& items) {
    json_.key(key);
    list(items, [this](const std::string& item) { json_.string(item); });
  }

  void summary(const GraphCollection& collection) {
    const Summary summary = summarize(collection);
    json_.key("summary");
    json_.open_lines('{');
    integer("graphs", summary.graphs);
    integer("nodes", summary.nodes);
    json_.key("modules");
    json_.open('{');
    for (const auto& [status, count] : summary.modules) integer(to_string(status), count);
    json_.close('}');
    integer("parameters", summary.parameters);
    strings("unused_parameters", collection.unused_parameters);
    if (summary.cost) cost(*summary.cost);
    json_.close('}');
  }

  void module(const ModuleRecord& module) {
    json_.open('{');
    text("path", module.path);
    text_or_null("type", known(module.type));
    text("status", to_string(module.status));
    text_or_null("alias_of", module.alias_of);
    text_or_null("rule", module.rule);
    integer("calls", module.calls);
    if (!module.attributes.empty()) attributes(module);
    if (module.outputs) {
      json_.key("outputs");
      list(*module.outputs, [this](const Meta& output) {
        json_.open('{');
        shape_and_dtype(output);
        json_.close('}');
      });
    }
    json_.key("failure");
    if (const auto& failure = module.failure) {
      json_.open('{');
      text("kind", to_string(failure->kind));
      text("message", failure->message);
      text("module", failure->module);
      text_or_null("op", known(failure->op));
      source(failure->source);
      json_.close('}');
    } else {
      json_.null();
    }
    json_.close('}');
  }

  void attributes(const ModuleRecord& module) {
    json_.key("attributes");
    json_.open('{');
    for (const auto& [name, value] : module.attributes) {
      json_.key(name);
      argument(Graph(), value);
    }
    json_.close('}');
  }

  void parameter(const ParameterRecord& parameter) {
    json_.open('{');
    text("name", parameter.name);
    text("kind", to_string(parameter.kind));
    if (parameter.kind == ParameterKind::kCustomObject) {
      text_or_null("shape", std::nullopt);
      text_or_null("dtype", std::nullopt);
      text("type", parameter.type);
    } else {
      sizes(parameter.shape);
      text("dtype", parameter.dtype);
    }
    if (parameter.device) text("device", *parameter.device);
    text_or_null("alias_of", parameter.alias_of);
    json_.close('}');
  }

  void sizes(const std::vector<std::int64_t>& shape) {
    json_.key("shape");
    list(shape, [this](std::int64_t size) { json_.integer(size); });
  }

  void source(const std::optional<SourceLocation>& source) {
    json_.key("source");
    if (!source) return json_.null();
    json_.open('{');
    text("file", source->file);
    json_.key("line");
    if (source->line > 0) {
      json_.integer(source->line);
    } else {
      json_.null();
    }
    text("function", source->function);
    text("text", source->text);
    json_.close('}');
  }

  void graph(const ModuleGraph& graph) {
    json_.open_lines('{');
    text("module", graph.module);
    text_or_null("type", known(graph.type));
    lines("nodes", graph.graph.order(), [&](NodeId id) { node(graph.graph, graph.graph.node(id)); });
    json_.key("constants");
    json_.open_lines('{');
    for (const auto& [name, constant] : graph.constants) {
      json_.key(name);
      this->constant(graph.graph, name, constant);
    }
    json_.close('}');
    json_.key("subgraphs");
    json_.open_lines('{');
    for (const auto& [name, subgraph] : graph.subgraphs) {
      json_.key(name);
      this->graph(subgraph);
    }
    json_.close('}');
    lines("guards", graph.guards, [this](const Guard& guard) {
      json_.open('{');
      text("expr", guard.expr.text());
      source(guard.source);
      json_.close('}');
    });
    if (graph.signature) signature(graph.graph, *graph.signature);
    if (graph.execution) execution(*graph.execution);
    if (graph.cost) cost(*graph.cost);
    json_.close('}');
  }

  void cost(const Cost& cost) {
    json_.key("cost");
    Cost nothing_known;
    nothing_known.unsized = 1;
    if (cost == nothing_known) return json_.null();
    json_.open('{');
    size_or_null("macs", cost.macs);
    if (cost.parameter_bytes != 0) integer("parameter_bytes", cost.parameter_bytes);
    size_or_null("activation_bytes", cost.activation_bytes);
    if (cost.peak_bytes) size_or_null("peak_bytes", cost.peak_bytes);
    if (!cost.unknown.empty()) {
      json_.key("unknown");
      json_.open('{');
      for (const auto& [name, count] : cost.unknown) integer(name, count);
      json_.close('}');
    }
    if (cost.unsized != 0) integer("unsized", cost.unsized);
    json_.close('}');
  }
  void size_or_null(std::string_view key, const std::optional<SymInt>& size) {
    json_.key(key);
    if (!size) return json_.null();
    if (const auto number = size->number()) return json_.integer(*number);
    json_.string(size->text());
  }

  void signature(const Graph& graph, const GraphSignature& signature) {
    const auto write = [&](const GraphSignature::Entry& entry) { signature_entry(graph, entry); };
    json_.key("graph_signature");
    json_.open_lines('{');
    lines("inputs", signature.inputs, write);
    lines("outputs", signature.outputs, write);
    json_.close('}');
  }

  void signature_entry(const Graph& graph, const GraphSignature::Entry& entry) {
    json_.open('{');
    text("role", to_string(entry.role));
    text("name", entry.name);
    if (entry.target) text("target", *entry.target);
    if (entry.persistent) {
      json_.key("persistent");
      json_.boolean(*entry.persistent);
    }
    // A model's only output has a path too: an empty one.
    if (!entry.path.empty() || entry.role == SignatureRole::kUserInput ||
        entry.role == SignatureRole::kUserOutput) {
      json_.key("path");
      items(graph, entry.path);
    }
    if (entry.value) {
      json_.key("value");
      argument(graph, *entry.value);
    }
    text_or_null("node", entry.node.valid() ? std::optional(graph.node(entry.node).name) : std::nullopt);
    json_.close('}');
  }

  void execution(const Execution& execution) {
    json_.key("execution");
    json_.open_lines('{');
    strings("module_forward_order", execution.module_forward_order);
    strings("param_forward_order", execution.param_forward_order);
    lines("module_param_usage", execution.module_param_usage, [this](const Execution::ModuleUses& module) {
      json_.open('{');
      text("module", module.module);
      json_.key("uses");
      list(module.uses, [this](const Execution::Use& use) {
        json_.open('{');
        text("module", use.module);
        strings("params", use.params);
        json_.close('}');
      });
      json_.close('}');
    });
    json_.close('}');
  }

  void constant(const Graph& graph, const std::string& name, const Constant& constant) {
    json_.open('{');
    if (!constant.object_type.empty()) {
      text("type", constant.object_type);
      text("record", constant.record);
      integer("index", constant.object_index);
      return json_.close('}');
    }
    text("dtype", constant.dtype);
    sizes(constant.shape);
    json_.key("data");
    if (constant.data && !too_many_lists(constant.shape)) {
      std::span<const Argument> data = *constant.data;
      elements(graph, constant.shape, data);
      if (!data.empty() || short_of_data_) {
        throw Error(ErrorKind::kInternal, "constant " + name + " has other elements than its shape says");
      }
    } else {
      json_.null();
      text_or_null("record", known(constant.record));
      if (!constant.record.empty()) {
        json_.key("stride");
        list(constant.stride, [this](std::int64_t stride) { json_.integer(stride); });
        integer("storage_offset", constant.storage_offset);
      }
    }
    json_.close('}');
  }

  // A tensor without elements can still claim any number of empty lists.
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
    json_.open('{');
    text("name", node.name);
    text("op", to_string(node.op));
    text("target", node.target);
    json_.key("args");
    list(node.args, [&](const Argument& value) { argument(graph, value); });
    json_.key("kwargs");
    json_.open('{');
    for (const auto& [key, value] : node.kwargs) {
      json_.key(key);
      argument(graph, value);
    }
    json_.close('}');
    json_.key("users");
    list(node.users, [&](NodeId user) { json_.string(graph.node(user).name); });
    json_.key("scope");
    json_.open('{');
    text("module_path", node.scope->module_path);
    text_or_null("module_type", node.scope->module_type);
    integer("call", node.scope->call);
    json_.close('}');
    meta(node);
    source(node.source);
    if (!node.method->empty()) text("method", *node.method);
    if (node.model_function) {
      json_.key("model_function");
      json_.boolean(true);
      if (node.is_recorded) {
        json_.key("recorded");
        json_.boolean(true);
      }
    }
    if (!node.program_nodes->empty()) strings("program_nodes", node.program_nodes);
    json_.close('}');
  }

  void shape_and_dtype(const Meta& meta) {
    json_.key("shape");
    if (meta.shape) {
      list(*meta.shape, [this](const Meta::Dim& dim) { dimension(dim); });
    } else {
      json_.null();
    }
    text_or_null("dtype", meta.dtype);
  }

  void meta(const Node& node) {
    const Meta& meta = *node.meta;
    json_.key("meta");
    if (meta == Meta{} && !*node.cost) return json_.null();
    json_.open('{');
    text_or_null("type", meta.type);
    shape_and_dtype(meta);
    if (meta.device) text("device", *meta.device);
    if (meta.value) {
      json_.key("value");
      dimension(*meta.value);
    }
    if (*node.cost) cost(**node.cost);
    json_.close('}');
  }

  void dimension(const Meta::Dim& dim) {
    if (const auto number = dim.number()) {
      json_.integer(*number);
    } else {
      json_.string(dim.text());
    }
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
      json_.open('[');
      json_.item();
      number(value.real());
      json_.item();
      number(value.imag());
      json_.close(']');
    });
  }
  void value(const Graph&, const std::string& value) { json_.string(value); }
  void value(const Graph& graph, const Argument::List& list) { items(graph, list.items); }
  void value(const Graph& graph, const Argument::Tuple& tuple) {
    tagged("tuple", [&] { items(graph, tuple.items); });
  }
  void value(const Graph& graph, const Argument::Dict& dict) {
    tagged("dict", [&] {
      list(dict.items, [&](const Argument::DictItem& entry) {
        json_.open('[');
        json_.item();
        argument(graph, entry.key);
        json_.item();
        argument(graph, entry.value);
        json_.close(']');
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
    list(items, [&](const Argument& item) { argument(graph, item); });
  }
  void number(double value) {
    if (std::isfinite(value)) return json_.finite_double(value);
    tagged_string("float", std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
  }
  template <class F>
  void tagged(std::string_view tag, F&& write) {
    json_.open('{');
    json_.key(tag);
    write();
    json_.close('}');
  }
  void tagged_string(std::string_view tag, std::string_view text) {
    tagged(tag, [&] { json_.string(text); });
  }

  JsonEmitter json_;
  bool short_of_data_ = false;  // a constant had fewer elements than its shape says
};

}  // namespace

void write_json(const GraphCollection& collection, std::ostream& out) { Writer(out).document(collection); }

}  // namespace fxtrace
