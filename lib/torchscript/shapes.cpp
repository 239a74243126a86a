// What is known of values that depend on inputs: sizes that operators and leaves give, and questions that
// they answer.

#include <algorithm>

#include "operators/operators.h"
#include "operators/python_spelling.h"
#include "script/small_tensors.h"
#include "support/error.h"
#include "support/restore.h"
#include "torchscript/convert.h"
#include "torchscript/infer.h"
#include "torchscript/interpreter.h"

namespace fxtrace::torchscript {
namespace {

// What one of many results costs, in units of the budget: as much as a node, for each has a shape of its own.
constexpr std::size_t kUnitsOfPiece = 64;

std::size_t pieces_of(const AbstractValue& result) {
  const auto* pieces = result.sequence();
  return pieces == nullptr ? 0 : pieces->size();
}

std::optional<SymInt> read_element(const TensorValue& tensor) {
  if (tensor.dim() != 0 || !tensor.elements || tensor.dtype == ScalarType::kBool ||
      !is_integral(tensor.dtype))
    return std::nullopt;
  return SymInt(tensor.element(0).integer);
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

bool is_tensor(const Type& type) { return type.kind() == TypeKind::kTensor; }

// Itself, or in a tuple.
bool may_be_none(const Type& type) {
  if (const auto* tuple = type.as<TupleType>()) {
    return std::ranges::any_of(tuple->items(), [](const auto& part) { return may_be_none(*part); });
  }
  return type.kind() == TypeKind::kOptional;
}

// What of it is None, and nothing else.
AbstractValue only_none(const AbstractValue& known, const Type& type) {
  if (known.is_none()) return known;
  const auto* tuple = type.as<TupleType>();
  const auto* items = known.sequence();
  if (tuple == nullptr || items == nullptr || items->size() != tuple->items().size()) return {};
  AbstractValue::Sequence parts;
  for (std::size_t i = 0; i < items->size(); ++i) parts.push_back(only_none((*items)[i], *tuple->items()[i]));
  return {std::move(parts)};
}

}  // namespace

Interpreter::Outcome Interpreter::result_of(Function& function, const Values& arguments,
                                            const std::string& name) {
  const auto& returns = function.schema().returns;
  if (returns.empty() || (!run_.shapes && !may_be_none(*returns[0].type))) return {};
  if (!run_.shapes) {
    // A call that gives None for its plain arguments needs no shapes to be known for it.
    const auto result = run_abstractly(function, arguments);
    return {result ? only_none(known_of_value(*result), *returns[0].type) : AbstractValue{}, std::nullopt};
  }
  CostLog costs(run_.dimensions);
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

void Interpreter::add_cost(const IrNode* node, const FunctionSchema& schema, const Values& values,
                           std::vector<AbstractValue>& results) {
  const Operator* row = find_operator(schema);
  if (row == nullptr) {
    return costs_->add_unknown(python_target(schema.name, schema.overload_name, own_schema(schema)).name);
  }
  // Results that nobody takes are gone at once, and may be no tensors at all.
  const auto is_taken = [&](std::size_t i) { return results.size() == 1 || node->output(i)->has_uses(); };
  std::vector<AbstractValue> taken;
  for (std::size_t i = 0; i < results.size(); ++i)
    taken.push_back(is_taken(i) ? results[i] : AbstractValue{NoneValue{}});
  costs_->call(costed_operator(*row), InterpreterArguments(values), taken);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (is_taken(i)) results[i] = std::move(taken[i]);
  }
}

// Inner proxies have no nodes, so nothing but what is known of them may leave such a run.
std::optional<Value> Interpreter::run_abstractly(Function& function, const Values& arguments,
                                                 CostLog* costs) {
  const Mode outer = std::exchange(run_.mode, Mode::kAbstract);
  CostLog* const outer_costs = std::exchange(costs_, costs);
  Checkpoint before = checkpoint();
  const Restore restore([&] {
    back_to(std::move(before));
    run_.mode = outer;
    costs_ = outer_costs;
  });
  run_.changes.begin_stretch(before.changes);
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

bool Interpreter::answer(const IrNode* node, const FunctionSchema& schema, const Values& values) {
  if (node->outputs().size() != 1) return false;
  // x.size() as a list: numbers where they are known, and a node for each of the others.
  if (schema.name == "aten::size" && values.size() == 1) {
    const auto info = find_tensor_info(values[0]);
    if (!info) return false;
    auto sizes = make_counted<ListValue>(int_type());
    for (std::size_t i = 0; i < info->sizes.size(); ++i) {
      if (const auto number = info->sizes[i].number()) {
        sizes->items.push_back(*number);
      } else {
        sizes->items.push_back(
            run_.recording.apply("aten.size.int", {values[0], i}, int_type(), node, {info->sizes[i]}));
      }
    }
    rely_on(node, schema.name, values, {});
    run_.frames.set(node, std::move(sizes));
    return true;
  }
  const Evaluated evaluated = evaluate_plain(schema, values, run_.dimensions);
  if (evaluated.plain) {
    const TensorInfo* asked = values.empty() ? nullptr : known_of(values[0]).tensor();
    if (asked != nullptr && asked->contiguity_assumed &&
        (schema.name == "aten::is_contiguous" || schema.name == "aten::stride")) {
      run_.guard(Expression::method(run_.recording.condition_of(values[0]), "is_contiguous"),
                 run_.frames.location(node));
    }
    rely_on(node, schema.name, values, *evaluated.plain);
    run_.frames.set(node, plain_value(*evaluated.plain));
    return true;
  }
  // scale.item()
  const bool has_constant = std::any_of(values.begin(), values.end(),
                                        [&](const Value& value) { return bool(find_constant(value)); });
  if (!has_constant) return false;
  auto computed = compute(node, schema, values);
  if (!computed || computed->size() != 1 || !is_plain(computed->front())) return false;
  run_.frames.set(node, std::move(computed->front()));
  return true;
}

std::vector<AbstractValue> Interpreter::infer_results(const IrNode* node, const FunctionSchema& schema,
                                                      const Values& values) {
  std::vector<AbstractValue> results(node->outputs().size());
  if (!run_.shapes || results.empty()) return results;
  const bool gives_tensor = std::any_of(schema.returns.begin(), schema.returns.end(), [](const auto& item) {
    // Packed parameters are objects.
    return may_hold_tensor(*item.type) || item.type->kind() == TypeKind::kClass;
  });
  if (!gives_tensor || values.empty() || !find_tensor_info(values[0])) {
    // Elements of lists of tensors are among these.
    results[0] = evaluate_plain(schema, values, run_.dimensions).known;
  }
  if (gives_tensor && results[0].is_unknown()) {
    Inferred inferred = infer_shapes(schema, values, run_.dimensions);
    results = std::move(inferred.results);
    results.resize(node->outputs().size());
    for (const AbstractValue& result : results) run_.budget.spend(kUnitsOfPiece * pieces_of(result));
    if (run_.switches.casts()) {
      std::ranges::for_each(results, forget_float_types);
    } else {
      if (!inferred.error.empty()) report_invalid(node, schema, values, inferred.error);
      compute_contents(node, schema, values, results);
    }
  }
  if (costs_ != nullptr && gives_tensor) add_cost(node, schema, values, results);
  // An integer that the data decides: int(x.item()).
  const bool by_data = results.size() == 1 && node->output()->type()->kind() == TypeKind::kInt &&
                       !values.empty() &&
                       (has_trait(node, traits::kReadsData) || find_tensor_info(values[0]));
  if (by_data && results[0].is_unknown()) {
    results[0].value = run_.dimensions.fresh({std::nullopt, std::nullopt});
  }
  if (change_list(schema, values, results)) return results;
  // What changes its argument: a list is no longer what it was, and x.unsqueeze_(0) gives x another shape.
  for (std::size_t i = 0; i < values.size() && i < schema.arguments.size(); ++i) {
    const Proxy* proxy = find_proxy(values[i]);
    if (!schema.arguments[i].is_written || proxy == nullptr || !proxy->known) continue;
    const bool same = i == 0 && results[0].tensor() != nullptr && is_tensor(*schema.arguments[i].type);
    change_known(*proxy, same ? results[0] : AbstractValue{});
  }
  return results;
}

// What xs.pop(), xs.append(x), xs.reverse() leave of a list whose elements are known.
bool Interpreter::change_list(const FunctionSchema& schema, const Values& values,
                              std::vector<AbstractValue>& results) {
  const Proxy* proxy = values.empty() ? nullptr : find_proxy(values[0]);
  const AbstractValue::Sequence* sequence = proxy == nullptr ? nullptr : known_of(values[0]).sequence();
  if (sequence == nullptr || proxy->static_type->kind() != TypeKind::kList) return false;
  auto changed = changed_list(schema, values);
  if (!changed) return false;
  run_.budget.spend(changed->rest.size());
  if (schema.name == "aten::pop") results[0] = std::move(changed->taken);
  // xs += ys gives the list again.
  if (schema.name == "aten::add_") results[0] = AbstractValue{changed->rest};
  change_known(*proxy, AbstractValue{std::move(changed->rest)});
  return true;
}

// "conv1: aten.conv2d of float32[1,5,8,8] and float32[4,3,3,3] raises (net.py:12): ..."
void Interpreter::report_invalid(const IrNode* node, const FunctionSchema& schema, const Values& values,
                                 const std::string& error) {
  std::string tensors;
  const auto add = [&](const TensorInfo& info) {
    tensors += tensors.empty() ? " of " : ", ";
    tensors += info.dtype ? dtype_name(*info.dtype) : "?";
    tensors += "[";
    for (std::size_t i = 0; i < info.sizes.size(); ++i) tensors += (i == 0 ? "" : ",") + info.sizes[i].text();
    tensors += "]";
  };
  for (const Value& value : values) {
    if (is_plain(value)) continue;
    const AbstractValue known = known_of_value(value);
    if (known.tensor() != nullptr) add(*known.tensor());
    if (known.sequence() == nullptr) continue;
    for (const AbstractValue& item : *known.sequence()) {
      if (item.tensor() != nullptr) add(*item.tensor());
    }
  }
  std::string op = schema.name;
  if (const auto colons = op.find("::"); colons != std::string::npos) op.replace(colons, 2, ".");
  report_invalid(node, op + tensors, error);
}

void Interpreter::report_invalid(const IrNode* node, const std::string& what, const std::string& error) {
  // Where both ways of an `if` are looked at, one of them may never be taken.
  if (both_ways_ || run_.mode == Mode::kState) return;
  const ModuleInfo& module = run_.program.modules()[run_.module.index];
  std::string text = (module.path.empty() ? "the root module" : module.path) + ": " + what + " raises";
  if (const auto source = run_.frames.location(node))
    text += " (" + source->file + ":" + std::to_string(source->line) + ")";
  run_.bound->report_invalid(run_.module, node, text + ": " + error);
}

void Interpreter::use_call(ModuleId root, std::vector<BoundInput>& inputs) {
  if (!run_.shapes) return;
  const SeenCalls::Arguments& use = run_.bound->calls().use(root);
  const std::vector<AbstractValue>& known = use.known;
  for (std::size_t i = 0; i < inputs.size() && i < known.size(); ++i) {
    const Proxy* proxy = find_proxy(inputs[i].value);
    if (proxy == nullptr || known[i].is_unknown() || (i < use.is_concrete.size() && use.is_concrete[i]))
      continue;
    AbstractValue input = known[i];
    reserve_names(input, run_.dimensions);
    run_.tracer->set_meta(proxy->ref.node, meta_of(proxy->static_type, input));
    // Shapes follow from the dummy inputs; what else the calls had in common is assumed.
    const Expression name = run_.recording.condition_of(inputs[i].value);
    const SymInt* integer = input.integer();
    if (input.is_none()) {
      run_.tracer->guard(Expression::comparison("is", name, Expression::none()), std::nullopt);
    } else if (proxy->static_type->kind() == TypeKind::kOptional) {
      run_.tracer->guard(Expression::comparison("is not", name, Expression::none()), std::nullopt);
    } else if (integer != nullptr && integer->is_number()) {
      run_.tracer->guard(Expression::comparison(Relation::kEqual, name, *integer), std::nullopt);
    }
    inputs[i].value = make_proxy(proxy->ref, proxy->static_type, std::move(input));
  }
}

// Of a dict whose keys are known: what runs over it, and its parts.
bool Interpreter::answer_dict(const IrNode* node, const FunctionSchema& schema, const Values& values) {
  const auto* dict = values.empty() ? nullptr : known_of(values[0]).dict();
  if (dict == nullptr || node->outputs().size() != 1) return false;
  const std::string& name = schema.name;
  const auto* type = find_proxy(values[0])->static_type->as<DictType>();
  if (type == nullptr) return false;
  const auto part = [&](const Value& key, const AbstractValue& known) {
    return run_.recording.apply("operator.getitem", {values[0], key}, type->value(), node, known);
  };
  if (name == "aten::len") {
    run_.frames.set(node, static_cast<std::int64_t>(dict->keys.size()));
    return true;
  }
  if ((name == "aten::__getitem__" || name == "aten::__contains__") && values.size() == 2) {
    if (!is_plain(values[1])) return false;
    const auto found = std::ranges::find(dict->keys, literal_value(values[1]));
    const bool is_there = found != dict->keys.end();
    if (name == "aten::__contains__") {
      run_.frames.set(node, is_there);
      return true;
    }
    if (!is_there) return false;
    const auto index = static_cast<std::size_t>(found - dict->keys.begin());
    run_.frames.set(node, part(values[1], AbstractValue(dict->values[index])));
    return true;
  }
  const bool keys = name == "aten::keys" || name == "aten::items";
  const bool items = name == "aten::values" || name == "aten::items";
  if (!keys && !items) return false;
  const AbstractValue::Dict entries = *dict;  // recording may change what is known
  auto list = make_counted<ListValue>(node->output()->type()->as<ListType>()->element());
  for (std::size_t i = 0; i < entries.keys.size(); ++i) {
    const Value key = plain_value(entries.keys[i]);
    const AbstractValue& known = entries.values[i];
    if (!items) {
      list->items.push_back(key);
    } else if (!keys) {
      list->items.push_back(part(key, known));
    } else {
      list->items.push_back(make_tuple({key, part(key, known)}));
    }
  }
  run_.frames.set(node, list);
  return true;
}

// --- tensors that no data goes into ---

void Interpreter::read_constant(const TensorValue& tensor) {
  if (script::is_small(tensor)) code_constants_.insert(&tensor);
}

bool Interpreter::is_as_in_code(const TensorValue& tensor) const {
  return run_.program.find_parameter(tensor) == nullptr && !written_constants_.contains(&tensor);
}

// That needs no shapes of inputs.
bool Interpreter::asks_size_of_constant(const IrNode* node, const Values& values) const {
  return !values.empty() && values[0].is_tensor() && has_trait(node, traits::kGivesSize) &&
         is_as_in_code(values[0].to_tensor()) && std::all_of(values.begin() + 1, values.end(), is_plain);
}

TensorRef Interpreter::find_constant(const Value& value) const {
  if (value.is_tensor()) {
    TensorValue& tensor = value.to_tensor();
    const bool is_known = code_constants_.contains(&tensor) && is_as_in_code(tensor);
    return is_known ? TensorRef(&tensor) : TensorRef();
  }
  const TensorInfo* info = known_of(value).tensor();
  const TensorContent* content = info == nullptr ? nullptr : info->find_content();
  return content == nullptr ? TensorRef() : tensor_of(*content);
}

// The operator's own results for tensors that are known in numbers.  Nothing of the model's data is in them,
// and they are small.
std::optional<Values> Interpreter::compute(const IrNode* node, const FunctionSchema& schema,
                                           const Values& values) const {
  const Traits all = traits_of(node);
  constexpr Traits kAllowed = traits::kPlain | traits::kMakesTensor | traits::kSmallTensors;
  const Operator* row = find_operator(schema);
  if ((all & kAllowed) == 0 || schema.is_mutable() || row == nullptr) return std::nullopt;
  bool has_constant = (all & traits::kMakesTensor) != 0;
  Values arguments;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Value& value = values[i];
    if (i < schema.arguments.size() && schema.arguments[i].name == "device") {
      arguments.push_back(value.is_none() ? Value() : Value(Device{}));
    } else if (i < schema.arguments.size() && schema.arguments[i].name == "pin_memory") {
      arguments.emplace_back();
    } else if (is_plain(value)) {
      arguments.push_back(value);
    } else if (value.is_list()) {
      Values items;
      for (const Value& item : value.items()) {
        const TensorRef constant = find_constant(item);
        if (!constant && !is_plain(item)) return std::nullopt;
        has_constant = has_constant || constant;
        items.push_back(constant ? Value(constant) : item);
      }
      arguments.push_back(make_list(value.to_list().element_type, std::move(items)));
    } else {
      const TensorRef constant = find_constant(value);
      if (!constant) return std::nullopt;
      has_constant = true;
      arguments.push_back(constant);
    }
  }
  if (!has_constant) return std::nullopt;
  return script::compute_small(row->name, arguments);
}

void Interpreter::compute_contents(const IrNode* node, const FunctionSchema& schema, const Values& values,
                                   std::vector<AbstractValue>& results) const {
  const auto is_known_small = [](const AbstractValue& result) {
    const TensorInfo* info = result.tensor();
    if (info == nullptr || !info->is_static()) return false;
    std::int64_t elements = 1;
    for (const SymInt& size : info->sizes) {
      elements *= std::min(*size.number(), script::kMaxKnownElements + 1);
      if (elements > script::kMaxKnownElements) return false;
    }
    return true;
  };
  std::optional<Values> computed;
  if (std::all_of(results.begin(), results.end(), is_known_small)) computed = compute(node, schema, values);
  for (std::size_t i = 0; i < results.size(); ++i) {
    auto* info = std::get_if<TensorInfo>(&results[i].value);
    if (info == nullptr) continue;
    TensorContent content{std::nullopt, {}, contents_valid_};
    if (computed && i < computed->size() && (*computed)[i].is_tensor() &&
        script::is_small((*computed)[i].to_tensor())) {
      content.constant = content_of(TensorRef(&(*computed)[i].to_tensor()));
      content.element = read_element((*computed)[i].to_tensor());
    } else if (results.size() == 1 && info->sizes.empty()) {
      content.element =
          evaluate_element(schema, values, [this](const TensorValue& tensor) -> std::optional<SymInt> {
            const bool is_known = code_constants_.contains(&tensor) && is_as_in_code(tensor);
            return is_known ? read_element(tensor) : std::nullopt;
          });
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
  if (!run_.records() && proxy.ref.valid()) {
    *proxy.known = AbstractValue{};  // a leaf does that to its argument, and may do it again
    return;
  }
  run_.changes.add([target = proxy.known, before = *proxy.known] { *target = before; });
  *proxy.known = std::move(known);
}

std::string Interpreter::explain(const Value& value) const {
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
      ranges += (ranges.empty() ? ", with " : ", ") + name + " in " + to_string(run_.dimensions.range(name));
    }
  }
  return " (" + text + ranges + ")";
}

}  // namespace fxtrace::torchscript
