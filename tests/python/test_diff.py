"""Tests fxtrace diff: random edits of collections, where the diff must be exactly the edit; pairs of models; hostile collections."""

import copy
import json
import os
import pathlib
import random
import shutil
import time
import zipfile
import zlib
from collections.abc import Callable

import archive_edit
import fxtrace
import golden
import harness
import hostile_collections
import large_collections
import pytest
import torch

SCHEMA = os.path.join(harness.ROOT, "schemas", "comparison.schema.json")
KINDS = ["modules", "parameters", "weights", "nodes", "arguments", "shapes", "order", "costs", "guards", "names", "sources"]


def sample(name: str) -> str:
    return os.path.join(harness.SAMPLES, name)


@pytest.fixture(scope="module")
def validate():
    import jsonschema_rs

    with open(SCHEMA, encoding="utf-8") as file:
        validator = jsonschema_rs.Draft202012Validator(json.load(file))
    return validator.validate


def diff(program, before: str, after: str, *options: str) -> dict:
    return json.loads(program.stdout("diff", before, after, "--json", *options))


def told(comparison: dict) -> list[tuple]:
    return [
        tuple(difference[key] for key in ("kind", "change", "subject", "field"))
        for module in comparison["modules"]
        for difference in module["differences"]
    ]


# --- random edits ---

# Of each a trace and its options; costs are what a node's edit changes too, so they have a test of their own.
BASES = [
    ("nested_scripted.pt", "--no-default-leaves"),
    ("nested_exported.pt2",),
    ("vision_exported.pt2",),
    ("attention_exported.pt2", "--no-default-leaves"),
    ("exported_interleaved.pt2",),
    ("shared_tied_exported.pt2",),
    ("failing_nested.pt",),
    ("containers.pt", "--no-default-leaves"),
    ("control_flow_submodule.pt", "--control-flow", "subgraph"),
    ("exported_dimensions.pt2",),
]


@pytest.fixture(scope="module")
def bases(program) -> list[dict]:
    return [program.trace(sample(name), *options) for name, *options in BASES]


def references(value, rename: Callable[[str], object]):
    """The value with what rename() gives in the place of each node; whatever it is that it gives."""
    if isinstance(value, dict):
        if set(value) == {"node"}:
            return rename(value["node"])
        return {key: references(item, rename) for key, item in value.items()}
    if isinstance(value, list):
        return [references(item, rename) for item in value]
    return value


def uses(node: dict) -> list[str]:
    found = []
    references([node["args"], node["kwargs"]], lambda name: found.append(name) or {"node": name})
    return found


def set_users(graph: dict) -> None:
    by_name = {node["name"]: node for node in graph["nodes"]}
    for node in graph["nodes"]:
        node["users"] = []
    for node in graph["nodes"]:
        for name in dict.fromkeys(uses(node)):
            by_name[name]["users"].append(node["name"])


def redirect(graph: dict, old: str, new: str, without: str = "") -> None:
    for node in graph["nodes"]:
        if node["name"] != without:
            for key in ("args", "kwargs"):
                node[key] = references(node[key], lambda name: {"node": new if name == old else name})
    for entry in graph.get("graph_signature", {}).get("outputs", []):
        if entry["node"] == old:
            entry["node"] = new


def new_name(graph: dict, base: str) -> str:
    names = {node["name"] for node in graph["nodes"]}
    return next(name for name in (f"{base}_{i}" for i in range(1, 100_000)) if name not in names)


class NotHere(Exception):
    """The collection has nothing for this edit."""


def choose(rng: random.Random, items):
    items = list(items)
    if not items:
        raise NotHere
    return rng.choice(items)


def calls(graph: dict) -> list[dict]:
    return [node for node in graph["nodes"] if node["op"] == "call_function"]


def rename_node(rng, collection, graph):
    node = choose(rng, (node for node in graph["nodes"] if node["op"] not in ("placeholder", "output")))
    old, new = node["name"], new_name(graph, "renamed")
    redirect(graph, old, new)
    for entries in graph.get("graph_signature", {}).values():
        for entry in entries:
            if entry["node"] == old:
                entry["node"] = new
    node["name"] = new
    return ("names", "changed", old, None)


def insert_node(rng, collection, graph):
    node = choose(rng, (node for node in graph["nodes"] if node["op"] != "output"))
    place = 1 + max(i for i, other in enumerate(graph["nodes"]) if other is node or other["op"] == "placeholder")
    name = new_name(graph, "sigmoid")
    new = {**copy.deepcopy(node), "op": "call_function", "target": "aten.sigmoid.default", "name": name}
    for key in ("method", "program_nodes", "model_function", "recorded"):
        new.pop(key, None)
    new.update(args=[{"node": node["name"]}], kwargs={}, meta=None, source=None)
    if node["op"] == "call_module":
        new["scope"] = {"module_path": "", "module_type": None, "call": 1}
    graph["nodes"].insert(place, new)
    redirect(graph, node["name"], name, without=name)
    return ("nodes", "added", name, None)


def remove_node(rng, collection, graph):
    node = choose(rng, (node for node in calls(graph) if len(set(uses(node))) == 1 and "graph" not in str(node["args"])))
    redirect(graph, node["name"], uses(node)[0])
    graph["nodes"].remove(node)
    return ("nodes", "removed", node["name"], None)


def change_operator(rng, collection, graph):
    node = choose(rng, (node for node in calls(graph) if node["target"].startswith("aten.") and node["users"] and not node["kwargs"] and len(node["args"]) == 1))
    node["target"] = "aten.selu.default" if "selu" not in node["target"] else "aten.celu.default"
    return ("nodes", "changed", node["name"], "target")


def change_constant(rng, collection, graph):
    node = choose(rng, (n for n in calls(graph) if any(type(item) is int for item in n["args"]) and not n["target"].startswith("aten.")))
    place = next(i for i, item in enumerate(node["args"]) if type(item) is int)
    node["args"][place] += 1000
    return ("arguments", "changed", node["name"], str(place))


def add_keyword(rng, collection, graph):
    node = choose(rng, (node for node in calls(graph) if node["target"] in ("aten.add.Tensor", "aten.sub.Tensor")))
    node["kwargs"]["alpha"] = 17
    return ("arguments", "changed", node["name"], "alpha")


def change_shape(rng, collection, graph):
    node = choose(rng, (node for node in graph["nodes"] if node["meta"] and node["meta"]["shape"]))
    node["meta"]["shape"][0] = 12345
    return ("shapes", "changed", node["name"], "shape")


def change_dtype(rng, collection, graph):
    node = choose(rng, (node for node in graph["nodes"] if node["meta"] and node["meta"]["dtype"]))
    node["meta"]["dtype"] = "bfloat16"
    return ("shapes", "changed", node["name"], "dtype")


def change_source(rng, collection, graph):
    node = choose(rng, (node for node in graph["nodes"] if node["source"] and node["source"]["line"]))
    node["source"]["line"] += 7
    return ("sources", "changed", node["name"], "source")


def swap_neighbours(rng, collection, graph):
    def is_free(first, second):
        return (
            {first["op"], second["op"]} <= {"call_function", "call_module"}
            and first["scope"] == second["scope"]
            and first["name"] not in uses(second)
        )

    nodes = graph["nodes"]
    places = [i for i in range(len(nodes) - 1) if is_free(nodes[i], nodes[i + 1])]
    place = choose(rng, places)
    first, second = nodes[place : place + 2]
    nodes[place : place + 2] = [second, first]
    return ("order", "moved", {first["name"], second["name"]}, None)


def every_graph(graphs) -> list[dict]:
    return [found for graph in graphs for found in [graph, *every_graph(graph["subgraphs"].values())]]


def change_type(rng, collection, graph):
    module = choose(rng, (module for module in collection["modules"] if module["path"] and module["type"]))
    module["type"] = "pkg.Changed"
    for each in every_graph(collection["graphs"]):
        if each["module"] == module["path"]:
            each["type"] = "pkg.Changed"
        for node in each["nodes"]:
            if node["scope"]["module_path"] == module["path"]:
                node["scope"]["module_type"] = "pkg.Changed"
    return ("modules", "changed", module["path"], "type")


def rename_module(rng, collection, graph):
    paths = [module["path"] for module in collection["modules"] if module["path"]]
    old = choose(rng, paths)
    new = ".".join([*old.split(".")[:-1], "renamed"])

    def moved(text):
        return new + text[len(old) :] if text == old or text.startswith(old + ".") else text

    for module in collection["modules"]:
        module["path"] = moved(module["path"])
        module["alias_of"] = module["alias_of"] and moved(module["alias_of"])
    for parameter in collection["parameters"]:
        parameter["name"] = moved(parameter["name"])
        parameter["alias_of"] = parameter["alias_of"] and moved(parameter["alias_of"])
    summary = collection["summary"]
    summary["unused_parameters"] = [moved(name) for name in summary["unused_parameters"]]

    def rename(graph):
        graph["module"] = moved(graph["module"])
        for node in graph["nodes"]:
            node["scope"]["module_path"] = moved(node["scope"]["module_path"])
            if node["op"] in ("call_module", "get_attr") and node["target"] not in graph["constants"]:
                node["target"] = moved(node["target"])
        if "execution" in graph:
            execution = graph["execution"]
            for key in ("module_forward_order", "param_forward_order"):
                execution[key] = [moved(name) for name in execution[key]]
            for entry in execution["module_param_usage"]:
                entry["module"] = moved(entry["module"])
                entry["uses"] = [{"module": moved(use["module"]), "params": [moved(name) for name in use["params"]]} for use in entry["uses"]]
            for call in execution.get("call_values", ()):
                call["module"] = moved(call["module"])

    for each in every_graph(collection["graphs"]):
        rename(each)
    return ("modules", "moved", old, None)


def change_parameter(rng, collection, graph):
    parameter = choose(rng, (p for p in collection["parameters"] if p["shape"]))
    parameter["shape"][0] += 3
    return ("parameters", "changed", parameter["name"], "shape")


def tie_parameter(rng, collection, graph):
    names = [p["name"] for p in collection["parameters"] if p["alias_of"] is None]
    if len(names) < 2:
        raise NotHere
    first, second = sorted(rng.sample(range(len(names)), 2))
    parameter = next(p for p in collection["parameters"] if p["name"] == names[second])
    parameter["alias_of"] = names[first]
    return ("parameters", "changed", parameter["name"], "alias_of")


def add_parameter(rng, collection, graph):
    module = choose(rng, collection["modules"])
    name = (module["path"] + "." if module["path"] else "") + "one_more"
    collection["parameters"].append({"name": name, "kind": "buffer", "shape": [3], "dtype": "int64", "alias_of": None})
    collection["summary"]["parameters"] += 1
    return ("parameters", "added", name, None)


def add_guard(rng, collection, graph):
    graph["guards"].append({"expr": "x.dim() == 17", "source": None})
    return ("guards", "added", "x.dim() == 17", None)


def remove_guard(rng, collection, graph):
    guard = choose(rng, graph["guards"])
    graph["guards"].remove(guard)
    return ("guards", "removed", guard["expr"], None)


EDITS = [
    rename_node, insert_node, remove_node, change_operator, change_constant, add_keyword, change_shape, change_dtype,
    change_source, swap_neighbours, change_type, rename_module, change_parameter, tie_parameter, add_parameter, add_guard,
    remove_guard,
]  # fmt: skip


def check_edit(program, validate, bases, folder, number: int) -> str | None:
    """What is wrong; nothing where the collection had no place for the edit."""
    rng = random.Random(number)
    edit = EDITS[number % len(EDITS)]
    base = copy.deepcopy(rng.choice(bases))
    edited = copy.deepcopy(base)
    graph = rng.choice(edited["graphs"])
    if graph["subgraphs"] and rng.random() < 0.3:
        graph = rng.choice(list(graph["subgraphs"].values()))
    nodes = len(graph["nodes"])
    try:
        expected = edit(rng, edited, graph)
    except NotHere:
        return ""
    set_users(graph)
    edited["summary"]["nodes"] += len(graph["nodes"]) - nodes
    before, after = folder / "before.json", folder / "after.json"
    before.write_text(json.dumps(base), encoding="utf-8")
    after.write_text(json.dumps(edited), encoding="utf-8")
    comparison = diff(program, str(before), str(after), "--only", ",".join(kind for kind in KINDS if kind not in ("costs", "weights")))
    validate(comparison)
    found = told(comparison)
    kind, change, subject, field = expected
    wanted = [(kind, change, name, field) for name in (subject if isinstance(subject, set) else [subject])]
    if len(found) != 1 or found[0] not in wanted:
        return f"{number}: {edit.__name__} of {base['model']['file']}: {wanted} was told as {found}"
    return None


# Seconds for 250 of them; 1,000 with the volume.
@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.volume) for part in range(1, 4))])
def test_an_edit_is_told_as_itself(program, validate, bases, tmp_path, part):
    results = [check_edit(program, validate, bases, tmp_path, number) for number in range(part * 250, (part + 1) * 250)]
    assert [text for text in results if text] == []
    assert sum(text is None for text in results) > 150


def test_every_edit_is_tried(bases):
    for edit in EDITS:
        assert any(is_possible(edit, bases, seed) for seed in range(300)), edit


def is_possible(edit, bases, seed) -> bool:
    rng = random.Random(seed)
    collection = copy.deepcopy(rng.choice(bases))
    try:
        edit(rng, collection, collection["graphs"][0])
    except NotHere:
        return False
    return True


# --- pairs ---


def test_all_samples_are_equal_to_themselves(program):
    """Of every kind of difference, also with the trace that was saved."""
    for name in sorted(os.listdir(harness.SAMPLES))[::4]:
        if name.endswith((".pt", ".pt2")) and name != "exported_several.pt2":
            comparison = diff(program, sample(name), sample(name), "--only", ",".join(KINDS))
            assert comparison["equal"], (name, told(comparison))


def test_both_front_ends_give_one_graph(program):
    for name in ("nested", "shared_tied"):
        done = program.run("diff", sample(f"{name}_scripted.pt"), sample(f"{name}_exported.pt2"), "--exit-code")
        assert done.returncode == 0, done.stdout.decode()


def test_a_saved_trace_and_a_pass(program, tmp_path):
    saved = tmp_path / "saved.json"
    saved.write_bytes(program.stdout("trace", sample("inplace_exported.pt2")))
    model = sample("inplace_exported.pt2")
    assert diff(program, model, str(saved), "--only", ",".join(KINDS))["equal"]
    functional = tmp_path / "functional.json"
    functional.write_bytes(program.stdout("render", str(saved), "--pass", "functional", "-f", "json"))
    assert ("nodes", "changed", "relu__1", "target") in told(diff(program, str(saved), str(functional)))
    # Passes run on both, and those of the trace do not.
    assert diff(program, str(saved), str(functional), "--pass", "functional")["equal"]
    done = program.run("diff", str(saved), str(functional), "--max-depth", "1")
    assert (done.returncode, done.stdout) == (2, b"")


def test_output_is_neither_of_the_two(program, tmp_path):
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_bytes(program.stdout("trace", sample("nested_scripted.pt")))
    for name in ("a.json", "b.json"):
        done = program.run("diff", str(tmp_path / "a.json"), str(tmp_path / "b.json"), "-o", str(tmp_path / name))
        assert done.returncode == 2 and b"overwrite the input" in done.stderr
    program.stdout("diff", str(tmp_path / "a.json"), str(tmp_path / "b.json"), "-o", str(tmp_path / "c.md"))
    assert (tmp_path / "c.md").read_text(encoding="utf-8").startswith("**`a.json → b.json`**")


@pytest.mark.volume
@pytest.mark.parametrize("make", [large_collections.nested, large_collections.flat])
def test_a_hundred_thousand_nodes(program, tmp_path, make):
    """Against as many: equal, with a thousand changes, with all of them other ones.  In at most three times the processor
    time that Python's json takes for one of the two files."""
    collection = make(100_000)
    calls_of = [node for node in collection["graphs"][0]["nodes"] if node["op"] == "call_function"]
    files = [tmp_path / f"{name}.json" for name in ("before", "changed", "other")]
    large_collections.write(collection, str(files[0]))
    for node in random.Random(0).sample(calls_of, 1000):
        node["target"] = "aten.selu.default"
    large_collections.write(collection, str(files[1]))
    for node in calls_of:
        node["target"] = "aten.celu.default"
    large_collections.write(collection, str(files[2]))
    start_of_json = time.process_time()
    json.loads(files[0].read_bytes())
    most = 3 * (time.process_time() - start_of_json)
    for file, expected in zip(files, (0, 1000, len(calls_of)), strict=True):
        start = harness.processor_seconds()
        comparison = diff(program, str(files[0]), str(file))
        assert harness.processor_seconds() - start < most
        found = comparison["counts"]["nodes"]
        assert found["changed"] + found["removed"] == expected


def test_a_picture(program, tmp_path):
    picture = tmp_path / "diff.dot"
    for name in ("failing_nested.pt", "exported_cond.pt2", "vision_exported.pt2", "shared_tied_scripted.pt"):
        program.stdout("diff", sample(name), sample("nested_scripted.pt"), "-o", str(picture))
        if shutil.which("dot"):
            harness.check_dot(picture.read_bytes())
            program.stdout("diff", sample(name), sample("nested_scripted.pt"), "-o", str(tmp_path / "diff.svg"))
            svg = (tmp_path / "diff.svg").read_text(encoding="utf-8")
            assert "+ stage" in svg


def test_python(program, monkeypatch):
    monkeypatch.setenv("FXTRACE", program.path)
    before = fxtrace.trace(sample("vision_exported.pt2"))
    found = fxtrace.diff(before, sample("vision_exported_decomposed.pt2"), ignore=["costs", "shapes"])
    assert found and not found.equal
    assert found.before.parameters == found.after.parameters == 407
    assert {difference.kind for difference in found} <= set(found.kinds) == set(KINDS) - {"costs", "shapes", "names", "sources"}
    added = [difference for difference in found if difference.change == "added"]
    assert "max_pool2d_with_indices" in [difference.subject for difference in added]
    assert added[0].source.file.endswith("vision.py")
    assert not fxtrace.diff(before, before, only="nodes")
    with pytest.raises(TypeError, match="unexpected keyword argument 'runs'"):
        fxtrace.diff(before, before, runs=2)


# --- weights, by the checksums of the archives ---


class Weighted(torch.nn.Module):
    """Parameters of every kind of storage: their own, tied, a part of another, in another order, empty."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.first = torch.nn.Linear(6, 6)
        self.tied = torch.nn.Linear(6, 6)
        self.tied.weight = self.first.weight
        self.turned = torch.nn.Parameter(torch.randn(6, 4).t())
        whole = torch.randn(12, 6)
        self.part = torch.nn.Parameter(whole[3:9])
        self.register_buffer("empty", torch.empty(0, 3))
        self.register_buffer("steps", torch.tensor(7))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.turned @ self.tied(self.first(x)).relu() @ self.part + self.steps + self.empty.sum()


def saved(model: torch.nn.Module, path) -> str:
    example = (torch.randn(6, 6),)
    if str(path).endswith(".pt2"):
        torch.export.save(torch.export.export(model.eval(), example), path)
    else:
        torch.jit.save(torch.jit.script(model.eval()) if "script" in path.name else torch.jit.trace(model.eval(), example), str(path))
    return str(path)


def weights_of(program, before: str, after: str) -> tuple[set[str], dict]:
    """Which differ, and the counts."""
    comparison = diff(program, before, after, "--only", "weights")
    assert comparison["counts"]["weights"]["changed"] == comparison["weights"]["differ"]
    assert comparison["equal"] == (comparison["weights"]["differ"] == 0)
    return {subject for _, _, subject, _ in told(comparison)}, comparison["weights"]


@pytest.mark.parametrize("ending", ["script.pt", "trace.pt", "export.pt2"])
def test_weights(program, tmp_path, ending, monkeypatch):
    monkeypatch.setenv("FXTRACE", program.path)
    one = saved(Weighted(1), tmp_path / f"one_{ending}")
    same = saved(Weighted(1), tmp_path / f"same_{ending}")
    other = saved(Weighted(2), tmp_path / f"other_{ending}")
    few = Weighted(1)
    with torch.no_grad():
        few.first.bias += 1
    few = saved(few, tmp_path / f"few_{ending}")

    differing, counts = weights_of(program, one, same)
    assert not differing and counts["compared"] + counts["not_compared"] == 7 and counts["compared"] >= 6
    differing, counts = weights_of(program, one, few)
    assert differing == {"first.bias"} and counts["bytes_before"] == counts["bytes_after"] == 24
    differing, counts = weights_of(program, one, other)
    # What is a part of a larger record may be the same; else all that is random differs.
    assert {"first.weight", "first.bias", "tied.bias", "turned"} <= differing <= {"first.weight", "first.bias", "tied.bias", "turned", "part"}
    assert "tied.weight" not in differing and "steps" not in differing

    text = program.stdout("diff", one, few).decode()
    assert "Weights     1 of " in text and "first.bias" not in text and "bias: other content, 24 B" in program.stdout("diff", one, few, "--only", "weights").decode()
    assert program.run("diff", one, few, "--fail-on", "weights").returncode == 1
    assert program.run("diff", one, few, "--exit-code").returncode == 1
    assert program.run("diff", one, few, "--exit-code", "--ignore", "weights").returncode == 0
    assert program.run("diff", one, same, "--exit-code").returncode == 0
    assert b"1 of " in program.stdout("diff", one, few, "--markdown")
    assert fxtrace.diff(one, few, only="weights").weights["differ"] == 1
    # A saved collection has no checksums.
    collection = str(tmp_path / "one.json")
    program.stdout("trace", one, "-o", collection)
    assert "not compared" in program.stdout("diff", collection, few).decode()
    assert diff(program, collection, few)["weights"]["compared"] <= 1  # the empty one


@pytest.mark.parametrize("ending", ["script.pt", "trace.pt", "export.pt2"])
def test_bytes_of_weights(program, tmp_path, ending, monkeypatch):
    """Checksums that do not say what is there, or that were forged, make two models the same, unless the bytes are read."""
    monkeypatch.setenv("FXTRACE", program.path)
    one = saved(Weighted(1), tmp_path / f"one_{ending}")
    content = pathlib.Path(one).read_bytes()
    weight = Weighted(1).first.bias.detach().numpy().tobytes()
    other = tmp_path / f"other_{ending}"
    forgery = archive_edit.forged(bytes(20) + weight[:4], zlib.crc32(weight))
    for new, is_told in ((bytes(len(weight)), True), (forgery, False)):
        other.write_bytes(archive_edit.overwritten(content, weight, new))
        text = program.stdout("diff", one, str(other)).decode()
        assert " the same (by checksums)" in text and "by checksums" in program.stdout("diff", one, str(other), "--markdown").decode()
        by_checksums = diff(program, one, str(other))
        assert by_checksums["equal"] and by_checksums["weights"]["by"] == "checksums"
        done = program.run("diff", one, str(other), "--verify-content", "--only", "weights", "--exit-code")
        assert done.returncode == 1 and b"first" in done.stdout and b"bias: other content" in done.stdout
        assert (b"its bytes do not match their checksum in the archive" in done.stderr) == is_told
        found = diff(program, one, str(other), "--only", "weights", "--verify-content")
        assert [subject for _, _, subject, _ in told(found)] == ["first.bias"] and found["weights"]["by"] == "bytes"
        assert fxtrace.diff(one, other, only="weights", verify_content=True)
    text = program.stdout("diff", one, one, "--verify-content").decode()
    assert " the same" in text and "checksum" not in text
    # Archives without checksums, and compressed ones, can be compared too.
    for name, compression in (("deflated.pt", zipfile.ZIP_DEFLATED), ("deflated.pt2", zipfile.ZIP_DEFLATED)):
        if ending.split(".")[1] != name.split(".")[1]:
            continue
        with zipfile.ZipFile(one) as source, zipfile.ZipFile(tmp_path / name, "w", compression) as target:
            for item in source.infolist():
                target.writestr(item.filename, source.read(item))
        assert not weights_of(program, one, str(tmp_path / name))[0]
        assert diff(program, one, str(tmp_path / name), "--verify-content")["weights"]["differ"] == 0


@pytest.mark.volume
def test_bytes_of_large_weights(program, tmp_path):
    """A piece at a time, in little memory, and not longer than it may take."""
    paths = []
    for number in range(2):
        model = torch.jit.script(torch.nn.Linear(8192, 8192, bias=False))
        torch.nn.init.constant_(model.weight, number)
        paths.append(str(tmp_path / f"{number}.pt"))
        torch.jit.save(model, paths[-1])
    limits = ["--verify-content", "--max-memory", "40"]
    assert diff(program, *paths, *limits)["weights"]["differ"] == 1
    done = program.run("check", "--verify-content", paths[0], "--max-memory", "40")
    assert done.returncode == 0, done.stderr
    done = program.run("diff", *paths, "--verify-content", "--max-time", "1")
    assert done.returncode == 3 and b"more than 1 s of processor time" in done.stderr


def test_weights_of_both_kinds_and_of_other_types(program, tmp_path):
    script, program_file = saved(Weighted(1), tmp_path / "script.pt"), saved(Weighted(1), tmp_path / "export.pt2")
    assert not weights_of(program, script, program_file)[0]
    half = saved(Weighted(1).to(torch.float16), tmp_path / "half_script.pt")
    differing, counts = weights_of(program, script, half)
    assert differing == {"first.weight", "first.bias", "tied.bias", "turned", "part"}
    assert counts["bytes_before"] == 2 * counts["bytes_after"] == 4 * (36 + 6 + 6 + 24 + 36)
    # Compressed records have the checksums of what is in them.
    deflated = tmp_path / "deflated.pt"
    with zipfile.ZipFile(script) as source, zipfile.ZipFile(deflated, "w", zipfile.ZIP_DEFLATED) as target:
        for item in source.infolist():
            target.writestr(item.filename, source.read(item))
    assert weights_of(program, script, str(deflated)) == (set(), weights_of(program, script, script)[1])


class Constants(torch.nn.Module):
    """Large tensors that are no parameters: of a frozen model its weights, too."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.linear = torch.nn.Linear(40, 40)
        self.plain = torch.randn(60, 60)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x).sum() + (x.sum() * self.plain).sum()


@pytest.mark.parametrize("ending", ["pt", "pt2"])
def test_weights_that_are_constants(program, tmp_path, ending):
    paths = []
    for number, seed in enumerate([1, 1, 2]):
        path = str(tmp_path / f"model{number}.{ending}")
        model = Constants(seed).eval()
        if ending == "pt":
            torch.jit.save(torch.jit.freeze(torch.jit.script(model)), path)
        else:
            torch.export.save(torch.export.export(model, (torch.randn(2, 40),)), path)
        paths.append(path)
    assert diff(program, paths[0], paths[1])["equal"]
    differing, counts = weights_of(program, paths[0], paths[2])
    large = [name for name in differing if "bias" not in name]
    assert len(large) == counts["differ"] - ("linear.bias" in differing) == 2 and counts["not_compared"] == 0


# --- hostile collections ---


def check_hostile(program, case, folder) -> None:
    """Also as a picture."""
    file, other = folder / "hostile.json", folder / "other.json"
    file.write_bytes(case.make())
    other.write_bytes(golden.Case.read(hostile_collections.SMALL).stdout)
    pairs = [(file, file), (file, other), (other, file)]
    for before, after in pairs:
        start = time.monotonic()
        done = program.run("diff", str(before), str(after), "--json", "--only", ",".join(KINDS), "--max-memory", "2048", "--max-time", "20")
        assert time.monotonic() - start < 60
        assert done.returncode in (0, 3), (done.returncode, done.stderr[-500:])
        assert len(done.stderr.splitlines()) <= 10
        drawn = program.run("diff", str(before), str(after), "-o", str(folder / "x.dot"), "--max-memory", "2048", "--max-time", "20")
        assert drawn.returncode == done.returncode, drawn.stderr[-500:]
        if done.returncode == 0 and before == after:
            assert json.loads(done.stdout)["equal"], told(json.loads(done.stdout))


def test_the_file_that_needs_too_much_is_named(program, tmp_path):
    small, large = tmp_path / "small.json", tmp_path / "large.json"
    small.write_bytes(golden.Case.read(hostile_collections.SMALL).stdout)
    large.write_text(json.dumps(large_collections.flat(20_000)))
    for pair in [(small, large), (large, small)]:
        done = program.run("diff", *map(str, pair), "--max-memory", "30")
        assert done.returncode == 3 and done.stderr.decode().startswith(f"fxtrace: error: {large}: it needed more than 30 MiB")


@pytest.mark.parametrize("case", list(hostile_collections.cases()), ids=lambda case: case.name)
def test_hostile_collections(program, case, tmp_path):
    check_hostile(program, case, tmp_path)


@pytest.mark.volume
def test_mutated_collections(program, tmp_path):
    for case in [*hostile_collections.mutated(), *hostile_collections.flipped()]:
        check_hostile(program, case, tmp_path)
