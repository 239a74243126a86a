// The answer of `fxtrace inspect` as JSON.
#include <optional>
#include <string>
#include <vector>

#include "graph/analysis/text_form.h"
#include "operators/names/modules.h"
#include "support/json_emitter.h"
#include "writers/formats/document.h"
#include "writers/formats/json_parts.h"
#include "writers/reports/inspection_writers.h"

namespace fxtrace {
namespace {

void file_json(const std::string& name, const FileInfo& info, JsonEmitter& json) {
  json.field("format", "fxtrace.inspection");
  json.field("version", 1);
  json.field("file", name);
  json.field("kind", to_string(info.kind));
  json.field("description", info.what);
  json.text_or_null("advice", info.advice);
  json.field("size", info.size);
  json.text_or_null("producer_version", info.producer_version);
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
    json.field("dtype", port.meta.dtype_text());
    if (are_inputs) {
      json.field("default",
                 port.default_value ? std::optional(print_argument(*port.default_value)) : std::nullopt);
    }
    json.field("value", port.fixed ? print_argument(*port.fixed) : value_or_type(port.meta, ""));
    json.field("fixed", port.fixed.has_value());
  });
}

void signature_json(const MethodInfo& method, JsonEmitter& json) {
  ports_json("inputs", method.inputs, true, json);
  ports_json("outputs", method.outputs, false, json);
}

// Writes the fields of a parameter or constant: of a tensor, or of a script object with its stored tensors.
template <class T>
void tensor_json(bool is_tensor, const T& item, JsonEmitter& json) {
  json.field("shape", is_tensor ? std::optional(item.shape) : std::nullopt);
  json.field("dtype", is_tensor ? std::optional(item.dtype) : std::nullopt);
  json.field("bytes", is_tensor ? std::optional(byte_count(item)) : std::nullopt);
  if (!item.type.empty() || !is_tensor) json.field("type", item.type);
  write_stored(json, item.stored);
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

// Writes the compiled models; nothing when there are none.
void compiled_models_json(const std::vector<CompiledModel>& models, JsonEmitter& json) {
  if (models.empty()) return;
  json.key("compiled_models").objects(models, [&](const CompiledModel& model) {
    json.field("name", model.name);
    json.text_or_null("device", model.find_metadata("AOTI_DEVICE_KEY"));
    json.text_or_null("platform", model.find_metadata("AOTI_PLATFORM"));
    json.text_or_null("machine", model.find_metadata("AOTI_MACHINE"));
    json.field("metadata", model.metadata);
    json.field("inputs", model.inputs);
    json.field("outputs", model.outputs);
    json.field("operators", model.operators);
    json.key("constants").objects(model.constants, [&](const CompiledModel::Constant& constant) {
      json.field("name", constant.name);
      json.text_or_null("kind", constant.kind);
      json.field("shape", constant.shape);
      json.text_or_null("dtype", constant.dtype);
      json.field("bytes", constant.bytes);
    });
    json.key("files").objects(model.files, [&](const CompiledModel::File& file) {
      json.field("name", file.name);
      json.field("size", file.size);
      json.text_or_null("format", file.format);
    });
  });
}

}  // namespace

void write_inspection_json(const Inspection& inspection, std::ostream& out) {
  const GraphCollection& collection = inspection.collection;
  JsonEmitter json(out, JsonLayout::kLines);
  json.document([&] {
    file_json(collection.model.file, inspection.file, json);
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
      write_total(json, "parameters", total.parameters, true);
      write_total(json, "buffers", total.buffers, true);
      write_total(json, "constants", inspection.constants_total, true);
    });
    json.key("modules").objects(collection.modules, [&](const ModuleRecord& module) {
      const auto i = static_cast<std::size_t>(&module - collection.modules.data());
      module_json(module, inspection.sizes[i], inspection.module_methods[i], json);
    });
    json.key("parameters").objects(collection.parameters, [&](const ParameterRecord& parameter) {
      json.field("name", parameter.name);
      json.field("kind", to_string(parameter.kind));
      tensor_json(parameter.kind != ParameterKind::kCustomObject, parameter, json);
      json.field("alias_of", parameter.alias_of);
    });
    json.key("constants").objects(inspection.constants, [&](const ConstantInfo& constant) {
      json.field("name", constant.name);
      tensor_json(!constant.dtype.empty(), constant, json);
    });
    compiled_models_json(inspection.compiled, json);
  });
}

void write_file_json(const FileInspection& inspection, std::ostream& out) {
  JsonEmitter json(out, JsonLayout::kLines);
  json.document([&] {
    file_json(inspection.name, inspection.file, json);
    if (!inspection.to_choose_from.empty()) json.field("models", inspection.to_choose_from);
    compiled_models_json(inspection.compiled, json);
  });
}

}  // namespace fxtrace
