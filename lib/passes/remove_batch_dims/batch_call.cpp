#include "passes/remove_batch_dims/batch_call.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "analysis/node_arguments.h"
#include "opinfo/rules/shape_helpers.h"

namespace fxtrace::internal {
namespace {

// Returns the dimension counted from the end; -1 is the last.
Shape::iterator from_end(Shape& shape, std::int64_t dim) { return shape.end() + dim; }

}  // namespace

Meta with_shape(Meta meta, Shape shape) {
  meta.shape = std::move(shape);
  return meta;
}

Argument::List range(std::size_t from, std::size_t count) {
  Argument::List numbers;
  for (std::size_t i = 0; i < count; ++i) numbers.items.emplace_back(static_cast<std::int64_t>(from + i));
  return numbers;
}

std::size_t max_rank(const std::vector<Batched>& values) {
  std::size_t rank = 0;
  for (const Batched& value : values) rank = std::max(rank, value.rank());
  return rank;
}

Meta::Dim product(const Shape& shape) {
  SymInt size = 1;
  for (const Meta::Dim& dim : shape) {
    if (dim.size() == nullptr) throw CannotBatch{"a size is not known"};
    size = size * *dim.size();
  }
  return size;
}

Shape broadcast_shape(const std::vector<Batched>& values) {
  Shape result(max_rank(values), Meta::Dim(1));
  for (const Batched& value : values) {
    auto place = result.end() - static_cast<std::ptrdiff_t>(value.rank());
    for (const Meta::Dim& dim : value.shape()) {
      if (place->number() != 1 && dim.number() != 1 && *place != dim) {
        throw CannotBatch{"unknown sizes are broadcast"};
      }
      if (place->number() == 1) *place = dim;
      ++place;
    }
  }
  return result;
}

Batched BatchSteps::unsqueezed(const Batched& value, std::size_t dim) {
  Shape shape = value.shape();
  if (dim > shape.size()) throw CannotBatch{node_.name + " gets a tensor with too few dimensions"};
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(dim), Meta::Dim(1));
  const auto at = static_cast<std::int64_t>(value.levels.size() + dim);
  return plan_.emit(node_, {"aten.unsqueeze.default", {value.tensor, at}}, value.levels,
                    with_shape(value.sample, std::move(shape)));
}

Batched BatchSteps::transposed(const Batched& value) {
  if (value.rank() < 2) throw CannotBatch{node_.name + " gets a tensor with too few dimensions"};
  Shape shape = value.shape();
  std::iter_swap(from_end(shape, -2), from_end(shape, -1));
  return plan_.emit(node_, {"aten.transpose.int", {value.tensor, -2, -1}}, value.levels,
                    with_shape(value.sample, std::move(shape)));
}

Batched BatchSteps::flattened(const Batched& value) {
  const auto from = static_cast<std::int64_t>(value.levels.size());
  return plan_.emit(node_, {"aten.flatten.using_ints", {value.tensor, from, -1}}, value.levels,
                    with_shape(value.sample, {product(value.shape())}));
}

NodeId BatchSteps::rows(const Batched& value, std::size_t dimensions) {
  if (dimensions < 2) return value.tensor;
  Meta meta = plan_.meta_of_all(value.levels, value.sample);
  Shape shape = shape_of(meta);
  if (dimensions > shape.size()) throw CannotBatch{node_.name + " gets a tensor with too few dimensions"};
  const auto end = shape.begin() + static_cast<std::ptrdiff_t>(dimensions);
  const Meta::Dim size = product({shape.begin(), end});
  shape.erase(shape.begin() + 1, end);
  shape.front() = size;
  const auto last = static_cast<std::int64_t>(dimensions) - 1;
  return plan_.emit(node_, {"aten.flatten.using_ints", {value.tensor, 0, last}},
                    with_shape(std::move(meta), std::move(shape)));
}

Meta BatchSteps::joined_meta(const Levels& levels, const Meta& sample, std::size_t dim) const {
  Shape shape = shape_of(sample);
  if (dim >= shape.size()) throw CannotBatch{node_.name + " returns a tensor with too few dimensions"};
  Shape factors = {shape[dim]};
  for (const LevelNumber level : levels) factors.emplace_back(plan_.extent_of(level));
  shape[dim] = product(factors);
  return with_shape(sample, std::move(shape));
}

Batched BatchSteps::parted(NodeId joined, const Levels& levels, const Meta& sample, std::size_t dim) {
  if (levels.empty()) return {joined, levels, sample};
  Argument::List sizes = plan_.sizes_of(levels);
  sizes.items.emplace_back(-1);
  Shape shape = shape_of(sample);
  insert_extents(shape, levels, dim);
  const NodeId parted =
      plan_.emit(node_, {"aten.unflatten.int", {joined, static_cast<std::int64_t>(dim), std::move(sizes)}},
                 with_shape(sample, std::move(shape)));
  if (dim == 0) return {parted, levels, sample};
  return plan_.emit(node_,
                    {"aten.movedim.intlist", {parted, range(dim, levels.size()), range(0, levels.size())}},
                    levels, sample);
}

void BatchSteps::insert_extents(Shape& shape, const Levels& levels, std::size_t dim) const {
  for (std::size_t i = 0; i < levels.size(); ++i) {
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(dim + i), plan_.extent_of(levels[i]));
  }
}

Batched BatchSteps::elementwise(std::string target, const std::vector<Batched>& values, Meta sample,
                                std::vector<Argument> more) {
  const Levels levels = BatchPlan::common_levels(values);
  const std::size_t rank = max_rank(values);
  std::vector<Argument> args;
  for (const Batched& value : values) args.emplace_back(plan_.align(node_, value, levels, rank));
  std::ranges::move(more, std::back_inserter(args));
  return plan_.emit(node_, {std::move(target), std::move(args)}, levels, std::move(sample));
}

Batched BatchSteps::reduced(std::string target, const Batched& value, Meta sample) {
  if (value.rank() == 0) return value;
  return plan_.emit(node_, {std::move(target), {value.tensor, range(value.levels.size(), value.rank())}},
                    value.levels, std::move(sample));
}

Batched BatchSteps::dot(const Batched& a, const Batched& b, Meta sample) {
  const Dtype dtype = sample.dtype;
  if (!dtype || sum_dtype(dtype) != dtype) throw CannotBatch{"a sum has another dtype than " + node_.name};
  const Batched product = elementwise("aten.mul.Tensor", {a, b}, with_shape(sample, a.shape()));
  return reduced("aten.sum.dim_IntList", product, std::move(sample));
}

// Like torch's rules for mm, mv and bmm: a matrix that is the same for all samples is not expanded.
Batched BatchSteps::matmul(const Batched& a, const Batched& b, Meta sample) {
  if (a.rank() == 1 && b.rank() == 1) return dot(a, b, std::move(sample));
  if (a.rank() > 1 && b.rank() > 1) return elementwise("aten.matmul.default", {a, b}, std::move(sample));
  // One operand is a vector.  A plain operand is the same for all samples and has no batch of its own.
  const auto is_plain = [](const Batched& value) { return value.levels.empty() && value.rank() <= 2; };
  if (is_plain(a) && a.rank() == 2) return plain_matmul(b, transposed(a), std::move(sample));
  if (is_plain(b)) return plain_matmul(a, b, std::move(sample));
  const std::int64_t dim = a.rank() == 1 ? -2 : -1;
  Shape shape = shape_of(sample);
  if (shape.empty() || a.rank() == 0 || b.rank() == 0)
    throw CannotBatch{node_.name + " gets a tensor with too few dimensions"};
  shape.insert(from_end(shape, dim + 1), Meta::Dim(1));
  const Batched product = elementwise(
      "aten.matmul.default", {a.rank() == 1 ? unsqueezed(a, 0) : a, b.rank() == 1 ? unsqueezed(b, 1) : b},
      with_shape(sample, std::move(shape)));
  return plan_.emit(node_, {"aten.squeeze.dim", {product.tensor, dim}}, product.levels, std::move(sample));
}

// Multiplies, along its last dimension, `a` by a `b` that is the same for all samples.
Batched BatchSteps::plain_matmul(const Batched& a, const Batched& b, Meta sample) {
  return plan_.emit(node_, {"aten.matmul.default", {a.tensor, b.tensor}}, a.levels, std::move(sample));
}

NamedArguments::NamedArguments(const Node& node, const OperatorEntry& op) : NamedArguments(op) {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (const Argument* given = NodeArguments(node, op).find_argument(i)) values_[i] = *given;
  }
}

std::size_t NamedArguments::place(std::string_view name) const {
  return op_->schema.find_argument(name).value_or(values_.size());
}

const Argument* NamedArguments::find_argument(std::string_view name) const {
  const std::size_t i = place(name);
  if (i == values_.size() || !values_[i] || values_[i]->is<Argument::None>()) return nullptr;
  return &*values_[i];
}

std::optional<std::int64_t> NamedArguments::integer(std::string_view name) const {
  const std::size_t i = place(name);
  if (i == values_.size()) return std::nullopt;
  const auto value = values_[i] ? values_[i] : plain_argument(op_->defaults[i]);
  const auto* number = value ? value->get_if<std::int64_t>() : nullptr;
  return number == nullptr ? std::nullopt : std::optional(*number);
}

void NamedArguments::set(std::string_view name, Argument value) {
  values_.at(place(name)) = std::move(value);
}

void NamedArguments::copy(const NamedArguments& other) {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const std::size_t from = other.place(op_->schema.arguments[i].name);
    if (from < other.values_.size()) values_[i] = other.values_[from];
  }
}

std::size_t NamedArguments::positional() const {
  std::size_t count = 0;
  while (count < values_.size() && values_[count] && !op_->schema.arguments[count].keyword_only) ++count;
  return count;
}

std::vector<Argument> NamedArguments::args() const {
  std::vector<Argument> args;
  for (std::size_t i = 0; i < positional(); ++i) args.push_back(*values_[i]);
  return args;
}

Kwargs NamedArguments::kwargs() const {
  Kwargs kwargs;
  for (std::size_t i = positional(); i < values_.size(); ++i) {
    if (values_[i]) kwargs.emplace_back(op_->schema.arguments[i].name, *values_[i]);
  }
  return kwargs;
}

Batched BatchCall::tensor(std::string_view name) const {
  const Argument* given = args_.find_argument(name);
  const auto* id = given == nullptr ? nullptr : given->get_if<NodeId>();
  if (id == nullptr) throw CannotBatch{std::string(name) + " is not a tensor"};
  return plan_.value(*id);
}

bool BatchCall::is_batched(std::string_view name) const {
  const Argument* given = args_.find_argument(name);
  bool any = false;
  if (given != nullptr) {
    for_each_reference(*given, [&](NodeId id) { any = any || plan_.is_batched(id); });
  }
  return any;
}

Batched BatchCall::only() const {
  const std::string_view name = rule_.argument.empty() ? name_at(0) : rule_.argument;
  for (const SchemaArgument& argument : info_.schema.arguments) {
    if (argument.name != name && is_batched(argument.name)) {
      throw CannotBatch{argument.name + " of " + node_.name + " is batched"};
    }
  }
  return tensor(name);
}

std::vector<Batched> BatchCall::tensors() {
  std::vector<Batched> all;
  args_.for_each_tensor([&](const std::string&, const Argument& argument) {
    for_each_reference(argument, [&](NodeId id) { all.push_back(plan_.value(id)); });
  });
  return all;
}

void BatchCall::finish(Levels levels) {
  const auto gives_tensor = [](const SchemaType& type) { return type.innermost().name == "Tensor"; };
  if (!std::ranges::any_of(info_.schema.results, gives_tensor)) levels.clear();
  finish(plan_.emit(node_, call(node_.target, args_), std::move(levels), node_.meta));
}

}  // namespace fxtrace::internal
