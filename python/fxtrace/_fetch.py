"""fxtrace.fetch: skeletons of models in stores, all of a file but its weights (docs/how-to/stores.md)."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
import weakref
import zipfile
from collections.abc import Mapping
from typing import Any

from ._errors import InputError
from ._remote import TAIL, State, Store
from ._skeleton import Image, Range, fill

_MOST = 1 << 30  # bytes of a skeleton that are there
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
    - path: the file to write; a skeleton of the same file there is kept if that has not changed. The default is a temporary file;
    - storage_options: fsspec's, such as credentials, which stand in no output;
    - whole: true for all bytes, weights too;
    - read_headers: true to read the headers of weights too. By default they are written as torch or Python writes them, if all headers
      that were read are like that, and if they fit to the byte; else they are read.

    Returns a Skeleton, a path that every function takes. Functions that need the bytes of weights refuse it.

    Raises UsageError where fsspec, or what it needs for the URL, is not installed; InputError for a file that does not exist, cannot be
    read in ranges, or changes under the reading, and for one that is no archive and has more than 16 MiB.
    """
    store = Store(os.fspath(url), storage_options)
    state, end = store.state(TAIL)
    if path is not None and not whole and (known := _known(os.fspath(path), store, state)) is not None:
        return known
    folder = tempfile.mkdtemp(prefix="fxtrace_") if path is None else None
    file = os.fspath(path) if path is not None else os.path.join(str(folder), _file_name(store.url))
    part = f"{file}.{os.getpid()}.part"
    try:
        with open(part, "w+b") as content:
            image = Image(store, content, state.size, state.size if whole else _MOST)
            image.put(state.size - len(end), end)
            image.have([(state.size - len(end), state.size)])
            image.need([(0 if whole or state.size <= _SMALL else state.size - TAIL, state.size)])
            holes, directory = _fill(image, read_headers)
            if store.requests > 1:
                store.check_same()
        _set_marks(file, part, store, state, holes, directory)
        os.utime(part, ns=(state.stamp, state.stamp))
        os.replace(part, file)
    except OSError as error:
        raise InputError(f"{error.filename or file}: {error.strerror or error}") from None
    finally:
        if os.path.exists(part):
            os.remove(part)
        if folder is not None and not os.path.exists(file):
            shutil.rmtree(folder, ignore_errors=True)
    skeleton = Skeleton(file, store.url, state, tuple(holes), folder)
    skeleton.requests, skeleton.bytes_read = store.requests, store.bytes_read
    return skeleton


def _fill(image: Image, read_headers: bool) -> tuple[list[Range], bytes]:
    try:
        return fill(image, read_headers)
    except zipfile.BadZipFile as error:
        if image.size > _LARGE:
            raise InputError(
                f"{image.store.url}: this is not a zip archive whose weights could be left out: {error}",
                [f"fetch the whole file: python -m fxtrace fetch --whole -o FILE {image.store.url}"],
            ) from None
        image.need([(0, image.size)])
        return [], b""


def _file_name(url: str) -> str:
    name = re.sub(r"[^A-Za-z0-9._-]", "_", url.rstrip("/").rsplit("/", 1)[-1])[-100:]
    return name.lstrip(".-") or "model"


def _set_marks(file: str, part: str, store: Store, state: State, holes: list[Range], directory: bytes) -> None:
    """Say beside the file what of it is not there: in an attribute of it, and in a small file."""
    side = file + _SIDE_FILE
    if not holes:
        if os.path.exists(side):
            os.remove(side)
        return
    facts = {
        "url": store.url,
        "size": state.size,
        "tag": state.tag,
        "directory": hashlib.sha256(directory).hexdigest(),
        "stamp": state.stamp,
    }
    try:
        os.setxattr(part, _ATTRIBUTE, json.dumps(facts).encode())
    except (AttributeError, OSError):  # a file system without attributes: the small file says the same
        pass
    with open(f"{side}.{os.getpid()}.part", "w", encoding="utf-8") as out:
        json.dump({**facts, "holes": sorted(holes)}, out)
    os.replace(out.name, side)


def _known(file: str, store: Store, state: State) -> Skeleton | None:
    """Return the skeleton that was fetched to this path before, if it is that of the file in the store as it is now."""
    try:
        with open(file + _SIDE_FILE, encoding="utf-8") as side:
            facts = json.load(side)
        found = os.stat(file)
        is_same = (facts["url"], facts["size"], facts["tag"], facts["stamp"]) == (store.url, *state[:2], state.stamp)
        holes = tuple((int(start), int(end)) for start, end in facts["holes"])
    except (OSError, ValueError, TypeError, KeyError):
        return None
    if not is_same or not state.tag or (found.st_size, found.st_mtime_ns) != (state.size, state.stamp):
        return None
    skeleton = Skeleton(file, store.url, state, holes)
    skeleton.requests, skeleton.bytes_read = store.requests, store.bytes_read
    return skeleton
