"""Tests that programs of fxtrace convert stay right in every form that torch makes of them, at several sizes."""

import os
import pathlib
import subprocess
import sys
from typing import NamedTuple

import convert_cases
import pytest
import tiers
import torch
from program_forms import faults

X = ["--input", "x=float32[b,4,6]"]
N = ["--input", "n=int64[]"]
PIECES = """
  y = x.split([1, 1, 2], 1)
  y.append(y[-1] * 2)
  y.insert(0, x)
  z = y.pop(1)
  y += [z, x]
  del y[-1]
  y[1] = z * 3
  y.reverse()
  w = y[1:] + list(x.chunk(2, 1))
  d = {"a": x}
  d["b"] = z
"""
SCRIPTED = {
    "lists of pieces": (f"(x: Tensor):{PIECES}  return torch.cat(w, 1) * len(y) + d['b']", X),
    "a number read twice": ("(x: Tensor, n: Tensor):\n  return x[:, :, :int(n)].sum() + x[:, :, int(n):].prod() + float(n)", X + N),
    "a number read before and after a write": ("(x: Tensor, n: Tensor):\n  k = n.clone()\n  a = int(k)\n  k.add_(1)\n  return x * a + int(k)", X + N),
    "a size that is a number": ("(x: Tensor):\n  return x.reshape(2, -1)[:, : x.size(0)]", X),
    "a size that is another": ("(x: Tensor, y: Tensor):\n  return x.reshape(2, -1)[:, : x.size(0)].sum() + y.reshape(-1, 3)[: x.size(0)].sum()", [*X, "--input", "y=float32[c,6]"]),
    "a size that three divides": ("(x: Tensor):\n  return x.reshape(-1, 9)[: x.size(0)]", X),
    "a tensor of the code in a loop": ("(x: Tensor):\n  while bool(x.sum() > 9):\n    x = x * torch.tensor([0.5, 0.25]).sum()\n  return x", X),
    "one of a branch in a loop": ("(x: Tensor):\n  while bool(x.sum() > 9):\n    if bool(x.sum() > 50):\n      x = x * torch.tensor([0.5])\n    else:\n      x = x - torch.tensor([0.25])\n  return x", X),
}


SCRIPTED |= {
    "sizes of data": ("(x: Tensor, n: Tensor):\n  k = int(n)\n  return x.sum([1, 2]).unsqueeze(1).expand(-1, k).sum() + torch.zeros(k).sum()", X + N),
    "einsum with lists": ("(x: Tensor):\n  return torch.einsum(x, [0, 1, 2], x, [0, 1, 30], [0, 2, 30])", X),
    "no tensors": ("(n: int):\n  return torch.arange(n) * torch.ones(3, 1)", ["--input", "n=n"]),
    "normalization in a branch": (
        "(x: Tensor):\n  if bool(x.sum() > 9):\n    x = torch.instance_norm(x, None, None, None, None, True, 0.1, 1e-5, True)\n"
        "  else:\n    x = torch.batch_norm(x, None, None, None, None, True, 0.1, 1e-5, True)\n  return x",
        X,
    ),
    "random numbers": ("(x: Tensor):\n  return x.clone().uniform_() + x.clone().uniform_(to=3.0) + x.clone().random_(2, 5) + x.clone().random_(9)", X),
    "no dimensions reduced": ("(x: Tensor):\n  return torch.any(x > 0.5, []), x.sum().flatten()", X),
}


def converted(program, folder, model, options):
    path = str(folder / "model.pt")
    torch.jit.save(model, path)
    done = program.run("convert", path, "-o", path + "2", *options)
    assert done.returncode == 0, done.stderr.decode()
    return path


@pytest.mark.parametrize("name", tiers.one_in(3, SCRIPTED))
def test_scripted(program, tmp_path, name):
    code, options = SCRIPTED[name]
    path = converted(program, tmp_path, torch.jit.CompilationUnit(f"def f{code}\n").f, options)
    assert faults(path + "2", lambda: torch.jit.load(path)) == []


class Sizes(torch.nn.Module):
    def forward(self, x):
        rows = x.shape[0] * 4
        return torch.nn.functional.relu_(x.reshape(x.shape[0], 4, -1).transpose(0, 1).reshape(rows, -1)).reshape(rows // 2, -1)


def test_sizes_that_are_computed_as_tensors(program, tmp_path):
    path = converted(program, tmp_path, torch.jit.trace(Sizes(), torch.rand(2, 4, 6)), X)
    assert not [node for node in torch.export.load(path + "2").graph.nodes if "item" in str(node.target)]
    assert faults(path + "2", lambda: torch.jit.load(path)) == []


class Halved(torch.nn.Module):
    def forward(self, x):
        return 0.5 * x


class Looped(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.jit.trace(Halved(), torch.ones(1))

    def forward(self, x):
        while bool(x.sum() > 9):
            x = self.layer(x)
        return x


def test_constants_of_a_traced_module_in_a_loop(program, tmp_path):
    path = converted(program, tmp_path, torch.jit.script(Looped()), X)
    assert faults(path + "2", lambda: torch.jit.load(path)) == []


class LargeConstants(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.odd, self.large = torch.tensor(2**53 + 1), torch.tensor(2**63 - 2)

    def forward(self, x):
        odd, large = int(self.odd), int(self.large)
        return x + float(int(odd == 2**53)), x + float(large // (2**63 - 1)), x + float(int(odd < 2**53 + 2))


def test_numbers_that_are_not_exact_as_floats(program, tmp_path):
    path = converted(program, tmp_path, torch.jit.script(LargeConstants()), X)
    assert faults(path + "2", lambda: torch.jit.load(path)) == []


class Kept(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.plain = torch.tensor([2.2])
        self.list = [torch.tensor([1.0]), torch.tensor([3.0])]
        self.constant = torch.tensor([4.0])

    def forward(self, x):
        self.plain[0] += 10
        self.list[0].mul_(2)
        return x + self.plain * self.list[0] + self.constant


@pytest.mark.parametrize("dialect", ["training", "aten"])
def test_plain_tensors_that_a_run_writes_are_buffers(program, tmp_path, dialect):
    path = converted(program, tmp_path, torch.jit.script(Kept()), [*X, "--dialect", dialect])
    made = torch.export.load(path + "2")
    kinds = [spec.kind.name for spec in made.graph_signature.input_specs]
    assert kinds == ["BUFFER", "BUFFER", "CONSTANT_TENSOR", "USER_INPUT"]
    assert "plain" not in made.state_dict
    assert faults(path + "2", lambda: torch.jit.load(path)) == []
    x, model, module = torch.rand(2, 4, 6), torch.jit.load(path), made.module()
    for _ in range(3):
        assert torch.equal(module(x), model(x))


class Unused(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Sequential(torch.nn.Linear(6, 6), torch.nn.Identity()) for _ in range(2))
        self.never = torch.nn.Identity()

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


@pytest.mark.parametrize("how", ["script", "trace"])
def test_modules_without_operations_are_there(program, tmp_path, how):
    model = Unused().eval()
    path = converted(program, tmp_path, torch.jit.script(model) if how == "script" else torch.jit.trace(model, torch.rand(2, 4, 6)), X)
    names = [name for name, _ in torch.export.unflatten(torch.export.load(path + "2")).named_modules()]
    assert names == [name for name, _ in model.named_modules()]
    assert faults(path + "2", lambda: torch.jit.load(path)) == []
    assert " removed" not in program.run("diff", path, path + "2").stdout.decode()


class Pair(NamedTuple):
    x: torch.Tensor
    n: int


def of_pair(p: Pair):
    return p.x * p.n


def test_named_tuples_among_the_inputs(program, tmp_path):
    path = converted(program, tmp_path, torch.jit.script(of_pair), ["--input", "p.x=float32[2]", "--input", "p.n=n"])
    x = torch.rand(2)
    assert torch.equal(torch.export.load(path + "2").module()((x, 3)), x * 3)


@pytest.mark.parametrize(
    "kind, help_",
    [
        ("List[Tensor]", "its parts and their shapes are not known; for example --input 'd.0=float32[...]'"),
        ("Dict[str, Tensor]", "its parts and their shapes are not known; for example --input 'd.a=float32[...]'"),
        ("Dict[int, Tensor]", "a program cannot have a dict whose keys are not text"),
    ],
)
def test_advice_for_containers(program, tmp_path, kind, help_):
    path = str(tmp_path / "model.pt")
    key = "'a'" if "str" in kind else "0"
    torch.jit.save(torch.jit.CompilationUnit(f"def f(x: Tensor, d: {kind}):\n  return x + d[{key}]\n").f, path)
    done = program.run("convert", path, "--dry-run", "--input", "x=float32[2]")
    assert done.returncode == 4 and f"refused: input d: {help_}" in done.stderr.decode()


class Normed(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.fc = torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.Linear(8, 4)

    def forward(self, x):
        return self.fc(torch.relu(self.norm(self.conv(x))).mean((2, 3)))


def test_a_part_by_the_names_of_a_trace(program, tmp_path):
    model, path, part = Normed().eval(), str(tmp_path / "model.pt"), str(tmp_path / "part.pt2")
    torch.jit.save(torch.jit.script(model), path)
    x, y = torch.rand(2, 3, 8, 8), torch.rand(2, 8, 6, 6)
    for exported, options in ((path + "2", []), (path, ["--input", "x=float32[2,3,8,8]"])):
        torch.export.save(torch.export.export(model, (x,)), path + "2")
        done = program.run("convert", exported, "-o", part, *options, "--from", "norm", "--to", "mean")
        assert done.returncode == 0, done.stderr.decode()
        assert torch.equal(torch.export.load(part).module()(y), torch.relu(model.norm(y)).mean((2, 3)))


class Labelled(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.relu = torch.nn.ReLU()
        self.by_name = torch.nn.ModuleDict({"relu": self.relu, "tanh": torch.nn.Tanh()})

    def forward(self, x: torch.Tensor):
        assert self.by_name["tanh"] is not self.relu
        with torch.profiler.record_function("a label"):
            return self.relu(x - 1)


def test_labels_for_the_profiler_and_questions_about_modules(program, tmp_path):
    path, made, x = str(tmp_path / "model.pt"), str(tmp_path / "made.pt2"), torch.rand(3, 4) * 2
    torch.jit.save(torch.jit.script(Labelled()), path)
    done = program.run("convert", path, "-o", made, "--input", "x=float32[n,4]")
    assert done.returncode == 0, done.stderr.decode()
    exported = torch.export.load(made)
    assert [str(node.target) for node in exported.graph.nodes if node.op == "call_function"] == ["aten.sub.Scalar", "aten.relu.default"]
    assert torch.equal(exported.module()(x), Labelled()(x))


@pytest.mark.parametrize(
    "code, given",
    [
        ("List[int] = x.tolist()", torch.tensor([1, -2, 3])),
        ("List[List[float]] = x.tolist()", torch.rand(2, 2)),
        ("int = x.tolist()", torch.tensor(4)),
        ("List[bool] = x.tolist()", torch.tensor([True, False])),
        ("List[int] = x.tolist()", torch.zeros(257, dtype=torch.int64)),
    ],
)
def test_elements_one_by_one(program, tmp_path, code, given):
    path, made = str(tmp_path / "model.pt"), str(tmp_path / "made.pt2")
    torch.jit.save(torch.jit.CompilationUnit(f"def f(x):\n    y: {code}\n    return y, x\n").f, path)
    done = program.run("convert", path, "-o", made, "--input", "x=" + convert_cases.spec(given))
    if given.dtype == torch.bool or given.numel() > 256:
        assert done.returncode == 4 and b"refused: torch.Tensor.tolist: " in done.stderr
        return
    assert done.returncode == 0, done.stderr.decode()
    assert torch.export.load(made).module()(given)[0] == torch.jit.load(path)(given)[0]
    assert faults(made, lambda: torch.jit.load(path)) == []


# Of control flow in control flow that carries integers torch has no decomposition, and it unflattens buffers that overlap into
# tensors that do not.
NOT_ALL_FORMS = ("failing_nested", "overlap", "test_models", "aotinductor", "executorch", "coremltools")


CONVERTING = [
    "test_convert.py", "test_convert_models.py", "test_archives.py", "test_checked_assumptions.py", "test_package.py",
    "test_package_functions.py", "test_quantized_files.py", "test_shared_values.py", "test_sparse_and_quantized.py", "test_verify_against.py",
]  # fmt: skip


@pytest.mark.parametrize("file", tiers.in_turn([], CONVERTING, 2))
def test_all_forms_of_what_other_tests_convert(program, file):
    words = ["-q", "-x", "-p", "no:cacheprovider", "-k", " and ".join(f"not {name}" for name in NOT_ALL_FORMS), "--fxtrace", program.path]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words, str(pathlib.Path(__file__).with_name(file))],
        env={**os.environ, "FXTRACE_FORMS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:]
