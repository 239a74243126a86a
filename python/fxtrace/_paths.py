"""Qualified names: parts separated by dots; a backslash stands before a dot that belongs to a part."""

from __future__ import annotations

import re


def parts_of(path: str) -> list[str]:
    """Return the parts of a path as the model spells them."""
    return [part.replace("\\.", ".") for part in re.split(r"(?<!\\)\.", path)]


def parent_of(path: str) -> str:
    found = re.match(r"(.*)(?<!\\)\.", path, re.DOTALL)
    return found[1] if found else ""
