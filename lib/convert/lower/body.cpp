#include "convert/lower/body.h"

#include <algorithm>
#include <ranges>

#include "analysis/node_arguments.h"
#include "analysis/program_operations.h"
#include "convert/lower/quantized_calls.h"
#include "convert/lower/rewrites.h"
#include "convert/lower/written_program.h"
#include "graph/analysis/input_sizes.h"
#include "graph/rewrite.h"
#include "operators/names/function_traits.h"
#include "operators/operators.h"
#include "operators/target.h"
#include "opinfo/operator_entry.h"
#include "opinfo/python_spelling.h"
#include "shapes/abstract_value.h"
#include "support/scope_guard.h"
#include "support/text/identifier.h"
#include "support/text/words.h"

namespace fxtrace::internal {
namespace {

// Returns the frame of a Python traceback for the source line.
std::string trace_of(const SourceLocation& source) {
  std::string text = "  File \"" + source.file + "\", line " + std::to_string(source.line) + ", in " +
                     (source.function.empty() ? "forward" : source.function);
  if (!source.text.empty()) text += "\n    " + source.text;
  // torch may write it between three double quotes (exported/format/inert_texts.h).
  const std::string quotes(3, '"');
  for (std::size_t at = 0; (at = text.find(quotes, at)) != std::string::npos;) text.replace(at, 3, "'''");
  return text;
}

// Returns the strides of a contiguous tensor; sizes that are no integers count as 1.
std::vector<Expression> contiguous(const std::vector<Expression>& shape) {
  std::vector<SymInt> sizes;
  for (const Expression& size : shape) sizes.push_back(size.size() == nullptr ? SymInt(1) : *size.size());
  const std::vector<SymInt> strides = contiguous_strides(sizes);
  return {strides.begin(), strides.end()};
}

// Returns whether the operation only computes sizes or takes items, so that it can go if it is not used.
bool is_needless(const ProgramView& graph, NodeId operation) {
  return effect_of(graph, operation) == Effect::kSymbolic && graph.has_results(operation) &&
         aten_name(graph.node(operation)) != "_assert_scalar";
}

// Returns whether an operator that gives these types has one result, which is not a list.
bool gives_one(const std::vector<SchemaType>& types) { return types.size() == 1 && !types.front().is_list(); }

bool has_values(const Argument& operand) {
  bool found = false;
  for_each_reference(operand, [&](NodeId) { found = true; });
  return found;
}

}  // namespace

Argument LoweredCall::argument(std::size_t place, std::string_view name) const {
  const Argument* found = find_argument(*this, place, name);
  return found == nullptr ? Argument() : *found;
}

// --- values ---

// Adds a node that is a value of the program, under a unique name.
NodeId Body::add_value(Graph::NodeSpec spec, std::string_view name, Meta meta) {
  const std::string own = names_.create(name);
  const bool is_quantized = given_ && meta.dtype && internal::is_quantized(*meta.dtype);
  if (is_quantized) meta = meta_of_integers(std::move(meta));
  if (meta.kind() != ValueKind::kTensor && meta.shape)
    meta.type = "Tensor";  // its type may be Optional[Tensor]
  if (!state_.same_numbers.empty()) {
    const auto same = [&](const SymInt& size) { return size.substitute(state_.same_numbers); };
    if (meta.value) meta.value = meta.value->map_sizes(same);
    if (meta.shape) {
      std::vector<Meta::Dim> sizes;
      for (const Expression& size : *meta.shape) sizes.push_back(size.map_sizes(same));
      meta.shape.emplace(std::move(sizes));
    }
  }
  std::optional<std::vector<Meta::Dim>> strides;
  if (meta.shape) strides = contiguous(*meta.shape);
  spec.meta = std::move(meta);
  const NodeId id = lowered_.append_value(std::move(spec), own);
  if (strides) lowered_.table.strides.emplace(id.index, *std::move(strides));
  if (is_quantized) quantized_.emplace(id.index, *given_);
  lowered_.name_operation(id, own);
  return id;
}

Argument Body::operand_of(const Argument& argument) const {
  return map_references(argument, [&](NodeId node) {
    const auto found = operands_.find(container_of(node));
    return found == operands_.end() ? Argument() : found->second;
  });
}

Meta Body::meta_of(const Argument& operand) const {
  if (const auto* id = operand.get_if<NodeId>()) return view().meta(*id);
  Meta meta;
  if (const auto* number = operand.get_if<std::int64_t>()) {
    meta.type = "int";
    meta.value = *number;
  } else if (const auto* real = operand.get_if<double>()) {
    meta.type = "float";
    meta.value = Expression::floating(*real);
  } else if (const auto* flag = operand.get_if<bool>()) {
    meta.type = "bool";
    meta.value = Expression::boolean(*flag);
  }
  return meta;
}

Meta Body::unknown_integer() {
  Meta meta;
  meta.type = "int";
  meta.value = SymInt::symbol("__data" + std::to_string(state_.unknown++));
  return meta;
}

// Floats have the names that torch.export gives them, since the trace has no symbols for floats.
Meta Body::unknown_float() {
  Meta meta;
  meta.type = "float";
  meta.value = Expression::variable("zuf" + std::to_string(state_.unknown++));
  return meta;
}

std::optional<NodeId> Body::lift(const Constant& constant, const std::string& name) {
  if (&source_ == &state_.collection.graphs.front()) return state_.lift(constant);
  if (captures_ == nullptr) return std::nullopt;
  const auto known = name.empty() ? captures_->names.end() : std::ranges::find(captures_->names, name);
  const auto number = static_cast<std::size_t>(known - captures_->names.begin());
  if (number == captures_->names.size()) {
    const auto outside = captures_->around.lift(constant, name);
    if (!outside) return std::nullopt;
    captures_->names.push_back(name);
    captures_->outside.push_back(*outside);
  }
  const ProgramView around = captures_->around.view();
  const NodeId outside = captures_->outside[number];
  if (!captured_.contains(number))
    captured_.emplace(number, add_input(around.value_name(outside), around.meta(outside)));
  return captured_.at(number);
}

void Body::set(NodeId node, Argument operand) {
  const auto* id = operand.get_if<NodeId>();
  if (id != nullptr && memory_.has_memory(node) && is_written(node)) written_.insert(id->index);
  operands_.insert_or_assign(node.index, std::move(operand));
}

const Node* Body::lasting_maker(const Argument& tensor) const {
  const auto* id = tensor.get_if<NodeId>();
  if (id == nullptr || !view().is_operation(*id) || written_.contains(id->index)) return nullptr;
  return &view().node(*id);
}

const Argument* Body::find_number(const Argument& tensor) const {
  const auto* id = tensor.get_if<NodeId>();
  const auto found = id == nullptr ? numbers_.end() : numbers_.find(id->index);
  return found == numbers_.end() ? nullptr : &found->second;
}

void Body::set_number(const Argument& tensor, const Argument& number) {
  const auto* id = tensor.get_if<NodeId>();
  if (id != nullptr && !written_.contains(id->index)) numbers_.insert_or_assign(id->index, number);
}

void Body::set_same(const Meta& symbol, const Argument& number) {
  const SymInt* named = symbol.value ? symbol.value->size() : nullptr;
  const auto value = meta_of(number).value;
  const std::vector<std::string> names = named == nullptr ? std::vector<std::string>{} : named->symbols();
  if (names.size() == 1 && *named == SymInt::symbol(names[0]) && value && value->size() != nullptr &&
      *value->size() != *named)
    state_.same_numbers.emplace(names[0], *value->size());
}

std::optional<bool> Body::is_trained(NodeId id) const {
  if (&source_ != &state_.collection.graphs.front()) return std::nullopt;
  return state_.trained.contains(id.index);
}

bool Body::is_size_of_input(const std::string& symbol) const { return state_.sizes.contains(symbol); }

void Body::assume_within(const Argument& number, std::int64_t most) {
  const Meta meta = meta_of(number);
  const SymInt* value = meta.value ? meta.value->size() : nullptr;
  if (value == nullptr) return;
  bool is_of_integers = false;
  for (const std::string& symbol : value->symbols()) {
    const bool is_integer = state_.integers.contains(symbol);
    if (!is_integer && !is_size_of_input(symbol)) return;  // of data, which no guard can tell
    is_of_integers = is_of_integers || is_integer;
  }
  if (!is_of_integers) return;
  for (const auto& [relation, end] :
       {std::pair(Relation::kGreaterEqual, -most), std::pair(Relation::kLessEqual, most)})
    state_.assumed.push_back(Expression::comparison(relation, *value, SymInt(end)));
}

bool Body::is_condition(const Node& node) const {
  return is_condition_ && std::ranges::all_of(node.users, [&](NodeId user) {
           return source_.graph.node(user).op == Opcode::kOutput;
         });
}

void Body::refuse(const Node& node, std::string why, std::string help) {
  refused_.insert(node.id.index);
  const std::string target(python_function(*node.target));
  state_.refusals.push_back({node.scope->module_path, target.empty() ? "the root" : target, std::move(why),
                             std::move(help), *node.source});
}

// --- operations ---

// Says where the operation comes from.
void Body::describe(NodeId operation, const Node& node) {
  ProgramNode& facts = lowered_.table.at(operation);
  facts.op = find_operator(parse_target(*graph_.node(operation).target));
  facts.call = state_.stacks.find_call(*node.scope);
  facts.has_stack = true;
  if (const auto& source = *node.source) facts.stack_trace = OwnedText(trace_of(*source));
}

// Adds an operation whose result is a value.
NodeId Body::add_operation(const Node& node, Graph::NodeSpec spec, Meta meta, std::string_view name) {
  const NodeId operation = add_value(std::move(spec), name, std::move(meta));
  describe(operation, node);
  return operation;
}

// Adds an operation whose result is none, or consists of items, which `meta` has, too.
NodeId Body::add_whole(const Node& node, Graph::NodeSpec spec, Meta meta) {
  spec.name = node.name;
  spec.meta = std::move(meta);
  const NodeId operation = graph_.append(std::move(spec));
  describe(operation, node);
  lowered_.table.at(operation).gives_value = false;
  return operation;
}

// Adds an item of the result of an operation, or of an item that is itself a list.
Argument Body::add_item(NodeId of, std::size_t index, const Meta& meta, const std::string& name) {
  const auto place = static_cast<std::int64_t>(index);
  if (!meta.items)
    return lowered_.append_item(of, place,
                                [&](Graph::NodeSpec spec) { return add_value(std::move(spec), name, meta); });
  const NodeId whole = lowered_.append_list(of, place);
  Argument::List list;
  for (std::size_t i = 0; i < meta.items->size(); ++i)
    list.items.push_back(add_item(whole, i, (*meta.items)[i], name + "_" + std::to_string(i)));
  return list;
}

// Adds the items of the operation's result, but for those of which nothing is known: no node uses them.
std::vector<Argument> Body::add_items(const Node& node, NodeId operation) {
  const std::vector<Meta> metas = view().meta(operation).items.value_or(std::vector<Meta>());
  std::vector<Argument> items;
  for (std::size_t i = 0; i < metas.size(); ++i) {
    const bool is_known = metas[i].items || metas[i].shape || metas[i].value;
    items.push_back(is_known ? add_item(operation, i, metas[i], name_of_item(node, i)) : Argument());
  }
  return items;
}

Meta Body::inferred_meta(const std::string& target, const std::vector<Argument>& args,
                         const Kwargs& kwargs) const {
  Meta meta;
  meta.type = "Tensor";
  Node call;
  call.args = args;
  call.kwargs = kwargs;
  const Results results = inferred_results(entry_of(*find_operator(parse_target(target))), call,
                                           [&](NodeId id) { return known_value(view().meta(id)); });
  if (const TensorInfo* tensor = results.empty() ? nullptr : results[0].tensor()) {
    meta.shape.emplace(tensor->sizes.begin(), tensor->sizes.end());
    meta.dtype = tensor->dtype;
  }
  for_each_input(call, [&](NodeId id) {
    if (!meta.device) meta.device = view().meta(id).device;
  });
  return meta;
}

Argument Body::emit(const Node& node, std::string target, std::vector<Argument> args, Kwargs kwargs,
                    Meta meta, std::string_view name) {
  const std::string candidate = name.empty() ? name_candidate(target, true) : std::string(name);
  const NodeId result = add_operation(
      node, spec_of(Opcode::kCallFunction, std::move(target), std::move(args), std::move(kwargs)),
      std::move(meta), candidate);
  may_go_.insert(result.index);
  return result;
}

std::vector<Argument> Body::emit_all(const Node& node, std::string target, std::vector<Argument> args,
                                     const std::vector<Meta>& metas) {
  const std::string name = names_.create(name_candidate(target, true));
  Meta whole;
  whole.items = metas;
  const NodeId operation =
      add_whole(node, spec_of(Opcode::kCallFunction, std::move(target), std::move(args)), std::move(whole));
  lowered_.name_operation(operation, name);
  may_go_.insert(operation.index);
  std::vector<Argument> results;
  for (std::size_t i = 0; i < metas.size(); ++i)
    results.push_back(add_item(operation, i, metas[i], name + "_" + std::to_string(i)));
  return results;
}

const Quantization* Body::quantization(const Argument& operand) const {
  const auto* id = operand.get_if<NodeId>();
  const auto found = id == nullptr ? quantized_.end() : quantized_.find(id->index);
  return found == quantized_.end() ? nullptr : &found->second;
}

void Body::set_quantization(const Argument& operand, Quantization quantization) {
  quantized_.insert_or_assign(operand.get_if<NodeId>()->index, std::move(quantization));
}

std::optional<Argument> Body::call_on_integers(const LoweredCall& call, const Quantization& given) {
  given_ = given;
  call_operator(call);
  given_.reset();
  const auto found = operands_.find(call.node.id.index);
  return found == operands_.end() ? std::nullopt : std::optional(found->second);
}

// Returns the node that gave the container.
std::uint32_t Body::container_of(NodeId node) const {
  const auto found = containers_.find(node.index);
  return found == containers_.end() ? node.index : found->second;
}

// Returns whether an operand of another node may hold the container as an item, so that it would have to
// change, too.
bool Body::is_held(std::uint32_t container) const {
  const Node& owner = source_.graph.node(NodeId{container});
  const bool is_taken = owner.op == Opcode::kCallFunction && *owner.target == "operator.getitem";
  if (is_taken && !owner.args.back().is<Argument::Slice>()) return true;
  const auto holds = [&](NodeId name) {
    return std::ranges::any_of(source_.graph.node(name).users, [&](NodeId id) {
      const auto made = operands_.find(id.index);
      if (made == operands_.end()) return false;  // it comes later
      const Node& user = source_.graph.node(id);
      const bool is_stored = user.op == Opcode::kCallFunction && *user.target == "operator.setitem" &&
                             user.args.back() == Argument(name);
      const bool gives_container = items_of(made->second) != nullptr || made->second.is<Argument::Dict>();
      return is_stored || (gives_container && std::ranges::none_of(user.args, [&](const Argument& argument) {
                             return argument == Argument(name);
                           }));
    });
  };
  if (holds(NodeId{container})) return true;
  return std::ranges::any_of(containers_, [&](const auto& other) {
    return other.second == container && holds(NodeId{other.first});
  });
}

bool Body::change_container(const Node& node, Argument value) {
  const auto* changed = node.args.empty() ? nullptr : node.args[0].get_if<NodeId>();
  if (changed == nullptr || is_held(container_of(*changed))) {
    refuse(node, "it changes a list or dict that is an item of another one");
    return false;
  }
  const std::uint32_t container = container_of(*changed);
  if (*node.target == "operator.iadd") containers_.emplace(node.id.index, container);
  operands_.insert_or_assign(container, std::move(value));
  return true;
}

std::optional<Argument> Body::stored_number(const Argument& tensor) const {
  const auto* id = tensor.get_if<NodeId>();
  if (id == nullptr || !state_.element_of) return std::nullopt;
  const Node& node = source_.graph.node(*id);
  const bool is_asked = node.op == Opcode::kGetAttr && are_users(node, [](const std::string& target) {
                          return target == "builtins.float" || target == "builtins.int" ||
                                 target == "aten.item.default" ||
                                 target == "aten.quantize_per_tensor.tensor_qparams";
                        });
  return is_asked ? state_.element_of(node) : std::nullopt;
}

bool Body::are_users(const Node& node, const std::function<bool(const std::string&)>& holds) const {
  return std::ranges::all_of(node.users,
                             [&](NodeId user) { return holds(*source_.graph.node(user).target); });
}

// Returns unused calls of Python functions without side effects, such as texts of errors that are not raised.
std::unordered_set<std::uint32_t> Body::find_needless() const {
  std::unordered_set<std::uint32_t> needless;
  constexpr FunctionTraits kEffects = function_traits::kWritesFirst | function_traits::kJoins |
                                      function_traits::kSideEffect | function_traits::kInPlaceOption |
                                      function_traits::kRandom;
  const std::vector<NodeId> order = source_.graph.order();
  for (const NodeId id : std::views::reverse(order)) {
    const Node& node = source_.graph.node(id);
    if (node.op != Opcode::kCallFunction) continue;
    const FunctionTraits traits = find_python_function(python_function(*node.target)).traits;
    if ((traits & function_traits::kKnown) == 0 || (traits & kEffects) != 0) continue;
    if (source_.graph.is_assigned(id)) continue;
    if (std::ranges::all_of(node.users, [&](NodeId user) { return needless.contains(user.index); }))
      needless.insert(id.index);
  }
  return needless;
}

// Returns the value of a node that is a known int or bool.
std::optional<Argument> Body::known_number(const Node& node) const {
  const auto& value = node.meta->value;
  if (!value || node.op != Opcode::kCallFunction) return std::nullopt;
  if (const auto number = value->number(); number && node.meta->kind() == ValueKind::kInt) return *number;
  if (node.meta->kind() == ValueKind::kBool && value->kind() == Expression::Kind::kConstant)
    return value->text() == "True";
  return std::nullopt;
}

void Body::lower_all() {
  const std::unordered_set<std::uint32_t> needless = find_needless();
  for (const NodeId id : source_.graph.order()) {
    const Node& node = source_.graph.node(id);
    if (node.op == Opcode::kPlaceholder || node.op == Opcode::kOutput || needless.contains(id.index))
      continue;
    if (operands_.contains(id.index) || refused_.contains(id.index)) continue;
    // A node that uses a refused one is not refused again.
    bool follows = false;
    for_each_input(node, [&](NodeId input) { follows = follows || refused_.contains(input.index); });
    if (follows) {
      refused_.insert(id.index);
      continue;
    }
    try {
      lower(node);
    } catch (const SymbolicError& error) {
      refuse(node, std::string("its sizes or strides cannot be expressed: ") + error.what());
    }
  }
}

namespace {

// Returns whether the operator computes values that are no tensors from such, as aten::exp.float does.
bool is_of_plain_values(const Operator* op) {
  if (op == nullptr) return false;
  const Schema schema = op->schema();
  const auto is_tensor = [](const SchemaType& type) { return type.innermost().name == "Tensor"; };
  return !schema.results.empty() && std::ranges::none_of(schema.results, is_tensor) &&
         std::ranges::none_of(schema.arguments, is_tensor, &SchemaArgument::type) &&
         std::ranges::any_of(schema.results, [](const SchemaType& type) {
           return has_word("int float bool str complex Scalar", type.innermost().name);
         });
}

}  // namespace

void Body::lower(const Node& node) {
  if (node.op == Opcode::kGetAttr && captures_ != nullptr) {
    const auto constant = state_.constant_of(source_, node);
    if (const auto lifted = constant ? lift(*constant, *node.target) : std::nullopt)
      return set(node.id, *lifted);
  }
  if (node.op != Opcode::kCallFunction) {
    return refuse(node, node.op == Opcode::kCallModule ? "the module was not traced into"
                        : node.op == Opcode::kGetAttr
                            ? "a body of control flow reads an attribute of the model"
                            : "a program cannot contain such a node");
  }
  if (const auto number = known_number(node)) return set(node.id, *number);
  LoweredCall call{node, {}, {}};
  for (const Argument& argument : node.args) call.args.push_back(operand_of(argument));
  for (const auto& [name, argument] : node.kwargs) call.kwargs.emplace_back(name, operand_of(argument));
  if (!node.model_function && is_quantized_call(call, *this)) {
    if (auto result = rewrite_quantized(call, *this)) return set(node.id, std::move(*result));
    if (!refused_.contains(node.id.index))
      refuse(node, "a program cannot express this call for quantized tensors");
    return;
  }
  const std::string_view function = python_function(*node.target);
  if (!node.model_function && plain_rewrites().has(function)) {
    if (auto result = plain_rewrites().apply(function, call, *this)) return set(node.id, std::move(*result));
    if (!refused_.contains(node.id.index)) refuse(node, "a program cannot express this call");
    return;
  }
  const TargetParts parts = target_parts(node);
  if (parts.kind == TargetKind::kHigherOrder) return call_with_subgraphs(call);
  if (parts.kind == TargetKind::kOperator && !is_of_plain_values(find_operator(parts)))
    return call_operator(call);
  const bool is_of_numbers =
      !call.args.empty() && std::ranges::all_of(call.args, [&](const Argument& operand) {
        const ValueKind kind = meta_of(operand).kind();
        return kind == ValueKind::kInt || kind == ValueKind::kFloat;
      });
  if (is_of_numbers)
    return refuse(node, "a program cannot call this function on numbers that are not known",
                  "--input with numbers instead of names for the sizes that it uses");
  refuse(node, "a program can call operators only, not Python functions",
         parts.space.starts_with("torch._functorch") ? "--pass remove-batch-dims" : "");
}

std::string Body::help_for_shapes() const {
  return lacks_sizes(source_.graph) ? "--input for all tensors among the inputs" : "";
}

// Returns the name of the node that takes the item, or a generated one.
std::string Body::name_of_item(const Node& node, std::size_t index) const {
  const Node* item = find_item(node, index);
  return item == nullptr ? node.name + "_" + std::to_string(index) : item->name;
}

const Node* Body::find_item(const Node& node, std::size_t index) const {
  for (const NodeId user : node.users) {
    const Node& item = source_.graph.node(user);
    if (item_index(item) == index && item.args[0] == Argument(node.id) && !item.users.empty()) return &item;
  }
  return nullptr;
}

bool Body::all_known(const Meta& meta) const {
  if (meta.items) return std::ranges::all_of(*meta.items, [&](const Meta& item) { return all_known(item); });
  return meta.shape && meta.dtype;
}

// Returns the metadata of the result of an operator that gives these types; items that are not used have
// none.  Returns nothing after refusing the node if the shape or the value of a result is not known.
std::optional<Meta> Body::meta_of_result(const Node& node, const std::vector<SchemaType>& types,
                                         const Operator* op) {
  Meta meta = *node.meta;
  if (types.empty()) return Meta();
  if (gives_one(types)) {
    if (types.front().required().name == "Tensor") {
      if (!meta.shape || !meta.dtype) {
        refuse(node, "the shape of its result is not known",
               op == nullptr ? "shapes of custom operators' results are known in exported programs only"
                             : help_for_shapes());
        return std::nullopt;
      }
    } else if (!meta.value) {
      if (meta.kind() != ValueKind::kInt) {
        refuse(node, "its result is a " + meta.type.value_or("value") + " that depends on data");
        return std::nullopt;
      }
      return unknown_integer();
    }
    return meta;
  }
  bool are_known = meta.items.has_value();
  for (std::size_t i = 0; are_known && i < meta.items->size(); ++i) {
    Meta& item = (*meta.items)[i];
    if (all_known(item)) continue;
    item = Meta();
    are_known = types.size() > 1 && !find_item(node, i);
  }
  if (are_known) return meta;
  refuse(node, "the shapes of its results are not known");
  return std::nullopt;
}

// Gives arguments that are keywords of Python by position: torch.export.load takes them in no other way, and
// needs them also where they have their defaults.
void give_keywords(const Schema& schema, Graph::NodeSpec& operation) {
  for (std::size_t i = schema.arguments.size(); i-- > operation.args.size();) {
    if (!is_python_keyword(schema.arguments[i].name)) continue;
    for (std::size_t at = operation.args.size(); at <= i; ++at) {
      const SchemaArgument& formal = schema.arguments[at];
      const auto given =
          std::ranges::find(operation.kwargs, formal.name, [](const auto& named) { return named.first; });
      if (given != operation.kwargs.end()) {
        operation.args.push_back(given->second);
        operation.kwargs.erase(given);
        continue;
      }
      auto value = plain_argument(default_value(formal.default_value.value_or("")));
      operation.args.push_back(std::move(value).value_or(Argument()));
    }
    return;
  }
}

void Body::call_operator(const LoweredCall& call) {
  const Node& node = call.node;
  const Operator* op = find_operator(parse_target(*node.target));
  if (const auto declared = state_.declared.find(*node.target);
      declared != state_.declared.end() && op == nullptr)
    state_.program.schemas.emplace(declared->first, parse_schema(declared->second));
  const auto schema = state_.program.schema_of(*node.target, op);
  if (!schema) return refuse(node, "its schema is not known", "--op-schema '...'");
  Graph::NodeSpec spec = spec_of(Opcode::kCallFunction, *node.target, call.args, call.kwargs);
  give_keywords(*schema, spec);
  auto meta = meta_of_result(node, schema->results, op);
  if (!meta) return;
  if (gives_one(schema->results))
    return set(node.id, add_operation(node, std::move(spec), *std::move(meta), node.name));
  const NodeId operation = add_whole(node, std::move(spec), *std::move(meta));
  std::vector<Argument> items = add_items(node, operation);
  lowered_.name_operation(operation, names_.create(node.name));
  if (schema->results.size() > 1) return set(node.id, Argument::Tuple{std::move(items)});
  set(node.id, schema->results.empty() ? Argument() : Argument(Argument::List{std::move(items)}));
}

// --- control flow ---

ExportedGraph Body::lower_subgraph(const ModuleGraph& source, const std::vector<Argument>& inputs,
                                   const std::vector<bool>& fixed, std::size_t carried, bool is_condition,
                                   Captures& captures, std::map<std::size_t, NodeId>& captured) {
  ++state_.depth;
  const Restore depth([&] { --state_.depth; });
  Body body(state_, source, is_condition, &captures);
  std::size_t i = 0;
  for (const NodeId id : source.graph.order()) {
    const Node& node = source.graph.node(id);
    if (node.op != Opcode::kPlaceholder || i == inputs.size()) continue;
    if (fixed[i] && has_values(inputs[i])) {
      body.leave_out(id);  // refused already
    } else if (fixed[i]) {
      body.set(id, inputs[i]);
    } else {
      Meta meta = meta_of(inputs[i]);
      if (node.meta->shape || node.meta->value)
        meta = *node.meta;
      else if (i < carried && meta.kind() == ValueKind::kInt)
        meta = unknown_integer();
      body.set(id, body.add_input(node.name, std::move(meta)));
    }
    ++i;
  }
  body.lower_all();
  std::vector<Argument> outputs;
  if (const NodeId last = source.graph.last(); last.valid()) {
    const Node& output = source.graph.node(last);
    if (output.op == Opcode::kOutput && !output.args.empty())
      tree_of(body.operand_of(output.args.front()), outputs);
    for (Argument& result : outputs) {  // a subgraph cannot return a plain number
      if (result.is<std::int64_t>())
        result =
            body.emit(output, "operator.add", {result, std::int64_t{0}}, {}, body.meta_of(result), "number");
    }
  }
  captured = body.captured();
  const bool is_single = is_condition && outputs.size() == 1;
  return body.finish(std::move(outputs), is_single);
}

// Gives the body an input for each of the captures, which are values of this graph, behind the traced ones.
void Body::add_captures(ExportedGraph& body, const std::map<std::size_t, NodeId>& captured,
                        const std::vector<NodeId>& outside) const {
  Graph& graph = body.module_graph.graph;
  NodeId first = graph.first();  // behind the inputs
  while (graph.node(first).op == Opcode::kPlaceholder) first = graph.next(first);
  const auto is_name = [&](const std::string& name) {
    bool found = false;
    for_each_made_value(body.view(),
                        [&](NodeId value) { found = found || body.view().value_name(value) == name; });
    return found;
  };
  for (std::size_t i = 0; i < outside.size(); ++i) {
    if (const auto own = captured.find(i); own != captured.end()) {
      graph.move_before(first, own->second);
      continue;
    }
    std::string name = view().value_name(outside[i]);
    while (is_name(name)) name += '_';
    Graph::NodeSpec spec = spec_of(Opcode::kPlaceholder, {});
    spec.meta = view().node(outside[i]).meta;
    const NodeId input = body.append_value(std::move(spec), name);
    body.table.strides.emplace(input.index, lowered_.table.strides.at(outside[i].index));
    graph.move_before(first, input);
  }
}

// Adds the graph of an operation, and returns its name, which is another one if an earlier call has the name.
std::string Body::add_subgraph(std::string name, ExportedGraph body) {
  while (lowered_.module_graph.subgraphs.find_graph(name) != nullptr) name += '_';
  lowered_.module_graph.subgraphs.add({name, std::move(body.module_graph)});
  lowered_.table.subgraphs.emplace(name, std::move(body.table));
  return name;
}

// Returns whether the node's bodies would be nested deeper than readers take.
bool Body::is_too_deep(const Node& node) {
  if (state_.depth < kMaxSubgraphs) return false;
  refuse(node, "control flow is nested more than " + std::to_string(kMaxSubgraphs) + " deep");
  return true;
}

// Returns whether the bodies give what the operator gives, as torch demands of `cond` and `while_loop`;
// refuses the node if not.
bool Body::has_results(const Node& node, NodeId operation, bool is_loop) {
  const std::string what = is_loop ? "the loop" : "the `if`";
  const std::vector<ProgramResult> given = view().results(operation);
  if (given.empty()) {
    refuse(node, what + " gives no result, which torch.export does not load");
    return false;
  }
  bool are_alike = true, is_first = true;
  view().for_each_subgraph(operation, [&](const std::string&, const ProgramView& body) {
    const bool is_condition = is_loop && std::exchange(is_first, false);
    if (is_condition) return;
    const std::vector<Argument> results = body.outputs();
    for (std::size_t i = 0; i < std::max(results.size(), given.size()); ++i) {
      const auto* id = i < results.size() ? results[i].get_if<NodeId>() : nullptr;
      are_alike = are_alike && id != nullptr && i < given.size();
      if (!are_alike) return;
      const Meta &inside = body.meta(*id), &outside = view().meta(given[i].value);
      const bool has_rank = inside.shape && outside.shape;
      are_alike = inside.kind() == outside.kind() && inside.dtype == outside.dtype &&
                  (!has_rank || inside.shape->size() == outside.shape->size());
    }
  });
  if (!are_alike)
    refuse(node, is_loop ? "a turn of the loop changes the kind, dtype or rank of what it carries"
                         : "the branches of the `if` give results of different kinds, dtypes or ranks");
  return are_alike;
}

void Body::call_with_subgraphs(const LoweredCall& call) {
  const Node& node = call.node;
  if (is_too_deep(node)) return;
  const bool is_cond = *node.target == "higher_order.cond";
  const bool is_loop = *node.target == "higher_order.while_loop";
  if (!is_cond && !is_loop) return keep_with_subgraphs(call);
  // Plain operands are written into the subgraphs, except for those that a loop carries.
  std::vector<Argument> inputs;
  std::vector<bool> fixed;
  const auto passed = [&](const Argument& list, bool may_fix) {
    Argument::List kept;
    const auto* items = items_of(list);
    if (items == nullptr) return kept;
    for (Argument item : *items) {
      const bool is_plain = !item.is<NodeId>();
      if (is_plain && has_values(item))
        refuse(node,
               "a program cannot pass lists of tensors or weights of a quantized layer to control flow");
      if (is_plain && !may_fix) {
        if (!item.is<std::int64_t>()) {
          refuse(node, "a loop carries a value that a program cannot express");
        } else {
          item = emit(node, "operator.add", {item, std::int64_t{0}}, {}, meta_of(item));
        }
      }
      inputs.push_back(item);
      fixed.push_back(is_plain && may_fix);
      if (!fixed.back()) kept.items.push_back(std::move(item));
    }
    return kept;
  };
  std::size_t carried = 0;  // the number of inputs that a loop carries, which come first
  std::vector<std::size_t> graphs;
  for (std::size_t i = 0; i < call.args.size(); ++i) {
    if (call.args[i].is<Argument::GraphRef>()) graphs.push_back(i);
  }
  if (graphs.size() != 2 || call.args.size() != 4) return refuse(node, "a program cannot express this call");
  const std::size_t refusals = state_.refusals.size();
  std::vector<Argument> args = call.args;
  if (is_cond) {
    args[3] = passed(call.args[3], true);
  } else {
    args[2] = passed(call.args[2], false);
    carried = inputs.size();
    args[3] = passed(call.args[3], true);
  }
  Captures captures{*this};
  std::vector<std::map<std::size_t, NodeId>> captured(graphs.size());
  std::vector<ExportedGraph> bodies;
  for (std::size_t place = 0; place < graphs.size(); ++place) {
    const std::size_t i = graphs[place];
    const std::string& name = call.args[i].get_if<Argument::GraphRef>()->name;
    const ModuleGraph* source = source_.subgraphs.find_graph(name);
    if (source == nullptr) return refuse(node, "its subgraph is missing: " + name);
    const bool is_condition = is_loop && i == graphs.front();
    bodies.push_back(
        lower_subgraph(*source, inputs, fixed, carried, is_condition, captures, captured[place]));
  }
  Argument::List operands{*items_of(args[3])};
  for (const NodeId id : captures.outside) operands.items.emplace_back(id);
  args[3] = std::move(operands);
  for (std::size_t place = 0; place < graphs.size(); ++place)
    add_captures(bodies[place], captured[place], captures.outside);
  if (state_.refusals.size() > refusals) {
    refused_.insert(node.id.index);
    return;
  }
  Meta meta = *node.meta;
  if (!meta.items || !all_known(meta)) {
    // The subgraphs determine the results of both branches, or those that the loop carries.
    meta.items.emplace();
    const ProgramView body = bodies.back().view();
    for (const Argument& output : body.outputs()) {
      const auto* id = output.get_if<NodeId>();
      meta.items->push_back(id == nullptr ? Meta{} : body.meta(*id));
    }
    for (std::size_t i = 0; i < meta.items->size(); ++i) {
      Meta& item = (*meta.items)[i];
      if (item.kind() == ValueKind::kInt) item = unknown_integer();
      for (const NodeId user : node.users) {  // the metadata of the trace takes precedence
        const Node& taken = source_.graph.node(user);
        if (item_index(taken) == i && (taken.meta->shape || taken.meta->value)) item = *taken.meta;
      }
      if (item.shape ? !item.dtype : !item.value)
        return refuse(node,
                      item.shape ? "the dtype of its results depends on data" : "its results are not known");
    }
  }
  for (std::size_t place = 0; place < graphs.size(); ++place) {
    Argument& graph = args[graphs[place]];
    graph =
        Argument::GraphRef{add_subgraph(graph.get_if<Argument::GraphRef>()->name, std::move(bodies[place]))};
  }
  const NodeId operation =
      add_whole(node, spec_of(Opcode::kCallFunction, *node.target, std::move(args)), std::move(meta));
  set(node.id, Argument::Tuple{add_items(node, operation)});
  if (has_results(node, operation, is_loop)) lowered_.name_operation(operation, names_.create(node.name));
}

// Lowers a higher-order operator of an exported program: its subgraphs take the same inputs as before.
void Body::keep_with_subgraphs(const LoweredCall& call) {
  const Node& node = call.node;
  if (is_too_deep(node)) return;
  const std::size_t refusals = state_.refusals.size();
  Graph::NodeSpec spec = spec_of(Opcode::kCallFunction, *node.target, call.args, call.kwargs);
  std::vector<std::pair<Argument*, ExportedGraph>> bodies;  // with the operands that name them
  // Calls of one region have one body, which is lowered from the traced graph alone.
  const bool may_share = *node.target == "higher_order.invoke_subgraph";
  const auto lower_graph = [&](Argument& operand) {
    const auto* graph = operand.get_if<Argument::GraphRef>();
    const ModuleGraph* source = graph == nullptr ? nullptr : source_.subgraphs.find_graph(graph->name);
    if (source == nullptr) return;
    if (const auto known = invoked_.find(graph->name); may_share && known != invoked_.end()) {
      operand = Argument::GraphRef{known->second};
      return;
    }
    ++state_.depth;
    const Restore depth([&] { --state_.depth; });
    Body body(state_, *source);
    for (const NodeId id : source->graph.order()) {
      const Node& input = source->graph.node(id);
      if (input.op == Opcode::kPlaceholder) body.set(id, body.add_input(input.name, *input.meta));
    }
    body.lower_all();
    std::vector<Argument> outputs;
    bool is_single = false;
    if (const NodeId last = source->graph.last(); last.valid() && !source->graph.node(last).args.empty()) {
      const Argument result = body.operand_of(source->graph.node(last).args.front());
      is_single = result.is<NodeId>();
      tree_of(result, outputs);
    }
    bodies.emplace_back(&operand, body.finish(std::move(outputs), is_single));
  };
  for (Argument& operand : spec.args) lower_graph(operand);
  for (auto& [name, operand] : spec.kwargs) lower_graph(operand);
  if (state_.refusals.size() > refusals) {
    refused_.insert(node.id.index);
    return;
  }
  Meta meta = *node.meta;
  if (!meta.items && !all_known(meta)) return refuse(node, "the shapes of its results are not known");
  for (auto& [operand, body] : bodies) {
    const std::string& name = operand->get_if<Argument::GraphRef>()->name;
    std::string own = add_subgraph(name, std::move(body));
    if (may_share) invoked_.emplace(name, own);
    *operand = Argument::GraphRef{std::move(own)};
  }
  NodeId operation;
  if (meta.items) {
    for (Meta& item : *meta.items) {
      if (!all_known(item) && !item.value) item = Meta();
    }
    operation = add_whole(node, std::move(spec), std::move(meta));
    set(node.id, Argument::Tuple{add_items(node, operation)});
  } else {
    operation = add_operation(node, std::move(spec), std::move(meta), node.name);
    set(node.id, operation);
  }
  lowered_.name_operation(operation, node.name);
}

// --- the end ---

ExportedGraph Body::finish(std::vector<Argument> outputs, bool is_single) {
  Argument output = is_single ? std::move(outputs.front()) : Argument(Argument::Tuple{std::move(outputs)});
  graph_.append(spec_of(Opcode::kOutput, "output", {std::move(output)}));
  const std::vector<NodeId> operations = view().operations();
  for (const NodeId operation : std::views::reverse(operations)) {
    bool is_used = false;
    view().for_each_result(operation,
                           [&](NodeId value) { is_used = is_used || !graph_.node(value).users.empty(); });
    if (is_used || (!may_go_.contains(operation.index) && !is_needless(view(), operation))) continue;
    std::vector<NodeId> gone{operation};
    for (std::size_t i = 0; i < gone.size(); ++i) {
      const std::vector<NodeId>& items = graph_.node(gone[i]).users;
      gone.insert(gone.end(), items.begin(), items.end());
    }
    for (const NodeId id : std::views::reverse(gone)) graph_.erase(id);
  }
  return std::move(lowered_);
}

}  // namespace fxtrace::internal
