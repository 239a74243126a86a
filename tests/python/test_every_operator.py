"""Every operator that LibTorch registers, called by crafted archives, does nothing but be recorded."""

import os
import re
import resource
import shutil
import subprocess

import hostile
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


def run(program, mode: str, some: list[operator_calls.Call], folder, options: tuple[str, ...]) -> None:
    """What cannot be loaded is left out until the rest can."""
    empty = folder / "empty"
    while some:
        (folder / "model.pt").write_bytes(operator_calls.archive_of(some))
        looks = strace(folder) if "--no-isolation" in options else []
        command = [*looks, program.path, *MODES[mode], *options, str(folder / "model.pt")]
        said = f"{mode}: {some[0].text} ... {some[-1].text}"
        try:
            done = subprocess.run(
                command, cwd=empty, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=10 * SECONDS,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY)),
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            pytest.fail(f"no end: {said}")
        messages = done.stderr.decode(errors="replace")
        assert done.returncode in (0, 2, 3), f"exit {done.returncode}: {messages[:500]} {said}"
        assert not os.listdir(empty), f"{os.listdir(empty)} {said}"
        if (folder / "calls").exists():
            wrong = [line for line in (folder / "calls").read_text(errors="replace").splitlines() if DOES_MORE.match(line)]
            assert not wrong, f"{wrong[:5]} {said}"
        if done.returncode == 0:
            return
        if "cannot be loaded" not in messages:  # it crashed inside, or took too long
            assert "--no-isolation" not in options, f"{messages[:500]} {said}"
            return
        line = re.search(r'File "code/__torch__.py", line (\d+)', messages)
        if not line and len(some) > 1:
            run(program, mode, some[: len(some) // 2], folder, options)
            some = some[len(some) // 2 :]
        else:
            some = operator_calls.without(some, int(line.group(1))) if line else []


def in_archives(calls: list[operator_calls.Call]) -> list[list[operator_calls.Call]]:
    return [calls[start : start + SIZE] for start in range(0, len(calls), SIZE)]


# One after another they take some minutes: a test for each part, one of which is in the first tier.
PARTS = 8


@pytest.mark.parametrize("part", tiers.rotating(PARTS))
def test_first_wall_alone(program, calls, part, tmp_path):
    (tmp_path / "empty").mkdir()
    for some in in_archives(calls)[part::PARTS]:
        run(program, "inputs", some, tmp_path, ("--no-isolation",))


@pytest.mark.volume
def test_second_wall_alone(open_program, calls, tmp_path):
    (tmp_path / "empty").mkdir()
    for some in in_archives(calls)[1 :: 2 * PARTS]:
        run(open_program, "inputs", some, tmp_path, ("--max-time", str(SECONDS)))


@pytest.mark.parametrize("case", tiers.one_in(10, hostile.code_that_is_carried_out()), ids=lambda case: case.name)
def test_second_wall_alone_on_hostile_code(open_program, case, tmp_path):
    (tmp_path / "model.pt").write_bytes(case.make())
    done = subprocess.run(
        [open_program.path, "trace", str(tmp_path / "model.pt"), "--max-time", "2", "--max-memory", "2048"],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=10 * SECONDS,
    )  # fmt: skip
    assert done.returncode in (0, 3), done.stderr
    assert not os.path.exists("/made-by-a-model")


@pytest.mark.volume
@pytest.mark.parametrize("mode", ["trace", "inspect"])
def test_other_commands(program, calls, mode, tmp_path):
    (tmp_path / "empty").mkdir()
    for some in in_archives(calls)[3 :: 2 * PARTS]:
        run(program, mode, some, tmp_path, ("--no-isolation",))
