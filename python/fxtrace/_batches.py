"""The rows of catalogs as Arrow record batches: of any number of models, in memory that is bounded (docs/how-to/catalog.md)."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Container, Iterable, Iterator, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, Union
from urllib.parse import quote

from ._errors import Error, InputError, ProgramNotFound, UsageError
from ._fetch import AT_ONCE, Skeleton, fetch
from ._keywords import option_words
from ._memory import saved, wrong_model
from ._program import NOT_ALL_READ, Message, find_program, run
from ._remote import identity, is_url, public_url
from ._types import ModelLike, Path

if TYPE_CHECKING:
    import pyarrow  # type: ignore[import-untyped, import-not-found, unused-ignore]

PathOrNamed = Union[Path, "tuple[Path, str]"]
Tables = Union[str, Iterable[str], None]
Row = tuple[Any, ...]

MODELS = "models"
TABLE = "table"  # the column that has the name of the table, in batches of several
ROWS = 16_384  # at most in a batch
BYTES = 16 << 20  # of the texts in a batch, about
FILES = 64  # that a run of the program reads
_TYPES = {"INTEGER": "int64", "TEXT": "string"}
_GIVEN = ("model", "key", "file_bytes", "modified_ns")  # columns that the database does not decide
_NEXT_PROGRAM = 1 << 32  # ids of the programs of a file differ by multiples of it


class Definition(NamedTuple):
    """The tables of a catalog, and how its models are read."""

    schemas: dict[str, pyarrow.Schema]
    statements: list[Row]  # that make the tables and indices
    settings: str  # version and options


class State(NamedTuple):
    """What is known of a file without reading it."""

    bytes: int | None
    modified_ns: int | None  # for a file in a store, of its time and its tag (_remote.State.stamp)


_UNKNOWN = State(None, None)


class Item(NamedTuple):
    path: str
    name: str  # in the column `model`
    state: State
    key: str | None


def make(file: str, words: Iterable[str], paths: Iterable[str]) -> tuple[Message, ...]:
    """Make a catalog and return the program's messages, among them a note for each file that could not be read."""
    done = run("catalog", *words, f"--output={file}", "--", *paths, expected=(0, NOT_ALL_READ))
    if done.exit_code == NOT_ALL_READ:
        texts = {kind: [message.text for message in done.messages if message.kind == kind] for kind in ("note", "hint")}
        raise InputError("; ".join(texts["note"]), texts["hint"])
    return done.messages


# Tables

_definitions: dict[tuple[Any, ...], Definition] = {}  # by program and options


def define(options: Mapping[str, Any]) -> Definition:
    """Return what a catalog with these options is, which the program says; raise UsageError for wrong ones."""
    program = find_program()
    with option_words("trace", options) as words:
        config = next((word.removeprefix("--config=") for word in words if word.startswith("--config=")), None)
        content = b""
        if config is not None and os.path.isfile(config):
            with open(config, "rb") as file:
                content = file.read()
        others = [word for word in words if not word.startswith("--config=")]
        known = (program, os.stat(program).st_mtime_ns, content, *others)
        if known not in _definitions:
            with tempfile.TemporaryDirectory(prefix="fxtrace_") as folder:
                made = os.path.join(folder, "catalog.sqlite")
                make(made, words, [folder])
                with closing(sqlite3.connect(made)) as database:
                    _definitions[known] = definition_of(database)
    return _definitions[known]


def definition_of(database: sqlite3.Connection) -> Definition:
    """Return what the catalog in a database is."""
    import pyarrow  # type: ignore[import-untyped, import-not-found, unused-ignore]

    version = database.execute("PRAGMA user_version").fetchone()[0]
    schemas = {}
    for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY rowid").fetchall():
        if table == "catalog":
            continue
        columns = [(row[1], row[2].split(" ")[0]) for row in database.execute(f"PRAGMA table_info({table})")]
        if table == MODELS:
            columns = [("model", "TEXT"), ("key", "TEXT"), *(each for each in columns if each[0] not in ("id", "path"))]
        fields = [(name, _TYPES["TEXT" if name == "model" else kind]) for name, kind in columns]
        schemas[table] = pyarrow.schema(fields, {"fxtrace.table": table, "fxtrace.format": str(version)})
    return Definition(schemas, _statements_of(database), _settings_of(database))


def _statements_of(database: sqlite3.Connection) -> list[Row]:
    return database.execute("SELECT type, name, sql FROM sqlite_master WHERE type <> 'view' ORDER BY type, name").fetchall()


def _settings_of(database: sqlite3.Connection) -> str:
    return str(database.execute("SELECT value FROM catalog WHERE key = 'settings'").fetchone()[0])


def table_names(tables: Tables, schemas: Mapping[str, pyarrow.Schema]) -> list[str]:
    """Return the names of these tables, or of all for None; "models" is the last."""
    try:
        names = list(schemas) if tables is None else [tables] if isinstance(tables, str) else list(tables)
        unknown = [name for name in names if name not in schemas]
    except TypeError:
        raise UsageError(f"tables expects a name or several, got {tables!r:.80}") from None
    if unknown:
        raise UsageError(f"tables: there is no table {unknown[0]!r:.80}", [f"the tables are {', '.join(schemas)}"])
    return sorted(dict.fromkeys(names), key=MODELS.__eq__)


def schema_of(tables: Tables, schemas: Mapping[str, pyarrow.Schema]) -> pyarrow.Schema:
    """Return the schema of one table, or the one that has the columns of several."""
    import pyarrow  # type: ignore[import-untyped, import-not-found, unused-ignore]

    names = table_names(tables, schemas)
    if isinstance(tables, str):
        return schemas[tables]
    fields = {TABLE: pyarrow.field(TABLE, "string"), **{field.name: field for name in names for field in schemas[name]}}
    version = schemas[MODELS].metadata[b"fxtrace.format"]
    return pyarrow.schema(list(fields.values()), {"fxtrace.table": ",".join(names), "fxtrace.format": version})


# Rows


def give(database: sqlite3.Connection, models: Iterable[Row]) -> None:
    """Say what batches have for the models of a catalog: rows of their id, and the columns in _GIVEN."""
    database.execute(f"CREATE TEMP TABLE given (id INTEGER PRIMARY KEY, {', '.join(_GIVEN)})")
    database.executemany("INSERT INTO given VALUES (?, ?, ?, ?, ?)", models)


class Reader:
    """Reads catalogs as batches of one schema. The rows of "models" come last: who has a model's row there has all of them."""

    def __init__(self, tables: Tables, schemas: Mapping[str, pyarrow.Schema], rows: int = ROWS, size: int = BYTES) -> None:
        self.names = table_names(tables, schemas)
        self.schema = schema_of(tables, schemas)
        self._schemas, self._rows, self._bytes = schemas, rows, size

    def read(self, database: sqlite3.Connection) -> Iterator[pyarrow.RecordBatch]:
        """Yield the rows of a catalog for which give() was called."""
        for table in self.names:
            with closing(database.execute(self._query(table))) as cursor:
                for rows in self._lists(cursor):
                    yield self._batch(table, rows)

    def error(self, values: Mapping[str, Any]) -> Iterator[pyarrow.RecordBatch]:
        """Yield the row of a model that the program did not read."""
        if MODELS in self.names:
            yield self._batch(MODELS, [tuple(map(values.get, self._schemas[MODELS].names))])

    def _query(self, table: str) -> str:
        """Return the SELECT of a table's columns, behind them the group of rows that stay together and the length of the texts."""
        columns = {name: f"{'given' if name in _GIVEN else 'own'}.{name}" for name in self._schemas[table].names}
        length = "+".join(f"ifnull(length({columns[field.name]}),0)" for field in self._schemas[table] if field.type == "string")
        number, group, order = "own.model", "NULL", ", ".join(["own.model", *list(columns.values())[1:3]])
        if table == MODELS:
            number, group, order = "own.id", f"own.id % {_NEXT_PROGRAM}", f"own.id % {_NEXT_PROGRAM}, own.id"
        return (
            f"SELECT {', '.join(columns.values())}, {group}, {length} "
            f"FROM {table} own CROSS JOIN given ON given.id = {number} ORDER BY {order}"
        )

    def _lists(self, rows: Iterable[Row]) -> Iterator[list[Row]]:
        """Yield the rows in lists that have few enough and short enough ones."""
        found: list[Row] = []
        size = 0
        for row in rows:
            is_full = len(found) >= self._rows or size + row[-1] > self._bytes
            if is_full and found and (row[-2] is None or row[-2] != found[-1][-2]):
                yield found
                found, size = [], 0
            found.append(row)
            size += row[-1]
        if found:
            yield found

    def _batch(self, table: str, rows: list[Row]) -> pyarrow.RecordBatch:
        import pyarrow  # type: ignore[import-untyped, import-not-found, unused-ignore]

        arrays = {field.name: pyarrow.array(values, field.type) for field, values in zip(self._schemas[table], zip(*rows))}
        if TABLE not in self.schema.names:
            return pyarrow.record_batch(list(arrays.values()), self.schema)
        arrays[TABLE] = pyarrow.repeat(table, len(rows))
        nulls = {kind: pyarrow.nulls(len(rows), kind) for kind in _TYPES.values()}
        return pyarrow.record_batch([arrays.get(field.name, nulls[str(field.type)]) for field in self.schema], self.schema)


# Models


def key_of(name: str, state: State, settings: str) -> str:
    """Return the key of the rows that a file in this state gives under this name."""
    parts = [name, *map(str, state), settings]
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=15).hexdigest()


def text_of(path: str) -> str:
    """Return a path as a text that Arrow takes."""
    return os.fsencode(path).decode("utf-8", errors="replace")


def _state_of(path: str, storage_options: Mapping[str, Any] | None) -> State | None:
    """Return the state of a file; None where a store does not tell when it changed. Raise InputError if it is not there."""
    if is_url(path):
        found = identity(path, storage_options)
        return State(found.size, found.stamp) if found.tag else None
    try:
        status = os.stat(path)
    except (OSError, ValueError) as error:
        raise InputError(str(getattr(error, "strerror", None) or error).lower()) from None
    if os.path.isdir(path):
        raise InputError("this is a folder")
    return State(status.st_size, status.st_mtime_ns)


def _named(given: PathOrNamed) -> tuple[str, str]:
    """Return the path and the name of a model."""
    try:
        path = os.fspath(given[0] if isinstance(given, tuple) else given)
        name = os.fspath(given[1]) if isinstance(given, tuple) else public_url(path) if is_url(path) else path
        if not isinstance(path, str):
            raise TypeError
        return path, text_of(name)
    except (TypeError, ValueError, IndexError):
        raise UsageError(f"models expects paths, or pairs of a path and a name, got {given!r:.80}") from None


def item_of(given: PathOrNamed, settings: str, storage_options: Mapping[str, Any] | None) -> tuple[Item, Error | None]:
    """Return what is known of a file without reading it, and the error if it is not there."""
    path, name = _named(given)
    state: State | None = _UNKNOWN
    failed = None
    try:
        state = _state_of(path, storage_options)
    except Error as error:
        failed = _of_a_model(error)
    return _item(path, name, state, settings), failed


def _item(path: str, name: str, state: State | None, settings: str) -> Item:
    return Item(path, name, state or _UNKNOWN, key_of(name, state, settings) if state else None)


def _of_a_model(error: Error) -> Error:
    """Return the error, or raise it if another model would have it too."""
    if isinstance(error, ProgramNotFound) or isinstance(error.__context__, ImportError):
        raise error
    return error


class Models:
    """Reads models, with a run of the program for some of them at a time."""

    def __init__(
        self, reader: Reader, options: Mapping[str, Any], storage_options: Mapping[str, Any] | None, files: int, done: Container[str]
    ) -> None:
        self._reader, self._options, self._files, self._done = reader, options, files, done
        self._storage_options = storage_options
        self._settings = define(options).settings

    def batches(self, paths: Iterable[PathOrNamed]) -> Iterator[pyarrow.RecordBatch]:
        left = iter(paths)
        with option_words("trace", self._options) as words, ThreadPoolExecutor(AT_ONCE) as pool:
            while group := list(islice(left, self._files)):
                yield from self._read_group(group, words, pool)

    def _read_group(self, group: list[PathOrNamed], words: list[str], pool: Executor) -> Iterator[pyarrow.RecordBatch]:
        with contextlib.ExitStack() as skeletons:
            found = [self.opened(given) for given in group if not self._is_url(given)]
            found += pool.map(self.opened, filter(self._is_url, group))
            items = []
            for item, local, error in found:
                if isinstance(local, Skeleton):
                    skeletons.enter_context(local)
                if error is not None:
                    yield from self._error(item, error)
                elif local is not None:
                    items.append((os.fspath(local), item))
            while items:
                first = dict(reversed(items))
                yield from self._read(words, dict(reversed(first.items())))
                items = [(path, item) for path, item in items if first[path] is not item]  # the same path with another name

    def _is_url(self, given: PathOrNamed) -> bool:
        return is_url(given[0] if isinstance(given, tuple) else given)

    def opened(self, given: PathOrNamed) -> tuple[Item, Path | None, Error | None]:
        """Return a model and the local file to read: none if it is done, or if there is an error."""
        is_stored = self._is_url(given)
        if is_stored and self._done == ():  # then the fetch tells the state
            item, error = _item(*_named(given), None, self._settings), None
        else:
            item, error = item_of(given, self._settings, self._storage_options)
        if item.key is not None and item.key in self._done:
            return item, None, None
        if error is not None or not is_stored:
            return item, "./" + item.path if item.path.startswith("-") else item.path, error
        try:
            skeleton = fetch(item.path, storage_options=self._storage_options)
        except Error as failed:
            return _item(item.path, item.name, _UNKNOWN, self._settings), None, _of_a_model(failed)
        if item.key is None:
            state = State(skeleton.size, os.stat(skeleton).st_mtime_ns) if skeleton.tag else None
            item = _item(item.path, item.name, state, self._settings)
        return item, skeleton, None

    def _read(self, words: list[str], items: Mapping[str, Item]) -> Iterator[pyarrow.RecordBatch]:
        """Read local files; one by one if not all can be read, so that none costs another one its rows."""
        with tempfile.TemporaryDirectory(prefix="fxtrace_") as folder:
            file = os.path.join(folder, "catalog.sqlite")
            failed = None
            try:
                make(file, [*words, "--jobs=1"], items)
            except Error as error:
                if str(error).startswith(file):  # the disk is full, which is no fault of a model
                    raise
                failed = _of_a_model(error)
            else:
                # An engine may take the batches in one thread and then in another one.
                with closing(sqlite3.connect(file, check_same_thread=False)) as database:
                    give(database, models_of(database, items))
                    yield from self._reader.read(database)
        if failed is not None:
            for path, item in items.items():
                yield from self._error(item, failed) if len(items) == 1 else self._read(words, {path: item})

    def _error(self, item: Item, error: Error) -> Iterator[pyarrow.RecordBatch]:
        advice = "; ".join(error.hints) or None
        return self._reader.error({**dict(zip(_GIVEN, values_of(item, None))), "content": "", "error": str(error), "advice": advice})


def models_of(database: sqlite3.Connection, items: Mapping[str, Item]) -> list[Row]:
    """Return what give() takes for the models of a catalog, which were read from these paths."""
    by_path = {os.fsencode(path): item for path, item in items.items()}
    models = database.execute("SELECT id, CAST(path AS BLOB), program FROM models").fetchall()
    return [(number, *values_of(by_path[path], program)) for number, path, program in models]


def values_of(item: Item, program: str | None) -> Row:
    """Return the columns in _GIVEN."""
    return ":".join(filter(None, (item.name, program))), item.key, item.state.bytes, item.state.modified_ns


def rows_of(model: ModelLike, name: str | None, options: Mapping[str, Any]) -> dict[str, pyarrow.Table]:
    """Return the tables of one model."""
    import pyarrow  # type: ignore[import-untyped, import-not-found, unused-ignore]

    schemas, _, settings = define(options)
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="fxtrace_"))
        if isinstance(model, (str, os.PathLike)):
            given = model if name is None else (model, name)
            item, local, error = Models(Reader(None, schemas), options, None, 1, ()).opened(given)
            if error is not None:
                raise error if is_url(model) else InputError(f"{item.path}: {error}", error.hints)
            path = os.fspath(stack.enter_context(local) if isinstance(local, Skeleton) else local or "")
        else:
            path = os.path.join(folder, "model")
            size = _write(model, path)
            told = name or getattr(model, "name", None)
            item = Item(path, text_of(told) if isinstance(told, str) else "-", State(size, None), None)
        file = os.path.join(folder, "catalog.sqlite")
        make(file, [*stack.enter_context(option_words("trace", options)), "--jobs=1"], [path])
        with closing(sqlite3.connect(file)) as database:
            give(database, models_of(database, {path: item}))
            readers = {table: Reader(table, schemas) for table in schemas}
            return {table: pyarrow.Table.from_batches(reader.read(database), reader.schema) for table, reader in readers.items()}


def _write(model: Any, path: str) -> int:
    """Write an open file, its bytes, or a model in torch's memory to a file; return the size."""
    content = model if isinstance(model, bytes) else saved(model)
    if content is None and not callable(getattr(model, "read", None)):
        raise wrong_model(model)
    with open(path, "wb") as file:
        if content is None:
            shutil.copyfileobj(model, file)
        else:
            file.write(content)
        return file.tell()


def export(database: Path, folder: Path) -> None:
    """Write the tables of a catalog as Parquet."""
    import pyarrow.parquet  # type: ignore[import-untyped, import-not-found, unused-ignore]

    schemas, statements, _ = define({})
    try:
        with closing(sqlite3.connect(f"file:{quote(os.path.abspath(database))}?mode=ro", uri=True, isolation_level=None)) as catalog:
            catalog.execute("PRAGMA trusted_schema = OFF")
            catalog.execute("BEGIN")  # so that all tables are of one moment
            if _statements_of(catalog) != statements:
                raise InputError(f"{os.fspath(database)}: this is not a catalog of this version of fxtrace")
            settings = _settings_of(catalog)
            columns = "id, CAST(path AS BLOB), program, file_bytes, modified_ns, content <> '' OR error IS NOT NULL"
            give(catalog, (_exported(row, settings) for row in catalog.execute(f"SELECT {columns} FROM models")))
            for table in schemas:
                target = os.path.join(folder, f"{TABLE}={table}")
                os.makedirs(target, exist_ok=True)
                made = os.path.join(target, "catalog.parquet")
                reader = Reader(table, schemas, 8 * ROWS)
                with pyarrow.parquet.ParquetWriter(made + ".part", reader.schema, compression="zstd") as file:
                    for batch in reader.read(catalog):
                        file.write_batch(batch)
                os.replace(made + ".part", made)
    except (sqlite3.Error, pyarrow.ArrowException) as error:
        raise InputError(f"{os.fspath(database)}: {error}") from None
    except OSError as error:
        raise InputError(f"{os.fspath(folder)}: {error.strerror or error}") from None


def _exported(row: Row, settings: str) -> Row:
    """Return what give() takes; a row that was made with other settings has no key."""
    number, path, program, size, modified_ns, is_known = row
    state, name = State(size, modified_ns), path.decode("utf-8", errors="replace")
    return (number, *values_of(Item("", name, state, key_of(name, state, settings) if is_known else None), program))
