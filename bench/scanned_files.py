#!/usr/bin/env python3
"""Makes the files that bench/scanners.py has scanned: `scanned_files.py FOLDER` writes them and files.json, which says of each what it is.

Malicious ones are those of the tests, by what they do, and some of other kinds that stand here.  They run `true`, or nothing that ends;
nothing here loads them.  Benign ones are those of tests/python/benign_files.py.  Files of torch's legacy format hold addresses, so two
runs differ in a few bytes; nothing is drawn without a seed.
"""

import json
import pathlib
import re
import sys
import time
import unittest.mock
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "python")]

import benign_files  # noqa: E402  (these stand in tests/python)
import hostile  # noqa: E402
import test_security as tests  # noqa: E402
from hostile import EMPTY_DICT, EMPTY_LIST, MARK, PROTO, STOP, dict_of, name, number, tensor, text, tuple_of  # noqa: E402

File = tuple[str, str, bytes]  # what it does, its name, what is in it

# The tests' pickles by what they do; each is a file (.pkl) and the pickle of an archive of torch.save (.pt).
WAYS = {
    "Pickle: calls `os.system`, in each protocol": [
        "a call", "without a protocol", "of text", "of protocol 3", "of protocol 5", "in a frame", "cut off",
    ],
    "Pickle: the name comes from the stack, with escapes or from the memo": [
        "a name from the stack", "a name with escapes", "a memo with zeros", "a memo with a sign", "a memo that is counted",
    ],
    "Pickle: a path through a function or class that is allowed": [
        "a path through a known function", "a path through a rebuild", "a path through a class",
    ],
    "Pickle: calls by INST, OBJ, NEWOBJ, NEWOBJ_EX": ["INST", "OBJ", "NEWOBJ", "NEWOBJ_EX"],
    "Pickle: changes a class or function by BUILD": ["attributes of a class", "attributes of a function"],
    "Pickle: names of `copyreg`'s extension registry": ["an extension", "a long extension"],
    "Pickle: calls, fills or extends what it made": ["what it made is called", "what it made is appended to", "what it made is filled"],
    "Pickle: persistent modules and names": ["a persistent module", "a persistent name"],
    "Pickle: begins like another format": ["begins as GGUF", "begins as a flatbuffer"],
    "Pickle: behind a harmless one, each of torch's legacy format": [
        "behind a harmless one", "number 1 of the legacy format", "number 2 of the legacy format", "number 3 of the legacy format",
        "number 4 of the legacy format", "in place of the legacy number", "behind a legacy number from a memo",
    ],
}  # fmt: skip
MOST = 40  # benign files of a kind
ALLOCATES = "Pickle: allocates gigabytes, from 50 bytes"
HUGE = number(6_000_000_000)


def pickled(what: str, label: str, pickle: bytes, records: dict[str, bytes] | None = None) -> Iterator[File]:
    if records is None:
        yield what, f"{label}.pkl", pickle
    yield (
        what,
        f"{label}.pt",
        tests.zipped({"archive/data.pkl": pickle, "archive/byteorder": b"little", **(records or {}), "archive/version": b"3\n"}),
    )


def pickles() -> Iterator[File]:
    row_of = {way: row for row, ways in WAYS.items() for way in ways} | {"memory": ALLOCATES}
    for way, pickle in tests.PICKLES.items():
        yield from pickled(row_of.get(way, f"Pickle: {way}"), way, pickle)
    large = name("builtins", "bytearray"), name("torch.storage", "UntypedStorage")
    size = name("torch", "Size")
    for maker, called in zip(("bytearray", "storage"), large):
        calls = {
            "REDUCE": called + HUGE + b"\x85R", "OBJ": MARK + called + HUGE + b"o", "NEWOBJ": called + HUGE + b"\x85\x81",
            "NEWOBJ_EX": called + HUGE + b"\x85" + EMPTY_DICT + b"\x92",
        }  # fmt: skip
        if maker == "bytearray":
            calls |= {
                "INST": MARK + HUGE + b"ibuiltins\nbytearray\n", "list": called + EMPTY_LIST + MARK + HUGE + b"eR",
                "Size": called + size + tuple_of(tuple_of(HUGE)) + b"RR",
            }  # fmt: skip
        for way, call in calls.items():
            yield from pickled(ALLOCATES, f"{maker} by {way}", (b"\x80\x04" if way == "NEWOBJ_EX" else PROTO) + call + STOP)


def places() -> Iterator[File]:
    """One call in all places that some reader unpickles."""
    for what, data in tests.planted({"a call": tests.PICKLES["a call"]}):
        place = what.removeprefix("a call, ")
        if tests.is_inert(what) or place in ("the file", "in torch.save's archive"):
            continue
        kind = re.sub(r"^(?:new in|within|before|outside of the folder of) ", "", place).split(":")[0]
        if place.startswith("before "):
            row = "Archive: a pickle before it, in the same file"
        elif re.search(r"(\.pkl|\.pt|_pkl|opaque_obj_0|custom_obj_\d+)$", place) or place.startswith("outside"):
            row = f"Archive: the call in each pickle of {kind.removesuffix(' with constants')}"
        else:
            continue
        suffix = "pt2" if kind.startswith("exported") or kind == "old layout" else "pt"
        yield row, f"{place}.{suffix}", data


def save_file(pickle: bytes, records: dict[str, bytes]) -> bytes:
    return tests.zipped(
        {"a/data.pkl": pickle, "a/byteorder": b"little", **{f"a/data/{key}": data for key, data in records.items()}, "a/version": b"3\n"}
    )


def storages() -> Iterator[File]:
    """Storages that no record holds, or another one than readers in Python take."""
    row, ones, large = "Tensors: storages that no record has, by case, NUL or at all: memory is read", b"\0\0\x80?" * 4, 200_000
    for label, key in {"case": "A", "NUL": "a\0z", "missing": "77"}.items():
        two = {"y": tensor((4,), (1,), record="a"), "x": tensor((large,), (1,), record=key, elements=large)}
        yield row, f"save {label}.pt", save_file(PROTO + dict_of(two) + STOP, {"a": ones})
        inner = save_file(PROTO + tuple_of(*two.values()) + STOP, {"a": ones})
        records = dict(tests.archives()["exported with constants"])
        folder = next(iter(records)).split("/")[0]
        config = next(each for each in records if each.endswith("_constants_config.json"))
        document = json.loads(records[config])
        document["config"]["_co"] = {"path_name": "custom_obj_0", "is_param": False, "use_pickle": True, "tensor_meta": None}
        yield (
            row,
            f"custom object {label}.pt2",
            tests.zipped({**records, config: json.dumps(document).encode(), f"{folder}/data/constants/custom_obj_0": inner}),
        )


def long_tensor(record: str, *sizes: int) -> bytes:
    elements = 1
    for size in sizes:
        elements *= size
    return tensor(sizes, tuple(sizes[1:]) + (1,), record=record, elements=elements, storage="LongStorage")


def indices() -> Iterator[File]:
    """Sparse tensors whose indices lie terabytes behind their values."""
    row, far = "Tensors: sparse indices out of bounds: memory is written", 1 << 40

    def layout(kind: str) -> bytes:
        return name("torch.serialization", "_get_layout") + tuple_of(text(f"torch.sparse_{kind}")) + b"R"

    def numbers(*values: int) -> bytes:
        return b"".join(value.to_bytes(8, "little") for value in values)

    def sparse(kind: str, *parts: bytes) -> bytes:
        return PROTO + dict_of({"x": name("torch._utils", "_rebuild_sparse_tensor") + tuple_of(layout(kind), tuple_of(*parts)) + b"R"}) + STOP

    value = tensor((1,), (1,), record="v", elements=1)
    coo = sparse("coo", long_tensor("i", 1, 1), value, tuple_of(number(1)))
    yield row, "coo.pt", save_file(coo, {"v": b"\0\0\x80?", "i": numbers(far)})
    two = tensor((2,), (1,), record="v", elements=2)
    for kind in ("csr", "csc"):
        pickle = sparse(kind, long_tensor("c", 3), long_tensor("j", 2), two, tuple_of(number(2), number(2)))
        yield row, f"{kind}.pt", save_file(pickle, {"v": b"\0\0\x80?" * 2, "c": numbers(0, far, 2), "j": numbers(0, 1)})
    blocks = tensor((2, 1, 1), (1, 1, 1), record="v", elements=2)
    for kind in ("bsr", "bsc"):
        pickle = sparse(kind, long_tensor("c", 3), long_tensor("j", 2), blocks, tuple_of(number(2), number(2)))
        yield row, f"{kind}.pt", save_file(pickle, {"v": b"\0\0\x80?" * 2, "c": numbers(0, 1, 2), "j": numbers(far, 1)})


# --- torch.export ---


def program_rows() -> Iterator[File]:
    """The tests' hostile texts, some places of each, and changed programs."""
    bombs_of_texts = ("a bomb", "a bomb of symbols", "a shift")
    hostile_texts = [file for file in tests.hostile_programs("exported_dimensions.pt2", tests.HOSTILE_TEXTS) if not tests.does_pass(file[0])]
    for number_, (what, data) in enumerate(hostile_texts):
        if number_ % 16 == 0:
            way = what.split(": ")[1]
            evaluated = "Program: a text that torch evaluates, imports or writes into code"
            row = "Program: a text that keeps sympy busy" if way in bombs_of_texts else evaluated
            yield row, f"{number_} {way}.pt2", data
    rows = {
        "in_spec": "Program: enums and factories of the tree of inputs",
        "a node's target": "Program: an operator that is none, or that touches files or memory",
        "an argument": "Program: such an operator as an argument", "a guard": "Program: code in a guard",
    }  # fmt: skip
    records = tests.records_of(tests.SAMPLES / "exported_dimensions.pt2")
    record = next(each for each in records if each.endswith(".json") and "models/" in each)
    for number_, (what, change) in enumerate(tests.node_changes()):
        program = json.loads(records[record])
        change(program)
        if what.startswith("an argument") and number_ % 8 != 0:  # of which the targets are those of the nodes
            continue
        row = rows.get(what.split(": ")[0], "Program: code in a name or symbol")
        yield row, f"{number_} {what[:60]}.pt2", tests.zipped({**records, record: json.dumps(program).encode()})
        if number_ % 10 == 0:
            first = json.dumps(program)[:-1] + ", " + records[record].decode().lstrip()[1:]
            yield "Program: hidden by a second field of the same name", f"{number_} hidden.pt2", tests.zipped({**records, record: first.encode()})


def configured() -> Iterator[File]:
    rows = {"pickled": "Program: a configuration that has weights unpickled", "zeros": "Program: weights of terabytes, from no bytes",
            "constant": "Program: constants that are unpickled", "compiled": "Program: sources and libraries of AOTInductor"}  # fmt: skip
    for what, data in tests.configurations().items():
        yield rows.get(what.split()[0], f"Program: {what}"), f"{what}.pt2".replace("/", "_"), data
    records = dict(tests.archives()["exported with constants"])
    folder = next(iter(records)).split("/")[0]
    config = next(each for each in records if each.endswith("_constants_config.json"))
    document = json.loads(records[config])
    meta = next(iter(document["config"].values()))["tensor_meta"]
    flags = json.dumps({"compiler": 'sh -c "true" #', "compile_only": True, "cflags": [], "definitions": [], "include_dirs": [], "ldflags": []})
    for label, sources in {
        "source": {"tensor_1.cpp": '#include <cstdlib>\nstatic int a = std::system("true");\n', "tensor_1_compile_flags.json": flags},
        "wrapper": {"tensor_1.wrapper.cpp": "int a;\n", "tensor_1_linker_flags.json": flags, "tensor_1_metadata.json": '{"AOTI_DEVICE_KEY": "cpu"}'},
        "library": {"tensor_1.so": "\x7fELF"},
    }.items():
        changed = json.loads(json.dumps(document))
        for each, content in sources.items():
            sizes = {"dtype": 1, "sizes": [{"as_int": len(content)}], "strides": [{"as_int": 1}]}
            changed["config"][each] = {"path_name": each, "is_param": False, "use_pickle": False, "tensor_meta": {**meta, **sizes}}
        added = {f"{folder}/data/constants/{each}": content.encode() for each, content in sources.items()}
        yield (
            "Program: sources and libraries of AOTInductor as constants",
            f"{label}.pt2",
            tests.zipped({**records, config: json.dumps(changed).encode(), **added}),
        )


class StringInput(benign_files.nn.Module):
    def forward(self, x, mode: str, more: dict[str, str], *, last: str = ""):
        return x * 2 if mode == "MODE" and more["a"] == "MORE" and last == "LAST" else x


class DictInput(benign_files.nn.Module):
    def forward(self, d: dict):
        return d["KEY"] * 2 + d["b"]


def guards() -> Iterator[File]:
    """Texts that torch writes into the source of the guards of inputs, put into a program in the place of harmless ones."""
    export, ones = benign_files.torch.export, benign_files.torch.ones(3, 2)
    evil = "' #\n, '')\n__import__('os').system('true')\ndef _(*args):\n  1 #"
    texts = export.export(StringInput(), (ones, "MODE", {"a": "MORE"}), {"last": "LAST"})
    rows = {"MODE": "input", "MORE": "text in a dict", "LAST": "keyword"}
    for word, what in rows.items():
        yield "Program: a text as an input, which becomes code of a guard", f"{what}.pt2", rewritten(benign_files.export_saved(texts), word, evil)
    some = {0: export.Dim.AUTO}
    program = export.export(DictInput(), ({"KEY": ones, "b": ones + 1},), dynamic_shapes=({"KEY": some, "b": some},))
    key = '"+str(__import__("os").system("true"))+"'
    yield "Program: a key of a dict of inputs, which becomes code of a guard", "key.pt2", rewritten(benign_files.export_saved(program), "KEY", key)


def rewritten(data: bytes, word: str, new: str) -> bytes:
    """The program with one text instead of another: in its JSON, in the tree of inputs, which is JSON in JSON, and in the sample inputs."""
    records = tests.records_of(benign_files.io.BytesIO(data))
    record = next(each for each in records if each.endswith("models/model.json"))
    inputs = next(each for each in records if each.endswith("sample_inputs/model.pt"))
    program = json.loads(records[record])

    def changed(value):
        if isinstance(value, dict):
            return {each: changed(item) for each, item in value.items()}
        if isinstance(value, list):
            return [changed(item) for item in value]
        if value == word:
            return new
        if isinstance(value, str) and value.startswith("[1, {"):  # a tree, whose contexts are JSON again
            return value.replace(f'\\"{word}\\"', json.dumps(json.dumps(new))[1:-1])
        return value

    program["graph_module"] = changed(program["graph_module"])
    assert program["graph_module"] != json.loads(records[record])["graph_module"], word
    given = tests.records_of(benign_files.io.BytesIO(records[inputs]))
    given = {each: part.replace(text(word), text(new)) for each, part in given.items()}
    return tests.zipped({**records, record: json.dumps(program).encode(), inputs: tests.zipped(given)})


def symbols() -> Iterator[File]:
    """Sizes that are arithmetic as torch writes it, and that sympy needs minutes or gigabytes for."""
    s77 = "Symbol('s77', positive=True, integer=True)"
    many = [f"Symbol('a{i}', integer=True)" for i in range(24)]
    records = tests.records_of(tests.SAMPLES / "exported_dimensions.pt2")
    record = next(each for each in records if each.endswith(".json") and "models/" in each)
    found = re.findall(r'"expr_str": "((?:[^"\\]|\\.)*)"', records[record].decode())
    for label, expression in {
        "precision": f"{s77}*Float('0.1', precision=2000000000)",
        "maximum": f"Max({s77}, {', '.join(f'{s77}*{s77}*{a}+{b}' for a, b in zip(many, reversed(many)))})",
        "power": f"Abs(({'+'.join(many)})**9*({'-'.join(many)})**9)",
        "floor": f"FloorDiv(({'+'.join(many)})**12, ({'+'.join(many[:12])})**6)",
        "exponents": f"exp(exp(exp(exp({s77}*Integer(99)))))",
    }.items():
        yield (
            "Program: sizes that keep sympy busy",
            f"{label}.pt2",
            tests.zipped({**records, record: records[record].replace(found[0].encode(), expression.encode())}),
        )


# --- TorchScript ---


def code() -> Iterator[File]:
    for what, call in tests.CALLS.items():
        yield "TorchScript: operators on files, raw memory or other processes", f"{what}.pt", tests.script(forward=call)
    for what, state in tests.STATES.items():
        yield "TorchScript: a `__setstate__` that loops, allocates or calls: it runs when loaded", f"{what}.pt", tests.script(state=state)
    for case in hostile.code_that_is_carried_out():
        if case.name.endswith("_writes"):
            yield "TorchScript: defaults and constants that call a function: it runs when loaded", f"{case.name}.pt", case.make()
    for what, call in {
        "__func__": "y = ops.aten.__func__(x)", "import_module": 'ops.aten.import_module("os")', "load_library": 'ops.load_library("x.so")',
        "loaded_libraries": "y = ops.loaded_libraries(x)", "dunder": "y = ops.aten.__class__(x)",
    }.items():  # fmt: skip
        yield "TorchScript: names of operators that reach into Python", f"{what}.pt", tests.script(forward=call)


def bombs() -> Iterator[File]:
    for case in hostile.damaged_containers():
        if case.name in ("bomb_code", "bomb_data", "bomb_data_numbers", "bomb_debug"):
            yield "Archive: records that grow a hundredfold and more", f"{case.name}.pt", case.make()


def malicious() -> Iterator[File]:
    for group in (pickles, places, storages, indices, code, bombs, configured, program_rows, guards, symbols):
        yield from group()


@unittest.mock.patch("time.localtime", lambda *_: time.gmtime(315_532_800))  # zipfile's date of a record: 1980
def main() -> int:
    folder = pathlib.Path(sys.argv[1])
    table: dict[str, dict[str, str]] = {}

    def write(name_: str, data: bytes, **facts: str) -> None:
        # The files of a checkpoint lie in one folder.
        path = name_ if "benign" in facts else re.sub(r"[^\w.]+", "_", name_).strip("_")
        assert path not in table, path
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_bytes(data)
        table[path] = facts

    rows: dict[str, int] = {}
    for what, label, data in malicious():
        place = rows.setdefault(what, len(rows))
        write(f"evil_{place}_{label}", data, malicious=what)
    for function in benign_files.FUNCTIONS:
        made = list(benign_files.files(function))
        is_whole = any("/" in label for label, _ in made)  # the metadata of a checkpoint names files beside it
        for label, data in made[:: 1 if is_whole else len(made) // (MOST + 1) + 1]:
            write(label, data, benign=function.__name__)
    (folder / "files.json").write_text(json.dumps(table, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
