"""fxtrace.order: the order in which a model uses its modules and parameters."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ._collection import Collection
from ._data import Amount
from ._keywords import ask
from ._options import TraceOptions, Unpack
from ._program import Message
from ._types import At, ModelLike

__all__ = ["Bucket", "Call", "Fsdp2", "Order", "Use", "UsedMethod", "UsedModule", "UsedParameter", "order"]


@dataclass(frozen=True)
class Call:
    """A call by its number in the graph of a module; schemas/order.schema.json describes it."""

    graph: str
    call: int | None


@dataclass(frozen=True)
class Use(Call):
    module: str
    node: str


@dataclass(frozen=True)
class UsedModule:
    path: str
    type: str | None
    status: str
    shared: tuple[str, ...]
    parameters: int  # elements
    parameter_bytes: int
    calls: tuple[Call, ...]  # empty if it is never called
    macs: Amount | None = None  # with `at`: the cost of all calls, submodules included; None if it is not known

    @property
    def first(self) -> Call | None:
        return self.calls[0] if self.calls else None


@dataclass(frozen=True)
class UsedMethod:
    """A called method other than forward; what it uses counts as used by its caller."""

    path: str
    method: str
    call_count: int


@dataclass(frozen=True)
class UsedParameter:
    name: str
    shape: tuple[int, ...]
    dtype: str
    bytes: int
    tied: tuple[str, ...]
    use_count: int  # 0 if it is unused
    uses: tuple[Use, ...]

    @property
    def first(self) -> Use | None:
        return self.uses[0] if self.uses else None


@dataclass(frozen=True)
class Bucket:
    bytes: int
    parameters: tuple[str, ...]


@dataclass(frozen=True)
class Fsdp2:
    """The modules to shard by themselves, and the modules that each prefetches; "" is the root."""

    units: tuple[str, ...]
    forward_prefetch: Mapping[str, str]
    backward_prefetch: Mapping[str, str]
    left_out: Mapping[str, str]  # reasons by path


@dataclass(frozen=True)
class Order:
    graphs: Mapping[str, tuple[str, ...]]  # the calls of each graph, in order
    modules: tuple[UsedModule, ...]
    never_called: tuple[UsedModule, ...]
    methods: tuple[UsedMethod, ...]
    parameters: tuple[UsedParameter, ...]
    unused_parameters: tuple[UsedParameter, ...]
    buckets: tuple[Bucket, ...] | None
    fsdp2: Fsdp2
    messages: tuple[Message, ...]


def order(
    model: ModelLike | Collection,
    *,
    # scripts/reference writes what follows: order
    buckets: int | str | None = None,
    at: At | None = None,
    # end of what scripts/reference writes
    **options: Unpack[TraceOptions],
) -> Order:
    """Return the order in which a model or collection uses its modules and parameters, as `fxtrace order` does.

    - model: a file's path or bytes, an open file, an ExportedProgram or ScriptModule, or a collection;

    Options of `fxtrace order`:

    - buckets: put the parameters into buckets of at most SIZE bytes (25MiB, 25MB), in the order of their first uses; one that is
      larger is a bucket by itself;
    - at: numbers for named sizes, or the shapes of inputs, for shapes and costs: {"batch": 1, "seq": 4096} or {"x": (1, 3, 224,
      224)};
    - options: the keywords of trace(), for a model.

    Returns an Order: modules and parameters in the order of their first use, those that are never used, and the modules that FSDP2
    would shard and prefetch. Sizes of parameters are elements (`parameters`) and bytes.

    Raises UsageError for wrong options; InputError for a file that is not a model or cannot be read.
    """
    output = ask("order", locals())
    return _order(json.loads(output.stdout), output.messages)


def _module(data: Mapping[str, Any]) -> UsedModule:
    sizes = {"parameters": data["parameters"]["elements"], "parameter_bytes": data["parameters"]["bytes"]}
    calls = tuple(Call(**call) for call in data.get("calls", ()))
    return UsedModule(**{**data, **sizes, "shared": tuple(data["shared"]), "calls": calls})


def _parameter(data: Mapping[str, Any]) -> UsedParameter:
    lists = {"shape": tuple(data["shape"]), "tied": tuple(data["tied"])}
    uses = tuple(Use(**use) for use in data.get("uses", ()))
    return UsedParameter(**{"use_count": 0, **data, **lists, "uses": uses})


def _order(data: Mapping[str, Any], messages: Sequence[Message]) -> Order:
    buckets, plan = data["buckets"], data["fsdp2"]
    return Order(
        graphs={graph["module"]: tuple(graph["calls"]) for graph in data["graphs"]},
        modules=tuple(map(_module, data["modules"])),
        never_called=tuple(map(_module, data["never_called"])),
        methods=tuple(UsedMethod(each["path"], each["method"], each["call_count"]) for each in data.get("methods", ())),
        parameters=tuple(map(_parameter, data["parameters"])),
        unused_parameters=tuple(map(_parameter, data["unused_parameters"])),
        buckets=buckets and tuple(Bucket(each["bytes"], tuple(each["parameters"])) for each in buckets["list"]),
        fsdp2=Fsdp2(
            units=tuple(plan["units"]),
            forward_prefetch={pair["module"]: pair["next"] for pair in plan["forward_prefetch"]},
            backward_prefetch={pair["module"]: pair["next"] for pair in plan["backward_prefetch"]},
            left_out={block["path"]: block["reason"] for block in plan["left_out"]},
        ),
        messages=tuple(messages),
    )
