"""How exported samples are made: short names for options, and the inputs of a call as they stand
in the manifest."""

from typing import Any, Callable

import torch
from torch import nn
from torch.export import ExportedProgram

from nets.sample import make_inputs


def export(
    net: nn.Module, inputs: dict, dynamic: Any = None, strict: bool = False, **options: Any
) -> ExportedProgram:
    args, kwargs = make_inputs(inputs)
    return torch.export.export(
        net,
        args,
        kwargs,
        dynamic_shapes=dynamic,
        strict=strict,
        prefer_deferred_runtime_asserts_over_guards=True,
        **options,
    )


def exported(net: Callable[[], nn.Module], inputs: dict, dynamic: Any = None, **options: Any):
    """A maker for Sample: `net` in eval mode, exported."""
    return lambda: export(net().eval(), inputs, dynamic, **options)


def decomposed(net: Callable[[], nn.Module], inputs: dict, dynamic: Any = None, **options: Any):
    """The same, taken apart into core operators: functional, changes of buffers and inputs become outputs."""
    return lambda: export(net().eval(), inputs, dynamic, **options).run_decompositions()
