"""The rows of one model as Arrow tables, for catalogs that are made on more than one machine (docs/catalog.md).

import fxtrace.catalog

tables = fxtrace.catalog.rows("model.pt2")
tables["operators"].to_pandas()
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from typing import TYPE_CHECKING, Any

from ._program import run
from ._trace import Path, check_keywords, option_words

if TYPE_CHECKING:
    import pyarrow  # type: ignore[import-untyped, unused-ignore]

__all__ = ["rows"]

_TYPES = {"INTEGER": "int64", "TEXT": "string"}


def rows(path: Path, *, name: str | None = None, **options: Any) -> dict[str, pyarrow.Table]:
    """The tables of a catalog of this one model, by name: "models", "modules", "nodes", ...

    Column `model` is `name`, by default the path, so that rows of many models can stand together; for an archive of
    several exported programs, `name:program`.  A file that cannot be read has one row in "models", with its error.  `options` are the keywords of trace().  Needs pyarrow.
    """
    check_keywords("rows", options)
    file_name = os.fspath(path)
    with tempfile.TemporaryDirectory(prefix="fxtrace_") as folder, option_words(options) as words:
        file = os.path.join(folder, "catalog.sqlite")
        run("catalog", *words, "--jobs=1", f"--output={file}", "--", file_name)
        database = sqlite3.connect(file)
        try:
            names = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            models = {
                number: ":".join(filter(None, (name or file_name, program)))
                for number, program in database.execute("SELECT id, program FROM models")
            }
            return {table: _table(database, table, models) for table in names if table != "catalog"}
        finally:
            database.close()


def _table(database: sqlite3.Connection, table: str, models: dict[int, str]) -> pyarrow.Table:
    import pyarrow  # type: ignore[import-untyped, unused-ignore]

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
