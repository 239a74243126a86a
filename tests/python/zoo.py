#!/usr/bin/env python3
"""Archives of well-known models with random weights, scripted, traced and exported.

    zoo.py [--zoo-cache DIR] [--list] [NAME ...]     # NAME as in --list: resnet18_scripted, bert_traced, ...

They are small configurations: what counts is the graph.  Those that are missing are made by one run and kept in the
cache; beside NAME.pt (or .pt2) stands NAME.inputs.pt, the inputs to run it with.
"""

import argparse
import fcntl
import hashlib
import importlib.metadata
import inspect
import multiprocessing
import os
import subprocess
import sys
import warnings
from typing import Any, Callable

WAYS = ("scripted", "traced", "exported", "exported_strict", "exported_decomposed", "exported_dynamic")
MAKERS: dict[str, Callable[[], tuple]] = {}
SHAPES_ONLY: set[str] = set()  # names that only the test of shapes asks for
FIXED_BATCH: set[str] = set()  # models whose archives hold the batch as a number


def entry(*ways: str, shapes_only: bool = False, fixed_batch: bool = False):
    """Registers a function that gives an eager model and its inputs, for each way to make an archive."""

    def register(function):
        for way in ways:
            name = f"{function.__name__}_{way}"
            MAKERS[name] = function
            if shapes_only:
                SHAPES_ONLY.add(name)
            if fixed_batch:
                FIXED_BATCH.add(name)
        return function

    return register


def more(*ways: str, **options: bool):
    """As `entry`, for models that only the test of shapes asks for."""
    return entry(*ways, shapes_only=True, **options)


def split(name: str) -> tuple[str, str]:
    """Model and way."""
    way = max((way for way in WAYS if name.endswith("_" + way)), key=len)
    return name.removesuffix("_" + way), way


TRANSFORMERS = (
    *("bert", "bert_model", "gpt2", "t5", "llama", "mixtral", "whisper", "roberta", "distilbert", "electra", "bart", "qwen2"),
    *("hf_vit", "clip", "segformer", "wav2vec2"),
)


def package_of(name: str) -> str:
    """What the model is from."""
    model = split(name)[0]
    if model in TRANSFORMERS:
        return "transformers"
    return "timm" if model.startswith("timm_") or model in ("vit", "convnext", "resnest") else "torchvision"


def names(*ways: str) -> list[str]:
    return [name for name in MAKERS if split(name)[1] in ways and name not in SHAPES_ONLY]


def shapes_names() -> list[str]:
    return [name for name in MAKERS if split(name)[1] in ("scripted", "traced")]


def exported_names() -> list[str]:
    return names(*(way for way in WAYS if way.startswith("exported")))


def _image(size: int, batch: int = 1):
    import torch

    return (torch.randn(batch, 3, size, size),)


def _prepare():
    import tvcompat

    tvcompat.prepare()


def _torchvision(name: str, size: int, **options):
    _prepare()
    import torchvision

    return getattr(torchvision.models, name)(weights=None, **options), _image(size)


@entry("scripted", "traced", "exported", "exported_strict", "exported_decomposed")
def resnet18():
    return _torchvision("resnet18", 64)


@entry("scripted", "traced", "exported", "exported_dynamic")
def mobilenet_v3():
    return _torchvision("mobilenet_v3_small", 64)


@entry("scripted", "traced")
def efficientnet():
    return _torchvision("efficientnet_b0", 64)


@entry("scripted", "traced", "exported")
def swin():
    _prepare()
    from torchvision.models.swin_transformer import SwinTransformer

    return SwinTransformer(
        patch_size=[4, 4], embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=[7, 7], num_classes=10
    ), _image(56)


@entry("scripted", "traced")
def densenet():
    _prepare()
    from torchvision.models import DenseNet

    return DenseNet(growth_rate=8, block_config=(3, 4, 3), num_init_features=16, num_classes=10), _image(64)


def _timm(name: str, size: int, **options):
    _prepare()
    import timm

    return lambda scriptable: timm.create_model(
        name, scriptable=scriptable, exportable=True, num_classes=10, **options
    ), _image(size)


@entry("scripted", "traced", "exported", "exported_decomposed")
def vit():
    create, inputs = _timm("vit_tiny_patch16_224", 64, img_size=64, depth=3)
    return lambda scriptable: _images_only(create(scriptable)), inputs


def _images_only(model):
    """The model without its optional mask: `mask is not None` on an input would stop the root's trace."""
    import torch

    class Images(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, x):
            return self.model(x)

    return Images()


@entry("scripted", "traced", "exported")
def convnext():
    return _timm("convnext_atto", 64)


@entry("scripted", "traced")
def resnest():
    return _timm("resnest14d", 64)


def _tokens(vocabulary: int, length: int = 9):
    import torch

    return torch.randint(3, vocabulary, (2, length))


SMALL = {
    "vocab_size": 100,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 32,
}


def _transformers(name: str, config: str, inputs: list[str], **options):
    """The model, which takes the named inputs and gives a tuple: a trace keeps neither names nor classes."""
    import torch

    _prepare()
    import transformers

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = getattr(transformers, name)(getattr(transformers, config)(**options))

        def forward(self, *values):
            return self.model(**dict(zip(inputs, values))).to_tuple()

    return Model()


@entry("traced", "exported", "exported_strict", "exported_decomposed", "exported_dynamic")
def bert():
    return _transformers("BertModel", "BertConfig", ["input_ids"], **SMALL), (_tokens(100),)


@entry("exported")
def bert_model():
    """As it is: its result is a ModelOutput."""
    _prepare()
    import transformers

    return transformers.BertModel(transformers.BertConfig(**SMALL)), (_tokens(100),)


@entry("traced", "exported")
def gpt2():
    return _transformers(
        "GPT2LMHeadModel",
        "GPT2Config",
        ["input_ids"],
        vocab_size=100,
        n_embd=32,
        n_layer=2,
        n_head=4,
        n_positions=32,
        use_cache=False,
        bos_token_id=1,
        eos_token_id=2,
    ), (_tokens(100),)


@entry("traced", "exported")
def t5():
    return _transformers(
        "T5Model",
        "T5Config",
        ["input_ids", "decoder_input_ids"],
        vocab_size=100,
        d_model=32,
        d_kv=8,
        d_ff=48,
        num_layers=2,
        num_heads=4,
        use_cache=False,
    ), (_tokens(100), _tokens(100, 5))


@entry("traced", "exported", "exported_dynamic")
def llama():
    return _transformers(
        "LlamaForCausalLM", "LlamaConfig", ["input_ids"], num_key_value_heads=2, use_cache=False, **SMALL
    ), (_tokens(100),)


@entry("exported")
def mixtral():
    return _transformers(
        "MixtralForCausalLM",
        "MixtralConfig",
        ["input_ids"],
        num_key_value_heads=2,
        num_local_experts=4,
        use_cache=False,
        **SMALL,
    ), (_tokens(100),)


@entry("traced", "exported")
def whisper():
    import torch

    model = _transformers(
        "WhisperModel",
        "WhisperConfig",
        ["input_features", "decoder_input_ids"],
        vocab_size=100,
        d_model=32,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=48,
        decoder_ffn_dim=48,
        num_mel_bins=8,
        max_source_positions=20,
        max_target_positions=16,
        use_cache=False,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
    )
    return model, (torch.randn(1, 8, 40), _tokens(100, 4)[:1])


@more("scripted", "traced")
def resnet50():
    _prepare()
    from torchvision.models.resnet import Bottleneck, ResNet

    return ResNet(Bottleneck, [2, 1, 1, 1], num_classes=10), _image(64)


@more("scripted", "traced")
def inception():
    return _torchvision("inception_v3", 96, init_weights=False, num_classes=10)


@more("scripted", "traced")
def googlenet():
    return _torchvision("googlenet", 64, init_weights=False, num_classes=10)


@more("scripted", "traced")
def tv_vit():
    _prepare()
    from torchvision.models import VisionTransformer

    return VisionTransformer(
        image_size=32, patch_size=8, num_layers=2, num_heads=2, hidden_dim=16, mlp_dim=32, num_classes=10
    ), _image(32)


@more("scripted", "traced")
def tv_convnext():
    _prepare()
    from torchvision.models.convnext import CNBlockConfig, ConvNeXt

    return ConvNeXt([CNBlockConfig(8, 16, 2), CNBlockConfig(16, None, 1)], num_classes=10), _image(64)


@more("scripted", "traced")
def regnet():
    return _torchvision("regnet_y_400mf", 64, num_classes=10)


@more("scripted", "traced")
def squeezenet():
    return _torchvision("squeezenet1_1", 64, num_classes=10)


@more("scripted", "traced")
def shufflenet():
    return _torchvision("shufflenet_v2_x0_5", 64, num_classes=10)


def _dilated_backbone(*layers: str):
    _prepare()
    from torchvision.models._utils import IntermediateLayerGetter
    from torchvision.models.resnet import Bottleneck, ResNet

    net = ResNet(Bottleneck, [1, 1, 1, 1], replace_stride_with_dilation=[False, True, True])
    return IntermediateLayerGetter(net, dict(zip(layers, ("out", "aux"))))


@more("scripted")
def fcn():
    _prepare()
    from torchvision.models.segmentation.fcn import FCN, FCNHead

    return FCN(_dilated_backbone("layer4", "layer3"), FCNHead(2048, 5), FCNHead(1024, 5)), _image(48)


@more("scripted")
def deeplab():
    _prepare()
    from torchvision.models.segmentation.deeplabv3 import DeepLabHead, DeepLabV3

    return DeepLabV3(_dilated_backbone("layer4"), DeepLabHead(2048, 5, (2, 4, 6))), _image(48)


def _yes():
    return True


@more("scripted", fixed_batch=True)
def faster_rcnn():
    import torch

    _prepare()
    from torchvision import extension
    from torchvision.models.detection.backbone_utils import BackboneWithFPN
    from torchvision.models.detection.faster_rcnn import FasterRCNN, FastRCNNPredictor, TwoMLPHead
    from torchvision.models.resnet import BasicBlock, ResNet
    from torchvision.ops import FrozenBatchNorm2d

    # The archive of an installation whose operators can be loaded: others raise wherever they are called.
    extension._has_ops = _yes
    net = ResNet(BasicBlock, [1, 1, 1, 1], norm_layer=FrozenBatchNorm2d)
    layers = {f"layer{i + 1}": str(i) for i in range(4)}
    model = FasterRCNN(
        BackboneWithFPN(net, layers, [64, 128, 256, 512], 16),
        min_size=64,
        max_size=96,
        box_head=TwoMLPHead(16 * 7 * 7, 32),
        box_predictor=FastRCNNPredictor(32, 5),
        rpn_pre_nms_top_n_test=50,
        rpn_post_nms_top_n_test=20,
        box_score_thresh=0.0,
    )
    return model, ([torch.rand(3, 48, 64), torch.rand(3, 60, 52)],)


@more("scripted")
def timm_vit():
    """With its optional mask, which dummy inputs leave out."""
    return _timm("vit_tiny_patch16_224", 64, img_size=64, depth=2)


@more("scripted", "traced")
def timm_mobilenetv3():
    return _timm("mobilenetv3_small_050", 64)


@more("scripted", "traced")
def timm_swin():
    return _timm(
        "swin_tiny_patch4_window7_224", 56, img_size=56, depths=(2, 1), embed_dim=16, num_heads=(2, 4)
    )


@more("scripted", "traced")
def timm_resnet():
    return _timm("resnet10t", 64)


@more("scripted", "traced")
def timm_regnet():
    return _timm("regnetx_002", 64)


@more("scripted", "traced")
def timm_efficientnet():
    return _timm("tf_efficientnet_lite0", 64)


@more("scripted", "traced")
def timm_mixer():
    _prepare()
    from timm.models.mlp_mixer import MlpMixer

    return MlpMixer(10, 64, patch_size=16, num_blocks=2, embed_dim=32), _image(64)


@more("scripted", "traced")
def timm_mobilevit():
    return _timm("mobilevit_xxs", 64)


@more("scripted", "traced")
def timm_metaformer():
    _prepare()
    from timm.models.metaformer import MetaFormer

    return MetaFormer(num_classes=10, depths=(1, 1, 1, 1), dims=(8, 16, 16, 32)), _image(64)


@more("scripted", "traced")
def timm_cait():
    return _timm("cait_xxs24_224", 64, img_size=64, depth=2, embed_dim=32, num_heads=4)


@more("scripted", "traced")
def timm_ghostnet():
    return _timm("ghostnet_050", 64)


@more("scripted", "traced")
def timm_repvgg():
    return _timm("repvgg_a0", 64)


@more("traced")
def roberta():
    return _transformers(
        "RobertaModel", "RobertaConfig", ["input_ids"], **{**SMALL, "max_position_embeddings": 40}
    ), (_tokens(100),)


@more("traced")
def distilbert():
    return _transformers(
        "DistilBertModel", "DistilBertConfig", ["input_ids"],
        vocab_size=100, dim=32, hidden_dim=48, n_layers=2, n_heads=4, max_position_embeddings=32,
    ), (_tokens(100),)  # fmt: skip


@more("traced")
def electra():
    return _transformers(
        "ElectraForSequenceClassification", "ElectraConfig", ["input_ids"], embedding_size=16, **SMALL
    ), (_tokens(100),)


@more("traced")
def bart():
    return _transformers(
        "BartModel", "BartConfig", ["input_ids", "decoder_input_ids"],
        vocab_size=100, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48, max_position_embeddings=32,
        use_cache=False, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
    ), (_tokens(100), _tokens(100, 5))  # fmt: skip


@more("traced")
def qwen2():
    return _transformers(
        "Qwen2ForCausalLM", "Qwen2Config", ["input_ids"], num_key_value_heads=2, use_cache=False, **SMALL
    ), (_tokens(100),)


VISION = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}


@more("traced")
def hf_vit():
    return _transformers(
        "ViTModel", "ViTConfig", ["pixel_values"], image_size=32, patch_size=8, **VISION
    ), _image(32, 2)


@more("traced")
def clip():
    model = _transformers(
        "CLIPModel", "CLIPConfig", ["input_ids", "pixel_values"],
        text_config={**SMALL, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0, "projection_dim": 16},
        vision_config={**VISION, "image_size": 32, "patch_size": 8, "projection_dim": 16}, projection_dim=16,
    )  # fmt: skip
    return _Outputs(model, 4), (_tokens(100), *_image(32, 2))


def _Outputs(model, count: int):
    """The first outputs alone: a trace cannot give the objects behind them."""
    import torch

    class First(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, *values):
            return self.model(*values)[:count]

    return First()


@more("traced")
def segformer():
    return _transformers(
        "SegformerForSemanticSegmentation", "SegformerConfig", ["pixel_values"],
        hidden_sizes=[8, 16], depths=[1, 1], num_encoder_blocks=2, num_attention_heads=[1, 2], sr_ratios=[4, 2],
        patch_sizes=[7, 3], strides=[4, 2], mlp_ratios=[2, 2], decoder_hidden_size=16,
    ), _image(64, 2)  # fmt: skip


@more("traced")
def wav2vec2():
    import torch

    return _transformers(
        "Wav2Vec2Model", "Wav2Vec2Config", ["input_values"],
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, conv_dim=[16, 16],
        conv_kernel=[5, 3], conv_stride=[4, 2], num_feat_extract_layers=2, num_conv_pos_embeddings=8,
        num_conv_pos_embedding_groups=2,
    ), (torch.randn(2, 400),)  # fmt: skip


class _Part:
    """torch.nn modules as a part of a model: default leaves, or not."""

    @staticmethod
    def of(part):
        import torch
        from torch import Tensor

        class Recurrent(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.part = part

            def forward(self, x: Tensor):
                return self.part(x)

        class Attention(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.part = part

            def forward(self, query: Tensor, key: Tensor):
                return self.part(query, key, key)

        class Transformer(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.part = part

            def forward(self, source: Tensor, target: Tensor):
                return self.part(source, target)

        kinds = {torch.nn.MultiheadAttention: Attention, torch.nn.Transformer: Transformer}
        return kinds.get(type(part), Recurrent)()


@more("scripted")
def lstm():
    import torch

    part = torch.nn.LSTM(6, 8, num_layers=2, bidirectional=True, batch_first=True)
    return _Part.of(part), (torch.randn(2, 5, 6),)


@more("scripted")
def gru():
    import torch

    # A kernel for weights that need gradients rounds otherwise, and in the archive its list of them is constants.
    part = torch.nn.GRU(6, 8, batch_first=True).requires_grad_(False)
    return _Part.of(part), (torch.randn(2, 5, 6),)


@more("scripted")
def attention():
    import torch

    part = torch.nn.MultiheadAttention(8, 2, batch_first=True)
    return _Part.of(part), (torch.randn(2, 5, 8), torch.randn(2, 7, 8))


@more("scripted")
def transformer():
    import torch

    part = torch.nn.Transformer(8, 2, 1, 1, 16, batch_first=True)
    return _Part.of(part), (torch.randn(2, 5, 8), torch.randn(2, 4, 8))


def make(name: str, path: str) -> None:
    import torch

    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    model: Any
    model, inputs = MAKERS[name]()
    way = split(name)[1]
    scripted = way == "scripted"
    if not isinstance(model, torch.nn.Module):
        model = model(scripted)
    model.eval()
    if way.startswith("exported"):
        export(model, inputs, way, path)
        return
    with torch.no_grad():
        archive = (
            torch.jit.script(model)
            if scripted
            else torch.jit.trace(model, inputs, strict=False, check_trace=False)
        )
        part = f"{path}.part"
        archive.save(part)
    torch.save(inputs, path.removesuffix(".pt") + ".inputs.pt")
    os.replace(part, path)


def export(model: Any, inputs: tuple, way: str, path: str) -> None:
    import torch

    dynamic = None
    if way == "exported_dynamic":  # the sizes of the first input, but an image's channels
        channels = 1 if inputs[0].dim() == 4 else None
        sizes = {i: torch.export.Dim.AUTO for i in range(inputs[0].dim()) if i != channels}
        dynamic = (sizes, *[None] * (len(inputs) - 1))
        if inspect.getfullargspec(model.forward).varargs:
            dynamic = (dynamic,)
    program = torch.export.export(model, inputs, dynamic_shapes=dynamic, strict=way == "exported_strict")
    if way == "exported_decomposed":
        program = program.run_decompositions()
    part = f"{path}.part.pt2"  # torch.export.save wants the suffix
    torch.export.save(program, part)
    torch.save(inputs, path.removesuffix(".pt2") + ".inputs.pt")
    os.replace(part, path)


def cache_folder(given: str | None) -> str:
    """Where archives are kept, outside of any checkout; another zoo, or another version of what makes it, has another."""
    root = given or os.environ.get("FXTRACE_ZOO_CACHE")
    if not root:
        home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        root = os.path.join(home, "fxtrace", "zoo")
    key = hashlib.sha256()
    for file in ("zoo.py", "tvcompat.py"):
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), file), "rb") as source:
            key.update(source.read())
    for package in ("torch", "torchvision", "timm", "transformers"):
        try:
            key.update(f"{package} {importlib.metadata.version(package)}".encode())
        except importlib.metadata.PackageNotFoundError:
            pass
    return os.path.join(os.path.abspath(root), key.hexdigest()[:16])


def archive_path(name: str, cache: str) -> str:
    return os.path.join(cache, name + (".pt2" if "_exported" in name else ".pt"))


def make_archives(wanted: list[str], cache: str) -> None:
    """Those that the cache has not, by one run that imports the packages once: that takes longer than the models do.

    Whoever asks for the same at that time waits."""
    os.makedirs(cache, exist_ok=True)
    with open(os.path.join(cache, "lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        missing = [name for name in wanted if not os.path.exists(archive_path(name, cache))]
        if not missing:
            return
        done = subprocess.run(
            [sys.executable, os.path.abspath(__file__), "--make", cache, *missing],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": "0", "HF_HUB_OFFLINE": "1"},
        )
    if done.returncode != 0:
        raise RuntimeError(f"{', '.join(missing)} could not be made: {done.stderr[-2000:]}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--zoo-cache", metavar="DIR")
    parser.add_argument("--list", action="store_true", help="print the names")
    parser.add_argument("--make", metavar="DIR", help=argparse.SUPPRESS)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    if options.list:
        print("\n".join(MAKERS))
        return 0
    if options.make:
        _prepare()  # before the processes part
        with multiprocessing.get_context("fork").Pool(os.cpu_count()) as pool:
            pool.starmap(make, [(name, archive_path(name, options.make)) for name in options.names], chunksize=1)
        return 0
    wanted, cache = options.names or list(MAKERS), cache_folder(options.zoo_cache)
    make_archives(wanted, cache)
    print(*(archive_path(name, cache) for name in wanted), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
