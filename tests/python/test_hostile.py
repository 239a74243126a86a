"""Damaged and hostile archives end with one line of text or with failures as data, soon and in little memory."""

import json
import os
import resource
import signal
import subprocess
import time

import hostile
import pytest

MEMORY = 4 << 30  # bytes of data
SECONDS = 20  # far above what any case takes on an idle machine
RESIDENT = 2 << 20  # KB


def limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(program, case: hostile.Case, folder) -> tuple[int, str, dict | None]:
    """Exit code, stderr and the collection."""
    model, output, messages = folder / "model.pt", folder / "out.json", folder / "messages"
    model.write_bytes(case.make())
    output.unlink(missing_ok=True)
    with open(messages, "wb") as stderr:
        process = subprocess.Popen(
            [program.path, "trace", str(model), "-o", str(output)], stderr=stderr, preexec_fn=limit_memory
        )
    end = time.monotonic() + SECONDS
    done = 0
    while not done and time.monotonic() < end:
        done, status, usage = os.wait4(process.pid, os.WNOHANG)
        time.sleep(0 if done else 0.01)
    if not done:
        os.kill(process.pid, signal.SIGKILL)
        os.wait4(process.pid, 0)
        pytest.fail(f"{case.name}: no end after {SECONDS} s")
    process.returncode = code = os.waitstatus_to_exitcode(status)
    stderr_text = messages.read_bytes().decode(errors="replace")
    assert code >= 0, f"{case.name}: signal {-code}"
    assert usage.ru_maxrss < RESIDENT, f"{case.name}: {usage.ru_maxrss >> 10} MB"
    collection = json.loads(output.read_text(encoding="utf-8")) if output.exists() else None
    return code, stderr_text, collection


def check(program, case: hostile.Case, folder) -> None:
    code, messages, collection = run(program, case, folder)
    said = f"{case.name}: exit {code}: {messages[:600]}"
    if code == 0:
        assert case.expect not in ("error", "usage"), said
        kinds = [module["failure"]["kind"] for module in collection["modules"] if module["failure"]]
        if case.expect == "traced":
            assert not kinds, f"{case.name}: {kinds}"
        elif case.expect != "any":
            assert case.expect in kinds, f"{case.name}: {kinds}"
        return
    assert code == (2 if case.expect == "usage" else 3) and case.expect in ("error", "usage", "any"), said
    assert collection is None, case.name
    lines = messages.splitlines()
    errors = [line for line in lines if line.startswith("fxtrace: error: ")]
    assert len(errors) == 1, said
    rest = [line for line in lines if not line.startswith(("fxtrace: error: ", "fxtrace: warning: ", "hint: "))]
    assert not rest, said
    assert "Exception raised from" not in messages and "frame #" not in messages, said


@pytest.mark.parametrize("case", hostile.cases(), ids=lambda case: case.name)
def test_hostile(program, case, tmp_path):
    check(program, case, tmp_path)


def test_flipped_bits(program, tmp_path):
    for case in hostile.flipped():
        check(program, case, tmp_path)
