"""Describes how the tests run fxtrace convert on an archive: the options for its inputs, and the program beside the model."""

import copy
import json
import os
from typing import Any

import harness
import torch
import torch.ao.quantization.fx._decomposed  # registers operators of quantized models  # noqa: F401
from torch.utils import _pytree as pytree


def spec(tensor: torch.Tensor, batch: str | None = None) -> str:
    """How --input writes it: float32[2,8]; its first size by that name."""
    sizes = [str(size) for size in tensor.shape]
    if batch and sizes:
        sizes[0] = batch
    return f"{str(tensor.dtype).removeprefix('torch.')}[{','.join(sizes)}]"


def options(names: list[str], args: tuple, kwargs: dict, batch: str | None = None) -> list[str]:
    """--input for each tensor among the arguments, --concrete for each plain value."""
    found: list[str] = []

    def add(name: str, value: Any) -> None:
        if isinstance(value, torch.Tensor):
            found.extend(("--input", f"{name}={spec(value, batch)}"))
        elif isinstance(value, (list, tuple)):
            for i, item in enumerate(value):
                add(f"{name}.{i}", item)
        elif isinstance(value, dict):
            for key, item in value.items():
                add(f"{name}.{key}", item)
        else:
            found.extend(("--concrete", f"{name}={json.dumps(value)}"))

    for name, value in (*zip(names, args, strict=False), *kwargs.items()):
        add(name, value)
    return found


def difference(expected: Any, result: Any) -> str:
    """What differs between two results; empty when nothing does."""
    left, right = pytree.tree_leaves(expected), pytree.tree_leaves(result)
    if len(left) != len(right):
        return f"{len(right)} values, not {len(left)}"
    for one, other in zip(left, right, strict=True):
        if not isinstance(one, torch.Tensor):
            if one != other:
                return f"{other}, not {one}"
        elif not isinstance(other, torch.Tensor) or (one.shape, one.dtype) != (other.shape, other.dtype):
            return f"{getattr(other, 'shape', other)}, not {one.shape}"
        elif not torch.allclose(one, other, rtol=0, atol=0, equal_nan=True):
            return f"by {(one.to(torch.complex128) - other.to(torch.complex128)).abs().max().item():.2g}"
    return ""


class Converted:
    """An archive and the program that fxtrace convert made of it."""

    def __init__(self, program: Any, path: str, folder: Any, args: tuple, kwargs: dict, method: str = "forward", *more: str):
        self.model = torch.jit.load(path)
        self.call = harness.method_of(self.model, method)
        self.args, self.kwargs = args, kwargs
        self.names = [argument.name for argument in getattr(self.model, method).schema.arguments[1:]]
        self.file = os.path.join(folder, os.path.basename(path) + "2")
        inputs = [] if "--input" in more else options(self.names, args, kwargs)
        self.run = program.run("convert", path, "-o", self.file, "--method", method, *inputs, *more)

    def load(self) -> torch.export.ExportedProgram:
        assert self.run.returncode == 0, self.run.stderr.decode()
        return torch.export.load(self.file)

    def compare_batch(self, call: Any, batch: int) -> str | None:
        """With so many rows; None where the model itself does not take them."""
        args, self.args = self.args, batched(self.args, batch)
        kwargs, self.kwargs = self.kwargs, batched(self.kwargs, batch)
        try:
            with torch.no_grad():
                self.call(*copy.deepcopy(self.args), **copy.deepcopy(self.kwargs))
        except Exception:
            return None
        else:
            try:
                return self.compare(call)
            except (AssertionError, RuntimeError) as error:  # of a guard
                return f"refuses: {error}"
        finally:
            self.args, self.kwargs = args, kwargs

    def compare(self, call: Any, times: int = 1, inputs: tuple | None = None) -> str:
        """Runs both so many times in a row; returns the first difference."""
        args = self.args if inputs is None else inputs
        with torch.no_grad():
            for _ in range(times):
                torch.manual_seed(0)
                expected = self.call(*copy.deepcopy(args), **copy.deepcopy(self.kwargs))
                torch.manual_seed(0)
                found = difference(expected, call(*copy.deepcopy(args), **copy.deepcopy(self.kwargs)))
                if found:
                    return found
        return ""


def close(found: str) -> bool:
    """Whether a difference is rounding: other operators, or the same in another order, of which no more can be asked."""
    return not found or (found.startswith("by ") and float(found.removeprefix("by ")) <= 2e-5)


def batched(value: Any, batch: int) -> Any:
    """The tensors among inputs with as many rows."""
    return pytree.tree_map_only(torch.Tensor, lambda tensor: torch.cat([tensor] * batch)[:batch], value)


def has_batch(args: tuple, kwargs: dict) -> bool:
    """Whether all inputs are tensors with as many rows each."""
    leaves = pytree.tree_leaves((args, kwargs))
    return all(isinstance(leaf, torch.Tensor) and leaf.dim() > 0 for leaf in leaves) and len({leaf.shape[0] for leaf in leaves}) == 1


def proof(case: Converted, program: Any, path: str, folder: Any, method: str) -> dict[str, str]:
    """What was asked of the program of an archive, and what does not hold."""
    exported = case.load()
    modules = torch.export.unflatten(exported)
    called = {name for name, _ in modules.named_modules()}
    stacks = {place for node in exported.graph.nodes for place, _ in node.meta.get("nn_module_stack", {}).values()}
    found = {
        "run": case.compare(exported.module(), 2),
        "unflatten": case.compare(modules),
        "modules": ", ".join(sorted(stacks - called)),
        "decompose": decomposed(case, exported),
    }
    if has_batch(case.args, case.kwargs):
        found["batch"] = batch_proof(program, path, folder, case, method)
    return found


def decomposed(case: Converted, exported: torch.export.ExportedProgram) -> str:
    try:
        return case.compare(exported.run_decompositions().module())
    except Exception as error:  # of torch, which has no decomposition of some bodies of control flow
        return f"fails: {error}"


def batch_proof(program: Any, path: str, folder: Any, case: Converted, method: str) -> str:
    """The same with a named batch: "fixed" where the archive holds its number, so that it takes no other or the trace assumes it."""
    inputs = options(case.names, case.args, case.kwargs, "batch")
    named = Converted(program, path, folder, case.args, case.kwargs, method, *inputs, "--dim", "batch=1..64")
    if named.run.returncode != 0:
        return "fixed"
    module = named.load().module()
    found = [named.compare_batch(module, batch) for batch in (1, 3, 5)]
    first = next(filter(None, found), "")
    assumed = first.startswith("refuses") and b"holds only where" in named.run.stderr
    return "fixed" if assumed or (not first and found.count(None) > 1) else first
