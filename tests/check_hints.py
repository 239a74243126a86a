#!/usr/bin/env python3
"""Checks that what a message tells people to run is safe to paste: a name or path behind an option, a command or
"did you mean" is made by shell_word() or shell_quoted() (lib/support/text/did_you_mean.h), the file of a command by shell_path(), as
its name may be that of an option, or in Python by repr.

check_hints.py [ROOT]        prints every other place; exit code 1 when there is one
check_hints.py --self-test
"""

import pathlib
import re
import sys

# A literal that ends where a word of a command begins: "... --leaf ", "--dim x=", "fxtrace trace '", "did you mean ".
_COMMAND = r"""(?:--[a-z][a-z-]*[ =]['"@]?|-[fo] ['"]?|fxtrace [a-z]+ ['"]?|did you mean ['"]?|(?:--[a-z-]+ ['"][^'"]*))"""
CPP = re.compile(rf"""{_COMMAND}"\s*(?:\+|<<)\s*(?P<what>[\w:.>*()-]+)""")
PYTHON = re.compile(rf"""{_COMMAND}\{{(?P<what>[^{{}}]*)\}}""")
# What makes words, or gives no text of a file: numbers, and names of this program's own.
FINE = re.compile(r"(shell_word|shell_quoted|std::to_string|to_string|column|listed|other->get_name|app->get_name)\b")
FILE = re.compile(r"shell_path\b")  # and what a command works on


def found_in(text: str, is_python: bool) -> list[tuple[int, str]]:
    """Lines and what stands there unquoted."""
    places = []
    for match in (PYTHON if is_python else CPP).finditer(text):
        what = match["what"]
        line = text.count("\n", 0, match.start()) + 1
        whole = text.splitlines()[line - 1]
        # f"--leaf={rule}" alone is an argument of a process that is started without a shell.
        is_argument = text[match.start() - 2 : match.start()] in ('f"', "f'")
        if is_python and (what.endswith("!r") or is_argument):
            continue
        if not is_python and (FILE if match[0].startswith("fxtrace ") else FINE).match(what):
            continue
        places.append((line, whole.strip()))
    return places


def self_test() -> None:
    for text in (
        '"trace with --no-leaf @" + path',
        "\"--no-leaf '@\" + path + \"' traces\"",
        '"did you mean " + near',
        "\"did you mean '\" + near",
        'out << "fxtrace why " << name',
        '"--concrete " + name + "=" + value',
        '"it: --no-wrap " +\n    *node.target',
        "\"; --input '\" + input",
        "\"--input 'x=float32[\" + name",
        '"-o " + output_',
        '"fxtrace summary " + shell_word(model)',
    ):
        assert found_in(text, is_python=False), text
    for text in (
        '"--leaf " + shell_word(rule)',
        '"--depth " + std::to_string(depth)',
        '"--dim: no " + name',
        '"--focus PATH"',
        '"fxtrace why " + shell_path(model)',
    ):
        assert not found_in(text, is_python=False), text
    assert found_in('f"try --leaf {path}"', is_python=True)
    assert not found_in('f"try --leaf {path!r}"', is_python=True)


def main() -> int:
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return 0
    root = pathlib.Path(sys.argv[1] if sys.argv[1:] else pathlib.Path(__file__).parent.parent)
    places = []
    for folder, suffixes in (("app", (".cpp", ".h")), ("lib", (".cpp", ".h")), ("python/fxtrace", (".py",))):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in suffixes and path.relative_to(root).parts[:2] != ("app", "documents"):
                text = path.read_text(encoding="utf-8")
                places += [(path.relative_to(root), *place) for place in found_in(text, path.suffix == ".py")]
    for path, line, text in places:
        print(f"{path}:{line}: no shell_word(), or shell_path() for a file, around what a shell may run: {text}")
    return 1 if places else 0


if __name__ == "__main__":
    sys.exit(main())
