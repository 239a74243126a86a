// The answer of `fxtrace order --fsdp2`: Python source that shards the model.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "support/text/columns.h"
#include "support/text/printable.h"
#include "support/text/qualified_name.h"
#include "writers/formats/python_text.h"
#include "writers/reports/order_writers.h"

namespace fxtrace::internal {
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
