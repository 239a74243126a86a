"""Tests check --security with torch's ways to run code, each planted in each place of each kind of file: all are found.

The ways are those of torch's readers: torch/serialization.py, torch/_weights_only_unpickler.py, torch/export/pt2_archive/_package.py,
torch/_export/serde/serialize.py, torch/utils/_pytree.py, torch/export/_unlift.py, torch/fx/graph.py, torch/package, and LibTorch's importer.
Nothing here is ever read by torch.
"""

import collections
import copy
import io
import json
import pathlib
import pickle
import random
import re
import shutil
import subprocess
import warnings
import zipfile

import harness
import hostile
import pytest
import tiers
import torch
import torch.distributed.checkpoint as dcp
import zoo
from hostile import EMPTY_DICT, EMPTY_TUPLE, MARK, NONE, PROTO, STOP, name, number, text, tuple_of

ROOT = pathlib.Path(harness.ROOT)
SAMPLES = ROOT / "sample_models"
OS_SYSTEM = name("os", "system")
RUN = text("true") + b"\x85R"
PROTO4 = b"\x80\x04"
MAGIC = b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."


def passes(program, tmp_path, files: dict[str, bytes]) -> list[str]:
    """Those of the files of which check --security says that all rules hold."""
    held = []
    names = list(files)
    for start in range(0, len(names), 50):
        some = {}
        for number_, each in enumerate(names[start : start + 50]):
            path = tmp_path / f"f{start + number_}"
            path.write_bytes(files[each])
            some[path.name] = each
        done = subprocess.run(
            [program.path, "check", "--security", *some], cwd=tmp_path, capture_output=True, text=True, errors="replace"
        )
        assert "internal" not in done.stderr, done.stderr
        for short, each in some.items():
            told = re.findall(rf"^{short}: (.*)$", done.stdout, re.M)
            refused = f"{short}: " in done.stderr or f"{short}\n" in done.stderr
            assert told or refused, (each, done.stdout, done.stderr)
            # A broken rule that is a warning is none that keeps anybody from loading the file.
            if told and not re.search(rf"^{short}: .*\n(?:(?!^f\d).*\n)*?^error ", done.stdout, re.M):
                held.append(each)
            (tmp_path / short).unlink()
    return held


# --- pickles ---


def stack_global(module: str, what: str) -> bytes:
    return text(module) + text(what) + b"\x93"


PICKLES: dict[str, bytes] = {
    "a call": PROTO + OS_SYSTEM + RUN + STOP,
    "without a protocol": OS_SYSTEM + RUN + STOP,
    "of text": b"cos\nsystem\n(S'true'\ntR.",
    "of protocol 3": b"\x80\x03" + OS_SYSTEM + RUN + STOP,
    "of protocol 5": b"\x80\x05" + OS_SYSTEM + RUN + STOP,
    "in a frame": PROTO4 + b"\x95" + (len(OS_SYSTEM + RUN) + 1).to_bytes(8, "little") + OS_SYSTEM + RUN + STOP,
    "a name from the stack": PROTO4 + stack_global("os", "system") + RUN + STOP,
    "a name with escapes": b"V\\u006fs\nV\\u0073ystem\n\x93" + RUN + STOP,
    "a path through a known function": PROTO4
    + stack_global("torch.jit._pickle", "build_intlist.__builtins__.get")
    + text("eval")
    + b"\x85R"
    + text("1")
    + b"\x85R.",
    "a path through a rebuild": PROTO4 + stack_global("torch._utils", "_rebuild_tensor_v2.__globals__.get") + text("sys") + b"\x85R.",
    "a path through a class": PROTO4 + stack_global("torch", "FloatStorage.__init__.__globals__.get") + text("sys") + b"\x85R.",
    "INST": b"(S'true'\nios\nsystem\n.",
    "OBJ": MARK + OS_SYSTEM + text("true") + b"o.",
    "NEWOBJ": PROTO + OS_SYSTEM + text("true") + b"\x85\x81.",
    "NEWOBJ_EX": PROTO4 + OS_SYSTEM + text("true") + b"\x85" + EMPTY_DICT + b"\x92.",
    "attributes of a class": PROTO + name("collections", "OrderedDict") + NONE + hostile.dict_of({"update": NONE}) + b"\x86b.",
    "attributes of a function": PROTO + name("torch._utils", "_rebuild_tensor_v2") + hostile.dict_of({"__code__": NONE}) + b"b.",
    "an extension": PROTO + b"\x82\x01" + EMPTY_TUPLE + b"R.",
    "a long extension": PROTO + b"\x84\x01\0\0\0" + EMPTY_TUPLE + b"R.",
    "a memo with zeros": text("os") + b"p1\n0" + text("collections") + b"p2\n0g00000000000000000001\n" + text("system") + b"\x93" + RUN + STOP,
    "a memo with a sign": text("os") + b"p1\n0g+1\n" + text("system") + b"\x93" + RUN + STOP,
    "a memo that is counted": PROTO4 + text("set") + b"q\x050" + text("os") + b"\x940h\x01" + text("system") + b"\x93" + RUN + STOP,
    "begins as GGUF": b"GGUF\x03\0\0\0\x000cos\nsystem\n(S'true'\ntR.",
    "begins as a flatbuffer": b"N0U\x04PTMF0cos\nsystem\n(S'true'\ntR.",
    "what it made is called": PROTO + name("torch", "device") + text("cpu") + b"\x85R" + EMPTY_TUPLE + b"R.",
    "what it made is appended to": PROTO + name("torch", "Size") + EMPTY_TUPLE + b"R" + NONE + b"a.",
    "what it made is filled": PROTO + name("torch", "Size") + EMPTY_TUPLE + b"R" + NONE + NONE + b"s.",
    "a persistent module": PROTO + tuple_of(text("module"), name("collections", "OrderedDict"), text("a"), text("b")) + b"Q.",
    "a persistent name": b"Pos.system\n.",
    "memory": PROTO + name("builtins", "bytearray") + number(1 << 30) + b"\x85R.",
    "cut off": PROTO + OS_SYSTEM + RUN,
    "behind a harmless one": PROTO + EMPTY_DICT + STOP + PROTO + OS_SYSTEM + RUN + STOP,
    **{
        f"number {place} of the legacy format": MAGIC
        + b"".join(PROTO + (OS_SYSTEM + RUN if at == place else EMPTY_DICT) + STOP for at in range(1, 5))
        for place in range(1, 5)
    },
    "in place of the legacy number": PROTO + OS_SYSTEM + RUN + b"0" + MAGIC[2:] + (PROTO + EMPTY_DICT + STOP) * 4,
    "behind a legacy number from a memo": b"\x80\x02}q\x00" + MAGIC[2:-1] + b"q\x01g0000000000000000001\n."
    + (PROTO + EMPTY_DICT + STOP) * 2
    + (PROTO + OS_SYSTEM + RUN + STOP)
    + (PROTO + EMPTY_DICT + STOP),
}  # fmt: skip


def records_of(path: pathlib.Path | io.BytesIO) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as file:
        return {info.filename: file.read(info) for info in file.infolist()}


def zipped(records: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for each, data in records.items():
            file.writestr(each, data)
    return buffer.getvalue()


def saved(value, **options) -> io.BytesIO:
    buffer = io.BytesIO()
    torch.save(value, buffer, **options)
    return io.BytesIO(buffer.getvalue())


def archives() -> dict[str, dict[str, bytes]]:
    """One of each kind of archive that torch reads, without an offence; the first record gives the folder."""
    return {
        "torch.save": records_of(saved({"w": torch.ones(3)})),
        "TorchScript": records_of(SAMPLES / "quantized.pt"),
        "exported": records_of(SAMPLES / "nested_exported.pt2"),
        "exported with constants": records_of(SAMPLES / "exported_constants.pt2"),
        "old layout": records_of(SAMPLES / "exported_old_layout.pt2"),
        "package": {
            "p/.data/extern_modules": b"os\n",
            "p/.data/version": b"6\n",
            "p/.data/python_version": b"3.11.7\n",
            "p/byteorder": b"little",
            "p/model/model.pkl": PROTO + EMPTY_DICT + STOP,
            "p/model/words.txt": b"hello\n",
        },
    }


# Records that no archive of the kind has, and those of other kinds.
NEW_RECORDS = [
    "data.pkl", "x.pkl", "model.pt", "data/weights/weight_99", "data/weights/model.pt", "data/constants/opaque_obj_0", "data/constants/x.pt",
    "models/other.json", "models/other", "data/sample_inputs/other.pt", "data/aotinductor/model/a.cpp", "data/aotinductor/model/w", "extra/x",
    "extra/x.txt", "constants.pkl", "bytecode.pkl", "attributes.pkl", "code/x.py", ".data/extern_modules", ".data/ts_code/0/data.pkl", "x/y.bin",
    "archive_format", "serialized_state_dict.pt", "data/0", "data/77", "xl_model_weights/w", "data/executorch/x.pte", "notes",
]  # fmt: skip


def planted(pickles: dict[str, bytes]):
    """Every pickle in every place, by what it is."""
    for way, pickle in pickles.items():
        yield f"{way}, the file", pickle
        inner = zipped({"archive/data.pkl": pickle, "archive/version": b"3\n"})
        yield f"{way}, in torch.save's archive", inner
        for kind, records in archives().items():
            folder = next(iter(records)).split("/")[0] + "/" if kind != "old layout" else ""
            for each in records:
                yield f"{way}, {kind}: {each}", zipped({**records, each: pickle})
                if each.endswith(".pt"):
                    yield f"{way}, within {kind}: {each}", zipped({**records, each: inner})
            for each in NEW_RECORDS:
                yield f"{way}, new in {kind}: {each}", zipped({**records, folder + each: pickle})
            yield f"{way}, before {kind}", pickle + zipped(records)
            yield f"{way}, outside of the folder of {kind}", zipped({**records, "other/data.pkl": pickle})
        yield f"{way}, before an empty archive", pickle + zipped({})


def is_inert(what: str) -> bool:
    """The bytes of a tensor do nothing, if they are as many as they should be; nor does a text that only calls for what is not there."""
    is_tensor = re.search(r"/data/(weights/weight_|constants/tensor_)?\d+$", what) or what.endswith(" data/0")
    return bool(is_tensor) or (what.startswith("a persistent name, new in ") and "extra/" in what)


def test_pickles_do_not_pass(program, tmp_path):
    """Each way as a file, each place for one way."""
    files = dict(planted({"of text": PICKLES["of text"]})) | PICKLES
    assert [what for what in passes(program, tmp_path, files) if not is_inert(what)] == []


@pytest.mark.parametrize("way", tiers.in_turn([], PICKLES))
def test_pickles_do_not_pass_anywhere(program, tmp_path, way):
    held = passes(program, tmp_path, dict(planted({way: PICKLES[way]})))
    assert [what for what in held if not is_inert(what)] == []


def test_archives_without_an_offence_hold(program, tmp_path):
    files = {kind: zipped(records) for kind, records in archives().items()}
    assert sorted(passes(program, tmp_path, files)) == sorted(files)


# --- the JSON of exported programs ---

HOSTILE_TEXTS = {
    "a call": "__import__('os').system('true')",
    "a call in a list": "[Symbol('s77', positive=True, integer=True), __import__('os').system('true')][0]",
    "an attribute": "Symbol('s77').__class__.__init__.__globals__",
    "quotes": "x\"), __import__('os').system('true'), (\"",
    "a name and more": "x, y=__import__('os').system('true')",
    "a line": "x\n  __import__('os').system('true')\n",
    "a function": "torch.os.system",
    "an operator's method": "_operator.methodcaller",
    "a bomb": "9**9**9",
    "a bomb of symbols": "(Symbol('s0')+Symbol('s1')+Symbol('s2'))**9999",
    "a shift": "LShift(Integer(1), Integer(99999999))",
}
# Texts that torch keeps as they are, or compares with what it knows; of some the value is not that of any of the above.
INERT_KEYS = {
    "as_string", "stack_trace", "torch_fn", "torch_version", "type", "verifiers", "hint", "custom", "min_val", "max_val", "from_node", "seq_nr",
    "nn_module_stack", "source_fn_stack", "dialect", "partitioner_tag", "quantization_tag", "recompute", "original_aten", "mutation_type", "as_strings",
}  # fmt: skip


def texts_in(value, path: tuple = (), shape: tuple = ()):
    """Yields (path, shape of the path) of one text, or key of values that the model names, of each shape."""
    if isinstance(value, dict):
        named = shape and shape[-1] in ("tensor_values", "sym_int_values", "range_constraints", "sym_bool_values", "custom_obj_values")
        for key, item in value.items():
            if named:
                yield (*path, key), (*shape, "KEY")
            yield from texts_in(item, (*path, key), (*shape, "*" if named else key))
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from texts_in(item, (*path, place), shape)
    elif isinstance(value, str):
        yield path, shape


def replaced(value, path: tuple, key: bool, new: str):
    value = json.loads(json.dumps(value))
    at = value
    for step in path[:-1]:
        at = at[step]
    if key:
        at[new] = at.pop(path[-1])
    else:
        at[path[-1]] = new
    return value


def hostile_programs(sample: str, texts: dict[str, str]):
    records = records_of(SAMPLES / sample)
    record = next(each for each in records if "/models/" in each and each.endswith(".json"))
    program = json.loads(records[record])
    seen = set()
    for path, shape in texts_in(program):
        leaf = next((step for step in reversed(shape) if step != "KEY" and step != "*"), "")
        if shape in seen or leaf in INERT_KEYS or "metadata" in shape or "opset_version" in shape or "treespec_namedtuple_fields" in shape:
            continue
        if "module_call_graph" in shape and leaf == "fqn" and path[-1] == "fqn" and "signature" in shape:
            continue
        seen.add(shape)
        for what, new in texts.items():
            yield f"{sample} {'.'.join(map(str, path))}: {what}", zipped(
                {**records, record: json.dumps(replaced(program, path, shape[-1] == "KEY", new)).encode()}
            )


# Where a bomb is only an odd name: torch takes it for none.
PLAIN = {"a function", "an operator's method", "a bomb", "a bomb of symbols", "a shift", "an attribute", "a call"}


def does_pass(what: str) -> bool:
    """Paths of parameters stand between quotes in the code of a module, so only quotes and lines matter there."""
    place, way = what.split(": ")
    is_path = re.search(r"\.(parameter_name|buffer_name|tensor_constant_name|custom_obj_name|class_fqn|fqn)$", place)
    return bool(is_path) and way in PLAIN and "'" not in HOSTILE_TEXTS[way]


@pytest.mark.parametrize("sample", tiers.only(["exported_dimensions.pt2"], ["exported_dimensions.pt2", "exported_cond.pt2", "exported_containers.pt2", "exported_objects.pt2", "exported_while_loop.pt2", "exported_signatures.pt2"]))
def test_texts_of_programs_do_not_pass(program, tmp_path, sample):
    files = dict(hostile_programs(sample, HOSTILE_TEXTS))
    assert len(files) > 50
    assert [what for what in passes(program, tmp_path, files) if not does_pass(what)] == []


@pytest.mark.parametrize("options", [(), ("--pass", "common-subexpressions")], ids=["as it is", "after a pass"])
def test_convert_makes_nothing_hostile(program, tmp_path, options):
    """Of a hostile program there is no file, or one that a reader takes for what it is."""
    files = list(hostile_programs("exported_dimensions.pt2", HOSTILE_TEXTS))[::6]
    made = {}
    for place, (what, data) in enumerate(files):
        given, out = tmp_path / f"{place}.pt2", tmp_path / f"{place}.out.pt2"
        given.write_bytes(data)
        run = program.run("convert", str(given), "-o", str(out), *options)
        assert run.returncode in (0, 2, 3, 4), what
        assert out.exists() == (run.returncode == 0)
        if out.exists():
            made[what] = out.read_bytes()
    assert len(made) < len(files)
    assert sorted(passes(program, tmp_path, made)) == sorted(made)


def with_context(context) -> str:
    leaf = {"type": None, "context": None, "children_spec": []}
    keywords = {"type": "builtins.dict", "context": json.dumps(context), "children_spec": [leaf]}
    return json.dumps([1, {"type": "builtins.tuple", "context": "null", "children_spec": [{"type": "builtins.tuple", "context": "null", "children_spec": [leaf]}, keywords]}])


def node_changes():
    leaf = {"type": None, "context": None, "children_spec": []}
    factory = {"default_factory_module": "os", "default_factory_name": "system", "dict_context": []}
    for what, spec in {
        "an enum": with_context([{"__enum__": True, "fqn": "this:c", "name": "x"}]),
        "an enum within": with_context([[{"a": {"__enum__": True, "fqn": "this:c", "name": "x"}}]]),
        "a factory": json.dumps([1, {"type": "collections.defaultdict", "context": json.dumps(factory), "children_spec": []}]),
        "a factory as it is": json.dumps([1, {"type": "collections.defaultdict", "context": factory, "children_spec": []}]),
        "a keyword": with_context(["x=__import__('os')"]),
        "a type": json.dumps([1, {"type": "builtins.list", "context": '[{"__enum__":1,"fqn":"this:c"}]', "children_spec": [leaf]}]),
    }.items():
        yield f"in_spec: {what}", lambda p, spec=spec: [entry["signature"].update(in_spec=spec) for entry in p["graph_module"]["module_call_graph"] if entry["signature"]]
    for target in (
        "os.system", "torch.os.system", "torch.load", "torch.hub.load", "torch.utils.cpp_extension.load_inline", "_operator.methodcaller", "_operator.call",
        "_operator.attrgetter", "math.__loader__.load_module", "#os.system", "torch.ops.aten.save.default", "torch.ops.aten.from_file.default",
        "torch.ops.higher_order.print", "torch.ops.higher_order.inline_asm_elementwise", "torch.ops.higher_order.aoti_call_delegate", "torch.ops.load_library",
        "torch.ops.higher_order.triton_kernel_wrapper_mutation", "torch.ops.inductor._reinterpret_tensor.default", "torch.ops.profiler._record_function_exit.default",
        "torch.ops.c10d.send.default", "torch.ops.symm_mem.memset32_.default", "torch.ops.__class__", "torch.ops.aten.add.Tensor.__call__", "torch.ops.static_runtime.dict_unpack.default",
        "torch.ops.mkldnn.data_ptr.default", "torch.ops.aten._sparse_csr_tensor_unsafe.default", "torch.ops.aten._reshape_alias.default", "torch._functorch.predispatch.os",
    ):  # fmt: skip
        yield f"a node's target: {target}", lambda p, target=target: p["graph_module"]["graph"]["nodes"][0].update(target=target)
        yield f"an argument: {target}", lambda p, target=target: p["graph_module"]["graph"]["nodes"][0]["inputs"].append(
            {"name": "op", "arg": {"as_operator": target}, "kind": 1}
        )
    for guard in ("__import__('os').system('true')==0", "L['x'].__class__", "L['x'].size().__init__()", "L['x\"+open(1)+\"'].size()[0]==1", "9**9**9==1",
                  "L['x'].size()[__import__('os')]==1", "(lambda: 1)()", "[c for c in ().__class__.__bases__]", "L['x'].tolist()==1", "f'{x}'=='1'", "exec('1')", "x if y else z"):  # fmt: skip
        yield f"a guard: {guard}", lambda p, guard=guard: p.update(guards_code=[guard])
    for symbol in ("__import__('os')", "u99999999999", "s0, s1", "lambda: 1"):
        yield f"a range of {symbol}", lambda p, symbol=symbol: p.update(range_constraints={symbol: {"min_val": 2, "max_val": 3}})
    yield "a parameter with quotes", lambda p: p["graph_module"]["signature"]["input_specs"].insert(
        0, {"parameter": {"arg": {"name": "p"}, "parameter_name": 'a", __import__("os").system("true"), "b'}}
    )
    yield "a name of an argument", lambda p: [entry["signature"].update(forward_arg_names=["x=__import__('os')"]) for entry in p["graph_module"]["module_call_graph"] if entry["signature"]]
    yield "a keyword of a call", lambda p: p["graph_module"]["graph"]["nodes"][0]["inputs"].append({"name": "a=1, b", "arg": {"as_int": 1}, "kind": 2})


@pytest.mark.parametrize("sample", ["exported_dimensions.pt2", "exported_old_layout.pt2"])
def test_planted_programs_do_not_pass(program, tmp_path, sample):
    records = records_of(SAMPLES / sample)
    record = next(each for each in records if each.endswith(".json") and ("models/" in each or "exported_program" in each))
    files = {}
    for what, change in node_changes():
        changed = json.loads(records[record])
        change(changed)
        files[what] = zipped({**records, record: json.dumps(changed).encode()})
        # Python takes the last of equal keys.
        first = json.dumps(changed)[:-1] + ", " + json.dumps(json.loads(records[record]))[1:]
        files[what + ", hidden by a second field"] = zipped({**records, record: first.encode()})
    assert passes(program, tmp_path, files) == []


def configurations() -> dict[str, bytes]:
    """Programs whose configurations have torch read what it should not, or that have more records than they name."""
    records = records_of(SAMPLES / "nested_exported.pt2")
    folder = next(iter(records)).split("/")[0]
    config = next(each for each in records if each.endswith("_weights_config.json"))
    call = PICKLES["of text"]

    def changed(**fields):
        document = json.loads(records[config])
        next(iter(document["config"].values())).update(fields)
        return json.dumps(document).encode()

    files = {}
    for path, record in {
        "/w": f"{folder}//w", "../weights/w": f"{folder}/data/weights/../weights/w", "sub/w": f"{folder}/data/weights/sub/w", "w": f"{folder}/data/weights/w",
        "/data/weights/w": f"{folder}//data/weights/w", "weight_0": f"{folder}/data/weights/weight_0",
    }.items():  # fmt: skip
        files[f"pickled {path}"] = zipped({**records, config: changed(path_name=path, use_pickle=True), record: call})
    # Of a record without a byte torch makes zeros, as many as it should have.
    meta = next(iter(json.loads(records[config])["config"].values()))["tensor_meta"]
    large = {**meta, "sizes": [{"as_int": 1 << 40}], "strides": [{"as_int": 1}]}
    files["zeros"] = zipped({**records, config: changed(tensor_meta=large), f"{folder}/data/weights/weight_0": b""})
    constants = next(each for each in records if each.endswith("_constants_config.json"))
    for path in ("tensor_0", "opaque_obj_0", "custom_obj_0", "opaque_obj_0.txt"):
        entry = {"path_name": path, "is_param": False, "use_pickle": True, "tensor_meta": None}
        files[f"constant {path}"] = zipped({**records, constants: json.dumps({"config": {"c": entry}}).encode(), f"{folder}/data/constants/{path}": call})
    for each in ("a.wrapper.cpp", "a.json", "x_compile_flags.json", "w.so", "notes.txt", "weights.o"):
        files[f"compiled {each}"] = zipped({**records, f"{folder}/data/aotinductor/model/{each}": b"int main() {}"})
    return files


def test_configurations_do_not_pass(program, tmp_path):
    assert passes(program, tmp_path, configurations()) == []


# --- the code of TorchScript ---

CODE = """class Net(Module):
  __parameters__ = []
  __buffers__ = []
  a : int
  def forward(self: __torch__.Net,
    x: Tensor) -> Tensor:
{forward}    return torch.add(x, x)
  def __getstate__(self: __torch__.Net) -> int:
    return 1
  def __setstate__(self: __torch__.Net,
    s: int) -> NoneType:
{state}    self.a = s
    return None
  def other(self: __torch__.Net,
    x: Tensor) -> Tensor:
{other}    return x
"""
CALLS = {
    "torch.save": 'torch.save(1, "f")', "a method": 'torch.save(x, "f")', "of ops": 'ops.aten.save(x, "f")',
    "from_file": 'y = torch.from_file("f", True, 10)', "from_file of ops": 'y = ops.aten.from_file("f", True, 10)',
    "a statistic": 'ops.prim.AddStatValue("a", 1)', "an unsafe tensor": "y = torch._sparse_csr_tensor_unsafe(x, x, x, [1, 1])",
    "a profiler's handle": "ops.profiler._record_function_exit(x)", "an address": "y = ops.mkldnn.data_ptr(x)",
    "a reinterpreted tensor": "y = ops.inductor._reinterpret_tensor(x, [1], [1], 99)", "a fusion": "y = ops.prim.FusionGroup(x)",
    "another process": 'y = ops.c10d_functional.all_reduce(x, "sum", "g", [0], 1)\n    torch.save(y, "f")',
    "a handle in dropped code": "if False:\n      ops.profiler._record_function_exit(x)\n    else:\n      pass",
    "a handle after a library": "y = ops.mylib.what(x)\n    ops.profiler._record_function_exit(y)",
    "after a library": 'y = ops.mylib.what(x)\n    torch.save(y, "f")',
}  # fmt: skip
STATES = {
    "a loop": "while True:\n      s = torch.add(s, 1)", "a for": "for i in range(9999999999):\n      s = torch.add(s, 1)", "a tensor": "t = torch.zeros([99999999])",
    "itself": "self.__setstate__(s)", "another method": "y = (self).other(torch.ones([2]))", "random": "torch.manual_seed(1)", "print": 'print("x")',
    "growth": "t = 'a'\n" + "    t = torch.add(t, t)\n" * 40,
}  # fmt: skip


def script(forward: str = "", state: str = "", other: str = "") -> bytes:
    def body(code: str) -> str:
        return f"    {code.rstrip()}\n" if code else ""

    code = CODE.format(forward=body(forward), state=body(state), other=body(other))
    return zipped(
        {
            "m/data.pkl": PROTO + name("__torch__", "Net") + EMPTY_TUPLE + b"\x81K\x01b.",
            "m/constants.pkl": PROTO + EMPTY_TUPLE + STOP,
            "m/code/__torch__.py": code.encode(),
            "m/version": b"3\n",
            "m/byteorder": b"little",
        }
    )


def test_code_does_not_pass(program, tmp_path):
    assert passes(program, tmp_path, {"nothing": script()}) == ["nothing"]
    files = {}
    for what, call in CALLS.items():
        for place in ("forward", "other"):
            files[f"{what} in {place}"] = script(**{place: call})
            files[f"{what} in a branch of {place}"] = script(**{place: f"if torch.eq(self.a, 1):\n      {call.replace(chr(10), chr(10) + '  ')}"})
        files[f"{what} in __setstate__"] = script(state=f"x = torch.ones([2])\n    {call}")
    for what, state in STATES.items():
        files[f"__setstate__: {what}"] = script(state=state)
    files["code that is none"] = script(other="no such thing(")
    assert passes(program, tmp_path, files) == []


# --- places of records ---


def test_bytes_beside_records_do_not_pass(program, tmp_path):
    whole = zipped(archives()["torch.save"])
    first = whole.index(b"PK\x03\x04", 4)
    files = {"in front": b"\0" * 10 + whole}
    # Between records: all later offsets move.
    moved = bytearray(whole[:first] + b"x" * 100 + whole[first:])
    directory = moved.index(b"PK\x01\x02")
    at = directory
    while moved[at : at + 4] == b"PK\x01\x02":
        offset = int.from_bytes(moved[at + 42 : at + 46], "little")
        if offset:
            moved[at + 42 : at + 46] = (offset + 100).to_bytes(4, "little")
        at += 46 + sum(int.from_bytes(moved[at + place : at + place + 2], "little") for place in (28, 30, 32))
    moved[at + 16 : at + 20] = directory.to_bytes(4, "little")
    files["between"] = bytes(moved)
    assert passes(program, tmp_path, files) == []


# --- distributed checkpoints ---


def test_checkpoints_do_not_pass(program, tmp_path):
    """The metadata says which bytes of which file are given to torch.load."""
    call = PROTO4 + OS_SYSTEM + RUN + STOP
    state = {"weight": torch.frombuffer(bytearray(call), dtype=torch.uint8), "other": torch.ones(3), "epoch": 3}
    good = tmp_path / "good"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dcp.save(state, checkpoint_id=good, no_dist=True)
    shard = (good / "__0_0.distcp").read_bytes()
    metadata = pickle.loads((good / ".metadata").read_bytes())
    ends = sorted(item.offset + item.length for item in metadata.storage_data.values())

    def checked(shard: bytes, beside: bool = True, named: str = ".metadata", **changes) -> dict[str, str]:
        """What is said of each file of a checkpoint, with these fields of one item."""
        folder = tmp_path / "bad"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        (tmp_path / "outside.distcp").write_bytes(shard)
        made = copy.deepcopy(metadata)
        vars(next(iter(made.storage_data.values()))).update(changes)
        (folder / named).write_bytes(pickle.dumps(made))
        if beside:
            (folder / "__0_0.distcp").write_bytes(shard)
        said = {}
        for each in sorted(path.name for path in folder.iterdir()):
            done = subprocess.run([program.path, "check", "--security", folder / each], capture_output=True, text=True)
            said[each] = "" if done.returncode == 0 else done.stdout + done.stderr
        return said

    assert set(checked(shard).values()) == {""}
    assert set(checked(shard, named="__0.metadata").values()) == {""}
    inside = checked(shard, offset=shard.index(call), length=len(call))
    assert "security-unknown" in inside[".metadata"] and "calls os.system" in inside[".metadata"], inside
    for what, changes in {
        f"it reads {ends[1]} bytes from byte 0 on": {"offset": 0, "length": ends[1]},
        "leads out of its folder": {"relative_path": "../outside.distcp"},
        "/outside.distcp', a path": {"relative_path": str(tmp_path / "outside.distcp")},
        "no .distcp file": {"relative_path": "__1_0.distcp"},
        "are transformed": {"transform_descriptors": ["stream.zstd/1"]},
    }.items():
        said = checked(shard, **changes)
        assert what in said[".metadata"] and said["__0_0.distcp"] == "", (what, said)
    assert "no .distcp file" in checked(shard, beside=False)[".metadata"]
    assert "not under its name" in checked(shard, named="metadata")["metadata"]
    between = checked(shard[: ends[0]] + call + shard[ends[0] :])
    assert "damaged zip archive" in between["__0_0.distcp"] and "not one of the 0 archives" in between[".metadata"], between
    evil = zipped({"archive/data.pkl": call, "archive/version": b"3\n"})
    assert "[2]/archive/data.pkl" in checked(shard[: ends[1]] + evil + shard[ends[1] :])["__0_0.distcp"]


def test_a_checkpoint_may_have_more_shards_than_can_be_opened(program, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dcp.save({str(i): torch.ones(1) for i in range(60)}, storage_writer=dcp.FileSystemWriter(tmp_path, single_file_per_rank=False), no_dist=True)
    command = [program.path, "check", "--security", tmp_path / ".metadata"]
    for soft, hard in ((80, 1000), (80, 80)):
        limit = ["sh", "-c", f'ulimit -Sn {soft} && ulimit -Hn {hard} && exec "$@"', "sh"]
        done = subprocess.run([*limit, *command], capture_output=True, text=True)
        assert (done.returncode == 0) == (hard > 80), done.stdout + done.stderr
    assert "of the 60 shards beside it, 16 could be opened" in done.stdout


# --- what is no offence ---


@pytest.mark.volume
@pytest.mark.parametrize("model", zoo.names("scripted", "traced"))
def test_the_zoo_holds(program, zoo_archive, model):
    done = subprocess.run([program.path, "check", "--security", zoo_archive(model)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_text_for_the_caller_holds(program, tmp_path):
    records = archives()["exported"]
    folder = next(iter(records)).split("/")[0]
    texts = {"words.txt": b"cat\ndog\nindex\n", "config.json": b'{"a": [1, 2]}', "notes": "Gr\u00fc\u00dfe\n".encode(), "empty": b""}
    files = {"extra": zipped({**records, **{f"{folder}/extra/{each}": data for each, data in texts.items()}})}
    assert passes(program, tmp_path, files) == ["extra"]
    assert passes(program, tmp_path, {"bytes": zipped({**records, f"{folder}/extra/x": bytes(range(256))})}) == []


# --- drawn pickles, against Python's own unpickler ---


class Stub:
    """In the place of everything that a pickle names: it is called, built and filled, and tells what was asked for."""

    def __init__(self, *_, **__):
        pass

    __call__ = append = extend = add = update = __setitem__ = __setstate__ = __init__


def named_by(data: bytes) -> tuple[set[str], bool]:
    """What a pickle asks its unpickler for until it fails or ends, and whether it ends."""
    names = set()

    class Unpickler(pickle.Unpickler):
        def find_class(self, module, what):
            names.add(f"{module}.{what}")
            return {"OrderedDict": collections.OrderedDict}.get(what, type(what, (Stub,), {}))

        def persistent_load(self, _):
            return None

    try:
        Unpickler(io.BytesIO(data)).load()
    except Exception:
        return names, False
    return names, True


def drawn_pickle(chance: random.Random) -> bytes:
    """Opcodes at random, of those that find their operands on the stack; the names are known and unknown ones."""
    words = ["os", "system", "torch._utils", "_rebuild_tensor_v2", "collections", "OrderedDict", "torch", "device", "cpu", "_rebuild_tensor_v2.__globals__"]
    out, depth, marks, memo = bytearray(b"\x80\x04" if chance.random() < 0.7 else b""), 0, [], set()
    for _ in range(chance.randrange(4, 40)):
        choice = chance.randrange(20)
        if choice < 4:
            out += text(chance.choice(words))
            depth += 1
        elif choice == 4 and depth >= 2:
            out += b"\x93"
            depth -= 1
        elif choice == 5:
            out += name(*chance.choice([("torch", "device"), ("collections", "OrderedDict"), ("torch._utils", "_rebuild_tensor_v2"), ("os", "system")]))
            depth += 1
        elif choice == 6 and depth:
            place = chance.choice([len(memo), chance.randrange(6)])
            out += chance.choice([b"\x94", b"q" + bytes([place]), b"p%d\n" % place, b"p0%d\n" % place])
            memo.add(place)
        elif choice == 7 and memo:
            place = chance.choice([*memo, chance.randrange(6)])
            out += chance.choice([b"h" + bytes([place]), b"g%d\n" % place, b"g00%d\n" % place, b"j" + place.to_bytes(4, "little")])
            depth += 1
        elif choice == 8 and depth:
            out += b"\x85"
        elif choice == 9 and depth >= 2:
            out += chance.choice([b"R", b"\x81", b"\x86"])
            depth -= 1
        elif choice == 10:
            out += chance.choice([b")", b"]", b"}", b"N", b"K\x05", b"\x8f"])
            depth += 1
        elif choice == 11:
            out += b"("
            marks.append(depth)
        elif choice == 12 and marks and depth >= marks[-1]:
            depth = marks.pop() + 1
            out += chance.choice([b"t", b"l"])
        elif choice == 13 and depth:
            out += b"0"
            depth -= 1
        elif choice == 14 and depth:
            out += b"2"
            depth += 1
        elif choice == 15 and depth >= 2:
            out += chance.choice([b"b", b"a"])
            depth -= 1
        elif choice == 16 and marks:
            out += b"1"
            depth = marks.pop()
    while depth > 1 and not marks:
        out += b"\x86"
        depth -= 1
    return bytes(out) + b"."


@pytest.mark.parametrize("seed", tiers.in_turn([0], range(40)))
def test_drawn_pickles(program, tmp_path, seed):
    """What holds names nothing but what torch takes, however its memo and its stack were used."""
    from torch._weights_only_unpickler import _get_allowed_globals

    chance = random.Random(seed)
    files = {}
    while len(files) < 500:
        data = drawn_pickle(chance)
        names, is_whole = named_by(data)
        # Of the many that end early only some.
        if is_whole or chance.random() < 0.05:
            files[data.hex()] = data
    held = passes(program, tmp_path, files)
    assert len(held) > 5
    for each in held:
        names, _ = named_by(files[each])
        assert names <= {*_get_allowed_globals()}, (files[each], names)
