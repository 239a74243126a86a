"""Makes torchvision importable beside a CPU-only torch: call prepare() before `import torchvision`.

PyPI carries only torchvision's CUDA build.  Where its operators cannot be loaded, they are declared by their
schemas: importing torchvision registers fake kernels for them.  That is enough to import, script and save
models.  add_kernels() makes those of detection models run, slowly.
"""

import glob
import importlib.util
import os

_POOLED = "SymInt pooled_height, SymInt pooled_width"
_SIZES = "SymInt batch_size, SymInt channels, SymInt height, SymInt width"
_ROIS = "Tensor rois, float spatial_scale"
_CONVOLUTION = (
    "SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, "
    "SymInt groups, SymInt offset_groups, bool use_mask"
)
_WEIGHTS = "Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias"
_SCHEMAS = [
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "box_iou_rotated(Tensor boxes1, Tensor boxes2) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    f"roi_align(Tensor input, {_ROIS}, {_POOLED}, int sampling_ratio, bool aligned) -> Tensor",
    f"_roi_align_backward(Tensor grad, {_ROIS}, {_POOLED}, {_SIZES}, "
    "int sampling_ratio, bool aligned) -> Tensor",
    f"roi_pool(Tensor input, {_ROIS}, {_POOLED}) -> (Tensor, Tensor)",
    "_roi_pool_backward(Tensor grad, Tensor rois, Tensor argmax, float spatial_scale, "
    f"{_POOLED}, {_SIZES}) -> Tensor",
    f"ps_roi_align(Tensor input, {_ROIS}, {_POOLED}, int sampling_ratio) -> (Tensor, Tensor)",
    "_ps_roi_align_backward(Tensor grad, Tensor rois, Tensor channel_mapping, float spatial_scale, "
    f"{_POOLED}, int sampling_ratio, {_SIZES}) -> Tensor",
    f"ps_roi_pool(Tensor input, {_ROIS}, {_POOLED}) -> (Tensor, Tensor)",
    "_ps_roi_pool_backward(Tensor grad, Tensor rois, Tensor channel_mapping, float spatial_scale, "
    f"{_POOLED}, {_SIZES}) -> Tensor",
    f"deform_conv2d({_WEIGHTS}, {_CONVOLUTION}) -> Tensor",
    f"_deform_conv2d_backward(Tensor grad, {_WEIGHTS}, {_CONVOLUTION}) "
    "-> (Tensor, Tensor, Tensor, Tensor, Tensor)",
]
_library = None


def prepare() -> None:
    global _library
    import torch

    spec = importlib.util.find_spec("torchvision")
    if spec is None or _library is not None:
        return
    for path in glob.glob(os.path.join(os.path.dirname(spec.origin), "_C*.so")):
        try:
            torch.ops.load_library(path)
            return
        except OSError:
            pass  # built for CUDA
    _library = torch.library.Library("torchvision", "DEF")
    for schema in _SCHEMAS:
        _library.define(schema)


def add_kernels() -> None:
    prepare()
    if _library is None:
        return
    import torch
    from torchvision.ops import box_iou
    from torchvision.ops.roi_align import _roi_align

    def nms(boxes, scores, threshold):
        order = scores.argsort(descending=True, stable=True)
        kept = []
        while order.numel() > 0:
            kept.append(order[0])
            overlaps = box_iou(boxes[order[:1]], boxes[order])[0]
            overlaps[0] = 2.0
            order = order[overlaps <= threshold]
        return torch.stack(kept) if kept else order

    # Without torch.compile, which takes most of a minute.
    plain_roi_align = getattr(_roi_align, "__wrapped__", _roi_align)

    def roi_align(values, rois, scale, height, width, sampling_ratio, aligned):
        return plain_roi_align(values, rois, scale, height, width, sampling_ratio, aligned)

    try:
        _library.impl("nms", nms, "CPU")
        _library.impl("roi_align", roi_align, "CPU")
    except RuntimeError:
        pass  # done before
