#!/usr/bin/env python3
"""Writes tests/fuzz/corpus, what the fuzzers start from, out of sample_models and recorded runs: a few hundred kilobytes
of models become some 100 KB.

make_corpus.py      from the root of the project, with a Python that has torch
"""

import io
import json
import pathlib
import random
import re
import shutil
import sqlite3
import struct
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "python"))
import golden  # noqa: E402

SAMPLES = ROOT / "sample_models"
FIXTURES = ROOT / "tests" / "fixtures" / "files"
CORPUS = ROOT / "tests" / "fuzz" / "corpus"


def write(target: str, name: str, data: bytes | str) -> None:
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data.encode() if isinstance(data, str) else data)


def compact(value) -> str:
    return json.dumps(value, separators=(",", ":")) + "\n"


def record(path: pathlib.Path, end: str) -> bytes:
    with zipfile.ZipFile(path) as zipped:
        return zipped.read(next(name for name in zipped.namelist() if name.endswith(end)))


def shortened(value, key=""):
    """Without what the reader does not look at, and with one line of each stack trace, whose file has no folder."""
    if isinstance(value, dict):
        return {k: shortened(v, k) for k, v in value.items() if k not in {"torch_fn", "from_node", "source_fn_stack"}}
    if isinstance(value, list):
        return [shortened(item) for item in value]
    if isinstance(value, str) and key == "stack_trace":
        return re.sub(r'File "/[^"]*/', 'File "', "\n".join(value.splitlines()[-2:]))
    return value


def exported(path: pathlib.Path, options: dict) -> dict:
    everything = {"program": shortened(json.loads(record(path, "models/model.json")))}
    for kind in ("weights", "constants"):
        everything[kind] = json.loads(record(path, f"data/{kind}/model_{kind}_config.json"))
    return everything | {"options": options}


def export_layers(folder: pathlib.Path):
    """Programs of layers that have attributes to be told, and costs."""
    import torch
    from torch import nn

    class Layers(nn.Module):
        def __init__(self, layers):
            super().__init__()
            self.layers = nn.ModuleList(layers)

        def forward(self, x):
            for layer in self.layers:
                x = layer(x, x, x, need_weights=False)[0] if isinstance(layer, nn.MultiheadAttention) else layer(x)
                x = x[0] if isinstance(x, tuple) else x
            return x

    image, text = torch.randn(2, 4, 8, 8), torch.randn(2, 5, 8)
    kinds = {
        "convolutions": (
            [nn.Conv2d(4, 8, 3, padding=1, groups=2), nn.BatchNorm2d(8), nn.MaxPool2d(2), nn.ConvTranspose2d(8, 4, 2, stride=2)],
            image,
        ),
        "pools": (
            [nn.AvgPool2d(2), nn.Upsample(scale_factor=2), nn.PixelShuffle(2), nn.GroupNorm(1, 1), nn.AdaptiveAvgPool2d(2),
             nn.Flatten()],
            image,
        ),
        "recurrent": ([nn.LSTM(8, 8, batch_first=True), nn.LayerNorm(8), nn.GRU(8, 4, bidirectional=True)], text),
        "attention": ([nn.MultiheadAttention(8, 2, batch_first=True), nn.Softmax(-1)], text),
    }  # fmt: skip
    for name, (layers, x) in kinds.items():
        torch.manual_seed(0)
        path = folder / f"{name}.pt2"
        torch.export.save(torch.export.export(Layers(layers).eval(), (x,)), path)
        yield name, path


def small_zip(records: dict[str, bytes], compression: int) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as zipped:
        for name, data in records.items():
            zipped.writestr(zipfile.ZipInfo(name), data, compression)
    return out.getvalue()


def compiled_model(path: pathlib.Path, name: str) -> bytes:
    """What an archive says of one model that AOTInductor compiled; of the generated code the lines that are read."""
    records = {}
    with zipfile.ZipFile(path) as zipped:
        for of in zipped.namelist():
            data = zipped.read(of)
            if of.endswith(".cpp"):
                data = b"".join(line + b"\n" for line in data.splitlines() if b"_info_[" in line)
            if f"/{name}/" in of or of.endswith("/archive_format"):
                records[of] = data
    return small_zip(records, zipfile.ZIP_STORED)


def write_files() -> None:
    for name in ("torchscript_rezipped.pt", "tensor.pt", "package.pt", "legacy_state_dict.pt"):
        write("file_kind", name, (FIXTURES / name).read_bytes())
    write("file_kind", "compiled.pt2", compiled_model(FIXTURES.parent / "torch_2_14" / "compiled.pt2", "small"))
    write("file_kind", "flatbuffer.ptl", (FIXTURES / "flatbuffer.ptl").read_bytes()[:64])
    inner = small_zip({"w/data.pkl": b"\x80\x02}.", "w/data/0": b"\0" * 16}, zipfile.ZIP_STORED)
    program = {"m/archive_format": b"pt2", "m/models/model.json": b"{}", "m/data/weights/model.pt": inner}
    write("file_kind", "exported.pt2", small_zip(program, zipfile.ZIP_STORED))
    write("file_kind", "deflated.zip", small_zip({"a/b": b"b" * 100, "a/inner.zip": inner}, zipfile.ZIP_DEFLATED))
    write("file_kind", "safetensors", struct.pack("<Q", 16) + b'{"__metadata__":{}}')
    write("file_kind", "pointer", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
    for name in ("state_dict.pt", "module.pt", "checkpoint.pt", "lite.ptl"):
        write("pickle", pathlib.Path(name).stem, record(FIXTURES / name, "data.pkl"))
    write("pickle", "legacy", (FIXTURES / "legacy_module.pt").read_bytes())
    write("pickle", "scripted", record(SAMPLES / "structures.pt", "data.pkl"))
    for name in ("state_dict.pt", "module.pt"):
        write("security", pathlib.Path(name).stem, record(FIXTURES / name, "data.pkl"))
    write("security", "legacy", (FIXTURES / "legacy_state_dict.pt").read_bytes())
    write("security", "size", "Add(Mul(Integer(2), Symbol('s77', positive=True, integer=True)), Pow(Symbol('s1'), Integer(2)))")
    write("security", "guard", "not (2 <= L['x'][0].y.size()[1] + math.floor(s0/2) % 8 == L['z'].stride()[0])")
    write("security", "tree", r'[1, {"type": "builtins.tuple", "context": "null", "children_spec": [{"type": null, "context": null, "children_spec": []}, {"type": "builtins.dict", "context": "[\"a\"]", "children_spec": [{"type": null, "context": null, "children_spec": []}]}]}]')
    write("security", "target", "torch.ops.aten.add.Tensor")
    write("security", "program", record(SAMPLES / "exported_several.pt2", "models/encoder.json"))
    for name in ("state_dict.pt", "checkpoint.pt", "tensor.pt"):
        write("state_dict", pathlib.Path(name).stem, record(FIXTURES / name, "data.pkl"))
    with zipfile.ZipFile(SAMPLES / "exported_old_layout.pt2") as zipped:
        for name in ("serialized_state_dict.pt", "serialized_constants.pt"):
            with zipfile.ZipFile(io.BytesIO(zipped.read(name))) as saved:
                data = saved.read(next(entry for entry in saved.namelist() if entry.endswith("data.pkl")))
                write("state_dict", pathlib.Path(name).stem, data)


def write_objects() -> None:
    """Data of archives whose classes the fuzzer makes up (targets/objects.cpp), and each form of a value by itself."""
    sys.path.insert(0, str(ROOT / "tests" / "python"))
    import hostile
    from hostile import EMPTY_TUPLE, name, number, text, tuple_of

    for sample in ("attributes", "quantized", "structures"):
        write("objects", sample, record(SAMPLES / f"{sample}.pt", "data.pkl"))
    hooks = name("collections", "OrderedDict") + EMPTY_TUPLE + b"R"
    half = b"G" + struct.pack(">d", 0.5)
    stored = tuple_of(text("storage"), name("torch", "QInt8Storage"), text("0"), text("cpu"), number(16)) + b"Q"
    scales = hostile.tensor((4,), (1,), 0, "1")
    quantized = [tuple_of(name("torch", "per_tensor_affine"), half, number(3)), tuple_of(name("torch", "per_channel_affine"), scales, scales, number(0))]
    indices = hostile.tensor((1, 2), (2, 1), 0, "0", 2, "LongStorage")
    values = {
        "views": tuple_of(hostile.tensor((2, 3), (3, 1), 1, "0", 16), hostile.tensor((3, 2), (1, 3), 2, "0", 16, "IntStorage")),
        "devices": tuple_of(hostile.tensor((9, 9), (9, 1), 0, "7", 81, "HalfStorage", "meta"), hostile.tensor((4,), (0,), 3, "1", 4, "FloatStorage", "npu:1")),
        "quantized_tensors": tuple_of(*(name("torch._utils", "_rebuild_qtensor") + tuple_of(stored, number(0), tuple_of(number(4)), tuple_of(number(1)), q, b"\x88", hooks) + b"R" for q in quantized)),
        "sparse": name("torch._utils", "_rebuild_sparse_tensor") + tuple_of(number(1), tuple_of(number(9)), b"\x89", indices, hostile.tensor((2,), (1,))) + b"R",
        "parameter": name("torch._utils", "_rebuild_parameter") + tuple_of(hostile.tensor((2,), (1,)), b"\x88", hooks) + b"R",
        "tags": name("torch.jit._pickle", "restore_type_tag") + tuple_of(hostile.dict_of({"a": number(1)}), text("Dict[str, List[int]]")) + b"R",
        "lists": tuple_of(*(name("torch.jit._pickle", f"build_{kind}list") + b"](" + item + b"e\x85R" for kind, item in (("int", number(2**40)), ("double", half), ("bool", b"\x88")))),
        "others": tuple_of(name("torch", "device") + text("cuda:0") + b"\x85R", name("builtins", "complex") + half + half + b"\x86R", name("__torch__", "Color") + number(2) + b"R"),
        "packed": name("__torch__.torch.classes.q", "Packed") + EMPTY_TUPLE + b"\x81" + tuple_of(hostile.tensor((4,), (1,)), hostile.NONE) + b"b",
        "module": hostile.module("__torch__.Net", {"training": b"\x89", "weight": hostile.tensor((2, 2), (2, 1)), "bias": b"N"}),
    }  # fmt: skip
    for kind, value in values.items():
        write("objects", kind, hostile.PROTO + value + hostile.STOP)


def write_script() -> None:
    """Code files, each as the one of its archive, and what people write by hand."""
    for sample in ("containers", "fork_wait", "hooks", "interfaces", "loops", "script_classes", "structures"):
        with zipfile.ZipFile(SAMPLES / f"{sample}.pt") as zipped:
            names = [name for name in zipped.namelist() if "/code/__torch__/nets/" in name and name.endswith(".py")]
            code = b"".join(zipped.read(name) for name in names)
        write("script", sample, re.sub(rb"__torch__(\.\w+)+\.(\w+)", rb"__torch__.\2", code))
    for path in sorted((ROOT / "tests" / "script_code").glob("*.py")):
        write("script", path.stem, path.read_bytes())


def flat(path: pathlib.Path) -> tuple[bytes, bytes]:
    """Code and data.pkl of an archive, with all its classes and functions in one file."""
    with zipfile.ZipFile(path) as zipped:
        files = {name: zipped.read(name).decode() for name in zipped.namelist() if name.endswith(".py")}
        data = next(zipped.read(name) for name in zipped.namelist() if name.endswith("/data.pkl"))
    names = {}
    for file, code in files.items():
        space = file.partition("/code/")[2][:-3].replace("/", ".")
        number = re.search(r"___torch_mangle_(\d+)", space)
        for name in re.findall(r"^(?:class|def) (\w+)", code, re.MULTILINE):
            names[f"{space}.{name}"] = name + ("_" + number[1] if number else "")
    known = re.compile(r"(?:" + "|".join(map(re.escape, sorted(names, key=len, reverse=True))) + r")\b")
    texts = []
    for file, code in sorted(files.items()):
        space = file.partition("/code/")[2][:-3].replace("/", ".")
        code = re.sub(r"^(class|def) (\w+)", lambda found, at=space: f"{found[1]} {names[f'{at}.{found[2]}']}", code, flags=re.MULTILINE)
        texts.append(known.sub(lambda found: "__torch__." + names[found[0]], code))
    for full, name in names.items():
        space, _, last = full.rpartition(".")
        data = data.replace(f"c{space}\n{last}\n".encode(), f"c__torch__\n{name}\n".encode())
    return "".join(texts).encode(), data


def write_trace() -> None:
    """Whole archives, traced with some options (targets/trace.cpp)."""
    options = {
        "attributes": {},
        "constants_scripted": {"input": {"x": "float32[2,4]"}},
        "containers": {"default_leaves": False},
        "fork_wait": {"max_depth": 1},
        "guards": {"input": {"x": "float32[n,4]"}},
        "hooks": {"hooks": "skip"},
        "interfaces": {"input": {"x": "float32[2,4]"}},
        "loops": {"control_flow": "subgraph", "input": {"x": "float32[n,4]"}},
        "methods": {"method": "encode"},
        "raising": {"control_flow": "subgraph"},
        "script_classes": {"default_leaves": False},
        "structures": {"pass": ["functional"]},
    }
    for name, chosen in options.items():
        code, data = flat(SAMPLES / f"{name}.pt")
        write("trace", name, b"#" + compact(chosen).encode() + code + b"\n---\n" + data)
    sys.path.insert(0, str(ROOT / "tests" / "python"))
    import hostile

    code = hostile.FORWARD + "    return torch.add(x, CONSTANTS.c0)\n"
    constants = hostile.PROTO + hostile.tuple_of(hostile.tensor((2, 2), (2, 1))) + hostile.STOP
    data = hostile.PROTO + hostile.module(hostile.NET, {}) + hostile.STOP
    write("trace", "constants", b"\n---\n".join((code.encode(), data, constants)))


def write_programs() -> None:
    options = {
        "exported_report": {},
        "exported_while_loop": {"default_leaves": False},
        "exported_dimensions_unbacked": {},
        "exported_objects": {"leaf": ["**Linear"]},
        "exported_callbacks": {"max_depth": 1},
        "exported_vmap": {"no_leaf": ["torch.nn.*"]},
    }
    for name, chosen in options.items():
        write("exported", name + ".json", compact(exported(SAMPLES / f"{name}.pt2", chosen)))
    with tempfile.TemporaryDirectory() as folder:
        for name, path in export_layers(pathlib.Path(folder)):
            write("exported", name + ".json", compact(exported(path, {})))
    write("exported", "program.json", compact(shortened(json.loads(record(SAMPLES / "exported_report.pt2", "model.json")))))
    specs, sizes = set(), set()

    def look(value, key=""):
        if isinstance(value, dict):
            for k, v in value.items():
                look(v, k)
        elif isinstance(value, list):
            for item in value:
                look(item, key)
        elif isinstance(value, str):
            if key in {"in_spec", "out_spec"} and value:
                specs.add(value)
            if key == "expr_str" or value.startswith(("Symbol(", "Add(", "Mul(")):
                sizes.add(value)

    for path in sorted(SAMPLES.glob("*.pt2")):
        with zipfile.ZipFile(path) as zipped:
            for name in zipped.namelist():
                if name.endswith(".json"):
                    look(json.loads(zipped.read(name)))
    for number, spec in enumerate(sorted(specs, key=lambda text: (len(text), text))[::4]):
        write("tree_spec", f"spec_{number}.json", spec)
    for number, size in enumerate(sorted(sizes, key=lambda text: (len(text), text))[::3]):
        write("sympy", f"size_{number}", size)
    write("sympy", "python", "2 <= s77 and max(1, (s0 + 1)//2) % 8 != 3*s0**2")
    write("sympy", "guard", "x.dim() == 2 or isinstance(mode, str) and mode == 'mean' and not a[0].shape[-1] > 1e-3")


def write_collections() -> None:
    """corpus/questions is a link to them."""
    cases = (
        "json_exported_cond",
        "json_exported_report",
        "json_exported_vmap",
        "json_exported_while_loop",
        "json_guards",
        "json_inplace_scripted",
        "json_raising",
        "json_optional_input",
        "json_script_classes",
    )
    for case in cases:
        write("collection", case.removeprefix("json_") + ".json", compact(json.loads(golden.Case.read(case).stdout)))


def write_calls() -> None:
    # What bytes stand for depends on the table of operators: any will do.
    for number in range(4):
        write("operator_call", f"random_{number}", random.Random(number).randbytes(100))


def write_texts() -> None:
    for number, text in enumerate(
        (
            "torch.nn.*.Linear\ntorch.nn.modules.Linear\ntorch.nn.Linear",
            "**.b\na.b\nb\nab",
            "a.**.b?[!c-e]*\na.x.y.b1f2",
            "[*][a-]\n*-",
            "h\xe9*\nh\xe9ad",
        )
    ):
        write("glob", f"glob_{number}", text)
    for number, text in enumerate(
        ("torch.nn.Linear\n!@encoder.*", "nets.Block@encoder.0\n@**.linear", "=torch.nn.functional.*\n*", "@h\xe9ad")
    ):
        write("leaf_rule", f"rules_{number}", text)
    for number, text in enumerate(
        (
            "x=float32[1,3,224,224]",
            "x=float32[batch,seq*2+1]\nmask=int64[max(1,batch//8*8),seq%3]\nbatch=1..64\nseq=..512",
            "past.0.k=float16[n,(n+1)//2]@cuda:0\nn=8..",
            "seq\nint64[]\nseq=4",
        )
    ):
        write("input_spec", f"specs_{number}", text)
    for number, value in enumerate(
        (
            {
                "method": "encode",
                "rules": [
                    {"type": "nets.*", "where": {"depth": {">=": 2}, "heads": 8}, "leaf": True},
                    {"path": "encoder.*", "leaf": False},
                ],
                "leaf": ["torch.nn.Linear"],
                "input": {"x": "float32[batch,3]"},
                "dim": {"batch": "1..64"},
                "concrete": {"mask": None, "sizes": [1, "$PH", {"a": 1.5}]},
                "pass": ["functional"],
            },
            {"max_depth": 2, "hooks": "skip", "control_flow": "subgraph", "defaults": "never"},
        )
    ):
        write("config", f"config_{number}.json", compact(value))
    for path in sorted((ROOT / "tests" / "golden" / "inputs").glob("*.json")):
        if path.stat().st_size < 2000:
            write("config", path.name, path.read_bytes())


class Pipe(io.BytesIO):
    def tell(self) -> int:
        raise OSError("a pipe has no position")


def write_archives_and_databases() -> None:
    records = {"m/data.pkl": b"\x80\x02N.", "m/version": b"3\n", "m/code/a.py": b"x = 1\n" * 20}
    write("zip_archive", "stored.zip", small_zip(records, zipfile.ZIP_STORED))
    write("zip_archive", "deflated.zip", small_zip(records, zipfile.ZIP_DEFLATED))
    streamed = Pipe()  # sizes stand behind each record
    with zipfile.ZipFile(streamed, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, data in records.items():
            with zipped.open(name, "w", force_zip64=name.endswith("pkl")) as record_of_it:
                record_of_it.write(data)
    write("zip_archive", "streamed.zip", streamed.getvalue())
    write("zip_archive", "torch.zip", (FIXTURES / "tensor.pt").read_bytes())
    rules = [
        {"no_failed": True, "name": "all", "message": "trace them"},
        {"max_params": "25M", "severity": "warning"},
        {"max_peak": "64MiB"},
        {"deny": ["aten.item.*", "torch.nn.*"]},
        {"ops": ["aten.add", "*.relu"]},
        {"ops_file": "ops.txt"},
        {"require": "torch.nn.Linear followed-by *.dequantize*|output"},
        {"require": "no aten.dropout.* within @encoder.**"},
        {"security": True},
    ]
    write("rules", "rules.json", compact({"rules": rules}))
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "models.sqlite"
        with sqlite3.connect(path) as database:
            database.execute("PRAGMA page_size = 512")
            database.execute("CREATE TABLE files (path TEXT, bytes INTEGER)")
            database.execute("CREATE VIEW models AS SELECT path, bytes * 2 AS twice FROM files ORDER BY path")
            database.executemany("INSERT INTO files VALUES (?, ?)", [(f"m{i}.pt", i * 1000) for i in range(20)])
        database.close()
        write("database", "models.sqlite", path.read_bytes())


def main() -> None:
    shutil.rmtree(CORPUS, ignore_errors=True)
    write_files()
    write_objects()
    write_script()
    write_trace()
    write_programs()
    write_collections()
    write_calls()
    write_texts()
    write_archives_and_databases()


if __name__ == "__main__":
    main()
