"""Tests shapes of values other than dense floats: sparse graphs, quantized models, grouped products, indices from a condition.
Every node is compared with a run."""

import copy
import json
import warnings

import pytest
import shapes
import test_shapes
import torch
import torch.ao.quantization as quantization
from fxtrace import _torchscript
from torch import Tensor, nn


class GraphConvolution(nn.Module):
    """As libraries of graph networks write it."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 5)

    def forward(self, x: Tensor, edges: Tensor, weight: Tensor):
        adjacency = torch.sparse_coo_tensor(edges, weight, [x.size(0), x.size(0)]).coalesce()
        degree = torch.sparse.sum(adjacency, dim=(1,)).to_dense()
        y = torch.sparse.mm(adjacency, self.linear(x))
        if adjacency.is_sparse:
            y = y + torch.mm(adjacency.t(), y) + adjacency @ y
        edges, weight = adjacency.indices(), adjacency.values()
        normed = degree.pow(-0.5)[edges[0]] * weight
        return y, normed, (adjacency * 2.0).to_dense(), torch.addmm(y, adjacency, y)


class ToSparse(nn.Module):
    def forward(self, x: Tensor):
        sparse = torch.relu(x).to_sparse()
        return torch.sparse.mm(sparse, x.t()), (sparse + sparse).to_dense(), sparse.transpose(0, 1).to_dense()


class Where(nn.Module):
    def forward(self, x: Tensor):
        rows, columns = torch.where(x > 0)
        return x[rows, columns], torch.where(x > 0)[1].float().mean(), torch.where(x > 0, x, 0.0)


class Experts(nn.Module):
    """A mixture of experts with all experts in one product."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(3, 16, 32).bfloat16())

    def forward(self, x: Tensor, offsets: Tensor):
        return torch._grouped_mm(x, self.weight, offs=offsets)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.quant = quantization.QuantStub()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.relu = nn.ReLU()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.hidden = nn.Linear(8, 6)
        self.relu2 = nn.ReLU()
        self.out = nn.Linear(6, 4)
        self.dequant = quantization.DeQuantStub()

    def forward(self, x: Tensor):
        x = self.pool(self.relu(self.conv(self.quant(x)))).flatten(1)
        return self.dequant(self.out(self.relu2(self.hidden(x))))


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 6)
        self.lstm = nn.LSTM(6, 5, batch_first=True, bidirectional=True)
        self.gru = nn.GRU(10, 3, batch_first=True)

    def forward(self, x: Tensor):
        y, (hidden, _) = self.lstm(self.linear(x))
        return self.gru(y)[0], hidden


def static_quantized():
    model = Classifier().eval()
    model.qconfig = quantization.get_default_qconfig("fbgemm")
    quantization.fuse_modules(model, [["conv", "relu"], ["hidden", "relu2"]], inplace=True)
    quantization.prepare(model, inplace=True)
    model(torch.rand(2, 3, 8, 8))
    return quantization.convert(model, inplace=True)


class Convolutions(nn.Module):
    """Their packed parameters are constants once the model is frozen."""

    def __init__(self):
        super().__init__()
        self.quant, self.dequant = quantization.QuantStub(), quantization.DeQuantStub()
        self.one = nn.Conv1d(4, 8, 3, stride=2, padding=1, groups=2)
        self.two = nn.Conv2d(2, 6, (1, 3), dilation=2)
        self.three = nn.Conv3d(1, 2, (1, 2, 3), stride=(1, 2, 1))
        self.join = torch.ao.nn.quantized.FloatFunctional()

    def forward(self, x: Tensor):
        x = self.one(self.quant(x)).unflatten(1, (2, 4))
        x = self.join.cat([x, x], 2)
        return self.dequant(self.three(self.two(x).unsqueeze(1)))


def frozen_quantized():
    model = Convolutions().eval()
    model.qconfig = quantization.default_qconfig
    quantization.prepare(model, inplace=True)
    model(torch.rand(2, 4, 17))
    return quantization.convert(model, inplace=True)


def dynamic_quantized():
    return quantization.quantize_dynamic(Tagger().eval(), {nn.Linear, nn.LSTM, nn.GRU}, dtype=torch.qint8)


MODELS = {
    "graph_convolution": (
        GraphConvolution,
        lambda: (torch.rand(6, 4), torch.randint(0, 6, (2, 9)), torch.rand(9)),
    ),
    "to_sparse": (ToSparse, lambda: (torch.randn(3, 4),)),
    "where": (Where, lambda: (torch.randn(3, 4),)),
    "experts": (Experts, lambda: (torch.rand(12, 16).bfloat16(), torch.tensor([4, 8, 12], dtype=torch.int32))),
    "static_quantized": (static_quantized, lambda: (torch.rand(2, 3, 8, 8),)),
    "frozen_quantized": (frozen_quantized, lambda: (torch.rand(2, 4, 17),)),
    "dynamic_quantized": (dynamic_quantized, lambda: (torch.rand(2, 7, 4),)),
}


@pytest.mark.parametrize("way", ["scripted", "traced"])
@pytest.mark.parametrize("name", MODELS)
def test_shapes_are_those_of_a_run(program, tmp_path, name, way):
    torch.manual_seed(0)
    torch.backends.quantized.engine = "fbgemm"
    make, make_inputs = MODELS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, inputs = make().eval(), make_inputs()
        archive = torch.jit.script(model) if way == "scripted" else torch.jit.trace(model, copy.deepcopy(inputs))
        if make is frozen_quantized:
            archive = torch.jit.freeze(archive.eval())
    path = str(tmp_path / "model.pt")
    archive.save(path)
    collection = json.loads(program.stdout("trace", path, "--no-default-leaves", *test_shapes.options_for(inputs)))
    graph = collection["graphs"][0]
    assert all(module["status"] != "failed" for module in collection["modules"])
    report, actual = shapes.compare(path, graph, inputs, {}, _torchscript.load(path))
    assert report.tensors > 0 and not report.unknown, report.unknown
    expected = archive(*inputs)
    expected = expected if isinstance(expected, tuple) else (expected,)
    actual = actual if isinstance(actual, tuple) else (actual,)
    for ours, theirs in zip(actual, expected, strict=True):
        assert torch.allclose(ours, theirs)
