#!/usr/bin/env python3
"""Makes the sample archives and manifest.json; needs Linux and torch 2.13.0.

    sample_models/generate.py            # all, beside this file
    sample_models/generate.py -o DIR nested_scripted guards

The same bytes come out on every machine with the same version of PyTorch: each archive is made by a process
of its own (the mangled names in it depend on what was compiled before) with a fixed hash seed and random
seed, and the file names that TorchScript records are cut to what follows the folder of packages:
`nets/nested.py`, `torch/nn/...`.  write_exported.py does the same for exported programs.
"""

import argparse
import functools
import gc
import importlib
import json
import os
import pkgutil
import subprocess
import sys
import sysconfig
import types

HERE = os.path.dirname(os.path.abspath(__file__))


def all_samples() -> list:
    import nets

    samples = []
    for info in sorted(pkgutil.iter_modules(nets.__path__), key=lambda info: info.name):
        for sample in getattr(importlib.import_module("nets." + info.name), "SAMPLES", []):
            sample.net = info.name
            samples.append(sample)
    return sorted(samples, key=lambda sample: sample.name)


@functools.lru_cache(maxsize=None)
def portable(filename: str) -> str:
    """The file name without the folder that it was imported from."""
    roots = [HERE, sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), sysconfig.get_path("stdlib")]
    for root in [*roots, *(entry for entry in sys.path if entry)]:
        if filename.startswith(root + os.sep):
            return filename[len(root) + 1 :].replace(os.sep, "/")
    return os.path.basename(filename) if os.path.isabs(filename) else filename


def make_compiler_file_names_portable() -> None:
    import torch._sources
    import torch.jit.frontend

    original = torch._sources.get_source_lines_and_file

    def with_portable_name(obj, error_msg=None):
        lines, first_line, filename = original(obj, error_msg)
        return lines, first_line, filename and portable(filename)

    torch._sources.get_source_lines_and_file = with_portable_name
    torch.jit.frontend.get_source_lines_and_file = with_portable_name


def make_tracer_file_names_portable() -> None:
    """The tracer asks the code of each Python frame for its file name."""

    def cut(code: types.CodeType) -> types.CodeType:
        constants = tuple(cut(item) if isinstance(item, types.CodeType) else item for item in code.co_consts)
        return code.replace(co_filename=portable(code.co_filename), co_consts=constants)

    for function in [item for item in gc.get_objects() if isinstance(item, types.FunctionType)]:
        if os.path.isabs(function.__code__.co_filename):
            function.__code__ = cut(function.__code__)


def prepare(net: str, name: str):
    """The sample, in a process that imports no other net.  Its caller runs make(), so that no line of this
    file is recorded."""
    import warnings

    import torch

    warnings.simplefilter("ignore")
    make_compiler_file_names_portable()  # first: a net may compile classes and functions when it is imported
    sample = find(net, name)
    if sample.kind == "torchscript":
        make_tracer_file_names_portable()
    torch.manual_seed(0)
    return sample


def find(net: str, name: str):
    return next(sample for sample in importlib.import_module("nets." + net).SAMPLES if sample.name == name)


def write(net: str, name: str, program, path: str) -> None:
    import torch

    if isinstance(program, torch.jit.ScriptModule):
        torch.jit.save(program, path)
    else:
        import write_exported

        write_exported.write(program, find(net, name).layout, path)


# Started with -c, so that no line of this file is on the stack that a trace records.  One process for each
# archive, forked from one that has only imported torch: that is most of the time.  The number of the line
# that calls make() is in what a trace records.
MAKE_ALL = """
import os, sys
import generate, torch
for argument in sys.argv[1:]:
    net, name, path = argument.split(":", 2)
    child = os.fork()
    if child == 0:
        program = generate.prepare(net, name).make()
        generate.write(net, name, program, path)
        os._exit(0)
    if os.waitpid(child, 0)[1] != 0:
        sys.exit(f"{name} could not be made")
"""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", "--output", default=HERE, metavar="DIR")
    parser.add_argument("names", nargs="*", help="of the samples to make; all when left out")
    options = parser.parse_args()

    sys.path.insert(0, HERE)
    samples = all_samples()
    unknown = set(options.names) - {sample.name for sample in samples}
    if unknown:
        parser.error("no such sample: " + ", ".join(sorted(unknown)))
    output = os.path.abspath(options.output)
    os.makedirs(output, exist_ok=True)
    jobs = [
        ":".join((sample.net, sample.name, os.path.join(output, sample.file)))
        for sample in samples
        if not options.names or sample.name in options.names
    ]
    subprocess.run(
        [sys.executable, "-c", MAKE_ALL, *jobs],
        check=True,
        cwd=HERE,
        env={**os.environ, "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "PYTHONPATH": HERE},
    )
    with open(os.path.join(output, "manifest.json"), "w", encoding="utf-8") as file:
        file.write(manifest(samples))
    return 0


def manifest(samples: list) -> str:
    """JSON with a line for each field of a sample."""
    entries = []
    for sample in samples:
        fields = [
            f"   {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}"
            for key, value in sample.manifest_entry().items()
        ]
        entries.append("  {\n" + ",\n".join(fields) + "\n  }")
    return '{\n "samples": [\n' + ",\n".join(entries) + "\n ]\n}\n"


if __name__ == "__main__":
    sys.exit(main())
