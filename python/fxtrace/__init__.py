"""Trace TorchScript archives and exported programs into torch.fx graphs with the program fxtrace.

collection = fxtrace.trace("model.pt2")
for node in collection.root:
    print(node.name, node.op, node.target, node.shape)
module = collection.graph_module()  # a torch.fx.GraphModule that runs
"""

from typing import TYPE_CHECKING, Any

from ._collection import Collection, Graph, load
from ._data import Constant, Execution, MethodCall, ModuleUses, NamedItems
from ._errors import (
    Error,
    FxtraceWarning,
    GuardError,
    InputError,
    InternalError,
    NotFound,
    ProgramNotFound,
    RebuildError,
    UsageError,
    ViewError,
    WrongModel,
)
from ._program import Message, find_program
from ._records import (
    Assignment,
    Cost,
    Failure,
    GraphSignature,
    Guard,
    Meta,
    Model,
    Module,
    Node,
    Parameter,
    Scope,
    SignatureEntry,
    Source,
    StoredPart,
    TensorInfo,
)
from ._trace import PH, ModulesFailed, trace
from ._values import Device, Dtype, FunctionRef, GraphRef, Layout, MemoryFormat, NodeRef

if TYPE_CHECKING:
    from ._catalog import catalog
    from ._check import CheckedRule, CheckReport, GoneOffence, Offence, OffencePlace, check
    from ._convert import CannotConvert, convert
    from ._diff import ComparedModel, Comparison, Difference, ModuleDifferences, diff
    from ._extract import extract
    from ._fetch import Skeleton, fetch
    from ._order import Bucket, Call, Fsdp2, Order, Use, UsedMethod, UsedModule, UsedParameter, order
    from ._partition import Coverage, CrossingValue, LeftCall, LeftReason, Part, Partition, Plan, partition
    from ._plan import Piece
    from ._render import Summary
    from ._summary import summary
    from ._verify import Fault, ModuleProfile, Profile, Verification, verify
    from ._why import DimensionExplanation, ExplainedGuard, Explanation, why
    from ._why_records import (
        CallSite,
        DimensionInput,
        DimensionPlace,
        FailureGroup,
        ModuleExplanation,
        ModulePlace,
        NarrowedRange,
        Suggestions,
        Trial,
        UnknownOperator,
    )

__all__ = [
    "PH",
    "Assignment",
    "Bucket",
    "Call",
    "CallSite",
    "CannotConvert",
    "CheckReport",
    "CheckedRule",
    "Collection",
    "ComparedModel",
    "Comparison",
    "Constant",
    "Cost",
    "Coverage",
    "CrossingValue",
    "Device",
    "Difference",
    "DimensionExplanation",
    "DimensionInput",
    "DimensionPlace",
    "Dtype",
    "Error",
    "Execution",
    "ExplainedGuard",
    "Explanation",
    "Failure",
    "FailureGroup",
    "Fault",
    "Fsdp2",
    "FunctionRef",
    "FxtraceWarning",
    "GoneOffence",
    "Graph",
    "GraphRef",
    "GraphSignature",
    "Guard",
    "GuardError",
    "InputError",
    "InternalError",
    "Layout",
    "LeftCall",
    "LeftReason",
    "MemoryFormat",
    "Message",
    "Meta",
    "MethodCall",
    "Model",
    "Module",
    "ModuleDifferences",
    "ModuleExplanation",
    "ModulePlace",
    "ModuleProfile",
    "ModuleUses",
    "ModulesFailed",
    "NamedItems",
    "NarrowedRange",
    "Node",
    "NodeRef",
    "NotFound",
    "Offence",
    "OffencePlace",
    "Order",
    "Parameter",
    "Part",
    "Partition",
    "Piece",
    "Plan",
    "Profile",
    "ProgramNotFound",
    "RebuildError",
    "Scope",
    "SignatureEntry",
    "Skeleton",
    "Source",
    "StoredPart",
    "Suggestions",
    "Summary",
    "TensorInfo",
    "Trial",
    "UnknownOperator",
    "UsageError",
    "Use",
    "UsedMethod",
    "UsedModule",
    "UsedParameter",
    "Verification",
    "ViewError",
    "WrongModel",
    "catalog",
    "check",
    "convert",
    "diff",
    "extract",
    "fetch",
    "find_program",
    "load",
    "order",
    "partition",
    "summary",
    "trace",
    "verify",
    "why",
]

_LATER = {  # imported when the first of its names is used: data classes take time to create
    "_catalog": ("catalog",),
    "_check": ("CheckedRule", "CheckReport", "GoneOffence", "Offence", "OffencePlace", "check"),
    "_convert": ("CannotConvert", "convert"),
    "_diff": ("ComparedModel", "Comparison", "Difference", "ModuleDifferences", "diff"),
    "_extract": ("extract",),
    "_fetch": ("Skeleton", "fetch"),
    "_order": ("Bucket", "Call", "Fsdp2", "Order", "Use", "UsedMethod", "UsedModule", "UsedParameter", "order"),
    "_partition": ("Coverage", "CrossingValue", "LeftCall", "LeftReason", "Part", "Partition", "Plan", "partition"),
    "_plan": ("Piece",),
    "_render": ("Summary",),
    "_summary": ("summary",),
    "_verify": ("Fault", "ModuleProfile", "Profile", "Verification", "verify"),
    "_why": ("DimensionExplanation", "ExplainedGuard", "Explanation", "why"),
    "_why_records": (
        "CallSite",
        "DimensionInput",
        "DimensionPlace",
        "FailureGroup",
        "ModuleExplanation",
        "ModulePlace",
        "NarrowedRange",
        "Suggestions",
        "Trial",
        "UnknownOperator",
    ),
}
_MODULES = {name: module for module, names in _LATER.items() for name in names}

for _name in __all__:
    if hasattr(globals().get(_name), "__module__"):  # the public place of the name
        globals()[_name].__module__ = __name__
del _name


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("fxtrace")
        except PackageNotFoundError:  # the package is not installed
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    if name in _MODULES:
        from importlib import import_module

        module = import_module("." + _MODULES[name], __name__)
        for later in _LATER[_MODULES[name]]:
            value = getattr(module, later)
            value.__module__ = __name__
            globals()[later] = value
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
