"""Tests the round trip on well-known models, which zoo.py makes. The first run takes some minutes."""

import random

import fx_source
import harness
import pytest
import tiers
import torch
import zoo

# Roots that may fail to trace, and why.  Modules inside a model may fail without being named here.
ROOT_MAY_FAIL: dict[str, str] = {}

# Models without data-dependent control flow: nothing in them fails at all.
NOTHING_FAILS = ("resnet18", "mobilenet_v3", "efficientnet", "densenet")


@pytest.mark.parametrize("name", tiers.in_turn(["resnet18_scripted", "bert_traced"], zoo.names("scripted", "traced")))
def test_outputs_are_the_archives_own(program, zoo_archive, name):
    path = zoo_archive(name)
    inputs = torch.load(path.removesuffix(".pt") + ".inputs.pt")
    for rules, options in harness.RULES.items():
        collection = program.trace(path, *options)
        harness.check_collection(collection)
        if rules == "default":
            failed = harness.failed_modules(collection)
            assert "" not in failed or name in ROOT_MAY_FAIL, collection["modules"][0]["failure"]
            if zoo.split(name)[0] in NOTHING_FAILS or name.endswith("_traced"):
                assert failed == []
            harness.check_dot(program.stdout("trace", path, "-f", "dot"))
            fx_source.compare_scripted(program, path, inputs, {})
        harness.compare_runs(path, collection["graphs"][0], "forward", inputs, {})


@pytest.mark.parametrize("name", tiers.in_turn([], zoo.names("scripted", "traced")))
def test_random_rules(program, zoo_archive, name):
    path = zoo_archive(name)
    inputs = torch.load(path.removesuffix(".pt") + ".inputs.pt")
    modules = program.trace(path)
    chance = random.Random(name)
    for _ in range(10):
        graph = program.trace(path, *harness.random_rules(modules, chance))["graphs"][0]
        harness.compare_runs(path, graph, "forward", inputs, {})
