#include "readers/collection_reader.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/analysis/collection_summary.h"
#include "graph/collection_fields.h"
#include "graph/lint.h"
#include "support/error.h"
#include "support/json_document.h"
#include "support/json_emitter.h"
#include "support/json_fields.h"

namespace fxtrace::internal {
namespace {

constexpr JsonRules kRules{ErrorKind::kInput, 2'000, true};
constexpr std::int64_t kVersion = 1;

using Nodes = std::unordered_map<std::string_view, NodeId>;

std::string text_of(const JsonValue& value) { return std::string(value.string()); }

template <class F>
auto list_of(const JsonValue& value, F&& read) {
  std::vector<std::decay_t<decltype(read(value))>> list;
  for (const JsonValue item : value.items()) list.push_back(read(item));
  return list;
}

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
  JsonFields fields(value);
  argument::TupleNames names{text_of(fields.at("type")), list_of(fields.at("fields"), text_of)};
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
Argument plain_argument(const JsonValue& value) {
  if (value.is_array()) return Argument::List{list_of(value, plain_argument)};
  return value.is_object() ? Argument(number(value)) : argument(value, {});
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

// --- what the fields of a record say together ---

void check(const JsonValue&, const auto&) {}

void check(const JsonValue& value, const GraphCollection::Model& model) {
  if (model.kind == "torchscript" || model.kind == "exported_program") return;
  value.at("kind").fail("expected one of torchscript, exported_program");
}

void check(const JsonValue& value, const ModuleRecord& module) {
  if (module.is_assumed && !module.alias_of) value.at("alias").fail("only an alias can be \"assumed\"");
}

void check(const JsonValue& value, const ParameterRecord& parameter) {
  const bool is_plain = parameter.stored.empty() && parameter.kind != ParameterKind::kCustomObject;
  if (is_plain && !parameter.type.empty()) value.fail("a tensor has no type");
}

void check(const JsonValue& value, const Constant& constant) {
  if (constant.object_type.empty() && value.find_or_null("type")) {
    value.at("type").fail("expected a non-empty string");
  }
}

std::string other_method(const JsonValue& value) {
  std::string method = text_of(value);
  if (method.empty() || method == "forward") value.fail("expected another method than forward");
  return method;
}

void check(const JsonValue& value, const Execution::MethodCall&) { other_method(value.at("method")); }

void check(const JsonValue& value, const Execution& execution) {
  std::size_t least = 0;
  for (const auto& call : execution.method_calls) {
    if (call.position < least || call.position > execution.module_forward_order.size()) {
      value.at("method_calls").fail("expected positions in module_forward_order, in order");
    }
    least = call.position;
  }
}

void check_count(const JsonValue& value, std::int64_t count) {
  if (value.integer() != count) value.fail("the collection has " + std::to_string(count));
}

// Reads the records of graph/collection_fields.h, which says what the verbs mean.
class Reader : public FieldReader<Reader> {
 public:
  // The last values of the enumerations that stand in a collection.
  static constexpr std::tuple kLast{
      Opcode::kOutput,          GuardReason::kAssert,         FailureKind::kOther,
      ModuleStatus::kUnvisited, ParameterKind::kCustomObject, SignatureRole::kUserInputMutation};

  explicit Reader(std::set<std::string>* unknown_fields) : unknown_fields_(unknown_fields) {}

  GraphCollection collection(const JsonValue& root) {
    if (!root.is_object()) not_one(root);
    JsonFields fields(root);
    fields_ = &fields;
    const auto format = fields.find("format");
    if (!format || !format->is_string()) not_one(root);
    if (format->string() != "fxtrace.graph_collection") not_one(*format);
    if (const JsonValue version = fields.at("version"); version.integer() != kVersion) {
      version.fail("this is version " + std::to_string(version.integer()) +
                   " of the format, and this fxtrace reads version " + std::to_string(kVersion) +
                   ": use the fxtrace that wrote it, or trace the model again");
    }
    JsonFields producer(fields.at("producer"));
    for (const char* key : {"name", "version"}) static_cast<void>(producer.at(key).string());
    producer.no_others();
    GraphCollection collection;
    field("model", collection.model);
    const JsonValue options = fields.at("options");
    static_cast<void>(options.fields());
    collection.options_json = json_text(  // in the form of options_json()
        JsonLayout::kCompact, [&](JsonEmitter& json) { options.write(json); });
    const JsonValue summary = fields.at("summary");
    field("modules", collection.modules);
    field("parameters", collection.parameters);
    field("graphs", collection.graphs);
    note_others(fields);
    check_summary(summary, collection);
    return collection;
  }

  void null(std::string_view name) {
    if (const JsonValue value = fields_->at(name); !value.is_null()) value.fail("expected null");
  }
  void mark(std::string_view name, bool& result, std::string_view word, bool or_null = false) {
    const auto value = fields_->find(name);
    if (!value || (or_null && value->is_null())) return;
    if (value->string() != word) value->fail("expected '" + std::string(word) + "'");
    result = true;
  }
  void method(std::string_view name, std::string& method) {
    if (const auto value = fields_->find(name)) method = other_method(*value);
  }
  void dtype(std::string_view name, Meta& meta) {
    const JsonValue value = fields_->at(name);
    meta.set_dtype(value.is_null() ? "" : value.string());
  }
  void expression(std::string_view name, Expression& result) {
    result = Expression::parse(fields_->at(name).string());
  }
  void plain(std::string_view name, Kwargs& result) {
    const auto value = fields_->find(name);
    if (!value) return;
    for (const JsonValue item : value->fields()) result.emplace_back(item.key(), plain_argument(item));
  }
  void assignments(std::string_view name, Graph& graph) {
    std::vector<Assignment> assignments;
    optional(name, assignments);
    for (Assignment& assignment : assignments) graph.assign(std::move(assignment));
  }
  bool elements(std::string_view name, Constant& constant) {
    const JsonValue value = fields_->at(name);
    if (!value.is_null()) internal::elements(value, constant.shape, constant.data.emplace());
    return !value.is_null();
  }
  void part(std::string_view name, auto& part, auto&& f) {
    if (fields_->peek(name)) f(part.edit());
  }
  void meta(std::string_view name, Node& node, auto&& f) {
    const JsonValue value = fields_->at(name);
    if (value.is_null()) return;
    Meta meta;
    std::optional<Cost> cost;
    object(value, [&] { f(*this, meta, cost); });
    node.meta = std::move(meta);
    node.cost = std::move(cost);
  }

 private:
  friend class FieldReader<Reader>;
  using FieldReader<Reader>::read;

  [[noreturn]] static void not_one(const JsonValue& value) {
    value.fail("this is not a graph collection", {"fxtrace trace MODEL -o FILE.json writes one"});
  }

  template <class T>
  void record(const JsonValue& value, T& result) {
    if constexpr (std::is_same_v<T, Node> || std::is_same_v<T, ModuleGraph>) {
      JsonFields fields(value);
      JsonFields* const outer = std::exchange(fields_, &fields);
      describe(*this, result);
      fields_ = outer;
      note_others(fields);
    } else {
      object(value, [&] { describe(*this, result); });
    }
    check(value, result);
  }

  void read(const JsonValue& value, Device& result, std::int64_t = 0) {
    result = Device::named(value.string());
  }
  void read(const JsonValue& value, Expression& result, std::int64_t = 0) {
    result = value.is_string() ? Expression::parse(value.string()) : Expression(value.integer());
  }
  void read(const JsonValue& value, std::vector<Expression>& sizes, std::int64_t = 0) {
    for (const JsonValue item : value.items()) {
      read(item, sizes.emplace_back());
      if (sizes.back().number().value_or(0) < 0) item.fail("a size is negative");
    }
  }
  void read(const JsonValue& value, SymInt& amount, std::int64_t = 0) {
    auto size = value.is_string() ? SymInt::parse(value.string()) : SymInt(value.integer());
    if (!size) value.fail("expected an expression of sizes");
    amount = *std::move(size);
  }
  void read(const JsonValue& value, Cost& cost, std::int64_t = 0) {
    if (value.is_null()) {
      cost.unsized = 1;
    } else {
      object(value, [&] { describe(*this, cost); });
    }
  }
  void read(const JsonValue& value, Argument& result, std::int64_t = 0) { result = argument(value, nodes_); }
  void read(const JsonValue& value, NodeId& node, std::int64_t = 0) { node = node_named(value, nodes_); }
  // The users of a node, which the graph derives itself: they are checked when all nodes are read.
  void read(const JsonValue& value, std::vector<NodeId>&, std::int64_t = 0) { users_.push_back(value); }
  void read(const JsonValue& value, ProgramPart::Place& place, std::int64_t = 0) {
    Nodes outer = std::exchange(nodes_, {});  // its path has none
    object(value, [&] { describe(*this, place); });
    nodes_ = std::move(outer);
  }
  void read(const JsonValue& value, SubgraphList& subgraphs, std::int64_t = 0) {
    for (const JsonValue item : value.fields()) {
      Subgraph subgraph{std::string(item.key()), {}};
      Nodes outer = std::exchange(nodes_, {});
      read<ModuleGraph>(item, subgraph.graph);
      nodes_ = std::move(outer);
      subgraphs.add(std::move(subgraph));
    }
  }
  void read(const JsonValue& list, Graph& graph, std::int64_t = 0) {
    nodes_.clear();
    users_.clear();
    for (const JsonValue item : list.items()) {
      Node node;
      read<Node>(item, node);
      append(item.at("name"), node, graph);
    }
    auto users = users_.begin();
    for (const NodeId id : graph.order()) check_users(*users++, graph, id);
  }

  void append(const JsonValue& name, const Node& node, Graph& graph) {
    if (node.name.empty()) name.fail("expected a non-empty string");
    if (nodes_.contains(name.string())) name.fail("another node has this name");
    const NodeId id = graph.append(node);
    if (graph.node(id).name != node.name) {
      name.fail("torch.fx would give this node the name " + graph.node(id).name);
    }
    nodes_.emplace(name.string(), id);
  }

  static void check_users(const JsonValue& list, const Graph& graph, NodeId id) {
    const auto names = list_of(list, [](const JsonValue& name) { return name.string(); });
    const auto name_of = [&](NodeId user) -> std::string_view { return graph.node(user).name; };
    if (!std::ranges::equal(names, graph.node(id).users, {}, {}, name_of)) {
      list.fail("these are not the nodes whose arguments use this one");
    }
  }

  // Reads the unused parameters, and checks the counts, which are not kept.
  void check_summary(const JsonValue& value, GraphCollection& collection) {
    const Summary summary = summarize(collection);
    object(value, [&] {
      check_count(fields_->at("graphs"), summary.graphs);
      check_count(fields_->at("nodes"), summary.nodes);
      object(fields_->at("modules"), [&] {
        for (const auto& [status, count] : summary.modules) {
          check_count(fields_->at(to_string(status)), count);
        }
      });
      check_count(fields_->at("parameters"), summary.parameters);
      field("unused_parameters", collection.unused_parameters);
      std::optional<Cost> total;
      optional("cost", total);
      if (total == summary.cost) return;
      if (!total) value.fail("the cost is missing, but the graphs have one");
      value.at("cost").fail("the costs of the graphs add up to another cost");
    });
  }

  void note_others(const JsonFields& fields) {
    if (unknown_fields_ == nullptr) return;
    fields.others([this](const JsonValue& value) { unknown_fields_->emplace(value.key()); });
  }

  std::set<std::string>* unknown_fields_;
  Nodes nodes_;                   // those of the current graph, by name
  std::vector<JsonValue> users_;  // as given, of each of its nodes
};

}  // namespace

GraphCollection read_collection(std::string text, const std::string& name,
                                std::set<std::string>* unknown_fields) {
  const JsonDocument document(JsonText{std::move(text)}, name, kRules);
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

}  // namespace fxtrace::internal
