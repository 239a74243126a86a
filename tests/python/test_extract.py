"""Tests fxtrace extract: parts of samples, run on the values that enter them, compute the values of the whole graph bit for bit."""

import copy
import inspect
import json
import os
import random
import re
from typing import Any, Dict, List, NamedTuple, Optional

import fxtrace
import harness
import hostile_collections
import pytest
import tiers
import torch
from fxtrace import _exported, _leaf, _torchscript
from torch import fx
from torch.utils import _pytree as pytree

SAMPLES = {sample["file"]: sample for sample in [*harness.samples(), *harness.samples("exported_program")]}
CALLS = ("call_function", "call_method", "call_module")
REFUSED = b"this part of the graph cannot stand by itself"


def clone(value: Any) -> Any:
    """With memory of its own, laid out and aligned in the same way: kernels differ in the last bit with that, and with gradients."""

    def each(item: Any) -> Any:
        if not isinstance(item, torch.Tensor) or torch._C._functorch.is_batchedtensor(item):
            return item
        if item.layout is not torch.strided or item.is_quantized:
            return item.clone()
        content = torch.empty(0, dtype=torch.uint8).set_(item.untyped_storage())
        memory = torch.empty(content.numel() + 64, dtype=torch.uint8)
        shift = (content.data_ptr() - memory.data_ptr()) % 64
        memory[shift : shift + content.numel()] = content
        place = shift // item.element_size() + item.storage_offset()
        made = item.detach().new_empty(0).set_(memory.untyped_storage(), place, item.size(), item.stride())
        if item.requires_grad and torch._C._functorch.peek_interpreter_stack() is None:  # within vmap none can ask for them
            made.requires_grad_()
        return made

    return pytree.tree_map(each, value)


class Recorder(fx.Interpreter):
    """Keeps each value as it was made; `before(node, values)` is called before each node."""

    def __init__(self, module: fx.GraphModule, before=lambda node, values: None):
        super().__init__(module, garbage_collect_values=False)
        self.made: dict[str, Any] = {}
        self.before = before

    def run_node(self, n: fx.Node) -> Any:
        self.before(n, self.env)
        result = super().run_node(n)
        self.made[n.name] = clone(result)
        return result


class Model:
    """A sample's model, whose tensors are those of the file in each run."""

    def __init__(self, sample: dict):
        self.path = harness.sample_path(sample)
        self.is_exported = self.path.endswith(".pt2")
        if self.is_exported:
            self.program = harness.load_exported(sample)
            state = _leaf.state_of(self.program)
            self.tensors = [(value, clone(value)) for value in state.values() if isinstance(value, torch.Tensor)]

    def rebuild(self, graph: fxtrace.Graph) -> fx.GraphModule:
        if not self.is_exported:
            return graph.graph_module(_torchscript.load(self.path), archive=self.path, check=False)
        with torch.no_grad():
            for tensor, before in self.tensors:
                tensor.copy_(before)
        return graph.graph_module(self.program, archive=self.path, check=False, libraries=harness.LIBRARIES)


def within_vmap(graph: fxtrace.Graph) -> set[str]:
    found, depth = set(), 0
    for node in graph:
        depth += str(node.target).endswith("_vmap_increment_nesting")
        if depth:
            found.add(node.name)
        depth -= str(node.target).endswith("_vmap_decrement_nesting")
    return found


class Part:
    def __init__(self, arguments: tuple[str, ...], collection: dict):
        self.arguments, self.json = arguments, collection
        self.collection = fxtrace.Collection.from_json(collection)
        self.graph = self.collection.root
        self.inputs = [node.name for node in self.graph if node.op == "placeholder"]
        self.members = {node.name for node in self.graph if node.op in CALLS}
        self.entered: dict[str, Any] = {}
        self.random: Any = None

    def before(self, node: fx.Node, values: dict) -> None:
        """Of the whole graph: takes what enters as it is when the part first reads it."""
        if node.name not in self.members and node.op != "output":
            return
        if self.random is None:
            self.random = torch.get_rng_state()
        for used in node.all_input_nodes:
            if used.name in self.inputs and used.name not in self.entered:
                self.entered[used.name] = clone(values[used])

    def compare(self, model: Model, made: dict[str, Any]) -> None:
        run = Recorder(model.rebuild(self.graph))
        torch.set_rng_state(self.random)
        with torch.no_grad():
            run.run(*[self.entered[name] for name in self.inputs], enable_io_processing=False)
        for name in sorted(self.members - within_vmap(self.graph)):
            text = harness.difference(made[name], run.made[name], name)
            assert text is None, f"{self.arguments}: {text}"


def parts_of(program, file: str, collection: dict, wanted: list[tuple[str, ...]]) -> tuple[list[Part], list[str]]:
    """Those that are given, and what is said of the others."""
    parts, refused = [], []
    for arguments in wanted:
        done = program.run("extract", file, *arguments)
        if done.returncode == 0:
            part = json.loads(done.stdout)
            program.validate(part)
            harness.check_collection(part)
            parts.append(Part(arguments, part))
        else:
            text = done.stderr.decode()
            assert done.returncode in (2, 3) and len(text.splitlines()) < 4 and "defect" not in text, text
            refused.append(text)
    return parts, refused


def modules_of(collection: dict) -> list[tuple[str, ...]]:
    graph = collection["graphs"][0]
    order = graph["execution"]["module_forward_order"]
    calls = [(path, order[:i].count(path) + 1) for i, path in enumerate(order) if i > 0]
    return [("--module", path, "--call", str(number)) for path, number in calls]


def paths_of(collection: dict, count: int, seed: int) -> list[tuple[str, ...]]:
    draw = random.Random(seed)
    names = [node["name"] for node in collection["graphs"][0]["nodes"] if node["op"] in CALLS]
    users = {node["name"]: node["users"] for node in collection["graphs"][0]["nodes"]}
    found: list[tuple[str, ...]] = []
    for _ in range(count):
        if not names:
            break
        node = first = draw.choice(names)
        for _ in range(draw.randint(0, 8)):
            following = [user for user in users[node] if user in names]
            node = draw.choice(following) if following else node
        arguments = ["--from", first, "--to", node]
        if draw.random() < 0.3:
            arguments += ["--to", draw.choice(names)]
        found.append(tuple(arguments[draw.choice((0, 0, 2)) :] if draw.random() < 0.5 else arguments))
    return found


def options_of(sample: dict, rules: str) -> list[str]:
    options = [*harness.RULES[rules]]
    if sample.get("method", "forward") != "forward":
        options += ["--method", sample["method"]]
    return options + (["--model", sample["model"]] if "model" in sample else [])


def check_modules(part: dict, whole: dict) -> None:
    """Those of a part are what they are in the whole; later names of one module are of one there too."""
    of_whole = {module["path"]: module for module in whole["modules"]}
    for module in part["modules"]:
        other = of_whole[module["path"]]
        assert module["type"] == other["type"]
        if module["alias_of"] is not None:
            first = of_whole[module["alias_of"]]
            assert (other["alias_of"] or other["path"]) == (first["alias_of"] or first["path"])
    kept = {module["path"] for module in part["modules"]}
    for path, module in of_whole.items():
        if module["alias_of"] in kept and path.rpartition(".")[0] in kept:
            assert path in kept


@pytest.mark.parametrize("rules", tiers.only(["no-default-leaves"], harness.RULES))
@pytest.mark.parametrize("name", tiers.in_turn(list(SAMPLES)[::4], SAMPLES))
def test_parts_compute_what_the_whole_computes(program, tmp_path, name, rules):
    sample = SAMPLES[name]
    model = Model(sample)
    collection = program.trace(model.path, *options_of(sample, rules))
    file = str(tmp_path / "whole.json")
    with open(file, "w", encoding="utf-8") as output:
        json.dump(collection, output)
    wanted = list(dict.fromkeys(modules_of(collection) + paths_of(collection, 12, 0)))
    parts, refused = parts_of(program, file, collection, wanted)
    for text in refused:
        assert re.search("cannot stand by itself|no path leads|has no node in the graph", text), text
    for part in parts:
        check_modules(part.json, collection)
    if rules in sample.get("differs", {}) or not sample["inputs"]:
        return
    whole = fxtrace.Collection.from_json(collection)
    args, kwargs = copy.deepcopy(harness.make_inputs(sample["inputs"][0]))
    module = model.rebuild(whole.root)
    call = inspect.signature(module.forward).bind(*args, **kwargs)
    call.apply_defaults()

    def before(node: fx.Node, values: dict) -> None:
        for part in parts:
            part.before(node, values)

    run = Recorder(module, before)
    torch.manual_seed(0)
    with torch.no_grad():
        run.run(*call.args)
    for part in parts:
        part.compare(model, run.made)


@pytest.mark.parametrize("name", tiers.only(["failing_nested.pt", "exported_cond.pt2"], ["failing_nested.pt", "exported_cond.pt2", "vision_scripted.pt"]))
def test_every_format_takes_a_part(program, tmp_path, name):
    path = harness.sample_path(SAMPLES[name])
    collection = program.trace(path)
    for arguments in modules_of(collection)[:3] + paths_of(collection, 3, 1):
        done = program.run("extract", path, *arguments, "-f", "json")
        if done.returncode != 0:
            continue
        file = tmp_path / "part.json"
        file.write_bytes(done.stdout)
        assert program.stdout("render", str(file), "-f", "json") == done.stdout
        for suffix in ("svg", "html", "dot", "mmd", "py", "txt"):
            program.stdout("extract", path, *arguments, "-o", str(tmp_path / f"part.{suffix}"))
        compile((tmp_path / "part.py").read_text(), "part.py", "exec")
        program.stdout("extract", path, *arguments, "-f", "model-explorer")
        for command in ("summary", "order"):
            json.loads(program.stdout(command, "--json", str(file)))


def test_graphs_of_modules_that_failed(program):
    path = harness.sample_path(SAMPLES["failing_nested.pt"])
    part = json.loads(program.stdout("extract", path, "--module", "outer.good"))
    harness.check_collection(part)
    (graph,) = part["graphs"]
    assert [node["target"] for node in graph["nodes"] if node["op"] == "call_module"] == ["outer.good.linear"]
    assert graph["execution"]["module_forward_order"] == ["", "outer.good", "outer.good.linear"]
    failed = json.loads(program.stdout("extract", path, "--module", "outer"))
    whole = json.loads(program.stdout("trace", path))
    assert [graph["module"] for graph in failed["graphs"][1:]] == [
        graph["module"] for graph in whole["graphs"][1:] if graph["module"].startswith("outer.")
    ]


def test_python(program, monkeypatch):
    monkeypatch.setenv("FXTRACE", program.path)
    path = harness.sample_path(SAMPLES["nested_scripted.pt"])
    part = fxtrace.extract(path, module="stage.first")
    module = part.graph_module()
    x = torch.rand(2, 8)
    assert torch.equal(module(x), torch.jit.load(path).stage.first(x))
    assert set(dict(module.named_parameters())) <= set(dict(torch.jit.load(path).named_parameters()))
    again = fxtrace.extract(fxtrace.trace(path), module="stage.first")
    assert again.to_json() == part.to_json() and again.path == part.path
    ends = fxtrace.extract(path, from_="mul", to=["add", "mul_1"])
    assert [node.name for node in ends.root if node.op == "call_function"][0] == "mul"
    with pytest.raises(fxtrace.UsageError, match="the model has no module 'stage.frist'"):
        fxtrace.extract(path, module="stage.frist")
    with pytest.raises(TypeError, match="'nothing'"):
        fxtrace.extract(path, module="stage", nothing=1)


class Pair(NamedTuple):
    logits: torch.Tensor
    hidden: torch.Tensor


class Attend(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.project = torch.nn.Linear(4, 4)

    def forward(self, query: torch.Tensor, mask: Optional[torch.Tensor], scale: float, past: List[torch.Tensor]) -> Pair:
        hidden = self.project(query)
        if mask is not None:
            hidden = hidden * mask
        return Pair(past[1] - hidden * scale, hidden)


class Merge(torch.nn.Module):
    def forward(self, pair: Pair) -> Dict[str, torch.Tensor]:
        return {"sum": pair.logits + pair.hidden, "product": pair.logits * pair.hidden}


class Named(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attend, self.merge = Attend(), Merge()

    def forward(self, x: torch.Tensor, query: torch.Tensor) -> torch.Tensor:
        first = self.attend(x, query, 2.0, [x, query.relu()])
        merged = self.merge(first)
        second = self.attend(merged["sum"], x, 0.5, [query, merged["product"]])
        return second.logits


def test_names_of_a_module(program, tmp_path):
    """The signature of a part is that of the module's code, and it computes the same by name."""
    path = str(tmp_path / "named.pt")
    scripted = torch.jit.script(Named())
    scripted.save(path)
    saved = tmp_path / "named.json"
    program.stdout("trace", path, "-o", str(saved))
    x, mask, past = torch.rand(3, 4), torch.rand(3, 4), torch.rand(3, 4)

    def part_of(*words: str) -> Any:
        part = program.stdout("extract", path, *words)
        assert program.stdout("extract", str(saved), *words) == part
        program.validate(json.loads(part))
        return fxtrace.Collection.from_json(json.loads(part), path)

    for call in ("1", "2"):
        part = part_of("attend", "--call", call)
        # The list's other item is not used.
        assert [node.target for node in part.root if node.op == "placeholder"] == ["query", "mask", "past_1"]
        scale = 2.0 if call == "1" else 0.5
        got = part.graph_module()(query=x, mask=mask, past_1=past)
        want = scripted.attend(x, mask, scale, [x, past])
        assert torch.equal(got.logits, want.logits) and torch.equal(got.hidden, want.hidden)
    merged = part_of("merge").graph_module()(pair_logits=x, pair_hidden=mask)
    assert list(merged) == ["sum", "product"] and torch.equal(merged["product"], x * mask)
    leaf = part_of("attend.project", "--call", "2")
    assert [node.target for node in leaf.root if node.op == "placeholder"] == ["input"]


@pytest.mark.parametrize("command", [("extract", "--to", "output"), ("extract", "--module", "a"), ("order", "--json"), ("order", "--fsdp2")])
def test_hostile_collections(program, tmp_path, command):
    """Said in a line, or taken as they are."""
    file = tmp_path / "hostile.json"
    for case in [*hostile_collections.cases(), *list(hostile_collections.mutated())[::8]]:
        file.write_bytes(case.make())
        done = program.run(command[0], str(file), *command[1:])
        assert done.returncode in (0, 2, 3), (case.name, done.stderr[:500])
