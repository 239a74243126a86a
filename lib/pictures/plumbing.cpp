#include "pictures/plumbing.h"

#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "operators/names/function_traits.h"
#include "operators/operators.h"
#include "opinfo/operator_entry.h"
#include "opinfo/traits.h"

namespace fxtrace::internal {
namespace {

bool is_any_of(std::string_view name, std::initializer_list<std::string_view> names) {
  for (const std::string_view other : names) {
    if (name == other) return true;
  }
  return false;
}

// Returns whether a value of that type may hold a tensor or an object, so that a picture must show its
// source.
bool may_hold_tensor(const Meta& meta) {
  switch (meta.kind()) {
    case ValueKind::kTensor:
      return true;
    case ValueKind::kInt:
    case ValueKind::kFloat:
    case ValueKind::kBool:
    case ValueKind::kString:
      return false;
    case ValueKind::kOther:
      break;
  }
  if (!meta.type) return true;
  // A type such as "List[int]" or "Tuple[int, Optional[float]]" consists of these words only.
  std::string_view rest = *meta.type;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find_first_of("[], "), rest.size());
    const std::string_view word = rest.substr(0, end);
    if (!word.empty() &&
        !is_any_of(word, {"List",       "Tuple",  "Optional",     "Dict",    "int",         "float",
                          "bool",       "str",    "number",       "complex", "None",        "NoneType",
                          "Device",     "device", "torch.device", "dtype",   "torch.dtype", "Size",
                          "torch.Size", "SymInt", "SymBool",      "SymFloat"})) {
      return true;
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

class Roles {
 public:
  Roles(const ModuleGraph& graph, const std::vector<NodeId>& order) : graph_(graph.graph), order_(order) {
    for (const auto& [name, constant] : graph.constants) constants_.insert(name);
  }

  std::vector<Role> find() {
    std::vector<Role> roles;
    roles.reserve(order_.size());
    for (const NodeId id : order_) {
      const Role role = role_of(graph_.node(id));
      by_id_.emplace(id.index, role);
      roles.push_back(role);
    }
    return roles;
  }

 private:
  Role role_of(const Node& node) const {
    switch (node.op) {
      case Opcode::kPlaceholder:
      case Opcode::kOutput:
      case Opcode::kCallModule:
        return Role::kShown;
      case Opcode::kGetAttr:
        return constants_.contains(*node.target) ? Role::kConstant : Role::kAttribute;
      case Opcode::kCallFunction:
      case Opcode::kCallMethod:
        break;
    }
    if (node.target == "operator.getitem" && !node.args.empty()) {
      const auto* container = node.args[0].get_if<NodeId>();
      if (container == nullptr) return Role::kShown;
      return may_hold_tensor(node.meta) && role_of(*container) != Role::kPlumbing ? Role::kPass
                                                                                  : Role::kPlumbing;
    }
    if (node.op == Opcode::kCallMethod) return Role::kShown;
    if (takes_stored_part(*node.target) && !node.args.empty() && node.args[0].get_if<NodeId>() != nullptr)
      return Role::kPass;
    if (does_nothing(node) || is_size(node)) return Role::kPlumbing;
    if (copies_constant(node)) return Role::kPass;
    return is_constant(node) ? Role::kConstant : Role::kShown;
  }

  // Returns whether a node is a mode or an assert, which computes nothing.
  static bool does_nothing(const Node& node) {
    if (has_trait(find_operator(target_parts(node)), traits::kAsserts)) return true;
    using namespace function_traits;
    const FunctionTraits python = find_python_function(*node.target).traits;
    return (python & (kOpensRegion | kClosesRegion | kSetsMode | kLogs)) != 0;
  }

  bool is_size(const Node& node) const {
    const TargetParts parts = target_parts(node);
    const Operator* op = find_operator(parts);
    if (has_trait(op, traits::kGivesSize)) return true;
    if (may_hold_tensor(node.meta)) return false;
    if (has_trait(op, traits::kReadsData)) return takes_constants(node);
    if (parts.kind == TargetKind::kHigherOrder || node.model_function) return false;
    if (parts.kind == TargetKind::kOperator && op == nullptr) return false;
    // A node is a query of tensors (x.dtype, len(x), an operator whose result is not a tensor), or
    // arithmetic on the results of queries.
    bool reads_tensors = false;
    bool reads_numbers = false;
    for_each_input(node, [&](NodeId input) {
      const Node& source = graph_.node(input);
      const bool is_tensor = may_hold_tensor(source.meta);
      (is_tensor ? reads_tensors : reads_numbers) |=
          role_of(input) == Role::kShown && source.op != Opcode::kPlaceholder;
    });
    return !reads_numbers &&
           (!reads_tensors || op != nullptr || is_any_of(*node.target, {"builtins.getattr", "builtins.len"}));
  }

  // Returns whether the result depends on neither inputs nor parameters nor random numbers.
  bool is_constant(const Node& node) const {
    if (node.target == "aten._shape_as_tensor.default") return true;  // the sizes as a tensor
    const Operator* op = find_operator(target_parts(node));
    const bool is_pure_call =
        op != nullptr ? is_pure(op) && !has_trait(op, traits::kRandom) : node.target == "torch.tensor";
    if (!is_pure_call || !may_hold_tensor(node.meta)) return false;
    return takes_constants(node);
  }

  bool takes_constants(const Node& node) const {
    bool all = true;
    for_each_input(node, [&](NodeId input) { all = all && is_known(input); });
    return all;
  }

  bool is_known(NodeId id) const {
    while (role_of(id) == Role::kPass) id = *graph_.node(id).args[0].get_if<NodeId>();
    return role_of(id) == Role::kPlumbing || role_of(id) == Role::kConstant;
  }

  bool copies_constant(const Node& node) const {
    const Operator* op = find_operator(target_parts(node));
    const Operator* twin = op != nullptr ? entry_of(*op).twin : nullptr;  // detach_ is treated like detach
    if (twin == nullptr || entry_of(*twin).identity.when != When::kAlways) return false;
    const auto* source = node.args.empty() ? nullptr : node.args[0].get_if<NodeId>();
    return source != nullptr && is_known(*source);
  }

  Role role_of(NodeId id) const {
    const auto found = by_id_.find(id.index);
    return found == by_id_.end() ? Role::kShown : found->second;
  }

  const Graph& graph_;
  const std::vector<NodeId>& order_;
  std::unordered_set<std::string_view> constants_;  // names of constants of the code
  std::unordered_map<std::uint32_t, Role> by_id_;
};

}  // namespace

std::vector<Role> find_roles(const ModuleGraph& graph, const std::vector<NodeId>& order) {
  return Roles(graph, order).find();
}

}  // namespace fxtrace::internal
