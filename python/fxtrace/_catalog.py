"""fxtrace.catalog: many models in one SQLite database, or one model's rows as Arrow tables (docs/how-to/catalog.md)."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterable
from contextlib import closing
from typing import TYPE_CHECKING, Any

from ._errors import InputError, UsageError
from ._program import NOT_ALL_READ, Message, run, warn_of
from ._trace import Path, Texts, check_keywords, option_words

if TYPE_CHECKING:
    import pyarrow  # type: ignore[import-untyped, import-not-found, unused-ignore]

_TYPES = {"INTEGER": "int64", "TEXT": "string"}


class _Catalog:
    """Reads models into a SQLite database: fxtrace.catalog(paths); or returns the rows of one: fxtrace.catalog.rows(path)."""

    def __call__(
        self,
        paths: Path | Iterable[Path],
        output: Path | None = None,
        *,
        jobs: int | None = None,
        recursive: bool = True,
        include: Texts = (),
        verify_content: bool = False,
        **options: Any,
    ) -> sqlite3.Connection:
        """Read models into a SQLite database, as `fxtrace catalog` does: a row for each model, module, node, ...

        - paths: files, and folders of them;
        - output: the database, which is created or added to; files that have not changed are not read again. The default is a
          database in memory;
        - jobs: the number of models to read at a time; the number of cores by default;
        - recursive: true to read the subfolders of folders too;
        - include: globs of the names of files to read in folders, such as "*.pt2";
        - verify_content: true to make the columns `content` from the bytes of weights, not from the checksums in the archives; a file
          whose bytes do not match these is a row with that as its error;
        - options: the keywords of trace().

        Returns an open connection to the database, whose tables docs/how-to/catalog.md describes; costs are multiply-accumulates and
        bytes. A file that cannot be read is a row of "models" with its `error`, and causes a warning.

        Raises UsageError for wrong options; InputError for a path that does not exist, for an output that is not such a database, and
        with strict=True for a file that cannot be read.
        """
        check_keywords("catalog", options)
        files = [paths] if isinstance(paths, (str, os.PathLike)) else paths
        try:
            names = [os.fspath(path) for path in files]
        except TypeError:
            raise UsageError(f"paths expects a path or several, got {paths!r:.80}") from None
        with tempfile.TemporaryDirectory(prefix="fxtrace_") as folder, option_words(options) as words:
            words += [] if jobs is None else [f"--jobs={jobs}"]
            words += [] if recursive else ["--no-recursive"]
            words += ["--verify-content"] if verify_content else []
            words += [f"--include={glob}" for glob in ([include] if isinstance(include, str) else include)]
            file = os.path.join(folder, "catalog.sqlite") if output is None else os.fspath(output)
            messages = _make(file, words, names)
            has_unread_files = any(message.kind == "note" for message in messages)
            warn_of([each for each in messages if each.kind == "warning" or has_unread_files], stacklevel=3)
            if output is not None:
                return sqlite3.connect(file)
            with closing(sqlite3.connect(file)) as made:
                database = sqlite3.connect(":memory:")
                made.backup(database)
                return database

    def rows(self, path: Path, *, name: str | None = None, **options: Any) -> dict[str, pyarrow.Table]:
        """Return the tables of a catalog of this one model, by name: "models", "modules", "nodes", ...

        - path: the file;
        - name: the value of column `model`, so that rows of many models can be joined; the path by default. For an archive of several
          exported programs it is `name:program`;
        - options: the keywords of trace().

        Returns a dict of pyarrow tables, for which pyarrow is needed. A file that cannot be read has one row in "models", with its error.
        """
        check_keywords("rows", options)
        file_name = os.fspath(path)
        with tempfile.TemporaryDirectory(prefix="fxtrace_") as folder, option_words(options) as words:
            file = os.path.join(folder, "catalog.sqlite")
            _make(file, [*words, "--jobs=1"], [file_name])
            with closing(sqlite3.connect(file)) as database:
                tables = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
                models = {
                    number: ":".join(filter(None, (name or file_name, program)))
                    for number, program in database.execute("SELECT id, program FROM models")
                }
                return {table: _table(database, table, models) for table in tables if table != "catalog"}


catalog = _Catalog()


def _make(file: str, words: Iterable[str], names: Iterable[str]) -> tuple[Message, ...]:
    """Run the program and return its messages, among them a note for each file that could not be read."""
    done = run("catalog", *words, f"--output={file}", "--", *names, expected=(0, NOT_ALL_READ))
    texts = {kind: [message.text for message in done.messages if message.kind == kind] for kind in ("note", "hint")}
    if done.exit_code == NOT_ALL_READ:
        raise InputError("; ".join(texts["note"]), texts["hint"])
    return done.messages


def _table(database: sqlite3.Connection, table: str, models: dict[int, str]) -> pyarrow.Table:
    import pyarrow  # type: ignore[import-untyped, import-not-found, unused-ignore]

    columns = [(row[1], row[2]) for row in database.execute(f"PRAGMA table_info({table})")]
    values = list(zip(*database.execute(f"SELECT * FROM {table} ORDER BY 1, 2, 3"))) or [()] * len(columns)
    fields, arrays = [], []
    for (column, kind), items in zip(columns, values):
        if column == "path" and table == "models":
            continue
        if (column, table) == ("id", "models") or column == "model":
            column, kind, items = "model", "TEXT", tuple(map(models.get, items))
        field = pyarrow.field(column, _TYPES[kind.split(" ")[0]])
        fields.append(field)
        arrays.append(pyarrow.array(items, type=field.type))
    return pyarrow.table(arrays, schema=pyarrow.schema(fields))
