"""Tests fxtrace catalog and query: rows are compared with traces; runs are killed, files change, and names and files are hostile."""

import fcntl
import hashlib
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import time
import zlib

import archive_edit
import harness
import hostile_collections
import large_collections
import pytest

SCHEMA = os.path.join(harness.ROOT, "schemas", "query.schema.json")
PAGE = os.path.join(harness.ROOT, "docs", "how-to", "catalog.md")
SAMPLES = ["nested_scripted.pt", "nested_exported.pt2", "failing_nested.pt", "shared_tied_exported.pt2", "control_flow_submodule.pt"]


def sample(name: str) -> str:
    return os.path.join(harness.SAMPLES, name)


def tables(file: str) -> dict[str, list[tuple]]:
    """All rows, without the time at which the file was written."""
    with sqlite3.connect(file) as database:
        names = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1")]
        rows = {name: database.execute(f"SELECT * FROM {name} ").fetchall() for name in names}
    rows = {name: sorted(of, key=repr) for name, of in rows.items()}
    rows["models"] = [row[:3] + row[4:] for row in rows["models"]]
    return rows


def ask(file: str, sql: str) -> list[tuple]:
    with sqlite3.connect(file) as database:
        return database.execute(sql).fetchall()


def run(program, *arguments: str, cwd: object = None) -> subprocess.CompletedProcess:
    return subprocess.run([program.path, *arguments], capture_output=True, text=True, cwd=cwd, timeout=300)


def stdout(program, *arguments: str) -> str:
    return program.stdout(*arguments).decode()


@pytest.fixture(scope="module")
def made(program, tmp_path_factory):
    """A catalog of all samples."""
    file = str(tmp_path_factory.mktemp("catalog") / "all.sqlite")
    done = run(program, "catalog", harness.SAMPLES, "--output", file)
    assert done.returncode == 0, done.stderr
    return file


def graphs_of(graph: dict):
    yield graph
    for part in graph.get("subgraphs", {}).values():
        yield from graphs_of(part)


@pytest.mark.parametrize("name", SAMPLES)
def test_rows_are_those_of_the_trace(program, made, name):
    options = ["--no-default-leaves"] if name.endswith(".pt2") else []
    collection = json.loads(program.stdout("trace", sample(name), *options))
    model = f"(SELECT id FROM models WHERE path = '{sample(name)}')"
    graphs = [part for graph in collection["graphs"] for part in graphs_of(graph)]
    nodes = [
        (number, place, node["name"], node["op"], node["target"], node["scope"]["module_path"])
        for number, graph in enumerate(graphs)
        for place, node in enumerate(graph["nodes"])
    ]
    assert ask(made, f"SELECT graph, id, name, op, target, module FROM nodes WHERE model = {model} ORDER BY 1, 2") == nodes
    uses = {
        (number, source["name"], user)
        for number, graph in enumerate(graphs)
        for source in graph["nodes"]
        for user in source["users"]
    }
    edges = ask(
        made,
        "SELECT e.graph, s.name, n.name FROM edges e JOIN nodes s ON s.model = e.model AND s.graph = e.graph AND s.id = e.source "
        f"JOIN nodes n ON n.model = e.model AND n.graph = e.graph AND n.id = e.node WHERE e.model = {model}",
    )
    assert set(edges) == uses
    modules = [(module["path"], module["status"], module["calls"]) for module in collection["modules"]]
    assert ask(made, f"SELECT path, status, calls FROM modules WHERE model = {model} ORDER BY id") == modules
    failures = [(m["path"], m["failure"]["message"]) for m in collection["modules"] if m["failure"] and not m["alias_of"]]
    assert sorted(ask(made, f"SELECT module, message FROM failures WHERE model = {model}")) == sorted(failures)
    unused = sorted(ask(made, f"SELECT name FROM parameters WHERE NOT used AND model = {model}"))
    assert unused == sorted((name,) for name in collection["summary"]["unused_parameters"])
    totals = json.loads(program.stdout("summary", sample(name), "--json"))["totals"]
    found = ask(made, f"SELECT parameters, parameter_bytes, coalesce(macs, macs_of_dims) FROM models WHERE id = {model}")[0]
    assert found == (totals["parameters"]["elements"], totals["parameters"]["bytes"], totals["macs"])


def test_every_sample_has_a_row(made):
    names = sorted(name for name in os.listdir(harness.SAMPLES) if name.endswith((".pt", ".pt2")))
    assert [os.path.basename(row[0]) for row in ask(made, "SELECT DISTINCT path FROM models ORDER BY path")] == names
    assert ask(made, "SELECT error FROM models WHERE error IS NOT NULL") == []
    assert ask(made, "PRAGMA integrity_check") == [("ok",)]


def test_programs_of_an_archive(program, made, monkeypatch):
    """Each is a model of its own."""
    path = sample("exported_several.pt2")
    traced = {name: json.loads(program.stdout("trace", path, "--model", name, "--no-default-leaves")) for name in ("decoder", "encoder")}
    nodes = {name: sum(len(graph["nodes"]) for graph in collection["graphs"]) for name, collection in traced.items()}
    found = ask(made, f"SELECT program, (SELECT count(*) FROM nodes WHERE model = models.id) FROM models WHERE path = '{path}'")
    assert dict(found) == nodes
    pytest.importorskip("pyarrow")
    monkeypatch.setenv("FXTRACE", program.path)
    import fxtrace.catalog

    assert fxtrace.catalog.rows(path, name="both")["nodes"]["model"].to_pylist() == [
        f"both:{name}" for name in sorted(nodes) for _ in range(nodes[name])
    ]


def copy(names: list[str], folder) -> str:
    os.makedirs(folder, exist_ok=True)
    for name in names:
        shutil.copy(sample(name), folder)
    return str(folder)


def told(done) -> str:
    return done.stderr.splitlines()[0].removeprefix("fxtrace: ").rsplit(",", 1)[0]


def test_only_what_changed_is_read_again(program, tmp_path):
    folder, file = copy(SAMPLES[:3], tmp_path / "models"), str(tmp_path / "all.sqlite")
    assert told(run(program, "catalog", folder, "-o", file)) == "3 files: 3 read"
    first = tables(file)
    assert told(run(program, "catalog", folder, "-o", file)) == "3 files: 0 read, 3 unchanged"
    os.utime(os.path.join(folder, SAMPLES[0]))
    assert told(run(program, "catalog", folder, "-o", file)) == "3 files: 0 read, 3 unchanged"
    assert tables(file) == first
    shutil.copy(sample(SAMPLES[3]), os.path.join(folder, SAMPLES[0]))
    os.remove(os.path.join(folder, SAMPLES[1]))
    assert told(run(program, "catalog", folder, "-o", file)) == "2 files: 1 read, 1 unchanged, 1 no longer there"
    # A folder beside it is added.
    other = copy(SAMPLES[4:], tmp_path / "other")
    assert told(run(program, "catalog", other, "-o", file)) == "1 file: 1 read"
    assert len(ask(file, "SELECT 1 FROM models")) == 3
    # Other options are another question.
    assert told(run(program, "catalog", folder, other, "-o", file, "--no-default-leaves")) == "3 files: 3 read"
    assert ask(file, "SELECT count(*) FROM nodes WHERE model NOT IN (SELECT id FROM models)") == [(0,)]


def test_lists(program, made, tmp_path):
    """Paths, names beside them, and what is not there; from files and from stdin."""
    names = sorted(name for name in os.listdir(harness.SAMPLES) if name.endswith((".pt", ".pt2")))
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_text("".join(sample(name) + "\n" for name in names[:40]) + "\n")
    second.write_text("\r\n".join(sample(name) for name in names[30:]))
    file = str(tmp_path / "all.sqlite")
    command = [program.path, "catalog", "--files-from", str(first), "--files-from", "-", "-o", file]
    with second.open() as given:
        assert f"{len(names)} files: {len(names)} read" in subprocess.run(command, stdin=given, capture_output=True, text=True, check=True).stderr
    assert tables(file) == tables(made)
    # A file may have another name, is known by it, and a folder beside the list loses its rows alone.
    folder = copy(SAMPLES[:2], tmp_path / "models")
    fetched = tmp_path / "fetched"
    shutil.copy(sample(SAMPLES[2]), fetched)
    first.write_text(f"{fetched}\ts3://bucket/a b.pt\n{fetched}\t{folder}/gone.pt\n{tmp_path}/none.pt\n{tmp_path}\n-\n")
    file = str(tmp_path / "named.sqlite")
    assert told(run(program, "catalog", folder, "--files-from", str(first), "-o", file)) == "7 files: 4 read, 3 could not be read"
    rows = dict(ask(file, "SELECT path, error FROM models"))
    assert rows.keys() == {f"{folder}/{name}" for name in [*SAMPLES[:2], "gone.pt"]} | {"s3://bucket/a b.pt", f"{tmp_path}/none.pt", f"{tmp_path}", "-"}
    assert rows["s3://bucket/a b.pt"] is None and "no such file" in rows["-"] and "no such file" in rows[f"{tmp_path}/none.pt"]
    assert told(run(program, "catalog", "--files-from", str(first), "-o", file)) == "5 files: 0 read, 2 unchanged, 3 could not be read"
    assert len(ask(file, "SELECT 1 FROM models")) == 7
    assert told(run(program, "catalog", folder, "-o", file)) == "2 files: 0 read, 2 unchanged, 1 no longer there"
    assert run(program, "catalog", "-o", file).returncode == 2
    assert run(program, "catalog", "--files-from", str(tmp_path / "none"), "-o", file).returncode == 3


def test_shards_are_all_files(program, made, tmp_path):
    """Each file is in one, also when others come and go."""
    parts = []
    for part in range(1, 4):
        file = str(tmp_path / f"{part}.sqlite")
        assert run(program, "catalog", harness.SAMPLES, "--shard", f"{part}/3", "-o", file).returncode == 0
        parts.append({path for (path,) in ask(file, "SELECT DISTINCT path FROM models")})
    assert all(parts) and sum(map(len, parts)) == len(set.union(*parts))
    assert set.union(*parts) == {path for (path,) in ask(made, "SELECT path FROM models")}
    lines = tmp_path / "list"
    lines.write_text("\n".join(sorted(parts[0])[:5]))
    assert told(run(program, "catalog", "--files-from", str(lines), "--shard", "1/3", "-o", str(tmp_path / "few.sqlite"))) == "5 files: 5 read"
    for wrong in ("0/3", "4/3", "1", "1/0", "a/b", "1/3/4"):
        assert run(program, "catalog", str(lines), "--shard", wrong, "-o", str(tmp_path / "few.sqlite")).returncode == 2, wrong


def all_rows(file: str) -> dict[str, list[tuple]]:
    """In the order of the tables, with times and settings."""
    with sqlite3.connect(file) as database:
        names = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: database.execute(f"SELECT * FROM {name}").fetchall() for name in names}


def shards(program, folder: str, to, count: int) -> list[str]:
    files = [str(to / f"{part}.sqlite") for part in range(1, count + 1)]
    for part, file in enumerate(files, 1):
        assert run(program, "catalog", folder, "--shard", f"{part}/{count}", "-o", file).returncode == 0
    return files


@pytest.mark.parametrize("isolation", [[], ["--no-isolation"]])
def test_a_merge_is_one_run(program, made, tmp_path, isolation):
    parts, file = shards(program, harness.SAMPLES, tmp_path, 3), str(tmp_path / "all.sqlite")
    done = run(program, "catalog", "--merge", *parts, "-o", file, *isolation)
    assert done.returncode == 0 and told(done) == f"{len(ask(made, 'SELECT DISTINCT path FROM models'))} files of 3 catalogs"
    assert all_rows(file) == all_rows(made)
    assert ask(file, "PRAGMA integrity_check") == [("ok",)]
    # Again, and with what is there already: nothing changes, and nothing has to be read.
    assert run(program, "catalog", "--merge", *parts, parts[0], "-o", file).returncode == 0
    assert all_rows(file) == all_rows(made)
    assert ": 0 read" in run(program, "catalog", harness.SAMPLES, "-o", file).stderr


def test_the_latest_state_is_merged(program, tmp_path):
    folder, a, b, file = tmp_path / "models", *(str(tmp_path / f"{name}.sqlite") for name in ("a", "b", "all"))
    copy(SAMPLES[:2], folder)
    kinds = lambda: [kind for (kind,) in ask(file, "SELECT kind FROM models ORDER BY path")]  # noqa: E731
    first, second = sorted(folder.iterdir())
    for path in (first, second):
        os.utime(path, ns=(1000, 1000))
    assert run(program, "catalog", str(folder), "-o", a).returncode == 0
    first.write_text("no longer a model")
    shutil.copy(sample(SAMPLES[0]), second)
    os.utime(first, ns=(1000, 1000))
    os.utime(second, ns=(1001, 1001))
    assert run(program, "catalog", str(folder), "-o", b).returncode == 0
    was = [kind for (kind,) in ask(a, "SELECT kind FROM models ORDER BY path")]
    assert run(program, "catalog", "--merge", a, b, "-o", file).returncode == 0
    assert kinds() == [None, "torchscript"]
    done = run(program, "catalog", "--merge", b, a, "-o", file)  # what is there counts as the first
    assert kinds() == [was[0], "torchscript"] and "2 more than once" in done.stderr
    assert told(run(program, "catalog", "--merge", a, "-o", file)) == "2 files of 1 catalog, 1 older than in " + file
    assert kinds() == [was[0], "torchscript"]
    assert run(program, "catalog", "--merge", b, "-o", file, "--strict").returncode == 1


def test_a_merge_that_was_killed(program, made, tmp_path):
    """What is there is whole, and another run completes it."""
    parts, file = shards(program, harness.SAMPLES, tmp_path, 2), str(tmp_path / "all.sqlite")
    for pause in (0.0, 0.01, 0.02, 0.04):
        with subprocess.Popen([program.path, "catalog", "--merge", *parts, "-o", file], stderr=subprocess.DEVNULL) as running:
            time.sleep(pause)
            running.send_signal(signal.SIGKILL)
    assert run(program, "catalog", "--merge", *parts, "-o", file).returncode == 0
    assert all_rows(file) == all_rows(made)


def test_what_is_not_merged(program, made, tmp_path):
    """Other settings, other tables, damage, and what is being read; the output stays as it was."""
    file, other = str(tmp_path / "all.sqlite"), str(tmp_path / "other.sqlite")
    assert run(program, "catalog", sample(SAMPLES[0]), "-o", file).returncode == 0
    assert run(program, "catalog", sample(SAMPLES[0]), "-o", other, "--max-depth", "1").returncode == 0
    before = all_rows(file)
    for names in ([made, other], [other]):
        done = run(program, "catalog", "--merge", *names, "-o", file)
        fails(done, other if len(names) == 2 else file, "read with other options")
        assert '"max_depth":1' in done.stderr
    assert run(program, "catalog", "--merge", made, file, "-o", file).returncode == 2
    assert run(program, "catalog", "--merge", "-o", file).returncode == 2
    for option in ("--jobs=2", "--max-depth=2", "--backend=xnnpack", "--shard=1/2", "--include=*"):
        assert run(program, "catalog", "--merge", made, "-o", file, option).returncode == 2, option
    damages = [
        ("CREATE TRIGGER t AFTER INSERT ON models BEGIN SELECT 1; END", "are not those of a catalog"),
        ("CREATE VIEW v AS SELECT 1", None),
        ("UPDATE nodes SET line = 2.5", "neither a number nor a text"),
        ("UPDATE nodes SET name = zeroblob(3)", "neither a number nor a text"),
        ("UPDATE models SET content = ''", "are being read again"),
        ("PRAGMA user_version = 2", "another version"),
        ("PRAGMA application_id = 2", "not a catalog"),
    ]
    for number, (statement, says) in enumerate(damages):
        bad = str(tmp_path / f"{number}.sqlite")
        shutil.copy(made, bad)
        with sqlite3.connect(bad) as connection:
            connection.execute(statement)
        connection.close()
        done = run(program, "catalog", "--merge", bad, "-o", str(tmp_path / f"new{number}.sqlite"))
        if says is None:
            assert done.returncode == 0, done
        else:
            fails(done, bad, says)
    assert all_rows(file) == before
    # Damaged pages, and a part of a file: refused, or read as far as they say something.
    whole = open(made, "rb").read()
    for place in range(5_000, len(whole), len(whole) // 40):
        bad = tmp_path / "bad.sqlite"
        bad.write_bytes(whole[:place] + bytes(200) + whole[place + 200 :])
        done = run(program, "catalog", "--merge", str(bad), "-o", str(tmp_path / "out.sqlite"))
        assert done.returncode in (0, 3) and "crash" not in done.stderr, done
        assert ask(str(tmp_path / "out.sqlite"), "PRAGMA integrity_check") == [("ok",)]
        bad.write_bytes(whole[:place])
        assert run(program, "catalog", "--merge", str(bad), "-o", str(tmp_path / "out.sqlite")).returncode == 3


def test_a_merge_opens_nothing(program, made, tmp_path):
    """What is in a catalog is read by a process that has lost its rights."""
    if not shutil.which("strace"):
        pytest.skip("needs strace")
    calls, file = tmp_path / "calls", tmp_path / "mine.sqlite"
    shutil.copy(made, file)
    subprocess.run(["strace", "-f", "-y", "-o", calls, program.path, "catalog", "--merge", file, "-o", tmp_path / "all"], check=True, capture_output=True)
    lines = calls.read_text().splitlines()
    child = next(line for line in lines if "seccomp(SECCOMP_SET_MODE_FILTER" in line).split()[0]
    for line in lines:
        name = line.split(maxsplit=1)[1].split("(")[0]
        if "mine.sqlite>" in line:
            assert name not in ("write", "pwrite64", "ftruncate", "fallocate"), line
            assert name not in ("read", "pread64", "mmap") or line.split()[0] == child, line


def test_bytes_of_weights(program, tmp_path, monkeypatch):
    """Keys are made from what is read; what does not match its checksum is an error."""
    import torch

    folder, file = tmp_path / "models", str(tmp_path / "all.sqlite")
    copy(SAMPLES, folder)
    torch.save({"weight": torch.arange(60_000, 60_100)}, folder / "state.pt")
    (folder / "text.pt").write_text("hello")
    weight = torch.arange(70_000, 70_100, dtype=torch.int64)

    class Buffer(torch.nn.Module):
        def __init__(self, value):
            super().__init__()
            self.register_buffer("weight", value)

        def forward(self, x):
            return x + self.weight

    for name, value in (("a.pt", weight), ("b.pt", weight), ("c.pt", weight + 1)):
        torch.jit.save(torch.jit.script(Buffer(value)), str(folder / name))
    crc = zlib.crc32(weight.numpy().tobytes())
    changed = {"forged.pt": archive_edit.forged(bytes(800), crc), "zeroed.pt": bytes(800)}
    for name, new in changed.items():
        (folder / name).write_bytes(archive_edit.overwritten((folder / "a.pt").read_bytes(), weight.numpy().tobytes(), new))
    keys = lambda: dict(ask(file, "SELECT replace(path, rtrim(path, replace(path, '/', '')), ''), parameters.content FROM models JOIN parameters ON id = model WHERE name = 'weight'"))  # noqa: E731
    assert run(program, "catalog", str(folder), "-o", file).returncode == 0
    assert len({keys()[name] for name in ("a.pt", "b.pt", "forged.pt", "zeroed.pt")}) == 1 != len(set(keys().values()))
    assert ask(file, f"SELECT count(DISTINCT content) FROM models WHERE path IN ('{folder}/a.pt', '{folder}/forged.pt')") == [(1,)]
    count = len(os.listdir(folder))
    done = run(program, "catalog", str(folder), "-o", file, "--verify-content")
    assert told(done) == f"{count} files: {count - 3} read, 3 could not be read"
    assert keys()["a.pt"] == keys()["b.pt"] == f"{hashlib.sha256(weight.numpy().tobytes()).hexdigest()}-800"
    assert len({keys()[name] for name in ("a.pt", "c.pt", "forged.pt")}) == 3
    assert ask(file, f"SELECT count(DISTINCT content) FROM models WHERE path IN ('{folder}/a.pt', '{folder}/forged.pt')") == [(2,)]
    errors = dict(ask(file, "SELECT path, error FROM models WHERE error IS NOT NULL"))
    assert re.fullmatch(r"record .*/data/0: its bytes do not match their checksum in the archive", errors[f"{folder}/zeroed.pt"])
    assert "holds no graph" in errors[f"{folder}/state.pt"]
    assert ask(file, f"SELECT content FROM models WHERE path = '{folder}/text.pt'") == [("file-sha256:" + hashlib.sha256(b"hello").hexdigest(),)]
    assert f"{count - 3} unchanged" in run(program, "catalog", str(folder), "-o", file, "--verify-content").stderr
    assert f"{count - 2} read" in run(program, "catalog", str(folder), "-o", file).stderr
    monkeypatch.setenv("FXTRACE", program.path)
    import fxtrace

    with pytest.warns(UserWarning, match="1 could not be read"):
        fxtrace.catalog(folder / "zeroed.pt", verify_content=True)


@pytest.mark.volume
def test_a_list_of_a_million(program, tmp_path):
    """Most of it is not there, which is a row; memory is that of the list."""
    lines = tmp_path / "list"
    with lines.open("w") as file:
        for number in range(1_000_000):
            file.write(f"{tmp_path}/registry/of/many/models/{number:07}/weights.pt2\n")
        file.write(sample(SAMPLES[0]))
    file = str(tmp_path / "all.sqlite")
    timed = ["/usr/bin/env", "python3", "-c", "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"]
    done = subprocess.run([*timed, program.path, "catalog", "--files-from", str(lines), "-o", file], capture_output=True, text=True, check=True)
    assert "1000001 files: 1 read, 1000000 could not be read" in done.stderr
    assert int(done.stdout) < 300_000
    began = time.monotonic()
    for part, count in ((1, 100), (2, 100)):
        run(program, "catalog", "--files-from", str(lines), "--shard", f"{part}/{count}", "-o", str(tmp_path / "part.sqlite"))
    assert time.monotonic() - began < 10


def test_what_was_killed_goes_on(program, made, tmp_path):
    file = str(tmp_path / "killed.sqlite")
    command = [program.path, "catalog", harness.SAMPLES, "-o", file, "--jobs", "1"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as running:
        for _ in range(500):
            time.sleep(0.01)
            if os.path.exists(file) and running.poll() is None:
                try:
                    if ask(file, "SELECT count(*) FROM models")[0][0] > 0:
                        break
                except sqlite3.OperationalError:  # the tables are not there yet
                    pass
        running.send_signal(signal.SIGKILL)
    done = run(program, "catalog", harness.SAMPLES, "-o", file)
    assert done.returncode == 0, done.stderr
    assert tables(file) == tables(made)


def test_one_run_at_a_time(program, tmp_path):
    file = str(tmp_path / "all.sqlite")
    assert run(program, "catalog", sample(SAMPLES[0]), "-o", file).returncode == 0
    with open(file, "rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        done = run(program, "catalog", sample(SAMPLES[0]), "-o", file)
        assert done.returncode == 3 and "another fxtrace is adding to this catalog" in done.stderr
        assert stdout(program, "query", file, "SELECT count(*) FROM models", "--csv") == "count(*)\r\n1\r\n"


def test_an_option_goes_to_the_kind_that_takes_it(program, tmp_path):
    file = str(tmp_path / "all.sqlite")
    stdout(program, "catalog", sample("vision_exported.pt2"), sample("vision_scripted.pt"), "-o", file, "--input", "float32[1,3,4,4]")
    assert [error for (error,) in ask(file, "SELECT error FROM models")] == [None, None]


def test_a_bad_file_is_a_row(program, tmp_path):
    folder = copy(SAMPLES[:1], tmp_path / "models")
    with open(os.path.join(folder, "cut.pt"), "wb") as cut, open(sample(SAMPLES[1]), "rb") as whole:
        cut.write(whole.read(3000))
    with open(os.path.join(folder, "text.pt"), "w") as text:
        text.write("hello")
    file = str(tmp_path / "all.sqlite")
    done = run(program, "catalog", folder, "-o", file)
    assert done.returncode == 0 and told(done) == "3 files: 1 read, 2 could not be read"
    assert run(program, "catalog", folder, "-o", file, "--strict").returncode == 1
    rows = ask(file, "SELECT path, error FROM models WHERE error IS NOT NULL ORDER BY path")
    assert [os.path.basename(path) for path, _ in rows] == ["cut.pt", "text.pt"]
    assert all(message for _, message in rows)
    # One that needs more than it may have is stopped, and the others are read.
    large = tmp_path / "large.json"
    large.write_text(json.dumps(large_collections.flat(20_000)))
    done = run(program, "catalog", folder, str(large), "-o", file, "--max-memory", "30")
    assert done.returncode == 0 and told(done) == "4 files: 0 read, 1 unchanged, 3 could not be read"
    ((error, advice),) = ask(file, f"SELECT error, advice FROM models WHERE path = '{large}'")
    assert "more than 30 MiB of memory" in error and "--max-memory" in advice


def test_hostile_names_and_collections(program, tmp_path):
    folder = tmp_path / "models"
    folder.mkdir()
    for number, case in enumerate(hostile_collections.cases()):
        (folder / f"c{number}.json").write_bytes(case.make())
    shutil.copy(sample(SAMPLES[0]), folder / "a\n\x1b[31m';DROP TABLE models;--.pt")
    file = str(tmp_path / "all.sqlite")
    done = run(program, "catalog", str(folder), "-o", file, "--include", "*.json", "--include", "*.pt")
    assert done.returncode == 0 and "\x1b" not in done.stderr, done.stderr
    answer = stdout(program, "query", file, "SELECT path, error FROM models")
    assert "\x1b" not in answer and len(answer.splitlines()) == len(os.listdir(folder)) + 1
    assert ask(file, "PRAGMA integrity_check") == [("ok",)]


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM models",
        "ATTACH 'other.sqlite' AS other",
        "PRAGMA journal_mode = WAL",
        "CREATE TABLE t (a)",
        "SELECT load_extension('x.so')",
        "SELECT hex(fts3_tokenizer('simple'))",
        "SELECT 1; SELECT 2",
        "SELEC 1",
        "VACUUM INTO 'other.sqlite'",
        "",
    ],
)
def test_query_only_reads(program, made, sql, tmp_path):
    before = os.stat(made).st_mtime_ns
    done = run(program, "query", made, sql, cwd=tmp_path)
    assert done.returncode == 2 and done.stdout == "", done
    assert os.stat(made).st_mtime_ns == before and not os.listdir(tmp_path)


def test_query_formats(program, made):
    import jsonschema_rs

    sql = "SELECT 1 AS a, NULL AS a, 2.5 AS b, 'x\"y' AS c, x'00ff' AS d, 1e300 AS e"
    answer = json.loads(stdout(program, "query", made, sql, "--json"))
    with open(SCHEMA, encoding="utf-8") as file:
        jsonschema_rs.Draft202012Validator(json.load(file)).validate(answer)
    assert answer["columns"] == ["a", "a_2", "b", "c", "d", "e"]
    assert answer["rows"] == [{"a": 1, "a_2": None, "b": 2.5, "c": 'x"y', "d": "00ff", "e": 1e300}]
    assert stdout(program, "query", made, sql, "--csv") == 'a,a,b,c,d,e\r\n1,,2.5,"x""y",00ff,1e+300\r\n'


# --- databases from strangers ---

FOREVER = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "


@pytest.fixture
def database(tmp_path):
    """Makes a database of some statements; nothing else is in its folder."""

    def make(*statements: str) -> str:
        file = str(tmp_path / "folder" / "models.sqlite")
        os.mkdir(os.path.dirname(file))
        with sqlite3.connect(file, isolation_level=None) as connection:
            for statement in statements:
                connection.execute(statement)
        connection.close()
        return file

    return make


def fails(done: subprocess.CompletedProcess, file: str, says: str) -> None:
    first, *hints = done.stderr.splitlines()
    assert done.returncode == 3 and first.startswith(f"fxtrace: error: {file}: ") and says in first, done
    assert all(hint.startswith("hint: ") for hint in hints)


@pytest.mark.parametrize("isolation", [[], ["--no-isolation"]])
def test_views_that_never_end(program, database, isolation):
    file = database(f"CREATE VIEW models AS {FOREVER} SELECT x AS path FROM c WHERE x < 0")
    began = time.monotonic()
    done = run(program, "query", file, "SELECT * FROM models", "--max-time", "1", *isolation)
    fails(done, file, "it needed more than 1 s of processor time")
    assert "--max-time SECONDS allows more" in done.stderr and time.monotonic() - began < 20


@pytest.mark.parametrize(
    "view, says",
    [
        ("SELECT hex(zeroblob(400000000)) AS path FROM c", "a value or a row is larger than 64 MiB"),
        ("SELECT count(*) AS path FROM (SELECT x, randomblob(1000000) AS b FROM c LIMIT 1000000) ORDER BY 1", "1 s of processor time"),
        pytest.param("SELECT x AS path, randomblob(1000000) FROM c LIMIT 1000000 OFFSET 1", "its output is larger than 100 MiB", marks=pytest.mark.volume),
        ("SELECT x AS path FROM (SELECT x, randomblob(100000) AS b FROM c LIMIT 100000) ORDER BY b", "more than 100 MiB of memory"),
    ],
)
def test_views_without_measure(program, database, view, says):
    file = database(f"CREATE VIEW models AS {FOREVER} {view}")
    for form in ([], ["--json"]):
        seconds = "1" if "processor" in says else "100"
        done = run(program, "query", file, "SELECT * FROM models", "--max-time", seconds, "--max-memory", "100", *form)
        fails(done, file, says)
        assert done.stdout == ""


def test_rows_are_written_as_they_come(program, database):
    """The memory does not grow with the answer, whose values alone would take more."""
    file = database()
    sql = f"{FOREVER} SELECT x, 'abcdefgh' || x AS text FROM c LIMIT 1000000"
    for form in ("--csv", "--json"):
        text = stdout(program, "query", file, sql, form, "--max-memory", "50")
        assert len(text) > 20_000_000 and "abcdefgh1000000" in text[-60:]
    lines = stdout(program, "query", file, sql, "--max-memory", "150").splitlines()
    assert lines[0].split() == ["x", "text"] and len(lines) == 1_000_001
    assert {len(line.split()) for line in lines} == {2} and lines[-1].endswith("abcdefgh1000000")
    assert lines[1].split()[0] == "1" and lines[1].startswith(" ")


def test_a_query_leaves_nothing(program, database, tmp_path):
    """Whatever mode the database is in, and also where nothing can be written."""
    file = database("PRAGMA journal_mode = WAL", "CREATE TABLE models (path)", "INSERT INTO models VALUES ('a.pt')")
    assert os.listdir(os.path.dirname(file)) == ["models.sqlite"]
    with open(file, "rb") as opened:
        assert opened.read(20)[18:] == b"\2\2"  # which opening it makes -shm for
    before = os.stat(file)
    for name in (file, f"{tmp_path}/link.sqlite"):
        if name != file:
            os.symlink(file, name)
        assert stdout(program, "query", name, "SELECT * FROM models", "--csv") == "path\r\na.pt\r\n"
    assert os.listdir(os.path.dirname(file)) == ["models.sqlite"]
    assert (os.stat(file).st_mtime_ns, os.stat(file).st_size) == (before.st_mtime_ns, before.st_size)
    with open(file, "rb") as opened:  # from a pipe, too
        done = subprocess.run([program.path, "query", "-", "SELECT path FROM models", "--csv"], stdin=opened, capture_output=True, check=True)
        assert done.stdout == b"path\r\na.pt\r\n"


def test_incomplete_databases_are_refused(program, database, tmp_path):
    """What is in the file alone is not what its writer would say."""
    file = database("PRAGMA journal_mode = WAL", "CREATE TABLE models (path)")
    writer = sqlite3.connect(file, isolation_level=None)
    writer.execute("INSERT INTO models VALUES ('a.pt')")
    fails(run(program, "query", file, "SELECT * FROM models"), file, "still in its log")
    writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert "a.pt" in stdout(program, "query", file, "SELECT * FROM models")
    writer.execute("PRAGMA journal_mode = DELETE")
    # Killed while it wrote.
    writer.execute("PRAGMA cache_size = 1")
    writer.execute("BEGIN")
    for _ in range(300):
        writer.execute("INSERT INTO models VALUES (hex(randomblob(1000)))")
    killed = tmp_path / "killed.sqlite"
    shutil.copy(file, killed)
    shutil.copy(file + "-journal", f"{killed}-journal")
    writer.execute("ROLLBACK")
    writer.close()
    fails(run(program, "query", str(killed), "SELECT * FROM models"), str(killed), "was not finished")


def test_a_database_that_is_being_written(program, database):
    file = database("CREATE TABLE models (path)", "INSERT INTO models VALUES ('a.pt')")
    writer = sqlite3.connect(file, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("INSERT INTO models VALUES ('b.pt')")
    assert stdout(program, "query", file, "SELECT * FROM models", "--csv") == "path\r\na.pt\r\n"
    writer.execute("COMMIT")
    # A reader makes the writer wait, not fail.
    slow = subprocess.Popen([program.path, "query", file, f"{FOREVER} SELECT count(*) FROM (SELECT * FROM c LIMIT 3000000)"], stdout=subprocess.PIPE)
    writer.execute("PRAGMA busy_timeout = 60000")
    writer.execute("INSERT INTO models VALUES ('c.pt')")
    assert slow.wait() == 0
    slow.stdout.close()
    writer.close()


def test_a_query_opens_nothing(program, database, tmp_path):
    """All that is read of a database is read by a process that has lost its rights."""
    if not shutil.which("strace"):
        pytest.skip("needs strace")
    file = database("CREATE TABLE models (path)", "INSERT INTO models VALUES ('a.pt')")
    calls = tmp_path / "calls"
    subprocess.run(["strace", "-f", "-y", "-o", calls, program.path, "query", file, "SELECT * FROM models"], check=True, capture_output=True)
    lines = calls.read_text().splitlines()
    locked = next(i for i, line in enumerate(lines) if "seccomp(SECCOMP_SET_MODE_FILTER" in line)
    child = lines[locked].split()[0]
    assert any("models.sqlite" in line and ("mmap" in line or "pread" in line) and line.split()[0] == child for line in lines[locked:])
    for line in lines:
        name = line.split(maxsplit=1)[1].split("(")[0]
        if "models.sqlite>" in line:  # the descriptor
            assert name not in ("write", "pwrite64", "ftruncate", "fallocate"), line
            assert name not in ("read", "pread64", "mmap") or line.split()[0] == child, line
        if 'models.sqlite' in line and name == "openat":
            assert "O_RDONLY" in line and line.split()[0] != child, line


def test_hostile_catalogs(program, made, tmp_path):
    """What runs when rows are added is not in a catalog of ours."""
    for number, statement in enumerate(
        (
            f"CREATE TRIGGER t AFTER INSERT ON models BEGIN INSERT INTO failures (model, module) {FOREVER.replace('WITH', 'SELECT 1, x FROM (WITH')} SELECT x FROM c); END",
            "CREATE INDEX i ON models (hex(zeroblob(100000000)))",
            "CREATE TABLE other (a)",
            "DROP TABLE nodes",
        )
    ):
        file = tmp_path / f"{number}.sqlite"
        shutil.copy(made, file)
        with sqlite3.connect(file) as connection:
            if number == 1:
                connection.execute("DELETE FROM models")
            connection.execute(statement)
        connection.close()
        before = file.read_bytes()
        done = run(program, "catalog", sample(SAMPLES[0]), "-o", str(file))
        fails(done, str(file), "are not those of a catalog of fxtrace")
        assert file.read_bytes() == before
    file = tmp_path / "view.sqlite"
    shutil.copy(made, file)
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE VIEW mine AS SELECT path FROM models")
    connection.close()
    assert run(program, "catalog", sample(SAMPLES[0]), "-o", str(file)).returncode == 0


def test_what_is_no_catalog_is_left_alone(program, tmp_path):
    text, other = tmp_path / "text", tmp_path / "other.sqlite"
    text.write_text("not a database, and longer than its header would be" * 30)
    with sqlite3.connect(other) as database:
        database.execute("CREATE TABLE mine (a)")
    for file, message in ((text, "not an SQLite database"), (other, "not a catalog of fxtrace")):
        before = file.read_bytes()
        done = run(program, "catalog", sample(SAMPLES[0]), "-o", str(file))
        assert done.returncode == 3 and message in done.stderr, done.stderr
        assert file.read_bytes() == before


def test_the_page_has_every_column(made):
    with open(PAGE, encoding="utf-8") as file:
        page = file.read()
    for table, columns in ((name, ask(made, f"PRAGMA table_info({name})")) for (name,) in ask(made, "SELECT name FROM sqlite_master WHERE type = 'table'")):
        if table == "catalog":
            continue
        section = page.split(f"\n**{table}**")[1].split("\n**")[0].split("\n## ")[0]
        shown = [line.split("`")[1] for line in section.splitlines() if line.startswith("| `")]
        assert shown == [column[1] for column in columns if column[1] != "model"], table


def test_backends(program, tmp_path):
    """What `fxtrace partition` says of each model; another set makes the catalog read it again."""
    path, file = sample("vision_exported.pt2"), str(tmp_path / "made.sqlite")
    for backend in ("coreml", "core-aten"):
        program.stdout("catalog", path, "-o", file, "--backend", backend)
        found = json.loads(program.stdout("partition", path, "--ops", backend, "--json"))
        totals, first = found["totals"], found["reasons"][0]
        assert ask(file, "SELECT backend, regions, taken_calls, taken_macs, cut_bytes, first_left, first_reason FROM backends") == [
            (backend, totals["regions"], totals["calls"]["taken"], totals["macs"]["taken"], totals["cut"]["bytes"], first["target"], first["text"])
        ]


def test_rows_in_python(program, monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.setenv("FXTRACE", program.path)
    import fxtrace.catalog

    tables = fxtrace.catalog.rows(sample(SAMPLES[1]))
    nodes = fxtrace.trace(sample(SAMPLES[1]), no_default_leaves=True).root
    assert tables["nodes"]["name"].to_pylist() == [node.name for node in nodes]
    assert set(tables["parameters"]["model"].to_pylist()) == {sample(SAMPLES[1])}
    failed = fxtrace.catalog.rows(PAGE)
    assert failed["models"]["error"].to_pylist()[0] and failed["nodes"].num_rows == 0
