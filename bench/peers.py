#!/usr/bin/env python3
"""Runs one tool that bench/run compares with fxtrace, on FOLDER/NAME.pt and .pt2: `peers.py JOB NAME FOLDER [--replay]`.
With --replay its graph is run on FOLDER/NAME.check's inputs; stdout has "exact", "wrong" or "no graph that runs"."""

import importlib.util
import os
import sys
import warnings

import torch
from models import eager


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


def main() -> int:
    warnings.simplefilter("ignore")
    sys.setrecursionlimit(100_000)
    job, name, folder = sys.argv[1:4]
    with torch.no_grad():
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
