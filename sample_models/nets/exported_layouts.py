"""The same programs in other archives: several in one, the layout before torch 2.8, weights in one record."""

import torch
from torch import Tensor, nn

from nets.exporting import export, exported
from nets.sample import Sample, call, tensor


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(8, 4)
        self.register_buffer("scale", torch.rand(4))

    def forward(self, tokens: Tensor) -> Tensor:
        return self.embedding(tokens) * self.scale


class Decoder(nn.Module):
    def __init__(self, weight: nn.Parameter) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(4)
        self.head = nn.Linear(4, 8, bias=False)
        self.head.weight = weight

    def forward(self, hidden: Tensor) -> Tensor:
        return self.head(self.norm(hidden)) + torch.ones(8)


def several() -> dict[str, torch.export.ExportedProgram]:
    """The two share a weight."""
    encoder = Encoder().eval()
    return {
        "encoder": export(encoder, TOKENS),
        "decoder": export(Decoder(encoder.embedding.weight).eval(), HIDDEN),
    }


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = Encoder()
        self.decoder = Decoder(self.encoder.embedding.weight)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.decoder(self.encoder(tokens))


TOKENS = call(tensor(2, 3, dtype="int64"))
HIDDEN = call(tensor(2, 3, 4))

SAMPLES = [
    Sample(
        "exported_several",
        "exported, two programs",
        "two programs in one archive; --model chooses",
        several,
        [HIDDEN],
        kind="exported_program",
        model="decoder",
    ),
    Sample(
        "exported_old_layout",
        "exported, in the layout before torch 2.8",
        "records at the top of the archive",
        exported(Net, TOKENS),
        [TOKENS],
        kind="exported_program",
        layout="old",
    ),
    Sample(
        "exported_one_weights_record",
        "exported, in a layout of torch 2.8",
        "weights and constants in one record each",
        exported(Net, TOKENS),
        [TOKENS],
        kind="exported_program",
        layout="one record",
    ),
]
