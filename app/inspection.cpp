#include "app/inspection.h"

#include <algorithm>
#include <utility>

#include "app/compiled_models.h"
#include "app/table.h"
#include "graph/text_form.h"
#include "operators/modules.h"
#include "support/columns.h"
#include "support/printable.h"
#include "support/qualified_name.h"
#include "support/words.h"
#include "writers/json_parts.h"

namespace fxtrace::cli {
namespace {

constexpr std::size_t kMaxConstants = 40;  // rows of the text; JSON has them all

// What the trace knows beyond the declarations: with dummy inputs, shapes.
void add_shapes(MethodInfo& method, const GraphCollection& collection) {
  if (collection.graphs.empty() || !collection.graphs.front().module.empty()) return;
  const Graph& graph = collection.graphs.front().graph;
  const auto take = [](PortInfo& port, const Node& node) {
    if (port.meta.shape || !node.meta->shape) return;
    port.meta.shape = node.meta->shape;
    port.meta.dtype = node.meta->dtype;
  };
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (node.op == Opcode::kPlaceholder) {
      const auto input = std::find_if(method.inputs.begin(), method.inputs.end(),
                                      [&](const PortInfo& port) { return port.name == node.target; });
      if (input != method.inputs.end()) take(*input, node);
    } else if (node.op == Opcode::kOutput && node.args.size() == 1) {
      const auto* tuple = node.args.front().get_if<Argument::Tuple>();
      for (std::size_t i = 0; i < method.outputs.size(); ++i) {
        const Argument* part = &node.args.front();
        if (tuple != nullptr) part = i < tuple->items.size() ? &tuple->items[i] : nullptr;
        const auto* value = part != nullptr ? part->get_if<NodeId>() : nullptr;
        if (value != nullptr) take(method.outputs[i], graph.node(*value));
      }
    }
  }
}

std::string status_text(const ModuleRecord& module) {
  std::string text = to_string(module.status);
  if (module.alias_of) {
    text = "the same as ";
    text += module.alias_of->empty() ? "the root" : *module.alias_of;
  } else if (module.rule) {
    text += " (" + *module.rule + ")";
  } else if (module.failure) {
    text += " (" + module.failure->message + ")";
  }
  return text;
}

// "Tensor", "float32[1, batch]", "0.5 (fixed)"
std::string port_text(const PortInfo& port) {
  if (port.fixed) return print_argument(*port.fixed) + " (fixed)";
  if (port.meta.shape || port.meta.value) return value_text(port.meta);
  return port.meta.type ? *port.meta.type : "unknown";
}

std::string signature_text(const MethodInfo& method) {
  std::string text = method.name + "(";
  for (const auto& input : method.inputs) {
    if (!text.ends_with('(')) text += ", ";
    text += input.name + ": " + port_text(input);
    if (input.default_value) text += " = " + print_argument(*input.default_value);
  }
  text += ") -> ";
  if (method.outputs.size() == 1) return text + port_text(method.outputs.front());
  return text + "(" + joined(method.outputs, port_text) + ")";
}

// "parameters: 1,024 elements in 2 tensors, 4,096 bytes (float32 on cpu)"
void write_total(std::ostream& out, const char* what, const TensorTotal& total) {
  out << what << ": ";
  if (total.tensors == 0) {
    out << "none\n";
    return;
  }
  out << with_separators(total.elements) << (total.elements == 1 ? " element in " : " elements in ")
      << with_separators(total.tensors) << (total.tensors == 1 ? " tensor, " : " tensors, ")
      << with_separators(total.bytes) << " bytes (" << one_line(joined(total.dtypes));
  if (!total.devices.empty()) out << " on " << one_line(joined(total.devices));
  out << ")\n";
}

void write_method(const MethodInfo& method, std::ostream& out) {
  const bool has_defaults =
      std::any_of(method.inputs.begin(), method.inputs.end(),
                  [](const PortInfo& input) { return input.default_value.has_value(); });
  std::vector<TableRow> rows{{"input", "type"}};
  if (has_defaults) rows.front().emplace_back("default");
  for (const auto& input : method.inputs) {
    rows.push_back({input.name, port_text(input)});
    if (input.default_value) rows.back().push_back(print_argument(*input.default_value));
  }
  if (method.inputs.empty()) rows.push_back({"(none)", ""});
  write_table(out, rows, {false, false, false});
  out << "\n";
  rows = {{"output", "type"}};
  for (const auto& output : method.outputs) {
    rows.push_back({output.name.empty() ? "(result)" : output.name, port_text(output)});
  }
  if (method.outputs.empty()) rows.push_back({"(none)", ""});
  write_table(out, rows, {false, false});
  out << "\n";
}

void write_methods(const Inspection& inspection, std::ostream& out) {
  if (inspection.method) write_method(inspection.methods[*inspection.method], out);
  if (inspection.methods.size() < 2 && inspection.method) return;
  out << (inspection.methods.empty() ? "no methods"
          : inspection.method        ? "other methods:"
                                     : "methods:")
      << "\n";
  for (std::size_t i = 0; i < inspection.methods.size(); ++i) {
    if (i != inspection.method) out << "  " << one_line(signature_text(inspection.methods[i])) << "\n";
  }
  out << "\n";
}

void write_constants(const Inspection& inspection, std::ostream& out) {
  if (inspection.constants.empty()) return;
  std::vector<TableRow> rows{{"constant", "type", "bytes"}};
  for (const auto& constant : inspection.constants) {
    if (rows.size() > kMaxConstants) break;
    if (constant.dtype.empty()) {
      const std::int64_t bytes = byte_count(constant.stored);
      rows.push_back({constant.name, constant.type, bytes == 0 ? "" : with_separators(bytes)});
      continue;
    }
    const Meta tensor{.type = {},
                      .shape = std::vector<Meta::Dim>(constant.shape.begin(), constant.shape.end()),
                      .dtype = constant.dtype,
                      .device = {},
                      .value = {}};
    rows.push_back({constant.name, value_text(tensor), with_separators(byte_count(constant))});
  }
  write_table(out, rows, {false, false, true});
  if (inspection.constants.size() > kMaxConstants) {
    out << "... and " << inspection.constants.size() - kMaxConstants << " more, which --json lists\n";
  }
  out << "\n";
}

void write_modules(const Inspection& inspection, std::ostream& out) {
  const auto& modules = inspection.collection.modules;
  std::vector<TableRow> rows{{"module", "type", "own", "total", "bytes", "status"}};
  std::size_t hidden = 0;
  for (std::size_t i = 0; i < modules.size(); ++i) {
    const ModuleRecord& module = modules[i];
    const auto depth = static_cast<std::ptrdiff_t>(QualifiedName(module.path).parts().size());
    if (inspection.max_depth && depth > *inspection.max_depth) {
      ++hidden;
      continue;
    }
    const std::string name =
        module.path.empty() ? path_text(module.path) : name_of_part(QualifiedName(module.path).last());
    std::string status = status_text(module);
    const auto& methods = inspection.module_methods[i];
    if (!methods.empty() && std::find(methods.begin(), methods.end(), "forward") == methods.end())
      status += "; methods: " + joined(methods);
    // Indentation stops where a tree gets too deep to be read as one.
    rows.push_back(
        {std::string(2 * static_cast<std::size_t>(std::min<std::ptrdiff_t>(depth, 30)), ' ') + name,
         module.type.empty() ? "-" : public_alias(module.type),
         with_separators(inspection.sizes[i].own_parameters.elements),
         with_separators(inspection.sizes[i].parameters.elements),
         with_separators(inspection.sizes[i].parameters.bytes), status});
  }
  write_table(out, rows, {false, false, true, true, true, false});
  if (hidden != 0) {
    out << "... and " << hidden << (hidden == 1 ? " module" : " modules") << " below --max-depth "
        << std::to_string(*inspection.max_depth) << "\n";
  }
}

void total_json(const char* key, const TensorTotal& total, JsonEmitter& json) {
  json.key(key).object([&] {
    json.field("tensors", total.tensors);
    json.field("elements", total.elements);
    json.field("bytes", total.bytes);
    json.field("dtypes", total.dtypes);
    json.field("devices", total.devices);
  });
}

void sizes_json(const char* key, const TensorTotal& own, const TensorTotal& total, JsonEmitter& json) {
  json.key(key).object([&] {
    json.field("own", own.elements);
    json.field("total", total.elements);
    json.field("own_bytes", own.bytes);
    json.field("bytes", total.bytes);
  });
}

void ports_json(const char* key, const std::vector<PortInfo>& ports, bool are_inputs, JsonEmitter& json) {
  json.key(key).objects(ports, [&](const PortInfo& port) {
    json.field("name", port.name);
    json.field("type", port.meta.type);
    json.field("shape", port.meta.shape);
    json.field("dtype", port.meta.dtype);
    if (are_inputs) {
      json.field("default",
                 port.default_value ? std::optional(print_argument(*port.default_value)) : std::nullopt);
    }
    json.field("value", port.fixed                           ? print_argument(*port.fixed)
                        : port.meta.shape || port.meta.value ? value_text(port.meta)
                                                             : port.meta.type.value_or(""));
    json.field("fixed", port.fixed.has_value());
  });
}

void signature_json(const MethodInfo& method, JsonEmitter& json) {
  ports_json("inputs", method.inputs, true, json);
  ports_json("outputs", method.outputs, false, json);
}

// Of a script object its type, and what it holds.
void tensor_json(bool is_tensor, const std::vector<std::int64_t>& shape, const std::string& dtype,
                 std::optional<std::int64_t> bytes, const std::string& type,
                 const std::vector<StoredPart>& stored, JsonEmitter& json) {
  json.field("shape", is_tensor ? std::optional(shape) : std::nullopt);
  json.field("dtype", is_tensor ? std::optional(dtype) : std::nullopt);
  json.field("bytes", bytes);
  if (!type.empty() || !is_tensor) json.field("type", type);
  write_stored(json, stored);
}

void module_json(const ModuleRecord& module, const ModuleSizes& sizes,
                 const std::vector<std::string>& methods, JsonEmitter& json) {
  json.field("path", module.path);
  json.text_or_null("type", module.type);
  json.text_or_null("public_type", public_alias(module.type));
  json.field("status", to_string(module.status));
  json.field("alias_of", module.alias_of);
  json.field("rule", module.rule);
  json.field("failure", module.failure ? std::optional(module.failure->message) : std::nullopt);
  json.field("methods", methods);
  sizes_json("parameters", sizes.own_parameters, sizes.parameters, json);
  sizes_json("buffers", sizes.own_buffers, sizes.buffers, json);
}

}  // namespace

Inspection inspect(TraceResult traced, const FileInfo& file, const std::string& method) {
  GraphCollection& collection = traced.collection;
  auto& methods = traced.description.methods;
  Inspection inspection;
  inspection.file = file;
  inspection.file.producer_version = collection.model.producer_version;
  inspection.producer = std::move(traced.description.producer);
  inspection.sizes = count_parameters(collection);
  inspection.methods = methods.front();
  for (std::size_t i = 0; i < inspection.methods.size() && !inspection.method; ++i) {
    const std::string& name = inspection.methods[i].name;
    // LibTorch's name of the first overload, which is what a call of the module runs.
    if (name == method || name == method + "__0") inspection.method = i;
  }
  if (inspection.method) add_shapes(inspection.methods[*inspection.method], collection);
  for (const auto& of_module : methods) {
    auto& names = inspection.module_methods.emplace_back();
    for (const auto& [name, inputs, outputs] : of_module) names.push_back(name);
  }
  inspection.constants = std::move(traced.description.constants);
  for (const auto& constant : inspection.constants) {
    if (!constant.dtype.empty()) inspection.constants_total.add(constant.shape, constant.dtype);
    for (const StoredPart& part : constant.stored) inspection.constants_total.add(part.shape, part.dtype);
  }
  inspection.collection = std::move(collection);
  return inspection;
}

std::string headline(const std::string& name, const FileInfo& file) {
  std::string line = name + ": " + file.what;
  if (!file.producer_version.empty()) line += ", version " + file.producer_version;
  return one_line(line);
}

void write_inspection_text(const Inspection& inspection, std::ostream& out) {
  out << headline(inspection.collection.model.file, inspection.file);
  if (!inspection.producer.empty()) out << ", written by " << one_line(inspection.producer);
  out << "\n";
  const ModuleSizes total = inspection.sizes.empty() ? ModuleSizes{} : inspection.sizes.front();
  write_total(out, "parameters", total.parameters);
  write_total(out, "buffers", total.buffers);
  if (inspection.constants_total.tensors != 0) write_total(out, "constants", inspection.constants_total);
  out << "\n";
  write_methods(inspection, out);
  write_constants(inspection, out);
  write_modules(inspection, out);
  write_compiled_models(inspection.compiled, out);
}

void write_file_json(const std::string& name, const FileInfo& info, std::ostream& out,
                     const std::function<void(JsonEmitter&)>& write_more) {
  JsonEmitter json(out, JsonLayout::kLines);
  json.document([&] {
    json.field("format", "fxtrace.inspection");
    json.field("version", 1);
    json.field("file", name);
    json.field("kind", to_string(info.kind));
    json.field("description", info.what);
    json.text_or_null("advice", info.advice);
    json.field("size", info.size);
    json.text_or_null("producer_version", info.producer_version);
    write_more(json);
  });
}

void write_inspection_json(const Inspection& inspection, std::ostream& out) {
  const GraphCollection& collection = inspection.collection;
  write_file_json(collection.model.file, inspection.file, out, [&](JsonEmitter& json) {
    static const MethodInfo none;
    const MethodInfo& method = inspection.method ? inspection.methods[*inspection.method] : none;
    json.text_or_null("producer", inspection.producer);
    json.text_or_null("type", collection.model.type);
    json.text_or_null("method", method.name);
    signature_json(method, json);
    json.key("methods").objects(inspection.methods, [&](const MethodInfo& each) {
      json.field("name", each.name);
      signature_json(each, json);
    });
    json.key("totals").object([&] {
      const ModuleSizes total = inspection.sizes.empty() ? ModuleSizes{} : inspection.sizes.front();
      total_json("parameters", total.parameters, json);
      total_json("buffers", total.buffers, json);
      total_json("constants", inspection.constants_total, json);
    });
    std::size_t i = 0;
    json.key("modules").objects(collection.modules, [&](const ModuleRecord& module) {
      module_json(module, inspection.sizes[i], inspection.module_methods[i], json);
      ++i;
    });
    json.key("parameters").objects(collection.parameters, [&](const ParameterRecord& parameter) {
      json.field("name", parameter.name);
      json.field("kind", to_string(parameter.kind));
      const bool is_tensor = parameter.kind != ParameterKind::kCustomObject;
      tensor_json(is_tensor, parameter.shape, parameter.dtype,
                  is_tensor ? std::optional(byte_count(parameter)) : std::nullopt, parameter.type,
                  parameter.stored, json);
      json.field("alias_of", parameter.alias_of);
    });
    json.key("constants").objects(inspection.constants, [&](const ConstantInfo& constant) {
      json.field("name", constant.name);
      const bool is_tensor = !constant.dtype.empty();
      tensor_json(is_tensor, constant.shape, constant.dtype,
                  is_tensor ? std::optional(byte_count(constant)) : std::nullopt, constant.type,
                  constant.stored, json);
    });
    write_compiled_models(inspection.compiled, json);
  });
}

}  // namespace fxtrace::cli
