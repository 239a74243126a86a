"""Tests exported programs with custom operators: one without a result, with two results, with a list, with a number."""

import harness
import pytest
import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree


@torch.library.custom_op("fxtrace_test_own::fill_", mutates_args=("tensor",))
def fill(tensor: Tensor, value: int) -> None:
    tensor.fill_(value)


@torch.library.custom_op("fxtrace_test_own::two", mutates_args=())
def two(x: Tensor) -> tuple[Tensor, Tensor]:
    return x + 1, x * 2


@torch.library.custom_op("fxtrace_test_own::each", mutates_args=())
def each(tensors: list[Tensor]) -> list[Tensor]:
    return [tensor + 1 for tensor in tensors]


@torch.library.custom_op("fxtrace_test_own::rows", mutates_args=())
def rows(x: Tensor, scale: float = 1.0, name: str = "a") -> int:
    return x.shape[0]


fill.register_fake(lambda tensor, value: None)
two.register_fake(lambda x: (torch.empty_like(x), torch.empty_like(x)))
each.register_fake(lambda tensors: [torch.empty_like(tensor) for tensor in tensors])
rows.register_fake(lambda x, scale=1.0, name="a": torch.library.get_ctx().new_dynamic_size())


class Filled(nn.Module):
    def forward(self, x):
        torch.ops.fxtrace_test_own.fill_(x, 3)
        return x


class Own(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("state", torch.zeros(3))
        self.filled = Filled()
        self.linear = nn.Linear(3, 3)

    def forward(self, x):
        y = self.filled(x.clone())
        torch.ops.fxtrace_test_own.fill_(self.state, 2)
        a, b = torch.ops.fxtrace_test_own.two(self.linear(y))
        first, second, third = torch.ops.fxtrace_test_own.each([a, b, self.state])
        return first + second + third + torch.ops.fxtrace_test_own.rows(x, name="q"), b


@pytest.mark.parametrize("strict", [False, True], ids=["non_strict", "strict"])
@pytest.mark.parametrize("options", [(), ("--no-default-leaves",), ("--leaf", "@filled")], ids=str)
def test_operators_of_the_users_own(program, tmp_path, strict, options):
    x = torch.rand(2, 3)
    path = tmp_path / "own.pt2"
    torch.export.save(torch.export.export(Own().eval(), (x,), strict=strict), path)
    collection = program.trace(path, *options)
    graph = collection["graphs"][0]
    own = [node["target"] for node in graph["nodes"] if node["target"].startswith("fxtrace_test_own")]
    fills = 1 if "@filled" in options else 2
    assert own == ["fxtrace_test_own.fill_.default"] * fills + [
        f"fxtrace_test_own.{name}.default" for name in ("two", "each", "rows")
    ]
    assert {entry["name"] for entry in collection["parameters"]} == {"state", "linear.weight", "linear.bias"}
    rebuilt = harness.rebuild_exported(str(path), graph)
    model = torch.export.load(path).module()
    for ours, theirs in zip(pytree.tree_leaves(rebuilt(x)), pytree.tree_leaves(model(x)), strict=True):
        assert torch.equal(ours, theirs)
