"""Builds the program fxtrace for a target."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import libraries
import plugins
from common import ROOT, WORK, run

# Libraries that are compiled for size: their code runs once for a command, or is not used to make graphs.
SMALL = ["app", "catalog", "compare", "convert", "costs", "opinfo", "pictures", "rules", "security", "summaries", "verify"]


def is_static(target: str) -> bool:
    return target.endswith("-musl")


def folder_of(target: str) -> Path:
    return WORK / "objects" / target / "fxtrace"


def is_native(target: str) -> bool:
    return target.startswith(platform.machine())


def build(target: str, what: str = "all") -> None:
    """Manual pages and completions are those of the build for this processor, where the target is another."""
    work, log = folder_of(target), f"{target}-fxtrace.log"
    flags = f"{libraries.flags()} -ffile-prefix-map={ROOT}=. -ffunction-sections -fdata-sections"
    options = {
        "CMAKE_TOOLCHAIN_FILE": libraries.toolchain(target), "CMAKE_BUILD_TYPE": "Release", "CMAKE_CXX_FLAGS": flags,
        "CMAKE_CXX_FLAGS_RELEASE": "-O2 -DNDEBUG", "CMAKE_EXE_LINKER_FLAGS": "-s -Wl,-dead_strip" if libraries.is_macos(target) else "-s -Wl,--gc-sections",
        "CMAKE_INSTALL_PREFIX": "/usr", "CMAKE_INSTALL_LIBDIR": "lib", "FXTRACE_CCACHE": "OFF",
        "FXTRACE_PCH": "OFF", "FXTRACE_SMALL": ";".join(SMALL), "FXTRACE_TESTS": "OFF", "FXTRACE_EXECUTE": "OFF", "FXTRACE_STATIC": "ON" if is_static(target) else "OFF",
        "FXTRACE_DOCUMENTS": "" if is_native(target) else folder_of(f"{platform.machine()}-linux-gnu") / "share",
        "FXTRACE_COMMIT": run("git", "rev-parse", "HEAD", cwd=ROOT).strip(), "FXTRACE_LICENCES": WORK / "licences",
        "FXTRACE_REPOSITORY": os.environ.get("FXTRACE_REPOSITORY", ""),
        "FXTRACE_PLUGINS": "" if is_static(target) else plugins.folder_of(target),
        "FXTRACE_DEBIAN_ARCHITECTURE": libraries.TARGETS[target].get("debian", ""),
        "FXTRACE_GLIBC": "" if is_static(target) else libraries.TARGETS[target]["zig"].partition("gnu.")[2],
    }
    env = libraries.environment(target)
    del env["CFLAGS"], env["CXXFLAGS"]
    run("cmake", "-G", "Ninja", "-S", ROOT, "-B", work, *(f"-D{name}={value}" for name, value in options.items()), env=env, log=log)
    run("cmake", "--build", work, "--parallel", str(os.cpu_count() or 1), "--target", what, env=env, log=log)
