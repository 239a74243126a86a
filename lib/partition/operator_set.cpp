#include "partition/operator_set.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "analysis/node_arguments.h"
#include "analysis/program_operations.h"
#include "rules/rule.h"
#include "support/error.h"
#include "support/json_document.h"
#include "support/json_fields.h"
#include "support/text/words.h"
#include "trace/options/option_json.h"

namespace fxtrace::internal {
namespace {

constexpr JsonRules kJsonRules{ErrorKind::kUsage, 32, true};
constexpr std::size_t kMostRows = 20'000;
constexpr std::size_t kMostShown = 8;  // alternatives in a reason

OperatorSet::Row read_row(const JsonValue& value) {
  std::optional<Pattern> pattern;
  const auto read_pattern = [&](const JsonValue& at) {
    const std::string text = read_string(at);
    at_place_of(at, [&] { pattern.emplace(text); });
  };
  if (value.is_string()) {
    read_pattern(value);
    return {*std::move(pattern), {}, {}};
  }
  object_fields(value, "an operator, or an object with 'op'");
  check_keys(value, {"op", "where", "note"}, "key of a row");
  const auto op = value.find_or_null("op");
  if (!op) value.fail("a row needs 'op'");
  read_pattern(*op);
  OperatorSet::Row row{*std::move(pattern), {}, {}};
  if (const auto where = value.find_or_null("where")) row.where = read_where(*where);
  if (const auto note = value.find_or_null("note")) row.note = read_string(*note);
  return row;
}

OperatorSet read_document(std::string_view text, const std::string& name) {
  const JsonDocument document(text, name, kJsonRules);
  const JsonValue root = document.root();
  object_fields(root, "an operator set: an object");
  check_document(root, "fxtrace.ops", {"name", "title", "source", "date", "note", "ops"},
                 "key of an operator set");
  OperatorSet set;
  set.name = name;
  for (const auto& [key, field] :
       {std::pair("name", &set.name), std::pair("title", &set.title), std::pair("source", &set.source),
        std::pair("date", &set.date), std::pair("note", &set.note)}) {
    if (const auto value = root.find_or_null(key)) *field = read_string(*value);
  }
  const auto ops = root.find_or_null("ops");
  if (!ops) root.fail("an operator set needs 'ops'");
  for (const JsonValue row : array_items(*ops, "an array of operators")) {
    if (set.rows.size() == kMostRows) row.fail("more than " + std::to_string(kMostRows) + " rows");
    set.rows.push_back(read_row(row));
  }
  return set;
}

// Returns the text of a plain value as people write it: "float32", "7", "True".
std::string plain_text(const Argument& value) {
  if (const auto* text = value.get_if<std::string>()) return *text;
  return json_text(JsonLayout::kSpaced, [&](JsonEmitter& json) { write_value(value, json); });
}

// Returns what a predicate takes: "at most 5 is taken".
std::string taken_text(const Predicate& predicate) {
  if (predicate.op == "in") {
    std::vector<std::string> choices;
    for (const Argument& choice : *items_of(predicate.value)) {
      if (choices.size() == kMostShown) {
        choices.emplace_back("others");
        break;
      }
      choices.push_back(plain_text(choice));
    }
    return "only " + listed(choices, " or ") + " is taken";
  }
  const std::string value = plain_text(predicate.value);
  if (predicate.op == "==") return "only " + value + " is taken";
  if (predicate.op == "!=") return "which is not taken";
  const char* bound = predicate.op == "<"    ? "less than "
                      : predicate.op == "<=" ? "at most "
                      : predicate.op == ">"  ? "more than "
                                             : "at least ";
  return bound + value + " is taken";
}

// The values of one property of a call; absent ones are not known.
using Values = std::vector<std::optional<Argument>>;

// The properties of one call.
class CallProperties {
 public:
  CallProperties(const ModuleGraph& graph, const Node& node, const OperatorEntry* entry,
                 const std::unordered_set<std::uint32_t>& constants)
      : graph_(graph), node_(node), entry_(entry), constants_(constants) {}

  // Returns nothing when the call has no such property.  A list is one value if `is_whole`.
  std::optional<Values> find_values(std::string_view name, bool is_whole) const {
    const std::size_t dot = name.find('.');
    const std::string_view owner = dot == std::string_view::npos ? "" : name.substr(0, dot);
    const std::string_view property = dot == std::string_view::npos ? name : name.substr(dot + 1);
    if (is_tensor_property(property)) {
      const bool is_argument = !owner.empty() && owner != "out";
      if (is_argument && (entry_ == nullptr || !entry_->schema.find_argument(owner))) return std::nullopt;
      Values values;
      const auto add = [&](const Node& node) { add_tensor(node, property, values); };
      if (owner == "out") {
        for_each_result(add);
      } else if (owner.empty()) {
        for_each_input(node_, [&](NodeId id) { add(graph_.graph.node(id)); });
      } else {
        const Argument* given = find(owner);
        if (given != nullptr) for_each_reference(*given, [&](NodeId id) { add(graph_.graph.node(id)); });
      }
      return values;
    }
    if (entry_ == nullptr || !entry_->schema.find_argument(name)) return std::nullopt;
    const std::optional<Argument> value = NodeArguments(node_, *entry_).value(name);
    Values values;
    if (value && is_whole) {
      values.push_back(value);
    } else if (value) {
      add_plain(*value, values);
    } else {
      values.emplace_back();
    }
    return values;
  }

 private:
  static bool is_tensor_property(std::string_view name) {
    return name == "dtype" || name == "rank" || name == "sizes_known" || name == "constant";
  }
  const Argument* find(std::string_view name) const {
    return entry_ == nullptr ? nullptr : NodeArguments(node_, *entry_).find_argument(name);
  }

  template <class F>
  void for_each_result(const F& f) const {
    if (node_.meta->kind() == ValueKind::kTensor) return f(node_);
    for (const NodeId user : node_.users) {
      if (item_index(graph_.graph.node(user))) f(graph_.graph.node(user));
    }
  }

  void add_tensor(const Node& node, std::string_view property, Values& values) const {
    const Meta& meta = *node.meta;
    if (meta.kind() != ValueKind::kTensor) return;
    if (property == "dtype") {
      const auto dtype = meta.dtype_text();
      values.push_back(dtype ? std::optional<Argument>(*dtype) : std::nullopt);
    } else if (property == "rank") {
      values.push_back(meta.shape ? std::optional<Argument>(static_cast<std::int64_t>(meta.shape->size()))
                                  : std::nullopt);
    } else if (property == "sizes_known") {
      const auto sizes = meta.sizes();
      values.emplace_back(sizes && std::ranges::all_of(*sizes, &SymInt::is_number));
    } else {
      values.emplace_back(node.op == Opcode::kGetAttr || constants_.contains(node.id.index));
    }
  }

  // Adds the value, or the values of a list; integers that the graph computes are looked up.
  void add_plain(const Argument& value, Values& values) const {
    if (const auto* items = items_of(value)) {
      for (const Argument& item : *items) add_plain(item, values);
    } else if (const auto* id = value.get_if<NodeId>()) {
      const Meta& meta = *graph_.graph.node(*id).meta;
      const SymInt* size = meta.value ? meta.value->size() : nullptr;
      const auto number = size != nullptr ? size->number() : std::nullopt;
      values.push_back(number ? std::optional<Argument>(*number) : std::nullopt);
    } else if (const auto* dtype = value.get_if<Argument::Dtype>()) {
      values.emplace_back(dtype->name);
    } else if (const auto* format = value.get_if<Argument::MemoryFormat>()) {
      values.emplace_back(format->name);
    } else {
      values.emplace_back(value);
    }
  }

  const ModuleGraph& graph_;
  const Node& node_;
  const OperatorEntry* entry_;
  const std::unordered_set<std::uint32_t>& constants_;
};

// Returns why the call does not fulfil the predicate; nothing when it does.
std::optional<std::string> failure(const Predicate& predicate, const CallProperties& call) {
  const auto values =
      call.find_values(predicate.attribute, items_of(predicate.value) != nullptr && predicate.op != "in");
  if (!values) return "it has no argument " + predicate.attribute.substr(0, predicate.attribute.find('.'));
  const std::string& name = predicate.attribute;
  for (const auto& value : *values) {
    if (!value) return name + " is not known, " + taken_text(predicate);
    if (holds(predicate, *value)) continue;
    const std::string owner =
        name.find('.') == std::string::npos ? "an input" : name.substr(0, name.find('.'));
    if (name.ends_with("sizes_known") && *value == Argument(false)) return owner + " has unknown sizes";
    if (name.ends_with("constant") && *value == Argument(false)) return owner + " is no constant";
    return name + " is " + plain_text(*value) + ", " + taken_text(predicate);
  }
  return std::nullopt;
}

}  // namespace

OperatorSet read_operator_set(std::string_view text, const std::string& name) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && std::string_view("{[\"").find(text[first]) != std::string_view::npos)
    return read_document(text, name);
  const Rule rule = ops_rule(text, name);
  OperatorSet set;
  set.name = name;
  if (rule.operators.size() > kMostRows)
    throw usage_error("more than " + std::to_string(kMostRows) + " operators").at(name);
  for (const Pattern& pattern : rule.operators) set.rows.push_back({pattern, {}, {}});
  return set;
}

const ShippedSet* find_shipped_set(std::string_view name) {
  const auto found = std::ranges::find(shipped_sets(), name, &ShippedSet::name);
  return found == shipped_sets().end() ? nullptr : &*found;
}

SetMatcher::SetMatcher(OperatorSet& set, const Pattern::Names& model) : set_(set) {
  for (OperatorSet::Row& row : set.rows) {
    for (std::string& name : row.operators.settle(model)) unknown_.push_back(std::move(name));
  }
}

const std::vector<const OperatorSet::Row*>& SetMatcher::rows_for(const std::string& target) {
  const auto [known, is_new] = by_target_.try_emplace(target);
  if (is_new) {
    for (const OperatorSet::Row& row : set_.rows) {
      if (row.operators.matches_target(target)) known->second.push_back(&row);
    }
  }
  return known->second;
}

std::optional<std::string> SetMatcher::refusal(const ModuleGraph& graph, const Node& node,
                                               const OperatorEntry* entry,
                                               const std::unordered_set<std::uint32_t>& constants) {
  const auto& rows = rows_for(*node.target);
  if (rows.empty()) return "not in the set";
  std::vector<std::string> reasons;  // of the rows of which the fewest conditions do not hold
  std::size_t fewest = std::numeric_limits<std::size_t>::max();
  const CallProperties call(graph, node, entry, constants);
  for (const OperatorSet::Row* row : rows) {
    std::vector<std::string> failed;
    for (const Predicate& predicate : row->where) {
      if (auto reason = failure(predicate, call)) failed.push_back(*std::move(reason));
      if (failed.size() > fewest) break;  // another row is nearer
    }
    if (failed.empty()) return std::nullopt;
    if (failed.size() < fewest) reasons.clear();
    fewest = std::min(fewest, failed.size());
    std::string reason = joined(failed, {}, ", and ");
    const std::size_t most = fewest == 1 ? kMostShown : 1;
    if (failed.size() == fewest && reasons.size() < most &&
        std::ranges::find(reasons, reason) == reasons.end())
      reasons.push_back(std::move(reason));
  }
  return listed(reasons, "; or ", "; or ");
}

bool SetMatcher::takes_module(const ModuleRecord& module) {
  if (module.type.empty()) return false;
  const auto [known, is_new] = by_type_.try_emplace(module.type);
  if (is_new) {
    for (const OperatorSet::Row& row : set_.rows) {
      if (row.operators.matches_type(module.type)) known->second.push_back(&row);
    }
  }
  return std::ranges::any_of(known->second, [&](const OperatorSet::Row* row) {
    return std::ranges::all_of(row->where, [&](const Predicate& predicate) {
      const auto found = std::ranges::find(module.attributes, predicate.attribute,
                                           [](const auto& attribute) { return attribute.first; });
      return found != module.attributes.end() && holds(predicate, found->second);
    });
  });
}

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
