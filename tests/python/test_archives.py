"""Tests archives as other machines and versions write them: fxtrace traces all that torch.jit.load opens, and the graphs replay."""

import json
import math
import os
import pickle
import re

import archive_edit
import harness
import pytest
import tiers
import torch
import torch.ao.nn.sparse.quantized
from torch import Tensor, nn
from torch.utils.mobile_optimizer import optimize_for_mobile


def write(tmp_path, content: bytes, name: str = "model.pt") -> str:
    path = os.fspath(tmp_path / name)
    with open(path, "wb") as file:
        file.write(content)
    return path


def saved(module: nn.Module, *inputs: Tensor) -> bytes:
    """Traced when there are inputs, else scripted."""
    module = module.eval()
    return archive_edit.save(torch.jit.trace(module, inputs) if inputs else torch.jit.script(module))


def replays(program, path: str, *inputs: Tensor, options: tuple = (), expected=None, method="forward") -> dict:
    """The collection; its first graph, rebuilt, computes what the archive computes, bit for bit."""
    collection = program.trace(path, *options)
    assert collection["summary"]["modules"]["failed"] == 0, collection["modules"]
    with torch.no_grad():
        if expected is None:
            expected = getattr(torch.jit.load(path, map_location="cpu"), method)(*inputs)
        actual = harness.rebuild(path, collection["graphs"][0])(*inputs)
    assert harness.difference(expected, actual) is None
    return collection


def nodes(collection: dict) -> list[dict]:
    return collection["graphs"][0]["nodes"]


def targets(collection: dict) -> list[str]:
    return [node["target"] for node in nodes(collection)]


# --- devices ---


class OnDevice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("scale", torch.arange(4.0))
        self.register_buffer("empty", torch.zeros(0))

    def forward(self, x: Tensor) -> Tensor:
        mask = torch.zeros(4, device=torch.device("cpu"))
        return self.linear(x) * self.scale + mask + torch.tensor([1.0, 2.0, 3.0, 4.0])


@pytest.mark.parametrize("device", tiers.only(["cuda:3"], ["cuda:0", "cuda:3", "mps:0", "xla:0", "xpu:1", "hpu:0", "npu:0"]))
@pytest.mark.parametrize("inputs", [(), (torch.randn(2, 4),)], ids=["scripted", "traced"])
@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")
def test_saved_on_a_device(program, tmp_path, device, inputs):
    on_cpu = saved(OnDevice(), *inputs)
    path = write(tmp_path, archive_edit.on_device(on_cpu, device))
    collection = program.trace(path)
    assert collection["summary"]["modules"]["failed"] == 0
    assert {p["name"]: p["device"] for p in collection["parameters"]} == {
        name: device for name in ("linear.weight", "linear.bias", "scale", "empty")
    }
    # Devices in the code stay; everything else is the graph of the archive that was saved on the CPU.
    (zeros,) = [node for node in nodes(collection) if node["target"] == "aten.zeros.default"]
    assert zeros["kwargs"]["device"] == {"device": device}
    (tmp_path / "cpu").mkdir()
    model = write(tmp_path / "cpu", on_cpu)
    same = json.loads(json.dumps(collection).replace(json.dumps({"device": device}), json.dumps({"device": "cpu"})))
    assert same["graphs"] == program.trace(model)["graphs"]
    x = torch.randn(3, 4)
    with torch.no_grad():
        expected = torch.jit.load(model)(x)
        assert harness.difference(expected, harness.rebuild(model, same["graphs"][0])(x)) is None


def test_saved_on_the_cpu_says_nothing_of_devices(program, tmp_path):
    collection = program.trace(write(tmp_path, saved(OnDevice())))
    assert not any("device" in parameter for parameter in collection["parameters"])


def test_saved_on_meta(program, tmp_path):
    class Meta(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4, device="meta")

        def forward(self, x: Tensor) -> Tensor:
            return self.linear(x)

    collection = program.trace(write(tmp_path, saved(Meta())))
    assert [p["device"] for p in collection["parameters"]] == ["meta", "meta"]


# --- older formats ---


class Divisions(nn.Module):
    def forward(self, x: Tensor, n: Tensor):
        scores = torch.div(x, math.sqrt(8)) + x / 3
        counts = torch.div(n, 2) + n / torch.full([1], 2, dtype=torch.int64)
        half = torch.div(torch.ones(3, dtype=torch.int64) * x.size(0), 2)
        mixed = torch.div(n, 2.0) + torch.div(x, n)
        changed = x.clone()
        changed.div_(3)
        changed.div_(x + 2)
        whole = n.clone()
        whole.div_(2)
        return scores, counts, half, mixed, changed, whole


class Renamed(nn.Module):
    def forward(self, x: Tensor, n: Tensor):
        return torch.nn.functional.gelu(x), torch.linspace(0, 1, steps=5), torch.full([2], 3.0) + x.sum(), n


def of_version(content: bytes, version: int) -> bytes:
    """The archive as that format has it: with its number, and without the arguments that came later."""

    def edit(name: str, data: bytes) -> bytes:
        if name in ("version", ".data/version"):
            return f"{version}\n".encode()
        if name.endswith(".py"):
            return data.replace(b', approximate="none"', b"").replace(b", rounding_mode=None", b"")
        return data

    return archive_edit.edited(content, edit)


@pytest.mark.parametrize("version", tiers.only([3, 9], [1, 2, 3, 4, 7, 8, 9]))
@pytest.mark.parametrize("how", ["scripted", "traced"])
@pytest.mark.parametrize("module", [Divisions, Renamed])
def test_written_by_older_versions(program, tmp_path, module, version, how):
    inputs = (torch.randn(3, 3).abs() + 1, torch.tensor([[5, 7, -9]]))
    if module is Divisions and version > 3:
        # Today `div_` of integers raises.
        pytest.skip("no other code than today's")
    source = module()
    with torch.no_grad():
        if how == "traced" and module is Divisions:
            content = archive_edit.save(torch.jit.script(source))
        else:
            content = saved(source, *(inputs if how == "traced" else ()))
    path = write(tmp_path, of_version(content, version))
    replays(program, path, *inputs)
    if module is Divisions:
        # Where dtypes are known, nothing is left to choose.
        known = ("--input", "x=float32[3,3]", "--input", "n=int64[1,3]")
        collection = replays(program, path, *inputs, options=known)
        assert "operator.getitem" not in targets(collection)


# --- for phones, frozen, with objects ---


class Plain(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.linear = nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(torch.relu(self.conv(x)).mean([2, 3]))


def lite(module: nn.Module) -> bytes:
    return torch.jit.script(module.eval())._save_to_buffer_for_lite_interpreter()


def test_lite_interpreter_archives_with_code(program, tmp_path):
    path = write(tmp_path, lite(Plain()), "model.ptl")
    assert "bytecode.pkl" in archive_edit.records(open(path, "rb").read())
    collection = replays(program, path, torch.randn(1, 3, 8, 8))
    assert [m["status"] for m in collection["modules"]] == ["traced", "leaf", "leaf"]
    assert b"lite interpreter" in program.stdout("inspect", path)


def test_lite_interpreter_archives_without_code(program, tmp_path):
    content = archive_edit.edited(lite(Plain()), lambda name, data: None if name.startswith("code/") else data)
    done = program.run("trace", write(tmp_path, content, "model.ptl"))
    (line,) = done.stderr.decode().splitlines()
    assert done.returncode == 3 and "bytecode only" in line and "torch.jit.save" in line


def test_mobile_optimized(program, tmp_path):
    try:
        module = optimize_for_mobile(torch.jit.script(Plain().eval()))
    except RuntimeError as error:  # a torch without XNNPACK
        pytest.skip(str(error))
    path = write(tmp_path, module._save_to_buffer_for_lite_interpreter(), "model.ptl")
    replays(program, path, torch.randn(1, 3, 8, 8))


def quantized(dynamic: bool) -> torch.jit.ScriptModule:
    torch.manual_seed(0)
    torch.backends.quantized.engine = "fbgemm"
    if dynamic:
        net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2)).eval()
        return torch.jit.script(torch.ao.quantization.quantize_dynamic(net))
    net = nn.Sequential(
        torch.ao.quantization.QuantStub(), nn.Conv2d(3, 4, 3), nn.ReLU(), torch.ao.quantization.DeQuantStub()
    ).eval()
    net.qconfig = torch.ao.quantization.get_default_qconfig("fbgemm")
    torch.ao.quantization.prepare(net, inplace=True)
    net(torch.randn(2, 3, 8, 8))
    torch.ao.quantization.convert(net, inplace=True)
    return torch.jit.trace(net, torch.randn(2, 3, 8, 8))


@pytest.mark.parametrize("dynamic", [True, False])
def test_frozen_quantized(program, tmp_path, dynamic):
    module = torch.jit.freeze(quantized(dynamic))
    path = write(tmp_path, archive_edit.save(module))
    x = torch.randn(2, 4) if dynamic else torch.randn(2, 3, 8, 8)
    collection = replays(program, path, x)
    objects = [c for c in collection["graphs"][0]["constants"].values() if "index" in c]
    assert len(objects) == (2 if dynamic else 1)
    assert all(c["record"] == "constants.pkl" and "PackedParamsBase" in c["type"] for c in objects)


def test_objects_that_stand_in_the_state_of_a_module(program, tmp_path):
    """Only `__setstate__` makes an attribute of it.  Traced only: QNNPACK does not run this one."""
    engine = torch.backends.quantized.engine
    try:
        torch.backends.quantized.engine = "qnnpack"
        linear = torch.ao.nn.sparse.quantized.Linear(8, 8, row_block_size=1, col_block_size=4)
        # Weights that nobody has set are any memory; torch crashes when it saves some of those.
        weight = torch.quantize_per_tensor(torch.arange(1.0, 65).reshape(8, 8), 1.0, 0, torch.qint8)
        linear.set_weight_bias(weight, torch.zeros(8), 1, 4)
        module = nn.Sequential(linear)
        path = write(tmp_path, archive_edit.save(torch.jit.script(module)))
        torch.jit.load(path)
    finally:
        torch.backends.quantized.engine = engine
    collection = program.trace(path, "--no-default-leaves")
    assert collection["summary"]["modules"]["failed"] == 0, collection["modules"]
    assert targets(collection)[1:3] == ["0._packed_params._packed_params", "sparse.qlinear.default"]


STATE_OF_PACKED = '''class Net(Module):
  __parameters__ = []
  __buffers__ = []
  packed : __torch__.torch.classes.quantized.LinearPackedParamsBase
  def forward(self: __torch__.Net, x: Tensor) -> Tensor:
    weight, bias, = (self.packed).__getstate__()
    return torch.mul(x, torch.dequantize(weight))
'''


def test_states_that_code_asks_packed_parameters_for(program, tmp_path):
    data = (
        b"\x80\x02c__torch__\nNet\n)\x81}("
        + archive_edit.pickled("packed") + OBJECT % (b"quantized", b"LinearPackedParamsBase")
        + b"ub."
    )  # fmt: skip
    collection = program.trace(write(tmp_path, hand_made(STATE_OF_PACKED, data)))
    assert targets(collection)[2:5] == ["__getstate__", "operator.getitem", "aten.dequantize.self"]


def renamed_class(content: bytes, new: str) -> bytes:
    """Packed parameters of linear layers become objects of the class `new`, which no LibTorch has."""
    space, name = new.split(".")

    def edit(record: str, data: bytes) -> bytes:
        if record.endswith(".py"):
            data = data.replace(b"quantized.LinearPackedParamsBase", new.encode())
            return data.replace(b"ops.quantized.linear_", f"ops.{space}.".encode())
        if record in ("data.pkl", "constants.pkl"):
            old = b"c__torch__.torch.classes.quantized\nLinearPackedParamsBase\n"
            return data.replace(old, f"c__torch__.torch.classes.{space}\n{name}\n".encode())
        return data

    return archive_edit.edited(content, edit)


@pytest.mark.parametrize("frozen", [True, False])
def test_classes_that_libtorch_lacks(program, tmp_path, frozen):
    module = quantized(dynamic=True)
    content = archive_edit.save(torch.jit.freeze(module) if frozen else module)
    path = write(tmp_path, renamed_class(content, "fxtlib.Linear"))
    schemas = []
    if not frozen:  # the code chooses between two operators, so the calls do not tell what these give
        packed = "__torch__.torch.classes.fxtlib.Linear packed"
        without = program.trace(path, "--no-default-leaves")
        assert harness.failed_modules(without) == ["0", "2"]
        schemas = [
            f"--op-schema=fxtlib::dynamic(Tensor x, {packed}, bool reduce_range=False) -> Tensor",
            f"--op-schema=fxtlib::dynamic_fp16(Tensor x, {packed}) -> Tensor",
        ]
    collection = program.trace(path, "--no-default-leaves", *schemas)
    assert collection["summary"]["modules"]["failed"] == 0
    calls = [node for node in nodes(collection) if node["target"] == "fxtlib.dynamic.default"]
    assert len(calls) == 2
    holders = {node["name"]: node for node in nodes(collection) if node["op"] == "get_attr"}
    for call in calls:
        holder = holders[call["args"][1]["node"]]
        assert holder["meta"]["type"] == "torch.classes.fxtlib.Linear"


MOBILE = '''class Net(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  context : __torch__.torch.classes.xnnpack.LinearOpContext
  map : __torch__.torch.classes.metatensor.TensorMap
  def forward(self: __torch__.Net,
    x: Tensor) -> Tensor:
    context = self.context
    _0 = ops.prepacked.linear_clamp_run(x, context)
    map = self.map
    values = annotate(Tensor, (map).values(x, "a"))
    (map).clear()
    _1 = (map).unused(2)
    return torch.add(torch.relu(_0), values)
'''
OBJECT = b"c__torch__.torch.classes.%s\n%s\n)\x81(X\x01\x00\x00\x00atb"  # its state: ("a",)
MOBILE_PICKLE = (
    b"\x80\x02c__torch__\nNet\n)\x81}("
    + archive_edit.pickled("training") + b"\x89"
    + archive_edit.pickled("context") + OBJECT % (b"xnnpack", b"LinearOpContext")
    + archive_edit.pickled("map") + OBJECT % (b"metatensor", b"TensorMap")
    + b"ub."
)  # fmt: skip


def hand_made(
    code: str, data: bytes = b"\x80\x02c__torch__\nNet\n)\x81}b.", constants: bytes = b"\x80\x02)."
) -> bytes:
    return archive_edit.archive(
        {"version": b"10\n", "data.pkl": data, "constants.pkl": constants, "code/__torch__.py": code.encode()}
    )


def test_methods_and_mobile_operators(program, tmp_path):
    collection = program.trace(write(tmp_path, hand_made(MOBILE, MOBILE_PICKLE)))
    assert [(node["op"], node["target"]) for node in nodes(collection)] == [
        ("placeholder", "x"),
        ("get_attr", "context"),
        ("call_function", "prepacked.linear_clamp_run.default"),
        ("get_attr", "map"),
        ("call_method", "values"),
        ("call_method", "clear"),
        ("call_method", "unused"),
        ("call_function", "aten.relu.default"),
        ("call_function", "aten.add.Tensor"),
        ("output", "output"),
    ]


CONSTANT_OBJECT = '''class Net(Module):
  __parameters__ = []
  __buffers__ = []
  def forward(self: __torch__.Net, x: Tensor) -> Tensor:
    _0 = torch.relu((CONSTANTS.c0).scale(x, ))
    return torch.%s
'''


def constant_object(program, tmp_path, result: str) -> dict:
    constants = b"\x80\x02" + OBJECT % (b"fxtlib", b"Scaler") + b"\x85."
    return program.trace(write(tmp_path, hand_made(CONSTANT_OBJECT % result, constants=constants)))


def test_methods_of_objects_that_are_constants(program, tmp_path):
    collection = constant_object(program, tmp_path, "relu(_0)")
    assert targets(collection)[2:] == ["scale", "aten.relu.default", "aten.relu.default", "output"]
    (method,) = [node for node in nodes(collection) if node["op"] == "call_method"]
    assert method["target"] == "scale" and len(method["args"]) == 2


def test_a_result_that_may_be_a_tensor_or_a_number_fails_the_module_only(program, tmp_path):
    """`add` takes both, so the call does not tell what `shift` gives."""
    collection = constant_object(program, tmp_path, "add(_0, (CONSTANTS.c0).shift(2, ))")
    (module,) = collection["modules"]
    assert module["status"] == "failed"
    assert "its calls do not tell the types of its results" in module["failure"]["message"]


# --- methods ---


class Encoder(nn.Module):
    @torch.jit.export
    def encode(self, x: Tensor) -> Tensor:
        return x.relu() + 1


class Codec(Encoder):
    @torch.jit.export
    def decode(self, x: Tensor) -> Tensor:
        return x.sigmoid()


def test_the_only_method_is_traced(program, tmp_path):
    path = write(tmp_path, saved(Encoder()))
    collection = replays(program, path, torch.randn(3), method="encode")
    assert collection["model"]["method"] == "encode"


def test_several_methods_are_listed(program, tmp_path):
    path = write(tmp_path, saved(Codec()))
    done = program.run("trace", path)
    assert done.returncode == 2
    (hint,) = re.findall(r"^hint: --method NAME traces one of its methods: (\w+), (\w+)$", done.stderr.decode(), re.M)
    assert set(hint) == {"encode", "decode"}
    replays(program, path, torch.randn(3), options=("--method", "decode"), method="decode")


def test_no_method_at_all(program, tmp_path):
    done = program.run("trace", write(tmp_path, saved(nn.ModuleList([nn.Linear(2, 2)]))))
    assert done.returncode == 2 and b"it has no methods at all" in done.stderr


# --- what torch no longer opens ---


@pytest.mark.parametrize("code", ["code/model.py", "code/__torch__/a.py"])
def test_the_oldest_archives(program, tmp_path, code):
    content = archive_edit.archive(
        {"version": b"1\n", "model.json": b'{"mainModule": {}}', code: b"op_version_set = 0\n", "tensors/0": b"\0" * 4}
    )
    path = write(tmp_path, content)
    with pytest.raises(RuntimeError):
        torch.jit.load(path)
    done = program.run("trace", path)
    (line,) = done.stderr.decode().splitlines()
    assert done.returncode == 3 and "PyTorch 1.0 to 1.2" in line and "torch.jit.save" in line


# --- dtypes ---

DTYPES = sorted({name for name in dir(torch) if isinstance(getattr(torch, name), torch.dtype)})


@pytest.mark.volume
def test_inputs_of_every_dtype(program, tmp_path):
    class Same(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x + x

    path = write(tmp_path, saved(Same()))
    for name in DTYPES:
        collection = program.trace(path, "--input", f"x={name}[1,3]")
        meta = nodes(collection)[0]["meta"]
        assert f"torch.{meta['dtype']}" == str(getattr(torch, name))
        assert meta["shape"] == [1, 3]


NUMBERS = '''class Net(Module):
  __parameters__ = []
  __buffers__ = []
  def forward(self: __torch__.Net,
    x: Tensor) -> Tensor:
    return {}
'''
NUMBER_CALLS = [
    "torch.to(x, {})",
    "torch.zeros([2], dtype={})",
    "torch.zeros([2], dtype=6, layout={})",
    "torch.zeros_like(x, dtype=6, layout=0, device=None, pin_memory=None, memory_format={})",
    "torch.contiguous(x, memory_format={})",
    "torch.sum(x, dtype={})",
    "torch.softmax(x, 0, {})",
    "torch.tensor([1, 2], dtype={})",
    "torch.add(x, int(torch.promote_types({}, 6)))",
    "torch.add(x, int(torch.can_cast({}, 6)))",
]


@pytest.mark.parametrize("number", tiers.only([-1], [-1, 99, 255, 262, -(2**63), 2**63 - 1, 2**32 + 6]))
def test_numbers_that_are_no_dtypes(program, tmp_path, number):
    for call in NUMBER_CALLS:
        path = write(tmp_path, hand_made(NUMBERS.format(call.format(number))))
        for options in ((), ("--input", "x=float32[2,3]")):
            done = program.run("trace", path, *options)
            assert done.returncode in (0, 3), (call, done.returncode, done.stderr)
            if done.returncode == 0:
                (module,) = json.loads(done.stdout)["modules"]
                assert module["status"] == "failed" and module["failure"]["kind"] == "raised", (call, module)


# --- constants ---


class Constants(nn.Module):
    """Views of tensors, small ones and such as are not written out."""

    def __init__(self, size: int) -> None:
        super().__init__()
        base = torch.arange(float(size * size)).reshape(size, size)
        self.views = [base.t(), base[1:, ::2], base[0].expand(3, size), base[::3, 1], base.unfold(0, 2, 1), base[:0]]

    def forward(self, x: Tensor):
        return [view + x for view in self.views], self.views[0].reshape(-1) * x


@pytest.mark.parametrize("size", [5, 50])
def test_constants_are_views_of_records(program, tmp_path, size):
    path = write(tmp_path, archive_edit.save(torch.jit.trace(Constants(size), torch.ones(1))))
    collection = replays(program, path, torch.ones(1) / 3)
    constants = collection["graphs"][0]["constants"].values()
    large = [c for c in constants if c["data"] is None]
    assert all({"stride", "storage_offset", "record"} <= c.keys() for c in large)
    assert bool(large) == (size == 50)
    if large:
        assert any(c["storage_offset"] for c in large) and any(c["stride"] == [1, size] for c in large)


def negated(x):
    return -x


class CallsAFunction(nn.Module):
    def forward(self, x):
        return negated(x) * 2


def test_frames_of_traced_archives(program, tmp_path):
    """torch.jit.trace keeps Python's stack: the innermost frame is where a node comes from, and no line of source."""
    path = str(tmp_path / "model.pt")
    torch.jit.trace(CallsAFunction(), torch.ones(2)).save(path)
    sources = {node["name"]: node["source"] for node in nodes(program.trace(path)) if node["source"]}
    assert (sources["neg"]["function"], sources["mul"]["function"]) == ("negated", "forward")
    assert sources["neg"]["file"].endswith("test_archives.py") and sources["neg"]["text"] == ""
    assert sources["mul"]["line"] > sources["neg"]["line"] > 0
