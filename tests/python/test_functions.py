"""Tests functions that stay one call, and how graph modules resolve functions of torch and of the model."""

import copy
import functools
import importlib
import inspect
import json
import os
import pickle
import subprocess
import sys

import fx_source
import fxtrace
import harness
import pytest
import tiers
import torch
from fxtrace import _functions


def test_the_tables_are_torchs():
    """In a Python of its own, where nobody has registered other operators."""
    script = os.path.join(harness.ROOT, "scripts", "torch_functions")
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_table_has_functions_of_torch_alone():
    """No module, class or function of another package; none that reads or writes a file or calls what it is given."""
    for space, names in _functions.FUNCTIONS.items():
        for name in names:
            function = _functions.resolve_function(f"{space}.{name}")
            assert inspect.isroutine(function), (space, name)
            origin = getattr(function, "__module__", None) or "torch"
            assert origin.partition(".")[0] in ("torch", "fxtrace"), (space, name, origin)
    for name in ("load", "save", "compile", "from_file", "os", "sys", "Tensor", "hub", "set_default_device"):
        assert name not in _functions.FUNCTIONS["torch"]


def private_function(x: torch.Tensor, value: float) -> torch.Tensor:
    """As an older torch.nn.functional had it."""
    return torch.relu(x) + value


def test_what_torch_no_longer_has_is_followed(program, tmp_path, monkeypatch):
    monkeypatch.setattr(private_function, "__module__", "torch.nn.functional")
    monkeypatch.setattr(private_function, "__qualname__", "_pad")
    monkeypatch.setattr(private_function, "__name__", "_pad")

    class Net(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return private_function(torch.nn.functional.relu6(x), 1.5)

    path = str(tmp_path / "model.pt")
    torch.jit.script(Net()).save(path)
    graph = program.trace(path)["graphs"][0]
    targets = [node["target"] for node in graph["nodes"] if node["op"] == "call_function"]
    assert targets == ["torch.nn.functional.relu6", "aten.relu.default", "aten.add.Scalar"]
    harness.compare_runs(path, graph, "forward", (torch.randn(5),), {})
    kept = program.trace(path, "--wrap", "torch.nn.functional._pad")["graphs"][0]
    assert "torch.nn.functional._pad" in [node["target"] for node in kept["nodes"]]


MODULE = """import torch
from torch import Tensor


def rotateHalf(x: Tensor, dim: int = -1) -> Tensor:
    return torch.cat((-x[..., 2:], x[..., :2]), dim=dim)


def apply_rotary(q: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    return q * cos + rotateHalf(q) * sin


class Net(torch.nn.Module):
    def forward(self, x: Tensor, f: Tensor) -> Tensor:
        return apply_rotary(x, f.cos(), f.sin()) + rotateHalf(x, 1)
"""


@pytest.fixture(scope="module")
def kept(program, tmp_path_factory):
    """A module in a package, its archive, and a result; the functions have three parts, as operators do."""
    folder = tmp_path_factory.mktemp("kept")
    (folder / "kept_package").mkdir()
    (folder / "kept_package" / "__init__.py").write_text("import os\n")
    (folder / "kept_package" / "rope.py").write_text(MODULE)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        patch.setenv("FXTRACE", os.path.abspath(program.path))
        rope = importlib.import_module("kept_package.rope")
        path = str(folder / "net.pt")
        torch.jit.script(rope.Net()).save(path)
        args = (torch.rand(2, 4), torch.rand(4))
        yield rope, path, args, rope.Net()(*args)


WRAP = "kept_package.rope.*"


def test_kept_functions_are_called_as_torch_fx_calls_them(program, kept):
    rope, path, args, expected = kept
    (graph,) = program.trace(path, "--wrap", WRAP)["graphs"]
    tracer = torch.fx.Tracer(autowrap_functions=(rope.apply_rotary, rope.rotateHalf))
    assert [node["name"] for node in graph["nodes"]] == [node.name for node in tracer.trace(rope.Net()).nodes]
    marked = {node["target"]: node["name"] for node in graph["nodes"] if node.get("model_function")}
    assert marked == {
        "kept_package.rope.apply_rotary": "apply_rotary",
        "kept_package.rope.rotateHalf": "rotate_half",
    }


def twice(*args, **kwargs):
    return 2 * sys.modules["kept_package.rope"].rotateHalf(*args, **kwargs)


def test_graph_module_resolves_kept_functions(kept):
    rope, path, args, expected = kept
    collection = fxtrace.trace(path, wrap=WRAP)
    names = {f"kept_package.rope.{name}": getattr(rope, name) for name in ("apply_rotary", "rotateHalf")}
    scripted = {name: torch.jit.script(function) for name, function in names.items()}
    ways = [rope, [rope], list(names.values()), names, scripted, list(scripted.values())]
    for functions in ways:
        module = collection.graph_module(functions=functions)
        assert torch.equal(module(*args), expected)
        assert torch.equal(copy.deepcopy(module)(*args), expected)
    module = collection.graph_module(rope.Net(), functions=[rope])
    assert torch.equal(pickle.loads(pickle.dumps(module))(*args), expected)
    for other in (functools.partial(rope.rotateHalf), lambda *given: rope.rotateHalf(*given)):
        module = collection.graph_module(functions={**names, "kept_package.rope.rotateHalf": other})
        assert torch.equal(module(*args), expected)
    module = collection.graph_module(functions={**names, "kept_package.rope.rotateHalf": twice})
    torch.testing.assert_close(module(*args), expected + rope.rotateHalf(args[0], 1))


def test_a_collection_imports_and_calls_nothing_that_is_not_given(program, kept):
    """Not a module that Python has, not one that a given one imports, and not what it imports from elsewhere."""
    rope, path, args, expected = kept
    collection = fxtrace.trace(path, wrap=WRAP)
    says = r"kept_package.rope.apply_rotary is a function of the model's own: .*functions=\{'kept_package.rope.apply_rotary'"
    for functions in (None, {}, [], [sys.modules["kept_package"]], [rope.rotateHalf]):
        with pytest.raises(fxtrace.RebuildError, match=says):
            collection.graph_module(functions=functions)
    (graph,) = program.trace(path, "--wrap", WRAP)["graphs"]
    for target in (
        "kept_package.os.system",
        "kept_package.rope.torch.load",
        "kept_package.rope.torch",
        "kept_package.rope.Net",
        "kept_package.rope.__builtins__",
        "kept_package.rope.Tensor",
        "os.system",
        "os.path.join",
        "builtins.eval",
    ):
        other = json.loads(json.dumps(graph).replace("kept_package.rope.apply_rotary", target))
        with pytest.raises(fxtrace.RebuildError, match=f"{target} is a function of the model's own"):
            fxtrace.Graph.from_json(other).graph_module(path, functions=[rope, sys.modules["kept_package"]])
    with pytest.raises(TypeError, match="expected a function or a module"):
        collection.graph_module(functions=["kept_package.rope"])
    with pytest.raises(TypeError, match="is not a function"):
        collection.graph_module(functions={"kept_package.rope.apply_rotary": "rope.apply_rotary"})


def test_a_collection_without_the_mark(program, kept):
    """As earlier versions wrote it: what is no operator may be given."""
    rope, path, args, expected = kept
    (graph,) = program.trace(path, "--wrap", WRAP)["graphs"]
    for node in graph["nodes"]:
        node.pop("model_function", None)
    rebuilt = fxtrace.Graph.from_json(graph)
    assert torch.equal(rebuilt.graph_module(path, functions=[rope])(*args), expected)
    with pytest.raises(fxtrace.RebuildError, match="no such function: kept_package.rope.apply_rotary"):
        rebuilt.graph_module(path)


def test_the_mark_is_for_functions_of_the_model_alone(program, kept, tmp_path):
    rope, path, args, expected = kept
    collection = program.trace(path, "--wrap", WRAP)
    for node in collection["graphs"][0]["nodes"]:
        if node["target"] == "aten.cos.default":
            node["model_function"] = True
    file = tmp_path / "marked.json"
    file.write_text(json.dumps(collection))
    done = program.run("summary", str(file))
    assert done.returncode == 3 and b"is not a call of a function of the model: 'aten.cos.default'" in done.stderr


def test_source_has_parameters_for_kept_functions(program, kept):
    rope, path, args, expected = kept
    source = fx_source.load(program, path, "--wrap", WRAP)
    (net,) = fx_source.classes(source)
    module = net(torch.jit.load(path), apply_rotary=rope.apply_rotary, rotateHalf=rope.rotateHalf)
    assert torch.equal(module(*args), expected)
    with pytest.raises(TypeError, match="rotateHalf"):
        net(torch.jit.load(path), apply_rotary=rope.apply_rotary)


def test_passes_keep_the_mark(program, kept):
    rope, path, args, expected = kept
    passes = ["--pass", "functional"]
    (graph,) = program.trace(path, "--wrap", WRAP, *passes)["graphs"]
    assert sum(node.get("model_function", False) for node in graph["nodes"]) == 2
    rebuilt = fxtrace.Graph.from_json(graph).graph_module(path, functions=[rope])
    assert torch.equal(rebuilt(*args), expected)


TRACED = """import torch


def affine(a, b, n=1):
    a = a.sin() + n
    return b - a * b


def both(x):
    y = x * 2
    return y.sin(), y.cos()


def inplace(x):
    x.add_(1)
    return x


def loop(x):
    for _ in range(3):
        x = x * 2
        x = x.sin()
    return x


def either(x, first):
    if first:
        return x.relu()
    return x.tanh()


def through(x, module):
    y = module(x * 2)
    return y.sin()


def tail(x, module):
    return module(x * 2)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)


class Kept(Net):
    def forward(self, x, y):
        x = affine(x, self.linear(y))
        a, b = both(x)
        a = affine(a, b)
        return affine(b, a).relu() + affine(a, y)


class Twice(Net):
    def forward(self, x, y):
        return affine(affine(x, y), y)


class Either(Net):
    def forward(self, x, y):
        return either(x, True) + either(y, False)


class Loop(Net):
    def forward(self, x, y):
        return loop(x) + y


class Inplace(Net):
    def forward(self, x, y):
        return inplace(x * y)


class Through(Net):
    def forward(self, x, y):
        return through(x, self.linear) * y


class Tail(Net):
    def forward(self, x, y):
        z = tail(x, self.linear)
        return z * y
"""


@pytest.fixture(scope="module")
def recorded(kept, tmp_path_factory):
    """A module whose models are traced; it stands in a package."""
    rope, path, _, _ = kept
    with open(os.path.join(os.path.dirname(rope.__file__), "recorded.py"), "w", encoding="utf-8") as file:
        file.write(TRACED)
    importlib.invalidate_caches()
    return importlib.import_module("kept_package.recorded")


def traced(module: torch.nn.Module, folder) -> tuple[str, tuple]:
    args = (torch.rand(4), torch.rand(4))
    path = str(folder / "model.pt")
    with torch.no_grad():
        torch.jit.trace(module.eval(), args).save(path)
    return path, args


def test_functions_of_traced_archives_are_kept(program, recorded, tmp_path):
    model = recorded.Kept()
    path, args = traced(model, tmp_path)
    collection = program.trace(path, "--wrap", "kept_package.recorded.*")
    harness.check_collection(collection)
    (graph,) = collection["graphs"]
    calls = [node for node in graph["nodes"] if node.get("recorded")]
    values = [(node["name"], node["target"], [value["node"] for value in node["args"]]) for node in calls]
    space = "kept_package.recorded"
    assert values == [
        ("affine", f"{space}.affine", ["x", "linear"]),
        ("both", f"{space}.both", ["affine"]),
        ("affine_1", f"{space}.affine", ["getitem", "getitem_1"]),
        ("affine_2", f"{space}.affine", ["getitem_1", "affine_1"]),
        ("affine_3", f"{space}.affine", ["affine_1", "y"]),
    ]
    assert [node["source"]["function"] for node in calls] == ["forward"] * 5
    assert graph["execution"] == program.trace(path)["graphs"][0]["execution"]
    names = {f"{space}.affine": recorded.affine, f"{space}.both": recorded.both}
    rebuilt = fxtrace.Graph.from_json(graph)
    with torch.no_grad():
        actual = rebuilt.graph_module(path, functions=names)(*args)
        assert harness.difference(model(*args), actual) is None
    with pytest.raises(fxtrace.RebuildError, match="the archive does not tell its parameters"):
        rebuilt.graph_module(path, functions=[recorded])


@pytest.mark.parametrize(
    "name, function, says",
    [
        ("Twice", "affine", "it is in a loop or called several times there"),
        ("Either", "either", "it may be called several times there"),
        ("Loop", "loop", "it is in a loop or called several times there"),
        ("Inplace", "inplace", "aten.add_.Tensor in it may write to a tensor in place"),
        ("Through", "through", "it calls a module"),
        ("Tail", "tail", "it calls a module"),
    ],
)
def test_what_is_no_one_call_is_followed(program, recorded, tmp_path, name, function, says):
    path, args = traced(getattr(recorded, name)(), tmp_path)
    done = program.run("trace", path, "--wrap", f"**.{function}")
    assert done.returncode == 0
    assert json.loads(done.stdout)["graphs"] == program.trace(path)["graphs"]
    message = done.stderr.decode()
    assert f"warning: --wrap: kept_package.recorded.{function}, called at " in message and f", is traced into: {says}\n" in message


def test_every_function_of_a_traced_archive(program, recorded, tmp_path):
    """A rule for all means the model's own."""
    path, _ = traced(recorded.Kept(), tmp_path)
    assert (
        program.trace(path, "--wrap", "**")["graphs"]
        == program.trace(path, "--wrap", "kept_package.recorded.*")["graphs"]
    )
    assert program.trace(path, "--wrap", "**", "--no-wrap", "kept_package.**")["graphs"] == program.trace(path)["graphs"]


INSIDE = """
import torch


def soft(x):
    return x.relu() + 1


def sized(x):
    rows = x.size(0) * 2
    return x.reshape(rows, -1).relu() + 1


def both(q, k, w):
    q_embed = q * w + soft(q)
    k_embed = k * w + soft(k)
    return q_embed, k_embed


def masked(x):
    return x.masked_fill(x > torch.tensor(0.5), 0.0)


def in_place(x):
    x.add_(1)
    return x * 2


def calls(x, module):
    return module(x).sin() * 2


class Act(torch.nn.Module):
    def forward(self, x):
        return soft(x)


class Part(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x):
        return soft(self.linear(x))


class Inside(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.act = Part(), Part(), Act()
        self.acts = torch.nn.Sequential(Act(), torch.nn.Dropout(), Act())
        self.w = torch.nn.Parameter(torch.rand(4))

    def forward(self, x, y):
        x = self.b(self.a(x)) * soft(self.a.linear(y))
        for part in (self.act, self.act, self.acts):
            x = part(x)
        return x


class Strict(Inside):
    def forward(self, x, y):
        x = super().forward(x, y)
        x, y = both(x, y, self.w)
        y = soft(soft(y)) * masked(x)
        a, b = sized(x), sized(y)
        return in_place(a.clone()), b + calls(y, self.a.linear).reshape(x.size(0) * 2, -1)
"""


@pytest.fixture(scope="module")
def inside(kept):
    with open(os.path.join(os.path.dirname(kept[0].__file__), "inside.py"), "w", encoding="utf-8") as file:
        file.write(INSIDE)
    importlib.invalidate_caches()
    return importlib.import_module("kept_package.inside")


def calls_of(graph: dict) -> list[tuple[str, str, int]]:
    """Functions that are kept, by their names alone, with the modules that call them."""
    nodes = [node for node in graph["nodes"] if node.get("recorded")]
    scopes = [node["scope"] for node in nodes]
    return [
        (node["target"].rpartition(".")[2], scope["module_path"], scope["call"]) for node, scope in zip(nodes, scopes)
    ]


IN_MODULES = [("soft", "a", 1), ("soft", "b", 1), ("soft", "", 1)]
IN_MODULES += [("soft", "act", 1), ("soft", "act", 2), ("soft", "acts.0", 1), ("soft", "acts.2", 1)]


def test_calls_inside_of_expressions_of_traced_archives(program, inside, tmp_path):
    path = str(tmp_path / "model.pt")
    model, args = inside.Inside().eval(), (torch.rand(2, 4), torch.rand(2, 4))
    with torch.no_grad():
        torch.jit.trace(model, args).save(path)
    done = program.run("trace", path, "--wrap", "**.soft", "--strict")
    assert (done.returncode, done.stderr) == (0, b"")
    (graph,) = json.loads(done.stdout)["graphs"]
    assert calls_of(graph) == IN_MODULES
    names = {"kept_package.inside.soft": inside.soft}
    module = fxtrace.trace(path, wrap="**.soft").graph_module(functions=names)
    with torch.no_grad():
        assert harness.difference(model(*args), module(*args)) is None


@pytest.mark.parametrize("decomposed", tiers.rotating([False, True]))
@pytest.mark.parametrize("dynamic", tiers.only([True], [False, True]))
def test_functions_of_strict_programs(program, inside, tmp_path, dynamic, decomposed):
    model, args = inside.Strict().eval(), (torch.rand(3, 4), torch.rand(3, 4))
    rows = {0: torch.export.Dim("rows", min=2, max=50)}
    exported = torch.export.export(model, args, strict=True, dynamic_shapes=(rows, rows) if dynamic else None)
    if decomposed:
        exported = exported.run_decompositions()
    path = str(tmp_path / "model.pt2")
    torch.export.save(exported, path)
    done = program.run("trace", path, "--wrap", "kept_package.*.*", "--strict")
    collection = json.loads(done.stdout)
    harness.check_collection(collection)
    (graph,) = collection["graphs"]
    found = calls_of(graph)
    expected = [*IN_MODULES, ("both", "", 1), ("soft", "", 1), ("soft", "", 1), ("masked", "", 1)]
    expected += [("sized", "", 1), ("sized", "", 1)] + ([("in_place", "", 1)] if decomposed else [])
    assert found == expected
    warnings = done.stderr.decode()
    assert done.returncode == 4
    assert ("aten.add_.Tensor in it may write to a tensor in place" in warnings) == (not decomposed)
    assert "kept_package.inside.calls, called at " in warnings and "is traced into: it calls a module\n" in warnings
    kept = [node for node in graph["nodes"] if node.get("recorded")]
    counts = {node["target"].rpartition(".")[2]: len(node["args"]) for node in kept}
    assert counts["both"] == 3 and counts["sized"] == 1 and counts["masked"] == 1

    def both(q, w, k):  # the values in the order of their use
        return inside.both(q, k, w)

    names = {node["target"]: getattr(inside, node["target"].rpartition(".")[2]) for node in kept}
    names["kept_package.inside.both"] = both
    module = fxtrace.trace(path, wrap="kept_package.*.*").graph_module(functions=names)
    sizes = (3, 5) if dynamic else (3,)
    for size in sizes:
        given = (torch.rand(size, 4), torch.rand(size, 4))
        with torch.no_grad():
            assert harness.difference(model(*given), module(*given)) is None
    assert program.run("verify", path, "--wrap", "kept_package.*.*").returncode == 0


def test_programs_that_tell_no_functions_say_so(program, inside, tmp_path):
    path = str(tmp_path / "model.pt2")
    torch.export.save(torch.export.export(inside.Part(), (torch.rand(2, 4),), strict=False), path)
    done = program.run("trace", path, "--wrap", "**.soft", "--wrap", "**.sized")
    assert done.returncode == 0
    (line,) = done.stderr.decode().splitlines()
    assert "--wrap keeps nothing: the file does not name the functions" in line
    assert json.loads(done.stdout)["graphs"] == program.trace(path)["graphs"]
