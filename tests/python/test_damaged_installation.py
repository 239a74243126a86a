"""The program with a damaged or missing library: one line, exit 3, and what else it does still works."""

import os
import pathlib
import shutil
import subprocess

import harness
import pytest
import torch

MODEL = os.path.join(harness.SAMPLES, "attention_scripted.pt")
EXPORTED = os.path.join(harness.SAMPLES, "attention_exported.pt2")
PLUGIN = "libfxtrace_torchscript.so"
CANNOT_LOAD = "cannot load LibTorch, which reading TorchScript needs: "
DAMAGED = CANNOT_LOAD + "a library of it is damaged or of another build (SIGBUS)"


def damaged(how: str, original: pathlib.Path, path: pathlib.Path) -> None:
    if how == "empty":
        path.write_bytes(b"")
    elif how == "text":
        path.write_text("#!/bin/sh\necho hello\n" * 100)
    elif how == "directory":
        path.mkdir()
    elif how == "another library":
        shutil.copy(next(pathlib.Path(torch.__file__).parent.glob("lib/libtorch_global_deps.so")), path)
    else:
        with open(original, "rb") as file:
            path.write_bytes(file.read(int(how)))


def check(program: pathlib.Path, says: str, environment: dict[str, str] | None = None, extra: tuple[str, ...] = ()):
    done = subprocess.run(
        [program, "trace", MODEL, *extra],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **(environment or {})},
    )
    assert (done.returncode, done.stdout) == (3, ""), done.stderr
    first, *hints = done.stderr.splitlines()
    assert first.startswith(f"fxtrace: error: {MODEL}: {says}"), first
    assert len(hints) == 1 and hints[0].startswith("hint: ")


@pytest.mark.parametrize(
    "how, says",
    [
        ("missing", f"reading TorchScript needs {PLUGIN}, which is neither"),
        ("empty", CANNOT_LOAD),
        ("text", CANNOT_LOAD),
        ("directory", CANNOT_LOAD),
        ("another library", f"{PLUGIN} does not belong to this build of fxtrace"),
        ("100", CANNOT_LOAD),
        ("5000", DAMAGED),
        ("1000000", DAMAGED),
    ],
)
def test_plugin(program, tmp_path, how, says):
    folder = tmp_path / "some" / "bin"
    folder.mkdir(parents=True)
    copy = folder / "fxtrace"
    shutil.copy(program.path, copy)
    if how != "missing":
        damaged(how, pathlib.Path(program.path).parent / PLUGIN, folder / PLUGIN)
    check(copy, says)
    check(copy, says, extra=("--no-isolation",))
    assert subprocess.run([copy, "trace", EXPORTED], capture_output=True, timeout=60).returncode == 0


@pytest.mark.parametrize("library", ["libtorch_cpu.so", "libc10.so"])
@pytest.mark.parametrize(
    "how, says",
    [
        ("empty", CANNOT_LOAD),
        ("text", CANNOT_LOAD),
        ("directory", CANNOT_LOAD),
        ("another library", CANNOT_LOAD),
        ("5000", DAMAGED),
        ("1000000", DAMAGED),
    ],
)
def test_libtorch(program, tmp_path, library, how, says):
    damaged(how, pathlib.Path(torch.__file__).parent / "lib" / library, tmp_path / library)
    environment = {"LD_LIBRARY_PATH": str(tmp_path)}
    check(program.path, says, environment)
    check(program.path, says, environment, extra=("--no-isolation",))


def test_library_of_operators(program, tmp_path):
    library = tmp_path / "operators.so"
    damaged("5000", pathlib.Path(program.path).parent / PLUGIN, library)
    done = subprocess.run(
        [program.path, "trace", MODEL, "--op-library", library], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 3
    assert done.stderr == f"fxtrace: error: {MODEL}: loading the libraries of --op-library crashed (SIGBUS)\n"
