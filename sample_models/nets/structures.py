"""Lists, dicts, tuples, named tuples, optionals, enums and text, and mutation that several names see."""

from enum import Enum
from typing import Dict, List, NamedTuple, Optional, Tuple

import torch
from torch import Tensor, nn

from nets.sample import Sample, call, tensor


class Mode(Enum):
    PLAIN = "plain"
    SCALED = "scaled"


class Pair(NamedTuple):
    left: Tensor
    right: Tensor
    label: str


class Split(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 6)

    def forward(self, x: Tensor, label: str) -> Pair:
        left, right = self.linear(x).chunk(2, dim=-1)
        return Pair(left, right, label=f"{label}-{len(label)}")


def record(log: Dict[str, List[Tensor]], key: str, value: Tensor) -> int:
    if key not in log:
        log[key] = []
    log[key].append(value)
    return len(log[key])


class Net(nn.Module):
    def __init__(self, mode: Mode) -> None:
        super().__init__()
        self.mode = mode
        self.split = Split()
        self.table = {"one": 1.0, "two": 2.0}

    def merge(self, pair: Pair, bias: Optional[Tensor]) -> Tensor:
        out = pair.left + pair.right
        if bias is not None:
            out = out + bias
        return out

    def forward(
        self, x: Tensor, extra: Tuple[Tensor, List[Tensor]]
    ) -> Tuple[Tensor, Dict[str, List[Tensor]]]:
        log: Dict[str, List[Tensor]] = {}
        alias = log
        pair = self.split(x, "pair")
        scale = 1.0
        if self.mode == Mode.SCALED:
            scale = self.table["two"] * float(len(pair.label))
        bias: Optional[Tensor] = None
        for _ in range(2):
            merged = self.merge(pair, bias)
            bias = merged * scale
            record(log, pair.label, merged)
        first, rest = extra
        items = [first, first * 2]
        same = items
        same.extend([rest[0], rest[1] * 2])
        same[0] = items[1] - 1
        last = items.pop()
        items.insert(0, last)
        record(alias, "{}/{}".format(self.mode.value, len(items)), torch.cat(items))
        if "missing" in log:
            last = last + 100
        names = list(log.keys())
        names.sort()
        parts = [log[name][-1].sum() for name in names]
        return torch.stack(parts) + last.sum(), alias


SAMPLES = [
    Sample(
        "structures",
        "scripted",
        "named tuples, enums, optionals, f-strings, lists and dicts seen by several names",
        lambda: torch.jit.script(Net(Mode.SCALED).eval()),
        [call(tensor(2, 4), {"tuple": [tensor(2, 3, seed=1), [tensor(1, 3, seed=2), tensor(2, 3, seed=3)]]})],
        failed_under={"max-depth-1": [""]},  # the text in the pair of a leaf decides what is done
        notes="`extra` holds a list of unknown length: nothing may depend on how long it is",
    ),
]
