"""Provides models with control flow that depends on data, as people write them, each with inputs that take every branch.

`carried`: with --control-flow subgraph nothing fails.  `why`: a part of the message of the module that fails all
the same, because what its control flow carries has no form in torch's cond and while_loop.
"""

import dataclasses
from typing import Callable, Dict, List, NamedTuple, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

MODELS: "Dict[str, Case]" = {}


@dataclasses.dataclass
class Case:
    make: Callable[[], nn.Module]
    inputs: list
    why: Optional[str] = None


def model(*inputs, why: Optional[str] = None):
    def keep(cls):
        MODELS[cls.__name__] = Case(cls, [args if isinstance(args, tuple) else (args,) for args in inputs], why)
        return cls

    return keep


def t(*values) -> Tensor:
    return torch.tensor(values)


UP, DOWN = torch.ones(2, 4), -torch.ones(2, 4)
HIGH = 3 * torch.ones(2, 4)


# --- branches ---


@model(UP, DOWN)
class IfElse(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        if x.sum() > 0:
            y = self.linear(x)
        else:
            y = x - 1
        return y * 2


@model(UP, DOWN)
class TwoResults(nn.Module):
    def forward(self, x):
        a = x * 2
        b = x + 1
        if x.sum() > 0:
            c, d = a + b, a - b
        else:
            c, d = b * 2, x / 2
        return c * d


@model(UP, DOWN, HIGH)
class Nested(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            if x.max() > 2:
                y = x * 3
            else:
                y = x * 2
        elif x.min() < -5:
            y = -x
        else:
            y = x
        return y + 1


@model(UP, DOWN)
class NoElse(nn.Module):
    def forward(self, x):
        y = x * 3
        if y.mean() > 0:
            y = y.relu() + x
        return y


@model(UP, DOWN)
class SecondIf(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            x = x * 2
        if x.sum() < 4:
            x = x + 1
        return x


@model(UP, DOWN, HIGH)
class ElifReturns(nn.Module):
    def forward(self, x):
        if x.sum() > 20:
            return x * 3
        if x.sum() > 0:
            return x * 2
        return x


@model(UP, DOWN, HIGH)
class ReturnsInsideNested(nn.Module):
    def forward(self, y):
        if y.sum() > 0:
            if y.max() > 2:
                return y
            y = y * 3
        return y - 1


@model(UP, DOWN)
class PlainResults(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            scale, shift, flag = 1, 0.5, True
        else:
            scale, shift, flag = 2, -0.5, False
        if flag:
            shift = shift + 1.0
        return x * scale + shift


@model(UP, DOWN)
class EqualPlainStay(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            y = x * 2
            dim = 1
        else:
            y = x
            dim = 1
        return y.sum(dim)


@model(UP, DOWN)
class TupleResult(nn.Module):
    def step(self, x, state: Tuple[Tensor, Tensor]):
        return x + state[0], (state[0] * 2, state[1] + 1)

    def forward(self, x):
        state = (x, x * 2)
        if x.sum() > 0:
            x, state = self.step(x, state)
        return x, state


@model(UP, DOWN)
class ListResult(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            parts = [x, x * 2]
        else:
            parts = [x + 1, x]
        return torch.cat(parts)


@model(UP, DOWN)
class ListMadeInside(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            parts: List[Tensor] = []
            for i in range(3):
                parts.append(x * i)
            y = torch.stack(parts)
        else:
            y = torch.zeros(3, 2, 4)
        return y


@model(UP, DOWN)
class DictResult(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            out = {"a": x, "b": x * 2}
        else:
            out = {"a": x + 1, "b": x * 3}
        return out["a"] * out["b"]


@model(UP, DOWN)
class BoolOfTensor(nn.Module):
    def forward(self, x):
        positive = bool((x > 0).any())
        if positive and bool(x.mean() > 0.5):
            return x
        return x * 0


@model((UP, 0.5), (DOWN, 0.5), (UP, -2.0))
class FloatsGoIn(nn.Module):
    def forward(self, x, scale: float):
        s = scale * 2
        if x.sum() > 0:
            y = x * s
        else:
            y = x + scale
        return y


@model((UP, True), (DOWN, True), (UP, False), (DOWN, False))
class BoolsGoIn(nn.Module):
    def forward(self, x, flag: bool):
        if x.sum() > 0:
            if flag:
                x = x * 2
        else:
            x = x + float(flag)
        return x


@model(UP, DOWN)
class DtypeGoesIn(nn.Module):
    def forward(self, x):
        dtype, device = x.dtype, x.device
        if x.sum() > 0:
            y = torch.zeros(4, dtype=dtype, device=device) + 1
        else:
            y = torch.ones(4, dtype=dtype, device=device)
        return x + y


@model(UP, DOWN)
class SizesInside(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            y = x.view(x.size(0) * x.size(1))
        else:
            y = x.reshape(-1)[: x.size(1)]
        return y.sum() + y.size(0)


@model(UP, DOWN)
class RanksDiffer(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            x = x.unsqueeze(0)
        return x * 2


@model(UP, DOWN)
class ParametersInside(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))
        self.register_buffer("bias", torch.arange(4.0))

    def forward(self, x):
        if x.sum() > 0:
            return x * self.weight + self.bias
        return F.layer_norm(x, [4], self.weight, None)


@model(UP, DOWN)
class ParameterReturned(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(torch.ones(4))
        self.b = nn.Parameter(torch.zeros(4))

    def forward(self, x):
        w = self.a if bool(x.sum() > 0) else self.b
        return x + w


@model(UP, DOWN)
class InPlaceOnOwn(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            y = x * 2
            y.add_(1)
            y[0] = 5.0
        else:
            y = x.clone()
            y.clamp_(min=-0.5)
        return y


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 1, 3, padding=1)
        self.act = nn.ReLU(inplace=True)

    def forward(self, x):
        return self.act(self.conv(x))


@model(torch.ones(1, 1, 4, 4), -torch.ones(1, 1, 4, 4))
class SubmodulesInside(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Block(), Block()

    def forward(self, x):
        if x.mean() > 0:
            x = self.first(x)
        else:
            x = self.second(self.first(x))
        return self.second(x)


class Inner(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x * 2
        return x


@model(UP, DOWN)
class IfInSubmoduleInIf(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def forward(self, x):
        if x.max() > 0.5:
            return self.inner(x - 2)
        return self.inner(x)


@model(UP, DOWN)
class Raises(nn.Module):
    def forward(self, x):
        if x.sum() > 100:
            raise ValueError("too large")
        if x.sum() > 0:
            if x.max() > 50:
                raise ValueError("too large")
            x = x * 2
        return x


@model(UP, DOWN)
class Warns(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            print("positive")
        return x * 2


@model(UP, DOWN)
class SameQuestionTwice(nn.Module):
    def forward(self, x):
        positive = x.sum() > 0
        y = x
        if positive:
            y = y * 2
        z = y + 1
        if positive:
            z = z * y
        return z


@model(UP, DOWN)
class Ternary(nn.Module):
    def forward(self, x):
        n = x.size(0) if bool(x.sum() > 0) else 1
        return x[:n] * (2.0 if bool(x.max() > 0) else 3.0)


@model(UP, DOWN)
class MaskedUpdate(nn.Module):
    """As losses do: skip what is empty."""

    def forward(self, x):
        mask = x > 0
        if mask.any():
            loss = x[mask].sum()
        else:
            loss = x.sum() * 0.0
        return loss


# --- loops ---


@model(UP, DOWN, HIGH)
class While(nn.Module):
    def forward(self, y):
        i = 0
        while bool(y.sum() < 10) and i < 5:
            y = y * 2
            i += 1
        return y, i


@model((UP, 0), (DOWN, 3), (HIGH, 5))
class WhileStartsAnywhere(nn.Module):
    def forward(self, y, start: int):
        i = start
        while bool(y.sum() < 10) and i < 5:
            y = y + 1
            i += 1
        return y * i


@model((UP, t(3)), (UP, t(0)), (DOWN, t(-1)))
class ForTensorLength(nn.Module):
    def forward(self, x, n):
        for i in range(int(n)):
            x = x * 2 + i
        return x


@model(UP, DOWN, HIGH, UP * 50)
class ForBreak(nn.Module):
    def forward(self, y):
        for i in range(10):
            y = y + 1
            if y.sum() > 20:
                break
        return y


@model(UP, DOWN, HIGH, UP * 50)
class BreakContinueReturn(nn.Module):
    def forward(self, y):
        for i in range(10):
            y = y + 1
            if y.sum() > 20:
                return y * 2
            if y.sum() < -2:
                continue
            y = y * 1.1
        return y


@model((UP, 0.1), (HIGH, 0.5), (UP * 0, 0.5))
class Tolerance(nn.Module):
    def forward(self, y, tol: float):
        err = y.abs().max()
        while err > tol:
            y = y / 2
            err = y.abs().max()
        return y


@model(UP, HIGH, UP * 0.01)
class FloatState(nn.Module):
    """Newton's method on a plain float."""

    def forward(self, x):
        a = float(x.sum())
        r = 1.0
        steps = 0
        while abs(r * r - a) > 1e-6 and steps < 50:
            r = 0.5 * (r + a / r)
            steps += 1
        return x * r, steps


@model(UP, DOWN)
class LoopInIf(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            while x.sum() < 100:
                x = x * 2
        else:
            x = -x
        return x


@model(UP, DOWN, HIGH)
class IfInLoop(nn.Module):
    def forward(self, x):
        i = 0
        while x.abs().sum() < 50:
            if x.sum() > 0:
                x = x * 2
            else:
                x = x - 1
            i += 1
        return x, i


@model((UP, t(2), t(3)), (UP, t(0), t(3)), (UP, t(2), t(0)))
class LoopInLoop(nn.Module):
    def forward(self, x, n, m):
        total = torch.zeros(4)
        for i in range(int(n)):
            for j in range(int(m)):
                total = total + x[0] * (i + 1) * j
            x = x + 1
        return total


@model((torch.randn(5, 4), t(5)), (torch.randn(5, 4), t(2)), (torch.randn(5, 4), t(0)))
class LstmWithTensorLength(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(4, 3)

    def forward(self, x, length):
        h, c = torch.zeros(3), torch.zeros(3)
        for step in range(int(length)):
            h, c = self.cell(x[step], (h, c))
        return h, c


@model((torch.randn(3, 5, 4), t(5, 2, 4)), (torch.randn(3, 5, 4), t(1, 1, 1)))
class MaskedGru(nn.Module):
    """Padded sequences: as many steps as the longest has."""

    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(4, 4)

    def forward(self, x, lengths):
        h = x.new_zeros(x.size(0), 4)
        steps = int(lengths.max())
        for i in range(steps):
            new = self.cell(x[:, i], h)
            h = torch.where((lengths > i).unsqueeze(1), new, h)
        return h


@model(torch.zeros(2, 4), torch.ones(2, 4), torch.randn(2, 4) * 3)
class AdaptiveComputation(nn.Module):
    """Graves 2016: each row ponders until its halting probabilities add up to one."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.step = nn.Linear(4, 4)
        self.halt = nn.Linear(4, 1)

    def forward(self, x):
        halted = torch.zeros(x.size(0))
        out = torch.zeros_like(x)
        n = 0
        while bool((halted < 0.99).any()) and n < 20:
            x = torch.tanh(self.step(x))
            p = torch.sigmoid(self.halt(x)).squeeze(-1)
            p = torch.minimum(p, 1 - halted)
            out = out + p.unsqueeze(-1) * x
            halted = halted + p
            n += 1
        return out, n


@model(torch.zeros(1, 8), torch.ones(1, 8), torch.randn(1, 8) * 5)
class EarlyExit(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.blocks = nn.ModuleList([nn.Sequential(nn.Linear(8, 8), nn.ReLU()) for _ in range(4)])
        self.heads = nn.ModuleList([nn.Linear(8, 3) for _ in range(4)])

    def forward(self, x):
        logits = torch.zeros(1, 3)
        done = False
        for block, head in zip(self.blocks, self.heads):
            if not done:
                x = block(x)
                logits = head(x)
                done = bool(logits.softmax(-1).max() > 0.45)
        return logits


@model(torch.zeros(1, 8), torch.ones(1, 8), torch.randn(1, 8) * 5)
class EarlyExitReturns(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.blocks = nn.ModuleList([nn.Linear(8, 8) for _ in range(3)])

    def forward(self, x):
        for block in self.blocks:
            x = torch.relu(block(x))
            if x.max() > 0.6:
                return x, True
        return x, False


@model(t(1), t(5), t(9))
class GreedyDecoding(nn.Module):
    """Until the end token, into a tensor of fixed length."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(2)
        self.embedding = nn.Embedding(10, 6)
        self.out = nn.Linear(6, 10)

    def forward(self, token):
        tokens = torch.zeros(8, dtype=torch.long)
        h = torch.zeros(1, 6)
        n = 0
        done = False
        while not done and n < 8:
            h = torch.tanh(h + self.embedding(token))
            token = self.out(h).argmax(-1)
            tokens = torch.where(torch.arange(8) == n, token, tokens)
            done = bool((token == 3).all())
            n += 1
        return tokens, n


@model(t(1), t(4))
class BeamSearch(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.transition = nn.Parameter(torch.randn(6, 6).log_softmax(-1))

    def forward(self, first):
        width, limit, end = 3, 6, 0
        beams = torch.full((width, limit + 1), end, dtype=torch.long)
        beams = torch.cat([first.expand(width).unsqueeze(1), beams[:, 1:]], 1)
        scores = torch.tensor([0.0, -1e9, -1e9])
        step = 0
        while step < limit and bool((beams.gather(1, torch.full((width, 1), step)) != end).any()):
            last = beams.gather(1, torch.full((width, 1), step)).squeeze(1)
            grown = scores.unsqueeze(1) + self.transition[last]
            best, index = grown.flatten().topk(width)
            beams = beams[index // 6]
            here = (torch.arange(limit + 1) == step + 1).expand(width, -1)
            beams = torch.where(here, (index % 6).unsqueeze(1), beams)
            scores = best
            step += 1
        return beams, scores


@model((torch.tensor([[0, 0, 10, 10], [1, 1, 10, 10], [20, 20, 30, 30.0]]), t(0.9, 0.8, 0.7)), (torch.zeros(0, 4), torch.zeros(0)))
class Suppression(nn.Module):
    """Non-maximum suppression by hand: the number of boxes is data."""

    def forward(self, boxes, scores):
        order = scores.argsort(descending=True)
        keep = torch.zeros(boxes.size(0), dtype=torch.bool)
        n = int(order.numel())
        while n > 0:
            best = order[0]
            keep = keep.index_fill(0, best, True)
            rest = order[1:]
            low = torch.maximum(boxes[best, :2], boxes[rest, :2])
            high = torch.minimum(boxes[best, 2:], boxes[rest, 2:])
            inter = (high - low).clamp(min=0).prod(1)
            area = (boxes[:, 2:] - boxes[:, :2]).prod(1)
            iou = inter / (area[best] + area[rest] - inter)
            order = rest[iou < 0.5]
            n = int(order.numel())
        return keep


@model((torch.rand(6, 4) * 10, torch.rand(6)), (torch.zeros(0, 4), torch.zeros(0)))
class DetectionPostProcessing(nn.Module):
    """As torchvision's RoIHeads: boxes above a threshold, or none."""

    def forward(self, boxes, scores):
        keep = torch.where(scores > 0.3)[0]
        boxes, scores = boxes[keep], scores[keep]
        if boxes.numel() == 0:
            best = torch.empty((0,), dtype=torch.int64)
        else:
            offset = boxes.max() + 1
            shifted = boxes + offset
            best = (scores + shifted.sum(1) * 0).argsort(descending=True)
        best = best[:3]
        return boxes[best], scores[best]


class Box(NamedTuple):
    low: Tensor
    high: Tensor


@model(UP, DOWN)
class NamedTupleState(nn.Module):
    def forward(self, x):
        box = Box(x, x + 1)
        while box.high.sum() < 20:
            box = Box(box.high, box.high + 2)
        return box.low, box.high


@model((UP, t(3)), (UP, t(0)))
class ListState(nn.Module):
    def forward(self, x, n):
        state = [x, x * 2]
        for _ in range(int(n)):
            state = [state[1], state[0] + state[1]]
        return state[0] - state[1]


@model((UP, t(3)), (UP, t(0)))
class Swap(nn.Module):
    def forward(self, x, n):
        a, b = x, x * 2
        for _ in range(int(n)):
            a, b = b, a
        return a - b * 3


@model((UP, t(3)), (UP, t(0)))
class Fibonacci(nn.Module):
    def forward(self, x, n):
        a, b = 0, 1
        for _ in range(int(n)):
            a, b = b, a + b
        return x * a


@model((torch.randn(1, 2), t(3)), (torch.randn(1, 2), t(0)))
class GrowingTensor(nn.Module):
    """The carried tensor gets another size in each turn."""

    def forward(self, x, n):
        for i in range(int(n)):
            x = torch.cat([x, x[-1:] + i])
        return x


@model(t(1, 2, 3), t(5), torch.zeros(0, dtype=torch.long))
class LoopOverTensor(nn.Module):
    def forward(self, x):
        total = 0
        for v in x:
            total = total + int(v)
        return x + total


@model((UP, t(6)), (UP, t(7)), (UP, t(1)))
class Collatz(nn.Module):
    def forward(self, x, n):
        k = int(n)
        steps = 0
        while k != 1:
            if k % 2 == 0:
                k = k // 2
            else:
                k = 3 * k + 1
            steps += 1
        return x * steps


@model((UP, 3, False), (UP, 3, True))
class LoopOverAnInput(nn.Module):
    def forward(self, x, n: int, up: bool):
        for i in range(n):
            x = x + 1 if up else x * 2
        return x


@model((UP, t(3)), (DOWN, t(2)))
class LeafWithInPlaceInside(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Linear(4, 4)
        self.act = nn.ReLU(inplace=True)

    def forward(self, x, n):
        for _ in range(int(n)):
            x = self.act(self.conv(x))
        return x


@model((UP, t(4)), (UP, t(0)))
class ConditionAsked(nn.Module):
    """The condition is a function of the model's own, and a flag."""

    def goes_on(self, x, i: int, n: int) -> bool:
        return i < n and bool(x.sum() < 100)

    def forward(self, x, n):
        i = 0
        limit = int(n)
        while self.goes_on(x, i, limit):
            x = x * 2
            i += 1
        return x, i


@model(UP, DOWN)
class TryLater(nn.Module):
    """What is worked out once before a loop is no part of its condition."""

    def forward(self, x):
        goes_on = bool(x.sum() < 100)
        x = x + 3
        x.mul_(2)
        while goes_on:
            x = x * 2
            goes_on = bool(x.abs().sum() < 100)
        return x


# --- lists and dicts that are changed in place ---


@model(UP, DOWN)
class ListItemInBranch(nn.Module):
    """As torchvision's shifted_window_attention."""

    def __init__(self):
        super().__init__()
        self.shift = [1, 2]

    def forward(self, x):
        shift = self.shift.copy()
        if x.sum() > 0:
            shift[0] = 0
        return torch.roll(x, shift, [0, 1])


@model(UP, DOWN)
class ListItemInTwoBranches(nn.Module):
    def forward(self, x):
        parts = [x, x + 1, x + 2]
        same = parts
        if x.sum() > 0:
            parts[0] = parts[1] * 2
        else:
            parts[2] = parts[0] * 3
            parts.reverse()
        return torch.cat(same)


@model((UP, t(3)), (UP, t(0)), (DOWN, t(1)))
class ListItemInLoop(nn.Module):
    """Hidden states of two layers, kept in a list."""

    def forward(self, x, n):
        states = [x, x * 2]
        for i in range(int(n)):
            states[0] = torch.tanh(states[0] + i)
            states[1] = states[1] + states[0]
        return states[0] * states[1]


@model((UP, t(3)), (DOWN, t(3)), (UP, t(0)))
class ListItemInBranchInLoop(nn.Module):
    def forward(self, x, n):
        counts = [0, 0]
        for i in range(int(n)):
            if (x * (i - 1)).sum() > 0:
                counts[0] += 1
            else:
                counts[1] = counts[1] + i
        return x * counts[0] + counts[1]


@model(UP, DOWN)
class DictEntryInBranch(nn.Module):
    def forward(self, x):
        out = {"a": x, "b": x * 2}
        if x.sum() > 0:
            out["a"] = x * 5
        return out["a"] + out["b"], out


@model(UP, DOWN)
class SizesFromAround(nn.Module):
    def forward(self, x):
        shape = x.shape[1:]
        if x.sum() > 0:
            return torch.ones(shape) * x
        return x.reshape(-1)[: shape[0]]


@model(UP, DOWN)
class MayBeViewWrittenLater(nn.Module):
    """Either way y is of x, and x is not seen again."""

    def forward(self, x):
        x = x * 1
        y = x
        if x.sum() > 0:
            y = x.view(4, 2)
        y.add_(1)
        return y * 2


@model(UP, DOWN)
class WritesBetweenBranches(nn.Module):
    """Each write is to a value that nobody else has."""

    def forward(self, x):
        y = x * 1
        if x.sum() > 0:
            y = y + 1
        y.add_(1)
        if y.sum() > 0:
            y = y * 2
        y.mul_(3)
        z = y
        if z.max() > 4:
            z = z - 1
        return z


@model(UP, DOWN)
class ResidualAddedInPlace(nn.Module):
    """The write is to h alone, though y, which may be x, is added to it."""

    def forward(self, x):
        h = x.tanh()
        y = x
        if x.sum() > 0:
            y = x * 2
        h.add_(y)
        return h + x


class WritesNothing(nn.Module):
    def forward(self, x):
        out: List[Tensor] = []
        for i in range(int(x.size(0))):
            out.append(F.relu(x[i]))
        return torch.stack(out)


class LeafAfterBranch(nn.Module):
    """A module that fails, and so is a leaf, gets z, which may be y."""

    def __init__(self, leaf: nn.Module):
        super().__init__()
        self.leaf = leaf

    def forward(self, x):
        y = x * 1
        z = y
        if x.sum() > 0:
            z = y * 2
        return self.leaf(z) + y


@model(UP, DOWN)
class LeafThatWritesNothing(LeafAfterBranch):
    """Its code shows that z stays as it is."""

    def __init__(self):
        super().__init__(WritesNothing())


# --- what has no form in torch's cond and while_loop ---


@model(UP, DOWN, why="`y` is Tensor or None")
class NoneOrTensor(nn.Module):
    def forward(self, x):
        y: Optional[Tensor] = None
        if x.sum() > 0:
            y = x * 2
        if y is None:
            y = x
        return y


@model((UP, t(3)), why="`out` is a list of 0 before an iteration and a list of 1 after it")
class GrowingList(nn.Module):
    def forward(self, x, n):
        out: List[Tensor] = []
        for i in range(int(n)):
            out.append(x * i)
        return torch.stack(out)


@model((UP, t(3)), why="is a list of 1 before an iteration and a list of 2 after it")
class GrowingListByAddition(nn.Module):
    def forward(self, x, n):
        out = [x]
        for i in range(int(n)):
            out = out + [x * i]
        return torch.stack(out)


@model(UP, DOWN, why="write")
class WriteToOuter(nn.Module):
    def forward(self, x):
        y = x * 2
        if x.sum() > 0:
            y.add_(1)
        return y


@model(UP, DOWN, why="write")
class WriteToViewOfOuter(nn.Module):
    def forward(self, x):
        y = x * 2
        if x.sum() > 0:
            y[0] = 0.0
        return y


@model((UP, t(2)), why="write")
class WriteInLoop(nn.Module):
    def forward(self, x, n):
        out = torch.zeros(4, 4)
        for i in range(int(n)):
            out[i] = x[0] * i
        return out


@model(UP, DOWN, why="write")
class BufferInside(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(1))

    def forward(self, x):
        if x.sum() > 0:
            self.count.add_(1)
        return x + self.count


@model(UP, DOWN, why="attribute 'steps' is set")
class AttributeInside(nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = 0

    def forward(self, x):
        if x.sum() > 0:
            self.steps = 1
        return x + self.steps


@model(UP, DOWN, why="'a'")
class StringResult(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            mode = "a"
        else:
            mode = "b"
        return x * 2 if mode == "a" else x


@model(UP, DOWN, why="write")
class OldValueWrittenLater(nn.Module):
    """Without an else the result may be x itself, and then the write goes to x too."""

    def forward(self, x):
        x = x * 1
        y = x
        if x.sum() > 0:
            y = x * 2
        y.add_(1)
        return x, y


@model(UP, DOWN, why="write")
class OldValueWrittenMuchLater(nn.Module):
    """Through several branches."""

    def forward(self, x):
        y = x
        if x.sum() > 0:
            y = y + 1
        if x.max() > 0:
            y = y * 2
        y.add_(1)
        return y


@model(UP, DOWN, why="write")
class OldValueReadAfterWrite(nn.Module):
    """The write goes to x, and y may be x."""

    def forward(self, x):
        x = x * 1
        y = x
        for _ in range(2):
            if y.sum() > 0:
                y = y + 1
        x.add_(1)
        return y


class WritesItsInput(nn.Module):
    def forward(self, x):
        out: List[Tensor] = []
        for i in range(int(x.size(0))):
            out.append(x[i])
        x.add_(1)
        return torch.stack(out)


@model((torch.rand(6), t(0, 1, 1, 0, 2, 2)), (torch.rand(2), t(0, 1)), why="index_put_ writes to zeros_like")
class BestOfEachClass(nn.Module):
    """As torchvision's batched_nms: the write is two subgraphs down, to what one of them makes."""

    def pick(self, scores, classes):
        keep = torch.zeros_like(scores, dtype=torch.bool)
        for c in torch.unique(classes):
            own = torch.where(classes == c)[0]
            keep[own[scores[own].argmax()]] = True
        return torch.where(keep)[0]

    def forward(self, scores, classes):
        if scores.numel() > 4:
            return self.pick(scores, classes)
        return torch.where(scores > 0)[0]


@model(UP, DOWN, why="writes to one of the two")
class LeafWritesOldValue(LeafAfterBranch):
    """Its code shows that it may write to z."""

    def __init__(self):
        super().__init__(WritesItsInput())


@model(UP, DOWN, why="writes to one of the two")
class LeafInBranchWritesOldValue(nn.Module):
    def __init__(self):
        super().__init__()
        self.leaf = WritesItsInput()

    def forward(self, x):
        y = x * 1
        z = y
        if x.sum() > 0:
            z = y * 2
        if x.max() > 0:
            w = self.leaf(z)
        else:
            w = x
        return w + y


@model(UP, DOWN, why="an iteration of it raises: ValueError: never")
class RaisesInATurn(nn.Module):
    """Not the branch raises: the loop may have no turn."""

    def forward(self, x):
        if x.sum() > 0:
            while bool(x.sum() < 0):
                raise ValueError("never")
            x = x * 2
        return x


@model(([UP, DOWN],), ([UP],), why="only tensors and numbers")
class LoopOverAListInput(nn.Module):
    def forward(self, xs: List[Tensor]):
        total = torch.zeros(2, 4)
        for x in xs:
            total = total + x
        return total
