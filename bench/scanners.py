#!/usr/bin/env python3
"""Has picklescan, modelscan, fickling, modelaudit and `fxtrace check --security` scan the same files, malicious and benign ones, and writes
two tables into docs/explanation/security.md.

    bench/scanners.py [--python PYTHON] [--tools PYTHON] [--fxtrace PATH] [--keep DIR] [-j N] [-o FILE] [-v]

bench/scanned_files.py makes the files with --python, which needs torch, pytest and what else the tests need; --tools is the Python of an
environment with the other tools (`pip install picklescan modelscan fickling 'modelaudit[pytorch]'`); one that it has not is left out, with a
message.  --keep: files and results stay in DIR and are used again, so that after a change of fxtrace only fxtrace runs again; without it
all is done anew, which takes an hour, nearly all of it in modelaudit.  -j: so many processes.  -v: each file that fxtrace takes for the wrong
kind, with what it says.  -o: the tables go to FILE.  This script itself imports no package.
"""

import argparse
import concurrent.futures
import glob
import hashlib
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))
import page_part  # noqa: E402

PAGE = ROOT / "docs" / "explanation" / "security.md"
BENCH = ROOT / "bench"
TOOLS = ["picklescan", "modelscan", "fickling", "modelaudit"]
# Nothing is sent anywhere, and nothing asked for.
ENVIRONMENT = os.environ | {"PROMPTFOO_DISABLE_TELEMETRY": "1", "NO_ANALYTICS": "1", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"}
Result = dict[str, str | int | float]


def verdict(tool: str, result: Result) -> str:
    """unsafe, clean or error, as the tool's own documentation reads its exit code."""
    code, said = result["code"], str(result["said"])
    if tool == "picklescan":  # its report, as errors hide findings from its exit code, and a file that it knows nothing of is exit code 0
        if re.search(r"Infected files: [1-9]", said):
            return "unsafe"
        return "error" if code != 0 or "Scanned files: 0" in said else "clean"
    return {0: "clean", 1: "unsafe"}.get(int(code), "error")


def digest(path: pathlib.Path) -> str:
    """Tools take a file for what its suffix says."""
    return hashlib.sha256(path.suffix.encode() + b"\0" + path.read_bytes()).hexdigest()


class Runs:
    """What each tool said of each file; kept in a file of the folder."""

    def __init__(self, folder: pathlib.Path, names: Sequence[str], jobs: int):
        self.folder, self.names, self.jobs = folder, list(names), jobs
        self.digests = {name: digest(folder / "files" / name) for name in names}
        self.store = folder / "results.json"
        self.kept: dict[str, dict[str, Result]] = json.loads(self.store.read_text(encoding="utf-8")) if self.store.exists() else {}

    def save(self) -> None:
        self.store.write_text(json.dumps(self.kept), encoding="utf-8")

    def scan(self, python: str, tool: str, names: list[str]) -> list[tuple[str, Result]]:
        with subprocess.Popen(
            [python, str(BENCH / "scanner.py"), tool], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=ENVIRONMENT, cwd=self.folder / "files", text=True,
        ) as process:  # fmt: skip
            out, _ = process.communicate("\n".join(names))
        lines = [json.loads(line) for line in out.splitlines()]
        return [(self.digests[line.pop("path")], line) for line in lines]

    def of(self, python: str, tool: str, version: str) -> dict[str, Result]:
        """Of a tool in Python."""
        known = self.kept.setdefault(f"{tool} {version}", {})
        missing = [name for name in self.names if self.digests[name] not in known]
        parts = [missing[start : start + 20] for start in range(0, len(missing), 20)]
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            for done, results in enumerate(pool.map(lambda part: self.scan(python, tool, part), parts)):
                known.update(results)
                self.save()
                print(f"{tool}: {done + 1} of {len(parts)} parts", file=sys.stderr, flush=True)
        return {name: known[self.digests[name]] for name in self.names}

    def of_fxtrace(self, program: str) -> dict[str, Result]:
        results = {}
        for name in self.names:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            done = subprocess.run([program, "check", "--security", name], cwd=self.folder / "files", capture_output=True, text=True, errors="replace")
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            results[name] = {"code": done.returncode, "said": done.stdout + done.stderr, "seconds": seconds}
        return results


def cell(found: Counter[str]) -> str:
    total = sum(found.values())
    words = {"unsafe": "caught", "clean": "missed", "error": "not scanned"}
    if len(found) == 1:
        return words[next(iter(found))]
    return f"{found['unsafe']} of {total}" + (f", {found['error']} not scanned" if found["error"] else "")


def tables(files: dict[str, dict[str, str]], results: dict[str, tuple[str, dict[str, Result]]]) -> str:
    evil = [name for name in files if "malicious" in files[name]]
    benign = [name for name in files if "benign" in files[name]]
    kinds = Counter(files[name]["malicious"] for name in evil)
    found = {tool: {name: verdict(tool, result) for name, result in by_name.items()} for tool, (_, by_name) in results.items()}

    lines = [
        f"| | caught, of {len(evil)} | missed | not scanned | false alarms, of {len(benign)} | not scanned | processor |",
        "|---|---|---|---|---|---|---|",
    ]
    for tool, (version, by_name) in results.items():
        bad, good = (Counter(found[tool][name] for name in names) for names in (evil, benign))
        seconds = sum(float(result["seconds"]) for result in by_name.values())
        numbers = [bad["unsafe"], bad["clean"], bad["error"], good["unsafe"], good["error"]]
        lines.append(f"| {tool} {version} | {' | '.join(map(str, numbers))} | {seconds:,.0f} s |")
    lines += ["", "| what the files do | files | " + " | ".join(results) + " |", "|---|---|" + "---|" * len(results)]
    for kind, count in kinds.items():
        cells = [cell(Counter(found[tool][name] for name in evil if files[name]["malicious"] == kind)) for tool in results]
        lines.append(f"| {kind} | {count} | {' | '.join(cells)} |")
    lines += [
        "",
        "Benign files that a tool flags or does not scan:",
        "",
        "| written by | files | " + " | ".join(results) + " |",
        "|---|---|" + "---|" * len(results),
    ]
    for kind, count in Counter(files[name]["benign"] for name in benign).items():
        cells = []
        for tool in results:
            of_kind = Counter(found[tool][name] for name in benign if files[name]["benign"] == kind)
            flagged = [f"{of_kind['unsafe']} flagged"] if of_kind["unsafe"] else []
            cells.append(", ".join(flagged + ([f"{of_kind['error']} not scanned"] if of_kind["error"] else [])) or "–")
        lines.append(f"| {WRITERS.get(kind, kind)} | {count} | {' | '.join(cells)} |")
    return "".join(line + "\n" for line in lines)


WRITERS = {
    "dtypes": "`torch.save`: all dtypes, quantized ones too", "sparse": "`torch.save`: sparse tensors",
    "nested": "`torch.save`: nested and jagged tensors",
    "layouts": "`torch.save`: views, memory formats, attributes, storages", "containers": "`torch.save`: plain values, protocols 2 to 5",
    "state_dicts": "`torch.save`: `state_dict()` of modules", "optimizers": "`torch.save`: optimizers", "schedulers": "`torch.save`: schedulers",
    "loaders": "`torch.save`: generators, samplers, batches", "torchscript": "`torch.jit.save`", "mobile": "`_save_for_lite_interpreter`",
    "exported": "`torch.export.save`", "packages": "`torch.package`", "checkpoints": "`torch.distributed.checkpoint`", "safetensors": "safetensors",
    "documents": "JSON, empty files, pointers of Git LFS", "samples": "`sample_models/`: scripted, traced, exported",
}  # fmt: skip


def wrong(files: dict[str, dict[str, str]], results: dict[str, Result]) -> None:
    for name, result in results.items():
        is_evil, code = "malicious" in files[name], result["code"]
        if code != (1 if is_evil else 0):
            print(f"{name} ({files[name].get('malicious', 'benign')}): exit code {code}")
            if not is_evil:
                print("  " + "\n  ".join(str(result["said"]).splitlines()))


def main() -> int:
    assert __doc__
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--tools", metavar="PYTHON", default=sys.executable)
    parser.add_argument("--fxtrace", metavar="PATH")
    parser.add_argument("--keep", metavar="DIR")
    parser.add_argument("-j", type=int, default=1)
    parser.add_argument("-o", metavar="FILE")
    parser.add_argument("-v", action="store_true")
    options = parser.parse_args()
    builds = glob.glob(str(ROOT / "build" / "*" / "bin" / "fxtrace"))
    program = options.fxtrace or os.environ.get("FXTRACE") or max(builds, key=os.path.getmtime, default=None)
    if program is None:
        sys.exit("no fxtrace: give --fxtrace PATH, or build it first")

    with tempfile.TemporaryDirectory(prefix="fxtrace-scanners-") as temporary:
        folder = pathlib.Path(options.keep or temporary).resolve()
        table = folder / "files" / "files.json"
        if not table.exists():
            table.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run([options.python, str(BENCH / "scanned_files.py"), str(table.parent)], env=ENVIRONMENT, check=True)
        files = json.loads(table.read_text(encoding="utf-8"))
        runs = Runs(folder, files, options.j)
        results = {}
        for tool in TOOLS:
            version = subprocess.run([options.tools, str(BENCH / "scanner.py"), tool, "--version"], env=ENVIRONMENT, capture_output=True, text=True)
            if version.returncode != 0:
                print(f"{tool} is left out: {options.tools} does not have it", file=sys.stderr)
                continue
            results[tool] = version.stdout.strip(), runs.of(options.tools, tool, version.stdout.strip())
        version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
        results["fxtrace"] = version, runs.of_fxtrace(os.path.abspath(program))
    if options.v:
        wrong(files, results["fxtrace"][1])
    part = "\n" + tables(files, results) + "\n"
    if options.o:
        pathlib.Path(options.o).write_text(part, encoding="utf-8")
    else:
        page_part.update(PAGE, "bench/scanners.py", part, check=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
