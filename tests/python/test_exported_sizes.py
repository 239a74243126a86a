"""Tests leaves of exported programs that share sizes, which torch.export computes once. With default and random leaf rules, each
rebuilt graph computes the program's results for the example and for other sizes."""

import random

import harness
import pytest
import tiers
import torch
from torch import nn

AUTO = torch.export.Dim.AUTO
BATCH = ({0: AUTO},)


def x(batch: int = 2) -> tuple[torch.Tensor]:
    return (torch.randn(batch, 6, 8),)


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = (nn.MultiheadAttention(8, 2, batch_first=True) for _ in "ab")

    def forward(self, x):
        y, weights = self.a(x, x, x)
        return self.b(y, x, y)[0], weights


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x):
        y = self.a(x, x, x)[0]
        return self.a(y, y, y)[0]


class Bag(nn.Module):
    def __init__(self):
        super().__init__()
        self.bag = nn.EmbeddingBag(20, 4, mode="sum")

    def forward(self, x, w):
        batch, length, count = x.shape
        return self.bag(x.reshape(-1, count), per_sample_weights=w.reshape(-1, count)).view(batch, length, -1)


class Flat(nn.Module):
    """Sizes that are products, used in one block and again in the next."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x):
        batch, length, width = x.shape
        return self.linear(x.reshape(batch * length, width)).reshape(batch * length // 2, 2, width).reshape(batch, length, width) / length


class Add(nn.Module):
    """Takes a number that no tensor tells."""

    def forward(self, x, n: int):
        return x + n * 2, x.size(0) + n


class Count(nn.Module):
    """Gives a size that depends on data, and one that does not."""

    def forward(self, x):
        rows = x.reshape(-1)[x.reshape(-1) > 0]
        return rows, rows.size(0), x.size(0)


class Numbers(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.count = Add(), Add(), Count()

    def forward(self, x, n: int):
        y, total = self.a(x, n)
        z, _ = self.b(y, n)
        rows, found, batch = self.count(z)
        return z * total, rows * found, rows.new_zeros(batch, found)


class Blocks(nn.Module):
    def __init__(self, count: int = 3):
        super().__init__()
        self.blocks = nn.Sequential(*(nn.Sequential(Flat(), nn.GELU()) for _ in range(count)))
        self.head = Flat()

    def forward(self, x):
        y = self.blocks(x)
        return self.head(torch.cat([y, y]).reshape(x.size(0), -1, 8)[:, : x.size(1)])


class Masked(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = encoder(2)

    def forward(self, x, lengths):
        mask = torch.arange(x.size(1))[None, :] >= lengths[:, None]
        return self.encoder(x, src_key_padding_mask=mask)


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = Flat(), Flat()

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: self.b(self.a(x)), lambda x: self.a(x) - 1, (x,))


def encoder(layers: int) -> nn.Module:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    return nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)


def transformer() -> nn.Module:
    return nn.Transformer(8, 2, 2, 2, 16, batch_first=True)


# The model, its inputs for a batch size, and its dynamic shapes.
CASES = {
    "two": (Two, x, BATCH),
    "twice": (Twice, x, BATCH),
    "encoder": (lambda: encoder(2), x, BATCH),
    "transformer": (transformer, lambda batch=2: (*x(batch), *x(batch)), ({0: AUTO}, {0: AUTO})),
    "masked": (Masked, lambda batch=2: (*x(batch), torch.arange(1, batch + 1)), ({0: AUTO}, {0: AUTO})),
    "bag": (Bag, lambda batch=2: (torch.randint(0, 20, (batch, 3, 4)), torch.rand(batch, 3, 4)), ({0: AUTO}, {0: AUTO})),
    "bilinear": (
        lambda: nn.Bilinear(4, 5, 3),
        lambda batch=2: (torch.rand(batch, 3, 4), torch.rand(batch, 3, 5)),
        ({0: AUTO, 1: AUTO}, {0: AUTO, 1: AUTO}),
    ),
    "blocks": (Blocks, x, ({0: AUTO, 1: AUTO},)),
    "numbers": (Numbers, lambda batch=2: (*x(batch), batch + 3), ({0: AUTO}, AUTO)),
    "branches": (Branches, x, BATCH),
    "lstm": (lambda: nn.LSTM(8, 4, 2, batch_first=True, bidirectional=True), x, BATCH),
    "gru": (lambda: nn.Sequential(nn.Linear(8, 8), nn.GRU(8, 4)), lambda batch=2: (torch.randn(5, batch, 8),), ({1: AUTO},)),
    "rnn": (lambda: nn.RNN(8, 4, batch_first=True), x, BATCH),
}
programs: dict[tuple[str, str], tuple] = {}


def program_of(name: str, form: str, folder) -> tuple:
    """The path of an archive, and what it gives for two batch sizes."""
    if (name, form) not in programs:
        make, inputs, dynamic = CASES[name]
        torch.manual_seed(0)
        exported = torch.export.export(make().eval(), inputs(), dynamic_shapes=dynamic, strict=form == "strict")
        if form == "decomposed":
            exported = exported.run_decompositions()
        path = str(folder.mktemp(name) / f"{name}_{form}.pt2")
        torch.export.save(exported, path)
        loaded = torch.export.load(path)
        programs[name, form] = path, [harness.ExportedRun(path, loaded, inputs(batch), {}) for batch in (2, 4)]
    return programs[name, form]


def forms(name: str) -> list[str]:
    return ["plain", "strict", "decomposed"] if name != "branches" else ["plain", "strict"]


@pytest.mark.parametrize(
    "name, form, draws",
    [
        *((name, "plain", 0) for name in ("two", "numbers", "branches")),
        pytest.param("lstm", "decomposed", 0, marks=pytest.mark.volume),
        *(pytest.param(name, form, 6, marks=pytest.mark.volume) for name in tiers.of_the_turn(CASES, 5) for form in forms(name)),
    ],
)
def test_leaves(program, tmp_path_factory, name, form, draws):
    path, runs = program_of(name, form, tmp_path_factory)
    whole = program.trace(path, "--no-default-leaves")
    chance = random.Random(f"{name} {form}")
    for options in ([], ["--no-default-leaves"], *(harness.random_rules(whole, chance) for _ in range(draws))):
        collection = program.trace(path, *options)
        harness.check_collection(collection)
        for node in collection["graphs"][0]["nodes"]:  # a size is computed where it is used, not handed on
            if node["op"] == "call_module" and name not in ("numbers",):
                names = [item["value"] for item in (*node.get("program_inputs", ()), *node.get("program_results", ()))]
                assert not [each for each in names if each.startswith(("sym_", "mul_")) and each in sizes_of(runs[0])], options
        for run in runs:
            run.compare(collection["graphs"][0])


def sizes_of(run: harness.ExportedRun) -> set[str]:
    return {node.name for node in run.program.graph.nodes if isinstance(node.meta.get("val"), torch.SymInt)}
