#include "summaries/use_order.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "graph/analysis/call_order.h"
#include "graph/analysis/parameter_uses.h"
#include "summaries/model_summary.h"
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

}  // namespace fxtrace::internal
