#include "app/inspection.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "app/compiled_models.h"
#include "app/table.h"
#include "graph/text_form.h"
#include "support/columns.h"
#include "support/printable.h"
#include "support/qualified_name.h"
#include "trace/leaf_rules.h"

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
  if (port.fixed) return print_argument(Graph(), *port.fixed) + " (fixed)";
  if (port.meta.shape || port.meta.value) return value_text(port.meta);
  return port.meta.type ? *port.meta.type : "unknown";
}

std::string signature_text(const MethodInfo& method) {
  std::string text = method.name + "(";
  for (const auto& input : method.inputs) {
    if (!text.ends_with('(')) text += ", ";
    text += input.name + ": " + port_text(input);
    if (input.default_value) text += " = " + print_argument(Graph(), *input.default_value);
  }
  text += ") -> ";
  if (method.outputs.size() == 1) return text + port_text(method.outputs.front());
  text += "(";
  for (const auto& output : method.outputs) {
    if (!text.ends_with('(')) text += ", ";
    text += port_text(output);
  }
  return text + ")";
}

std::string joined(const std::set<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
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
    if (input.default_value) rows.back().push_back(print_argument(Graph(), *input.default_value));
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
      rows.push_back({constant.name, constant.type, ""});
      continue;
    }
    const Meta tensor{.type = {},
                      .shape = std::vector<Meta::Dim>(constant.shape.begin(), constant.shape.end()),
                      .dtype = constant.dtype,
                      .device = {},
                      .value = {}};
    rows.push_back(
        {constant.name, value_text(tensor), with_separators(byte_count(constant.shape, constant.dtype))});
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
    if (!methods.empty() && std::find(methods.begin(), methods.end(), "forward") == methods.end()) {
      status += "; methods: ";
      for (const auto& method : methods) status += (&method == methods.data() ? "" : ", ") + method;
    }
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
        << *inspection.max_depth << "\n";
  }
}

using Json = nlohmann::ordered_json;

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

// Empty is not known.
Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json total_json(const TensorTotal& total) {
  return {{"tensors", total.tensors},
          {"elements", total.elements},
          {"bytes", total.bytes},
          {"dtypes", total.dtypes},
          {"devices", total.devices}};
}

Json sizes_json(const TensorTotal& own, const TensorTotal& total) {
  return {{"own", own.elements}, {"total", total.elements}, {"own_bytes", own.bytes}, {"bytes", total.bytes}};
}

Json dimension_json(const Meta::Dim& dim) {
  const auto number = dim.number();
  return number ? Json(*number) : Json(dim.text());
}

Json port_json(const PortInfo& port, bool is_input) {
  Json json;
  json["name"] = port.name;
  json["type"] = or_null(port.meta.type);
  json["shape"] = nullptr;
  if (port.meta.shape) {
    json["shape"] = Json::array();
    for (const auto& dim : *port.meta.shape) json["shape"].push_back(dimension_json(dim));
  }
  json["dtype"] = or_null(port.meta.dtype);
  if (is_input) {
    json["default"] = port.default_value ? Json(print_argument(Graph(), *port.default_value)) : Json(nullptr);
  }
  json["value"] = port.fixed                           ? print_argument(Graph(), *port.fixed)
                  : port.meta.shape || port.meta.value ? value_text(port.meta)
                                                       : port.meta.type.value_or("");
  json["fixed"] = port.fixed.has_value();
  return json;
}

Json method_json(const MethodInfo& method) {
  Json json{{"name", method.name}, {"inputs", Json::array()}, {"outputs", Json::array()}};
  for (const auto& input : method.inputs) json["inputs"].push_back(port_json(input, true));
  for (const auto& output : method.outputs) json["outputs"].push_back(port_json(output, false));
  return json;
}

Json parameter_json(const ParameterRecord& parameter) {
  Json json{{"name", parameter.name}, {"kind", to_string(parameter.kind)}};
  const bool is_tensor = parameter.kind != ParameterKind::kCustomObject;
  json["shape"] = is_tensor ? Json(parameter.shape) : Json(nullptr);
  json["dtype"] = is_tensor ? Json(parameter.dtype) : Json(nullptr);
  json["bytes"] = is_tensor ? Json(byte_count(parameter.shape, parameter.dtype)) : Json(nullptr);
  if (!is_tensor) json["type"] = parameter.type;
  json["alias_of"] = or_null(parameter.alias_of);
  return json;
}

Json constant_json(const ConstantInfo& constant) {
  Json json{{"name", constant.name}};
  const bool is_tensor = !constant.dtype.empty();
  json["shape"] = is_tensor ? Json(constant.shape) : Json(nullptr);
  json["dtype"] = is_tensor ? Json(constant.dtype) : Json(nullptr);
  json["bytes"] = is_tensor ? Json(byte_count(constant.shape, constant.dtype)) : Json(nullptr);
  if (!is_tensor) json["type"] = constant.type;
  return json;
}

Json module_json(const Inspection& inspection, std::size_t i) {
  const ModuleRecord& module = inspection.collection.modules[i];
  const ModuleSizes& sizes = inspection.sizes[i];
  Json json;
  json["path"] = module.path;
  json["type"] = text_or_null(module.type);
  json["public_type"] = text_or_null(public_alias(module.type));
  json["status"] = to_string(module.status);
  json["alias_of"] = or_null(module.alias_of);
  json["rule"] = or_null(module.rule);
  json["failure"] = module.failure ? Json(module.failure->message) : Json(nullptr);
  json["methods"] = inspection.module_methods[i];
  json["parameters"] = sizes_json(sizes.own_parameters, sizes.parameters);
  json["buffers"] = sizes_json(sizes.own_buffers, sizes.buffers);
  return json;
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
    if (!constant.dtype.empty()) inspection.constants_total.add(constant.shape, constant.dtype, "cpu");
  }
  inspection.constants_total.devices.clear();
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

Json file_json(const std::string& name, const FileInfo& info) {
  Json json;
  json["format"] = "fxtrace.inspection";
  json["version"] = 1;
  json["file"] = name;
  json["kind"] = to_string(info.kind);
  json["description"] = info.what;
  json["advice"] = text_or_null(info.advice);
  json["size"] = info.size;
  json["producer_version"] = text_or_null(info.producer_version);
  return json;
}

void write_json_document(const Json& json, std::ostream& out) {
  out << json.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
}

void write_inspection_json(const Inspection& inspection, std::ostream& out) {
  const GraphCollection& collection = inspection.collection;
  Json json = file_json(collection.model.file, inspection.file);
  json["producer"] = text_or_null(inspection.producer);
  json["type"] = text_or_null(collection.model.type);
  json["method"] = inspection.method ? Json(inspection.methods[*inspection.method].name) : Json(nullptr);
  json["inputs"] = Json::array();
  json["outputs"] = Json::array();
  json["methods"] = Json::array();
  for (std::size_t i = 0; i < inspection.methods.size(); ++i) {
    Json method = method_json(inspection.methods[i]);
    if (i == inspection.method) {
      json["inputs"] = method["inputs"];
      json["outputs"] = method["outputs"];
    }
    json["methods"].push_back(std::move(method));
  }
  const ModuleSizes total = inspection.sizes.empty() ? ModuleSizes{} : inspection.sizes.front();
  json["totals"] = {{"parameters", total_json(total.parameters)},
                    {"buffers", total_json(total.buffers)},
                    {"constants", total_json(inspection.constants_total)}};
  json["modules"] = Json::array();
  for (std::size_t i = 0; i < collection.modules.size(); ++i)
    json["modules"].push_back(module_json(inspection, i));
  json["parameters"] = Json::array();
  for (const auto& parameter : collection.parameters) json["parameters"].push_back(parameter_json(parameter));
  json["constants"] = Json::array();
  for (const auto& constant : inspection.constants) json["constants"].push_back(constant_json(constant));
  if (!inspection.compiled.empty()) json["compiled_models"] = compiled_models_json(inspection.compiled);
  write_json_document(json, out);
}

}  // namespace fxtrace::cli
