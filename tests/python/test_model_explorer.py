"""Tests the adapter for Model Explorer: its own server answers for files, with the requests of its page."""

import dataclasses
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
import warnings

import fxtrace
import harness
import pytest
import tiers

pytest.importorskip("model_explorer")
from model_explorer import graph_builder  # noqa: E402  (checked above)

ADAPTER = os.path.join(harness.ROOT, "packaging", "model-explorer")
SAMPLES = {name: os.path.join(harness.SAMPLES, name) for name in os.listdir(harness.SAMPLES) if ".pt" in name}


@pytest.fixture(scope="module")
def server(program, tmp_path_factory):
    """`model-explorer FILE --extensions=fxtrace_adapter_model_explorer`, and a way to send it a command."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = ["from model_explorer.cmdline import main; import sys; sys.exit(main())", SAMPLES["nested_scripted.pt"]]
    options = ["--extensions=fxtrace_adapter_model_explorer", "--no_open_in_browser", f"--port={port}", "--host=127.0.0.1"]
    home = str(tmp_path_factory.mktemp("home"))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((harness.PACKAGE, ADAPTER)), "FXTRACE": program.path, "HOME": home}
    log = open(os.path.join(home, "log"), "wb")
    process = subprocess.Popen(
        [sys.executable, "-c", *command, *options], env=environment, stdout=log, stderr=subprocess.STDOUT
    )

    def ask(path: str, body: dict | None = None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data, {"Content-Type": "application/json"})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=120) as answer:
            return json.load(answer)

    try:
        for _ in range(600):
            try:
                ask("/api/v1/get_extensions")
                break
            except OSError:
                assert process.poll() is None, open(log.name).read()
                time.sleep(0.2)
        yield ask
    finally:
        process.kill()
        process.wait()
        log.close()


def convert(server, path: str) -> dict:
    command = {"cmdId": "convert", "extensionId": "fxtrace", "modelPath": path, "settings": {}}
    return server("/apipost/v1/send_command", {**command, "deleteAfterConversion": False})


def trace(path: str) -> fxtrace.Collection:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fxtrace.FxtraceWarning)
        return fxtrace.trace(path)


@pytest.fixture(autouse=True)
def installed(program, monkeypatch):
    monkeypatch.setenv("FXTRACE", program.path)


def test_it_is_an_extension(server):
    (found,) = [item for item in server("/api/v1/get_extensions") if item["id"] == "fxtrace"]
    assert {"pt", "pt2", "json"} <= set(found["fileExts"]) and found["type"] == "adapter"


@pytest.mark.volume
def test_its_wheel(program, tmp_path, monkeypatch):
    """Installed as pip does it, Model Explorer finds it by the name of the package."""
    pytest.importorskip("scikit_build_core")
    sys.path.insert(0, os.path.join(harness.ROOT, "packaging", "release"))
    import artefacts

    monkeypatch.setattr(artefacts, "DIST", tmp_path)
    monkeypatch.setattr(artefacts, "WORK", tmp_path / "work")
    monkeypatch.setattr(artefacts, "run", lambda *words, env, log: subprocess.run([sys.executable, *map(str, words[1:])], env={**os.environ, **env}, check=True))
    wheel = artefacts.make_adapter(1780000000)
    target = tmp_path / "installed"
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target", target, wheel], check=True)
    (metadata,) = target.glob("*.dist-info/METADATA")
    assert f"Requires-Dist: fxtrace=={artefacts.version()}\n" in metadata.read_text()
    code = (
        "from model_explorer.extension_manager import ExtensionManager as Manager; m = Manager(['fxtrace_adapter_model_explorer']); m.load_extensions(); "
        "print([one['id'] for one in m.get_extensions_metadata()])"
    )
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": os.pathsep.join((harness.PACKAGE, str(target)))}, capture_output=True, text=True)
    assert "'fxtrace'" in done.stdout, done.stdout + done.stderr


def values(items: list[dict]) -> dict:
    return {item["key"]: item["value"] for item in items}


@pytest.mark.parametrize("name", tiers.only(["nested_exported.pt2", "failing_nested.pt"], sorted(SAMPLES)))
def test_every_sample(server, name):
    """Graphs, nodes and edges are those of the collection, and what the page needs holds."""
    if name == "exported_several.pt2":
        pytest.skip("holds several programs: see test_errors")
    collection = trace(SAMPLES[name])
    graphs = convert(server, SAMPLES[name])["graphs"]
    ids = [graph["id"] for graph in graphs]
    assert len(set(ids)) == len(ids) and ids[0] == "(root)"
    expected = [graph for top in collection for graph in dict.fromkeys(owner for owner, _ in top.walk())]
    by_nodes = {tuple(node.name for node in graph): graph for graph in expected}
    assert sum(len(graph["nodes"]) for graph in graphs) == collection.count_nodes()
    for graph in graphs:
        original = by_nodes[tuple(node["id"] for node in graph["nodes"])]
        namespaces = set()
        for node in graph["nodes"]:
            assert node["label"] and all(isinstance(value, str) for value in values(node["attrs"]).values())
            edges = [edge["sourceNodeId"] for edge in node["incomingEdges"]]
            assert edges == [source for _, source in original[node["id"]].input_places()]
            numbers = [edge["targetNodeInputId"] for edge in node["incomingEdges"]]
            assert numbers == [item["id"] for item in node["inputsMetadata"]] == [str(i) for i in range(len(edges))]
            assert set(node["subgraphIds"]) <= set(ids)
            parts = node["namespace"].split("/") if node["namespace"] else []
            namespaces |= {"/".join(parts[: i + 1]) for i in range(len(parts))}
        assert set(graph["groupNodeAttributes"]) - {""} == namespaces


def test_what_a_node_shows(server):
    graph = convert(server, SAMPLES["nested_exported.pt2"])["graphs"][0]
    nodes = {node["id"]: node for node in graph["nodes"]}
    linear, mul = nodes["stage_first_linear"], nodes["mul"]
    assert (linear["label"], linear["namespace"]) == ("linear (Linear)", "stage (Stage)/first (Block)")
    assert (mul["label"], mul["namespace"]) == ("aten.mul.Tensor", "stage (Stage)/first (Block)")
    assert values(linear["attrs"])["MACs"] == "128" and values(linear["attrs"])["args[0]"] == "%stem"
    assert values(linear["attrs"])["source"].startswith("nets/nested.py:17: return self.act")
    assert linear["outputsMetadata"] == [{"id": "0", "attrs": [{"key": "tensor_shape", "value": "float32[2, 8]"}]}]
    assert graph["groupNodeAttributes"]["stage (Stage)"]["MACs"] == "256"
    assert graph["groupNodeAttributes"][""]["type"] == "nets.nested.Net"
    assert nodes["x"]["namespace"] == "" and nodes["shift"]["label"] == "shift"


def test_bodies_of_control_flow_are_linked(server):
    graphs = convert(server, SAMPLES["exported_control_flow_nested.pt2"])["graphs"]
    linked = {target for graph in graphs for node in graph["nodes"] for target in node["subgraphIds"]}
    assert linked == {graph["id"] for graph in graphs[1:]} and len(linked) > 3


def test_failed_modules_are_marked(server):
    graphs = convert(server, SAMPLES["failing_nested.pt"])["graphs"]
    gate = next(node for node in graphs[0]["nodes"] if node["id"] == "gate")
    assert "an `if` depends on an input" in values(gate["attrs"])["failure"] and gate["style"]["backgroundColor"]
    assert {"outer.good", "outer.inner.step"} <= {graph["id"] for graph in graphs}


def test_saved_collections(server, tmp_path):
    collection = trace(SAMPLES["nested_exported.pt2"])
    path = str(tmp_path / "saved.json")
    collection.save(path)
    assert convert(server, path) == convert(server, SAMPLES["nested_exported.pt2"])


def test_calls_are_groups(server):
    """A module that is called twice is two boxes."""
    (graph,) = convert(server, SAMPLES["attributes.pt"])["graphs"]
    spaces = {node["namespace"] for node in graph["nodes"]}
    assert {"counter (Counter)", "counter (Counter) (call 2)"} <= spaces
    assert graph["groupNodeAttributes"]["counter (Counter) (call 2)"]["call"] == "2"


@pytest.mark.parametrize("name", ["nested_exported.pt2", "failing_nested.pt", "exported_control_flow_nested.pt2"])
def test_files_that_the_program_writes(program, server, tmp_path, name):
    """They are what the page itself reads of JSON: one collection, of graphs with nothing but what the library knows."""
    written = json.loads(program.stdout("trace", SAMPLES[name], "-f", "model-explorer"))
    assert set(written) == {"label", "graphs"} and written["label"] == name
    assert written["graphs"] == [
        {key: value for key, value in graph.items() if value is not None}
        for graph in convert(server, SAMPLES[name])["graphs"]
    ]
    fields = {field.name for field in dataclasses.fields(graph_builder.GraphNode)}
    for graph in written["graphs"]:
        for node in graph["nodes"]:
            assert set(node) <= fields
            for edge in node["incomingEdges"]:
                graph_builder.IncomingEdge(**edge)
            for item in [*node["inputsMetadata"], *node["outputsMetadata"]]:
                graph_builder.MetadataItem(**item)


def test_errors(server, tmp_path):
    """They reach the page as one line."""
    other = tmp_path / "other.json"
    other.write_text("{}")
    for path, text in (
        (SAMPLES["exported_several.pt2"], "UsageError: "),
        (str(tmp_path / "none.pt"), "no such file"),
        (str(other), "this is not a graph collection"),
    ):
        error = convert(server, path)["error"]
        assert text in error and "\n" not in error
