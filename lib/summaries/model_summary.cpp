#include "summaries/model_summary.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "analysis/node_arguments.h"
#include "graph/analysis/collection_summary.h"
#include "graph/analysis/input_sizes.h"
#include "graph/graph_collection.h"
#include "operators/target.h"
#include "opinfo/operator_entry.h"
#include "opinfo/rules/cost_rules.h"
#include "opinfo/rules/shape_helpers.h"
#include "opinfo/rules/shape_rules.h"
#include "opinfo/traits.h"
#include "support/json_document.h"
#include "support/text/numbers.h"
#include "support/text/qualified_name.h"
#include "support/text/unicode.h"

namespace fxtrace::internal {
namespace {

constexpr std::size_t kNone = SIZE_MAX;

// A sum of costs; unknown parts are left out.
class Sum {
 public:
  void add(const std::optional<SymInt>& size) {
    if (!size || is_too_large_) return;
    try {
      value_ = value_ ? *value_ + *size : *size;
    } catch (const SymbolicError&) {
      is_too_large_ = true;
    }
  }
  void add(const Sum& other) {
    add(other.value_);
    is_too_large_ = is_too_large_ || other.is_too_large_;
  }
  bool is_too_large() const { return is_too_large_; }
  std::optional<SymInt> value() const { return is_too_large_ ? std::nullopt : value_; }

 private:
  std::optional<SymInt> value_;
  bool is_too_large_ = false;
};

std::optional<SymInt> times(const std::optional<SymInt>& size, std::int64_t count) {
  if (!size || count == 1) return size;
  try {
    return *size * SymInt(count);
  } catch (const SymbolicError&) {
    return std::nullopt;
  }
}

std::int64_t times(std::int64_t number, std::int64_t count) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(number, count, &product) ? INT64_MAX : product;
}

TensorCount times(const TensorCount& size, std::int64_t count) {
  return {times(size.elements, count), times(size.bytes, count)};
}

TensorCount count_of(const TensorTotal& total) { return {total.elements, total.bytes}; }

// The costs of a module.
struct Costs {
  Sum macs, uncounted_macs, activation_bytes, inputs_read, weights_read, kv_cache;
  std::map<std::string, Sum> macs_by_dtype;
  std::int64_t unknown = 0, unsized = 0, failed = 0;
  QuantizedCompute quantization;
  TensorCount counted;      // parameters whose first name is in the module
  bool is_seen = false;     // has nodes in a graph that counts
  bool is_in_body = false;  // has nodes in a subgraph

  void add(const Costs& other) {
    macs.add(other.macs);
    uncounted_macs.add(other.uncounted_macs);
    for (const auto& [dtype, sum] : other.macs_by_dtype) macs_by_dtype[dtype].add(sum);
    activation_bytes.add(other.activation_bytes);
    inputs_read.add(other.inputs_read);
    weights_read.add(other.weights_read);
    kv_cache.add(other.kv_cache);
    quantization.add(other.quantization);
    add_saturated(unknown, other.unknown);
    add_saturated(unsized, other.unsized);
    add_saturated(failed, other.failed);
    counted.add(other.counted);
    is_seen = is_seen || other.is_seen;
    is_in_body = is_in_body || other.is_in_body;
  }
};

std::vector<ModelSummary::Port> inputs_of(const ModuleGraph& of) {
  std::vector<ModelSummary::Port> ports;
  for (const NodeId id : of.graph.order()) {
    const Node& node = of.graph.node(id);
    if (node.op != Opcode::kPlaceholder) continue;
    ports.push_back({*node.target, *node.meta});
    if (!of.signature) continue;
    const auto& entries = of.signature->inputs;
    const auto entry = std::ranges::find(entries, id, &GraphSignature::Entry::node);
    if (entry != entries.end()) ports.back().fixed = entry->value;
  }
  return ports;
}

using Labels = std::map<NodeId, std::string_view>;

Labels labels_of_outputs(const ModuleGraph& of) {
  Labels labels;
  if (!of.signature) return labels;
  for (const auto& entry : of.signature->outputs) {
    if (entry.is_named && entry.node.valid()) labels.emplace(entry.node, entry.name);
  }
  return labels;
}

void add_outputs(const Graph& graph, const Argument& argument, const std::string& name, const Labels& labels,
                 std::vector<ModelSummary::Port>& ports) {
  const auto below = [&](const std::string& part) { return name.empty() ? part : name + "." + part; };
  if (const auto* id = argument.get_if<NodeId>()) {
    ports.push_back({name, *graph.node(*id).meta});
    if (const auto label = labels.find(*id); label != labels.end()) ports.back().label = label->second;
  } else if (const auto* items = items_of(argument)) {
    const auto* tuple = argument.get_if<Argument::Tuple>();
    const auto* names = tuple != nullptr ? tuple->names.get() : nullptr;
    for (std::size_t i = 0; i < items->size(); ++i)
      add_outputs(graph, (*items)[i], below(names != nullptr ? names->fields[i] : std::to_string(i)), labels,
                  ports);
  } else if (const auto* dict = argument.get_if<Argument::Dict>()) {
    for (const auto& [key, item] : dict->items) {
      const auto* text = key.get_if<std::string>();
      const auto* number = key.get_if<std::int64_t>();
      add_outputs(graph, item,
                  below(text != nullptr     ? *text
                        : number != nullptr ? std::to_string(*number)
                                            : std::string("?")),
                  labels, ports);
    }
  }
}

class Summarizer {
 public:
  explicit Summarizer(const GraphCollection& collection)
      : collection_(collection), counted_(graphs_that_count(collection)), costs_(collection.modules.size()) {
    for (std::size_t i = 0; i < modules().size(); ++i) by_path_.emplace(modules()[i].path, i);
    make_tree();
  }

  ModelSummary run() {
    summary_.model = collection_.model;
    add_ports();
    for (std::size_t i = 0; i < collection_.graphs.size(); ++i) {
      add_costs(collection_.graphs[i], counted_.counts[i]);
      add_methods(collection_.graphs[i]);
    }
    if (!cache_.empty()) add_cache(collection_.graphs.front().graph);
    add_tensors();
    add_failed();
    const auto own = costs_;
    // Children come after their parents.
    for (std::size_t at = order_.size(); at-- > 1;) {
      const std::size_t i = order_[at];
      if (parents_[i] == kNone) continue;
      if (has_own_cost(parents_[i])) {
        costs_[parents_[i]].counted.add(costs_[i].counted);
      } else {
        costs_[parents_[i]].add(costs_[i]);
      }
    }
    choose_rows(own);
    make_rows();
    if (!modules().empty()) {
      const Costs& all = costs_[order_.front()];
      summary_.macs = known(all, all.macs);
      summary_.flops = flops_of(all);
      summary_.activation_bytes = known(all, all.activation_bytes);
      summary_.unsized = all.unsized;
    }
    if (!collection_.graphs.empty() && collection_.graphs.front().cost && !summary_.has_closed())
      summary_.peak_bytes = collection_.graphs.front().cost->peak_bytes;
    return std::move(summary_);
  }

 private:
  const std::vector<ModuleRecord>& modules() const { return collection_.modules; }
  bool is_root(const Graph& graph) const { return &graph == &collection_.graphs.front().graph; }
  bool is_failed(std::size_t i) const {
    return i < modules().size() && modules()[i].status == ModuleStatus::kFailed;
  }

  // Returns whether the module failed and the cost of its calls is known nevertheless.
  bool has_own_cost(std::size_t i) const {
    return is_failed(i) && !counted_.closed.contains(modules()[i].path);
  }

  // Returns the module at the path, under its first name; if there is none, the nearest module above it.
  std::size_t find_module(std::string_view path) {
    const auto known = resolved_.find(path);
    if (known != resolved_.end()) return known->second;
    std::size_t result = modules().empty() ? kNone : 0;
    std::string first(path);
    // A path below a later name of a shared module leads to one below its first name.  In a damaged file
    // these may form a cycle.
    constexpr int kMostTurns = 16;
    for (int turns = 0; turns < kMostTurns; ++turns) {
      const auto found = by_path_.find(first);
      if (found != by_path_.end() && !modules()[found->second].alias_of) {
        result = found->second;
        break;
      }
      if (found != by_path_.end() && *modules()[found->second].alias_of != first) {
        first = *modules()[found->second].alias_of;
        continue;
      }
      std::string_view above = QualifiedName(first).parent();
      auto alias = by_path_.end();
      for (; !above.empty() && alias == by_path_.end(); above = QualifiedName(above).parent()) {
        const auto candidate = by_path_.find(above);
        if (candidate == by_path_.end()) continue;
        if (!modules()[candidate->second].alias_of) {
          result = candidate->second;
          break;
        }
        alias = candidate;
      }
      if (alias == by_path_.end()) break;
      first = *modules()[alias->second].alias_of + first.substr(alias->first.size());
    }
    resolved_.emplace(std::string(path), result);
    return result;
  }

  // Builds parents, children and a pre-order for records in any order.
  void make_tree() {
    parents_.assign(modules().size(), kNone);
    children_.assign(modules().size(), {});
    for (std::size_t i = 0; i < modules().size(); ++i) {
      if (modules()[i].path.empty()) continue;
      std::string_view path = QualifiedName(modules()[i].path).parent();
      auto found = by_path_.find(path);
      while (found == by_path_.end() && !path.empty())
        found = by_path_.find(path = QualifiedName(path).parent());
      if (found == by_path_.end() || by_path_.at(modules()[i].path) != i) continue;
      parents_[i] = found->second;
      children_[found->second].push_back(i);
    }
    const auto root = by_path_.find("");
    if (root == by_path_.end()) return;
    std::vector<std::size_t> pending{root->second};
    while (!pending.empty()) {
      const std::size_t i = pending.back();
      pending.pop_back();
      order_.push_back(i);
      pending.insert(pending.end(), children_[i].rbegin(), children_[i].rend());
    }
  }

  void add_ports() {
    if (collection_.graphs.empty() || !collection_.graphs.front().module.empty()) return;
    const ModuleGraph& root = collection_.graphs.front();
    const Graph& graph = root.graph;
    summary_.inputs = inputs_of(root);
    const Labels labels = labels_of_outputs(root);
    for (const NodeId id : graph.order()) {
      const Node& node = graph.node(id);
      if (node.op == Opcode::kOutput && !node.args.empty())
        add_outputs(graph, node.args.front(), "", labels, summary_.outputs);
    }
  }

  void add_methods(const ModuleGraph& graph) {
    if (!graph.execution) return;
    for (const Execution::MethodCall& call : graph.execution->method_calls) {
      std::vector<std::string>& methods = methods_[call.module];
      if (std::ranges::find(methods, call.method) == methods.end()) methods.push_back(call.method);
    }
  }

  void add_costs(const ModuleGraph& graph, bool counts) {
    for (const NodeId id : graph.graph.order()) {
      const Node& node = graph.graph.node(id);
      const std::size_t i = find_module(node.scope->module_path);
      if (i == kNone) continue;
      costs_[i].is_seen = true;
      if (is_root(graph.graph)) add_inputs(graph.graph, node, costs_[i].inputs_read);
      has_costs_ = has_costs_ || node.cost->has_value();
      if (!node.cost->has_value()) continue;
      // For a closed module, the graphs of its submodules count instead.
      const std::size_t called = node.op == Opcode::kCallModule ? find_module(called_module(node)) : kNone;
      if (is_failed(called) && !has_own_cost(called)) continue;
      add_cost(**node.cost, costs_[i], counts);
      if ((*node.cost)->macs != SymInt(0))
        costs_[i].macs_by_dtype[dtype_of(graph.graph, node)].add((*node.cost)->macs);
      costs_[reader_of(graph.graph, node, i)].weights_read.add(SymInt((*node.cost)->parameter_bytes));
      if (node.op == Opcode::kCallFunction) add_keys_and_values(graph.graph, node, costs_[i].kv_cache);
    }
    if (counts) {
      for_each_compute(graph.graph, [&](const Node& node, const QuantizedCompute& compute) {
        if (const std::size_t i = find_module(node.scope->module_path); i != kNone)
          costs_[i].quantization.add(compute);
      });
    }
    has_costs_ = has_costs_ || graph.cost.has_value();
    for_each_graph(graph, [&](const ModuleGraph& body) {
      if (&body == &graph) return;
      for (const NodeId id : body.graph.order()) {
        const std::size_t i = find_module(body.graph.node(id).scope->module_path);
        if (i != kNone) costs_[i].is_in_body = true;
      }
    });
  }

  // Returns the module that reads the weight of the node.  A program takes tensors of tensor subclasses apart
  // at its beginning and not where they are read, so such a node counts for the module that has the tensor.
  std::size_t reader_of(const Graph& graph, const Node& node, std::size_t otherwise) {
    const auto* id = node.args.empty() ? nullptr : node.args[0].get_if<NodeId>();
    if (id == nullptr || !takes_stored_part(*node.target)) return otherwise;
    const Node& tensor = graph.node(*id);
    return tensor.op == Opcode::kGetAttr ? find_module(QualifiedName(*tensor.target).parent()) : otherwise;
  }

  static std::optional<SymInt> bytes_of(const Meta& meta) {
    const auto sizes = meta.sizes();
    return sizes ? internal::bytes_of(*sizes, meta.dtype) : std::nullopt;
  }

  static const Operator* operator_of(const Node& node) {
    const TargetParts target = parse_target(*node.target);
    return target.kind == TargetKind::kOperator ? find_operator(target) : nullptr;
  }

  // Returns the bytes of a key or value before it was repeated for several heads of queries.
  static std::optional<SymInt> cached_bytes(const Graph& graph, NodeId id) {
    constexpr int kMostSteps = 16;
    std::optional<SymInt> least = bytes_of(*graph.node(id).meta);
    for (int step = 0; step < kMostSteps; ++step) {
      const Node& node = graph.node(id);
      const Operator* op = node.op == Opcode::kCallFunction ? operator_of(node) : nullptr;
      if (op == nullptr || !hands_on_elements(*op) || node.args.empty() || !node.args[0].is<NodeId>()) break;
      id = *node.args[0].get_if<NodeId>();
      const auto bytes = bytes_of(*graph.node(id).meta);
      const auto typical = typical_value(bytes), known = typical_value(least);
      if (typical && known && *typical < *known) least = bytes;
    }
    return least;
  }

  // Returns the dtype of the first operand, which tells at what speed a device computes.
  static std::string dtype_of(const Graph& graph, const Node& node) {
    std::optional<std::string> dtype;
    for_each_input(node, [&](NodeId used) {
      if (!dtype) dtype = graph.node(used).meta->dtype_text();
    });
    return dtype.value_or("");
  }

  // Adds the inputs of the model that no call before the node uses.
  void add_inputs(const Graph& graph, const Node& node, Sum& to) {
    for_each_input(node, [&](NodeId used) {
      const Node& input = graph.node(used);
      if (input.op == Opcode::kPlaceholder && read_inputs_.insert(used.index).second)
        to.add(bytes_of(*input.meta));
    });
  }

  // Notes the values from which a key or value of attention comes, with all its elements.
  void follow_cache(const Graph& graph, NodeId key_or_value) {
    std::vector<NodeId> pending{key_or_value};
    while (!pending.empty()) {
      const Node& node = graph.node(pending.back());
      pending.pop_back();
      if (!cache_.insert(node.id.index).second) continue;
      const Operator* op = node.op == Opcode::kCallFunction ? operator_of(node) : nullptr;
      if (op == nullptr || node.args.empty() || !hands_on_elements(*op)) continue;
      for_each_reference(node.args[0], [&](NodeId from) { pending.push_back(from); });
    }
  }

  // Sums the inputs, buffers and outputs among them.
  void add_cache(const Graph& graph) {
    Sum inputs, outputs;
    std::unordered_set<std::string_view> attributes;
    for (const NodeId id : graph.order()) {
      const Node& node = graph.node(id);
      const bool is_held = cache_.contains(id.index);
      if (node.op == Opcode::kPlaceholder && is_held) inputs.add(bytes_of(*node.meta));
      if (node.op == Opcode::kGetAttr && is_held) attributes.insert(*node.target);
      if (node.op != Opcode::kOutput) continue;
      for_each_input(node, [&](NodeId used) {
        const bool is_result = graph.node(used).op == Opcode::kCallFunction;
        if (is_result && cache_.contains(used.index)) outputs.add(bytes_of(*graph.node(used).meta));
      });
    }
    for (const ParameterRecord& record : collection_.parameters) {
      if (record.kind == ParameterKind::kBuffer && attributes.contains(record.name))
        add_saturated(summary_.cache_buffers, byte_count(record));
    }
    summary_.cache_inputs = inputs.value();
    summary_.cache_outputs = outputs.value();
  }

  void add_keys_and_values(const Graph& graph, const Node& node, Sum& to) {
    const Operator* op = operator_of(node);
    if (op == nullptr) return;
    const OperatorEntry& called = entry_of(*op);
    const auto places = find_keys_and_values(*op, called.schema);
    if (!places) return;
    for (const std::size_t place : {places->first, places->second}) {
      const Argument* argument = NodeArguments(node, called).find_argument(place);
      const auto* id = argument == nullptr ? nullptr : argument->get_if<NodeId>();
      if (id == nullptr) continue;
      to.add(cached_bytes(graph, *id));
      if (is_root(graph)) follow_cache(graph, *id);
    }
  }

  void add_cost(const Cost& cost, Costs& to, bool counts) {
    to.macs.add(cost.macs);
    to.uncounted_macs.add(cost.uncounted_macs);
    to.activation_bytes.add(cost.activation_bytes);
    for (const auto& [name, calls] : cost.unknown) {
      add_saturated(to.unknown, calls);
      if (counts) add_saturated(summary_.unknown[name], calls);
    }
    add_saturated(to.unsized, cost.unsized);
  }

  void add_tensors() {
    sizes_ = count_parameters(collection_);
    for (const ParameterRecord& record : collection_.parameters) {
      if (record.kind == ParameterKind::kCustomObject || record.alias_of) continue;
      const bool is_parameter = record.kind == ParameterKind::kParameter;
      (is_parameter ? summary_.parameters : summary_.buffers).add(record);
      for_each_stored(record, [&](const std::vector<std::int64_t>& shape, const std::string& dtype) {
        add_saturated(summary_.dtypes[dtype], byte_count(shape, dtype));
      });
      const std::size_t i = is_parameter ? find_module(QualifiedName(record.name).parent()) : kNone;
      if (i == kNone) continue;
      add_saturated(costs_[i].counted.elements, element_count(record));
      add_saturated(costs_[i].counted.bytes, byte_count(record));
    }
  }

  void add_failed() {
    for (std::size_t i = 0; i < modules().size(); ++i) {
      if (modules()[i].alias_of) continue;
      ++summary_.modules;
      if (!is_failed(i)) continue;
      const bool is_closed = !has_own_cost(i);
      if (is_closed) ++costs_[i].failed;
      summary_.failed.push_back({modules()[i].path, modules()[i].type, modules()[i].failure, is_closed});
    }
  }

  // Marks modules that are called, failed, or have tensors, and all modules around them.
  void choose_rows(const std::vector<Costs>& own) {
    is_shown_.assign(modules().size(), false);
    const auto is_something = [&](std::size_t i) {
      const ModuleSizes& sizes = sizes_[i];
      return modules()[i].calls > 0 || own[i].is_seen || is_failed(i) || sizes.own_parameters.tensors > 0 ||
             sizes.own_buffers.tensors > 0;
    };
    for (std::size_t at = order_.size(); at-- > 0;) {
      const std::size_t i = order_[at];
      if (!modules()[i].alias_of) is_shown_[i] = is_shown_[i] || at == 0 || is_something(i);
      if (is_shown_[i] && parents_[i] != kNone) is_shown_[parents_[i]] = true;
    }
    // Later names of shown modules are shown too, together with the modules around them.
    for (const std::size_t i : order_) {
      if (!modules()[i].alias_of || is_shown_[i]) continue;
      const auto first = by_path_.find(*modules()[i].alias_of);
      if (first == by_path_.end() || !is_shown_[first->second]) continue;
      for (std::size_t above = i; above != kNone && !is_shown_[above]; above = parents_[above])
        is_shown_[above] = true;
    }
  }

  // Returns the value of the sum; absent when nothing is known of it.
  std::optional<SymInt> known(const Costs& costs, const Sum& sum) const {
    if (!has_costs_ || !costs.is_seen) return std::nullopt;
    const auto value = sum.value();
    if (value || sum.is_too_large() || costs.unknown + costs.unsized + costs.failed > 0) return value;
    return SymInt(0);
  }

  std::optional<SymInt> flops_of(const Costs& costs) const {
    const auto macs = known(costs, costs.macs);
    if (!macs || costs.uncounted_macs.is_too_large()) return std::nullopt;
    Sum flops;
    flops.add(times(macs, 2));
    flops.add(times(costs.uncounted_macs.value(), -2));
    return flops.value();
  }

  void make_rows() {
    std::vector<std::size_t> depths(modules().size(), 0);
    for (const std::size_t i : order_) {
      if (parents_[i] != kNone) depths[i] = depths[parents_[i]] + 1;
      if (!is_shown_[i]) continue;
      summary_.rows.push_back(row_of(i));
      summary_.rows.back().depth = depths[i];
    }
  }

  SummaryRow row_of(std::size_t i) const {
    const ModuleRecord& module = modules()[i];
    SummaryRow row;
    row.path = module.path;
    row.name = QualifiedName(module.path).last();
    row.type = module.type;
    row.status = module.status;
    row.alias_of = module.alias_of;
    row.calls = module.calls;
    if (const auto methods = methods_.find(module.path); methods != methods_.end())
      row.methods = methods->second;
    if (module.alias_of) return row;
    row.outputs = module.outputs;
    const Costs& costs = costs_[i];
    row.own_parameters = count_of(sizes_[i].own_parameters);
    row.parameters = count_of(sizes_[i].parameters);
    row.own_buffers = count_of(sizes_[i].own_buffers);
    row.buffers = count_of(sizes_[i].buffers);
    row.shared_parameters = {std::max<std::int64_t>(0, row.parameters.elements - costs.counted.elements),
                             std::max<std::int64_t>(0, row.parameters.bytes - costs.counted.bytes)};
    row.macs = known(costs, costs.macs);
    row.flops = flops_of(costs);
    for (const auto& [dtype, sum] : costs.macs_by_dtype) {
      if (const auto value = sum.value()) row.macs_by_dtype.emplace(dtype, *value);
    }
    row.activation_bytes = known(costs, costs.activation_bytes);
    row.inputs_read = known(costs, costs.inputs_read);
    row.weights_read = known(costs, costs.weights_read);
    row.kv_cache = known(costs, costs.kv_cache);
    row.quantization = costs.quantization;
    row.unknown = costs.unknown;
    row.unsized = costs.unsized;
    row.failed = costs.failed;
    row.is_in_body = costs.is_in_body && !costs.is_seen;
    return row;
  }

  const GraphCollection& collection_;
  CountedGraphs counted_;
  ModelSummary summary_;
  std::unordered_map<std::string_view, std::size_t> by_path_;
  struct Hash {
    using is_transparent = void;  // NOLINT(readability-identifier-naming): the name that std asks for
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::unordered_map<std::string, std::size_t, Hash, std::equal_to<>> resolved_;
  std::vector<std::size_t> parents_;
  std::vector<std::vector<std::size_t>> children_;
  std::vector<std::size_t> order_;                                          // pre-order
  std::unordered_map<std::string_view, std::vector<std::string>> methods_;  // by path, without forward
  std::vector<Costs> costs_;  // by module; at first without submodules
  std::vector<ModuleSizes> sizes_;
  std::vector<bool> is_shown_;
  bool has_costs_ = false;
  // Nodes of the root's graph: inputs that some call uses, and values with keys and values of attention.
  std::unordered_set<std::uint32_t> read_inputs_, cache_;
};

// --- changes of the rows ---

// The tree of rows, from which a changed list of rows is made.
struct Tree {
  std::vector<std::vector<std::size_t>> children;  // by row

  explicit Tree(const std::vector<SummaryRow>& rows) : children(rows.size()) {
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      while (!open.empty() && rows[open.back()].depth >= rows[i].depth) open.pop_back();
      if (!open.empty()) children[open.back()].push_back(i);
      open.push_back(i);
    }
  }

  // Returns the rows in pre-order, and calls change(index, row, parent) for each; the parent may be null.
  template <class F>
  std::vector<SummaryRow> rows(const std::vector<SummaryRow>& from, F&& change) const {
    std::vector<SummaryRow> result;
    if (from.empty()) return result;
    struct Pending {
      std::size_t row, parent;  // index in `from`, index in the result
    };
    std::vector<Pending> pending{{0, kNone}};
    while (!pending.empty()) {
      const auto [row, parent] = pending.back();
      pending.pop_back();
      const std::size_t here = result.size();
      result.push_back(from[row]);
      change(row, result.back(), parent == kNone ? nullptr : &result[parent]);
      for (auto child = children[row].rbegin(); child != children[row].rend(); ++child)
        pending.push_back({*child, here});
    }
    return result;
  }
};

// Returns whether `next` differs from `name` in one number only, which is larger by `steps`: "layer9",
// "layer10".
bool counts_up(std::string_view name, std::string_view next, std::int64_t steps) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::size_t at = 0;
  while (at < name.size() && at < next.size() && name[at] == next[at]) ++at;
  while (at > 0 && is_digit(name[at - 1])) --at;
  const auto digits = [&](std::string_view text) {
    std::size_t end = at;
    while (end < text.size() && is_digit(text[end])) ++end;
    return text.substr(at, end - at);
  };
  constexpr std::size_t kMostDigits = 18;
  const std::string_view a = digits(name);
  const std::string_view b = digits(next);
  if (a.empty() || b.empty() || a.size() > kMostDigits || b.size() > kMostDigits) return false;
  if (name.substr(at + a.size()) != next.substr(at + b.size())) return false;
  return std::stoll(std::string(a)) + steps == std::stoll(std::string(b));
}

// All shown facts of a row except its name, as a text that is equal only for equal facts.
class Facts {
 public:
  // Reads of inputs are shown as a part of the time on a device alone.
  Facts(const SummaryRow& row, bool is_on_device) {
    add(row.type);
    add(static_cast<std::int64_t>(row.status));
    add(row.alias_of.has_value());
    add(row.alias_of.value_or(""));
    add(row.calls);
    for (const std::string& method : row.methods) add(method);
    add(static_cast<std::int64_t>(row.methods.size()));
    add(row.outputs ? static_cast<std::int64_t>(row.outputs->size()) : -1);
    if (row.outputs) {
      for (const Meta& meta : *row.outputs) {
        add(meta.type.value_or(""));
        add(meta.dtype_text().value_or(""));
        add(meta.shape ? static_cast<std::int64_t>(meta.shape->size()) : -1);
        if (!meta.shape) continue;
        for (const auto& dim : *meta.shape) add(dim.text());
      }
    }
    for (const TensorCount& size :
         {row.own_parameters, row.parameters, row.own_buffers, row.buffers, row.shared_parameters}) {
      add(size.elements);
      add(size.bytes);
    }
    for (const auto& size : {row.macs, row.flops, row.activation_bytes, row.weights_read, row.kv_cache})
      add(size ? size->text() : "");
    if (is_on_device) add(row.inputs_read ? row.inputs_read->text() : "");
    add(to_string(row.quantization));
    for (const std::int64_t count : {row.unknown, row.unsized, row.failed, row.modules}) add(count);
  }

  void add(std::string_view text) {
    text_ += std::to_string(text.size()) + ":";
    text_ += text;
  }
  void add(std::int64_t number) { text_ += std::to_string(number) + ";"; }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace

void TensorCount::add(const TensorCount& other) {
  add_saturated(elements, other.elements);
  add_saturated(bytes, other.bytes);
}

bool ModelSummary::has_closed() const {
  return std::ranges::any_of(failed, [](const FailedModule& module) { return module.is_closed; });
}

bool ModelSummary::has_costs() const {
  const bool is_some = std::ranges::any_of(
      rows, [](const SummaryRow& row) { return row.macs && !(row.macs->number() == std::int64_t{0}); });
  // Without sizes every call is unsized, and only costs that need no size are known.
  return is_some || (unsized == 0 && (macs || !unknown.empty()));
}

bool ModelSummary::has_shapes() const {
  return std::ranges::any_of(rows, [](const SummaryRow& row) {
    return row.outputs &&
           std::ranges::any_of(*row.outputs, [](const Meta& meta) { return meta.shape.has_value(); });
  });
}

bool ModelSummary::has_measurements() const {
  return std::ranges::any_of(rows, [](const SummaryRow& row) { return row.measured.has_value(); });
}

const char* to_string(CostColumn column) {
  switch (column) {
    case CostColumn::kWeights:
      return "weights_read";
    case CostColumn::kKvCache:
      return "kv_cache_bytes";
    case CostColumn::kIntensity:
      return "arithmetic_intensity";
    case CostColumn::kQuantization:
      return "quantization";
    case CostColumn::kFlops:
      return "flops";
  }
  return "";
}

std::optional<double> arithmetic_intensity(const SummaryRow& row,
                                           const std::map<std::string, std::int64_t>& sizes) {
  const auto value = [&](const std::optional<SymInt>& size) {
    return size ? size->evaluate(sizes) : std::nullopt;
  };
  const auto macs = value(row.macs), weights = value(row.weights_read), results = value(row.activation_bytes);
  if (!macs || !weights || !results || row.is_partial()) return std::nullopt;
  const double bytes = static_cast<double>(*weights) + static_cast<double>(*results);
  return bytes > 0 ? std::optional(2 * static_cast<double>(*macs) / bytes) : std::nullopt;
}

std::optional<double> flops_per_second(const SummaryRow& row) {
  const auto macs = row.macs ? row.macs->number() : std::nullopt;
  if (!macs || *macs == 0 || !row.measured || row.measured->seconds <= 0) return std::nullopt;
  return 2 * static_cast<double>(*macs) / row.measured->seconds;
}

namespace {

// Returns the ranges of dimensions that --dim and the guards of the root's graph tell.
std::map<std::string, Range> ranges_of(const GraphCollection& collection) {
  ShapeEnv known;
  const JsonDocument options(collection.options_json, "options");
  if (const auto dims = options.root().find("dim"); dims && dims->is_object()) {
    for (const JsonValue dim : dims->fields()) {
      const std::string_view text = dim.string();  // "8..64", "8..", "8"
      const std::size_t dots = text.find("..");
      const auto low = number_in<std::int64_t>(text.substr(0, dots));
      const auto high = dots == std::string_view::npos ? low : number_in<std::int64_t>(text.substr(dots + 2));
      known.narrow(std::string(dim.key()), {low, high});
    }
  }
  if (!collection.graphs.empty()) {
    const InputSizes sizes(collection.graphs.front().graph);
    const auto assume = [&](const Expression& guard) {
      const Expression over = sizes.over_dimensions(guard);
      if (const auto relation = over.relation())
        known.assume(*relation, *over.parts()[0].size(), *over.parts()[1].size());
    };
    for (const Guard& guard : collection.graphs.front().guards) {
      if (guard.expr.kind() == Expression::Kind::kAnd)
        std::ranges::for_each(guard.expr.parts(), assume);
      else
        assume(guard.expr);
    }
  }
  std::map<std::string, Range> ranges;
  for (auto& [name, range] : known.ranges()) ranges.emplace(name, range);
  return ranges;
}

}  // namespace

ModelSummary summarize_model(const GraphCollection& collection) {
  ModelSummary summary = Summarizer(collection).run();
  summary.ranges = ranges_of(collection);
  return summary;
}

void limit_depth(ModelSummary& summary, std::int64_t depth) {
  const auto limit = static_cast<std::size_t>(depth);
  Tree tree(summary.rows);
  const std::size_t before = summary.rows.size();
  for (std::size_t i = 0; i < before; ++i) {
    if (summary.rows[i].depth >= limit) tree.children[i].clear();
  }
  summary.rows = tree.rows(summary.rows, [](std::size_t, SummaryRow&, const SummaryRow*) {});
  summary.hidden += static_cast<std::int64_t>(before - summary.rows.size());
  summary.max_depth = depth;
}

void fold_repeats(ModelSummary& summary) {
  const auto& rows = summary.rows;
  Tree tree(rows);
  std::unordered_map<std::string, std::size_t> classes;  // by the facts of a row and of the rows below it
  std::vector<std::size_t> class_of(rows.size());
  std::vector<std::size_t> last(rows.size(), kNone);
  std::vector<std::int64_t> repeats(rows.size(), 1);
  std::vector<std::optional<Measured>> measured;
  for (const SummaryRow& row : rows) measured.push_back(row.measured);
  // Adds the measurements of one tree of rows to those of an equal one.
  const auto add_measured = [&](std::size_t to, std::size_t from) {
    std::vector<std::pair<std::size_t, std::size_t>> pending{{to, from}};
    while (!pending.empty()) {
      const auto [sum, part] = pending.back();
      pending.pop_back();
      if (measured[part]) {
        Measured& total = measured[sum] ? *measured[sum] : measured[sum].emplace();
        total.seconds += measured[part]->seconds;
        add_saturated(total.allocated_bytes, measured[part]->allocated_bytes);
        total.peak_bytes = std::max(total.peak_bytes, measured[part]->peak_bytes);
      }
      for (std::size_t i = 0; i < tree.children[sum].size(); ++i)
        pending.emplace_back(tree.children[sum][i], tree.children[part][i]);
    }
  };
  for (std::size_t i = rows.size(); i-- > 0;) {
    std::vector<std::size_t> kept;
    for (const std::size_t child : tree.children[i]) {
      if (!kept.empty() && class_of[child] == class_of[kept.back()] &&
          counts_up(rows[kept.back()].name, rows[child].name, repeats[kept.back()])) {
        ++repeats[kept.back()];
        last[kept.back()] = child;
        add_measured(kept.back(), child);
      } else {
        kept.push_back(child);
      }
    }
    Facts facts(rows[i], summary.fit.has_value());
    for (const std::size_t child : kept) {
      facts.add(rows[child].name);
      facts.add(repeats[child]);
      facts.add(static_cast<std::int64_t>(class_of[child]));
    }
    tree.children[i] = std::move(kept);
    class_of[i] = classes.emplace(facts.text(), classes.size()).first->second;
  }
  summary.rows = tree.rows(rows, [&](std::size_t from, SummaryRow& row, const SummaryRow* parent) {
    if (last[from] != kNone) row.last = rows[last[from]].path;
    row.measured = measured[from];
    row.repeats = repeats[from];
    row.modules = times(parent == nullptr ? 1 : parent->modules, row.repeats);
    for (TensorCount* size :
         {&row.own_parameters, &row.parameters, &row.own_buffers, &row.buffers, &row.shared_parameters}) {
      *size = times(*size, row.modules);
    }
    row.macs = times(row.macs, row.modules);
    for (auto* size : {&row.flops, &row.activation_bytes, &row.inputs_read, &row.weights_read, &row.kv_cache})
      *size = times(*size, row.modules);
    for (std::int64_t* count :
         {&row.unknown, &row.unsized, &row.failed, &row.quantization.calls, &row.quantization.quantized})
      *count = times(*count, row.modules);
    for (auto& [dtype, macs] : row.macs_by_dtype) macs = times(macs, row.modules).value_or(macs);
    const auto modules = static_cast<double>(row.modules);
    if (row.least) row.least = LeastTime{row.least->compute * modules, row.least->memory * modules};
  });
  summary.is_folded = true;
}

void limit_rows(ModelSummary& summary, std::size_t most) {
  std::size_t deepest = 0;
  for (const SummaryRow& row : summary.rows) deepest = std::max(deepest, row.depth);
  const auto fits = [&](std::size_t depth) {
    ModelSummary folded = summary;
    limit_depth(folded, static_cast<std::int64_t>(depth));
    fold_repeats(folded);
    return folded.rows.size() <= most;
  };
  if (deepest <= 1 || fits(deepest)) return;
  // The number of rows grows with the depth: rows that fold at one depth also fold above it.
  std::size_t low = 1;
  std::size_t high = deepest;
  while (high - low > 1) {
    const std::size_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  limit_depth(summary, static_cast<std::int64_t>(low));
}

std::optional<std::int64_t> typical_value(const std::optional<SymInt>& size) {
  if (!size) return std::nullopt;
  if (const auto number = size->number()) return number;
  std::map<std::string, std::int64_t> values;
  for (const std::string& name : size->symbols()) values[name] = kTypicalSize;
  return size->evaluate(values);
}

ExampleSizes example_sizes(const ModelSummary& summary) {
  ExampleSizes example;
  const auto add = [&](const Expression& size, std::int64_t usual) {
    const SymInt* of = size.size();
    if (of == nullptr || of->is_number()) return;
    for (const std::string& name : of->symbols()) {
      std::int64_t number = usual;
      if (const auto range = summary.ranges.find(name); range != summary.ranges.end()) {
        number = std::max(number, range->second.low.value_or(number));
        number = std::min(number, range->second.high.value_or(number));
      }
      if (example.sizes.emplace(name, number).second)
        example.text += (example.text.empty() ? "" : ", ") + one_line(name) + "=" + std::to_string(number);
    }
  };
  // The first size of an input is usually that of the batch.
  for (const ModelSummary::Port& input : summary.inputs) {
    if (!input.meta.shape) continue;
    for (const Expression& size : *input.meta.shape)
      add(size, &size == input.meta.shape->data() ? 1 : kTypicalSize);
  }
  const auto add_names = [&](const std::optional<SymInt>& size) {
    if (size) add(*size, kTypicalSize);
  };
  for (const auto& size : {summary.macs, summary.activation_bytes, summary.peak_bytes}) add_names(size);
  for (const SummaryRow& row : summary.rows) add_names(row.macs);
  return example;
}

void sort_rows(ModelSummary& summary, SortKey key) {
  std::vector<std::optional<std::int64_t>> numbers;
  for (const SummaryRow& row : summary.rows) {
    switch (key) {
      case SortKey::kMacs:
        numbers.push_back(typical_value(row.macs));
        break;
      case SortKey::kParameters:
        numbers.emplace_back(row.counted_parameters().elements);
        break;
      case SortKey::kBytes:
        numbers.emplace_back(row.counted_parameters().bytes);
        break;
    }
  }
  Tree tree(summary.rows);
  for (auto& children : tree.children) {
    std::stable_sort(children.begin(), children.end(),
                     [&](std::size_t a, std::size_t b) { return numbers[a] > numbers[b]; });
  }
  summary.rows = tree.rows(summary.rows, [](std::size_t, SummaryRow&, const SummaryRow*) {});
}

}  // namespace fxtrace::internal
