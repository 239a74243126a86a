"""Archives for the lite interpreter: models of many kinds, and their bytecode as values that can be changed and written again."""

import io
import pathlib
import pickle
import struct
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import archive_edit
import torch
import torch.jit.mobile
from torch import Tensor, nn

# --- values of pickles ---


@dataclass
class Global:
    name: str

    def __call__(self, *arguments: Any) -> "Call":
        return Call(self.name, arguments)


@dataclass
class Call:
    function: str
    arguments: tuple
    state: Any = None

    def __setstate__(self, state: Any) -> None:
        self.state = state


@dataclass
class Persistent:
    key: tuple


class Reader(pickle._Unpickler):  # in Python: BUILD and NEWOBJ are those of the values above
    dispatch = dict(pickle._Unpickler.dispatch)  # type: ignore[attr-defined]

    def find_class(self, module: str, name: str) -> Any:
        return Global(f"{module}.{name}")

    def persistent_load(self, key: Any) -> Persistent:
        return Persistent(key)

    def load_newobj(self) -> None:
        arguments, target = self.stack.pop(), self.stack.pop()  # type: ignore[attr-defined]
        self.append(target(*arguments))  # type: ignore[attr-defined]

    dispatch[pickle.NEWOBJ[0]] = load_newobj  # type: ignore[assignment]


def read(data: bytes) -> Any:
    return Reader(io.BytesIO(data)).load()


def write(value: Any) -> bytes:
    return b"\x80\x02" + written(value) + b"."


def written(value: Any) -> bytes:
    """Opcodes for the value, as LibTorch's unpickler takes them."""
    match value:
        case None:
            return b"N"
        case True:
            return b"\x88"
        case False:
            return b"\x89"
        case int():
            return b"J" + struct.pack("<i", value) if -(2**31) <= value < 2**31 else b"\x8a\x08" + struct.pack("<q", value)
        case float():
            return b"G" + struct.pack(">d", value)
        case str():
            return archive_edit.pickled(value)
        case tuple():
            return b"(" + b"".join(map(written, value)) + b"t"
        case list():
            return b"](" + b"".join(map(written, value)) + b"e"
        case dict():
            return b"}(" + b"".join(written(key) + written(item) for key, item in value.items()) + b"u"
        case Global():
            module, _, name = value.name.rpartition(".")
            return f"c{module}\n{name}\n".encode()
        case Persistent():
            return written(value.key) + b"Q"
        case Call():
            made = written(Global(value.function)) + written(value.arguments)
            return made + (b"R" if value.state is None else b"\x81" + written(value.state) + b"b")
    raise AssertionError(type(value))


def with_bytecode(archive: bytes, edit: Callable[[Any], Any], record: str = "bytecode.pkl") -> bytes:
    """The archive with another record of code, or of another pickle."""
    return archive_edit.edited(archive, lambda name, data: write(edit(read(data))) if name == record else data)


# --- models ---


@torch.jit.script
class Counter:
    def __init__(self, start: int):
        self.count = start

    def next(self, step: int) -> int:
        self.count += step
        return self.count


@torch.jit.interface
class Layer(nn.Module):
    def forward(self, x: Tensor) -> Tensor:  # type: ignore[empty-body]
        pass


class Added(nn.Module):
    def __init__(self, by: float) -> None:
        super().__init__()
        self.by = by

    def forward(self, x: Tensor) -> Tensor:
        return x + self.by


class Interfaces(nn.Module):
    layer: Layer

    def __init__(self) -> None:
        super().__init__()
        self.layer = Added(1.5)  # type: ignore[assignment]

    def forward(self, x: Tensor) -> Tensor:
        return self.layer.forward(x) * 2


class Custom(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.counter = Counter(3)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.counter.next(2)


class Flow(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.steps = 3

    def forward(self, x: Tensor) -> Tensor:
        done = 0
        while bool(x.sum() < 100) and done < self.steps:
            if done % 2 == 0:
                x = x * 2
            else:
                for i in range(2):
                    if i > 0:
                        break
                    x = x + i
            done += 1
        self.steps += 1
        return x


class Lists(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.pairs, self.sizes, self.empty = [(1, 2.5), (3, 4.5)], [1, 2], torch.jit.annotate(list[str], [])

    def forward(self, x: Tensor, more: list[tuple[int, Tensor]]) -> tuple[list[Tensor], list[list[int]]]:
        kept = [x]
        for count, factor in self.pairs:
            kept.append(x * count * factor)
        for i, (count, tensor) in enumerate(more):
            kept.append(tensor + count + i)
        for size, tensor in zip(self.sizes, kept):
            kept[0] = tensor * size
        kept.extend([each + 1 for each in kept])
        first, second = torch.split(x, 2)
        kept.insert(0, first + second)
        return kept[1:], [self.sizes, [len(kept)]]


class Dicts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = {"a": (1, [2]), "b": (3, [4])}

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        found = {"x": x}
        for key, (count, sizes) in self.table.items():
            found[key] = x * count + len(sizes)
        for key in self.table:
            found[key] = found[key] + 1
        a, b = self.table["a"]
        found["sum"] = x + a + sum(b)
        if "b" in found:
            found.pop("b")
        return found


class Optionals(nn.Module):
    last: tuple[int, Tensor] | None

    def __init__(self) -> None:
        super().__init__()
        self.last = None

    def forward(self, x: Tensor, pair: tuple[int, int] | None = None, other: Any = None) -> Tensor:
        if pair is not None:
            x = x + pair[0]
        last = self.last
        if last is not None:
            count, tensor = last
            x = x + tensor * count
        if isinstance(other, int):
            x = x + other
        self.last = (2, x)
        return x


class Raises(nn.Module):
    def forward(self, x: Tensor, kind: str = "a") -> tuple[Tensor, str]:
        assert x.dim() == 2, "two dimensions"
        if kind == "none":
            raise ValueError(f"not {kind}")
        values: list[list[float]] = x.tolist()
        torch._assert(len(values) > 0, "no values")
        print(kind, len(values))
        return x, "%s %d" % (kind, len(values)) + "{}".format(values[0][0])


class Point(NamedTuple):
    x: Tensor
    y: int


class Tuples(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, tuple[int, tuple[Tensor, Tensor]]]:
        point = Point(x, 3)
        whole = (1, (x, x + point.y), 2)
        a, (b, c), d = whole
        return torch.cat(whole[1]) + a, (d, (b, c))


class Methods(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.twice(self.linear(x))

    @torch.jit.export
    def twice(self, x: Tensor) -> Tensor:
        return self.scaled(x, 2)

    def scaled(self, x: Tensor, by: int) -> Tensor:
        return x * by

    @torch.jit.export
    def names(self, words: list[str]) -> str:
        return ", ".join([word.upper() for word in words])


class Nested(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Sequential(nn.Linear(4, 4), nn.ReLU()), nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))])
        self.by_name = nn.ModuleDict({"a": nn.GELU(), "b": nn.Dropout()})

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        for _, layer in self.by_name.items():
            x = layer(x)
        return x


class State(nn.Module):
    """Whose state is set by a method of its own, when it is loaded."""

    def __init__(self) -> None:
        super().__init__()
        self.scale, self.pair, self.words = 2.0, (1, [2, 3]), ["a"]

    @torch.jit.export
    def __getstate__(self) -> tuple[float, tuple[int, list[int]], list[str], bool]:
        return self.scale, self.pair, self.words, self.training

    @torch.jit.export
    def __setstate__(self, state: tuple[float, tuple[int, list[int]], list[str], bool]) -> None:
        self.scale = state[0]
        self.pair = state[1]
        self.words = state[2]
        self.training = state[3]

    def forward(self, x: Tensor) -> Tensor:
        count, sizes = self.pair
        return x * self.scale + count + len(sizes) + len(self.words)


def quantized() -> nn.Module:
    ao = torch.ao.quantization
    model = nn.Sequential(ao.QuantStub(), nn.Linear(4, 3), nn.ReLU(), ao.DeQuantStub()).eval()
    model.qconfig = ao.get_default_qconfig("fbgemm")  # type: ignore[assignment]
    prepared = ao.prepare(model)
    prepared(torch.ones(3, 4))
    return ao.convert(prepared)


X = torch.arange(12.0).reshape(3, 4)
FOUR = torch.arange(16.0).reshape(4, 4)
# A model, and what its forward is given.
MODELS: dict[str, tuple[Callable[[], nn.Module], tuple]] = {
    "flow": (Flow, (X,)),
    "lists": (Lists, (FOUR, [(1, X), (2, X)])),
    "dicts": (Dicts, (X,)),
    "optionals": (Optionals, (X, (1, 2))),
    "raises": (Raises, (X,)),
    "tuples": (Tuples, (X,)),
    "methods": (Methods, (X,)),
    "nested": (Nested, (X,)),
    "state": (State, (X,)),
    "interfaces": (Interfaces, (X,)),
    "custom": (Custom, (X,)),
    "quantized": (quantized, (X,)),
    "lstm": (lambda: nn.LSTM(4, 3, num_layers=2, bidirectional=True), (X,)),
    "gru": (lambda: nn.GRU(4, 3), (X,)),
    "transformer": (lambda: nn.TransformerEncoderLayer(4, 2, 8), (X,)),
    "conv": (lambda: nn.Sequential(nn.Conv2d(1, 2, 3, padding=1), nn.MaxPool2d(2), nn.Flatten(0)), (X.reshape(1, 1, 3, 4),)),
    "embedding": (lambda: nn.EmbeddingBag(10, 4), (torch.tensor([[1, 2], [3, 4]]),)),
}


def made(name: str, **options: Any) -> bytes:
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what torch will no longer write some day
        return torch.jit.script(MODELS[name][0]().eval())._save_to_buffer_for_lite_interpreter(**options)


def backported(path: pathlib.Path, version: int) -> bytes:
    """The archive in an older format."""
    return torch.jit.mobile._backport_for_mobile_to_buffer(str(path), version)


def load(path: str) -> Any:
    return torch.jit.mobile._load_for_lite_interpreter(path)
