#include "exported/program/graph_reader.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/program_operations.h"
#include "exported/program/encoded_texts.h"
#include "graph/rewrite.h"
#include "operators/operators.h"
#include "support/error.h"
#include "support/text/identifier.h"

namespace fxtrace::internal {
namespace {

std::string quoted(std::string_view name) { return "'" + std::string(name.substr(0, 100)) + "'"; }

struct Numbered {
  std::int64_t number;
  const char* name;
};

template <std::size_t N>
std::string name_of(const std::array<Numbered, N>& table, const JsonValue& number, const char* what) {
  for (const Numbered& item : table) {
    if (item.number == number.integer()) return item.name;
  }
  number.fail("unknown " + std::string(what) + " " + std::to_string(number.integer()));
}

template <std::size_t N>
std::int64_t number_of(const std::array<Numbered, N>& table, std::string_view name) {
  for (const Numbered& item : table) {
    if (item.name == name) return item.number;
  }
  return 0;
}

constexpr std::array<Numbered, 21> kDtypes{{{1, "uint8"},
                                            {2, "int8"},
                                            {3, "int16"},
                                            {4, "int32"},
                                            {5, "int64"},
                                            {6, "float16"},
                                            {7, "float32"},
                                            {8, "float64"},
                                            {9, "complex32"},
                                            {10, "complex64"},
                                            {11, "complex128"},
                                            {12, "bool"},
                                            {13, "bfloat16"},
                                            {28, "uint16"},
                                            {29, "float8_e4m3fn"},
                                            {30, "float8_e5m2"},
                                            {31, "float8_e4m3fnuz"},
                                            {32, "float8_e5m2fnuz"},
                                            {33, "float8_e8m0fnu"},
                                            {34, "uint32"},
                                            {35, "uint64"}}};

constexpr std::array<Numbered, 7> kLayouts{{{1, "sparse_coo"},
                                            {2, "sparse_csr"},
                                            {3, "sparse_csc"},
                                            {4, "sparse_bsr"},
                                            {5, "sparse_bsc"},
                                            {6, "_mkldnn"},
                                            {7, "strided"}}};

constexpr std::array<Numbered, 4> kMemoryFormats{
    {{1, "contiguous_format"}, {2, "channels_last"}, {3, "channels_last_3d"}, {4, "preserve_format"}}};

std::string device_name(const JsonValue& device) {
  std::string name(device.at("type").string());
  if (const auto index = device.find("index")) name += ":" + std::to_string(index->integer());
  return name;
}

// Returns the target as graphs have it: "torch.ops.aten.add.Tensor" -> "aten.add.Tensor".
std::string target_name(std::string_view target) {
  constexpr std::string_view kOperators = "torch.ops.";
  if (target.starts_with(kOperators)) return std::string(target.substr(kOperators.size()));
  if (target.starts_with("_operator.")) return std::string(target.substr(1));
  return std::string(target);
}

// Limits that no program reaches: subgraphs in subgraphs, and dicts in dicts.
constexpr int kMaxArguments = 100;

// Reads one graph.
//
// Functional programs order effects by tokens: with_effects(token, operator, ...) calls the operator, and
// returns a new token before its results.  The order of nodes expresses the same, so tokens are left out, as
// torch's ExportedProgram.module() leaves them out.
class Reading {
 public:
  Reading(const std::shared_ptr<const JsonDocument>& document, Hierarchy& hierarchy, int depth = 0)
      : document_(document), hierarchy_(hierarchy), depth_(depth) {}

  // `tokens`: the names of inputs that are tokens.  In subgraphs, tokens are recognized by their use.
  ExportedGraph run(const JsonValue& graph, const TokenNames& tokens) {
    reserve(graph);
    for (const JsonValue input : graph.at("inputs").items()) read_input(input, tokens);
    for (const JsonValue node : graph.at("nodes").items()) read_node(node);
    read_result(graph);
    place_regions();
    read_metas(graph);
    if (!tokens_.empty()) drop_tokens(graph);
    return std::move(read_);
  }

 private:
  // What a node of the file says, until it is one of the graph.
  struct Operation {
    struct Output {
      std::string_view name;
      std::vector<std::int64_t> path;  // see ProgramResult
      JsonValue place;
      bool is_token = false;
    };
    std::string target, name;
    std::vector<Argument> args;
    Kwargs kwargs;
    std::vector<Output> outputs;
    ProgramNode facts;
    bool has_subgraph = false;
  };

  // Reserves space for nodes, which are large and would be moved again and again.
  void reserve(const JsonValue& graph) {
    constexpr std::size_t kMost = std::size_t{1} << 18;  // bounds the numbers that a file claims
    std::size_t inputs = 0, nodes = 0;
    for (const JsonValue input : graph.at("inputs").items()) inputs += input.is_object() ? 1 : 0;
    for (const JsonValue node : graph.at("nodes").items()) nodes += node.is_object() ? 1 : 0;
    const std::size_t values = std::min(inputs + nodes, kMost);  // one for most nodes
    graph_.reserve(values + 1);
    table_.nodes.reserve(values + 1);
    by_name_.reserve(values);
  }

  ProgramView view() const { return read_.view(); }

  // Appends a node that is the value with this name.
  NodeId define(std::string_view name, const JsonValue& place, Graph::NodeSpec spec) {
    const NodeId id = read_.append_value(std::move(spec), name);
    if (!name.empty() && !by_name_.emplace(name, id).second) place.fail(quoted(name) + " is defined twice");
    return id;
  }

  NodeId use(std::string_view name, const JsonValue& place) const {
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) place.fail(quoted(name) + " is used before it is defined");
    return found->second;
  }

  void read_input(const JsonValue& input, const TokenNames& tokens) {
    const auto name = value_name(input);
    Graph::NodeSpec spec;
    if (name.empty()) spec.args.push_back(constant_argument(read_constant(input)));
    const NodeId id = define(name, input, std::move(spec));
    if (!name.empty() && tokens.contains(name)) tokens_.insert(id);
  }

  void read_result(const JsonValue& graph) {
    Argument::Tuple outputs;
    for (const JsonValue output : graph.at("outputs").items()) {
      Argument argument = read_argument(output, nullptr);
      if (!is_token(argument)) outputs.items.push_back(std::move(argument));
    }
    const auto single = graph.find("is_single_tensor_return");
    const bool is_single = single && single->boolean() && outputs.items.size() == 1;
    graph_.append(spec_of(Opcode::kOutput, "output",
                          {is_single ? std::move(outputs.items[0]) : Argument(std::move(outputs))}));
  }

  // --- tokens ---

  bool is_token(const Argument& operand) const {
    const auto* value = operand.get_if<NodeId>();
    return value != nullptr && tokens_.contains(*value);
  }

  void drop_tokens(const JsonValue& graph) {
    for (const NodeId token : tokens_) {
      if (!graph_.node(token).users.empty())
        graph.fail(quoted(view().value_name(token)) + " is an effect token but is used as a value");
      if (!view().is_operation(token)) graph_.erase(token);
    }
  }

  // Turns with_effects(token, operator, ...) into a call of the operator.  `results` is the number of
  // results: the token and those of the operator, which may be None.
  void call_directly(const JsonValue& node, std::size_t results, Operation& operation) {
    auto& args = operation.args;
    const auto* token = args.empty() ? nullptr : args[0].get_if<NodeId>();
    const auto* called = args.size() < 2 ? nullptr : args[1].get_if<argument::Function>();
    if (token == nullptr || called == nullptr || called->name.empty())
      node.fail("with_effects has no token or no operator among its arguments");
    tokens_.insert(*token);
    operation.facts.has_effect = true;
    operation.target = called->name;
    if (operation.name.empty() && !operation.outputs.empty()) operation.name = operation.outputs.front().name;
    args.erase(args.begin(), args.begin() + 2);
    set_token_aside(operation);
    if (results > 2) return;
    for (auto& output : operation.outputs) {
      if (!output.is_token && !output.path.empty()) output.path.erase(output.path.begin());
    }
  }

  // Marks the first result, which is a token, and counts the others without it.
  static void set_token_aside(Operation& operation) {
    for (auto& output : operation.outputs) {
      if (output.path.empty()) continue;
      output.is_token = output.path.front() == 0;
      if (!output.is_token) --output.path.front();
    }
  }

  // Removes the token from an invoke_subgraph whose subgraph had a token as its first input and output.
  void call_without_token(Operation& operation) {
    const auto token =
        std::ranges::find_if(operation.args, [](const Argument& argument) { return argument.is<NodeId>(); });
    if (token == operation.args.end()) return;
    tokens_.insert(*token->get_if<NodeId>());
    operation.args.erase(token);
    set_token_aside(operation);
  }

  // Returns the operand of a symbolic argument: an integer, number or boolean, or the value that holds one.
  Argument symbolic(const JsonValue& argument) const {
    const auto [kind, value] = argument.alternative();
    if (kind == "as_name") return use(value.string(), value);
    if (kind == "as_int") return value.integer();
    if (kind == "as_float") return value.number();
    if (kind == "as_bool") return value.boolean();
    argument.fail("unknown kind of symbolic argument: " + quoted(kind));
  }

  template <class F>
  Argument list(const JsonValue& items, F&& read) {
    Argument::List result;
    for (const JsonValue item : items.items()) result.items.push_back(read(item));
    return result;
  }

  // Reads an argument.  `operation` gets the subgraphs in it; it is null for a graph's outputs, which have
  // none.
  Argument read_argument(const JsonValue& argument, Operation* operation, int depth = 0) {
    if (depth > kMaxArguments) argument.fail("arguments are nested too deeply");
    const auto [kind, value] = argument.alternative();
    const auto tensor = [&](const JsonValue& item) -> Argument {
      return use(item.at("name").string(), item);
    };
    if (kind == "as_tensor" || kind == "as_token") return tensor(value);
    if (kind == "as_tensors") return list(value, tensor);
    if (kind == "as_sym_int" || kind == "as_sym_float" || kind == "as_sym_bool") return symbolic(value);
    if (kind == "as_sym_ints" || kind == "as_sym_floats" || kind == "as_sym_bools") {
      return list(value, [&](const JsonValue& item) { return symbolic(item); });
    }
    const auto optional_tensor = [&](const JsonValue& item) -> Argument {
      const auto [item_kind, inner] = item.alternative();
      if (item_kind == "as_none") return Argument::None{};
      return tensor(inner);
    };
    if (kind == "as_optional_tensor") return optional_tensor(value);
    if (kind == "as_optional_tensors") return list(value, optional_tensor);
    if (kind == "as_nested_tensors") {
      return list(value, [&](const JsonValue& inner) { return list(inner, tensor); });
    }
    if (kind == "as_custom_obj") return custom_object(value);
    if (kind == "as_graph" && operation != nullptr) return subgraph(value, *operation);
    if (kind == "as_string_to_argument") {
      Argument::Dict dict;
      for (const JsonValue field : value.fields())
        dict.items.push_back({std::string(field.key()), read_argument(field, operation, depth + 1)});
      return dict;
    }
    return read_constant(argument);
  }

  Argument custom_object(const JsonValue& object) {
    const std::string_view name = object.at("name").string();
    const auto found = by_name_.find(name);
    if (found != by_name_.end()) return found->second;
    Graph::NodeSpec spec = spec_of(Opcode::kGetAttr, std::string(name));
    // The type of an object that is only an argument is in no table of the graph.
    if (const auto type = object.find("class_fqn")) spec.meta.edit().type = std::string(type->string());
    return define(name, object, std::move(spec));
  }

  Argument subgraph(const JsonValue& value, Operation& operation) {
    if (depth_ == kMaxSubgraphs) {
      value.fail("subgraphs of operators are nested more than " + std::to_string(kMaxSubgraphs) + " deep");
    }
    Reading reading(document_, hierarchy_, depth_ + 1);
    ExportedGraph body = reading.run(value.at("graph"), {});
    Subgraph subgraph{std::string(value.at("name").string()), std::move(body.module_graph)};
    if (!reading.tokens_.empty()) {
      if (operation.target != "higher_order.invoke_subgraph")
        value.fail("the subgraph expects an effect token, but " + quoted(operation.target) + " passes none");
      operation.facts.has_effect = true;
    }
    operation.has_subgraph = true;
    Argument argument = Argument::GraphRef{subgraph.name};
    // Several operators may use one subgraph, which the program then repeats.
    if (const ModuleGraph* known = read_.module_graph.subgraphs.find_graph(subgraph.name)) {
      if (known->graph.size() != subgraph.graph.graph.size())
        throw input_error("two different subgraphs are named '" + subgraph.name + "'");
      return argument;
    }
    table_.subgraphs.emplace(subgraph.name, std::move(body.table));
    read_.module_graph.subgraphs.add(std::move(subgraph));
    return argument;
  }

  void read_node(const JsonValue& node) {
    Operation operation;
    const JsonValue target = node.at("target");
    operation.target = target_name(target.string());
    if (operation.target.empty()) target.fail("the node has an empty target");
    if (const auto name = node.find("name")) operation.name = name->string();
    if (const auto metadata = node.find("metadata")) {
      if (const auto stack = metadata->find("nn_module_stack")) {
        if (const auto call = hierarchy_.call_of(stack->string())) {
          operation.facts.call = *call;
          operation.facts.has_stack = true;
        }
      }
      if (const auto trace = metadata->find("stack_trace"))
        operation.facts.stack_trace = OwnedText(document_, trace->string());
    }
    for (const JsonValue input : node.at("inputs").items()) read_operand(input, operation);
    const std::size_t results = read_outputs(node, operation);
    if (operation.target == "higher_order.with_effects") {
      call_directly(node, results, operation);
    } else if (operation.facts.has_effect) {
      call_without_token(operation);
    }
    if (operation.has_subgraph && parse_target(operation.target).kind != TargetKind::kHigherOrder)
      target.fail(quoted(operation.target) + " has a graph argument but is not a higher-order operator");
    append(std::move(operation));
  }

  // Appends the node of an operation, and those of its results.
  void append(Operation operation) {
    const auto itself = std::ranges::find_if(
        operation.outputs, [](const auto& output) { return !output.is_token && output.path.empty(); });
    operation.facts.gives_value = itself != operation.outputs.end();
    operation.facts.op = find_operator(parse_target(operation.target));
    Graph::NodeSpec spec = spec_of(Opcode::kCallFunction, std::move(operation.target),
                                   std::move(operation.args), std::move(operation.kwargs));
    NodeId id;
    if (operation.facts.gives_value) {
      id = define(itself->name, itself->place, std::move(spec));
      if (operation.name.empty()) operation.name = itself->name;
    } else {
      spec.name = operation.name;
      id = graph_.append(std::move(spec));
    }
    read_.name_operation(id, operation.name);
    table_.at(id) = std::move(operation.facts);
    operations_.push_back(id);
    std::map<std::vector<std::int64_t>, NodeId> lists;  // by path
    for (const auto& [name, path, place, is_token] : operation.outputs) {
      if (path.empty()) continue;
      if (lists.empty()) lists.emplace(std::vector<std::int64_t>(), id);
      const NodeId list = list_at({path.begin(), path.end() - 1}, lists);
      const NodeId value = read_.append_item(
          list, path.back(), [&](Graph::NodeSpec item) { return define(name, place, std::move(item)); });
      if (is_token) tokens_.insert(value);
    }
  }

  // Returns the node of the list at `path` of a result, after appending those that are new.
  NodeId list_at(const std::vector<std::int64_t>& path, std::map<std::vector<std::int64_t>, NodeId>& lists) {
    const auto known = lists.find(path);
    if (known != lists.end()) return known->second;
    const NodeId around = list_at({path.begin(), path.end() - 1}, lists);
    return lists[path] = read_.append_list(around, path.back());
  }

  void read_operand(const JsonValue& input, Operation& operation) {
    Argument argument = read_argument(input.at("arg"), &operation);
    const auto name_field = input.find("name");
    const std::string_view name = name_field ? name_field->string() : std::string_view();
    const auto kind = input.find("kind");
    // Versions before 2.6 do not record how an argument was passed.  For all but the first, passing it by
    // name is always right.
    const bool by_position =
        name.empty() || is_python_keyword(name) ||
        (kind ? kind->integer() != kKeyword
              : operation.args.empty() || parse_target(operation.target).space != "aten");
    if (by_position) {
      operation.args.push_back(std::move(argument));
    } else {
      const bool is_double =
          std::ranges::any_of(operation.kwargs, [&](const auto& known) { return known.first == name; });
      if (is_double) name_field->fail("the node has two arguments with this name");
      operation.kwargs.emplace_back(name, std::move(argument));
    }
  }

  // Reads the results of a node, and returns how many the file lists.  See deserialize_outputs() of torch's
  // deserializer.
  std::size_t read_outputs(const JsonValue& node, Operation& operation) {
    const JsonValue outputs = node.at("outputs");
    std::size_t count = 0;
    for (const JsonValue output : outputs.items()) {
      static_cast<void>(output);
      ++count;
    }
    bool is_tuple = count > 1;
    if (count == 1 && parse_target(operation.target).kind == TargetKind::kHigherOrder) {
      if (const auto single = node.find("is_hop_single_tensor_return")) is_tuple = !single->boolean();
    }
    std::int64_t index = 0;
    for (const JsonValue output : outputs.items()) {
      std::vector<std::int64_t> path;
      const auto [kind, value] = output.alternative();
      // One output that is a list of tensors is the result itself.
      if (is_tuple && !(count == 1 && value.is_array())) path.push_back(index);
      read_output(output, path, operation);
      ++index;
    }
    return count;
  }

  void read_output(const JsonValue& output, std::vector<std::int64_t>& path, Operation& operation) {
    const auto [kind, value] = output.alternative();
    if (kind == "as_tensor" || kind == "as_custom_obj") {
      add_output(value.at("name").string(), path, value, operation);
    } else if (kind == "as_sym_int" || kind == "as_sym_float" || kind == "as_sym_bool") {
      const auto [inner_kind, inner] = value.alternative();
      if (inner_kind == "as_name") add_output(inner.string(), path, inner, operation);
    } else if (value.is_array()) {
      std::int64_t index = 0;
      for (const JsonValue item : value.items()) {
        path.push_back(index++);
        if (kind == "as_tensors") {
          add_output(item.at("name").string(), path, item, operation);
        } else if (kind == "as_optional_tensors") {
          const auto [item_kind, inner] = item.alternative();
          if (item_kind == "as_tensor") add_output(inner.at("name").string(), path, inner, operation);
        } else if (item.is_object()) {
          const auto [item_kind, inner] = item.alternative();
          if (item_kind == "as_name") add_output(inner.string(), path, inner, operation);
        }
        path.pop_back();
      }
    }
  }

  static void add_output(std::string_view name, const std::vector<std::int64_t>& path, const JsonValue& place,
                         Operation& operation) {
    operation.outputs.push_back({name, path, place});
  }

  // Returns the innermost call that runs all operations of the subgraphs; nothing when none names a call.
  std::optional<CallId> call_of_subgraphs(NodeId operation) const {
    std::optional<CallId> common;
    const auto look = [&](const std::string&, const ProgramView& graph, const auto& self) -> void {
      for (const NodeId inner : graph.operations()) {
        const ProgramNode& facts = graph.facts(inner);
        if (facts.has_stack) {
          common = common ? hierarchy_.common_call(*common, facts.call) : facts.call;
        } else {
          graph.for_each_subgraph(
              inner, [&](const std::string& name, const ProgramView& body) { self(name, body, self); });
        }
      }
    };
    view().for_each_subgraph(
        operation, [&](const std::string& name, const ProgramView& body) { look(name, body, look); });
    return common;
  }

  // Finds the call of each operator that torch.export wrapped around others (no_grad, autocast).  It may have
  // no stack of its own, and in strict mode it has the root's.  A region is in a call that continues before
  // or behind it.
  void place_regions() {
    if (read_.module_graph.subgraphs.empty()) return;
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      ProgramNode& facts = table_.at(operations_[i]);
      if (view().count_subgraphs(operations_[i]) == 0 ||
          (facts.has_stack && !is_region(view(), operations_[i])))
        continue;
      const auto inside = call_of_subgraphs(operations_[i]);
      if (!inside) continue;
      if (!facts.has_stack) {
        facts.call = *inside;
        facts.has_stack = true;
        continue;
      }
      if (hierarchy_.common_call(*inside, facts.call) != facts.call) continue;
      const auto look = [&](NodeId id) {
        const ProgramNode& beside = table_.at(id);
        if (!beside.has_stack) return;
        const CallId shared = hierarchy_.common_call(*inside, beside.call);
        if (hierarchy_.common_call(shared, facts.call) == facts.call) facts.call = shared;
      };
      if (i > 0) look(operations_[i - 1]);
      if (i + 1 < operations_.size()) look(operations_[i + 1]);
    }
  }

  // Returns the expression of an integer, number or boolean.  Expressions are kept by their text, as nearly
  // all sizes repeat a few.
  const Expression& expression(const JsonValue& value) {
    const std::string_view text = value.at("expr_str").string();
    const auto [found, is_new] = expressions_.try_emplace(text);
    if (is_new) found->second = expression_of_sympy(text);
    return found->second;
  }

  Meta::Dim read_size(const JsonValue& size) {
    const auto [kind, value] = size.alternative();
    Expression result = kind == "as_int" ? Expression(value.integer()) : expression(value);
    if (result.number().value_or(0) < 0) value.fail("a size is negative");
    return result;
  }

  Meta read_tensor_meta(const JsonValue& meta) {
    Meta result;
    result.type = "Tensor";
    result.set_dtype(dtype_name(meta.at("dtype")));
    if (const auto device = meta.find("device")) {
      const std::string name = device_name(*device);
      if (!name.starts_with("cpu")) result.device = Device::named(name);
    }
    result.shape.emplace();
    for (const JsonValue size : meta.at("sizes").items()) result.shape->push_back(read_size(size));
    return result;
  }

  void read_metas(const JsonValue& graph) {
    const auto each = [&](const char* table, auto&& read) {
      const auto values = graph.find(table);
      if (!values) return;
      for (const JsonValue field : values->fields()) {
        const auto found = by_name_.find(field.key());
        if (found == by_name_.end()) continue;
        Shared<Meta> meta = read(field);
        if (meta == last_meta_) meta = last_meta_;  // one copy of equal ones that follow each other
        last_meta_ = meta;
        graph_.set_meta(found->second, std::move(meta));
      }
    };
    each("tensor_values", [&](const JsonValue& value) { return read_tensor_meta(value); });
    find_given_back(graph);
    const auto symbolic_meta = [this](const char* type) {
      return [this, type](const JsonValue& value) {
        Meta meta;
        meta.type = type;
        const auto [kind, inner] = value.alternative();
        if (kind == "as_expr") meta.value = expression(inner);
        if (kind == "as_int") meta.value = inner.integer();
        if (kind == "as_bool") meta.value = Expression::boolean(inner.boolean());
        return meta;
      };
    };
    each("sym_int_values", symbolic_meta("int"));
    each("sym_float_values", symbolic_meta("float"));
    each("sym_bool_values", symbolic_meta("bool"));
    each("custom_obj_values", [](const JsonValue& value) {
      Meta meta;
      meta.type = std::string(value.at("class_fqn").string());
      return meta;
    });
  }

  // Fills ProgramTable::given_back: an operation that may return its argument itself does so when nothing
  // about the tensor changes.
  void find_given_back(const JsonValue& graph) {
    const auto tensors = graph.find("tensor_values");
    if (!tensors) return;
    std::vector<std::pair<NodeId, NodeId>> candidates;  // results, and the arguments that they may be
    std::unordered_map<std::string_view, std::optional<JsonValue>> metas;
    for (const NodeId operation : operations_) {
      for (const auto& [result, argument] : may_give_back(view(), operation)) {
        candidates.emplace_back(result, argument);
        metas.emplace(view().value_name(argument), std::nullopt);
        metas.emplace(view().value_name(result), std::nullopt);
      }
    }
    if (candidates.empty()) return;
    for (const JsonValue field : tensors->fields()) {
      const auto wanted = metas.find(field.key());
      if (wanted != metas.end()) wanted->second = field;
    }
    for (const auto& [result, argument] : candidates) {
      const auto& before = metas.at(view().value_name(argument));
      const auto& after = metas.at(view().value_name(result));
      if (before && after && is_same_tensor(*before, *after))
        table_.given_back.emplace(result.index, argument);
    }
  }

  static bool is_same_tensor(const JsonValue& a, const JsonValue& b) {
    constexpr std::array<const char*, 6> kFields{"dtype",          "sizes",  "strides",
                                                 "storage_offset", "layout", "device"};
    return std::all_of(kFields.begin(), kFields.end(),
                       [&](const char* field) { return a.at(field).equals(b.at(field)); });
  }

  static constexpr std::int64_t kKeyword = 2;  // schema.py, ArgumentKind

  const std::shared_ptr<const JsonDocument>& document_;
  Hierarchy& hierarchy_;
  int depth_;  // the number of subgraphs around this graph
  ExportedGraph read_;
  Graph& graph_ = read_.module_graph.graph;
  ProgramTable& table_ = read_.table;
  std::vector<NodeId> operations_;
  Shared<Meta> last_meta_;
  std::unordered_map<std::string_view, NodeId> by_name_;
  std::set<NodeId> tokens_;
  std::unordered_map<std::string_view, Expression> expressions_;  // by their text in the JSON
};

}  // namespace

std::string dtype_name(const JsonValue& number) { return name_of(kDtypes, number, "dtype"); }

std::int64_t dtype_number(std::string_view name) { return number_of(kDtypes, name); }
std::int64_t layout_number(std::string_view name) { return number_of(kLayouts, name); }
std::int64_t memory_format_number(std::string_view name) { return number_of(kMemoryFormats, name); }

std::string_view value_name(const JsonValue& argument) {
  const auto [kind, value] = argument.alternative();
  if (kind == "as_tensor" || kind == "as_custom_obj" || kind == "as_token") return value.at("name").string();
  if (kind == "as_sym_int" || kind == "as_sym_float" || kind == "as_sym_bool") {
    const auto [inner_kind, inner] = value.alternative();
    if (inner_kind == "as_name") return inner.string();
  }
  return {};
}

Argument read_constant(const JsonValue& argument) {
  const auto [kind, value] = argument.alternative();
  const auto list = [](const JsonValue& items, auto&& read) -> Argument {
    Argument::List result;
    for (const JsonValue item : items.items()) result.items.push_back(read(item));
    return result;
  };
  const auto integer = [](const JsonValue& item) -> Argument { return item.integer(); };
  const auto number = [](const JsonValue& item) -> Argument { return item.number(); };
  const auto boolean = [](const JsonValue& item) -> Argument { return item.boolean(); };
  const auto string = [](const JsonValue& item) -> Argument { return std::string(item.string()); };
  if (kind == "as_none") return Argument::None{};
  if (kind == "as_int") return integer(value);
  if (kind == "as_ints") return list(value, integer);
  if (kind == "as_float") return number(value);
  if (kind == "as_floats") return list(value, number);
  if (kind == "as_bool") return boolean(value);
  if (kind == "as_bools") return list(value, boolean);
  if (kind == "as_string") return string(value);
  if (kind == "as_strings") return list(value, string);
  if (kind == "as_sym_int" || kind == "as_sym_float" || kind == "as_sym_bool") return read_constant(value);
  if (kind == "as_scalar_type") return Argument::Dtype{dtype_name(value)};
  if (kind == "as_layout") return Argument::Layout{name_of(kLayouts, value, "layout")};
  if (kind == "as_memory_format") {
    return Argument::MemoryFormat{name_of(kMemoryFormats, value, "memory format")};
  }
  if (kind == "as_device") return Argument::Device{device_name(value)};
  if (kind == "as_complex") {
    return std::complex<double>(value.at("real").number(), value.at("imag").number());
  }
  if (kind == "as_operator") return Argument::Function{target_name(value.string())};
  if (kind == "as_int_lists") {
    return list(value, [&](const JsonValue& inner) -> Argument {
      Argument::Tuple tuple;
      for (const JsonValue item : inner.items()) tuple.items.push_back(item.integer());
      return tuple;
    });
  }
  if (kind == "as_float_lists") {
    return list(value, [&](const JsonValue& inner) { return list(inner, number); });
  }
  argument.fail("unknown kind of argument " + quoted(kind) + "; the file may come from a newer PyTorch");
}

ExportedGraph read_graph(const std::shared_ptr<const JsonDocument>& document, const JsonValue& graph,
                         Hierarchy& hierarchy, const TokenNames& tokens) {
  return Reading(document, hierarchy).run(graph, tokens);
}

}  // namespace fxtrace::internal
