"""Tests --control-flow subgraph: branches and loops that depend on data run through torch's own cond and while_loop."""

import copy
import json
import re

import control_flow_models
import fx_source
import harness
import pytest
import tiers
import torch
import tvcompat
import zoo
from test_shapes import options_for

MODELS = control_flow_models.MODELS
OPTIONS = ["--control-flow", "subgraph"]
WITH_FORM = sorted(name for name, case in MODELS.items() if case.why is None)


@pytest.fixture(scope="session")
def archives(tmp_path_factory):
    folder = tmp_path_factory.mktemp("control_flow")
    made = {}

    def path(name: str) -> str:
        if name not in made:
            torch.manual_seed(0)
            made[name] = str(folder / f"{name}.pt")
            torch.jit.save(torch.jit.script(MODELS[name].make().eval()), made[name])
        return made[name]

    return path


def operators(graph: dict) -> list[str]:
    return [node["target"] for node in harness.all_nodes(graph)]


def input_options(path: str, args: tuple) -> list[str]:
    """The shapes of the inputs, where all are tensors."""
    names = [argument.name for argument in torch.jit.load(path).forward.schema.arguments[1:]]
    if not all(isinstance(value, torch.Tensor) for value in args):
        return []
    options = []
    for name, value in zip(names, args):
        options += ["--input", f"{name}={str(value.dtype).removeprefix('torch.')}{list(value.shape)}".replace(" ", "")]
    return options


@pytest.mark.parametrize("name", tiers.one_in(4, WITH_FORM))
def test_as_the_model(program, archives, name):
    """On inputs that take every way; leaves inside subgraphs too."""
    path = archives(name)
    for rules in ([], ["--no-default-leaves"]):
        collection = program.trace(path, *OPTIONS, *rules)
        harness.check_collection(collection)
        assert set(harness.failed_modules(collection)) <= {"leaf"}
        for args in MODELS[name].inputs:
            harness.compare_runs(path, collection["graphs"][0], "forward", args, {})


@pytest.mark.parametrize("name", tiers.one_in(8, WITH_FORM))
def test_with_shapes(program, archives, name):
    """What is known of shapes decides branches, and holds in every turn of a loop."""
    path = archives(name)
    for args in MODELS[name].inputs:
        options = input_options(path, args)
        if not options:
            continue
        collection = program.trace(path, *OPTIONS, *options)
        assert set(harness.failed_modules(collection)) <= {"leaf"}
        graph = collection["graphs"][0]
        for other in MODELS[name].inputs:
            if [value.shape for value in other] == [value.shape for value in args]:
                harness.compare_runs(path, graph, "forward", other, {})
                check_shapes(path, graph, other)


def check_shapes(path: str, graph: dict, args: tuple) -> None:
    """Of the graph's own nodes: sizes that are numbers are those of the run, in every turn."""

    class Nodes(torch.fx.Interpreter):
        def run_node(self, n):
            value = super().run_node(n)
            meta = known.get(n.name)
            if isinstance(value, torch.Tensor) and meta and meta["shape"] is not None:
                assert len(meta["shape"]) == value.dim(), n
                for size, actual in zip(meta["shape"], value.shape):
                    assert not isinstance(size, int) or size == actual, n
                assert meta["dtype"] in (None, str(value.dtype).removeprefix("torch.")), n
            return value

    known = {node["name"]: node["meta"] for node in graph["nodes"]}
    with torch.no_grad():
        Nodes(harness.rebuild(path, graph)).run(*args)


@pytest.mark.parametrize("name", tiers.one_in(8, WITH_FORM))
def test_passes_keep_it(program, archives, name):
    path = archives(name)
    before = program.trace(path, *OPTIONS)["graphs"][0]
    after = program.trace(path, *OPTIONS, "--pass", "functional")["graphs"][0]
    for args in MODELS[name].inputs:
        harness.compare_graphs(path, before, after, args, {})


@pytest.mark.parametrize("name", ["LeavesInside", "Loop"])
def test_gradients(program, tmp_path, name):
    """Under autograd too, where bodies have leaves of the archive and integers are carried."""

    class LeavesInside(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.other = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)

        def forward(self, x):
            if bool(x.sum() > 0):
                if bool(x.max() > 1):
                    return self.one(x)
                return self.one(self.other(x))
            return torch.relu(self.other(x))

    class Loop(LeavesInside):
        def forward(self, x):
            turns = 0
            while bool(x.abs().sum() < 9) and turns < 5:
                x = self.one(x) + 1.0
                turns += 1
            return x * turns

    torch.manual_seed(0)
    model = torch.jit.script({"LeavesInside": LeavesInside, "Loop": Loop}[name]().eval())
    path = str(tmp_path / "model.pt")
    model.save(path)
    (source,) = fx_source.classes(fx_source.load(program, path, *OPTIONS))
    graphs = [harness.rebuild(path, program.trace(path, *OPTIONS)["graphs"][0], model), source(model)]
    for x in (torch.full((2, 4), 0.1), torch.full((2, 4), 2.0), torch.full((2, 4), -0.1)):
        of = [x.requires_grad_(), *model.parameters()]
        wanted = torch.autograd.grad(model(x).sum(), of, allow_unused=True)
        for graph in graphs:
            assert harness.difference(wanted, torch.autograd.grad(graph(x).sum(), of, allow_unused=True)) is None


def conditions(path: str, graph: dict, args: tuple) -> dict:
    """Of each cond in the graph the condition that it gets."""

    found = {}

    class Nodes(torch.fx.Interpreter):
        def run_node(self, n):
            if n.target is torch.ops.higher_order.cond:
                found[n.name] = bool(self.map_nodes_to_values(n.args[0], n))
            return super().run_node(n)

    with torch.no_grad():
        Nodes(harness.rebuild(path, graph)).run(*copy.deepcopy(args))
    return found


@pytest.mark.parametrize("name", tiers.one_in(8, WITH_FORM))
def test_conditions_that_are_known(program, archives, tmp_path, name):
    """With the conditions of one run as numbers, the branches that it takes stand in the place of each cond."""
    path, saved = archives(name), tmp_path / "saved.json"
    for rules in ([], ["--no-default-leaves"]):
        collection = program.trace(path, *OPTIONS, *rules)
        before = collection["graphs"][0]
        for args in MODELS[name].inputs:
            known = copy.deepcopy(collection)
            taken = conditions(path, before, args)
            nodes = {node["name"]: node for node in known["graphs"][0]["nodes"]}
            for cond in taken:
                asked = nodes[cond]["args"][0]
                nodes[cond]["args"][0] = taken[cond]
                if isinstance(asked, dict) and asked not in nodes[cond]["args"][3]:
                    nodes[asked["node"]]["users"].remove(cond)
            saved.write_text(json.dumps(known))
            done = program.run("render", str(saved), "--pass", "fold-constants")
            assert done.returncode == 0, done.stderr.decode()
            after = json.loads(done.stdout)
            program.validate(after)  # its order of execution is that of the trace, with the calls that are gone
            graph = after["graphs"][0]
            left = [node["name"] for node in graph["nodes"] if node["target"] == "higher_order.cond" and node["name"] in taken]
            assert left == []
            harness.compare_graphs(path, before, graph, args, {})
            assert graph["execution"] == before["execution"]


@pytest.mark.parametrize("name", tiers.one_in(3, sorted(set(MODELS) - set(WITH_FORM))))
def test_without_a_form(program, archives, name):
    """The module fails, as without the option, and says which value stands in the way."""
    path = archives(name)
    collection = program.trace(path, *OPTIONS)
    failure = collection["modules"][0]["failure"]
    assert failure["kind"] == "data_dependent_control_flow"
    assert MODELS[name].why in failure["message"]
    plain = program.trace(path)
    assert [node["op"] for node in collection["graphs"][0]["nodes"]] == [
        node["op"] for node in plain["graphs"][0]["nodes"]
    ]
    for args in MODELS[name].inputs:
        harness.compare_runs(path, collection["graphs"][0], "forward", args, {})


def test_one_branch(program, archives):
    """The form of torch.export, with the leaf in its branch and the question as a tensor."""
    graph = program.trace(archives("IfElse"), *OPTIONS)["graphs"][0]
    assert [node["target"] for node in graph["nodes"]] == [
        "x", "aten.sum.default", "aten.gt.Scalar", "higher_order.cond", "operator.getitem", "aten.mul.Scalar",
        "output",
    ]  # fmt: skip
    cond = next(node for node in graph["nodes"] if node["target"] == "higher_order.cond")
    assert cond["args"] == [{"node": "gt"}, {"graph": "true_graph_0"}, {"graph": "false_graph_0"}, [{"node": "x"}]]
    assert [node["target"] for node in graph["subgraphs"]["true_graph_0"]["nodes"]] == ["x", "linear", "output"]
    assert graph["execution"]["module_forward_order"] == ["", "linear"]
    assert graph["execution"]["param_forward_order"] == ["linear.weight", "linear.bias"]


def test_operands_in_order_of_first_use(program, archives):
    graph = program.trace(archives("TwoResults"), *OPTIONS)["graphs"][0]
    cond = next(node for node in graph["nodes"] if node["target"] == "higher_order.cond")
    assert cond["args"][3] == [{"node": "mul"}, {"node": "add"}, {"node": "x"}]
    for body in graph["subgraphs"].values():
        assert [n["target"] for n in body["nodes"] if n["op"] == "placeholder"] == ["mul", "add", "x"]


def test_condition_of_a_loop(program, archives):
    """The short circuit is inside the condition's subgraph, and nothing of it is left before the loop."""
    for name in ("While", "WhileStartsAnywhere"):
        graph = program.trace(archives(name), *OPTIONS)["graphs"][0]
        outside = [node["target"] for node in graph["nodes"] if node["op"] == "call_function"]
        assert outside[:1] == ["higher_order.while_loop"]
        assert "higher_order.cond" in operators(graph["subgraphs"]["while_loop_cond_graph_0"])
        assert "higher_order.cond" not in operators(graph["subgraphs"]["while_loop_body_graph_0"])


def test_nothing_where_nothing_hangs_on_it(program, archives):
    """A branch that only prints, or only raises, is no node."""
    for name in ("Warns", "EqualPlainStay"):
        graph = program.trace(archives(name), *OPTIONS)["graphs"][0]
        assert ("higher_order.cond" in operators(graph)) == (name != "Warns")
    graph = program.trace(archives("Raises"), *OPTIONS)["graphs"][0]
    assert operators(graph).count("higher_order.cond") == 1
    assert len(graph["guards"]) == 1


def test_shapes_decide(program, archives):
    """With known sizes an `if` on them makes no cond."""
    path = archives("DetectionPostProcessing")
    shapes = ["--input", "boxes=float32[n,4]", "--input", "scores=float32[n]"]
    assert "higher_order.cond" in operators(program.trace(path, *OPTIONS, *shapes)["graphs"][0])
    path = archives("SizesInside")
    graph = program.trace(path, *OPTIONS, "--input", "x=float32[2,4]")["graphs"][0]
    meta = {node["name"]: node["meta"] for node in graph["nodes"]}
    assert meta["getitem"]["shape"] in ([8], ["u0"])


def test_differing_sizes_are_a_new_symbol(program, archives):
    graph = program.trace(archives("SizesInside"), *OPTIONS, "--input", "x=float32[2,4]")["graphs"][0]
    cond = next(node for node in graph["nodes"] if node["target"] == "higher_order.cond")
    item = next(node for node in graph["nodes"] if node["name"] == cond["users"][0])
    assert item["meta"]["shape"] == ["u0"]
    growing = program.trace(
        archives("GrowingTensor"), *OPTIONS, "--input", "x=float32[1,2]", "--input", "n=int64[]"
    )["graphs"][0]
    item = next(node for node in growing["nodes"] if node["target"] == "operator.getitem")
    assert item["meta"]["shape"][1] == 2 and isinstance(item["meta"]["shape"][0], str)


def test_pieces_of_what_is_one_or_another(program, tmp_path):
    """The rank differs, and the list has as many parts all the same: as the boxes of torchvision's RoIHeads."""

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(2, 2)

        def forward(self, x):
            if x.sum() > 0:
                x = x.unsqueeze(1)
            rest = x.tensor_split([1])[-1]
            results = [self.linear(part) for part in x.split([1, 2], 0)]
            for part in rest.tensor_split(2):
                results.append(part * 2)
            return results

    path = str(tmp_path / "net.pt")
    torch.jit.save(torch.jit.script(Net()), path)
    collection = program.trace(path, *OPTIONS, "--input", "x=float32[3,2]")
    assert harness.failed_modules(collection) == []
    for x in (torch.ones(3, 2), -torch.ones(3, 2)):
        harness.compare_runs(path, collection["graphs"][0], "forward", (x,), {})


def test_defaults_come_first(program, tmp_path):
    """No cond on an optional input, and none on a flag that has a default."""

    class Net(torch.nn.Module):
        def forward(self, x, mask: torch.Tensor | None = None, double: bool = False):
            if mask is not None:
                x = x * mask
            if double:
                x = x * 2
            return x

    path = str(tmp_path / "net.pt")
    torch.jit.save(torch.jit.script(Net()), path)
    assert "higher_order.cond" not in operators(program.trace(path, *OPTIONS)["graphs"][0])
    collection = program.trace(path, *OPTIONS, "--defaults", "never")
    assert harness.failed_modules(collection) == [""]
    collection = program.trace(path, *OPTIONS, "--concrete", "mask=null", "--defaults", "never")
    assert operators(collection["graphs"][0]).count("higher_order.cond") == 1


def test_failure_inside(program, tmp_path):
    """The innermost module becomes a leaf inside the subgraph, and its children have graphs."""

    class Child(torch.nn.Module):
        def forward(self, x):
            return x * 2

    class Inner(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.child = Child()

        def forward(self, x):
            out = [x]
            if x.sum() > 0:
                out.append(self.child(x))
            return torch.cat(out)

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Inner()

        def forward(self, x):
            if x.max() > 1:
                return self.inner(x)
            return x

    path = str(tmp_path / "net.pt")
    torch.jit.save(torch.jit.script(Net()), path)
    collection = program.trace(path, *OPTIONS)
    harness.check_collection(collection)
    assert harness.failed_modules(collection) == ["inner"]
    assert [graph["module"] for graph in collection["graphs"]] == ["", "inner.child"]
    graph = collection["graphs"][0]
    assert "inner" in operators(graph["subgraphs"]["true_graph_0"])
    for value in (0.5, 2.0, -2.0):
        harness.compare_runs(path, graph, "forward", (torch.full((3,), value),), {})


def test_drawn_and_read_back(program, archives, tmp_path):
    path = archives("IfInLoop")
    text = program.stdout("trace", path, *OPTIONS, "-f", "json")
    file = tmp_path / "graph.json"
    file.write_bytes(text)
    assert json.loads(text)["options"] == {"control_flow": "subgraph"}
    assert program.stdout("render", str(file), "-f", "json") == text
    harness.check_dot(program.stdout("trace", path, *OPTIONS, "-f", "dot"))


# A module that raises, and one that sets a buffer to a tensor of unknown shape.
FAIL_ALL_THE_SAME = {"raising.pt": ["always"], "attributes.pt": ["running"]}


@pytest.mark.parametrize("sample", [s for s in harness.samples() if s["failed"]], ids=lambda s: s["file"])
def test_samples(program, sample):
    """Where control flow only carries tensors and numbers nothing fails any more."""
    path = harness.sample_path(sample)
    collection = program.trace(path, *OPTIONS)
    assert harness.failed_modules(collection) == FAIL_ALL_THE_SAME.get(sample["file"], [])
    for inputs in sample["inputs"]:
        args, kwargs = harness.make_inputs(inputs)
        harness.compare_runs(path, collection["graphs"][0], sample["method"], args, kwargs)


# What stands in the way in well-known models, which is neither a tensor nor a number: lists and dicts of unknown
# length, an attribute that is set to a list of tensors, an object, a write to a tensor that the loop did not make; and in torch.nn itself, followed without
# shapes, a string that says why there is no fast path, and None for a length.
NO_FAST_PATH = r"`why_not_\w*fast_path\d*` is str or '"
STAYS = {
    "faster_rcnn_scripted": r"of type List\[|is set, and holds a list|an attribute that changes|aten::(items|values) of a (value|dict whose keys)|an object of .*ImageList|"
    "index_put_ writes to zeros_like",
    "tv_vit_scripted": NO_FAST_PATH,
    "attention_scripted": NO_FAST_PATH,
    "transformer_scripted": NO_FAST_PATH + "|a value is None or int",
}


@pytest.mark.volume
@pytest.mark.parametrize("rules", ["default", "no-default-leaves"])
@pytest.mark.parametrize("name", [name for name in zoo.shapes_names() if name.endswith("_scripted")])
def test_models(program, zoo_archive, name, rules):
    """No module of torchvision or timm fails whose control flow only carries tensors and numbers."""
    path = zoo_archive(name)
    tvcompat.add_kernels()
    inputs = torch.load(path.removesuffix(".pt") + ".inputs.pt")
    for shapes in ([], options_for(inputs)):
        collection = program.trace(path, *OPTIONS, *harness.RULES[rules], *shapes)
        harness.check_collection(collection)
        for module in collection["modules"]:
            if module["failure"]:
                assert re.search(STAYS.get(name, "(?!)"), module["failure"]["message"]), module
        if not shapes and rules != "default" and "higher_order.cond" in operators(collection["graphs"][0]):
            harness.compare_runs(path, collection["graphs"][0], "forward", inputs, {})
