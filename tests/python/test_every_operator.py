"""Tests that a trace only records operators: crafted archives call every operator that LibTorch registers, and none of them runs."""

import os
import re
import resource
import shutil
import subprocess

import operator_calls
import pytest
import tiers

SIZE = 60  # calls in an archive
SECONDS, MEMORY = 10, 2 << 30
MODES = {"inputs": ("trace", "--input", "x=float32[2,3]"), "trace": ("trace",), "inspect": ("inspect",)}
# What a process does that is more than to read and to compute.
DOES_MORE = re.compile(
    r"^\d+ +(?:"
    r"(?:open|openat|openat2|creat)\(.*(?:O_WRONLY|O_RDWR|O_CREAT|O_TMPFILE)(?!.*/dev/null)"
    r"|(?:unlink|rename|link|symlink|mkdir|rmdir|mknod|truncate|chmod|chown|utime|mount)\w*\("
    r"|(?:socket|connect|bind|listen|sendto|kill|tkill|vfork|fork)\("
    r"|clone3?\((?!.*CLONE_THREAD)|execve\((?!.*/fxtrace\"))"
)


@pytest.fixture(scope="module")
def calls() -> list[operator_calls.Call]:
    """With usual and with extreme arguments; FXTRACE_EVERY_CALL=1 adds mixed ones and takes twice as long."""
    return list(operator_calls.calls(operator_calls.VARIANTS if os.environ.get("FXTRACE_EVERY_CALL") else 2))


def strace(folder) -> list[str]:
    """How to look at a process; empty where that cannot be done."""
    path = shutil.which("strace")
    looks = [path, "-f", "--seccomp-bpf", "-qq", "-e", "trace=%file,%process,%network,kill,tkill"]
    if not path or subprocess.run([*looks, "-o", "/dev/null", "true"], capture_output=True).returncode:
        return []
    return [*looks, "-o", str(folder / "calls")]


def run(program, mode: str, some: list[operator_calls.Call], folder) -> None:
    """A call that cannot be compiled fails its module alone."""
    empty = folder / "empty"
    (folder / "model.pt").write_bytes(operator_calls.archive_of(some))
    command = [*strace(folder), program.path, *MODES[mode], "--no-isolation", str(folder / "model.pt")]
    said = f"{mode}: {some[0].text} ... {some[-1].text}"
    try:
        done = subprocess.run(
            command, cwd=empty, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=SECONDS,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY)),
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        pytest.fail(f"no end: {said}")
    messages = done.stderr.decode(errors="replace")
    assert done.returncode == 0, f"exit {done.returncode}: {messages[:500]} {said}"
    assert not os.listdir(empty), f"{os.listdir(empty)} {said}"
    if (folder / "calls").exists():
        wrong = [line for line in (folder / "calls").read_text(errors="replace").splitlines() if DOES_MORE.match(line)]
        assert not wrong, f"{wrong[:5]} {said}"


def in_archives(calls: list[operator_calls.Call]) -> list[list[operator_calls.Call]]:
    return [calls[start : start + SIZE] for start in range(0, len(calls), SIZE)]


@pytest.mark.parametrize("part", tiers.rotating(range(4)))
def test_nothing_is_carried_out(program, calls, part, tmp_path):
    (tmp_path / "empty").mkdir()
    for some in in_archives(calls)[part::4]:
        run(program, "inputs", some, tmp_path)


@pytest.mark.parametrize("mode", ["trace", "inspect"])
def test_other_commands(program, calls, mode, tmp_path):
    (tmp_path / "empty").mkdir()
    for some in in_archives(calls)[3::8]:
        run(program, mode, some, tmp_path)
