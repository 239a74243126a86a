#include "compare/pairing/common_form.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <optional>
#include <ranges>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "analysis/identity_call.h"
#include "analysis/node_arguments.h"
#include "compare/pairing/compared_graph.h"
#include "graph/analysis/fold_numbers.h"
#include "graph/analysis/input_sizes.h"
#include "graph/analysis/text_form.h"
#include "graph/rewrite.h"
#include "graph/text_rewrite.h"
#include "operators/names/modules.h"
#include "operators/target.h"
#include "opinfo/operator_row.h"
#include "opinfo/traits.h"
#include "passes/pass.h"
#include "symbolic/python_operators.h"

namespace fxtrace::internal {
namespace {

bool is_dimension(std::string_view name) { return name.starts_with("dim") || name.starts_with("axis"); }

bool is_number(const Argument& argument) {
  return argument.is<bool>() || argument.is<std::int64_t>() || argument.is<double>();
}

// Returns whether the node is an operator that torch.export applies to a tensor that the code makes of
// numbers.
bool gives_tensor_of_code(const Node& node) {
  return node.target == "aten.lift_fresh_copy.default" || node.target == "aten.detach_.default";
}

// Calls that are written in another way.
const std::array<TextRewrite, 3>& rewrites() {
  static const std::array<TextRewrite, 3> rows{{
      // 1 - x is rsub(x, 1) in Python, and neg(x) + 1 in TorchScript's code.
      {"aten: add.Tensor add.Scalar(aten.neg(x), n=number, alpha=1)", "aten.sub.Tensor(n, x)"},
      {"aten: rsub.Tensor rsub.Scalar(x, y=any, alpha=1)", "aten.sub.Tensor(y, x)"},
      {"aten.copy_(x, n=number)", "aten.fill_.Scalar(x, n)"},  // x[0] = 1 in TorchScript's code
  }};
  return rows;
}

// The names of parameters, by the first name of those that are tied.
class TiedNames {
 public:
  explicit TiedNames(const GraphCollection& collection) {
    for (const ParameterRecord& record : collection.parameters)
      names_.emplace(record.alias_of.value_or(record.name), record.name);
  }

  // Returns whether the parameter is, under one of its names, one of the module.
  bool is_in(const std::string& first_name, const std::string& module) const {
    const std::string prefix = module + ".";
    const auto found = names_.lower_bound(std::pair(first_name, prefix));
    return found != names_.end() && found->first == first_name && found->second.starts_with(prefix);
  }

 private:
  std::set<std::pair<std::string, std::string>> names_;
};

// The walk over one graph, without its subgraphs.
class CommonForm {
 public:
  CommonForm(ModuleGraph& graph, Semantics& semantics, const TiedNames& names)
      : graph_(graph), semantics_(semantics), names_(names) {
    for (const auto& [name, constant] : graph.constants) constants_.emplace(name, &constant);
  }

  void run() {
    for (const NodeId id : graph_.graph.order()) {
      numbers_.apply(graph_, id);
      read_written(id);
      const Node& node = graph_.graph.node(rewrite_in_common_form(id));
      if (auto number = number_of(node)) {
        numbers_.add(node.id, std::move(*number));
      } else if (auto size = size_of(node)) {
        put_size(node, std::move(*size));
      } else if (const auto same = same_as(node)) {
        replace_node(graph_, node.id, *same);
      } else if (node.op == Opcode::kCallModule) {
        drop_own_parameters(node);
        note_written(node);
      } else if (!take_batch_of_one(node)) {
        write_as_others(node);
        note_written(node);
      }
    }
    numbers_.apply_to_ends(graph_);
    std::ranges::move(made_, std::back_inserter(graph_.constants));
  }

 private:
  // Returns the value of a node that is known: a constant that torch.jit.trace made of a number, a result
  // computed from numbers, the device of a tensor.
  std::optional<Argument> number_of(const Node& node) {
    if (node.op == Opcode::kGetAttr) return constant_number(node);
    if (node.target == "torch.tensor" && node.args.size() == 1 && is_number(node.args[0]) && node.meta->dtype)
      return as_dtype(node.args[0], dtype_name(*node.meta->dtype));
    if (node.op != Opcode::kCallFunction || node.model_function || node.args.empty()) return std::nullopt;
    if (const auto* id = node.args[0].get_if<NodeId>(); id != nullptr && node.target == "builtins.getattr") {
      const Meta& meta = graph_.graph.node(*id).meta;
      const bool is_device = node.args.size() == 2 && node.args[1] == Argument("device") && meta.dtype;
      return is_device ? std::optional<Argument>(Argument::Device{meta.device_or_cpu().text()})
                       : std::nullopt;
    }
    const OperatorEntry* info = semantics_.find_operator(node.target);
    if (info == nullptr || !is_number(node.args[0])) return std::nullopt;
    if (info->identity.when == When::kSameType) return converted(node, *info);
    if (!std::ranges::all_of(node.args, is_number)) return std::nullopt;
    const bool gives_first = known_number_of(node.target) == KnownNumber::kOfNumber ||
                             info->identity.when == When::kAlways || gives_tensor_of_code(node);
    if (gives_first) return node.args.front();
    if (!node.kwargs.empty()) return std::nullopt;
    const TargetParts parts = target_parts(node);
    return fold(facts_of("aten::" + std::string(parts.name)).on_values, node.args);
  }

  // Returns the number that `to` converts: torch.jit.trace converts numbers whose dtype torch.export has in a
  // tensor.
  static std::optional<Argument> converted(const Node& node, const OperatorEntry& info) {
    const Argument* given = NodeArguments(node, info).find_argument("dtype");
    const auto* dtype = given == nullptr ? nullptr : given->get_if<Argument::Dtype>();
    return dtype == nullptr ? std::nullopt : as_dtype(node.args[0], dtype->name);
  }

  // Returns a number as the element of a tensor of that dtype.
  static std::optional<Argument> as_dtype(const Argument& number, std::string_view dtype) {
    const auto* integer = number.get_if<std::int64_t>();
    const auto* real = number.get_if<double>();
    if (integer == nullptr && real == nullptr)
      return dtype == "bool" && number.is<bool>() ? std::optional(number) : std::nullopt;
    const double value = integer != nullptr ? static_cast<double>(*integer) : *real;
    if (integer != nullptr && (dtype == "int64" || dtype == "int32")) return *integer;
    if (dtype == "float64") return value;
    if (dtype == "float32") return static_cast<double>(static_cast<float>(value));
    return std::nullopt;
  }

  std::optional<Argument> constant_number(const Node& node) const {
    const auto found = constants_.find(*node.target);
    if (found == constants_.end() || !found->second->shape.empty()) return std::nullopt;
    const auto& data = found->second->data;
    return data && data->size() == 1 ? std::optional(data->front()) : std::nullopt;
  }

  // Returns the operand of broadcast_tensors(x, y)[0] if it has the sizes of the result already.
  std::optional<NodeId> unbroadcast(const Node& item, const Node& call) const {
    const auto index = item_index(item);
    const bool is_call = call.target == "aten.broadcast_tensors.default" && !call.args.empty();
    const auto* list = is_call ? call.args[0].get_if<Argument::List>() : nullptr;
    if (list == nullptr || !index || *index >= list->items.size()) return std::nullopt;
    const auto* id = list->items[*index].get_if<NodeId>();
    const bool is_same =
        id != nullptr && item.meta->shape && graph_.graph.node(*id).meta->shape == item.meta->shape;
    return is_same ? std::optional(*id) : std::nullopt;
  }

  // Returns the first constant that is equal to this one: torch.jit.trace keeps equal constants once.
  std::optional<NodeId> equal_constant(const Node& node) {
    const auto found = constants_.find(*node.target);
    if (found == constants_.end() || !found->second->data) return std::nullopt;
    const auto [first, is_new] = first_of_.try_emplace(found->second, node.id);
    if (!is_new) return first->second;
    const Constant& constant = *found->second;
    std::string text = constant.dtype;
    for (const std::int64_t size : constant.shape) text += " " + std::to_string(size);
    for (const Argument& element : *constant.data) text += "," + print_argument(element);
    first->second = equal_.try_emplace(std::move(text), node.id).first->second;
    return first->second == node.id ? std::nullopt : std::optional(first->second);
  }

  std::optional<NodeId> same_as(const Node& node) {
    if (node.op == Opcode::kGetAttr) return equal_constant(node);
    if (node.args.empty() || !node.args.front().is<NodeId>()) return std::nullopt;
    const NodeId first = *node.args.front().get_if<NodeId>();
    // In traces of dropout, some nodes read its input and some its result.
    const bool is_identity =
        (traits_of_module(node.scope->module_type.value_or("")) & module_traits::kIdentity) != 0;
    if (node.op == Opcode::kCallModule && is_identity) return first;
    if (node.op != Opcode::kCallFunction) return std::nullopt;
    if (node.target == "operator.getitem") {
      const Node& from = graph_.graph.node(first);
      const bool is_result = from.op == Opcode::kCallModule || results_.contains(first.index);
      if (is_result) results_.insert(node.id.index);
      return is_result && item_index(node) == 0 ? std::optional(first) : unbroadcast(node, from);
    }
    if (node.target == "builtins.list" || is_copy_of_itself(node)) return first;
    if (node.args.size() == 1 && (node.target == "aten.contiguous.default" || gives_tensor_of_code(node)))
      return first;
    const OperatorEntry* info = node.model_function ? nullptr : semantics_.find_operator(node.target);
    if (info == nullptr || !internal::gives_input(graph_.graph, node, *info)) return std::nullopt;
    const IdentityRule rule = info->identity;
    if (rule.copies || rule.gives >= node.args.size()) return std::nullopt;
    const auto* input = node.args[rule.gives].get_if<NodeId>();
    return input == nullptr ? std::nullopt : std::optional(*input);
  }

  // Makes the node read the last result of values that were written in place.
  void read_written(NodeId id) {
    replace_inputs(graph_, id, [&](NodeId input) -> std::optional<Argument> {
      const auto last = last_.find(root_of(input).index);
      return last == last_.end() || last->second == input ? std::nullopt
                                                          : std::optional<Argument>(last->second);
    });
  }

  // Returns the value that was written in place first, if the node is a result of such writes; else the node.
  NodeId root_of(NodeId id) const {
    const auto found = roots_.find(id.index);
    return found == roots_.end() ? id : NodeId{found->second};
  }

  void note_written(const Node& node) {
    const auto* input = node.args.empty() ? nullptr : node.args.front().get_if<NodeId>();
    if (input == nullptr || node.model_function || !gives_written(node)) return;
    const std::uint32_t root = roots_.try_emplace(input->index, input->index).first->second;
    roots_.emplace(node.id.index, root);
    last_[root] = node.id;
  }

  // Returns whether the node writes its first argument in place and returns it.
  bool gives_written(const Node& node) {
    if (node.op == Opcode::kCallModule) {  // nn.ReLU(inplace=True)
      const Effects effects = semantics_.effects(graph_, node);
      const std::vector<NodeId> input{*node.args.front().get_if<NodeId>()};
      return !effects.is_unknown && effects.written == input && effects.shared == input;
    }
    const OperatorEntry* info =
        node.op == Opcode::kCallFunction ? semantics_.find_operator(node.target) : nullptr;
    if (info == nullptr || info->schema.results.size() != 1) return false;
    const auto& alias = info->schema.results.front().alias;
    return alias && alias->writes && info->schema.arguments.front().is_written;
  }

  // Returns whether the node copies a tensor to itself: in Python, x[0] += 1 assigns to x[0] what was
  // computed in place there.
  bool is_copy_of_itself(const Node& node) {
    if (node.target != "aten.copy_.default" || node.args.size() != 2) return false;
    const auto* written = node.args[0].get_if<NodeId>();
    const auto* value = node.args[1].get_if<NodeId>();
    return written != nullptr && value != nullptr && is_same_memory(*written, *value);
  }

  // Returns whether both values are the same view of the same tensor.
  bool is_same_memory(NodeId a, NodeId b) {
    constexpr int kMostViews = 16;
    for (int i = 0; i < kMostViews; ++i) {
      a = root_of(a);
      b = root_of(b);
      if (a == b) return true;
      const Node& first = graph_.graph.node(a);
      const Node& second = graph_.graph.node(b);
      if (first.target != second.target || first.kwargs != second.kwargs || first.args.empty() ||
          !std::ranges::equal(first.args | std::views::drop(1), second.args | std::views::drop(1)))
        return false;
      const OperatorEntry* info =
          first.op == Opcode::kCallFunction ? semantics_.find_operator(first.target) : nullptr;
      const auto* x = first.args.front().get_if<NodeId>();
      const auto* y = second.args.front().get_if<NodeId>();
      const bool is_view = info != nullptr && std::ranges::any_of(info->aliases, [](const Alias& alias) {
                             return alias.always && alias.argument == 0;
                           });
      if (!is_view || x == nullptr || y == nullptr) return false;
      a = *x;
      b = *y;
    }
    return false;
  }

  // Returns the node, or one in its place that does the same in the form of the other file.
  NodeId rewrite_in_common_form(NodeId id) {
    const Node& node = graph_.graph.node(id);
    if (node.op != Opcode::kCallFunction || node.model_function) return id;
    Graph::NodeSpec spec = spec_like(node);
    if (!put_text(node, spec) && !put_constant(node, spec)) return id;
    const NodeId made = graph_.graph.insert_before(id, std::move(spec));
    replace_node(graph_, id, made);
    return made;
  }

  // Writes the call as a row says that fits it.
  bool put_text(const Node& node, Graph::NodeSpec& spec) const {
    const TextLookup lookup{
        [&](NodeId id) -> const Node& { return graph_.graph.node(id); },
        [](const Argument& given, const std::string& type) { return type == "any" || is_number(given); }};
    return std::ranges::any_of(rewrites(), [&](const TextRewrite& row) {
      const auto found = row.before.match(*node.target, node.args, node.kwargs, lookup);
      return found && row.after.make(*found, [&](const std::string& target, auto args, const Kwargs&, bool) {
        spec.target = target;
        spec.args = std::move(args);
        return Argument();
      });
    });
  }

  // Writes a tensor that the code makes of numbers as a constant.
  bool put_constant(const Node& node, Graph::NodeSpec& spec) {
    const auto* list = node.target == "torch.tensor" && node.args.size() == 1
                           ? node.args[0].get_if<Argument::List>()
                           : nullptr;
    if (list == nullptr || !node.meta->shape || node.meta->device) return false;
    const std::string dtype = node.meta->dtype_text().value_or(list->items.empty() ? "float32" : "");
    Constant constant{dtype, {}, std::vector<Argument>(), ""};
    for (const Meta::Dim& size : *node.meta->shape) {
      if (!size.number()) return false;
      constant.shape.push_back(*size.number());
    }
    bool are_known = true;
    for_each_value(node.args[0], [&](const Argument& value) {
      if (value.is<Argument::List>() || !are_known) return;
      auto element = as_dtype(value, constant.dtype);
      are_known = element && constant.data->size() < kMaxConstantElements;
      if (are_known) constant.data->push_back(std::move(*element));
    });
    const std::string name = "_tensor_" + node.name;
    if (!are_known || constants_.contains(name)) return false;
    const auto& [kept, value] = made_.emplace_back(name, std::move(constant));
    constants_.emplace(kept, &value);
    spec.op = Opcode::kGetAttr;
    spec.target = name;
    return true;
  }

  // Takes the batch of one from around a convolution: torch.jit.trace has it for a single sample.
  bool take_batch_of_one(const Node& node) {
    const auto input_of = [&](const Node& of) {
      const auto* id = of.args.empty() ? nullptr : of.args.front().get_if<NodeId>();
      return id == nullptr ? nullptr : &graph_.graph.node(*id);
    };
    const auto is_along_first = [](const Node& of) { return of.args[1] == Argument(std::int64_t{0}); };
    const Node* convolution = node.target == "aten.squeeze.dim" ? input_of(node) : nullptr;
    if (convolution == nullptr || !operator_name(*convolution).starts_with("aten.conv")) return false;
    const Node* batch = input_of(*convolution);
    if (batch == nullptr || batch->target != "aten.unsqueeze.default" || node.args.size() != 2 ||
        batch->args.size() != 2 || convolution->users.size() != 1 || !is_along_first(node) ||
        !is_along_first(*batch))
      return false;
    std::vector<Argument> args = convolution->args;
    args.front() = batch->args.front();
    const NodeId id = convolution->id;
    graph_.graph.set_args(id, std::move(args), Kwargs(convolution->kwargs));
    graph_.graph.meta(id) = *node.meta;
    replace_node(graph_, node.id, id);
    return true;
  }

  // Drops a parameter of the module among its arguments: torch.jit.trace passes a tied parameter that was
  // used before under another name.
  void drop_own_parameters(const Node& node) {
    std::vector<Argument> args = node.args;
    std::erase_if(args, [&](const Argument& argument) {
      const auto* id = argument.get_if<NodeId>();
      if (id == nullptr || graph_.graph.node(*id).op != Opcode::kGetAttr) return false;
      return names_.is_in(semantics_.first_name(graph_.graph.node(*id).target), called_module(node));
    });
    if (args.size() != node.args.size()) graph_.graph.set_args(node.id, std::move(args), Kwargs(node.kwargs));
  }

  // Returns the value of an integer that is an expression of dimensions, or that is computed from such: as
  // numbers in torch.export, as tensors in torch.jit.trace.
  std::optional<Expression> size_of(const Node& node) {
    if (node.op != Opcode::kCallFunction || node.model_function) return std::nullopt;
    if (node.meta->value && node.meta->kind() != ValueKind::kFloat) return node.meta->value;
    const auto known = [&](const Argument& argument) -> std::optional<Expression> {
      if (const auto* real = argument.get_if<double>()) return Expression::floating(*real);
      const auto* id = argument.get_if<NodeId>();
      const bool is_other = id != nullptr && !is_size(graph_.graph.node(*id));
      return is_other ? std::nullopt : known_size(graph_.graph, argument);
    };
    const auto first = node.args.empty() ? std::nullopt : known(node.args[0]);
    if (!first) return std::nullopt;
    const KnownNumber kind = known_number_of(node.target);
    if (kind == KnownNumber::kOfNumber || kind == KnownNumber::kFloat || node.target == "torch.sym_float")
      return first;
    const auto second = node.args.size() < 2 ? std::nullopt : known(node.args[1]);
    const OperatorEntry* info = semantics_.find_operator(node.target);
    const std::string_view function = node.target == "math.pow" ? "operator.pow"
                                      : info == nullptr         ? std::string_view(*node.target)
                                                                : facts_of(info->row->base_name()).on_values;
    const std::string_view symbol = python_symbol(function);
    constexpr std::size_t kLongest = 200;
    if (!second || symbol.empty() || node.args.size() > 2) return std::nullopt;
    const std::string text = "(" + first->text() + ")" + std::string(symbol) + "(" + second->text() + ")";
    return text.size() > kLongest ? std::nullopt : std::optional(Expression::parse(text));
  }

  // Makes the node a size without arguments, or replaces it by the first node of an equal size.
  void put_size(const Node& node, Expression size) {
    const auto [first, is_new] = sizes_.try_emplace(size.text(), node.id);
    if (!is_new) return replace_node(graph_, node.id, first->second);
    const NodeId id = node.id;
    graph_.graph.set_args(id, {}, {});
    Meta& meta = graph_.graph.meta(id);
    meta = {};
    meta.type = "int";
    meta.value = std::move(size);
  }

  // Returns the length of a list that an operator makes, if it is known.
  std::optional<std::int64_t> item_count(const Node& list) {
    const auto [entry, is_new] = item_counts_.try_emplace(list.id.index);
    if (!is_new) return entry->second;
    const bool is_call = list.op == Opcode::kCallFunction && !list.model_function;
    const OperatorEntry* info = is_call ? semantics_.find_operator(list.target) : nullptr;
    if (info == nullptr) return std::nullopt;
    const Results results =
        inferred_results(*info, list, [&](NodeId id) { return known_value(*graph_.graph.node(id).meta); });
    if (results.size() == 1 && results[0].sequence() != nullptr)
      entry->second = static_cast<std::int64_t>(results[0].sequence()->size());
    return entry->second;
  }

  // Counts dimensions and items from the front, and leaves out the start and the end of a slice of a whole
  // dimension.
  void write_as_others(const Node& node) {
    if (node.op != Opcode::kCallFunction || node.model_function || node.args.empty()) return;
    const auto* input = node.args.front().get_if<NodeId>();
    if (input != nullptr && node.target == "operator.getitem" && node.args.size() == 2) {
      const auto* index = node.args[1].get_if<std::int64_t>();
      const auto count =
          index != nullptr && *index < 0 ? item_count(graph_.graph.node(*input)) : std::nullopt;
      if (count && *index >= -*count)
        graph_.graph.set_args(node.id, {*input, *index + *count}, Kwargs(node.kwargs));
      return;
    }
    const OperatorEntry* info = semantics_.find_operator(node.target);
    if (input == nullptr || info == nullptr) return;
    const auto& before = graph_.graph.node(*input).meta->shape;
    const auto& after = node.meta->shape;
    const std::size_t dimensions = before && after ? std::max(before->size(), after->size()) : 0;
    const auto rank = static_cast<std::int64_t>(dimensions);
    std::vector<Argument> args = node.args;
    for (std::size_t i = 1; i < std::min(args.size(), info->schema.arguments.size()); ++i) {
      const auto* number = args[i].get_if<std::int64_t>();
      const SchemaArgument& known = info->schema.arguments[i];
      if (number == nullptr) continue;
      const bool is_end = known.type.is_optional() && ((known.name == "start" && *number == 0) ||
                                                       (known.name == "end" && *number == INT64_MAX));
      if (is_end) {
        args[i] = Argument::None{};
      } else if (is_dimension(known.name) && *number < 0 && *number >= -rank) {
        args[i] = *number + rank;
      }
    }
    if (args != node.args) graph_.graph.set_args(node.id, std::move(args), Kwargs(node.kwargs));
  }

  ModuleGraph& graph_;
  Semantics& semantics_;
  const TiedNames& names_;
  std::unordered_map<std::uint32_t, std::optional<std::int64_t>> item_counts_;  // by node
  std::unordered_map<std::string_view, const Constant*> constants_;
  std::deque<std::pair<std::string, Constant>> made_;  // constants that the walk makes
  std::unordered_map<std::string, NodeId> sizes_;      // by their text
  std::unordered_set<std::uint32_t> results_;          // items of results of modules
  // The first node that reads a constant, or one with the same text.
  std::unordered_map<const Constant*, NodeId> first_of_;
  std::unordered_map<std::string, NodeId> equal_;
  // Values that are written in place: the first value, by it and by each result; the last result, by the
  // first value.
  std::unordered_map<std::uint32_t, std::uint32_t> roots_;
  std::unordered_map<std::uint32_t, NodeId> last_;
  Replacements numbers_;
};

}  // namespace

bool are_of_two_kinds(const GraphCollection& a, const GraphCollection& b) {
  return a.model.is_torchscript() != b.model.is_torchscript();
}

std::vector<ModuleGraph> common_form(const GraphCollection& collection) {
  PassContext context(collection);
  const TiedNames names(collection);
  std::vector<ModuleGraph> graphs = collection.graphs;
  for (ModuleGraph& graph : graphs) {
    const InputSizes sizes(graph);
    std::erase_if(graph.guards, [&](const Guard& guard) { return sizes.is_told_by_shapes(guard.expr); });
    fold_constants(graph, context);
    context.for_each_graph(graph,
                           [&](ModuleGraph& each) { CommonForm(each, context.semantics, names).run(); });
    fold_constants(graph, context);  // of numbers that were tensors
    eliminate_dead_code(graph, context);
  }
  return graphs;
}

}  // namespace fxtrace::internal
