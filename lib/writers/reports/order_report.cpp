// The answer of `fxtrace order` as text and as CSV.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/analysis/text_form.h"
#include "support/text/numbers.h"
#include "support/text/qualified_name.h"
#include "support/text/unicode.h"
#include "support/text/words.h"
#include "writers/formats/csv_text.h"
#include "writers/formats/document.h"
#include "writers/formats/python_text.h"
#include "writers/reports/report_writers.h"

namespace fxtrace::internal {
namespace {

constexpr std::size_t kMostRows = 200;   // rows of a table
constexpr std::size_t kMostListed = 10;  // items of a list
constexpr std::size_t kMostCalls = 6;

// Returns the number of a call: "7"; "b.l#2" in the graph of a submodule; "?" when no call is known.
std::string call_text(const UseOrder& order, const UseOrder::Place& place) {
  const std::string number = place.call > 0 ? std::to_string(place.call) : "?";
  return place.graph == 0 ? number : order.graphs[place.graph].module + "#" + number;
}

// Returns the calls that use a parameter, among the listed uses; each call once.
std::vector<UseOrder::Place> calls_of(const UseOrder::Parameter& parameter) {
  std::vector<UseOrder::Place> places;
  for (const UseOrder::Use& use : parameter.uses) {
    const bool is_known =
        !places.empty() && places.back().graph == use.place.graph && places.back().call == use.place.call;
    if (!is_known) places.push_back(use.place);
  }
  return places;
}

std::string number_text(std::int64_t number) { return number > 0 ? std::to_string(number) : ""; }

class OrderText : Document {
 public:
  OrderText(const UseOrder& order, std::ostream& out, const TextLayout& layout)
      : Document(out, layout), order_(order) {}

  void document() {
    line(bold(one_line(order_.model.file + ": " + model_text(order_.model))));
    for (std::size_t i = 0; i < order_.graphs.size(); ++i) calls(i);
    parameters();
    if (order_.buckets) buckets(*order_.buckets);
    totals();
  }

 private:
  // Cuts the rows to those shown; returns the number of rows left out.
  template <class T>
  static std::size_t cut_rows(std::vector<T>& rows) {
    const std::size_t left_out = rows.size() - std::min(rows.size(), kMostRows);
    rows.resize(rows.size() - left_out);
    return left_out;
  }

  const UseOrder::Module& module(const UseOrder::Call& call) const { return order_.modules[call.module]; }

  void calls(std::size_t index) {
    const UseOrder::Calls& graph = order_.graphs[index];
    std::vector<std::string_view> names;
    for (const UseOrder::Call& call : graph.calls) names.emplace_back(module(call).path);
    auto folded = fold_numbered(names, [&](std::size_t a, std::size_t b) {
      const UseOrder::Module& one = module(graph.calls[a]);
      const UseOrder::Module& other = module(graph.calls[b]);
      return graph.calls[a].depth == graph.calls[b].depth && one.type == other.type &&
             one.status == other.status && one.method == other.method && one.calls.size() == 1 &&
             other.calls.size() == 1 && one.parameters.elements == other.parameters.elements &&
             one.parameters.bytes == other.parameters.bytes && one.macs == other.macs;
    });
    const std::size_t left_out = cut_rows(folded);
    std::vector<std::size_t> depths;
    for (const NumberedRow& row : folded) depths.push_back(graph.calls[row.row].depth);
    const auto lines = tree_lines(depths);
    TextTable table{{{"Call", true},
                     {"Module", false, 22},
                     {"Type", false, 12},
                     {"Params", true},
                     {"Bytes", true},
                     {"MACs", true},
                     {"Other calls", false, 12}}};
    std::vector<const NumberedRow*> around;  // the row at each depth
    for (std::size_t i = 0; i < folded.size(); ++i) {
      const NumberedRow& row = folded[i];
      around.resize(std::min(around.size(), depths[i]));
      const UseOrder::Module& module = this->module(graph.calls[row.row]);
      const std::string name = around.empty() ? path_text(row.name) : name_below(row, *around.back());
      around.push_back(&row);
      const TensorTotal& sizes = module.parameters;
      const bool is_head = row.repeats > 1 && QualifiedName(module.path).parts().size() == row.part + 1;
      const std::int64_t number = graph.calls[row.row].number;
      table.rows.push_back({number_text(number), lines[i] + name,
                            type_text(module, is_head ? row.repeats : 1),
                            sizes.elements == 0 ? "-" : with_separators(times(sizes.elements, row.repeats)),
                            sizes.elements == 0 ? "-" : bytes_text(times(sizes.bytes, row.repeats)),
                            macs_text(module, row.repeats), other_calls(module, index, number)});
    }
    for (std::size_t column = table.columns.size(); --column > 4;) {
      if (table.is_empty(column)) table.remove(column);
    }
    heading(index == 0 ? "Modules in the order of their calls" : "Graph of " + one_line(graph.module));
    this->table(std::move(table), left_out);
  }

  // Returns the part of the name below that of the enclosing row, which may be folded in the same way.
  std::string name_below(const NumberedRow& row, const NumberedRow& around) const {
    const QualifiedName name(row.name);
    const std::string_view below = name.below(around.name);
    return below.empty() ? row.name : std::string(below);
  }

  static std::int64_t times(std::int64_t number, std::size_t count) {
    multiply_saturated(number, static_cast<std::int64_t>(count));
    return number;
  }

  static std::string macs_text(const UseOrder::Module& module, std::size_t repeats) {
    if (!module.macs) return "";
    const auto number = module.macs->number();
    if (!number) return module.macs->text();
    return *number == 0 ? "-" : with_separators(times(*number, repeats));
  }

  static std::string type_text(const UseOrder::Module& module, std::size_t repeats) {
    std::string text = module.type.empty() ? "-" : std::string(QualifiedName(module.type).last());
    if (repeats > 1) text = std::to_string(repeats) + " x " + text;
    if (!module.method.empty()) text += " (" + module.method + ")";
    if (module.status == ModuleStatus::kFailed) text += " (failed)";
    return text;
  }

  std::string calls_text(const std::vector<UseOrder::Place>& places) const {
    std::string text;
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (i == kMostCalls) return text + ", ... (" + std::to_string(places.size()) + ")";
      text += (i == 0 ? "" : ", ") + call_text(order_, places[i]);
    }
    return text;
  }

  std::string other_calls(const UseOrder::Module& module, std::size_t graph, std::int64_t call) const {
    if (module.calls.size() < 2) return "";
    std::vector<UseOrder::Place> others = module.calls;
    std::erase_if(others,
                  [&](const UseOrder::Place& place) { return place.graph == graph && place.call == call; });
    return calls_text(others);
  }

  void parameters() {
    const auto& all = order_.parameters;
    if (all.empty()) return;
    std::vector<std::string_view> names;
    for (const UseOrder::Parameter& parameter : all) names.emplace_back(parameter.name);
    auto folded = fold_numbered(names, [&](std::size_t a, std::size_t b) {
      return all[a].shape == all[b].shape && all[a].dtype == all[b].dtype &&
             all[a].use_count == all[b].use_count && all[a].tied.empty() && all[b].tied.empty();
    });
    const std::size_t left_out = cut_rows(folded);
    TextTable table{{{"#", true},
                     {"Parameter", false, 30, Keep::kEnd},
                     {"Type", false, 16},
                     {"Bytes", true},
                     {"In calls", false, 10}}};
    for (const NumberedRow& row : folded) {
      const UseOrder::Parameter& parameter = all[row.row];
      std::string type = parameter.dtype + shape_text(parameter.shape);
      if (row.repeats > 1) type = std::to_string(row.repeats) + " x " + type;
      std::string calls = calls_text(calls_of(parameter));
      const UseOrder::Parameter& last = all[row.row + (row.repeats - 1) * row.length];
      const std::string last_calls = calls_text(calls_of(last));
      if (last_calls != calls) calls += " ... " + last_calls;
      table.rows.push_back({std::to_string(row.row + 1), row.name, type,
                            bytes_text(times(parameter.bytes, row.repeats)), calls});
    }
    heading("Parameters in the order of their first uses");
    this->table(std::move(table), left_out);
  }

  void buckets(const UseOrder::Buckets& buckets) {
    TextTable table{{{"#", true},
                     {"Bytes", true},
                     {"Params", true},
                     {"First", false, 16, Keep::kEnd},
                     {"Last", false, 16, Keep::kEnd}}};
    auto shown = buckets.list;
    const std::size_t left_out = cut_rows(shown);
    for (const auto& [parameters, bytes] : shown) {
      const std::string mark = bytes > buckets.most_bytes ? " (larger)" : "";
      table.rows.push_back({std::to_string(table.rows.size() + 1), bytes_text(bytes) + mark,
                            static_cast<std::int64_t>(parameters.size()),
                            order_.parameters[parameters.front()].name,
                            parameters.size() == 1 ? "" : order_.parameters[parameters.back()].name});
    }
    heading(counted(static_cast<std::int64_t>(buckets.list.size()), "bucket") + " of at most " +
            bytes_text(buckets.most_bytes));
    this->table(std::move(table), left_out);
  }

  // Returns "a, b and 7 more".
  static std::string list_text(const std::vector<std::string>& texts) {
    const std::size_t shown = std::min(texts.size(), kMostListed);
    const std::string text = joined(std::span(texts).first(shown), one_line);
    return texts.size() == shown ? text : text + " and " + std::to_string(texts.size() - shown) + " more";
  }
  // Returns folded names: "h.0 - 11.b".
  template <class Items, class Name>
  static std::string names_text(const Items& items, Name name) {
    std::vector<std::string_view> names;
    for (const auto& item : items) names.emplace_back(item.*name);
    std::vector<std::string> texts;
    for (const NumberedRow& row : fold_numbered(names, [](std::size_t, std::size_t) { return true; }))
      texts.push_back(row.name);
    return list_text(texts);
  }

  static std::string count_text(const TensorTotal& total) {
    return counted(total.tensors, "parameter") + ", " + counted(total.elements, "element") + " (" +
           bytes_text(total.bytes) + ")";
  }

  void totals() {
    std::vector<Line> lines = {{"Used", count_text(order_.used)}};
    if (!order_.unused.empty()) {
      lines.emplace_back("Unused", count_text(order_.not_used) + ": " +
                                       names_text(order_.unused, &UseOrder::Parameter::name));
    }
    std::vector<std::string> tied, shared;
    for (const auto* list : {&order_.parameters, &order_.unused}) {
      for (const UseOrder::Parameter& parameter : *list) {
        if (!parameter.tied.empty())
          tied.push_back(parameter.name + " = " + joined(parameter.tied, {}, " = "));
      }
    }
    for (const UseOrder::Module& module : order_.modules) {
      if (!module.shared.empty()) shared.push_back(module.path + " = " + joined(module.shared, {}, " = "));
    }
    if (!tied.empty()) lines.emplace_back("Tied", list_text(tied));
    if (!shared.empty()) lines.emplace_back("Shared", list_text(shared));
    if (!order_.never_called.empty())
      lines.emplace_back("Never called", names_text(order_.never_called, &UseOrder::Module::path));
    line();
    list(lines);
  }

  const UseOrder& order_;
};

class OrderCsv {
 public:
  OrderCsv(const UseOrder& order, std::ostream& out)
      : order_(order),
        csv_(out,
             "kind number name type status dtype shape elements bytes first_call calls uses "
             "other_names bucket macs") {
    if (!order.buckets) return;
    bucket_of_.resize(order.parameters.size());
    std::int64_t number = 0;
    for (const UseOrder::Bucket& bucket : order.buckets->list) {
      ++number;
      for (const std::size_t parameter : bucket.parameters) bucket_of_[parameter] = number;
    }
  }

  void document() {
    std::int64_t number = 0;
    for (const auto& item : order_.modules) module(item, ++number);
    number = 0;
    for (const auto& item : order_.parameters) parameter(item, ++number);
    for (const auto& item : order_.never_called) module(item, 0);
    for (const auto& item : order_.unused) parameter(item, 0);
  }

 private:
  std::string first(const std::vector<UseOrder::Place>& places) const {
    return places.empty() ? "" : call_text(order_, places.front());
  }
  std::string all(const std::vector<UseOrder::Place>& places) const {
    return joined(places, [&](const auto& place) { return call_text(order_, place); }, "; ");
  }

  void module(const UseOrder::Module& module, std::int64_t place) {
    const std::string name = module.path + (module.method.empty() ? "" : "." + module.method + "()");
    csv_.row("module", number_text(place), name, module.type, to_string(module.status), "", "",
             module.parameters.elements, module.parameters.bytes, first(module.calls), all(module.calls),
             static_cast<std::int64_t>(module.calls.size()), joined(module.shared, {}, "; "), "",
             module.macs);
  }

  void parameter(const UseOrder::Parameter& parameter, std::int64_t place) {
    const auto calls = calls_of(parameter);
    const bool has_bucket = place > 0 && order_.buckets;
    csv_.row("parameter", number_text(place), parameter.name, "", "", parameter.dtype,
             shape_text(parameter.shape), parameter.elements, parameter.bytes, first(calls), all(calls),
             parameter.use_count, joined(parameter.tied, {}, "; "),
             number_text(has_bucket ? bucket_of_[static_cast<std::size_t>(place - 1)] : 0), "");
  }

  const UseOrder& order_;
  Csv csv_;
  std::vector<std::int64_t> bucket_of_;  // by parameter
};

}  // namespace

void write_order_text(const UseOrder& order, std::ostream& out, const TextLayout& layout) {
  OrderText(order, out, layout).document();
}

void write_order_csv(const UseOrder& order, std::ostream& out) { OrderCsv(order, out).document(); }

// The answer of `fxtrace order --fsdp2`: Python source that shards the model.

namespace {

constexpr std::string_view kFunction = R"py(

def shard(model: torch.nn.Module, **options: Any) -> torch.nn.Module:
    """Shards the parameters of `model`, in place; options are those of fully_shard(): mesh, mp_policy, ..."""
    for path in UNITS:
        fully_shard(model.get_submodule(path), **options)
    fully_shard(model, **options)
)py";

constexpr std::string_view kPrefetch = R"py(    for path, following in FORWARD_PREFETCH.items():
        model.get_submodule(path).set_modules_to_forward_prefetch([model.get_submodule(following)])
    for path, following in BACKWARD_PREFETCH.items():
        model.get_submodule(path).set_modules_to_backward_prefetch([model.get_submodule(following)])
)py";

void write_table(const char* name, const std::vector<std::pair<std::string, std::string>>& pairs,
                 std::ostream& out) {
  out << name << " = {\n";
  for (const auto& [module, following] : pairs)
    out << "    " << python_string(module) << ": " << python_string(following) << ",\n";
  out << "}\n";
}

// Returns the bytes of parameters by the module of `units` that contains them; those of all others by "".
std::unordered_map<std::string_view, std::int64_t> bytes_by_unit(const UseOrder& order,
                                                                 const std::vector<std::string>& units) {
  std::unordered_map<std::string_view, std::int64_t> bytes;
  for (const std::string& unit : units) bytes.emplace(unit, 0);
  std::int64_t& others = bytes[""];
  for (const auto* list : {&order.parameters, &order.unused}) {
    for (const UseOrder::Parameter& parameter : *list) {
      std::string_view path = QualifiedName(parameter.name).parent();
      while (!path.empty() && !bytes.contains(path)) path = QualifiedName(path).parent();
      add_saturated(path.empty() ? others : bytes[path], parameter.bytes);
    }
  }
  return bytes;
}

}  // namespace

void write_order_python(const UseOrder& order, const FsdpPlan& plan, std::ostream& out) {
  const auto bytes = bytes_by_unit(order, plan.units);
  out << "# FSDP2 for " << one_line(order.model.file) << ", in the order in which fxtrace " FXTRACE_VERSION
      << " traced it.\n"
         "from typing import Any\n\n"
         "import torch\n"
         "from torch.distributed.fsdp import fully_shard";
  const bool is_forward = order.model.method.empty() || order.model.method == "forward";
  out << (is_forward ? "\n\n" : ", register_fsdp_forward_method\n\n");
  if (plan.units.empty()) {
    out << "# No blocks repeat that could be sharded by themselves: all parameters are one group, gathered at once.\n";
  } else {
    out << "# Modules that are sharded by themselves, in the order of their first calls. The root has the other\n"
           "# parameters, "
        << bytes_text(bytes.at("")) << ".\n";
  }
  for (const FsdpPlan::LeftOut& block : plan.left_out)
    out << "# " << one_line(block.path) << " stays with the root: " << one_line(block.reason) << ".\n";
  out << "UNITS = [\n";
  for (const std::string& unit : plan.units)
    out << "    " << python_string(unit) << ",  # " << bytes_text(bytes.at(unit)) << "\n";
  out << "]\n";
  if (!plan.units.empty()) {
    out << "\n# While the first runs, the parameters of the second are gathered; \"\" is the root.";
    if (plan.forward.size() < plan.units.size()) {
      out << " A module that is called several\n# times prefetches nothing, as what comes next differs.";
    }
    out << "\n";
    write_table("FORWARD_PREFETCH", plan.forward, out);
    write_table("BACKWARD_PREFETCH", plan.backward, out);
  }
  out << kFunction;
  if (!plan.units.empty()) out << kPrefetch;
  if (!is_forward) {
    out << "    register_fsdp_forward_method(model, " << python_string(order.model.method) << ")\n";
  }
  out << "    return model\n";
}

}  // namespace fxtrace::internal
