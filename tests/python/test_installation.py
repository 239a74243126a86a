"""Tests the result of `cmake --install` after a move to another folder: the program, and the package for C++ programs."""

import fnmatch
import json
import os
import pathlib
import re
import shutil
import subprocess

import harness
import pytest
import torch

EXAMPLE = pathlib.Path(harness.ROOT) / "examples" / "cpp"
SCRIPTED = os.path.join(harness.SAMPLES, "nested_scripted.pt")
EXPORTED = os.path.join(harness.SAMPLES, "attention_exported.pt2")
ENVIRONMENT = {
    name: value
    for name, value in os.environ.items()
    if name not in ("FXTRACE_LIBTORCH", "LD_LIBRARY_PATH", "CMAKE_PREFIX_PATH", "VIRTUAL_ENV", "CONDA_PREFIX")
}
ENVIRONMENT.update({"HOME": "/nowhere", "PATH": "/usr/bin:/bin"})  # no torch is found
WITH_TORCH = {**ENVIRONMENT, "FXTRACE_LIBTORCH": os.path.dirname(torch.__file__)}
PLUGIN = "libfxtrace_execute-*.so"
LIBRARY = "libm.so.6"  # for --op-library; it registers nothing


def run(*command, **options) -> subprocess.CompletedProcess:
    return subprocess.run(command, capture_output=True, text=True, timeout=600, **{"env": ENVIRONMENT, **options})


def succeed(*command, **options) -> str:
    done = run(*command, **options)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def install(program, folder: pathlib.Path, *components: str) -> pathlib.Path:
    """Installs into one folder and moves it to another, whose name is not the simplest."""
    build = pathlib.Path(program.path).parents[1]
    if not (build / "cmake_install.cmake").exists():
        pytest.skip("the program does not stand in a build folder")
    for component in components:
        succeed("cmake", "--install", build, "--prefix", folder / "first", "--component", component)
    (folder / "moved to").mkdir()
    return (folder / "first").rename(folder / "moved to" / "prefix")


@pytest.fixture(scope="module")
def package(program, tmp_path_factory) -> pathlib.Path:
    return install(program, tmp_path_factory.mktemp("package"), "Runtime", "Development")


@pytest.fixture(scope="module")
def examples(package, tmp_path_factory) -> pathlib.Path:
    """The folder of the examples, configured and built as their first line says, elsewhere."""
    folder = tmp_path_factory.mktemp("example")
    shutil.copytree(EXAMPLE, folder / "cpp")
    build = folder / "build"
    succeed("cmake", "-S", folder / "cpp", "-B", build, f"-DCMAKE_PREFIX_PATH={package}", "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror")
    succeed("cmake", "--build", build)
    return build


def test_the_runtime_stands_alone(program, tmp_path):
    prefix = install(program, tmp_path, "Runtime")
    found = sorted(str(path.relative_to(prefix)) for path in prefix.rglob("*") if path.is_file())
    assert "bin/fxtrace" in found
    assert any(fnmatch.fnmatch(name, f"lib*/fxtrace/{PLUGIN}") for name in found), found
    assert not [name for name in found if not name.startswith(("bin/fxtrace", "lib", "share/"))], found
    # Nothing of it is of this machine: neither where it was built nor its LibTorch.
    for name in found:
        if name.startswith("lib"):
            assert "RUNPATH" not in succeed("readelf", "-d", prefix / name)
    link = tmp_path / "fxtrace"
    link.symlink_to(prefix / "bin" / "fxtrace")
    for model, options in ((EXPORTED, ()), (SCRIPTED, ("--max-depth", "1"))):
        written = succeed(link, "trace", model, *options)
        assert json.loads(written) == program.trace(model, *options)
    assert "--op-library needs torch" in run(link, "trace", SCRIPTED, "--op-library", LIBRARY).stderr
    written = succeed(link, "trace", SCRIPTED, "--op-library", LIBRARY, env=WITH_TORCH)
    assert json.loads(written) == program.trace(SCRIPTED, "--op-library", LIBRARY)


def test_no_path_of_the_build_is_in_the_package(package, program):
    build = str(pathlib.Path(program.path).parents[1])
    texts = [path for path in package.rglob("*") if path.suffix in (".cmake", ".h", ".txt")]
    assert len(texts) > 10
    for path in texts:
        text = path.read_text(encoding="utf-8")
        assert build not in text and harness.ROOT not in text and "first" not in str(path), path


def test_layers(examples, program):
    header, *lines = succeed(examples / "list_layers", SCRIPTED, "x=float32[2,4]").splitlines()
    assert header == "layer,type,input,output,macs,used_by"
    root = program.trace(SCRIPTED, "--input", "x=float32[2,4]")["graphs"][0]
    layers = [node for node in root["nodes"] if node["op"] == "call_module" and node["scope"]["module_type"].endswith(".Linear")]
    assert [line.split(",")[0] for line in lines] == [node["target"] for node in layers] != []
    for line, node in zip(lines, layers):
        assert line.split(",")[3:5] == ["x".join(map(str, node["meta"]["shape"])), str(node["meta"]["cost"]["macs"])]


def test_conversion(examples, program, tmp_path):
    file = tmp_path / "model.pt2"
    succeed(examples / "convert_model", SCRIPTED, file, "x=float32[2,4]")
    succeed(program.path, "check", file, "--program")
    refused = run(examples / "convert_model", SCRIPTED, tmp_path / "none.pt2")
    assert refused.returncode == 1 and refused.stderr and not (tmp_path / "none.pt2").exists()


def test_gate(examples):
    assert succeed(examples / "check_model", EXPORTED) == ""
    broken = run(examples / "check_model", EXPORTED, "1")
    assert broken.returncode == 1 and broken.stdout.startswith("error: max-params: ")


def test_errors_of_the_examples(examples, tmp_path):
    def error(*arguments: str) -> str:
        done = run(examples / "list_layers", *arguments)
        assert (done.returncode, done.stdout) == (1, ""), done.stderr
        return done.stderr

    assert error("missing.pt") == "missing.pt: no such file\n"
    text = tmp_path / "text.pt"
    text.write_text("import torch\n")
    assert error(str(text)).startswith(f"{text}: this is ")
    assert error(EXPORTED, "x=float32[").startswith("--input x: ")


@pytest.fixture(scope="module")
def program_with_library(package, tmp_path_factory) -> pathlib.Path:
    """A program in C++ that gives a library of operators."""
    folder = tmp_path_factory.mktemp("with_library")
    shutil.copytree(EXAMPLE, folder, dirs_exist_ok=True)
    text = (folder / "list_layers.cpp").read_text(encoding="utf-8")
    before = "  fxtrace::TraceOptions options;\n"
    assert text.count(before) == 1
    (folder / "list_layers.cpp").write_text(text.replace(before, before + f'  options.op_libraries = {{"{LIBRARY}"}};\n'))
    succeed("cmake", "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={package}")
    succeed("cmake", "--build", folder / "build", "--target", "list_layers")
    return folder / "build" / "list_layers"


def test_libraries_of_operators_in_cpp(program_with_library, package, tmp_path):
    """Where there is no package, the plugin is found as the program finds it."""
    assert succeed(program_with_library, SCRIPTED, env=WITH_TORCH).startswith("layer,")
    assert "--op-library needs torch" in run(program_with_library, SCRIPTED).stderr
    (tmp_path / "bin").mkdir()
    shutil.copy(program_with_library, tmp_path / "bin")
    away = package.with_name("away")
    package.rename(away)
    try:
        copy = tmp_path / "bin" / "list_layers"
        assert "no plugin for LibTorch, which --op-library needs" in run(copy, SCRIPTED, env=WITH_TORCH).stderr
        (tmp_path / "lib").mkdir()
        shutil.copytree(next(away.glob(f"lib*/**/fxtrace/{PLUGIN}")).parent, tmp_path / "lib" / "fxtrace")
        assert succeed(copy, SCRIPTED, env=WITH_TORCH).startswith("layer,")
    finally:
        away.rename(package)


@pytest.mark.volume
def test_every_public_header(package, tmp_path):
    """Each header compiles by itself, and no other is installed."""
    include = package / "include"
    headers = sorted(str(path.relative_to(include)) for path in include.rglob("*") if path.is_file())
    assert headers == sorted(f"fxtrace/{path.name}" for path in (pathlib.Path(harness.ROOT) / "include" / "fxtrace").iterdir())
    sources = []
    for header in headers:
        sources.append(tmp_path / pathlib.Path(header).with_suffix(".cpp").name)
        sources[-1].write_text(f"#include <{header}>\n")
    succeed("c++", "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", f"-I{include}", *sources)


def test_a_missing_dependency_is_said(package, tmp_path):
    done = run(
        *("cmake", "-S", EXAMPLE, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={package}", "-DCMAKE_DISABLE_FIND_PACKAGE_ZLIB=ON")
    )
    assert done.returncode == 1
    assert "find_package for module ZLIB" in " ".join(done.stderr.split())
