"""Tests that the time for many modules, nodes and rules grows in proportion to their number."""

import json
import os

import harness
import hostile
import hostile_exported
import pytest
import tiers

MANY = 20_000
SECONDS = 10  # of processor time, far above what it takes; what grows with the square takes minutes


@pytest.fixture
def run(program):
    def run(*arguments) -> str:
        before = harness.processor_seconds()
        text = program.stdout(*map(str, arguments)).decode()
        assert harness.processor_seconds() - before < SECONDS, arguments
        return text

    return run


def run_everything(run, model, tmp_path, options=()) -> dict:
    saved = tmp_path / "saved.json"
    run("trace", model, "-o", saved, *options)
    run("trace", model, "-f", "dot", *options)
    run("inspect", model, *options)
    for extra in (["-f", "text"], ["-f", "dot"], ["--pass", "functional"]):
        run("render", saved, *extra)
    return json.loads(saved.read_text())


def chain(count: int, modules: bool) -> bytes:
    names = [f"layers.{i}" for i in range(count)]
    nodes = [
        hostile_exported.relu(
            f"r{i - 1}" if i else "x",
            f"r{i}",
            *([hostile_exported.in_module(names[i])] if modules else []),
        )
        for i in range(count)
    ]
    made = hostile_exported.program(nodes, modules=names if modules else None)
    return hostile_exported.packed(json.dumps(made))


@pytest.mark.parametrize("modules", tiers.only([False], [False, True]), ids=["nodes", "modules"])
def test_exported(run, tmp_path, modules):
    model = tmp_path / "model.pt2"
    model.write_bytes(chain(MANY, modules))
    collection = run_everything(run, model, tmp_path)
    assert collection["summary"]["nodes"] >= MANY
    assert len(collection["modules"]) >= (MANY if modules else 1)


@pytest.mark.volume
def test_exported_with_as_many_rules(run, tmp_path):
    """Every second rule names a module."""
    model, config = tmp_path / "model.pt2", tmp_path / "config.json"
    model.write_bytes(chain(MANY, True))
    rules = [f"@layers.{i}" if i % 2 else f"*.ReLU@parts.{i}.*" for i in range(MANY)]
    config.write_text(json.dumps({"leaf": rules, "default_leaves": False}))
    collection = run_everything(run, model, tmp_path, ("--config", config))
    assert collection["summary"]["modules"]["leaf"] == MANY // 2
    made = next(module for module in collection["modules"] if module["path"] == "layers.7")
    assert made["rule"] == "@layers.7"


def test_rules_of_the_command_line(run):
    model = os.path.join(harness.SAMPLES, "attention_scripted.pt")
    one = ["--leaf", "@attention"]
    alone = json.loads(run("trace", model, *one))
    assert next(module["rule"] for module in alone["modules"] if module["path"] == "attention") == "@attention"
    for option, name in (("--leaf", "@a{}.*"), ("--wrap", "my.f{}.*")):
        others = [part for i in range(MANY) for part in (option, name.format(i))]
        among = json.loads(run("trace", model, *others, *one))
        assert among | {"options": {}} == alone | {"options": {}}


@pytest.mark.volume
def test_torchscript_modules(run, tmp_path):
    """In blocks: LibTorch looks an attribute up by asking all that the class has."""
    count = 140
    code = (
        "class Part(Module):\n  training : bool\n"
        "  def forward(self: __torch__.Part,\n    x: Tensor) -> Tensor:\n    return torch.relu(x)\n"
    )
    for name, prefix, inner in (("Block", "a", "Part"), ("Net", "b", "Block")):
        code += f"class {name}(Module):\n" + "".join(f"  {prefix}{i} : __torch__.{inner}\n" for i in range(count))
        code += f"  def forward(self: __torch__.{name},\n    x: Tensor) -> Tensor:\n"
        code += "".join(f"    x = (self.{prefix}{i}).forward(x)\n" for i in range(count)) + "    return x\n"
    part = hostile.module("__torch__.Part", {"training": b"\x89"})
    block = hostile.module("__torch__.Block", {f"a{i}": part for i in range(count)})
    model = tmp_path / "model.pt"
    model.write_bytes(hostile.code_case(code, hostile.module(hostile.NET, {f"b{i}": block for i in range(count)}))())
    collection = run_everything(run, model, tmp_path)
    assert len(collection["modules"]) == 1 + count + count**2


@pytest.mark.volume
def test_torchscript_nodes_and_attributes(run, tmp_path):
    model = tmp_path / "model.pt"
    model.write_bytes(hostile.body_case("    x = torch.add(x, 1)\n" * MANY + "    return x\n")())
    assert run_everything(run, model, tmp_path)["summary"]["nodes"] == MANY + 2
    count = MANY // 4
    code = "class Net(Module):\n" + "".join(f"  a{i} : int\n" for i in range(count))
    code += "  def forward(self: __torch__.Net,\n    x: Tensor) -> Tensor:\n    return torch.add(x, self.a1)\n"
    data = hostile.module(hostile.NET, {f"a{i}": hostile.number(1) for i in range(count)})
    model.write_bytes(hostile.code_case(code, data)())
    run_everything(run, model, tmp_path)


@pytest.mark.volume
@pytest.mark.parametrize("statement", ["while {}:\n      x = torch.mul(x, 2)", "if {}:\n      x = torch.mul(x, 2)"])
def test_torchscript_control_flow_as_subgraphs(run, tmp_path, statement):
    """Each has subgraphs of its own, hands on what the one before gave, and stands behind a write to that."""
    model = tmp_path / "model.pt"
    one = "    " + statement.format("bool(torch.gt(torch.sum(x), 3))") + "\n    _0 = torch.add_(x, 1)\n"
    model.write_bytes(hostile.body_case("    x = torch.relu(x)\n" + one * MANY + "    return x\n")())
    collection = run_everything(run, model, tmp_path, ("--control-flow", "subgraph"))
    assert len(collection["graphs"][0]["subgraphs"]) == 2 * MANY


@pytest.mark.volume
def test_torchscript_modules_that_fail(run, tmp_path):
    code = (
        "class Part(Module):\n  training : bool\n  def forward(self: __torch__.Part,\n    x: Tensor) -> Tensor:\n"
        "    if bool(torch.gt(torch.sum(x), 3)):\n      y = torch.relu(x)\n    else:\n      y = torch.sin(x)\n    return y\n"
    )
    code += "class Net(Module):\n" + "".join(f"  a{i} : __torch__.Part\n" for i in range(MANY))
    code += "  def forward(self: __torch__.Net,\n    x: Tensor) -> Tensor:\n"
    code += "".join(f"    x = (self.a{i}).forward(x)\n" for i in range(MANY)) + "    return x\n"
    part = hostile.module("__torch__.Part", {"training": b"\x89"})
    model = tmp_path / "model.pt"
    model.write_bytes(hostile.code_case(code, hostile.module(hostile.NET, {f"a{i}": part for i in range(MANY)}))())
    assert run_everything(run, model, tmp_path)["summary"]["modules"]["failed"] == MANY
