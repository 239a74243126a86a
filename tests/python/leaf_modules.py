"""Provides models with modules that are leaves; test_exported_leaves.py exports them and calls the modules."""

from dataclasses import dataclass, field
from typing import Any, Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass
class Case:
    module: Callable[[], nn.Module]
    shapes: list[tuple[int, ...]]
    leaves: list[str]  # paths that the graph calls
    options: list[str] = field(default_factory=list)
    kwargs: dict[str, Any] = field(default_factory=dict)
    dynamic: Any = None
    not_for: dict[str, str] = field(default_factory=dict)  # mode: why

    @property
    def name(self) -> str:
        return self.module.__name__

    def args(self) -> tuple[Tensor, ...]:
        generator = torch.Generator().manual_seed(1)
        return tuple(torch.randn(shape, generator=generator) for shape in self.shapes)


CASES: list[Case] = []


def case(*shapes: tuple[int, ...], **others: Any) -> Callable[[type], type]:
    def add(module: type) -> type:
        CASES.append(Case(module, list(shapes), **others))
        return module

    return add


# --- leaves that hand an input on: torch.export has later readers of x read what the leaf made of it ---


class LlamaNorm(nn.Module):
    def __init__(self, size: int):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(size))

    def forward(self, hidden):
        dtype = hidden.dtype
        hidden = hidden.to(torch.float32)
        variance = hidden.pow(2).mean(-1, keepdim=True)
        return self.weight * (hidden * torch.rsqrt(variance + 1e-6)).to(dtype)


class T5Norm(LlamaNorm):
    def forward(self, hidden):
        variance = hidden.to(torch.float32).pow(2).mean(-1, keepdim=True)
        hidden = hidden * torch.rsqrt(variance + 1e-6)
        if self.weight.dtype in (torch.float16, torch.bfloat16):
            hidden = hidden.to(self.weight.dtype)
        return self.weight * hidden


class Residual(nn.Module):
    def __init__(self, norm: type, size: int = 8):
        super().__init__()
        self.norm = norm(size)
        self.linear = nn.Linear(size, size)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        return x + self.dropout(self.linear(self.norm(x)))


NORMS = ["--leaf", "**.*Norm"]


@case((2, 5, 8), options=NORMS, leaves=["blocks.0.norm", "blocks.1.norm", "last"])
class Norms(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Residual(LlamaNorm), Residual(T5Norm)])
        self.last = LlamaNorm(8)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x, x + self.last(x)


@case((2, 5, 8), options=["--leaf", "**.Residual"], leaves=["blocks.0", "blocks.1"])
class NormsInLeaves(Norms):
    pass


@case((2, 5, 8), options=NORMS, leaves=["blocks.0.norm"])
class HalfPrecision(Norms):
    def __init__(self):
        super().__init__()
        self.blocks.to(torch.bfloat16)

    def forward(self, x):
        for block in self.blocks:
            x = block(x.to(torch.bfloat16))
        return x.float() + self.last(x.float())


class Step(nn.Module):
    """A leaf with two weights; what it does with x is said by the model around it."""

    def __init__(self, function: Callable[[Tensor, Tensor], Tensor]):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(8))
        self.function = function

    def forward(self, x):
        return self.function(self.weight, x)


def no_grad_inside(weight, x):
    with torch.no_grad():
        y = x.to(torch.float32)
        z = y * 2
    return z * weight + y


def autocast_inside(weight, x):
    with torch.autocast("cpu", enabled=False):
        y = x.float()
        z = y * 2
    return z * weight


def in_place(weight, x):
    x.mul_(2)
    return x + weight


FUNCTIONS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "Contiguous": lambda weight, x: x.contiguous() * weight,
    "Chain": lambda weight, x: x.to(x.dtype).contiguous().to(x.device).float() * weight,
    "Copy": lambda weight, x: x.to(x.dtype, copy=True) * weight,
    "TypeAs": lambda weight, x: x.type_as(weight) * weight,
    "Views": lambda weight, x: x.view(x.shape).expand(x.shape).reshape(x.shape) * weight,
    "Detach": lambda weight, x: torch.ops.aten.alias(x.detach()) * weight,
    "Flatten": lambda weight, x: torch.atleast_2d(x.flatten(1, 1)) * weight,
    "DropoutInEval": lambda weight, x: F.dropout(x, 0.5, False) * weight,
    "WeightCast": lambda weight, x: x * weight.to(x.dtype).float(),
    "BFloat": lambda weight, x: (x.to(torch.bfloat16) * weight.to(torch.bfloat16)).to(x.dtype),
    "CastOnly": lambda weight, x: x.to(torch.float32),
    "TwoResults": lambda weight, x: (x.to(torch.float32) * weight, x.float() + weight),
    "NoGrad": no_grad_inside,
    "Autocast": autocast_inside,
    "InPlace": in_place,
}
FUNCTIONAL = "a functional program has the changed input as a result of its own"


def step_model(function: Callable[[Tensor, Tensor], Tensor]) -> type:
    class Steps(nn.Module):
        def __init__(self):
            super().__init__()
            self.before, self.between = nn.Linear(8, 8), nn.Linear(8, 8)
            self.first, self.second = Step(function), Step(function)

        def forward(self, x):
            x = self.before(x)
            for step in (self.first, self.second):
                y = step(x)
                if isinstance(y, tuple):
                    y = y[0] - y[1]
                x = x + self.between(y)
            return x, self.first.weight + 1

    return Steps


for _name, _function in FUNCTIONS.items():
    CASES.append(
        Case(
            type(_name, (step_model(_function),), {}),
            [(2, 5, 8)],
            ["first", "second"],
            ["--leaf", "**.Step"],
            not_for={"decomposed": FUNCTIONAL} if _function is in_place else {},
        )
    )


# --- parameters that a leaf is given ---


class Cross(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x, latents):
        return self.linear(x) @ latents.transpose(-1, -2)


@case((2, 5, 8), options=["--leaf", "**.Cross"], leaves=["cross"])
class GivenParameters(nn.Module):
    def __init__(self):
        super().__init__()
        self.latents = nn.Parameter(torch.randn(3, 8))
        self.cross = Cross()

    def forward(self, x):
        return self.cross(x, self.latents)


# --- modules of torch.nn whose forward takes nested, optional or repeated arguments ---


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(8, 8, batch_first=True)
        self.deep = nn.LSTM(8, 8, 2, bidirectional=True)
        self.gru = nn.GRU(8, 8, batch_first=True)
        self.rnn = nn.RNN(8, 8, nonlinearity="relu")
        self.lstm_cell, self.gru_cell, self.rnn_cell = nn.LSTMCell(8, 8), nn.GRUCell(8, 8), nn.RNNCell(8, 8)

    def forward(self, x, state):
        y, (h, c) = self.lstm(x)
        y = y + self.lstm(y, (state, c))[0] + self.lstm(x, (state, state))[1][1].transpose(0, 1)
        _, (_, deep) = self.deep(x)
        y = y + self.gru(x, h)[0] + self.gru(y)[1].transpose(0, 1)
        y = y + self.rnn(x[0])[0]  # one sequence, no batch
        first = self.lstm_cell(x[0])
        second = self.lstm_cell(x[0], first)
        cells = self.gru_cell(x[0]) + self.gru_cell(x[0], x[0]) + self.rnn_cell(x[1], second[1])
        return y, deep, cells


class Layered(nn.Module):
    """As many steps as layers, one step only, one sequence only, a projection of the results."""

    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(4, 5, num_layers=2)
        self.rnn = nn.RNN(5, 5, num_layers=2)
        self.lstm = nn.LSTM(4, 5, num_layers=2)
        self.both = nn.LSTM(4, 5, bidirectional=True, batch_first=True)

    def forward(self, x):
        _, last = self.gru(x)
        y, again = self.rnn(last)
        z, (h, c) = self.lstm(x, (y, again))
        _, (one, _) = self.both(x[:, :1])
        return last, y + again, z + h * 2 + c * 3, one, self.both(x)[0]


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.same = nn.MultiheadAttention(8, 2, batch_first=True)
        self.cross = nn.MultiheadAttention(8, 2, kdim=4, vdim=4, batch_first=True)
        self.extended = nn.MultiheadAttention(8, 2, add_bias_kv=True, add_zero_attn=True, batch_first=True)

    def forward(self, x, memory, scores):
        padding = x[..., 0] > 1
        y = self.same(x, x, x)[0] + self.same(x, x, x, need_weights=False)[0]
        y = y + self.same(x, y, y, key_padding_mask=padding)[0] + self.same(x, y, x, attn_mask=scores)[0]
        y = y + self.same(y, y, x, key_padding_mask=padding, attn_mask=scores > 1, need_weights=False)[0]
        causal = torch.ones_like(scores).triu(1) > 0
        y = y + self.same(y, y, y, attn_mask=causal, is_causal=True, need_weights=False)[0]
        one = self.same(x[0], x[0], x[0], key_padding_mask=padding[0])[0]
        weights = self.same(x, x, y, average_attn_weights=False)[1]
        y = y + self.cross(x, memory, memory)[0] + self.cross(x, memory, memory + 1)[0]
        return self.extended(y, y, y, key_padding_mask=padding), one, weights


class Transformers(nn.Module):
    def __init__(self):
        super().__init__()

        def options(**others):
            return {"d_model": 8, "nhead": 2, "dim_feedforward": 16, "batch_first": True, **others}

        self.first = nn.TransformerEncoderLayer(**options())
        self.normed = nn.TransformerEncoderLayer(**options(norm_first=True))
        self.encoder = nn.TransformerEncoder(self.normed, 2, enable_nested_tensor=False)
        self.layer = nn.TransformerDecoderLayer(**options())
        self.decoder = nn.TransformerDecoder(self.layer, 2)
        self.whole = nn.Transformer(num_encoder_layers=1, num_decoder_layers=1, **options())

    def forward(self, x, memory, scores, cross):
        padding, other = x[..., 0] > 1, memory[..., 0] > 1
        x = self.first(x) + self.first(x, src_key_padding_mask=padding) + self.normed(x, scores)
        x = self.encoder(x, mask=scores > 1, src_key_padding_mask=padding, is_causal=False)
        x = self.layer(x, x) + self.layer(x, memory, scores, cross, padding, other)
        x = self.decoder(x, memory, memory_key_padding_mask=other)
        masks = {"src_key_padding_mask": other, "memory_key_padding_mask": other}
        return self.whole(memory, x, tgt_mask=scores, tgt_is_causal=False, **masks)


class Renamed(nn.Module):
    """Leaves called as nodes of the program, which get other names in the graph."""

    def __init__(self):
        super().__init__()
        self.mul_1, self.mul_2 = nn.Linear(4, 4), nn.Linear(4, 4)
        self.bilinear, self.gru = nn.Bilinear(4, 4, 4), nn.GRU(4, 4)

    def forward(self, x):
        y = self.mul_2(self.mul_1(x) * 2) * 3
        z = y * 4
        return self.bilinear(z * 5, z), self.gru(z * 6, z[:1])


class Pairs(nn.Module):
    def __init__(self):
        super().__init__()
        self.bilinear, self.similarity = nn.Bilinear(8, 8, 4), nn.CosineSimilarity()
        self.mse, self.triplet = nn.MSELoss(), nn.TripletMarginLoss()
        self.pool, self.unpool = nn.MaxPool1d(2, return_indices=True), nn.MaxUnpool1d(2)
        self.bag = nn.EmbeddingBag(10, 8, mode="sum")

    def forward(self, x, y):
        pairs = self.bilinear(x, x), self.bilinear(y, x), self.similarity(x, x)
        losses = self.mse(x, x), self.mse(y, x), self.triplet(y, x, x)
        tokens = (x[:, :, 0] * 0).long() + 3
        bags = self.bag(tokens), self.bag(tokens, per_sample_weights=y[:, :, 0])
        return pairs, losses, self.unpool(*self.pool(x)), self.pool(y)[1], bags


OTHER_BITS = {"decomposed": "operators that torch.nn's modules call are made of others, whose last bits differ"}
CASES += [
    Case(Recurrent, [(2, 5, 8), (1, 2, 8)], ["lstm", "deep", "gru", "rnn", "rnn_cell"], not_for=OTHER_BITS),
    Case(Layered, [(2, 3, 4)], ["gru", "rnn", "lstm", "both"], not_for=OTHER_BITS),
    Case(Attention, [(2, 5, 8), (2, 3, 4), (5, 5)], ["same", "cross", "extended"], not_for=OTHER_BITS),
    Case(
        Transformers,
        [(2, 5, 8), (2, 3, 8), (5, 5), (5, 3)],
        ["first", "normed", "encoder", "layer", "decoder", "whole"],
        not_for=OTHER_BITS,
    ),
    Case(Renamed, [(3, 2, 4)], ["mul_1", "mul_2", "bilinear", "gru"], not_for=OTHER_BITS),
    Case(Pairs, [(2, 4, 8), (2, 4, 8)], ["bilinear", "similarity", "triplet", "unpool", "bag"], not_for=OTHER_BITS),
]
