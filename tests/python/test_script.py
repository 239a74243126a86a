"""Compares graphs that lib/torchscript compiles from the code of TorchScript archives with those of torch.jit.load."""

import inspect
import pathlib
import re
import zipfile

import control_flow_models
import pytest
import random_control_flow
import script_features
import script_graphs
import script_oddities
import tiers
import torch
import zoo

ROOT = pathlib.Path(__file__).parents[2]
SAMPLES = sorted(path.name for path in (ROOT / "sample_models").glob("*.pt"))
ARCHIVES = sorted(name for name in zoo.MAKERS if name.endswith(("_scripted", "_traced")) and name not in zoo.SHAPES_ONLY)
CODE = ROOT / "tests" / "script_code"


@pytest.fixture(scope="session")
def dump(program):
    return str(pathlib.Path(program.path).with_name("script_dump"))


def check(dump, path, at_least=1):
    count, found = script_graphs.differences(dump, str(path))
    assert found == {}
    assert count >= at_least


@pytest.mark.parametrize("name", SAMPLES)
def test_samples(dump, name):
    check(dump, ROOT / "sample_models" / name)


@pytest.mark.parametrize("name", tiers.only(["resnet18_scripted", "gpt2_traced"], ARCHIVES))
def test_zoo(dump, zoo_archive, name):
    check(dump, zoo_archive(name))


@pytest.mark.volume
def test_control_flow(dump, tmp_path):
    path = tmp_path / "net.pt"
    for name, module in inspect.getmembers(control_flow_models, inspect.isclass):
        if not issubclass(module, torch.nn.Module) or len(inspect.signature(module).parameters) > 0:
            continue
        torch.jit.script(module()).save(str(path))
        assert script_graphs.differences(dump, str(path))[1] == {}, name


@pytest.mark.parametrize("first", tiers.only([0], range(0, 60, 10)))
def test_random_control_flow(dump, tmp_path, first):
    for seed in range(first, first + 10):
        _, module = random_control_flow.make(seed, str(tmp_path))
        path = tmp_path / "net.pt"
        torch.jit.script(module.Net()).save(str(path))
        check(dump, path)


def test_features(dump, tmp_path):
    module = torch.jit.script(script_features.Net())
    module.save(str(tmp_path / "net.pt"))
    check(dump, tmp_path / "net.pt", 10)
    torch.jit.freeze(module.eval()).save(str(tmp_path / "frozen.pt"))
    check(dump, tmp_path / "frozen.pt")


class OldOperators(torch.nn.Module):
    def forward(self, x: torch.Tensor, n: int) -> torch.Tensor:
        y = torch.nn.functional.gelu(x) + torch.full([2], 3) + torch.full([2, n], 1.5) + torch.full([1], 2, dtype=torch.int64)
        return y + torch.linspace(0, 1, n) + torch.logspace(0, 1, 5)


@pytest.mark.parametrize("version", [2, 4, 7, 8, 9])
def test_old_operators(dump, tmp_path, version):
    """Archives that say they are old.  Division is left out: ours has no branch there (builtins.cpp)."""
    torch.jit.script(OldOperators()).save(str(tmp_path / "new.pt"))
    with zipfile.ZipFile(tmp_path / "new.pt") as new, zipfile.ZipFile(tmp_path / "old.pt", "w") as old:
        for record in new.infolist():
            old.writestr(record, str(version).encode() if record.filename.endswith("version") else new.read(record))
    check(dump, tmp_path / "old.pt")


def functions_of(name: str) -> dict[str, torch.jit.ScriptFunction]:
    functions = {}
    for source in re.split(r"\n(?=def )", (CODE / name).read_text()):
        function = re.match(r"\s*def (\w+)", source)[1]
        functions[function] = getattr(torch.jit.CompilationUnit(source), function)
    assert len(functions) > 10
    return functions


def test_code(dump):
    """What people write and torch.jit.save does not: operators, subscripts, assignments to them."""
    ours = script_graphs.graphs_of_dump(dump, str(CODE / "expressions.py"))
    functions = functions_of("expressions.py")
    assert len(ours) == len(functions)
    for name, function in functions.items():
        assert script_graphs.first_difference(str(function.graph), ours[f"__torch__.{name}"]) is None, name


def test_code_that_torch_prints(dump, tmp_path):
    """Early returns, break, asserts, comprehensions: what torch.jit.save has in their place."""
    for name, function in functions_of("printed/control_flow.py").items():
        function.save(str(tmp_path / "function.pt"))
        assert script_graphs.differences(dump, str(tmp_path / "function.pt")) == (1, {}), name


def test_order_of_overloads():
    """What stands in overload_order.txt, and for all others the order of the names."""
    operators, orders = (ROOT / "schemas" / "operators" / name for name in ("registered.txt", "overload_order.txt"))
    rows: dict[str, list[str]] = {}
    for line in operators.read_text().splitlines()[1:]:
        base, _, overload = line.partition("(")[0].partition(".")
        rows.setdefault(base, []).append(overload or "-")
    for line in orders.read_text().splitlines()[1:]:
        base, *order = line.split(" ")
        rows[base] = order
    wrong = []
    for base, order in rows.items():
        theirs = [schema.overload_name or "-" for schema in torch._C._jit_get_schemas_for_operator(base)]
        if len(order) > 1 and [name for name in theirs if name in order] != order:
            wrong.append(" ".join([base, *theirs]))
    assert wrong == []


FIRST = ["BigText", "Complex", "OuterM", "StateClassAttr", "ToList", "TupleEmpty"]  # each was read wrongly once
# What is asked depends on data, or on the device of an input; what is assigned is no part of the state that a graph can keep.
NOT_FOLLOWED = {
    "Classes2", "DeviceDtype", "DictKeys", "FnArchive", "Loops", "ManyRet", "MutAttrs", "OuterM", "OuterSub", "Recurrent", "SetGrad",
    "TensorProps", "Ternaries", "WhileElse", "WithBlocks",
}  # fmt: skip
# Letters beyond ASCII are printed by LibTorch as what they are not.
WRONG_TEXT = {"BigText", "TextPrint", "TextRaise", "Unicode"}


@pytest.mark.parametrize("name", tiers.only(FIRST, script_oddities.MODELS))
def test_oddities(dump, program, tmp_path, name):
    path = tmp_path / "net.pt"
    model = script_oddities.MODELS[name]
    if not isinstance(model, (torch.jit.ScriptModule, torch.jit.ScriptFunction)):
        model = torch.jit.script(model() if isinstance(model, type) else model)
    model.save(str(path))
    torch.jit.load(str(path))
    if name not in WRONG_TEXT:
        check(dump, path)
    done = program.run("trace", str(path), "--no-isolation")
    assert done.returncode == 0, done.stderr
    if name not in NOT_FOLLOWED:
        assert b"failed" not in done.stderr, done.stderr
