"""Every exported sample, under three sets of rules: the graph, rebuilt, gives the program's own results."""

import harness
import pytest

SAMPLES = {sample["file"].removesuffix(".pt2"): sample for sample in harness.samples("exported_program")}
runs: dict[str, list[harness.ExportedRun]] = {}  # the programs' own results, which no rule changes


def options_of(sample: dict, rules: str = "default") -> list[str]:
    return [*harness.RULES[rules], *(["--model", sample["model"]] if "model" in sample else [])]


def runs_of(name: str) -> list[harness.ExportedRun]:
    if name not in runs:
        sample = SAMPLES[name]
        program = harness.load_exported(sample)
        path = harness.sample_path(sample)
        runs[name] = [
            harness.ExportedRun(path, program, *harness.make_inputs(inputs)) for inputs in sample["inputs"]
        ]
    return runs[name]


@pytest.mark.parametrize("rules", harness.RULES)
@pytest.mark.parametrize("name", SAMPLES)
def test_outputs_are_the_programs_own(program, name, rules):
    sample = SAMPLES[name]
    collection = program.trace(harness.sample_path(sample), *options_of(sample, rules))
    harness.check_collection(collection)
    assert collection["model"]["kind"] == "exported_program"
    assert len(collection["graphs"]) == 1 and harness.failed_modules(collection) == []
    for run in runs_of(name):
        run.compare(collection["graphs"][0])
