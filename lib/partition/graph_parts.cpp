#include "partition/graph_parts.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "analysis/alias_regions.h"
#include "graph/analysis/execution_order.h"
#include "operators/names/function_traits.h"
#include "operators/names/modules.h"
#include "opinfo/batching.h"
#include "opinfo/rules/shape_helpers.h"
#include "partition/runs.h"
#include "summaries/parameter_sizes.h"

namespace fxtrace::internal {
namespace {

using Place = Verdicts::Place;

constexpr const char* kInCircle = "would close a circle";

// Returns the bytes of a tensor; 0 for numbers, nothing when they are unknown.
std::optional<SymInt> bytes_of_value(const Meta& meta) {
  const ValueKind kind = meta.kind();
  if (kind != ValueKind::kTensor) return kind == ValueKind::kOther ? std::nullopt : std::optional(SymInt(0));
  const auto sizes = meta.sizes();
  return sizes ? bytes_of(*sizes, meta.dtype) : std::nullopt;
}

class PartMaker {
 public:
  PartMaker(Verdicts& whole, const PartitionRequest& request, const AttributeBytes& parameters,
            const ModuleGraph& graph, std::string name)
      : whole_(whole),
        request_(request),
        parameters_(parameters),
        graph_(graph),
        name_(std::move(name)),
        order_(graph.graph.order()),
        position_(graph.graph.id_count()),
        verdicts_(order_.size()),
        tasks_(order_.size()) {
    for (std::size_t i = 0; i < order_.size(); ++i) position_[order_[i].index] = static_cast<Position>(i);
    for (const auto& [attribute, constant] : graph.constants)
      constants_.emplace(attribute, byte_count(constant));
    effects_.reserve(order_.size());
    for (const NodeId id : order_) effects_.push_back(whole.effects(graph, node(id)));
  }

  std::vector<Part> make() {
    for (Position i = 0; i < order_.size(); ++i) {
      if (is_call(at(i))) verdicts_[i] = whole_.judge(graph_, at(i), effects_[i]);
    }
    add_needs();
    glue_items();
    glue_modes();
    glue_modules();
    glue_groups();
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

  GraphParts finish() {
    GraphParts result{make(), {}, {}};
    result.verdicts.resize(position_.size());
    result.part_of.assign(position_.size(), std::nullopt);
    for (Position i = 0; i < order_.size(); ++i) {
      const std::uint32_t id = order_[i].index;
      result.verdicts[id] = std::move(verdicts_[i]);
      if (runs_.run[i] != Runs::kNone) result.part_of[id] = runs_.run[i];
    }
    return result;
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
    AliasRegions memory(graph_, whole_.semantics());
    struct Access {
      Position write = kNone;
      std::vector<Position> reads;
    };
    std::unordered_map<std::size_t, Access> accesses;             // by region of memory that is written
    std::map<std::size_t, std::vector<Position>> written_memory;  // what makes and writes it
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
      // What is written in place stays with what made it, as a value that crosses would be a copy.
      if (memory.has_memory(node.id) && memory.is_written(node.id) && !memory.is_from_outside(node.id)) {
        written_memory[memory.region_number(node.id)].push_back(i);
      }
      need(mode, i);
      if (effects.switches) {
        for (Position earlier = mode == kNone ? 0 : mode; earlier < i; ++earlier) {
          if (is_call(at(earlier))) need(earlier, i);
        }
        mode = i;
      }
    }
    for (auto& [region, positions] : written_memory) groups_.push_back(std::move(positions));
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
    // What no program takes stays with its users: a list or dict of tensors, and a float or bool that
    // elements of a tensor decide.
    for (Position i = 0; i < order_.size(); ++i) {
      if (!is_call(at(i))) continue;
      const Meta& meta = *at(i).meta;
      const ValueKind kind = meta.kind();
      const bool is_list =
          kind == ValueKind::kOther && meta.type && meta.type->find("Tensor") != std::string::npos;
      const bool is_read = (kind == ValueKind::kFloat || kind == ValueKind::kBool) && !verdicts_[i].is_free;
      if (!is_list && !is_read) continue;
      std::vector<Position> group{i};
      for (const NodeId user : at(i).users) {
        if (is_call(node(user)) && !item_index(node(user))) group.push_back(position_[user.index]);
      }
      std::ranges::sort(group);
      if (group.size() > 1) groups_.push_back(std::move(group));
    }
  }

  // Glues all of a torch.vmap, and of a region of autocast or gradients.
  void glue_modes() {
    std::vector<Position> open;
    const auto close = [&](Position end) {
      if (open.empty()) return;
      const Position begin = open.back();
      open.pop_back();
      if (!open.empty()) return;  // it is glued with what is around it
      for (Position i = begin; i < end; ++i) {
        if (is_call(at(i))) glue(i, end);
      }
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
    const std::vector<bool>& is_whole = whole_.is_whole();
    if (std::ranges::find(is_whole, true) == is_whole.end()) return;
    std::optional<CallOrder> calls;
    if (graph_.execution) calls.emplace(*graph_.execution);
    // The positions of each call of each such module; a module inside of another goes with that.
    std::map<std::pair<Place, std::size_t>, std::vector<Position>> groups;
    for (Position i = 0; i < order_.size(); ++i) {
      if (!is_call(at(i))) continue;
      for (Place place = whole_.place_of(at(i)); place != ModulePlaces::kNone;
           place = whole_.tree().parent(place)) {
        if (!is_whole[place]) continue;
        groups[{place, call_around(calls, at(i), place)}].push_back(i);
      }
    }
    groups_of_.assign(order_.size(), ModulePlaces::kNone);
    for (auto& [key, positions] : groups) {
      for (const Position i : positions) {
        if (groups_of_[i] == ModulePlaces::kNone) groups_of_[i] = key.first;
      }
      if (const std::uint64_t takers = whole_.takers()[key.first]; takers != 0) {
        for (const Position i : positions) verdicts_[i].takers |= takers;
      }
      groups_.push_back(std::move(positions));
    }
  }

  // Glues each group, with what is on a way from one of it to another.
  void glue_groups() {
    constexpr std::size_t kMostWork = 2'000'000;
    std::size_t work = 0;
    std::vector<std::pair<Position, Position>> spans;  // of groups that would take too long: all in them
    for (const std::vector<Position>& positions : groups_) {
      work += positions.back() - positions.front();
      if (work > kMostWork) {
        spans.emplace_back(positions.front(), positions.back());
        continue;
      }
      close(positions);
      for (const Position i : positions) glue(positions.front(), i);
    }
    std::ranges::sort(spans);
    Position done = 0;
    for (const auto& [first, last] : spans) {
      for (Position i = std::max(first, done); i <= last; ++i) {
        if (is_call(at(i))) glue(first, i);
      }
      done = std::max(done, last);
    }
  }

  // Returns the call of the module around the node, as a number.
  std::size_t call_around(const std::optional<CallOrder>& calls, const Node& node, Place place) const {
    const ModuleRecord* record = whole_.tree().record(place);
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
      if (!verdicts_[i].is_refused()) verdicts_[i].reason = kInCircle;
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
    const ModuleRecord* record = is_module ? whole_.tree().record(groups_of_[refused]) : nullptr;
    if (record == nullptr) return "runs only together with " + *at(refused).target;
    return "is kept together with " + *at(refused).target + " of " + public_alias(record->type);
  }

  // --- parts ---

  std::int64_t bytes_of_attribute(const std::string& name) const {
    const auto parameter = parameters_.find(name);
    if (parameter != parameters_.end()) return parameter->second;
    const auto constant = constants_.find(name);
    return constant == constants_.end() ? 0 : constant->second;
  }

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
            parts[run].parameter_bytes += bytes_of_attribute(*node(input).target);
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
      const PartValue value{order_[i], at(i).name, *at(i).meta, bytes_of_value(*at(i).meta)};
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
    std::vector<std::string> reasons(parts.size());
    std::vector<std::size_t> regions;
    for (std::size_t run = 0; run < parts.size(); ++run) {
      const Part& part = parts[run];
      if (!part.set) continue;
      const auto macs = part.macs ? part.macs->number() : std::nullopt;
      if (!computes(part)) {
        reasons[run] = "nothing but views around it is taken";
      } else if (part.calls < request_.min_nodes) {
        reasons[run] = "smaller than --min-nodes " + std::to_string(request_.min_nodes);
      } else if (request_.min_macs && macs && *macs < *request_.min_macs && part.unknown == 0) {
        reasons[run] = "smaller than --min-macs " + std::to_string(*request_.min_macs);
      } else {
        regions.push_back(run);
      }
    }
    if (request_.max_regions && regions.size() > static_cast<std::size_t>(*request_.max_regions)) {
      const auto size_of = [&](std::size_t run) {
        const auto macs = parts[run].macs ? parts[run].macs->number() : std::nullopt;
        return std::pair(macs.value_or(INT64_MAX), parts[run].calls);
      };
      std::ranges::stable_sort(regions, std::greater<>(), size_of);
      for (auto i = static_cast<std::size_t>(*request_.max_regions); i < regions.size(); ++i)
        reasons[regions[i]] =
            "is not among the " + std::to_string(*request_.max_regions) + " largest regions (--max-regions)";
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

  Verdicts& whole_;
  const PartitionRequest& request_;
  const AttributeBytes& parameters_;
  const ModuleGraph& graph_;
  std::string name_;
  AttributeBytes constants_;
  std::vector<NodeId> order_;
  std::vector<Position> position_;  // by id
  std::vector<Effects> effects_;    // this and all below by position
  std::vector<Verdict> verdicts_;
  Tasks tasks_;
  std::vector<std::vector<Position>> groups_;  // what is to be glued
  std::vector<bool> is_glued_;
  std::vector<Place> groups_of_;  // the module that is kept together; empty when there is none
  Runs runs_;
};

}  // namespace

GraphParts make_parts(Verdicts& verdicts, const PartitionRequest& request, const AttributeBytes& parameters,
                      const ModuleGraph& graph, const std::string& name) {
  return PartMaker(verdicts, request, parameters, graph, name).finish();
}

}  // namespace fxtrace::internal
