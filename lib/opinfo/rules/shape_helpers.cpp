#include "opinfo/rules/shape_helpers.h"

#include <algorithm>

namespace fxtrace::internal {
namespace {

// "2 dimensions"
std::string rank_text(std::size_t rank) {
  return std::to_string(rank) + (rank == 1 ? " dimension" : " dimensions");
}

// "self and source"
std::string text_of(NamePair names) { return std::string(names.first) + " and " + std::string(names.second); }

std::string sizes_text(NamePair names, std::int64_t dim) {
  return "sizes of " + text_of(names) + " in dimension " + std::to_string(dim);
}

// "expected 4", "expected > 0"
std::string expected_text(Relation relation, const SymInt& right) {
  const std::string sign = relation == Relation::kEqual ? "" : std::string(to_string(relation)) + " ";
  return "expected " + sign + right.text();
}

[[noreturn]] void raise_different(std::string_view what, const SymInt& left, const SymInt& right,
                                  std::string_view expected) {
  throw Raises{std::string(what) + " are " + left.text() + " and " + right.text() + ", expected " +
               std::string(expected)};
}

}  // namespace

Results make(Sizes sizes, Dtype dtype) { return make(tensor_of(std::move(sizes), dtype)); }

Results make(TensorInfo info) {
  Results results;
  results.push_back({std::move(info)});
  return results;
}

Results make_many(std::vector<TensorInfo> infos) {
  Results results;
  for (TensorInfo& info : infos) results.push_back({std::move(info)});
  return results;
}

Results make_list(std::vector<TensorInfo> infos) {
  Results results;
  results.push_back({make_many(std::move(infos))});
  return results;
}

const TensorInfo& first_of(const Results& results) {
  const TensorInfo* info = nth(results, 0).tensor();
  if (info == nullptr) throw CannotTell{};
  return *info;
}

Results same_as_first(const RuleArguments& args) { return make(args.tensor(first_argument(args))); }

std::string_view first_argument(const RuleArguments& args) {
  if (args.schema().arguments.empty()) throw CannotTell{};
  return args.schema().arguments[0].name;
}

std::string_view without_namespace(std::string_view name) {
  const std::size_t colons = name.find("::");
  return colons == std::string_view::npos ? name : name.substr(colons + 2);
}

std::int64_t normalize_dim(std::int64_t dim, std::int64_t rank) {
  const std::int64_t limit = std::max<std::int64_t>(rank, 1);
  if (dim < -limit || dim >= limit) {
    throw Raises{"dimension " + std::to_string(dim) + " is out of range, expected " + std::to_string(-limit) +
                 " to " + std::to_string(limit - 1)};
  }
  return dim < 0 ? dim + limit : dim;
}

std::vector<std::int64_t> normalize_dims(std::vector<std::int64_t> dims, std::int64_t rank) {
  for (std::int64_t& dim : dims) dim = normalize_dim(dim, rank);
  return dims;
}

std::ptrdiff_t signed_index(std::size_t index) { return static_cast<std::ptrdiff_t>(index); }

std::size_t dim_index(std::int64_t dim, const TensorInfo& info) {
  if (info.sizes.empty()) throw CannotTell{};
  return static_cast<std::size_t>(normalize_dim(dim, info.dim()));
}

bool decided(const ShapeEnv& dimensions, Relation relation, const SymInt& left, const SymInt& right) {
  const std::optional<bool> answer = dimensions.decide(relation, left, right);
  if (!answer) throw CannotTell{};
  return *answer;
}

void require(const ShapeEnv& dimensions, Relation relation, const SymInt& left, const SymInt& right,
             std::string_view what) {
  if (dimensions.decide(relation, left, right) != false) return;
  throw Raises{std::string(what) + " is " + left.text() + ", " + expected_text(relation, right)};
}

void require_equal(const ShapeEnv& dimensions, const SymInt& left, const SymInt& right,
                   std::string_view what) {
  if (dimensions.decide(Relation::kEqual, left, right) == false) raise_different(what, left, right, "equal");
}

void require_equal(const ShapeEnv& dimensions, const SymInt& left, const SymInt& right, std::string_view what,
                   NamePair names) {
  if (dimensions.decide(Relation::kEqual, left, right) != false) return;
  raise_different(std::string(what) + " of " + text_of(names), left, right, "equal");
}

void require_equal_size(const ShapeEnv& dimensions, const SymInt& left, const SymInt& right, NamePair names,
                        std::size_t dim) {
  if (dimensions.decide(Relation::kEqual, left, right) != false) return;
  raise_different(sizes_text(names, signed_index(dim)), left, right, "equal");
}

void require_multiple(const ShapeEnv& dimensions, const SymInt& size, const SymInt& divisor,
                      std::string_view what) {
  if (dimensions.decide(Relation::kEqual, mod(size, divisor), 0) != false) return;
  throw Raises{std::string(what) + " is " + size.text() + ", expected a multiple of " + divisor.text()};
}

void require_rank(const TensorInfo& info, std::initializer_list<std::int64_t> ranks, std::string_view what) {
  if (std::ranges::find(ranks, info.dim()) != ranks.end()) return;
  std::string expected;
  for (const std::int64_t rank : ranks) expected += (expected.empty() ? "" : " or ") + std::to_string(rank);
  throw Raises{std::string(what) + " has " + rank_text(info.sizes.size()) + ", expected " + expected};
}

void require_least_rank(const TensorInfo& info, std::int64_t least, std::string_view what) {
  if (info.dim() >= least) return;
  throw Raises{std::string(what) + " has " + rank_text(info.sizes.size()) + ", expected " +
               std::to_string(least) + " or more"};
}

void require_expandable(const ShapeEnv& dimensions, const Sizes& from, const Sizes& to,
                        std::string_view what) {
  if (from.size() > to.size()) {
    throw Raises{std::string(what) + " has " + rank_text(from.size()) + ", expected at most " +
                 std::to_string(to.size())};
  }
  for (std::size_t i = 0; i < from.size(); ++i) {
    const SymInt &small = from[from.size() - 1 - i], &large = to[to.size() - 1 - i];
    if (dimensions.decide(Relation::kNotEqual, small, 1) != true ||
        dimensions.decide(Relation::kEqual, small, large) != false) {
      continue;
    }
    const std::string expected = is_number(large, 1) ? "1" : "1 or " + large.text();
    throw Raises{std::string(what) + " has size " + small.text() + " in dimension " +
                 std::to_string(from.size() - 1 - i) + ", expected " + expected};
  }
}

void require_equal_sizes(const ShapeEnv& dimensions, const Sizes& left, const Sizes& right, NamePair names) {
  if (left.size() != right.size()) {
    throw Raises{text_of(names) + " have " + std::to_string(left.size()) + " and " +
                 std::to_string(right.size()) + " dimensions, expected equally many"};
  }
  for (std::size_t i = 0; i < left.size(); ++i) require_equal_size(dimensions, left[i], right[i], names, i);
}

std::vector<std::int64_t> distinct_dims(std::vector<std::int64_t> dims, std::int64_t rank) {
  dims = normalize_dims(std::move(dims), rank);
  std::vector<bool> seen(static_cast<std::size_t>(std::max<std::int64_t>(rank, 1)));
  for (const std::int64_t dim : dims) {
    if (seen[static_cast<std::size_t>(dim)]) {
      throw Raises{"dimension " + std::to_string(dim) + " is named twice"};
    }
    seen[static_cast<std::size_t>(dim)] = true;
  }
  return dims;
}

Sizes reduced(const TensorInfo& info, std::vector<std::int64_t> dims, bool keep) {
  dims = distinct_dims(std::move(dims), info.dim());
  Sizes sizes;
  for (std::size_t i = 0; i < info.sizes.size(); ++i) {
    const bool stays = !dims.empty() && std::ranges::find(dims, static_cast<std::int64_t>(i)) == dims.end();
    if (stays) {
      sizes.push_back(info.sizes[i]);
    } else if (keep) {
      sizes.emplace_back(1);
    }
  }
  return sizes;
}

Sizes reduced(const RuleArguments& args, const TensorInfo& info) {
  return reduced(info, args.is_given("dim") ? args.numbers("dim") : std::vector<std::int64_t>(),
                 args.is_given("keepdim") && args.flag("keepdim"));
}

void require_dtype(Dtype dtype, bool (*is_right)(ScalarType), std::string_view what,
                   std::string_view expected) {
  if (!dtype || is_right(*dtype)) return;
  throw Raises{std::string(what) + " is " + dtype_name(*dtype) + ", expected " + std::string(expected)};
}

void require_dtype(Dtype dtype, ScalarType expected, std::string_view what) {
  if (!dtype || *dtype == expected) return;
  throw Raises{std::string(what) + " is " + dtype_name(*dtype) + ", expected " + dtype_name(expected)};
}

void require_index(const RuleArguments& args, std::string_view name) {
  if (!args.is_tensor(name)) return;
  const Dtype dtype = args.tensor(name).dtype;
  if (dtype && *dtype != ScalarType::kInt64 && *dtype != ScalarType::kInt32) {
    throw Raises{std::string(name) + " is " + dtype_name(*dtype) + ", expected int64 or int32"};
  }
}

void require_same_dtype(Dtype first, Dtype second, NamePair names) {
  if (!first || !second || *first == *second) return;
  throw Raises{"dtypes of " + text_of(names) + " are " + dtype_name(*first) + " and " + dtype_name(*second) +
               ", expected equal"};
}

SymInt absolute(std::int64_t number) { return number < 0 ? -SymInt(number) : SymInt(number); }

bool is_number(const SymInt& value, std::int64_t number) { return value.number() == number; }

std::int64_t number_of(const SymInt& value) {
  const std::optional<std::int64_t> number = value.number();
  if (!number) throw CannotTell{};
  return *number;
}

Sizes sizes_of(const AbstractValue& list) {
  if (list.sequence() == nullptr) throw CannotTell{};
  Sizes sizes;
  for (const AbstractValue& element : *list.sequence()) {
    if (element.integer() == nullptr) throw CannotTell{};
    sizes.push_back(*element.integer());
  }
  return sizes;
}

SymInt product(std::span<const SymInt> sizes, SymInt number) {
  // Numbers are multiplied separately, which saves a multiplication of an expression for each.
  SymInt expression = 1;
  for (const SymInt& size : sizes) {
    SymInt& factor = size.is_number() ? number : expression;
    factor = factor * size;
  }
  return expression * number;
}

std::optional<SymInt> bytes_of(std::span<const SymInt> sizes, Dtype dtype) try {
  if (!dtype) return std::nullopt;
  const SymInt bytes = product(sizes, item_size(*dtype));
  const std::int64_t packed = elements_in_byte(*dtype);
  return packed == 1 ? bytes : floordiv(bytes + (packed - 1), packed);
} catch (const SymbolicError&) {
  return std::nullopt;
}

Sizes slice_of(const Sizes& sizes, std::size_t from, std::size_t to) {
  if (from > to || to > sizes.size()) throw CannotTell{};
  return {sizes.begin() + static_cast<std::ptrdiff_t>(from), sizes.begin() + static_cast<std::ptrdiff_t>(to)};
}

Sizes concatenated(Sizes first, const Sizes& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

Sizes without_last(const Sizes& sizes, std::size_t count) {
  if (sizes.size() < count) throw CannotTell{};
  return slice_of(sizes, 0, sizes.size() - count);
}

const SymInt& from_back(const Sizes& sizes, std::size_t index) {
  if (sizes.size() < index) throw CannotTell{};
  return sizes[sizes.size() - index];
}

Sizes common_batch(const TensorInfo& a, const TensorInfo& b, std::size_t count, ShapeEnv& dimensions) {
  return broadcast(without_last(a.sizes, count), without_last(b.sizes, count), dimensions);
}

// If torch does not raise, the sizes are equal or one of them is 1.
SymInt broadcast_size(const SymInt& a, const SymInt& b, ShapeEnv& dimensions, NamePair names,
                      std::int64_t dim) {
  if (a == b || is_number(b, 1)) return a;
  if (is_number(a, 1)) return b;
  const bool a_is_no_1 = dimensions.decide(Relation::kNotEqual, a, 1) == true,
             b_is_no_1 = dimensions.decide(Relation::kNotEqual, b, 1) == true;
  if (a_is_no_1 && b_is_no_1 && dimensions.decide(Relation::kEqual, a, b) == false) {
    raise_different(names.first.empty() ? "sizes to be broadcast" : sizes_text(names, dim), a, b,
                    "equal or 1");
  }
  if (a_is_no_1) return a;
  if (b_is_no_1) return b;
  const std::optional<bool> equal = dimensions.decide(Relation::kEqual, a, b);
  if (equal == true) return a;
  // Either size may be 1.  The result is the larger one, unless one of them is 0.
  if (dimensions.decide(Relation::kGreater, a, 0) == true &&
      dimensions.decide(Relation::kGreater, b, 0) == true) {
    return max(a, b);
  }
  return dimensions.fresh();
}

Sizes broadcast(const Sizes& a, const Sizes& b, ShapeEnv& dimensions, NamePair names) {
  if (a.size() < b.size()) return broadcast(b, a, dimensions, {names.second, names.first});
  Sizes result = a;
  const std::size_t offset = a.size() - b.size();
  for (std::size_t i = 0; i < b.size(); ++i) {
    const std::int64_t dim = signed_index(i) - signed_index(b.size());
    result[offset + i] = broadcast_size(a[offset + i], b[i], dimensions, names, dim);
  }
  return result;
}

Sizes broadcast_all(const RuleArguments& args) {
  std::optional<Sizes> sizes;
  std::string names;  // of the tensors so far: "self, tensor1"
  for (const SchemaArgument& argument : args.schema().arguments) {
    if (!args.is_tensor(argument.name)) continue;
    sizes = broadcast(sizes.value_or(Sizes()), args.tensor(argument.name).sizes, args.dimensions,
                      {names, argument.name});
    names += (names.empty() ? "" : ", ") + argument.name;
  }
  if (!sizes) throw CannotTell{};
  return *std::move(sizes);
}

Sizes broadcast_of(const RuleArguments& args, std::initializer_list<std::string_view> names) {
  Sizes sizes;
  std::string before;  // the names of the tensors so far
  for (const std::string_view name : names) {
    if (!args.is_tensor(name)) continue;
    sizes = broadcast(sizes, args.tensor(name).sizes, args.dimensions, {before, name});
    before += (before.empty() ? "" : ", ") + std::string(name);
  }
  return sizes;
}

SymInt same_size(const SymInt& a, const SymInt& b) { return b.is_number() ? b : a; }

SymInt quotient(const Sizes& numerator, const Sizes& denominator, const ShapeEnv& dimensions) {
  Sizes above = numerator, below;
  for (const SymInt& size : denominator) {
    if (is_number(size, 0)) throw CannotTell{};
    const auto found = std::ranges::find(above, size);
    if (found != above.end()) {
      above.erase(found);
    } else {
      below.push_back(size);
    }
  }
  const SymInt divisor = dimensions.simplify(product(below));
  if (is_number(divisor, 0)) throw CannotTell{};
  return dimensions.simplify(floordiv(dimensions.simplify(product(above)), divisor));
}

SymInt fresh_up_to(const SymInt& limit, ShapeEnv& dimensions) {
  return dimensions.fresh({0, dimensions.bounds(limit).high});
}

Sizes spread(Sizes values, std::size_t count) {
  if (values.size() == count) return values;
  if (values.size() != 1) throw CannotTell{};
  return Sizes(count, values[0]);
}

void require_window(const ShapeEnv& dimensions, const Window& window) {
  require(dimensions, Relation::kGreater, window.kernel, 0, "kernel size");
  require(dimensions, Relation::kGreater, window.stride, 0, "stride");
  require(dimensions, Relation::kGreaterEqual, window.padding, 0, "padding");
  require(dimensions, Relation::kGreater, window.dilation, 0, "dilation");
}

SymInt window_count(const SymInt& size, const Window& window, const ShapeEnv& dimensions) {
  const SymInt reach = window.dilation * (window.kernel - 1) + 1;
  SymInt room = size + 2 * window.padding - reach;
  // The last window is limited twice, by where it may end and by where it must start.  Both limits are
  // divided by the stride, and the same one is the smaller for every size.
  if (window.ceil_mode) room = size + min(2 * window.padding - reach + window.stride, window.padding) - 1;
  return dimensions.simplify(floordiv(room, window.stride) + 1);
}

Dtype either(Dtype first, Dtype second) { return first ? first : second; }

Dtype float_dtype(Dtype dtype) {
  if (dtype && is_integral(*dtype)) return kDefaultFloat;
  return dtype;
}

Dtype sum_dtype(Dtype dtype) {
  if (dtype && is_integral(*dtype)) return ScalarType::kInt64;
  return dtype;
}

Dtype real_dtype(Dtype dtype) {
  if (dtype && is_complex(*dtype)) return real_type(*dtype);
  return dtype;
}

Dtype complex_dtype(Dtype dtype) {
  dtype = float_dtype(dtype);
  if (dtype && is_floating(*dtype)) return complex_type(*dtype);
  return dtype;
}

Dtype dtype_or(const RuleArguments& args, std::string_view name, Dtype otherwise) {
  if (!args.is_given(name)) return otherwise;
  const AbstractValue& type = args.value(name);
  const bool is_number = type.integer() != nullptr && type.integer()->is_number();
  return is_number || type.get_if<ScalarType>() != nullptr ? Dtype(args.dtype(name)) : std::nullopt;
}

namespace {

Dtype both(Dtype a, Dtype b) {
  if (!a || !b) return a ? a : b;
  const Dtype result = promote(*a, *b);
  if (!result) throw CannotTell{};
  return result;
}

// Returns the dtype of two groups of values, where the category of the higher group wins (torch.result_type).
Dtype combined(Dtype higher, Dtype lower) {
  if (!higher || !lower) return higher ? higher : lower;
  if (is_complex(*higher)) return higher;
  if (is_floating(*higher)) return is_complex(*lower) ? complex_type(*higher) : higher;
  if (*higher == ScalarType::kBool || is_floating(*lower) || is_complex(*lower)) return both(higher, lower);
  return higher;
}

}  // namespace

Dtype number_dtype(const AbstractValue& number, ValueType::Kind kind) {
  using Kind = ValueType::Kind;
  switch (kind == Kind::kAny ? type_of(number).kind : kind) {
    case Kind::kInt:
      return ScalarType::kInt64;
    case Kind::kFloat:
      return kDefaultFloat;
    case Kind::kBool:
      return ScalarType::kBool;
    case Kind::kComplex:
      return kDefaultComplex;
    default:
      return std::nullopt;
  }
}

Dtype number_dtype(const RuleArguments& args, std::string_view name) {
  const ValueType type = args.type(name);
  return type.lists > 0 ? std::nullopt : number_dtype(args.value(name), type.kind);
}

void Promotion::add(const TensorInfo& tensor) {
  if (!tensor.dtype) {
    unknown_ = true;
    return;
  }
  Dtype& place = tensor.sizes.empty() ? zero_ : dim_;
  place = both(place, tensor.dtype);
}

void Promotion::add_number(const RuleArguments& args, std::string_view name) {
  const Dtype type = number_dtype(args, name);
  unknown_ = unknown_ || !type;
  scalar_ = both(scalar_, type);
}

Dtype Promotion::result() const { return unknown_ ? std::nullopt : combined(dim_, combined(zero_, scalar_)); }

Dtype promoted(const RuleArguments& args, std::initializer_list<std::string_view> names) {
  Promotion promotion;
  for (const std::string_view name : names) {
    if (!args.is_given(name)) continue;
    if (args.is_tensor(name)) {
      promotion.add(args.tensor(name));
    } else {
      promotion.add_number(args, name);
    }
  }
  return promotion.result();
}

Results first_only(const RuleArguments& args, TensorInfo first) {
  Results results(args.schema().results.size());
  if (results.empty()) throw CannotTell{};
  results[0] = {std::move(first)};
  return results;
}

TensorInfo tensor_of(Sizes sizes, Dtype dtype) {
  TensorInfo info;
  info.sizes = std::move(sizes);
  info.dtype = dtype;
  return info;
}

Results like_first(const RuleArguments& args) { return first_only(args, args.tensor(first_argument(args))); }

Sizes with_last(Sizes sizes, SymInt last) {
  if (sizes.empty()) throw CannotTell{};
  sizes.back() = std::move(last);
  return sizes;
}

const TensorInfo& first_tensor(const RuleArguments& args) { return args.tensor(first_argument(args)); }

TensorInfo with_last(TensorInfo info, const Sizes& last) {
  if (info.sizes.size() < last.size()) throw CannotTell{};
  std::copy(last.begin(), last.end(), info.sizes.end() - static_cast<std::ptrdiff_t>(last.size()));
  return info;
}

const TensorInfo* find_tensor(const RuleArguments& args, std::string_view name) {
  return args.is_tensor(name) ? args.value(name).tensor() : nullptr;
}

Sizes each_dim(const RuleArguments& args, std::string_view name, std::size_t count, const SymInt& otherwise) {
  return args.is_given(name) ? spread(args.sizes(name), count) : Sizes(count, otherwise);
}

bool may_be_empty(const ShapeEnv& dimensions, const Sizes& sizes) {
  return std::ranges::any_of(
      sizes, [&](const SymInt& size) { return dimensions.decide(Relation::kEqual, size, 0) != false; });
}

void require_image(const RuleArguments& args, const TensorInfo& image, std::size_t count) {
  for (std::size_t i = image.sizes.size() - count; i < image.sizes.size(); ++i) {
    if (args.dimensions.decide(Relation::kGreater, image.sizes[i], 0) != false) continue;
    throw Raises{std::string(first_argument(args)) + " has size " + image.sizes[i].text() + " in dimension " +
                 std::to_string(i) + ", expected > 0"};
  }
}

}  // namespace fxtrace::internal
