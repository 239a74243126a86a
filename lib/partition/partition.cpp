#include "partition/partition.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "analysis/alias_regions.h"
#include "analysis/effects.h"
#include "costs/term_sums.h"
#include "graph/analysis/call_order.h"
#include "graph/each_graph.h"
#include "operators/names/function_traits.h"
#include "operators/names/modules.h"
#include "opinfo/batching.h"
#include "partition/runs.h"
#include "rules/module_places.h"
#include "shapes/scalar_type.h"
#include "summaries/model_summary.h"
#include "summaries/parameter_sizes.h"
#include "support/error.h"
#include "support/text/words.h"

namespace fxtrace {
namespace {

using Place = ModulePlaces::Place;

constexpr const char* kInCircle = "would close a circle";

// A sum of sizes; nothing when one is unknown or the sum is too large.
class Total {
 public:
  void add(const std::optional<SymInt>& size) {
    if (!size || !is_known_) {
      is_known_ = false;
      return;
    }
    try {
      sums_.add(sum_, *size);
    } catch (const SymbolicError&) {
      is_known_ = false;
    }
  }
  std::optional<SymInt> value() const { return is_known_ ? std::optional(sums_.size(sum_)) : std::nullopt; }

 private:
  TermSums sums_;
  TermSums::Sum sum_;
  bool is_known_ = true;
};

bool is_call(const Node& node) {
  return node.op == Opcode::kCallFunction || node.op == Opcode::kCallMethod || node.op == Opcode::kCallModule;
}

// Returns the bytes of a tensor; 0 for numbers, nothing when they are unknown.
std::optional<SymInt> bytes_of(const Meta& meta) {
  const ValueKind kind = meta.kind();
  if (kind != ValueKind::kTensor) return kind == ValueKind::kOther ? std::nullopt : std::optional(SymInt(0));
  const auto sizes = meta.sizes();
  if (!sizes || !meta.dtype) return std::nullopt;
  SymInt bytes = item_size(*meta.dtype);
  try {
    for (const SymInt& size : *sizes) bytes = bytes * size;
  } catch (const SymbolicError&) {
    return std::nullopt;
  }
  return ceildiv(bytes, elements_in_byte(*meta.dtype));
}

// Returns whether the call takes an item of a list, tuple or dict.
bool unpacks(const ModuleGraph& graph, const Node& node) {
  const NodeId* from = item_index(node) ? node.args[0].get_if<NodeId>() : nullptr;
  return from != nullptr && graph.graph.node(*from).meta->kind() == ValueKind::kOther;
}

// A pattern over paths of modules, and without "@" in front over types and operators too.
class NamePatterns {
 public:
  NamePatterns(const std::vector<std::string>& texts, const GraphCollection& collection,
               const Pattern::Names& names, std::vector<std::string>& unmatched) {
    for (const std::string& text : texts) {
      const bool is_path = text.starts_with("@");
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
  bool is_empty() const { return entries_.empty(); }
  bool matches_module(const ModuleRecord& module) const {
    return std::ranges::any_of(entries_, [&](const Entry& entry) {
      return (!module.path.empty() && entry.path.matches(module.path)) ||
             (entry.names && !module.type.empty() && entry.names->matches_type(module.type));
    });
  }
  bool matches_target(const std::string& target) const {
    return std::ranges::any_of(
        entries_, [&](const Entry& entry) { return entry.names && entry.names->matches_target(target); });
  }

 private:
  struct Entry {
    NamePattern path;
    std::optional<Pattern> names = std::nullopt;
  };
  std::vector<Entry> entries_;
};

// What is known of one call before it has an owner.
struct Verdict {
  std::uint64_t takers = 0;  // a bit for each set that takes it
  std::string reason;        // why none does
  bool is_free = false;      // computes sizes or asserts: anybody takes it
};

// The state that all graphs of a collection share.
class Partitioner {
 public:
  Partitioner(const GraphCollection& collection, PartitionRequest request)
      : collection_(collection),
        request_(std::move(request)),
        semantics_(collection),
        tree_(collection),
        names_(names_of(collection)),
        excluded_(request_.exclude, collection, names_, result_.unmatched),
        together_(request_.keep_together, collection, names_, result_.unmatched),
        counts_(tree_.size()) {
    if (request_.sets.empty() || request_.sets.size() > kMostSets)
      throw usage_error("expected from 1 to " + std::to_string(kMostSets) + " sets of operators");
    for (OperatorSet& set : request_.sets) {
      matchers_.emplace_back(set, names_);
      const auto& unknown = matchers_.back().unknown();
      if (find_shipped_set(set.name) == nullptr)
        result_.unmatched.insert(result_.unmatched.end(), unknown.begin(), unknown.end());
    }
    for (const ParameterRecord& parameter : collection.parameters)
      parameters_.emplace(parameter.name, &parameter);
    // By place: the sets that take the module as a whole, and whether it is kept together or excluded.
    const std::size_t places = tree_.size();
    module_takers_.assign(places, 0);
    is_together_.assign(places, false);
    is_excluded_.assign(places, false);
    for (Place place = 0; place < places; ++place) {
      const ModuleRecord* record = tree_.record(place);
      if (record == nullptr) continue;
      for (std::size_t set = 0; set < matchers_.size(); ++set) {
        if (matchers_[set].takes_module(*record)) module_takers_[place] |= std::uint64_t{1} << set;
      }
      is_together_[place] = together_.matches_module(*record);
      is_excluded_[place] = excluded_.matches_module(*record);
    }
  }

  Partition run();

 private:
  friend class GraphPartitioner;

  static Pattern::Names names_of(const GraphCollection& collection) {
    std::set<std::string> targets;
    Pattern::Names names;
    for (const ModuleGraph& top : collection.graphs) {
      for_each_graph(top, [&](const ModuleGraph& graph) {
        for (NodeId id = graph.graph.first(); id.valid(); id = graph.graph.next(id)) {
          const Node& node = graph.graph.node(id);
          if (is_call(node) && node.op != Opcode::kCallModule) targets.insert(*node.target);
        }
      });
    }
    names.targets.assign(targets.begin(), targets.end());
    std::set<std::string> types;
    for (const ModuleRecord& module : collection.modules) types.insert(module.type);
    types.erase("");
    names.types.assign(types.begin(), types.end());
    return names;
  }

  Place place_of(const Node& node) const {
    return tree_.find_place(node.op == Opcode::kCallModule ? called_module(node) : node.scope->module_path);
  }
  // Returns the innermost place from `place` outwards for which the mark is set; kNone when there is none.
  template <class Marks>
  Place marked(Place place, const Marks& marks) const {
    while (place != ModulePlaces::kNone && !marks[place]) place = tree_.parent(place);
    return place;
  }

  Verdict judge(const ModuleGraph& graph, const Node& node, const Effects& effects);
  std::uint64_t takers_of_bodies(const ModuleGraph& graph, const Node& node, std::uint64_t takers,
                                 std::string& reason);
  void add(const ModuleGraph& graph, const std::string& name, bool is_root);
  void add_left(const std::string& graph, const Node& node, const std::string& reason);
  std::int64_t bytes_of_attribute(const ModuleGraph& graph, const std::string& name) const;
  void count(const Node& node, bool is_taken);
  void count_body(const ModuleGraph& graph);
  void fold_reasons();

  const GraphCollection& collection_;
  PartitionRequest request_;
  Partition result_;
  Semantics semantics_;
  ModulePlaces tree_;
  Pattern::Names names_;
  NamePatterns excluded_, together_;
  std::vector<SetMatcher> matchers_;
  std::unordered_map<std::string_view, const ParameterRecord*> parameters_;
  std::vector<std::uint64_t> module_takers_;
  std::vector<bool> is_together_, is_excluded_;

  struct Count {
    std::int64_t all = 0, left = 0;
    std::size_t reason = SIZE_MAX;  // of the calls that are left
    bool has_several = false;       // reasons
  };
  std::vector<Count> counts_;  // by place, the calls of the module itself
  std::map<std::string, Count> operators_;
  std::map<std::pair<std::string, std::string>, std::size_t> reasons_;  // by target and text
  std::vector<Total> reason_macs_;
  Total macs_, taken_macs_, cut_bytes_;
};

// The parts of one graph.
class GraphPartitioner {
 public:
  GraphPartitioner(Partitioner& whole, const ModuleGraph& graph, std::string name)
      : whole_(whole),
        graph_(graph),
        name_(std::move(name)),
        order_(graph.graph.order()),
        position_(graph.graph.id_count()),
        verdicts_(order_.size()),
        tasks_(order_.size()) {
    for (std::size_t i = 0; i < order_.size(); ++i) position_[order_[i].index] = static_cast<Position>(i);
    effects_.reserve(order_.size());
    for (const NodeId id : order_) effects_.push_back(whole.semantics_.effects(graph, node(id)));
  }

  // Returns the runs, with a region or rest for each.
  std::vector<Part> run() {
    for (Position i = 0; i < order_.size(); ++i) {
      if (is_call(at(i))) verdicts_[i] = whole_.judge(graph_, at(i), effects_[i]);
    }
    add_needs();
    glue_items();
    glue_modes();
    glue_modules();
    choose_owners();
    runs_ = few_runs(tasks_);
    if (!runs_.circle.empty()) {
      // Modules that cannot run as a whole are left, call by call.
      for (const Position i : runs_.circle) dissolve(i);
      runs_ = few_runs(tasks_);
    }
    std::vector<Part> parts = make_parts();
    if (drop_small(parts)) parts = make_parts();
    return parts;
  }

  // Returns why the call is in no region; nothing when it is in one or in no part at all.
  const std::string* find_reason(NodeId id) const {
    const Position i = position_[id.index];
    if (runs_.run[i] == Runs::kNone || runs_.owner[runs_.run[i]] != kNobody) return nullptr;
    return &verdicts_[i].reason;
  }
  const Verdict& verdict(NodeId id) const { return verdicts_[position_[id.index]]; }
  std::optional<std::size_t> part_of(NodeId id) const {
    const std::uint32_t run = runs_.run[position_[id.index]];
    return run == Runs::kNone ? std::nullopt : std::optional<std::size_t>(run);
  }

 private:
  using Position = std::uint32_t;
  static constexpr Position kNone = UINT32_MAX;

  const Node& node(NodeId id) const { return graph_.graph.node(id); }
  const Node& at(Position i) const { return node(order_[i]); }

  // --- what needs what ---

  void need(Position from, Position to) {
    if (from != kNone && from != to) tasks_.needs.emplace_back(from, to);
  }

  void add_needs() {
    AliasRegions memory(graph_, whole_.semantics_);
    struct Access {
      Position write = kNone;
      std::vector<Position> reads;
    };
    std::unordered_map<std::size_t, Access> accesses;  // by region of memory that is written
    Position random = kNone, side_effect = kNone, mode = kNone;
    for (Position i = 0; i < order_.size(); ++i) {
      const Node& node = at(i);
      if (!is_call(node)) continue;
      const Effects& effects = effects_[i];
      for_each_input(node, [&](NodeId input) {
        const Position from = position_[input.index];
        if (!is_call(at(from))) return;
        need(from, i);
        tasks_.values.emplace_back(from, i);
      });
      std::set<std::size_t> written;
      for (const NodeId input : effects.written) {
        if (memory.has_memory(input)) written.insert(memory.region_number(input));
      }
      for (const std::size_t region : written) {
        Access& access = accesses[region];
        need(access.write, i);
        for (const Position read : access.reads) need(read, i);
        access = {i, {}};
      }
      for_each_input(node, [&](NodeId input) {
        if (!memory.has_memory(input) || !memory.is_written(input)) return;
        const std::size_t region = memory.region_number(input);
        if (written.contains(region)) return;
        Access& access = accesses[region];
        need(access.write, i);
        access.reads.push_back(i);
      });
      if (effects.is_random || effects.is_unknown) need(std::exchange(random, i), i);
      if (effects.has_side_effect || effects.is_unknown || effects.writes_parameters)
        need(std::exchange(side_effect, i), i);
      need(mode, i);
      if (effects.switches) {
        for (Position earlier = mode == kNone ? 0 : mode; earlier < i; ++earlier) {
          if (is_call(at(earlier))) need(earlier, i);
        }
        mode = i;
      }
    }
  }

  // --- what stays together ---

  Position find(Position i) {
    while (tasks_.unit[i] != i) i = tasks_.unit[i] = tasks_.unit[tasks_.unit[i]];
    return i;
  }
  void glue(Position a, Position b) {
    a = find(a);
    b = find(b);
    if (a != b) tasks_.unit[std::max(a, b)] = std::min(a, b);
  }

  void glue_items() {
    for (Position i = 0; i < order_.size(); ++i) {
      if (!item_index(at(i))) continue;
      const auto* from = at(i).args[0].get_if<NodeId>();
      if (from == nullptr || !is_call(node(*from))) continue;
      verdicts_[i].is_free = true;
      glue(position_[from->index], i);
    }
  }

  // Glues all of a torch.vmap, and of a region of autocast or gradients.
  void glue_modes() {
    std::vector<Position> open;
    const auto close = [&](Position end) {
      if (open.empty()) return;
      for (Position i = open.back(); i < end; ++i) {
        if (is_call(at(i))) glue(i, end);
      }
      open.pop_back();
    };
    for (Position i = 0; i < order_.size(); ++i) {
      if (at(i).op != Opcode::kCallFunction || at(i).model_function) continue;
      const FunctionTraits traits = find_python_function(*at(i).target).traits;
      const VmapFunction vmap = vmap_function(*at(i).target);
      if (vmap == VmapFunction::kOpen || (traits & function_traits::kOpensRegion) != 0) open.push_back(i);
      if (vmap == VmapFunction::kClose || (traits & function_traits::kClosesRegion) != 0) close(i);
    }
  }

  // Glues the calls of modules that are taken as a whole or not at all, with what is between them.
  void glue_modules() {
    std::vector<bool> is_whole(whole_.tree_.size());
    bool has_any = false;
    for (Place place = 0; place < is_whole.size(); ++place) {
      is_whole[place] = whole_.is_together_[place] || whole_.module_takers_[place] != 0;
      has_any = has_any || is_whole[place];
    }
    if (!has_any) return;
    std::optional<CallOrder> calls;
    if (graph_.execution) calls.emplace(*graph_.execution);
    // The positions of each call of each such module; a module inside of another goes with that.
    std::map<std::pair<Place, std::size_t>, std::vector<Position>> groups;
    for (Position i = 0; i < order_.size(); ++i) {
      if (!is_call(at(i))) continue;
      for (Place place = whole_.marked(whole_.place_of(at(i)), is_whole); place != ModulePlaces::kNone;
           place = whole_.marked(whole_.tree_.parent(place), is_whole))
        groups[{place, call_around(calls, at(i), place)}].push_back(i);
    }
    groups_of_.assign(order_.size(), ModulePlaces::kNone);
    for (const auto& [key, positions] : groups) {
      close(positions);
      for (const Position i : positions) {
        glue(positions.front(), i);
        if (groups_of_[i] == ModulePlaces::kNone) groups_of_[i] = key.first;
      }
      if (const std::uint64_t takers = whole_.module_takers_[key.first]; takers != 0) {
        for (const Position i : positions) verdicts_[i].takers |= takers;
      }
    }
  }

  // Returns the call of the module around the node, as a number.
  std::size_t call_around(const std::optional<CallOrder>& calls, const Node& node, Place place) const {
    const ModuleRecord* record = whole_.tree_.record(place);
    if (!calls || record == nullptr) return 0;
    const auto* all = calls->find_calls(record->path);
    const auto inner = calls->find_calls(*node.scope);
    if (all == nullptr || !inner) return 0;
    return static_cast<std::size_t>(std::ranges::upper_bound(*all, *inner) - all->begin());
  }

  // Adds what is on a way from one of the positions to another.
  void close(const std::vector<Position>& positions) {
    const Position first = positions.front();
    const Position last = positions.back();
    if (last - first + 1 == positions.size()) return;
    std::vector<bool> is_behind(last - first + 1), is_before(last - first + 1);
    for (const Position i : positions) is_behind[i - first] = is_before[i - first] = true;
    const auto is_between = [&](Position i) { return first <= i && i <= last; };
    for (Position i = first; i <= last; ++i) {
      if (!is_call(at(i))) continue;
      for_each_input(at(i), [&](NodeId input) {
        const Position from = position_[input.index];
        if (is_between(from) && is_behind[from - first]) is_behind[i - first] = true;
      });
    }
    for (Position i = last + 1; i-- > first;) {
      if (!is_before[i - first]) continue;
      for_each_input(at(i), [&](NodeId input) {
        const Position from = position_[input.index];
        if (is_between(from)) is_before[from - first] = true;
      });
    }
    for (Position i = first; i <= last; ++i) {
      if (is_behind[i - first] && is_before[i - first] && is_call(at(i))) glue(first, i);
    }
  }

  // Takes a unit apart: its calls are left.
  void dissolve(Position i) {
    if (find(i) == i && !is_glued_[i]) return;
    if (tasks_.owner[i] == kNotRun) return;
    if (!verdicts_[i].is_free) {
      verdicts_[i].reason = kInCircle;
      tasks_.owner[i] = kNobody;
    }
    // A getitem stays with its call.
    const auto* from = item_index(at(i)) ? at(i).args[0].get_if<NodeId>() : nullptr;
    tasks_.unit[i] = from != nullptr && is_call(node(*from)) ? tasks_.unit[position_[from->index]] : i;
  }

  void choose_owners() {
    is_glued_.assign(order_.size(), false);
    std::vector<std::uint64_t> takers(order_.size(), ~std::uint64_t{0});
    std::vector<Position> refused(order_.size(), kNone);  // by unit: the first call that no set takes with it
    for (Position i = 0; i < order_.size(); ++i) {
      if (!is_call(at(i))) continue;
      const Position unit = tasks_.unit[i] = find(i);
      is_glued_[unit] = is_glued_[unit] || unit != i;
      if (verdicts_[i].is_free) continue;
      takers[unit] &= verdicts_[i].takers;
      if (takers[unit] == 0 && refused[unit] == kNone) refused[unit] = i;
    }
    for (Position i = 0; i < order_.size(); ++i) {
      if (!is_call(at(i))) continue;
      const Position unit = tasks_.unit[i];
      is_glued_[i] = is_glued_[unit];
      if (verdicts_[i].is_free) {
        tasks_.owner[i] = kAnybody;
      } else if (takers[unit] != 0) {
        tasks_.owner[i] = std::countr_zero(takers[unit]);
      } else {
        tasks_.owner[i] = kNobody;
        if (verdicts_[i].takers != 0) verdicts_[i].reason = reason_together(refused[unit]);
      }
    }
  }

  // Returns the reason of a call that is left since another one of its unit is.
  std::string reason_together(Position refused) const {
    const bool is_module = !groups_of_.empty() && groups_of_[refused] != ModulePlaces::kNone;
    const ModuleRecord* record = is_module ? whole_.tree_.record(groups_of_[refused]) : nullptr;
    const std::string what = record == nullptr ? "what it runs with" : public_alias(record->type);
    return "is kept together with " + *at(refused).target + " of " + what;
  }

  // --- parts ---

  std::vector<Part> make_parts() {
    std::vector<Part> parts(runs_.owner.size());
    std::vector<Total> macs(parts.size());
    std::vector<std::unordered_set<std::string_view>> read(parts.size());
    for (std::size_t run = 0; run < parts.size(); ++run) {
      parts[run].graph = name_;
      if (runs_.owner[run] >= 0) parts[run].set = static_cast<std::size_t>(runs_.owner[run]);
    }
    std::vector<std::vector<std::uint32_t>> takers(order_.size());  // other parts that take the value
    for (Position i = 0; i < order_.size(); ++i) {
      const std::uint32_t run = runs_.run[i];
      if (run != Runs::kNone) {
        Part& part = parts[run];
        part.nodes.push_back(order_[i]);
        part.names.push_back(at(i).name);
        if (!verdicts_[i].is_free) ++part.calls;
        if (const auto& cost = *at(i).cost) {
          if (cost->macs) macs[run].add(cost->macs);
          for (const auto& [target, calls] : cost->unknown) part.unknown += calls;
          part.unknown += cost->unsized;
        }
      }
      for_each_input(at(i), [&](NodeId input) {
        const Position from = position_[input.index];
        if (node(input).op == Opcode::kGetAttr) {
          if (run != Runs::kNone && read[run].insert(*node(input).target).second)
            parts[run].parameter_bytes += whole_.bytes_of_attribute(graph_, *node(input).target);
          return;
        }
        if (runs_.run[from] == run) return;
        auto& of_value = takers[from];
        if (of_value.empty() || of_value.back() != run) of_value.push_back(run);
      });
    }
    for (Position i = 0; i < order_.size(); ++i) {
      if (takers[i].empty()) continue;
      std::ranges::sort(takers[i]);
      takers[i].erase(std::unique(takers[i].begin(), takers[i].end()), takers[i].end());
      const PartValue value{order_[i], at(i).name, *at(i).meta, bytes_of(*at(i).meta)};
      if (runs_.run[i] != Runs::kNone) parts[runs_.run[i]].outputs.push_back(value);
      for (const std::uint32_t taker : takers[i]) {
        if (taker != Runs::kNone) parts[taker].inputs.push_back(value);
      }
    }
    for (std::size_t run = 0; run < parts.size(); ++run) parts[run].macs = macs[run].value();
    return parts;
  }

  // Gives up regions that are too small.  Returns whether there were any.
  bool drop_small(const std::vector<Part>& parts) {
    const PartitionRequest& request = whole_.request_;
    std::vector<std::string> reasons(parts.size());
    std::vector<std::size_t> regions;
    for (std::size_t run = 0; run < parts.size(); ++run) {
      const Part& part = parts[run];
      if (!part.set) continue;
      const auto macs = part.macs ? part.macs->number() : std::nullopt;
      if (!computes(part)) {
        reasons[run] = "nothing but views around it is taken";
      } else if (part.calls < request.min_nodes) {
        reasons[run] = "smaller than --min-nodes " + std::to_string(request.min_nodes);
      } else if (request.min_macs && macs && *macs < *request.min_macs && part.unknown == 0) {
        reasons[run] = "smaller than --min-macs " + std::to_string(*request.min_macs);
      } else {
        regions.push_back(run);
      }
    }
    if (request.max_regions && regions.size() > static_cast<std::size_t>(*request.max_regions)) {
      const auto size_of = [&](std::size_t run) {
        const auto macs = parts[run].macs ? parts[run].macs->number() : std::nullopt;
        return std::pair(macs.value_or(INT64_MAX), parts[run].calls);
      };
      std::ranges::stable_sort(regions, std::greater<>(), size_of);
      for (std::size_t i = static_cast<std::size_t>(*request.max_regions); i < regions.size(); ++i)
        reasons[regions[i]] =
            "is not among the " + std::to_string(*request.max_regions) + " largest regions (--max-regions)";
    }
    bool has_any = false;
    for (Position i = 0; i < order_.size(); ++i) {
      const std::uint32_t run = runs_.run[i];
      if (run == Runs::kNone || reasons[run].empty()) continue;
      has_any = true;
      if (!verdicts_[i].is_free) verdicts_[i].reason = reasons[run];
    }
    if (!has_any) return false;
    // Neighbours that are left become one.
    std::vector<std::uint32_t> number(parts.size());
    std::vector<Owner> owners;
    for (std::size_t run = 0; run < parts.size(); ++run) {
      const Owner owner = reasons[run].empty() ? runs_.owner[run] : kNobody;
      if (owners.empty() || owners.back() != owner || owner != kNobody) owners.push_back(owner);
      number[run] = static_cast<std::uint32_t>(owners.size() - 1);
    }
    for (std::uint32_t& run : runs_.run) {
      if (run != Runs::kNone) run = number[run];
    }
    runs_.owner = std::move(owners);
    return true;
  }

  // Returns whether a call of the part does more than to make views.
  bool computes(const Part& part) const {
    return std::ranges::any_of(part.nodes, [&](NodeId id) {
      const Position i = position_[id.index];
      const Effects& effects = effects_[i];
      const bool is_view = !effects.shared.empty() && effects.written.empty() && !effects.is_unknown;
      return !verdicts_[i].is_free && !is_view;
    });
  }

  Partitioner& whole_;
  const ModuleGraph& graph_;
  std::string name_;
  std::vector<NodeId> order_;
  std::vector<Position> position_;  // by id
  std::vector<Effects> effects_;    // this and all below by position
  std::vector<Verdict> verdicts_;
  Tasks tasks_;
  std::vector<bool> is_glued_;
  std::vector<Place> groups_of_;  // the module that is kept together; empty when there is none
  Runs runs_;
};

Verdict Partitioner::judge(const ModuleGraph& graph, const Node& node, const Effects& effects) {
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
                    (effects.asserts || (is_number && !reads_tensor) || unpacks(graph, node));
  const Place place = place_of(node);
  if (marked(place, is_excluded_) != ModulePlaces::kNone || excluded_.matches_target(*node.target)) {
    verdict.is_free = false;
    verdict.reason = "excluded";
    return verdict;
  }
  if (verdict.is_free) return verdict;
  if (node.op == Opcode::kCallModule) {
    const ModuleRecord* record = tree_.record(place);
    verdict.takers = module_takers_[place];
    const bool is_failed = record != nullptr && record->status == ModuleStatus::kFailed;
    verdict.reason = is_failed ? "it failed to trace" : "not in the set";
    return verdict;
  }
  const OperatorEntry* entry = node.model_function ? nullptr : semantics_.find_operator(*node.target);
  for (std::size_t set = 0; set < matchers_.size(); ++set) {
    const auto refusal = matchers_[set].refusal(graph, node, entry);
    if (!refusal) verdict.takers |= std::uint64_t{1} << set;
    if (!refusal || (matchers_.size() > 1 && verdict.reason == *refusal)) continue;
    if (!verdict.reason.empty()) verdict.reason += "; ";
    verdict.reason += matchers_.size() > 1 && *refusal != "not in the set"
                          ? request_.sets[set].name + ": " + *refusal
                          : *refusal;
  }
  if (verdict.takers != 0) verdict.takers = takers_of_bodies(graph, node, verdict.takers, verdict.reason);
  return verdict;
}

// Returns which sets take all calls in the bodies of the node too.
std::uint64_t Partitioner::takers_of_bodies(const ModuleGraph& graph, const Node& node, std::uint64_t takers,
                                            std::string& reason) {
  for_each_of<Argument::GraphRef>(node, [&](const Argument::GraphRef& reference) {
    const ModuleGraph* body = graph.subgraphs.find_graph(reference.name);
    if (body == nullptr) return;
    for (NodeId id = body->graph.first(); id.valid() && takers != 0; id = body->graph.next(id)) {
      const Node& inner = body->graph.node(id);
      if (!is_call(inner) || item_index(inner)) continue;
      const Verdict verdict = judge(*body, inner, semantics_.effects(*body, inner));
      if (verdict.is_free) continue;
      takers &= verdict.takers;
      if (takers == 0) reason = "its body has " + *inner.target + ": " + verdict.reason;
    }
  });
  return takers;
}

std::int64_t Partitioner::bytes_of_attribute(const ModuleGraph& graph, const std::string& name) const {
  const auto parameter = parameters_.find(name);
  if (parameter != parameters_.end()) return byte_count(*parameter->second);
  const auto constant = std::ranges::find(graph.constants, name,
                                          [](const auto& one) -> const std::string& { return one.first; });
  return constant == graph.constants.end() ? 0 : byte_count(constant->second);
}

void Partitioner::count(const Node& node, bool is_taken) {
  ++result_.calls.all;
  Count& of_operator = operators_[*node.target];
  ++of_operator.all;
  Count* of_module = nullptr;
  if (const Place place = place_of(node); place != ModulePlaces::kNone) of_module = &counts_[place];
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
  for (NodeId id = graph.graph.first(); id.valid(); id = graph.graph.next(id)) {
    const Node& node = graph.graph.node(id);
    if (!is_call(node) || item_index(node) || judge(graph, node, semantics_.effects(graph, node)).is_free)
      continue;
    count(node, true);
    for_each_of<Argument::GraphRef>(node, [&](const Argument::GraphRef& reference) {
      if (const ModuleGraph* body = graph.subgraphs.find_graph(reference.name)) count_body(*body);
    });
  }
}

void Partitioner::add_left(const std::string& graph, const Node& node, const std::string& reason) {
  const std::string target =
      node.op == Opcode::kCallModule ? public_alias(node.scope->module_type.value_or("")) : *node.target;
  const auto [known, is_new] = reasons_.try_emplace({target, reason}, result_.reasons.size());
  if (is_new) {
    result_.reasons.push_back({target, reason, 0, {}, 0, {}});
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
  GraphPartitioner one(*this, graph, name);
  std::vector<Part> parts = one.run();
  std::vector<std::pair<const ModuleGraph*, std::string>> bodies;
  for (NodeId id = graph.graph.first(); id.valid(); id = graph.graph.next(id)) {
    const Node& node = graph.graph.node(id);
    if (!is_call(node) || one.verdict(id).is_free) continue;
    const std::string* reason = one.find_reason(id);
    if (reason != nullptr) add_left(name, node, *reason);
    const std::int64_t before = result_.calls.taken;
    count(node, reason == nullptr);
    for_each_of<Argument::GraphRef>(node, [&](const Argument::GraphRef& reference) {
      const ModuleGraph* body = graph.subgraphs.find_graph(reference.name);
      if (body != nullptr && reason == nullptr) count_body(*body);
      if (body != nullptr && reason != nullptr) bodies.emplace_back(body, name + ":" + reference.name);
    });
    if (const auto part = one.part_of(id); part && parts[*part].set)
      result_.set_calls[*parts[*part].set] += result_.calls.taken - before;
  }
  for (const Part& part : parts) {
    if (is_root) {
      macs_.add(part.macs);
      result_.unknown += part.unknown;
      if (part.set) taken_macs_.add(part.macs);
    }
    for (const PartValue& value : part.inputs) {
      const auto maker = one.part_of(value.node);
      if (!maker || (!part.set && !parts[*maker].set)) continue;
      ++result_.cut_edges;
      if (value.bytes) {
        cut_bytes_.add(value.bytes);
      } else {
        ++result_.cut_unknown;
      }
    }
  }
  std::ranges::move(parts, std::back_inserter(result_.parts));
  for (const auto& [body, its_name] : bodies) add(*body, its_name, false);
}

// Sums up the calls of modules, and finds what each reason costs.
void Partitioner::fold_reasons() {
  for (Place place = static_cast<Place>(tree_.size()); place-- > 0;) {  // parents come before their children
    const Place parent = tree_.parent(place);
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
  for (Place place = 0; place < tree_.size(); ++place) {
    const ModuleRecord* record = tree_.record(place);
    if (record == nullptr || counts_[place].all == 0) continue;
    ++result_.modules.all;
    result_.modules.taken += counts_[place].left == 0 ? 1 : 0;
    const std::size_t reason = only_reason(place);
    if (reason == SIZE_MAX) continue;
    ++result_.reasons[reason].modules;
    if (only_reason(tree_.parent(place)) != reason) result_.reasons[reason].outermost.push_back(record->path);
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

Partition partition(const GraphCollection& collection, PartitionRequest request) {
  return Partitioner(collection, std::move(request)).run();
}

}  // namespace fxtrace
