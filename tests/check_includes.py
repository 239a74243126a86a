#!/usr/bin/env python3
"""Checks that includes go one way, as docs/architecture.md draws it, that LibTorch stays where it belongs, that every
source file is built, that a library links what it includes, that files named in comments and docs exist, and that no two
files of a unity build have one name.

check_includes.py [ROOT]   prints everything that breaks a rule; exit code 1 when there is something
check_includes.py --self-test
"""

import pathlib
import re
import sys
import tempfile

# What each folder may include; itself is understood.
ALLOWED = {
    "support": set(),
    "symbolic": {"support"},
    "operators": {"support"},
    "shapes": {"support", "symbolic", "operators"},
    "graph": {"support", "symbolic", "operators"},
    "costs": {"support", "symbolic", "operators", "shapes", "graph"},
    "passes": {"support", "symbolic", "operators", "shapes", "graph"},
    "readers": {"support", "symbolic", "graph"},
    "pictures": {"support", "symbolic", "operators", "graph"},
    "summaries": {"support", "symbolic", "shapes", "graph"},
    "compare": {"support", "symbolic", "operators", "shapes", "graph", "summaries"},
    "writers": {"support", "symbolic", "operators", "shapes", "graph", "pictures", "summaries", "compare"},
    "archive": {"support"},
    "script": {"support", "operators", "shapes", "archive"},
    "trace": {"support", "symbolic", "operators", "graph", "costs", "passes"},
    "exported": {"support", "symbolic", "operators", "shapes", "graph", "costs", "trace", "archive"},
    "torchscript": {"support", "symbolic", "operators", "shapes", "graph", "costs", "trace", "archive", "script"},
    "execute": set(),
    "verify": {"support", "symbolic", "operators", "graph", "archive", "trace", "exported", "summaries", "writers", "execute"},
}
ALLOWED["fxtrace"] = {"support", "graph", "passes", "costs", "readers", "writers", "archive", "trace", "exported", "script", "torchscript", "execute"}
ALLOWED["app"] = set(ALLOWED) - {"torchscript", "execute"}
WITH_LIBTORCH = {"execute"}
LIBTORCH = re.compile(r"(torch|ATen|c10|caffe2)/")
# Who opens the shared library includes its interface and nothing else of it; the rest is hidden in there.
PLUGIN_INTERFACE = {"execute/plugin.h"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def problems(root):
    """Yields "file:line: text" for every include under `root` that breaks a rule."""
    for path in sorted([*root.glob("lib/**/*"), *root.glob("app/**/*")]):
        if path.suffix not in {".h", ".cpp"}:
            continue
        relative = path.relative_to(root)
        folder = relative.parts[1] if relative.parts[0] == "lib" else "app"
        if folder not in ALLOWED:
            yield f"{relative}: folder {folder} has no rule in tests/check_includes.py"
            continue
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".h" and "#pragma once" not in text:
            yield f"{relative}: no #pragma once"
        for number, line in enumerate(text.splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            place = f"{relative}:{number}"
            quoted, name = match[1] == '"', match[2]
            if LIBTORCH.match(name):
                if folder not in WITH_LIBTORCH:
                    yield f"{place}: {folder} includes LibTorch's {name}"
                elif quoted:
                    yield f"{place}: {name} is not ours: include it with <>"
                continue
            if not quoted:
                continue
            target = name.split("/")[0]
            if target not in ALLOWED or "/" not in name:
                yield f'{place}: "{name}" is not a path from the root of lib/ or of the project'
            elif not (root / "lib" / name).exists() and not (root / name).exists():
                yield f'{place}: "{name}" does not exist'
            elif target != folder and target not in ALLOWED[folder]:
                yield f"{place}: {folder} may not include {name}"
            elif folder not in WITH_LIBTORCH and target in WITH_LIBTORCH and name not in PLUGIN_INTERFACE:
                yield f"{place}: {folder} may include {', '.join(sorted(PLUGIN_INTERFACE))} only, not {name}"


def not_built(root):
    """Yields every .cpp that the CMakeLists.txt above it does not name."""
    for path in sorted([*root.glob("lib/**/*.cpp"), *root.glob("app/**/*.cpp"), *root.glob("tests/unit/*.cpp")]):
        folder = path.parent
        while not (folder / "CMakeLists.txt").exists() and folder != root:
            folder = folder.parent
        words = re.split(r"[\s()]+", (folder / "CMakeLists.txt").read_text(encoding="utf-8"))
        if path.relative_to(folder).as_posix() not in words:
            yield f"{path.relative_to(root)}: not in {(folder / 'CMakeLists.txt').relative_to(root)}"


def not_linked(root):
    """Yields every library of ours, and of the two below, that a library includes and its CMakeLists.txt does not name."""
    others = {"nlohmann/": "nlohmann_json::nlohmann_json", "CLI/": "CLI11::CLI11", "spdlog/": "spdlog", "simdjson.h": "simdjson::simdjson", "zip.h": "fxtrace::libzip"}
    for lists in sorted([*root.glob("lib/*/CMakeLists.txt"), *root.glob("app/CMakeLists.txt")]):
        linked = lists.read_text(encoding="utf-8")
        needed = {}
        for path in sorted(lists.parent.glob("**/*")):
            if path.suffix not in {".h", ".cpp"}:
                continue
            for line in path.read_text(encoding="utf-8").splitlines():
                match = INCLUDE.match(line)
                if not match:
                    continue
                folder = match[2].split("/")[0]
                if match[1] == '"' and folder in ALLOWED and folder not in {lists.parent.name, "execute"}:
                    needed.setdefault(f"fxtrace::{folder}", path)
                for start, library in others.items():
                    if match[2].startswith(start):
                        needed.setdefault(library, path)
        for library, path in sorted(needed.items()):
            if library not in linked:
                yield f"{lists.relative_to(root)}: {library} is not linked; {path.relative_to(root)} includes it"


FILE_NAME = re.compile(r"(?<![\w./<*-])((?:[a-z_]+/)*[a-z_0-9]+)\.(h|cpp|inc|\{h,cpp\})(?![\w(])")


def not_there(root):
    """Yields files of ours that a comment or a page names and that do not exist."""
    sources = [path for folder in ("app", "lib", "tests", "docs") for path in root.glob(f"{folder}/**/*")]
    sources = sorted(path for path in [*sources, *root.glob("*.md")] if path.suffix in {".h", ".cpp", ".md"})
    known = {path.name for path in sources} | {path.name for path in root.glob("**/*.inc")}
    for path in sources:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            comment = line if path.suffix == ".md" else line.partition("//")[2]
            for match in FILE_NAME.finditer(comment):
                suffixes = ["h", "cpp"] if "{" in match[2] else [match[2]]
                name = match[1].split("/")[-1]
                if not all(f"{name}.{suffix}" in known for suffix in suffixes):
                    yield f"{path.relative_to(root)}:{number}: {match[0]} does not exist"


UNITY_OFF = re.compile(r"set_target_properties\(([^)]*?)\s+PROPERTIES UNITY_BUILD OFF\)")
# A function, class or variable at the beginning of a line, as clang-format has them.
DEFINED = re.compile(r"(?:struct|class|enum class|enum|union) (\w+)|[\w:<>,&*\[\] ]+?[ &*](\w+)(?:\(|\{| = |;)")


def same_names(root):
    """Yields names that two files of a library that is compiled some files at a time have for themselves: which of two
    functions is called would depend on how it is built."""
    lists = root / "lib" / "CMakeLists.txt"
    off = UNITY_OFF.findall(lists.read_text(encoding="utf-8")) if lists.exists() else []
    off = {name.removeprefix("fxtrace_") for match in off for name in match.split()}
    for folder in [path.parent for path in sorted(root.glob("lib/*/CMakeLists.txt"))] + [root / "app"]:
        first = {}
        for path in sorted(folder.glob("**/*.cpp")) if folder.name not in off else []:
            if path.parent.name in {"commands", "documents"}:  # compiled by themselves
                continue
            own = re.findall(r"^namespace \{$(.*?)^\}  // namespace$", path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
            for line in "".join(own).splitlines():
                match = DEFINED.match(line) if line[:1].strip() and not line.startswith(("using ", "}", "/", "#", "return")) else None
                if match and first.setdefault(match[1] or match[2], path) != path:
                    name = match[1] or match[2]
                    yield f"{path.relative_to(root)}: {name} is a name in {first[name].name} too: a unity build has both"


def self_test():
    files = {
        "lib/support/error.h": "#pragma once\n#include <string>\n",
        "lib/graph/graph.h": '#pragma once\n#include "support/error.h"\n// See graph/lost.cpp and graph.h.\n',
        "lib/graph/CMakeLists.txt": "fxtrace_library(graph SOURCES)",
        "lib/graph/bad.h": '#include "trace/trace.h"\n#include <ATen/ATen.h>\n#include "graph.h"\n',
        "lib/trace/trace.h": '#pragma once\n#include "graph/graph.h"\n#include "graph/gone.h"\n',
        "lib/execute/plugin.h": "#pragma once\n",
        "lib/execute/inner.h": "#pragma once\n#include <torch/script.h>\n",
        "app/CMakeLists.txt": "add_executable(fxtrace main.cpp)",
        "app/commands/forgotten.cpp": "",
        "app/main.cpp": '#include "execute/plugin.h"\n',
        "lib/CMakeLists.txt": "set_target_properties(fxtrace_shapes fxtrace_graph\n  PROPERTIES UNITY_BUILD OFF)\n",
        "lib/writers/CMakeLists.txt": "fxtrace_library(writers SOURCES a.cpp b.cpp LIBRARIES fxtrace::support)",
        "lib/writers/a.cpp": "namespace {\nstd::string joined(int a) {\n  return {};\n}\n}  // namespace\n",
        "lib/writers/b.cpp": "namespace {\nconst char* joined(long a);\n}  // namespace\nint public_name(int a);\n",
        "lib/fxtrace/CMakeLists.txt": "fxtrace_library(fxtrace SOURCES loader.cpp)",
        "lib/fxtrace/loader.cpp": '#include "execute/plugin.h"\n#include "execute/inner.h"\n',
    }
    expected = [
        "app/main.cpp:1: app may not include execute/plugin.h",
        "lib/fxtrace/loader.cpp:2: fxtrace may include execute/plugin.h only, not execute/inner.h",
        "lib/graph/bad.h: no #pragma once",
        "lib/graph/bad.h:1: graph may not include trace/trace.h",
        "lib/graph/bad.h:2: graph includes LibTorch's ATen/ATen.h",
        'lib/graph/bad.h:3: "graph.h" is not a path from the root of lib/ or of the project',
        'lib/trace/trace.h:3: "graph/gone.h" does not exist',
        "app/commands/forgotten.cpp: not in app/CMakeLists.txt",
        "lib/graph/CMakeLists.txt: fxtrace::support is not linked; lib/graph/graph.h includes it",
        "lib/graph/CMakeLists.txt: fxtrace::trace is not linked; lib/graph/bad.h includes it",
        "lib/graph/graph.h:3: graph/lost.cpp does not exist",
        "lib/writers/b.cpp: joined is a name in a.cpp too: a unity build has both",
    ]
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        found = [*problems(root), *not_built(root), *not_linked(root), *not_there(root), *same_names(root)]
    if found != expected:
        print("expected:", *expected, "found:", *found, sep="\n")
        return 1
    return 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[1]
    found = [*problems(root), *not_built(root), *not_linked(root), *not_there(root), *same_names(root)]
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
