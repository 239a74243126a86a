"""Builds the libraries that fxtrace uses as static libraries for a target, from Debian's sources."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from common import PINNED, TOOLS, WORK, Failure, Made, run

SOURCES = WORK / "sources"
TARGETS = PINNED["targets"] | PINNED["only compiled"]
OF_LINUX = ["libseccomp", "jemalloc"]


def apt_options() -> list[str]:
    """Return options for apt: a separate configuration with the source packages of this system, which leaves the system unchanged."""
    folder = WORK / "apt"
    parts = folder / "sources.list.d"
    (folder / "lists" / "partial").mkdir(parents=True, exist_ok=True)
    parts.mkdir(exist_ok=True)
    etc = Path("/etc/apt")
    for file in sorted((etc / "sources.list.d").glob("*.sources")):
        (parts / file.name).write_text(re.sub(r"(?m)^Types:.*$", "Types: deb-src", file.read_text()))
    lines = [line for file in [etc / "sources.list", *sorted((etc / "sources.list.d").glob("*.list"))] if file.exists()
             for line in file.read_text().splitlines()]
    (parts / "lists.list").write_text("".join(re.sub(r"^deb\s", "deb-src ", line) + "\n" for line in lines if re.match(r"deb\s", line)))
    options = {"Dir::Etc::sourcelist": "/dev/null", "Dir::Etc::sourceparts": parts, "Dir::State::lists": folder / "lists",
               "APT::Sandbox::User": "root"}
    return [word for name, value in options.items() for word in ("-o", f"{name}={value}")]


def fetch() -> None:
    """Unpacks the sources into SOURCES/NAME, with Debian's patches; apt holds them against Debian's signed lists."""
    missing = [name for name, library in PINNED["libraries"].items() if not source_of(name).exists()]
    if not missing:
        return
    apt = ["apt-get", "-qq", *apt_options()]
    run(*apt, "update")
    for name in missing:
        version = PINNED["libraries"][name]["version"]
        folder = SOURCES / "packages" / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        try:
            run(*apt, "source", "--only-source", f"{name}={version}", cwd=folder)
        except Failure as failure:
            known = run("apt-cache", *apt_options(), "showsrc", name)
            there = ", ".join(re.findall(r"(?m)^Version: (.*)$", known)) or "none"
            raise Failure(f"Debian has no {name} {version} any more, but {there}: let packaging/release/pinned.json name that, and "
                          f"look at what has changed\n{failure}") from None
        unpacked = [entry for entry in folder.iterdir() if entry.is_dir()]
        unpacked[0].rename(source_of(name))


def source_of(name: str) -> Path:
    return SOURCES / f"{name}-{PINNED['libraries'][name]['version'].replace(':', '_')}"


def zig() -> Path:
    """The compiler itself: the script of its Python package takes longer to start than a small file to compile."""
    return next((TOOLS / "lib").glob("python3*/site-packages/ziglang/zig"))


def compilers(target: str) -> Path:
    """A folder with cc, c++, ar and ranlib for the target."""
    folder = WORK / "compilers" / target
    folder.mkdir(parents=True, exist_ok=True)
    triple = TARGETS[target]["zig"]
    for name, words in {"cc": f"cc -target {triple}", "c++": f"c++ -target {triple}", "ar": "ar", "ranlib": "ranlib"}.items():
        script = folder / name
        text = f'#!/bin/sh\nexec "{zig()}" {words} "$@"\n'
        if not script.exists() or script.read_text() != text:
            script.write_text(text)
            script.chmod(0o755)
    return folder


def environment(target: str) -> dict[str, str]:
    tools = compilers(target)
    # zlib takes every macOS for one of the last century, which had no such function.
    of_zlib = " -Dfdopen=fdopen" if is_macos(target) else ""
    return {"CC": str(tools / "cc"), "CXX": str(tools / "c++"), "AR": str(tools / "ar"), "RANLIB": str(tools / "ranlib"),
            "ZIG_GLOBAL_CACHE_DIR": str(WORK / "zig"), "ZIG_LOCAL_CACHE_DIR": str(WORK / "zig"), "CCACHE_DISABLE": "1",
            # Of paths that a debug line or an assertion would name, nothing is left but what is under the source.
            "CFLAGS": flags() + of_zlib, "CXXFLAGS": flags()}


def flags() -> str:
    return f"-O2 -g0 -fPIC -fno-sanitize=all -ffile-prefix-map={WORK}=. -D_LARGEFILE64_SOURCE"


def is_macos(target: str) -> bool:
    return target.endswith("-macos")


def toolchain(target: str) -> Path:
    """The file that tells CMake of the target."""
    tools, prefix = compilers(target), prefix_of(target)
    file = WORK / "compilers" / target / "toolchain.cmake"
    file.write_text(f"""\
set(CMAKE_SYSTEM_NAME {"Darwin" if is_macos(target) else "Linux"})
set(CMAKE_SYSTEM_PROCESSOR {target.split("-")[0]})
set(CMAKE_C_COMPILER {tools}/cc)
set(CMAKE_CXX_COMPILER {tools}/c++)
set(CMAKE_AR {tools}/ar)
set(CMAKE_RANLIB {tools}/ranlib)
set(CMAKE_INSTALL_NAME_TOOL /bin/true)  # CMake wants one for macOS, and nothing is installed there
set(CMAKE_FIND_ROOT_PATH {prefix})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{{PKG_CONFIG_LIBDIR}} {prefix}/lib/pkgconfig)
""")
    return file


def prefix_of(target: str) -> Path:
    return WORK / "libraries" / target


CMAKE_OPTIONS = {
    "fmtlib": ["-DFMT_TEST=OFF", "-DFMT_DOC=OFF"],
    "spdlog": ["-DSPDLOG_FMT_EXTERNAL=ON", "-DSPDLOG_BUILD_EXAMPLE=OFF"],
    "cli11": ["-DCLI11_BUILD_TESTS=OFF", "-DCLI11_BUILD_EXAMPLES=OFF", "-DCLI11_BUILD_DOCS=OFF"],
    "simdjson": ["-DSIMDJSON_DEVELOPER_MODE=OFF"],
}
CONFIGURE_OPTIONS = {
    "zlib": ["--static"],
    "libseccomp": ["--disable-shared", "--enable-static"],
    # Pages of memory of 64 KiB are what some systems of arm64 have; what can take those can take smaller ones.
    "jemalloc": ["--disable-shared", "--disable-cxx", "--disable-libdl", "--disable-initial-exec-tls"],
}


def build(target: str) -> None:
    prefix, env = prefix_of(target), environment(target)
    jobs = str(os.cpu_count() or 1)
    for name in PINNED["libraries"]:
        if is_macos(target) and name in OF_LINUX:
            continue
        made = Made(f"{target}-{name}", PINNED["libraries"][name], PINNED["python"]["ziglang"], TARGETS[target], flags(),
                    CMAKE_OPTIONS.get(name), CONFIGURE_OPTIONS.get(name))
        if made:
            continue
        work = WORK / "objects" / target / name
        shutil.rmtree(work, ignore_errors=True)
        work.parent.mkdir(parents=True, exist_ok=True)
        log = f"{target}-{name}.log"
        if name in CMAKE_OPTIONS:
            run("cmake", "-G", "Ninja", "-S", source_of(name), "-B", work, f"-DCMAKE_TOOLCHAIN_FILE={toolchain(target)}",
                "-DCMAKE_BUILD_TYPE=None", f"-DCMAKE_INSTALL_PREFIX={prefix}", "-DCMAKE_INSTALL_LIBDIR=lib", "-DBUILD_SHARED_LIBS=OFF",
                *CMAKE_OPTIONS[name], env=env, log=log)
            run("cmake", "--build", work, "--parallel", jobs, log=log, env=env)
            run("cmake", "--install", work, log=log)
        else:
            shutil.copytree(source_of(name), work, symlinks=True)  # with its times, or it wants to be configured anew
            if name == "sqlite3":
                build_sqlite(work, prefix, env, log)
            else:
                host = [] if name == "zlib" else [f"--host={target}"]
                pages = ["--with-lg-page=16"] if name == "jemalloc" and target.startswith("aarch64") else []
                run("./configure", f"--prefix={prefix}", *host, *pages, *CONFIGURE_OPTIONS[name], cwd=work, env=env, log=log)
                wanted = {"jemalloc": ["build_lib_static"], "zlib": ["libz.a"]}.get(name, ["-C", "src"])
                run("make", "-j", jobs, *wanted, cwd=work, env=env, log=log)
                install(name, work, prefix, env, log)
        made.mark()


def build_sqlite(work: Path, prefix: Path, env: dict[str, str], log: str) -> None:
    """As one file, with what the catalog uses of it."""
    run("./configure", "--disable-tcl", cwd=work, log=log, env={"CFLAGS": "-O0"})  # for this machine, on which it is put together
    run("make", "sqlite3.c", cwd=work, log=log)
    options = ["-DSQLITE_THREADSAFE=0", "-DSQLITE_OMIT_LOAD_EXTENSION", "-DSQLITE_DQS=0", "-DSQLITE_DEFAULT_MEMSTATUS=0"]
    run(env["CC"], *flags().split(), "-Os", *options, "-c", "sqlite3.c", "-o", "sqlite3.o", cwd=work, env=env, log=log)
    run(env["AR"], "rcs", prefix / "lib" / "libsqlite3.a", "sqlite3.o", cwd=work, env=env, log=log)
    shutil.copy(work / "sqlite3.h", prefix / "include")
    version = (work / "VERSION").read_text().strip()
    write_pkgconfig(prefix, "sqlite3", version, "-lsqlite3")


def install(name: str, work: Path, prefix: Path, env: dict[str, str], log: str) -> None:
    if name == "jemalloc":
        shutil.copy(work / "lib" / "libjemalloc_pic.a", prefix / "lib")
    elif name == "zlib":
        shutil.copy(work / "libz.a", prefix / "lib")
        for header in ("zlib.h", "zconf.h"):
            shutil.copy(work / header, prefix / "include")
    else:
        run("make", "-C", "src", "install", cwd=work, env=env, log=log)
        run("make", "-C", "include", "install", cwd=work, env=env, log=log)
        version = PINNED["libraries"][name]["version"].split("-")[0]
        write_pkgconfig(prefix, name, version, "-lseccomp")


def write_pkgconfig(prefix: Path, name: str, version: str, link: str) -> None:
    folder = prefix / "lib" / "pkgconfig"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.pc").write_text(
        f"Name: {name}\nDescription: {name}\nVersion: {version}\nLibs: -L{prefix}/lib {link}\nCflags: -I{prefix}/include\n")
