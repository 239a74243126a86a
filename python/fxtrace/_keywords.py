"""Keywords of functions as words of the command line, and runs of a command with them."""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ._data import CollectionData
from ._errors import InputError, UsageError
from ._memory import saved, wrong_model
from ._options import OPTIONS, TAKEN
from ._program import STRICT_FAILED, Output, Renamed, run
from ._remote import is_url
from ._types import ModelLike, Range

PH = "$PH"  # inside of a concrete value: a part that stays an input


def _texts(value: Any) -> list[str]:
    items = [value] if isinstance(value, (str, os.PathLike)) else list(value)
    texts = [os.fspath(item) if isinstance(item, (str, os.PathLike)) else item for item in items]
    if not all(isinstance(text, str) for text in texts):
        raise TypeError
    return texts


def _integers(value: Any) -> list[str]:
    return [text for item in ([value] if isinstance(value, int) else value) for text in _one(item)]


def _is_tensor(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _is_placeholder(value: Any) -> bool:
    """Return true for fxtrace.PH or torch.fx's, whose class is not public."""
    return value == PH if isinstance(value, str) else type(value).__module__.startswith("torch.fx") and type(value).__name__ == "PHBase"


def _items(value: Any) -> list[tuple[Any, Any]] | None:
    """Return the keys and items of a container; None for any other value."""
    if isinstance(value, Mapping):
        return list(value.items())
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return list(zip(value._fields, value))
    return list(enumerate(value)) if isinstance(value, (list, tuple)) else None


def _json(value: Any) -> Any:
    """Return a value of --concrete as JSON; a tensor stays an input."""
    if _is_tensor(value) or _is_placeholder(value):
        return PH
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"}
    if (items := _items(value)) is None:
        return value
    if isinstance(value, Mapping) or hasattr(value, "_fields"):
        return {str(key): _json(item) for key, item in items}
    return [_json(item) for _, item in items]


def _concrete(values: Mapping[str, Any]) -> list[str]:
    return [f"{name}={json.dumps(_json(value), allow_nan=False)}" for name, value in values.items()]


def _tensors(value: Any, place: str) -> list[str]:
    """Return the --input of each tensor in a value, if its place can be named."""
    if _is_tensor(value):
        return [f"{place}={_input_spec(value)}"]
    found = []
    for key, item in _items(value) or ():
        if not set(str(key)) & set(".="):
            found += _tensors(item, f"{place}.{key}")
    return found


def _input_spec(value: Any) -> str:
    if isinstance(value, (str, int)):
        return str(value)
    sizes = ",".join(map(str, value.shape))
    device = str(getattr(value, "device", "cpu"))
    return str(value.dtype).removeprefix("torch.") + f"[{sizes}]" + ("" if device == "cpu" else f"@{device}")


def _inputs(value: Any) -> list[str]:
    if isinstance(value, Mapping):
        return [
            text
            for name, item in value.items()
            for text in (_tensors(item, name) if _items(item) is not None else [f"{name}={_input_spec(item)}"])
        ]
    items = [value] if isinstance(value, str) or hasattr(value, "shape") else value
    return [_input_spec(item) for item in items]


def _range(value: Range) -> str:
    if isinstance(value, (str, int)):
        return str(value)
    low, high = ("" if end is None else str(end) for end in value)
    return f"{low}..{high}"


def _sizes(size: Any) -> str:
    shape = getattr(size, "shape", size)
    return f"[{','.join(map(str, shape))}]" if isinstance(shape, Sequence) and not isinstance(shape, str) else str(size)


def _by_name(text_of: Callable[[Any], str]) -> Callable[[Any], list[str]]:
    return lambda value: [f"{name}={text_of(item)}" for name, item in value.items()] if isinstance(value, Mapping) else _texts(value)


def _one(value: Any) -> list[str]:
    if not isinstance(value, (str, int, os.PathLike)) or isinstance(value, bool):
        raise TypeError
    return [os.fspath(value) if isinstance(value, os.PathLike) else str(value)]


# By form of the value: a function that makes the option's texts, and what the keyword expects.
_CONVERTERS: dict[str, tuple[Callable[[Any], list[str]], str]] = {
    **dict.fromkeys(("text", "file"), (_one, "a text")),
    **dict.fromkeys(("repeatable", "libraries"), (_texts, "a text or several")),
    "integer": (_one, "an integer"),
    "integers": (_integers, "an integer or several"),
    "number": (lambda value: [str(float(value))], "a number"),
    "switch": (lambda value: ["on"], "True or False"),
    "names": (lambda value: [",".join(_texts(value))], "a text or several"),
    "concrete": (_concrete, "a dict of values that JSON has, tensors and PH"),
    "input": (_inputs, "a dict or list of texts, tensors or integers"),
    "at": (_by_name(_sizes), "a dict of integers and shapes"),
    "hint": (_by_name(str), "a dict of integers"),
    "cost": (_by_name(str), "a dict of texts"),
    "dim": (_by_name(_range), "a dict of texts, integers or pairs"),
}


def _arguments(name: str, option: str, form: str, value: Any) -> list[str]:
    """Return the command-line words for a keyword and its value; none for the default."""
    if value is None or value is False:
        return []
    if form == "flag":
        return [option]
    convert, expected = _CONVERTERS[form]
    try:
        texts = convert(value)
        encoded = os.fsencode("".join(texts))
    except (TypeError, ValueError, AttributeError):
        raise UsageError(f"{name} expects {expected}, got {value!r:.80}") from None
    if b"\0" in encoded:
        raise UsageError(f"{name} has a null byte: {value!r:.80}")
    return [word for text in texts for word in ((f"{option}={text}",) if text else (option, ""))]


def _content(name: str, value: Any, options: Mapping[str, Any]) -> bytes | None:
    """Return the content of the file for a keyword that takes a file, or what is in one; None if it is given the file."""
    if value is None or isinstance(value, (str, os.PathLike)):
        return None
    if name == "collection" and isinstance(value, CollectionData):
        return value._content()
    if name == "collection" or (name == "config" and not isinstance(value, Mapping)):
        return None  # which is no file either
    if name == "ops":
        return "".join(f"{operator}\n" for operator in _texts(value)).encode()
    if name == "inputs":
        import torch

        torch.save(dict(value) if isinstance(value, Mapping) else value, buffer := io.BytesIO())
        return buffer.getvalue()
    document = dict(value) if isinstance(value, Mapping) else {"rules": list(value)} if name == "rules" else value
    # A dict may be the options of an untrusted collection.
    if name == "config" and document.pop("op_library", None) and options.get("op_library") is None:
        raise UsageError(
            "config: a dict must not name libraries to load", ["pass the libraries that you trust as an argument: op_library=[...]"]
        )
    try:
        return json.dumps(document, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise UsageError(f"{name}: {error}") from None


def _is_exported(model: str | bytes) -> bool:
    """Return true for an exported program, which has the shapes of its inputs."""
    import zipfile

    try:
        with zipfile.ZipFile(io.BytesIO(model) if isinstance(model, bytes) else model) as archive:
            names = archive.namelist()
    except (OSError, ValueError, zipfile.BadZipFile):
        return False
    return not any(name.endswith("/constants.pkl") for name in names)


def options_of(command: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options among the arguments of a function, its locals(), whose `options` must be those of a trace that it takes."""
    options = arguments.get("options", {})
    if unknown := sorted(set(options) - TAKEN.get(command, TAKEN["trace"])):
        raise TypeError(f"{command}() got an unexpected keyword argument '{unknown[0]}'")
    return {**options, **{name: value for name, value in arguments.items() if name in OPTIONS[command]}}


@contextlib.contextmanager
def option_words(command: str, options: Mapping[str, Any], model: str | bytes | None = None) -> Iterator[list[str]]:
    """Yield the command-line words for options, while the files that they name exist; an error calls these by their keywords."""
    table = {**OPTIONS["trace"], **OPTIONS[command]}
    words, written = [], {}
    with contextlib.ExitStack() as stack:
        for name, (option, form) in table.items():
            value = options.get(name)
            if form == "file" and (content := _content(name, value, options)) is not None:
                import tempfile

                folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="fxtrace_"))
                value = os.path.join(folder, name)
                written[value] = name
                with open(value, "wb") as file:
                    file.write(content)
            words += _arguments(name, option, form, value)
        concrete = options.get("concrete") or {}
        tensors = [f"--input={text}" for name, value in concrete.items() for text in _tensors(value, name)]
        if tensors and not (model is not None and _is_exported(model)):
            words += tensors
        try:
            yield words
        except (UsageError, InputError) as error:
            if not written:
                raise
            text = str(error)
            for path, name in written.items():
                text = text.replace(path, name)
            raise type(error)(text, error.hints) from None


def input_argument(model: ModelLike | CollectionData[Any]) -> tuple[str, bytes | None]:
    """Return the MODEL of the command line, and the content for stdin."""
    if isinstance(model, CollectionData):
        return "-", model._content()
    if isinstance(model, bytes):
        return "-", model
    if isinstance(model, str) and is_url(model):
        from ._fetch import fetch

        model = fetch(model)
    if callable(renamed := getattr(model, "_renamed", None)):  # a skeleton
        return renamed(), None
    if isinstance(model, (str, os.PathLike)):
        name = os.fspath(model)
        return ("./" + name if name.startswith("-") else name), None  # neither stdin nor an option
    if (content := saved(model)) is not None:
        return "-", content
    read = getattr(model, "read", None)
    if not callable(read):
        raise wrong_model(model)
    return "-", read()


def ask(
    command: str, arguments: Mapping[str, Any], *more: str, form: str = "--json", expected: tuple[int, ...] = (0, STRICT_FAILED)
) -> Output:
    """Run the command for the function of its name, which has these arguments, its locals()."""
    options = options_of(command, arguments)
    name, content = input_argument(arguments["model"])
    with option_words(command, options, name if content is None else content) as words:
        output = run(command, form, *words, "--", name, *more, stdin=content, expected=expected)
    path = None if content is not None else name.name if isinstance(name, Renamed) else os.path.abspath(name)
    return output._replace(model=path)
