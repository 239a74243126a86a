"""Tests damaged and hostile archives: they end with one line of error or with failures as data, quickly and with little memory."""

import dataclasses
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import time
from dataclasses import dataclass

import harness
import hostile
import hostile_collections
import hostile_exported
import jsonschema_rs
import pytest
import tiers


@dataclass
class Limits:
    seconds: float  # of processor time, far above what any case takes; a busy machine may take longer by the clock
    resource: int  # which memory is limited
    memory: int  # bytes of it
    resident: int  # KB


TORCHSCRIPT = Limits(seconds=6, resource=resource.RLIMIT_DATA, memory=4 << 30, resident=512 << 10)
# Without LibTorch the whole address space can have a limit.
EXPORTED = Limits(seconds=10, resource=resource.RLIMIT_AS, memory=2 << 30, resident=2 << 20)
LARGE_EXPORTED = dataclasses.replace(EXPORTED, seconds=20)  # 135 MB take 7 s of the dev build, 11 on a slow machine

with open(os.path.join(harness.ROOT, "schemas", "inspection.schema.json"), encoding="utf-8") as schema:
    INSPECTIONS = jsonschema_rs.Draft202012Validator(json.load(schema))


def run(program, case: hostile.Case, folder, limits: Limits) -> tuple[int, str, dict | None]:
    """Exit code, stderr and the collection."""

    def limit_memory() -> None:
        resource.setrlimit(limits.resource, (limits.memory, limits.memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    model, output, messages = (
        folder / "model.pt",
        folder / "out.json",
        folder / "messages",
    )
    model.write_bytes(case.make())
    output.unlink(missing_ok=True)
    # inspect writes to stdout alone.
    inspects = case.command == "inspect"
    where = ["--json"] if inspects else ["-o", str(output)]
    with open(messages, "wb") as stderr, open(output if inspects else os.devnull, "wb") as stdout:
        process = subprocess.Popen(
            [program.path, case.command, str(model), *where, *case.options],
            stdout=stdout,
            stderr=stderr,
            preexec_fn=limit_memory,
        )
    seconds = 5 * limits.seconds
    end = time.monotonic() + seconds
    done = 0
    while not done and time.monotonic() < end:
        done, status, usage = os.wait4(process.pid, os.WNOHANG)
        time.sleep(0 if done else 0.01)
    if not done:
        os.kill(process.pid, signal.SIGKILL)
        os.wait4(process.pid, 0)
        pytest.fail(f"{case.name}: no end after {seconds} s")
    process.returncode = code = os.waitstatus_to_exitcode(status)
    stderr_text = messages.read_bytes().decode(errors="replace")
    assert code >= 0, f"{case.name}: signal {-code}"
    took = usage.ru_utime + usage.ru_stime
    assert took < limits.seconds, f"{case.name}: {took:.1f} s"
    # Until it is the program, a child has what the tests themselves take.
    most = max(limits.resident, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss + 1024)
    assert usage.ru_maxrss < most, f"{case.name}: {usage.ru_maxrss >> 10} MB"
    written = output.read_text(encoding="utf-8") if output.exists() else ""
    collection = json.loads(written) if written or (output.exists() and not inspects) else None
    return code, stderr_text, collection


def check(program, case: hostile.Case, folder, limits: Limits = TORCHSCRIPT) -> dict | None:
    code, messages, collection = run(program, case, folder, limits)
    said = f"{case.name}: exit {code}: {messages[:600]}"
    if code == 0:
        assert case.expect not in ("error", "usage"), said
        if case.expect == "shown":
            return collection
        kinds = [module["failure"]["kind"] for module in collection["modules"] if module["failure"]]
        if case.expect == "traced":
            assert not kinds, f"{case.name}: {kinds}"
        elif not case.expect.startswith("any"):
            assert case.expect in kinds, f"{case.name}: {kinds}"
        return collection
    exits = {"usage": (2,), "error": (3,), "any": (3,), "any or usage": (2, 3)}
    assert code in exits.get(case.expect, ()), said
    assert collection is None, case.name
    lines = messages.split("\n")[:-1]
    errors = [line for line in lines if line.startswith("fxtrace: error: ")]
    assert len(errors) == 1, said
    rest = [line for line in lines if not line.startswith(("fxtrace: error: ", "fxtrace: warning: ", "hint: "))]
    assert not rest, said
    assert "Exception raised from" not in messages and "frame #" not in messages, said
    assert not re.search(r"\b0x[0-9a-f]{6}", messages), said  # an address, another one in every run
    for text in case.says:
        assert text in messages, said
    return None


@pytest.mark.parametrize("case", tiers.one_in(2, hostile.cases()), ids=lambda case: case.name)
def test_hostile(program, case, tmp_path):
    check(program, case, tmp_path)


# What is carried out of an archive's code is harmless in any process.
@pytest.mark.parametrize("case", tiers.one_in(4, hostile.code_cases()), ids=lambda case: case.name)
def test_hostile_code_without_isolation(program, case, tmp_path):
    check(program, dataclasses.replace(case, options=(*case.options, "--no-isolation")), tmp_path)
    assert not os.path.exists("/made-by-a-model")


PARTS = 10


@pytest.mark.parametrize("part", tiers.only([0], range(PARTS)))
def test_flipped_bits(program, tmp_path, part):
    for case in list(hostile.flipped())[part::PARTS]:
        check(program, case, tmp_path)


@pytest.mark.parametrize("case", list(hostile.shape_cases()), ids=lambda case: case.name)
def test_hostile_shapes(program, case, tmp_path):
    check(program, case, tmp_path)
    assert not os.path.exists("/made-by-a-model")


def test_random_specs(program, tmp_path):
    for case in hostile.random_specs():
        check(program, case, tmp_path)


def is_small(case: hostile.Case) -> bool:
    return re.search(r"_(50000|200000|1e6)$|^(long|many)_(?!values)", case.name) is None


EXPORTED_CASES = list(hostile_exported.cases())


@pytest.mark.parametrize("case", tiers.in_turn(filter(is_small, EXPORTED_CASES), EXPORTED_CASES), ids=lambda case: case.name)
def test_hostile_exported(program, case, tmp_path):
    check_exported(program, case, tmp_path)


@pytest.mark.parametrize("case", list(hostile_exported.compiled()), ids=lambda case: case.name)
def test_hostile_compiled(program, case, tmp_path):
    shown = check(program, case, tmp_path, EXPORTED)
    assert (shown is None) == (case.expect == "error")
    if shown is not None:
        INSPECTIONS.validate(shown)
    text = program.run("inspect", str(tmp_path / "model.pt"))
    assert text.returncode == (3 if case.expect == "error" else 0)
    assert not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", text.stdout + text.stderr)


def check_exported(program, case: hostile.Case, folder) -> None:
    collection = check(program, case, folder, EXPORTED if is_small(case) else LARGE_EXPORTED)
    if collection is not None:
        program.validate(collection)


def in_one_process(program, target: str, cases: list[hostile.Case], folder) -> None:
    """What the program does with each, by the functions of tests/fuzz, which need no process of their own for it."""
    names, lines = {}, []
    for i, case in enumerate(cases):
        path = folder / str(i)
        path.write_bytes(case.make())
        names[str(path)] = case.name
        model = case.options[case.options.index("--model") + 1] if "--model" in case.options else ""
        lines.append(f"{target}\t{path}\t{model}\n")
    tool = pathlib.Path(program.path).with_name("fuzz_replay")
    done = subprocess.run([tool], input="".join(lines), capture_output=True, text=True, errors="replace", timeout=900)
    seen = [line.partition(": ") for line in done.stdout.splitlines()]
    wrong = [f"{names[path]}: {message}" for path, _, message in seen if message]
    assert not wrong, wrong
    assert done.returncode == 0, f"{names[seen[-1][0]]}: exit {done.returncode}: {done.stderr}"
    assert len(seen) == len(cases)


PROCESSES = 12  # one in so many is given to the program itself, the others to what it is made of


def test_exported_flipped_bits(program, tmp_path):
    cases = list(hostile_exported.flipped())
    for case in cases[::PROCESSES]:
        check_exported(program, case, tmp_path)
    in_one_process(program, "archive", cases, tmp_path)


def test_exported_wrong_types(program, tmp_path):
    cases = list(hostile_exported.mutated())
    for case in cases[::PROCESSES]:
        check_exported(program, case, tmp_path)
    in_one_process(program, "archive", cases, tmp_path)


@pytest.mark.parametrize("pair", hostile_exported.unknown_field_pairs(), ids=lambda pair: pair[0])
def test_exported_unknown_fields(program, pair, tmp_path):
    """What a later version of torch adds changes nothing."""
    name, plain, extended = pair
    options = hostile_exported.first_model(plain)
    cases = [hostile.Case(name, lambda data=data: data, "traced", options) for data in (plain, extended)]
    collections = [check(program, case, tmp_path, EXPORTED) for case in cases]
    assert collections[0] == collections[1]


@pytest.mark.parametrize("case", list(hostile_collections.cases()), ids=lambda case: case.name)
def test_hostile_collections(program, case, tmp_path):
    check(program, case, tmp_path, EXPORTED)


def test_mutated_collections(program, tmp_path):
    """What is read is read right: writing it again changes nothing."""
    cases = [*hostile_collections.mutated(), *hostile_collections.flipped()]
    checked = [check(program, case, tmp_path, EXPORTED) for case in cases[::PROCESSES]]
    assert sum(collection is not None for collection in checked) > 1
    in_one_process(program, "collection", cases, tmp_path)
