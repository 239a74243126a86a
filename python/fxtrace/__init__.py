"""Trace TorchScript archives and exported programs into torch.fx graphs with the program fxtrace.

collection = fxtrace.trace("model.pt2")
for node in collection.root:
    print(node.name, node.op, node.target, node.shape)
module = collection.graph_module()  # a torch.fx.GraphModule that runs
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._bom import *
    from ._catalog import *
    from ._check import *
    from ._collection import *
    from ._convert import *
    from ._data import *
    from ._diff import *
    from ._errors import *
    from ._extract import *
    from ._fetch import *
    from ._order import *
    from ._partition import *
    from ._plan import *
    from ._program import *
    from ._records import *
    from ._render import *
    from ._summary import *
    from ._trace import *
    from ._values import *
    from ._verify import *
    from ._why import *
    from ._why_records import *

    __version__: str
else:  # the same, by the __all__ of these modules
    from importlib import import_module

    # Those behind trace are imported when one of their names is used: data classes take time to create.
    _MODULES = "errors values records data program collection trace "
    _MODULES += "bom catalog check convert diff extract fetch order partition plan render summary verify why why_records"
    _MODULES = _MODULES.split()

    def _take(module):
        """Put the public names of a module here, which is their public place, and return them."""
        found = import_module(f"._{module}", __name__)
        for name in found.__all__:
            value = globals().setdefault(name, getattr(found, name))
            if hasattr(value, "__module__"):
                value.__module__ = __name__
        return found.__all__

    for _module in _MODULES[: _MODULES.index("trace") + 1]:
        _take(_module)
    del _module

    def __getattr__(name):
        if name == "__version__":
            from importlib.metadata import PackageNotFoundError, version

            try:
                return version("fxtrace")
            except PackageNotFoundError:  # the package is not installed
                raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
        if name == "__all__":
            return sorted(name for module in _MODULES for name in _take(module))
        if name in _MODULES:
            _take(name)
        elif not name.startswith("_"):
            list(map(_take, _MODULES))
        if name in globals():
            return globals()[name]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__():
        return sorted([*__getattr__("__all__"), "__version__"])
