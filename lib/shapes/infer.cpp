#include "shapes/infer.h"

#include <algorithm>
#include <array>
#include <unordered_set>

#include "shapes/checks.h"
#include "shapes/rule_helpers.h"

namespace fxtrace {
namespace {

Results unknown_results(const Schema& schema) { return Results(schema.results.size()); }

// ---- Rules by tag ----

// Not in the tables; nearly all of these give floats of the type they take.
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

// ---- Everything together ----

bool changes_shape(std::string_view name) {
  static constexpr std::array kNames{"as_strided_", "detach_",   "rename_",   "resize_",
                                     "resize_as_",  "set_",      "squeeze_",  "t_",
                                     "transpose_",  "swapaxes_", "swapdims_", "unsqueeze_"};
  return std::ranges::find(kNames, name) != kNames.end();
}

// Operators whose saved statistics are others on the CPU than their meta kernels say.
bool differs_from_cpu(std::string_view name) {
  static constexpr std::array<std::string_view, 4> kNames{"native_batch_norm", "_native_batch_norm_legit",
                                                          "_batch_norm_with_update", "native_layer_norm"};
  return std::ranges::find(kNames, name) != kNames.end();
}

bool returns_list(const Schema& schema) { return std::ranges::any_of(schema.results, &SchemaType::is_list); }

// The argument that the first result is, changed; empty when there is none.
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

// A layout that the call asks for, other than strided.
bool asks_for_layout(const RuleArguments& args) {
  if (!args.given("layout")) return false;
  const SymInt* layout = args.value("layout").integer();
  return layout == nullptr || !is_number(*layout, kStridedLayout);
}

bool is_out(const SchemaArgument& argument) { return argument.keyword_only && argument.is_written(); }

// The first arguments of a call.
class FirstArguments final : public CallArguments {
 public:
  FirstArguments(const CallArguments& all, std::size_t count) : all_(all), count_(count) {}

  std::size_t size() const override { return count_; }
  ValueType type(std::size_t i) const override { return all_.type(i); }
  bool is_literal(std::size_t i) const override { return all_.is_literal(i); }

 private:
  const AbstractValue& value(std::size_t i) const override { return all_[i]; }

  const CallArguments& all_;
  const std::size_t count_;
};

Results infer(const RuleArguments& args, Kernels& kernels);

// A call with `out`, the last argument: it gives that tensor back where the result has its sizes.  In another
// case it gets other sizes, of which nothing is known in other places that hold it.
Results infer_out(const RuleArguments& args) {
  const Schema& schema = args.schema();
  const std::size_t outs = static_cast<std::size_t>(std::ranges::count_if(schema.arguments, is_out));
  if (outs != 1 || !is_out(schema.arguments.back()) || args.values().size() != schema.arguments.size()) {
    throw CannotTell{};
  }
  const std::string& name = schema.arguments.back().name;
  if (!args.is_tensor(name) || is_sparse(args.value(name))) throw CannotTell{};
  CalledOperator without{std::string(args.name()), schema, args.traits()};
  without.schema.arguments.pop_back();
  const FirstArguments values(args.values(), without.schema.arguments.size());
  Kernels none;
  const Results results = infer(RuleArguments(without, values, args.dimensions), none);
  const TensorInfo* result = results.size() == 1 ? results.front().tensor() : nullptr;
  if (result == nullptr || result->sizes != args.tensor(name).sizes) throw CannotTell{};
  return make(args.tensor(name));
}

Results infer(const RuleArguments& args, Kernels& kernels) {
  const Schema& schema = args.schema();
  if (std::ranges::any_of(schema.arguments, is_out)) return infer_out(args);
  std::string_view name = args.name();
  if (takes_sparse(args.values())) {
    const Rule rule = find_sparse_rule(name);
    if (rule == nullptr) throw CannotTell{};
    return rule(args);
  }
  check_call(args);
  if (asks_for_layout(args) && name.find("sparse") == std::string_view::npos) throw CannotTell{};
  const std::string_view written = written_argument(schema);
  if (!written.empty()) {
    if (kernels.has_meta_kernel() || kernels.is_composite()) kernels.run_on_meta();
    if (!changes_shape(without_namespace(name))) return make(args.tensor(written));
    name.remove_suffix(1);
    const Rule rule = find_rule(name);
    if (rule == nullptr) throw CannotTell{};
    return rule(args);
  }
  const Rule rule = find_rule(name);
  // A list may be long, and its length a hostile file's choice: a rule has a limit.
  const bool meta_first = kernels.has_meta_kernel() && !differs_from_cpu(without_namespace(name)) &&
                          (rule == nullptr || !returns_list(schema));
  if (meta_first) {
    if (auto results = kernels.run_on_meta()) return *std::move(results);
  }
  if (rule != nullptr) {
    try {
      Results results = rule(args);
      // A rule knows more, but does not check all that torch does.
      if (!meta_first && kernels.is_composite() && !returns_list(schema)) kernels.run_on_meta();
      return results;
    } catch (const CannotTell&) {
      // Sizes may be numbers that torch knows more about; but it makes every part of a list.
      if (returns_list(schema)) throw;
    }
  } else if ((args.traits() & traits::kPointwise) != 0) {
    return pointwise(args);
  }
  // After the rules: what is composed of other operators takes as many calls.
  if (!meta_first && kernels.is_composite()) {
    if (auto results = kernels.run_on_meta()) return *std::move(results);
  }
  if (rule == nullptr) return kernels.run_shape_function();
  throw CannotTell{};
}

// The device that `args` ask for, or that of the first tensor.
std::optional<Device> result_device(const RuleArguments& args) {
  const std::string_view name = without_namespace(args.name());
  if (name == "cpu") return Device{};
  if (name == "cuda") return Device{"cuda"};
  if (args.given("device")) {
    const auto* device = args.value("device").get_if<Device>();
    return device != nullptr ? std::optional(*device) : std::nullopt;
  }
  const bool takes_device_of_other = name == "to" || name == "type_as";
  if (takes_device_of_other && args.is_tensor("other")) return args.tensor("other").device;
  std::optional<Device> result;
  const auto consider = [&](const AbstractValue& value) {
    const TensorInfo* info = value.tensor();
    // A number on the CPU may be combined with a tensor elsewhere.
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

void finish(AbstractValue& result, const Device& device, const ShapeEnv& dimensions) {
  if (auto* info = std::get_if<TensorInfo>(&result.value)) {
    info->device = device;
    info->requires_grad.reset();
    info->contiguous.reset();
    info->contiguity_assumed = false;
    info->content = nullptr;
    for (SymInt& size : info->sizes) {
      if (!size.is_number()) size = dimensions.simplify(size);
      const std::optional<std::int64_t> most = dimensions.bounds(size).high;
      if (most && *most < 0) throw Raises{"a size of the result would be negative: " + size.text()};
    }
  }
  if (auto* sequence = std::get_if<AbstractValue::Sequence>(&result.value)) {
    for (AbstractValue& element : *sequence) finish(element, device, dimensions);
  }
}

// ---- Order in memory ----

bool is_ordinary_format(const RuleArguments& args) {
  if (!args.given("memory_format")) return true;
  const SymInt* format = args.value("memory_format").integer();
  return format != nullptr && is_number(*format, kContiguousFormat);
}

// What makes a tensor in the order of its dimensions; and what does that for one that is so already.
bool is_contiguous(const RuleArguments& args, const TensorInfo& result) {
  static const std::unordered_set<std::string_view> makers{
      "contiguous", "zeros",    "ones",     "empty",     "full",         "rand",   "randn",
      "randint",    "arange",   "eye",      "linspace",  "randperm",     "tensor", "one_hot",
      "new_zeros",  "new_ones", "new_full", "new_empty", "scalar_tensor"};
  static const std::unordered_set<std::string_view> keepers{"view",  "_unsafe_view", "reshape", "flatten",
                                                            "ravel", "unsqueeze",    "detach",  "alias",
                                                            "clone", "to",           "dropout"};
  const std::string_view name = without_namespace(args.name());
  if (makers.contains(name)) return is_ordinary_format(args);
  if (name == "clone" && args.given("memory_format")) return is_ordinary_format(args);
  if (keepers.contains(name)) {
    return args.is_tensor("self") && args.tensor("self").contiguous == true &&
           (!args.given("memory_format") || is_ordinary_format(args));
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

}  // namespace

Inferred infer_shapes(const RuleArguments& args, Kernels& kernels) {
  try {
    Results results = infer(args, kernels);
    if (results.size() != args.schema().results.size()) return {unknown_results(args.schema()), {}};
    const Device device = result_device(args).value_or(Device{});
    for (AbstractValue& result : results) finish(result, device, args.dimensions);
    auto* first = results.empty() ? nullptr : std::get_if<TensorInfo>(&results[0].value);
    if (first != nullptr && is_contiguous(args, *first)) {
      first->contiguous = true;
      first->contiguity_assumed = assumes_contiguity(args.values());
    }
    return {std::move(results), {}};
  } catch (const Raises& raises) {
    return {unknown_results(args.schema()), raises.message};
  } catch (const CannotTell&) {
  } catch (const std::exception&) {
    // SymbolicError, or of the kernels: this call cannot be told either.
  }
  return {unknown_results(args.schema()), {}};
}

Inferred infer_shapes(const RuleArguments& args) {
  Kernels none;
  return infer_shapes(args, none);
}

}  // namespace fxtrace
