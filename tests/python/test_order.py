"""Tests fxtrace order: samples against their collections, buckets, CSV; the printed Python code applies FSDP2 in one process."""

import csv
import io
import json
import os
import time

import fxtrace
import harness
import large_collections
import pytest
import tiers

SCHEMA = os.path.join(harness.ROOT, "schemas", "order.schema.json")


def sample(name: str) -> str:
    return os.path.join(harness.SAMPLES, name)


@pytest.fixture(scope="module")
def validate():
    import jsonschema_rs

    with open(SCHEMA, encoding="utf-8") as file:
        return jsonschema_rs.Draft202012Validator(json.load(file)).validate


@pytest.fixture(autouse=True)
def package(program, monkeypatch):
    monkeypatch.setenv("FXTRACE", program.path)


# --- what is said of samples ---


def leaves_out_aliases(names: list[str], records: list[dict], key: str) -> list[str]:
    first = {record[key]: record["alias_of"] or record[key] for record in records}
    return [first[name] for name in names]


@pytest.mark.parametrize("name", sorted(os.listdir(harness.SAMPLES)))
def test_samples(program, validate, name):
    if not name.endswith((".pt", ".pt2")) or name == "exported_several.pt2":
        pytest.skip("no model by itself")
    order = json.loads(program.stdout("order", "--json", sample(name)))
    validate(order)
    collection = program.trace(sample(name))
    parameters = {each["name"]: each for each in collection["parameters"]}
    # The orders are those of the trace; what the trace calls unused is.
    assert [graph["calls"] for graph in order["graphs"]] == [
        leaves_out_aliases(graph["execution"]["module_forward_order"], collection["modules"], "path") for graph in collection["graphs"]
    ]
    used = [name for graph in collection["graphs"] for name in graph["execution"]["param_forward_order"]]
    assert [each["name"] for each in order["parameters"]] == list(dict.fromkeys(used))
    assert [each["name"] for each in order["unused_parameters"]] == collection["summary"]["unused_parameters"]
    assert order["used"]["tensors"] == len(order["parameters"])
    for parameter in order["parameters"] + order["unused_parameters"]:
        tied = [other for other, record in parameters.items() if record["alias_of"] == parameter["name"]]
        assert parameter["tied"] == tied
    # Every use is of a node that is there, in the order of the graphs; a parameter that is used has one.
    for parameter in order["parameters"]:
        assert parameter["use_count"] == len(parameter["uses"]) > 0
    for module in order["modules"]:
        assert module["calls"], module["path"]
        for call in module["calls"]:
            graph = next(graph for graph in order["graphs"] if graph["module"] == call["graph"])
            assert graph["calls"][call["call"] - 1] == module["path"]
    assert sum(len(module["calls"]) for module in order["modules"]) == sum(len(graph["calls"]) for graph in order["graphs"])


def test_first_uses_are_in_order(program):
    """Of one graph without control flow, by the calls that they are in."""
    for name in ("nested_exported.pt2", "shared_tied_traced.pt", "containers.pt"):
        graph = program.trace(sample(name))["graphs"][0]
        places = {node["name"]: place for place, node in enumerate(graph["nodes"])}
        order = json.loads(program.stdout("order", "--json", sample(name)))
        first = [places[parameter["uses"][0]["node"]] for parameter in order["parameters"]]
        assert first == sorted(first), name


def test_csv_has_a_row_for_each(program):
    for name in ("failing_nested.pt", "shared_tied_scripted.pt"):
        order = json.loads(program.stdout("order", "--json", "--buckets", "100B", sample(name)))
        text = program.stdout("order", "--csv", "--buckets", "100B", sample(name)).decode()
        rows = list(csv.DictReader(io.StringIO(text)))
        listed = [row["name"] for row in rows if row["number"]]
        assert listed == [each["path"] for each in order["modules"]] + [each["name"] for each in order["parameters"]]
        rest = [row["name"] for row in rows if not row["number"]]
        assert rest == [each["path"] for each in order["never_called"]] + [each["name"] for each in order["unused_parameters"]]
        buckets = [[row["name"] for row in rows if row["bucket"] == str(i + 1)] for i in range(len(order["buckets"]["list"]))]
        assert buckets == [bucket["parameters"] for bucket in order["buckets"]["list"]]


@pytest.mark.parametrize("size", ["1", "100B", "150", "1KiB", "1kB", "1.5MiB", "0", "-1", "9223372036854775807GiB", "mib"])
def test_buckets(program, size):
    done = program.run("order", "--json", f"--buckets={size}", sample("nested_exported.pt2"))
    if size in ("0", "-1", "9223372036854775807GiB", "mib"):
        assert done.returncode == 2 and b"--buckets: expected" in done.stderr
        return
    order = json.loads(done.stdout)
    most, buckets = order["buckets"]["most_bytes"], order["buckets"]["list"]
    sizes = {parameter["name"]: parameter["bytes"] for parameter in order["parameters"]}
    assert [name for bucket in buckets for name in bucket["parameters"]] == list(sizes)
    for bucket, following in zip(buckets, [*buckets[1:], None]):
        assert bucket["bytes"] == sum(sizes[name] for name in bucket["parameters"])
        assert bucket["bytes"] <= most or len(bucket["parameters"]) == 1
        if following is not None:
            assert bucket["bytes"] + sizes[following["parameters"][0]] > most


def test_python(program):
    order = fxtrace.order(sample("shared_tied_scripted.pt"), buckets="100B")
    by_name = {parameter.name: parameter for parameter in order.parameters}
    assert by_name["encoder.weight"].tied == ("decoder.weight",)
    assert [use.call for use in by_name["a.linear.weight"].uses] == [3, 6, 9]
    assert [call.call for call in next(module for module in order.modules if module.path == "a").calls] == [2, 5, 8]
    assert [parameter.name for parameter in order.unused_parameters] == ["unused.weight", "unused.bias"]
    assert [module.path for module in order.never_called] == ["unused"]
    assert sum(bucket.bytes for bucket in order.buckets) == sum(parameter.bytes for parameter in order.parameters)
    assert fxtrace.order(fxtrace.trace(sample("shared_tied_scripted.pt"))).parameters == order.parameters
    with pytest.raises(TypeError, match="unexpected keyword argument 'nothing'"):
        fxtrace.order(sample("shared_tied_scripted.pt"), nothing=1)
    with pytest.raises(fxtrace.UsageError, match="--buckets"):
        fxtrace.order(sample("shared_tied_scripted.pt"), buckets=0)


@pytest.mark.volume
def test_large_collection(program, tmp_path):
    for make in (large_collections.nested, large_collections.flat):
        file = str(tmp_path / "large.json")
        large_collections.write(make(100_000), file)
        for option in ("--json", "--csv", "--fsdp2"):
            start = time.monotonic()
            program.stdout("order", option, file)
            assert time.monotonic() - start < 10


# --- FSDP2 ---


def models():
    import torch
    from torch import nn
    from torch.nn import functional as F

    class Block(nn.Module):
        def __init__(self, width=8):
            super().__init__()
            self.norm = nn.LayerNorm(width)
            self.fc = nn.Linear(width, 2 * width)
            self.out = nn.Linear(2 * width, width)

        def forward(self, x):
            return x + self.out(F.gelu(self.fc(self.norm(x))))

    class Net(nn.Module):
        """An embedding that is tied to the head, and blocks."""

        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(16, 8)
            self.blocks = nn.ModuleList(Block() for _ in range(4))
            self.head = nn.Linear(8, 16, bias=False)
            self.head.weight = self.embed.weight

        def forward(self, tokens):
            x = self.embed(tokens)
            for block in self.blocks:
                x = block(x)
            return self.head(x)

    class Backwards(Net):
        """Not in the order in which they are registered."""

        def forward(self, tokens):
            x = self.embed(tokens)
            for block in reversed(self.blocks):
                x = block(x)
            return self.head(x)

    class Twice(Net):
        """One block runs twice, another is there under two names, of which an exported program does not know that they are one."""

        def __init__(self):
            super().__init__()
            self.again = self.blocks[3]

        def forward(self, tokens):
            x = self.blocks[0](self.embed(tokens))
            x = self.again(self.blocks[1](self.blocks[2](self.blocks[1](x))))
            return self.head(x)

    class TiedBlock(Net):
        """What has its parameter in a block and elsewhere stays with the root."""

        def __init__(self):
            super().__init__()
            self.blocks[1].fc.weight = self.blocks[2].fc.weight

    class UsedOutside(Net):
        """Parts of blocks are used without a call of the block."""

        def forward(self, tokens):
            x = super().forward(tokens)
            y = self.blocks[0].norm(self.embed(tokens))
            return x + F.linear(y, self.blocks[3].fc.weight)

    class Stages(nn.Module):
        """Blocks of one class and several widths, in modules with numbers that differ."""

        def __init__(self):
            super().__init__()
            self.stages = nn.ModuleList(nn.Sequential(nn.Linear(w // 2, w), *(Block(w) for _ in range(n))) for w, n in ((8, 2), (16, 1)))

        def forward(self, x):
            for stage in self.stages:
                x = stage(x)
            return x

    class Plain(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(4, 4)

        def forward(self, x):
            return torch.relu(self.fc(x))

    tokens, x = torch.arange(6).reshape(2, 3), torch.rand(2, 4)
    blocks = [f"blocks.{i}" for i in range(4)]
    return {
        "net": (Net, tokens, blocks, [], 4),
        "backwards": (Backwards, tokens, blocks[::-1], [], 4),
        "twice": (Twice, tokens, blocks[:3], ["again"], 3),
        "tied_block": (TiedBlock, tokens, ["blocks.0", "blocks.3"], ["blocks.1", "blocks.2"], 2),
        "used_outside": (UsedOutside, tokens, ["blocks.1", "blocks.2"], ["blocks.0", "blocks.3"], 2),
        "stages": (Stages, x, ["stages.0.1", "stages.0.2", "stages.1.1"], [], 3),
        "plain": (Plain, x, [], [], 0),
    }


@pytest.fixture(scope="module")
def mesh(tmp_path_factory):
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh

    store = dist.FileStore(str(tmp_path_factory.mktemp("group") / "store"), 1)
    dist.init_process_group("gloo", store=store, rank=0, world_size=1)
    yield init_device_mesh("cpu", (1,))
    dist.destroy_process_group()


def check_sharded(program, file: str, make, inputs, mesh) -> dict:
    """The program's Python on the model: the same results and gradients, twice in a row; returns its names."""
    import torch

    names: dict = {}
    exec(compile(program.stdout("order", "--fsdp2", file).decode(), "shard.py", "exec"), names)
    plain, sharded = make(), make()
    assert names["shard"](sharded, mesh=mesh) is sharded
    for _ in range(2):
        expected, actual = plain(*inputs), sharded(*inputs)
        assert torch.equal(expected, actual)
        expected.square().sum().backward()
        actual.square().sum().backward()
    others = dict(sharded.named_parameters())
    for name, parameter in plain.named_parameters():
        gradient = others[name].grad
        assert (parameter.grad is None) == (gradient is None), name
        if parameter.grad is not None:
            assert torch.allclose(parameter.grad, gradient.full_tensor(), rtol=1e-5, atol=1e-6), name
    sharded_modules = {path for path, module in sharded.named_modules() if hasattr(module, "set_modules_to_forward_prefetch")}
    assert sharded_modules == {"", *names["UNITS"]}
    for table, states in (("FORWARD_PREFETCH", "_states_to_forward_prefetch"), ("BACKWARD_PREFETCH", "_states_to_backward_prefetch")):
        for path in sharded_modules:
            following = getattr(sharded.get_submodule(path)._get_fsdp_state(), states)
            wanted = names.get(table, {}).get(path)
            assert following == ([] if wanted is None else [sharded.get_submodule(wanted)._get_fsdp_state()])
    return names


@pytest.mark.parametrize("name", tiers.only(["net", "twice", "used_outside"], ["net", "backwards", "twice", "tied_block", "used_outside", "stages", "plain"]))
def test_fsdp2(program, tmp_path, mesh, name):
    import torch

    kind, example, units, left_out, prefetches = models()[name]

    def make():
        torch.manual_seed(0)
        return kind()

    file = str(tmp_path / "model.pt2")
    torch.export.save(torch.export.export(make(), (example,), strict=False), file)
    names = check_sharded(program, file, make, (example,), mesh)
    assert names["UNITS"] == units
    assert len(names.get("FORWARD_PREFETCH", {})) == prefetches
    plan = fxtrace.order(file).fsdp2
    assert list(plan.units) == units and list(plan.left_out) == left_out
    assert dict(plan.forward_prefetch) == names.get("FORWARD_PREFETCH", {})
    calls = [path for path in fxtrace.order(file).graphs[""] if path in units]
    for before, after in zip(calls, calls[1:]):
        if calls.count(before) == 1:
            assert plan.forward_prefetch[before] == after
        if calls.count(after) == 1:
            assert plan.backward_prefetch[after] == before


@pytest.mark.volume
@pytest.mark.parametrize("name", ["gpt2", "bert", "t5", "llama", "swin", "resnet18"])
def test_fsdp2_of_known_models(program, mesh, tmp_path, name):
    zoo = pytest.importorskip("zoo")
    import torch

    make_model = getattr(zoo, name, None)
    if make_model is None:
        pytest.skip("not in the zoo")

    def make():
        torch.manual_seed(0)
        model = make_model()[0].eval()
        first = model.forward
        model.forward = lambda *values: flat(first(*values))
        return model

    def flat(value):
        return value[0] if isinstance(value, (tuple, list)) else value

    torch.manual_seed(0)
    model, inputs, *_ = make_model()
    file = str(tmp_path / "model.pt2")
    torch.export.save(torch.export.export(model.eval(), tuple(inputs), strict=False), file)
    names = check_sharded(program, file, make, tuple(inputs), mesh)
    assert len(names["UNITS"]) > 1
