"""Programs of torch.export for the releases of torch: small ones that use many of its operators, layouts and fields.

    python release_programs.py write FOLDER   exports each with the torch that runs this: NAME.pt2, NAME.values (inputs and results)
    python release_programs.py run FOLDER VALUES   loads and runs each NAME.pt2 of FOLDER; prints a line of JSON for each
"""

import json
import pathlib
import sys

import torch
from torch import nn
from torch.nn import functional as F


class Of(nn.Module):
    """A module of a function and of modules that it takes as attributes."""

    def __init__(self, function, **parts):
        super().__init__()
        self.function = function
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, *inputs):
        return self.function(self, *inputs)


def attention(self, x):
    batch, length, _ = x.shape
    query, key, value = self.query(x).view(batch, length, 3, 2, 4).permute(2, 0, 3, 1, 4)
    return self.out(F.scaled_dot_product_attention(query, key, value, is_causal=True).transpose(1, 2).reshape(batch, length, 8))


def without_gradient(self, x):
    with torch.no_grad():
        scale = x.abs().mean() + 1
    return self.linear(x) * scale


def counted(self, x):
    self.count.add_(1)
    return x * self.count


def loop(self, x):
    from torch._higher_order_ops.while_loop import while_loop

    return while_loop(lambda i, value: i.sum() < 5, lambda i, value: (i + 1, value * 2), (torch.zeros(1, dtype=torch.int64), x))


def programs():
    """Names with a module, inputs, dynamic shapes, and whether the program is decomposed."""
    torch.manual_seed(0)
    any_batch = ({0: torch.export.Dim("batch", min=2, max=64)},)
    block = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    mlp = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 2), nn.LogSoftmax(-1))
    attends = Of(attention, query=nn.Linear(8, 24), out=nn.Linear(8, 8))
    x = torch.randn(3, 4)
    images = torch.randn(2, 3, 8, 8)
    tokens = torch.randn(2, 5, 8)
    linear = nn.Linear(4, 4)
    yield "convolutions", block.eval(), (images,), None, False
    yield "training", nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Dropout(0.0)).train(), (images,), None, False
    yield "mlp", mlp, (x,), None, False
    yield "mlp_decomposed", mlp, (x,), None, True
    yield "batch", mlp, (x,), any_batch, False
    yield "batch_decomposed", mlp, (x,), any_batch, True
    yield "lstm", nn.LSTM(4, 5, num_layers=2, bidirectional=True, batch_first=True).eval(), (torch.randn(2, 3, 4),), None, False
    yield "attention", attends, (tokens,), None, False
    yield "attention_decomposed", attends, (tokens,), None, True
    yield "encoder", nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval(), (tokens,), None, False
    yield "embedding", nn.Sequential(nn.Embedding(10, 6, padding_idx=0), nn.LayerNorm(6)), (torch.randint(0, 10, (2, 4)),), None, False
    yield "branches", Of(lambda self, x: torch.cond(x.sum() > 0, lambda x: x.relu(), lambda x: x.sigmoid(), (x,))), (x,), None, False
    yield "loop", Of(loop), (x,), None, False
    yield "no_gradient", Of(without_gradient, linear=linear), (x,), None, False
    yield "counter", Of(counted, count=nn.Buffer(torch.zeros(1))), (x,), None, False
    yield "counter_decomposed", Of(counted, count=nn.Buffer(torch.zeros(1))), (x,), None, True
    yield "rms_norm_decomposed", nn.RMSNorm(4), (x,), None, True
    yield "infinity", Of(lambda self, x: x.masked_fill(x > 0, -torch.inf).softmax(-1)), (x,), None, False
    yield "results", Of(lambda self, x, y: {"sum": x + y, "both": [x, (y, 3)]}), (x, x + 1), None, False
    yield "number", Of(lambda self, x, n: x * n + torch.ones(n).sum()), (x, 3), ({}, torch.export.Dim.DYNAMIC), False
    yield "integers", Of(lambda self, x: x * self.scale, scale=nn.Parameter(torch.tensor([2, 3, 4, 5]), requires_grad=False)), (x,), None, False
    yield "bfloat16", nn.Linear(4, 4).to(torch.bfloat16), (x.bfloat16(),), None, False
    yield "float8", Of(lambda self, x: x @ self.weight.float(), weight=nn.Buffer(torch.randn(4, 4).to(torch.float8_e4m3fn))), (x,), None, False
    yield "sorting", Of(lambda self, x: (*x.topk(2), x.sort().values.split(2, 1), torch.einsum("ij,kj->ik", x, x))), (x,), None, False


def write(folder: pathlib.Path) -> None:
    for name, module, inputs, dynamic, is_decomposed in programs():
        program = torch.export.export(module, inputs, dynamic_shapes=(dynamic and (dynamic,)) if isinstance(module, Of) else dynamic, strict=False)
        if is_decomposed:
            program = program.run_decompositions()
        torch.export.save(program, folder / f"{name}.pt2")
        torch.save((inputs, torch.utils._pytree.tree_leaves(program.module()(*inputs))), folder / f"{name}.values")


def is_equal(a, b) -> bool:
    return torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b


def is_close(a, b) -> bool:
    return torch.allclose(a.double(), b.double(), rtol=1e-4, atol=1e-5) if isinstance(a, torch.Tensor) else a == b


def run(folder: pathlib.Path, values: pathlib.Path) -> None:
    for file in sorted(folder.glob("*.pt2")):
        inputs, wanted = torch.load(values / f"{file.stem}.values")
        try:
            got = torch.utils._pytree.tree_leaves(torch.export.load(str(file)).module()(*inputs))
            pairs = list(zip(got, wanted))
            fits = len(got) == len(wanted)
            answer = "equal" if fits and all(is_equal(*pair) for pair in pairs) else "close" if fits and all(is_close(*pair) for pair in pairs) else "different"
        except Exception as error:  # noqa: BLE001 - whatever a release raises is the answer
            answer = f"{type(error).__name__}: {error}"
        print("\n" + json.dumps([file.stem, answer]), flush=True)


if __name__ == "__main__":
    folders = [pathlib.Path(argument) for argument in sys.argv[2:]]
    write(*folders) if sys.argv[1] == "write" else run(*folders)
