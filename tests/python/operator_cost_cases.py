"""Provides models of one operator with known multiply-accumulates, for every family in docs/reference/costs.md.

What a model costs is half of what torch.utils.flop_counter counts while it runs, which sees the matrix products
and convolutions that an operator is made of.  Where one kernel does it all, the counter sees nothing, and the
number stands here, written as the definition has it.
"""

import contextlib
import dataclasses
import math
from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode


class Call(nn.Module):
    """A function as a model."""

    def __init__(self, function: Callable[..., torch.Tensor]):
        super().__init__()
        self.function = function

    def forward(self, *args: torch.Tensor) -> torch.Tensor:
        return self.function(*args)


@dataclasses.dataclass
class Case:
    name: str
    model: Callable[[], nn.Module]
    inputs: Callable[[], tuple]
    macs: int | None = None  # None: what the counter counts
    exported: bool = True  # torch.export takes it


CASES: list[Case] = []


def call(name: str, function: Callable, *sizes: tuple[int, ...], macs: int | None = None) -> None:
    CASES.append(Case(name, lambda: Call(function), lambda: tuple(torch.randn(*s) for s in sizes), macs))


def layer(
    name: str, model: Callable[[], nn.Module], *sizes: tuple[int, ...], macs: int | None = None
) -> None:
    CASES.append(Case(name, model, lambda: tuple(torch.randn(*s) for s in sizes), macs))


@contextlib.contextmanager
def made_of_products() -> Iterator[None]:
    """Layers that have kernels of their own are done by the products that they are made of."""
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with torch.backends.mkldnn.flags(enabled=False), sdpa_kernel(SDPBackend.MATH):
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)


def counted_macs(model: nn.Module, inputs: tuple) -> int:
    with torch.no_grad(), made_of_products(), FlopCounterMode(display=False) as counter:
        model(*inputs)
    flops = counter.get_total_flops()
    assert flops % 2 == 0
    return flops // 2


def expected_macs(case: Case, model: nn.Module, inputs: tuple) -> int:
    counted = counted_macs(model, inputs)
    if case.macs is None:
        return counted
    assert counted == 0, "the counter knows it: leave the number out"
    return case.macs


def expected_flops(case: Case, macs: int) -> int:
    """What the counter counts: nothing where the number stands here."""
    return 2 * macs if case.macs is None else 0


# ---- Matrix products ----

call("mm", torch.mm, (4, 3), (3, 5))
call("addmm", torch.addmm, (5,), (4, 3), (3, 5))
call("bmm", torch.bmm, (2, 4, 3), (2, 3, 5))
call("baddbmm", torch.baddbmm, (2, 4, 5), (2, 4, 3), (2, 3, 5))
call("addbmm", torch.addbmm, (4, 5), (2, 4, 3), (2, 3, 5), macs=2 * 4 * 3 * 5)
call("mv", torch.mv, (4, 3), (3,), macs=4 * 3)
call("addmv", torch.addmv, (4,), (4, 3), (3,), macs=4 * 3)
call("dot", torch.dot, (7,), (7,), macs=7)
call("vdot", torch.vdot, (7,), (7,), macs=7)
call("vecdot", torch.linalg.vecdot, (2, 1, 3), (5, 3), macs=2 * 5 * 3)
call("inner", torch.inner, (2, 3), (4, 3))
call("inner of vectors", torch.inner, (3,), (3,), macs=3)
call("matmul of vectors", torch.matmul, (3,), (3,), macs=3)
call("matmul 2, 1", torch.matmul, (4, 3), (3,), macs=4 * 3)
call("matmul 3, 1", torch.matmul, (2, 4, 3), (3,), macs=2 * 4 * 3)
call("matmul 1, 2", torch.matmul, (3,), (3, 4))
call("matmul 1, 3", torch.matmul, (3,), (2, 3, 4))
call("matmul 2, 2", torch.matmul, (5, 3), (3, 4))
call("matmul 3, 2", torch.matmul, (2, 5, 3), (3, 4))
call("matmul 2, 3", torch.matmul, (5, 3), (2, 3, 4))
call("matmul, batches broadcast", torch.matmul, (2, 1, 4, 3), (5, 3, 6))
call("linear", F.linear, (2, 6, 3), (4, 3), (4,))
call("linear of a vector", F.linear, (3,), (4, 3))
call("linear with a vector", F.linear, (5, 3), (3,), macs=5 * 3)
layer("Linear", lambda: nn.Linear(3, 4, bias=False), (2, 6, 3))
call("tensordot", lambda a, b: torch.tensordot(a, b, ([1, 2], [1, 0])), (2, 3, 4), (4, 3, 5))
call("tensordot of 1 and 3", lambda a, b: torch.tensordot(a, b, ([1, 2], [1, 0])), (2, 1, 4), (4, 3, 5))
call("tensordot of everything", lambda a, b: torch.tensordot(a, b, 2), (3, 4), (3, 4), macs=3 * 4)
call("multi_dot", lambda *a: torch.linalg.multi_dot(a), (2, 30), (30, 4), (4, 50))
call("multi_dot of a vector", lambda *a: torch.linalg.multi_dot(a), (30,), (30, 4), (4, 50))
call("multi_dot of four", lambda *a: torch.linalg.multi_dot(a), (10, 30), (30, 5), (5, 60), (60, 2))
call("chain_matmul", lambda *a: torch.chain_matmul(*a), (10, 30), (30, 5), (5, 60), (60, 2))
for power in (0, 1, 2, 3, 5, 7, 10):
    call(f"matrix_power {power}", lambda a, n=power: torch.linalg.matrix_power(a, n), (4, 4))
for function in (torch.cov, torch.corrcoef):
    CASES.append(
        Case(function.__name__, lambda f=function: Call(f), lambda: (torch.randn(3, 10),), exported=False)
    )
call("affine_grid", lambda a: F.affine_grid(a, [2, 3, 5, 7], align_corners=False), (2, 2, 3), macs=2 * 35 * 6)
layer("Bilinear", lambda: nn.Bilinear(3, 5, 7), (2, 4, 3), (2, 4, 5), macs=8 * 7 * 5 * (3 + 1))
call("kron", torch.kron, (2, 3), (4, 5))
call("outer", torch.outer, (3,), (4,))
call("addr", torch.addr, (3, 4), (3,), (4,))
CASES.append(
    Case(
        "int_mm",
        lambda: Call(torch._int_mm),
        lambda: (torch.ones(20, 16, dtype=torch.int8), torch.ones(16, 8, dtype=torch.int8)),
        macs=20 * 16 * 8,
    )
)

# ---- Einstein sums: without opt_einsum, from the left ----

for equation, sizes in [
    ("i,j->ij", [(3,), (4,)]),
    ("ij,jk->ik", [(2, 3), (3, 4)]),
    ("ij,jk", [(2, 3), (3, 4)]),
    ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 5)]),
    ("bij,bjk->bik", [(7, 2, 3), (7, 3, 4)]),
    ("bij,ij->b", [(7, 2, 3), (2, 3)]),
    ("ii->i", [(3, 3)]),
    ("ij->i", [(3, 4)]),
    ("...ij,jk->...ik", [(2, 6, 3, 4), (4, 5)]),
    ("...ij,jk->ik", [(2, 6, 3, 4), (4, 5)]),
    ("ij,kl->i", [(2, 3), (4, 5)]),
    ("bn,anm,bm->ba", [(2, 5), (3, 5, 4), (2, 4)]),
    ("ij,j->i", [(2, 3), (1,)]),
    ("i,i", [(3,), (3,)]),
    ("bhqd,bhkd->bhqk", [(2, 3, 4, 5), (2, 3, 6, 5)]),
    ("ii,ij->j", [(3, 3), (3, 4)]),
    ("...i,...i->...", [(4, 1, 3), (1, 5, 3)]),
    ("...i, ...i -> ...", [(4, 6, 3), (6, 3)]),
    ("ab,cd->abcd", [(2, 3), (4, 5)]),
    ("ijk,k->ij", [(2, 3, 4), (4,)]),
    ("i,ij,j->", [(3,), (3, 4), (4,)]),
    ("bhwc,hkc->bhwk", [(2, 4, 5, 3), (4, 7, 3)]),
    ("abc,cd,bde,ef->af", [(2, 3, 4), (4, 5), (3, 5, 6), (6, 7)]),
]:
    call(f"einsum {equation}", lambda *a, e=equation: torch.einsum(e, *a), *sizes)

# ---- Distances ----

call("cdist of few", torch.cdist, (2, 4, 3), (2, 5, 3), macs=0)
call("cdist of many", torch.cdist, (2, 40, 3), (2, 5, 3), macs=2 * 40 * 5 * (3 + 2))
call("cdist by sums", lambda a, b: torch.cdist(a, b, p=1.0), (2, 40, 3), (2, 5, 3), macs=0)
call("pdist", torch.pdist, (6, 3), macs=0)

# ---- Convolutions ----

call("conv1d", F.conv1d, (2, 4, 10), (6, 4, 3))
call("conv2d", lambda x, w, b: F.conv2d(x, w, b, 2, 1), (2, 3, 9, 8), (4, 3, 3, 3), (4,))
call("conv2d without a batch", F.conv2d, (3, 8, 8), (4, 3, 3, 3))
call("conv2d same", lambda x, w: F.conv2d(x, w, padding="same", groups=2), (2, 4, 8, 8), (6, 2, 3, 3))
call("conv2d valid", lambda x, w: F.conv2d(x, w, padding="valid", groups=2), (2, 4, 8, 8), (6, 2, 3, 3))
call("conv2d dilated", lambda x, w: F.conv2d(x, w, dilation=2), (2, 4, 8, 8), (6, 4, 3, 3))
call("conv2d depthwise", lambda x, w: F.conv2d(x, w, padding=1, groups=8), (2, 8, 7, 7), (16, 1, 3, 3))
call("conv3d", F.conv3d, (1, 2, 5, 6, 7), (4, 2, 3, 3, 3))
call("conv_transpose1d", F.conv_transpose1d, (2, 4, 10), (4, 6, 3))
call(
    "conv_transpose2d",
    lambda x, w: F.conv_transpose2d(x, w, stride=2, output_padding=1, groups=2),
    (2, 4, 8, 8),
    (4, 3, 3, 3),
)
call("conv_transpose2d without a batch", F.conv_transpose2d, (4, 8, 8), (4, 3, 3, 3))
call("conv_transpose3d", F.conv_transpose3d, (1, 2, 5, 6, 7), (2, 4, 3, 3, 3))
call("conv_tbc", lambda x, w, b: torch.conv_tbc(x, w, b, 1), (5, 2, 3), (3, 3, 4), (4,), macs=5 * 2 * 4 * 9)
layer("Conv2d circular", lambda: nn.Conv2d(3, 4, 3, padding=1, padding_mode="circular"), (2, 3, 8, 8))
layer("LazyConv2d", lambda: nn.Conv2d(4, 8, (3, 1), (2, 1), groups=4), (2, 4, 8, 8))

# ---- Attention ----

attention = F.scaled_dot_product_attention
call("attention", attention, (2, 3, 4, 5), (2, 3, 6, 5), (2, 3, 6, 7))
call("attention of equal widths", attention, (2, 3, 4, 8), (2, 3, 6, 8), (2, 3, 6, 8))
call("attention of one head", attention, (3, 4, 8), (3, 6, 8), (3, 6, 8))
call("causal", lambda *a: attention(*a, is_causal=True), (2, 3, 6, 8), (2, 3, 6, 8), (2, 3, 6, 8))
call("grouped", lambda *a: attention(*a, enable_gqa=True), (2, 4, 4, 8), (2, 2, 6, 8), (2, 2, 6, 8))
call("attention, broadcast", attention, (2, 3, 4, 8), (1, 1, 6, 8), (1, 1, 6, 8))
call("attention with a mask", attention, (2, 3, 4, 8), (2, 3, 6, 8), (2, 3, 6, 8), (4, 6))


class SelfAttention(nn.Module):
    def __init__(self, weights: bool):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.weights = weights

    def forward(self, x):
        return self.attention(x, x, x, need_weights=self.weights)[0]


layer("MultiheadAttention", lambda: SelfAttention(False), (2, 5, 8))
layer("MultiheadAttention with weights", lambda: SelfAttention(True), (2, 5, 8))
layer("TransformerEncoderLayer", lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (2, 5, 8))
layer("TransformerDecoderLayer", lambda: nn.TransformerDecoderLayer(8, 2, 16), (5, 2, 8), (7, 2, 8))

# ---- Recurrent layers: as products where oneDNN does not do them ----

layer("LSTM", lambda: nn.LSTM(3, 4, 2), (5, 2, 3))
layer("LSTM, batch first", lambda: nn.LSTM(3, 4, 2, batch_first=True), (2, 5, 3))
layer("LSTM in both directions", lambda: nn.LSTM(3, 4, 2, bidirectional=True), (5, 2, 3))
layer("LSTM with projections", lambda: nn.LSTM(3, 4, 2, bidirectional=True, proj_size=3), (5, 2, 3))
layer("LSTM without biases", lambda: nn.LSTM(3, 4, bias=False), (5, 2, 3))
layer("LSTM without a batch", lambda: nn.LSTM(3, 4), (5, 3))
layer("GRU", lambda: nn.GRU(3, 4, 2, bidirectional=True), (5, 2, 3))
layer("RNN", lambda: nn.RNN(3, 4, 2), (5, 2, 3))
layer("RNN of ReLU", lambda: nn.RNN(3, 4, nonlinearity="relu"), (5, 2, 3))
layer("LSTMCell", lambda: nn.LSTMCell(3, 4), (2, 3))
layer("GRUCell", lambda: nn.GRUCell(3, 4), (2, 3))
layer("RNNCell", lambda: nn.RNNCell(3, 4), (2, 3))

# ---- Fourier transforms: FFTW's convention ----


def complex_transform(size: int) -> int:
    return round(2.5 * size * math.log2(size))


def real_transform(size: int) -> int:
    return round(1.25 * size * math.log2(size))


call("fft", lambda x: torch.fft.fft(x).real, (3, 8), macs=3 * real_transform(8))
call("fft of 12", lambda x: torch.fft.fft(x, 12).real, (3, 8), macs=3 * real_transform(12))
call("fft of complex numbers", lambda x: torch.fft.fft(x + 1j).real, (3, 8), macs=3 * complex_transform(8))
call("rfft", lambda x: torch.fft.rfft(x).real, (3, 8), macs=3 * real_transform(8))
call("rfft2", lambda x: torch.fft.rfft2(x).real, (3, 4, 8), macs=3 * real_transform(32))
call("fftn", lambda x: torch.fft.fftn(x).real, (3, 4, 8), macs=complex_transform(96))
call("hfft", torch.fft.hfft, (3, 5), macs=3 * real_transform(8))
call(
    "stft",
    lambda x, w: torch.stft(x, 8, 4, window=w, return_complex=False),
    (3, 100),
    (8,),
    macs=3 * 26 * real_transform(8),
)

# ---- What does no multiply-accumulate ----

call("elementwise", lambda a, b: torch.relu(a * b + a), (4, 3), (4, 3))
call("reduction", lambda a: a.softmax(-1).sum(-1), (4, 3))
call("shape", lambda a: torch.cat([a.view(-1), a.t().reshape(-1)]), (4, 3))
call("cross", torch.linalg.cross, (4, 3), (4, 3))
layer("BatchNorm2d", lambda: nn.BatchNorm2d(3), (2, 3, 4, 4))
layer("LayerNorm", lambda: nn.LayerNorm(3), (2, 3))
layer("GroupNorm", lambda: nn.GroupNorm(2, 4), (2, 4, 5))
layer("MaxPool2d", lambda: nn.MaxPool2d(2), (2, 3, 4, 4))
layer("AdaptiveAvgPool2d", lambda: nn.AdaptiveAvgPool2d(1), (2, 3, 4, 4))
layer("Upsample", lambda: nn.Upsample(scale_factor=2, mode="bilinear"), (2, 3, 4, 4))
call("grid_sample", lambda a, b: F.grid_sample(a, b, align_corners=False), (2, 3, 4, 4), (2, 5, 5, 2))
call("topk", lambda a: torch.topk(a, 2)[0], (4, 3))
CASES.append(
    Case("Embedding", lambda: nn.Embedding(10, 4), lambda: (torch.randint(10, (2, 3)),)),
)
CASES.append(
    Case("EmbeddingBag", lambda: nn.EmbeddingBag(10, 4), lambda: (torch.randint(10, (2, 3)),)),
)

assert len({case.name for case in CASES}) == len(CASES)
