"""Statically quantized Conv2d and Linear, with packed parameters."""

import torch
from torch import Tensor, nn

from nets.sample import Sample, call, tensor


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.quant = torch.ao.quantization.QuantStub()
        self.conv = nn.Conv2d(2, 4, 3, padding=1)
        self.relu = nn.ReLU()
        self.linear = nn.Linear(4 * 4 * 4, 3)
        self.dequant = torch.ao.quantization.DeQuantStub()

    def forward(self, x: Tensor) -> Tensor:
        x = self.quant(x)
        x = self.relu(self.conv(x))
        x = torch.flatten(x, 1)
        return self.dequant(self.linear(x))


def quantized() -> torch.jit.ScriptModule:
    torch.backends.quantized.engine = "fbgemm"
    net = Net().eval()
    # Everything that is measured is a sum of few multiples of 1/64, which no processor rounds.
    net.qconfig = torch.ao.quantization.QConfig(
        activation=torch.ao.quantization.MinMaxObserver.with_args(reduce_range=True),
        weight=torch.ao.quantization.default_per_channel_weight_observer,
    )
    for parameter in net.parameters():
        parameter.data = torch.round(parameter.data * 64) / 64
    torch.ao.quantization.fuse_modules(net, [["conv", "relu"]], inplace=True)
    torch.ao.quantization.prepare(net, inplace=True)
    for _ in range(4):
        net(torch.randint(-4, 5, (2, 2, 4, 4)).float())
    torch.ao.quantization.convert(net, inplace=True)
    return torch.jit.script(net)


SAMPLES = [
    Sample(
        "quantized",
        "scripted",
        "torch.ao.nn.quantized modules with packed parameters; needs fbgemm to be run",
        quantized,
        [call(tensor(2, 2, 4, 4))],
    ),
]
