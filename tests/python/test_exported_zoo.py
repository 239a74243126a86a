"""Tests the round trip on exported well-known models, which zoo.py makes. The first run takes minutes."""

import importlib
import random

import fx_source
import harness
import pytest
import tiers
import torch
import tvcompat
import zoo
from fxtrace import _exported
from test_exported_peers import compare_scopes

ORDERS = ("resnet18", "mobilenet_v3", "bert", "gpt2")  # the same model traced: the same orders of parameters


def prepare(name: str) -> None:
    """What must be imported before the program can be loaded."""
    if zoo.package_of(name) == "transformers":
        tvcompat.prepare()
        importlib.import_module("transformers.integrations.moe")  # an operator of its own, for Mixtral
        importlib.import_module("transformers.models.bert.modeling_bert")  # and the class of BERT's result


def other_size(x: torch.Tensor) -> torch.Tensor:
    return torch.randn(1, 3, 96, 96) if x.is_floating_point() else x[:, :-2].repeat(2, 1)


@pytest.mark.parametrize("name", tiers.in_turn(["resnet18_exported", "bert_exported_dynamic"], zoo.exported_names()))
def test_outputs_are_the_programs_own(program, zoo_archive, name):
    path = zoo_archive(name)
    prepare(name)
    inputs = torch.load(path.removesuffix(".pt2") + ".inputs.pt")
    exported = _exported.load(path)
    runs = [harness.ExportedRun(path, exported, inputs, {})]
    if zoo.split(name)[1] == "exported_dynamic":
        runs.append(harness.ExportedRun(path, exported, (other_size(inputs[0]), *inputs[1:]), {}))
    for rules, options in harness.RULES.items():
        collection = program.trace(path, *options)
        harness.check_collection(collection)
        assert len(collection["graphs"]) == 1 and harness.failed_modules(collection) == []
        for run in runs:
            run.compare(collection["graphs"][0])
        if rules == "default":
            harness.check_dot(program.stdout("trace", path, "-f", "dot"))
        if rules == "no-default-leaves":
            assert compare_scopes(exported, collection) > 10
            for run in runs:
                fx_source.compare_exported(program, run, exported.module(), *options)
    assert zoo.split(name)[1] != "exported_dynamic" or collection["graphs"][0]["guards"]


@pytest.mark.parametrize("name", tiers.in_turn([], zoo.exported_names()))
def test_random_rules(program, zoo_archive, name):
    path = zoo_archive(name)
    prepare(name)
    inputs = torch.load(path.removesuffix(".pt2") + ".inputs.pt")
    exported = _exported.load(path)
    run = harness.ExportedRun(path, exported, inputs, {})
    modules = program.trace(path)
    chance = random.Random(name)
    for _ in range(10):
        run.compare(program.trace(path, *harness.random_rules(modules, chance))["graphs"][0])


@pytest.mark.volume
@pytest.mark.parametrize("model", ORDERS)
def test_orders_are_those_of_the_traced_model(program, zoo_archive, model):
    paths = [zoo_archive(f"{model}_{way}") for way in ("traced", "exported")]
    for rules in ("default", "no-default-leaves"):
        traced, exported = (program.trace(path, *harness.RULES[rules])["graphs"][0] for path in paths)
        assert exported["execution"]["param_forward_order"] == traced["execution"]["param_forward_order"]
