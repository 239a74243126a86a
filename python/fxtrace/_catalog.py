"""fxtrace.catalog: many models in one SQLite database, or their rows as Arrow tables and batches (docs/how-to/catalog.md)."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from ._batches import FILES, ROWS, Models, PathOrNamed, Reader, Tables, define, export, item_of, make, rows_of, schema_of
from ._errors import InputError, UsageError
from ._keywords import option_words, options_of
from ._options import TraceOptions, Unpack
from ._program import Message, run, warn_of
from ._remote import is_url
from ._stored_models import add_models, urls_of
from ._types import ModelLike, Path, Texts

if TYPE_CHECKING:
    import pyarrow  # type: ignore[import-untyped, import-not-found, unused-ignore]

__all__ = ["catalog"]


class _Catalog:
    """Reads models into a SQLite database: fxtrace.catalog(models); or into Arrow: the rows of one, batches of any number."""

    def __call__(
        self,
        models: Path | Iterable[Path],
        output: Path | None = None,
        *,
        storage_options: Mapping[str, Any] | None = None,
        # scripts/reference writes what follows: catalog
        jobs: int | None = None,
        no_recursive: bool = False,
        include: Texts | None = None,
        backend: Path | Iterable[Path] | None = None,
        verify_content: bool = False,
        # end of what scripts/reference writes
        **options: Unpack[TraceOptions],
    ) -> sqlite3.Connection:
        """Read models into a SQLite database, as `fxtrace catalog` does: a row for each model, module, node, ...

        - models: files, URLs of files in stores (fetch()), and folders of them;
        - output: the database, which is created or added to; files that have not changed are not read again. The default is a
          database in memory;
        - storage_options: fsspec's, for URLs;

        Options of `fxtrace catalog`:

        - jobs: the number of models read at a time. Default: the number of cores;
        - no_recursive: read only the files in PATH itself;
        - include: a glob over the names of files to read in folders; * matches any characters. Default: *.pt, *.pt2, *.pth, *.ts;
        - backend: what backends take of each model, in the table backends: sets or files as for partition();
        - verify_content: make columns content from the bytes of weights, which are read, and not from the checksums in the archives; a
          file whose bytes do not match these is a row with that as its error;
        - options: the keywords of trace().

        Returns an open connection to the database, whose tables docs/how-to/catalog.md describes; costs are multiply-accumulates and
        bytes. A file that cannot be read is a row of "models" with its `error`, and causes a warning.

        Raises UsageError for wrong options; InputError for a path that does not exist, for an output that is not such a database, and
        with strict=True for a file that cannot be read.
        """
        globs = [include] if isinstance(include, str) else list(include or ())
        given = {**options_of("catalog", locals()), "include": globs}
        try:
            names = [os.fspath(path) for path in ([models] if isinstance(models, (str, os.PathLike)) else models)]
        except TypeError:
            raise UsageError(f"models expects a path or several, got {models!r:.80}") from None
        with tempfile.TemporaryDirectory(prefix="fxtrace_") as folder, option_words("catalog", given) as words:
            file = os.path.join(folder, "catalog.sqlite") if output is None else os.fspath(output)
            urls = [name for name in names if is_url(name)]
            messages: list[Message] = []
            if len(urls) < len(names):
                messages += make(file, words, [name for name in names if not is_url(name)])
            if urls:
                messages += _add_urls(file, urls_of(urls, not no_recursive, globs, storage_options), storage_options, words)
            has_unread_files = any(message.kind == "note" for message in messages)
            warn_of([each for each in messages if each.kind == "warning" or has_unread_files], stacklevel=3)
            if output is not None:
                return sqlite3.connect(file)
            with closing(sqlite3.connect(file)) as made:
                database = sqlite3.connect(":memory:")
                made.backup(database)
                return database

    @property
    def SCHEMAS(self) -> dict[str, pyarrow.Schema]:
        """The Arrow schemas of the tables, by name. Their metadata has `fxtrace.table`, and in `fxtrace.format` the version of the form."""
        return dict(define({}).schemas)

    def schema(self, tables: Tables = None) -> pyarrow.Schema:
        """Return the schema of what batches() gives for these `tables`.

        Returns SCHEMAS[tables] for one name. For several, and for all of them (None), it has a column `table` and the columns of all.

        Raises UsageError for a table that is not there.
        """
        return schema_of(tables, define({}).schemas)

    def batches(
        self,
        models: Iterable[PathOrNamed],
        tables: Tables = None,
        storage_options: Mapping[str, Any] | None = None,
        *,
        rows: int = ROWS,
        done: Container[str] = (),
        files: int = FILES,
        **options: Unpack[TraceOptions],
    ) -> Iterator[pyarrow.RecordBatch]:
        """Read any number of models, and give the rows of a catalog as Arrow record batches.

        - models: files and URLs of files in stores, or pairs of one and what column `model` has for it, the path or URL by default;
          they are taken as they are needed;
        - tables: the name of one table; or several, or None for all, whose rows are in batches of one schema, schema(tables);
        - storage_options: fsspec's, for URLs;
        - rows: the number of rows that a batch has at most;
        - done: keys of models, as column `key` of "models" has them, that are not read; anything with `in`;
        - files: the number of files that one run of the program reads;
        - options: the keywords of trace().

        Returns an iterator of batches, whose memory depends neither on the number of models nor on their size. For an archive of
        several exported programs the model is `name:program`. A file that cannot be read, that is not there or that ends the program
        is a row of "models" with its `error`. The row of a model in "models" comes after all its other rows, and the rows of all
        programs of a file come in one batch.

        Raises UsageError for wrong options and tables, at once; and, from the iterator, for what is no path.
        """
        given = _without_strict(options)
        if isinstance(models, (str, bytes, os.PathLike)):
            raise UsageError(f"models expects several paths, got {models!r:.80}")
        if rows < 1 or files < 1:
            raise UsageError(f"rows and files expect positive numbers, got {min(rows, files)}")
        reader = Reader(tables, define(given).schemas, rows)
        return Models(reader, given, storage_options, files, done).batches(models)

    def key(self, model: PathOrNamed, storage_options: Mapping[str, Any] | None = None, **options: Unpack[TraceOptions]) -> str:
        """Return the `key` that batches() gives to the model now, without reading it.

        - model: the file or its URL, or a pair of it and its name;
        - storage_options, options: as for batches().

        Returns a text that is another one when the name, the size, the modification time or the store's tag of the file, the version of
        fxtrace or the options are. A file that is not there has a key, too. The key is empty where a store tells no time and no tag.

        Raises UsageError for wrong options.
        """
        return item_of(model, define(_without_strict(options)).settings, storage_options)[0].key or ""

    def rows(self, model: ModelLike, *, name: str | None = None, **options: Unpack[TraceOptions]) -> dict[str, pyarrow.Table]:
        """Return the tables of a catalog of this one model, by name: "models", "modules", "nodes", ...

        - model: the file or its URL, an open file, its bytes, or a model in torch's memory;
        - name: the value of column `model`, so that rows of many models can be joined; the path by default. For an archive of several
          exported programs it is `name:program`;
        - options: the keywords of trace().

        Returns a dict of pyarrow tables with the schemas in SCHEMAS, for which pyarrow is needed. A file that cannot be read has one row
        in "models", with its error. What is no file on a disk has neither `key` nor `modified_ns`.

        Raises UsageError for wrong options; InputError for a path that does not exist, and with strict=True for a file that cannot be
        read.
        """
        return rows_of(model, name, options_of("catalog", {"options": options}))

    def export(self, database: Path, folder: Path) -> None:
        """Write the tables of a catalog as Parquet: `folder/table=nodes/catalog.parquet`, ...

        - database: the file of the catalog;
        - folder: where the files are written; those of an earlier export are replaced.

        Column `model` has the path of the model's file, and `key` what key() gives. The memory that this takes does not depend on the
        number of models.

        Returns None.

        Raises InputError for a file that is not a catalog of this version.
        """
        export(database, folder)


def _without_strict(options: TraceOptions) -> dict[str, Any]:
    """Return the options, checked; an error is a row."""
    return {name: value for name, value in options_of("catalog", {"options": options}).items() if name != "strict"}


def _add_urls(file: str, urls: Iterable[str], storage_options: Mapping[str, Any] | None, words: Sequence[str]) -> list[Message]:
    messages: list[Message] = []
    others = [word for word in words if word != "--strict"]  # all are read, whatever the first ones give

    def read(listed: str) -> None:
        messages.extend(run("catalog", *others, f"--output={file}", f"--files-from={listed}").messages)

    errors = add_models(file, urls, storage_options, read)
    messages += [Message("warning", str(error)) for error in errors.values()]
    if "--strict" in words:
        texts = [message.text for message in messages if message.kind == "note" and not any(name in message.text for name in errors)]
        if texts := [*map(str, errors.values()), *texts]:
            raise InputError("; ".join(texts))
    return messages


catalog = _Catalog()
