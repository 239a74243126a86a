"""Makes damaged and hostile exported programs (.pt2), by name.

Run as a program it writes them all into a folder: python hostile_exported.py FOLDER
"""

import copy
import io
import json
import os
import random
import struct
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from hostile import PROTO, ROOT, STOP, Case, dict_of, name, tensor, tuple_of

SAMPLES = os.path.join(ROOT, "sample_models")
SAMPLE = os.path.join(SAMPLES, "exported_modules.pt2")
# Old layout, weights in one torch.save record, several models, bodies of cond, symbolic sizes.
OTHER_SAMPLES = [
    os.path.join(SAMPLES, f"exported_{part}.pt2")
    for part in ("old_layout", "one_weights_record", "several", "cond", "dimensions", "signatures")
]

Json = Any

# --- programs ---

STACK = "L__self__,,net.Net"


def value(of: str) -> Json:
    return {"as_tensor": {"name": of}}


def meta(*sizes: int) -> Json:
    strides = [1] * len(sizes)
    for i in reversed(range(len(sizes) - 1)):
        strides[i] = strides[i + 1] * sizes[i + 1]
    return {
        "dtype": 7,
        "sizes": [{"as_int": size} for size in sizes],
        "requires_grad": False,
        "device": {"type": "cpu", "index": None},
        "strides": [{"as_int": stride} for stride in strides],
        "storage_offset": {"as_int": 0},
        "layout": 7,
    }


def node(target: str, inputs: dict[str, Json], output: str, stack: str = STACK) -> Json:
    return {
        "target": target,
        "inputs": [{"name": argument, "arg": given, "kind": 1} for argument, given in inputs.items()],
        "outputs": [value(output)],
        "metadata": {
            "nn_module_stack": stack,
            "stack_trace": 'File "net.py", line 7, in forward\n    return self.act(self.lin(x))',
            "torch_fn": "relu_1;function.relu",
        },
        "is_hop_single_tensor_return": None,
        "name": output,
    }


def relu(given: str, output: str, stack: str = STACK) -> Json:
    return node("torch.ops.aten.relu.default", {"self": value(given)}, output, stack)


def in_module(path: str, type_name: str = "torch.nn.modules.activation.ReLU", call: int = 0) -> str:
    number = f"@{call}" if call else ""
    return f"{STACK};L__self__{path}{number},{path},{type_name}"


def spec(kind: str | None, *children: Json, context: Json = "null") -> Json:
    return {"type": kind, "context": None if kind is None else context, "children_spec": list(children)}


LEAF = spec(None)


def tree(root: Json) -> str:
    return json.dumps([1, root])


def arguments_spec(*leaves: Json) -> Json:
    return spec("builtins.tuple", spec("builtins.tuple", *leaves), spec("builtins.dict", context="[]"))


def program(
    nodes: list[Json] | None = None, output: str | None = None, modules: list[str] | None = None
) -> dict[str, Json]:
    """A linear layer and a ReLU, or other nodes that begin with `x`."""
    if nodes is None:
        linear = {"input": value("x"), "weight": value("p_lin_weight"), "bias": value("p_lin_bias")}
        nodes = [
            node("torch.ops.aten.linear.default", linear, "linear", in_module("lin", "torch.nn.modules.linear.Linear")),
            relu("linear", "relu", in_module("act")),
        ]
        modules = ["lin", "act"]
    output = output or nodes[-1]["outputs"][0]["as_tensor"]["name"]
    made = {"p_lin_weight": meta(4, 4), "p_lin_bias": meta(4), "x": meta(2, 4)}
    made |= {node["outputs"][0]["as_tensor"]["name"]: meta(2, 4) for node in nodes}
    parameters = [
        {"parameter": {"arg": {"name": f"p_lin_{part}"}, "parameter_name": f"lin.{part}"}}
        for part in ("weight", "bias")
    ]
    signature = {
        "inputs": [],
        "outputs": [],
        "in_spec": tree(arguments_spec(LEAF)),
        "out_spec": tree(LEAF),
        "forward_arg_names": ["x"],
    }
    return {
        "graph_module": {
            "graph": {
                "inputs": [value("p_lin_weight"), value("p_lin_bias"), value("x")],
                "outputs": [value(output)],
                "nodes": nodes,
                "tensor_values": made,
                "sym_int_values": {},
                "sym_bool_values": {},
                "is_single_tensor_return": False,
                "custom_obj_values": {},
                "sym_float_values": {},
            },
            "signature": {
                "input_specs": [*parameters, {"user_input": {"arg": value("x")}}],
                "output_specs": [{"user_output": {"arg": value(output)}}],
            },
            "module_call_graph": [
                {"fqn": "", "signature": signature},
                *({"fqn": path, "signature": None} for path in modules or []),
            ],
            "metadata": {},
            "treespec_namedtuple_fields": {},
        },
        "opset_version": {"aten": 10},
        "range_constraints": {},
        "schema_version": {"major": 8, "minor": 20},
        "verifiers": ["TRAINING"],
        "torch_version": "2.13.0",
        "guards_code": [],
    }


def body(*nodes: Json) -> Json:
    """A graph of one input, `a`."""
    made = {"a": meta(2, 4)} | {node["outputs"][0]["as_tensor"]["name"]: meta(2, 4) for node in nodes}
    last = nodes[-1]["outputs"][0] if nodes else value("a")
    return {
        "inputs": [value("a")],
        "outputs": [last],
        "nodes": list(nodes),
        "tensor_values": made,
        "sym_int_values": {},
        "sym_bool_values": {},
        "is_single_tensor_return": False,
        "custom_obj_values": {},
        "sym_float_values": {},
    }


def cond(given: str, output: str, true: Json, false: Json) -> Json:
    inputs = [
        {"as_bool": True},
        {"as_graph": {"name": "true_graph_0", "graph": true}},
        {"as_graph": {"name": "false_graph_0", "graph": false}},
        {"as_tensors": [{"name": given}]},
    ]
    made = node("torch.ops.higher_order.cond", {}, output)
    made["inputs"] = [{"name": "", "arg": argument, "kind": 1} for argument in inputs]
    made["is_hop_single_tensor_return"] = False
    return made


# --- archives ---


def archive_of(records: Mapping[str, bytes | str]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as zipped:
        for record, data in records.items():
            zipped.writestr(record, data)
    return out.getvalue()


def archive(records: Mapping[str, bytes | str]) -> bytes:
    return archive_of({f"m/{record}": data for record, data in records.items()})


def config(names: dict[str, str], sizes: tuple[int, ...] = (4,)) -> Json:
    entry = {"is_param": True, "use_pickle": False, "tensor_meta": meta(*sizes)}
    return {"config": {of: {"path_name": record} | entry for of, record in names.items()}}


def records_of(text: bytes | str) -> dict[str, bytes | str]:
    weights = config({"lin.weight": "weight_0"}, (4, 4))["config"] | config({"lin.bias": "weight_1"})["config"]
    return {
        "models/model.json": text,
        "data/weights/model_weights_config.json": json.dumps({"config": weights}),
        "data/weights/weight_0": b"\0" * 64,
        "data/weights/weight_1": b"\0" * 16,
        "data/constants/model_constants_config.json": '{"config": {}}',
        "archive_format": "pt2",
        "archive_version": "0",
        "byteorder": "little",
        ".data/version": "6\n",
    }


def packed(text: bytes | str) -> bytes:
    return archive(records_of(text))


def text_case(of: str, text: bytes | str | Callable[[], bytes | str], expect: str = "any", **more: Any) -> Case:
    return Case(of, lambda: packed(text() if callable(text) else text), expect, **more)


def program_case(of: str, make: Callable[[], Json], expect: str = "any", **more: Any) -> Case:
    return Case(of, lambda: packed(json.dumps(make())), expect, **more)


def changed(change: Callable[[Json], None]) -> Callable[[], Json]:
    def make() -> Json:
        made = program()
        change(made)
        return made

    return make


def put(made: Json, path: str, new: Json) -> None:
    *parents, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    for part in parents:
        made = made[part]
    made[last] = new


def set_at(path: str, new: Json) -> Callable[[], Json]:
    """The program with another value at "graph_module.graph.nodes.0.target"."""
    return changed(lambda made: put(made, path, new))


def replaced(records: dict[str, bytes | str | None]) -> Callable[[], bytes]:
    """A sound archive with other records; None takes a record away."""

    def make() -> bytes:
        made = records_of(json.dumps(program())) | records
        return archive({record: data for record, data in made.items() if data is not None})

    return make


def one_record(record: str, data: bytes, method: int, size: int, crc: int | None = None) -> bytes:
    """A zip archive with a record whose headers say what they are told to, and what makes it an exported program."""
    out = bytearray(archive({"archive_format": "pt2", "archive_version": "0"}))
    end = out.rindex(b"PK\x05\x06")
    count, directory_size, directory = struct.unpack_from("<HII", out, end + 10)
    entries = bytes(out[directory:end])
    of = f"m/{record}".encode()
    crc = zlib.crc32(data) if crc is None else crc
    fields = struct.pack("<HHHHIII", 0, method, 0, 0, crc, len(data), size) + struct.pack("<HH", len(of), 0)
    local = directory
    out = out[:directory] + b"PK\x03\x04" + struct.pack("<H", 20) + fields + of + data
    entries += b"PK\x01\x02" + struct.pack("<HH", 20, 20) + fields + struct.pack("<HHHII", 0, 0, 0, 0, local) + of
    out += entries
    out += b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, count + 1, count + 1, len(entries), len(out) - len(entries), 0)
    assert directory_size
    return bytes(out)


def deflated(head: bytes, block: bytes, repeat: int) -> tuple[bytes, int]:
    """A deflate stream of `head` and many times `block`, and how long it is; made without making the text."""
    coder = zlib.compressobj(9, zlib.DEFLATED, -15)
    first = coder.compress(head) + coder.flush(zlib.Z_FULL_FLUSH)
    more = coder.compress(block) + coder.flush(zlib.Z_FULL_FLUSH)
    return first + more * repeat + coder.flush(), len(head) + repeat * len(block)


def bomb(head: bytes, byte: bytes, size: int, claimed: int | None = None) -> bytes:
    block = byte * (16 << 20)
    data, whole = deflated(head, block, size // len(block))
    return one_record("models/model.json", data, 8, whole if claimed is None else claimed, crc=0)


# --- the cases ---


def texts() -> Iterator[Case]:
    sound = json.dumps(program())
    yield text_case("sound", sound, "traced")
    for label, text in (
        ("empty", ""),
        ("space", " \n\t"),
        ("word", "hello"),
        ("null", "null"),
        ("number", "1"),
        ("list", "[]"),
        ("object", "{}"),
        ("string", '"graph_module"'),
        ("cut", sound[:-2]),
        ("half", sound[: len(sound) // 2]),
        ("more_behind", sound + "{}"),
        ("nul_behind", sound + "\0"),
        ("single_quotes", sound.replace('"', "'")),
        ("comment", "// x\n" + sound),
        ("trailing_comma", sound[:-1] + ",}"),
        ("utf16", sound.encode("utf-16")),
    ):
        yield text_case(f"json_{label}", text, "error")
    yield text_case("json_byte_order_mark", "\ufeff" + sound)
    for label, token in (
        ("huge", "9" * 5_000),
        ("beyond_int64", str(1 << 63)),
        ("below_int64", str(-(1 << 63) - 1)),
        ("uint64", str((1 << 64) - 1)),
        ("exponent", "1e400"),
        ("long_fraction", "0." + "1" * 100_000),
        ("nan", "NaN"),
        ("infinity", "-Infinity"),
        ("minus", "-"),
        ("plus", "+1"),
        ("octal", "010"),
        ("dot", "1."),
        ("hex", "0x10"),
        ("minus_zero", "-0"),
    ):
        text = json.dumps(set_at("graph_module.graph.nodes.0.inputs.2.arg", {"as_int": "@@"})())
        yield text_case(f"number_{label}", text.replace('"@@"', token))
        text = json.dumps(set_at("graph_module.graph.tensor_values.x.sizes.0", {"as_int": "@@"})())
        yield text_case(f"size_{label}", text.replace('"@@"', token))
        text = json.dumps(set_at("graph_module.graph.nodes.0.inputs.2.arg", {"as_float": "@@"})())
        yield text_case(f"float_{label}", text.replace('"@@"', token))
    # PyTorch 2.6 writes the bare words, later ones strings.
    for label, token in (("bare", "-Infinity"), ("text", '"-Infinity"'), ("bare_nan", "NaN"), ("text_nan", '"NaN"')):
        made = program([node("torch.ops.aten.add.Scalar", {"self": value("x"), "other": {"as_float": "@@"}}, "add")])
        yield text_case(f"infinity_{label}", json.dumps(made).replace('"@@"', token), "traced")
    for label, key in (("graph_module", "graph_module"), ("nodes", "nodes"), ("target", "target"), ("name", "name")):
        yield text_case(f"duplicate_key_{label}", sound.replace(f'"{key}"', f'"{key}": [1, "a"], "{key}"'))
    for label, data in (
        ("invalid", b"\xff\xfe"),
        ("cut", b"\xe2\x82"),
        ("overlong", b"\xc0\xaf"),
        ("surrogate", b"\xed\xa0\x80"),
        ("too_high", b"\xf4\x90\x80\x80"),
        ("nul", b"\0"),
        ("control", b"\x01\x1b[31m"),
        ("newline", b"\n"),
        ("escaped_surrogate", b"\\ud800"),
        ("escaped_pair_reversed", b"\\udc00\\ud800"),
        ("escaped_nul", b"\\u0000"),
        ("escaped_controls", b"\\n\\r\\u001b[31m\\u2028"),
        ("bad_escape", b"\\x41"),
        ("cut_escape", b"\\u12"),
        ("quotes", b"\\\"</td>'`"),
        ("right_to_left", "\u202e".encode()),
    ):
        for where in ("linear", "lin", "net.Net", "torch.ops.aten.relu.default", "x", "net.py"):
            text = sound.encode().replace(where.encode(), where.encode() + data)
            yield text_case(f"text_{label}_in_{where}", text)


def deep() -> Iterator[Case]:
    sound = json.dumps(program())
    for label, opening, closing in (("arrays", "[", "]"), ("objects", '{"a":', "}")):
        for count in (10_000, 1_000_000):
            inner = opening * count + "1" + closing * count
            yield text_case(f"deep_{label}_{count}", inner, "error")
            yield text_case(
                f"deep_{label}_{count}_in_unknown_field", lambda inner=inner: sound[:-1] + ', "unknown": ' + inner + "}"
            )
        yield text_case(f"deep_{label}_unclosed", sound[:-1] + ', "unknown": ' + opening * 1_000_000, "error")

    def nested_conds(levels: int) -> str:
        opening, closing = json.dumps(body(cond("a", "a1", {"@": 0}, body(relu("a", "b")))), indent=None).split(
            '{"@": 0}'
        )
        inner = opening * levels + json.dumps(body(relu("a", "b"))) + closing * levels
        whole = json.dumps(program([cond("x", "y", {"@": 0}, body(relu("a", "b")))]))
        return whole.replace('{"@": 0}', inner)

    # Two levels of arrays and objects and more for each body: this is data of torch.export at 100, an attack at 100,000.
    yield text_case("deep_graphs_20", lambda: nested_conds(20), "traced")
    for levels in (500, 5_000, 30_000):
        yield text_case(f"deep_graphs_{levels}", lambda levels=levels: nested_conds(levels))

    def deep_tree(levels: int, leaf: Json = LEAF) -> str:
        opening = '{"type": "builtins.tuple", "context": "null", "children_spec": ['
        inner = opening * levels + json.dumps(leaf) + "]}" * levels
        arguments = json.dumps(arguments_spec({"@": 0}))
        return f"[1, {arguments}]".replace('{"@": 0}', inner)

    for levels in (50, 5_000, 100_000):
        for where in ("in_spec", "out_spec"):
            yield program_case(
                f"deep_{where}_{levels}",
                lambda levels=levels, where=where: set_at(
                    f"graph_module.module_call_graph.0.signature.{where}", deep_tree(levels)
                )(),
            )
    for levels in (100, 5_000, 100_000):
        for label, text in (
            ("parentheses", "(" * levels + "s0" + ")" * levels),
            ("open", "(" * levels),
            ("calls", "Add(" * levels + "Integer(1)" + ", Integer(1))" * levels),
            ("minus", "-" * levels + "s0"),
            ("sum", "s0" + " + s0" * levels),
            ("powers", "s0" + "**s0" * levels),
        ):
            yield program_case(
                f"symbol_{label}_{levels}",
                lambda text=text: set_at(
                    "graph_module.graph.tensor_values.x.sizes.0", {"as_expr": {"expr_str": text, "hint": {"as_int": 4}}}
                )(),
            )

    def nested_argument(levels: int) -> str:
        opening, closing = '{"as_string_to_argument": {"a": ', "}}"
        inner = opening * levels + '{"as_int": 1}' + closing * levels
        return json.dumps(set_at("graph_module.graph.nodes.0.inputs.2.arg", {"@": 0})()).replace('{"@": 0}', inner)

    for levels in (100, 1_500, 100_000):
        yield text_case(f"deep_argument_{levels}", lambda levels=levels: nested_argument(levels))


def large() -> Iterator[Case]:
    sound = json.dumps(program())
    size = 100 << 20
    yield text_case("long_string_unknown_field", lambda: sound[:-1] + ', "unknown": "' + "a" * size + '"}')
    for label, path, start, repeated in (
        ("target", "nodes.0.target", "", "a"),
        ("stack", "nodes.0.metadata.nn_module_stack", "", "a"),
        ("stack_semicolons", "nodes.0.metadata.nn_module_stack", STACK, ";"),
        ("trace", "nodes.0.metadata.stack_trace", "", 'File "'),
        ("expression", "tensor_values.x.sizes.0.as_expr.expr_str", "", "s"),
    ):

        def long(path: str = path, start: str = start, repeated: str = repeated) -> Json:
            made = set_at("graph_module.graph.tensor_values.x.sizes.0", {"as_expr": {"expr_str": "s0", "hint": None}})()
            put(made, f"graph_module.graph.{path}", start + repeated * (size // len(repeated)))
            return made

        yield program_case(f"long_{label}", long)
    yield text_case("many_spaces", lambda: sound + " " * size)
    yield text_case("many_values", lambda: sound[:-1] + ', "unknown": [' + "1," * (size // 2) + "1]}")
    yield text_case("many_empty_arrays", lambda: sound[:-1] + ', "unknown": [' + "[]," * (size // 3) + "1]}")
    yield text_case("many_keys", lambda: sound[:-1] + ', "unknown": {' + '"a":1,' * (size // 6) + '"b":1}}')
    yield Case("bomb_spaces", lambda: bomb(sound.encode(), b" ", 255 << 24), "any")
    yield Case("bomb_string", lambda: bomb(b'{"a": "', b"a", 255 << 24), "any")
    yield Case("bomb_arrays", lambda: bomb(b"", b"[", 255 << 24), "error")
    yield Case("bomb_numbers", lambda: bomb(b"[", b"1,", 128 << 24), "any")
    yield Case("bomb_claims_little", lambda: bomb(sound.encode(), b" ", 255 << 24, claimed=len(sound)), "any")
    data = sound.encode()
    coder = zlib.compressobj(9, zlib.DEFLATED, -15)
    small = coder.compress(data) + coder.flush()
    record = "models/model.json"
    yield Case("deflated", lambda: one_record(record, small, 8, len(data), zlib.crc32(data)), "traced")
    for label, claimed in (("less", len(data) // 2), ("more", len(data) * 2), ("4_gb", 0xFFFFFFF0), ("0", 0)):
        yield Case(
            f"claims_{label}_deflated",
            lambda claimed=claimed: one_record(record, small, 8, claimed, zlib.crc32(data)),
            "any",
        )
        yield Case(f"claims_{label}_stored", lambda claimed=claimed: one_record(record, data, 0, claimed), "any")
    yield Case("crc_wrong_deflated", lambda: one_record(record, small, 8, len(data), 1), "error")
    yield Case("crc_wrong_stored", lambda: one_record(record, data, 0, len(data), 1), "error")
    yield Case("cut_deflated", lambda: one_record(record, small[:-20], 8, len(data), zlib.crc32(data)), "error")
    yield Case("method_unknown", lambda: one_record(record, small, 77, len(data), zlib.crc32(data)), "error")


def versions() -> Iterator[Case]:
    for major in (9, 7, 5, 99, 0, -1):
        yield program_case(
            f"major_{major}", set_at("schema_version.major", major), "error", says=("8", str(major), "version")
        )
    for minor in (0, 21, 10_000, -1):
        yield program_case(f"minor_{minor}", set_at("schema_version.minor", minor), "traced")
    for label, version in (
        ("none", None),
        ("text", "8.20"),
        ("empty", {}),
        ("float", {"major": 8.5, "minor": 1}),
        ("huge", {"major": 1 << 70, "minor": 1}),
        ("list", [8, 20]),
    ):
        yield program_case(f"version_{label}", set_at("schema_version", version), "error")


def records() -> Iterator[Case]:
    weights, constants = ("data/weights/model_weights_config.json", "data/constants/model_constants_config.json")
    yield Case("without_weights_config", replaced({weights: None}), "any")
    yield Case("without_constants_config", replaced({constants: None}), "any")
    yield Case("without_both_configs", replaced({weights: None, constants: None}), "any")
    yield Case("without_weights", replaced({"data/weights/weight_0": None, "data/weights/weight_1": None}), "traced")
    yield Case("without_format", replaced({"archive_format": None}), "any")
    yield Case("without_versions", replaced({"archive_version": None, ".data/version": None, "byteorder": None}), "any")
    yield Case("without_model", replaced({"models/model.json": None}), "error")
    for label, text in (
        ("wrong", "pt3"),
        ("empty", ""),
        ("long", "pt2" * 100_000),
        ("binary", b"\xff\0"),
        ("newline", "pt2\n"),
    ):
        yield Case(f"format_{label}", replaced({"archive_format": text}), "any")
    for label, text in (("1", "1"), ("text", "abc"), ("long", "0" * 100_000)):
        yield Case(f"archive_version_{label}", replaced({"archive_version": text}), "any")
    for label, text in (("big", "big"), ("text", "abc"), ("long", "little" * 100_000)):
        yield Case(f"byteorder_{label}", replaced({"byteorder": text}), "any")
    for record, part in ((weights, "weights"), (constants, "constants")):
        entry = config({"lin.weight": "weight_0"})["config"]["lin.weight"]
        for label, made in (
            ("text", "hello"),
            ("list", []),
            ("null", None),
            ("no_config", {}),
            ("config_list", {"config": []}),
            ("entry_null", {"config": {"lin.weight": None}}),
            ("entry_empty", {"config": {"lin.weight": {}}}),
            ("outside", config({"lin.weight": "../../../etc/passwd"})),
            ("absolute", config({"a": "/etc/passwd"})),
            ("no_record", config({"lin.weight": "weight_99"})),
            ("other_name", config({"no.such": "weight_0"})),
            ("name_number", {"config": {"lin.weight": entry | {"path_name": 5}}}),
            ("sizes_huge", config({"lin.weight": "weight_0"}, (1 << 40, 1 << 40))),
            ("sizes_negative", config({"lin.weight": "weight_0"}, (-4, 4))),
            ("dtype_unknown", {"config": {"lin.weight": entry | {"tensor_meta": meta(4) | {"dtype": 99}}}}),
            ("many", config({f"w{i}": "weight_0" for i in range(50_000)})),
            ("no_meta", {"config": {"lin.weight": entry | {"tensor_meta": None}}}),
            ("pickled", {"config": {"lin.weight": entry | {"use_pickle": True}}}),
        ):
            text = made if isinstance(made, str) else json.dumps(made)
            yield Case(f"{part}_config_{label}", replaced({record: text}), "any")
    saved = PROTO + dict_of({"lin.weight": tensor((4, 4), (4, 1)), "lin.bias": tensor((4,), (1,), record="1")}) + STOP
    for label, pickle in (
        ("sound", saved),
        ("empty", b""),
        ("cut", saved[:40]),
        ("deep", PROTO + b"(" * 3_000_000 + STOP),
        ("calls", PROTO + name("os", "system") + tuple_of(b"X\x04\0\0\0true") + b"R" + STOP),
        ("memo", PROTO + b"}r\xff\xff\xff\xff" + STOP),
        ("text", b"hello"),
    ):
        inner = archive({"data.pkl": pickle, "data/0": b"\0" * 64, "data/1": b"\0" * 16})
        one = {weights: None, constants: None, "data/weights/model.pt": inner, "data/constants/model.pt": inner}
        yield Case(f"weights_record_{label}", replaced(one), "traced" if label == "sound" else "any")
        old = {
            "serialized_exported_program.json": json.dumps(program()),
            "version": "8.7",
            "serialized_state_dict.pt": inner,
            "serialized_constants.pt": inner,
        }
        yield Case(f"old_layout_{label}", lambda old=old: archive_of(old), "traced" if label == "sound" else "any")
    for label, data in (
        ("no_zip", b"hello"),
        ("itself", b"PK\x05\x06" + b"\0" * 18),
        ("end_lies", b"PK\x05\x06" + b"\xff" * 18),
    ):
        yield Case(f"weights_record_{label}", replaced({weights: None, "data/weights/model.pt": data}), "any")


def constant_record(
    sizes: tuple[int, ...], strides: tuple[int, ...], offset: int, data: bytes, dtype: int = 7
) -> bytes:
    """A constant whose value the output repeats."""
    made = program([node("torch.ops.aten.add.Tensor", {"self": value("x"), "other": value("c_c")}, "add")])
    graph, signature = made["graph_module"]["graph"], made["graph_module"]["signature"]
    described = meta(*sizes) | {
        "strides": [{"as_int": stride} for stride in strides],
        "storage_offset": {"as_int": offset},
        "dtype": dtype,
    }
    graph["inputs"].insert(0, value("c_c"))
    graph["tensor_values"]["c_c"] = described
    signature["input_specs"].insert(0, {"tensor_constant": {"arg": {"name": "c_c"}, "tensor_constant_name": "c"}})
    entry = {"path_name": "tensor_0", "is_param": False, "use_pickle": False, "tensor_meta": described}
    return archive(
        records_of(json.dumps(made))
        | {
            "data/constants/model_constants_config.json": json.dumps({"config": {"c": entry}}),
            "data/constants/tensor_0": data,
        }
    )


def constants() -> Iterator[Case]:
    for label, sizes, strides, offset, size, dtype in (
        ("sound", (4,), (1,), 0, 16, 7), ("record_short", (4,), (1,), 0, 3, 7), ("record_empty", (4,), (1,), 0, 0, 7),
        ("offset", (4,), (1,), 1, 16, 7), ("offset_huge", (4,), (1,), 1 << 62, 16, 7), ("offset_negative", (4,), (1,), -1, 16, 7),
        ("stride_huge", (4,), (1 << 62,), 0, 16, 7), ("stride_negative", (4,), (-1,), 0, 16, 7), ("stride_zero", (1000,), (0,), 0, 4, 7),
        ("stride_missing", (2, 2), (), 0, 16, 7), ("sizes_huge", (1 << 62, 4), (4, 1), 0, 16, 7), ("sizes_zero", (0, 1 << 62), (1, 1), 0, 0, 7),
        ("sizes_product", (1 << 32, 1 << 32), (0, 0), 0, 16, 7), ("size_negative", (-1,), (1,), 0, 16, 7),
        ("dimensions", (1,) * 5_000, (1,) * 5_000, 0, 4, 7), ("dtype_0", (4,), (1,), 0, 16, 0), ("dtype_99", (4,), (1,), 0, 16, 99),
        ("complex", (2,), (1,), 0, 16, 10), ("bool", (16,), (1,), 0, 16, 12), ("float8", (16,), (1,), 0, 16, 29),
        ("bfloat16", (8,), (1,), 0, 16, 13), ("scalar", (), (), 0, 4, 7),
    ):  # fmt: skip
        data = b"\x7f\xff\x80\x00\xff"[:size] + b"\xff" * max(0, size - 5)
        expect = "traced" if label in ("sound", "scalar", "bool", "bfloat16") else "any"
        yield Case(f"constant_{label}", lambda a=(sizes, strides, offset, data, dtype): constant_record(*a), expect)


def references() -> Iterator[Case]:
    graph = "graph_module.graph"
    yield program_case("input_unknown", set_at(f"{graph}.nodes.0.inputs.0.arg", value("nowhere")), "error")
    yield program_case("output_unknown", set_at(f"{graph}.outputs.0", value("nowhere")), "error")
    yield program_case("input_later", set_at(f"{graph}.nodes.0.inputs.0.arg", value("relu")), "error")
    yield program_case("input_itself", set_at(f"{graph}.nodes.0.inputs.0.arg", value("linear")), "error")
    yield program_case(
        "symbol_name_unknown", set_at(f"{graph}.nodes.0.inputs.0.arg", {"as_sym_int": {"as_name": "nowhere"}}), "error"
    )
    yield program_case(
        "signature_unknown", set_at("graph_module.signature.input_specs.2", {"user_input": {"arg": value("no")}})
    )
    yield program_case("signature_short", set_at("graph_module.signature.input_specs", []))
    yield program_case(
        "signature_long",
        changed(
            lambda made: made["graph_module"]["signature"]["input_specs"].extend(
                [{"user_input": {"arg": value("x")}}] * 1_000
            )
        ),
    )
    yield program_case(
        "signature_mutation_unknown",
        changed(
            lambda made: made["graph_module"]["signature"]["output_specs"].insert(
                0, {"buffer_mutation": {"arg": {"name": "nowhere"}, "buffer_name": "no.such"}}
            )
        ),
    )
    yield program_case("output_name_taken", set_at(f"{graph}.nodes.1.outputs.0", value("linear")))
    yield program_case("output_name_of_input", set_at(f"{graph}.nodes.1.outputs.0", value("x")))
    yield program_case("node_name_taken", set_at(f"{graph}.nodes.1.name", "linear"))
    yield program_case("input_twice", changed(lambda made: made["graph_module"]["graph"]["inputs"].append(value("x"))))
    yield program_case("outputs_none", set_at(f"{graph}.nodes.1.outputs", []), "error")
    yield program_case(
        "outputs_many", set_at(f"{graph}.nodes.1.outputs", [value("relu")] + [value(f"o{i}") for i in range(10_000)])
    )
    yield program_case("values_none", set_at(f"{graph}.tensor_values", {}))
    yield program_case("no_nodes", lambda: program([relu("x", "y")]) | {})
    yield program_case(
        "same_value_many_times",
        lambda: program(
            [node("torch.ops.aten.cat.default", {"tensors": {"as_tensors": [{"name": "x"}] * 1_000_000}}, "cat")]
        ),
    )

    def conds(count: int) -> Json:
        nodes, last = [], "x"
        for i in range(count):
            nodes.append(cond(last, f"y{i}", body(relu("a", "b")), body(relu("a", "c"))))
            last = f"y{i}"
        return program(nodes)

    yield program_case("conds_2000", lambda: conds(2_000), "traced")
    yield program_case(
        "cond_without_graphs", lambda: program([node("torch.ops.higher_order.cond", {"": value("x")}, "y")])
    )
    empty = body()
    yield program_case("cond_empty_bodies", lambda: program([cond("x", "y", empty, empty)]))
    plain = cond("x", "y", empty, empty) | {"target": "torch.ops.aten.relu.default"}
    yield program_case("graphs_for_relu", lambda: program([plain]), "error", says=("not a higher-order operator",))
    yield program_case(
        "body_unknown_value", lambda: program([cond("x", "y", body(relu("nowhere", "b")), body())]), "error"
    )
    yield program_case("body_outer_value", lambda: program([cond("x", "y", body(relu("x", "b")), body())]))
    yield program_case("body_reads_own_call", lambda: program([cond("x", "y", body(relu("y", "b")), body())]))
    for label, target in (
        ("empty", ""),
        ("dots", "...."),
        ("torch_only", "torch"),
        ("ops_only", "torch.ops."),
        ("no_overload", "torch.ops.aten.relu"),
        ("unknown", "torch.ops.nowhere.thing.default"),
        ("python", "os.system"),
        ("builtin", "_operator.add"),
        ("math", "math.floor"),
        ("spaces", "a b\tc"),
        ("newline", "torch.ops.aten.a\nb.default"),
        ("markup", '<script>."x".default'),
        ("deep", "torch.ops." + "a." * 100_000),
    ):
        yield program_case(f"target_{label}", set_at(f"{graph}.nodes.1.target", target))
    for label, name_ in (
        ("empty", ""),
        ("space", " "),
        ("number", "1"),
        ("keyword", "lambda"),
        ("dunder", "__class__"),
        ("newline", "a\nb"),
        ("quote", 'a"b'),
        ("output", "output"),
        ("self", "self"),
        ("long", "n" * 1_000_000),
    ):

        def rename(name_: str = name_) -> Json:
            return json.loads(
                json.dumps(program()).replace('"x"', json.dumps(name_)).replace('"relu"', json.dumps(name_ + "r"))
            )

        yield program_case(f"names_{label}", rename)


def tokens() -> Iterator[Case]:
    """Effects that the program orders: with_effects(token, operator, ...)."""

    def effect(output: str, *inputs: Json, results: int = 1, target: str = "with_effects") -> Json:
        made = node(f"torch.ops.higher_order.{target}", {}, output)
        made["inputs"] = [{"name": "", "arg": argument, "kind": 1} for argument in inputs]
        made["outputs"] = [value(f"token_{output}"), *(value(f"{output}_{i}" if i else output) for i in range(results))]
        made["is_hop_single_tensor_return"] = False
        return made

    relu_of = {"as_operator": "torch.ops.aten.relu.default"}

    def made(*nodes: Json, output: str = "y", token: str | None = "token_y", change: Callable[[Json], None] | None = None) -> Json:
        result = program([relu("x", "first"), *nodes], output)
        module = result["graph_module"]
        module["graph"]["inputs"].insert(0, value("token"))
        module["signature"]["input_specs"].insert(0, {"token": {"arg": {"name": "token"}}})
        module["graph"]["tensor_values"] |= {name: meta(0) for name in ("token", "token_y")}
        if token is not None:
            module["graph"]["outputs"].insert(0, value(token))
            module["signature"]["output_specs"].insert(0, {"token": {"arg": {"name": token}}})
        if change is not None:
            change(result)
        return result

    sound = effect("y", value("token"), relu_of, value("first"))
    yield program_case("tokens", lambda: made(sound), "traced")
    yield program_case("tokens_unused", lambda: made(relu("first", "y"), token="token"), "traced")
    yield program_case("tokens_no_output", lambda: made(sound, token=None), "traced")
    yield program_case("tokens_two_results", lambda: made(effect("y", value("token"), relu_of, value("first"), results=2)), "any")
    wrong = {
        "no_arguments": effect("y"),
        "no_operator": effect("y", value("token"), value("first")),
        "operator_text": effect("y", value("token"), {"as_string": "aten.relu.default"}, value("first")),
        "operator_empty": effect("y", value("token"), {"as_operator": ""}, value("first")),
        "operator_prefix": effect("y", value("token"), {"as_operator": "torch.ops."}, value("first")),
        "number": effect("y", {"as_int": 3}, relu_of, value("first")),
        "unknown": effect("y", value("nowhere"), relu_of, value("first")),
        "itself": effect("y", value("token_y"), relu_of, value("first")),
        "no_results": effect("y", value("token"), relu_of, value("first"), results=0),
    }
    for label, bad in wrong.items():
        yield program_case(f"tokens_{label}", lambda bad=bad: made(bad), "error")
    yield program_case("tokens_user_input", lambda: made(effect("y", value("x"), relu_of, value("first"))), "error")
    yield program_case("tokens_as_value", lambda: made(sound, relu("token_y", "z"), output="z"), "error", says=("token",))
    yield program_case("tokens_as_argument", lambda: made(effect("y", value("token"), relu_of, value("token"))), "error")
    yield program_case("tokens_as_result", lambda: made(sound, output="token_y"), "error")
    yield program_case("tokens_called_again", lambda: made(effect("y", value("token"), {"as_operator": "torch.ops.higher_order.with_effects"})))
    inner = body(effect("b", value("a"), relu_of, value("a")))
    inner["outputs"] = [value("token_b"), value("b")]
    inner["inputs"] = [value("a"), value("c")]
    inner["nodes"][0]["inputs"][2]["arg"] = value("c")
    graph = {"as_graph": {"name": "body_0", "graph": inner}}
    invoked = effect("y", graph, {"as_string": "body_0"}, value("token"), value("first"), target="invoke_subgraph")
    yield program_case("tokens_in_body", lambda: made(invoked), "traced")
    alone = effect("y", graph, {"as_string": "body_0"}, target="invoke_subgraph")
    yield program_case("tokens_in_body_not_given", lambda: made(alone))
    in_cond = cond("first", "y", inner, inner)
    yield program_case("tokens_in_cond", lambda: made(in_cond), "error", says=("token",))
    yield program_case("tokens_in_relu", lambda: made(effect("y", value("token"), relu_of, graph)), "error")


def stacks() -> Iterator[Case]:
    stack = "graph_module.graph.nodes.0.metadata.nn_module_stack"
    for label, text in (
        ("empty", ""), ("no_commas", "L__self__"), ("one_comma", "L__self__,"), ("commas", "," * 1_000), ("semicolons", ";;;;"),
        ("empty_entries", ",,;,,;,,"), ("no_root", "L__self__lin,lin,torch.nn.modules.linear.Linear"),
        ("unknown_module", in_module("no.such.module")), ("empty_path", STACK + ";a,,net.Sub"), ("empty_type", STACK + ";a,lin,"),
        ("dots", in_module("." * 10)), ("dots_many", in_module("a." * 100_000 + "a")), ("brackets", in_module("a[0][b[")),
        ("getattr", in_module("getattr(L['self'].a, '0')")), ("getattr_open", in_module("getattr(" * 1_000)),
        ("call_huge", in_module("lin", call=10**30)), ("call_text", STACK + ";L__self__lin@x,lin,net.Lin"),
        ("calls_many", STACK + ";L__self__lin@1@2@3,lin,net.Lin"), ("type_commas", STACK + ";k,lin,a,b,c"),
        ("type_generic", STACK + ";k,lin,net.Lin[a, b]"), ("type_local", STACK + ";k,lin,net.f.<locals>.Lin"),
        ("sibling_inside", STACK + ";k,lin,net.Lin;j,act,net.Act"), ("parent_inside", STACK + ";k,lin.a,net.A;j,lin,net.Lin"),
        ("root_twice", STACK + ";" + STACK), ("same_twice", in_module("lin") + in_module("lin")[len(STACK):]),
        ("not_ascii", in_module("l\u00efn", "net.\U0001f600")), ("control", in_module("l\x01\nn")),
        ("entries_1e6", STACK + ";k,lin,net.Lin" * 1_000_000), ("nested_5000", STACK + "".join(
            f";k{i},{'.'.join(['a'] * (i + 1))},net.A" for i in range(2_000))),
    ):  # fmt: skip
        yield program_case(f"stack_{label}", set_at(stack, text))
    for label, wrong in (("number", 1), ("list", []), ("null", None), ("object", {"a": "b"})):
        yield program_case(f"stack_is_{label}", set_at(stack, wrong))
        yield program_case(f"metadata_is_{label}", set_at("graph_module.graph.nodes.0.metadata", wrong))
    for label, text in (
        ("empty", ""),
        ("no_frame", "hello"),
        ("file", 'File "'),
        ("unclosed", 'File "a.py, line 3, in f'),
        ("no_line", 'File "a.py"'),
        ("line_text", 'File "a.py", line x, in f\n    y'),
        ("line_huge", 'File "a.py", line 99999999999999999999, in f'),
        ("line_negative", 'File "a.py", line -5, in f'),
        ("no_function", 'File "a.py", line 3'),
        ("frames", 'File "a.py", line 3, in f\n    x\n' * 100_000),
        ("not_ascii", 'File "\u00e4\U0001f600\u2028", line 3, in f'),
        ("control", 'File "a\x01\x1b[31m", line 3, in f'),
    ):
        yield program_case(f"trace_{label}", set_at("graph_module.graph.nodes.0.metadata.stack_trace", text), "traced")

    calls = "graph_module.module_call_graph"
    yield program_case("calls_none", set_at(calls, []))
    yield program_case(
        "calls_duplicates",
        changed(
            lambda made: made["graph_module"].update(module_call_graph=made["graph_module"]["module_call_graph"] * 3)
        ),
    )
    yield program_case(
        "calls_children_first", changed(lambda made: made["graph_module"]["module_call_graph"].reverse())
    )
    yield program_case(
        "calls_1e6",
        changed(
            lambda made: made["graph_module"]["module_call_graph"].extend(
                {"fqn": f"a{i // 1000}.b{i % 1000}", "signature": None} for i in range(1_000_000)
            )
        ),
    )
    yield program_case(
        "calls_deep",
        changed(
            lambda made: made["graph_module"]["module_call_graph"].append(
                {"fqn": "a." * 100_000 + "a", "signature": None}
            )
        ),
    )
    yield program_case(
        "calls_deep_many",
        changed(
            lambda made: made["graph_module"]["module_call_graph"].extend(
                {"fqn": f"a{i}." * 400 + "a", "signature": None} for i in range(3_000)
            )
        ),
    )
    for label, fqn in (
        ("dots", "..."),
        ("space", " "),
        ("newline", "a\nb"),
        ("quote", 'a"b'),
        ("at", "lin@5"),
        ("at_text", "lin@x"),
        ("long", "a" * 1_000_000),
        ("not_ascii", "l\u00efn"),
        ("number", 5),
        ("null", None),
    ):
        yield program_case(
            f"calls_fqn_{label}",
            changed(
                lambda made, fqn=fqn: made["graph_module"]["module_call_graph"].append({"fqn": fqn, "signature": None})
            ),
        )

    def signed(inputs: list[Json], outputs: list[Json], in_spec: str, out_spec: str) -> Callable[[], Json]:
        signature = {
            "inputs": inputs,
            "outputs": outputs,
            "in_spec": in_spec,
            "out_spec": out_spec,
            "forward_arg_names": None,
        }
        return set_at(f"{calls}.1", {"fqn": "lin", "signature": signature})

    one, leaf = tree(arguments_spec(LEAF)), tree(LEAF)
    yield program_case("signed_sound", signed([value("x")], [value("linear")], one, leaf), "traced")
    for label, make in (
        ("unknown_values", signed([value("no")], [value("such")], one, leaf)),
        ("swapped", signed([value("linear")], [value("x")], one, leaf)),
        ("later", signed([value("relu")], [value("relu")], one, leaf)),
        ("none", signed([], [], one, leaf)),
        ("many", signed([value("x")] * 100_000, [value("linear")] * 100_000, one, leaf)),
        ("outputs_of_others", signed([value("x")], [value("relu"), value("x")], one, leaf)),
        ("garbage", signed([value("x")], [value("linear")], "garbage", "[")),
        ("wrong_types", signed([1, None, "x"], [{}], one, leaf)),
    ):
        yield program_case(f"signed_{label}", make)


def many_calls() -> Iterator[Case]:
    """Calls of leaf modules, where grouping could become quadratic."""

    def interleaved(count: int, modules: int, chain: bool) -> Json:
        nodes, last = [], "x"
        for i in range(count):
            nodes.append(relu(last, f"r{i}", in_module(f"m{i % modules}")))
            if chain:
                last = f"r{i}"
        return program(nodes, modules=[f"m{i}" for i in range(modules)])

    def numbered(count: int) -> Json:
        nodes, last = [], "x"
        for i in range(count):
            nodes.append(relu(last, f"r{i}", in_module("m", call=i)))
            last = f"r{i}"
        return program(nodes, modules=["m"])

    def all_read(count: int) -> Json:
        """Every call reads what all calls of the other module made."""
        nodes = [relu("x", f"r{i}", in_module(f"m{i % 2}")) for i in range(count)]
        nodes.append(
            node(
                "torch.ops.aten.cat.default",
                {"tensors": {"as_tensors": [{"name": f"r{i}"} for i in range(count)]}},
                "cat",
            )
        )
        return program(nodes, modules=["m0", "m1"])

    def mutated(count: int) -> Json:
        nodes = []
        for i in range(count):
            nodes.append(
                node(
                    "torch.ops.aten.add_.Tensor",
                    {"self": value("x"), "other": {"as_int": 1}},
                    f"r{i}",
                    in_module(f"m{i % 3}"),
                )
            )
        return program(nodes, modules=["m0", "m1", "m2"])

    # At most so many that a limit of the tracer is not reached, and far more.
    for count, expect in ((2_000, "traced"), (200_000, "any")):
        yield program_case(f"interleaved_chain_{count}", lambda count=count: interleaved(count, 2, True), expect)
        yield program_case(f"interleaved_free_{count}", lambda count=count: interleaved(count, 2, False), expect)
        yield program_case(f"numbered_{count}", lambda count=count: numbered(count), expect)
    for count, expect in ((2_000, "traced"), (50_000, "any")):
        yield program_case(f"interleaved_modules_{count}", lambda count=count: interleaved(count, 1_000, True), expect)
        yield program_case(
            f"interleaved_modules_free_{count}", lambda count=count: interleaved(count, 1_000, False), expect
        )
        yield program_case(f"all_read_{count}", lambda count=count: all_read(count), expect)
        yield program_case(f"mutated_{count}", lambda count=count: mutated(count), expect)


def signatures() -> Iterator[Case]:
    for where in ("in_spec", "out_spec"):
        path = f"graph_module.module_call_graph.0.signature.{where}"
        for label, text in (
            ("empty", ""), ("word", "hello"), ("null", "null"), ("list", "[]"), ("version_2", json.dumps([2, LEAF])), ("version_text", json.dumps(["1", LEAF])),
            ("no_leaf", tree(arguments_spec())), ("two_leaves", tree(arguments_spec(LEAF, LEAF))), ("leaf", tree(LEAF)), ("many_leaves", tree(arguments_spec(*[LEAF] * 100_000))),
            ("unknown_type", tree(arguments_spec(spec("pkg.Thing", LEAF)))), ("type_number", tree(arguments_spec(spec(5, LEAF)))), ("no_type", json.dumps([1, {}])),  # type: ignore[arg-type]
            ("no_children", json.dumps([1, {"type": "builtins.tuple", "context": "null"}])), ("leaf_children", tree(spec(None, LEAF, LEAF))),
            ("dict_keys_few", tree(arguments_spec(spec("builtins.dict", LEAF, LEAF, context='["a"]')))), ("dict_keys_many", tree(arguments_spec(spec("builtins.dict", LEAF, context='["a", "b"]')))),
            ("dict_keys_numbers", tree(arguments_spec(spec("builtins.dict", LEAF, context="[1]")))), ("dict_keys_same", tree(arguments_spec(spec("builtins.dict", LEAF, LEAF, context='["a", "a"]')))),
            ("dict_keys_garbage", tree(arguments_spec(spec("builtins.dict", LEAF, context="{[")))), ("dict_keys_list", tree(arguments_spec(spec("builtins.dict", LEAF, context=["a"])))),
            ("named_tuple", tree(arguments_spec(spec("collections.namedtuple", LEAF, context='"no.such.Type"')))), ("ordered_dict", tree(arguments_spec(spec("collections.OrderedDict", LEAF, context='["a"]')))),
            ("default_dict", tree(arguments_spec(spec("collections.defaultdict", LEAF, context="[1, 2]")))), ("slice", tree(arguments_spec(spec("builtins.slice", LEAF)))),
            ("wide", tree(arguments_spec(spec("builtins.list", *[spec("builtins.list")] * 100_000, LEAF)))), ("key_newline", tree(arguments_spec(spec("builtins.dict", LEAF, context='["a\\nb\\"c"]')))),
            ("key_long", tree(arguments_spec(spec("builtins.dict", LEAF, context=json.dumps(["k" * 1_000_000]))))), ("text_behind", tree(arguments_spec(LEAF)) + "x"),
        ):  # fmt: skip
            yield program_case(f"{where}_{label}", set_at(path, text))
        for wrong in (None, 5, [], {}):
            yield program_case(f"{where}_is_{json.dumps(wrong)}", set_at(path, wrong))
    names = "graph_module.module_call_graph.0.signature.forward_arg_names"
    for label, given in (
        ("none", None),
        ("short", []),
        ("long", ["x"] * 1_000),
        ("other", ["y"]),
        ("types", [1, None]),
        ("same", ["x", "x"]),
        ("text", "x"),
        ("newline", ["a\nb"]),
    ):
        yield program_case(f"argument_names_{label}", set_at(names, given))
    for label, ranges in (
        ("inverted", {"s0": {"min_val": 9, "max_val": 2}}), ("none", {"s0": {"min_val": None, "max_val": None}}), ("empty", {"s0": {}}), ("null", {"s0": None}), ("list", []),
        ("huge", {"s0": {"min_val": -(1 << 70), "max_val": 1 << 70}}), ("float", {"s0": {"min_val": 1.5, "max_val": 2.5}}), ("text", {"s0": {"min_val": "a", "max_val": "int_oo"}}),
        ("name", {"s0 + 1\n\"": {"min_val": 1, "max_val": 2}}), ("many", {f"s{i}": {"min_val": 2, "max_val": 9} for i in range(200_000)}),
    ):  # fmt: skip

        def ranged(ranges: Json = ranges) -> Json:
            made = set_at("range_constraints", ranges)()
            expression = {"as_expr": {"expr_str": "Symbol('s0', positive=True, integer=True)", "hint": {"as_int": 2}}}
            made["graph_module"]["graph"]["tensor_values"]["x"]["sizes"][0] = expression
            return made

        yield program_case(f"ranges_{label}", ranged)
    for label, text in (
        ("empty", ""),
        ("garbage", "]](("),
        ("quotes", "Symbol('s0"),
        ("no_arguments", "Add()"),
        ("unknown", "Thing(Symbol('s0'))"),
        ("python", "__import__('os').system('true')"),
        ("number", "7"),
        ("division", "1/0"),
        ("power", "Pow(Integer(10), Integer(1000000000))"),
        ("huge", "Integer(" + "9" * 10_000 + ")"),
        ("newline", "s0\n+ 1"),
        ("not_ascii", "Symbol('\u00e4')"),
        ("negative", "Integer(-5)"),
        ("overflow", "Mul(Integer(9223372036854775807), Integer(9223372036854775807))"),
        ("float", "Float('1.5', precision=53)"),
        ("behind", "s0 s1"),
    ):
        yield program_case(
            f"symbol_{label}",
            set_at(
                "graph_module.graph.tensor_values.x.sizes.0", {"as_expr": {"expr_str": text, "hint": {"as_int": 2}}}
            ),
        )
    guards = ["", "L['x'].size()[0] >= 2", "(" * 100_000, "x" * 1_000_000, 'a\nb"c']
    guards += ["a" + ".b" * 40_000, "a.b" + "+a.b" * 20_000, "not " * 20_000 + "x", "x < " * 20_000 + "x"]
    yield program_case("guards", set_at("guards_code", guards))
    yield program_case("guards_many", set_at("guards_code", ["L['x'].size()[0] >= 2"] * 300_000))
    for label, wrong in (("text", "x"), ("numbers", [1, None]), ("null", None)):
        yield program_case(f"guards_{label}", set_at("guards_code", wrong))


def models() -> Iterator[Case]:
    def several(*names: str) -> Callable[[], bytes]:
        def make() -> bytes:
            sound = json.dumps(program())
            return archive(records_of(sound) | {f"models/{of}.json": sound for of in names})

        return make

    yield Case("models_two", several("other"), "usage", says=("model", "other", "--model"))
    yield Case("models_two_named", several("other"), "traced", options=("--model", "other"))
    yield Case("models_wrong_name", several("other"), "usage", options=("--model", "no_such"), says=("model", "other"))
    yield Case("model_wrong_name", replaced({}), "usage", options=("--model", "no_such"), says=("model",))
    yield Case("models_wrong_name_near", several("decoder"), "usage", options=("--model", "decodre"), says=("decoder",))
    for label, of in (
        ("newline", "a\nb"),
        ("quote", "a\"b'c"),
        ("path", "../../x"),
        ("empty", ""),
        ("not_ascii", "\u00e4\U0001f600"),
        ("control", "a\x1b[31m"),
        ("long", "m" * 3_000),
        ("json", "a.json"),
    ):
        yield Case(f"models_named_{label}", several(of), "any or usage")
        yield Case(f"models_wrong_beside_{label}", several(of), "usage", options=("--model", "no_such"))
    yield Case("models_many", several(*(f"m{i}" for i in range(5_000))), "usage")
    yield Case("models_many_wrong", several(*(f"m{i}" for i in range(5_000))), "usage", options=("--model", "no_such"))
    yield Case(
        "models_folder",
        replaced({"models/model.json": None, "models/model.json/": "", "models/model.json/x": "{}"}),
        "any",
    )
    yield Case("models_folder_beside", replaced({"models/other.json/": ""}), "any")

    def twice() -> bytes:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as zipped:
            for data in (json.dumps(program()), "{}"):
                for record, content in records_of(data).items():
                    zipped.NameToInfo.pop(f"m/{record}", None)
                    zipped.writestr(f"m/{record}", content)
        return out.getvalue()

    yield Case("records_twice", twice, "any")


def later() -> Iterator[Case]:
    """What PyTorch 2.14 has anew, sound and not."""

    def switch(bodies: list[Json]) -> Json:
        """torch.switch, which 2.14.1 exports and does not save; as it would stand beside cond."""
        made = cond("x", "y", {}, {})
        operands = made["inputs"][-1]
        branches = [{"as_graph": {"name": f"branch{i}_graph_0", "graph": of}} for i, of in enumerate(bodies)]
        index = {"name": "", "arg": {"as_int": 1}, "kind": 1}
        made["inputs"] = [index, *({"name": "", "arg": of, "kind": 1} for of in branches), operands]
        return program([made | {"target": "torch.ops.higher_order.switch"}])

    yield program_case("switch", lambda: switch([body(relu("a", f"b{i}")) for i in range(3)]), "traced")
    yield program_case("switch_none", lambda: switch([]))
    yield program_case("switch_2000", lambda: switch([body(relu("a", "b"))] * 2_000))
    listed = program([node("torch.ops.higher_order.switch", {"branches": {"as_graphs": []}}, "y")])
    yield program_case("switch_unknown_kind", lambda: listed, "error", says=("as_graphs", "newer PyTorch"))

    def gemm(of: Json, operands: list[str], options: Json, operator: Json = "torch.ops.aten.mm.default") -> Json:
        made = node("torch.ops.higher_order.flex_gemm", {}, "y")
        inputs = [
            {"as_operator": operator},
            {"as_graph": {"name": "body_0", "graph": of}},
            {"as_tensors": [{"name": of} for of in operands]},
            {"as_string_to_argument": {}},
            {"as_string_to_argument": options},
        ]
        made["inputs"] = [{"name": "", "arg": argument, "kind": 1} for argument in inputs]
        return program([made])

    sound = body(relu("a", "b"))
    nested: Json = {"as_int": 1}
    for _ in range(200):
        nested = {"as_string_to_argument": {"a": nested}}
    yield program_case("flex_gemm", lambda: gemm(sound, ["x"], {"backend": {"as_string": "TRITON"}}), "traced")
    yield program_case("flex_gemm_no_operands", lambda: gemm(sound, [], {}))
    yield program_case("flex_gemm_many_operands", lambda: gemm(sound, ["x"] * 100_000, {}))
    yield program_case("flex_gemm_gives_input", lambda: gemm(body(), ["x"], {}), "traced")
    yield program_case("flex_gemm_deep_options", lambda: gemm(sound, ["x"], {"a": nested}), "error")
    yield program_case("flex_gemm_many_options", lambda: gemm(sound, ["x"], {f"k{i}": {"as_int": 1} for i in range(100_000)}))
    for label, operator in (("number", 5), ("null", None), ("empty", ""), ("python", "os.system"), ("newline", "a\nb")):
        yield program_case(f"flex_gemm_operator_{label}", lambda of=operator: gemm(sound, ["x"], {}, of))

    at = "graph_module.graph.nodes.0.inputs.2.arg"
    for label, given, expect in (
        ("ints", {"as_int_lists": [[1, 2], [3]]}, "any"), ("empty", {"as_int_lists": []}, "any"), ("empties", {"as_int_lists": [[], []]}, "any"),
        ("floats", {"as_float_lists": [[0.5], [], ["Infinity"]]}, "any"), ("flat", {"as_int_lists": [1, 2]}, "error"), ("null", {"as_int_lists": None}, "error"),
        ("deep", {"as_int_lists": [[[1]]]}, "error"), ("text", {"as_int_lists": [["a"]]}, "error"), ("float", {"as_int_lists": [[1.5]]}, "error"),
        ("huge", {"as_int_lists": [[1 << 70]]}, "error"), ("objects", {"as_float_lists": [{}]}, "error"), ("many", {"as_int_lists": [[1]] * 1_000_000}, "any"),
    ):  # fmt: skip
        yield program_case(f"lists_{label}", set_at(at, given), expect)
    for label, given, expect in (
        ("sound", {"name": "_custom_obj_0", "class_fqn": "net.Mode"}, "traced"), ("no_type", {"name": "_custom_obj_0"}, "traced"), ("no_name", {"class_fqn": "net.Mode"}, "error"),
        ("type_number", {"name": "o", "class_fqn": 5}, "error"), ("type_list", {"name": "o", "class_fqn": []}, "error"), ("name_null", {"name": None, "class_fqn": "a"}, "error"),
        ("of_value", {"name": "x", "class_fqn": "net.Mode"}, "any"), ("of_later", {"name": "relu", "class_fqn": "net.Mode"}, "error"), ("newline", {"name": "a\nb", "class_fqn": "\x1b[31m\n"}, "any"),
        ("empty", {"name": "", "class_fqn": ""}, "any"), ("long", {"name": "n" * 1_000_000, "class_fqn": "t" * 1_000_000}, "any"),
    ):  # fmt: skip
        yield program_case(f"object_{label}", set_at(at, {"as_custom_obj": given}), expect)

    def opaque(entry: Json, record: bytes | None) -> Callable[[], bytes]:
        def make() -> bytes:
            records = {"data/constants/model_constants_config.json": json.dumps({"config": {"lifted_custom_0": entry}})}
            return replaced(records | ({} if record is None else {"data/constants/opaque_obj_0": record}))()

        return make

    entry = {"path_name": "opaque_obj_0", "is_param": False, "use_pickle": True, "tensor_meta": None}
    calls = PROTO + name("os", "system") + tuple_of(b"X\x04\0\0\0true") + b"R" + STOP
    yield Case("opaque", opaque(entry, PROTO + b"N" + STOP), "traced")
    yield Case("opaque_no_record", opaque(entry, None), "traced")
    yield Case("opaque_calls", opaque(entry, calls), "traced")  # its pickle is not read
    yield Case("opaque_deep", opaque(entry, PROTO + b"(" * 3_000_000 + STOP), "traced")
    yield Case("opaque_path_number", opaque(entry | {"path_name": 5}, None), "any")


COMPILED = "data/aotinductor/model/"


def compiled_records() -> dict[str, bytes | str]:
    metadata = {"AOTI_DEVICE_KEY": "cpu", "AOTI_PLATFORM": "linux", "AOTI_MACHINE": "x86_64"}
    source = 'constants_info_[0].name = "w";\nconstants_info_[0].shape = {2, 3};\ninputs_info_[0].name = "x";\n'
    return {
        COMPILED + "a.wrapper_metadata.json": json.dumps(metadata),
        COMPILED + "a.wrapper.cpp": source,
        COMPILED + "a.wrapper.json": json.dumps({"nodes": [{"name": "b", "node": {"target": "lib::op"}}]}),
        COMPILED + "a.wrapper.so": b"\x7fELF\2\1\1" + bytes(9) + b"\3\0\x3e\0" + bytes(44),
        COMPILED + "weights_config.json": json.dumps({"w": ["weight_0", [2, 3], [3, 1], 0]}),
        "archive_format": "pt2",
    }


def compiled() -> Iterator[Case]:
    """Models that AOTInductor compiled; of `fxtrace inspect`."""

    def case(of: str, records: dict[str, bytes | str | None], expect: str = "error") -> Case:
        def make() -> bytes:
            return archive({record: data for record, data in (compiled_records() | records).items() if data is not None})

        return Case(f"compiled_{of}", make, expect, command="inspect")

    for record in compiled_records():
        if record != "archive_format":
            stem = record.removeprefix(COMPILED)
            yield case(f"without_{stem}", {record: None}, "shown")
            yield case(f"empty_{stem}", {record: ""}, "error" if stem.endswith(".json") else "shown")
    yield case("sound", {}, "shown")
    yield case("nothing", {record: None for record in compiled_records() if record != "archive_format"} | {COMPILED + "x": ""}, "shown")
    notes = {
        "a.wrapper_metadata.json": [[], 5, None, "text", {"AOTI_DEVICE_KEY": 5}, {"AOTI_DEVICE_KEY": None}, {"AOTI_MACHINE": {}}, {f"k{i}": "" for i in range(100_000)}],
        "a.wrapper.json": [[], None, {"nodes": {}}, {"nodes": [5]}, {"nodes": [{}]}, {"nodes": [{"node": []}]}, {"nodes": [{"node": {"target": 5}}]}],
        "weights_config.json": [[], {"w": {}}, {"w": []}, {"w": ["f", 5, [], 0]}, {"w": ["f", [-1], [1], 0]}, {"w": ["f", [1 << 70], [1], 0]},
                                {"w": ["f", [1] * 1_000, [1], 0]}, {"w": ["f", [None], [1], 0]}, {f"w{i}": ["f", [], [], 0] for i in range(200_000)}],
        "custom_objs_config.json": [[], {"o": 5}, {"o": None}, {f"o{i}": "f" for i in range(200_000)}],
    }  # fmt: skip
    for stem, wrong in notes.items():
        for i, content in enumerate(wrong):
            yield case(f"{stem}_{i}", {COMPILED + stem: json.dumps(content)})
        yield case(f"{stem}_cut", {COMPILED + stem: '{"a": '})
        yield case(f"{stem}_deep", {COMPILED + stem: '{"a":' * 1_000_000})
        yield case(f"{stem}_binary", {COMPILED + stem: b"\xff\xfe\0"})
    yield case("strange_text", {COMPILED + "a.wrapper_metadata.json": json.dumps({"\x1b[31m\n": "\u202e\n" * 1_000})}, "shown")
    for label, source in (
        ("numbers", "constants_info_[99999999999999999999].name = 1;\nconstants_info_[0].shape = {99999999999999999999, -1};\n"),
        ("index", 'constants_info_[18446744073709551615].name = "w";\n'),
        ("unclosed", 'constants_info_[0].name = "w;\nconstants_info_[0].shape = {1, 2;\ninputs_info_['),
        ("binary", b"\xff\0" * 100_000 + b'\ninputs_info_[0].name = "\xff\x1b[31m";\n'),
        ("sizes", "constants_info_[0].shape = {" + "1, " * 1_000_000 + "1};\n"),
        ("bytes", "constants_info_[0].data_size = 1e400;\n"),
        ("long_line", 'inputs_info_[0].name = "' + "a" * 20_000_000 + '";\n'),
        ("many_lines", "\n" * 20_000_000),
    ):
        yield case(f"source_{label}", {COMPILED + "a.wrapper.cpp": source}, "shown")
    many = "".join(f'inputs_info_[{i}].name = "a";\n' for i in range(200_000))
    yield case("source_many", {COMPILED + "a.wrapper.cpp": many})
    yield case("models_20000", {f"data/aotinductor/m{i}/a.so": "" for i in range(20_000)}, "shown")
    yield case("model_names", {f"data/aotinductor/{of}/a.so": "" for of in ("..", "a\nb", "\x1b[31m", "n" * 3_000)}, "shown")
    for label, head in (("cut", b"\x7fELF"), ("pe", b"MZ" + b"\xff" * 100), ("mach_o", b"\xcf\xfa\xed\xfe"), ("zip", b"PK\5\6" + bytes(18))):
        yield case(f"library_{label}", {COMPILED + "a.wrapper.so": head}, "shown")
    whole = 255 << 24
    for stem, byte in (("a.wrapper.cpp", b"\n"), ("a.wrapper_metadata.json", b" "), ("a.wrapper.so", b"\0")):
        data, size = deflated(b"", byte * (16 << 20), whole >> 24)
        made = lambda stem=stem, data=data, size=size: one_record(COMPILED + stem, data, 8, size, crc=0)  # noqa: E731
        expect = "shown" if stem.endswith(".so") else "error"
        yield Case(f"compiled_bomb_{stem}", made, expect, command="inspect")


def unknown_fields(made: Json) -> Json:
    """A copy with a field that no version of torch knows in every object whose keys are fields."""
    free = {"tensor_values", "sym_int_values", "sym_bool_values", "sym_float_values", "custom_obj_values", "metadata",
            "range_constraints", "opset_version", "treespec_namedtuple_fields", "as_string_to_argument", "config"}  # fmt: skip

    def walk(part: Json, is_map: bool, is_union: bool) -> Json:
        if isinstance(part, list):
            return [walk(item, False, is_union) for item in part]
        if not isinstance(part, dict):
            return part
        done = {key: walk(item, key in free, False) for key, item in part.items()}
        union = len(part) == 1 and next(iter(part)).startswith("as_") or set(part) & {
            "user_input", "parameter", "buffer", "tensor_constant", "custom_obj", "token", "constant_input", "user_output",
            "loss_output", "buffer_mutation", "gradient_to_parameter", "gradient_to_user_input", "user_input_mutation",
            "parameter_mutation"}  # fmt: skip
        if not is_map and not union:
            done["field_of_the_future"] = {"as_thing": [1, {"name": "x"}, None]}
        return done

    return walk(copy.deepcopy(made), False, False)


def model_names(data: bytes) -> list[str]:
    """Of the programs in an archive; one without a name in the old layout."""
    with zipfile.ZipFile(io.BytesIO(data)) as zipped:
        names = [record.partition("/models/")[2] for record in zipped.namelist() if "/models/" in record]
    return [of.removesuffix(".json") for of in names] or [""]


def first_model(data: bytes) -> tuple[str, ...]:
    names = model_names(data)
    return ("--model", names[0]) if len(names) > 1 else ()


def records_in(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as zipped:
        return {record: zipped.read(record) for record in zipped.namelist()}


def unknown_field_pairs() -> list[tuple[str, bytes, bytes]]:
    """Archives that must give the same graphs."""
    pairs = [("program", packed(json.dumps(program())), packed(json.dumps(unknown_fields(program()))))]
    for path in [SAMPLE, *OTHER_SAMPLES]:
        with open(path, "rb") as file:
            plain = file.read()
        extended = {
            record: json.dumps(unknown_fields(json.loads(data))).encode() if record.endswith(".json") else data
            for record, data in records_in(plain).items()
        }
        pairs.append((os.path.basename(path), plain, archive_of(extended)))
    return pairs


def damaged() -> Iterator[Case]:
    for path in (SAMPLE, OTHER_SAMPLES[0]):
        with open(path, "rb") as file:
            sample = file.read()
        label = os.path.basename(path).partition(".")[0]
        for part in range(24):
            yield Case(
                f"{label}_cut_{part}", lambda sample=sample, part=part: sample[: len(sample) * part // 24], "error"
            )
        for less in (1, 10, 21, 22, 23, 100):
            yield Case(f"{label}_cut_by_{less}", lambda sample=sample, less=less: sample[:-less], "any")
        yield Case(f"{label}_without_beginning", lambda sample=sample: sample[100:], "any")
        yield Case(f"{label}_twice", lambda sample=sample: sample + sample, "any")


def flipped() -> Iterator[Case]:
    """One bit of the file; one of the JSON, with a checksum that says nothing of it."""
    chooser = random.Random(11)

    def flip(data: bytes) -> tuple[int, bytes]:
        position = chooser.randrange(len(data))
        changed = bytearray(data)
        changed[position] ^= 1 << chooser.randrange(8)
        return position, bytes(changed)

    for index in range(400):
        path = [SAMPLE, *OTHER_SAMPLES][index % (1 + len(OTHER_SAMPLES))]
        with open(path, "rb") as file:
            data = file.read()
        options = first_model(data)
        if index < 100:
            position, data = flip(data)
        else:
            records = records_in(data)
            record = chooser.choice(
                [record for record in records if record.endswith(".json") and len(records[record]) > 20]
            )
            position, records[record] = flip(records[record])
            data = archive_of(records)
        yield Case(f"flipped_{index}_at_{position}", lambda data=data: data, "any or usage", options)


def places(part: Json, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    if isinstance(part, (dict, list)):
        for key, item in part.items() if isinstance(part, dict) else enumerate(part):
            yield from places(item, (*path, key))


MISSING = object()


def mutated() -> Iterator[Case]:
    """Programs with one value replaced by one of another type, or taken away."""
    chooser = random.Random(13)
    others = [None, -1, 0, 1 << 63, "x", "", [], {}, 1e308, True, [[]], {"as_int": 1}, {"name": "x"}, MISSING]
    for path in [SAMPLE, *OTHER_SAMPLES]:
        with open(path, "rb") as file:
            sample = file.read()
        sound, options = records_in(sample), first_model(sample)
        for record in [record for record in sound if record.endswith(".json")]:
            found = list(places(json.loads(sound[record])))
            count = 60 if "program" in record or "models/" in record else 6
            for place in chooser.sample(found, min(len(found), count)):
                other = chooser.choice(others)
                part = made = json.loads(sound[record])
                for key in place[:-1]:
                    part = part[key]
                if other is MISSING:
                    part.pop(place[-1])
                else:
                    part[place[-1]] = other
                records = sound | {record: json.dumps(made).encode()}
                shown = "nothing" if other is MISSING else json.dumps(other)
                where = ".".join(map(str, place))
                label = f"{os.path.basename(path)}:{record}:{where}={shown}"
                yield Case(label, lambda records=records: archive_of(records), "any", options)


def cases() -> list[Case]:
    groups = (
        texts,
        deep,
        large,
        versions,
        records,
        constants,
        references,
        tokens,
        stacks,
        many_calls,
        signatures,
        models,
        later,
        damaged,
    )
    return [case for group in groups for case in group()]


if __name__ == "__main__":
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for made in [*cases(), *compiled(), *flipped(), *mutated()]:
        with open(os.path.join(folder, made.name.replace("/", "_")[:200] + ".pt2"), "wb") as out_file:
            out_file.write(made.make())
