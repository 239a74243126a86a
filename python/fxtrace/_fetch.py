"""fxtrace.fetch: skeletons of models in stores, all of a file but its weights (docs/how-to/stores.md)."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import tempfile
import weakref
import zipfile
from collections.abc import Iterable, Mapping
from typing import Any

from ._errors import InputError
from ._program import Renamed
from ._remote import TAIL, NoRanges, State, Store
from ._skeleton import Image, Range, fill

__all__ = ["Skeleton", "fetch"]

AT_ONCE = 16  # files that those fetch who need many
_SMALL = 256 << 10  # bytes of a file that is read whole
_LARGE = 16 << 20  # bytes of a file that is read whole because it is no archive
_SIDE_FILE = ".skeleton.json"
_ATTRIBUTE = "user.fxtrace.skeleton"


class Skeleton(os.PathLike[str]):
    """A local file with the size and records of one in a store, in which weights are holes; a path for all functions.

    Without a path of its own it is a temporary file, which close(), or the end of a `with`, removes.
    """

    def __init__(self, path: str, url: str, state: State, holes: tuple[Range, ...], folder: str | None = None):
        self.path = path
        self.url = url  # without credentials
        self.size = state.size  # bytes
        self.tag = state.tag  # the store's ETag or checksum, else the time of the last change
        self.holes = holes  # first byte and byte behind the last of each record that is not here
        self.requests = self.bytes_read = 0  # of this fetch
        self._remove = weakref.finalize(self, shutil.rmtree, folder, True) if folder is not None else None

    def __fspath__(self) -> str:
        return self.path

    def __repr__(self) -> str:
        return f"Skeleton({self.url!r}, path={self.path!r}, bytes_read={self.bytes_read} of {self.size})"

    def __enter__(self) -> Skeleton:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _renamed(self) -> str:
        """Return the path; that of a temporary file has the URL as its name in output."""
        return self.path if self._remove is None else Renamed.of(self.path, self.url, self)

    def close(self) -> None:
        """Remove the file if it is temporary."""
        if self._remove is not None:
            self._remove()


def fetch(
    url: str | os.PathLike[str],
    path: str | os.PathLike[str] | None = None,
    storage_options: Mapping[str, Any] | None = None,
    *,
    whole: bool = False,
    read_headers: bool = False,
) -> Skeleton:
    """Fetch what tracing a model needs from a store into a local file of the same size: everything but the weights.

    - url: anything that fsspec opens: https://, s3://, gs://, az://, hf://, memory://;
    - path: the file to write; what was fetched to it before is kept if the file in the store has not changed, and replaced if it has;
      any other file there is an error. The default is a temporary file;
    - storage_options: fsspec's, such as credentials, which stand in no output;
    - whole: true for all bytes, weights too;
    - read_headers: true to read the headers of weights too. By default they are written as torch or Python writes them, if all headers
      that were read are like that, and if they fit to the byte; else they are read.

    Returns a Skeleton, a path that every function takes. Functions that need the bytes of weights refuse it.

    Raises UsageError where fsspec, or what it needs for the URL, is not installed; InputError for a file that does not exist, cannot be
    read in ranges, or changes under the reading, for one that is no archive and has more than 16 MiB, and for a path that is taken.
    """
    store = Store(os.fspath(url), storage_options)
    facts = {} if path is None else _facts_of_target(os.fspath(path))
    try:
        state, end = store.state(TAIL)
    except NoRanges:
        if not whole:
            raise
        state, end = None, b""
    if path is not None and state is not None and (known := _known(os.fspath(path), facts, store, state, whole)) is not None:
        return known
    folder = tempfile.mkdtemp(prefix="fxtrace_") if path is None else None
    file = os.fspath(path) if path is not None else os.path.join(str(folder), _file_name(store.url))
    part = None
    try:
        with tempfile.NamedTemporaryFile(prefix=".fxtrace_", suffix=".part", dir=os.path.dirname(file) or ".", delete=False) as content:
            part = content.name
            holes: list[Range] = []
            directory = b""
            if whole:
                store.copy(content)
                state = state or State(os.path.getsize(part), "", 0)
            else:
                assert state is not None
                holes, directory = _fill(Image(store, content, state.size), state.size - len(end), end, read_headers)
            if store.requests > 1 and state.tag:
                store.check_same()
        if os.path.getsize(part) != state.size:
            raise InputError(f"{store.url}: the file changed while it was read", ["read it again"])
        os.chmod(part, 0o666 & ~_umask())
        if path is not None:
            _set_marks(file, part, store, state, holes, directory)
        os.utime(part, ns=(state.stamp, state.stamp))
        os.replace(part, file)
    except OSError as error:
        raise InputError(f"{file}: {error.strerror or error}") from None
    finally:
        if part is not None and os.path.exists(part):
            os.remove(part)
        if folder is not None and not os.path.exists(file):
            shutil.rmtree(folder, ignore_errors=True)
    return _skeleton(file, store, state, holes, folder)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _skeleton(file: str, store: Store, state: State, holes: Iterable[Range], folder: str | None = None) -> Skeleton:
    skeleton = Skeleton(file, store.url, state, tuple(holes), folder)
    skeleton.requests, skeleton.bytes_read = store.requests, store.bytes_read
    return skeleton


def _facts_of_target(file: str) -> dict[str, Any]:
    """Return what is known of the file at a path; raise InputError if it is one that fetch() has not written."""
    if os.path.isdir(file):
        raise InputError(f"{file}: this is a directory")
    if not os.path.exists(file):
        return {}
    facts = _facts(file)
    if not _is_own(file, facts):
        raise InputError(f"{file}: there is a file that fetch() has not written", ["remove it, or give the path of another file"])
    return facts


def _fill(image: Image, end_start: int, end: bytes, read_headers: bool) -> tuple[list[Range], bytes]:
    image.put(end_start, end)
    image.have([(end_start, image.size)] if end else [])
    image.need([(0 if image.size <= _SMALL else image.size - TAIL, image.size)])
    try:
        return fill(image, read_headers)
    except zipfile.BadZipFile as error:
        if image.size > _LARGE:
            raise InputError(
                f"{image.store.url}: this is not a zip archive whose weights could be left out: {error}", [image.store.whole_hint()]
            ) from None
        image.need([(0, image.size)])
        return [], b""


def _file_name(url: str) -> str:
    name = re.sub(r"[^A-Za-z0-9._-]", "_", url.rstrip("/").rsplit("/", 1)[-1])[-100:]
    return name.lstrip(".-") or "model"


def _set_marks(file: str, part: str, store: Store, state: State, holes: list[Range], directory: bytes) -> None:
    """Say beside the file what of it is not there: in an attribute of it, and in a small file."""
    facts = {
        "url": store.url,
        "size": state.size,
        "tag": state.tag,
        "directory": hashlib.sha256(directory).hexdigest() if directory else None,
        "stamp": state.stamp,
    }
    if holes and hasattr(os, "setxattr"):
        with contextlib.suppress(OSError):  # a file system without attributes: the small file says the same
            os.setxattr(part, _ATTRIBUTE, json.dumps(facts).encode())
    side = part + _SIDE_FILE
    try:
        with open(side, "w", encoding="utf-8") as out:
            json.dump({**facts, "holes": sorted(holes)}, out)
        os.replace(side, file + _SIDE_FILE)
    finally:
        if os.path.exists(side):
            os.remove(side)


def _facts(file: str) -> dict[str, Any]:
    """Return what the small file says; nothing for a file that is not there or not of fetch()."""
    try:
        with open(file + _SIDE_FILE, encoding="utf-8") as side:
            facts = json.load(side)
        facts["holes"] = [(int(start), int(end)) for start, end in facts["holes"]]
        return {name: facts[name] for name in ("url", "size", "tag", "stamp", "holes")}
    except (OSError, ValueError, TypeError, KeyError):
        return {}


def _is_own(file: str, facts: Mapping[str, Any]) -> bool:
    """Return true for a file that is as fetch() has left it."""
    found = os.stat(file)
    return bool(facts) and (found.st_size, found.st_mtime_ns) == (facts["size"], facts["stamp"])


def _known(file: str, facts: Mapping[str, Any], store: Store, state: State, whole: bool) -> Skeleton | None:
    """Return what was fetched to this path before, if it is of the file in the store as it is now, and enough."""
    if not state.tag or not facts or (whole and facts["holes"]):
        return None
    is_same = (facts["url"], facts["size"], facts["tag"], facts["stamp"]) == (store.url, *state[:2], state.stamp)
    return _skeleton(file, store, state, facts["holes"]) if is_same else None
