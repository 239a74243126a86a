// The pass remove-inplace: functionalization of one graph, by the tensors and views of view_tree.h.
//
// Each write becomes the operator's functional variant, which computes a new value; nodes that read the
// tensor later read the new value.  A base whose view is written gets a new value too, by the inverse of the
// view (view_undo.h); other views of the base are computed anew, but only if a later node reads them.
//
// The pass walks the graph once, in order.  For each tensor it keeps the node that holds its value now, and a
// version: the number of writes that its root had seen when it got that value.
//
// Invariants:
// 1. A tensor is current if its version is the number of writes of its root.  A root is always current.
// 2. A write of elements raises the root's count by one, and gives new values to the tensor written and to
//    each base above it up to the root: these are current afterwards, and all other views of the root (also
//    lists of views, of split or unbind) are stale.
// 3. value_of() makes a stale view current just before its reader: it goes up to the first current base and
//    repeats the views from there down.  A stale view that nobody reads is not repeated.
// 4. All arguments of a node are replaced by current values before the node itself is looked at; a node thus
//    reads what it read before the pass.
// 5. The result has the dtype of the tensor that was written: where promotion could give another one,
//    type_as converts it back.
// 6. A tensor from outside (input, parameter, buffer) that was written gets its final value by one copy_
//    before the output; until then no node changes it, so that earlier reads keep their meaning.
// 7. Nodes are only added during the walk; those that have lost their users are erased at the end, the last
//    first.  Regions that view_tree.h excludes stay as they are; their writes are declined with a reason.
//
// Example: r = x[0]; t = x[1]; r.mul_(2); return x + t
//
//   %x = placeholder[x]()            tensor 0, version 0
//   %select = select(%x, 0, 0)       tensor 1, a view of 0, version 0
//   %select_1 = select(%x, 0, 1)     tensor 2, a view of 0, version 0
//   %mul_ = mul_(%select, 2)         %mul = mul(%select, 2) is tensor 1, version 1;
//                                    %select_scatter = select_scatter(%x, %mul, 0, 0) is tensor 0, version 1
//   %add = add(%x, %select_1)        tensor 2 is stale: inserts %select_2 = select(%select_scatter, 0, 1);
//                                    the call becomes add(%select_scatter, %select_2)
//   output(%add)                     copy_(%x, %select_scatter) is inserted before it, as the caller of the
//                                    model sees the write; %mul_ and %select_1 are erased
#include "passes/pass.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/node_arguments.h"
#include "analysis/view_tree.h"
#include "analysis/view_undo.h"
#include "graph/rewrite.h"
#include "operators/names/function_traits.h"
#include "opinfo/rules/shape_helpers.h"
#include "shapes/tensor_options.h"

namespace fxtrace::internal {
namespace {

Graph::NodeSpec spec_of(const Node& node) {
  Graph::NodeSpec spec = copy_of(node, std::identity());
  spec.name.clear();
  return spec;
}

// Returns a call with the scope and source of `at`.
Graph::NodeSpec call_at(const Node& at, std::string target, std::vector<Argument> args, const Meta& meta) {
  return {Opcode::kCallFunction, std::move(target), std::move(args), {}, at.scope, meta, at.source, ""};
}

class RemoveInPlace {
 public:
  RemoveInPlace(ModuleGraph& graph, PassContext& context)
      : graph_(graph),
        context_(context),
        tensors_(ViewTree::build(graph, context.semantics, context.is_in_subgraph())),
        states_(tensors_.size()) {}

  void run() {
    add_guards();
    for (const auto& [node, reason] : tensors_.obstacles()) {
      context_.decline(graph_, graph_.graph.node(node), reason);
    }
    for (const NodeId id : graph_.graph.order()) rewrite(id);
    copy_back();
    update_signature();
    drop_what_is_left();
  }

 private:
  struct State {
    NodeId value;                     // the node that holds the tensor now
    std::uint64_t version = 0;        // the root's `writes` when the tensor got that value
    std::uint64_t writes = 0;         // for a root: the number of writes to its memory so far
    TensorNumber became = kNoTensor;  // its successor after a change of sizes in place
  };

  // Adds guards for the assumptions that rewritten values rely on: inputs that are contiguous.
  void add_guards() {
    for (const ViewTree::Assumption& assumption : tensors_.assumptions()) {
      if (tensors_.tensor_of(assumption.node) == kNoTensor) continue;
      for (const NodeId input : assumption.inputs) {
        Guard guard{Expression::method(Expression::variable(*node(input).target), "is_contiguous"),
                    *node(assumption.node).source,
                    GuardReason::kInput,
                    {}};
        const auto is_there = [&](const Guard& other) { return other.expr == guard.expr; };
        if (std::ranges::none_of(graph_.guards, is_there)) graph_.guards.push_back(std::move(guard));
      }
    }
  }

  Graph& graph() { return graph_.graph; }
  const Node& node(NodeId id) const { return graph_.graph.node(id); }

  TensorNumber now(NodeId id) const {
    TensorNumber number = tensors_.tensor_of(id);
    while (number != kNoTensor && states_[number].became != kNoTensor) number = states_[number].became;
    return number;
  }
  bool is_current(TensorNumber number) const {
    return states_[number].version == states_[tensors_.root_of(number)].writes;
  }
  void set_value(TensorNumber number, NodeId value) {
    states_[number].value = value;
    states_[number].version = states_[tensors_.root_of(number)].writes;
  }

  NodeId insert(NodeId before, Graph::NodeSpec spec) {
    const NodeId id = graph().insert_before(before, std::move(spec));
    made_.push_back(id);
    return id;
  }

  // Returns the node that holds the tensor when `reader` runs; inserts stale views again before `reader`.
  NodeId value_of(TensorNumber number, NodeId reader) {
    std::vector<TensorNumber> stale;
    while (!is_current(number)) {
      stale.push_back(number);
      number = tensors_.tensor(number).parent;
    }
    for (; !stale.empty(); stale.pop_back()) {
      const NodeId base = states_[number].value;
      number = stale.back();
      set_value(number, insert(reader, view_again(number, base)));
    }
    return states_[number].value;
  }

  Graph::NodeSpec view_again(TensorNumber number, NodeId base) {
    const Node& view = node(tensors_.tensor(number).node);
    Graph::NodeSpec spec = spec_of(view);
    if (const Write* write = tensors_.find_write(view.id)) spec.target = twin_of(*write).target();
    spec.args.front() = base;
    return spec;
  }

  const Operator& twin_of(const Write& write) {
    return *context_.semantics.find_operator(node(write.node).target)->twin;
  }

  // Replaces the arguments of the node by current values, then the node itself if it writes.
  void rewrite(NodeId id) {
    inputs_.clear();  // a copy, as inserting nodes moves this one
    for_each_input(node(id), [&](NodeId input) { inputs_.push_back(input); });
    Replacements current;
    for (const NodeId input : inputs_) {
      const TensorNumber number = now(input);
      if (number == kNoTensor) continue;
      if (const NodeId value = value_of(number, id); value != input) current.add(input, value);
    }
    current.apply(graph_, id);
    if (const Write* write = tensors_.find_write(id)) return rewrite_write(*write);
    const TensorNumber number = tensors_.tensor_of(id);
    if (number == kNoTensor) return;
    if (tensors_.tensor(number).node == id) {
      set_value(number, id);
    } else if (node(id).op != Opcode::kGetAttr) {
      other_names_.push_back(id);  // another node for the same tensor
    }
  }

  void rewrite_write(const Write& write) {
    const NodeId id = write.node;
    if (write.kind == Write::Kind::kConsumes) return set_value(tensors_.tensor_of(id), id);
    const TensorNumber target = now(write.target);
    if (write.kind == Write::Kind::kReshape) {
      const TensorNumber view = tensors_.tensor_of(id);
      set_value(view, insert(id, view_again(view, states_[target].value)));
      states_[target].became = view;
    } else if (write.kind == Write::Kind::kBeside) {
      rewrite_beside(write, target);
    } else {
      assign(target, id, write.kind == Write::Kind::kOption ? without_option(id) : functional(write, target));
    }
    written_.push_back(id);
  }

  // Replaces a call with a result of its own: its functional variant returns that result and the written
  // value.
  void rewrite_beside(const Write& write, TensorNumber target) {
    const NodeId id = write.node;
    Graph::NodeSpec spec = spec_of(node(id));
    spec.target = twin_of(write).target();
    spec.meta = {};
    const NodeId both = insert(id, std::move(spec));
    const auto part = [&](std::int64_t index, const Meta& meta) {
      return insert(id, call_at(node(id), "operator.getitem", {both, index}, meta));
    };
    const Meta own = node(id).meta;
    const Meta written = node(states_[target].value).meta;
    set_value(tensors_.tensor_of(id), part(0, own));
    assign(target, id, part(1, written));
  }

  // Inserts the call with its option off: relu(x, inplace=False).
  NodeId without_option(NodeId id) {
    const Node& call = node(id);
    Graph::NodeSpec spec = spec_of(call);
    const auto at = static_cast<std::size_t>(find_python_function(call.target).in_place_at);
    if (at < spec.args.size()) {
      spec.args[at] = false;
    } else {
      std::ranges::find(spec.kwargs, "inplace", &std::pair<std::string, Argument>::first)->second = false;
    }
    return insert(id, std::move(spec));
  }

  NodeId functional(const Write& write, TensorNumber target) {
    const Node& call = node(write.node);
    const Operator& twin = twin_of(write);
    const Meta meta = write.kind == Write::Kind::kOut ? call.meta : node(states_[target].value).meta;
    if (write.kind == Write::Kind::kInPlace && puts_in_place_of_part(call, target))
      return *call.args[1].get_if<NodeId>();
    Graph::NodeSpec spec = spec_of(call);
    spec.target = twin.target();
    spec.meta = meta;
    std::erase_if(spec.kwargs, [&](const auto& argument) {
      const auto* value = argument.second.template get_if<NodeId>();
      return write.kind == Write::Kind::kOut && value != nullptr && *value == states_[target].value;
    });
    say_defaults(spec, call, twin);
    const NodeId result = insert(write.node, std::move(spec));
    if (keeps_dtype(node(write.node), write, twin, target)) return result;
    graph().meta(result).dtype =
        has_trait(&twin, traits::kGivesBool) ? Dtype(ScalarType::kBool) : std::nullopt;
    const NodeId like = states_[target].value;
    return insert(write.node,
                  call_at(node(write.node), "aten.type_as.default", {result, like}, node(like).meta));
  }

  // Adds the arguments that the call leaves out and whose default differs in the functional variant:
  // bernoulli_(p=0.5) becomes bernoulli.p, whose p has no default.
  void say_defaults(Graph::NodeSpec& spec, const Node& call, const Operator& twin) {
    const OperatorEntry& own = *context_.semantics.find_operator(call.target);
    const Schema& theirs = entry_of(twin).schema;
    for (std::size_t i = 0; i < own.schema.arguments.size(); ++i) {
      const SchemaArgument& argument = own.schema.arguments[i];
      if (NodeArguments(call, own).find_argument(i) != nullptr) continue;
      const SchemaArgument* other = theirs.find_formal(argument.name);
      if (other == nullptr || other->default_value == argument.default_value) continue;
      auto value = plain_argument(own.defaults[i]);
      if (!value) continue;
      if (!argument.keyword_only && spec.args.size() == i) {
        spec.args.push_back(std::move(*value));
      } else {
        spec.kwargs.emplace_back(argument.name, std::move(*value));
      }
    }
  }

  // Returns whether the call copies a tensor of the same shape, dtype and device into a view, b[0].copy_(y):
  // then y itself is put back into b.
  bool puts_in_place_of_part(const Node& call, TensorNumber target) const {
    if (call.target != "aten.copy_.default" || call.args.size() < 2 || !tensors_.tensor(target).is_view)
      return false;
    const auto* source = call.args[1].get_if<NodeId>();
    if (source == nullptr || tensors_.is_still_written(*source)) return false;
    const Meta& to = node(states_[target].value).meta;
    const Meta& from = node(*source).meta;
    return to.shape && to.dtype && to.shape == from.shape && to.dtype == from.dtype &&
           to.device == from.device;
  }

  // Returns whether the functional variant certainly returns the dtype of the written tensor, which a write
  // in place keeps.
  bool keeps_dtype(const Node& call, const Write& write, const Operator& twin, TensorNumber target) const {
    const Dtype own = node(states_[target].value).meta->dtype;
    if (has_trait(&twin, traits::kGivesBool)) return own == ScalarType::kBool;
    if (write.kind == Write::Kind::kOut) {
      return own && has_trait(&twin, traits::kPointwise) && says_own_dtype(call, *own);
    }
    if (has_trait(&twin, traits::kKeepsDtype)) return true;
    if (!has_trait(&twin, traits::kPointwise)) return false;
    // Neither numbers nor tensors of the same dtype promote the written tensor.
    bool are_known = own.has_value(), are_equal = true;
    Promotion promotion;
    for_each_input(call, [&](NodeId input) {
      const Meta& meta = node(input).meta;
      const bool is_number = meta.kind() == ValueKind::kInt || meta.kind() == ValueKind::kFloat ||
                             meta.kind() == ValueKind::kBool;
      if (is_number) return;
      const Dtype other = meta.dtype;
      are_equal = are_equal && (input == states_[target].value || (other && other == own));
      are_known = are_known && meta.shape && other;
      if (are_known) promotion.add({std::vector<SymInt>(meta.shape->size()), other});
    });
    return are_equal || (are_known && promotion.result() == own);
  }

  // Returns whether all tensors of a call with `out` have this dtype.  The call's metadata is that of `out`,
  // so that the dtype that its operands would give is not recorded.
  bool says_own_dtype(const Node& call, ScalarType dtype) const {
    bool all = true;
    for_each_input(call, [&](NodeId input) { all = all && node(input).meta->dtype == dtype; });
    return all;
  }

  // Sets a new value of the tensor, and by the inverses of views that of each base up to the root.
  void assign(TensorNumber number, NodeId at, NodeId value) {
    struct Step {
      TensorNumber number;
      ViewUndo undo;
      NodeId base;
    };
    std::vector<Step> steps;
    for (TensorNumber below = number; tensors_.tensor(below).is_view;) {
      ViewUndo undo = *find_undo(graph(), context_.semantics, tensors_.tensor(below).node);
      TensorNumber above = tensors_.tensor(below).parent;
      if (undo.skips_list) above = tensors_.tensor(above).parent;
      const NodeId base = undo.needs_base ? value_of(above, at) : states_[above].value;
      steps.push_back({above, std::move(undo), base});
      below = above;
    }
    ++states_[tensors_.root_of(number)].writes;
    set_value(number, value);
    for (Step& step : steps) {
      if (step.undo.windows) {
        value = put_windows(at, step.undo, step.base, value);
      } else if (!step.undo.target.empty()) {
        std::vector<Argument> args;
        if (step.undo.needs_base) args.emplace_back(step.base);
        args.emplace_back(value);
        if (step.undo.needs_shape) args.emplace_back(step.base);
        for (Argument& argument : step.undo.rest) args.push_back(std::move(argument));
        value = insert(at, call_at(node(at), step.undo.target, std::move(args), node(step.base).meta));
      }
      set_value(step.number, value);
    }
  }

  // Inserts index_put(base, [None, ..., the positions of all windows], the windows, each along its
  // dimension).
  NodeId put_windows(NodeId at, const ViewUndo& undo, NodeId base, NodeId changed) {
    const Windows& windows = *undo.windows;
    const auto dim = static_cast<std::ptrdiff_t>(windows.dim);
    const Meta whole = node(base).meta;
    Meta parts = node(changed).meta;
    const bool is_known = parts.shape && parts.shape->size() == windows.rank + 1;
    Meta index;
    index.type = "Tensor";
    index.dtype = ScalarType::kInt64;
    index.device = whole.device;
    Meta places = index;
    index.shape = {windows.length};
    if (is_known) places.shape = {(*parts.shape)[windows.dim], windows.size};
    Graph::NodeSpec arange = call_at(node(at), "aten.arange.default", {length_of(windows, at, base)}, index);
    if (whole.device) arange.kwargs.emplace_back("device", Argument::Device{whole.device->text()});
    const NodeId all = insert(at, std::move(arange));
    Argument::List indices;
    indices.items.resize(windows.dim);
    indices.items.emplace_back(
        insert(at, call_at(node(at), "aten.unfold.default", {all, 0, windows.size, windows.step}, places)));
    if (windows.dim + 1 < windows.rank) {
      if (is_known) {
        std::rotate(parts.shape->begin() + dim + 1, parts.shape->end() - 1, parts.shape->end());
      }
      changed = insert(at, call_at(node(at), "aten.movedim.int", {changed, -1, dim + 1}, parts));
    }
    return insert(at, call_at(node(at), undo.target, {base, std::move(indices), changed}, whole));
  }
  // Returns the length as a number, or as a node that computes it.
  Argument length_of(const Windows& windows, NodeId at, NodeId base) {
    if (const auto number = windows.length.number()) return *number;
    Meta meta;
    meta.type = "int";
    meta.value = windows.length;
    const auto dim = static_cast<std::int64_t>(windows.dim);
    return insert(at, call_at(node(at), "aten.sym_size.int", {base, dim}, meta));
  }

  // Inserts a copy_ for each input, parameter and buffer that was written.
  void copy_back() {
    const NodeId output = graph().last();
    for (TensorNumber number = 0; number < tensors_.size(); ++number) {
      const Tensor& tensor = tensors_.tensor(number);
      if (!tensor.from_outside || states_[number].writes == 0) continue;
      NodeId value = states_[number].value;
      // The value of copy(x, y) is y, unless another node reads the copy.
      const Node& last = node(value);
      if (last.target == "aten.copy.default" && last.users.empty() && last.args.size() == 2 &&
          last.args[0] == Argument(tensor.node)) {
        if (const auto* source = last.args[1].get_if<NodeId>()) value = *source;
      }
      const Node& root = node(tensor.node);
      const Graph::NodeSpec copy{Opcode::kCallFunction,
                                 "aten.copy_.default",
                                 {tensor.node, value},
                                 {},
                                 root.scope,
                                 root.meta,
                                 node(states_[number].value).source,
                                 ""};
      graph().insert_before(output, copy);
    }
  }

  void update_signature() {
    if (!graph_.signature) return;
    for (GraphSignature::Entry& entry : graph_.signature->outputs) {
      if (!entry.node.valid()) continue;
      const TensorNumber number = now(entry.node);
      if (number != kNoTensor) entry.node = value_of(number, graph().last());
    }
  }

  // Erases replaced writes, and views and new values without users.
  void drop_what_is_left() {
    std::vector<NodeId> unused = written_;
    unused.insert(unused.end(), other_names_.begin(), other_names_.end());
    for (TensorNumber number = 0; number < tensors_.size(); ++number) {
      const Tensor& tensor = tensors_.tensor(number);
      const bool is_rewritten = tensors_.tensor_of(tensor.node) != kNoTensor;
      if (tensor.is_view && is_rewritten && tensors_.find_write(tensor.node) == nullptr) {
        unused.push_back(tensor.node);
      }
    }
    unused.insert(unused.end(), made_.begin(), made_.end());
    std::ranges::sort(unused, [&](NodeId a, NodeId b) { return graph().is_before(b, a); });
    for (const NodeId id : unused) {
      if (graph().contains(id) && node(id).users.empty()) erase_node(graph_, id);
    }
  }

  ModuleGraph& graph_;
  PassContext& context_;
  ViewTree tensors_;
  std::vector<State> states_;  // by tensor
  std::vector<NodeId> made_, written_, other_names_, inputs_;
};

}  // namespace

void remove_inplace(ModuleGraph& graph, PassContext& context) {
  context.for_each_graph(graph, [&](ModuleGraph& each) { RemoveInPlace(each, context).run(); });
}

}  // namespace fxtrace::internal
