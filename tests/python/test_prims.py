"""Tests the operators of torch's namespace prims: their rows against torch, shapes and dtypes of drawn calls, and that a model which
calls them is traced, written as source and converted."""

import pathlib
import random
import re
import subprocess
import sys
import warnings

import fx_source
import harness
import pytest
import rule_calls
import torch
from test_shape_rules import compare, has_text
from torch import nn

ROOT = pathlib.Path(__file__).resolve().parents[2]
PRIMS = torch.ops.prims
CPU = torch.device("cpu")
F32, F64, I64, C64 = torch.float32, torch.float64, torch.int64, torch.complex64
MADE = {"dtype": F32, "device": CPU, "requires_grad": False}
# Of the results of these no rule tells: numbers of the data or of a dtype, and a token.
UNTOLD = {"_make_token", "item", "maximum_value", "minimum_value"}
# What gives nothing, and what inductor alone carries out.
NOT_CALLED = {"_sink_tokens", "xor_sum"}
# What writes to its argument, or gives other numbers each time.
NOT_IN_A_MODEL = {"copy_to", "resize", "normal", "uniform", "empty", "empty_permuted", "empty_strided", *UNTOLD, *NOT_CALLED}


def rand(*sizes: int, dtype: torch.dtype = F32) -> torch.Tensor:
    return rule_calls._filled(list(sizes), dtype)


# What torch's schemas say and its functions do not: that a view is written, and a default.
DIFFERENT = {"prims::as_strided": ("(a!)", "(a)"), "prims::var": ("correction=1", "correction")}
# Of all operators that are not elementwise: calls, by arguments.
CALLS: dict[str, list[tuple[tuple, dict]]] = {
    "_make_token": [((), {})],
    "_sink_tokens": [],
    "amax": [((rand(4, 6), [1]), {}), ((rand(4, 6, dtype=I64), [0, 1]), {}), ((rand(4, 6), []), {})],
    "as_strided": [((rand(4, 6), [2, 3], [6, 2], 1), {})],
    "as_strided_scatter": [((rand(4, 6), rand(2, 3), [2, 3], [6, 2], 1), {})],
    "broadcast_in_dim": [((rand(4, 6), [2, 4, 6], [1, 2]), {}), ((rand(4, 1), [4, 2, 5], [0, 2]), {}), ((rand(), [3], []), {}),
                         ((rand(4, 6), [4, 6, 1], [0, 1]), {})],
    "cat": [(([rand(2, 3), rand(4, 3)], 0), {}), (([rand(2), rand(2, dtype=F64)], 0), {})],
    "clone": [((rand(1, 2, 3, 4),), {}), ((rand(1, 2, 3, 4),), {"memory_format": torch.channels_last})],
    "collapse": [((rand(2, 3, 4), 0, 1), {}), ((rand(2, 3, 4), 1, 1), {}), ((rand(), 0, 0), {})],
    "collapse_view": [((rand(2, 3, 4), 1, 2), {}), ((rand(2, 3, 4), 0, 2), {})],
    "conj": [((rand(4, 6, dtype=C64),), {})],
    "conj_physical": [((rand(4, 6, dtype=C64),), {})],
    "convert_element_type": [((rand(4, 6), dtype), {}) for dtype in (F64, I64, torch.bool, C64)],
    "copy_strided": [((rand(4, 6), [1, 4]), {})],
    "copy_to": [((rand(4, 6), rand(4, 6, dtype=I64)), {})],
    "device_put": [((rand(4, 6), CPU), {})],
    "empty": [(([2, 3],), MADE)],
    "empty_permuted": [(([2, 3], [1, 0]), MADE)],
    "empty_strided": [(([2, 3], [1, 2]), MADE)],
    "fft_c2c": [((rand(4, 6, dtype=C64),), {"dim": [1], "forward": True})],
    "fft_c2r": [((rand(4, 6, dtype=C64),), {"dim": [0, 1], "last_dim_size": 9})],
    "fft_r2c": [((rand(4, 6),), {"dim": [1], "onesided": True}), ((rand(4, 6, dtype=F64),), {"dim": [0], "onesided": False})],
    "fill": [((rand(4, 6), 2.5), {})],
    "frexp": [((rand(4, 6),), {})],
    "full": [(([2, 3], 1.5), MADE), (([], 1), {**MADE, "dtype": I64})],
    "full_like": [((rand(4, 6), 1), {**MADE, "dtype": F64})],
    "imag": [((rand(4, 6, dtype=C64),), {})],
    "iota": [((5,), {**MADE, "dtype": I64, "start": 0, "step": 2}), ((3,), {**MADE, "dtype": torch.int32, "start": 7, "step": -1})],
    "item": [((rand(),), {})],
    "maximum_value": [((F32,), {})],
    "normal": [(([2, 3],), {**MADE, "mean": 0.0, "std": 1.0})],
    "prod": [((rand(2, 3, dtype=torch.int32), []), {}), ((rand(2, 3, dtype=torch.int32), [0, 1]), {}), ((rand(2, 3), [1]), {})],
    "reshape": [((rand(2, 6), [3, 4]), {})],
    "resize": [((rand(0), [2, 3]), {})],
    "rev": [((rand(2, 3), [0, 1]), {})],
    "scalar_tensor": [((1.5,), {"dtype": F64, "device": CPU})],
    "split_dim": [((rand(4, 6), 1, 2), {}), ((rand(4, 6), 0, 4), {})],
    "squeeze": [((rand(1, 3, 1), [0, 2]), {}), ((rand(1, 3, 1), [2]), {}), ((rand(1, 3), []), {})],
    "sum": [((rand(4, 6), [0]), {}), ((rand(4, 6, dtype=torch.int32), [0, 1]), {}), ((rand(4, 6, dtype=torch.bool), [1]), {}),
            ((rand(4, 6), []), {})],
    "svd": [((rand(2, 4, 6),), {"full_matrices": full}) for full in (False, True)],
    "transpose": [((rand(2, 3, 4), [2, 0, 1]), {})],
    "uniform": [(([2, 3],), {"low": 0.0, "high": 1.0, "dtype": F32, "device": CPU, "stride": [3, 1]})],
    "var": [((rand(4, 6), [0], 1.0), {}), ((rand(4, 6, dtype=C64), [0, 1], 0.0), {})],
    "view_of": [((rand(4, 6),), {})],
    "view_of_dtype": [((rand(4, 6), torch.int32), {}), ((rand(4, 6), F64), {})],
    "where": [((rand(4, 6, dtype=torch.bool), rand(4, 6), rand(4, 6)), {}), ((rand(dtype=torch.bool), rand(3), rand(3)), {})],
    "xor_sum": [],
}  # fmt: skip
CALLS |= {"amin": CALLS["amax"], "minimum_value": CALLS["maximum_value"], "real": CALLS["imag"]}


def schemas() -> list[torch._C.FunctionSchema]:
    # Inductor registers operators of its own there, once a test has imported it.
    names = "import torch; print(*{each.name for each in torch._C._jit_get_all_schemas()})"
    own = set(subprocess.run([sys.executable, "-c", names], capture_output=True, text=True, check=True).stdout.split())
    found = [schema for schema in torch._C._jit_get_all_schemas() if schema.name.startswith("prims::") and schema.name in own]
    return sorted(found, key=lambda schema: schema.name.encode())


def calls_of(schema: torch._C.FunctionSchema) -> list[rule_calls.Call]:
    name = schema.name.removeprefix("prims::")
    found = getattr(PRIMS, name).default
    names = tuple(argument.name for argument in schema.arguments)
    keywords = [argument.name for argument in schema.arguments if argument.kwarg_only]

    def function(*values):
        positional = len(names) - len(keywords)
        given = [value for value, argument in zip(values, schema.arguments) if argument.name not in keywords]
        return found(*given, **{name: value for name, value in zip(keywords, values[positional:]) if value is not None})

    drawn = CALLS.get(name)
    if drawn is None:
        assert [argument.type.annotation_str for argument in schema.arguments] in (["Tensor"], ["Tensor"] * 2), f"no call of {name}"
        dtypes = (F32, F64, torch.float16, I64, torch.int32, torch.uint8, torch.bool, C64)
        drawn = [((rand(4, 6, dtype=dtype),) * len(names), {}) for dtype in dtypes]
        drawn.append(((rand(4, 6), rand())[: len(names)], {}))
    return [
        rule_calls.Call(f"prims::{name}", function, (*args, *(kwargs.get(name) for name in names[len(args) :])), names)
        for args, kwargs in drawn
    ]


def test_the_rows_are_what_torch_registers():
    """The tags are those of the dispatcher, which has fewer than Python's operator."""
    rows = re.findall(r"^prims::.*", (ROOT / "schemas/operators/extensions.txt").read_text(), re.MULTILINE)
    traits = {torch.Tag.nondeterministic_seeded: "random", torch.Tag.pointwise: "pointwise"}
    expected = []
    for schema in schemas():
        tags = torch._C._get_operation_overload(schema.name, "")[2]
        text = str(schema).replace(*DIFFERENT.get(schema.name, ("", "")))
        found = " ".join(trait for tag, trait in traits.items() if tag in tags)
        expected.append(f"{text} # {found}" if found else text)
    assert rows == expected


def test_shapes(program):
    tool = str(pathlib.Path(program.path).with_name("shape_calls"))
    rng = random.Random(0)
    calls = [call for schema in schemas() for call in calls_of(schema)]
    assert len({call.operator for call in calls}) == len(schemas()) - len(NOT_CALLED)
    with_tensors = [call for call in calls if list(rule_calls.tensors_in(call.arguments))]
    slightly_wrong = [rule_calls.perturbed(rng.choice(with_tensors), rng) for _ in range(600)]
    kinds = compare(tool, [call for call in calls + slightly_wrong if has_text(call)])
    assert not kinds["wrong"] and not kinds["too strict"], "\n".join(kinds["wrong"] + kinds["too strict"])
    untold = [line for line in kinds["untold"] if re.match(r"prims::(\w+)", line).group(1) not in UNTOLD]
    assert not untold, "\n".join(untold)
    assert len(kinds["right"]) > 500 and len(kinds["refused"]) > 100, {kind: len(lines) for kind, lines in kinds.items()}


class Calls(nn.Module):
    def __init__(self, calls: list[rule_calls.Call]):
        super().__init__()
        self.calls = calls

    def forward(self, *tensors):
        given = iter(tensors)
        results = []
        for call in self.calls:
            found = call.function(*rule_calls.map_tensors(lambda _: next(given), call.arguments))
            results += [found] if torch.is_tensor(found) else list(found)
        return tuple(results)


@pytest.mark.volume
def test_models(program, tmp_path):
    calls = []
    for schema in schemas():
        if schema.name.removeprefix("prims::") not in NOT_IN_A_MODEL:
            calls += calls_of(schema)[:1] + calls_of(schema)[-1:]
    # torch.jit.trace takes no devices.
    calls = [call for call in calls if not any(value is CPU for value in call.arguments) and has_text(call) and runs(call)]
    inputs = tuple(tensor.clone() for call in calls for tensor in rule_calls.tensors_in(call.arguments))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = torch.jit.trace(Calls(calls), inputs, check_trace=False)
    path = str(tmp_path / "model.pt")
    model.save(path)
    given = [f"--input={rule_calls.text_of(tensor)}" for tensor in inputs]
    collection = program.trace(path, *given)
    nodes = [node for node in collection["graphs"][0]["nodes"] if node["target"].startswith("prims.")]
    assert {node["target"].split(".")[1] for node in nodes} == {call.operator.removeprefix("prims::") for call in calls}
    results = model(*inputs)
    harness.compare_runs(path, collection["graphs"][0], "forward", inputs, {})
    source = fx_source.load(program, path, *given)
    (graph,) = fx_source.classes(source)
    assert harness.difference(results, fx_source.make(graph, model, path)(*inputs)) is None
    done = program.run("convert", path, "-o", path + "2", *given)
    assert done.returncode == 0, done.stderr.decode()
    exported = torch.export.load(path + "2")
    for form in (exported, exported.run_decompositions()):
        assert harness.difference(results, form.module()(*inputs)) is None
    # The layouts that the program states are those of the results, but for kernels of libraries.
    output = exported.graph.output_node().args[0]
    assert len(output) == len(results)
    wrong = [f"{node.target}: {node.meta['val'].stride()}, really {tensor.stride()}" for node, tensor in zip(output, results)
             if node.meta["val"].stride() != tensor.stride() and not re.match("prims.fft|<built-in", str(node.target))]  # fmt: skip
    assert not wrong, "\n".join(wrong)


def runs(call: rule_calls.Call) -> bool:
    try:
        call.run()
    except Exception:
        return False
    return True
