"""Tests that the result of graph_module() is called in the same way as the model's own forward."""

import collections
import copy
import dataclasses
import inspect
import json
import os
import pickle
from typing import List, NamedTuple, Optional

import fx_source
import fxtrace
import harness
import pytest
import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree


@dataclasses.dataclass
class Box:
    corner: Tensor
    size: Tensor


class Pair(NamedTuple):
    first: Tensor
    second: Tensor


torch.export.register_dataclass(Box, serialized_type_name="test_signatures.Box")
pytree._register_namedtuple(Pair, serialized_type_name="test_signatures.Pair")
torch.serialization.add_safe_globals([Box, Pair])  # of sample inputs


@pytest.fixture(autouse=True, scope="module")
def programs_place(program):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FXTRACE", os.path.abspath(program.path))
        yield


class Nested(nn.Module):
    def forward(self, box, parts, pair, *rest, scale, **more):
        total = box.corner + box.size * scale + parts["a"][0] - parts["b"] + pair.first / pair.second
        for each in (*rest, *more.values()):
            total = total * each
        return Box(total, box.size), Pair(total + 1, rest[0]), collections.OrderedDict(total=[total, None])


def nested_inputs() -> tuple:
    torch.manual_seed(0)
    t = [torch.rand(3) + 1 for _ in range(9)]
    args = (Box(t[0], t[1]), {"a": (t[2],), "b": t[3]}, Pair(t[4], t[5]), t[6], t[7])
    return args, {"scale": 2, "extra": t[8]}


@pytest.fixture(scope="module")
def exported(tmp_path_factory) -> str:
    path = str(tmp_path_factory.mktemp("signatures") / "nested.pt2")
    args, kwargs = nested_inputs()
    torch.export.save(torch.export.export(Nested(), args, kwargs), path)
    return path


def values_of(results) -> list:
    box, pair, ordered = results
    assert type(box) is Box and type(pair) is Pair and type(ordered) is collections.OrderedDict
    return [box.corner, box.size, *pair, *ordered["total"]]


def test_exported_programs(program, exported):
    args, kwargs = nested_inputs()
    expected = values_of(torch.export.load(exported).module()(*copy.deepcopy(args), **copy.deepcopy(kwargs)))
    module = fxtrace.trace(exported).graph_module()
    for each in (module, copy.deepcopy(module)):
        assert harness.difference(expected, values_of(each(*args, **kwargs))) is None
    ran = torch.fx.Interpreter(module).run(*args, *kwargs.values())
    assert harness.difference(expected, values_of(ran)) is None
    # The classes of the results are the program's: a module's graph has none.
    own = fxtrace.trace(exported).graph_module(Nested())(*args, **kwargs)
    assert harness.difference(expected[0], own[0]["corner"]) is None
    again = pickle.loads(pickle.dumps(module))(*args, **kwargs)
    assert harness.difference(expected[0], again[0].corner) is None


def test_other_inputs_are_told_apart(exported):
    module = fxtrace.trace(exported).graph_module()
    args, kwargs = nested_inputs()
    with pytest.raises(TypeError, match="box has no 'corner': got Tensor"):
        module(torch.rand(3), *args[1:], **kwargs)
    with pytest.raises(TypeError, match=r"parts has no 'b': got dict"):
        module(args[0], {"a": (args[3],)}, *args[2:], **kwargs)
    with pytest.raises(TypeError, match=r"parts\['a'\] has no 0: got tuple"):
        module(args[0], {"a": (), "b": args[3]}, *args[2:], **kwargs)
    with pytest.raises(TypeError, match="scale"):
        module(*args)


class Scripted(nn.Module):
    def forward(
        self, x: Tensor, flag: bool, y: Tensor, parts: dict[str, Tensor], mask: Optional[Tensor] = None, n: int = 2
    ) -> Tensor:
        if flag:
            x = x + y
        if mask is not None:
            x = x * mask
        for part in parts.values():
            x = x * n + part
        return x


@pytest.fixture(scope="module")
def scripted(tmp_path_factory) -> str:
    path = str(tmp_path_factory.mktemp("signatures") / "scripted.pt")
    torch.jit.script(Scripted()).save(path)
    return path


OPTIONS = {"concrete": {"flag": True, "n": 3, "parts": {"a": "$PH", "b": "$PH"}}}


def test_what_is_fixed_stays(scripted):
    collection = fxtrace.trace(scripted, **OPTIONS)
    assert [node.target for node in collection.root.placeholders] == ["x", "y", "parts_a", "parts_b"]
    entries = collection.root.signature.inputs
    assert [(entry.path, entry.node, entry.value) for entry in entries] == [
        (("x",), "x", None),
        (("flag",), None, True),
        (("y",), "y", None),
        (("parts", "a"), "parts_a", None),
        (("parts", "b"), "parts_b", None),
        (("mask",), None, None),
        (("n",), None, 3),
    ]
    module = collection.graph_module()
    x, y, a, b = torch.rand(4, 3)
    expected = torch.jit.load(scripted)(x, True, y, {"a": a, "b": b}, n=3)
    for each in (module, copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert torch.equal(expected, each(x, True, y, {"a": a, "b": b}))
        assert torch.equal(expected, each(x, flag=True, y=y, parts={"a": a, "b": b}, mask=None, n=3))
        with pytest.raises(ValueError, match="flag == True, which does not hold: got False"):
            each(x, False, y, {"a": a, "b": b})
        with pytest.raises(ValueError, match="mask is None, which does not hold: got Tensor"):
            each(x, True, y, {"a": a, "b": b}, mask=x)
        with pytest.raises(ValueError, match="n == 3, which does not hold: got 2"):
            each(x, True, y, {"a": a, "b": b}, n=2)
        with pytest.raises(TypeError, match="parts has no 'b': got dict"):
            each(x, True, y, {"a": a})
    assert torch.equal(expected, torch.fx.Interpreter(module).run(x, True, y, {"a": a, "b": b}))
    with pytest.raises(ValueError, match="flag == True"):
        torch.fx.Interpreter(module).run(x, False, y, {"a": a, "b": b})


def test_the_example_of_torch_fx(tmp_path):
    def f(a, b: bool):
        if b == True:  # noqa: E712
            return a
        else:
            return a * 2

    path = str(tmp_path / "f.pt")
    torch.jit.save(torch.jit.script(f), path)
    module = fxtrace.trace(path, concrete={"b": False}).graph_module()
    three = torch.tensor(3)
    assert module(three, False) == 6 == module(three)
    assert torch.fx.symbolic_trace(f, concrete_args={"b": False})(3, False) == 6
    with pytest.raises(ValueError, match="b == False"):
        module(three, True)
    saved = str(tmp_path / "f.json")
    fxtrace.trace(path, concrete={"b": False}).save(saved)
    assert fxtrace.load(saved).graph_module(path)(three, False) == 6


def test_another_value_is_ignored_where_nothing_is_checked(scripted, tmp_path):
    module = fxtrace.trace(scripted, **OPTIONS).graph_module(check=False)
    x, y, a, b = torch.rand(4, 3)
    expected = torch.jit.load(scripted)(x, True, y, {"a": a, "b": b}, n=3)
    assert torch.equal(expected, module(x, False, y, {"a": a, "b": b}, mask=x, n=2))
    assert torch.equal(expected, torch.fx.Interpreter(module).run(x, False, y, {"a": a, "b": b}, x, 2))


class Late(nn.Module):
    def forward(
        self, ids: Tensor, mask: Optional[Tensor] = None, past: Optional[List[Tensor]] = None, scale: Optional[Tensor] = None, more: bool = True
    ) -> Tensor:
        x = ids + 1
        if mask is not None:
            x = x * mask
        if past is not None:
            for each in past:
                x = x + each
        if scale is not None:
            x = x * scale
        if more:
            x = x + 1
        return x


@pytest.mark.parametrize(
    "options",
    [{"concrete": {"past": ["$PH"]}}, {"concrete": {"past": ["$PH"], "scale": "$PH"}}, {"concrete": {"scale": "$PH"}}, {"input_names": ["ids", "scale"]}],
)
def test_inputs_in_front_of_given_ones_stay_optional(tmp_path, options):
    path = str(tmp_path / "late.pt")
    torch.jit.script(Late()).save(path)
    collection = fxtrace.trace(path, **options)
    archive = torch.jit.load(path)
    x = torch.rand(3)
    has_past, has_scale = "past" in options.get("concrete", {}), "scale" in {**options.get("concrete", {}), **dict.fromkeys(options.get("input_names", ()))}
    given = {**({"past": [x]} if has_past else {}), **({"scale": x + 2} if has_scale else {})}
    source = {}
    exec(compile(collection.render("fx"), "source", "exec"), source)
    for module in (collection.graph_module(), collection.graph_module(check=False), source["Late"](archive)):
        expected = archive(x, **given)
        assert torch.equal(module(x, **given), expected)
        assert torch.equal(module(x, None, *given.values()) if has_past else module(x, mask=None, **given), expected)
        for name in given:
            with pytest.raises(TypeError, match=name):
                module(x, **{key: value for key, value in given.items() if key != name})


class Flagged(nn.Module):
    def forward(self, x: Tensor, flag: bool = True) -> Tensor:
        return x * 2 if flag else x


class OfFlagged(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.c = Flagged()

    def forward(self, x: Tensor) -> Tensor:
        if bool(x.sum() > 0):
            x = self.c(x)
        return x


def test_the_graph_of_a_submodule_keeps_what_is_fixed(tmp_path):
    path = str(tmp_path / "model.pt")
    torch.jit.script(OfFlagged()).save(path)
    collection = fxtrace.trace(path)
    module = collection.graph_module(module="c")
    x = torch.rand(3)
    assert torch.equal(module(x), x * 2) and torch.equal(module(x, True), x * 2) and torch.equal(module(x, flag=True), x * 2)
    with pytest.raises(ValueError, match="flag == True"):
        module(x, False)
    assert torch.equal(collection.graph_module(module="c", check=False)(x, False), x * 2)


def test_plain_inputs_need_no_signature(scripted, tmp_path):
    path = str(tmp_path / "net.pt")
    torch.jit.script(nn.Linear(3, 3)).save(path)
    collection = fxtrace.trace(path)
    assert collection.root.signature is None
    assert type(collection.graph_module().graph._codegen) is torch.fx.graph.CodeGen


class Counts(nn.Module):
    def forward(self, x, n: int):
        return x.repeat(n)


def test_what_options_fix_in_an_exported_program(tmp_path):
    path = str(tmp_path / "model.pt2")
    dynamic = {"x": None, "n": torch.export.Dim.DYNAMIC}
    torch.export.save(torch.export.export(Counts(), (torch.rand(2), 5), dynamic_shapes=dynamic), path)
    module = fxtrace.trace(path, concrete={"n": 3}).graph_module()
    assert module(torch.rand(2), 3).shape == (6,)
    with pytest.raises(ValueError, match="n == 3, which does not hold: got 4"):
        module(torch.rand(2), 4)


HOSTILE = ["a b", "class", "x=1); import os; (", "", None, 3]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_in_a_hostile_signature_are_no_code(program, scripted, name):
    graph = program.trace(scripted, '--concrete=parts={"a": "$PH"}')["graphs"][0]
    for entry in graph["graph_signature"]["inputs"]:
        entry["path"] = [name if entry["path"][0] == "parts" else entry["path"][0], *entry["path"][1:]]
    with pytest.raises(fxtrace.RebuildError, match="is not a Python name"):
        fxtrace.Graph.from_json(graph).graph_module(scripted)


def test_source_takes_the_same(program, scripted):
    options = [f"--concrete={name}={json.dumps(value)}" for name, value in OPTIONS["concrete"].items()]
    (graph_class,) = fx_source.classes(fx_source.load(program, scripted, *options))
    assert str(inspect.signature(graph_class.forward)) == "(self, x, flag, y, parts, mask=None, n=3)"
    module = graph_class(torch.jit.load(scripted))
    x, y, a, b = torch.rand(4, 3)
    expected = torch.jit.load(scripted)(x, True, y, {"a": a, "b": b}, n=3)
    assert torch.equal(expected, module(x, True, y, {"a": a, "b": b}))
    for given, guard in (
        ({"flag": False}, "flag == True"),
        ({"mask": x}, "mask is None"),
        ({"n": 2}, "n == 3"),
    ):
        with pytest.raises(ValueError, match=f"{guard}, which does not hold"):
            module(**{"x": x, "flag": True, "y": y, "parts": {"a": a, "b": b}, **given})
