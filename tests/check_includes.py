#!/usr/bin/env python3
"""Checks that includes go one way, as docs/architecture.md draws it, that LibTorch stays where it belongs, and that
every source file is built.

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
    "passes": {"support", "symbolic", "operators", "shapes", "graph"},
    "readers": {"support", "symbolic", "graph"},
    "pictures": {"support", "symbolic", "graph"},
    "writers": {"support", "symbolic", "graph", "pictures"},
    "archive": {"support"},
    "trace": {"support", "symbolic", "operators", "graph"},
    "exported": {"support", "symbolic", "operators", "shapes", "graph", "trace", "archive"},
    "torchscript": {"support", "symbolic", "operators", "shapes", "graph", "trace", "archive"},
    "execute": {"support", "symbolic", "operators", "shapes", "graph", "trace", "archive", "torchscript"},
}
ALLOWED["app"] = set(ALLOWED)
WITH_LIBTORCH = {"torchscript", "execute"}
LIBTORCH = re.compile(r"(torch|ATen|c10|caffe2)/")
# The program includes the interface of the shared library and nothing else of it; the rest is hidden in there.
PLUGIN_INTERFACE = {"torchscript/front_end.h"}
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
            elif folder == "app" and target in WITH_LIBTORCH and name not in PLUGIN_INTERFACE:
                yield f"{place}: app may include {', '.join(sorted(PLUGIN_INTERFACE))} only, not {name}"


def not_built(root):
    """Yields every .cpp that the CMakeLists.txt above it does not name."""
    for path in sorted([*root.glob("lib/**/*.cpp"), *root.glob("app/**/*.cpp"), *root.glob("tests/unit/*.cpp")]):
        folder = path.parent
        while not (folder / "CMakeLists.txt").exists() and folder != root:
            folder = folder.parent
        words = re.split(r"[\s()]+", (folder / "CMakeLists.txt").read_text(encoding="utf-8"))
        if path.relative_to(folder).as_posix() not in words:
            yield f"{path.relative_to(root)}: not in {(folder / 'CMakeLists.txt').relative_to(root)}"


def self_test():
    files = {
        "lib/support/error.h": "#pragma once\n#include <string>\n",
        "lib/graph/graph.h": '#pragma once\n#include "support/error.h"\n',
        "lib/graph/bad.h": '#include "trace/trace.h"\n#include <ATen/ATen.h>\n#include "graph.h"\n',
        "lib/trace/trace.h": '#pragma once\n#include "graph/graph.h"\n#include "graph/gone.h"\n',
        "lib/torchscript/front_end.h": "#pragma once\n",
        "lib/torchscript/inner.h": "#pragma once\n#include <torch/script.h>\n",
        "app/CMakeLists.txt": "add_executable(fxtrace main.cpp)",
        "app/commands/forgotten.cpp": "",
        "app/main.cpp": '#include "torchscript/front_end.h"\n#include "torchscript/inner.h"\n',
    }
    expected = [
        "app/main.cpp:2: app may include torchscript/front_end.h only, not torchscript/inner.h",
        "lib/graph/bad.h: no #pragma once",
        "lib/graph/bad.h:1: graph may not include trace/trace.h",
        "lib/graph/bad.h:2: graph includes LibTorch's ATen/ATen.h",
        'lib/graph/bad.h:3: "graph.h" is not a path from the root of lib/ or of the project',
        'lib/trace/trace.h:3: "graph/gone.h" does not exist',
        "app/commands/forgotten.cpp: not in app/CMakeLists.txt",
    ]
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        found = [*problems(root), *not_built(root)]
    if found != expected:
        print("expected:", *expected, "found:", *found, sep="\n")
        return 1
    return 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[1]
    found = [*problems(root), *not_built(root)]
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
