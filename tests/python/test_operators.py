"""Tests operators of other libraries: inferred, declared, loaded by LibTorch, or listed in the error."""

import importlib.util
import os
import subprocess

import fx_source
import harness
import hostile
import pytest
import torch
import tvcompat
from torch import Tensor, nn

# Schemas as Python registers them, so that the archives can be made; the program never sees these.
LIBRARY = torch.library.Library("fxt", "DEF")
LIBRARY.define("plain(Tensor x, float factor, int[] dims, bool flag) -> Tensor")
LIBRARY.define("pair(Tensor x, str mode) -> (Tensor, Tensor)")
LIBRARY.define("vague(Tensor x, Tensor? mask) -> Tensor")
LIBRARY.define("double_it(Tensor x) -> Tensor")


class Plain(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.factor = 2.5

    def forward(self, x: Tensor) -> Tensor:
        y = torch.ops.fxt.plain(self.linear(x), self.factor, [1, 2], True)
        a, b = torch.ops.fxt.pair(x, "max")
        return torch.relu(torch.cat([a.relu(), b.relu()])) + torch.relu(y)


class Vague(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        a, b = torch.ops.fxt.pair(x, "max")
        return torch.ops.fxt.vague(a, None)


class Doubled(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.ops.fxt.double_it(x)


def archive(tmp_path, module: nn.Module) -> str:
    path = os.fspath(tmp_path / "model.pt")
    torch.jit.script(module).save(path)
    return path


def targets(collection: dict) -> list[str]:
    return [n["target"] for n in collection["graphs"][0]["nodes"] if n["target"].startswith("fxt.")]


def test_plain_calls_declare_the_operator(program, tmp_path):
    path = archive(tmp_path, Plain())
    done = program.run("trace", path)
    assert done.returncode == 0, done.stderr
    for schema in (
        b"'fxt::plain(Tensor arg0, float arg1, int[] arg2, bool arg3) -> Tensor'",
        b"'fxt::pair(Tensor arg0, str arg1) -> (Tensor, Tensor)'",
    ):
        assert schema in done.stderr
    collection = program.trace(path)
    assert targets(collection) == ["fxt.plain.default", "fxt.pair.default"]


def test_what_is_not_plain_fails_its_module_with_the_option_to_complete(program, tmp_path):
    path = archive(tmp_path, Vague())
    done = program.run("trace", path)
    assert done.returncode == 0
    warnings = done.stderr.decode().splitlines()[:2]
    assert "--op-schema 'fxt::pair(Tensor arg0, str arg1) -> (?, Any)'" in warnings[0]
    assert "declared from its calls as 'fxt::vague(Any arg0, Any arg1) -> Tensor'" in warnings[1]
    (root,) = program.trace(path)["modules"]
    assert root["status"] == "failed" and "fxt::pair is unknown" in root["failure"]["message"]


def test_declared_operators(program, tmp_path):
    collection = program.trace(
        archive(tmp_path, Vague()),
        "--op-schema",
        "fxt::pair(Tensor x, str mode) -> (Tensor, Tensor)",
        "--op-schema",
        "fxt::vague(Tensor x, Tensor? mask=None) -> Tensor",
    )
    assert targets(collection) == ["fxt.pair.default", "fxt.vague.default"]
    vague = collection["graphs"][0]["nodes"][-2]
    assert len(vague["args"]) == 1  # the mask is at its default


def test_code_that_cannot_be_compiled_fails_its_module(program, tmp_path):
    path = tmp_path / "model.pt"
    path.write_bytes(hostile.body_case("return torch.nosuch(x)")())
    (root,) = program.trace(path)["modules"]
    why = "Unknown builtin op: aten::nosuch. (code/__torch__.py:4)"
    assert root["status"] == "failed" and why in root["failure"]["message"]


def test_objects_that_code_makes(program, tmp_path):
    """Of a class that nobody knows: declared as far as its calls go, constructors too."""
    counter = "__torch__.torch.classes.fxt.Counter"
    path = tmp_path / "model.pt"
    path.write_bytes(
        hostile.body_case(f"c = {counter}.__new__({counter})\n_ = (c).__init__(3)\nreturn torch.mul(x, 2)")()
    )
    made = program.trace(path)["graphs"][0]["nodes"][1]
    assert (made["op"], made["target"], made["args"]) == ("call_function", "torch.classes.fxt.Counter", [3])
    assert made["meta"]["type"] == "torch.classes.fxt.Counter"
    # What was never constructed is nothing that a graph could make.
    path.write_bytes(hostile.body_case(f"c = {counter}.__new__({counter})\n_ = (c).use(3)\nreturn torch.mul(x, 2)")())
    (root,) = program.trace(path)["modules"]
    assert root["status"] == "failed" and "an object of torch.classes.fxt" in root["failure"]["message"]


def test_a_wrong_schema_is_wrong_usage(program, tmp_path):
    done = program.run("trace", archive(tmp_path, Doubled()), "--op-schema", "double_it(Tensor")
    assert done.returncode == 2
    assert b"invalid operator schema" in done.stderr


def build_library(folder, code: str) -> str:
    source = folder / "ops.cpp"
    source.write_text("#include <ATen/ATen.h>\n#include <torch/library.h>\n" + code)
    library = os.fspath(folder / "libops.so")
    root = os.path.dirname(torch.__file__)
    compiler = os.environ.get("CXX", "g++")
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-std=c++20", f"-I{root}/include", os.fspath(source), "-o", library,
         f"-L{root}/lib", "-ltorch_cpu", "-lc10"],
        check=True,
    )  # fmt: skip
    return library


def test_operator_library(program, tmp_path):
    library = build_library(
        tmp_path,
        """
        TORCH_LIBRARY(fxt, m) {
          m.def("double_it(Tensor x) -> Tensor", [](const at::Tensor& x) { return x * 2; });
        }
        """,
    )
    path = archive(tmp_path, Doubled())
    assert targets(program.trace(path, "--op-library", library)) == ["fxt.double_it.default"]
    done = program.run("trace", path, "--op-library", os.fspath(tmp_path / "missing.so"))
    assert done.returncode == 2 and b"cannot load" in done.stderr


def test_objects_of_a_library(program, tmp_path):
    """It knows what methods give, and makes the object where the graph is run; it may be passed on whole."""
    library = os.path.join(os.path.dirname(torch.__file__), "lib", "libtorchbind_test.so")
    foo = "__torch__.torch.classes._TorchScriptTesting._Foo"
    code = (
        f"a = {foo}.__new__({foo})\n_ = (a).__init__(3, torch.size(x, 0))\n_0 = (a).increment(2)\n"
        "_1 = ops._TorchScriptTesting.takes_foo(a, x)\nreturn torch.mul(_1, (a).info())"
    )
    path = os.fspath(tmp_path / "model.pt")
    with open(path, "wb") as file:
        file.write(hostile.body_case(code)())
    (root,) = program.trace(path)["modules"]
    assert "its calls do not tell the types of its results" in root["failure"]["message"]
    (graph,) = program.trace(path, "--op-library", library)["graphs"]
    called = [node["target"] for node in graph["nodes"][1:-1]]
    assert called[1:] == [
        "torch.classes._TorchScriptTesting._Foo", "increment", "_TorchScriptTesting.takes_foo.default", "info", "aten.mul.Scalar"
    ]  # fmt: skip
    torch.ops.load_library(library)
    harness.compare_runs(path, graph, "forward", (torch.ones(2, 3),), {})
    fx_source.compare_scripted(program, path, (torch.ones(2, 3),), {}, "--op-library", library)


@pytest.mark.volume
def test_operators_of_a_library_are_never_run(program, tmp_path):
    """Neither while code is compiled, nor for plain values, nor for shapes."""
    library = build_library(
        tmp_path,
        """
        TORCH_LIBRARY(harm, m) {
          m.def("number(int n) -> int", [](int64_t n) { std::abort(); return n; });
          m.def("text(str s) -> str", [](std::string s) { std::abort(); return s; });
          m.def("numbers(int[] n) -> int[]", [](std::vector<int64_t> n) { std::abort(); return n; });
          m.def("tensor(Tensor x) -> Tensor", [](const at::Tensor& x) { std::abort(); return x; });
          m.def("kernel(Tensor x) -> Tensor");
          m.impl("kernel", c10::kMeta, [](const at::Tensor& x) { std::abort(); return x; });
        }
        TORCH_LIBRARY_FRAGMENT(aten, m) {
          m.def("add.harm(int a, str b) -> int", [](int64_t n, std::string) { std::abort(); return n; });
        }
        """,
    )
    path = tmp_path / "model.pt"
    path.write_bytes(
        hostile.body_case(
            'n = ops.harm.number(3)\nm = torch.add(n, torch.len(ops.harm.text("a")))\nk = torch.add(1, "a")\n'
            "s = torch.add(ops.harm.numbers([1, 2]), [m, k])\ny = ops.harm.kernel(ops.harm.tensor(x))\n"
            "return torch.reshape(y, s)"
        )()
    )
    collection = program.trace(
        os.fspath(path), "--op-library", library, "--no-isolation", "--input", "x=float32[2,3]"
    )
    called = [node["target"] for node in collection["graphs"][0]["nodes"]]
    for name in ("number", "text", "numbers", "tensor", "kernel"):
        assert f"harm.{name}.default" in called
    assert called.count("operator.add") == 2 and "aten.add.int" in called  # what no one bounds wraps as it does in torch


class Boxes(nn.Module):
    def forward(self, boxes: Tensor, scores: Tensor) -> Tensor:
        return torch.ops.torchvision.nms(boxes, scores, 0.5)


@pytest.mark.skipif(importlib.util.find_spec("torchvision") is None, reason="needs torchvision")
def test_torchvision_operators_are_built_in(program, tmp_path):
    tvcompat.prepare()
    done = program.run("trace", archive(tmp_path, Boxes()))
    assert done.returncode == 0 and not done.stderr
    assert b'"torchvision.nms.default"' in done.stdout
