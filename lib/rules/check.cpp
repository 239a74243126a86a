#include "rules/check.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "graph/analysis/input_sizes.h"
#include "operators/names/allow_lists.h"
#include "operators/names/modules.h"
#include "operators/operators.h"
#include "rules/matching.h"
#include "summaries/model_summary.h"
#include "support/repeated.h"
#include "support/text/did_you_mean.h"
#include "support/text/numbers.h"
#include "support/text/qualified_name.h"
#include "support/text/words.h"
#include "symbolic/size_text.h"

namespace fxtrace::internal {
namespace {

using Place = ModulePlaces::Place;

constexpr Place kNone = ModulePlaces::kNone;

// A graph or subgraph.
struct GraphView {
  const ModuleGraph* graph = nullptr;
  std::string name;  // as OffencePlace::graph
};

// A call whose operators the graph does not show: a leaf, a failed module, or a function that stays one call.
struct HiddenCall {
  std::string what;  // type of the module, or name of the function
  bool is_torch = false;
  bool is_failed = false;
  const Node* node = nullptr;
  const GraphView* view = nullptr;
};

bool is_getitem(const Node& node) {
  return node.op == Opcode::kCallFunction && *node.target == "operator.getitem";
}
// Returns the value that a getitem takes its part from; invalid when that is not a node.
NodeId base_of(const Node& getitem) {
  const NodeId* id = getitem.args.empty() ? nullptr : getitem.args.front().get_if<NodeId>();
  return id == nullptr ? NodeId{} : *id;
}

// Returns whether the node is one call of a function that runs several operators.
bool hides_operators(const Node& node) {
  if (node.op != Opcode::kCallFunction) return false;
  return node.model_function || node.target->starts_with("torch.nn.functional.") ||
         node.target->starts_with("torch.functional.");
}

bool is_plain_number(const Node& node) {
  const ValueKind kind = node.meta->kind();
  return kind == ValueKind::kInt || kind == ValueKind::kFloat || kind == ValueKind::kBool;
}

// Marks the modules that graphs call, or that a leaf or a failed module may call.
std::vector<bool> modules_that_run(const ModulePlaces& tree) {
  std::vector<bool> closed(tree.size(), false);
  std::vector<bool> run(tree.size(), false);
  for (Place place = 0; place < tree.size(); ++place) {
    const Place parent = tree.parent(place);  // parents come before their children
    const ModuleRecord* record = tree.record(place);
    if (parent != kNone) closed[place] = closed[parent];
    if (record == nullptr) continue;
    run[place] = !record->alias_of && (record->status != ModuleStatus::kUnvisited || closed[place]);
    if (record->status == ModuleStatus::kLeaf || record->status == ModuleStatus::kFailed)
      closed[place] = true;
  }
  return run;
}

std::string size_text(std::int64_t size, RuleKind kind) {
  const bool is_bytes = kind == RuleKind::kMaxActivations || kind == RuleKind::kMaxPeak;
  if (!is_bytes || size < 1'024) return with_separators(size) + (is_bytes ? " bytes" : "");
  return with_separators(size) + " bytes (" + bytes_text(size) + ")";
}

// Returns "batch: 2..64, seq: 1.." for the dimensions of a size.
std::string ranges_text(const SymInt& size, const ShapeEnv& dimensions) {
  return joined(size.symbols(),
                [&](const std::string& name) { return name + ": " + to_string(dimensions.range(name)); });
}

const char* quantity_of(RuleKind kind) {
  switch (kind) {
    case RuleKind::kMaxParameters:
      return "parameters";
    case RuleKind::kMaxMacs:
      return "MACs";
    case RuleKind::kMaxActivations:
      return "activations";
    default:
      return "activations at a time";
  }
}

// Returns whether torch itself registers the operator or class, unlike "torchvision.nms.default".
bool is_registered_by_torch(std::string_view name) {
  static const std::unordered_set<std::string_view> spaces = [] {
    std::unordered_set<std::string_view> found = {"higher_order", "prims", "prim", "inductor"};
    for (const Operator& op : registered_operators()) found.insert(op.name.substr(0, op.name.find("::")));
    return found;
  }();
  constexpr std::string_view kClasses = "__torch__.torch.classes.";
  if (!name.starts_with(kClasses)) {
    const std::string_view space = name.substr(0, name.find('.'));
    return spaces.contains(space) || is_torch_operator_space(space);
  }
  // These namespaces of classes are in LibTorch itself; others come with libraries.
  constexpr std::array<std::string_view, 11> kOwn = {"quantized.", "profiler.", "rnn.",      "sparse.",
                                                     "xnnpack.",   "mkldnn.",   "_nnapi.",   "profiling.",
                                                     "dist_rpc.",  "c10d.",     "dist_c10d."};
  return std::ranges::any_of(
      kOwn, [&](std::string_view own) { return name.substr(kClasses.size()).starts_with(own); });
}

class Checker {
 public:
  Checker(std::vector<Rule> rules, const CheckedModel& model) : model_(model) {
    report_.model = model.model;
    report_.path = model.path.empty() ? model.model.file : model.path;
    report_.rules = std::move(rules);
    if (model.collection == nullptr) return;
    tree_.emplace(*model.collection);
    runs_ = modules_that_run(*tree_);
    for (const ModuleGraph& graph : model.collection->graphs) add_view(graph, graph.module);
    sources_.assign(tree_->size(), nullptr);
    for (const GraphView& view : views_) look_at(view);
    settle_names();
  }

  CheckReport run() {
    for (rule_ = 0; rule_ < report_.rules.size(); ++rule_) {
      const Rule& rule = report_.rules[rule_];
      switch (rule.kind) {
        case RuleKind::kNoFailed:
          failed();
          break;
        case RuleKind::kDeny:
        case RuleKind::kRequire:
          required(*rule.requirement);
          break;
        case RuleKind::kOps:
          only(rule.operators);
          break;
        case RuleKind::kBackend:
          left(rule.name);
          break;
        case RuleKind::kVerifyContent:
          for (const ContentFault& fault : model_.content)
            add(fault.message, "", {{}, {}, {}, fault.record}, {}, fault.is_undecided);
          break;
        case RuleKind::kProgram:
          faulty(rule.program);
          break;
        case RuleKind::kSecurity:
          found(rule.security);
          break;
        default:
          limited(rule);
      }
    }
    // A node can break a rule several times, once for each of its users.
    for (Offence& offence : report_.offences) remove_repeated(offence.places);
    return std::move(report_);
  }

 private:
  // --- the names of the rules ---

  void settle_names() {
    const Pattern::Names names = names_of(*model_.collection, model_.declared);
    for (rule_ = 0; rule_ < report_.rules.size(); ++rule_) {
      Rule& rule = report_.rules[rule_];
      const auto settle = [&](Pattern& pattern) {
        for (std::string& name : pattern.settle(names))
          if (!rule.is_shipped)
            add_unknown(std::move(name), false,
                        [&](const std::string& text) { return nearest_names(text, names); });
      };
      std::ranges::for_each(rule.operators, settle);
      if (!rule.requirement) continue;
      settle(rule.requirement->subject);
      if (rule.requirement->object) settle(*rule.requirement->object);
      if (rule.requirement->path) settle_path(*rule.requirement->path);
    }
  }

  // One name is told in the end, so only the first ones get suggestions, which take milliseconds each.
  template <class Nearest>
  void add_unknown(std::string name, bool is_path, const Nearest& nearest) {
    constexpr std::size_t kMostSuggested = 20;
    CheckReport::Unknown& added = report_.unknown.emplace_back(rule_, std::move(name), is_path);
    if (report_.unknown.size() <= kMostSuggested) added.nearest = nearest(added.name);
  }

  void settle_path(NamePattern& path) {
    std::vector<std::string> paths;
    for (const ModuleRecord& module : model_.collection->modules) paths.push_back(module.path);
    const bool is_here = path.settle([&] {
      return std::ranges::any_of(paths, [&](const std::string& one) { return path.matches(one); });
    });
    if (!is_here)
      add_unknown(path.text(), true, [&](const std::string& text) { return find_nearest(text, paths, 3); });
  }

  // Returns the targets and types in the model, each once.
  // --- the model ---

  void add_view(const ModuleGraph& graph, const std::string& name) {
    views_.push_back({&graph, name});
    for (const Subgraph& subgraph : graph.subgraphs) add_view(subgraph.graph, name + ":" + subgraph.name);
  }

  const ModuleRecord* record_of(const Node& call) const {
    const Place place = tree_->find_place(called_module(call));
    const ModuleRecord* record = tree_->record(place);
    return record != nullptr && record->path == called_module(call) ? record : nullptr;
  }
  // Returns the type of the called module; empty when it is unknown.
  std::string type_of(const Node& call) const {
    if (call.scope->module_type) return *call.scope->module_type;
    const ModuleRecord* record = record_of(call);
    return record == nullptr ? "" : record->type;
  }

  void look_at(const GraphView& view) {
    const Graph& graph = view.graph->graph;
    for (NodeId id = graph.first(); id.valid(); id = graph.next(id)) {
      const Node& node = graph.node(id);
      const Place place = tree_->find_place(node.scope->module_path);
      if (sources_[place] == nullptr && *node.source) sources_[place] = &**node.source;
      if (node.op == Opcode::kCallModule) {
        const ModuleRecord* record = record_of(node);
        const std::string type = type_of(node);
        hidden_.push_back({type.empty() ? *node.target : type, is_torch_module(type),
                           record != nullptr && record->status == ModuleStatus::kFailed, &node, &view});
      } else if (hides_operators(node)) {
        hidden_.push_back({*node.target, !node.model_function, false, &node, &view});
      }
    }
  }

  std::string name_of(const Node& node) const {
    if (node.op == Opcode::kPlaceholder || node.op == Opcode::kOutput || node.op == Opcode::kGetAttr)
      return to_string(node.op);
    if (node.op != Opcode::kCallModule) return *node.target;
    const std::string type = public_alias(type_of(node));
    return type.empty() ? "module " + *node.target : type;
  }

  bool matches(const Node& node, const Pattern& pattern) const {
    switch (node.op) {
      case Opcode::kCallFunction:
      case Opcode::kCallMethod:
        return pattern.matches_target(node.target);
      case Opcode::kCallModule: {
        const std::string type = type_of(node);
        return !type.empty() && pattern.matches_type(type);
      }
      case Opcode::kPlaceholder:
      case Opcode::kOutput:
        return pattern.matches_target(to_string(node.op));
      case Opcode::kGetAttr:
        return false;
    }
    return false;
  }

  std::vector<bool> marks_of(const Pattern& pattern) const {
    std::vector<bool> marks(tree_->size(), false);
    for (Place place = 0; place < tree_->size(); ++place) {
      const ModuleRecord* record = tree_->record(place);
      marks[place] = record != nullptr && !record->type.empty() && pattern.matches_type(record->type);
    }
    return marks;
  }

  // Returns the module whose forward makes the node; for the call of a module, the module around it.
  Place place_of(const Node& node) const {
    const Place place = tree_->find_place(node.scope->module_path);
    return node.op == Opcode::kCallModule ? tree_->parent(place) : place;
  }

  // --- offences ---

  static OffencePlace place_in(const GraphView& view, const Node& node) {
    return {node.scope->module_path, node.name, view.name, {}};
  }

  void add(std::string message, std::string subject, OffencePlace place,
           const std::optional<SourceLocation>& source, bool is_undecided = false) {
    std::string key = std::to_string(rule_) + "\n" + message + "\n" +
                      without_numbers(place.module.value_or("")) + "\n" + without_numbers(place.record) +
                      "\n";
    if (source) key += source->file + ":" + std::to_string(source->line) + ":" + source->text;
    const auto [entry, is_new] = groups_.try_emplace(std::move(key), report_.offences.size());
    if (is_new)
      report_.offences.push_back({rule_, is_undecided, std::move(message), std::move(subject), source, {}});
    report_.offences[entry->second].places.push_back(std::move(place));
  }
  void add_whole(std::string message, bool is_undecided, std::int64_t amount = 1) {
    report_.offences.push_back({rule_, is_undecided, std::move(message), "", {}, {}, amount});
  }
  std::optional<SourceLocation> source_of(Place place) const {
    return sources_[place] == nullptr ? std::nullopt : std::optional(*sources_[place]);
  }

  // --- rules ---

  void failed() {
    for (const ModuleRecord& module : model_.collection->modules) {
      if (module.status != ModuleStatus::kFailed || module.alias_of) continue;
      const bool is_known = module.failure.has_value();
      add(is_known ? module.failure->message : "it failed to trace", public_alias(module.type),
          {module.path, {}, {}, {}}, is_known ? module.failure->source : std::nullopt);
    }
  }

  void faulty(ProgramFaultKind kind) {
    for (const ProgramFault& fault : model_.faults) {
      if (fault.kind != kind) continue;
      OffencePlace place{fault.module, fault.node, fault.graph, fault.record.value_or("")};
      if (fault.record) place.module.reset();
      add(fault.message, fault.subject, std::move(place), fault.source);
    }
  }

  void left(const std::string& rule) {
    for (const BackendFinding& finding : model_.left) {
      if (finding.rule == rule) add(finding.message, finding.subject, finding.place, finding.source);
    }
  }

  void found(SecurityKind kind) {
    for (const SecurityFinding& finding : model_.findings) {
      if (finding.kind != kind) continue;
      const bool is_library = kind == SecurityKind::kLibrary;
      if (is_library && is_registered_by_torch(finding.subject)) continue;
      add(is_library ? finding.subject + " needs a library that has to be loaded first" : finding.message,
          finding.subject, {{}, {}, {}, finding.record}, {});
    }
  }

  const ModelSummary& summary() {
    if (!summary_) summary_ = summarize_model(*model_.collection);
    return *summary_;
  }

  void limited(const Rule& rule) {
    const ModelSummary& costs = summary();
    if (rule.kind == RuleKind::kMaxParameters) return decide(rule, SymInt(costs.parameters.elements), "");
    const auto& size = rule.kind == RuleKind::kMaxMacs          ? costs.macs
                       : rule.kind == RuleKind::kMaxActivations ? costs.activation_bytes
                                                                : costs.peak_bytes;
    decide(rule, size, missing(costs));
  }

  // Returns the unknown parts of the costs: "3 calls of unknown sizes"; empty when there are none.
  std::string missing(const ModelSummary& costs) const {
    std::vector<std::string> parts;
    const auto calls = [](std::int64_t count) {
      return with_separators(count) + (count == 1 ? " call" : " calls");
    };
    const GraphCollection& collection = *model_.collection;
    const bool may_be_described = collection.model.is_torchscript() && !collection.graphs.empty() &&
                                  lacks_sizes(collection.graphs.front().graph);
    if (costs.unsized > 0)
      parts.push_back(calls(costs.unsized) + " of unknown sizes" +
                      (may_be_described ? " (--input gives shapes)" : ""));
    std::int64_t unknown = 0;
    for (const auto& [name, count] : costs.unknown) add_saturated(unknown, count);
    if (unknown > 0)
      parts.push_back(calls(unknown) + " of unknown cost, of " + costs.unknown.begin()->first +
                      (costs.unknown.size() > 1 ? " and others" : ""));
    const auto closed = std::ranges::count_if(costs.failed, &ModelSummary::FailedModule::is_closed);
    if (closed > 0)
      parts.push_back(with_separators(closed) +
                      (closed == 1 ? " module that failed" : " modules that failed"));
    return joined(parts);
  }

  void decide(const Rule& rule, const std::optional<SymInt>& size, const std::string& missing) {
    const std::string limit = ", the limit is " + size_text(rule.limit, rule.kind);
    const std::string what = std::string(quantity_of(rule.kind)) + ": ";
    const auto undecided = [&](const std::string& why, std::int64_t amount = 1) {
      add_whole("cannot tell: " + why + limit, true, amount);
    };
    const std::string rest = missing.empty() ? "" : ", without " + missing;
    if (!size) return undecided(what + (missing.empty() ? "not known" : missing));
    if (size->is_number()) {
      if (*size->number() > rule.limit)
        return add_whole(
            what + (missing.empty() ? "" : "at least ") + size_text(*size->number(), rule.kind) + limit,
            false, *size->number());
      if (!missing.empty()) undecided(what + size_text(*size->number(), rule.kind) + rest, *size->number());
      return;
    }
    const std::string ranges = ranges_text(*size, model_.dimensions);
    const bool is_bytes = rule.kind == RuleKind::kMaxActivations || rule.kind == RuleKind::kMaxPeak;
    const std::string text =
        what + readable_size(*size, is_bytes ? bytes_text : with_separators) + " (" + ranges + ")";
    const auto fits = model_.dimensions.decide(Relation::kLessEqual, *size, SymInt(rule.limit));
    const Range bounds = model_.dimensions.bounds(*size);
    const std::int64_t amount = bounds.high.value_or(1);
    if (fits == false) return add_whole(text + ", which is more for all sizes" + limit, false, amount);
    if (fits != true && bounds.high && *bounds.high > rule.limit)
      return add_whole(text + ", up to " + size_text(*bounds.high, rule.kind) + limit, false, amount);
    if (fits != true)
      return undecided(text + rest + " has no largest value (--dim gives a dimension a range)");
    if (!missing.empty()) undecided(text + rest);
  }

  // Adds one undecided offence for each type of leaf, failed module or function that may hide the subject.
  template <class MayHide>
  void add_hidden(const MayHide& may_hide) {
    std::unordered_map<std::string, std::size_t> offences;  // by message
    for (const HiddenCall& call : hidden_) {
      if (!may_hide(call)) continue;
      const std::string what = public_alias(call.what);
      std::string message = "cannot tell which operators " + what + " calls: it ";
      const bool is_function = call.node->op == Opcode::kCallFunction;
      message += call.is_failed                  ? "failed to trace"
                 : is_function && !call.is_torch ? "is one call"
                 : is_function                   ? "is one call (--no-wrap '**' traces into it)"
                 : call.is_torch                 ? "is a leaf (--flat traces into it)"
                                                 : "is a leaf";
      const auto [entry, is_new] = offences.try_emplace(message, report_.offences.size());
      if (is_new) report_.offences.push_back({rule_, true, std::move(message), what, {}, {}});
      report_.offences[entry->second].places.push_back(place_in(*call.view, *call.node));
    }
  }
  void add_hidden(const Pattern& subject) {
    const bool names_type = has_type(subject);
    add_hidden([&](const HiddenCall& call) {
      if (matches(*call.node, subject)) return false;
      if (call.is_torch) return subject.matches_registered();
      return !names_type && !subject.text().starts_with("torch.");
    });
  }
  bool has_type(const Pattern& pattern) const {
    return std::ranges::any_of(model_.collection->modules, [&](const ModuleRecord& module) {
      return !module.type.empty() && pattern.matches_type(module.type);
    });
  }

  void only(const std::vector<Pattern>& operators) {
    const auto is_listed = [&](const Node& node) {
      return std::ranges::any_of(operators, [&](const Pattern& one) { return matches(node, one); });
    };
    for (const GraphView& view : views_) {
      const Graph& graph = view.graph->graph;
      for (NodeId id = graph.first(); id.valid(); id = graph.next(id)) {
        const Node& node = graph.node(id);
        // A getitem that unpacks several results does not count as an operator.
        if (!is_call(node) || node.op == Opcode::kCallModule || is_getitem(node) || hides_operators(node))
          continue;
        if (!is_listed(node))
          add(*node.target + " is not among the allowed operators", node.target, place_in(view, node),
              node.source);
      }
    }
    add_hidden([&](const HiddenCall& call) { return !is_listed(*call.node); });
  }

  void required(const Requirement& rule) {
    switch (rule.relation) {
      case Requirement::Relation::kNone:
        for_each_subject(rule.subject, [&](const std::string& name, const OffencePlace& place,
                                           const std::optional<SourceLocation>& source,
                                           Place) { add(name + " is not allowed", name, place, source); });
        break;
      case Requirement::Relation::kWithin:
        within(rule);
        break;
      case Requirement::Relation::kAtMost:
      case Requirement::Relation::kAtLeast:
        return counted(rule);
      case Requirement::Relation::kHasConstant:
        given_constants(rule);
        break;
      case Requirement::Relation::kFollowedBy:
      case Requirement::Relation::kPrecededBy:
        neighbours(rule);
    }
    add_hidden(rule.subject);
  }

  // Calls visit(name, place, source, module around it) for each call of a matching operator, and for each
  // matching module that runs.
  template <class Visit>
  void for_each_subject(const Pattern& subject, const Visit& visit) const {
    const std::vector<bool> marks = marks_of(subject);
    for (Place place = 0; place < tree_->size(); ++place) {
      if (!marks[place] || !runs_[place]) continue;
      const ModuleRecord& record = *tree_->record(place);
      visit(public_alias(record.type), OffencePlace{record.path, {}, {}, {}}, source_of(place),
            tree_->parent(place));
    }
    for (const GraphView& view : views_) {
      const Graph& graph = view.graph->graph;
      for (NodeId id = graph.first(); id.valid(); id = graph.next(id)) {
        const Node& node = graph.node(id);
        if (!is_call(node) || !matches(node, subject)) continue;
        if (node.op == Opcode::kCallModule && record_of(node) != nullptr) continue;  // visited above
        visit(name_of(node), place_in(view, node), *node.source, place_of(node));
      }
    }
  }

  void within(const Requirement& rule) {
    std::vector<bool> marks;
    if (rule.object) {
      marks = marks_of(*rule.object);
    } else {
      marks.assign(tree_->size(), false);
      for (Place place = 0; place < tree_->size(); ++place) {
        const ModuleRecord* record = tree_->record(place);
        marks[place] = record != nullptr && rule.path->matches(record->path);
      }
    }
    const std::string object = rule.object ? rule.object->text() : "@" + rule.path->text();
    for_each_subject(rule.subject, [&](const std::string& name, const OffencePlace& place,
                                       const std::optional<SourceLocation>& source, Place around) {
      if (tree_->is_within(around, marks) != rule.is_negated) return;
      add(name + (rule.is_negated ? " is within " : " is not within ") + object, name, place, source);
    });
  }

  void counted(const Requirement& rule) {
    std::int64_t count = 0;
    for_each_subject(rule.subject, [&](const auto&...) { ++count; });
    const bool is_most = rule.relation == Requirement::Relation::kAtMost;
    const std::string found = count == 1 ? "there is 1 " : "there are " + with_separators(count) + " ";
    const std::string message = found + rule.subject.text() +
                                (is_most ? ", expected at most " : ", expected at least ") +
                                with_separators(rule.count);
    if (is_most && count > rule.count) {
      return for_each_subject(rule.subject, [&](const std::string&, const OffencePlace& place,
                                                const std::optional<SourceLocation>& source,
                                                Place) { add(message, rule.subject.text(), place, source); });
    }
    if (!is_most && count >= rule.count) return;
    const std::size_t before = report_.offences.size();
    add_hidden(rule.subject);  // hidden calls may decide the rule
    if (!is_most && report_.offences.size() == before) add_whole(message, false, rule.count - count);
  }

  // Checks has-constant.  A parameter, a number, and what is computed from these alone is constant.
  void given_constants(const Requirement& rule) {
    for (const GraphView& view : views_) {
      const Graph& graph = view.graph->graph;
      std::unordered_set<std::uint32_t> constants;  // nodes
      for (NodeId id = graph.first(); id.valid(); id = graph.next(id)) {
        const Node& node = graph.node(id);
        std::size_t inputs = 0, computed = 0;
        for_each_input(node, [&](NodeId input) {
          ++inputs;
          computed += constants.contains(input.index) ? 0 : 1;
        });
        if (node.op == Opcode::kGetAttr || (is_call(node) && inputs > 0 && computed == 0))
          constants.insert(id.index);
        if (node.op != Opcode::kCallFunction || !matches(node, rule.subject)) continue;
        const auto& [name, argument] = argument_of(node, rule.arguments);
        bool is_constant = argument != nullptr && !argument->is<Argument::None>();
        if (is_constant)
          for_each_value(*argument, [&](const Argument& value) {
            const auto* part = value.get_if<NodeId>();
            is_constant = is_constant && (part == nullptr || constants.contains(part->index));
          });
        if (is_constant != rule.is_negated) continue;
        add(name_of(node) +
                (is_constant           ? " has a constant "
                 : argument == nullptr ? " has no "
                                       : " computes its ") +
                name,
            name_of(node), place_in(view, node), node.source);
      }
    }
  }

  // Returns the argument of one of these names that the operator has, or else the first name; null when it is
  // not given.
  static std::pair<std::string, const Argument*> argument_of(const Node& node,
                                                             const std::vector<std::string>& names) {
    const TargetParts target = target_parts(node);
    const Operator* op = target.kind == TargetKind::kOperator ? find_operator(target) : nullptr;
    for (const std::string& name : names) {
      for (const auto& [key, value] : node.kwargs) {
        if (key == name) return {name, &value};
      }
      const auto place = op == nullptr ? std::nullopt : op->schema().find_argument(name);
      if (place) return {name, *place < node.args.size() ? &node.args[*place] : nullptr};
    }
    return {names.front(), nullptr};
  }

  // --- neighbours ---

  // A value that goes from one node to another.  For nodes outside of a module, a value that leaves the
  // module is the module's value.
  struct Edge {
    const Node* from = nullptr;
    const Node* to = nullptr;
  };

  // Calls visit(Edge) for every use of a value, except parameters, constants and numbers.  A getitem is
  // passed through: a node that takes the part takes the whole.
  template <class Visit>
  static void for_each_edge(const Graph& graph, const Visit& visit) {
    std::unordered_map<std::uint32_t, NodeId> bases;   // by getitem
    std::unordered_map<std::uint32_t, NodeId> takers;  // the last user, by value
    takers.reserve(graph.size());
    for (NodeId id = graph.first(); id.valid(); id = graph.next(id)) {
      const Node& node = graph.node(id);
      if (is_getitem(node)) {
        const NodeId base = base_of(node);
        if (base.valid() && graph.contains(base)) {
          const auto known = bases.find(base.index);
          bases.emplace(id.index, known == bases.end() ? base : known->second);
          continue;
        }
      }
      for_each_input(node, [&](NodeId input) {
        if (!graph.contains(input)) return;
        const auto base = bases.find(input.index);
        const Node& taken = graph.node(input);
        const Node& from = base == bases.end() ? taken : graph.node(base->second);
        if (from.op == Opcode::kGetAttr || is_plain_number(taken)) return;
        if (std::exchange(takers[from.id.index], id) == id) return;
        visit(Edge{&from, &node});
      });
    }
  }

  // Calls visit for the marked modules that a value leaves on its way from `from` to `to`, the outermost
  // last.
  template <class Visit>
  void for_each_left(const Node& from, const Node& to, const std::vector<bool>& marks,
                     const Visit& visit) const {
    const Place start = place_of(from);
    const Place end = place_of(to);
    Place common = tree_->common(start, end);
    const bool is_other_call = start == end && start != kNone && from.op != Opcode::kCallModule &&
                               to.op != Opcode::kCallModule && *from.scope != *to.scope;
    if (is_other_call) common = tree_->parent(start);
    for (Place place = start; place != common && place != kNone; place = tree_->parent(place)) {
      if (marks[place]) visit(place);
    }
  }

  // Returns the node's name, with its module if the other node is outside of that.
  std::string name_beside(const Node& node, const Node& other) const {
    const Place place = place_of(node);
    const bool is_inside = place != kNone && tree_->common(place, place_of(other)) != place;
    const ModuleRecord* record = is_inside ? tree_->record(place) : nullptr;
    if (record == nullptr || record->type.empty()) return name_of(node);
    return name_of(node) + " of " + public_alias(record->type);
  }

  // Checks followed-by and preceded-by: one end of an edge is a subject, and the other end must be an object.
  void neighbours(const Requirement& rule) {
    const bool follows = rule.relation == Requirement::Relation::kFollowedBy;
    const std::vector<bool> subjects = marks_of(rule.subject);
    const std::vector<bool> objects = marks_of(*rule.object);
    const bool any_subject = std::ranges::find(subjects, true) != subjects.end();
    const bool any_object = std::ranges::find(objects, true) != objects.end();
    for (const GraphView& view : views_) {
      std::unordered_set<std::uint32_t> nodes_with_edges;
      std::unordered_set<Place> places_with_edges;
      for_each_edge(view.graph->graph, [&](const Edge& edge) {
        const Node& subject = follows ? *edge.from : *edge.to;
        const Node& object = follows ? *edge.to : *edge.from;
        std::optional<bool> is_right;
        const auto judge = [&](const std::string& name, const OffencePlace& place) {
          if (!is_right) {
            is_right = matches(object, *rule.object);
            if (any_object && !*is_right)
              for_each_left(object, subject, objects, [&](Place) { is_right = true; });
          }
          if (*is_right != rule.is_negated) return;
          add(name + (follows ? " is followed by " : " is preceded by ") + name_beside(object, subject) +
                  (rule.is_negated ? "" : ", not by " + rule.object->text()),
              name, place, subject.source);
        };
        if (is_call(subject) && matches(subject, rule.subject)) {
          nodes_with_edges.insert(subject.id.index);
          judge(name_of(subject), place_in(view, subject));
        }
        if (!any_subject) return;
        for_each_left(subject, object, subjects, [&](Place place) {
          places_with_edges.insert(place);
          const ModuleRecord& record = *tree_->record(place);
          judge(public_alias(record.type), {record.path, subject.name, view.name, {}});
        });
      });
      if (!rule.is_negated) add_alone(rule, view, subjects, nodes_with_edges, places_with_edges);
    }
    for (Place place = 0; place < tree_->size(); ++place) {
      const ModuleRecord* record = tree_->record(place);
      if (!subjects[place] || !runs_[place] || record->status != ModuleStatus::kUnvisited) continue;
      const std::string name = public_alias(record->type);
      add("cannot tell the neighbours of " + name + ": it is inside of a leaf or a failed module", name,
          {record->path, {}, {}, {}}, {}, true);
    }
  }

  // Adds offences for subjects without an edge.
  void add_alone(const Requirement& rule, const GraphView& view, const std::vector<bool>& subjects,
                 const std::unordered_set<std::uint32_t>& nodes_with_edges,
                 std::unordered_set<Place> places_with_edges) {
    const char* what = rule.relation == Requirement::Relation::kFollowedBy ? " is followed by nothing"
                                                                           : " is preceded by nothing";
    const bool any_subject = std::ranges::find(subjects, true) != subjects.end();
    const Graph& graph = view.graph->graph;
    for (NodeId id = graph.first(); id.valid(); id = graph.next(id)) {
      const Node& node = graph.node(id);
      if (is_call(node) && !nodes_with_edges.contains(id.index) && matches(node, rule.subject))
        add(name_of(node) + what, name_of(node), place_in(view, node), node.source);
      for (Place place = any_subject ? place_of(node) : kNone; place != kNone; place = tree_->parent(place)) {
        const bool is_own =
            tree_->record(place) != nullptr && tree_->record(place)->path == view.graph->module;
        if (is_own) break;  // a graph does not show the neighbours of its own module
        if (!subjects[place] || !places_with_edges.insert(place).second) continue;
        const ModuleRecord& record = *tree_->record(place);
        add(public_alias(record.type) + what, public_alias(record.type),
            {record.path, node.name, view.name, {}}, node.source);
      }
    }
  }

  const CheckedModel& model_;
  CheckReport report_;
  std::size_t rule_ = 0;
  std::unordered_map<std::string, std::size_t> groups_;  // indices of offences
  std::optional<ModulePlaces> tree_;
  std::vector<bool> runs_;                      // by place
  std::vector<const SourceLocation*> sources_;  // by place: the source of the first node in it
  std::vector<GraphView> views_;
  std::vector<HiddenCall> hidden_;
  std::optional<ModelSummary> summary_;
};

void add_guard(const Expression& guard, ShapeEnv& dimensions) {
  if (guard.kind() == Expression::Kind::kAnd) {
    for (const Expression& part : guard.parts()) add_guard(part, dimensions);
    return;
  }
  const auto relation = guard.relation();
  if (relation) dimensions.assume(*relation, *guard.parts()[0].size(), *guard.parts()[1].size());
}

}  // namespace

std::size_t CheckReport::count(std::size_t rule) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      offences, [&](const Offence& offence) { return offence.rule == rule && !offence.is_known; }));
}

std::size_t CheckReport::count_known(std::size_t rule) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      offences, [&](const Offence& offence) { return offence.rule == rule && offence.is_known; }));
}

std::size_t CheckReport::count_known() const {
  return static_cast<std::size_t>(std::ranges::count(offences, true, &Offence::is_known));
}

std::size_t CheckReport::count(Severity severity) const {
  return static_cast<std::size_t>(std::ranges::count_if(offences, [&](const Offence& offence) {
    return rules[offence.rule].severity == severity && !offence.is_known;
  }));
}

std::size_t CheckReports::count(Severity severity) const {
  std::size_t count = 0;
  for (const CheckReport& report : models) count += report.count(severity);
  return count;
}

std::size_t CheckReports::count_known() const {
  std::size_t count = 0;
  for (const CheckReport& report : models) count += report.count_known();
  return count;
}

bool CheckReports::has_baseline() const { return std::ranges::any_of(models, &CheckReport::has_baseline); }

void add_guards(const GraphCollection& collection, ShapeEnv& dimensions) {
  constexpr std::size_t kMostGuards = 1'000;  // each one makes the next ones slower
  if (collection.graphs.empty()) return;
  const InputSizes inputs(collection.graphs.front());
  std::size_t count = 0;
  for (const Guard& guard : collection.graphs.front().guards) {
    if (count++ == kMostGuards) return;
    add_guard(inputs.over_dimensions(guard.expr), dimensions);
  }
}

CheckReport check(std::vector<Rule> rules, const CheckedModel& model) {
  return Checker(std::move(rules), model).run();
}

}  // namespace fxtrace::internal
