"""Tests the output after failures: the first failures with reason and line, and options that help, each of which was tried."""

import re
import shlex
from typing import Dict, List, Optional, Tuple

import harness
import pytest
import torch
from torch import Tensor, nn


class Ranks(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        if x.dim() == 3:
            x = x.unsqueeze(0)
        return self.conv(x)


class Pads(nn.Module):
    """Needs numbers: whether a named size is even is not known."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(8, 4, 3, groups=4), nn.ReLU())

    def forward(self, image: Tensor) -> Tensor:
        image = (image - 0.5) / 0.25
        if image.size(-1) % 2 == 1:
            image = nn.functional.pad(image, (0, 1))
        return self.stem(image)


class Words(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(10, 4)
        self.position = nn.Embedding(32, 4)

    def forward(self, ids: Tensor, positions: Optional[Tensor]) -> Tensor:
        if positions is None:
            positions = torch.arange(ids.size(1))
        return self.words(ids) + self.position(positions)


class Flags(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x: Tensor, training: bool, steps: int) -> Tensor:
        for _ in range(steps):
            x = self.fc(x)
        if training:
            x = torch.relu(x)
        return x


class Recurrent(nn.Module):
    """The first rank that is guessed is not the one that helps."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(6)
        self.fc = nn.Linear(6, 6)

    def forward(self, x: Tensor) -> Tensor:
        if x.dim() != 3:
            if bool(x.sum() > 0):
                x = -x
        return self.fc(self.norm(x))


class Inner(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.size(0) > 1000000:
            x = x.mean(0, keepdim=True)
        return x


class Nested(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.inner = Inner()

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(self.fc(x))


class Detector(nn.Module):
    """Takes a list of images, as torchvision's detectors do."""

    def __init__(self) -> None:
        super().__init__()
        self.mean = nn.Parameter(torch.zeros(3, 1, 1))
        self.backbone = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU())

    def forward(self, images: List[Tensor]) -> Tensor:
        scaled = [image - self.mean for image in images]
        batch = torch.zeros(len(scaled), 3, 64, 64)
        for i, image in enumerate(scaled):
            batch[i, :, : image.shape[1], : image.shape[2]].copy_(image)
        return self.backbone(batch)


class Flow(nn.Module):
    """Both images go through one convolution, side by side."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Conv2d(3, 4, 3)

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        features = self.encoder(torch.cat([first, second], dim=0))
        for _ in features.shape[-2:]:
            features = torch.relu(features)
        return features


class Video(nn.Module):
    """Makes a video of an image, in a function that says whether it did."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv3d(3, 4, 1)

    def forward(self, x: Tensor) -> Tensor:
        x, one = video(x)
        x = self.conv(x)
        return x.squeeze(2) if one else x


def video(x: Tensor) -> Tuple[Tensor, bool]:
    if x.dim() == 4:
        return x.unsqueeze(2), True
    return x, False


class Data(nn.Module):
    """Nothing helps."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        if bool(x.sum() > 0):
            x = self.fc(x)
        return x


class Options(nn.Module):
    """A dict whose key the code has."""

    def forward(self, x: Tensor, options: Dict[str, bool]) -> Tensor:
        return x + 1 if options["encode"] else x * 2


class Mode(nn.Module):
    """A text that the code compares."""

    def forward(self, x: Tensor, mode: str) -> Tensor:
        if mode == "relu":
            return x.relu()
        return x


class Sizes(nn.Module):
    """Sizes and a rank that the code compares, and none of a parameter."""

    def forward(self, x: Tensor) -> Tensor:
        if x.size(1) != 3:
            raise ValueError("three channels")
        if x.dim() == 4:
            return x + 1
        return x


class Rows(nn.Module):
    """A loop over what it is not known to be."""

    def forward(self, x: Tensor) -> Tensor:
        y = x[0]
        for i in range(len(x)):
            y = y + x[i]
        return y


class Parts(nn.Module):
    """Lists and tuples, at least as long as the code reaches, and a dict of tensors."""

    def forward(self, x: Tensor, sizes: List[int], d: Dict[str, Tensor], t: Tuple[int, int]) -> Tensor:
        for _ in range(sizes[2]):
            x = x + 1
        if "k" in d:
            x = x + d["k"]
        for _ in range(t[0]):
            x = x * 2
        return x


CASES = [
    (Ranks, "--input 'x=float32[N,3,H,W]'"),
    (Pads, "--input 'image=float32[1,8,224,224]'"),
    (Words, "--concrete positions=null"),
    (Flags, "--concrete training=false --concrete steps=1"),
    (Recurrent, "--input 'x=float32[N,T,6]'"),
    (Nested, "--input 'x=float32[1,4]'"),
    (Detector, "--input 'images.0=float32[3,H,W]'"),
    (Flow, "--input 'first=float32[N,3,H,W]' --input 'second=float32[N,3,H,W]'"),
    (Video, "--input 'x=float32[N,3,D,H,W]'"),
    (Options, """--concrete 'options={"encode": false}'"""),
    (Mode, """--concrete 'mode="relu"'"""),
    (Sizes, "--input 'x=float32[N,3,H,W]'"),
    (Rows, "--input 'x=float32[1,D]'"),
    (Parts, """--concrete 'sizes=[1, 1, 1]' --concrete 'd={"k": "$PH"}' --concrete 't=[1, 1]'"""),
]


@pytest.mark.parametrize("module, options", CASES, ids=[module.__name__ for module, _ in CASES])
def test_what_helps(program, tmp_path, module, options):
    path = str(tmp_path / "model.pt")
    torch.jit.script(module()).save(path)
    done = program.run("trace", path)
    assert done.returncode == 0
    assert f"hint: with {options} no module fails" in done.stderr.decode().splitlines()
    helped = program.run("trace", path, *shlex.split(options))
    assert b"failed" not in helped.stderr and b"hint" not in helped.stderr


def test_sizes_of_parameters(program, tmp_path):
    class Asks(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = nn.Parameter(torch.rand(4, 3))

        def forward(self, x: Tensor) -> Tensor:
            if self.w.shape[0] == 4:
                x = x @ self.w.t()
            return x

    path = str(tmp_path / "model.pt")
    torch.jit.script(Asks()).save(path)
    note, hint = program.run("trace", path).stderr.decode().splitlines()[1:]
    assert note.startswith("note: the root: an `if` depends on the size of a parameter: w.size()[0] == 4 (")
    assert hint == "hint: with --param-shapes-constant no module fails"
    assert program.run("trace", path, "--param-shapes-constant").stderr == b""

    class Makes(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            if bool(torch.rand(1) > 0.5):
                x = x + 1
            return x

    torch.jit.script(Makes()).save(path)
    note = program.run("trace", path).stderr.decode().splitlines()[1]
    assert note.startswith("note: the root: an `if` depends on a tensor that the code makes: bool(")


def test_named_sizes_that_are_not_0(program, tmp_path):
    class Asks(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            if x.numel() == 0:
                return x
            return x + 1

    path = str(tmp_path / "model.pt")
    torch.jit.script(Asks()).save(path)
    inputs = ("--input", "x=float32[b,4]")
    error = program.run("trace", path, *inputs).stderr.decode()
    assert "x.numel() == 0 (b*4 == 0, with b in 0..)" in error
    assert error.endswith("hint: with --dim b=1.. no module fails\n")
    assert program.run("trace", path, *inputs, "--dim", "b=1..").stderr == b""


def test_failures_are_named(program, tmp_path):
    path = str(tmp_path / "model.pt")
    torch.jit.script(Data()).save(path)
    done = program.run("trace", path)
    lines = done.stderr.decode().splitlines()
    assert lines[0].startswith("fxtrace: 1 of 2 modules failed to trace and became a leaf")
    assert lines[1].startswith("note: the root: an `if` depends on an input: bool(x.sum().gt(0)) (")
    assert "test_hints.py:" in lines[1] and lines[1].endswith(": if bool(x.sum() > 0):)")
    assert lines[2:] == ["hint: with --control-flow subgraph no module fails"]
    strict = program.run("trace", path, "--strict")
    assert strict.returncode == 4 and strict.stdout != b""
    assert strict.stderr.decode().splitlines()[1] == lines[1]


def test_the_first_three(program, tmp_path):
    class Many(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList([Data() for _ in range(5)])

        def forward(self, x: Tensor) -> Tensor:
            for layer in self.layers:
                x = layer(x)
            return x

    path = str(tmp_path / "model.pt")
    torch.jit.script(Many()).save(path)
    notes = [
        line for line in program.run("trace", path).stderr.decode().splitlines() if line.startswith("note:")
    ]
    assert [note.split(":")[1].strip() for note in notes] == ["layers.0", "layers.1", "layers.2"]


def test_what_was_said_is_kept(program, tmp_path):
    """An input that an option speaks of is the user's: no other is tried for it."""
    path = str(tmp_path / "model.pt")
    torch.jit.script(Flags()).save(path)
    error = program.run("trace", path, "--concrete", "steps=2").stderr.decode()
    assert "hint: with --concrete training=false no module fails" in error
    error = program.run("trace", path, "--concrete", 'training="$PH"', "--concrete", "steps=2").stderr.decode()
    assert "hint: with --control-flow subgraph no module fails" in error
    assert "--defaults" not in error


def test_defaults_never(program, tmp_path):
    class Asks(nn.Module):
        def forward(self, x: Tensor, y: Optional[Tensor] = None) -> Tensor:
            return x if y is None else x + y

    path = str(tmp_path / "model.pt")
    torch.jit.script(Asks()).save(path)
    error = program.run("trace", path, "--defaults", "never").stderr.decode()
    assert "hint: with --defaults needed no module fails" in error


def test_control_flow(program, tmp_path):
    """What no input settles: only then, and alone where it is enough."""

    class Gate(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x * 2 if bool(x.sum() > 0) else x

    path = str(tmp_path / "model.pt")
    torch.jit.script(Gate()).save(path)
    error = program.run("trace", path).stderr.decode()
    assert "hint: with --control-flow subgraph no module fails" in error
    assert b"hint" not in program.run("trace", path, "--control-flow", "subgraph").stderr


def test_nothing_is_tried_without_failures(program, tmp_path):
    sample = next(sample for sample in harness.samples() if sample["file"] == "nested_scripted.pt")
    assert program.run("trace", harness.sample_path(sample)).stderr == b""


NAME = "x'; touch PWN_sh; echo '"


def test_what_is_shown_of_a_name_is_one_word_of_a_shell(program, tmp_path):
    """A name in a file ends no quotes of a command that is shown, so that nothing else runs when it is pasted."""

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.add_module(NAME, torch.nn.Sequential(torch.nn.Linear(2, 2)))

        def forward(self, x):
            return getattr(self, NAME)(x)

    path = str(tmp_path / "model.pt")
    torch.jit.trace(Net().eval(), torch.ones(1, 2)).save(path)
    shown = 0
    for words in (
        ["render", path, "-f", "dot", "--leaf", f"@{NAME}", "--focus", f"{NAME}.0"],
        ["render", path, "-f", "dot", "--focus", f"{NAME}.0.x"],
        ["render", path, "-f", "dot", "--focus", NAME + "a"],
        ["extract", path, "--module", f"{NAME}.0.a", "-f", "text"],
        ["extract", path, "--module", f"{NAME}.00", "-f", "text"],
        ["why", path, f"{NAME}.0"],
        ["why", path, f"{NAME}.1"],
        ["why", path, NAME, "--leaf", f"@{NAME}"],
        ["trace", path, "-f", "text", "-v", "--leaf", f"@{NAME}.7"],
    ):
        done = program.run(*words)
        for line in (done.stdout + done.stderr).decode().splitlines():
            commands = re.search(r"--(?:no-)?leaf .*|did you mean .*|rule '.*", line)
            if commands is None or "touch" not in commands[0]:
                continue
            assert any(NAME in word for word in shlex.split(commands[0].removesuffix("?"))), line
            shown += 1
    assert shown >= 4


def test_hooks_of_traced_archives_are_told(program, tmp_path):
    class Child(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(4, 4)

        def forward(self, x: Tensor) -> Tensor:
            return self.fc(x)

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.child = Child()

        def forward(self, x: Tensor) -> Tensor:
            return self.child(x) + 1

    def scale(module, inputs, result):
        return result * module.fc.bias

    path = str(tmp_path / "model.pt")
    model = Net()
    torch.jit.trace(model, torch.rand(2, 4)).save(path)
    assert program.run("trace", path).stderr == b""
    model.child.register_forward_hook(scale)
    torch.jit.trace(model, torch.rand(2, 4)).save(path)
    error = program.run("trace", path).stderr.decode()
    assert "torch.jit.trace wrote what hooks of modules do into the code of the callers" in error
    assert re.search(r"scale \(.*test_hints\.py:\d+\) in the root", error)
