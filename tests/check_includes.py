#!/usr/bin/env python3
"""Checks that a library links what it includes and nothing else, that links go down the rows that docs/contributing/architecture.md draws,
that LibTorch stays where it belongs, that public headers include nothing else of ours, that files named in comments and docs exist, that
classes, functions and code on the pages for contributors are those of the sources, that no two files of lib/ and app/ have
one name, and that a pass has the name of its file.

check_includes.py [ROOT]   prints everything that breaks a rule; exit code 1 when there is something
check_includes.py --self-test
"""

import pathlib
import re
import sys
import tempfile

WITH_LIBTORCH = {"execute"}
LIBTORCH = re.compile(r"(torch|ATen|c10|caffe2)/")
# Nobody links the plugin.  Who opens it includes its interface and nothing else of it; the rest is hidden in there.
PLUGIN, PLUGIN_INTERFACE, PLUGIN_USERS = "execute", "execute/plugin.h", {"pipelines", "verify"}
# Of other people's libraries: what their headers begin with, and what CMake calls them.
OTHERS = {
    "nlohmann/": "nlohmann_json::nlohmann_json",
    "CLI/": "CLI11::CLI11",
    "spdlog/": "spdlog::spdlog_header_only",
    "simdjson.h": "simdjson::simdjson",
    "sqlite3.h": "fxtrace::sqlite3",
    "zlib.h": "ZLIB::ZLIB",
    "seccomp.h": "fxtrace::libseccomp",
}
# Libraries whose folders are layers, from the bottom: each includes files of its own and of those before it.  "" is the library's own
# folder, which stands above the others where it is not named; folders with "|" between them stand beside each other.
LAYERS = {
    "compare": ["pairing"],
    "convert": ["lower", "write"],
    "exported": ["format", "program", "modules", "verifier"],
    "graph": ["", "analysis"],
    "operators": ["", "names"],
    "opinfo": ["|rules|values", "operators"],
    "torchscript": ["language", "values", "operators", "ir", "compiler", "objects"],
    "interpreter": ["program|code", "state", "record", "propagate", "evaluate", "graph"],
    "trace": ["options|tracer", "modules", "search"],
    "verify": ["calls", "inputs", "models"],
    "writers": ["formats", "check|graphs|pictures|reports"],
}
MOST_LINES = 15  # of a folder's README
MOST_FILES = 25  # of C++ in a folder
# Tables that the package reads too, those that cmake/EmbeddedTexts.cmake makes of texts, and the public headers.
TABLES = {"python", "schemas", "fxtrace"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def links(root):
    """What the CMakeLists.txt of each library links, by the library's folder."""
    lists = [*root.glob("lib/*/**/CMakeLists.txt"), *root.glob("app/CMakeLists.txt")]
    texts = {path.parent: re.sub("#.*", "", path.read_text(encoding="utf-8")) for path in sorted(lists)}
    return {library: set(re.findall(r"\w+::\w+", text)) - {f"fxtrace::{library.name}"} for library, text in texts.items()}


def library_of(folder, libraries):
    """The library whose folder this is, or is in; None for a folder of no library."""
    return next((place for place in [folder, *folder.parents] if place in libraries), None)


def problems(root):
    """Yields "file:line: text" for every include under `root` that breaks a rule, and links that nothing asks for."""
    linked = links(root)
    names = {library.name for library in linked}
    for library, targets in linked.items():
        unused = targets & {*OTHERS.values(), *(f"fxtrace::{name}" for name in names)}
        for path in sorted(library.glob("**/*")):
            if path.suffix not in {".h", ".cpp"} or library_of(path.parent, linked) != library:
                continue
            text = path.read_text(encoding="utf-8")
            if path.suffix == ".h" and "#pragma once" not in text:
                yield f"{path.relative_to(root)}: no #pragma once"
            for number, line in enumerate(text.splitlines(), 1):
                match = INCLUDE.match(line)
                if not match:
                    continue
                place = f"{path.relative_to(root)}:{number}"
                quoted, name = match[1] == '"', match[2]
                target_library = library_of((root / "lib" / name).parent, linked) if quoted else None
                target = target_library.name if target_library else name.split("/")[0]
                needed = f"fxtrace::{target}" if quoted and target not in TABLES else next((OTHERS[start] for start in OTHERS if name.startswith(start)), None)
                unused.discard(needed)
                if LIBTORCH.match(name):
                    if library.name not in WITH_LIBTORCH:
                        yield f"{place}: {library.name} includes LibTorch's {name}"
                    elif quoted:
                        yield f"{place}: {name} is not ours: include it with <>"
                elif quoted and (target not in {*names, *TABLES} or "/" not in name):
                    yield f'{place}: "{name}" is not a path from the root of lib/ or of the project'
                elif quoted and not any(path.exists() for path in (root / "lib" / name, root / "include" / name, root / name, (root / name).with_suffix(".txt"))):
                    yield f'{place}: "{name}" does not exist'
                elif target == PLUGIN != library.name:
                    if library.name not in PLUGIN_USERS or name != PLUGIN_INTERFACE:
                        yield f"{place}: {library.name} may not include {name}"
                elif needed and target != library.name and needed not in targets:
                    yield f"{place}: {library.name} does not link {needed}"
        for target in sorted(unused):
            yield f"{library.relative_to(root)}/CMakeLists.txt: {target} is linked, and nothing of it is included"


def upward(root):
    """Yields includes of a layer that stands above."""
    libraries = links(root)
    for name, layers in LAYERS.items():
        library = root / "lib" / name
        height = {folder: place for place, layer in enumerate(layers) for folder in layer.split("|")}

        def height_of(folder):
            return height.get(folder.relative_to(library).as_posix().removeprefix("."), len(layers))

        for path in sorted([*library.glob("**/*.h"), *library.glob("**/*.cpp")]):
            if library_of(path.parent, libraries) != library:
                continue
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                match = re.match(r'#include "([\w/]+)/\w+\.\w+"', line)
                included = root / "lib" / match[1] if match else None
                if match and library_of(included, libraries) == library and height_of(included) > height_of(path.parent):
                    yield f"{path.relative_to(root)}:{number}: {path.parent.name} stands below what it includes"


def not_as_drawn(root):
    """Yields libraries that docs/contributing/architecture.md does not draw, and links that do not go to a lower row of its drawing."""
    page = (root / "docs" / "contributing" / "architecture.md").read_text(encoding="utf-8")
    rows = re.split(r"\n ─+.*\n", re.search(r"^Each library .*?^```\n(.*?)^```", page, re.DOTALL | re.MULTILINE)[1])
    row_of = {name: row for row, text in enumerate(rows) for name in re.findall(r"(?:^|[│┊]) (\w+)", text, re.MULTILINE)}
    linked = links(root)
    yield from (f"docs/contributing/architecture.md: {library.name} is not drawn" for library in linked if library.name not in row_of)
    for library, targets in linked.items():
        for target in sorted(name.removeprefix("fxtrace::") for name in targets):
            if row_of.get(target, len(rows)) <= row_of.get(library.name, -1):
                yield f"docs/contributing/architecture.md: {library.name} links {target}, which is not drawn below it"


def not_public(root):
    """Yields includes of public headers that are not installed with them."""
    for path in sorted(root.glob("include/**/*.h")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            match = INCLUDE.match(line)
            if match and (match[1] == '"' or "/" in match[2]) and not (root / "include" / match[2]).exists():
                yield f"{path.relative_to(root)}:{number}: users do not have {match[2]}"


def folders(root):
    """The folders of lib/ and app/ that have sources of C++."""
    return sorted({path.parent for part in ("lib", "app") for path in root.glob(f"{part}/**/*") if path.suffix in {".h", ".cpp"}})


def without_readme(root):
    """Yields folders that do not say in a few lines what they are and where to begin."""
    for folder in folders(root):
        page = folder / "README.md"
        if not page.exists():
            yield f"{page.relative_to(root)}: does not exist"
        elif page.read_text(encoding="utf-8").count("\n") > MOST_LINES:
            yield f"{page.relative_to(root)}: has more than {MOST_LINES} lines"


def too_many_files(root):
    """Yields folders in which nobody finds a file at a glance."""
    for folder in folders(root):
        count = sum(path.suffix in {".h", ".cpp", ".inc"} for path in folder.glob("*"))
        if count > MOST_FILES:
            yield f"{folder.relative_to(root)}: has {count} files, more than {MOST_FILES}"


FILE_NAME = re.compile(r"(?<![\w./<*-])(?!torch/)((?:[a-z_]+/)*[a-z_0-9]+)\.(h|cpp|inc|\{h,cpp\})(?![\w(])")


def not_there(root):
    """Yields files of ours that a comment or a page names and that do not exist."""
    sources = [path for folder in ("app", "lib", "include", "tests", "docs") for path in root.glob(f"{folder}/**/*")]
    sources = sorted(path for path in [*sources, *root.glob("*.md")] if path.suffix in {".h", ".cpp", ".md"})
    paths = [path.relative_to(root).parts for path in [*sources, *root.glob("**/*.inc")]]
    known = {"/".join(parts[first:]) for parts in paths for first in range(len(parts))}
    for path in sources:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            comment = line if path.suffix == ".md" else line.partition("//")[2]
            for match in FILE_NAME.finditer(comment):
                suffixes = ["h", "cpp"] if "{" in match[2] else [match[2]]
                if not all(f"{match[1]}.{suffix}" in known for suffix in suffixes):
                    yield f"{path.relative_to(root)}:{number}: {match[0]} does not exist"


DECLARED = re.compile(r"\b(?:class|struct|enum class|enum|using|namespace) ([\w:]+)")
NAMED = re.compile(r"`((?:\w+::)*)(\w+)(\([^`()]*\))?`")  # `Class`, `name()`, `Class::name(x)`
# Words of torch's IR, CMake, JavaScript and Python, and shapes of names.
NOT_OURS = {"prim", "aten", "UpperCamel", "Runtime", "Development", "BuiltWith", "NaN", "None", "True", "False", "Release", "Debug"}


def blocks_and_prose(page):
    """The fenced blocks of a page, as (line of the first, language, lines), and the page without them, of as many lines."""
    blocks, prose, block = [], [], None
    for number, line in enumerate(page.splitlines(), 1):
        fence = re.match(r"\s*```\s*(\S*)", line)
        if fence and block is None:
            block = (number + 1, fence[1], [])
            blocks.append(block)
        elif fence:
            block = None
        elif block:
            block[2].append(line)
        prose.append("" if fence or block else line)
    return blocks, "\n".join(prose)


def not_in_sources(root):
    """Yields classes, functions and lines of C++ and Python on the pages for contributors that the sources do not have.  Of a
    function it does not see whose it is, and of lines not whether they follow each other."""
    sources = [path for folder in ("app", "lib", "include", "tests") for path in root.glob(f"{folder}/**/*") if path.suffix in {".h", ".cpp", ".py"}]
    texts = [path.read_text(encoding="utf-8") for path in sources if path.name != pathlib.Path(__file__).name]
    lines = {line.strip() for text in texts for line in text.splitlines()}
    declared = {part for text in texts for name in DECLARED.findall(text) for part in name.split("::")}
    called = {name for text in texts for name in re.findall(r"(\w+)(?:<[^<>()]*>)?\(", text)}
    for path in sorted([*root.glob("docs/contributing/*.md"), root / "CONTRIBUTING.md", *root.glob("lib/**/README.md"), *root.glob("app/**/README.md")]):
        blocks, prose = blocks_and_prose(path.read_text(encoding="utf-8") if path.exists() else "")
        for first, language, block in blocks:
            for number, line in enumerate(block, first):
                if language in {"cpp", "c++", "python"} and line.strip() and line.strip() not in lines:
                    yield f"{path.relative_to(root)}:{number}: not a line of the sources"
        for match in NAMED.finditer(prose):
            parts, name, is_call = match[1].split("::")[:-1], match[2], match[3]
            if NOT_OURS & {*parts, name} or "NAME" in name:
                continue
            is_type = re.fullmatch(r"[A-Z]\w*[a-z]\w*", name)
            unknown = [part for part in parts if part not in declared]
            unknown += [name] if (name not in called if is_call else is_type and name not in declared) else []
            number = prose.count("\n", 0, match.start()) + 1
            yield from (f"{path.relative_to(root)}:{number}: {part} is not a name in the sources" for part in unknown)


def one_name_twice(root):
    """Yields files of one name that are different things: who reads the name should know which is meant."""
    first = {}
    for path in sorted([*root.glob("lib/**/*"), *root.glob("app/**/*")]):
        unit = path.relative_to(root).with_suffix("")
        if path.suffix in {".h", ".cpp"} and first.setdefault(path.stem, unit) != unit:
            yield f"{path.relative_to(root)}: {first[path.stem]} has that name too"


PASS_ROW = re.compile(r'\{"([\w-]+)",[^{}]*\b(\w+)\}')


def misnamed_passes(root):
    """Yields passes whose function or file is not called as users call them."""
    table = root / "lib" / "passes" / "pass.cpp"
    for name, function in PASS_ROW.findall(table.read_text(encoding="utf-8")) if table.exists() else []:
        expected = name.replace("-", "_")
        if function != "nullptr" and (function != expected or not table.with_name(f"{expected}.cpp").exists()):
            yield f"lib/passes/pass.cpp: {name} is to be {expected}() in lib/passes/{expected}.cpp"


def all_problems(root):
    return [found for check in (problems, upward, not_as_drawn, not_public, without_readme, too_many_files, not_there, not_in_sources, one_name_twice, misnamed_passes) for found in check(root)]


def self_test():
    libraries = ("support", "graph", "passes", "trace", "execute")
    files = {f"lib/{library}/README.md": "# See gone.h\n" if library == "trace" else "#\n" for library in libraries} | {
        "lib/pipelines/README.md": "#\n" * (MOST_LINES + 1),
        "docs/contributing/architecture.md": "Each library stands on those below it:\n\n```\n app   all │ pipelines\n ────\n graph  nodes │ execute\n"
        "               graph_like\n ────\n support\n ────\n trace\n```\n",
        "lib/support/CMakeLists.txt": "fxtrace_library(support SOURCES)",
        "lib/support/error.h": "#pragma once\n#include <string>\nclass Error;\nvoid raise(Error);\n",
        "CONTRIBUTING.md": "`Error`, `raise()`, `Error::raise()`, `Fault`, `throw_it()`,\n`Fault::raise()`\n```cpp\nclass Error;\nclass Fault;\n```\n",
        "lib/graph/graph.h": '#pragma once\n#include "support/error.h"\n#include "trace/trace.h"\n// See graph/lost.cpp and graph.h.\n',
        "lib/graph/CMakeLists.txt": "fxtrace_library(graph SOURCES LIBRARIES fxtrace::trace spdlog::spdlog_header_only)  # fxtrace::support",
        "lib/graph/bad.h": '#include <CLI/CLI.hpp>\n#include <ATen/ATen.h>\n#include "graph.h"\n',
        "lib/trace/graph.cpp": "",
        "lib/passes/CMakeLists.txt": "fxtrace_library(passes SOURCES pass.cpp drop.cpp)",
        "lib/passes/drop.cpp": "",
        "lib/passes/pass.cpp": '{"drop", "drops it", drop}, {"fold-it",\n "folds", fold_it}, {"all", "all", nullptr}',
        "lib/trace/CMakeLists.txt": "fxtrace_library(trace SOURCES graph.cpp LIBRARIES fxtrace::support)",
        "lib/trace/trace.h": '#pragma once\n#include "trace/gone.h"\n#include "python/fxtrace/names.inc"\n#include "python/gone.inc"\n',
        "python/fxtrace/names.inc": "",
        "lib/torchscript/CMakeLists.txt": "fxtrace_library(torchscript SOURCES)",
        "lib/interpreter/CMakeLists.txt": "fxtrace_library(interpreter SOURCES LIBRARIES fxtrace::torchscript)",
        "lib/interpreter/state/frame.h": '#pragma once\n#include "interpreter/record/node.h"\n',
        "lib/interpreter/record/node.h": '#pragma once\n#include "interpreter/state/frame.h"\n#include "torchscript/values/value.h"\n',
        "lib/torchscript/values/value.h": '#pragma once\n#include "torchscript/compiler/emitter.h"\n#include "interpreter/record/node.h"\n',
        "lib/torchscript/compiler/emitter.h": "#pragma once\n",
        "lib/interpreter/README.md": "#\n",
        "lib/interpreter/record/README.md": "#\n",
        "lib/interpreter/state/README.md": "#\n",
        "lib/torchscript/compiler/README.md": "#\n",
        "lib/torchscript/values/README.md": "#\n",
        "app/README.md": "#\n",
        "app/commands/README.md": "#\n",
        **{f"lib/graph/wide/file{number}.h": "#pragma once\n" for number in range(MOST_FILES + 1)},
        "lib/graph/wide/README.md": "#\n",
        "lib/execute/CMakeLists.txt": "add_library(fxtrace_execute MODULE)",
        "lib/execute/plugin.h": "#pragma once\n",
        "lib/execute/inner.h": "#pragma once\n#include <torch/script.h>\n",
        "app/CMakeLists.txt": "add_executable(fxtrace main.cpp)",
        "app/commands/forgotten.cpp": "",
        "include/fxtrace/node.h": '#include "fxtrace/node.h"\n#include "graph/graph.h"\n',
        "app/main.cpp": '#include "execute/plugin.h"\n',
        "lib/pipelines/CMakeLists.txt": "fxtrace_library(pipelines)",
        "lib/pipelines/loader.cpp": '#include "execute/plugin.h"\n#include "execute/inner.h"\n',
    }
    expected = [
        "app/main.cpp:1: app may not include execute/plugin.h",
        "lib/graph/bad.h: no #pragma once",
        "lib/graph/bad.h:1: graph does not link CLI11::CLI11",
        "lib/graph/bad.h:2: graph includes LibTorch's ATen/ATen.h",
        'lib/graph/bad.h:3: "graph.h" is not a path from the root of lib/ or of the project',
        "lib/graph/graph.h:2: graph does not link fxtrace::support",
        "lib/graph/CMakeLists.txt: spdlog::spdlog_header_only is linked, and nothing of it is included",
        "lib/pipelines/loader.cpp:2: pipelines may not include execute/inner.h",
        "lib/torchscript/values/value.h:3: torchscript does not link fxtrace::interpreter",
        'lib/trace/trace.h:2: "trace/gone.h" does not exist',
        'lib/trace/trace.h:4: "python/gone.inc" does not exist',
        "lib/trace/CMakeLists.txt: fxtrace::support is linked, and nothing of it is included",
        "lib/torchscript/values/value.h:2: values stands below what it includes",
        "lib/interpreter/state/frame.h:2: state stands below what it includes",
        "docs/contributing/architecture.md: interpreter is not drawn",
        "docs/contributing/architecture.md: passes is not drawn",
        "docs/contributing/architecture.md: torchscript is not drawn",
        "docs/contributing/architecture.md: trace links support, which is not drawn below it",
        "include/fxtrace/node.h:2: users do not have graph/graph.h",
        f"lib/pipelines/README.md: has more than {MOST_LINES} lines",
        "lib/graph/wide: has 26 files, more than 25",
        "lib/graph/graph.h:4: graph/lost.cpp does not exist",
        "lib/trace/README.md:1: gone.h does not exist",
        "CONTRIBUTING.md:5: not a line of the sources",
        "CONTRIBUTING.md:1: Fault is not a name in the sources",
        "CONTRIBUTING.md:1: throw_it is not a name in the sources",
        "CONTRIBUTING.md:2: Fault is not a name in the sources",
        "lib/trace/graph.cpp: lib/graph/graph has that name too",
        "lib/passes/pass.cpp: fold-it is to be fold_it() in lib/passes/fold_it.cpp",
    ]
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        found = all_problems(root)
    if found != expected:
        print("expected:", *expected, "found:", *found, sep="\n")
        return 1
    return 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[1]
    found = all_problems(root)
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
