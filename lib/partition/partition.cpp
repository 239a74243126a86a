#include "partition/partition.h"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "operators/names/modules.h"
#include "partition/graph_parts.h"
#include "partition/operator_set.h"
#include "summaries/model_summary.h"
#include "summaries/parameter_sizes.h"
#include "support/error.h"
#include "support/text/did_you_mean.h"
#include "support/text/numbers.h"

namespace fxtrace::internal {
namespace {

using Place = Verdicts::Place;

// Adds up the parts of all graphs of a collection.
class Partitioner {
 public:
  Partitioner(const GraphCollection& collection, PartitionRequest request)
      : collection_(collection),
        request_(std::move(request)),
        verdicts_(collection, request_.sets, request_.exclude, request_.keep_together, result_.unmatched),
        counts_(verdicts_.tree().size()) {
    for (const ParameterRecord& parameter : collection.parameters)
      parameters_.emplace(parameter.name, byte_count(parameter));
  }

  Partition run();

 private:
  struct Count {
    std::int64_t all = 0, left = 0;
    std::size_t reason = SIZE_MAX;  // of the calls that are left
    bool has_several = false;       // reasons
  };

  void add(const ModuleGraph& graph, const std::string& name, bool is_root);
  void add_left(const std::string& graph, const Node& node, const Verdict& verdict);
  void count(const Node& node, bool is_taken);
  void count_body(const ModuleGraph& graph);
  void fold_reasons();

  const GraphCollection& collection_;
  PartitionRequest request_;
  Partition result_;
  Verdicts verdicts_;
  AttributeBytes parameters_;
  std::unordered_set<const ModuleGraph*> seen_;
  std::vector<Count> counts_;  // by place, the calls of the module itself
  std::map<std::string, Count> operators_;
  std::map<std::pair<std::string, std::string>, std::size_t> reasons_;  // by target and text
  std::vector<Total> reason_macs_;
  Total macs_, taken_macs_, cut_bytes_;
};

void Partitioner::count(const Node& node, bool is_taken) {
  ++result_.calls.all;
  Count& of_operator = operators_[*node.target];
  ++of_operator.all;
  Count* of_module = nullptr;
  if (const Place place = verdicts_.place_of(node); place != ModulePlaces::kNone) of_module = &counts_[place];
  if (of_module != nullptr) ++of_module->all;
  if (is_taken) {
    ++result_.calls.taken;
    return;
  }
  ++of_operator.left;
  if (of_module == nullptr) return;
  ++of_module->left;
  const std::size_t reason = result_.left.back().reason;
  of_module->has_several =
      of_module->has_several || (of_module->reason != SIZE_MAX && of_module->reason != reason);
  of_module->reason = reason;
}

// Counts the calls in the bodies of a call that is taken as a whole.
void Partitioner::count_body(const ModuleGraph& graph) {
  if (!seen_.insert(&graph).second) return;
  for (NodeId id = graph.graph.first(); id.valid(); id = graph.graph.next(id)) {
    const Node& node = graph.graph.node(id);
    if (!is_call(node) || item_index(node) ||
        verdicts_.judge(graph, node, verdicts_.effects(graph, node)).is_free)
      continue;
    count(node, true);
    for_each_of<Argument::GraphRef>(node, [&](const Argument::GraphRef& reference) {
      if (const ModuleGraph* body = graph.subgraphs.find_graph(reference.name)) count_body(*body);
    });
  }
}

void Partitioner::add_left(const std::string& graph, const Node& node, const Verdict& verdict) {
  std::string target =
      node.op == Opcode::kCallModule ? public_alias(node.scope->module_type.value_or("")) : *node.target;
  if (target.empty()) target = node.target->empty() ? "(root)" : *node.target;
  const auto [known, is_new] = reasons_.try_emplace({target, verdict.reason}, result_.reasons.size());
  if (is_new) {
    result_.reasons.push_back({target, verdict.reason, verdict.is_refused(), 0, {}, 0, {}});
    reason_macs_.emplace_back();
  }
  ++result_.reasons[known->second].calls;
  if (const auto& cost = *node.cost; cost && cost->macs) reason_macs_[known->second].add(cost->macs);
  const Scope& scope = *node.scope;
  result_.left.push_back({graph, node.name, target, scope.module_path,
                          public_alias(scope.module_type.value_or("")), *node.source, known->second});
}

// Adds the parts of a graph, and of the bodies of the calls that are left.
void Partitioner::add(const ModuleGraph& graph, const std::string& name, bool is_root) {
  if (!seen_.insert(&graph).second) return;  // calls may share a body
  GraphParts made = make_parts(verdicts_, request_, parameters_, graph, name);
  std::vector<std::pair<const ModuleGraph*, std::string>> bodies;
  for (NodeId id = graph.graph.first(); id.valid(); id = graph.graph.next(id)) {
    const Node& node = graph.graph.node(id);
    if (!is_call(node) || made.verdicts[id.index].is_free) continue;
    const bool is_left = made.is_left(id);
    if (is_left) add_left(name, node, made.verdicts[id.index]);
    const std::int64_t before = result_.calls.taken;
    count(node, !is_left);
    for_each_of<Argument::GraphRef>(node, [&](const Argument::GraphRef& reference) {
      const ModuleGraph* body = graph.subgraphs.find_graph(reference.name);
      if (body != nullptr) verdicts_.note_constants(graph, node, *body);
      if (body != nullptr && !is_left) count_body(*body);
      if (body != nullptr && is_left) bodies.emplace_back(body, name + ":" + reference.name);
    });
    if (const auto part = made.part_of[id.index]; part && made.parts[*part].set)
      result_.set_calls[*made.parts[*part].set] += result_.calls.taken - before;
  }
  for (const Part& part : made.parts) {
    if (is_root) {
      macs_.add(part.macs);
      result_.unknown += part.unknown;
      if (part.set) taken_macs_.add(part.macs);
    }
    for (const PartValue& value : part.inputs) {
      const auto maker = made.part_of[value.node.index];
      if (!maker || (!part.set && !made.parts[*maker].set)) continue;
      ++result_.cut_edges;
      if (value.bytes) {
        cut_bytes_.add(value.bytes);
      } else {
        ++result_.cut_unknown;
      }
    }
  }
  std::ranges::move(made.parts, std::back_inserter(result_.parts));
  for (const auto& [body, its_name] : bodies) add(*body, its_name, false);
}

// Sums up the calls of modules, and finds what each reason costs.
void Partitioner::fold_reasons() {
  for (auto place = static_cast<Place>(verdicts_.tree().size());
       place-- > 0;) {  // parents come before their children
    const Place parent = verdicts_.tree().parent(place);
    if (parent == ModulePlaces::kNone) continue;
    const Count& count = counts_[place];
    Count& sum = counts_[parent];
    sum.all += count.all;
    sum.left += count.left;
    if (count.left == 0) continue;
    sum.has_several =
        sum.has_several || count.has_several || (sum.reason != SIZE_MAX && sum.reason != count.reason);
    sum.reason = count.reason;
  }
  const auto only_reason = [&](Place place) {
    return place == ModulePlaces::kNone || counts_[place].left == 0 || counts_[place].has_several
               ? SIZE_MAX
               : counts_[place].reason;
  };
  for (Place place = 0; place < verdicts_.tree().size(); ++place) {
    const ModuleRecord* record = verdicts_.tree().record(place);
    if (record == nullptr || counts_[place].all == 0) continue;
    ++result_.modules.all;
    result_.modules.taken += counts_[place].left == 0 ? 1 : 0;
    const std::size_t reason = only_reason(place);
    if (reason == SIZE_MAX) continue;
    ++result_.reasons[reason].modules;
    if (only_reason(verdicts_.tree().parent(place)) != reason)
      result_.reasons[reason].outermost.push_back(record->path);
  }
  for (const auto& [target, count] : operators_) {
    ++result_.operators.all;
    result_.operators.taken += count.left == 0 ? 1 : 0;
  }
  std::vector<std::size_t> order(result_.reasons.size()), place(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
    result_.reasons[i].macs = reason_macs_[i].value();
  }
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t i) {
    const LeftReason& reason = result_.reasons[i];
    return std::tuple(reason.modules, typical_value(reason.macs), reason.calls);
  });
  std::vector<LeftReason> sorted;
  for (const std::size_t i : order) {
    place[i] = sorted.size();
    sorted.push_back(std::move(result_.reasons[i]));
  }
  result_.reasons = std::move(sorted);
  for (LeftCall& left : result_.left) left.reason = place[left.reason];
}

Partition Partitioner::run() {
  result_.model = collection_.model;
  result_.set_calls.resize(request_.sets.size());
  for (const ModuleGraph& graph : collection_.graphs)
    add(graph, graph.module, &graph == &collection_.graphs.front());
  fold_reasons();
  result_.macs = macs_.value();
  result_.taken_macs = taken_macs_.value();
  result_.cut_bytes = cut_bytes_.value();
  result_.sets = std::move(request_.sets);
  return std::move(result_);
}

}  // namespace

std::size_t Partition::regions() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(parts, [](const Part& part) { return part.set.has_value(); }));
}

std::optional<double> Partition::macs_ratio() const {
  if (!macs || !taken_macs) return std::nullopt;
  const auto all = macs->number();
  const auto taken = taken_macs->number();
  if (!all || !taken || *all == 0)
    return *macs == *taken_macs && *macs != SymInt(0) ? std::optional(1.0) : std::nullopt;
  return static_cast<double>(*taken) / static_cast<double>(*all);
}

std::vector<BackendFinding> findings_of(const Partition& partition, const std::string& rule) {
  std::vector<BackendFinding> findings;
  for (const LeftCall& call : partition.left) {
    const LeftReason& reason = partition.reasons[call.reason];
    if (reason.is_refused)
      findings.push_back({rule, call.target + ": " + reason.text, call.target,
                          OffencePlace{call.module, call.node, call.graph, {}}, call.source});
  }
  return findings;
}

Partition partition(const GraphCollection& collection, PartitionRequest request) {
  if (request.sets.empty() || request.sets.size() > kMostSets)
    throw usage_error("expected from 1 to " + std::to_string(kMostSets) + " sets of operators");
  return Partitioner(collection, std::move(request)).run();
}

namespace {

constexpr std::array<std::string_view, 8> kQuantities = {"covered", "operators", "modules",   "macs",
                                                         "left",    "regions",   "cut_edges", "cut_bytes"};
constexpr std::size_t kRatios = 4;  // the first of these can be percentages

std::optional<double> number_of(const std::optional<SymInt>& size) {
  const auto number = size ? size->number() : std::nullopt;
  return number ? std::optional(static_cast<double>(*number)) : std::nullopt;
}

std::optional<double> actual(const Gate& gate, const Partition& partition) {
  const auto percent = [](const std::optional<double>& ratio) {
    return ratio ? std::optional(*ratio * 100) : std::nullopt;
  };
  const auto of = [&](const Coverage& coverage) -> std::optional<double> {
    // Of nothing, all is taken.
    return gate.is_percent ? coverage.ratio().value_or(1) * 100 : static_cast<double>(coverage.taken);
  };
  const Coverage& calls = partition.calls;
  if (gate.quantity == "covered") return of(calls);
  if (gate.quantity == "operators") return of(partition.operators);
  if (gate.quantity == "modules") return of(partition.modules);
  if (gate.quantity == "macs") {
    if (partition.unknown > 0 && gate.is_percent) return std::nullopt;
    return gate.is_percent ? percent(partition.macs_ratio()) : number_of(partition.taken_macs);
  }
  if (gate.quantity == "left") return static_cast<double>(calls.all - calls.taken);
  if (gate.quantity == "regions") return static_cast<double>(partition.regions());
  if (gate.quantity == "cut_edges") return static_cast<double>(partition.cut_edges);
  return partition.cut_unknown > 0 ? std::nullopt : number_of(partition.cut_bytes);
}

}  // namespace

Gate parse_gate(std::string_view text) {
  const auto fail = [&](const std::string& why) {
    return usage_error("--require: " + why + " in " + shell_quoted(text),
                       {"for example 'covered>=95%', 'left<=0', 'regions<=2', 'cut_bytes<=1MiB'"});
  };
  const std::size_t at = text.find_first_of("<>");
  if (at == std::string_view::npos || at + 1 >= text.size() || text[at + 1] != '=')
    throw fail("expected '>=' or '<='");
  Gate gate{std::string(text), std::string(text.substr(0, at)), text[at] == '>'};
  const auto known = std::ranges::find(kQuantities, gate.quantity);
  if (known == kQuantities.end()) throw fail("unknown quantity " + shell_quoted(gate.quantity));
  std::string_view number = text.substr(at + 2);
  if (number.ends_with('%')) {
    if (known - kQuantities.begin() >= static_cast<std::ptrdiff_t>(kRatios))
      throw fail(gate.quantity + " is no percentage");
    gate.is_percent = true;
    number.remove_suffix(1);
    const auto value = number_in<double>(number);
    if (!value || !(*value >= 0 && *value <= 100)) throw fail("expected a percentage from 0 to 100");
    gate.limit = *value;
    return gate;
  }
  try {
    gate.limit = static_cast<double>(parse_amount(number));
  } catch (const Error& error) {
    throw fail(error.what());
  }
  return gate;
}

std::vector<GateResult> try_gates(const std::vector<Gate>& gates, const Partition& partition) {
  std::vector<GateResult> results;
  for (const Gate& gate : gates) results.push_back({gate, actual(gate, partition)});
  return results;
}

}  // namespace fxtrace::internal
