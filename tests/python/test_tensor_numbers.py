"""Tests numbers of constant tensors, as LibTorch makes them, tensors of numbers, lists that are unpacked, and dtypes."""

from typing import List, Optional, Tuple  # noqa: UP035

import convert_cases
import fxtrace
import fx_source
import harness
import pytest
import torch
from torch import Tensor, nn

HALF = torch.tensor(0.5, dtype=torch.float64)


@torch.jit.script
def add(x: Tensor, y: Tensor):
    return x + y


@torch.jit.script
def same(y: Tensor):
    return y


@torch.jit.script
def add_given(x: Tensor, y: Optional[Tensor], often: int):
    """What constants decide is decided before the number is made."""
    if y is not None and often > 2:
        return x + y
    return x


@torch.jit.script
def chosen(x: Tensor, y: Tensor):
    """The number of rows decides, which is none of the code."""
    z = x
    if x.size(0) == 2:
        z = y
    return x + z


@torch.jit.script
def carried(x: Tensor, y: Tensor):
    z = y
    for _ in range(2):
        x = x + z
        z = y
    return x


@torch.jit.script
def first_of(x: Tensor, y: Tuple[Tensor, Tensor]):
    return x + y[0]


@torch.jit.script
def own(x: Tensor):
    return x + 0.5, x + torch.tensor(0.5, dtype=torch.float64)


def numbers(t: Tensor) -> list[Tensor]:
    """What Python writes with numbers, on one tensor: `other` and `self`, operators that LibTorch leaves alone, alpha, sums."""
    results = [t + 0.5, t * 0.1, t / 3.0, t / 3, 2 * t, 2.5 / t, t // 2.0, t % 2.5, t**0.5, t > 0.5, t * 2.5j, t + 300]
    results += [torch.add(t, 0.5, alpha=2), torch.add(t, 0.25, alpha=2.5), torch.multiply(t, 0.5), torch.true_divide(t, 2.5)]
    results += [torch.div(t, 2.5, rounding_mode="floor"), t.sum() * 0.5, t.sum() + 3, t.max() / 2.0, t.to(torch.float64) * 0.1]
    results += [t + HALF, HALF + t, t * HALF.view([]), t.clone().float().mul_(0.1)]
    return results if t.dtype == torch.bool else [*results, t - 0.5, 0.5 - t, t - HALF, HALF - t]


class Numbers(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("steps", torch.tensor([3, 250], dtype=torch.uint8))
        self.register_buffer("count", torch.tensor(2))

    def forward(self, i: Tensor, x: Tensor):
        mask = x > 0.4
        results = [r for t in (i, i.int(), mask, x, x.half(), torch.arange(4), self.steps, self.count) for r in numbers(t)]
        results += [x * self.count, i * self.count, mask.sum() + 1e-9, (1 - mask.long()) * -1e4]
        results += [add(i, HALF), i + same(HALF), add_given(i, HALF, 5), carried(i, HALF), first_of(i, (HALF, HALF)), *own(i)]
        return results


class Frozen(nn.Module):
    """Freezing makes constants of buffers."""

    def __init__(self):
        super().__init__()
        for name, dtype in (("f16", torch.float16), ("f32", torch.float32), ("f64", torch.float64), ("i32", torch.int32)):
            self.register_buffer(name, torch.tensor(3, dtype=dtype))

    def forward(self, i: Tensor, x: Tensor) -> List[Tensor]:
        return [i * self.f16, x + self.f16, i / self.f32, i - self.f64, x * self.f64, i + self.i32, self.f64 * i]


INPUTS = (torch.tensor([257, 3]), torch.rand(2, 3))


@pytest.fixture(params=["traced", "frozen"], scope="module")
def archive(request, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("numbers") / "model.pt")
    if request.param == "traced":
        made = torch.jit.trace(Numbers().eval(), INPUTS, check_trace=False)
    else:
        made = torch.jit.freeze(torch.jit.script(Frozen().eval()))
    made.save(path)
    return path


def test_graphs(program, archive):
    """Without and with shapes; what is said of each result is what it has."""
    loaded = torch.jit.load(archive)
    expected = [loaded(*INPUTS) for _ in range(3)][-1]
    for options in [(), ("--input=i=int64[2]", "--input=x=float32[2,3]")]:
        collection = program.trace(archive, *options)
        assert not harness.failed_modules(collection)
        graph = collection["graphs"][0]
        assert harness.difference(expected, harness.rebuild(archive, graph)(*INPUTS)) is None
        nodes = {node["name"]: node for node in graph["nodes"]}
        for result, value in zip(nodes["output"]["args"][0], expected, strict=True):
            said = nodes[result["node"]]["meta"]["dtype"]
            assert said in ([] if options else [None]) + [str(value.dtype).removeprefix("torch.")], (result, said)


def test_source(program, archive):
    fx_source.compare_scripted(program, archive, INPUTS, {})


def test_programs(program, archive, tmp_path):
    case = convert_cases.Converted(program, archive, tmp_path, INPUTS, {})
    assert case.compare(case.load().module(), 2) == ""
    against = program.run("verify", case.file, "--against", archive)
    assert against.stdout.startswith(b"equal, bit for bit"), against.stdout + against.stderr


def test_verify_runs_the_archive_as_torch_does(program, archive):
    """Without optimization the results have other dtypes."""
    options = ["--input=i=int64[2]", "--input=x=float32[2,3]"]
    assert program.run("verify", archive, *options).stdout.startswith(b"equal, bit for bit")


def test_a_constant_that_an_input_chooses_stays_a_tensor(program, tmp_path):
    path = str(tmp_path / "model.pt")
    torch.jit.trace(lambda i: chosen(i, HALF), INPUTS[:1], check_trace=False).save(path)
    graph = program.trace(path, "--input=i=int64[2]")["graphs"][0]
    expected = torch.jit.load(path)(INPUTS[0])
    assert expected.dtype == torch.float64
    assert harness.difference(expected, harness.rebuild(path, graph)(INPUTS[0])) is None


def test_a_bool_fails_as_in_torch(program, tmp_path):
    """LibTorch makes a bool of it, for which there is no overload."""
    path = str(tmp_path / "model.pt")
    torch.jit.trace(lambda x: x * True, INPUTS[1:], check_trace=False).save(path)
    with pytest.raises(RuntimeError, match="We don't have an op for aten::mul"):
        torch.jit.load(path)(INPUTS[1])
    failure = program.trace(path)["modules"][0]["failure"]
    assert failure["kind"] == "raised" and "aten::mul" in failure["message"]


class OfNumbers(nn.Module):
    """Made with the dtype that the type of the numbers tells, and then converted."""

    def forward(self, x: Tensor, n: float, i: int, floats: List[float], ints: List[int], nested: List[List[bool]]):
        none: List[int] = []
        flags: List[bool] = []
        results = [torch.tensor(none), torch.tensor([flags, flags]), torch.as_tensor([none]), torch.tensor(floats), torch.tensor(ints)]
        results += [torch.tensor(nested), torch.as_tensor(nested, dtype=torch.float64), torch.tensor([[n, 0.1]], dtype=torch.float64)]
        results += [torch.tensor(n, dtype=torch.float64), torch.as_tensor(n, dtype=torch.float64), torch.tensor(0.1, dtype=torch.float16)]
        results += [torch.tensor(floats, dtype=torch.float64), torch.tensor([n * 1e9 + 1.0], dtype=torch.int64), torch.tensor(0.1, dtype=x.dtype)]
        results += [torch.tensor(0.5, dtype=x.dtype), torch.tensor(300, dtype=torch.uint8), torch.tensor([i, -1], dtype=torch.uint8)]
        results += [torch.tensor(i, dtype=torch.float32), torch.tensor(ints, dtype=torch.bool), torch.tensor([1, 2], dtype=torch.float64)]
        y = x.clone()
        y[0] = 0.1
        results += [y]
        return results


@pytest.mark.parametrize("rows", [0, 2])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float16])
def test_tensors_of_numbers(program, tmp_path, rows, dtype):
    path = str(tmp_path / "model.pt")
    torch.jit.script(OfNumbers()).save(path)
    inputs = (torch.rand(2, dtype=dtype), 0.1, 300, [0.1, 0.3][:rows], [3, 7][:rows], [[], []][:rows])
    expected = torch.jit.load(path)(*inputs)
    for options in [(), (f"--input=x={str(dtype).removeprefix('torch.')}[2]",)]:
        graph = program.trace(path, *options)["graphs"][0]
        assert harness.difference(expected, harness.rebuild(path, graph)(*inputs)) is None


class Unpacks(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x: Tensor):
        a, b = self.linear(x).split(2)
        c, d = x.unbind(1)
        i, j, k = torch.where(x > 0)
        return a + b, c + d, i + j + k


@pytest.mark.parametrize("given", [None, "float32[4,2,3]", "float32[n,2,3]"])
@pytest.mark.parametrize("how", ["scripted", "traced"])
def test_a_list_that_is_unpacked_has_as_many_elements(program, monkeypatch, tmp_path, how, given):
    monkeypatch.setenv("FXTRACE", program.path)
    path, x = str(tmp_path / "model.pt"), torch.rand(4, 2, 3)
    made = torch.jit.script(Unpacks()) if how == "scripted" else torch.jit.trace(Unpacks(), x, check_trace=False)
    made.save(path)
    loaded = torch.jit.load(path)
    graph = fxtrace.trace(path, input=None if given is None else {"x": given}).graph_module()
    with torch.no_grad():
        assert harness.difference(loaded(x), graph(x)) is None
        for other in (torch.rand(5, 2, 3), torch.rand(2, 2, 3), torch.rand(4, 3, 3), torch.rand(4, 2, 2, 3)):
            with pytest.raises(RuntimeError, match="Expected"):
                loaded(other)
            with pytest.raises((RuntimeError, IndexError, fxtrace.GuardError)):
                graph(other)


class Leaf(nn.Module):
    def forward(self, x: Tensor, dtype: int):
        return x.to(dtype)


class Dtypes(nn.Module):
    """Integers, except where an operator takes a dtype or a layout."""

    def __init__(self):
        super().__init__()
        self.leaf = Leaf()

    def forward(self, x: Tensor, y: Tensor):
        same = x.dtype in (torch.float32, y.dtype)
        made = torch.zeros([2], dtype=x.dtype, layout=y.layout)
        soft = torch.nn.functional.softmax(x, 0, dtype=y.dtype)
        numbers = [x.dtype + 1, y.layout, torch.promote_types(x.dtype, y.dtype)]
        return same, made, soft, self.leaf(x, y.dtype), x.to(x.dtype + 1), (x.dtype, y.layout), numbers, str(y.dtype), x.dtype < 7, y.device


@pytest.mark.parametrize("options", [(), ("--no-default-leaves",), ("--leaf=@leaf",), ("--input=x=float32[2]", "--input=y=float64[2]")], ids=str)
def test_dtypes_are_integers(program, tmp_path, options):
    path, inputs = str(tmp_path / "model.pt"), (torch.rand(2), torch.rand(2, dtype=torch.float64))
    torch.jit.script(Dtypes()).save(path)
    expected = torch.jit.load(path)(*inputs)
    graph = program.trace(path, *options)["graphs"][0]
    assert harness.difference(expected, harness.rebuild(path, graph)(*inputs)) is None
    fx_source.compare_scripted(program, path, inputs, {}, *options)
