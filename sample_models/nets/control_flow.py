"""Control flow that follows the data: in a submodule, in the root, in failing modules inside failing ones."""

import torch
from torch import Tensor, nn

from nets.sample import Sample, call, tensor


class Gate(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        if bool(x.sum() > 0):
            return self.linear(x)
        return -x


class Good(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.scale = nn.Parameter(torch.rand(4))

    def forward(self, x: Tensor) -> Tensor:
        return torch.sigmoid(self.linear(x)) * self.scale


class InSubmodule(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.good = Good()
        self.gate = Gate()
        self.out = nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.gate(self.good(x)))


class InRoot(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = Good()
        self.b = Good()
        self.never = nn.Sequential(Good(), nn.ReLU())

    def forward(self, x: Tensor) -> Tensor:
        if bool(x.mean() > 0):
            x = self.a(x)
        else:
            x = self.b(x)
        return x + 1


class Iterate(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.step = Good()

    def forward(self, x: Tensor) -> Tensor:
        n = 0
        while bool(x.abs().max() > 0.5) and n < 5:
            x = self.step(x) * 0.5
            n += 1
        return x


class Never(nn.Module):
    """Called by nobody that can be followed."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x)


class Outer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.good = Good()
        self.inner = Iterate()
        self.extra = nn.ModuleList([Good(), Never()])

    def forward(self, x: Tensor) -> Tensor:
        x = self.good(x)
        for row in range(x.size(0)):
            x = x + self.inner(x[row])
        return x


class FailingNested(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Linear(4, 4)
        self.outer = Outer()
        self.gate = Gate()
        self.tail = Good()

    def forward(self, x: Tensor) -> Tensor:
        x = self.outer(self.stem(x))
        return self.tail(self.gate(x))


class Always(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.supported = False

    def forward(self, x: Tensor) -> Tensor:
        y = self.linear(x)
        if not self.supported:
            raise NotImplementedError("this module has no CPU version")
        return y


class Raising(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.good = Good()
        self.always = Always()

    def forward(self, x: Tensor) -> Tensor:
        return self.good(self.always(x))


class Twice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.good = Good()

    def forward(self, x: Tensor, careful: bool) -> Tensor:
        x = self.good(x)
        if careful:
            if bool(x.sum() > 100):
                x = x / 2
        return x


class SecondCall(nn.Module):
    """The first call of `twice` can be followed, the second cannot; `spare` is never called."""

    def __init__(self) -> None:
        super().__init__()
        self.twice = Twice()
        self.spare = Good()
        self.use_spare = False

    def forward(self, x: Tensor) -> Tensor:
        x = self.twice(x, False)
        x = self.twice(x, True)
        if self.use_spare:
            x = self.spare(x)
        return x


SAMPLES = [
    Sample(
        "control_flow_submodule",
        "scripted",
        "an `if` on data in a submodule, good modules around it",
        lambda: torch.jit.script(InSubmodule().eval()),
        [call(tensor(3, 4)), call(tensor(3, 4, seed=5))],
        failed=["gate"],
    ),
    Sample(
        "control_flow_root",
        "scripted",
        "an `if` on data in the root, whose submodules get graphs of their own",
        lambda: torch.jit.script(InRoot().eval()),
        [call(tensor(3, 4)), call(tensor(3, 4, seed=1))],
        failed=[""],
    ),
    Sample(
        "failing_nested",
        "scripted",
        "a loop over a size in a module that holds a `while` on data, good modules beside each",
        lambda: torch.jit.script(FailingNested().eval()),
        [call(tensor(3, 4))],
        failed=["outer", "outer.inner", "gate"],
    ),
    Sample(
        "failing_second_call",
        "scripted",
        "a module whose second call cannot be followed, another never called",
        lambda: torch.jit.script(SecondCall().eval()),
        [call(tensor(3, 4))],
        failed=["twice"],
    ),
    Sample(
        "raising",
        "scripted",
        "a module that always raises, so that the model cannot run at all",
        lambda: torch.jit.script(Raising().eval()),
        [],
        failed=["always"],
    ),
]
