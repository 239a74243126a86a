#include "summaries/use_order.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "graph/analysis/execution_order.h"
#include "summaries/model_summary.h"
#include "support/hashes.h"
#include "support/text/qualified_name.h"

namespace fxtrace::internal {
namespace {

// The number of listed uses is bounded, because in a file each of many calls may use each of many parameters.
constexpr std::int64_t kMostUses = 1'000'000;

class Builder {
 public:
  explicit Builder(const GraphCollection& collection)
      : collection_(collection), uses_(collection), found_(collection.parameters.size()) {}

  UseOrder build() {
    order_.model = collection_.model;
    read_names();
    for (const ModuleGraph& graph : collection_.graphs) {
      calls_.emplace(*graph.execution);
      read_calls(graph);
      uses_.for_each(graph, [&](const Node& node, const ParameterUses::Parameters& parameters) {
        for (const std::size_t parameter : parameters) add_use(parameter, node);
      });
      ++graph_;
    }
    list_parameters();
    find_never_called();
    return std::move(order_);
  }

 private:
  struct Uses {
    std::vector<UseOrder::Use> list;
    std::int64_t count = 0;
    bool is_listed = false;
  };

  void read_names() {
    sizes_ = count_parameters(collection_);
    for (std::size_t i = 0; i < collection_.modules.size(); ++i) {
      const ModuleRecord& module = collection_.modules[i];
      module_at_.emplace(module.path, i);
      if (module.alias_of) shared_[*module.alias_of].push_back(module.path);
    }
    for (const ParameterRecord& parameter : collection_.parameters) {
      if (parameter.alias_of) tied_[*parameter.alias_of].push_back(parameter.name);
    }
  }

  const ModuleRecord& first_record(std::string_view path) const {
    const ModuleRecord& module = collection_.modules[module_at_.at(path)];
    return module.alias_of ? collection_.modules[module_at_.at(*module.alias_of)] : module;
  }

  UseOrder::Module module(const ModuleRecord& record) const {
    UseOrder::Module module{record.path, record.type, {}, record.status, {}, {}, {}, {}};
    if (const auto names = shared_.find(record.path); names != shared_.end()) module.shared = names->second;
    module.parameters = sizes_[module_at_.at(record.path)].parameters;
    return module;
  }

  void read_calls(const ModuleGraph& graph) {
    UseOrder::Calls calls{graph.module, {}};
    struct Open {
      std::string_view path;
      std::int64_t number;  // number of the forward that runs
    };
    std::vector<Open> open;  // calls that may be around the next one
    numbers_.clear();
    for (const OrderedCall& call : *calls_) {
      const ModuleRecord& record = first_record(call.module);
      const auto [known, is_new] =
          called_.emplace(std::pair(std::string_view(record.path), call.method), order_.modules.size());
      if (is_new) order_.modules.emplace_back(module(record)).method = call.method;
      while (!open.empty() && !QualifiedName(call.module).is_below(open.back().path)) open.pop_back();
      if (open.empty() && !calls.calls.empty()) open.push_back({graph.module, 1});
      calls.calls.push_back({known->second, open.size(), call.position});
      numbers_.push_back(call.position > 0 || open.empty() ? call.position : open.back().number);
      open.push_back({call.module, numbers_.back()});
      order_.modules[known->second].calls.push_back({order_.graphs.size(), call.position});
    }
    order_.graphs.push_back(std::move(calls));
  }

  UseOrder::Place place_of(const Scope& scope) const {
    const auto call = calls_->find_calls(scope);
    return {graph_, call ? numbers_[*call] : 0};
  }

  void add_use(std::size_t parameter, const Node& node) {
    Uses& uses = found_[parameter];
    if (uses.count == 0) with_uses_.push_back(parameter);
    ++uses.count;
    if (uses.count > 1 && listed_ >= kMostUses) return;
    ++listed_;
    uses.list.push_back({place_of(node.scope), node.scope->module_path, node.name});
  }

  void add_parameter(std::size_t index) {
    if (found_[index].is_listed) return;
    found_[index].is_listed = true;
    UseOrder::Parameter parameter = this->parameter(index);
    parameter.use_count = found_[index].count;
    parameter.uses = std::move(found_[index].list);
    order_.used.add(collection_.parameters[index]);
    order_.parameters.push_back(std::move(parameter));
  }

  UseOrder::Parameter parameter(std::size_t index) const {
    const ParameterRecord& record = collection_.parameters[index];
    UseOrder::Parameter parameter{record.name,        record.dtype, record.shape, element_count(record),
                                  byte_count(record), {},           {},           0};
    if (const auto names = tied_.find(record.name); names != tied_.end()) parameter.tied = names->second;
    return parameter;
  }

  // Lists parameters in the order of the trace, then those that passes added, and the rest as unused.
  void list_parameters() {
    for (const ModuleGraph& graph : collection_.graphs) {
      for (const std::string& name : graph.execution->param_forward_order) {
        if (const auto parameter = uses_.find_parameter(name)) add_parameter(*parameter);
      }
    }
    for (const std::size_t index : with_uses_) add_parameter(index);
    for (std::size_t i = 0; i < collection_.parameters.size(); ++i) {
      const ParameterRecord& record = collection_.parameters[i];
      if (record.kind != ParameterKind::kParameter || record.alias_of || found_[i].is_listed) continue;
      order_.unused.push_back(parameter(i));
      order_.not_used.add(record);
    }
  }

  void find_never_called() {
    // Modules that are called, and all modules around them.
    std::unordered_set<std::string_view> touched;
    const auto touch = [&](std::string_view path) {
      QualifiedName(path).for_each_prefix([&](std::string_view prefix) { touched.insert(prefix); });
      touched.insert("");
    };
    std::unordered_set<std::string_view> leaves;
    for (const UseOrder::Module& module : order_.modules) {
      std::vector<std::string_view> names(module.shared.begin(), module.shared.end());
      names.emplace_back(module.path);
      for (const std::string_view name : names) {
        touch(name);
        if (module.status != ModuleStatus::kTraced) leaves.insert(name);
      }
    }
    // Modules without a call can have used parameters, such as a ParameterList.
    for (const UseOrder::Parameter& parameter : order_.parameters)
      touch(QualifiedName(parameter.name).parent());
    for (const ModuleRecord& record : collection_.modules) {
      if (record.alias_of || touched.contains(record.path)) continue;
      // Calls inside a leaf are unknown.  Of nested uncalled modules only the outermost is listed.
      bool is_within = leaves.contains("");
      QualifiedName(QualifiedName(record.path).parent()).for_each_prefix([&](std::string_view around) {
        is_within = is_within || leaves.contains(around) || !touched.contains(around);
      });
      if (!is_within) order_.never_called.push_back(module(record));
    }
  }

  const GraphCollection& collection_;
  UseOrder order_;
  std::vector<ModuleSizes> sizes_;
  std::unordered_map<std::string_view, std::size_t> module_at_;
  std::unordered_map<std::string_view, std::vector<std::string>> shared_, tied_;  // by first name
  // Index in order_.modules, by path and method.
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> called_;
  ParameterUses uses_;
  std::vector<Uses> found_;             // by parameter
  std::vector<std::size_t> with_uses_;  // in the order of their first uses
  std::int64_t listed_ = 0;             // number of listed uses
  std::size_t graph_ = 0;               // index of the graph that is read
  std::optional<CallOrder> calls_;      // calls of that graph
  std::vector<std::int64_t> numbers_;   // by call: number of the forward that runs its code
};

}  // namespace

UseOrder order_of_use(const GraphCollection& collection) { return Builder(collection).build(); }

void make_buckets(UseOrder& order, std::int64_t most_bytes) {
  UseOrder::Buckets& buckets = order.buckets.emplace(UseOrder::Buckets{most_bytes, {}});
  for (std::size_t i = 0; i < order.parameters.size(); ++i) {
    const std::int64_t bytes = order.parameters[i].bytes;
    if (buckets.list.empty() || buckets.list.back().bytes > most_bytes - bytes) buckets.list.emplace_back();
    buckets.list.back().parameters.push_back(i);
    add_saturated(buckets.list.back().bytes, bytes);
  }
}

void add_macs(const GraphCollection& collection, UseOrder& order) {
  const ModelSummary summary = summarize_model(collection);
  std::unordered_map<std::string_view, const SummaryRow*> rows;
  for (const SummaryRow& row : summary.rows) rows.emplace(row.path, &row);
  for (UseOrder::Module& module : order.modules) {
    const auto row = rows.find(module.path);
    if (row != rows.end() && module.method.empty() && !row->second->is_partial())
      module.macs = row->second->macs;
  }
}

namespace {

// Returns "layer" for "layer12"; nothing when no number is at the end.
std::optional<std::string_view> stem_of(std::string_view name) {
  const std::string_view stem = without_last_number(name);
  return stem.size() == name.size() ? std::nullopt : std::optional(stem);
}

class Planner {
 public:
  Planner(const GraphCollection& collection, const UseOrder& order)
      : collection_(collection), order_(order), shapes_(collection.modules.size()) {}

  FsdpPlan plan() {
    describe_modules();
    find_blocks(&Shape::has_inner, &Shape::hash);
    if (blocks_.empty()) find_blocks(&Shape::has_inner, &Shape::class_hash);
    if (blocks_.empty()) find_blocks(&Shape::has_matrix, &Shape::hash);
    leave_out_tied();
    leave_out_used_elsewhere();
    list_units();
    return std::move(plan_);
  }

 private:
  static constexpr std::size_t kNone = SIZE_MAX;
  static constexpr std::string_view kCompiled = "_orig_mod";

  // A module, by its index in the collection.
  struct Shape {
    std::size_t parent = kNone;
    std::uint64_t hash = 0;        // hash of its type, submodules and parameters
    std::uint64_t class_hash = 0;  // hash of its type; equal to `hash` for types of torch.nn
    bool has_parameters = false;   // has parameters, submodules included
    bool has_inner = false;        // has submodules with parameters
    bool has_matrix = false;       // has a parameter of more than one dimension itself
    bool is_called = false;        // called in the root's graph under the record's path
    bool is_compiled = false;      // made by torch.compile: its calls show as calls of modules in `_orig_mod`
    std::size_t block = kNone;     // the block that it is or belongs to
  };

  void describe_modules() {
    const auto& modules = collection_.modules;
    for (std::size_t i = 0; i < modules.size(); ++i) at_.emplace(modules[i].path, i);
    for (const ParameterRecord& parameter : collection_.parameters) {
      const QualifiedName name(parameter.name);
      const auto owner = at_.find(name.parent());
      const bool is_sharded = parameter.kind == ParameterKind::kParameter && !parameter.is_packed();
      if (!is_sharded || owner == at_.end()) continue;
      Shape& shape = shapes_[owner->second];
      shape.hash = mix(mix(shape.hash, name.last()), parameter.dtype);
      for (const std::int64_t size : parameter.shape)
        shape.hash = mix(shape.hash, static_cast<std::uint64_t>(size));
      shape.has_parameters = true;
      shape.has_matrix = shape.has_matrix || parameter.shape.size() > 1;
    }
    // Submodules come after the modules that have them.
    for (std::size_t i = modules.size(); i-- > 0;) {
      const QualifiedName path(modules[i].path);
      Shape& shape = shapes_[i];
      shape.hash = mix(mix(shape.hash, modules[i].type), modules[i].alias_of ? 1 : 0);
      shape.class_hash = is_common_class(modules[i].type) ? shape.hash : text_hash(modules[i].type);
      const auto parent = modules[i].path.empty() ? at_.end() : at_.find(path.parent());
      if (parent == at_.end() || parent->second >= i) continue;
      shape.parent = parent->second;
      Shape& around = shapes_[shape.parent];
      around.hash = mix(mix(around.hash, path.last()), shape.hash);
      around.has_inner = around.has_inner || shape.has_parameters;
      around.has_parameters = around.has_parameters || shape.has_parameters;
    }
    if (order_.graphs.empty()) return;
    for (const UseOrder::Call& call : order_.graphs.front().calls) {
      const UseOrder::Module& module = order_.modules[call.module];
      if (module.method.empty()) shapes_[at_.at(module.path)].is_called = true;
    }
    for (const UseOrder::Call& call : order_.graphs.front().calls) {
      for (std::size_t i = at_.at(order_.modules[call.module].path); i != kNone; i = shapes_[i].parent) {
        const bool is_inner = QualifiedName(modules[i].path).last() == kCompiled && !shapes_[i].is_called;
        const std::size_t compiled = is_inner ? shapes_[i].parent : kNone;
        if (compiled != kNone && !shapes_[compiled].is_called && !modules[compiled].path.empty())
          shapes_[compiled].is_called = shapes_[compiled].is_compiled = true;
      }
    }
  }

  // Returns the module whose call this one stands for: the compiled block around it, or itself.
  std::size_t seen_call(std::size_t module) const {
    for (std::size_t i = module; i != kNone; i = shapes_[i].parent) {
      if (shapes_[i].is_compiled && shapes_[i].block == i) return i;
    }
    return module;
  }

  static bool is_common_class(const std::string& type) {
    return type.empty() || type.starts_with("torch.nn.");
  }

  // Finds repeated blocks: modules with the property `kind` that have siblings with the same `likeness`.
  void find_blocks(bool Shape::* kind, std::uint64_t Shape::* likeness) {
    const auto& modules = collection_.modules;
    const auto is_candidate = [&](std::size_t i) {
      return shapes_[i].parent != kNone && shapes_[i].is_called && shapes_[i].*kind && !modules[i].alias_of;
    };
    std::map<std::tuple<std::size_t, std::string_view, std::uint64_t>, std::size_t> alike;
    const auto group_of = [&](std::size_t i) {
      return std::tuple(shapes_[i].parent, *stem_of(QualifiedName(modules[i].path).last()),
                        shapes_[i].*likeness);
    };
    const auto has_number = [&](std::size_t i) {
      return stem_of(QualifiedName(modules[i].path).last()).has_value();
    };
    for (std::size_t i = 0; i < modules.size(); ++i) {
      if (is_candidate(i) && has_number(i)) ++alike[group_of(i)];
    }
    const auto repeats = [&](std::size_t i) {
      return is_candidate(i) && has_number(i) && alike.at(group_of(i)) > 1;
    };
    std::vector<bool> is_inside(modules.size());  // inside a repeated module
    std::unordered_set<std::string_view> classes;
    for (std::size_t i = 0; i < modules.size(); ++i) {
      const std::size_t parent = shapes_[i].parent;
      is_inside[i] = parent != kNone && (is_inside[parent] || repeats(parent));
      if (!is_inside[i] && repeats(i) && !is_common_class(modules[i].type)) classes.insert(modules[i].type);
    }
    for (std::size_t i = 0; i < modules.size(); ++i) {
      const std::size_t parent = shapes_[i].parent;
      shapes_[i].block = parent == kNone ? kNone : shapes_[parent].block;
      if (shapes_[i].block != kNone || !is_candidate(i)) continue;
      if (!classes.contains(modules[i].type) && (is_inside[i] || !repeats(i))) continue;
      shapes_[i].block = i;
      blocks_.push_back(i);
    }
  }

  // Returns the block at or around `path`, also under later names; kNone when there is none.
  std::size_t block_around(std::string_view path) const {
    while (true) {
      const auto found = at_.find(path);
      if (found != at_.end()) {
        std::size_t at = found->second;
        if (shapes_[at].block != kNone) return shapes_[at].block;
        // The path may be a later name of a block.
        const auto& first = collection_.modules[at].alias_of;
        at = first ? at_.at(*first) : at;
        if (shapes_[at].block == at) return at;
      }
      if (path.empty()) return kNone;
      path = QualifiedName(path).parent();
    }
  }

  void leave_out(std::size_t block, const std::string& reason) {
    // The graph shows no calls of a compiled block, only the operations in it.
    if (block != kNone && !shapes_[block].is_compiled) reasons_.emplace(block, reason);
  }

  // fully_shard() requires all modules that share a parameter to be in one group.
  void leave_out_tied() {
    for (const ParameterRecord& parameter : collection_.parameters) {
      const bool is_sharded = parameter.kind == ParameterKind::kParameter && !parameter.is_packed();
      if (!parameter.alias_of || !is_sharded) continue;
      const std::size_t here = block_around(QualifiedName(parameter.name).parent());
      const std::size_t there = block_around(QualifiedName(*parameter.alias_of).parent());
      if (here == there) continue;
      const std::string reason = parameter.name + " is tied to " + *parameter.alias_of;
      for (const std::size_t block : {here, there}) {
        if (block != kNone) reasons_.emplace(block, reason);
      }
    }
  }

  // Between its calls the parameters of a block are sharded, so other modules cannot use them.
  void leave_out_used_elsewhere() {
    for (const ModuleGraph& graph : collection_.graphs) {
      for (const auto& [user, uses] : graph.execution->module_param_usage) {
        const std::size_t inside = block_around(user);
        for (const Execution::Use& use : uses) {
          if (use.module != user) {
            const std::size_t block = block_around(use.module);
            const bool is_block = block != kNone && collection_.modules[block].path == use.module;
            if (block != inside && !is_block) leave_out(block, outside(user, "calls " + use.module));
          } else if (!is_leaf(user)) {
            for (const std::string& name : use.params) {
              const std::size_t block = block_around(QualifiedName(name).parent());
              if (block != inside) leave_out(block, outside(user, "uses " + name));
            }
          }
        }
      }
    }
  }

  bool is_leaf(const std::string& path) const {
    const ModuleStatus status = collection_.modules[at_.at(path)].status;
    return status == ModuleStatus::kLeaf || status == ModuleStatus::kFailed;
  }

  static std::string outside(const std::string& user, const std::string& what) {
    return (user.empty() ? "the root" : user) + " " + what;
  }

  void list_units() {
    const auto& modules = collection_.modules;
    for (const auto& [block, reason] : reasons_) plan_.left_out.push_back({modules[block].path, reason});
    std::vector<std::size_t> calls;
    std::unordered_map<std::size_t, std::int64_t> count;
    if (order_.graphs.empty()) return;
    for (const UseOrder::Call& call : order_.graphs.front().calls) {
      const UseOrder::Module& called = order_.modules[call.module];
      const std::size_t module = seen_call(at_.at(called.path));
      if (!called.method.empty() || shapes_[module].block != module || reasons_.contains(module)) continue;
      if (shapes_[module].is_compiled && !calls.empty() && calls.back() == module) continue;
      calls.push_back(module);
      if (++count[module] == 1) plan_.units.push_back(modules[module].path);
    }
    if (calls.empty()) return list_uncalled();
    plan_.forward.emplace_back("", modules[calls.front()].path);
    plan_.backward.emplace_back("", modules[calls.back()].path);
    for (std::size_t i = 0; i + 1 < calls.size(); ++i) {
      if (count[calls[i]] == 1)
        plan_.forward.emplace_back(modules[calls[i]].path, modules[calls[i + 1]].path);
    }
    for (std::size_t i = calls.size(); i-- > 1;) {
      if (count[calls[i]] == 1)
        plan_.backward.emplace_back(modules[calls[i]].path, modules[calls[i - 1]].path);
    }
  }

  // Lists modules that look like blocks but are never called.
  void list_uncalled() {
    const auto& modules = collection_.modules;
    std::map<std::tuple<std::size_t, std::string_view, std::uint64_t>, std::vector<std::size_t>> alike;
    for (std::size_t i = 0; i < modules.size(); ++i) {
      const auto stem = stem_of(QualifiedName(modules[i].path).last());
      if (stem && shapes_[i].has_inner && !shapes_[i].is_called && !modules[i].alias_of)
        alike[{shapes_[i].parent, *stem, shapes_[i].hash}].push_back(i);
    }
    for (const auto& [group, blocks] : alike) {
      for (const std::size_t block : blocks) {
        if (blocks.size() > 1)
          plan_.left_out.push_back({modules[block].path, "the graph has no call of this module"});
      }
    }
  }

  const GraphCollection& collection_;
  const UseOrder& order_;
  FsdpPlan plan_;
  std::vector<Shape> shapes_;
  std::unordered_map<std::string_view, std::size_t> at_;  // by path
  std::vector<std::size_t> blocks_;
  std::map<std::size_t, std::string> reasons_;  // of blocks that are left out
};

}  // namespace

FsdpPlan plan_fsdp(const GraphCollection& collection, const UseOrder& order) {
  return Planner(collection, order).plan();
}

}  // namespace fxtrace::internal
