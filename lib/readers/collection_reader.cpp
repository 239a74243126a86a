#include "readers/collection_reader.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>

#include "graph/analysis/collection_summary.h"
#include "graph/lint.h"
#include "support/error.h"
#include "support/json_document.h"
#include "support/json_emitter.h"

namespace fxtrace {
namespace {

constexpr JsonRules kRules{ErrorKind::kInput, 2'000, true};
constexpr std::int64_t kVersion = 1;

using Nodes = std::unordered_map<std::string_view, NodeId>;

std::string text_of(const JsonValue& value) { return std::string(value.string()); }

std::optional<std::string> text_or_null(const JsonValue& value) {
  return value.is_null() ? std::nullopt : std::optional(text_of(value));
}

std::int64_t integer_from(std::int64_t least, const JsonValue& value) {
  const std::int64_t number = value.integer();
  if (number < least) value.fail("expected an integer of at least " + std::to_string(least));
  return number;
}

template <class F>
auto list_of(const JsonValue& value, F&& read) {
  std::vector<std::decay_t<decltype(read(value))>> list;
  for (const JsonValue item : value.items()) list.push_back(read(item));
  return list;
}

// Returns the one of `all` whose to_string() is the text.
template <class Enum>
Enum enumerator(const JsonValue& value, std::initializer_list<Enum> all) {
  const std::string_view text = value.string();
  std::string names;
  for (const Enum candidate : all) {
    if (text == to_string(candidate)) return candidate;
    names += std::string(names.empty() ? "" : ", ") + to_string(candidate);
  }
  value.fail("expected one of " + names);
}

// The fields of one object, looked up by name.  They are nearly always in the order in which they are looked
// up, and then no search is needed.
class Fields {
 public:
  explicit Fields(const JsonValue& object)
      : object_(object), next_(object.fields().begin()), end_(object.fields().end()) {}

  std::optional<JsonValue> find(std::string_view key) {  // also returns a null
    known_[count_++] = key;
    if (next_ != end_ && next_.key() == key) {
      const JsonValue value = *next_;
      ++next_;
      return value;
    }
    return object_.find_or_null(key);
  }
  JsonValue at(std::string_view key) {
    const auto value = find(key);
    if (!value) object_.fail("\"" + std::string(key) + "\" is missing");
    return *value;
  }
  std::string text(std::string_view key) { return text_of(at(key)); }
  std::optional<std::string> text_or_null(std::string_view key) { return fxtrace::text_or_null(at(key)); }
  // Returns the text of a field in which null means unknown.
  std::string known_text(std::string_view key) { return text_or_null(key).value_or(""); }
  std::optional<std::string> optional_text(std::string_view key) {
    const auto value = find(key);
    return value ? std::optional(text_of(*value)) : std::nullopt;
  }
  std::vector<std::string> texts(std::string_view key) { return list_of(at(key), text_of); }

  // Calls f with every field that was not looked up.
  template <class F>
  void others(F&& f) const {
    if (!(next_ != end_)) return;
    const auto known = std::span(known_).first(count_);
    for (const JsonValue value : object_.fields()) {
      if (std::find(known.begin(), known.end(), value.key()) == known.end()) f(value);
    }
  }
  void no_others() const {
    others([](const JsonValue& value) { value.fail_at_key("unknown field"); });
  }

 private:
  const JsonValue object_;
  JsonValue::Iterator next_, end_;
  std::array<std::string_view, 16> known_;
  std::size_t count_ = 0;
};

// --- arguments ---

Argument argument(const JsonValue& value, const Nodes& nodes);

std::vector<Argument> arguments(const JsonValue& list, const Nodes& nodes) {
  return list_of(list, [&](const JsonValue& item) { return argument(item, nodes); });
}

NodeId node_named(const JsonValue& name, const Nodes& nodes) {
  const auto found = nodes.find(name.string());
  if (found == nodes.end()) name.fail("no node before this one has the name '" + text_of(name) + "'");
  return found->second;
}

double float_named(const JsonValue& name) {
  const std::string_view text = name.string();
  if (text == "inf") return HUGE_VAL;
  if (text == "-inf") return -HUGE_VAL;
  if (text != "nan") name.fail("expected inf, -inf or nan");
  return std::nan("");
}

double number(const JsonValue& value) {
  if (!value.is_object()) return value.is_string() ? (value.fail("expected a number"), 0) : value.number();
  const auto [tag, name] = value.alternative();
  if (tag != "float") value.fail("expected a number");
  return float_named(name);
}

Argument tuple(const JsonValue& value, const Nodes& nodes) {
  return Argument::Tuple{arguments(value, nodes)};
}

Argument named_tuple(const JsonValue& value, const Nodes& nodes) {
  Fields fields(value);
  argument::TupleNames names{fields.text("type"), fields.texts("fields")};
  Argument::Tuple tuple{arguments(fields.at("values"), nodes)};
  fields.no_others();
  if (names.fields.size() != tuple.items.size()) value.fail("expected a value for each field");
  tuple.names = std::make_shared<argument::TupleNames>(std::move(names));
  return tuple;
}

Argument dict(const JsonValue& value, const Nodes& nodes) {
  Argument::Dict dict;
  for (const JsonValue entry : value.items()) {
    auto pair = arguments(entry, nodes);
    if (pair.size() != 2) entry.fail("expected a key and a value");
    dict.items.push_back({std::move(pair[0]), std::move(pair[1])});
  }
  return dict;
}

Argument slice(const JsonValue& value, const Nodes& nodes) {
  Argument::Slice slice{arguments(value, nodes)};
  if (slice.parts.size() != 3) value.fail("expected start, stop and step");
  return slice;
}

Argument complex_number(const JsonValue& value, const Nodes&) {
  const auto parts = list_of(value, number);
  if (parts.size() != 2) value.fail("expected the real and the imaginary part");
  return std::complex<double>(parts[0], parts[1]);
}

template <class Named>
Argument named(const JsonValue& value, const Nodes&) {
  return Named{text_of(value)};
}

struct Tag {
  std::string_view name;
  Argument (*read)(const JsonValue& value, const Nodes& nodes);
};
constexpr Tag kTags[] = {
    {"node", [](const JsonValue& value, const Nodes& nodes) { return Argument(node_named(value, nodes)); }},
    {"tuple", tuple},
    {"namedtuple", named_tuple},
    {"dict", dict},
    {"slice", slice},
    {"float", [](const JsonValue& value, const Nodes&) { return Argument(float_named(value)); }},
    {"complex", complex_number},
    {"dtype", named<Argument::Dtype>},
    {"device", named<Argument::Device>},
    {"layout", named<Argument::Layout>},
    {"memory_format", named<Argument::MemoryFormat>},
    {"graph", named<Argument::GraphRef>},
    {"function", named<Argument::Function>},
};

Argument argument(const JsonValue& value, const Nodes& nodes) {
  switch (value.kind()) {
    case JsonValue::Kind::kNull:
      return {};
    case JsonValue::Kind::kFalse:
    case JsonValue::Kind::kTrue:
      return value.boolean();
    case JsonValue::Kind::kInteger:
      return value.integer();
    case JsonValue::Kind::kNumber:
      return value.number();
    case JsonValue::Kind::kString:
      return text_of(value);
    case JsonValue::Kind::kArray:
      return Argument::List{arguments(value, nodes)};
    case JsonValue::Kind::kObject:
      break;
  }
  const auto [name, content] = value.alternative();
  const auto* const tag =
      std::find_if(std::begin(kTags), std::end(kTags), [&](const Tag& each) { return each.name == name; });
  if (tag == std::end(kTags)) content.fail_at_key("unknown kind of argument");
  return tag->read(content, nodes);
}

// Returns a value without nodes: null, booleans, numbers, strings and lists of them.
Argument plain(const JsonValue& value) {
  if (value.is_array()) return Argument::List{list_of(value, plain)};
  return value.is_object() ? Argument(number(value)) : argument(value, {});
}

// --- parts of graphs and collections ---

std::optional<SourceLocation> source(const JsonValue& value) {
  if (value.is_null()) return std::nullopt;
  Fields fields(value);
  SourceLocation source;
  source.file = fields.text("file");
  const JsonValue line = fields.at("line");
  source.line = line.is_null() ? 0 : integer_from(1, line);
  source.function = fields.text("function");
  source.text = fields.text("text");
  fields.no_others();
  return source;
}

std::string other_method(const JsonValue& value) {
  if (value.string().empty() || value.string() == "forward")
    value.fail("expected another method than forward");
  return std::string(value.string());
}

Scope scope(const JsonValue& value) {
  Fields fields(value);
  Scope scope{fields.text("module_path"), fields.text_or_null("module_type"),
              integer_from(1, fields.at("call"))};
  if (const auto method = fields.find("method")) scope.method = other_method(*method);
  fields.no_others();
  return scope;
}

Meta::Dim dimension(const JsonValue& value) {
  return value.is_string() ? Expression::parse(value.string()) : Expression(value.integer());
}

Meta::Dim size(const JsonValue& value) {
  Meta::Dim size = dimension(value);
  if (size.number().value_or(0) < 0) value.fail("a size is negative");
  return size;
}

std::vector<std::int64_t> sizes(const JsonValue& value) {
  return list_of(value, [](const JsonValue& size) { return integer_from(0, size); });
}

// Returns an amount in a cost.
SymInt amount(const JsonValue& value) {
  if (!value.is_string()) return value.integer();
  auto size = SymInt::parse(value.string());
  if (!size) value.fail("expected an expression of sizes");
  return *std::move(size);
}

Cost cost(const JsonValue& value) {
  Cost cost;
  if (value.is_null()) {
    cost.unsized = 1;
    return cost;
  }
  Fields fields(value);
  const auto amount_or_null = [](const JsonValue& given) {
    return given.is_null() ? std::nullopt : std::optional(amount(given));
  };
  cost.macs = amount_or_null(fields.at("macs"));
  if (const auto bytes = fields.find("parameter_bytes")) cost.parameter_bytes = integer_from(0, *bytes);
  cost.activation_bytes = amount_or_null(fields.at("activation_bytes"));
  if (const auto bytes = fields.find("peak_bytes")) cost.peak_bytes = amount(*bytes);
  if (const auto unknown = fields.find("unknown")) {
    for (const JsonValue item : unknown->fields()) {
      cost.unknown.emplace(item.key(), integer_from(0, item));
    }
  }
  if (const auto calls = fields.find("unsized")) cost.unsized = integer_from(0, *calls);
  fields.no_others();
  return cost;
}

void shape_and_dtype(Fields& fields, Meta& meta) {
  if (const JsonValue shape = fields.at("shape"); !shape.is_null()) meta.shape = list_of(shape, size);
  meta.set_dtype(fields.text_or_null("dtype").value_or(""));
}

// Returns the node's metadata and cost.
std::pair<Meta, std::optional<Cost>> meta(const JsonValue& value) {
  if (value.is_null()) return {};
  Fields fields(value);
  Meta meta;
  meta.type = fields.text_or_null("type");
  shape_and_dtype(fields, meta);
  if (const auto device = fields.optional_text("device")) meta.device = Device::named(*device);
  if (const auto known = fields.find("value")) meta.value = dimension(*known);
  std::optional<Cost> own;
  if (const auto known = fields.find("cost")) own = cost(*known);
  fields.no_others();
  return {std::move(meta), std::move(own)};
}

Meta output(const JsonValue& value) {
  Fields fields(value);
  Meta meta;
  shape_and_dtype(fields, meta);
  fields.no_others();
  return meta;
}

// Reads the elements of a tensor from lists nested by its shape.
void elements(const JsonValue& value, std::span<const std::int64_t> shape, std::vector<Argument>& data) {
  if (shape.empty()) {
    if (data.size() == kMaxConstantElements) {
      value.fail("a constant has more than " + std::to_string(kMaxConstantElements) + " elements");
    }
    data.push_back(argument(value, {}));
    const Argument& element = data.back();
    if (element.is<bool>() || element.is<std::int64_t>() || element.is<double>()) return;
    if (!element.is<std::complex<double>>()) value.fail("expected a number or a boolean");
    return;
  }
  std::int64_t count = 0;
  for (const JsonValue item : value.items()) {
    elements(item, shape.subspan(1), data);
    ++count;
  }
  if (count != shape.front()) {
    value.fail("expected " + std::to_string(shape.front()) + " items, as the shape says");
  }
}

std::vector<StoredPart> stored_parts(Fields& fields) {
  const auto list = fields.find("stored");
  if (!list) return {};
  return list_of(*list, [](const JsonValue& value) {
    Fields part(value);
    StoredPart stored{part.text("name"), sizes(part.at("shape")), part.text("dtype")};
    part.no_others();
    return stored;
  });
}

Constant constant(const JsonValue& value) {
  Fields fields(value);
  Constant constant;
  if (const auto type = fields.find("type")) {
    constant.object_type = text_of(*type);
    if (constant.object_type.empty()) type->fail("expected a non-empty string");
    constant.record = fields.text("record");
    constant.object_index = integer_from(0, fields.at("index"));
    constant.stored = stored_parts(fields);
    fields.no_others();
    return constant;
  }
  constant.dtype = fields.text("dtype");
  constant.shape = sizes(fields.at("shape"));
  if (const JsonValue data = fields.at("data"); !data.is_null()) {
    elements(data, constant.shape, constant.data.emplace());
  } else if (const auto record = fields.text_or_null("record")) {
    constant.record = *record;
    constant.stride = list_of(fields.at("stride"), [](const JsonValue& stride) { return stride.integer(); });
    constant.storage_offset = fields.at("storage_offset").integer();
  }
  fields.no_others();
  return constant;
}

Execution execution(const JsonValue& value) {
  Fields fields(value);
  Execution execution;
  execution.module_forward_order = fields.texts("module_forward_order");
  execution.param_forward_order = fields.texts("param_forward_order");
  execution.module_param_usage = list_of(fields.at("module_param_usage"), [](const JsonValue& item) {
    Fields module(item);
    Execution::ModuleUses uses{module.text("module"), list_of(module.at("uses"), [](const JsonValue& each) {
                                 Fields use(each);
                                 Execution::Use result{use.text("module"), {}};
                                 for (std::string& name : use.texts("params"))
                                   result.params.emplace_back(std::move(name));
                                 use.no_others();
                                 return result;
                               })};
    module.no_others();
    return uses;
  });
  if (const auto calls = fields.find("method_calls")) {
    std::int64_t least = 0;
    execution.method_calls = list_of(*calls, [&](const JsonValue& item) {
      Fields call(item);
      Execution::MethodCall result{call.text("module"), other_method(call.at("method")), 0};
      const JsonValue position = call.at("position");
      least = integer_from(least, position);
      if (least > static_cast<std::int64_t>(execution.module_forward_order.size()))
        position.fail("expected at most the number of calls in module_forward_order");
      result.position = static_cast<std::size_t>(least);
      call.no_others();
      return result;
    });
  }
  if (const auto calls = fields.find("call_values")) {
    execution.call_values = list_of(*calls, [](const JsonValue& item) {
      Fields call(item);
      const auto nodes = [](const JsonValue& named) {
        std::vector<std::pair<std::string, std::string>> result;
        for (const JsonValue node : named.fields()) result.emplace_back(node.key(), node.string());
        return result;
      };
      Execution::CallValues values{call.text("module"), "", integer_from(1, call.at("call")), {}};
      if (const auto method = call.find("method")) values.method = other_method(*method);
      values.inputs = nodes(call.at("inputs"));
      if (const auto results = call.find("results")) {
        values.type = call.text_or_null("type").value_or("");
        values.results = nodes(*results);
      }
      call.no_others();
      return values;
    });
  }
  fields.no_others();
  return execution;
}

GuardReason guard_reason(const JsonValue& value) {
  using enum GuardReason;
  return enumerator(value, {kInput, kDim, kConcrete, kDefault, kExported, kAssert});
}

SignatureRole signature_role(const JsonValue& value) {
  for (std::size_t i = 0; i < kSignatureRoles; ++i) {
    const auto role = static_cast<SignatureRole>(i);
    if (value.string() == to_string(role)) return role;
  }
  value.fail("unknown role '" + std::string(value.string().substr(0, 60)) + "'");
}

GraphSignature::Entry signature_entry(const JsonValue& value, const Nodes& nodes) {
  Fields fields(value);
  GraphSignature::Entry entry;
  entry.role = signature_role(fields.at("role"));
  entry.name = fields.text("name");
  entry.target = fields.optional_text("target");
  if (const auto persistent = fields.find("persistent")) entry.persistent = persistent->boolean();
  if (const auto path = fields.find("path")) entry.path = arguments(*path, nodes);
  if (const auto fixed = fields.find("value")) entry.value = argument(*fixed, nodes);
  if (const JsonValue node = fields.at("node"); !node.is_null()) entry.node = node_named(node, nodes);
  fields.no_others();
  return entry;
}

GraphSignature signature(const JsonValue& value, const Nodes& nodes) {
  Fields fields(value);
  const auto entry = [&](const JsonValue& item) { return signature_entry(item, nodes); };
  GraphSignature signature{list_of(fields.at("inputs"), entry), list_of(fields.at("outputs"), entry)};
  fields.no_others();
  return signature;
}

std::optional<Failure> failure(const JsonValue& value) {
  if (value.is_null()) return std::nullopt;
  Fields fields(value);
  using enum FailureKind;
  Failure failure;
  failure.kind =
      enumerator(fields.at("kind"), {kDataDependentControlFlow, kUnsupportedOp, kRaised, kLimit, kOther});
  failure.message = fields.text("message");
  failure.module = fields.text("module");
  failure.op = fields.known_text("op");
  failure.source = source(fields.at("source"));
  fields.no_others();
  return failure;
}

constexpr auto kStatuses = {ModuleStatus::kTraced, ModuleStatus::kLeaf, ModuleStatus::kFailed,
                            ModuleStatus::kUnvisited};

ModuleRecord module(const JsonValue& value) {
  Fields fields(value);
  ModuleRecord module;
  module.path = fields.text("path");
  module.type = fields.known_text("type");
  module.status = enumerator(fields.at("status"), kStatuses);
  module.alias_of = fields.text_or_null("alias_of");
  if (const auto alias = fields.find("alias"); alias && !alias->is_null()) {
    if (!module.alias_of || alias->string() != "assumed") alias->fail("only an alias can be \"assumed\"");
    module.is_assumed = true;
  }
  module.rule = fields.text_or_null("rule");
  module.calls = integer_from(0, fields.at("calls"));
  if (const auto attributes = fields.find("attributes")) {
    for (const JsonValue item : attributes->fields()) {
      module.attributes.emplace_back(item.key(), plain(item));
    }
  }
  if (const auto outputs = fields.find("outputs")) module.outputs = list_of(*outputs, output);
  module.failure = failure(fields.at("failure"));
  fields.no_others();
  return module;
}

ParameterRecord parameter(const JsonValue& value) {
  Fields fields(value);
  using enum ParameterKind;
  ParameterRecord parameter;
  parameter.name = fields.text("name");
  parameter.kind = enumerator(fields.at("kind"), {kParameter, kBuffer, kCustomObject});
  const JsonValue shape = fields.at("shape");
  const JsonValue dtype = fields.at("dtype");
  if (parameter.kind == kCustomObject) {
    if (!shape.is_null() || !dtype.is_null()) value.fail("a custom object has neither shape nor dtype");
    parameter.type = fields.text("type");
  } else {
    parameter.shape = sizes(shape);
    parameter.dtype = text_of(dtype);
    if (const auto type = fields.find("type")) parameter.type = text_of(*type);
  }
  parameter.stored = stored_parts(fields);
  if (!parameter.type.empty() && parameter.stored.empty() && parameter.kind != kCustomObject)
    value.fail("a tensor has no type");
  parameter.device = fields.optional_text("device");
  parameter.alias_of = fields.text_or_null("alias_of");
  fields.no_others();
  return parameter;
}

// --- the collection ---

void check_count(const JsonValue& value, std::int64_t count) {
  if (value.integer() != count) value.fail("the collection has " + std::to_string(count));
}

// Checks the counts, which are not kept.
void check_summary(const JsonValue& value, const GraphCollection& collection) {
  const Summary summary = summarize(collection);
  Fields fields(value);
  check_count(fields.at("graphs"), summary.graphs);
  check_count(fields.at("nodes"), summary.nodes);
  Fields modules(fields.at("modules"));
  for (const auto& [status, count] : summary.modules) check_count(modules.at(to_string(status)), count);
  modules.no_others();
  check_count(fields.at("parameters"), summary.parameters);
  fields.at("unused_parameters");
  if (const auto total = fields.find("cost")) {
    if (summary.cost != cost(*total)) total->fail("the costs of the graphs add up to another cost");
  } else if (summary.cost) {
    value.fail("the cost is missing, but the graphs have one");
  }
  fields.no_others();
}

class Reader {
 public:
  explicit Reader(std::set<std::string>* unknown_fields) : unknown_fields_(unknown_fields) {}

  GraphCollection collection(const JsonValue& root) {
    if (!root.is_object()) not_one(root);
    Fields fields(root);
    const auto format = fields.find("format");
    if (!format || !format->is_string()) not_one(root);
    if (format->string() != "fxtrace.graph_collection") not_one(*format);
    if (const JsonValue version = fields.at("version"); version.integer() != kVersion) {
      version.fail("this is version " + std::to_string(version.integer()) +
                   " of the format, and this fxtrace reads version " + std::to_string(kVersion) +
                   ": use the fxtrace that wrote it, or trace the model again");
    }
    Fields producer(fields.at("producer"));
    producer.text("name");
    producer.text("version");
    producer.no_others();
    GraphCollection collection;
    collection.model = model(fields.at("model"));
    const JsonValue options = fields.at("options");
    static_cast<void>(options.fields());
    collection.options_json = json_text(  // in the form of options_json()
        JsonLayout::kCompact, [&](JsonEmitter& json) { options.write(json); });
    const JsonValue summary = fields.at("summary");
    collection.unused_parameters = list_of(summary.at("unused_parameters"), text_of);
    collection.modules = list_of(fields.at("modules"), module);
    collection.parameters = list_of(fields.at("parameters"), parameter);
    collection.graphs = list_of(fields.at("graphs"), [this](const JsonValue& item) { return graph(item); });
    check_summary(summary, collection);
    note_others(fields);
    return collection;
  }

 private:
  [[noreturn]] static void not_one(const JsonValue& value) {
    value.fail("this is not a graph collection", {"fxtrace trace MODEL -o FILE.json writes one"});
  }

  static GraphCollection::Model model(const JsonValue& value) {
    Fields fields(value);
    GraphCollection::Model model;
    model.file = fields.text("file");
    const JsonValue kind = fields.at("kind");
    model.kind = text_of(kind);
    if (model.kind != "torchscript" && model.kind != "exported_program") {
      kind.fail("expected one of torchscript, exported_program");
    }
    model.type = fields.known_text("type");
    model.method = fields.text("method");
    fields.no_others();
    return model;
  }

  ModuleGraph graph(const JsonValue& value) {
    Fields fields(value);
    ModuleGraph graph;
    graph.module = fields.text("module");
    graph.type = fields.known_text("type");
    const Nodes nodes = read_nodes(fields.at("nodes"), graph.graph);
    for (const JsonValue item : fields.at("constants").fields()) {
      graph.constants.emplace_back(item.key(), constant(item));
    }
    for (const JsonValue item : fields.at("subgraphs").fields()) {
      graph.subgraphs.add({std::string(item.key()), this->graph(item)});
    }
    graph.guards = list_of(fields.at("guards"), [](const JsonValue& item) {
      Fields guard(item);
      Guard result{Expression::parse(guard.at("expr").string()), source(guard.at("source"))};
      if (const auto reason = guard.find("reason")) result.reason = guard_reason(*reason);
      guard.no_others();
      return result;
    });
    if (const auto assignments = fields.find("assignments")) {
      for (const JsonValue item : assignments->items()) {
        Fields assignment(item);
        graph.graph.assign({std::string(assignment.text("target")), argument(assignment.at("value"), nodes),
                            source(assignment.at("source"))});
        assignment.no_others();
      }
    }
    if (const auto entries = fields.find("graph_signature")) graph.signature = signature(*entries, nodes);
    if (const auto order = fields.find("execution")) graph.execution = execution(*order);
    if (const auto own = fields.find("cost")) graph.cost = cost(*own);
    note_others(fields);
    return graph;
  }

  Nodes read_nodes(const JsonValue& list, Graph& graph) {
    Nodes nodes;
    std::vector<JsonValue> users;  // as given by the text
    for (const JsonValue item : list.items()) users.push_back(read_node(item, graph, nodes));
    auto next = users.begin();
    for (const NodeId id : graph.order()) check_users(*next++, graph, id);
    return nodes;
  }

  // Appends the node; returns its list of users.
  JsonValue read_node(const JsonValue& value, Graph& graph, Nodes& nodes) {
    using enum Opcode;
    Fields fields(value);
    const JsonValue name = fields.at("name");
    if (name.string().empty()) name.fail("expected a non-empty string");
    if (nodes.contains(name.string())) name.fail("another node has this name");
    Graph::NodeSpec spec;
    spec.name_hint = name.string();
    spec.op = enumerator(fields.at("op"),
                         {kPlaceholder, kGetAttr, kCallFunction, kCallMethod, kCallModule, kOutput});
    spec.target = fields.text("target");
    spec.args = arguments(fields.at("args"), nodes);
    for (const JsonValue item : fields.at("kwargs").fields()) {
      spec.kwargs.emplace_back(item.key(), argument(item, nodes));
    }
    const JsonValue users = fields.at("users");
    spec.scope = scope(fields.at("scope"));
    auto [known, cost] = meta(fields.at("meta"));
    spec.meta = std::move(known);
    spec.source = source(fields.at("source"));
    const auto method = fields.find("method");
    if (const auto own = fields.find("model_function")) spec.model_function = own->boolean();
    if (const auto recorded = fields.find("recorded")) spec.is_recorded = recorded->boolean();
    const auto program_nodes = fields.find("program_nodes");
    const NodeId id = graph.append(std::move(spec));
    if (graph.node(id).name != name.string()) {
      name.fail("torch.fx would give this node the name " + graph.node(id).name);
    }
    nodes.emplace(name.string(), id);
    if (cost) graph.set_cost(id, std::move(cost));
    if (method) graph.set_method(id, text_of(*method));
    if (program_nodes) {
      ProgramPart program{list_of(*program_nodes, text_of), {}, {}};
      if (const auto inputs = fields.find("program_inputs")) program.inputs = places(*inputs);
      if (const auto results = fields.find("program_results")) program.results = places(*results);
      graph.set_program(id, std::move(program));
    }
    if (const auto order = fields.find("arguments")) {
      if (order->string() != kInOrderOfUse) order->fail("expected '" + std::string(kInOrderOfUse) + "'");
      graph.set_in_order_of_use(id, true);
    }
    note_others(fields);
    return users;
  }

  // Reads places, whose paths contain no nodes.
  std::vector<ProgramPart::Place> places(const JsonValue& list) {
    return list_of(list, [&](const JsonValue& item) {
      Fields fields(item);
      std::string value = fields.text("value");
      return ProgramPart::Place{std::move(value), arguments(fields.at("path"), {})};
    });
  }

  // Checks the list of users against the graph, which derives users itself.
  static void check_users(const JsonValue& list, const Graph& graph, NodeId id) {
    const auto names = list_of(list, [](const JsonValue& name) { return name.string(); });
    const auto name_of = [&](NodeId user) -> std::string_view { return graph.node(user).name; };
    if (!std::ranges::equal(names, graph.node(id).users, {}, {}, name_of)) {
      list.fail("these are not the nodes whose arguments use this one");
    }
  }

  void note_others(const Fields& fields) {
    if (unknown_fields_ == nullptr) return;
    fields.others([this](const JsonValue& value) { unknown_fields_->emplace(value.key()); });
  }

  std::set<std::string>* unknown_fields_;
};

}  // namespace

GraphCollection read_collection(std::string_view text, const std::string& name,
                                std::set<std::string>* unknown_fields) {
  const JsonDocument document(text, name, kRules);
  GraphCollection collection = Reader(unknown_fields).collection(document.root());
  try {
    lint(collection);
  } catch (const Error& error) {
    throw input_error("the collection contradicts itself: " +
                      (error.place().empty() ? "" : error.place() + ": ") + error.what())
        .at(name);
  }
  return collection;
}

}  // namespace fxtrace
