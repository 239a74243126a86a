// Operators: carried out by LibTorch where everything is known, recorded as nodes where it is not.
#include <ATen/core/enum_type.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <algorithm>
#include <unordered_set>

#include "torchscript/convert.h"
#include "torchscript/interpreter.h"
#include "torchscript/operators.h"
#include "torchscript/python_targets.h"
#include "torchscript/shapes/size_arithmetic.h"

namespace fxtrace {

namespace prim = c10::prim;
namespace {

constexpr std::size_t kMaxContainer = std::size_t{1} << 22;  // elements of a list, characters of a string

// Operators on lists and dicts that only move their elements around: LibTorch's own do it for proxies too.
const std::unordered_set<std::string>& structural_operators() {
  static const std::unordered_set<std::string> names = {
      "aten::append",      "aten::insert",    "aten::extend",       "aten::pop",        "aten::reverse",
      "aten::clear",       "aten::copy",      "aten::list",         "aten::add",        "aten::add_",
      "aten::__getitem__", "aten::_set_item", "aten::Delete",       "aten::len",        "aten::mul",
      "aten::slice",       "aten::keys",      "aten::values",       "aten::items",      "aten::update",
      "aten::get",         "aten::dict",      "aten::__contains__", "aten::setdefault", "aten::popitem"};
  return names;
}

bool is_container(const at::IValue& value) { return value.isList() || value.isGenericDict(); }

// Whether elements of any type fit here.
bool takes_anything(const c10::Type& type) {
  if (type.kind() == c10::TypeKind::VarType) return true;
  if (type.kind() == c10::TypeKind::ListType) return takes_anything(*type.containedTypes()[0]);
  if (type.kind() == c10::TypeKind::TupleType) {
    return std::any_of(type.containedTypes().begin(), type.containedTypes().end(),
                       [](const auto& inner) { return takes_anything(*inner); });
  }
  if (type.kind() == c10::TypeKind::DictType) return takes_anything(*type.containedTypes()[1]);
  return false;
}

// An operation that would take more memory than a model has reason to ask for.
bool is_excessive(const std::string& name, const std::vector<at::IValue>& values) {
  std::size_t size = 1;
  std::int64_t number = 1;
  for (const auto& value : values) {
    if (value.isList()) size = std::max(size, value.toListRef().size());
    if (value.isString()) size = std::max(size, value.toStringRef().size());
    if (value.isInt()) number = std::max(number, value.toInt());
  }
  if (name == "aten::mul" || name == "prim::rangelist" || name == "aten::ljust" || name == "aten::rjust" ||
      name == "aten::center" || name == "aten::zfill" || name == "aten::expandtabs") {
    const bool sized = name != "aten::mul" ||
                       std::any_of(values.begin(), values.end(),
                                   [](const auto& value) { return value.isList() || value.isString(); });
    return sized && static_cast<std::uint64_t>(number) > kMaxContainer / size;
  }
  if (name == "aten::replace" || name == "aten::join") return size > kMaxContainer / 16;
  return false;
}

bool is_too_large(const at::IValue& value) {
  if (value.isString()) return value.toStringRef().size() > kMaxContainer;
  return value.isList() && value.toListRef().size() > kMaxContainer;
}

// Operators whose effect is on the process, not on a value: never carried out here.
bool changes_process(const std::string& name) { return name == "aten::manual_seed" || name == "aten::seed"; }

}  // namespace

void Interpreter::run_operator(const IrNode* node) {
  if (node->kind() == prim::tolist) {
    if (const at::Tensor constant = find_constant(value(node->input(0))); constant.defined()) {
      torch::jit::Stack stack{constant, value(node->input(1)), value(node->input(2))};
      node->getOperation()(stack);
      return set(node->output(), stack.at(0));
    }
    set(node->output(), record_call("torch.Tensor.tolist", {argument(value(node->input(0)), node)}, {},
                                    node->output()->type(), node));
    return;
  }
  const c10::FunctionSchema* schema = node->maybeSchema();
  if (schema == nullptr) {
    fail(FailureKind::kUnsupportedOp, std::string(node->kind().toQualString()) + " cannot be followed", node);
  }
  Values values = inputs(node);
  if (is_structural(*schema, values)) return execute(node, std::move(values));
  const bool makes_tensor =
      std::any_of(schema->returns().begin(), schema->returns().end(), [](const auto& result) {
        return result.type()->kind() != c10::TypeKind::VarType && may_hold_tensor(*result.type());
      });
  if (!makes_tensor && !is_declared_operator(schema->name()) && !changes_process(schema->name()) &&
      std::all_of(values.begin(), values.end(), is_plain)) {
    return execute(node, std::move(values));
  }
  if (shapes_ && answer_dict(node, *schema, values)) return;
  if (shapes_ && !makes_tensor && answer(node, *schema, values)) return;
  record(node, *schema, values);
}

bool Interpreter::is_structural(const c10::FunctionSchema& schema, const Values& values) const {
  if (structural_operators().count(schema.name()) == 0) return false;
  if (values.empty()) return schema.name() == "aten::dict";  // an empty one
  const auto& formals = schema.arguments();
  if (formals.empty() || values.empty() || !is_container(values[0]) || formals.size() != values.size())
    return false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const c10::Type& formal = *formals[i].type();
    if (!takes_anything(formal)) {
      if (!is_plain(values[i])) return false;
    } else if (formal.kind() != c10::TypeKind::VarType && !is_container(values[i])) {
      return false;
    }
  }
  return true;
}

void Interpreter::execute(const IrNode* node, Values values) {
  const c10::FunctionSchema& schema = *node->maybeSchema();
  const auto refuse = [&] {
    fail(FailureKind::kLimit, "a list or string of more than " + std::to_string(kMaxContainer) + " elements",
         node);
  };
  if (is_excessive(schema.name(), values)) refuse();
  // LibTorch inserts the list's own range into it, which std::vector does not allow.
  if (schema.name() == "aten::extend" && values.size() == 2 && values[0].is(values[1])) {
    values[1] = values[1].toList().copy();
  }
  Values changed;
  if (schema.is_mutable()) {
    for (std::size_t i = 0; i < values.size() && i < schema.arguments().size(); ++i) {
      const auto* alias = schema.arguments()[i].alias_info();
      if (alias == nullptr || !alias->isWrite() || !is_container(values[i])) continue;
      remember(values[i]);
      changed.push_back(values[i]);
    }
  }
  try {
    torch::jit::Stack stack(std::make_move_iterator(values.begin()), std::make_move_iterator(values.end()));
    if (schema.is_vararg()) stack.emplace_back(static_cast<std::int64_t>(node->inputs().size()));
    node->getOperation()(stack);
    if (std::any_of(stack.begin(), stack.end(), is_too_large) ||
        std::any_of(changed.begin(), changed.end(), is_too_large)) {
      refuse();
    }
    const auto results = node->outputs();
    for (std::size_t i = 0; i < results.size() && i < stack.size(); ++i) set(results[i], std::move(stack[i]));
  } catch (const TraceFailure&) {
    throw;
  } catch (const std::exception& e) {
    fail(FailureKind::kRaised, readable_message(e.what()), node);
  }
}

void Interpreter::record(const IrNode* node, const c10::FunctionSchema& schema, const Values& values) {
  if (tracer_ == nullptr && !shapes_) {
    for (const IrValue* output : node->outputs()) set(output, make_proxy(NodeId{}, output->type()));
    return;
  }
  for (std::size_t i = 0; i < values.size() && i < schema.arguments().size(); ++i) {
    const auto* alias = schema.arguments()[i].alias_info();
    const bool numbers_or_dict =
        is_container(values[i]) && schema.arguments()[i].type()->kind() != c10::TypeKind::TensorType &&
        !(schema.arguments()[i].type()->kind() == c10::TypeKind::ListType &&
          schema.arguments()[i].type()->containedTypes()[0]->kind() == c10::TypeKind::TensorType);
    if (alias != nullptr && alias->isWrite() && numbers_or_dict) {
      if (silent_) fail(FailureKind::kUnsupportedOp, "a list that depends on an input", node);
      materialize(values[i], node);
      return record(node, schema, inputs(node));
    }
  }
  std::vector<Known> results = infer_results(node, schema, values);
  if (tracer_ == nullptr) return set_recorded(node, NodeId{}, Proxy::Flavor::kValue, std::move(results));
  if (record_container_change(node, schema, values) || record_format(node, schema, values)) return;
  PythonTarget target = python_target(schema);
  auto [args, kwargs] = arguments(schema, values, 0, node);
  Proxy::Flavor flavor = Proxy::Flavor::kValue;
  switch (target.form) {
    case TargetForm::kUnsupported:
      fail(FailureKind::kUnsupportedOp, schema.name() + " of a value that depends on an input", node);
    case TargetForm::kAttribute:
      args = {argument(values[0], node), target.name};
      if (target.name == "dtype") flavor = Proxy::Flavor::kDtype;
      if (target.name == "layout") flavor = Proxy::Flavor::kLayout;
      target.name = "builtins.getattr";
      break;
    case TargetForm::kSlice: {
      Argument::Slice slice;
      for (std::size_t i = 1; i < 4; ++i) slice.parts.push_back(argument(values.at(i), node));
      args = {argument(values[0], node), std::move(slice)};
      break;
    }
    case TargetForm::kExtendOne:
      args = {argument(values[0], node), Argument::List{{argument(values.at(1), node)}}};
      break;
    case TargetForm::kSame: {
      // A Python function knows nothing of TorchScript's defaults; and where a dtype is compared, so is a
      // dtype.
      const bool dtype = std::any_of(values.begin(), values.end(), [](const at::IValue& value) {
        const Proxy* proxy = find_proxy(value);
        return proxy != nullptr && proxy->flavor == Proxy::Flavor::kDtype;
      });
      static const c10::TypePtr dtype_type = c10::ScalarTypeType::get();
      if (dtype) {
        for (std::size_t i = 0; i < args.size(); ++i) args[i] = argument(values[i], node, dtype_type.get());
      }
      break;
    }
    case TargetForm::kOperator:
      break;
  }
  Meta known;
  if (node->outputs().size() == 1) {
    known = meta(node->output()->type(), results.at(0));
  } else if (!node->outputs().empty()) {
    std::vector<c10::TypePtr> types;
    for (const IrValue* output : node->outputs()) types.push_back(output->type());
    known = meta(c10::TupleType::create(std::move(types)));
  } else {
    known = meta(c10::NoneType::get());
  }
  const NodeId recorded = tracer_->call_function(std::move(target.name), std::move(args), std::move(kwargs),
                                                 std::move(known), location(node));
  set_recorded(node, recorded, flavor, std::move(results));
}

// Changes of a list that the graph makes, for which Python has no function: written with those it has.
bool Interpreter::record_container_change(const IrNode* node, const c10::FunctionSchema& schema,
                                          const Values& values) {
  const std::string& name = schema.name();
  if (values.empty() || find_proxy(values[0]) == nullptr) return false;
  const c10::TypePtr none = c10::NoneType::get();
  const Argument self = argument(values[0], node);
  const auto call = [&](const char* target, std::vector<Argument> args, const c10::TypePtr& type) {
    return record_call(target, std::move(args), {}, type, node);
  };
  if (name == "aten::insert") {
    const Argument at = argument(values.at(1), node);
    call("operator.setitem",
         {self, Argument::Slice{{at, at, Argument::None{}}}, Argument::List{{argument(values.at(2), node)}}},
         none);
    return true;
  }
  if (name == "aten::pop" && values[0].isCapsule() && node->outputs().size() == 1) {
    const Argument at = values.size() > 1 ? argument(values[1], node) : Argument(-1);
    set(node->output(), call("operator.getitem", {self, at}, node->output()->type()));
    call("operator.delitem", {self, at}, none);
    return true;
  }
  if (name == "aten::clear") {
    call("operator.delitem", {self, Argument::Slice{{Argument::None{}, Argument::None{}, Argument::None{}}}},
         none);
    return true;
  }
  return false;
}

// "{} and {}".format(a, b) as "" + str(a) + " and " + str(b): str.format itself cannot stand in a graph.
bool Interpreter::record_format(const IrNode* node, const c10::FunctionSchema& schema, const Values& values) {
  if (schema.name() != "aten::format" || !values[0].isString()) return false;
  const std::string& text = values[0].toStringRef();
  const c10::TypePtr string = c10::StringType::get();
  std::size_t next = 1;
  std::size_t from = 0;
  at::IValue result(std::string{});
  const auto add = [&](const at::IValue& part) {
    if (part.isString() && part.toStringRef().empty()) return;
    if (result.isString() && result.toStringRef().empty()) {
      result = part;
    } else if (result.isString() && part.isString()) {
      result = result.toStringRef() + part.toStringRef();
    } else {
      result = record_call("operator.add", {argument(result, node), argument(part, node)}, {}, string, node);
    }
  };
  for (std::size_t at = text.find("{}"); at != std::string::npos && next < values.size();
       at = text.find("{}", from)) {
    add(text.substr(from, at - from));
    add(record_call("builtins.str", {argument(values[next++], node)}, {}, string, node));
    from = at + 2;
  }
  add(text.substr(from));
  set(node->output(), result);
  return true;
}

void Interpreter::set_recorded(const IrNode* node, NodeId recorded, Proxy::Flavor flavor,
                               std::vector<Known> known) {
  const auto results = node->outputs();
  known.resize(results.size());
  if (results.size() == 1) {
    const c10::TypePtr& type = results[0]->type();
    if (type->kind() == c10::TypeKind::NoneType) return set(results[0], at::IValue());
    return set(results[0], flavor == Proxy::Flavor::kValue ? make_proxy(recorded, type, std::move(known[0]))
                                                           : make_proxy(recorded, type, flavor));
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i]->hasUses()) continue;
    const c10::TypePtr& type = results[i]->type();
    NodeId item = recorded;
    if (tracer_ != nullptr) {
      item = tracer_->call_function("operator.getitem", {recorded, static_cast<std::int64_t>(i)}, {},
                                    meta(type, known[i]), location(node));
    }
    set(results[i], make_proxy(item, type, std::move(known[i])));
  }
}

at::IValue Interpreter::record_call(std::string target, std::vector<Argument> args, Kwargs kwargs,
                                    const c10::TypePtr& type, const IrNode* node, Known known) {
  if (type->kind() == c10::TypeKind::NoneType && tracer_ == nullptr) return {};
  if (tracer_ == nullptr) return make_proxy(NodeId{}, type, std::move(known));
  const NodeId id = tracer_->call_function(std::move(target), std::move(args), std::move(kwargs),
                                           meta(type, known), location(node));
  return type->kind() == c10::TypeKind::NoneType ? at::IValue() : make_proxy(id, type, std::move(known));
}

std::pair<std::vector<Argument>, Kwargs> Interpreter::arguments(const c10::FunctionSchema& schema,
                                                                const Values& values, std::size_t first,
                                                                const IrNode* node) {
  std::vector<Argument> args;
  Kwargs kwargs;
  std::size_t needed = 0;  // positional arguments up to the last that is not at its default
  const auto& formals = schema.arguments();
  for (std::size_t i = first; i < values.size(); ++i) {
    if (i >= formals.size()) {  // more arguments than the schema names: aten::format
      args.push_back(argument(values[i], node));
      needed = args.size();
      continue;
    }
    const c10::Argument& formal = formals[i];
    static const c10::TypePtr dtype_type = c10::ScalarTypeType::get();
    const c10::Type* type = formal.real_type().get();
    // aten::to.prim_dtype, its kin and script functions call a dtype an integer even in their schemas.
    if (formal.name() == "dtype" && without_optional(type)->kind() == c10::TypeKind::IntType)
      type = dtype_type.get();
    Argument value = argument(values[i], node, type);
    const bool at_default = formal.default_value() && argument(*formal.default_value(), node, type) == value;
    if (formal.kwarg_only()) {
      if (!at_default) kwargs.emplace_back(formal.name(), std::move(value));
    } else {
      args.push_back(std::move(value));
      if (!at_default) needed = args.size();
    }
  }
  args.resize(needed);
  return {std::move(args), std::move(kwargs)};
}

Argument Interpreter::number_argument(std::int64_t number, const c10::Type* formal) const {
  if (formal == nullptr) return number;
  switch (formal->kind()) {
    case c10::TypeKind::ScalarTypeType:
      return Argument::Dtype{dtype_name(static_cast<at::ScalarType>(number))};
    case c10::TypeKind::LayoutType:
      return Argument::Layout{layout_name(number)};
    case c10::TypeKind::MemoryFormatType:
      return Argument::MemoryFormat{memory_format_name(number)};
    default:
      return number;
  }
}

Argument Interpreter::argument(const at::IValue& value, const IrNode* node, const c10::Type* formal) {
  formal = without_optional(formal);
  if (tracer_ == nullptr) return Argument::None{};  // nobody looks at it
  if (const Proxy* proxy = find_proxy(value)) {
    if (!proxy->node.valid()) {
      fail(FailureKind::kUnsupportedOp, "a value that only __setstate__ would compute is used", node);
    }
    return proxy->node;
  }
  if (value.isNone()) return Argument::None{};
  if (value.isBool()) return value.toBool();
  if (value.isInt()) return number_argument(value.toInt(), formal);
  if (value.isDouble()) return value.toDouble();
  if (value.isComplexDouble()) {
    const auto number = value.toComplexDouble();
    return std::complex<double>(number.real(), number.imag());
  }
  if (value.isString()) return value.toStringRef();
  if (value.isDevice()) return Argument::Device{value.toDevice().str()};
  if (value.isEnum()) return argument(value.toEnumHolder()->value(), node);
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    if (!tensor.defined()) return Argument::None{};
    // nn.LSTM has a list of its own parameters.
    if (const ParameterRecord* record = program_.find_parameter(tensor)) {
      return tracer_->get_attr(record->name, meta(c10::TensorType::get(), known_of_value(value)),
                               location(node));
    }
    return tracer_->constant(
        tensor.unsafeGetTensorImpl(), [&] { return program_.archive().constant(tensor); }, location(node));
  }
  if (!materialized_.empty() && is_container(value)) {
    const auto made = materialized_.find(value.internalToPointer());
    if (made != materialized_.end()) return find_proxy(made->second.proxy)->node;
  }
  if (value.isList()) {
    const c10::Type* element = nullptr;
    if (formal != nullptr && formal->kind() == c10::TypeKind::ListType)
      element = formal->containedTypes()[0].get();
    // A comparison of a dtype with a list of dtypes.
    if (formal != nullptr && formal->kind() == c10::TypeKind::ScalarTypeType) element = formal;
    Argument::List list;
    for (const auto& item : value.toListRef()) list.items.push_back(argument(item, node, element));
    return list;
  }
  if (value.isTuple()) {
    Argument::Tuple tuple;
    for (const auto& item : value.toTupleRef().elements()) tuple.items.push_back(argument(item, node));
    return tuple;
  }
  if (value.isGenericDict()) {
    Argument::Dict dict;
    for (const auto& entry : value.toGenericDict()) {
      dict.items.emplace_back(argument(entry.key(), node), argument(entry.value(), node));
    }
    return dict;
  }
  if (value.isObject()) {
    const auto& object = value.toObjectRef();
    if (const std::string* path = program_.find_path(&object); path != nullptr && !path->empty()) {
      return tracer_->get_attr(*path, meta(object.type()), location(node));
    }
    fail(FailureKind::kUnsupportedOp,
         "an object of " + type_name(*object.type()) + " made while tracing is passed on whole", node);
  }
  fail(FailureKind::kUnsupportedOp,
       "a value of type " + type_name(*value.type()) + " cannot stand in a graph", node);
}

}  // namespace fxtrace
