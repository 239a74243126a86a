"""Tests the programs in docs/how-to/catalog.md for many machines, with the real engines and a store: each gives the rows of `fxtrace catalog` of
a copy, and loses and doubles none when its driver and workers are killed.
"""

import contextlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator

import harness
import pytest
import tiers

pyarrow = pytest.importorskip("pyarrow")
import fxtrace.catalog  # noqa: E402
import pyarrow.parquet  # noqa: E402
from pyarrow.fs import FileSelector, FileSystem  # noqa: E402

PAGE = os.path.join(harness.ROOT, "docs", "how-to", "catalog.md")
SAMPLES = ["nested_exported.pt2", "failing_nested.pt", "exported_several.pt2"]
NEEDED = {"ray": "ray.data", "spark": "pyspark", "daft": "daft", "dask": "distributed", "pool": "pyarrow"}
FIRST = ["dask", "pool"]  # in the first tier: they start quickly

# What starts quickly: no page that shows the run, and no compiler and no verifier for the code of a few rows.
SPARK = """\
spark.master local[2]
spark.ui.enabled false
spark.default.parallelism 1
spark.sql.shuffle.partitions 1
spark.sql.adaptive.enabled false
spark.sql.codegen.wholeStage false
spark.sql.codegen.factoryMode NO_CODEGEN
spark.driver.memory 1g
spark.driver.extraJavaOptions -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote
"""


def read_page() -> str:
    with open(PAGE, encoding="utf-8") as file:
        return file.read()


def programs() -> dict[str, str]:
    return dict(re.findall(r"^```py\n# (\w+\.py)\n(.*?)^```$", read_page(), re.MULTILINE | re.DOTALL))


def is_there(engine: str) -> bool:
    if engine == "spark" and shutil.which("java") is None:
        return False
    try:
        pytest.importorskip(NEEDED[engine])
    except pytest.skip.Exception:
        return False
    return True


class Engines:
    """The page's programs in a folder."""

    def __init__(self, folder, program: str, paths: list[str], part: int = 20_000, targets: dict[str, str] | None = None) -> None:
        self.folder, self._targets = folder, targets or {}
        (folder / "spark-defaults.conf").write_text(SPARK)
        (folder / "paths.txt").write_text("".join(f"{path}\n" for path in paths))
        for name, text in programs().items():
            (folder / name).write_text(text.replace("size=20_000", f"size={part}"))
        own = {"FXTRACE": program, "SPARK_CONF_DIR": str(folder), "PYSPARK_PYTHON": sys.executable, "DO_NOT_TRACK": "1"}
        own |= {"PYTHONPATH": os.pathsep.join([harness.PACKAGE, str(folder)]), "RAY_USAGE_STATS_ENABLED": "0", "OMP_NUM_THREADS": "1"}
        self.environment = {**os.environ, **own}

    def target(self, engine: str) -> str:
        return self._targets.get(engine, f"file://{self.folder / engine}")

    def start(self, engine: str) -> subprocess.Popen:
        with open(self.folder / f"{engine}.log", "ab") as log:
            command = [sys.executable, f"with_{engine}.py", "paths.txt", self.target(engine)]
            return subprocess.Popen(command, cwd=self.folder, env=self.environment, stdout=log, stderr=log)

    def log(self, engine: str) -> str:
        return (self.folder / f"{engine}.log").read_text(errors="replace")[-5000:]

    def files(self, engine: str) -> list[str]:
        """The files of the parts that are done."""
        store, root = FileSystem.from_uri(self.target(engine))
        files = [file.path for file in store.get_file_info(FileSelector(root, recursive=True, allow_not_found=True))]
        done = [os.path.dirname(path) + "/" for path in files if path.endswith("/_SUCCESS")]
        return [path for path in files if path.endswith(".parquet") and path.startswith(tuple(done))]

    def rows(self, engine: str) -> dict[str, list[dict]]:
        store, _ = FileSystem.from_uri(self.target(engine))
        found = {table: [] for table in fxtrace.catalog.SCHEMAS}
        for path in self.files(engine):
            table = os.path.basename(os.path.dirname(path)).removeprefix("table=")
            with store.open_input_file(path) as file:
                found[table] += pyarrow.parquet.ParquetFile(file).read(fxtrace.catalog.SCHEMAS[table].names).to_pylist()
        return {table: in_order(rows) for table, rows in found.items()}


def in_order(rows: list[dict]) -> list[dict]:
    return sorted(rows, key=lambda row: repr(sorted(row.items())))


def expected_rows(program, paths: dict[str, str], folder) -> dict[str, list[dict]]:
    """Those of `fxtrace catalog` of local files, under the names that they are given, and its export."""
    file, listed = str(folder / "expected.sqlite"), folder / "list"
    listed.write_text("".join(f"{path}\t{name}\n" for name, path in paths.items()))
    subprocess.run([program.path, "catalog", f"--files-from={listed}", "-o", file], check=True, capture_output=True)
    fxtrace.catalog.export(file, folder / "expected")
    tables = {table: folder / "expected" / f"table={table}" / "catalog.parquet" for table in fxtrace.catalog.SCHEMAS}
    return {table: in_order(pyarrow.parquet.ParquetFile(path).read().to_pylist()) for table, path in tables.items()}


@pytest.fixture(autouse=True)
def installed(program, monkeypatch):
    monkeypatch.setenv("FXTRACE", program.path)


@pytest.fixture(scope="module")
def store() -> Iterator[None]:
    """A store as Amazon's, with the bucket `bucket`; what reads `s3://` finds it by the environment."""
    server = pytest.importorskip("moto.server").ThreadedMotoServer(port=0, verbose=False)
    s3fs = pytest.importorskip("s3fs")
    server.start()
    own = {"AWS_ENDPOINT_URL": "http://{}:{}".format(*server.get_host_and_port()), "AWS_DEFAULT_REGION": "us-east-1"}
    own |= {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_EC2_METADATA_DISABLED": "true"}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in own.items():
            patch.setenv(name, value)
        s3fs.S3FileSystem().mkdir("bucket")
        yield
    server.stop()


@pytest.fixture(scope="module")
def models(store, tmp_path_factory) -> dict[str, str]:
    """Models in the store: the local file of each URL."""
    import s3fs

    folder = tmp_path_factory.mktemp("models")
    for name in SAMPLES:
        shutil.copy(os.path.join(harness.SAMPLES, name), folder)
    (folder / "broken.pt").write_bytes(b"no model")
    found = {f"s3://bucket/models/{path.name}": str(path) for path in sorted(folder.iterdir())}
    for url, path in found.items():
        s3fs.S3FileSystem().put(path, url)
    return found


@pytest.fixture(scope="module")
def runs(request, program, models, tmp_path_factory) -> tuple[Engines, dict[str, int]]:
    """The engines of the tests that run, at a time, as each waits for its own processes most of the time. The pool writes into the store."""
    wanted = {*FIRST, *(item.callspec.params.get("engine") for item in request.session.items if hasattr(item, "callspec"))}
    targets = {"pool": "s3://bucket/catalog"}
    engines = Engines(tmp_path_factory.mktemp("engines"), program.path, list(models), targets=targets)
    started = {engine: engines.start(engine) for engine in NEEDED if engine in wanted and is_there(engine)}
    return engines, {engine: process.wait(300) for engine, process in started.items()}


@pytest.mark.parametrize("engine", tiers.only(FIRST, NEEDED))
def test_rows_of_an_engine(program, models, runs, tmp_path, engine):
    engines, codes = runs
    if engine not in codes:
        pytest.skip(f"needs {engine}")
    assert codes[engine] == 0, engines.log(engine)
    found, expected = engines.rows(engine), expected_rows(program, models, tmp_path)
    assert len(expected["models"]) == 5 and len(expected["nodes"]) > 20
    keys = {row["model"].removesuffix(":encoder").removesuffix(":decoder"): row["key"] for row in found["models"]}
    assert keys == {url: fxtrace.catalog.key(url) for url in models}
    for table, rows in expected.items():
        for row in [*rows, *found[table]]:
            row.pop("key", None), row.pop("modified_ns", None)  # of the copy
        assert in_order(found[table]) == in_order(rows), table
    assert len(engines.files(engine)) <= 2 * len(found)  # not a file for each model


def test_questions_of_the_page(runs):
    duckdb = pytest.importorskip("duckdb")
    engines, _ = runs
    folder = engines.folder / "dask"
    (folder / "part=000001-of-a-driver-that-died" / "table=models").mkdir(parents=True)
    questions = next(text for text in re.findall(r"^```sql\n(.*?)^```$", read_page(), re.MULTILINE | re.DOTALL) if "_SUCCESS" in text)
    statements = questions.replace("catalog/", f"{folder}/").strip().removesuffix(";").split(";\n")
    results = [duckdb.execute(statement).fetchall() for statement in statements]
    assert results[2][0] == ("aten.mul.Tensor", 3) and [count for _, count in results[3]] == [1]


def test_what_is_done(runs, models):
    pytest.importorskip("duckdb")
    engines, _ = runs
    command = [sys.executable, "more.py", "paths.txt", str(engines.folder / "dask" / "*" / "table=models" / "*.parquet")]
    done = subprocess.run(command, cwd=engines.folder, env=engines.environment, capture_output=True, text=True)
    assert done.stdout.split() == [url for url in models if url.endswith("broken.pt")], done.stderr


def test_the_same_command_again(runs):
    """It has nothing to do."""
    engines, _ = runs
    before = engines.files("pool")
    assert engines.start("pool").wait(100) == 0 and engines.files("pool") == before != []


# Kills


@contextlib.contextmanager
def ending(process: subprocess.Popen) -> Iterator[None]:
    """Ends what the driver has left."""
    import psutil

    left = set()
    try:
        left = {psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)}
        yield
    finally:
        with contextlib.suppress(psutil.Error):
            left |= set(psutil.Process(process.pid).children(recursive=True))
        for each in left:
            with contextlib.suppress(psutil.Error):
                each.kill()
        process.wait(60)


def workers(engine: str, driver: int) -> list:
    """The processes that read models for a driver."""
    import psutil

    marks = {"ray": "ray::MapBatches", "spark": "pyspark.daemon", "dask": "spawn_main", "pool": "spawn_main", "daft": "fxtrace"}
    found = []
    for child in psutil.Process(driver).children(recursive=True):
        with contextlib.suppress(psutil.Error):
            line = " ".join(child.cmdline())
            if marks[engine] in line:
                found.append(child)
    return found[-1:] if engine == "daft" else found


def kill_driver(process: subprocess.Popen) -> None:
    """Kill it, and what it has started that does not end by itself: Ray would connect to that."""
    import psutil

    started = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    _, left = psutil.wait_procs(started, timeout=20)
    for each in left:
        with contextlib.suppress(psutil.Error):
            each.kill()


def kill_when_working(engines: Engines, engine: str, process: subprocess.Popen, parts: int, driver: bool) -> bool:
    """Kill the driver, or a worker, when some parts are done; return false if the driver has ended before."""
    import psutil

    end = time.monotonic() + 300
    while time.monotonic() < end and process.poll() is None:
        if sum(name == "_SUCCESS" for _, _, names in os.walk(engines.folder / engine) for name in names) >= parts:
            if driver:
                time.sleep(0.5)
                kill_driver(process)
                return True
            for worker in workers(engine, process.pid)[-1:]:
                with contextlib.suppress(psutil.Error):
                    worker.kill()
                    return True
        time.sleep(0.02)
    return False


@pytest.fixture(scope="module")
def many(program, tmp_path_factory) -> tuple[list[str], dict[str, list[dict]]]:
    """2,000 models, and their rows."""
    os.environ.setdefault("FXTRACE", program.path)
    folder = tmp_path_factory.mktemp("many")
    samples = sorted(name for name in os.listdir(harness.SAMPLES) if name.endswith((".pt", ".pt2")))
    for name in samples:
        shutil.copy(os.path.join(harness.SAMPLES, name), folder)
    paths = []
    for i in range(2000):
        paths.append(str(folder / f"{i:04}-{samples[i % len(samples)]}"))
        os.link(folder / samples[i % len(samples)], paths[-1])
    return paths, expected_rows(program, dict(zip(paths, paths)), folder)


@pytest.mark.parametrize("engine", tiers.in_turn([], NEEDED, 1))
def test_kills(program, many, tmp_path, engine):
    """A worker, then the driver, then again until the command ends well: each row is there once."""
    pytest.importorskip("psutil")
    if not is_there(engine):
        pytest.skip(f"needs {engine}")
    paths, expected = many
    engines = Engines(tmp_path, program.path, paths, part=400)
    killed = []
    for kills in ([(0, False), (2, True)], [(2, True)], [(3, False)]):
        if len(killed) == 2 and kills == [(2, True)]:
            continue  # both in one run, as the driver survives its workers
        process = engines.start(engine)
        with ending(process):
            killed += [kill for kill in kills if kill_when_working(engines, engine, process, *kill)]
            if killed[-1:] != [(2, True)]:
                process.wait(300)
    assert killed == [(0, False), (2, True), (3, False)], engines.log(engine)
    for _ in range(3):  # as a worker's end may be the driver's
        if engines.start(engine).wait(300) == 0:
            break
    else:
        raise AssertionError(engines.log(engine))
    found = engines.rows(engine)
    for table, rows in expected.items():
        assert found[table] == rows, table
