"""Provides what the tests share: the program, the samples, and the comparison of two results."""

import collections
import copy
import glob
import importlib
import json
import math
import os
import random
import re
import resource
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import fx
from torch.utils import _pytree as pytree

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PACKAGE = os.path.join(ROOT, "python")
SAMPLES = os.path.join(ROOT, "sample_models")
sys.path[:0] = [PACKAGE, SAMPLES]

import fxtrace  # noqa: E402  (stands in python)
from fxtrace import _builder, _exported, _functions, _leaf, _torchscript  # noqa: E402
from nets.sample import make_inputs  # noqa: E402  (stands in sample_models)

__all__ = ["make_inputs"]

# Namespaces of operators that are the tests' own, those of torch's tests, those of models of the zoo, and an operator of torch that
# is refused without the caller's word.
LIBRARIES = ("_TorchScriptTesting", "fxtrace_test", "fxtrace_test_own", "transformers", "aten.segment_reduce")
RULES = {"default": [], "no-default-leaves": ["--no-default-leaves"], "max-depth-1": ["--max-depth", "1"]}


def random_rules(collection: dict, chance: random.Random) -> list[str]:
    """Options that make leaves of some of the collection's modules."""
    options = ["--no-default-leaves"] if chance.random() < 0.6 else []
    if chance.random() < 0.2:
        options += ["--max-depth", str(chance.randint(1, 3))]
    for module in collection["modules"]:
        if chance.random() < 0.3 and module["path"]:
            options += [chance.choice(("--leaf", "--leaf", "--no-leaf")), f"@{module['path']}"]
    return options


def find_program(given: str | None) -> str | None:
    """--fxtrace, $FXTRACE, or the newest build."""
    program = given or os.environ.get("FXTRACE")
    if program:
        return os.path.abspath(program)
    builds = glob.glob(os.path.join(ROOT, "build", "*", "bin", "fxtrace"))
    return max(builds, key=os.path.getmtime, default=None)


def licences_of_notice(text: str) -> dict[str, str]:
    """What fxtrace is linked to or carries parts of, and its licence, as the file NOTICE lists them."""
    return dict(re.findall(r"^  (\w+)  +(\S+(?: \S+)?)(?:  .*)?$", text, re.MULTILINE))


def samples(kind: str = "torchscript") -> list[dict]:
    """Those of one kind, as `model.kind` of a collection calls it."""
    with open(os.path.join(SAMPLES, "manifest.json"), encoding="utf-8") as file:
        entries = json.load(file)["samples"]
    return [sample for sample in entries if sample.get("kind", "torchscript") == kind]


def sample_path(sample: dict) -> str:
    return os.path.join(SAMPLES, sample["file"])


def load_exported(sample: dict) -> torch.export.ExportedProgram:
    importlib.import_module(
        "nets." + sample["net"]
    )  # it may have classes and libraries that the program needs
    return _exported.load(sample_path(sample), sample.get("model", ""))


def expected_failures(sample: dict, rules: str) -> list[str]:
    failed = sample["failed"]
    if rules == "max-depth-1":  # everything below the root is a leaf
        failed = [path for path in failed if path == ""]
    return sorted(sample.get("failed_under", {}).get(rules, failed))


class Program:
    def __init__(self, path: str):
        self.path = path
        self._validator: Any = None

    def run(self, *args: str) -> subprocess.CompletedProcess:
        return subprocess.run([self.path, *args], capture_output=True, timeout=600)

    def stdout(self, *args: str) -> bytes:
        done = self.run(*args)
        assert done.returncode == 0, f"{args}: exit {done.returncode}\n{done.stderr.decode(errors='replace')}"
        return done.stdout

    def trace(self, model: str, *options: str) -> dict:
        """The collection; validated against its schema."""
        collection = json.loads(self.stdout("trace", model, "-f", "json", *options))
        self.validate(collection)
        return collection

    def validate(self, collection: dict) -> None:
        if self._validator is None:
            import jsonschema_rs

            with open(
                os.path.join(ROOT, "schemas", "graph_collection.schema.json"), encoding="utf-8"
            ) as file:
                self._validator = jsonschema_rs.Draft202012Validator(json.load(file))
        errors = [
            f"{error.instance_path}: {error.message[:300]}" for error in self._validator.iter_errors(collection)
        ]
        assert not errors, "schema: " + "; ".join(errors[:5])


def rebuild(path: str, graph_json: dict, model: torch.nn.Module | None = None) -> fx.GraphModule:
    """A graph of the archive at `path`, which is loaded anew unless `model` is given."""
    graph = fxtrace.Graph.from_json(graph_json)
    return graph.graph_module(path if model is None else model, archive=path, libraries=LIBRARIES)


def rebuild_exported(path: str, graph_json: dict, program: torch.export.ExportedProgram | None = None) -> fx.GraphModule:
    """The same for exported programs."""
    graph = fxtrace.Graph.from_json(graph_json)
    return graph.graph_module(program or _exported.load(path), archive=path, libraries=LIBRARIES)


def rebuild_eager(path: str, graph_json: dict, model: torch.nn.Module) -> fx.GraphModule:
    """The same with parameters and leaves of the model that was exported."""
    graph = fxtrace.Graph.from_json(graph_json)
    functions = _functions.ModelFunctions(None, LIBRARIES)
    return _builder.ModelBuilder(model, _exported.Archive(path), functions).build(graph)


def check_dot(dot: bytes) -> None:
    """Graphviz draws it and has nothing to say."""
    done = subprocess.run(["dot", "-Tsvg"], input=dot, capture_output=True, timeout=300)
    assert done.returncode == 0 and not done.stderr, done.stderr.decode(errors="replace")[:1000]
    assert done.stdout.rstrip().endswith(b"</svg>")


def failed_modules(collection: dict) -> list[str]:
    return sorted(module["path"] for module in collection["modules"] if module["status"] == "failed")


def difference(expected: Any, actual: Any, path: str = "output") -> str | None:
    """The first place where two results differ in any bit, or None."""
    if isinstance(expected, torch.Tensor):
        if not isinstance(actual, torch.Tensor):
            return f"{path}: a tensor became {type(actual).__name__}"
        if (expected.dtype, expected.shape) != (actual.dtype, actual.shape):
            return f"{path}: {expected.dtype}{list(expected.shape)} became {actual.dtype}{list(actual.shape)}"
        if expected.layout != actual.layout:
            return f"{path}: {expected.layout} became {actual.layout}"
        if expected.layout != torch.strided:
            return difference(expected.to_dense(), actual.to_dense(), path + ".to_dense()")
        if expected.is_quantized:
            return difference(expected.int_repr(), actual.int_repr(), path + ".int_repr()")
        a, b = (tensor.detach().resolve_conj().resolve_neg().contiguous().reshape(-1) for tensor in (expected, actual))
        if torch.equal(a.view(torch.uint8), b.view(torch.uint8)):
            return None
        worst = (a.to(torch.float64) - b.to(torch.float64)).abs().max().item()
        return f"{path}: values differ, by up to {worst}"
    if isinstance(expected, (list, tuple)):
        if not isinstance(actual, (list, tuple)) or len(expected) != len(actual):
            return f"{path}: {type(expected).__name__}({len(expected)}) became {str(actual)[:80]}"
        if isinstance(expected, list) != isinstance(actual, list):
            return f"{path}: a {type(expected).__name__} became a {type(actual).__name__}"
        found = (difference(a, b, f"{path}[{i}]") for i, (a, b) in enumerate(zip(expected, actual)))
        return next((text for text in found if text), None)
    if isinstance(expected, dict):
        if not isinstance(actual, dict) or list(expected) != list(actual):
            return f"{path}: keys {list(expected)} became {str(actual)[:80]}"
        found = (difference(expected[key], actual[key], f"{path}[{key!r}]") for key in expected)
        return next((text for text in found if text), None)
    if type(expected) is not type(actual) or (expected != actual and expected == expected):
        return f"{path}: {expected!r} became {actual!r}"
    return None


def processor_seconds() -> float:
    """What the processes took that this one has waited for: the difference of two calls is that of the processes between."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Different(AssertionError):
    """Two results are not the same."""


def method_of(model: torch.nn.Module, name: str) -> Callable:
    """The model itself for its forward, as hooks run where the model itself is called."""
    return model if name == "forward" else getattr(model, name)


def compare_runs(model_path: str, graph_json: dict, method: str, args: tuple, kwargs: dict) -> None:
    """Runs the archive and the rebuilt graph, each on its own copy of the model and its inputs."""
    with torch.no_grad():
        torch.manual_seed(0)
        model = _torchscript.load(model_path)
        given = copy.deepcopy((args, kwargs))
        expected = method_of(model, method)(*given[0], **given[1])
        rebuilt = rebuild(model_path, graph_json)
        torch.manual_seed(0)
        also_given = copy.deepcopy((args, kwargs))
        actual = rebuilt(*also_given[0], **also_given[1])
    text = difference(expected, actual) or difference(given, also_given, "inputs afterwards")
    if text:
        raise Different(f"{text}\n{rebuilt.code}")
    check_guards(graph_json, rebuilt, _torchscript.load(model_path), args, kwargs)


class GraphRun:
    """What a graph of an archive does on some inputs, and how another graph of it compares.

    That is results, and what becomes of the inputs and of the model's own tensors.
    """

    def __init__(self, path: str, graph_json: dict, args: tuple, kwargs: dict):
        self.path, self.args, self.kwargs = path, args, kwargs
        self.expected, _ = self._run(graph_json)

    def _run(self, graph_json: dict) -> tuple[tuple, fx.GraphModule]:
        with torch.no_grad():
            model = _torchscript.load(self.path)
            given = copy.deepcopy((self.args, self.kwargs))
            rebuilt = rebuild(self.path, graph_json, model)
            torch.manual_seed(0)
            return (rebuilt(*given[0], **given[1]), given, dict(model.state_dict())), rebuilt

    def compare(self, graph_json: dict) -> None:
        actual, rebuilt = self._run(graph_json)
        text = difference(self.expected, actual)
        if text:
            raise Different(f"{text}\n{rebuilt.code}")


def compare_graphs(model_path: str, before: dict, after: dict, args: tuple, kwargs: dict) -> None:
    """Two graphs of one archive do the same."""
    GraphRun(model_path, before, args, kwargs).compare(after)


def guard_values(graph: fx.GraphModule, graph_json: dict, args: tuple, kwargs: dict) -> dict[str, Any]:
    """What the names in guards stand for: nodes, inputs, and dimensions in the inputs' sizes."""
    values: dict[str, Any] = {}

    class Nodes(fx.Interpreter):
        def run_node(self, n: fx.Node) -> Any:
            values[n.name] = super().run_node(n)
            return values[n.name]

    with torch.no_grad():
        Nodes(graph).run(*copy.deepcopy(args), *copy.deepcopy(tuple(kwargs.values())))
    for node in graph_json["nodes"]:
        if node["op"] != "placeholder":
            continue
        value = values[node["target"]] = values[node["name"]]
        shape = (node["meta"] or {}).get("shape")
        if isinstance(value, torch.Tensor) and shape:
            values |= {name: size for name, size in zip(shape, value.shape) if isinstance(name, str)}
    # What placeholders are parts of.
    entries = (graph_json.get("graph_signature") or {"inputs": []})["inputs"]
    names = list(dict.fromkeys(entry["path"][0] for entry in entries if entry.get("path")))
    return {**dict(zip(names, args)), **kwargs, **values}


def check_guards(
    graph_json: dict, rebuilt: fx.GraphModule, model: torch.nn.Module, args: tuple, kwargs: dict
) -> None:
    """Every guard is Python, and true of inputs that the model takes."""
    if not graph_json["guards"]:
        return
    values = guard_values(rebuilt, graph_json, args, kwargs)
    if isinstance(model, torch.jit.ScriptModule):  # inputs that the trace has fixed
        for i, formal in enumerate(model.forward.schema.arguments[1:]):
            values.setdefault(formal.name, args[i] if i < len(args) else formal.default_value)
    for guard in graph_json["guards"]:
        scope = {"torch": torch, "math": math, "self": model} | values
        with torch.no_grad():
            assert eval(guard["expr"], scope), guard


class ExportedRun:
    """An exported program's own results on some inputs, and how a rebuilt graph compares with them."""

    def __init__(self, path: str, program: torch.export.ExportedProgram, args: tuple, kwargs: dict):
        self.path, self.program, self.args, self.kwargs = path, program, args, kwargs
        state = _leaf.state_of(program)
        self.before = {
            name: value.detach().clone() for name, value in state.items() if isinstance(value, torch.Tensor)
        }
        args, kwargs = copy.deepcopy((args, kwargs))
        torch.manual_seed(0)
        with torch.no_grad():
            self.expected = program.module()(*args, **kwargs)
        self.expected_inputs = self._leaves(args, kwargs)
        self.expected_state = self._state()
        self._restore()

    def _state(self) -> dict[str, torch.Tensor]:
        state = _leaf.state_of(self.program)
        return {name: state[name].detach().clone() for name in self.before}

    def _restore(self) -> None:
        state = _leaf.state_of(self.program)
        with torch.no_grad():
            for name, value in self.before.items():
                if difference(value, state[name]):
                    state[name].copy_(value)

    def _leaves(self, args: tuple, kwargs: dict) -> list:
        order = self.program.call_spec.in_spec.children()[1].context
        return pytree.tree_leaves((args, {name: kwargs[name] for name in order}))

    def compare(self, graph_json: dict) -> None:
        """The rebuilt graph gives the same results, and leaves the same in buffers and inputs."""
        rebuilt = rebuild_exported(self.path, graph_json, self.program)
        args, kwargs = copy.deepcopy((self.args, self.kwargs))
        torch.manual_seed(0)
        try:
            with torch.no_grad():
                actual = rebuilt(*args, **kwargs)
            text = (
                difference(pytree.tree_leaves(self.expected), pytree.tree_leaves(actual))
                or other_structure(self.expected, actual)
                or difference(self.expected_inputs, self._leaves(args, kwargs), "inputs afterwards")
                or difference(self.expected_state, self._state(), "state afterwards")
            )
        finally:
            self._restore()
        if text:
            raise Different(f"{text}\n{rebuilt.code}")


def other_structure(expected: Any, actual: Any, path: str = "output") -> str | None:
    """Where dicts, lists and tuples are not nested as they should be; other containers may be either."""
    if isinstance(expected, dict):
        if not isinstance(actual, dict) or list(expected) != list(actual):
            return f"{path}: keys {list(expected)} became {str(actual)[:80]}"
        pairs = [(f"{path}[{key!r}]", expected[key], actual[key]) for key in expected]
    elif isinstance(expected, (list, tuple)):
        kind = list if isinstance(expected, list) else tuple
        if not isinstance(actual, kind) or len(expected) != len(actual):
            return f"{path}: a {type(expected).__name__} became {str(actual)[:80]}"
        pairs = [(f"{path}[{i}]", *pair) for i, pair in enumerate(zip(expected, actual))]
    else:
        return None
    return next((text for text in (other_structure(a, b, where) for where, a, b in pairs) if text), None)


def count_nodes(graph: dict) -> int:
    """Bodies of control flow included."""
    return len(graph["nodes"]) + sum(map(count_nodes, graph["subgraphs"].values()))


def all_nodes(graph: dict) -> list[dict]:
    """Bodies of control flow included."""
    return sum((all_nodes(body) for body in graph["subgraphs"].values()), list(graph["nodes"]))


def check_collection(collection: dict) -> None:
    """What holds for every collection, beyond its schema."""
    graphs, modules = collection["graphs"], collection["modules"]
    status = {module["path"]: module["status"] for module in modules}
    assert graphs[0]["module"] == "" and modules[0]["path"] == ""
    assert len({graph["module"] for graph in graphs}) == len(graphs), "a module has two graphs"
    assert collection["summary"]["graphs"] == len(graphs)
    assert collection["summary"]["nodes"] == sum(map(count_nodes, graphs))
    counts = {
        kind: sum(module["status"] == kind and module["alias_of"] is None for module in modules)
        for kind in ("traced", "leaf", "failed", "unvisited")
    }
    everything = {kind: sum(module["status"] == kind for module in modules) for kind in counts}
    assert collection["summary"]["modules"] in (counts, everything)
    for module in modules:
        assert (module["failure"] is not None) == (module["status"] == "failed"), module
    for graph in graphs:
        path = graph["module"]
        if path:  # only modules below a failed one, or below a container of such, have a graph
            parent = path.rpartition(".")[0]
            assert status[parent] == "failed" or parent not in {other["module"] for other in graphs}, path
        for node in graph["nodes"]:
            if node["op"] == "call_module":
                called = node["scope"]["module_path"]
                assert status[called] in ("leaf", "failed"), called
                assert first_path(node["target"], modules) == called, node
        check_calls(graph)


def first_path(path: str, modules: list[dict]) -> str:
    """The first name of a module that is called `path`, by a name of its own or of modules around it."""
    later = {module["path"]: module["alias_of"] for module in modules if module["alias_of"] is not None}
    around = path
    while around:
        if around in later:
            return first_path(later[around] + path[len(around) :], modules)
        around = around.rpartition(".")[0]
    return path


def check_calls(graph: dict) -> None:
    """The calls of a module are numbered in the order of its entries in module_forward_order; so are those of other methods."""
    calls = collections.Counter((path, None) for path in graph["execution"]["module_forward_order"])
    calls.update((call["module"], call["method"]) for call in graph["execution"].get("method_calls", ()))
    leaf_calls = collections.defaultdict(list)
    for node in all_nodes(graph):
        scope = node["scope"]
        assert 1 <= scope["call"] <= calls[scope["module_path"], scope.get("method")], node
        if node["op"] == "call_module":
            leaf_calls[scope["module_path"]].append(scope["call"])
    for path, numbers in leaf_calls.items():
        assert sorted(numbers) == list(range(1, calls[path, None] + 1)), path
