"""torch.fx graphs of TorchScript archives and exported programs, as the program fxtrace traces them.

collection = fxtrace.trace("model.pt2")
for node in collection.root:
    print(node.name, node.op, node.target, node.shape)
module = collection.graph_module()  # a torch.fx.GraphModule that runs
"""

from ._check import CheckedRule, CheckReport, Offence, OffencePlace, check
from ._collection import Collection, Graph, load
from ._data import (
    Constant,
    Cost,
    Execution,
    Failure,
    GraphSignature,
    Guard,
    Meta,
    Model,
    Module,
    ModuleUses,
    NamedItems,
    Node,
    Parameter,
    Scope,
    SignatureEntry,
    Source,
    TensorInfo,
)
from ._diff import ComparedModel, Comparison, Difference, ModuleDifferences, diff
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
)
from ._program import Message, find_program
from ._trace import PH, ModulesFailed, trace
from ._values import Device, Dtype, FunctionRef, GraphRef, Layout, MemoryFormat, NodeRef
from ._verify import Fault, ModuleProfile, Profile, Verification, verify

__all__ = [
    "PH",
    "CheckReport",
    "CheckedRule",
    "Collection",
    "ComparedModel",
    "Comparison",
    "Constant",
    "Cost",
    "Device",
    "Difference",
    "Dtype",
    "Error",
    "Execution",
    "Failure",
    "Fault",
    "FunctionRef",
    "FxtraceWarning",
    "Graph",
    "GraphRef",
    "GraphSignature",
    "Guard",
    "GuardError",
    "InputError",
    "InternalError",
    "Layout",
    "MemoryFormat",
    "Message",
    "Meta",
    "Model",
    "Module",
    "ModuleDifferences",
    "ModuleProfile",
    "ModuleUses",
    "ModulesFailed",
    "NamedItems",
    "Node",
    "NodeRef",
    "NotFound",
    "Offence",
    "OffencePlace",
    "Parameter",
    "Profile",
    "ProgramNotFound",
    "RebuildError",
    "Scope",
    "SignatureEntry",
    "Source",
    "TensorInfo",
    "UsageError",
    "Verification",
    "check",
    "diff",
    "find_program",
    "load",
    "trace",
    "verify",
]

for _name in __all__:
    if hasattr(globals()[_name], "__module__"):  # where users find it
        globals()[_name].__module__ = __name__
del _name


def __getattr__(name: str) -> str:
    if name == "__version__":
        from importlib.metadata import version

        return version("fxtrace")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
