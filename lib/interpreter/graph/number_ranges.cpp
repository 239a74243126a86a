#include "interpreter/graph/number_ranges.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "operators/operators.h"
#include "opinfo/python_spelling.h"
#include "opinfo/traits.h"
#include "support/text/words.h"

namespace fxtrace::internal::interpreter {
namespace {

constexpr int kMaxDepth = 12;
constexpr int kMaxSteps = 100;

std::string_view type_name_of(const Node& node) {
  switch (node.meta->kind()) {
    case ValueKind::kInt:
      return "int";
    case ValueKind::kBool:
      return "bool";
    default:
      return "float";
  }
}

// Returns whether the argument is a list of sizes: x.size(), x.shape[1:].
bool is_list_of_sizes(const Graph& graph, const Argument& argument) {
  const auto* id = argument.get_if<NodeId>();
  if (id == nullptr) return false;
  const Node& node = graph.node(*id);
  if (node.target == "builtins.getattr") return node.args[1] == Argument("shape");
  if (node.target == "operator.getitem")
    return node.args[1].is<Argument::Slice>() && is_list_of_sizes(graph, node.args[0]);
  return node.target == "aten.size.default";
}

bool is_size(const Graph& graph, const Node& node) {
  if (node.target == "operator.getitem" && node.args.size() == 2)
    return !node.args[1].is<Argument::Slice>() && is_list_of_sizes(graph, node.args[0]);
  return node.target == "builtins.len" ||
         has_trait(find_operator(parse_target(*node.target)), traits::kGivesSize);
}

// Returns the schema with int or float in place of Scalar where that is the type of the value.  Operators of
// one Scalar are left as they are, since they compute with 32 bits; conversions do not.
Schema with_types_of(const Values& values, Schema schema) {
  if (schema.arguments.size() == 1 && schema.results.front().name == "Scalar") return schema;
  for (std::size_t i = 0; i < std::min(values.size(), schema.arguments.size()); ++i) {
    std::string& name = schema.arguments[i].type.name;
    const TypeKind kind = dynamic_type(values[i])->kind();
    if (name == "Scalar" && kind == TypeKind::kInt) name = "int";
    if (name == "Scalar" && kind == TypeKind::kFloat) name = "float";
  }
  return schema;
}

}  // namespace

bool NumberRanges::differs_in_python(const IrNode* node, const FunctionSchema& schema,
                                     const Schema& plain_schema, const Values& values) {
  // A list equals itself whatever it holds; operators of torch.ops get copies.
  if (values.size() == 2 && values[0].is(values[1]) && dynamic_type(values[0])->kind() == TypeKind::kList)
    return false;
  const bool is_asked_of_any = has_word("aten::Float aten::eq aten::ne", schema.name);
  if (is_asked_of_any &&
      std::ranges::all_of(values, [&](const Value& value) { return is_boolean_of_code(value); }))
    return false;
  const Schema typed = with_types_of(values, plain_schema);
  const auto differs = [&](bool uses_dimensions) {
    uses_dimensions_ = uses_dimensions;
    steps_ = 0;
    std::vector<NumberRange> ranges;
    for (std::size_t i = 0; i < std::min(values.size(), typed.arguments.size()); ++i)
      ranges.push_back(of_value(values[i], typed.arguments[i].type));
    return internal::differs_in_python(schema.name, typed, ranges);
  };
  if (!differs(false)) return false;
  if (!run_.shapes || node->outputs().size() != 1) return true;
  std::set<std::string> noted = state_.take_ranges();
  const bool still_differs = differs(true);
  const std::set<std::string> ranges = state_.take_ranges();
  state_.ranges = std::move(noted);
  if (!still_differs) recorder_.rely_on(node, schema.name, values, {}, ranges);
  return still_differs;
}

// Returns whether the value is torch.tensor(True).item(), of which LibTorch makes a bool when it loads the
// code; of any other tensor of bools it makes a number that few operators take.
bool NumberRanges::is_boolean_of_code(const Value& value) const {
  const Proxy* proxy = recorder_.find_recorded(value);
  if (proxy == nullptr) return value.is_bool();
  const Graph& graph = tracer_.graph_of(proxy->ref);
  const Node& item = graph.node(proxy->ref.node);
  const auto* tensor = item.target == "aten.item.default" ? item.args[0].get_if<NodeId>() : nullptr;
  if (tensor == nullptr) return false;
  const Node& made = graph.node(*tensor);
  return made.target == "torch.tensor" && made.args[0].is<bool>() && made.kwargs.empty();
}

NumberRange NumberRanges::of_value(const Value& value, const SchemaType& type) {
  if (value.is_int()) return range_of_number(static_cast<double>(value.to_int()));
  if (value.is_double()) return range_of_number(value.to_double());
  if (value.is_bool()) return range_of_number(value.to_bool() ? 1 : 0);
  const Proxy* proxy = recorder_.find_recorded(value);
  return proxy == nullptr ? range_of_type(type.name) : of_node(proxy->ref, 0);
}

NumberRange NumberRanges::of_argument(const NodeRef& user, const Argument& argument, int depth) {
  if (const auto* integer = argument.get_if<std::int64_t>())
    return range_of_number(static_cast<double>(*integer));
  if (const auto* real = argument.get_if<double>()) return range_of_number(*real);
  if (const auto* boolean = argument.get_if<bool>()) return range_of_number(*boolean ? 1 : 0);
  const auto* id = argument.get_if<NodeId>();
  return id == nullptr ? NumberRange{} : of_node({user.graph, *id}, depth);
}

NumberRange NumberRanges::of_node(const NodeRef& ref, int depth) {
  const Graph& graph = tracer_.graph_of(ref);
  const Node& node = graph.node(ref.node);
  const std::string_view type = type_name_of(node);
  NumberRange range = range_of_type(type);
  if (node.op == Opcode::kPlaceholder) {
    if (const NodeRef outer = tracer_.captured_by(ref); outer.valid()) range = of_node(outer, depth);
  } else if (node.op == Opcode::kCallFunction && !node.model_function && is_size(graph, node)) {
    range = range_of_size();
  } else if (node.op == Opcode::kCallFunction && target_parts(node).kind == TargetKind::kPython &&
             depth < kMaxDepth && ++steps_ < kMaxSteps) {
    std::vector<NumberRange> ranges;
    for (const Argument& argument : node.args) ranges.push_back(of_argument(ref, argument, depth + 1));
    range = range_of_result(*node.target, type, ranges);
  }
  const SymInt* size = uses_dimensions_ && node.meta->value ? node.meta->value->size() : nullptr;
  if (size == nullptr) return range;
  const Range bounds = state_.dimensions.bounds(*size);
  if (bounds.low) range.low = std::max(range.low, static_cast<double>(*bounds.low));
  if (bounds.high) range.high = std::min(range.high, static_cast<double>(*bounds.high));
  return range;
}

}  // namespace fxtrace::internal::interpreter
