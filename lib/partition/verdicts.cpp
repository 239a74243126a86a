#include "partition/verdicts.h"

#include <algorithm>
#include <utility>

#include "analysis/program_operations.h"

namespace fxtrace::internal {
namespace {

// Returns whether the call takes an item of a list, tuple or dict.
bool unpacks(const ModuleGraph& graph, const Node& node) {
  const NodeId* from = item_index(node) ? node.args[0].get_if<NodeId>() : nullptr;
  return from != nullptr && graph.graph.node(*from).meta->kind() == ValueKind::kOther;
}

}  // namespace

NamePatterns::NamePatterns(const std::vector<std::string>& texts, const GraphCollection& collection,
                           const Pattern::Names& names, std::vector<std::string>& unmatched) {
  for (const std::string& text : texts) {
    const bool is_path = text.starts_with('@');
    Entry& entry = entries_.emplace_back(NamePattern(is_path ? text.substr(1) : text));
    if (!is_path) entry.names.emplace(text);
    const bool is_here = entry.path.settle([&] {
      return std::ranges::any_of(collection.modules, [&](const ModuleRecord& module) {
        return !module.path.empty() && entry.path.matches(module.path);
      });
    });
    if (is_path ? !is_here : !entry.names->settle(names).empty() && !is_here) unmatched.push_back(text);
  }
}

bool NamePatterns::matches_module(const ModuleRecord& module) const {
  return std::ranges::any_of(entries_, [&](const Entry& entry) {
    return (!module.path.empty() && entry.path.matches(module.path)) ||
           (entry.names && !module.type.empty() && entry.names->matches_type(module.type));
  });
}

bool NamePatterns::matches_target(const std::string& target) const {
  return std::ranges::any_of(
      entries_, [&](const Entry& entry) { return entry.names && entry.names->matches_target(target); });
}

Verdicts::Verdicts(const GraphCollection& collection, std::vector<OperatorSet>& sets,
                   const std::vector<std::string>& exclude, const std::vector<std::string>& keep_together,
                   std::vector<std::string>& unmatched)
    : semantics_(collection),
      tree_(collection),
      sets_(sets),
      names_(names_of(collection)),
      excluded_(exclude, collection, names_, unmatched),
      takers_(tree_.size()),
      is_whole_(tree_.size()),
      is_excluded_(tree_.size()) {
  for (OperatorSet& set : sets) {
    matchers_.emplace_back(set, names_);
    const auto& unknown = matchers_.back().unknown();
    if (find_shipped_set(set.name) == nullptr)
      unmatched.insert(unmatched.end(), unknown.begin(), unknown.end());
  }
  const NamePatterns together(keep_together, collection, names_, unmatched);
  for (Place place = 0; place < tree_.size(); ++place) {
    const ModuleRecord* record = tree_.record(place);
    if (record == nullptr) continue;
    for (std::size_t set = 0; set < matchers_.size(); ++set) {
      if (matchers_[set].takes_module(*record)) takers_[place] |= std::uint64_t{1} << set;
    }
    is_whole_[place] = takers_[place] != 0 || together.matches_module(*record);
    is_excluded_[place] = excluded_.matches_module(*record);
  }
}

Verdicts::Place Verdicts::place_of(const Node& node) const {
  return tree_.find_place(node.op == Opcode::kCallModule ? called_module(node) : node.scope->module_path);
}

Verdict Verdicts::judge(const ModuleGraph& graph, const Node& node, const Effects& effects) {
  Verdict verdict;
  const bool is_number = node.meta->kind() != ValueKind::kTensor && node.meta->kind() != ValueKind::kOther;
  const bool reads_tensor = effects.reads_elements && [&] {
    bool reads = false;
    for_each_input(node, [&](NodeId input) {
      reads = reads || graph.graph.node(input).meta->kind() == ValueKind::kTensor;
    });
    return reads;
  }();
  verdict.is_free = node.op == Opcode::kCallFunction && effects.written.empty() && !effects.is_unknown &&
                    !effects.is_random && !effects.has_side_effect && !effects.switches &&
                    ((effects.asserts && node.meta->kind() != ValueKind::kTensor) ||
                     (is_number && !reads_tensor) || unpacks(graph, node));
  // What a body asserts says nothing of its call.
  for_each_of<Argument::GraphRef>(node, [&](const auto&) { verdict.is_free = false; });
  const Place place = place_of(node);
  if (tree_.is_within(place, is_excluded_) || excluded_.matches_target(*node.target)) {
    verdict.is_free = false;
    verdict.reason = "excluded";
    return verdict;
  }
  if (verdict.is_free) return verdict;
  if (node.op == Opcode::kCallModule) {
    const ModuleRecord* record = place == ModulePlaces::kNone ? nullptr : tree_.record(place);
    verdict.takers = place == ModulePlaces::kNone ? 0 : takers_[place];
    const bool is_failed = record != nullptr && record->status == ModuleStatus::kFailed;
    verdict.reason = "not in the set";
    if (is_failed) verdict.reason = "it failed to trace";
    if (is_failed && record->failure) verdict.reason += ": " + record->failure->message;
    return verdict;
  }
  const OperatorEntry* entry = node.model_function ? nullptr : semantics_.find_operator(*node.target);
  for (std::size_t set = 0; set < matchers_.size(); ++set) {
    const auto refusal = matchers_[set].refusal(graph, node, entry, constants_[&graph]);
    if (!refusal) verdict.takers |= std::uint64_t{1} << set;
    if (!refusal || (matchers_.size() > 1 && verdict.reason == *refusal)) continue;
    if (!verdict.reason.empty()) verdict.reason += "; ";
    verdict.reason +=
        matchers_.size() > 1 && *refusal != "not in the set" ? sets_[set].name + ": " + *refusal : *refusal;
  }
  for_each_of<Argument::GraphRef>(node, [&](const Argument::GraphRef& reference) {
    const ModuleGraph* body = graph.subgraphs.find_graph(reference.name);
    if (body == nullptr || verdict.takers == 0) return;
    note_constants(graph, node, *body);
    const BodyVerdict& of_body = judge_body(*body);
    verdict.takers &= of_body.takers;
    if (verdict.takers == 0) verdict.reason = "its body " + of_body.reason;
  });
  return verdict;
}

void Verdicts::note_constants(const ModuleGraph& graph, const Node& call, const ModuleGraph& body) {
  static const ProgramTable none;
  const auto& outer = constants_[&graph];
  auto& inner = constants_[&body];
  for_each_lasting_operand(call, ProgramView(body, none), [&](NodeId input, const Argument& operand) {
    const auto* id = operand.get_if<NodeId>();
    const bool is_constant =
        id != nullptr && (graph.graph.node(*id).op == Opcode::kGetAttr || outer.contains(id->index));
    if (is_constant) inner.insert(input.index);
  });
}

// Returns which sets take all calls of a body.  Each body is judged once, as many calls may share it.
const Verdicts::BodyVerdict& Verdicts::judge_body(const ModuleGraph& body) {
  const auto known = bodies_.find(&body);
  if (known != bodies_.end()) return known->second;
  BodyVerdict found{~std::uint64_t{0}, "is taken by different sets"};
  for (NodeId id = body.graph.first(); id.valid() && found.takers != 0; id = body.graph.next(id)) {
    const Node& node = body.graph.node(id);
    if (!is_call(node)) continue;
    const Verdict verdict = judge(body, node, effects(body, node));
    if (verdict.is_free) continue;
    found.takers &= verdict.takers;
    if (verdict.takers == 0) found.reason = "has " + *node.target + ": " + verdict.reason;
  }
  return bodies_.emplace(&body, std::move(found)).first->second;
}

}  // namespace fxtrace::internal
