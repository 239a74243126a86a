"""Tests the Python code that `-f fx` writes: for every sample it computes the model's own results, bit for bit."""

import ast
import collections
import inspect
import json
import os
from unittest import mock

import control_flow_models
import fx_source
import generate  # stands in sample_models
import golden
import harness
import pytest
import tiers
import torch
from test_archives import quantized

SCRIPTED = {sample["file"].removesuffix(".pt"): sample for sample in harness.samples()}
EXPORTED = {sample["file"].removesuffix(".pt2"): sample for sample in harness.samples("exported_program")}
compared: collections.Counter = collections.Counter()  # runs with equal results, by what the model was

# Calls of leaves that the module's own forward does not take, or takes for something else: the graph has other
# arguments than it, and what a file says of such calls is that they are the program's.
OTHER_CALLS = {
    ("exported_callbacks", "max-depth-1"): "an argument is a module",
    ("exported_interleaved", "max-depth-1"): "one call became two",
    ("exported_modules", "max-depth-1"): "an argument is a dict",
    ("exported_modules_decomposed", "max-depth-1"): "an argument is a dict",
    ("exported_modules_strict", "max-depth-1"): "an argument is a dict",
    ("exported_mutations_decomposed", "max-depth-1"): "the buffer that it writes is an argument",
    ("exported_training_decomposed", "default"): "the buffers that it writes are arguments",
    ("exported_training_decomposed", "max-depth-1"): "the buffers that it writes are arguments",
}


@pytest.fixture(autouse=True)
def slow_attention():
    """Programs have attention's ordinary way; its fast path gives other last bits."""
    torch.backends.mha.set_fastpath_enabled(False)
    yield
    torch.backends.mha.set_fastpath_enabled(True)


@pytest.mark.parametrize("rules", harness.RULES)
@pytest.mark.parametrize("name", tiers.one_in(4, SCRIPTED))
def test_archives(program, name, rules):
    sample = SCRIPTED[name]
    options = [*harness.RULES[rules], *(["--method", sample["method"]] if sample["method"] != "forward" else [])]
    for inputs in sample["inputs"]:
        args, kwargs = harness.make_inputs(inputs)
        run = (program, harness.sample_path(sample), args, kwargs, *options)
        if rules in sample.get("differs", {}):
            with pytest.raises(harness.Different):
                fx_source.compare_scripted(*run, method=sample["method"])
            continue
        fx_source.compare_scripted(*run, method=sample["method"])
        compared["archive"] += 1


def exported_module(sample: dict) -> torch.nn.Module:
    """The module that the sample was exported from."""
    modules = []
    export = torch.export.export

    def watched(module, *args, **kwargs):
        modules.append(module)
        return export(module, *args, **kwargs)

    with mock.patch("torch.export.export", watched):
        torch.manual_seed(0)
        generate.find(sample["net"], sample["file"].removesuffix(".pt2")).make()
    name = sample.get("model")
    return modules[("encoder", "decoder").index(name) if name else -1]


@pytest.mark.parametrize("rules", harness.RULES)
@pytest.mark.parametrize("name", tiers.in_turn(list(EXPORTED)[::5], EXPORTED))
def test_exported_programs(program, name, rules):
    sample = EXPORTED[name]
    options = [*harness.RULES[rules], *(["--model", sample["model"]] if "model" in sample else [])]
    exported = harness.load_exported(sample)
    for inputs in sample["inputs"]:
        run = harness.ExportedRun(harness.sample_path(sample), exported, *harness.make_inputs(inputs))
        if rules == "no-default-leaves":
            fx_source.compare_exported(program, run, exported.module(), *options)
            compared["program"] += 1
        model = exported_module(sample)
        model.load_state_dict(exported.state_dict, strict=False)
        if (name, rules) in OTHER_CALLS:
            with pytest.raises((TypeError, ValueError, IndexError, harness.Different)):
                fx_source.compare_exported(program, run, model, *options, changes=False)
            continue
        fx_source.compare_exported(program, run, model, *options, changes=False)
        compared["module"] += 1


def test_enough_was_compared(request):
    """Nearly all inputs of the tests above that were chosen."""
    chosen = {item.name for item in request.session.items}
    inputs = collections.Counter()
    for test, samples in (("test_archives", SCRIPTED), ("test_exported_programs", EXPORTED)):
        for name, sample in samples.items():
            for rules in harness.RULES:
                if f"{test}[{name}-{rules}]" in chosen:
                    inputs[test, rules] += len(sample["inputs"])
    programs = sum(inputs["test_exported_programs", rules] for rules in harness.RULES)
    assert compared["archive"] >= 0.95 * sum(inputs["test_archives", rules] for rules in harness.RULES)
    assert compared["program"] == inputs["test_exported_programs", "no-default-leaves"]
    assert compared["module"] >= 0.8 * programs


def test_parameters_and_attributes_are_the_models_own(program):
    """Not copies: training and changes of the model are seen by the graph."""
    sample = SCRIPTED["nested_scripted"]
    path = harness.sample_path(sample)
    model = torch.jit.load(path)
    (graph_class,) = fx_source.classes(fx_source.load(program, path, "--no-default-leaves"))
    graph = graph_class(model)
    args, kwargs = harness.make_inputs(sample["inputs"][0])
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(2)
        assert harness.difference(model(*args, **kwargs), graph(*args, **kwargs)) is None
    graph(*args, **kwargs).sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


@pytest.mark.parametrize("name", tiers.one_in(10, sorted(name for name, case in control_flow_models.MODELS.items() if case.why is None)))
def test_control_flow(program, tmp_path, name):
    """Bodies are methods; the inputs take every way."""
    case = control_flow_models.MODELS[name]
    path = str(tmp_path / "model.pt")
    torch.manual_seed(0)
    torch.jit.save(torch.jit.script(case.make().eval()), path)
    for args in case.inputs:
        fx_source.compare_scripted(program, path, args, {}, "--control-flow", "subgraph")


@pytest.mark.parametrize("dynamic", [True, False])
def test_objects_among_the_constants(program, tmp_path, dynamic):
    """Packed weights of a frozen quantized model are read from its file."""
    path = str(tmp_path / "model.pt")
    torch.jit.save(torch.jit.freeze(quantized(dynamic)), path)
    fx_source.compare_scripted(program, path, (torch.randn(2, 4) if dynamic else torch.randn(2, 3, 8, 8),), {})
    assert "_constant_object(archive, " in program.stdout("trace", path, "-f", "fx").decode()


class Packed(torch.nn.Module):
    def __init__(self):
        super().__init__()
        weight = torch.quantize_per_tensor(torch.randn(3, 8), 0.1, 0, torch.qint8)
        self.packed = torch.ops.quantized.linear_prepack(weight, None)

    def forward(self, x):
        weight, _ = torch.ops.quantized.linear_unpack(self.packed)
        return torch.ops.quantized.linear_dynamic(x, self.packed), weight.dequantize()


def test_objects_among_the_attributes(program, tmp_path):
    path = str(tmp_path / "model.pt")
    torch.jit.save(torch.jit.script(Packed()), path)
    fx_source.compare_scripted(program, path, (torch.randn(2, 8),), {})


def test_a_wrong_file_is_noticed(program):
    """The comparison of these tests: another operator, another argument."""
    sample = SCRIPTED["nested_scripted"]
    path = harness.sample_path(sample)
    args, kwargs = harness.make_inputs(sample["inputs"][0])
    for old, new in (("aten.add.Tensor(add, shift)", "aten.sub.Tensor(add, shift)"), ("add.Tensor(stem,", "add.Tensor(mul,")):
        written = program.stdout("trace", path, "-f", "fx")
        assert written.count(old.encode()) == 1
        with mock.patch.object(program, "stdout", return_value=written.replace(old.encode(), new.encode())):
            with pytest.raises(harness.Different):
                fx_source.compare_scripted(program, path, args, kwargs)


def test_render_writes_what_trace_writes(program, tmp_path):
    path = harness.sample_path(EXPORTED["exported_cond"])
    collection, source = tmp_path / "graph.json", tmp_path / "graph.py"
    program.stdout("trace", path, "-o", str(collection))
    program.stdout("render", str(collection), "-o", str(source))
    assert source.read_bytes() == program.stdout("trace", path, "-f", "fx")


# --- hostile collections: what a file does is what its text says ---


def collection_of(*nodes: dict, type_name: str = "pkg.Net", file: str = "model.pt") -> dict:
    """A TorchScript collection of one graph with these nodes behind an input x."""
    document = json.loads(golden.Case.read("json_vision_scripted").stdout)
    place = {"scope": {"module_path": "", "module_type": None, "call": 1}, "meta": None, "source": None}
    found = [{"name": "x", "op": "placeholder", "target": "x", "args": [], "kwargs": {}, "users": [], **place}]
    for node in nodes:
        found.append({"args": [{"node": "x"}], "kwargs": {}, "users": [], **place, **node})
        if node["op"] == "call_module":
            found[-1]["scope"] = {"module_path": node["target"], "module_type": None, "call": 1}
        if '{"node": "x"}' in json.dumps([found[-1]["args"], found[-1]["kwargs"]]):
            found[0]["users"].append(node["name"])
    last = {"node": found[-1]["name"]}
    found[-1]["users"].append("output")
    found.append({"name": "output", "op": "output", "target": "output", "args": [last], "kwargs": {}, "users": [], **place})
    root = document["modules"][0]
    names = [node["target"] for node in nodes if node["op"] == "call_module" and node["target"]]
    document["modules"] = [{**root, "type": type_name}]
    document["modules"] += [{**root, "path": name, "type": "pkg.Part", "status": "leaf"} for name in names]
    graph = document["graphs"][0]
    graph |= {"type": type_name, "nodes": found, "constants": {}, "guards": []}
    graph["execution"] = {"module_forward_order": [""], "param_forward_order": [], "module_param_usage": []}
    document |= {"graphs": [graph], "parameters": []}
    document["model"] |= {"type": type_name, "file": file}
    document["summary"] |= {"graphs": 1, "nodes": len(found), "parameters": 0, "unused_parameters": []}
    document["summary"]["modules"] = {"traced": 1, "leaf": len(names), "failed": 0, "unvisited": 0}
    return document


def source_of(program, tmp_path, document: dict) -> str:
    path = tmp_path / "hostile.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return program.stdout("render", str(path), "-f", "fx").decode()


def test_no_name_of_a_module_gets_in_the_way_of_torch(program, tmp_path):
    """Every name that torch.nn.Module has itself, as the name of a module that is called."""
    # What transformers adds to the class stays there for the tests that follow in the same process.
    sources = {name: getattr(getattr(torch.nn.Module, name, None), "__module__", None) for name in dir(torch.nn.Module())}
    names = sorted(name for name, source in sources.items() if (source or "torch").startswith("torch") and not name.startswith("__"))
    assert len(names) > 80
    nodes = [{"name": f"a_{i}", "op": "call_module", "target": f"part.{name}"} for i, name in enumerate(names)]
    nodes += [{"name": f"b_{i}", "op": "call_module", "target": name} for i, name in enumerate(names)]
    (graph_class,) = fx_source.classes(fx_source.load_text(source_of(program, tmp_path, collection_of(*nodes))))

    class Anything(torch.nn.Module):
        def forward(self, x):
            return x

    model = Anything()
    model.part = Anything()
    for place in (model, model.part):
        place.__dict__["_modules"] = {**place._modules, **{name: Anything() for name in names}}
    graph = graph_class(model)
    x = torch.ones(2)
    assert graph(x) is x
    assert sum(isinstance(value, Anything) for value in graph._modules.values()) == 2 * len(names)
    overridden = set(vars(graph)) | set(graph._modules)
    assert overridden.isdisjoint(set(names) - set(vars(torch.nn.Module())))


BREAKOUTS = (
    'a"); open("hit", "w"); ("',
    "a'); open('hit', 'w'); ('",
    "a\nimport os",
    "a\r\nopen('hit', 'w')",
    "a\x0copen('hit', 'w')",
    "a\\",
    'a""" + open("hit", "w") + """',
    "{open('hit', 'w')}",
    "a\u2028open('hit', 'w')",
    "a\x85open('hit', 'w')",
    "a\u202eb",
    "a\x00b",
    "coding: utf-7",
    "+AAo-open('hit', 'w')",
    "x: int = open('hit', 'w')",
)


def shape_of(source: str) -> list[str]:
    """What the statements are, without names and texts in them."""
    return [type(node).__name__ for node in ast.walk(ast.parse(source))]


@pytest.mark.parametrize("text", BREAKOUTS)
def test_no_text_becomes_code(program, tmp_path, monkeypatch, text):
    """The same statements come out as of a harmless text, wherever it stands."""

    def source(text: str) -> str:
        where = {"file": text, "line": 1, "function": text, "text": text}
        meta = {"type": text, "shape": None, "dtype": None}
        document = collection_of(
            {"name": "a", "op": "call_function", "target": "builtins.len", "args": [text], "source": where, "meta": meta},
            {"name": "b", "op": "call_function", "target": "aten.sin.default", "args": [{"dict": [[text, {"device": text}]]}]},
            {"name": "c", "op": "call_function", "target": "aten.sin.default", "kwargs": {text: 1}},
            {"name": "d", "op": "call_module", "target": text},
            {"name": "e", "op": "call_module", "target": f"p.{text}"},
            type_name=text,
            file=text,
        )
        document["modules"][1]["type"] = text
        return source_of(program, tmp_path, document)

    monkeypatch.chdir(tmp_path)
    hostile = source(text)
    assert shape_of(hostile) == shape_of(source("harmless name"))
    assert not any(ord(char) < 32 and char != "\n" for char in hostile)
    module = fx_source.load_text(hostile)
    assert len(fx_source.classes(module)) == 1
    functions = [name for name, value in vars(module).items() if inspect.isfunction(value)]
    assert functions == ["_value", "_find"]
    assert not (tmp_path / "hit").exists()
    (graph_class,) = fx_source.classes(module)
    with pytest.raises((AttributeError, TypeError)):
        graph_class(torch.nn.Module())
    assert not (tmp_path / "hit").exists()


def test_check_has_the_guards_over_inputs(program, tmp_path):
    document = collection_of({"name": "y", "op": "call_function", "target": "aten.sin.default"})
    document["graphs"][0]["nodes"][0]["meta"] = {"type": "Tensor", "shape": ["b", "c*2+1"], "dtype": "float32"}
    good = ["x.size(1) == 3", "c == 1", "2 <= b and b <= 4 or x.dim() != 2", "x.dtype == torch.float32", "x.device.type == 'cpu'", "b*2 > 3"]
    texts = ["x.numpy().tofile('hit') is None", "torch.save(x, 'hit') is None", "x.__class__ == 1", "self.a.dim() == 2", "y.dim() == 2"]
    texts += ["x.to(2) == 1", "torch.os.dim() == 3", "n > 2", "(lambda: 1)() == x", "x\nimport os", "(" * 300 + "x" + ")" * 300]
    document["graphs"][0]["guards"] = [{"expr": text, "source": None} for text in [*texts, *good, *BREAKOUTS]]
    source = source_of(program, tmp_path, document)
    assert source.count("        _assume(") == len(good)
    (graph_class,) = fx_source.classes(fx_source.load_text(source))
    graph = graph_class(torch.nn.Module())
    graph.check(torch.rand(2, 3))
    for wrong in [torch.rand(2, 4), torch.rand(5, 3), torch.rand(2, 3).double(), torch.rand(2, 3, device="meta"), torch.rand(1, 3, 1)]:
        with pytest.raises(ValueError, match="does not hold"):
            graph.check(wrong)


class Saves(torch.nn.Module):
    def save_pretrained(self, path: str) -> None:
        with open(path, "w"):
            pass


class ModelOfAUser(Saves):
    """What the user has is no business of a file's: a module of Python, and methods that forward cannot call."""

    tools = os

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.helper(x)

    def helper(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1


def test_methods_beside_forward_are_called(program, tmp_path):
    node = {"name": "a", "op": "call_module", "target": "", "method": "helper"}
    (graph_class,) = fx_source.classes(fx_source.load_text(source_of(program, tmp_path, collection_of(node))))
    assert torch.equal(graph_class(ModelOfAUser())(torch.ones(2)), torch.full((2,), 2.0))


@pytest.mark.parametrize(
    "node",
    [
        {"op": "call_function", "target": "builtins.eval", "args": ["open('hit', 'w')"]},
        {"op": "call_function", "target": "builtins.exec", "args": ["open('hit', 'w')"]},
        {"op": "call_function", "target": "builtins.__import__", "args": ["antigravity"]},
        {"op": "call_function", "target": "builtins.getattr", "args": [{"node": "x"}, "__class__"]},
        {"op": "call_function", "target": "builtins.getattr", "args": [{"node": "x"}, "_backward_hooks"]},
        {"op": "call_function", "target": "os.system", "args": ["touch hit"]},
        {"op": "call_function", "target": "subprocess.run.default", "args": [["touch", "hit"]]},
        {"op": "call_function", "target": "operator.methodcaller", "args": ["sin"]},
        {"op": "call_function", "target": "torch.load", "args": ["hit"]},
        {"op": "call_function", "target": "torch.hub.load", "args": ["a/b", "c"]},
        {"op": "call_function", "target": "torch._import_dotted_name", "args": ["os.system"]},
        {"op": "call_function", "target": "torch.utils.data.os.system", "args": ["touch hit"]},
        {"op": "call_function", "target": "load_library.__func__.__call__", "args": ["hit"]},
        {"op": "call_function", "target": "aten.__class__.mro", "args": []},
        {"op": "call_method", "target": "__getattribute__", "args": [{"node": "x"}, "__class__"]},
        {"op": "call_function", "target": "mylib.op.default"},
        *(
            {"op": "call_function", "target": "builtins.list", "args": [[{"function": f"torch.{name}"}]]}
            for name in ("os", "sys", "builtins", "importlib", "load", "save", "Tensor", "functional.torch")
        ),
        {"op": "call_function", "target": "torch.get_device_module", "args": ["cpu"]},
        {"op": "call_function", "target": "torch.from_file", "args": ["hit", True, 8]},
        {"op": "call_function", "target": "aten.from_file.default", "args": ["hit", True, 8]},
        {"op": "call_function", "target": "aten.save.default", "args": ["hit", {"node": "x"}]},
        {"op": "call_function", "target": "aten.set_data.default", "args": [{"node": "x"}, {"node": "x"}]},
        {"op": "call_function", "target": "inductor._reinterpret_tensor.default", "args": [{"node": "x"}, [2048], [1], -1024]},
        {"op": "call_function", "target": "debugprims.load_tensor.default", "args": ["hit", [2], [1]]},
        {"op": "call_function", "target": "profiler._record_function_exit.default", "args": [{"node": "x"}]},
        {"op": "call_function", "target": "c10d.barrier.default", "args": [None, [0], 1]},
        {"op": "call_function", "target": "higher_order.print", "args": ["{0.backward.__globals__}", {"node": "x"}]},
        {"op": "call_function", "target": "higher_order.flat_apply", "args": [{"node": "x"}]},
        {"op": "call_function", "target": "torch.classes._nnapi.Compilation", "args": []},
        {"op": "call_function", "target": "torch.save", "args": [1, "hit"]},
        {"op": "call_method", "target": "numpy", "args": [{"node": "x"}]},
        {"op": "call_method", "target": "tofile", "args": [{"node": "x"}, "hit"]},
        {"op": "call_function", "target": "builtins.getattr", "args": [{"node": "x"}, "numpy"]},
        {"op": "get_attr", "target": "forward", "args": []},
        {"op": "get_attr", "target": "tools", "args": []},
        {"op": "call_module", "target": "", "method": "save_pretrained", "args": ["hit"]},
        {"op": "call_module", "target": "", "method": "state_dict", "args": []},
    ],
)
def test_what_no_graph_calls_raises(program, tmp_path, monkeypatch, node):
    monkeypatch.chdir(tmp_path)
    source = source_of(program, tmp_path, collection_of({"name": "a", **node}))
    (graph_class,) = fx_source.classes(fx_source.load_text(source))
    with pytest.raises((NotImplementedError, AttributeError, TypeError)) as raised:
        graph_class(ModelOfAUser())(torch.ones(2))
    refused = ("no attribute", "is not a method that", "is not a script object", "is not a module, tensor or other value")
    assert raised.type is NotImplementedError or any(text in str(raised.value) for text in refused)
    assert not (tmp_path / "hit").exists()
