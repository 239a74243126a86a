#!/usr/bin/env python3
"""Makes the models that bench/run measures: `models.py NAME FOLDER` writes NAME.pt, NAME.pt2 and NAME.check, which has inputs and
the model's results, to check tools that run a graph."""

import io
import json
import os
import sys
import tempfile
import warnings
import zipfile

import torch
from torch import Tensor, nn

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests", "python"))


class Layers(nn.Module):
    """The same graph for every width: 30 Linears."""

    def __init__(self, width: int):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(width, width, bias=False) for _ in range(30)])

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


class Chain(nn.Module):
    def __init__(self, nodes: int):
        super().__init__()
        self.nodes, self.weight = nodes, nn.Parameter(torch.ones(4))

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(self.nodes // 2):
            x = torch.relu(x) + self.weight
        return x


class Nest(nn.Module):
    def __init__(self, inner: nn.Module):
        super().__init__()
        self.linear, self.inner = nn.Linear(4, 4), inner

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(self.linear(x)) + 1


class Failing(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, x: Tensor) -> Tensor:
        x = self.linear(x)
        if bool(x.sum() > 0):
            x = x + 1
        return x


def nest(depth: int) -> nn.Module:
    model: nn.Module = nn.Identity()
    for _ in range(depth):
        model = Nest(model)
    return model


def resnet50() -> nn.Module:
    import tvcompat

    tvcompat.prepare()
    import torchvision

    return torchvision.models.resnet50(weights=None)


def bert() -> nn.Module:
    import tvcompat

    tvcompat.prepare()  # transformers imports torchvision where it finds it
    from transformers import BertConfig, BertModel

    class Bert(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = BertModel(BertConfig())

        def forward(self, tokens: Tensor):
            return self.model(tokens).to_tuple()

    return Bert()


def eager(name: str) -> tuple[nn.Module, tuple]:
    """The model and its inputs; the same in every process."""
    torch.manual_seed(0)
    kind, _, number = name.partition("_")
    count = int(number or 0)
    if kind == "layers":  # zeros that nobody touches take no memory
        with torch.device("meta"):
            model: nn.Module = Layers(count)
        model = model.to_empty(device="cpu")
        if count < 1000:
            model.apply(lambda module: module.weight.data.zero_() if isinstance(module, nn.Linear) else None)
        return model.requires_grad_(False).eval(), (torch.ones(2, count),)
    made = {
        "toy": lambda: (nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4)), torch.ones(2, 4)),
        "chain": lambda: (Chain(count), torch.ones(2, 4)),
        "nest": lambda: (nest(count), torch.ones(2, 4)),
        "failing": lambda: (nn.Sequential(*[Failing() for _ in range(count)]), torch.ones(2, 2)),
        "resnet50": lambda: (resnet50(), torch.ones(1, 3, 224, 224)),
        "bert": lambda: (bert(), torch.ones(2, 128, dtype=torch.int64)),
    }
    model, x = made[kind]()
    return model.eval().requires_grad_(False), (x,)


class SparseFile(io.FileIO):
    """Zeros that are written to it take no room on the disk."""

    def write(self, data) -> int:
        data = memoryview(data).cast("B")
        zeros = bytes(1 << 20)
        for start in range(0, len(data), len(zeros)):
            part = data[start : start + len(zeros)].tobytes()
            if len(part) < 4096 or part != zeros[: len(part)]:
                super().write(part)
            else:
                self.truncate(self.seek(len(part), os.SEEK_CUR))
        return len(data)


def save_sparse(path: str, save) -> None:
    """For torch.jit.save, which holds in memory what it writes to anything but a path."""
    with tempfile.TemporaryDirectory() as folder:
        pipe = os.path.join(folder, os.path.basename(path))  # PyTorch names what is inside after the file
        os.mkfifo(pipe)
        writer = os.fork()  # no thread: PyTorch writes with the interpreter's lock held
        if writer == 0:
            save(pipe)
            os._exit(0)
        with open(pipe, "rb", buffering=0) as source, SparseFile(path, "wb") as target:
            while data := source.read(1 << 20):
                target.write(data)
        os.waitpid(writer, 0)


def export_chain(path: str, nodes: int) -> None:
    """torch.export takes minutes for 100,000 nodes: the second relu and add of four nodes stand for those that follow."""
    model, inputs = eager("chain_4")
    buffer = io.BytesIO()
    torch.export.save(torch.export.export(model, inputs), buffer)
    with zipfile.ZipFile(buffer) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as new:
        for name in old.namelist():
            data = old.read(name)
            if name.endswith("models/model.json"):
                program = json.loads(data)
                graph = program["graph_module"]["graph"]
                pair = json.dumps(graph["nodes"][-2:])
                for i in range(2, nodes // 2):
                    relu, add = json.loads(pair)
                    relu["inputs"][0]["arg"]["as_tensor"]["name"] = f"add_{i - 1}"
                    for node, result in ((relu, f"relu_{i}"), (add, f"add_{i}")):
                        node["outputs"][0]["as_tensor"]["name"] = result
                        if node.get("name"):
                            node["name"] = result
                        graph["tensor_values"][result] = graph["tensor_values"][result.split("_")[0] + "_1"]
                    add["inputs"][0]["arg"]["as_tensor"]["name"] = f"relu_{i}"
                    graph["nodes"] += [relu, add]
                last = json.dumps("add_1")
                result = json.dumps(f"add_{nodes // 2 - 1}")
                graph["outputs"] = json.loads(json.dumps(graph["outputs"]).replace(last, result))
                for key in ("signature", "module_call_graph"):
                    text = json.dumps(program["graph_module"][key])
                    program["graph_module"][key] = json.loads(text.replace(last, result))
                data = json.dumps(program).encode()
            new.writestr(name, data)


def main() -> int:
    warnings.simplefilter("ignore")
    sys.setrecursionlimit(100_000)
    name, folder = sys.argv[1:3]
    kind, _, number = name.partition("_")
    path = os.path.join(folder, name)
    model, inputs = eager(name)
    types = {torch.float32: "f32", torch.int64: "i64"}
    with open(path + ".shapes", "w", encoding="utf-8") as file:  # as pnnx wants them
        file.write(",".join(f"[{','.join(map(str, x.shape))}]{types[x.dtype]}" for x in inputs))
    if kind == "layers":
        save_sparse(path + ".pt", lambda to: torch.jit.script(model).save(to))
        program = torch.export.export(model, inputs)
        with SparseFile(path + ".pt2", "wb") as file:
            torch.export.save(program, file)
        if int(number) > 1000:
            return 0
    else:
        with torch.no_grad():
            if kind in ("bert", "chain"):
                scripted = torch.jit.trace(model, inputs, strict=False, check_trace=False)
            else:
                scripted = torch.jit.script(model)
        scripted.save(path + ".pt")
        if kind == "chain":
            export_chain(path + ".pt2", int(number))
        elif kind != "failing":
            torch.export.save(torch.export.export(model, inputs), path + ".pt2")
    with torch.no_grad():
        torch.save({"inputs": inputs, "outputs": model(*inputs)}, path + ".check")
    return 0


if __name__ == "__main__":
    sys.exit(main())
