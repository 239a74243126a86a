#!/usr/bin/env python3
"""Runs a scanner that is written in Python: `scanner.py TOOL --version` writes its version, `scanner.py TOOL < NAMES` a line of JSON for each
file, with its exit code, what it said, and the seconds of the processor that it took.

bench/scanners.py starts it with a Python that has the tool.  The tool is imported once; each file is then scanned by a process of its
own, forked from this one, by the tool's own main function.
"""

import importlib.metadata
import importlib.util
import json
import os
import resource
import sys
import tempfile

SECONDS, MEMORY = 60, 4 << 30  # of the processor, for one file


def picklescan(path: str) -> int:
    from picklescan.cli import main

    sys.argv = ["picklescan", "-p", path]
    return main()


def modelscan(path: str) -> int:
    from modelscan.cli import main

    sys.argv = ["modelscan", "-p", path]
    return main()


def modelaudit(path: str) -> int:
    from modelaudit.cli import main

    sys.argv = ["modelaudit", "scan", "--no-cache", "--quiet", path]
    return main()


def fickling(path: str) -> int:
    """As `fickling --huggingface` does with files: the command that takes a path reads bare pickles only."""
    import zipfile

    from fickling.loader import scan_file, scan_zip_archive

    is_archive = zipfile.is_zipfile(path)
    results = list(scan_zip_archive(path, graceful=True).values()) if is_archive else [scan_file(path, graceful=True)]
    for result in results:
        print(result.severity, result.errors)
    if not results:
        print("no pickle")
        return 2
    unsafe = [result for result in results if not result.is_safe]
    if unsafe and all(result.errors and not any(not each.severity.name == "LIKELY_SAFE" for each in result.results) for result in unsafe):
        return 2  # nothing but what it could not read
    return 1 if unsafe else 0


TOOLS = {tool.__name__: tool for tool in (picklescan, modelscan, fickling, modelaudit)}
MODULES = {"picklescan": "picklescan.cli", "modelscan": "modelscan.cli", "fickling": "fickling.loader", "modelaudit": "modelaudit.cli"}


def children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def scan(tool: str, path: str, output: int) -> int:
    process = os.fork()
    if process:
        _, status = os.waitpid(process, 0)
        return os.waitstatus_to_exitcode(status)
    os.dup2(output, 1)
    os.dup2(output, 2)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    code = 2
    try:
        code = TOOLS[tool](path) or 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException as error:
        print(f"{type(error).__name__}: {error}")
    sys.stdout.flush()
    os._exit(code)


def main() -> int:
    tool = sys.argv[1]
    if sys.argv[2:] == ["--version"]:
        # modelaudit looks into torch's own code, where there is one: without it each tensor is a finding.
        beside = ", with torch" if tool == "modelaudit" and importlib.util.find_spec("torch") else ""
        print(importlib.metadata.version(tool) + beside)
        return 0
    importlib.import_module(MODULES[tool])
    for path in sys.stdin.read().splitlines():
        with tempfile.TemporaryFile() as output:
            before = children()
            code = scan(tool, path, output.fileno())
            output.seek(0)
            said = output.read().decode(errors="replace")
            print(json.dumps({"path": path, "code": code, "said": said[-1000:], "seconds": round(children() - before, 3)}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
