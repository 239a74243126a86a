"""Programs whose nodes are listed in another order: leaves have to be gathered, and split where they would need
themselves.

The order is random, but every value is still made before it is used, and nodes with effects stay in order."""

import itertools
import json
import random
import zipfile

import harness
import pytest
import rebuild_exported
import torch

SAMPLES = {
    sample["file"].removesuffix(".pt2"): sample
    for sample in harness.samples("exported_program")
    if sample["file"].removesuffix(".pt2")
    in (
        "attention_exported",
        "exported_callbacks",
        "exported_cond",
        "exported_constants",
        "exported_dimensions",
        "exported_interleaved",
        "exported_modules",
        "exported_modules_decomposed",
        "exported_mutations",
        "exported_mutations_decomposed",
        "exported_regions",
        "exported_training",
        "exported_training_decomposed",
        "inplace_exported",
        "nested_exported",
        "shared_tied_exported",
        "vision_exported_decomposed",
    )
}
SEEDS = range(4)
RULES = {**harness.RULES, "max-depth-2": ["--max-depth", "2"]}


def names_in(value, keys=("name", "as_name")) -> set[str]:
    """Every name in a part of the program's JSON; some may be no values."""
    if isinstance(value, list):
        return set().union(*(names_in(item) for item in value))
    if not isinstance(value, dict):
        return set()
    found = {item for key, item in value.items() if key in keys and isinstance(item, str)}
    return found.union(*(names_in(item) for key, item in value.items() if key != "graph"))


def has_effects(target: str) -> bool:
    operator = torch.ops
    if not target.startswith("torch.ops.aten."):
        return target.startswith("torch.ops.")
    for part in target.split(".")[2:]:
        operator = getattr(operator, part)
    if "batch_norm" in target and "functional" not in target:  # its schema does not say that it may write
        return True
    return operator._schema.is_mutable or torch.Tag.nondeterministic_seeded in operator.tags


def touches_memory(target: str) -> bool:
    """Whether its place among nodes with effects matters."""
    return target.startswith("torch.ops.") and "sym_size" not in target


def shuffled(nodes: list[dict], seed: int) -> list[dict]:
    maker: dict[str, int] = {}
    before: list[set[int]] = []
    last_effect, since_effect = None, []
    for i, node in enumerate(nodes):
        needs = {maker[name] for name in names_in([item["arg"] for item in node["inputs"]]) if name in maker}
        if touches_memory(node["target"]):
            if has_effects(node["target"]):
                needs.update(since_effect)
                since_effect = []
                last_effect_before, last_effect = last_effect, i
                if last_effect_before is not None:
                    needs.add(last_effect_before)
            else:
                since_effect.append(i)
                if last_effect is not None:
                    needs.add(last_effect)
        before.append(needs)
        for name in names_in(node["outputs"]):
            maker[name] = i
    generator, order, done = random.Random(seed), [], set()
    while len(order) < len(nodes):
        i = generator.choice([i for i in range(len(nodes)) if i not in done and before[i] <= done])
        order.append(nodes[i])
        done.add(i)
    return order


def write_shuffled(source: str, target: str, seed: int) -> None:
    with zipfile.ZipFile(source) as archive, zipfile.ZipFile(target, "w") as copy:
        for item in archive.infolist():
            content = archive.read(item)
            if "/models/" in item.filename:
                program = json.loads(content)
                graph = program["graph_module"]["graph"]
                graph["nodes"] = shuffled(graph["nodes"], seed)
                content = json.dumps(program).encode()
            copy.writestr(item.filename, content)


def calls(graph: dict) -> list[str]:
    return sorted(node["target"] for node in graph["nodes"] if node["op"] == "call_module")


def stacks(path: str) -> list[str]:
    with zipfile.ZipFile(path) as archive:
        (record,) = [name for name in archive.namelist() if "/models/" in name]
        nodes = json.loads(archive.read(record))["graph_module"]["graph"]["nodes"]
    return [node["metadata"].get("nn_module_stack", "") for node in nodes]


@pytest.mark.parametrize("name", SAMPLES)
def test_outputs_are_the_programs_own(program, tmp_path, name):
    sample = SAMPLES[name]
    harness.load_exported(sample)  # imports what the program needs
    for seed in SEEDS:
        path = str(tmp_path / f"{name}_{seed}.pt2")
        write_shuffled(harness.sample_path(sample), path, seed)
        loaded = rebuild_exported.load(path)
        run = harness.ExportedRun(path, loaded, *harness.make_inputs(sample["inputs"][0]))
        for options in RULES.values():
            collection = program.trace(path, *options)
            harness.check_collection(collection)
            run.compare(collection["graphs"][0])


def test_calls_of_a_functional_program_stay_whole(program, tmp_path):
    """Without effects no leaf needs to be split, however its nodes are scattered."""
    name = "exported_modules_decomposed"
    options = ("--max-depth", "1")
    source = harness.sample_path(SAMPLES[name])
    expected = calls(program.trace(source, *options)["graphs"][0])
    for seed in SEEDS:
        path = str(tmp_path / f"{seed}.pt2")
        write_shuffled(source, path, seed)
        scattered = [stack for stack, _ in itertools.groupby(stacks(path))]
        assert len(scattered) > len(set(scattered)), "nothing stands apart"
        assert calls(program.trace(path, *options)["graphs"][0]) == expected
