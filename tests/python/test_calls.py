"""Tests calls of modules: repeated calls, calls with hooks, and calls of methods other than forward."""

import json
from typing import Tuple

import fxtrace
import harness
import peers
import pytest
import torch
from torch import Tensor, nn


@pytest.fixture(autouse=True)
def installed(program, monkeypatch):
    monkeypatch.setenv("FXTRACE", program.path)


class Block(nn.Module):
    """A ResNet's: one ReLU, called twice."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(width, width, 3, padding=1)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1)
        self.relu = nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        return self.relu(self.conv2(self.relu(self.conv1(x))) + x)


class Refine(nn.Module):
    """RAFT's: the same block on each round, and a helper that is no forward."""

    def __init__(self) -> None:
        super().__init__()
        self.block = Block(3)
        self.head = nn.Conv2d(3, 3, 1)

    def update(self, x: Tensor) -> Tensor:
        return torch.tanh(self.head(x))

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(3):
            x = x + self.update(self.block(x))
        return x


class Pyramid(nn.Module):
    """What is traced in the second call has other sizes in it."""

    def __init__(self) -> None:
        super().__init__()
        self.pool = Pool()

    def forward(self, x: Tensor) -> Tensor:
        return self.pool(x).sum() + self.pool(x[:, :, ::2, ::2]).sum()


class Pool(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        b, c, h, w = x.shape
        return x.reshape(b, c, int(h) // 2, 2, int(w) // 2, 2).amax((3, 5))


def traced(tmp_path, module: nn.Module) -> tuple[str, Tensor]:
    torch.manual_seed(0)
    path = str(tmp_path / "model.pt")
    x = torch.rand(1, 3, 8, 8)
    torch.jit.trace(module.eval(), x).save(path)
    return path, x


RULES = [[], ["--no-default-leaves"], ["--leaf", "**.Block", "--leaf", "**.Pool"], ["--max-depth", "1"]]


@pytest.mark.parametrize("module", [Refine, Pyramid])
@pytest.mark.parametrize("rules", RULES)
def test_further_calls_of_traced_modules(program, tmp_path, module, rules):
    path, x = traced(tmp_path, module())
    collection = program.trace(path, *rules)
    assert not harness.failed_modules(collection)
    harness.check_collection(collection)
    harness.compare_runs(path, collection["graphs"][0], "forward", (x,), {})


def test_they_are_calls_of_forward(program, tmp_path):
    path, x = traced(tmp_path, Refine())
    collection = program.trace(path)
    graph = collection["graphs"][0]
    assert peers.Peer(Refine().eval()).execution().items() <= graph["execution"].items()
    relu = [node for node in graph["nodes"] if node["target"] == "block.relu"]
    assert [node["scope"]["call"] for node in relu] == [1, 2, 3, 4, 5, 6]
    assert not any("method" in node for node in graph["nodes"])
    calls = {module["path"]: module["calls"] for module in collection["modules"]}
    assert (calls["block"], calls["block.relu"], calls["head"]) == (3, 6, 3)


def test_other_code_is_named(program, tmp_path):
    path, x = traced(tmp_path, Pyramid())
    graph = program.trace(path, "--leaf", "**.Pool")["graphs"][0]
    calls = [node for node in graph["nodes"] if node["op"] == "call_module"]
    assert [node.get("method") for node in calls] == [None, "forward1"]


class OwnMethod(nn.Module):
    """forward1 is a name like any other."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward1(self, x: Tensor) -> Tensor:
        return self.linear(x) * 2

    def forward(self, x: Tensor) -> Tensor:
        return self.forward1(x) + 1


def test_a_method_of_its_own(program, tmp_path):
    path = str(tmp_path / "model.pt")
    torch.jit.script(nn.Sequential(OwnMethod())).save(path)
    collection = program.trace(path)
    graph = collection["graphs"][0]
    assert graph["execution"]["module_forward_order"] == ["", "0", "0.linear"]
    harness.compare_runs(path, graph, "forward", (torch.rand(2, 8),), {})


class Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.before = nn.Parameter(torch.rand(4))
        self.after = nn.Parameter(torch.rand(4))

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x)


def scale_input(self, inputs: tuple[Tensor]) -> tuple[Tensor]:
    return (inputs[0] * self.before,)


def scale_output(self, inputs: tuple[Tensor], output: Tensor) -> Tensor:
    return output * self.after + inputs[0]


def choose_output(self, inputs: tuple[Tensor], output: Tensor) -> Tensor:
    if bool(output.sum() > 0):
        output = output + 1
    return output


class Hooked(nn.Module):
    def __init__(self, before: list, after: list) -> None:
        super().__init__()
        self.scaled = Scaled()
        self.plain = nn.Linear(4, 4)
        for hook in before:
            self.scaled.register_forward_pre_hook(hook)
        for hook in after:
            self.scaled.register_forward_hook(hook)

    def forward(self, x: Tensor) -> Tensor:
        return self.scaled(self.plain(self.scaled(x)))


HOOKS = [
    ([scale_input], []),
    ([], [scale_output]),
    ([scale_input], [scale_output]),
    ([scale_input, scale_input], [scale_output, scale_output]),
]


@pytest.mark.parametrize("before, after", HOOKS)
def test_hooks_run_inside_the_call(program, tmp_path, before, after):
    path = str(tmp_path / "model.pt")
    torch.manual_seed(0)
    torch.jit.script(Hooked(before, after)).save(path)
    collection = program.trace(path)
    harness.check_collection(collection)
    graph = collection["graphs"][0]
    harness.compare_runs(path, graph, "forward", (torch.rand(2, 4),), {})
    execution = graph["execution"]
    assert execution["module_forward_order"] == ["", "scaled", "scaled.linear", "plain", "scaled", "scaled.linear"]
    hooks = [node for node in graph["nodes"] if node["op"] == "call_function"]
    assert hooks and {node["scope"]["module_path"] for node in hooks} == {"scaled"}
    assert {node["scope"]["call"] for node in hooks} == {1, 2}
    users = {entry["module"]: entry["uses"] for entry in execution["module_param_usage"]}
    own = [use["params"] for use in users["scaled"] if use["module"] == "scaled"]
    assert own == [["scaled.before"]] * len(before) + [["scaled.after"]] * len(after)
    assert [use["module"] for use in users[""]] == ["scaled", "plain", "scaled"]


@pytest.mark.parametrize("before, after", HOOKS)
@pytest.mark.parametrize("options", [{}, {"leaf": "@scaled"}, {"max_depth": 0}, {"leaf": "@scaled", "input": {"x": "float32[2,4]"}}])
def test_leaves_are_called_without_hooks(tmp_path, before, after, options):
    path = str(tmp_path / "model.pt")
    torch.manual_seed(0)
    hooked, plain = Hooked(before, after).eval(), Hooked([], []).eval()
    plain.load_state_dict(hooked.state_dict())
    hooked.register_forward_hook(scale_root)
    torch.jit.script(hooked).save(path)
    x = torch.rand(2, 4)
    collection = fxtrace.trace(path, hooks="skip", **options)
    # Hooks of `scaled` are in the code of the root.
    is_inside = options.get("max_depth") == 0
    count = len(before) + len(after)
    messages = [message.text for message in collection.messages if "hooks skip" in message.text]
    assert messages == (
        [f"--hooks skip cannot leave out {count} hook{'' if count == 1 else 's'} inside of the root, which stays one call"]
        if is_inside
        else []
    )
    archive = torch.jit.load(path)
    expected = archive.forward(x) if is_inside else plain(x)
    source = {}
    exec(compile(collection.render("fx"), "source", "exec"), source)
    for module in (collection.graph_module(), collection.graph_module(hooked), source["Hooked"](archive), source["Hooked"](hooked)):
        assert torch.equal(module(x), expected)
    assert "scaled.before" in collection.graph_module().state_dict() or "leaf" not in options
    with_hooks = fxtrace.trace(path, **options).graph_module()
    assert torch.equal(with_hooks(x), archive(x)) and not torch.equal(with_hooks(x), expected)
    if not is_inside:
        fxtrace.trace(path, hooks="skip", strict=True, **options)
    else:
        with pytest.raises(fxtrace.ModulesFailed, match="an option could not be followed: --hooks skip cannot leave out"):
            fxtrace.trace(path, hooks="skip", strict=True, **options)


def scale_root(self, inputs: Tuple[Tensor], output: Tensor) -> Tensor:
    return output * 3 + inputs[0]


class Methods(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.b = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.a(x)

    @torch.jit.export
    def decide(self, x: Tensor, y: Tensor) -> Tensor:
        if bool(x.sum() > 0):
            return self.b(x) + y
        return x


@pytest.mark.parametrize("options", [{}, {"max_depth": 0}, {"control_flow": "subgraph"}])
def test_another_method_of_the_root(program, tmp_path, options):
    path = str(tmp_path / "model.pt")
    model = Methods()
    torch.jit.script(model).save(path)
    collection = fxtrace.trace(path, method="decide", **options)
    methods = [node.method for node in collection.root if node.op == "call_module" and node.target == ""]
    assert methods == ([] if "control_flow" in options else ["decide"])
    x, y = torch.rand(2, 4), torch.rand(2, 4)
    source = {}
    exec(compile(collection.render("fx"), "source", "exec"), source)
    modules = [collection.graph_module(), source["Methods"](torch.jit.load(path)), source["Methods"](model)]
    for module in modules:
        assert torch.equal(module(x, y), model.decide(x, y))
    assert [node.method for node in fxtrace.trace(path, max_depth=0).root if node.op == "call_module"] == [None]


def test_a_hook_that_fails_is_its_modules_failure(program, tmp_path):
    path = str(tmp_path / "model.pt")
    torch.manual_seed(0)
    torch.jit.script(Hooked([scale_input], [scale_output, choose_output])).save(path)
    collection = program.trace(path)
    harness.check_collection(collection)
    assert harness.failed_modules(collection) == ["scaled"]
    graph = collection["graphs"][0]
    assert graph["execution"]["module_forward_order"] == ["", "scaled", "plain", "scaled"]
    harness.compare_runs(path, graph, "forward", (torch.rand(2, 4),), {})


@torch.jit.interface
class Step(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass


class Doubling(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 2


class Picked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.steps = nn.ModuleList([Doubling(), Doubling()])

    def forward(self, x: Tensor, at: int = -1) -> Tensor:
        step: Step = self.steps[at]
        return step.forward(x)


def test_no_module_counts_from_the_end(program, tmp_path):
    """LibTorch looks for one called -1."""
    path = str(tmp_path / "model.pt")
    torch.jit.script(Picked()).save(path)
    with pytest.raises(RuntimeError, match="-1"):
        torch.jit.load(path)(torch.ones(2))
    (root, *_) = program.trace(path, "--concrete", "at=-1")["modules"]
    assert root["failure"]["kind"] == "raised" and root["failure"]["message"] == "IndexError: no submodule -1"
    assert program.trace(path, "--concrete", "at=1")["summary"]["modules"]["failed"] == 0


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.scale = nn.Parameter(torch.rand(4))

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x)

    @torch.jit.export
    def encode(self, x: Tensor) -> Tensor:
        return self.scaled(self.linear(x)).relu()

    @torch.jit.export
    def scaled(self, x: Tensor) -> Tensor:
        return x * self.scale

    @torch.jit.export
    def only_calls(self, x: Tensor) -> Tensor:
        return self.linear(x)


class Encoders(nn.Module):
    """encs.0 and encs.1 are called by other methods alone, encs.2 by forward too."""

    def __init__(self) -> None:
        super().__init__()
        self.encs = nn.ModuleList(Encoder() for _ in range(3))
        self.head = nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        x = self.encs[0].encode(x)
        x = self.encs[1].only_calls(x)
        x = self.encs[2](self.encs[2].encode(self.encs[2].encode(x)))
        return self.head(x)


@pytest.fixture(scope="module")
def encoders(tmp_path_factory) -> str:
    path = str(tmp_path_factory.mktemp("methods") / "encoders.pt")
    torch.jit.script(Encoders().eval()).save(path)
    return path


def test_other_methods_have_a_scope_of_their_own(program, encoders):
    collection = program.trace(encoders)
    harness.check_collection(collection)
    graph = collection["graphs"][0]
    harness.compare_runs(encoders, graph, "forward", (torch.rand(2, 4),), {})
    scopes = {node["name"]: node["scope"] for node in graph["nodes"]}
    places = [(scopes[name]["module_path"], scopes[name].get("method"), scopes[name]["call"]) for name in ("mul", "relu", "mul_1", "relu_2")]
    assert places == [("encs.0", "encode", 1), ("encs.0", "encode", 1), ("encs.2", "encode", 1), ("encs.2", "encode", 2)]
    execution = graph["execution"]
    calls = [(call["module"], call["method"], call["position"]) for call in execution.pop("method_calls")]
    assert calls == [("encs.0", "encode", 1), ("encs.1", "only_calls", 2), ("encs.2", "encode", 3), ("encs.2", "encode", 4)]
    # torch.fx and FSDP's tracer take them for code of the caller.
    assert peers.Peer(Encoders().eval()).execution().items() <= execution.items()
    modules = {module["path"]: (module["status"], module["calls"]) for module in collection["modules"]}
    assert [modules[f"encs.{i}"] for i in range(3)] == [("traced", 0), ("traced", 0), ("traced", 1)]


def answer(program, *arguments: str) -> dict:
    return json.loads(program.stdout(*arguments))


def test_commands_name_other_methods(program, encoders, tmp_path):
    assert b"Enc" in program.stdout("summary", encoders)
    rows = {row["path"]: row.get("methods") for row in answer(program, "summary", encoders, "--json")["modules"]}
    assert (rows["encs.0"], rows["encs.2"], rows["head"]) == (["encode"], ["encode"], None)
    order = answer(program, "order", encoders, "--json")
    called = [(module["path"], [call["call"] for call in module["calls"]]) for module in order["modules"]]
    assert called[:2] == [("", [1]), ("encs.0.linear", [2])]
    methods = [(method["path"], method["method"], method["call_count"]) for method in order["methods"]]
    assert methods == [("encs.0", "encode", 1), ("encs.1", "only_calls", 1), ("encs.2", "encode", 2)]
    uses = {each["name"]: [use["call"] for use in each["uses"]] for each in order["parameters"]}
    assert uses["encs.0.scale"] == [1] and uses["encs.0.linear.weight"] == [2]
    assert program.stdout("order", encoders).decode().count("(encode)") == 3
    why = program.stdout("why", encoders, "encs.1").decode()
    assert "not its forward, but only_calls" in why and "calls its method only_calls at" in why
    assert b"encs.0.encode()" in program.stdout("trace", encoders, "-f", "dot")
    # A box for each call, with what is called in it.
    graph = answer(program, "trace", encoders, "-f", "model-explorer")["graphs"][0]
    spaces = {node["id"]: node["namespace"] for node in graph["nodes"]}
    assert any("(encode) (call 2)" in space for space in spaces.values())
    saved = str(tmp_path / "saved.json")
    program.stdout("trace", encoders, "-o", saved)
    assert program.stdout("trace", encoders, "-f", "dot") == program.stdout("render", saved, "-f", "dot")
    part = answer(program, "extract", encoders, "--module", "encs.0", "-f", "json")
    assert [node["target"] for node in part["graphs"][0]["nodes"] if node["op"] == "call_function"] == ["aten.mul.Tensor", "aten.relu.default"]
    assert part["graphs"][0]["execution"]["method_calls"] == [{"module": "encs.0", "method": "encode", "position": 1}]


def test_torch_export_does_not_tell_other_methods(program, encoders, tmp_path):
    path = str(tmp_path / "encoders.pt2")
    torch.export.save(torch.export.export(Encoders().eval(), (torch.rand(2, 4),)), path)
    assert b"moved" not in program.stdout("diff", encoders, path, "--input", "x=float32[2,4]")


def test_a_dynamic_lstm_is_entered_by_another_method(program, tmp_path):
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = nn.LSTM(4, 5, batch_first=True)

        def forward(self, x: Tensor) -> Tensor:
            return self.lstm(x)[0].relu()

    path = str(tmp_path / "lstm.pt")
    torch.jit.script(torch.ao.quantization.quantize_dynamic(Net().eval(), {nn.LSTM})).save(path)
    graph = program.trace(path)["graphs"][0]
    assert {(node["scope"]["module_path"], node["scope"].get("method")) for node in graph["nodes"]} == {("", None), ("lstm", "forward_tensor")}
    assert b"lstm.forward_tensor()" in program.stdout("trace", path, "-f", "dot")
    assert b"calls its method forward_tensor at" in program.stdout("why", path, "lstm")
