"""Tests check --security on bytecode for the lite interpreter: what torch writes holds, and nothing that passes ends the process that runs it."""

import functools
import os
import pathlib
import pickle
import random
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import archive_edit
import mobile_archives
import pytest
import tiers
from mobile_archives import MODELS, made, with_bytecode

FIRST = ("lists", "state", "quantized", "interfaces")
made = functools.cache(made)


def names_of_held(program, folder: pathlib.Path, files: dict[str, bytes]) -> tuple[set[str], str]:
    """Those of which check --security says that all rules hold, and what it says of all."""
    for name, data in files.items():
        (folder / name).write_bytes(data)
    done = subprocess.run([program.path, "check", "--security", "--", *files], cwd=folder, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    return set(re.findall(r"^(.*): all \d+ rules hold$", done.stdout, re.M)), done.stdout


# --- what torch writes ---


@pytest.mark.parametrize("name", [name if name in FIRST else pytest.param(name, marks=pytest.mark.volume) for name in MODELS])
def test_archives_of_torch_hold(program, tmp_path, name):
    files = {"plain.ptl": made(name), "debug.ptl": made(name, _save_mobile_debug_info=True)}
    for version in (4, 5, 6, 7):
        backported = tmp_path / "newest"
        backported.write_bytes(files["plain.ptl"])
        files[f"version_{version}.ptl"] = mobile_archives.backported(backported, version)
    held, said = names_of_held(program, tmp_path, files)
    assert held == set(files), said


# --- what leaves memory ---

Table = dict[str, Any]
Edit = Callable[[Table], None]


def in_method(model: str, edit: Edit, number: int = 0) -> bytes:
    """The archive with another table of code in one of its methods."""

    def change(code: tuple) -> tuple:
        methods = list(code)
        name, table, schema = methods[number + 1]
        fields = dict(table)
        edit(fields)
        methods[number + 1] = (name, tuple(fields.items()), schema)
        return tuple(methods)

    return with_bytecode(made(model), change)


def replaced(opcode: str, new: Callable[[str, int, int], tuple], which: int = 0) -> Edit:
    """Replaces an instruction of the method."""

    def edit(table: Table) -> None:
        found = [i for i, instruction in enumerate(table["instructions"]) if instruction[0] == opcode]
        at = found[which]
        table["instructions"] = (*table["instructions"][:at], new(*table["instructions"][at]), *table["instructions"][at + 1 :])

    return edit


def inserted(at: int, *instructions: tuple) -> Edit:
    def edit(table: Table) -> None:
        table["instructions"] = (*table["instructions"][:at], *instructions, *table["instructions"][at:])

    return edit


def with_x(value: int) -> Callable[[str, int, int], tuple]:
    return lambda opcode, x, n: (opcode, value, n)


def with_n(value: int) -> Callable[[str, int, int], tuple]:
    return lambda opcode, x, n: (opcode, x, value)


def field(name: str, value: Any) -> Edit:
    return lambda table: table.update({name: value})


def given(number: int) -> Edit:
    """Says that its operators get another number of arguments."""
    return lambda table: table.update(operators=tuple((*operator[:2], number) for operator in table["operators"]))


def operator(name: str, overload: str = "") -> Edit:
    return lambda table: table.update(operators=tuple((name, overload) for _ in table["operators"]))


def constant(old: Any, new: Any) -> Edit:
    return lambda table: table.update(constants=tuple(new if each == old and type(each) is type(old) else each for each in table["constants"]))


def in_data(model: str, edit: Callable[[mobile_archives.Call], Any]) -> bytes:
    def change(root: mobile_archives.Call) -> mobile_archives.Call:
        edit(root)
        return root

    return with_bytecode(made(model), change, "data.pkl")


def in_arguments(model: str, edit: Callable[[list], None], number: int = 0, results: bool = False) -> bytes:
    """The archive with other arguments, or results, of a method."""

    def change(code: tuple) -> tuple:
        methods = list(code)
        name, table, schema = methods[number + 1]
        tables = [list(part) for _, part in schema]
        edit(tables[results])
        methods[number + 1] = (name, table, (("arguments", tuple(tables[0])), ("returns", tuple(tables[1]))))
        return tuple(methods)

    return with_bytecode(made(model), change)


def argument(name: str, type_name: str, default: Any = None) -> tuple:
    return ("name", name), ("type", type_name), ("default_value", default)


def without_debug_lists(handles: tuple) -> tuple:
    return (handles[0], *((name, ()) for name, _ in handles[1:]))


def shorter_state(root: mobile_archives.Call) -> None:
    root.state = root.state[:2]


def wrong_tag(root: mobile_archives.Call) -> None:
    root.state["pairs"].arguments = ([(1, 2.5), (1, 2.5, 3)], root.state["pairs"].arguments[1])


COUNTER_SLOT = (("LOAD", 1, 0), ("GET_ATTR", 2, 0), ("GET_ATTR", 2, 0), ("DROP", 0, 0))
STATE_SLOT = (("LOAD", 1, 0), ("GET_ATTR", 0, 0), ("DROP", 0, 0))


def sliced(begin: int, count: int) -> Edit:
    return inserted(1, ("LOAD", 2, 0), ("TUPLE_CONSTRUCT", 1, 0), ("TUPLE_SLICE", begin, count), ("DROP", 0, 0))


# Each case: the kind of its offence, words of the message, and the archive.
SIZE, UNKNOWN, CODE = "size", "unknown", "code"
HOSTILE: dict[str, tuple[str, str, Callable[[], bytes]]] = {
    "operator": (SIZE, "no operator 99", lambda: in_method("flow", replaced("OP", with_x(99)))),
    "operator_negative": (SIZE, "no operator -1", lambda: in_method("flow", replaced("OP", with_x(-1)))),
    "operator_unreached": (SIZE, "no operator 99", lambda: in_method("tuples", inserted(1_000, ("OP", 99, 0)))),
    "constant": (SIZE, "no constant 99", lambda: in_method("flow", replaced("LOADC", with_x(99)))),
    "type": (SIZE, "no type 99", lambda: in_method("lists", replaced("LIST_CONSTRUCT", with_x(99)))),
    "types": (SIZE, "no types 0 to", lambda: in_method("optionals", replaced("ISINSTANCE", with_n(9)))),
    "register": (SIZE, "no register 9999", lambda: in_method("flow", replaced("LOAD", with_x(9999)))),
    "register_zero": (SIZE, "no register 0", lambda: in_method("flow", replaced("STORE", with_x(0)))),
    "registers": (SIZE, "no registers", lambda: in_method("flow", replaced("STOREN", with_n(999)))),
    "fewer_registers": (SIZE, "no register", lambda: in_method("flow", field("register_size", 1))),
    "many_registers": (SIZE, "registers, but stores", lambda: in_method("flow", field("register_size", 2**40))),
    "jump": (SIZE, "it jumps to", lambda: in_method("flow", replaced("JMP", with_x(9999)))),
    "jump_before": (SIZE, "it jumps to", lambda: in_method("flow", replaced("JF", with_x(-9999)))),
    "jump_wide": (SIZE, "do not fit", lambda: in_method("flow", replaced("JF", with_x(2**32 + 1)))),
    "loop": (SIZE, "from a stack of", lambda: in_method("flow", replaced("LOOP", with_n(60)))),
    "loop_of_nothing": (SIZE, "a loop needs", lambda: in_method("flow", replaced("LOOP", with_n(0)))),
    "underflow": (SIZE, "from a stack of 0", lambda: in_method("flow", inserted(1, ("DROP", 0, 0)))),
    "underflow_operator": (SIZE, "from a stack of", lambda: in_method("custom", inserted(1, ("OP", 0, 0)))),
    "underflow_tuple": (SIZE, "from a stack of", lambda: in_method("tuples", replaced("TUPLE_CONSTRUCT", with_x(50)))),
    "underflow_list": (SIZE, "from a stack of", lambda: in_method("lists", replaced("LIST_CONSTRUCT", with_n(50)))),
    "underflow_dict": (SIZE, "from a stack of", lambda: in_method("dicts", replaced("DICT_CONSTRUCT", with_n(50)))),
    "key_alone": (SIZE, "a key has no value", lambda: in_method("dicts", inserted(1, ("LOADC", 0, 0), ("DICT_CONSTRUCT", 0, 1), ("DROP", 0, 0)))),
    "underflow_format": (SIZE, "from a stack of", lambda: in_method("raises", replaced("FORMAT", with_x(50)))),
    "format_of_nothing": (SIZE, "formats no text", lambda: in_method("raises", replaced("FORMAT", with_x(0)))),
    "underflow_variadic": (SIZE, "from a stack of", lambda: in_method("raises", replaced("OPN", with_n(50)))),
    "underflow_call": (SIZE, "from a stack of", lambda: in_method("interfaces", replaced("INTERFACE_CALL", with_n(9)))),
    "call_of_nothing": (SIZE, "method of no object", lambda: in_method("interfaces", replaced("INTERFACE_CALL", with_n(0)))),
    "call_with_less": (SIZE, "takes 2 arguments", lambda: in_method("interfaces", replaced("INTERFACE_CALL", with_n(1)))),
    "stacks_that_differ": (SIZE, "is reached with stacks of", lambda: in_method("flow", replaced("JMP", lambda opcode, x, n: ("JMP", x - 1, n)))),
    "no_return": (SIZE, "does not return", lambda: in_method("tuples", replaced("RET", lambda *_: ("DROP", 0, 0)))),
    "return_of_nothing": (SIZE, "it returns 0 values", lambda: in_method("tuples", inserted(1, ("RET", 0, 0)))),
    "no_instructions": (SIZE, "no instructions", lambda: in_method("flow", field("instructions", ()))),
    "slot": (SIZE, "takes number 9", lambda: in_method("flow", replaced("GET_ATTR", with_x(9)))),
    "slot_negative": (SIZE, "negative", lambda: in_method("flow", replaced("GET_ATTR", with_x(-1)))),
    "slot_set": (SIZE, "sets number 99999999", lambda: in_method("flow", replaced("SET_ATTR", with_x(99_999_999)))),
    "slot_of_another": (SIZE, "takes number 2", lambda: in_method("custom", inserted(1, *COUNTER_SLOT))),
    "slot_of_no_object": (UNKNOWN, "of which class", lambda: in_method("flow", inserted(1, ("LOAD", 2, 0), ("GET_ATTR", 0, 0), ("DROP", 0, 0)))),
    "slot_before_its_time": (SIZE, "the object has 0 attributes", lambda: in_method("state", inserted(1, *STATE_SLOT), 2)),
    "attributes_missing": (SIZE, "attribute", lambda: in_data("flow", lambda root: root.state.pop("steps"))),
    "attribute_of_another_class": (SIZE, "attribute", lambda: in_data("custom", lambda root: root.state["counter"].state.clear())),
    "other_object": (
        UNKNOWN,
        "other attributes than another object",
        lambda: in_data("custom", lambda root: root.state.update(training=mobile_archives.Call("__torch__.mobile_archives.Counter", (), {}))),
    ),
    "tuple_length": (SIZE, "from a stack of 2", lambda: in_method("dicts", constant_tuple)),
    "tag": (UNKNOWN, "items do not have", lambda: in_data("lists", wrong_tag)),
    "state": (UNKNOWN, "does not take", lambda: in_data("state", shorter_state)),
    "slice": (SIZE, "of a tuple of", lambda: in_method("tuples", sliced(0, 5))),
    "slice_negative": (SIZE, "negative", lambda: in_method("tuples", sliced(-1, 1))),
    "list_of_others": (UNKNOWN, "an item has the type", lambda: in_method("lists", with_pair_list)),
    "opcode": (UNKNOWN, "is not an instruction", lambda: in_method("flow", replaced("RET", lambda *_: ("CALL", 0, 0)))),
    "opcode_unknown": (UNKNOWN, "is not an instruction", lambda: in_method("flow", replaced("RET", lambda *_: ("RETURN", 0, 0)))),
    "create_object": (UNKNOWN, "is not an instruction", lambda: in_method("lists", replaced("LIST_CONSTRUCT", lambda *_: ("CREATE_OBJECT", 0, 0)))),
    "arguments_more": (SIZE, "is given 9", lambda: in_method("custom", given(9))),
    "arguments_fewer": (SIZE, "is not given its argument", lambda: in_method("custom", given(0))),
    "operator_unknown": (UNKNOWN, "does not know", lambda: in_method("custom", operator("aten::nothing_such"))),
    "operator_of_a_library": (UNKNOWN, "does not know", lambda: in_method("custom", operator("mine::add"))),
    "operator_of_any_size": (UNKNOWN, "takes a number of values that is computed", lambda: in_method("custom", operator("aten::format"))),
    "operator_old": (SIZE, "in version 3", lambda: in_method("custom", calling_linspace)),
    "file": (CODE, "which touches files", lambda: in_method("custom", operator("aten::save"))),
    "memory": (CODE, "raw memory", lambda: in_method("custom", operator("prim::FusedConcat"))),
    "union": (UNKNOWN, "none that the loader can make", lambda: in_method("lists", field("types", ("List[Union]",) * 9))),
    "no_table": (UNKNOWN, "no table", lambda: in_method("lists", lambda table: table.pop("types"))),
    "self_as_result": (UNKNOWN, "the name self", lambda: in_arguments("interfaces", with_self, results=True)),
    "default": (UNKNOWN, "a default is not", lambda: in_arguments("optionals", with_short_default)),
    "version": (UNKNOWN, "of version 17", lambda: with_bytecode(made("flow"), lambda code: (17, *code[1:]))),
    "no_schema": (UNKNOWN, "which arguments", lambda: with_bytecode(made("flow"), lambda code: (4, *(method[:2] for method in code[1:])))),
    "no_tuple": (UNKNOWN, "no method", lambda: with_bytecode(made("flow"), lambda code: (8, ("a",)))),
    "debug_handles": (
        UNKNOWN,
        "no table of debug handles",
        lambda: with_bytecode(made("flow", _save_mobile_debug_info=True), without_debug_lists, "mobile_debug_handles.pkl"),
    ),
    "text_of_a_source": (
        SIZE,
        "names a text",
        lambda: with_bytecode(made("flow"), with_text_numbers, "code/__torch__/mobile_archives.py.debug_pkl"),
    ),
    "row_of_a_source": (
        UNKNOWN,
        "no form",
        lambda: with_bytecode(made("flow"), lambda table: (*table[:2], ((0,),)), "code/__torch__/mobile_archives.py.debug_pkl"),
    ),
    "recursion": (UNKNOWN, "calls itself", lambda: in_method("interfaces", calling_itself, 1)),
    "load_loop": (CODE, "has a loop", lambda: in_method("state", inserted(1, ("JMP", 0, 0)), 2)),
    "load_operator": (CODE, "calls aten::rand", lambda: in_method("state", calling_rand, 2)),
}


def constant_tuple(table: Table) -> None:
    """Unpacks three values where there are two."""
    inserted(1, ("LOADC", 0, 0), ("OP", [name for name, *_ in table["operators"]].index("prim::TupleUnpack"), 0), ("STOREN", 1, 3))(table)
    table["constants"] = ((1, 2), *table["constants"][1:])


def with_pair_list(table: Table) -> None:
    table["types"] = ("List[Tuple[int, int]]", *table["types"])
    table["constants"] = ((1, 2, 3), *table["constants"])
    for opcode in ("LIST_CONSTRUCT", "LOADC"):
        table["instructions"] = tuple((name, x + 1, n) if name == opcode else (name, x, n) for name, x, n in table["instructions"])
    inserted(1, ("LOADC", 0, 0), ("LIST_CONSTRUCT", 0, 1), ("DROP", 0, 0))(table)


def with_text_numbers(table: tuple) -> tuple:
    tag, texts, ((offset, ((_, file, line), start, end), number), *rows) = table
    return tag, texts, ((offset, ((mobile_archives.Call("torch.jit._pickle.build_intlist", ([len(texts)],)), file, line), start, end), number), *rows)


def with_self(results: list) -> None:
    results.append(argument("self", "Tensor"))


def with_short_default(arguments: list) -> None:
    arguments[2] = argument("pair", "Tuple[int, int]", (1,))


def calling_linspace(table: Table) -> None:
    """With three arguments, in the place of the seven of version 3."""
    operator("aten::linspace")(table)
    given(3)(table)


def calling_rand(table: Table) -> None:
    table["operators"] = (("aten::rand", "", 1),)
    inserted(1, ("LOAD", 2, 0), ("OP", 0, 0), ("DROP", 0, 0))(table)


def calling_itself(table: Table) -> None:
    table["constants"] = (*table["constants"], "forward")
    inserted(1, ("LOAD", 1, 0), ("LOAD", 2, 0), ("INTERFACE_CALL", len(table["constants"]) - 1, 2), ("DROP", 0, 0))(table)


def test_hostile_bytecode_does_not_pass(program, tmp_path):
    files = {f"{name}.ptl": make() for name, (_, _, make) in HOSTILE.items()}
    held, said = names_of_held(program, tmp_path, files)
    assert not held
    for name, (kind, words, _) in HOSTILE.items():
        part = re.search(rf"^{name}\.ptl: (.*?)(?=^\S+\.ptl: |\Z)", said, re.M | re.S)
        assert part, name
        assert f"security-{kind}" in part[1].split("\nholds")[0] and words in part[1], (name, part[1])


# --- what passes is run ---

OPCODES = """OP OPN INTERFACE_CALL LOAD MOVE STORE STOREN DROP DROPR LOADC GET_ATTR SET_ATTR JF JMP LOOP RET LIST_CONSTRUCT LIST_UNPACK DICT_CONSTRUCT
    TUPLE_CONSTRUCT NAMED_TUPLE_CONSTRUCT TUPLE_SLICE TUPLE_INDEX RAISE_EXCEPTION ISINSTANCE FORMAT TO_LIST WARN DICT_INDEX UN_INITIALIZED __IS__
    __ISNOT__ __NOT__ DEVICE DTYPE DIM NUM_TO_TENSOR IS_CUDA""".split()
OPERATORS = [
    ("aten::__getitem__", "t"), ("aten::append", "t"), ("aten::insert", "t"), ("aten::pop", "t"), ("aten::list", "t"), ("aten::copy", "t"),
    ("aten::add", "t"), ("aten::add_", "t"), ("aten::extend", "t"), ("aten::_set_item", "t"), ("aten::items", "str"), ("aten::values", "str"),
    ("aten::keys", "str"), ("aten::clear", "t"), ("aten::len", "t"), ("aten::cat", ""), ("aten::cat", "out"), ("aten::mul", "out"),
    ("prim::TupleUnpack", ""), ("prim::TupleIndex", ""), ("prim::unchecked_cast", ""), ("prim::RaiseException", ""),
]  # fmt: skip
TYPES = ["List[int]", "List[Any]", "List[Tuple[int, int]]", "Dict[str, Any]", "Tuple[int, int]", "Tensor", "Any"]
RUN = [name for name in MODELS if name not in ("lstm", "gru")]  # torch cannot read the types in these


def drawn_table(draw: random.Random, table: Table) -> None:
    kind, instructions = draw.random(), list(table["instructions"])
    if kind < 0.75 and instructions:
        at, other = draw.randrange(len(instructions)), draw.randrange(len(instructions))
        opcode, x, n = instructions[at]
        near = lambda value: draw.choice([value + 1, value - 1, 0, 1, 2, -value, value + draw.randrange(-5, 6), draw.randrange(20)])  # noqa: E731
        match draw.randrange(8):
            case 0:
                instructions[at] = (draw.choice(OPCODES), x, n)
            case 1:
                instructions[at] = (opcode, near(x), n)
            case 2:
                instructions[at] = (opcode, x, max(0, near(n)))
            case 3:
                del instructions[at]
            case 4:
                instructions.insert(at, (draw.choice(OPCODES), draw.randrange(6), draw.randrange(4)))
            case 5:
                instructions[at] = instructions[other]
            case 6:
                instructions.insert(at, instructions[other])
            case 7:
                instructions[at], instructions[other] = instructions[other], instructions[at]
        table["instructions"] = tuple(instructions)
    elif kind < 0.85 and table["operators"]:
        operators = list(table["operators"])
        at = draw.randrange(len(operators))
        if draw.random() < 0.6:
            operators[at] = (*draw.choice(OPERATORS), *operators[at][2:])
        else:
            operators[at] = (*operators[at][:2], draw.randrange(-1, 8))
        table["operators"] = tuple(operators)
    elif kind < 0.9 and table["types"]:
        types = list(table["types"])
        types[draw.randrange(len(types))] = draw.choice(TYPES)
        table["types"] = tuple(types)
    elif kind < 0.96 and table["constants"]:
        constants = list(table["constants"])
        constants[draw.randrange(len(constants))] = draw.choice([None, 0, 1, -1, 5, "a", "forward", (1, 2), True, 2.5, (1, (2, 3), 4)])
        table["constants"] = tuple(constants)
    else:
        table["register_size"] = draw.randrange(20)


def drawn_data(draw: random.Random, root: Any) -> Any:
    objects: list[mobile_archives.Call] = []

    def walk(value: Any) -> None:
        if isinstance(value, mobile_archives.Call):
            if isinstance(value.state, dict):
                objects.append(value)
            walk(value.state)
        elif isinstance(value, dict):
            for each in value.values():
                walk(each)

    walk(root)
    state = draw.choice(objects).state if objects else {}
    if state:
        name, other = draw.choice(list(state)), draw.choice(list(state))
        match draw.randrange(3):
            case 0:
                del state[name]
            case 1:
                state[name] = draw.choice([None, 1, (1, 2), (1, 2, 3), "a"])
            case 2:
                state[name], state[other] = state[other], state[name]
    return root


def drawn(draw: random.Random, model: str) -> bytes:
    archive = made(model, _save_mobile_debug_info=draw.random() < 0.3)
    if draw.random() < 0.1:
        archive = with_bytecode(archive, lambda root: drawn_data(draw, root), "data.pkl")

    def change(code: tuple) -> tuple:
        methods = list(code)
        for _ in range(draw.choice([1, 1, 1, 2, 3, 6])):
            at = draw.randrange(1, len(methods))
            name, table, schema = methods[at]
            fields = dict(table)
            drawn_table(draw, fields)
            methods[at] = (name, tuple(fields.items()), schema)
        return tuple(methods)

    return with_bytecode(archive, change)


def run(path: str, model: str) -> None:
    """Loads and calls it.  Its forward gets what it says that it takes: for other arguments, LibTorch reads a stack trace that it does not have."""
    loaded = mobile_archives.load(path)
    for _ in range(2):  # the first call may change attributes
        try:
            loaded(*MODELS[model][1])
        except Exception:
            pass


def main() -> None:
    """Runs each archive of the list on stdin in a process of its own, and prints the signals that end them."""
    import torch

    torch.set_num_threads(1)
    for path, model in pickle.load(sys.stdin.buffer):
        child = os.fork()
        if child == 0:
            resource.setrlimit(resource.RLIMIT_DATA, (3 << 30, 3 << 30))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.dup2(1, 2)
            try:
                run(path, model)
            finally:
                os._exit(0)
        end = time.monotonic() + 2
        done, status = os.waitpid(child, os.WNOHANG)
        while not done and time.monotonic() < end:  # a loop may have no end
            time.sleep(0.002)
            done, status = os.waitpid(child, os.WNOHANG)
        if not done:
            os.kill(child, 9)
            os.waitpid(child, 0)
        # LibTorch's operators divide integers by zero, in code of TorchScript too: that touches no memory.
        elif os.WIFSIGNALED(status) and os.WTERMSIG(status) != signal.SIGFPE:
            print(os.path.basename(path), model, "signal", os.WTERMSIG(status))


@pytest.mark.parametrize("seed,count", [(0, 60), pytest.param(tiers.turn(), 1500, marks=pytest.mark.volume)])
def test_what_passes_ends_no_process(program, tmp_path, seed, count):
    draw = random.Random(seed)
    models = {f"{i}.ptl": draw.choice(RUN if count > 1000 else ["lists", "state", "interfaces"]) for i in range(count)}
    held, _ = names_of_held(program, tmp_path, {name: drawn(draw, model) for name, model in models.items()})
    assert 0.1 * count < len(held) < 0.6 * count  # else nothing is tried, or nothing is refused
    todo = [(str(tmp_path / name), models[name]) for name in sorted(held)]
    done = subprocess.run([sys.executable, __file__], input=pickle.dumps(todo), capture_output=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0 and done.stdout == b"", done.stdout.decode() + done.stderr.decode()


if __name__ == "__main__":
    main()
