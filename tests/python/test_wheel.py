"""The wheel, in environments of its own: without torch, with the torch that it is built for, with another one."""

import glob
import os
import pathlib
import subprocess
import sys
import venv
import zipfile

import harness
import pytest
import torch

SCRIPTED = os.path.join(harness.SAMPLES, "nested_scripted.pt")
EXPORTED = os.path.join(harness.SAMPLES, "nested_exported.pt2")
UNWANTED = ("FXTRACE", "FXTRACE_LIBTORCH", "LD_LIBRARY_PATH", "PYTHONPATH", "VIRTUAL_ENV")
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in UNWANTED}
ENVIRONMENT.setdefault("CXX", "c++")  # as CMake has it: ccache asks for the compiler's name
NO_TORCH = "reading TorchScript needs torch 2.13, and "

RUN_GRAPH = f"""
import fxtrace, torch
collection = fxtrace.trace({SCRIPTED!r})
x = torch.rand(2, 4)
assert torch.equal(collection.graph_module()(x), torch.jit.load({SCRIPTED!r})(x))
print(collection.model.kind)
"""


def run(*command) -> subprocess.CompletedProcess:
    return subprocess.run(command, capture_output=True, text=True, timeout=1800, env=ENVIRONMENT, cwd="/")


def succeed(*command) -> str:
    done = run(*command)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> str:
    """Built with the options of the preset dev, so that ccache knows most of it."""
    folder = tmp_path_factory.mktemp("wheel")
    settings = {
        "build-dir": os.path.join(harness.ROOT, "build", "wheel-of-tests"),  # it stays: the next one takes seconds
        "cmake.build-type": "Debug",
        "cmake.define.CMAKE_CXX_FLAGS_DEBUG": "-O1 -g1",
        "cmake.define.FXTRACE_WERROR": "ON",
        "install.strip": "true",
    }
    options = [part for key, value in settings.items() for part in ("-C", f"{key}={value}")]
    build = ["wheel", "--no-build-isolation", "--no-deps", "-w", str(folder), *options, harness.ROOT]
    succeed(sys.executable, "-m", "pip", *build)
    (made,) = glob.glob(f"{folder}/*.whl")
    return made


def environment(wheel: str, folder: pathlib.Path) -> pathlib.Path:
    """A virtual environment that has the wheel and nothing else."""
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    succeed(sys.executable, "-m", "pip", "--python", python, "install", "--no-index", "--no-deps", wheel)
    return python


def site_packages(python: pathlib.Path) -> pathlib.Path:
    (folder,) = python.parents[1].glob("lib/python3*/site-packages")
    return folder


@pytest.fixture(scope="module")
def bare(wheel, tmp_path_factory) -> pathlib.Path:
    return environment(wheel, tmp_path_factory.mktemp("bare") / "environment")


def test_what_is_inside(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert "fxtrace/py.typed" in names and "fxtrace/__init__.py" in names
    assert any(name.endswith(".data/scripts/fxtrace") for name in names)
    assert any(name.endswith(".data/data/lib/fxtrace/libfxtrace_torchscript.so") for name in names)
    assert not [name for name in names if "torch_cpu" in name or name.endswith((".h", ".a", "build_backend.py"))]
    assert wheel.endswith(".whl") and "-py3-none-linux_" in wheel


@pytest.mark.volume
def test_program_needs_no_library_of_the_system(bare):
    """But those of C and C++, and its own."""
    listed = succeed("ldd", bare.parent / "fxtrace").splitlines()
    outside = {line.split()[0] for line in listed if "=>" in line and str(bare.parents[1]) not in line}
    assert {name.partition(".so")[0] for name in outside} <= {"libc", "libm", "libstdc++", "libgcc_s"}


@pytest.mark.volume
def test_without_torch(bare):
    program = bare.parent / "fxtrace"
    assert succeed(bare, "-m", "fxtrace", "--version") == succeed(program, "--version")
    traced = succeed(bare, "-c", f"import fxtrace; print(repr(fxtrace.trace({EXPORTED!r})))")
    assert traced.startswith("<Collection of nested_exported.pt2")
    for command in ((program,), (bare, "-m", "fxtrace")):
        done = run(*command, "trace", SCRIPTED)
        first, *others = done.stderr.splitlines()
        assert done.returncode == 3 and not done.stdout
        assert NO_TORCH + "there is none" in first and all(line.startswith("hint: ") for line in others)
    said = succeed(bare, "-c", f"import fxtrace\ntry: fxtrace.trace({SCRIPTED!r})\nexcept fxtrace.InputError as error: print(error)")
    assert NO_TORCH in said
    done = run(bare, "-c", f"import fxtrace; fxtrace.trace({EXPORTED!r}).graph_module()")
    assert done.returncode == 1 and "Error: " in done.stderr.splitlines()[-1] and "torch" in done.stderr.splitlines()[-1]


@pytest.mark.volume
def test_with_torch(wheel, tmp_path):
    """The packages of this Python, each by a link, as if they had been installed there."""
    python = environment(wheel, tmp_path / "environment")
    there = site_packages(python)
    for package in pathlib.Path(torch.__file__).parents[1].iterdir():
        if not package.name.startswith(("fxtrace", "_fxtrace", "pip", "_distutils", "distutils")):
            (there / package.name).symlink_to(package)
    assert '"kind": "torchscript"' in succeed(python.parent / "fxtrace", "trace", SCRIPTED)
    assert succeed(python, "-c", RUN_GRAPH).strip() == "torchscript"


@pytest.mark.volume
def test_with_another_torch(wheel, tmp_path):
    python = environment(wheel, tmp_path / "environment")
    package = site_packages(python) / "torch"
    (package / "lib").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "version.py").write_text("__version__ = '2.12.1+cpu'\n")
    (package / "lib" / "libtorch_cpu.so").touch()
    for command in ((python.parent / "fxtrace",), (python, "-m", "fxtrace")):
        done = run(*command, "trace", SCRIPTED)
        first, *others = done.stderr.splitlines()
        assert done.returncode == 3 and NO_TORCH in first and "2.12.1" in first, done.stderr
        assert all(line.startswith("hint: ") for line in others)
    assert succeed(python.parent / "fxtrace", "trace", EXPORTED)
