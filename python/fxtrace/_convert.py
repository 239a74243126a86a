"""fxtrace.convert: conversion of a TorchScript archive, or of an exported program, to an exported program."""

from __future__ import annotations

import importlib
import os
import tempfile
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, overload

from ._errors import Error, UsageError
from ._options import ConvertOptions, Unpack
from ._program import STRICT_FAILED, Message, run, warn_of
from ._trace import check_keywords, model_argument, option_words
from ._types import ModelLike, Path, Texts

if TYPE_CHECKING:
    import torch


class CannotConvert(Error):
    """The model does something that an exported program cannot express (exit code 4).

    `refusals` has all reasons, each with what would help.
    """

    refusals: tuple[str, ...]


@overload
def convert(
    path: ModelLike,
    output: None = None,
    *,
    method: Texts | None = None,
    module: str | None = None,
    call: int | None = None,
    start: Texts | None = None,
    end: Texts | None = None,
    dialect: Literal["training", "aten"] = "training",
    grad: bool = False,
    hint: Mapping[str, int] | None = None,
    sample_inputs: Literal["zeros", "none"] = "zeros",
    quantized: Literal["decomposed", "refuse"] = "decomposed",
    state: Literal["refuse", "freeze"] = "refuse",
    drop_output: Sequence[int] = (),
    no_weights: bool = False,
    external_weights: bool = False,
    **options: Unpack[ConvertOptions],
) -> torch.export.ExportedProgram: ...


@overload
def convert(
    path: ModelLike,
    output: Path,
    *,
    method: Texts | None = None,
    module: str | None = None,
    call: int | None = None,
    start: Texts | None = None,
    end: Texts | None = None,
    dialect: Literal["training", "aten"] = "training",
    grad: bool = False,
    hint: Mapping[str, int] | None = None,
    sample_inputs: Literal["zeros", "none"] = "zeros",
    quantized: Literal["decomposed", "refuse"] = "decomposed",
    state: Literal["refuse", "freeze"] = "refuse",
    drop_output: Sequence[int] = (),
    no_weights: bool = False,
    external_weights: bool = False,
    **options: Unpack[ConvertOptions],
) -> str: ...


def convert(
    path: ModelLike,
    output: Path | None = None,
    *,
    method: Texts | None = None,
    module: str | None = None,
    call: int | None = None,
    start: Texts | None = None,
    end: Texts | None = None,
    dialect: Literal["training", "aten"] = "training",
    grad: bool = False,
    hint: Mapping[str, int] | None = None,
    sample_inputs: Literal["zeros", "none"] = "zeros",
    quantized: Literal["decomposed", "refuse"] = "decomposed",
    state: Literal["refuse", "freeze"] = "refuse",
    drop_output: Sequence[int] = (),
    no_weights: bool = False,
    external_weights: bool = False,
    **options: Unpack[ConvertOptions],
) -> torch.export.ExportedProgram | str:
    """Convert a TorchScript archive to a program of torch.export, as `fxtrace convert` does, without running the model.

    - path: a file's path or bytes, an open file, a ScriptModule, or an ExportedProgram, which is written again;
    - output: the file to write (.pt2), which is left unchanged if anything fails;
    - method: a method other than forward; several become several programs of `output`, or of a file each with %s in its name;
    - module, call: convert only a call of a module, by its path and number, the first from 1;
    - start, end: convert only the part between these nodes; --from and --to on the command line;
    - dialect: "training", which keeps in-place operators, or "aten", which has none;
    - grad: the answer where the code asks whether gradients are enabled;
    - hint: an example of a named size, for compilers: {"batch": 8}; by default one for which no size is 0, 1, another size or a number of the graph;
    - sample_inputs: the example inputs to write, "zeros" or "none";
    - quantized: "decomposed" replaces quantized tensors by integers, "refuse" refuses such a model;
    - state: "freeze" uses the file's values of numbers, texts and lists in attributes that a run changes, "refuse" refuses such a model;
    - drop_output: the numbers of results to leave out, from 0;
    - no_weights: write zeros for all parameters and buffers;
    - external_weights: write zeros to `output`, model.pt2, and the weights to model.safetensors beside it;
    - options: the keywords of trace(), above all input=, a tensor or "float32[batch,3,224,224]" for each tensor; those about leaves
      and control flow are excluded.

    Returns the path of `output`; without output the program, loaded: a torch.export.ExportedProgram, for which torch is needed.
    Assumptions about the inputs are reported as FxtraceWarning.

    Raises UsageError for wrong options; InputError for a file that is not a model, or that cannot be read or written; and
    CannotConvert if a program cannot express what the model does.
    """
    check_keywords("convert", options)
    name, content = model_argument(path)
    with tempfile.TemporaryDirectory(prefix="fxtrace_") as folder, option_words(options, name if content is None else content) as words:
        file = os.path.join(folder, "program.pt2") if output is None else os.fspath(output)
        methods = _texts(method)
        if file in ("", "-"):
            raise UsageError(f"output expects the path of a file, got {file!r}")
        if output is None and len(methods) > 1:
            raise UsageError("output is missing: several methods become several programs", ["give the file to write: output=PATH"])
        if output is None and external_weights:
            raise UsageError("output is missing: external weights become a second file", ["give the file to write: output=PATH"])
        words += [f"--dialect={dialect}", "--grad=" + ("on" if grad else "off"), f"--sample-inputs={sample_inputs}"]
        words += [f"--quantized={quantized}", f"--state={state}", *(f"--drop-output={number}" for number in drop_output)]
        for option, values in (("method", methods), ("from", _texts(start)), ("to", _texts(end))):
            words += [f"--{option}={value}" for value in values]
        words += [f"--{option}={value}" for option, value in (("module", module), ("call", call)) if value is not None]
        words += [f"--hint={dimension}={size}" for dimension, size in (hint or {}).items()]
        words += [word for word, given in (("--no-weights", no_weights), ("--external-weights", external_weights)) if given]
        done = run("convert", *words, "--output=" + file, name, stdin=content)
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


def _texts(value: Texts | None) -> list[str]:
    return [value] if isinstance(value, str) else list(value or ())


def _cannot_convert(messages: tuple[Message, ...]) -> CannotConvert:
    texts = [message.text for message in messages if message.kind == "error"]
    refusals = tuple(message.text.removeprefix("refused: ") for message in messages if message.text.startswith("refused: "))
    more = f", and {len(refusals) - 1} more (refusals)" if len(refusals) > 1 else ""
    error = CannotConvert("; ".join([*texts, *refusals[:1]]) + more, [message.text for message in messages if message.kind == "hint"])
    error.refusals = refusals
    return error
