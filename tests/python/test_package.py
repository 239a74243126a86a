"""Tests the Python package as users see it: trace, load, access, display, and its type annotations.

Graphs as torch.fx modules are in test_package_modules.py, and wherever harness.rebuild is.
"""

import io
import json
import os
import re
import subprocess
import sys
import warnings
from html.parser import HTMLParser

import fxtrace
import golden
import harness
import pytest
import tiers
from fxtrace import Device, Dtype, FunctionRef, GraphRef, Layout, MemoryFormat, NodeRef

EXPORTED = os.path.join(harness.SAMPLES, "nested_exported.pt2")
SCRIPTED = os.path.join(harness.SAMPLES, "nested_scripted.pt")
FAILING = os.path.join(harness.SAMPLES, "failing_nested.pt")
DIMENSIONS = os.path.join(harness.SAMPLES, "exported_dimensions.pt2")
SEVERAL = os.path.join(harness.SAMPLES, "exported_several.pt2")
GOLDENS = golden.names("json_")


@pytest.fixture(autouse=True)
def installed(program, monkeypatch):
    """The program under test is the one that the package finds."""
    monkeypatch.setenv("FXTRACE", program.path)


def run_python(*arguments: str, **variables: str) -> subprocess.CompletedProcess:
    environment = {**os.environ, "PYTHONPATH": harness.PACKAGE, **variables}
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=300, env=environment)


def quiet_trace(path, **options) -> fxtrace.Collection:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fxtrace.FxtraceWarning)
        return fxtrace.trace(path, **options)


def test_importing_it_is_light():
    """Little more than what any package of data classes imports, all of Python's own; a clock would be the machine's."""

    def modules(imported: str) -> set[str]:
        return set(json.loads(run_python("-c", f"import {imported}, json, sys; print(json.dumps(list(sys.modules)))").stdout))

    more = modules("fxtrace") - modules("dataclasses")
    assert {name.split(".")[0] for name in more} <= sys.stdlib_module_names | {"fxtrace"}
    assert "fxtrace" in more and len(more) < 40, sorted(more)


# Tracing


@pytest.mark.parametrize(
    "path, keywords, arguments",
    [
        (EXPORTED, {}, []),
        (EXPORTED, {"leaf": "nets.nested.Block"}, ["--leaf", "nets.nested.Block"]),
        (
            EXPORTED,
            {"leaf": ["**"], "no_leaf": ["@stage", "@stage.*"]},
            ["--leaf", "**", "--no-leaf", "@stage", "--no-leaf", "@stage.*"],
        ),
        (EXPORTED, {"no_default_leaves": True, "max_depth": 2}, ["--no-default-leaves", "--max-depth", "2"]),
        (EXPORTED, {"max_depth": 0}, ["--max-depth", "0"]),
        (EXPORTED, {"no_default_leaves": True, "no_wrap": ["**"]}, ["--no-default-leaves", "--no-wrap", "**"]),
        (
            SCRIPTED,
            {"input": {"x": "float32[batch,4]"}, "dim": {"batch": (1, 64)}},
            ["--input", "x=float32[batch,4]", "--dim", "batch=1..64"],
        ),
        (SCRIPTED, {"input": ["float32[2,4]"]}, ["--input", "float32[2,4]"]),
        (
            SCRIPTED,
            {"input": "float32[2,4]", "param_shapes_constant": True},
            ["--input", "float32[2,4]", "--param-shapes-constant"],
        ),
        (
            SCRIPTED,
            {"input": "float32[n,m]", "dim": {"n": (None, 9), "m": 4}},
            ["--input", "float32[n,m]", "--dim", "n=..9", "--dim", "m=4"],
        ),
        (DIMENSIONS, {"dim": ["s19=4"]}, ["--dim", "s19=4"]),
        (SEVERAL, {"model_name": "decoder"}, ["--model", "decoder"]),
        ("methods.pt", {"method": "encode"}, ["--method", "encode"]),
        ("optional_input.pt", {"concrete": {"bias": None}}, ["--concrete", "bias=null"]),
        ("optional_input.pt", {"input_names": ["x"]}, ["--input-names", "x"]),
        ("optional_input.pt", {"defaults": "never"}, ["--defaults", "never"]),
        ("hooks.pt", {"hooks": "skip"}, ["--hooks", "skip"]),
        (FAILING, {"control_flow": "subgraph"}, ["--control-flow", "subgraph"]),
        ("exported_mutations.pt2", {"pass_": ["functional"]}, ["--pass", "functional"]),
        (EXPORTED, {"max_nodes": 5}, ["--max-nodes", "5"]),
        (SCRIPTED, {"max_iterations": 9, "max_call_depth": 99}, ["--max-iterations", "9", "--max-call-depth", "99"]),
        (SCRIPTED, {"op_schema": "my::op(Tensor x) -> Tensor"}, ["--op-schema", "my::op(Tensor x) -> Tensor"]),
        (EXPORTED, {"max_time": 100, "max_memory": 4000, "no_isolation": True}, []),
    ],
    ids=lambda value: ",".join(value) if isinstance(value, dict) else None,
)
def test_options_are_the_command_lines(program, path, keywords, arguments):
    path = os.path.join(harness.SAMPLES, path)
    assert quiet_trace(path, **keywords).to_json() == program.trace(path, *arguments)


def test_configurations(program, tmp_path):
    config = {"rules": [{"type": "nets.nested.Block", "leaf": True}], "input": {"x": "float32[2,4]"}}
    file = tmp_path / "config.json"
    file.write_text(json.dumps(config))
    expected = program.trace(SCRIPTED, "--config", str(file))
    assert quiet_trace(SCRIPTED, config=config).to_json() == expected
    again = quiet_trace(SCRIPTED, config=file)
    assert again.to_json() == expected
    assert quiet_trace(SCRIPTED, config=again.options).to_json() == expected
    with pytest.raises(fxtrace.UsageError, match=r"^config:1:\d+: /leaf: expected a string"):
        fxtrace.trace(SCRIPTED, config={"leaf": 4})
    with pytest.raises(fxtrace.UsageError, match="config: "):
        fxtrace.trace(SCRIPTED, config={"leaf": {1, 2}})


def test_a_dict_loads_no_library(program, tmp_path):
    """It may be the options of a collection that somebody else wrote."""
    options = {"op_library": ["./evil.so"], "leaf": ["torch.nn.Linear"]}
    with pytest.raises(fxtrace.UsageError) as caught:
        fxtrace.trace(EXPORTED, config=options)
    assert "op_library=[...]" in caught.value.hints[0]
    with pytest.raises(fxtrace.UsageError, match="mine.so"):  # the caller's own, and no other
        fxtrace.trace(SCRIPTED, config=options, op_library=tmp_path / "mine.so")


def test_inputs_of_tensors(program):
    torch = pytest.importorskip("torch")
    expected = program.trace(SCRIPTED, "--input", "x=float32[2,4]")
    assert quiet_trace(SCRIPTED, input={"x": torch.zeros(2, 4)}).to_json() == expected
    by_position = program.trace(SCRIPTED, "--input", "float32[2,4]")
    for given in (torch.zeros(2, 4), [torch.zeros(2, 4)]):
        assert quiet_trace(SCRIPTED, input=given).to_json() == by_position


def test_models_that_are_no_path(program):
    with open(EXPORTED, "rb") as file:
        content = file.read()
    expected = program.trace(EXPORTED)
    for source in (content, io.BytesIO(content), open(EXPORTED, "rb")):
        collection = fxtrace.trace(source)
        assert collection.path is None and collection.model.file == "-"
        assert collection.to_json()["graphs"] == expected["graphs"]


def test_names_that_look_like_options(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("-", "--leaf", "a b.pt2"):
        with open(EXPORTED, "rb") as source, open(tmp_path / name, "wb") as copy:
            copy.write(source.read())
        assert fxtrace.trace(name).path == str(tmp_path / name)


@pytest.mark.parametrize(
    "path, options, kind, text, hint",
    [
        ("no_such_file.pt", {}, fxtrace.InputError, "no_such_file.pt: no such file", ""),
        (
            SCRIPTED,
            {"leaf": "torch.[nn"},
            fxtrace.UsageError,
            "invalid glob 'torch.[nn' at position 7: missing ']'",
            "",
        ),
        (
            EXPORTED,
            {"dim": {"batch": 3}},
            fxtrace.UsageError,
            f"{EXPORTED}: --dim batch=3: no dimension 'batch'",
            "all sizes are fixed",
        ),
        (
            SEVERAL,
            {},
            fxtrace.UsageError,
            "the archive holds 2 models: decoder, encoder",
            "choose one with --model NAME",
        ),
        (SCRIPTED, {"hooks": "jump"}, fxtrace.UsageError, "--hooks", ""),
        (SCRIPTED, {"method": ""}, fxtrace.UsageError, "the root module has no method ''", ""),
        (SCRIPTED, {"method": "a\0b"}, fxtrace.UsageError, "method has a null byte: 'a\\x00b'", ""),
        (SCRIPTED, {"leaf": [4]}, fxtrace.UsageError, "leaf expects a text or several, got [4]", ""),
        (SCRIPTED, {"max_depth": True}, fxtrace.UsageError, "max_depth expects an integer, got True", ""),
        (
            SCRIPTED,
            {"concrete": {"x": {1, 2}}},
            fxtrace.UsageError,
            "concrete expects a dict of values that JSON has",
            "",
        ),
        (SCRIPTED, {"concrete": {"x": 1j}}, fxtrace.UsageError, "concrete expects", ""),
        (SCRIPTED, {"dim": {"x": (1, 2, 3)}}, fxtrace.UsageError, "dim expects", ""),
        (SCRIPTED, {"leaf": "a\0b"}, fxtrace.UsageError, "null byte", ""),
        (b"", {}, fxtrace.InputError, "empty", ""),
    ],
)
def test_errors(path, options, kind, text, hint):
    with pytest.raises(kind) as caught:
        fxtrace.trace(path, **options)
    message = str(caught.value)
    assert text in message and "\n" not in message and not message.startswith("fxtrace: error: ")
    assert isinstance(caught.value, fxtrace.Error) and type(caught.value) is kind
    assert caught.value.hints == ((hint,) if hint else caught.value.hints)
    if hasattr(caught.value, "__notes__"):
        assert caught.value.__notes__ == [f"hint: {hint}" for hint in caught.value.hints]


def test_strict():
    with pytest.raises(fxtrace.ModulesFailed, match="3 of 17 modules failed to trace") as caught:
        fxtrace.trace(FAILING, strict=True)
    assert caught.value.hints == ("with --control-flow subgraph no module fails",)
    assert set(caught.value.collection.failures) == {"outer", "outer.inner", "gate"}


def test_defects_of_the_program(tmp_path, monkeypatch):
    for name, script, text in (
        ("signal", "kill -SEGV $$", "fxtrace ended with signal 11"),
        ("code", "exit 9", "fxtrace ended with code 9"),
        ("defect", "echo 'fxtrace: error: this is a defect' >&2; exit 70", "this is a defect"),
    ):
        file = tmp_path / name
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)
        monkeypatch.setenv("FXTRACE", str(file))
        with pytest.raises(fxtrace.InternalError, match=text):
            fxtrace.trace(EXPORTED)


def test_messages_and_warnings():
    with pytest.warns(fxtrace.FxtraceWarning, match="3 of 17 modules failed to trace") as caught:
        collection = fxtrace.trace(FAILING)
    assert [warning.filename for warning in caught] == [__file__]
    kinds = [message.kind for message in collection.messages]
    assert kinds == ["info", "note", "note", "note", "hint"]
    with pytest.warns(fxtrace.FxtraceWarning, match="rule 'no.such.Type' matches nothing|no.such.Type"):
        fxtrace.trace(SCRIPTED, leaf="no.such.Type")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fxtrace.trace(EXPORTED).messages == ()


# Collections


def encode(value):
    """The JSON of an argument."""
    kinds = {NodeRef: "node", GraphRef: "graph", Dtype: "dtype", Device: "device", Layout: "layout"}
    kinds[MemoryFormat] = "memory_format"
    if type(value) in kinds:
        return {kinds[type(value)]: value.name}
    if isinstance(value, FunctionRef):
        return {"function": value.target}
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return {"float": str(value)}
    if isinstance(value, complex):
        return {"complex": [encode(value.real), encode(value.imag)]}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        items = [encode(item) for item in value]
        return {"namedtuple": {"type": type(value)._type, "fields": list(value._fields), "values": items}}
    if isinstance(value, tuple):
        return {"tuple": [encode(item) for item in value]}
    if isinstance(value, dict):
        return {"dict": [[encode(key), encode(item)] for key, item in value.items()]}
    if isinstance(value, slice):
        return {"slice": [encode(part) for part in (value.start, value.stop, value.step)]}
    return [encode(item) for item in value] if isinstance(value, list) else value


def same(graph: fxtrace.Graph, expected: dict) -> None:
    """Everything that the JSON says of a graph's nodes is in the objects."""
    assert (graph.module, graph.type) == (expected["module"], expected["type"])
    for node, item in zip(graph, expected["nodes"], strict=True):
        assert (node.name, node.op, node.target, list(node.users)) == tuple(
            item[key] for key in ("name", "op", "target", "users")
        )
        assert [encode(argument) for argument in node.args] == item["args"]
        assert {key: encode(argument) for key, argument in node.kwargs.items()} == item["kwargs"]
        assert vars(node.scope) == {"method": None, **item["scope"]}
        assert (vars(node.source) if node.source else None) == item["source"]
        assert node.method == item.get("method") and list(node.program_nodes) == item.get("program_nodes", [])
        meta = item["meta"]
        if meta is None:
            assert node.meta is None
            continue
        assert (node.meta.type, node.dtype, node.meta.device, node.meta.value) == (
            *(meta["type"], meta["dtype"]),
            *(meta.get("device"), meta.get("value")),
        )
        assert node.shape == (None if meta["shape"] is None else tuple(meta["shape"]))
        cost = meta.get("cost")
        assert (node.cost is None) == (cost is None)
        if cost is not None:
            assert {key: getattr(node.cost, key) for key in cost} == cost
    assert [guard.expr for guard in graph.guards] == [guard["expr"] for guard in expected["guards"]]
    assert list(graph.constants) == list(expected["constants"])
    assert list(graph.subgraphs) == list(expected["subgraphs"])
    for name, body in graph.subgraphs.items():
        same(body, expected["subgraphs"][name])


@pytest.mark.parametrize("name", GOLDENS)
def test_loading_loses_nothing(name, tmp_path):
    content = golden.Case.read(name).stdout
    document = json.loads(content)
    (tmp_path / "golden.json").write_bytes(content)
    collection = fxtrace.load(tmp_path / "golden.json")
    for graph, expected in zip(collection, document["graphs"], strict=True):
        same(graph, expected)
        execution = expected["execution"]
        assert list(graph.execution.module_forward_order) == execution["module_forward_order"]
        assert list(graph.execution.param_forward_order) == execution["param_forward_order"]
        assert [usage.module for usage in graph.execution.module_param_usage] == [
            usage["module"] for usage in execution["module_param_usage"]
        ]
        assert [vars(call) for call in graph.execution.method_calls] == execution.get("method_calls", [])
    assert [module.path for module in collection.modules] == [module["path"] for module in document["modules"]]
    assert [parameter.name for parameter in collection.parameters] == [
        parameter["name"] for parameter in document["parameters"]
    ]
    collection.save(tmp_path / "saved.json")
    with open(tmp_path / "saved.json", encoding="utf-8") as file:
        assert json.load(file) == document
    with open(tmp_path / "golden.json", encoding="utf-8") as text, open(tmp_path / "golden.json", "rb") as binary:
        assert fxtrace.load(text) == fxtrace.load(binary) == fxtrace.load(document) == collection


@pytest.mark.parametrize(
    "names, kind",
    [
        (["tensor_constant", "object_constant"], fxtrace.Constant),
        (["graph", "root_graph"], fxtrace.Graph),
        (["execution"], fxtrace.Execution),
    ],
    ids=lambda value: None if isinstance(value, list) else value.__name__,
)
def test_every_field_has_a_place_in_classes_that_are_not_generated(names, kind):
    import dataclasses

    with open(os.path.join(harness.ROOT, "schemas", "graph_collection.schema.json"), encoding="utf-8") as file:
        definitions = json.load(file)["$defs"]
    fields = {field.name for field in dataclasses.fields(kind)} | {"graph_signature"}
    for name in names:
        assert set(definitions[name]["properties"]) <= fields, name


def test_there_are_goldens():
    assert len(GOLDENS) > 40


def test_saving(tmp_path):
    collection = fxtrace.trace(EXPORTED)
    text, binary = io.StringIO(), io.BytesIO()
    collection.save(text)
    collection.save(binary)
    assert json.loads(text.getvalue()) == json.loads(binary.getvalue()) == collection.to_json()
    (tmp_path / "folder").mkdir()
    for place in (tmp_path / "folder", tmp_path / "none" / "file.json"):
        with pytest.raises(fxtrace.InputError) as caught:
            collection.save(place)
        assert str(place) in str(caught.value) and "\n" not in str(caught.value)
    assert os.listdir(tmp_path) == ["folder"]
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    target.write_text("before")
    link.symlink_to(target)
    collection.save(link)
    assert link.is_symlink() and fxtrace.load(target) == collection
    collection.save("/dev/null")
    assert not os.path.isfile("/dev/null")


def test_fields_of_later_versions_are_kept():
    document = fxtrace.trace(EXPORTED).to_json()
    document["later"] = 1
    document["graphs"][0]["later"] = 2
    document["graphs"][0]["nodes"][0]["later"] = {"some": "thing"}
    document["modules"][0]["later"] = document["parameters"][0]["later"] = 3
    document["graphs"][0]["nodes"][1]["meta"]["cost"]["later"] = 4
    written = io.StringIO()
    fxtrace.load(document).save(written)
    assert json.loads(written.getvalue()) == document


@pytest.mark.parametrize(
    "content, text",
    [
        (b"", "this is not JSON: line 1, column 1"),
        (b"{\n", "this is not JSON: line 2"),
        (b"\xff\xfe\xff", "not UTF-8"),
        (b"[]", "not a graph collection"),
        (b'{"format": "fxtrace.summary"}', "this is 'fxtrace.summary'"),
        (b'{"format": "fxtrace.graph_collection", "version": 2}', "/version: version 2 is not supported, only 1"),
        (b'{"format": "fxtrace.graph_collection", "version": 1}', "no 'model'"),
        (b"[" * 100_000, "nested too deeply"),
        (b"1" * 10_000, ""),
    ],
)
def test_what_is_no_collection(content, text, tmp_path):
    path = tmp_path / "file.json"
    path.write_bytes(content)
    with pytest.raises(fxtrace.InputError) as caught:
        fxtrace.load(path)
    assert text in str(caught.value) and str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)
    with pytest.raises(fxtrace.InputError, match="^none.json: No such file"):
        fxtrace.load("none.json")


@pytest.mark.parametrize(
    "change, text",
    [
        (lambda document: document["graphs"][0]["nodes"][3].pop("op"), "/graphs/0/nodes/3: no 'op'"),
        (
            lambda document: document["graphs"][0]["nodes"][1].update(args=[{"what": 1}]),
            "/graphs/0/nodes/1: unknown argument 'what'",
        ),
        (lambda document: document["graphs"][0]["nodes"][1].update(args=[{"float": "no"}]), "/graphs/0/nodes/1"),
        (lambda document: document["graphs"][0].update(nodes=None), "/graphs/0: "),
        (lambda document: document["modules"].append(4), "/modules/12: "),
        (lambda document: document.pop("parameters"), "no 'parameters'"),
    ],
)
def test_malformed_collections(change, text):
    document = fxtrace.trace(EXPORTED).to_json()
    change(document)
    with pytest.raises(fxtrace.InputError) as caught:
        fxtrace.load(document)
    assert str(caught.value).startswith(f"collection: {text}")


def test_looking_around():
    collection = quiet_trace(FAILING)
    assert collection.root is collection.graphs[0] is collection.graph() is collection.graph("")
    assert [graph.module for graph in collection] == collection.graphs.names()
    assert len(collection) == len(collection.graphs) == 7
    assert collection.modules["outer.inner"].failure is collection.failures["outer.inner"]
    assert "outer" in collection.modules and "nothing" not in collection.modules
    assert collection.modules[0].path == "" and [item.path for item in collection.modules[:2]] == ["", "stem"]
    assert collection.parameters["stem.weight"].shape == (4, 4)
    graph = collection.graph("outer.good")
    assert graph[0].op == "placeholder" and graph[-1] is graph.output and graph["x"] is graph[0]
    assert "x" in graph and graph[0] in graph and list(graph) == list(graph.nodes) and len(graph) == len(graph.nodes)
    assert graph.placeholders == [graph["x"]]
    assert [node.name for node in graph.find(op="call_module")] == ["outer_good_linear"]
    assert [node.target for node in graph.find(target="aten.*.*")] == ["aten.sigmoid.default", "aten.mul.Tensor"]
    assert graph.find(target="aten.*") == graph.find(target="aten.**") == graph.find(target="aten::mul|sigmoid")
    assert [node.target for node in graph.find(target="mul")] == ["aten.mul.Tensor"]
    assert graph.find(target="Tensor") == graph.find(target="default") == [] and len(graph.find(target="Linear")) == 1
    assert graph.find(module="outer.good.[a-k]*") == [] != graph.find(module="outer.good.[!a-k]*")
    assert (
        graph.find(module="outer.good.lin*")
        == graph.find(module_type="torch.**.Linear")
        == graph.find(op="call_module")
    )
    assert graph["mul"].inputs == ("sigmoid", "outer_good_scale")
    assert graph["mul"].input_places() == [("0", "sigmoid"), ("1", "outer_good_scale")]
    assert str(graph["mul"].source).startswith("nets/control_flow.py:")


def test_names_that_are_not_there():
    collection = quiet_trace(FAILING)
    for look, text in (
        (
            lambda: collection.graph("tail"),
            r"module 'tail' has no graph of its own: its nodes are in the graph that calls it, graph.find\(module='tail'\)",
        ),
        (lambda: collection.graph("gate"), "module 'gate' has no graph of its own: it failed"),
        (lambda: collection.graph("outer.extra"), "is never called"),
        (lambda: collection.graph("otuer"), "no module 'otuer', did you mean 'outer'?"),
        (lambda: collection.root["stm"], "no node 'stm', did you mean 'stem'?"),
        (lambda: collection.parameters["weight"], "no parameter 'weight'"),
    ):
        with pytest.raises(fxtrace.NotFound, match=text):
            look()
        with pytest.raises(LookupError):
            look()
    with pytest.raises(IndexError):
        collection.graphs[99]


def test_short_texts():
    collection = quiet_trace(FAILING)
    assert (
        repr(collection)
        == "<Collection of failing_nested.pt: nets.control_flow.FailingNested, 7 graphs, 36 nodes, 3 failed modules>"
    )
    assert repr(collection.root) == "<Graph (root): nets.control_flow.FailingNested, 9 nodes>"
    assert repr(collection.root["stem"]) == "<Node stem = call_module[stem]>"
    assert repr(collection.modules) == "<17 modules>"
    assert repr(collection.root["stem"].args) == "(%x,)"
    assert len(repr(collection.modules["gate"])) < 100


def test_nothing_that_is_shown_moves_the_cursor():
    evil = "\x1b[31m\n\u202e\x00"
    document = quiet_trace(FAILING).to_json()
    document["model"].update(file=evil, type=evil)
    for graph in document["graphs"]:
        graph["type"] = evil
        for node in graph["nodes"]:
            node["target"] += evil
            node["args"].append({"dtype": evil})
            node["source"] = {"file": evil, "line": 1, "function": evil, "text": evil}
    for module in document["modules"]:
        module["type"] = evil
        if module["failure"]:
            module["failure"]["message"] = evil
    collection = fxtrace.load(document)
    node = collection.root["stem"]
    shown = [*str(collection).split("\n"), repr(collection), repr(collection.root), repr(node), repr(node.args), repr(node.scope), str(node.source)]
    shown += [repr(collection.modules[0]), str(collection.failures["gate"]), repr(collection.failures["gate"])]
    for use in (
        lambda: collection.graph_module(FAILING),
        lambda: collection.render("text"),
        lambda: collection.graph(evil),
    ):
        with pytest.raises(fxtrace.Error) as caught:
            use()
        shown.append(str(caught.value))
    assert sum("31m" in text for text in shown) >= 8
    assert all(text.isprintable() for text in shown), shown


def test_objects_are_plain(program):
    """They compare, hash, copy, pickle, and do not change."""
    import copy
    import dataclasses
    import pickle

    collection = quiet_trace(DIMENSIONS)
    again = fxtrace.load(collection.to_json())
    assert again == collection and list(again.root) == list(collection.root)
    assert len({*again.root, *collection.root}) == len(collection.root)
    for other in (pickle.loads(pickle.dumps(collection)), copy.deepcopy(collection)):
        assert other == collection and other.root.collection is other and other.root["x"] == collection.root["x"]
    with pytest.raises(dataclasses.FrozenInstanceError):
        collection.root["x"].name = "y"
    collection.to_json()["graphs"].clear()
    assert len(collection.to_json()["graphs"]) == 1


def test_texts_are_the_programs(program):
    for name in ("exported_control_flow_nested.pt2", "failing_nested.pt"):
        path = os.path.join(harness.SAMPLES, name)
        collection = quiet_trace(path)
        text = program.stdout("trace", path, "-f", "text").decode()
        assert collection.render("text") == text
        shown = [str(graph) for graph in collection]
        assert text.endswith("".join(part + "\n" for part in shown))
        for graph in collection:
            for top, _ in graph.walk():
                assert str(top).count("\n%") == 0 and str(top).splitlines()[0].startswith(("graph ", "subgraph "))
                for node in top:
                    assert re.search(rf"^  %{node.name} = ", str(top), re.MULTILINE)
    assert collection.render("dot", max_label=20, show_parameters=True).encode() == program.stdout(
        "trace", path, "-f", "dot", "--max-label", "20", "--show-parameters"
    )
    pictured = collection.render("dot", depth=2, no_fold=True, order=True, show_plumbing=True)
    assert pictured.encode() == program.stdout(
        "trace", path, "-f", "dot", "--depth", "2", "--no-fold", "--order", "--show-plumbing"
    )
    assert collection.render("svg").startswith("<?xml")
    assert collection.render("json").encode() == program.stdout("trace", path)
    with pytest.raises(fxtrace.UsageError):
        collection.render("jpeg")


def test_a_collection_at_a_glance():
    assert str(quiet_trace(EXPORTED)).splitlines() == [
        "nested_exported.pt2: nets.nested.Net, exported program",
        "graphs: 1, nodes: 16",
        "modules: 12 (5 traced, 7 leaf)",
        "parameters: 251 elements, 1,004 bytes",
        "inputs: x float32[2, 4]",
        "outputs: float32[2, 3]",
        "costs: 368 MACs, 224 bytes of activations at a time",
    ]
    lines = str(quiet_trace(FAILING)).splitlines()
    assert lines[1:3] == ["graphs: 7, nodes: 36", "modules: 17 (6 traced, 7 leaf, 3 failed, 1 unvisited)"]
    assert lines[3].startswith("failed: outer: the length of a loop depends on an input: ")
    assert lines[3].endswith(" (nets/control_flow.py:89); and 2 more")
    assert lines[-1] == "costs: not known without shapes: trace it with input="
    assert "inputs: x float32[s19, 4], pairs float32[s19*2, 4]" in str(fxtrace.trace(DIMENSIONS))
    with open(EXPORTED, "rb") as file:  # which has no name
        assert str(fxtrace.trace(file)).startswith("nets.nested.Net, exported program\n")
    for name in GOLDENS:
        text = str(fxtrace.load(json.loads(golden.Case.read(name).stdout)))
        assert len(text.splitlines()) <= 10 and max(map(len, text.splitlines())) < 500, text


def test_passes(program):
    path = os.path.join(harness.SAMPLES, "exported_mutations.pt2")
    after = fxtrace.trace(path, no_default_leaves=True).run_passes("functional")
    expected = program.trace(path, "--no-default-leaves", "--pass", "functional")
    assert after.to_json()["graphs"] == expected["graphs"] and after.path == path
    with pytest.raises(fxtrace.UsageError, match="no_such"):
        after.run_passes("no_such")


# Tables


def test_networkx():
    networkx = pytest.importorskip("networkx")
    graph = fxtrace.trace(EXPORTED).root
    found = graph.to_networkx()
    assert list(found) == [node.name for node in graph]
    assert found.nodes["mul"]["target"] == "aten.mul.Tensor" and found.nodes["mul"]["shape"] == (2, 8)
    assert "module_type" not in found.nodes["x"]
    for node in graph:
        assert set(found.predecessors(node.name)) == set(node.inputs)
        assert set(found.successors(node.name)) == set(node.users)
    assert networkx.is_directed_acyclic_graph(found)
    assert found.edges["stem", "add", "0"]["place"] == "0"


def test_networkx_has_every_use():
    pytest.importorskip("networkx")
    document = fxtrace.trace(EXPORTED).to_json()
    add = next(node for node in document["graphs"][0]["nodes"] if node["name"] == "add")
    add["args"] = [{"node": "stem"}, [{"node": "mul_1"}, {"node": "stem"}]]
    add["kwargs"] = {"out": {"slice": [None, {"node": "mul"}, None]}}
    found = fxtrace.load(document).root.to_networkx()
    assert sorted(key for *_, key in found.in_edges("add", keys=True)) == ["0", "1.0", "1.1", "out.stop"]


def test_pandas():
    pandas = pytest.importorskip("pandas")
    collection = fxtrace.trace(EXPORTED)
    nodes = collection.to_pandas()
    assert list(nodes["name"]) == [node.name for node in collection.root]
    assert nodes["macs"].dtype == "Int64" and nodes["macs"].sum() == collection.cost.macs == 368
    modules = collection.to_pandas("modules").set_index("path")
    assert list(modules.index) == collection.modules.names()
    assert modules.loc["", "parameters"] == 251 and modules.loc["stage", "macs"] == 256
    parameters = collection.to_pandas("parameters").set_index("name")
    assert parameters["bytes"].sum() == 1004 and parameters["elements"].sum() == 251 and parameters["used"].all()
    order = parameters.sort_values("forward_order").index
    assert tuple(order) == collection.root.execution.param_forward_order
    with pytest.raises(fxtrace.UsageError, match="expected nodes, modules or parameters"):
        collection.to_pandas("rows")
    named = fxtrace.trace(DIMENSIONS)
    assert named.to_pandas("modules").set_index("path").loc["linear", "macs"] == "s19*16"
    with_bodies = fxtrace.trace(os.path.join(harness.SAMPLES, "exported_control_flow_nested.pt2"))
    table = with_bodies.to_pandas()
    assert len(table) == with_bodies.count_nodes() and any("." in name for name in table["subgraph"].dropna())
    assert len(with_bodies.root.to_pandas()) == len(table)
    empty = collection.to_json()
    empty["parameters"] = []
    assert len(fxtrace.load(empty).to_pandas("parameters")) == 0
    assert isinstance(nodes, pandas.DataFrame)


@pytest.mark.parametrize(
    "name, use",
    [
        ("networkx", lambda collection: collection.root.to_networkx()),
        ("pandas", lambda collection: collection.to_pandas()),
        ("pandas", lambda collection: collection.to_pandas("parameters")),
        ("torch.fx", lambda collection: collection.graph_module()),
    ],
)
def test_missing_packages_are_named(monkeypatch, name, use):
    collection = fxtrace.trace(EXPORTED)
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=f"pip install {name.partition('.')[0]}"):
        use(collection)


# Notebooks


class Tags(HTMLParser):
    """Tags that are open at the end, and everything that could run or load something."""

    def __init__(self, text: str):
        super().__init__()
        self.names: set[str] = set()
        self.active: list = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.names.add(tag)
        self.active += [
            (tag, name) for name, _ in attrs if name.startswith("on") or name in ("href", "src", "xlink:href")
        ]
        if tag in ("script", "img", "iframe", "b"):
            self.active.append((tag, ""))


HOSTILE = '<script>alert(1)</script><img src=x onerror="alert(1)"> & \'"</td></text></svg> --> ]]> <b>'


def hostile_collection(base: str = EXPORTED) -> fxtrace.Collection:
    document = quiet_trace(base).to_json()
    document["model"].update(file=HOSTILE, type=HOSTILE)
    document["graphs"][0]["type"] = HOSTILE
    document["modules"][0]["type"] = HOSTILE
    for graph in document["graphs"]:
        for node in graph["nodes"]:
            if node["op"] == "placeholder":
                node["target"] = HOSTILE
            if node["source"]:
                node["source"].update(file=HOSTILE, text=HOSTILE)
    return fxtrace.load(document)


def without_dot(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))


def test_pictures_in_notebooks(monkeypatch, tmp_path):
    collection = fxtrace.trace(EXPORTED)
    html = collection._repr_html_()
    assert {"svg", "text", "polygon"} <= Tags(html).names and "nested_exported.pt2" in html
    assert collection.root._repr_html_() == html
    without_dot(monkeypatch, tmp_path)
    html = collection._repr_html_()
    assert "svg" not in Tags(html).names and "<td>368</td>" in html
    failing = quiet_trace(FAILING)
    html = failing.graph("outer.good")._repr_html_()
    assert "<td>outer_good_linear</td>" in html and "aten.sigmoid.default" in html


def test_large_graphs_are_small_in_notebooks(monkeypatch):
    document = fxtrace.trace(EXPORTED).to_json()
    graph = document["graphs"][0]
    first, last = graph["nodes"][0], graph["nodes"][-1]
    relu = {
        "op": "call_function",
        "target": "aten.relu.default",
        "kwargs": {},
        "scope": first["scope"],
        "meta": None,
        "source": None,
    }
    names = ["x", *(f"relu_{i}" for i in range(1, 5000))]
    chain = [
        {"name": name, **relu, "args": [{"node": before}], "users": [after]}
        for before, name, after in zip(names, names[1:], [*names[2:], "output"])
    ]
    graph["nodes"] = [{**first, "users": ["relu_1"]}, *chain, {**last, "args": [{"node": names[-1]}]}]
    del graph["graph_signature"]
    graph["execution"] = {"module_forward_order": [""], "param_forward_order": [], "module_param_usage": []}
    document["summary"]["nodes"] = len(graph["nodes"])
    large = fxtrace.load(document)
    assert "svg" in Tags(large._repr_html_()).names  # a picture closes what does not fit
    for shown in (large._repr_html_(), large.root._repr_html_(), fxtrace.Graph.from_json(graph)._repr_html_()):
        assert len(shown) < 100_000
    assert "4901 rows before the last are left out" in fxtrace.Graph.from_json(graph)._repr_html_()


@pytest.mark.parametrize("base", [EXPORTED, FAILING])
def test_hostile_names_are_only_text(monkeypatch, tmp_path, base):
    collection = hostile_collection(base)
    drawn = collection._repr_html_()
    assert "svg" in Tags(drawn).names
    without_dot(monkeypatch, tmp_path)
    for html in (drawn, collection._repr_html_(), collection.root._repr_html_(), collection.graphs[-1]._repr_html_()):
        assert Tags(html).active == [] and "alert" in html


def test_a_picture_that_could_run_something_is_not_shown(monkeypatch, tmp_path):
    dot = tmp_path / "dot"
    for picture in (
        '<svg xmlns="http://www.w3.org/2000/svg"><script/></svg>',
        '<svg xmlns="http://www.w3.org/2000/svg"><g onclick="a()"/></svg>',
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"><a xlink:href="x"/></svg>',
        "no svg",
    ):
        dot.write_text(f"#!/bin/sh\nwhile read -r line; do :; done\nprintf '%s\\n' '{picture}'\n")
        dot.chmod(0o755)
        without_dot(monkeypatch, tmp_path)
        assert "<table>" in fxtrace.trace(EXPORTED)._repr_html_()


def test_displaying_never_fails(monkeypatch, tmp_path):
    collection = hostile_collection()
    monkeypatch.setenv("FXTRACE", str(tmp_path / "none"))
    html = collection._repr_html_()
    assert Tags(html).active == [] and "16 nodes" in html


# The program


def test_python_m_is_the_program(program):
    for arguments in (["--version"], ["trace", EXPORTED], ["trace", "no_such.pt"], ["trac"], []):
        done = run_python("-m", "fxtrace", *arguments)
        expected = program.run(*arguments)
        assert (done.returncode, done.stdout.encode(), done.stderr.encode()) == (
            *(expected.returncode, expected.stdout),
            expected.stderr,
        )


def test_a_missing_program_is_one_error(tmp_path):
    for variables, text in (
        ({"FXTRACE": str(tmp_path / "none")}, "FXTRACE is "),
        ({"FXTRACE": "", "PATH": str(tmp_path)}, "the program fxtrace was found neither in the scripts folder"),
    ):
        done = run_python("-m", "fxtrace", "--version", **variables)
        assert done.returncode == 127 and done.stderr.startswith(f"fxtrace: error: {text}"), done.stderr
        code = "import fxtrace\ntry: fxtrace.trace('x')\nexcept fxtrace.ProgramNotFound as error: print(error)"
        assert run_python("-c", code, **variables).stdout.startswith(text)


def test_where_the_program_is_looked_for(program, tmp_path):
    """In a Python of its own: its scripts folder, beside the package, PATH; a script that starts the package is none."""
    environment = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True, timeout=300)
    python = str(environment / "bin" / "python")
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "fxtrace").symlink_to(os.path.join(harness.PACKAGE, "fxtrace"))
    (folder / "bin").mkdir()
    (tmp_path / "path").mkdir()
    places = [environment / "bin" / "fxtrace", tmp_path / "path" / "fxtrace"]
    variables = {"PYTHONPATH": str(folder), "PATH": f"{tmp_path / 'path'}:/usr/bin:/bin", "HOME": str(tmp_path)}

    def found() -> str:
        code = "import fxtrace; print(fxtrace.find_program())"
        done = subprocess.run([python, "-c", code], env=variables, capture_output=True, text=True, timeout=60)
        return done.stdout.strip() or done.stderr

    assert "ProgramNotFound" in found()
    for place in reversed(places):
        place.symlink_to(program.path)
        assert found() == str(place)
    places[0].unlink()
    places[0].write_text(f"#!{python}\nimport sys\nfrom fxtrace.__main__ import main\nsys.exit(main())\n")
    places[0].chmod(0o755)
    assert found() == str(places[1])
    done = subprocess.run([places[0], "--version"], env=variables, capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith("fxtrace ")


def test_the_program_is_told_where_libtorch_is(tmp_path):
    pytest.importorskip("torch")
    shows = tmp_path / "shows"
    shows.write_text('#!/bin/sh\necho "$FXTRACE_LIBTORCH"\n')
    shows.chmod(0o755)
    import torch

    folder = os.path.join(os.path.dirname(torch.__file__), "lib")
    for variables, expected in (
        ({}, folder),
        ({"FXTRACE_LIBTORCH": ""}, folder),
        ({"FXTRACE_LIBTORCH": "/own"}, "/own"),
    ):
        done = run_python("-m", "fxtrace", FXTRACE=str(shows), **variables)
        assert done.stdout.strip() == expected


@pytest.mark.parametrize("how", ["script", "-c", "-m", "imported"])
def test_a_folder_beside_the_script_is_no_torch(tmp_path, how):
    """Whoever unpacks a model unpacks what stands beside it."""
    pytest.importorskip("torch")
    import torch

    (tmp_path / "torch" / "lib").mkdir(parents=True)
    (tmp_path / "torch" / "lib" / "libtorch_cpu.so").write_bytes(b"")
    if how != "imported":
        (tmp_path / "torch" / "__init__.py").write_text("raise SystemExit('imported')")
    else:
        (tmp_path / "torch" / "__init__.py").write_text("")
    shows = tmp_path / "shows"
    shows.write_text('#!/bin/sh\necho "$FXTRACE_LIBTORCH" >&2\nexit 2\n')
    shows.chmod(0o755)
    code = "import fxtrace._program as p\nprint(p.environment().get('FXTRACE_LIBTORCH'))\n"
    if how == "imported":
        code = "import torch\n" + code
    script = tmp_path / "script.py"
    script.write_text(code)
    words = {"script": [str(script)], "imported": [str(script)], "-c": ["-c", code], "-m": ["-m", "fxtrace"]}[how]
    done = subprocess.run(
        [sys.executable, *words],
        cwd=tmp_path if how in ("-c", "-m") else None,
        env={**os.environ, "PYTHONPATH": harness.PACKAGE, "FXTRACE": str(shows), "FXTRACE_LIBTORCH": ""},
        capture_output=True,
        text=True,
    )
    assert (done.stdout + done.stderr).strip() == os.path.join(os.path.dirname(torch.__file__), "lib")


# Types


@pytest.mark.volume
def test_types_hold():
    """mypy, as strict as it gets: over the package, and over what users write."""
    pytest.importorskip("mypy")
    options = ["--strict", "--python-version", "3.10", "--cache-dir", os.path.join(harness.ROOT, "build", "mypy")]
    done = run_python("-m", "mypy", *options, os.path.join(harness.PACKAGE, "fxtrace"))
    assert done.returncode == 0, done.stdout


TOUR = os.path.join(harness.ROOT, "examples", "python", "tour.py")
WRONG = """import fxtrace
fxtrace.trace('m.pt', hooks='jump')
fxtrace.trace('m.pt', leafs='a')
number: int = fxtrace.load('c.json').root[0].name
fxtrace.summary('m.pt', sort='size')
fxtrace.check('m.pt', hooks='jump')
fxtrace.why('m.pt', pass_='a')
fxtrace.catalog.batches(['m.pt'], max_depth='a')
fxtrace.nothing
text: str = fxtrace.convert('m.pt')
model: fxtrace.Collection | None = fxtrace.trace(model='m.pt', model_name='a')
"""


@pytest.mark.parametrize("checker", tiers.only(["mypy"], ["mypy", "pyright"]))
def test_users_see_types(tmp_path, checker):
    (tmp_path / "wrong.py").write_text(WRONG)
    if checker == "mypy":
        pytest.importorskip("mypy")
        options = ["--strict", "--python-version", "3.10", "--cache-dir", os.path.join(harness.ROOT, "build", "mypy")]
        command = [sys.executable, "-m", "mypy", *options]
    else:
        script = os.path.join(harness.ROOT, "build", "pyright", "node_modules", "pyright", "index.js")
        if not os.path.exists(script):
            pytest.skip("needs pyright, which scripts/setup --tests installs")
        (tmp_path / "pyrightconfig.json").write_text(json.dumps({"pythonVersion": "3.10", "extraPaths": [harness.PACKAGE], "include": [TOUR, "wrong.py"]}))
        command = ["node", script, "--project", str(tmp_path), "--pythonpath", sys.executable]
    files = [TOUR, str(tmp_path / "wrong.py")] if checker == "mypy" else []
    done = subprocess.run([*command, *files], capture_output=True, text=True, timeout=300, env={**os.environ, "MYPYPATH": harness.PACKAGE})
    errors = [re.search(r"([\w.]+):(\d+)\b.*?error\b", line) for line in done.stdout.splitlines()]
    places = {(match[1], int(match[2])) for match in errors if match}
    assert places == {("wrong.py", line) for line in range(2, 11)}, done.stdout


def test_tour(program, tmp_path):
    done = run_python(TOUR, EXPORTED, SCRIPTED, str(tmp_path), FXTRACE=program.path)
    assert done.returncode == 0 and "equal 8 16" in done.stdout, done.stderr
