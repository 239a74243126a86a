"""Compares every form that torch makes of a program of fxtrace convert with the archive: the module, unflattened, decomposed, exported again.

Each is run at several sizes of the dimensions that are open.  With $FXTRACE_FORMS in the environment, every program that a test
converts is compared so (conftest.py).
"""

import copy
import random
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import convert_cases
import harness
import torch
from torch.utils import _pytree as pytree

TURNS = 3


def sizes(program: torch.export.ExportedProgram) -> Iterator[dict[str, int]]:
    """Values for the symbols of the program's inputs: the examples, and others within their ranges."""
    examples = {}
    for value in inputs(program):
        for size in getattr(value, "shape", (value,)):
            if isinstance(size, torch.SymInt):
                examples |= {str(symbol): int(size.node.shape_env.backed_var_to_val.get(symbol, 2)) for symbol in size.node.expr.free_symbols}
    ranges = {str(symbol): span for symbol, span in program.range_constraints.items()}
    yield examples
    draw = random.Random(0)
    for turn in range(20 * TURNS):  # more than enough, as guards may refuse some
        made = {}
        for symbol, example in examples.items():
            span = ranges.get(symbol)
            low = max(int(span.lower), 2) if span else 2
            high = low + 9 if span is None or not span.upper.is_number or span.upper > 10**6 else int(span.upper)
            size = draw.randint(low, min(high, low + 9)) if turn % 2 else example * (turn + 4) // 2
            made[symbol] = min(max(size, low), high) if span and span.upper < 10**6 else max(size, low)
        yield made


def inputs(program: torch.export.ExportedProgram) -> list[Any]:
    """What the graph knows of each input of the model: a fake tensor, a number, or the value that it has."""
    users = {spec.arg.name: spec for spec in program.graph_signature.input_specs if spec.kind is torch.export.graph_signature.InputKind.USER_INPUT}
    nodes = {node.name: node for node in program.graph.nodes if node.op == "placeholder"}
    return [spec.arg.value if hasattr(spec.arg, "value") else nodes[name].meta["val"] for name, spec in users.items()]


def arguments(program: torch.export.ExportedProgram, values: dict[str, int], seed: int) -> tuple[tuple, dict]:
    """Random tensors of these sizes, nested as the model takes them."""
    made = torch.Generator().manual_seed(seed)

    def number(size: Any) -> Any:
        if not isinstance(size, torch.SymInt):
            return size
        expression = size.node.expr
        return int(expression.subs({symbol: values[str(symbol)] for symbol in expression.free_symbols}))

    def tensor(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return number(value)
        shape = [number(size) for size in value.shape]
        if value.dtype == torch.bool:
            return torch.rand(shape, generator=made) > 0.5
        if value.is_floating_point() or value.is_complex():
            return torch.rand(shape, generator=made, dtype=torch.float64).to(value.dtype)
        return torch.randint(1, 4, shape, generator=made).to(value.dtype)

    return pytree.tree_unflatten([tensor(value) for value in inputs(program)], program.call_spec.in_spec)


def exported_again(program: torch.export.ExportedProgram, args: tuple, kwargs: dict) -> torch.nn.Module:
    def open_sizes(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return torch.export.Dim.AUTO if isinstance(value, torch.SymInt) else None
        return {i: torch.export.Dim.AUTO for i, size in enumerate(value.shape) if isinstance(size, torch.SymInt)}

    shapes = pytree.tree_unflatten([open_sizes(value) for value in inputs(program)], program.call_spec.in_spec)
    names = dict(zip(program.module_call_graph[0].signature.forward_arg_names or (), shapes[0], strict=False))
    return torch.export.export(program.module(), args, kwargs, dynamic_shapes=names | shapes[1]).module()


def faults(file: str, call: Callable, turns: int = TURNS) -> list[str]:
    """What differs, by form and sizes.  `call` makes the archive's method anew, as a call may change its state."""
    program = torch.export.load(file)
    found, done = [], 0
    forms: dict[str, Callable[[tuple, dict], torch.nn.Module]] = {
        "module": lambda args, kwargs: torch.export.load(file).module(),
        "unflattened": lambda args, kwargs: torch.export.unflatten(torch.export.load(file)),
        "decomposed": lambda args, kwargs: torch.export.load(file).run_decompositions({}).module(),
        "exported again": lambda args, kwargs: exported_again(torch.export.load(file), args, kwargs),
    }
    made: dict[str, torch.nn.Module] = {}
    for turn, values in enumerate(sizes(program)):
        if done == turns or (not values and done):
            break
        args, kwargs = arguments(program, values, turn)
        try:
            with torch.no_grad():
                torch.manual_seed(0)
                wanted = call()(*copy.deepcopy(args), **copy.deepcopy(kwargs))
        except Exception:  # the model takes no such sizes
            continue
        for form, make in forms.items():
            try:
                with torch.no_grad():
                    if form not in made:
                        made[form] = make(*copy.deepcopy((args, kwargs)))
                    before = [(buffer, buffer.clone()) for buffer in made[form].buffers()]
                    torch.manual_seed(0)
                    got = made[form](*copy.deepcopy(args), **copy.deepcopy(kwargs))
                    for buffer, value in before:
                        buffer.copy_(value)
                difference = convert_cases.difference(wanted, got)
            except Exception as error:
                if form == "module" and "Guard failed" in str(error):
                    break  # the program says that it takes no such sizes
                if form == "exported again" and "Guard failed" in str(error):
                    continue  # what torch's tracer chose for the first sizes
                if type(error).__name__ == "UnsupportedOperatorException":
                    continue  # torch has no rule for shapes of a custom operator
                difference = f"{type(error).__name__}: {str(error)[:300]}"
            if not convert_cases.close(difference):
                found.append(f"{form} at {values or 'the only sizes'}: {difference}")
        else:
            done += 1
    return found if done else [*found, "no inputs that the model takes"]


# Options with which the program is not the method of the archive.
_OTHER_MODELS = {"--module", "--from", "--to", "--drop-output", "--state", "--no-weights", "--external-weights", "--grad", "--op-library"}


class CheckingProgram(harness.Program):
    """The program, with a look at all forms of each program that it converts from TorchScript."""

    def run(self, *args: str) -> subprocess.CompletedProcess:
        done = super().run(*args)
        words = [str(word) for word in args]
        if done.returncode == 0 and words[0] == "convert" and "-o" in words and not _OTHER_MODELS & set(words) and "%s" not in " ".join(words):
            file = words[words.index("-o") + 1]
            methods = [words[i + 1] for i, word in enumerate(words) if word == "--method"]
            model = next(word for i, word in enumerate(words[1:], 1) if word.endswith(".pt") or word.endswith(".pt2"))
            if model.endswith(".pt") and len(methods) < 2 and b"quantized tensors" not in done.stderr and b"depends on sizes or data" not in done.stderr:
                method = methods[0] if methods else "forward"
                found = faults(file, lambda: harness.method_of(torch.jit.load(model), method))
                assert found in ([], ["no inputs that the model takes"]), found
        return done
