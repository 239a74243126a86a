"""Reads the cases of tests/golden, which run_golden.py runs.

A case is a file in the folder of its command, with a name that no other has: the command, as a shell splits it ("#" begins a comment; run in the project's root), and behind
lines that begin with ";;; " what is expected of it:

    fxtrace render - -f dot
    ;;; stdin of json_nested_scripted      (that case's stdout; "stdin from PATH" is a file's content)
    ;;; exit 0
    ;;; stdout
    digraph {
    ...

"stdin", "stdout" and "stderr" are followed by their text, and left out where that is empty.  In expected output
`{VERSION}` stands for the program's version.  "structure" stands in the place of "stdout" where that is DOT of which
only the structure is the point: boxes within boxes, labels, tooltips and edges, without colours, fonts and widths.
"""

import functools
import glob
import html
import os
import re
from dataclasses import dataclass

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GOLDEN = os.path.join(ROOT, "tests", "golden")
STREAMS = ("stdin", "stdout", "structure", "stderr")
MARK = b";;; "
CUT = b" without the last newline"


@dataclass
class Case:
    name: str
    command: bytes
    stdin_of: bytes = b""  # "of CASE" or "from PATH", where it stands elsewhere
    exit_code: bytes = b"0"
    stdin: bytes = b""
    stdout: bytes = b""
    structure: bytes = b""
    stderr: bytes = b""

    @staticmethod
    def path(name: str) -> str:
        """The case's file, or where run_golden.py puts that of a new one."""
        return paths().get(name) or os.path.join(GOLDEN, "trace", "json", f"{name}.txt")

    @staticmethod
    def read(name: str) -> "Case":
        with open(Case.path(name), "rb") as file:
            command, *sections = re.split(rb"^;;; ", file.read(), flags=re.MULTILINE)
        case = Case(name, command)
        for section in sections:
            head, _, text = section.partition(b"\n")
            word, _, more = head.partition(b" ")
            if word == b"exit":
                case.exit_code = more
            elif word == b"stdin" and more.startswith((b"of ", b"from ")):
                case.stdin_of = more
            else:
                setattr(case, word.decode(), text[:-1] if head.endswith(CUT) else text)
        return case

    def content(self) -> bytes:
        parts = [self.command]
        if self.stdin_of:
            parts.append(MARK + b"stdin " + self.stdin_of + b"\n")
        for stream in STREAMS:
            if stream == "stdout":
                parts.append(MARK + b"exit " + self.exit_code + b"\n")
            text = getattr(self, stream)
            if text:
                is_cut = not text.endswith(b"\n")
                parts += [MARK + stream.encode() + (CUT if is_cut else b"") + b"\n", text, b"\n" if is_cut else b""]
        return b"".join(parts)

    def given(self) -> bytes:
        """What the program reads from stdin."""
        word, _, where = self.stdin_of.decode().partition(" ")
        if word == "of":
            return Case.read(where).stdout
        if word == "from":
            with open(os.path.join(ROOT, where), "rb") as file:
                return file.read()
        return self.stdin


def dot_structure(dot: bytes) -> bytes:
    """DOT as write_dot() writes it, without its style."""
    text = re.sub(r"^  (?:graph|node|edge) \[.*?\];\n", "", dot.decode(), flags=re.MULTILINE | re.DOTALL)

    def label(match: re.Match) -> str:
        words = re.sub(r"<BR[^>]*>", " / ", match[1])
        return 'label="' + " ".join(html.unescape(re.sub(r"<[^>]*>", "", words)).split()) + '"'

    text = re.sub(r"label=<((?:<[^<>]*>|[^<>])*)>", label, text)
    text = re.sub(r'\b(?:fillcolor|color|fontcolor|fontsize|penwidth|margin|height|style="(?:rounded,)?filled")(?:=(?:"[^"]*"|[\w.]+))?(?:, |; |;$)', "", text, flags=re.MULTILINE)
    return re.sub(r"(?: /)?(?= *\"[,;\]])| +$", "", text, flags=re.MULTILINE).encode()


@functools.cache
def paths() -> dict[str, str]:
    """The files by the names of their cases."""
    found = glob.glob(os.path.join(GOLDEN, "**", "*.txt"), recursive=True)
    return {os.path.splitext(os.path.basename(path))[0]: path for path in found}


def names(beginning: str = "") -> list[str]:
    return sorted(name for name in paths() if name.startswith(beginning))
