// Padding and interpolation, and the sampling of images at the places of a grid.
#include <cmath>
#include <optional>

#include "opinfo/operator_row.h"
#include "opinfo/rules/cost_helpers.h"
#include "opinfo/rules/shape_helpers.h"

namespace fxtrace::internal {
namespace {

using namespace traits;  // NOLINT(google-build-using-namespace): the rows are written with them

// ---- Padding: pairs (before, after), the last dimension first. ----

enum class Filling { kConstant, kReflection, kReplication, kCircle };

Filling filling_of(const RuleArguments& args) {
  const std::string_view name = without_namespace(args.name());
  const std::string_view mode = args.is_given("mode") && name == "pad" ? args.text("mode") : name;
  if (mode.starts_with("reflect")) return Filling::kReflection;
  if (mode.starts_with("replica")) return Filling::kReplication;
  return mode.ends_with("circular") ? Filling::kCircle : Filling::kConstant;
}

Results pad(const RuleArguments& args) {
  TensorInfo result = args.tensor("self");
  const Sizes pairs = args.sizes(args.is_given("pad") ? "pad" : "padding");
  const Filling filling = filling_of(args);
  if (filling != Filling::kConstant && result.sizes.size() > pairs.size() / 2) {
    require_image(args, result, pairs.size() / 2);
  }
  if (pairs.size() % 2 != 0 || pairs.size() / 2 > result.sizes.size()) throw CannotTell{};
  for (std::size_t i = 0; i < pairs.size() / 2; ++i) {
    SymInt& size = result.sizes[result.sizes.size() - 1 - i];
    for (const SymInt* more : {&pairs[2 * i], &pairs[2 * i + 1]}) {
      if (filling == Filling::kReflection) {
        require(args.dimensions, Relation::kLess, *more, size, "reflection padding");
      } else if (filling == Filling::kCircle) {
        require(args.dimensions, Relation::kLessEqual, *more, size, "circular padding");
      }
    }
    size = size + pairs[2 * i] + pairs[2 * i + 1];
  }
  return make(std::move(result));
}

// ---- Interpolation ----

// Returns nothing for an unknown number.
std::optional<double> plain_real(const AbstractValue& value) {
  if (const auto* number = value.get_if<double>()) return *number;
  const SymInt* integer = value.integer();
  if (integer == nullptr || !integer->is_number()) return std::nullopt;
  return static_cast<double>(*integer->number());
}

std::vector<std::optional<double>> factors(const AbstractValue& value, std::size_t count) {
  if (value.sequence() == nullptr) return std::vector<std::optional<double>>(count, plain_real(value));
  std::vector<std::optional<double>> result;
  for (const AbstractValue& element : *value.sequence()) result.push_back(plain_real(element));
  if (result.size() != count) throw CannotTell{};
  return result;
}

// Returns floor(size * factor), which LibTorch computes as float64.  For an expression, the factor must be a
// fraction whose denominator is a power of two, such as 2, .5 and 1.25: products with others are inexact, and
// the result is a fresh dimension.
SymInt scaled(const SymInt& size, std::optional<double> factor, ShapeEnv& dimensions) {
  if (!factor) return dimensions.fresh();
  constexpr double kLimit = 1 << 20;
  if (!(*factor > 0 && *factor <= kLimit)) throw CannotTell{};
  if (const std::optional<std::int64_t> number = size.number()) {
    constexpr double kMaxSize = 9e18;
    const double product = static_cast<double>(*number) * *factor;
    if (!(product < kMaxSize)) throw CannotTell{};
    return static_cast<std::int64_t>(product);
  }
  constexpr std::int64_t kMaxBelow = std::int64_t{1} << 40;
  for (std::int64_t below = 1; below <= kMaxBelow && static_cast<double>(below) * *factor <= kLimit;
       below *= 2) {
    const double above = static_cast<double>(below) * *factor;
    if (above == std::floor(above)) return floordiv(size * static_cast<std::int64_t>(above), below);
  }
  return dimensions.fresh();
}

Results interpolate_to(const RuleArguments& args, std::string_view size_name, std::string_view factor_name) {
  TensorInfo result = first_tensor(args);
  // upsample_nearest2d
  const std::string_view name = args.name();
  const std::size_t digit = name.find_first_of("123");
  if (digit != std::string_view::npos && name.substr(digit + 1).starts_with('d')) {
    require_rank(result, {name[digit] - '0' + 2}, first_argument(args));
    require_image(args, result, result.sizes.size() - 2);
  }
  if (result.dim() < 3 || result.dim() > 5) throw CannotTell{};
  const std::size_t count = result.sizes.size() - 2;
  if (args.is_given(size_name)) {
    result = with_last(std::move(result), spread(args.sizes(size_name), count));
  } else {
    const std::vector<std::optional<double>> scales = factors(args.value(factor_name), count);
    for (std::size_t i = 0; i < count; ++i)
      result.sizes[2 + i] = scaled(result.sizes[2 + i], scales[i], args.dimensions);
  }
  for (std::size_t i = 0; i < count; ++i)
    require(args.dimensions, Relation::kGreater, result.sizes[2 + i], 0, "a size of the result");
  return make(std::move(result));
}

Results upsample(const RuleArguments& args) { return interpolate_to(args, "output_size", "scale_factors"); }

// torch.nn.functional.interpolate, as archives of old versions call it.
Results interpolate(const RuleArguments& args) { return interpolate_to(args, "size", "scale_factor"); }

// (batch, channels, ...) sampled at (batch, ..., 2 or 3).
Results grid_sampler(const RuleArguments& args) {
  const TensorInfo &input = first_tensor(args), &grid = args.tensor("grid");
  require_rank(input, {4, 5}, first_argument(args));
  require_rank(grid, {input.dim()}, "grid");
  require_same_dtype(input.dtype, grid.dtype, {first_argument(args), "grid"});
  require(args.dimensions, Relation::kEqual, grid.sizes.back(), input.dim() - 2,
          "size of grid in dimension -1");
  require_equal_size(args.dimensions, grid.sizes[0], input.sizes[0], {"grid", first_argument(args)}, 0);
  require_image(args, input, input.sizes.size() - 2);
  return make(concatenated(slice_of(input.sizes, 0, 2), slice_of(grid.sizes, 1, grid.sizes.size() - 1)),
              input.dtype);
}

Results affine_grid_generator(const RuleArguments& args) {
  const Sizes size = args.sizes("size");
  if (size.size() != 4 && size.size() != 5) throw CannotTell{};
  Sizes sizes = {size[0]};
  sizes.insert(sizes.end(), size.begin() + 2, size.end());
  sizes.emplace_back(static_cast<std::int64_t>(size.size()) - 2);
  return make(std::move(sizes), args.tensor("theta").dtype);
}

// Modes other than "constant" pad one, two or three dimensions of a tensor with one or two more.
void check_pad(const RuleArguments& args) {
  const TensorInfo* self = find_tensor(args, "self");
  if (self == nullptr || !args.is_given("mode")) return;
  const auto sizes = static_cast<std::int64_t>(args.sizes("pad").size());
  if (args.text("mode") == "constant") {
    if (sizes > 2 * self->dim())
      throw Raises{"pad has length " + std::to_string(sizes) + ", expected at most " +
                   std::to_string(2 * self->dim())};
    return;
  }
  const std::int64_t dims = sizes / 2;
  require_rank(*self, {dims + 1, dims + 2}, "self");
}

// ---- Multiply-accumulates ----

// ATen/native/AffineGridGenerator.cpp: the product of theta with the coordinates of each place, and 1.
SymInt affine_grid(const RuleArguments& args, const Results& results) {
  return product(first_result(results).sizes) * from_back(operand(args, "theta").sizes, 1);
}

constexpr OperatorRow kImagesRows[] = {
    {"__interpolate __upsample __upsample_bilinear __upsample_nearest",
     {.traits = kNoMacs, .shape = interpolate}},
    {"_grid_sampler_2d_cpu_fallback cudnn_grid_sampler grid_sampler_2d grid_sampler_3d",
     {.traits = kNoMacs, .shape = grid_sampler}},
    {"_pad_circular _pad_enum reflection_pad1d reflection_pad2d reflection_pad3d "
     "replication_pad1d replication_pad2d replication_pad3d",
     {.traits = kNoMacs, .shape = pad}},
    {"_upsample_bicubic2d_aa _upsample_bilinear2d_aa _upsample_nearest_exact1d "
     "_upsample_nearest_exact2d _upsample_nearest_exact3d upsample_bicubic2d "
     "upsample_bilinear2d upsample_linear1d upsample_nearest1d upsample_nearest2d "
     "upsample_nearest3d upsample_trilinear3d",
     {.traits = kNoMacs | kForFloats, .shape = upsample, .strides = StrideRule::kImages}},
    {"_upsample_lanczos2d_aa torchvision::_interpolate_bicubic2d_aa "
     "torchvision::_interpolate_bilinear2d_aa",
     {.traits = kNoMacs, .shape = upsample}},
    {"affine_grid_generator", {.shape = affine_grid_generator, .macs = affine_grid}},
    {"constant_pad_nd", {.traits = kNoMacs | kKeepsRank, .shape = pad, .batch = kLeading}},
    {"cudnn_affine_grid_generator", {.macs = affine_grid}},
    {"grid_sampler", {.traits = kNoMacs | kForFloats, .shape = grid_sampler}},
    {"pad",
     {.traits = kNoMacs | kKeepsRank | kLikeFirst,
      .shape = pad,
      .check = check_pad,
      .batch = {.rule = &BatchRules::leading, .fixed = {"mode"}, .may_write = true}}},
    {"upsample_bicubic2d.vec upsample_bilinear2d.vec upsample_nearest2d.vec",
     {.batch = {.rule = &BatchRules::pool, .spatial = 2}}},
    {"upsample_linear1d.vec upsample_nearest1d.vec", {.batch = {.rule = &BatchRules::pool, .spatial = 1}}},
    {"upsample_nearest3d.vec upsample_trilinear3d.vec", {.batch = {.rule = &BatchRules::pool, .spatial = 3}}},
};

}  // namespace

OperatorRows images_rows() { return kImagesRows; }

// torchvision's operators on boxes and regions of images.

namespace {

using namespace traits;  // NOLINT(google-build-using-namespace): the rows are written with them

Results nms(const RuleArguments& args) {
  const TensorInfo& boxes = args.tensor("dets");
  if (boxes.dim() != 2) throw CannotTell{};
  return make({fresh_up_to(boxes.sizes[0], args.dimensions)}, ScalarType::kInt64);
}

// (boxes, channels, height, width).  A second result has the same sizes and holds indices.
Results pool_boxes(const RuleArguments& args, bool channels_by_place) {
  const TensorInfo &input = args.tensor("input"), &boxes = args.tensor("rois");
  if (input.dim() != 4 || boxes.dim() != 2) throw CannotTell{};
  const SymInt height = args.size("pooled_height"), width = args.size("pooled_width");
  const SymInt channels =
      channels_by_place ? quotient({input.sizes[1]}, {height, width}, args.dimensions) : input.sizes[1];
  TensorInfo result;
  result.sizes = {boxes.sizes[0], channels, height, width};
  result.dtype = input.dtype;
  std::vector<TensorInfo> results(args.schema().results.size(), result);
  for (std::size_t i = 1; i < results.size(); ++i) results[i].dtype = ScalarType::kInt32;
  return make_many(std::move(results));
}

Results roi_pool(const RuleArguments& args) { return pool_boxes(args, false); }

Results ps_roi_pool(const RuleArguments& args) { return pool_boxes(args, true); }

constexpr OperatorRow kBoxesRows[] = {
    {"torchvision::box_iou_rotated", {.traits = kNoMacs}},
    {"torchvision::nms torchvision::qnms", {.traits = kNoMacs, .shape = nms}},
    {"torchvision::ps_roi_align torchvision::ps_roi_pool", {.traits = kNoMacs, .shape = ps_roi_pool}},
    {"torchvision::roi_align torchvision::roi_pool", {.traits = kNoMacs, .shape = roi_pool}},
};

}  // namespace

OperatorRows boxes_rows() { return kBoxesRows; }

}  // namespace fxtrace::internal
