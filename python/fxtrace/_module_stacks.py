"""The stacks of module calls around each node, as in torch.export's `nn_module_stack`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ._data import Execution, GraphData
from ._paths import parent_of
from ._records import Scope

Stack = dict[str, tuple[str, str]]


@dataclass(eq=False)
class _Call:
    path: str
    caller: _Call | None
    begun: int
    first: int = -1  # position of the first node that it or a call inside of it has made
    last: int = -1  # position of its own last node

    def stack(self) -> list[_Call]:
        """Return the call with those around it, the outermost first."""
        return [*(self.caller.stack() if self.caller is not None else ()), self]


class ModuleStacks:
    """The module stacks of one graph's nodes, which must be requested in the order of the nodes.

    torch.export.unflatten makes a module of each key and needs its nodes next to each other. So a call that continues after other
    code gets a number, like a separate call.
    """

    def __init__(self, graph: GraphData, types: Mapping[str, str | None]):
        self._types = types
        self._calls: dict[tuple[str, str, int], _Call] = {}
        self._running: list[tuple[_Call, str]] = []  # calls with their keys
        self._entered: Counter[str] = Counter()  # the number of entries by path
        latest: dict[str, _Call] = {}
        numbers: Counter[tuple[str, str]] = Counter()
        for path, method in _begun(graph):
            around = parent_of(path)
            while around and around not in latest:
                around = parent_of(around)
            call = _Call(path, latest.get(around) if around else None, len(self._calls))
            latest[path] = call
            numbers[path, method] += 1
            self._calls[path, method, numbers[path, method]] = call
        self._find_callers(graph)

    def _find_callers(self, graph: GraphData) -> None:
        """Find the callers of shared modules, whose path names only one: a call that began before and ends after."""
        for i, node in enumerate(graph):
            for call in (calls := self._of(node.scope)):
                call.first = i if call.first < 0 else call.first
            if calls:
                calls[-1].last = i
        running: list[_Call] = []
        for call in self._calls.values():
            while running and running[-1].last < call.first:
                running.pop()
            around = next((each for each in reversed(running) if each.path != call.path), None)
            if around is not None and call.first >= 0 and (call.caller is None or call.caller.begun < around.begun):
                call.caller = around
            running.append(call)

    def _of(self, scope: Scope) -> list[_Call]:
        call = self._calls.get((scope.module_path, scope.method or "", scope.call)) if scope.module_path else None
        return [] if call is None else call.stack()

    def next(self, scope: Scope) -> Stack:
        calls = self._of(scope)
        same = 0
        while same < min(len(calls), len(self._running)) and self._running[same][0] is calls[same]:
            same += 1
        del self._running[same:]
        for each in calls[same:]:
            entered = self._entered[each.path]
            self._entered[each.path] += 1
            key = "L__self___" + each.path + (f"@{entered}" if entered else "")
            self._running.append((each, key))
        stack = {"L__self__": ("", self._type(""))}
        stack.update((key, (each.path, self._type(each.path))) for each, key in self._running)
        return stack

    def _type(self, path: str) -> str:
        return self._types.get(path) or "torch.nn.modules.module.Module"


def _begun(graph: GraphData) -> Iterator[tuple[str, str]]:
    """Yield the calls of the graph in order: the path, and the method if it is not forward."""
    execution = graph.execution or _seen(graph)
    others = list(execution.method_calls)
    for position, path in enumerate(execution.module_forward_order):
        while others and others[0].position <= position:
            other = others.pop(0)
            yield other.module, other.method
        yield path, ""
    yield from ((other.module, other.method) for other in others)


def _seen(graph: GraphData) -> Execution:
    """Return the execution order of a body of control flow, which stores none: calls of forward, as its nodes show them."""
    calls = dict.fromkeys((node.scope.module_path, node.scope.call) for node in graph)
    return Execution(tuple(path for path, _ in calls), (), ())
