"""Compares the operator table of lib/operators with torchgen's groups of variants and with torch's own samples."""

import json
import pathlib
import subprocess
import warnings

import pytest
import torch

import op_samples

warnings.filterwarnings("ignore")
SAMPLES = 6  # of each operator


@pytest.fixture(scope="session")
def table(program):
    tool = pathlib.Path(program.path).with_name("operator_traits")
    lines = subprocess.run([tool], check=True, capture_output=True, text=True).stdout.splitlines()
    return {row["name"]: row for row in map(json.loads, lines)}


def tensors(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in tensors(item)]
    return []


def storage(tensor):
    return tensor.untyped_storage()._cdata if tensor.layout == torch.strided and tensor.numel() else None


def same(a, b):
    if a.layout != torch.strided or a.is_quantized:
        return True  # cannot be told
    return a.shape == b.shape and torch.allclose(a, b, rtol=0, atol=0, equal_nan=True)


def calls(table, wanted=lambda row: True):
    """(row, overload, args, kwargs) for every overload of a wanted row that takes a sample of torch's own."""
    bases = {name.split("::")[1].split(".")[0] for name, row in table.items() if wanted(row)}
    for op in op_samples.operators():
        names = {op.aten_name, op.name.replace(".", "_"), (op.inplace_variant and op.aten_name + "_") or op.aten_name}
        if not names & bases:
            continue
        dtype = next((d for d in (torch.float32, torch.int64, torch.bool) if d in op.dtypes), None)
        if dtype is None:
            continue
        try:
            torch.manual_seed(0)
            samples = [s for s, _ in zip(op.sample_inputs("cpu", dtype), range(SAMPLES))]
        except Exception:
            continue
        for name in sorted(names):
            packet = getattr(torch.ops.aten, name, None)
            if packet is None:
                continue
            for overload_name in packet.overloads():
                full = f"aten::{name}" + ("" if overload_name == "default" else f".{overload_name}")
                if full not in table or not wanted(table[full]):
                    continue
                overload = getattr(packet, overload_name)
                for sample in samples:
                    yield table[full], overload, (sample.input, *sample.args), sample.kwargs


def copied(value):
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, (list, tuple)):
        return type(value)(copied(item) for item in value)
    return value


@pytest.mark.volume
def test_operators_do_what_the_table_says(table):
    seen, wrong = set(), set()
    for row, overload, args, kwargs in calls(table):
        args, kwargs = copied(args), {key: copied(value) for key, value in kwargs.items()}
        formals = [a.name for a in overload._schema.arguments]
        if len(args) > len(formals):
            continue
        bound = dict(zip(formals, args)) | kwargs
        before = {name: [copied(t) for t in tensors(value)] for name, value in bound.items()}
        state = torch.get_rng_state()
        try:
            results = overload(*args, **kwargs)
        except Exception:
            continue
        seen.add(row["name"])
        drew = not torch.equal(state, torch.get_rng_state())
        if drew and not row["random"]:
            wrong.add(f"{row['name']} draws random numbers")
        inputs = [t for value in bound.values() for t in tensors(value)]
        keeps_rank = row["keeps_rank"] or (row["pointwise"] and len(inputs) == 1)
        if keeps_rank and isinstance(results, torch.Tensor) and results.dim() != inputs[0].dim():
            wrong.add(f"{row['name']} does not keep the rank")
        claims = {(a["result"], a["argument"]): a for a in row["aliases"]}
        for name, value in bound.items():
            for was, tensor in zip(before[name], tensors(value)):
                changed = was.shape != tensor.shape or not same(was, tensor)
                if changed and name not in row["writes"] and not (row["may_write"] and not row["writes"]):
                    wrong.add(f"{row['name']} writes {name}")
        outs = results if isinstance(results, tuple) else (results,)
        for i, result in enumerate(outs):
            for tensor in tensors(result):
                for name, value in bound.items():
                    for argument in tensors(value):
                        shared = storage(tensor) is not None and storage(tensor) == storage(argument)
                        claim = claims.get((i, name))
                        if shared and claim is None:
                            wrong.add(f"{row['name']}: result {i} aliases {name}")
                        if tensor is argument and claim is not None and not claim["may_be_same"]:
                            wrong.add(f"{row['name']}: result {i} is {name}")
                        if claim and claim["always"] and not shared and storage(tensor) and storage(argument):
                            if not isinstance(value, (list, tuple)):
                                wrong.add(f"{row['name']}: result {i} does not alias {name}")
    assert not wrong, "\n" + "\n".join(sorted(wrong))
    assert len(seen) > 700


def test_methods_of_tensors_are_there(table):
    methods = {row["name"].split("::")[1].split(".")[0] for row in table.values() if row["tensor_method"]}
    assert len(methods) > 50 and [name for name in methods if not callable(getattr(torch.Tensor, name, None))] == []


def test_twins_are_those_of_torchgen(table):
    """torchgen groups native_functions.yaml by signature; what it holds for one operator in three spellings is one here."""
    import torchgen
    from torchgen.gen import parse_native_yaml
    from torchgen.model import SchemaKind
    from torchgen.native_function_generation import pre_group_native_functions

    native = pathlib.Path(torchgen.__file__).parent / "packaged/ATen/native"
    functions = parse_native_yaml(str(native / "native_functions.yaml"), str(native / "tags.yaml")).native_functions
    kinds = (SchemaKind.functional, SchemaKind.inplace, SchemaKind.out)
    compared, wrong = 0, []
    for group in pre_group_native_functions(functions).values():
        names = {kind: f"{f.namespace}::{f.func.name}" for kind, f in group.items() if kind in kinds}
        functional = names.get(SchemaKind.functional)
        if functional not in table or table[functional]["writes"]:
            continue  # set_data() and the like write, and are called functional
        for name in names.values():
            if name in table:
                compared += 1
                if table[name]["functional"] != functional:
                    wrong.append(f"{name}: the functional one is {functional}, not {table[name]['functional']}")
    assert not wrong, "\n".join(wrong)
    assert compared > 2000


def undo(inverse, overload, base, changed, index, args, kwargs):
    """The base after the view's place in it was given the values of `changed`, as view_inverse() says."""
    target, form = inverse
    space, name, variant = target.split(".")
    function = getattr(getattr(getattr(torch.ops, space), name), variant)
    if form == "changed":
        return function(changed)
    if form == "changed_rest":
        return function(changed, *args, **kwargs)
    if form == "changed_base":
        return function(changed, base)
    if form == "base_changed_rest":
        return function(base, changed, *args, **kwargs)
    if form == "permutation":
        dims = [dim % base.dim() for dim in args[0]]
        return function(changed, [dims.index(dim) for dim in range(len(dims))])
    if form == "swapped_rest":
        return function(changed, args[1], args[0])
    if form == "windows":  # windows that overlap have no inverse
        dim, size, step = args[0] % base.dim(), args[1], args[2]
        places = torch.arange(changed.shape[dim])[:, None] * step + torch.arange(size)
        return function(base, [None] * dim + [places], changed.movedim(-1, dim + 1))
    assert form == "part"
    bound = dict(zip([a.name for a in overload._schema.arguments[1:]], args)) | kwargs
    dim = bound.get("dim", 0)
    if name == "select_scatter":
        return function(base, changed, dim, index)
    start = bound["start"] if "start" in bound else sum(part.shape[dim] for part in overload(base, *args, **kwargs)[:index])
    start = int(start) % base.shape[dim] if int(start) < 0 else int(start)
    return function(base, changed, dim, start, start + changed.shape[dim])


def test_views_are_undone(table):
    def has_inverse(row):
        return row["inverse"][1] != "none"

    def further():  # of which torch has no samples
        x = torch.randn(2, 3)
        c = torch.randn(2, 3, dtype=torch.complex64)
        simple = ("_neg_view", "adjoint", "alias", "detach", "lift_fresh", "matrix_H", "numpy_T", "t")
        given = [(name, (x,)) for name in simple] + [("_conj", (c,)), ("view_as_real", (c,))]
        given += [("swapaxes", (x, 0, 1)), ("swapdims", (x, 0, -1)), ("_reshape_alias", (x, [3, 2], [2, 1]))]
        for name, args in given:
            yield table[f"aten::{name}"], getattr(torch.ops.aten, name).default, args, {}
        y = torch.randn(2, 3, 4)
        for args in [(y, 2, 2, 2), (y, -2, 2, 1), (y, 0, 2, 5)]:
            yield table["aten::unfold"], torch.ops.aten.unfold.default, args, {}
        for name in ("movedim", "moveaxis"):
            for overload, args in [("int", (y, 0, -1)), ("int", (y, 2, 1)), ("intlist", (y, [0, 2], [1, 0]))]:
                yield table[f"aten::{name}.{overload}"], getattr(getattr(torch.ops.aten, name), overload), args, {}

    seen = set()
    for row, overload, args, kwargs in [*calls(table, has_inverse), *further()]:
        if not isinstance(args[0], torch.Tensor):
            continue
        base = args[0].detach().clone()
        try:
            views = overload(base, *args[1:], **kwargs)
        except Exception:
            continue
        for index, view in enumerate(tensors(views)):
            written = base.clone()
            expected = tensors(overload(written, *args[1:], **kwargs))[index]
            if storage(expected) != storage(written):
                continue  # a copy
            if row["inverse"][1] == "windows" and (base.dim() == 0 or args[2] > args[3] and view.shape[args[1]] > 1):
                continue
            changed = view + 1 if view.dtype != torch.bool else ~view
            expected.copy_(changed)
            result = undo(row["inverse"], overload, base, changed, index, args[1:], kwargs)
            assert same(result, written), (row["name"], args, kwargs)
            seen.add(row["name"])
    assert seen == {name for name, row in table.items() if has_inverse(row)}


def _schema(name):
    base, _, overload = name.partition(".")
    try:
        return torch._C._get_schema(base, overload)
    except (RuntimeError, IndexError):  # none, or of another library
        return None


def test_twins_give_the_results_and_then_what_is_written(table):
    """Of an operator that writes: what its twin gives is its own results in their order, those that are what it writes
    among them, and behind these what else it writes.  functionalization of a call takes its results so."""
    wrong, seen = [], 0
    for name, row in table.items():
        own, twin = _schema(name), _schema(row["functional"] or "")
        if name == row["functional"] or own is None or twin is None:
            continue
        written = {frozenset(a.alias_info.before_set): a for a in own.arguments if a.alias_info and a.alias_info.is_write}
        if any(argument.type.kind() == "ListType" for argument in written.values()):
            continue  # _foreach_add_, which the passes leave: a list is no tensor
        expected = [str(result.type) for result in own.returns]
        for result in own.returns:
            written.pop(frozenset(result.alias_info.before_set) if result.alias_info else None, None)
        expected += [str(argument.type) for argument in written.values()]
        seen += 1
        if expected != [str(result.type) for result in twin.returns]:
            wrong.append(f"{own} -> {twin}")
    assert seen > 1200
    assert not wrong, "\n".join(wrong)


# Operators on packed weights: they compute, and torch keeps whatever takes an object of a C++ class.
COMPUTE_ONLY = {"mkldnn_prepacked::conv2d_run", "sparse::qlinear", "sparse::qlinear_dynamic", "sparse::qlinear_relu"} | {
    "sparse::qlinear_relu_dynamic",
    "sparse::qlinear_unpack",
}


def test_what_torch_keeps_is_not_pure(table):
    """torch.fx's eliminate_dead_code keeps what is_impure() says; so does the pass, unless a guard says what an assert does."""
    from torch._library.utils import is_impure

    kept = set()
    for name in table:
        space, _, rest = name.partition("::")
        base, _, overload = rest.partition(".")
        found = getattr(getattr(getattr(torch.ops, space), base, None), overload or "default", None)
        if found is not None and is_impure(found):
            kept.add(name)
    assert {"aten::_print", "aten::_linalg_check_errors", "aten::_assert_tensor_metadata", "aten::bernoulli"} <= kept
    assert {name for name in kept if table[name]["pure"]} == COMPUTE_ONLY
