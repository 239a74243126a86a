"""Tests which operators an untrusted graph may call: those of an allow list and those that the caller names; views stay inside of
their tensor's memory."""

import copy
import json
import os
import pickle

import fx_source
import fxtrace
import harness
import pytest
import torch
from fxtrace import _functions
from fxtrace._functions import OPERATORS

SCRIPTED = os.path.join(harness.SAMPLES, "nested_scripted.pt")


@pytest.fixture(autouse=True)
def installed(program, monkeypatch):
    monkeypatch.setenv("FXTRACE", program.path)


def registered() -> dict[str, set[str]]:
    """All operators that LibTorch has here, by namespace."""
    names = {name.partition(".")[0] for name in torch._C._dispatch_get_all_op_names()}
    names |= {schema.name for schema in torch._C._jit_get_all_schemas()}
    spaces: dict[str, set[str]] = {}
    for name in names:
        space, _, rest = name.partition("::")
        spaces.setdefault(space, set()).add(rest)
    return spaces


def graph_of(target: str, args: list, kwargs: dict | None = None) -> fxtrace.Graph:
    def node(name, op, target, args=(), kwargs=None):
        return {"name": name, "op": op, "target": target, "args": list(args), "kwargs": kwargs or {}, "users": [],
                "scope": {"module_path": "", "module_type": None, "call": 1}, "meta": {"type": "Tensor", "shape": None, "dtype": None},
                "source": None}  # fmt: skip

    nodes = [node("x", "placeholder", "x"), node("made", "call_function", target, args, kwargs)]
    nodes.append(node("output", "output", "output", [{"node": "made"}]))
    for one in nodes:
        one["users"] = [other["name"] for other in nodes if {"node": one["name"]} in other["args"]]
    return fxtrace.Graph.from_json({"module": "", "type": "Net", "nodes": nodes, "constants": {}, "subgraphs": {}, "guards": []})


def rebuilt(target: str, args: list, **options):
    return graph_of(target, args).graph_module(torch.nn.Module(), **options)


def test_every_operator_of_torch_is_decided():
    """By namespace: all of it is refused but what the table has, which is of a few namespaces."""
    spaces = registered()
    for space in ("inductor", "c10d", "_c10d_functional", "symm_mem", "debugprims"):
        assert spaces[space] and space not in OPERATORS
    for space, names in spaces.items():
        for name in names:
            assert _functions.is_callable(f"{space}.{name}.default") == (name in OPERATORS.get(space, ()))
    assert len(spaces["aten"] - OPERATORS["aten"]) < 100
    known = torch._ops._higher_order_ops
    assert not {"inline_asm_elementwise", "flat_apply", "aoti_call_delegate"} & OPERATORS["higher_order"]
    assert len(OPERATORS["higher_order"] & set(known)) > 20


@pytest.mark.parametrize(
    "target",
    [
        "aten.from_file.default",
        "aten.save.default",
        "aten.set_data.default",
        "aten.record_stream.default",
        "aten._reshape_alias.default",
        "aten._sparse_coo_tensor_unsafe.default",
        "aten._nested_view_from_buffer.default",
        "inductor._reinterpret_tensor.default",
        "inductor._alloc_from_pool.default",
        "inductor.resize_storage_bytes_.default",
        "debugprims.load_tensor.default",
        "mkldnn.data_ptr.default",
        "profiler._record_function_enter.default",
        "profiler._record_function_exit.default",
        "c10d.barrier.default",
        "_c10d_functional.all_reduce.default",
        "symm_mem.memset32_.default",
        "prim.rpc_sync.default",
        "higher_order.flat_apply",
        "higher_order.inductor_compiled_code",
    ],
)
def test_refused(target):
    with pytest.raises(fxtrace.RebuildError, match=rf"{target} is refused: .*libraries=\[") as raised:
        rebuilt(target, [{"node": "x"}])
    needed = str(raised.value).partition("libraries=['")[2].partition("'")[0]
    assert needed in (target.partition(".")[0], target.rpartition(".")[0], target)
    assert _functions.resolve_function(target, [needed])
    other = graph_of("builtins.list", [[{"function": target}]])
    with pytest.raises(fxtrace.RebuildError, match="is refused"):
        other.graph_module(torch.nn.Module())


def test_what_labels_and_prints(capsys):
    for target in ("profiler._record_function_enter_new.default", "profiler._record_function_exit._RecordFunction"):
        assert _functions.is_callable(target)
    show = _functions.resolve_function("higher_order.print")
    show("{0} {{}} {name:>3}", 1, name=2)
    assert capsys.readouterr().out == "1 {}   2\n"
    for format in ("{0.__class__}", "{0[0]}", "{:99999}", "{0!r:{1}}", 3, X):
        with pytest.raises(fxtrace.RebuildError, match="its format"):
            show(format, 1, 2)


def test_a_namespace_of_the_table_gives_nothing_more():
    for target in ("aten.from_file.default", "higher_order.flat_apply", "prim.rpc_sync.default"):
        with pytest.raises(fxtrace.RebuildError, match="is refused"):
            _functions.resolve_function(target, ["aten", "higher_order", "prim", "torch", "builtins"])
    with pytest.raises(fxtrace.RebuildError, match="is refused"):
        _functions.resolve_function("aten.save.default", ["aten.from_file"])
    with pytest.raises(TypeError, match="libraries"):
        rebuilt("aten.relu.default", [{"node": "x"}], libraries=[torch.ops.aten])


def test_functions_of_torch_are_no_way_around():
    for target in ("torch.segment_reduce", "torch.Tensor.record_stream", "torch.Tensor.set_", "torch._cufft_clear_plan_cache"):
        with pytest.raises(fxtrace.RebuildError, match="no such function"):
            _functions.resolve_function(target)
    with pytest.raises(fxtrace.RebuildError, match=r"libraries=\['_nnapi'\]"):
        _functions.resolve_function("torch.classes._nnapi.Compilation")


X = {"node": "x"}
VIEWS = {
    "negative offset": ("aten.as_strided.default", [X, [2], [1], -1024]),
    "large offset": ("aten.as_strided.default", [X, [2], [1], 5]),
    "large size": ("aten.as_strided.default", [X, [2048], [1]]),
    "negative size": ("aten.as_strided.default", [X, [-2], [1], 0]),
    "negative stride": ("aten.as_strided.default", [X, [2], [-1], 3]),
    "large stride": ("aten.as_strided.default", [X, [2], [1 << 62], 0]),
    "overflow": ("aten.as_strided.default", [X, [1 << 62, 4], [1, 1 << 62], 0]),
    "in place": ("aten.as_strided_.default", [X, [2048], [1], 0]),
    "copied": ("aten.as_strided_copy.default", [X, [2], [1], -1]),
    "scattered": ("aten.as_strided_scatter.default", [X, X, [6], [1], 1]),
    "prims": ("prims.as_strided.default", [X, [2], [1], 5]),
    "set_": ("aten.set_.source_Tensor_storage_offset", [X, X, 0, [2048], [1]]),
    "set_ negative": ("aten.set_.source_Tensor_storage_offset", [X, X, -4, [2], [1]]),
    "inductor": ("inductor._reinterpret_tensor.default", [X, [2048], [1], -1024]),
    "pool": ("inductor._alloc_from_pool.default", [X, 16, {"dtype": "float32"}, [4], [1]]),
    "reshape": ("aten._reshape_alias.default", [X, [2048], [1]]),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_stay_in_their_memory(name):
    target, args = VIEWS[name]
    module = rebuilt(target, args, libraries=["inductor", "aten._reshape_alias"])
    for module in (module, copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        with pytest.raises(fxtrace.ViewError, match=target):
            module(torch.arange(6.0))


def test_right_views_are_torchs():
    x = torch.arange(6.0)
    for args in ([X, [2, 3], [3, 1]], [X, [2], [2], 3], [X, [0], [1], 6], [X, [], [], 5]):
        assert torch.equal(rebuilt("aten.as_strided.default", args)(x), torch.as_strided(x, *args[1:]))
    assert torch.equal(rebuilt("aten.as_strided.default", [X, [2], [1]])(x[3:]), x[3:5])
    module = rebuilt("aten.as_strided.default", [X, [2], [1], 1])
    assert torch.equal(torch.export.export(module, (x,)).module()(x), x[1:3])
    traced = torch.fx.symbolic_trace(module)
    with pytest.raises(fxtrace.ViewError):
        traced(torch.ones(2))


def test_views_in_vmap():
    """torch itself checks as_strided there; nothing checks the others."""
    x = torch.arange(12.0).view(3, 4)
    view = rebuilt("aten.as_strided.default", [X, [2], [1], 1])
    assert torch.equal(torch.vmap(view)(x), x[:, 1:3])
    with pytest.raises(RuntimeError, match="can access memory outside"):
        torch.vmap(rebuilt("aten.as_strided.default", [X, [5], [1], 0]))(x)
    with pytest.raises(fxtrace.ViewError, match="vmap"):
        torch.vmap(rebuilt("aten._reshape_alias.default", [X, [2], [1]], libraries=["aten._reshape_alias"]))(x)


def test_indices_of_sparse_tensors_are_held_against_their_sizes():
    for target in ("aten.sparse_coo_tensor.indices_size", "torch.sparse_coo_tensor"):
        module = rebuilt(target, [X, X, [2]])
        with pytest.raises(RuntimeError, match="inconsistent with indices"):
            _functions.resolve_function(target)(torch.tensor([[100_000_000]]), torch.ones(1), [2])
        assert _functions.resolve_function(target)(torch.tensor([[1]]), torch.ones(1), [2]).to_dense().tolist() == [0, 1]
        assert module is not None


def test_operators_inside_of_a_leaf(tmp_path):
    """The program of a file is as much a stranger's word as the collection."""

    class Inner(torch.nn.Module):
        def forward(self, x):
            return torch.ops.inductor._reinterpret_tensor(x, [2], [1], 0)

    class Outer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Inner()

        def forward(self, x):
            return self.inner(x * 2) + 1

    path = str(tmp_path / "model.pt2")
    torch.export.save(torch.export.export(Outer(), (torch.ones(4),)), path)
    for options in ({}, {"leaf": ["@inner"]}, {"leaf": ["**"]}):
        collection = fxtrace.trace(path, **options)
        with pytest.raises(fxtrace.RebuildError, match=r"inductor._reinterpret_tensor.default is refused"):
            collection.graph_module()
        module = collection.graph_module(libraries=["inductor"])
        assert torch.equal(module(torch.ones(4)), torch.full((2,), 3.0))


def test_source_takes_the_callers_word(program, tmp_path):
    """A class whose graph has operators of a library takes `libraries`."""
    document = fxtrace.trace(SCRIPTED).to_json()
    node = next(node for node in document["graphs"][0]["nodes"] if node["op"] == "call_function")
    node.update(target="fxtrace_of_nobody.op.default")
    path = tmp_path / "collection.json"
    path.write_text(json.dumps(document))
    done = program.run("render", str(path), "-f", "fx")
    assert done.returncode == 0, done.stderr
    first = fx_source.classes(fx_source.load_text(done.stdout.decode()))[0]
    model = torch.jit.load(SCRIPTED)
    with pytest.raises(NotImplementedError, match=r"operators of fxtrace_of_nobody.*libraries=\['fxtrace_of_nobody'\]"):
        first(model)
    assert first(model, libraries=["fxtrace_of_nobody"]) is not None


def test_source_checks_sparse_tensors(program, tmp_path):
    class Net(torch.nn.Module):
        def forward(self, x):
            return torch.sparse_coo_tensor(x, torch.ones(1), (2,)).to_dense()

    path = str(tmp_path / "model.pt")
    torch.jit.script(Net()).save(path)
    (net,) = fx_source.classes(fx_source.load(program, path))
    graph = net(torch.jit.load(path))
    assert graph(torch.tensor([[1]])).tolist() == [0, 1]
    with pytest.raises(RuntimeError, match="inconsistent with indices"):
        graph(torch.tensor([[100_000_000]]))
