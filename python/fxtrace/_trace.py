"""fxtrace.trace: the options of the command line as keywords."""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from ._collection import Collection
from ._data import parse
from ._errors import Error, InputError, UsageError
from ._memory import kept, saved, wrong_model
from ._options import OPTIONS
from ._program import STRICT_FAILED, Renamed, run, warn_of
from ._remote import is_url
from ._types import ModelLike, Path, Range, Texts

if TYPE_CHECKING:
    import torch


class ModulesFailed(Error):
    """Some module failed to trace with `strict=True` (exit code 4); `collection` is the result nonetheless."""

    collection: Collection


PH = "$PH"  # inside of a concrete value: a part that stays an input



def _texts(value: Any) -> list[str]:
    items = [value] if isinstance(value, (str, os.PathLike)) else list(value)
    texts = [os.fspath(item) if isinstance(item, (str, os.PathLike)) else item for item in items]
    if not all(isinstance(text, str) for text in texts):
        raise TypeError
    return texts


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


def _dims(value: Any) -> list[str]:
    if isinstance(value, Mapping):
        return [f"{name}={_range(item)}" for name, item in value.items()]
    return _texts(value)


def _costs(value: Any) -> list[str]:
    return [f"{name}={text}" for name, text in value.items()] if isinstance(value, Mapping) else _texts(value)


def _one(value: Any) -> list[str]:
    if not isinstance(value, (str, int, os.PathLike)) or isinstance(value, bool):
        raise TypeError
    return [str(value)]


_ONE, _SEVERAL = (_one, "a text"), (_texts, "a text or several")
# By kind, and by keyword where the values have names: a function that makes the option's texts, and the type that the keyword expects.
_CONVERTERS: dict[str, tuple[Callable[[Any], list[str]], str]] = {
    **dict.fromkeys(("text", "choice", "config_file"), _ONE),
    "integer": (_one, "an integer"),
    **dict.fromkeys(("repeatable", "rule", "libraries"), _SEVERAL),
    "names": (lambda value: [",".join(_texts(value))], "a text or several"),
    "concrete": (_concrete, "a dict of values that JSON has, tensors and PH"),
    "input": (_inputs, "a dict or list of texts, tensors or integers"),
    "cost": (_costs, "a dict of texts"),
    "dim": (_dims, "a dict of texts, integers or pairs"),
}


def _arguments(name: str, value: Any) -> list[str]:
    """Return the command-line words for a keyword and its value; none for the default."""
    if value is None or value is False:
        return []
    option, kind, _ = OPTIONS[name]
    if kind == "flag":
        return [option]
    convert, expected = _CONVERTERS.get(name) or _CONVERTERS[kind]
    try:
        texts = convert(value)
        if b"\0" in os.fsencode("".join(texts)):
            raise ValueError
    except (TypeError, ValueError, AttributeError):
        raise UsageError(f"{name} expects {expected}, got {value!r:.80}") from None
    return [word for text in texts for word in ((f"{option}={text}",) if text else (option, ""))]


@contextlib.contextmanager
def _config_file(config: Path | Mapping[str, Any] | None, has_libraries: bool) -> Iterator[str | None]:
    """Write the configuration to a file if it is a dict; errors in a dict name "config" instead of the file."""
    if not isinstance(config, Mapping):
        yield None if config is None else os.fspath(config)
        return
    import tempfile

    content = dict(config)
    # A dict may be the options of an untrusted collection.
    if content.pop("op_library", None) and not has_libraries:
        raise UsageError(
            "config: a dict must not name libraries to load", ["pass the libraries that you trust as an argument: op_library=[...]"]
        )
    with tempfile.TemporaryDirectory(prefix="fxtrace_") as folder:
        path = os.path.join(folder, "config.json")
        try:
            text = json.dumps(content, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise UsageError(f"config: {error}") from None
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        try:
            yield path
        except UsageError as error:
            raise UsageError(str(error).replace(path, "config"), error.hints) from None
        except InputError as error:
            raise InputError(str(error).replace(path, "config"), error.hints) from None


def _is_exported(model: str | bytes) -> bool:
    """Return true for an exported program, which has the shapes of its inputs."""
    import zipfile

    try:
        with zipfile.ZipFile(io.BytesIO(model) if isinstance(model, bytes) else model) as archive:
            names = archive.namelist()
    except (OSError, ValueError, zipfile.BadZipFile):
        return False
    return not any(name.endswith("/constants.pkl") for name in names)


@contextlib.contextmanager
def option_words(options: Mapping[str, Any], model: str | bytes | None = None) -> Iterator[list[str]]:
    """Yield the command-line words for keywords of trace(), while the files that they name exist."""
    words = [word for name, value in options.items() if name != "config" for word in _arguments(name, value)]
    concrete = options.get("concrete") or {}
    tensors = [f"--input={text}" for name, value in concrete.items() for text in _tensors(value, name)]
    if tensors and not (model is not None and _is_exported(model)):
        words += tensors
    with _config_file(options.get("config"), options.get("op_library") is not None) as config_path:
        yield words + _arguments("config", config_path)


def check_keywords(function: str, options: Mapping[str, Any]) -> None:
    """Check that the other keywords of a function are options of a trace that it takes."""
    unknown = [name for name in sorted(options) if name not in OPTIONS or function in OPTIONS[name][2]]
    if unknown:
        raise TypeError(f"{function}() got an unexpected keyword argument '{unknown[0]}'")


def model_argument(model: ModelLike) -> tuple[str, bytes | None]:
    """Return the MODEL of the command line, and the content for stdin."""
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


def input_argument(model: ModelLike | Collection) -> tuple[str, bytes | None]:
    """Return the same as model_argument(), for a model or a collection."""
    return ("-", model._content()) if isinstance(model, Collection) else model_argument(model)


def trace(
    path: ModelLike,
    *,
    # scripts/reference writes what follows
    method: str | None = None,
    model: str | None = None,
    hooks: Literal["run", "skip"] | None = None,
    concrete: Mapping[str, Any] | None = None,
    input_names: Texts | None = None,
    defaults: Literal["needed", "never"] | None = None,
    control_flow: Literal["fail", "subgraph"] | None = None,
    config: Path | Mapping[str, Any] | None = None,
    strict: bool = False,
    input: Mapping[str, Any] | Sequence[Any] | str | None = None,
    dim: Mapping[str, Range] | Texts | None = None,
    param_shapes_constant: bool = False,
    leaf: Texts | None = None,
    no_leaf: Texts | None = None,
    no_default_leaves: bool = False,
    max_depth: int | None = None,
    wrap: Texts | None = None,
    no_wrap: Texts | None = None,
    op_library: Path | Iterable[Path] | None = None,
    op_schema: Texts | None = None,
    cost: Mapping[str, str] | Texts | None = None,
    max_iterations: int | None = None,
    max_nodes: int | None = None,
    max_call_depth: int | None = None,
    passes: Texts | None = None,
    max_memory: int | None = None,
    max_time: int | None = None,
    no_isolation: bool = False,
    # end of what scripts/reference writes
) -> Collection:
    """Trace a model into torch.fx graphs, as `fxtrace trace` does.

    `path` is the model's file or its URL in a store (fetch()), an open file or its bytes; or an ExportedProgram or ScriptModule, which torch.export.save or
    torch.jit.save writes into memory, weights included, and from which graph_module() takes modules and parameters. An nn.Module must
    be exported or scripted first: torch.export.export(model, args) or torch.jit.script(model).

    The keywords are the options of the command line, which `fxtrace trace --help` explains, with these values:

    - options that may be repeated take one text or several: leaf="torch.nn.Linear", no_leaf=["@encoder.*", "@head"];
      rules of no_leaf come after those of leaf, and both after those of a config;
    - concrete={"training": False, "mask": None}: values are written as JSON; fxtrace.PH or torch.fx.PH stays an input, and so
      does a tensor, with its shape and dtype;
    - input={"x": "float32[1,3,224,224]"}, or a list by position; a tensor stands for its shape, dtype and device;
    - dim={"batch": (1, 64), "seq": (8, None), "heads": 8, "time": "1..64"};
    - cost={"my::op": "numel(out)*in0.size(-1)"}: the multiply-accumulates of operators;
    - config is a file, or a dict with the contents of one, such as the `options` of a collection; a dict cannot load libraries,
      which only op_library does;
    - passes is --pass.

    Returns a Collection of graphs, the root's first. Shapes of nodes are tuples of numbers and, for named sizes, of
    expressions: (1, "2*seq", 64). Costs are multiply-accumulates (macs) and bytes of one run. The program's messages are in
    `messages`; its warnings, and failures of modules, are also warnings of Python (FxtraceWarning).

    Raises UsageError for wrong options (which is also a TypeError for an object that is not a model), InputError for a file that cannot
    be read or is not supported, ModulesFailed with strict=True, InternalError for a defect of fxtrace, and ProgramNotFound.
    """
    options = {name: value for name, value in locals().items() if name != "path"}
    name, content = model_argument(path)
    with option_words(options, name if content is None else content) as words:
        output = run("trace", "--format=json", *words, name, stdin=content)
    file = None if content is not None else name.name if isinstance(name, Renamed) else os.path.abspath(name)
    collection = Collection.from_json(parse(output.stdout), file, output.messages, kept(path))
    if output.exit_code == STRICT_FAILED:
        raise _modules_failed(collection)
    warn_of(output.messages, stacklevel=3)
    return collection


def _modules_failed(collection: Collection) -> ModulesFailed:
    texts = {
        kind: [message.text for message in collection.messages if message.kind == kind] for kind in ("error", "hint")
    }
    error = ModulesFailed("; ".join(texts["error"]) or "some module failed to trace", texts["hint"])
    error.collection = collection
    return error
