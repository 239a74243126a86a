#!/usr/bin/env python3
"""Runs two builds of fxtrace with the same commands and reports where their output differs, for changes that must not change any
output.

    same_outputs.py OLD NEW [--jobs N] [--only WORD] [--most N]

Every command, format and pass over the samples, the zoo's archives that its cache has (zoo.py makes them) and the hostile
fixtures: stdout, stderr, exit code and the file written. What OLD gives is kept beside the zoo, by the content of OLD.
"""

import argparse
import concurrent.futures
import difflib
import glob
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import convert_cases
import harness
import torch
import zoo

PASSES = ("remove-inplace", "remove-noops", "fold-constants", "eliminate-dead-code", "common-subexpressions", "remove-batch-dims")
WITHOUT_SIZES = (
    ["trace", "MODEL"],
    ["trace", "MODEL", "--no-default-leaves", "--control-flow", "subgraph"],
    ["trace", "MODEL", "--max-depth", "1", "--hooks", "skip", "-f", "text"],
    ["inspect", "MODEL"],
    ["inspect", "MODEL", "--json"],
    ["order", "MODEL"],
    ["why", "MODEL"],
    ["why", "MODEL", "--json"],
    ["check", "MODEL", "--no-failed", "--security", "--max-params", "1000", "--deny", "aten.*", "--require", "torch.nn.ReLU within x"],
    ["check", "MODEL", "--program", "--security", "--json"],
)
WITH_SIZES = (
    ["trace", "MODEL"],
    ["trace", "MODEL", "--no-default-leaves", "--control-flow", "subgraph"],
    ["trace", "MODEL", "-f", "fx"],
    ["trace", "MODEL", "-f", "dot", "--show-plumbing", "--show-parameters", "--no-fold"],
    ["trace", "MODEL", "-f", "model-explorer"],
    ["trace", "MODEL", "-f", "mermaid"],
    ["trace", "MODEL", "-f", "html"],
    ["trace", "MODEL", "-f", "svg", "--order"],
    ["trace", "MODEL", "--no-default-leaves", *(word for name in PASSES for word in ("--pass", name))],
    ["trace", "MODEL", "--no-default-leaves", "--pass", "fold-constants", "--param-shapes-constant", "-f", "text"],
    ["summary", "MODEL"],
    ["summary", "MODEL", "--json", "--columns", "weights,kv-cache"],
    ["summary", "MODEL", "--markdown", "--sort", "macs"],
    ["summary", "MODEL", "--csv"],
    ["order", "MODEL", "--json", "--buckets", "1KiB"],
    ["order", "MODEL", "--csv"],
    ["order", "MODEL", "--fsdp2"],
    ["check", "MODEL", "--max-macs", "10", "--max-peak", "1K", "--sarif"],
    ["check", "MODEL", "--no-failed", "--max-activations", "1K", "--markdown"],
    ["check", "MODEL", "--no-failed", "--max-params", "0", "--junit"],
    ["diff", "MODEL", "OTHER"],
    ["diff", "MODEL", "OTHER", "--json"],
    ["diff", "MODEL", "OTHER", "--markdown"],
    ["convert", "MODEL", "-o", "FILE.pt2"],
    ["convert", "MODEL", "-o", "FILE.pt2", "--dialect", "aten"],
)


def inputs_of_zoo(path: str) -> tuple:
    return tuple(torch.load(os.path.splitext(path)[0] + ".inputs.pt", weights_only=False))


def names_of_inputs(program: harness.Program, path: str, method: str) -> list[str]:
    run = program.run("inspect", path, "--json", "--method", method)
    return [x["name"] for x in json.loads(run.stdout)["inputs"]] if run.returncode == 0 else []


def models(program: harness.Program) -> list[tuple[str, list[str], list[str]]]:
    """Path, options that choose a method or model, and options that give the inputs' sizes."""
    found = []
    given = []
    for kind in ("torchscript", "exported"):
        for sample in harness.samples(kind):
            options = ["--method", sample["method"]] if kind == "torchscript" else []
            if sample.get("model"):
                options += ["--model", sample["model"]]
            args, kwargs = harness.make_inputs(sample["inputs"][0]) if sample["inputs"] else ((), {})
            given.append((harness.sample_path(sample), options, args, kwargs))
    for path in sorted(glob.glob(os.path.join(zoo.cache_folder(None), "*.pt*"))):
        if not path.endswith(".inputs.pt"):
            given.append((path, [], inputs_of_zoo(path), {}))
    for path, options, args, kwargs in given:
        sizes: list[str] = []
        if path.endswith(".pt"):
            method = options[1] if options[:1] == ["--method"] else "forward"
            batch = "batch" if convert_cases.has_batch(args, kwargs) else None
            try:
                sizes = convert_cases.options(names_of_inputs(program, path, method), args, kwargs, batch)
            except Exception as e:  # inputs that have no text
                print(f"{path}: without sizes: {e}", file=sys.stderr)
        found.append((path, options, sizes))
    return found


def commands(program: harness.Program, only: str) -> list[list[str]]:
    all_models = models(program)
    found = []
    for i, (path, options, sizes) in enumerate(all_models):
        other = all_models[(i + 1) % len(all_models)][0]
        for words in (*WITHOUT_SIZES, *([*words, "SIZES"] for words in WITH_SIZES)):
            command = []
            for word in words:
                command += {"MODEL": [path, *options], "OTHER": [other], "SIZES": sizes}.get(word, [word])
            if words[0] in ("diff", "why") and options:
                command = [word for word in command if word not in options]
            found.append(command)
    hostile = sorted(str(path) for path in (pathlib.Path(__file__).parents[1] / "fixtures").rglob("*.pt*"))
    found += [[*words, path] for path in hostile for words in (["trace"], ["inspect", "--json"], ["check", "--security"])]
    return [command for command in found if only in " ".join(command)]


def output(program: str, command: list[str]) -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        words = [os.path.join(folder, "out.pt2") if word == "FILE.pt2" else word for word in command]
        run = subprocess.run([program, *words], capture_output=True, timeout=600)
        parts = {"stdout": run.stdout, "stderr": run.stderr.replace(folder.encode(), b"FOLDER"), "exit": str(run.returncode).encode()}
        parts["stdout"] = parts["stdout"].replace(folder.encode(), b"FOLDER")
        written = os.path.join(folder, "out.pt2")
        if os.path.exists(written):
            parts["file"] = pathlib.Path(written).read_bytes()
        return parts


def digest(parts: dict[str, bytes]) -> str:
    key = hashlib.sha256()
    for name, content in sorted(parts.items()):
        key.update(f"{name} {len(content)} ".encode() + content)
    return key.hexdigest()


def tell(command: list[str], old: dict[str, bytes], new: dict[str, bytes]) -> str:
    text = "fxtrace " + " ".join(command)
    for name in sorted({*old, *new}):
        before, after = (parts.get(name, b"").decode(errors="replace").splitlines() for parts in (old, new))
        if before != after:
            lines = list(difflib.unified_diff(before, after, lineterm="", n=0))[2:10] if len(before) < 5000 else ["(long)"]
            text += f"\n  {name}:\n" + "\n".join("    " + line[:300] for line in lines)
    return text


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", metavar="WORD", help="only commands with this text")
    parser.add_argument("--most", type=int, default=20, metavar="N", help="tell at most N differences")
    args = parser.parse_args()

    key = hashlib.sha256(pathlib.Path(args.old).read_bytes()).hexdigest()[:16]
    kept_file = pathlib.Path(zoo.cache_folder(None), "..", "..", f"outputs-{key}.json")
    kept = json.loads(kept_file.read_text()) if kept_file.exists() else {}
    asked = commands(harness.Program(args.old), args.only)

    def compare(command: list[str]) -> str | None:
        text = " ".join(command)
        if text not in kept:
            kept[text] = digest(output(args.old, command))
        new = output(args.new, command)
        return None if digest(new) == kept[text] else tell(command, output(args.old, command), new)

    different = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for found in pool.map(compare, asked):
            if found:
                different += 1
                if different <= args.most:
                    print(found, flush=True)
    kept_file.write_text(json.dumps(kept))
    print(f"{len(asked)} commands, {different} with other bytes")
    return different != 0


if __name__ == "__main__":
    sys.exit(main())
