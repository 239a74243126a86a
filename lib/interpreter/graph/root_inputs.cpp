#include "interpreter/graph/root_inputs.h"

#include <algorithm>
#include <complex>
#include <sstream>
#include <string_view>
#include <utility>

#include "interpreter/program/convert.h"
#include "interpreter/state/value_form.h"
#include "support/error.h"
#include "support/text/did_you_mean.h"
#include "support/text/numbers.h"
#include "support/text/words.h"
#include "symbolic/expression.h"
#include "torchscript/operators/plain_call.h"
#include "torchscript/values/tensor_value.h"

namespace fxtrace::internal::interpreter {
namespace {

const char* json_kind(const Argument& value) {
  if (value.is<Argument::None>()) return "null";
  if (value.is<bool>()) return "a boolean";
  if (value.is<std::int64_t>()) return "an integer";
  if (value.is<double>()) return "a number";
  if (value.is<std::string>()) return "a string";
  return value.is<Argument::List>() ? "an array" : "an object";
}

// Returns whether JSON's value is one of the type itself, without a conversion.
bool is_of_kind(const Argument& value, const Type& type) {
  switch (type.kind()) {
    case TypeKind::kNone:
      return value.is<Argument::None>();
    case TypeKind::kBool:
      return value.is<bool>();
    case TypeKind::kInt:
      return value.is<std::int64_t>();
    case TypeKind::kFloat:
    case TypeKind::kComplex:
      return find_float(value).has_value();
    case TypeKind::kString:
      return value.is<std::string>();
    case TypeKind::kList:
      return value.is<Argument::List>();
    case TypeKind::kTuple:
      return value.is<Argument::List>() &&
             value.get_if<Argument::List>()->items.size() == type.as<TupleType>()->items().size();
    case TypeKind::kDict:
      return value.is<Argument::Dict>();
    default:
      return false;
  }
}

// Returns the member of the union that takes the value, as torch.jit chooses one: that of its own kind, else
// a float for an integer.  Null when there is none.
TypePtr fitting_member(const Argument& value, const UnionType& either) {
  for (const TypePtr& member : either.contained_types()) {
    if (is_of_kind(value, *member)) return member;
  }
  for (const TypePtr& member : either.contained_types()) {
    if (member->kind() == TypeKind::kFloat && value.is<std::int64_t>()) return member;
    if (value.is<std::string>() && (member->kind() == TypeKind::kDevice || member->kind() == TypeKind::kEnum))
      return member;
  }
  return nullptr;
}

// Concrete arguments are the model's own, never a submodule's.
const TraceOptions& options_of(const Run& run) {
  static const TraceOptions nothing_concrete;
  return run.root.index == 0 ? run.options : nothing_concrete;
}

}  // namespace

RootInputs::RootInputs(Recorder& recorder, const FunctionSchema& schema,
                       const std::map<std::string, Value>& plain)
    : recorder_(recorder),
      tracer_(recorder.tracer()),
      archive_(recorder.state.run.program.archive()),
      schema_(schema),
      options_(options_of(recorder.state.run)),
      plain_(plain) {
  for (std::size_t i = 1; i < schema.arguments.size(); ++i) names_.push_back(schema.arguments[i].name);
}

bool RootInputs::is_given_a_value(const std::string& name) const {
  const auto decision =
      InputChoice(options_, names_, [this](const std::string& what) { fail(what); }).decide(name);
  return decision.kind != InputChoice::Decision::Kind::kRemains;
}

void RootInputs::fail(const std::string& what) const {
  std::string inputs;
  for (std::size_t i = 1; i < schema_.arguments.size(); ++i) {
    const auto& formal = schema_.arguments[i];
    inputs += (inputs.empty() ? "" : ", ") + shell_word(formal.name) + ": " + type_name(*formal.type);
    if (formal.default_value)
      inputs += " = " + python_text(archive_.value_of(*formal.default_value), &archive_);
  }
  throw usage_error(what, {inputs.empty() ? "the method has no inputs" : "the inputs are " + inputs});
}

// Returns the path as Place has it: parts of named tuples, which may be given by position, by name.
static std::string with_fields(const std::string& path, TypePtr type) {
  std::string result;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    const std::string step = path.substr(begin, end - begin);
    begin = end + 1;
    std::string part = step;
    if (!result.empty() && type) {
      if (const auto optional = type->as<OptionalType>()) type = optional->element();
      const auto position = number_in<std::size_t>(step);
      const auto tuple = type->as<TupleType>();
      if (tuple && tuple->is_named() && position && *position < tuple->fields().size())
        part = tuple->fields()[*position];
      TypePtr inner;
      if (const auto list = type->as<ListType>()) inner = list->element();
      if (const auto dict = type->as<DictType>()) inner = dict->value();
      if (tuple) {
        for (std::size_t i = 0; i < tuple->items().size(); ++i) {
          if (tuple->is_named() ? tuple->fields()[i] == part : position == i) inner = tuple->items()[i];
        }
      }
      type = inner;
    }
    result += (result.empty() ? "" : ".") + part;
  }
  return result;
}

// Reads the specs of --input, and replaces positions by names.
void RootInputs::read_dummies() {
  const auto& formals = schema_.arguments;
  std::map<std::string, std::string> given;  // the names of inputs in options, by path
  for (const InputSpec& input : options_.inputs) {
    const std::size_t dot = std::min(input.name.find('.'), input.name.size());
    std::string first = input.name.substr(0, dot);
    if (const auto position = number_in<std::size_t>(first)) {
      if (*position + 1 >= formals.size()) fail("no input at position " + first);
      first = formals[*position + 1].name;
    } else {
      check_input_name(first, names_, [this](const std::string& what) { fail(what); });
    }
    const auto formal = std::ranges::find(formals, first, &FunctionArgument::name);
    Dummy dummy{with_fields(first + input.name.substr(dot), formal->type), parse_input_spec(input)};
    // Of a file and the command line, the latter counts.
    const auto [other, is_new] = given.emplace(dummy.path, input.name);
    if (!is_new && other->second != input.name) {
      fail("--input " + shell_word(other->second) + " and --input " + shell_word(input.name) +
           " are one input, " + shell_quoted(dummy.path));
    }
    std::erase_if(dummies_, [&](const Dummy& earlier) { return earlier.path == dummy.path; });
    dummies_.push_back(std::move(dummy));
  }
}

bool RootInputs::has_dummy(const std::string& path) const {
  return std::any_of(dummies_.begin(), dummies_.end(), [&](const Dummy& dummy) {
    return dummy.path == path || dummy.path.starts_with(path + ".");
  });
}

Argument RootInputs::structure(const TypePtr& type, const std::string& path) const {
  if (const auto optional = type->as<OptionalType>()) return structure(optional->element(), path);
  std::vector<std::string> keys;  // in the order in which they were given
  for (const Dummy& dummy : dummies_) {
    if (!dummy.path.starts_with(path + ".")) continue;
    const std::string rest = dummy.path.substr(path.size() + 1);
    const std::string key = rest.substr(0, rest.find('.'));
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
  }
  if (keys.empty()) return kConcretePlaceholder;
  const auto inside = [&](const TypePtr& element, const std::string& key) {
    return structure(element, path + "." + key);
  };
  const auto tuple = type->as<TupleType>();
  if (const auto dict = type->as<DictType>()) {
    Argument::Dict items;
    for (const auto& key : keys) items.items.push_back({key, inside(dict->value(), key)});
    return items;
  }
  const auto list = type->as<ListType>();
  if (!list && !tuple)
    fail("--input " + shell_word(path + "." + keys[0]) + ": '" + path + "' is " + type_name(*type) +
         ", which has no parts");
  const std::size_t count = tuple ? tuple->items().size() : keys.size();
  Argument::List items;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string field = tuple && tuple->is_named() ? tuple->fields()[i] : "";
    const std::string key =
        std::find(keys.begin(), keys.end(), field) != keys.end() ? field : std::to_string(i);
    const bool has_key = std::find(keys.begin(), keys.end(), key) != keys.end();
    if (!has_key && !tuple) {
      fail("--input: list '" + path + "' has no spec for element " + key + ", but for others");
    }
    items.items.push_back(inside(tuple ? tuple->items()[i] : list->element(), key));
  }
  return items;
}

AbstractValue RootInputs::known(TypePtr& type, const Place& place) {
  const auto dummy = std::find_if(dummies_.begin(), dummies_.end(),
                                  [&](const Dummy& item) { return item.path == place.path; });
  if (dummy == dummies_.end()) return {};
  dummy->used = true;
  const ParsedInputSpec& spec = dummy->spec;
  const TypePtr wanted = spec.dtype ? TypePtr(tensor_type()) : int_type();
  if (!is_subtype(*wanted, *type)) {
    fail("'" + place.path + "': expected " + type_name(*type) + ", got " + to_string(spec));
  }
  type = wanted;
  if (!spec.dtype) {
    if (spec.value.is_number()) {
      fail("'" + place.path + "' is a constant; use --concrete " +
           shell_word(place.path + "=" + spec.value.text()));
    }
    return {spec.value};
  }
  TensorInfo info;
  for (const SymInt& size : spec.shape) info.sizes.push_back(recorder_.state.dimensions.simplify(size));
  info.dtype = find_scalar_type(*spec.dtype);
  info.requires_grad = false;
  info.contiguous = true;
  info.contiguity_assumed = true;
  if (spec.device) {
    const torchscript::DeviceText device = torchscript::read_device(*spec.device);
    if (!device.device) throw usage_error(device.why);
    info.device = *device.device;
  }
  return {std::move(info)};
}

std::vector<BoundInput> RootInputs::bind() {
  read_dummies();
  check_dimensions(options_.dimensions, named_dimensions(options_.inputs));
  const InputChoice choice(options_, names_, [this](const std::string& what) { fail(what); });
  std::vector<BoundInput> bound;
  for (std::size_t i = 1; i < schema_.arguments.size(); ++i) {
    bound.push_back(bind_input(schema_.arguments[i], choice.decide(schema_.arguments[i].name)));
  }
  for (const Dummy& dummy : dummies_) {
    if (!dummy.used) fail("--input " + shell_word(dummy.path) + ": no such part remains of the input");
  }
  return bound;
}

BoundInput RootInputs::bind_input(const FunctionArgument& formal, InputChoice::Decision decision) {
  using Kind = InputChoice::Decision::Kind;
  const std::string& name = formal.name;
  const Place place{name, Expression::name(name), name, {name}};
  formal_ = &formal;
  if (decision.kind == Kind::kFixed) return bind_value(*decision.value, formal.type, place);
  if (has_dummy(name)) {
    return bind_value(structure(formal.type, name), formal.type, place);
  }
  const torchscript::ScriptConstant* default_value = formal.default_value ? &*formal.default_value : nullptr;
  if (!decision.named && tracer_.is_given(name)) return present(formal.type, place);
  // Dummy inputs stand for a call with them, in which the others have their defaults.
  if (!decision.named && default_value != nullptr &&
      (!dummies_.empty() || (tracer_.is_fixed(name) && !plain_.contains(name)))) {
    decision.kind = Kind::kDefault;
  }
  if (decision.kind == Kind::kRemains) {
    // An input that --input-names names is passed, so it is not None.
    if (decision.named && formal.type->kind() == TypeKind::kOptional) {
      return present(formal.type, place);
    }
    if (!decision.named) unmentioned_.insert(name);
    return add_entry(place, make_placeholder(place, formal.type, &formal, {}));
  }
  const bool may_be_none =
      formal.type->kind() == TypeKind::kOptional ||
      (formal.type->kind() == TypeKind::kUnion && is_subtype(*none_type(), *formal.type));
  if (default_value == nullptr && !may_be_none) {
    fail(InputChoice::no_default(name));
  }
  const Value value = default_value != nullptr ? archive_.value_of(*default_value) : Value();
  guard(equality(place.expr, value, &archive_), GuardReason::kDefault);
  return add_entry(place, {value, std::nullopt});
}

BoundInput RootInputs::make_placeholder(const Place& place, const TypePtr& type,
                                        const FunctionArgument* formal, AbstractValue known) {
  std::vector<Argument> defaults;
  // A tensor as default would be a node in front of the placeholder.
  if (formal != nullptr && formal->default_value) {
    const Value given = archive_.value_of(*formal->default_value);
    if (is_plain(given)) defaults.push_back(recorder_.argument(given, nullptr, meaning_of(*formal)));
  }
  const NodeId id = tracer_.placeholder(place.name, std::move(defaults), meta_of(type, known));
  return {make_proxy(tracer_.ref(id), type, std::move(known)), Argument(id)};
}

void RootInputs::guard(Expression condition, GuardReason reason) {
  tracer_.guard(std::move(condition), std::nullopt, reason);
}

BoundInput RootInputs::add_entry(const Place& place, BoundInput bound) {
  GraphSignature::Entry entry;
  entry.name = place.name;
  entry.path = place.keys;
  const NodeId* node = bound.argument ? bound.argument->get_if<NodeId>() : nullptr;
  if (node != nullptr) {
    entry.node = *node;
  } else {
    entry.value = bound.argument;
  }
  entries_.push_back(std::move(entry));
  return bound;
}

// Makes one entry of an input of which no part remains: it is fixed as a whole.
BoundInput RootInputs::close_entries(std::size_t first, const Place& place, BoundInput bound) {
  const auto begin = entries_.begin() + static_cast<std::ptrdiff_t>(first);
  if (std::any_of(begin, entries_.end(), [](const auto& entry) { return entry.node.valid(); })) return bound;
  entries_.erase(begin, entries_.end());
  return add_entry(place, std::move(bound));
}

// Binds an input that remains and is not None.
BoundInput RootInputs::present(const TypePtr& type, const Place& place) {
  TypePtr narrower = type;
  if (const auto optional = type->as<OptionalType>()) {
    guard(Expression::comparison("is not", place.expr, Expression::none()), GuardReason::kConcrete);
    narrower = optional->element();
  }
  AbstractValue info = known(narrower, place);
  const bool keeps_default =
      place.keys.size() == 1 && formal_->default_value && !formal_->default_value->is_none();
  return add_entry(place,
                   make_placeholder(place, narrower, keeps_default ? formal_ : nullptr, std::move(info)));
}

BoundInput RootInputs::bind_value(const Argument& value, const TypePtr& type, const Place& place) {
  if (is_concrete_placeholder(value)) return present(type, place);
  const std::string expr = place.expr.text();
  const auto wrong = [&] [[noreturn]] () {  // NOLINT: C++23 alone has attributes without ()
    fail("'" + expr + "': expected " + type_name(*type) + ", got " + json_kind(value));
  };
  const auto fixed = [&](Value plain, Argument argument) -> BoundInput {
    guard(equality(place.expr, plain), GuardReason::kConcrete);
    return add_entry(place, {std::move(plain), std::move(argument)});
  };
  if (const auto optional = type->as<OptionalType>()) {
    if (value.is<Argument::None>()) return fixed(Value(), Argument::None{});
    const bool has_parts = value.is<Argument::List>() || value.is<Argument::Dict>();
    if (has_parts)  // else the guard of its value says so
      guard(Expression::comparison("is not", place.expr, Expression::none()), GuardReason::kConcrete);
    return bind_value(value, optional->element(), place);
  }
  if (const auto* either = type->as<UnionType>()) {
    const TypePtr member = fitting_member(value, *either);
    if (member == nullptr) wrong();
    guard_member(*member, *either, place);
    return bind_value(value, member, place);
  }
  const auto* integer = value.get_if<std::int64_t>();
  const std::optional<double> number = find_float(value);
  switch (type->kind()) {
    case TypeKind::kTensor:
      fail("'" + expr + "' is a Tensor, which cannot have a value; '\"$PH\"' keeps it an input");
    case TypeKind::kNone:
      if (!value.is<Argument::None>()) wrong();
      return fixed(Value(), Argument::None{});
    case TypeKind::kBool:
      if (!value.is<bool>()) wrong();
      return fixed(*value.get_if<bool>(), value);
    case TypeKind::kInt:
      if (integer == nullptr) wrong();
      return fixed(*integer, value);
    case TypeKind::kFloat: {
      if (integer == nullptr && !number) wrong();
      const double given = number ? *number : static_cast<double>(*integer);
      return fixed(given, given);
    }
    case TypeKind::kNumber:
      if (integer != nullptr) return fixed(*integer, value);
      if (!number) wrong();
      return fixed(*number, *number);
    case TypeKind::kString:
      if (!value.is<std::string>()) wrong();
      return fixed(*value.get_if<std::string>(), value);
    case TypeKind::kDevice:
      if (!value.is<std::string>()) wrong();
      if (const auto read = torchscript::read_device(*value.get_if<std::string>()); read.device)
        return fixed(*read.device, Argument::Device{*value.get_if<std::string>()});
      fail("'" + expr + "': unknown device '" + *value.get_if<std::string>() + "'");
    case TypeKind::kEnum: {
      const auto& members = type->as<torchscript::EnumType>()->members();
      for (const torchscript::EnumType::Member& member : members) {
        const Value given = archive_.value_of(member.value);
        Argument argument = recorder_.argument(given, nullptr);
        if (argument != value && Argument(member.name) != value) continue;
        return fixed(make_counted<torchscript::EnumValue>(type, member.name, given), std::move(argument));
      }
      fail("'" + expr + "': " + type_name(*type) + " has no such member; its members are " +
           joined(members, &torchscript::EnumType::Member::name));
    }
    case TypeKind::kList:
      if (!value.is<Argument::List>()) wrong();
      return bind_list(*value.get_if<Argument::List>(), type, place);
    case TypeKind::kDict:
      if (!value.is<Argument::Dict>()) wrong();
      return bind_dict(*value.get_if<Argument::Dict>(), type, place);
    case TypeKind::kTuple:
      if (!value.is<Argument::List>() && !value.is<Argument::Dict>()) wrong();
      return bind_tuple(value, type, place);
    default:
      fail("'" + expr + "' is " + type_name(*type) + ", which cannot have a value");
  }
}

// Guards the type of a number where the union has several: 2 == 2.0 in Python.
void RootInputs::guard_member(const Type& member, const UnionType& either, const Place& place) {
  const auto has = [&](TypeKind kind) {
    return std::ranges::any_of(either.contained_types(),
                               [&](const TypePtr& other) { return other->kind() == kind; });
  };
  const bool is_int = member.kind() == TypeKind::kInt;
  const char* name = is_int                              ? "int"
                     : member.kind() == TypeKind::kBool  ? "bool"
                     : member.kind() == TypeKind::kFloat ? "float"
                                                         : nullptr;
  if (name == nullptr) return;
  const auto is_instance = [&](const char* of) {
    return Expression::call(Expression::name("isinstance"), {place.expr, Expression::variable(of)});
  };
  guard(is_instance(name), GuardReason::kConcrete);
  if (is_int && has(TypeKind::kBool))
    guard(Expression::negation(is_instance("bool")), GuardReason::kConcrete);
}

BoundInput RootInputs::bind_list(const Argument::List& list, const TypePtr& type, const Place& place) {
  const auto& element = type->as<ListType>()->element();
  auto values = make_counted<ListValue>(element);
  Argument::List arguments;
  guard(has_length(place.expr, list.items.size()), GuardReason::kConcrete);
  const std::size_t first = entries_.size();
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    const auto index = static_cast<std::int64_t>(i);
    auto [value, argument] = bind_value(
        list.items[i], element, place.part(std::to_string(i), Expression::item(place.expr, index), index));
    values->items.push_back(std::move(value));
    arguments.items.push_back(std::move(*argument));
  }
  return close_entries(first, place, {Value(values), std::move(arguments)});
}

BoundInput RootInputs::bind_dict(const Argument::Dict& dict, const TypePtr& type, const Place& place) {
  const std::string expr = place.expr.text();
  const auto& dict_type = *type->as<DictType>();
  auto values = make_counted<DictValue>(dict_type.key(), dict_type.value());
  Argument::Dict arguments;
  std::vector<Value> keys;
  for (const auto& [json_key, item] : dict.items) {
    const std::string& text = *json_key.get_if<std::string>();
    if (dict_type.key()->kind() == TypeKind::kInt) {
      const auto number = number_in<std::int64_t>(text);
      if (!number) fail("'" + expr + "': expected integer keys, got '" + text + "'");
      keys.emplace_back(*number);
    } else if (dict_type.key()->kind() == TypeKind::kString) {
      keys.emplace_back(text);
    } else {
      fail("keys of '" + expr + "' are " + type_name(*dict_type.key()) + ", which JSON cannot express");
    }
  }
  std::vector<Expression> key_literals;
  for (const Value& key : keys) key_literals.push_back(literal(key));
  const Expression order = Expression::keys_in_order(place.expr, key_literals);
  if (keys.size() < 2) {
    guard(order, GuardReason::kConcrete);
  } else {  // code that iterates over the dict sees the order of the keys as well
    guard(Expression::keys_in_any_order(place.expr, key_literals), GuardReason::kConcrete);
    recorder_.key_orders.emplace(Value(values).identity(), order);
  }
  const std::size_t first = entries_.size();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::string& text = *dict.items[i].key.get_if<std::string>();
    Argument key_argument = keys[i].is_string() ? Argument(text) : Argument(keys[i].to_int());
    auto [value, argument] =
        bind_value(dict.items[i].value, dict_type.value(),
                   place.part(text, Expression::item(place.expr, key_literals[i]), key_argument));
    values->set(keys[i], std::move(value));
    arguments.items.push_back({std::move(key_argument), std::move(*argument)});
  }
  return close_entries(first, place, {Value(values), std::move(arguments)});
}

// The value is a JSON array, or for a named tuple an object with its fields.
BoundInput RootInputs::bind_tuple(const Argument& value, const TypePtr& type, const Place& place) {
  const std::string expr = place.expr.text();
  const auto& tuple = *type->as<TupleType>();
  const auto& elements = tuple.items();
  const std::vector<std::string>& fields = tuple.fields();
  std::vector<const Argument*> items(elements.size(), nullptr);
  if (const auto* list = value.get_if<Argument::List>()) {
    if (list->items.size() != elements.size()) {
      fail("'" + expr + "': expected a tuple of " + std::to_string(elements.size()) + ", got " +
           std::to_string(list->items.size()));
    }
    for (std::size_t i = 0; i < items.size(); ++i) items[i] = &list->items[i];
  } else {
    for (const auto& [key, item] : value.get_if<Argument::Dict>()->items) {
      const auto field = std::find(fields.begin(), fields.end(), *key.get_if<std::string>());
      if (field == fields.end()) fail("'" + expr + "': no field named '" + *key.get_if<std::string>() + "'");
      items[static_cast<std::size_t>(field - fields.begin())] = &item;
    }
  }
  std::vector<Value> values;
  Argument::Tuple arguments;
  arguments.names = tuple_names(type.get());
  const std::size_t first = entries_.size();
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string part = i < fields.size() ? fields[i] : std::to_string(i);
    if (items[i] == nullptr) fail("'" + expr + "': missing field '" + part + "'");
    const auto index = static_cast<std::int64_t>(i);
    const bool is_field = i < fields.size();
    Expression part_expr =
        is_field ? Expression::attribute(place.expr, part) : Expression::item(place.expr, index);
    auto [item, argument] =
        bind_value(*items[i], elements[i],
                   place.part(part, std::move(part_expr), is_field ? Argument(part) : Argument(index)));
    values.push_back(std::move(item));
    arguments.items.push_back(std::move(*argument));
  }
  Value result = make_tuple(std::move(values), tuple.is_named() ? type : nullptr);
  return close_entries(first, place, {std::move(result), std::move(arguments)});
}

}  // namespace fxtrace::internal::interpreter
