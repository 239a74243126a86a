#include "pictures/labels.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <locale>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "graph/analysis/text_form.h"
#include "operators/operators.h"
#include "support/text/qualified_name.h"
#include "support/text/words.h"

namespace fxtrace::internal {
namespace {

using Index = Outline::Index;
using Kind = Outline::Kind;

constexpr const char* kTo = " \u2192 ";
constexpr const char* kDots = " \u2026 ";
constexpr const char* kTimes = "\u00D7";

void append(std::string& list, const std::string& text) {
  if (text.empty()) return;
  if (!list.empty()) list += ", ";
  list += text;
}

bool is_number(const Argument& argument, double number) {
  if (const auto* integer = argument.get_if<std::int64_t>()) return static_cast<double>(*integer) == number;
  if (const auto* real = argument.get_if<double>()) return *real == number;
  if (const auto* flag = argument.get_if<bool>()) return static_cast<double>(*flag) == number;
  const auto* items = items_of(argument);
  return items != nullptr && !items->empty() &&
         std::all_of(items->begin(), items->end(),
                     [&](const Argument& item) { return is_number(item, number); });
}

// Returns the text of a value without nested values; floats are shortened for display.
std::string plain_text(const Argument& argument) {
  if (const auto* real = argument.get_if<double>(); real != nullptr && std::isfinite(*real)) {
    constexpr int kDigits = 5;
    std::ostringstream text;
    text.imbue(std::locale::classic());
    text << std::setprecision(kDigits) << *real;
    return text.str();
  }
  return print_argument(argument);
}

// Returns the text of sizes: "2" for 2 and [2, 2]; "3x1" for [3, 1] joined by `by`.
std::string sizes_text(const Argument& argument, const std::string& by, bool merge) {
  const auto* items = items_of(argument);
  if (items == nullptr) return plain_text(argument);
  if (merge && !items->empty() &&
      std::all_of(items->begin(), items->end(), [&](const auto& item) { return item == items->front(); })) {
    return sizes_text(items->front(), by, merge);
  }
  std::string text;
  for (std::size_t i = 0; i < items->size(); ++i)
    text += (i == 0 ? "" : by) + sizes_text((*items)[i], by, merge);
  return text;
}

// The most important sizes of a module, by the names in torch.nn's modules and others'.
struct Pair {
  const char* from;
  const char* to;
  const char* between;
};
constexpr Pair kPairs[] = {{"in_channels", "out_channels", kTo},
                           {"in_features", "out_features", kTo},
                           {"input_size", "hidden_size", kTo},
                           {"num_embeddings", "embedding_dim", " \u00D7 "}};
struct Detail {
  const char* name;
  const char* before;
  const char* after;
  std::optional<double> usual;  // the value that is not shown
};
constexpr Detail kDetails[] = {
    {"stride", "stride ", "", 1},
    {"padding", "padding ", "", 0},
    {"output_padding", "output padding ", "", 0},
    {"dilation", "dilation ", "", 1},
    {"groups", "groups ", "", 1},
    {"num_groups", "groups ", "", {}},
    {"output_size", "to ", "", {}},
    {"num_heads", "", " heads", {}},
    {"num_attention_heads", "", " heads", {}},
    {"num_key_value_heads", "", " key/value heads", {}},
    {"n_heads", "", " heads", {}},
    {"n_head", "", " heads", {}},
    {"nhead", "", " heads", {}},
    {"num_layers", "", " layers", 1},
    {"scale_factor", "scale ", "", {}},
    {"upscale_factor", "scale ", "", {}},
    {"negative_slope", "slope ", "", {}},
    {"p", "p ", "", {}},
    {"dim", "dim ", "", {}},
    {"start_dim", "from dim ", "", 1},
};
constexpr const char* kFlags[] = {"bidirectional"};

// Arguments whose name adds nothing to their position: x.view(size), x + other.
constexpr std::string_view kUnnamed =
    "size shape sizes dims dim0 dim1 other exponent repeats split_size split_sizes chunks normalized_shape "
    "equation value";
// Arguments about the place and layout of a result in memory; they are not shown.
constexpr std::string_view kHidden =
    "device pin_memory layout memory_format non_blocking copy generator implicit half_to_float";

const Argument* find(const ModuleRecord& module, std::string_view name) {
  for (const auto& [known, value] : module.attributes) {
    if (known == name) return value.is<Argument::None>() ? nullptr : &value;
  }
  return nullptr;
}

// Returns whether a dtype has few bits: qint8, int8, float8_e4m3fn, int4.
bool is_quantized_dtype(std::string_view dtype) {
  return dtype.starts_with('q') || dtype.starts_with("float8") || dtype.starts_with("float4") ||
         dtype == "int8" || dtype == "uint8" || dtype == "int4" || dtype == "uint4";
}

std::string count_text(std::size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string function_name(const TargetParts& parts) {
  if (parts.kind == TargetKind::kOperator && parts.space != "aten" && parts.space != "prim") {
    return std::string(parts.space) + "." + std::string(parts.name);
  }
  std::string_view name = parts.name;
  if (name.size() > 4 && name.starts_with("__") && name.ends_with("__"))
    name = name.substr(2, name.size() - 4);
  return std::string(name);
}

// Returns the names that someone chose for results: "logits, loss".
std::string chosen_names(const std::vector<GraphSignature::Entry>& outputs) {
  constexpr std::size_t kMost = 4;
  std::string text;
  std::size_t count = 0;
  for (const GraphSignature::Entry& output : outputs) {
    if (output.is_named && count++ < kMost) append(text, output.name);
  }
  if (count > kMost) append(text, "and " + std::to_string(count - kMost) + " more");
  return text;
}

}  // namespace

Labels::Labels(const GraphCollection& collection, const Outline& outline, bool with_order)
    : outline_(outline), with_order_(with_order) {
  std::map<std::string, std::size_t> dtypes;
  for (const Outline::Item& item : outline.items) {
    if (item.kind == Kind::kNode) shown_.insert(item.node);
    if (item.kind != Kind::kNode || !item.node->meta->shape) continue;
    if (auto dtype = item.node->meta->dtype_text()) ++dtypes[*std::move(dtype)];
  }
  if (dtypes.empty()) {
    for (const ParameterRecord& parameter : collection.parameters) {
      if (!parameter.dtype.empty()) ++dtypes[parameter.dtype];
    }
  }
  std::size_t most = 0;
  for (const auto& [dtype, count] : dtypes) {
    if (count <= most) continue;
    most = count;
    usual_dtype_ = dtype;
  }
  for (const ParameterRecord& parameter : collection.parameters) {
    parameters_of_[QualifiedName(parameter.name).parent()].push_back(&parameter);
  }
  if (!with_order) return;
  for (const ModuleGraph& graph : collection.graphs) {
    if (!graph.execution) continue;
    Order& order = orders_[&graph];
    order.calls.emplace(*graph.execution);
    const auto& parameters = graph.execution->param_forward_order;
    for (std::size_t i = 0; i < parameters.size(); ++i) order.parameters.emplace(parameters[i], i + 1);
  }
}

std::string Labels::relative_path(Index index) const {
  const Outline::Item& item = outline_[index];
  if (item.parent == Outline::kNone || item.path.empty()) return item.path.empty() ? "(root)" : item.path;
  const std::string& around = outline_[outline_.module_around(item.parent)].path;
  return std::string(QualifiedName(item.path).below(around));
}

std::string Labels::value_text(const Meta& meta) const {
  if (meta.dtype_text() != usual_dtype_ || !meta.shape) return internal::value_text(meta);
  Meta shorter = meta;
  shorter.set_dtype({});
  shorter.type.reset();
  return internal::value_text(shorter);
}

std::string Labels::value_text(const std::string& dtype, const std::vector<std::int64_t>& shape) const {
  Meta meta;
  meta.set_dtype(dtype);
  meta.shape.emplace(shape.begin(), shape.end());
  return value_text(meta);
}

bool Labels::is_shown(const Node& node) const { return shown_.contains(&node); }

std::string Labels::argument_text(const ModuleGraph& graph, const Argument& argument) const {
  const auto sequence = [&](const std::vector<Argument>& items, const char* open, const char* close) {
    return open + joined(items, [&](const Argument& item) { return argument_text(graph, item); }) + close;
  };
  if (const auto* id = argument.get_if<NodeId>()) {
    const Node& node = graph.graph.node(*id);
    return node.meta->value ? node.meta->value->text() : node.name;
  }
  if (const auto* list = argument.get_if<Argument::List>()) return sequence(list->items, "[", "]");
  if (const auto* tuple = argument.get_if<Argument::Tuple>()) {
    if (tuple->names == nullptr) return sequence(tuple->items, "(", ")");
    std::string text = std::string(QualifiedName(tuple->names->type).last()) + "(";
    for (std::size_t i = 0; i < tuple->items.size(); ++i) {
      text += (i == 0 ? "" : ", ") + tuple->names->fields.at(i) + "=" + argument_text(graph, tuple->items[i]);
    }
    return text + ")";
  }
  if (const auto* slice = argument.get_if<Argument::Slice>()) return sequence(slice->parts, "slice(", ")");
  if (const auto* dict = argument.get_if<Argument::Dict>()) {
    std::string text = "{";
    for (const auto& [key, item] : dict->items) {
      text += (text.size() == 1 ? "" : ", ") + argument_text(graph, key) + ": " + argument_text(graph, item);
    }
    return text + "}";
  }
  if (const auto* dtype = argument.get_if<Argument::Dtype>()) return dtype->name;
  if (const auto* device = argument.get_if<Argument::Device>()) return device->name;
  if (const auto* format = argument.get_if<Argument::MemoryFormat>()) return format->name;
  if (const auto* layout = argument.get_if<Argument::Layout>()) return layout->name;
  if (const auto* function = argument.get_if<Argument::Function>())
    return function_name(parse_target(function->name));
  if (const auto* body = argument.get_if<Argument::GraphRef>()) return body->name;
  return plain_text(argument);
}

std::string Labels::module_details(const ModuleRecord& module) const {
  std::string text;
  for (const Pair& pair : kPairs) {
    const Argument* from = find(module, pair.from);
    const Argument* to = find(module, pair.to);
    if (from != nullptr && to != nullptr)
      append(text, sizes_text(*from, ", ", false) + pair.between + sizes_text(*to, ", ", false));
  }
  const Argument* kernel = find(module, "kernel_size");
  if (kernel != nullptr)
    append(text, items_of(*kernel) == nullptr ? "kernel " + sizes_text(*kernel, "", false)
                                              : sizes_text(*kernel, kTimes, false));
  for (const Detail& detail : kDetails) {
    const Argument* value = find(module, detail.name);
    if (value == nullptr || (detail.usual && is_number(*value, *detail.usual))) continue;
    if (kernel != nullptr && value != kernel && *value == *kernel &&
        std::string_view(detail.name) == "stride")
      continue;
    append(text, detail.before + sizes_text(*value, kTimes, true) + detail.after);
  }
  for (const char* flag : kFlags) {
    const Argument* value = find(module, flag);
    if (value != nullptr && is_number(*value, 1)) append(text, flag);
  }
  if (text.empty() && module.type.starts_with("torch.")) text = weight_details(module);
  append(text, quantized_text(module));
  return text;
}

// Returns "qint8" for a module with quantized weights, in whatever form its file stores them.
std::string Labels::quantized_text(const ModuleRecord& module) const {
  const bool is_of_quantized = module.type.find(".quantized.") != std::string::npos;
  const std::string packed = module.path + (module.path.empty() ? "" : ".") + "_packed_params";
  for (const std::string& path : {module.path, packed}) {
    const auto own = parameters_of_.find(path);
    if (own == parameters_of_.end()) continue;
    for (const ParameterRecord* parameter : own->second) {
      if (parameter->kind == ParameterKind::kCustomObject && is_of_quantized) return "quantized";
      const bool is_weight = QualifiedName(parameter->name).last().find("weight") != std::string_view::npos;
      if (is_quantized_dtype(parameter->dtype) && (is_weight || is_of_quantized)) return parameter->dtype;
    }
  }
  return "";
}

// Returns details from the weights, for a module without known attributes, as in archives of
// torch.jit.trace.
std::string Labels::weight_details(const ModuleRecord& module) const {
  const auto own = parameters_of_.find(module.path);
  if (own == parameters_of_.end()) return "";
  const auto weight = std::ranges::find_if(
      own->second, [](const auto* parameter) { return QualifiedName(parameter->name).last() == "weight"; });
  if (weight == own->second.end()) return "";
  const std::vector<std::int64_t>& shape = (*weight)->shape;
  if (shape.size() == 2) {
    const bool is_table = module.type.find("mbedding") != std::string::npos;
    return is_table ? std::to_string(shape[0]) + " " + kTimes + " " + std::to_string(shape[1])
                    : std::to_string(shape[1]) + kTo + std::to_string(shape[0]);
  }
  std::string kernel = shape.size() == 3 ? "kernel " : "";
  for (std::size_t i = 2; i < shape.size(); ++i) kernel += (i == 2 ? "" : kTimes) + std::to_string(shape[i]);
  return kernel;
}

// Returns the arguments that are not tensors and differ from their defaults.
std::string Labels::node_details(const Outline::Item& item) const {
  const Node& node = *item.node;
  const Operator* op = find_operator(target_parts(node));
  std::optional<Schema> schema;
  if (op != nullptr) schema = op->schema();
  std::string text;
  const auto add = [&](std::string_view name, const Argument& argument,
                       const std::optional<std::string>& usual) {
    if (argument.is<Argument::None>() || argument.is<Argument::GraphRef>() || has_word(kHidden, name)) return;
    // Edges and attributes show the other arguments; unknown sizes are omitted.
    const auto is_number = [&](const Argument& value) {
      const auto* id = value.get_if<NodeId>();
      if (id == nullptr) return true;
      const Node& source = item.graph->graph.node(*id);
      return !is_shown(source) && source.meta->value;
    };
    const auto* values = items_of(argument);
    if (values != nullptr && values->empty()) return;
    if (values != nullptr ? !std::ranges::all_of(*values, is_number) : !is_number(argument)) return;
    if (const auto* number = argument.get_if<std::int64_t>(); number != nullptr && *number == INT64_MAX)
      return;  // a slice to the end
    const std::string value = argument_text(*item.graph, argument);
    if (usual && *usual == value) return;
    const bool is_named = !name.empty() && !has_word(kUnnamed, name);
    append(text, is_named ? std::string(name) + "=" + value : value);
  };
  const auto declared = [&](std::size_t place, std::string_view name) -> const SchemaArgument* {
    if (!schema) return nullptr;
    if (!name.empty()) return schema->find_formal(name);
    return place < schema->arguments.size() ? &schema->arguments[place] : nullptr;
  };
  if (node.op == Opcode::kPlaceholder || node.op == Opcode::kOutput || node.op == Opcode::kCallModule)
    return text;
  for (std::size_t i = 0; i < node.args.size(); ++i) {
    const SchemaArgument* argument = declared(i, "");
    add(argument != nullptr ? std::string_view(argument->name) : "", node.args[i],
        argument != nullptr ? argument->default_value : std::nullopt);
  }
  for (const auto& [name, value] : node.kwargs) {
    const SchemaArgument* argument = declared(0, name);
    add(name, value, argument != nullptr ? argument->default_value : std::nullopt);
  }
  return text;
}

// Returns "zeros [2, 64]" or "arange [batch]"; the number when the constant is just one.
std::string Labels::constant_text(const Outline::Attribute& constant) const {
  const Node& node = *constant.node;
  const bool is_scalar = node.meta->shape && node.meta->shape->empty();
  if (constant.is_made && !constant.of_sizes && is_scalar) {
    for (const Argument& argument : node.args) {
      if (items_of(argument) == nullptr) return plain_text(argument);
    }
  }
  const std::string value = node.meta->shape ? " " + value_text(node.meta) : "";
  return (constant.is_made    ? function_name(target_parts(node))
          : constant.of_sizes ? "from sizes"
                              : "constant") +
         value;
}

std::string Labels::attribute_text(const Outline::Attribute& attribute, std::string_view scope) const {
  if (attribute.constant != nullptr) {
    const Constant& constant = *attribute.constant;
    if (!constant.object_type.empty()) return std::string(QualifiedName(constant.object_type).last());
    if (constant.data && constant.data->size() == 1) return plain_text(constant.data->front());
    return "constant " + value_text(constant.dtype, constant.shape);
  }
  if (attribute.node->op != Opcode::kGetAttr) return constant_text(attribute);
  const std::string name(QualifiedName(*attribute.node->target).below(scope));
  if (attribute.parameter == nullptr) return name;
  if (attribute.part != nullptr) {
    const auto* part =
        attribute.part->args.size() > 1 ? attribute.part->args[1].get_if<std::string>() : nullptr;
    const std::string value = attribute.part->meta->shape ? " " + value_text(attribute.part->meta) : "";
    return name + (part == nullptr ? "" : "." + *part) + value;
  }
  if (attribute.parameter->kind == ParameterKind::kCustomObject) {
    return name + " " + std::string(QualifiedName(attribute.parameter->type).last());
  }
  return name + " " + value_text(attribute.parameter->dtype, attribute.parameter->shape);
}

std::string Labels::value_of(const Outline::Item& item) const {
  if (item.kind == Kind::kNode || item.kind == Kind::kOperator) {
    const Meta& meta = item.node->meta;
    if (item.node->op == Opcode::kOutput) return "";
    if (meta.shape || meta.value) return value_text(meta);
    // A type alone is shown for inputs only.
    if (item.node->op == Opcode::kPlaceholder && meta.kind() != ValueKind::kTensor) return value_text(meta);
    if (item.node->op != Opcode::kCallModule) return "";
  }
  if (item.module == nullptr || !item.module->outputs || item.module->outputs->empty()) return "";
  const std::vector<Meta>& outputs = *item.module->outputs;
  if (!outputs[0].shape) return "";
  std::string text = value_text(outputs[0]);
  if (outputs.size() > 1) text += " and " + std::to_string(outputs.size() - 1) + " more";
  return text;
}

std::string Labels::order_of(const Outline::Item& item) const {
  const bool is_call = item.kind == Kind::kNode && item.node->op == Opcode::kCallModule;
  if (!with_order_ || (item.kind != Kind::kModule && !is_call)) return "";
  const auto order = orders_.find(item.graph);
  if (order == orders_.end()) return "";
  const auto call = order->second.calls->find_calls(is_call ? *item.node->scope
                                                            : Scope{item.path, {}, item.call, item.method});
  const std::int64_t position = call ? (*order->second.calls)[*call].position : 0;
  return position > 0 ? "#" + std::to_string(position) : "";
}

std::size_t Labels::operations(Index box) const {
  std::size_t count = 0;
  std::vector<Index> open{box};
  while (!open.empty()) {
    const Outline::Item& item = outline_[open.back()];
    open.pop_back();
    if (item.kind == Kind::kNode && item.node->op != Opcode::kPlaceholder && item.node->op != Opcode::kOutput)
      ++count;
    open.insert(open.end(), item.children.begin(), item.children.end());
  }
  return count;
}

std::string Labels::range_text(const Outline::Item& item) const {
  Index first_item = item.children.front();
  Index last_item = item.children.back();
  while (outline_[first_item].kind == Kind::kPart) first_item = outline_[first_item].children.front();
  while (outline_[last_item].kind == Kind::kPart) last_item = outline_[last_item].children.back();
  const std::string first = label(first_item).title;
  const std::string last = label(last_item).title;
  if (first_item == last_item || first == last) return first;
  const Outline::Item& one = outline_[first_item];
  const Outline::Item& other = outline_[last_item];
  const bool is_same = one.kind == Kind::kModule && other.kind == Kind::kModule && one.path == other.path &&
                       one.method == other.method;
  return first + kDots + (is_same ? std::to_string(other.call) : last);
}

std::size_t Labels::members(const Outline::Item& box) const {
  std::size_t count = 0;
  for (const Index child : box.children)
    count += outline_[child].kind == Kind::kPart ? members(outline_[child]) : 1;
  return count;
}

void Labels::describe_repeats(const Outline::Item& box, Label& label) const {
  const std::string times = std::string(kTimes) + " " + std::to_string(members(box));
  Index first = box.children.front();
  Index last = box.children.back();
  while (outline_[first].kind == Kind::kPart) first = outline_[first].children.front();
  while (outline_[last].kind == Kind::kPart) last = outline_[last].children.back();
  if (box.like == Outline::kNone) {
    label = this->label(first);
    append(label.title, times);
  } else if (outline_[box.like].kind == Kind::kPeriod) {
    const bool is_one = members(box) == 1;
    label.title = is_one ? "repetition of the above" : "repetitions of the above";
    if (!is_one) label.note = times;
  } else {
    const Label like = this->label(box.like);
    label.title = range_text(box);
    label.type = like.type;
    label.note = "as " + like.title;
    if (first != last) append(label.note, times);
  }
  label.value = this->label(last).value;
}

std::string Labels::same_note(Index same, Index item) const {
  if (same == Outline::kNone) return "";
  const std::string path = outline_[same].path;
  return path == outline_[item].path && outline_[same].method == outline_[item].method
             ? "as call " + std::to_string(outline_[same].call)
             : "as " + (path.empty() ? "(root)" : path);
}

void Labels::describe_node(Index index, Label& label) const {
  const Outline::Item& item = outline_[index];
  const Node& node = *item.node;
  switch (node.op) {
    case Opcode::kCallModule:
      label.title = relative_path(index);
      if (item.module != nullptr) label.details = module_details(*item.module);
      if (!node.method->empty()) append(label.details, "runs " + *node.method);
      if (item.module != nullptr && item.module->status == ModuleStatus::kFailed) {
        label.failure = item.module->failure ? item.module->failure->message : "it could not be traced";
      }
      break;
    case Opcode::kCallFunction:
      label.title = function_name(target_parts(node));
      label.details = node_details(item);
      if (outline_[item.parent].node != &node) {  // the bodies are elsewhere
        std::string bodies;
        for_each_of<Argument::GraphRef>(node, [&](const auto& body) { append(bodies, body.name); });
        if (!bodies.empty()) append(label.details, "runs " + bodies);
      }
      break;
    case Opcode::kCallMethod:
    case Opcode::kPlaceholder:
    case Opcode::kGetAttr:
      label.title = node.target;
      label.details = node_details(item);
      break;
    case Opcode::kOutput:
      label.title = "output";
      if (item.graph->signature) label.details = chosen_names(item.graph->signature->outputs);
      break;
  }
  const std::string& scope = outline_[outline_.module_around(index)].path;
  for (const Outline::Attribute& attribute : item.attributes) {
    label.attributes.push_back(attribute_text(attribute, scope) +
                               order_of_parameter(item, *attribute.node->target));
  }
  if (!with_order_ || node.op != Opcode::kCallModule) return;
  const auto own = parameters_of_.find(item.module != nullptr ? item.module->path : item.path);
  if (own == parameters_of_.end()) return;
  for (const ParameterRecord* parameter : own->second) {
    const std::string order = order_of_parameter(item, parameter->name);
    if (!order.empty())
      label.attributes.push_back(std::string(QualifiedName(parameter->name).last()) + order);
  }
}

// Returns " #3"; empty when orders are not shown, or the graph does not use the parameter.
std::string Labels::order_of_parameter(const Outline::Item& item, std::string_view name) const {
  const auto order = orders_.find(item.graph);
  if (order == orders_.end()) return "";
  const auto place = order->second.parameters.find(name);
  return place == order->second.parameters.end() ? "" : " #" + std::to_string(place->second);
}

Label Labels::label(Index index) const {
  const Outline::Item& item = outline_[index];
  Label label;
  label.value = value_of(item);
  label.order = order_of(item);
  label.type = QualifiedName(item.type).last();
  switch (item.kind) {
    case Kind::kGraph:
      label.title = item.path.empty() ? "(root)" : item.path;
      label.value.clear();
      label.note = count_text(operations(index), "operation");
      break;
    case Kind::kModule:
      label.title = relative_path(index) + (item.method.empty() ? "" : "." + item.method + "()");
      if (item.call > 1 || (item.module != nullptr && item.module->calls > 1))
        label.title += ", call " + std::to_string(item.call);
      if (item.module != nullptr) label.details = module_details(*item.module);
      label.note = count_text(operations(index), "operation");
      break;
    case Kind::kOperator:
      label.title = function_name(target_parts(*item.node));
      label.note = count_text(operations(index), "operation");
      break;
    case Kind::kBody:
      label.title = item.name;
      label.note = count_text(operations(index), "operation");
      break;
    case Kind::kRepeats:
      describe_repeats(item, label);
      break;
    case Kind::kPeriod:
      label.title = "repeated: " + range_text(item);
      label.note = count_text(operations(index), "operation");
      break;
    case Kind::kPart: {
      label.title = range_text(item);
      label.note = count_text(operations(index), "operation");
      Index around = item.parent;
      while (outline_[around].kind == Kind::kPart) around = outline_[around].parent;
      if (outline_[around].kind == Kind::kRepeats)
        label.note = std::string(kTimes) + " " + std::to_string(members(item));
      break;
    }
    case Kind::kNode:
      describe_node(index, label);
      break;
  }
  return label;
}

}  // namespace fxtrace::internal
