"""Compares the tables in lib/operators of torch.nn's modules and functions with torch: signatures, and runs on torch's own
samples."""

import importlib
import inspect
import os
import re
import warnings

import harness
import op_samples
import pytest
import tiers
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils import _pytree as pytree

OP_DB = op_samples.operators()  # first: it makes torch's tables importable
module_db = importlib.import_module("torch.testing._internal.common_modules").module_db

OPERATORS = os.path.join(harness.ROOT, "lib", "operators")


def rows(file: str) -> dict[str, str]:
    """Of a table in C++: the name, and what stands behind it; names of groups of traits are spelled out."""
    with open(os.path.join(OPERATORS, "names", file), encoding="utf-8") as source:
        text = source.read()
    groups = dict(re.findall(r"constexpr \w+Traits (\w+) = ([^;]+);", text))
    found = {}
    for space, names, rest in re.findall(r'\{\s*"([\w.]+)",\s*((?:"[^"]*"\s*)+)((?:,\s*\{?[^{}]*\}?)?)\s*\},', text):
        for name in re.findall(r"\w+", names):
            found[f"{space}.{name}"] = re.sub(r"\w+", lambda word: groups.get(word[0], word[0]), rest)
    return found


MODULES, FUNCTIONS = rows("modules.cpp"), rows("function_traits.cpp")
LEFT_OUT = re.compile(r"Lazy|Transformer|Container|Module|Parameter|Sequential|Base$|WithDistanceLoss|LinearCrossEntropy")


def test_every_module_is_there():
    assert len(MODULES) > 100
    for name in sorted(nn.modules.__all__):
        kind = getattr(nn, name)
        row = f"{kind.__module__.removeprefix('torch.nn.modules.')}.{name}"
        assert (row in MODULES) != bool(LEFT_OUT.search(name)), name
        if row in MODULES:
            has_option = "inplace" in inspect.signature(kind.__init__).parameters
            assert has_option == ("kInPlaceOption" in MODULES[row]), name


def test_signatures_of_functions():
    assert len(FUNCTIONS) > 150
    for name, row in FUNCTIONS.items():
        space, _, base = name.rpartition(".")
        if space not in ("torch.nn.functional", "torch.functional"):
            continue
        function = getattr(F if space == "torch.nn.functional" else torch.functional, base, None)
        if not inspect.isfunction(function) or base.startswith("_"):
            continue
        signature = inspect.signature(function).parameters
        parameters = list(signature)
        given = re.search(r'(?:"(\w+)"|\{\}), (-?\d+)(?:, (\d+))?', row)
        option, option_at, in_place_at = given.groups() if given else (None, "-1", None)
        assert ("inplace" in parameters) == ("kInPlaceOption" in row), name
        if in_place_at:
            assert parameters[int(in_place_at)] == "inplace", name
        if option:
            assert parameters[int(option_at)] == option, name
            assert bool(signature[option].default) == ("kOnByDefault" in row), name


def tensors(value) -> list[torch.Tensor]:
    return [leaf for leaf in pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def storages(values) -> set[int]:
    return {value.untyped_storage().data_ptr() for value in values if value.numel() and not value.is_sparse}


def check(what: str, traits: str, call, given, own=()) -> None:
    """Runs call() and holds what happened to `given` and `own` against the traits."""
    before = [[value.clone() for value in values] for values in (given, own)]
    state = torch.get_rng_state()
    result = call()
    assert torch.equal(state, torch.get_rng_state()) or "Random" in traits, f"{what} draws random numbers"
    def same(a: torch.Tensor, b: torch.Tensor) -> bool:
        return torch.equal(torch.nan_to_num(a), torch.nan_to_num(b))

    changed = [any(not same(*pair) for pair in zip(*each, strict=True)) for each in zip(before, (given, own))]
    assert not changed[0] or "OptionWrites" in traits or "WritesFirst" in traits, f"{what} writes its inputs"
    assert not changed[1] or "WritesOwn" in traits, f"{what} writes its parameters"
    shares = storages(tensors(result)) & (storages(given) | storages(own))
    assert not shares or "kMayBeArgument" in traits or "kShares" in traits, f"{what} gives back its input"


def check_more_dimensions(name: str, module: nn.Module, x: torch.Tensor) -> None:
    """Two more dimensions in front are those of the result."""
    batch = torch.stack([x, x.flip(0) if x.dim() else x]).unsqueeze(1)
    expected = torch.stack([module(sample) for sample in batch.flatten(0, 1)]).unsqueeze(1)
    torch.testing.assert_close(module(batch), expected, equal_nan=True, msg=name)


def check_rows(name: str, module: nn.Module, x: torch.Tensor, spatial: int) -> None:
    """Each row is by itself, and may come without the dimension of rows."""
    assert x.dim() in (spatial + 1, spatial + 2), name
    one = x if x.dim() == spatial + 1 else x[0]
    rows = torch.stack([one, one.flip(-1)])
    for result, *expected in zip(tensors(module(rows)), tensors(module(rows[0])), tensors(module(rows[1]))):
        torch.testing.assert_close(result, torch.stack(expected), equal_nan=True, msg=name)


@pytest.mark.parametrize("info", tiers.one_in(6, module_db), ids=lambda info: info.name)
def test_modules_do_what_is_said(info):
    name = f"{info.module_cls.__module__.removeprefix('torch.nn.modules.')}.{info.module_cls.__name__}"
    if name not in MODULES:
        pytest.skip("nothing is said of it")
    for training in (False, True):
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            samples = info.module_inputs_func(info, device="cpu", dtype=torch.float64, requires_grad=False, training=training)
            for sample in samples:
                made, run = sample.constructor_input, sample.forward_input
                if run is None or made.kwargs.get("inplace"):
                    continue
                module = info.module_cls(*made.args, **made.kwargs).train(training).double()
                own = [*module.parameters(), *module.buffers()]
                if "kAnyRank" in MODULES[name] and not training:
                    check_more_dimensions(name, module, tensors((run.args, run.kwargs))[0])
                rows = re.search(r"kRows(\d)d", MODULES[name])
                if rows and not training:
                    check_rows(name, module, tensors((run.args, run.kwargs))[0], int(rows[1]))
                traits = MODULES[name] if training else MODULES[name].replace("kRandomInTraining", "").replace("kWritesOwnInTraining", "")
                check(name, traits, lambda m=module, r=run: m(*r.args, **r.kwargs), tensors((run.args, run.kwargs)), own)


@pytest.mark.parametrize("op", tiers.one_in(8, [op for op in OP_DB if "torch." + op.name in FUNCTIONS and op.supported_dtypes("cpu")]), ids=lambda op: op.formatted_name)
def test_functions_do_what_is_said(op):
    row = FUNCTIONS["torch." + op.name]
    dtype = next(kind for kind in (torch.float64, torch.float32, torch.int64) if kind in op.supported_dtypes("cpu"))
    for sample in list(op.sample_inputs("cpu", dtype, requires_grad=False))[:20]:
        if sample.kwargs.get("inplace"):
            continue
        given = tensors((sample.input, sample.args, sample.kwargs))
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            check(op.name, row, lambda s=sample: op(s.input, *s.args, **s.kwargs), given)
