#!/usr/bin/env python3
"""Archives of well-known models with random weights, scripted, traced and exported.

    zoo.py [--zoo-cache DIR] [--list] [NAME ...]     # NAME as in --list: resnet18_scripted, bert_traced, ...

They are small configurations: what counts is the graph.  Each is made by a process of its own and kept in the
cache; beside NAME.pt (or .pt2) stands NAME.inputs.pt, the inputs to run it with.
"""

import argparse
import inspect
import os
import subprocess
import sys
import tempfile
import warnings
from typing import Any, Callable

WAYS = ("scripted", "traced", "exported", "exported_strict", "exported_decomposed", "exported_dynamic")
MAKERS: dict[str, Callable[[], tuple]] = {}


def entry(*ways: str):
    """Registers a function that gives an eager model and its inputs, for each way to make an archive."""

    def register(function):
        for way in ways:
            MAKERS[f"{function.__name__}_{way}"] = function
        return function

    return register


def split(name: str) -> tuple[str, str]:
    """Model and way."""
    way = max((way for way in WAYS if name.endswith("_" + way)), key=len)
    return name.removesuffix("_" + way), way


def names(*ways: str) -> list[str]:
    return [name for name in MAKERS if split(name)[1] in ways]


def exported_names() -> list[str]:
    return names(*(way for way in WAYS if way.startswith("exported")))


def _image(size: int, batch: int = 1):
    import torch

    return (torch.randn(batch, 3, size, size),)


def _torchvision(name: str, size: int, **options):
    import tvcompat

    tvcompat.prepare()
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
    import tvcompat

    tvcompat.prepare()
    from torchvision.models.swin_transformer import SwinTransformer

    return SwinTransformer(
        patch_size=[4, 4], embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=[7, 7], num_classes=10
    ), _image(56)


@entry("scripted", "traced")
def densenet():
    import tvcompat

    tvcompat.prepare()
    from torchvision.models import DenseNet

    return DenseNet(growth_rate=8, block_config=(3, 4, 3), num_init_features=16, num_classes=10), _image(64)


def _timm(name: str, size: int, **options):
    import tvcompat

    tvcompat.prepare()
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
    import tvcompat

    tvcompat.prepare()
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
    import tvcompat

    tvcompat.prepare()
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
        part = f"{path}.{os.getpid()}.part"  # several tests may make it at the same time
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
    part = f"{path}.{os.getpid()}.part.pt2"  # torch.export.save wants the suffix
    torch.export.save(program, part)
    torch.save(inputs, path.removesuffix(".pt2") + ".inputs.pt")
    os.replace(part, path)


def cache_folder(given: str | None) -> str:
    return os.path.abspath(
        given or os.environ.get("FXTRACE_ZOO_CACHE") or os.path.join(tempfile.gettempdir(), "fxtrace-zoo")
    )


def archive(name: str, cache: str) -> str:
    """The path of the archive, made when the cache has none."""
    os.makedirs(cache, exist_ok=True)
    path = os.path.join(cache, name + (".pt2" if "_exported" in name else ".pt"))
    if not os.path.exists(path):
        done = subprocess.run(
            [sys.executable, os.path.abspath(__file__), "--make", path, name],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": "0", "HF_HUB_OFFLINE": "1"},
        )
        if done.returncode != 0:
            raise RuntimeError(f"{name} could not be made: {done.stderr[-2000:]}")
    return path


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--zoo-cache", metavar="DIR")
    parser.add_argument("--list", action="store_true", help="print the names")
    parser.add_argument("--make", metavar="PATH", help=argparse.SUPPRESS)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    if options.list:
        print("\n".join(MAKERS))
        return 0
    if options.make:
        make(options.names[0], options.make)
        return 0
    for name in options.names or MAKERS:
        print(archive(name, cache_folder(options.zoo_cache)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
