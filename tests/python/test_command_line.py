"""Tests the targets of output as a shell uses them: files and links, pipes, devices, full disks and read-only folders."""

import contextlib
import json
import os
import shutil
import sqlite3
import stat
import subprocess
import threading

import harness
import pytest

MODEL = os.path.join(harness.SAMPLES, "nested_exported.pt2")


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.pt"
    with open(MODEL, "rb") as file:
        path.write_bytes(file.read())
    return path


def shell(program, command: str, folder) -> subprocess.CompletedProcess:
    """Runs `command` in bash, `fxtrace` in it being the program."""
    text = f"set -o pipefail\nfxtrace() {{ {program.path} \"$@\"; }}\n{command}"
    return subprocess.run(["bash", "-c", text], capture_output=True, text=True, cwd=folder, timeout=60)


def check_error(done, code: int, text: str) -> None:
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("fxtrace: error: ")
    assert text in done.stderr


@pytest.mark.parametrize("name", ["x.pdf", "x.jpg", "x.text", "x.jsonl", "x.pt", "dir.json/x.onnx"])
def test_other_suffixes_are_wrong_usage(program, model, name):
    check_error(shell(program, f"fxtrace trace model.pt -o {name}", model.parent), 2, f"-o {name}: ")
    # Said before anything is read.
    check_error(shell(program, f"fxtrace trace missing.pt -o {name}", model.parent), 2, f"-o {name}: ")


@pytest.mark.parametrize(
    "options, start",
    [
        ("-o x.json", b"{"),
        ("-o x.JSON", b"{"),
        ("-o x", b"{"),
        ("-o x.dot", b"digraph"),
        ("-o x.txt", b"model model.pt: "),
        ("-o x.svg -f dot", b"digraph"),
        ("-o x.dot -f json", b"{"),
    ],
)
def test_format(program, model, options, start):
    done = shell(program, f"fxtrace trace model.pt {options}", model.parent)
    assert done.returncode == 0, done.stderr
    (written,) = model.parent.glob("x*")
    assert written.read_bytes().startswith(start)


@pytest.mark.parametrize(
    "command",
    [
        "fxtrace trace model.pt -f json -o model.pt",
        "fxtrace trace model.pt -f json -o ./sub/../model.pt",
        "fxtrace trace model.pt -f json -o $PWD/model.pt",
        "fxtrace trace model.pt -o soft.json",
        "fxtrace trace model.pt -o soft2.json",
        "fxtrace trace model.pt -o hard.json",
        "fxtrace trace soft.json -f json -o hard.json",
        "fxtrace trace - -f json -o model.pt < model.pt",
        "fxtrace trace model.pt >> model.pt",
        "fxtrace trace model.pt -o /dev/stdout >> model.pt",
    ],
)
def test_the_model_is_never_overwritten(program, model, command):
    before = model.read_bytes()
    (model.parent / "sub").mkdir()
    (model.parent / "soft.json").symlink_to("model.pt")
    (model.parent / "soft2.json").symlink_to("soft.json")
    os.link(model, model.parent / "hard.json")
    check_error(shell(program, command, model.parent), 2, "would overwrite the input")
    assert model.read_bytes() == before


@pytest.mark.parametrize(
    "command, name",
    [
        ("fxtrace trace model.pt --config read.json", "read.json"),
        ("fxtrace trace model.pt --concrete x=@read.json", "read.json"),
        ("fxtrace summary model.pt --json --config read.json", "read.json"),
        ("fxtrace check model.pt --json --config read.json", "read.json"),
        ("fxtrace check model.pt --json --rules rules.json", "rules.json"),
        ("fxtrace check model.pt --json --ops ops.txt", "ops.txt"),
        ("fxtrace check model.pt --json --rules ops.json", "ops.txt"),
        ("fxtrace diff model.pt other.pt --json", "other.pt"),
        ("fxtrace diff other.pt model.pt --json", "other.pt"),
        ("fxtrace verify model.pt --json --collection collection.json", "collection.json"),
        ("fxtrace verify model.pt --json --inputs other.pt", "other.pt"),
        ("fxtrace render collection.json -f json", "collection.json"),
        ("fxtrace extract collection.json --module a -f json", "collection.json"),
        ("fxtrace query models.sqlite 'SELECT 1' --json", "models.sqlite"),
        ("fxtrace trace model.pt --op-library ./library.so", "library.so"),
    ],
)
def test_what_was_read_is_never_overwritten(program, model, command, name):
    folder = model.parent
    shutil.copy(model, folder / "other.pt")
    (folder / "read.json").write_text("{}")
    (folder / "rules.json").write_text('{"rules": [{"no_failed": true}]}')
    (folder / "ops.json").write_text('{"rules": [{"ops_file": "ops.txt"}]}')
    (folder / "ops.txt").write_text("**")
    (folder / "library.so").write_text("none")
    (folder / "collection.json").write_bytes(program.stdout("trace", str(model)))
    with sqlite3.connect(folder / "models.sqlite") as database:
        database.execute("CREATE TABLE models (path)")
    database.close()
    (folder / "soft.json").symlink_to(name)
    (folder / "soft2.json").symlink_to("soft.json")
    os.link(folder / name, folder / "hard.json")
    before = (folder / name).read_bytes()
    for output in ("-o soft.json", "-o soft2.json", "-o hard.json", f"-o ../{folder.name}/hard.json", ">> hard.json", f">> {name}"):
        check_error(shell(program, f"{command} {output}", folder), 2, "would overwrite the input")
        assert (folder / name).read_bytes() == before


@pytest.mark.parametrize(
    "command",
    ["fxtrace trace model.pt | true", "fxtrace trace model.pt | head -c 10 >/dev/null", "fxtrace trace --help | true",
     "fxtrace inspect model.pt | true", "fxtrace trace model.pt -o /dev/stdout | true", "fxtrace trace model.pt -o >(true)"],
)
def test_a_closed_pipe_ends_quietly(program, model, command):
    done = shell(program, command, model.parent)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_closed_pipe_with_more_than_it_holds(program):
    """The reader is gone before the first byte comes, whatever the scheduler does."""
    read, write = os.pipe()
    os.close(read)
    for args in (["trace", MODEL], ["trace", MODEL, "-f", "dot"], ["inspect", MODEL], ["--version"]):
        done = subprocess.run([program.path, *args], stdout=write, stderr=subprocess.PIPE, timeout=60)
        assert (done.returncode, done.stderr) == (0, b""), args
    os.close(write)


@pytest.mark.parametrize(
    "command, reason",
    [
        ("fxtrace trace model.pt > /dev/full", "stdout: cannot write: No space left"),
        ("fxtrace inspect model.pt > /dev/full", "stdout: cannot write: No space left"),
        ("fxtrace --help > /dev/full", "stdout: cannot write: No space left"),
        ("fxtrace trace model.pt -o /dev/full", "/dev/full: cannot write the file: No space left"),
        ("fxtrace trace model.pt >&-", "stdout: cannot write: Bad file"),
        ("fxtrace trace - >&- < model.pt", "stdout: cannot write: Bad file"),
        ("fxtrace trace model.pt -o no/x.json", "no/x.json: cannot write the file: no such directory: no"),
        ("fxtrace trace model.pt -o sub", "sub: cannot write the file: Is a directory"),
        ("ln -s loop.json loop.json; fxtrace trace model.pt -o loop.json", "loop.json: cannot write the file: Too many"),
        # Said before the model is loaded.
        ("fxtrace trace missing.pt -o sub", "missing.pt: no such file"),
    ],
)
def test_what_cannot_be_written(program, model, command, reason):
    (model.parent / "sub").mkdir()
    check_error(shell(program, command, model.parent), 3, reason)
    assert not list(model.parent.glob(".fxtrace*"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_places_that_are_write_protected(program, model):
    (model.parent / "x.json").write_text("before")
    (model.parent / "x.json").chmod(0o444)
    check_error(shell(program, "fxtrace trace model.pt -o x.json", model.parent), 3, "Permission denied")
    assert (model.parent / "x.json").read_text() == "before"
    (model.parent / "locked").mkdir(mode=0o555)
    check_error(shell(program, "fxtrace trace model.pt -o locked/x.json", model.parent), 3, "Permission denied")


def test_files_are_written_whole_or_not_at_all(program, model):
    folder = model.parent
    (folder / "x.json").write_text("before")
    os.truncate(model, 5000)
    assert shell(program, "fxtrace trace model.pt -o x.json", folder).returncode == 3
    assert (folder / "x.json").read_text() == "before"
    assert sorted(path.name for path in folder.iterdir()) == ["model.pt", "x.json"]


def test_a_full_disk_leaves_the_file_as_it_was(program, model):
    """A limit on the size of files is a disk that fills up while the output is written."""
    (model.parent / "x.json").write_text("before")
    # Blocks of 1024 bytes; bash ignores the signal so that the write fails as on a full disk.
    done = shell(program, "trap '' XFSZ; ulimit -f 4; fxtrace trace model.pt -o x.json", model.parent)
    check_error(done, 3, "x.json: cannot write the file: File too large")
    assert (model.parent / "x.json").read_text() == "before"
    assert sorted(path.name for path in model.parent.iterdir()) == ["model.pt", "x.json"]


def test_mode_and_links_of_the_file(program, model):
    folder = model.parent
    for mask, mode in ((0o022, 0o644), (0o077, 0o600)):
        name = f"new{mask}.json"
        assert shell(program, f"umask {mask:o}; fxtrace trace model.pt -o {name}", folder).returncode == 0
        assert stat.S_IMODE((folder / name).stat().st_mode) == mode
    (folder / "old.json").write_text("before")
    (folder / "old.json").chmod(0o640)
    (folder / "link.json").symlink_to("old.json")
    (folder / "to_be_made.json").symlink_to("made.json")
    for name in ("link.json", "to_be_made.json"):
        assert shell(program, f"fxtrace trace model.pt -o {name}", folder).returncode == 0
        assert (folder / name).is_symlink()
    assert json.loads((folder / "old.json").read_text())["version"] == 1
    assert stat.S_IMODE((folder / "old.json").stat().st_mode) == 0o640
    assert json.loads((folder / "made.json").read_text())["version"] == 1


def test_long_names(program, model):
    name = "x" * 250 + ".json"  # the longest name that file systems have
    assert shell(program, f"fxtrace trace model.pt -o {name}", model.parent).returncode == 0
    assert json.loads((model.parent / name).read_text())["version"] == 1


def test_pipes_devices_and_descriptors(program, model):
    folder = model.parent
    expected = program.stdout("trace", str(model)).decode()
    done = shell(program, "{ echo first; fxtrace trace model.pt -o /dev/stdout; echo last; } > all", folder)
    assert done.returncode == 0, done.stderr
    assert (folder / "all").read_text() == f"first\n{expected}last\n"
    done = shell(program, "fxtrace trace model.pt -o /dev/fd/3 3> three", folder)
    assert done.returncode == 0 and (folder / "three").read_text() == expected
    assert shell(program, "fxtrace trace model.pt -o /dev/null", folder).returncode == 0
    os.mkfifo(folder / "fifo")
    received = []
    reader = threading.Thread(target=lambda: received.append((folder / "fifo").read_text()))
    reader.start()
    done = shell(program, "fxtrace trace model.pt -o fifo", folder)
    reader.join(timeout=60)
    assert done.returncode == 0 and received == [expected]
    assert stat.S_ISFIFO((folder / "fifo").stat().st_mode)


@pytest.mark.parametrize("command", ["trace", "inspect", "inspect --json", "render"])
@pytest.mark.parametrize(
    "stream", ["fxtrace {} - < /dev/zero", "yes | fxtrace {} -", "fxtrace {} <(yes)"]
)
def test_a_stream_without_an_end(program, tmp_path, command, stream):
    done = shell(program, "export TMPDIR=$PWD; " + stream.format(command), tmp_path)
    check_error(done, 3, "not a model: the input starts neither like a zip archive nor like JSON, and is larger than 256 MiB\n")
    assert list(tmp_path.iterdir()) == []


def test_a_stream_of_text_without_an_end(program, tmp_path):
    done = shell(program, "{ echo '{'; yes; } | fxtrace render -", tmp_path)
    check_error(done, 3, "stdin: the input is JSON of more than 1 GB\n")


def test_a_stream_of_something_else_is_told(program, tmp_path):
    done = shell(program, "head -c 100000000 /dev/zero | fxtrace trace -", tmp_path)
    check_error(done, 3, "stdin: this is a file of an unknown kind")
    done = shell(program, "{ echo '<!doctype html>'; yes; } | head -c 10000000 | fxtrace trace -", tmp_path)
    check_error(done, 3, "stdin: this is an HTML page")


def test_a_stream_that_cannot_be_kept_or_read(program, model):
    done = shell(program, "export TMPDIR=$PWD/missing; cat model.pt | fxtrace trace -", model.parent)
    check_error(done, 3, "cannot create a temporary file: No such file or directory\nhint: TMPDIR names another folder")
    check_error(shell(program, "fxtrace trace - < .", model.parent), 3, "stdin: cannot read it: Is a directory\n")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("render",), "without -o and -f this writes JSON, which is long for a terminal"),
        (("render", "-f", "png"), "PNG is binary, and stdout is a terminal"),
        (("trace", "-f", "png"), "PNG is binary, and stdout is a terminal"),
        (("render", "-f", "json"), None),
        (("trace",), None),
        (("render", "-f", "text"), None),
    ],
)
def test_what_a_terminal_does_not_show(program, model, words, says):
    ours, terminal = os.openpty()
    try:
        process = subprocess.Popen([program.path, *words, model], stdout=terminal, stderr=subprocess.PIPE, text=True)
        os.close(terminal)
        written = b""
        with contextlib.suppress(OSError):  # at the end
            while part := os.read(ours, 1 << 16):
                written += part
        error = process.communicate(timeout=60)[1]
    finally:
        os.close(ours)
    if says is None:
        assert process.returncode == 0 and written
    else:
        assert (process.returncode, written) == (2, b"") and says in error.splitlines()[0] and "hint: -o " in error
