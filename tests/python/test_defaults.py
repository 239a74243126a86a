"""Tests that inputs that control flow depends on take their defaults, as if a call in Python left them out."""

import copy
import json
from dataclasses import dataclass
from typing import Callable, Dict, List, NamedTuple, Optional, Tuple

import harness
import pytest
import torch
from fxtrace import _torchscript
from torch import Tensor, nn


class Attention(nn.Module):
    """As models have it: flags and masks that most callers leave out."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(4, 12)

    def forward(
        self, x: Tensor, mask: Optional[Tensor] = None, causal: bool = False, scale: Optional[float] = None
    ) -> Tensor:
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        scores = q @ k.transpose(-2, -1) * (scale if scale is not None else 0.5)
        if mask is not None and not causal:
            scores = scores + mask
        if causal:
            scores = scores.tril()
        return scores.softmax(-1) @ v


class Block(nn.Module):
    """Hands its own defaults on to a submodule."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = Attention()

    def forward(self, x: Tensor, mask: Optional[Tensor] = None, causal: bool = False) -> Tensor:
        return x + self.attention(x, mask, causal)


class IsNone(nn.Module):
    def forward(self, x: Tensor, y: Optional[Tensor] = None) -> Tensor:
        if y is None:
            y = x * 2
        return x + y


class Truth(nn.Module):
    """`if not training`, `flag and x is not None`, a conditional expression."""

    def forward(self, x: Tensor, training: bool = True, flag: bool = False, y: Optional[Tensor] = None) -> Tensor:
        x = x if training else -x
        if flag or y is not None:
            x = x * 3
        return x


class Numbers(nn.Module):
    """A loop, a comparison with another number, arithmetic before the question; `bias` nobody asks about."""

    def forward(self, x: Tensor, n: int = 2, power: float = 1.5, bias: float = 0.25) -> Tensor:
        for i in range(1, n + 1):
            x = x + i
        if power * 2 > 1.0:
            x = x.abs().sqrt()
        return x + bias


class Words(nn.Module):
    def forward(self, x: Tensor, mode: str = 'say "mean"', reduce: str = "mean") -> Tensor:
        if mode.startswith("say"):
            x = x + 1
        if reduce == "mean":
            return x.mean()
        return x.sum()


class Tuples(nn.Module):
    """Parts of a tuple, one of which is None."""

    def forward(
        self, x: Tensor, size: Tuple[int, int] = (2, 3), state: Tuple[Optional[Tensor], float] = (None, 1e-5)
    ) -> Tensor:
        for _ in range(size[0]):
            x = x * 2
        y = state[0]
        if y is not None:
            x = x + y
        return x / state[1]


class OptionalLists(nn.Module):
    def forward(
        self, x: Tensor, dims: Optional[List[int]] = None, extra: Optional[Dict[str, Tensor]] = None
    ) -> Tensor:
        if dims is None:
            dims = [0, 1]
        for dim in dims:
            x = x + x.sum(dim, keepdim=True)
        if extra is not None:
            x = x + extra["a"]
        return x


class Asserts(nn.Module):
    """What an assert asks needs no answer: it is assumed to pass, and more than one value may pass it."""

    def forward(self, x: Tensor, n: int = 3, y: Optional[Tensor] = None) -> Tensor:
        assert n > 0
        assert y is None
        return x * n


class AssertsThenAsks(nn.Module):
    def forward(self, x: Tensor, n: int = 3, mask: Optional[Tensor] = None) -> Tensor:
        assert n > 0, "n must be positive"
        for _ in range(n):
            x = x * 2
        return x


class IsInstance(nn.Module):
    def forward(self, x: Tensor, y: Optional[Tensor] = None) -> Tensor:
        if isinstance(y, Tensor):
            return x + y
        return x


class Picks(nn.Module):
    """Which key of a dict and which element of a list are meant: nodes can say that, whatever it is."""

    def forward(self, x: Tensor, key: str = "b", index: int = 1) -> Tensor:
        parts = {"a": x + 1, "b": x + 2}
        parts[key] = x * parts[key]
        both = [x, x + 1]
        return parts["a"] + parts["b"] + both[index]


class State(NamedTuple):
    h: Tensor
    steps: int


class NamedState(nn.Module):
    def forward(self, x: Tensor, state: Optional[State] = None) -> Tensor:
        if state is not None:
            return x + state.h * state.steps
        return x


class Hooked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = IsNone()
        self.fails = DataDependent()

    def forward(self, x: Tensor, y: Optional[Tensor] = None) -> Tensor:
        return self.inner(self.fails(x, 2.0), y)


class DataDependent(nn.Module):
    """Nothing helps here, and `eps` is asked for in vain."""

    def forward(self, x: Tensor, eps: float = 0.5) -> Tensor:
        if bool(x.sum() > eps):
            x = x * 2
        return x


@dataclass
class Case:
    module: Callable[[], nn.Module]
    remaining: List[str]
    guards: List[str]
    failed: Tuple[str, ...] = ()


CASES = [
    Case(Attention, ["x"], ["scale is None", "mask is None", "causal == False"]),
    Case(Block, ["x"], ["mask is None", "causal == False"]),
    Case(IsNone, ["x"], ["y is None"]),
    Case(Truth, ["x"], ["training == True", "flag == False", "y is None"]),
    Case(Numbers, ["x", "bias"], ["n == 2", "power == 1.5"]),
    Case(Words, ["x"], ["mode == 'say \"mean\"'", "reduce == 'mean'"]),
    Case(Tuples, ["x"], ["size == (2, 3)", "state == (None, 1e-05)"]),
    Case(OptionalLists, ["x"], ["dims is None", "extra is None"]),
    Case(Asserts, ["x", "n", "y"], ["n > 0", "y is None"]),
    Case(AssertsThenAsks, ["x", "mask"], ["n == 3"]),
    Case(IsInstance, ["x"], ["y is None"]),
    Case(Picks, ["x", "key", "index"], []),
    Case(NamedState, ["x"], ["state is None"]),
    Case(Hooked, ["x"], ["y is None"], failed=("fails",)),
]


def save(module: nn.Module, tmp_path) -> str:
    path = str(tmp_path / "model.pt")
    torch.jit.script(module).save(path)
    return path


def placeholders(graph: dict) -> List[str]:
    return [node["target"] for node in graph["nodes"] if node["op"] == "placeholder"]


def guards(graph: dict) -> List[str]:
    return [guard["expr"] for guard in graph["guards"]]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.module.__name__)
def test_the_call_without_them(program, tmp_path, case):
    """The graph is that of --concrete with the defaults, and computes what the model does without them."""
    torch.manual_seed(0)
    path = save(case.module(), tmp_path)
    collection = program.trace(path)
    harness.check_collection(collection)
    graph = collection["graphs"][0]
    assert tuple(harness.failed_modules(collection)) == case.failed
    assert placeholders(graph) == case.remaining
    assert sorted(guards(graph)) == sorted(case.guards)

    model = _torchscript.load(path)
    schema = {argument.name: argument for argument in model.forward.schema.arguments}
    x = torch.rand(4, 4)
    remaining = {name: x if name == "x" else schema[name].default_value for name in case.remaining}
    with torch.no_grad():
        expected = model(x)
        actual = harness.rebuild(path, graph)(**copy.deepcopy(remaining))
    assert harness.difference(expected, actual) is None

    fixed = [name for name in list(schema)[1:] if name not in case.remaining]
    options = [f"--concrete={name}={json.dumps(schema[name].default_value)}" for name in fixed]
    concrete = program.trace(path, "--defaults", "never", *options)
    for key in ("nodes", "execution", "constants"):
        assert collection["graphs"][0][key] == concrete["graphs"][0][key]
    assert collection["modules"] == concrete["modules"]


def test_one_line_for_each_input(program, tmp_path):
    done = program.run("trace", save(Block(), tmp_path))
    assert done.returncode == 0
    assert done.stderr.decode().splitlines() == [
        "note: mask has its default, None; --concrete or --input changes it",
        "note: causal has its default, False; --concrete changes it",
    ]


def test_what_an_option_speaks_of_is_not_fixed(program, tmp_path):
    path = save(IsNone(), tmp_path)
    for options in (["--concrete", 'y="$PH"'], ["--input-names", "x,y"], ["--input", "y=float32[4,4]"]):
        collection = program.trace(path, *options)
        assert harness.failed_modules(collection) == []
        assert placeholders(collection["graphs"][0]) == ["x", "y"], options
    path = save(Numbers(), tmp_path)
    collection = program.trace(path, "--concrete", "n=3")
    assert {"n == 3", "power == 1.5"} <= set(guards(collection["graphs"][0]))
    # Who names an integer wants any integer: the loop depends on it.
    assert harness.failed_modules(program.trace(path, "--concrete", 'n="$PH"')) == [""]


def test_a_tensor_is_no_default_that_a_placeholder_can_have(program, tmp_path):
    """As silero-vad has it; torch.fx makes a get_attr in front of the placeholder, and its code does not run."""

    class Net(nn.Module):
        def forward(self, x: Tensor, state: Tensor = torch.zeros(2), scale: float = 2.0) -> Tensor:
            return torch.cat([x.flatten(), state * scale])

    path = save(Net(), tmp_path)
    collection = program.trace(path)
    harness.check_collection(collection)
    graph = collection["graphs"][0]
    assert [(node["target"], node["args"]) for node in graph["nodes"][:3]] == [("x", []), ("state", []), ("scale", [2.0])]
    x, state = torch.rand(3), torch.rand(2)
    assert harness.difference(_torchscript.load(path)(x, state), harness.rebuild(path, graph)(x, state)) is None


def test_never(program, tmp_path):
    path = save(Attention(), tmp_path)
    collection = program.trace(path, "--defaults", "never")
    assert harness.failed_modules(collection) == [""]
    assert placeholders(collection["graphs"][0]) == ["x", "mask", "causal", "scale"]
    assert collection["options"] == {"defaults": "never"}
    config = tmp_path / "config.json"
    config.write_text(json.dumps(collection["options"]))
    assert program.trace(path, "--config", str(config)) == collection
    assert harness.failed_modules(program.trace(path, "--config", str(config), "--defaults", "needed")) == []
    assert "options" in collection and program.trace(path)["options"] == {}


def test_graphs_of_submodules(program, tmp_path):
    """Modules below a failed one ask too; the note says in which graphs."""

    class Root(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList([Attention() for _ in range(5)])

        def forward(self, x: Tensor) -> Tensor:
            if bool(x.sum() > 0):
                for layer in self.layers:
                    x = layer(x)
            return x

    path = save(Root(), tmp_path)
    collection = program.trace(path)
    assert harness.failed_modules(collection) == [""]
    for graph in collection["graphs"][1:]:
        if graph["module"].count(".") == 1:
            assert placeholders(graph) == ["x"]
            assert sorted(guards(graph)) == ["causal == False", "mask is None", "scale is None"]
    notes = [line for line in program.run("trace", path).stderr.decode().splitlines() if "note:" in line]
    assert notes[0] == (
        "note: scale has its default, None, in the graphs of layers.0, layers.1, layers.2 and 2 more"
    )


def test_a_root_that_fails_all_the_same(program, tmp_path):
    """Nothing is fixed where it did not help: the stub has all inputs, and nobody hears of defaults."""

    class Root(nn.Module):
        def forward(self, x: Tensor, y: Optional[Tensor] = None, eps: float = 0.5) -> Tensor:
            if y is not None:
                x = x + y
            if bool(x.sum() > eps):
                x = x * 2
            return x

    path = save(Root(), tmp_path)
    collection = program.trace(path)
    assert placeholders(collection["graphs"][0]) == ["x", "y", "eps"]
    assert collection["graphs"][0]["guards"] == []
    assert "sum().gt(eps)" in collection["modules"][0]["failure"]["message"]
    assert b"has its default" not in program.run("trace", path).stderr


def test_only_what_is_asked_in_the_end(program, tmp_path):
    """A module that fails is a leaf from the start: what only it asked for stays an input."""

    class Fails(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = IsNone()

        def forward(self, x: Tensor, y: Optional[Tensor]) -> Tensor:
            x = self.inner(x, y)
            if bool(x.sum() > 0):
                x = x * 2
            return x

    class Root(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fails = Fails()

        def forward(self, x: Tensor, y: Optional[Tensor] = None, flag: bool = False) -> Tensor:
            x = self.fails(x, y)
            if flag:
                x = x + 1
            return x

    path = save(Root(), tmp_path)
    collection = program.trace(path)
    assert harness.failed_modules(collection) == ["fails"]
    graph = collection["graphs"][0]
    assert placeholders(graph) == ["x", "y"] and guards(graph) == ["flag == False"]


def test_exported_programs_accept_it(program):
    sample = next(iter(harness.samples("exported_program")))
    assert program.trace(harness.sample_path(sample), "--defaults", "never")["options"]["defaults"] == "never"


class OneOf(nn.Module):
    """As language models take ids or embeddings, and say no when they get neither."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(5, 4)

    def forward(
        self, input_ids: Optional[Tensor] = None, mask: Optional[Tensor] = None, inputs_embeds: Optional[Tensor] = None
    ) -> Tensor:
        given = 0
        if input_ids is not None:
            given += 1
        if inputs_embeds is not None:
            given += 1
        if given != 1:
            raise ValueError("exactly one of them")
        if inputs_embeds is None:
            assert input_ids is not None
            inputs_embeds = self.embedding(input_ids)
        return inputs_embeds if mask is None else inputs_embeds * mask


class Whatever(nn.Module):
    """Raises nothing: with all defaults it would be a graph without inputs."""

    def forward(self, ids: Optional[Tensor] = None, embeds: Optional[Tensor] = None, n: int = 1) -> Tensor:
        x = torch.zeros(1)
        if ids is not None:
            x = ids * 2
        elif embeds is not None:
            x = embeds
        return x + n if n > 0 else x


def test_defaults_leave_an_input(program, tmp_path):
    for module, given, args in [(OneOf(), "input_ids", (torch.tensor([1, 2]),)), (Whatever(), "ids", (torch.ones(2),))]:
        path = str(tmp_path / "model.pt")
        torch.jit.script(module.eval()).save(path)
        done = program.run("trace", path)
        collection = json.loads(done.stdout)
        assert harness.failed_modules(collection) == []
        graph = collection["graphs"][0]
        assert given in placeholders(graph) and f"note: {given} is assumed to be given" in done.stderr.decode()
        harness.compare_runs(path, graph, "forward", args, {})


def test_keys_of_a_dict_are_said_by_input(program, tmp_path):
    class Sum(nn.Module):
        def forward(self, tensors: Dict[str, Tensor]) -> Tensor:
            x = torch.zeros(1)
            for value in tensors.values():
                x = x + value
            return x

    path = str(tmp_path / "model.pt")
    torch.jit.script(Sum()).save(path)
    (failure,) = [module["failure"] for module in program.trace(path)["modules"]]
    assert "tensors; --input 'tensors.KEY=float32[...]'" in failure["message"]
    assert harness.failed_modules(program.trace(path, "--input", "tensors.a=float32[1]")) == []
