#!/usr/bin/env python3
"""Measures `fxtrace trace` and prints a table; with --check, exit code 1 when a bound is broken.

    bench/run.py [--fxtrace PATH] [--python PYTHON] [--runs N] [--check] [--keep DIR] [-k WORD]

- weights: the same graph with 50 KB and with 2 GB of weights; at most 1.2 times the time and 1.3 times the
           memory.
- load:    ResNet-50, against a Python process that does torch.jit.load; at most a fifth of its time.
- linear:  models with 10, 100 and 1,000 failing modules; the CPU time above the smallest one's grows no more
           than 2.5 times as fast as the number of modules.  `flat`: each fails at its first call; `late`:
           after a call that could be followed; `nested`: chains of ten, each holds the next.
- exported: an exported program with 0.1 MB and with 2 GB of weights: at most 30 ms for the small one, at most
           1.15 times its time and memory for the large one; and one with 4,000 operators (6 MB of JSON): at
           most 0.15 of the time of a bare `import torch`.  Beside them Python processes that do
           torch.export.load and torch.export.unflatten.
- shapes:  ResNet-50 (scripted) and BERT-base (traced) with --input, against the same trace without; at most
           1.5 times its time, with numbers and with a named batch.
- passes:  `--pass functional` on collections of 1,000, 10,000 and 100,000 nodes with views, writes, equal and dead
           nodes: the instructions per node, which valgrind counts, grow by at most 1.3 from each to the next.
           The time per node, as the program says it, stands beside them: from 10,000 nodes on it is that of
           memory that no longer fits into the processor's caches.
- costs:   of exported programs, whose traces take least: instructions that working out costs takes, of all that the
           trace takes; at most 5 %.
- isolation: small models of both kinds with and without --no-isolation: at most 5 ms more.

Times are medians of runs that alternate.  The archives go to a temporary folder, or to --keep DIR, where they
are found again.  PYTHON needs torch, torchvision for ResNet-50 and transformers for BERT; this script itself
imports none of them, as its own memory would count as the program's.
"""

import argparse
import fcntl
import glob
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MAX_WEIGHTS_TIME, MAX_WEIGHTS_MEMORY, MAX_LOAD, MAX_GROWTH = 1.2, 1.3, 0.2, 2.5
MAX_EXPORTED_SMALL, MAX_EXPORTED_WEIGHTS, MAX_EXPORTED_LARGE = 30, 1.15, 0.15  # ms, then ratios
MAX_SHAPES = 1.5
MAX_PASSES_GROWTH = 1.3
MAX_COSTS = 0.05
MAX_ISOLATION = 5  # ms
LOAD = "import sys, warnings; warnings.simplefilter('ignore'); import torch; torch.jit.load(sys.argv[1])"
UNFLATTEN = (
    "import sys, warnings; warnings.simplefilter('ignore'); import torch; "
    "torch.export.unflatten(torch.export.load(sys.argv[1]))"
)


@dataclass
class Run:
    wall: float  # seconds
    cpu: float
    rss: float  # MB, at its peak


def measure(command: list[str]) -> Run:
    with open(os.devnull, "wb") as null:
        start = time.monotonic()
        process = subprocess.Popen(command, stdout=null, stderr=subprocess.PIPE)
        errors = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {process.returncode}\n{errors.decode(errors='replace')}")
    return Run(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def memory_of(command: list[str]) -> float:
    """Peak memory in MB when the program begins to write, by when it holds all that it ever will.

    For a program smaller than this script: rusage counts what this script held when it started the program.
    """
    read_end, write_end = os.pipe()
    fcntl.fcntl(write_end, fcntl.F_SETPIPE_SZ, 4096)  # less than the output, so that the program waits
    process = subprocess.Popen(command, stdout=write_end)
    os.close(write_end)
    with open(read_end, "rb", buffering=0) as output:
        output.read(1)
        with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
            peak = re.search(r"VmHWM:\s+(\d+) kB", status.read())
        output.readall()
    if process.wait() != 0 or peak is None:
        sys.exit(f"{' '.join(command)}: its memory could not be measured")
    return int(peak[1]) / 1024


def alternate(commands: list[list[str]], runs: int) -> list[Run]:
    """The median of each, after a run that does not count."""
    results: list[list[Run]] = [[] for _ in commands]
    for i in range(runs + 1):
        for command, found in zip(commands, results):
            run = measure(command)
            if i > 0:
                found.append(run)
    return [
        Run(*(statistics.median(getattr(run, name) for run in found) for name in ("wall", "cpu", "rss")))
        for found in results
    ]


class Bench:
    def __init__(self, options: argparse.Namespace, program: str, folder: str):
        self.program, self.python, self.runs, self.folder = (
            program,
            options.python,
            options.runs,
            folder,
        )
        self.broken: list[str] = []

    def archive(self, kind: str, number: int = 0) -> str:
        suffix = ".pt2" if kind.startswith("exported") else ".pt"
        path = os.path.join(self.folder, (f"{kind}_{number}" if number else kind) + suffix)
        if not os.path.exists(path):
            maker = os.path.join(ROOT, "bench", "models.py")
            part = os.path.join(self.folder, "part" + suffix)
            subprocess.run([self.python, maker, kind, part, str(number)], check=True)
            os.replace(part, path)
        return path

    def trace(self, path: str) -> list[str]:
        return [self.program, "trace", path, "-f", "json"]

    def show(self, name: str, run: Run) -> None:
        print(f"  {name:<34} {run.wall * 1000:8.1f} ms  {run.cpu * 1000:8.1f} ms CPU  {run.rss:8.1f} MB")

    def bound(self, what: str, value: float, limit: float) -> None:
        holds = value <= limit
        print(f"  {what:<34} {value:8.2f}     at most {limit:g}: {'holds' if holds else 'BROKEN'}")
        if not holds:
            self.broken.append(what)

    def weights(self) -> None:
        paths = [self.archive("layers", 16), self.archive("layers", 4096)]
        small, large = alternate([self.trace(path) for path in paths], self.runs)
        for path, run in zip(paths, (small, large)):
            self.show(f"30 Linears, {os.path.getsize(path) / 1e6:.2f} MB", run)
        self.bound("time, large against small", large.wall / small.wall, MAX_WEIGHTS_TIME)
        self.bound("memory, large against small", large.rss / small.rss, MAX_WEIGHTS_MEMORY)

    def load(self) -> None:
        path = self.archive("resnet50")
        ours, python = alternate([self.trace(path), [self.python, "-c", LOAD, path]], self.runs)
        self.show("fxtrace trace, ResNet-50", ours)
        self.show("Python, torch.jit.load", python)
        self.bound("time against Python's", ours.wall / python.wall, MAX_LOAD)

    def linear(self) -> None:
        for kind in ("flat", "late", "nested"):
            counts = (10, 100, 1000)
            runs = alternate(
                [self.trace(self.archive(kind, count)) for count in counts],
                max(3, self.runs // 2),
            )
            for count, run in zip(counts, runs):
                self.show(f"{count} failing modules, {kind}", run)
            # Below 10 ms it is noise.
            middle = max(runs[1].cpu - runs[0].cpu, 0.01)
            modules = (counts[2] - counts[0]) / (counts[1] - counts[0])
            self.bound(
                f"growth against linear, {kind}",
                (runs[2].cpu - runs[0].cpu) / middle / modules,
                MAX_GROWTH,
            )

    def shapes(self) -> None:
        for kind, name, sizes in (
            ("resnet50", "ResNet-50", "float32[{},3,224,224]"),
            ("bert", "BERT-base", "int64[{},128]"),
        ):
            plain = self.trace(self.archive(kind))
            numbers = [*plain, "--input", sizes.format(1)]
            named = [*plain, "--input", sizes.format("batch"), "--dim", "batch=1..64"]
            runs = alternate([plain, numbers, named], self.runs)
            for run, what in zip(runs, ("", ", shapes", ", shapes, named batch")):
                self.show(name + what, run)
            self.bound("time, shapes against none", runs[1].wall / runs[0].wall, MAX_SHAPES)
            self.bound("the same, named batch", runs[2].wall / runs[0].wall, MAX_SHAPES)

    def exported(self) -> None:
        paths = [self.archive("exported_layers", 16), self.archive("exported_layers", 4096)]
        blocks = self.archive("exported_blocks", 182)
        ours = [self.trace(path) for path in (*paths, blocks)]
        ours.append([*ours[2], "--no-default-leaves"])
        theirs = [[self.python, "-c", UNFLATTEN, path] for path in (*paths, blocks)]
        # Milliseconds are told apart by more runs; Python's take seconds.
        small, large = alternate(ours[:2], 5 * self.runs)
        leaves, inlined, bare = alternate([*ours[2:], [self.python, "-c", "import torch"]], self.runs)
        python = alternate(theirs, max(3, self.runs // 2))

        names = [f"30 Linears, {os.path.getsize(path) / 1e6:.2f} MB" for path in paths]
        names += ["4,000 operators", "the same, without leaves"]
        for run, command in zip((small, large, leaves, inlined), ours):
            run.rss = memory_of(command)
        for name, run in zip(names, (small, large, leaves, inlined)):
            self.show(name, run)
        self.show("Python, import torch", bare)
        for name, run in zip(names, python):
            self.show(f"Python, {name}", run)
        self.bound("time of the small one, ms", small.wall * 1000, MAX_EXPORTED_SMALL)
        self.bound("time, large against small", large.wall / small.wall, MAX_EXPORTED_WEIGHTS)
        self.bound("memory, large against small", large.rss / small.rss, MAX_EXPORTED_WEIGHTS)
        self.bound("4,000 operators against import", leaves.wall / bare.wall, MAX_EXPORTED_LARGE)
        self.bound("the same, without leaves", inlined.wall / bare.wall, MAX_EXPORTED_LARGE)

    def passes(self) -> None:
        counts = (1_000, 10_000, 100_000)
        paths = [self.collection(count) for count in counts]
        times: list[list[float]] = [[] for _ in counts]
        for _ in range(self.runs):
            for path, found in zip(paths, times):
                command = [self.program, "render", path, "--pass", "functional", "-v", "-o", os.devnull]
                done = subprocess.run(command, capture_output=True, text=True, check=True)
                found.append(sum(float(ms) for ms in re.findall(r"pass .* in ([0-9.]+) ms", done.stderr)))
        costs = [min(found) / count for found, count in zip(times, counts)]
        for count, cost in zip(counts, costs):
            print(f"  {count:7,} nodes {'':<20} {cost * count:8.1f} ms  {cost * 1000:8.2f} us a node")
        if shutil.which("valgrind") is None:
            print("  no valgrind: instructions are not counted")
            return
        functional = ("render", "--no-isolation", "--pass", "functional")
        steps = [
            self.instructions([*functional, path], "fxtrace::run_pass*") / count for count, path in zip(counts, paths)
        ]
        for count, cost in zip(counts, steps):
            print(f"  {count:7,} nodes {'':<20} {cost:8.0f} instructions a node")
        for (less, more), (low, high) in zip(zip(counts, counts[1:]), zip(steps, steps[1:])):
            self.bound(f"{more:,} against {less:,}, per node", high / low, MAX_PASSES_GROWTH)

    def instructions(self, arguments: list[str], *functions: str) -> int:
        """Of these functions, or of all."""
        command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
        command += [f"--toggle-collect={function}" for function in functions]
        command += [self.program, *arguments, "-o", os.devnull]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return int(re.search(r"Collected : ([0-9]+)", done.stderr)[1])

    def costs(self) -> None:
        if shutil.which("valgrind") is None:
            print("  no valgrind: instructions are not counted")
            return
        samples = ("attention_exported.pt2", "exported_dimensions.pt2")
        paths = [*(os.path.join(ROOT, "sample_models", name) for name in samples), self.archive("exported_blocks", 182)]
        for path in paths:
            for options in ([], ["--no-default-leaves"]):
                arguments = ["trace", path, "-f", "json", "--no-isolation", *options]
                costs = self.instructions(arguments, "fxtrace::add_costs*", "fxtrace::OperationCosts::cost_of*")
                what = os.path.basename(path).removesuffix(".pt2") + (", no leaves" if options else "")
                self.bound(what, costs / self.instructions(arguments), MAX_COSTS)

    def isolation(self) -> None:
        saved = os.path.join(self.folder, "small.json")
        scripted, exported = (
            os.path.join(ROOT, "sample_models", f"attention_{kind}") for kind in ("scripted.pt", "exported.pt2")
        )
        subprocess.run([*self.trace(scripted), "-o", saved], check=True)
        commands = (self.trace(scripted), self.trace(exported), [self.program, "render", saved])
        for name, command in zip(("TorchScript", "exported program", "render"), commands):
            # The fastest of many: what other processes take is more than what is asked for here.
            pairs = [
                (measure(command), measure([*command, "--no-isolation"])) for _ in range(10 * self.runs)
            ]
            inside, outside = (min(runs, key=lambda run: run.wall) for runs in zip(*pairs))
            self.show(name, inside)
            self.show(f"{name}, --no-isolation", outside)
            self.bound(f"more for isolation, ms, {name}", (inside.wall - outside.wall) * 1000, MAX_ISOLATION)

    def collection(self, count: int) -> str:
        """A graph of about `count` nodes; every block of ten goes on from the one before it."""
        path = os.path.join(self.folder, f"nodes_{count}.json")
        nodes = [{"name": "x", "op": "placeholder", "target": "x", "args": [], "kwargs": {}}]
        last = "x"

        def call(name: str, number: int, target: str, *args) -> str:
            full = f"{name}_{number}"
            given = [{"node": arg} if isinstance(arg, str) else arg for arg in args]
            nodes.append({"name": full, "op": "call_function", "target": target, "args": given, "kwargs": {}})
            return full

        for i in range(1, count // 10 + 1):
            copied = call("clone", i, "aten.clone.default", last)
            part = call("select", i, "aten.select.int", copied, 0, 0)
            call("add_", i, "aten.add_.Scalar", part, 1)
            whole = call("slice", i, "aten.slice.Tensor", copied)
            first = call("relu", 2 * i, "aten.relu.default", whole)
            second = call("relu", 2 * i + 1, "aten.relu.default", whole)
            call("cos", i, "aten.cos.default", first)
            call("detach", i, "aten.detach.default", second)
            last = call("mul", 2 * i, "aten.mul.Tensor", first, second)
            last = call("mul", 2 * i + 1, "aten.mul.Scalar", last, 2)
        nodes.append({"name": "output", "op": "output", "target": "output", "args": [{"node": last}], "kwargs": {}})
        users: dict[str, list[str]] = {node["name"]: [] for node in nodes}
        for node in nodes:
            for name in dict.fromkeys(arg["node"] for arg in node["args"] if isinstance(arg, dict)):
                users[name].append(node["name"])
        scope = {"module_path": "", "module_type": None, "call": 1}
        for node in nodes:
            node |= {"users": users[node["name"]], "scope": scope, "meta": None, "source": None}
        statuses = {"traced": 1, "leaf": 0, "failed": 0, "unvisited": 0}
        module = {"path": "", "type": "Net", "status": "traced", "alias_of": None, "rule": None, "calls": 1}
        execution = {"module_forward_order": [""], "param_forward_order": [], "module_param_usage": []}
        graph = {"module": "", "type": "Net", "nodes": nodes, "constants": {}, "subgraphs": {}, "guards": []}
        document = {
            "format": "fxtrace.graph_collection",
            "version": 1,
            "producer": {"name": "fxtrace", "version": "0.1.0"},
            "model": {"file": "net.pt", "kind": "torchscript", "type": "Net", "method": "forward"},
            "options": {},
            "summary": {
                "graphs": 1,
                "nodes": len(nodes),
                "modules": statuses,
                "parameters": 0,
                "unused_parameters": [],
            },
            "modules": [module | {"failure": None, "attributes": {}}],
            "parameters": [],
            "graphs": [graph | {"execution": execution}],
        }
        with open(path, "w", encoding="utf-8") as file:
            json.dump(document, file)
        return path


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--fxtrace", metavar="PATH")
    parser.add_argument("--python", default=sys.executable, metavar="PYTHON")
    parser.add_argument("--runs", type=int, default=7, metavar="N")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--keep", metavar="DIR")
    parser.add_argument("-k", metavar="WORD", default="", help="only the parts whose names hold WORD")
    options = parser.parse_args()
    builds = glob.glob(os.path.join(ROOT, "build", "release", "bin", "fxtrace")) or glob.glob(
        os.path.join(ROOT, "build", "*", "bin", "fxtrace")
    )
    program = options.fxtrace or os.environ.get("FXTRACE") or max(builds, key=os.path.getmtime, default=None)
    if program is None:
        sys.exit("no fxtrace: give --fxtrace PATH, or build it first (preset release)")

    with tempfile.TemporaryDirectory(prefix="fxtrace-bench-") as folder:
        if options.keep:
            folder = os.path.abspath(options.keep)
            os.makedirs(folder, exist_ok=True)
        bench = Bench(options, os.path.abspath(program), folder)
        for name, part in (
            ("weights", bench.weights),
            ("load", bench.load),
            ("linear", bench.linear),
            ("exported", bench.exported),
            ("shapes", bench.shapes),
            ("passes", bench.passes),
            ("costs", bench.costs),
            ("isolation", bench.isolation),
        ):
            if options.k in name:
                print(f"{name}:", flush=True)
                part()
    if bench.broken:
        print(f"broken: {', '.join(bench.broken)}")
    return 1 if bench.broken and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
