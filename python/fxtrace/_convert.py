"""fxtrace.convert: conversion of a TorchScript archive, or of an exported program, to an exported program."""

from __future__ import annotations

import importlib
import os
import tempfile
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal, overload

from ._errors import Error, UsageError
from ._keywords import ask
from ._options import ConvertOptions, Unpack
from ._program import STRICT_FAILED, Message, warn_of
from ._types import ModelLike, Path, Texts

if TYPE_CHECKING:
    import torch

__all__ = ["CannotConvert", "convert"]


class CannotConvert(Error):
    """The model does something that an exported program cannot express (exit code 4).

    `refusals` has all reasons, each with what would help.
    """

    refusals: tuple[str, ...]


@overload
def convert(
    model: ModelLike,
    output: None = None,
    *,
    # scripts/reference writes what follows: convert
    grad: bool = False,
    dialect: Literal["training", "aten"] | None = None,
    quantized: Literal["decomposed", "refuse"] | None = None,
    state: Literal["refuse", "freeze"] | None = None,
    drop_output: int | Iterable[int] | None = None,
    for_torch: str | None = None,
    rename: Mapping[str, str] | Texts | None = None,
    tap: Texts | None = None,
    no_weights: bool = False,
    external_weights: bool = False,
    hint: Mapping[str, int] | None = None,
    sample_inputs: Literal["zeros", "none"] | None = None,
    method: Texts | None = None,
    module: str | None = None,
    call: int | None = None,
    from_: Texts | None = None,
    to: Texts | None = None,
    # end of what scripts/reference writes
    **options: Unpack[ConvertOptions],
) -> torch.export.ExportedProgram: ...


@overload
def convert(
    model: ModelLike,
    output: Path,
    *,
    # scripts/reference writes what follows: convert
    grad: bool = False,
    dialect: Literal["training", "aten"] | None = None,
    quantized: Literal["decomposed", "refuse"] | None = None,
    state: Literal["refuse", "freeze"] | None = None,
    drop_output: int | Iterable[int] | None = None,
    for_torch: str | None = None,
    rename: Mapping[str, str] | Texts | None = None,
    tap: Texts | None = None,
    no_weights: bool = False,
    external_weights: bool = False,
    hint: Mapping[str, int] | None = None,
    sample_inputs: Literal["zeros", "none"] | None = None,
    method: Texts | None = None,
    module: str | None = None,
    call: int | None = None,
    from_: Texts | None = None,
    to: Texts | None = None,
    # end of what scripts/reference writes
    **options: Unpack[ConvertOptions],
) -> str: ...


def convert(
    model: ModelLike,
    output: Path | None = None,
    *,
    # scripts/reference writes what follows: convert
    grad: bool = False,
    dialect: Literal["training", "aten"] | None = None,
    quantized: Literal["decomposed", "refuse"] | None = None,
    state: Literal["refuse", "freeze"] | None = None,
    drop_output: int | Iterable[int] | None = None,
    for_torch: str | None = None,
    rename: Mapping[str, str] | Texts | None = None,
    tap: Texts | None = None,
    no_weights: bool = False,
    external_weights: bool = False,
    hint: Mapping[str, int] | None = None,
    sample_inputs: Literal["zeros", "none"] | None = None,
    method: Texts | None = None,
    module: str | None = None,
    call: int | None = None,
    from_: Texts | None = None,
    to: Texts | None = None,
    # end of what scripts/reference writes
    **options: Unpack[ConvertOptions],
) -> torch.export.ExportedProgram | str:
    """Convert a TorchScript archive to a program of torch.export, as `fxtrace convert` does, without running the model.

    - model: a file's path or bytes, an open file, a ScriptModule, or an ExportedProgram, which is written again;
    - output: the file to write (.pt2), which is left unchanged if anything fails;

    Options of `fxtrace convert`:

    - grad: the answer where the code asks whether gradients are enabled;
    - dialect: training (default) keeps writes in place; aten has none: the pass functional runs;
    - quantized: quantized tensors and layers: decomposed (default) into integer tensors, and ordinary operators between dequantize
      and quantize;
    - state: attributes with numbers, texts or lists that a run changes: refuse (default), or freeze them at what they are in the
      file;
    - drop_output: the numbers of results to leave out, from 0;
    - for_torch: write what torch 2.N loads (2.6 to 2.15): its layout, fields and operators; what it lacks is replaced by an equal
      or refused. Default: what torch 2.9 and newer load;
    - rename: new names of dimensions, inputs and results: {"s77": "batch", "x": "pixels"};
    - tap: add the value of a node to the results, by its name in the trace;
    - no_weights: write no weights: all parameters and buffers are zero;
    - external_weights: write the weights to a safetensors file beside FILE (model.safetensors for model.pt2), and zeros to FILE;
    - hint: example sizes of dimensions, for compilers: {"batch": 8}. Default: one with which no size is 0, 1, another size or a
      number of the graph;
    - sample_inputs: example inputs to write: zeros, of a few bytes (default), or none;
    - method: the method of the root to convert; default forward. Several become several programs of one file; each takes the
      `input` and `concrete` that name its own inputs;
    - module: convert only a call of the module PATH;
    - call: the number of the module's call, from 1. Default: 1;
    - from_: a node that the part begins with, by its name in the trace. Default: all that `to` needs;
    - to: a node that the part ends with. Default: the graph's output;
    - options: the keywords of trace(), above all input=, a tensor or "float32[batch,3,224,224]" for each tensor; those about leaves
      and control flow are excluded.

    Returns the path of `output`; without output the program, loaded: a torch.export.ExportedProgram, for which torch is needed.
    Assumptions about the inputs are reported as FxtraceWarning.

    Raises UsageError for wrong options; InputError for a file that is not a model, or that cannot be read or written; and
    CannotConvert if a program cannot express what the model does.
    """
    arguments = locals()
    if output is not None and os.fspath(output) in ("", "-"):
        raise UsageError(f"output expects the path of a file, got {os.fspath(output)!r}")
    if output is None and not isinstance(method, str) and len(method := list(method or ())) > 1:
        raise UsageError("output is missing: several methods become several programs", ["give the file to write: output=PATH"])
    if output is None and external_weights:
        raise UsageError("output is missing: external weights become a second file", ["give the file to write: output=PATH"])
    with tempfile.TemporaryDirectory(prefix="fxtrace_") as folder:
        file = os.path.join(folder, "program.pt2") if output is None else os.fspath(output)
        done = ask("convert", {**arguments, "method": method}, form="--output=" + file)
        if done.exit_code == STRICT_FAILED:
            raise _cannot_convert(done.messages)
        warn_of((Message("warning", text) if kind == "note" else Message(kind, text) for kind, text in done.messages), stacklevel=3)
        if output is not None:
            return file
        import torch

        if any("fx._decomposed" in text for _, text in done.messages):
            importlib.import_module("torch.ao.quantization.fx._decomposed")  # registers operators that the program calls

        program: torch.export.ExportedProgram = torch.export.load(file)
        return program


def _cannot_convert(messages: tuple[Message, ...]) -> CannotConvert:
    texts = [message.text for message in messages if message.kind == "error"]
    refusals = tuple(message.text.removeprefix("refused: ") for message in messages if message.text.startswith("refused: "))
    more = f", and {len(refusals) - 1} more (refusals)" if len(refusals) > 1 else ""
    error = CannotConvert("; ".join([*texts, *refusals[:1]]) + more, [message.text for message in messages if message.kind == "hint"])
    error.refusals = refusals
    return error
