"""Tests the costs in traces: multiply-accumulates against torch.utils.flop_counter, memory against a real run.

FXTRACE_EVERY_MODEL=1 also exports every model of the zoo that it has in another form only (some minutes)."""

import collections
import json
import os
import random
import warnings
import weakref

import harness
import pytest
import tiers
import torch
import zoo
from fxtrace import _exported
from operator_cost_cases import made_of_products
from shapes import evaluate, names_in
from test_exported_zoo import prepare
from test_shapes import options_for, trace
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode

# The trace has the kernel of a whole layer (_native_multi_head_attention).
TRACED_AS_ONE_KERNEL = {"tv_vit_traced"}
# Its operators cannot be run here.
NOT_RUN = {"faster_rcnn"}
NAMES = [
    name
    for name in (*zoo.shapes_names(), *zoo.exported_names())
    if zoo.split(name)[0] not in NOT_RUN and not name.endswith("_dynamic")
]


def eager(name: str) -> tuple:
    warnings.simplefilter("ignore")
    model, inputs = zoo.MAKERS[name]()
    if not isinstance(model, torch.nn.Module):
        model = model(zoo.split(name)[1] == "scripted")
    return model.eval(), inputs


def own_operators() -> dict:
    """Products for experts, which torch's counter does not know: torch's, and those of transformers in place of it."""
    operators = [torch.ops.aten._grouped_mm]
    if hasattr(torch.ops.transformers, "grouped_mm_fallback"):
        operators.append(torch.ops.transformers.grouped_mm_fallback)
    return dict.fromkeys(operators, lambda a, b, *_, out_shape=None, **__: 2 * a[0] * a[1] * b[2])


def counted(model: torch.nn.Module, inputs: tuple) -> dict[str, int]:
    """Multiply-accumulates of every module that does any, by path.

    Without what torch's counter does not see into: fused attention, recurrent layers of oneDNN."""
    counter = FlopCounterMode(display=False, custom_mapping=own_operators())
    with made_of_products(), counter:
        model(*inputs)
    root = type(model).__name__
    paths = {key: key[len(root) + 1 :] for key in counter.get_flop_counts() if key != "Global"}
    return {path: sum(counter.get_flop_counts()[key].values()) // 2 for key, path in paths.items()}


def costs(graph: dict) -> list[tuple[str, dict]]:
    """Of nodes: the module of each and its cost."""
    found = []
    for node in graph["nodes"]:
        cost = (node["meta"] or {}).get("cost")
        if cost is not None:
            found.append((node["scope"]["module_path"], cost))
    return found


def macs_by_module(collection: dict) -> dict[str, int]:
    totals: collections.Counter[str] = collections.Counter()
    for path, cost in costs(collection["graphs"][0]):
        while True:
            totals[path] += cost["macs"] or 0
            if not path:
                break
            path = path.rpartition(".")[0]
    return totals


def check_known(name: str, cost: dict) -> None:
    """Everything is known."""
    assert "unknown" not in cost, name
    assert "unsized" not in cost


@pytest.fixture(scope="module")
def references() -> dict[tuple[str, bool], dict[str, int]]:
    return {}


def reference(references, name: str) -> dict[str, int]:
    key = zoo.split(name)[0], zoo.split(name)[1] == "scripted"
    if key not in references:
        references[key] = counted(*eager(name))
    return references[key]


def check_model(program, name: str, path: str, inputs: tuple, expected: dict[str, int]) -> None:
    options = options_for(inputs) if path.endswith(".pt") else []
    whole = trace(program, path, *options)
    parts = trace(program, path, *options, "--no-default-leaves")
    for collection in (whole, parts):
        cost = collection["summary"]["cost"]
        assert cost["macs"] == expected.get("", 0)
        check_known(name, cost)
    # A leaf costs what the operators in it do.
    for field in ("macs", "activation_bytes"):
        assert whole["summary"]["cost"][field] == parts["summary"]["cost"][field], field
    # It holds what it is given to its end, and what it gives is memory of its own.
    peaks = [collection["summary"]["cost"]["peak_bytes"] for collection in (whole, parts)]
    assert max(peaks) <= 1.1 * min(peaks)
    found = macs_by_module(parts)
    modules = {module["path"] for module in parts["modules"] if module["status"] == "traced"}
    assert {path: found[path] for path in modules & expected.keys()} == {
        path: expected[path] for path in modules & expected.keys()
    }
    assert len(modules & expected.keys()) > 1


@pytest.mark.parametrize("name", tiers.only(["resnet18_scripted", "bert_exported_decomposed"], NAMES))
def test_macs_are_half_of_flop_counters(program, zoo_archive, references, name):
    path = zoo_archive(name)
    prepare(name)
    inputs = torch.load(os.path.splitext(path)[0] + ".inputs.pt")
    check_model(program, name, path, inputs, reference(references, name))


@pytest.mark.volume
@pytest.mark.skipif(not os.environ.get("FXTRACE_EVERY_MODEL"), reason="takes minutes: FXTRACE_EVERY_MODEL=1")
@pytest.mark.parametrize("name", sorted({zoo.split(n)[0] for n in NAMES} - {zoo.split(n)[0] for n in zoo.exported_names()}))
def test_other_models_exported(program, tmp_path, name):
    maker = next(key for key in zoo.MAKERS if zoo.split(key)[0] == name)
    model, inputs = eager(maker)
    expected = counted(model, inputs)
    path = str(tmp_path / "model.pt2")
    zoo.export(model, inputs, "exported", path)
    check_model(program, name + "_exported", path, inputs, expected)


@pytest.mark.parametrize("name", tiers.only(["resnet18_scripted", "bert_exported_decomposed"], NAMES))
def test_flops_are_those_of_flop_counter(program, zoo_archive, name):
    """Of programs as they run; of others the model's, whose layers and attention are done by products there."""
    path = zoo_archive(name)
    prepare(name)
    inputs = torch.load(os.path.splitext(path)[0] + ".inputs.pt")
    if path.endswith(".pt2"):
        model = torch.export.load(path).module()
    else:
        model = torch.jit.load(path) if name in TRACED_AS_ONE_KERNEL else eager(name)[0]
    with made_of_products(), FlopCounterMode(display=False) as counter:
        model(*inputs)
    options = options_for(inputs) if path.endswith(".pt") else []
    summary = json.loads(program.stdout("summary", path, "--json", *options))
    assert summary["totals"]["flops"] == counter.get_total_flops()
    assert summary["modules"][0]["flops"] == counter.get_total_flops()


# What the papers and torchvision's own documentation say (in their "GFLOPS").
@pytest.mark.parametrize("name, macs", [("resnet18", 1_814_073_344), ("vit_b_16", 17_563_828_224)])
def test_well_known_numbers(program, tmp_path, name, macs):
    zoo._prepare()
    import torchvision

    with torch.device("meta"):
        model = getattr(torchvision.models, name)().eval()
        inputs = (torch.randn(1, 3, 224, 224),)
    path = str(tmp_path / "model.pt2")
    torch.export.save(torch.export.export(model, inputs), path)
    assert program.trace(path)["summary"]["cost"]["macs"] == macs


# --- symbolic ---

DYNAMIC = [name for name in zoo.exported_names() if name.endswith("_dynamic")]


@pytest.mark.volume
@pytest.mark.parametrize("name", DYNAMIC)
def test_expressions_have_the_value_of_numbers(program, zoo_archive, name):
    path = zoo_archive(name)
    prepare(name)
    model, inputs = eager(name)
    collection = program.trace(path)
    cost = collection["summary"]["cost"]
    check_known(name, cost)
    placeholder = collection["graphs"][0]["nodes"][0]["meta"]["shape"]
    rng = random.Random(0)
    for _ in range(3):
        sizes, values = [], {}
        for size in placeholder:
            if names_in(size):
                values[size] = rng.randrange(2, 5) if not sizes else 32 * rng.randrange(2, 5)
                if not inputs[0].is_floating_point() and sizes:
                    values[size] = rng.randrange(3, 12)
                size = values[size]
            sizes.append(size)
        first = torch.randn(sizes) if inputs[0].is_floating_point() else torch.randint(3, 90, sizes)
        assert evaluate(cost["macs"], values) == counted(model, (first, *inputs[1:]))[""]


TORCHSCRIPT = ["resnet18_scripted", "vit_traced", "gpt2_traced", "mobilenet_v3_scripted", "transformer_scripted"]


@pytest.mark.volume
@pytest.mark.parametrize("name", [name for name in TORCHSCRIPT if name in zoo.MAKERS])
def test_a_named_batch(program, zoo_archive, name):
    """Of TorchScript: the same program, with a name for the batch and with numbers."""
    path = zoo_archive(name)
    inputs = torch.load(os.path.splitext(path)[0] + ".inputs.pt")
    symbolic = program.trace(path, *options_for(inputs, "batch"))["summary"]["cost"]
    for batch in (2, 3, 7):
        numeric = program.trace(path, *options_for(inputs, str(batch)))["summary"]["cost"]
        for field in ("macs", "activation_bytes", "peak_bytes"):
            assert evaluate(symbolic[field], {"batch": batch}) == numeric[field], (field, batch)


# --- memory ---


class Storages(TorchDispatchMode):
    """Bytes of what operators make: of all together, and the most that lives at one time."""

    def __init__(self, given):
        super().__init__()
        self.known = {tensor.untyped_storage()._cdata for tensor in given}
        self.live = self.total = self.peak = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        for tensor in tree_leaves(result):
            if not isinstance(tensor, torch.Tensor):
                continue
            storage = tensor.untyped_storage()
            key, size = storage._cdata, tensor.numel() * tensor.element_size()
            if key in self.known:
                continue
            self.known.add(key)
            self.live += size
            self.total += size
            weakref.finalize(storage, self._gone, key, size)
        self.peak = max(self.peak, self.live)
        return result

    def _gone(self, key, size):
        self.known.discard(key)
        self.live -= size


# In which no operator needs memory that only it sees, and no reshape copies.
@pytest.mark.volume
@pytest.mark.parametrize("name", ["mobilenet_v3_exported", "resnet18_exported", "vit_exported", "gpt2_exported"])
def test_the_peak_is_that_of_a_run(program, zoo_archive, name):
    path = zoo_archive(name)
    prepare(name)
    inputs = torch.load(os.path.splitext(path)[0] + ".inputs.pt")
    module = _exported.load(path).module()
    given = [tensor for tensor in tree_leaves(inputs) if isinstance(tensor, torch.Tensor)]
    with torch.no_grad(), Storages([*module.parameters(), *module.buffers(), *given]) as seen:
        result = module(*inputs)
    cost = program.trace(path)["summary"]["cost"]
    assert cost["peak_bytes"] == seen.peak + sum(t.numel() * t.element_size() for t in given)
    if name.startswith("mobilenet"):
        assert cost["activation_bytes"] == seen.total
    del result


# --- control flow, loops, unknown operators ---


def exported(tmp_path, module: torch.nn.Module, inputs: tuple, **options) -> str:
    path = str(tmp_path / "model.pt2")
    torch.export.save(torch.export.export(module, inputs, **options), path)
    return path


class Dearer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.narrow = torch.nn.Linear(8, 8)
        self.wide = torch.nn.Linear(8, 64)
        self.back = torch.nn.Linear(64, 8)

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: self.narrow(x), lambda x: self.back(self.wide(x)), (x,))


def test_cond_costs_its_dearer_branch(program, tmp_path):
    path = exported(tmp_path, Dearer(), (torch.randn(4, 8),))
    assert program.trace(path)["summary"]["cost"]["macs"] == 2 * 4 * 8 * 64


class Scan(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = torch.nn.Linear(8, 8)

    def forward(self, x):
        from torch._higher_order_ops.scan import scan

        def step(carry, each):
            carry = torch.tanh(self.cell(carry) + each)
            return carry, carry.clone()

        return scan(step, torch.zeros(2, 8), x, dim=0)[1]


def test_scan_costs_all_its_turns(program, tmp_path):
    path = exported(tmp_path, Scan(), (torch.randn(5, 2, 8),))
    assert program.trace(path)["summary"]["cost"]["macs"] == 5 * 2 * 8 * 8


class While(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = torch.nn.Linear(8, 8)

    def forward(self, x):
        from torch._higher_order_ops.while_loop import while_loop

        x = self.cell(x)
        return while_loop(lambda x: x.sum() < 100, lambda x: (self.cell(x) + 1,), (x,))


def test_a_loop_of_unknown_length_is_named(program, tmp_path):
    cost = program.trace(exported(tmp_path, While(), (torch.randn(2, 8),)))["summary"]["cost"]
    assert cost["unknown"] == {"higher_order.while_loop": 1}
    assert cost["macs"] == 2 * 8 * 8  # of what stands before it


class Shared(torch.nn.Module):
    """One layer for inputs of two sizes."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)

    def forward(self, x):
        return self.layer(x).sum() + self.layer(x[:1]).sum()


@pytest.mark.parametrize("form", ["scripted", "traced", "exported"])
def test_each_call_of_a_leaf_has_its_cost(program, tmp_path, form):
    model, x = Shared().eval(), torch.randn(6, 4)
    options = []
    if form == "exported":
        path = exported(tmp_path, model, (x,))
    else:
        path = str(tmp_path / "model.pt")
        (torch.jit.script(model) if form == "scripted" else torch.jit.trace(model, x)).save(path)
        options = options_for((x,))
    graph = program.trace(path, *options)["graphs"][0]
    calls = [node["meta"]["cost"] for node in graph["nodes"] if node["op"] == "call_module"]
    assert [(call["macs"], call["parameter_bytes"], call["activation_bytes"]) for call in calls] == [
        (6 * 16, 80, 6 * 16),
        (16, 80, 16),
    ]


class Solve(torch.nn.Module):
    def forward(self, a, b):
        return torch.linalg.svd(a)[0] @ b


@pytest.mark.parametrize("form", ["scripted", "exported"])
def test_an_unknown_operator_is_named_and_never_zero(program, tmp_path, form):
    inputs = (torch.randn(3, 3), torch.randn(3, 2))
    options = []
    if form == "exported":
        path = exported(tmp_path, Solve(), inputs)
    else:
        path = str(tmp_path / "model.pt")
        torch.jit.script(Solve()).save(path)
        options = options_for(inputs)
    collection = program.trace(path, *options)
    cost = collection["summary"]["cost"]
    assert cost["macs"] == 3 * 3 * 2
    assert list(cost["unknown"].values()) == [1] and "linalg_svd" in next(iter(cost["unknown"]))
    svd = next(node for node in collection["graphs"][0]["nodes"] if "svd" in node["target"])
    assert svd["meta"]["cost"]["macs"] is None


def test_without_shapes_nothing_is_known_but_parameters(program, tmp_path):
    path = str(tmp_path / "model.pt")
    torch.jit.script(Shared()).save(path)
    cost = program.trace(path)["summary"]["cost"]
    assert cost["macs"] is None and cost["activation_bytes"] is None
    assert cost["parameter_bytes"] == 80 and cost["unsized"] > 0


class Failing(torch.nn.Module):
    """Its root cannot be traced; but both ways of it can be looked at."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(4, 8)
        self.second = torch.nn.Linear(8, 4)

    def forward(self, x):
        x = self.first(x)
        if bool((x.sum() > 0).item()):
            x = x + 1
        return self.second(x)


class Closed(Failing):
    """Nobody knows how often its loop runs."""

    def forward(self, x):
        x = self.first(x)
        while bool((x.sum() < 100).item()):
            x = x + 1
        return self.second(x)


@pytest.mark.parametrize("model", [Failing, Closed])
def test_a_root_that_fails_has_what_its_submodules_tell(program, tmp_path, model):
    path = str(tmp_path / "model.pt")
    torch.jit.script(model()).save(path)
    collection = program.trace(path, *options_for((torch.randn(3, 4),)))
    assert harness.failed_modules(collection) == [""]
    cost = collection["summary"]["cost"]
    # It gives the loop no shape: of the second layer nothing is known.
    assert cost["macs"] == 3 * 32 * (2 if model is Failing else 1)
    assert ("unknown" in cost) == ("peak_bytes" not in cost) == (model is Closed)
    # The table says the same.
    totals = json.loads(program.stdout("summary", path, "--json", *options_for((torch.randn(3, 4),))))["totals"]
    assert (totals["macs"], totals["activation_bytes"]) == (cost["macs"], cost["activation_bytes"])


# --- collections ---


@pytest.mark.parametrize("pass_name", ["functional", "remove-inplace", "eliminate-dead-code"])
def test_after_passes_costs_are_those_of_the_graph(program, tmp_path, pass_name):
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(inplace=True), torch.nn.Linear(8, 2)).eval()
    path = exported(tmp_path, model, (torch.randn(3, 4),))
    before = program.trace(path, "--no-default-leaves")
    after = program.trace(path, "--no-default-leaves", "--pass", pass_name)
    assert after["summary"]["cost"]["macs"] == before["summary"]["cost"]["macs"] == 3 * (32 + 16)
    if pass_name != "eliminate-dead-code":  # the ReLU takes memory of its own now
        more = after["summary"]["cost"]["activation_bytes"] - before["summary"]["cost"]["activation_bytes"]
        assert more == 3 * 8 * 4
    saved = tmp_path / "saved.json"
    saved.write_text(json.dumps(before))
    rendered = json.loads(program.stdout("render", str(saved), "--pass", pass_name))
    assert rendered["summary"]["cost"] == after["summary"]["cost"]
