"""Tests which LibTorch --op-library opens, and that a damaged, missing or wrong library causes one line of error and exit code 3.
Without that option no library is opened."""

import json
import os
import pathlib
import re
import shutil
import subprocess

import harness
import pytest
import torch

TORCH = pathlib.Path(torch.__file__).parent
NEEDED = "2.13"
MODEL = os.path.join(harness.SAMPLES, "attention_scripted.pt")
EXPORTED = os.path.join(harness.SAMPLES, "attention_exported.pt2")
PLUGIN = f"libfxtrace_execute-{NEEDED}.so"
FINDS_TORCH = ("FXTRACE_LIBTORCH", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "CONDA_PREFIX")
LIBRARY = ("--op-library", "libm.so.6")  # which registers nothing
CANNOT_LOAD = "cannot load LibTorch, which --op-library needs: "
DAMAGED = "cannot load LibTorch: a library of it is damaged or of another build (SIGBUS)"


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


def run(*command: object, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess:
    """Where no torch is found but those that a test puts there."""
    inherited = {name: value for name, value in os.environ.items() if name not in FINDS_TORCH}
    nowhere = {"HOME": "/nowhere", "PATH": "/usr/bin:/bin"}
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env={**inherited, **nowhere, **(environment or {})})


def trace(program: pathlib.Path, environment: dict[str, str] | None, *extra: str) -> subprocess.CompletedProcess:
    return run(program, "trace", MODEL, *LIBRARY, *extra, environment=environment)


def check_reads(program: pathlib.Path, environment: dict[str, str] | None = None):
    """Both kinds of files are traced, whatever is wrong with LibTorch."""
    for model in (MODEL, EXPORTED):
        done = run(program, "trace", model, environment=environment)
        assert done.returncode == 0 and done.stdout.startswith("{"), done.stderr


def check(program: pathlib.Path, says: str, environment: dict[str, str] | None = None, extra: tuple[str, ...] = ()):
    done = trace(program, environment, *extra)
    assert (done.returncode, done.stdout) == (3, ""), done.stderr
    first, *hints = done.stderr.splitlines()
    assert first.startswith(f"fxtrace: error: {MODEL}: {says}"), first
    assert 1 <= len(hints) <= 2 and all(hint.startswith("hint: ") for hint in hints)


def libtorch(package: pathlib.Path, version: str | None = None, but: str = "") -> pathlib.Path:
    """A torch package with the libraries of the true one, all but one; `version` is what it says of itself."""
    (package / "lib").mkdir(parents=True)
    for library in TORCH.glob("lib/*.so*"):
        if library.name != but:
            (package / "lib" / library.name).symlink_to(library)
    if version:
        (package / "version.py").write_text(f"from typing import Optional\n\n__version__ = '{version}'\ndebug = False\n")
    return package


def alone_in(prefix: pathlib.Path, program: harness.Program) -> pathlib.Path:
    """The program as a package has it, which does not say what LibTorch it was built with."""
    (prefix / "bin").mkdir(parents=True)
    (prefix / "lib" / "fxtrace").mkdir(parents=True)
    shutil.copy(program.path, prefix / "bin")
    shutil.copy(pathlib.Path(program.path).parent / PLUGIN, prefix / "lib" / "fxtrace")
    return prefix / "bin" / "fxtrace"


def check_opens(program: pathlib.Path, package: pathlib.Path, whose: str, environment: dict[str, str] | None = None):
    for extra in ([], ["--no-isolation"]):
        done = trace(program, environment, "-v", *extra)
        assert done.returncode == 0, done.stderr
        opened = [line for line in done.stderr.splitlines() if line.startswith("fxtrace: LibTorch ")]
        said = [re.fullmatch(f"fxtrace: LibTorch .*?of (/.*), {re.escape(whose)}", line) for line in opened]
        assert [os.path.normpath(match[1]) for match in said if match] == [str(package / "lib")], done.stderr


BUILT_WITH = "the torch that it was built with"
BESIDE = "the torch beside it"
LOADER = "the torch that the system's loader finds"
NEEDS = f"--op-library needs torch {NEEDED}, and "


def test_reading_opens_nothing_of_torch(program, tmp_path):
    """Where the variable names it, and the text beside the plugin does."""
    if shutil.which("strace") is None:
        pytest.skip("no strace")
    calls = tmp_path / "calls"
    environment = {"FXTRACE_LIBTORCH": str(TORCH)}
    for model in (MODEL, EXPORTED):
        for extra in ([], ["--no-isolation"], list(LIBRARY)):
            command = ("strace", "-f", "-qq", "-e", "trace=%file", "-o", calls, program.path, "trace", model, *extra)
            done = run(*command, environment=environment)
            assert done.returncode == 0, done.stderr
            opened = re.findall(r'^[^"]*"([^"]+)".* = [0-9]+$', calls.read_text(), re.MULTILINE)
            assert os.path.basename(model) in map(os.path.basename, opened)
            found = [path for path in opened if re.search(r"libtorch|libc10|libfxtrace|site-packages", path)]
            assert bool(found) == (extra == list(LIBRARY)), found  # before anybody knows what kind of model it is


def test_there_is_no_libtorch(program, tmp_path):
    alone = alone_in(tmp_path, program)
    none = NEEDS + "there is none where fxtrace looks for it"
    check(alone, none)
    check(alone, none, {"FXTRACE_LIBTORCH": ""}, extra=("--no-isolation",))
    # What it was built with is gone.
    (tmp_path / "lib" / "fxtrace" / "libtorch_folder.txt").write_text(f"{tmp_path / 'gone'}\n")
    check(alone, none)
    empty = tmp_path / "empty"
    empty.mkdir()
    for folder in (empty, tmp_path / "gone", pathlib.Path(MODEL)):
        says = f"FXTRACE_LIBTORCH is {folder}, where there is no libtorch_cpu.so"
        check(alone, says, {"FXTRACE_LIBTORCH": str(folder)})
    check_reads(alone, {"FXTRACE_LIBTORCH": str(empty)})


def test_how_to_get_libtorch(program, tmp_path):
    """In the way in which the program was installed."""

    def hint(folder: str) -> str:
        return trace(tmp_path / folder / "bin" / "fxtrace", None).stderr.splitlines()[1]

    for folder in ("package", "python", "clone"):
        alone_in(tmp_path / folder, program)
    (tmp_path / "python/lib/python3.12/site-packages/fxtrace").mkdir(parents=True)
    (tmp_path / "clone/CMakeCache.txt").touch()
    torch_of_series = f"pip install --target DIR 'torch=={NEEDED}.*'"
    assert hint("package") == f"hint: {torch_of_series} gets it, and FXTRACE_LIBTORCH=DIR/torch names it"
    assert hint("python").startswith(f"hint: {tmp_path}/python/bin/python3 -m pip install 'torch=={NEEDED}.*' ")
    assert hint("clone").startswith("hint: scripts/setup --libtorch ")


def test_libtorch_by_its_variable(program, tmp_path):
    for path in (pathlib.Path(program.path), alone_in(tmp_path / "prefix", program)):
        for value in (TORCH, TORCH / "lib", os.path.relpath(TORCH)):
            check_opens(path, TORCH, "FXTRACE_LIBTORCH", {"FXTRACE_LIBTORCH": str(value)})
    # It is asked before all others.
    other = libtorch(tmp_path / "other")
    check_opens(program.path, other, "FXTRACE_LIBTORCH", {"FXTRACE_LIBTORCH": str(other)})


def test_libtorch_it_was_built_with(program, tmp_path):
    environment = {"FXTRACE_LIBTORCH": ""}
    check_opens(program.path, TORCH, BUILT_WITH, environment)
    # Before the one that the loader would find, of which nothing is opened.
    broken = tmp_path / "lib"
    broken.mkdir()
    for library in ("libtorch_cpu.so", "libc10.so"):
        (broken / library).write_text("no library")
    check_opens(program.path, TORCH, BUILT_WITH, {"LD_LIBRARY_PATH": str(broken)})


@pytest.mark.parametrize("packages", ["lib/python3.12/site-packages", "local/lib/python3.13/dist-packages"])
def test_libtorch_beside_it(program, tmp_path, packages):
    alone = alone_in(tmp_path / "prefix", program)
    package = libtorch(tmp_path / "prefix" / packages / "torch", f"{NEEDED}.1+cpu")
    check_opens(alone, package, BESIDE)
    # As by a link in a folder of PATH.
    link = tmp_path / "fxtrace"
    link.symlink_to(alone)
    check_opens(link, package, BESIDE)


def test_libtorch_of_an_environment(program, tmp_path):
    """That of a virtual environment that is active, of conda, of the Python that a shell would run, of the user."""
    alone = alone_in(tmp_path / "prefix", program)
    (tmp_path / "else" / "bin").mkdir(parents=True)
    (tmp_path / "else" / "bin" / "python3").touch()
    ways = [("VIRTUAL_ENV", "venv", "venv", "VIRTUAL_ENV"), ("CONDA_PREFIX", "conda", "conda", "CONDA_PREFIX"),
            ("PATH", "else", "else/bin", f"{tmp_path}/else/bin/python3"), ("HOME", "home/.local", "home", "the user")]  # fmt: skip
    environment = {}
    for variable, prefix, value, whose in reversed(ways):
        package = libtorch(tmp_path / prefix / "lib/python3.12/site-packages/torch", f"{NEEDED}.1")
        environment[variable] = str(tmp_path / value)
        check_opens(alone, package, f"the torch of {whose}", environment)  # before those that were there


def test_plugins_of_several_series(program, tmp_path):
    """The one that fits is opened; all of them are named where none does."""
    alone = alone_in(tmp_path / "prefix", program)
    for series in ("2.9", "2.10", "2.14"):
        (tmp_path / "prefix/lib/fxtrace" / f"libfxtrace_execute-{series}.so").write_text("of no use")
    check_opens(alone, TORCH, "FXTRACE_LIBTORCH", {"FXTRACE_LIBTORCH": str(TORCH)})
    other = libtorch(tmp_path / "other", "2.12.0")
    says = f"--op-library needs torch 2.9, 2.10, {NEEDED} or 2.14, and FXTRACE_LIBTORCH, {other}, is 2.12.0"
    check(alone, says, {"FXTRACE_LIBTORCH": str(other)})
    said = json.loads(run(alone, "--version", "--json").stdout)
    assert said["plugins"] == ["2.9", "2.10", NEEDED, "2.14"] and said["features"]["verify"]


def test_libtorch_of_the_loader(program, tmp_path):
    alone = alone_in(tmp_path / "prefix", program)
    check_opens(alone, TORCH, LOADER, {"LD_LIBRARY_PATH": str(TORCH / "lib")})
    other = libtorch(tmp_path / "other", "2.12.0")
    environment = {"LD_LIBRARY_PATH": str(other / "lib")}
    check(alone, NEEDS + f"{LOADER}, {other}, is 2.12.0", environment)
    check(alone, NEEDS + f"{LOADER}, {other}, is 2.12.0", environment, extra=("--no-isolation",))


@pytest.mark.parametrize("version", ["2.12.0", "2.1", "2.130.0", "2.14.0a0+git1234", "1.13"])
def test_libtorch_of_another_version(program, tmp_path, version):
    alone = alone_in(tmp_path / "prefix", program)
    python = tmp_path / "prefix" / "lib" / "python3.11"
    wrong = libtorch(python / "site-packages" / "torch", version)
    check(alone, NEEDS + f"{BESIDE}, {wrong}, is {version}")
    check(alone, NEEDS + f"FXTRACE_LIBTORCH, {wrong}, is {version}", {"FXTRACE_LIBTORCH": str(wrong / "lib")})
    # One that fits is found all the same, wherever it is.
    check_opens(alone, TORCH, LOADER, {"LD_LIBRARY_PATH": str(TORCH / "lib")})
    right = libtorch(tmp_path / "prefix" / "lib" / "python3.9" / "site-packages" / "torch", NEEDED)
    check_opens(alone, right, BESIDE)
    (alone.parent.parent / "lib" / "fxtrace" / "libtorch_folder.txt").write_text(f"{wrong / 'lib'}\n")
    check_opens(alone, right, BESIDE)
    shutil.rmtree(right)
    check(alone, NEEDS + f"{BUILT_WITH}, {wrong}, is {version}")


def test_version_of_a_libtorch_without_python(program, tmp_path):
    alone = alone_in(tmp_path / "prefix", program)
    package = libtorch(tmp_path / "libtorch")
    says = package / "share" / "cmake" / "Torch" / "TorchConfigVersion.cmake"
    says.parent.mkdir(parents=True)
    environment = {"FXTRACE_LIBTORCH": str(package)}
    says.write_text(f'set(PACKAGE_VERSION "{NEEDED}.0")\n')
    check_opens(alone, package, "FXTRACE_LIBTORCH", environment)
    says.write_text('set(PACKAGE_VERSION "2.7.1")\n')
    check(alone, NEEDS + f"FXTRACE_LIBTORCH, {package}, is 2.7.1", environment)


def test_library_that_libtorch_needs(program, tmp_path):
    others = {library.name for library in TORCH.glob("lib/libgomp*")}
    if not others:
        pytest.skip("this LibTorch has no libgomp of its own")
    for name in others:
        package = libtorch(tmp_path / name, but=name)
        damaged("text", TORCH / "lib" / name, package / "lib" / name)
        check(program.path, CANNOT_LOAD + f"{package / 'lib' / name}: ", {"FXTRACE_LIBTORCH": str(package)})


@pytest.mark.parametrize(
    "how, says",
    [
        ("missing", "this fxtrace has no plugin for LibTorch, which --op-library needs"),
        ("empty", CANNOT_LOAD),
        ("text", CANNOT_LOAD),
        ("directory", CANNOT_LOAD),
        ("another library", "the plugin for LibTorch does not belong to this build of fxtrace"),
        ("100", CANNOT_LOAD),
        ("5000", DAMAGED),
        ("20000", DAMAGED),
    ],
)
def test_plugin(program, tmp_path, how, says):
    folder = tmp_path / "some" / "bin"
    folder.mkdir(parents=True)
    copy = folder / "fxtrace"
    shutil.copy(program.path, copy)
    (folder / "libtorch_folder.txt").write_text(f"{TORCH / 'lib'}\n")
    if how != "missing":
        damaged(how, pathlib.Path(program.path).parent / PLUGIN, folder / PLUGIN)
    check(copy, says)
    if says != DAMAGED:  # without a process of its own that signal ends the program
        check(copy, says, extra=("--no-isolation",))
    check_reads(copy)


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
    package = libtorch(tmp_path / "torch", but=library)
    damaged(how, TORCH / "lib" / library, package / "lib" / library)
    environment = {"FXTRACE_LIBTORCH": str(package)}
    check(program.path, says, environment)
    if says != DAMAGED:
        check(program.path, says, environment, extra=("--no-isolation",))
    check_reads(program.path, environment)
    # The other ways to it say the same.
    alone = alone_in(tmp_path / "prefix", program)
    check(alone, says, {"LD_LIBRARY_PATH": str(package / "lib")})
    (alone.parent.parent / "lib" / "fxtrace" / "libtorch_folder.txt").write_text(f"{package / 'lib'}\n")
    check(alone, says)


def test_library_of_operators(program, tmp_path):
    library = tmp_path / "operators.so"
    damaged("5000", pathlib.Path(program.path).parent / PLUGIN, library)
    done = run(program.path, "trace", MODEL, "--op-library", library)
    assert done.returncode == 3
    assert done.stderr == f"fxtrace: error: {MODEL}: loading the libraries of --op-library crashed (SIGBUS)\n"
