"""Makes damaged and hostile TorchScript archives, by name.

Run as a program it writes them all into a folder: python hostile.py FOLDER
"""

import io
import os
import pathlib
import random
import re
import struct
import sys
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SAMPLE = os.path.join(ROOT, "sample_models", "nested_scripted.pt")
STATEFUL_SAMPLE = os.path.join(ROOT, "sample_models", "quantized.pt")


@dataclass
class Case:
    name: str
    make: Callable[[], bytes]
    # "error": exit 3; "usage": exit 2; "traced": exit 0 without failures; "any": exit 0 or 3; "any or usage": exit 0,
    # 2 or 3; "shown": exit 0 of a command that traces nothing; else the kind of a failure in the collection.
    expect: str
    options: tuple[str, ...] = ()
    says: tuple[str, ...] = ()  # what stderr must name
    command: str = "trace"


# --- pickles, opcode by opcode ---

PROTO, STOP = b"\x80\x02", b"."
NONE, TRUE, EMPTY_TUPLE, EMPTY_LIST, EMPTY_DICT, MARK = b"N", b"\x88", b")", b"]", b"}", b"("


def text(value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return b"X" + struct.pack("<I", len(data)) + data


def number(value: int) -> bytes:
    if 0 <= value < 256:
        return b"K" + bytes([value])
    if -(1 << 31) <= value < 1 << 31:
        return b"J" + struct.pack("<i", value)
    size = max(8, (value.bit_length() + 8) // 8)  # LibTorch reads eight bytes
    return b"\x8a" + bytes([size]) + value.to_bytes(size, "little", signed=True)


def name(module: str, what: str) -> bytes:
    return b"c" + f"{module}\n{what}\n".encode()


def tuple_of(*items: bytes) -> bytes:
    return MARK + b"".join(items) + b"t"


def dict_of(items: dict[str, bytes]) -> bytes:
    return EMPTY_DICT + MARK + b"".join(text(key) + value for key, value in items.items()) + b"u"


def module(type_name: str, attributes: dict[str, bytes], memo: int | None = None) -> bytes:
    package, _, class_name = type_name.rpartition(".")
    made = name(package, class_name) + EMPTY_TUPLE + b"\x81"
    if memo is not None:
        made += b"q" + bytes([memo])
    return made + dict_of(attributes) + b"b"


def tensor(
    sizes: tuple,
    strides: tuple,
    offset: int = 0,
    record: str = "0",
    elements: int = 4,
    storage: str = "FloatStorage",
    device: str = "cpu",
) -> bytes:
    persistent = tuple_of(
        text("storage"), name("torch", storage), text(record), text(device), number(elements)
    )
    hooks = name("collections", "OrderedDict") + EMPTY_TUPLE + b"R"
    return (
        name("torch._utils", "_rebuild_tensor_v2")
        + tuple_of(
            persistent + b"Q",
            number(offset),
            tuple_of(*map(number, sizes)),
            tuple_of(*map(number, strides)),
            b"\x89",
            hooks,
        )
        + b"R"
    )


# --- archives ---

NET = "__torch__.Net"
FORWARD = "class Net(Module):\n  def forward(self: __torch__.Net,\n    x: Tensor) -> Tensor:\n"


def archive(records: dict[str, bytes | str], compression: int = zipfile.ZIP_STORED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as zipped:
        for record, data in records.items():
            zipped.writestr(f"m/{record}", data)
    return out.getvalue()


def records_of(code: str | bytes = "", data: bytes | None = None) -> dict[str, bytes | str]:
    """An archive of one class `Net`."""
    return {
        "data.pkl": PROTO + (module(NET, {}) if data is None else data) + STOP,
        "constants.pkl": PROTO + EMPTY_TUPLE + STOP,
        "code/__torch__.py": code or FORWARD + "    return x\n",
        "version": "3\n",
        "byteorder": "little",
    }


def code_case(code: str | bytes, data: bytes | None = None) -> Callable[[], bytes]:
    return lambda: archive(records_of(code, data))


def body_case(body: str, before: str = "") -> Callable[[], bytes]:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return code_case(FORWARD + lines + before)


def attribute_case(value: bytes, annotation: str = "Tensor") -> Callable[[], bytes]:
    code = FORWARD.replace("(Module):\n", f"(Module):\n  __parameters__ = []\n  value : {annotation}\n")
    records = records_of(code + "    value = self.value\n    return x\n", module(NET, {"value": value}))
    return lambda: archive(records | {"data/0": b"\0" * 16})


def tensor_case(**fields) -> Callable[[], bytes]:
    return attribute_case(tensor(**fields))


def sample_records(path: str = SAMPLE) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as zipped:
        return {entry.partition("/")[2]: zipped.read(entry) for entry in zipped.namelist()}


def without(part: str) -> bytes:
    return archive({record: data for record, data in sample_records().items() if record != part})


def replaced(record: str, data: bytes) -> bytes:
    records = sample_records()
    assert record in records
    return archive(records | {record: data})


# --- the cases ---


def deep_modules(levels: int) -> bytes:
    code, data = [], b""
    for level in range(levels):
        child = f"  a : __torch__.M{level - 1}\n" if level else ""
        call = "(self.a).forward(x, )" if level else "torch.relu(x)"
        code.append(
            f"class M{level}(Module):\n  __parameters__ = []\n  __buffers__ = []\n{child}"
            f"  def forward(self: __torch__.M{level},\n    x: Tensor) -> Tensor:\n    return {call}\n"
        )
    opening = b"".join(
        name("__torch__", f"M{level}") + EMPTY_TUPLE + b"\x81" + EMPTY_DICT + MARK + (text("a") if level else b"")
        for level in reversed(range(levels))
    )
    data = opening + b"ub" * levels
    return archive(records_of("".join(code), data))


def doubling_modules(levels: int, submodules: bool) -> bytes:
    """Each level calls the one below twice; one object each."""
    code, data = [], b""
    for level in range(levels):
        child = f"  a : __torch__.M{level - 1}\n" if level else ""
        if not level:
            body = "    return torch.relu(x)\n" if submodules else "    return x\n"
        else:
            body = "    y = (self.a).forward(x, )\n    return (self.a).forward(y, )\n"
        code.append(
            f"class M{level}(Module):\n  __parameters__ = []\n  __buffers__ = []\n{child}"
            f"  def forward(self: __torch__.M{level},\n    x: Tensor) -> Tensor:\n{body}"
        )
        data = module(f"__torch__.M{level}", {"a": data} if level else {})
    return archive(records_of("".join(code), data))


def doubling_functions(levels: int, argument: str = "Tensor") -> bytes:
    code = [f"def f0(x: {argument}) -> {argument}:\n  return x\n"]
    for level in range(1, levels):
        below = f"__torch__.f{level - 1}"
        code.append(f"def f{level}(x: {argument}) -> {argument}:\n  y = {below}(x, )\n  return {below}(y, )\n")
    value = "x" if argument == "Tensor" else "1"
    forward = FORWARD + f"    _0 = __torch__.f{levels - 1}({value}, )\n    return x\n"
    return archive(records_of("".join(code) + forward))


def wide_functions(levels: int, width: int) -> bytes:
    """width**levels additions."""
    code = ["def f0(x: Tensor) -> Tensor:\n" + "  x = torch.add(x, x)\n" * width + "  return x\n"]
    for level in range(1, levels):
        code.append(f"def f{level}(x: Tensor) -> Tensor:\n" + f"  x = __torch__.f{level - 1}(x, )\n" * width + "  return x\n")
    return archive(records_of("".join(code) + FORWARD + f"    return __torch__.f{levels - 1}(x, )\n"))


def many_modules(count: int, body: str, before: str = "") -> bytes:
    """Each has a class of its own, and a graph of its own where `before` lets the root fail."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    code = "".join(
        f"class M{i}(Module):\n  def forward(self: __torch__.M{i},\n    x: Tensor) -> Tensor:\n{lines}" for i in range(count)
    )
    children = "".join(f"  m{i} : __torch__.M{i}\n" for i in range(count))
    calls = before + "".join(f"    x = (self.m{i}).forward(x, )\n" for i in range(count))
    forward = FORWARD.replace("(Module):\n", f"(Module):\n{children}") + calls + "    return x\n"
    data = module(NET, {f"m{i}": module(f"__torch__.M{i}", {}) for i in range(count)})
    return archive(records_of(code + forward, data))


def shared_doubling_list(levels: int) -> bytes:
    """[[..], [..]] where both halves are one object: 2**levels elements to whoever walks them."""
    data = EMPTY_LIST + b"q\x00"
    for level in range(levels):
        get, put = b"h" + bytes([level]), b"q" + bytes([level + 1])
        data += EMPTY_LIST + put + MARK + get + get + b"e"
    return data


def alias_tree(levels: int) -> bytes:
    """Modules with two attributes of the same submodule, level by level."""
    code, data = [], b""
    for level in range(levels):
        child = f"  a : __torch__.M{level - 1}\n  b : __torch__.M{level - 1}\n" if level else ""
        code.append(
            f"class M{level}(Module):\n  __parameters__ = []\n  __buffers__ = []\n{child}"
            f"  def forward(self: __torch__.M{level},\n    x: Tensor) -> Tensor:\n    return x\n"
        )
        memo = b"h" + bytes([level - 1]) if level else b""
        data = module(f"__torch__.M{level}", {"a": data, "b": memo} if level else {}) + b"q" + bytes([level])
    return archive(records_of("".join(code), data))


def own_submodule() -> bytes:
    code = (
        "class Net(Module):\n  __parameters__ = []\n  __buffers__ = []\n  a : __torch__.Net\n"
        "  def forward(self: __torch__.Net,\n    x: Tensor) -> Tensor:\n    return x\n"
    )
    return archive(records_of(code, module(NET, {"a": b"h\x00"}, memo=0)))


def mutual_submodules() -> bytes:
    code = ""
    for own, other in (("Net", "Other"), ("Other", "Net")):
        code += (
            f"class {own}(Module):\n  __parameters__ = []\n  __buffers__ = []\n  a : __torch__.{other}\n"
            f"  def forward(self: __torch__.{own},\n    x: Tensor) -> Tensor:\n    return (self.a).forward(x, )\n"
        )
    inner = module("__torch__.Other", {"a": b"h\x00"})
    return archive(records_of(code, module(NET, {"a": inner}, memo=0)))


def set_state(body: str) -> bytes:
    code = (
        FORWARD.replace("(Module):\n", "(Module):\n  __parameters__ = []\n  __buffers__ = []\n  a : int\n")
        + "    return x\n"
        + "  def __setstate__(self: __torch__.Net,\n    state: int) -> NoneType:\n"
        + "".join(f"    {line}\n" for line in body.splitlines())
        + "    self.a = state\n    return None\n"
        + "  def __getstate__(self: __torch__.Net) -> int:\n    return 1\n"
    )
    data = name("__torch__", "Net") + EMPTY_TUPLE + b"\x81" + number(1) + b"b"
    return archive(records_of(code, data))


def many_set_state(objects: int) -> bytes:
    """Every object's __setstate__ runs up to the limit."""
    code = (
        "class Net(Module):\n  __parameters__ = []\n  __buffers__ = []\n"
        + "".join(f"  a{i} : __torch__.Sub\n" for i in range(objects))
        + "  def forward(self: __torch__.Net,\n    x: Tensor) -> Tensor:\n    return x\n"
        + "class Sub(Module):\n  __parameters__ = []\n  __buffers__ = []\n  a : int\n"
        + "  def __setstate__(self: __torch__.Sub,\n    state: int) -> NoneType:\n"
        + "    while True:\n      y = torch.add(state, 1)\n    self.a = state\n    return None\n"
        + "  def __getstate__(self: __torch__.Sub) -> int:\n    return 1\n"
    )
    sub = name("__torch__", "Sub") + EMPTY_TUPLE + b"\x81" + number(1) + b"b"
    return archive(records_of(code, module(NET, {f"a{i}": sub for i in range(objects)})))


def claimed_size(record: str, size: int) -> bytes:
    """The central directory says that an (uncompressed) record is larger than it is."""
    data = bytearray(archive(sample_records()))
    at = data.index(b"PK\x01\x02")
    wanted = f"m/{record}".encode()
    while data[at : at + 4] == b"PK\x01\x02":
        name_size, extra, comment = struct.unpack_from("<HHH", data, at + 28)
        if data[at + 46 : at + 46 + name_size] == wanted:
            struct.pack_into("<II", data, at + 20, size, size)
            local = struct.unpack_from("<I", data, at + 42)[0]
            struct.pack_into("<II", data, local + 18, size, size)
            return bytes(data)
        at += 46 + name_size + extra + comment
    raise KeyError(record)


def duplicate_names() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as zipped:
        for _ in range(2):
            for record, data in sample_records().items():
                zipped._didModify = True
                zipped.NameToInfo.pop(f"m/{record}", None)
                zipped.writestr(f"m/{record}", data)
    return out.getvalue()


def bomb(record: str, byte: bytes, size: int) -> bytes:
    records = records_of()
    data = records[record]
    data = data if isinstance(data, bytes) else data.encode()
    return archive(records | {record: data + byte * size}, zipfile.ZIP_DEFLATED)


def bad_debug(data: bytes) -> bytes:
    return replaced("code/__torch__/nets/nested.py.debug_pkl", data)


def nested(opening: str, inner: str, closing: str, count: int) -> str:
    return opening * count + inner + closing * count


def crafted_pickles() -> Iterator[Case]:
    def data(content: bytes) -> Callable[[], bytes]:
        return lambda: archive(records_of(data=content))

    yield Case("pickle_lists", data(EMPTY_LIST * 300_000 + b"a" * 299_999), "error")
    yield Case("pickle_lists_in_attribute", attribute_case(EMPTY_LIST * 300_000 + b"a" * 299_999), "any")
    yield Case("pickle_tuples", data(EMPTY_TUPLE + b"\x85" * 300_000), "error")
    yield Case("pickle_tuples_in_attribute", attribute_case(EMPTY_TUPLE + b"\x85" * 300_000, "Any"), "any")
    yield Case("pickle_dicts", data((EMPTY_DICT + text("a")) * 300_000 + NONE + b"s" * 300_000), "error")
    yield Case("pickle_marks", data(MARK * 3_000_000), "error")
    yield Case("pickle_in_constants", lambda: archive(
        records_of() | {"constants.pkl": PROTO + EMPTY_TUPLE + b"\x85" * 300_000 + STOP}), "any")
    for index in (0xFFFFFFFF, 0x7FFFFFFF, 0x10000000):
        put = b"r" + struct.pack("<I", index)
        yield Case(f"memo_put_{index:x}", data(EMPTY_LIST + put), "error")
        yield Case(f"memo_put_in_constants_{index:x}", lambda put=put: archive(
            records_of() | {"constants.pkl": PROTO + EMPTY_TUPLE + put + STOP}), "error")
    yield Case("memo_get", data(b"j" + b"\xff" * 4), "error")
    yield Case("unicode_length", data(b"X\xff\xff\xff\xff" + b"a" * 50), "error")
    yield Case("unicode_8_length", data(b"\x8d" + b"\xff" * 8 + b"a"), "error")
    yield Case("bytes_length", data(b"B\xff\xff\xff\x7f" + b"a"), "error")
    yield Case("long_length", data(b"\x8a\xff" + b"\x01" * 20), "error")
    yield Case("long_4_length", data(b"\x8b\xff\xff\xff\x7f" + b"\x01" * 20), "error")
    yield Case("long_too_long", attribute_case(b"\x8a\x20" + b"\x7f" * 32, "int"), "error")
    yield Case("list_of_itself", attribute_case(EMPTY_LIST + b"q\x00h\x00a", "Any"), "any")
    yield Case("list_of_itself_typed", attribute_case(EMPTY_LIST + b"q\x00h\x00a", "List[List[int]]"), "any")
    yield Case("list_of_itself_root", data(EMPTY_LIST + b"q\x00h\x00a"), "error")
    yield Case("dict_of_itself", attribute_case(EMPTY_DICT + b"q\x00" + text("a") + b"h\x00s", "Any"), "any")
    yield Case("shared_halves", attribute_case(shared_doubling_list(60), "Any"), "any")
    yield Case("constant_of_itself", lambda: archive(records_of(FORWARD + "    y = CONSTANTS.c0\n    return x\n") | {
        "constants.pkl": PROTO + tuple_of(EMPTY_LIST + b"q\x00h\x00a") + STOP}), "any")
    for label, value in (("none", NONE), ("number", number(7)), ("dict", EMPTY_DICT), ("empty", b"")):
        yield Case(f"root_is_{label}", data(value), "error")
    yield Case("pops_nothing", data(b"abtuR\x85"), "error")
    yield Case("unknown_class", data(module("__torch__.Missing", {})), "error")
    yield Case("unknown_function", data(name("os", "system") + tuple_of(text("true")) + b"R"), "error")
    yield Case("missing_attributes", code_case(
        FORWARD.replace("(Module):\n", "(Module):\n  a : Tensor\n") + "    return self.a\n"), "error")
    yield Case("other_attribute_type", attribute_case(text("not a tensor")), "any")
    yield Case("root_class_is_no_module", code_case("class Net:\n  def forward(self: __torch__.Net,\n    x: Tensor) -> Tensor:\n    return x\n"), "any")
    for label, value in (("quote", "a\"b"), ("newline", "a\nb"), ("dots", "..a.."), ("nul", "a\0b")):
        yield Case(f"attribute_name_{label}", data(module(NET, {value: NONE})), "any")
    yield Case("attribute_name_not_utf8", data(
        name("__torch__", "Net") + EMPTY_TUPLE + b"\x81" + EMPTY_DICT + text(b"\xff\xfe") + NONE + b"sb"), "any")
    yield Case("attribute_text_not_utf8", attribute_case(text(b"\xff\xfe\x00\"\n"), "str"), "any")
    yield Case("class_name_not_utf8", data(b"c__torch__\n\xff\xfe\n)\x81}b"), "error")
    yield Case("cyclic_module", own_submodule, "any")
    yield Case("cyclic_modules", mutual_submodules, "any")
    # Not more: what LibTorch does with such types while loading doubles with every level.
    yield Case("aliases", lambda: alias_tree(12), "traced")
    yield Case("deep_modules", lambda: deep_modules(2_000), "any")


def with_constants(*constants: bytes, record: bytes = b"\0" * 16) -> Callable[[], bytes]:
    code = FORWARD + "".join(f"    x = torch.add(x, CONSTANTS.c{i})\n" for i in range(len(constants))) + "    return x\n"
    content = {"constants.pkl": PROTO + tuple_of(*constants) + STOP, "constants/0": record}
    return lambda: archive(records_of(code) | content, zipfile.ZIP_DEFLATED)


def on_meta(offset: int = 0) -> bytes:
    return tensor((4,), (1,), offset, device="meta")


def long_lines(entries: int, length: int) -> bytes:
    """Positions that all stand in one line of Python."""
    pieces = name("torch.jit._pickle", "build_intlist") + tuple_of(EMPTY_LIST + MARK + number(1) + b"e") + b"R"
    source = tuple_of(pieces, number(0), number(1)) + b"q\x01"
    first = tuple_of(number(0), tuple_of(source, number(0), number(1)), NONE)
    rest = (tuple_of(number(i), tuple_of(b"h\x01", number(0), number(1)), NONE) for i in range(1, entries))
    strings = tuple_of(text("net.py"), text("a" * length))
    table = tuple_of(text("FORMAT_WITH_STRING_TABLE"), strings, tuple_of(first, *rest))
    code = FORWARD + "    return torch.relu(x)\n"  # positions are looked up when a node asks
    return archive(records_of(code) | {"code/__torch__.py.debug_pkl": PROTO + table + STOP})


def long_names(levels: int, length: int) -> bytes:
    code = f"class N{levels}(Module):\n  def forward(self: __torch__.N{levels}, x: Tensor) -> Tensor:\n    return x\n"
    data = module(f"__torch__.N{levels}", {})
    for level in reversed(range(levels)):
        attribute = f"a{level}_" + "a" * length
        code += f"class N{level}(Module):\n  {attribute} : __torch__.N{level + 1}\n"
        code += f"  def forward(self: __torch__.N{level}, x: Tensor) -> Tensor:\n    return x\n"
        data = module(f"__torch__.N{level}", {attribute: data})
    return archive(records_of(code, data))


def compressed_constants(opcode: bytes, count: int) -> Callable[[], bytes]:
    return lambda: archive(records_of() | {"constants.pkl": PROTO + MARK + opcode * count + b"t" + STOP}, zipfile.ZIP_DEFLATED)


def more_than_the_file_says() -> Iterator[Case]:
    """Before: another tensor's memory in the result, and gigabytes."""
    two = ("on two devices",)
    yield Case("meta_then_cpu", with_constants(on_meta(), tensor((4,), (1,), 4)), "error", says=two)
    yield Case("cpu_then_meta", with_constants(tensor((4,), (1,)), on_meta(4)), "error", says=two)
    yield Case("meta_far", with_constants(on_meta(), tensor((2,), (1,), 1 << 36)), "error", says=two)
    yield Case("constant_on_meta", with_constants(on_meta()), "error", says=("device meta",))
    yield Case("attribute_on_meta", attribute_case(on_meta(1 << 36)), "any")
    yield Case("attributes_on_meta", attribute_case(EMPTY_LIST + MARK + on_meta() + on_meta(9) + b"e", "List[Tensor]"), "any")
    grows = ("its records grow to more than 32 times",)
    yield Case("bomb_constant", with_constants(tensor((4,), (1,)), record=bytes(100 << 20)), "error", says=grows)
    yield Case("bomb_code_files", lambda: archive(
        records_of() | {f"code/a{i}.py": "\n" * (8 << 20) for i in range(20)}, zipfile.ZIP_DEFLATED), "error", says=grows)
    yield Case("long_lines", lambda: long_lines(4_000, 1 << 20), "traced")
    yield Case("long_names", lambda: long_names(240, 40_000), "error", says=("qualified names",))
    for label, opcode in (("none", NONE), ("list", EMPTY_LIST), ("dict", EMPTY_DICT), ("tuple", EMPTY_TUPLE), ("mark", MARK)):
        yield Case(f"compressed_{label}", compressed_constants(opcode, 12 << 20), "error", says=("values of more than 32 MB",))
    yield Case("many_opcodes", lambda: archive(
        records_of() | {"constants.pkl": PROTO + NONE * (64 << 20) + STOP}), "error")


def crafted_tensors() -> Iterator[Case]:
    yield Case("tensor_sound", tensor_case(sizes=(2, 2), strides=(2, 1)), "traced")
    yield Case("tensor_larger_than_storage", tensor_case(sizes=(2, 1000), strides=(1000, 1)), "any")
    yield Case("storage_larger_than_record", tensor_case(sizes=(1 << 30,), strides=(1,), elements=1 << 30), "any")
    yield Case("storage_endless", tensor_case(sizes=(1,), strides=(1,), elements=(1 << 63) - 1), "any")
    yield Case("storage_negative", tensor_case(sizes=(1,), strides=(1,), elements=-4), "any")
    yield Case("storage_missing", tensor_case(sizes=(1,), strides=(1,), record="9"), "error")
    yield Case("storage_record_outside", tensor_case(sizes=(1,), strides=(1,), record="../version"), "error")
    yield Case("storage_unknown_dtype", tensor_case(sizes=(1,), strides=(1,), storage="NoStorage"), "error")
    yield Case("size_negative", tensor_case(sizes=(-2, 2), strides=(2, 1)), "any")
    yield Case("stride_negative", tensor_case(sizes=(2, 2), strides=(-2, 1)), "any")
    yield Case("offset_negative", tensor_case(sizes=(2,), strides=(1,), offset=-1), "any")
    yield Case("offset_huge", tensor_case(sizes=(2,), strides=(1,), offset=(1 << 62)), "any")
    yield Case("sizes_huge", tensor_case(sizes=(1 << 31, 1 << 31, 1 << 31), strides=(0, 0, 0)), "any")
    yield Case("sizes_huge_one", tensor_case(sizes=((1 << 63) - 1,), strides=(0,)), "any")
    yield Case("sizes_many", tensor_case(sizes=(1,) * 100_000, strides=(1,) * 100_000), "any")
    yield Case("strides_missing", tensor_case(sizes=(2, 2), strides=()), "any")
    for label, fields in (("overlap", {"sizes": (1 << 40,), "strides": (0,)}), ("past", {"sizes": (64,), "strides": (8,)}),
                          ("negative", {"sizes": (4,), "strides": (-1,)}), ("offset", {"sizes": (4,), "strides": (1,), "offset": 3})):
        pickle = PROTO + tuple_of(tensor(**fields)) + STOP
        yield Case(f"constant_{label}", lambda pickle=pickle: archive(
            records_of(FORWARD + "    return torch.add(x, CONSTANTS.c0)\n")
            | {"constants.pkl": pickle, "constants/0": b"\0" * 16}), "any")


def crafted_code() -> Iterator[Case]:
    deep = 200_000
    many = range(40_000)  # what compares them one with another takes many seconds
    members = "".join(f"  a{i} = {i}\n" for i in many)
    uses = "".join(f"    y = __torch__.E.a{i}\n" for i in many)
    yield Case("code_enum_members", code_case(f"class E(Enum):\n{members}{FORWARD}{uses}    return x\n"), "traced")
    constants = FORWARD.replace("(Module):\n", "(Module):\n" + "".join(f"  a{i} : Final[int] = 1\n" for i in many))
    uses = "".join(f"    y = self.a{i}\n" for i in many)
    yield Case("code_class_constants", code_case(f"{constants}{uses}    return x\n"), "traced")
    attributes = FORWARD.replace("(Module):\n", "(Module):\n" + "".join(f"  a{i} : int\n" for i in many)) + "    return x\n"
    yield Case("code_class_attributes", code_case(attributes, module(NET, {f"a{i}": number(1) for i in many})), "traced")
    hooks = "".join(f'"h{i}", ' for i in many)
    hooked = FORWARD.replace("(Module):\n", f"(Module):\n  __forward_hooks__ = [{hooks}]\n") + "    return x\n" + "".join(
        f"  def h{i}(self: __torch__.Net, a: Tuple[Tensor], b: Tensor) -> Tensor:\n    return b\n" for i in many)
    yield Case("code_class_hooks", code_case(hooked), "any")
    parameters, keywords = "".join(f"a{i}: int=1, " for i in many), "".join(f"a{i}=1, " for i in reversed(many))
    called = f"def f({parameters}) -> int:\n  return a0\n{FORWARD}    y = __torch__.f({keywords})\n    return x\n"
    yield Case("code_keywords", code_case(called), "traced")
    defaults = called.replace(keywords, "").replace("    y =", "    y = __torch__.f()\n" * 10_000 + "    y =")
    yield Case("code_defaults", code_case(defaults), "other")
    yield Case("code_parentheses", body_case("return " + nested("(", "x", ")", deep)), "any")
    yield Case("code_calls", body_case("return " + nested("torch.neg(", "x", ")", 50_000)), "any")
    yield Case("code_lists", body_case("y = " + nested("[", "x", "]", deep) + "\nreturn x"), "any")
    yield Case("code_unary", body_case("y = " + "-" * deep + "1\nreturn x"), "any")
    yield Case("code_not", body_case("y = " + "not " * deep + "True\nreturn x"), "any")
    yield Case("code_sum", body_case("y = 1" + " + 1" * 50_000 + "\nreturn x"), "any")
    yield Case("code_attributes", body_case("return x" + ".a" * deep), "error")
    unknown = "y = ops.fxtrace_hostile.unknown(x)\n"  # calls are looked at
    yield Case("code_unknown_attributes", body_case(unknown + "return y" + ".a" * deep), "any")
    yield Case("code_unknown_methods", body_case(unknown + "return y" + ".a()" * 50_000), "any")
    yield Case("code_unknown_calls", body_case(unknown + "return " + nested("ops.fxtrace_hostile.unknown(", "x", ")", 900)), "any")
    yield Case("code_unknown_tuples", body_case(unknown + "return " + nested("(", "y", ",)", 900)), "any")
    yield Case("code_subscripts", body_case("return x" + "[0]" * 20_000), "any")
    yield Case("code_type", code_case(f"def f(x: {nested('List[', 'int', ']', 100_000)}) -> int:\n  return 1\n"
                                      + FORWARD + "    y = __torch__.f\n    return x\n"), "any")
    yield Case("code_ifs", body_case("".join("  " * i + "if True:\n" for i in range(1_000)) + "  " * 1_000 + "pass\nreturn x"), "any")
    yield Case("code_elifs", body_case("if True:\n  y = 1\n" + "elif True:\n  y = 1\n" * 20_000 + "else:\n  y = 1\nreturn x"), "any")
    yield Case("code_empty", code_case(b" "), "error")
    yield Case("code_binary", code_case(bytes(range(256)) * 20), "error")
    yield Case("code_not_utf8", body_case("y = \"\\xff\\xfe\"\nreturn x"), "any")
    yield Case("code_raw_not_utf8", code_case((FORWARD + "    y = \"@@\"\n    return x\n").encode().replace(b"@@", b"\xff\xfe")), "any")
    yield Case("code_unclosed", code_case("class Net(Module):\n  def forward(self: __torch__.Net"), "error")
    yield Case("no_forward", code_case("class Net(Module):\n  __parameters__ = []\n  __buffers__ = []\n"), "usage")
    yield Case("forward_without_arguments", code_case(
        "class Net(Module):\n  def forward(self: __torch__.Net) -> int:\n    return 1\n"), "any")
    yield Case("forward_without_self", code_case("class Net(Module):\n  def forward() -> int:\n    return 1\n"), "any")
    yield Case("forward_other_self", code_case("class Net(Module):\n  def forward(self: int, x: Tensor) -> Tensor:\n    return x\n"), "any")
    yield Case("unknown_operator", body_case("return ops.nowhere.thing(x, )"), "any")
    yield Case("unknown_aten", body_case("return torch.no_such_thing(x)"), "other")
    yield Case("unknown_attribute", body_case("return self.nothing"), "other")
    yield Case("unknown_name", body_case("return nothing"), "other")
    yield Case("unknown_constant", body_case("return CONSTANTS.c99"), "other")
    yield Case("unknown_type", code_case(FORWARD.replace("x: Tensor", "x: __torch__.No") + "    return x\n"), "error")
    yield Case("raise_text", body_case('ops.prim.RaiseException("a\\nb\\"c\\xff")\nreturn x'), "any")
    yield Case("import_itself", code_case(FORWARD + "    return (self).forward(x, )\n"), "any")
    yield Case("class_extends_itself", code_case("class Net(__torch__.Net):\n  def forward(self) -> int:\n    return 1\n"), "error")
    yield Case("type_of_itself", code_case("class Net(NamedTuple):\n  a : __torch__.Net\n"), "error")
    yield Case("alias_of_itself", code_case(FORWARD.replace("(Module):\n", "(Module):\n  a : List[__torch__.Net]\n") + "    return x\n",
                                            module(NET, {"a": EMPTY_LIST})), "any")


def endless_code() -> Iterator[Case]:
    yield Case("loop_while", body_case("while True:\n  y = 1\nreturn x"), "traced")
    yield Case("loop_for", body_case("y = 0\nfor i in range(9223372036854775806):\n  y = torch.add(y, i)\nreturn torch.add(x, y)"), "limit")
    yield Case("loop_records", body_case("y = x\nwhile True:\n  y = torch.relu(y)\nreturn y"), "limit")
    yield Case("loop_nested", body_case(
        "y = 0\nfor a in range(99999):\n  for b in range(99999):\n    y = torch.add(y, 1)\nreturn x"), "traced")
    yield Case("loop_range_list", body_case("y = [0]\nwhile True:\n  _0 = torch.append(y, 1)\nreturn x"), "limit")
    # Each copies what is known so far, to ask again whether it goes on.
    yield Case("loop_many", body_case("y = 0\n" + "while bool(x):\n  y = torch.add(y, 1)\n" * 2_000 + "return x"), "any")
    yield Case("appends", body_case("y = annotate(List[int], [])\n" + "_0 = torch.append(y, 1)\n" * 30_000 + "return x"), "traced")
    yield Case("list_repeat", body_case("y = torch.mul([1], 9000000000)\nreturn torch.add(x, torch.len(y))"), "any")
    yield Case("list_repeat_overflow", body_case("y = torch.mul([1, 2, 3], 9223372036854775807)\nreturn torch.add(x, torch.len(y))"), "any")
    yield Case("string_repeat", body_case('y = torch.mul("abcdefgh", 9000000000)\nreturn x'), "any")
    yield Case("string_width", body_case('y = torch.rjust("a", 90000000000)\nreturn torch.add(x, torch.len(y))'), "any")
    yield Case("string_doubling", body_case('y = "ab"\nfor i in range(60):\n  y = torch.add(y, y)\nreturn x'), "any")
    yield Case("list_doubling", body_case("y = [1]\nfor i in range(60):\n  y = torch.add(y, y)\nreturn x"), "any")
    yield Case("list_nesting", body_case(
        "y = annotate(List[Any], [])\nfor i in range(60):\n  y = annotate(List[Any], [y, y])\nreturn x"), "any")
    yield Case("list_tripling", body_case(
        "y = [x]\nfor i in range(60):\n  _0 = torch.extend(y, y)\nreturn torch.cat(y)"), "any")
    yield Case("integer_overflow", body_case("y = 3\nfor i in range(99):\n  y = torch.mul(y, y)\nreturn x"), "any")
    yield Case("division_by_zero", body_case("y = torch.floordiv(1, 0)\nreturn x"), "any")
    yield Case("division_overflow", body_case("y = torch.floordiv(-9223372036854775808, -1)\nreturn x"), "any")
    yield Case("remainder_overflow", body_case("y = torch.remainder(-9223372036854775808, -1)\nreturn x"), "any")
    yield Case("power", body_case("y = torch.pow(10, 400)\nreturn x"), "any")
    yield Case("shift", body_case("y = torch.__lshift__(1, 1000)\nreturn x"), "any")
    yield Case("make_huge_tensor", body_case(
        "y = torch.zeros([1000000, 1000000])\nreturn torch.add(x, y)"), "any")
    yield Case("list_index", body_case("y = torch.__getitem__([1, 2], 99)\nreturn x"), "any")
    yield Case("step_zero", body_case("y = torch.__range_length(0, 10, 0)\nreturn x"), "any")
    yield Case("slice_step_zero", body_case("y = torch.slice([1, 2], 0, 9, 0)\nreturn x"), "any")
    recursion = "def f(x: Tensor) -> Tensor:\n  return __torch__.f(x, )\n"
    yield Case("recursion_function", code_case(recursion + FORWARD + "    return __torch__.f(x, )\n"), "any")
    yield Case("recursion_method", code_case(FORWARD + "    return (self).forward(x, )\n"), "any")
    yield Case("doubling_functions", lambda: doubling_functions(40), "limit")
    yield Case("doubling_plain_functions", lambda: doubling_functions(40, "int"), "limit")
    yield Case("doubling_modules", lambda: doubling_modules(40, True), "any")
    yield Case("doubling_empty_modules", lambda: doubling_modules(40, False), "any")
    # What is done counts, not only steps: nodes, users of a value that a question looks at, what is tried with other options.
    asks = "for i in range(50000):\n  if torch.gt(torch.size(x, 0), i):\n    pass\n  else:\n    ops.prim.RaiseException(\"a\")\nreturn x"
    yield Case("guard_loop", body_case(asks), "error", says=("steps",))
    yield Case("wide_functions", lambda: wide_functions(8, 10), "limit")
    yield Case("wide_functions_asked_why", lambda: wide_functions(8, 10), "shown", command="why")
    adds = "for i in range(90000):\n  x = torch.add(x, i)\nreturn x"
    yield Case("modules_of_many_nodes", lambda: many_modules(60, adds), "error", says=("steps",))
    cat = "l = torch.mul([x], 100000)\nfor i in range(20):\n  x = torch.cat(l, 0)\nreturn x"
    yield Case("modules_of_long_lists", lambda: many_modules(60, cat), "error", says=("steps",))
    asks = "    if bool(torch.gt(torch.sum(x), 0)):\n      x = torch.neg(x)\n    else:\n      pass\n"
    yield Case("graphs_of_many_nodes", lambda: many_modules(3, adds.replace("90000", "80000"), asks), "error", says=("output is larger",))
    yield Case("setstate_endless", lambda: set_state("while True:\n  y = torch.add(state, 1)"), "any")
    yield Case("setstate_recursion", lambda: set_state("_0 = (self).__setstate__(state, )"), "any")
    yield Case("setstate_doubling", lambda: set_state('y = "ab"\nfor i in range(60):\n  y = torch.add(y, y)'), "any")
    yield Case("setstate_raises", lambda: set_state('ops.prim.RaiseException("no")'), "any")
    yield Case("setstate_many", lambda: many_set_state(1_000), "any")


LEAST = -(2**63)
EVIL = 'def evil(name: str) -> int:\n  ops.aten.save(torch.zeros([2]), name)\n  return 3\n'
ENDLESS = "def endless(n: int) -> int:\n  while True:\n    n = n + 1\n  return n\n"


def default_case(annotation: str, value: str, functions: str = "") -> Callable[[], bytes]:
    return code_case(FORWARD.replace("x: Tensor)", f"x: Tensor,\n    n: {annotation}={value})") + "    return x\n" + functions)


def constant_case(value: str, functions: str = "") -> Callable[[], bytes]:
    return code_case(FORWARD.replace("(Module):\n", f"(Module):\n  k : Final[int] = {value}\n") + "    return x\n" + functions)


def code_that_is_carried_out() -> Iterator[Case]:
    """What LibTorch computes while it loads, and what is computed while tracing."""
    made = '"/made-by-a-model"'
    yield Case("default_writes", default_case("int", f"__torch__.evil({made})", EVIL), "error", says=("expected a constant",))
    yield Case("default_computes", default_case("int", 'torch.len(torch.split("a b"))'), "error")
    yield Case("default_endless", default_case("int", "__torch__.endless(3)", ENDLESS), "error")
    yield Case("default_in_function", code_case(
        f"def f(n: int=__torch__.evil({made})) -> int:\n  return n\n" + EVIL + FORWARD + "    y = __torch__.f()\n    return x\n"), "other")
    yield Case("default_in_interface", code_case(
        f"class I(ModuleInterface):\n  def g(self, n: int=__torch__.evil({made})) -> int:\n    pass\n" + EVIL
        + FORWARD.replace("(Module):\n", "(Module):\n  i : __torch__.I\n") + "    return x\n"), "error")
    for label, annotation, value in (
            ("numbers", "Tuple[int, float]", "(-1, -2.5)"), ("list", "List[int]", "annotate(List[int], [])"), ("infinity", "float", "-inf"),
            ("text", "str", '"a\\"b"'), ("none", "Optional[int]", "None"), ("device", "Device", 'torch.device("cpu")'),
            ("dict", "Dict[str, int]", '{"a": 1}'), ("complex", "complex", "-1.+2.j"), ("sum", "int", "1 - 1")):
        yield Case(f"default_{label}", default_case(annotation, value), "traced")
    yield Case("constant_writes", constant_case(f"__torch__.evil({made})", EVIL), "error", says=("expected a constant",))
    for label, annotation in (("plain", "int"), ("optional", "Optional[int]"), ("none", ""), ("qualified", "typing.Fin" + "al[int]")):
        separator = " : " if annotation else ""
        head = FORWARD.replace("(Module):\n", f"(Module):\n  k{separator}{annotation} = __torch__.evil({made})\n")
        yield Case(f"constant_{label}_writes", code_case(head + "    return x\n" + EVIL), "any")
    tuple_code = f"class T(NamedTuple):\n  a : int = __torch__.evil({made})\n" + EVIL
    yield Case("named_tuple_writes", code_case(
        tuple_code + FORWARD.replace("x: Tensor)", "x: Tensor,\n    t: __torch__.T)") + "    return x\n"), "any")
    # What could hide a default value from whoever looks at text alone.
    for label, header in (
            ("text", f'x: ")", n: int=__torch__.evil({made})'), ("comment", f"x: Tensor, # )\n    n: int=__torch__.evil({made})"),
            ("default", f"x: Tensor, n: int = (\n    __torch__.evil({made}))"), ("tuple", f"x: Tuple[()], n: int=__torch__.evil({made})")):
        yield Case(f"default_behind_{label}", code_case(
            FORWARD.replace("x: Tensor)", header + ")") + "    return 1\n" + EVIL), "any")
    yield Case("constant_endless", constant_case("__torch__.endless(3)", ENDLESS), "error")
    yield Case("constant_number", constant_case("-3"), "traced")
    yield Case("import_without_end", code_case("import a"), "error")
    unknown = FORWARD + "    return ops.nowhere.thing(x, )\n"  # its calls are looked at first
    yield Case("import_without_end_elsewhere", lambda: archive(records_of(unknown) | {"code/other.py": "import a"}), "any")
    used = "return torch.add(x, y)"
    for label, call in (
            ("gcd", f"torch.gcd({LEAST}, -1)"), ("floordiv", f"torch.floordiv({LEAST}, -1)"), ("count", 'torch.count("abc", "")'),
            ("replace", 'torch.len(torch.replace("abc", "", "d"))'), ("split", 'torch.len(torch.split("abc", ""))'),
            ("shift", "torch.__lshift__(1, 64)"), ("width", f'torch.len(torch.ljust("a", {LEAST}))'),
            ("center", 'torch.len(torch.center("abc", -1))'), ("factorial", "torch.factorial(21)"), ("nan", "torch.Int(nan)"),
            ("range", f"torch.__range_length({LEAST}, {2**63 - 1}, 1)"), ("dtype", "torch.promote_types(999, -5)")):
        yield Case(f"plain_{label}", body_case(f"y = {call}\n{used}"), "any")
        # Not folded while loading: the arguments are elements of a list.
        unfolded = f"n = [torch.len([x]), -1]\ny = torch.add({call.replace('-1', 'n[1]')}, torch.sub(n[0], 1))\n{used}"
        yield Case(f"plain_{label}_later", body_case(unfolded), "any")
    yield Case("plain_sort_nan", body_case("y = [nan, 1., nan, 0.]\nz = torch.mul(y, 5000)\ntorch.sort(z)\nreturn torch.add(x, z[0])"), "unsupported_op")
    yield Case("plain_repeat_in_place", body_case(f"y = [1]\n_0 = torch.mul_(y, {2**62})\nreturn torch.add(x, torch.len(y))"), "any")
    yield Case("folded_doubling", body_case('y = "ab"\n' + "y = torch.add(y, y)\n" * 60 + "return torch.add(x, torch.len(y))"), "any")
    copies = "".join(f'z{i} = torch.add(y, "{i}")\nx = torch.add(x, torch.len(z{i}))\n' for i in range(500))
    yield Case("folded_copies", body_case('y = "ab"\n' + "y = torch.add(y, y)\n" * 20 + copies + "return x"), "any")
    search = 'y = torch.rjust("a", 4000000)\nz = torch.add(torch.rjust("a", 2000000), "b")\n'
    yield Case("search", body_case(search + "return torch.add(x, torch.find(y, z))"), "limit")
    nested_list = "y = annotate(List[Any], [])\nfor i in range(60):\n  y = annotate(List[Any], [y, y])\n"
    yield Case("shared_length", body_case(nested_list + "return torch.add(x, torch.len(y))"), "traced")
    yield Case("shared_text", body_case(nested_list + "return torch.add(x, torch.len(torch.str(y)))"), "limit")
    own = "y = annotate(List[Any], [x])\n_0 = torch.append(y, y)\n"
    yield Case("own_element", body_case(own + "return x"), "traced")
    yield Case("own_element_text", body_case(own + "return torch.add(x, torch.len(torch.str(y)))"), "limit")
    yield Case("own_element_result", code_case(FORWARD.replace("-> Tensor:", "-> List[Any]:") + "    " + own.replace("\n", "\n    ") + "return y\n"), "any")
    long = "y = torch.mul([1], 4000000)\n"
    # One budget for the whole trace: what each turn does is within the limits.
    for label, turn, result in (
            ("kept", "_0 = torch.append(k, torch.mul([1], 4000000))", "torch.len(k)"), ("sum", "n = torch.add(n, torch.sum(y))", "n"),
            ("contains", "if torch.__contains__(y, 7):\n    n = 3\n  else:\n    pass", "n"),
            ("arguments", "x = torch.reshape(x, y)", "n"), ("pop", "n = torch.pop(y, 0)", "n")):
        start = "k = annotate(List[List[int]], [])\nn = 0\n" + long
        yield Case(f"budget_{label}", body_case(f"{start}for i in range(99999):\n  {turn}\nreturn torch.add(x, {result})"), "error", says=("steps",))


def damaged_containers() -> Iterator[Case]:
    with open(SAMPLE, "rb") as file:
        sample = file.read()
    for part in range(16):
        yield Case(f"truncated_{part}", lambda part=part: sample[: len(sample) * part // 16], "error")
    for part in ("constants.pkl", "data.pkl", "code/__torch__/nets/nested.py"):
        yield Case(f"without_{part.rpartition('/')[2]}", lambda part=part: without(part), "error")
    yield Case("without_version", lambda: without("version"), "any")
    yield Case("without_byteorder", lambda: without("byteorder"), "any")
    for version in (b"999", b"-1", b"abc", b"", b"99999999999999999999999", b"3" * 100_000):
        label = version.decode()[:12] or "empty"
        yield Case(f"version_{label}", lambda version=version: replaced("version", version), "any")
    yield Case("version_text", lambda: replaced("version", b"one\ntwo"), "error")
    yield Case("version_too_new", lambda: replaced("version", b"999"), "error")
    for label, data in (("empty", b""), ("zeros", b"\0" * 1000), ("text", b"hello"), ("cut", PROTO + MARK),
                        ("other", PROTO + tuple_of(number(1), text("a")) + STOP),
                        ("deep", PROTO + EMPTY_LIST * 300_000 + b"a" * 299_999 + STOP),
                        ("memo", PROTO + EMPTY_LIST + b"r\xff\xff\xff\xff" + STOP),
                        ("self", PROTO + EMPTY_LIST + b"q\x00h\x00a" + STOP),
                        ("class", PROTO + name("__torch__", "Net") + EMPTY_TUPLE + b"\x81}b" + STOP)):
        yield Case(f"debug_{label}", lambda data=data: bad_debug(data), "traced")
        expect = "any" if label == "other" else "error"  # constants that no code asks for
        yield Case(f"constants_{label}", lambda data=data: replaced("constants.pkl", data), expect)
    yield Case("claimed_storage", lambda: claimed_size("data/0", 0xFFFFFFF0), "any")
    yield Case("claimed_code", lambda: claimed_size("code/__torch__/nets/nested.py", 0xFFFFFFF0), "error")
    yield Case("claimed_pickle", lambda: claimed_size("data.pkl", 0xFFFFFFF0), "error")
    yield Case("duplicate_names", duplicate_names, "any")
    yield Case("bomb_code", lambda: bomb("code/__torch__.py", b" ", 24 << 20), "any")
    yield Case("bomb_code_comment", lambda: bomb("code/__torch__.py", b"#", 24 << 20), "any")
    yield Case("bomb_code_parentheses", lambda: bomb("code/__torch__.py", b"(", 24 << 20), "any")
    yield Case("bomb_code_newlines", lambda: bomb("code/__torch__.py", b"\n", 24 << 20), "any")
    yield Case("bomb_data", lambda: archive(
        records_of(data=EMPTY_LIST * (24 << 20)), zipfile.ZIP_DEFLATED), "error")
    yield Case("bomb_data_numbers", lambda: archive(
        records_of(data=EMPTY_LIST + MARK + b"K\x01" * (10 << 20) + b"e"), zipfile.ZIP_DEFLATED), "error")
    yield Case("bomb_version", lambda: bomb("version", b"3", 24 << 20), "any")
    yield Case("bomb_debug", lambda: archive(
        records_of() | {"code/__torch__.py.debug_pkl": PROTO + EMPTY_LIST * (24 << 20)}, zipfile.ZIP_DEFLATED), "any")


def flipped() -> Iterator[Case]:
    chooser = random.Random(7)
    for index in range(200):
        path = (SAMPLE, STATEFUL_SAMPLE)[index % 2]
        with open(path, "rb") as file:
            data = bytearray(file.read())
        position = chooser.randrange(len(data))
        data[position] ^= 1 << chooser.randrange(8)
        yield Case(f"flipped_{index}_at_{position}", lambda data=bytes(data): data, "any")


def code_cases() -> list[Case]:
    """Those that the checks of an archive's code are for."""
    return [case for group in (crafted_code, endless_code, code_that_is_carried_out) for case in group()]


def cases() -> list[Case]:
    groups = (
        crafted_pickles,
        crafted_tensors,
        more_than_the_file_says,
        crafted_code,
        endless_code,
        code_that_is_carried_out,
        damaged_containers,
    )
    return [case for group in groups for case in group()]


def branching_functions(levels: int) -> bytes:
    """Both branches of each `if` call the next function, and nothing tells which is taken."""
    lines = ["def f0(x: Tensor) -> Tensor:\n  return torch.neg(x)\n"]
    for i in range(1, levels):
        lines.append(
            f"def f{i}(x: Tensor) -> Tensor:\n"
            f"  if torch.eq(torch.size(x, 0), {i}):\n    y = __torch__.f{i - 1}(x)\n"
            f"  else:\n    y = __torch__.f{i - 1}(torch.neg(x))\n  return y\n"
        )
    return archive(records_of("".join(lines) + FORWARD + f"    return __torch__.f{levels - 1}(x)\n"))


def shape_cases() -> Iterator[Case]:
    """What is meant for those who compute shapes."""
    rows = ("--input", "x=float32[n,m]")
    repeated = "\n".join(["x = torch.cat([x, x])"] * 200) + "\nreturn x"
    yield Case("shapes_doubled", body_case(repeated), "traced", rows)
    powers = (
        "\n".join(["x = torch.reshape(x, [-1, 1])", "x = torch.matmul(x, torch.t(x))"] * 60) + "\nreturn x"
    )
    yield Case("shapes_squared", body_case(powers), "traced", rows)
    sums = "\n".join(["n = torch.add(torch.floordiv(torch.mul(n, n), 3), n)"] * 60)
    sums = f"n = torch.size(x, 0)\n{sums}\nreturn torch.zeros([n], dtype=6)"
    yield Case("shapes_expressions", body_case(sums), "traced", rows)
    yield Case("shapes_huge", body_case("return torch.zeros([1099511627776, 8388607], dtype=6)"), "any", rows)
    yield Case(
        "shapes_many_parts",
        body_case("return torch.split(x, 1)[0]"),
        "any",
        ("--input", "x=float32[99999999]"),
    )
    parts = "y = torch.split(x, 1)\n" * 200 + "return y[0]"
    yield Case("shapes_many_parts_many_times", body_case(parts), "any", ("--input", "x=float32[9999]"))
    yield Case(
        "shapes_from_file",
        body_case('return torch.from_file("/made-by-a-model", True, 1, dtype=6)'),
        "any",
        rows,
    )
    yield Case("shapes_branches", lambda: branching_functions(40), "traced", (*rows, "--wrap", "**"))
    yield Case(
        "shapes_no_divisor",
        body_case("return torch.zeros([torch.floordiv(4, torch.size(x, 0))])"),
        "any",
        rows,
    )


def random_specs(count: int = 60) -> Iterator[Case]:
    """Dummy inputs that fit no model in particular."""
    random_ = random.Random(7)
    sizes = [
        "0",
        "1",
        "2",
        "3",
        "8",
        "64",
        "a",
        "b",
        "a*2",
        "(b+1)//2",
        "b-3",
        "max(a,b)",
        "a*b",
        "b%7",
        "1000000",
    ]
    sizes += [str(2**31), str(2**62), str(2**63 - 1)]
    folder = pathlib.Path(SAMPLE).parent
    samples = sorted(path for path in folder.glob("*.pt"))
    for i in range(count):
        sample = random_.choice(samples)
        dtype = random_.choice(["float32", "int64", "bool", "float16", "complex64", "uint8"])
        spec = f"{dtype}[{','.join(random_.choices(sizes, k=random_.choice([0, 1, 2, 2, 3, 3, 4, 4, 5])))}]"
        options = [
            "--input",
            spec,
            *random_.choice([[], ["--no-default-leaves"], ["--param-shapes-constant"]]),
        ]
        for name in "ab":
            if re.search(rf"\b{name}\b", spec) and random_.random() < 0.5:
                options += ["--dim", f"{name}={random_.choice(['1..', '0..5', '2..2', '7..1000'])}"]
        yield Case(f"spec_{i}_{sample.stem}", sample.read_bytes, "any or usage", tuple(options))


if __name__ == "__main__":
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for made in [*cases(), *flipped()]:
        with open(os.path.join(folder, made.name + ".pt"), "wb") as out_file:
            out_file.write(made.make())
