"""The tensors of a TorchScript archive that are plain attributes: the values of these may decide a trace, unlike those of weights."""

from __future__ import annotations

import pickletools
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO

_MOST_BYTES = 256 << 20  # of code and pickle
_STRINGS = ("BINUNICODE", "SHORT_BINUNICODE", "UNICODE", "BINUNICODE8")


def plain_tensors(file: IO[bytes]) -> set[str]:
    """Return the names of the records of tensors that no class of the code names as its parameter or buffer; none for other archives.

    The name of an attribute stands in front of its tensor; one in a list or a dict has another text there. So a record may be missing of
    which the attribute has a name that another class has for a weight.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            return _plain_tensors(archive)
    except (ValueError, KeyError, IndexError, EOFError, OSError, NotImplementedError, struct.error, zlib.error, zipfile.BadZipFile):
        return set()  # the program says what is wrong with the archive


def _plain_tensors(archive: zipfile.ZipFile) -> set[str]:
    left = _MOST_BYTES

    def read(name: str) -> bytes:
        nonlocal left
        left -= archive.getinfo(name).file_size
        if left < 0:
            raise ValueError("too large")
        with archive.open(name) as record:
            return record.read()

    names = archive.namelist()
    root = next((name.removesuffix("constants.pkl") for name in names if re.fullmatch(r"[^/]+/constants\.pkl", name)), None)
    if root is None:
        return set()
    weights: set[str] = set()
    for name in names:
        if name.startswith(f"{root}code/") and name.endswith(".py"):
            for listed in re.findall(rb"^  __(?:parameters|buffers)__ = \[(.*)\]", read(name), re.MULTILINE):
                weights.update(re.findall(r'"([^"]*)"', listed.decode(errors="replace")))
    return {f"{root}data/{key}" for key, attribute in _tensors(read(f"{root}data.pkl")) if attribute not in weights}


def _tensors(pickle: bytes) -> Iterator[tuple[str, str]]:
    """Yield for each tensor the key of its storage and the text in front of it."""
    memo: dict[int, str] = {}
    before = ""
    texts = [""] * 4  # the last ones: of a tensor "storage", its key and its device are behind the text in front
    for operation, argument, _ in pickletools.genops(pickle):
        if operation.name in _STRINGS:
            texts = [*texts[1:], str(argument)]
        elif operation.name in ("BINPUT", "LONG_BINPUT") and before in _STRINGS:
            memo[int(argument or 0)] = texts[-1]
        elif operation.name in ("BINGET", "LONG_BINGET") and argument in memo:
            texts = [*texts[1:], memo[int(argument or 0)]]
        elif operation.name == "BINPERSID":
            yield texts[2], texts[0]
        before = operation.name
