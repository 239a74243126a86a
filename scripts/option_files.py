"""What scripts/reference writes from the program's tables of options: a page of the reference, the properties of a configuration, and the
keywords of the Python package."""

import json
import textwrap
from collections.abc import Iterable

import page_part

ISOLATION = "Safety"  # the group of the options that are not of the trace but of reading its model
OWN = {"why": {"dim"}}  # keywords that a function has itself, with another meaning
KEYWORDS = {"pass": "passes"}  # what a keyword is called when its option's name is a word of Python
FUNCTIONS = {"trace": "TraceOptions", "summary": "SummaryOptions", "why": "WhyOptions", "partition": "PartitionOptions", "convert": "ConvertOptions"}

# By kind, and by keyword where the values have names: what Python takes.
TYPES = {
    "integer": "int",
    "text": "str",
    "names": "Texts",
    "repeatable": "Texts",
    "rule": "Texts",
    "libraries": "Path | Iterable[Path]",
    "json_by_name": "Mapping[str, Any]",
    "config_file": "Path | Mapping[str, Any]",
    "input": "Mapping[str, Any] | Sequence[Any] | str",
    "dim": "Mapping[str, Range] | Texts",
    "cost": "Mapping[str, str] | Texts",
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


def keywords(options: dict) -> list[dict]:
    """Return the options that are keywords of fxtrace.trace, in the order of --help."""
    rows = {row["name"]: row for row in options["trace"]}
    trace = next(command for command in options["commands"] if command["name"] == "fxtrace trace")
    found = []
    for title, group in trace["groups"].items():
        for option in group:
            name = option["names"][-1]
            kind = "integer" if option["value"] else "flag"
            own = {"name": name, "kind": kind, "help": option["help"], "choices": [], "not_for": ""} if title == ISOLATION else None
            if row := rows.get(name, own):
                word = name.removeprefix("--").replace("-", "_")
                found.append({**row, "keyword": KEYWORDS.get(word, word)})
    return found


def type_of(row: dict) -> str:
    if row["kind"] == "choice":
        return f"Literal[{', '.join(map(json.dumps, row['choices']))}]"
    return TYPES.get(row["keyword"]) or TYPES[row["kind"]]


def signature(options: dict) -> str:
    lines = (f"{row['keyword']}: " + ("bool = False" if row["kind"] == "flag" else f"{type_of(row)} | None = None") for row in keywords(options))
    return "".join(f"    {line},\n" for line in lines)


def without(row: dict) -> frozenset[str]:
    """Return the functions that do not take the keyword."""
    return frozenset(row["not_for"].split()) | {function for function, own in OWN.items() if row["keyword"] in own}


def fields(rows: Iterable[dict]) -> str:
    text = ""
    for row in rows:
        text += f"    {row['keyword']}: " + ("bool" if row["kind"] == "flag" else f"{type_of(row)} | None") + "\n"
        text += textwrap.indent(textwrap.fill(f'"""{row["help"]}"""'.replace("\\", "\\\\"), 130, break_on_hyphens=False), "    ") + "\n"
    return text


def module(options: dict) -> str:
    """Return python/fxtrace/_options.py."""
    rows = keywords(options)
    groups: dict[frozenset[str], list[dict]] = {}
    for row in rows:
        groups.setdefault(without(row), []).append(row)
    text = '''"""The options of a trace as keywords.  scripts/reference writes this file from the program's table of options."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict

if TYPE_CHECKING:
    from typing_extensions import Unpack as Unpack

    from ._types import Path, Range, Texts
else:
    Unpack = None  # in annotations only, which are not evaluated

# By keyword: the option, its kind, and the commands without it.
OPTIONS: dict[str, tuple[str, str, tuple[str, ...]]] = {
'''
    for row in rows:
        text += f"    {json.dumps(row['keyword'])}: ({json.dumps(row['name'])}, {json.dumps(row['kind'])}, {tuple(row['not_for'].split())!r}),\n".replace("'", '"')
    text += "}\n"
    names = {}
    for number, (missing, group) in enumerate(groups.items()):
        names[missing] = f"_Options{number}"
        text += f"\n\nclass {names[missing]}(TypedDict, total=False):\n{fields(group)}"
    for function, name in FUNCTIONS.items():
        bases = [names[missing] for missing in groups if function not in missing]
        text += f"\n\nclass {name}({', '.join(bases)}, total=False):\n    pass\n"
    return text


def update(options: dict, root, *, check: bool) -> bool:
    """Write all of it, or, to check, say what differs.  Return whether all is as it should be."""
    schema, package = root / "schemas" / "config.schema.json", root / "python" / "fxtrace"
    held = [
        page_part.update(root / "docs" / "reference" / "options.md", "scripts/reference", page(options) + "\n", check=check),
        page_part.update(package / "_trace.py", "scripts/reference", signature(options), check=check, comment=("    # ", "")),
        page_part.hold(schema, with_properties(options, schema.read_text(encoding="utf-8")), "scripts/reference", check=check),
        page_part.hold(package / "_options.py", module(options), "scripts/reference", check=check),
    ]
    return all(held)
