"""Tests fxtrace verify on real models and on the models of the tests: the graph computes the same as the file."""

import contextlib
import inspect
import json
import subprocess

import control_flow_models
import hostile_exported
import leaf_modules
import pytest
import random_control_flow
import script_features
import script_oddities
import test_autocast
import test_random_programs
import tiers
import torch
import zoo
from test_shapes import spec
from torch import Tensor, nn

PASSES = {"default": [], "no-default-leaves": ["--no-default-leaves"], "functional": ["--pass", "functional"]}
# What the model needs is not there without Python.
REFUSED = {
    "mixtral_exported": "there is no operator transformers::grouped_mm_fallback",
    "faster_rcnn_scripted": "Unknown builtin op: torchvision::nms",
}


def verify(program, path, *options: str) -> subprocess.CompletedProcess:
    return subprocess.run([program.path, "verify", str(path), *options], capture_output=True, text=True, timeout=300)


def check(program, path, *options: str, passes=tuple(PASSES)) -> None:
    for name in passes:
        done = verify(program, path, *options, *PASSES[name])
        if done.stdout.startswith("not verified: the root failed to trace: "):  # it ran, and nothing was compared
            assert done.returncode == 1
            continue
        assert done.returncode == 0, (name, done.stdout, done.stderr)
        assert done.stdout.startswith("equal, bit for bit: ")


def options_for(inputs) -> list[str]:
    options = []
    for i, value in enumerate(inputs):
        if isinstance(value, Tensor):
            options += ["--input", f"{i}={spec(value)}"]
        elif isinstance(value, list):
            options += [f"--input={i}.{k}={spec(item)}" for k, item in enumerate(value)]
    return options


def scripted(folder, module) -> str:
    path = str(folder / "model.pt")
    if not isinstance(module, torch.jit.ScriptModule):
        module = torch.jit.script(module.eval() if isinstance(module, nn.Module) else module)
    module.save(path)
    return path


def exported(folder, module, inputs, mode: str = "nonstrict", kwargs=None, dynamic=None) -> str:
    path = str(folder / "model.pt2")
    program = torch.export.export(module.eval(), inputs, kwargs or {}, strict=mode == "strict", dynamic_shapes=dynamic)
    torch.export.save(program.run_decompositions() if mode == "decomposed" else program, path)
    return path


# --- the zoo ---

FIRST = ["resnet18_scripted", "swin_scripted", "bert_traced", "bert_exported_dynamic"]


@pytest.mark.parametrize("name", tiers.in_turn(FIRST, zoo.MAKERS))
def test_zoo(program, zoo_archive, name):
    path = zoo_archive(name)
    options = []
    if path.endswith(".pt"):
        options = options_for(torch.load(path.removesuffix(".pt") + ".inputs.pt"))
    if name in REFUSED:
        done = verify(program, path, *options)
        assert done.returncode == 3 and REFUSED[name] in done.stderr
        return
    check(program, path, *options)


# --- control flow that data decides ---


@pytest.mark.parametrize("name", tiers.in_turn(sorted(control_flow_models.MODELS)[::12], control_flow_models.MODELS))
def test_control_flow(program, tmp_path, name):
    torch.manual_seed(0)
    case = control_flow_models.MODELS[name]
    options = ["--control-flow", "subgraph", *options_for(case.inputs[0])]
    check(program, scripted(tmp_path, case.make()), *options)


@pytest.mark.parametrize("first", tiers.in_turn([0], range(0, 100, 10)))
def test_random_control_flow(program, tmp_path, first):
    options = ["--control-flow", "subgraph", *options_for((torch.ones(4), torch.ones(4), torch.tensor(1)))]
    for seed in range(first, first + 10):
        _, module = random_control_flow.make(seed, str(tmp_path))
        torch.manual_seed(seed)
        check(program, scripted(tmp_path, module.Net()), *options, passes=[*PASSES][seed % 3 :][:1])


# --- random programs, small modules, leaves ---


@pytest.mark.parametrize("first", tiers.in_turn([0], range(0, 500, 50)))
def test_programs_of_views_and_writes(program, tmp_path, first):
    """Views and writes.  Without programs that give an input or a buffer other sizes."""
    model = test_random_programs.make_model(first, 50, tmp_path, same_sizes=True)
    inputs = tuple(torch.rand(4, 4) for _ in model.children())
    check(program, scripted(tmp_path, model), *options_for(inputs))
    check(program, exported(tmp_path, model, inputs))


# What raises, or needs other inputs than float32[2,3].
NOT_RUN = {"Slices", "StructInputs", "BigConst", "TensorProps", "TracedOnly", "Frozen", "RnnTraced", "NTInput", "Scalar0", "Huge",
           "SetGrad", "NoForward"}  # fmt: skip


ODDITIES = [name for name, module in script_oddities.MODELS.items() if not isinstance(module, torch.jit.ScriptFunction)]


@pytest.mark.parametrize("name", tiers.in_turn(ODDITIES[::16], ODDITIES))
def test_oddities(program, tmp_path, name):
    module = script_oddities.MODELS[name]
    path = scripted(tmp_path, module() if inspect.isclass(module) else module)
    options = []
    with contextlib.suppress(AttributeError):  # without a forward
        formals = torch.jit.load(path).forward.schema.arguments[1:]
        for formal in formals:
            if str(formal.type) == "Tensor" and not formal.has_default_value():
                options += ["--input", f"{formal.name}=float32[2,3]"]
    if name in NOT_RUN:
        done = verify(program, path, *options)
        assert done.returncode == 3 and done.stderr.count("fxtrace: error: ") == 1, done.stderr
        return
    check(program, path, *options, passes=["default", "functional"])


def test_features(program, tmp_path):
    module = torch.jit.script(script_features.Net())
    check(program, scripted(tmp_path, module), "--input", "x=float32[2,2]")
    check(program, scripted(tmp_path, torch.jit.freeze(module.eval())), "--input", "x=float32[2,2]")


@pytest.mark.parametrize("mode", tiers.only(["strict"], ["nonstrict", "strict", "decomposed"]))
@pytest.mark.parametrize("case", tiers.in_turn(leaf_modules.CASES[::6], leaf_modules.CASES), ids=lambda case: case.name)
def test_leaves(program, tmp_path, case, mode):
    if mode in case.not_for:
        pytest.skip(case.not_for[mode])
    torch.manual_seed(0)
    path = exported(tmp_path, case.module(), case.args(), mode, case.kwargs, case.dynamic)
    check(program, path, *case.options)


# --- what torch does in Python: vmap, autocast, objects of C++ classes, forks ---


class Vmapped(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 3)
        self.scale = nn.Parameter(torch.rand(3))

    def forward(self, x, y):
        rows = torch.vmap(lambda row, other: (self.linear(row) * other + self.scale).relu(), in_dims=(0, None))(x, y)
        return rows, torch.vmap(torch.sum, in_dims=1)(x), torch.vmap(torch.vmap(lambda row: row * 2))(x.unsqueeze(0))


class VmappedNoise(nn.Module):
    def forward(self, x):
        noise = torch.vmap(lambda row: row + torch.randn(4), randomness="different")(x)
        return noise, torch.vmap(lambda row: torch.ones(2))(x)


class VmapInside(nn.Module):
    """Of a module that is a leaf, and with one in it."""

    def __init__(self):
        super().__init__()
        self.vmapped = Vmapped()
        self.norm = nn.LayerNorm(4)

    def forward(self, x, y):
        return self.vmapped(x, y), torch.vmap(lambda row: self.norm(row))(x)


class Autocast(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("low", torch.rand(4, 4).bfloat16())

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = self.linear(x)
            with torch.autocast("cpu", enabled=False):
                z = self.linear(x)
            y = y @ self.low
        with torch.no_grad():
            z = torch.relu(z)
        return y, z, self.linear(x)


class AutocastInside(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Autocast()
        self.linear = nn.Linear(4, 2)

    def forward(self, x):
        return self.linear(self.inner(x)[1]), self.inner(x)


X, Y = torch.rand(5, 4), torch.rand(3)
# By name: torch.export has no program of the others in strict mode, or says in it that autocast gives float32.
IN_PYTHON = {
    "vmap": (Vmapped, (X, Y), []),
    "vmap_strict": (VmappedNoise, (X,), []),
    "vmap_inside": (VmapInside, (X, Y), []),
    "vmap_leaf": (VmapInside, (X, Y), ["--leaf", "@vmapped"]),
    "autocast": (Autocast, (X,), []),
    "autocast_inside": (AutocastInside, (X,), []),
    "autocast_leaf": (AutocastInside, (X,), ["--leaf", "@inner"]),
}


@pytest.mark.parametrize("mode", tiers.only(["nonstrict"], ["nonstrict", "decomposed"]))
@pytest.mark.parametrize("name", IN_PYTHON)
def test_in_python(program, tmp_path, name, mode):
    torch.manual_seed(0)
    module, inputs, options = IN_PYTHON[name]
    path = exported(tmp_path, module(), inputs, "strict" if name.endswith("strict") else mode)
    check(program, path, *options, "--runs", "2")


def test_objects_of_a_program(program, tmp_path):
    """Packed parameters: torch.export takes such objects only with a Python class beside them."""
    weight = torch.quantize_per_tensor(torch.rand(4, 4), 0.1, 0, torch.qint8)
    packed = torch.ops.quantized.linear_prepack(weight, torch.rand(4))
    kind = "__torch__.torch.classes.quantized.LinearPackedParamsBase"
    argument = {"as_custom_obj": {"name": "packed", "class_fqn": kind}}
    call = hostile_exported.node("torch.ops.quantized.linear_dynamic.default", {"X": hostile_exported.value("x"), "W_prepack": argument}, "y")
    made = hostile_exported.program([call])
    graph, signature = made["graph_module"]["graph"], made["graph_module"]["signature"]
    graph["inputs"].insert(0, argument)
    graph["custom_obj_values"] = {"packed": {"name": "packed", "class_fqn": kind}}
    signature["input_specs"].insert(0, {"custom_obj": {"arg": argument["as_custom_obj"], "custom_obj_name": "packed"}})
    config = {"config": {"packed": {"path_name": "custom_obj_0", "is_param": False, "use_pickle": True, "tensor_meta": None}}}
    records = {
        "models/model.json": json.dumps(made),
        "data/constants/model_constants_config.json": json.dumps(config),
        "data/constants/custom_obj_0": torch._C._pickle_save(packed),
    }
    path = tmp_path / "model.pt2"
    path.write_bytes(hostile_exported.replaced(records)())
    check(program, path)


@pytest.mark.parametrize("module", [test_autocast.Region, test_autocast.Default, test_autocast.FailsInside], ids=lambda of: of.__name__)
def test_autocast_of_scripts(program, tmp_path, module):
    """The model's casts are made by a pass of LibTorch, the graph's by its dispatcher."""
    check(program, scripted(tmp_path, module()), "--input", "float32[3,4]")


class Forks(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def again(self, x: Tensor) -> Tensor:
        return torch.jit.wait(torch.jit.fork(self.linear, x)) + 1

    def forward(self, x: Tensor):
        futures = [torch.jit.fork(self.again, x * i) for i in range(3)]
        return [torch.jit.wait(future) for future in futures], futures[0]


class Kinds(nn.Module):
    """Results that are no plain tensors."""

    def forward(self, x: Tensor, mask: Tensor):
        sparse = x.to_sparse()
        complex = torch.view_as_complex(x.reshape(-1, 2)).conj()
        nested = torch._nested_tensor_from_mask(x.unsqueeze(0), mask)
        print(x)
        return sparse, x.to_sparse_csr(), complex, torch.quantize_per_tensor(x, 0.1, 2, torch.quint8), nested, x.to("meta")


def test_forks(program, tmp_path):
    check(program, scripted(tmp_path, Forks()), "--input", "float32[2,4]")


@pytest.mark.parametrize("where", [[], ["--no-isolation"]], ids=str)
def test_kinds_of_results(program, tmp_path, where):
    """And what the model prints is no part of the answer."""
    check(program, scripted(tmp_path, Kinds()), "--input", "x=float32[3,4]", "--input", "mask=bool[1,3]", *where)


@pytest.mark.parametrize("frozen", [False, True])
def test_quantized(program, tmp_path, frozen):
    """Packed parameters, as attributes and as constants of the code."""
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2)).eval()
    module = torch.jit.script(torch.ao.quantization.quantize_dynamic(model, {nn.Linear}, dtype=torch.qint8))
    check(program, scripted(tmp_path, torch.jit.freeze(module) if frozen else module), "--input", "float32[2,4]")


class Counting(nn.Module):
    """Its result is a buffer, which the next run changes."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(4)
        self.register_buffer("count", torch.zeros(4))

    def forward(self, x):
        self.count.add_(1)
        return self.norm(x), self.count


@pytest.mark.parametrize("mode", ["scripted", "nonstrict", "decomposed"])
def test_state(program, tmp_path, mode):
    model = Counting().train()
    if mode == "scripted":
        return check(program, scripted(tmp_path, torch.jit.script(model)), "--input", "float32[3,4]", "--runs", "3")
    program_of = torch.export.export(model, (torch.rand(3, 4),))
    path = str(tmp_path / "model.pt2")
    torch.export.save(program_of.run_decompositions() if mode == "decomposed" else program_of, path)
    check(program, path, "--runs", "3")


class Doubles(nn.Module):
    def forward(self, x):
        return x.double() * torch.tensor(3e-05, dtype=torch.float64), x * torch.tensor([0.1 + 2j, 1.0], dtype=torch.complex128)


@pytest.mark.parametrize("way", ["traced", "exported"])
def test_constants_of_double_precision(program, tmp_path, way):
    if way == "exported":
        return check(program, exported(tmp_path, Doubles(), (torch.rand(2),)))
    check(program, scripted(tmp_path, torch.jit.trace(Doubles(), torch.rand(2))), "--input", "float32[2]")


# --- integers that index something, behind whatever arithmetic ---


class Indices(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.other, self.bag = nn.Embedding(20, 4), nn.Embedding(3, 4), nn.EmbeddingBag(9, 4, mode="sum")
        self.register_buffer("offsets", torch.tensor([0, 10]))
        self.register_buffer("rows", torch.rand(6, 5))


class Offset(Indices):
    def forward(self, x: Tensor):
        return self.table(x + self.offsets) + self.table(2 * x)


class Far(Indices):
    def forward(self, x: Tensor):
        return self.table(x - 1000)


class Reversed(Indices):
    def forward(self, x: Tensor):
        return self.table(119 - x) + self.other((119 - x) // 10)


class Below(Indices):
    def forward(self, x: Tensor):
        return self.table((x + 100).to(torch.int32))


class Chosen(Indices):
    def forward(self, x: Tensor):
        return self.table(torch.where(x > 3, x + 8, x)), self.table(torch.cat([x, x.clamp(0, 4) + 9])), self.other(x % 3)


class Rows(Indices):
    def forward(self, x: Tensor):
        return self.rows[x + 2], self.rows.index_select(0, x.flatten() + 3), self.rows.gather(0, x.expand(-1, 2) + 4), self.rows[:, x - 1]


class Written(Indices):
    def forward(self, x: Tensor):
        return torch.zeros(x.shape[0], 4).scatter(1, x * 3, 1.0), torch.zeros(9, 2).index_add(0, x[:, 0] + 7, x.float())


class Classes(Indices):
    def forward(self, x: Tensor):
        return nn.functional.one_hot(x + 2, 4), nn.functional.cross_entropy(self.table(x), x[:, 0].unsqueeze(1).expand(-1, 4) + 1)


class Bags(Indices):
    def forward(self, x: Tensor):
        return self.bag(x + 7), self.bag(x.float().mul(3.7).long())


class Both(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Offset()

    def forward(self, x: Tensor):
        return self.inner(x + 1)


@pytest.mark.parametrize("kind", tiers.only([Offset, Far], [Offset, Far, Reversed, Below, Chosen, Rows, Written, Classes, Bags, Both]), ids=lambda kind: kind.__name__)
def test_indices(program, tmp_path, kind):
    module, x = kind().eval(), {Far: torch.tensor([[1000, 1001]] * 5), Reversed: torch.tensor([[110, 119]] * 5), Below: torch.tensor([[-100, -99]] * 5)}
    given = x.get(kind, torch.tensor([[1, 1]] * 5) if kind is Rows else torch.zeros(5, 2, dtype=torch.int64))
    path = exported(tmp_path, module, (given,), dynamic=({0: torch.export.Dim.AUTO},))
    for options in (["--runs", "4"], ["--runs", "3", "--no-default-leaves"]):
        check(program, path, *options, passes=("default",))
    check(program, scripted(tmp_path, module), "--input", "x=int64[n,2]", "--runs", "4", passes=("default",))


class Refused(nn.Module):
    def forward(self, x: Tensor):
        return torch.zeros(2)[x * 0 + 5]


def test_indices_that_no_input_makes_right(program, tmp_path):
    done = verify(program, scripted(tmp_path, Refused()), "--input", "x=int64[3]")
    assert done.returncode == 3 and "out of bounds" in done.stderr, (done.returncode, done.stderr)
