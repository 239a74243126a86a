#include "passes/batch_rules.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "operators/batching.h"
#include "passes/batch_steps.h"
#include "passes/named_arguments.h"
#include "shapes/rule_helpers.h"

namespace fxtrace {
namespace {

using Form = BatchingRule::Form;

class OperatorCall {
 public:
  OperatorCall(const Node& node, const OperatorInfo& info, Semantics& semantics, BatchPlan& plan)
      : node_(node),
        info_(info),
        rule_(batching_rule(*info.op)),
        semantics_(semantics),
        plan_(plan),
        steps_(node, plan),
        args_(node, info.schema) {}

  void run() {
    check_fixed();
    switch (rule_.form) {
      case Form::kNone:
        throw CannotBatch{"there is no rule for " + std::string(info_.op->name) + " over a batch"};
      case Form::kLeading:
        return leading();
      case Form::kPermute:
        return permute();
      case Form::kTransposeOne:
        return finish(only().rank() < 2 ? only() : steps_.transposed(only()));
      case Form::kSqueezeAll:
        return squeeze_all();
      case Form::kReduce:
        return reduce();
      case Form::kSizes:
      case Form::kExpand:
      case Form::kRepeat:
        return sizes();
      case Form::kBroadcast:
        return broadcast();
      case Form::kEqual:
        return equal();
      case Form::kSizesOf:
        return sizes_of();
      case Form::kTypeOf:
        return type_of();
      case Form::kIndex:
        return index();
      case Form::kDot:
        return finish(steps_.dot(first(), second(), node_.meta));
      case Form::kOuter:
        return finish(outer());
      case Form::kMatmul:
        return finish(steps_.matmul(first(), second(), node_.meta));
      case Form::kAddMatmul:
        return add_matmul();
      case Form::kLinear:
        return linear();
      case Form::kNormalize:
        return normalize();
      case Form::kLoss:
        return loss();
      case Form::kCrossEntropy:
        return cross_entropy();
    }
  }

 private:
  // --- arguments ---

  const std::string& name_at(std::size_t i) const { return info_.schema.arguments.at(i).name; }
  // A tensor argument.
  Batched tensor(std::string_view name) const {
    const Argument* given = args_.find(name);
    const auto* id = given == nullptr ? nullptr : given->get_if<NodeId>();
    if (id == nullptr) throw CannotBatch{std::string(name) + " is no tensor"};
    return plan_.value(*id);
  }
  Batched first() const { return tensor(name_at(0)); }
  Batched second() const { return tensor(name_at(1)); }
  bool is_batched(std::string_view name) const {
    const Argument* given = args_.find(name);
    bool any = false;
    if (given != nullptr) {
      for_each_reference(*given, [&](NodeId id) { any = any || plan_.is_batched(id); });
    }
    return any;
  }
  // The tensor that alone may be batched.
  Batched only() const {
    const std::string_view name = rule_.argument.empty() ? name_at(0) : rule_.argument;
    for (const SchemaArgument& argument : info_.schema.arguments) {
      if (argument.name != name && is_batched(argument.name)) {
        throw CannotBatch{argument.name + " of " + node_.name + " is batched"};
      }
    }
    return tensor(name);
  }
  // All of them.
  std::vector<Batched> tensors() {
    std::vector<Batched> all;
    args_.for_each_tensor([&](const std::string&, const Argument& argument) {
      for_each_reference(argument, [&](NodeId id) { all.push_back(plan_.value(id)); });
    });
    return all;
  }
  // f(Batched) in the place of each.
  template <class F>
  void replace_tensors(F&& f) {
    args_.for_each_tensor([&](const std::string&, Argument& argument) {
      argument = map_references<NodeId>(argument, [&](NodeId id) -> Argument { return f(plan_.value(id)); });
    });
  }
  void replace_tensors() {
    replace_tensors([](const Batched& value) { return value.tensor; });
  }

  void check_fixed() const {
    const auto refuse = [&](std::string_view name) {
      throw CannotBatch{node_.name + " asks for " + std::string(name)};
    };
    if (const Argument* given = args_.find("memory_format")) {
      const auto* format = given->get_if<Argument::MemoryFormat>();
      if (format == nullptr || format->name.starts_with("channels_last")) refuse("memory_format");
    }
    if (rule_.fixed.empty()) return;
    const Argument* given = args_.find(rule_.fixed);
    const auto* text = given == nullptr ? nullptr : given->get_if<std::string>();
    const auto& schema = info_.schema.arguments;
    const auto argument = std::ranges::find(schema, rule_.fixed, &SchemaArgument::name);
    const bool is_default = text != nullptr && argument->default_value == "\"" + *text + "\"";
    if (given != nullptr && !is_default) refuse(rule_.fixed);
  }

  // Dimensions that arguments name are those behind the batch.
  void shift_dimensions(std::size_t levels, std::size_t rank) {
    for (const SchemaArgument& argument : info_.schema.arguments) {
      if (!names_dimensions(argument)) continue;
      if (rank == 0 && !rule_.of_result) throw CannotBatch{node_.name + " gets no dimension"};
      const Argument* given = args_.find(argument.name);
      const auto* list = given == nullptr ? nullptr : given->get_if<Argument::List>();
      if (list != nullptr && !list->items.empty()) {
        Argument::List shifted;
        for (const Argument& item : list->items) {
          const auto* dim = item.get_if<std::int64_t>();
          if (dim == nullptr) throw CannotBatch{"a dimension is not known"};
          shifted.items.emplace_back(behind(levels, *dim));
        }
        args_.set(argument.name, std::move(shifted));
        continue;
      }
      const auto dim = list == nullptr ? args_.integer(argument.name) : std::nullopt;
      if (!dim) throw CannotBatch{node_.name + " is over all dimensions"};
      if (*dim >= 0) args_.set(argument.name, behind(levels, *dim));
    }
  }
  static std::int64_t behind(std::size_t levels, std::int64_t dim) {
    return dim < 0 ? dim : dim + static_cast<std::int64_t>(levels);
  }

  // --- results ---

  BatchPlan::Call call(std::string target, const NamedArguments& args) const {
    return {std::move(target), args.args(), args.kwargs()};
  }
  // The operator itself with the arguments as they are now.
  void finish(Levels levels) {
    const auto gives_tensor = [](const SchemaType& type) { return type.innermost().name == "Tensor"; };
    if (!std::ranges::any_of(info_.schema.results, gives_tensor)) levels.clear();
    finish(plan_.emit(node_, call(node_.target, args_), std::move(levels), node_.meta));
  }
  void finish(Batched value) { plan_.set(node_, std::move(value)); }

  // --- one tensor ---

  void leading() {
    const Batched value = only();
    shift_dimensions(value.levels.size(), value.rank());
    replace_tensors();
    finish(value.levels);
  }

  void permute() {
    const Batched value = only();
    shift_dimensions(value.levels.size(), value.rank());
    const auto* given = args_.find("dims")->get_if<Argument::List>();
    if (given == nullptr) throw CannotBatch{"a list of dimensions is not known"};
    Argument::List dims = range(0, value.levels.size());
    std::ranges::copy(given->items, std::back_inserter(dims.items));
    args_.set("dims", std::move(dims));
    replace_tensors();
    finish(value.levels);
  }

  void squeeze_all() {
    const Batched value = only();
    Argument::List dims;
    for (std::size_t i = 0; i < value.rank(); ++i) {
      if (value.shape()[i].number() != 1) continue;
      dims.items.emplace_back(static_cast<std::int64_t>(value.levels.size() + i));
    }
    if (!node_.meta->shape || node_.meta->shape->size() + dims.items.size() != value.rank()) {
      throw CannotBatch{"a size is not known"};
    }
    if (dims.items.empty()) return finish(value);
    finish(
        plan_.emit(node_, {"aten.squeeze.dims", {value.tensor, std::move(dims)}}, value.levels, node_.meta));
  }

  bool reduces_everything() const {
    const Argument* dim = args_.find("dim");
    const auto* list = dim == nullptr ? nullptr : dim->get_if<Argument::List>();
    // An empty list of the type int[1] says so too; one of the type int[] says nothing.
    const bool is_empty = list != nullptr && list->items.empty();
    return dim == nullptr || (is_empty && args_.type("dim").required().length);
  }

  void reduce() {
    Batched value = only();
    if (!reduces_everything()) return leading();
    const std::string target = rule_.target.empty() ? *node_.target : std::string(rule_.target);
    const OperatorInfo& over_dimensions = *semantics_.find_operator(target);
    NamedArguments args(over_dimensions.schema);
    args.copy(args_);
    const bool takes_list = args.type("dim").required().is_list();
    const bool keeps_rank = args.find("keepdim") != nullptr && *args.find("keepdim") == Argument(true);
    if (keeps_rank && (value.rank() == 0 || !takes_list)) {
      throw CannotBatch{node_.name + " is over all dimensions, and keeps them"};
    }
    if (value.rank() == 0) value = steps_.unsqueezed(value, 0);
    if (takes_list) {
      args.set("dim", range(value.levels.size(), value.rank()));
    } else {
      if (value.rank() > 1) value = steps_.flattened(value);
      args.set("dim", -1);
    }
    args.set(name_at(0), value.tensor);
    finish(plan_.emit(node_, call(target, args), value.levels, node_.meta));
  }

  void sizes() {
    const Batched value = only();
    const Argument* given = args_.find(rule_.sizes);
    const auto* list = given == nullptr ? nullptr : given->get_if<Argument::List>();
    if (list == nullptr) throw CannotBatch{"a list of sizes is not known"};
    Argument::List sizes = plan_.sizes_of(value.levels);
    if (rule_.form == Form::kRepeat) sizes.items.assign(value.levels.size(), 1);
    std::ranges::copy(list->items, std::back_inserter(sizes.items));
    const std::size_t rank = rule_.form == Form::kSizes ? 0 : list->items.size();
    args_.set(name_at(0), plan_.align(node_, value, value.levels, rank));
    args_.set(rule_.sizes, std::move(sizes));
    finish(value.levels);
  }

  // --- several tensors ---

  void broadcast() {
    const std::vector<Batched> values = tensors();
    const Levels levels = BatchPlan::common_levels(values);
    const std::size_t rank = max_rank(values);
    shift_dimensions(levels.size(), rank);
    const Dtype to = common_type(values);
    replace_tensors([&](const Batched& value) {
      return plan_.align(node_, to && is_scalar(value) ? converted(value, *to) : value, levels, rank);
    });
    finish(levels);
  }

  static bool is_scalar(const Batched& value) { return !value.levels.empty() && value.rank() == 0; }

  // A tensor without dimensions gives way to the dtype of others, and with those of the batch does not any
  // more: the dtype that these are to have, where it matters.
  Dtype common_type(const std::vector<Batched>& values) const {
    if (values.size() < 2 || std::ranges::none_of(values, is_scalar)) return std::nullopt;
    Promotion of_sample, of_all;
    for (const Batched& value : values) {
      const Dtype dtype = value.sample.dtype ? find_scalar_type(*value.sample.dtype) : Dtype{};
      if (!dtype) throw CannotBatch{"a dtype is not known"};
      of_sample.add({Sizes(value.rank(), 1), dtype});
      of_all.add({Sizes(value.rank() + value.levels.size(), 1), dtype});
    }
    const Dtype wanted = of_sample.result();
    if (!wanted || !of_all.result()) throw CannotBatch{"a dtype is not known"};
    // torch's own rules do not convert all: where() gives what it gives.
    const bool is_as_it_is = wanted == of_all.result() || node_.meta->dtype == dtype_name(*of_all.result());
    return is_as_it_is ? Dtype{} : wanted;
  }
  Batched converted(const Batched& value, ScalarType dtype) {
    Meta meta = value.sample;
    meta.dtype = dtype_name(dtype);
    return plan_.emit(node_, {"aten.to.dtype", {value.tensor, Argument::Dtype{*meta.dtype}}}, value.levels,
                      meta);
  }

  void equal() {
    const std::vector<Batched> values = tensors();
    const Levels levels = BatchPlan::common_levels(values);
    const std::size_t rank = max_rank(values);
    shift_dimensions(levels.size(), rank);
    replace_tensors([&](const Batched& value) { return plan_.spread(node_, value, levels, rank); });
    finish(levels);
  }

  void sizes_of() {
    const Batched value = first();
    Argument::List sizes = plan_.sizes_of(value.levels);
    const Batched other = second();
    for (const Meta::Dim& dim : other.shape()) {
      if (!dim.number()) throw CannotBatch{"a size is not known"};
      sizes.items.emplace_back(*dim.number());
    }
    const std::size_t rank = rule_.target == "aten.expand.default" ? other.rank() : 0;
    const NodeId aligned = plan_.align(node_, value, value.levels, rank);
    finish(plan_.emit(node_, {std::string(rule_.target), {aligned, std::move(sizes)}}, value.levels,
                      node_.meta));
  }

  void type_of() {
    const Levels levels = first().levels;
    replace_tensors();
    finish(levels);
  }

  // --- indices ---

  struct Indices {
    std::vector<Batched> values;
    std::size_t leading = 0;   // dimensions before the first
    bool are_adjacent = true;  // then their dimensions stand where they stood, else in front
  };
  Indices indices() const {
    const Argument* given = args_.find("indices");
    const auto* list = given == nullptr ? nullptr : given->get_if<Argument::List>();
    if (list == nullptr) throw CannotBatch{"a list of indices is not known"};
    Indices result;
    bool has_ended = false;
    for (const Argument& item : list->items) {
      if (const auto* id = item.get_if<NodeId>()) {
        result.values.push_back(plan_.value(*id));
        const auto& dtype = result.values.back().sample.dtype;
        if (!dtype || *dtype == "bool" || *dtype == "uint8")
          throw CannotBatch{node_.name + " may take a mask"};
        result.are_adjacent = result.are_adjacent && !has_ended;
      } else {
        has_ended = !result.values.empty();
        if (result.values.empty()) ++result.leading;
      }
    }
    return result;
  }

  void index() {
    const Batched self = first();
    const Indices given = indices();
    const bool is_in_front = given.leading == 0 || !given.are_adjacent;
    std::vector<Batched> all = given.values;
    all.push_back(self);
    const Levels levels = BatchPlan::common_levels(all);
    const std::size_t rank = max_rank(given.values);
    const bool any = is_batched("indices");
    if (!any && !given.are_adjacent) throw CannotBatch{node_.name + " moves dimensions to the front"};
    if (any && !self.levels.empty() && !is_in_front) {
      throw CannotBatch{node_.name + " takes other elements from each sample"};
    }
    // Of the dimensions of the batch all, or each where the others are.
    Argument::List places;
    for (const LevelNumber level : self.levels) {
      places.items.push_back(any ? Argument(plan_.align(node_, positions(level, self), levels, rank))
                                 : Argument());
    }
    for (const Argument& item : args_.find("indices")->get_if<Argument::List>()->items) {
      const auto* id = item.get_if<NodeId>();
      places.items.push_back(id == nullptr ? item : plan_.align(node_, plan_.value(*id), levels, rank));
    }
    args_.set("self", self.tensor);
    args_.set("indices", std::move(places));
    if (is_in_front || !any) return finish(levels);
    Shape shape = shape_of(plan_.meta_of_all(levels, node_.meta));
    if (given.leading + levels.size() > shape.size())
      throw CannotBatch{node_.name + " gets too few dimensions"};
    std::rotate(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(levels.size()),
                shape.begin() + static_cast<std::ptrdiff_t>(levels.size() + given.leading));
    const NodeId found =
        plan_.emit(node_, call(node_.target, args_), with_shape(node_.meta, std::move(shape)));
    finish(plan_.emit(
        node_,
        {"aten.movedim.intlist", {found, range(given.leading, levels.size()), range(0, levels.size())}},
        levels, node_.meta));
  }

  // 0, 1, 2, ... along the level.
  Batched positions(LevelNumber level, const Batched& like) {
    Meta meta;
    meta.type = "Tensor";
    meta.dtype = "int64";
    meta.device = like.sample.device;
    meta.shape.emplace();
    Kwargs kwargs;
    if (meta.device) kwargs.emplace_back("device", Argument::Device{*meta.device});
    return plan_.emit(node_, {"aten.arange.default", {plan_.size_of(level)}, std::move(kwargs)}, {level},
                      meta);
  }

  // --- products ---

  Batched outer() {
    return steps_.elementwise("aten.mul.Tensor", {steps_.unsqueezed(first(), 1), second()}, node_.meta);
  }

  void add_matmul() {
    for (const std::string_view factor : {"beta", "alpha"}) {
      if (args_.integer(factor) != 1) throw CannotBatch{node_.name + " has factors"};
    }
    const Batched product = steps_.matmul(second(), tensor(name_at(2)), node_.meta);
    finish(steps_.elementwise("aten.add.Tensor", {product, first()}, node_.meta));
  }

  void linear() {
    if (!is_batched("weight") && !is_batched("bias")) return leading();
    const Batched product = steps_.matmul(first(), steps_.transposed(second()), node_.meta);
    if (args_.find("bias") == nullptr) return finish(product);
    finish(steps_.elementwise("aten.add.Tensor", {product, tensor("bias")}, node_.meta));
  }

  void normalize() {
    const bool has_own_weight = is_batched("weight");
    if (!has_own_weight && !is_batched("bias")) return leading();
    const Argument* bias = args_.find("bias");
    std::vector<std::pair<const char*, Batched>> after;
    if (has_own_weight) after.emplace_back("aten.mul.Tensor", tensor("weight"));
    if (bias != nullptr) after.emplace_back("aten.add.Tensor", tensor("bias"));
    if (has_own_weight) args_.set("weight", Argument());
    if (bias != nullptr) args_.set("bias", Argument());
    Batched value = first();
    args_.set(name_at(0), value.tensor);
    value = plan_.emit(node_, call(node_.target, args_), value.levels, node_.meta);
    for (const auto& [target, other] : after) value = steps_.elementwise(target, {value, other}, node_.meta);
    finish(std::move(value));
  }

  // --- losses ---

  static constexpr std::int64_t kNone = 0, kMean = 1;  // at::Reduction

  void loss() {
    const auto reduction = args_.integer("reduction");
    if (!reduction) throw CannotBatch{"reduction is not known"};
    const std::vector<Batched> values = tensors();
    if (common_type(values)) throw CannotBatch{node_.name + " would have another dtype"};
    if (*reduction == kNone) return equal();
    const Levels levels = BatchPlan::common_levels(values);
    Meta each = with_shape(node_.meta, broadcast_shape(values));
    replace_tensors(
        [&](const Batched& value) { return plan_.spread(node_, value, levels, each.shape->size()); });
    args_.set("reduction", kNone);
    const Batched all = plan_.emit(node_, call(node_.target, args_), levels, std::move(each));
    finish(steps_.reduced(*reduction == kMean ? "aten.mean.dim" : "aten.sum.dim_IntList", all, node_.meta));
  }

  // Rows of all samples are rows of one call; the mean is over those that count.
  void cross_entropy() {
    const auto reduction = args_.integer("reduction");
    const auto ignored = args_.integer("ignore_index");
    const std::size_t rank = second().rank();
    if (!reduction || !ignored) throw CannotBatch{"reduction or ignore_index is not known"};
    if (args_.find("weight") != nullptr || rank > 1 || first().rank() != rank + 1) {
      throw CannotBatch{"there is no rule for " + node_.name + " with weights, or over several dimensions"};
    }
    const Levels levels = BatchPlan::common_levels({first(), second()});
    const Batched input = spread_to(levels, first());
    const Batched target = spread_to(levels, second());
    args_.set("self", rows(input, levels.size() + rank));
    args_.set("target", rows(target, levels.size() + rank));
    args_.set("reduction", kNone);
    Meta each = with_shape(node_.meta, target.shape());
    Argument::List sizes = plan_.sizes_of(levels);
    sizes.items.resize(levels.size() + rank, -1);
    Meta flat = with_shape(each, {product(shape_of(plan_.meta_of_all(levels, each)))});
    const NodeId losses = plan_.emit(node_, call(node_.target, args_), std::move(flat));
    Batched all = plan_.emit(node_, {"aten.view.default", {losses, std::move(sizes)}}, levels, each);
    if (*reduction == kNone) return finish(std::move(all));
    all = steps_.reduced("aten.sum.dim_IntList", all, node_.meta);
    if (*reduction != kMean) return finish(std::move(all));
    each.dtype = "bool";
    const Batched counts = steps_.elementwise("aten.ne.Scalar", {target}, each, {*ignored});
    Meta of_count = node_.meta;
    of_count.dtype = "int64";
    const Batched count = steps_.reduced("aten.sum.dim_IntList", counts, std::move(of_count));
    finish(steps_.elementwise("aten.div.Tensor", {all, count}, node_.meta));
  }
  Batched spread_to(const Levels& levels, const Batched& value) {
    return {plan_.spread(node_, value, levels, value.rank()), levels, value.sample};
  }
  // Its first dimensions as one.
  NodeId rows(const Batched& value, std::size_t dimensions) {
    if (dimensions < 2) return value.tensor;
    Meta meta = plan_.meta_of_all(value.levels, value.sample);
    Shape shape = shape_of(meta);
    const auto end = shape.begin() + static_cast<std::ptrdiff_t>(dimensions);
    const Meta::Dim size = product({shape.begin(), end});
    shape.erase(shape.begin() + 1, end);
    shape.front() = size;
    const auto last = static_cast<std::int64_t>(dimensions) - 1;
    return plan_.emit(node_, {"aten.flatten.using_ints", {value.tensor, 0, last}},
                      with_shape(std::move(meta), std::move(shape)));
  }

  const Node& node_;
  const OperatorInfo& info_;
  const BatchingRule rule_;
  Semantics& semantics_;
  BatchPlan& plan_;
  BatchSteps steps_;
  NamedArguments args_;
};

}  // namespace

void batch_operator(const Node& node, const OperatorInfo& info, Semantics& semantics, BatchPlan& plan) {
  OperatorCall(node, info, semantics, plan).run();
}

}  // namespace fxtrace
