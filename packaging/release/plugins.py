"""Builds the plugins that run models with LibTorch, one for each version of torch, from its headers.

They are compiled against the headers of GNU's C++ library, which torch is built with, and linked to stubs that contain nothing but
the names of the libraries: the symbols of a plugin are found in the libraries that the process has loaded when it opens the plugin.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

import libraries
import torch_headers
from common import PINNED, ROOT, WORK, Failure, Made, run, unpack_package

# Libraries of the process that loads a plugin; the last two are the system's, even on the oldest glibc that torch's wheels run on.
LIBRARIES = ["libtorch_cpu.so", "libc10.so", "libstdc++.so.6", "libgcc_s.so.1"]
# The newest symbol versions of GCC 8's library, the oldest that is used with glibc 2.28.
NEWEST = {"GLIBCXX": (3, 4, 25), "CXXABI": (1, 3, 11), "GLIBC": (2, 28)}


def folder_of(target: str) -> Path:
    return WORK / "plugins" / target


@functools.cache  # all plugins of a target use them, side by side
def headers_of_gnu(target: str) -> list[Path]:
    """The folders of Debian's libstdc++, unpacked."""
    package = PINNED["libstdc++"][target.split("-")[0]]
    folder = WORK / "libstdc++" / target
    if not (folder / "usr").exists():
        unpack_package(package, folder)
    include = next(folder.glob("usr/**/include/c++/12"))
    # glibc has this header since 2.32 only; the C++ headers look whether it is there.
    older = folder / "older"
    for name in ("sys", "bits"):
        (older / name).mkdir(parents=True, exist_ok=True)
    (older / "sys/single_threaded.h").write_text("#pragma once\ninline constexpr bool __libc_single_threaded = false;\n")
    # Since 11, copies are counted in the header, by functions that older libraries do not have; they have the whole.
    text = (include / "bits/exception_ptr.h").read_text()
    text, count = re.subn(r"(?s) *_GLIBCXX_EH_PTR_USED\s+inline\s+exception_ptr::(~exception_ptr\(\)|exception_ptr\(const).*?\n    \}\n", "", text)
    if count != 2:
        raise Failure(f"{include}/bits/exception_ptr.h is not as plugins.py knows it")
    (older / "bits/exception_ptr.h").write_text(text)
    machine = next(path for path in (include / target, folder / "usr/include" / target / "c++/12") if path.exists())
    return [older, include, machine]


@functools.cache
def stubs(target: str) -> Path:
    folder = WORK / "stubs" / target
    folder.mkdir(parents=True, exist_ok=True)
    env = libraries.environment(target)
    for name in LIBRARIES:
        if not (folder / name).exists():
            run(env["CC"], "-shared", "-nostdlib", "-x", "c", "/dev/null", f"-Wl,-soname,{name}", "-o", folder / name, env=env)
    return folder


def build(target: str, version: str) -> Path:
    series = ".".join(version.split(".")[:2])
    out = folder_of(target) / f"libfxtrace_execute-{series}.so"
    here = Path(__file__).parent
    own = [path.read_text() for path in (*sorted((ROOT / "lib/execute").iterdir()), here / "older_libstdcxx.cpp", here / "libraries.py", here / "plugins.py")]
    made = Made(f"{target}-plugin-{series}", version, own, PINNED["python"]["ziglang"], PINNED["targets"][target])
    if made and out.exists():
        return out
    torch = torch_headers.fetch(version) / "torch" / "include"
    out.parent.mkdir(parents=True, exist_ok=True)
    source = WORK / "plugins" / f"{target}-{series}.cpp"
    source.write_text("".join(f'#include "execute/{file.name}"\n' for file in sorted((ROOT / "lib/execute").glob("*.cpp"))) +
                      f'#include "{here / "older_libstdcxx.cpp"}"\n')
    env = libraries.environment(target)
    includes = ["-x", "c++", *(f"-I{path}" for path in (*headers_of_gnu(target), torch, torch / "torch/csrc/api/include",
                                                       libraries.prefix_of(target) / "include")),
                f"-I{ROOT / 'lib'}"]
    links = [f"-Wl,--version-script={ROOT / 'lib/execute/exports.map'}", "-Wl,--no-as-needed", *(stubs(target) / name for name in LIBRARIES)]
    run(env["CC"], *libraries.flags().split(), f"-ffile-prefix-map={ROOT}=.", "-std=c++20", "-DNDEBUG", "-fvisibility=hidden", "-fvisibility-inlines-hidden",
        "-fstack-protector-strong", "-w", *includes, "-shared", "-s", source, "-x", "none", *links, "-o", out, env=env, log=f"{target}-plugins.log")
    check(out)
    made.mark()
    return out


@functools.cache
def versions_of_symbols() -> dict[str, set[tuple[str, tuple[int, ...]]]]:
    """Since when this machine's libraries have what: GLIBCXX 3.4.30, for example."""
    versions: dict[str, set[tuple[str, tuple[int, ...]]]] = {}
    for library in ("libstdc++.so.6", "libgcc_s.so.1"):
        found = run("gcc", f"-print-file-name={library}").strip()
        for name, version in re.findall(r" (\w+)@@?(\w+_[\d.]+)", run("readelf", "-W", "--dyn-syms", found).replace(" UND ", " UND_")):
            family, _, number = version.rpartition("_")
            versions.setdefault(name, set()).add((family, tuple(map(int, number.split(".")))))
    return versions


def check(plugin: Path) -> None:
    """That systems with the oldest libraries have all that it takes of them."""
    for name in re.findall(r" UND (\w+)$", run("readelf", "-W", "--dyn-syms", plugin), re.MULTILINE):
        known = versions_of_symbols().get(name)
        if known and all(number > NEWEST.get(family, number) for family, number in known):
            raise Failure(f"{plugin.name} takes {name}, which only newer systems have: {known}")
