"""Catalogs of models in stores: skeletons of some at a time, which the program reads under the names of their URLs."""

from __future__ import annotations

import fnmatch
import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import islice
from typing import Any

from ._errors import Error, InputError
from ._fetch import AT_ONCE, fetch
from ._remote import State, Store, identity, public_url

_GROUP = 128  # models of which skeletons are there at the same time
_USUAL_NAMES = ("*.pt", "*.pt2", "*.pth", "*.ts")  # as of `fxtrace catalog`


def urls_of(given: Iterable[str], recursive: bool, include: Sequence[str], storage_options: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield URLs, and the files in those that are folders."""
    for url in given:
        files = Store(url, storage_options).files_below(recursive)
        if files is None:
            yield url
        else:
            yield from (each for each in files if any(fnmatch.fnmatch(each.rsplit("/", 1)[-1], glob) for glob in include or _USUAL_NAMES))


def add_models(file: str, urls: Iterable[str], storage_options: Mapping[str, Any] | None, read: Callable[[str], None]) -> dict[str, Error]:
    """Add models to the database `file`; read(LIST) runs `fxtrace catalog --files-from=LIST` for it.

    Models of which size and tag are those of the last time are not fetched, unless the program reads all again. Return the errors of
    those that could not be fetched, by URL; they have a row with their error too.
    """
    left = iter(urls)
    errors: dict[str, Error] = {}
    given: dict[str, str] = {}  # by name
    is_first = True
    while (group := list(islice(left, _GROUP))) or is_first:
        is_first = False
        for url in group:
            if given.setdefault(name := public_url(url), url) != url:
                raise InputError(f"{name}: several URLs have this name, which is that of their rows", ["read them into catalogs of their own"])
        errors.update(_add_group(file, list(dict.fromkeys(group)), storage_options, read))
    return errors


def _add_group(
    file: str, urls: Sequence[str], storage_options: Mapping[str, Any] | None, read: Callable[[str], None]
) -> dict[str, Error]:
    names = {url: public_url(url) for url in urls}
    errors: dict[str, Error] = {}
    with tempfile.TemporaryDirectory(prefix="fxtrace_") as folder, ThreadPoolExecutor(AT_ONCE) as pool:
        locals_ = {url: os.path.join(folder, str(i)) for i, url in enumerate(urls)}

        def fetched(some: Iterable[str]) -> None:
            def fetch_one(url: str) -> None:
                try:
                    fetch(url, locals_[url], storage_options)
                except Error as error:
                    errors[names[url]] = error

            list(pool.map(fetch_one, some))

        def unchanged(url: str) -> bool:
            """Return true for a model of the last time; the program does not open a file of which it knows size and time."""
            try:
                state = identity(url, storage_options)
            except Error:
                return False  # the fetch tells it
            if state.tag and known[names[url]] == (state.size, state.stamp):
                _set_state(locals_[url], state)
                return True
            return False

        def read_all(some: Sequence[str]) -> None:
            listed = os.path.join(folder, "list")
            with open(listed, "w", encoding="utf-8") as out:
                out.writelines(f"{locals_[url]}\t{names[url]}\n" for url in some)
            read(listed)

        known = _known(file, names.values())
        asked = [url for url in urls if names[url] in known]
        same = {url for url, is_same in zip(asked, pool.map(unchanged, asked)) if is_same}
        fetched(url for url in urls if url not in same)
        read_all(urls)
        with closing(sqlite3.connect(file)) as database:
            failed = {path for (path,) in database.execute("SELECT path FROM models WHERE error IS NOT NULL")}
        if again := [url for url in urls if url in same and names[url] in failed]:
            for url in again:
                os.remove(locals_[url])
            fetched(again)
            read_all(again)
    with closing(sqlite3.connect(file)) as database, database:
        for name, error in errors.items():
            database.execute("UPDATE models SET error = ?, advice = ? WHERE path = ?", (str(error), "; ".join(error.hints) or None, name))
    return errors


def _known(file: str, names: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Return the sizes and times of models when they were read."""
    if not os.path.exists(file):
        return {}
    try:
        with closing(sqlite3.connect(file)) as database:
            select = "SELECT file_bytes, modified_ns FROM models WHERE path = ? AND error IS NULL"
            return {name: row for name in names if (row := database.execute(select, (name,)).fetchone()) is not None}
    except sqlite3.Error as error:
        raise InputError(f"{file}: {error}") from None


def _set_state(path: str, state: State) -> None:
    with open(path, "wb") as file:
        file.truncate(state.size)
    os.utime(path, ns=(state.stamp, state.stamp))
