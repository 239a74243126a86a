"""Tests fxtrace diff on pairs of models as people have them, against results that were read and recorded in tests/pairs.

FXTRACE_UPDATE=1 records it."""

import copy
import importlib
import os
import pathlib
import warnings
from collections.abc import Callable

import harness
import pytest
import tiers
import tvcompat
import torch
from torch import nn

HERE = pathlib.Path(__file__).resolve().parent
RECORDED = HERE.parent / "pairs"
PAIRS: dict[str, Callable] = {}


def pair(function):
    """A function of (program, folder) that gives two files, and options behind them."""
    PAIRS[function.__name__] = function
    return function


def save(model: nn.Module, folder: pathlib.Path, name: str, inputs: tuple = (), **options) -> str:
    """Exported, scripted (`.pt`), or traced (`.traced.pt`)."""
    path = folder / name
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        if name.endswith(".pt2"):
            torch.export.save(torch.export.export(model.eval(), inputs, **options), path)
        elif name.endswith(".traced.pt"):
            torch.jit.trace(model.eval(), inputs, strict=False).save(path)
        else:
            torch.jit.script(model.eval()).save(path)
    return str(path)


class Block(nn.Module):
    def __init__(self, width: int, activation: nn.Module):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up, self.act, self.down = nn.Linear(width, 4 * width), activation, nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(self.act(self.up(self.norm(x))))


class Classifier(nn.Module):
    def __init__(self, blocks: int = 4, activation: nn.Module | None = None):
        super().__init__()
        torch.manual_seed(0)  # so that two of them have the same weights
        self.embed = nn.Linear(8, 16)
        self.blocks = nn.ModuleList(Block(16, activation or nn.GELU()) for _ in range(blocks))
        self.head = nn.Linear(16, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.embed(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean(1))


class LowRank(nn.Module):
    def __init__(self, base: nn.Linear):
        super().__init__()
        self.base = base
        self.down, self.up = nn.Linear(base.in_features, 2, bias=False), nn.Linear(2, base.out_features, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.base(x) + 0.5 * self.up(self.down(x))


class FineTuned(Classifier):
    """Other sizes of the head, which got a name; adapters; a dropout before it."""

    def __init__(self):
        super().__init__(activation=nn.SiLU())
        for block in self.blocks:
            block.up = LowRank(block.up)
        self.dropout, self.classifier = nn.Dropout(0.1), nn.Linear(16, 3)
        del self.head

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.embed(x)
        for block in self.blocks:
            x = block(x)
        return self.classifier(self.dropout(x.mean(1)))


INPUT = (torch.zeros(2, 5, 8),)


@pair
def fine_tuned(program, folder):
    return save(Classifier(), folder, "before.pt2", INPUT), save(FineTuned(), folder, "after.pt2", INPUT)


@pair
def fine_tuned_scripted(program, folder):
    return save(Classifier(), folder, "before.pt"), save(FineTuned(), folder, "after.pt")


@pair
def torch_versions(program, folder):
    """Of 2.13 and 2.14."""
    return tuple(os.path.join(where, "nested_traced.pt") for where in (harness.SAMPLES, HERE.parent / "fixtures" / "torch_2_14"))


@pair
def functional(program, folder):
    model, saved = os.path.join(harness.SAMPLES, "inplace_exported.pt2"), folder / "functional.json"
    saved.write_bytes(program.stdout("trace", model, "--pass", "functional"))
    return model, str(saved)


@pair
def quantized(program, folder):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = Classifier(blocks=2).eval()
        small = torch.ao.quantization.quantize_dynamic(copy.deepcopy(model), {nn.Linear}, dtype=torch.qint8)
        return save(model, folder, "float.pt"), save(small, folder, "quantized.pt")


@pair
def half(program, folder):
    return save(Classifier(), folder, "float.pt2", INPUT), save(Classifier().half(), folder, "half.pt2", (INPUT[0].half(),))


@pair
def scripted_and_exported(program, folder):
    return save(Classifier(), folder, "net.pt"), save(Classifier(), folder, "net.pt2", INPUT)


@pair
def traced_and_exported(program, folder):
    return save(Classifier(), folder, "net.traced.pt", INPUT), save(Classifier(), folder, "net.pt2", INPUT)


def transformers():
    pytest.importorskip("transformers")
    tvcompat.prepare()
    return importlib.import_module("transformers")


def gpt2(layers: int) -> nn.Module:
    config = transformers().GPT2Config(n_layer=layers, use_cache=False, vocab_size=500, n_embd=96, n_head=4)
    return transformers().GPT2LMHeadModel(config)


@pair
def gpt2_of_12_and_13_layers(program, folder):
    sizes = {"input_ids": {0: torch.export.Dim("batch"), 1: torch.export.Dim("seq", min=2, max=64)}}
    return tuple(
        save(gpt2(layers), folder, f"gpt2_{layers}.pt2", kwargs={"input_ids": torch.ones(2, 16, dtype=torch.int64)}, dynamic_shapes=sizes)
        for layers in (12, 13)
    )


@pair
def bert_traced_and_exported(program, folder):
    config = transformers().BertConfig(num_hidden_layers=3, hidden_size=32, num_attention_heads=4, intermediate_size=64, vocab_size=99)
    config.return_dict = False
    model, ids = transformers().BertModel(config), (torch.ones(2, 16, dtype=torch.int64),)
    return save(model, folder, "bert.traced.pt", ids), save(model, folder, "bert.pt2", ids)


FIRST = ["fine_tuned", "torch_versions", "functional", "quantized", "traced_and_exported"]


@pytest.mark.parametrize("name", tiers.only(FIRST, PAIRS))
def test_as_recorded(program, tmp_path, name):
    before, after = PAIRS[name](program, tmp_path)
    now = program.stdout("diff", before, after).decode()
    file = RECORDED / f"{name}.txt"
    if os.environ.get("FXTRACE_UPDATE"):
        file.write_text(now, encoding="utf-8")
    assert now == file.read_text(encoding="utf-8")


def test_each_recorded_pair_is_one_of_these():
    assert {file.stem for file in RECORDED.iterdir()} == set(PAIRS)
