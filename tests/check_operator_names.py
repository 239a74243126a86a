#!/usr/bin/env python3
"""Checks that what is known of an operator stands in lib/opinfo: elsewhere the quoted name of one ("aten::add",
"layer_norm") stands in the files that PLACES lists alone.

check_operator_names.py [ROOT]   prints every other place, and files in the list that need not be; exit code 1 when there is one
"""

import pathlib
import re
import sys

# What sort of names stand outside of lib/opinfo, and where: files, or folders.
SORTS = {
    "language": "forms and values of TorchScript: what the compiler makes, what runs on plain values, and what its code asks",
    "format": "fields and functions of a file format, of Python or of SQL",
    "modules": "what modules of torch.nn call",
    "guards": "the questions of which guards are made",
    "makes": "calls that a transformation makes, or unmakes",
    "security": "what code may call while it is loaded",
}
PLACES = {
    "lib/torchscript/compiler": "language",
    "lib/torchscript/operators": "language",
    "lib/interpreter/code/input_guesses.cpp": "language",
    "lib/interpreter/program/symbolic_value.cpp": "language",
    "lib/interpreter/evaluate/evaluator.cpp": "language",
    "lib/interpreter/evaluate/operator_calls.cpp": "language",
    "lib/interpreter/evaluate/control_flow.cpp": "language",
    "lib/interpreter/evaluate/value_nodes.cpp": "language",
    "lib/interpreter/graph/assignments.cpp": "makes",
    "lib/interpreter/graph/graph_operators.cpp": "language",
    "lib/interpreter/graph/number_ranges.cpp": "language",
    "lib/interpreter/graph/subgraphs.cpp": "makes",
    "lib/interpreter/program/torchscript_program.cpp": "language",
    "lib/interpreter/propagate/shape_propagation.cpp": "language",
    "lib/interpreter/record/conditions.cpp": "guards",
    "lib/interpreter/record/input_guards.cpp": "guards",
    "lib/interpreter/record/recorder.cpp": "guards",
    "lib/trace/modules/leaf_attributes.cpp": "modules",
    "lib/exported/modules/torch_nn_call.cpp": "modules",
    "lib/exported/modules/leaf_call.cpp": "modules",
    "lib/exported/program/program_dimensions.cpp": "guards",
    "lib/analysis/program_operations.cpp": "guards",
    "lib/writers/graphs/fx_guards.cpp": "guards",
    "lib/trace/options/condition.cpp": "guards",
    "lib/trace/tracer/guard_expression.cpp": "guards",
    "lib/exported/format": "format",
    "lib/exported/program/graph_reader.cpp": "format",
    "lib/exported/verifier/call_check.cpp": "format",
    "lib/exported/verifier/program_verifier.cpp": "format",
    "lib/writers/graphs/fx_class.cpp": "format",
    "lib/writers/formats/python_text.cpp": "format",
    "lib/catalog/sqlite.cpp": "format",
    "lib/security": "security",
    "lib/convert": "makes",
    "lib/extract/extract.cpp": "makes",
    "lib/passes/remove_batch_dims": "makes",
    "lib/passes/remove_batch_dims.cpp": "makes",
    "lib/passes/remove_inplace.cpp": "makes",
    "lib/verify": "makes",
    "lib/execute/quantized_decomposed.cpp": "makes",
    "lib/exported/modules/module_graph.cpp": "makes",
    "lib/trace/tracer/alias_check.cpp": "makes",
    "lib/trace/tracer/graph_tracer.cpp": "makes",
    "lib/trace/tracer/alias_check.cpp": "makes",
    "lib/analysis/view_tree.cpp": "makes",
    "lib/analysis/view_undo.cpp": "makes",
    "lib/compare/pairing/common_form.cpp": "makes",
    "lib/pictures/plumbing.cpp": "makes",
}
QUOTED = re.compile(r'"((?:aten|prim)(?:::|\.)\w+|\w+)["._]')
LIST = re.compile(r'"([\w:.]+(?: [\w:.]+)* ?)"')  # names with spaces between them (support/text/words.h)


def operators(root):
    """Names that are nothing but an operator's: no common word, and no argument's."""
    names, arguments = set(), set()
    for line in (root / "schemas/operators/registered.txt").read_text(encoding="utf-8").splitlines():
        arguments.update(re.findall(r"(\w+)[,=)]", line))
        match = re.match(r"(?:aten|prim)::(\w+)", line)
        if match and re.search(r"[a-z]_[a-z]|\d", match[1]):
            names.add(match[1])
    return names - arguments


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    names = operators(root)
    used, problems = set(), [f"tests/check_operator_names.py: {sort} is no sort" for sort in set(PLACES.values()) - set(SORTS)]
    for path in sorted([*root.glob("lib/**/*"), *root.glob("app/**/*")]):
        place = path.relative_to(root).as_posix()
        if path.suffix not in {".h", ".cpp"} or place.startswith(("lib/opinfo/", "lib/operators/")):
            continue
        found = set()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            code = line.split("//")[0]
            listed = [word.split(".")[0] for text in LIST.findall(code) for word in text.split() if not word.endswith("::")]
            quoted = [name for name in QUOTED.findall(code) + listed if name.startswith(("aten::", "prim::", "aten.", "prim.")) or name in names]
            found.update(f"{place}:{number}: {name}" for name in quoted)
        reason = next((key for key in PLACES if place == key or place.startswith(key + "/")), None)
        if found and reason:
            used.add(reason)
        elif found:
            problems += sorted(found)
    problems += [f"tests/check_operator_names.py: {key} names no operator" for key in PLACES if key not in used]
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
