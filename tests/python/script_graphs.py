"""Writes graphs of TorchScript code as text, from torch and from script_dump, so that equal graphs are equal texts: values are
numbered in order, constants are written where they are used, and source locations are left out.

    script_graphs.py --dump PATH ARCHIVE ...     # compares, and says what differs
"""

import re
import subprocess
import sys
import warnings

PLACE = re.compile(r" # \S*:\d+:\d+$")
VALUE = re.compile(r"%[A-Za-z0-9_.]+")
CONSTANT = re.compile(r"^\s*(%[A-Za-z0-9_.]+) : (.*?) = prim::Constant(\[(.*)\])?\(\)$")
BLOCK = re.compile(r"^\s*block\d+\(")


def graphs_of_torch(path: str) -> dict[str, str]:
    """By qualified name, of all functions and methods that loading the archive compiles."""

    import torch

    unit = torch._C.CompilationUnit()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch._C.import_ir_module(unit, path, torch.device("cpu"), {}, False)
    return {function.qualified_name: str(function.graph) for function in unit.get_functions()}


def graphs_of_dump(program: str, path: str, names: list[str] | None = None) -> dict[str, str]:
    run = subprocess.run([program, path, *(names or [])], capture_output=True, text=True, timeout=120)
    if run.returncode != 0:
        return {"": run.stdout + run.stderr}
    graphs: dict[str, str] = {}
    for part in re.split(r"^== ", run.stdout, flags=re.M)[1:]:
        name, _, text = part.partition("\n")
        graphs[name] = text
    return graphs


def normalized(text: str) -> tuple[list[str], list[str]]:
    """Lines, and the names that the code gives to values, in order."""
    constants: dict[str, str] = {}
    numbers: dict[str, str] = {}
    names: list[str] = []
    lines: list[str] = []
    # Parameters stand on lines of their own in one of the forms.
    text = re.sub(r"\[warn_id=\d+\]", "", text)
    text = re.sub(r",\n +%", ", %", text)
    for line in text.splitlines():
        line = PLACE.sub("", line).rstrip()
        if not line:
            continue
        constant = CONSTANT.match(line)
        if constant:
            value = constant[4] or "None"
            if constant[2] == "Tensor" or "<Tensor>" in value or "CONSTANTS" in value:
                value = "a tensor"
            constants[constant[1]] = f"<{value} : {constant[2]}>"
            continue
        if line.startswith(("graph(", "with ")):
            constants.clear()

        def rename(match):
            value = match[0]
            if value in constants:
                return constants[value]
            if value not in numbers:
                numbers[value] = f"%{len(numbers)}"
                base = re.sub(r"\.\d+$", "", value[1:])
                names.append("" if base.isdigit() else base)
            return numbers[value]

        if line.startswith("with "):
            numbers.clear()
        lines.append(VALUE.sub(rename, line))
    return lines, names


def first_difference(theirs: str, ours: str) -> str | None:
    if ours.startswith("error: "):
        return ours.strip()
    their_lines, their_names = normalized(theirs)
    our_lines, our_names = normalized(ours)
    for i, (one, other) in enumerate(zip(their_lines, our_lines)):
        if one != other:
            return f"line {i}:\n    torch: {one}\n    ours:  {other}"
    if len(their_lines) != len(our_lines):
        return f"{len(their_lines)} lines in torch's graph, {len(our_lines)} in ours"
    if their_names != our_names:
        i = next(i for i, pair in enumerate(zip(their_names, our_names)) if pair[0] != pair[1])
        return f"value {i} is called '{their_names[i]}' by torch, '{our_names[i]}' by us"
    return None


def differences(program: str, path: str) -> tuple[int, dict[str, str]]:
    """How many graphs were compared, and what differs in which."""
    theirs = graphs_of_torch(path)
    ours = graphs_of_dump(program, path)
    if "" in ours:
        return len(theirs), {"": ours[""]}
    found = {}
    for name, graph in theirs.items():
        if name not in ours:
            # torch adds some of its own to containers.
            if not graph_is_torchs_own(graph):
                found[name] = "missing"
            continue
        difference = first_difference(graph, ours[name])
        if difference:
            found[name] = difference
    return len(theirs), found


def graph_is_torchs_own(graph: str) -> bool:
    return "# <string>:" in graph


if __name__ == "__main__":
    assert sys.argv[1] == "--dump"
    total = wrong = 0
    for archive in sys.argv[3:]:
        try:
            count, found = differences(sys.argv[2], archive)
        except RuntimeError as error:
            print(f"{archive}: torch: {str(error).splitlines()[0]}")
            continue
        total += count
        wrong += len(found)
        for name, difference in found.items():
            print(f"{archive}: {name}: {difference}")
    print(f"{total} graphs, {wrong} differ")
