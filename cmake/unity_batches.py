#!/usr/bin/env python3
"""Divides the sources of a library into the batches of a unity build, so that no two of one batch have a private name in common.

unity_batches.py SIZE SOURCE...   prints the number of each source's batch, with semicolons between them
"""

import pathlib
import re
import sys

PRIVATE = re.compile(r"^namespace \{$(.*?)^\}  // namespace$", re.DOTALL | re.MULTILINE)
# What begins at the beginning of a line, as clang-format has it: an alias, class, function or variable.
ALIAS = re.compile(r"using (\w+) =(.*)")
NO_NAME = ("using ", "namespace ", "}", "/", "#", "return", "static_assert")
DEFINED = re.compile(
    r"(?:struct|class|enum class|enum|union) (\w+)|[\w:<>,&*\[\] ]+?[ &*](\w+)(?:\[\w*\])?(?:\(|\{| =(?: |$)|;)|(\w+)\("
)
# What a function has of its own, and would hide one of another file, of which -Wshadow warns.
LOCAL = re.compile(r"^ +(?:(?:static )?const(?:expr)? [^=({;]*?\b(k[A-Z]\w*)|using (\w+) =)", re.MULTILINE)


MORE = re.compile(r"^\w[^;{(]*? = [^;]*;", re.MULTILINE)  # variables of one declaration


def private_names(text: str) -> dict[str, str]:
    """The names of anonymous namespaces and macros, with what aliases stand for, which may be the same in two files."""
    names = dict.fromkeys(re.findall(r"^#define (\w+)", text, re.MULTILINE), "")
    for line in "".join(PRIVATE.findall(text)).splitlines():
        if alias := ALIAS.match(line):
            names[alias[1]] = alias[2].strip()
        elif line[:1].strip() and not line.startswith(NO_NAME) and (defined := DEFINED.match(line)):
            names[next(filter(None, defined.groups()))] = ""
    for declaration in MORE.findall("".join(PRIVATE.findall(text))):
        names.update(dict.fromkeys(re.findall(r",\s+(\w+) = ", declaration), ""))
    return names


def batches(texts: list[str], size: int) -> list[int]:
    """Each goes into the first batch that has room and none of its names."""
    known: list[dict[str, str]] = []  # of each batch
    hiding: list[set[str]] = []
    numbers: list[int] = []
    for text in texts:
        names = private_names(text)
        local = {"".join(found) for found in LOCAL.findall(text)}
        for number, others in enumerate(known):
            is_free = hiding[number].isdisjoint(names) and local.isdisjoint(others)
            if is_free and numbers.count(number) < size and all(names[name] and names[name] == others[name] for name in names.keys() & others.keys()):
                break
        else:
            number = len(known)
            known.append({})
            hiding.append(set())
        known[number].update(names)
        hiding[number] |= local
        numbers.append(number)
    return numbers


def main() -> None:
    paths = [pathlib.Path(name) for name in sys.argv[2:]]
    texts = [path.read_text(encoding="utf-8") if path.exists() else "" for path in paths]  # what the build makes has none
    print(*batches(texts, int(sys.argv[1])), sep=";")


if __name__ == "__main__":
    main()
