"""Programs with planted texts that leave a mark when they are evaluated, and what a user does with a program, step by step."""

import collections
import io
import json
import os
import pathlib
import signal
import zipfile
from collections.abc import Iterator

import torch
import torch.utils._pytree as pytree

SECONDS = 20  # for all steps of one file
JSON = "<json>"  # a step of a path: into a text that is JSON

Records = dict[str, bytes]


class Key(str):
    """A step of a path: the key itself, not its value."""


def texts(mark: pathlib.Path) -> dict[str, str]:
    """Texts for the ways in which a text can be taken for code; each opens the file `mark`."""
    code = f"open('{mark}','w')"
    run = f"exec(bytes(({','.join(str(ord(c)) for c in code)})))"  # without quotes, dots, blanks and backslashes
    return {
        "call": code,
        "plain": run,
        "between single": f"x' or {run} or 'y",
        "between double": f'x" + str({run}) + "y',
        "single in double": f"+str({run})+''",
        "ends single": f"x'); {run} #",
        "ends double": f'x"); {run} #',
        "argument": f"x={run}",
        "lines": f"x):\n  pass\n{run}\ndef forward(y",
        "guard lines": f"' #\n, '')\n{run}\ndef _(*args):\n  1 #",
        "braces": f"x{{{run}}}",
        "backslash": f"a((\\. if {run} else self))#",
        "triple": f'""";{run};"""',
        "item": f"x'] or {run} or y['z",
    }


# --- programs ---

Point = collections.namedtuple("Point", "px py")
pytree._register_namedtuple(Point, serialized_type_name="planted_texts.Point")


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(4, 4)

    def forward(self, x, *, scale=None):
        y = torch.relu(self.inner(x))
        return y if scale is None else y * scale


class Names(torch.nn.Module):
    """Parameters, buffers, constants, a submodule with a kept signature, keywords and custom metadata."""

    def __init__(self):
        super().__init__()
        self.block = Block()
        self.weight = torch.nn.Parameter(torch.ones(4))
        self.register_buffer("count", torch.zeros(4))
        self.register_buffer("loose", torch.ones(4), persistent=False)
        self.table = torch.tensor([1.0, 2.0, 3.0, 4.0])

    def forward(self, x, *, scale=None):
        self.count.add_(1)
        with torch.fx.traceback.annotate({"stage": "first"}):
            y = self.block(x, scale=scale) * self.weight + self.table
        return {"out": y + self.loose, "sum": y.sum()}


class Constants(torch.nn.Module):
    def forward(self, x, text, number, flag, nothing, real):
        y = x * number if flag else x
        return y + real + (1 if text == "mean" else 2)


class Trees(torch.nn.Module):
    def forward(self, pair, tree, *, more):
        return Point(pair[0] + tree["a"] + more["key one"][0], pair[1] * tree["b"]["c"]), [more["key two"]]


class Sizes(torch.nn.Module):
    def forward(self, x, y, n):
        torch._check(n > 2)
        z = x.reshape(x.shape[0] * x.shape[1]) + n
        u = y.sum().to(torch.int64).item()
        torch._check(u >= 0)
        return torch.zeros(u + 1), z, x.shape[0] // 2


class Branches(torch.nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda v: (v.sin(),), lambda v: (v.cos(),), (x,))


class Types(torch.nn.Module):
    def forward(self, x):
        y = x.to(torch.float8_e4m3fn).to(torch.float32)
        z = torch.full((2,), 1 + 2j, dtype=torch.complex64)
        q = torch.div(x, 2, rounding_mode="floor").topk(2)
        return y + float("inf"), z, q.values, torch.einsum("ij->ji", x), torch.split(x, 2)[0]


def program(name: str) -> torch.export.ExportedProgram:
    x = torch.ones(2, 4)
    dim = torch.export.Dim
    if name == "names":
        options = {"preserve_module_call_signature": ("block",), "strict": False}
        return torch.export.export(Names(), (x,), {"scale": torch.tensor(2.0)}, **options)
    if name == "constants":
        return torch.export.export(Constants(), (x, "mean", 3, True, None, 1.5))
    if name == "trees":
        return torch.export.export(Trees(), ((x, x), {"a": x, "b": {"c": x}}), {"more": {"key one": (x,), "key two": x}})
    if name == "sizes":
        shapes = {"x": {0: dim("a", min=3, max=100), 1: dim("b", min=3, max=50)}, "y": {0: dim.AUTO}, "n": dim.DYNAMIC}
        return torch.export.export(Sizes(), (torch.ones(4, 6), torch.ones(5), 7), dynamic_shapes=shapes)
    if name == "branches":
        return torch.export.export(Branches(), (x,))
    return torch.export.export(Types(), (torch.rand(4, 4),))


PROGRAMS = ("names", "constants", "trees", "sizes", "branches", "types")


def records_of(name: str) -> Records:
    buffer = io.BytesIO()
    torch.export.save(program(name), buffer)
    with zipfile.ZipFile(buffer) as file:
        return {info.filename: file.read(info) for info in file.infolist()}


# --- places: paths into JSON, and into JSON that is a text of it ---


def parsed(text: str) -> object:
    """The list or object that a text is; None for other texts."""
    if text[:1] not in ("[", "{"):
        return None
    try:
        return json.loads(text)
    except ValueError:
        return None


def places(value, path: tuple = ()) -> Iterator[tuple[tuple, object]]:
    """Every scalar and key, with its path."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield (*path, Key(key)), key
            yield from places(item, (*path, key))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from places(item, (*path, number))
    else:
        yield path, value
        if isinstance(value, str) and (inner := parsed(value)) is not None:
            yield from places(inner, (*path, JSON))


def changed(value, path: tuple, new):
    if not path:
        return new
    step, rest = path[0], path[1:]
    if isinstance(step, Key):
        return {new if key == step else key: item for key, item in value.items()}
    if step == JSON and isinstance(value, str):
        return json.dumps(changed(json.loads(value), rest, new))
    copy = value.copy()
    copy[step] = changed(value[step], rest, new)
    return copy


def shape_of(path: tuple) -> str:
    """The path without numbers, by which alike places are told apart."""
    return ".".join("[]" if isinstance(step, int) else f"KEY {step}" if isinstance(step, Key) else step for step in path)


def planted(records: Records, mark: pathlib.Path) -> Iterator[tuple[str, Records]]:
    """Each text in one place of each shape; of numbers some."""
    every = texts(mark)
    wrong_types = ("call", "plain", "between single", "guard lines")
    seen = set()
    for record in [each for each in records if each.endswith(".json")]:
        document = json.loads(records[record])
        for path, value in places(document):
            shape = f"{record.partition('/')[2]} {shape_of(path)}"
            if shape in seen:
                continue
            seen.add(shape)
            for what in every if isinstance(value, str) else wrong_types:
                yield f"{shape}: {what}", {**records, record: json.dumps(changed(document, path, every[what])).encode()}


def with_sample_key(records: Records, old: str, new: object) -> Records:
    """The records with a key of the example inputs renamed."""
    name = next(each for each in records if "/data/sample_inputs/" in each)

    def walk(value):
        if isinstance(value, dict):
            return {new if key == old else key: walk(item) for key, item in value.items()}
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*map(walk, value))
        return type(value)(map(walk, value)) if isinstance(value, (list, tuple)) else value

    buffer = io.BytesIO()
    torch.save(walk(torch.load(io.BytesIO(records[name]), weights_only=False)), buffer)
    return {**records, name: buffer.getvalue()}


def made(every: dict[str, Records], mark: pathlib.Path) -> Iterator[tuple[str, Records]]:
    """Texts whose places no other text of a program has."""
    text = texts(mark)
    for what in ("between double", "single in double", "ends double"):
        yield f"example inputs: {what}", with_sample_key(every["trees"], "a", text[what])
        yield f"example inputs: {what}, as bytes", with_sample_key(every["trees"], "a", text[what].encode())
        yield f"example inputs: {what}, in a tuple", with_sample_key(every["trees"], "a", (1, text[what]))

    def program_of(name: str, change) -> Records:
        record = next(each for each in every[name] if "/models/" in each)
        document = json.loads(every[name][record])
        change(document)
        return {**every[name], record: json.dumps(document).encode()}

    def context(new: str):
        def change(document):
            for entry in document["graph_module"]["module_call_graph"]:
                if entry["signature"]:
                    spec = json.loads(entry["signature"]["in_spec"])
                    spec[1]["children_spec"][1]["context"] = new
                    entry["signature"]["in_spec"] = json.dumps(spec)

        return change

    for new in (json.dumps({text["argument"]: 0}), json.dumps(text["argument"]), text["argument"]):
        yield f"keywords: {new[:10]}", program_of("trees", context(new))
    call = text["plain"]
    guard = f"1 == 1 or L[\"+{call}+\"] == 1 and " + "+".join(["1"] * 3000)
    yield "a guard with a key between double quotes", program_of("sizes", lambda p: p.update(guards_code=[guard]))

    def stacks(document):
        for node in document["graph_module"]["graph"]["nodes"]:
            stack = node["metadata"].get("nn_module_stack", "")
            node["metadata"]["nn_module_stack"] = stack.replace(",block,", f",{text['backslash']},")

    yield "a path with a backslash", program_of("names", stacks)
    for kind in ("weights", "constants"):
        record = next(each for each in every["names"] if each.endswith(f"_{kind}_config.json"))
        config = json.loads(every["names"][record])
        if config["config"]:
            first = next(iter(config["config"].values()))
            config["config"][text["between single"]] = first
            yield f"a name of {kind}", {**every["names"], record: json.dumps(config).encode()}
    folder = next(iter(every["names"])).split("/")[0]
    for end in (".cpp", "_compile_flags.json", ".so", ".o", ".blob"):
        yield f"a source {end}", {**every["names"], f"{folder}/data/constants/tensor_1{end}": b"{}"}


# --- what a user does with a program ---


def other(value):
    if isinstance(value, torch.Tensor):
        return torch.zeros([size + 1 for size in value.shape], dtype=value.dtype)
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + 1
    return "other" if isinstance(value, str) else value


def as_code(unflat):
    """Its modules run their code, which the interpreter does not use."""
    for each in unflat.modules():
        if hasattr(each, "_run_with_interpreter"):
            each._run_with_interpreter = False
    return unflat


def use(path: pathlib.Path) -> None:
    """All steps; one that fails does not keep the others from being done."""
    loaded = torch.export.load(path)
    args, kwargs = loaded.example_inputs if loaded.example_inputs else ((), {})
    other_args, other_kwargs = pytree.tree_map(other, (args, kwargs))
    steps = (
        lambda: loaded.module()(*args, **kwargs),
        lambda: loaded.module()(*other_args, **other_kwargs),
        lambda: (str(loaded), loaded.module().code, loaded.module().print_readable(print_output=False)),
        lambda: torch.export.unflatten(loaded)(*args, **kwargs),
        lambda: as_code(torch.export.unflatten(loaded))(*args, **kwargs),
        lambda: loaded.run_decompositions().module()(*args, **kwargs),
    )
    for step in steps:
        try:
            step()
        except Exception:
            continue


def leaves_a_mark(data: bytes, path: pathlib.Path, mark: pathlib.Path) -> bool:
    """Whether the file does, in a process of its own."""
    path.write_bytes(data)
    mark.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(SECONDS)
            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, 1)
            os.dup2(quiet, 2)
            use(path)
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    return mark.exists()
