#include "trace/tracer/guard_expression.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <queue>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "graph/analysis/input_sizes.h"
#include "operators/operators.h"
#include "operators/target.h"
#include "opinfo/operator_entry.h"
#include "opinfo/python_spelling.h"
#include "opinfo/traits.h"
#include "support/integers.h"
#include "support/text/identifier.h"
#include "support/text/unicode.h"
#include "symbolic/python_operators.h"

namespace fxtrace::internal {
namespace {

using Kind = Expression::Kind;

enum class Style : std::uint8_t { kGuard, kMessage };

constexpr int kMaxMessageDepth = 8;
constexpr int kMaxMessageNodes = 60;
constexpr std::size_t kMaxMessageItems = 60;  // shown of one list
constexpr std::size_t kMaxMessageLength = 160;
constexpr std::string_view kAten = "aten::";

// a.b.0.c -> getattr(a.b, '0').c
Expression path(Expression object, std::string_view names) {
  while (!names.empty()) {
    const std::size_t end = std::min(names.find('.'), names.size());
    const std::string name(names.substr(0, end));
    object = is_identifier(name) ? Expression::attribute(std::move(object), name)
                                 : Expression::call(Expression::name("getattr"),
                                                    {std::move(object), Expression::text_literal(name)});
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return object;
}
Expression dotted(std::string_view names) {
  const std::size_t dot = std::min(names.find('.'), names.size());
  return path(Expression::variable(std::string(names.substr(0, dot))),
              dot < names.size() ? names.substr(dot + 1) : std::string_view());
}
Expression of_torch(const std::string& name) { return dotted("torch." + name); }

class Builder {
 public:
  Builder(const Graph& graph, Style style, GuardSize size = {}) : graph_(graph), style_(style), size_(size) {}

  Expression whole(const Argument& value) {
    Expression expression = start(value);
    return repeated_.empty() ? expression : start(value);
  }
  Expression length(NodeId list) {
    const Node& node = graph_.node(list);
    if (const auto number = written_length(node)) return *number;
    budget_ = size_.nodes;
    if (node.target == "aten.size.default") return rank(*node.args[0].get_if<NodeId>(), 0);
    if (node.target == "aten.unbind.int" && node.args[0].is<NodeId>()) {
      const Argument dim = node.args.size() > 1 ? node.args[1] : Argument(std::int64_t{0});
      return Expression::method(whole(node.args[0]), "size", {translate(dim, 0)});
    }
    asks_length_ = true;
    return whole(list);
  }
  bool names_values() const { return names_values_; }

 private:
  bool in_guard() const { return style_ == Style::kGuard; }
  int max_depth() const { return in_guard() ? kMaxGuardDepth : kMaxMessageDepth; }

  Expression start(const Argument& value) {
    budget_ = in_guard() ? size_.nodes : kMaxMessageNodes;
    names_values_ = false;
    written_.clear();
    Expression made = translate(value, 0);
    return asks_length_ ? Expression::call(Expression::name("len"), {std::move(made)}) : made;
  }

  Expression translate(const Argument& value, int depth) {
    if (const auto* id = value.get_if<NodeId>()) return node(graph_.node(*id), depth);
    if (const auto* flag = value.get_if<bool>()) return Expression::boolean(*flag);
    if (const auto* number = value.get_if<std::int64_t>()) return *number;
    if (const auto* number = value.get_if<double>()) return Expression::floating(*number);
    if (const auto* number = value.get_if<std::complex<double>>()) {
      return Expression::call(Expression::name("complex"),
                              {Expression::floating(number->real()), Expression::floating(number->imag())});
    }
    if (const auto* text = value.get_if<std::string>()) return Expression::text_literal(*text);
    if (const auto* dtype = value.get_if<Argument::Dtype>()) return of_torch(dtype->name);
    if (const auto* layout = value.get_if<Argument::Layout>()) return of_torch(layout->name);
    if (const auto* format = value.get_if<Argument::MemoryFormat>()) return of_torch(format->name);
    if (const auto* device = value.get_if<Argument::Device>()) {
      return Expression::call(of_torch("device"), {Expression::text_literal(device->name)});
    }
    if (const auto* list = value.get_if<Argument::List>()) return sequence(Kind::kList, list->items, depth);
    if (const auto* tuple = value.get_if<Argument::Tuple>())
      return sequence(Kind::kTuple, tuple->items, depth);
    if (const auto* slice = value.get_if<Argument::Slice>())
      return sequence(Kind::kSlice, slice->parts, depth);
    if (const auto* dict = value.get_if<Argument::Dict>()) {
      std::vector<Expression> parts;
      for (const auto& [key, item] : dict->items) {
        parts.push_back(translate(key, depth + 1));
        parts.push_back(translate(item, depth + 1));
      }
      return Expression::sequence(Kind::kDict, std::move(parts));
    }
    return Expression::none();
  }

  Expression sequence(Kind kind, const std::vector<Argument>& items, int depth) {
    std::vector<Expression> parts;
    for (const Argument& item : items) {
      if (!in_guard() && parts.size() == kMaxMessageItems) {
        parts.push_back(Expression::variable("..."));
        break;
      }
      parts.push_back(translate(item, depth + 1));
    }
    return Expression::sequence(kind, std::move(parts));
  }

  // Integers become names, which Expression takes for sizes and simplifies; other values stay opaque.
  static Expression by_name(const Node& node) {
    const std::string& name = node.op == Opcode::kPlaceholder ? input_name(node) : node.name;
    return node.meta->kind() == ValueKind::kInt ? Expression::name(name) : Expression::variable(name);
  }

  Expression node(const Node& node, int depth) {
    if (node.op == Opcode::kPlaceholder) return by_name(node);
    names_values_ = names_values_ || node.op == Opcode::kGetAttr || node.op == Opcode::kCallModule;
    if (node.op == Opcode::kGetAttr)
      return in_guard() ? path(self(), node.target) : Expression::variable(node.target);
    if (in_guard() && written_.contains(node.id.index)) {
      repeated_.insert(node.id.index);
      return by_name(node);
    }
    if (depth > max_depth() || budget_ <= 0 || (in_guard() && !is_repeatable(node))) {
      names_values_ = true;
      return by_name(node);
    }
    if (!in_guard() && node.op != Opcode::kCallFunction) return Expression::variable(node.name);
    --budget_;
    Expression made = call(node, depth);
    written_.insert(node.id.index);
    return repeated_.contains(node.id.index) ? Expression::binding(node.name, std::move(made)) : made;
  }

  static Expression self() { return Expression::variable("self"); }

  std::vector<Expression> arguments(const Node& node, std::size_t first, int depth) {
    std::vector<Expression> parts;
    for (std::size_t i = first; i < node.args.size(); ++i)
      parts.push_back(translate(node.args[i], depth + 1));
    for (const auto& [name, arg] : node.kwargs)
      parts.push_back(Expression::keyword(name, translate(arg, depth + 1)));
    return parts;
  }

  Expression call(const Node& node, int depth) {
    if (node.op == Opcode::kCallModule) {
      Expression module = path(self(), node.target);
      if (!node.method->empty()) module = Expression::attribute(std::move(module), node.method);
      return Expression::call(std::move(module), arguments(node, 0, depth));
    }
    if (node.op == Opcode::kCallMethod && !node.args.empty()) {
      Expression object = translate(node.args[0], depth + 1);
      return Expression::method(std::move(object), node.target, arguments(node, 1, depth));
    }
    const TargetParts parts = target_parts(node);
    // A guard is exact; for people, numbers are calculated with as in Python.
    const bool is_of_numbers = python_function(*node.target) != *node.target;
    if (parts.kind == TargetKind::kPython || (!in_guard() && is_of_numbers)) return python_call(node, depth);
    const Operator* op = in_guard() ? repeatable(node) : nullptr;
    const bool is_aten =
        parts.space == "aten" && !is_of_numbers && !node.args.empty() && node.args[0].is<NodeId>();
    if (is_aten && (!in_guard() || has_trait(op, traits::kTensorMethod))) {
      const std::string_view name = in_guard() ? op->base_name().substr(kAten.size()) : parts.name;
      const NodeId object_node = *node.args[0].get_if<NodeId>();
      if (in_guard() && name == "dim") return rank(object_node, depth);
      Expression object = translate(object_node, depth + 1);
      Expression called = Expression::method(std::move(object), std::string(name), arguments(node, 1, depth));
      if (!in_guard() || !is_used_as_list(node, *op)) return called;
      return Expression::call(Expression::variable("list"), {std::move(called)});
    }
    const std::string target = op == nullptr ? *node.target : "torch.ops." + op->target();
    return Expression::call(dotted(target), arguments(node, 0, depth));
  }

  // Returns whether the node gives a list that is used as one.  The method of a tensor returns a torch.Size,
  // a tuple, which never equals a list (x.size() == [2, 3] is false), so that the call needs list() around
  // it.
  bool is_used_as_list(const Node& node, const Operator& op) const {
    const std::vector<SchemaType> results = op.schema().results;
    return results.size() == 1 && results[0].is_list() && std::ranges::any_of(node.users, [&](NodeId user) {
             return graph_.node(user).target != "operator.getitem";
           });
  }

  Expression rank(NodeId tensor, int depth) {
    const NodeId source = rank_source(tensor, 0);
    if (const auto number = written_rank(graph_.node(source))) return *number;
    return Expression::method(translate(source, depth + 1), "dim");
  }

  // Returns the size that a reshape or view lists.  Dimensions may be moved after it.
  std::optional<std::int64_t> written_size(NodeId tensor, std::int64_t dim, int depth = 0) const {
    constexpr int kMaxChain = 20;
    const Node& node = graph_.node(tensor);
    const TargetParts target = target_parts(node);
    const NodeId* first = node.args.empty() ? nullptr : node.args[0].get_if<NodeId>();
    if (target.space != "aten" || first == nullptr || depth == kMaxChain) return std::nullopt;
    if (target.name == "contiguous") return written_size(*first, dim, depth + 1);
    const auto* list = node.args.size() > 1 ? node.args[1].get_if<Argument::List>() : nullptr;
    const bool moves = target.name == "permute";
    if (list == nullptr || (!moves && target.name != "reshape" && target.name != "view")) return std::nullopt;
    const auto place = find_position(std::ssize(list->items), dim);
    if (!place) return std::nullopt;
    const auto* number = list->items[*place].get_if<std::int64_t>();
    if (number == nullptr) return std::nullopt;
    if (moves) return written_size(*first, *number, depth + 1);
    return *number < 0 ? std::nullopt : std::optional(*number);
  }

  // Returns the number of pieces that unbind or split gives of such a size.
  std::optional<std::int64_t> written_length(const Node& node) const {
    const bool splits = node.target == "aten.split.Tensor";
    if ((!splits && node.target != "aten.unbind.int") || !node.args[0].is<NodeId>()) return std::nullopt;
    const std::size_t place = splits ? 2 : 1;
    const std::int64_t zero = 0;
    const auto* dim = place < node.args.size() ? node.args[place].get_if<std::int64_t>() : &zero;
    const auto size = dim == nullptr ? std::nullopt : written_size(*node.args[0].get_if<NodeId>(), *dim);
    if (!size || !splits) return size;
    const auto* each = node.args[1].get_if<std::int64_t>();
    if (each == nullptr || *each <= 0) return std::nullopt;
    return std::max<std::int64_t>(1, *size / *each + (*size % *each != 0 ? 1 : 0));
  }

  // Returns the tensor of len(x.size()); null for any other node.
  const NodeId* asked_for_rank(const Node& node) const {
    if (node.target != "builtins.len" || node.args.size() != 1) return nullptr;
    const auto* sizes = node.args[0].get_if<NodeId>();
    if (sizes == nullptr || graph_.node(*sizes).target != "aten.size.default") return nullptr;
    return graph_.node(*sizes).args[0].get_if<NodeId>();
  }

  // Returns the earliest value that surely has as many dimensions: x for batch_norm(conv2d(x)).
  NodeId rank_source(NodeId id, int depth) {
    constexpr int kMaxChain = 500;
    const auto known = rank_sources_.find(id.index);
    if (known != rank_sources_.end()) return known->second;
    NodeId source = id;
    const Node& node = graph_.node(id);
    const NodeId* first = node.args.empty() ? nullptr : node.args[0].get_if<NodeId>();
    if (node.target == "aten.cat.default" && depth < kMaxChain) {
      source = common_rank_source(node, id, depth);
    } else if (node.op == Opcode::kCallFunction && first != nullptr && depth < kMaxChain) {
      const TargetParts parts = parse_target(node.target);
      const Operator* op = find_operator(parts);
      if (parts.space == "torch.nn.functional") {
        const auto same_name = overloads(std::string(kAten).append(parts.name));
        if (!same_name.empty()) op = &same_name.front();
      }
      const bool is_in_place =
          op != nullptr && parts.name.ends_with('_') && may_write(op) && !entry_of(*op).aliases.empty();
      if (has_trait(op, traits::kKeepsRank) || (is_in_place && !has_trait(op, traits::kChangesShape))) {
        source = rank_source(*first, depth + 1);
      } else if (has_trait(op, traits::kPointwise)) {
        source = common_rank_source(node, id, depth);
      }
    }
    rank_sources_.emplace(id.index, source);
    return source;
  }

  // Returns the rank that the list of sizes gives: 3 for reshape(x, [a, b, -1]).
  static std::optional<std::int64_t> written_rank(const Node& node) {
    const TargetParts target = target_parts(node);
    const bool takes_sizes = target.name == "reshape" || target.name == "view" || target.name == "expand";
    if (target.space != "aten" || !takes_sizes || node.args.size() < 2) return std::nullopt;
    const auto* sizes = node.args[1].get_if<Argument::List>();
    return sizes == nullptr ? std::nullopt : std::optional(static_cast<std::int64_t>(sizes->items.size()));
  }

  // Returns the rank source that all tensor operands of the node share; `otherwise` when they differ.
  NodeId common_rank_source(const Node& node, NodeId otherwise, int depth) {
    NodeId common;
    bool is_common = true;
    for_each_input(node, [&](NodeId input) {
      if (graph_.node(input).meta->kind() != ValueKind::kTensor) return;
      const NodeId source = rank_source(input, depth + 1);
      is_common = is_common && (!common.valid() || common == source);
      common = source;
    });
    return is_common && common.valid() ? common : otherwise;
  }

  // Adds the number of elements of `value`, and stops soon after the limit of `size_`.
  void count_elements(const Argument& value, std::size_t& elements) const {
    const auto all = [&](const std::vector<Argument>& items) {
      for (std::size_t i = 0; i < items.size() && elements <= size_.elements; ++i)
        count_elements(items[i], elements);
    };
    ++elements;
    if (const auto* text = value.get_if<std::string>()) elements += text->size();
    if (const auto* list = value.get_if<Argument::List>()) all(list->items);
    if (const auto* tuple = value.get_if<Argument::Tuple>()) all(tuple->items);
    if (const auto* dict = value.get_if<Argument::Dict>()) {
      for (std::size_t i = 0; i < dict->items.size() && elements <= size_.elements; ++i) {
        count_elements(dict->items[i].key, elements);
        count_elements(dict->items[i].value, elements);
      }
    }
  }

  // Returns the node's operator if it is pure, else its pure twin; null when a second run may give another
  // result.
  static const Operator* repeatable(const Node& node) {
    const Operator* op = find_operator(parse_target(node.target));
    if (op == nullptr || is_pure(op)) return op;
    const Operator* functional = entry_of(*op).twin;
    return functional != nullptr && is_pure(functional) ? functional : nullptr;
  }
  bool is_repeatable(const Node& node) const {
    std::size_t elements = 0;
    for_each_argument(node, [&](const Argument& arg) { count_elements(arg, elements); });
    if (elements > size_.elements) return false;
    return node.op != Opcode::kCallFunction || target_parts(node).kind == TargetKind::kPython ||
           repeatable(node) != nullptr;
  }

  Expression python_call(const Node& node, int depth) {
    const std::string_view target = python_function(*node.target);
    const auto argument = [&](std::size_t i) { return translate(node.args[i], depth + 1); };
    const std::size_t count = node.kwargs.empty() ? node.args.size() : 0;
    if (const NodeId* tensor = in_guard() ? asked_for_rank(node) : nullptr) return rank(*tensor, depth);
    if (const auto symbol = python_symbol(target); !symbol.empty() && count == 2) {
      Expression left = argument(0);
      return Expression::binary(std::string(symbol), std::move(left), argument(1));
    }
    if (target == "operator.not_" && count == 1) return Expression::negation(argument(0));
    if (target == "operator.neg" && count == 1) return Expression::negative(argument(0));
    if (target == "operator.getitem" && count == 2) {
      Expression object = argument(0);
      return Expression::item(std::move(object), argument(1));
    }
    if (target == "operator.contains" && count == 2) {
      Expression object = argument(0);
      return Expression::comparison("in", argument(1), std::move(object));
    }
    if (target == "builtins.getattr" && count == 2 && node.args[1].is<std::string>()) {
      return Expression::attribute(argument(0), *node.args[1].get_if<std::string>());
    }
    if (const Argument* counted = count == 1 ? counted_of_two(node) : nullptr)
      return translate(*counted, depth + 1);
    constexpr std::string_view kBuiltins = "builtins.";
    const std::string_view name = target.starts_with(kBuiltins) ? target.substr(kBuiltins.size()) : target;
    return Expression::call(dotted(name), arguments(node, 0, depth));
  }

  // Returns len(x) for min([the largest integer, len(x)]); null for any other node.  TorchScript iterates
  // over enumerate(x) as over zip(count, x), whose length is that minimum.
  static const Argument* counted_of_two(const Node& node) {
    const auto* list = node.target == "builtins.min" ? node.args[0].get_if<Argument::List>() : nullptr;
    if (list == nullptr || list->items.size() != 2) return nullptr;
    const auto* first = list->items[0].get_if<std::int64_t>();
    return first != nullptr && *first == std::numeric_limits<std::int64_t>::max() ? &list->items[1] : nullptr;
  }

  const Graph& graph_;
  const Style style_;
  const GuardSize size_;
  int budget_ = 0;
  bool asks_length_ = false;
  bool names_values_ = false;                   // values other than inputs are named
  std::unordered_set<std::uint32_t> written_;   // nodes that are in the text so far
  std::unordered_set<std::uint32_t> repeated_;  // nodes used again, which the next pass binds
  std::unordered_map<std::uint32_t, NodeId> rank_sources_;
};

}  // namespace

// The text is parsed again because the parser may find a size (n >> 0 is n) where the builder has none.
Expression guard_expression(const Graph& graph, const Argument& value, GuardSize size, bool* over_inputs) {
  Builder builder(graph, Style::kGuard, size);
  Expression made = builder.whole(value);
  if (over_inputs != nullptr) *over_inputs = !builder.names_values();
  Expression read = Expression::parse(made.text());
  return read.kind() == Expression::Kind::kVerbatim ? made : read;
}

Expression length_expression(const Graph& graph, NodeId list, GuardSize size, bool* over_inputs) {
  Builder builder(graph, Style::kGuard, size);
  Expression made = builder.length(list);
  if (over_inputs != nullptr) *over_inputs = !builder.names_values();
  Expression read = Expression::parse(made.text());
  return read.kind() == Expression::Kind::kVerbatim ? made : read;
}

std::string description(const Graph& graph, const Argument& value) {
  return cut(Builder(graph, Style::kMessage).whole(value).text(), kMaxMessageLength);
}

std::string_view what_decides(const Graph& graph, NodeId node) {
  constexpr std::size_t kMaxNodes = 200;  // beyond these, the answer is "an input"
  // Later nodes come first.  A node only uses earlier nodes, so no node is looked at twice.
  std::priority_queue<NodeId> rest;
  rest.push(node);
  bool is_size = false, is_parameter = false, is_state = false;
  for (std::size_t seen = 1; !rest.empty(); ++seen) {
    const NodeId id = rest.top();
    while (!rest.empty() && rest.top() == id) rest.pop();
    const Node& at = graph.node(id);
    if (at.op == Opcode::kPlaceholder || seen > kMaxNodes) return "an input";
    if (at.op == Opcode::kGetAttr || at.op == Opcode::kCallModule) is_parameter = true;
    if (at.op == Opcode::kGetAttr && at.meta->kind() != ValueKind::kTensor) is_state = true;
    // Such an operator needs the size of the tensor and none of its elements.
    const auto asks_size = [&] {
      return has_trait(find_operator(parse_target(*at.target)), traits::kGivesSize);
    };
    for_each_input(at, [&](NodeId input) {
      if (graph.node(input).op == Opcode::kGetAttr && asks_size()) {
        is_size = true;
      } else {
        rest.push(input);
      }
    });
  }
  if (is_state) return "an attribute that changes";
  if (is_parameter) return "a parameter";
  return is_size ? "the size of a parameter" : "a tensor that the code makes";
}

}  // namespace fxtrace::internal
