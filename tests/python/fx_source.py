"""Imports and runs the Python code that `-f fx` writes."""

import ast
import copy
import importlib.util
import inspect
import os
import tempfile
from types import ModuleType

import harness
import torch
from torch.utils import _pytree as pytree

MODULES = {"collections", "io", "math", "operator", "torch", "zipfile"}  # all that a file may import


def load_text(text: str, name: str = "graphs") -> ModuleType:
    """The file as a Python module. It is checked to import nothing else than torch and a little of Python's."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            assert {alias.name for alias in node.names} <= MODULES, ast.unparse(node)
        assert not isinstance(node, ast.ImportFrom), ast.unparse(node)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, f"{name}.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module


def load(program: harness.Program, path: str, *options: str) -> ModuleType:
    return load_text(program.stdout("trace", path, "-f", "fx", *options).decode())


def classes(module: ModuleType) -> list[type]:
    """One for each graph, in order."""
    found = [value for name, value in vars(module).items() if isinstance(value, type) and name != "_Overloaded"]
    found = [each for each in found if not issubclass(each, tuple)]
    assert found and all(issubclass(each, torch.nn.Module) for each in found)
    return found


def make(graph_class: type, model: torch.nn.Module, path: str) -> torch.nn.Module:
    parameters = inspect.signature(graph_class).parameters
    archive = [path] if "archive" in parameters else []
    return graph_class(model, *archive, **({"libraries": harness.LIBRARIES} if "libraries" in parameters else {}))


def check_inputs(graph: torch.nn.Module, *args, **kwargs) -> None:
    """Guards over the inputs hold."""
    if check := vars(type(graph)).get("check"):
        check(graph, *args, **kwargs)


def compare_scripted(
    program: harness.Program, path: str, args: tuple, kwargs: dict, *options: str, method: str = "forward"
) -> None:
    """The first class does what the archive does; the others can be made."""
    source = load(program, path, *options)
    first, *others = classes(source)
    with torch.no_grad():
        model = torch.jit.load(path)
        torch.manual_seed(0)
        given = copy.deepcopy((args, kwargs))
        expected = harness.method_of(model, method)(*given[0], **given[1])
        model = torch.jit.load(path)
        for other in others:
            make(other, model, path)
        graph = make(first, model, path)
        torch.manual_seed(0)
        also_given = copy.deepcopy((args, kwargs))
        check_inputs(graph, *also_given[0], **also_given[1])
        actual = graph(*also_given[0], **also_given[1])
    text = harness.difference(expected, actual) or harness.difference(given, also_given, "inputs afterwards")
    if text:
        raise harness.Different(text)


def compare_exported(
    program: harness.Program, run: harness.ExportedRun, model: torch.nn.Module, *options: str, changes: bool = True
) -> None:
    """The class does what the program does; `changes`: the model's buffers are the program's own."""
    (graph_class,) = classes(load(program, run.path, *options))
    inputs = run._leaves(*copy.deepcopy((run.args, run.kwargs)))
    torch.manual_seed(0)
    try:
        with torch.no_grad():
            graph = make(graph_class, model, run.path)
            check_inputs(graph, *inputs)
            actual = graph(*inputs)
        text = (
            harness.difference(pytree.tree_leaves(run.expected), pytree.tree_leaves(actual))
            or harness.other_structure(run.expected, actual)
            or harness.difference(run.expected_inputs, inputs, "inputs afterwards")
            or (harness.difference(run.expected_state, run._state(), "state afterwards") if changes else None)
        )
    finally:
        run._restore()
    if text:
        raise harness.Different(text)
