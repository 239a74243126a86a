"""Graph passes: what a graph computes, and what it does to inputs and buffers, stays the same to the bit."""

import json

import harness
import pytest
import rebuild_exported
import torch
import zoo
from test_exported_zoo import prepare
from test_zoo import zoo_archive

SAMPLES = {sample["file"]: sample for sample in harness.samples()}
EXPORTED = {sample["file"]: sample for sample in harness.samples("exported_program")}
RULES = ("default", "no-default-leaves")


def pass_names(program) -> list[str]:
    return [line.split()[0] for line in program.stdout("trace", "--list-passes").decode().splitlines()]


def check_pass(before: dict, after: dict) -> None:
    """What a pass leaves as it is."""
    harness.check_collection(after)
    assert after["modules"] == before["modules"] and after["parameters"] == before["parameters"]
    for old, new in zip(before["graphs"], after["graphs"], strict=True):
        assert old["execution"] == new["execution"] and old["guards"] == new["guards"]
        inputs = [[node["name"] for node in graph["nodes"] if node["op"] == "placeholder"] for graph in (old, new)]
        assert inputs[0] == inputs[1]


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("name", SAMPLES)
def test_torchscript_samples(program, name, rules):
    sample = SAMPLES[name]
    path = harness.sample_path(sample)
    method = ["--method", sample["method"]] if sample["method"] != "forward" else []
    options = [*harness.RULES[rules], *method]
    before = program.trace(path, *options)
    for each in pass_names(program):
        after = program.trace(path, *options, "--pass", each)
        check_pass(before, after)
        if after["graphs"][0] == before["graphs"][0]:
            continue
        for inputs in sample["inputs"]:
            args, kwargs = harness.make_inputs(inputs)
            harness.compare_graphs(path, before["graphs"][0], after["graphs"][0], args, kwargs)


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("name", EXPORTED)
def test_exported_samples(program, name, rules):
    sample = EXPORTED[name]
    path = harness.sample_path(sample)
    exported = harness.load_exported(sample)
    options = [*harness.RULES[rules], *(["--model", sample["model"]] if "model" in sample else [])]
    before = program.trace(path, *options)
    runs = [harness.ExportedRun(path, exported, *harness.make_inputs(inputs)) for inputs in sample["inputs"]]
    for each in pass_names(program):
        after = program.trace(path, *options, "--pass", each)
        check_pass(before, after)
        if after["graphs"][0] == before["graphs"][0]:
            continue
        for run in runs:
            run.compare(after["graphs"][0])


def test_a_saved_collection_gives_the_same(program, tmp_path):
    """render --pass does what trace --pass does, and says so in the options."""
    for name in (*SAMPLES, *EXPORTED):
        path = harness.sample_path({**SAMPLES, **EXPORTED}[name])
        sample = {**SAMPLES, **EXPORTED}[name]
        options = ["--model", sample["model"]] if "model" in sample else []
        saved = tmp_path / "saved.json"
        saved.write_bytes(program.stdout("trace", path, *options))
        rendered = program.stdout("render", str(saved), "--pass", "functional")
        assert rendered == program.stdout("trace", path, *options, "--pass", "functional")
        assert json.loads(rendered)["options"]["pass"] == ["functional"]


@pytest.mark.slow
@pytest.mark.parametrize("name", zoo.names("scripted", "traced"))
def test_torchscript_models(program, request, name):
    path = zoo_archive(request, name)
    inputs = torch.load(path.removesuffix(".pt") + ".inputs.pt")
    for rules in RULES:
        before = program.trace(path, *harness.RULES[rules])
        after = program.trace(path, *harness.RULES[rules], "--pass", "functional")
        check_pass(before, after)
        harness.compare_graphs(path, before["graphs"][0], after["graphs"][0], inputs, {})


@pytest.mark.slow
@pytest.mark.parametrize("name", zoo.exported_names())
def test_exported_models(program, request, name):
    path = zoo_archive(request, name)
    prepare(name)
    inputs = torch.load(path.removesuffix(".pt2") + ".inputs.pt")
    run = harness.ExportedRun(path, rebuild_exported.load(path), inputs, {})
    for rules in RULES:
        before = program.trace(path, *harness.RULES[rules])
        after = program.trace(path, *harness.RULES[rules], "--pass", "functional")
        check_pass(before, after)
        run.compare(after["graphs"][0])
