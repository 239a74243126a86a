// torchvision's operators on boxes and regions of images.
#include "opinfo/operator_row.h"
#include "opinfo/rules/shape_helpers.h"

namespace fxtrace::internal {
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
