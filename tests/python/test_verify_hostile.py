"""Tests runs of hostile archives: they end with one line of error, quickly, with little memory, and without other effects."""

import dataclasses
import json
import os
import re
import resource

import hostile
import hostile_exported
import pytest
import tiers
from hostile import FORWARD, Case, body_case, code_case
from hostile_exported import body, meta, node, packed, program, value
from test_hostile import Limits, run

MADE = "/made-by-a-model"
# --max-time and --max-memory bound what the child takes; LibTorch itself is mapped.
OPTIONS = ("--json", "--max-time", "4", "--max-memory", "2048")
LIMITS = Limits(seconds=12, resource=resource.RLIMIT_DATA, memory=4 << 30, resident=3 << 20)
X = ("--input", "x=float32[4]")


def verify(program, case: Case, folder, *options: str) -> tuple[int, str, dict | None]:
    made = dataclasses.replace(case, command="verify", options=(*OPTIONS, *case.options, *options))
    code, messages, answer = run(program, made, folder, LIMITS)
    said = f"{case.name}: exit {code}: {messages[:600]}"
    assert code in (0, 1, 2, 3), said
    assert (answer is not None) == (code < 2), said
    lines = messages.split("\n")[:-1]
    assert sum(line.startswith("fxtrace: error: ") for line in lines) == (code >= 2), said
    assert all(line.startswith(("fxtrace: ", "hint: ")) for line in lines), said
    assert "Exception raised from" not in messages and "frame #" not in messages, said
    assert not re.search(r"\b0x[0-9a-f]{6}", messages + json.dumps(answer)), said
    assert sorted(os.listdir(folder)) == (["messages", "model.pt"] if answer is None else ["messages", "model.pt", "out.json"])
    assert not os.path.exists(MADE), said
    return code, messages, answer


# --- what is named ---


def graph_case(name: str, *nodes: dict, **more) -> Case:
    return Case(name, lambda: packed(json.dumps(program(list(nodes)))), "any", **more)


def record_case(name: str, records: dict, **more) -> Case:
    return Case(name, hostile_exported.replaced(records), "any", **more)


def while_loop() -> dict:
    """Whose condition is always true."""
    condition, turn = body(node("torch.ops.aten.eq.Tensor", {"self": value("a"), "other": value("a")}, "eq")), body(
        node("torch.ops.aten.relu.default", {"self": value("a")}, "relu")
    )
    condition["nodes"].append(node("torch.ops.aten.any.default", {"self": value("eq")}, "any_1"))
    condition["tensor_values"]["any_1"] = meta()
    condition["outputs"] = [value("any_1")]
    made = node("torch.ops.higher_order.while_loop", {}, "loop")
    arguments = [
        {"as_graph": {"name": "cond_graph", "graph": condition}},
        {"as_graph": {"name": "body_graph", "graph": turn}},
        {"as_tensors": [{"name": "x"}]},
        {"as_tensors": []},
    ]
    made["inputs"] = [{"name": "", "arg": argument, "kind": 1} for argument in arguments]
    made["is_hop_single_tensor_return"] = False
    return made


SIZES = {"as_ints": [1 << 20, 1 << 20]}
TIME, MEMORY = "it needed more than 4 s of processor time", "it needed more than 2 GiB of memory"
LEAST = -(2**63)
SCRIPTED = [
    (Case("endless", body_case("y = x\nwhile True:\n  y = torch.relu(y)\nreturn y"), "any", X), TIME),
    (Case("huge_tensor", body_case("return torch.add(x, torch.zeros([1000000, 1000000]))"), "any", X), MEMORY),
    (Case("growing", body_case("y = [x]\nfor i in range(60):\n  _0 = torch.extend(y, y)\nreturn torch.cat(y)"), "any", X), MEMORY),
    (Case("division", body_case(f"n = torch.sub(torch.size(x, 0), 5)\nreturn torch.add(x, torch.floordiv({LEAST}, n))"), "any", X), "SIGFPE"),
    (Case("recursion", code_case(FORWARD + "    return (self).forward(x, )\n"), "any", X), "recursive"),
    (Case("writes", body_case(f'ops.aten.save(x, "{MADE}")\nreturn x'), "any", X), "Unknown builtin op: aten::save"),
    (Case("reads", body_case('return torch.from_file("/etc/passwd", False, 4, dtype=0)'), "any", X), "the model cannot be run"),
    (Case("setstate", lambda: hostile.set_state("while True:\n  y = torch.add(state, 1)"), "any", X), TIME),
]
EXPORTED = [
    (graph_case("while_loop", while_loop()), TIME),
    (graph_case("huge", node("torch.ops.aten.new_zeros.default", {"self": value("x"), "size": SIZES}, "zeros")), MEMORY),
    (graph_case("reads", node("torch.ops.aten.from_file.default", {"filename": {"as_string": "/etc/passwd"}, "shared": {"as_bool": False}, "size": {"as_int": 4}}, "y")), "aten.from_file.default is refused"),
    (graph_case("unpack", node("torch.ops.prim.TupleUnpack.default", {"self": value("x")}, "y")), "cannot be run"),
    (record_case("cut", {"data/weights/weight_0": b"\0" * 60}), "the tensor reaches beyond its storage"),
    (record_case("missing", {"data/weights/weight_0": None}), "weight_0"),
]


def is_first(case: Case, _says: str) -> bool:
    """Not what runs until a limit that another case reaches, too."""
    return case.name not in ("setstate", "while_loop", "huge")


@pytest.mark.parametrize(("case", "says"), tiers.pairs_where(is_first, SCRIPTED + EXPORTED), ids=lambda of: of.name if isinstance(of, Case) else "")
def test_what_happened_is_named(program, tmp_path, case, says):
    code, messages, _ = verify(program, case, tmp_path)
    assert code == 3 and says in messages, messages


# --- as many as there are: a process of LibTorch for each, so a third with every commit ---


ARCHIVES, PROGRAMS = list(hostile.cases()), list(hostile_exported.cases())


@pytest.mark.parametrize("case", tiers.in_turn(ARCHIVES[::80], ARCHIVES), ids=lambda case: case.name)
def test_archives(program, tmp_path, case):
    verify(program, case, tmp_path, *X)


@pytest.mark.parametrize("case", tiers.in_turn(PROGRAMS[::40], PROGRAMS), ids=lambda case: case.name)
def test_programs(program, tmp_path, case):
    verify(program, case, tmp_path)


@pytest.mark.parametrize("part", tiers.in_turn([], range(60), 3))
def test_mutations(program, tmp_path, part):
    for case in [*hostile.flipped(), *hostile_exported.flipped(), *hostile_exported.mutated()][part::60]:
        verify(program, case, tmp_path)
