"""Tests concrete arguments and input names: fixed inputs are not in the graph, and the results equal the model's."""

import copy
import json
import logging
import math
from typing import Dict, List, NamedTuple, Optional, Tuple

import fxtrace
import harness
import pytest
import torch
from fxtrace import _exported, _torchscript
from torch import Tensor, nn


@pytest.fixture(autouse=True)
def installed(program, monkeypatch):
    monkeypatch.setenv("FXTRACE", program.path)


class Pair(NamedTuple):
    scale: Tensor
    power: int


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.inner = Inner()

    def forward(
        self,
        x: Tensor,
        flag: bool,
        parts: Dict[str, List[Tensor]],
        repeat: Tuple[Tensor, int],
        pair: Pair,
        mask: Optional[Tensor] = None,
        mode: str = "add",
        n: int = 2,
        factor: float = 1.0,
        named: Optional[Dict[int, float]] = None,
    ) -> Dict[str, Tensor]:
        y = self.linear(x)
        if flag:
            y = torch.relu(y)
        for part in parts["a"]:
            y = y + part
        for _ in range(repeat[1]):
            y = y * repeat[0]
        y = self.inner(y, mask)
        if mode == "add":
            y = y + n
        else:
            y = y - n
        if named is not None:
            y = y * named[3]
        return {"y": y * factor, "pair": pair.scale**pair.power}


class Inner(nn.Module):
    def forward(self, x: Tensor, mask: Optional[Tensor]) -> Tensor:
        if mask is not None:
            x = x * mask
        return x


@pytest.fixture(scope="module")
def archive(tmp_path_factory) -> str:
    torch.manual_seed(0)
    path = str(tmp_path_factory.mktemp("concrete") / "net.pt")
    torch.jit.script(Net()).save(path)
    return path


def values() -> dict:
    tensor = torch.arange(8.0).reshape(2, 4)
    return {
        "x": tensor - 3,
        "flag": True,
        "parts": {"a": [tensor + 1, tensor / 2]},
        "repeat": (tensor / 4, 3),
        "pair": Pair(tensor + 5, 2),
    }


FIXED = {
    "flag": True,
    "parts": {"a": ["$PH", "$PH"]},
    "repeat": ["$PH", 3],
    "pair": {"scale": "$PH", "power": 2},
}
# What else is fixed, what the model is called with for it, and which inputs remain.
TENSORS = ["x", "parts_a_0", "parts_a_1", "repeat_0", "pair_scale"]
OTHERS = ["mode", "n", "factor", "named"]
CASES = [
    ({"mask": None, "mode": "add", "n": 1, "factor": 2, "named": None}, {}, TENSORS),
    ({"mask": None, "mode": "sub", "n": 7, "factor": 0.5, "named": {"3": 4.0}}, {}, TENSORS),
    (
        {"mask": "$PH", "mode": "sub", "named": None},
        {"n": 2, "factor": 1.0},
        [*TENSORS, "mask", "n", "factor"],
    ),
    (
        {"mask": "$PH", "parts": {"a": ["$PH", "$PH"]}, "mode": "add", "named": None},
        {},
        [*TENSORS, "mask", "n", "factor"],
    ),
]


def concrete_options(fixed: dict) -> list[str]:
    return [f"--concrete={name}={json.dumps(value)}" for name, value in fixed.items()]


def leaves(remaining: list[str], given: dict) -> list:
    every = {
        "x": given["x"],
        "parts_a_0": given["parts"]["a"][0],
        "parts_a_1": given["parts"]["a"][1],
        "repeat_0": given["repeat"][0],
        "pair_scale": given["pair"].scale,
        "mask": given.get("mask"),
        "n": given.get("n", 2),
        "factor": given.get("factor", 1.0),
    }
    return [every[name] for name in remaining]


@pytest.mark.parametrize("rules", harness.RULES)
@pytest.mark.parametrize("case", range(len(CASES)))
def test_results_are_the_models_own(program, archive, case, rules):
    fixed, _, remaining = CASES[case]
    fixed = {**FIXED, **fixed}
    collection = program.trace(archive, *harness.RULES[rules], *concrete_options(fixed))
    assert harness.failed_modules(collection) == []
    graph = collection["graphs"][0]
    assert [node["target"] for node in graph["nodes"] if node["op"] == "placeholder"] == remaining
    given = values()
    for name in ("mode", "n", "factor"):
        if name in fixed:
            given[name] = fixed[name]
    if fixed.get("mask") is not None:
        given["mask"] = torch.full((2, 4), 3.0)
    if fixed.get("named") is not None:
        given["named"] = {3: 4.0}
    given["factor"] = float(given.get("factor", 1.0))
    with torch.no_grad():
        expected = _torchscript.load(archive)(**copy.deepcopy(given))
        actual = harness.rebuild(archive, graph)(**copy.deepcopy(given))
    assert harness.difference(expected, actual) is None


def test_what_is_fixed_is_a_guard(program, archive):
    graph = program.trace(archive, *concrete_options({**FIXED, **CASES[1][0]}))["graphs"][0]
    assert {guard["expr"] for guard in graph["guards"]} >= {
        "flag == True",
        "repeat[1] == 3",
        "pair.power == 2",
        "mask is None",
        "mode == 'sub'",
        "named[3] == 4.0",
    }


@pytest.mark.parametrize("value", [0, 1.5, [1], {"a": 2}])
def test_a_tensor_has_no_value(program, archive, value):
    done = program.run("trace", archive, *concrete_options({**FIXED, **CASES[0][0], "mask": value}))
    assert done.returncode == 2 and done.stdout == b""
    assert "'mask' is a Tensor, which cannot have a value" in done.stderr.decode()


class Repeat(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor, n: int, flag: bool = True, k: int = 1) -> Tensor:
        for _ in range(n):
            x = self.linear(x)
        if flag:
            x = x + k
        return x


class Around(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = Repeat()
        self.b = Repeat()
        self.c = Repeat()

    def forward(self, x: Tensor, n: int = 1, flag: bool = True) -> Tensor:
        x = self.a(x, n, flag)
        x = self.b(x, n + 1 if flag else 2, not flag, len([n] * n))
        x = self.c(x, 2, False, k=x.dim() * 3)
        if bool(x.sum() > 0):
            x = x + 1
        return x


@pytest.mark.parametrize("options", [["--concrete", "n=2", "--concrete", "flag=false"], ["--input-names", "x"]])
@pytest.mark.parametrize("shapes", [[], ["--input", "x=float32[2,4]"]])
def test_what_options_give_to_the_root_stays_there(program, tmp_path, options, shapes):
    path = str(tmp_path / "model.pt")
    torch.jit.script(Around()).save(path)
    collection = program.trace(path, *options, *shapes)
    assert harness.failed_modules(collection) == ["", "a", "b"]
    graphs = {graph["module"]: graph for graph in collection["graphs"]}
    assert sorted(guard["expr"] for guard in graphs["c"]["guards"]) == ["flag == False", "n == 2"]
    for name in "ab":
        assert [node["op"] for node in graphs[name]["nodes"]].count("placeholder") == 4
        assert not [guard for guard in graphs[name]["guards"] if guard["expr"] != "k == 1"]  # of the code


def test_numbers_that_json_does_not_have(program, tmp_path):
    class Adds(nn.Module):
        def forward(self, x: Tensor, f: float = float("nan"), g: float = 1.0) -> Tensor:
            if math.isnan(f):
                x = x + 1
            if g > 3.0:
                x = x + 2
            return x

    path = str(tmp_path / "model.pt")
    torch.jit.script(Adds()).save(path)
    graph = program.trace(path, "--concrete", 'g={"float":"inf"}')["graphs"][0]
    assert [guard["expr"] for guard in graph["guards"]] == ["math.isnan(f)", "g == float('inf')"]
    archive = torch.jit.load(path)
    x = torch.zeros(2)
    collection = fxtrace.trace(path, concrete={"g": math.inf})
    module = collection.graph_module()
    assert torch.equal(module(x), archive(x, g=math.inf)) and torch.equal(module(x, math.nan, math.inf), module(x))
    for f, g in ((1.0, math.inf), (math.nan, 1.0)):
        with pytest.raises(ValueError, match="does not hold"):
            module(x, f, g)
    namespace = {}
    exec(compile(collection.render("fx"), "source", "exec"), namespace)
    source = namespace["Adds"](archive)
    assert torch.equal(source(x), module(x))
    with pytest.raises(ValueError, match="isnan|does not hold"):
        source(x, 1.0)


class Parts(nn.Module):
    def forward(self, x, d, *, k):
        return x + d["a"] * d["b"][0] + k[0] * k[1]


def test_nested_inputs_of_a_program(program, tmp_path):
    path = str(tmp_path / "model.pt2")
    x = torch.rand(2)
    args, kwargs = (x, {"a": x, "b": [x]}), {"k": (x, 3)}
    torch.export.save(torch.export.export(Parts(), args, kwargs), path)
    plain = program.trace(path)["graphs"]
    for options in (
        ['d={"a":"$PH","b":["$PH"]}'],
        ['d="$PH"', 'k=["$PH",3]'],
        ['k=["$PH","$PH"]'],
    ):
        words = [word for option in options for word in ("--concrete", option)]
        graphs = program.trace(path, *words)["graphs"]
        fixed = "k=[\"$PH\",3]" in options
        assert fixed or graphs == plain
        assert [node["target"] for node in graphs[0]["nodes"] if node["op"] == "placeholder"][:4] == ["x", "d_a", "d_b_0", "k_0"]
    assert program.trace(path, "--input-names", "x,d,k")["graphs"] == plain
    for option, message in (
        ("d={}", "'d': expected an object with a, b"),
        ('d={"a":"$PH","c":1}', "'d': expected an object with a, b"),
        ('d={"a":"$PH","b":[]}', "'d.b': expected an array of 1"),
        ('d={"a":1,"b":["$PH"]}', "'d_a': expected Tensor, got 1"),
        ("d=1", "'d': expected an object with a, b"),
        ("x=1.5", "'x': expected Tensor, got 1.5"),
        ('k=["$PH",4]', "'k_1' is fixed to another value in the program"),
    ):
        done = program.run("trace", path, "--concrete", option)
        assert done.returncode == 2 and message in done.stderr.decode(), done.stderr.decode()
    module = fxtrace.trace(path, concrete={"d": {"a": torch.fx.PH, "b": [x]}}).graph_module()
    assert torch.equal(module(*args, **kwargs), Parts()(*args, **kwargs))


def test_tensors_and_placeholders_from_python(archive):
    x = torch.rand(2, 4)
    given = {"x": x, "flag": True, "parts": {"a": [x, torch.fx.PH]}, "repeat": (x, 3), "pair": Pair(x, 2)}
    collection = fxtrace.trace(archive, concrete=given)
    shapes = {node.target: node.shape for node in collection.root.placeholders}
    assert shapes == {"x": (2, 4), "parts_a_0": (2, 4), "parts_a_1": None, "repeat_0": (2, 4), "pair_scale": (2, 4)}


def test_input_names(program, archive):
    """As transformers' symbolic_trace: other inputs take their defaults, or None."""
    options = ["--input-names", "x,parts,repeat,pair", *concrete_options(FIXED)]
    collection = program.trace(archive, *options)
    graph = collection["graphs"][0]
    remaining = [node["target"] for node in graph["nodes"] if node["op"] == "placeholder"]
    assert remaining == TENSORS
    given = values()
    with torch.no_grad():
        expected = _torchscript.load(archive)(**copy.deepcopy(given))
        actual = harness.rebuild(archive, graph)(**given)
    assert harness.difference(expected, actual) is None


def test_the_options_of_a_collection_repeat_it(program, archive, tmp_path):
    options = ["--input-names", "x,parts,repeat,pair", *concrete_options(FIXED)]
    collection = program.trace(archive, *options)
    config = tmp_path / "config.json"
    config.write_text(json.dumps(collection["options"]))
    assert program.stdout("trace", archive, "--config", str(config)) == program.stdout(
        "trace", archive, *options
    )


def test_values_from_a_file(program, archive, tmp_path):
    file = tmp_path / "parts.json"
    file.write_text(json.dumps(FIXED["parts"]))
    fixed = {**FIXED, **CASES[0][0]}
    plain = program.trace(archive, *concrete_options(fixed))
    del fixed["parts"]
    assert (
        program.trace(archive, *concrete_options(fixed), f"--concrete=parts=@{file}")["graphs"]
        == plain["graphs"]
    )


def test_submodules_keep_their_inputs(program, tmp_path):
    """Concrete arguments are the root's: a module below keeps its own `flag` open, as ModelOpt's recursive_trace has it."""

    class Below(nn.Module):
        def forward(self, x: Tensor, flag: bool) -> Tensor:
            if flag:
                x = x + 1
            return x

    class Root(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.below = Below()

        def forward(self, x: Tensor, flag: bool) -> Tensor:
            if bool(x.sum() > 0):
                x = self.below(x, flag)
            return x

    path = str(tmp_path / "root.pt")
    torch.jit.script(Root()).save(path)
    collection = program.trace(path, "--concrete", "flag=true")
    assert harness.failed_modules(collection) == harness.failed_modules(program.trace(path)) == ["", "below"]
    root, below = collection["graphs"]
    assert below["guards"] == []
    assert [node["target"] for node in root["nodes"]] == ["x", "", "output"]
    assert root["nodes"][1]["args"] == [{"node": "x"}, True]  # the stub passes what is fixed
    assert [node["target"] for node in below["nodes"]][:2] == ["x", "flag"]


def test_a_submodule_takes_its_own_default(program, tmp_path):
    """As ModelOpt's recursive_trace has it: what is fixed is fixed for the root alone."""

    class Inner(nn.Module):
        def forward(self, x: Tensor, flag: bool = True, n: int = 2) -> Tensor:
            if flag:
                x = x + n
            return x

    class Below(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Inner()

        def forward(self, x: Tensor, flag: bool = True) -> Tensor:
            x = self.inner(x, flag, 3)
            return x * 2 if bool(x.sum() > 0) else x

    class Root(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.below = Below()

        def forward(self, x: Tensor, flag: bool = True) -> Tensor:
            y = self.below(x, flag)
            return y + 1 if bool(y.sum() > 0) else y

    path = str(tmp_path / "root.pt")
    torch.jit.script(Root()).save(path)
    for options in ([], ["--input", "x=float32[2]"]):
        collection = program.trace(path, "--concrete", "flag=false", *options)
        assert harness.failed_modules(collection) == ["", "below"]
        (inner,) = [graph for graph in collection["graphs"] if graph["module"] == "below.inner"]
        assert "flag == True" in [guard["expr"] for guard in inner["guards"]]
        assert [node["target"] for node in inner["nodes"]] == ["x", "n", "aten.add.Scalar", "output"]


@pytest.mark.parametrize(
    "option, message",
    [
        ("flog=1", "no input named 'flog', did you mean 'flag'?"),
        ("flag=1", "'flag': expected bool, got an integer"),
        ("n=1.5", "'n': expected int, got a number"),
        ("mode=1", "'mode': expected str, got an integer"),
        ("x=null", "'x' is a Tensor, which cannot have a value"),
        ('repeat=["$PH"]', "'repeat': expected a tuple of 2, got 1"),
        ('repeat=["$PH","a"]', "'repeat[1]': expected int, got a string"),
        ('pair={"scale":"$PH"}', "'pair': missing field 'power'"),
        ('pair={"speed":0}', "'pair': no field named 'speed'"),
        ('named={"a":1}', "'named': expected integer keys, got 'a'"),
        ("parts=[]", "'parts': expected Dict[str, List[Tensor]], got an array"),
    ],
)
def test_errors_list_the_inputs(program, archive, option, message):
    done = program.run("trace", archive, "--concrete", option)
    error = done.stderr.decode()
    assert done.returncode == 2 and done.stdout == b""
    assert message in error
    assert "hint: the inputs are x: Tensor, flag: bool, parts: Dict[str, List[Tensor]]" in error
    assert "mask: Optional[Tensor] = None, mode: str = 'add', n: int = 2" in error


@pytest.mark.parametrize(
    "options, message",
    [
        (["--concrete", "flag"], "--concrete: expected NAME=VALUE, got 'flag'"),
        (["--concrete", "flag=tru"], "--concrete flag:1:1: invalid JSON"),
        (["--concrete", "flag=@missing.json"], "missing.json"),
        (["--input-names", "x,y"], "no input named 'y'"),
        (["--input-names", "x"], "input 'flag' is not among --input-names and has no default"),
    ],
)
def test_other_errors(program, archive, options, message):
    done = program.run("trace", archive, *options)
    assert done.returncode in (2, 3) and message in done.stderr.decode(), done.stderr


class Slices(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor, n: int, flag: bool = False) -> Tuple[Tensor, int]:
        y = self.linear(x)[: n * 2 + 1] * n
        return (-y if flag else y), n + 1


@pytest.fixture(scope="module")
def exported(tmp_path_factory) -> str:
    logging.getLogger("torch.export").setLevel(logging.ERROR)
    path = str(tmp_path_factory.mktemp("concrete") / "slices.pt2")
    dynamic = {"x": {0: torch.export.Dim.DYNAMIC}, "n": torch.export.Dim.DYNAMIC, "flag": None}
    inputs = (torch.randn(20, 4), 3, False)
    torch.export.save(torch.export.export(Slices(), inputs, dynamic_shapes=dynamic), path)
    return path


def test_integers_of_an_exported_program(program, exported):
    graph = program.trace(exported, "--concrete", "n=4", "--input-names", "x")["graphs"][0]
    targets = [node["target"] for node in graph["nodes"]]
    assert targets == ["x", "linear", "aten.slice.Tensor", "aten.mul.Tensor", "output"]
    x = torch.randn(20, 4)
    loaded = _exported.load(exported)
    with torch.no_grad():
        expected = loaded.module()(x, 4, False)
        actual = harness.rebuild_exported(exported, graph, loaded)(x)
    assert harness.difference(tuple(expected), tuple(actual)) is None


@pytest.mark.parametrize(
    "options, message",
    [
        (["--concrete", "n=true"], "'n': expected int, got True"),
        (["--concrete", "x=1"], "'x': expected Tensor, got 1"),
        (["--concrete", "flag=true"], "'flag' is fixed to another value in the program"),
        (["--concrete", "m=1"], "no input named 'm'"),
        (["--input-names", "x"], "input 'n' is not among --input-names and has no default"),
    ],
)
def test_errors_of_an_exported_program(program, exported, options, message):
    done = program.run("trace", exported, *options)
    assert done.returncode == 2 and message in done.stderr.decode()
    assert "hint: the inputs are x: Tensor, n: int, flag (fixed)" in done.stderr.decode()
