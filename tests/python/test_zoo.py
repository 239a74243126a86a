"""The round trip on well-known models; zoo.py makes the archives.  Takes some minutes the first time."""

import importlib.util

import fx_source
import harness
import pytest
import torch
import zoo

PACKAGES = {
    "transformers": ("bert", "bert_model", "gpt2", "t5", "llama", "mixtral", "whisper"),
    "timm": ("vit", "convnext", "resnest"),
}

# Roots that may fail to trace, and why.  Modules inside a model may fail without being named here.
ROOT_MAY_FAIL: dict[str, str] = {}

# Models without data-dependent control flow: nothing in them fails at all.
NOTHING_FAILS = ("resnet18", "mobilenet_v3", "efficientnet", "densenet")


def package_of(name: str) -> str:
    model = zoo.split(name)[0]
    return next((package for package, models in PACKAGES.items() if model in models), "torchvision")


def zoo_archive(request, name: str) -> str:
    if importlib.util.find_spec(package_of(name)) is None:
        pytest.skip(f"needs {package_of(name)}")
    return zoo.archive(name, zoo.cache_folder(request.config.getoption("--zoo-cache")))


@pytest.mark.slow
@pytest.mark.parametrize("name", zoo.names("scripted", "traced"))
def test_outputs_are_the_archives_own(program, request, name):
    path = zoo_archive(request, name)
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
