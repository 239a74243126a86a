"""What scripts/reference writes from the program's tables of options: a page of the reference, the properties of a configuration, and the
keywords of the Python package."""

import json
import re
import textwrap
from collections.abc import Iterable

import page_part

ISOLATION = "Safety"  # the group of the options that are not of the trace but of reading its model
PICTURES = "Pictures"

# The functions of the Python package: the type of the options of a trace that each takes.
FUNCTIONS = {
    **dict.fromkeys(("trace", "bom", "diff", "order", "extract", "check", "catalog", "verify"), "TraceOptions"),
    "summary": "SummaryOptions",
    "why": "WhyOptions",
    "partition": "PartitionOptions",
    "convert": "ConvertOptions",
}
NAMES = {"pass": "pass_", "from": "from_", "model": "model_name"}  # of options whose names Python or a function's first argument has
OWN = {"why": {"dim"}, "convert": {"method"}}  # options of a trace that have another meaning there
POSITIONAL = {"partition": {"ops"}, "extract": {"module"}}
# Options that are about a file of output, the terminal, or what functions do anyway.
LEFT_OUT = set(
    "output format json csv perfetto markdown junit sarif fsdp2 verbose timings help list list_passes dry_run exit_code fail_on write_baseline merge "
    "files_from shard recursive".split()
)

# What Python takes, and the form of the option's value, which python/fxtrace/_keywords.py makes a text: by the word that --help has for a value,
VALUES = {
    "N": ("int", "integer"),
    "X": ("float", "number"),
    "MB": ("int", "integer"),
    "SECONDS": ("int", "integer"),
    "SIZE": ("int | str", "text"),
    "N|EXPR": ("int | str", "text"),
    "FILE": ("Path", "text"),
    "DIR": ("Path", "text"),
    "SET|FILE": ("Path | Iterable[Path]", "libraries"),
    "LIB": ("Path | Iterable[Path]", "libraries"),
    "NAME,..": ("Texts", "names"),
    "KIND,..": ("Texts", "names"),
    "A,B": ("Texts", "names"),
}
# and by keyword, first of all those of a function.
KEYWORDS = {
    "check ops": ("Path | Iterable[str]", "file"),
    "at": ("At", "at"),
    "collection": ("Collection | Path", "file"),
    "concrete": ("Mapping[str, Any]", "concrete"),
    "config": ("Path | Mapping[str, Any]", "file"),
    "cost": ("Mapping[str, str] | Texts", "cost"),
    "dim": ("Mapping[str, Range] | Texts", "dim"),
    "drop_output": ("int | Iterable[int]", "integers"),
    "grad": ("bool", "switch"),
    "hint": ("Mapping[str, int]", "hint"),
    "input": ("Mapping[str, Any] | Sequence[Any] | str", "input"),
    "inputs": ("Any", "file"),
    "rename": ("Mapping[str, str] | Texts", "cost"),
    **dict.fromkeys(("max_params", "max_macs", "min_macs"), ("int | str", "text")),
    "overlay": ("Path | Mapping[str, Any]", "file"),
    "on": ("Path | Mapping[str, Any]", "file"),
    "rules": ("Path | Mapping[str, Any] | Iterable[Mapping[str, Any]]", "file"),
}
# What stands in the help of functions where it differs from --help, by keyword.
ABOUT = {
    "at": 'numbers for named sizes, or the shapes of inputs, for shapes and costs: {"batch": 1, "seq": 4096} or {"x": (1, 3, 224, 224)}',
    "catalog backend": "what backends take of each model, in the table backends: sets or files as for partition()",
    "check backend": "a backend takes every operator: a set or file as for partition()",
    "check ops": "the operators and globs that are allowed, or a file of them",
    "collection": "the graph to verify, or its file, which other tools may have changed; by default the model is traced now",
    "columns": 'further costs: "weights" and "kv-cache" (bytes), "intensity" (operations for each byte), "flops"; "quant" (what is quantized)',
    "memory": 'what lives in memory: the tensors at the peak, and the bytes of each call, in "memory"',
    "on": 'a device, for the least time of each module, what bounds it, and whether the model fits, in "device": "h100", or a file or dict of schemas/devices.schema.json with one device',
    "dim": 'the name of a dimension, to explain its range and the guards on it. Ranges as for trace() narrow dimensions, also together with a name: dim=["s77", "u0=1..4"]',
    "drop_output": "the numbers of results to leave out, from 0",
    "extract": "a folder for the parts of the model as programs (.pt2), with plan.json, which joins them: Partition.plan",
    "grad": "the answer where the code asks whether gradients are enabled",
    "hint": 'example sizes of dimensions, for compilers: {"batch": 8}. Default: one with which no size is 0, 1, another size or a number of the graph',
    "inputs": "tensors, or a tuple, list or dict of them, as the model takes them; or a file that numpy or torch.save wrote. Default: the sample inputs of an exported program in the first run, else random values",
    "partition require": 'what must hold: "covered>=95%", "regions<=2"; Partition.holds tells whether it does',
    "overlay": "values that colour nodes and modules, as node data of Model Explorer or a file of it",
    "rules": 'rules as in schemas/check_rules.schema.json, a file of them, or "quantization"',
    "rename": 'new names of dimensions, inputs and results: {"s77": "batch", "x": "pixels"}',
    "summary depth": "show modules down to N levels below the root. Default: all",
    "summary fold": "one row for consecutive equal blocks",
}

# --- the page ---


def escaped(text: str) -> str:
    return "".join("\\" * (character in "\\*_<>|") + character for character in text)


def code(text: str) -> str:
    return "`" + text.replace("|", "\\|") + "`"


def page(options: dict) -> str:
    text = ""
    for command in options["commands"]:
        text += f"\n## {command['name']}\n\n{escaped(command['help'])}\n\nUsage: {code(command['usage'])}\n"
        for title, rows in command["groups"].items():
            text += f"\n| {escaped(title)} | |\n|---|---|\n" if rows else ""
            for row in rows:
                *first, last = row["names"]
                unsaid = "; repeatable" if row["is_repeatable"] and "epeatable" not in row["help"] else ""
                names = ", ".join(map(code, [*first, f"{last} {row['value']}".strip()]))
                text += f"| {names} | {escaped(row['help'])}{unsaid} |\n"
    return text


# --- schemas/config.schema.json ---

FORMS = {
    "flag": {"type": "boolean"},
    "text": {"type": "string", "minLength": 1},
    "names": {"$ref": "#/$defs/strings"},
    "repeatable": {"$ref": "#/$defs/strings"},
    "libraries": {"$ref": "#/$defs/strings"},
    "rule": {"$ref": "#/$defs/strings"},
}


def properties(options: dict, schema: dict) -> str:
    """Return the properties, a line each; those of an object or of rules have their own form, and only the description is the option's."""
    keys = {row["key"] for row in options["trace"]}
    lines = [f"{json.dumps(key)}: {json.dumps(form)}" for key, form in schema["properties"].items() if key not in keys]
    for row in options["trace"]:
        form = FORMS.get(row["kind"]) or {key: value for key, value in schema["properties"].get(row["key"], {}).items() if key != "description"}
        if row["kind"] == "integer":
            form = {"$ref": "#/$defs/count_from_" + ("one" if row["least"] else "zero")}
        if row["kind"] == "choice":
            form = {"enum": row["choices"]}
        about = row["help"] or schema["properties"][row["key"]]["description"]
        about = ("" if row["given"] or row["kind"] != "flag" else "False: ") + about
        if row["key"]:
            lines.append(f"{json.dumps(row['key'])}: {json.dumps({'description': about, **form}, ensure_ascii=False)}")
    return ",\n".join("    " + line for line in lines)


def with_properties(options: dict, text: str) -> str:
    begin, end = '  "properties": {\n', '\n  },\n  "$defs"'
    before, _, rest = text.partition(begin)
    return before + begin + properties(options, json.loads(text)) + end + rest.partition(end)[2]


# --- the Python package ---

WIDTH = 132


def keyword_of(option: str) -> str:
    word = option.removeprefix("--").replace("-", "_")
    return NAMES.get(word, word)


def keywords(options: dict) -> list[dict]:
    """Return the options that are keywords of fxtrace.trace, in the order of --help; `not_for` has the functions without them."""
    rows = {row["name"]: row for row in options["trace"]}
    found = []
    for title, group in command(options, "trace")["groups"].items():
        for option in group:
            names = [name for name in option["names"] if name.startswith("--")]
            row = rows.get(names[0], {"not_for": ""} if title == ISOLATION else None) if names else None
            for name in names if row is not None else ():
                keyword = keyword_of(name)
                missing = frozenset(row["not_for"].split()) | {function for function, own in OWN.items() if keyword in own}
                found.append({**option, "names": [name], "keyword": keyword, "not_for": missing})
    return found


def command(options: dict, name: str) -> dict:
    return next(command for command in options["commands"] if command["name"] == f"fxtrace {name}")


def own_keywords(options: dict, name: str) -> list[dict]:
    """Return the options that the function has beside those of a trace."""
    shared = {row["keyword"] for row in keywords(options)} - OWN.get(name, set())
    found = {}
    for title, group in command(options, name)["groups"].items():
        for option in group if title not in ("argument", PICTURES) or (title == PICTURES and name == "render") else ():
            keyword = keyword_of(option["names"][-1])
            if keyword not in shared | LEFT_OUT and not (keyword.startswith("no_") and keyword[3:] in found):
                found[keyword] = {**option, "keyword": keyword}
    return list(found.values())


def value_of(row: dict, function: str) -> tuple[str, str]:
    """Return what Python takes, and the form of the value."""
    if not row["value"]:
        return "bool", "flag"
    if found := KEYWORDS.get(f"{function} {row['keyword']}") or KEYWORDS.get(row["keyword"]) or VALUES.get(row["value"]):
        return found
    if re.fullmatch(r"[a-z]+(\|[a-z]+)+", row["value"]):
        return f"Literal[{', '.join(map(json.dumps, row['value'].split('|')))}]", "text"
    return ("Texts", "repeatable") if row["is_repeatable"] else ("str", "text")


def signature(options: dict, function: str) -> str:
    rows = keywords(options) if function == "trace" else own_keywords(options, function)
    lines = []
    for row in rows:
        kind = value_of(row, function)[0]
        if row["keyword"] not in POSITIONAL.get(function, ()):
            lines.append(f"{row['keyword']}: " + ("bool = False" if kind == "bool" else f"{kind} | None = None".replace("Any | None", "Any")))
    return "".join(f"{line},\n" for line in lines)


def about(row: dict, function: str, known: set[str]) -> str:
    """Return the help of an option, with known keywords in place of options."""
    if text := ABOUT.get(f"{function} {row['keyword']}") or ABOUT.get(row["keyword"]):
        return text
    text = re.sub(r"(; r|\. R)epeatable(?=[.:]|$)", "", row["help"])
    return re.sub(r"--[a-z-]+", lambda match: f"`{keyword}`" if (keyword := keyword_of(match[0])) in known else match[0], text)


def items(options: dict, function: str) -> str:
    text = ""
    own = own_keywords(options, function)
    known = {row["keyword"] for row in own + keywords(options)}
    for row in own:
        if row["keyword"] not in POSITIONAL.get(function, ()):
            item = f"- {row['keyword']}: {about(row, function, known)};"
            text += textwrap.fill(item, WIDTH - 4, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False) + "\n"
    return text


def with_options(options: dict, text: str) -> str:
    """Return the text of a module with the signatures of its functions, and with the items of their help."""

    def lines(match: re.Match, made: str) -> str:
        return match["begin"] + textwrap.indent(made, match["indent"]) + match["end"]

    begin, end = r"# scripts/reference writes what follows: (?P<name>\w+)\n", "# end of what scripts/reference writes\n"
    text = re.sub(
        rf"(?s)(?P<begin>(?P<indent> +){begin}).*?(?P<end> +{end})", lambda match: lines(match, signature(options, match["name"])), text
    )
    return re.sub(
        r"(?s)(?P<begin>(?P<indent> +)Options of `fxtrace (?P<name>\w+)`:\n\n).*?(?P<end>(?P=indent)- options:|\n(?P=indent)R)",
        lambda match: lines(match, items(options, match["name"])),
        text,
    )


def fields(rows: Iterable[dict]) -> str:
    text = ""
    for row in rows:
        kind = value_of(row, "trace")[0]
        text += f"    {row['keyword']}: {kind}" + (" | None" if kind != "bool" else "") + "\n"
        text += textwrap.indent(textwrap.fill(f'"""{row["help"]}"""'.replace("\\", "\\\\"), WIDTH - 2, break_on_hyphens=False), "    ") + "\n"
    return text


def module(options: dict) -> str:
    """Return python/fxtrace/_options.py."""
    shared = keywords(options)
    groups: dict[frozenset[str], list[dict]] = {}
    for row in shared:
        groups.setdefault(row["not_for"], []).append(row)
    text = '''"""The options of commands as keywords.  scripts/reference writes this file from the program's table of options."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict

if TYPE_CHECKING:
    from typing_extensions import Unpack as Unpack

    from ._types import Path, Range, Texts
else:
    Unpack = None  # in annotations only, which are not evaluated

# By function and keyword: the option and the form of its value. Of trace() are those that all functions share.
OPTIONS: dict[str, dict[str, tuple[str, str]]] = {
'''
    for function in (*FUNCTIONS, "render"):
        text += f'    "{function}": {{\n'
        for row in shared if function == "trace" else own_keywords(options, function):
            text += f'        "{row["keyword"]}": ("{row["names"][-1]}", "{value_of(row, function)[1]}"),\n'
        text += "    },\n"
    text += "}\n"
    names = {missing: "_NotFor" + "And".join(map(str.capitalize, sorted(missing))) if missing else "_ForAll" for missing in groups}
    for missing, group in groups.items():
        text += f"\n\nclass {names[missing]}(TypedDict, total=False):\n{fields(group)}"
    for function, name in FUNCTIONS.items():
        if name.lower() == f"{function}options":
            bases = [names[missing] for missing in groups if function not in missing]
            text += f"\n\nclass {name}({', '.join(bases)}, total=False):\n    pass\n"
    text += "\n\n# By function: the keywords of trace() that it takes.\nTAKEN: dict[str, frozenset[str]] = {\n"
    text += "".join(f'    "{function}": {name}.__optional_keys__,\n' for function, name in FUNCTIONS.items())
    return text + "}\n"


def update(options: dict, root, *, check: bool) -> bool:
    """Write all of it, or, to check, say what differs.  Return whether all is as it should be."""
    schema, package = root / "schemas" / "config.schema.json", root / "python" / "fxtrace"
    held = [
        page_part.update(root / "docs" / "reference" / "options.md", "scripts/reference", page(options) + "\n", check=check),
        page_part.hold(schema, with_properties(options, schema.read_text(encoding="utf-8")), "scripts/reference", check=check),
        page_part.hold(package / "_options.py", module(options), "scripts/reference", check=check),
    ]
    for path in package.glob("*.py"):
        text = path.read_text(encoding="utf-8")
        held.append(page_part.hold(path, with_options(options, text), "scripts/reference", check=check))
    return all(held)
