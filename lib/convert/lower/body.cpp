#include "convert/lower/body.h"

#include <algorithm>
#include <ranges>
#include <span>

#include "convert/lower/quantized_calls.h"
#include "convert/lower/rewrites.h"
#include "convert/lower/tree_text.h"
#include "graph/analysis/described_inputs.h"
#include "operators/higher_order.h"
#include "operators/names/function_traits.h"
#include "operators/operators.h"
#include "opinfo/operator_entry.h"
#include "opinfo/python_spelling.h"
#include "support/restore.h"
#include "support/text/python_keyword.h"
#include "support/text/words.h"

namespace fxtrace {
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

// Returns the strides of a contiguous tensor.
std::vector<Expression> strides_of(const std::vector<Expression>& sizes) {
  std::vector<Expression> strides(sizes.size());
  SymInt row = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = row;
    if (sizes[i].size() != nullptr) row = row * max(SymInt(1), *sizes[i].size());
  }
  return strides;
}

// Returns whether the operation only computes sizes or takes items, so that it can go if it is not used.
bool is_needless(const Operation& operation) {
  const Effect effect = effect_of(operation);
  return effect == Effect::kSymbolic && operation.target.aten_name() != "_assert_scalar" &&
         !operation.outputs.empty();
}

}  // namespace

Argument LoweredCall::argument(std::size_t place, std::string_view name) const {
  const Argument* found = find_argument(*this, place, name);
  return found == nullptr ? Argument() : *found;
}

// --- values ---

NodeId Body::add_value(std::string_view name, Meta meta) {
  const NodeId id{static_cast<std::uint32_t>(graph_.values.size())};
  ProgramValue value;
  value.name = names_.create(name);
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
  if (meta.shape) value.strides = strides_of(*meta.shape);
  value.meta = std::move(meta);
  graph_.values.push_back(std::move(value));
  return id;
}

NodeId Body::add_input(std::string_view name, Meta meta) {
  const NodeId id = add_value(name, std::move(meta));
  graph_.inputs.push_back({id, std::nullopt});
  return id;
}

Argument Body::operand_of(const Argument& argument) const {
  return map_references(argument, [&](NodeId node) {
    const auto found = operands_.find(container_of(node));
    return found == operands_.end() ? Argument() : found->second;
  });
}

Meta Body::meta_of(const Argument& operand) const {
  if (const auto* id = operand.get_if<NodeId>()) return value(*id).meta;
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
  const ProgramValue& outside = captures_->around.value(captures_->outside[number]);
  if (!captured_.contains(number)) captured_.emplace(number, add_input(outside.name, outside.meta));
  return captured_.at(number);
}

void Body::set(NodeId node, Argument operand) {
  const auto* id = operand.get_if<NodeId>();
  if (id != nullptr && memory_.has_memory(node) && is_written(node)) written_.insert(id->index);
  operands_.insert_or_assign(node.index, std::move(operand));
}

const Operation* Body::lasting_maker(const Argument& tensor) const {
  const auto* id = tensor.get_if<NodeId>();
  const auto found = id == nullptr ? single_makers_.end() : single_makers_.find(id->index);
  return found == single_makers_.end() || written_.contains(id->index) ? nullptr
                                                                       : &graph_.operations[found->second];
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

Operation Body::operation_of(const Node& node, std::string target) const {
  Operation operation;
  operation.target = Target(std::move(target));
  operation.name = node.name;
  operation.call = state_.stacks.find_call(*node.scope);
  operation.has_stack = true;
  if (const auto& source = *node.source) operation.stack_trace = OwnedText(trace_of(*source));
  return operation;
}

Argument Body::emit(const Node& node, std::string target, std::vector<Argument> args, Kwargs kwargs,
                    Meta meta, std::string_view name) {
  Operation operation = operation_of(node, std::move(target));
  operation.args = std::move(args);
  operation.kwargs = std::move(kwargs);
  const std::string candidate =
      name.empty() ? name_candidate(operation.target.text(), true) : std::string(name);
  const NodeId result = add_value(candidate, std::move(meta));
  operation.name = value(result).name;
  operation.outputs.push_back({result, {}});
  may_go_.insert(graph_.operations.size());
  makers_.emplace(result.index, graph_.operations.size());
  single_makers_.emplace(result.index, graph_.operations.size());
  graph_.operations.push_back(std::move(operation));
  return result;
}

void Body::append(Operation operation) {
  const bool is_result = operation.outputs.size() == 1 && operation.outputs[0].path.empty();
  operation.name = is_result ? value(operation.outputs[0].value).name : names_.create(operation.name);
  if (is_result) single_makers_.emplace(operation.outputs[0].value.index, graph_.operations.size());
  graph_.operations.push_back(std::move(operation));
}

std::vector<Argument> Body::emit_all(const Node& node, std::string target, std::vector<Argument> args,
                                     const std::vector<Meta>& metas) {
  Operation operation = operation_of(node, std::move(target));
  operation.args = std::move(args);
  operation.name = names_.create(name_candidate(operation.target.text(), true));
  std::vector<Argument> results;
  for (std::size_t i = 0; i < metas.size(); ++i) {
    const NodeId result = add_value(operation.name + "_" + std::to_string(i), metas[i]);
    operation.outputs.push_back({result, {static_cast<std::int64_t>(i)}});
    results.emplace_back(result);
  }
  may_go_.insert(graph_.operations.size());
  graph_.operations.push_back(std::move(operation));
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

const Operation* Body::maker(const Argument& operand) const {
  const auto* id = operand.get_if<NodeId>();
  const auto found = id == nullptr ? makers_.end() : makers_.find(id->index);
  return found == makers_.end() ? nullptr : &graph_.operations[found->second];
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
  if (const Rewrite rewrite = node.model_function ? nullptr : find_rewrite(python_function(*node.target))) {
    if (auto result = rewrite(call, *this)) return set(node.id, std::move(*result));
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

Argument Body::add_result(const Node& node, const Meta& meta, std::string_view name,
                          std::vector<std::int64_t> path, Operation& operation) {
  if (meta.items) {
    Argument::List list;
    for (std::size_t i = 0; i < meta.items->size(); ++i) {
      auto inner = path;
      inner.push_back(static_cast<std::int64_t>(i));
      list.items.push_back(add_result(node, (*meta.items)[i], std::string(name) + "_" + std::to_string(i),
                                      std::move(inner), operation));
    }
    return list;
  }
  const bool is_quantized = given_ && meta.dtype && fxtrace::is_quantized(*meta.dtype);
  const NodeId result = add_value(name, is_quantized ? meta_of_integers(meta) : meta);
  if (is_quantized) quantized_.emplace(result.index, *given_);
  operation.outputs.push_back({result, std::move(path)});
  return result;
}

// Adds the results of an operation, which have those types.  Returns false after refusing the node if the
// shape or the value of one is not known.
bool Body::add_results(const LoweredCall& call, const std::vector<SchemaType>& types, Operation& operation,
                       Argument& result) {
  const Node& node = call.node;
  const Meta& meta = *node.meta;
  if (types.empty()) return true;
  const bool is_one = types.size() == 1 && !types.front().is_list();
  if (is_one) {
    Meta own = meta;
    if (types.front().required().name == "Tensor") {
      if (!own.shape || !own.dtype) {
        refuse(node, "the shape of its result is not known",
               operation.target.find_operator() == nullptr
                   ? "shapes of custom operators' results are known in exported programs only"
                   : help_for_shapes());
        return false;
      }
    } else if (!own.value) {
      if (own.kind() != ValueKind::kInt) {
        refuse(node, "its result is a " + own.type.value_or("value") + " that depends on data");
        return false;
      }
      own = unknown_integer();
    }
    result = add_result(node, own, node.name, {}, operation);
    return true;
  }
  const bool is_tuple = types.size() > 1;
  if (!meta.items) {
    refuse(node, "the shapes of its results are not known");
    return false;
  }
  Argument::List list;
  for (std::size_t i = 0; i < meta.items->size(); ++i) {
    const Meta& item = (*meta.items)[i];
    const auto place = static_cast<std::int64_t>(i);
    if (all_known(item)) {
      list.items.push_back(add_result(node, item, name_of_item(node, i), {place}, operation));
    } else if (is_tuple && !find_item(node, i)) {
      operation.outputs.push_back({NodeId{}, {place}});  // an unused result
      list.items.emplace_back();
    } else {
      refuse(node, "the shapes of its results are not known");
      return false;
    }
  }
  operation.result_is_list = types.size() == 1;
  if (types.size() == 1)
    result = std::move(list);
  else
    result = Argument::Tuple{std::move(list.items)};
  return true;
}

// Gives arguments that are keywords of Python by position: torch.export.load takes them in no other way, and
// needs them also where they have their defaults.
void give_keywords(const Schema& schema, Operation& operation) {
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
      const AbstractValue value = default_value(formal.default_value.value_or(""));
      Argument operand;
      if (const auto* real = value.get_if<double>()) operand = *real;
      if (const SymInt* number = value.integer(); number != nullptr && number->number())
        operand = *number->number();
      operation.args.push_back(std::move(operand));
    }
    return;
  }
}

void Body::call_operator(const LoweredCall& call) {
  const Node& node = call.node;
  Operation operation = operation_of(node, *node.target);
  operation.args = call.args;
  operation.kwargs = call.kwargs;
  if (const auto declared = state_.declared.find(*node.target);
      declared != state_.declared.end() && operation.target.find_operator() == nullptr)
    state_.program.schemas.emplace(declared->first, parse_schema(declared->second));
  const auto schema = state_.program.schema_of(operation.target);
  if (!schema) return refuse(node, "its schema is not known", "--op-schema '...'");
  give_keywords(*schema, operation);
  Argument result;
  if (!add_results(call, schema->results, operation, result)) return;
  set(node.id, std::move(result));
  append(std::move(operation));
}

// --- control flow ---

ProgramSubgraph Body::lower_subgraph(const std::string& name, const ModuleGraph& source,
                                     const std::vector<Argument>& inputs, const std::vector<bool>& fixed,
                                     std::size_t carried, bool is_condition, Captures& captures,
                                     std::map<std::size_t, NodeId>& captured) {
  ++state_.depth;
  const Restore depth([&] { --state_.depth; });
  Body body(state_, source, is_condition, &captures);
  std::size_t i = 0;
  for (const NodeId id : source.graph.order()) {
    const Node& node = source.graph.node(id);
    if (node.op != Opcode::kPlaceholder || i == inputs.size()) continue;
    if (fixed[i]) {
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
  return {name, body.finish(std::move(outputs))};
}

// Gives the graph an input for each of the captures, behind the traced ones.
void add_captures(ProgramGraph& graph, const std::map<std::size_t, NodeId>& captured,
                  const std::vector<ProgramValue>& outside) {
  graph.inputs.resize(graph.inputs.size() - captured.size());
  for (std::size_t i = 0; i < outside.size(); ++i) {
    const auto own = captured.find(i);
    NodeId input =
        own == captured.end() ? NodeId{static_cast<std::uint32_t>(graph.values.size())} : own->second;
    if (own == captured.end()) {
      graph.values.push_back(outside[i]);
      std::string& name = graph.values.back().name;
      const std::span before(graph.values.data(), graph.values.size() - 1);
      while (std::ranges::find(before, name, &ProgramValue::name) != before.end()) name += "_";
    }
    graph.inputs.push_back({input, std::nullopt});
  }
}

// Returns whether the node's bodies would be nested deeper than readers take.
bool Body::is_too_deep(const Node& node) {
  if (state_.depth < kMaxSubgraphs) return false;
  refuse(node, "control flow is nested more than " + std::to_string(kMaxSubgraphs) + " deep");
  return true;
}

// Returns whether the bodies give what the operator gives, as torch demands of `cond` and `while_loop`;
// refuses the node if not.
bool Body::has_results(const Node& node, const Operation& operation, bool is_loop) {
  const std::string what = is_loop ? "the loop" : "the `if`";
  if (operation.outputs.empty()) {
    refuse(node, what + " gives no result, which torch.export does not load");
    return false;
  }
  for (const ProgramSubgraph& body : operation.subgraphs) {
    if (is_loop && &body == &operation.subgraphs.front()) continue;  // the condition
    const std::vector<Argument>& results = body.graph.outputs;
    for (std::size_t i = 0; i < std::max(results.size(), operation.outputs.size()); ++i) {
      const auto* id = i < results.size() ? results[i].get_if<NodeId>() : nullptr;
      if (id != nullptr && i < operation.outputs.size()) {
        const Meta& inside = body.graph.values[id->index].meta;
        const Meta& outside = value(operation.outputs[i].value).meta;
        const bool has_rank = inside.shape && outside.shape;
        if (inside.kind() == outside.kind() && inside.dtype == outside.dtype &&
            (!has_rank || inside.shape->size() == outside.shape->size()))
          continue;
      }
      refuse(node, is_loop ? "a turn of the loop changes the kind, dtype or rank of what it carries"
                           : "the branches of the `if` give results of different kinds, dtypes or ranks");
      return false;
    }
  }
  return true;
}

void Body::call_with_subgraphs(const LoweredCall& call) {
  const Node& node = call.node;
  if (is_too_deep(node)) return;
  const bool is_cond = *node.target == "higher_order.cond";
  const bool is_loop = *node.target == "higher_order.while_loop";
  if (!is_cond && !is_loop) return keep_with_subgraphs(call);
  Operation operation = operation_of(node, *node.target);
  // Plain operands are written into the subgraphs, except for those that a loop carries.
  std::vector<Argument> inputs;
  std::vector<bool> fixed;
  const auto passed = [&](const Argument& list, bool may_fix) {
    Argument::List kept;
    const auto* items = items_of(list);
    if (items == nullptr) return kept;
    for (Argument item : *items) {
      const bool is_plain = !item.is<NodeId>();
      bool has_values = false;
      if (is_plain) for_each_reference(item, [&](NodeId) { has_values = true; });
      if (has_values)
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
  operation.args = call.args;
  if (is_cond) {
    operation.args[3] = passed(call.args[3], true);
  } else {
    operation.args[2] = passed(call.args[2], false);
    carried = inputs.size();
    operation.args[3] = passed(call.args[3], true);
  }
  Captures captures{*this};
  std::vector<std::map<std::size_t, NodeId>> captured(graphs.size());
  for (std::size_t place = 0; place < graphs.size(); ++place) {
    const std::size_t i = graphs[place];
    const std::string& name = call.args[i].get_if<Argument::GraphRef>()->name;
    const ModuleGraph* source = source_.subgraphs.find_graph(name);
    if (source == nullptr) return refuse(node, "its subgraph is missing: " + name);
    const bool is_condition = is_loop && i == graphs.front();
    operation.subgraphs.push_back(
        lower_subgraph(name, *source, inputs, fixed, carried, is_condition, captures, captured[place]));
    operation.subgraphs.back().graph.single_output = is_condition;
  }
  std::vector<ProgramValue> outside;
  Argument::List operands{*items_of(operation.args[3])};
  for (const NodeId id : captures.outside) {
    outside.push_back(value(id));
    operands.items.emplace_back(id);
  }
  operation.args[3] = std::move(operands);
  for (std::size_t place = 0; place < graphs.size(); ++place)
    add_captures(operation.subgraphs[place].graph, captured[place], outside);
  if (state_.refusals.size() > refusals) {
    refused_.insert(node.id.index);
    return;
  }
  if (!node.meta->items || !all_known(*node.meta)) {
    // The subgraphs determine the results of both branches, or those that the loop carries.
    Meta meta = *node.meta;
    meta.items.emplace();
    const ProgramGraph& body = operation.subgraphs.back().graph;
    for (const Argument& output : body.outputs) {
      const auto* id = output.get_if<NodeId>();
      meta.items->push_back(id == nullptr ? Meta{} : body.values[id->index].meta);
    }
    Argument::Tuple results;
    for (std::size_t i = 0; i < meta.items->size(); ++i) {
      Meta item = (*meta.items)[i];
      if (item.kind() == ValueKind::kInt) item = unknown_integer();
      for (const NodeId user : node.users) {  // the metadata of the trace takes precedence
        const Node& taken = source_.graph.node(user);
        if (item_index(taken) == i && (taken.meta->shape || taken.meta->value)) item = *taken.meta;
      }
      if (item.shape ? !item.dtype : !item.value)
        return refuse(node,
                      item.shape ? "the dtype of its results depends on data" : "its results are not known");
      results.items.push_back(
          add_result(node, item, name_of_item(node, i), {static_cast<std::int64_t>(i)}, operation));
    }
    set(node.id, std::move(results));
  } else {
    Argument::Tuple results;
    for (std::size_t i = 0; i < node.meta->items->size(); ++i)
      results.items.push_back(add_result(node, (*node.meta->items)[i], name_of_item(node, i),
                                         {static_cast<std::int64_t>(i)}, operation));
    set(node.id, std::move(results));
  }
  if (has_results(node, operation, is_loop)) append(std::move(operation));
}

// Lowers a higher-order operator of an exported program: its subgraphs take the same inputs as before.
void Body::keep_with_subgraphs(const LoweredCall& call) {
  const Node& node = call.node;
  if (is_too_deep(node)) return;
  Operation operation = operation_of(node, *node.target);
  operation.args = call.args;
  operation.kwargs = call.kwargs;
  const std::size_t refusals = state_.refusals.size();
  const auto lower_graph = [&](const Argument& operand) {
    const auto* graph = operand.get_if<Argument::GraphRef>();
    const ModuleGraph* source = graph == nullptr ? nullptr : source_.subgraphs.find_graph(graph->name);
    if (source == nullptr) return;
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
    operation.subgraphs.push_back({graph->name, body.finish(std::move(outputs))});
    operation.subgraphs.back().graph.single_output = is_single;
  };
  for (const Argument& operand : call.args) lower_graph(operand);
  for (const auto& [name, operand] : call.kwargs) lower_graph(operand);
  if (state_.refusals.size() > refusals) {
    refused_.insert(node.id.index);
    return;
  }
  const Meta& meta = *node.meta;
  if (!meta.items && !all_known(meta)) return refuse(node, "the shapes of its results are not known");
  Argument result;
  if (meta.items) {
    Argument::Tuple results;
    for (std::size_t i = 0; i < meta.items->size(); ++i) {
      const Meta& item = (*meta.items)[i];
      const auto place = static_cast<std::int64_t>(i);
      if (all_known(item) || item.value) {
        results.items.push_back(add_result(node, item, name_of_item(node, i), {place}, operation));
      } else {
        operation.outputs.push_back({NodeId{}, {place}});
        results.items.emplace_back();
      }
    }
    result = std::move(results);
  } else {
    result = add_result(node, meta, node.name, {}, operation);
  }
  set(node.id, std::move(result));
  graph_.operations.push_back(std::move(operation));
}

// --- the end ---

ProgramGraph Body::finish(std::vector<Argument> outputs) {
  graph_.outputs = std::move(outputs);
  std::vector<std::uint32_t> uses = count_uses(graph_);
  std::vector<bool> goes(graph_.operations.size());
  for (std::size_t i = graph_.operations.size(); i-- > 0;) {
    const Operation& operation = graph_.operations[i];
    const bool is_used = std::ranges::any_of(operation.outputs, [&](const auto& output) {
      return output.value.valid() && uses[output.value.index] > 0;
    });
    goes[i] = !is_used && (may_go_.contains(i) || is_needless(operation));
    if (goes[i]) for_each_input(operation, [&](NodeId input) { --uses[input.index]; });
  }
  std::size_t kept = 0;
  std::vector<bool> is_gone(graph_.values.size());
  for (std::size_t i = 0; i < graph_.operations.size(); ++i) {
    if (goes[i]) {
      for (const auto& output : graph_.operations[i].outputs) {
        if (output.value.valid()) is_gone[output.value.index] = true;
      }
      continue;
    }
    if (kept != i) graph_.operations[kept] = std::move(graph_.operations[i]);
    ++kept;
  }
  graph_.operations.resize(kept);
  for (std::size_t i = 0; i < graph_.values.size(); ++i) {
    if (is_gone[i]) graph_.values[i].name.clear();
  }
  return std::move(graph_);
}

}  // namespace fxtrace
