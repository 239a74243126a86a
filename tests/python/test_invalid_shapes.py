"""What torch would refuse has no shape, and a warning says so: torch's own operators on inputs that are a little wrong,
and models as people get them wrong."""

import os
import random
import re
import warnings
from dataclasses import dataclass

import harness
import op_samples
import pytest
import test_shapes
import torch
from torch import Tensor, nn

CALLS = 250  # in one archive


@dataclass
class Call:
    sample: op_samples.Sample
    traced: torch.jit.ScriptFunction


def perturbed(tensors: list[Tensor], rng: random.Random) -> list[Tensor]:
    """The same tensors, of which one has another size, another rank or another type."""
    made = list(tensors)
    place = rng.randrange(len(made))
    tensor = made[place]
    kind = rng.choice(["size", "size", "rank", "dtype"])
    shape = list(tensor.shape)
    dtype = tensor.dtype
    if kind == "dtype":
        dtype = torch.float32 if dtype != torch.float32 else rng.choice([torch.int64, torch.float64])
    elif kind == "size" and shape:
        dim = rng.randrange(len(shape))
        shape[dim] = rng.choice([shape[dim] + 1, max(shape[dim] - 1, 1), shape[dim] * 2 + 1])
    elif shape and rng.random() < 0.5:
        shape.pop(rng.randrange(len(shape)))
    else:
        shape.insert(0, 2)
    made[place] = torch.rand(shape, dtype=dtype) if dtype.is_floating_point else torch.zeros(shape, dtype=dtype)
    return made


@pytest.fixture(scope="module")
def calls(tmp_path_factory) -> list[tuple[str, list[Call]]]:
    folder = tmp_path_factory.mktemp("invalid")
    found = []
    for sample in op_samples.samples(1, dtypes=(torch.float32,)):
        if sample.tensors and op_samples.traceable(sample):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                given = tuple(tensor.clone() for tensor in sample.tensors)
                traced = torch.jit.trace(op_samples.Calls([sample]), given, strict=False, check_trace=False)
            found.append(Call(sample, traced))
    archives = []
    for start in range(0, len(found), CALLS):
        part = found[start : start + CALLS]
        archives.append((str(folder / f"{start}.pt"), part))
        op_samples.archive([call.sample for call in part]).save(archives[-1][0])
    return archives


def outputs_of(collection: dict, counts: list[int]) -> list[list[dict]]:
    """What is known of the results of each call."""
    graph = collection["graphs"][0]
    metas = {node["name"]: node["meta"] for node in graph["nodes"]}
    (result,) = graph["nodes"][-1]["args"]
    items = result["tuple"] if isinstance(result, dict) and "tuple" in result else [result]
    known = [metas[item["node"]] if isinstance(item, dict) and "node" in item else {} for item in items]
    assert len(known) == sum(counts)
    split = []
    for count in counts:
        split.append(known[:count])
        known = known[count:]
    return split


def spec(tensor: Tensor) -> str:
    return f"--input={test_shapes.spec(tensor)}"


# Errors about values, which a shape does not tell.
OF_VALUES = re.compile(
    "singular|positive.definite|out of range|out of bounds|ill-conditioned|converge|probability|non-negative|"
    "sum to|index .* is out|Expected all|should be in"
)


@pytest.mark.parametrize("seed", range(3))
def test_operators(program, calls, seed):
    rng = random.Random(seed)
    raising = missed = right = valid = 0
    misses, wrong, lost = [], [], []
    for path, part in calls:
        counts = []
        for call in part:
            results = call.traced(*[tensor.clone() for tensor in call.sample.tensors])
            counts.append(len(results) if isinstance(results, tuple) else 1)
        given = [perturbed(call.sample.tensors, rng) for call in part]
        options = [spec(tensor) for tensors in given for tensor in tensors]
        plain = [spec(tensor) for call in part for tensor in call.sample.tensors]
        done = program.run("trace", path, "-f", "json", *plain)
        assert b"raises" not in done.stderr, done.stderr.decode()
        before = outputs_of(test_shapes.trace(program, path, *plain), counts)
        after = outputs_of(test_shapes.trace(program, path, *options), counts)
        for call, tensors, was, known in zip(part, given, before, after):
            says = f"{call.sample.operator}({', '.join(test_shapes.spec(tensor) for tensor in tensors)})"
            all_known = all(meta.get("shape") is not None for meta in known)
            try:
                with torch.no_grad(), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    results = call.traced(*[tensor.clone() for tensor in tensors])
            except Exception as error:
                message = str(error).strip().splitlines()[-1]
                if OF_VALUES.search(message):
                    continue
                raising += 1
                if all_known:
                    missed += 1
                    misses.append(f"{says}: {message[:120]}")
                continue
            valid += 1
            results = results if isinstance(results, tuple) else (results,)
            for meta, was_meta, result in zip(known, was, results):
                if meta.get("shape") is None:
                    if was_meta.get("shape") is not None:
                        lost.append(says)
                elif all(isinstance(size, int) for size in meta["shape"]):
                    right += 1
                    dtype = str(result.dtype).removeprefix("torch.")
                    if meta["shape"] != list(result.shape) or meta.get("dtype") not in (None, dtype):
                        wrong.append(f"{says}: {meta} is really {dtype}{list(result.shape)}")
    print(f"{raising} raise, of which {missed} have a shape; {valid} work, {right} results compared, {len(lost)} lost")
    print("missed:\n  " + "\n  ".join(misses))
    print("lost:\n  " + "\n  ".join(lost))
    assert not wrong, "\n".join(wrong)
    assert missed <= 0.05 * raising
    assert len(lost) <= 0.02 * valid
