"""Tests fxtrace.catalog's Arrow batches: the rows are those of a catalog, bounded, resumed by key, and whatever a model does is a row."""

import gc
import io
import os
import shutil
import sqlite3
import subprocess
import sys

import harness
import pytest

pyarrow = pytest.importorskip("pyarrow")
import fxtrace.catalog  # noqa: E402
import pyarrow.parquet  # noqa: E402
from range_server import Served, serve  # noqa: E402

SAMPLES = ["nested_scripted.pt", "failing_nested.pt", "exported_several.pt2", "vision_exported.pt2", "control_flow_submodule.pt"]
TABLES = ("modules", "parameters", "graphs", "nodes", "edges", "operators", "failures", "backends", "models")


@pytest.fixture(autouse=True)
def installed(program, monkeypatch):
    monkeypatch.setenv("FXTRACE", program.path)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    for name in SAMPLES:
        shutil.copy(os.path.join(harness.SAMPLES, name), folder)
    (folder / "broken.pt").write_bytes(b"no model")
    return sorted(str(path) for path in folder.iterdir())


@pytest.fixture(scope="module")
def database(program, models, tmp_path_factory):
    file = str(tmp_path_factory.mktemp("catalog") / "made.sqlite")
    subprocess.run([program.path, "catalog", *models, "-o", file], check=True, capture_output=True)
    return file


def rows_of(file: str) -> dict[str, list[dict]]:
    """The rows of a catalog, with the path and program in the place of the number."""
    with sqlite3.connect(file) as made:
        made.row_factory = sqlite3.Row
        names = {row["id"]: ":".join(filter(None, (row["path"], row["program"]))) for row in made.execute("SELECT * FROM models")}
        found = {table: [dict(row) for row in made.execute(f"SELECT * FROM {table}")] for table in TABLES}
    for table, rows in found.items():
        for row in rows:
            row["model"] = names[row.pop("id" if table == "models" else "model")]
            row.pop("path", None) if table == "models" else None
    return {table: in_order(rows) for table, rows in found.items()}


def in_order(rows: list[dict]) -> list[dict]:
    return sorted(rows, key=lambda row: repr(sorted(row.items())))


def tables_of(batches) -> dict[str, list[dict]]:
    """The rows of batches of all tables; columns of other tables are empty."""
    found = {table: [] for table in TABLES}
    for batch in batches:
        assert batch.schema.equals(fxtrace.catalog.schema(), check_metadata=True)
        for row in batch.to_pylist():
            table = row.pop("table")
            names = fxtrace.catalog.SCHEMAS[table].names
            assert all(value is None for name, value in row.items() if name not in names)
            found[table].append({name: row[name] for name in names})
    for row in found["models"]:
        assert len(row.pop("key")) == 30
    return {table: in_order(rows) for table, rows in found.items()}


def table(batches) -> pyarrow.Table:
    return pyarrow.Table.from_batches(batches)


def test_rows_are_those_of_a_catalog(models, database):
    expected = rows_of(database)
    assert len(expected["models"]) == 7 and [bool(row["error"]) for row in expected["models"]].count(True) == 1
    for keywords in ({}, {"files": 1}, {"rows": 1}, {"files": 4, "rows": 7}):
        assert tables_of(fxtrace.catalog.batches(iter(models), **keywords)) == expected, keywords


def test_schemas(program, database):
    schemas = fxtrace.catalog.SCHEMAS
    assert set(schemas) == set(TABLES)
    assert list(schemas["models"].names)[:3] == ["model", "key", "file_bytes"] and schemas["nodes"].names[0] == "model"
    with sqlite3.connect(database) as made:
        version = str(made.execute("PRAGMA user_version").fetchone()[0]).encode()
    for name, schema in schemas.items():
        assert schema.metadata == {b"fxtrace.table": name.encode(), b"fxtrace.format": version}
        assert set(map(str, schema.types)) <= {"string", "int64"}
    everything = fxtrace.catalog.schema()
    assert everything.names[:2] == ["table", "model"] and set(everything.names) == {"table"}.union(*(schema.names for schema in schemas.values()))
    for schema in schemas.values():  # a column has one type, whatever table it is of
        assert all(everything.field(field.name).type == field.type for field in schema)
    assert fxtrace.catalog.schema("nodes").equals(schemas["nodes"], check_metadata=True)
    assert fxtrace.catalog.schema(["models", "operators"]).metadata[b"fxtrace.table"] == b"operators,models"
    from fxtrace.catalog import SCHEMAS, batches

    assert SCHEMAS == schemas and callable(batches)


def test_one_table_and_some(models, database):
    expected = rows_of(database)
    nodes = table(fxtrace.catalog.batches(models, "nodes"))
    assert nodes.schema.equals(fxtrace.catalog.SCHEMAS["nodes"], check_metadata=True)
    assert in_order(nodes.to_pylist()) == expected["nodes"]
    some = table(fxtrace.catalog.batches(models, ["models", "operators"]))
    assert set(some["table"].to_pylist()) == {"models", "operators"} and "graph" not in some.column_names
    assert some.num_rows == len(expected["models"]) + len(expected["operators"])
    failed = table(fxtrace.catalog.batches([*models, "none.pt2"], "operators"))
    assert failed.num_rows == len(expected["operators"])  # errors are rows of models alone


def test_batches_are_bounded(models):
    batches = list(fxtrace.catalog.batches(models, rows=10))
    assert max(batch.num_rows for batch in batches) == 10
    reader = fxtrace._batches.Reader(None, fxtrace.catalog.SCHEMAS, size=2000)
    short = list(fxtrace._batches.Models(reader, {}, None, 64, ()).batches(models))
    assert tables_of(short) == tables_of(batches) and len(short) > len(list(fxtrace.catalog.batches(models)))
    for batch in short:
        rows = batch.to_pylist()
        length = sum(len(value) for row in rows for name, value in row.items() if isinstance(value, str) and name != "table")
        assert length <= 2000 or len(rows) == 1 or rows[0]["table"] == "models"  # programs of a file, together


def test_a_models_row_comes_last(models):
    """Also with one row in a batch; rows of the programs of a file come together."""
    had = set()
    for batch in fxtrace.catalog.batches(models, rows=1, files=2):
        rows = batch.to_pylist()
        for row in rows:
            assert row["model"] not in had
        if rows[0]["table"] == "models":
            had.update(row["model"] for row in rows)
            assert len(rows) == (2 if "exported_several" in rows[0]["model"] else 1)
    assert len(had) == 7


def test_done_models_are_not_read(models, monkeypatch):
    first = table(fxtrace.catalog.batches(models[:3], "models"))
    done = set(first["key"].to_pylist())
    assert done == {fxtrace.catalog.key(path) for path in models[:3]}
    left = table(fxtrace.catalog.batches(models, "models", done=done))
    assert {model.rsplit(":")[0] for model in left["model"].to_pylist()} == set(models[3:])
    monkeypatch.setattr(fxtrace._batches, "make", None)  # a look at the file is enough
    assert list(fxtrace.catalog.batches(models[:3], done=done)) == []


def test_keys(models, tmp_path):
    path = shutil.copy(models[-1], tmp_path)
    config = tmp_path / "config.json"
    config.write_text('{"max_depth": 1}')
    keys = [
        fxtrace.catalog.key(path),
        fxtrace.catalog.key((path, "other")),
        fxtrace.catalog.key(path, max_depth=1),
        fxtrace.catalog.key(path, max_depth=2),
        fxtrace.catalog.key(str(tmp_path / "none")),
    ]
    # What says the same is the same.
    for options in ({"config": {"max_depth": 1}}, {"config": config}, {"max_depth": 1, "strict": True}):
        assert fxtrace.catalog.key(path, **options) == keys[2]
    config.write_text('{"max_depth": 2}')
    assert fxtrace.catalog.key(path, config=config) == keys[3]
    os.utime(path, ns=(1, 1))
    keys.append(fxtrace.catalog.key(path))
    with open(path, "ab") as file:
        file.write(b" ")
    os.utime(path, ns=(1, 1))
    keys.append(fxtrace.catalog.key(path))
    assert len(set(keys)) == len(keys)


def test_names(models, tmp_path):
    """Paths as they come, also twice, and those that no text can have."""
    broken, several, vision = models[0], models[2], models[-1]
    strange = os.path.join(os.fsencode(tmp_path), b"-\xff\n:.pt2")
    shutil.copy(vision, strange)
    given = [(broken, "first"), (several, "several"), vision, (vision, "again"), (vision, "often"), os.fsdecode(strange)]
    found = table(fxtrace.catalog.batches(given, "models")).to_pylist()
    assert [row["model"] for row in found if row["error"]] == ["first"]
    expected = ["several:decoder", "several:encoder", vision, "again", "often", os.path.join(tmp_path, "-\ufffd\n:.pt2")]
    assert sorted(row["model"] for row in found if not row["error"]) == sorted(expected)
    assert {row["key"] for row in found} == set(map(fxtrace.catalog.key, given))


def test_relative_names_that_look_like_options(models, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(models[-1], "--help")
    shutil.copy(models[-1], "-")
    assert table(fxtrace.catalog.batches(["--help", "-"], "models"))["error"].to_pylist() == [None, None]


def test_what_is_not_there_is_a_row(models, tmp_path):
    there = tmp_path / "there.pt2"
    folder = str(tmp_path)
    gone = iter([folder, "none.pt2", "a\0b", models[-1]])
    found = table(fxtrace.catalog.batches(gone, "models")).to_pylist()
    assert [row["error"] for row in found][:2] == ["this is a folder", "no such file or directory"]
    assert "null" in found[2]["error"] and found[3]["error"] is None and len(found) == 4
    missing = fxtrace.catalog.batches([there], "models")
    before = next(missing).to_pylist()[0]
    shutil.copy(models[-1], there)
    assert before["key"] != fxtrace.catalog.key(there)  # it is read when it is there


def broken(tmp_path, program, script: str) -> str:
    """A program that does something else before a model with a name is read."""
    path = tmp_path / "fxtrace"
    path.write_text(f'#!/bin/sh\nfor each; do case "$each" in *vision*) {script} ;; esac; done\nexec {program.path} "$@"\n')
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize("script, error", [("kill -9 $$", "signal 9"), ("exit 70", "ended with code 70"), ("exit 3", "ended with code 3")])
def test_a_crash_is_a_row_of_that_model(program, models, tmp_path, monkeypatch, script, error):
    expected = tables_of(fxtrace.catalog.batches(models))
    monkeypatch.setenv("FXTRACE", broken(tmp_path, program, script))
    found = tables_of(fxtrace.catalog.batches(models))
    (row,) = [row for row in found["models"] if "vision" in row["model"]]
    assert error in row["error"] and row["file_bytes"] == os.path.getsize(row["model"])
    for name in TABLES:
        assert [row for row in found[name] if "vision" not in row["model"]] == [row for row in expected[name] if "vision" not in row["model"]]


def test_limits_are_rows(models):
    (row,) = table(fxtrace.catalog.batches([models[-1]], "models", max_memory=1)).to_pylist()
    assert "memory" in row["error"] and row["nodes"] is None


def test_a_file_that_goes_away(program, models, tmp_path, monkeypatch):
    """Between the look at it and the run of the program, as if somebody had removed it."""
    path = shutil.copy(models[-1], tmp_path)
    monkeypatch.setenv("FXTRACE", broken(tmp_path, program, f"rm -f {path}"))
    found = table(fxtrace.catalog.batches([models[1], path], "models")).to_pylist()
    assert [bool(row["error"]) for row in found] == [False, True] and "no such file" in found[1]["error"]


def test_a_full_disk_is_no_row(models, tmp_path, monkeypatch):
    script = tmp_path / "fxtrace"
    script.write_text('#!/bin/sh\nfor each; do case "$each" in --output=*) file=${each#*=} ;; esac; done\n'
                      f'case "$*" in *vision*) echo "fxtrace: error: $file: SQLite: disk I/O error" >&2; exit 3 ;; esac\nexec {os.environ["FXTRACE"]} "$@"\n')  # fmt: skip
    script.chmod(0o755)
    monkeypatch.setenv("FXTRACE", str(script))
    with pytest.raises(fxtrace.InputError, match="disk I/O error"):
        list(fxtrace.catalog.batches(models))


def test_wrong_use_is_told_at_once(models, monkeypatch, tmp_path):
    for keywords, error in (
        ({"leaf": 4}, "leaf expects"),
        ({"input": "float33[1]"}, "--input"),
        ({"config": {"max_depht": 1}}, "unknown option 'max_depht'"),
        ({"tables": "noods"}, "there is no table 'noods'"),
        ({"tables": 4}, "tables expects"),
        ({"rows": 0}, "positive"),
    ):
        with pytest.raises(fxtrace.UsageError, match=error):
            fxtrace.catalog.batches(models, **keywords)
    with pytest.raises(TypeError, match="unexpected keyword argument 'leafs'"):
        fxtrace.catalog.batches(models, leafs=1)
    for paths in ("model.pt", b"model.pt"):
        with pytest.raises(fxtrace.UsageError, match="models expects several paths"):
            fxtrace.catalog.batches(paths)
    with pytest.raises(fxtrace.UsageError, match="models expects paths, or pairs"):
        next(fxtrace.catalog.batches([4]))
    monkeypatch.setenv("FXTRACE", str(tmp_path / "none"))
    with pytest.raises(fxtrace.ProgramNotFound):
        fxtrace.catalog.batches(models)


def test_nothing_is_left(models, tmp_path, monkeypatch):
    """Paths are taken as they are needed, and an iterator that is dropped leaves no files."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    taken = []
    batches = fxtrace.catalog.batches((taken.append(path) or path for path in models * 100), files=2)
    next(batches)
    assert len(taken) == 2 and os.listdir(tmp_path)
    del batches
    gc.collect()
    assert os.listdir(tmp_path) == []


# Stores


@pytest.fixture
def store(models):
    """The models on a web server: what it served by name, and the URL of its folder."""
    served = {f"/{os.path.basename(path)}": Served(read(path), tag=f'"{i}"') for i, path in enumerate(models)}
    with serve(served) as url:
        yield served, url


def read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def test_urls(models, store):
    """The rows are those of the files under their URLs, and what was read is not fetched again until it changes."""
    served, url = store
    urls = [f"{url}/{os.path.basename(path)}" for path in models]
    found = tables_of(fxtrace.catalog.batches([f"{url}/none.pt", *urls, models[1]]))
    (missing,) = [row for row in found["models"] if "none.pt" in row["model"]]
    assert missing["error"] == f"{url}/none.pt: no such file"
    missing_keys = table(fxtrace.catalog.batches([f"{url}/none.pt"], "models"))["key"].to_pylist()
    assert missing_keys == [fxtrace.catalog.key(f"{url}/none.pt")]
    expected = tables_of(fxtrace.catalog.batches(zip(models, urls)))
    for name in TABLES:
        rows = [{key: value for key, value in row.items() if key != "modified_ns"} for row in found[name] if row["model"].startswith("http")]
        rows = [row for row in rows if row.get("model") != missing["model"]]
        assert rows == in_order([{key: value for key, value in row.items() if key != "modified_ns"} for row in expected[name]])
    done = {fxtrace.catalog.key(each) for each in urls}
    assert done == set(table(fxtrace.catalog.batches(urls, "models"))["key"].to_pylist())
    before = [len(each.requests) for each in served.values()]
    assert list(fxtrace.catalog.batches(urls, done=done)) == []
    assert [len(each.requests) for each in served.values()] == [count + 1 for count in before]
    served[f"/{os.path.basename(models[3])}"].tag = '"another"'
    assert table(fxtrace.catalog.batches(urls, "models", done=done))["model"].to_pylist() == [urls[3]]
    served[f"/{os.path.basename(models[3])}"].tag = ""  # without a time too
    assert fxtrace.catalog.key(urls[3]) == ""
    assert table(fxtrace.catalog.batches(urls, "models", done={*done, ""})).to_pylist()[0]["key"] is None


def test_secrets_of_urls(store):
    served, url = store
    secret = f"{url.replace('://', '://user:pass@')}{next(iter(served))}?token=pass"
    assert "pass" not in str(table(fxtrace.catalog.batches([secret, secret + "&none"], "models")).to_pylist())


def test_rows_of_a_url(models, store):
    _, url = store
    found = fxtrace.catalog.rows(f"{url}/{os.path.basename(models[-1])}")
    assert found["nodes"].drop_columns("model").equals(fxtrace.catalog.rows(models[-1])["nodes"].drop_columns("model"))
    assert found["models"]["key"].to_pylist() == [fxtrace.catalog.key(f"{url}/{os.path.basename(models[-1])}")]
    with pytest.raises(fxtrace.InputError, match="none.pt: no such file"):
        fxtrace.catalog.rows(f"{url}/none.pt")


def test_what_is_not_installed_is_no_row(store, monkeypatch):
    served, url = store
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(fxtrace.UsageError, match="fsspec, which is not installed"):
        list(fxtrace.catalog.batches([f"{url}{name}" for name in served]))


# Rows


def test_rows_of_bytes_and_open_files(models):
    path = models[-1]
    expected = fxtrace.catalog.rows(path)
    assert {name: each.schema for name, each in expected.items()} == fxtrace.catalog.SCHEMAS
    assert expected["models"]["key"].to_pylist() == [fxtrace.catalog.key(path)]
    with open(path, "rb") as file:
        content = file.read()
        file.seek(0)
        found = fxtrace.catalog.rows(file)
    for given, name in ((found, path), (fxtrace.catalog.rows(content), "-"), (fxtrace.catalog.rows(io.BytesIO(content), name="a"), "a")):
        for table, rows in given.items():
            assert rows.schema.equals(fxtrace.catalog.SCHEMAS[table], check_metadata=True)
            hidden = [each for each in ("model", "key", "modified_ns") if each in rows.column_names]
            assert set(rows["model"].to_pylist()) <= {name}
            assert rows.drop_columns(hidden).equals(expected[table].drop_columns(hidden))
        assert given["models"]["key"].to_pylist() == given["models"]["modified_ns"].to_pylist() == [None]
    with pytest.raises(TypeError, match="expected a file"):
        fxtrace.catalog.rows(4)
    with pytest.raises(fxtrace.InputError, match="none.pt: no such file"):
        fxtrace.catalog.rows("none.pt")


# Export


def exported(folder) -> dict[str, list[dict]]:
    found = {}
    for name in TABLES:
        rows = pyarrow.parquet.ParquetFile(folder / f"table={name}" / "catalog.parquet").read()
        assert rows.schema.equals(fxtrace.catalog.SCHEMAS[name], check_metadata=True)
        found[name] = in_order(rows.to_pylist())
    return found


def test_export(models, database, tmp_path):
    fxtrace.catalog.export(database, tmp_path)
    found = exported(tmp_path)
    keys = {row["model"].rsplit(":", 1)[0] if ":" in row["model"] else row["model"]: row.pop("key") for row in found["models"]}
    assert found == rows_of(database)
    assert keys == {path: fxtrace.catalog.key(path) for path in models}


def test_export_of_models_in_stores(store, tmp_path):
    served, url = store
    urls = [f"{url}{name}" for name in served if "broken" not in name]
    fxtrace.catalog(urls, tmp_path / "made.sqlite").close()
    fxtrace.catalog.export(tmp_path / "made.sqlite", tmp_path)
    assert {row["key"] for row in exported(tmp_path)["models"]} == set(map(fxtrace.catalog.key, urls))


def test_export_of_what_is_no_catalog(database, tmp_path):
    other, changed = tmp_path / "other.sqlite", tmp_path / "changed.sqlite"
    sqlite3.connect(other).execute("CREATE TABLE nodes (model)").connection.close()
    shutil.copy(database, changed)
    with sqlite3.connect(changed) as made:
        made.execute("UPDATE nodes SET line = 'many'")
    for file, error in (("none.sqlite", "unable to open"), (other, "not a catalog"), (harness.__file__, "not a database"), (changed, "many")):
        with pytest.raises(fxtrace.InputError, match=error):
            fxtrace.catalog.export(file, tmp_path / "out")


def test_export_by_the_command(program, models, tmp_path):
    def run(*arguments: str) -> subprocess.CompletedProcess:
        environment = {**os.environ, "PYTHONPATH": harness.PACKAGE}
        command = [sys.executable, "-m", "fxtrace", "catalog", *arguments]
        return subprocess.run(command, capture_output=True, text=True, env=environment)

    file, folder = str(tmp_path / "made.sqlite"), str(tmp_path / "out")
    done = run(*models[:2], "-o", file, "--export", folder)
    assert done.returncode == 0 and "2 files: 1 read" in done.stderr, done.stderr
    assert len(exported(tmp_path / "out")["models"]) == 2
    assert run(*models, f"--output={file}", f"--export={folder}", "--strict").returncode == 1  # broken.pt
    assert len(exported(tmp_path / "out")["models"]) == 7
    shutil.rmtree(folder)
    assert run("--export", folder, "-o", file).stderr == ""
    assert len(exported(tmp_path / "out")["models"]) == 7
    for arguments, code, error in (
        (["--export", folder], 2, "--output"),
        ([models[0], "--export", folder], 2, "--output"),
        ([models[0], "-o", file, "--export", folder, "--leafs"], 2, "--leafs"),
        (["-o", str(tmp_path / "none"), "--export", folder], 3, "unable to open"),
    ):
        done = run(*arguments)
        assert done.returncode == code and error in done.stderr, done.stderr
