"""Tests Graph.graph_module on handwritten collections for a model that is made here; it does not need fxtrace."""

import math

import fxtrace
import harness
import pytest
import torch
from fxtrace import _functions, _torchscript


class Sub(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x):
        return self.linear(x)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.sub = Sub()
        self.layers = torch.nn.ModuleList([torch.nn.ReLU()])
        self.scale = torch.nn.Parameter(torch.rand(3))
        self.register_buffer("shift", torch.rand(3))
        self.width = 3

    def forward(self, x):
        return self.layers[0](self.sub(x)) * self.scale + self.shift


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("rebuild") / "net.pt")
    torch.jit.script(Net().eval()).save(path)
    return path


def node(name, op, target, args=(), kwargs=None):
    scope = {"module_path": "", "module_type": None, "call": 1}
    known = {"scope": scope, "meta": None, "source": None}
    return {"name": name, "op": op, "target": target, "args": list(args), "kwargs": kwargs or {}, **known}


def ref(name):
    return {"node": name}


def graph(*nodes, constants=None, subgraphs=None):
    """Users are filled in."""

    def names(value):
        if isinstance(value, list):
            return [name for item in value for name in names(item)]
        if isinstance(value, dict):
            return [value["node"]] if list(value) == ["node"] else names(list(value.values()))
        return []

    for item in nodes:
        item["users"] = list(
            dict.fromkeys(
                other["name"]
                for other in nodes
                if item["name"] in names([other["args"], list(other["kwargs"].values())])
            )
        )
    return {
        "module": "",
        "type": "pkg.Net",
        "nodes": list(nodes),
        "constants": constants or {},
        "subgraphs": subgraphs or {},
        "guards": [],
    }


def test_modules_parameters_and_buffers_are_the_archives(archive):
    rebuilt = harness.rebuild(
        archive,
        graph(
            node("x", "placeholder", "x"),
            node("sub_linear", "call_module", "sub.linear", [ref("x")]),
            node("layers_0", "call_module", "layers.0", [ref("sub_linear")]),
            node("scale", "get_attr", "scale"),
            node("mul", "call_function", "aten.mul.Tensor", [ref("layers_0"), ref("scale")]),
            node("shift", "get_attr", "shift"),
            node("add", "call_function", "aten.add.Tensor", [ref("mul"), ref("shift")], {"alpha": 1}),
            node("output", "output", "output", [ref("add")]),
        ),
    )
    x = torch.randn(2, 3)
    assert torch.equal(rebuilt(x), _torchscript.load(archive)(x))
    assert isinstance(rebuilt, torch.fx.GraphModule)


def test_a_module_and_something_inside_it(archive):
    rebuilt = harness.rebuild(
        archive,
        graph(
            node("x", "placeholder", "x"),
            node("sub_linear_weight", "get_attr", "sub.linear.weight"),
            node("sub", "call_module", "sub", [ref("x")]),
            node("root_module", "call_module", "", [ref("x")]),
            node("output", "output", "output", [[ref("sub"), ref("root_module"), ref("sub_linear_weight")]]),
        ),
    )
    x, model = torch.randn(2, 3), _torchscript.load(archive)
    sub, root, weight = rebuilt(x)
    assert torch.equal(sub, model.sub(x)) and torch.equal(root, model(x))
    assert torch.equal(weight, model.sub.linear.weight)


@pytest.mark.parametrize(
    "argument, value",
    [
        (None, None),
        (True, True),
        (3, 3),
        (0.5, 0.5),
        ("text", "text"),
        ([1, [2]], [1, [2]]),
        ({"tuple": [1, {"tuple": []}]}, (1, ())),
        ({"dict": [["a", 1], [2, [3]]]}, {"a": 1, 2: [3]}),
        ({"slice": [None, 2, None]}, slice(None, 2, None)),
        ({"float": "inf"}, math.inf),
        ({"float": "-inf"}, -math.inf),
        ({"complex": [1.0, -2.5]}, complex(1.0, -2.5)),
        ({"dtype": "float32"}, torch.float32),
        ({"device": "cpu"}, torch.device("cpu")),
        ({"layout": "strided"}, torch.strided),
        ({"memory_format": "channels_last"}, torch.channels_last),
    ],
)
def test_every_kind_of_argument(archive, argument, value):
    rebuilt = harness.rebuild(
        archive,
        graph(
            node("x", "placeholder", "x"),
            node("is_", "call_function", "operator.eq", [argument, argument]),
            node("output", "output", "output", [[ref("x"), argument, ref("is_")]]),
        ),
    )
    result = rebuilt(1)
    assert result == [1, value, True] and type(result[1]) is type(value)


def test_not_a_number(archive):
    rebuilt = harness.rebuild(
        archive,
        graph(
            node("isnan", "call_function", "math.isnan", [{"float": "nan"}]),
            node("output", "output", "output", [ref("isnan")]),
        ),
    )
    assert rebuilt() is True


@pytest.mark.parametrize(
    "target",
    [
        "operator.getitem",
        "builtins.len",
        "builtins.getattr",
        "math.ceil",
        "torch.tensor",
        "torch.nn.functional.relu",
        "torch.Tensor.item",
        "aten.add.Tensor",
        "aten.relu.default",
        "quantized.linear.default",
        "prims.add.default",
    ],
)
def test_targets(target):
    assert callable(_functions.resolve_function(target))


@pytest.mark.parametrize(
    "target", ["aten.no_such.default", "operator.nothing", "torch.nn.functional.nothing", "aten"]
)
def test_unknown_targets(target):
    with pytest.raises(fxtrace.RebuildError):
        _functions.resolve_function(target)


def test_arguments_whose_names_are_keywords_of_python(archive):
    rebuilt = harness.rebuild(
        archive,
        graph(
            node("x", "placeholder", "x"),
            node("uniform_", "call_function", "aten.uniform_.default", [ref("x")], {"to": 3.0, "from": 2.0}),
            node("output", "output", "output", [ref("uniform_")]),
        ),
    )
    result = rebuilt(torch.zeros(100))
    assert 2 <= result.min() < result.max() <= 3
    with pytest.raises(fxtrace.RebuildError, match="'from' is not a Python name"):
        harness.rebuild(
            archive,
            graph(
                node("x", "placeholder", "x"),
                node("len", "call_function", "builtins.len", [ref("x")], {"from": 1}),
                node("output", "output", "output", [ref("len")]),
            ),
        )


def test_constants(archive):
    rebuilt = harness.rebuild(
        archive,
        graph(
            node("_tensor_constant0", "get_attr", "_tensor_constant0"),
            node("_tensor_constant1", "get_attr", "_tensor_constant1"),
            node("output", "output", "output", [[ref("_tensor_constant0"), ref("_tensor_constant1")]]),
            constants={
                "_tensor_constant0": {"dtype": "int64", "shape": [1, 2], "data": [[3, 4]]},
                "_tensor_constant1": {"dtype": "float32", "shape": [], "data": {"float": "inf"}},
            },
        ),
    )
    first, second = rebuilt()
    assert torch.equal(first, torch.tensor([[3, 4]])) and second.item() == math.inf and second.dim() == 0


def test_a_constant_in_a_record(tmp_path):
    large = torch.rand(1100)

    class Traced(torch.nn.Module):
        def forward(self, x):
            return x + large

    path = str(tmp_path / "traced.pt")
    torch.jit.trace(Traced(), torch.zeros(1100)).save(path)
    rebuilt = harness.rebuild(
        path,
        graph(
            node("_tensor_constant0", "get_attr", "_tensor_constant0"),
            node("output", "output", "output", [ref("_tensor_constant0")]),
            constants={
                "_tensor_constant0": {
                    "dtype": "float32",
                    "shape": [1100],
                    "data": None,
                    "record": "constants/0",
                    "stride": [1],
                    "storage_offset": 0,
                }
            },
        ),
    )
    assert torch.equal(rebuilt(), large)


def test_bodies_of_control_flow(archive):
    def body(operator):
        return graph(
            node("x", "placeholder", "x"),
            node(operator, "call_function", f"aten.{operator}.default", [ref("x")]),
            node("output", "output", "output", [{"tuple": [ref(operator)]}]),
        )

    rebuilt = harness.rebuild(
        archive,
        graph(
            node("x", "placeholder", "x"),
            node("any_1", "call_function", "aten.any.default", [ref("x")]),
            node(
                "cond",
                "call_function",
                "higher_order.cond",
                [ref("any_1"), {"graph": "true_graph_0"}, {"graph": "false_graph_0"}, {"tuple": [ref("x")]}],
            ),
            node("getitem", "call_function", "operator.getitem", [ref("cond"), 0]),
            node("output", "output", "output", [ref("getitem")]),
            subgraphs={"true_graph_0": body("neg"), "false_graph_0": body("cos")},
        ),
    )
    assert torch.equal(rebuilt(torch.ones(2)), -torch.ones(2)) and torch.equal(
        rebuilt(torch.zeros(2)), torch.ones(2)
    )


@pytest.mark.parametrize(
    "nodes, message",
    [
        (
            [node("y", "call_function", "aten.relu.default", [ref("x")]), node("x", "placeholder", "x")],
            "before",
        ),
        ([node("x", "placeholder", "x"), node("x", "placeholder", "y")], "used by an earlier node"),
        ([node("lambda", "placeholder", "x")], "would name"),
        ([node("m", "call_module", "no.such", [])], "has no"),
        ([node("m", "call_module", "scale", [])], "not a module"),
    ],
)
def test_what_is_wrong_is_refused(archive, nodes, message):
    with pytest.raises(fxtrace.RebuildError, match=message):
        harness.rebuild(archive, graph(*nodes))


def test_wrong_users_are_refused(archive):
    wrong = graph(node("x", "placeholder", "x"), node("output", "output", "output", [ref("x")]))
    wrong["nodes"][0]["users"] = []
    with pytest.raises(fxtrace.RebuildError, match="users"):
        harness.rebuild(archive, wrong)
