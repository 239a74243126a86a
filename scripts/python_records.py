"""The Python classes of the records of schemas: of the objects that have a title, which names the class."""

import re
import textwrap
from collections.abc import Iterator
from typing import Any

Schema = dict[str, Any]

SHOWN = {"Node": {"meta": ("shape", "dtype", "cost")}}  # members of a member that the record shows as its own
SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}


def records(schema: Any) -> Iterator[Schema]:
    """Yield the objects with a title, in their order."""
    if isinstance(schema, dict) and "title" in schema and "properties" in schema:
        yield schema
    for part in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from records(part)


class Classes:
    def __init__(self, document: Schema, with_methods: dict[str, bool]):
        self.definitions = document["$defs"]
        self.document = {key: value for key, value in document.items() if key != "title"}
        self.with_methods = with_methods

    def resolved(self, schema: Schema) -> Schema:
        name = schema.get("$ref", "").rpartition("/")[2]
        return {**self.resolved(self.definitions[name]), "ref": name, **schema} if name and "ref" not in schema else schema

    def value(self, schema: Schema) -> tuple[str, str, bool]:
        """The type of a value that is there, the function that decodes it ("" for none), and whether it may be null."""
        schema = self.resolved(schema)
        choices = [choice for choice in schema.get("anyOf", []) if choice != {"type": "null"}]
        if schema.get("ref") in ("argument", "plain"):
            return "Any", "decode", False
        if len(choices) == 1 or (choices and len(choices) < len(schema["anyOf"])):
            return (*self.value(choices[0])[:2], True)
        types = schema.get("type", [])
        names = [types] if isinstance(types, str) else types
        nullable = "null" in names or None in schema.get("enum", [])
        if "title" in schema and "properties" in schema:
            return schema["title"], f"{schema['title']}.from_json", nullable
        if "array" in names:
            inner, make, _ = self.value(schema["items"])
            return f"tuple[{inner}, ...]", f"lambda items: tuple(map({make}, items))" if make else "tuple", nullable
        if "object" in names:
            inner, make, _ = self.value(schema["additionalProperties"])
            return f"dict[str, {inner}]", f"lambda items: {{key: {make}(item) for key, item in items.items()}}" if make else "", nullable
        if schema.get("const") is True:
            return "bool", "", False
        return " | ".join(SCALARS[name] for name in names if name != "null") or self.union(schema) or "str", "", nullable

    def union(self, schema: Schema) -> str:
        return " | ".join(dict.fromkeys(self.value(choice)[0] for choice in schema.get("anyOf", [])))

    def class_of(self, record: Schema) -> str:
        name, required = record["title"], record["required"]
        fields = sorted(record["properties"].items(), key=lambda item: item[0] not in required or "default" in item[1])
        lines, given, hashed = [], [], []
        for key, part in fields:
            kind, make, nullable = self.value(part)
            default = self.resolved(part).get("default")
            can_lack = key not in required or "default" in part
            nullable = nullable or (can_lack and default is None)
            text = f"    {key}: {kind}{' | None' if nullable and kind != 'Any' else ''}"
            if default == {}:
                text += " = field(default_factory=dict)"
            elif can_lack:
                text += f" = {repr(default) if default != [] else '()'}".replace("'", '"')
            lines.append(text)
            found = f'value.get("{key}"{"" if default is None else f", {default!r}"})'.replace("'", '"') if can_lack else f'value["{key}"]'
            if not make:
                given.append(found)
            elif nullable and make != "decode":
                given.append(f"optional({make}, {found})")
            elif make.startswith("lambda items: "):
                given.append(make.removeprefix("lambda items: ").replace("items.items()", f"{found}.items()").replace(", items)", f", {found})"))
            else:
                given.append(f"{make}({found})")
            if key in required and kind in ("str", "int"):
                hashed.append(f"self.{key}")
        has_repr = self.with_methods.get(name, False)
        base = f"({name}Methods)" if name in self.with_methods else ""
        doc = textwrap.fill(record["description"], 130, subsequent_indent="    ", break_long_words=False, initial_indent='    """')
        doc += ("\n    " if "\n" in doc else "") + '"""'
        text = f"\n\n@dataclass(frozen=True{', repr=False' if has_repr else ''})\nclass {name}{base}:\n{doc}\n\n" + "\n".join(lines) + "\n"
        if hashed and any(word in line for line in lines for word in ("dict[", "Any")):  # of which no value may be hashed
            text += f"\n    def __hash__(self) -> int:\n        return hash(({', '.join(hashed)}{',' if len(hashed) == 1 else ''}))\n"
        for member, shown in SHOWN.get(name, {}).items():
            inner = self.resolved(record["properties"][member])
            inner = next((self.resolved(choice) for choice in inner.get("anyOf", []) if choice != {"type": "null"}), inner)
            for key in shown:
                kind = self.value(inner["properties"][key])[0]
                text += f"\n    @property\n    def {key}(self) -> {kind} | None:\n        return self.{member}.{key} if self.{member} else None\n"
        arguments = "".join(f"            {part},\n" for part in given)
        return text + f"\n    @classmethod\n    def from_json(cls, value: dict[str, Any]) -> {name}:\n        return cls(\n{arguments}        )\n"


def module(schema: Schema, name: str, with_methods: dict[str, bool], others: dict[str, str]) -> str:
    """A Python module with the classes of a schema.

    `with_methods`: those with methods, and whether __repr__ is one; `others`: the classes of other modules.
    """
    made = Classes(schema, with_methods)
    own = {record["title"]: record for record in records(made.document) if record["title"] not in others}
    body = "".join(map(made.class_of, own.values()))
    words = set(re.findall(r"\w+", body))
    imports: dict[str, set[str]] = {"dataclasses": {"dataclass", "field"} & words, "typing": {"Any"}}
    for word in words:
        if word.endswith("Methods") or word == "optional":
            imports.setdefault("._record_methods", set()).add(word)
        elif word == "decode":
            imports["._values"] = {word}
        elif word in others:
            imports.setdefault(f".{others[word]}", set()).add(word)
    lines = [f"from {place} import {', '.join(sorted(names, key=lambda name: (name.islower(), name)))}\n" for place, names in sorted(imports.items())]
    text = f'"""The records of a document. scripts/reference writes this file from schemas/{name}.schema.json, which says what each field means."""\n'
    text += "\nfrom __future__ import annotations\n\n" + "".join(line for line in lines if "from ." not in line) + "\n"
    names = textwrap.fill(", ".join(f'"{name}"' for name in sorted(own)) + ",", 128, initial_indent="    ", subsequent_indent="    ")
    return text + "".join(line for line in lines if "from ." in line) + f"\n__all__ = [\n{names}\n]\n" + body
