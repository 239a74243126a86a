"""Compares the shapes that fxtrace infers with those of a real run: the rebuilt graph is run node by node.

Expressions in `meta` are Python's, over dimensions whose values the caller gives.  Names such as `u0` are sizes
that depend on data: what they are is seen where the first expression has them, and holds from there on.
"""

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import harness
import torch
from torch import fx

_NAME = re.compile(r"[A-Za-z_]\w*")
BY_DATA = re.compile(r"u\d+")
_FUNCTIONS = {"min": min, "max": max}


class WrongShape(AssertionError):
    """What fxtrace says of a node is not what the run gave."""


class NotBound(Exception):
    """An expression of a size that no expression before it tells."""


def evaluate(expression: int | str, values: dict[str, int]) -> int:
    """The value of a number or an expression of `meta`."""
    if isinstance(expression, str):
        return eval(expression, {"__builtins__": {}}, {**_FUNCTIONS, **values})
    return expression


def names_in(expression: int | str) -> set[str]:
    return set(_NAME.findall(expression)) - set(_FUNCTIONS) if isinstance(expression, str) else set()


class Bindings:
    """Values of the named dimensions, and of sizes that depend on data once they are seen."""

    def __init__(self, values: dict[str, int]):
        self.values = dict(values)

    def holds(self, expression: int | str, real: int) -> bool:
        unknown = names_in(expression) - set(self.values)
        if not all(map(BY_DATA.fullmatch, unknown)):
            raise WrongShape(f"{expression} has a name that is no dimension")
        if len(unknown) > 1:
            raise NotBound
        for name in unknown:
            self.values[name] = self._solve(expression, name, real)
        return evaluate(expression, self.values) == real

    def _solve(self, expression: str, name: str, real: int) -> int:
        """What `name` must be for the expression to be `real`; a straight line can be solved."""
        zero, one, two = (evaluate(expression, {**self.values, name: value}) for value in (0, 1, 2))
        if one == zero or two - one != one - zero or (real - zero) % (one - zero):
            raise NotBound
        return (real - zero) // (one - zero)


@dataclass
class Report:
    """Of all nodes that gave a tensor: how many were known, and the targets of the others."""

    tensors: int = 0
    known: int = 0
    by_data: int = 0  # of the known, those with a size that depends on data, or could not be told otherwise
    integers: int = 0  # compared
    unknown: Counter = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def add(self, other: "Report") -> None:
        self.tensors += other.tensors
        self.known += other.known
        self.by_data += other.by_data
        self.integers += other.integers
        self.unknown += other.unknown
        self.wrong += other.wrong

    @property
    def share(self) -> float:
        return self.known / self.tensors if self.tensors else 1.0


class Recorder(fx.Interpreter):
    """Compares each node's result with its `meta` as soon as it is there: later nodes may change it in place."""

    def __init__(self, module: fx.GraphModule, graph_json: dict, values: dict[str, int]):
        super().__init__(module)
        self.meta = {node["name"]: node for node in graph_json["nodes"]}
        self.bindings = Bindings(values)
        self.report = Report()

    def run_node(self, n: fx.Node) -> Any:
        result = super().run_node(n)
        if n.op != "output":
            self._compare(self.meta[n.name], result)
        return result

    def _compare(self, node_json: dict, result: Any) -> None:
        meta = node_json["meta"] or {}
        if isinstance(result, torch.Tensor):
            self._compare_tensor(node_json, meta, result)
        elif meta.get("shape") is not None:
            self._wrong(node_json, "has a shape", f"{type(result).__name__} {str(result)[:60]}")
        if meta.get("value") is not None:
            self._compare_integer(node_json, meta["value"], result)

    def _compare_tensor(self, node_json: dict, meta: dict, result: torch.Tensor) -> None:
        report = self.report
        report.tensors += 1
        if meta.get("shape") is None:
            report.unknown[
                node_json["target"] if node_json["op"] == "call_function" else node_json["op"]
            ] += 1
            return
        real = list(result.shape)
        said = f"{meta.get('dtype')}{meta['shape']}".replace("'", "")
        found = f"{str(result.dtype).removeprefix('torch.')}{real} on {result.device}"
        try:
            right = len(meta["shape"]) == len(real) and all(
                [self.bindings.holds(size, value) for size, value in zip(meta["shape"], real)]
            )
        except NotBound:
            report.unknown[f"{node_json['target']}, of sizes nothing else tells"] += 1
            return
        if meta.get("dtype") is not None:
            right = right and meta["dtype"] == str(result.dtype).removeprefix("torch.")
        if torch.device(meta.get("device") or "cpu") != result.device:
            right = False
        if not right:
            self._wrong(node_json, said, found)
        elif meta.get("dtype") is None:
            report.unknown[f"{node_json['target']}, its dtype"] += 1
        else:
            report.known += 1
            report.by_data += any(
                BY_DATA.fullmatch(name) for size in meta["shape"] for name in names_in(size)
            )

    def _compare_integer(self, node_json: dict, said: int | str, result: Any) -> None:
        if not isinstance(result, int) or isinstance(result, bool):
            self._wrong(node_json, str(said), f"{type(result).__name__} {str(result)[:60]}")
            return
        try:
            if self.bindings.holds(said, result):
                self.report.integers += 1
            else:
                self._wrong(node_json, str(said), str(result))
        except NotBound:
            pass

    def _wrong(self, node_json: dict, said: str, found: str) -> None:
        names = sorted(names_in(said) & set(self.bindings.values))
        values = ", ".join(f"{name}={self.bindings.values[name]}" for name in names)
        self.report.wrong.append(
            f"{node_json['name']} ({node_json['target']}): {said} is really {found}"
            + (f" where {values}" if values else "")
        )


def compare(
    path: str,
    graph_json: dict,
    inputs: tuple,
    values: dict[str, int],
    model: torch.nn.Module | None = None,
    check: bool = True,
    grad: bool = False,
) -> tuple[Report, Any]:
    """Runs the rebuilt graph on the values of its placeholders; also gives what it returned."""
    rebuilt = harness.rebuild(path, graph_json, model)
    recorder = Recorder(rebuilt, graph_json, values)
    torch.manual_seed(0)
    with torch.set_grad_enabled(grad):
        result = recorder.run(*inputs)
    if check and recorder.report.wrong:
        raise WrongShape("\n".join(recorder.report.wrong))
    return recorder.report, result
