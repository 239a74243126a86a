#!/usr/bin/env python3
"""Runs one tool that bench/run compares with fxtrace, on FOLDER/NAME.pt and .pt2: `peers.py JOB NAME FOLDER [--replay]`.
With --replay its graph is run on FOLDER/NAME.check's inputs; stdout has "exact", "wrong" or "no graph that runs".

`peers.py warm NAME FOLDER JOB...` calls several in one process; see warm()."""

import functools
import importlib.util
import json
import os
import sys
import time
import warnings

STARTED = time.process_time()
import torch  # noqa: E402

IMPORTED = time.process_time() - STARTED  # seconds
import models  # noqa: E402

eager = functools.cache(models.eager)  # a model in Python is there already, however often a tool is called


def symbolic_trace(path: str):
    return torch.fx.symbolic_trace(eager(os.path.basename(path))[0])


def recursive_trace(path: str):
    from modelopt.torch.trace import recursive_trace as trace

    model = eager(os.path.basename(path))[0]
    collection = trace(model)
    if collection.is_failed(model):
        return None  # graphs of the parts only
    return torch.fx.GraphModule(model, collection._graphs[model])


def order_tracer(path: str):
    from torch.distributed.fsdp._trace_utils import _ExecOrderTracer

    model = eager(os.path.basename(path))[0]
    tracer, order = torch.fx.Tracer(), _ExecOrderTracer()
    with order.patch_tracer(tracer, model):
        return torch.fx.GraphModule(model, tracer.trace(model))


def torchinfo(path: str) -> None:
    from torchinfo import summary

    model, inputs = eager(os.path.basename(path))
    summary(model, input_data=inputs, verbose=0)


def jit_load(path: str):
    model = torch.jit.load(path + ".pt")
    graph = model.inlined_graph  # while it lives its nodes do
    waiting = [graph]
    while waiting:
        for node in waiting.pop().nodes():
            waiting += node.blocks()
    return model


def ts2ep(path: str):
    from torch._export.converter import TS2EPConverter

    return TS2EPConverter(torch.jit.load(path + ".pt"), eager(os.path.basename(path))[1]).convert().module()


def unflatten(path: str):
    return torch.export.unflatten(torch.export.load(path + ".pt2"))


def pnnx(path: str):
    """bench/run has let it write its files here."""
    spec = importlib.util.spec_from_file_location("model_pnnx", "model_pnnx.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Model().eval()


def fxtrace(path: str):
    """bench/run has saved what the program wrote as NAME.SUFFIX.json."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    sys.path.insert(0, os.path.join(root, "python"))
    import fxtrace as package

    file = path + "." + sys.argv[4]
    return package.load(file + ".json").graph_module(file)


def trusted(path: str, suffix: str):
    """The library in this process; $FXTRACE is the program that it stands beside."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    sys.path.insert(0, os.path.join(root, "python"))
    from fxtrace import trusted as package

    return package.trace(f"{path}.{suffix}")


def warm(path: str, jobs: list[str], turns: int = 5) -> dict:
    """Seconds of the processor, in all threads, for the first call of each job in this process, which imports what the tool needs beside
    torch, and for the fastest one after it.  The jobs take turns."""
    calls = {job: functools.partial(globals()[job.partition(".")[0]], path, *job.split(".")[1:]) for job in jobs}
    eager(os.path.basename(path))
    found: dict = {"import torch": [IMPORTED, IMPORTED]}
    for turn in range(turns + 1):
        for job, call in calls.items():
            if turn > 1 and (isinstance(found[job], str) or found[job][1] * turns > 60):
                continue  # failed, or takes long
            started = time.process_time()
            try:
                call()
            except Exception as failure:  # noqa: BLE001 (any tool's)
                found[job] = f"{type(failure).__name__}: {str(failure).splitlines()[0] if str(failure) else ''}"[:90]
                continue
            seconds = time.process_time() - started
            found[job] = [seconds, float("inf")] if turn == 0 else [found[job][0], min(found[job][1], seconds)]
    return found


def main() -> int:
    warnings.simplefilter("ignore")
    sys.setrecursionlimit(100_000)
    job, name, folder = sys.argv[1:4]
    with torch.no_grad():
        if job == "warm":
            found = warm(os.path.abspath(os.path.join(folder, name)), sys.argv[4:])
            print("\n" + json.dumps(found))  # the last line; tools write to stdout
            return 0
        made = globals()[job](os.path.abspath(os.path.join(folder, name)))
        if "--replay" in sys.argv:
            if made is None:
                print("no graph that runs")
                return 0
            check = torch.load(os.path.join(folder, name + ".check"), weights_only=False)
            found, known = made(*check["inputs"]), check["outputs"]
            if isinstance(found, torch.Tensor):
                found, known = [found], [known]
            same = len(found) == len(known) and all(map(torch.equal, found, known))
            print("exact" if same else "wrong")
    return 0


if __name__ == "__main__":
    sys.exit(main())
