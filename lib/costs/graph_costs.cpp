#include "costs/graph_costs.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "costs/custom_costs.h"
#include "costs/node_costs.h"
#include "graph/analysis/input_sizes.h"
#include "opinfo/rules/shape_helpers.h"
#include "opinfo/traits.h"
#include "support/error.h"
#include "support/integers.h"
#include "support/text/did_you_mean.h"
#include "support/text/identifier.h"
#include "support/text/numbers.h"
#include "support/text/words.h"

namespace fxtrace::internal {
namespace {

// A parameter, buffer or constant of the model.
struct Owned {
  std::size_t number = 0;  // the same for tied tensors
  std::int64_t bytes = 0;
  const std::vector<StoredPart>* stored = nullptr;  // its tensors when it is not one plain tensor
  bool is_packed = false;
};

std::int64_t stored_bytes(const std::vector<std::int64_t>& shape, std::string_view dtype) {
  const auto bytes = bytes_of(Sizes(shape.begin(), shape.end()), find_scalar_type(dtype));
  return bytes ? bytes->number().value_or(0) : 0;
}

std::int64_t stored_bytes(const std::vector<StoredPart>& parts) {
  std::int64_t bytes = 0;
  for (const StoredPart& part : parts) add_saturated(bytes, stored_bytes(part.shape, part.dtype));
  return bytes;
}

// Returns the known value of packed parameters: the weight, which is the first part.
AbstractValue packed_value(const std::vector<StoredPart>& parts) {
  if (parts.empty()) return {};
  TensorInfo weight;
  weight.sizes.assign(parts.front().shape.begin(), parts.front().shape.end());
  weight.dtype = find_scalar_type(std::string_view(parts.front().dtype));
  return {AbstractValue::Sequence{{std::move(weight)}}};
}

// The owned tensors by name, so that those of a module and its submodules are adjacent.
class OwnedTensors {
 public:
  explicit OwnedTensors(const std::vector<ParameterRecord>& parameters) {
    for (const ParameterRecord& record : parameters) {
      if (record.kind == ParameterKind::kCustomObject) continue;
      const std::string& first = record.alias_of ? *record.alias_of : record.name;
      const std::size_t number = numbers_.try_emplace(first, numbers_.size()).first->second;
      const bool is_plain = record.stored.empty();
      by_name_[record.name] = {
          number, is_plain ? stored_bytes(record.shape, record.dtype) : stored_bytes(record.stored),
          is_plain ? nullptr : &record.stored, record.is_packed()};
    }
  }

  std::size_t size() const { return numbers_.size(); }  // greater than every number
  const Owned* find(std::string_view name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : &found->second;
  }
  template <class F>
  void for_each_below(const std::string& module, F&& f) const {
    const std::string prefix = module.empty() ? "" : module + ".";
    for (auto at = by_name_.lower_bound(prefix); at != by_name_.end() && at->first.starts_with(prefix);
         ++at) {
      f(at->second);
    }
  }

 private:
  std::map<std::string_view, Owned> by_name_;
  std::unordered_map<std::string_view, std::size_t> numbers_;  // by first name of tied tensors
};

// Adds up the bytes of tensors, each of them once until the next begin().
class OwnedBytes {
 public:
  void begin() {
    ++turn_;
    bytes_ = 0;
  }
  void add(const Owned& owned) {
    if (seen_.size() <= owned.number) seen_.resize(owned.number + 1);
    if (std::exchange(seen_[owned.number], turn_) != turn_) add_saturated(bytes_, owned.bytes);
  }
  std::int64_t bytes() const { return bytes_; }

 private:
  std::vector<std::uint32_t> seen_;  // by number
  std::uint32_t turn_ = 1;
  std::int64_t bytes_ = 0;
};

bool is_nothing(const Cost& cost) {
  return cost.macs == SymInt(0) && cost.activation_bytes == SymInt(0) && cost.parameter_bytes == 0 &&
         cost.unknown.empty() && cost.unsized == 0;
}

class GraphCosts {
 public:
  // `read` and `all` may be shared by any number of graphs, one after another.
  GraphCosts(const OwnedTensors& owned, const CustomCosts& custom, OwnedBytes& read, OwnedBytes& all,
             ModuleGraph& graph, bool is_subgraph)
      : owned_(owned),
        module_graph_(graph),
        graph_(graph.graph),
        is_subgraph_(is_subgraph),
        costs_(graph, custom, nullptr),
        read_(read),
        all_(all) {
    for (const auto& [name, constant] : graph.constants) {
      const bool is_packed = !constant.stored.empty();
      constants_.emplace(name, Owned{owned.size() + constants_.size(),
                                     is_packed ? stored_bytes(constant.stored)
                                               : stored_bytes(constant.shape, constant.dtype),
                                     is_packed ? &constant.stored : nullptr, is_packed});
    }
    for (auto& [name, subgraph] : graph.subgraphs) GraphCosts(owned, custom, read, all, subgraph, true).run();
  }

  void run() {
    all_.begin();
    costs_.begin();
    for (NodeId id = graph_.first(); id.valid(); id = graph_.next(id)) add(graph_.node(id));
    Cost cost = costs_.log().cost();
    cost.parameter_bytes = all_.bytes();
    module_graph_.cost = std::move(cost);
  }

  // Returns what happens to memory in the calls of the last run(), whose peak must be a number.
  MemoryTimeline timeline() {
    MemoryTimeline timeline;
    timeline.steps.resize(calls_.size() + 1);
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      const Node& node = graph_.node(calls_[i]);
      timeline.steps[i + 1] = {node.name, node.scope->module_path, *node.target};
    }
    const auto number = [](const SymInt& size) { return size.number().value_or(0); };
    std::vector<std::int64_t> freed(timeline.steps.size()), inside(timeline.steps.size());
    for (const CostLog::Memory& memory : costs_.log().memories()) {
      timeline.steps[memory.made].allocated += number(memory.bytes);
      if (memory.last_use < freed.size()) freed[memory.last_use] += number(memory.bytes);
    }
    std::int64_t live = 0;
    for (const CostLog::Extra& extra : costs_.log().extra()) inside[extra.call] += number(extra.held);
    for (std::size_t i = 0; i < timeline.steps.size(); ++i) {
      MemoryTimeline::Step& step = timeline.steps[i];
      live += step.allocated;
      step.live = live + inside[i];
      if (step.live > timeline.steps[timeline.peak].live) timeline.peak = i;
      step.kept = live -= freed[i];
    }
    for (const CostLog::Extra& extra : costs_.log().extra())
      add_saturated(timeline.steps[extra.call].allocated, number(extra.made));
    add_tensors(timeline);
    return timeline;
  }

 private:
  void add_tensors(MemoryTimeline& timeline) {
    std::size_t held = 0;
    const auto add = [&](NodeId id, const SymInt& bytes, bool is_inside, std::size_t made,
                         std::size_t last_use) {
      const Node& node = graph_.node(id);
      const bool is_live = made <= timeline.peak && timeline.peak <= last_use;
      if (is_live && bytes.number().value_or(0) > 0)
        timeline.tensors.push_back({node.name, node.scope->module_path, *bytes.number(), is_inside, made,
                                    std::min(last_use, timeline.steps.size() - 1)});
    };
    for (const CostLog::Memory& memory : costs_.log().memories()) {
      add(memory.made == 0 ? held_[held++] : calls_[memory.made - 1], memory.bytes, false, memory.made,
          memory.last_use);
    }
    for (const CostLog::Extra& extra : costs_.log().extra())
      add(calls_[extra.call - 1], extra.held, true, extra.call, extra.call);
    std::ranges::stable_sort(timeline.tensors, std::greater(), &MemoryTimeline::Tensor::bytes);
  }

  void add(const Node& node) {
    if (costs_.add(node)) {
      calls_.push_back(node.id);
      return set_cost(node, costs_.last());
    }
    if (node.op == Opcode::kCallFunction) return graph_.set_cost(node.id, std::nullopt);
    // The inputs of a subgraph are live in the outer graph, and counted there.
    if (node.op == Opcode::kPlaceholder && !is_subgraph_) {
      const std::size_t before = costs_.log().memories().size();
      costs_.log().hold(costs_.known(node.id));
      held_.insert(held_.end(), costs_.log().memories().size() - before, node.id);
    }
    if (node.op != Opcode::kGetAttr) return;
    const Owned* owned = find_owned(*node.target);
    if (owned != nullptr && owned->is_packed) costs_.known(node.id) = packed_value(*owned->stored);
  }

  const Owned* find_owned(std::string_view target) const {
    if (const Owned* owned = owned_.find(target)) return owned;
    const auto constant = constants_.find(target);
    return constant == constants_.end() ? nullptr : &constant->second;
  }

  void set_cost(const Node& node, Cost cost) {
    read_.begin();
    const auto add_read = [&](const Owned& owned) {
      read_.add(owned);
      all_.add(owned);
    };
    for_each_input(node, [&](NodeId used) {
      const Node& input = graph_.node(used);
      if (input.op != Opcode::kGetAttr) return;
      if (const Owned* owned = find_owned(*input.target)) add_read(*owned);
    });
    if (node.op == Opcode::kCallModule) owned_.for_each_below(called_module(node), add_read);
    cost.parameter_bytes = bytes_of_part(node).value_or(read_.bytes());
    if (cost.peak_bytes == cost.activation_bytes) cost.peak_bytes.reset();
    if (is_nothing(cost)) return graph_.set_cost(node.id, std::nullopt);
    Shared<std::optional<Cost>>& latest = latest_[&*node.target];
    if (*latest != cost) latest = std::optional(std::move(cost));
    graph_.set_cost(node.id, latest);
  }

  // Returns the bytes of the part that a node takes out of a tensor subclass; nothing for other nodes.
  std::optional<std::int64_t> bytes_of_part(const Node& node) const {
    if (!takes_stored_part(*node.target) || node.args.size() != 2) return std::nullopt;
    const auto* id = node.args[0].get_if<NodeId>();
    const auto* name = node.args[1].get_if<std::string>();
    if (id == nullptr || name == nullptr || graph_.node(*id).op != Opcode::kGetAttr) return std::nullopt;
    const Owned* owned = find_owned(*graph_.node(*id).target);
    if (owned == nullptr || owned->stored == nullptr) return std::nullopt;
    const auto part = std::ranges::find(*owned->stored, *name, &StoredPart::name);
    if (part == owned->stored->end()) return std::nullopt;
    return stored_bytes(part->shape, part->dtype);
  }

  const OwnedTensors& owned_;
  ModuleGraph& module_graph_;
  Graph& graph_;
  bool is_subgraph_;
  NodeCosts costs_;
  std::vector<NodeId> calls_;  // nodes with a cost, by their number in the log, from 1
  std::vector<NodeId> held_;   // inputs, by block of memory
  std::unordered_map<std::string_view, Owned> constants_;
  OwnedBytes &read_, &all_;  // bytes read by the current node, and by all nodes
  // The cost of the latest node with each target: the next one mostly has the same.
  std::unordered_map<const std::string*, Shared<std::optional<Cost>>> latest_;
};

}  // namespace

void add_costs(GraphCollection& collection) {
  const OwnedTensors owned(collection.parameters);
  OwnedBytes read, all;
  const CustomCosts custom(collection.custom_costs);
  for (ModuleGraph& graph : collection.graphs) GraphCosts(owned, custom, read, all, graph, false).run();
}

std::optional<MemoryTimeline> find_timeline(const GraphCollection& collection) {
  if (collection.graphs.empty()) return std::nullopt;
  ModuleGraph graph = collection.graphs.front();
  if (!graph.cost || !graph.cost->peak_bytes || !graph.cost->peak_bytes->is_number()) return std::nullopt;
  const OwnedTensors owned(collection.parameters);
  OwnedBytes read, all;
  const CustomCosts custom(collection.custom_costs);
  GraphCosts costs(owned, custom, read, all, graph, false);
  costs.run();
  return costs.timeline();
}

namespace {

using Numbers = std::map<std::string, std::int64_t>;
using SizesByName = std::map<std::string, SymInt>;

Error wrong_sizes(const std::string& text) {
  return usage_error("--at: expected NAME=N,.. or INPUT=NxN.., got '" + text + "'",
                     {"--at batch=1,seq=4096 or --at x=1x3x224x224"});
}

// Parses "1x3x224", "[1,3,224]" or "8"; returns nothing for other texts.
std::optional<std::vector<std::int64_t>> read_numbers(std::string_view text) {
  const bool is_list = text.size() >= 2 && text.front() == '[' && text.back() == ']';
  if (is_list) text = text.substr(1, text.size() - 2);
  std::vector<std::int64_t> numbers;
  if (is_list && text.empty()) return numbers;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(is_list ? ',' : 'x', at), text.size());
    const auto number = number_in<std::int64_t>(text.substr(at, end - at));
    if (!number || *number < 0) return std::nullopt;
    numbers.push_back(*number);
    at = end + 1;
  }
  return numbers;
}

template <class F>
void for_each_meta(const ModuleGraph& graph, const F& f) {
  for (NodeId id = graph.graph.first(); id.valid(); id = graph.graph.next(id)) f(*graph.graph.node(id).meta);
  for (const Subgraph& subgraph : graph.subgraphs) for_each_meta(subgraph.graph, f);
}

const Node* find_input(const GraphCollection& collection, const std::string& name) {
  if (collection.graphs.empty()) return nullptr;
  const Graph& graph = collection.graphs.front().graph;
  for (NodeId id = graph.first(); id.valid(); id = graph.next(id)) {
    const Node& node = graph.node(id);
    if (node.op == Opcode::kPlaceholder && (node.name == name || *node.target == name)) return &node;
  }
  return nullptr;
}

// Solves for the numbers of names, from given names and from sizes of inputs: a given size of batch*2+1 is
// an equation for batch.
class Solver {
 public:
  explicit Solver(const GraphCollection& collection) : collection_(collection) {}

  Numbers solve(const std::vector<GivenSizes>& given) {
    const std::vector<std::string> names = names_of_sizes(collection_);
    for (const GivenSizes& each : given) {
      if (std::ranges::find(names, each.name) != names.end() && each.sizes.size() == 1) {
        bind(each.name, each.sizes.front());
      } else if (const Node* input = find_input(collection_, each.name)) {
        add_input(*input, each);
      } else {
        refuse_name(each, names);
      }
    }
    // An equation may need names that another one determines.
    for (bool has_learned = true; has_learned;) {
      has_learned = false;
      for (Equation& equation : equations_) has_learned = learn(equation) || has_learned;
    }
    for (const Equation& equation : equations_) {
      if (equation.is_done) continue;
      const std::vector<std::string> open = equation.size.substitute(sizes_).symbols();
      throw usage_error("--at: " + equation.input + " does not determine " + joined(open) +
                            ": a size of it is " + equation.size.text(),
                        {"give it itself: --at " + shell_word(open.front() + "=N")});
    }
    return numbers_;
  }

 private:
  struct Equation {
    std::string input;
    SymInt size;
    std::int64_t number;
    bool is_done = false;
  };

  void add_input(const Node& input, const GivenSizes& given) {
    std::vector<Expression> sizes;
    if (input.meta->shape) {
      sizes = *input.meta->shape;
    } else if (input.meta->value) {
      sizes = {*input.meta->value};
    } else {
      throw usage_error("--at: the sizes of " + given.name + " are not known", how_to_name("batch"));
    }
    if (sizes.size() != given.sizes.size()) {
      throw usage_error("--at: " + given.name + " has " + counted(std::ssize(sizes), "size") + ", not " +
                        std::to_string(given.sizes.size()) + ": " + list_text(sizes));
    }
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (const SymInt* size = sizes[i].size()) equations_.push_back({given.name, *size, given.sizes[i]});
    }
  }

  static std::string list_text(const std::vector<Expression>& sizes) {
    return "[" + joined(sizes, &Expression::text) + "]";
  }

  std::vector<std::string> how_to_name(const std::string& name) const {
    const std::string option = option_to_name_a_size(collection_, is_identifier(name) ? name : "batch");
    return {"no size of this model has a name" + (option.empty() ? "" : "; " + option + " gives one")};
  }

  [[noreturn]] void refuse_name(const GivenSizes& given, const std::vector<std::string>& names) const {
    std::vector<std::string> inputs;
    if (!collection_.graphs.empty()) {
      const Graph& graph = collection_.graphs.front().graph;
      for (NodeId id = graph.first(); id.valid(); id = graph.next(id)) {
        if (graph.node(id).op == Opcode::kPlaceholder && graph.node(id).meta->shape)
          inputs.push_back(graph.node(id).name);
      }
    }
    if (std::ranges::find(names, given.name) != names.end())
      throw usage_error("--at: " + given.name + " is one size, not " + std::to_string(given.sizes.size()));
    std::vector<std::string> all = names;
    all.insert(all.end(), inputs.begin(), inputs.end());
    std::vector<std::string> hints;
    constexpr std::size_t kMostNames = 20;
    const auto some = [](std::vector<std::string> list) {
      if (list.size() > kMostNames) list.resize(kMostNames);
      return joined(list);
    };
    if (names.empty())
      hints = how_to_name(given.sizes.size() == 1 ? given.name : "batch");
    else
      hints.push_back("sizes: " + some(names));
    if (!inputs.empty()) hints.push_back("inputs: " + some(inputs));
    throw usage_error(
        "--at: no size and no input is named '" + given.name + "'" + did_you_mean(given.name, all), hints);
  }

  void bind(const std::string& name, std::int64_t number) {
    const auto [known, is_new] = numbers_.emplace(name, number);
    if (!is_new && known->second != number) {
      throw usage_error("--at: " + name + " cannot be " + std::to_string(known->second) + " and " +
                        std::to_string(number));
    }
    sizes_.insert_or_assign(name, SymInt(number));
  }

  bool learn(Equation& equation) {
    if (equation.is_done) return false;
    const SymInt size = equation.size.substitute(sizes_);
    if (const auto number = size.number()) {
      if (*number != equation.number) {
        throw usage_error("--at: a size of " + equation.input + " is " + std::to_string(*number) + ", not " +
                              std::to_string(equation.number),
                          {"sizes that are numbers in the graph are fixed"});
      }
      return equation.is_done = true;
    }
    const std::vector<std::string> names = size.symbols();
    if (names.size() != 1) return false;
    const auto at = [&](std::int64_t value) { return size.evaluate({{names[0], value}}); };
    const auto zero = at(0), one = at(1);
    if (!zero || !one || *zero == *one || (equation.number - *zero) % (*one - *zero) != 0) return false;
    const std::int64_t value = (equation.number - *zero) / (*one - *zero);
    if (value < 0 || at(value) != equation.number) return false;
    bind(names[0], value);
    return equation.is_done = true;
  }

  const GraphCollection& collection_;
  Numbers numbers_;
  SizesByName sizes_;
  std::vector<Equation> equations_;
};

class SizeSetter {
 public:
  explicit SizeSetter(const SizesByName& sizes) : sizes_(sizes) {}

  void set(ModuleGraph& graph) const {
    for (const NodeId id : graph.graph.order()) {
      const Node& node = graph.graph.node(id);
      if (has_names(*node.meta)) {
        Meta meta = *node.meta;
        set(meta, node.name);
        graph.graph.set_meta(id, std::move(meta));
      }
      if (*graph.graph.node(id).cost) {
        Cost cost = **graph.graph.node(id).cost;
        set(cost);
        graph.graph.set_cost(id, std::move(cost));
      }
    }
    if (graph.cost) set(*graph.cost);
    for (Subgraph& subgraph : graph.subgraphs) set(subgraph.graph);
  }

  void set(Meta& meta, const std::string& of) const {
    const auto changed = [&](const Expression& size) {
      return size.map_sizes([&](const SymInt& s) { return number(s); });
    };
    if (meta.value) meta.value = changed(*meta.value);
    if (!meta.shape) return;
    for (Expression& size : *meta.shape) {
      size = changed(size);
      if (size.number().value_or(0) < 0)
        throw usage_error("--at: these sizes are too small for the model: " + (of.empty() ? "a result" : of) +
                          " would have a size of " + std::to_string(*size.number()));
    }
  }

 private:
  static bool has_names(const Meta& meta) {
    if (meta.value && !meta.value->number()) return true;
    return meta.shape &&
           std::ranges::any_of(*meta.shape, [](const Expression& size) { return !size.number(); });
  }

  SymInt number(const SymInt& size) const {
    if (size.is_number()) return size;
    try {
      return size.substitute(sizes_);
    } catch (const SymbolicError& error) {
      throw usage_error("--at: " + size.text() + " has no value at these sizes: " + error.what());
    }
  }
  void set(Cost& cost) const {
    for (auto* part : {&cost.macs, &cost.uncounted_macs, &cost.activation_bytes, &cost.peak_bytes}) {
      if (*part) *part = number(**part);
    }
  }

  const SizesByName& sizes_;
};

bool has_any_cost(const GraphCollection& collection) {
  return std::ranges::any_of(collection.graphs,
                             [](const ModuleGraph& graph) { return graph.cost.has_value(); });
}

}  // namespace

std::vector<GivenSizes> read_given_sizes(const std::string& text) {
  std::vector<GivenSizes> given;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t equals = text.find('=', at);
    if (equals == std::string::npos || equals == at) throw wrong_sizes(text);
    const std::size_t list = text.compare(equals + 1, 1, "[") == 0 ? text.find(']', equals) : equals;
    if (list == std::string::npos) throw wrong_sizes(text);
    const std::size_t end = std::min(text.find(',', list), text.size());
    auto numbers = read_numbers(std::string_view(text).substr(equals + 1, end - equals - 1));
    if (!numbers) throw wrong_sizes(text);
    given.push_back({text.substr(at, equals - at), std::move(*numbers)});
    at = end + 1;
  }
  return given;
}

std::vector<std::string> names_of_sizes(const GraphCollection& collection) {
  std::set<std::string> names;
  const auto add = [&](const Expression& size) {
    if (const SymInt* of = size.size(); of != nullptr && !of->is_number()) {
      for (const std::string& name : of->symbols()) names.insert(name);
    }
  };
  for (const ModuleGraph& graph : collection.graphs) {
    for_each_meta(graph, [&](const Meta& meta) {
      if (meta.value) add(*meta.value);
      if (meta.shape) std::ranges::for_each(*meta.shape, add);
    });
  }
  return {names.begin(), names.end()};
}

bool has_sizes(const GraphCollection& collection, const GivenSizes& given) {
  const std::vector<std::string> names = names_of_sizes(collection);
  return std::ranges::find(names, given.name) != names.end() || find_input(collection, given.name) != nullptr;
}

std::map<std::string, std::int64_t> set_sizes(GraphCollection& collection,
                                              const std::vector<GivenSizes>& given) {
  const Numbers numbers = Solver(collection).solve(given);
  const SizesByName sizes(numbers.begin(), numbers.end());
  const SizeSetter setter(sizes);
  for (ModuleGraph& graph : collection.graphs) setter.set(graph);
  for (ModuleRecord& module : collection.modules) {
    if (!module.outputs) continue;
    for (Meta& output : *module.outputs) setter.set(output, module.path);
  }
  if (has_any_cost(collection)) add_costs(collection);
  return numbers;
}

}  // namespace fxtrace::internal
