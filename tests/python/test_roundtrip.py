"""Tests every sample with three sets of rules: the graph, rebuilt in torch.fx, computes the archive's outputs."""

import harness
import pytest
import tiers

SAMPLES = {sample["file"].removesuffix(".pt"): sample for sample in harness.samples()}


def options_of(sample: dict, rules: str) -> list[str]:
    return [*harness.RULES[rules], *(["--method", sample["method"]] if sample["method"] != "forward" else [])]


@pytest.mark.parametrize("rules", tiers.only(["default"], harness.RULES))
@pytest.mark.parametrize("name", SAMPLES)
def test_outputs_are_the_archives_own(program, name, rules):
    sample = SAMPLES[name]
    path = harness.sample_path(sample)
    collection = program.trace(path, *options_of(sample, rules))
    harness.check_collection(collection)
    for graph in collection[
        "graphs"
    ]:  # those of submodules have no inputs to run them with, but must rebuild
        harness.rebuild(path, graph)
    for inputs in sample["inputs"]:
        args, kwargs = harness.make_inputs(inputs)
        if rules in sample.get("differs", {}):
            with pytest.raises(harness.Different):
                harness.compare_runs(path, collection["graphs"][0], sample["method"], args, kwargs)
            continue
        harness.compare_runs(path, collection["graphs"][0], sample["method"], args, kwargs)


@pytest.mark.parametrize("rules", tiers.only(["no-default-leaves"], harness.RULES))
@pytest.mark.parametrize("name", tiers.one_in(3, SAMPLES))
def test_the_expected_modules_fail(program, name, rules):
    sample = SAMPLES[name]
    collection = program.trace(harness.sample_path(sample), *options_of(sample, rules))
    assert harness.failed_modules(collection) == harness.expected_failures(sample, rules)


@pytest.mark.parametrize("name", tiers.one_in(4, SAMPLES))
def test_same_bytes_every_time(program, name):
    sample = SAMPLES[name]
    for kind in ("json", "dot"):
        command = ("trace", harness.sample_path(sample), "-f", kind, *options_of(sample, "default"))
        assert program.stdout(*command) == program.stdout(*command)


@pytest.mark.parametrize("rules", tiers.only(["no-default-leaves"], harness.RULES))
@pytest.mark.parametrize("name", tiers.one_in(4, SAMPLES))
def test_dot_renders_without_a_warning(program, name, rules):
    sample = SAMPLES[name]
    harness.check_dot(
        program.stdout("trace", harness.sample_path(sample), "-f", "dot", *options_of(sample, rules))
    )
