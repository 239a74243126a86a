"""Tests remove-batch-dims on programs that torch.export makes of torch.vmap: each is transformed or declined as stated here, and
computes the same as the program.

To the bit, where the operators of a sample and those of the batch add up in the same order.  Products of matrices and
vectors, and losses that torch decomposes, may round differently: these programs are compared with a tolerance.
"""

import contextlib
import copy
import io
import json
import random
import warnings

import harness
import op_samples
import pytest
import tiers
import torch
import torch.nn.functional as F
from fxtrace import _exported
from torch import nn, vmap
from torch.func import functional_call, stack_module_state
from torch.utils import _pytree as pytree

REMOVED, CLOSE = "removed", "removed, rounded differently"


class Net(nn.Module):
    """A function with a few modules and parameters at hand."""

    def __init__(self, function):
        super().__init__()
        self.function = function
        self.linear, self.norm, self.act = nn.Linear(4, 2), nn.LayerNorm(4), nn.ReLU()
        self.drop, self.embed = nn.Dropout(), nn.Embedding(6, 3)
        self.conv, self.pool = nn.Conv2d(4, 6, 3), nn.MaxPool2d(2)
        self.weight = nn.Parameter(torch.rand(4, 4))
        self.register_buffer("scale", torch.tensor(0.5))

    def forward(self, *args):
        return self.function(self, *args)


def f(*sizes):
    return torch.rand(sizes)


def i(high, *sizes):
    return torch.randint(0, high, sizes)


def mask(function, batch=2, heads=1):
    """As transformers makes masks of attention: four vmaps over positions."""
    nested = function
    for dims in [(None, None, None, 0), (None, None, 0, None), (None, 0, None, None), (0, None, None, None)]:
        nested = vmap(nested, in_dims=dims, out_dims=0)
    return lambda s, q, k: nested(
        torch.arange(batch), torch.arange(heads), torch.arange(q.shape[0]), torch.arange(k.shape[0])
    )


def without_gradients(function):
    with torch.no_grad():
        return function()


def ensemble(s, x, w1, b1, w2, b2):
    def one(w1, b1, w2, b2, x):
        return F.linear(torch.tanh(F.linear(x, w1, b1)), w2, b2)

    return vmap(one, in_dims=(0, 0, 0, 0, None))(w1, b1, w2, b2, x)


class Network(nn.Sequential):
    def __init__(self):
        super().__init__(
            nn.Conv2d(3, 6, 3, padding=1), nn.BatchNorm2d(6), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 8, 3, groups=2, bias=False),
            nn.GroupNorm(2, 8), nn.GELU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(1), nn.Linear(8, 5),
        )  # fmt: skip
        self[1].running_mean.uniform_()


NETWORK = Network().eval()
with torch.no_grad():
    NETWORKS = {name: value.detach() for state in stack_module_state([Network() for _ in range(3)]) for name, value in state.items()}


def state(given, index=None):
    return {name: value if index is None else value[index] for name, value in zip(NETWORKS, given)}


def network_ensemble(dim):
    def one(state, x):
        return functional_call(NETWORK, state, (x,))

    return lambda s, x, *given: vmap(one, in_dims=(0, dim))(state(given), x)


def pairs(function):
    return lambda s, a, b: vmap(vmap(function, (None, 0)), (0, None))(a, b)


def each(function, **options):
    """The function over its arguments, without the module."""
    return lambda s, *args: vmap(function, **options)(*args)


def parts_written(a):
    a = a.clone()
    a[0] = 5.0
    a[2:] += a[:2]
    a[:, 1] = a[1, 2]
    a.view(-1)[3:].mul_(2)
    return a


def through_a_copy(a):
    a = a.clone()
    a.reshape(-1).add_(1)
    return a


ONE, TWO, MATRIX = (f(3, 4),), (f(3, 4), f(3, 4)), (f(3, 4, 5),)

# name: function of the module and the inputs, inputs, what becomes of it: REMOVED, CLOSE, or why it stays
PROGRAMS = {
    # dimensions that are batched
    "add": (each(lambda a, b: a + b), TWO, REMOVED),
    "unbatched": (each(lambda a, b: a * b, in_dims=(0, None)), (f(3, 4), f(4)), REMOVED),
    "in_dims": (each(lambda a, b: a * b, in_dims=(1, 0)), (f(4, 3), f(3, 4)), REMOVED),
    "in_dims negative": (each(lambda a: a.sum(0), in_dims=-1), (f(4, 5, 3),), REMOVED),
    "nothing": (each(lambda a: a), ONE, REMOVED),
    "other result": (lambda s, x, y: vmap(lambda a: y * 2)(x), (f(4, 2), f(3)), REMOVED),
    "other result, out_dims": (lambda s, x, y: vmap(lambda a: y * 2, out_dims=1)(x), (f(3, 2), f(3)), REMOVED),
    "None as out_dim": (lambda s, x, y: vmap(lambda a: (a, y + 1), out_dims=(0, None))(x), (f(3, 2), f(3)), REMOVED),
    "batch of one": (each(lambda a, b: (a * b).sum()), (f(1, 4), f(1, 4)), REMOVED),
    "lower rank": (each(lambda a, b: a * b), (f(4, 4), f(4)), REMOVED),
    "lower rank, twice": (each(lambda a, b: a + b), (f(3, 3, 3), f(3, 3)), REMOVED),
    "lower rank, unbatched": (each(lambda a, b: a + b, in_dims=(0, None)), (f(4), f(4, 4)), REMOVED),
    "outer": (pairs(lambda a, b: a * b), (f(3), f(5)), REMOVED),
    "outer of squares": (pairs(lambda a, b: a * b), (f(4, 4), f(4, 4)), REMOVED),
    "three levels": (
        lambda s, a, b, c: vmap(vmap(vmap(lambda a, b, c: a * b + c, (None, None, 0)), (None, 0, None)), (0, None, None))(a, b, c),
        (f(2), f(3), f(4)), REMOVED),
    "inner in_dims": (lambda s, x: vmap(vmap(lambda a: a.cumsum(0), in_dims=1), in_dims=2)(x), (f(2, 3, 4),), REMOVED),
    "inner result without outer": (
        lambda s, x, y: vmap(lambda a: vmap(lambda b: b * 2)(y) + a)(x), (f(3, 4), f(5, 4)), "removed"),
    "outer alone": (lambda s, x, y: vmap(lambda a: vmap(lambda b: a * 2)(y))(x), (f(3, 4), f(5, 4)), REMOVED),
    "two": (lambda s, x: vmap(lambda a: a.sum())(x) + vmap(lambda a: a.amax())(x), ONE, REMOVED),
    "chunks": (each(lambda a: a * 2, chunk_size=2), (f(4, 3),), REMOVED),
    # dtypes of values without dimensions
    "int and float": (each(lambda a, b: a * b), (i(5, 3, 4), f(3)), REMOVED),
    "float and int": (each(lambda a, b: a * b), (f(3, 4), i(5, 3)), REMOVED),
    "float and double": (each(lambda a, b: a * b), (f(3, 4), f(3).double()), REMOVED),
    "half and float": (each(lambda a, b: a + b), (f(3, 4).half(), f(3)), REMOVED),
    "batched float, double": (lambda s, x, y: vmap(lambda a: a * y)(x), (f(3), f().double()), REMOVED),
    "batched double, float": (lambda s, x, y: vmap(lambda a: a * y)(x), (f(3).double(), f(4)), REMOVED),
    "comparison": (each(lambda a, b: a < b), (f(3, 4), f(3).double()), REMOVED),
    "where": (each(lambda a, b: torch.where(a > 0.5, a, b)), (f(3, 4), f(3).double()), REMOVED),
    "python numbers": (each(lambda a: a * 2 + 0.5), (i(5, 3),), REMOVED),
    "broadcast_tensors": (each(lambda a, b: torch.broadcast_tensors(a, b)), (f(3, 4), f(3).double()), REMOVED),
    "ldexp": (each(lambda a, b: torch.ldexp(a, b)), (f(3, 4), f(3) > 0.5), "ldexp"),
    "cat with an empty one": (each(lambda a, b: torch.cat([b, a]), in_dims=(0, None)), (f(3, 2, 4), torch.empty(0)), "tensors of several ranks"),
    "stack of both": (each(lambda a, b: torch.stack([a, b])), (f(3), i(5, 3)), REMOVED),
    # masks
    "causal mask": (mask(lambda b, h, q, k: k <= q), (f(3, 4), f(5, 4)), REMOVED),
    "sliding mask": (mask(lambda b, h, q, k: (k <= q) & (q - k < 2)), (f(4, 4), f(4, 4)), REMOVED),
    "mask by batch": (mask(lambda b, h, q, k: (k <= q + b) & (h >= 0), heads=2), (f(4, 4), f(4, 4)), REMOVED),
    "padding mask": (
        lambda s, q, lengths: vmap(vmap(vmap(lambda n, q, k: (k <= q) & (k < n), (None, None, 0)), (None, 0, None)), (0, None, None))(
            lengths, torch.arange(q.shape[0]), torch.arange(q.shape[0])),
        (f(5, 2), torch.tensor([2, 4])), REMOVED),
    "padding mask by index": (
        lambda s, q, m: mask(lambda b, h, qi, ki: (ki <= qi) & m[torch.stack([b]), torch.stack([ki])].squeeze(0))(s, q, q),
        (f(4, 2), i(2, 2, 4).bool()), REMOVED),
    "relative positions": (
        lambda s, q: vmap(vmap(lambda q, k: (q - k).abs().clamp(max=2), (None, 0)), (0, None))(
            torch.arange(q.shape[0]), torch.arange(q.shape[0])),
        (f(5, 2),), REMOVED),
    # reductions
    "sum": (each(lambda a, b: (a * b).sum()), TWO, REMOVED),
    "sum of squares": (each(lambda a: (a * a).sum()), (f(4, 4, 4),), REMOVED),
    "sum of nothing": (each(lambda a: a.sum()), (i(5, 3),), REMOVED),
    "means": (each(lambda a: (a.mean(), a.mean(0), a.mean(-1, keepdim=True), a.mean((0, 1)))), MATRIX, REMOVED),
    "extremes": (each(lambda a: (a.max(), a.min(), a.amax(1), a.amin((0, -1)), a.max(0)[0], a.min(-1)[1])), MATRIX, REMOVED),
    "argmaxes": (each(lambda a: (a.argmax(), a.argmin(0), a.argmax(-1, keepdim=True))), MATRIX, REMOVED),
    "any and all": (each(lambda a: ((a > 0.5).any(), (a > 0.1).all(), (a > 0.5).any(0), (a > 0.2).all(-1))), MATRIX, REMOVED),
    "products": (each(lambda a: (a.prod(), a.prod(0), a.cumprod(-1))), MATRIX, REMOVED),
    "deviations": (each(lambda a: (a.std(), a.var(0), a.var((0, 1), correction=0), a.std(-1, keepdim=True))), MATRIX, CLOSE),
    "norms": (each(lambda a: (a.norm(), torch.linalg.vector_norm(a, dim=-1), F.normalize(a, dim=0))), MATRIX, CLOSE),
    "norms of matrices": (each(lambda a: (torch.linalg.norm(a), torch.linalg.norm(a, dim=1), torch.linalg.norm(a, 1), torch.linalg.norm(a, "nuc"),
                                          torch.linalg.norm(a, -2, keepdim=True), torch.linalg.matrix_norm(a), torch.linalg.norm(a[0], 3), torch.linalg.norm(a[0, 0]),
                                          torch.linalg.matrix_norm(a[None], float("inf"), dim=(0, 2)), torch.linalg.norm(a[None]))), MATRIX, CLOSE),
    "logsumexp": (each(lambda a: (a.logsumexp(0), a.logsumexp((0, 1)))), MATRIX, REMOVED),
    "count_nonzero": (each(lambda a: (a.count_nonzero(), a.count_nonzero(0))), (i(2, 3, 4, 4),), REMOVED),
    # shapes
    "views": (each(lambda a: a.view(-1, 2) + a.reshape(10, 2) + a.flatten().unflatten(0, (10, 2))), MATRIX, REMOVED),
    "view of a moved one": (each(lambda a: a.reshape(-1), in_dims=1), MATRIX, REMOVED),
    "orders": (each(lambda a: (a.t(), a.transpose(0, 1), a.transpose(-1, -2), a.permute(1, 0), a.mT, a.permute(-1, 0))), MATRIX, REMOVED),
    "t of a vector": (each(lambda a: a.t() + 1), ONE, REMOVED),
    "reversed orders": (each(lambda a: (a.T, a[..., 0].T * 2, a[0, 0].T + 1, a[0].mH, a[0].H, a[0].adjoint(), torch.rot90(a), torch.rot90(a, -1, (-1, 0)),
                                        torch.rot90(a, 2, (1, 2)))), (f(3, 4, 2, 5),), REMOVED),
    "products with the reversed": (each(lambda a: a @ a.T), MATRIX, CLOSE),
    "movedim": (each(lambda a: (a.movedim(0, -1), a.movedim((0, 1), (1, 2)), a.swapaxes(0, 2))), (f(2, 3, 4, 5),), REMOVED),
    "squeeze": (each(lambda a: (a.squeeze(), a.squeeze(0), a.squeeze(-1), a.unsqueeze(0), a.unsqueeze(-1))), (f(1, 1, 4, 1),), REMOVED),
    "unsqueeze of a number": (each(lambda a: (a.unsqueeze(0), a.unsqueeze(-1))), (f(3),), REMOVED),
    "expand": (each(lambda a: (a.expand(2, -1), a.expand(2, 3, 4), a.unsqueeze(-1).expand(-1, 3))), ONE, REMOVED),
    "expand_as": (each(lambda a, b: (a.expand_as(b), b.view_as(b), b.reshape_as(b))), (f(2, 4), f(2, 3, 4)), REMOVED),
    "repeat": (each(lambda a: (a.repeat(2), a.repeat(2, 3), a.tile(2), torch.tile(a, (2, 1)))), ONE, REMOVED),
    "repeat_interleave": (each(lambda a: a.repeat_interleave(2, dim=0)), MATRIX, REMOVED),
    "parts": (each(lambda a: (a[0], a[:, 1], a[1:, ::2], a[-1], a[..., -1], a[None], a.narrow(0, 1, 2))), MATRIX, REMOVED),
    "lists": (each(lambda a: (*a.chunk(2), *a.split(3, -1), *a.split([1, 3]), *a.unbind(), *a.unbind(-1), *a.tensor_split(3))),
              MATRIX, REMOVED),
    "cat": (each(lambda a, b: (torch.cat([a, b]), torch.cat([a, b], -1), torch.stack([a, b], 1)), in_dims=(0, None)),
            (f(3, 2, 4), f(2, 4)), REMOVED),
    "flips": (each(lambda a: (a.flip(0), a.roll(1, 0), a.tril(), a.triu(1), a.diagonal(), torch.diag_embed(a))), (f(3, 4, 4),), REMOVED),
    "pad": (each(lambda a: (F.pad(a, (1, 2)), F.pad(a, (1, 0, 0, 1), value=2.0))), MATRIX, REMOVED),
    "unfold": (each(lambda a: a.unfold(0, 2, 1)), MATRIX, REMOVED),
    "types": (each(lambda a, b: (a.to(torch.float64), a.double(), a.type_as(b), a.int(), a.to(b.dtype), a.clone(), a.contiguous(), a.detach())),
              (f(3, 4), i(3, 3)), REMOVED),
    "new ones": (each(lambda a: a + torch.zeros_like(a) + a.new_ones(4) + torch.ones(4) + torch.full_like(a, 2)), ONE, REMOVED),
    "a new one for each": (each(lambda a: a.new_zeros(2)), ONE, REMOVED),
    # along a dimension
    "softmax": (each(lambda a: (a.softmax(-1), a.softmax(0), a.log_softmax(1), F.softmin(a, dim=0))), MATRIX, REMOVED),
    "sort": (each(lambda a: (*a.sort(), *a.topk(2, 0), a.argsort(-1), *a.kthvalue(2), *a.median(0), a.cumsum(0), a.logcumsumexp(-1))), MATRIX, REMOVED),
    "glu": (each(lambda a: (F.glu(a, 0), F.glu(a, -1))), (f(3, 4, 6),), REMOVED),
    "activations": (each(lambda a: F.gelu(a) + F.silu(a) + F.softplus(a) + F.hardswish(a) + F.logsigmoid(a) + F.leaky_relu(a) + F.elu(a)),
                    MATRIX, REMOVED),
    "layer_norm": (each(lambda a: F.layer_norm(a, (5,))), MATRIX, REMOVED),
    "layer_norm, weights": (lambda s, x: vmap(lambda a: F.layer_norm(a, (4,), s.weight[0], s.weight[1]))(x), (f(3, 2, 4),), REMOVED),
    "layer_norm, own weights": (each(lambda a, w, b: F.layer_norm(a, (4,), w, b)), (f(3, 2, 4), f(3, 4), f(3, 4)), CLOSE),
    "layer_norm of one": (each(lambda a, w, b: F.layer_norm(a, (4,), w, b), in_dims=(None, 0, 0)), (f(2, 4), f(3, 4), f(3, 4)), CLOSE),
    "dropout in evaluation": (each(lambda a: F.dropout(a, training=False)), ONE, REMOVED),
    # elements
    "index by one": (lambda s, x, j: vmap(lambda a: a[j])(x), (f(3, 4, 5), torch.tensor([1, 2, 0])), REMOVED),
    "index behind": (lambda s, x, j: vmap(lambda a: a[:, j])(x), (f(3, 4, 5), torch.tensor([1, 2, 0])), REMOVED),
    "index of one": (lambda s, x, j: vmap(lambda j: x[j])(j), (f(4, 5), i(4, 3, 2)), REMOVED),
    "index of one, behind": (lambda s, x, j: vmap(lambda j: x[:, j] * 2)(j), (f(4, 5), i(5, 3, 2)), REMOVED),
    "index of each": (each(lambda a, j: a[j]), (f(3, 4, 5), i(4, 3, 2)), REMOVED),
    "two indices of each": (each(lambda a, j, k: a[j, k]), (f(3, 4, 5), i(4, 3, 2), i(4, 3, 2)), REMOVED),
    "index of each, behind": (each(lambda a, j: (a[:, j], a[..., j])), (f(3, 4, 5), i(4, 3, 2)), REMOVED),
    "index of each, elsewhere": (lambda s, x, j: vmap(lambda a, j: (a[:, j, j[:2] // 2], a[j, :, j]))(x, j), (f(3, 5, 5, 5), i(5, 3, 2)), REMOVED),
    "index of one, apart": (lambda s, x, j: vmap(lambda j: x[j, :, j])(j), (f(4, 5, 4), i(4, 3, 2)), REMOVED),
    "gather": (each(lambda a, j: (a.gather(0, j), a.gather(-1, j))), (f(3, 4, 4), i(4, 3, 2, 2)), REMOVED),
    "gather of one": (lambda s, x, j: vmap(lambda j: x.gather(0, j))(j), (f(4, 5), i(4, 3, 2, 5)), REMOVED),
    "gather by one": (lambda s, x, j: vmap(lambda a: a.gather(0, j))(x), (f(3, 4, 5), i(4, 2, 5)), REMOVED),
    "gather of a label": (each(lambda a, j: (a.gather(0, j), a.scatter(0, j, 1.0))), (f(3, 5), i(5, 3)), REMOVED),
    "gather by one label": (each(lambda a, j: a.gather(0, j), in_dims=(None, 0)), (f(5), i(5, 3)), REMOVED),
    "scatter into a number": (each(lambda a, j: a.scatter(0, j, 1.0)), (f(3), i(1, 3, 1)), REMOVED),
    "scatter": (each(lambda a, j, b: a.scatter(0, j, b).scatter_add(1, j, b)), (f(3, 4, 4), i(4, 3, 2, 4), f(3, 2, 4)), REMOVED),
    "index_select": (lambda s, x, j: vmap(lambda a: a.index_select(0, j))(x), (f(3, 4, 5), torch.tensor([1, 2, 0])), REMOVED),
    "index_select of each": (each(lambda a, j: (a.index_select(1, j), a.index_select(-2, j))), (f(3, 4, 5), i(4, 3, 2)), REMOVED),
    "index_select by a number": (each(lambda a: a.index_select(0, torch.tensor(2))), ONE, "gets a tensor without dimensions"),
    "take_along_dim": (each(lambda a, j: torch.take_along_dim(a, j, 1)), (f(3, 4, 5), i(5, 3, 4, 2)), REMOVED),
    "an embedding for each": (each(lambda j, w: F.embedding(j, w)), (i(6, 3, 5), f(3, 6, 4)), REMOVED),
    "embedding": (lambda s, j: vmap(lambda j: F.embedding(j, s.weight))(j), (i(4, 3, 5),), REMOVED),
    "clamp": (each(lambda a, b: (a.clamp(0.2, 0.8), a.clamp(max=b), a.masked_fill(a > b, 0.0), torch.lerp(a, b, 0.3))), TWO, REMOVED),
    "conditions": (each(lambda a, b: torch.where((a > b) & ~(a == b) | a.isnan(), a, b.logical_not())), TWO, REMOVED),
    # products
    "dot": (each(torch.dot), TWO, CLOSE),
    "matmul": (each(torch.matmul), (f(3, 4, 5), f(3, 5, 2)), REMOVED),
    "matmul by one": (lambda s, x: vmap(lambda a: a @ s.weight)(x), (f(3, 2, 4),), CLOSE),
    "matmul of one": (lambda s, x: vmap(lambda a: s.weight @ a)(x), (f(3, 4, 2),), CLOSE),
    "vectors": (lambda s, x, y: vmap(lambda a, b: (a @ s.weight, (s.weight @ a) * 2, b @ a, a @ b.t(), a @ a))(x, y), (f(3, 4), f(3, 5, 4)), CLOSE),
    "by a vector": (lambda s, x, y: vmap(lambda a: (a @ y, y @ a.t()))(x), (f(3, 5, 4), f(4)), CLOSE),
    "batches of matrices": (each(lambda a, b: (a @ b, torch.bmm(a, a.mT), a @ b[0])), (f(3, 2, 4, 5), f(3, 2, 5, 3)), CLOSE),
    "mm and mv": (each(lambda a, b: (torch.mm(a, a.t()), torch.mv(a, b), torch.addmm(a, a, a), torch.outer(b, b))), (f(3, 4, 4), f(3, 4)), CLOSE),
    "a vector by matrices": (lambda s, x, y: vmap(lambda a: (a @ y, y @ a[:4]))(x), (f(3, 5), f(2, 5, 4)), CLOSE),
    "nested products": (pairs(lambda a, b: a @ b), (f(3, 4, 5), f(2, 5, 4)), CLOSE),
    "linear": (lambda s, x: vmap(lambda a: F.linear(a, s.weight))(x), (f(3, 4),), CLOSE),
    "a linear for each": (each(F.linear), (f(3, 5, 4), f(3, 6, 4), f(3, 6)), CLOSE),
    "a linear for each row": (each(F.linear), (f(3, 4), f(3, 6, 4), f(3, 6)), CLOSE),
    "own bias": (lambda s, x, b: vmap(lambda a, b: F.linear(a, s.weight, b))(x, b), (f(3, 2, 4), f(3, 4)), CLOSE),
    "ensemble": (ensemble, (f(5, 4), f(3, 8, 4), f(3, 8), f(3, 2, 8), f(3, 2)), CLOSE),
    "attention": (each(lambda q, k, v: ((q @ k.mT) / 2).softmax(-1) @ v), (f(2, 3, 4), f(2, 3, 4), f(2, 3, 4)), CLOSE),
    "sdpa": (each(F.scaled_dot_product_attention), (f(2, 3, 5, 4), f(2, 3, 5, 4), f(2, 3, 5, 4)), CLOSE),
    "sdpa, mask": (lambda s, q, m: vmap(lambda q: F.scaled_dot_product_attention(q, q, q, m))(q), (f(2, 3, 5, 4), f(5, 5)), CLOSE),
    "einsum": (each(lambda a, b: (torch.einsum("ij,kj->ik", a, b), torch.einsum("A j, bj", a, b))), (f(3, 4, 5), f(3, 2, 5)), CLOSE),
    "einsum with dots": (each(lambda a, b: (torch.einsum("...ij,jk", a, b), torch.einsum("i...->...", b)), in_dims=(0, None)), (f(3, 2, 4, 5), f(5, 3)), CLOSE),
    "einsum, pairs": (pairs(lambda a, b: torch.einsum("i,ij->j", a, b)), (f(3, 4), f(2, 4, 5)), CLOSE),
    "kron": (each(lambda a, b: (torch.kron(a, b), torch.kron(a[0], b), torch.kron(a, b[0, 0]), torch.kron(a[0, 0], b[0, 0]))), (f(3, 2, 4), f(3, 5, 3)), REMOVED),
    "kron by one": (each(torch.kron, in_dims=(None, 1)), (f(2, 4), f(5, 3, 2)), REMOVED),
    "kron of all": (pairs(torch.kron), (f(3, 2, 2), f(4, 3)), REMOVED),
    "kron of numbers in two dtypes": (each(torch.kron, in_dims=(0, None)), (f(3), f().double()), "another dtype"),
    "grids": (each(lambda a, b: (*torch.meshgrid(a, b, indexing="ij"), *torch.meshgrid(a, b, a, indexing="xy"), *torch.meshgrid(a[0], b))), (f(3, 2), f(3, 4)), REMOVED),
    "grids of all": (pairs(lambda a, b: torch.meshgrid(a, b, indexing="xy")[0] - 1), (f(3, 2), f(5, 4)), REMOVED),
    "cross": (each(lambda a, b: (torch.cross(a, b, dim=0), torch.linalg.cross(a, b, dim=-2), torch.cross(a, b), torch.cross(a[:, 0], b[:, 0]))), (f(4, 3, 5), f(4, 3, 5)), REMOVED),
    "cross by one": (each(lambda a, b: torch.cross(a, b), in_dims=(0, None)), (f(3, 4, 3, 3), f(4, 3, 3)), REMOVED),
    "searchsorted": (
        each(lambda a, b: (torch.searchsorted(a.sort()[0], b), torch.searchsorted(a[0].sort()[0], b[0]), torch.searchsorted(a[0].sort()[0], b, right=True),
                           torch.searchsorted(a[0].sort()[0], b[0, 0], out_int32=True), torch.searchsorted(a[0].sort()[0], 0.5, side="right"),
                           torch.searchsorted(a, b, sorter=a.argsort(-1)))), (f(3, 2, 5), f(3, 2, 4)), REMOVED),
    "searchsorted in one": (each(torch.searchsorted, in_dims=(None, 0)), (f(5).sort()[0], f(3, 2, 4)), REMOVED),
    "searchsorted of one": (each(torch.searchsorted, in_dims=(0, None)), (f(3, 5).sort()[0], f(2, 4)), REMOVED),
    "searchsorted of all": (pairs(torch.searchsorted), (f(3, 5).sort()[0], f(2, 4)), REMOVED),
    "histogram": (each(lambda a: torch.histc(a, 4, 0.0, 1.0)), ONE, "histc"),
    # images
    "convolution": (lambda s, x, w, b: vmap(lambda a: F.conv1d(a, w, b))(x), (f(2, 3, 4, 5), f(6, 4, 2), f(6)), REMOVED),
    "convolution of one": (lambda s, x, w: vmap(lambda a: F.conv2d(a, w, padding="same"))(x), (f(2, 4, 5, 5), f(6, 4, 3, 3)), REMOVED),
    "convolution, twice": (lambda s, x, w: vmap(vmap(lambda a: F.conv2d(a, w)))(x), (f(2, 3, 4, 5, 5), f(6, 4, 3, 3)), REMOVED),
    "a convolution for each": (each(lambda a, w, b: F.conv2d(a, w, b, stride=2, groups=2)), (f(3, 2, 4, 6, 6), f(3, 6, 2, 3, 3), f(3, 6)), REMOVED),
    "convolutions of one": (each(F.conv3d, in_dims=(None, 0, 0)), (f(2, 4, 5, 5, 5), f(3, 6, 4, 2, 2, 2), f(3, 6)), REMOVED),
    "convolutions of one, in groups": (each(lambda a, w: F.conv2d(a, w, groups=2), in_dims=(None, 0)), (f(4, 5, 5), f(3, 6, 2, 2, 2)), CLOSE),
    "own bias of a convolution": (each(F.conv1d, in_dims=(None, None, 0)), (f(2, 4, 5), f(6, 4, 2), f(3, 6)), REMOVED),
    "convolution, pairs": (pairs(F.conv2d), (f(2, 4, 5, 5), f(3, 6, 4, 3, 3)), CLOSE),
    "transposed convolutions": (each(lambda a, w, b: F.conv_transpose2d(a, w, b, stride=2)), (f(3, 2, 4, 5, 5), f(3, 4, 6, 2, 2), f(3, 6)), REMOVED),
    "transposed convolutions of one": (each(F.conv_transpose1d, in_dims=(None, 0, None)), (f(2, 4, 5), f(3, 4, 6, 2), f(6)), REMOVED),
    "aten.convolution": (each(lambda a, w, b: torch.ops.aten.convolution(a, w, b, [1], [0], [1], True, [0], 1)), (f(3, 2, 4, 5), f(3, 4, 6, 3), f(3, 6)), REMOVED),
    "pooling": (each(lambda a: (F.max_pool2d(a, 2), F.avg_pool2d(a, 3, 1, 1), F.adaptive_avg_pool2d(a, 1), F.adaptive_max_pool2d(a[0], 2),
                                F.pixel_shuffle(a, 2))), (f(3, 2, 4, 6, 6),), REMOVED),
    "interpolation": (each(lambda a: (F.interpolate(a, scale_factor=2.0), F.interpolate(a, size=5, mode="bilinear"))), (f(3, 2, 4, 6, 6),), REMOVED),
    "pooling, twice": (lambda s, x: vmap(vmap(lambda a: (F.max_pool1d(a, 2), F.avg_pool1d(a, 2), F.adaptive_avg_pool1d(a, 3))))(x), (f(2, 3, 4, 6),), REMOVED),
    "pooling with indices": (each(lambda a: F.max_pool2d(a, 2, return_indices=True)), (f(3, 2, 4, 6, 6),), "the shape of a value is not known"),
    "batch_norm": (lambda s, x, w, m: vmap(lambda a: F.batch_norm(a, m, m, w, m))(x), (f(3, 2, 4, 5), f(4), f(4)), REMOVED),
    "a batch_norm for each": (each(lambda a, m, w: F.batch_norm(a, m, m + 1, w, w)), (f(3, 2, 4, 5, 5), f(3, 4), f(3, 4)), REMOVED),
    "batch_norms of one": (each(lambda a, m, w: F.batch_norm(a, m, m + 1, w), in_dims=(None, 0, None)), (f(2, 4), f(3, 4), f(4)), REMOVED),
    "batch_norm that counts": (each(lambda a, m: F.batch_norm(a, m, m, training=True)), (f(3, 2, 4, 5), f(3, 4)), "writes"),
    "group_norm": (each(lambda a, w: (F.group_norm(a, 2), F.group_norm(a, 2, w, w)), in_dims=(0, None)), (f(3, 2, 4, 5), f(4)), REMOVED),
    "a group_norm for each": (each(lambda a, w: F.group_norm(a, 2, w, w), in_dims=(None, 0)), (f(2, 4, 5), f(3, 4)), REMOVED),
    "ensemble of networks": (network_ensemble(None), (f(2, 3, 8, 8), *NETWORKS.values()), CLOSE),
    "ensemble of networks, own inputs": (network_ensemble(0), (f(3, 2, 3, 8, 8), *NETWORKS.values()), CLOSE),
    "network of each sample": (
        lambda s, x, *given: vmap(lambda a: functional_call(NETWORK, state(given, 0), (a[None],))[0])(x), (f(5, 3, 8, 8), *NETWORKS.values()), CLOSE),
    # distances and losses
    "pairwise distances": (pairs(lambda a, b: ((a - b) ** 2).sum().sqrt()), (f(4, 3), f(5, 3)), REMOVED),
    "distances": (each(lambda a, b: (torch.cdist(a, b), F.pairwise_distance(a, b), F.cosine_similarity(a, b, dim=-1))),
                  (f(3, 4, 5), f(3, 4, 5)), CLOSE),
    "mse": (each(F.mse_loss), (f(3, 4, 5), f(3, 4, 5)), REMOVED),
    "mse of one": (each(lambda a, b: F.mse_loss(a, b, reduction="sum"), in_dims=(0, None)), (f(3, 4), f(4)), REMOVED),
    "losses": (each(lambda a, b: (F.l1_loss(a, b), F.smooth_l1_loss(a, b), F.huber_loss(a, b, reduction="none"))), TWO, CLOSE),
    "binary losses": (each(lambda a, b: (F.binary_cross_entropy(a, b), F.binary_cross_entropy_with_logits(a, b))), TWO, CLOSE),
    "kl": (each(lambda a, b: F.kl_div(a.log_softmax(-1), b.softmax(-1), reduction="batchmean")), (f(3, 4, 5), f(3, 4, 5)), CLOSE),
    "cross entropy": (each(F.cross_entropy), (f(3, 4, 5), i(5, 3, 4)), CLOSE),
    "cross entropy of rows": (each(F.cross_entropy), (f(3, 5), i(5, 3)), CLOSE),
    "cross entropy, ignored": (each(lambda a, t: F.cross_entropy(a, t, ignore_index=1)), (f(3, 4, 5), torch.tensor([[0, 1, 2, 1]] * 3)), CLOSE),
    "cross entropy, pairs": (pairs(F.cross_entropy), (f(3, 4, 5), i(5, 2, 4)), CLOSE),
    "nll": (each(lambda a, t: F.nll_loss(a.log_softmax(-1), t, ignore_index=1)), (f(3, 4, 5), torch.tensor([[0, 1, 2, 1]] * 3)), CLOSE),
    "loss of a model": (lambda s, x, y: vmap(lambda a, b: F.mse_loss(s.linear(a), b))(x, y), (f(3, 4), f(3, 2)), CLOSE),
    # modules
    "linear module": (lambda s, x: vmap(s.linear)(x), (f(3, 5, 4),), CLOSE),
    "modules": (lambda s, x: vmap(lambda a: s.act(s.norm(a)))(x), (f(3, 5, 4),), REMOVED),
    "embedding module": (lambda s, j: vmap(s.embed)(j), (i(6, 3, 4),), REMOVED),
    "modules of images": (lambda s, x: vmap(lambda a: s.pool(s.act(s.conv(a))))(x), (f(3, 2, 4, 6, 6),), REMOVED),
    "modules of one image": (lambda s, x: vmap(lambda a: s.pool(s.act(s.conv(a))))(x), (f(3, 4, 6, 6),), REMOVED),
    "modules of images, twice": (lambda s, x: vmap(vmap(lambda a: s.pool(s.conv(a))))(x), (f(2, 3, 1, 4, 6, 6),), REMOVED),
    # around and inside of other things
    "without gradients": (lambda s, x: without_gradients(lambda: vmap(lambda a: a.sum() * s.scale)(x)) + 1, ONE, REMOVED),
    "without gradients inside": (
        lambda s, x: vmap(lambda a: without_gradients(lambda: a.sum() * s.scale) + 1)(x), ONE, "wrap_with_set_grad_enabled"),
    "after a write": (lambda s, x: vmap(lambda a: a * 2)(x.clone().add_(1)).add_(1), ONE, REMOVED),
    "writes to a result": (lambda s, x: vmap(lambda a: a.new_zeros(2))(x).add_(x[:, :2]), ONE, REMOVED),
    "writes to what is not batched": (lambda s, x: vmap(lambda a: a * s.scale.add_(1))(x) + s.scale, ONE, REMOVED),
    # writes
    "write": (each(lambda a: a.clone().add_(1)), ONE, REMOVED),
    "function that writes": (each(lambda a: torch.relu_(a - 0.5)), ONE, REMOVED),
    "writes": (each(lambda a, b: a.clone().mul_(b).add_(1, alpha=2).clamp_(0, 1.5).sigmoid_()), TWO, REMOVED),
    "write of a number of each": (each(lambda a, b: a.clone().add_(b)), (f(3, 4), f(3)), REMOVED),
    "write of what is not batched": (lambda s, x, y: vmap(lambda a: a.clone().addcmul_(a, y))(x), (f(3, 4), f(4)), REMOVED),
    "write to a part": (each(parts_written), MATRIX, REMOVED),
    "write to an input": (each(lambda a: a.add_(1)), ONE, REMOVED),
    "write to an input, in_dims": (each(lambda a: a[1:].mul_(2), in_dims=1), ONE, REMOVED),
    "copies": (each(lambda a, b: a.clone().copy_(b)), (f(3, 4), f(3, 1).double()), REMOVED),
    "zeros and others": (each(lambda a: (a.clone().zero_(), a.clone().fill_(3), torch.zeros_like(a).add_(a))), ONE, REMOVED),
    "masks written": (each(lambda a: a.clone().masked_fill_(a > 0.5, 2.0)), ONE, REMOVED),
    "scatter in place": (each(lambda a, j: a.clone().scatter_(0, j, a * 2)), (f(3, 4), torch.tensor([[3, 1, 0, 2]] * 3)), REMOVED),
    "other forms in place": (each(lambda a: (a.clone().tril_(-1), a.clone().cumsum_(0))), (f(3, 4, 4),), REMOVED),
    "write, twice": (lambda s, x, y: vmap(vmap(lambda a, b: (a * b).add_(b).sub_(a), (None, 0)), (0, None))(x, y), (f(3), f(4)), REMOVED),
    "write outside of the inner": (lambda s, x, y: vmap(lambda r: vmap(lambda b: r.clone().add_(1) * b)(y))(x), (f(3), f(4)), REMOVED),
    "one_hot": (each(lambda a: F.one_hot(a, 3)), (i(3, 3, 4),), REMOVED),
    "one_hot, twice": (lambda s, j: vmap(vmap(lambda a: F.one_hot(a, 5)))(j), (i(3, 3, 4),), REMOVED),
    # what stays
    "random": (each(lambda a: a + torch.rand(4), randomness="different"), ONE, "draws random numbers"),
    "random, same": (each(lambda a: a + torch.rand(4), randomness="same"), ONE, "draws random numbers"),
    "dropout": (each(lambda a: F.dropout(a), randomness="different"), ONE, "draws random numbers"),
    "write through what may be a copy": (each(through_a_copy), MATRIX, "may share, or have copied"),
    "write in another dtype": (each(lambda a, b: a.half().add_(b)), (f(3, 4), f(3)), "another dtype"),
    "sizes changed in place": (each(lambda a: a.clone().transpose_(0, 1)), MATRIX, "changes sizes in place"),
    "softmax of a number": (each(lambda a: a.softmax(0)), (f(3),), "gets a tensor without dimensions"),
    "sum over a number": (each(lambda a: a.sum(0)), (f(3),), "gets a tensor without dimensions"),
    "unfold": (each(lambda a: F.unfold(a, 2)), (f(2, 1, 3, 4, 4),), "im2col"),
}  # fmt: skip

# programs with symbolic sizes: which dimensions of each input may differ
SYMBOLIC = {
    "add": [{0, 1}] * 2,
    "sum": [{0, 1}] * 2,
    "lower rank": [{0, 1}, {0}],
    "causal mask": [{0}, {0}],
    "mask by batch": [{0}, {0}],
    "views": [{0}],
    "argmaxes": [{0, 1}],
    "softmax": [{0, 1}],
    "matmul": [{0}] * 2,
    "other result": [{0}, set()],
    "layer_norm": [{0}],
    "index of each": [{0}] * 2,
    "cat": [{0}, set()],
    "mse": [{0, 1}] * 2,
    "cross entropy": [{0}] * 2,
    "convolution": [{0, 1, 3}, set(), set()],
    "pooling": [{0, 1}],
    "batch_norm": [{0, 1}, set(), set()],
    "index of each, behind": [{0}] * 2,
    "einsum": [{0}] * 2,
    "pairwise distances": [{0}, {0}],
    "ensemble": [{0}, set(), set(), set(), set()],
    "writes": [{0, 1}] * 2,
    "write to a part": [{0}],
    "one_hot": [{0, 1}],
    "a linear for each": [{0, 1}, {0}, {0}],
}


def vmap_nodes(graph: dict) -> list[str]:
    own = [node["name"] for node in graph["nodes"] if "_functorch.predispatch" in node["target"]]
    return own + [name for inner in graph["subgraphs"].values() for name in vmap_nodes(inner)]


def check_shapes(graph: dict, rebuilt: torch.fx.GraphModule, inputs: list) -> None:
    """What is said of every tensor is true of it."""
    said = {node["name"]: node["meta"] for node in graph["nodes"] if node["meta"]}
    dimensions: dict = {}

    class Nodes(torch.fx.Interpreter):
        def run_node(self, n):
            value = super().run_node(n)
            meta = said.get(n.name) or {}
            if isinstance(value, torch.Tensor) and meta.get("shape") is not None:
                assert str(value.dtype) == f"torch.{meta['dtype']}", (n.name, value.dtype, meta)
                assert len(value.shape) == len(meta["shape"]), (n.name, value.shape, meta)
                for size, expected in zip(value.shape, meta["shape"]):
                    if isinstance(expected, str) and expected.isidentifier():
                        expected = dimensions.setdefault(expected, size)
                    if isinstance(expected, str):
                        expected = eval(expected, {}, dimensions)
                    assert size == expected, (n.name, value.shape, meta)
            return value

    with torch.no_grad():
        Nodes(copy.deepcopy(rebuilt)).run(*copy.deepcopy(inputs))


def check(program, tmp_path, function, inputs, expected, dynamic=None) -> dict:
    torch.manual_seed(0)
    exported = torch.export.export(Net(function).eval(), inputs, dynamic_shapes=dynamic)
    path = str(tmp_path / "program.pt2")
    torch.export.save(exported, path)
    loaded = _exported.load(path)
    run = harness.ExportedRun(path, loaded, inputs, {})
    for rules in ([], ["--no-default-leaves"]):
        before = program.trace(path, *rules)
        done = program.run("trace", path, *rules, "-f", "json", "--pass", "remove-batch-dims")
        after = program.trace(path, *rules, "--pass", "remove-batch-dims")
        harness.check_collection(after)
        graph = after["graphs"][0]
        assert vmap_nodes(before["graphs"][0])
        if expected not in (REMOVED, CLOSE):
            assert expected in done.stderr.decode(), done.stderr.decode()
            assert graph == before["graphs"][0]
            continue
        assert not done.stderr and not vmap_nodes(graph), done.stderr.decode()
        rebuilt = harness.rebuild_exported(path, graph, loaded)
        check_shapes(graph, rebuilt, list(inputs))
        if expected == REMOVED:
            run.compare(graph)
            run.compare(program.trace(path, *rules, "--pass", "functional")["graphs"][0])
        else:
            with torch.no_grad():
                results = pytree.tree_leaves(rebuilt(*inputs)), pytree.tree_leaves(run.expected)
            for actual, wanted in zip(*results, strict=True):
                torch.testing.assert_close(actual, wanted, rtol=1e-5, atol=1e-6)
    return graph


@pytest.mark.parametrize("name", tiers.one_in(9, PROGRAMS))
def test_programs(program, tmp_path, name):
    check(program, tmp_path, *PROGRAMS[name])


@pytest.mark.parametrize("name", tiers.one_in(4, SYMBOLIC))
def test_symbolic_sizes(program, tmp_path, name):
    function, inputs, expected = PROGRAMS[name]
    dynamic = tuple({dim: torch.export.Dim.AUTO for dim in dims} or None for dims in SYMBOLIC[name])
    check(program, tmp_path, function, inputs, expected, {"args": dynamic})


@pytest.mark.parametrize("is_dynamic", [False, True])
def test_masks_of_transformers(program, tmp_path, is_dynamic):
    """Its own masks, as it makes them with vmap; torch cannot save those that read a padding mask."""
    masks = pytest.importorskip("transformers.masking_utils")
    kinds = [
        masks.causal_mask_function,
        masks.sliding_window_causal_mask_function(3),
        masks.sliding_window_bidirectional_mask_function(2),
        masks.or_masks(masks.causal_mask_function, lambda b, h, q, k: (k < 2) & (b == 1)),
    ]

    def function(s, x):
        sizes = x.shape[0], x.shape[1], x.shape[1] + 2
        return [masks.sdpa_mask(*sizes, mask_function=kind, use_vmap=True, allow_is_causal_skip=False) for kind in kinds]

    dims = {0: torch.export.Dim.AUTO, 1: torch.export.Dim.AUTO} if is_dynamic else None
    check(program, tmp_path, function, (torch.rand(2, 5, 4),), REMOVED, {"args": (dims,)})


def branches(s, x, y):
    def nested(x, y):
        rows = vmap(lambda a: a.sum())(x)
        return vmap(vmap(lambda a, b: a * b, (None, 0)), (0, None))(rows, y)

    return torch.cond(x.sum() > 0, nested, lambda x, y: vmap(lambda a: a @ s.weight)(x)[:, :3].clone(), (x, y))


def test_branches(program, tmp_path):
    """torch exports such a program, but has lost in the branches what opens and closes a vmap, and cannot run it."""
    net, path = Net(branches).eval(), str(tmp_path / "program.pt2")
    inputs = torch.rand(3, 4), torch.rand(3)
    torch.export.save(torch.export.export(net, inputs), path)
    graph = program.trace(path, "--pass", "remove-batch-dims")["graphs"][0]
    assert len(graph["subgraphs"]) == 2 and not vmap_nodes(graph)
    rebuilt = harness.rebuild_exported(path, graph, _exported.load(path))
    for given in (inputs, (-inputs[0], inputs[1])):
        weight = dict(rebuilt.named_parameters())["weight"]
        with torch.no_grad():
            net.weight.copy_(weight)
            torch.testing.assert_close(rebuilt(*given), net(*given))


class OutDims(nn.Module):
    def forward(self, x, y):
        return vmap(lambda a, b: a * b, in_dims=(0, None), out_dims=1)(x, y)


def test_out_dims(program, tmp_path):
    """A strict export writes such a program with a constant of no bytes, for a node that nobody uses."""
    path = str(tmp_path / "program.pt2")
    x, y = torch.rand(3, 4), torch.rand(4)
    torch.export.save(torch.export.export(OutDims(), (x, y), strict=True), path)
    for options, has_constant in (((), True), (("--pass", "functional"), False)):
        graph = program.trace(path, "--no-default-leaves", *options)["graphs"][0]
        assert bool(graph["constants"]) == has_constant == bool(vmap_nodes(graph))
        rebuilt = harness.rebuild_exported(path, graph, _exported.load(path))
        assert torch.equal(rebuilt(x, y), x.unsqueeze(0).mul(y).squeeze(0).t())


@pytest.mark.parametrize("out_dim", [1, -1])
def test_out_dims_of_a_saved_collection(program, tmp_path, out_dim):
    """Only a strict export makes a program with out_dims, so this one is made of another, and `fxtrace render` runs the pass."""
    path, saved = str(tmp_path / "program.pt2"), tmp_path / "saved.json"
    x = torch.rand(3, 4, 5)
    torch.export.save(torch.export.export(Net(each(lambda a: a.softmax(-1) * 2)).eval(), (x,)), path)
    collection = program.trace(path, "--no-default-leaves")
    expected = vmap(lambda a: a.softmax(-1) * 2, out_dims=out_dim)(x)
    removed = next(node for node in collection["graphs"][0]["nodes"] if "_remove_batch_dim" in node["target"])
    removed["args"][3] = out_dim
    removed["meta"]["shape"] = list(expected.shape)
    saved.write_text(json.dumps(collection))
    graph = json.loads(program.stdout("render", str(saved), "--pass", "remove-batch-dims"))["graphs"][0]
    assert not vmap_nodes(graph)
    rebuilt = harness.rebuild_exported(path, graph, _exported.load(path))
    assert harness.difference(expected, rebuilt(x)) is None


def arguments_of(draw, name):
    """Of one sample, as shapes."""
    size = lambda: draw.choice([1, 2, 3, 4])  # noqa: E731
    if name in ("T", "norm", "vector norm"):
        return [[size() for _ in range(draw.choice([0, 1, 2, 2, 3]))]]
    if name in ("matrix norm", "rot90"):
        return [[size() for _ in range(draw.choice([2, 2, 3]))]]
    if name == "meshgrid":
        return [[size()] if draw.random() < 0.8 else [] for _ in range(draw.choice([1, 2, 3]))]
    if name == "cross":
        shape = [size() for _ in range(draw.choice([0, 1, 2]))]
        shape.insert(draw.randrange(len(shape) + 1), 3)
        return [shape, [1 if s != 3 and draw.random() < 0.3 else s for s in shape]]
    if name == "searchsorted":
        values = [size() for _ in range(draw.choice([0, 1, 1, 2, 3]))]
        rows = values[:-1] if len(values) > 1 and draw.random() < 0.5 else []
        return [[*rows, 5], values]
    return [[size() for _ in range(draw.choice([0, 1, 2, 3]))] for _ in "ab"]  # kron


def drawn_function(draw, name, shapes):
    rank = len(shapes[0])
    keep = draw.random() < 0.5 and rank > 0
    if name == "norm":
        order = draw.choice([None, 2, 1, float("inf"), -1, 0.5] if rank == 1 else [None, 1, "fro", -1, "nuc"] if rank == 2 else [None])
        dim = draw.randrange(-rank, rank) if rank and order is None and draw.random() < 0.5 else None
        return lambda a: torch.linalg.norm(a, order, dim, keep)
    if name == "vector norm":
        dims = draw.sample(range(rank), draw.randrange(1, rank + 1)) if rank and draw.random() < 0.5 else None
        order = draw.choice([2, 1, 3])
        return lambda a: torch.linalg.vector_norm(a, order, dims, keep)
    if name == "matrix norm":
        order, dims = draw.choice(["fro", "nuc", 1, float("-inf"), 2]), draw.sample(range(-rank, 0), 2) if draw.random() < 0.5 else (-2, -1)
        return lambda a: torch.linalg.matrix_norm(a, order, dims, keep)
    if name == "rot90":
        k, dims = draw.randrange(-2, 5), draw.sample(range(rank), 2)
        return lambda a: torch.rot90(a, k, dims)
    if name == "meshgrid":
        indexing = draw.choice(["ij", "xy"])
        return lambda *given: [*torch.meshgrid(*given, indexing=indexing)]
    if name == "searchsorted":
        right, half = draw.random() < 0.5, draw.random() < 0.5
        return lambda a, b: torch.searchsorted(a.sort()[0], b, right=right, out_int32=half)
    return {"T": lambda a: a.T, "cross": torch.cross, "kron": torch.kron}[name]


def drawn_program(draw, name):
    """A function under one or two vmaps, and its inputs; nothing where torch itself refuses it."""
    shapes = arguments_of(draw, name)
    function, inputs = drawn_function(draw, name, shapes), list(shapes)
    for _ in range(draw.choice([1, 1, 2])):
        batch, dims = draw.choice([1, 2, 3]), [None] * len(inputs)
        while all(dim is None for dim in dims):
            dims = [draw.randrange(len(shape) + 1) if draw.random() < 0.7 else None for shape in inputs]
        inputs = [shape if dim is None else [*shape[:dim], batch, *shape[dim:]] for shape, dim in zip(inputs, dims)]
        function = vmap(function, in_dims=tuple(dims))
    tensors = [torch.rand(shape) for shape in inputs]
    try:
        group = op_samples.Calls([op_samples.Sample(name, function, tensors)])
        torch.export.save(torch.export.export(group, tuple(tensors)), io.BytesIO())
    except (RuntimeError, IndexError, ValueError):
        return None
    return function, tensors


@pytest.mark.parametrize("name", tiers.in_turn([], ["T", "norm", "vector norm", "matrix norm", "rot90", "meshgrid", "cross", "searchsorted", "kron"], 3))
def test_drawn(program, tmp_path, name):
    """Equal to torch.vmap to the bit, but for sums that are added up in another order."""
    draw, removed = random.Random(name), 0
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        drawn = [made for made in (drawn_program(draw, name) for _ in range(60)) if made]
        for start in range(0, len(drawn), 15):
            calls = [op_samples.Sample(name, function, tensors) for function, tensors in drawn[start : start + 15]]
            inputs, path = tuple(tensor for call in calls for tensor in call.tensors), str(tmp_path / "program.pt2")
            group = op_samples.Calls(calls)
            torch.export.save(torch.export.export(group, inputs), path)
            graph = program.trace(path, "--no-default-leaves", "--pass", "remove-batch-dims")["graphs"][0]
            removed += len(calls) - sum("increment_nesting" in node for node in vmap_nodes(graph))
            rebuilt = harness.rebuild_exported(path, graph, _exported.load(path))
            check_shapes(graph, rebuilt, list(inputs))
            for result, wanted in zip(pytree.tree_leaves(rebuilt(*inputs)), pytree.tree_leaves(group(*inputs)), strict=True):
                if "norm" in name:
                    torch.testing.assert_close(result, wanted, rtol=1e-5, atol=1e-6)
                else:
                    assert torch.equal(result, wanted)
    assert len(drawn) > 30 and removed > 0.9 * len(drawn)


def over_a_batch(sample, batched: str):
    """torch's own sample of an operator under vmap: of three, those at the ends are the same."""
    tensors, dims = [], []
    for i, value in enumerate(sample.tensors):
        if batched == "all" or (batched == "first") == (i == 0):
            tensors.append(torch.stack([value, value.flip(tuple(range(value.dim()))), value], dim=-1 if i == 1 else 0))
            dims.append(value.dim() if i == 1 else 0)
        else:
            tensors.append(value)
            dims.append(None)
    if all(dim is None for dim in dims):
        return None
    function = vmap(sample.function, in_dims=tuple(dims))
    try:
        results = pytree.tree_leaves(function(*tensors))
        torch.export.export(op_samples.Calls([op_samples.Sample(sample.operator, function, tensors)]), tuple(tensors))
    except Exception:  # torch has no rule for it, or cannot export its own
        return None
    return op_samples.Sample(sample.operator, function, tensors) if all(map(torch.is_tensor, results)) else None


@pytest.mark.parametrize("batched", tiers.in_turn([], ["all", "first", "others"], 1))
def test_operators(program, tmp_path, batched):
    """Every operator with a rule, on torch's own samples."""
    calls, removed = [], 0
    with warnings.catch_warnings(), torch.no_grad(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        for sample in op_samples.samples(1, dtypes=(torch.float32,)):
            call = over_a_batch(sample, batched) if len(sample.tensors) > 1 or batched == "all" else None
            calls += [call] if call else []
    for start in range(0, len(calls), 50):
        group = op_samples.Calls(calls[start : start + 50])
        inputs = tuple(tensor for call in group.calls for tensor in call.tensors)
        path = str(tmp_path / "program.pt2")
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            torch.export.save(torch.export.export(group, inputs), path)
            loaded = _exported.load(path)
            expected = group(*copy.deepcopy(inputs))
        before = program.trace(path, "--no-default-leaves")["graphs"][0]
        graph = program.trace(path, "--no-default-leaves", "--pass", "remove-batch-dims")["graphs"][0]
        removed += len(vmap_nodes(before)) - len(vmap_nodes(graph))
        rebuilt = harness.rebuild_exported(path, graph, loaded)
        check_shapes(graph, rebuilt, list(inputs))
        with torch.no_grad():
            actual = rebuilt(*copy.deepcopy(inputs))
        for result, wanted in zip(pytree.tree_leaves(actual), expected, strict=True):
            torch.testing.assert_close(result, wanted, rtol=1e-4, atol=1e-4, equal_nan=True)
    assert removed > 400
