"""Compares the shapes that `--input` infers for every node with a run, on models, operators and small modules.

The models are those of zoo.py; the operators are torch's own table of them; the modules are in size_modules.py.
"""

import functools
import json
import random
import re
from collections.abc import Callable
from typing import Any

import harness
import op_samples
import pytest
import shapes
import size_modules
import tiers
import torch
import tvcompat
import zoo
from fxtrace import _torchscript

MIN_KNOWN = 0.98
def spec(tensor: torch.Tensor, batch: str | None = None) -> str:
    sizes = [str(size) for size in tensor.shape]
    if batch:
        sizes[0] = batch
    return f"{str(tensor.dtype).removeprefix('torch.')}[{','.join(sizes)}]"


def options_for(inputs: tuple, batch: str | None = None) -> list[str]:
    """--input for each tensor, and each in a list."""
    options = []
    for i, value in enumerate(inputs):
        if isinstance(value, list):
            options += [f"--input={i}.{k}={spec(tensor)}" for k, tensor in enumerate(value)]
        else:
            options.append(f"--input={i}={spec(value, batch)}")
    return options


def with_batch(inputs: tuple, batch: int) -> tuple:
    """The same inputs with other items, and more or fewer of them."""
    return tuple(
        value.roll(1, 0).repeat(batch, *[1] * (value.dim() - 1))[:batch].contiguous() for value in inputs
    )


def trace(program: harness.Program, path: str, *options: str) -> dict:
    """Without the schema, which takes longer than the trace of a large model."""
    return json.loads(program.stdout("trace", path, "-f", "json", *options))


def summary(report: shapes.Report) -> str:
    return (
        f"{report.known} of {report.tensors} tensors known, {report.by_data} of them with sizes by data, "
        f"and {report.integers} integers; others: {report.unknown.most_common()}"
    )


# --- models ---


class Zoo:
    def __init__(self, archive: Callable[[str], str]):
        self.archive = archive
        self.report = shapes.Report()
        self.models: list[str] = []
        self.last: tuple[str, torch.nn.Module] | None = None

    def model(self, path: str) -> torch.nn.Module:
        if self.last is None or self.last[0] != path:
            self.last = (path, _torchscript.load(path))
        return self.last[1]


@pytest.fixture(scope="module")
def models(zoo_archive) -> Zoo:
    tvcompat.add_kernels()
    return Zoo(zoo_archive)


# Without gradients their attention takes a path of its own, whose results Python cannot hold: a tensor is undefined.
NEED_GRADIENTS = ("tv_vit_scripted", "transformer_scripted")


def check_model(program, models: Zoo, name: str, *options: str) -> shapes.Report:
    """Compares every node: with the sizes of the inputs, and with a named batch at two sizes."""
    path = models.archive(name)
    model = models.model(path)
    inputs = torch.load(path.removesuffix(".pt") + ".inputs.pt")
    report = shapes.Report()
    grad = name in NEED_GRADIENTS

    def run(graph: dict, inputs: tuple, values: dict[str, int]) -> None:
        with torch.jit.optimized_execution(False):  # which costs more than a few runs
            with torch.set_grad_enabled(grad):
                expected = model(*inputs)
            found, actual = shapes.compare(path, graph, inputs, values, model, False, grad)
        report.add(found)
        assert harness.difference(expected, actual) is None

    run(trace(program, path, *options_for(inputs), *options)["graphs"][0], inputs, {})
    if name not in zoo.FIXED_BATCH:
        named = trace(program, path, *options_for(inputs, "batch"), "--dim=batch=1..64", *options)["graphs"][
            0
        ]
        for batch in (3, 2):
            run(named, with_batch(inputs, batch), {"batch": batch})
    assert not report.wrong, "\n".join(report.wrong[:20])
    return report


@pytest.mark.parametrize("name", tiers.in_turn(["resnet18_scripted", "vit_traced"], zoo.shapes_names()))
def test_every_node_of_a_model(program, models, name):
    report = check_model(program, models, name)
    print(summary(report))
    models.report.add(report)
    models.models.append(name)


@pytest.mark.volume
@pytest.mark.parametrize("name", [name for name in zoo.shapes_names() if name.endswith("_scripted")])
def test_inside_the_leaves(program, models, name):
    report = check_model(program, models, name, "--no-default-leaves")
    print(summary(report))
    models.report.add(report)
    models.models.append(name)


@pytest.mark.volume
def test_almost_all_nodes_are_known(models):
    """Over those tests before this one that were run."""
    report = models.report
    print(f"{len(models.models)} runs: {summary(report)}")
    assert report.share >= MIN_KNOWN, f"{report.known} of {report.tensors}: {report.unknown.most_common(40)}"


# --- modules that failed for want of sizes ---

# Not faster_rcnn, whose modules set attributes to lists of tensors: what follows from these has no shapes.
SIZED = ("swin", "inception", "googlenet", "timm_vit", "timm_mobilenetv3", "lstm", "attention")


@pytest.mark.volume
@pytest.mark.parametrize("rules", ["default", "no-default-leaves"])
@pytest.mark.parametrize("name", [f"{name}_scripted" for name in SIZED])
def test_no_module_fails_for_its_sizes(program, models, name, rules):
    path = models.archive(name)
    inputs = torch.load(path.removesuffix(".pt") + ".inputs.pt")
    before = trace(program, path, *harness.RULES[rules])
    after = program.trace(path, *harness.RULES[rules], *options_for(inputs))
    harness.check_collection(after)
    failed = {m["path"]: m["failure"]["message"] for m in after["modules"] if m["failure"]}
    print(f"{name}, {rules}: {len(harness.failed_modules(before))} failed before, {len(failed)} with shapes")
    assert not failed
    with torch.no_grad():
        expected = models.model(path)(*inputs)
        actual = harness.rebuild(path, after["graphs"][0], models.model(path))(*inputs)
    assert harness.difference(expected, actual) is None


# --- small modules, random ranges ---


def sizes_of(text: str, dims: dict[str, int]) -> tuple[str, list[int]]:
    dtype, sizes = re.fullmatch(r"(\w+)\[(.*)\]", text).groups()
    return dtype, [shapes.evaluate(size, dims) for size in sizes.split(",")]


def values_for(case: size_modules.Case, dims: dict[str, int]) -> tuple:
    made = []
    for text in case.inputs:
        dtype, sizes = sizes_of(text, dims)
        made.append(torch.randint(0, 4, sizes) if dtype == "int64" else torch.randn(sizes))
    return tuple(made)


def random_range(rng: random.Random, low: int, high: int) -> tuple[int, int]:
    first = rng.randint(low, high)
    return rng.choice([(first, first), (first, rng.randint(first, high)), (low, high), (low, first)])


def every_value(ranges: dict[str, tuple[int, int]]) -> list[dict[str, int]]:
    result: list[dict[str, int]] = [{}]
    for name, (low, high) in ranges.items():
        result = [{**dims, name: value} for dims in result for value in range(low, high + 1)]
    return result


@pytest.fixture(scope="module")
def scripted(tmp_path_factory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("sizes")
    paths = {}
    for case in size_modules.CASES:
        torch.manual_seed(0)
        paths[case.name] = str(folder / f"{case.name}.pt")
        torch.jit.script(case.module().eval()).save(paths[case.name])
    return paths


ROUNDS = 2


@pytest.mark.parametrize("seed", tiers.only([0], range(ROUNDS)))
@pytest.mark.parametrize("case", size_modules.CASES, ids=lambda case: case.name)
def test_random_ranges(program, scripted, case, seed):
    rng = random.Random(f"{case.name} {seed}")
    ranges = {name: random_range(rng, *limits) for name, limits in case.dims.items()}
    allowed = [dims for dims in every_value(ranges) if case.asserts(dims)]
    if not allowed:
        ranges = dict(case.dims)
        allowed = [dims for dims in every_value(ranges) if case.asserts(dims)]
    path = scripted[case.name]
    options = [f"--input={text}" for text in case.inputs]
    options += [f"--dim={name}={low}..{high}" for name, (low, high) in ranges.items()]
    collection = (program.trace if seed == 0 else functools.partial(trace, program))(path, *options)
    harness.check_collection(collection)
    said = " ".join(options)
    paths = {repr(case.path(dims)) for dims in allowed}
    failed = [module for module in collection["modules"] if module["failure"]]
    if len(paths) > 1:
        assert failed, f"{said}: one of {paths} was chosen, and all are possible"
    elif case.must_decide:
        assert not failed, f"{said}: {failed[0]['failure']['message']}"
    for module in failed:
        failure = module["failure"]
        assert failure["kind"] == "data_dependent_control_flow", f"{said}: {failure}"
        named = shapes.names_in(failure["message"])  # the size, or the list of so many tensors
        by_data = any(map(shapes.BY_DATA.fullmatch, named))
        assert named & set(ranges) or by_data or "len(x." in failure["message"], f"{said}: {failure}"
    graph = collection["graphs"][0]
    if not failed:
        guards = " ".join(guard["expr"] for guard in graph["guards"])
        for size, holds in case.asserts_of.items():
            if not all(map(holds, every_value(ranges))):
                assert size in guards, f"{said}: guards are {guards}"
    for dims in rng.sample(allowed, min(3, len(allowed))):
        inputs = values_for(case, dims)
        model = _torchscript.load(path)
        with torch.no_grad():
            expected = model(*inputs)
        report, actual = shapes.compare(path, graph, inputs, dims, model, check=False)
        assert not report.wrong, f"{said}: {report.wrong}"
        assert harness.difference(expected, actual) is None
        if not failed:
            assert not report.unknown, f"{said}: {dict(report.unknown)}"
            assert case.by_data or report.by_data == 0, said


# --- operators ---

CALLS = 250  # in one archive


@pytest.fixture(scope="module")
def operator_archives(tmp_path_factory) -> Callable[[int], list[tuple[str, list[op_samples.Sample]]]]:
    """Makes archives of so many calls of each operator: of floats, and of integers where there are several."""

    @functools.cache
    def make(count: int) -> list[tuple[str, list[op_samples.Sample]]]:
        folder = tmp_path_factory.mktemp("operators")
        dtypes = (torch.float32,) if count == 1 else (torch.float32, torch.int64)
        calls = [sample for sample in op_samples.samples(count, dtypes=dtypes) if op_samples.traceable(sample)]
        assert len({call.operator for call in calls}) > 400
        made = []
        for start in range(0, len(calls), CALLS):
            part = calls[start : start + CALLS]
            made.append((str(folder / f"{start}.pt"), part))
            op_samples.archive(part).save(made[-1][0])
        return made

    return make


def named_sizes(
    calls: list[op_samples.Sample], least: int, shared: bool = True
) -> tuple[list[str], list[str], dict[str, int]]:
    """Options that name all sizes from `least` on, and what the names stand for.

    Equal sizes of a call have the same name where names are shared, else each dimension has its own.
    """
    inputs, ranges, values = [], [], {}
    for i, call in enumerate(calls):
        for tensor in call.tensors:
            sizes = []
            for size in tensor.shape:
                name = f"d{i}_{size}" if shared else f"d{len(values)}"
                if size >= least and name not in values:
                    values[name] = size
                    ranges.append(f"--dim={name}={least}..")
                sizes.append(name if size >= least else str(size))
            inputs.append(f"--input={str(tensor.dtype).removeprefix('torch.')}[{','.join(sizes)}]")
    return inputs, ranges, values


# The calls of each operator, the least size that has a name, whether equal ones share it, and the least share of tensors that
# is known.
KINDS = {
    "one call": (1, 2, True, 0.9),
    "numbers": (2, 10**9, True, 0.97),
    "names from 2": (2, 2, True, 0.9),
    "names from 0": (2, 0, True, 0.9),
    "all names differ": (2, 0, False, 0.5),
}


@pytest.mark.parametrize("kind", tiers.in_turn(["one call"], KINDS, 2))
def test_operators(program, operator_archives, kind):
    count, least, shared, least_known = KINDS[kind]
    total = shapes.Report()
    for path, calls in operator_archives(count):
        inputs, ranges, values = named_sizes(calls, least, shared)
        collection = trace(program, path, *inputs, *ranges)
        assert harness.failed_modules(collection) == []
        tensors = tuple(tensor.clone() for call in calls for tensor in call.tensors)
        report, _ = shapes.compare(path, collection["graphs"][0], tensors, values, check=False)
        total.add(report)
    print(f"{kind}: {summary(total)}")
    assert not total.wrong, f"{len(total.wrong)}: " + "\n".join(total.wrong[:50])
    assert total.share >= least_known, total.unknown.most_common(60)


def test_reports_can_be_wrong(program, scripted):
    """The comparison itself notices sizes, dtypes and integers that are not right."""
    path = scripted["Reshaped"]
    graph = trace(program, path, "--input=float32[batch,2*pairs,height]")["graphs"][0]
    dims = {"batch": 2, "pairs": 3, "height": 4}
    inputs: Any = (torch.randn(2, 6, 4),)
    report, _ = shapes.compare(path, graph, inputs, dims)
    assert report.known == report.tensors > 5
    first = next(node for node in graph["nodes"] if node["target"] == "aten.view.default")
    for wrong in ({"shape": [1, 2, 3, 4]}, {"shape": ["batch"]}, {"dtype": "int64"}, {"device": "cuda"}):
        right = dict(first["meta"])
        first["meta"].update(wrong)
        with pytest.raises(shapes.WrongShape, match=first["name"]):
            shapes.compare(path, graph, inputs, dims)
        first["meta"] = right
    with pytest.raises(shapes.WrongShape):
        shapes.compare(path, graph, inputs, {**dims, "batch": 3})
