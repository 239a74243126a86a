// What is known of values that depend on inputs: sizes that operators and leaves give, and questions that
// they answer.
#include <ATen/core/grad_mode.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <algorithm>

#include "operators/operators.h"
#include "operators/python_spelling.h"
#include "support/error.h"
#include "support/restore.h"
#include "torchscript/convert.h"
#include "torchscript/interpreter.h"
#include "torchscript/kernel_arguments.h"
#include "torchscript/shapes/infer.h"

namespace fxtrace {
namespace {

// What one of many results costs, in units of the budget: as much as a node, for each has a shape of its own.
constexpr std::size_t kUnitsOfPiece = 64;

std::size_t pieces_of(const AbstractValue& result) {
  const auto* pieces = result.sequence();
  return pieces == nullptr ? 0 : pieces->size();
}

std::optional<SymInt> read_element(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.dim() != 0 || !at::isIntegralType(tensor.scalar_type(), false)) {
    return std::nullopt;
  }
  const auto values = elements(tensor);
  const auto* number = values && values->size() == 1 ? values->front().get_if<std::int64_t>() : nullptr;
  return number == nullptr ? std::nullopt : std::optional<SymInt>(*number);
}

// Sizes of another graph that depend on data keep their names, and no new one gets them.
void reserve_names(const AbstractValue& known, ShapeEnv& dimensions) {
  const auto reserve = [&](const SymInt& size) {
    for (const std::string& name : size.symbols()) dimensions.narrow(name, dimensions.range(name));
  };
  if (const TensorInfo* info = known.tensor()) std::ranges::for_each(info->sizes, reserve);
  if (const SymInt* integer = known.integer()) reserve(*integer);
  if (const auto* items = known.sequence()) {
    for (const AbstractValue& item : *items) reserve_names(item, dimensions);
  }
  if (const auto* dict = known.dict()) {
    for (const AbstractValue& item : dict->values) reserve_names(item, dimensions);
  }
}

// Autocast gives others than the operators say.
void forget_float_types(AbstractValue& known) {
  if (auto* info = std::get_if<TensorInfo>(&known.value)) {
    if (info->dtype && is_floating(*info->dtype)) info->dtype.reset();
  }
  if (auto* items = std::get_if<AbstractValue::Sequence>(&known.value))
    std::ranges::for_each(*items, forget_float_types);
}

bool is_tensor(const c10::Type& type) { return type.kind() == c10::TypeKind::TensorType; }

// Itself, or in a tuple.
bool may_be_none(const c10::Type& type) {
  if (const auto* tuple = type.castRaw<c10::TupleType>()) {
    return std::ranges::any_of(tuple->elements(), [](const auto& part) { return may_be_none(*part); });
  }
  return type.kind() == c10::TypeKind::OptionalType;
}

// What of it is None, and nothing else.
AbstractValue only_none(const AbstractValue& known, const c10::Type& type) {
  if (known.is_none()) return known;
  const auto* tuple = type.castRaw<c10::TupleType>();
  const auto* items = known.sequence();
  if (tuple == nullptr || items == nullptr || items->size() != tuple->elements().size()) return {};
  AbstractValue::Sequence parts;
  for (std::size_t i = 0; i < items->size(); ++i)
    parts.push_back(only_none((*items)[i], *tuple->elements()[i]));
  return {std::move(parts)};
}

}  // namespace

Interpreter::Outcome Interpreter::result_of(torch::jit::Function& function, const Values& arguments,
                                            const std::string& name) {
  const auto& returns = function.getSchema().returns();
  if (returns.empty() || (!shapes_ && !may_be_none(*returns[0].type()))) return {};
  if (!shapes_) {
    // A call that gives None for its plain arguments needs no shapes to be known for it.
    const auto result = run_abstractly(function, arguments);
    return {result ? only_none(known_of_value(*result), *returns[0].type()) : AbstractValue{}, std::nullopt};
  }
  CostLog costs(dimensions_);
  const auto result = run_abstractly(function, arguments, &costs);
  if (!result) {
    Cost unknown;
    unknown.unknown[name] = 1;
    return {{}, std::move(unknown)};
  }
  AbstractValue known = known_of_value(*result);
  costs.keep(known);
  return {std::move(known), costs.cost()};
}

void Interpreter::add_cost(const IrNode* node, const c10::FunctionSchema& schema, const Values& values,
                           std::vector<AbstractValue>& results) {
  const Operator* row = find_operator(schema);
  if (row == nullptr) {
    return costs_->add_unknown(python_target(schema.name(), schema.overload_name(), own_schema(schema)).name);
  }
  // Results that nobody takes are gone at once, and may be no tensors at all.
  const auto is_taken = [&](std::size_t i) { return results.size() == 1 || node->output(i)->hasUses(); };
  std::vector<AbstractValue> taken;
  for (std::size_t i = 0; i < results.size(); ++i)
    taken.push_back(is_taken(i) ? results[i] : AbstractValue{NoneValue{}});
  costs_->call(costed_operator(*row), InterpreterArguments(values), taken);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (is_taken(i)) results[i] = std::move(taken[i]);
  }
}

std::vector<Meta> Interpreter::tensors_in(const AbstractValue& known) const {
  std::vector<Meta> tensors;
  const auto add = [&](const AbstractValue& value, const auto& self) -> void {
    if (value.tensor() != nullptr) tensors.push_back(meta(c10::TensorType::get(), value));
    if (value.sequence() != nullptr) {
      for (const AbstractValue& item : *value.sequence()) self(item, self);
    }
    if (value.dict() != nullptr) {
      for (const AbstractValue& item : value.dict()->values) self(item, self);
    }
  };
  add(known, add);
  return tensors;
}

// Inner proxies have no nodes, so nothing but what is known of them may leave such a run.
std::optional<at::IValue> Interpreter::run_abstractly(torch::jit::Function& function, const Values& arguments,
                                                      CostLog* costs) {
  const Mode outer = std::exchange(mode_, Mode::kAbstract);
  CostLog* const outer_costs = std::exchange(costs_, costs);
  Checkpoint before = checkpoint();
  const Restore restore([&] {
    back_to(std::move(before));
    mode_ = outer;
    costs_ = outer_costs;
  });
  call_mark_ = before.changes;
  steps_ = 0;
  try {
    return call_graph_function(function, arguments, nullptr);
  } catch (const TraceFailure&) {
    return std::nullopt;  // a leaf may do what cannot be followed: its result is not known
  } catch (const std::exception& e) {
    rethrow_what_is_not_the_models(e);
    return std::nullopt;  // LibTorch's: likewise
  }
}

bool Interpreter::answer(const IrNode* node, const c10::FunctionSchema& schema, const Values& values) {
  if (node->outputs().size() != 1) return false;
  // x.size() as a list: numbers where they are known, and a node for each of the others.
  if (schema.name() == "aten::size" && values.size() == 1) {
    const auto info = find_tensor_info(values[0]);
    if (!info) return false;
    c10::impl::GenericList sizes(c10::IntType::get());
    for (std::size_t i = 0; i < info->sizes.size(); ++i) {
      if (const auto number = info->sizes[i].number()) {
        sizes.push_back(*number);
      } else {
        sizes.push_back(record_call("aten.size.int",
                                    {argument(values[0], node), static_cast<std::int64_t>(i)}, {},
                                    c10::IntType::get(), node, {info->sizes[i]}));
      }
    }
    rely_on(node, schema.name(), values, {});
    set(node->output(), sizes);
    return true;
  }
  const Evaluated evaluated = evaluate_plain(schema, values, dimensions_);
  if (evaluated.plain) {
    const TensorInfo* asked = values.empty() ? nullptr : known_of(values[0]).tensor();
    if (asked != nullptr && asked->contiguity_assumed &&
        (schema.name() == "aten::is_contiguous" || schema.name() == "aten::stride")) {
      guard(Expression::method(condition_of(values[0]), "is_contiguous"), location(node));
    }
    rely_on(node, schema.name(), values, *evaluated.plain);
    set(node->output(), plain_value(*evaluated.plain));
    return true;
  }
  // scale.item()
  const bool has_constant = std::any_of(
      values.begin(), values.end(), [&](const at::IValue& value) { return find_constant(value).defined(); });
  if (!has_constant) return false;
  auto computed = compute(node, schema, values);
  if (!computed || computed->size() != 1 || !is_plain(computed->front())) return false;
  set(node->output(), std::move(computed->front()));
  return true;
}

std::vector<AbstractValue> Interpreter::infer_results(const IrNode* node, const c10::FunctionSchema& schema,
                                                      const Values& values) {
  std::vector<AbstractValue> results(node->outputs().size());
  if (!shapes_ || results.empty()) return results;
  const bool gives_tensor =
      std::any_of(schema.returns().begin(), schema.returns().end(), [](const auto& item) {
        // Packed parameters are objects.
        return may_hold_tensor(*item.type()) || item.type()->kind() == c10::TypeKind::ClassType;
      });
  if (!gives_tensor || values.empty() || !find_tensor_info(values[0])) {
    // Elements of lists of tensors are among these.
    results[0] = evaluate_plain(schema, values, dimensions_).known;
  }
  if (gives_tensor && results[0].is_unknown()) {
    Inferred inferred = infer_shapes(schema, values, dimensions_);
    results = std::move(inferred.results);
    results.resize(node->outputs().size());
    for (const AbstractValue& result : results) budget_.spend(kUnitsOfPiece * pieces_of(result));
    if (switches_.casts()) {
      std::ranges::for_each(results, forget_float_types);
    } else {
      if (!inferred.error.empty()) report_invalid(node, schema, values, inferred.error);
      compute_contents(node, schema, values, results);
    }
  }
  if (costs_ != nullptr && gives_tensor) add_cost(node, schema, values, results);
  // An integer that the data decides: int(x.item()).
  const bool by_data = results.size() == 1 && node->output()->type()->kind() == c10::TypeKind::IntType &&
                       !values.empty() &&
                       (has_trait(node, traits::kReadsData) || find_tensor_info(values[0]));
  if (by_data && results[0].is_unknown()) {
    results[0].value = dimensions_.fresh({std::nullopt, std::nullopt});
  }
  if (change_list(schema, values, results)) return results;
  // What changes its argument: a list is no longer what it was, and x.unsqueeze_(0) gives x another shape.
  for (std::size_t i = 0; i < values.size() && i < schema.arguments().size(); ++i) {
    const auto* alias = schema.arguments()[i].alias_info();
    const Proxy* proxy = find_proxy(values[i]);
    if (alias == nullptr || !alias->isWrite() || proxy == nullptr || !proxy->known) continue;
    const bool same = i == 0 && results[0].tensor() != nullptr && is_tensor(*schema.arguments()[i].type());
    change_known(*proxy, same ? results[0] : AbstractValue{});
  }
  return results;
}

// What xs.pop(), xs.append(x), xs.reverse() leave of a list whose elements are known.
bool Interpreter::change_list(const c10::FunctionSchema& schema, const Values& values,
                              std::vector<AbstractValue>& results) {
  const Proxy* proxy = values.empty() ? nullptr : find_proxy(values[0]);
  const AbstractValue::Sequence* sequence = proxy == nullptr ? nullptr : known_of(values[0]).sequence();
  if (sequence == nullptr || proxy->type->kind() != c10::TypeKind::ListType) return false;
  auto changed = changed_list(schema, values);
  if (!changed) return false;
  budget_.spend(changed->rest.size());
  if (schema.name() == "aten::pop") results[0] = std::move(changed->taken);
  // xs += ys gives the list again.
  if (schema.name() == "aten::add_") results[0] = AbstractValue{changed->rest};
  change_known(*proxy, AbstractValue{std::move(changed->rest)});
  return true;
}

// "conv1: aten.conv2d of float32[1,5,8,8] and float32[4,3,3,3] raises (net.py:12): ..."
void Interpreter::report_invalid(const IrNode* node, const c10::FunctionSchema& schema, const Values& values,
                                 const std::string& error) {
  std::string tensors;
  const auto add = [&](const TensorInfo& info) {
    tensors += tensors.empty() ? " of " : ", ";
    tensors += info.dtype ? dtype_name(*info.dtype) : "?";
    tensors += "[";
    for (std::size_t i = 0; i < info.sizes.size(); ++i) tensors += (i == 0 ? "" : ",") + info.sizes[i].text();
    tensors += "]";
  };
  for (const at::IValue& value : values) {
    if (is_plain(value)) continue;
    const AbstractValue known = known_of_value(value);
    if (known.tensor() != nullptr) add(*known.tensor());
    if (known.sequence() == nullptr) continue;
    for (const AbstractValue& item : *known.sequence()) {
      if (item.tensor() != nullptr) add(*item.tensor());
    }
  }
  std::string op = schema.name();
  if (const auto colons = op.find("::"); colons != std::string::npos) op.replace(colons, 2, ".");
  report_invalid(node, op + tensors, error);
}

void Interpreter::report_invalid(const IrNode* node, const std::string& what, const std::string& error) {
  // Where both ways of an `if` are looked at, one of them may never be taken.
  if (both_ways_ || mode_ == Mode::kState) return;
  const ModuleInfo& module = program_.modules()[module_.index];
  std::string text = (module.path.empty() ? "the root module" : module.path) + ": " + what + " raises";
  if (const auto source = location(node))
    text += " (" + source->file + ":" + std::to_string(source->line) + ")";
  bound_->report_invalid(module_, node, text + ": " + error);
}

void Interpreter::use_call(ModuleId root, std::vector<BoundInput>& inputs) {
  if (!shapes_) return;
  const SeenCalls::Arguments& use = bound_->calls().use(root);
  const std::vector<AbstractValue>& known = use.known;
  for (std::size_t i = 0; i < inputs.size() && i < known.size(); ++i) {
    const Proxy* proxy = find_proxy(inputs[i].value);
    if (proxy == nullptr || known[i].is_unknown() || (i < use.is_concrete.size() && use.is_concrete[i]))
      continue;
    AbstractValue input = known[i];
    reserve_names(input, dimensions_);
    tracer_->set_meta(proxy->ref.node, meta(proxy->type, input));
    // Shapes follow from the dummy inputs; what else the calls had in common is assumed.
    const Expression name = condition_of(inputs[i].value);
    const SymInt* integer = input.integer();
    if (input.is_none()) {
      tracer_->guard(Expression::comparison("is", name, Expression::none()), std::nullopt);
    } else if (proxy->type->kind() == c10::TypeKind::OptionalType) {
      tracer_->guard(Expression::comparison("is not", name, Expression::none()), std::nullopt);
    } else if (integer != nullptr && integer->is_number()) {
      tracer_->guard(Expression::comparison(Relation::kEqual, name, *integer), std::nullopt);
    }
    inputs[i].value = make_proxy(proxy->ref, proxy->type, std::move(input));
  }
}

// Of a dict whose keys are known: what runs over it, and its parts.
bool Interpreter::answer_dict(const IrNode* node, const c10::FunctionSchema& schema, const Values& values) {
  const auto* dict = values.empty() ? nullptr : known_of(values[0]).dict();
  if (dict == nullptr || node->outputs().size() != 1) return false;
  const std::string& name = schema.name();
  const auto type = find_proxy(values[0])->type->cast<c10::DictType>();
  if (!type) return false;
  const auto part = [&](const at::IValue& key, const AbstractValue& known) {
    return record_call("operator.getitem", {argument(values[0], node), argument(key, node)}, {},
                       type->getValueType(), node, known);
  };
  if (name == "aten::len") {
    set(node->output(), static_cast<std::int64_t>(dict->keys.size()));
    return true;
  }
  if ((name == "aten::__getitem__" || name == "aten::__contains__") && values.size() == 2) {
    if (!is_plain(values[1])) return false;
    const auto found = std::ranges::find(dict->keys, literal_value(values[1]));
    const bool is_there = found != dict->keys.end();
    if (name == "aten::__contains__") {
      set(node->output(), is_there);
      return true;
    }
    if (!is_there) return false;
    const auto index = static_cast<std::size_t>(found - dict->keys.begin());
    set(node->output(), part(values[1], AbstractValue(dict->values[index])));
    return true;
  }
  const bool keys = name == "aten::keys" || name == "aten::items";
  const bool items = name == "aten::values" || name == "aten::items";
  if (!keys && !items) return false;
  const AbstractValue::Dict entries = *dict;  // recording may change what is known
  c10::impl::GenericList list(node->output()->type()->expectRef<c10::ListType>().getElementType());
  for (std::size_t i = 0; i < entries.keys.size(); ++i) {
    const at::IValue key = plain_value(entries.keys[i]);
    const AbstractValue& known = entries.values[i];
    if (!items) {
      list.push_back(key);
    } else if (!keys) {
      list.push_back(part(key, known));
    } else {
      list.push_back(c10::ivalue::Tuple::create({key, part(key, known)}));
    }
  }
  set(node->output(), list);
  return true;
}

// --- tensors that no data goes into ---

void Interpreter::read_constant(const at::Tensor& tensor) {
  if (is_small(tensor)) code_constants_.insert(tensor.unsafeGetTensorImpl());
}

bool Interpreter::is_as_in_code(const at::Tensor& tensor) const {
  return tensor.defined() && program_.find_parameter(tensor) == nullptr &&
         !written_constants_.contains(tensor.unsafeGetTensorImpl());
}

// That needs no shapes of inputs.
bool Interpreter::asks_size_of_constant(const IrNode* node, const Values& values) const {
  return !values.empty() && values[0].isTensor() && has_trait(node, traits::kGivesSize) &&
         is_as_in_code(values[0].toTensor()) && std::all_of(values.begin() + 1, values.end(), is_plain);
}

at::Tensor Interpreter::find_constant(const at::IValue& value) const {
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    const bool is_known = code_constants_.contains(tensor.unsafeGetTensorImpl()) && is_as_in_code(tensor);
    return is_known ? tensor : at::Tensor();
  }
  const TensorInfo* info = known_of(value).tensor();
  const TensorContent* content = info == nullptr ? nullptr : info->find_content();
  return content == nullptr ? at::Tensor() : tensor_of(*content);
}

// The operator's own results for tensors that are known in numbers.  Nothing of the model's data is in them,
// and they are small.
std::optional<Interpreter::Values> Interpreter::compute(const IrNode* node, const c10::FunctionSchema& schema,
                                                        const Values& values) const {
  const Traits all = traits_of(node);
  constexpr Traits kAllowed = traits::kPlain | traits::kMakesTensor | traits::kSmallTensors;
  if ((all & kAllowed) == 0 || schema.is_mutable()) return std::nullopt;
  bool has_constant = (all & traits::kMakesTensor) != 0;
  torch::jit::Stack stack;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const at::IValue& value = values[i];
    if (i < schema.arguments().size() && schema.arguments()[i].name() == "device") {
      stack.emplace_back(value.isNone() ? at::IValue() : at::IValue(at::Device(at::kCPU)));
    } else if (i < schema.arguments().size() && schema.arguments()[i].name() == "pin_memory") {
      stack.emplace_back();
    } else if (is_plain(value)) {
      stack.push_back(value);
    } else if (value.isList()) {
      c10::impl::GenericList items(value.toList().elementType());
      for (const at::IValue& item : value.toListRef()) {
        at::Tensor constant = find_constant(item);
        if (!constant.defined() && !is_plain(item)) return std::nullopt;
        has_constant = has_constant || constant.defined();
        items.push_back(constant.defined() ? at::IValue(constant) : item);
      }
      stack.emplace_back(std::move(items));
    } else {
      at::Tensor constant = find_constant(value);
      if (!constant.defined()) return std::nullopt;
      has_constant = true;
      stack.emplace_back(std::move(constant));
    }
  }
  if (!has_constant || !are_harmless(schema, stack)) return std::nullopt;
  if (schema.is_vararg()) stack.emplace_back(static_cast<std::int64_t>(node->inputs().size()));
  const at::NoGradGuard no_grad;
  try {
    node->getOperation()(stack);
  } catch (const std::exception& e) {
    rethrow_what_is_not_the_models(e);
    return std::nullopt;
  }
  return stack;
}

void Interpreter::compute_contents(const IrNode* node, const c10::FunctionSchema& schema,
                                   const Values& values, std::vector<AbstractValue>& results) const {
  const auto is_known_small = [](const AbstractValue& result) {
    const TensorInfo* info = result.tensor();
    if (info == nullptr || !info->is_static()) return false;
    std::int64_t elements = 1;
    for (const SymInt& size : info->sizes) {
      elements *= std::min(*size.number(), kMaxComputed + 1);
      if (elements > kMaxComputed) return false;
    }
    return true;
  };
  std::optional<Values> computed;
  if (std::all_of(results.begin(), results.end(), is_known_small)) computed = compute(node, schema, values);
  for (std::size_t i = 0; i < results.size(); ++i) {
    auto* info = std::get_if<TensorInfo>(&results[i].value);
    if (info == nullptr) continue;
    TensorContent content{std::nullopt, {}, contents_valid_};
    if (computed && i < computed->size() && (*computed)[i].isTensor() &&
        is_small((*computed)[i].toTensor())) {
      content.constant = content_of((*computed)[i].toTensor());
      content.element = read_element((*computed)[i].toTensor());
    } else if (results.size() == 1 && info->sizes.empty()) {
      content.element = evaluate_element(
          schema, values, [this](const at::Tensor& tensor) { return read_element(find_constant(tensor)); });
    }
    if (content.constant || content.element) {
      info->content = std::make_shared<TensorContent>(std::move(content));
    }
  }
}

void Interpreter::change_known(const Proxy& proxy, AbstractValue known) {
  if (const TensorInfo* info = proxy.known->tensor(); info != nullptr && info->content) {
    // Who else sees that memory is not known.
    *contents_valid_ = false;
    contents_valid_ = std::make_shared<bool>(true);
  }
  if (*proxy.known == known) return;
  if (!records() && proxy.ref.valid()) {
    *proxy.known = AbstractValue{};  // a leaf does that to its argument, and may do it again
    return;
  }
  changes_.add([target = proxy.known, before = *proxy.known] { *target = before; });
  *proxy.known = std::move(known);
}

std::string Interpreter::explain(const at::IValue& value) const {
  const AbstractValue& known = known_of(value);
  std::string text;
  std::vector<SymInt> parts;
  if (const auto* condition = std::get_if<Condition>(&known.value)) {
    text = condition->left.text() + " " + to_string(condition->relation) + " " + condition->right.text();
    parts = {condition->left, condition->right};
  } else if (const SymInt* integer = known.integer()) {
    text = integer->text();
    parts = {*integer};
  } else {
    return "";
  }
  std::string ranges;
  std::vector<std::string> told;
  for (const SymInt& part : parts) {
    for (const std::string& name : part.symbols()) {
      if (std::find(told.begin(), told.end(), name) != told.end()) continue;
      told.push_back(name);
      ranges += (ranges.empty() ? ", with " : ", ") + name + " in " + to_string(dimensions_.range(name));
    }
  }
  return " (" + text + ranges + ")";
}

}  // namespace fxtrace
