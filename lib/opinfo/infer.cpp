// The order in which a call is inferred (infer()): an `out` overload is inferred without its last argument; a
// call with a sparse tensor by the row's rule for those alone; then come the checks of CPU kernels; an
// in-place call takes the rule of its functional form, whose result must fit into the tensor that is written;
// other calls take the rule of the row, and pointwise operators without one broadcast.  infer_shapes() then
// sets device, gradient and contiguity, which rules leave alone.
#include "opinfo/infer.h"

#include <algorithm>
#include <iterator>

#include "opinfo/operator_entry.h"
#include "opinfo/operator_row.h"
#include "opinfo/rules/shape_helpers.h"
#include "opinfo/rules/shape_rules.h"
#include "opinfo/values/list_changes.h"
#include "support/log.h"
#include "support/text/words.h"

namespace fxtrace::internal {
namespace {

Results unknown_results(const Schema& schema) { return Results(schema.results.size()); }

// ---- Rules by tag ----

// The rule of pointwise operators whose row has none: nearly all return the floating dtype of their tensors.
Results pointwise(const RuleArguments& args) {
  Dtype dtype;
  bool same = true;
  for (const SchemaArgument& argument : args.schema().arguments) {
    if (!args.is_tensor(argument.name)) continue;
    const Dtype other = args.tensor(argument.name).dtype;
    same = same && other && is_floating(*other) && dtype.value_or(*other) == *other;
    dtype = other;
  }
  return make(broadcast_all(args), same ? dtype : std::nullopt);
}

// ---- The whole call ----

// Returns the written argument that the first result aliases; empty when there is none.
std::string_view written_argument(const Schema& schema) {
  if (schema.results.empty()) return {};
  const std::optional<AliasSet>& result = schema.results[0].alias;
  if (!result || !result->writes) return {};
  for (const SchemaArgument& argument : schema.arguments) {
    const std::optional<AliasSet>& own = argument.type.alias;
    if (own && own->writes && own->before == result->before) return argument.name;
  }
  return {};
}

bool is_sparse(const AbstractValue& value) {
  const TensorInfo* info = value.tensor();
  return info != nullptr && info->sparse_dim.has_value();
}

bool takes_sparse(const CallArguments& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values.is_literal(i)) continue;
    const AbstractValue::Sequence* items = values[i].sequence();
    if (items == nullptr ? is_sparse(values[i]) : std::ranges::any_of(*items, is_sparse)) return true;
  }
  return false;
}

// Returns whether the call asks for a layout other than strided.
bool asks_for_layout(const RuleArguments& args) {
  if (!args.is_given("layout")) return false;
  const SymInt* layout = args.value("layout").integer();
  return layout == nullptr || !is_number(*layout, kStridedLayout);
}

// Throws Raises when torch cannot cast in place: a float to an integer, a complex number to a real one, or
// anything but a bool to a bool.
void require_castable(Dtype from, Dtype to) {
  if (!from || !to) return;
  const auto rank = [](ScalarType type) {
    if (is_complex(type)) return 3;
    if (is_floating(type)) return 2;
    return type == ScalarType::kBool ? 0 : 1;
  };
  if (is_quantized(*from) || is_quantized(*to) || rank(*from) <= rank(*to)) return;
  throw Raises{"the result is " + dtype_name(*from) + ", which cannot be cast to " + dtype_name(*to) +
               " in place"};
}

// Throws Raises when the result of an in-place call does not fit into the tensor that is written.
void check_written(const RuleArguments& args, ShapeRule rule, std::string_view written) {
  if (rule == nullptr && (args.traits() & traits::kPointwise) == 0) return;
  try {
    ShapeEnv dimensions = args.dimensions;  // a copy: fresh dimensions of this result are not kept
    const RuleArguments again = args.with_dimensions(dimensions);
    const Results results = rule != nullptr ? rule(again) : pointwise(again);
    const TensorInfo* given = results.empty() ? nullptr : results[0].tensor();
    const TensorInfo& self = args.tensor(written);
    if (given == nullptr) return;
    require_equal_sizes(args.dimensions, given->sizes, self.sizes, {"the result", written});
    require_castable(given->dtype, self.dtype);
  } catch (const CannotTell&) {
  } catch (const SymbolicError&) {
  }
}

bool is_out(const SchemaArgument& argument) { return argument.keyword_only && argument.is_written; }

Results infer(const RuleArguments& args);

// Infers a call with `out` as last argument: returns that tensor if the result has its sizes.  Otherwise
// torch resizes it, and other places that hold the tensor would not know.
Results infer_out(const RuleArguments& args) {
  const Schema& schema = args.schema();
  const auto outs = static_cast<std::size_t>(std::ranges::count_if(schema.arguments, is_out));
  if (outs != 1 || !is_out(schema.arguments.back()) || args.values().size() != schema.arguments.size()) {
    throw CannotTell{};
  }
  const std::string& name = schema.arguments.back().name;
  if (!args.is_tensor(name) || is_sparse(args.value(name))) throw CannotTell{};
  OperatorEntry without = args.op();
  without.schema.arguments.pop_back();
  const Results results = infer(RuleArguments(without, args.values(), args.dimensions));
  const TensorInfo* result = results.size() == 1 ? results.front().tensor() : nullptr;
  if (result == nullptr || result->sizes != args.tensor(name).sizes) throw CannotTell{};
  return make(args.tensor(name));
}

Results infer(const RuleArguments& args) {
  const Schema& schema = args.schema();
  if (std::ranges::any_of(schema.arguments, is_out)) return infer_out(args);
  std::string_view name = args.name();
  if (takes_sparse(args.values())) {
    const ShapeRule rule = facts_of(name).of_sparse;
    if (rule == nullptr) throw CannotTell{};
    return rule(args);
  }
  check_call(args);
  if (asks_for_layout(args) && name.find("sparse") == std::string_view::npos) throw CannotTell{};
  const std::string_view written = written_argument(schema);
  if (!written.empty()) {
    if (name.ends_with('_')) name.remove_suffix(1);
    const ShapeRule rule = facts_of(name).shape;
    if ((args.traits() & traits::kChangesShape) != 0) {
      if (rule == nullptr) throw CannotTell{};
      return rule(args);
    }
    check_written(args, rule, written);
    return make(args.tensor(written));
  }
  if (const ShapeRule rule = facts_of(name).shape) return rule(args);
  if ((args.traits() & traits::kPointwise) == 0) throw CannotTell{};
  return pointwise(args);
}

// Returns the device that the call asks for, or that of its first tensor; nothing when unknown.
std::optional<Device> result_device(const RuleArguments& args) {
  const std::string_view name = without_namespace(args.name());
  if (name == "cpu") return Device{};
  if (name == "cuda") return Device{"cuda"};
  if (args.is_given("device")) {
    const auto* device = args.value("device").get_if<Device>();
    return device != nullptr ? std::optional(*device) : std::nullopt;
  }
  const bool takes_device_of_other = name == "to" || name == "type_as";
  if (takes_device_of_other && args.is_tensor("other")) return args.tensor("other").device;
  std::optional<Device> result;
  const auto consider = [&](const AbstractValue& value) {
    const TensorInfo* info = value.tensor();
    // A tensor on another device wins: it may be combined with a number on the CPU.
    if (info != nullptr && (!result || (result->is_cpu() && !info->device.is_cpu()))) result = info->device;
  };
  const CallArguments& values = args.values();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values.is_literal(i)) continue;
    consider(values[i]);
    if (const auto* items = values[i].sequence()) std::ranges::for_each(*items, consider);
  }
  return result;
}

// ---- Gradients ----

// Returns whether the call has requires_grad=True, or may have it.
bool asks_for_gradient(const RuleArguments& args) {
  if (!args.is_given("requires_grad")) return false;
  const auto* flag = args.value("requires_grad").get_if<bool>();
  return flag == nullptr || *flag;
}

bool results_may_require_grad(const RuleArguments& args) {
  if (asks_for_gradient(args)) return true;
  if (stops_gradients(args.name())) return false;
  for (std::size_t i = 0; i < args.values().size(); ++i) {
    if (may_require_grad(args.values(), i)) return true;
  }
  return false;
}

bool has_gradients(ScalarType type) { return is_floating(type) || is_complex(type); }

void finish(AbstractValue& result, const Device& device, bool may_require_grad, const ShapeEnv& dimensions) {
  if (auto* info = std::get_if<TensorInfo>(&result.value)) {
    info->device = device;
    info->requires_grad.reset();
    if (!may_require_grad || (info->dtype && !has_gradients(*info->dtype))) info->requires_grad = false;
    info->contiguous.reset();
    info->contiguity_assumed = false;
    info->content = nullptr;
    for (SymInt& size : info->sizes) {
      if (!size.is_number()) size = dimensions.simplify(size);
      const std::optional<std::int64_t> most = dimensions.most(size);
      if (most && *most < 0) throw Raises{"a size of the result is " + size.text() + ", expected >= 0"};
    }
  }
  if (auto* sequence = std::get_if<AbstractValue::Sequence>(&result.value)) {
    for (AbstractValue& element : *sequence) finish(element, device, may_require_grad, dimensions);
  }
}

// ---- Contiguity ----

bool is_ordinary_format(const RuleArguments& args) {
  if (!args.is_given("memory_format")) return true;
  const SymInt* format = args.value("memory_format").integer();
  return format != nullptr && is_number(*format, kContiguousFormat);
}

// Returns whether the result is known to be contiguous: the operator always makes such tensors, or keeps its
// argument's order and the argument is contiguous.
bool is_contiguous(const RuleArguments& args, const TensorInfo& result) {
  const Traits all = facts_of(args.name()).traits;
  if ((all & traits::kMakesContiguous) != 0) return is_ordinary_format(args);
  if ((all & traits::kKeepsContiguous) != 0) {
    if (without_namespace(args.name()) == "clone" && args.is_given("memory_format"))
      return is_ordinary_format(args);
    return args.is_tensor("self") && args.tensor("self").contiguous == true &&
           (!args.is_given("memory_format") || is_ordinary_format(args));
  }
  if ((args.traits() & traits::kPointwise) == 0) return false;
  bool any = false;
  for (const SchemaArgument& argument : args.schema().arguments) {
    if (!args.is_tensor(argument.name)) continue;
    const TensorInfo& info = args.tensor(argument.name);
    if (info.sizes.empty()) continue;
    if (info.contiguous != true || info.sizes != result.sizes) return false;
    any = true;
  }
  return any;
}

bool assumes_contiguity(const CallArguments& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values.is_literal(i) || values.type(i).lists > 0) continue;
    const TensorInfo* info = values[i].tensor();
    if (info != nullptr && info->contiguity_assumed) return true;
  }
  return false;
}

// ---- Lists that are unpacked ----

std::optional<Pieces> unfinished_pieces(const RuleArguments& args, std::int64_t count) {
  const std::string_view name = without_namespace(args.name());
  const TensorInfo& piece = args.tensor("self");
  const std::size_t dim = dim_index(args.number("dim"), piece);
  const SymInt size = nth(piece.sizes, dim);
  std::vector<TensorInfo> pieces(static_cast<std::size_t>(count), piece);
  if (name == "unbind") {
    for (TensorInfo& each : pieces) each.sizes.erase(each.sizes.begin() + signed_index(dim));
    return Pieces{{Relation::kEqual, size, count}, make_list(std::move(pieces)).at(0)};
  }
  const bool is_chunk = name == "chunk" || name == "unsafe_chunk";
  if (!is_chunk && name != "split" && name != "unsafe_split") return std::nullopt;
  if (is_chunk && args.number("chunks") != count) return std::nullopt;  // chunk() may return fewer tensors
  const SymInt length = is_chunk ? ceildiv(size, count) : args.size("split_size");
  if (!is_chunk && length.number().value_or(0) <= 0) return std::nullopt;
  for (TensorInfo& each : pieces) each.sizes[dim] = length;
  pieces.back().sizes[dim] = size - length * (count - 1);
  const SymInt before = length * (count - 1);  // the elements before the last piece
  Condition condition{Relation::kGreater, size, before};
  if (!is_chunk && count > 1) condition = {Relation::kEqual, ceildiv(size, length), count};
  if (!is_chunk && count == 1) condition = {Relation::kLessEqual, size, length};
  return Pieces{std::move(condition), make_list(std::move(pieces)).at(0)};
}

}  // namespace

bool stops_gradients(std::string_view name) {
  static constexpr std::string_view kNames[]{
      "aten::detach",    "aten::detach_",      "aten::detach_copy", "aten::empty_like", "aten::full_like",
      "aten::new_full",  "aten::new_empty",    "aten::new_ones",    "aten::new_zeros",  "aten::ones_like",
      "aten::rand_like", "aten::randint_like", "aten::randn_like",  "aten::zeros_like", "prim::data"};
  return std::ranges::find(kNames, name) != std::end(kNames);
}

bool may_require_grad(const AbstractValue& value) {
  if (const TensorInfo* info = value.tensor()) {
    return info->requires_grad != false && (!info->dtype || has_gradients(*info->dtype));
  }
  const auto any = [](const AbstractValue::Sequence& items) {
    return std::ranges::any_of(items, [](const AbstractValue& item) { return may_require_grad(item); });
  };
  if (const auto* items = value.sequence()) return any(*items);
  if (const auto* dict = value.dict()) return any(dict->values);
  return value.is_unknown();
}

bool may_require_grad(const CallArguments& values, std::size_t i) {
  using Kind = ValueType::Kind;
  const Kind kind = values.type(i).kind;
  if (kind != Kind::kAny && kind != Kind::kTensor) return false;
  return !values.is_literal(i) && may_require_grad(values[i]);
}

std::optional<Pieces> pieces_of(const RuleArguments& args, std::int64_t count) {
  constexpr std::int64_t kMost = 1000;
  try {
    auto found = count < 1 || count > kMost ? std::nullopt : unfinished_pieces(args, count);
    if (found)
      finish(found->pieces, result_device(args).value_or(Device{}), results_may_require_grad(args),
             args.dimensions);
    return found;
  } catch (const SymbolicError&) {
  } catch (const Raises&) {
  } catch (const CannotTell&) {
  }
  return std::nullopt;
}

Inferred infer_shapes(const RuleArguments& args) {
  try {
    Results results = infer(args);
    if (results.size() != args.schema().results.size()) return {unknown_results(args.schema()), {}};
    const Device device = result_device(args).value_or(Device{});
    const bool may_require_grad = results_may_require_grad(args);
    for (AbstractValue& result : results) finish(result, device, may_require_grad, args.dimensions);
    auto* first = results.empty() ? nullptr : std::get_if<TensorInfo>(&results[0].value);
    if (first != nullptr && is_contiguous(args, *first)) {
      first->contiguous = true;
      first->contiguity_assumed = assumes_contiguity(args.values());
    }
    return {std::move(results), {}};
  } catch (const Raises& raises) {
    return {unknown_results(args.schema()), raises.message};
  } catch (const CannotTell&) {
  } catch (const SymbolicError&) {
  }
  return {unknown_results(args.schema()), {}};
}

namespace {

bool is_known_tensor(const AbstractValue& value) {
  if (const auto* items = value.sequence()) return std::ranges::all_of(*items, is_known_tensor);
  const TensorInfo* info = value.tensor();
  const TensorContent* content = info != nullptr ? info->find_content() : nullptr;
  return info == nullptr || (content != nullptr && content->array != nullptr);
}

// Returns whether all tensor arguments have known elements.  This also refuses zeros_like(x) of an unknown x,
// whose value needs no element of x: it would rely on the sizes of x, which no guard of the model covers.
bool are_tensors_known(const RuleArguments& args) {
  const CallArguments& values = args.values();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!values.is_literal(i) && !is_known_tensor(values[i])) return false;
  }
  return true;
}

std::string op_text(const RuleArguments& args) {
  return args.op().target.empty() ? std::string(args.name()) : args.op().target;
}

std::string to_text(const Results& results) {
  const auto text_of = [](const AbstractValue& value) {
    const TensorInfo* info = value.tensor();
    return info != nullptr && info->find_content() ? values::to_text(*info->content->array)
                                                   : std::string("...");
  };
  return joined(results, text_of);
}

}  // namespace

std::optional<Results> evaluate(const RuleArguments& args, const Results& shapes) {
  const ValueRule rule = args.op().value;
  if (rule == nullptr) return std::nullopt;
  const bool gives_tensor =
      std::ranges::any_of(shapes, [](const AbstractValue& shape) { return !shape.is_unknown(); });
  try {
    if (gives_tensor && rule != values::sizes_as_tensor && !are_tensors_known(args)) return std::nullopt;
    Results results = rule({args, shapes});
    if (gives_tensor && log::is_enabled())
      log::info("the value of " + op_text(args) + " is " + to_text(results));
    return results;
  } catch (const CannotTell&) {
  } catch (const SymbolicError&) {
  } catch (const Raises&) {
  }
  if (gives_tensor && log::is_enabled()) log::info("the value of " + op_text(args) + " cannot be told");
  return std::nullopt;
}

Evaluated evaluate_plain(const RuleArguments& args) {
  auto results = evaluate(args, {});
  if (!results || results->empty()) return {};
  if (results->size() > 1) return {std::nullopt, {AbstractValue::Sequence(*std::move(results))}};
  AbstractValue& value = results->front();
  // An item of a list gets a node even when it is known: the model may change the list.
  const bool is_item =
      (args.traits() & (traits::kMovesElements | traits::kGivesSize)) == traits::kMovesElements;
  const SymInt* integer = value.integer();
  const bool is_plain =
      !is_item &&
      (integer != nullptr
           ? integer->is_number()
           : value.is_none() || value.get_if<bool>() != nullptr || value.get_if<double>() != nullptr ||
                 value.get_if<std::string>() != nullptr || value.get_if<std::complex<double>>() != nullptr);
  if (is_plain) return {std::move(value), {}};
  return {std::nullopt, std::move(value)};
}

std::optional<ChangedList> changed_list(std::string_view name, const CallArguments& values) {
  const ListChange change = list_change(name);
  const auto* items = change == ListChange::kNone || values.size() == 0 ? nullptr : values[0].sequence();
  if (items == nullptr) return std::nullopt;
  AbstractValue::Sequence list = *items;
  AbstractValue taken;
  const auto literal = [&](std::size_t i) -> std::optional<std::int64_t> {
    const SymInt* integer = i < values.size() ? values[i].integer() : nullptr;
    return integer != nullptr && values.is_literal(i) ? integer->number() : std::nullopt;
  };
  const auto place = [&]() -> std::optional<std::size_t> {
    if (values.size() < 2) return find_position(std::ssize(list), -1);
    const auto position = literal(1);
    return position ? find_position(std::ssize(list), position) : std::nullopt;
  };
  const auto expects = [&](std::size_t arguments) {
    return values.size() == arguments && list.size() < kMostItems;
  };
  switch (change) {
    case ListChange::kReverse:
      std::ranges::reverse(list);
      break;
    case ListChange::kClear:
      list.clear();
      break;
    case ListChange::kAppend:
      if (!expects(2)) return std::nullopt;
      list.push_back(values[1]);
      break;
    case ListChange::kExtend: {
      const auto* more = values.size() == 2 ? values[1].sequence() : nullptr;
      if (more == nullptr || list.size() + more->size() > kMostItems) return std::nullopt;
      append_items(list, *more);
      break;
    }
    case ListChange::kInsert: {
      const auto position = literal(1);
      if (!position || !expects(3)) return std::nullopt;
      insert_item(list, *position, values[2]);
      break;
    }
    case ListChange::kSetItem: {
      const auto at = place();
      if (!at || values.size() != 3) return std::nullopt;
      list[*at] = values[2];
      break;
    }
    default: {
      const auto at = place();
      if (!at) return std::nullopt;
      taken = take_item(list, *at);
    }
  }
  return ChangedList{std::move(list), std::move(taken)};
}

}  // namespace fxtrace::internal
