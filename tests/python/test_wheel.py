"""Tests the wheel, built with torch and without, in separate environments: without torch, with the torch that its plugin is built
for, and with another one."""

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
UNWANTED = ("CMAKE_PREFIX_PATH", "FXTRACE", "FXTRACE_LIBTORCH", "LD_LIBRARY_PATH", "PYTHONPATH", "VIRTUAL_ENV", "CONDA_PREFIX")
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in UNWANTED}
ENVIRONMENT.setdefault("CXX", "c++")  # as CMake has it: ccache asks for the compiler's name
NOWHERE = {"PATH": "/nowhere", "HOME": "/nowhere"}  # where the torch of another Python could be found
LIBRARY = ("--op-library", "libm.so.6")  # which registers nothing
NO_TORCH = "--op-library needs torch 2.13, and "

RUN_GRAPH = f"""
import fxtrace, torch
collection = fxtrace.trace({SCRIPTED!r})
x = torch.rand(2, 4)
assert torch.equal(collection.graph_module()(x), torch.jit.load({SCRIPTED!r})(x))
print(collection.model.kind)
"""


def run(*command) -> subprocess.CompletedProcess:
    environment = ENVIRONMENT if command[0] == sys.executable else {**ENVIRONMENT, **NOWHERE}
    return subprocess.run(command, capture_output=True, text=True, timeout=1800, env=environment, cwd="/")


def succeed(*command) -> str:
    done = run(*command)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def build_wheel(folder: pathlib.Path, python: pathlib.Path, **settings: str) -> str:
    settings = {"build-dir": str(folder / "build"), **settings}
    options = [part for key, value in settings.items() for part in ("-C", f"{key}={value}")]
    build = ["wheel", "--no-build-isolation", "--no-deps", "-w", str(folder), *options, harness.ROOT]
    succeed(sys.executable, "-m", "pip", "--python", python, *build)
    (made,) = glob.glob(f"{folder}/*.whl")
    return made


def build_whole_wheel(folder: pathlib.Path, python: pathlib.Path) -> str:
    """With the options of the preset dev, so that ccache knows most of it."""
    return build_wheel(
        folder,
        python,
        **{"build-dir": os.path.join(harness.ROOT, "build", "wheel-of-tests")},  # it stays: the next one takes seconds
        **{"cmake.build-type": "Debug", "cmake.define.CMAKE_CXX_FLAGS_DEBUG": "-O1 -g1", "cmake.define.FXTRACE_WERROR": "ON", "install.strip": "true"},
    )


@pytest.fixture(scope="module")
def wheel_of_this_program(program, tmp_path_factory) -> str:
    """What the wheel is made of besides the program, which is not built again."""
    build = pathlib.Path(program.path).parents[1]
    if not (build / "cmake_install.cmake").exists():
        pytest.skip("the program does not stand in a build folder")
    folder = tmp_path_factory.mktemp("wheel")
    (folder / "plugins").mkdir()
    for plugin in build.glob("bin/libfxtrace_execute-*.so"):
        (folder / "plugins" / plugin.name).symlink_to(plugin)
    parts = {"PROGRAM": build / "bin", "DOCUMENTS": build / "share", "PLUGINS": folder / "plugins"}
    defines = {f"cmake.define.FXTRACE_{name}": str(value) for name, value in parts.items()}
    return build_wheel(folder, pathlib.Path(sys.executable), **defines)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> str:
    return build_whole_wheel(tmp_path_factory.mktemp("wheel"), pathlib.Path(sys.executable))


@pytest.fixture(scope="module")
def wheel_without_torch(tmp_path_factory) -> str:
    """Built by a Python that has what the build takes, and no torch."""
    folder = tmp_path_factory.mktemp("builder") / "environment"
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    for package in ("scikit_build_core", "packaging", "pathspec"):
        for there in pathlib.Path(torch.__file__).parents[1].glob(package + "*"):
            (site_packages(python) / there.name).symlink_to(there)
    return build_whole_wheel(tmp_path_factory.mktemp("wheel"), python)


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


def check_content(wheel: str, has_plugin: bool) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (notice,) = [archive.read(name).decode() for name in names if name.endswith(".dist-info/licenses/NOTICE")]
    licences = harness.licences_of_notice(notice)
    bundled = {pathlib.PurePath(name).name.partition(".")[0].replace("libz", "zlib").replace("libsqlite3", "SQLite") for name in names if ".data/data/lib/fxtrace/" in name}
    bundled = {name.removeprefix("lib") for name in bundled if not name.startswith("libfxtrace_")}
    assert bundled and bundled <= {name.removeprefix("lib") for name in licences}
    assert "Copyright (c) 2016-     Facebook, Inc " in notice
    assert any(name.endswith("/share/doc/fxtrace/elkjs-EPL-2.0.md") for name in names)
    if pathlib.Path("/etc/debian_version").exists():
        texts = {pathlib.PurePath(name).name.removesuffix(".txt") for name in names if "/share/doc/fxtrace/licences/" in name}
        assert texts == set(licences) - {"elkjs", "PyTorch"} | {"LGPL-2.1"}
    assert {"fxtrace/py.typed", "fxtrace/torch_functions.inc", "fxtrace/callable_operators.inc"} <= set(names) and "fxtrace/__init__.py" in names
    assert any(name.endswith(".data/scripts/fxtrace") for name in names)
    assert any(name.endswith(".data/data/lib/fxtrace/libfxtrace_trusted.so") for name in names)
    assert any(".data/data/lib/fxtrace/libfxtrace_execute-" in name for name in names) == has_plugin
    assert not [name for name in names if "torch_cpu" in name or name.endswith((".h", ".a", "libtorch_folder.txt"))]
    assert wheel.endswith(".whl") and "-py3-none-linux_" in wheel


def test_what_is_inside(wheel_of_this_program):
    check_content(wheel_of_this_program, has_plugin=True)


@pytest.mark.volume
def test_what_a_build_puts_inside(wheel):
    check_content(wheel, has_plugin=True)


@pytest.mark.volume
def test_built_without_torch(wheel_without_torch, tmp_path):
    check_content(wheel_without_torch, has_plugin=False)
    python = environment(wheel_without_torch, tmp_path / "environment")
    assert succeed(python, "-c", f"import fxtrace; print(fxtrace.trace({SCRIPTED!r}).model.kind)").strip() == "torchscript"
    done = run(python.parent / "fxtrace", "trace", SCRIPTED, *LIBRARY)
    assert done.returncode == 3 and "this fxtrace has no plugin for LibTorch" in done.stderr, done.stderr


@pytest.mark.volume
def test_program_needs_no_library_of_the_system(bare):
    """But those of C and C++, and its own."""
    listed = succeed("/usr/bin/ldd", bare.parent / "fxtrace").splitlines()
    outside = {line.split()[0] for line in listed if "=>" in line and str(bare.parents[1]) not in line}
    assert {name.partition(".so")[0] for name in outside} <= {"libc", "libm", "libstdc++", "libgcc_s"}


@pytest.mark.volume
def test_without_torch(bare):
    program = bare.parent / "fxtrace"
    assert succeed(bare, "-m", "fxtrace", "--version") == succeed(program, "--version")
    for model in (EXPORTED, SCRIPTED):
        traced = succeed(bare, "-c", f"import fxtrace; print(repr(fxtrace.trace({model!r})))")
        assert traced.startswith(f"<Collection of {os.path.basename(model)}")
    for command in ((program,), (bare, "-m", "fxtrace")):
        done = run(*command, "trace", SCRIPTED, *LIBRARY)
        first, *others = done.stderr.splitlines()
        assert done.returncode == 3 and not done.stdout
        assert NO_TORCH + "there is none" in first and all(line.startswith("hint: ") for line in others)
    said = succeed(
        bare, "-c", f"import fxtrace\ntry: fxtrace.trace({SCRIPTED!r}, op_library={LIBRARY[1]!r})\nexcept fxtrace.InputError as error: print(error)"
    )
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
    assert '"kind": "torchscript"' in succeed(python.parent / "fxtrace", "trace", SCRIPTED, *LIBRARY)
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
        done = run(*command, "trace", SCRIPTED, *LIBRARY)
        first, *others = done.stderr.splitlines()
        assert done.returncode == 3 and NO_TORCH in first and "2.12.1" in first, done.stderr
        assert all(line.startswith("hint: ") for line in others)
    assert succeed(python.parent / "fxtrace", "trace", SCRIPTED)
