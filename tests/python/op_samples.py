"""Makes archives that call hundreds of operators, each on a few samples from torch's own tests.

One archive holds many calls, each on inputs of its own, so that a trace of it costs little.
"""

import contextlib
import io
import random
import sys
import types
import unittest
import warnings
from dataclasses import dataclass
from typing import Any, Iterator

import numpy
import torch
from torch import nn
from torch.utils import _pytree as pytree

# Of operators whose samples cannot be part of an archive, or differ from run to run in what their shapes are.
SKIPPED = {
    "empty_strided",  # gives memory as it finds it, and so do the next ones
    "empty",
    "empty_like",
    "empty_permuted",
    "new_empty",
    "new_empty_strided",
    "nn.functional.scaled_dot_product_attention",  # which kernel it takes depends on the processor
}


@dataclass
class Sample:
    operator: str
    function: Any  # takes the tensors
    tensors: list[torch.Tensor]


def _seed(value: int = 1234) -> None:
    torch.default_generator.manual_seed(value)
    random.seed(value)
    numpy.random.seed(value)


def operators() -> list:
    """torch's table of operators; its module asks for a package of asserts that it does not use."""
    if "expecttest" not in sys.modules:
        stub = types.ModuleType("expecttest")
        stub.TestCase = unittest.TestCase  # type: ignore[attr-defined]
        sys.modules["expecttest"] = stub
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal import common_utils
        from torch.testing._internal.common_methods_invocations import op_db
        from torch.testing._internal.opinfo import core
    # For each sample these look through the stack or write it down, which under pytest takes ten times the sample's time: for a
    # test of torch's own, and for each kind of device that is not there.
    common_utils.extract_test_fn = core.extract_test_fn = lambda: None
    common_utils.set_rng_seed = _seed
    return op_db


def _sample(operator: Any, given: Any) -> Sample | None:
    leaves, spec = pytree.tree_flatten((given.input, given.args, given.kwargs))
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
    tensors = [leaves[i].detach() for i in places]
    plain = all(t.layout == torch.strided and not t.is_quantized and t.device.type == "cpu" for t in tensors)
    if not plain or any(t.numel() > 20_000 for t in tensors):
        return None

    def function(*values):
        filled = list(leaves)
        for place, value in zip(places, values):
            filled[place] = value
        first, args, kwargs = pytree.tree_unflatten(filled, spec)
        return operator.op(first, *args, **kwargs)

    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        try:
            results = pytree.tree_leaves(function(*[tensor.clone() for tensor in tensors]))
        except Exception:
            return None
    if not any(isinstance(result, torch.Tensor) and result.layout == torch.strided for result in results):
        return None
    return Sample(operator.name, function, tensors)


def samples(
    count: int, seed: int = 0, dtypes: tuple = (torch.float32, torch.int64, torch.bool), part: slice = slice(None)
) -> Iterator[Sample]:
    """At most `count` of each operator and dtype, spread over those that torch has; of a part of its table, if asked."""
    for operator in operators()[part]:
        if operator.name in SKIPPED or operator.name.startswith(("_refs", "sparse", "masked.", "jiterator")):
            continue
        for dtype in dtypes:
            if dtype not in operator.supported_dtypes("cpu"):
                continue
            torch.manual_seed(seed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    given = list(operator.sample_inputs("cpu", dtype))
                except Exception:
                    continue
            step = max(1, len(given) // count)
            for one in given[::step][:count]:
                found = _sample(operator, one)
                if found is not None:
                    yield found


class Calls(nn.Module):
    def __init__(self, calls: list[Sample]):
        super().__init__()
        self.calls = calls

    def forward(self, *values):
        results = []
        start = 0
        for call in self.calls:
            end = start + len(call.tensors)
            found = call.function(*values[start:end])
            results += [leaf for leaf in pytree.tree_leaves(found) if isinstance(leaf, torch.Tensor)]
            start = end
        return tuple(results)


def traceable(sample: Sample) -> bool:
    """Whether torch.jit.trace takes it and can write it."""
    try:
        archive([sample]).save_to_buffer()
    except Exception:
        return False
    return True


def archive(calls: list[Sample]) -> torch.jit.ScriptModule:
    inputs = tuple(tensor.clone() for call in calls for tensor in call.tensors)
    with warnings.catch_warnings(), torch.no_grad(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        return torch.jit.trace(Calls(calls), inputs, strict=False, check_trace=False)
