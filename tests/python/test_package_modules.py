"""Tests Collection.graph_module: graphs as torch.fx modules that run, from files and from models in memory.

That graphs mean what their models mean is tested wherever harness.rebuild is; here is how users get and use them.
"""

import copy
import io
import os
import pickle
import re
import subprocess
import sys
import warnings

import fxtrace
import harness
import pytest
import tiers
import torch
from torch import fx, nn

EXPORTED = os.path.join(harness.SAMPLES, "nested_exported.pt2")
SCRIPTED = os.path.join(harness.SAMPLES, "nested_scripted.pt")
FAILING = os.path.join(harness.SAMPLES, "failing_nested.pt")
SEVERAL = os.path.join(harness.SAMPLES, "exported_several.pt2")


@pytest.fixture(autouse=True)
def installed(program, monkeypatch):
    monkeypatch.setenv("FXTRACE", program.path)
    warnings.simplefilter("ignore", fxtrace.FxtraceWarning)
    torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.norm = nn.BatchNorm1d(width)
        self.scale = nn.Parameter(torch.rand(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.norm(self.linear(x)) * self.scale


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = Block(6)
        self.again = nn.Linear(6, 6)
        self.recurrent = nn.GRU(6, 5)
        self.register_buffer("shift", torch.rand(6))
        self.register_buffer("hidden", torch.rand(1, 5), persistent=False)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x = self.again(torch.relu(self.again(self.first(x)))) + self.shift + torch.tensor([1.0])
        output, hidden = self.recurrent(x, self.hidden)
        return output, hidden


@pytest.fixture(scope="module")
def net() -> Net:
    model = Net()
    model(torch.rand(8, 6))  # statistics of BatchNorm that are not those of a new one
    return model.eval()


@pytest.fixture(scope="module")
def files(net, tmp_path_factory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("models")
    x = torch.rand(3, 6)
    paths = {
        kind: str(folder / f"{kind}.pt{'2' if kind == 'exported' else ''}")
        for kind in ("exported", "scripted", "traced")
    }
    torch.export.save(torch.export.export(net, (x,)), paths["exported"])
    torch.jit.script(net).save(paths["scripted"])
    torch.jit.trace(net, x).save(paths["traced"])
    return paths


KINDS = ("exported", "scripted", "traced")


def loaded(path: str):
    return torch.export.load(path) if path.endswith("2") else torch.jit.load(path)


def trace(path: str, **options) -> fxtrace.Collection:
    if not path.endswith("2"):
        options.setdefault("input", ["float32[3,6]"])
    return fxtrace.trace(path, **options)


@pytest.mark.parametrize("source", ["traced file", "path", "loaded", "own model"])
@pytest.mark.parametrize(
    "leaves", [{}, {"no_default_leaves": True}, {"max_depth": 1}], ids=lambda leaves: "".join(leaves) or "default"
)
@pytest.mark.parametrize("kind", KINDS)
def test_every_source_of_parameters(net, files, kind, leaves, source):
    collection = trace(files[kind], **leaves)
    if kind == "traced" and source == "own model" and not leaves.get("no_default_leaves"):
        pytest.skip("traced modules take their inputs in the order of their use: a GRU its state first")
    model = {"traced file": None, "path": files[kind], "own model": net, "loaded": loaded(files[kind])}[source]
    module = collection.graph_module(model)
    x = torch.rand(3, 6)
    assert isinstance(module, fx.GraphModule)
    assert [node.name for node in module.graph.nodes] == [node.name for node in collection.root]
    with torch.no_grad():
        assert harness.difference(net(x), module(x)) is None


@pytest.mark.parametrize("kind", KINDS)
def test_a_collection_that_was_saved_needs_a_model(net, files, kind, tmp_path):
    trace(files[kind]).save(tmp_path / "graph.json")
    collection = fxtrace.load(tmp_path / "graph.json")
    with pytest.raises(fxtrace.RebuildError, match="the modules and parameters are missing"):
        collection.graph_module()
    x = torch.rand(3, 6)
    for model in (files[kind], loaded(files[kind]), *([net] if kind != "traced" else [])):
        with torch.no_grad():
            assert harness.difference(net(x), collection.graph_module(model)(x)) is None


def test_state_is_the_models_own(net, files):
    module = trace(files["exported"]).graph_module()
    expected = net.state_dict()
    assert {"first.norm.running_mean", "again.weight", "shift"} <= set(module.state_dict())
    assert set(expected) <= set(module.state_dict())
    assert {name.partition("@1.")[0] for name in set(module.state_dict()) - set(expected)} <= {"again"}
    for name, value in expected.items():
        assert torch.equal(module.state_dict()[name], value), name
    assert dict(module.named_parameters()).keys() == dict(net.named_parameters()).keys()
    assert module.again.weight is getattr(module, "again@1").weight


def test_training_steps_are_the_models(net, files):
    """Gradients reach the parameters, and the optimizer's steps the results."""
    module, model, x = trace(files["exported"]).graph_module(), copy.deepcopy(net), torch.rand(3, 6)
    for trained in (module, model):
        optimizer = torch.optim.SGD(trained.parameters(), lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            trained(x)[0].sum().backward()
            optimizer.step()
    for name, value in model.named_parameters():
        assert torch.allclose(dict(module.named_parameters())[name], value, atol=1e-6), name


@pytest.mark.parametrize("how", ["deepcopy", "pickle", "torch.save"])
@pytest.mark.parametrize(
    "leaves", [{}, {"no_default_leaves": True}, {"max_depth": 1}], ids=lambda leaves: "".join(leaves) or "default"
)
def test_copies_run(net, files, how, leaves):
    module, x = trace(files["exported"], **leaves).graph_module(), torch.rand(3, 6)
    with torch.no_grad():
        expected = module(x)
    if how == "deepcopy":
        other = copy.deepcopy(module)
    elif how == "pickle":
        other = pickle.loads(pickle.dumps(module))
    else:
        buffer = io.BytesIO()
        torch.save(module, buffer)
        buffer.seek(0)
        other = torch.load(buffer, weights_only=False)
    with torch.no_grad():
        assert harness.difference(expected, other(x)) is None
        next(other.parameters()).zero_()
        assert harness.difference(expected, module(x)) is None  # nothing is shared


def test_copies_of_scripted_models_run(net, files):
    for model in (None, net):
        module, x = trace(files["scripted"]).graph_module(model), torch.rand(3, 6)
        with torch.no_grad():
            assert harness.difference(module(x), copy.deepcopy(module)(x)) is None
    with torch.no_grad():
        assert harness.difference(module(x), pickle.loads(pickle.dumps(module))(x)) is None


@pytest.mark.parametrize("kind", KINDS)
def test_other_dtypes_and_devices(net, files, kind):
    x = torch.rand(3, 6, dtype=torch.float64)
    module = trace(files[kind]).graph_module().to(torch.float64)
    expected = copy.deepcopy(net).to(torch.float64)
    with torch.no_grad():
        for ours, theirs in zip(module(x), expected(x)):
            assert ours.dtype == torch.float64 and torch.allclose(ours, theirs)
    if kind == "exported":
        module = trace(files[kind], no_default_leaves=True).graph_module().to("meta")
        assert all(value.device.type == "meta" for value in module.state_dict().values())


def test_meta_of_nodes(files):
    collection = trace(files["exported"])
    nodes = {node.name: node for node in collection.graph_module().graph.nodes}
    node = nodes["first_linear"]
    assert node.meta["fxtrace"] is collection.root["first_linear"]
    assert node.meta["shape"] == (3, 6) and node.meta["dtype"] is torch.float32
    assert list(node.meta["nn_module_stack"].values()) == [
        ("", collection.model.type),
        ("first", collection.modules["first"].type),
        ("first.linear", "torch.nn.modules.linear.Linear"),
    ]
    assert node.meta["stack_trace"].startswith('File "') and "self.norm(self.linear(x))" in node.meta["stack_trace"]
    assert "stack_trace" not in nodes["x"].meta


def test_torch_fx_can_go_on_with_it(net, files):
    """Transformers, passes and printing of torch.fx take it as any graph module."""
    from torch.fx.passes.shape_prop import ShapeProp

    module, x = trace(files["exported"], no_default_leaves=True).graph_module(), torch.rand(3, 6)
    ShapeProp(module).propagate(x)
    assert all("tensor_meta" in node.meta for node in module.graph.nodes if node.op == "call_function")
    transformed = fx.Transformer(module).transform()
    for node in module.graph.nodes:
        if node.target is torch.ops.aten.relu.default:
            node.target = torch.ops.aten.neg.default
    module.recompile()
    with torch.no_grad():
        assert harness.difference(net(x), transformed(x)) is None
        assert harness.difference(net(x), module(x)) is not None
    assert "aten.neg" in module.code and "aten.linear" in module.print_readable(print_output=False)


PRINTED = ("nested_scripted.pt", "containers.pt", "methods.pt", "exported_modules.pt2", "exported_cond.pt2")


@pytest.mark.parametrize("sample", PRINTED)
def test_graphs_as_torch_prints_them(sample):
    """Bodies of control flow follow behind the graph."""
    collection = fxtrace.trace(os.path.join(harness.SAMPLES, sample))
    written = collection.render("graph").split("\n\n#")[0].rstrip("\n")
    assert written.splitlines() == str(collection.graph_module().graph).splitlines()


def test_leaves_are_graphs_too(files):
    module = trace(files["exported"]).graph_module()
    leaf = module.get_submodule("first.norm")
    assert isinstance(leaf, fx.GraphModule)
    assert [node.target for node in leaf.graph.nodes if node.op == "get_attr"] == [
        *("weight", "bias", "running_mean", "running_var")
    ]


def test_graphs_of_submodules():
    collection = fxtrace.trace(FAILING)
    model = torch.jit.load(FAILING)
    for path, original in (("outer.good", model.outer.good), ("outer.inner.step", model.outer.inner.step)):
        x = torch.rand(2, 4)
        for module in (collection.graph_module(module=path), collection.graph(path).graph_module(model)):
            assert torch.equal(module(x), original(x))


def test_one_of_several_programs():
    collection = fxtrace.trace(SEVERAL, model_name="decoder")
    module = collection.graph_module()
    assert [node.name for node in module.graph.nodes] == [node.name for node in collection.root]


def test_a_graph_without_a_collection():
    graph = fxtrace.Graph.from_json(fxtrace.trace(SCRIPTED).to_json()["graphs"][0])
    x = torch.rand(2, 4)
    assert torch.equal(graph.graph_module(SCRIPTED)(x), torch.jit.load(SCRIPTED)(x))
    with pytest.raises(fxtrace.RebuildError, match="modules and parameters are missing"):
        graph.graph_module()


def test_large_constants(tmp_path):
    """They are read from the file, which trace() remembers and a model in memory does not."""
    large = torch.rand(2000)

    class WithConstant(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + large

    path, x = str(tmp_path / "traced.pt"), torch.rand(2000)
    torch.jit.trace(WithConstant(), x).save(path)
    collection = fxtrace.trace(path)
    model = torch.jit.load(path)
    saved = fxtrace.load(collection.to_json())
    for module in (collection.graph_module(), collection.graph_module(model), saved.graph_module(model, archive=path)):
        assert torch.equal(module(x), x + large)
        assert module.state_dict() == {}
    with pytest.raises(fxtrace.RebuildError, match="is in the model's file: give that as archive=PATH"):
        saved.graph_module(model)


@pytest.mark.parametrize(
    "change, text",
    [
        (lambda node: node.update(target="no.such"), "node stem: the model has no 'no.such'"),
        (lambda node: node.update(args=[{"node": "output"}]), "node stem: uses output, which is not defined before it"),
        (lambda node: node.update(name="lambda"), "node lambda: torch.fx would name it"),
        (lambda node: node.update(users=[]), "node stem: the users are"),
        (
            lambda node: node.update(op="call_function", target="aten.no.such"),
            "node stem: no such function: aten.no.such",
        ),
        (lambda node: node.update(args=[{"graph": "body_9"}]), "node stem: the graph has no subgraph 'body_9'"),
        (lambda node: node.update(op="jump"), "node stem: 'jump' is not an op of torch.fx"),
        (lambda node: node.update(args=[{"dtype": "float33"}]), "node stem: 'float33' is not a dtype of torch"),
    ],
)
def test_what_does_not_fit_is_one_error(change, text):
    document = fxtrace.trace(SCRIPTED).to_json()
    change(document["graphs"][0]["nodes"][1])
    with pytest.raises(fxtrace.RebuildError) as caught:
        fxtrace.load(document).graph_module(SCRIPTED)
    assert str(caught.value).startswith(text) and "\n" not in str(caught.value)


def with_constant(name: str):
    constant = {"dtype": "int64", "shape": [1], "data": [1]}

    def change(node: dict, graph: dict) -> None:
        graph["constants"][name] = constant
        node.update(op="get_attr", target=name, args=[])

    return change


@pytest.mark.parametrize(
    "change",
    [
        *map(
            with_constant,
            ('a", open("run", "w")) or getattr(self, "b', "forward", "__class__", "a.forward", "a\nb", "a..b"),
        ),
        lambda node: node.update(op="placeholder", target="x=open('run', 'w')", args=[]),
        lambda node: node.update(op="call_method", target="a();open('run', 'w')"),
        lambda node: node.update(kwargs={"a=open('run', 'w'), b": 1}),
        lambda node: node.update(op="call_function", target="builtins.exec", args=["open('run', 'w')"]),
        lambda node: node.update(op="call_function", target="builtins.__import__", args=["os"]),
        lambda node: node.update(op="call_function", target="torch.os.system", args=["touch run"]),
        lambda node: node.update(op="call_function", target="torch.hub.load", args=["a", "b"]),
        lambda node: node.update(op="call_function", target="torch.load", args=["run"]),
        lambda node: node.update(op="call_function", target="load_library", args=["./run.so"]),
        lambda node: node.update(op="call_function", target="import_module", args=["run"]),
        lambda node: node.update(op="call_function", target="operator.methodcaller", args=["run"]),
        lambda node: node.update(op="call_function", target="builtins.getattr", args=[{"node": "x"}, "__class__"]),
        lambda node: node.update(op="call_function", target="operator.__loader__.load_module", args=["os"]),
        lambda node: node.update(op="get_attr", target="__class__.__init__.__globals__", args=[]),
        lambda node: node.update(name="a;open('run', 'w')"),
        *(
            lambda node, *, name=name: node.update(op="call_function", target="builtins.list", args=[[{"function": name}]])
            for name in ("torch.os", "torch.sys", "torch.builtins", "torch.importlib", "torch.save", "torch.nn.Linear")
        ),
        lambda node: node.update(op="call_function", target="torch.from_file", args=["run", True, 8]),
        lambda node: node.update(op="call_function", target="aten.from_file.default", args=["run", True, 8]),
        lambda node: node.update(op="call_method", target="__getattribute__"),
        lambda node: node.update(op="call_method", target="tofile", args=[{"node": "x"}, "run"]),
        lambda node: node.update(op="call_method", target="numpy"),
        lambda node: node.update(op="call_function", target="builtins.getattr", args=[{"node": "x"}, "numpy"]),
        lambda node: node.update(op="get_attr", target="stem.forward", args=[]),
        lambda node: node.update(op="call_module", target="stem", method="save", args=["run"]),
    ],
)
def test_collections_of_strangers_run_no_code(tmp_path, monkeypatch, change):
    """torch.fx writes Python code; a collection names what stands in it."""
    monkeypatch.chdir(tmp_path)
    document = fxtrace.trace(SCRIPTED).to_json()
    graph = document["graphs"][0]
    node = graph["nodes"][1]
    change(*(node, graph)[: change.__code__.co_argcount])
    with pytest.raises(fxtrace.RebuildError):
        fxtrace.load(document).graph_module(SCRIPTED)(torch.rand(2, 4))
    assert os.listdir(tmp_path) == []


def test_models_of_another_kind():
    exported, scripted = fxtrace.trace(EXPORTED), fxtrace.trace(SCRIPTED)
    program = torch.export.load(EXPORTED)
    for collection, model in (
        (scripted, program),
        (scripted, nn.Linear(2, 2)),
        (exported, nn.Linear(2, 2)),
        (scripted, 4),
    ):
        with pytest.raises(fxtrace.RebuildError) as caught:
            collection.graph_module(model)
        assert "\n" not in str(caught.value)


def test_loading_leaves_loggers_alone():
    import logging

    before = logging.getLogger("torch.export").level
    fxtrace.trace(EXPORTED).graph_module()
    assert logging.getLogger("torch.export").level == before


@pytest.mark.parametrize("path", [EXPORTED, SCRIPTED])
def test_a_file_that_is_gone(path):
    collection = fxtrace.trace(path)
    with pytest.raises(fxtrace.InputError, match="^/none/such.pt: no such file$"):
        collection.graph_module("/none/such.pt")


def test_readers_of_the_graph_need_no_torch():
    """Everything but graph_module works in a Python that has no torch."""
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import fxtrace\n"
        f"collection = fxtrace.trace({EXPORTED!r})\n"
        "collection._repr_html_(); str(collection); collection.root.find(op='call_module')\n"
        "try: collection.graph_module()\n"
        "except ImportError as error: print(error)\n"
    )
    environment = {**os.environ, "PYTHONPATH": harness.PACKAGE}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith("graph_module needs torch: pip install torch"), done.stderr


class Crossed(nn.Module):
    """Uses its second argument first, and gives its results in another order than it makes them."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        made = self.first(b)
        return self.second(a) - made * b


class Pair(nn.Module):
    def __init__(self, swapped: bool) -> None:
        super().__init__()
        self.swapped = swapped

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        first, second = x + 1, x * 2
        return (second, first) if self.swapped else (first, second)


class Crossing(nn.Module):
    def __init__(self, swapped: bool = False) -> None:
        super().__init__()
        self.crossed, self.pair = Crossed(), Pair(swapped)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        first, second = self.pair(self.crossed(x, y))
        return first - second


def test_arguments_in_the_order_of_their_use(tmp_path):
    args = torch.rand(2, 4), torch.rand(2, 4)
    model = Crossing().eval()
    path = str(tmp_path / "crossing.pt2")
    torch.export.save(torch.export.export(model, args), path)
    collection = fxtrace.trace(path, leaf=["**.Crossed", "**.Pair"])
    (call,) = (node for node in collection.root if node.target == "crossed")
    assert call.arguments == "in order of use" and [place.value for place in call.program_inputs] == ["y", "x"]
    assert torch.equal(collection.graph_module()(*args), model(*args))
    named = {"crossed": ["b", "a"]}
    assert torch.equal(collection.graph_module(model, arguments=named)(*args), model(*args))
    for wrong, says in [
        ({}, r"which parameters of crossed's forward its 2 arguments \(y, x\) are for"),
        ({"crossed": ["a", "b"]}, "on random values, the results of crossed differ"),
        ({"crossed": ["b"]}, "expected 2 different names"),
        ({"crossed": ["b", "c"]}, "unexpected keyword argument 'c'"),
        ({**named, "pair": ["x"]}, "no call of this module has arguments in the order of use"),
    ]:
        with pytest.raises(fxtrace.RebuildError, match=says):
            collection.graph_module(model, arguments=wrong)
    swapped = Crossing(swapped=True).eval()
    torch.export.save(torch.export.export(swapped, args), path)
    collection = fxtrace.trace(path, leaf=["**.Crossed", "**.Pair"])
    assert torch.equal(collection.graph_module()(*args), swapped(*args))
    with pytest.raises(fxtrace.RebuildError, match="the results of pair differ"):
        collection.graph_module(swapped, arguments=named)
    saved = fxtrace.load(collection.to_json())
    with pytest.raises(fxtrace.RebuildError, match="archive=PATH"):
        saved.graph_module(swapped, arguments=named)


@pytest.mark.parametrize("options", [{"max_depth": 0}, {"leaf": "**"}])
def test_an_exported_root_that_is_a_leaf(tmp_path, options):
    class Root(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4)
            self.register_buffer("calls", torch.zeros(()))

        def forward(self, x: torch.Tensor, parts: dict[str, torch.Tensor], *, scale: float = 2.0) -> dict[str, torch.Tensor]:
            self.calls += 1
            return {"out": self.linear(x) * scale + parts["a"]}

    args = torch.rand(2, 4), {"a": torch.rand(4)}
    path = str(tmp_path / "root.pt2")
    torch.export.save(torch.export.export(Root().eval(), args), path)
    program = torch.export.load(path).module()
    module = fxtrace.trace(path, **options).graph_module()
    assert [node.op for node in module.graph.nodes if node.op == "call_module"] == ["call_module"]
    for _ in range(2):
        assert torch.equal(module(*args)["out"], program(*args)["out"])
    done = fxtrace.verify(path, **options)
    assert (done.verdict, done.equal, done.own_modules) == ("not verified", False, ("",))


# Module stacks


STACKS = ["containers.pt", "interfaces.pt", "loops.pt", "methods.pt", "shared_tied_scripted.pt", "vision_traced.pt"]
UNFLATTENED = {sample["file"]: sample for sample in harness.samples() if sample["inputs"] and sample["file"].endswith(".pt")}
NO_PROGRAM = {"attributes.pt", "failing_nested.pt", "quantized.pt"}  # which torch.export refuses


@pytest.mark.parametrize("name", tiers.only(STACKS, sorted(UNFLATTENED.keys() - NO_PROGRAM)))
def test_torch_export_of_it_unflattens(name):
    """Each call of a module is told apart, modules that are shared and those that several methods enter too."""
    sample = UNFLATTENED[name]
    args, kwargs = harness.make_inputs(sample["inputs"][0])
    path = harness.sample_path(sample)
    parameters = [argument.name for argument in getattr(torch.jit.load(path), sample["method"]).schema.arguments[1:]]
    given = {**dict(zip(parameters, args)), **kwargs}
    inputs = {name: value for name, value in given.items() if isinstance(value, torch.Tensor)}
    concrete = {name: value for name, value in given.items() if name not in inputs}
    module = trace(
        path, method=sample["method"], input=inputs, concrete=concrete, no_default_leaves=True, control_flow="subgraph"
    ).graph_module()
    with torch.no_grad():
        program = torch.export.export(module, args, kwargs)
        expected, result = module(*args, **kwargs), torch.export.unflatten(program)(*args, **kwargs)
    assert harness.difference(expected, result) is None


class Shared(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x).relu()

    @torch.jit.export
    def twice(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x) * 2


class Around(nn.Module):
    def __init__(self, shared: nn.Module) -> None:
        super().__init__()
        self.shared = shared

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.shared(x * 3) + x


class Several(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.shared = Shared()
        self.one = Around(self.shared)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.shared.twice(self.one(x)) + self.one(x)


def test_stacks_count_calls():
    """A module that is shared stands where it is called, and each call, whatever its method, has a number."""
    net = torch.jit.script(Several())
    module = fxtrace.trace(net, no_default_leaves=True).graph_module()
    stacks = [list(node.meta["nn_module_stack"])[1:] for node in module.graph.nodes if node.op == "call_function"]
    assert [[key.removeprefix("L__self___") for key in stack] for stack in stacks] == [
        ["one"],
        ["one", "shared", "shared.linear"],
        ["one", "shared"],
        ["one"],
        ["shared@1", "shared.linear@1"],
        ["shared@1"],
        ["one@1"],
        ["one@1", "shared@2", "shared.linear@2"],
        ["one@1", "shared@2"],
        ["one@1"],
        [],
    ]
    x = torch.rand(2, 4)
    program = torch.export.export(module, (x,))
    torch.export.save(program, io.BytesIO())
    with torch.no_grad():
        assert torch.equal(torch.export.unflatten(program)(x), net(x))


class Overlapping(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        storage = torch.arange(12.0)
        self.register_buffer("a", storage[:6])
        self.register_buffer("b", storage.view(6, 2)[1:4])
        self.register_buffer("c", storage[9:])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.c.add_(1)
        self.a.add_(1)
        return x + self.a + self.b.sum() + self.c.sum()


@pytest.mark.parametrize("passes", ["remove-inplace", "functional"])
def test_writes_to_buffers_that_overlap_stay(passes):
    """Those to one that shares no memory, of the same storage, go."""
    model, x = torch.jit.script(Overlapping()), torch.rand(4, 6)
    collection = fxtrace.trace(model, pass_=passes, input=x)
    module, loaded = collection.graph_module(), torch.jit.script(Overlapping())
    for _ in range(2):
        assert torch.equal(module(x), loaded(x))
    written = [node.args[0].name for node in collection.root if str(node.target).endswith("_.Scalar") or str(node.target).endswith("_.Tensor")]
    assert written == ["a"] and any("share memory" in message.text for message in collection.messages)
