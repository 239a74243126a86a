#!/usr/bin/env python3
"""Checks that what is known of an operator stands in lib/opinfo: elsewhere the quoted name of one ("aten::add",
"layer_norm") stands in the files that REASONS lists alone.

check_operator_names.py [ROOT]   prints every other place, and files in the list that need not be; exit code 1 when there is one
"""

import pathlib
import re
import sys

# Files, or folders, and why names of operators stand there.
REASONS = {
    "lib/torchscript/compiler": "the compiler makes them of syntax",
    "lib/torchscript/operators": "operators that run on plain values",
    "lib/trace/modules/leaf_attributes.cpp": "what a module of torch.nn was made with, from the call that it became",
    "lib/exported/modules/torch_nn_call.cpp": "which call of several in a leaf is its module's own",
    "lib/exported/modules/recurrent_call.cpp": "the same of recurrent layers, whose results have an order of their own",
    "lib/exported/program/program_dimensions.cpp": "assertions that tell ranges of dimensions",
    "lib/trace/tracer/state_check.cpp": "the operation that a failure names",
    "lib/interpreter/program/torchscript_program.cpp": "an item of a list, which code takes out of an attribute",
    "lib/interpreter/record/recorder.cpp": "the length of a list, which code that unpacks it asks for",
    "lib/analysis/program_operations.cpp": "assertions of guards, which have their own form",
    "lib/exported/program/graph_reader.cpp": "fields of a .pt2 file",
    "lib/exported/program/exported_archive.cpp": "a field of a .pt2 file",
    "lib/convert": "fields of a .pt2 file, and what torch.export has instead of calls that only TorchScript has",
    "lib/exported/verifier/call_check.cpp": "forms of values in a .pt2 file",
    "lib/exported/verifier/program_verifier.cpp": "forms of values in a .pt2 file",
    "lib/graph/collection_fields.h": "fields of a collection",
    "lib/writers/graphs/fx_names.cpp": "attributes of torch.Tensor and names that Python code may not take",
    "lib/writers/graphs/fx_guards.cpp": "questions of guards, as Python asks them",
    "lib/pictures/labels.cpp": "arguments that a label leaves out",
    "lib/security": "what code may call while it is loaded",
    "lib/execute/quantized_decomposed.cpp": "operators that it registers, which torch has in Python only",
    "lib/exported/format": "fields of a .pt2 file, what a guard asks of its inputs, and Python's functions that programs call",
    "lib/catalog/database_image.cpp": "functions of SQL",
    "lib/passes/remove_inplace.cpp": "a method of tensors that guards ask",
    "lib/analysis/layout/stride_rules.cpp": "which operators give strides like their input's, or parts of it",
    "lib/analysis/identity_call.cpp": "an argument",
    "lib/interpreter/graph/number_ranges.cpp": "lists of sizes, and questions that LibTorch answers when it loads the code",
    "lib/interpreter/evaluate/evaluator.cpp": "operators that change a list of tensors, and not the tensors",
    "lib/writers/graphs/fx_class.cpp": "an operator that torch.ops cannot call",
    "lib/interpreter/code/input_guesses.cpp": "what code asks of an input, which tells its size",
    "lib/interpreter/record/input_guards.cpp": "comparisons and sizes, of which guards are made",
    "lib/interpreter/propagate/shape_propagation.cpp": "lists, dicts and sizes, whose answers the tracer knows",
    "lib/interpreter/code/number_meanings.cpp": "the question that gives the number of a layout",
    "lib/interpreter/evaluate/operator_calls.cpp": "lists and dicts that the interpreter changes itself",
    "lib/interpreter/graph/graph_operators.cpp": "what is written with other functions of Python",
    "lib/interpreter/evaluate/process_state.cpp": "questions about the process, and what sets its modes",
    "lib/interpreter/evaluate/value_nodes.cpp": "awaitables",
    "lib/compare/pairing/common_form.cpp": "the calls that stand for others of the same meaning",
    "lib/exported/modules/module_graph.cpp": "calls that are made for inputs and outputs of modules",
    "lib/extract/extract.cpp": "sizes that become inputs of a part",
    "lib/passes/remove_batch_dims": "the calls that become of those over a batch",
    "lib/passes/remove_batch_dims.cpp": "likewise",
    "lib/analysis/view_tree.cpp": "the copy into a tensor that takes the place of a write",
    "lib/analysis/view_undo.cpp": "calls that make a base anew",
    "lib/pictures/plumbing.cpp": "sizes that a tensor holds",
    "lib/pictures/repeats.cpp": "operators whose numbers are no difference between repetitions",
    "lib/interpreter/graph/assignments.cpp": "the copy that an assignment is",
    "lib/interpreter/record/conditions.cpp": "the assertion that a condition becomes",
    "lib/interpreter/graph/subgraphs.cpp": "what becomes of numbers that go into and out of subgraphs",
    "lib/trace/tracer/alias_check.cpp": "the copy that keeps results apart",
    "lib/trace/options/condition.cpp": "sizes that guards ask for, and those of eye, which has no list of them",
    "lib/trace/tracer/graph_tracer.cpp": "what becomes of numbers that go into and out of subgraphs",
    "lib/trace/tracer/guard_expression.cpp": "sizes, and lists of sizes, of which guards are made",
    "lib/verify": "what verify has LibTorch do: tensors made, copied, stacked",
}
QUOTED = re.compile(r'"((?:aten|prim)(?:::|\.)\w+|\w+)["._]')
LIST = re.compile(r'"([\w:.]+(?: [\w:.]+)* ?)"')  # names with spaces between them (support/text/words.h)


def operators(root):
    """Names that are nothing but an operator's: no common word."""
    names = set()
    for line in (root / "lib/operators/registered.inc").read_text(encoding="utf-8").splitlines():
        match = re.match(r'\{"(?:aten|prim)::(\w+)', line)
        if match and re.search(r"[a-z]_[a-z]|\d", match[1]):
            names.add(match[1])
    return names


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    names = operators(root)
    used, problems = set(), []
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
        reason = next((key for key in REASONS if place == key or place.startswith(key + "/")), None)
        if found and reason:
            used.add(reason)
        elif found:
            problems += sorted(found)
    problems += [f"tests/check_operator_names.py: {key} names no operator" for key in REASONS if key not in used]
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
